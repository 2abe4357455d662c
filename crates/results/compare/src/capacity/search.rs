//! Which load to try next. A pure function of the trials so far, so that an interrupted search
//! resumes as if it had not been.
//!
//! ```text
//! from ─ steps up, each `growth` times the last ─ until one does not hold (or down until one does)
//!      ─ bisection between the highest that holds and the lowest that does not ─ until close enough
//!      ─ both repeated until the majority agrees; a different result moves the bracket, and the search
//!        continues
//!      ─ both repeated further while the runs scatter too much to say where the limit is crossed
//!      ─ a last run at the load that holds, which has to hold; if it does not, it is repeated, and if that does not
//!        hold either, the search continues below
//! after a run in which nothing succeeded: one at a load that held, which shows whether the target is down
//! ```

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
    /// No run more.
    End(Ending),
}

/// Decides from the trials so far.
pub fn next(bounds: &Bounds, trials: &[Trial]) -> Next {
    if while_up(trials).len() < trials.len() {
        return Next::End(Ending::Down);
    }
    let levels = Level::all(trials, bounds.repeat);
    let wanted = match (sign_of_life(&levels, trials), wanted(bounds, &levels)) {
        (Some(load), _) => Next::Try(load),
        (None, Next::End(Ending::Found)) => {
            unclear(bounds, &levels, trials).unwrap_or_else(|| confirmed(&levels, trials))
        }
        (None, wanted) => wanted,
    };
    match wanted {
        Next::Try(_) if trials.len() >= bounds.steps => Next::End(Ending::OutOfSteps),
        wanted => wanted,
    }
}

fn wanted(bounds: &Bounds, levels: &[Level]) -> Next {
    // A run that could not be trusted may have been disturbed by chance: it gets a second one.
    if let Some(level) = levels.iter().find(|level| level.verdict == Verdict::Open) {
        return Next::Try(level.load);
    }
    let bad = levels.iter().find(|level| level.verdict != Verdict::Holds);
    let below = |level: &&Level| bad.is_none_or(|bad| level.load < bad.load);
    let good = levels.iter().rev().find(below);
    match (good, bad) {
        (None, None) => Next::Try(bounds.rounded(bounds.from.min(bounds.at_most))),
        (Some(good), None) => up(bounds, good),
        (None, Some(bad)) => down(bounds, bad),
        (Some(good), Some(bad)) => between(bounds, good, bad),
    }
}

/// The load to try after a run in which nothing succeeded: one that held shows whether the target is down.
fn sign_of_life(levels: &[Level], trials: &[Trial]) -> Option<f64> {
    trials.last().filter(|trial| is_silent(trial))?;
    let holds = levels.iter().filter(|level| level.verdict == Verdict::Holds);
    holds.map(|level| level.load).next_back()
}

/// The next run of a search that found its bracket, if it does not know yet where the limit is crossed: at the side of
/// the bracket that had fewer. Not without repetitions.
fn unclear(bounds: &Bounds, levels: &[Level], trials: &[Trial]) -> Option<Next> {
    let bad = levels.iter().position(|l| l.verdict != Verdict::Holds)?;
    let good = levels.get(bad.checked_sub(1)?)?;
    let bad = levels.get(bad)?;
    let runs = |level: &&Level| level.holds + level.breaks + level.untrusted;
    let knee = (good.load + bad.load) / 2.0;
    let is_wanted = bounds.repeat > 1 && is_unclear(trials, knee, RUNS_NEAR_MAX * bounds.repeat);
    let fewer = [good, bad].into_iter().min_by_key(runs)?;
    is_wanted.then_some(Next::Try(fewer.load))
}

/// The end of a search that found its bracket: the last run was one at the load that holds, after all others,
/// and held. One that did not counts at its load like any other, and may move the bracket, as a second one after it
/// does in any case ([`Level::verdict`]).
fn confirmed(levels: &[Level], trials: &[Trial]) -> Next {
    let good = levels.iter().take_while(|level| level.verdict == Verdict::Holds).last();
    let Some(good) = good else {
        return Next::End(Ending::Found);
    };
    let last = trials.iter().rev().take_while(|trial| trial.load == good.load);
    let untrusted = last.clone().take_while(|trial| trial.outcome == Outcome::Untrusted);
    match last.clone().next().map(|trial| trial.outcome) {
        Some(Outcome::Holds) => Next::End(Ending::Found),
        Some(Outcome::Untrusted) if untrusted.count() >= UNTRUSTED_MAX => {
            Next::End(Ending::Untrusted)
        }
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
fn down(bounds: &Bounds, bad: &Level) -> Next {
    let least = bounds.from.min(bounds.at_most) / DOWN_MAX;
    let least = if bounds.is_whole { least.max(1.0) } else { least };
    let lower = bounds.rounded(bad.load / bounds.growth);
    if bad.load > least && lower < bad.load && lower > 0.0 {
        return Next::Try(lower.max(least));
    }
    match (bad.is_decided, bad.verdict) {
        (false, _) => Next::Try(bad.load),
        (true, Verdict::Untrusted) => Next::End(Ending::Untrusted),
        (true, _) => Next::End(Ending::NoneHolds),
    }
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
mod tests;
