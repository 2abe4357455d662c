//! Reconnecting a lost WebSocket.

use serde::Serialize;
use stats::rng::Rng;

use crate::expr::Template;
use crate::ids::MeasureId;

/// How a lost WebSocket reconnects.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WsReconnect {
    /// Each attempt to connect.
    pub measure: MeasureId,
    pub pauses: Pauses,
}

/// From a loss, or a failed attempt, to the next attempt.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub enum Pauses {
    /// As the client of its protocol of channels pauses. Each attempt to join one of its channels again is an
    /// operation of this measure.
    OfClient { rejoin: MeasureId },
    /// Reconnection of a plain WebSocket.
    Backoff(Backoff),
}

/// Pauses that double, and differ at random so that clients lost together do not return together.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Backoff {
    /// The first pause; each further one is twice as long.
    pub pause_ns: u64,
    /// Longest pause.
    pub pause_max_ns: u64,
    pub jitter: Jitter,
    /// Attempts after one loss; `None`: any number.
    pub attempts_max: Option<u32>,
    /// Messages that are sent as soon as it is open again.
    pub send: Vec<Template>,
}

/// The part of a pause that is drawn (Brooker, "Exponential Backoff and Jitter", 2015).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Jitter {
    /// All of it.
    Full,
    /// The second half of the pause.
    Equal,
    None,
}

impl Jitter {
    /// The share of its length that a pause gets.
    pub fn share(self, rng: &mut Rng) -> f64 {
        match self {
            Jitter::Full => rng.unit(),
            Jitter::Equal => 0.5 + 0.5 * rng.unit(),
            Jitter::None => 1.0,
        }
    }
}
