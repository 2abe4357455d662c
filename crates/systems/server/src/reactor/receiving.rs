//! Between the two handshakes: requests and their replies.

use bytes::Bytes;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use super::Reactor;
use super::row::{Row, Stage};
use super::service::{HandleResult, KeepAlive, Response, Service};
use super::table::Key;
use crate::sse;
use crate::websocket::frames::{self, DecodeResult, PeerMessage};

/// Maximum size of the replies that are gathered before they are sent, in bytes.
const GATHER_BYTES: usize = 16 * 1024;

impl<S: Service> Reactor<S> {
    /// Answers the frames in `bytes`, as long as the peer reads its replies; how many of the bytes
    /// are not needed any more.
    pub(super) fn read_frames(&mut self, key: Key, bytes: &mut [u8]) -> usize {
        let row = self.rows.get_mut(key);
        if row.as_ref().is_some_and(|row| row.keep_alive == KeepAlive::Stream) {
            // Whoever gets a stream has nothing more to say.
            self.reply(key);
            return bytes.len();
        }
        let mut fragments = row.map(Row::kept_fragments).unwrap_or_default();
        let mut used = 0;
        let result = loop {
            // Whoever is sent so much must take it before there is more.
            if self.replies.len() >= GATHER_BYTES {
                self.reply(key);
            }
            let row = self.rows.get_mut(key);
            if !row.is_some_and(|row| row.stage == Stage::Open && row.is_read()) {
                break Ok(());
            }
            match frames::take(&mut bytes[used..], &mut fragments, self.options.message_max) {
                Ok(DecodeResult::Frame { length, received }) => {
                    if let Some(received) = received {
                        self.on_frame(key, received);
                    }
                    used += length;
                }
                Ok(DecodeResult::Nothing) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        self.reply(key);
        if let Err(error) = result {
            self.close_with(key, error.code(), error.to_string());
        }
        if let Some(row) = self.rows.get_mut(key)
            && row.stage == Stage::Open
        {
            row.keep_fragments(fragments);
        }
        used
    }

    fn on_frame(&mut self, key: Key, received: PeerMessage<'_>) {
        match received {
            PeerMessage::Text(text) => {
                self.service.connections().messages_received.add(1);
                self.request(key, &text);
            }
            PeerMessage::Binary(bytes) => {
                self.service.connections().messages_received.add(1);
                let connection = self.rows.get_mut(key).and_then(|row| row.connection.as_ref());
                let Some(connection) = connection else { return };
                match std::str::from_utf8(&bytes) {
                    Ok(text) if self.service.binary_as_text(connection) => self.request(key, text),
                    _ => {
                        let response = self.service.on_binary(connection);
                        self.add_response(key, &response);
                    }
                }
            }
            PeerMessage::Ping(payload) => self.replies.extend_from_slice(&frames::pong(payload)),
            PeerMessage::Pong => {}
            PeerMessage::Close(code) => {
                // The status comes back as it went (RFC 6455, section 5.5.1).
                let frame = code.map(|code| CloseFrame { code, reason: "".into() });
                self.send_last(key, frames::close(frame.as_ref()), Stage::Closed);
            }
        }
    }

    /// Answers a request: at once, if the service does; else a task brings the answer later.
    fn request(&mut self, key: Key, text: &str) {
        let row = self.rows.get_mut(key);
        let Some(connection) = row.and_then(|row| row.connection.take()) else {
            return;
        };
        match self.service.on_text(&mut self.thread_state, connection, text) {
            HandleResult::Now(connection, response) => {
                if let Some(row) = self.rows.get_mut(key) {
                    row.connection = Some(connection);
                }
                self.add_response(key, &response);
            }
            HandleResult::Later(answering) => {
                let me = self.me.clone();
                let alive = self.alive.clone();
                tokio::task::spawn_local(async move {
                    let (connection, response) = answering.await;
                    if let Some(reactor) = me.upgrade() {
                        reactor.borrow_mut().resume(key, connection, &response);
                    }
                    drop(alive);
                });
            }
        }
    }

    /// Adds an answer to the replies.
    fn add_response(&mut self, key: Key, response: &Response) {
        let Some(row) = self.rows.get_mut(key) else {
            return;
        };
        self.replies.extend_from_slice(&response.frames);
        let connections = self.service.connections();
        connections.messages_sent.add(response.count);
        if !response.good {
            connections.bad_requests.add(1);
            row.errors = row.errors.saturating_add(1);
        }
        let too_many = row.errors > self.options.errors_max;
        self.change_subscription(key, response.subscription);
        if let Some((code, reason)) = response.end {
            self.close_with(key, code, reason);
        } else if too_many {
            self.close_with(key, CloseCode::Policy, "too many bad requests");
        }
    }

    /// Completes a request that took time.
    fn resume(&mut self, key: Key, connection: S::Connection, response: &Response) {
        match self.rows.get_mut(key) {
            Some(row) if row.stage == Stage::Open => row.connection = Some(connection),
            // The connection did not wait for it.
            _ => return self.release(connection),
        }
        self.add_response(key, response);
        self.reply(key);
        if self.listener.is_none() {
            self.close_for_stop(key);
        }
        self.schedule(key);
    }

    /// Releases the state of a connection that ended.
    pub(super) fn release(&mut self, connection: S::Connection) {
        if let Some(leaving) = self.service.on_close(connection) {
            let alive = self.alive.clone();
            tokio::task::spawn_local(async move {
                leaving.await;
                drop(alive);
            });
        }
    }

    /// Closes a WebSocket and says why, or ends a stream.
    pub(super) fn close_with(&mut self, key: Key, code: CloseCode, reason: impl AsRef<str>) {
        let last = self.last_bytes(key, code, reason.as_ref());
        self.send_last(key, last, Stage::Closing);
    }

    fn close_for_stop(&mut self, key: Key) {
        let connection = self.rows.get_mut(key).and_then(|row| row.connection.as_ref());
        let words = connection
            .map_or_else(Bytes::new, |connection| self.service.closing_message(connection));
        let end = self.last_bytes(key, CloseCode::Away, self.options.close_reason);
        let last = Bytes::from([&words[..], &end[..]].concat());
        self.send_last(key, last, Stage::Closing);
    }

    fn last_bytes(&mut self, key: Key, code: CloseCode, reason: &str) -> Bytes {
        match self.rows.get_mut(key).map(|row| row.keep_alive) {
            Some(KeepAlive::Stream) => sse::END,
            _ => frames::close(Some(&CloseFrame { code, reason: reason.into() })),
        }
    }

    /// Closes a batch of the open connections from `place` on; where to continue, if not at the end.
    ///
    /// One whose request is being answered is closed when it has the answer.
    pub(super) fn close_batch(&mut self, place: u32) -> Option<u32> {
        let end = self.rows.places().min(place + super::BATCH as u32);
        for place in place..end {
            if let Some((key, row)) = self.rows.at_mut(place)
                && row.stage == Stage::Open
                && row.connection.is_some()
            {
                self.close_for_stop(key);
            }
        }
        (end < self.rows.places()).then_some(end)
    }
}
