//! The lag with which the generator began its operations.

use record::operations::is_of_step;
use record::schema::{HealthSummary, MeasureSummary, SeriesRow};
use stats::hist::LogHistogram;

use crate::figures::Figures;
use crate::limits::{LAG_COVERAGE_MIN, LAG_STEP_COUNT_MIN};

/// Lag over the whole run, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lag {
    pub(super) p50_ns: u64,
    pub(super) p99_ns: u64,
    pub(super) max_ns: u64,
}

/// The lag of a run's operations of steps: from the histograms where they hold nearly all of them, else from the series. A
/// message begins at its sender, a transaction where its first step does, and a connection with the operation that wants
/// it: counting those would thin out the real lags.
pub(super) fn summary(figures: &Figures) -> Lag {
    let mut hist = LogHistogram::new();
    let mut ended = 0;
    for (number, measure) in figures.info.measures.iter().enumerate() {
        if is_of_step(&measure.kind) {
            let cell = figures.cell(None, number);
            hist.merge(&cell.lag);
            ended += cell.ended();
        }
    }
    let seen_max_ns = figures.peak(|row| row.lag_max_ns);
    let enough = hist.count() as f64 >= LAG_COVERAGE_MIN * ended as f64;
    if enough && !hist.is_empty() {
        let max_ns = hist.max().max(seen_max_ns);
        return Lag { p50_ns: hist.quantile(0.5), p99_ns: hist.quantile(0.99), max_ns };
    }
    let steps = steps(&figures.series);
    Lag { p50_ns: quantile(&steps, 0.5), p99_ns: quantile(&steps, 0.99), max_ns: seen_max_ns }
}

/// Lag above the limit.
#[derive(Debug, Clone)]
pub(crate) struct LagExcess {
    /// `None`: that of all operations together is.
    pub(crate) step: Option<String>,
    pub(crate) p99_ns: u64,
}

/// The lag that is above the run's limit: of all operations, or of the step with the largest. One slow step
/// does not show in the lag of a run whose other steps are more frequent.
pub(super) fn above_limit(
    figures: &Figures,
    health: &HealthSummary,
    measures: &[MeasureSummary],
) -> Option<LagExcess> {
    let limit_ns = figures.info.generator.lag_max_ns;
    let all = LagExcess { step: None, p99_ns: health.lag_p99_ns };
    let steps = measures.iter().filter(|m| is_of_step(&m.kind));
    let steps = steps.filter_map(|m| {
        let lag = m.lag.as_ref().filter(|lag| lag.count >= LAG_STEP_COUNT_MIN)?;
        Some(LagExcess { step: Some(m.name.clone()), p99_ns: lag.p99_ns })
    });
    let is_late = |late: &LagExcess| late.p99_ns > limit_ns;
    Some(all).filter(is_late).or_else(|| steps.filter(is_late).max_by_key(|step| step.p99_ns))
}

/// A lag with the number of operations that count as having it.
struct Step {
    lag_ns: u64,
    weight: f64,
}

/// An upper bound of the lags' distribution: in each row half of the operations at its median,
/// 49 % at its p99, the rest at its maximum. Ascending.
fn steps(rows: &[SeriesRow]) -> Vec<Step> {
    let rows = rows.iter().filter(|row| row.sends > 0);
    let steps = rows.flat_map(|row| {
        let step = |lag_ns: u64, share: f64| Step { lag_ns, weight: share * row.sends as f64 };
        [step(row.lag_p50_ns, 0.50), step(row.lag_p99_ns, 0.49), step(row.lag_max_ns, 0.01)]
    });
    let mut steps: Vec<Step> = steps.collect();
    steps.sort_by_key(|step| step.lag_ns);
    steps
}

/// The smallest lag at or below which a share `q` of the weight lies; 0 of nothing.
fn quantile(steps: &[Step], q: f64) -> u64 {
    // Sums of halves and hundredths are not exact: a share that is met by less than a millionth
    // counts as met.
    let wanted = (q - 1e-6) * steps.iter().map(|step| step.weight).sum::<f64>();
    let mut below = 0.0;
    for step in steps {
        below += step.weight;
        if below >= wanted {
            return step.lag_ns;
        }
    }
    0
}
