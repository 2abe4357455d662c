//! The fuzzers' way to what the servers read of their clients. Not part of the crate's interface.

use crate::http::{Endpoint, route};
use crate::websocket::frames::{DecodeResult, Fragments, take};

/// Small, so that inputs reach it.
const MESSAGE_MAX: usize = 1 << 10;

/// Reads `data` as the frames of a client's WebSocket: how its bytes were cut changes nothing. The first byte says how
/// large the pieces are.
pub fn client_frames(data: &[u8]) {
    let Some((&first, wire)) = data.split_first() else {
        return;
    };
    let at_once = read_frames(wire, wire.len().max(1));
    let in_pieces = read_frames(wire, usize::from(first % 32) + 1);
    assert_eq!(at_once, in_pieces);
}

fn read_frames(wire: &[u8], piece_bytes: usize) -> (Vec<String>, bool) {
    let mut fragments = Fragments::default();
    let mut kept = Vec::new();
    let mut messages = Vec::new();
    for piece in wire.chunks(piece_bytes) {
        kept.extend_from_slice(piece);
        loop {
            match take(&mut kept, &mut fragments, MESSAGE_MAX) {
                Ok(DecodeResult::Nothing) => break,
                Ok(DecodeResult::Frame { length, received }) => {
                    messages.extend(received.map(|received| format!("{received:?}")));
                    kept.drain(..length);
                }
                Err(_) => return (messages, true),
            }
        }
    }
    (messages, false)
}

/// Reads `data` as the head of a connection's first request: what is complete stays so when more bytes come.
pub fn openings(data: &[u8]) {
    let endpoint = |path: &str| match path {
        "/ws" => Some(Endpoint::WebSocket),
        "/events" => Some(Endpoint::Stream),
        _ => None,
    };
    let whole = route(data, endpoint);
    for end in 0..data.len() {
        if let Some(found) = route(&data[..end], endpoint) {
            assert_eq!(Some(found), whole, "{end}");
            return;
        }
    }
}

#[test]
fn no_frame_of_a_client_panics() {
    testkit::replay::replay("client_frames", 200, client_frames);
}

#[test]
fn no_opening_panics() {
    testkit::replay::replay("openings", 200, openings);
}
