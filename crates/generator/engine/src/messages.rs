//! Messages, whatever transport brought them: replies that a step waits for, and messages that the
//! server pushes.

mod stamps;

use plan::Plan;
use plan::json::depth_note;
use plan::{
    Acknowledgement, Expect, Match, MeasureId, MessageId, MessageNumber, PushedMessage, Source,
};
use record::{Measurement, Outcome};

use crate::measure::Recorder;
use crate::received::ReceivedMessage;
use crate::sequences::{
    Accounts, Broadcast, EndedSequence, NumberFit, SubscriptionOrigin, sequence,
};
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
    clocks: Clocks,
    /// How long what is received now may have been there before it was read.
    pub(crate) read_late_ns: u64,
    scratch: Vec<u8>,
}

impl<'p> Messages<'p> {
    pub(crate) fn new(plan: &'p Plan) -> Messages<'p> {
        Messages {
            plan,
            accounts: Accounts::new(plan),
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
        recorder.counts.bytes_in += delivery.len as u64;
        match self.find_pushed(users, delivery) {
            Some((place, message)) => {
                self.record_pushed(users, recorder, delivery, place, message);
            }
            None => recorder.counts.unmatched += 1,
        }
    }

    fn record_pushed(
        &mut self,
        users: &Users<'_>,
        recorder: &mut Recorder,
        delivery: &Delivery<'_>,
        place: MessageId,
        message: &PushedMessage,
    ) {
        let measure = message.measure;
        let user = &users[delivery.user];
        let now_ns = delivery.now_ns;
        let received = delivery.received;
        let zero_ns = users.zero_unix_ns;
        let counts = &mut recorder.counts;
        let sent = self.clocks.sent(place, message, received, zero_ns, now_ns, counts);
        let is_numbered = self.account(recorder, delivery, place, message, users, sent);
        if sent == SendTime::Missing {
            recorder.example(now_ns, measure, Outcome::Save, user.number, || {
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
                recorder.example(now_ns, measure, Outcome::Save, user, || {
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
    let note = received.missing_note(&numbered.from, &None);
    format!("no number in {}{note}", received.shown(true))
}
