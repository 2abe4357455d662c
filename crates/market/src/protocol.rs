//! The WebSocket's language: JSON text, one message a request, a reply or an update.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::model::{Game, GameId, Outcome, Pool, PoolId, Score, Shares};
use super::transactions::{Placed, Refusal};
use server::websocket::frames;

/// The path on which WebSockets are opened.
pub(crate) const STREAM: &str = "/v1/stream";
/// Longest distribution that can be requested.
pub(crate) const BROADCAST_SIZE_MAX: usize = 1 << 20;
/// The code of an error that is not the client's.
pub(crate) const UNAVAILABLE: &str = "unavailable";
/// The question of every pool.
const QUESTION: &str = "who scores next?";

/// A request as it was written; what an operation needs is checked by that operation.
#[derive(Debug, Deserialize)]
pub(crate) struct Request<'a> {
    #[serde(borrow)]
    pub(crate) op: Cow<'a, str>,
    /// Anything; sent back as it came.
    #[serde(borrow)]
    pub(crate) id: Option<&'a RawValue>,
    pub(crate) game: Option<Cow<'a, str>>,
    pub(crate) pool: Option<Cow<'a, str>>,
    pub(crate) option: Option<Cow<'a, str>>,
    pub(crate) amount: Option<u64>,
}

/// A request that could not be read, with what could be told of it for the reply.
#[derive(Debug)]
pub(crate) struct Unreadable {
    pub(crate) op: Option<String>,
    pub(crate) id: Option<Box<RawValue>>,
    pub(crate) fault: RequestError,
}

/// What is wrong with a request.
#[derive(Debug, Serialize, PartialEq, Eq)]
pub(crate) struct RequestError {
    pub(crate) code: &'static str,
    pub(crate) message: Cow<'static, str>,
}

impl RequestError {
    pub(crate) fn new(code: &'static str, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }

    /// Whether the request was good, and could not be answered now.
    pub(crate) fn is_unavailable(&self) -> bool {
        self.code == UNAVAILABLE
    }
}

impl<'a> Request<'a> {
    /// Reads a request.
    pub(crate) fn parse(text: &'a str) -> Result<Self, Box<Unreadable>> {
        serde_json::from_str(text).map_err(|error| Box::new(Unreadable::new(text, &error)))
    }
}

impl Unreadable {
    /// Reads `text` again, with less demanded of it. Slow, but rare.
    fn new(text: &str, error: &serde_json::Error) -> Self {
        #[derive(Deserialize)]
        struct Loose {
            op: Option<serde_json::Value>,
            id: Option<Box<RawValue>>,
        }
        let code = if error.is_data() {
            "invalid"
        } else {
            "malformed"
        };
        let fault = RequestError::new(code, error.to_string());
        let (op, id) = match serde_json::from_str::<Loose>(text) {
            Ok(loose) => (loose.op, loose.id),
            Err(_) => (None, None),
        };
        Self {
            op: op.and_then(|op| op.as_str().map(str::to_owned)),
            id,
            fault,
        }
    }
}

/// The outside of a reply.
#[derive(Debug, Serialize)]
struct Envelope<'a, T> {
    /// The request's operation; null when it could not be read.
    re: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a RawValue>,
    #[serde(flatten)]
    body: T,
}

/// A reply's own part.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Reply {
    Games {
        games: Vec<Game>,
    },
    Joined {
        game: GameId,
        balance: u64,
    },
    Left {
        game: Option<GameId>,
    },
    Pools {
        pools: Vec<PoolView>,
    },
    Accepted {
        accepted: bool,
        pool: PoolId,
        balance: u64,
        #[serde(skip_serializing_if = "is_nothing")]
        returned: u64,
    },
    Refused {
        accepted: bool,
        reason: Refusal,
        pool: PoolId,
        balance: u64,
        #[serde(skip_serializing_if = "is_nothing")]
        returned: u64,
    },
    Failed {
        error: RequestError,
    },
}

impl Reply {
    /// The reply to operation `re` as a frame.
    pub(crate) fn encode(self, re: Option<&str>, id: Option<&RawValue>) -> Bytes {
        encode(&Envelope { re, id, body: self })
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_nothing(cents: &u64) -> bool {
    *cents == 0
}

/// A pool as clients see it.
#[derive(Debug, Serialize)]
pub(crate) struct PoolView {
    id: PoolId,
    game: GameId,
    question: &'static str,
    options: [Outcome; 3],
    open: bool,
    /// How it was settled.
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<Outcome>,
    total: u64,
    distribution: Shares,
    #[serde(skip_serializing_if = "Option::is_none")]
    predictions: Option<Vec<Placed>>,
}

impl From<Pool> for PoolView {
    fn from(pool: Pool) -> Self {
        Self {
            id: pool.id,
            game: pool.game,
            question: QUESTION,
            options: Outcome::ALL,
            open: pool.outcome.is_none(),
            outcome: pool.outcome,
            total: pool.shares.total(),
            distribution: pool.shares,
            predictions: None,
        }
    }
}

impl PoolView {
    /// With each of its predictions.
    pub(crate) fn listing(self, predictions: Vec<Placed>) -> Self {
        Self {
            predictions: Some(predictions),
            ..self
        }
    }
}

/// Messages pushed to the subscribers of a game.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Update {
    /// The money in the open pool.
    Distribution {
        pool: PoolId,
        total: u64,
        shares: Shares,
        #[serde(skip_serializing_if = "Option::is_none")]
        predictions: Option<Arc<[Placed]>>,
    },
    /// A side scored.
    Goal { side: Outcome, score: Score },
    /// The match ended and the next one begins.
    FullTime,
    /// A pool was settled: all of its money, `paid`, went to the winners, or back to everyone if
    /// there were none.
    Settled {
        pool: PoolId,
        outcome: Outcome,
        paid: u64,
        winners: u64,
        next: PoolId,
    },
}

/// Update as it is sent.
#[derive(Debug, Serialize)]
pub(crate) struct Stamped {
    #[serde(flatten)]
    update: Update,
    game: GameId,
    /// Counts the game's update from 1.
    seq: u64,
    /// When it was given to the game's channel: milliseconds since 1970, microseconds after the
    /// point.
    sent_at_ms: f64,
}

impl Stamped {
    pub(crate) fn new(game: GameId, update: Update, seq: u64, sent_at_ms: f64) -> Self {
        Self {
            update,
            game,
            seq,
            sent_at_ms,
        }
    }

    /// The message as a frame, the same for everyone. A text shorter than `bytes_min` is filled
    /// up with blanks, which mean nothing at the end of JSON (RFC 8259, section 2).
    pub(crate) fn encode(&self, bytes_min: usize) -> Bytes {
        frames::text(|bytes| {
            let start = bytes.len();
            write_json(bytes, self);
            let missing = bytes_min.saturating_sub(bytes.len() - start);
            bytes.resize(bytes.len() + missing, b' ');
        })
    }
}

/// The pool that a message opens, given its frame: it says that another one was settled.
pub(crate) fn opened(frame: &[u8]) -> Option<PoolId> {
    #[derive(Deserialize)]
    struct Settled<'a> {
        next: &'a str,
    }
    let settled: Settled<'_> = serde_json::from_slice(payload(frame)).ok()?;
    settled.next.parse().ok()
}

/// What is in one frame of ours: its header has no mask and the shortest length (RFC 6455, section 5.2).
pub(crate) fn payload(frame: &[u8]) -> &[u8] {
    let header = match frame.get(1) {
        Some(127) => 10,
        Some(126) => 4,
        _ => 2,
    };
    frame.get(header..).unwrap_or_default()
}

fn encode(message: &impl Serialize) -> Bytes {
    frames::text(|bytes| write_json(bytes, message))
}

fn write_json(bytes: &mut Vec<u8>, message: &impl Serialize) {
    serde_json::to_writer(bytes, message).expect("plain data without maps always encodes");
}

impl Serialize for Refusal {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(match self {
            Self::Closed => "closed",
            Self::Balance => "balance",
        })
    }
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
    fn ids_come_back_as_they_were() {
        let request = Request::parse(r#"{"op":"games","id":{"a": 1.0}}"#).unwrap();
        let reply = Reply::Left { game: None }.encode(Some(&request.op), request.id);
        assert_eq!(
            text_of(&reply),
            r#"{"re":"games","id":{"a": 1.0},"game":null}"#
        );
    }

    #[test]
    fn news_is_flat() {
        let shares = Shares {
            home: 1,
            away: 2,
            none: 0,
        };
        let update = Update::Distribution {
            pool: PoolId(3),
            total: 3,
            shares,
            predictions: None,
        };
        let text = Stamped::new(GameId(1), update, 9, 1_786_000_000_000.123).encode(0);
        assert_eq!(
            text_of(&text),
            r#"{"type":"distribution","pool":"p3","total":3,"shares":{"home":1,"away":2,"none":0},"#
                .to_owned() + r#""game":"g1","seq":9,"sent_at_ms":1786000000000.123}"#
        );
        assert_eq!(opened(&text), None);
        let settled = Update::Settled {
            pool: PoolId(3),
            outcome: Outcome::Home,
            paid: 123,
            winners: 2,
            next: PoolId(7),
        };
        let settled = Stamped::new(GameId(1), settled, 10, 0.5).encode(0);
        assert_eq!(opened(&settled), Some(PoolId(7)));
        let stamped = Stamped::new(GameId(1), Update::FullTime, 1, 0.5);
        let update = stamped.encode(0);
        assert_eq!(
            text_of(&update),
            r#"{"type":"full_time","game":"g1","seq":1,"sent_at_ms":0.5}"#
        );
        // 57 bytes, and blanks up to what is asked for.
        assert_eq!(stamped.encode(57), update);
        let padded = stamped.encode(200);
        assert_eq!(text_of(&padded).len(), 200);
        assert_eq!(text_of(&padded).trim_end(), text_of(&update));
    }

    #[test]
    fn unreadable_requests_keep_what_can_be_told() {
        let cases = [
            ("", None, None, "malformed"),
            ("{\"op\":", None, None, "malformed"),
            ("[1]", None, None, "invalid"),
            (r#"{"op":7,"id":1}"#, None, Some("1"), "invalid"),
            (
                r#"{"op":"predict","id":"x","amount":-1}"#,
                Some("predict"),
                Some("\"x\""),
                "invalid",
            ),
            (
                r#"{"op":"predict","amount":1.5}"#,
                Some("predict"),
                None,
                "invalid",
            ),
            (
                r#"{"op":"predict","amount":"1"}"#,
                Some("predict"),
                None,
                "invalid",
            ),
            (
                r#"{"op":"predict","amount":99999999999999999999}"#,
                Some("predict"),
                None,
                "invalid",
            ),
            (r#"{"id":5}"#, None, Some("5"), "invalid"),
        ];
        for (text, op, id, code) in cases {
            let unreadable = Request::parse(text).unwrap_err();
            assert_eq!(unreadable.op.as_deref(), op, "{text}");
            assert_eq!(unreadable.id.as_ref().map(|id| id.get()), id, "{text}");
            assert_eq!(unreadable.fault.code, code, "{text}");
        }
    }
}
