//! From when until when users are subscribed to the messages that the server pushes.
//!
//! A subscription begins when its connection is ready: a WebSocket, an event stream or a TCP
//! connection is open, a poll has its first answer, a topic is joined. It ends when the session closes
//! it, or when the connection is lost. An event stream that reconnects stays subscribed, a plain WebSocket
//! that does subscribes again.

use plan::expr::{Template, TemplatePart};
use plan::{ChannelVerb, Op, Pc, Poll, SessionId};

use crate::channels::has_topics;
use crate::interpreter::Interpreter;
use crate::protocols::Protocol;
use crate::sequences::{SubscriptionOrigin, sequence};
use crate::tables::slots::{ConnSlot, UserKey};

impl Interpreter<'_> {
    /// The operation in flight succeeded: what it opened is there.
    pub(crate) fn begin_subscription(&mut self, now_ns: u64, key: UserKey) {
        if !self.messages.accounts.are_kept() {
            return;
        }
        let (topics, alike) = match self.users.op(key) {
            Some(Op::WsOpen(open)) => {
                (open.protocol.is_some_and(has_topics), is_same_for_all(&open.path))
            }
            Some(Op::SseOpen(open)) => (false, is_same_for_all(&open.path)),
            Some(Op::Channel(op)) if op.verb == ChannelVerb::Join => {
                return self.join_topics(now_ns, key);
            }
            // A poll's begins with its first answer.
            Some(op) if op.stays_open() && !matches!(op, Op::Poll(_)) => (false, true),
            _ => return,
        };
        let user = &self.users[key];
        let opened = SubscriptionOrigin { by: step(user.session, user.pc), topics, alike };
        self.messages.subscribe(now_ns, key, opened);
    }

    /// The topics that were joined last, by one message, are there.
    fn join_topics(&mut self, now_ns: u64, key: UserKey) {
        let Some(slot) = self.stream(key) else {
            return;
        };
        if let Protocol::Channels(channels) = &self.conns[slot].speaks
            && let Some(last) = channels.topics.last()
        {
            let topics = channels.topics.iter();
            for topic in topics.filter(|own| own.joined_by == last.joined_by) {
                self.messages.accounts.join(key, &topic.name, now_ns);
            }
        }
    }

    /// A WebSocket without topics is open again.
    pub(crate) fn subscribe_again(&mut self, now_ns: u64, slot: ConnSlot) {
        let key = self.conns[slot].user;
        let pc = self.conns[slot].background().map_or(0, |own| own.pc);
        if let Op::WsOpen(open) = self.background_op(slot)
            && self.messages.accounts.are_kept()
        {
            let opened = SubscriptionOrigin {
                by: step(self.users[key].session, pc),
                topics: false,
                alike: is_same_for_all(&open.path),
            };
            self.messages.subscribe(now_ns, key, opened);
        }
    }

    /// A poll was answered.
    pub(crate) fn poll_answered(&mut self, now_ns: u64, slot: ConnSlot, poll: &Poll) {
        let key = self.conns[slot].user;
        let pc = self.conns[slot].background().map_or(0, |poll| poll.pc);
        let opened = SubscriptionOrigin {
            by: step(self.users[key].session, pc),
            topics: false,
            alike: is_same_for_all(&poll.path),
        };
        self.messages.subscribe(now_ns, key, opened);
        self.messages.accounts.polled(key, now_ns);
    }

    /// The sequences of the topics that the user has joined.
    pub(crate) fn topics(&self, key: UserKey) -> Vec<u64> {
        if !self.messages.accounts.are_kept() {
            return Vec::new();
        }
        let stream = self.stream(key);
        let stream = stream.map(|slot| &self.conns[slot].speaks);
        let Some(Protocol::Channels(channels)) = stream else {
            return Vec::new();
        };
        let topics = channels.topics.iter().filter(|topic| topic.open);
        topics.map(|topic| sequence(&topic.name)).collect()
    }

    /// The session left a topic; it had `before` until then.
    pub(crate) fn leave_topics(&mut self, now_ns: u64, key: UserKey, mut before: Vec<u64>) {
        let kept = self.topics(key);
        before.retain(|topic| !kept.contains(topic));
        self.messages.leave(&mut self.recorder, now_ns, key, &before);
    }

    /// The session closes its stream, or the stream is lost for good.
    pub(crate) fn end_subscription(&mut self, now_ns: u64, key: UserKey) {
        self.drop_early(key);
        self.interrupt_subscription(now_ns, key);
    }

    /// The same of a stream that is about to come back: a step may take what came over it before.
    pub(crate) fn interrupt_subscription(&mut self, now_ns: u64, key: UserKey) {
        let joined = self.topics(key);
        self.messages.end(&mut self.recorder, now_ns, key, &joined);
    }
}

/// The name of a step.
fn step(session: SessionId, pc: Pc) -> u64 {
    u64::from(session.0) << 32 | u64::from(pc)
}

/// True if all users who open this path open the same: nothing in it depends on the user, but for its
/// query, in which credentials stand.
fn is_same_for_all(path: &Template) -> bool {
    let mut parts = path.parts.iter();
    let end = parts.find(|part| match part {
        TemplatePart::Text(text) => text.contains('?'),
        TemplatePart::Bytes(_) => false,
        TemplatePart::Expr(..) => true,
    });
    !matches!(end, Some(TemplatePart::Expr(..)))
}
