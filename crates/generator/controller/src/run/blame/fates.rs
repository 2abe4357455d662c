//! The fate of each session, known from the plans of users and server, and held against what is judged.
//!
//! A case is its number; `THRONG_CASES` sets how many are tried, 100,000 by `make accounts-truth`. Its users and its
//! server follow plans that are drawn from it, and so do the ends of its run: the time, a stop, a lost worker.
//! Sessions due are those that finished, failed (by step and outcome), were cut off, or were lost.

mod oracle;
mod server;
mod steps;

use std::fmt::Write;

use engine::sim::{self, Link, SimRun};
use judge::course::LiveRun;
use plan::Plan;
use record::Outcome;
use record::schema::{
    Event, EventKind, RunInfo, SessionEnd, Summary, UnfinishedSessions, WorkerInfo,
};
use stats::rng::{Purpose, Rng};
use workers::{Loops, Numbering};

use super::bed::{described, scenario_text};
use crate::run::broadcasts::Broadcasts;
use crate::run::deals::{Deals, Loss};
use crate::run::merge::Merger;
use crate::run::starts;
use crate::run::tick::Tick;
use crate::secrets::Secrets;
use crate::testing;
use oracle::{Failure, Tally, tally};
use server::{Server, ServerPlan};
use steps::{Draft, GRAIN_NS, Step};

const CASES: u64 = 300;
/// Added to moments that are no step's: to ends of phases, to the time after the last, and to what conditions set.
const PHASE_NS: u64 = 300;
const DRAIN_NS: u64 = 77;
const CONDITION_NS: u64 = 150;

/// The load of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Load {
    /// Users in a second, a power of two: the times between them are whole nanoseconds.
    Rate(u64),
    /// The users of a population.
    Users(u64),
    Hold,
}

#[derive(Debug, Clone, Copy)]
struct Phase {
    load: Load,
    duration_ns: u64,
}

/// The users of a run.
struct Case {
    number: u64,
    steps: Vec<Step>,
    phases: Vec<Phase>,
    drain_ns: u64,
    /// Rows of data. Users with higher numbers find none.
    rows: u64,
    /// They have finished then; otherwise they have failed.
    stops_without_row: bool,
}

impl Case {
    fn new(number: u64) -> Case {
        let mut rng = Rng::new(number, 0, Purpose::Resample);
        let steps = Draft::session(&mut rng);
        let mut phases: Vec<Phase> = Vec::new();
        for _ in 0..1 + rng.below(3) {
            let before = phases.last().map(|phase| phase.load);
            phases.push(Phase::new(&mut rng, before));
        }
        Case {
            number,
            steps,
            phases,
            drain_ns: (1 + rng.below(1500)) * GRAIN_NS + DRAIN_NS,
            rows: 1 + rng.below(40),
            stops_without_row: rng.below(2) == 0,
        }
    }

    fn text(&self) -> String {
        let mut text = format!("name: fates\nseed: {}\ntarget: http://127.0.0.1/\n", self.number);
        let _ = writeln!(text, "options: {{ drain: {}ns }}", self.drain_ns);
        let end = if self.stops_without_row { "stop" } else { "error" };
        let _ = writeln!(text, "data: {{ rows: {{ file: rows.csv, order: unique, end: {end} }} }}");
        let _ = writeln!(text, "sessions:\n  s: {}", steps::text(&self.steps));
        let phases: Vec<String> = self.phases.iter().map(|phase| phase.text()).collect();
        let _ = writeln!(text, "arrivals: [ {} ]", phases.join(", "));
        text += "thresholds: [ \"failed(sessions) >= 0\", \"error_rate(sessions) >= 0%\", \"count(sessions) >= 0\" ]\n";
        text
    }

    fn plan(&self, text: &str) -> Plan {
        let table =
            (0..self.rows).fold("word\n".to_owned(), |table, row| table + &format!("w{row}\n"));
        testing::plan_with(text, &|name| match name {
            "rows.csv" => Ok(table.clone()),
            _ => Err(format!("no file {name}")),
        })
    }
}

impl Phase {
    /// The first phase has users, and populations do not follow each other: they would be one.
    fn new(rng: &mut Rng, before: Option<Load>) -> Phase {
        let load = match rng.below(4) {
            0 | 1 if !matches!(before, Some(Load::Users(_))) => Load::Users(1 + rng.below(6)),
            2 if before.is_some() => Load::Hold,
            _ => Load::Rate(1 << rng.below(5)),
        };
        // Multiples of 2⁻⁷ s, of which no rate makes whole users.
        let duration_ns = (13 + 2 * rng.below(120)) * 4 * GRAIN_NS + PHASE_NS;
        Phase { load, duration_ns }
    }

    fn text(self) -> String {
        let Phase { load, duration_ns } = self;
        match load {
            Load::Rate(per_s) => format!("{{ constant: {per_s}/s, for: {duration_ns}ns }}"),
            Load::Users(count) => format!("{{ users: {count}, for: {duration_ns}ns }}"),
            Load::Hold => format!("{{ hold: {duration_ns}ns }}"),
        }
    }
}

/// The events of a run that are neither its users' nor its server's.
#[derive(Debug, Clone, Copy)]
struct Conditions {
    loops: u32,
    stops_ns: u64,
    /// Time from which no user starts.
    close_ns: u64,
    /// The pause of arrivals, from and until.
    pause: Option<(u64, u64)>,
    /// Time at which the worker of the last loop is lost.
    lost_ns: Option<u64>,
}

impl Conditions {
    fn new(number: u64, plan: &Plan) -> Conditions {
        let mut rng = Rng::new(number, 1, Purpose::Resample);
        let grains = plan.end_ns() / GRAIN_NS;
        let mut moment = |one_in: u64| {
            let at_ns = rng.below(grains) * GRAIN_NS + CONDITION_NS;
            (rng.below(one_in) == 0).then_some(at_ns)
        };
        let conditions = Conditions {
            loops: 1 + (number % 3) as u32,
            stops_ns: moment(4).unwrap_or(u64::MAX),
            close_ns: moment(6).unwrap_or(u64::MAX),
            pause: moment(4).map(|from_ns| (from_ns, from_ns + 200 * GRAIN_NS)),
            lost_ns: moment(3),
        };
        let is_lost = |lost_ns: &u64| conditions.loops > 1 && *lost_ns < conditions.end_ns(plan);
        // Users that wait in a pause would be refused whenever their loop next looks.
        let is_apart = |pause: &(u64, u64)| !(pause.0..=pause.1).contains(&conditions.close_ns);
        Conditions {
            lost_ns: conditions.lost_ns.filter(is_lost),
            pause: conditions.pause.filter(is_apart),
            ..conditions
        }
    }

    /// The end of the load.
    fn end_ns(&self, plan: &Plan) -> u64 {
        plan.end_ns().min(self.stops_ns)
    }

    fn is_of_last_loop(&self, user: u64) -> bool {
        user % u64::from(self.loops) == u64::from(self.loops - 1)
    }

    fn link(&self) -> Link<'static> {
        Link {
            arrivals_close_ns: self.close_ns,
            stops_ns: self.stops_ns,
            pauses: self.pause.into_iter().collect(),
            ..Link::new(0)
        }
    }
}

/// A case as it was played and judged.
struct Judged {
    summary: Summary,
    info: RunInfo,
    endings: Vec<UnfinishedSessions>,
}

impl Judged {
    fn new(text: String, plan: &Plan, conditions: &Conditions, played: SimRun) -> Judged {
        let loops = conditions.loops;
        let scenario = scenario_text(text);
        let mut info = described(plan, &scenario, &Secrets::new(&scenario.inputs));
        info.generator.loops = loops;
        let worker = |loops_first| WorkerInfo { loops_first, loops: 1, ..WorkerInfo::default() };
        info.workers = (0..loops).map(worker).collect();
        let numbering = Numbering::new(plan, loops);
        let mut merger = Merger::new(Broadcasts::new(plan, &numbering), numbering, loops);
        let mut live_run = LiveRun::new(&info);
        let last = loops - 1;
        for delta in played.deltas {
            let is_after = |lost_ns| delta.end_ns > lost_ns;
            if u32::from(delta.loop_id) < last || !conditions.lost_ns.is_some_and(is_after) {
                merger.add(delta);
            }
        }
        if let Some(at_ns) = conditions.lost_ns {
            let left = merger.mark_lost(last..loops);
            let of_worker = Loops { first: last, count: 1, of: loops };
            let loss = Loss { worker: last as usize, loops: of_worker, from_ns: u64::MAX };
            let users = Deals::of_run(None, loops, None).lose(plan, loss, &[]);
            let what = EventKind::WorkerLost {
                worker: last,
                pid: 1,
                loops_first: last,
                loops: 1,
                reported_ns: left.reported_ns,
                users: left.users,
                users_begun: left.begun,
                users_connected: left.connected,
                users_due_after: users.own.saturating_sub(left.begun),
                why: "its process ended".to_owned(),
            };
            live_run.event(Event { at_ns, what });
        }
        let stopped_ns = Some(conditions.stops_ns).filter(|&at_ns| at_ns < plan.end_ns());
        let mut endings = Vec::new();
        while let Some(mut interval) = merger.next() {
            interval.row.users_due = starts::due_in(plan, &interval.row, stopped_ns);
            endings.extend(interval.endings.iter().cloned());
            let tick = Tick {
                info: &info,
                row: &interval.row,
                measures: Vec::new(),
                interrupted: false,
                paused: false,
                probes: &[],
                events: &[],
                errors: &[],
                interval: &interval,
            };
            tick.keep().add_to(&mut live_run);
        }
        Judged { summary: live_run.judge(&plan.thresholds), info, endings }
    }

    /// The users and sessions that it counts.
    fn tally(&self, case: &str) -> Tally {
        let users = &self.summary.users;
        assert_eq!((users.stopped, users.unstarted), (0, 0), "{case}");
        let ended = users.finished + users.failed + users.cut_off;
        let mut tally = Tally {
            due: users.due.unwrap_or(0),
            kept_away: users.paused,
            refused: users.refused,
            sessions: users.sessions,
            finished: users.finished,
            cut_off: users.cut_off,
            lost: users.sessions - ended,
            lost_users: users.lost,
            never_came: users.never_came,
            ..Tally::default()
        };
        for ending in self.endings.iter().filter(|ending| ending.end == SessionEnd::Failed) {
            let measure = ending.step.map(|step| &self.info.measures[usize::from(step)].name);
            let step = ending.own_step.as_ref().or(measure);
            let outcome = ending.outcome.as_deref().and_then(Outcome::from_name);
            let failure = Failure {
                step: step.cloned().unwrap_or_default(),
                outcome: outcome.map_or("", Outcome::name),
            };
            *tally.failed.entry(failure).or_default() += ending.users;
        }
        assert_eq!(tally.failed_count(), users.failed, "{case}");
        tally
    }

    /// Figures of sessions that end: lost ones and those that were cut off do not.
    fn check_figures(&self, expected: &Tally, case: &str) {
        let failed = expected.failed_count();
        let ended = failed + expected.finished;
        let values: Vec<Option<f64>> =
            self.summary.thresholds.iter().map(|threshold| threshold.value).collect();
        let figures = [
            (ended > 0).then_some(failed as f64),
            (ended > 0).then(|| failed as f64 / ended as f64),
            (expected.sessions > 0).then_some(ended as f64),
        ];
        assert_eq!(values, figures, "{case}");
    }
}

#[test]
fn sessions_end_as_the_plans_of_users_and_server_say() {
    let cases = testkit::cases(CASES);
    let mut seen = Tally::default();
    let mut unclear = 0;
    for number in 0..cases {
        let case = Case::new(number);
        let text = case.text();
        let plan = case.plan(&text);
        let conditions = Conditions::new(number, &plan);
        let Some(expected) = tally(&case, &plan, &conditions) else {
            unclear += 1;
            continue;
        };
        let mut server = Server::new(ServerPlan::new(number));
        let played = sim::run(&plan, conditions.loops, &mut server, conditions.link());
        let played = played.expect("the plan can be run");
        let what = format!("case {number}, {conditions:?}:\n{text}");
        let judged = Judged::new(text, &plan, &conditions, played);
        assert_eq!(judged.tally(&what), expected, "{what}");
        judged.check_figures(&expected, &what);
        let ended = expected.finished + expected.failed_count() + expected.cut_off;
        assert_eq!(expected.sessions, ended + expected.lost, "{what}");
        seen.add(&expected);
    }
    assert!(unclear * 20 < cases, "{unclear} of {cases} cases are left out");
    // The cases are worth their number only if sessions end in all ways.
    let outcomes = [
        Outcome::Status,
        Outcome::Timeout,
        Outcome::Closed,
        Outcome::Reset,
        Outcome::Save,
        Outcome::Check,
        Outcome::Step,
        Outcome::Script,
    ];
    for outcome in outcomes {
        let is_seen = seen.failed.keys().any(|failure| failure.outcome == outcome.name());
        assert!(is_seen, "no session failed with {outcome:?}: {seen:?}");
    }
    let counts = [seen.kept_away, seen.refused, seen.finished, seen.cut_off];
    let lost = [seen.lost, seen.lost_users, seen.never_came];
    assert!(counts.iter().chain(&lost).all(|&count| count > 0), "{seen:?}");
}
