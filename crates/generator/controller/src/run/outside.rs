//! Events beside the loops while a run goes on: of the target, its probes, the names of endpoints and the lab.

use std::sync::Arc;
use std::sync::mpsc::Receiver;

use crate::names::ResolverThread;
use driver::real::Zero;
use probe::ProbeValue;
use record::RecordError;
use record::schema::{EventKind, SeriesRow};

use super::probing::ProbeThread;
use crate::surroundings::Surroundings;
use crate::target::TargetProcess;

/// An event with its time since the run's start.
pub(super) type TimedEvent = (u64, EventKind);

/// The sources of events beside the loops.
pub(super) struct Outside {
    pub(super) zero: Zero,
    pub(super) probing: Option<ProbeThread>,
    /// `None`: no name's address can change.
    pub(super) names: Option<ResolverThread>,
    pub(super) lab: Option<LabRun>,
    pub(super) target: Option<WatchedTarget>,
}

/// A lab, and the events in it since the run's start, each with its time since the Unix epoch.
pub(super) struct LabRun {
    pub(super) lab: Arc<dyn Surroundings>,
    pub(super) events: Receiver<(u64, EventKind)>,
}

/// A built-in target. It is stopped when this is dropped.
pub(super) struct WatchedTarget {
    process: TargetProcess,
    /// True once its process has ended by itself.
    has_ended: bool,
}

impl WatchedTarget {
    pub(super) fn new(process: TargetProcess) -> WatchedTarget {
        WatchedTarget { process, has_ended: false }
    }
}

impl Outside {
    /// The end of the target, if it has ended by itself since the last call.
    pub(super) fn target_end(&mut self) -> Option<EventKind> {
        let target = self.target.as_mut().filter(|target| !target.has_ended)?;
        let status = target.process.ended()?;
        target.has_ended = true;
        Some(EventKind::TargetEnded {
            target: target.process.name().to_owned(),
            pid: target.process.pid(),
            why: status.to_string(),
        })
    }

    /// True if the target ended before the run did.
    pub(super) fn has_target_ended(&self) -> bool {
        self.target.as_ref().is_some_and(|target| target.has_ended)
    }

    /// The events of probes since the last call.
    pub(super) fn of_probes(&mut self) -> Vec<TimedEvent> {
        self.probing.as_mut().map_or_else(Vec::new, ProbeThread::events)
    }

    /// All probes with their newest values.
    pub(super) fn newest_probes(&mut self) -> &[ProbeValue] {
        self.probing.as_mut().map_or(&[], ProbeThread::newest)
    }

    /// The changed addresses of names since the last call.
    pub(super) fn of_names(&mut self) -> Vec<TimedEvent> {
        self.names.as_mut().map_or_else(Vec::new, ResolverThread::events)
    }

    /// The events in the lab since the last call.
    pub(super) fn of_lab(&self) -> Vec<TimedEvent> {
        let events = self.lab.iter().flat_map(|lab| lab.events.try_iter());
        let events =
            events.map(|(unix_ns, what)| (unix_ns.saturating_sub(self.zero.unix_ns), what));
        events.collect()
    }

    /// Reports an interval to the lab, whose alarms may depend on it.
    pub(super) fn report_crowd(&self, row: &SeriesRow) {
        let seconds = row.end_ns.saturating_sub(row.start_ns) as f64 / 1e9;
        if let Some(run) = self.lab.as_ref().filter(|_| seconds > 0.0) {
            run.lab.crowd(row.users, row.users_started as f64 / seconds);
        }
    }

    /// Stops the probes. Returns their last events, and an error if some of their values were not written.
    pub(super) fn finish_probes(&mut self) -> (Vec<TimedEvent>, Result<(), RecordError>) {
        match self.probing.take() {
            Some(probing) => probing.finish(),
            None => (Vec::new(), Ok(())),
        }
    }

    /// Stops resolving names. Returns the last events of that.
    pub(super) fn finish_names(&mut self) -> Vec<TimedEvent> {
        self.names.take().map_or_else(Vec::new, ResolverThread::finish)
    }

    /// Ends the run in the lab. Returns its events of the run as a whole.
    pub(super) fn end_lab(&self) -> Vec<EventKind> {
        self.lab.as_ref().map_or_else(Vec::new, |run| run.lab.end())
    }
}
