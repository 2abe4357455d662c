//! Everything that is written while a run goes on.

mod rows;

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::sync::mpsc::Receiver;

use engine::measure::Example;
use plan::MeasureId;
use record::schema::{Event, EventKind, RunInfo, RunStatus};
use record::{
    EventsWriter, LatencyWriter, Measurement, Outcome, ProbesWriter, RecordError, RunDir,
    SeriesWriter,
};

use crate::merge::{Interval, Outcomes};
use crate::secrets::Secrets;
use crate::tick::example_event;
use rows::{RowsThread, rest};

pub(crate) use rows::{ROWS_MAX, ROWS_WAITING_MAX, rows_channel};

/// Errors of one kind at one measure that are kept with their text.
const EXAMPLES_MAX: u32 = 5;
/// Intervals between two states of the files that a killed run would keep.
const CHECKPOINT_EVERY: u32 = 10;

/// The run directory's writers.
pub(crate) struct Journal {
    dir: RunDir,
    info: RunInfo,
    series: SeriesWriter,
    latency: LatencyWriter,
    events: EventsWriter,
    outcomes: Outcomes,
    examples: BTreeMap<(MeasureId, Outcome), u32>,
    since_checkpoint: u32,
    rows: RowsThread,
    secrets: Secrets,
    /// Events that were written and not told yet.
    news: Vec<Event>,
}

impl Journal {
    /// Makes the run's directory under `root`.
    pub(crate) fn create(
        root: &Path,
        info: RunInfo,
        scenario: &str,
        rows: Receiver<Vec<Measurement>>,
        secrets: Secrets,
    ) -> Result<Journal, RecordError> {
        let dir = RunDir::create(root, &info, scenario)?;
        Ok(Journal {
            series: dir.series(&info),
            latency: dir.latency(&info)?,
            events: dir.events()?,
            rows: RowsThread::start(dir.requests(&info)?, rows),
            outcomes: Outcomes::default(),
            examples: BTreeMap::new(),
            since_checkpoint: 0,
            secrets,
            news: Vec::new(),
            dir,
            info,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn info(&self) -> &RunInfo {
        &self.info
    }

    /// False once rows can no longer be written; the error comes with [`Journal::finish`].
    pub(crate) fn is_writing(&self) -> bool {
        !self.rows.has_failed()
    }

    /// The worker of that number is no more.
    pub(crate) fn lose_worker(&mut self, worker: usize, at_ns: u64) -> Result<(), RecordError> {
        if let Some(worker) = self.info.workers.get_mut(worker) {
            worker.lost_at_ns = Some(at_ns);
        }
        self.dir.update_info(&self.info)
    }

    /// The writer of what probes tell.
    pub(crate) fn probes(&self) -> ProbesWriter {
        self.dir.probes(&self.info)
    }

    pub(crate) fn event(&mut self, at_ns: u64, mut what: EventKind) -> Result<(), RecordError> {
        self.secrets.hide_in_event(&mut what);
        let event = Event { at_ns, what };
        self.events.write(&event)?;
        self.news.push(event);
        Ok(())
    }

    /// The events since this was asked last.
    pub(crate) fn news(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.news)
    }

    /// Writes one interval of the whole run down.
    pub(crate) fn interval(&mut self, interval: &Interval) -> Result<(), RecordError> {
        self.series.push(&interval.row);
        self.measures(interval)?;
        for example in &interval.examples {
            self.example(example)?;
        }
        self.since_checkpoint += 1;
        if self.since_checkpoint >= CHECKPOINT_EVERY {
            self.since_checkpoint = 0;
            self.checkpoint()?;
        }
        Ok(())
    }

    /// Writes down what an interval measured.
    pub(crate) fn measures(&mut self, interval: &Interval) -> Result<(), RecordError> {
        self.outcomes.add(interval);
        let row = &interval.row;
        let length_ns = row.end_ns.saturating_sub(row.start_ns);
        for (&measure, delta) in &interval.measures {
            let name = &self.info.measures[measure as usize].name;
            let bases = [
                ("", &delta.response),
                (".service", &delta.service),
                (".lag", &delta.lag),
            ];
            for (suffix, hist) in bases.into_iter().filter(|(_, hist)| !hist.is_empty()) {
                self.latency
                    .interval(row.start_ns, length_ns, &format!("{name}{suffix}"), hist)?;
                rest();
            }
        }
        Ok(())
    }

    fn example(&mut self, example: &Example) -> Result<(), RecordError> {
        let kept = self
            .examples
            .entry((example.measure, example.outcome))
            .or_default();
        if *kept >= EXAMPLES_MAX {
            return Ok(());
        }
        *kept += 1;
        let Event { at_ns, what } = example_event(&self.info, example);
        self.event(at_ns, what)
    }

    fn checkpoint(&mut self) -> Result<(), RecordError> {
        self.series.checkpoint()?;
        self.latency.flush()?;
        self.dir.write_tally(&self.outcomes.tally())
    }

    /// Closes all files, once the last sender of rows is gone; `info` tells how the run ended. Where one cannot be closed the run has
    /// failed, and what the disk still takes says so.
    pub(crate) fn finish(self, info: &RunInfo) -> Result<RunDir, RecordError> {
        let (dir, mut events) = (self.dir, self.events);
        let closed = self
            .rows
            .finish()
            .and(self.series.finish())
            .and(self.latency.finish())
            .and(dir.write_tally(&self.outcomes.tally()));
        let at_ns = info.ended_ns;
        let mut info = info.clone();
        if let Err(error) = &closed {
            info.status = RunStatus::Failed;
            let what = EventKind::Note {
                text: reason(error),
            };
            // The error is told either way.
            let _ = events.write(&Event { at_ns, what });
        }
        let what = EventKind::RunEnded {
            status: info.status,
        };
        let ended = events
            .write(&Event { at_ns, what })
            .and(dir.update_info(&info));
        closed.and(ended)?;
        Ok(dir)
    }
}

/// An error with its causes, for people.
pub(crate) fn reason(error: &dyn Error) -> String {
    let causes = std::iter::successors(error.source(), |&cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}
