//! When the operations of a run began and ended.

use crate::samples::results::ToolOperation;

/// The times of an operation, since the run's start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) start_ns: u64,
    pub(super) done_ns: u64,
}

/// Operations, and their order by their ends. If it is not known when they started, each begins a slot of its own, all of
/// which are as long as the longest operation.
pub(super) struct Timeline<'a> {
    operations: &'a [ToolOperation],
    /// The start of the first; `None` if starts are not known.
    first_ns: Option<u64>,
    slot_ns: u64,
    /// Places of the operations, by their ends. There are no more than [`SAMPLES_MAX`](crate::samples::SAMPLES_MAX).
    order: Vec<u32>,
}

impl Timeline<'_> {
    pub(super) fn of(operations: &[ToolOperation], has_starts: bool) -> Timeline<'_> {
        let first_ns = operations.iter().map(|operation| operation.start_ns).min();
        let longest = operations.iter().map(|operation| operation.time_ns).max().unwrap_or(0);
        let slot_ns = longest.saturating_add(1);
        let mut timeline = Timeline {
            operations,
            first_ns: first_ns.filter(|_| has_starts),
            slot_ns: slot_ns.min(i64::MAX as u64 / (operations.len() as u64 + 1)),
            order: Vec::new(),
        };
        let mut order: Vec<u32> = (0..operations.len() as u32).collect();
        order.sort_by_key(|&place| timeline.span(place).done_ns);
        timeline.order = order;
        timeline
    }

    pub(super) fn operations(&self) -> &[ToolOperation] {
        self.operations
    }

    pub(super) fn operation(&self, place: u32) -> &ToolOperation {
        &self.operations[place as usize]
    }

    pub(super) fn span(&self, place: u32) -> Span {
        let operation = self.operation(place);
        let start_ns = match self.first_ns {
            Some(first_ns) => operation.start_ns - first_ns,
            None => u64::from(place) * self.slot_ns,
        };
        Span { start_ns, done_ns: start_ns.saturating_add(operation.time_ns) }
    }

    /// Places of the operations, by their ends.
    pub(super) fn order(&self) -> &[u32] {
        &self.order
    }

    pub(super) fn first_ns(&self) -> Option<u64> {
        self.first_ns
    }

    /// The end of the last; 1 at least, since a run has a length.
    pub(super) fn ended_ns(&self) -> u64 {
        self.order.last().map_or(1, |&last| self.span(last).done_ns.max(1))
    }
}
