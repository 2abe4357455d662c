//! Filling [`Figures`] from a run directory.

use std::collections::HashMap;

use record::schema::Tally;
use record::{Interval, Measurement, RecordError, Run};

use super::{Cell, Figures, Flow};
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
/// Longest interval over which operations are spread.
const EVEN_NS_MAX: u64 = 10 * SECOND;

impl Figures {
    /// Reads what is needed of a run directory. Row by row only where a run was killed before it
    /// had counted its outcomes.
    pub fn read(run: &Run) -> Result<Figures, RecordError> {
        let mut figures = Figures::new(run.info().clone(), run.series()?, run.events()?);
        figures.probes = run.probes()?;
        run.error_counts(|count| figures.add_error(count))?;
        run.error_samples()?.into_iter().for_each(|sample| figures.errors.add_sample(sample));
        let tags = figures.tags();
        let ends = figures.end_tags();
        let requests: Vec<usize> = figures.requests().collect();
        let mut due = Vec::new();
        let mut second = Second::default();
        let mut waits = figures.unfinished_waits();
        run.intervals(|interval| {
            if let Some(tag) = ends.get(interval.tag.as_str()) {
                figures.add_flow(&interval, tag, &mut due);
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
        match run.tally()? {
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

    /// Adds the operations of an interval to the seconds in which they were due and ended.
    fn add_flow(&mut self, interval: &Interval, tag: &EndTag, due: &mut Vec<f64>) {
        let ended = (interval.start_ns / SECOND) as usize;
        if ended >= FLOW_SECONDS_MAX {
            return;
        }
        let count = interval.hist.count();
        let total_s = interval.hist.mean() * count as f64 / 1e9;
        let is_request = tag.kind == EndKind::Request;
        let mut ln_sum = 0.0;
        let mut ln_squares = 0.0;
        if is_request {
            due.resize(due.len().max(ended + 1), 0.0);
        }
        for (_, response_ns, count) in interval.hist.iter() {
            let ln = (response_ns.max(1) as f64).ln();
            ln_sum += ln * count as f64;
            ln_squares += ln * ln * count as f64;
            for (second, share) in due_in(interval, response_ns) {
                let second = second.min(ended);
                let count = share * count as f64;
                if is_request {
                    due[second] += count;
                }
                if let Some(window) = self.window_mut(tag.measure, second) {
                    window.due += count;
                    if tag.is_answered {
                        window.served += count;
                        window.served_s += count * response_ns as f64 / 1e9;
                    }
                }
            }
        }
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
        if let Some(window) = self.window_mut(tag.measure, ended) {
            window.ended += count as f64;
            if tag.is_answered {
                window.answered += count as f64;
                window.answered_s += total_s;
                match tag.is_failure {
                    true => window.failed += count as f64,
                    false => {
                        window.succeeded_ln += ln_sum;
                        window.succeeded_ln_squares += ln_squares;
                    }
                }
            }
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

/// The seconds in which operations that ended in an interval were due, and the share of them in each: they ended
/// evenly over the interval, as far as is known.
fn due_in(interval: &Interval, response_ns: u64) -> impl Iterator<Item = (usize, f64)> + use<> {
    let from_ns = interval.start_ns as f64 - response_ns as f64;
    // Only imported results have longer ones.
    let length_ns = interval.len_ns.clamp(1, EVEN_NS_MAX) as f64;
    let until_ns = from_ns + length_ns;
    let second = |ns: f64| (ns / SECOND as f64).max(0.0) as usize;
    (second(from_ns)..=second(until_ns)).map(move |at| {
        // Due times before the run count to its first second.
        let begin_ns = match at {
            0 => f64::NEG_INFINITY,
            _ => (at as u64 * SECOND) as f64,
        };
        let end_ns = ((at as u64 + 1) * SECOND) as f64;
        let overlap_ns = (until_ns.min(end_ns) - from_ns.max(begin_ns)).max(0.0);
        (at, overlap_ns / length_ns)
    })
}

#[cfg(test)]
mod tests {
    use stats::hist::LogHistogram;

    use super::*;
    use crate::sample::REQUEST;

    const ANSWERED: EndTag =
        EndTag { measure: REQUEST, kind: EndKind::Request, is_answered: true, is_failure: false };

    #[test]
    fn operations_were_due_evenly_over_the_length_of_their_interval() {
        let shares = |start_s: u64, response_ms: u64| {
            let interval = Interval {
                tag: String::new(),
                start_ns: start_s * SECOND,
                len_ns: SECOND,
                hist: LogHistogram::new(),
            };
            due_in(&interval, response_ms * 1_000_000).collect::<Vec<_>>()
        };
        assert_eq!(shares(5, 0), [(5, 1.0), (6, 0.0)]);
        assert_eq!(shares(5, 250), [(4, 0.25), (5, 0.75)]);
        assert_eq!(shares(5, 2250), [(2, 0.25), (3, 0.75)]);
        // Before the run nothing is due.
        assert_eq!(shares(1, 1500), [(0, 1.0)]);
        assert_eq!(shares(0, 4000), [(0, 1.0)]);
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
            figures.add_flow(&interval, &ANSWERED, &mut due);
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
        figures.add_flow(&interval, &ANSWERED, &mut due);
        figures.set_due(&due);
        let due: Vec<u64> = figures.flow.iter().map(|second| second.due).collect();
        // They may have come at any time of the second.
        assert_eq!(due, [0, 0, 0, 50, 100, 100, 50]);
    }
}
