//! Channels that the server ends although the session did not leave them, and joining them again.
//!
//! An operation that waits on such a channel fails at once. Otherwise its end is a row of the step that
//! joined it. Attempts to join it again run in the background, each an operation of the measure
//! `rejoin`.

use plan::{
    ChannelOp, ChannelVerb, Expect, MeasureId, Op, Pauses, Pc, Protocol as ChannelProtocol,
};
use proto::ws::MessageKind;
use record::{Measurement, Outcome};

use crate::channels::{ChannelEnd, EndKind, OutgoingMessage};
use crate::conn::{NEVER, Stage};
use crate::failures::FailureReport;
use crate::interpreter::Interpreter;
use crate::messages::Delivery;
use crate::protocols::channels::state::{Attempt, Unsent};
use crate::received::{Label, ReceivedMessage, excerpt};
use crate::tables::slots::{ConnSlot, UserKey};
use crate::users::Wait;

impl<'p> Interpreter<'p> {
    /// The server ended a channel, or answered that it has none.
    pub(crate) fn channel_ended(&mut self, now_ns: u64, slot: ConnSlot, ended: &ChannelEnd<'_>) {
        let stage = self.conns[slot].stage;
        let key = self.conns[slot].user;
        let subscribed = self.topics(key);
        let Some(channels) = self.conns[slot].channels() else {
            return;
        };
        let place = channels.place(&ended.topic, ended.joined_by);
        // What the session left or closes ends because of that.
        let Some(place) = place.filter(|_| stage == Stage::Open) else {
            return;
        };
        let topic = &mut channels.topics[place];
        let pc = topic.pc;
        let number = topic.joined_by;
        if topic.is_rejoining() {
            return self.rejoin_ended(now_ns, slot, place, ended);
        }
        if !std::mem::replace(&mut topic.open, false) {
            return;
        }
        self.leave_topics(now_ns, key, subscribed);
        let wanted = ended.how == EndKind::Failed && self.join_at(key, pc).rejoin.is_some();
        let Some(channels) = self.conns[slot].channels() else {
            return;
        };
        let topic = &mut channels.topics[place];
        match &mut topic.rejoin {
            Some(rejoin) if wanted => rejoin.plan(now_ns),
            rejoin => *rejoin = None,
        }
        let lives = topic.lives();
        self.arm_channels(slot);
        let detail = || describe(ended);
        let waits_on = self.waits_on(now_ns, slot, &ended.topic, number, lives);
        if ended.how.is_over()
            && let Some(channels) = self.conns[slot].channels()
        {
            channels.topics.remove(place);
        }
        let outcome = match ended.how {
            EndKind::Errors => Outcome::Graphql,
            EndKind::Closed | EndKind::Failed | EndKind::Completed => Outcome::ChannelClosed,
        };
        if !waits_on {
            return match ended.how {
                EndKind::Completed => {}
                _ => self.record_topic_end(now_ns, slot, pc, outcome, detail),
            };
        }
        if self.is_joining(key) {
            return self.fail_because(now_ns, key, Outcome::Rejected, 0, detail);
        }
        self.explain(now_ns, key, outcome, detail);
        self.complete(now_ns, key, outcome, 0);
    }

    /// The server ends the connection, and all its channels with it. `again`: it may reconnect.
    pub(crate) fn disconnected(&mut self, now_ns: u64, slot: ConnSlot, reason: &[u8], again: bool) {
        let detail = || format!("the server ended the connection: {}", excerpt(reason));
        if !again && self.conns[slot].is_background() {
            return self.reconnect_refused(now_ns, slot, Outcome::Closed, 0, detail());
        }
        if let Some(channels) = self.conns[slot].channels()
            && !again
        {
            channels.reconnect = None;
        }
        let key = self.conns[slot].user;
        // What waits for any message may still get one if the connection comes back.
        let waits_on = matches!(self.users.op(key), Some(Op::Expect(_)))
            && self.will_reconnect_websocket(slot, Outcome::Closed);
        let in_flight = self.users[key].wait == Wait::Reply && !waits_on;
        let mut open = Vec::new();
        let mut concerns = 0;
        if let Some(channels) = self.conns[slot].channels() {
            concerns = channels.concerns;
            let topics = channels.topics.iter().filter(|topic| topic.open);
            open.extend(topics.map(|topic| (topic.pc, topic.joined_by)));
        }
        // One of them is what the operation in flight waits on.
        let awaited = open.iter().position(|&(_, number)| number == concerns);
        let awaited = awaited.or(open.len().checked_sub(1)).filter(|_| in_flight);
        let outcome = match awaited.map(|place| open.remove(place)) {
            Some(_) if !self.is_joining(key) => Outcome::ChannelClosed,
            _ => Outcome::Closed,
        };
        if self.conns[slot].stage == Stage::Open {
            for (pc, _) in open {
                self.record_topic_end(now_ns, slot, pc, Outcome::ChannelClosed, detail);
            }
        }
        self.lost(now_ns, slot, outcome, detail);
    }

    /// True if the operation in flight waits for something that cannot come any more since this topic
    /// has ended. What is sent to it is lost; what it sends may come again if it `lives`.
    fn waits_on(
        &mut self,
        now_ns: u64,
        slot: ConnSlot,
        topic: &[u8],
        number: u32,
        lives: bool,
    ) -> bool {
        let user = self.conns[slot].user;
        if self.users[user].wait != Wait::Reply {
            return false;
        }
        let Some(channels) = self.conns[slot].channels() else {
            return false;
        };
        let deserted = channels.is_deserted();
        let concerned = channels.concerns == number && !channels.deferred;
        let expect: &'p Expect = match self.users.op(user) {
            Some(Op::Channel(_)) => return concerned,
            Some(Op::Expect(expect)) => expect,
            Some(Op::Send(send)) => match &send.reply {
                Some(expect) => expect,
                None => return false,
            },
            _ => return false,
        };
        let event = &b""[..];
        let received = ReceivedMessage::labelled(b"", Label::Channel { topic, event });
        let delivery = Delivery { now_ns, user, len: 0, received: &received };
        deserted || (!lives && self.messages.names_topic(&mut self.users, &delivery, expect))
    }

    /// The end of a channel that no operation waits on: a row of the step that joined it.
    fn record_topic_end(
        &mut self,
        now_ns: u64,
        slot: ConnSlot,
        pc: Pc,
        outcome: Outcome,
        detail: impl FnOnce() -> String,
    ) {
        let key = self.conns[slot].user;
        let measure = self.join_at(key, pc).measure;
        let user = &self.users[key];
        let row = Measurement {
            due_ns: now_ns,
            sent_ns: now_ns,
            done_ns: now_ns,
            outcome,
            bytes_out: 0,
            bytes_in: 0,
            ..user.row(measure)
        };
        let number = user.number;
        let users = &self.users;
        let detail = || users.discreet(key, detail());
        let failed = FailureReport::new(now_ns, measure, row.outcome, number);
        self.recorder.explain(&failed, detail);
        self.recorder.happened(row);
    }

    /// The step that joined a channel.
    fn join_at(&self, key: UserKey, pc: Pc) -> &'p ChannelOp {
        match self.users.session(key).ops.get(pc as usize) {
            Some(Op::Channel(op)) => op,
            other => unreachable!("a channel was joined by {other:?}"),
        }
    }

    // Joining again.

    /// Arms the user's timer for what the connection's channels have due next.
    pub(crate) fn arm_channels(&mut self, slot: ConnSlot) {
        let Some(channels) = self.conns[slot].channels() else {
            return;
        };
        let due_ns = channels.due_ns();
        channels.background.due_ns = due_ns;
        if due_ns != NEVER {
            self.arm_background(slot, due_ns);
        }
    }

    /// Does what is due: a heartbeat, a ping, and attempts to join topics again.
    pub(crate) fn channels_due(&mut self, now_ns: u64, slot: ConnSlot) {
        if self.conns[slot].stage != Stage::Open {
            return;
        }
        let id = self.conns.id(slot);
        if let Some(channels) = self.conns[slot].channels()
            && channels.beat_ns <= now_ns
        {
            channels.beat_ns = NEVER;
            self.beat(now_ns, slot);
            if self.conns.live(id).is_none() {
                return;
            }
        }
        self.ping_if_due(now_ns, slot);
        let mut place = 0;
        while let Some(channels) = self.conns[slot].channels()
            && let Some(topic) = channels.topics.get(place)
        {
            let due_ns = topic.due_ns();
            let in_flight = topic.is_rejoining();
            if due_ns <= now_ns && in_flight {
                let detail = || "no answer in time".to_owned();
                self.rejoin_failed(now_ns, slot, place, Outcome::Timeout, detail);
            } else if due_ns <= now_ns {
                self.rejoin(now_ns, slot, place);
            }
            place += 1;
        }
        self.arm_channels(slot);
    }

    /// The measure of attempts to join again what this step joined, and how long each may take.
    fn rejoin_op(&self, slot: ConnSlot, pc: Pc) -> Option<(MeasureId, u64)> {
        let op = self.join_at(self.conns[slot].user, pc);
        let of_connection = || match self.reconnects(slot)?.pauses {
            Pauses::OfClient { rejoin } => Some(rejoin),
            Pauses::Backoff(_) => None,
        };
        Some((op.rejoin.or_else(of_connection)?, op.timeout_ns))
    }

    /// The connection can be used again: joins a topic that was open, or would have been.
    pub(crate) fn rejoin_now(&mut self, now_ns: u64, slot: ConnSlot, place: usize) {
        if let Some(channels) = self.conns[slot].channels()
            && let Some(rejoin) = &mut channels.topics[place].rejoin
        {
            rejoin.rest();
            rejoin.due_ns = now_ns;
            self.rejoin(now_ns, slot, place);
        }
    }

    /// An attempt to join a topic again begins.
    fn rejoin(&mut self, now_ns: u64, slot: ConnSlot, place: usize) {
        let Some(channels) = self.conns[slot].channels() else {
            return;
        };
        let pc = channels.topics[place].pc;
        let Some((measure, timeout_ns)) = self.rejoin_op(slot, pc) else {
            return;
        };
        let Some(channels) = self.conns[slot].channels() else {
            return;
        };
        let speaks_mqtt = channels.mqtt.is_some();
        let protocol = channels.protocol;
        let number = channels.number();
        let topic = &mut channels.topics[place];
        topic.joined_by = number;
        let name = topic.name.clone();
        let Some(rejoin) = &mut topic.rejoin else {
            return;
        };
        rejoin.begin(now_ns, timeout_ns);
        let payload = rejoin.payload();
        self.recorder.counts.sends += 1;
        self.recorder.begin(measure);
        self.conns.begin_background();
        let start = self.conns.commands.bytes.len();
        if speaks_mqtt {
            let op = self.join_at(self.conns[slot].user, pc);
            match self.encode_rejoin(now_ns, slot, op, &name) {
                Ok(number) => self.renumber(slot, place, number),
                Err(error) => {
                    self.conns.commands.bytes.truncate(start);
                    let outcome = self.users.blame();
                    return self.rejoin_failed(now_ns, slot, place, outcome, || error);
                }
            }
            return self.send_rejoin(slot, place, start);
        }
        let message = OutgoingMessage {
            verb: ChannelVerb::Join,
            topic: &name,
            event: b"",
            payload: &payload,
            number,
            joined_by: number,
            wants_answer: true,
        };
        let write = |out: &mut Vec<u8>| crate::channels::encode(protocol, &message, out);
        self.conns.encode_message(slot, MessageKind::Text, write);
        self.send_rejoin(slot, place, start);
        if !crate::channels::is_confirmed(protocol) {
            self.rejoin_answered(now_ns, slot, place, true, b"");
        }
    }

    /// An attempt to join a topic again has this number.
    fn renumber(&mut self, slot: ConnSlot, place: usize, number: u32) {
        if let Some(channels) = self.conns[slot].channels() {
            channels.topics[place].joined_by = number;
        }
    }

    /// Sends the attempt that was appended to the command bytes since `start`.
    fn send_rejoin(&mut self, slot: ConnSlot, place: usize, start: usize) {
        let bytes_out = (self.conns.commands.bytes.len() - start) as u32;
        self.send_control(slot, start);
        if let Some(channels) = self.conns[slot].channels()
            && let Some(rejoin) = &mut channels.topics[place].rejoin
            && let Some(attempt) = &mut rejoin.attempt
        {
            attempt.bytes_out = bytes_out;
        }
    }

    /// The answer to an attempt.
    pub(crate) fn rejoin_answered(
        &mut self,
        now_ns: u64,
        slot: ConnSlot,
        place: usize,
        ok: bool,
        payload: &[u8],
    ) {
        if !ok {
            let detail = || format!("the server rejected it: {}", excerpt(payload));
            self.rejoin_failed(now_ns, slot, place, Outcome::Rejected, detail);
            self.arm_channels(slot);
            return self.send_deferred(now_ns, slot);
        }
        self.record_rejoin(now_ns, slot, place, Outcome::Ok);
        if let Some(channels) = self.conns[slot].channels() {
            let topic = &mut channels.topics[place];
            topic.open = true;
            if let Some(rejoin) = &mut topic.rejoin {
                rejoin.rest();
            }
        }
        self.arm_channels(slot);
        self.send_deferred(now_ns, slot);
    }

    /// The topic ended while an attempt to join it again was in flight.
    fn rejoin_ended(&mut self, now_ns: u64, slot: ConnSlot, place: usize, ended: &ChannelEnd<'_>) {
        let detail = || describe(ended);
        self.rejoin_failed(now_ns, slot, place, Outcome::Rejected, detail);
        if let Some(channels) = self.conns[slot].channels()
            && ended.how != EndKind::Failed
        {
            channels.topics[place].rejoin = None;
        }
        self.arm_channels(slot);
        self.send_deferred(now_ns, slot);
    }

    /// An attempt failed: another one follows.
    fn rejoin_failed(
        &mut self,
        now_ns: u64,
        slot: ConnSlot,
        place: usize,
        outcome: Outcome,
        detail: impl FnOnce() -> String,
    ) {
        let key = self.conns[slot].user;
        let Some(channels) = self.conns[slot].channels() else {
            return;
        };
        let pc = channels.topics[place].pc;
        if let Some((measure, _)) = self.rejoin_op(slot, pc) {
            let users = &self.users;
            let detail = || users.discreet(key, detail());
            let failed = FailureReport::new(now_ns, measure, outcome, users[key].number);
            self.recorder.explain(&failed, detail);
        }
        self.record_rejoin(now_ns, slot, place, outcome);
        let Some(channels) = self.conns[slot].channels() else {
            return;
        };
        // Clients of other protocols leave it at that.
        let phoenix = matches!(channels.protocol, ChannelProtocol::Phoenix { .. });
        let topic = &mut channels.topics[place];
        match &mut topic.rejoin {
            Some(rejoin) if phoenix || outcome == Outcome::Timeout => rejoin.plan(now_ns),
            rejoin => *rejoin = None,
        }
    }

    /// Writes down how the attempt in flight ended, if one is.
    fn record_rejoin(&mut self, now_ns: u64, slot: ConnSlot, place: usize, outcome: Outcome) {
        let Some(channels) = self.conns[slot].channels() else {
            return;
        };
        let topic = &mut channels.topics[place];
        let pc = topic.pc;
        let attempt = topic.rejoin.as_mut().and_then(|rejoin| rejoin.finish());
        if let Some(attempt) = attempt {
            self.record_attempt(now_ns, slot, pc, attempt, outcome);
        }
    }

    /// Writes down how an attempt ended that joined what this step joined.
    pub(crate) fn record_attempt(
        &mut self,
        now_ns: u64,
        slot: ConnSlot,
        pc: Pc,
        attempt: Attempt,
        outcome: Outcome,
    ) {
        let Some((measure, _)) = self.rejoin_op(slot, pc) else {
            return;
        };
        let row = Measurement {
            due_ns: attempt.due_ns,
            sent_ns: attempt.sent_ns,
            done_ns: now_ns.max(attempt.sent_ns),
            outcome,
            bytes_out: attempt.bytes_out,
            bytes_in: 0,
            ..self.users[self.conns[slot].user].row(measure)
        };
        self.conns.end_background();
        let late_ns = self.messages.read_late_ns;
        self.recorder.operation(row, row.lag_ns(), late_ns);
    }

    /// Attempts in flight on this connection end with it, or with the session.
    pub(crate) fn end_rejoins(&mut self, now_ns: u64, slot: ConnSlot, outcome: Outcome) {
        let mut place = 0;
        while let Some(channels) = self.conns[slot].channels()
            && place < channels.topics.len()
        {
            self.record_rejoin(now_ns, slot, place, outcome);
            place += 1;
        }
    }

    /// A topic is open again, or has ended for good: the step in flight that waited for that sends its
    /// message now.
    pub(crate) fn send_deferred(&mut self, now_ns: u64, slot: ConnSlot) {
        let key = self.conns[slot].user;
        let deferred = self.conns[slot].channels().is_some_and(|own| own.deferred);
        let Some(Op::Channel(op)) = self.users.op(key) else {
            return;
        };
        if !deferred || self.users[key].wait != Wait::Reply {
            return;
        }
        match self.transmit_to_channel(now_ns, slot, op) {
            Ok(true) | Err(Unsent::Later) => {}
            Ok(false) | Err(Unsent::Needless) => self.complete(now_ns, key, Outcome::Ok, 0),
            Err(Unsent::Impossible(error)) => {
                self.fail_because(now_ns, key, self.users.blame(), 0, || error);
            }
        }
    }
}

/// How a channel ended.
fn describe(ended: &ChannelEnd<'_>) -> String {
    let topic = String::from_utf8_lossy(&ended.topic);
    let how = match ended.how {
        EndKind::Failed => "failed at the server",
        EndKind::Closed => "was closed by the server",
        EndKind::Completed => "was completed by the server",
        EndKind::Errors => "was answered with errors",
    };
    match ended.reason {
        b"" => format!("the channel {topic:?} {how}"),
        reason => format!("the channel {topic:?} {how}: {}", excerpt(reason)),
    }
}
