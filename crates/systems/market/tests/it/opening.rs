//! A connection's first request, in all the ways in which it can come.

use std::time::Duration;

use testkit::client::{HANDSHAKE, read_until};
use testkit::http::{get, soon};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{Fan, Market, calm, frame};

const GAMES: &[u8] = br#"{"op":"games"}"#;
/// What the reply to it ends with: four games, 0:0 each.
const GAMES_END: &str = r#""score":{"home":0,"away":0}}]}"#;

#[tokio::test]
async fn a_handshake_in_pieces() {
    let market = Market::start(calm()).await;
    for piece in [1, 7, 100] {
        let mut stream = TcpStream::connect(market.address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        for bytes in HANDSHAKE.as_bytes().chunks(piece) {
            stream.write_all(bytes).await.unwrap();
            // The market has had its turn between two pieces.
            assert_eq!(get(market.address, "/hello").await.0, 200);
        }
        let answer = read_until(&mut stream, "\r\n\r\n").await;
        assert!(answer.starts_with("HTTP/1.1 101 "), "{answer}");
        assert!(answer.contains("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"));
    }
}

#[tokio::test]
async fn requests_right_behind_the_handshake() {
    let market = Market::start(calm()).await;
    let request = frame(0x81, GAMES);
    let whole = [HANDSHAKE.as_bytes(), &request, &request].concat();
    // Cut before, within and after the frames.
    for cut in [whole.len(), HANDSHAKE.len(), HANDSHAKE.len() + 1, whole.len() - 3] {
        let mut stream = TcpStream::connect(market.address).await.unwrap();
        stream.write_all(&whole[..cut]).await.unwrap();
        assert_eq!(get(market.address, "/hello").await.0, 200);
        stream.write_all(&whole[cut..]).await.unwrap();
        let mut answer = read_until(&mut stream, GAMES_END).await;
        if answer.matches(GAMES_END).count() < 2 {
            answer += &read_until(&mut stream, GAMES_END).await;
        }
        assert!(answer.starts_with("HTTP/1.1 101 "), "{answer}");
        assert_eq!(answer.matches(GAMES_END).count(), 2, "cut at {cut}");
    }
}

#[tokio::test]
async fn a_head_that_is_too_long_is_for_the_http_server() {
    let market = Market::start(calm()).await;
    let mut stream = TcpStream::connect(market.address).await.unwrap();
    let long = HANDSHAKE.replace("Host: x", &format!("Host: x\r\nX-Long: {}", "x".repeat(9_000)));
    let (first, rest) = long.split_at(8_500);
    stream.write_all(first.as_bytes()).await.unwrap();
    assert_eq!(get(market.address, "/hello").await.0, 200);
    stream.write_all(rest.as_bytes()).await.unwrap();
    let answer = read_until(&mut stream, "}}").await;
    assert!(answer.starts_with("HTTP/1.1 426 "), "{answer}");
    assert_eq!(market.metric("market_connections_total").await, 0.0);
}

#[tokio::test]
async fn a_connection_that_takes_too_long_to_open_is_closed() {
    let mut options = calm();
    options.opening_timeout = Duration::from_millis(40);
    let market = Market::start(options).await;
    let mut fan = market.connect().await;
    // One that says nothing, and one that stops in the midst of it.
    let mut silent = TcpStream::connect(market.address).await.unwrap();
    let mut half = TcpStream::connect(market.address).await.unwrap();
    half.write_all(&HANDSHAKE.as_bytes()[..50]).await.unwrap();
    for stream in [&mut silent, &mut half] {
        assert_eq!(soon(stream.read(&mut [0; 8])).await.unwrap(), 0);
    }
    assert_eq!(market.metric("market_opening_timeouts_total").await, 2.0);
    // WebSockets may take their time.
    assert_eq!(fan.request(r#"{"op":"leave"}"#).await["re"], "leave");
}

#[tokio::test]
async fn a_kept_alive_connection_reads_on_but_opens_nothing() {
    let market = Market::start(calm()).await;
    let mut stream = TcpStream::connect(market.address).await.unwrap();
    let hello = "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n";
    for _ in 0..3 {
        stream.write_all(hello.as_bytes()).await.unwrap();
        let answer = read_until(&mut stream, "\r\n\r\nok\n").await;
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    }
    // Two in one go, then a handshake, which must be the first request.
    stream.write_all(hello.repeat(2).as_bytes()).await.unwrap();
    stream.write_all(HANDSHAKE.as_bytes()).await.unwrap();
    let answer = read_until(&mut stream, "}}").await;
    assert_eq!(answer.matches("HTTP/1.1 200 ").count(), 2, "{answer}");
    assert_eq!(answer.matches("HTTP/1.1 426 ").count(), 1, "{answer}");
}
