//! The WebSocket protocol between its two handshakes, and the second of them.

use futures_util::{SinkExt, StreamExt};
use testkit::http::{get, soon};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use crate::support::{Fan, Market, calm, frame};

#[tokio::test]
async fn a_request_in_fragments_with_a_ping_between() {
    let market = Market::start(calm()).await;
    let mut fan = market.connect().await;
    let pieces = [
        frame(0x01, br#"{"op":"ga"#),
        frame(0x89, b"still there?"),
        frame(0x00, br#"mes","id":"#),
        frame(0x80, "\"é\"}".as_bytes()),
    ];
    let bytes = pieces.concat();
    // Whole, frame by frame, and byte by byte.
    for size in [bytes.len(), pieces[0].len(), 1] {
        for piece in bytes.chunks(size) {
            fan.socket.get_mut().write_all(piece).await.unwrap();
            if size > 1 {
                assert_eq!(get(market.address, "/hello").await.0, 200);
            }
        }
        assert_eq!(fan.message().await, Message::Pong("still there?".into()));
        let reply = fan.json().await;
        assert_eq!((&reply["re"], &reply["id"]), (&"games".into(), &"é".into()));
    }
}

#[tokio::test]
async fn a_message_in_fragments_may_not_be_longer_than_one_in_one() {
    let market = Market::start(calm()).await;
    let mut fan = market.connect().await;
    let mut bytes = frame(0x01, &[b' '; 125]);
    for _ in 0..40 {
        bytes.extend(frame(0x00, &[b' '; 125]));
    }
    // The server may close before all of it is sent.
    let _ = fan.socket.get_mut().write_all(&bytes).await;
    assert_eq!(u16::from(fan.close_code().await), 1009);
}

#[tokio::test]
async fn many_requests_in_one_go_are_answered_in_order() {
    let market = Market::start(calm()).await;
    let mut fan = market.connect().await;
    let request = |id: u32| format!(r#"{{"op":"pools","game":"g1","id":{id}}}"#);
    let bytes: Vec<u8> = (0..2_000).flat_map(|id| frame(0x81, request(id).as_bytes())).collect();
    let (mut reader, mut writer) = tokio::io::split(fan.socket.get_mut());
    let mut replies = Vec::new();
    let read = async {
        while replies.len() < 40_000 || !replies.ends_with(b"}}]}") || last_id(&replies) < 1_999 {
            assert!(reader.read_buf(&mut replies).await.unwrap() > 0);
        }
    };
    let (_, written) = soon(async { tokio::join!(read, writer.write_all(&bytes)) }).await;
    written.unwrap();
    let text = String::from_utf8_lossy(&replies);
    let ids: Vec<u32> = ids(&text).collect();
    assert_eq!(ids, (0..2_000).collect::<Vec<_>>());
}

fn ids(text: &str) -> impl DoubleEndedIterator<Item = u32> {
    let tails: Vec<&str> = text.split(r#""id":"#).skip(1).collect();
    // The pool's own id is text.
    tails.into_iter().filter_map(|tail| {
        let digits = tail.split(|c: char| !c.is_ascii_digit()).next()?;
        digits.parse().ok()
    })
}

fn last_id(bytes: &[u8]) -> u32 {
    ids(&String::from_utf8_lossy(bytes)).next_back().unwrap_or(0)
}

#[tokio::test]
async fn the_closing_handshake() {
    let market = Market::start(calm()).await;
    let close = |code: CloseCode| CloseFrame { code, reason: "done".into() };
    for (sent, answered) in [
        (Some(close(CloseCode::Normal)), Some(CloseCode::Normal)),
        (Some(close(CloseCode::Library(4242))), Some(CloseCode::Library(4242))),
        (None, None),
    ] {
        let mut fan = market.connect().await;
        fan.request(r#"{"op":"join","game":"g1"}"#).await;
        fan.socket.send(Message::Close(sent)).await.unwrap();
        let Message::Close(answer) = fan.message().await else {
            panic!("no close frame");
        };
        assert_eq!(answer.map(|frame| frame.code), answered);
        // It is the server that closes the connection.
        assert!(soon(fan.socket.next()).await.is_none());
        assert_eq!(soon(fan.socket.get_mut().read(&mut [0; 8])).await.unwrap(), 0);
    }
    assert_eq!(market.metric("market_connections").await, 0.0);
    assert_eq!(market.metric("market_money_total").await, 0.0);
}

#[tokio::test]
async fn peers_that_just_leave_are_noticed() {
    let market = Market::start(calm()).await;
    let mut staying = market.connect().await;
    staying.request(r#"{"op":"join","game":"g1"}"#).await;
    for half_message in [false, true] {
        let mut fan = market.connect().await;
        fan.request(r#"{"op":"join","game":"g1"}"#).await;
        if half_message {
            fan.socket.get_mut().write_all(&[0x81, 0xfe]).await.unwrap();
        }
        drop(fan);
        while market.metric("market_connections").await > 1.0 {
            tokio::task::yield_now().await;
        }
    }
    // The one who stays gets what it should.
    staying.request(r#"{"op":"predict","pool":"p1","option":"home","amount":7}"#).await;
    assert_eq!(staying.news("distribution").await["total"], 7);
}
