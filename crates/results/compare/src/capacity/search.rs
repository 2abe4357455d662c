//! Which load to try next. A pure function of the trials so far, so that an interrupted search
//! resumes as if it had not been.
//!
//! ```text
//! from ─ steps up, each `growth` times the last ─ until one does not hold (or down until one does)
//!      ─ bisection between the highest that holds and the lowest that does not ─ until close enough
//!      ─ both repeated until the majority agrees; a different result moves the bracket, and the search
//!        continues
//!      ─ both repeated further while the runs scatter too much to say where the limit is crossed
//!      ─ a last, longer run at the load that holds, which has to hold; if it does not, it is repeated, and if that does
//!        not hold either, the search continues below, with longer runs alone
//! after a run in which nothing succeeded: one at a load that held, which shows whether the target is down
//! ```
//!
//! A target's reserves (tokens of a rate limit, CPU credits, room in a queue) hide that it cannot sustain a load, until they
//! are used up. The nearer the load is to what can be sustained, the longer that takes. RFC 2544, section 24, has short runs
//! search and a full-length one decide, for the same reason. If that contradicts the short ones, they were too short for this
//! target, and none of them decides any more ([`Level::is_by_longer`]).

use super::crossing::breaks_threshold;
use super::independent::independent;
use super::trial::longer_broke;
use super::{Bounds, Ending, Level, Outcome, Trial, Verdict, is_silent, is_unclear, while_up};

/// How far below its first load a search goes down.
const DOWN_MAX: f64 = 1024.0;
/// Runs near the knee, for each repetition there, after which a search no longer tries to find where a figure
/// crosses its limit.
const RUNS_NEAR_MAX: usize = 6;
/// Runs one after the other that should confirm the result and could not be trusted, after which it stays unconfirmed.
const UNTRUSTED_MAX: usize = 2;

/// Next step of the search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Next {
    /// A run at this load.
    Try(f64),
    /// A longer run at this load.
    TryLonger(f64),
    /// No run more.
    End(Ending),
}

/// A run that a search wants.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WantedRun {
    /// The load of the run.
    pub load: f64,
    /// True if it has to last longer than the others.
    pub is_longer: bool,
}

impl Next {
    /// The run that is wanted.
    ///
    /// # Errors
    /// How the search ends, if no run is.
    pub fn wanted_run(self) -> Result<WantedRun, Ending> {
        match self {
            Next::Try(load) => Ok(WantedRun { load, is_longer: false }),
            Next::TryLonger(load) => Ok(WantedRun { load, is_longer: true }),
            Next::End(ending) => Err(ending),
        }
    }
}

/// Decides from the trials so far.
pub fn next(bounds: &Bounds, trials: &[Trial]) -> Next {
    if while_up(trials).len() < trials.len() {
        return Next::End(Ending::Down);
    }
    let levels = Level::all(trials, bounds.repeat);
    let wanted = match (sign_of_life(&levels, trials), wanted(bounds, &levels, trials)) {
        (Some(load), _) => Next::Try(load),
        (None, Next::End(Ending::Found)) => match unclear(bounds, &levels, trials) {
            Some(load) => as_long_as_needed(load, trials),
            None => confirmed(bounds, &levels, trials, Ending::Found),
        },
        (None, Next::End(Ending::AllHold)) if bounds.can_be_longer => {
            confirmed(bounds, &levels, trials, Ending::AllHold)
        }
        (None, Next::Try(load)) => as_long_as_needed(load, trials),
        (None, wanted) => wanted,
    };
    match wanted {
        Next::Try(_) | Next::TryLonger(_) if trials.len() >= bounds.steps => {
            Next::End(Ending::OutOfSteps)
        }
        wanted => wanted,
    }
}

/// A run at this load, longer if one has shown that the others are too short.
fn as_long_as_needed(load: f64, trials: &[Trial]) -> Next {
    match longer_broke(trials) {
        true => Next::TryLonger(load),
        false => Next::Try(load),
    }
}

fn wanted(bounds: &Bounds, levels: &[Level], trials: &[Trial]) -> Next {
    // A run that could not be trusted may have been disturbed by chance: it gets a second one.
    if let Some(level) = levels.iter().find(|level| level.verdict == Verdict::Open) {
        return Next::Try(level.load);
    }
    let bad = levels.iter().find(|level| level.verdict != Verdict::Holds);
    let below = |level: &&Level| bad.is_none_or(|bad| level.load < bad.load);
    let good = levels.iter().rev().find(below);
    match (good, bad) {
        (None, None) => Next::Try(bounds.from.min(bounds.at_most)),
        (Some(good), None) => up(bounds, good),
        (None, Some(bad)) => down(bounds, bad, trials),
        (Some(good), Some(bad)) => between(bounds, good, bad),
    }
}

/// The load to try after a run in which nothing succeeded: one that held shows whether the target is down.
fn sign_of_life(levels: &[Level], trials: &[Trial]) -> Option<f64> {
    trials.last().filter(|trial| is_silent(trial))?;
    let holds = levels.iter().filter(|level| level.verdict == Verdict::Holds);
    holds.map(|level| level.load).next_back()
}

/// The load of the next run of a search that found its bracket, if it does not know yet where the limit is crossed: that side
/// of the bracket that had fewer. Not without repetitions, nor if the load breaks for another reason than a threshold.
fn unclear(bounds: &Bounds, levels: &[Level], trials: &[Trial]) -> Option<f64> {
    let bad = levels.iter().position(|l| l.verdict != Verdict::Holds)?;
    let good = levels.get(bad.checked_sub(1)?)?;
    let bad = levels.get(bad)?;
    let runs = |level: &&Level| level.holds + level.breaks + level.untrusted;
    let knee = (good.load + bad.load) / 2.0;
    let is_wanted = bounds.repeat > 1
        && breaks_threshold(trials, bad.load)
        && is_unclear(trials, knee, RUNS_NEAR_MAX * bounds.repeat);
    let fewer = [good, bad].into_iter().min_by_key(runs)?;
    is_wanted.then_some(fewer.load)
}

/// The end of a search that found its bracket, or that all loads hold: the last run was a longer one at the load that holds,
/// after all others, and held. One that did not counts at its load, and moves the bracket ([`Level::verdict`]). Where the
/// load cannot last longer, it is a run like any other.
fn confirmed(bounds: &Bounds, levels: &[Level], trials: &[Trial], ending: Ending) -> Next {
    let good = levels.iter().take_while(|level| level.verdict == Verdict::Holds).last();
    let Some(good) = good else {
        return Next::End(ending);
    };
    let last = trials.iter().rev().take_while(|trial| trial.load == good.load);
    let untrusted = last.clone().take_while(|trial| trial.outcome == Outcome::Untrusted);
    match last.clone().next() {
        Some(trial)
            if trial.outcome == Outcome::Holds && (trial.is_longer || !bounds.can_be_longer) =>
        {
            Next::End(ending)
        }
        Some(trial)
            if trial.outcome == Outcome::Untrusted && untrusted.count() >= UNTRUSTED_MAX =>
        {
            Next::End(Ending::Untrusted)
        }
        _ if bounds.can_be_longer => Next::TryLonger(good.load),
        _ => Next::Try(good.load),
    }
}

/// Nothing has failed yet.
fn up(bounds: &Bounds, good: &Level) -> Next {
    if good.load < bounds.at_most {
        let higher = bounds.rounded(good.load * bounds.growth);
        // Rounding must not repeat a load.
        let higher = if higher > good.load { higher } else { good.load + 1.0 };
        return Next::Try(higher.min(bounds.at_most));
    }
    match good.is_decided {
        true => Next::End(Ending::AllHold),
        false => Next::Try(good.load),
    }
}

/// Nothing has held yet.
fn down(bounds: &Bounds, bad: &Level, trials: &[Trial]) -> Next {
    if independent(trials).is_some() {
        return Next::End(Ending::LoadIsNotTheCause);
    }
    let least = bounds.rounded(bounds.from.min(bounds.at_most) / DOWN_MAX);
    let lower = bounds.rounded(bad.load / bounds.growth);
    let can_go_on = bad.load > least && lower < bad.load && lower > 0.0;
    if can_go_on && !lacks_operations(bounds, bad.load, lower, trials) {
        return Next::Try(lower.max(least));
    }
    match (bad.is_decided, bad.verdict) {
        (false, _) => Next::Try(bad.load),
        (true, Verdict::Untrusted) => Next::End(Ending::Untrusted),
        (true, _) => Next::End(Ending::NoneHolds),
    }
}

/// True if a run at this lower rate has too few operations for the percentiles of the thresholds, by those of `load`. Users of
/// a closed load that are fewer make as many requests if the target is the limit.
pub(super) fn lacks_operations(bounds: &Bounds, load: f64, lower: f64, trials: &[Trial]) -> bool {
    let mut own = trials.iter().filter(|trial| trial.load == load && !trial.is_longer);
    !bounds.is_whole && own.any(|trial| !trial.has_enough(lower / load))
}

fn between(bounds: &Bounds, good: &Level, bad: &Level) -> Next {
    let middle = bounds.rounded((good.load + bad.load) / 2.0);
    let is_near = bad.load <= good.load * (1.0 + bounds.within);
    if !is_near && good.load < middle && middle < bad.load {
        return Next::Try(middle);
    }
    if let Some(open) = [good, bad].into_iter().find(|level| !level.is_decided) {
        return Next::Try(open.load);
    }
    match bad.verdict {
        Verdict::Untrusted => Next::End(Ending::Untrusted),
        _ => Next::End(Ending::Found),
    }
}

#[cfg(test)]
mod queues;
#[cfg(test)]
mod reserves;
#[cfg(test)]
mod tests;
