//! The last stage: what follows the loops, up to the verdict.

use std::rc::Rc;
use std::sync::Arc;

use machine::clock::monotonic_ns;
use plan::Plan;
use record::counters::Counts;
use record::schema::{EventKind, RunInfo, RunStatus, Verdict};
use record::{RecordError, Run};
use workers::{Fleet, with_causes};

use super::Conducted;
use super::by_worker::ByWorker;
use super::error::ConductError;
use super::journal::Journal;
use super::once::{self, TeardownLoop};
use super::outside::Outside;
use crate::control::Interrupt;

/// A run whose loops are gone.
pub(super) struct Ended {
    /// The error that ended the loops, if one did.
    pub(super) played: Result<(), ConductError>,
    pub(super) journal: Journal,
    pub(super) plan: Arc<Plan>,
    pub(super) by_worker: ByWorker,
    /// Events on the clocks that stamp messages.
    pub(super) clocks: Vec<EventKind>,
    /// Totals of the run.
    pub(super) counts: Counts,
    /// The end of the last interval.
    pub(super) ended_ns: u64,
    /// True if the user requested the end while the loops ran.
    pub(super) is_interrupted: bool,
    /// True if a threshold ended the run.
    pub(super) is_aborted: bool,
    /// When the scenario's `until` ended the run before its plan did; `None`: it did not.
    pub(super) until_ended_ns: Option<u64>,
    /// True if `setup` failed, so that no user started.
    pub(super) has_setup_failed: bool,
    /// True if the loops were in workers, and all of these were lost.
    pub(super) are_workers_lost: bool,
    /// True if the run was ended because memory ran out.
    pub(super) has_memory_run_out: bool,
    /// `None` once `teardown` has begun.
    pub(super) teardown: Option<TeardownLoop>,
    pub(super) allow_lost_workers: bool,
    pub(super) interrupt: Arc<Interrupt>,
    pub(super) outside: Outside,
    pub(super) fleet: Option<Rc<dyn Fleet>>,
}

impl Ended {
    /// Runs `teardown`, closes the record, judges it, and writes the verdict into it.
    pub(super) fn conclude(mut self) -> Result<Conducted, ConductError> {
        self.tear_down()?;
        // The target may have ended with the last of its users.
        let checked = self.check_target();
        // A request to end that ended `setup` is one to end the run.
        self.is_interrupted |= self.has_setup_failed && self.interrupt.is_requested();
        let status = if self.played.is_err() || self.has_failed() {
            RunStatus::Failed
        } else if self.is_interrupted {
            RunStatus::Interrupted
        } else if self.is_aborted {
            RunStatus::Aborted
        } else if self.until_ended_ns.is_some() {
            RunStatus::Until
        } else {
            RunStatus::Complete
        };
        let directory = self.journal.path().to_owned();
        let mut info = self.journal.info().clone();
        info.status = status;
        info.ended_ns = self.ended_ns;
        // The tally takes what ended since then for the drain's, however the run came to its end.
        if let Some(at_ns) = self.until_ended_ns {
            end_load(&mut info, at_ns);
        }
        let probed = self.end_probes();
        let noted = self.note_end().and(probed).and(checked);
        let finished = self.journal.finish(&info, &self.by_worker);
        self.played?;
        noted?;
        let dir = finished?;
        let judge_error = |source| ConductError::Judge { directory: directory.clone(), source };
        let run = Run::open(&directory)?;
        let summary = judge::judge(&run, &self.plan.thresholds, self.allow_lost_workers)
            .map_err(judge_error)?;
        dir.write_summary(&summary)?;
        if let Some(fleet) = &self.fleet {
            fleet.conclude(outcome(summary.verdict));
        }
        Ok(Conducted { directory, info, summary })
    }

    /// Runs `teardown` now that no loop has users any more, unless there is nothing that it could remove.
    fn tear_down(&mut self) -> Result<(), ConductError> {
        self.check_target()?;
        if self.has_setup_failed || self.outside.has_target_ended() {
            return Ok(());
        }
        if let (Some(teardown), Some(own_loop)) = (&self.plan.teardown, self.teardown.take()) {
            let setup = own_loop.setup(&self.plan)?;
            let ended = once::tear_down(&self.plan, teardown, &setup);
            self.journal.event(self.ended_ns, ended)?;
        }
        Ok(())
    }

    fn check_target(&mut self) -> Result<(), RecordError> {
        match self.outside.target_end() {
            Some(what) => {
                let zero_ns = self.outside.zero.monotonic_ns;
                let at_ns = monotonic_ns().saturating_sub(zero_ns);
                self.journal.event(at_ns, what)
            }
            None => Ok(()),
        }
    }

    /// True if a fault kept the run from its planned end.
    fn has_failed(&self) -> bool {
        self.has_setup_failed
            || self.are_workers_lost
            || self.has_memory_run_out
            || self.outside.has_target_ended()
    }

    /// Stops the probes.
    fn end_probes(&mut self) -> Result<(), RecordError> {
        let (events, written) = self.outside.finish_probes();
        for (at_ns, what) in events {
            self.journal.event(at_ns, what)?;
        }
        if let Err(error) = written {
            self.note(format!(
                "not all values of the probes were written: {}",
                with_causes(&error)
            ))?;
        }
        Ok(())
    }

    /// Records what the figures do not show.
    fn note_end(&mut self) -> Result<(), RecordError> {
        for what in std::mem::take(&mut self.clocks) {
            self.journal.event(self.ended_ns, what)?;
        }
        for (at_ns, what) in self.outside.finish_names() {
            self.journal.event(at_ns, what)?;
        }
        for (at_ns, what) in self.outside.of_lab() {
            self.journal.event(at_ns, what)?;
        }
        for what in self.outside.end_lab() {
            self.journal.event(self.ended_ns, what)?;
        }
        for text in self.counts.notes() {
            self.note(text)?;
        }
        if self.are_workers_lost {
            self.note("all workers were lost".to_owned())?;
        }
        if let Err(error) = &self.played {
            let text = with_causes(error);
            self.note(text)?;
        }
        Ok(())
    }

    fn note(&mut self, text: String) -> Result<(), RecordError> {
        let what = EventKind::Note { text };
        self.journal.event(self.ended_ns, what)
    }
}

/// Lets the phase end then that goes on, so that figures are of the time in which there was load, and what follows is the drain.
/// Phases that never began are none of the run.
fn end_load(info: &mut RunInfo, at_ns: u64) {
    info.phases.retain(|phase| phase.start_ns < at_ns);
    if let Some(last) = info.phases.last_mut() {
        last.end_ns = last.end_ns.min(at_ns);
    }
}

/// The word by which a fleet lists a run that is over.
fn outcome(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Measured => "measured",
        Verdict::Passed => "passed",
        Verdict::Failed => "failed",
        Verdict::Untrusted => "untrusted",
    }
}

#[cfg(test)]
mod tests {
    use testkit::runs::sample;

    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;

    #[test]
    fn a_load_that_ends_early_has_the_phases_that_began() {
        let phases = vec![
            sample::phase("ramp", "rate", 0, 30, 3000.0),
            sample::phase("hold", "rate", 30, 60, 3000.0),
        ];
        for (at_s, ends_s) in
            [(10, vec![10]), (30, vec![30]), (45, vec![30, 45]), (70, vec![30, 60])]
        {
            let mut info = RunInfo { phases: phases.clone(), ..sample::info() };
            end_load(&mut info, at_s * SECOND_NS);
            let found: Vec<u64> = info.phases.iter().map(|p| p.end_ns / SECOND_NS).collect();
            assert_eq!(found, ends_s, "{at_s}");
        }
    }
}
