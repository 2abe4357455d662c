//! Opens a market in a program that was built without stores: in memory.

use std::sync::Arc;

use tokio::task::JoinSet;

use super::MarketError;
use super::options::MarketOptions;
use super::state::MarketState;

pub(crate) fn play(_: &Arc<MarketState>, _: &mut JoinSet<()>) {}

impl MarketState {
    /// A market in memory: the options cannot name anything else.
    pub(crate) fn open(options: &MarketOptions) -> Result<Self, MarketError> {
        Ok(Self::new(options))
    }
}
