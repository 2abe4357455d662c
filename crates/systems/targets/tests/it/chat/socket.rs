//! The plain WebSocket.

use serde_json::json;
use testkit::http::soon;
use tokio_tungstenite::tungstenite::Message;

use super::{Chat, options};

#[tokio::test]
async fn everybody_in_the_room_gets_what_is_said_there() {
    let mut several = options();
    several.server.threads = 3;
    several.server.own_files = true;
    let chat = Chat::start(several).await;
    let mut all = Vec::new();
    for _ in 0..24 {
        all.push(chat.connect("/chat/socket").await);
    }
    let mut elsewhere = chat.connect("/chat/socket?room=other").await;
    all[0].send(r#"{"message":"hi","from":"ann"}"#).await;
    let first = all[0].json().await;
    assert_eq!((&first["id"], &first["message"]), (&json!(1), &json!("hi")));
    for client in &mut all[1..] {
        assert_eq!(client.json().await, first);
    }
    // The other room's first message is its own.
    elsewhere.send(r#"{"message":"here"}"#).await;
    let here = elsewhere.json().await;
    assert_eq!((&here["room"], &here["id"]), (&json!("other"), &json!(1)));

    let served = chat.begin_stop();
    for client in all.iter_mut().chain([&mut elsewhere]) {
        assert_eq!(u16::from(client.close_code().await), 1001);
    }
    let report = soon(served).await.unwrap().unwrap();
    assert_eq!((report.connections, report.messages), (25, 2));
    assert_eq!(report.connections_cut, 0);
}

#[tokio::test]
async fn a_cursor_brings_what_was_missed() {
    let chat = Chat::start(options()).await;
    for _ in 0..3 {
        chat.speak("lobby", "x").await;
    }
    let mut client = chat.connect("/chat/socket?after=1").await;
    chat.speak("lobby", "x").await;
    for expected in 2..=4 {
        assert_eq!(client.json().await["id"], expected);
    }
}

#[tokio::test]
async fn faults_are_reported_and_too_many_end_it() {
    let mut strict = options();
    strict.errors_max = 5;
    let chat = Chat::start(strict).await;
    let mut client = chat.connect("/chat/socket").await;
    for (text, code) in [
        ("no", "malformed"),
        ("{}", "invalid"),
        (r#"{"message":""}"#, "invalid"),
        (r#"{"message":"x","from":7}"#, "invalid"),
    ] {
        client.send(text).await;
        assert_eq!(client.json().await["error"]["code"], code, "{text}");
    }
    futures_util::SinkExt::send(&mut client.socket, Message::binary("x")).await.unwrap();
    assert_eq!(client.json().await["error"]["code"], "invalid");
    client.send("one too many").await;
    assert_eq!(u16::from(client.close_code().await), 1008);
    assert_eq!(chat.metric("chat_bad_requests_total").await, 6.0);
}

#[tokio::test]
async fn a_message_that_is_too_long_ends_it() {
    let chat = Chat::start(options()).await;
    let mut client = chat.connect("/chat/socket").await;
    let long = format!(r#"{{"message":"{}"}}"#, "x".repeat(5_000));
    client.send(&long).await;
    assert_eq!(u16::from(client.close_code().await), 1009);
}
