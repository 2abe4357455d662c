//! The store that lasts: MariaDB, MySQL or PostgreSQL.
//!
//! Each call is one transaction on the master, or one statement on a replica. Calls are handed to connections that
//! have threads of their own, or are run by whoever calls ([`Driver`]); they take one round trip or one for each of
//! their statements ([`Queries`]). Users' texts are bound values only.

mod accounts;
mod calls;
mod dialect;
pub(crate) mod ledger;
mod link;
mod long_calls;
mod metrics;
mod open;
mod pool;
mod predict;
mod reads;
mod room;
mod settle;
mod social;

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::books::Books;
use crate::bus::model::{Event, Game, GameId, PlacedPrediction, Pool, PoolId, User};
use crate::ledger::Money;
use crate::store::{Driver, Queries, Store};
use crate::transactions::{Answer, Prediction, Settlement, StoreError, Verdict};
use server::database::{DatabaseKind, ServerAddress, Value, connect_all};

use accounts::Accounts;
use dialect::Dialect;
use link::{Link, Role, Session, Target};
use long_calls::LongCalls;
use open::Rules;
use predict::Stake;
use settle::SettleOptions;

pub(crate) use metrics::{Call, SqlMetrics};
pub use open::OpenError;
pub(crate) use open::Purpose;

/// How a relational store is opened.
#[derive(Debug, Clone)]
pub(crate) struct SqlOptions {
    /// Server for everything that is written, and for reads that must be up to date.
    pub(crate) master: ServerAddress,
    /// Server for all other reads; without one they go to the master, too.
    pub(crate) replica: Option<ServerAddress>,
    /// Connections to each of them, at least 1. [`Driver::Blocking`] has one.
    pub(crate) connections: usize,
    /// How long a call waits for a connection and its answer. With [`Driver::Blocking`] a call whose last statement
    /// is not answered takes up to twice as long.
    pub(crate) wait: Duration,
    /// How statements are sent.
    pub(crate) queries: Queries,
    /// Thread that waits for them.
    pub(crate) driver: Driver,
    /// Games, at least 1. Recorded in the store: all processes must agree.
    pub(crate) games: u32,
    /// Balance of a new account, in cents. Recorded as well.
    pub(crate) starting_balance: u64,
    /// Purpose of the database.
    pub(crate) purpose: Purpose,
    /// Whether it has users' questions and friends.
    pub(crate) social: bool,
}

#[expect(clippy::disallowed_methods, reason = "a server that stands alone has its own clock")]
fn now() -> Instant {
    Instant::now()
}

/// Connections to one server.
enum Connections {
    Async(pool::Pool),
    Blocking(pool::Single),
}

/// State in a relational database.
pub(crate) struct Sql {
    wait: Duration,
    queries: Queries,
    master: Connections,
    replica: Option<Connections>,
    long_calls: LongCalls,
    accounts: Arc<Accounts>,
    /// All games at 0:0.
    games: Arc<[Game]>,
    metrics: Arc<SqlMetrics>,
    /// Names it among all stores.
    id: i64,
}

impl Sql {
    /// Connects to the store, and makes its tables if the database is empty. Blocks.
    ///
    /// # Errors
    /// If it cannot be reached, has other tables or is played by other rules.
    pub(crate) fn open(options: &SqlOptions) -> Result<Self, OpenError> {
        let kind = options.master.kind();
        let replica_kind = options.replica.as_ref().map(ServerAddress::kind);
        if kind == DatabaseKind::Redis || replica_kind.is_some_and(|replica| replica != kind) {
            return Err(OpenError::Kind);
        }
        let rules = Rules {
            games: options.games.into(),
            starting_balance: i64::try_from(options.starting_balance).unwrap_or(i64::MAX),
        };
        let metrics = Arc::new(SqlMetrics::default());
        let target = |address: &ServerAddress, role| Target {
            address: address.clone(),
            role,
            wait: options.wait,
            metrics: Arc::clone(&metrics),
        };
        let master = target(&options.master, Role::Master);
        let mut first = master.connect()?;
        let opened =
            open::begin(&mut *first, rules, options.purpose, options.social, options.wait)?;
        let replica = match &options.replica {
            None => None,
            Some(address) => {
                let replica = target(address, Role::Replica);
                let mut first = replica.connect()?;
                open::check_replica(&mut *first, opened.store, options.wait)?;
                let link = Link::new(replica.clone(), first);
                Some(Connections::start(options, replica, link)?)
            }
        };
        let link = Link::new(master.clone(), first);
        let accounts = Accounts::new(Dialect::for_kind(kind), rules, opened.process);
        Ok(Self {
            wait: options.wait,
            queries: options.queries,
            long_calls: LongCalls::new(master.clone()),
            master: Connections::start(options, master, link)?,
            replica,
            accounts: Arc::new(accounts),
            games: Books::new(options.games, 0).games().into(),
            metrics,
            id: opened.store,
        })
    }

    /// A name that no other store has, of letters and digits.
    pub(crate) fn id(&self) -> String {
        format!("{:x}", self.id)
    }

    /// Metrics of the store.
    pub(crate) fn metrics(&self) -> &SqlMetrics {
        &self.metrics
    }

    /// Calls that wait for a connection.
    pub(crate) fn waiting(&self) -> usize {
        let waiting = |connections: &Connections| match connections {
            Connections::Async(pool) => pool.waiting(),
            Connections::Blocking(_) => 0,
        };
        let of_requests = waiting(&self.master) + self.replica.as_ref().map_or(0, waiting);
        of_requests + self.long_calls.waiting()
    }

    fn plays(&self, game: GameId) -> bool {
        game.index().is_some_and(|index| index < self.games.len())
    }

    fn pipelined(&self) -> bool {
        self.queries == Queries::Pipelined
    }
}

impl Connections {
    fn is_able(&self) -> bool {
        match self {
            Self::Async(pool) => pool.is_able(),
            Self::Blocking(single) => single.is_able(),
        }
    }

    fn start(options: &SqlOptions, target: Target, first: Link) -> Result<Self, OpenError> {
        match options.driver {
            Driver::Blocking => Ok(Self::Blocking(pool::Single::new(first))),
            Driver::Async => {
                let others = options.connections.saturating_sub(1);
                let others = connect_all(others, || target.connect())?;
                let others = others.into_iter().map(|sql| Link::new(target.clone(), sql));
                let links = std::iter::once(first).chain(others).collect();
                Ok(Self::Async(pool::Pool::start(target, links)?))
            }
        }
    }
}

impl Store for Sql {
    fn games(&self) -> Answer<'_, Vec<Game>> {
        let sides = Arc::clone(&self.games);
        Box::pin(self.read(Call::Games, move |session| reads::games(session, &sides)))
    }

    fn game(&self, id: GameId) -> Answer<'_, Option<Game>> {
        Box::pin(async move {
            if !self.plays(id) {
                return Ok(None);
            }
            let sides = Arc::clone(&self.games);
            let game = move |session: &mut Session<'_>| reads::game(session, &sides, id);
            self.read(Call::Game, game).await.map(Some)
        })
    }

    fn pools(&self, game: GameId) -> Answer<'_, Option<Vec<Pool>>> {
        Box::pin(async move {
            if !self.plays(game) {
                return Ok(None);
            }
            let pools = move |session: &mut Session<'_>| reads::pools(session, game);
            self.read(Call::Pools, pools).await.map(Some)
        })
    }

    fn pool(&self, id: PoolId) -> Answer<'_, Option<Pool>> {
        Box::pin(async move {
            let Ok(id) = i64::try_from(id.0) else {
                return Ok(None);
            };
            let pool = move |session: &mut Session<'_>| reads::one_pool(session, id);
            self.read(Call::Pool, pool).await
        })
    }

    fn open_pool(&self, game: GameId) -> Answer<'_, Option<Pool>> {
        Box::pin(async move {
            if !self.plays(game) {
                return Ok(None);
            }
            let pool = move |session: &mut Session<'_>| reads::open_pool(session, game);
            self.write(Call::OpenPool, pool).await.map(Some)
        })
    }

    fn open_account<'a>(&'a self, user: &'a User) -> Answer<'a, u64> {
        let accounts = Arc::clone(&self.accounts);
        let pipelined = self.pipelined();
        let name = accounts.name(user);
        Box::pin(
            self.write(Call::OpenAccount, move |session| accounts.open(session, &name, pipelined)),
        )
    }

    fn close_accounts<'a>(&'a self, users: &'a [User]) -> Answer<'a, ()> {
        let dialect = self.accounts.dialect;
        let names: Vec<Value> = users.iter().map(|user| self.accounts.name(user)).collect();
        Box::pin(
            self.write(Call::CloseAccount, move |session| {
                accounts::close(session, dialect, &names)
            }),
        )
    }

    fn predict<'a>(&'a self, prediction: &'a Prediction) -> Answer<'a, Verdict> {
        Box::pin(async move {
            let accounts = Arc::clone(&self.accounts);
            let Some(stake) = Stake::new(prediction, &accounts) else {
                return Ok(Verdict::Unknown);
            };
            let pipelined = self.pipelined();
            let predict = move |session: &mut Session<'_>| match pipelined {
                true => predict::pipelined(session, &accounts, &stake),
                false => predict::sequential(session, &accounts, &stake),
            };
            self.write(Call::Predict, predict).await
        })
    }

    fn predictions(&self, pool: PoolId) -> Answer<'_, Vec<PlacedPrediction>> {
        Box::pin(async move {
            let Ok(pool) = i64::try_from(pool.0) else {
                return Ok(Vec::new());
            };
            let placed = move |session: &mut Session<'_>| reads::predictions(session, pool);
            self.write(Call::Predictions, placed).await
        })
    }

    fn predictions_after(&self, pool: PoolId, after: u64) -> Answer<'_, Vec<PlacedPrediction>> {
        Box::pin(async move {
            let Ok(pool) = i64::try_from(pool.0) else {
                return Ok(Vec::new());
            };
            let after = after.cast_signed();
            let placed =
                move |session: &mut Session<'_>| reads::predictions_after(session, pool, after);
            self.write(Call::Predictions, placed).await
        })
    }

    fn predictions_of<'a>(
        &'a self,
        pool: PoolId,
        names: &'a [String],
        max: usize,
    ) -> Answer<'a, Vec<PlacedPrediction>> {
        Box::pin(async move {
            let Ok(pool) = i64::try_from(pool.0) else {
                return Ok(Vec::new());
            };
            let named = |name: &String| self.accounts.name(&User::Named(name.as_str().into()));
            let names: Vec<Value> = names.iter().map(named).collect();
            let placed = move |session: &mut Session<'_>| {
                reads::predictions_of(session, pool, &names, max as i64)
            };
            self.write(Call::Predictions, placed).await
        })
    }

    fn last_event(&self, game: GameId) -> Answer<'_, u64> {
        Box::pin(async move {
            if !self.plays(game) {
                return Err(StoreError::UnknownGame);
            }
            let last = move |session: &mut Session<'_>| reads::last_event(session, game);
            self.write(Call::LastEvent, last).await
        })
    }

    fn record(&self, event: Event) -> Answer<'_, bool> {
        Box::pin(async move {
            if !self.plays(event.game) {
                return Err(StoreError::UnknownGame);
            }
            let record = move |session: &mut Session<'_>| settle::record(session, event);
            self.write(Call::Record, record).await
        })
    }

    fn unsettled(&self) -> Answer<'_, Vec<Event>> {
        Box::pin(self.write(Call::Unsettled, reads::unsettled))
    }

    fn pending(&self) -> Answer<'_, Vec<Event>> {
        Box::pin(self.write(Call::Pending, reads::pending))
    }

    fn settle(&self, event: Event) -> Answer<'_, Settlement> {
        Box::pin(async move {
            if !self.plays(event.game) {
                return Err(StoreError::UnknownGame);
            }
            let settling = SettleOptions {
                dialect: self.accounts.dialect,
                games: self.accounts.rules.games,
                pipelined: self.pipelined(),
            };
            let settle = move |session: &mut Session<'_>| settle::settle(session, settling, event);
            self.write_patiently(Call::Settle, event.game, settle).await
        })
    }

    fn announced(&self, event: Event) -> Answer<'_, ()> {
        let announced = move |session: &mut Session<'_>| settle::announced(session, event);
        Box::pin(self.write(Call::Announced, announced))
    }

    fn audit(&self) -> Answer<'_, Money> {
        Box::pin(self.write(Call::Audit, reads::audit))
    }
}

#[cfg(test)]
mod tests;
