//! Questions and friends, and the money of questions, on real servers.

use futures_util::future::{join, join_all};

use super::*;
use crate::social::{AskResult, Asker, FRIENDS_MAX, Question, RuleOrigin, Slots, Social, Viewers};

/// Four of five games, of which a user has one at most.
const SLOTS: Slots = Slots { first: GameId(2), count: 4 };

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
        let options = SqlOptions { social: true, games: 5, ..database.options() };
        let store = Sql::open(&options).unwrap();
        // Another process finds the tables.
        let other = Sql::open(&options).unwrap();
        run(async {
            let origin = RuleOrigin { rule: 1, event: 4, outcome: Outcome::Away };
            let by_rule = question(2, Asker::Rule(origin));
            let asked = store.ask(&by_rule, SLOTS).await;
            assert_eq!(asked, Ok(AskResult::Asked(PoolId(2))), "{}", database.kind);
            assert_eq!(other.ask(&by_rule, SLOTS).await, Ok(AskResult::AskedBefore));
            let by_user = question(3, Asker::User("Ann".to_owned()));
            assert_eq!(store.ask(&by_user, SLOTS).await, Ok(AskResult::Asked(PoolId(3))));
            assert_eq!(other.ask(&by_user, SLOTS).await, Ok(AskResult::TooMany));
            assert_eq!(other.question(PoolId(3)).await, Ok(Some(by_user.clone())));
            assert_eq!(other.question(PoolId(4)).await, Ok(None));
            assert_eq!(store.asked_after(GameId(1), 4).await, Ok(vec![by_rule.clone()]));
            assert_eq!(store.asked_after(GameId(1), 5).await, Ok(Vec::new()));
            // The newest first.
            assert_eq!(store.questions(GameId(1)).await, Ok(vec![by_user.clone(), by_rule]));
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
            // The slot has its next pool, and its user another question.
            assert_eq!(store.ask(&by_user, SLOTS).await, Ok(AskResult::Asked(PoolId(8))));
            assert!(store.audit().await.unwrap().balanced());
        });
    }
}

#[test]
fn slots_are_given_once_however_many_ask() {
    for database in Database::each() {
        let options = SqlOptions { social: true, games: 5, ..database.options() };
        let store = Sql::open(&options).unwrap();
        let asking = |name: String| {
            let store = &store;
            async move { store.ask(&question(0, Asker::User(name)), SLOTS).await.unwrap() }
        };
        run(async {
            // Each of two users asks four times at once.
            let of_two = join_all((0..8).map(|number| asking(format!("u{}", number % 2)))).await;
            let is_asked = |asked: &&AskResult| matches!(asked, AskResult::Asked(_));
            assert_eq!(of_two.iter().filter(is_asked).count(), 2, "{} {of_two:?}", database.kind);
            let of_all = join_all((2..8).map(|number| asking(format!("u{number}")))).await;
            let mut pools: Vec<PoolId> = of_two
                .iter()
                .chain(&of_all)
                .filter_map(|asked| match asked {
                    AskResult::Asked(pool) => Some(*pool),
                    _ => None,
                })
                .collect();
            pools.sort();
            assert_eq!(pools, [2, 3, 4, 5].map(PoolId), "{of_all:?}");
            let before = store.metrics().master.call(Call::Ask).statements.get();
            assert_eq!(asking("late".to_owned()).await, AskResult::NoSlot);
            let statements = store.metrics().master.call(Call::Ask).statements.get();
            assert_eq!(statements - before, 1);
        });
    }
}

#[test]
fn of_events_recorded_at_once_one_is_the_one() {
    for database in Database::each() {
        let [store, other] = [database.open(), database.open()];
        run(async {
            for number in 1..=20 {
                let [home, away] = [Outcome::Home, Outcome::Away];
                let (first, second) = join(
                    store.record(event(1, number, home)),
                    other.record(event(1, number, away)),
                )
                .await;
                let wanted = if first == Ok(true) { home } else { away };
                assert_ne!(first, second, "{}", database.kind);
                let recorded = store.unsettled().await.unwrap();
                assert_eq!(recorded, [event(1, number, wanted)]);
                store.settle(recorded[0]).await.unwrap();
            }
        });
    }
}

#[test]
fn nothing_is_asked_that_no_event_decides() {
    for database in Database::each() {
        let options = SqlOptions { social: true, games: 5, ..database.options() };
        let store = Sql::open(&options).unwrap();
        run(async {
            for number in [1, 2] {
                store.record(event(1, number, Outcome::Home)).await.unwrap();
                store.settle(event(1, number, Outcome::Home)).await.unwrap();
            }
            for (event, wanted) in [(1, AskResult::Late), (2, AskResult::Asked(PoolId(2)))] {
                let origin = RuleOrigin { rule: 0, event, outcome: Outcome::Home };
                let asked = store.ask(&question(0, Asker::Rule(origin)), SLOTS).await;
                assert_eq!(asked, Ok(wanted), "{} {event}", database.kind);
            }
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
            for number in 2..FRIENDS_MAX {
                assert_eq!(store.befriend("ann", &format!("u{number}")).await, Ok(true));
            }
            assert_eq!(store.befriend("ann", "more").await, Ok(false));
            assert_eq!(store.befriend("ann", "Ben").await, Ok(true));
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

#[test]
fn predictions_of_some_are_the_newest_of_an_open_pool() {
    for database in Database::each() {
        let store = database.open();
        run(async {
            for (name, amount) in [("ann", 1), ("ben", 2), ("cid", 3), ("ann", 4), ("ben", 5)] {
                let stake = prediction(&named(name), 1, Outcome::Home, amount);
                store.predict(&stake).await.unwrap();
            }
            let amounts = async |names: &[&str]| -> Vec<u64> {
                let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
                let found = store.predictions_of(PoolId(1), &names, 3).await.unwrap();
                found.iter().map(|placed| placed.amount).collect()
            };
            assert_eq!(amounts(&["ann", "ben", "dan"]).await, [2, 4, 5], "{}", database.kind);
            assert_eq!(amounts(&["cid"]).await, [3]);
            assert_eq!(amounts(&[]).await, [0; 0]);
            store.record(event(1, 1, Outcome::Home)).await.unwrap();
            store.settle(event(1, 1, Outcome::Home)).await.unwrap();
            assert_eq!(amounts(&["ann", "ben"]).await, [0; 0]);
        });
    }
}
