//! Pieces that are taken, and those that are not.

use nkeys::KeyPair;

use super::*;
use crate::spool::Owner;
use crate::stream;
use crate::testing::{Server, private_directory, wait_until};

#[test]
fn bytes_are_taken_once_and_in_order() {
    let mut state = State::default();
    for (position, bytes) in [(0, "ab"), (0, "ab"), (0, "abc"), (1, "b"), (2, "cd")] {
        assert!(state.take(&piece(position, bytes.as_bytes())));
    }
    assert!(!state.take(&piece(5, b"x")), "one is missing");
    assert!(!state.take(&piece(ABORT - 1, b"x")));
    assert_eq!(state.incoming.make_contiguous(), b"abcd");
    assert_eq!(state.received, 4);
    state.take(&piece(2, b""));
    assert!(!state.ended, "an end before the end");
    state.take(&piece(4, b""));
    assert!(state.ended && state.failed.is_none());
    // What comes behind the end changes nothing.
    state.take(&piece(ABORT, b"late"));
    assert_eq!(state.failed, None);
}

#[test]
fn another_controller_begins_at_its_term() {
    let mut state = State { has_terms: true, ..State::default() };
    let second = Term(7).start();
    for (position, bytes) in [(0, "ab"), (second, "cd"), (2, "late"), (second + 1, "de")] {
        assert!(state.take(&piece(position, bytes.as_bytes())));
    }
    assert_eq!(state.incoming.make_contiguous(), b"abcde");
    assert!(!state.take(&piece(Term(8).start() + 1, b"x")), "its first is missing");
    // A worker has no terms: it may report more than that.
    let mut worker = State::default();
    assert!(!worker.take(&piece(second, b"cd")));
}

#[test]
fn what_cannot_be_is_an_error_and_no_panic() {
    for (payload, why) in [
        (&b""[..], "without a position"),
        (b"1234567", "without a position"),
        (&piece(ABORT, b"\xff its process ended"), "its process ended"),
        (&piece(ABORT, &[b'x'; 9_999]), "xxx"),
    ] {
        let mut state = State::default();
        state.take(payload);
        assert_eq!(state.aborted, payload.len() > 8 && payload[..8] == [255; 8]);
        let found = state.failed.unwrap_or_default();
        assert!(found.contains(why) && found.len() <= REASON_BYTES_MAX, "{found}");
        assert!(state.incoming.is_empty());
    }
}

/// What a worker sends, in words of one to seven bytes.
fn words(count: usize) -> Vec<Vec<u8>> {
    let words = (0..count).map(|n| format!("{n}").repeat(1 + n % 2).into_bytes());
    words.collect()
}

/// NATS may deliver a message once more, and late; and it refuses to take one behind a message that its sender does not
/// know.
#[test]
fn messages_that_come_again_and_out_of_order_change_nothing() {
    let Some(server) = Server::start() else {
        return;
    };
    let nats = server.connect();
    let created = stream::create(&nats.jet, "r1", stream::age(Duration::ZERO, Duration::ZERO));
    nats.block(created).unwrap();
    let root = private_directory();
    let owner = Owner { server: "h:1".to_owned(), run: "r1".to_owned(), agent: "a1".to_owned() };
    let spool = Spool::create(root.path(), &owner, 1 << 20).unwrap();
    let kept = Arc::new(StreamContents::lasting(Duration::ZERO));
    let keys = RunKeys::default();
    let worker = NatsCarrier::of_worker(&nats, &Ways::of_agent("r1", "a1"), &keys, spool, &kept);
    let received = CarrierState::new(Log::Memory(Messages::behind(0)));
    let ways = Ways::of_controller("r1", "a1");
    let link = Link::new(&nats, &ways, &keys, &received, None);
    nats.spawn(receiving::receive_all(link));
    let words = words(120);
    worker.send(b"first").unwrap();
    wait_until(|| received.state().received == 5);
    for (number, word) in words.iter().enumerate() {
        worker.send(word).unwrap();
        if number % 7 != 3 {
            continue;
        }
        // One of those before, the newest or an older one.
        let back = (number % 3) as u64;
        let again = nats.block(async {
            let stream = nats.jet.get_stream(names::stream("r1")).await.ok()?;
            let last = stream.cached_info().state.last_sequence;
            let sequence = last.saturating_sub(back).max(1);
            let message = stream.get_raw_message(sequence).await.ok()?;
            let sent = nats.jet.publish(ways.incoming.clone(), message.payload);
            sent.await.ok()?.await.ok()
        });
        assert!(again.is_some(), "a message was repeated");
    }
    let expected = [&b"first"[..], &words.concat()].concat();
    wait_until(|| received.state().received >= expected.len() as u64);
    let mut state = received.state();
    assert_eq!(state.failed, None);
    assert!(*state.incoming.make_contiguous() == expected[..]);
}

/// Whoever may publish to the agent can interrupt the run, and give it no users.
#[test]
fn a_worker_takes_nothing_that_its_controller_has_not_signed() {
    let Some(server) = Server::start() else {
        return;
    };
    let nats = server.connect();
    let created = stream::create(&nats.jet, "r1", stream::age(Duration::ZERO, Duration::ZERO));
    nats.block(created).unwrap();
    let [controller, agent] = [KeyPair::new_user(), KeyPair::new_user()];
    let of_controller = RunKeys::new(Some(controller.clone()), Some(agent.public_key()));
    let of_agent = RunKeys::new(Some(agent), Some(controller.public_key()));
    let root = private_directory();
    let owner = Owner { server: "h:1".to_owned(), run: "r1".to_owned(), agent: "a1".to_owned() };
    let spool = Spool::create(root.path(), &owner, 1 << 20).unwrap();
    let kept = Arc::new(StreamContents::lasting(Duration::ZERO));
    let ways = Ways::of_agent("r1", "a1");
    let worker = NatsCarrier::of_worker(&nats, &ways, &of_agent, spool, &kept);
    let sent = CarrierState::new(Log::Memory(Messages::behind(0)));
    let link = Link::new(&nats, &Ways::of_controller("r1", "a1"), &of_controller, &sent, None);
    sent.log().append(b"users").unwrap();
    nats.spawn(sending::send_all(link.clone()));
    nats.spawn(receiving::receive_all(link));
    worker.send(b"report").unwrap();
    wait_until(|| worker.shared.state().received == 5);
    wait_until(|| sent.state().received == 6);
    let forged = nats.block(async {
        nats.jet.publish(ways.incoming.clone(), piece(5, b"adopt")).await.unwrap().await
    });
    forged.unwrap();
    wait_until(|| worker.shared.state().failed.is_some());
    let state = worker.shared.state();
    assert_eq!((state.failed.as_deref(), state.received), (Some(UNSIGNED), 5));
}

/// A worker that was away may have been given up.
#[test]
fn a_worker_that_returns_after_its_end_sends_nothing() {
    let Some(server) = Server::start() else {
        return;
    };
    let nats = server.connect();
    let created = stream::create(&nats.jet, "r1", stream::age(Duration::ZERO, Duration::ZERO));
    nats.block(created).unwrap();
    let ways = Ways::of_agent("r1", "a1");
    let ended = nats.block(async {
        let sent = nats.jet.publish(ways.incoming.clone(), piece(0, b""));
        sent.await.unwrap().await
    });
    ended.unwrap();
    let root = private_directory();
    let owner = Owner { server: "h:1".to_owned(), run: "r1".to_owned(), agent: "a1".to_owned() };
    let spool = Spool::create(root.path(), &owner, 1 << 20).unwrap();
    let kept = Arc::new(StreamContents::lasting(Duration::ZERO));
    let worker = NatsCarrier::of_worker(&nats, &ways, &RunKeys::default(), spool, &kept);
    assert_eq!(worker.contact_ns(), None);
    let _ = worker.send(b"report");
    wait_until(|| worker.send(b"more").is_err());
    assert_eq!(worker.contact_ns(), None, "nothing was taken");
    let stream = nats.block(nats.jet.get_stream(names::stream("r1")));
    assert_eq!(stream.unwrap().cached_info().state.messages, 1);
}
