//! Which databases are used, and which refused.

use super::*;

fn error(options: &SqlOptions) -> OpenError {
    match Sql::open(options) {
        Ok(_) => panic!("{options:?} was opened"),
        Err(error) => error,
    }
}

#[test]
fn other_tables_versions_and_rules_are_refused() {
    for database in Database::each() {
        let options = database.options();
        drop(database.open());
        let rules = OpenError::Rules { games: 3, starting_balance: 1000 };
        let games = SqlOptions { games: 4, ..options.clone() };
        assert_eq!(error(&games), rules);
        let balance = SqlOptions { starting_balance: 999, ..options.clone() };
        assert_eq!(error(&balance), rules);
        database.run("UPDATE market_mark SET version = 2");
        assert_eq!(error(&options), OpenError::Version { found: 2 });
        database.run("UPDATE market_mark SET version = 1, mark = 'else'");
        assert_eq!(error(&options), OpenError::OtherTables);
    }
    for database in Database::each() {
        database.run("CREATE TABLE someone (id INTEGER)");
        assert_eq!(error(&database.options()), OpenError::OtherTables);
        assert_eq!(database.number("SELECT count(*) FROM someone"), 0);
    }
}

#[test]
fn tables_that_were_not_finished_are_finished() {
    for database in Database::each() {
        drop(database.open());
        // As if its maker had been killed.
        database.run("UPDATE market_mark SET version = 0");
        database.run("DROP TABLE market_events");
        database.run("DELETE FROM market_games WHERE id = 3");
        let store = database.open();
        run(async {
            assert_eq!(store.games().await.unwrap().len(), 3);
            assert_eq!(store.last_event(GameId(1)).await, Ok(0));
        });
        assert_eq!(database.number("SELECT version FROM market_mark"), 1);
    }
}

#[test]
fn processes_that_begin_together_share_the_tables() {
    for database in Database::each() {
        let stores: Vec<Sql> = std::thread::scope(|scope| {
            let open = (0..6).map(|_| scope.spawn(|| database.open()));
            let open: Vec<_> = open.collect();
            open.into_iter().map(|it| it.join().unwrap()).collect()
        });
        run(async {
            for store in &stores {
                // The same number, and another process: another account.
                let user = User::Connection(7);
                let predicted = store.predict(&prediction(&user, 1, Outcome::Home, 1)).await;
                assert!(matches!(predicted, Ok(Verdict::Accepted { balance: 999, .. })));
            }
        });
        assert_eq!(database.number("SELECT count(*) FROM market_accounts"), 6);
        assert_eq!(database.number("SELECT processes FROM market_mark"), 6);
    }
}
