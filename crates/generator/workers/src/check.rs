//! Checks what a worker reports. Its figures are added up and used as indices, so impossible values are
//! refused before.

use std::collections::BTreeSet;

use driver::real::LoopNews;
use engine::measure::{
    CONSOLE_LINES_MAX, ConsoleLine, Delta, ErrorDelta, FIELD_BYTES_MAX, HEADERS_MAX,
    INTERVAL_SAMPLES_MAX, MetricDelta, Sample,
};
use engine::sequences::{Broadcast, ClockReading};
use plan::{MeasureId, MessageId, Plan};
use record::counters::COUNTER_MAX;
use record::schema::{StepWork, UnfinishedSessions};
use record::{Measurement, Outcome};
use stats::hist::LogHistogram;
use stats::metrics::MetricKind;

use super::protocol::Loops;
use super::rows::LeftRows;

/// No frame has more rows; loops send some thousand at most.
const ROWS_MAX: usize = 1 << 16;
/// No interval of a loop reports more.
const BROADCASTS_MAX: usize = 1 << 16;
/// Heads, and settlements, that an interval of a loop reports, at most.
const REPORTS_MAX: usize = 1 << 16;
/// Kinds of endings that an interval of a loop reports, at most.
const ENDINGS_MAX: usize = 1 << 16;
/// Kinds of failures that an interval of a loop reports, at most.
const ERRORS_MAX: usize = 1 << 16;
/// Steps and kinds of own work that an interval of a loop reports, at most.
const OWN_WORK_MAX: usize = 1 << 16;
/// Digits of a digest.
const DIGEST_DIGITS: usize = 64;
/// Longest path, and longest text about rows.
const TEXT_BYTES_MAX: usize = 4 << 10;
/// No run lasts as long; 36 years.
const TIME_NS_MAX: u64 = 1 << 60;

/// Checks all that one worker reports.
#[derive(Debug)]
pub(crate) struct Check {
    loops: Loops,
    measures_count: usize,
    sessions_count: usize,
    /// The steps of each session that are no operations.
    own_steps: Vec<BTreeSet<String>>,
    messages_count: usize,
    phases_count: usize,
    metrics: Vec<MetricKind>,
    /// The end of the last interval of each loop of the worker; `None`: the loop has ended.
    until_ns: Vec<Option<u64>>,
    /// True once it has reported the rows that it left on its machine.
    has_left: bool,
}

/// A worker reported a value that is impossible in this run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it reported an impossible value: {0}")]
pub(crate) struct ImpossibleValue(&'static str);

impl Check {
    pub(crate) fn new(plan: &Plan, loops: Loops) -> Check {
        let own_steps = plan.sessions.iter().map(|session| {
            let steps = session.own_steps(&plan.data, &plan.measures).into_iter();
            steps.map(|(_, name)| name).collect()
        });
        Check {
            loops,
            measures_count: plan.measures.len(),
            sessions_count: plan.sessions.len(),
            own_steps: own_steps.collect(),
            messages_count: plan.messages.len(),
            phases_count: plan.phases.len(),
            metrics: plan.metrics.iter().map(|metric| metric.kind).collect(),
            until_ns: vec![Some(0); loops.count as usize],
            has_left: false,
        }
    }

    /// True once all loops of the worker have ended.
    pub(crate) fn all_ended(&self) -> bool {
        self.until_ns.iter().all(Option::is_none)
    }

    pub(crate) fn news(&mut self, news: &LoopNews) -> Result<(), ImpossibleValue> {
        match news {
            LoopNews::Delta(delta) => self.delta(delta),
            LoopNews::Ended { loop_id } => {
                self.running_loop(*loop_id)?.take();
                Ok(())
            }
            LoopNews::Thinned { loop_id, at_ns, .. } => {
                self.running_loop(*loop_id)?;
                within(*at_ns, TIME_NS_MAX, "a time")
            }
        }
    }

    pub(crate) fn rows(&self, rows: &[Measurement]) -> Result<(), ImpossibleValue> {
        let known = |row: &Measurement| {
            usize::from(row.measure) < self.measures_count
                && usize::from(row.session) < self.sessions_count
                && self.loops.numbers().contains(&u32::from(row.loop_id))
                && row.due_ns.max(row.sent_ns).max(row.done_ns) <= TIME_NS_MAX
        };
        if rows.len() > ROWS_MAX {
            Err(ImpossibleValue("too many rows at once"))
        } else if rows.iter().all(known) {
            Ok(())
        } else {
            Err(ImpossibleValue("a row of another run"))
        }
    }

    /// Checks the rows that it has left on its machine, which it reports once.
    pub(crate) fn left(&mut self, left: &LeftRows) -> Result<(), ImpossibleValue> {
        let is_digest = |text: &str| {
            text.len() == DIGEST_DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit())
        };
        let texts = [Some(&left.path), left.problem.as_ref()];
        if std::mem::replace(&mut self.has_left, true) {
            Err(ImpossibleValue("rows that it left twice"))
        } else if texts.iter().flatten().any(|text| text.len() > TEXT_BYTES_MAX) {
            Err(ImpossibleValue("a long text about its rows"))
        } else if !left.part.as_ref().is_none_or(|(sha256, ..)| is_digest(sha256)) {
            Err(ImpossibleValue("a digest of its rows that is none"))
        } else {
            Ok(())
        }
    }

    /// The state of a running loop of this worker.
    fn running_loop(&mut self, number: u16) -> Result<&mut Option<u64>, ImpossibleValue> {
        let place = u32::from(number).checked_sub(self.loops.first);
        place
            .and_then(|place| self.until_ns.get_mut(place as usize))
            .filter(|place| place.is_some())
            .ok_or(ImpossibleValue("a report of a loop that it does not run"))
    }

    fn delta(&mut self, delta: &Delta) -> Result<(), ImpossibleValue> {
        let place = self.running_loop(delta.loop_id)?;
        if *place != Some(delta.start_ns) || delta.end_ns < delta.start_ns {
            return Err(ImpossibleValue("an interval out of order"));
        }
        within(delta.end_ns, TIME_NS_MAX, "a time")?;
        *place = Some(delta.end_ns);
        if delta.phase as usize >= self.phases_count.max(1) {
            return Err(ImpossibleValue("a phase that the plan does not have"));
        }
        let mut measures = delta.measures.iter().map(|m| m.measure);
        if measures.any(|measure| measure.index() >= self.measures_count) {
            return Err(ImpossibleValue("a measure that the plan does not have"));
        }
        let knows =
            |one: &MetricDelta| self.metrics.get(one.metric.index()) == Some(&one.values.kind());
        if delta.metrics.len() > self.metrics.len() || !delta.metrics.iter().all(knows) {
            return Err(ImpossibleValue("a metric that the plan does not have"));
        }
        self.failures(delta)?;
        let knows = |ending: &UnfinishedSessions| {
            let step = ending.step.map_or(0, usize::from);
            let outcome = ending.outcome.as_deref();
            step < self.measures_count
                && self.has_step(ending.session, ending.own_step.as_deref())
                && outcome.is_none_or(|name| Outcome::from_name(name).is_some())
        };
        if delta.endings.len() > ENDINGS_MAX || !delta.endings.iter().all(knows) {
            return Err(ImpossibleValue("endings of sessions that the plan does not have"));
        }
        let knows = |work: &StepWork| {
            let own_step = work.own_step.as_deref();
            work.measure.map_or(0, usize::from) < self.measures_count
                && match work.session {
                    Some(session) => self.has_step(session, own_step),
                    None => own_step.is_none(),
                }
        };
        if delta.own_work.len() > OWN_WORK_MAX || !delta.own_work.iter().all(knows) {
            return Err(ImpossibleValue("own work for steps that the plan does not have"));
        }
        let broadcasts = &delta.broadcasts;
        if broadcasts.len() > BROADCASTS_MAX {
            return Err(ImpossibleValue("too many broadcasts at once"));
        }
        let known = |b: &Broadcast| {
            b.message.index() < self.messages_count
                && b.first_ns.max(b.last_ns).max(b.sent_ns) <= TIME_NS_MAX
        };
        if !broadcasts.iter().all(known) {
            return Err(ImpossibleValue("a broadcast of another run"));
        }
        self.accounts(delta)?;
        let outcomes = delta.measures.iter().flat_map(|m| m.outcomes);
        let begun = delta.measures.iter().flat_map(|m| [m.due, m.begun, m.retried]);
        let begun = begun.chain(delta.measures.iter().flat_map(|m| m.missed));
        let outcomes = outcomes
            .chain(begun)
            .chain(delta.settlements.iter().map(|(_, n)| *n))
            .chain(delta.endings.iter().map(|e| e.users))
            .chain(delta.errors.iter().map(|e| e.count))
            .chain(delta.own_work.iter().flat_map(|work| [work.count, work.total_ns, work.max_ns]));
        let hists = delta.measures.iter();
        let hists = hists.flat_map(|m| [&m.response, &m.failed, &m.censored, &m.service, &m.lag]);
        let hists = hists.chain(delta.measures.iter().map(|m| &m.late));
        let others = [&delta.lag, &delta.sessions.finished, &delta.sessions.unfinished];
        let hists = hists.chain(others).map(LogHistogram::count);
        let traffic = delta.traffic.numbers();
        let counters = delta.counts.values().chain(delta.gauges.values());
        let counters = counters.chain(delta.cpu.values());
        let metrics = delta.metrics.iter().map(|one| one.values.count());
        let counts = outcomes.chain(hists).chain(counters).chain(metrics);
        let mut counts = counts.chain(traffic);
        counts.try_for_each(|count| within(count, COUNTER_MAX, "a count"))
    }

    /// Failures by what they were, samples of them, and what scripts wrote.
    fn failures(&self, delta: &Delta) -> Result<(), ImpossibleValue> {
        let knows = |measure: MeasureId, own_step: Option<&str>, outcome: Outcome| {
            let has_step = |step: &str| self.own_steps.iter().any(|steps| steps.contains(step));
            measure.index() < self.measures_count
                && outcome.is_error()
                && own_step.is_none_or(has_step)
        };
        let is_short = |text: Option<&String>| text.is_none_or(|t| t.len() <= FIELD_BYTES_MAX);
        let is_error = |error: &ErrorDelta| {
            knows(error.measure, error.own_step.as_deref(), error.outcome)
                && is_short(error.detail.as_ref())
        };
        if delta.errors.len() > ERRORS_MAX || !delta.errors.iter().all(is_error) {
            return Err(ImpossibleValue("failures that the plan cannot have"));
        }
        let is_sample = |sample: &Sample| {
            let texts = [&sample.detail, &sample.request, &sample.status, &sample.body];
            let headers = sample.headers.iter().flat_map(|(name, value)| [name, value]);
            let mut texts = texts.into_iter().flatten().chain(headers).chain([&sample.text]);
            knows(sample.measure, sample.own_step.as_deref(), sample.outcome)
                && sample.at_ns <= TIME_NS_MAX
                && sample.headers.len() <= HEADERS_MAX
                && texts.all(|text| is_short(Some(text)))
        };
        if delta.samples.len() > INTERVAL_SAMPLES_MAX || !delta.samples.iter().all(is_sample) {
            return Err(ImpossibleValue("samples of failures that are none or too large"));
        }
        let is_line = |line: &ConsoleLine| line.at_ns <= TIME_NS_MAX && is_short(Some(&line.text));
        if delta.console.len() > CONSOLE_LINES_MAX || !delta.console.iter().all(is_line) {
            return Err(ImpossibleValue("lines of scripts that are too many or too long"));
        }
        Ok(())
    }

    /// True if the plan has the session, and it has this step that is no operation.
    fn has_step(&self, session: u16, own_step: Option<&str>) -> bool {
        let steps = self.own_steps.get(usize::from(session));
        steps.is_some_and(|steps| own_step.is_none_or(|step| steps.contains(step)))
    }

    /// The accounts of numbered messages, and the clocks that stamp messages.
    fn accounts(&self, delta: &Delta) -> Result<(), ImpossibleValue> {
        if delta.heads.len().max(delta.settlements.len()) > REPORTS_MAX {
            return Err(ImpossibleValue("too many accounts at once"));
        }
        let heads = delta.heads.iter().map(|head| head.message);
        let settlements = delta.settlements.iter().map(|(s, _)| s.message);
        let known = |message: MessageId| message.index() < self.messages_count;
        if !heads.chain(settlements).all(known) {
            return Err(ImpossibleValue("an account of another run"));
        }
        let knows = |clock: &ClockReading| {
            clock.message.index() < self.messages_count
                && clock.round_trip_ns <= TIME_NS_MAX
                && clock.replies <= COUNTER_MAX
        };
        if delta.clocks.len() > self.messages_count || !delta.clocks.iter().all(knows) {
            return Err(ImpossibleValue("a clock of another run"));
        }
        Ok(())
    }
}

fn within(value: u64, max: u64, what: &'static str) -> Result<(), ImpossibleValue> {
    if value > max {
        return Err(ImpossibleValue(what));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::MetricId;
    use record::schema::{SessionEnd, UserState, WorkKind};
    use stats::metrics::{Counter, MetricValues};

    fn check() -> Check {
        Check {
            loops: Loops { first: 4, count: 2, of: 8 },
            measures_count: 2,
            sessions_count: 1,
            own_steps: vec![BTreeSet::from(["`js`".to_owned()])],
            messages_count: 1,
            phases_count: 1,
            metrics: vec![MetricKind::Counter],
            until_ns: vec![Some(0); 2],
            has_left: false,
        }
    }

    fn is_accepted(check: &mut Check, delta: Delta) -> bool {
        check.news(&LoopNews::Delta(Box::new(delta))).is_ok()
    }

    #[test]
    fn what_was_left_is_reported_once_and_with_a_digest() {
        let left = |sha256: &str, path: usize| LeftRows {
            path: "p".repeat(path),
            part: Some((sha256.to_owned(), 1, 2)),
            lost: 0,
            problem: None,
        };
        let digest = "0a".repeat(32);
        let mut all = check();
        assert!(all.left(&left(&digest, 9)).is_ok());
        assert!(all.left(&left(&digest, 9)).is_err(), "twice");
        for bad in [left("", 9), left(&"x".repeat(64), 9), left(&digest, 5_000)] {
            assert!(check().left(&bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn intervals_are_consecutive_until_the_loop_ends() {
        let mut check = check();
        assert!(is_accepted(&mut check, Delta::new(4, 0, 10)));
        assert!(!is_accepted(&mut check, Delta::new(4, 0, 10)), "twice");
        assert!(!is_accepted(&mut check, Delta::new(4, 11, 20)), "a gap");
        assert!(!is_accepted(&mut check, Delta::new(4, 10, 9)), "backwards");
        assert!(is_accepted(&mut check, Delta::new(4, 10, 20)));
        assert!(!is_accepted(&mut check, Delta::new(3, 0, 10)), "another worker's loop");
        assert!(!is_accepted(&mut check, Delta::new(6, 0, 10)), "another worker's loop");
        check.news(&LoopNews::Ended { loop_id: 4 }).unwrap();
        assert!(!is_accepted(&mut check, Delta::new(4, 20, 30)), "after its end");
        assert!(!check.all_ended());
        check.news(&LoopNews::Ended { loop_id: 5 }).unwrap();
        assert!(check.all_ended());
    }

    /// The controller keeps a count for each kind that it is given.
    #[test]
    fn steps_and_outcomes_that_the_plan_does_not_have_are_refused() {
        let is_ending = |session, own_step: &str, outcome: &str| {
            let mut ended = Delta::new(4, 0, 10);
            ended.endings = vec![UnfinishedSessions {
                session,
                step: None,
                state: UserState::Working,
                end: SessionEnd::Failed,
                outcome: Some(outcome.to_owned()),
                own_step: Some(own_step.to_owned()),
                users: 1,
            }];
            is_accepted(&mut check(), ended)
        };
        assert!(is_ending(0, "`js`", "script"));
        assert!(!is_ending(1, "`js`", "script"));
        assert!(!is_ending(0, "`js` of 7", "script"));
        assert!(!is_ending(0, "`js`", "script of 7"));
        let is_work = |session, own_step: &str| {
            let mut worked = Delta::new(4, 0, 10);
            worked.own_work = vec![StepWork {
                kind: WorkKind::Step,
                measure: None,
                session,
                own_step: Some(own_step.to_owned()),
                count: 1,
                total_ns: 5,
                max_ns: 5,
            }];
            is_accepted(&mut check(), worked)
        };
        assert!(is_work(Some(0), "`js`"));
        assert!(!is_work(Some(1), "`js`"));
        assert!(!is_work(Some(0), "`set` of `x`"));
        assert!(!is_work(None, "`js`"));
    }

    #[test]
    fn failures_that_the_plan_cannot_have_are_refused() {
        let is_error = |measure, own_step: Option<&str>, outcome, detail: usize, count| {
            let mut failed = Delta::new(4, 0, 10);
            failed.errors = vec![ErrorDelta {
                measure: MeasureId(measure),
                own_step: own_step.map(str::to_owned),
                outcome,
                detail: Some("d".repeat(detail)),
                count,
            }];
            is_accepted(&mut check(), failed)
        };
        assert!(is_error(1, Some("`js`"), Outcome::Script, 160, 1));
        assert!(!is_error(2, None, Outcome::Script, 1, 1), "another measure");
        assert!(!is_error(1, Some("`set`"), Outcome::Script, 1, 1), "another step");
        assert!(!is_error(1, None, Outcome::Ok, 1, 1), "no failure");
        assert!(!is_error(1, None, Outcome::Tls, FIELD_BYTES_MAX + 1, 1), "a long detail");
        assert!(!is_error(1, None, Outcome::Tls, 1, COUNTER_MAX + 1), "too many");
        let sample = Sample {
            at_ns: 1,
            measure: MeasureId(0),
            own_step: None,
            outcome: Outcome::Status,
            detail: None,
            user: 1,
            text: String::new(),
            request: None,
            status: None,
            headers: Vec::new(),
            body: None,
        };
        let are_samples = |samples: Vec<Sample>| {
            is_accepted(&mut check(), Delta { samples, ..Delta::new(4, 0, 10) })
        };
        assert!(are_samples(vec![sample.clone(); INTERVAL_SAMPLES_MAX]));
        assert!(!are_samples(vec![sample.clone(); INTERVAL_SAMPLES_MAX + 1]), "too many");
        let body = Some("b".repeat(FIELD_BYTES_MAX + 1));
        assert!(!are_samples(vec![Sample { body, ..sample.clone() }]), "a long body");
        let header = (String::new(), "v".repeat(FIELD_BYTES_MAX + 1));
        assert!(!are_samples(vec![Sample { headers: vec![header], ..sample.clone() }]));
        let headers = vec![(String::new(), String::new()); HEADERS_MAX + 1];
        assert!(!are_samples(vec![Sample { headers, ..sample }]), "too many headers");
        let are_lines = |console: Vec<ConsoleLine>| {
            is_accepted(&mut check(), Delta { console, ..Delta::new(4, 0, 10) })
        };
        let line = ConsoleLine { at_ns: 5, text: "said".to_owned() };
        assert!(are_lines(vec![line.clone(); CONSOLE_LINES_MAX]));
        assert!(!are_lines(vec![line.clone(); CONSOLE_LINES_MAX + 1]), "too many lines");
        let text = "x".repeat(FIELD_BYTES_MAX + 1);
        assert!(!are_lines(vec![ConsoleLine { text, ..line }]), "a long line");
    }

    #[test]
    fn values_that_could_overflow_are_refused() {
        let mut large = Delta::new(4, 0, 10);
        large.counts.bytes_in = u64::MAX;
        assert!(!is_accepted(&mut check(), large));
        let mut large = Delta::new(4, 0, 10);
        large.lag.record_n(1, COUNTER_MAX + 1);
        assert!(!is_accepted(&mut check(), large));
        let mut large = Delta::new(4, 0, 10);
        large.sessions.unfinished.record_n(1, COUNTER_MAX + 1);
        assert!(!is_accepted(&mut check(), large));
        let is_metric = |metrics: Vec<MetricDelta>| {
            is_accepted(&mut check(), Delta { metrics, ..Delta::new(4, 0, 10) })
        };
        let counted = |count: u64| {
            let values = MetricValues::Counter(Counter { count, ..Counter::default() });
            MetricDelta { metric: MetricId(0), values }
        };
        assert!(is_metric(vec![counted(COUNTER_MAX)]));
        assert!(!is_metric(vec![counted(COUNTER_MAX + 1)]), "too many");
        assert!(!is_metric(vec![counted(1), counted(1)]), "twice");
        let gauge = MetricValues::new(MetricKind::Gauge);
        assert!(!is_metric(vec![MetricDelta { metric: MetricId(0), values: gauge }]), "kind");
        assert!(!is_metric(vec![MetricDelta { metric: MetricId(1), ..counted(1) }]), "number");
        let mut phase = Delta::new(4, 0, 10);
        phase.phase = 1;
        assert!(!is_accepted(&mut check(), phase));
        assert!(!is_accepted(&mut check(), Delta::new(4, 0, u64::MAX)));
    }
}
