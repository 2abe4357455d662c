//! How many accounts there may be.

use super::*;
use crate::outside::store::sql::room::Room;

#[test]
fn a_full_store_refuses_new_accounts_only_and_counts_for_nobody_else() {
    for database in Database::each() {
        for queries in [Queries::Pipelined, Queries::Sequential] {
            let mut store = Sql::open(&SqlOptions { queries, ..database.options() }).unwrap();
            let accounts = Arc::get_mut(&mut store.accounts).unwrap();
            accounts.room = Room::new(3);
            database.run("DELETE FROM market_predictions");
            database.run("DELETE FROM market_accounts");
            let trips = || store.metrics().master.call(Call::Predict).statements.get();
            let predict = async |name: &str| {
                let first = prediction(&named(name), 1, Outcome::Home, 1);
                store.predict(&first).await
            };
            run(async {
                for name in ["a", "b", "c"] {
                    assert_eq!(store.open_account(&named(name)).await, Ok(1000));
                }
                let refused = store.open_account(&named("d")).await;
                assert!(matches!(refused, Err(StoreError::Full { .. })), "{refused:?}");
                assert!(matches!(predict("d").await, Err(StoreError::Full { .. })));
                let before = trips();
                for _ in 0..10 {
                    assert!(matches!(predict("a").await, Ok(Verdict::Accepted { .. })));
                }
                if queries == Queries::Pipelined {
                    assert_eq!(trips() - before, 10);
                }
                // Who finds no room has it looked for, and the next one gets it.
                store.close_account(&named("c")).await.unwrap();
                store.accounts.room.look_again();
                drop(store.open_account(&named("d")).await);
                assert_eq!(store.open_account(&named("d")).await, Ok(1000));
                let refused = store.open_account(&named("e")).await;
                assert!(matches!(refused, Err(StoreError::Full { .. })), "{refused:?}");
            });
        }
    }
}

#[test]
fn accounts_are_counted_in_blocks_where_ids_are_high() {
    for database in Database::each() {
        let store = database.open();
        database.run(
            "INSERT INTO market_accounts (id, name, balance, staked, deposited, withdrawn, closing) \
             VALUES (10600000, 'x', 0, 0, 0, 0, 0)",
        );
        if database.kind == "postgres" {
            database.run("ALTER TABLE market_accounts ALTER COLUMN id RESTART WITH 10600001");
        }
        let trips = || store.metrics().master.call(Call::OpenAccount).statements.get();
        run(async {
            for number in 0..60 {
                let before = trips();
                let opened = store.open_account(&User::Connection(number)).await;
                assert_eq!(opened, Ok(1000));
                // 43 blocks of ids; then there is room for many.
                let wanted = if number < 43 { 3 } else { 1 };
                assert_eq!(trips() - before, wanted, "{} {number}", database.kind);
            }
        });
    }
}

#[test]
fn accounts_of_many_are_closed_together() {
    for database in Database::each() {
        let store = database.open();
        let users: Vec<User> = (0..300).map(User::Connection).collect();
        run(async {
            for user in &users {
                store.open_account(user).await.unwrap();
            }
            store.open_account(&named("stays")).await.unwrap();
            store.close_accounts(&users).await.unwrap();
            let trips = store.metrics().master.call(Call::CloseAccount);
            assert_eq!(trips.statements.get(), 2);
            let money = store.audit().await.unwrap();
            assert_eq!((money.balances, money.withdrawn), (1000, 300_000));
        });
    }
}
