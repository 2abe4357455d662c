//! Measurements: rows, histograms and counts of one loop, cut once a second.

use std::cell::LazyCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use plan::Plan;
use plan::{MeasureId, MeasureKind, MessageNumber, MetricId, Pc, Phase, SessionId};
use record::schema::{SessionEnd, StepWork, UnfinishedSessions, UserState, WhyNot, WorkKind};
use record::{Measurement, Outcome};
use script::Console;
use serde::{Deserialize, Serialize};
use stats::decimal::Decimal;
use stats::hist::LogHistogram;
use stats::metrics::MetricValues;

use crate::failures::{FailureReport, Failures, StepPlace};
use crate::sequences::{Broadcast, Broadcasts, ClockReading, Head, Heads, Settlement, Settlements};
use crate::trace::{Trace, TraceEvent};
use crate::traffic::Traffic;

pub use crate::failures::{
    ErrorDelta, FIELD_BYTES_MAX, HEADERS_MAX, INTERVAL_SAMPLES_MAX, Sample, without_numbers,
};
pub use record::counters::{Counts, Gauges, LoopCpu};

/// Answers that were read less late than this decide nothing.
const LATE_NS_MIN: u64 = 1_000_000;
/// One second between cuts.
const CUT_NS: u64 = 1_000_000_000;
/// Most lines of scripts that a loop hands over in a run.
pub const CONSOLE_LINES_MAX: usize = 100;
/// How many kinds of outcome there are.
pub const OUTCOMES: usize = Outcome::ALL.len();

/// One loop's figures for one interval: a second, or the part of it up to a phase's end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Delta {
    pub loop_id: u16,
    pub start_ns: u64,
    pub end_ns: u64,
    /// Index into the plan's phases; after the last phase its number stays.
    pub phase: u32,
    pub counts: Counts,
    pub gauges: Gauges,
    /// Measures with any entry.
    pub measures: Vec<MeasureDelta>,
    /// Lateness of every operation the loop began.
    pub lag: LogHistogram,
    /// Failures by what they were.
    pub errors: Vec<ErrorDelta>,
    /// Samples of the failures, as their users saw them.
    pub samples: Vec<Sample>,
    /// Lines that scripts have written.
    pub console: Vec<ConsoleLine>,
    /// Sessions that did not reach the end of their program.
    pub endings: Vec<UnfinishedSessions>,
    /// The loop's own work, by step and kind.
    pub own_work: Vec<StepWork>,
    /// Metrics with any number.
    pub metrics: Vec<MetricDelta>,
    /// How long sessions took; empty unless a threshold needs it.
    pub sessions: SessionTimes,
    /// Numbered messages that the loop's users got.
    pub broadcasts: Vec<Broadcast>,
    /// How far their sequences had come.
    pub heads: Vec<Head>,
    /// Subscriptions to them that ended, and how many made the same claim.
    pub settlements: Vec<(Settlement, u64)>,
    /// Readings of the clocks that stamped replies.
    pub clocks: Vec<ClockReading>,
    /// Filled in by a driver that has threads and clocks, as is what follows.
    pub cpu: LoopCpu,
    /// Traffic of all connections so far.
    pub traffic: Traffic,
}

/// A line that a script has written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConsoleLine {
    pub at_ns: u64,
    /// Up to [`FIELD_BYTES_MAX`] bytes.
    pub text: String,
}

/// One metric's share of a [`Delta`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MetricDelta {
    pub metric: MetricId,
    pub values: MetricValues,
}

/// How long the sessions took that ended, from when they were due.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct SessionTimes {
    /// Those that came to the end of their program.
    pub finished: LogHistogram,
    /// Those that failed, were stopped or cut off: they would have taken at least that long.
    pub unfinished: LogHistogram,
}

impl SessionTimes {
    /// Adds others.
    pub fn merge(&mut self, other: &SessionTimes) {
        self.finished.merge(&other.finished);
        self.unfinished.merge(&other.unfinished);
    }
}

/// An end of sessions before the end of their program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Ending {
    pub(crate) end: SessionEnd,
    pub(crate) session: SessionId,
    /// The step that the session was in, or would have come to next.
    pub(crate) step: Option<MeasureId>,
    pub(crate) state: UserState,
    /// The failure that ended it.
    pub(crate) outcome: Option<Outcome>,
    /// The instruction that failed, if it was being done.
    pub(crate) at: Option<Pc>,
}

/// A step, as the loop's own work for it is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum WorkPlace {
    Measure(MeasureId),
    /// A step that is no operation.
    Step(StepPlace),
}

/// Own work of one kind for one step.
#[derive(Debug, Clone, Copy, Default)]
struct WorkTimes {
    count: u64,
    total_ns: u64,
    max_ns: u64,
}

/// One measure's share of a [`Delta`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MeasureDelta {
    pub measure: MeasureId,
    /// Operations that were due in the interval: those that users came to, and those of `missed`.
    pub due: u64,
    /// Operations that were due and never began, by [`WhyNot::ALL`]; counted where that became known.
    pub missed: [u64; WhyNot::ALL.len()],
    /// Operations that began in the interval.
    pub begun: u64,
    /// Operations that ended in it, by [`Outcome`] code.
    #[serde(with = "by_outcome")]
    pub outcomes: [u64; OUTCOMES],
    /// Attempts that failed in it, by this measure, and were tried again (`retry`).
    pub retried: u64,
    /// Response times of operations that succeeded, as the two last are of these.
    pub response: LogHistogram,
    /// Response times of operations that were answered with a failure.
    pub failed: LogHistogram,
    /// How long operations waited that were never answered: their response times are at least that.
    pub censored: LogHistogram,
    /// Empty but for requests, handshakes and stamped messages, as is `lag`.
    pub service: LogHistogram,
    /// How long messages may have been there before they were read.
    pub lag: LogHistogram,
    /// Requests and handshakes whose answers may have been there for a millisecond before they were read: that time
    /// and their lag.
    pub late: LogHistogram,
}

impl Delta {
    /// An interval in which nothing happened.
    pub fn new(loop_id: u16, start_ns: u64, end_ns: u64) -> Delta {
        Delta {
            loop_id,
            start_ns,
            end_ns,
            phase: 0,
            counts: Counts::default(),
            gauges: Gauges::default(),
            measures: Vec::new(),
            lag: LogHistogram::new(),
            errors: Vec::new(),
            samples: Vec::new(),
            console: Vec::new(),
            endings: Vec::new(),
            own_work: Vec::new(),
            metrics: Vec::new(),
            sessions: SessionTimes::default(),
            broadcasts: Vec::new(),
            heads: Vec::new(),
            settlements: Vec::new(),
            clocks: Vec::new(),
            cpu: LoopCpu::default(),
            traffic: Traffic::default(),
        }
    }
}

impl MeasureDelta {
    /// A measure without any entry.
    pub fn new(measure: MeasureId) -> MeasureDelta {
        MeasureDelta {
            measure,
            due: 0,
            missed: [0; WhyNot::ALL.len()],
            begun: 0,
            outcomes: [0; OUTCOMES],
            retried: 0,
            response: LogHistogram::new(),
            failed: LogHistogram::new(),
            censored: LogHistogram::new(),
            service: LogHistogram::new(),
            lag: LogHistogram::new(),
            late: LogHistogram::new(),
        }
    }
}

/// Counts by outcome as a list: serde knows no arrays of this length.
mod by_outcome {
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    use super::OUTCOMES;

    pub(super) fn serialize<S: Serializer>(
        counts: &[u64; OUTCOMES],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        counts.as_slice().serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<[u64; OUTCOMES], D::Error> {
        let counts = Vec::deserialize(deserializer)?;
        let wrong =
            |counts: Vec<u64>| D::Error::invalid_length(counts.len(), &"a count for each outcome");
        counts.try_into().map_err(wrong)
    }
}

/// Collects what a loop measures.
#[derive(Debug)]
pub(crate) struct Recorder {
    loop_id: u16,
    kinds: Vec<MeasureKind>,
    measures: Vec<MeasureDelta>,
    lag: LogHistogram,
    pub(crate) failures: Failures,
    endings: BTreeMap<Ending, u64>,
    own_work: BTreeMap<(WorkPlace, WorkKind), WorkTimes>,
    /// The numbers of each metric in the interval.
    metrics: Vec<MetricValues>,
    pub(crate) session_times: SessionTimes,
    /// The steps that are no operations, as endings name them, by session and instruction.
    own_steps: Arc<BTreeMap<StepPlace, String>>,
    pub(crate) broadcasts: Broadcasts,
    pub(crate) heads: Heads,
    pub(crate) settlements: Settlements,
    clocks: Vec<ClockReading>,
    pub(crate) counts: Counts,
    /// The most users there were at once in the interval so far.
    users_peak: u64,
    rows: Vec<Measurement>,
    rows_max: usize,
    /// One in this many rows is kept.
    keep_one_in: u32,
    skipped: u32,
    phase_ends: Vec<u64>,
    cut_start_ns: u64,
    cut_end_ns: u64,
    deltas: Vec<Delta>,
    /// Lines of scripts in the interval.
    console: Vec<ConsoleLine>,
    /// How many more are handed over in this run.
    console_left: usize,
    /// Trace of the user who is traced.
    pub(crate) trace: Option<Box<Trace>>,
}

impl Recorder {
    /// `rows_max`: how many rows are gathered before they are handed over.
    pub(crate) fn new(plan: &Plan, loop_id: u16, rows_max: usize) -> Recorder {
        let phase_ends: Vec<u64> = plan.phases.iter().map(Phase::end_ns).collect();
        let own_steps = (0..).map(SessionId).zip(&plan.sessions).flat_map(|(id, session)| {
            let steps = session.own_steps(&plan.data, &plan.measures).into_iter();
            steps.map(move |(pc, name)| (StepPlace { session: id, pc }, name))
        });
        let own_steps: BTreeMap<StepPlace, String> = own_steps.collect();
        let own_steps = Arc::new(own_steps);
        Recorder {
            loop_id,
            kinds: plan.measures.iter().map(|measure| measure.kind).collect(),
            measures: (0..)
                .map(MeasureId)
                .map(MeasureDelta::new)
                .take(plan.measures.len())
                .collect(),
            lag: LogHistogram::new(),
            failures: Failures::new(plan.options.samples, Arc::clone(&own_steps)),
            endings: BTreeMap::new(),
            own_work: BTreeMap::new(),
            metrics: plan.metrics.iter().map(|metric| MetricValues::new(metric.kind)).collect(),
            session_times: SessionTimes::default(),
            own_steps,
            broadcasts: Broadcasts::default(),
            heads: Heads::default(),
            settlements: Settlements::default(),
            clocks: Vec::new(),
            counts: Counts::default(),
            users_peak: 0,
            rows: Vec::new(),
            rows_max,
            keep_one_in: 1,
            skipped: 0,
            cut_start_ns: 0,
            cut_end_ns: next_cut(0, &phase_ends),
            phase_ends,
            deltas: Vec::new(),
            console: Vec::new(),
            console_left: CONSOLE_LINES_MAX,
            trace: None,
        }
    }

    /// Counts an operation that is due as it begins.
    pub(crate) fn begin(&mut self, measure: MeasureId) {
        self.due(measure);
        self.begin_step(measure);
    }

    /// Counts an operation of a step that a user has come to.
    pub(crate) fn due(&mut self, measure: MeasureId) {
        self.measures[measure.index()].due += 1;
    }

    /// Counts its beginning.
    pub(crate) fn begin_step(&mut self, measure: MeasureId) {
        self.measures[measure.index()].begun += 1;
    }

    /// Counts operations that were due and never begin.
    pub(crate) fn missed(&mut self, measure: MeasureId, why: WhyNot, times: u64) {
        let own = &mut self.measures[measure.index()];
        own.due += times;
        own.missed[why as usize] += times;
        self.counts.steps_missed += times;
    }

    /// Counts an attempt that failed and is tried again.
    pub(crate) fn retried(&mut self, measure: MeasureId) {
        self.measures[measure.index()].retried += 1;
    }

    /// Counts a session that did not reach the end of its program.
    pub(crate) fn session_ended(&mut self, ending: Ending) {
        match ending.end {
            SessionEnd::Failed => self.counts.users_failed += 1,
            SessionEnd::Stopped => self.counts.users_stopped += 1,
            SessionEnd::CutOff => self.counts.users_cut += 1,
        }
        *self.endings.entry(ending).or_default() += 1;
    }

    /// Adds work of our own that took this long.
    pub(crate) fn worked(&mut self, place: WorkPlace, kind: WorkKind, took_ns: u64) {
        let times = self.own_work.entry((place, kind)).or_default();
        times.count += 1;
        times.total_ns += took_ns;
        times.max_ns = times.max_ns.max(took_ns);
    }

    /// Records an operation that begins and ends at once: a message that came in, and that may have
    /// been there for `late_ns` before it was read. That much of its latency may be the generator's.
    pub(crate) fn arrival(&mut self, row: Measurement, late_ns: u64) {
        let measure = MeasureId(row.measure);
        self.begin(measure);
        let own = &mut self.measures[measure.index()];
        let late_ns = late_ns.min(row.response_ns());
        own.lag.record(late_ns);
        own.service.record(row.response_ns() - late_ns);
        self.operation(row, 0, 0);
    }

    /// Counts what happened, with a time of its own.
    pub(crate) fn time(&mut self, measure: MeasureId, time_ns: u64) {
        self.count(measure, 1);
        self.measures[measure.index()].response.record(time_ns);
    }

    /// Records a number of a metric.
    pub(crate) fn metric(&mut self, now_ns: u64, metric: MetricId, value: Decimal) {
        self.trace(|| TraceEvent::Recorded { metric, value });
        self.metrics[metric.index()].record(now_ns, value);
    }

    /// Adds what a stamped reply says of a clock.
    pub(crate) fn compare_clock(&mut self, reading: &ClockReading) {
        let mut known = self.clocks.iter_mut();
        match known.find(|known| known.message == reading.message) {
            Some(known) => known.merge(reading),
            None => self.clocks.push(*reading),
        }
    }

    /// Records an operation that has ended. `lag_ns` is how late the generator was with it, which
    /// is less than sent − due if the user was still busy when a paced step fell due. `late_ns`: for how long its answer
    /// may have been there before it was read.
    pub(crate) fn operation(&mut self, row: Measurement, lag_ns: u64, late_ns: u64) {
        self.trace(|| TraceEvent::Operation(row));
        let own = &mut self.measures[usize::from(row.measure)];
        own.outcomes[row.outcome as usize] += 1;
        self.counts.done += 1;
        if row.outcome == Outcome::Ok {
            own.response.record(row.response_ns());
        } else {
            if row.outcome.is_error() {
                self.counts.errors += 1;
                let measure = MeasureId(row.measure);
                self.failures.count(measure, row.outcome, Some(row.user), row.status);
            }
            if row.outcome.is_unanswered() {
                own.censored.record(row.response_ns());
            } else if row.outcome.is_answered_failure() {
                own.failed.record(row.response_ns());
            }
        }
        if matches!(
            self.kinds[usize::from(row.measure)],
            MeasureKind::Request | MeasureKind::Handshake
        ) {
            self.lag.record(lag_ns);
            if row.outcome == Outcome::Ok {
                own.service.record(row.service_ns());
                own.lag.record(lag_ns);
                let late_ns = late_ns.min(row.service_ns());
                if late_ns >= LATE_NS_MIN {
                    own.late.record(lag_ns + late_ns);
                }
            }
        }
        self.row(row);
    }

    #[inline]
    fn row(&mut self, row: Measurement) {
        self.skipped += 1;
        if self.skipped < self.keep_one_in {
            return;
        }
        self.skipped = 0;
        if self.rows.capacity() == 0 {
            self.rows.reserve_exact(self.rows_max);
        }
        self.rows.push(Measurement {
            loop_id: self.loop_id,
            weight: row.weight * self.keep_one_in,
            ..row
        });
    }

    /// A user started; this many are present now.
    pub(crate) fn user_started(&mut self, users: usize) {
        self.counts.users_started += 1;
        self.users_peak = self.users_peak.max(users as u64);
    }

    /// The user that started in this interval has no file, port or memory for its first connection:
    /// counts it as refused instead. False if it started before; then it counts as started.
    pub(crate) fn refuse_started(&mut self) -> bool {
        let started = self.counts.users_started > 0;
        if started {
            self.counts.users_started -= 1;
            self.counts.users_refused += 1;
        }
        started
    }

    /// Counts a condition that was evaluated.
    pub(crate) fn check(&mut self, measure: MeasureId, outcome: Outcome) {
        self.begin(measure);
        self.measures[measure.index()].outcomes[outcome as usize] += 1;
        if outcome.is_error() {
            self.counts.errors += 1;
            self.failures.count(measure, outcome, None, 0);
        }
    }

    /// Records what happened to something that an operation began, without taking time: it is in no
    /// histogram.
    pub(crate) fn happened(&mut self, row: Measurement) {
        self.check(MeasureId(row.measure), row.outcome);
        self.counts.done += 1;
        self.row(row);
    }

    /// Counts what happened this many times.
    pub(crate) fn count(&mut self, measure: MeasureId, times: u64) {
        let own = &mut self.measures[measure.index()];
        own.due += times;
        own.begun += times;
        own.outcomes[Outcome::Ok as usize] += times;
    }

    /// Counts a message, or a subscription, of which it is unknown what was lost.
    pub(crate) fn unaccounted(&mut self, numbered: &MessageNumber) {
        self.counts.numbers_unaccounted += 1;
        self.count(numbered.unaccounted, 1);
    }

    /// Takes what is known of a failure that is counted next. True if it is kept as a sample that wants to know of the
    /// request and its answer.
    pub(crate) fn explain(
        &mut self,
        failed: &FailureReport<'_>,
        text: impl FnOnce() -> String,
    ) -> bool {
        let text = LazyCell::new(text);
        if let Some(trace) = &self.trace {
            let FailureReport { measure, outcome, .. } = *failed;
            trace.add(TraceEvent::Error { measure, outcome, detail: String::clone(&text) });
        }
        self.failures.explain(failed, &text)
    }

    /// Keeps lines that scripts have written, as many as may still be handed over, and counts the others.
    pub(crate) fn keep_console(&mut self, console: Console, zero_unix_ns: u64) {
        let Console { mut lines, dropped } = console;
        let kept = lines.len().min(self.console_left);
        self.counts.console_dropped += dropped + (lines.len() - kept) as u64;
        self.console_left -= kept;
        lines.truncate(kept);
        self.console.extend(lines.into_iter().map(|line| {
            let unix_ns = line.unix_ms.max(0) as u64 * 1_000_000;
            ConsoleLine { at_ns: unix_ns.saturating_sub(zero_unix_ns), text: line.text }
        }));
    }

    /// Adds an event to the trace, if there is one.
    pub(crate) fn trace(&self, event: impl FnOnce() -> TraceEvent) {
        if let Some(trace) = &self.trace {
            trace.add(event());
        }
    }

    /// Rows to hand over: once enough have gathered, or any if `all`.
    #[inline]
    pub(crate) fn take_rows(&mut self, all: bool) -> Option<Vec<Measurement>> {
        let ready = self.rows.len() >= self.rows_max || (all && !self.rows.is_empty());
        ready.then(|| std::mem::take(&mut self.rows))
    }

    /// Takes back rows that could not be written in time, keeps every second of them and from now on half
    /// as many as before. Returns the new rate: one in how many.
    pub(crate) fn thin(&mut self, mut rows: Vec<Measurement>) -> u32 {
        let mut place = 0usize;
        rows.retain_mut(|row| {
            row.weight *= 2;
            place += 1;
            place.is_multiple_of(2)
        });
        rows.append(&mut self.rows);
        self.rows = rows;
        self.keep_one_in = self.keep_one_in.saturating_mul(2);
        self.keep_one_in
    }

    /// When the current interval ends.
    #[inline]
    pub(crate) fn cut_ns(&self) -> u64 {
        self.cut_end_ns
    }

    /// Closes all intervals that end at or before `now_ns`.
    pub(crate) fn cut(&mut self, now_ns: u64, gauges: Gauges) {
        while now_ns >= self.cut_end_ns {
            let gauges = Gauges { closed_late_ns: now_ns - self.cut_end_ns, ..gauges };
            self.close(self.cut_end_ns, gauges);
            self.cut_end_ns = next_cut(self.cut_start_ns, &self.phase_ends);
        }
    }

    /// Closes the interval that is open, at the end of the loop's life.
    pub(crate) fn finish(&mut self, now_ns: u64, gauges: Gauges) {
        self.cut(now_ns, gauges);
        self.close(now_ns, gauges);
    }

    /// The intervals that were closed since the last call.
    #[inline]
    pub(crate) fn take_deltas(&mut self) -> Vec<Delta> {
        std::mem::take(&mut self.deltas)
    }

    fn close(&mut self, end_ns: u64, gauges: Gauges) {
        let phase = self.phase_ends.partition_point(|&end| end <= self.cut_start_ns);
        let measures = self
            .measures
            .iter_mut()
            .filter(|own| own.due > 0 || own.retried > 0 || own.outcomes.iter().any(|&n| n > 0));
        let measures = measures.map(|own| std::mem::replace(own, MeasureDelta::new(own.measure)));
        let endings = std::mem::take(&mut self.endings).into_iter();
        let own_steps = &self.own_steps;
        let endings = endings.map(|(ending, users)| UnfinishedSessions {
            session: ending.session.0,
            step: ending.step.map(|step| step.0),
            state: ending.state,
            end: ending.end,
            outcome: ending.outcome.map(|outcome| outcome.name().to_owned()),
            own_step: ending
                .at
                .and_then(|pc| own_steps.get(&StepPlace { session: ending.session, pc }).cloned()),
            users,
        });
        let own_work = std::mem::take(&mut self.own_work).into_iter();
        let own_work = own_work.map(|((place, kind), times)| {
            let WorkTimes { count, total_ns, max_ns } = times;
            let work = StepWork {
                kind,
                measure: None,
                session: None,
                own_step: None,
                count,
                total_ns,
                max_ns,
            };
            match place {
                WorkPlace::Measure(measure) => StepWork { measure: Some(measure.0), ..work },
                WorkPlace::Step(step) => StepWork {
                    session: Some(step.session.0),
                    own_step: own_steps.get(&step).cloned(),
                    ..work
                },
            }
        });
        let metrics = (0..).map(MetricId).zip(&mut self.metrics);
        let metrics = metrics.filter(|(_, values)| !values.is_empty()).map(|(metric, values)| {
            let none = MetricValues::new(values.kind());
            MetricDelta { metric, values: std::mem::replace(values, none) }
        });
        self.deltas.push(Delta {
            loop_id: self.loop_id,
            start_ns: self.cut_start_ns,
            end_ns,
            phase: phase.min(self.phase_ends.len().saturating_sub(1)) as u32,
            counts: std::mem::take(&mut self.counts),
            gauges: Gauges { users_peak: self.users_peak.max(gauges.users), ..gauges },
            measures: measures.collect(),
            lag: std::mem::take(&mut self.lag),
            errors: self.failures.take_counts(),
            samples: self.failures.take_samples(),
            console: std::mem::take(&mut self.console),
            endings: endings.collect(),
            own_work: own_work.collect(),
            metrics: metrics.collect(),
            sessions: std::mem::take(&mut self.session_times),
            broadcasts: self.broadcasts.take(),
            heads: self.heads.take(),
            settlements: self.settlements.take(),
            clocks: std::mem::take(&mut self.clocks),
            cpu: LoopCpu::default(),
            traffic: Traffic::default(),
        });
        self.users_peak = gauges.users;
        self.cut_start_ns = end_ns;
    }
}

/// The first whole second or phase end after `start_ns`.
fn next_cut(start_ns: u64, phase_ends: &[u64]) -> u64 {
    let second = (start_ns / CUT_NS + 1) * CUT_NS;
    let phase = phase_ends.iter().copied().find(|&end| end > start_ns);
    phase.map_or(second, |end| end.min(second))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_fall_on_seconds_and_phase_ends() {
        let ends = [1_500_000_000, 3_000_000_000];
        let mut at = 0;
        let mut cuts = Vec::new();
        while at < 4_000_000_000 {
            at = next_cut(at, &ends);
            cuts.push(at / 100_000_000);
        }
        assert_eq!(cuts, [10, 15, 20, 30, 40]);
    }
}
