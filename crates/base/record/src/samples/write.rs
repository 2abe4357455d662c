//! Results of another tool as a run directory.

mod failures;
mod timeline;

use std::collections::BTreeMap;
use std::path::Path;

use stats::hist::LogHistogram;

use super::results::{HistogramPart, Measurements, PLAIN, ToolOperation, ToolResults};
use super::{NO_CLOCK, VALUE_NS_MAX};
use crate::import::{Import, SAMPLES_LAYOUT};
use crate::operations::OperationCounts;
use crate::schema::{
    FORMAT_VERSION, GeneratorInfo, MeasureInfo, MeasureTally, PhaseTally, RunInfo, RunStatus,
    SeriesRow, Tally,
};
use crate::{Measurement, Outcome, RecordError, RunDir, run_id};
use failures::Failures;
use timeline::{Span, Timeline};

const SECOND: u64 = 1_000_000_000;
/// Intervals of histograms, and rows of the series; of longer runs they take several seconds.
const INTERVALS_MAX: u64 = 20_000;
/// Intervals of histograms if it is not known when operations started.
const PARTS: u64 = 1_000;
/// Rows that are handed over at once.
const BATCH: usize = 1 << 16;
/// Moments since this one, 2001-09-09, are taken for the time since the Unix epoch.
const UNIX_NS_MIN: u64 = 1_000_000_000 * SECOND;

/// Results to import, and their description from the command line.
#[derive(Debug, Clone, PartialEq)]
pub struct SampleImport<'a> {
    /// The results.
    pub results: &'a ToolResults,
    /// The source of the results, as given.
    pub source: &'a str,
    /// The name of the run: runs with one name can be compared.
    pub name: &'a str,
    /// A word for these results, part of the run's id.
    pub label: &'a str,
    /// When the first operation started, in nanoseconds since the Unix epoch, if it is known.
    pub started_unix_ns: Option<u64>,
    /// The version of Throng.
    pub throng: &'a str,
}

/// Operations of all measures by their number, and how they ended.
type Outcomes = BTreeMap<u16, BTreeMap<Outcome, u64>>;

impl SampleImport<'_> {
    /// Makes the run directory below `root`, all but its summary.
    ///
    /// # Errors
    /// [`RecordError::Exists`] if these results were imported there before; else an error of the system.
    pub fn write(&self, root: &Path) -> Result<RunDir, RecordError> {
        match &self.results.measured {
            Measurements::Operations(all) => {
                self.write_operations(root, &Timeline::of(all, self.results.has_starts))
            }
            Measurements::Histograms(parts) => self.write_histograms(root, parts),
        }
    }

    fn write_operations(
        &self,
        root: &Path,
        timeline: &Timeline<'_>,
    ) -> Result<RunDir, RecordError> {
        let ended_ns = timeline.ended_ns();
        let info = self.info(timeline.first_ns(), ended_ns);
        let dir = RunDir::import(root, &info, &self.import())?;
        let mut rows = dir.requests(&info)?;
        let mut number = 0;
        for batch in timeline.order().chunks(BATCH) {
            let mut all = Vec::with_capacity(batch.len());
            for &place in batch {
                all.push(row(number, timeline.operation(place), timeline.span(place)));
                number += 1;
            }
            rows.write(&all)?;
        }
        rows.finish()?;
        self.write_intervals(&dir, &info, timeline, ended_ns)?;
        let mut outcomes = Outcomes::new();
        for operation in timeline.operations() {
            let ends = outcomes.entry(operation.measure).or_default();
            *ends.entry(operation.outcome).or_default() += 1;
        }
        dir.write_tally(&self.tally(&outcomes))?;
        Ok(dir)
    }

    fn write_intervals(
        &self,
        dir: &RunDir,
        info: &RunInfo,
        timeline: &Timeline<'_>,
        ended_ns: u64,
    ) -> Result<(), RecordError> {
        let has_clock = self.results.has_starts;
        let length_ns = match has_clock {
            true => (ended_ns / INTERVALS_MAX + 1).next_multiple_of(SECOND),
            false => ended_ns.div_ceil(PARTS),
        };
        let mut latency = dir.latency(info)?;
        let mut series = dir.series(info);
        let mut failures = Failures::new(&self.results.details);
        let mut left = timeline.order();
        let mut start_ns = 0;
        while start_ns < ended_ns || !left.is_empty() {
            let end_ns = start_ns + length_ns;
            let count = left.partition_point(|&place| timeline.span(place).done_ns < end_ns);
            let (ended, later) = left.split_at(count);
            let mut times: BTreeMap<(u16, &str), LogHistogram> = BTreeMap::new();
            let mut counts = OperationCounts::default();
            for &place in ended {
                let operation = timeline.operation(place);
                let kind = self.results.measures[usize::from(operation.measure)].kind;
                counts.add(kind, 1, std::iter::once((operation.outcome, 1)));
                let key = (operation.measure, tag_ending(operation.outcome));
                times.entry(key).or_default().record(operation.time_ns);
                failures.add(start_ns, operation);
            }
            for ((measure, ending), hist) in &times {
                let tag = format!("{}{ending}", info.measures[usize::from(*measure)].name);
                latency.interval(start_ns, length_ns, &tag, hist)?;
            }
            if has_clock {
                series.push(&series_row(start_ns, end_ns, count as u64, counts));
            }
            left = later;
            start_ns = end_ns;
        }
        latency.finish()?;
        if has_clock {
            series.finish()?;
        }
        let failures = failures.counts();
        if !failures.is_empty() {
            dir.errors()?.write_all(&failures)?;
        }
        Ok(())
    }

    fn write_histograms(
        &self,
        root: &Path,
        parts: &[HistogramPart],
    ) -> Result<RunDir, RecordError> {
        let first_ns = parts.iter().map(|part| part.start_ns).min();
        let mut in_order: Vec<&HistogramPart> = parts.iter().collect();
        in_order.sort_by_key(|part| part.start_ns);
        let start_ns = |part: &HistogramPart| part.start_ns - first_ns.unwrap_or(0);
        let end_ns = |part: &HistogramPart| start_ns(part).saturating_add(part.len_ns.max(1));
        let ended_ns = parts.iter().map(end_ns).max().unwrap_or(1);
        let known = first_ns.filter(|_| self.results.has_starts);
        let info = self.info(known, ended_ns);
        let dir = RunDir::import(root, &info, &self.import())?;
        let mut latency = dir.latency(&info)?;
        let mut series = dir.series(&info);
        let mut outcomes = Outcomes::new();
        for interval in in_order.chunk_by(|a, b| a.start_ns == b.start_ns) {
            let mut counts = OperationCounts::default();
            let mut count = 0;
            for &part in interval {
                let measure = &self.results.measures[usize::from(part.measure)];
                let n = part.times.count();
                latency.interval(start_ns(part), part.len_ns.max(1), &measure.name, &part.times)?;
                counts.add(measure.kind, n, std::iter::once((Outcome::Ok, n)));
                let ends = outcomes.entry(part.measure).or_default();
                *ends.entry(Outcome::Ok).or_default() += n;
                count += n;
            }
            if self.results.has_starts {
                let first = interval[0];
                series.push(&series_row(start_ns(first), end_ns(first), count, counts));
            }
        }
        latency.finish()?;
        if self.results.has_starts {
            series.finish()?;
        }
        dir.write_tally(&self.tally(&outcomes))?;
        Ok(dir)
    }

    fn tally(&self, outcomes: &Outcomes) -> Tally {
        let begun =
            |measure: u16| outcomes.get(&measure).map_or(0, |ends| ends.values().sum::<u64>());
        let measures = outcomes.iter().map(|(&measure, ends)| MeasureTally {
            measure,
            begun: begun(measure),
            outcomes: ends.iter().map(|(end, &count)| (end.name().to_owned(), count)).collect(),
        });
        Tally {
            until_ns: None,
            phases: vec![PhaseTally { phase: 0, measures: measures.collect() }],
            begun: (0..self.results.measures.len()).map(|place| begun(place as u16)).collect(),
            due: Vec::new(),
            never_begun: Vec::new(),
            retried: Vec::new(),
            endings: Vec::new(),
            own_work: Vec::new(),
            regions: Vec::new(),
            workers: Vec::new(),
        }
    }

    fn import(&self) -> Import {
        let mut absent = self.results.absent.clone();
        absent.push(
            "when operations were sent: response times count from their start as stated, and the \
             generator's lag, CPU and memory are unknown"
                .to_owned(),
        );
        if !self.results.has_starts {
            absent.push(
                "when operations started: samples are in the order of the file, without a rate"
                    .to_owned(),
            );
        }
        Import {
            format: FORMAT_VERSION,
            layout: SAMPLES_LAYOUT.to_owned(),
            source: self.source(),
            resolution_ns: 1,
            repairs: Vec::new(),
            absent,
            unreachable: Vec::new(),
            clients: Vec::new(),
        }
    }

    /// The source, with the tool if it was recognised.
    fn source(&self) -> String {
        match self.results.tool {
            PLAIN => self.source.to_owned(),
            tool => format!("{} ({tool})", self.source),
        }
    }

    /// `first_ns`: the start of the first operation; `None` if it is not known when operations started.
    fn info(&self, first_ns: Option<u64>, ended_ns: u64) -> RunInfo {
        let known = first_ns.filter(|&first| first >= UNIX_NS_MIN);
        let started_unix_ns = self.started_unix_ns.or(known).unwrap_or(0);
        let name = format!("{}-{}", self.name, self.label);
        let clock = match first_ns {
            Some(_) => "unknown",
            None => NO_CLOCK,
        };
        let measures = self.results.measures.iter();
        RunInfo {
            format: FORMAT_VERSION,
            id: run_id(started_unix_ns / SECOND, &name, self.entropy()),
            name: self.name.to_owned(),
            throng: self.throng.to_owned(),
            status: RunStatus::Complete,
            seed: 0,
            scenario_hash: String::new(),
            overrides: Vec::new(),
            target: format!("imported from {}", self.source()),
            started_unix_ns,
            ended_ns,
            clock: clock.to_owned(),
            generator: GeneratorInfo::imported(),
            workers: Vec::new(),
            regions: Vec::new(),
            host: BTreeMap::new(),
            measures: measures.map(|own| MeasureInfo::new(&own.name, own.kind)).collect(),
            steps: Vec::new(),
            expects_overload: false,
            metrics: Vec::new(),
            sessions: vec!["imported".to_owned()],
            // Phases are planned; runs whose plans differ are not compared.
            phases: Vec::new(),
            tls_unverified: false,
        }
    }

    /// The part of the id that follows from the results, so that they are not imported twice without notice: FNV-1a of
    /// 64 bits (Fowler, Noll and Vo 1991), folded.
    fn entropy(&self) -> u16 {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        let mut add = |bytes: &[u8]| {
            for byte in bytes {
                hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
            }
        };
        match &self.results.measured {
            Measurements::Operations(all) => {
                all.iter().for_each(|operation| add(&operation.time_ns.to_le_bytes()));
                if self.results.has_starts {
                    all.iter().for_each(|operation| add(&operation.start_ns.to_le_bytes()));
                }
                for (place, operation) in all.iter().enumerate() {
                    if operation.outcome != Outcome::Ok || operation.measure > 0 {
                        let [low, high] = operation.measure.to_le_bytes();
                        add(&[u8::from(operation.outcome), low, high]);
                        add(&place.to_le_bytes());
                    }
                }
            }
            Measurements::Histograms(parts) => {
                for part in parts {
                    add(&part.start_ns.to_le_bytes());
                    for (lowest, _, count) in part.times.iter() {
                        add(&lowest.to_le_bytes());
                        add(&count.to_le_bytes());
                    }
                }
            }
        }
        self.results.measures.iter().for_each(|measure| add(measure.name.as_bytes()));
        (hash ^ hash >> 16 ^ hash >> 32 ^ hash >> 48) as u16
    }
}

/// The ending by which the latency log tells operations apart that ended like this.
fn tag_ending(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Ok => "",
        outcome if outcome.is_answered_failure() => ".failed",
        _ => ".censored",
    }
}

fn series_row(start_ns: u64, end_ns: u64, count: u64, counts: OperationCounts) -> SeriesRow {
    SeriesRow {
        start_ns,
        end_ns,
        done: count,
        sends: count,
        operations_begun: counts.begun,
        operations_ended: counts.ended,
        operations_completed: counts.completed,
        errors: counts.failed,
        ..SeriesRow::default()
    }
}

fn row(number: u64, operation: &ToolOperation, span: Span) -> Measurement {
    debug_assert!(u128::from(operation.time_ns) <= VALUE_NS_MAX, "readers refuse longer ones");
    Measurement {
        due_ns: span.start_ns,
        sent_ns: span.start_ns,
        done_ns: span.done_ns,
        user: number,
        measure: operation.measure,
        session: 0,
        loop_id: 0,
        outcome: operation.outcome,
        status: operation.status,
        weight: 1,
        bytes_out: operation.bytes_out,
        bytes_in: operation.bytes_in,
    }
}

#[cfg(test)]
mod tests;
