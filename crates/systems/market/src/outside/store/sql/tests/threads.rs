//! Many clients at once, while connections are cut: no cent is made or lost, and nobody is paid twice.

use std::sync::atomic::AtomicBool;

use super::*;

/// Predictions that were answered, over all clients.
#[derive(Debug, Default)]
struct Counts {
    accepted: AtomicU64,
    unavailable: AtomicU64,
}

const CLIENTS: u64 = 8;
const EVENTS: u64 = 5;
/// The first pause between two cuts.
const CUT_EVERY: Duration = Duration::from_millis(100);

/// Predicts until it is over. Each answered prediction is counted by its cents.
async fn client(store: &Sql, number: u64, over: &AtomicBool, counts: &Counts) {
    let user = named(&format!("client {number}"));
    let mut pools = [1, 2, 3];
    let mut turn = number;
    while !over.load(Ordering::Relaxed) {
        turn += 1;
        let game = (turn % 3) as usize;
        let outcome = Outcome::ALL[(turn / 3 % 3) as usize];
        let prediction = prediction(&user, pools[game], outcome, 1 + turn % 5);
        match store.predict(&prediction).await {
            Ok(Verdict::Accepted { .. }) => {
                counts.accepted.fetch_add(1, Ordering::Relaxed);
            }
            Ok(Verdict::Refused { open, .. }) => pools[game] = open.0,
            Ok(Verdict::Unknown) => panic!("{prediction:?}"),
            Err(_) => {
                counts.unavailable.fetch_add(1, Ordering::Relaxed);
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
    }
}

/// Settles whatever is pending, as often as that fails, until all events are announced.
async fn resolver(store: &Sql, over: &AtomicBool) {
    while !over.load(Ordering::Relaxed) {
        for event in store.unsettled().await.unwrap_or_default() {
            // Whatever failed is tried again.
            drop(store.settle(event).await);
        }
        for event in store.pending().await.unwrap_or_default() {
            if store.settle(event).await.is_ok() {
                drop(store.announced(event).await);
            }
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

async fn feed(store: &Sql, over: &AtomicBool) {
    for number in 1..=EVENTS {
        for game in 1..=3 {
            let event = event(game, number, Outcome::ALL[(number % 3) as usize]);
            while store.record(event).await.is_err() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let is_empty = |events: Result<Vec<Event>, _>| events.is_ok_and(|events| events.is_empty());
    while !(is_empty(store.unsettled().await) && is_empty(store.pending().await)) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    over.store(true, Ordering::Relaxed);
}

fn play(database: &Database, queries: Queries, driver: Driver) {
    let options = SqlOptions {
        queries,
        driver,
        starting_balance: 1_000_000,
        wait: Duration::from_secs(5),
        ..database.options()
    };
    let stores = [(); 2].map(|()| Sql::open(&options).unwrap());
    let over = AtomicBool::new(false);
    let counts = Counts::default();
    std::thread::scope(|scope| {
        for number in 0..CLIENTS {
            let store = &stores[number as usize % 2];
            let over = &over;
            let counts = &counts;
            scope.spawn(move || run(client(store, number, over, counts)));
        }
        for store in &stores {
            scope.spawn(|| run(resolver(store, &over)));
        }
        scope.spawn(|| run(feed(&stores[0], &over)));
        let mut pause = CUT_EVERY;
        while !over.load(Ordering::Relaxed) {
            std::thread::park_timeout(pause);
            database.cut_connections();
            // A machine that is too busy to connect and settle between two cuts would never be done.
            pause += pause / 16;
        }
    });
    let what = format!("{} {queries:?} {driver:?} {counts:?}", database.kind);
    let lost = stores.iter().map(|store| store.metrics().master.lost.get());
    assert!(lost.sum::<u64>() > 0, "{what}");
    check(database, &counts, &what);
    let store = Sql::open(&options).unwrap();
    let money = run(store.audit()).unwrap();
    assert!(money.balanced(), "{what} {money:?}");
    assert_eq!(money.deposited, 1_000_000 * u128::from(CLIENTS), "{what}");
}

fn check(database: &Database, counts: &Counts, what: &str) {
    let number = |sql: &str| database.number(sql);
    // Every answered prediction is there; of those whose answer was lost some may be.
    let predictions = number("SELECT count(*) FROM market_predictions").unsigned_abs();
    let accepted = counts.accepted.load(Ordering::Relaxed);
    let unavailable = counts.unavailable.load(Ordering::Relaxed);
    assert!(accepted > 0, "{what}");
    assert!((accepted..=accepted + unavailable).contains(&predictions), "{what}: {predictions}");
    assert_eq!(
        number("SELECT count(*) FROM market_events WHERE pool IS NULL OR announced = 0"),
        0,
        "{what}"
    );
    assert_eq!(
        number("SELECT count(DISTINCT pool) FROM market_events"),
        3 * EVENTS.cast_signed(),
        "{what}"
    );
    // Each pool paid everyone who had a stake in it, and exactly what it held.
    let settled =
        "SELECT count(*) FROM market_pools p WHERE outcome IS NOT NULL AND home + away + nobody <>";
    assert_eq!(
        number(&format!(
            "{settled} (SELECT coalesce(sum(amount), 0) FROM market_payouts o WHERE o.pool = p.id)"
        )),
        0,
        "{what}"
    );
    assert_eq!(
        number(&format!(
            "{settled} (SELECT coalesce(sum(amount), 0) FROM market_predictions o WHERE o.pool = p.id)"
        )),
        0,
        "{what}"
    );
    // What each account has is what it began with, less its stakes, and what it was paid.
    assert_eq!(
        number(
            "SELECT count(*) FROM market_accounts a WHERE balance <> deposited \
             - coalesce((SELECT sum(amount) FROM market_predictions p WHERE p.account = a.id), 0) \
             + coalesce((SELECT sum(amount) FROM market_payouts p WHERE p.account = a.id), 0)"
        ),
        0,
        "{what}"
    );
}

#[test]
fn nobody_is_paid_twice_or_never_while_connections_are_cut() {
    // A history needs an empty database.
    for (queries, driver) in [
        (Queries::Pipelined, Driver::Async),
        (Queries::Sequential, Driver::Async),
        (Queries::Sequential, Driver::Blocking),
    ] {
        testkit::at_once(KINDS.len(), &Database::each(), |database| {
            play(database, queries, driver);
        });
    }
}
