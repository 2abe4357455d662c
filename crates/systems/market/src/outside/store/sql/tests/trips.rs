//! Round trips of calls, as docs/market-reference.md lists them.

use super::*;

#[test]
fn calls_take_the_round_trips_that_are_documented() {
    for database in Database::each() {
        let locks = i64::from(database.kind == "postgres");
        for (queries, predict, settle) in
            [(Queries::Pipelined, 1, 6), (Queries::Sequential, 6 + locks, 11 + 2 * locks)]
        {
            let store = Sql::open(&SqlOptions { queries, ..database.options() });
            let store = store.unwrap();
            let trips = |call| store.metrics().master.call(call).statements.get();
            run(async {
                let user = named("someone");
                store.open_account(&user).await.unwrap();
                let before = trips(Call::OpenAccount);
                store.open_account(&user).await.unwrap();
                assert_eq!(trips(Call::OpenAccount) - before, 1);
                let pool = store.open_pool(GameId(1)).await.unwrap().unwrap();
                let first = prediction(&user, pool.id.0, Outcome::Home, 1);
                store.predict(&first).await.unwrap();
                let last = store.last_event(GameId(1)).await.unwrap();
                let event = event(1, last + 1, Outcome::Home);
                store.record(event).await.unwrap();
                assert_eq!(store.unsettled().await, Ok(vec![event]));
                store.settle(event).await.unwrap();
                assert_eq!(store.pending().await, Ok(vec![event]));
                store.announced(event).await.unwrap();
                store.close_account(&user).await.unwrap();
                assert!(store.audit().await.unwrap().balanced());
            });
            for (call, wanted) in [
                (Call::Predict, predict),
                (Call::Settle, settle),
                (Call::OpenPool, 1),
                (Call::LastEvent, 1),
                (Call::Record, 1),
                (Call::Unsettled, 1),
                (Call::Pending, 1),
                (Call::Announced, 1),
                (Call::CloseAccount, 1),
                (Call::Audit, 1),
            ] {
                let what = format!("{} {queries:?} {}", database.kind, call.name());
                assert_eq!(trips(call), wanted.cast_unsigned(), "{what}");
            }
        }
    }
}
