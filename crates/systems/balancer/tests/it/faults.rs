//! Backends that break: nobody gets less than a response that claims to be complete, and nothing is sent twice
//! that must not be.

use std::net::SocketAddr;
use std::time::Duration;

use balancer::policy::Kind;
use testkit::http::{get, raw, soon};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::time::Instant;

use crate::support::{Act, Backend, Running, request, response};

/// An address at which nobody listens.
async fn nowhere() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    listener.local_addr().unwrap()
}

#[tokio::test]
async fn a_response_that_breaks_off_is_broken_for_the_client() {
    for (sent, claimed) in [
        ("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello", "hello"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", "5\r\nhello\r\n"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nhello", "9\r\nhello"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nf", "5\r\nhello\r\n"),
    ] {
        let backend = Backend::start(Act::close(sent)).await;
        let balancer = Running::start(&[backend.address], |options| options.retries = 3).await;
        let answer = raw(balancer.address, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await;
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200 OK"), "{answer}");
        assert_eq!(body, claimed);
        // It is not retried: the client has a part of it.
        assert_eq!(backend.heads().len(), 1);
        assert_eq!(balancer.metric("truncated_total").await, 1.0);
    }
}

#[tokio::test]
async fn a_response_that_is_malformed_from_the_start_is_not_begun() {
    let sent = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\noops\r\n";
    let backend = Backend::start(Act::close(sent)).await;
    let balancer = Running::start(&[backend.address], |options| options.retries = 3).await;
    assert_eq!(get(balancer.address, "/").await.0, 502);
    // There is no other backend to retry on.
    assert_eq!(backend.heads().len(), 1);
    assert_eq!(balancer.metric("truncated_total").await, 0.0);
}

#[tokio::test]
async fn a_client_of_http_1_0_sees_the_break_as_a_reset() {
    let sent = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n";
    let backend = Backend::start(Act::close(sent)).await;
    let balancer = Running::start(&[backend.address], |_| {}).await;
    let mut stream = balancer.connect().await;
    stream.write_all(b"GET / HTTP/1.0\r\n\r\n").await.unwrap();
    let mut answer = Vec::new();
    let error = soon(stream.read_to_end(&mut answer)).await.unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
}

#[tokio::test]
async fn what_is_not_idempotent_is_sent_once() {
    let breaking = [
        Backend::start(Act::close("")).await,
        Backend::start(Act::close("")).await,
        Backend::start(Act::close("")).await,
    ];
    let addresses = breaking.each_ref().map(|backend| backend.address);
    let balancer = Running::start(&addresses, |options| {
        options.retries = 2;
        options.retry_budget = 1.0;
    })
    .await;
    let heads = || breaking.iter().map(|backend| backend.heads().len()).sum::<usize>();
    let post = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi";
    assert!(raw(balancer.address, post).await.starts_with("HTTP/1.1 502 "));
    assert_eq!(heads(), 1);
    let patch = b"PATCH / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    assert!(raw(balancer.address, patch).await.starts_with("HTTP/1.1 502 "));
    assert_eq!(heads(), 2);
    // A body is used up by the first attempt.
    let put = b"PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi";
    assert!(raw(balancer.address, put).await.starts_with("HTTP/1.1 502 "));
    assert_eq!(heads(), 3);
    assert_eq!(get(balancer.address, "/").await.0, 502);
    assert_eq!(heads(), 6);
    assert_eq!(balancer.metric("retries_total").await, 2.0);
}

#[tokio::test]
async fn without_retries_a_request_is_sent_once() {
    let breaking = [Backend::start(Act::close("")).await, Backend::start(Act::close("")).await];
    let addresses = breaking.each_ref().map(|backend| backend.address);
    let balancer = Running::start(&addresses, |_| {}).await;
    assert_eq!(get(balancer.address, "/").await.0, 502);
    assert_eq!(breaking.iter().map(|backend| backend.heads().len()).sum::<usize>(), 1);
}

#[tokio::test]
async fn retries_end_with_their_budget() {
    let bad = Backend::start(Act::close("HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n")).await;
    let good = Backend::start(Act::ok("ok")).await;
    let balancer = Running::start(&[bad.address, good.address], |options| {
        options.retries = 1;
        options.retry_budget = 0.0;
    })
    .await;
    // Ten are saved up at the start. Every other request meets the bad one; a retry takes the turn of the good one.
    let mut statuses = Vec::new();
    for _ in 0..40 {
        statuses.push(get(balancer.address, "/").await.0);
    }
    assert_eq!(balancer.metric("retries_total").await, 10.0);
    assert!(balancer.metric("retries_denied_total").await > 0.0);
    assert_eq!(statuses[0], 200);
    assert!(statuses.contains(&503), "{statuses:?}");
}

#[tokio::test]
async fn a_connection_that_went_stale_costs_no_request() {
    // It keeps the connection by its words, and closes it.
    let backend =
        Backend::start(Act::close("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")).await;
    let balancer = Running::start(&[backend.address], |_| {}).await;
    let mut stream = balancer.connect().await;
    for number in 0..50 {
        let method = ["GET", "POST"][number % 2];
        // The kernel has the end before the next request, as this waits for it.
        tokio::time::sleep(Duration::from_millis(2)).await;
        assert_eq!(request(&mut stream, method, "/").await.0, 200, "{number}");
    }
    assert_eq!(backend.heads().len(), 50);
}

#[tokio::test]
async fn malformed_responses_are_not_passed_on() {
    for sent in [
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
        "HTTP/1.1 200 OK\nContent-Length: 5\n\nhello",
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
        "hello",
    ] {
        let backend = Backend::start(Act::close(sent)).await;
        let balancer = Running::start(&[backend.address], |_| {}).await;
        assert_eq!(get(balancer.address, "/").await.0, 502, "{sent}");
    }
}

#[tokio::test]
async fn bytes_that_nobody_requested_end_a_connection() {
    // A second response, which the next client must not get.
    let two = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok\
               HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil";
    let backend = Backend::start(Act::Answer(two.into())).await;
    let balancer = Running::start(&[backend.address], |_| {}).await;
    for _ in 0..3 {
        assert_eq!(get(balancer.address, "/").await, (200, "ok".to_owned()));
    }
    assert_eq!(backend.connections(), 3);
}

#[tokio::test]
async fn a_backend_that_is_silent_is_given_up() {
    let backend = Backend::start(Act::Wait).await;
    let balancer = Running::start(&[backend.address], |options| {
        options.timeouts.response = Duration::from_millis(100);
    })
    .await;
    assert_eq!(get(balancer.address, "/").await.0, 504);
    assert_eq!(balancer.metric("timeouts_total").await, 1.0);
}

#[tokio::test]
async fn a_silent_backend_has_its_time_once_after_a_late_body() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let limit = Duration::from_secs(2);
    let balancer = Running::start(&[silent.local_addr().unwrap()], |options| {
        options.timeouts.response = limit;
    })
    .await;
    let mut client = balancer.connect().await;
    let head = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n";
    client.write_all(head).await.unwrap();
    let (mut backend, _) = soon(silent.accept()).await.unwrap();
    // The head is there, and the balancer waits for a response.
    assert!(soon(backend.read(&mut [0; 1024])).await.unwrap() > 0);
    // The body comes apart from it.
    tokio::time::sleep(Duration::from_millis(100)).await;
    let sent = Instant::now();
    client.write_all(b"hi").await.unwrap();
    assert_eq!(response(&mut client).await.0, 504);
    let took = sent.elapsed();
    assert!(took >= limit && took < limit * 9 / 5, "{took:?}");
}

#[tokio::test]
async fn idle_connections_to_backends_are_closed() {
    let backend = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let balancer = Running::start(&[backend.local_addr().unwrap()], |options| {
        options.timeouts.idle = Duration::from_millis(300);
    })
    .await;
    let mut client = balancer.connect().await;
    client.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    let (mut stream, _) = soon(backend.accept()).await.unwrap();
    let mut buffer = [0; 1024];
    assert!(soon(stream.read(&mut buffer)).await.unwrap() > 0);
    let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    stream.write_all(answer).await.unwrap();
    assert_eq!(response(&mut client).await.0, 200);
    assert_eq!(soon(stream.read(&mut buffer)).await.unwrap(), 0);
}

#[tokio::test]
async fn backends_that_fail_are_ejected() {
    let error = "HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n";
    let failing = Backend::start(Act::Answer(error.into())).await;
    let good = [Backend::start(Act::ok("ok")).await, Backend::start(Act::ok("ok")).await];
    let addresses = [failing.address, good[0].address, nowhere().await, good[1].address];
    let balancer = Running::start(&addresses, |options| {
        options.policy = Kind::RoundRobin;
        options.health.eject_after = 3;
        options.health.eject_for = Duration::from_secs(600);
    })
    .await;
    let mut statuses = Vec::new();
    for _ in 0..40 {
        statuses.push(get(balancer.address, "/").await.0);
    }
    let count = |status| statuses.iter().filter(|other| **other == status).count();
    // Three of each until both are out.
    assert_eq!((count(500), count(502), count(200)), (3, 3, 34));
    assert_eq!(balancer.metric("backends_up").await, 2.0);
    assert_eq!(balancer.metric("ejections_total").await, 2.0);
    let (_, listed) = get(balancer.metrics, "/backends").await;
    assert!(listed.contains("\"ejected\":true"), "{listed}");
}

#[tokio::test]
async fn active_checks_find_what_is_down() {
    let good = Backend::start(Act::ok("ok")).await;
    let sick = Backend::scripted(|head| match head.contains(" /healthz ") {
        true => Act::close("HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n"),
        false => Act::ok("sick"),
    })
    .await;
    let balancer = Running::start(&[good.address, sick.address], |options| {
        options.health.path = Some("/healthz".to_owned());
        options.health.every = Duration::from_millis(20);
    })
    .await;
    balancer.until_metric("backends_up", 1.0).await;
    for _ in 0..10 {
        assert_eq!(get(balancer.address, "/").await, (200, "ok".to_owned()));
    }
}

#[tokio::test]
async fn limits_of_backends_hold() {
    let backend = Backend::start(Act::Wait).await;
    let listed = balancer::Source::Listed(vec![format!("http://{} limit=1", backend.address)]);
    let balancer = Running::start(&[], |options| options.backends = listed).await;
    let mut stream = balancer.connect().await;
    stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    balancer.until_metric("in_flight", 1.0).await;
    assert_eq!(get(balancer.address, "/").await.0, 503);
    assert_eq!(balancer.metric("requests_unplaced_total").await, 1.0);
}
