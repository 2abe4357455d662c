//! The stream that holds the records of a market's games, by requests to JetStream (NATS 2.9; the JetStream wire API
//! reference, docs.nats.io).
//!
//! It keeps the last message of each subject, which is the record of a game, in memory, and republishes every one
//! that it takes to those who listen. Each stream has a name of its own, so a record that was read from one is not
//! taken for one of another that was made after data were lost.

use std::hash::{BuildHasher, RandomState};

use async_nats::HeaderMap;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::link::{NatsError, Session};
use super::record::Record;
use crate::bus::model::GameId;

/// Error codes of JetStream.
const NO_MESSAGE: u64 = 10_037;
const NO_STREAM: u64 = 10_059;
const OTHER_STREAM: u64 = 10_060;
const SUBJECTS_OVERLAP: u64 = 10_065;
const WRONG_SEQUENCE: u64 = 10_071;

/// The names of a market's subjects.
#[derive(Debug, Clone)]
pub(super) struct Names {
    market: String,
}

impl Names {
    /// Names of the market called `name`.
    pub(super) fn new(name: &str) -> Self {
        Self { market: name.to_owned() }
    }

    /// The subject of a game's record.
    fn record(&self, game: impl std::fmt::Display) -> String {
        format!("market.{}.bus.{game}", self.market)
    }

    /// Subject on which records that were taken are republished; `*` stands for all games.
    pub(super) fn news(&self, game: impl std::fmt::Display) -> String {
        format!("market.{}.news.{game}", self.market)
    }

    /// The game of a subject with news.
    fn game_of(&self, subject: &str) -> Option<GameId> {
        let game = subject.strip_prefix(&self.news(""))?;
        game.parse().ok()
    }
}

/// A reply of JetStream.
#[derive(Debug, Default, Deserialize)]
struct Reply {
    error: Option<Problem>,
    /// Names of streams.
    streams: Option<Vec<String>>,
    message: Option<StoredMessage>,
    /// The place of what was published.
    seq: Option<u64>,
}

#[derive(Debug, Deserialize)]
struct Problem {
    err_code: u64,
    description: String,
}

#[derive(Debug, Deserialize)]
struct StoredMessage {
    seq: u64,
    /// The record in base64.
    #[serde(default)]
    data: String,
}

/// A record and its place in the stream; 0 if it is not there yet.
#[derive(Debug, Clone, Default)]
pub(super) struct StoredRecord {
    pub(super) at: u64,
    pub(super) record: Record,
}

/// A record that was taken.
#[derive(Debug)]
pub(super) struct NewsItem {
    pub(super) game: GameId,
    pub(super) stored: StoredRecord,
    /// The place of the record that it replaced; 0 if there was none.
    pub(super) previous: u64,
}

/// Why news could not be used.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unusable {
    /// It is of another stream: this one is lost.
    OtherStream,
    /// It cannot be read.
    Malformed,
}

/// The stream on one connection.
#[derive(Clone)]
pub(super) struct Stream {
    pub(super) session: Session,
    pub(super) name: String,
    names: Names,
}

impl Stream {
    /// The stream of a market, which is made if there is none.
    pub(super) async fn open(session: Session, names: &Names) -> Result<Self, NatsError> {
        let subjects = names.record("*");
        let prefix = format!("market_{}_", names.market);
        let new_name = format!("{prefix}{:016x}", RandomState::new().hash_one(0));
        let find = json!({ "subject": subjects });
        let create = json!({
            "name": new_name,
            "subjects": [subjects],
            "storage": "memory",
            "retention": "limits",
            "discard": "old",
            "max_msgs_per_subject": 1,
            "num_replicas": 1,
            "republish": { "src": subjects, "dest": names.news("$1") },
        });
        loop {
            let mut found = request(&session, "STREAM.NAMES", &find).await?;
            if let Some(problem) = found.error {
                return Err(session.refused(&problem.description));
            }
            if let Some(name) = found.streams.take().and_then(|mut names| names.pop()) {
                if !name.starts_with(&prefix) {
                    let problem = format!("stream {name} takes {subjects}, which no other may");
                    return Err(session.refused(&problem));
                }
                return Ok(Self { session, name, names: names.clone() });
            }
            let made = request(&session, &format!("STREAM.CREATE.{new_name}"), &create).await?;
            match made.error {
                // Another process was faster: its stream is found now, as this one would be.
                None => {}
                Some(problem) if problem.err_code == SUBJECTS_OVERLAP => {}
                Some(problem) => return Err(session.refused(&problem.description)),
            }
        }
    }

    /// The record of a game.
    pub(super) async fn get(&self, game: GameId) -> Result<StoredRecord, NatsError> {
        let last = json!({ "last_by_subj": self.names.record(game) });
        let api = format!("STREAM.MSG.GET.{}", self.name);
        let reply = request(&self.session, &api, &last).await?;
        match (reply.error, reply.message) {
            (Some(problem), _) => match problem.err_code {
                NO_MESSAGE => Ok(StoredRecord::default()),
                NO_STREAM => Err(self.session.lost()),
                _ => Err(self.session.refused(&problem.description)),
            },
            (None, None) => Err(self.session.refused("an answer without a message")),
            (None, Some(message)) => {
                let record = STANDARD.decode(&message.data).ok();
                let record = record.and_then(|text| serde_json::from_slice(&text).ok());
                let unreadable = || self.session.refused("a record of a game cannot be read");
                Ok(StoredRecord { at: message.seq, record: record.ok_or_else(unreadable)? })
            }
        }
    }

    /// Replaces the record of a game, if it is still the one at this place; `None` if another was faster. Answers the
    /// record's place.
    pub(super) async fn put(
        &self,
        game: GameId,
        record: &Record,
        at: u64,
    ) -> Result<Option<u64>, NatsError> {
        let mut headers = HeaderMap::new();
        headers.insert("Nats-Expected-Stream", self.name.as_str());
        headers.insert("Nats-Expected-Last-Subject-Sequence", at.to_string());
        let subject = self.names.record(game);
        let answer = self.session.request(subject, headers, encode(record));
        let reply = read(&self.session, &answer.await?.payload)?;
        match reply.error {
            None => Ok(Some(reply.seq.unwrap_or_default())),
            Some(problem) => match problem.err_code {
                WRONG_SEQUENCE => Ok(None),
                OTHER_STREAM | NO_STREAM => Err(self.session.lost()),
                _ => Err(self.session.refused(&problem.description)),
            },
        }
    }

    /// Reads what the stream published.
    pub(super) fn news(&self, message: &async_nats::Message) -> Result<NewsItem, Unusable> {
        let header = |name| Some(message.headers.as_ref()?.get(name)?.as_str());
        let (Some(stream), Some(at)) = (header("Nats-Stream"), header("Nats-Sequence")) else {
            return Err(Unusable::Malformed);
        };
        if stream != self.name {
            return Err(Unusable::OtherStream);
        }
        let game = self.names.game_of(&message.subject);
        let record = serde_json::from_slice(&message.payload).ok();
        match (game, at.parse().ok(), record) {
            (Some(game), Some(at), Some(record)) => Ok(NewsItem {
                game,
                stored: StoredRecord { at, record },
                previous: header("Nats-Last-Sequence")
                    .and_then(|previous| previous.parse().ok())
                    .unwrap_or_default(),
            }),
            _ => Err(Unusable::Malformed),
        }
    }
}

async fn request(
    session: &Session,
    api: &str,
    request: &serde_json::Value,
) -> Result<Reply, NatsError> {
    let subject = format!("$JS.API.{api}");
    let answer = session.request(subject, HeaderMap::new(), encode(request));
    let answer = answer.await.map_err(|error| match error {
        NatsError::Lost(_) => session.refused("it has no JetStream: start it with -js"),
        error => error,
    })?;
    read(session, &answer.payload)
}

fn read(session: &Session, answer: &[u8]) -> Result<Reply, NatsError> {
    let reply = serde_json::from_slice(answer);
    reply.map_err(|error| session.refused(&format!("an answer of JetStream: {error}")))
}

fn encode(value: &impl Serialize) -> Bytes {
    let text = serde_json::to_vec(value).expect("plain data always encodes");
    Bytes::from(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_names_its_game() {
        let names = Names::new("a1");
        assert_eq!(names.game_of(&names.news(GameId(12))), Some(GameId(12)));
        for other in ["market.a2.news.g1", "market.a1.bus.g1", "market.a1.news.p1"] {
            assert_eq!(names.game_of(other), None, "{other}");
        }
    }
}
