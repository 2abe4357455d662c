//! Numbered messages: what each user got, and when the first and the last got it.

use plan::{Numbered, Unasked};
use record::Outcome;

use super::Shard;
use super::session::excerpt;
use super::stamps::Sent;
use crate::extract::Received;
use crate::sequences::{Broadcast, Got, sequence};

impl Shard<'_> {
    /// Accounts for a numbered message. False where it has no number.
    pub(super) fn account(
        &mut self,
        now_ns: u64,
        key: u32,
        (unasked, numbered): (&Unasked, &Numbered),
        sent: Sent,
        received: &Received<'_>,
    ) -> bool {
        let Some(number) = received.count(&numbered.from) else {
            let user = self.users[key].number;
            let measure = unasked.measure;
            self.recorder
                .example(now_ns, measure, Outcome::Save, user, || {
                    format!("no number in {}", excerpt(received.body))
                });
            self.recorder.check(measure, Outcome::Save);
            return false;
        };
        let name = match &numbered.sequence {
            Some(source) => received.text(source),
            None => received.topic().map(<[u8]>::to_vec),
        };
        let sequence = sequence(&name.unwrap_or_default());
        let message = self.place_of(unasked);
        match self.tracks.take(key, message, sequence, number) {
            Got::New { lost } => self.recorder.count(numbered.lost, lost),
            Got::OutOfOrder => self.recorder.count(numbered.out_of_order, 1),
            Got::Duplicate => {
                self.recorder.count(numbered.duplicated, 1);
                return true;
            }
            Got::Anew { lost } => {
                self.recorder.counts.numbers_unaccounted += 1;
                self.recorder.count(numbered.lost, lost);
            }
            Got::Unfollowed => {
                self.recorder.counts.numbers_unaccounted += 1;
                return true;
            }
        }
        let sent_ns = match sent {
            Sent::At(sent_ns) => sent_ns,
            Sent::Unsaid => now_ns,
            Sent::BeforeRun | Sent::Missing => return true,
        };
        let told = self.recorder.broadcasts.add(Broadcast {
            message,
            sequence,
            number,
            sent_ns,
            first_ns: now_ns,
            last_ns: now_ns,
        });
        self.recorder.counts.broadcasts_untold += u64::from(!told);
        true
    }

    /// A message that a step waited for is one of those that are numbered, too.
    pub(super) fn account_expected(&mut self, now_ns: u64, key: u32, received: &Received<'_>) {
        let plan = self.plan;
        if plan.messages.iter().all(|m| m.numbered.is_none()) {
            return;
        }
        let unix_ms = self.unix_ms(now_ns);
        let mut scratch = std::mem::take(&mut self.scratch);
        let scope = &mut self.users[key].scope(unix_ms);
        let mut messages = plan.messages.iter();
        let found = messages.find(|m| received.matches(&m.when, scope, &mut scratch));
        self.scratch = scratch;
        if let Some(unasked) = found
            && let Some(numbered) = &unasked.numbered
        {
            let sent = self.sent_of(now_ns, unasked, received);
            self.account(now_ns, key, (unasked, numbered), sent, received);
        }
    }

    /// The user gets nothing any more: what is missing is lost.
    pub(super) fn end_tracks(&mut self, key: u32) {
        for (message, missing) in self.tracks.end(key) {
            if let Some(numbered) = &self.plan.messages[usize::from(message)].numbered {
                self.recorder.count(numbered.lost, missing);
            }
        }
    }

    /// A message's place among those of the plan.
    fn place_of(&self, unasked: &Unasked) -> u16 {
        let mut messages = self.plan.messages.iter();
        let place = messages.position(|message| std::ptr::eq(message, unasked));
        place.map_or(u16::MAX, |place| place as u16)
    }
}
