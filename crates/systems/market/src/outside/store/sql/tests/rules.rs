//! The same rules as the books in memory, act by act.

use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use super::*;
use crate::store::Memory;

/// Histories that are played on each server, unless `THRONG_CASES` says how many.
const CASES: u64 = 6;
const USERS: u64 = 6;

#[derive(Debug, Clone)]
enum Act {
    Predict {
        who: u64,
        /// Pools after, or before, the open one of a game.
        game: u32,
        off: i64,
        outcome: Outcome,
        amount: u64,
    },
    Record {
        game: u32,
        outcome: Outcome,
    },
    /// The last event, again.
    RecordAgain {
        game: u32,
    },
    Resolve,
    /// Settles, and is ended before it announces.
    SettleFirst,
    Open {
        who: u64,
    },
    Close {
        who: u64,
    },
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let outcome = || prop::sample::select(&Outcome::ALL[..]);
    let off = prop_oneof![8 => Just(0_i64), 1 => -2..=2_i64];
    let amount = prop_oneof![20 => 1..400_u64, 1 => Just(1 << 53), 1 => Just(u64::MAX)];
    let predict = (0..USERS, 1..=3_u32, off, outcome(), amount).prop_map(
        |(who, game, off, outcome, amount)| Act::Predict { who, game, off, outcome, amount },
    );
    let act = prop_oneof![
        16 => predict,
        3 => (1..=3_u32, outcome()).prop_map(|(game, outcome)| Act::Record { game, outcome }),
        1 => (1..=3_u32).prop_map(|game| Act::RecordAgain { game }),
        2 => Just(Act::Resolve),
        1 => Just(Act::SettleFirst),
        1 => (0..USERS).prop_map(|who| Act::Open { who }),
        2 => (0..USERS).prop_map(|who| Act::Close { who }),
    ];
    prop::collection::vec(act, 0..80)
}

/// Half of them have names. Their accounts are in this order, by which the last cents are shared out.
fn user(number: u64) -> User {
    match number < USERS / 2 {
        true => User::Connection(number),
        false => named(&format!("user {number}")),
    }
}

/// Plays an act on one store; what it answered, as text.
async fn play(store: &dyn Store, act: &Act) -> String {
    match *act {
        Act::Predict { who, game, off, outcome, amount } => {
            let open = store.open_pool(GameId(game)).await.unwrap().unwrap().id.0;
            let pool = open.saturating_add_signed(off * 3);
            let prediction = prediction(&user(who), pool, outcome, amount);
            format!("{:?}", store.predict(&prediction).await)
        }
        Act::Record { game, outcome } => {
            let last = store.last_event(GameId(game)).await.unwrap();
            format!("{:?}", store.record(event(game, last + 1, outcome)).await)
        }
        Act::RecordAgain { game } => {
            let last = store.last_event(GameId(game)).await.unwrap();
            format!("{:?}", store.record(event(game, last, Outcome::Home)).await)
        }
        Act::Resolve => {
            let mut all = Vec::new();
            for event in store.unsettled().await.unwrap() {
                all.push((event, store.settle(event).await));
            }
            for event in store.pending().await.unwrap() {
                all.push((event, store.settle(event).await));
                store.announced(event).await.unwrap();
            }
            let left = (store.unsettled().await, store.pending().await);
            format!("{all:?} {left:?}")
        }
        Act::SettleFirst => match store.unsettled().await.unwrap().first() {
            Some(event) => format!("{event:?} {:?}", store.settle(*event).await),
            None => String::new(),
        },
        Act::Open { who } => format!("{:?}", store.open_account(&user(who)).await),
        Act::Close { who } => format!("{:?}", store.close_account(&user(who)).await),
    }
}

/// All that can be read.
async fn state(store: &dyn Store) -> String {
    let mut text = format!("{:?} {:?}", store.games().await, store.audit().await);
    for game in (0..=4).map(GameId) {
        let one = store.game(game).await;
        let last = store.last_event(game).await;
        text += &format!("{one:?} {last:?} {:?}", store.open_pool(game).await);
        let pools = store.pools(game).await;
        for pool in pools.iter().flatten().flatten() {
            assert_eq!(store.pool(pool.id).await, Ok(Some(*pool)));
        }
        let events = (store.unsettled().await, store.pending().await);
        text += &format!("{pools:?} {events:?}\n");
        if let Ok(Some(open)) = store.open_pool(game).await {
            for placed in store.predictions(open.id).await.unwrap() {
                // The store itself numbers predictions, and users without a name.
                let user = match placed.user.starts_with('#') {
                    true => "#",
                    false => &placed.user,
                };
                text += &format!("{user} {:?} {}\n", placed.option, placed.amount);
            }
        }
    }
    text
}

/// Plays histories on both stores.
fn compare(database: &Database, queries: Queries, driver: Driver, cases: u32) {
    let options = SqlOptions { queries, driver, ..database.options() };
    let strategy = acts();
    let mut runner =
        TestRunner::new(ProptestConfig { cases, failure_persistence: None, ..Default::default() });
    let checked = runner.run(&strategy, |acts| {
        clear(database);
        let sql = Sql::open(&options).unwrap();
        let memory = Memory::new(3, 1000, 0).keeping_predictions(true);
        run(async {
            for who in 0..USERS {
                let user = user(who);
                assert_eq!(sql.open_account(&user).await, memory.open_account(&user).await);
            }
            for act in &acts {
                let found = play(&sql, act).await;
                let wanted = play(&memory, act).await;
                assert_eq!(found, wanted, "{act:?}");
                assert!(sql.audit().await.unwrap().balanced());
            }
            assert_eq!(state(&sql).await, state(&memory).await);
        });
        Ok(())
    });
    checked.unwrap_or_else(|failed| panic!("{} {queries:?}: {failed}", database.kind));
}

/// Empties the store, whose tables stay.
fn clear(database: &Database) {
    if !database.has_tables() {
        return;
    }
    for table in ["accounts", "predictions", "payouts", "events", "pools"] {
        database.run(&format!("DELETE FROM market_{table}"));
    }
    database.run("INSERT INTO market_pools (id, game) VALUES (1, 1), (2, 2), (3, 3)");
    database.run("UPDATE market_games SET open_pool = id, home_score = 0, away_score = 0");
}

impl Database {
    fn has_tables(&self) -> bool {
        connect(&self.address).rows("SELECT version FROM market_mark", &[]).is_ok()
    }
}

#[test]
fn it_follows_the_rules_of_the_books() {
    let cases = u32::try_from(testkit::cases(CASES)).unwrap();
    testkit::at_once(KINDS.len(), &Database::each(), |database| {
        compare(database, Queries::Pipelined, Driver::Async, cases);
        compare(database, Queries::Sequential, Driver::Async, cases);
        compare(database, Queries::Pipelined, Driver::Blocking, cases.div_ceil(4));
        compare(database, Queries::Sequential, Driver::Blocking, cases.div_ceil(4));
    });
}

#[test]
fn names_may_be_any_text() {
    let names = [
        "'; DROP TABLE market_accounts; --",
        "\"quoted\" \\ `back` ?",
        "nul\0inside",
        "nul\0",
        "",
        " ",
        "a",
        "A",
        "a ",
        "ä",
        "a\u{308}",
        "ß",
        "ss",
        "مرحبا",
        "日本語",
        "🦀",
        "c1.0",
        "%_$1",
    ];
    for database in Database::each() {
        for queries in [Queries::Pipelined, Queries::Sequential] {
            let store = Sql::open(&SqlOptions { queries, ..database.options() });
            let store = store.unwrap();
            run(async {
                for (name, amount) in names.iter().zip(1..) {
                    let prediction = prediction(&named(name), 1, Outcome::Home, amount);
                    let verdict = store.predict(&prediction).await.unwrap();
                    assert!(matches!(verdict, Verdict::Accepted { .. }), "{name:?}");
                }
                let times = if queries == Queries::Pipelined { 1 } else { 2 };
                for (name, amount) in names.iter().zip(1..) {
                    let balance = store.open_account(&named(name)).await;
                    assert_eq!(balance, Ok(1000 - amount * times), "{name:?}");
                }
                // A connection has another account than a user with such a name.
                assert_eq!(store.open_account(&User::Connection(0)).await, Ok(1000));
            });
        }
        let accounts = database.number("SELECT count(*) FROM market_accounts");
        assert_eq!(accounts, names.len() as i64 + 2, "{}", database.kind);
    }
}
