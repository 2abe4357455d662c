//! Questions and friends, and the money of questions, on real servers.

use super::*;
use crate::social::{AskResult, Asker, Question, RuleOrigin, Social, Viewers};

fn question(pool: u64, asker: Asker) -> Question {
    Question {
        pool: PoolId(pool),
        about: GameId(1),
        text: "Doppelpack? \u{26bd}".to_owned(),
        answers: ["ja".to_owned(), "nein".to_owned()],
        asker,
        seen_by: Viewers::Friends,
    }
}

#[test]
fn questions_are_kept_and_their_pools_settle_once() {
    for database in Database::each() {
        let store = Sql::open(&SqlOptions { social: true, ..database.options() }).unwrap();
        // Another process finds the tables.
        let other = Sql::open(&SqlOptions { social: true, ..database.options() }).unwrap();
        run(async {
            let by_user = question(3, Asker::User("Ann".to_owned()));
            assert_eq!(store.ask(&by_user).await, Ok(AskResult::Asked), "{}", database.kind);
            assert_eq!(other.ask(&by_user).await, Ok(AskResult::PoolTaken));
            assert_eq!(other.question(PoolId(3)).await, Ok(Some(by_user.clone())));
            assert_eq!(other.question(PoolId(2)).await, Ok(None));
            let origin = RuleOrigin { rule: 1, event: 4, outcome: Outcome::Away };
            let by_rule = question(2, Asker::Rule(origin));
            assert_eq!(store.ask(&by_rule).await, Ok(AskResult::Asked));
            let again = Question { pool: PoolId(5), ..by_rule.clone() };
            assert_eq!(store.ask(&again).await, Ok(AskResult::AskedBefore));
            assert_eq!(store.asked_after(GameId(1), 4).await, Ok(vec![by_rule.clone()]));
            assert_eq!(store.asked_after(GameId(1), 5).await, Ok(Vec::new()));
            // The newest first, whose pool has the lower number.
            assert_eq!(store.questions(GameId(1)).await, Ok(vec![by_rule, by_user]));
            // Pool 3 is the first of game 3: its first event decides it.
            let [ann, ben] = ["Ann", "Ben"].map(named);
            for (user, outcome, amount) in [(&ann, Outcome::Home, 100), (&ben, Outcome::Away, 250)]
            {
                let stake = prediction(user, 3, outcome, amount);
                let verdict = store.predict(&stake).await.unwrap();
                assert!(matches!(verdict, Verdict::Accepted { .. }), "{verdict:?}");
            }
            for _ in 0..2 {
                store.record(event(3, 1, Outcome::Home)).await.unwrap();
                let settled = store.settle(event(3, 1, Outcome::Home)).await.unwrap();
                assert_eq!((settled.pool.shares.total(), settled.winners), (350, 1));
            }
            assert_eq!(store.open_account(&ann).await, Ok(1_250));
            assert!(store.audit().await.unwrap().balanced());
        });
    }
}

#[test]
fn friends_are_those_who_call_each_other_so() {
    for database in Database::each() {
        let store = Sql::open(&SqlOptions { social: true, ..database.options() }).unwrap();
        run(async {
            for (user, friend) in [("ann", "Ben"), ("Ben", "ann"), ("ann", "cid"), ("ann", "Ben")] {
                store.befriend(user, friend).await.unwrap();
            }
            assert_eq!(store.friends("ann").await, Ok(vec!["Ben".to_owned()]), "{}", database.kind);
            assert_eq!(store.friends("Ben").await, Ok(vec!["ann".to_owned()]));
            // Another user: names differ by case.
            assert_eq!(store.friends("ben").await, Ok(Vec::new()));
            assert_eq!(store.friends("cid").await, Ok(Vec::new()));
        });
    }
}

#[test]
fn predictions_are_listed_behind_a_number() {
    for database in Database::each() {
        let store = database.open();
        run(async {
            let ann = named("ann");
            for amount in 1..=3 {
                store.predict(&prediction(&ann, 1, Outcome::Home, amount)).await.unwrap();
            }
            let all = store.predictions(PoolId(1)).await.unwrap();
            let after = store.predictions_after(PoolId(1), all[0].id).await.unwrap();
            assert_eq!(after, all[1..]);
        });
    }
}
