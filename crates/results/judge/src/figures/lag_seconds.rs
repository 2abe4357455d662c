//! The [`Moves`] of a run: of its figures alone, second by second from the latency log, and operation by operation from
//! the rows.
//!
//! Each knows more than the one before and takes longer to read, so each is read only if the one before leaves open
//! whether lag decides a threshold. A second is judged by its rows if all of its operations have one. Late reading is in
//! no row: the log has it for each second.

use std::collections::HashSet;

use plan::Basis;
use record::{Interval, Measurement, Outcome, RecordError, Run};
use stats::hist::LogHistogram;

use super::lag_moves::{Limit, Moves, all_moved, matched};
use super::read::TimeKind;
use super::{Cell, Figures, Population};

/// Most seconds of one threshold that are judged by their rows; the others are judged by their histograms.
const SECONDS_BY_ROW_MAX: usize = 10_000;

/// The times that a threshold is about, and its limit.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LimitedTimes {
    pub(crate) population: Population,
    pub(crate) limit: Limit,
}

/// The own parts in a threshold's times, as far as the record has them.
#[derive(Debug, Clone)]
pub(crate) struct KnownMoves {
    times: LimitedTimes,
    pub(crate) moves: Moves,
    /// True if rows show the own part of each operation that is moved.
    pub(crate) is_by_row: bool,
}

/// The moves of a threshold's operations by second.
#[derive(Debug)]
pub(crate) struct MovesBySecond {
    times: LimitedTimes,
    /// Seconds with moves, by measure and start.
    seconds: Vec<Second>,
    /// Moves of seconds beyond [`SECONDS_BY_ROW_MAX`].
    others: Moves,
}

/// The operations of one measure that ended in one interval of the log.
#[derive(Debug)]
struct Second {
    measure: usize,
    start_ns: u64,
    end_ns: u64,
    /// The moves as far as histograms know.
    moves: Moves,
    /// Operations that succeeded, and those that were answered with a failure.
    counts: [u64; 2],
    /// The longest lag of operations that succeeded.
    lag_max_ns: u64,
    /// The longest lag of all operations.
    lag_max_of_all_ns: u64,
    late: LogHistogram,
    rows: Rows,
}

/// The operations of a second by their rows.
#[derive(Debug, Default)]
struct Rows {
    /// As in [`Second`].
    counts: [u64; 2],
    is_sampled: bool,
    /// Operations that are moved by their own lag.
    moves: Moves,
    /// Operations that succeeded and are above the limit even without their lag.
    above: LogHistogram,
}

/// The lines of the latency log of one measure and interval, while it is read.
struct Lines {
    measure: usize,
    start_ns: u64,
    len_ns: u64,
    cell: Cell,
}

impl Figures {
    /// The moves by all times and own parts of the run, or of a phase of it, whenever they were.
    pub(crate) fn moves_of_run(&self, times: &LimitedTimes) -> Moves {
        let LimitedTimes { population: Population { phase, measures, basis }, limit } = times;
        let rows = self.series.iter();
        let rows = rows.filter(|row| phase.is_none_or(|phase| row.phase as usize == phase));
        let lag_max_ns = rows.map(|row| row.lag_max_ns).max().unwrap_or(0);
        let mut moves = Moves::default();
        for &measure in measures {
            let cell = self.cell(*phase, measure);
            moves.merge(&self.moves_of(measure, &cell, *basis, lag_max_ns, *limit));
        }
        moves
    }

    /// The moves that the record knows of, if it was read for them.
    pub(crate) fn known_moves(&self, times: &LimitedTimes) -> Option<&KnownMoves> {
        self.lag_moves.iter().find(|known| known.times == *times)
    }

    /// Reads the latency log for the moves by the times and own parts of each second.
    ///
    /// # Errors
    /// The latency log cannot be read.
    pub(crate) fn moves_by_second(
        &self,
        run: &Run,
        all: impl Iterator<Item = LimitedTimes>,
    ) -> Result<Vec<MovesBySecond>, RecordError> {
        let mut found: Vec<MovesBySecond> = all
            .map(|times| MovesBySecond { times, seconds: Vec::new(), others: Moves::default() })
            .collect();
        let measures = found.iter().flat_map(|one| one.times.population.measures.iter().copied());
        let measures: HashSet<usize> = measures.collect();
        let tags = self.tags();
        let wanted = |name: &str| {
            let tag = tags.get(name).filter(|tag| measures.contains(&tag.measure));
            tag.is_some_and(|tag| tag.kind != TimeKind::Unanswered)
        };
        // The lines of one measure and interval follow each other.
        let mut open: Option<Lines> = None;
        run.intervals_of(wanted, |interval: Interval| {
            let Some(tag) = tags.get(&interval.tag) else {
                return;
            };
            let place = (tag.measure, interval.start_ns);
            if let Some(lines) = open.take_if(|lines| (lines.measure, lines.start_ns) != place) {
                self.close(&lines, &mut found);
            }
            let lines = open.get_or_insert_with(|| Lines {
                measure: tag.measure,
                start_ns: interval.start_ns,
                len_ns: interval.len_ns,
                cell: Cell::default(),
            });
            tag.kind.of(&mut lines.cell).merge(&interval.hist);
        })?;
        if let Some(lines) = open {
            self.close(&lines, &mut found);
        }
        Ok(found)
    }

    /// Reads the rows for the moves that seconds leave open.
    pub(crate) fn moves_by_row(&self, run: &Run, mut all: Vec<MovesBySecond>) -> Vec<KnownMoves> {
        for one in &mut all {
            one.seconds.sort_by_key(Second::place);
        }
        if all.iter().any(|one| one.seconds.iter().any(|second| self.is_request(second.measure))) {
            // Rows that cannot be read are missing in the counts of their seconds.
            let _is_read = run.requests(|batch| {
                for row in batch {
                    all.iter_mut().for_each(|one| one.add(row));
                }
            });
        }
        all.into_iter().map(|one| self.by_row(one)).collect()
    }

    /// The moves of one measure's operations. `lag_max_ns`: the longest lag of all operations in that time.
    fn moves_of(
        &self,
        measure: usize,
        cell: &Cell,
        basis: Basis,
        lag_max_ns: u64,
        limit: Limit,
    ) -> Moves {
        let (times, own) = match basis {
            Basis::Service => (&cell.service, cell.late.clone()),
            Basis::Response | Basis::Succeeded | Basis::Lag => {
                // The own part of an answer that was read late includes its lag.
                let mut own = cell.lag.clone();
                own.merge(&cell.late);
                (&cell.response, own)
            }
        };
        let mut moves = matched(times, &own, limit);
        if basis == Basis::Response && self.is_request(measure) {
            // The lags of failures are among those of all operations.
            let own_ns = lag_max_ns.saturating_add(cell.late.max());
            moves.merge(&all_moved(&cell.failed_response, own_ns, limit));
        }
        moves
    }

    /// Adds one measure's operations of one interval to the times that they are among.
    fn close(&self, lines: &Lines, found: &mut [MovesBySecond]) {
        let Lines { measure, start_ns, len_ns, ref cell } = *lines;
        let phase = self.phase_at(start_ns);
        let lag_max_of_all_ns = self.lag_max_ns(start_ns);
        for one in found {
            let LimitedTimes { population, limit } = &one.times;
            if !population.measures.contains(&measure)
                || population.phase.is_some_and(|own| own != phase)
            {
                continue;
            }
            let moves = self.moves_of(measure, cell, population.basis, lag_max_of_all_ns, *limit);
            if moves.is_empty() {
                continue;
            }
            if one.seconds.len() >= SECONDS_BY_ROW_MAX {
                one.others.merge(&moves);
                continue;
            }
            one.seconds.push(Second {
                measure,
                start_ns,
                end_ns: start_ns.saturating_add(len_ns),
                moves,
                counts: [cell.response.count(), cell.failed_response.count()],
                lag_max_ns: cell.lag.max(),
                lag_max_of_all_ns,
                late: cell.late.clone(),
                rows: Rows::default(),
            });
        }
    }

    /// The longest lag of all operations in the interval that begins then, or in the run if the series has no such
    /// interval.
    fn lag_max_ns(&self, start_ns: u64) -> u64 {
        let place = self.series.partition_point(|row| row.start_ns < start_ns);
        let row = self.series.get(place).filter(|row| row.start_ns == start_ns);
        row.map_or_else(|| self.peak(|row| row.lag_max_ns), |row| row.lag_max_ns)
    }

    fn by_row(&self, one: MovesBySecond) -> KnownMoves {
        let mut is_by_row = one.others.is_empty();
        let mut moves = one.others;
        for second in &one.seconds {
            let is_complete =
                self.is_request(second.measure) && second.counts == second.rows.counts;
            if !is_complete || second.rows.is_sampled {
                moves.merge(&second.moves);
                is_by_row = false;
                continue;
            }
            moves.merge(&second.rows.moves);
            let late = matched(&second.rows.above, &second.late, one.times.limit);
            is_by_row &= late.is_empty();
            moves.merge(&late);
        }
        KnownMoves { times: one.times, moves, is_by_row }
    }
}

impl MovesBySecond {
    /// The moves as far as histograms know.
    pub(crate) fn moves(&self) -> Moves {
        let mut moves = self.others.clone();
        self.seconds.iter().for_each(|second| moves.merge(&second.moves));
        moves
    }

    /// The moves without a look at the rows.
    pub(crate) fn without_rows(self) -> KnownMoves {
        KnownMoves { moves: self.moves(), times: self.times, is_by_row: false }
    }

    fn add(&mut self, row: &Measurement) {
        let place = (usize::from(row.measure), row.done_ns);
        let after = self.seconds.partition_point(|second| second.place() <= place);
        let second = after.checked_sub(1).and_then(|at| self.seconds.get_mut(at));
        let second = second.filter(|second| second.measure == place.0 && place.1 < second.end_ns);
        if let Some(second) = second {
            second.add(row, self.times.population.basis, self.times.limit);
        }
    }
}

impl Second {
    fn place(&self) -> (usize, u64) {
        (self.measure, self.start_ns)
    }

    /// Adds an operation that ended in it. A paced step is late only from when its user was free, which is in the
    /// histograms of lags alone: so no lag is longer than the longest there.
    fn add(&mut self, row: &Measurement, basis: Basis, limit: Limit) {
        let succeeded = row.outcome == Outcome::Ok;
        if !succeeded && !row.outcome.is_answered_failure() {
            return;
        }
        self.rows.counts[usize::from(!succeeded)] += 1;
        self.rows.is_sampled |= row.weight != 1;
        let (time_ns, own_ns) = match basis {
            Basis::Service => (row.service_ns(), 0),
            Basis::Response | Basis::Succeeded | Basis::Lag if succeeded => {
                (row.response_ns(), row.lag_ns().min(self.lag_max_ns))
            }
            // How late the answer was read is known of those that succeeded.
            Basis::Response | Basis::Succeeded | Basis::Lag => {
                let lag_ns = row.lag_ns().min(self.lag_max_of_all_ns);
                (row.response_ns(), lag_ns.saturating_add(self.late.max()))
            }
        };
        if !succeeded && basis != Basis::Response {
            return;
        }
        if limit.is_moved_by(time_ns, own_ns) {
            self.rows.moves.add(time_ns, own_ns, 1);
        } else if succeeded && limit.is_above(time_ns) {
            self.rows.above.record(time_ns);
        }
    }
}
