//! Thresholds that the generator's own lag decides.
//!
//! The generator is trusted by its lag at p99. A threshold on p99.9 or on the maximum looks further: there,
//! lag that no 99th percentile shows can be all there is. So each threshold is judged once more, with each operation's
//! own lag taken off: the lag decides a threshold that would come out otherwise then. Lag of other operations decides
//! nothing. Which operations were late is known of their rows; where these do not say it, of their second; and of a run
//! in progress, of the run so far ([`Figures::moves_of_run`]).
//!
//! Answers that were read late are late on the generator's account as well, and this is all the lag that
//! service times have.

use plan::{Basis, Comparison, Stat, Threshold};
use record::{RecordError, Run};

use crate::figures::{Cell, Figures, Limit, LimitedTimes, MeasureFigure, Moves, Population};
use crate::generator::Cause;
use crate::limits::{LAG_OF_RESPONSE_MAX, LAG_WARN_NS_MIN};
use crate::threshold::{self, RunValue, holds};

/// A threshold that the generator's own lag decides.
pub(crate) struct LagDecision {
    /// The threshold as written.
    pub(crate) text: String,
    /// The figure of the threshold.
    pub(crate) value_ns: f64,
    /// The figure without the generator's part.
    pub(crate) without_ns: f64,
    pub(crate) late: LateOperations,
    pub(crate) cause: Cause,
}

/// The operations whose lag decides a threshold, and what says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LateOperations {
    /// All of them: the figure is a mean.
    All,
    /// As many, by the row of each.
    ByRow(u64),
    /// As many at most, by the lags of each second.
    BySecond(u64),
    /// As many at most, by the lags of the whole run.
    OfRun(u64),
}

/// Reads from the record whose lag it was, for the thresholds that the figures alone do not clear of it.
///
/// # Errors
/// The latency log cannot be read.
pub(crate) fn read(
    figures: &mut Figures,
    run: &Run,
    thresholds: &[Threshold],
) -> Result<(), RecordError> {
    let all = thresholds.iter().filter_map(|threshold| LimitedFigure::of(figures, threshold));
    let open: Vec<LimitedFigure<'_>> =
        all.filter(|one| one.is_decided_by(&figures.moves_of_run(&one.times))).collect();
    if open.is_empty() {
        return Ok(());
    }
    let times = open.iter().map(|one| one.times.clone());
    let seconds = figures.moves_by_second(run, times)?;
    let mut by_second = Vec::new();
    let mut by_row = Vec::new();
    for (one, seconds) in open.iter().zip(seconds) {
        match one.is_decided_by(&seconds.moves()) {
            true => by_row.push(seconds),
            false => by_second.push(seconds.without_rows()),
        }
    }
    // Thresholds on several percentiles may be about the same times. Then what rows say of them comes first.
    let mut known = figures.moves_by_row(run, by_row);
    known.extend(by_second);
    figures.lag_moves = known;
    Ok(())
}

/// The thresholds that lag decides.
pub(crate) fn find(figures: &Figures, thresholds: &[Threshold]) -> Vec<LagDecision> {
    let decisions = thresholds.iter().filter_map(|threshold| {
        of_mean(figures, threshold).or_else(|| of_operations(figures, threshold))
    });
    decisions.collect()
}

/// A threshold on times of operations, each of which lag may have moved above the limit.
struct LimitedFigure<'a> {
    threshold: &'a Threshold,
    stat: Stat,
    cell: Cell,
    found: RunValue,
    times: LimitedTimes,
}

impl LimitedFigure<'_> {
    /// `None` if shorter times would change nothing.
    fn of<'a>(figures: &Figures, threshold: &'a Threshold) -> Option<LimitedFigure<'a>> {
        let MeasureFigure {
            stat: stat @ (Stat::Quantile(_) | Stat::Min | Stat::Max),
            measures,
            basis: basis @ (Basis::Response | Basis::Succeeded | Basis::Service),
            phase,
            ..
        } = MeasureFigure::of(figures, &threshold.figure)?
        else {
            return None;
        };
        let found = threshold::find(figures, &threshold.figure)?;
        let holds = holds(threshold, found);
        let may_change = match threshold.comparison {
            Comparison::Less | Comparison::LessEqual => !holds,
            Comparison::Greater | Comparison::GreaterEqual => holds,
            Comparison::Equal | Comparison::NotEqual => true,
        };
        if !may_change {
            return None;
        }
        let cell = figures.merged(phase, &measures);
        let limit = Limit::new(threshold.comparison, threshold.limit);
        let population = Population { phase, measures, basis };
        let times = LimitedTimes { population, limit };
        Some(LimitedFigure { threshold, stat, cell, found, times })
    }

    /// The figure without the own parts of these operations.
    fn without(&self, moves: &Moves) -> Option<RunValue> {
        let basis = self.times.population.basis;
        threshold::of_cell(self.stat, basis, &moves.taken_off(&self.cell, basis))
    }

    fn is_decided_by(&self, moves: &Moves) -> bool {
        let without = self.without(moves).filter(|_| moves.count() > 0);
        without.is_some_and(|without| {
            holds(self.threshold, without) != holds(self.threshold, self.found)
        })
    }
}

fn of_operations(figures: &Figures, threshold: &Threshold) -> Option<LagDecision> {
    let figure = LimitedFigure::of(figures, threshold)?;
    let (moves, late) = match figures.known_moves(&figure.times) {
        Some(known) if known.is_by_row => {
            (known.moves.clone(), LateOperations::ByRow(known.moves.count()))
        }
        Some(known) => (known.moves.clone(), LateOperations::BySecond(known.moves.count())),
        None => {
            let moves = figures.moves_of_run(&figure.times);
            let late = LateOperations::OfRun(moves.count());
            (moves, late)
        }
    };
    if !figure.is_decided_by(&moves) {
        return None;
    }
    Some(LagDecision {
        text: threshold.text.clone(),
        value_ns: figure.found.value,
        without_ns: figure.without(&moves)?.value,
        late,
        cause: Cause::of(figures),
    })
}

/// A mean takes the lags of all operations, whichever had them.
fn of_mean(figures: &Figures, threshold: &Threshold) -> Option<LagDecision> {
    let MeasureFigure {
        stat: Stat::Mean,
        ref measures,
        basis: basis @ (Basis::Response | Basis::Succeeded | Basis::Service),
        phase,
        ..
    } = MeasureFigure::of(figures, &threshold.figure)?
    else {
        return None;
    };
    let found = threshold::find(figures, &threshold.figure)?;
    let lag_ns = own_mean_ns(&figures.merged(phase, measures), basis)?;
    let is_substantial =
        lag_ns >= LAG_WARN_NS_MIN as f64 && lag_ns > LAG_OF_RESPONSE_MAX * found.value;
    let without = RunValue { value: (found.value - lag_ns).max(0.0), ..found };
    if !is_substantial || holds(threshold, found) == holds(threshold, without) {
        return None;
    }
    Some(LagDecision {
        text: threshold.text.clone(),
        value_ns: found.value,
        without_ns: without.value,
        late: LateOperations::All,
        cause: Cause::of(figures),
    })
}

/// The generator's own part of a mean; `None`: the record does not say. Answers that were read late have it in `late`,
/// which is at least their lag.
fn own_mean_ns(cell: &Cell, basis: Basis) -> Option<f64> {
    if cell.lag.is_empty() {
        return None;
    }
    let lag_ns = match basis {
        Basis::Service => 0.0,
        Basis::Response | Basis::Succeeded | Basis::Lag => cell.lag.mean(),
    };
    Some(lag_ns + cell.late.sum() as f64 / cell.lag.count() as f64)
}

#[cfg(test)]
mod tests;
