//! Servers that hang or are away.

use super::*;

/// Repeats a query until the server answers in time.
async fn until_answered(store: &Sql) {
    for _ in 0..100 {
        if store.open_pool(GameId(1)).await.is_ok() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("no answer");
}

#[test]
fn a_server_that_hangs_is_unavailable_within_the_wait() {
    // Other tests need theirs.
    let Some(services) = Services::start(&KINDS) else {
        return;
    };
    for database in KINDS.into_iter().filter_map(|kind| Database::on(&services, kind)) {
        for driver in [Driver::Async, Driver::Blocking] {
            // A busy machine may take longer than its `wait` while nothing is frozen, too, such as to make the tables.
            let patient = database.open();
            let wait = Duration::from_secs(3);
            let store = database.open_impatient(&SqlOptions {
                wait,
                driver,
                connections: 2,
                ..database.options()
            });
            let user = named("someone");
            let first = prediction(&user, 1, Outcome::Home, 1);
            run(async {
                patient.predict(&first).await.unwrap();
                // Its connections are there before the server hangs.
                until_answered(&store).await;
                let frozen = services.freeze(database.kind);
                for _ in 0..3 {
                    let start = now();
                    let refused = store.predict(&first).await;
                    assert!(matches!(refused, Err(StoreError::Unavailable(_))), "{refused:?}");
                    assert!(start.elapsed() < wait * 4, "{:?}", start.elapsed());
                    let read = store.open_pool(GameId(1)).await;
                    assert!(matches!(read, Err(StoreError::Unavailable(_))), "{read:?}");
                }
                drop(frozen);
                until_answered(&store).await;
                assert!(patient.audit().await.unwrap().balanced());
            });
            assert!(store.metrics().late.get() > 0);
            assert!(store.metrics().master.renewed.get() > 0);
        }
    }
}

#[test]
fn a_settlement_does_not_wait_for_a_stream_of_predictions() {
    for database in Database::each() {
        let store = Sql::open(&SqlOptions {
            connections: 9,
            starting_balance: 1_000_000_000,
            ..database.options()
        });
        let store = store.unwrap();
        let over = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            for number in 0..8 {
                let store = &store;
                let over = &over;
                scope.spawn(move || {
                    run(async {
                        let user = named(&format!("user {number}"));
                        let mut pool = 1;
                        while !over.load(Ordering::Relaxed) {
                            let prediction = prediction(&user, pool, Outcome::Home, 1);
                            if let Verdict::Refused { open, .. } =
                                store.predict(&prediction).await.unwrap()
                            {
                                pool = open.0;
                            }
                        }
                    });
                });
            }
            run(async {
                for number in 1..=5 {
                    let start = now();
                    let event = event(1, number, Outcome::Home);
                    store.settle(event).await.unwrap();
                    let took = start.elapsed();
                    assert!(took < Duration::from_secs(10), "{}: {took:?}", database.kind);
                }
            });
            over.store(true, Ordering::Relaxed);
        });
        assert!(run(store.audit()).unwrap().balanced());
    }
}

#[test]
fn reads_go_to_the_replica_except_those_that_must_be_up_to_date() {
    for database in Database::each() {
        let store = Sql::open(&SqlOptions {
            replica: Some(database.address.clone()),
            ..database.options()
        });
        let store = store.unwrap();
        run(async {
            let user = named("someone");
            store.open_account(&user).await.unwrap();
            let first = prediction(&user, 1, Outcome::Home, 1);
            store.predict(&first).await.unwrap();
            store.games().await.unwrap();
            store.game(GameId(1)).await.unwrap();
            store.pools(GameId(1)).await.unwrap();
            store.pool(PoolId(1)).await.unwrap();
            store.open_pool(GameId(1)).await.unwrap();
        });
        let metrics = store.metrics();
        for (call, at_master, at_replica) in [
            (Call::Games, 0, 1),
            (Call::Game, 0, 1),
            (Call::Pools, 0, 1),
            (Call::Pool, 0, 1),
            (Call::OpenPool, 1, 0),
            (Call::Predict, 1, 0),
        ] {
            let found = [&metrics.master, &metrics.replica].map(|server| server.call(call));
            assert_eq!(
                found.map(|counts| counts.statements.get()),
                [at_master, at_replica],
                "{call:?}"
            );
            assert_eq!(found.map(|counts| counts.calls.get()), [at_master, at_replica]);
            assert!(found[0].micros.get() + found[1].micros.get() > 0);
        }
    }
}

#[test]
fn reads_go_to_the_master_while_the_replica_is_away() {
    // Another server, whose tables are made the same: it stands for the replica.
    let (Some(masters), Some(replicas)) = (&*SERVICES, Services::start(&KINDS)) else {
        return;
    };
    for kind in KINDS {
        let (Some(master), Some(replica)) =
            (Database::on(masters, kind), Database::on(&replicas, kind))
        else {
            continue;
        };
        drop((master.open(), replica.open()));
        let id = master.number("SELECT id FROM market_mark");
        let options = |driver| SqlOptions {
            replica: Some(replica.address.clone()),
            wait: Duration::from_secs(2),
            driver,
            ..master.options()
        };
        assert_eq!(Sql::open(&options(Driver::Async)).err(), Some(OpenError::Replica));
        replica.run(&format!("UPDATE market_mark SET id = {id}"));
        for driver in [Driver::Async, Driver::Blocking] {
            let store = Sql::open(&options(driver)).unwrap();
            run(async {
                store.games().await.unwrap();
                let frozen = replicas.freeze(kind);
                let diverted = || store.metrics().diverted.get();
                for _ in 0..50 {
                    if diverted() > 0 {
                        break;
                    }
                    drop(store.games().await);
                }
                assert!(diverted() > 0, "{kind} {driver:?}");
                assert!(store.audit().await.unwrap().balanced());
                drop(frozen);
            });
        }
    }
}
