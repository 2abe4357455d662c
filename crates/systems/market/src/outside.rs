//! The parts of a market outside of its process: their addresses, the parts, and their metrics.

pub mod bus;
pub(crate) mod store;

use std::sync::Arc;

use crate::bus::model::{GameId, PoolId};
use bus::Remote;
use server::metrics::Page;
use store::{CachedStore, Regional, Sql};

pub use bus::{BusAddress, BusAddressError};
pub(crate) use server::database::ServerAddress;
pub use store::OpenError;

/// Whether processes may claim in two steps there.
pub(crate) fn can_race(bus: &BusAddress) -> bool {
    !matches!(bus, BusAddress::Nats(_))
}

/// Stores, cache and bus outside of this process.
#[derive(Default)]
pub(crate) struct Outside {
    pub(crate) sql: Option<Arc<Sql>>,
    pub(crate) cache: Option<Arc<CachedStore>>,
    pub(crate) bus: Option<Arc<dyn Remote>>,
    /// The ledger of this region; what is above is the owner's then.
    pub(crate) regional: Option<Arc<Regional>>,
}

impl Outside {
    /// Adds what they count to a page.
    pub(crate) fn write(&self, page: &mut Page) {
        if let Some(sql) = &self.sql {
            sql.metrics().write(page);
            page.gauge("store_waiting", "Calls that wait for a connection", sql.waiting());
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
            page.gauge("bus_queued", "Messages that wait for the slowest thread", queued);
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
