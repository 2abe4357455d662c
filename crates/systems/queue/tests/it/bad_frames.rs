//! Clients that break the rules, leave, or do not read.

use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::time::Duration;

use testkit::queue_client::*;

use crate::support::{Queue, free_address, on_each_store, pause, small};

#[test]
fn an_empty_payload_is_an_echo_or_malformed() {
    let queue = Queue::start(small());
    let mut client = queue.client();
    for kind in [CREATE, DELETE, SEND, PEEK, POP, QUEUES, MESSAGES] {
        client.write(&frame(kind, b"")).unwrap();
        assert_eq!(client.refusal(kind), MALFORMED);
    }
    assert_eq!(client.echo(b"").unwrap(), b"");
}

#[test]
fn unknown_types_are_skipped() {
    let queue = Queue::start(small());
    let mut client = queue.client();
    for kind in [0, 9, 0x81, 0xff] {
        client.write(&frame(kind, b"whatever")).unwrap();
        assert_eq!(client.refusal(kind), UNKNOWN_TYPE);
    }
    assert_eq!(client.echo(b"still here").unwrap(), b"still here");
}

#[test]
fn payloads_beyond_the_limit_end_the_connection() {
    let mut options = small();
    options.payload_max = 300;
    let queue = Queue::start(options);
    let longest = vec![b'x'; 300];
    assert_eq!(queue.client().echo(&longest).unwrap(), longest);
    for length in [301_u32, 1 << 31, u32::MAX] {
        let mut client = queue.client();
        client.write(&frame(ECHO, b"before")).unwrap();
        client.write(&length.to_be_bytes()).unwrap();
        client.write(&[SEND]).unwrap();
        // Who goes on sending still gets the error.
        client.write(&[0; 1_000]).unwrap();
        assert_eq!(client.answer(ECHO).unwrap(), b"before");
        assert_eq!(client.refusal(SEND), TOO_LARGE);
        client.expect_end();
    }
}

#[test]
fn half_a_frame_times_out() {
    let mut options = small();
    options.frame_timeout = Duration::from_millis(50);
    let queue = Queue::start(options);
    for half in [&b"\0"[..], &frame(ECHO, b"text")[..8]] {
        let mut client = queue.client();
        client.write(half).unwrap();
        assert_eq!(client.refusal(0), TIMEOUT);
        client.expect_end();
    }
    // Who sends nothing may do so for ever.
    let mut idle = queue.client();
    assert_eq!(idle.echo(b"1").unwrap(), b"1");
    pause(150);
    assert_eq!(idle.echo(b"2").unwrap(), b"2");
}

#[test]
fn texts_with_nul_or_without_utf8_are_refused() {
    for options in on_each_store(&small()) {
        let queue = Queue::start(options);
        let mut client = queue.client();
        let id = client.create(1).unwrap();
        for text in [&b"a\0b"[..], b"a\xffb", &"ü".as_bytes()[..1]] {
            let payload = [&fields(&[id, 1, 0], "")[..], text].concat();
            let failure = client.request(SEND, &payload).unwrap_err();
            assert_eq!(failure.code(), Some(TEXT));
            // An echo may be any bytes.
            assert_eq!(client.echo(text).unwrap(), text);
        }
        assert_eq!(client.peek(id, 1).unwrap(), None);
    }
}

#[test]
fn a_refused_connection_gets_a_trailer_too() {
    let mut options = small();
    options.connections_max = 1;
    options.timing = true;
    let queue = Queue::start(options);
    let mut first = queue.client();
    first.echo(b"1").unwrap();
    let (kind, payload) = queue.client().read().unwrap();
    assert_eq!((kind, &payload[..3]), (0xff, &[0, 0, 10][..]));
    assert_eq!(payload[payload.len() - 16..], [0; 16]);
}

#[test]
fn one_connection_too_many_is_refused() {
    let mut options = small();
    options.connections_max = 2;
    let queue = Queue::start(options);
    let mut first = queue.client();
    let mut second = queue.client();
    first.echo(b"1").unwrap();
    second.echo(b"2").unwrap();
    let mut third = queue.client();
    assert_eq!(third.refusal(0), CONNECTIONS);
    third.expect_end();
    drop(first);
    // The server notices a little later that there is room.
    let echoed = (0..1_000).find_map(|_| queue.client().echo(b"3").ok());
    assert_eq!(echoed.unwrap(), b"3");
}

#[test]
fn a_client_that_does_not_read_is_disconnected() {
    let mut options = small();
    options.write_timeout = Duration::from_millis(100);
    let metrics = free_address();
    options.metrics = Some(metrics);
    let queue = Queue::start(options);
    let mut client = queue.client();
    let bytes = frame(ECHO, &vec![b'x'; 60_000]);
    // The kernel holds some of it; then the server stops reading, and at last resets the connection.
    let error = loop {
        match client.stream.write_all(&bytes) {
            Ok(()) => {}
            Err(error) => break error,
        }
    };
    let reset = [ErrorKind::ConnectionReset, ErrorKind::BrokenPipe];
    assert!(reset.contains(&error.kind()), "{error}");
    assert_eq!(queue.client().echo(b"next").unwrap(), b"next");
    let page = crate::support::page(metrics, "/metrics");
    assert!(page.contains("\nqueue_slow_disconnects_total 1\n"), "{page}");
}

#[test]
fn clients_that_leave_in_the_middle_do_no_harm() {
    let queue = Queue::start(small());
    for cut in 0..9 {
        let mut client = queue.client();
        client.write(&frame(ECHO, b"text")[..cut]).unwrap();
        if cut % 2 == 0 {
            client.stream.shutdown(Shutdown::Both).unwrap();
        }
    }
    // Who sends no more gets all answers.
    let mut client = queue.client();
    let id = client.create(1).unwrap();
    client.write(&frame(ECHO, b"1")).unwrap();
    client.write(&frame(SEND, &fields(&[id, 1, 0], "text"))).unwrap();
    client.write(&frame(POP, &fields(&[id, 1, 60_000], ""))).unwrap();
    client.write(&frame(POP, &fields(&[id, 1, 60_000], ""))).unwrap();
    client.stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!(client.answer(ECHO).unwrap(), b"1");
    client.answer(SEND).unwrap();
    assert_eq!(client.answer(POP).unwrap()[28..], *b"text");
    assert_eq!(client.answer(POP).unwrap(), [0; 28]);
    client.expect_end();
}

#[test]
fn a_stop_answers_what_was_begun() {
    let mut queue = Queue::start(small());
    let mut idle = queue.client();
    let mut waiting = queue.client();
    let id = idle.create(1).unwrap();
    waiting.write(&frame(ECHO, b"here")).unwrap();
    waiting.write(&frame(POP, &fields(&[id, 1, 60_000], ""))).unwrap();
    assert_eq!(waiting.answer(ECHO).unwrap(), b"here");
    queue.begin_stop();
    // It may be stopped before it began to wait.
    match waiting.answer(POP) {
        Ok(popped) => assert_eq!(popped, [0; 28]),
        Err(failure) => assert_eq!(failure.code(), Some(STOPPING)),
    }
    assert_eq!(waiting.stream.read(&mut [0; 8]).unwrap(), 0);
    idle.expect_end();
    let report = queue.stop();
    assert_eq!(report.connections, 2);
    assert!(report.done >= 2, "{report:?}");
}
