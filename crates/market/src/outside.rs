//! What of a market is outside of its process, and what is counted of it.

mod opening;

use std::sync::Arc;

use tokio::sync::watch;
use tokio::task::JoinSet;

use super::state::MarketState;
use super::store::{Cached, Regional, Sql};
use bus::Remote;
use bus::model::{GameId, PoolId};
use server::metrics::Page;

/// Stores, cache and bus outside of this process.
#[derive(Default)]
pub(crate) struct Outside {
    sql: Option<Arc<Sql>>,
    cache: Option<Arc<Cached>>,
    bus: Option<Arc<dyn Remote>>,
    /// The ledger of this region; what is above is the owner's then.
    regional: Option<Arc<Regional>>,
}

impl Outside {
    /// Adds what they count to a page.
    pub(crate) fn write(&self, page: &mut Page) {
        if let Some(sql) = &self.sql {
            sql.metrics().write(page);
            page.gauge(
                "store_waiting",
                "Calls that wait for a connection",
                sql.waiting(),
            );
        }
        if let Some(cache) = &self.cache {
            cache.metrics().write(page);
        }
        if let Some(regional) = &self.regional {
            regional.write(page);
        }
        if let Some(bus) = &self.bus {
            bus.hub().metrics().write(page);
            let queued = bus.hub().queued_max();
            page.gauge(
                "bus_queued",
                "Messages that wait for the slowest thread",
                queued,
            );
        }
    }

    /// Whether predictions are accepted in a ledger, which brings them to the pools later.
    pub(crate) fn has_ledger(&self) -> bool {
        self.regional.is_some()
    }

    /// Says to the ledger, if there is one, that a game has opened a pool.
    pub(crate) fn announce(&self, game: GameId, open: PoolId) {
        if let Some(regional) = &self.regional {
            regional.announce(game, open);
        }
    }
}

/// Starts what a process that serves users does about these.
pub(crate) fn play(state: &Arc<MarketState>, play: &mut JoinSet<()>) {
    if let Some(regional) = &state.outside.regional {
        play.spawn(carry(Arc::clone(state), Arc::clone(regional)));
    }
    if let Some(bus) = &state.outside.bus {
        play.spawn(touch_after_returns(Arc::clone(state), bus.hub().returned()));
    }
}

/// Has a ledger's courier carry for ever, and touches the games whose pools it brought money.
async fn carry(state: Arc<MarketState>, regional: Arc<Regional>) {
    loop {
        match regional.carry(|game| state.touch(game)).await {
            Ok(()) => regional.news().await,
            Err(_) => regional.pause().await,
        }
    }
}

/// Touches all games whenever the bus is back: what was published meanwhile may be lost.
async fn touch_after_returns(state: Arc<MarketState>, mut returned: watch::Receiver<u64>) {
    while returned.changed().await.is_ok() {
        for game in state.games() {
            state.touch(game);
        }
    }
}
