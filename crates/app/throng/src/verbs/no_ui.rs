//! `throng ui` in a program that was built without pages: an error.

use crate::args::UiArgs;
use crate::exit::{Exit, Failure};
use crate::page;

pub(crate) fn ui(_: &UiArgs) -> Result<Exit, Failure> {
    Err(page::none())
}
