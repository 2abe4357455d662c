//! The oracle: a walk through the steps of each user, by what the server's plan says of each request.
//!
//! It shares no code with the engine and reads nothing that the engine counts. The network takes no time, and users do
//! not meet, so each session can be followed by itself. What ends a run has odd nanoseconds, so nothing happens at once
//! with it.

use std::collections::{BTreeMap, BTreeSet};

use plan::Plan;
use record::Outcome;

use super::server::{AnswerKind, ServerPlan};
use super::steps::{Request, Retry, Step};
use super::{Case, Conditions, Load};

const SECOND_NS: u64 = 1_000_000_000;
/// How long a user of a population waits after a session that failed.
const RESTART_NS: u64 = 100_000_000;

/// A step that ended sessions, and how it failed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Failure {
    pub(super) step: String,
    /// The outcome's name.
    pub(super) outcome: &'static str,
}

/// Users and sessions of a run.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    /// Users that fell due.
    pub(super) due: u64,
    /// Users that a pause kept away.
    pub(super) kept_away: u64,
    /// Users that were due after arrivals were closed.
    pub(super) refused: u64,
    /// Sessions that started.
    pub(super) sessions: u64,
    pub(super) finished: u64,
    pub(super) failed: BTreeMap<Failure, u64>,
    pub(super) cut_off: u64,
    /// Sessions that a lost worker had in progress.
    pub(super) lost: u64,
    /// Users that it had, those between two sessions included.
    pub(super) lost_users: u64,
    /// Users that it was still to start.
    pub(super) never_came: u64,
}

impl Tally {
    pub(super) fn failed_count(&self) -> u64 {
        self.failed.values().sum()
    }

    pub(super) fn add(&mut self, other: &Tally) {
        self.due += other.due;
        self.kept_away += other.kept_away;
        self.refused += other.refused;
        self.sessions += other.sessions;
        self.finished += other.finished;
        for (failure, n) in &other.failed {
            *self.failed.entry(failure.clone()).or_default() += n;
        }
        self.cut_off += other.cut_off;
        self.lost += other.lost;
        self.lost_users += other.lost_users;
        self.never_came += other.never_came;
    }
}

/// A user as the plan has it due.
struct Arrival {
    user: u64,
    due_ns: u64,
    /// Time until which it begins further sessions; `None`: it has one.
    repeats_until_ns: Option<u64>,
}

/// The users of all phases, in the order of their numbers.
fn arrivals(case: &Case, plan: &Plan) -> Vec<Arrival> {
    let mut all: Vec<Arrival> = Vec::new();
    for (phase, times) in case.phases.iter().zip(&plan.phases) {
        let end_ns = times.start_ns + times.duration_ns;
        match phase.load {
            Load::Rate(per_s) => {
                let offsets = (0..).map(|n| n * SECOND_NS / per_s);
                for offset_ns in offsets.take_while(|&offset_ns| offset_ns < times.duration_ns) {
                    let due_ns = times.start_ns + offset_ns;
                    let user = all.len() as u64;
                    all.push(Arrival { user, due_ns, repeats_until_ns: None });
                }
            }
            Load::Users(count) => {
                for _ in 0..count {
                    all.push(Arrival {
                        user: all.len() as u64,
                        due_ns: times.start_ns,
                        repeats_until_ns: Some(end_ns),
                    });
                }
            }
            Load::Hold => {}
        }
    }
    all
}

/// The last moment until which a worker that is lost then has reported: the end of a second or of a phase.
fn reported_ns(plan: &Plan, lost_ns: u64) -> u64 {
    let ends = plan.phases.iter().map(|phase| phase.start_ns + phase.duration_ns);
    let ends = ends.filter(|&end_ns| end_ns <= lost_ns);
    ends.max().unwrap_or(0).max(lost_ns / SECOND_NS * SECOND_NS)
}

/// The users and sessions of a case; `None`: two failures at once leave open which of them ends a session.
pub(super) fn tally(case: &Case, plan: &Plan, conditions: &Conditions) -> Option<Tally> {
    let server = ServerPlan::new(case.number);
    let end_ns = conditions.end_ns(plan);
    let until_ns = end_ns + plan.options.drain_ns;
    let mut walk = Walk {
        case,
        server,
        end_ns,
        until_ns,
        user: 0,
        iteration: 0,
        has: BTreeSet::new(),
        is_clear: true,
    };
    let mut tally = Tally::default();
    for arrival in arrivals(case, plan) {
        let lost_ns = conditions.lost_ns.filter(|_| conditions.is_of_last_loop(arrival.user));
        let known_ns = lost_ns.map_or(u64::MAX, |lost_ns| reported_ns(plan, lost_ns));
        match admitted(&arrival, conditions, end_ns.min(known_ns), &mut tally) {
            Some(begins_ns) if begins_ns < conditions.close_ns => {
                walk.user(&arrival, begins_ns, known_ns, &mut tally);
            }
            Some(_) => tally.refused += 1,
            None => tally.never_came += u64::from(lost_ns.is_some()),
        }
    }
    walk.is_clear.then_some(tally)
}

/// The time at which the user starts or is refused, if that is before `known_ns`.
fn admitted(
    arrival: &Arrival,
    conditions: &Conditions,
    known_ns: u64,
    tally: &mut Tally,
) -> Option<u64> {
    let due_ns = arrival.due_ns;
    if due_ns >= known_ns {
        return None;
    }
    tally.due += 1;
    let pause = conditions.pause.filter(|(from_ns, until_ns)| {
        (*from_ns..*until_ns).contains(&due_ns) && due_ns < conditions.close_ns
    });
    let Some((_, resumed_ns)) = pause else {
        return Some(due_ns);
    };
    // Only users of a population come when the pause is over, unless their time is.
    let comes = arrival
        .repeats_until_ns
        .is_some_and(|until_ns| resumed_ns < known_ns && resumed_ns < until_ns);
    tally.kept_away += u64::from(!comes);
    comes.then_some(resumed_ns)
}

/// The end of a session.
#[derive(Debug, PartialEq, Eq)]
enum End {
    Finished,
    Failed(Failure),
    CutOff,
}

/// The end of a session, or of the attempt that a step is part of, and its time.
#[derive(Debug)]
struct Ended {
    at_ns: u64,
    end: End,
    /// There is no row of data for the user: it is not tried again, and there is no further session.
    has_no_row: bool,
}

/// A walk through the sessions of users, one after the other.
struct Walk<'c> {
    case: &'c Case,
    server: ServerPlan,
    /// The end of the load, and of the time to finish.
    end_ns: u64,
    until_ns: u64,
    user: u64,
    iteration: u64,
    /// The requests whose value the session has.
    has: BTreeSet<u64>,
    is_clear: bool,
}

impl Walk<'_> {
    /// All sessions of a user that starts then. What happens from `known_ns` on is not recorded.
    fn user(&mut self, arrival: &Arrival, begins_ns: u64, known_ns: u64, tally: &mut Tally) {
        self.user = arrival.user;
        let mut at_ns = begins_ns;
        for iteration in 0.. {
            tally.sessions += 1;
            let ended = self.session(iteration, at_ns);
            if ended.at_ns >= known_ns {
                tally.lost += 1;
                tally.lost_users += 1;
                return;
            }
            let pause_ns = match &ended.end {
                End::Failed(_) => RESTART_NS,
                End::Finished | End::CutOff => 0,
            };
            let was_cut = ended.end == End::CutOff;
            match ended.end {
                End::Finished => tally.finished += 1,
                End::Failed(failure) => *tally.failed.entry(failure).or_default() += 1,
                End::CutOff => tally.cut_off += 1,
            }
            let repeats = |at_ns: u64| {
                at_ns < self.end_ns && arrival.repeats_until_ns.is_some_and(|end_ns| at_ns < end_ns)
            };
            if was_cut || ended.has_no_row || !repeats(ended.at_ns) {
                return;
            }
            at_ns = ended.at_ns + pause_ns;
            if at_ns >= known_ns {
                tally.lost_users += 1;
                return;
            }
            if !repeats(at_ns) {
                return;
            }
        }
    }

    fn session(&mut self, iteration: u64, at_ns: u64) -> Ended {
        self.iteration = iteration;
        self.has.clear();
        let case = self.case;
        match self.steps(&case.steps, at_ns, false) {
            Ok(at_ns) => Ended { at_ns, end: End::Finished, has_no_row: false },
            Err(ended) => ended,
        }
    }

    /// The time at which these steps have been done. `is_attempt`: a failed step ends its attempt.
    fn steps(&mut self, steps: &[Step], at_ns: u64, is_attempt: bool) -> Result<u64, Ended> {
        steps.iter().try_fold(at_ns, |at_ns, step| self.step(step, at_ns, is_attempt))
    }

    fn step(&mut self, step: &Step, at_ns: u64, is_attempt: bool) -> Result<u64, Ended> {
        match step {
            Step::Request(request) => self.request(*request, at_ns, is_attempt),
            Step::Think(grains) => self.reach(at_ns + grains.ns()),
            Step::Set { id, failing } => match failing.is_of(self.user, self.iteration) {
                true => Err(failed(at_ns, &format!("`set` of `x{id}`"), Outcome::Step)),
                false => Ok(at_ns),
            },
            Step::Script { failing, .. } => match failing.is_of(self.user, self.iteration) {
                true => Err(failed(at_ns, "`js`", Outcome::Script)),
                false => Ok(at_ns),
            },
            Step::Check { id, failing } => {
                match is_attempt && failing.is_of(self.user, self.iteration) {
                    true => Err(failed(at_ns, &format!("`check` of `c{id}`"), Outcome::Check)),
                    false => Ok(at_ns),
                }
            }
            Step::Feed => self.feed(at_ns),
            Step::Speak { request, within } => self.speak(*request, within.ns(), at_ns, is_attempt),
            Step::Loop { times, steps } => {
                (0..*times).try_fold(at_ns, |at_ns, _| self.steps(steps, at_ns, is_attempt))
            }
            Step::If { turn, then, otherwise } => {
                let steps = match turn.is_of(self.user, self.iteration) {
                    true => then,
                    false => otherwise,
                };
                self.steps(steps, at_ns, is_attempt)
            }
            Step::Retry(retry) => self.retry(retry, at_ns, is_attempt),
            Step::Parallel(branches) => self.parallel(branches, at_ns, is_attempt),
            Step::Forever(steps) => Err(self.forever(steps, at_ns)),
        }
    }

    /// The session comes to this moment, or is cut off before.
    fn reach(&self, at_ns: u64) -> Result<u64, Ended> {
        match at_ns <= self.until_ns {
            true => Ok(at_ns),
            false => Err(Ended { at_ns: self.until_ns, end: End::CutOff, has_no_row: false }),
        }
    }

    fn request(&mut self, request: Request, at_ns: u64, is_attempt: bool) -> Result<u64, Ended> {
        let Request { id, timeout, saves } = request;
        let answer = self.server.answer(id, self.user, at_ns);
        let is_late = answer.after_ns > timeout.ns();
        let outcome = match answer.kind {
            AnswerKind::Silence => Outcome::Timeout,
            _ if is_late => Outcome::Timeout,
            AnswerKind::NoValue if saves => Outcome::Save,
            AnswerKind::Value | AnswerKind::NoValue => Outcome::Ok,
            AnswerKind::Status => Outcome::Status,
            AnswerKind::Close => Outcome::Closed,
            AnswerKind::Reset => Outcome::Reset,
        };
        let took_ns = if outcome == Outcome::Timeout { timeout.ns() } else { answer.after_ns };
        let at_ns = self.reach(at_ns + took_ns)?;
        if outcome == Outcome::Ok {
            self.has.extend(saves.then_some(id));
            return Ok(at_ns);
        }
        // A user continues without what it does not need.
        let lacks = saves && !self.has.contains(&id);
        match is_attempt || outcome == Outcome::Save || lacks {
            true => Err(failed(at_ns, &format!("r{id}"), outcome)),
            false => Ok(at_ns),
        }
    }

    /// A stream is opened in no time, and a request follows; its message may be there when it is answered.
    fn speak(
        &mut self,
        request: Request,
        within_ns: u64,
        opened_ns: u64,
        is_attempt: bool,
    ) -> Result<u64, Ended> {
        let id = request.id;
        let push_after_ns = self.server.push_after_ns(id, self.user, opened_ns);
        let at_ns = self.request(request, opened_ns, is_attempt)?;
        let limit_ns = at_ns + within_ns;
        let came_ns = push_after_ns.map(|after_ns| opened_ns + after_ns);
        match came_ns.filter(|&came_ns| came_ns <= limit_ns) {
            Some(came_ns) => self.reach(at_ns.max(came_ns)),
            None => {
                let at_ns = self.reach(limit_ns)?;
                match is_attempt {
                    true => Err(failed(at_ns, &format!("m{id}"), Outcome::Timeout)),
                    false => Ok(at_ns),
                }
            }
        }
    }

    fn feed(&self, at_ns: u64) -> Result<u64, Ended> {
        if self.user < self.case.rows {
            return Ok(at_ns);
        }
        let end = match self.case.stops_without_row {
            true => End::Finished,
            false => failed(at_ns, "`feed` of `rows`", Outcome::Step).end,
        };
        Err(Ended { at_ns, end, has_no_row: true })
    }

    fn retry(&mut self, retry: &Retry, begun_ns: u64, is_attempt: bool) -> Result<u64, Ended> {
        let mut at_ns = begun_ns;
        let mut attempt = 1;
        loop {
            let mut is_whole = false;
            let ended = match self.steps(&retry.steps, at_ns, true) {
                Err(ended) => ended,
                Ok(at_ns) => {
                    is_whole = true;
                    match retry.missing.filter(|turn| turn.is_of(self.user, self.iteration)) {
                        Some(_) => failed(at_ns, "`retry`", Outcome::Check),
                        None => return Ok(at_ns),
                    }
                }
            };
            let End::Failed(failure) = &ended.end else {
                return Err(ended);
            };
            if ended.has_no_row {
                return Err(ended);
            }
            let is_chosen = [Outcome::Status, Outcome::Timeout]
                .iter()
                .any(|outcome| outcome.name() == failure.outcome);
            let is_meant = is_whole || !retry.is_choosy || is_chosen;
            if is_meant && attempt < retry.attempts_max {
                at_ns = self.reach(ended.at_ns + retry.pause.ns())?;
                attempt += 1;
                continue;
            }
            return match &retry.otherwise {
                Some(steps) => self.steps(steps, ended.at_ns, is_attempt),
                None => Err(ended),
            };
        }
    }

    /// The first failure of a branch ends all of them.
    fn parallel(
        &mut self,
        branches: &[Vec<Step>],
        at_ns: u64,
        is_attempt: bool,
    ) -> Result<u64, Ended> {
        let mut done_ns = at_ns;
        let mut first: Option<Ended> = None;
        for branch in branches {
            let ended = match self.steps(branch, at_ns, is_attempt) {
                Ok(at_ns) => {
                    done_ns = done_ns.max(at_ns);
                    continue;
                }
                Err(ended) => ended,
            };
            first = match first {
                // What is cut off is so at the end of all.
                Some(first) if first.at_ns < ended.at_ns => Some(first),
                Some(first) if first.at_ns == ended.at_ns => {
                    self.is_clear &= first.end == ended.end;
                    Some(first)
                }
                Some(_) | None => Some(ended),
            };
        }
        match first {
            Some(ended) => Err(ended),
            None => Ok(done_ns),
        }
    }

    /// The session ends as it should when the load has, once the step in flight is done.
    fn forever(&mut self, steps: &[Step], begun_ns: u64) -> Ended {
        let finished = |at_ns| Ended { at_ns, end: End::Finished, has_no_row: false };
        let mut at_ns = begun_ns;
        for step in steps.iter().cycle() {
            if at_ns >= self.end_ns {
                return finished(at_ns);
            }
            if let Step::Think(grains) = step
                && at_ns + grains.ns() >= self.end_ns
            {
                return finished(self.end_ns);
            }
            at_ns = match self.step(step, at_ns, false) {
                Ok(at_ns) => at_ns,
                Err(ended) => return ended,
            };
        }
        finished(at_ns)
    }
}

fn failed(at_ns: u64, step: &str, outcome: Outcome) -> Ended {
    let failure = Failure { step: step.to_owned(), outcome: outcome.name() };
    Ended { at_ns, end: End::Failed(failure), has_no_row: false }
}
