//! Sessions as something that is measured: how many ended and how, and how long they took.
//!
//! How many there are is in the seconds of the run. How long they took is in the latency log, if a threshold needed it.

use plan::builtin;
use record::Interval;
use record::schema::SeriesRow;
use stats::hist::LogHistogram;

use super::{Cell, Figures};

/// How long sessions took.
#[derive(Debug, Clone, Default)]
pub(super) struct SessionTimes {
    /// Those that came to the end of their program.
    finished: LogHistogram,
    /// Those that did not: they would have taken at least that long.
    unfinished: LogHistogram,
}

/// Sessions by how they ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct SessionCounts {
    /// Sessions that started.
    pub(crate) started: u64,
    /// Sessions that came to the end of their program.
    pub(crate) finished: u64,
    /// Sessions that a failure ended, of the target or of the generator.
    pub(crate) failed: u64,
}

impl SessionCounts {
    fn of<'a>(rows: impl Iterator<Item = &'a SeriesRow>) -> SessionCounts {
        rows.fold(SessionCounts::default(), |sum, row| SessionCounts {
            started: sum.started + row.users_started,
            finished: sum.finished + row.users_finished,
            failed: sum.failed + row.users_failed + row.users_stopped,
        })
    }

    /// Sessions that ended. One that was cut off did not: nothing is known of its end.
    pub(crate) fn ended(&self) -> u64 {
        self.finished + self.failed
    }
}

impl Figures {
    /// The sessions of a phase, or of the complete run.
    pub(crate) fn sessions(&self, phase: Option<usize>) -> SessionCounts {
        match phase {
            Some(phase) => SessionCounts::of(self.rows(phase)),
            None => SessionCounts::of(self.series.iter()),
        }
    }

    /// Those of them that started or ended while load was planned: the drain belongs to no time of a phase.
    pub(crate) fn sessions_of_load(&self, phase: Option<usize>) -> SessionCounts {
        let end_ns = self.planned_end_ns();
        let is_wanted = |row: &&SeriesRow| {
            row.start_ns < end_ns && phase.is_none_or(|phase| row.phase as usize == phase)
        };
        SessionCounts::of(self.series.iter().filter(is_wanted))
    }

    /// Users that fell due, and sessions that began again: all sessions that were due.
    pub(crate) fn sessions_due(&self) -> u64 {
        self.total(|row| row.users_fell_due + row.users_repeated)
    }

    /// How long the sessions took that ended in a phase, or in the run, as of a measure.
    pub(crate) fn session_cell(&self, phase: Option<usize>) -> Cell {
        let mut cell = Cell::default();
        let all = self.session_times.iter().enumerate();
        for (_, times) in all.filter(|(of, _)| phase.is_none_or(|phase| phase == *of)) {
            cell.response.merge(&times.finished);
            cell.unanswered.merge(&times.unfinished);
        }
        cell
    }

    /// Adds an interval of the latency log, if it is of sessions. No measure has its name.
    pub(super) fn add_session_interval(&mut self, interval: &Interval) {
        let is_finished = match interval.tag.strip_prefix(builtin::SESSIONS_NAME) {
            Some("") => true,
            Some(".censored") => false,
            _ => return,
        };
        let phase = self.phase_at(interval.start_ns);
        let nothing = LogHistogram::new();
        match is_finished {
            true => self.add_session_times(phase, &interval.hist, &nothing),
            false => self.add_session_times(phase, &nothing, &interval.hist),
        }
    }

    /// Adds how long sessions took that ended in a phase: those that finished, and the others.
    pub(crate) fn add_session_times(
        &mut self,
        phase: usize,
        finished: &LogHistogram,
        unfinished: &LogHistogram,
    ) {
        if let Some(times) = self.session_times.get_mut(phase) {
            times.finished.merge(finished);
            times.unfinished.merge(unfinished);
        }
    }
}
