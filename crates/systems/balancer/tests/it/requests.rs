//! Which requests are forwarded, and how; none of these backends is ever shown what is refused.

use std::net::IpAddr;
use std::time::Duration;

use balancer::http::{Framing, HeadSearch, RequestHead, read_request};
use testkit::http::{raw, soon};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::support::{Act, Backend, Running};

const CLIENT: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 1, 2, 3));

fn read(text: &str) -> RequestHead {
    let head = read_request(text.as_bytes(), CLIENT, HeadSearch::default());
    head.unwrap().expect("the head is complete")
}

/// Requests that two readers could understand differently, or that have no meaning; and their answers.
const REFUSED: &[(&str, u16, &str)] = &[
    (
        "both lengths",
        400,
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /evil HTTP/1.1\r\nHost: x\r\n\r\n",
    ),
    (
        "both lengths, the other way",
        400,
        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
    ),
    (
        "two lengths",
        400,
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
    ),
    (
        "the same length twice",
        400,
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
    ),
    ("a list of lengths", 400, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5, 5\r\n\r\nhello"),
    ("a signed length", 400, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: +5\r\n\r\nhello"),
    ("a hexadecimal length", 400, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0x5\r\n\r\nhello"),
    ("an empty length", 400, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length:\r\n\r\n"),
    (
        "a length beyond all numbers",
        400,
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n",
    ),
    ("a negative length", 400, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n"),
    (
        "two codings",
        400,
        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
    ),
    (
        "a list of codings",
        501,
        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    ),
    (
        "chunked twice",
        501,
        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
    ),
    (
        "a coding like chunked",
        501,
        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    ),
    (
        "chunked in quotes",
        501,
        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: \"chunked\"\r\n\r\n0\r\n\r\n",
    ),
    (
        "chunked with a vertical tab",
        400,
        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n",
    ),
    ("chunked in HTTP/1.0", 400, "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    (
        "a space before the colon",
        400,
        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
    ),
    ("a line that is continued", 400, "GET / HTTP/1.1\r\nHost: x\r\nX: a\r\n b\r\n\r\n"),
    (
        "a coding on a continued line",
        400,
        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n",
    ),
    ("a first line that begins with a space", 400, "GET / HTTP/1.1\r\n Host: x\r\n\r\n"),
    ("a line feed alone", 400, "GET / HTTP/1.1\r\nHost: x\nX: y\r\n\r\n"),
    ("line feeds alone", 400, "GET / HTTP/1.1\nHost: x\n\n"),
    (
        "a carriage return in a value",
        400,
        "GET / HTTP/1.1\r\nHost: x\r\nX: a\rTransfer-Encoding: chunked\r\n\r\n",
    ),
    ("a null", 400, "GET / HTTP/1.1\r\nHost: x\r\nX: a\0b\r\n\r\n"),
    ("a field without a colon", 400, "GET / HTTP/1.1\r\nHost: x\r\nX\r\n\r\n"),
    ("a field without a name", 400, "GET / HTTP/1.1\r\nHost: x\r\n: y\r\n\r\n"),
    ("no host", 400, "GET / HTTP/1.1\r\n\r\n"),
    ("two hosts", 400, "GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n"),
    ("another host in the target", 400, "GET http://y/ HTTP/1.1\r\nHost: x\r\n\r\n"),
    ("a target that is no path", 400, "GET evil HTTP/1.1\r\nHost: x\r\n\r\n"),
    ("a tunnel", 405, "CONNECT x:80 HTTP/1.1\r\nHost: x:80\r\n\r\n"),
    ("another version", 505, "GET / HTTP/2.0\r\nHost: x\r\n\r\n"),
    ("no version", 400, "GET /\r\n\r\n"),
    ("two spaces", 400, "GET  / HTTP/1.1\r\nHost: x\r\n\r\n"),
    ("no request", 400, "\x16\x03\x01\x02\x00\x01\x00"),
    (
        "an upgrade with a body",
        400,
        "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 3\r\n\r\nabc",
    ),
    (
        "a chunk without its size",
        400,
        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nhello\r\n0\r\n\r\n",
    ),
];

#[tokio::test]
async fn ambiguous_requests_are_refused() {
    let backend = Backend::start(Act::ok("reached")).await;
    let balancer = Running::start(&[backend.address], |_| {}).await;
    for (name, status, text) in REFUSED {
        let answer = raw(balancer.address, text.as_bytes()).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{name}: {answer}");
        assert!(answer.contains("\r\nConnection: close\r\n"), "{name}: {answer}");
        // What stood behind it was not taken for a request.
        let heads = answer.lines().filter(|line| line.starts_with("HTTP/1.1 "));
        assert_eq!(heads.count(), 1, "{name}: {answer}");
        assert!(!answer.contains("reached"), "{name}: {answer}");
    }
    // The one whose head is good got as far as its head.
    let heads = backend.heads();
    assert!(heads.len() <= 1, "{heads:?}");
    assert_eq!(balancer.metric("in_flight").await, 0.0);
}

#[test]
fn heads_are_rewritten_for_the_backend() {
    let head = read(
        "GET /a?b HTTP/1.1\r\nHost: x\r\nConnection: keep-alive, X-Own, Host\r\nX-Own: 1\r\n\
         Keep-Alive: timeout=5\r\nTE: trailers\r\nTrailer: X\r\nProxy-Connection: close\r\n\
         Upgrade: h2c\r\nX-Forwarded-For: 10.0.0.1\r\nAccept: */*\r\n\r\n",
    );
    assert_eq!(
        String::from_utf8(head.forwarded).unwrap(),
        "GET /a?b HTTP/1.1\r\nHost: x\r\nAccept: */*\r\nX-Forwarded-For: 10.0.0.1, 10.1.2.3\r\n\r\n"
    );
    assert!(head.keep_alive && !head.upgrade && head.framing == Framing::None);
    let head = read("\r\nPOST http://X/a HTTP/1.1\r\nHost: x\r\ncontent-length: 05\r\n\r\nhello");
    assert_eq!(
        String::from_utf8(head.forwarded).unwrap(),
        "POST /a HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 10.1.2.3\r\nContent-Length: 5\r\n\r\n"
    );
    assert!(!head.method.is_idempotent);
    let head = read("GET /a HTTP/1.0\r\n\r\n");
    assert!(!head.keep_alive && !head.is_1_1);
    assert!(head.forwarded.starts_with(b"GET /a HTTP/1.1\r\n"));
    let head = read("GET /a HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n");
    assert!(head.keep_alive);
}

#[test]
fn heads_may_come_in_pieces() {
    let text = b"POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: Chunked\r\n\r\n5\r\n";
    let length = text.len() - 3;
    for end in 0..length {
        assert_eq!(read_request(&text[..end], CLIENT, HeadSearch::default()), Ok(None), "{end}");
    }
    let head = read_request(text, CLIENT, HeadSearch::default()).unwrap().unwrap();
    assert_eq!((head.length, head.framing), (length, Framing::Chunked));
}

#[tokio::test]
async fn heads_and_bodies_are_bounded() {
    let backend = Backend::start(Act::ok("")).await;
    let balancer = Running::start(&[backend.address], |options| options.body_max = 1000).await;
    let long = "a".repeat(20_000);
    let many = "X: y\r\n".repeat(101);
    let chunk = "b".repeat(0x3e9);
    for (status, text) in [
        (431, format!("GET /{long} HTTP/1.1\r\nHost: x\r\n\r\n")),
        (431, format!("GET / HTTP/1.1\r\nHost: x\r\nX: {long}")),
        (431, format!("GET / HTTP/1.1\r\nHost: x\r\n{many}\r\n")),
        (413, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1001\r\n\r\n".to_owned()),
        (
            413,
            format!(
                "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n{chunk}\r\n0\r\n\r\n"
            ),
        ),
    ] {
        let answer = raw(balancer.address, text.as_bytes()).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
    }
}

#[tokio::test]
async fn slow_heads_and_bodies_are_given_up() {
    let backend = Backend::start(Act::ok("")).await;
    let balancer = Running::start(&[backend.address], |options| {
        options.timeouts.head = Duration::from_millis(200);
        options.timeouts.stall = Duration::from_millis(200);
    })
    .await;
    for text in
        ["GET / HTTP/1.1\r\nHost:", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhel"]
    {
        let answer = raw(balancer.address, text.as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    }
    // A byte now and then does not keep a head alive.
    let mut stream = balancer.connect().await;
    let (mut reading, mut writing) = stream.split();
    let trickle = async {
        let text = b"GET / HTTP/1.1\r\nHost: x\r\nX: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
        for byte in text {
            if writing.write_all(&[*byte]).await.is_err() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        std::future::pending::<()>().await;
    };
    let mut answer = Vec::new();
    tokio::select! {
        () = trickle => {}
        // It may be reset: the client still sends.
        _ = soon(reading.read_to_end(&mut answer)) => {}
    }
    assert!(answer.starts_with(b"HTTP/1.1 408 "));
    assert_eq!(balancer.metric("connections_timed_out_total").await, 3.0);
}
