//! Between the two handshakes: requests and their replies.

use bytes::Bytes;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use super::Front;
use super::connection::{Connection, Stage};
use super::service::{Answered, Habit, Heard, House};
use super::table::Key;
use crate::sse;
use crate::websocket::frames::{self, Said, Taken};

/// Replies are gathered up to so many bytes before they are sent.
const GATHER_BYTES: usize = 16 * 1024;

impl<H: House> Front<H> {
    /// Answers the frames in `bytes`, as long as the peer reads its replies; how many of the bytes
    /// are not needed any more.
    pub(super) fn listen(&mut self, key: Key, bytes: &mut [u8]) -> usize {
        let row = self.rows.get_mut(key);
        if row.as_ref().is_some_and(|row| row.habit == Habit::Stream) {
            // Whoever gets a stream has nothing more to say.
            self.reply(key);
            return bytes.len();
        }
        let mut fragments = row.map(Connection::kept_fragments).unwrap_or_default();
        let mut used = 0;
        let result = loop {
            // Whoever is sent so much must take it before there is more.
            if self.replies.len() >= GATHER_BYTES {
                self.reply(key);
            }
            let row = self.rows.get_mut(key);
            if !row.is_some_and(|row| row.stage == Stage::Open && row.is_listened_to()) {
                break Ok(());
            }
            match frames::take(&mut bytes[used..], &mut fragments, self.options.message_max) {
                Ok(Taken::Frame { length, said }) => {
                    if let Some(said) = said {
                        self.respond(key, said);
                    }
                    used += length;
                }
                Ok(Taken::Nothing) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        self.reply(key);
        if let Err(error) = result {
            self.shut(key, error.code(), error.to_string());
        }
        if let Some(row) = self.rows.get_mut(key)
            && row.stage == Stage::Open
        {
            row.keep_fragments(fragments);
        }
        used
    }

    fn respond(&mut self, key: Key, said: Said<'_>) {
        match said {
            Said::Text(text) => {
                self.house.connections().messages_received.add(1);
                self.ask(key, &text);
            }
            Said::Binary(bytes) => {
                self.house.connections().messages_received.add(1);
                let guest = self.rows.get_mut(key).and_then(|row| row.guest.as_ref());
                let Some(guest) = guest else { return };
                match std::str::from_utf8(&bytes) {
                    Ok(text) if self.house.reads_binary(guest) => self.ask(key, text),
                    _ => {
                        let answered = self.house.hear_binary(guest);
                        self.answer(key, &answered);
                    }
                }
            }
            Said::Ping(payload) => self.replies.extend_from_slice(&frames::pong(payload)),
            Said::Pong => {}
            Said::Close(code) => {
                // The status comes back as it went (RFC 6455, section 5.5.1).
                let frame = code.map(|code| CloseFrame {
                    code,
                    reason: "".into(),
                });
                self.take_leave(key, frames::close(frame.as_ref()), Stage::Closed);
            }
        }
    }

    /// Answers a request: at once, if the house does; else a task brings the answer later.
    fn ask(&mut self, key: Key, text: &str) {
        let row = self.rows.get_mut(key);
        let Some(guest) = row.and_then(|row| row.guest.take()) else {
            return;
        };
        match self.house.hear(&mut self.local, guest, text) {
            Heard::Now(guest, answered) => {
                if let Some(row) = self.rows.get_mut(key) {
                    row.guest = Some(guest);
                }
                self.answer(key, &answered);
            }
            Heard::Later(answering) => {
                let (me, alive) = (self.me.clone(), self.alive.clone());
                tokio::task::spawn_local(async move {
                    let (guest, answered) = answering.await;
                    if let Some(front) = me.upgrade() {
                        front.borrow_mut().come_back(key, guest, &answered);
                    }
                    drop(alive);
                });
            }
        }
    }

    /// Adds an answer to the replies.
    fn answer(&mut self, key: Key, answered: &Answered) {
        let Some(row) = self.rows.get_mut(key) else {
            return;
        };
        self.replies.extend_from_slice(&answered.frames);
        let connections = self.house.connections();
        connections.messages_sent.add(answered.count);
        if !answered.good {
            connections.bad_requests.add(1);
            row.errors = row.errors.saturating_add(1);
        }
        let too_many = row.errors > self.options.errors_max;
        self.seat(key, answered.seat);
        if let Some((code, reason)) = answered.end {
            self.shut(key, code, reason);
        } else if too_many {
            self.shut(key, CloseCode::Policy, "too many bad requests");
        }
    }

    /// A guest who was away has its answer.
    fn come_back(&mut self, key: Key, guest: H::Guest, answered: &Answered) {
        match self.rows.get_mut(key) {
            Some(row) if row.stage == Stage::Open => row.guest = Some(guest),
            // The connection did not wait for it.
            _ => return self.dismiss(guest),
        }
        self.answer(key, answered);
        self.reply(key);
        if self.listener.is_none() {
            self.shut_by_stop(key);
        }
        self.call(key);
    }

    /// Lets a guest go whose connection ends.
    pub(super) fn dismiss(&mut self, guest: H::Guest) {
        if let Some(leaving) = self.house.dismiss(guest) {
            let alive = self.alive.clone();
            tokio::task::spawn_local(async move {
                leaving.await;
                drop(alive);
            });
        }
    }

    /// Closes a WebSocket and says why, or ends a stream.
    pub(super) fn shut(&mut self, key: Key, code: CloseCode, reason: impl AsRef<str>) {
        let last = self.last_bytes(key, code, reason.as_ref());
        self.take_leave(key, last, Stage::Closing);
    }

    fn shut_by_stop(&mut self, key: Key) {
        let guest = self.rows.get_mut(key).and_then(|row| row.guest.as_ref());
        let words = guest.map_or_else(Bytes::new, |guest| self.house.last_words(guest));
        let end = self.last_bytes(key, CloseCode::Away, self.options.farewell);
        let last = Bytes::from([&words[..], &end[..]].concat());
        self.take_leave(key, last, Stage::Closing);
    }

    fn last_bytes(&mut self, key: Key, code: CloseCode, reason: &str) -> Bytes {
        match self.rows.get_mut(key).map(|row| row.habit) {
            Some(Habit::Stream) => sse::END,
            _ => frames::close(Some(&CloseFrame {
                code,
                reason: reason.into(),
            })),
        }
    }

    /// Closes a lot of the open connections from `place` on; where to go on, if not at the end.
    ///
    /// One whose request is being answered is closed when it has the answer.
    pub(super) fn shut_lot(&mut self, place: u32) -> Option<u32> {
        let end = self.rows.places().min(place + super::LOT as u32);
        for place in place..end {
            if let Some((key, row)) = self.rows.at_mut(place)
                && row.stage == Stage::Open
                && row.guest.is_some()
            {
                self.shut_by_stop(key);
            }
        }
        (end < self.rows.places()).then_some(end)
    }
}
