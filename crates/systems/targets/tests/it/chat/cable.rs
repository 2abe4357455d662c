//! ActionCable, message by message.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::client::Client;
use testkit::http::soon;

use super::{Chat, options};

const LOBBY: &str = r#"{"channel":"ChatChannel"}"#;

/// The next message that is not a ping.
async fn next(client: &mut Client) -> Value {
    loop {
        let message = client.json().await;
        if message["type"] != "ping" {
            return message;
        }
    }
}

async fn command(client: &mut Client, command: &str, identifier: &str, data: &str) {
    let text = json!({"command": command, "identifier": identifier, "data": data}).to_string();
    client.send(&text).await;
}

#[tokio::test]
async fn from_welcome_to_goodbye() {
    let chat = Chat::start(options()).await;
    let offered = "actioncable-v1-json, actioncable-unsupported";
    let (mut ann, response) = chat.offer("/cable", offered).await;
    let chosen = response.headers().get("sec-websocket-protocol").unwrap();
    assert_eq!(chosen, "actioncable-v1-json");
    assert_eq!(next(&mut ann).await, json!({"type": "welcome"}));
    // Tsung's file has no data, and no subprotocol.
    let mut bob = chat.connect("/cable").await;
    assert_eq!(next(&mut bob).await, json!({"type": "welcome"}));
    bob.send(r#"{"command": "subscribe", "identifier": "{\"channel\":\"ChatChannel\"}"}"#).await;
    let confirmed = json!({"identifier": LOBBY, "type": "confirm_subscription"});
    assert_eq!(next(&mut bob).await, confirmed);
    // Subscribed again, confirmed again; messages still come once.
    for _ in 0..2 {
        command(&mut ann, "subscribe", LOBBY, "").await;
        assert_eq!(next(&mut ann).await, confirmed);
    }
    let other = r#"{"room":"other","channel":"ChatChannel"}"#;
    command(&mut ann, "subscribe", other, "").await;
    assert_eq!(next(&mut ann).await["identifier"], other);

    let speak = r#"{"action":"speak","message":"hi","from":"ann"}"#;
    for id in 1..=2 {
        command(&mut ann, "message", LOBBY, speak).await;
        for client in [&mut ann, &mut bob] {
            let message = next(client).await;
            assert_eq!(message["identifier"], LOBBY);
            assert_eq!(message["message"]["message"], "hi");
            assert_eq!(message["message"]["id"], id);
        }
    }
    command(&mut ann, "message", other, speak).await;
    assert_eq!(next(&mut ann).await["message"]["room"], "other");

    // Who unsubscribed gets nothing more there.
    command(&mut ann, "unsubscribe", LOBBY, "").await;
    command(&mut bob, "message", LOBBY, speak).await;
    assert_eq!(next(&mut bob).await["message"]["id"], 3);
    command(&mut ann, "message", other, speak).await;
    assert_eq!(next(&mut ann).await["message"]["room"], "other");

    let served = chat.begin_stop();
    for client in [&mut ann, &mut bob] {
        let goodbye = json!({"type": "disconnect", "reason": "server_restart", "reconnect": true});
        assert_eq!(next(client).await, goodbye);
        assert_eq!(u16::from(client.close_code().await), 1001);
    }
    soon(served).await.unwrap().unwrap();
}

#[tokio::test]
async fn pings_are_pushed() {
    let mut often = options();
    often.cable_ping = Duration::from_millis(20);
    let chat = Chat::start(often).await;
    let mut client = chat.connect("/cable").await;
    assert_eq!(next(&mut client).await["type"], "welcome");
    for _ in 0..3 {
        let ping = client.json().await;
        assert_eq!(ping["type"], "ping");
        assert!(ping["message"].as_u64().unwrap() > 1_700_000_000, "{ping}");
    }
}

#[tokio::test]
async fn unknown_commands_and_channels_are_refused() {
    let mut small = options();
    small.rooms_max = 2;
    let chat = Chat::start(small).await;
    let mut client = chat.connect("/cable").await;
    next(&mut client).await;
    // Nothing is said to these.
    client.send("not json").await;
    client.send(r#"{"command":"dance"}"#).await;
    command(&mut client, "message", LOBBY, r#"{"action":"speak","message":"x"}"#).await;
    command(&mut client, "unsubscribe", LOBBY, "").await;
    let long = format!(r#"{{"channel":"ChatChannel","room":"{}"}}"#, "x".repeat(600));
    for identifier in [
        "",
        "7",
        r#"{"channel":"OtherChannel"}"#,
        r#"{"channel":"ChatChannel","room":"a b"}"#,
        &long,
    ] {
        command(&mut client, "subscribe", identifier, "").await;
        let rejected = json!({"identifier": identifier, "type": "reject_subscription"});
        assert_eq!(next(&mut client).await, rejected);
    }
    // The lobby and one more.
    for (room, kind) in [("second", "confirm_subscription"), ("third", "reject_subscription")] {
        let identifier = json!({"channel": "ChatChannel", "room": room}).to_string();
        command(&mut client, "subscribe", &identifier, "").await;
        assert_eq!(next(&mut client).await["type"], kind, "{room}");
    }
    assert_eq!(chat.metric("chat_bad_requests_total").await, 10.0);
    assert_eq!(chat.metric("chat_spoken_total").await, 0.0);
}
