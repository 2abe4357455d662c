//! Who is to blame when nothing moves: a client that may wait for 100, a backend that says nothing, a request that
//! takes too long as a whole.

use std::time::Duration;

use testkit::http::{raw, soon};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::support::{Act, Backend, Running, request, response};

const SHORT: Duration = Duration::from_millis(100);
const POST: &[u8] =
    b"POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n";

/// A balancer with a backend that the test plays, and a client that has sent a head and waits.
async fn waiting(stall: Duration, response_timeout: Duration) -> (Running, TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let balancer = Running::start(&[listener.local_addr().unwrap()], |options| {
        options.timeouts.stall = stall;
        options.timeouts.response = response_timeout;
        options.health.eject_after = 1;
        options.health.eject_max = 1.0;
    })
    .await;
    let mut client = balancer.connect().await;
    client.write_all(POST).await.unwrap();
    let (mut backend, _) = soon(listener.accept()).await.unwrap();
    assert!(read(&mut backend).await.contains("100-continue"));
    (balancer, client, backend)
}

/// What has come.
async fn read(stream: &mut TcpStream) -> String {
    let mut buffer = [0; 4096];
    let count = soon(stream.read(&mut buffer)).await.unwrap();
    String::from_utf8_lossy(&buffer[..count]).into_owned()
}

#[tokio::test]
async fn a_backend_that_never_says_100_is_to_blame() {
    let (balancer, mut client, _backend) = waiting(SHORT, SHORT * 4).await;
    assert_eq!(response(&mut client).await.0, 504);
    assert_eq!(balancer.metric("ejections_total").await, 1.0);
    assert_eq!(balancer.metric("timeouts_total").await, 1.0);
}

#[tokio::test]
async fn a_client_that_got_100_is_to_blame_for_its_body() {
    let (balancer, mut client, mut backend) = waiting(SHORT, Duration::from_secs(60)).await;
    // Longer than the client's time for its body, which it does not owe yet.
    tokio::time::sleep(SHORT * 3).await;
    let interim = "HTTP/1.1 100 Continue\r\n\r\n";
    backend.write_all(interim.as_bytes()).await.unwrap();
    assert_eq!(read(&mut client).await, interim);
    assert_eq!(response(&mut client).await.0, 408);
    assert_eq!(balancer.metric("ejections_total").await, 0.0);
}

#[tokio::test]
async fn a_backend_that_is_silent_after_100_is_to_blame() {
    let (balancer, mut client, mut backend) = waiting(SHORT, SHORT * 4).await;
    let interim = "HTTP/1.1 100 Continue\r\n\r\n";
    backend.write_all(interim.as_bytes()).await.unwrap();
    assert_eq!(read(&mut client).await, interim);
    client.write_all(b"hi").await.unwrap();
    // The client gets an answer, not a broken response: 100 was none.
    assert_eq!(response(&mut client).await.0, 504);
    assert_eq!(balancer.metric("ejections_total").await, 1.0);
    assert_eq!(balancer.metric("truncated_total").await, 0.0);
}

#[tokio::test]
async fn a_long_upload_after_100_is_not_a_slow_response() {
    let (_balancer, mut client, mut backend) = waiting(Duration::from_secs(60), SHORT * 10).await;
    let interim = "HTTP/1.1 100 Continue\r\n\r\n";
    backend.write_all(interim.as_bytes()).await.unwrap();
    assert_eq!(read(&mut client).await, interim);
    for byte in [b"h", b"i"] {
        tokio::time::sleep(SHORT * 7).await;
        client.write_all(byte).await.unwrap();
        assert_eq!(read(&mut backend).await.as_bytes(), byte);
    }
    let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    backend.write_all(answer.as_bytes()).await.unwrap();
    assert_eq!(response(&mut client).await, (200, "ok".to_owned()));
}

#[tokio::test]
async fn a_request_has_a_deadline_as_a_whole() {
    let silent = Backend::start(Act::Wait).await;
    let balancer = Running::start(&[silent.address], |options| {
        options.timeouts.request = Some(SHORT);
        options.retries = 3;
        options.retry_budget = 1.0;
        options.health.eject_after = 1;
        options.health.eject_max = 1.0;
    })
    .await;
    let mut client = balancer.connect().await;
    let (status, body) = request(&mut client, "GET", "/").await;
    assert_eq!((status, body.as_str()), (504, "the request took too long\n"));
    // Of which nothing is left for another attempt.
    assert_eq!(silent.heads().len(), 1);
    assert_eq!(balancer.metric("ejections_total").await, 1.0);
    assert_eq!(balancer.metric("in_flight").await, 0.0);
}

#[tokio::test]
async fn a_response_that_goes_on_and_on_is_broken_at_the_deadline() {
    let begun = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n";
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let balancer = Running::start(&[listener.local_addr().unwrap()], |options| {
        options.timeouts.request = Some(SHORT);
        options.health.eject_after = 1;
        options.health.eject_max = 1.0;
    })
    .await;
    let mut client = balancer.connect().await;
    let head = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n";
    client.write_all(head).await.unwrap();
    let (mut backend, _) = soon(listener.accept()).await.unwrap();
    read(&mut backend).await;
    backend.write_all(begun.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    // A reset, or an end without the last chunk.
    let _ = soon(client.read_to_end(&mut answer)).await;
    assert!(!answer.ends_with(b"0\r\n\r\n"));
    balancer.until_metric("in_flight", 0.0).await;
    assert_eq!(balancer.metric("truncated_total").await, 1.0);
    // It answered, as slowly as it may.
    assert_eq!(balancer.metric("ejections_total").await, 0.0);
}

#[tokio::test]
async fn a_request_of_http_1_0_without_a_host_gets_an_empty_one() {
    let backend = Backend::start(Act::ok("ok")).await;
    let balancer = Running::start(&[backend.address], |_| {}).await;
    for (line, host) in [("/a", ""), ("http://there:80/a", "there:80")] {
        let text = format!("GET {line} HTTP/1.0\r\n\r\n");
        let answer = raw(balancer.address, text.as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        let head = backend.heads().pop().unwrap();
        let begin = format!("GET /a HTTP/1.1\r\nHost: {host}\r\n");
        assert!(head.starts_with(&begin), "{head}");
    }
}
