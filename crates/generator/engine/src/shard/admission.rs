//! Admission of users: one that is due is started, held for a moment, refused, or skipped in a
//! pause.
//!
//! The plan's clock runs on in a pause. Skipped users of rates and recordings are not made up for
//! afterwards: all of them at once would be an unplanned load. Users that are meant to be present, of
//! a closed population or with a start of their own, start when the pause is over.

use std::collections::VecDeque;

use plan::Plan;

use crate::measure::Counts;
use crate::schedule::arrivals::{Arrival, Arrivals};
use crate::schedule::share::Share;

/// The decision about a user that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AdmissionDecision {
    /// No user is due, or the user that is due has to wait.
    Nobody,
    /// It does not start, starts when the pause is over, or was another shard's.
    Skipped,
    /// Arrivals were closed for want of memory.
    Refused(Arrival),
    Start(Arrival),
}

/// Users of the plan, of all shares, that are skipped at a time.
const SKIPPED_MAX: u64 = 256;

/// The users of one share, from a moment on.
#[derive(Debug)]
struct Stream<'p> {
    arrivals: Arrivals<'p>,
    next: Option<Arrival>,
    from_ns: u64,
}

impl<'p> Stream<'p> {
    fn new(plan: &'p Plan, share: Share, from_ns: u64) -> Stream<'p> {
        let mut arrivals = Arrivals::new(plan, share);
        let next = arrivals.next();
        Stream { arrivals, next, from_ns }
    }

    /// Whether users are still to be skipped that were due before.
    fn is_behind(&self) -> bool {
        self.next.is_some_and(|next| next.due_ns < self.from_ns)
    }
}

/// The users that are still to come.
#[derive(Debug)]
pub(super) struct Admission<'p> {
    /// The shard's own users, and those that it starts for others.
    streams: Vec<Stream<'p>>,
    /// The next of all of them.
    upcoming: Option<Arrival>,
    /// Whether users of adopted shares are still to be skipped.
    is_behind: bool,
    /// Users that are due from then on wait.
    until_ns: u64,
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
        let own = Stream::new(plan, share, 0);
        let upcoming = own.next;
        let connecting_max = plan.options.connecting_max;
        Admission {
            streams: vec![own],
            upcoming,
            is_behind: false,
            until_ns: u64::MAX,
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

    /// Users of this share that are due from `from_ns` on are the shard's.
    pub(super) fn adopt(&mut self, plan: &'p Plan, share: Share, from_ns: u64) {
        self.streams.push(Stream::new(plan, share, from_ns));
        self.look_ahead();
    }

    /// Users that are due from then on wait until this is raised.
    pub(super) fn hold_from(&mut self, until_ns: u64) {
        self.until_ns = until_ns;
    }

    fn look_ahead(&mut self) {
        self.is_behind = self.streams.iter().any(Stream::is_behind);
        let streams = self.streams.iter().filter(|stream| !stream.is_behind());
        let next = streams.filter_map(|stream| stream.next);
        self.upcoming = next.min_by_key(|next| next.due_ns);
    }

    /// Skips some users of adopted shares that were due before; false: there are none.
    fn catch_up(&mut self) -> bool {
        let mut streams = self.streams.iter_mut();
        let Some(stream) = streams.find(|stream| stream.is_behind()) else {
            return false;
        };
        for _ in 0..stream.arrivals.share().portion(SKIPPED_MAX) {
            if !stream.is_behind() {
                break;
            }
            stream.next = stream.arrivals.next();
        }
        self.look_ahead();
        true
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
        self.upcoming = None;
        let mut unstarted = 0;
        for stream in self.streams.drain(..) {
            let rest = stream.next.into_iter().chain(stream.arrivals);
            let rest = rest.skip_while(|arrival| arrival.due_ns < stream.from_ns);
            unstarted += rest.take_while(|arrival| arrival.due_ns < end_ns).count() as u64;
        }
        counts.users_fell_due += unstarted;
        counts.users_unstarted += unstarted;
    }

    /// The upcoming user has fallen due: what comes of it is counted apart.
    fn advance(&mut self, counts: &mut Counts) {
        counts.users_fell_due += 1;
        let is_taken = |stream: &&mut Stream<'p>| stream.next == self.upcoming;
        if let Some(stream) = self.streams.iter_mut().find(is_taken) {
            stream.next = stream.arrivals.next();
        }
        self.look_ahead();
    }

    /// True if no more users start.
    #[inline]
    pub(super) fn is_over(&self) -> bool {
        self.upcoming.is_none() && self.waiting.is_empty() && !self.is_behind
    }

    /// When the next user starts or is refused, while this many connections are being set up.
    #[inline]
    pub(super) fn next_ns(&self, setting_up: u64) -> u64 {
        if self.is_behind {
            return 0;
        }
        let upcoming_ns = self.upcoming.map_or(u64::MAX, |arrival| arrival.due_ns);
        if self.skips() {
            return upcoming_ns;
        }
        // Until a connection is set up, or fails, there is nothing to do for a held user.
        if self.held && self.is_full(setting_up) {
            return u64::MAX;
        }
        let next_ns = match self.waiting.is_empty() {
            true => upcoming_ns,
            false => upcoming_ns.min(self.resumed_ns),
        };
        match next_ns < self.until_ns {
            true => next_ns,
            false => u64::MAX,
        }
    }

    /// Takes out the next user, if it is due and does not have to wait.
    pub(super) fn next(
        &mut self,
        now_ns: u64,
        setting_up: u64,
        counts: &mut Counts,
    ) -> AdmissionDecision {
        if self.is_behind && self.catch_up() {
            return AdmissionDecision::Skipped;
        }
        if self.skips() {
            return self.skip(now_ns, counts);
        }
        let waited =
            self.waiting.front().map(|&arrival| Arrival { due_ns: self.resumed_ns, ..arrival });
        let may_start = |a: &Arrival| a.due_ns <= now_ns && a.due_ns < self.until_ns;
        let Some(arrival) = waited.or(self.upcoming).filter(may_start) else {
            return AdmissionDecision::Nobody;
        };
        if self.is_full(setting_up) {
            // Now, and not at its start, which may never come.
            counts.users_held += u64::from(!std::mem::replace(&mut self.held, true));
            return AdmissionDecision::Nobody;
        }
        match waited {
            Some(_) => drop(self.waiting.pop_front()),
            None => self.advance(counts),
        }
        self.held = false;
        let has_ended = |end_ns: u64| end_ns <= now_ns;
        if self.admits && waited.is_some() && arrival.repeats_until_ns.is_some_and(has_ended) {
            return AdmissionDecision::Skipped;
        }
        counts.users_resumed += u64::from(waited.is_some());
        match self.admits {
            true => AdmissionDecision::Start(arrival),
            false => AdmissionDecision::Refused(arrival),
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

    fn skip(&mut self, now_ns: u64, counts: &mut Counts) -> AdmissionDecision {
        let Some(arrival) = self.upcoming.filter(|a| a.due_ns <= now_ns) else {
            return AdmissionDecision::Nobody;
        };
        self.advance(counts);
        self.held = false;
        counts.users_paused += 1;
        if arrival.user < self.singles_count || arrival.repeats_until_ns.is_some() {
            self.waiting.push_back(arrival);
        }
        AdmissionDecision::Skipped
    }
}
