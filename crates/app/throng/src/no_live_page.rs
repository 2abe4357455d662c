//! `--ui` in a program that was built without pages: an error.

use std::sync::Arc;

use controller::{Interrupt, Pause, Tick};
use plan::Threshold;
use report::Page;

use crate::exit::Failure;
use crate::page;

/// A value of this type never exists.
pub(crate) enum LivePage {}

impl LivePage {
    pub(crate) fn open(
        _: &str,
        _: Vec<Threshold>,
        _: &Arc<Interrupt>,
        _: &Arc<Pause>,
    ) -> Result<LivePage, Failure> {
        Err(page::none())
    }

    pub(crate) fn tick(&mut self, _: &Tick<'_>) {
        match *self {}
    }

    pub(crate) fn end(self, _: Option<&Page>) {
        match self {}
    }
}
