//! Experiments: what factors do to responses.
//!
//! [`analyze`] takes rows of levels and values, from the runs of an experiment ([`judge::responses::run_values`]) or
//! from a table of results that were measured elsewhere, and estimates effects with intervals, the
//! allocation of variation, and whether what is left over looks like errors: Jain, "The Art of
//! Computer Systems Performance Analysis" (1991), chapters 17 to 23. The mathematics is
//! [`stats::factorial`]'s. Nothing is made up for what is missing.

mod analysis;
mod bars;
mod claims;
mod decided;
mod ensembles;
mod findings;
mod published;
mod response;
mod scaling;
mod values;

pub use analysis::{
    Analysis, CellFigures, ErrorFigures, EstimateFigures, FactorFigures, FitFigures,
    InteractionTable, LeftOut, LevelFigures, MissingCell, PublishedFigures, PublishedTerm,
    ResponseAnalysis, TermFigures,
};
pub use bars::{Bar, BarGroup, Bars};
pub use claims::{Claim, ClaimFigures, ClaimPlace, ClaimVerdict};
pub use decided::{EffectDecision, EffectVerdict, ExperimentDecision, UntilDecided};
pub use ensembles::{
    Ensemble, EnsembleMeasure, EnsembleOptions, EnsembleRun, Histogram, Mode, TestedModes,
    ensemble, wide_bins,
};

pub use scaling::ScalingLaw;

use stats::factorial::factor_letter;

use findings::{left_out, missing};
use units::Unit;

/// The observations of an experiment, in the order in which they were made.
#[derive(Debug, Clone, PartialEq)]
pub struct Data {
    /// Name of the experiment.
    pub name: String,
    /// The factors and their levels' names.
    pub factors: Vec<(String, Vec<String>)>,
    /// The responses and their definitions.
    pub responses: Vec<ResponseData>,
    /// The observations.
    pub rows: Vec<Row>,
    /// The combinations of levels that there should be; none: as many as were seen.
    pub planned: Vec<Vec<usize>>,
    /// How often each of them should be there.
    pub repetitions: usize,
    /// Runs that do not count.
    pub left_out: Vec<LeftOut>,
    /// Confidence of the intervals, strictly between 0 and 1.
    pub confidence: f64,
    /// What an experiment decides whose number of repetitions is open.
    pub until: Option<UntilDecided>,
}

/// A response.
#[derive(Debug, Clone, PartialEq)]
pub struct ResponseData {
    /// The figure, or the column.
    pub name: String,
    /// How it is written.
    pub unit: Unit,
    /// Whether effects are factors instead of sums.
    pub multiplicative: bool,
    /// Values that others published.
    pub published: PublishedResponse,
}

/// Values that others published for a response.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PublishedResponse {
    /// The publication; empty: unknown.
    pub source: String,
    /// The published values, one for each of [`Data::planned`], `None` where nothing was published;
    /// or empty.
    pub values: Vec<Option<f64>>,
    /// Orderings of levels.
    pub claims: Vec<Claim>,
}

/// An observation.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Levels by factor, from 0.
    pub levels: Vec<usize>,
    /// By response; `None` where nothing was measured.
    pub values: Vec<Option<f64>>,
    /// The responses whose value is only a lower bound: operations of the run were never answered.
    pub bounds: Vec<usize>,
    /// The run; empty for a row of a table.
    pub run: String,
    /// Its repetition, from 1; 0 for a row of a table.
    pub repetition: u32,
}

/// Analyses an experiment.
///
/// # Panics
/// If the confidence does not lie strictly between 0 and 1.
pub fn analyze(data: &Data) -> Analysis {
    let responses: Vec<ResponseAnalysis> =
        (0..data.responses.len()).map(|number| response::analyze(data, number)).collect();
    let confounded = confounded(&responses);
    let missing_cells = missing_cells(data);
    let mut findings = Vec::new();
    findings.extend(missing(data, &missing_cells));
    findings.extend(left_out(data));
    let decision = decision(data);
    findings.extend(decision.iter().flat_map(decided::findings));
    Analysis {
        format: analysis::FORMAT,
        name: data.name.clone(),
        confidence: data.confidence,
        factors: data
            .factors
            .iter()
            .enumerate()
            .map(|(number, (name, levels))| FactorFigures {
                letter: factor_letter(number),
                name: name.clone(),
                levels: levels.clone(),
            })
            .collect(),
        observations: data.rows.len(),
        confounded,
        missing: missing_cells,
        left_out: data.left_out.clone(),
        findings,
        responses,
        ensembles: Vec::new(),
        decision,
    }
}

/// What the observations decide, without their analysis; `None` of an experiment whose number of repetitions is fixed.
pub fn decision(data: &Data) -> Option<ExperimentDecision> {
    data.until.map(|until| decided::decide(data, until))
}

/// A term by its factors' letters: `ABC`.
fn word(factors: &[usize]) -> String {
    factors.iter().map(|&factor| factor_letter(factor)).collect()
}

/// The words that mean I, of which all other confounding follows; each response says the same
/// unless values of one are missing.
fn confounded(responses: &[ResponseAnalysis]) -> Vec<String> {
    let fits = responses.iter().filter_map(|response| response.fit.as_ref());
    fits.map(|fit| fit.mean_aliases.clone()).min_by_key(Vec::len).unwrap_or_default()
}

/// Combinations that were to be measured and were not, or not as often.
fn missing_cells(data: &Data) -> Vec<MissingCell> {
    let short = data.planned.iter().filter_map(|cell| {
        let rows = data.rows.iter().filter(|row| row.levels == *cell);
        let found = rows.filter(|row| row.values.iter().any(Option::is_some)).count();
        (found < data.repetitions).then(|| MissingCell {
            levels: level_names(data, cell),
            planned: data.repetitions,
            found,
        })
    });
    short.collect()
}

/// A combination as text.
fn level_names(data: &Data, cell: &[usize]) -> Vec<String> {
    let levels = data.factors.iter().zip(cell);
    levels.map(|((_, names), &level)| names.get(level).cloned().unwrap_or_default()).collect()
}

#[cfg(test)]
mod tests;
