//! What all parts of a running market share.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Notify;

use super::MarketError;
use super::delay::Delay;
use super::leaving::Leaving;
use super::metrics::Metrics;
use super::options::{Broadcast, Listing, MarketOptions};
use super::outside::Outside;
use super::store::{self, Cached, CachedOptions, Purpose, Regional, Sql, SqlOptions, Store};
use bus::model::GameId;
use bus::{self, Bus, BusAddress, BusOptions, Remote};
use server::Drain;
use server::database::ServerAddress;

/// Store, bus, counters, and the state of the games' channels.
pub(crate) struct MarketState {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) bus: Arc<dyn Bus>,
    /// What of these is outside of this process.
    pub(crate) outside: Outside,
    /// Whether all money is counted for the metrics and at the end.
    pub(crate) audits: bool,
    pub(crate) metrics: Metrics,
    pub(crate) delay: Delay,
    /// When distributions are published.
    pub(crate) broadcast: Broadcast,
    /// What the reply to `pools` lists.
    pub(crate) pools: Listing,
    /// What distributions list.
    pub(crate) distribution: Listing,
    /// Least bytes of a distribution's text.
    pub(crate) broadcast_bytes_min: usize,
    pub(crate) drain: Drain,
    /// Users who have left.
    pub(crate) leaving: Leaving,
    connections: AtomicU64,
    /// By game: holds a permit when the distribution may have changed since it was last looked at.
    touched: Vec<Notify>,
    /// Holds a permit when an event was recorded since the resolver last looked.
    pub(crate) recorded: Notify,
}

impl MarketState {
    /// A market with all that the options name. Blocks until everything is reached.
    pub(crate) fn open(options: &MarketOptions) -> Result<Self, MarketError> {
        let backing = &options.backing;
        let Some(address) = &backing.store else {
            return Ok(Self::new(options));
        };
        let sql = Arc::new(open_store(address, options)?);
        let ledger = backing.ledger.as_ref();
        let ledger = ledger.map(|address| open_ledger(address, &sql, options));
        let ledger = ledger.transpose()?;
        let mut outside = Outside {
            sql: Some(Arc::clone(&sql)),
            ..Outside::default()
        };
        let market = sql.id();
        let mut store: Arc<dyn Store> = Arc::clone(&sql) as Arc<dyn Store>;
        if let Some(address) = &backing.cache {
            let cached = Arc::new(open_cache(address, &market, Arc::clone(&store), options)?);
            outside.cache = Some(Arc::clone(&cached));
            store = cached;
        }
        let bus: Arc<dyn Bus> = match &backing.bus {
            None => Arc::new(bus::Memory::new(options.games)),
            Some(address) => {
                let bus = open_bus(address, market, options)?;
                outside.bus = Some(Arc::clone(&bus));
                bus
            }
        };
        if let Some(ledger) = ledger {
            let (games, limits) = (options.games, [backing.ledger_alone, backing.wait]);
            let regional = Arc::new(Regional::new(ledger, sql, store, games, limits));
            outside.regional = Some(Arc::clone(&regional));
            store = regional;
        }
        Ok(Self::with(options, store, bus, outside))
    }

    /// A market in memory.
    pub(crate) fn new(options: &MarketOptions) -> Self {
        let store = store::Memory::new(
            options.games,
            options.starting_balance,
            options.server.connections,
        );
        let store = Arc::new(store.keeping_predictions(options.lists_predictions()));
        let bus = Arc::new(bus::Memory::new(options.games));
        Self::with(options, store, bus, Outside::default())
    }

    fn with(
        options: &MarketOptions,
        store: Arc<dyn Store>,
        bus: Arc<dyn Bus>,
        outside: Outside,
    ) -> Self {
        Self {
            store,
            bus,
            outside,
            // Whoever pays counts the money, and whoever has accounts of its own.
            audits: options.part.has_resolver() || options.backing.ledger.is_some(),
            metrics: Metrics::default(),
            delay: Delay::new(options),
            broadcast: options.broadcast,
            pools: options.pools,
            distribution: options.distribution,
            broadcast_bytes_min: options.broadcast_size,
            drain: Drain::default(),
            leaving: Leaving::default(),
            connections: AtomicU64::new(0),
            touched: (0..options.games).map(|_| Notify::new()).collect(),
            recorded: Notify::new(),
        }
    }

    /// All games.
    pub(crate) fn games(&self) -> impl Iterator<Item = GameId> {
        GameId::all(self.touched.len())
    }

    /// Whether `game` is played here.
    pub(crate) fn plays(&self, game: GameId) -> bool {
        game.index().is_some_and(|index| index < self.touched.len())
    }

    /// Says that the distribution of `game` has changed.
    pub(crate) fn touch(&self, game: GameId) {
        self.touched_in(game).notify_one();
    }

    /// Resolves when the distribution of `game` was touched since the last time.
    pub(crate) async fn touched(&self, game: GameId) {
        self.touched_in(game).notified().await;
    }

    fn touched_in(&self, game: GameId) -> &Notify {
        // Ids come from the store, which plays the same games.
        &self.touched[game.0 as usize - 1]
    }

    /// A number that no other connection has.
    pub(crate) fn next_connection(&self) -> u64 {
        self.connections.fetch_add(1, Ordering::Relaxed)
    }
}

/// How a database of the market is opened.
fn sql_options(address: &ServerAddress, purpose: Purpose, options: &MarketOptions) -> SqlOptions {
    let backing = &options.backing;
    SqlOptions {
        master: address.clone(),
        replica: backing.store_read.clone(),
        connections: backing.store_connections,
        wait: backing.wait,
        queries: backing.queries,
        driver: backing.driver,
        games: options.games,
        starting_balance: options.starting_balance,
        purpose,
    }
}

fn open_store(address: &ServerAddress, options: &MarketOptions) -> Result<Sql, MarketError> {
    let purpose = match options.backing.ledger {
        Some(_) => Purpose::Owner,
        None => Purpose::Store,
    };
    let sql = Sql::open(&sql_options(address, purpose, options));
    sql.map_err(|source| MarketError::Store {
        at: address.to_string(),
        source,
    })
}

/// Opens the region's ledger.
fn open_ledger(
    address: &ServerAddress,
    owner: &Sql,
    options: &MarketOptions,
) -> Result<Arc<Sql>, MarketError> {
    let failed = |source| MarketError::Ledger {
        at: address.to_string(),
        source,
    };
    let ledger = Sql::open(&SqlOptions {
        replica: None,
        ..sql_options(address, Purpose::LedgerOf(owner.number()), options)
    });
    Ok(Arc::new(ledger.map_err(failed)?))
}

fn open_cache(
    address: &ServerAddress,
    market: &str,
    inner: Arc<dyn Store>,
    options: &MarketOptions,
) -> Result<Cached, MarketError> {
    let backing = &options.backing;
    let cached = Cached::open(CachedOptions {
        address: address.clone(),
        read_address: backing.cache_read.clone(),
        market: market.to_owned(),
        games: options.games,
        wait: backing.wait,
        driver: backing.driver,
        queries: backing.queries,
        inner,
    });
    cached.map_err(|error| MarketError::Cache {
        at: address.to_string(),
        problem: error.to_string(),
    })
}

fn open_bus(
    address: &BusAddress,
    market: String,
    options: &MarketOptions,
) -> Result<Arc<dyn Remote>, MarketError> {
    let options = BusOptions {
        market,
        games: options.games,
        wait: options.backing.wait,
        claims: options.backing.claims,
    };
    bus::open(address, &options).map_err(|error| MarketError::Bus {
        at: address.to_string(),
        problem: error.to_string(),
    })
}
