//! `throng import` in a program that was built without imports: an error.

use crate::args::ImportArgs;
use crate::exit::{Exit, Failure};
use crate::imports;

pub(crate) fn import(_: &ImportArgs) -> Result<Exit, Failure> {
    Err(imports::none())
}
