//! Stalls that come back after the same time.
//!
//! A stall is a slot, or some in a row, whose answers took far longer than those of the others. Stalls are periodic if
//! the distances between them are alike. The scan for single windows would find no end of them, and none if there are
//! more than it takes out.

use record::schema::{Finding, Severity};
use stats::order::median;
use stats::scan::Level;
use units::clock;

use super::steps::Series;
use crate::finding::finding;
use crate::limits::{INCIDENT_RESPONSE_TIMES, STALLS_MIN, STALLS_SCATTER_MAX};

/// Levels so many median deviations above the median are stalls.
const DEVIATIONS: f64 = 6.0;
/// Share of the distances that are one period. The others are two, of which a stall between was too short to be seen.
const SINGLE_MIN: f64 = 0.75;
/// A shorter period, in slots, is that of any slots.
const PERIOD_MIN: f64 = 2.0;
/// Share of a period that stalls are shorter than.
const LENGTH_MAX: f64 = 0.5;

/// Stalls of a step that come back after the same time.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PeriodicStall {
    pub(crate) step: String,
    period_s: f64,
    stalls: usize,
    first_ns: u64,
    /// The geometric means of the response times in stalls, and in other slots.
    slow_ns: f64,
    usual_ns: f64,
}

/// One stall: its place in slots, weighed by how much slower each was, and its length.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Stall {
    place: f64,
    first: usize,
    slots: usize,
}

/// The periodic stalls of a step; `None`: it has none.
pub(super) fn of(series: &Series) -> Option<PeriodicStall> {
    let levels = &series.unexplained;
    let usual = levels.iter().filter(|level| level.weight > 0.0);
    let values: Vec<f64> = usual.map(|level| level.value).collect();
    let middle = median(&values)?;
    let distances: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
    let least = INCIDENT_RESPONSE_TIMES.ln().max(DEVIATIONS * median(&distances)?);
    let height = |level: &Level| match level.weight > 0.0 && level.value - middle >= least {
        true => level.value - middle,
        false => 0.0,
    };
    let heights: Vec<f64> = levels.iter().map(height).collect();
    let stalls = stalls(&heights);
    let period = period(&stalls)?;
    let mean = |is_stall: bool| {
        let own = series
            .responses
            .iter()
            .zip(&heights)
            .filter(|(_, height)| (**height > 0.0) == is_stall);
        let (sum, weight) = own.fold((0.0, 0.0), |(sum, weight), (level, _)| {
            (sum + level.weight * level.value, weight + level.weight)
        });
        (sum / f64::max(weight, 1.0)).exp()
    };
    Some(PeriodicStall {
        step: series.step.clone(),
        period_s: period * series.slot_ns as f64 / 1e9,
        stalls: stalls.len(),
        first_ns: stalls[0].first as u64 * series.slot_ns,
        slow_ns: mean(true),
        usual_ns: mean(false),
    })
}

/// Slots in a row that are higher than none.
fn stalls(heights: &[f64]) -> Vec<Stall> {
    let mut stalls = Vec::new();
    let mut at = 0;
    for part in heights.chunk_by(|a, b| (*a > 0.0) == (*b > 0.0)) {
        if part[0] > 0.0 {
            let sum: f64 = part.iter().sum();
            let moment: f64 =
                part.iter().enumerate().map(|(n, height)| (at + n) as f64 * height).sum();
            stalls.push(Stall { place: moment / sum, first: at, slots: part.len() });
        }
        at += part.len();
    }
    stalls
}

/// The period of stalls, in slots; `None`: their distances differ.
fn period(stalls: &[Stall]) -> Option<f64> {
    if stalls.len() < STALLS_MIN {
        return None;
    }
    let gaps: Vec<f64> = stalls.windows(2).map(|pair| pair[1].place - pair[0].place).collect();
    let usual = median(&gaps)?;
    let periods = |gap: f64| (gap / usual).round().max(1.0);
    // Stalls are known to the slot, at both ends of a distance.
    let scatter = STALLS_SCATTER_MAX * usual + 1.0;
    let single = gaps.iter().filter(|&&gap| periods(gap) == 1.0).count();
    let are_alike = gaps.iter().all(|&gap| {
        let count = periods(gap);
        count <= 2.0 && (gap - count * usual).abs() <= scatter
    });
    let are_short = stalls.iter().all(|stall| stall.slots as f64 <= LENGTH_MAX * usual);
    let is_periodic = are_alike
        && are_short
        && usual > PERIOD_MIN
        && single as f64 >= SINGLE_MIN * gaps.len() as f64;
    let all: f64 = gaps.iter().map(|&gap| periods(gap)).sum();
    is_periodic.then(|| gaps.iter().sum::<f64>() / all)
}

impl PeriodicStall {
    pub(super) fn period_ns(&self) -> u64 {
        (self.period_s * 1e9) as u64
    }

    pub(crate) fn finding(&self) -> Finding {
        let text = format!(
            "{}: stalls every {}, {} from {} on: responses of about {} instead of {}",
            self.step,
            units::span((self.period_s * 1e9) as u64),
            units::counted(self.stalls as u64, "stall"),
            clock(self.first_ns),
            units::duration(self.slow_ns),
            units::duration(self.usual_ns)
        );
        finding(Severity::Warning, "periodic-stall", text)
            .with("period_s", self.period_s)
            .with("stalls", self.stalls as f64)
            .with("first_s", self.first_ns as f64 / 1e9)
            .with("response_ns", self.slow_ns)
            .with("response_usual_ns", self.usual_ns)
            .done()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(places: &[usize]) -> Vec<Stall> {
        let mut heights = vec![0.0; 100];
        places.iter().for_each(|&place| heights[place] = 1.0);
        stalls(&heights)
    }

    #[test]
    fn distances_that_are_alike_are_a_period() {
        assert_eq!(period(&at(&[7, 14, 21, 28, 35, 42])), Some(7.0));
        // One was not seen.
        assert_eq!(period(&at(&[7, 14, 28, 35, 42, 49, 56])), Some(7.0));
        let tenth = period(&at(&[10, 11, 20, 30, 31, 40, 50, 60])).unwrap();
        assert!((tenth - 10.0).abs() < 0.2, "{tenth}");
        assert_eq!(period(&at(&[7, 14, 21, 28])), None);
        assert_eq!(period(&at(&[3, 14, 17, 40, 44, 70])), None);
        assert_eq!(period(&at(&[1, 3, 5, 7, 9, 11, 13])), None, "each may be the next one");
    }
}
