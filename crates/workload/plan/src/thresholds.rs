//! Figures of a run, and conditions on them that decide whether it passes.

mod error;
mod metrics;
mod parse;
mod precision;
mod statistic;
mod tags;

pub use error::{FigureError, Unknown};
pub use metrics::MetricName;
pub use parse::{MeasureTags, Names, UNKNOWN_MEASURE, UNKNOWN_PHASE, UNKNOWN_TAG};

use serde::Serialize;
use stats::looks;
use stats::metrics::MetricStat;

use crate::ids::{MeasureId, MetricId};
use crate::phases::Phase;
use crate::wire::Wire;

/// A condition that decides whether the run passes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Threshold {
    /// As written.
    pub text: String,
    pub figure: Figure,
    pub comparison: Comparison,
    /// In the figure's base unit: nanoseconds, per second, a share in 0..=1, a count, or the unit of a metric.
    pub limit: f64,
}

/// A threshold that ends the run as soon as it does not hold.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Abort {
    pub threshold: Threshold,
    /// Time from the start of the run, or of the phase that the threshold names, until it is first looked at.
    pub after_ns: u64,
    /// The time up to each look that its figure is of; `None`: all from that start on.
    pub over_ns: Option<u64>,
}

/// Figures that are to be known; the run ends as soon as all of them are.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Until {
    /// At least one.
    pub figures: Vec<PreciseFigure>,
    /// The time from the run's start when it ends in any case.
    pub at_most_ns: u64,
}

impl Until {
    /// The time of the first look, at the earliest, of a run with these phases.
    pub fn first_look_ns(&self, phases: &[Phase]) -> u64 {
        let of_phases = self.figures.iter().filter_map(|one| phases.get(one.figure.phase()?));
        let start_ns = of_phases.map(|phase| phase.start_ns).max().unwrap_or(0);
        // A figure whose phase is over is looked at with the others.
        let ends = self.figures.iter().map(|one| {
            let phase = one.figure.phase().and_then(|phase| phases.get(phase));
            phase.map_or(u64::MAX, Phase::end_ns)
        });
        let end_ns = ends.max().unwrap_or(u64::MAX);
        start_ns.saturating_add(looks::FIRST_NS).min(end_ns).min(self.at_most_ns)
    }
}

/// A percentile, and how far the truth may lie from it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PreciseFigure {
    /// As written: `p95(checkout) ± 2%`.
    pub text: String,
    /// The figure; the statistic of one of measures is a [`Stat::Quantile`].
    pub figure: Figure,
    pub precision: Precision,
}

/// How far the ends of an interval may lie from its percentile.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub enum Precision {
    /// A share of the percentile, above 0.
    Relative(f64),
    /// Nanoseconds.
    Absolute(f64),
}

impl Precision {
    /// True if both ends are as near to the percentile as is asked for.
    pub fn holds(self, percentile: f64, low: f64, high: f64) -> bool {
        let reach = match self {
            Precision::Relative(share) => share * percentile,
            Precision::Absolute(ns) => ns,
        };
        percentile - low <= reach && high - percentile <= reach
    }
}

/// `<`, `<=`, `>`, `>=`, `==`, `!=`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Comparison {
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Equal,
    NotEqual,
}

impl Comparison {
    /// Does `left ⟨comparison⟩ right` hold?
    pub fn holds(self, left: f64, right: f64) -> bool {
        match self {
            Comparison::Less => left < right,
            Comparison::LessEqual => left <= right,
            Comparison::Greater => left > right,
            Comparison::GreaterEqual => left >= right,
            Comparison::Equal => left == right,
            Comparison::NotEqual => left != right,
        }
    }
}

/// A figure of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub enum Figure {
    /// Users whose first connection was made, over users that started one: `connected`.
    Connected,
    /// Users that started: `users`.
    Users,
    /// Users that could not be started for want of files, ports or memory: `refused`.
    Refused,
    /// The cost of the lab's hosts, in the currency of its price list: `cost`.
    Cost,
    /// The cost for each hour that a user was there: `cost_per_user_hour`.
    CostPerUserHour,
    /// Seconds in which more than 2 % of all requests failed or took longer than this, in nanoseconds: `behind(300ms)`.
    Behind(u64),
    /// A figure of the connections on the wire, over the whole run: `segments_out`, ….
    Wire(Wire),
    /// A figure of one measure, or of all requests together where `measure` is `None`: requests, messages
    /// that users send or wait for, and handshakes.
    Measure {
        stat: Stat,
        measure: Option<MeasureId>,
        basis: Basis,
        /// Index into [`crate::Plan::phases`]; `None`: the whole run.
        phase: Option<usize>,
    },
    /// A figure of several measures taken as one: those with a tag (`p98(area=checkout)`), or those of one name whose
    /// tags differ.
    Measures {
        stat: Stat,
        /// Ascending; at least one.
        measures: Vec<MeasureId>,
        basis: Basis,
        /// The phase, as in [`Figure::Measure`].
        phase: Option<usize>,
    },
    /// A figure of a metric of the scenario's own: `sum(orders)`.
    Metric {
        stat: MetricStat,
        metric: MetricId,
        /// The phase, as in [`Figure::Measure`].
        phase: Option<usize>,
    },
    /// A figure of sessions: `failed(sessions)`, `p95(sessions)`. One that was cut off has not ended.
    Sessions {
        stat: Stat,
        /// [`Basis::Response`] or [`Basis::Succeeded`].
        basis: Basis,
        /// The phase, as in [`Figure::Measure`].
        phase: Option<usize>,
    },
}

impl Figure {
    /// True if a run in progress knows it: figures of measures and metrics, but for those that take the plan to know.
    pub fn is_known_while_running(&self) -> bool {
        match *self {
            Figure::Measure { stat, .. } | Figure::Measures { stat, .. } => {
                !matches!(stat, Stat::Offered | Stat::Begun)
            }
            Figure::Metric { .. } => true,
            Figure::Connected
            | Figure::Users
            | Figure::Refused
            | Figure::Cost
            | Figure::CostPerUserHour
            | Figure::Behind(_)
            | Figure::Wire(_)
            | Figure::Sessions { .. } => false,
        }
    }

    /// True if it is 0 before anything has happened: a number, or a sum.
    pub fn begins_with_zero(&self) -> bool {
        match *self {
            Figure::Measure { stat, .. } | Figure::Measures { stat, .. } => {
                matches!(stat, Stat::Count | Stat::Errors)
            }
            Figure::Metric { stat, .. } => matches!(stat, MetricStat::Count | MetricStat::Sum),
            _ => false,
        }
    }

    /// The phase that it is of; `None`: the whole run.
    pub fn phase(&self) -> Option<usize> {
        match *self {
            Figure::Measure { phase, .. }
            | Figure::Measures { phase, .. }
            | Figure::Metric { phase, .. }
            | Figure::Sessions { phase, .. } => phase,
            Figure::Connected
            | Figure::Users
            | Figure::Refused
            | Figure::Cost
            | Figure::CostPerUserHour
            | Figure::Behind(_)
            | Figure::Wire(_) => None,
        }
    }

    /// True if it is of how long sessions took, which is measured for those alone that need it.
    pub fn times_sessions(&self) -> bool {
        matches!(self, Figure::Sessions { stat, .. } if stat.is_of_times())
    }
}

/// Which number of a measure.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub enum Stat {
    /// Operations that ended, successful or failed: `count(x)`.
    Count,
    /// Operations that the target answered, per second: `rate(x)`.
    Rate,
    /// Operations that were due, per second of the planned load: `offered(x)`.
    Offered,
    /// Operations that began, per second of the planned load: `begun(x)`.
    Begun,
    /// Failed operations: `errors(x)`; of sessions `failed(sessions)` as well.
    Errors,
    /// Failed operations as a share of all: `error_rate(x)`.
    ErrorRate,
    /// Operations that succeeded, as a share of those that ended: `success_rate(x)`.
    SuccessRate,
    Mean,
    Min,
    Max,
    /// The quantile, in 0..=1: `p98(x)`.
    Quantile(f64),
}

impl Stat {
    /// True for those of a distribution of times.
    pub fn is_of_times(self) -> bool {
        match self {
            Stat::Mean | Stat::Min | Stat::Max | Stat::Quantile(_) => true,
            Stat::Count
            | Stat::Rate
            | Stat::Offered
            | Stat::Begun
            | Stat::Errors
            | Stat::ErrorRate
            | Stat::SuccessRate => false,
        }
    }
}

/// Which of a measure's durations, and of which operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Basis {
    /// done − due of all operations, those that were never answered as a lower bound: `p98(x)`.
    Response,
    /// done − due of those that succeeded: `p98(x.succeeded)`. Also which are counted: `rate(x.succeeded)`.
    Succeeded,
    /// done − sent of those that succeeded: `p98(x.service)`.
    Service,
    /// sent − due of the same: `p98(x.lag)`.
    Lag,
}
