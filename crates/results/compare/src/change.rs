//! The figures that are compared, the rules of the decision, and how a figure differs.

use serde::Serialize;
use stats::permute::choices;

/// Figures of a measure that are compared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Figure {
    /// Arithmetic mean of the time.
    Mean,
    /// Quantile of the time, of this share.
    Quantile(f64),
    /// Operations that the target completed, per second of the load.
    Rate,
    /// Share of operations that failed.
    ErrorRate,
    /// The whole distribution of the time.
    Shape,
    /// How runs of one side scatter: the mean distance of the primary figure from its median, as a share.
    Spread,
}

impl Figure {
    /// `mean`, `p99`, `rate`, `error_rate`, `shape`, `spread`.
    pub fn name(self) -> String {
        match self {
            Figure::Mean => "mean".to_owned(),
            Figure::Quantile(q) => {
                // 0.999 · 100 is 99.9 and a little.
                let percent = (q * 1e8).round() / 1e6;
                format!("p{percent}")
            }
            Figure::Rate => "rate".to_owned(),
            Figure::ErrorRate => "error_rate".to_owned(),
            Figure::Shape => "shape".to_owned(),
            Figure::Spread => "spread".to_owned(),
        }
    }

    /// The figure in the words of people: `mean`, `p99`, `completed/s`, `errors`, `shape`, `spread of runs`.
    pub fn label(self) -> String {
        match self {
            Figure::Rate => "completed/s".to_owned(),
            Figure::ErrorRate => "errors".to_owned(),
            Figure::Spread => "spread of runs".to_owned(),
            figure => figure.name(),
        }
    }
}

impl Serialize for Figure {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.name())
    }
}

/// Observations that the decision rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ts_rs::TS)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// Permutations of the runs to the two sides; nothing is taken for granted but that runs of one
    /// thing could have come in any order.
    Permutation,
    /// Student's t over runs, Holm's correction: too few runs for permutations ever to reach α.
    /// Takes logarithms of runs' figures for normal.
    Student,
    /// One run a side: their windows are paired, and changed places with each other. What differs
    /// from run to run is not in it.
    Windows,
}

impl Rule {
    /// The rule for this many runs a side.
    pub(crate) fn of(baseline: usize, candidate: usize, alpha: f64) -> Rule {
        if baseline + candidate == 2 {
            return Rule::Windows;
        }
        // With sides of one size, each dealing has a mirror image that is as extreme.
        let alike = if baseline == candidate { 2.0 } else { 1.0 };
        if alike / choices(baseline + candidate, candidate) <= alpha {
            Rule::Permutation
        } else {
            Rule::Student
        }
    }
}

/// A figure's means over the windows of two runs, in the figure's unit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, ts_rs::TS)]
pub struct WindowMeans {
    /// Mean of the window in the baseline's run.
    pub baseline: f64,
    /// Mean of the window in the candidate's run.
    pub candidate: f64,
}

/// How a figure differs between the sides.
#[derive(Debug, Clone, PartialEq, Serialize, ts_rs::TS)]
pub struct Change {
    /// The figure that changed.
    #[ts(type = "string")]
    pub figure: Figure,
    /// The figure in the words of people ([`Figure::label`]).
    pub label: String,
    /// True of the measure's primary figure, which is corrected less than all others.
    pub primary: bool,
    /// Mean over the baseline's runs, each with all of its operations: nanoseconds, per second, or a
    /// share; `None` of a shape.
    pub baseline: Option<f64>,
    /// Mean over the candidate's runs, as for the baseline.
    pub candidate: Option<f64>,
    /// The figure's mean over the windows of each run, where these are compared (one run a side). A
    /// quantile of a run is not the mean of its windows' quantiles.
    pub windows: Option<WindowMeans>,
    /// Candidate minus baseline: of runs, or of the means of their windows if these are compared; of a
    /// shape the mean Kolmogorov–Smirnov distance between runs of the two sides.
    pub difference: f64,
    /// Confidence interval of this difference alone, with confidence 1 − α, over runs (Student's t,
    /// Welch 1947); over pairs of windows where each side is one run.
    pub interval: Option<(f64, f64)>,
    /// The difference as a share of the baseline, or of the mean of its windows; of a shape the greatest among quantiles. `None`
    /// where the baseline is 0.
    pub relative: Option<f64>,
    /// Confidence interval of the relative difference, with confidence 1 − α: that of the difference of logarithms
    /// (Welch 1947; of pairs of windows Student's). `None` of shares and shapes, and where there is no interval.
    pub relative_interval: Option<(f64, f64)>,
    /// Student's t of the figure's logarithm, of a shape the root of a pseudo-F; but for Student's own
    /// rule with a floor under the standard error.
    pub t: f64,
    /// The p-value by the rule, for this figure alone.
    pub p: f64,
    /// Corrected for all figures of all measures, by their weights.
    pub p_adjusted: f64,
    /// How neighbouring pairs of windows are correlated, −1 to 1; `None` where these do not decide, or all
    /// differ by the same.
    pub neighbours: Option<f64>,
    /// `p_adjusted` is at most α.
    pub seen: bool,
    /// Seen, and greater than the tolerance.
    pub counts: bool,
}
