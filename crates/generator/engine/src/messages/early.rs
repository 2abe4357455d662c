//! Messages that came before the step that waits for them began.
//!
//! The server need not send a message after the response to the request that caused it. So what no step waits for is
//! kept if an `expect` may follow that takes it, beside the tables of users and connections: to users without such
//! steps it costs nothing.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use plan::{AwaitedExpects, Expects, Plan};

use crate::messages::Delivery;
use crate::received::{OwnedMessage, ReceivedMessage};
use crate::tables::budget::{Budget, Charges};
use crate::tables::slots::{Key, UserKey};
use crate::users::{User, Wait};

/// Messages that are kept for a user, at most.
const EARLY_MESSAGES_MAX: usize = 100;
/// Bytes of messages that are kept for a user, at most. A longer one may be kept alone.
const EARLY_BYTES_MAX: usize = 256 << 10;

/// A message that no step has taken yet.
#[derive(Debug)]
pub(crate) struct EarlyMessage {
    /// When it came.
    pub(crate) came_ns: u64,
    /// How long it may have been there before it was read.
    pub(crate) read_late_ns: u64,
    /// Size on the wire.
    pub(crate) len: usize,
    pub(crate) message: OwnedMessage,
}

impl EarlyMessage {
    pub(super) fn new(delivery: &Delivery<'_>, read_late_ns: u64) -> EarlyMessage {
        EarlyMessage {
            came_ns: delivery.now_ns,
            read_late_ns,
            len: delivery.len,
            message: OwnedMessage::new(delivery.received),
        }
    }

    /// The message as it was delivered.
    pub(super) fn delivery<'a>(
        &self,
        user: UserKey,
        received: &'a ReceivedMessage<'a>,
    ) -> Delivery<'a> {
        Delivery { now_ns: self.came_ns, user, len: self.len, received }
    }

    /// Memory that it takes.
    fn bytes(&self) -> usize {
        size_of::<EarlyMessage>() + self.message.bytes()
    }
}

/// Messages of a user, in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct KeptMessages {
    pub(super) messages: VecDeque<EarlyMessage>,
    bytes: usize,
    /// How many of them came before the last `expect`s began.
    passed: usize,
    /// When the last `expect` ended; `None`: none has since the first of them came.
    ended_ns: Option<u64>,
}

impl KeptMessages {
    fn remove(&mut self, place: usize) -> Option<EarlyMessage> {
        let message = self.messages.remove(place)?;
        self.bytes -= message.bytes();
        self.passed -= usize::from(place < self.passed);
        Some(message)
    }

    fn add(&mut self, message: EarlyMessage) {
        self.bytes += message.bytes();
        self.messages.push_back(message);
    }

    /// True if this one would be too many, or too large beside the others.
    fn is_full(&self, message: &EarlyMessage) -> bool {
        let is_large = self.bytes + message.bytes() > EARLY_BYTES_MAX;
        self.messages.len() >= EARLY_MESSAGES_MAX || (is_large && !self.messages.is_empty())
    }
}

/// The early messages of a shard's users.
#[derive(Debug)]
pub(crate) struct EarlyMessages {
    /// By session: what may still be waited for.
    awaited: Vec<AwaitedExpects>,
    kept: HashMap<UserKey, KeptMessages>,
    /// Memory of what is kept, by user.
    charges: Charges,
}

impl EarlyMessages {
    pub(super) fn new(plan: &Plan, buffers: &Arc<Budget>) -> EarlyMessages {
        EarlyMessages {
            awaited: plan.sessions.iter().map(plan::Session::awaited).collect(),
            kept: HashMap::new(),
            charges: Charges::new(buffers),
        }
    }

    /// True if nothing is kept for any user.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// The steps that may take what comes for the user now.
    #[inline]
    pub(crate) fn awaited(&self, user: &User) -> Expects {
        let has_begun = match user.wait {
            Wait::Until => false,
            Wait::Restart | Wait::Close | Wait::Leaving => return Expects::default(),
            Wait::Nothing
            | Wait::Connect
            | Wait::Retry
            | Wait::Response
            | Wait::Upgrade
            | Wait::Reply
            | Wait::Turn
            | Wait::Others
            | Wait::Branches => true,
        };
        self.awaited[user.session.index()].at(user.pc, has_begun)
    }

    /// True if an `expect` may follow the step that the user is at.
    pub(crate) fn may_follow(&self, user: &User) -> bool {
        !self.awaited[user.session.index()].at(user.pc, true).is_empty()
    }

    /// The instructions of all steps that may take what comes for the user now.
    pub(crate) fn later(&self, user: &User) -> impl Iterator<Item = plan::Pc> {
        self.pcs(user, self.awaited(user))
    }

    /// The instructions of these steps.
    pub(super) fn pcs(&self, user: &User, expects: Expects) -> impl Iterator<Item = plan::Pc> {
        self.awaited[user.session.index()].pcs(expects)
    }

    /// Keeps a message. Returns those that there is no room for: the oldest, or the message itself if there is no memory.
    pub(super) fn keep(&mut self, user: UserKey, message: EarlyMessage) -> Vec<EarlyMessage> {
        let mut kept = self.detach(user).unwrap_or_default();
        let mut dropped = Vec::new();
        while kept.is_full(&message) {
            dropped.extend(kept.remove(0));
        }
        match self.charges.set(user.place(), kept.bytes + message.bytes()) {
            true => kept.add(message),
            false => dropped.push(message),
        }
        self.attach(user, kept);
        dropped
    }

    /// Takes the messages of the user out of the table.
    pub(super) fn detach(&mut self, user: UserKey) -> Option<KeptMessages> {
        match self.kept.is_empty() {
            true => None,
            false => self.kept.remove(&user),
        }
    }

    /// Puts it back.
    pub(super) fn attach(&mut self, user: UserKey, kept: KeptMessages) {
        // What is less always fits.
        self.charges.set(user.place(), kept.bytes);
        if !kept.messages.is_empty() {
            self.kept.insert(user, kept);
        }
    }

    /// Takes a message out of those that were detached, at this place.
    pub(super) fn take(
        &mut self,
        user: UserKey,
        mut kept: KeptMessages,
        place: Option<usize>,
    ) -> Option<EarlyMessage> {
        let message = place.and_then(|place| kept.remove(place));
        self.attach(user, kept);
        message
    }

    /// Takes all messages of the user.
    pub(super) fn take_all(&mut self, user: UserKey) -> VecDeque<EarlyMessage> {
        let Some(kept) = self.detach(user) else {
            return VecDeque::new();
        };
        self.charges.clear(user.place());
        kept.messages
    }

    /// An `expect` begins, which is due at `due_ns`. `expect`s that follow each other without a pause count as one. Takes
    /// the messages that came before the last of them began.
    pub(super) fn take_passed(&mut self, user: UserKey, due_ns: u64) -> Vec<EarlyMessage> {
        let Some(mut kept) = self.detach(user) else {
            return Vec::new();
        };
        let mut passed = Vec::new();
        if kept.ended_ns != Some(due_ns) {
            while kept.passed > 0 {
                passed.extend(kept.remove(0));
            }
            kept.passed = kept.messages.len();
        }
        self.attach(user, kept);
        passed
    }

    /// The user's `expect` ended; the next step is due then.
    pub(crate) fn ended(&mut self, user: UserKey, ended_ns: u64) {
        if let Some(kept) = self.kept.get_mut(&user) {
            kept.ended_ns = Some(ended_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const USER: UserKey = UserKey::NONE;

    fn message(came_ns: u64, bytes: usize) -> EarlyMessage {
        let body = vec![b'x'; bytes];
        let received = ReceivedMessage::message(&body);
        let delivery = Delivery { now_ns: came_ns, user: USER, len: bytes, received: &received };
        EarlyMessage::new(&delivery, 0)
    }

    fn nothing_kept(budget: Budget) -> EarlyMessages {
        let charges = Charges::new(&Arc::new(budget));
        EarlyMessages { awaited: Vec::new(), kept: HashMap::new(), charges }
    }

    fn times(messages: impl IntoIterator<Item = EarlyMessage>) -> Vec<u64> {
        messages.into_iter().map(|message| message.came_ns).collect()
    }

    #[test]
    fn the_oldest_give_way_to_what_is_too_many_or_too_large() {
        let mut early = nothing_kept(Budget::default());
        for came_ns in 0..EARLY_MESSAGES_MAX as u64 {
            assert!(early.keep(USER, message(came_ns, 10)).is_empty());
        }
        assert_eq!(times(early.keep(USER, message(1000, 10))), [0]);
        let large = EARLY_BYTES_MAX / 2;
        assert_eq!(early.keep(USER, message(1001, large)).len(), 1);
        assert_eq!(early.keep(USER, message(1002, large)).len(), EARLY_MESSAGES_MAX);
        // One that is larger than all may be is kept alone.
        assert_eq!(times(early.keep(USER, message(1003, 2 * EARLY_BYTES_MAX))), [1002]);
        assert_eq!(times(early.take_all(USER)), [1003]);
        assert!(early.is_empty());
    }

    #[test]
    fn what_there_is_no_memory_for_is_not_kept() {
        let mut early = nothing_kept(Budget::new(64 << 10));
        assert!(early.keep(USER, message(1, 40 << 10)).is_empty());
        assert_eq!(times(early.keep(USER, message(2, 40 << 10))), [2]);
        assert_eq!(times(early.take_all(USER)), [1]);
        assert!(early.keep(USER, message(3, 40 << 10)).is_empty());
    }

    /// Messages that came before the last step began are over, however many steps that counts as one.
    #[test]
    fn messages_pass_with_the_steps() {
        let mut early = nothing_kept(Budget::default());
        for came_ns in [1, 2] {
            early.keep(USER, message(came_ns, 10));
        }
        assert!(early.take_passed(USER, 10).is_empty());
        let kept = early.detach(USER).expect("two are kept");
        assert_eq!(early.take(USER, kept, Some(1)).map(|m| m.came_ns), Some(2));
        early.ended(USER, 20);
        early.keep(USER, message(3, 10));
        // It follows at once.
        assert!(early.take_passed(USER, 20).is_empty());
        early.ended(USER, 30);
        assert_eq!(times(early.take_passed(USER, 31)), [1]);
        early.ended(USER, 40);
        assert_eq!(times(early.take_passed(USER, 41)), [3]);
        assert!(early.is_empty());
    }
}
