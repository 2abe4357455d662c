use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::*;
use crate::bus::{Delivery, Subscription};
use crate::connection::Connection;
use crate::options::{Listing, MarketOptions};
use crate::protocol::text_of;
use crate::social::RuleOrigin;
use crate::{batch, resolver};

/// A market of one game with two slots, whose resolver works.
fn market(change: impl FnOnce(&mut MarketOptions)) -> Arc<MarketState> {
    let mut options =
        MarketOptions { games: 1, questions: 2, has_feed: false, ..MarketOptions::default() };
    change(&mut options);
    options.check().unwrap();
    let state = Arc::new(MarketState::new(&options));
    tokio::spawn(resolver::resolve(Arc::clone(&state)));
    state
}

fn user(name: &str) -> Connection {
    Connection::new(User::Named(name.into()))
}

async fn ask(state: &Arc<MarketState>, user: &mut Connection, request: Value) -> Value {
    let response = user.handle(state, &request.to_string()).await;
    serde_json::from_str(text_of(&response.frames)).unwrap()
}

/// The questions about the game as a user sees them, once the first one is settled.
async fn settled(state: &Arc<MarketState>, user: &mut Connection) -> Value {
    loop {
        let listed = ask(state, user, json!({ "op": "questions", "game": "g1" })).await;
        if listed["questions"][0]["open"] == false {
            return listed["questions"][0].clone();
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

async fn is_balanced(state: &MarketState) -> bool {
    state.store.audit().await.unwrap().balanced()
}

#[tokio::test(start_paused = true)]
async fn a_users_question_is_asked_predicted_and_decided() {
    let state = market(|_| ());
    let [mut ann, mut ben, mut cid] = ["ann", "ben", "cid"].map(user);
    let question = json!({
        "op": "pose", "game": "g1", "question": "Will it rain?", "answers": ["rain", "sun"]
    });
    let asked = ask(&state, &mut ann, question).await;
    assert_eq!((&asked["pool"], &asked["game"]), (&json!("p2"), &json!("g2")));
    // Slots are no games.
    assert_eq!(
        ask(&state, &mut ann, json!({ "op": "games" })).await["games"].as_array().unwrap().len(),
        1
    );
    let predict = |option: &str, amount: u64| json!({ "op": "predict", "pool": "p2", "option": option, "amount": amount });
    assert_eq!(ask(&state, &mut ben, predict("rain", 100)).await["accepted"], true);
    assert_eq!(ask(&state, &mut cid, predict("sun", 50)).await["accepted"], true);
    assert_eq!(ask(&state, &mut cid, predict("home", 50)).await["error"]["code"], "unknown_option");
    let decide = json!({ "op": "decide", "pool": "p2", "option": "rain" });
    assert_eq!(ask(&state, &mut ben, decide.clone()).await["error"]["code"], "not_yours");
    assert_eq!(ask(&state, &mut ann, decide).await["decided"], true);
    let found = settled(&state, &mut cid).await;
    assert_eq!((&found["answer"], &found["total"]), (&json!("rain"), &json!(150)));
    // A second decision changes nothing.
    let other = json!({ "op": "decide", "pool": "p2", "option": "sun" });
    assert_eq!(ask(&state, &mut ann, other).await["decided"], false);
    assert_eq!(
        ask(&state, &mut ben, json!({ "op": "join", "game": "g1" })).await["balance"],
        100_050
    );
    assert!(is_balanced(&state).await);
    // Its pool was the slot's first; the next question takes the first slot that is free.
    let next = json!({ "op": "pose", "game": "g1", "question": "Again?" });
    assert_eq!(ask(&state, &mut ann, next).await["pool"], "p5");
}

/// Each is decided and reported by two at once, in different ways.
#[tokio::test(start_paused = true)]
async fn of_two_decisions_one_takes_effect_and_says_so() {
    let state = market(|options| options.admin_token = Some("secret".to_owned()));
    let [mut ann, mut admin] = ["ann", "admin"].map(user);
    ask(&state, &mut ann, json!({ "op": "pose", "game": "g1", "question": "Will it rain?" })).await;
    let decide =
        |option: &str| json!({ "op": "decide", "pool": "p2", "option": option, "token": "secret" });
    let (yes, no) =
        tokio::join!(ask(&state, &mut ann, decide("yes")), ask(&state, &mut admin, decide("no")));
    assert_ne!(yes["decided"], no["decided"]);
    let answer = settled(&state, &mut ann).await["answer"].clone();
    assert_eq!(answer == "yes", yes["decided"] == true, "{answer} {yes} {no}");
    // What is recorded is recorded once, whoever looked before.
    let event = |outcome| Event { game: GameId(1), number: 1, outcome };
    assert_eq!(state.store.record(event(Outcome::Home)).await, Ok(true));
    assert_eq!(state.store.record(event(Outcome::Away)).await, Ok(false));
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_question_pays_everyone_back() {
    let state = market(|_| ());
    let [mut ann, mut ben] = ["ann", "ben"].map(user);
    ask(&state, &mut ann, json!({ "op": "pose", "game": "g1", "question": "Will it rain?" })).await;
    let predict = json!({ "op": "predict", "pool": "p2", "option": "yes", "amount": 100 });
    assert_eq!(ask(&state, &mut ben, predict).await["balance"], 99_900);
    ask(&state, &mut ann, json!({ "op": "decide", "pool": "p2", "option": "none" })).await;
    assert_eq!(settled(&state, &mut ann).await["answer"], Value::Null);
    assert_eq!(
        ask(&state, &mut ben, json!({ "op": "join", "game": "g1" })).await["balance"],
        100_000
    );
    assert!(is_balanced(&state).await);
}

#[tokio::test(start_paused = true)]
async fn slots_are_taken_one_by_one() {
    let state = market(|_| ());
    let [mut ann, mut ben, mut cid] = ["ann", "ben", "cid"].map(user);
    let question = json!({ "op": "pose", "game": "g1", "question": "And?" });
    assert_eq!(ask(&state, &mut ann, question.clone()).await["pool"], "p2");
    // The other slot is for somebody else.
    assert_eq!(ask(&state, &mut ann, question.clone()).await["error"]["code"], "too_many");
    assert_eq!(ask(&state, &mut ben, question.clone()).await["pool"], "p3");
    assert_eq!(ask(&state, &mut cid, question.clone()).await["error"]["code"], "busy");
    ask(&state, &mut ann, json!({ "op": "decide", "pool": "p2", "option": "none" })).await;
    while state.store.pool(PoolId(2)).await.unwrap().unwrap().outcome.is_none() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(ask(&state, &mut ann, question.clone()).await["pool"], "p5");
    // A database keeps no NUL.
    let odd = json!({ "op": "pose", "game": "g1", "question": "And\u{0}?" });
    assert_eq!(ask(&state, &mut ann, odd).await["error"]["code"], "invalid");
    // Nobody predicts where nothing was asked.
    let predict = json!({ "op": "predict", "pool": "p8", "option": "yes", "amount": 1 });
    assert_eq!(ask(&state, &mut ann, predict).await["error"]["code"], "unknown_pool");
    let nameless = &mut Connection::new(User::Connection(1));
    assert_eq!(ask(&state, nameless, question).await["error"]["code"], "no_name");
}

#[tokio::test(start_paused = true)]
async fn friends_see_questions_and_predictions_of_each_other() {
    let state = market(|_| ());
    let [mut ann, mut ben, mut cid] = ["ann", "ben", "cid"].map(user);
    let befriend = |name: &str| json!({ "op": "befriend", "user": name });
    assert_eq!(ask(&state, &mut ann, befriend("ben")).await["friends"], json!([]));
    assert_eq!(ask(&state, &mut ben, befriend("ann")).await["friends"], json!(["ann"]));
    for bad in ["ann", "", "ben&x=1", "ben, the butcher"] {
        assert_eq!(ask(&state, &mut ann, befriend(bad)).await["error"]["code"], "invalid", "{bad}");
    }
    let question = json!({
        "op": "pose", "game": "g1", "question": "Who pays?", "answers": ["me", "you"], "for": "friends"
    });
    ask(&state, &mut ann, question).await;
    let list = json!({ "op": "questions", "game": "g1" });
    let seen = async |user: &mut Connection| {
        ask(&state, user, list.clone()).await["questions"].as_array().unwrap().len()
    };
    assert_eq!([seen(&mut ann).await, seen(&mut ben).await, seen(&mut cid).await], [1, 1, 0]);
    let predict = json!({ "op": "predict", "pool": "p2", "option": "me", "amount": 5 });
    assert_eq!(ask(&state, &mut cid, predict.clone()).await["error"]["code"], "not_invited");
    assert_eq!(ask(&state, &mut ben, predict).await["accepted"], true);
    // Cid has a friend, who predicted in a question that is not for Cid.
    ask(&state, &mut ben, befriend("cid")).await;
    assert_eq!(ask(&state, &mut cid, befriend("ben")).await["friends"], json!(["ben"]));
    let of_friends = json!({ "op": "friends_predictions", "pool": "p2" });
    assert_eq!(ask(&state, &mut cid, of_friends.clone()).await["error"]["code"], "not_invited");
    let found = ask(&state, &mut ann, of_friends).await;
    assert_eq!(found["predictions"][0]["user"], "ben");
    for (user, amount) in [(&mut ben, 7), (&mut cid, 9)] {
        let predict = json!({ "op": "predict", "pool": "p1", "option": "home", "amount": amount });
        ask(&state, user, predict).await;
    }
    let of_friends = json!({ "op": "friends_predictions", "pool": "p1" });
    let found = ask(&state, &mut ann, of_friends.clone()).await;
    let amounts: Vec<&Value> =
        found["predictions"].as_array().unwrap().iter().map(|placed| &placed["amount"]).collect();
    assert_eq!(amounts, [7]);
    let of_cid = ask(&state, &mut cid, of_friends).await;
    assert_eq!(of_cid["predictions"].as_array().unwrap().len(), 1, "{of_cid}");
    let mut dan = user("dan");
    let found = ask(&state, &mut dan, json!({ "op": "friends_predictions", "pool": "p1" })).await;
    assert_eq!(found["predictions"], json!([]));
}

/// Has the first pool of the game settled.
async fn settle_game(state: &Arc<MarketState>) {
    let goal = Event { game: GameId(1), number: 1, outcome: Outcome::Home };
    state.store.record(goal).await.unwrap();
    state.store.settle(goal).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn friends_and_their_predictions_have_a_maximum() {
    let state = market(|_| ());
    let [mut ann, mut ben] = ["ann", "ben"].map(user);
    let befriend = |name: String| json!({ "op": "befriend", "user": name });
    ask(&state, &mut ann, befriend("ben".to_owned())).await;
    ask(&state, &mut ben, befriend("ann".to_owned())).await;
    for number in 1..FRIENDS_MAX {
        let reply = ask(&state, &mut ann, befriend(format!("u{number}"))).await;
        assert_eq!(reply["friends"], json!(["ben"]));
    }
    let more = ask(&state, &mut ann, befriend("more".to_owned())).await;
    assert_eq!(more["error"]["code"], "too_many", "{more}");
    // Who is called so already still is.
    assert_eq!(ask(&state, &mut ann, befriend("ben".to_owned())).await["friends"], json!(["ben"]));
    let predict = json!({ "op": "predict", "pool": "p1", "option": "home", "amount": 1 });
    for _ in 0..=FRIENDS_PREDICTIONS_MAX {
        assert_eq!(ask(&state, &mut ben, predict.clone()).await["accepted"], true);
    }
    let found = ask(&state, &mut ann, json!({ "op": "friends_predictions", "pool": "p1" })).await;
    let ids = found["predictions"].as_array().unwrap().iter().map(|placed| placed["id"].as_u64());
    // All but the oldest.
    assert!(ids.eq((2..=FRIENDS_PREDICTIONS_MAX as u64 + 1).map(Some)), "{found}");
    settle_game(&state).await;
    let found = ask(&state, &mut ann, json!({ "op": "friends_predictions", "pool": "p1" })).await;
    assert_eq!(found["predictions"], json!([]));
}

/// The first slot has had more questions, so that its pools have higher numbers.
#[tokio::test(start_paused = true)]
async fn questions_are_listed_by_when_they_were_asked() {
    let state = market(|_| ());
    let pose = async |who: &str, text: &str| {
        let question = json!({ "op": "pose", "game": "g1", "question": text });
        ask(&state, &mut user(who), question).await["pool"].as_str().unwrap().to_owned()
    };
    assert_eq!(pose("ann", "first").await, "p2");
    settle(&state, PoolId(2), Outcome::None).await.unwrap();
    while state.store.pool(PoolId(2)).await.unwrap().unwrap().outcome.is_none() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!([pose("ann", "second").await, pose("cid", "third").await], ["p5", "p3"]);
    let listed = ask(&state, &mut user("ben"), json!({ "op": "questions", "game": "g1" })).await;
    let texts: Vec<&Value> =
        listed["questions"].as_array().unwrap().iter().map(|one| &one["question"]).collect();
    assert_eq!(texts, ["third", "second", "first"]);
}

#[tokio::test(start_paused = true)]
async fn administrators_report_events() {
    let state = market(|options| options.admin_token = Some("secret".to_owned()));
    let mut ann = user("ann");
    let predict = json!({ "op": "predict", "pool": "p1", "option": "home", "amount": 5 });
    ask(&state, &mut ann, predict).await;
    let event = |token: Value, number: Value| json!({ "op": "event", "game": "g1", "option": "home", "number": number, "token": token });
    for token in [Value::Null, json!("guess")] {
        assert_eq!(
            ask(&state, &mut ann, event(token, Value::Null)).await["error"]["code"],
            "not_allowed"
        );
    }
    let first = ask(&state, &mut ann, event(json!("secret"), Value::Null)).await;
    assert_eq!((&first["recorded"], &first["number"]), (&json!(true), &json!(1)));
    // The same report again is the same event.
    let again = ask(&state, &mut ann, event(json!("secret"), json!(1))).await;
    assert_eq!(again["recorded"], false);
    // Between would be events that nobody reports any more.
    for number in [3, u64::MAX] {
        let beyond = ask(&state, &mut ann, event(json!("secret"), json!(number))).await;
        assert_eq!(beyond["error"]["code"], "invalid", "{beyond}");
    }
    while state.store.open_pool(GameId(1)).await.unwrap().unwrap().id == PoolId(1) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    // One game and two slots: the game's next pool is the fourth.
    assert_eq!(state.store.open_pool(GameId(1)).await.unwrap().unwrap().id, PoolId(4));
    assert!(is_balanced(&state).await);
}

#[tokio::test(start_paused = true)]
async fn rules_ask_after_an_event_and_the_next_one_decides() {
    let rule = "goal:same:Does the same side score again?";
    let state = market(|options| {
        options.rules = vec![rule.parse().unwrap()];
        options.admin_token = Some("secret".to_owned());
    });
    let mut ann = user("ann");
    let event =
        |option: &str| json!({ "op": "event", "game": "g1", "option": option, "token": "secret" });
    ask(&state, &mut ann, event("home")).await;
    let list = json!({ "op": "questions", "game": "g1" });
    let question = loop {
        let listed = ask(&state, &mut ann, list.clone()).await;
        if listed["questions"][0].is_object() {
            break listed["questions"][0].clone();
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    };
    assert_eq!((&question["pool"], &question["asker"]), (&json!("p2"), &Value::Null));
    let predict = json!({ "op": "predict", "pool": "p2", "option": "no", "amount": 40 });
    assert_eq!(ask(&state, &mut ann, predict).await["accepted"], true);
    // Users do not decide what rules ask.
    let decide = json!({ "op": "decide", "pool": "p2", "option": "no" });
    assert_eq!(ask(&state, &mut ann, decide).await["error"]["code"], "not_yours");
    ask(&state, &mut ann, event("away")).await;
    while state.store.pool(PoolId(2)).await.unwrap().unwrap().outcome.is_none() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let decided = state.store.pool(PoolId(2)).await.unwrap().unwrap();
    assert_eq!(decided.outcome, Some(Outcome::Away));
    assert!(is_balanced(&state).await);
}

/// Another resolver has applied the second event when this one still asks after the first.
#[tokio::test(start_paused = true)]
async fn nothing_is_asked_that_no_event_decides() {
    let options =
        MarketOptions { games: 1, questions: 2, has_feed: false, ..MarketOptions::default() };
    let state = MarketState::new(&options);
    for number in [1, 2] {
        let event = Event { game: GameId(1), number, outcome: Outcome::Home };
        assert_eq!(state.store.record(event).await, Ok(true));
        state.store.settle(event).await.unwrap();
    }
    let after = |event| Question {
        pool: PoolId(0),
        about: GameId(1),
        text: "Again?".to_owned(),
        answers: ANSWERS.map(str::to_owned),
        asker: Asker::Rule(RuleOrigin { rule: 0, event, outcome: Outcome::Home }),
        seen_by: Viewers::All,
    };
    let social = state.social.as_deref().unwrap();
    let slots = state.slots();
    assert_eq!(social.ask(&after(1), slots).await, Ok(AskResult::Late));
    assert_eq!(social.ask(&after(2), slots).await, Ok(AskResult::Asked(PoolId(2))));
    assert_eq!(social.ask(&after(2), slots).await, Ok(AskResult::AskedBefore));
}

/// Each prediction is in one distribution.
#[tokio::test(start_paused = true)]
async fn a_full_distribution_lists_the_predictions_since_the_last() {
    let state = market(|options| options.distribution = Listing::Full);
    let mut channel = state.bus.subscribe(GameId(1));
    let every = Duration::from_secs(3);
    tokio::spawn(batch::publish_distributions(Arc::clone(&state), GameId(1), every));
    let mut ann = user("ann");
    let mut sizes = Vec::new();
    for count in [1, 2, 3] {
        for _ in 0..count {
            let predict = json!({ "op": "predict", "pool": "p1", "option": "home", "amount": 1 });
            ask(&state, &mut ann, predict).await;
        }
        let Some(Delivery::Notice(notice)) = Subscription::next(&mut *channel).await else {
            panic!("nothing was published");
        };
        let update: Value = serde_json::from_str(text_of(&notice.frame)).unwrap();
        sizes.push((update["predictions"].as_array().unwrap().len(), update["total"].clone()));
        tokio::time::sleep(every).await;
    }
    assert_eq!(sizes, [(1, json!(1)), (2, json!(3)), (3, json!(6))]);
}
