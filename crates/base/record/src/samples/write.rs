//! Samples as a run directory.

use std::collections::BTreeMap;
use std::path::Path;

use stats::hist::LogHistogram;

use super::{NO_CLOCK, Samples};
use crate::import::{Import, SAMPLES_LAYOUT};
use crate::schema::{
    FORMAT_VERSION, GeneratorInfo, MeasureInfo, MeasureTally, PhaseTally, RunInfo, RunStatus,
    SeriesRow, Tally,
};
use crate::{Measurement, Outcome, RecordError, RunDir, run_id};

const SECOND: u64 = 1_000_000_000;
/// Intervals of histograms, and rows of the series; of longer runs they take several seconds.
const INTERVALS_MAX: u64 = 20_000;
/// Intervals of histograms if it is not known when operations started.
const PARTS: u64 = 1_000;
/// Rows that are handed over at once.
const BATCH: usize = 1 << 16;
/// Moments since this one, 2001-09-09, are taken for the time since the Unix epoch.
const UNIX_NS_MIN: u64 = 1_000_000_000 * SECOND;

/// Samples to import, and their description from the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SampleImport<'a> {
    /// The samples.
    pub samples: &'a Samples,
    /// The source of the samples, as given.
    pub source: &'a str,
    /// The name of the run: runs with one name can be compared.
    pub name: &'a str,
    /// A word for these samples, part of the run's id.
    pub label: &'a str,
    /// The name of the measure.
    pub measure: &'a str,
    /// When the first operation started, in nanoseconds since the Unix epoch, if it is known.
    pub started_unix_ns: Option<u64>,
    /// The version of Throng.
    pub throng: &'a str,
}

/// The times of an operation in the run.
#[derive(Debug, Clone, Copy)]
struct Operation {
    start_ns: u64,
    done_ns: u64,
}

impl SampleImport<'_> {
    /// Makes the run directory below `root`, all but its summary.
    ///
    /// # Errors
    /// [`RecordError::Exists`] if these samples were imported there before; else an error of the system.
    pub fn write(&self, root: &Path) -> Result<RunDir, RecordError> {
        let operations = self.operations();
        let ended_ns = operations.last().map_or(0, |last| last.done_ns).max(1);
        let info = self.info(ended_ns);
        let dir = RunDir::import(root, &info, &self.import())?;
        let mut rows = dir.requests(&info)?;
        for (batch, operations) in operations.chunks(BATCH).enumerate() {
            let number = |place: usize| (batch * BATCH + place) as u64;
            let all = operations.iter().enumerate();
            let all: Vec<Measurement> =
                all.map(|(place, operation)| row(number(place), *operation)).collect();
            rows.write(&all)?;
        }
        rows.finish()?;
        self.write_intervals(&dir, &info, &operations, ended_ns)?;
        dir.write_tally(&tally(operations.len() as u64))?;
        Ok(dir)
    }

    /// The operations in the order in which they ended. If it is not known when they started, each begins
    /// a slot of its own, all of which are as long as the longest operation.
    fn operations(&self) -> Vec<Operation> {
        let times = &self.samples.times_ns;
        let starts = &self.samples.starts_ns;
        let first = starts.iter().min().copied().unwrap_or(0);
        let slot = times.iter().max().copied().unwrap_or(0).saturating_add(1);
        let slot = slot.min(i64::MAX as u64 / (times.len() as u64 + 1));
        let start = |place: usize| match starts.get(place) {
            Some(start) => start - first,
            None => place as u64 * slot,
        };
        let all = times.iter().enumerate();
        let mut all: Vec<Operation> = all
            .map(|(place, &time)| Operation {
                start_ns: start(place),
                done_ns: start(place).saturating_add(time),
            })
            .collect();
        all.sort_by_key(|operation| operation.done_ns);
        all
    }

    fn write_intervals(
        &self,
        dir: &RunDir,
        info: &RunInfo,
        operations: &[Operation],
        ended_ns: u64,
    ) -> Result<(), RecordError> {
        let has_clock = !self.samples.starts_ns.is_empty();
        let length_ns = match has_clock {
            true => (ended_ns / INTERVALS_MAX + 1).next_multiple_of(SECOND),
            false => ended_ns.div_ceil(PARTS),
        };
        let mut latency = dir.latency(info)?;
        let mut series = dir.series(info);
        let mut left = operations;
        let mut start_ns = 0;
        while start_ns < ended_ns || !left.is_empty() {
            let end_ns = start_ns + length_ns;
            let count = left.partition_point(|operation| operation.done_ns < end_ns);
            let (ended, later) = left.split_at(count);
            let mut hist = LogHistogram::new();
            ended.iter().for_each(|operation| hist.record(operation.done_ns - operation.start_ns));
            latency.interval(start_ns, length_ns, self.measure, &hist)?;
            if has_clock {
                series.push(&SeriesRow {
                    start_ns,
                    end_ns,
                    done: count as u64,
                    sends: count as u64,
                    operations_begun: count as u64,
                    operations_ended: count as u64,
                    operations_completed: count as u64,
                    ..SeriesRow::default()
                });
            }
            (left, start_ns) = (later, end_ns);
        }
        latency.finish()?;
        if has_clock {
            series.finish()?;
        }
        Ok(())
    }

    fn import(&self) -> Import {
        let mut absent = vec![
            "operations that failed: each sample counts as succeeded".to_owned(),
            "when operations were sent: response times count from their start as stated, and the \
             generator's lag, CPU and memory are unknown"
                .to_owned(),
        ];
        if self.samples.starts_ns.is_empty() {
            absent.push(
                "when operations started: samples are in the order of the file, without a rate"
                    .to_owned(),
            );
        }
        Import {
            format: FORMAT_VERSION,
            layout: SAMPLES_LAYOUT.to_owned(),
            source: self.source.to_owned(),
            resolution_ns: 1,
            repairs: Vec::new(),
            absent,
            unreachable: Vec::new(),
            clients: Vec::new(),
        }
    }

    fn info(&self, ended_ns: u64) -> RunInfo {
        let first = self.samples.starts_ns.iter().min().copied();
        let known = first.filter(|&first| first >= UNIX_NS_MIN);
        let started_unix_ns = self.started_unix_ns.or(known).unwrap_or(0);
        let name = format!("{}-{}", self.name, self.label);
        let clock = match first {
            Some(_) => "unknown",
            None => NO_CLOCK,
        };
        RunInfo {
            format: FORMAT_VERSION,
            id: run_id(started_unix_ns / SECOND, &name, self.entropy()),
            name: self.name.to_owned(),
            throng: self.throng.to_owned(),
            status: RunStatus::Complete,
            seed: 0,
            scenario_hash: String::new(),
            overrides: Vec::new(),
            target: format!("imported from {}", self.source),
            started_unix_ns,
            ended_ns,
            clock: clock.to_owned(),
            generator: GeneratorInfo::imported(),
            workers: Vec::new(),
            regions: Vec::new(),
            host: BTreeMap::new(),
            measures: vec![MeasureInfo::new(self.measure, "request")],
            steps: Vec::new(),
            expects_overload: false,
            sessions: vec!["imported".to_owned()],
            // Phases are planned; runs whose plans differ are not compared.
            phases: Vec::new(),
            tls_unverified: false,
        }
    }

    /// The same samples have the same id, so that they are not imported twice without notice: FNV-1a of
    /// 64 bits (Fowler, Noll and Vo 1991), folded.
    fn entropy(&self) -> u16 {
        let times = &self.samples.times_ns;
        let starts = &self.samples.starts_ns;
        let numbers = times.iter().chain(starts).flat_map(|ns| ns.to_le_bytes());
        let bytes = numbers.chain(self.measure.bytes());
        let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        (hash ^ hash >> 16 ^ hash >> 32 ^ hash >> 48) as u16
    }
}

fn row(number: u64, operation: Operation) -> Measurement {
    Measurement {
        due_ns: operation.start_ns,
        sent_ns: operation.start_ns,
        done_ns: operation.done_ns,
        user: number,
        measure: 0,
        session: 0,
        loop_id: 0,
        outcome: Outcome::Ok,
        status: 0,
        weight: 1,
        bytes_out: 0,
        bytes_in: 0,
    }
}

fn tally(count: u64) -> Tally {
    Tally {
        until_ns: None,
        phases: vec![PhaseTally {
            phase: 0,
            measures: vec![MeasureTally {
                measure: 0,
                begun: count,
                outcomes: BTreeMap::from([(Outcome::Ok.name().to_owned(), count)]),
            }],
        }],
        begun: vec![count],
        due: Vec::new(),
        never_begun: Vec::new(),
        retried: Vec::new(),
        endings: Vec::new(),
        own_work: Vec::new(),
        regions: Vec::new(),
        workers: Vec::new(),
    }
}

#[cfg(test)]
mod tests;
