//! Who may start: a user that is due is started, held for a moment, refused, or passed over in a pause.
//!
//! The plan's clock goes on in a pause. Of rates and recordings nobody is made up for afterwards: users
//! that came all at once would be a load that nobody planned. Those who are meant to be there, a closed
//! population or a user of its own, come when the pause is over.

use plan::builtin;
use record::Outcome;

use super::Shard;
use crate::arrivals::Arrival;
use crate::user::User;

/// What is said of a user that falls due after arrivals were closed.
const CLOSED: &str = "memory ran short before this user was due: nobody starts any more";

impl Shard<'_> {
    /// Nobody starts any more: users that fall due from now on count as refused for want of memory.
    /// Those who are present go on as planned.
    pub fn close_arrivals(&mut self) {
        self.admits = false;
    }

    /// Nobody starts until arrivals are resumed. Those who are present go on as planned.
    pub fn pause_arrivals(&mut self) {
        self.paused = true;
    }

    /// Users start again: those who are due from now on, and those who waited for this.
    pub fn resume_arrivals(&mut self, now_ns: u64) {
        self.paused = false;
        self.resumed_ns = now_ns;
    }

    /// When there is next somebody to admit or to turn away.
    pub(super) fn admission_ns(&self) -> u64 {
        let upcoming_ns = self.upcoming.map_or(u64::MAX, |arrival| arrival.due_ns);
        if self.passes_over() {
            return upcoming_ns;
        }
        // Until a connection is set up, or fails, there is nothing to do for who is held.
        if self.held && self.is_full() {
            return u64::MAX;
        }
        match self.waiting.is_empty() {
            true => upcoming_ns,
            false => upcoming_ns.min(self.resumed_ns),
        }
    }

    /// Starts the next user, refuses it or passes it over, where it is due and does not have to wait.
    pub(super) fn admit(&mut self, now_ns: u64) -> bool {
        if self.passes_over() {
            return self.pass_over(now_ns);
        }
        let waited = self.waiting.front().map(|&arrival| Arrival {
            due_ns: self.resumed_ns,
            ..arrival
        });
        let Some(arrival) = waited.or(self.upcoming).filter(|a| a.due_ns <= now_ns) else {
            return false;
        };
        if self.is_full() {
            self.held = true;
            return false;
        }
        match waited {
            Some(_) => drop(self.waiting.pop_front()),
            None => self.upcoming = self.arrivals.next(),
        }
        self.recorder.counts.users_held += u64::from(std::mem::take(&mut self.held));
        if !self.admits {
            self.refuse(now_ns, arrival);
        } else if waited.is_none()
            || arrival
                .repeats_until_ns
                .is_none_or(|end_ns| end_ns > now_ns)
        {
            self.start(now_ns, arrival);
        }
        true
    }

    /// True while whoever is due has to wait.
    fn is_full(&self) -> bool {
        self.admits && self.setting_up >= self.setting_up_max
    }

    /// True while whoever is due is passed over. Memory that ran short is no matter of a pause.
    fn passes_over(&self) -> bool {
        self.paused && self.admits
    }

    fn pass_over(&mut self, now_ns: u64) -> bool {
        let Some(arrival) = self.upcoming.filter(|a| a.due_ns <= now_ns) else {
            return false;
        };
        self.upcoming = self.arrivals.next();
        self.held = false;
        self.recorder.counts.users_paused += 1;
        let single = arrival.user < self.plan.singles.len() as u64;
        if single || arrival.repeats_until_ns.is_some() {
            self.waiting.push_back(arrival);
        }
        true
    }

    fn start(&mut self, now_ns: u64, arrival: Arrival) {
        let mut user = User::new(
            self.plan.seed,
            arrival.user,
            arrival.session,
            arrival.due_ns,
        );
        user.repeats_until_ns = arrival.repeats_until_ns.unwrap_or(0);
        let session = &self.plan.sessions[arrival.session as usize];
        user.slots = vec![Default::default(); session.slots_count as usize].into();
        user.registers = vec![0; session.registers_count as usize].into();
        let key = self.users.insert(user);
        self.recorder.user_came(self.users.len());
        self.proceed(now_ns, key);
    }

    fn refuse(&mut self, now_ns: u64, arrival: Arrival) {
        let (connect, outcome) = (builtin::CONNECT, Outcome::NoMemory);
        self.recorder.counts.users_refused += 1;
        self.recorder.check(connect, outcome);
        self.recorder
            .example(now_ns, connect, outcome, arrival.user, || CLOSED.to_owned());
    }
}
