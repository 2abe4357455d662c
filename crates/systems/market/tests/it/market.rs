//! The WebSocket's protocol.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ::market::{Broadcast, Listing, Replay};
use serde_json::json;

use crate::support::{Fan, Market, calm};

#[tokio::test]
async fn a_visit_from_games_to_a_prediction() {
    let market = Market::start(calm()).await;
    let mut fan = market.connect().await;
    let games = fan.request(r#"{"op":"games"}"#).await;
    assert_eq!(games["re"], "games");
    assert_eq!(games["games"].as_array().unwrap().len(), 4);
    let first = &games["games"][0];
    assert_eq!((&first["id"], &first["score"]), (&json!("g1"), &json!({"home": 0, "away": 0})));

    let joined = fan.request(r#"{"op":"join","game":"g1"}"#).await;
    assert_eq!(joined, json!({"re": "join", "game": "g1", "balance": 100_000}));

    let pools = fan.request(r#"{"op":"pools","game":"g1"}"#).await;
    let expected = json!({
        "re": "pools",
        "pools": [{
            "id": "p1", "game": "g1", "question": "who scores next?",
            "options": ["home", "away", "none"], "open": true, "total": 0,
            "distribution": {"home": 0, "away": 0, "none": 0},
        }],
    });
    assert_eq!(pools, expected);

    let predicted =
        fan.request(r#"{"op":"predict","pool":"p1","option":"home","amount":30,"id":[7]}"#).await;
    let expected =
        json!({"re": "predict", "id": [7], "accepted": true, "pool": "p1", "balance": 99_970});
    assert_eq!(predicted, expected);
    assert_eq!(fan.request(r#"{"op":"leave"}"#).await, json!({"re": "leave", "game": "g1"}));
}

#[tokio::test]
async fn distributions_reach_subscribers_of_the_game_alone() {
    let market = Market::start(calm()).await;
    let mut fan = market.connect().await;
    let mut other = market.connect().await;
    fan.request(r#"{"op":"join","game":"g1"}"#).await;
    other.request(r#"{"op":"join","game":"g2"}"#).await;
    fan.request(r#"{"op":"predict","pool":"p1","option":"away","amount":5}"#).await;
    let news = fan.news("distribution").await;
    assert_eq!((&news["game"], &news["pool"]), (&json!("g1"), &json!("p1")));
    assert_eq!(news["total"], 5);
    assert_eq!(news["shares"], json!({"home": 0, "away": 5, "none": 0}));
    assert_eq!(news["seq"], 1);
    #[expect(clippy::disallowed_methods, reason = "the stamp is of the wall clock")]
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64() * 1000.0;
    let age = now - news["sent_at_ms"].as_f64().unwrap();
    assert!((0.0..20_000.0).contains(&age), "{age} ms old");

    // The other game's first message is its own.
    other.request(r#"{"op":"predict","pool":"p2","option":"none","amount":1}"#).await;
    assert_eq!(other.news("distribution").await["game"], "g2");

    // Who moves to another game, or leaves, gets nothing more of the old one.
    fan.request(r#"{"op":"join","game":"g3"}"#).await;
    other.request(r#"{"op":"predict","pool":"p1","option":"home","amount":1}"#).await;
    fan.request(r#"{"op":"predict","pool":"p3","option":"home","amount":1}"#).await;
    assert_eq!(fan.news("distribution").await["game"], "g3");
}

#[tokio::test]
async fn distributions_are_filled_up_and_answers_held_up() {
    let mut options = calm();
    options.broadcast_size = 4096;
    options.delay = Duration::from_millis(20);
    let market = Market::start(options).await;
    let mut fan = market.connect().await;
    let sent_at = tokio::time::Instant::now();
    fan.request(r#"{"op":"join","game":"g1"}"#).await;
    assert!(sent_at.elapsed() >= Duration::from_millis(20));
    fan.send(r#"{"op":"predict","pool":"p1","option":"away","amount":5}"#).await;
    let texts = [fan.message().await, fan.message().await].map(|m| m.into_text().unwrap());
    let news = texts.iter().find(|text| text.starts_with(r#"{"type":"distribution""#));
    assert!(news.is_some_and(|news| news.len() == 4096 && news.ends_with("  ")));
    assert_eq!(market.stop().report().await.balanced, Some(true));
}

#[tokio::test]
async fn goals_settle_pools_and_winners_are_paid() {
    let mut options = calm();
    options.games = 1;
    options.goal_every = Duration::from_millis(50);
    let market = Market::start(options).await;
    // Three users, one on each outcome: whatever happens, exactly one wins.
    let mut fans = Vec::new();
    for option in ["home", "away", "none"] {
        let mut fan = market.connect_to(&format!("/v1/stream?user={option}")).await;
        fan.request(r#"{"op":"join","game":"g1"}"#).await;
        fans.push((fan, option));
    }
    let mut settled = Vec::new();
    while settled.len() < 5 {
        for (fan, option) in &mut fans {
            let pools = fan.request(r#"{"op":"pools","game":"g1"}"#).await;
            let pool = pools["pools"][0]["id"].as_str().unwrap();
            fan.request(&format!(
                r#"{{"op":"predict","pool":"{pool}","option":"{option}","amount":1}}"#
            ))
            .await;
        }
        settled.push(fans[0].0.news("settled").await);
    }
    for pair in settled.windows(2) {
        assert!(pair[0]["seq"].as_u64() < pair[1]["seq"].as_u64());
    }
    assert!(settled.iter().any(|news| news["paid"].as_u64() > Some(0)), "{settled:?}");
    // A settled pool is closed, and the reply says which one is open.
    let late =
        fans[0].0.request(r#"{"op":"predict","pool":"p1","option":"home","amount":1}"#).await;
    assert_eq!((&late["accepted"], &late["reason"]), (&json!(false), &json!("closed")));
    assert_ne!(late["pool"], "p1");
    assert_eq!(market.metric("market_money_total").await, 300_000.0);
    assert_eq!(market.metric("market_money_expected").await, 300_000.0);
    let report = market.stop().report().await;
    assert_eq!(report.balanced, Some(true));
    assert!(report.pools_settled >= 5);
}

#[tokio::test]
async fn an_account_belongs_to_a_name_or_goes_with_its_connection() {
    let market = Market::start(calm()).await;
    let predict = r#"{"op":"predict","pool":"p1","option":"home","amount":100}"#;
    let mut ann = market.connect_to("/v1/stream?user=ann").await;
    assert_eq!(ann.request(predict).await["balance"], 99_900);
    drop(ann);
    let mut ann = market.connect_to("/v1/stream?user=ann").await;
    assert_eq!(ann.request(predict).await["balance"], 99_800);

    let mut nobody = market.connect().await;
    assert_eq!(nobody.request(r#"{"op":"join","game":"g1"}"#).await["balance"], 100_000);
    assert_eq!(market.metric("market_money_expected").await, 200_000.0);
    nobody.socket.close(None).await.unwrap();
    while market.metric("market_connections").await > 1.0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(market.metric("market_money_expected").await, 100_000.0);
    assert_eq!(market.metric("market_money_total").await, 100_000.0);
}

#[tokio::test]
async fn several_threads_with_their_own_files_share_one_market() {
    let mut options = calm();
    options.server.threads = 3;
    options.server.own_files = true;
    let market = Market::start(options).await;
    let mut fans = Vec::new();
    for _ in 0..24 {
        let mut fan = market.connect().await;
        fan.request(r#"{"op":"join","game":"g1"}"#).await;
        fans.push(fan);
    }
    fans[0].request(r#"{"op":"predict","pool":"p1","option":"home","amount":9}"#).await;
    for fan in &mut fans {
        assert_eq!(fan.news("distribution").await["total"], 9);
    }
    assert_eq!(market.metric("market_connections").await, 24.0);
    let stopping = market.stop();
    for fan in &mut fans {
        assert_eq!(u16::from(fan.close_code().await), 1001);
    }
    assert_eq!(stopping.report().await.connections_cut, 0);
}

#[tokio::test]
async fn silent_connections_are_pinged_and_then_closed() {
    let mut options = calm();
    options.ping_after = Some(Duration::from_millis(40));
    options.idle_timeout = Some(Duration::from_millis(200));
    let market = Market::start(options).await;
    let mut fan = market.connect().await;
    // Answers pings as long as it reads; then it falls silent.
    for _ in 0..3 {
        assert!(fan.message().await.is_ping());
    }
    while market.metric("market_idle_disconnects_total").await < 1.0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(u16::from(fan.close_code().await), 1001);
}

#[tokio::test]
async fn connections_end_after_their_life_so_that_users_come_again() {
    let mut options = calm();
    options.connection_life = Some(Duration::from_millis(100));
    let market = Market::start(options).await;
    let mut fan = market.connect().await;
    while market.metric("market_lives_ended_total").await < 1.0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(u16::from(fan.close_code().await), 1012);
}

#[tokio::test]
async fn full_lists_have_each_prediction() {
    let mut options = calm();
    (options.pools, options.distribution) = (Listing::Full, Listing::Full);
    let market = Market::start(options).await;
    let mut ann = market.connect_to("/v1/stream?user=ann").await;
    // Somebody else listens, who asks for nothing meanwhile.
    let mut fan = market.connect().await;
    fan.request(r#"{"op":"join","game":"g1"}"#).await;
    for amount in [3, 4] {
        let predict =
            format!(r#"{{"op":"predict","pool":"p1","option":"away","amount":{amount}}}"#);
        ann.request(&predict).await;
    }
    let placed = |id: u64, amount: u64| json!({"id": id, "user": "ann", "pool": "p1", "option": "away", "amount": amount});
    let pools = ann.request(r#"{"op":"pools","game":"g1"}"#).await;
    assert_eq!(pools["pools"][0]["predictions"], json!([placed(1, 3), placed(2, 4)]));
    // Each is in one distribution.
    let mut listed = Vec::new();
    loop {
        let news = fan.news("distribution").await;
        listed.extend(news["predictions"].as_array().unwrap().clone());
        if news["total"] == 7 {
            break;
        }
    }
    assert_eq!(listed, [placed(1, 3), placed(2, 4)]);
}

#[tokio::test]
async fn each_prediction_is_broadcast_if_distributions_are_not_batched() {
    let mut options = calm();
    options.broadcast = Broadcast::Each;
    options.batch = Duration::from_secs(1_000);
    let market = Market::start(options).await;
    let mut fan = market.connect().await;
    fan.request(r#"{"op":"join","game":"g1"}"#).await;
    for count in 1..=20 {
        fan.send(r#"{"op":"predict","pool":"p1","option":"home","amount":1}"#).await;
        let news = fan.news("distribution").await;
        assert_eq!((&news["seq"], &news["total"]), (&json!(count), &json!(count)));
    }
}

#[tokio::test]
async fn a_recorded_match_is_replayed() {
    let mut options = calm();
    let record = concat!(
        "{\"at\":100,\"game\":\"g1\",\"outcome\":\"away\"}\n",
        "{\"at\":110,\"game\":\"g1\",\"outcome\":\"none\"}\n",
    );
    options.replay = Some(Replay::read(record, 4).unwrap());
    options.speed = 200.0;
    let market = Market::start(options).await;
    let mut fan = market.connect().await;
    fan.request(r#"{"op":"join","game":"g1"}"#).await;
    assert_eq!(fan.news("goal").await["score"], json!({"home": 0, "away": 1}));
    assert_eq!(fan.news("settled").await["pool"], "p1");
    assert_eq!(fan.news("full_time").await["game"], "g1");
}
