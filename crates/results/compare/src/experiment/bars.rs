//! The means of one factor's levels side by side, for each combination of the other factors.

use std::collections::BTreeMap;

use judge::limits::EXPERIMENT_SIGNIFICANCE;
use serde::Serialize;
use stats::factorial::brown_forsythe;
use stats::mean::mean;
use stats::student::{mean_interval, two_sided_t};
use units::Unit;

use super::ResponseData;
use super::analysis::CellFigures;

/// Means by the levels of a factor.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bars {
    /// The factor whose levels stand side by side, from 0.
    pub factor: usize,
    /// The combinations of the other factors that were measured, in the order of the design.
    pub groups: Vec<BarGroup>,
}

/// The means of one combination of the other factors.
#[derive(Debug, Clone, PartialEq, Serialize, ts_rs::TS)]
pub struct BarGroup {
    /// By factor, from 0; `None` of the factor whose levels stand side by side.
    pub levels: Vec<Option<usize>>,
    /// True if one scatter of all its runs determines the intervals; false if each bar has its own, because the
    /// scatter differs.
    pub pooled: bool,
    /// Bars by level.
    pub bars: Vec<Bar>,
}

/// The mean of one combination.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, ts_rs::TS)]
pub struct Bar {
    /// The level, from 0.
    pub level: usize,
    /// How many runs it is of.
    pub runs: usize,
    /// The mean; the geometric mean for a multiplicative model.
    pub mean: f64,
    /// The lower end of its interval; `None` without repetitions, and if the mean is a bound.
    pub low: Option<f64>,
    /// The upper one.
    pub high: Option<f64>,
    /// True if the mean is only known to be at least this.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_bound: bool,
    /// The value that others published.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<f64>,
}

/// Scale of the response, which the intervals depend on.
pub(super) struct Scale {
    pub(super) unit: Unit,
    pub(super) multiplicative: bool,
    pub(super) confidence: f64,
}

/// The factor whose levels are compared: that of the first claim, or the one with most levels.
pub(super) fn factor(response: &ResponseData, factors: &[(String, Vec<String>)]) -> usize {
    let claimed = response.published.claims.first().map(|claim| claim.factor);
    let most = (0..factors.len()).rev().max_by_key(|&n| factors[n].1.len());
    claimed.or(most).unwrap_or(0)
}

/// The means of `cells` by the levels of `factor`, each beside what was published for it.
pub(super) fn bars(
    cells: &[CellFigures],
    published: &[(Vec<usize>, f64)],
    factor: usize,
    scale: &Scale,
) -> Bars {
    // In the order of the cells, the first factor changing fastest.
    let mut groups: BTreeMap<Vec<usize>, Vec<&CellFigures>> = BTreeMap::new();
    for cell in cells.iter().filter(|cell| cell.levels.len() > factor) {
        let others = cell.levels.iter().enumerate().filter(|(n, _)| *n != factor);
        let key = others.map(|(_, level)| *level).rev().collect();
        groups.entry(key).or_default().push(cell);
    }
    let groups = groups.into_values().map(|cells| {
        let mut group = group(&cells, factor, scale);
        for (bar, cell) in group.bars.iter_mut().zip(&cells) {
            let found = published.iter().find(|(levels, _)| *levels == cell.levels);
            bar.published = found.map(|(_, value)| *value);
        }
        group
    });
    Bars { factor, groups: groups.collect() }
}

/// Intervals by Student's t with the scatter of all runs of the group: a one-factor experiment, Jain (1991), chapter 20.
/// If the scatter differs between its bars (Brown and Forsythe 1974), each has its own.
fn group(cells: &[&CellFigures], factor: usize, scale: &Scale) -> BarGroup {
    let values: Vec<Vec<f64>> = cells.iter().map(|cell| scale.model(&cell.values)).collect();
    let known = cells.iter().zip(&values);
    let known = known.filter(|(cell, values)| cell.bounds == 0 && values.len() > 1);
    let known: Vec<Vec<f64>> = known.map(|(_, values)| values.clone()).collect();
    let differs = brown_forsythe(&known).is_some_and(|test| test.p < EXPERIMENT_SIGNIFICANCE);
    let freedom: usize = known.iter().map(|values| values.len() - 1).sum();
    let squares: f64 = known.iter().map(|values| squares(values)).sum();
    let bars = cells.iter().zip(&values).map(|(cell, values)| {
        let middle = mean(values);
        let ends = if cell.bounds > 0 {
            None
        } else if differs {
            mean_interval(values, scale.confidence)
        } else {
            (freedom > 0).then(|| {
                let variance = squares / freedom as f64 / values.len() as f64;
                let half = two_sided_t(scale.confidence, freedom as f64) * variance.sqrt();
                (middle - half, middle + half)
            })
        };
        Bar {
            level: cell.levels[factor],
            runs: cell.values.len(),
            mean: scale.measured(middle),
            low: ends.map(|(low, _)| scale.possible(low)),
            high: ends.map(|(_, high)| scale.possible(high)),
            is_bound: cell.bounds > 0,
            published: None,
        }
    });
    let levels = cells.first().map_or(&[][..], |cell| &cell.levels);
    let levels = levels.iter().enumerate();
    BarGroup {
        levels: levels.map(|(n, level)| (n != factor).then_some(*level)).collect(),
        pooled: !differs,
        bars: bars.collect(),
    }
}

/// The sum of squares about the mean.
fn squares(values: &[f64]) -> f64 {
    let middle = mean(values);
    values.iter().map(|value| (value - middle).powi(2)).sum()
}

impl Scale {
    /// Values as the model has them.
    fn model(&self, values: &[f64]) -> Vec<f64> {
        match self.multiplicative {
            true => values.iter().map(|value| value.log10()).collect(),
            false => values.to_vec(),
        }
    }

    /// A value of the model as it is measured.
    fn measured(&self, value: f64) -> f64 {
        match self.multiplicative {
            true => 10_f64.powf(value),
            false => value,
        }
    }

    /// The end of an interval, which holds nothing that cannot be: no time below 0, and no share above 1.
    fn possible(&self, end: f64) -> f64 {
        let end = self.measured(end);
        match self.unit {
            Unit::Plain => end,
            Unit::Share => end.clamp(0.0, 1.0),
            Unit::Nanoseconds | Unit::PerSecond | Unit::Count => end.max(0.0),
        }
    }
}
