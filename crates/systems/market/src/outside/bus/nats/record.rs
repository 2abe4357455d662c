//! How a game stands on the bus: one record, which every change replaces as a whole.
//!
//! A record holds the last distribution and the last event with their messages, so whoever gets it can deliver what
//! is new to it. Changes are pure functions from one record to the next; that nobody else changed it meanwhile is
//! NATS' business.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::bus::messages::{BROADCAST_SIZE_MAX, Update};
use crate::bus::model::GameId;
use crate::outside::bus::tokens::Token;
use server::reactor::{Kind, Notice};
use server::websocket::frames;

/// How a game stands.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Record {
    /// The number of the last message.
    pub(super) seq: u64,
    /// Nothing is published of an older pool than this one, nor with less money in it.
    #[serde(default)]
    pool: u64,
    #[serde(default)]
    total: u64,
    #[serde(default)]
    distribution: Option<Distribution>,
    #[serde(default)]
    event: Option<Event>,
    #[serde(default)]
    pub(super) claim: Option<Claim>,
}

/// The last distribution.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Distribution {
    seq: u64,
    sent_at_ms: f64,
    /// Least length of its text.
    bytes_min: usize,
    update: Box<RawValue>,
}

/// The last event, and what it brought about.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Event {
    /// The event's number.
    number: u64,
    /// The number of its last message.
    seq: u64,
    sent_at_ms: f64,
    updates: Vec<Box<RawValue>>,
}

/// A claim on the next distribution.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Claim {
    pub(super) by: String,
    batch_ms: u64,
    /// It was published, and the batch time counts from there.
    used: bool,
}

impl Claim {
    /// How long it lasts.
    pub(super) fn batch(&self) -> Duration {
        Duration::from_millis(self.batch_ms)
    }
}

/// Why a distribution is not published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PublishRefusal {
    /// It is not newer than the last one.
    Old,
    /// Another process has taken the batch over.
    Overtaken,
}

/// Number and time of a message.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stamp {
    /// The highest number that was seen here.
    pub(super) seen: u64,
    pub(super) sent_at_ms: f64,
}

impl Record {
    /// The number of the last event; 0 if there was none.
    pub(super) fn event_number(&self) -> u64 {
        self.event.as_ref().map_or(0, |event| event.number)
    }

    /// With a claim in place of the last one, which is over.
    pub(super) fn claimed(&self, token: &Token) -> Self {
        Self {
            claim: Some(Claim { by: token.text.clone(), batch_ms: token.batch_ms(), used: false }),
            ..self.clone()
        }
    }

    /// Without the claim of this token; `None` if it has none.
    pub(super) fn released(&self, token: &Token) -> Option<Self> {
        let claim = self.claim.as_ref()?;
        (claim.by == token.text).then(|| Self { claim: None, ..self.clone() })
    }

    /// With a distribution. Its claim, if it is under one, counts from here. `is_claimed`: the claim in the record
    /// is not over.
    pub(super) fn with_distribution(
        &self,
        update: &Update,
        bytes_min: usize,
        stamp: Stamp,
        token: Option<&Token>,
        is_claimed: bool,
    ) -> Result<Self, PublishRefusal> {
        let claim = self.claim.as_ref();
        if let (Some(token), Some(claim), true) = (token, claim, is_claimed)
            && claim.by != token.text
        {
            return Err(PublishRefusal::Overtaken);
        }
        let text = raw(update);
        let mut next = self.clone();
        if let Update::Distribution { pool, total, .. } = update {
            if (pool.0, *total) < (self.pool, self.total) {
                return Err(PublishRefusal::Old);
            }
            (next.pool, next.total) = (pool.0, *total);
        }
        let last = self.distribution.as_ref();
        if last.is_some_and(|last| last.update.get() == text.get()) {
            return Err(PublishRefusal::Old);
        }
        next.seq = self.seq.max(stamp.seen).saturating_add(1);
        next.distribution = Some(Distribution {
            seq: next.seq,
            sent_at_ms: stamp.sent_at_ms,
            bytes_min,
            update: text,
        });
        if let Some(token) = token {
            next = next.claimed(token);
            next.claim.as_mut().expect("it was just set").used = true;
        }
        Ok(next)
    }

    /// With an event and its messages; `None` if it was published before. `seen` is the highest number of an event
    /// that was seen here.
    pub(super) fn with_event(
        &self,
        number: u64,
        updates: &[Update],
        stamp: Stamp,
        seen: u64,
    ) -> Option<Self> {
        if number <= self.event_number().max(seen) {
            return None;
        }
        let mut next = self.clone();
        for update in updates {
            if let Update::Settled { next: open, .. } = update
                && open.0 > next.pool
            {
                (next.pool, next.total) = (open.0, 0);
            }
        }
        let count = updates.len() as u64;
        next.seq = self.seq.max(stamp.seen).saturating_add(count);
        next.event = Some(Event {
            number,
            seq: next.seq,
            sent_at_ms: stamp.sent_at_ms,
            updates: updates.iter().map(raw).collect(),
        });
        Some(next)
    }

    /// With no number lower than these, of a message and of an event; `None` if none was. Whatever lost its numbers
    /// lost its last distribution, too, which is then published again.
    pub(super) fn raised(&self, seq: u64, event: u64) -> Option<Self> {
        if seq <= self.seq && event <= self.event_number() {
            return None;
        }
        let mut next = self.clone();
        if seq > self.seq {
            next.seq = seq;
            next.distribution = None;
        }
        if event > self.event_number() {
            next.event =
                Some(Event { number: event, seq: 0, sent_at_ms: 0.0, updates: Vec::new() });
        }
        Some(next)
    }

    /// The messages above the number `last`, in order, with their numbers. What is no message is left out.
    pub(super) fn messages(&self, game: GameId, last: u64) -> Vec<(u64, Notice)> {
        let mut all = Vec::new();
        if let Some(it) = &self.distribution
            && it.seq > last
        {
            let text = stamped(&it.update, game, it.seq, it.sent_at_ms);
            all.extend(text.map(|text| (it.seq, notice(Kind::State, &text, it.bytes_min))));
        }
        if let Some(it) = &self.event {
            let first = it.seq.saturating_add(1).saturating_sub(it.updates.len() as u64);
            for (seq, update) in (first..).zip(&it.updates).filter(|(seq, _)| *seq > last) {
                let text = stamped(update, game, seq, it.sent_at_ms);
                all.extend(text.map(|text| (seq, notice(Kind::Event, &text, 0))));
            }
        }
        all.sort_by_key(|(seq, _)| *seq);
        all
    }
}

fn raw(update: &Update) -> Box<RawValue> {
    serde_json::value::to_raw_value(update).expect("plain data without maps always encodes")
}

/// The text of a message, as [`StampedUpdate`](crate::bus::messages::StampedUpdate) writes it; `None` if the update is no object.
fn stamped(update: &RawValue, game: GameId, seq: u64, sent_at_ms: f64) -> Option<String> {
    #[derive(Serialize)]
    struct Stamp {
        game: GameId,
        seq: u64,
        sent_at_ms: f64,
    }
    let stamp = Stamp { game, seq, sent_at_ms };
    let stamp = serde_json::to_string(&stamp).expect("plain data without maps always encodes");
    let fields = update.get().strip_prefix('{')?.strip_suffix('}')?;
    (!fields.is_empty()).then(|| format!("{{{fields},{}", &stamp[1..]))
}

fn notice(kind: Kind, text: &str, bytes_min: usize) -> Notice {
    let frame = frames::text(|bytes| {
        let end = bytes.len() + text.len().max(bytes_min.min(BROADCAST_SIZE_MAX));
        bytes.extend_from_slice(text.as_bytes());
        bytes.resize(end, b' ');
    });
    Notice { kind, frame }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bus::messages::StampedUpdate;
    use crate::outside::bus::tests::support::{distribution, settled};

    const STAMP: Stamp = Stamp { seen: 0, sent_at_ms: 1_786_000_000_000.125 };

    /// Through JSON, as it passes NATS.
    fn passed(record: &Record) -> Record {
        serde_json::from_slice(&serde_json::to_vec(record).unwrap()).unwrap()
    }

    #[test]
    fn messages_are_those_that_the_memory_bus_makes() {
        let game = GameId(3);
        let updates = [Update::FullTime, settled(1, 5)];
        let record = Record::default().with_event(1, &updates, STAMP, 0).unwrap();
        let state = distribution(5, 7);
        let record = record.with_distribution(&state, 200, STAMP, None, false);
        let messages = passed(&record.unwrap()).messages(game, 0);
        let expected = updates.into_iter().chain([state]).zip(1..);
        let expected = expected.map(|(update, seq)| {
            let bytes_min = if seq == 3 { 200 } else { 0 };
            (seq, StampedUpdate::new(game, update, seq, STAMP.sent_at_ms).encode(bytes_min))
        });
        let found = messages.into_iter().map(|(seq, notice)| (seq, notice.frame));
        assert!(found.eq(expected));
    }

    #[test]
    fn only_messages_that_are_new_are_delivered() {
        let state = |record: &Record, total| {
            let update = distribution(1, total);
            record.with_distribution(&update, 0, STAMP, None, false).unwrap()
        };
        let record = state(&state(&Record::default(), 1), 2);
        let record = record.with_event(1, &[Update::FullTime, settled(1, 1)], STAMP, 0).unwrap();
        let numbers = |last| {
            let messages = record.messages(GameId(1), last);
            messages.iter().map(|(seq, _)| *seq).collect::<Vec<_>>()
        };
        // The first distribution was replaced.
        assert_eq!(numbers(0), [2, 3, 4]);
        assert_eq!(numbers(3), [4]);
        assert_eq!(numbers(4), [0; 0]);
    }

    #[test]
    fn numbers_are_raised_once() {
        let record = Record::default().raised(7, 2).unwrap();
        assert_eq!((record.seq, record.event_number()), (7, 2));
        assert!(record.raised(7, 2).is_none());
        assert!(record.messages(GameId(1), 0).is_empty());
        let updates = [Update::FullTime];
        assert!(record.with_event(2, &updates, STAMP, 0).is_none());
        assert!(record.with_event(3, &updates, STAMP, 3).is_none());
        assert_eq!(record.with_event(3, &updates, STAMP, 0).unwrap().seq, 8);
        let seen = Stamp { seen: 10, ..STAMP };
        assert_eq!(record.with_event(3, &updates, seen, 0).unwrap().seq, 11);
    }

    #[test]
    fn what_others_wrote_is_no_danger() {
        for text in [
            r#"{"seq":1,"event":{"number":1,"seq":0,"sent_at_ms":0.0,"updates":[{},{},{}]}}"#,
            r#"{"seq":1,"event":{"number":1,"seq":9,"sent_at_ms":0.0,"updates":[7,"a"]}}"#,
        ] {
            let record: Record = serde_json::from_str(text).unwrap();
            assert!(record.messages(GameId(1), 5).is_empty(), "{text}");
        }
        let text = r#"{"seq":1,"distribution":{"seq":1,"sent_at_ms":0.0,"bytes_min":99999999999,"update":{"a":1}}}"#;
        let record: Record = serde_json::from_str(text).unwrap();
        let messages = record.messages(GameId(1), 0);
        assert!(messages[0].1.frame.len() < BROADCAST_SIZE_MAX + 16);
    }
}
