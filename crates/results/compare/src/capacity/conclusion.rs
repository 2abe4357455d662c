//! The result of a search for capacity.

use record::schema::Finding;
use serde::Serialize;

use super::Ending;
use super::bend::Bend;
use crate::law::Parameter;

/// The result of a search.
#[derive(Debug, Clone, PartialEq, Serialize, ts_rs::TS)]
pub struct Conclusion {
    /// The setting that was varied, as `--set` knows it.
    pub of: String,
    /// The unit behind its numbers.
    pub unit: String,
    /// How the search ended.
    pub ending: Ending,
    /// The highest load that holds; `None`: none does.
    pub holds: Option<f64>,
    /// The lowest above it that does not; `None`: all hold.
    pub breaks: Option<f64>,
    /// The load at which the first threshold reaches its limit: estimate, and lower and upper bound with 95 %
    /// confidence; `None` where the runs near the knee do not show it.
    pub crossing: Option<(f64, f64, f64)>,
    /// The most important first.
    pub findings: Vec<Finding>,
    /// All loads, the lowest first.
    pub levels: Vec<LevelFigures>,
    /// The universal scalability law of the target; `None`: see `law_problem`.
    pub law: Option<Law>,
    /// Why no law was fitted.
    pub law_problem: Option<String>,
    /// The first sign of overload at the lowest load that does not hold.
    pub bend: Option<Bend>,
}

/// A load with its trials and their mean figures.
#[derive(Debug, Clone, PartialEq, Serialize, ts_rs::TS)]
pub struct LevelFigures {
    /// The load.
    pub load: f64,
    /// Trials that kept the thresholds.
    pub holds: usize,
    /// Trials that did not.
    pub breaks: usize,
    /// Trials that could not be trusted.
    pub untrusted: usize,
    /// True if the load holds; `None`: not known yet.
    pub held: Option<bool>,
    /// X, mean of the trials that measured something; `None` where none did.
    pub per_s: Option<f64>,
    /// N = X · R, the same.
    pub in_flight: Option<f64>,
    /// Median of the trials' medians of all operations; `None` where nothing took time.
    pub p50_ns: Option<u64>,
    /// True if it is only known to be at least that, since operations were never answered.
    pub p50_is_bound: bool,
    /// Median of their 99th percentiles.
    pub p99_ns: Option<u64>,
    /// As `p50_is_bound`.
    pub p99_is_bound: bool,
    /// Mean of their shares of errors.
    pub error_share: Option<f64>,
}

/// X(N) = λN/(1 + σ(N − 1) + κN(N − 1)), N in flight.
#[derive(Debug, Clone, PartialEq, Serialize, ts_rs::TS)]
pub struct Law {
    /// λ: throughput by second with one in flight on average; value, lower and upper bound.
    pub lambda: Parameter,
    /// σ: contention.
    pub sigma: Parameter,
    /// κ: coherency.
    pub kappa: Parameter,
    /// Trials it was fitted to.
    pub trials: usize,
    /// The greatest number in flight among them; beyond, the law is a guess.
    pub in_flight_max: f64,
    /// Share of the throughputs' scatter that it explains.
    pub r_squared: f64,
    /// In flight where throughput is greatest, lower and upper bound; `None`: it never falls.
    pub peak_in_flight: Option<Parameter>,
    /// The throughput that is never passed; `None`: there is none.
    pub limit_per_s: Option<f64>,
}

impl Law {
    /// Throughput by second with this many in flight.
    pub fn at(&self, in_flight: f64) -> f64 {
        stats::usl::throughput(self.lambda.0, self.sigma.0, self.kappa.0, in_flight)
    }
}
