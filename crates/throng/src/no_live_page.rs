//! `--ui` where this program was built without pages: it says so.

use std::sync::Arc;

use controller::{Interrupt, Pause, Tick};
use plan::Threshold;
use report::Page;

use crate::exit::Failure;
use crate::page;

/// There is none.
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
