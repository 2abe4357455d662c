//! Messages, whatever transport brought them: replies that a step waits for, and messages that the
//! server pushes.

mod stamps;

use plan::Plan;
use plan::{Acknowledgement, Expect, Match, MeasureId, Numbered, Pushed, Source};
use record::{Measurement, Outcome};

use crate::json::depth_note;
use crate::measure::Recorder;
use crate::received::{Received, excerpt};
use crate::sequences::{Broadcast, Got, Tracks, sequence};
use crate::users::Users;
use stamps::{Sent, sent};

/// A message that arrived.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Delivery<'a> {
    pub(crate) now_ns: u64,
    /// The key of its user.
    pub(crate) user: u32,
    /// What it took on the wire.
    pub(crate) len: usize,
    pub(crate) received: &'a Received<'a>,
}

/// Matches messages of a shard's users, and tracks numbered ones.
#[derive(Debug)]
pub(crate) struct Messages<'p> {
    plan: &'p Plan,
    /// Of users that get numbered messages.
    tracks: Tracks,
    /// True if any of the plan's messages is numbered.
    numbered: bool,
    scratch: Vec<u8>,
}

impl<'p> Messages<'p> {
    pub(crate) fn new(plan: &'p Plan) -> Messages<'p> {
        Messages {
            plan,
            tracks: Tracks::default(),
            numbered: plan.messages.iter().any(|m| m.numbered.is_some()),
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
    ) -> Option<(u16, &'p Pushed)> {
        let plan = self.plan;
        let mut known = plan.messages.iter();
        let scope = &mut users.scope(delivery.now_ns, delivery.user);
        let place = known.position(|message| {
            let received = delivery.received;
            received.matches(&message.when, scope, &mut self.scratch)
        })?;
        Some((place as u16, &plan.messages[place]))
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
            Some(found) => self.record_pushed(users, recorder, delivery, found),
            None => recorder.counts.unmatched += 1,
        }
    }

    fn record_pushed(
        &mut self,
        users: &Users<'_>,
        recorder: &mut Recorder,
        delivery: &Delivery<'_>,
        (place, message): (u16, &Pushed),
    ) {
        let (measure, user) = (message.measure, &users[delivery.user]);
        let (now_ns, received) = (delivery.now_ns, delivery.received);
        let sent = sent(
            message,
            delivery.received.body,
            (users.zero_unix_ns, delivery.now_ns),
            &mut recorder.counts,
        );
        if sent == Sent::Missing {
            recorder.example(now_ns, measure, Outcome::Save, user.number, || {
                format!(
                    "no timestamp in {}{}",
                    excerpt(received.body),
                    depth_note(received.body)
                )
            });
            return recorder.check(measure, Outcome::Save);
        }
        if let Some(numbered) = &message.numbered {
            let Some(number) = received.count(&numbered.from) else {
                recorder.example(now_ns, measure, Outcome::Save, user.number, || {
                    absent_number(received, numbered)
                });
                return recorder.check(measure, Outcome::Save);
            };
            self.track(recorder, delivery, (place, numbered), number, sent);
        }
        let Sent::At(sent_ns) = sent else {
            return recorder.check(measure, Outcome::Ok);
        };
        let row = Measurement {
            due_ns: sent_ns,
            sent_ns,
            done_ns: now_ns,
            bytes_out: 0,
            bytes_in: delivery.len as u32,
            ..user.row(measure)
        };
        recorder.arrival(row);
    }

    /// A message that a step waited for counts among the numbered ones, too.
    pub(crate) fn track_expected(
        &mut self,
        users: &mut Users<'_>,
        recorder: &mut Recorder,
        delivery: &Delivery<'_>,
    ) {
        if !self.numbered {
            return;
        }
        if let Some((place, message)) = self.find_pushed(users, delivery)
            && let Some(numbered) = &message.numbered
        {
            let sent = sent(
                message,
                delivery.received.body,
                (users.zero_unix_ns, delivery.now_ns),
                &mut recorder.counts,
            );
            let received = delivery.received;
            match received.count(&numbered.from) {
                Some(number) => {
                    self.track(recorder, delivery, (place, numbered), number, sent);
                }
                None => {
                    let user = users[delivery.user].number;
                    let (now_ns, measure) = (delivery.now_ns, message.measure);
                    recorder.example(now_ns, measure, Outcome::Save, user, || {
                        absent_number(received, numbered)
                    });
                    recorder.check(measure, Outcome::Save);
                }
            }
        }
    }

    /// Tracks a numbered message: what is lost, duplicated or out of order, and when its first and
    /// last user got it.
    fn track(
        &mut self,
        recorder: &mut Recorder,
        delivery: &Delivery<'_>,
        (message, numbered): (u16, &Numbered),
        number: u64,
        sent: Sent,
    ) {
        let (now_ns, received) = (delivery.now_ns, delivery.received);
        let name = match &numbered.sequence {
            Some(source) => received.text(source),
            None => received.topic().map(<[u8]>::to_vec),
        };
        let sequence = sequence(&name.unwrap_or_default());
        match self.tracks.take(delivery.user, message, sequence, number) {
            Got::New { lost } => recorder.count(numbered.lost, lost),
            Got::OutOfOrder => recorder.count(numbered.out_of_order, 1),
            Got::Duplicate => return recorder.count(numbered.duplicated, 1),
            Got::Restarted { lost } => {
                recorder.counts.numbers_unaccounted += 1;
                recorder.count(numbered.lost, lost);
            }
            Got::Untracked => return recorder.counts.numbers_unaccounted += 1,
        }
        let sent_ns = match sent {
            Sent::At(sent_ns) => sent_ns,
            Sent::Unstamped => now_ns,
            Sent::BeforeRun | Sent::Missing => return,
        };
        let kept = recorder.broadcasts.add(Broadcast {
            message,
            sequence,
            number,
            sent_ns,
            first_ns: now_ns,
            last_ns: now_ns,
        });
        recorder.counts.broadcasts_untold += u64::from(!kept);
    }

    /// The user gets nothing any more: what is missing is lost.
    pub(crate) fn end(&mut self, recorder: &mut Recorder, user: u32) {
        for (message, missing) in self.tracks.end(user) {
            if let Some(numbered) = &self.plan.messages[usize::from(message)].numbered {
                recorder.count(numbered.lost, missing);
            }
        }
    }
}

/// Why a message does not count as numbered.
fn absent_number(received: &Received<'_>, numbered: &Numbered) -> String {
    let note = received.depth_note(&numbered.from);
    format!("no number in {}{note}", excerpt(received.body))
}
