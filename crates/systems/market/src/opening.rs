//! Opens what of a market is outside of its process, and keeps it going.

use std::sync::Arc;

use tokio::sync::watch;
use tokio::task::JoinSet;

use super::MarketError;
use super::options::MarketOptions;
use super::outside::bus::{self, BusOptions, Remote};
use super::outside::store::{CachedOptions, CachedStore, Purpose, Regional, Sql, SqlOptions};
use super::outside::{BusAddress, Outside, ServerAddress};
use super::social::Social;
use super::state::MarketState;
use super::store::Store;
use crate::bus::Bus;

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
        let mut outside = Outside { sql: Some(Arc::clone(&sql)), ..Outside::default() };
        let market = sql.id();
        let mut store: Arc<dyn Store> = Arc::clone(&sql) as Arc<dyn Store>;
        if let Some(address) = &backing.cache {
            let cached = Arc::new(open_cache(address, &market, Arc::clone(&store), options)?);
            outside.cache = Some(Arc::clone(&cached));
            store = cached;
        }
        let bus: Arc<dyn Bus> = match &backing.bus {
            None => Arc::new(crate::bus::Memory::new(options.games_and_slots())),
            Some(address) => {
                let bus = open_bus(address, market, options)?;
                outside.bus = Some(Arc::clone(&bus));
                bus
            }
        };
        if let Some(ledger) = ledger {
            let games = options.games_and_slots();
            let limits = [backing.ledger_alone, backing.wait];
            let regional = Arc::new(Regional::new(ledger, sql, store, games, limits));
            outside.regional = Some(Arc::clone(&regional));
            store = regional;
        }
        let social = outside.sql.clone().filter(|_| options.questions > 0);
        let social = social.map(|sql| sql as Arc<dyn Social>);
        let mut state = Self::with(options, store, bus, outside);
        state.social = social;
        Ok(state)
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
        games: options.games_and_slots(),
        starting_balance: options.starting_balance,
        social: options.questions > 0 && !matches!(purpose, Purpose::LedgerOf(_)),
        purpose,
    }
}

fn open_store(address: &ServerAddress, options: &MarketOptions) -> Result<Sql, MarketError> {
    let purpose = match options.backing.ledger {
        Some(_) => Purpose::Owner,
        None => Purpose::Store,
    };
    let sql = Sql::open(&sql_options(address, purpose, options));
    sql.map_err(|source| MarketError::Store { at: address.to_string(), source })
}

/// Opens the region's ledger.
fn open_ledger(
    address: &ServerAddress,
    owner: &Sql,
    options: &MarketOptions,
) -> Result<Arc<Sql>, MarketError> {
    let failed = |source| MarketError::Ledger { at: address.to_string(), source };
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
) -> Result<CachedStore, MarketError> {
    let backing = &options.backing;
    let cached = CachedStore::open(CachedOptions {
        address: address.clone(),
        read_address: backing.cache_read.clone(),
        market: market.to_owned(),
        games: options.games_and_slots(),
        wait: backing.wait,
        driver: backing.driver,
        queries: backing.queries,
        inner,
    });
    cached
        .map_err(|error| MarketError::Cache { at: address.to_string(), problem: error.to_string() })
}

fn open_bus(
    address: &BusAddress,
    market: String,
    options: &MarketOptions,
) -> Result<Arc<dyn Remote>, MarketError> {
    let options = BusOptions {
        market,
        games: options.games_and_slots(),
        wait: options.backing.wait,
        claims: options.backing.claims,
    };
    bus::open(address, &options)
        .map_err(|error| MarketError::Bus { at: address.to_string(), problem: error.to_string() })
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
