//! The end of connections and of the whole market.

use std::net::SocketAddr;
use std::time::Duration;

use market::MarketError;
use server::ServerError;
use testkit::http::soon;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};

use crate::support::{Fan, Market, calm, refused};

#[tokio::test]
async fn a_stop_closes_everything_with_a_reason() {
    let market = Market::start(calm()).await;
    let address = market.address;
    let mut fan = market.connect().await;
    fan.request(r#"{"op":"join","game":"g1"}"#).await;
    // A connection that never says anything, and after it, so that both are accepted, an HTTP
    // connection that is kept alive.
    let mut silent = TcpStream::connect(address).await.unwrap();
    let mut web = TcpStream::connect(address).await.unwrap();
    let mut buffer = [0; 512];
    web.write_all(b"GET /hello HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    assert!(soon(web.read(&mut buffer)).await.unwrap() > 0);

    let stopping = market.stop();
    assert_eq!(u16::from(fan.close_code().await), 1001);
    assert_eq!(soon(web.read(&mut buffer)).await.unwrap(), 0);
    assert_eq!(soon(silent.read(&mut buffer)).await.unwrap(), 0);
    let report = stopping.report().await;
    assert_eq!((report.connections, report.connections_cut), (1, 0));
    assert_eq!(report.balanced, Some(true));
    assert!(TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn a_peer_that_ignores_the_close_does_not_hold_up_the_stop() {
    let mut options = calm();
    options.server.stop_within = Duration::from_millis(50);
    let market = Market::start(options).await;
    let _deaf = market.connect().await;
    let report = market.stop().report().await;
    assert_eq!(report.connections_cut, 1);
}

#[tokio::test]
async fn slow_readers_are_disconnected_and_counted() {
    let mut options = calm();
    options.batch = Duration::from_millis(1);
    options.missed_max = 3;
    options.errors_max = u32::MAX;
    let market = Market::start(options).await;
    // A reader with a tiny window that never reads.
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(2048).unwrap();
    let stream = socket.connect(market.address).await.unwrap();
    let url = format!("ws://{}/v1/stream", market.address);
    let (mut slow, _) = tokio_tungstenite::client_async(url, stream).await.unwrap();
    let join = tokio_tungstenite::tungstenite::Message::text(r#"{"op":"join","game":"g1"}"#);
    futures_util::SinkExt::send(&mut slow, join).await.unwrap();
    // Requests whose replies it does not read fill the way to it.
    let games = r#"{"op":"games"}"#;
    let mut flood = Vec::new();
    for _ in 0..1_000 {
        // FIN and text, MASK and length, a mask of zeros.
        flood.extend([0x81, 0x80 | games.len() as u8, 0, 0, 0, 0]);
        flood.extend(games.bytes());
    }
    let (_slow_reader, mut slow_writer) = slow.into_inner().into_split();
    let flooding =
        tokio::spawn(async move { while slow_writer.write_all(&flood).await.is_ok() {} });

    let mut fan = market.connect().await;
    let work = async {
        while market.metric("market_slow_disconnects_total").await < 1.0 {
            fan.request(r#"{"op":"predict","pool":"p1","option":"home","amount":1}"#).await;
        }
    };
    soon(work).await;
    assert!(market.metric("market_distributions_superseded_total").await >= 3.0);
    // Others are not disturbed, and the slow one is really gone.
    assert_eq!(fan.request(r#"{"op":"leave"}"#).await["re"], "leave");
    soon(flooding).await.unwrap();
    while market.metric("market_connections").await > 1.0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn an_address_in_use_is_an_error() {
    let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address: SocketAddr = taken.local_addr().unwrap();
    for threads in [1, 2] {
        let mut options = calm();
        options.server.listen = address;
        options.server.threads = threads;
        let error = refused(options).await;
        assert!(matches!(error, MarketError::Server(ServerError::Listen { .. })), "{error:?}");
    }
    // Not even another market's port is shared.
    let mut options = calm();
    options.server.threads = 2;
    let market = Market::start(options.clone()).await;
    options.server.listen = market.address;
    let error = refused(options).await;
    assert!(matches!(error, MarketError::Server(ServerError::Listen { .. })), "{error:?}");
}
