//! Pieces that are taken, and those that are not.

use super::*;

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
    let mut state = State {
        has_terms: true,
        ..State::default()
    };
    let second = Term(7).start();
    for (position, bytes) in [(0, "ab"), (second, "cd"), (2, "late"), (second + 1, "de")] {
        assert!(state.take(&piece(position, bytes.as_bytes())));
    }
    assert_eq!(state.incoming.make_contiguous(), b"abcde");
    assert!(
        !state.take(&piece(Term(8).start() + 1, b"x")),
        "its first is missing"
    );
    // A worker has no terms: it may report more than that.
    let mut worker = State::default();
    assert!(!worker.take(&piece(second, b"cd")));
}

#[test]
fn what_cannot_be_is_an_error_and_no_panic() {
    for (payload, why) in [
        (&b""[..], "without a position"),
        (b"1234567", "without a position"),
        (
            &piece(ABORT, b"\xff its process ended"),
            "its process ended",
        ),
        (&piece(ABORT, &[b'x'; 9_999]), "xxx"),
    ] {
        let mut state = State::default();
        state.take(payload);
        let found = state.failed.unwrap_or_default();
        assert!(
            found.contains(why) && found.len() <= REASON_BYTES_MAX,
            "{found}"
        );
        assert!(state.incoming.is_empty());
    }
}
