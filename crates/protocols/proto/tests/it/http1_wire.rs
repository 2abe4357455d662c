//! Responses as bytes, and the events expected of them.

use crate::http1_pieces::{Outcome, read};
use proto::Limits;
use proto::http1::{Decoder, Error, Event, Heads, INTERIM_COUNT_MAX};

/// Reads one response to a GET, all at once, and the close of the connection after it.
fn get(wire: &str) -> Outcome {
    read(false, &Limits::DEFAULT, &[wire.as_bytes()])
}

#[track_caller]
fn check(outcome: &Outcome, status: u16, body: &str, keep_alive: bool) {
    assert_eq!(outcome.result, Ok(()));
    assert_eq!(outcome.status, Some(status));
    assert_eq!(String::from_utf8_lossy(&outcome.body), body);
    assert_eq!(outcome.keep_alive, keep_alive);
    assert_eq!(outcome.left, b"");
}

#[test]
fn content_length() {
    check(&get("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"), 200, "hello", true);
    check(&get("HTTP/1.1 404 No\r\ncontent-length: 0\r\n\r\n"), 404, "", true);
    check(&get("HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\n\r\nhi"), 200, "hi", true);
}

#[test]
fn chunked() {
    check(
        &get("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
            4\r\nWiki\r\n7;a=\"b;c\"\r\npedia i\r\n00b \r\nn \r\nchunks.\r\n0\r\n\r\n"),
        200,
        "Wikipedia in \r\nchunks.",
        true,
    );
    let trailers = "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, Chunked\r\n\r\n\
        1\r\nx\r\n0;last\r\nExpires: Wed, 21 Oct 2015 07:28:00 GMT\r\nB: c\r\n\r\n";
    check(&get(trailers), 200, "x", true);
    let folded = trailers.replace("B: c", "B: c\r\n d\r\n\te");
    check(&get(&folded), 200, "x", true);
}

#[test]
fn chunked_wins_over_a_length_but_ends_the_connection() {
    let wire = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n\
        5\r\nhello\r\n0\r\n\r\n";
    check(&get(wire), 200, "hello", false);
}

#[test]
fn ended_by_the_connection() {
    check(&get("HTTP/1.1 200 OK\r\n\r\nto the end"), 200, "to the end", false);
    check(&get("HTTP/1.0 200 OK\r\n\r\n"), 200, "", false);
    check(&get("HTTP/1.1 200 OK\r\ntransfer-encoding: gzip\r\n\r\nzzz"), 200, "zzz", false);
}

#[test]
fn no_body_whatever_the_headers_say() {
    check(&get("HTTP/1.1 204 No Content\r\ntransfer-encoding: chunked\r\n\r\n"), 204, "", true);
    check(&get("HTTP/1.1 304 Not Modified\r\nContent-Length: 99\r\n\r\n"), 304, "", true);
    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n";
    check(&read(true, &Limits::DEFAULT, &[head]), 200, "", true);
}

#[test]
fn interim_responses_are_skipped() {
    let wire = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n\
        HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx";
    check(&get(wire), 200, "x", true);
    let wire = "HTTP/1.1 100 Continue\r\n\r\n".repeat(usize::from(INTERIM_COUNT_MAX) + 1);
    assert_eq!(get(&wire).result, Err(Error::TooManyInterim));
}

#[test]
fn an_upgrade_leaves_the_bytes_that_follow_it() {
    let outcome = get("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n\x01\x02");
    assert_eq!(outcome.result, Ok(()));
    assert_eq!((outcome.status, outcome.keep_alive), (Some(101), false));
    assert_eq!(outcome.left, b"\x01\x02");
}

#[test]
fn pipelined_responses_come_one_by_one() {
    let mut input = &b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nab\
        HTTP/1.1 201 Created\r\ncontent-length: 1\r\n\r\nc"[..];
    let mut decoder = Decoder::new();
    let mut heads = Heads::new(Limits::DEFAULT);
    for (status, body) in [(200, &b"ab"[..]), (201, b"c")] {
        decoder.begin(false);
        let (len, whole) = decoder.decode_whole(input, &mut heads).unwrap().unwrap();
        assert_eq!((whole.head.status, whole.body), (status, body));
        assert!(decoder.is_idle() && decoder.keep_alive());
        input = &input[len..];
    }
    assert!(input.is_empty());
}

#[test]
fn decode_whole_changes_nothing_unless_all_is_there() {
    let wire = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nab";
    let mut decoder = Decoder::new();
    let mut heads = Heads::new(Limits::DEFAULT);
    decoder.begin(false);
    for len in 0..wire.len() {
        assert_eq!(decoder.decode_whole(&wire[..len], &mut heads), Ok(None));
    }
    let (len, whole) = decoder.decode_whole(wire, &mut heads).unwrap().unwrap();
    assert_eq!((len, whole.body), (wire.len(), &b"ab"[..]));
    for other in ["HTTP/1.1 200\r\n\r\n", "HTTP/1.1 200\r\ntransfer-encoding: chunked\r\n\r\n0"] {
        decoder.begin(false);
        assert_eq!(decoder.decode_whole(other.as_bytes(), &mut heads), Ok(None));
        let decoded = decoder.decode(other.as_bytes(), &Limits::DEFAULT);
        assert!(matches!(decoded, Ok((_, Some(Event::Head(_))))));
        decoder = Decoder::new();
    }
}

#[test]
fn closed_too_early() {
    for (wire, error) in [
        ("", Error::ClosedBeforeHead),
        ("HTTP/1.1 2", Error::ClosedInHead),
        ("HTTP/1.1 100\r\n\r\n", Error::ClosedInHead),
        ("HTTP/1.1 200\r\ncontent-length: 5\r\n\r\nhell", Error::ClosedInBody),
        ("HTTP/1.1 200\r\ntransfer-encoding: chunked\r\n\r\n", Error::ClosedInBody),
        ("HTTP/1.1 200\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello", Error::ClosedInBody),
        ("HTTP/1.1 200\r\ntransfer-encoding: chunked\r\n\r\n0\r\n", Error::ClosedInBody),
    ] {
        assert_eq!(get(wire).result, Err(error), "{wire:?}");
        assert!(error.is_closed() && !error.is_too_large());
    }
    let mut idle = Decoder::new();
    assert_eq!(idle.finish(), Ok(false));
}

#[test]
fn bytes_that_answer_nothing_are_refused() {
    let mut decoder = Decoder::new();
    assert_eq!(decoder.decode(b"", &Limits::DEFAULT), Ok((0, None)));
    assert_eq!(decoder.decode(b"H", &Limits::DEFAULT), Err(Error::Unsolicited));
}

#[test]
fn broken_chunks() {
    let head = "HTTP/1.1 200\r\ntransfer-encoding: chunked\r\n\r\n";
    for (body, error) in [
        ("x\r\n", Error::BadChunkSize),
        ("5\r\nhello!", Error::BadChunkEnd),
        ("5\r\nhello\n", Error::BadChunkEnd),
        ("0\r\nno trailer\r\n\r\n", Error::BadHeader),
        ("0\r\na: \x01\r\n\r\n", Error::ControlByte),
        ("11111111111111111\r\n", Error::BadChunkSize),
    ] {
        assert_eq!(get(&format!("{head}{body}")).result, Err(error), "{body:?}");
    }
}

#[test]
fn limits() {
    let limits = Limits {
        head_bytes_max: 64,
        headers_count_max: 2,
        body_bytes_max: 4,
        message_bytes_max: 0,
    };
    let body = Error::BodyTooLarge { bytes_max: 4 };
    let chunked = "HTTP/1.1 200\r\ntransfer-encoding: chunked\r\n\r\n";
    for (wire, error) in [
        ("HTTP/1.1 200\r\ncontent-length: 5\r\n\r\n", body),
        ("HTTP/1.1 200\r\n\r\nhello", body),
        (&format!("{chunked}5\r\n"), body),
        (&format!("{chunked}3\r\nabc\r\n2\r\n"), body),
        (&format!("{chunked}1\r\na\r\nffffffffffffffff\r\n"), body),
        (&format!("{chunked}0;{}", "x".repeat(5000)), Error::ChunkLineTooLarge),
        (
            &format!("{chunked}0\r\n{}", "a: b\r\n".repeat(11)),
            Error::TrailersTooLarge { bytes_max: 64 },
        ),
        (
            &format!("{chunked}0\r\na: {}", "b".repeat(62)),
            Error::TrailersTooLarge { bytes_max: 64 },
        ),
        (&format!("HTTP/1.1 200\r\na: {}", "b".repeat(64)), Error::HeadTooLarge { bytes_max: 64 }),
        ("HTTP/1.1 200\r\na: b\r\nc: d\r\ne: f\r\n\r\n", Error::TooManyHeaders { count_max: 2 }),
    ] {
        for pieces in [vec![wire.as_bytes()], wire.as_bytes().chunks(1).collect()] {
            assert_eq!(read(false, &limits, &pieces).result, Err(error), "{wire:?}");
        }
        assert!(error.is_too_large() && !error.is_closed());
    }
    let exact = format!("{chunked}3\r\nabc\r\n1\r\nd\r\n0\r\n\r\n");
    assert_eq!(read(false, &limits, &[exact.as_bytes()]).result, Ok(()));
}
