//! Published results in a program that was built without imports: an error.

use record::Import;
use record::schema::{RunInfo, Summary, Tally};

use crate::exit::Failure;
use crate::imports;

pub(super) fn judge(_: &RunInfo, _: &Import, _: &Tally) -> Result<Summary, Failure> {
    Err(imports::none())
}

pub(super) fn results(_: &Summary, _: &RunInfo, _: &Import, _: &str) -> Result<String, Failure> {
    Err(imports::none())
}
