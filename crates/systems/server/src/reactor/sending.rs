//! Sending: straight to the kernel, and what that does not take into the connection's outbox.

use std::os::fd::OwnedFd;
use std::time::Duration;

use bytes::Bytes;
use rustix::io::Errno;
use rustix::net::{SendFlags, Shutdown, send, shutdown, sockopt};

use super::notice::Notice;
use super::outbox::{NoticeFate, Outbox};
use super::row::Stage;
use super::service::{KeepAlive, Service};
use super::subscribers::Subscribers;
use super::table::Key;
use super::{BATCH, Reactor};
use crate::sse;
use crate::websocket::frames;

const FLAGS: SendFlags = SendFlags::DONTWAIT.union(SendFlags::NOSIGNAL);

/// Result of sending bytes.
pub(super) enum SendResult {
    All,
    /// The kernel did not take this of what goes out.
    Part(Bytes),
    /// The kernel took nothing, and nothing else has to go out next.
    Nothing,
    /// The connection is broken.
    Failed,
}

/// Sends bytes as they are; `rest` makes what is kept of those that the kernel does not take.
pub(super) fn transmit_plain(
    socket: &OwnedFd,
    bytes: &[u8],
    rest: impl FnOnce(&[u8]) -> Bytes,
) -> SendResult {
    match send(socket, bytes, FLAGS) {
        Ok(count) if count == bytes.len() => SendResult::All,
        Ok(count) => SendResult::Part(rest(&bytes[count..])),
        Err(Errno::AGAIN) => SendResult::Nothing,
        Err(_) => SendResult::Failed,
    }
}

/// Results of a broadcast, counted once per batch.
#[derive(Debug, Default)]
struct Tally {
    sent: u64,
    superseded: u64,
    given_up: u64,
}

impl<S: Service> Reactor<S> {
    /// Begins a broadcast to the present subscribers of `channel`.
    pub fn begin_broadcast(&mut self, channel: u32) {
        if let Some(subscribers) = self.channels.get_mut(channel as usize) {
            subscribers.begin();
        }
    }

    /// Sends `notice` to a batch of them; whether there may be more.
    pub(crate) fn broadcast_batch(&mut self, channel: u32, notice: &Notice) -> bool {
        let mut tally = Tally::default();
        let mut more = true;
        for _ in 0..BATCH {
            let subscribers = self.channels.get_mut(channel as usize);
            let Some(listener) = subscribers.and_then(Subscribers::next) else {
                more = false;
                break;
            };
            self.deliver(listener, notice, &mut tally);
        }
        let connections = self.service.connections();
        connections.messages_sent.add(tally.sent);
        connections.superseded.add(tally.superseded);
        connections.slow_disconnects.add(tally.given_up);
        more
    }

    fn deliver(&mut self, listener: u32, notice: &Notice, tally: &mut Tally) {
        let Some((key, row)) = self.rows.at_mut(listener) else {
            return;
        };
        if row.outbox.is_none() {
            let frame = &notice.frame;
            let sent = match &mut self.encryption {
                None => transmit_plain(&row.socket, frame, |rest| frame.slice_ref(rest)),
                Some(encryption) => encryption.transmit(&row.socket, listener, frame),
            };
            if let SendResult::Nothing = sent {
                let mut outbox = Outbox::default();
                outbox.leave(notice, self.options.queue_limits);
                return self.wait_for_room(key, outbox);
            }
            tally.sent += u64::from(!matches!(sent, SendResult::Failed));
            return self.on_sent(key, sent);
        }
        match row.outbox.as_mut().map(|outbox| outbox.leave(notice, self.options.queue_limits)) {
            Some(NoticeFate::Superseded) => tally.superseded += 1,
            Some(NoticeFate::GivenUp) => {
                tally.given_up += 1;
                self.abort(key);
            }
            Some(NoticeFate::Waiting) | None => {}
        }
    }

    /// Gives up a connection without a word: what the kernel still holds for it is dropped.
    fn abort(&mut self, key: Key) {
        if let Some(row) = self.rows.get_mut(key) {
            // Without it, the kernel would keep that for as long as the peer does not read.
            let _ = sockopt::set_socket_linger(&row.socket, Some(Duration::ZERO));
        }
        self.close(key);
    }

    /// Sends the replies that were gathered.
    pub(super) fn reply(&mut self, key: Key) {
        if self.replies.is_empty() {
            return;
        }
        let mut replies = std::mem::take(&mut self.replies);
        match self.rows.get_mut(key).map(|row| row.outbox.as_mut()) {
            Some(Some(outbox)) => outbox.reply(Bytes::copy_from_slice(&replies)),
            Some(None) => self.send(key, &replies),
            None => {}
        }
        replies.clear();
        self.replies = replies;
    }

    /// Sends bytes to a connection without an outbox. It gets one for what the kernel does not
    /// take, of which this makes a copy.
    fn send(&mut self, key: Key, bytes: &[u8]) {
        let Some(row) = self.rows.get_mut(key) else {
            return;
        };
        let sent = match &mut self.encryption {
            None => transmit_plain(&row.socket, bytes, Bytes::copy_from_slice),
            Some(encryption) => encryption.transmit(&row.socket, key.place(), bytes),
        };
        match sent {
            SendResult::Nothing => {
                self.on_sent(key, SendResult::Part(Bytes::copy_from_slice(bytes)));
            }
            sent => self.on_sent(key, sent),
        }
    }

    /// Keeps what was not sent.
    pub(super) fn on_sent(&mut self, key: Key, sent: SendResult) {
        match sent {
            SendResult::All | SendResult::Nothing => {}
            SendResult::Part(rest) => self.wait_for_room(key, Outbox::with_rest(rest)),
            SendResult::Failed => self.close(key),
        }
    }

    /// Gives a connection an outbox.
    fn wait_for_room(&mut self, key: Key, outbox: Outbox) {
        let Some(row) = self.rows.get_mut(key) else {
            return;
        };
        row.outbox = Some(Box::new(outbox));
        // Watched from the first time on: it does no harm later, and is reported once.
        if !std::mem::replace(&mut row.room_watched, true)
            && self.poller.watch_room(&row.socket, key.to_bits()).is_err()
        {
            self.close(key);
        }
    }

    /// Sends what waits for a connection, as far as there is room.
    pub(super) fn drain(&mut self, key: Key) {
        let Some(row) = self.rows.get_mut(key) else {
            return;
        };
        let Some(outbox) = &mut row.outbox else {
            return;
        };
        let messages = &self.service.connections().messages_sent;
        let ping = ping_of(row.keep_alive);
        let encryption = &mut self.encryption;
        loop {
            let seal = |frame: Bytes| match encryption {
                Some(encryption) => encryption.seal(key.place(), &frame),
                None => frame,
            };
            let Some(bytes) = outbox.next(ping.clone(), || messages.add(1), seal) else {
                break;
            };
            let length = bytes.len();
            if length == 0 {
                // It could not be sealed.
                return self.close(key);
            }
            match send(&row.socket, bytes, FLAGS) {
                Ok(count) => {
                    outbox.sent(count);
                    if count < length {
                        return;
                    }
                }
                Err(Errno::AGAIN) => return,
                Err(_) => return self.close(key),
            }
        }
        row.outbox = None;
        self.all_sent(key);
        // It is listened to again.
        self.schedule(key);
    }

    /// Sends a ping, or leaves it in the outbox.
    pub(super) fn ping(&mut self, key: Key) {
        let Some(row) = self.rows.get_mut(key) else {
            return;
        };
        match &mut row.outbox {
            Some(outbox) => outbox.ping(),
            None => {
                self.service.connections().messages_sent.add(1);
                let ping = ping_of(row.keep_alive);
                self.send(key, &ping);
            }
        }
    }

    /// Sends the last word: after that `stage` begins, which is one of the last two.
    pub(super) fn send_last(&mut self, key: Key, last: Bytes, stage: Stage) {
        self.reply(key);
        self.unsubscribe_all(key);
        let Some(row) = self.rows.get_mut(key) else {
            return;
        };
        if row.stage == Stage::Open {
            self.transitional += 1;
        }
        row.stage = stage;
        row.since = self.tick;
        row.inbox = None;
        let connection = row.connection.take();
        match &mut row.outbox {
            Some(outbox) => outbox.end(last),
            None => {
                if !last.is_empty() {
                    self.send(key, &last);
                }
                self.all_sent(key);
            }
        }
        if let Some(connection) = connection {
            self.release(connection);
        }
    }

    /// Goes on with a connection that is ending, if all was sent.
    fn all_sent(&mut self, key: Key) {
        let Some(row) = self.rows.get_mut(key).filter(|row| row.outbox.is_none()) else {
            return;
        };
        let stage = row.stage;
        if matches!(stage, Stage::Closing | Stage::Closed) && self.say_end(key) {
            return;
        }
        let Some(row) = self.rows.get_mut(key) else {
            return;
        };
        match stage {
            Stage::Opening | Stage::Open => {}
            // What the peer still sends is read and thrown away: a socket closed with bytes
            // unread is reset, and the reset can overtake the last word.
            Stage::Closing => match shutdown(&row.socket, Shutdown::Write) {
                Ok(()) => self.schedule(key),
                Err(_) => self.close(key),
            },
            Stage::Closed => self.close(key),
        }
    }
}

/// The bytes that show a peer that the connection is alive.
fn ping_of(keep_alive: KeepAlive) -> Bytes {
    match keep_alive {
        KeepAlive::Stream => sse::HEARTBEAT,
        _ => frames::PING,
    }
}
