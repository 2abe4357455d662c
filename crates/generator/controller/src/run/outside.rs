//! Events beside the loops while a run goes on: of the target, its probes, the names of endpoints and the lab.

use std::sync::Arc;
use std::sync::mpsc::Receiver;

use crate::names::{Lookup, ResolverThread};
use driver::real::Zero;
use probe::ProbeValue;
use record::schema::{EventKind, SeriesRow};
use record::{ProbesWriter, RecordError};

use super::probing::ProbeThread;
use crate::surroundings::Surroundings;
use crate::target::TargetProcess;

/// An event with its time since the run's start.
pub(super) type TimedEvent = (u64, EventKind);

/// Everything beside the loops of a run that is about to start.
#[derive(Default)]
pub(super) struct OutsideSetup {
    /// The names of endpoints, which are resolved again during the run.
    pub(super) lookups: Vec<Lookup>,
    /// The built-in target. It is stopped when this is dropped.
    pub(super) target: Option<TargetProcess>,
    pub(super) lab: Option<Arc<dyn Surroundings>>,
}

impl OutsideSetup {
    /// The run starts at `zero`: names are resolved again from now on, the values of `probes` are written to `values`, and
    /// the lab and the target are watched.
    pub(super) fn start(
        self,
        zero: Zero,
        probes: Option<probe::Pool>,
        values: ProbesWriter,
    ) -> Outside {
        let OutsideSetup { lookups, target, lab } = self;
        Outside {
            zero,
            probing: probes.map(|probes| ProbeThread::start(probes, values)),
            names: ResolverThread::start(lookups, zero),
            lab: lab.map(|lab| LabRun { events: lab.begin(zero.unix_ns), lab }),
            target: target.map(|process| WatchedTarget { process, has_ended: false }),
        }
    }
}

/// The sources of events beside the loops.
pub(super) struct Outside {
    pub(super) zero: Zero,
    probing: Option<ProbeThread>,
    /// `None`: no name's address can change.
    names: Option<ResolverThread>,
    lab: Option<LabRun>,
    target: Option<WatchedTarget>,
}

/// A lab, and the events in it since the run's start, each with its time since the Unix epoch.
struct LabRun {
    lab: Arc<dyn Surroundings>,
    events: Receiver<(u64, EventKind)>,
}

/// A built-in target. It is stopped when this is dropped.
struct WatchedTarget {
    process: TargetProcess,
    /// True once its process has ended by itself.
    has_ended: bool,
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
