//! Speaking and polling, with and without waiting.

use serde_json::json;
use testkit::http::{get, raw, soon};

use super::{Chat, ids, options};

#[tokio::test]
async fn what_is_said_is_found_after_a_cursor() {
    let chat = Chat::start(options()).await;
    let (status, nothing) = chat.json("/chat/poll").await;
    let expected = json!({"room": "lobby", "messages": [], "last": 0, "forgotten": 0});
    assert_eq!((status, nothing), (200, expected));
    assert_eq!(chat.speak("lobby", "one").await, 1);
    let form = "application/x-www-form-urlencoded";
    let (status, answer) = chat.post("/chat/speak", form, "message=two+%C3%A4&from=bob").await;
    assert_eq!((status, answer), (200, json!({"id": 2})));

    let (_, found) = chat.json("/chat/poll?after=0").await;
    assert_eq!((ids(&found["messages"]), &found["last"]), (vec![1, 2], &json!(2)));
    let second = &found["messages"][1];
    assert_eq!(second["message"], "two ä");
    assert_eq!((&second["room"], &second["from"]), (&json!("lobby"), &json!("bob")));
    assert!(second["sent_at_ms"].as_f64() >= found["messages"][0]["sent_at_ms"].as_f64());
    let (_, found) = chat.json("/chat/poll?after=1").await;
    assert_eq!(ids(&found["messages"]), [2]);
    let (_, found) = chat.json("/chat/poll?after=0&limit=1").await;
    assert_eq!((ids(&found["messages"]), &found["last"]), (vec![1], &json!(1)));
    // Rooms are apart.
    let (_, other) = chat.json("/chat/poll?room=other").await;
    assert_eq!((ids(&other["messages"]), &other["room"]), (vec![], &json!("other")));
    assert_eq!(chat.speak("other", "one").await, 1);
    assert_eq!(chat.metric("chat_rooms").await, 2.0);
    assert_eq!(chat.stop().await.messages, 3);
}

#[tokio::test]
async fn a_held_poll_is_answered_by_the_next_message() {
    let chat = Chat::start(options()).await;
    chat.speak("lobby", "old").await;
    let held = async { chat.json("/chat/poll?after=1&wait=20").await };
    let speak = async {
        chat.until("chat_polls_held", 1.0).await;
        chat.speak("lobby", "new").await
    };
    let ((status, found), id) = tokio::join!(soon(held), speak);
    assert_eq!((status, ids(&found["messages"]), id), (200, vec![2], 2));
    assert_eq!(chat.metric("chat_polls_held").await, 0.0);
    // One that has something to say does not wait.
    let (_, found) = soon(chat.json("/chat/poll?after=0&wait=60")).await;
    assert_eq!(ids(&found["messages"]), [1, 2]);
    // One that waits without success is answered with nothing, and its cursor.
    let (_, found) = soon(chat.json("/chat/poll?after=2&wait=0.01")).await;
    assert_eq!((ids(&found["messages"]), &found["last"]), (vec![], &json!(2)));
}

#[tokio::test]
async fn held_polls_are_answered_before_a_stop() {
    let chat = Chat::start(options()).await;
    let address = chat.address;
    let held = tokio::spawn(async move { get(address, "/chat/poll?wait=60").await });
    chat.until("chat_polls_held", 1.0).await;
    assert_eq!(chat.stop().await.connections_cut, 0);
    let (status, body) = soon(held).await.unwrap();
    assert_eq!(status, 200);
    assert!(body.contains(r#""messages":[]"#), "{body}");
}

#[tokio::test]
async fn bad_requests_are_refused() {
    let mut small = options();
    small.rooms_max = 2;
    small.message_max = 64;
    let chat = Chat::start(small).await;
    let long = format!(r#"{{"message":"{}"}}"#, "x".repeat(64));
    for (target, body, status, code) in [
        ("/chat/speak", "", 400, "malformed"),
        ("/chat/speak", "{", 400, "malformed"),
        ("/chat/speak", "[]", 400, "invalid"),
        ("/chat/speak", r#"{"message":""}"#, 400, "invalid"),
        ("/chat/speak", &long, 413, "too_long"),
        ("/chat/speak?room=a%20b", r#"{"message":"x"}"#, 400, "bad_room"),
        ("/chat/speak?room=second", r#"{"message":"x"}"#, 200, ""),
        ("/chat/speak?room=third", r#"{"message":"x"}"#, 503, "too_many_rooms"),
    ] {
        let (found, answer) = chat.post(target, "text/plain", body).await;
        assert_eq!(found, status, "{target} {body}: {answer}");
        assert_eq!(answer["error"]["code"].as_str().unwrap_or_default(), code);
    }
    for target in ["after=-1", "after=x", "wait=x", "wait=-1", "wait=NaN", "limit=x"] {
        let (status, answer) = chat.json(&format!("/chat/poll?{target}")).await;
        assert_eq!((status, &answer["error"]["code"]), (400, &json!("invalid")), "{target}");
    }
    assert_eq!(get(chat.address, "/nowhere").await.0, 404);
    assert_eq!(get(chat.address, "/chat/socket").await.0, 426);
    assert_eq!(get(chat.address, "/chat/speak").await.0, 405);
    assert_eq!(chat.metric("chat_refused_total").await, 7.0);
}

#[tokio::test]
async fn the_page_may_load_nothing_from_elsewhere() {
    let chat = Chat::start(options()).await;
    for (target, kind) in [
        ("/chat", "text/html"),
        ("/chat/chat.js", "text/javascript"),
        ("/chat/chat.css", "text/css"),
    ] {
        let request = format!("GET {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        let answer = raw(chat.address, request.as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        assert!(answer.contains(&format!("content-type: {kind};")), "{answer}");
        assert!(answer.contains("content-security-policy: default-src 'none'; script-src 'self'"));
        assert!(!answer.contains("://"), "{target} names another place");
    }
    assert_eq!(get(chat.address, "/healthz").await, (200, "ready\n".to_owned()));
}
