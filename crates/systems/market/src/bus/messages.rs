//! The messages that are pushed to the subscribers of a game: JSON text.

use std::sync::Arc;

use bytes::Bytes;
use serde::Serialize;

use super::model::{GameId, Outcome, PlacedPrediction, PoolId, Score, Shares};
use server::websocket::frames;

/// Longest distribution that can be requested.
pub const BROADCAST_SIZE_MAX: usize = 1 << 20;

/// Messages pushed to the subscribers of a game.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Update {
    /// The money in the open pool.
    Distribution {
        /// The pool.
        pool: PoolId,
        /// All of its money, in cents.
        total: u64,
        /// The money on each outcome, in cents.
        shares: Shares,
        /// The predictions in it that no distribution before listed, if they are listed.
        #[serde(skip_serializing_if = "Option::is_none")]
        predictions: Option<Arc<[PlacedPrediction]>>,
        /// The number of the last prediction that was listed so far.
        #[serde(skip_serializing_if = "Option::is_none")]
        last_prediction: Option<u64>,
    },
    /// A side scored.
    Goal {
        /// Which one.
        side: Outcome,
        /// The score after it.
        score: Score,
    },
    /// The match ended and the next one begins.
    FullTime,
    /// A pool was settled: all of its money, `paid`, went to the winners, or back to everyone if
    /// there were none.
    Settled {
        /// The settled pool.
        pool: PoolId,
        /// How it was settled.
        outcome: Outcome,
        /// In cents.
        paid: u64,
        /// Users who had the outcome.
        winners: u64,
        /// The pool that is open now.
        next: PoolId,
    },
}

/// Update as it is sent.
#[derive(Debug, Serialize)]
pub struct StampedUpdate {
    #[serde(flatten)]
    update: Update,
    game: GameId,
    /// Counts the game's update from 1.
    seq: u64,
    /// When it was given to the game's channel: milliseconds since 1970, microseconds after the
    /// point.
    sent_at_ms: f64,
}

impl StampedUpdate {
    /// `update` under the number `seq`, given to the channel at `sent_at_ms`.
    pub fn new(game: GameId, update: Update, seq: u64, sent_at_ms: f64) -> Self {
        Self { update, game, seq, sent_at_ms }
    }

    /// The message as a frame, the same for everyone. A text shorter than `bytes_min` is filled
    /// up with blanks, which mean nothing at the end of JSON (RFC 8259, section 2).
    pub fn encode(&self, bytes_min: usize) -> Bytes {
        frames::text(|bytes| {
            let start = bytes.len();
            write_json(bytes, self);
            let missing = bytes_min.saturating_sub(bytes.len() - start);
            bytes.resize(bytes.len() + missing, b' ');
        })
    }
}

/// Payload of one frame of ours: its header has no mask and the shortest length (RFC 6455, section 5.2).
pub fn payload(frame: &[u8]) -> &[u8] {
    let header = match frame.get(1) {
        Some(127) => 10,
        Some(126) => 4,
        _ => 2,
    };
    frame.get(header..).unwrap_or_default()
}

fn write_json(bytes: &mut Vec<u8>, message: &impl Serialize) {
    serde_json::to_writer(bytes, message).expect("plain data without maps always encodes");
}

/// The text in a frame.
#[cfg(test)]
pub(crate) fn text_of(frame: &[u8]) -> &str {
    std::str::from_utf8(payload(frame)).expect("text is UTF-8")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn news_is_flat() {
        let shares = Shares { home: 1, away: 2, none: 0 };
        let update = Update::Distribution {
            pool: PoolId(3),
            total: 3,
            shares,
            predictions: None,
            last_prediction: None,
        };
        let text = StampedUpdate::new(GameId(1), update, 9, 1_786_000_000_000.123).encode(0);
        assert_eq!(
            text_of(&text),
            r#"{"type":"distribution","pool":"p3","total":3,"shares":{"home":1,"away":2,"none":0},"#
                .to_owned() + r#""game":"g1","seq":9,"sent_at_ms":1786000000000.123}"#
        );
        let stamped = StampedUpdate::new(GameId(1), Update::FullTime, 1, 0.5);
        let update = stamped.encode(0);
        assert_eq!(
            text_of(&update),
            r#"{"type":"full_time","game":"g1","seq":1,"sent_at_ms":0.5}"#
        );
        // 57 bytes, and blanks up to the size that is set.
        assert_eq!(stamped.encode(57), update);
        let padded = stamped.encode(200);
        assert_eq!(text_of(&padded).len(), 200);
        assert_eq!(text_of(&padded).trim_end(), text_of(&update));
    }
}
