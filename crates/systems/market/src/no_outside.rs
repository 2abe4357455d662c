//! The parts of a market outside of its process, in a program that was built without stores: none.

use crate::bus::model::{GameId, PoolId};
use server::metrics::Page;

#[derive(Default)]
pub(crate) struct Outside {}

impl Outside {
    pub(crate) fn write(&self, _: &mut Page) {}

    pub(crate) fn has_ledger(&self) -> bool {
        false
    }

    pub(crate) fn announce(&self, _: GameId, _: PoolId) {}
}
