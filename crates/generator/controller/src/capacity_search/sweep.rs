//! Which value a sweep tries next. A pure function of the trials so far, as for a search.
//!
//! Each repetition is a block of all values, in an order of its own that follows from the seed: what changes slowly
//! meets all values alike. A run that could not be trusted is repeated once. After a run that got nothing, the value
//! that was last answered is tried again, which shows whether the target is down.

use compare::capacity::search::Next;
use compare::capacity::{Ending, Outcome, Trial};
use compare::sweep::{Sweep, answered, got_nothing};
use stats::rng::{Purpose, Rng};

/// Runs of a value in each block, the repetition of an untrusted one included.
const TRIES: usize = 2;
/// This number of runs that got nothing, with none that got something, ends a sweep.
const SILENT_MAX: usize = 3;

/// Decides from the trials so far.
pub(super) fn next(sweep: &Sweep, trials: &[Trial]) -> Next {
    if answered(trials).len() < trials.len() {
        return Next::End(Ending::Down);
    }
    if trials.last().is_some_and(got_nothing) {
        let last_answered = trials.iter().rev().find(|trial| !got_nothing(trial));
        match last_answered {
            Some(trial) => return Next::Try(trial.load),
            None if trials.len() >= SILENT_MAX => return Next::End(Ending::Down),
            None => {}
        }
    }
    let is_wanted = |value: f64, block: usize| {
        let own = trials.iter().filter(|trial| trial.load == value);
        let made = own.clone().count();
        let trusted = own.filter(|trial| trial.outcome != Outcome::Untrusted).count();
        trusted <= block && made < TRIES * (block + 1)
    };
    let mut blocks = (0..sweep.repeat).map(|block| {
        let mut values = order(sweep, block).into_iter();
        values.find(|value| is_wanted(*value, block))
    });
    match blocks.find_map(|wanted| wanted) {
        Some(value) => Next::Try(value),
        None => Next::End(Ending::Found),
    }
}

/// The number of trials that a sweep keeps when it is resumed: a target that was down is up again.
pub(super) fn kept(sweep: &Sweep, trials: &[Trial]) -> usize {
    let has_ended = next(sweep, trials) == Next::End(Ending::Down);
    match has_ended && trials.iter().all(got_nothing) {
        true => 0,
        false => answered(trials).len(),
    }
}

/// The values of a block in their order.
fn order(sweep: &Sweep, block: usize) -> Vec<f64> {
    let mut values = sweep.values.clone();
    Rng::new(sweep.seed, block as u64, Purpose::Choice).shuffle(&mut values);
    values
}

#[cfg(test)]
mod tests {
    use compare::capacity::TrialFigures;

    use super::*;

    fn sweep() -> Sweep {
        Sweep { values: vec![1.0, 2.0, 4.0, 8.0], repeat: 3, seed: 5 }
    }

    fn trial(value: f64, outcome: Outcome, per_s: f64) -> Trial {
        Trial {
            figures: Some(TrialFigures {
                per_s,
                in_flight: 1.0,
                service_ns: 1e6,
                p50_ns: 1,
                p50_is_bound: false,
                p99_ns: 1,
                p99_is_bound: false,
                error_share: 0.0,
            }),
            ..Trial::new(value, outcome)
        }
    }

    /// Makes runs until the end; `result` makes a trial of its number and value.
    fn all(result: impl Fn(usize, f64) -> Trial) -> (Vec<Trial>, Ending) {
        let mut trials = Vec::new();
        loop {
            match next(&sweep(), &trials).wanted_run() {
                Ok(wanted) => trials.push(result(trials.len(), wanted.load)),
                Err(ending) => return (trials, ending),
            }
            assert!(trials.len() < 100, "no end");
        }
    }

    #[test]
    fn each_block_has_all_values_in_an_order_of_its_own() {
        let (trials, ending) = all(|_, value| trial(value, Outcome::Holds, 9.0));
        assert_eq!((trials.len(), ending), (12, Ending::Found));
        let blocks: Vec<Vec<f64>> =
            trials.chunks(4).map(|block| block.iter().map(|trial| trial.load).collect()).collect();
        for block in &blocks {
            let mut sorted = block.clone();
            sorted.sort_by(f64::total_cmp);
            assert_eq!(sorted, sweep().values);
        }
        assert!(blocks[0] != blocks[1] || blocks[1] != blocks[2], "{blocks:?}");
    }

    #[test]
    fn an_interrupted_sweep_resumes_as_if_it_had_not_been() {
        let (trials, _) = all(|_, value| trial(value, Outcome::Holds, 9.0));
        for made in 0..trials.len() {
            assert_eq!(next(&sweep(), &trials[..made]), Next::Try(trials[made].load));
        }
    }

    #[test]
    fn an_untrusted_run_is_repeated_once() {
        let once = |number, value| match number {
            0 => trial(value, Outcome::Untrusted, 9.0),
            _ => trial(value, Outcome::Holds, 9.0),
        };
        let (trials, ending) = all(once);
        assert_eq!((trials.len(), ending), (13, Ending::Found));
        assert_eq!(trials[0].load, trials[1].load);
        let (trials, ending) = all(|_, value| match value {
            8.0 => trial(value, Outcome::Untrusted, 9.0),
            _ => trial(value, Outcome::Holds, 9.0),
        });
        assert_eq!((trials.len(), ending), (9 + 6, Ending::Found));
    }

    #[test]
    fn a_value_that_gets_nothing_does_not_end_the_sweep() {
        let (trials, ending) = all(|_, value| match value {
            8.0 => Trial::new(value, Outcome::Breaks),
            _ => trial(value, Outcome::Holds, 9.0),
        });
        assert_eq!(ending, Ending::Found);
        let of_8 = trials.iter().filter(|trial| trial.load == 8.0).count();
        assert_eq!(of_8, 3);
    }

    #[test]
    fn a_target_that_is_down_ends_it() {
        let (trials, ending) = all(|number, value| match number {
            0..5 => trial(value, Outcome::Holds, 9.0),
            _ => trial(value, Outcome::Breaks, 0.0),
        });
        assert_eq!(ending, Ending::Down);
        assert_eq!(trials.len(), 6, "all values had answered");
        assert_eq!(kept(&sweep(), &trials), 5);
        let (trials, ending) = all(|_, value| Trial::new(value, Outcome::Breaks));
        assert_eq!((trials.len(), ending), (SILENT_MAX, Ending::Down));
        assert_eq!(kept(&sweep(), &trials), 0);
        assert_eq!(kept(&sweep(), &trials[..2]), 2);
    }
}
