//! WebSockets end when one of their ends is gone, though the network says nothing.

use std::time::Duration;

use balancer::Timeouts;
use testkit::http::soon;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::support::Running;

/// A WebSocket, as far as the balancer looks: its client, and its backend.
async fn open(change: impl FnOnce(&mut Timeouts)) -> (Running, TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let balancer = Running::start(&[listener.local_addr().unwrap()], |options| {
        change(&mut options.timeouts);
    })
    .await;
    let mut client = balancer.connect().await;
    let upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
    let head = format!("GET / HTTP/1.1\r\nHost: x\r\n{upgrade}");
    client.write_all(head.as_bytes()).await.unwrap();
    let (mut backend, _) = soon(listener.accept()).await.unwrap();
    let mut buffer = [0; 1024];
    assert!(soon(backend.read(&mut buffer)).await.unwrap() > 0);
    let answer = format!("HTTP/1.1 101 Switching Protocols\r\n{upgrade}");
    backend.write_all(answer.as_bytes()).await.unwrap();
    let count = soon(client.read(&mut buffer)).await.unwrap();
    assert!(buffer[..count].ends_with(b"\r\n\r\n"));
    (balancer, client, backend)
}

#[tokio::test]
async fn a_backend_that_does_not_end_is_left_by_a_client_that_did() {
    let rest = Duration::from_millis(300);
    let (balancer, mut client, mut backend) = open(|timeouts| timeouts.idle = rest).await;
    client.shutdown().await.unwrap();
    let mut buffer = [0; 16];
    assert_eq!(soon(backend.read(&mut buffer)).await.unwrap(), 0);
    // It has something to say, and then nothing more.
    backend.write_all(b"late").await.unwrap();
    assert_eq!(soon(client.read(&mut buffer)).await.unwrap(), 4);
    assert_eq!(soon(client.read(&mut buffer)).await.unwrap(), 0);
    balancer.until_metric("in_flight", 0.0).await;
    assert_eq!(balancer.metric("connections_timed_out_total").await, 1.0);
}

#[tokio::test]
async fn a_client_that_takes_nothing_is_given_up() {
    let stall = Duration::from_millis(300);
    let (balancer, client, mut backend) = open(|timeouts| timeouts.stall = stall).await;
    let sending = async { while backend.write_all(&[0; 1 << 16]).await.is_ok() {} };
    soon(sending).await;
    balancer.until_metric("in_flight", 0.0).await;
    assert_eq!(balancer.metric("connections_timed_out_total").await, 1.0);
    drop(client);
}

#[tokio::test]
async fn silence_alone_ends_no_tunnel() {
    let short = Duration::from_millis(50);
    let (_balancer, mut client, mut backend) = open(|timeouts| {
        (timeouts.idle, timeouts.stall) = (short, short);
    })
    .await;
    tokio::time::sleep(short * 5).await;
    backend.write_all(b"there").await.unwrap();
    let mut buffer = [0; 16];
    assert_eq!(soon(client.read(&mut buffer)).await.unwrap(), 5);
}

/// Also what it says of its backend: that it answered, as fast as it did.
#[tokio::test]
async fn a_websocket_is_counted_when_it_begins() {
    let (balancer, client, backend) = open(|_| {}).await;
    assert_eq!(balancer.metric("responses_1xx_total").await, 1.0);
    assert_eq!(balancer.metric("in_flight").await, 1.0);
    drop((client, backend));
    balancer.until_metric("in_flight", 0.0).await;
    assert_eq!(balancer.metric("responses_1xx_total").await, 1.0);
}
