//! One connection: a row in its thread's table. An idle one owns nothing besides.

use std::os::fd::OwnedFd;

use super::outbox::Outbox;
use super::service::KeepAlive;
use super::subscriptions::Subscriptions;
use crate::websocket::frames::Fragments;

/// Stage in the life of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The first request is not complete yet.
    Opening,
    /// A WebSocket between its two handshakes, or a stream.
    Open,
    /// We have said the last word and wait for the peer to leave.
    Closing,
    /// The peer's last word is being answered; then we leave.
    Closed,
}

/// A connection.
#[derive(Debug)]
pub(crate) struct Row<G> {
    pub(crate) socket: OwnedFd,
    /// When the peer was last heard of; before and after the WebSocket, when the stage began. In
    /// ticks.
    pub(crate) since: u32,
    /// Bad requests so far.
    pub(crate) errors: u16,
    /// The channels that it gets.
    pub(crate) subscriptions: Subscriptions,
    /// The state of the service; `None` while a request is being answered.
    pub(crate) connection: Option<G>,
    /// Received bytes that could not be understood yet.
    pub(crate) inbox: Option<Box<Inbox>>,
    /// Frames that could not be sent yet.
    pub(crate) outbox: Option<Box<Outbox>>,
    pub(crate) stage: Stage,
    /// Kind of the connection, and the meaning of its silence.
    pub(crate) keep_alive: KeepAlive,
    /// There may be something to read that the kernel will not report again.
    pub(crate) readable: bool,
    /// The peer will send nothing more; it must be read to its end.
    pub(crate) hung_up: bool,
    /// It is processed without a notification.
    pub(crate) scheduled: bool,
    /// The kernel reports room to write.
    pub(crate) room_watched: bool,
}

/// The beginning of something.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    /// A part of a head or of a frame; or whole frames, while the peer is not listened to.
    pub(crate) bytes: Vec<u8>,
    /// The beginning of a message in several frames.
    pub(crate) fragments: Fragments,
}

impl<G> Row<G> {
    /// A connection that came at `tick`.
    pub(crate) fn new(socket: OwnedFd, tick: u32) -> Self {
        Self {
            socket,
            since: tick,
            errors: 0,
            subscriptions: Subscriptions::None,
            connection: None,
            inbox: None,
            outbox: None,
            stage: Stage::Opening,
            keep_alive: KeepAlive::None,
            readable: false,
            hung_up: false,
            scheduled: false,
            room_watched: false,
        }
    }

    /// Whether what the peer sends is read. It is not while it does not read what it is sent, nor
    /// while a request is being answered, so that replies come in order.
    pub(crate) fn is_read(&self) -> bool {
        match self.stage {
            // Only a TLS handshake is sent anything.
            Stage::Opening => self.outbox.is_none(),
            Stage::Open => self.connection.is_some() && self.outbox.is_none(),
            // It is read, and thrown away.
            Stage::Closing => self.outbox.is_none(),
            Stage::Closed => false,
        }
    }

    /// Sets aside the beginning of a head or a frame.
    pub(crate) fn keep_bytes(&mut self, bytes: Vec<u8>) {
        if !bytes.is_empty() {
            self.inbox.get_or_insert_default().bytes = bytes;
        }
        self.forget_empty_inbox();
    }

    /// The bytes that [`Row::keep_bytes`] set aside.
    pub(crate) fn kept_bytes(&mut self) -> Vec<u8> {
        self.inbox.as_mut().map(|inbox| std::mem::take(&mut inbox.bytes)).unwrap_or_default()
    }

    /// Sets aside the beginning of a message.
    pub(crate) fn keep_fragments(&mut self, fragments: Fragments) {
        if fragments.under_way() {
            self.inbox.get_or_insert_default().fragments = fragments;
        }
        self.forget_empty_inbox();
    }

    /// The fragments that [`Row::keep_fragments`] set aside.
    pub(crate) fn kept_fragments(&mut self) -> Fragments {
        self.inbox.as_mut().map(|inbox| std::mem::take(&mut inbox.fragments)).unwrap_or_default()
    }

    fn forget_empty_inbox(&mut self) {
        self.inbox.take_if(|inbox| inbox.bytes.is_empty() && !inbox.fragments.under_way());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reactor::table::Table;

    /// A row and four bytes in the channel's subscribers are all that an idle connection costs here,
    /// where the service knows 32 bytes of it, a pointer among them.
    #[test]
    fn an_idle_connection_is_small() {
        let bytes = Table::<Row<(Box<u8>, [u64; 3])>>::ROW_BYTES;
        assert!(bytes <= 88, "{bytes} bytes");
        let bytes = size_of::<Inbox>();
        assert!(bytes <= 64, "{bytes} bytes");
    }
}
