//! Protocols of channels over WebSocket. They have no RFC: what is right is what their documents say, and
//! what their own clients do with the same texts. Where neither says anything, a text that makes no sense
//! is `protocol`, or is not taken for an answer.

mod actioncable;
mod phoenix;
mod signalr;
mod socketio;

use super::case::{Act, Case, send};
use super::frames::{TEXT, frame};
use super::websocket::accept;

pub(super) fn cases() -> Vec<Case> {
    [phoenix::cases(), actioncable::cases(), socketio::cases(), signalr::cases()].concat()
}

/// Sends a text.
fn text(text: impl AsRef<[u8]>) -> Act {
    send(frame(TEXT, text))
}

/// Opens the WebSocket, then does this.
fn after_accept(acts: &[Act]) -> Vec<Act> {
    [&[accept()], acts].concat()
}
