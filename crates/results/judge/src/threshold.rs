//! Thresholds and the figures that they compare with a limit.

mod abort;
mod sessions;
mod until;

pub use abort::{AbortWatch, FailedLook};
pub use until::UntilWatch;

use plan::{Basis, Comparison, Figure, Stat, Threshold, Wire};
use record::schema::{PercentileInterval, RunInfo, ThresholdResult, WireFigures};
use stats::hist::LogHistogram;
use stats::metrics::MetricStat;

use crate::clocks;
use crate::figures::{Cell, CompletionCounts, Figures, MeasureFigure, Population};
use crate::lab_use;
use crate::limits::FAILED_SOONER_MIN;
use crate::sequence_counts::{self, SequenceCounts};
use crate::summary::{per_second, traffic};
use units::Unit;

/// Significant digits of a value, and as many as it gets where it is close to its limit.
const DIGITS: usize = 3;
const DIGITS_MAX: usize = 9;

/// The results of the thresholds, in their order.
pub(crate) fn evaluate_all(figures: &Figures, thresholds: &[Threshold]) -> Vec<ThresholdResult> {
    thresholds.iter().map(|t| evaluate(figures, t)).collect()
}

/// Names of the measures with a threshold on failures that no run without failures can pass.
pub(crate) fn meant_to_fail<'a>(figures: &'a Figures, thresholds: &[Threshold]) -> Vec<&'a str> {
    let names = thresholds.iter().flat_map(|threshold| {
        // A threshold on all together means none of them.
        let is_of_all = matches!(threshold.figure, Figure::Measure { measure: None, .. });
        let part = MeasureFigure::of(figures, &threshold.figure).filter(|_| !is_of_all);
        let part = part.filter(|part| {
            let without_failures = match part.stat {
                Stat::Errors | Stat::ErrorRate => Some(0.0),
                Stat::SuccessRate => Some(1.0),
                _ => None,
            };
            without_failures.is_some_and(|v| !threshold.comparison.holds(v, threshold.limit))
        });
        let measures = part.map_or(Vec::new(), |part| part.measures);
        let infos = measures.into_iter();
        infos.filter_map(|measure| Some(figures.info.measures.get(measure)?.name.as_str()))
    });
    names.collect()
}

fn evaluate(figures: &Figures, threshold: &Threshold) -> ThresholdResult {
    let found = find(figures, &threshold.figure).or_else(|| none_demanded(figures, threshold));
    let interval = interval(figures, &threshold.figure);
    let has_side = !matches!(threshold.comparison, Comparison::Equal | Comparison::NotEqual);
    let encloses = interval.is_some_and(|interval| interval.encloses(threshold.limit));
    ThresholdResult {
        text: threshold.text.clone(),
        interval,
        within_interval: has_side && encloses,
        passed: found.is_some_and(|found| holds(threshold, found)),
        value: found.map(|found| found.value),
        is_bound: found.is_some_and(|found| found.is_bound),
        shown: match found {
            Some(found) => {
                let shown = shown_of(&figures.info, threshold, found);
                let failed = failed_sooner(figures, &threshold.figure, found.value);
                format!("{shown}{failed}")
            }
            None => {
                unknown(figures, &threshold.figure).unwrap_or_else(|| "nothing measured".to_owned())
            }
        },
    }
}

/// No operation where a threshold allows none: then that nothing was measured is what it demands.
fn none_demanded(figures: &Figures, threshold: &Threshold) -> Option<RunValue> {
    let part = MeasureFigure::of(figures, &threshold.figure)?;
    let allows = |count| threshold.comparison.holds(count, threshold.limit);
    let is_demanded = part.stat == Stat::Count && allows(0.0) && !allows(1.0);
    (is_demanded && unknown(figures, &threshold.figure).is_none())
        .then_some(RunValue { value: 0.0, is_bound: false })
}

/// The share of operations that the target answered with a failure no later than their percentile or mean, for people;
/// empty if it is small. Fast failures lower percentiles.
fn failed_sooner(figures: &Figures, figure: &Figure, time_ns: f64) -> String {
    let part = MeasureFigure::of(figures, figure).filter(|part| part.basis == Basis::Response);
    let Some(part) = part.filter(|part| matches!(part.stat, Stat::Mean | Stat::Quantile(_))) else {
        return String::new();
    };
    let cell = figures.merged(part.phase, &part.measures);
    let failed = cell.failed_response.count_at_most(time_ns as u64) as f64;
    let all = cell.all_responses().count();
    match failed / all.max(1) as f64 {
        share if share >= FAILED_SOONER_MIN => format!(", {} failed sooner", units::share(share)),
        _ => String::new(),
    }
}

/// True if the condition is known to hold.
pub(crate) fn holds(threshold: &Threshold, found: RunValue) -> bool {
    let holds = threshold.comparison.holds(found.value, threshold.limit);
    // A figure that is at least its bound may be anything above it.
    let greater = matches!(threshold.comparison, Comparison::Greater | Comparison::GreaterEqual);
    holds && (greater || !found.is_bound)
}

/// The interval of a percentile.
fn interval(figures: &Figures, figure: &Figure) -> Option<PercentileInterval> {
    let part = MeasureFigure::of(figures, figure)?;
    let Stat::Quantile(share) = part.stat else {
        return None;
    };
    let population = Population { phase: part.phase, measures: part.measures, basis: part.basis };
    figures.interval(&population, share).copied()
}

/// The reason why a figure is unknown, although something was counted or timed.
fn unknown(figures: &Figures, figure: &Figure) -> Option<String> {
    let part = MeasureFigure::of(figures, figure)?;
    if part.stat == Stat::Offered && part.phase.is_some() {
        return Some("unknown of a phase".to_owned());
    }
    part.measures.iter().find_map(|&measure| match part.stat {
        Stat::Mean | Stat::Min | Stat::Max | Stat::Quantile(_) => clocks::unknown(figures, measure),
        Stat::Count
        | Stat::Rate
        | Stat::Offered
        | Stat::Begun
        | Stat::Errors
        | Stat::ErrorRate
        | Stat::SuccessRate => SequenceCounts::of_part(figures, measure)?.unknown(),
    })
}

/// A figure of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunValue {
    /// The value in the figure's base unit.
    pub value: f64,
    /// True if the figure is only known to be at least `value`, since operations were never answered.
    pub is_bound: bool,
}

/// The figure in its base unit, or its lower bound; `None` where there is nothing to take it from.
pub(crate) fn find(figures: &Figures, figure: &Figure) -> Option<RunValue> {
    if unknown(figures, figure).is_some() {
        return None;
    }
    if let Figure::Sessions { stat, basis, phase } = *figure {
        return sessions::find(figures, stat, basis, phase);
    }
    if let Some(MeasureFigure {
        stat: stat @ (Stat::Mean | Stat::Min | Stat::Max | Stat::Quantile(_)),
        measures,
        basis: Basis::Response,
        phase,
        ..
    }) = MeasureFigure::of(figures, figure)
    {
        return of_responses(stat, &figures.merged(phase, &measures));
    }
    exact(figures, figure).map(|value| RunValue { value, is_bound: false })
}

/// The figure in its base unit, or its lower bound; `None` where there is nothing to take it from.
pub(crate) fn value(figures: &Figures, figure: &Figure) -> Option<f64> {
    find(figures, figure).map(|found| found.value)
}

/// A statistic of the response times of all operations.
fn of_responses(stat: Stat, cell: &Cell) -> Option<RunValue> {
    let times = cell.all_responses();
    let quantile = match stat {
        _ if times.is_empty() => return None,
        Stat::Min => times.min(),
        Stat::Max => times.max(),
        Stat::Quantile(q) => times.quantile(q),
        Stat::Mean => {
            return Some(RunValue { value: times.mean(), is_bound: times.max().is_bound() });
        }
        _ => return None,
    };
    Some(RunValue { value: quantile.value() as f64, is_bound: quantile.is_bound() })
}

/// The figures that are never bounds.
fn exact(figures: &Figures, figure: &Figure) -> Option<f64> {
    match figure {
        // The users of workers that were not lost.
        Figure::Connected => {
            let lost = figures.lost_users();
            let connected = figures.total(|row| row.users_connected);
            ratio(
                connected.saturating_sub(lost.connected),
                figures.users_begun().saturating_sub(lost.begun),
            )
        }
        Figure::Users => Some(figures.users_started() as f64),
        Figure::Refused => Some(figures.total(|row| row.users_refused) as f64),
        Figure::Cost => lab_use::cost(figures),
        Figure::CostPerUserHour => lab_use::cost_per_user_hour(figures),
        Figure::Behind(limit_ns) => figures.behind_ns(*limit_ns),
        Figure::Wire(wire) => traffic(figures).map(|traffic| of_wire(*wire, &traffic.total)),
        Figure::Measure { .. } | Figure::Measures { .. } => {
            of_part(figures, &MeasureFigure::of(figures, figure)?)
        }
        Figure::Metric { stat, metric, phase } => {
            figures.metric_value(*phase, metric.index(), *stat)
        }
        // It may be a bound.
        Figure::Sessions { .. } => None,
    }
}

/// A figure of measures.
fn of_part(figures: &Figures, part: &MeasureFigure) -> Option<f64> {
    let MeasureFigure { stat, ref measures, basis, phase, is_of_all } = *part;
    // Nothing offered is no result.
    match stat {
        Stat::Offered => return figures.offered_per_s(measures).filter(|&rate| rate > 0.0),
        Stat::Begun => {
            return figures.begun_per_s(phase, measures).filter(|&rate| rate > 0.0);
        }
        _ => {}
    }
    let cell = match stat {
        // Without requests there is nothing to have errors.
        Stat::Errors | Stat::ErrorRate | Stat::SuccessRate if is_of_all && !measures.is_empty() => {
            figures.with_own_failures(phase)
        }
        _ => figures.merged(phase, measures),
    };
    let completed: CompletionCounts =
        measures.iter().map(|&measure| figures.completed(phase, measure)).sum();
    let (counted, completed) = match basis {
        Basis::Succeeded => (cell.succeeded(), completed.succeeded),
        _ => (cell.ended(), completed.total()),
    };
    let counts = Counts {
        ended: cell.ended(),
        begun: cell.ended() + cell.unfinished(),
        counted,
        completed,
        failed: cell.failed(),
        seconds: figures.seconds(phase),
        may_be_none: !measures.is_empty()
            && measures.iter().all(|&measure| may_be_none(figures, measure)),
    };
    of_counts(stat, &counts).or_else(|| of_times(stat, times(&cell, basis)))
}

/// The numbers that counting figures are made of.
struct Counts {
    ended: u64,
    /// Operations that ended, and those that the end of the run interrupted.
    begun: u64,
    /// Operations that ended, or those that succeeded, as the figure's basis says.
    counted: u64,
    /// Operations that the target answered within the time, or those that succeeded.
    completed: u64,
    failed: u64,
    seconds: f64,
    /// True if the figure counts something that need not happen, so that none is a result.
    may_be_none: bool,
}

/// True for what is counted where it happens and no user begins: steps that fail of themselves, redirects, and what is
/// wrong with numbered messages. A check that nobody came to says nothing, where the record knows that it is a step.
fn may_be_none(figures: &Figures, measure: usize) -> bool {
    let info = figures.info.measures.get(measure);
    info.is_some_and(|info| match info.kind.as_str() {
        "step" | "redirect" => true,
        "check" => {
            let is_step = figures.info.steps.contains(&(measure as u16));
            !is_step || figures.begun_of(None, measure) > 0
        }
        "message" => sequence_counts::is_anomaly(&info.over_regions()),
        _ => false,
    })
}

/// The statistics that are counts. No operation is no result: no errors, and no rate.
fn of_counts(stat: Stat, counts: &Counts) -> Option<f64> {
    let happened = counts.begun > 0 || counts.may_be_none;
    match stat {
        Stat::Count => happened.then_some(counts.counted as f64),
        Stat::Rate => {
            let is_known = happened && counts.seconds > 0.0;
            is_known.then(|| per_second(counts.completed, counts.seconds))
        }
        Stat::Errors => (counts.ended > 0 || counts.may_be_none).then_some(counts.failed as f64),
        Stat::ErrorRate => ratio(counts.failed, counts.ended).or(counts.may_be_none.then_some(0.0)),
        Stat::SuccessRate => {
            let succeeded = counts.ended.saturating_sub(counts.failed);
            ratio(succeeded, counts.ended).or(counts.may_be_none.then_some(1.0))
        }
        _ => None,
    }
}

/// A statistic of the times of a cell, or its lower bound.
pub(crate) fn of_cell(stat: Stat, basis: Basis, cell: &Cell) -> Option<RunValue> {
    if basis == Basis::Response {
        return of_responses(stat, cell);
    }
    let value = of_times(stat, times(cell, basis))?;
    Some(RunValue { value, is_bound: false })
}

/// The times of operations that succeeded.
fn times(cell: &Cell, basis: Basis) -> &LogHistogram {
    match basis {
        Basis::Response | Basis::Succeeded => &cell.response,
        Basis::Service => &cell.service,
        Basis::Lag => &cell.lag,
    }
}

/// The statistics of a distribution.
fn of_times(stat: Stat, hist: &LogHistogram) -> Option<f64> {
    if hist.is_empty() {
        return None;
    }
    match stat {
        Stat::Mean => Some(hist.mean()),
        Stat::Min => Some(hist.min() as f64),
        Stat::Max => Some(hist.max() as f64),
        Stat::Quantile(q) => Some(hist.quantile(q) as f64),
        _ => None,
    }
}

fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

fn of_wire(wire: Wire, figures: &WireFigures) -> f64 {
    match wire {
        Wire::SegmentsOut => figures.segments_out,
        Wire::SegmentsIn => figures.segments_in,
        Wire::PayloadOut => figures.payload_out,
        Wire::PayloadIn => figures.payload_in,
        Wire::Retransmits => figures.retransmits,
        Wire::IpBytesOut => figures.ip_bytes_out,
        Wire::IpBytesIn => figures.ip_bytes_in,
    }
}

/// The unit in which the figure is written for people.
pub(crate) fn unit(figure: &Figure) -> Unit {
    match figure {
        Figure::Connected => Unit::Share,
        Figure::Users | Figure::Refused | Figure::Wire(_) => Unit::Count,
        Figure::Cost | Figure::CostPerUserHour => Unit::Plain,
        Figure::Metric { stat: MetricStat::Count, .. } => Unit::Count,
        Figure::Metric { stat: MetricStat::Share, .. } => Unit::Share,
        // In the unit that the scenario gives it.
        Figure::Metric { .. } => Unit::Plain,
        Figure::Behind(_) => Unit::Nanoseconds,
        Figure::Measure { stat, .. }
        | Figure::Measures { stat, .. }
        | Figure::Sessions { stat, .. } => match stat {
            Stat::Count | Stat::Errors => Unit::Count,
            Stat::Rate | Stat::Offered | Stat::Begun => Unit::PerSecond,
            Stat::ErrorRate | Stat::SuccessRate => Unit::Share,
            Stat::Mean | Stat::Min | Stat::Max | Stat::Quantile(_) => Unit::Nanoseconds,
        },
    }
}

/// The unit that the scenario gives the figure of a metric, `/s` behind it for a rate; empty for all others.
pub(crate) fn own_unit(info: &RunInfo, figure: &Figure) -> String {
    let Figure::Metric { stat, metric, .. } = figure else {
        return String::new();
    };
    let unit = info.metrics.get(metric.index()).map_or("", |metric| metric.unit.as_str());
    match stat {
        MetricStat::Count | MetricStat::Share => String::new(),
        MetricStat::Rate => format!("{unit}/s"),
        _ => unit.to_owned(),
    }
}

/// The value of a threshold's figure for people, with its unit.
fn shown_of(info: &RunInfo, threshold: &Threshold, found: RunValue) -> String {
    let sign = if found.is_bound { "≥ " } else { "" };
    let shown = shown(unit(&threshold.figure), found.value, threshold.limit);
    match own_unit(info, &threshold.figure) {
        own if own.is_empty() || own.starts_with('/') => format!("{sign}{shown}{own}"),
        own => format!("{sign}{shown} {own}"),
    }
}

/// The value for people, with as many digits as it takes to tell it from the limit.
fn shown(unit: Unit, value: f64, limit: f64) -> String {
    let text = |value: f64, digits: usize| unit.format(value, digits);
    let told_apart =
        |digits: &usize| value == limit || text(value, *digits) != text(limit, *digits);
    text(value, (DIGITS..DIGITS_MAX).find(told_apart).unwrap_or(DIGITS_MAX))
}

#[cfg(test)]
mod tests;
