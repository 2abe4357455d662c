//! The stores, cache and bus behind a market, in this process or outside.

use std::time::Duration;

use super::outside::{BusAddress, ServerAddress, can_race};
use super::store::{Driver, Queries};
use crate::bus::Claims;
use server::{ServerError, ServerOptions, check_rules};

/// Most connections to a database.
const CONNECTIONS_MAX: usize = 1_000;
/// How long a call of a store may take.
const WAIT_MIN: Duration = Duration::from_millis(1);
const WAIT_MAX: Duration = Duration::from_secs(3_600);

/// The work that one process of a market does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum MarketPart {
    /// Everything.
    #[default]
    All,
    /// Serves users, and publishes distributions.
    Api,
    /// Records what happens in the games.
    Events,
    /// Settles the pools that events decide.
    Resolver,
    /// Serves users near them, and passes their requests on to an API process.
    Relay,
}

impl MarketPart {
    pub(crate) fn has_feed(self) -> bool {
        matches!(self, MarketPart::All | MarketPart::Events)
    }

    pub(crate) fn has_resolver(self) -> bool {
        matches!(self, MarketPart::All | MarketPart::Resolver)
    }

    pub(crate) fn has_api(self) -> bool {
        matches!(self, MarketPart::All | MarketPart::Api)
    }
}

/// The store of a market's state, and the bus between its processes. By default all of it is in this process.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Backing {
    /// The database of games, pools, accounts and predictions; `None`: they are in memory.
    pub store: Option<ServerAddress>,
    /// A replica of it, for reads that may be a little behind.
    pub store_read: Option<ServerAddress>,
    /// Connections to each of the two, 1 to 1,000; with a blocking driver there is one.
    pub store_connections: usize,
    /// How long any call of store, cache or bus may take; 1 ms to 1 h.
    pub wait: Duration,
    /// Thread that waits for the store.
    pub driver: Driver,
    /// How many round trips a request costs.
    pub queries: Queries,
    /// The region's own ledger: its users' accounts are there, and predictions are accepted there.
    pub ledger: Option<ServerAddress>,
    /// How long a ledger accepts predictions without hearing of the store; at most 1 h.
    pub ledger_alone: Duration,
    /// The cache; `None`: there is none.
    pub cache: Option<ServerAddress>,
    /// A replica of it.
    pub cache_read: Option<ServerAddress>,
    /// Address of the bus between processes; `None`: there is one process only.
    pub bus: Option<BusAddress>,
    /// How processes agree on who publishes a distribution; over NATS atomically only.
    pub claims: Claims,
}

impl Default for Backing {
    fn default() -> Self {
        Self {
            store: None,
            store_read: None,
            store_connections: 16,
            wait: Duration::from_secs(5),
            driver: Driver::default(),
            queries: Queries::default(),
            ledger: None,
            ledger_alone: Duration::from_secs(60),
            cache: None,
            cache_read: None,
            bus: None,
            claims: Claims::default(),
        }
    }
}

impl Backing {
    /// Checks what goes together, for a process that is this part and is served like this.
    pub(crate) fn check(
        &self,
        part: MarketPart,
        server: &ServerOptions,
    ) -> Result<(), ServerError> {
        let has_store = self.store.is_some();
        check_rules([
            (
                matches!(part, MarketPart::All | MarketPart::Relay) || has_store,
                "a part of a market needs a store that the others have, too (--store)",
            ),
            (
                !matches!(part, MarketPart::Api | MarketPart::Resolver) || self.bus.is_some(),
                "parts of a market need a bus (--bus)",
            ),
            (
                has_store
                    || (self.store_read.is_none() && self.cache.is_none() && self.bus.is_none()),
                "a replica, a cache or a bus needs a store (--store)",
            ),
            (
                self.cache.is_some() || self.cache_read.is_none(),
                "a replica of the cache needs a cache (--cache)",
            ),
            (
                self.claims == Claims::Atomic || self.bus.as_ref().is_none_or(can_race),
                "racing claims need a bus in Redis (--bus redis://… or --batch-claim atomic)",
            ),
            (
                !server.shared_port || self.bus.is_some(),
                "several processes need a store (--store) and a bus (--bus)",
            ),
            (
                self.ledger.is_none()
                    || (part == MarketPart::Api
                        && self.driver == Driver::Async
                        && self.queries == Queries::Pipelined),
                "a ledger needs an API process with an asynchronous driver and pipelined queries",
            ),
            (
                self.ledger_alone <= WAIT_MAX,
                "the time that a ledger may be alone must be at most 1 h",
            ),
            (
                (1..=CONNECTIONS_MAX).contains(&self.store_connections),
                "connections to the store must be 1 to 1,000",
            ),
            (
                (WAIT_MIN..=WAIT_MAX).contains(&self.wait),
                "the wait for the store must be 1 ms to 1 h",
            ),
            (
                part.has_api() || part == MarketPart::Relay || server.tls.is_none(),
                "only processes that serve users speak TLS (--tls-cert)",
            ),
            (
                self.driver == Driver::Async || server.threads == 1,
                "a process with a blocking driver has one thread",
            ),
        ])
    }
}
