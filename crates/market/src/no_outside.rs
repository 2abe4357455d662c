//! What of a market is outside of its process, in a program that was built without stores: nothing.

use std::sync::Arc;

use tokio::task::JoinSet;

use super::MarketError;
use super::options::MarketOptions;
use super::state::MarketState;
use bus::model::{GameId, PoolId};
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

pub(crate) fn play(_: &Arc<MarketState>, _: &mut JoinSet<()>) {}

impl MarketState {
    /// A market in memory: the options cannot name anything else.
    pub(crate) fn open(options: &MarketOptions) -> Result<Self, MarketError> {
        Ok(Self::new(options))
    }
}
