//! `throng reproduce` in a program that was built without imports: an error.

use crate::args::ReproduceArgs;
use crate::exit::{Exit, Failure};
use crate::imports;

pub(crate) fn reproduce(_: &ReproduceArgs) -> Result<Exit, Failure> {
    Err(imports::none())
}
