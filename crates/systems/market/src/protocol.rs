//! The WebSocket's language: JSON text, one message a request, a reply or an update.

use std::borrow::Cow;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::social::{Asker, Question};
use super::transactions::Refusal;
use crate::bus::messages::payload;
use crate::bus::model::{Game, GameId, Outcome, PlacedPrediction, Pool, PoolId, Shares};
use server::websocket::frames;

/// The path on which WebSockets are opened.
pub(crate) const STREAM: &str = "/v1/stream";
/// The code of an error that is not the client's.
pub(crate) const UNAVAILABLE: &str = "unavailable";
/// Longest name of a user.
pub(crate) const NAME_MAX: usize = 64;
/// The question of every pool.
const QUESTION: &str = "who scores next?";

/// Whether a user may have this name.
pub(crate) fn is_user_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    (1..=NAME_MAX).contains(&name.len()) && name.bytes().all(is_plain)
}

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
    /// The number of an event.
    pub(crate) number: Option<u64>,
    /// Text of a question.
    pub(crate) question: Option<Cow<'a, str>>,
    pub(crate) answers: Option<Vec<Cow<'a, str>>>,
    /// Who sees it.
    #[serde(rename = "for")]
    pub(crate) visible_to: Option<Cow<'a, str>>,
    /// Another user.
    pub(crate) user: Option<Cow<'a, str>>,
    /// An administrator's.
    pub(crate) token: Option<Cow<'a, str>>,
}

/// A request that could not be read, with the fields that could be read, for the reply.
#[derive(Debug)]
pub(crate) struct Unreadable {
    pub(crate) op: Option<String>,
    pub(crate) id: Option<Box<RawValue>>,
    pub(crate) fault: RequestError,
}

/// An error in a request.
#[derive(Debug, Serialize, PartialEq, Eq)]
pub(crate) struct RequestError {
    pub(crate) code: &'static str,
    pub(crate) message: Cow<'static, str>,
}

impl RequestError {
    pub(crate) fn new(code: &'static str, message: impl Into<Cow<'static, str>>) -> Self {
        Self { code, message: message.into() }
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
        let code = if error.is_data() { "invalid" } else { "malformed" };
        let fault = RequestError::new(code, error.to_string());
        let (op, id) = match serde_json::from_str::<Loose>(text) {
            Ok(loose) => (loose.op, loose.id),
            Err(_) => (None, None),
        };
        Self { op: op.and_then(|op| op.as_str().map(str::to_owned)), id, fault }
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
    Asked {
        pool: PoolId,
        game: GameId,
    },
    Questions {
        questions: Vec<QuestionView>,
    },
    Decided {
        /// False: it was decided before.
        decided: bool,
        pool: PoolId,
    },
    Recorded {
        /// False: an event of this number was there.
        recorded: bool,
        game: GameId,
        number: u64,
    },
    Friends {
        friends: Vec<String>,
    },
    FriendsPredictions {
        pool: PoolId,
        predictions: Vec<PlacedPrediction>,
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

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
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
    predictions: Option<Vec<PlacedPrediction>>,
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
    pub(crate) fn listing(self, predictions: Vec<PlacedPrediction>) -> Self {
        Self { predictions: Some(predictions), ..self }
    }
}

/// A user's question as clients see it.
#[derive(Debug, Serialize)]
pub(crate) struct QuestionView {
    pool: PoolId,
    /// Whose channel has the pool's distributions.
    game: GameId,
    about: GameId,
    question: String,
    answers: [String; 2],
    /// The user who asked; null: a rule did.
    asker: Option<String>,
    open: bool,
    /// The answer that it was settled by; null also if it was cancelled.
    answer: Option<String>,
    total: u64,
    /// Cents on each answer.
    distribution: [u64; 2],
}

impl QuestionView {
    pub(crate) fn new(question: &Question, pool: &PoolView) -> Self {
        let answer = pool.outcome.and_then(|outcome| question.answer(outcome));
        Self {
            pool: pool.id,
            game: pool.game,
            about: question.about,
            question: question.text.clone(),
            answers: question.answers.clone(),
            asker: match &question.asker {
                Asker::User(name) => Some(name.clone()),
                Asker::Rule(_) => None,
            },
            open: pool.open,
            answer: answer.map(str::to_owned),
            total: pool.total,
            distribution: [pool.distribution.home, pool.distribution.away],
        }
    }
}

/// The pool that a distribution is of and the last prediction that it lists, given its frame; `None`: it lists none.
pub(crate) fn listed(frame: &[u8]) -> Option<(PoolId, u64)> {
    #[derive(Deserialize)]
    struct ListingNotice<'a> {
        pool: &'a str,
        last_prediction: u64,
    }
    let listing: ListingNotice<'_> = serde_json::from_slice(payload(frame)).ok()?;
    Some((listing.pool.parse().ok()?, listing.last_prediction))
}

/// The pool that a message opens, given its frame: it says that another one was settled.
pub(crate) fn opened(frame: &[u8]) -> Option<PoolId> {
    #[derive(Deserialize)]
    struct SettledNotice<'a> {
        next: &'a str,
    }
    let settled: SettledNotice<'_> = serde_json::from_slice(payload(frame)).ok()?;
    settled.next.parse().ok()
}

fn encode(message: &impl Serialize) -> Bytes {
    frames::text(|bytes| {
        serde_json::to_writer(bytes, message).expect("plain data without maps always encodes");
    })
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
    use crate::bus::messages::{StampedUpdate, Update};

    #[test]
    fn ids_come_back_as_they_were() {
        let request = Request::parse(r#"{"op":"games","id":{"a": 1.0}}"#).unwrap();
        let reply = Reply::Left { game: None }.encode(Some(&request.op), request.id);
        assert_eq!(text_of(&reply), r#"{"re":"games","id":{"a": 1.0},"game":null}"#);
    }

    #[test]
    fn what_settles_a_pool_opens_another() {
        let settled = Update::Settled {
            pool: PoolId(3),
            outcome: Outcome::Home,
            paid: 123,
            winners: 2,
            next: PoolId(7),
        };
        let settled = StampedUpdate::new(GameId(1), settled, 10, 0.5).encode(0);
        assert_eq!(opened(&settled), Some(PoolId(7)));
        let distribution = Update::Distribution {
            pool: PoolId(7),
            total: 0,
            shares: Shares::default(),
            predictions: None,
            last_prediction: None,
        };
        let distribution = StampedUpdate::new(GameId(1), distribution, 11, 0.5).encode(0);
        assert_eq!(opened(&distribution), None);
    }

    #[test]
    fn errors_of_unreadable_requests_keep_their_readable_fields() {
        let cases = [
            ("", None, None, "malformed"),
            ("{\"op\":", None, None, "malformed"),
            ("[1]", None, None, "invalid"),
            (r#"{"op":7,"id":1}"#, None, Some("1"), "invalid"),
            (r#"{"op":"predict","id":"x","amount":-1}"#, Some("predict"), Some("\"x\""), "invalid"),
            (r#"{"op":"predict","amount":1.5}"#, Some("predict"), None, "invalid"),
            (r#"{"op":"predict","amount":"1"}"#, Some("predict"), None, "invalid"),
            (r#"{"op":"predict","amount":99999999999999999999}"#, Some("predict"), None, "invalid"),
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
