//! History that outlives the server.

use serde_json::json;
use server::ServerError;
use targets::chat::{self, ChatError, ChatOptions, Report};

use super::{Chat, ids, options};

#[tokio::test]
async fn a_restart_keeps_messages_and_goes_on_counting() {
    let folder = tempfile::tempdir().unwrap();
    let mut stored = options();
    stored.store = Some(folder.path().join("chat.sqlite"));
    stored.history = 3;
    let chat = Chat::start(stored.clone()).await;
    for _ in 0..5 {
        chat.speak("lobby", "x").await;
    }
    let mut client = chat.connect("/chat/socket?room=other").await;
    client.send(r#"{"message":"hi","from":"ann"}"#).await;
    let said = client.json().await;
    // Its connection keeps nobody from stopping.
    drop(client);
    assert_eq!(chat.stop().await.messages, 6);

    let chat = Chat::start(stored).await;
    let (_, found) = chat.json("/chat/poll?after=1").await;
    assert_eq!((ids(&found["messages"]), &found["forgotten"]), (vec![3, 4, 5], &json!(1)));
    let (_, found) = chat.json("/chat/poll?room=other").await;
    assert_eq!(found["messages"], json!([said]), "to the microsecond");
    assert_eq!(chat.speak("lobby", "x").await, 6);
    chat.stop().await;
}

/// Result of a start with options that cannot be used.
async fn refused(options: ChatOptions) -> Result<Report, ChatError> {
    let ready = Box::new(|_| panic!("it must not start"));
    chat::serve(options, ready, Box::pin(std::future::pending())).await
}

#[tokio::test]
async fn a_store_that_cannot_be_used_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("no such folder/chat.sqlite");
    let mut stored = options();
    stored.store = Some(path.clone());
    let error = refused(stored).await.unwrap_err();
    assert!(matches!(&error, ChatError::Store { path: found, .. } if *found == path));
    assert!(error.to_string().contains("no such folder"), "{error}");
}

#[tokio::test]
async fn more_rooms_than_allowed_are_not_dropped_in_silence() {
    let folder = tempfile::tempdir().unwrap();
    let mut stored = options();
    stored.store = Some(folder.path().join("chat.sqlite"));
    let chat = Chat::start(stored.clone()).await;
    chat.speak("a", "x").await;
    chat.speak("b", "x").await;
    chat.stop().await;
    stored.rooms_max = 2;
    let error = refused(stored).await;
    assert!(matches!(error, Err(ChatError::Server(ServerError::Options(_)))), "{error:?}");
}
