//! How sessions end, restart and fail, and how their users leave.
//!
//! Each session that started ends in one way: it finishes, fails, is stopped by a limit of the
//! generator, or is cut off at the end of the run. [`Interpreter::end_session`] counts it; what becomes
//! of the user is another matter.

use plan::{HttpConnections, MeetOp, Op, Pc, builtin};
use record::Outcome;
use record::schema::{SessionEnd, UserState, WhyNot};

use crate::conn::{Conn, Stage};
use crate::failures::StepPlace;
use crate::interpreter::{Interpreter, nanoseconds};
use crate::measure::Ending;
use crate::tables::slots::UserKey;
use crate::trace::TraceEvent;
use crate::users::Wait;

/// How long a leaving user waits for the peer's close frame.
pub(crate) const LEAVE_NS: u64 = 1_000_000_000;
/// A closed population's user whose session failed restarts no sooner than this.
const RESTART_NS: u64 = 100_000_000;
/// Steps of one pace that are counted as missed, at most.
const MISSED_MAX: u64 = 1_000_000;

impl Interpreter<'_> {
    /// The session reached the end of its program: the user restarts it (closed populations) or
    /// leaves. True if it restarts.
    pub(crate) fn finish_session(&mut self, now_ns: u64, key: UserKey) -> bool {
        self.recorder.counts.users_finished += 1;
        self.trace_console();
        self.recorder.trace(|| TraceEvent::Ended { end: None });
        self.time_session(now_ns, key, true);
        self.end_session(now_ns, key, Outcome::Unfinished);
        let repeats = self.repeats(now_ns, key) && self.takes_session(key);
        if repeats {
            self.reset(now_ns, key);
            self.count_restart(key);
        } else {
            if self.users[key].repeats_until_ns > 0 {
                self.count_missed(now_ns, key, WhyNot::Busy);
            }
            self.leave(now_ns, key);
        }
        repeats
    }

    /// The session cannot continue because of this outcome, with this status, unless there is another attempt.
    pub(crate) fn give_up_session(
        &mut self,
        now_ns: u64,
        key: UserKey,
        outcome: Outcome,
        status: u16,
    ) {
        self.leave_meeting(now_ns, key);
        self.interrupt_branches(now_ns, key);
        let begun_at = self.users.begun_at(key);
        let inner = begun_at.map_or(0, |pc| pc + 1);
        if self.end_attempt(now_ns, key, outcome, status, inner..Pc::MAX) {
            return;
        }
        let key = self.become_user(now_ns, key);
        if begun_at.is_some() && self.end_attempt(now_ns, key, outcome, status, 0..inner) {
            return;
        }
        let (end, why) = match outcome.is_generator_limit() {
            true => (SessionEnd::Stopped, WhyNot::Stopped),
            false => (SessionEnd::Failed, WhyNot::Failed),
        };
        self.count_own_failure(key, outcome);
        self.time_session(now_ns, key, false);
        self.count_ending(key, end, Some(outcome));
        self.end_if_used_up(key);
        // The next session of the same user catches up with its paces.
        if !self.repeats(now_ns, key) {
            self.count_missed(now_ns, key, why);
        }
        self.end_session(now_ns, key, outcome);
        self.restart_or_leave(now_ns, key);
    }

    /// The run is over for this session.
    fn cut_off(&mut self, now_ns: u64, key: UserKey) {
        self.time_session(now_ns, key, false);
        self.count_ending(key, SessionEnd::CutOff, None);
        self.count_missed_at_end(now_ns, key);
        self.end_session(now_ns, key, Outcome::Unfinished);
    }

    /// The user is at the end of the run in a loop that would never end: it has done what it had to.
    pub(crate) fn finish_endless(&mut self, now_ns: u64, key: UserKey) {
        if self.users[key].is_branch {
            return self.end_branch_early(now_ns, key);
        }
        let end = Some(SessionEnd::CutOff);
        self.recorder.trace(|| TraceEvent::Ended { end });
        self.finish_early(now_ns, key);
    }

    /// The user leaves before the end of its program, and has done what it had to.
    pub(crate) fn finish_early(&mut self, now_ns: u64, key: UserKey) {
        let key = self.become_user(now_ns, key);
        self.recorder.counts.users_finished += 1;
        self.time_session(now_ns, key, true);
        self.count_missed_at_end(now_ns, key);
        self.end_session(now_ns, key, Outcome::Unfinished);
        self.leave(now_ns, key);
    }

    /// Counts the end of a session as a failure of the run's account. One of a request was counted as the request's, and one
    /// of a step that cannot be done as well; the others have no other count among all errors.
    fn count_own_failure(&mut self, key: UserKey, outcome: Outcome) {
        let is_other = match self.users.op(key) {
            Some(Op::Check { .. } | Op::RetryEnd { .. }) => outcome == Outcome::Check,
            Some(Op::Meet(op)) => match **op {
                MeetOp::Rendezvous { .. } | MeetOp::Dequeue { .. } => outcome == Outcome::Timeout,
                MeetOp::Next { .. } | MeetOp::Enqueue { .. } => false,
            },
            _ => false,
        };
        let measure = self.plan.faults;
        if is_other && measure != builtin::CONNECT {
            let user = &self.users[key];
            let step = StepPlace { session: user.session, pc: user.pc };
            self.recorder.failures.blame(measure, outcome, user.number, step);
            self.recorder.check(measure, outcome);
        }
    }

    /// Records how long the session took, if that is of interest.
    fn time_session(&mut self, now_ns: u64, key: UserKey, has_finished: bool) {
        let Some(due_ns) = self.users.session_due_ns(key) else {
            return;
        };
        let times = &mut self.recorder.session_times;
        match has_finished {
            true => {
                let done_ns = self.users[key].ready_ns.clamp(due_ns, now_ns.max(due_ns));
                times.finished.record(done_ns - due_ns);
            }
            false => times.unfinished.record(now_ns.saturating_sub(due_ns)),
        }
    }

    fn count_ending(&mut self, key: UserKey, end: SessionEnd, outcome: Option<Outcome>) {
        let user = &self.users[key];
        let state = match user.wait {
            Wait::Until | Wait::Restart => UserState::Thinking,
            Wait::Connect => UserState::Connecting,
            Wait::Retry => UserState::Retrying,
            Wait::Response
            | Wait::Upgrade
            | Wait::Reply
            | Wait::Close
            | Wait::Turn
            | Wait::Others
            | Wait::Branches => UserState::Waiting,
            Wait::Nothing | Wait::Leaving => UserState::Working,
        };
        let step = self.users.session(key).next_measure(user.pc);
        // What a user waits for may end its session as well, and no instruction is at fault then.
        let at = (outcome.is_some() && state == UserState::Working).then_some(user.pc);
        let session = user.session;
        self.recorder.trace(|| TraceEvent::Ended { end: Some(end) });
        self.recorder.session_ended(Ending { end, session, step, state, outcome, at });
    }

    /// The run ends for the user: counts what was due before the end and has not begun, the step that it waits
    /// for included.
    fn count_missed_at_end(&mut self, now_ns: u64, key: UserKey) {
        let user = &self.users[key];
        let is_free = !user.wait.in_flight() && user.wait != Wait::Branches;
        let why = match is_free && user.ready_ns < self.end_ns {
            true => WhyNot::Late,
            false => WhyNot::Busy,
        };
        let next = self.users.session(key).next_measure(user.pc);
        if let (true, Some(next)) = (is_free && user.due_ns < self.end_ns.min(now_ns), next) {
            self.recorder.missed(next, why, 1);
        }
        self.count_missed(now_ns, key, why);
    }

    /// Counts the steps that paces had due before the end, and that the user will not come to.
    fn count_missed(&mut self, now_ns: u64, key: UserKey, why: WhyNot) {
        let session = self.users.session(key);
        let user = &mut self.users[key];
        for pace in session.paces(user.pc, user.repeats_until_ns > 0) {
            let end_ns = match pace.by_restart {
                true => self.end_ns.min(now_ns).min(user.repeats_until_ns),
                false => self.end_ns.min(now_ns),
            };
            let rounds = pace.rounds.map_or(MISSED_MAX, |rounds| {
                let left = user.registers[rounds.index()];
                left.saturating_sub(u64::from(!pace.is_ahead))
            });
            let mut due_ns = user.registers[pace.register.index()];
            let mut missed = 0;
            while missed < rounds.min(MISSED_MAX) && due_ns > 0 && due_ns < end_ns {
                missed += 1;
                let every_ns = nanoseconds(pace.every.sample(&mut user.think)).max(1);
                due_ns = due_ns.saturating_add(every_ns);
            }
            if missed > 0 {
                self.recorder.missed(pace.measure, why, missed);
            }
        }
    }

    /// Ends a session, and with it everything that it had in progress.
    fn end_session(&mut self, now_ns: u64, key: UserKey, outcome: Outcome) {
        self.leave_meeting(now_ns, key);
        self.interrupt_k6(key);
        self.interrupt_branches(now_ns, key);
        self.end_transactions(now_ns, key, outcome);
        self.give_up_background(now_ns, key);
    }

    /// A pause before the restart protects a target that refuses, and keeps an impossible step from
    /// spinning.
    fn restart_or_leave(&mut self, now_ns: u64, key: UserKey) {
        if self.repeats(now_ns, key) {
            self.restart_later(now_ns, key);
        } else {
            self.leave(now_ns, key);
        }
    }

    /// As after a failure, of a user whose session does not count.
    pub(crate) fn restart_or_remove(&mut self, now_ns: u64, key: UserKey) {
        self.end_session(now_ns, key, Outcome::Unfinished);
        self.end_if_used_up(key);
        if self.repeats(now_ns, key) {
            self.restart_later(now_ns, key);
        } else {
            self.remove_user(now_ns, key);
        }
    }

    fn restart_later(&mut self, now_ns: u64, key: UserKey) {
        self.reset(now_ns, key);
        let user = &mut self.users[key];
        user.due_ns = now_ns + RESTART_NS;
        user.ready_ns = user.due_ns;
        self.wait_until(key, now_ns + RESTART_NS);
        self.users[key].wait = Wait::Restart;
    }

    /// The pause before a restart is over.
    pub(crate) fn restart(&mut self, now_ns: u64, key: UserKey) {
        if !self.repeats(now_ns, key) {
            self.count_missed(now_ns, key, WhyNot::Failed);
            self.remove_user(now_ns, key);
        } else if self.takes_session(key) {
            self.count_restart(key);
            self.proceed(now_ns, key);
        } else {
            self.remove_user(now_ns, key);
        }
    }

    fn count_restart(&mut self, key: UserKey) {
        self.recorder.counts.users_repeated += 1;
        self.recorder.counts.users_started += 1;
        self.users.begin_session(key);
    }

    /// Takes another session of those that there are for the user; false: there is none, and it begins none any more.
    fn takes_session(&mut self, key: UserKey) -> bool {
        let user = &mut self.users[key];
        if !user.has_number_of_sessions || self.meeting.stock().take_session(user.number) {
            return true;
        }
        user.repeats_until_ns = 0;
        false
    }

    /// A user for whom there is no session any more begins none.
    fn end_if_used_up(&mut self, key: UserKey) {
        let user = &mut self.users[key];
        if user.has_number_of_sessions && !self.meeting.stock().has_session(user.number) {
            user.repeats_until_ns = 0;
        }
    }

    fn repeats(&self, now_ns: u64, key: UserKey) -> bool {
        now_ns < self.end_ns && now_ns < self.users[key].repeats_until_ns
    }

    /// Puts the user back to its session's start. Pace marks stay, so that a session can keep to
    /// a pace from start to start.
    fn reset(&mut self, now_ns: u64, key: UserKey) {
        self.drop_stream(now_ns, key);
        let user = &mut self.users[key];
        user.iteration += 1;
        user.pc = 0;
        self.users.clear_variables(key);
        self.identities.forget(key);
        if matches!(
            self.plan.options.http_connections,
            HttpConnections::Session | HttpConnections::Request
        ) {
            self.conns.close_all(&mut self.users, key);
        }
    }

    /// The user, whose session has ended, leaves: with a close frame if it has a WebSocket, else at
    /// once.
    pub(crate) fn leave(&mut self, now_ns: u64, key: UserKey) {
        self.end_subscription(now_ns, key);
        if self.begin_leaving(key) {
            self.wait_for(key, Wait::Leaving, now_ns + LEAVE_NS);
        } else {
            self.remove_user(now_ns, key);
        }
    }

    pub(crate) fn remove_user(&mut self, now_ns: u64, key: UserKey) {
        self.end_subscription(now_ns, key);
        self.abandon_dialled(now_ns, key);
        self.conns.close_all(&mut self.users, key);
        self.conns.forget_tls(key);
        self.identities.remove(key);
        self.follows.forget(key);
        self.users.remove(key);
    }

    /// Closes the user's connections that are being set up.
    pub(crate) fn abandon_dialled(&mut self, now_ns: u64, key: UserKey) {
        let is_dialling = |conn: &Conn| matches!(conn.stage, Stage::Connecting | Stage::Securing);
        while let Some(slot) = self.conns.find(&self.users, key, is_dialling) {
            self.abandon(now_ns, slot);
        }
    }

    /// The last phase is over: the user leaves if it is between two steps of a loop that never ends,
    /// or thinks for longer than there is time.
    pub(crate) fn leave_if_idle(&mut self, now_ns: u64, key: UserKey, until_ns: u64) {
        let Some(user) = self.users.get(key) else {
            return;
        };
        match user.wait {
            Wait::Restart => self.restart(now_ns, key),
            // Who pauses stands behind the pause, and a pause before a loop is not in it.
            Wait::Until if self.users.session(key).is_endless(user.pc.saturating_sub(1)) => {
                self.finish_endless(now_ns, key);
            }
            // Those that it waits for may be gone.
            Wait::Others if self.users.session(key).is_endless(user.pc) => {
                self.record_operation(now_ns, key, Outcome::Unfinished, 0);
                self.finish_endless(now_ns, key);
            }
            Wait::Branches if self.users.session(key).is_endless(user.pc) => {
                self.end_idle_branches(now_ns, key);
            }
            Wait::Until if user.deadline_ns >= until_ns => {
                self.cut_off(now_ns, key);
                self.leave(now_ns, key);
            }
            _ => {}
        }
    }

    /// The time to finish is over: sessions are cut off, and what is in flight stays unfinished.
    pub(crate) fn give_up_all(&mut self, now_ns: u64) {
        for key in self.users.keys() {
            let wait = self.users[key].wait;
            if wait.in_flight() {
                self.record_operation(now_ns, key, Outcome::Unfinished, 0);
            }
            match wait {
                Wait::Leaving => {}
                Wait::Restart => self.count_missed(now_ns, key, WhyNot::Failed),
                _ => self.cut_off(now_ns, key),
            }
            self.remove_user(now_ns, key);
        }
    }
}
