//! Due times beside those of the steps: a user's one timer serves both.
//!
//! The steps' own is `User::deadline_ns`; that of an event stream that is opened anew stands in its
//! boxed state. The timer is armed for the earlier of them, and whoever has none of the second
//! kind pays a look at one flag.

use super::Worker;
use crate::conn::{Conn, Stage};
use crate::receiver::NEVER;
use record::Outcome;

impl Worker<'_> {
    /// Arms the user's timer for its step, or earlier where something else is due before.
    pub(super) fn arm(&mut self, key: u32, step_due_ns: u64) {
        let due_ns = if self.users[key].background {
            step_due_ns.min(self.background_due_ns(key))
        } else {
            step_due_ns
        };
        self.wheel.arm(key, due_ns);
    }

    /// Sets when the event stream is to be looked at, whatever the steps do.
    pub(super) fn due_in_background(&mut self, slot: u32, due_ns: u64) {
        let key = self.conns[slot].user;
        if let Some(background) = self.conns[slot].background_mut() {
            background.due_ns = due_ns;
        }
        self.users[key].background = true;
        let armed = self.wheel.deadline_ns(key);
        if armed.is_none_or(|armed| armed > due_ns) {
            self.wheel.arm(key, due_ns);
        }
    }

    fn background_due_ns(&self, key: u32) -> u64 {
        let slot = self.find_conn(key, Conn::is_background);
        let background = slot.and_then(|slot| self.conns[slot].background());
        background.map_or(NEVER, |background| background.due_ns)
    }

    /// Does what is due beside the steps. The user may be gone afterwards.
    pub(super) fn fire_background(&mut self, now_ns: u64, key: u32) {
        let Some(slot) = self.find_conn(key, Conn::is_background) else {
            return;
        };
        let Some(background) = self.conns[slot].background_mut() else {
            return;
        };
        if background.due_ns > now_ns {
            return;
        }
        let due_ns = std::mem::replace(&mut background.due_ns, NEVER);
        let outcome = match self.conns[slot].stage {
            // No step begins after the end, and no attempt either.
            Stage::Waiting if now_ns >= self.end_ns => return,
            Stage::Waiting => return self.connect_anew(now_ns, slot, due_ns),
            Stage::Connecting | Stage::Securing => Outcome::ConnectTimeout,
            Stage::Upgrading => Outcome::Timeout,
            Stage::Idle | Stage::Busy | Stage::Open | Stage::Closing => return,
        };
        self.lost(now_ns, slot, outcome, || "nothing in time".to_owned());
    }

    /// The run is over: what is in flight beside the steps stays unfinished.
    pub(super) fn give_up_background(&mut self, now_ns: u64, key: u32) {
        let in_flight = |slot: &u32| self.conns[*slot].stage.is_setting_up();
        let slot = self.find_conn(key, Conn::is_background);
        if let Some(slot) = slot.filter(in_flight) {
            self.record_attempt(now_ns, slot, Outcome::Unfinished, 0);
        }
    }
}
