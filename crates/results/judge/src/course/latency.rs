//! Histograms of `latency.hlog`: percentiles by slot, counts by time and latency, and the
//! distribution of the whole run.

use std::collections::{BTreeMap, HashMap};

use record::schema::MeasureInfo;
use record::{RecordError, Run};
use serde::Serialize;
use stats::censored::CensoredTimes;
use stats::hist::LogHistogram;

use super::{COVERED_MIN_S, Division, LINES_MAX, MEASURES_MAX, Number, SECOND_NS};
use crate::outlasting;

/// Most columns of a heat map.
pub(super) const HEAT_COLUMNS_MAX: u64 = 150;
/// Rows of a heat map in a decade of latency, bins of a distribution in one: a row is 26 % wide, a
/// bin 12 %.
const HEAT_ROWS_PER_DECADE: f64 = 10.0;
const BINS_PER_DECADE: f64 = 20.0;

/// A measure's response times over time and as a distribution, of all operations: nanoseconds; `None` where
/// there were none. Percentiles that fall among operations that were never answered are lower bounds.
#[derive(Debug, Clone, PartialEq, Serialize, ts_rs::TS)]
pub struct MeasureCourse {
    /// Name of the measure, as in `run.json`.
    pub name: String,
    /// Kind of the measure, as in `run.json`.
    pub kind: String,
    /// Operations that succeeded.
    pub count: u64,
    /// Operations that succeeded per second, by slot; `None` if the last slot is too short to have a rate.
    pub per_s: Vec<Option<Number>>,
    /// Median by slot.
    pub p50: Vec<Option<Number>>,
    /// 95th percentile by slot.
    pub p95: Vec<Option<Number>>,
    /// 99th percentile by slot.
    pub p99: Vec<Option<Number>>,
    /// 99.9th percentile by slot.
    pub p999: Vec<Option<Number>>,
    /// Greatest by slot.
    pub max: Vec<Option<Number>>,
    /// Counts of answered operations by time and latency: column, row, count. Row `r` holds times from `10^(r/10)` on.
    pub heat: Vec<(u32, i32, u64)>,
    /// The distribution of response times, by bin.
    pub bins: Vec<Bin>,
    /// The distribution function, as far as it is known.
    pub response: Vec<Share>,
}

/// A measure's response times over time, of all operations, in few points.
#[derive(Debug, Clone, PartialEq, Serialize, ts_rs::TS)]
pub struct StepLine {
    /// Name of the measure, as in `run.json`, or that of the same measure over all regions.
    pub name: String,
    /// The 95th percentile by slot, of several slots the greatest: nanoseconds; `None` where there were no operations.
    pub p95: Vec<Option<Number>>,
}

/// A bin of a histogram.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, ts_rs::TS)]
pub struct Bin {
    /// Lower edge, in nanoseconds.
    pub from_ns: Number,
    /// Upper edge, in nanoseconds.
    pub to_ns: Number,
    /// Number of response times in the bin.
    pub count: u64,
}

/// A point of a distribution function: the share that took longer, which keeps its digits in the
/// tail, and how long.
pub type Share = (Number, Number);

/// The kind of response times that a histogram holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ResponseKind {
    Succeeded,
    Failed,
    Unanswered,
}

impl ResponseKind {
    /// Each kind with the suffix of its tag in the latency log.
    const ALL: [(ResponseKind, &str); 3] = [
        (ResponseKind::Succeeded, ""),
        (ResponseKind::Failed, ".failed"),
        (ResponseKind::Unanswered, ".censored"),
    ];
}

/// Response times of a span of time.
#[derive(Debug, Clone, Default)]
struct Responses {
    succeeded: u64,
    known: LogHistogram,
    unanswered: LogHistogram,
}

impl Responses {
    fn add(&mut self, kind: ResponseKind, hist: &LogHistogram) {
        match kind {
            ResponseKind::Unanswered => self.unanswered.merge(hist),
            ResponseKind::Succeeded | ResponseKind::Failed => self.known.merge(hist),
        }
        if kind == ResponseKind::Succeeded {
            self.succeeded += hist.count();
        }
    }

    fn merge(&mut self, other: &Responses) {
        self.succeeded += other.succeeded;
        self.known.merge(&other.known);
        self.unanswered.merge(&other.unanswered);
    }

    fn clear(&mut self) {
        self.succeeded = 0;
        self.known.clear();
        self.unanswered.clear();
    }

    /// `outlasting`: those of the unanswered that would have taken longer than all others.
    fn distribution(&self, outlasting: &LogHistogram) -> CensoredTimes {
        CensoredTimes::outlasted(&self.known, &self.unanswered, outlasting)
    }
}

/// The responses of one slot, until the next one begins.
#[derive(Debug, Clone, Default)]
struct Open {
    slot: usize,
    responses: Responses,
}

/// The course of a measure, as far as intervals were added.
#[derive(Debug, Clone)]
pub(super) struct Building {
    course: MeasureCourse,
    /// 95th percentile by slot.
    p95: Vec<Option<Number>>,
    /// True unless its line alone is wanted.
    is_charted: bool,
    open: Open,
    heat: BTreeMap<(u32, i32), u64>,
    responses: Responses,
    /// See `Cell::outlasting`; in all of the run's responses.
    outlasting: LogHistogram,
}

/// The measures of a course.
#[derive(Debug)]
pub(super) struct Read {
    /// The measures with charts.
    pub(super) measures: Vec<MeasureCourse>,
    /// The number of further measures.
    pub(super) left_out: usize,
    /// The lines of these and of others.
    pub(super) lines: Vec<StepLine>,
}

/// The courses of the measures with the most operations; `first`: indices of measures that come before these.
pub(super) fn read(run: &Run, division: Division, first: &[usize]) -> Result<Read, RecordError> {
    let counts = counts(run)?;
    let (charted, left_out) = most(&counts, first, MEASURES_MAX);
    let (lined, _) = most(&counts, first, LINES_MAX);
    let measures = &run.info().measures;
    let mut all = Vec::with_capacity(lined.len());
    let mut tags: HashMap<String, Vec<(usize, ResponseKind)>> = HashMap::new();
    let mut read_into = |name: &str, place: usize| {
        for (kind, suffix) in ResponseKind::ALL {
            tags.entry(format!("{name}{suffix}")).or_default().push((place, kind));
        }
    };
    for &measure in &lined {
        let info = &measures[measure];
        read_into(&info.name, all.len());
        let is_charted = charted.contains(&measure);
        all.push(Building { is_charted, ..Building::new(&info.name, &info.kind) });
    }
    for (name, parts) in over_regions(measures, &counts) {
        let Some(one) = parts.first() else { continue };
        for part in &parts {
            read_into(&part.name, all.len());
        }
        all.push(Building { is_charted: false, ..Building::new(&name, &one.kind) });
    }
    run.intervals_of(
        |tag| tags.contains_key(tag),
        |interval| {
            for &(measure, kind) in tags.get(&interval.tag).into_iter().flatten() {
                all[measure].add(interval.start_ns, kind, &interval.hist, division);
            }
        },
    )?;
    for (building, waits) in all.iter_mut().zip(outlasting(run, &lined)?) {
        building.outlasting = waits;
    }
    let lines = all.iter().map(|building| building.line(division)).collect();
    let charted = all.into_iter().filter(|building| building.is_charted);
    let measures = charted.map(|building| building.finish(division)).collect();
    Ok(Read { measures, left_out, lines })
}

/// The measures of a run with regions over all of them, by their names: those with the most operations.
fn over_regions<'i>(
    measures: &'i [MeasureInfo],
    counts: &[(usize, u64)],
) -> BTreeMap<String, Vec<&'i MeasureInfo>> {
    let mut parts: BTreeMap<String, Vec<&MeasureInfo>> = BTreeMap::new();
    let mut totals: BTreeMap<String, u64> = BTreeMap::new();
    for &(place, count) in counts {
        let info = &measures[place];
        let name = info.over_regions();
        if name != info.name {
            *totals.entry(name.clone()).or_default() += count;
            parts.entry(name).or_default().push(info);
        }
    }
    let mut names: Vec<(String, u64)> = totals.into_iter().collect();
    names.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    for (name, _) in names.iter().skip(LINES_MAX) {
        parts.remove(name);
    }
    parts
}

/// The number of operations of each measure, by its index.
fn counts(run: &Run) -> Result<Vec<(usize, u64)>, RecordError> {
    let mut counts: BTreeMap<usize, u64> = BTreeMap::new();
    match run.tally()? {
        Some(tally) => {
            for measure in tally.phases.iter().flat_map(|phase| &phase.measures) {
                let count: u64 = measure.outcomes.values().sum();
                *counts.entry(usize::from(measure.measure)).or_default() += count;
            }
        }
        // A run that was killed at once has no tally.
        None => {
            let names = run.info().measures.iter().enumerate();
            let names: HashMap<&str, usize> = names.map(|(n, m)| (m.name.as_str(), n)).collect();
            run.intervals(|interval| {
                if let Some(&measure) = names.get(interval.tag.as_str()) {
                    *counts.entry(measure).or_default() += interval.hist.count();
                }
            })?;
        }
    }
    let known = run.info().measures.len();
    Ok(counts.into_iter().filter(|&(m, _)| m < known).collect())
}

/// At most `max` indices, in ascending order: those of `first`, then those with the highest counts. And the number of
/// further indices with a count above 0.
pub(super) fn most(counts: &[(usize, u64)], first: &[usize], max: usize) -> (Vec<usize>, usize) {
    let some = counts.iter().filter(|(_, count)| *count > 0);
    let mut all: Vec<(usize, u64)> = some.copied().collect();
    all.sort_by_key(|&(place, count)| (!first.contains(&place), std::cmp::Reverse(count), place));
    let left_out = all.len().saturating_sub(max);
    all.truncate(max);
    let mut places: Vec<usize> = all.into_iter().map(|(place, _)| place).collect();
    places.sort_unstable();
    (places, left_out)
}

impl Building {
    pub(super) fn new(name: &str, kind: &str) -> Building {
        Building {
            course: MeasureCourse {
                name: name.to_owned(),
                kind: kind.to_owned(),
                count: 0,
                per_s: Vec::new(),
                p50: Vec::new(),
                p95: Vec::new(),
                p99: Vec::new(),
                p999: Vec::new(),
                max: Vec::new(),
                heat: Vec::new(),
                bins: Vec::new(),
                response: Vec::new(),
            },
            p95: Vec::new(),
            is_charted: true,
            open: Open::default(),
            heat: BTreeMap::new(),
            responses: Responses::default(),
            outlasting: LogHistogram::new(),
        }
    }

    /// Adds an interval. Intervals come in order of time; one out of order would count to the slot that is open.
    pub(super) fn add(
        &mut self,
        start_ns: u64,
        kind: ResponseKind,
        hist: &LogHistogram,
        division: Division,
    ) {
        let slot = division.slot(start_ns);
        if slot > self.open.slot {
            self.close(division);
            self.open.slot = slot;
        }
        self.open.responses.add(kind, hist);
        if kind == ResponseKind::Unanswered || !self.is_charted {
            return;
        }
        let second = (start_ns / SECOND_NS).min(division.slots as u64 * division.slot_s - 1);
        let column = (second / division.heat_slot_s) as u32;
        for (lowest, _, count) in hist.iter() {
            let row = place(lowest, HEAT_ROWS_PER_DECADE);
            *self.heat.entry((column, row)).or_default() += count;
        }
    }

    fn close(&mut self, division: Division) {
        self.stretch(self.open.slot + 1);
        let Open { slot, responses } = &mut self.open;
        let all = responses.distribution(&LogHistogram::new());
        if all.is_empty() {
            return;
        }
        let at = |q: f64| Some(Number(all.quantile(q).value() as f64));
        self.p95[*slot] = at(0.95);
        if self.is_charted {
            let course = &mut self.course;
            // The slot that a run ends in may be a few milliseconds long.
            let seconds = division.seconds(*slot).max(COVERED_MIN_S);
            course.per_s[*slot] = Some(Number(responses.succeeded as f64 / seconds));
            course.p50[*slot] = at(0.5);
            course.p95[*slot] = at(0.95);
            course.p99[*slot] = at(0.99);
            course.p999[*slot] = at(0.999);
            course.max[*slot] = Some(Number(all.max().value() as f64));
            self.responses.merge(responses);
        }
        responses.clear();
    }

    /// Makes room for this many slots.
    fn stretch(&mut self, slots: usize) {
        if self.p95.len() >= slots {
            return;
        }
        self.p95.resize(slots, None);
        let course = &mut self.course;
        course.per_s.resize(slots, Some(Number(0.0)));
        for line in
            [&mut course.p50, &mut course.p95, &mut course.p99, &mut course.p999, &mut course.max]
        {
            line.resize(slots, None);
        }
    }

    /// The line of the slots so far.
    pub(super) fn line(&self, division: Division) -> StepLine {
        let mut p95 = self.p95.clone();
        p95.resize(division.slots, None);
        let open = self.open.responses.distribution(&LogHistogram::new());
        if !open.is_empty()
            && let Some(newest) = p95.get_mut(self.open.slot)
        {
            *newest = Some(Number(open.quantile(0.95).value() as f64));
        }
        StepLine { name: self.course.name.clone(), p95: division.line(&p95, greatest) }
    }

    /// Operations so far.
    pub(super) fn count(&self) -> u64 {
        let all = [&self.responses, &self.open.responses].into_iter();
        all.map(|r| r.known.count() + r.unanswered.count()).sum()
    }

    pub(super) fn finish(mut self, division: Division) -> MeasureCourse {
        self.close(division);
        self.stretch(division.slots);
        let last = division.slots - 1;
        if division.seconds(last) < COVERED_MIN_S {
            self.course.per_s[last] = None;
        }
        let heat = self.heat.into_iter();
        MeasureCourse {
            count: self.responses.succeeded,
            heat: heat.map(|((column, row), n)| (column, row, n)).collect(),
            bins: bins(&self.responses.known),
            response: shares(&self.responses.distribution(&self.outlasting)),
            ..self.course
        }
    }
}

/// The greatest value there is.
fn greatest(values: &[Option<Number>]) -> Option<Number> {
    let known = values.iter().flatten().map(|value| value.0);
    known.reduce(f64::max).map(Number)
}

/// The row or bin of a time on a logarithmic scale; 0 counts as 1 ns.
fn place(ns: u64, per_decade: f64) -> i32 {
    ((ns.max(1) as f64).log10() * per_decade).floor() as i32
}

fn bins(hist: &LogHistogram) -> Vec<Bin> {
    let mut counts: BTreeMap<i32, u64> = BTreeMap::new();
    for (lowest, _, count) in hist.iter() {
        *counts.entry(place(lowest, BINS_PER_DECADE)).or_default() += count;
    }
    let edge = |bin: i32| Number(10f64.powf(f64::from(bin) / BINS_PER_DECADE));
    let bins = counts.into_iter().map(|(bin, count)| Bin {
        from_ns: edge(bin),
        to_ns: edge(bin + 1),
        count,
    });
    bins.collect()
}

/// A distribution function: each per cent, then the tail in finer and finer steps as far as there
/// are numbers for it, and as far as it is known. Empty where there are none.
fn shares(times: &CensoredTimes) -> Vec<Share> {
    let mut shares = shares_of(times.count(), |q| times.quantile(q).value() as f64);
    shares.retain(|(longer, _)| !times.quantile(1.0 - longer.0).is_bound());
    shares
}

/// The distribution function of `count` numbers whose quantiles are given, in the same steps: each per cent,
/// then the tail.
pub fn shares_of(count: u64, quantile: impl Fn(f64) -> f64) -> Vec<Share> {
    if count == 0 {
        return Vec::new();
    }
    let mut longer: Vec<f64> = (1..=100).rev().map(|n| f64::from(n) / 100.0).collect();
    let count = count as f64;
    let mut decade = 0.01;
    while decade * count > 1.0 {
        let tenths = (1..=9).rev().map(|tenth| decade * f64::from(tenth) / 10.0);
        // No share is smaller than that of a single number, except for the rounding of a product.
        longer.extend(tenths.filter(|share| share * count >= 1.0 - 1e-9));
        decade /= 10.0;
    }
    longer.push(0.0);
    longer.into_iter().map(|longer| (Number(longer), Number(quantile(1.0 - longer)))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_is_reported_as_far_as_it_goes() {
        let mut hist = LogHistogram::new();
        (1..=1000).for_each(|n| hist.record(n));
        let found = shares(&CensoredTimes::new(&hist, &LogHistogram::new()));
        assert_eq!(found.first(), Some(&(Number(1.0), Number(1.0))));
        assert_eq!(found.last(), Some(&(Number(0.0), Number(1000.0))));
        let at = |longer: f64| {
            let found = found.iter().find(|(l, _)| (l.0 - longer).abs() < 1e-12);
            found.map(|(_, ns)| ns.0)
        };
        assert_eq!(at(0.5), Some(500.0));
        assert_eq!(at(0.01), Some(990.0));
        assert_eq!(at(0.001), Some(999.0));
        assert_eq!(at(0.0001), None, "there are no ten thousand numbers");
        let empty = CensoredTimes::new(&LogHistogram::new(), &LogHistogram::new());
        assert!(shares(&empty).is_empty());
    }

    #[test]
    fn the_distribution_ends_where_operations_were_not_answered() {
        let mut known = LogHistogram::new();
        let mut unanswered = LogHistogram::new();
        known.record_n(5, 60);
        unanswered.record_n(1000, 40);
        let shares = shares(&CensoredTimes::new(&known, &unanswered));
        assert_eq!(shares.last(), Some(&(Number(0.4), Number(5.0))));
    }

    #[test]
    fn a_short_last_second_has_no_rate_and_a_line_keeps_its_peak() {
        let division = Division::of(120_200_000_000);
        let mut building = Building::new("request", "request");
        for second in 0..=120 {
            let mut hist = LogHistogram::new();
            hist.record_n(if second == 90 { 80_000_000 } else { 1_000_000 }, 10);
            building.add(second * SECOND_NS, ResponseKind::Succeeded, &hist, division);
        }
        let line = building.line(division);
        let course = building.finish(division);
        assert_eq!(course.per_s[..120], [Some(Number(10.0)); 120]);
        assert_eq!((course.per_s.len(), course.per_s[120]), (121, None));
        // Three seconds are a point.
        assert_eq!((line.p95.len(), division.line_slot_s()), (41, 3));
        let peaks = line.p95.iter().map(|p95| p95.map_or(0.0, |p95| p95.0));
        let peaks: Vec<bool> = peaks.map(|ns| ns > 50e6).collect();
        assert_eq!(peaks.iter().position(|is_peak| *is_peak), Some(30));
        assert_eq!(peaks.iter().filter(|is_peak| **is_peak).count(), 1);
    }

    #[test]
    fn what_is_wanted_first_is_among_the_most_frequent() {
        let counts: Vec<(usize, u64)> = (0..20).map(|n| (n, n as u64)).collect();
        let (places, left_out) = most(&counts, &[3], 4);
        assert_eq!((&places[..], left_out), (&[3, 17, 18, 19][..], 15));
    }

    #[test]
    fn measures_of_regions_have_a_line_together() {
        let measure = |name: &str, region: &str| {
            let mut info = MeasureInfo::new(&format!("{name} (region={region})"), "request");
            info.tags.insert("region".to_owned(), region.to_owned());
            info
        };
        let mut measures: Vec<MeasureInfo> = (0..=LINES_MAX)
            .flat_map(|n| ["north", "south"].map(|region| measure(&format!("step {n}"), region)))
            .collect();
        measures.push(MeasureInfo::new("other", "request"));
        let counts: Vec<(usize, u64)> = (0..measures.len()).map(|n| (n, n as u64)).collect();
        let parts = over_regions(&measures, &counts);
        assert_eq!(parts.len(), LINES_MAX);
        assert!(!parts.contains_key("step 0") && !parts.contains_key("other"));
        let names: Vec<&str> = parts["step 7"].iter().map(|part| part.name.as_str()).collect();
        assert_eq!(names, ["step 7 (region=north)", "step 7 (region=south)"]);
    }

    #[test]
    fn bins_hold_every_number() {
        let mut hist = LogHistogram::new();
        for ns in [0, 1, 999, 1_000_000, 1_000_001, 5_000_000_000] {
            hist.record(ns);
        }
        let bins = bins(&hist);
        assert_eq!(bins.iter().map(|bin| bin.count).sum::<u64>(), 6);
        assert!(bins.iter().all(|bin| bin.from_ns.0 < bin.to_ns.0));
        assert_eq!(bins[0].count, 2, "0 counts as 1 ns");
    }
}
