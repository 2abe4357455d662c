//! Thresholds that the generator's own lag decides.
//!
//! The generator is trusted by its lag at p99. A threshold on p99.9 or on the maximum looks further: there,
//! lag that no 99th percentile shows can be all there is. So lag is judged at the percentile of each
//! threshold. It decides if it is a substantial part of the time there, and the threshold would come out
//! otherwise without it.
//!
//! Answers that were read late are late on the generator's account as well, and this is all the lag that
//! service times have.

use plan::{Basis, Stat, Threshold};
use stats::hist::LogHistogram;
use stats::interval::quantile_rank;

use crate::figures::{Cell, Figures, MeasureFigure};
use crate::generator::Cause;
use crate::limits::{LAG_OF_RESPONSE_MAX, LAG_WARN_NS_MIN};
use crate::threshold::{self, RunValue, holds};

/// A threshold that the generator's own lag decides.
pub(crate) struct LagDecision {
    /// The threshold as written.
    pub(crate) text: String,
    /// The figure of the threshold.
    pub(crate) value_ns: f64,
    /// The generator's part of the figure at most.
    pub(crate) lag_ns: f64,
    pub(crate) cause: Cause,
}

/// The thresholds that lag decides.
pub(crate) fn find(figures: &Figures, thresholds: &[Threshold]) -> Vec<LagDecision> {
    thresholds.iter().filter_map(|threshold| decision(figures, threshold)).collect()
}

fn decision(figures: &Figures, threshold: &Threshold) -> Option<LagDecision> {
    let MeasureFigure {
        stat: stat @ (Stat::Quantile(_) | Stat::Mean | Stat::Max),
        ref measures,
        basis: basis @ (Basis::Response | Basis::Succeeded | Basis::Service),
        phase,
    } = MeasureFigure::of(figures, &threshold.figure)?
    else {
        return None;
    };
    let found = threshold::find(figures, &threshold.figure)?;
    let lag_ns = own_ns(&figures.merged(phase, measures), stat, basis)?;
    let is_substantial =
        lag_ns >= LAG_WARN_NS_MIN as f64 && lag_ns > LAG_OF_RESPONSE_MAX * found.value;
    let without = RunValue { value: (found.value - lag_ns).max(0.0), ..found };
    if !is_substantial || holds(threshold, found) == holds(threshold, without) {
        return None;
    }
    Some(LagDecision {
        text: threshold.text.clone(),
        value_ns: found.value,
        lag_ns,
        cause: Cause::of(figures),
    })
}

/// The generator's own part of a figure; `None`: the record does not say. Answers that were read late have it in `late`,
/// which is at least their lag: both together, the largest first, are the own parts of all.
fn own_ns(cell: &Cell, stat: Stat, basis: Basis) -> Option<f64> {
    if cell.lag.is_empty() {
        return None;
    }
    let mut lags = LogHistogram::new();
    match basis {
        Basis::Service => lags.record_n(0, cell.lag.count()),
        _ => lags.merge(&cell.lag),
    }
    let late_ns = cell.late.mean() * cell.late.count() as f64 / lags.count() as f64;
    let mean_ns = lags.mean() + late_ns;
    let count = lags.count();
    let late_count = cell.late.count();
    lags.merge(&cell.late);
    Some(match stat {
        Stat::Quantile(share) => {
            lags.value_at_rank(late_count + quantile_rank(count, share)) as f64
        }
        Stat::Max => lags.max() as f64,
        _ => mean_ns,
    })
}

#[cfg(test)]
mod tests;
