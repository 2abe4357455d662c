//! `throng ui` where this program was built without pages: it says so.

use crate::args::UiArgs;
use crate::exit::{Exit, Failure};
use crate::page;

pub(crate) fn ui(_: &UiArgs) -> Result<Exit, Failure> {
    Err(page::none())
}
