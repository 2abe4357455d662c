//! A run by the second, the input of all parts of the analysis.

use std::collections::HashMap;
use std::ops::Range;

use record::operations::is_of_step;
use record::schema::{RunInfo, SeriesRow};
use record::{Measurement, Outcome, RecordError, Run};

/// A shorter interval, cut off where a phase ends, is counted to the one before it.
const SLOT_NS_MIN: u64 = 500_000_000;
/// Beyond this many users, their pauses are not followed: it would take gigabytes.
const USERS_MAX: usize = 5_000_000;

/// One interval of the record, mostly a second.
#[derive(Debug, Clone, Default)]
pub(super) struct Slot {
    pub(super) start_ns: u64,
    pub(super) end_ns: u64,
    /// The row of the record; gauges are those at its end.
    pub(super) row: SeriesRow,
    /// Requests and handshakes that were due, that ended, and that failed.
    pub(super) due: u64,
    pub(super) ended: u64,
    pub(super) failed: u64,
    /// Time of requests and handshakes in flight, summed over them: done − sent of those that ended.
    pub(super) service_ns: u64,
    /// Time of users spent within requests and handshakes, and between two of them.
    pub(super) busy_ns: u64,
    pub(super) pause_ns: u64,
}

impl Slot {
    pub(super) fn seconds(&self) -> f64 {
        (self.end_ns - self.start_ns) as f64 / 1e9
    }
}

/// A measure's operations that succeeded in one slot.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cell {
    pub(super) count: u64,
    /// Sum of their response times, in nanoseconds.
    pub(super) sum: f64,
    pub(super) failed: u64,
}

impl Cell {
    /// Mean response in nanoseconds; `None` where none succeeded.
    pub(super) fn mean_ns(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }
}

/// The part of a run that is analysed.
#[derive(Debug, Clone)]
pub(super) struct Seconds {
    pub(super) info: RunInfo,
    /// The slots in order, without gaps.
    pub(super) slots: Vec<Slot>,
    /// The cells by measure, then by slot.
    pub(super) cells: Vec<Vec<Cell>>,
    /// The extent to which the record has rows of single operations.
    pub(super) rows: Rows,
    /// Requests and handshakes that were sent while their user's last one was in flight.
    pub(super) overlapping: u64,
}

/// The rows of `requests.parquet` that the record has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rows {
    Missing,
    /// Some of the rows: pauses between the operations of a user are not known.
    Sampled,
    All,
}

impl Seconds {
    pub(super) fn start_ns(&self) -> u64 {
        self.slots.first().map_or(0, |slot| slot.start_ns)
    }

    pub(super) fn end_ns(&self) -> u64 {
        self.slots.last().map_or(0, |slot| slot.end_ns)
    }

    /// The slots that begin when `cut_ns` of the whole has passed, or later.
    pub(super) fn from(&self, cut_ns: u64) -> Range<usize> {
        let from_ns = self.start_ns().saturating_add(cut_ns);
        let first = self.slots.partition_point(|slot| slot.start_ns < from_ns);
        first..self.slots.len()
    }

    /// The slot of a moment.
    pub(super) fn at(&self, at_ns: u64) -> Option<usize> {
        let after = self.slots.partition_point(|slot| slot.start_ns <= at_ns);
        let found = after.checked_sub(1)?;
        (at_ns < self.slots[found].end_ns).then_some(found)
    }

    /// True if the operations of the measure are those of steps.
    pub(super) fn is_main(&self, measure: usize) -> bool {
        let found = self.info.measures.get(measure);
        found.is_some_and(|measure| is_of_step(&measure.kind))
    }

    /// Adds the time from one moment to another to the slots it falls into.
    fn spread(&mut self, from_ns: u64, to_ns: u64, weight: u64, part: fn(&mut Slot) -> &mut u64) {
        let after = self.slots.partition_point(|slot| slot.end_ns <= from_ns);
        for slot in &mut self.slots[after..] {
            if slot.start_ns >= to_ns {
                break;
            }
            let time_ns = slot.end_ns.min(to_ns) - slot.start_ns.max(from_ns);
            *part(slot) += time_ns * weight;
        }
    }
}

/// Reads the part of a run between two moments.
pub(super) fn read(run: &Run, start_ns: u64, end_ns: u64) -> Result<Seconds, RecordError> {
    let info = run.info().clone();
    let slots = slots(run.series()?, start_ns, end_ns);
    let cells = vec![vec![Cell::default(); slots.len()]; info.measures.len()];
    let mut seconds = Seconds { info, slots, cells, rows: Rows::Missing, overlapping: 0 };
    let places = places(&seconds.info);
    run.intervals(|interval| {
        if let (Some(&measure), Some(slot)) =
            (places.get(&interval.tag), seconds.at(interval.start_ns))
        {
            let cell = &mut seconds.cells[measure][slot];
            cell.count += interval.hist.count();
            cell.sum += interval.hist.sum() as f64;
        }
    })?;
    let mut last_done = HashMap::new();
    run.requests(|batch| {
        for row in batch {
            take(&mut seconds, row, &mut last_done);
        }
    })?;
    Ok(seconds)
}

/// Measures by their tag in the latency log. Checks, steps that failed of themselves and values are no operations, and may
/// have the name of a measure that counts some.
pub(super) fn places(info: &RunInfo) -> HashMap<String, usize> {
    let measures = info.measures.iter().enumerate();
    measures
        .filter(|(_, measure)| !matches!(measure.kind.as_str(), "check" | "value" | "step"))
        .map(|(number, measure)| (measure.name.clone(), number))
        .collect()
}

/// The intervals between two moments; short ones are joined to their neighbour.
fn slots(rows: Vec<SeriesRow>, start_ns: u64, end_ns: u64) -> Vec<Slot> {
    let mut slots: Vec<Slot> = Vec::new();
    for row in rows {
        let inside = row.start_ns >= start_ns && row.start_ns < end_ns;
        // Damaged rows that overlap or go back are excluded.
        let follows = slots.last().is_none_or(|last| row.start_ns >= last.end_ns);
        if !inside || !follows || row.end_ns <= row.start_ns {
            continue;
        }
        let is_short = |slot: &Slot| slot.end_ns - slot.start_ns < SLOT_NS_MIN;
        match slots.last_mut() {
            Some(last) if row.end_ns - row.start_ns < SLOT_NS_MIN || is_short(last) => {
                join(last, &row);
            }
            _ => slots.push(Slot {
                start_ns: row.start_ns,
                end_ns: row.end_ns.min(end_ns),
                row,
                ..Slot::default()
            }),
        }
    }
    slots
}

/// Adds an interval to the one before: what the analysis uses of its counts, and its gauges.
fn join(slot: &mut Slot, row: &SeriesRow) {
    slot.end_ns = row.end_ns;
    let cpu_loops_ns = slot.row.cpu_loops_ns + row.cpu_loops_ns;
    slot.row = SeriesRow { cpu_loops_ns, ..row.clone() };
}

/// Counts a row. `last_done` holds the end of each user's last operation.
fn take(seconds: &mut Seconds, row: &Measurement, last_done: &mut HashMap<u64, u64>) {
    let measure = usize::from(row.measure);
    let weight = u64::from(row.weight);
    match seconds.rows {
        _ if weight != 1 => seconds.rows = Rows::Sampled,
        Rows::Missing => seconds.rows = Rows::All,
        Rows::Sampled | Rows::All => {}
    }
    let done = seconds.at(row.done_ns);
    let failed = row.outcome.is_error();
    if let Some(slot) = done.filter(|_| failed) {
        seconds.cells[measure][slot].failed += weight;
    }
    if !seconds.is_main(measure) {
        return;
    }
    if let Some(slot) = seconds.at(row.due_ns) {
        seconds.slots[slot].due += weight;
    }
    if let Some(slot) = done.filter(|_| row.outcome != Outcome::Unfinished) {
        let slot = &mut seconds.slots[slot];
        slot.ended += weight;
        slot.failed += if failed { weight } else { 0 };
        slot.service_ns += row.service_ns() * weight;
    }
    seconds.spread(row.sent_ns, row.done_ns, weight, |slot| &mut slot.busy_ns);
    if last_done.len() < USERS_MAX || last_done.contains_key(&row.user) {
        let before = last_done.insert(row.user, row.done_ns);
        seconds.overlapping += u64::from(before.is_some_and(|done_ns| row.sent_ns < done_ns));
        if let Some(before_ns) = before.filter(|&before_ns| before_ns < row.sent_ns) {
            seconds.spread(before_ns, row.sent_ns, weight, |slot| &mut slot.pause_ns);
        }
    }
}
