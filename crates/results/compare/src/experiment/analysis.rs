//! The analysis of an experiment, as it stands in `analysis.json`.

use record::schema::Finding;
use serde::Serialize;

use units::Unit;

/// The format of `analysis.json`; raised when an old reader would misread a new file.
pub(super) const FORMAT: u32 = 1;

/// An experiment's analysis.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Analysis {
    /// Version of the file's format.
    pub format: u32,
    /// The experiment's name.
    pub name: String,
    /// Confidence of all intervals, in 0..1.
    pub confidence: f64,
    /// The factors by letter.
    pub factors: Vec<FactorFigures>,
    /// Rows of levels and values.
    pub observations: usize,
    /// Products of factors that are the same in all observations: what is confounded follows.
    pub confounded: Vec<String>,
    /// Combinations that are not there, or not as often as planned.
    pub missing: Vec<MissingCell>,
    /// Runs that do not count.
    pub left_out: Vec<LeftOut>,
    /// Findings that concern all responses.
    pub findings: Vec<Finding>,
    /// One by one.
    pub responses: Vec<ResponseAnalysis>,
    /// The runs of each combination compared with each other, where that was requested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ensembles: Vec<super::Ensemble>,
    /// What is certain of the effects, if the number of repetitions is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<super::ExperimentDecision>,
}

/// A factor.
#[derive(Debug, Clone, PartialEq, Serialize, ts_rs::TS)]
pub struct FactorFigures {
    /// It stands for the factor in the names of terms.
    pub letter: char,
    /// Name of the factor.
    pub name: String,
    /// The factor's levels; of two the first is low.
    pub levels: Vec<String>,
}

/// A combination that was measured too rarely.
#[derive(Debug, Clone, PartialEq, Serialize, ts_rs::TS)]
pub struct MissingCell {
    /// Levels by factor.
    pub levels: Vec<String>,
    /// How often it should be there.
    pub planned: usize,
    /// How often it is.
    pub found: usize,
}

/// A run that does not count.
#[derive(Debug, Clone, PartialEq, Serialize, ts_rs::TS)]
pub struct LeftOut {
    /// Which.
    pub run: String,
    /// Why.
    pub why: String,
}

/// One response.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ResponseAnalysis {
    /// The figure, or the column.
    pub name: String,
    /// `ns`, `1/s`, `share`, `count`, or nothing.
    pub unit: Unit,
    /// `additive` or `multiplicative`. All figures of a multiplicative fit are of the values'
    /// decimal logarithms.
    pub model: &'static str,
    /// The combinations that were seen, in the order of the design.
    pub cells: Vec<CellFigures>,
    /// Findings about the response.
    pub findings: Vec<Finding>,
    /// `None` where a finding says why.
    pub fit: Option<FitFigures>,
    /// The scalability law by factors that count something.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scaling: Vec<super::ScalingLaw>,
    /// The means of the levels of one factor, for each combination of the others.
    pub bars: super::Bars,
    /// Values that others published, if the experiment lists any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<PublishedFigures>,
}

/// Values that others published: the same model, fitted to them, and the publication's claims.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PublishedFigures {
    /// The publication; empty: unknown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub source: String,
    /// The mean of the values; `None` unless there is one for each combination that suits the model.
    pub mean: Option<f64>,
    /// Main effects and interactions; empty without a mean.
    pub terms: Vec<PublishedTerm>,
    /// The values: levels by factor, and what was measured.
    pub cells: Vec<(Vec<usize>, f64)>,
    /// The publication's claims, and whether they hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<super::ClaimFigures>,
}

/// A main effect or an interaction of values that others measured.
#[derive(Debug, Clone, PartialEq, Serialize, ts_rs::TS)]
pub struct PublishedTerm {
    /// Letters of the term's factors.
    pub name: String,
    /// Jain's q; of factors with two levels.
    pub effect: Option<f64>,
    /// The term's share of the total variation.
    pub share: f64,
}

/// The values of one combination, as they were measured.
#[derive(Debug, Clone, PartialEq, Serialize, ts_rs::TS)]
pub struct CellFigures {
    /// Levels by factor, from 0.
    pub levels: Vec<usize>,
    /// Values in the order in which they were measured.
    pub values: Vec<f64>,
    /// How many of them are only lower bounds; then the mean is one, too.
    #[serde(default, skip_serializing_if = "is_none")]
    pub bounds: usize,
    /// Their mean.
    pub mean: f64,
    /// Their standard deviation; `None` of a single one, and if there are bounds.
    pub deviation: Option<f64>,
}

fn is_none(count: &usize) -> bool {
    *count == 0
}

/// A fitted model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FitFigures {
    /// Jain's q₀.
    pub mean: EstimateFigures,
    /// Terms that it cannot be separated from.
    pub mean_aliases: Vec<String>,
    /// Terms of fewer factors come first.
    pub terms: Vec<TermFigures>,
    /// Interactions of more factors than this count as errors.
    pub order_max: usize,
    /// Whether the shares of terms and errors add up to 1.
    pub shares_add_up: bool,
    /// Sum of squares about the mean.
    pub total_ss: f64,
    /// `None` where there is nothing to estimate errors from.
    pub error: Option<ErrorFigures>,
    /// The model's values, by observation.
    pub fitted: Vec<f64>,
    /// The residuals, by observation.
    pub residuals: Vec<f64>,
    /// Means of the values by the levels of two factors.
    pub interactions: Vec<InteractionTable>,
}

/// An estimate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, ts_rs::TS)]
pub struct EstimateFigures {
    /// The best guess.
    pub value: f64,
    /// The estimate's standard deviation, if it is known.
    pub standard_error: Option<f64>,
    /// The lower bound of its interval.
    pub low: Option<f64>,
    /// The upper one.
    pub high: Option<f64>,
}

/// A main effect or an interaction.
#[derive(Debug, Clone, PartialEq, Serialize, ts_rs::TS)]
pub struct TermFigures {
    /// Letters of the term's factors.
    pub name: String,
    /// Numbers of the term's factors, from 0.
    pub factors: Vec<usize>,
    /// Terms that it cannot be separated from; with a sign where theirs is the other.
    pub aliases: Vec<String>,
    /// Jain's q: half of the way from low to high; of factors with two levels.
    pub effect: Option<EstimateFigures>,
    /// The levels, for the term of a single factor.
    pub levels: Vec<LevelFigures>,
    /// Degrees of freedom.
    pub df: usize,
    /// Sum of squares.
    pub ss: f64,
    /// The term's share of the total variation.
    pub share: f64,
    /// F ratio.
    pub f: Option<f64>,
    /// The probability of a greater one by chance.
    pub p: Option<f64>,
}

/// A level of a factor.
#[derive(Debug, Clone, PartialEq, Serialize, ts_rs::TS)]
pub struct LevelFigures {
    /// Name of the level.
    pub level: String,
    /// The mean at this level.
    pub mean: EstimateFigures,
    /// The level's effect: the difference from the mean of all.
    pub effect: EstimateFigures,
}

/// Variation that the model does not explain.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, ts_rs::TS)]
pub struct ErrorFigures {
    /// Degrees of freedom.
    pub df: usize,
    /// Sum of squares.
    pub ss: f64,
    /// The error's share of the total variation.
    pub share: f64,
    /// The standard deviation of errors.
    pub deviation: f64,
}

/// Means by the levels of two factors, of the values as they were measured.
#[derive(Debug, Clone, PartialEq, Serialize, ts_rs::TS)]
pub struct InteractionTable {
    /// Rows and columns, from 0.
    pub factors: [usize; 2],
    /// By the first factor's level, then the second's; `None` where nothing was measured.
    pub means: Vec<Vec<Option<f64>>>,
}
