//! Settlements that come while predictions wait.

use super::*;

#[test]
fn a_prediction_that_waited_for_a_settlement_finds_its_pool_closed_whatever_the_isolation() {
    for database in Database::each() {
        // MySQL has no such default of a database, and its connections set their own.
        if database.kind != "postgres" {
            continue;
        }
        for isolation in ["repeatable read", "serializable"] {
            let set = "SET default_transaction_isolation =";
            let name = &database.name;
            database.run(&format!("ALTER DATABASE {name} {set} '{isolation}'"));
            let store = database.open();
            let pool = run(store.open_pool(GameId(1))).unwrap().unwrap().id.0;
            let mut settling = connect(&database.address);
            settling.plain("BEGIN").unwrap();
            let lock = "SELECT CAST(pg_advisory_xact_lock(1835102827, 1) AS TEXT)";
            settling.rows(lock, &[]).unwrap();
            let late = prediction(&named("late"), pool, Outcome::Home, 1);
            let verdict = std::thread::scope(|scope| {
                let predicting = scope.spawn(|| run(store.predict(&late)).unwrap());
                while database.waiting_for_locks() == 0 {}
                let next = pool + 3;
                for change in [
                    format!(
                        "UPDATE market_pools SET outcome = 0, home = 0, away = 0, nobody = 0 WHERE id = {pool}"
                    ),
                    format!("INSERT INTO market_pools (id, game) VALUES ({next}, 1)"),
                    format!("UPDATE market_games SET open_pool = {next} WHERE id = 1"),
                    "COMMIT".to_owned(),
                ] {
                    settling.plain(&change).unwrap();
                }
                predicting.join().unwrap()
            });
            let is_closed = matches!(
                verdict,
                Verdict::Refused { reason: Refusal::Closed, open, .. } if open.0 == pool + 3
            );
            assert!(is_closed, "{isolation}: {verdict:?}");
            assert!(run(store.audit()).unwrap().balanced());
        }
    }
}
