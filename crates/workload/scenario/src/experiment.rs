//! Experiments: many runs of one scenario by a design.
//!
//! [`experiment`] reads an experiment's file as [`compile`](crate::compile) reads a scenario's:
//! all problems are reported at once, with their places. [`Table`], from `document`, is the other way in:
//! factors and responses that were measured elsewhere.

mod check;
mod full;
mod generators;
mod published;

pub use crate::document::results::{FACTORS_MAX, Table, TableError, TableFactor, TableRow};

use std::ops::Range;

use crate::Settings;
use crate::check::experiment_checker;
use crate::document::diagnostic::Diagnostic;
use crate::document::{Source, yaml};

/// Most levels of one factor.
pub const LEVELS_MAX: usize = 1000;
/// Most runs of one experiment.
pub const RUNS_MAX: usize = 10_000;
/// Least and greatest confidence of intervals.
pub const CONFIDENCE: std::ops::RangeInclusive<f64> = 0.5..=0.9999;
/// Most repetitions of one combination.
pub const REPETITIONS_MAX: u64 = 1000;
/// Environment variable that gives `before` and `after` the run's number.
pub const RUN_VARIABLE: &str = "THRONG_RUN";

/// An experiment after all checks that need no scenario.
#[derive(Debug, Clone, PartialEq)]
pub struct Experiment {
    pub name: String,
    /// The scenario's file as it is written.
    pub scenario: String,
    /// Overrides for all runs: key and value.
    pub sets: Vec<(String, String)>,
    pub design: Design,
    pub factors: Vec<Factor>,
    pub responses: Vec<Response>,
    pub repetitions: u32,
    pub seed: u64,
    pub warm_up: u32,
    pub pause_ns: u64,
    /// Shell commands around each run.
    pub before: Option<String>,
    pub after: Option<String>,
    pub keeps_untrusted: bool,
    /// Confidence level of the intervals, in 0.5..1.
    pub confidence: f64,
    pub time_max_ns: u64,
    /// The comparison between the runs of a combination.
    pub compare: Option<Compare>,
}

/// Distributions that are compared between the runs of each combination.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compare {
    /// Measures by name, each with where it is written.
    pub measures: Vec<(String, Range<usize>)>,
    /// Width of the bins of the published way.
    pub bin_ns: u64,
    /// Time left out at the beginning of each run.
    pub skip_ns: u64,
}

/// How combinations are chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Design {
    /// All combinations.
    Full,
    /// All combinations of two levels each.
    TwoLevel,
    /// A part of them.
    Fraction(Vec<Generator>),
    /// One factor.
    Sweep,
}

/// A setting that changes from run to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Factor {
    pub name: String,
    /// The first counts as low.
    pub levels: Vec<Level>,
    /// The place of the factor's name.
    pub place: Range<usize>,
}

/// A value of a factor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Level {
    /// As it is written; of a variant its name.
    pub text: String,
    /// Overrides, key and value; the value is in quotes where it was. A variant may have any
    /// number of them.
    pub sets: Vec<(String, String)>,
    pub place: Range<usize>,
}

/// Sets a factor to the product of others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Generator {
    pub factor: usize,
    /// In rising order, none of them set by a generator.
    pub of: Vec<usize>,
    pub negative: bool,
}

/// A figure that is looked at.
#[derive(Debug, Clone, PartialEq)]
pub struct Response {
    /// As thresholds write it.
    pub figure: String,
    pub multiplicative: bool,
    pub published: PublishedResponse,
    pub place: Range<usize>,
}

/// Values that others published for a response; durations in nanoseconds, shares of 1.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PublishedResponse {
    /// The publication; empty: unknown.
    pub source: String,
    /// A value for each of [`Experiment::cells`]; or none.
    pub values: Vec<f64>,
    /// Values of some of them.
    pub values_at: Vec<PublishedValue>,
    pub claims: Vec<Claim>,
}

/// A value, and the combinations that it was measured at.
#[derive(Debug, Clone, PartialEq)]
pub struct PublishedValue {
    /// Level by factor; `None`: at each of its levels.
    pub at: Vec<Option<usize>>,
    pub value: f64,
}

/// An ordering of the levels of a factor by the response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The claim in words; empty: the ordering is all.
    pub text: String,
    pub factor: usize,
    /// The greatest first; levels in one list are not ordered among each other.
    pub order: Vec<Vec<usize>>,
    /// By factor: the level that it was made at; `None`: all.
    pub at: Vec<Option<usize>>,
}

/// Checks an experiment, with what its key `full` replaces where it is wanted `in_full`. There is
/// one exactly where no problem is an error.
pub fn experiment(
    source: Source<'_>,
    settings: &Settings<'_>,
    in_full: bool,
) -> (Option<Experiment>, Vec<Diagnostic>) {
    let mut checker = experiment_checker(source, settings);
    let Some(mut root) = yaml::parse(source.text, &mut checker.diagnostics) else {
        return (None, checker.diagnostics.finish());
    };
    if in_full {
        full::replace(&mut root, &mut checker.diagnostics);
    }
    let found = checker.experiment(&root, source.name);
    let found = found.filter(|_| !checker.diagnostics.has_errors());
    (found, checker.diagnostics.finish())
}

impl Experiment {
    /// The design's combinations, each a level for each factor; the first factor changes fastest.
    pub fn cells(&self) -> Vec<Vec<usize>> {
        let generators = match &self.design {
            Design::Fraction(generators) => &generators[..],
            Design::Full | Design::TwoLevel | Design::Sweep => &[],
        };
        let is_base = |factor: &usize| generators.iter().all(|g| g.factor != *factor);
        let mut cells = vec![vec![0; self.factors.len()]];
        for factor in (0..self.factors.len()).filter(is_base) {
            let levels = 0..self.factors[factor].levels.len();
            cells = levels
                .flat_map(|level| {
                    cells.iter().map(move |cell| {
                        let mut cell = cell.clone();
                        cell[factor] = level;
                        cell
                    })
                })
                .collect();
        }
        for cell in &mut cells {
            for generator in generators {
                cell[generator.factor] = generator.level(cell);
            }
        }
        cells
    }

    /// The overrides of a combination: those of all runs, then the factors'.
    pub fn overrides(&self, cell: &[usize]) -> Vec<(String, String)> {
        let levels = self.factors.iter().zip(cell);
        let levels = levels.flat_map(|(factor, &level)| &factor.levels[level].sets);
        self.sets.iter().chain(levels).cloned().collect()
    }
}

impl PublishedResponse {
    /// The value of each of an experiment's combinations, where there is one; empty if none was published.
    pub fn of_cells(&self, cells: &[Vec<usize>]) -> Vec<Option<f64>> {
        if self.values_at.is_empty() {
            return self.values.iter().copied().map(Some).collect();
        }
        let found = cells.iter().map(|cell| {
            let is_at = |one: &&PublishedValue| {
                let mut levels = one.at.iter().zip(cell);
                levels.all(|(at, level)| at.is_none_or(|at| at == *level))
            };
            self.values_at.iter().find(is_at).map(|one| one.value)
        });
        found.collect()
    }
}

impl Factor {
    /// Environment variable that gives `before` and `after` the factor's level: `THRONG_` and its
    /// name in capitals, with `_` for every character that is neither letter nor digit.
    pub fn variable(&self) -> String {
        let name = self.name.chars().map(|c| match c.is_ascii_alphanumeric() {
            true => c.to_ascii_uppercase(),
            false => '_',
        });
        "THRONG_".chars().chain(name).collect()
    }

    /// The place that its levels are values of; `None` where they are variants.
    pub fn place_set(&self) -> Option<&str> {
        let mut places = self.levels.iter().map(|level| match &level.sets[..] {
            [(place, _)] => Some(place.as_str()),
            _ => None,
        });
        let first = places.next()??;
        places.all(|place| place == Some(first)).then_some(first)
    }
}

impl Generator {
    /// The level that it sets in this combination.
    fn level(&self, cell: &[usize]) -> usize {
        let low = self.of.iter().filter(|&&factor| cell[factor] == 0).count();
        usize::from((low % 2 == 1) == self.negative)
    }
}
