//! Between the two handshakes: requests and their replies.

use std::borrow::Cow;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use super::Front;
use crate::market::connection::{Connection, Stage};
use crate::market::desk::{Answered, Visitor};
use crate::market::table::Key;
use crate::wire::frames::{self, Said, Taken};

/// Replies are gathered up to so many bytes before they are sent.
const GATHER_BYTES: usize = 16 * 1024;

impl Front {
    /// Answers the frames in `bytes`, as long as the peer reads its replies; how many of the bytes
    /// are not needed any more.
    pub(super) fn listen(&mut self, key: Key, bytes: &mut [u8]) -> usize {
        let row = self.rows.get_mut(key);
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
            match frames::take(&mut bytes[used..], &mut fragments, self.message_max) {
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
                self.hub.metrics.messages_received.add(1);
                self.ask(key, text);
            }
            Said::Binary => {
                self.hub.metrics.messages_received.add(1);
                self.answer(key, &Answered::binary());
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

    /// Answers a request: at once, if the store does; else a task brings the answer later.
    fn ask(&mut self, key: Key, text: Cow<'_, str>) {
        let row = self.rows.get_mut(key);
        let Some(mut visitor) = row.and_then(|row| row.visitor.take()) else {
            return;
        };
        let (hub, text) = (Arc::clone(&self.hub), text.into_owned());
        let mut asking = Box::pin(async move {
            let answered = visitor.ask(&hub, &text).await;
            (visitor, answered)
        });
        match poll_once(asking.as_mut()) {
            Poll::Ready((visitor, answered)) => {
                if let Some(row) = self.rows.get_mut(key) {
                    row.visitor = Some(visitor);
                }
                self.answer(key, &answered);
            }
            Poll::Pending => {
                let (me, alive) = (self.me.clone(), self.alive.clone());
                tokio::task::spawn_local(async move {
                    let (visitor, answered) = asking.await;
                    if let Some(front) = me.upgrade() {
                        front.borrow_mut().come_back(key, visitor, &answered);
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
        self.replies.extend_from_slice(&answered.frame);
        self.hub.metrics.messages_sent.add(1);
        if !answered.good {
            self.hub.metrics.bad_requests.add(1);
            row.errors += 1;
        }
        let too_many = row.errors > self.errors_max;
        let joined = row.visitor.as_ref().and_then(Visitor::joined);
        self.move_to(key, joined);
        if too_many {
            self.shut(key, CloseCode::Policy, "too many bad requests");
        }
    }

    /// A visitor who was away has its answer.
    fn come_back(&mut self, key: Key, visitor: Visitor, answered: &Answered) {
        match self.rows.get_mut(key) {
            Some(row) if row.stage == Stage::Open => row.visitor = Some(visitor),
            // The connection did not wait for it.
            _ => return self.dismiss(visitor),
        }
        self.answer(key, answered);
        self.reply(key);
        if self.listener.is_none() {
            self.shut_by_stop(key);
        }
        self.call(key);
    }

    /// Lets a visitor go whose connection ends.
    pub(super) fn dismiss(&mut self, visitor: Visitor) {
        if !visitor.has_to_leave() {
            return;
        }
        let hub = Arc::clone(&self.hub);
        let mut leaving = Box::pin(async move { visitor.leave(&hub).await });
        if poll_once(leaving.as_mut()).is_pending() {
            let alive = self.alive.clone();
            tokio::task::spawn_local(async move {
                leaving.await;
                drop(alive);
            });
        }
    }

    /// Closes a WebSocket and says why.
    pub(super) fn shut(&mut self, key: Key, code: CloseCode, reason: impl AsRef<str>) {
        let frame = CloseFrame {
            code,
            reason: reason.as_ref().into(),
        };
        self.take_leave(key, frames::close(Some(&frame)), Stage::Closing);
    }

    fn shut_by_stop(&mut self, key: Key) {
        self.shut(key, CloseCode::Away, "the market stops");
    }

    /// Closes a lot of the open WebSockets from `place` on; where to go on, if not at the end.
    ///
    /// One whose request is being answered is closed when it has the answer.
    pub(in crate::market) fn shut_lot(&mut self, place: u32) -> Option<u32> {
        let end = self.rows.places().min(place + super::LOT as u32);
        for place in place..end {
            if let Some((key, row)) = self.rows.at_mut(place)
                && row.stage == Stage::Open
                && row.visitor.is_some()
            {
                self.shut_by_stop(key);
            }
        }
        (end < self.rows.places()).then_some(end)
    }
}

/// Whether a future is ready without waiting. Nobody is woken for it: one that is not ready must
/// be polled again at once by whoever waits for it, here by a task made for that.
fn poll_once<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}
