//! `throng lab` in a program that was built without it.

use std::sync::Arc;

use controller::Surroundings;

use crate::args::lab::LabVerb;
use crate::exit::{Exit, Failure};

pub(crate) fn lab(_: LabVerb) -> Result<Exit, Failure> {
    Err(Failure::hinted(
        Exit::Usage,
        "this program was built without labs".to_owned(),
        "build it with its default features",
    ))
}

/// Nothing runs in a lab.
#[expect(clippy::unnecessary_wraps, reason = "as with labs")]
pub(crate) fn surroundings() -> Result<Option<Arc<dyn Surroundings>>, Failure> {
    Ok(None)
}
