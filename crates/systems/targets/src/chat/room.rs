//! A room: a log of numbered messages that everybody reads by a cursor.
//!
//! A message gets its number and becomes readable in one step, under the log's lock. So whoever
//! has read up to a number has missed nothing below it, however many speak at the same time.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use super::message::{Message, Utterance};

/// Longest name of a room, in bytes.
const NAME_MAX: usize = 64;
/// Most bytes of messages that a room keeps.
pub(super) const HISTORY_BYTES_MAX: usize = 1 << 20;

/// A room.
#[derive(Debug)]
pub(super) struct Room {
    /// Counts the rooms from 0.
    pub(super) id: u32,
    pub(super) name: Arc<str>,
    log: Mutex<Log>,
    /// The number of the last message; 0 before the first. Changed under the log's lock.
    head: watch::Sender<u64>,
    history_max: usize,
}

#[derive(Debug, Default)]
struct Log {
    /// Without gaps, oldest first.
    messages: VecDeque<Arc<Message>>,
    bytes: usize,
}

/// Messages after a cursor.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Backlog {
    pub(super) messages: Vec<Arc<Message>>,
    /// Messages after the cursor that the room has forgotten already.
    pub(super) forgotten: u64,
    /// Cursor for reading on: the number of the last message found, or the cursor itself.
    pub(super) last: u64,
}

impl Room {
    /// An empty room that keeps `history_max` messages.
    pub(super) fn new(id: u32, name: &str, history_max: usize) -> Self {
        Self {
            id,
            name: name.into(),
            log: Mutex::default(),
            head: watch::Sender::new(0),
            history_max,
        }
    }

    /// Whether `name` can be a room's: what a URI leaves unescaped (RFC 3986, section 2.3).
    pub(super) fn may_be_called(name: &str) -> bool {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        (1..=NAME_MAX).contains(&name.len()) && name.bytes().all(plain)
    }

    /// Takes a message; its number. `now_ms` is called when it is its turn.
    pub(super) fn append(&self, said: &Utterance, now_ms: impl FnOnce() -> f64) -> u64 {
        self.publish(|id| Message::new(&self.name, id, said, now_ms()))
    }

    /// Takes a message, made of its number when it is its turn; in an empty room it may have another one. Returns its
    /// number.
    pub(super) fn publish(&self, make: impl FnOnce(u64) -> Message) -> u64 {
        let mut log = self.log();
        let next = self.head() + 1;
        let message = make(next);
        let id = message.id;
        debug_assert!(log.messages.is_empty() || id == next);
        log.bytes += message.json.len();
        log.messages.push_back(Arc::new(message));
        while log.messages.len() > self.history_max
            || (log.bytes > HISTORY_BYTES_MAX && log.messages.len() > 1)
        {
            if let Some(oldest) = log.messages.pop_front() {
                log.bytes -= oldest.json.len();
            }
        }
        self.head.send_replace(id);
        id
    }

    /// The number of the last message; 0 if there was none.
    pub(super) fn head(&self) -> u64 {
        *self.head.borrow()
    }

    /// Signals when there are more messages.
    pub(super) fn watch(&self) -> watch::Receiver<u64> {
        self.head.subscribe()
    }

    /// Up to `max` messages after `after`, of those up to number `up_to`.
    ///
    /// A cursor beyond the room's end is of an earlier life of this server, which had more
    /// messages: it reads from the beginning.
    pub(super) fn read(&self, after: u64, up_to: u64, max: usize) -> Backlog {
        let log = self.log();
        let after = if after > self.head() { 0 } else { after };
        let first = log.messages.front().map_or(1, |message| message.id);
        let begin = after.max(first - 1);
        let skip = (begin + 1 - first) as usize;
        let messages = log.messages.iter().skip(skip).take(max);
        let messages: Vec<_> =
            messages.take_while(|message| message.id <= up_to).cloned().collect();
        Backlog {
            forgotten: (begin - after).min(up_to.saturating_sub(after)),
            last: messages.last().map_or(after, |message| message.id),
            messages,
        }
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        // Nothing in there panics between two changes that belong together.
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn say(room: &Room, message: &str) -> u64 {
        let said = Utterance { message: message.into(), from: String::new() };
        room.append(&said, || 0.0)
    }

    fn ids(found: &Backlog) -> Vec<u64> {
        found.messages.iter().map(|message| message.id).collect()
    }

    #[test]
    fn cursors_find_what_is_after_them() {
        let room = Room::new(0, "lobby", 3);
        assert_eq!(room.read(0, u64::MAX, 9).last, 0);
        for id in 1..=5 {
            assert_eq!(say(&room, "x"), id);
        }
        let cases = [
            // (after, up to, max) → (ids, forgotten, last)
            ((4, u64::MAX, 9), (vec![5], 0, 5)),
            ((5, u64::MAX, 9), (vec![], 0, 5)),
            ((2, u64::MAX, 9), (vec![3, 4, 5], 0, 5)),
            ((2, u64::MAX, 2), (vec![3, 4], 0, 4)),
            ((2, 3, 9), (vec![3], 0, 3)),
            ((0, u64::MAX, 9), (vec![3, 4, 5], 2, 5)),
            // A cursor that the room never gave.
            ((77, u64::MAX, 9), (vec![3, 4, 5], 2, 5)),
        ];
        for ((after, up_to, max), expected) in cases {
            let found = room.read(after, up_to, max);
            assert_eq!((ids(&found), found.forgotten, found.last), expected);
        }
    }

    #[test]
    fn history_is_bounded_in_bytes() {
        let room = Room::new(0, "lobby", 1_000);
        let long = "x".repeat(HISTORY_BYTES_MAX / 4);
        for _ in 0..6 {
            say(&room, &long);
        }
        let found = room.read(0, u64::MAX, 9);
        assert_eq!((ids(&found), found.forgotten), (vec![4, 5, 6], 3));
        // One message is kept, however long.
        say(&room, &"x".repeat(2 * HISTORY_BYTES_MAX));
        assert_eq!(ids(&room.read(0, u64::MAX, 9)), [7]);
    }

    #[test]
    fn names_of_rooms() {
        assert!(Room::may_be_called("lobby-1.a_b~"));
        for bad in ["", "a b", "ä", "a/b", &"x".repeat(65)] {
            assert!(!Room::may_be_called(bad), "{bad}");
        }
    }

    /// Cursors that read while others write see every number once and in order.
    #[test]
    fn nothing_is_missed_while_others_speak() {
        const WRITERS: usize = 4;
        const EACH: usize = 500;
        let room = Room::new(0, "lobby", WRITERS * EACH);
        std::thread::scope(|scope| {
            for _ in 0..WRITERS {
                scope.spawn(|| (0..EACH).map(|_| say(&room, "x")).last());
            }
            for _ in 0..2 {
                scope.spawn(|| {
                    let mut after = 0;
                    let mut seen = Vec::new();
                    while seen.len() < WRITERS * EACH {
                        let found = room.read(after, u64::MAX, 7);
                        seen.extend(ids(&found));
                        after = found.last;
                    }
                    let all: Vec<u64> = (1..=(WRITERS * EACH) as u64).collect();
                    assert_eq!(seen, all);
                });
            }
        });
    }
}
