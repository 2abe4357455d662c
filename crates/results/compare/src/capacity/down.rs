//! A target that a load ended for good: runs after it say nothing about their loads.

use super::trial::{Outcome, Trial};

/// The trials that were made while the target was up. Those after them got no answer at all, one of them at a
/// load that had held before; the first of them is kept if its load was higher than any that had held, for it
/// may have been what ended the target.
pub fn while_up(trials: &[Trial]) -> &[Trial] {
    let silent = trials.iter().rev().take_while(|t| is_silent(t)).count();
    let (answered, silent) = trials.split_at(trials.len() - silent);
    let held = |trial: &&Trial| trial.outcome == Outcome::Holds;
    let highest = answered.iter().filter(held).map(|trial| trial.load);
    let Some(highest) = highest.reduce(f64::max) else {
        return trials;
    };
    if !silent.iter().any(|trial| trial.load <= highest) {
        return trials;
    }
    let was_well = answered.last().as_ref().is_some_and(held);
    let is_new = silent.first().is_some_and(|trial| trial.load > highest);
    &trials[..answered.len() + usize::from(was_well && is_new)]
}

/// Nothing succeeded in it.
pub fn is_silent(trial: &Trial) -> bool {
    let nothing = |figures: &super::TrialFigures| figures.per_s == 0.0;
    trial.outcome == Outcome::Breaks && trial.figures.as_ref().is_some_and(nothing)
}

#[cfg(test)]
mod tests {
    use super::super::TrialFigures;
    use super::*;

    /// `+` holds, `-` breaks, and `0` breaks without a single answer.
    #[track_caller]
    fn check(trials: &[(f64, char)], up: usize) {
        let trials: Vec<Trial> = trials
            .iter()
            .map(|&(load, outcome)| {
                let holds = if outcome == '+' { Outcome::Holds } else { Outcome::Breaks };
                let figures = TrialFigures {
                    per_s: if outcome == '0' { 0.0 } else { load },
                    in_flight: 1.0,
                    service_ns: 1.0,
                    p50_ns: 1,
                    p50_is_bound: false,
                    p99_ns: 1,
                    p99_is_bound: false,
                    error_share: 0.0,
                };
                Trial { figures: Some(figures), ..Trial::new(load, holds) }
            })
            .collect();
        assert_eq!(while_up(&trials).len(), up);
    }

    #[test]
    fn a_target_is_down_that_does_not_answer_a_load_that_held() {
        check(&[], 0);
        check(&[(1.0, '+'), (2.0, '+'), (4.0, '-')], 3);
        // Nothing is known before a load that held is tried again.
        check(&[(1.0, '+'), (2.0, '0')], 2);
        check(&[(1.0, '+'), (2.0, '0'), (1.0, '0')], 2);
        check(&[(1.0, '+'), (2.0, '-'), (1.5, '0'), (1.0, '0')], 2);
        // It ended by itself.
        check(&[(2.0, '+'), (2.0, '0')], 1);
        // It came back.
        check(&[(1.0, '+'), (2.0, '0'), (1.0, '+')], 3);
        // It never answered.
        check(&[(2.0, '0'), (1.0, '0')], 2);
    }
}
