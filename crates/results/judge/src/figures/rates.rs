//! The rates of what was offered, begun and completed, each over the time in which it happened.

use record::Outcome;

use super::Figures;

/// Operations that the target answered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct CompletionCounts {
    pub(crate) succeeded: u64,
    pub(crate) failed: u64,
}

impl CompletionCounts {
    /// Operations that were answered with success or with a failure.
    pub(crate) fn total(self) -> u64 {
        self.succeeded + self.failed
    }

    /// Adds operations by the name of their outcome.
    pub(super) fn count(&mut self, outcome: &str, operations: u64) {
        match Outcome::from_name(outcome) {
            Some(Outcome::Ok) => self.succeeded += operations,
            Some(outcome) if outcome.is_answered_failure() => self.failed += operations,
            _ => {}
        }
    }

    /// The operations without these others, at least 0.
    fn without(self, others: CompletionCounts) -> CompletionCounts {
        CompletionCounts {
            succeeded: self.succeeded.saturating_sub(others.succeeded),
            failed: self.failed.saturating_sub(others.failed),
        }
    }
}

impl std::iter::Sum for CompletionCounts {
    fn sum<I: Iterator<Item = CompletionCounts>>(all: I) -> CompletionCounts {
        all.fold(CompletionCounts::default(), |sum, one| CompletionCounts {
            succeeded: sum.succeeded + one.succeeded,
            failed: sum.failed + one.failed,
        })
    }
}

impl Figures {
    /// The seconds that a phase, or all of them, ran: the planned time as far as the run got, without the drain, in
    /// which only sessions that are there go on.
    pub fn seconds(&self, phase: Option<usize>) -> f64 {
        let (start_ns, end_ns) = match phase.map(|p| self.info.phases.get(p)) {
            Some(Some(phase)) => (phase.start_ns, phase.end_ns),
            _ if self.info.phases.is_empty() => (0, self.ended_ns()),
            // A run that `until` has ended may not have come to it.
            Some(None) => (0, 0),
            None => (0, self.planned_end_ns()),
        };
        end_ns.min(self.ended_ns()).saturating_sub(start_ns) as f64 / 1e9
    }

    /// Operations of a measure that the target answered within a phase, or while load was planned: without those that it
    /// answered in the drain.
    pub(crate) fn completed(&self, phase: Option<usize>, measure: usize) -> CompletionCounts {
        let answered = self.cell(phase, measure).answered();
        answered.without(self.completed_in_drain(phase, measure))
    }

    /// Operations of a measure that the target answered in the drain, which belongs to the last phase.
    pub(crate) fn completed_in_drain(
        &self,
        phase: Option<usize>,
        measure: usize,
    ) -> CompletionCounts {
        let is_last = phase.is_none_or(|phase| phase + 1 == self.info.phases.len());
        let drained = self.drained.get(measure).filter(|_| is_last);
        drained.copied().unwrap_or_default()
    }

    /// Adds operations of a measure that ended in the drain, by the name of their outcome.
    pub(crate) fn add_drained(&mut self, measure: usize, outcome: &str, operations: u64) {
        let length = self.drained.len().max(measure + 1);
        self.drained.resize(length, CompletionCounts::default());
        self.drained[measure].count(outcome, operations);
    }

    /// Operations of a measure that began in a phase, in the last one with the drain, or over the run; of those that
    /// ended, if the record does not say.
    pub(crate) fn begun_of(&self, phase: Option<usize>, measure: usize) -> u64 {
        let known = match phase {
            Some(phase) => self.begun_between(phase..self.rows_of(phase), measure),
            None => self.begun.get(measure).copied(),
        };
        known.unwrap_or_else(|| self.cell(phase, measure).ended())
    }

    /// Operations of measures that began while load was planned, by second of that time; `None` if the record does not
    /// say.
    pub(crate) fn begun_per_s(&self, phase: Option<usize>, measures: &[usize]) -> Option<f64> {
        let phases = match phase {
            Some(phase) => phase..phase + 1,
            None => 0..self.cells.len(),
        };
        self.per_s(phase, self.begun_between_all(phases, measures)?)
    }

    /// Operations of measures that were due while load was planned, by second of that time; `None` if the record does not
    /// say. What users came to in the drain was not offered while there was load.
    pub(crate) fn offered_per_s(&self, measures: &[usize]) -> Option<f64> {
        let begun = self.begun_between_all(0..self.cells.len(), measures)?;
        let never_begun: u64 = self.never_begun_of(measures).values().sum();
        self.per_s(None, begun + never_begun)
    }

    fn per_s(&self, phase: Option<usize>, count: u64) -> Option<f64> {
        let seconds = self.seconds(phase);
        (seconds > 0.0).then(|| count as f64 / seconds)
    }

    /// The end of the rows of `begun_in` that belong to a phase.
    fn rows_of(&self, phase: usize) -> usize {
        match phase + 1 == self.cells.len() {
            true => phase + 2,
            false => phase + 1,
        }
    }

    fn begun_between(&self, rows: std::ops::Range<usize>, measure: usize) -> Option<u64> {
        let rows = self.begun_in.get(rows)?;
        Some(rows.iter().filter_map(|row| row.get(measure)).sum())
    }

    fn begun_between_all(&self, rows: std::ops::Range<usize>, measures: &[usize]) -> Option<u64> {
        let all = measures.iter();
        all.map(|&measure| self.begun_between(rows.clone(), measure)).sum()
    }

    /// Sets how many operations of a measure began in a phase, the drain being that after the last one.
    pub fn add_begun(&mut self, phase: usize, measure: usize, begun: u64) {
        if self.begun_in.is_empty() {
            let row = vec![0; self.info.measures.len()];
            self.begun_in = vec![row; self.cells.len() + 1];
        }
        let row = self.begun_in.get_mut(phase);
        if let Some(count) = row.and_then(|row| row.get_mut(measure)) {
            *count += begun;
        }
    }

    /// The time, in nanoseconds, of the seconds in which the 98th percentile of all requests that ended was above a
    /// limit, or in which none ended although one had waited for longer than that; `None` if the record does not say.
    pub(crate) fn behind_ns(&self, limit_ns: u64) -> Option<f64> {
        let seconds = self.p98.len().max(self.waited_ns.len());
        let is_behind = |second: &usize| match self.p98.get(*second).copied().flatten() {
            Some(p98) => p98 > limit_ns,
            None => self.waited_ns.get(*second).is_some_and(|&ns| ns > limit_ns),
        };
        let behind = (0..seconds).filter(is_behind).count();
        (!self.p98.is_empty()).then_some(behind as f64 * 1e9)
    }
}
