//! Everything that is written during a run.

use std::path::Path;

use engine::measure::Sample;
use plan::{Plan, builtin};
use record::schema::{
    ErrorCount, ErrorSample, Event, EventKind, MetricRow, OnceEnded, RowsPart, RunInfo, RunStatus,
    Tally, WorkerClock,
};
use record::{
    Durability, EventsWriter, LatencyWriter, LinesWriter, ProbesWriter, RecordError, RowCounts,
    RunDir, SeriesWriter,
};
use workers::{Drift, LeftRows, LoopRows, RowLimits, RowsThread, WrittenRows, rest, with_causes};

use super::by_worker::ByWorker;
use super::error::{ConductError, counted};
use super::failures::Failures;
use super::merge::Interval;
use super::outcomes::Outcomes;
use crate::secrets::Secrets;

/// Intervals, of a second each, between two checkpoints.
pub(super) const CHECKPOINT_EVERY: u32 = 3;

/// The run directory's writers.
pub(crate) struct Journal {
    dir: RunDir,
    info: RunInfo,
    series: SeriesWriter,
    latency: LatencyWriter,
    events: EventsWriter,
    outcomes: Outcomes,
    failures: Failures,
    /// `None`: nothing has failed yet.
    errors: Option<LinesWriter<ErrorCount>>,
    /// `None`: there is no sample yet.
    samples: Option<LinesWriter<ErrorSample>>,
    /// `None`: nothing was recorded of any metric yet.
    metrics: Option<LinesWriter<MetricRow>>,
    since_checkpoint: u32,
    /// `None`: rows are with the agents of a fleet, or nowhere.
    rows: Option<RowsThread>,
    secrets: Secrets,
    /// Events that were written and not taken yet.
    new_events: Vec<Event>,
    /// The failures of the last interval.
    new_errors: Vec<ErrorCount>,
}

impl Journal {
    /// Creates the run's directory under `root`. `samples_max`: samples of each kind of failures.
    pub(crate) fn create(
        root: &Path,
        info: RunInfo,
        scenario: &str,
        durability: Durability,
        rows: LoopRows,
        secrets: Secrets,
        samples_max: u8,
    ) -> Result<Journal, RecordError> {
        let scenario = secrets.recorded(scenario);
        let dir = RunDir::create_durable(root, &info, &scenario, durability)?;
        let is_elsewhere = info.workers.iter().any(|worker| worker.rows.is_some());
        let writer = (!is_elsewhere).then(|| dir.requests(&info)).transpose()?;
        Ok(Journal {
            series: dir.series(&info),
            latency: dir.latency(&info)?,
            events: dir.events()?,
            rows: writer.map(|writer| RowsThread::start(writer, rows, RowLimits::NONE)),
            outcomes: Outcomes::new(&info),
            failures: Failures::new(samples_max),
            errors: None,
            samples: None,
            metrics: None,
            since_checkpoint: 0,
            secrets,
            new_events: Vec::new(),
            new_errors: Vec::new(),
            dir,
            info,
        })
    }

    /// Keeps the files that the scenario consists of besides its own text.
    pub(crate) fn keep_inputs(&self, plan: &Plan) -> Result<(), RecordError> {
        let mut inputs = self.secrets.recorded_inputs(plan).into_iter();
        inputs.try_for_each(|(name, text)| self.dir.write_input(&name, &text))
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn info(&self) -> &RunInfo {
        &self.info
    }

    /// False once rows can no longer be written; the error comes with [`Journal::finish`].
    pub(crate) fn is_writing(&self) -> bool {
        !self.rows.as_ref().is_some_and(RowsThread::has_failed)
    }

    /// Notes that the worker of that number is lost.
    pub(crate) fn lose_worker(&mut self, worker: usize, at_ns: u64) -> Result<(), RecordError> {
        if let Some(worker) = self.info.workers.get_mut(worker) {
            worker.lost_at_ns = Some(at_ns);
        }
        self.dir.update_info(&self.info)
    }

    /// Notes that the worker of that number has left its rows on its machine, if it was to.
    pub(crate) fn note_rows(
        &mut self,
        worker: usize,
        left: LeftRows,
        at_ns: u64,
    ) -> Result<(), RecordError> {
        let Some(info) = self.info.workers.get_mut(worker) else {
            return Ok(());
        };
        let agent = info.agent.clone().unwrap_or_default();
        let Some(rows) = &mut info.rows else {
            return Ok(());
        };
        let problem = left.problem.as_ref().map(|problem| {
            let lost = units::counted(left.lost, "row");
            format!("agent {agent} could not write {lost}: {problem}")
        });
        rows.path = Some(left.path);
        rows.part = left.part.map(|(sha256, rows, bytes)| RowsPart { sha256, rows, bytes });
        rows.lost = left.lost;
        rows.problem = left.problem;
        self.dir.update_info(&self.info)?;
        match problem {
            Some(text) => self.event(at_ns, EventKind::Note { text }),
            None => Ok(()),
        }
    }

    /// Notes how the clocks of workers have moved, for the end of the record.
    pub(crate) fn note_drifts(&mut self, drifts: &[Option<Drift>]) {
        for (worker, drift) in self.info.workers.iter_mut().zip(drifts) {
            worker.clock_last = drift.map(|drift| WorkerClock {
                offset_ns: drift.last.offset_ns,
                bound_ns: drift.last.bound_ns,
                drift_ns_per_s: drift.rate.round() as i64,
            });
        }
    }

    /// The writer of probe values.
    pub(crate) fn probes(&self) -> ProbesWriter {
        self.dir.probes(&self.info)
    }

    pub(crate) fn event(&mut self, at_ns: u64, mut what: EventKind) -> Result<(), RecordError> {
        self.secrets.hide_in_event(&mut what);
        let event = Event { at_ns, what };
        self.events.write(&event)?;
        self.new_events.push(event);
        Ok(())
    }

    /// Writes what is known before any user starts: notes about the run as a whole, and the result of `setup`.
    pub(crate) fn begin(
        &mut self,
        notes: Vec<String>,
        setup: Option<OnceEnded>,
    ) -> Result<(), RecordError> {
        let notes = notes.into_iter().map(|text| EventKind::Note { text });
        let mut events = notes.chain(setup.map(EventKind::OnceEnded));
        events.try_for_each(|what| self.event(0, what))
    }

    /// The events since the last call.
    pub(crate) fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.new_events)
    }

    /// The failures of the last interval.
    pub(crate) fn take_errors(&mut self) -> Vec<ErrorCount> {
        std::mem::take(&mut self.new_errors)
    }

    /// The load ends now, before its plan does.
    pub(crate) fn end_load(&mut self, at_ns: u64) {
        self.outcomes.end_load(at_ns);
    }

    /// Writes one interval of the run.
    pub(crate) fn interval(
        &mut self,
        interval: &Interval,
        workers: &ByWorker,
    ) -> Result<(), RecordError> {
        self.series.push(&interval.row);
        self.measures(interval)?;
        self.errors(interval)?;
        self.metrics(interval)?;
        for line in &interval.console {
            self.event(line.at_ns, EventKind::Console { text: line.text.clone() })?;
        }
        self.since_checkpoint += 1;
        if self.since_checkpoint >= CHECKPOINT_EVERY {
            self.since_checkpoint = 0;
            self.checkpoint(workers)?;
        }
        Ok(())
    }

    /// Writes what an interval measured.
    pub(crate) fn measures(&mut self, interval: &Interval) -> Result<(), RecordError> {
        self.outcomes.add(interval);
        let row = &interval.row;
        let length_ns = row.end_ns.saturating_sub(row.start_ns);
        for (&measure, delta) in &interval.measures {
            let name = &self.info.measures[measure.index()].name;
            let bases = [
                ("", &delta.response),
                (".failed", &delta.failed),
                (".censored", &delta.censored),
                (".service", &delta.service),
                (".lag", &delta.lag),
                (".late", &delta.late),
            ];
            for (suffix, hist) in bases.into_iter().filter(|(_, hist)| !hist.is_empty()) {
                self.latency.interval(row.start_ns, length_ns, &format!("{name}{suffix}"), hist)?;
                rest();
            }
        }
        // Empty where a measure has that name.
        let sessions =
            [("", &interval.sessions.finished), (".censored", &interval.sessions.unfinished)];
        for (suffix, hist) in sessions.into_iter().filter(|(_, hist)| !hist.is_empty()) {
            let tag = format!("{}{suffix}", builtin::SESSIONS_NAME);
            self.latency.interval(row.start_ns, length_ns, &tag, hist)?;
        }
        Ok(())
    }

    /// Writes the failures of an interval, and samples of them. Without failures there are no such files.
    fn errors(&mut self, interval: &Interval) -> Result<(), RecordError> {
        self.new_errors = self.failures.counts(&interval.row, &interval.errors, &self.secrets);
        if !self.new_errors.is_empty() {
            let errors = match self.errors.take() {
                Some(errors) => errors,
                None => self.dir.errors()?,
            };
            self.errors.insert(errors).write_all(&self.new_errors)?;
        }
        interval.samples.iter().try_for_each(|sample| self.sample(sample))
    }

    /// Writes what an interval recorded of the scenario's own metrics. Without any there is no such file.
    fn metrics(&mut self, interval: &Interval) -> Result<(), RecordError> {
        if interval.metrics.is_empty() {
            return Ok(());
        }
        let metrics = match self.metrics.take() {
            Some(metrics) => metrics,
            None => self.dir.metrics()?,
        };
        self.metrics.insert(metrics).write_all(&interval.metric_rows())
    }

    fn sample(&mut self, sample: &Sample) -> Result<(), RecordError> {
        if let Some(what) = self.failures.event(sample, &self.info) {
            self.event(sample.at_ns, what)?;
        }
        let Some(recorded) = self.failures.sample(sample, &self.secrets) else {
            return Ok(());
        };
        let samples = match self.samples.take() {
            Some(samples) => samples,
            None => self.dir.samples()?,
        };
        self.samples.insert(samples).write(&recorded)
    }

    /// The tally comes last: what it counts is in the other files.
    fn checkpoint(&mut self, workers: &ByWorker) -> Result<(), RecordError> {
        self.events.checkpoint()?;
        self.errors.as_mut().map_or(Ok(()), LinesWriter::checkpoint)?;
        self.samples.as_mut().map_or(Ok(()), LinesWriter::checkpoint)?;
        self.metrics.as_mut().map_or(Ok(()), LinesWriter::checkpoint)?;
        self.latency.flush()?;
        self.series.checkpoint_pausing(&mut rest)?;
        self.dir.write_tally(&Tally { workers: workers.tally(), ..self.outcomes.tally() })
    }

    /// Closes all files once the last sender of rows is gone; `info` says how the run ended. If a file
    /// cannot be closed the run has failed, and as far as the disk allows the record says so.
    pub(crate) fn finish(self, info: &RunInfo, workers: &ByWorker) -> Result<RunDir, ConductError> {
        let dir = self.dir;
        let mut events = self.events;
        let (rows, written) = match self.rows.map(RowsThread::finish) {
            Some(WrittenRows { counts, result, .. }) => (counts, result),
            None => (RowCounts::default(), Ok(())),
        };
        let mut errors = self.errors;
        let mut samples = self.samples;
        let mut metrics = self.metrics;
        let closed = written
            .and(errors.as_mut().map_or(Ok(()), LinesWriter::checkpoint))
            .and(samples.as_mut().map_or(Ok(()), LinesWriter::checkpoint))
            .and(metrics.as_mut().map_or(Ok(()), LinesWriter::checkpoint))
            .and(self.series.finish())
            .and(self.latency.finish())
            .and(dir.write_tally(&Tally { workers: workers.tally(), ..self.outcomes.tally() }));
        let at_ns = info.ended_ns;
        let mut info = info.clone();
        if let Err(error) = &closed {
            info.status = RunStatus::Failed;
            // The cause comes last: findings quote the last note.
            let lost = (rows.lost > 0).then(|| counted(rows));
            for text in lost.into_iter().chain([with_causes(error)]) {
                let what = EventKind::Note { text };
                // The error is returned either way.
                let _ = events.write(&Event { at_ns, what });
            }
        }
        let what = EventKind::RunEnded { status: info.status };
        let ended = events
            .write(&Event { at_ns, what })
            .and(events.checkpoint())
            .and(dir.update_info(&info));
        match closed {
            Err(source) if rows.lost > 0 => Err(ConductError::RowsLost { rows, source }),
            closed => Ok(closed.and(ended).map(|()| dir)?),
        }
    }
}
