//! Factorial designs: effects, their intervals, and the allocation of variation.
//!
//! Jain, "The Art of Computer Systems Performance Analysis" (1991), chapters 17 (2^k), 18 (2^k
//! with repetitions), 19 (2^(k−r)) and 20 to 23 (one and more factors of several levels), as one
//! linear model: a column of ones, and for each term the products of its factors' columns, coded
//! so that the effects of a factor's levels add up to 0. Where the design is balanced this is the
//! sign table; where repetitions are missing it still is the best unbiased estimate.

#![deny(missing_docs)]

mod checks;
pub mod regression;
mod terms;

pub use checks::{Test, brown_forsythe, shapiro_wilk, spearman};
pub use terms::Alias;

use crate::finite::is_measurable;
use crate::mean::mean;
use crate::tail;

use crate::factorial::regression::{LeastSquares, RegressionError, least_squares};
use terms::{Candidate, candidates, column_value};

/// Most factors of a design.
pub const FACTORS_MAX: usize = 12;
/// Values below this share of the greatest one are rounding errors, and count as 0.
const ROUNDING: f64 = 1e-13;
/// Most columns of the model: interactions of more factors are counted as errors beyond.
const COLUMNS_MAX: usize = 512;

/// One observation of a design.
#[derive(Debug, Clone, PartialEq)]
pub struct Observation {
    /// The level of each factor, from 0.
    pub levels: Vec<usize>,
    /// The observed value.
    pub value: f64,
}

/// Why a design could not be analysed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum FactorialError {
    /// There are no factors, or too many.
    #[error("{0} factors; a design has 1 to {FACTORS_MAX}")]
    Factors(usize),
    /// A factor has fewer than two levels that were seen.
    #[error("factor {factor} was seen at fewer than two levels")]
    OneLevel {
        /// The factor, from 0.
        factor: usize,
    },
    /// An observation names a level that there is not.
    #[error("an observation has no level of factor {factor}, or one that there is not")]
    UnknownLevel {
        /// The factor, from 0.
        factor: usize,
    },
    /// A value is not finite, or so large that its square is not.
    #[error("not all values are finite, and 1e100 at most")]
    NotFinite,
    /// All values are the same: there is no variation to allocate.
    #[error("all values are the same")]
    Constant,
    /// Not even the main effects can be separated.
    #[error("too many cells are missing: the main effects cannot be separated")]
    TooFew,
}

/// A number with its uncertainty, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The estimate itself.
    pub value: f64,
    /// `None` where nothing is left to estimate errors from.
    pub interval: Option<Interval>,
}

/// A confidence interval, by Student's t.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The estimate's standard deviation.
    pub standard_error: f64,
    /// The lower bound.
    pub low: f64,
    /// The upper bound.
    pub high: f64,
}

/// A main effect or an interaction.
#[derive(Debug, Clone, PartialEq)]
pub struct Term {
    /// Factors of the term, from 0, in rising order.
    pub factors: Vec<usize>,
    /// Terms that are aliased with it in this design.
    pub aliases: Vec<Alias>,
    /// For factors with two levels, half of the way from the low to the high level: Jain's q.
    pub effect: Option<Estimate>,
    /// For a single factor, the difference of each level from the mean.
    pub level_effects: Vec<Estimate>,
    /// For a single factor, the model's mean at each level, over all levels of the others alike.
    pub level_means: Vec<Estimate>,
    /// Degrees of freedom.
    pub df: usize,
    /// The sum of squares that it explains beyond all other terms.
    pub ss: f64,
    /// That sum's share of the total variation, in 0..=1.
    pub share: f64,
    /// F ratio and the probability of a greater one; `None` without errors to compare with.
    pub f_test: Option<Test>,
}

/// The variation that the terms do not explain.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ErrorTerm {
    /// Degrees of freedom, at least 1.
    pub df: usize,
    /// Sum of squares.
    pub ss: f64,
    /// Share of the total variation.
    pub share: f64,
    /// The standard deviation of errors.
    pub deviation: f64,
}

/// A design that was analysed.
#[derive(Debug, Clone, PartialEq)]
pub struct Factorial {
    /// The mean of the model, Jain's q₀: of all cells alike, however often each was repeated.
    pub mean: Estimate,
    /// Terms that are aliased with the mean in this design.
    pub mean_aliases: Vec<Alias>,
    /// All terms of the model, those of fewer factors first.
    pub terms: Vec<Term>,
    /// Interactions of more factors than this are not in the model, and count as errors.
    pub order_max: usize,
    /// Whether the terms' shares and the error's add up to the total.
    pub orthogonal: bool,
    /// The sum of squares about the mean of all observations.
    pub total_ss: f64,
    /// `None` where the model has as many coefficients as there are observations.
    pub error: Option<ErrorTerm>,
    /// Prediction of the model for each observation.
    pub fitted: Vec<f64>,
    /// Observations less the model's predictions.
    pub residuals: Vec<f64>,
    /// Whether values rise or fall in their order: the partial correlation with it, given the model,
    /// and its p-value by Student's t. `None` if no error is left to estimate it from.
    pub trend: Option<Test>,
}

/// Analyses a design whose factors have these numbers of levels. `confidence`: of the intervals, strictly
/// between 0 and 1.
///
/// # Errors
/// If there is nothing to estimate.
///
/// # Panics
/// If `confidence` does not lie strictly between 0 and 1.
pub fn factorial(
    levels_count: &[usize],
    observations: &[Observation],
    confidence: f64,
) -> Result<Factorial, FactorialError> {
    assert!(confidence > 0.0 && confidence < 1.0, "confidence {confidence} is not between 0 and 1");
    check(levels_count, observations)?;
    let values: Vec<f64> = observations.iter().map(|o| o.value).collect();
    let found = candidates(levels_count, observations);
    let (model, mut fit) = largest_model(&found.terms, levels_count, observations, &values)?;
    take_rounding_away(&mut fit, &values);
    let judge = Uncertainty::new(&fit, confidence);
    let mean_of_all = mean(&values);
    let total_ss: f64 = values.iter().map(|y| (y - mean_of_all).powi(2)).sum();
    // Differences whose squares vanish are none.
    if !total_ss.is_normal() {
        return Err(FactorialError::Constant);
    }
    let error = judge.error_variance.map(|variance| ErrorTerm {
        df: fit.residual_df,
        ss: fit.residual_ss,
        share: fit.residual_ss / total_ss,
        deviation: variance.sqrt(),
    });
    let mut terms = Vec::with_capacity(model.terms.len());
    for (number, term) in model.terms.iter().enumerate() {
        let ss = model.sum_of_squares(number, &fit, &values);
        terms.push(judge.term(term, model.first_column(number), ss, total_ss));
    }
    let explained: f64 = terms.iter().map(|term| term.ss).sum();
    let accounted = explained + error.map_or(0.0, |error| error.ss);
    Ok(Factorial {
        mean: judge.estimate(&[1.0]),
        mean_aliases: found.mean_aliases,
        order_max: model.order_max,
        orthogonal: (accounted / total_ss - 1.0).abs() < 1e-6,
        total_ss,
        error,
        terms,
        trend: model.trend(&values),
        fitted: fit.fitted,
        residuals: fit.residuals,
    })
}

/// The letter of a factor, by its index, in tables and generators: A, B, C, … without I, which is the mean.
pub fn factor_letter(factor: usize) -> char {
    let letters = ('A'..='Z').filter(|&letter| letter != 'I');
    letters.clone().nth(factor).unwrap_or('?')
}

/// Makes exact what would be without rounding, so that repetitions which do not differ have no
/// errors, and factors that change nothing no effects.
fn take_rounding_away(fit: &mut LeastSquares, values: &[f64]) {
    let greatest = values.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
    let least = ROUNDING * greatest;
    for coefficient in &mut fit.coefficients {
        if coefficient.abs() <= least {
            *coefficient = 0.0;
        }
    }
    if fit.residuals.iter().all(|residual| residual.abs() <= least) {
        fit.residuals.fill(0.0);
        fit.residual_ss = 0.0;
    }
}

fn check(levels_count: &[usize], observations: &[Observation]) -> Result<(), FactorialError> {
    let factors = levels_count.len();
    if !(1..=FACTORS_MAX).contains(&factors) {
        return Err(FactorialError::Factors(factors));
    }
    for (factor, &count) in levels_count.iter().enumerate() {
        let mut seen = vec![false; count];
        for observation in observations {
            match observation.levels.get(factor).and_then(|&at| seen.get_mut(at)) {
                Some(seen) => *seen = true,
                None => return Err(FactorialError::UnknownLevel { factor }),
            }
        }
        if seen.iter().filter(|&&seen| seen).count() < 2 || seen.contains(&false) {
            return Err(FactorialError::OneLevel { factor });
        }
    }
    if !observations.iter().all(|o| is_measurable(o.value)) {
        return Err(FactorialError::NotFinite);
    }
    if observations.iter().all(|o| o.value == observations[0].value) {
        return Err(FactorialError::Constant);
    }
    Ok(())
}

/// Terms with their columns; the first column is the mean's.
struct Model<'t> {
    terms: Vec<&'t Candidate>,
    columns: Vec<Vec<f64>>,
    order_max: usize,
}

/// The model with the interactions of most factors whose coefficients the observations determine.
fn largest_model<'t>(
    candidates: &'t [Candidate],
    levels_count: &[usize],
    observations: &[Observation],
    values: &[f64],
) -> Result<(Model<'t>, LeastSquares), FactorialError> {
    for order_max in (1..=levels_count.len()).rev() {
        let terms: Vec<&Candidate> =
            candidates.iter().filter(|term| term.factors.len() <= order_max).collect();
        let columns_count = terms.iter().fold(1, |sum: usize, term| sum.saturating_add(term.df));
        if columns_count > observations.len().min(COLUMNS_MAX) {
            continue;
        }
        let mut columns = vec![vec![1.0; observations.len()]];
        for term in &terms {
            columns.extend(term.columns(levels_count, observations));
        }
        match least_squares(&columns, values) {
            Ok(fit) => {
                let model = Model { terms, columns, order_max };
                return Ok((model, fit));
            }
            Err(RegressionError::NotFinite) => return Err(FactorialError::NotFinite),
            // Fewer terms may be separable.
            Err(_) => {}
        }
    }
    Err(FactorialError::TooFew)
}

impl Model<'_> {
    fn first_column(&self, term: usize) -> usize {
        1 + self.terms[..term].iter().map(|term| term.df).sum::<usize>()
    }

    /// Whether values rise or fall in their order, given the model: the order as one more column of
    /// it. Residuals against the order would not do, since they are not independent of each other.
    fn trend(&self, values: &[f64]) -> Option<Test> {
        let mut columns = self.columns.clone();
        columns.push((0..values.len()).map(|at| at as f64).collect());
        // An order that the model knows already makes no further column.
        let fit = least_squares(&columns, values).ok()?;
        let (slope, before) = fit.coefficients.split_last()?;
        let mut unit = vec![0.0; before.len()];
        unit.push(1.0);
        let ss = slope * slope / fit.unscaled_variance(&unit);
        let all_ss = ss + fit.residual_ss;
        if fit.residual_df == 0 || all_ss <= 0.0 {
            return None;
        }
        let statistic = (ss / all_ss).sqrt().copysign(*slope);
        let p = checks::correlation_p(statistic, fit.residual_df)?;
        Some(Test { statistic, p })
    }

    /// The growth of the error's sum of squares if the term is left out.
    fn sum_of_squares(&self, term: usize, fit: &LeastSquares, values: &[f64]) -> f64 {
        let first = self.first_column(term);
        let df = self.terms[term].df;
        if df == 1 {
            let mut unit = vec![0.0; first];
            unit.push(1.0);
            return fit.coefficients[first].powi(2) / fit.unscaled_variance(&unit);
        }
        let others: Vec<Vec<f64>> =
            self.columns[..first].iter().chain(&self.columns[first + df..]).cloned().collect();
        // Fewer of columns that are independent are independent.
        least_squares(&others, values)
            .map_or(f64::NAN, |without| (without.residual_ss - fit.residual_ss).max(0.0))
    }
}

/// The uncertainty that turns coefficients into estimates.
struct Uncertainty<'f> {
    fit: &'f LeastSquares,
    error_variance: Option<f64>,
    /// Student's t for the confidence.
    t: f64,
}

impl<'f> Uncertainty<'f> {
    fn new(fit: &'f LeastSquares, confidence: f64) -> Uncertainty<'f> {
        let tail = (1.0 - confidence) / 2.0;
        Uncertainty {
            fit,
            error_variance: fit.error_variance(),
            t: tail::student_quantile(1.0 - tail, fit.residual_df as f64),
        }
    }

    fn estimate(&self, weights: &[f64]) -> Estimate {
        let coefficients = self.fit.coefficients.iter();
        let value = weights.iter().zip(coefficients).map(|(w, b)| w * b).sum();
        let interval = self.error_variance.map(|variance| {
            let standard_error = (self.fit.unscaled_variance(weights) * variance).sqrt();
            let reach = self.t * standard_error;
            Interval { standard_error, low: value - reach, high: value + reach }
        });
        Estimate { value, interval }
    }

    fn term(&self, term: &Candidate, first: usize, ss: f64, total_ss: f64) -> Term {
        let df = term.df;
        let of_levels = |mean: f64| -> Vec<Estimate> {
            let levels_count = if term.factors.len() == 1 { df + 1 } else { 0 };
            let levels = (0..levels_count).map(|level| {
                let mut weights = vec![0.0; first];
                weights[0] = mean;
                weights.extend((0..df).map(|column| column_value(level, column)));
                self.estimate(&weights)
            });
            levels.collect()
        };
        let f_test = self.error_variance.map(|variance| {
            let statistic = ss / df as f64 / variance;
            f_test(statistic, df, self.fit.residual_df)
        });
        Term {
            factors: term.factors.clone(),
            aliases: term.aliases.clone(),
            effect: term.is_of_two_levels.then(|| {
                let mut weights = vec![0.0; first];
                weights.push(1.0);
                self.estimate(&weights)
            }),
            level_effects: of_levels(0.0),
            level_means: of_levels(1.0),
            df,
            ss,
            share: share(ss, total_ss),
            f_test,
        }
    }
}

/// A part of the whole, which is 1 if they differ only by rounding.
fn share(ss: f64, total_ss: f64) -> f64 {
    let share = ss / total_ss;
    if (share - 1.0).abs() < ROUNDING * 100.0 { 1.0 } else { share }
}

/// The probability of an F ratio above this one.
fn f_test(statistic: f64, df: usize, error_df: usize) -> Test {
    // An error of exactly 0 makes the ratio infinite, and its probability 0.
    let p = match statistic == f64::INFINITY {
        true => 0.0,
        false => tail::fisher_above(statistic, df as f64, error_df as f64),
    };
    Test { statistic, p }
}

#[cfg(test)]
mod tests;
