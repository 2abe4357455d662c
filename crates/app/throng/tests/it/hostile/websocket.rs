//! WebSocket (RFC 6455), and its compression (RFC 7692).

mod closing;
mod deflate;
mod fragments;
mod frames;
mod handshake;

use super::case::{Act, Case, send};

/// Opens a WebSocket and waits for the message `ok`.
const OPEN: &str = "[ { ws: AT }, { expect: { save: { seen: body }, check: \"seen == 'ok'\" } } ]";
/// Waits for any message.
const OPEN_ANY: &str = "[ { ws: AT }, { expect: } ]";
/// Waits for a message that never comes.
const OPEN_IN_TIME: &str = "[ { ws: AT }, { expect: { when: { /never: 1 }, within: 1s } } ]";
/// Opens a WebSocket that is not answered.
const OPEN_UNANSWERED: &str = "[ { ws: { path: AT, timeout: 3s } } ]";

/// The server's answer to the handshake, without the empty line that ends it.
const SWITCH: &str = "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\n\
                      connection: Upgrade\r\nsec-websocket-accept: {accept}\r\n";

pub(super) fn cases() -> Vec<Case> {
    [handshake::cases(), frames::cases(), fragments::cases(), closing::cases(), deflate::cases()]
        .concat()
}

/// A handshake in order.
pub(super) fn accept() -> Act {
    send(format!("{SWITCH}\r\n"))
}

/// A handshake in order, then these bytes; the message `ok` is waited for.
fn sends(name: &'static str, bytes: impl AsRef<[u8]>, right: &'static str) -> Case {
    Case::new(name, OPEN, [accept(), send(bytes)], right)
}

/// As there, with any message waited for.
fn sends_any(name: &'static str, bytes: impl AsRef<[u8]>, right: &'static str) -> Case {
    Case::new(name, OPEN_ANY, [accept(), send(bytes)], right)
}
