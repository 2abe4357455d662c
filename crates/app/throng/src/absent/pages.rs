//! Pages in a program that was built without them: errors.

use std::sync::Arc;

use controller::{Interrupt, Pause, Tick};
use plan::Threshold;
use report::Page;

use crate::exit::{Exit, Failure};

/// The error of a program without pages.
pub(crate) fn none() -> Failure {
    Failure::hinted(
        Exit::Usage,
        "this program was built without pages".to_owned(),
        "build it with its default features, after scripts/web.sh",
    )
}

pub(crate) fn check() -> Result<(), Failure> {
    Err(none())
}

pub(crate) fn html(_: &Page) -> Result<String, Failure> {
    Err(none())
}

/// A value of this type never exists.
pub(crate) enum LivePage {}

impl LivePage {
    pub(crate) fn open(
        _: &str,
        _: Vec<Threshold>,
        _: &Arc<Interrupt>,
        _: &Arc<Pause>,
    ) -> Result<LivePage, Failure> {
        Err(none())
    }

    pub(crate) fn tick(&mut self, _: &Tick<'_>) {
        match *self {}
    }

    pub(crate) fn end(self, _: Option<&Page>) {
        match self {}
    }
}
