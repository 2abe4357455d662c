//! `--ui` where this program was built without pages: it says so.

use std::sync::Arc;

use controller::{Interrupt, Tick};
use report::Page;

use crate::exit::Failure;
use crate::page;

/// There is none.
pub(crate) enum LivePage {}

impl LivePage {
    pub(crate) fn open(_: &str, _: &Arc<Interrupt>) -> Result<LivePage, Failure> {
        Err(page::none())
    }

    pub(crate) fn tick(&self, _: &Tick<'_>) {
        match *self {}
    }

    pub(crate) fn end(self, _: Option<&Page>) {
        match self {}
    }
}
