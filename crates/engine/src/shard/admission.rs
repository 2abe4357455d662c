//! Who may start: a user that is due is started, held for a moment, refused, or skipped in a pause.
//!
//! The plan's clock runs on in a pause. Skipped users of rates and recordings are not made up for
//! afterwards: all of them at once would be an unplanned load. Users that are meant to be present, of
//! a closed population or with a start of their own, start when the pause is over.

use std::collections::VecDeque;

use plan::Plan;

use crate::arrivals::{Arrival, Arrivals};
use crate::measure::Counts;
use crate::share::Share;

/// What happens to a user that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Admitted {
    /// No user is due, or the user that is due has to wait.
    Nobody,
    /// It does not start, or starts when the pause is over.
    Skipped,
    /// Arrivals were closed for want of memory.
    Refused(Arrival),
    Start(Arrival),
}

/// The users that are still to come.
#[derive(Debug)]
pub(super) struct Admission<'p> {
    arrivals: Arrivals<'p>,
    upcoming: Option<Arrival>,
    singles_count: u64,
    /// False once users that fall due are refused.
    admits: bool,
    /// While it is true no user starts.
    paused: bool,
    /// Users of a pause that start when it is over, in the order they were due.
    waiting: VecDeque<Arrival>,
    /// When the last pause was over; users that waited for that are due then.
    resumed_ns: u64,
    /// No user starts while this many connections are being set up.
    setting_up_max: u64,
    /// The upcoming user was due and had to wait for that.
    held: bool,
}

impl<'p> Admission<'p> {
    pub(super) fn new(plan: &'p Plan, share: Share) -> Admission<'p> {
        let mut arrivals = Arrivals::new(plan, share);
        let upcoming = arrivals.next();
        let connecting_max = plan.options.connecting_max;
        Admission {
            arrivals,
            upcoming,
            singles_count: plan.singles.len() as u64,
            admits: true,
            paused: false,
            waiting: VecDeque::new(),
            resumed_ns: 0,
            setting_up_max: connecting_max.map_or(u64::MAX, |max| share.portion(max)),
            held: false,
        }
    }

    /// This user is the next one.
    pub(super) fn put_first(&mut self, arrival: Arrival) {
        self.upcoming = Some(arrival);
    }

    /// No user starts while this many connections are being set up.
    pub(super) fn hold_above(&mut self, setting_up_max: u64) {
        self.setting_up_max = setting_up_max;
    }

    /// Users that fall due from now on are refused.
    pub(super) fn refuse(&mut self) {
        self.admits = false;
    }

    pub(super) fn pause(&mut self) {
        self.paused = true;
    }

    pub(super) fn resume(&mut self, now_ns: u64) {
        self.paused = false;
        self.resumed_ns = now_ns;
    }

    /// No more users start. Counts who was due before `end_ns` and has not started, those of a pause aside.
    pub(super) fn end(&mut self, end_ns: u64, counts: &mut Counts) {
        self.waiting.clear();
        let rest = self.upcoming.take().into_iter().chain(&mut self.arrivals);
        let unstarted = rest.take_while(|arrival| arrival.due_ns < end_ns).count() as u64;
        counts.users_fell_due += unstarted;
        counts.users_unstarted += unstarted;
    }

    /// The upcoming user has fallen due: what comes of it is counted apart.
    fn advance(&mut self, counts: &mut Counts) {
        counts.users_fell_due += 1;
        self.upcoming = self.arrivals.next();
    }

    /// True if no more users start.
    #[inline]
    pub(super) fn is_over(&self) -> bool {
        self.upcoming.is_none() && self.waiting.is_empty()
    }

    /// When the next user starts or is refused, while this many connections are being set up.
    #[inline]
    pub(super) fn next_ns(&self, setting_up: u64) -> u64 {
        let upcoming_ns = self.upcoming.map_or(u64::MAX, |arrival| arrival.due_ns);
        if self.skips() {
            return upcoming_ns;
        }
        // Until a connection is set up, or fails, there is nothing to do for a held user.
        if self.held && self.is_full(setting_up) {
            return u64::MAX;
        }
        match self.waiting.is_empty() {
            true => upcoming_ns,
            false => upcoming_ns.min(self.resumed_ns),
        }
    }

    /// Takes out the next user, if it is due and does not have to wait.
    pub(super) fn next(&mut self, now_ns: u64, setting_up: u64, counts: &mut Counts) -> Admitted {
        if self.skips() {
            return self.skip(now_ns, counts);
        }
        let waited = self.waiting.front().map(|&arrival| Arrival {
            due_ns: self.resumed_ns,
            ..arrival
        });
        let Some(arrival) = waited.or(self.upcoming).filter(|a| a.due_ns <= now_ns) else {
            return Admitted::Nobody;
        };
        if self.is_full(setting_up) {
            // Now, and not at its start, which may never come.
            counts.users_held += u64::from(!std::mem::replace(&mut self.held, true));
            return Admitted::Nobody;
        }
        match waited {
            Some(_) => drop(self.waiting.pop_front()),
            None => self.advance(counts),
        }
        self.held = false;
        let has_ended = |end_ns: u64| end_ns <= now_ns;
        if self.admits && waited.is_some() && arrival.repeats_until_ns.is_some_and(has_ended) {
            return Admitted::Skipped;
        }
        counts.users_resumed += u64::from(waited.is_some());
        match self.admits {
            true => Admitted::Start(arrival),
            false => Admitted::Refused(arrival),
        }
    }

    /// True while users that are due have to wait.
    #[inline]
    fn is_full(&self, setting_up: u64) -> bool {
        self.admits && setting_up >= self.setting_up_max
    }

    /// True while users that are due are skipped. A pause does not hide that memory ran short.
    #[inline]
    fn skips(&self) -> bool {
        self.paused && self.admits
    }

    fn skip(&mut self, now_ns: u64, counts: &mut Counts) -> Admitted {
        let Some(arrival) = self.upcoming.filter(|a| a.due_ns <= now_ns) else {
            return Admitted::Nobody;
        };
        self.advance(counts);
        self.held = false;
        counts.users_paused += 1;
        if arrival.user < self.singles_count || arrival.repeats_until_ns.is_some() {
            self.waiting.push_back(arrival);
        }
        Admitted::Skipped
    }
}
