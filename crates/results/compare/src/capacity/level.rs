//! All trials of one load, and what they come to.

use super::trial::{Outcome, Trial, longer_broke};

/// Runs that could not be trusted before a load is given up as untrusted.
const UNTRUSTED_MAX: usize = 2;
/// Runs one after the other that break, as the last of more than are made at the knee, with which a load does not
/// hold whatever most of the earlier ones did.
const LAST_BREAKS: usize = 2;

/// The common verdict of a load's trials.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Most of those that could be trusted keep the thresholds, and the last ones do not contradict that.
    Holds,
    /// Most do not keep the thresholds, or as many do as do not, or the last ones did not.
    Breaks,
    /// No trial could be trusted.
    Untrusted,
    /// One trial could not be trusted; another may be.
    Open,
}

/// All trials of one load.
#[derive(Debug, Clone, PartialEq)]
pub struct Level {
    /// The load.
    pub load: f64,
    /// Trials that kept the thresholds.
    pub holds: usize,
    /// Trials that did not.
    pub breaks: usize,
    /// Trials that could not be trusted.
    pub untrusted: usize,
    /// The verdict of the trials together.
    pub verdict: Verdict,
    /// True where no further trial, of as many as are made at the knee, could turn it.
    pub is_decided: bool,
    /// The longer trials alone count, since one of them broke: what shorter ones saw does not last.
    pub is_by_longer: bool,
}

impl Level {
    /// All levels, the lowest load first.
    pub fn all(trials: &[Trial], repeat: usize) -> Vec<Level> {
        let mut sorted: Vec<&Trial> = trials.iter().collect();
        sorted.sort_by(|a, b| a.load.total_cmp(&b.load));
        let levels = sorted.chunk_by(|a, b| a.load == b.load);
        levels.map(|trials| Level::of(trials, repeat)).collect()
    }

    fn of(trials: &[&Trial], repeat: usize) -> Level {
        let load = trials[0].load;
        let is_by_longer = longer_broke(trials.iter().copied());
        let counted = trials.iter().copied().filter(|trial| !is_by_longer || trial.is_longer);
        let trials: &[&Trial] = &counted.collect::<Vec<_>>();
        let count = |wanted| trials.iter().filter(|trial| trial.outcome == wanted).count();
        let holds = count(Outcome::Holds);
        let breaks = count(Outcome::Breaks);
        let untrusted = count(Outcome::Untrusted);
        let verdict = match (holds + breaks, untrusted) {
            (0, untrusted) if untrusted < UNTRUSTED_MAX => Verdict::Open,
            (0, _) => Verdict::Untrusted,
            _ if holds > breaks && !is_refuted(trials, repeat) => Verdict::Holds,
            _ => Verdict::Breaks,
        };
        // Repetitions that cannot be trusted are not made up for without end.
        let is_decided = match verdict {
            Verdict::Open => false,
            Verdict::Untrusted => true,
            _ => 2 * holds > repeat || 2 * breaks >= repeat || trials.len() > repeat,
        };
        Level { load, holds, breaks, untrusted, verdict, is_decided, is_by_longer }
    }

    /// True if the level's figures are of this trial, too.
    pub(super) fn counts(&self, trial: &Trial) -> bool {
        trial.load == self.load && (!self.is_by_longer || trial.is_longer)
    }
}

/// True if the last runs of a load broke, after as many as are made at the knee: those that should confirm it.
fn is_refuted(trials: &[&Trial], repeat: usize) -> bool {
    let trusted = trials.iter().rev().filter(|t| t.outcome != Outcome::Untrusted);
    let last = trusted.clone().take(LAST_BREAKS);
    trusted.count() > repeat && last.filter(|t| t.outcome == Outcome::Breaks).count() == LAST_BREAKS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(outcomes: &str, verdict: Verdict, is_decided: bool) {
        let trials: Vec<Trial> = outcomes
            .chars()
            .map(|outcome| match outcome {
                '+' => Trial::new(5.0, Outcome::Holds),
                '-' => Trial::new(5.0, Outcome::Breaks),
                'H' => Trial { is_longer: true, ..Trial::new(5.0, Outcome::Holds) },
                'B' => Trial { is_longer: true, ..Trial::new(5.0, Outcome::Breaks) },
                _ => Trial::new(5.0, Outcome::Untrusted),
            })
            .collect();
        let level = &Level::all(&trials, 3)[0];
        assert_eq!((level.verdict, level.is_decided), (verdict, is_decided), "{outcomes}");
    }

    #[test]
    fn most_of_the_trusted_trials_decide() {
        check("+", Verdict::Holds, false);
        check("-", Verdict::Breaks, false);
        check("++", Verdict::Holds, true);
        check("--", Verdict::Breaks, true);
        check("+-", Verdict::Breaks, false);
        check("+-+", Verdict::Holds, true);
        check("?", Verdict::Open, false);
        check("??", Verdict::Untrusted, true);
        check("?+", Verdict::Holds, false);
        check("?+?+", Verdict::Holds, true);
        check("?+??", Verdict::Holds, true);
    }

    #[test]
    fn a_load_whose_last_two_runs_broke_does_not_hold() {
        check("+++-", Verdict::Holds, true);
        check("+++--", Verdict::Breaks, true);
        check("+++-?-", Verdict::Breaks, true);
        check("+++--+", Verdict::Holds, true);
        // Of the first runs most decide.
        check("+--", Verdict::Breaks, true);
    }

    #[test]
    fn longer_trials_decide_alone_once_one_of_them_broke() {
        check("++H", Verdict::Holds, true);
        check("++B", Verdict::Breaks, false);
        check("+++B-", Verdict::Breaks, false);
        check("++BB", Verdict::Breaks, true);
        check("++BHH", Verdict::Holds, true);
        check("--H", Verdict::Breaks, true);
    }
}
