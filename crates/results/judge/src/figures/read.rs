//! Filling [`Figures`] from a run directory.

use std::collections::{HashMap, HashSet};

use record::schema::Tally;
use record::{Interval, Measurement, Outcome, RecordError, Run};

use super::{Cell, EndedOperations, ErrorTotals, Figures, Flow};
use crate::limits::FLOW_SECONDS_MAX;

/// One of a cell's histograms, as a tag of the latency log names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum TimeKind {
    Response,
    Service,
    Lag,
    Late,
    Failed,
    Unanswered,
}

/// The times that a tag of the latency log is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct TimeTag {
    /// Index of the measure.
    pub(super) measure: usize,
    pub(super) kind: TimeKind,
}

impl TimeKind {
    pub(super) fn of(self, cell: &mut Cell) -> &mut stats::hist::LogHistogram {
        match self {
            TimeKind::Response => &mut cell.response,
            TimeKind::Service => &mut cell.service,
            TimeKind::Lag => &mut cell.lag,
            TimeKind::Late => &mut cell.late,
            TimeKind::Failed => &mut cell.failed_response,
            TimeKind::Unanswered => &mut cell.unanswered,
        }
    }
}

/// The operations that a tag of the latency log is about, and how they ended.
#[derive(Debug, Clone, Copy)]
struct EndTag {
    /// Index of the measure.
    measure: usize,
    kind: EndKind,
    /// The target answered them, with success or with a failure.
    is_answered: bool,
    /// It answered them with a failure.
    is_failure: bool,
}

/// Operations, as far as they matter to a [`Flow`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EndKind {
    /// A connection was established.
    Connected,
    /// A request or handshake ended.
    Request,
    /// None of a flow.
    Other,
}

/// Nanoseconds in a second.
const SECOND: u64 = 1_000_000_000;

impl Figures {
    /// Reads what is needed of a run directory. Row by row only where a run was killed before it
    /// had counted its outcomes.
    pub fn read(run: &Run) -> Result<Figures, RecordError> {
        let mut figures = Figures::new(run.info().clone(), run.series()?, run.events()?);
        figures.probes = run.probes()?;
        run.error_counts(|count| figures.add_error(count))?;
        run.error_samples()?.into_iter().for_each(|sample| figures.errors.add_sample(sample));
        run.metrics(|row| figures.add_metric(&row))?;
        let tags = figures.tags();
        let ends = figures.end_tags();
        let requests: Vec<usize> = figures.requests().collect();
        let mut due = Vec::new();
        let mut second = Second::default();
        let mut waits = figures.unfinished_waits();
        let tally = run.tally()?;
        let of_tally = |tally: &Tally| Interruptions::of(&figures.errors, tally);
        let interruptions = tally.as_ref().map_or_else(Interruptions::default, of_tally);
        run.intervals(|interval| {
            if let Some(tag) = ends.get(interval.tag.as_str()) {
                let may_be_given_up = !tag.is_answered && !waits.is_at_end(&interval);
                let interrupted = match may_be_given_up {
                    true => interruptions.share(tag.measure, &interval),
                    false => 0.0,
                };
                figures.add_flow(&interval, tag, interrupted, &mut due);
            }
            let Some(&tag) = tags.get(interval.tag.as_str()) else {
                figures.add_session_interval(&interval);
                return;
            };
            if requests.contains(&tag.measure) {
                second.add(&mut figures.p98, &interval, tag.kind);
                figures.add_waits(&interval, tag.kind);
            }
            if tag.kind == TimeKind::Unanswered {
                waits.add(&interval, tag.measure);
            }
            let phase = figures.phase_at(interval.start_ns);
            if let Some(cell) = figures.cell_mut(phase, tag.measure) {
                tag.kind.of(cell).merge(&interval.hist);
            }
        })?;
        second.close(&mut figures.p98);
        figures.set_due(&due);
        match tally {
            Some(tally) => figures.add_tally(&tally),
            None => run.requests(|batch| figures.count_rows(batch))?,
        }
        waits.close(&mut figures);
        Ok(figures)
    }

    /// The tags of the latency log by name.
    pub(super) fn tags(&self) -> HashMap<String, TimeTag> {
        let mut tags = HashMap::new();
        for (measure, info) in self.info.measures.iter().enumerate() {
            let name = &info.name;
            let tag = |kind| TimeTag { measure, kind };
            tags.insert(name.clone(), tag(TimeKind::Response));
            tags.insert(format!("{name}.service"), tag(TimeKind::Service));
            tags.insert(format!("{name}.lag"), tag(TimeKind::Lag));
            tags.insert(format!("{name}.late"), tag(TimeKind::Late));
            tags.insert(format!("{name}.failed"), tag(TimeKind::Failed));
            tags.insert(format!("{name}.censored"), tag(TimeKind::Unanswered));
        }
        tags
    }

    /// The tags of response times of operations that take time: their measure, and how these ended.
    fn end_tags(&self) -> HashMap<String, EndTag> {
        let mut tags = HashMap::new();
        for (measure, info) in self.info.measures.iter().enumerate() {
            let name = &info.name;
            let (succeeded, others) = match info.kind.as_str() {
                "connect" => (EndKind::Connected, EndKind::Other),
                "request" | "handshake" => (EndKind::Request, EndKind::Request),
                "transaction" | "redirect" | "meeting" => (EndKind::Other, EndKind::Other),
                _ => continue,
            };
            let tag = |kind| EndTag { measure, kind, is_answered: true, is_failure: false };
            let failed = EndTag { is_failure: true, ..tag(others) };
            let censored = EndTag { is_answered: false, ..tag(others) };
            tags.insert(name.clone(), tag(succeeded));
            tags.insert(format!("{name}.failed"), failed);
            tags.insert(format!("{name}.censored"), censored);
        }
        tags
    }

    /// Adds the operations of an interval to the seconds in which they were due and ended. `interrupted`: the share of them that
    /// their users gave up.
    fn add_flow(
        &mut self,
        interval: &Interval,
        tag: &EndTag,
        interrupted: f64,
        due: &mut Vec<f64>,
    ) {
        let operations = EndedOperations {
            start_ns: interval.start_ns,
            len_ns: interval.len_ns,
            times: &interval.hist,
            is_answered: tag.is_answered,
            is_failure: tag.is_failure,
            interrupted,
        };
        let ended = operations.second();
        if ended >= FLOW_SECONDS_MAX {
            return;
        }
        let count = interval.hist.count();
        let total_s = interval.hist.mean() * count as f64 / 1e9;
        let is_request = tag.kind == EndKind::Request;
        if is_request {
            due.resize(due.len().max(ended + 1), 0.0);
        }
        operations.by_second(|second, part| {
            if is_request {
                due[second] += part.due;
            }
            if let Some(window) = self.window_mut(tag.measure, second) {
                window.add(part);
            }
        });
        if tag.kind != EndKind::Other && self.flow.len() <= ended {
            self.flow.resize(ended + 1, Flow::default());
        }
        match tag.kind {
            EndKind::Connected => {
                self.flow[ended].connected += count;
                self.flow[ended].connect_s += total_s;
            }
            EndKind::Request => {
                let second = &mut self.flow[ended];
                second.ended += count;
                if tag.is_answered {
                    second.answered += count;
                    second.response_s += total_s;
                }
            }
            EndKind::Other => {}
        }
    }

    /// Sets how many operations were due in each second, in whole numbers with the same sum.
    fn set_due(&mut self, due: &[f64]) {
        let mut sum = 0.0;
        let mut counted = 0;
        for (second, due) in self.flow.iter_mut().zip(due) {
            sum += due;
            let until = sum.round() as u64;
            second.due = until - counted;
            counted = until;
        }
    }

    /// Adds outcomes that were counted while the run went on.
    pub fn add_tally(&mut self, tally: &Tally) {
        self.begun.clone_from(&tally.begun);
        self.due.clone_from(&tally.due);
        self.never_begun.clone_from(&tally.never_begun);
        self.retried.clone_from(&tally.retried);
        self.endings.clone_from(&tally.endings);
        self.own_work.clone_from(&tally.own_work);
        self.regions.clone_from(&tally.regions);
        self.workers.clone_from(&tally.workers);
        let last = self.info.phases.len().saturating_sub(1);
        for phase in &tally.phases {
            let is_drain = phase.phase as usize > last;
            for measure in &phase.measures {
                let number = measure.measure as usize;
                self.add_begun(phase.phase as usize, number, measure.begun);
                if is_drain {
                    for (outcome, n) in &measure.outcomes {
                        self.add_drained(number, outcome, *n);
                    }
                }
                let cell = self.cell_mut(last.min(phase.phase as usize), number);
                let Some(cell) = cell else { continue };
                for (outcome, n) in &measure.outcomes {
                    *cell.outcomes.entry(outcome.clone()).or_default() += n;
                }
            }
        }
        // Records of old versions lack what began by phase.
        let all = self.begun_in.iter().flatten().sum::<u64>();
        if self.begun.is_empty() || all != self.begun.iter().sum::<u64>() {
            self.begun_in.clear();
        }
    }

    /// Adds for how long requests waited that ended in an interval, the longest of them being enough.
    fn add_waits(&mut self, interval: &Interval, part: TimeKind) {
        if matches!(part, TimeKind::Service | TimeKind::Lag) || interval.hist.is_empty() {
            return;
        }
        let middle_ns = interval.start_ns + interval.len_ns.min(SECOND) / 2;
        let due_ns = middle_ns.saturating_sub(interval.hist.max());
        let last = ((interval.start_ns / SECOND) as usize).min(FLOW_SECONDS_MAX);
        self.waited_ns.resize(self.waited_ns.len().max(last), 0);
        for second in (due_ns / SECOND) as usize..last {
            let waited = &mut self.waited_ns[second];
            *waited = (*waited).max((second as u64 + 1) * SECOND - due_ns);
        }
    }

    /// Counts outcomes from rows; a sampled row stands for `weight` operations.
    fn count_rows(&mut self, rows: &[Measurement]) {
        for row in rows {
            let phase = self.phase_at(row.done_ns);
            if let Some(cell) = self.cell_mut(phase, row.measure as usize) {
                let outcome = row.outcome.name().to_owned();
                *cell.outcomes.entry(outcome).or_default() += u64::from(row.weight);
            }
        }
    }
}

/// Which operations without an answer their users gave up: more of these ended than failed.
#[derive(Debug, Default)]
struct Interruptions {
    /// Failures without an answer, by measure and second.
    failed: HashMap<(usize, u64), u64>,
    /// Measures of which some operations did not finish, and of which the record says when the others failed.
    known: HashSet<usize>,
}

impl Interruptions {
    fn of(errors: &ErrorTotals, tally: &Tally) -> Interruptions {
        let mut failed: HashMap<(usize, u64), u64> = HashMap::new();
        let mut counted: HashMap<usize, u64> = HashMap::new();
        for error in errors.unanswered() {
            *failed.entry((error.measure, error.start_ns / SECOND)).or_default() += error.count;
            *counted.entry(error.measure).or_default() += error.count;
        }
        let mut unfinished: HashMap<usize, u64> = HashMap::new();
        let mut all: HashMap<usize, u64> = HashMap::new();
        for measure in tally.phases.iter().flat_map(|phase| &phase.measures) {
            let number = measure.measure as usize;
            for (name, count) in &measure.outcomes {
                match Outcome::from_name(name) {
                    Some(Outcome::Unfinished) => *unfinished.entry(number).or_default() += count,
                    Some(outcome) if outcome.is_unanswered() => {
                        *all.entry(number).or_default() += count;
                    }
                    _ => {}
                }
            }
        }
        let of = |counts: &HashMap<usize, u64>, measure| counts.get(&measure).copied().unwrap_or(0);
        let is_known = |measure: &usize| of(&counted, *measure) >= of(&all, *measure);
        let measures = unfinished.iter().filter(|&(_, &count)| count > 0);
        let known = measures.map(|(&measure, _)| measure).filter(is_known).collect();
        Interruptions { failed, known }
    }

    /// The share that users gave up of the operations of a measure that ended in an interval without an answer.
    fn share(&self, measure: usize, interval: &Interval) -> f64 {
        let count = interval.hist.count();
        if count == 0 || !self.known.contains(&measure) {
            return 0.0;
        }
        let failed = self.failed.get(&(measure, interval.start_ns / SECOND)).copied();
        1.0 - failed.unwrap_or(0).min(count) as f64 / count as f64
    }
}

/// All requests that ended in one second, while the log is read in the order of time.
#[derive(Debug, Default)]
struct Second {
    number: usize,
    succeeded: stats::hist::LogHistogram,
    failed: u64,
}

impl Second {
    fn add(&mut self, p98: &mut Vec<Option<u64>>, interval: &Interval, part: TimeKind) {
        let number = (interval.start_ns / SECOND) as usize;
        if number >= FLOW_SECONDS_MAX {
            return;
        }
        if number != self.number {
            self.close(p98);
            self.number = number;
        }
        match part {
            TimeKind::Response => self.succeeded.merge(&interval.hist),
            TimeKind::Failed | TimeKind::Unanswered => self.failed += interval.hist.count(),
            TimeKind::Service | TimeKind::Lag | TimeKind::Late => {}
        }
    }

    /// Notes the second's percentile, by nearest rank.
    fn close(&mut self, p98: &mut Vec<Option<u64>>) {
        let succeeded = std::mem::take(&mut self.succeeded);
        let failed = std::mem::take(&mut self.failed);
        let all = succeeded.count() + failed;
        if all == 0 {
            return;
        }
        p98.resize(p98.len().max(self.number + 1), None);
        let rank = (all * 98).div_ceil(100);
        p98[self.number] = Some(match rank > succeeded.count() {
            true => u64::MAX,
            false => succeeded.value_at_rank(rank),
        });
    }
}

#[cfg(test)]
mod tests {
    use record::schema::{ErrorCount, MeasureTally, PhaseTally};
    use stats::hist::LogHistogram;

    use super::*;
    use crate::sample::REQUEST;

    const ANSWERED: EndTag =
        EndTag { measure: REQUEST, kind: EndKind::Request, is_answered: true, is_failure: false };

    /// Ten operations of a second had no answer, of which four failed.
    #[test]
    fn operations_without_an_answer_that_did_not_fail_were_given_up() {
        let tally = |unfinished: u64| {
            let outcomes = [(Outcome::Timeout, 4), (Outcome::Unfinished, unfinished)];
            let outcomes = outcomes.map(|(outcome, count)| (outcome.name().to_owned(), count));
            let measure = REQUEST as u16;
            let of_measure =
                MeasureTally { measure, outcomes: outcomes.into(), ..MeasureTally::default() };
            let phases = vec![PhaseTally { phase: 0, measures: vec![of_measure] }];
            Tally { phases, ..Tally::default() }
        };
        let mut hist = LogHistogram::new();
        hist.record_n(1_000_000, 10);
        let interval = Interval { tag: String::new(), start_ns: 7 * SECOND, len_ns: SECOND, hist };
        let share = |errors: &ErrorTotals, unfinished| {
            Interruptions::of(errors, &tally(unfinished)).share(REQUEST, &interval)
        };
        let mut errors = ErrorTotals::default();
        assert_eq!(share(&errors, 6), 0.0, "the record does not say when operations failed");
        errors.add(ErrorCount {
            start_ns: 7 * SECOND,
            phase: 0,
            measure: Some(REQUEST as u16),
            own_step: None,
            kind: Outcome::Timeout.name().to_owned(),
            detail: None,
            count: 4,
        });
        assert_eq!(share(&errors, 6), 0.6);
        assert_eq!(share(&errors, 0), 0.0);
    }

    #[test]
    fn a_second_is_as_slow_as_its_98th_percentile_with_failures_as_the_slowest() {
        let interval = |start_s: u64, value: u64, count: u64| {
            let mut hist = LogHistogram::new();
            hist.record_n(value, count);
            Interval { tag: String::new(), start_ns: start_s * SECOND, len_ns: SECOND, hist }
        };
        let mut figures = crate::sample::figures();
        let p98 = &mut figures.p98;
        let mut second = Second::default();
        second.add(p98, &interval(0, 10, 98), TimeKind::Response);
        second.add(p98, &interval(0, 500, 2), TimeKind::Response);
        second.add(p98, &interval(0, 1, 50), TimeKind::Service);
        second.add(p98, &interval(2, 10, 97), TimeKind::Response);
        second.add(p98, &interval(2, 500, 3), TimeKind::Response);
        second.add(p98, &interval(3, 10, 98), TimeKind::Response);
        second.add(p98, &interval(3, 10, 1), TimeKind::Failed);
        second.add(p98, &interval(3, 10, 2), TimeKind::Unanswered);
        second.close(p98);
        assert_eq!(figures.p98, [Some(10), None, Some(500), Some(u64::MAX)]);
        assert_eq!(figures.behind_ns(10), Some(2e9));
        assert_eq!(figures.behind_ns(500), Some(1e9));
        assert_eq!(crate::sample::figures().behind_ns(10), None);
    }

    /// A target that is dead for 6 s: nothing ends in that time, and then all at once.
    #[test]
    fn seconds_without_an_end_are_behind_where_requests_wait() {
        let interval = |start_s: u64, value_ns: u64| {
            let mut hist = LogHistogram::new();
            hist.record_n(value_ns, 100);
            Interval { tag: String::new(), start_ns: start_s * SECOND, len_ns: SECOND, hist }
        };
        let mut figures = crate::sample::figures();
        let mut second = Second::default();
        let all = (0..3).map(|at| interval(at, 10_000_000));
        let all = all.chain([interval(9, 6_500_000_000)]);
        for interval in all.chain((10..12).map(|at| interval(at, 10_000_000))) {
            second.add(&mut figures.p98, &interval, TimeKind::Response);
            figures.add_waits(&interval, TimeKind::Response);
        }
        second.close(&mut figures.p98);
        // From 3 s on, and the one in which they ended.
        assert_eq!(figures.behind_ns(300_000_000), Some(7e9));
        assert_eq!(figures.behind_ns(3_000_000_000), Some(4e9));
        // Nobody waits in a second in which nothing was due.
        assert_eq!(figures.waited_ns[8], 6 * SECOND);
        assert_eq!(figures.p98[2], Some(10_000_000));
    }

    #[test]
    fn a_backlog_does_not_make_arrivals_uneven() {
        let mut figures = crate::sample::figures();
        figures.flow.clear();
        let mut due = Vec::new();
        // 100 are due in each second, and each waits a tenth of a second longer than those of the last.
        for second in 0..20u64 {
            let mut hist = LogHistogram::new();
            hist.record_n(second * 100_000_000, 91);
            let interval =
                Interval { tag: String::new(), start_ns: second * SECOND, len_ns: SECOND, hist };
            figures.add_flow(&interval, &ANSWERED, 0.0, &mut due);
        }
        figures.set_due(&due);
        let due: Vec<u64> = figures.flow.iter().map(|second| second.due).collect();
        assert!(due[1..17].iter().all(|n| (90..=112).contains(n)), "{due:?}");
        assert_eq!(due.iter().sum::<u64>(), 20 * 91);
        // All were answered, the later the longer they waited.
        let windows = figures.planned_windows(&[REQUEST]);
        assert!(windows.iter().all(|window| (window.due - window.served).abs() < 1e-9));
        let response_s = windows[15].served_s / windows[15].served;
        assert!((1.55..1.85).contains(&response_s), "{response_s}");
    }

    /// Replies to three seconds of requests come at once.
    #[test]
    fn requests_that_waited_were_due_one_after_the_other() {
        let mut figures = crate::sample::figures();
        figures.flow.clear();
        let mut hist = LogHistogram::new();
        (0..300).for_each(|n| hist.record(n * 10_000_000));
        let interval = Interval { tag: String::new(), start_ns: 6 * SECOND, len_ns: SECOND, hist };
        let mut due = Vec::new();
        figures.add_flow(&interval, &ANSWERED, 0.0, &mut due);
        figures.set_due(&due);
        let due: Vec<u64> = figures.flow.iter().map(|second| second.due).collect();
        // They may have come at any time of the second.
        assert_eq!(due, [0, 0, 0, 50, 100, 100, 50]);
    }
}
