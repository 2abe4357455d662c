//! What is forwarded arrives as it was sent.

use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::DefaultBodyLimit;
use axum::routing::any;
use balancer::LogFormat;
use balancer::policy::Kind;
use futures_util::{SinkExt, StreamExt};
use testkit::http::{get, raw, soon};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::client_async;
use tokio_tungstenite::tungstenite::Message;

use crate::support::{Act, Backend, Running, request, response, websocket_echo, worker};

/// hyper's server, which answers with the body that it got.
async fn hyper_echo() -> SocketAddr {
    let router = Router::new()
        .route("/echo", any(|body: Bytes| async move { body }))
        .layer(DefaultBodyLimit::disable());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await });
    address
}

#[tokio::test]
async fn connections_are_kept_on_both_sides() {
    let backend = Backend::start(Act::ok("hello")).await;
    let balancer = Running::start(&[backend.address], |_| {}).await;
    let mut stream = balancer.connect().await;
    for _ in 0..10 {
        let answer = request(&mut stream, "GET", "/a?b=c").await;
        assert_eq!(answer, (200, "hello".to_owned()));
    }
    assert_eq!((backend.connections(), backend.heads().len()), (1, 10));
    let head = "GET /a?b=c HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 127.0.0.1\r\n\r\n";
    assert_eq!(backend.heads()[0], head);
    assert_eq!(balancer.metric("requests_total").await, 10.0);
    assert_eq!(balancer.metric("responses_2xx_total").await, 10.0);
    assert!(balancer.metric("upstream_us_total").await > 0.0);
    let report = soon(balancer.stop()).await.unwrap().unwrap();
    assert_eq!((report.requests, report.truncated), (10, 0));
}

#[tokio::test]
async fn requests_may_follow_without_waiting() {
    let backend = Backend::scripted(|head| Act::ok(head.split(' ').nth(1).unwrap())).await;
    let balancer = Running::start(&[backend.address], |_| {}).await;
    let two = "GET /one HTTP/1.1\r\nHost: x\r\n\r\nGET /two HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    let answers = raw(balancer.address, two.as_bytes()).await;
    let one = answers.find("/one").unwrap();
    let two = answers.find("/two").unwrap();
    assert!(one < two && answers.matches("200 OK").count() == 2, "{answers}");
}

#[tokio::test]
async fn bodies_stream_in_both_directions() {
    let echo = hyper_echo().await;
    let balancer = Running::start(&[echo], |_| {}).await;
    let body: String = (0..300_000).map(|n| format!("{n} ")).collect();
    let mut stream = balancer.connect().await;
    for chunked in [false, true, false] {
        let (framing, sent) = match chunked {
            false => (format!("Content-Length: {}", body.len()), body.clone()),
            true => {
                let chunks = body.as_bytes().chunks(70_001).map(|chunk| {
                    let text = std::str::from_utf8(chunk).unwrap();
                    format!("{:x};ext=1\r\n{text}\r\n", chunk.len())
                });
                let all: String = chunks.collect();
                ("Transfer-Encoding: chunked".to_owned(), all + "0\r\nX-Trailer: y\r\n\r\n")
            }
        };
        let (mut reading, mut writing) = stream.split();
        let text = format!("POST /echo HTTP/1.1\r\nHost: x\r\n{framing}\r\n\r\n{sent}");
        let send = async { writing.write_all(text.as_bytes()).await.unwrap() };
        let receive = async {
            let mut bytes = Vec::new();
            while !bytes.ends_with(&body.as_bytes()[body.len() - 20..]) {
                assert!(soon(reading.read_buf(&mut bytes)).await.unwrap() > 0);
            }
            bytes
        };
        let ((), bytes) = tokio::join!(send, receive);
        let text = String::from_utf8(bytes).unwrap();
        let (head, echoed) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200 OK"), "{head}");
        assert_eq!(echoed.len(), body.len());
        assert_eq!(echoed, body);
    }
}

#[tokio::test]
async fn chunked_responses_reach_clients_of_any_version() {
    let chunked =
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n1\r\n!\r\n0\r\n\r\n";
    let plain = "HTTP/1.1 200 OK\r\n\r\nhello!";
    for script in [Act::Answer(chunked.into()), Act::close(plain)] {
        let backend = Backend::start(script).await;
        let balancer = Running::start(&[backend.address], |_| {}).await;
        let close = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
        let answer = raw(balancer.address, close).await;
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.contains("Transfer-Encoding: chunked") && head.contains("Connection: close"));
        assert!(
            body == "5\r\nhello\r\n1\r\n!\r\n0\r\n\r\n" || body == "6\r\nhello!\r\n0\r\n\r\n",
            "{body}"
        );
        let answer = raw(balancer.address, b"GET / HTTP/1.0\r\n\r\n").await;
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(!head.contains("Transfer-Encoding"), "{head}");
        assert_eq!(body, "hello!");
    }
}

#[tokio::test]
async fn responses_without_bodies_end_with_their_heads() {
    let script = |head: &str| {
        Act::Answer(match head.split(' ').next().unwrap() {
            "HEAD" => b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n".to_vec(),
            "PUT" => b"HTTP/1.1 204 No Content\r\n\r\n".to_vec(),
            _ => b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 304 Not Modified\r\nETag: y\r\n\r\n".to_vec(),
        })
    };
    let backend = Backend::scripted(script).await;
    let balancer = Running::start(&[backend.address], |_| {}).await;
    let text = "HEAD / HTTP/1.1\r\nHost: x\r\n\r\nPUT / HTTP/1.1\r\nHost: x\r\n\r\n\
                GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    let answer = raw(balancer.address, text.as_bytes()).await;
    assert_eq!(
        answer,
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n\
         HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n\
         HTTP/1.1 304 Not Modified\r\nETag: y\r\nConnection: close\r\n\r\n"
    );
}

#[tokio::test]
async fn a_client_may_wait_for_leave_to_send_its_body() {
    let echo = hyper_echo().await;
    let balancer = Running::start(&[echo], |_| {}).await;
    let mut stream = balancer.connect().await;
    let head =
        "POST /echo HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    let (status, _) = response(&mut stream).await;
    assert_eq!(status, 100);
    stream.write_all(b"hello").await.unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"hello") {
        assert!(soon(stream.read_buf(&mut answer)).await.unwrap() > 0);
    }
    assert!(answer.starts_with(b"HTTP/1.1 200 OK"));
}

#[tokio::test]
async fn websockets_pass() {
    let echo = websocket_echo().await;
    let balancer = Running::start(&[echo], |_| {}).await;
    let stream = balancer.connect().await;
    let url = format!("ws://{}/echo", balancer.address);
    let (mut socket, _) = soon(client_async(url, stream)).await.unwrap();
    for size in [1, 100, 1_000_000] {
        let message = Message::text("x".repeat(size));
        socket.send(message.clone()).await.unwrap();
        assert_eq!(soon(socket.next()).await.unwrap().unwrap(), message);
    }
    assert_eq!(balancer.metric("tunnels_total").await, 1.0);
    assert_eq!(balancer.metric("in_flight").await, 1.0);
    soon(socket.close(None)).await.unwrap();
    drop(socket);
    balancer.until_metric("in_flight", 0.0).await;
}

#[tokio::test]
async fn every_policy_forwards() {
    let mut workers = Vec::new();
    for _ in 0..3 {
        let dist = stats::dist::Dist::Constant(0.001);
        workers.push(worker(|options| options.service_time = dist).await);
    }
    for kind in Kind::all() {
        let balancer = Running::start(&workers, |options| options.policy = kind).await;
        let mut stream = balancer.connect().await;
        for _ in 0..20 {
            stream.write_all(b"GET /work HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
            let mut bytes = Vec::new();
            while !bytes.ends_with(b"}") {
                assert!(soon(stream.read_buf(&mut bytes)).await.unwrap() > 0);
            }
            assert!(bytes.starts_with(b"HTTP/1.1 200 OK"), "{}", kind.name());
        }
        balancer.until_metric("in_flight", 0.0).await;
        if kind == Kind::Prequal {
            assert!(balancer.metric("probes_total").await > 0.0);
        }
    }
}

#[tokio::test]
async fn a_field_can_identify_clients() {
    let mut backends = Vec::new();
    for name in ["a", "b", "c", "d"] {
        backends.push(Backend::start(Act::ok(name)).await);
    }
    let addresses: Vec<SocketAddr> = backends.iter().map(|backend| backend.address).collect();
    let balancer = Running::start(&addresses, |options| {
        options.policy = Kind::SourceHash;
        options.hash_field = Some("X-User".to_owned());
    })
    .await;
    let mut stream = balancer.connect().await;
    let mut places = std::collections::HashMap::new();
    for user in (0..50).chain(0..50) {
        let text = format!("GET / HTTP/1.1\r\nHost: x\r\nX-User: u{user}\r\n\r\n");
        stream.write_all(text.as_bytes()).await.unwrap();
        let (_, place) = response(&mut stream).await;
        assert_eq!(places.entry(user).or_insert_with(|| place.clone()), &place);
    }
    let used: std::collections::HashSet<_> = places.values().collect();
    assert_eq!(used.len(), 4);
}

#[tokio::test]
async fn requests_are_logged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("access.log");
    let backend = Backend::start(Act::ok("hello")).await;
    let balancer = Running::start(&[backend.address], |options| {
        options.access_log = Some(path.clone());
        options.log_format = LogFormat::Json;
    })
    .await;
    let mut stream = balancer.connect().await;
    request(&mut stream, "GET", "/a?b").await;
    drop(stream);
    soon(balancer.stop()).await.unwrap().unwrap();
    let line: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    assert_eq!(
        (&line["uri"], &line["status"], &line["bytes"]),
        (&"/a?b".into(), &200.into(), &5.into())
    );
    assert_eq!(line["backend"], backend.address.to_string());
}

#[tokio::test]
async fn a_stop_waits_for_requests() {
    let dist = stats::dist::Dist::Constant(0.3);
    let worker = worker(|options| {
        options.service_time = dist;
        options.name = "stopping".to_owned();
    })
    .await;
    let balancer = Running::start(&[worker], |_| {}).await;
    let address = balancer.address;
    let working = tokio::spawn(async move { get(address, "/work").await });
    let idle = balancer.connect().await;
    balancer.until_metric("in_flight", 1.0).await;
    let stopped = balancer.stop();
    assert_eq!(soon(working).await.unwrap().0, 200);
    soon(stopped).await.unwrap().unwrap();
    // Idle ones are closed, and no new ones are accepted.
    let mut idle: TcpStream = idle;
    assert_eq!(soon(idle.read(&mut [0])).await.unwrap(), 0);
    if let Ok(mut stream) = TcpStream::connect(address).await {
        // A server of another test has the port now.
        let get = b"GET /work HTTP/1.0\r\nHost: x\r\n\r\n";
        let mut answer = Vec::new();
        let reading = async {
            stream.write_all(get).await?;
            stream.read_to_end(&mut answer).await
        };
        drop(tokio::time::timeout(Duration::from_secs(1), reading).await);
        assert!(!String::from_utf8_lossy(&answer).contains("stopping"));
    }
}

#[tokio::test]
async fn a_client_that_leaves_frees_its_backend() {
    let backend = Backend::start(Act::Wait).await;
    let balancer = Running::start(&[backend.address], |_| {}).await;
    let mut stream = balancer.connect().await;
    stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    balancer.until_metric("in_flight", 1.0).await;
    drop(stream);
    balancer.until_metric("in_flight", 0.0).await;
    assert_eq!(balancer.metric("client_gone_total").await, 1.0);
}

#[tokio::test]
async fn a_client_that_does_not_read_is_bounded() {
    let body = "x".repeat(64 << 20);
    let backend = Backend::start(Act::ok(&body)).await;
    let balancer = Running::start(&[backend.address], |options| {
        options.timeouts.stall = Duration::from_millis(300);
    })
    .await;
    let mut stream = balancer.connect().await;
    stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    balancer.until_metric("connections_timed_out_total", 1.0).await;
    assert_eq!(balancer.metric("in_flight").await, 0.0);
}
