//! `throng model` in a program that was built without models: an error.

use crate::args::ModelArgs;
use crate::exit::{Exit, Failure};

pub(crate) fn model(_: &ModelArgs) -> Result<Exit, Failure> {
    Err(none())
}

/// The page of a model that `throng ui` lists.
#[cfg(feature = "web")]
pub(crate) fn page_of(_: &std::path::Path) -> Result<report::Page, Failure> {
    Err(none())
}

fn none() -> Failure {
    Failure::hinted(
        Exit::Usage,
        "this program was built without models".to_owned(),
        "build it with its default features, or with --features models",
    )
}
