//! Settlements that are many, slow, or come while predictions wait.

use super::*;

impl Database {
    /// Events 1 to `count` of a game, which settled pools or not. Nothing else is in the store.
    fn insert_events(&self, game: u32, count: u32, settled: bool) {
        let pool = if settled { "1" } else { "NULL" };
        let row = |number: u32| format!("({game}, {number}, 0, {pool}, 0)");
        let rows: Vec<String> = (1..=count).map(row).collect();
        let into = "INSERT INTO market_events (game, number, outcome, pool, announced) VALUES";
        self.run(&format!("{into} {}", rows.join(", ")));
    }

    /// Has each payout take two seconds.
    fn slow_down_payouts(&self) {
        if self.kind == "postgres" {
            self.run(
                "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS \
                 $$ BEGIN PERFORM pg_sleep(2); RETURN NEW; END $$",
            );
        }
        let what = match self.kind {
            "postgres" => "EXECUTE FUNCTION slow()",
            _ => "SET @slept = sleep(2)",
        };
        let trigger = "CREATE TRIGGER slow BEFORE INSERT ON market_payouts FOR EACH ROW";
        self.run(&format!("{trigger} {what}"));
    }
}

#[test]
fn events_are_settled_however_many_wait_to_be_announced_or_fail() {
    for database in Database::each() {
        let store = database.open();
        database.insert_events(1, 300, true);
        database.insert_events(2, 300, false);
        let other = event(3, 1, Outcome::Away);
        run(async {
            store.record(other).await.unwrap();
            let first = event(2, 1, Outcome::Home);
            assert_eq!(store.unsettled().await, Ok(vec![first, other]));
            let pending = store.pending().await.unwrap();
            assert_eq!(pending[0], event(1, 1, Outcome::Home));
            assert!(pending.iter().all(|event| event.game == GameId(1)));
            store.settle(other).await.unwrap();
            assert_eq!(store.unsettled().await, Ok(vec![first]));
        });
    }
}

#[test]
fn a_settlement_that_needs_longer_than_a_request_gets_it() {
    for database in Database::each() {
        // A busy machine may take longer than a second for what is not slowed down, too, such as making the tables.
        let patient = database.open();
        let store = database
            .open_impatient(&SqlOptions { wait: Duration::from_secs(1), ..database.options() });
        database.slow_down_payouts();
        run(async {
            let first = prediction(&named("someone"), 1, Outcome::Home, 1);
            patient.predict(&first).await.unwrap();
            let event = event(1, 1, Outcome::Home);
            patient.record(event).await.unwrap();
            let mut attempts = 1;
            while let Err(failed) = store.settle(event).await {
                assert!(attempts < 20, "{} {failed}", database.kind);
                attempts += 1;
            }
            assert!(attempts > 1, "the first one was late");
            assert!(store.metrics().late.get() > 0);
            assert!(patient.audit().await.unwrap().balanced());
        });
    }
}

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
