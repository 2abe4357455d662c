//! Operations that are above a limit, and would be within it without the generator's own part of their times: their
//! lag, and the time for which their answers waited to be read.
//!
//! The slowest operations need not be those that were late, so a quantile of lags does not say what a quantile of times
//! would be without them. Where rows show the lag of each operation, that is taken off. Where only histograms of times
//! and own parts are known, an own part belongs to some operation that took at least as long. Of all ways to assign
//! them, the one counts that leaves the fewest operations above the limit: a threshold that lag may decide is not
//! trusted.

use plan::{Basis, Comparison};
use stats::hist::LogHistogram;

use super::Cell;
use crate::limits::{LAG_OF_RESPONSE_MAX, LAG_WARN_NS_MIN};

/// The limit of a threshold on times, to the buckets of histograms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limit {
    /// The least time above the limit. It is the least of its bucket.
    above_ns: u64,
}

impl Limit {
    /// Times at the limit are within it or above, as the comparison says. A figure of a histogram is the greatest time
    /// of its bucket.
    pub(crate) fn new(comparison: Comparison, limit_ns: f64) -> Limit {
        let is_within = |time_ns: u64| match comparison {
            Comparison::Less | Comparison::GreaterEqual => (time_ns as f64) < limit_ns,
            Comparison::LessEqual
            | Comparison::Greater
            | Comparison::Equal
            | Comparison::NotEqual => time_ns as f64 <= limit_ns,
        };
        let mut bucket = LogHistogram::new();
        bucket.record(limit_ns as u64);
        let (lowest_ns, highest_ns, _) = bucket.iter().next().expect("a number was recorded");
        match is_within(highest_ns) {
            true => Limit { above_ns: highest_ns.saturating_add(1) },
            false => Limit { above_ns: lowest_ns },
        }
    }

    pub(super) fn is_above(self, time_ns: u64) -> bool {
        time_ns >= self.above_ns
    }

    /// True if an operation is above the limit and would be within it without this part of its time.
    pub(super) fn is_moved_by(self, time_ns: u64, own_ns: u64) -> bool {
        let needed_ns = self.needed_ns(time_ns).filter(|_| self.is_above(time_ns));
        needed_ns.is_some_and(|needed_ns| own_ns >= needed_ns)
    }

    /// The least own part without which a time is within the limit. A smaller part than is worth a warning is not taken
    /// off: every time has one, and the limit may lie anywhere. `None`: no time is within the limit.
    fn needed_ns(self, time_ns: u64) -> Option<u64> {
        let within_ns = self.above_ns.checked_sub(1)?;
        let substantial_ns = (time_ns as f64 * LAG_OF_RESPONSE_MAX) as u64 + 1;
        let least_ns = substantial_ns.max(LAG_WARN_NS_MIN);
        Some(least_ns.max(time_ns.saturating_sub(within_ns)))
    }
}

/// Operations above a limit that are within it without their own parts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Moves {
    from: LogHistogram,
    /// The same operations without the own parts.
    to: LogHistogram,
}

impl Moves {
    pub(super) fn add(&mut self, time_ns: u64, own_ns: u64, count: u64) {
        self.from.record_n(time_ns, count);
        self.to.record_n(time_ns.saturating_sub(own_ns), count);
    }

    pub(super) fn merge(&mut self, other: &Moves) {
        self.from.merge(&other.from);
        self.to.merge(&other.to);
    }

    /// Number of the operations.
    pub(crate) fn count(&self) -> u64 {
        self.from.count()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.from.is_empty()
    }

    /// The cell with the times of a basis as they are without the own parts.
    pub(crate) fn taken_off(&self, cell: &Cell, basis: Basis) -> Cell {
        let mut without = cell.clone();
        match basis {
            Basis::Response => {
                let mut known = cell.response.clone();
                known.merge(&cell.failed_response);
                without.response = self.moved(&known);
                without.failed_response = LogHistogram::new();
            }
            Basis::Succeeded => without.response = self.moved(&cell.response),
            Basis::Service => without.service = self.moved(&cell.service),
            Basis::Lag => {}
        }
        without
    }

    fn moved(&self, times: &LogHistogram) -> LogHistogram {
        let mut moved = self.to.clone();
        let mut from = self.from.iter().peekable();
        for (lowest_ns, highest_ns, count) in times.iter() {
            while from.next_if(|&(bucket_ns, ..)| bucket_ns < lowest_ns).is_some() {}
            let gone = from.next_if(|&(bucket_ns, ..)| bucket_ns == lowest_ns);
            let gone = gone.map_or(0, |(.., count)| count);
            // As figures have them, so that what stays above the limit is above it.
            moved.record_n(highest_ns.min(times.max()), count.saturating_sub(gone));
        }
        moved
    }
}

/// The most operations of these times that can be moved if each of these own parts belongs to some operation.
///
/// The own parts that move a time are an interval, from what is needed to the time itself. Both ends grow with the
/// time, so the least own part that is left for each time, from the least on, makes the most pairs.
pub(super) fn matched(times: &LogHistogram, own: &LogHistogram, limit: Limit) -> Moves {
    let mut moves = Moves::default();
    let mut parts = own.iter();
    let mut part = parts.next();
    for (lowest_ns, highest_ns, count) in times.iter().filter(|time| limit.is_above(time.0)) {
        let Some(needed_ns) = limit.needed_ns(lowest_ns) else {
            return moves;
        };
        let mut left = count;
        while left > 0 {
            let Some((part_lowest_ns, part_highest_ns, part_count)) = part else {
                return moves;
            };
            let own_ns = part_highest_ns.min(own.max());
            if own_ns < needed_ns || part_count == 0 {
                part = parts.next();
                continue;
            }
            if part_lowest_ns > highest_ns {
                break;
            }
            let pairs = left.min(part_count);
            moves.add(lowest_ns, own_ns, pairs);
            left -= pairs;
            part = Some((part_lowest_ns, part_highest_ns, part_count - pairs));
        }
    }
    moves
}

/// The operations of these times that are moved if each may have an own part of this length.
pub(super) fn all_moved(times: &LogHistogram, own_ns: u64, limit: Limit) -> Moves {
    let mut moves = Moves::default();
    for (time_ns, _, count) in times.iter().filter(|time| limit.is_moved_by(time.0, own_ns)) {
        moves.add(time_ns, own_ns, count);
    }
    moves
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::MS;

    fn hist(times_ms: &[u64]) -> LogHistogram {
        let mut hist = LogHistogram::new();
        times_ms.iter().for_each(|time_ms| hist.record(time_ms * MS));
        hist
    }

    fn below(limit_ms: u64) -> Limit {
        Limit::new(Comparison::Less, (limit_ms * MS) as f64)
    }

    fn pairs(times_ms: &[u64], own_ms: &[u64], limit_ms: u64) -> u64 {
        matched(&hist(times_ms), &hist(own_ms), below(limit_ms)).count()
    }

    #[test]
    fn a_figure_is_above_a_limit_by_its_bucket() {
        for comparison in [Comparison::Less, Comparison::LessEqual] {
            for limit_ns in [0, 7, 2047, 500 * MS, 500 * MS + 12_345] {
                let limit = Limit::new(comparison, limit_ns as f64);
                for time_ns in (limit_ns.saturating_sub(9)..limit_ns + 9).chain([2 * limit_ns]) {
                    let mut hist = LogHistogram::new();
                    hist.record(time_ns);
                    // Its greatest number, which the histogram knows exactly, is another one.
                    hist.record(u64::MAX);
                    let is_above = !comparison.holds(hist.quantile(0.5) as f64, limit_ns as f64);
                    assert_eq!(limit.is_above(time_ns), is_above, "{limit_ns}: {time_ns}");
                }
            }
        }
    }

    #[test]
    fn an_own_part_belongs_to_a_time_that_is_as_long() {
        assert_eq!(pairs(&[600], &[450], 500), 1);
        assert_eq!(pairs(&[450], &[480], 400), 0);
        // Each belongs to one operation.
        assert_eq!(pairs(&[600, 600, 600], &[250, 450], 500), 2);
        // What is too slow without it stays above.
        assert_eq!(pairs(&[1000], &[450], 500), 0);
        // The least that is enough is taken, so that the greater one is left for the slower one.
        assert_eq!(pairs(&[600, 900], &[450, 200], 500), 2);
        assert_eq!(pairs(&[600, 900], &[450], 500), 1);
        // A part that is longer than one time may be another's.
        assert_eq!(pairs(&[600, 900], &[700], 500), 1);
        assert_eq!(pairs(&[600], &[450], 0), 0);
    }

    #[test]
    fn small_own_parts_are_not_taken_off() {
        assert_eq!(pairs(&[1000], &[40], 980), 0);
        assert_eq!(pairs(&[1000], &[60], 980), 1);
        let limit = Limit::new(Comparison::Less, 2e6);
        assert!(!limit.is_moved_by(2_500_000, 900_000));
        assert!(limit.is_moved_by(2_500_000, 1_100_000));
        assert!(!limit.is_moved_by(1_500_000, 1_100_000), "it is within the limit");
    }

    #[test]
    fn times_without_own_parts_are_as_many() {
        let mut cell = Cell::default();
        cell.response.merge(&hist(&[10, 10, 600, 600, 900]));
        cell.failed_response.merge(&hist(&[700]));
        let mut moves = matched(&cell.response, &hist(&[500]), below(500));
        moves.merge(&all_moved(&cell.failed_response, 690 * MS, below(500)));
        let without = moves.taken_off(&cell, Basis::Response).all_responses();
        let about = |q: f64| without.quantile(q).value().div_ceil(MS / 2) / 2;
        assert_eq!((moves.count(), without.count()), (2, 6));
        assert_eq!([0.5, 0.6, 0.7, 0.9].map(about), [10, 100, 600, 900]);
        // Of those that succeeded none is a failure.
        let of_succeeded = moves.taken_off(&cell, Basis::Succeeded);
        assert_eq!(of_succeeded.failed_response, cell.failed_response);
        assert_eq!(moves.taken_off(&cell, Basis::Service).response, cell.response);
    }
}
