//! Messages, whatever transport brought them: replies that a step waits for, and messages that the
//! server pushes.

pub(crate) mod early;
mod stamps;

use std::sync::Arc;

use plan::Plan;
use plan::json::depth_note;
use plan::{
    Acknowledgement, Expect, Expects, Match, MeasureId, MessageId, MessageNumber, Op,
    PushedMessage, Source,
};
use record::{Measurement, Outcome};

use crate::failures::FailureReport;
use crate::measure::{Counts, Recorder};
use crate::messages::early::{EarlyMessage, EarlyMessages};
use crate::received::{ReceivedMessage, Search};
use crate::sequences::{
    Accounts, Broadcast, EndedSequence, NumberFit, SubscriptionOrigin, sequence,
};
use crate::tables::budget::Budget;
use crate::tables::slots::UserKey;
use crate::users::Users;
use stamps::{Clocks, SendTime};

/// A message that arrived.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Delivery<'a> {
    pub(crate) now_ns: u64,
    /// The key of its user.
    pub(crate) user: UserKey,
    /// Size on the wire.
    pub(crate) len: usize,
    pub(crate) received: &'a ReceivedMessage<'a>,
}

/// Matches messages of a shard's users, and tracks numbered ones.
#[derive(Debug)]
pub(crate) struct Messages<'p> {
    plan: &'p Plan,
    /// Accounts of the users that are subscribed to numbered messages.
    pub(crate) accounts: Accounts<UserKey>,
    /// Messages that later steps may take.
    pub(crate) early: EarlyMessages,
    clocks: Clocks,
    /// How long what is received now may have been there before it was read.
    pub(crate) read_late_ns: u64,
    scratch: Vec<u8>,
}

impl<'p> Messages<'p> {
    pub(crate) fn new(plan: &'p Plan, buffers: &Arc<Budget>) -> Messages<'p> {
        Messages {
            plan,
            accounts: Accounts::new(plan),
            early: EarlyMessages::new(plan, buffers),
            clocks: Clocks::new(plan),
            read_late_ns: 0,
            scratch: Vec::new(),
        }
    }

    /// Do all conditions hold for the message?
    pub(crate) fn matches(
        &mut self,
        users: &mut Users<'_>,
        delivery: &Delivery<'_>,
        when: &[Match],
    ) -> bool {
        let scope = &mut users.scope(delivery.now_ns, delivery.user);
        delivery.received.matches(when, scope, &mut self.scratch)
    }

    /// Is this the message that a step waits for? Without conditions: the next one that is no
    /// pushed message.
    pub(crate) fn is_expected(
        &mut self,
        users: &mut Users<'_>,
        delivery: &Delivery<'_>,
        expect: &Expect,
    ) -> bool {
        if expect.when.is_empty() {
            self.find_pushed(users, delivery).is_none()
        } else {
            self.matches(users, delivery, &expect.when)
        }
    }

    /// True if the message that a step waits for can only come from the topic that `delivery` has.
    pub(crate) fn names_topic(
        &mut self,
        users: &mut Users<'_>,
        delivery: &Delivery<'_>,
        expect: &Expect,
    ) -> bool {
        let mut of_topic = expect.when.iter().filter(|m| m.from == Source::Topic);
        of_topic.any(|condition| self.matches(users, delivery, std::slice::from_ref(condition)))
    }

    /// The arguments with which a message is answered, as a JSON list; `None`: it is left without an
    /// answer. The error has the measure that it belongs to.
    pub(crate) fn answer(
        &mut self,
        users: &mut Users<'_>,
        delivery: &Delivery<'_>,
    ) -> Result<Option<Vec<u8>>, (MeasureId, String)> {
        let Some((_, pushed)) = self.find_pushed(users, delivery) else {
            return Ok(Some(b"[]".to_vec()));
        };
        let Acknowledgement::With(arguments) = &pushed.ack else {
            return Ok(None);
        };
        let mut out = Vec::new();
        let scope = &mut users.scope(delivery.now_ns, delivery.user);
        match arguments.render(scope, &mut out) {
            Ok(()) => Ok(Some(out)),
            Err(error) => Err((pushed.measure, error.to_string())),
        }
    }

    /// Which of the plan's pushed messages it is, and its place among them.
    fn find_pushed(
        &mut self,
        users: &mut Users<'_>,
        delivery: &Delivery<'_>,
    ) -> Option<(MessageId, &'p PushedMessage)> {
        let plan = self.plan;
        let mut known = plan.messages.iter();
        let scope = &mut users.scope(delivery.now_ns, delivery.user);
        let place = known.position(|message| {
            let received = delivery.received;
            received.matches(&message.when, scope, &mut self.scratch)
        })?;
        Some((MessageId(place as u16), &plan.messages[place]))
    }

    /// Records a message that no step waits for.
    pub(crate) fn take_pushed(
        &mut self,
        users: &mut Users<'_>,
        recorder: &mut Recorder,
        delivery: &Delivery<'_>,
    ) {
        self.settle(users, recorder, delivery, false);
    }

    /// The same. `is_accounted`: its number, if it has one, was accounted for when it came.
    fn settle(
        &mut self,
        users: &mut Users<'_>,
        recorder: &mut Recorder,
        delivery: &Delivery<'_>,
        is_accounted: bool,
    ) {
        recorder.counts.bytes_in += delivery.len as u64;
        match self.find_pushed(users, delivery) {
            Some((place, message)) => {
                self.record_pushed(users, recorder, delivery, place, message, is_accounted);
            }
            None => recorder.counts.unmatched += 1,
        }
    }

    /// Keeps a message that no step waits for if one of these steps may take it later. Its number is accounted for now.
    /// False: none of them can take it.
    pub(crate) fn keep_early(
        &mut self,
        users: &mut Users<'_>,
        recorder: &mut Recorder,
        delivery: &Delivery<'_>,
        expects: Expects,
    ) -> bool {
        let session = users.session(delivery.user);
        let pcs: Vec<_> = self.early.pcs(&users[delivery.user], expects).collect();
        let may_take = pcs.into_iter().any(|pc| match session.ops.get(pc as usize) {
            Some(Op::Expect(expect)) => self.may_be_expected(users, delivery, expect),
            _ => false,
        });
        if !may_take {
            return false;
        }
        self.track_expected(users, recorder, delivery, None);
        let message = EarlyMessage::new(delivery, self.read_late_ns);
        let dropped = self.early.keep(delivery.user, message);
        recorder.counts.early_dropped += dropped.len() as u64;
        self.settle_early(users, recorder, delivery.user, dropped);
        true
    }

    /// Is this a message that a step can take which has not begun?
    fn may_be_expected(
        &mut self,
        users: &mut Users<'_>,
        delivery: &Delivery<'_>,
        expect: &Expect,
    ) -> bool {
        if expect.when.is_empty() {
            return self.find_pushed(users, delivery).is_none();
        }
        let scope = &mut users.scope(delivery.now_ns, delivery.user);
        delivery.received.may_match(&expect.when, scope, &mut self.scratch)
    }

    /// Takes the first of the user's early messages that this step waits for. What came before the last step on the
    /// connection began is over.
    pub(crate) fn take_early(
        &mut self,
        users: &mut Users<'_>,
        recorder: &mut Recorder,
        user: UserKey,
        expect: &Expect,
    ) -> Option<EarlyMessage> {
        let passed = self.early.take_passed(user, users[user].due_ns);
        self.settle_early(users, recorder, user, passed);
        let kept = self.early.detach(user)?;
        let place = kept.messages.iter().position(|early| {
            let received = early.message.received();
            self.is_expected(users, &early.delivery(user, &received), expect)
        });
        self.early.take(user, kept, place)
    }

    /// No step can take the user's early messages any more.
    pub(crate) fn drop_early(
        &mut self,
        users: &mut Users<'_>,
        recorder: &mut Recorder,
        user: UserKey,
    ) {
        let messages = self.early.take_all(user);
        self.settle_early(users, recorder, user, messages);
    }

    /// Records messages that no step has taken, with the times at which they came.
    fn settle_early(
        &mut self,
        users: &mut Users<'_>,
        recorder: &mut Recorder,
        user: UserKey,
        messages: impl IntoIterator<Item = EarlyMessage>,
    ) {
        let read_late_ns = self.read_late_ns;
        for early in messages {
            self.read_late_ns = early.read_late_ns;
            let received = early.message.received();
            self.settle(users, recorder, &early.delivery(user, &received), true);
        }
        self.read_late_ns = read_late_ns;
    }

    fn record_pushed(
        &mut self,
        users: &Users<'_>,
        recorder: &mut Recorder,
        delivery: &Delivery<'_>,
        place: MessageId,
        message: &PushedMessage,
        is_accounted: bool,
    ) {
        let measure = message.measure;
        let user = &users[delivery.user];
        let now_ns = delivery.now_ns;
        let received = delivery.received;
        let zero_ns = users.zero_unix_ns;
        let numbered = message.numbered.as_ref().filter(|_| is_accounted);
        // What is wrong with its number has been counted, and what is odd about its stamp.
        if numbered.is_some_and(|numbered| received.count(&numbered.from).is_none()) {
            return;
        }
        let mut counted = Counts::default();
        let counts = match numbered {
            Some(_) => &mut counted,
            None => &mut recorder.counts,
        };
        let sent = self.clocks.sent(place, message, received, zero_ns, now_ns, counts);
        let is_numbered =
            is_accounted || self.account(recorder, delivery, place, message, users, sent);
        if sent == SendTime::Missing {
            let failed = FailureReport::new(now_ns, measure, Outcome::Save, user.number);
            recorder.explain(&failed, || {
                let note = depth_note(received.body);
                let why = format!("no timestamp in {}{note}", received.shown(true));
                users.discreet(delivery.user, why)
            });
        }
        if sent == SendTime::Missing || !is_numbered {
            return recorder.check(measure, Outcome::Save);
        }
        let sent_ns = match sent {
            SendTime::At(sent_ns) => sent_ns,
            SendTime::Ahead(sent_ns) => {
                if let Some(sent_at) = &message.sent_at {
                    recorder.time(sent_at.ahead, sent_ns - now_ns);
                }
                return recorder.check(measure, Outcome::Ok);
            }
            _ => return recorder.check(measure, Outcome::Ok),
        };
        let row = Measurement {
            due_ns: sent_ns,
            sent_ns,
            done_ns: now_ns,
            bytes_out: 0,
            bytes_in: delivery.len as u32,
            ..user.row(measure)
        };
        recorder.arrival(row, self.read_late_ns);
    }

    /// A message that a step waited for counts among the numbered ones, too. `request_ns`: when the
    /// step sent what it answers, if it did; then its stamp says how far its sender's clock is off.
    pub(crate) fn track_expected(
        &mut self,
        users: &mut Users<'_>,
        recorder: &mut Recorder,
        delivery: &Delivery<'_>,
        request_ns: Option<u64>,
    ) {
        let compares = self.clocks.any && request_ns.is_some();
        if !self.accounts.are_kept() && !compares {
            return;
        }
        let Some((place, message)) = self.find_pushed(users, delivery) else {
            return;
        };
        let now_ns = delivery.now_ns;
        let received = delivery.received;
        let zero_ns = users.zero_unix_ns;
        if let Some(request_ns) = request_ns {
            let reading =
                self.clocks.compare(place, message, received, zero_ns, request_ns, now_ns);
            if let Some(reading) = reading {
                recorder.compare_clock(&reading);
            }
        }
        if message.numbered.is_none() {
            return;
        }
        let counts = &mut recorder.counts;
        let sent = self.clocks.sent(place, message, received, zero_ns, now_ns, counts);
        if !self.account(recorder, delivery, place, message, users, sent) {
            recorder.check(message.measure, Outcome::Save);
        }
    }

    /// Accounts for a message if its kind is numbered. False if it should have a number and has none
    /// that can be read.
    fn account(
        &mut self,
        recorder: &mut Recorder,
        delivery: &Delivery<'_>,
        place: MessageId,
        message: &PushedMessage,
        users: &Users<'_>,
        sent: SendTime,
    ) -> bool {
        let Some(numbered) = &message.numbered else {
            return true;
        };
        let received = delivery.received;
        let number = received.count(&numbered.from);
        match number {
            Some(number) => self.track(recorder, delivery, place, numbered, number, sent),
            None => {
                let now_ns = delivery.now_ns;
                let measure = message.measure;
                recorder.count(numbered.unreadable, 1);
                let user = users[delivery.user].number;
                let failed = FailureReport::new(now_ns, measure, Outcome::Save, user);
                recorder.explain(&failed, || {
                    users.discreet(delivery.user, absent_number(received, numbered))
                });
            }
        }
        number.is_some()
    }

    /// Tracks a numbered message: what is lost, duplicated or out of order, and when its first and
    /// last user got it.
    fn track(
        &mut self,
        recorder: &mut Recorder,
        delivery: &Delivery<'_>,
        message: MessageId,
        numbered: &MessageNumber,
        number: u64,
        sent: SendTime,
    ) {
        let now_ns = delivery.now_ns;
        let received = delivery.received;
        let name = match &numbered.sequence {
            Some(source) => received.text(source),
            None => received.topic().map(<[u8]>::to_vec),
        };
        let sequence = sequence(&name.unwrap_or_default());
        let user = delivery.user;
        let taken = self.accounts.take(user, message, sequence, number, now_ns);
        match taken.got {
            NumberFit::New { lost } => recorder.count(numbered.lost, lost),
            NumberFit::OutOfOrder => recorder.count(numbered.out_of_order, 1),
            NumberFit::Duplicate => return recorder.count(numbered.duplicated, 1),
            NumberFit::Restarted { lost } => {
                recorder.unaccounted(numbered);
                recorder.count(numbered.lost, lost);
            }
            NumberFit::Untracked => return recorder.unaccounted(numbered),
            NumberFit::Unsubscribed => return,
        }
        if !numbered.shared {
            return;
        }
        // What was sent before the run was published before anybody was subscribed.
        let compared = taken.compared && sent != SendTime::BeforeRun;
        let opening = taken.opening;
        let heads = &mut recorder.heads;
        if compared && !heads.add(message, sequence, opening, now_ns, number) {
            recorder.unaccounted(numbered);
        }
        let sent_ns = match sent {
            SendTime::At(sent_ns) | SendTime::Ahead(sent_ns) => sent_ns,
            // Only without stamps do the times begin with the first receiver.
            SendTime::Unstamped if numbered.first.is_some() => return,
            SendTime::Unstamped => now_ns,
            SendTime::BeforeRun | SendTime::Missing => return,
        };
        let kept = recorder.broadcasts.add(Broadcast {
            message,
            sequence,
            number,
            sent_ns,
            first_ns: now_ns,
            last_ns: now_ns,
            first_late_ns: self.read_late_ns,
            last_late_ns: self.read_late_ns,
        });
        recorder.counts.broadcasts_unreported += u64::from(!kept);
    }

    /// The user's connection is ready to bring messages.
    pub(crate) fn subscribe(&mut self, now_ns: u64, user: UserKey, opened: SubscriptionOrigin) {
        if self.accounts.are_kept() {
            self.accounts.open(user, opened, now_ns);
        }
    }

    /// The user left the topics of these sequences.
    pub(crate) fn leave(
        &mut self,
        recorder: &mut Recorder,
        now_ns: u64,
        user: UserKey,
        left: &[u64],
    ) {
        let settlements = &mut recorder.settlements;
        let ended = self.accounts.leave(user, left, now_ns, settlements);
        self.count_ended(recorder, &ended);
    }

    /// The user's subscription is over: what is missing is lost. `joined`: the sequences of the topics
    /// that it had to the end.
    pub(crate) fn end(
        &mut self,
        recorder: &mut Recorder,
        now_ns: u64,
        user: UserKey,
        joined: &[u64],
    ) {
        let settlements = &mut recorder.settlements;
        let ended = self.accounts.close(user, joined, now_ns, settlements);
        self.count_ended(recorder, &ended);
    }

    fn count_ended(&self, recorder: &mut Recorder, ended: &[EndedSequence]) {
        for ended in ended {
            let message = &self.plan.messages[ended.message.index()];
            let Some(numbered) = &message.numbered else {
                continue;
            };
            recorder.count(numbered.lost, ended.missing);
            if ended.unreported {
                recorder.unaccounted(numbered);
            }
        }
    }
}

/// Why a message does not count as numbered.
fn absent_number(received: &ReceivedMessage<'_>, numbered: &MessageNumber) -> String {
    let note = received.missing_note(&numbered.from, &Search::new());
    format!("no number in {}{note}", received.shown(true))
}
