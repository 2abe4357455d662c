//! How the operations of a run hang together in time, and so few of them that they do not.
//!
//! Tests of samples take operations for independent. A queue makes each resemble those before it;
//! then many say no more than few, and p-values are too small.

use stats::sample::Sample;
use stats::serial::effective;

use super::Serial;
use super::read::RunMeasure;

/// Operations that say more than this share of what independent ones would are left as they are.
const INDEPENDENT_MIN: f64 = 0.8;
/// Operations that are looked at, from the middle of the run: how far they are serially correlated shows
/// in a quarter of a million.
const STRETCH_MAX: usize = 1 << 18;

/// Serial correlation of each run's operations, by their order in time; `None` if that is not
/// known.
pub(crate) fn of_runs(of_runs: &[&RunMeasure]) -> Option<Vec<(Serial, Option<Sample>)>> {
    of_runs.iter().map(|measured| measured.in_order().map(|times| of_run(&times))).collect()
}

fn of_run(times: &[f64]) -> (Serial, Option<Sample>) {
    let count = times.len() as f64;
    let skipped = times.len().saturating_sub(STRETCH_MAX) / 2;
    let stretch = &times[skipped..times.len() - skipped];
    // Times that are all the same depend on nothing.
    let effective = effective(stretch).map_or(count, |found| count / found.span);
    let serial = Serial { count: times.len() as u64, effective };
    if effective >= INDEPENDENT_MIN * count {
        return (serial, None);
    }
    let step = (count / effective).ceil().max(1.0) as usize;
    let few: Vec<f64> = times.iter().copied().step_by(step).collect();
    (serial, Sample::new(few).ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::rng::{Purpose, Rng};

    /// Numbers of which each keeps `kept` of the one before.
    fn series(kept: f64) -> Vec<f64> {
        let mut rng = Rng::new(1, 0, Purpose::Value);
        let mut last = 0.0;
        let numbers = std::iter::repeat_with(|| {
            last = kept * last + rng.unit();
            last
        });
        numbers.take(4000).collect()
    }

    #[test]
    fn dependent_operations_are_thinned() {
        let (serial, few) = of_run(&series(0.0));
        assert!(serial.effective > 3300.0 && few.is_none(), "{serial:?}");
        // Of an autoregression, (1 − 0.9) / (1 + 0.9) of them are independent: 210.
        let (serial, few) = of_run(&series(0.9));
        assert!((150.0..300.0).contains(&serial.effective), "{serial:?}");
        let few = few.unwrap().count();
        assert!(few as f64 <= serial.effective + 1.0 && few > 100, "{few}");
    }

    #[test]
    fn operations_that_are_all_alike_are_taken_as_they_are() {
        let (serial, few) = of_run(&[5.0; 100]);
        assert_eq!((serial.effective, few), (100.0, None));
    }
}
