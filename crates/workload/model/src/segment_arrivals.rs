//! Starts of sessions as counts, of all and of each segment, and the process of each segment.

use std::io;

use crate::arrivals::{
    self, Arrivals, Counts, Hours, Stragglers, TRACE_BINS_MAX, end_before_stragglers,
};
use crate::durations::{Reservoir, SAMPLE_MAX};
use crate::read::Reading;
use crate::request_record::SessionStart;
use crate::settings::{ArrivalProcess, Settings};
use crate::sorter::{self, Run};
use crate::{ProcessReason, SESSIONS_FEW, SegmentProcess};

/// Sessions of a segment for each rate of a cycle of its own.
const SESSIONS_OF_RATE_MIN: u64 = 10;

/// From this number of session starts on, the last one is the end of the arrivals; fewer say nothing.
const BEGINS_MIN: u64 = 10;

/// A segment's arrivals, its process in the scenario, and the values of that process's trace.
#[derive(Debug, Clone)]
pub(crate) struct SegmentArrivals {
    pub(crate) arrivals: Arrivals,
    pub(crate) process: SegmentProcess,
    pub(crate) trace: Option<Vec<f64>>,
}

/// Starts of sessions, as counts.
pub(crate) struct StartCounts<'a> {
    pub(crate) all: Counts,
    starts: &'a [Run<SessionStart>],
    settings: &'a Settings,
    step_s: f64,
    first_s: i64,
    stragglers: Option<Stragglers>,
}

/// A segment while its begins are counted.
struct SegmentCounts {
    segment: u16,
    counts: Counts,
    gaps: Reservoir,
    last_ns: i64,
}

impl<'a> StartCounts<'a> {
    pub(crate) fn new(
        reading: &Reading,
        starts: &'a [Run<SessionStart>],
        settings: &'a Settings,
    ) -> io::Result<StartCounts<'a>> {
        let first_s = reading.span_ns.0.div_euclid(1_000_000_000);
        let last_s = reading.span_ns.1.div_euclid(1_000_000_000);
        let span_s = (last_s - first_s + 1) as u64;
        let bin_s = arrivals::bin_s(span_s);
        // Days begin by the clock that most lines were written by.
        let offset_s = reading.offsets.iter().max_by_key(|(_, lines)| **lines).map_or(0, |o| *o.0);
        let mut counts = StartCounts {
            all: Counts {
                bins: vec![0; span_s.div_ceil(bin_s) as usize],
                bin_s,
                local_s: first_s + i64::from(offset_s),
            },
            starts,
            settings,
            step_s: reading.step_ns as f64 / 1e9,
            first_s,
            stragglers: None,
        };
        let mut bins = std::mem::take(&mut counts.all.bins);
        sorter::merge(starts, |start| bins[counts.bin(start.time_ns)] += 1)?;
        // Behind the last begin those who are there finish, for as long as that takes them: a pause in
        // which nobody came it is not.
        let begins: u64 = bins.iter().map(|&count| u64::from(count)).sum();
        if let Some(last) = bins.iter().rposition(|&count| count > 0)
            && begins >= BEGINS_MIN
        {
            bins.truncate(last + 1);
        }
        counts.all.bins = bins;
        if let Some(end) = end_before_stragglers(&counts.all) {
            counts.all.bins.truncate(end.bins);
            counts.stragglers = Some(end.stragglers);
        }
        Ok(counts)
    }

    fn bin(&self, time_ns: i64) -> usize {
        let second = time_ns.div_euclid(1_000_000_000) - self.first_s;
        (second as u64 / self.all.bin_s) as usize
    }

    /// The arrivals of all sessions, and those of each segment that has any.
    pub(crate) fn analyse(
        &self,
        segments: usize,
    ) -> io::Result<(Arrivals, Vec<Option<SegmentArrivals>>)> {
        let mut gaps = Reservoir::new(SAMPLE_MAX, self.settings.seed, 6);
        self.gaps_of_all(&mut gaps);
        let step_s = self.step_s.max(self.all.bin_s as f64);
        let whole = self.analyse_counts(&self.all, &gaps, step_s);
        let whole = Arrivals { stragglers: self.stragglers, ..whole };
        let mut own: Vec<Option<SegmentArrivals>> = vec![None; segments];
        let mut current: Option<SegmentCounts> = None;
        let mut finish = |done: Option<SegmentCounts>| {
            if let Some(done) = done {
                own[usize::from(done.segment)] = Some(self.own(&done, &whole, segments));
            }
        };
        sorter::merge(self.starts, |start| {
            if current.as_ref().map(|current| current.segment) != Some(start.segment) {
                finish(current.take());
            }
            let bin = self.bin(start.time_ns);
            if bin >= self.all.bins.len() {
                return;
            }
            let counting = current.get_or_insert_with(|| SegmentCounts {
                segment: start.segment,
                counts: Counts { bins: vec![0; self.all.bins.len()], ..self.all },
                gaps: Reservoir::new(SAMPLE_MAX, self.settings.seed, 5),
                last_ns: i64::MIN,
            });
            counting.counts.bins[bin] += 1;
            if counting.last_ns != i64::MIN {
                let gap_ns = start.time_ns - counting.last_ns;
                counting.gaps.add(gap_ns as f64 / 1e9);
            }
            counting.last_ns = start.time_ns;
        })?;
        finish(current.take());
        Ok((whole, own))
    }

    fn own(&self, done: &SegmentCounts, whole: &Arrivals, segments: usize) -> SegmentArrivals {
        let mut arrivals = self.analyse_counts(&done.counts, &done.gaps, self.step_s);
        // All traces together are no longer than one alone may be.
        let bins_max = (TRACE_BINS_MAX / segments).max(1);
        arrivals.trace_bin_s =
            self.all.bin_s * self.all.bins.len().div_ceil(bins_max).max(1) as u64;
        let process = process(&arrivals, whole);
        let hours = process.hours(&arrivals, whole);
        let trace = trace(&done.counts, &arrivals, process.kind, hours);
        SegmentArrivals { arrivals, process, trace }
    }

    /// Times between the arrivals of all, from the counts where the clock steps in seconds, which is all
    /// there is to know then; finer clocks have their gaps within the segments.
    fn gaps_of_all(&self, gaps: &mut Reservoir) {
        let mut last = None;
        for (bin, &count) in self.all.bins.iter().enumerate().filter(|(_, count)| **count > 0) {
            if let Some(last) = last {
                gaps.add(((bin - last) as u64 * self.all.bin_s) as f64);
            }
            for _ in 1..count {
                gaps.add(0.0);
            }
            last = Some(bin);
        }
    }

    fn analyse_counts(&self, counts: &Counts, gaps: &Reservoir, step_s: f64) -> Arrivals {
        let gaps = (gaps.count > 1).then(|| gaps.describe(step_s, self.settings.seed));
        arrivals::analyse(counts, gaps, self.settings.arrivals, self.settings.seed)
    }
}

/// The process of a segment: its own, if it has enough sessions; else the hours of all, if there is a cycle, or one
/// rate.
fn process(own: &Arrivals, whole: &Arrivals) -> SegmentProcess {
    let rates = own.cycle.as_ref().map_or(0, |cycle| cycle.rates.len()) as u64;
    let few = own.users < SESSIONS_FEW
        || own.process == ArrivalProcess::Cycle && own.users < SESSIONS_OF_RATE_MIN * rates;
    match (own.process_requested, few) {
        (true, _) => SegmentProcess { kind: own.process, reason: ProcessReason::Given },
        (false, false) => SegmentProcess { kind: own.process, reason: ProcessReason::Own },
        (false, true) => SegmentProcess {
            kind: match whole.cycle {
                Some(_) => ArrivalProcess::Cycle,
                None => ArrivalProcess::Poisson,
            },
            reason: ProcessReason::Few,
        },
    }
}

/// Whether each segment arrives by its own process: not if one process for all is equivalent, and not if all together
/// come in bursts that no segment has alone.
pub(crate) fn arrive_separately<'a>(
    whole: &Arrivals,
    processes: impl Iterator<Item = &'a SegmentProcess> + Clone,
) -> bool {
    let mut others = processes.clone().map(|process| process.kind);
    processes.count() > 1
        && match whole.process {
            ArrivalProcess::Trace => others.any(|kind| kind == ArrivalProcess::Trace),
            ArrivalProcess::Poisson => others.any(|kind| kind != ArrivalProcess::Poisson),
            ArrivalProcess::Cycle => true,
        }
}

/// The trace of all users, if their process has one.
pub(crate) fn trace_of_all(counts: &Counts, arrivals: &Arrivals) -> Option<Vec<f64>> {
    trace(counts, arrivals, arrivals.process, arrivals.hours())
}

/// The values of a process's trace: recorded counts, or the expected ones of a weekly cycle.
fn trace(
    counts: &Counts,
    arrivals: &Arrivals,
    process: ArrivalProcess,
    hours: Option<Hours<'_>>,
) -> Option<Vec<f64>> {
    match process {
        ArrivalProcess::Poisson => None,
        ArrivalProcess::Trace => {
            let factor = (arrivals.trace_bin_s / counts.bin_s) as usize;
            let sum = |bins: &[u32]| bins.iter().map(|&count| f64::from(count)).sum();
            Some(counts.bins.chunks(factor).map(sum).collect())
        }
        ArrivalProcess::Cycle => {
            let cycle = hours.filter(Hours::is_weekly)?;
            let hours = (counts.bins.len() as u64 * counts.bin_s).div_ceil(3600) as i64;
            // Bins are hours since the beginning, rates are those of the clock's.
            let late_s = counts.local_s.rem_euclid(3600);
            let users = |hour: i64| {
                let at_s = counts.local_s + hour * 3600;
                let now = cycle.share(at_s);
                let next = cycle.share(at_s + 3600);
                let shares = now * (3600 - late_s) as f64 + next * late_s as f64;
                shares * arrivals.rate_per_s
            };
            Some((0..hours).map(users).collect())
        }
    }
}
