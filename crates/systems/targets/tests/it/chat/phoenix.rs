//! Phoenix channels in both framings, message by message.

use std::time::Duration;

use futures_util::SinkExt;
use serde_json::{Value, json};
use targets::chat::Names;
use testkit::client::Client;
use testkit::http::{get, raw};
use tokio_tungstenite::tungstenite::Message;

use super::{Chat, options};

/// Sends a message and returns what comes next.
async fn request(client: &mut Client, message: Value) -> Value {
    client.send(&message.to_string()).await;
    client.json().await
}

#[tokio::test]
async fn objects_as_tsung_sends_them() {
    let chat = Chat::start(options()).await;
    let mut client = chat.connect("/socket/websocket").await;
    client.send(r#"{"topic":"chat","event":"phx_join","payload":{},"ref":"1"}"#).await;
    let joined = json!({
        "topic": "chat", "event": "phx_reply",
        "payload": {"status": "ok", "response": {}}, "ref": "1",
    });
    assert_eq!(client.json().await, joined);
    client.send(r#"{"topic":"phoenix","event":"heartbeat","payload":{},"ref":"2"}"#).await;
    assert_eq!(client.json().await["topic"], "phoenix");
    // Tsung's frames are binary unless configured otherwise.
    let heartbeat = r#"{"topic":"phoenix","event":"heartbeat","payload":{},"ref":"3"}"#;
    client.socket.send(Message::binary(heartbeat.as_bytes().to_vec())).await.unwrap();
    assert_eq!(client.json().await["ref"], "3");
    chat.speak("lobby", "hi").await;
    let pushed = client.json().await;
    assert_eq!((&pushed["event"], &pushed["ref"]), (&json!("message"), &Value::Null));
    assert_eq!(pushed["payload"]["message"], "hi");
}

/// A client of the published prototype: `speak` with a `body`, which comes to all as `publish` and has no reply.
#[tokio::test]
async fn clients_of_the_published_prototype_are_understood() {
    let mut published = options();
    published.names = Names::Published;
    let chat = Chat::start(published).await;
    let mut client = chat.connect("/socket/websocket").await;
    client.send(r#"{"topic":"chat","event":"phx_join","payload":{},"ref":"1"}"#).await;
    assert_eq!(client.json().await["event"], "phx_reply");
    let speak = r#"{"topic":"chat","event":"speak","payload":{"body":"hi"},"ref":"2"}"#;
    client.send(speak).await;
    let pushed = client.json().await;
    assert_eq!((&pushed["event"], &pushed["payload"]["body"]), (&json!("publish"), &json!("hi")));
    assert_eq!(pushed["payload"]["id"], 1);
    // The next message is the answer to the next push: there was none to the one before.
    client.send(r#"{"topic":"phoenix","event":"heartbeat","payload":{},"ref":"3"}"#).await;
    assert_eq!(client.json().await["ref"], "3");
    let bad = json!({"topic": "chat", "event": "speak", "payload": {}, "ref": "4"});
    assert_eq!(request(&mut client, bad).await["payload"]["status"], "error");
}

#[tokio::test]
async fn arrays_from_join_to_leave() {
    let chat = Chat::start(options()).await;
    chat.speak("a", "missed").await;
    let mut client = chat.connect("/socket/websocket?vsn=2.0.0").await;
    let joined = request(&mut client, json!(["1", "1", "room:a", "phx_join", {"after": 0}])).await;
    let ok = json!({"status": "ok", "response": {}});
    assert_eq!(joined, json!(["1", "1", "room:a", "phx_reply", ok]));
    let missed = client.json().await;
    assert_eq!(missed[2], "room:a");
    assert_eq!(missed[4]["id"], 1);

    // Who speaks gets a reply, and the message as everybody does; the reply comes first or last.
    let first = request(&mut client, json!(["1", "2", "room:a", "speak", {"message": "hi"}])).await;
    let second = client.json().await;
    let (reply, push) = if first[3] == "phx_reply" { (first, second) } else { (second, first) };
    let said = json!({"status": "ok", "response": {"id": 2}});
    assert_eq!(reply, json!(["1", "2", "room:a", "phx_reply", said]));
    assert_eq!(push[3], "message");
    assert_eq!((&push[0], &push[1], &push[4]["id"]), (&Value::Null, &Value::Null, &json!(2)));

    let bad = request(&mut client, json!(["1", "3", "room:a", "speak", {}])).await;
    assert_eq!(bad[4], json!({"status": "error", "response": {"reason": "invalid"}}));

    // A second joining ends the first, as Phoenix does.
    let closed = request(&mut client, json!(["4", "4", "room:a", "phx_join", {}])).await;
    assert_eq!(closed, json!(["1", "1", "room:a", "phx_close", {}]));
    assert_eq!(client.json().await[4], ok);
    chat.speak("a", "once").await;
    assert_eq!(client.json().await[4]["id"], 3);

    let left = request(&mut client, json!(["4", "5", "room:a", "phx_leave", {}])).await;
    assert_eq!(left, json!(["4", "5", "room:a", "phx_reply", ok]));
    assert_eq!(client.json().await, json!(["4", "4", "room:a", "phx_close", {}]));
    chat.speak("a", "to nobody").await;
    let beat = request(&mut client, json!([null, "6", "phoenix", "heartbeat", {}])).await;
    assert_eq!(beat, json!([null, "6", "phoenix", "phx_reply", ok]));
}

#[tokio::test]
async fn unknown_messages_are_errors() {
    let chat = Chat::start(options()).await;
    let mut client = chat.connect("/socket/websocket?vsn=2.0.0").await;
    let unmatched = json!({"status": "error", "response": {"reason": "unmatched topic"}});
    for (topic, event) in [("else", "phx_join"), ("chat", "speak"), ("chat", "phx_leave")] {
        let reply = request(&mut client, json!(["1", "1", topic, event, {}])).await;
        assert_eq!(reply, json!(["1", "1", topic, "phx_reply", unmatched]));
    }
    let bad = request(&mut client, json!(["1", "1", "room:a b", "phx_join", {}])).await;
    assert_eq!(bad[4]["response"]["reason"], "bad_room");
    // An event that the channel does not know ends it; another join starts again.
    for _ in 0..2 {
        request(&mut client, json!(["7", "7", "chat", "phx_join", {}])).await;
        let ended = request(&mut client, json!(["7", "8", "chat", "dance", {}])).await;
        assert_eq!(ended, json!(["7", "7", "chat", "phx_error", {}]));
    }
    chat.speak("lobby", "to nobody").await;
    for number in 0..16 {
        let topic = format!("room:{number}");
        let reply = request(&mut client, json!(["1", "1", topic, "phx_join", {}])).await;
        assert_eq!(reply[4]["status"], "ok", "{reply}");
    }
    let full = request(&mut client, json!(["1", "1", "room:17", "phx_join", {}])).await;
    assert_eq!(full[4]["response"]["reason"], "too many topics");
    client.send("[]").await;
    assert_eq!(u16::from(client.close_code().await), 1007);
}

#[tokio::test]
async fn a_silent_connection_is_closed() {
    let mut hasty = options();
    hasty.phoenix_timeout = Some(Duration::from_millis(100));
    let chat = Chat::start(hasty).await;
    let mut plain = chat.connect("/chat/socket").await;
    let mut client = chat.connect("/socket/websocket").await;
    assert_eq!(u16::from(client.close_code().await), 1001);
    assert_eq!(chat.metric("chat_idle_disconnects_total").await, 1.0);
    // Others may be silent.
    plain.send(r#"{"message":"still here"}"#).await;
    assert_eq!(plain.json().await["id"], 1);
}

#[tokio::test]
async fn versions_that_nobody_speaks_are_refused() {
    let chat = Chat::start(options()).await;
    let handshake = testkit::client::HANDSHAKE;
    let bad = handshake.replace("/v1/stream", "/socket/websocket?vsn=3.0.0");
    let answer = raw(chat.address, bad.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
    assert_eq!(get(chat.address, "/socket/websocket").await.0, 426);
}
