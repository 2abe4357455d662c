//! The store on real servers: MariaDB and PostgreSQL, where they are installed.

mod faults;
mod ledgers;
mod room;
mod rules;
mod schema;
mod settling;
mod social;
mod threads;
mod trips;

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use server::database::{Sql as Connection, StoreAddress, Value};
use testkit::services::Services;

use super::*;
use crate::bus::model::Outcome;
use crate::transactions::Refusal;

/// Kinds of servers, by their names in `scripts/services`.
const KINDS: [&str; 2] = ["mysql", "postgres"];

/// The servers that most tests share. They end with the process.
static SERVICES: LazyLock<Option<Services>> = LazyLock::new(|| Services::shared(&KINDS));

/// An empty database of a test's own.
#[derive(Clone)]
struct Database {
    kind: &'static str,
    name: String,
    address: ServerAddress,
    /// Another database of the same server.
    other: ServerAddress,
}

fn address(url: &str) -> ServerAddress {
    match StoreAddress::parse(url) {
        Ok(StoreAddress::Server(address)) => address,
        other => panic!("{url}: {other:?}"),
    }
}

fn connect(address: &ServerAddress) -> Box<dyn Connection + Send> {
    server::database::connect(address, "test", Duration::from_secs(20)).unwrap()
}

impl Database {
    /// One on each server that there is.
    fn each() -> Vec<Self> {
        let services = SERVICES.as_ref();
        let on = |kind| services.and_then(|services| Self::on(services, kind));
        KINDS.into_iter().filter_map(on).collect()
    }

    fn on(services: &Services, kind: &'static str) -> Option<Self> {
        static NUMBERS: AtomicU64 = AtomicU64::new(1);
        let url = services.url(kind)?;
        let (server, _) = url.rsplit_once('/').unwrap();
        // Other processes have theirs on the same server.
        let name =
            format!("market_{}_{}", std::process::id(), NUMBERS.fetch_add(1, Ordering::Relaxed));
        let other = address(&match kind {
            "mysql" => format!("{server}/information_schema"),
            _ => url.to_owned(),
        });
        // A process that is over may have had the same number.
        for statement in ["DROP DATABASE IF EXISTS", "CREATE DATABASE"] {
            let statement = format!("{statement} {name}");
            connect(&other).plain(&statement).unwrap();
        }
        Some(Self { kind, address: address(&format!("{server}/{name}")), name, other })
    }

    fn options(&self) -> SqlOptions {
        SqlOptions {
            master: self.address.clone(),
            replica: None,
            connections: 4,
            wait: Duration::from_secs(20),
            queries: Queries::default(),
            driver: Driver::default(),
            games: 3,
            starting_balance: 1000,
            purpose: Purpose::Store,
            social: false,
        }
    }

    fn open(&self) -> Sql {
        Sql::open(&self.options()).unwrap()
    }

    /// A store that waits less than a busy machine may need to open it.
    fn open_impatient(&self, options: &SqlOptions) -> Sql {
        let mut attempts = (0..20).map(|_| Sql::open(options));
        attempts.find_map(Result::ok).expect("it opens in the end")
    }

    fn run(&self, sql: &str) {
        connect(&self.address).plain(sql).unwrap();
    }

    /// The number that a query answers.
    fn number(&self, sql: &str) -> i64 {
        let rows = connect(&self.address).rows(sql, &[]).unwrap();
        open::number(&rows[0], 0).unwrap()
    }

    /// How many statements wait for the locks of others here; in MySQL, how many are under way.
    fn waiting_for_locks(&self) -> i64 {
        self.number(match self.kind {
            "postgres" => {
                "SELECT count(*) FROM pg_stat_activity \
                 WHERE datname = current_database() AND wait_event_type = 'Lock'"
            }
            _ => {
                "SELECT count(*) FROM information_schema.processlist WHERE db = database() \
                 AND command IN ('Query', 'Execute') AND id <> connection_id()"
            }
        })
    }

    /// Ends all connections to this database.
    fn cut_connections(&self) {
        let mut connection = connect(&self.other);
        if self.kind == "postgres" {
            let terminate =
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = ?";
            connection.change(terminate, &[Value::Text(self.name.clone())]).unwrap();
            return;
        }
        let all = "SELECT id FROM information_schema.processlist WHERE db = ?";
        let rows = connection.rows(all, &[Value::Text(self.name.clone())]);
        for row in rows.unwrap() {
            // It may have ended by itself.
            drop(connection.plain(&format!("KILL {}", open::number(&row, 0).unwrap())));
        }
    }
}

fn run<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.unwrap().block_on(future)
}

fn named(name: &str) -> User {
    User::Named(name.into())
}

fn prediction(user: &User, pool: u64, outcome: Outcome, amount: u64) -> Prediction {
    Prediction { user: user.clone(), pool: PoolId(pool), outcome, amount }
}

fn event(game: u32, number: u64, outcome: Outcome) -> Event {
    Event { game: GameId(game), number, outcome }
}
