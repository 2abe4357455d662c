//! What clients must not do.

use futures_util::SinkExt;
use serde_json::json;
use testkit::http::raw;
use tokio::io::AsyncWriteExt;
use tokio_tungstenite::tungstenite::Message;

use crate::support::{Fan, Market, calm};

#[tokio::test]
async fn bad_requests_are_answered_and_the_connection_stays() {
    let mut options = calm();
    options.errors_max = 1000;
    let market = Market::start(options).await;
    let mut fan = market.connect().await;
    let cases = [
        ("{", json!(null), "malformed"),
        ("", json!(null), "malformed"),
        ("null", json!(null), "invalid"),
        (r#""games""#, json!(null), "invalid"),
        (r#"{"op":"dance"}"#, json!("dance"), "unknown_op"),
        (r#"{"op":7}"#, json!(null), "invalid"),
        (r#"{"op":"join"}"#, json!("join"), "invalid"),
        (r#"{"op":"join","game":1}"#, json!("join"), "invalid"),
        (r#"{"op":"join","game":"g99"}"#, json!("join"), "unknown_game"),
        (r#"{"op":"join","game":"g0"}"#, json!("join"), "unknown_game"),
        (r#"{"op":"pools","game":"<script>"}"#, json!("pools"), "unknown_game"),
        (r#"{"op":"predict"}"#, json!("predict"), "invalid"),
        (
            r#"{"op":"predict","pool":"p99","option":"home","amount":1}"#,
            json!("predict"),
            "unknown_pool",
        ),
        (
            r#"{"op":"predict","pool":"p1","option":"draw","amount":1}"#,
            json!("predict"),
            "unknown_option",
        ),
        (r#"{"op":"predict","pool":"p1","option":"home","amount":0}"#, json!("predict"), "invalid"),
        (
            r#"{"op":"predict","pool":"p1","option":"home","amount":-1}"#,
            json!("predict"),
            "invalid",
        ),
        (
            r#"{"op":"predict","pool":"p1","option":"home","amount":0.5}"#,
            json!("predict"),
            "invalid",
        ),
    ];
    for (request, re, code) in &cases {
        let reply = fan.request(request).await;
        assert_eq!((&reply["re"], &reply["error"]["code"]), (re, &json!(code)), "{request}");
        assert!(!reply["error"]["message"].as_str().unwrap().is_empty());
    }
    let deep = format!(r#"{{"op":"games","id":{}"#, "[".repeat(3_000));
    assert_eq!(fan.request(&deep).await["error"]["code"], "malformed");
    fan.socket.send(Message::binary(vec![1, 2, 3])).await.unwrap();
    assert_eq!(fan.json().await["error"]["code"], "binary");
    assert_eq!(fan.request(r#"{"op":"games"}"#).await["re"], "games");
    let bad = market.metric("market_bad_requests_total").await;
    assert_eq!(bad, cases.len() as f64 + 2.0);
}

#[tokio::test]
async fn an_overdraft_is_refused_and_moves_nothing() {
    let market = Market::start(calm()).await;
    let mut fan = market.connect().await;
    for amount in ["100001", "18446744073709551615"] {
        let request =
            format!(r#"{{"op":"predict","pool":"p1","option":"home","amount":{amount}}}"#);
        let refused = json!({
            "re": "predict", "accepted": false, "reason": "balance", "pool": "p1",
            "balance": 100_000,
        });
        assert_eq!(fan.request(&request).await, refused);
    }
    let all = fan.request(r#"{"op":"predict","pool":"p1","option":"home","amount":100000}"#).await;
    assert_eq!((&all["accepted"], &all["balance"]), (&json!(true), &json!(0)));
    assert_eq!(market.metric("market_money_staked").await, 100_000.0);
}

#[tokio::test]
async fn too_many_bad_requests_close_the_connection() {
    let mut options = calm();
    options.errors_max = 2;
    let market = Market::start(options).await;
    let mut fan = market.connect().await;
    for _ in 0..3 {
        assert_eq!(fan.request("?").await["error"]["code"], "malformed");
    }
    assert_eq!(u16::from(fan.close_code().await), 1008);
}

#[tokio::test]
async fn an_oversized_message_closes_with_1009() {
    let market = Market::start(calm()).await;
    let mut fan = market.connect().await;
    // The server may close before all of it is sent.
    let _ = fan.socket.send(Message::text("x".repeat(1 << 20))).await;
    assert_eq!(u16::from(fan.close_code().await), 1009);
}

#[tokio::test]
async fn broken_frames_close_with_the_code_of_their_fault() {
    let market = Market::start(calm()).await;
    // FIN and opcode, MASK and length, a mask of zeros, the payload.
    let cases: [(&[u8], u16); 5] = [
        (&[0x81, 0x82, 0, 0, 0, 0, 0xff, 0xfe], 1007),
        (&[0x81, 0x02, b'h', b'i'], 1002),
        (&[0xc1, 0x80, 0, 0, 0, 0], 1002),
        (&[0x80, 0x80, 0, 0, 0, 0], 1002),
        (&[0x83, 0x80, 0, 0, 0, 0], 1002),
    ];
    for (bytes, code) in cases {
        let mut fan = market.connect().await;
        fan.socket.get_mut().write_all(bytes).await.unwrap();
        assert_eq!(u16::from(fan.close_code().await), code, "{bytes:02x?}");
    }
}

#[tokio::test]
async fn bad_handshakes_are_refused() {
    let market = Market::start(calm()).await;
    let handshake = |target: &str, version: &str| {
        format!(
            "GET {target} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Version: {version}\r\n\
             Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        )
    };
    let status = async |request: String| {
        let answer = raw(market.address, request.as_bytes()).await;
        answer.split(' ').nth(1).unwrap().to_owned()
    };
    assert_eq!(status(handshake("/v1/stream", "12")).await, "426");
    assert_eq!(status(handshake("/v1/stream?user=a%00", "13")).await, "400");
    let plain = "GET /v1/stream HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    assert_eq!(status(plain.to_owned()).await, "426");
    assert_eq!(status("nonsense\r\n\r\n".to_owned()).await, "400");
}
