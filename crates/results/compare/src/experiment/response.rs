//! One response: its cells, its model, its tables.

use std::collections::BTreeMap;

use stats::factorial::{Alias, Estimate, Factorial, Observation, Term, factorial};
use stats::mean::mean;

use super::analysis::{
    CellFigures, ErrorFigures, EstimateFigures, FitFigures, InteractionTable, LevelFigures,
    ResponseAnalysis, TermFigures,
};
use super::bars::{self, Scale};
use super::claims;
use super::findings::{self, ResponseEvidence};
use super::published;
use super::scaling;
use super::values::deviation;
use super::{Data, Row, word};

/// The part of a design that remains without missing combinations.
struct ReducedDesign {
    /// The design's number of each factor that is left.
    factors: Vec<usize>,
    /// The design's numbers of the remaining levels of each of these factors.
    levels: Vec<Vec<usize>>,
    observations: Vec<Observation>,
}

/// Analyses response `number`.
pub(super) fn analyze(data: &Data, number: usize) -> ResponseAnalysis {
    let response = &data.responses[number];
    let measured = data
        .rows
        .iter()
        .filter_map(|row| Some((row.levels.as_slice(), row.values.get(number).copied()??)));
    let measured: Vec<(&[usize], f64)> = measured.collect();
    let bounded = bounded(data, number);
    let is_positive = measured.iter().all(|(_, value)| *value > 0.0);
    let multiplicative = response.multiplicative && is_positive;
    let reduced = reduce(data, &measured, multiplicative);
    let levels_count: Vec<usize> = reduced.levels.iter().map(Vec::len).collect();
    // Bounds as values would make effects smaller than they are, and leaving out runs that have them would choose
    // runs by their result: nothing is fitted.
    let fitted = bounded
        .is_empty()
        .then(|| factorial(&levels_count, &reduced.observations, data.confidence));
    let fitted = fitted.as_ref().map(Result::as_ref);
    let problem = fitted.and_then(Result::err);
    let fitted = fitted.and_then(Result::ok);
    let fit = fitted.map(|fit| fit_figures(data, &measured, &reduced, fit));
    let cells = cells(&measured, &bounded);
    let mut findings = findings::of_response(&ResponseEvidence {
        data,
        response,
        cells: &cells,
        values: &measured.iter().map(|(_, value)| *value).collect::<Vec<_>>(),
        unused: unused(data, &reduced),
        is_positive,
        multiplicative,
        rows_without: data.rows.len() - measured.len(),
        bounded: &bounded,
        problem,
        fit: fit.as_ref(),
        trend: fitted.and_then(|fit| fit.trend),
    });
    let scaling = scaling::laws(data, number);
    findings.extend(scaling.iter().map(|law| scaling::in_words(data, law)));
    let scale = Scale { unit: response.unit, multiplicative, confidence: data.confidence };
    let theirs = published::cells(data, response);
    let bars_of = |factor| bars::bars(&cells, &theirs, factor, &scale);
    let claims = claims::figures(data, response, bars_of);
    findings.extend(claims::in_words(&claims));
    let bars = bars_of(bars::factor(response, &data.factors));
    ResponseAnalysis {
        name: response.name.clone(),
        unit: response.unit,
        model: if multiplicative { "multiplicative" } else { "additive" },
        cells,
        bars,
        findings,
        fit,
        scaling,
        published: published::figures(data, number, multiplicative, claims),
    }
}

/// The observations with numbers for levels and factors that were seen at all; a factor that was
/// seen at one level only shows nothing.
fn reduce(data: &Data, measured: &[(&[usize], f64)], multiplicative: bool) -> ReducedDesign {
    let seen = |factor: usize| -> Vec<usize> {
        let count = data.factors[factor].1.len();
        let levels = 0..count;
        levels.filter(|level| measured.iter().any(|(levels, _)| levels[factor] == *level)).collect()
    };
    let factors: Vec<usize> =
        (0..data.factors.len()).filter(|&factor| seen(factor).len() > 1).collect();
    let levels: Vec<Vec<usize>> = factors.iter().map(|&factor| seen(factor)).collect();
    let observations = measured.iter().map(|(row, value)| Observation {
        levels: factors
            .iter()
            .zip(&levels)
            .filter_map(|(&factor, levels)| levels.iter().position(|&level| level == row[factor]))
            .collect(),
        value: if multiplicative { value.log10() } else { *value },
    });
    ReducedDesign { observations: observations.collect(), factors, levels }
}

/// Names of the factors that are excluded.
fn unused<'d>(data: &'d Data, reduced: &ReducedDesign) -> Vec<&'d str> {
    let all = data.factors.iter().enumerate();
    all.filter(|(number, _)| !reduced.factors.contains(number))
        .map(|(_, (name, _))| name.as_str())
        .collect()
}

/// The rows of which only a lower bound is known, with it.
fn bounded(data: &Data, number: usize) -> Vec<(&Row, f64)> {
    let rows = data.rows.iter().filter(|row| row.bounds.contains(&number));
    let rows = rows.filter_map(|row| Some((row, row.values.get(number).copied()??)));
    rows.collect()
}

fn cells(measured: &[(&[usize], f64)], bounded: &[(&Row, f64)]) -> Vec<CellFigures> {
    // By levels, the first factor changing fastest.
    let mut cells: BTreeMap<Vec<usize>, Vec<f64>> = BTreeMap::new();
    for (levels, value) in measured {
        let key = levels.iter().rev().copied().collect();
        cells.entry(key).or_default().push(*value);
    }
    let figures = cells.into_iter().map(|(key, values)| {
        let levels: Vec<usize> = key.into_iter().rev().collect();
        let of_cell = bounded.iter().filter(|(row, _)| row.levels == levels);
        let bounds = of_cell.count();
        CellFigures {
            levels,
            bounds,
            mean: mean(&values),
            deviation: deviation(&values).filter(|_| bounds == 0),
            values,
        }
    });
    figures.collect()
}

fn fit_figures(
    data: &Data,
    measured: &[(&[usize], f64)],
    reduced: &ReducedDesign,
    fit: &Factorial,
) -> FitFigures {
    FitFigures {
        mean: estimate(&fit.mean),
        mean_aliases: fit.mean_aliases.iter().map(|alias| alias_word(alias, reduced)).collect(),
        terms: fit.terms.iter().map(|term| term_figures(data, term, reduced)).collect(),
        order_max: fit.order_max,
        shares_add_up: fit.orthogonal,
        total_ss: fit.total_ss,
        error: fit.error.map(|error| ErrorFigures {
            df: error.df,
            ss: error.ss,
            share: error.share,
            deviation: error.deviation,
        }),
        fitted: fit.fitted.clone(),
        residuals: fit.residuals.clone(),
        interactions: interactions(data, measured, &reduced.factors),
    }
}

fn estimate(estimate: &Estimate) -> EstimateFigures {
    EstimateFigures {
        value: estimate.value,
        standard_error: estimate.interval.map(|interval| interval.standard_error),
        low: estimate.interval.map(|interval| interval.low),
        high: estimate.interval.map(|interval| interval.high),
    }
}

fn alias_word(alias: &Alias, reduced: &ReducedDesign) -> String {
    let factors: Vec<usize> = alias.factors.iter().map(|&f| reduced.factors[f]).collect();
    let sign = if alias.negative { "−" } else { "" };
    format!("{sign}{}", word(&factors))
}

fn term_figures(data: &Data, term: &Term, reduced: &ReducedDesign) -> TermFigures {
    let factors: Vec<usize> = term.factors.iter().map(|&f| reduced.factors[f]).collect();
    let names = term.factors.first().map_or(&[][..], |&f| &reduced.levels[f]);
    let levels = names.iter().zip(term.level_means.iter().zip(&term.level_effects)).map(
        |(&level, (mean, effect))| LevelFigures {
            level: data.factors[factors[0]].1[level].clone(),
            mean: estimate(mean),
            effect: estimate(effect),
        },
    );
    TermFigures {
        name: word(&factors),
        aliases: term.aliases.iter().map(|alias| alias_word(alias, reduced)).collect(),
        effect: term.effect.as_ref().map(estimate),
        levels: levels.collect(),
        df: term.df,
        ss: term.ss,
        share: term.share,
        f: term.f_test.map(|test| test.statistic).filter(|f| f.is_finite()),
        p: term.f_test.map(|test| test.p).filter(|p| p.is_finite()),
        factors,
    }
}

/// A table for each two factors.
fn interactions(
    data: &Data,
    measured: &[(&[usize], f64)],
    factors: &[usize],
) -> Vec<InteractionTable> {
    let pairs = factors.iter().enumerate().flat_map(|(at, &first)| {
        let others = factors[at + 1..].iter();
        others.map(move |&second| [first, second])
    });
    let tables = pairs.map(|[first, second]| {
        let at = |row: usize, column: usize| -> Option<f64> {
            let here: Vec<f64> = measured
                .iter()
                .filter(|(levels, _)| levels[first] == row && levels[second] == column)
                .map(|(_, value)| *value)
                .collect();
            (!here.is_empty()).then(|| mean(&here))
        };
        let rows = 0..data.factors[first].1.len();
        let means = rows.map(|row| {
            let columns = 0..data.factors[second].1.len();
            columns.map(|column| at(row, column)).collect()
        });
        InteractionTable { factors: [first, second], means: means.collect() }
    });
    tables.collect()
}
