//! Differences between two sides, decided with the run as the unit.
//!
//! Two runs of the same thing differ by more than their samples say: machines drift. So each run is
//! one observation of each figure, however many operations it has. All figures of all measures are
//! tested together; their magnitudes of t are corrected for each other by the greatest among them
//! ([`stats::permute`]), so that the chance of *any* false finding in the whole comparison is α. Each measure with enough
//! operations has one primary figure; the t of all others counts half in the correction.

use stats::mean::mean;
use stats::multiple;
use stats::permute::{Permutations, distance_t, max_t, paired_t, two_sample_t, two_sample_t_of};
use stats::rng::{Purpose, Rng};
use stats::spread::brown_forsythe;
use stats::student;

use super::change::{Change, Figure, Rule, WindowMeans};
use super::read::RunMeasure;
use super::unit::{Ends, Occurrence, Rate, Unit};
use super::{ComparedRun, Options, neighbours};

/// Permutations of runs that are gone through at most; of more, this many are drawn.
const DEALINGS_MAX: usize = 10_000;
/// Differences below this share are never looked for: a third of it, or of the tolerance where that
/// is more, is added to standard errors, or is the least one under Student's rule.
const FLOOR_MIN: f64 = 0.001;
/// Weight of a figure that is no primary one, where the magnitudes of t are compared. A constant that does not depend on
/// the runs, so that the level holds for any.
const SECONDARY_T: f64 = 0.5;
/// The same where p-values are corrected.
pub(crate) const SECONDARY_P: f64 = 0.1;
/// Fewest operations of each run for a measure to have a primary figure. The figures of fewer hardly decide anything, and
/// would cost the others their power.
const PRIMARY_COUNT_MIN: u64 = 100;
/// Fewest runs on each side whose scatter is compared. Of fewer, half may fall into one group by chance where all runs do
/// so with probability 1/2.
const SPREAD_RUNS_MIN: usize = 8;
/// Share of the level that is for the scatter of runs, if that is compared.
const SPREAD_LEVEL: f64 = 0.4;
/// A p-value of the scatter counts this many times. If a quarter of the runs of both sides belong to a group of its own, four
/// of eight on one side and none on the other are rarer by Student's t than they are.
const SPREAD_CAUTION: f64 = 4.0;
/// Quantiles among which the greatest change of a distribution is sought: each twentieth, and p99.
const GRID: usize = 20;
/// Times below this are taken for it before logarithms are taken: a broadcast may have age 0.
const LEAST_NS: f64 = 1.0;

/// The units of a measure on both sides; as many as of any other measure.
#[derive(Debug, Clone)]
pub(crate) struct Sides {
    pub(crate) baseline: Vec<Unit>,
    pub(crate) candidate: Vec<Unit>,
    /// The two runs, if the units are their windows.
    pub(crate) runs: Option<[Vec<Unit>; 2]>,
    /// The Kolmogorov–Smirnov distance of each unit from each, the baseline's first; empty where
    /// shapes are not compared.
    pub(crate) distances: Vec<Vec<f64>>,
}

/// A figure of one measure as the tests take it, and its change but for what they say.
#[derive(Debug, Clone)]
pub(crate) struct Component {
    pub(crate) change: Change,
    /// By unit, the baseline's first, so transformed that differences are shares.
    values: Vec<f64>,
    /// The standard error of the difference that shares have by their counts alone. Where failures are rare, all runs
    /// but one may have none: then nothing scatters, and the next failure is no surprise for all that.
    counted_error: Option<f64>,
    /// Distances between the runs, for a shape.
    distances: Vec<Vec<f64>>,
}

/// The figures of a measure; their samples are needed no more then.
pub(crate) fn components(sides: &Sides, rule: Rule, options: &Options) -> Vec<Component> {
    let mut figures = times(sides.units(), options);
    if sides.units().all(|unit| unit.rate.is_some()) {
        figures.push(Figure::Rate);
    }
    if sides.units().all(|unit| unit.ends.is_some()) {
        figures.push(Figure::ErrorRate);
    }
    let mut all: Vec<Component> = figures
        .into_iter()
        .map(|figure| Component {
            change: change(figure, sides, rule, options),
            values: sides.units().map(|unit| transformed(figure, unit)).collect(),
            counted_error: (figure == Figure::ErrorRate).then(|| counted_error(sides)),
            distances: Vec::new(),
        })
        .collect();
    // Its distribution is known by permutation only, and pairs have no distances within a side.
    if rule == Rule::Permutation {
        all.push(Component {
            change: shape(sides),
            values: Vec::new(),
            counted_error: None,
            distances: sides.distances.clone(),
        });
    }
    if let Some(primary) = primary(&all, sides, options) {
        all[primary].change.primary = true;
        let baselines = sides.baseline.len();
        let scatter = spread(&all[primary].values, baselines, rule, options);
        all.extend(scatter);
    }
    all
}

/// The place of the measure's primary figure: the one of the options, or the mean if the units have too few operations for
/// it. `None` if they have too few for any.
fn primary(all: &[Component], sides: &Sides, options: &Options) -> Option<usize> {
    let count = |unit: &Unit| unit.sample.count();
    let least = match &sides.runs {
        Some(runs) => runs.iter().flatten().map(count).min()?,
        None => sides.units().map(count).min()?,
    };
    if least < PRIMARY_COUNT_MIN {
        return None;
    }
    let place = |figure: Figure| all.iter().position(|one| one.change.figure == figure);
    place(options.primary.figure()).or_else(|| place(Figure::Mean))
}

/// The scatter of the runs of both sides, by the logarithms of their primary figure, the baseline's first; `None` of too few
/// runs. Permutations do not serve: if four of eight runs are slow on one side alone, 8 % of them have all slow runs on one
/// side, too.
fn spread(values: &[f64], baselines: usize, rule: Rule, options: &Options) -> Option<Component> {
    let (first, second) = values.split_at(baselines);
    if rule != Rule::Permutation || first.len().min(second.len()) < SPREAD_RUNS_MIN {
        return None;
    }
    let found = brown_forsythe(first, second, floor(options))?;
    let change = Change {
        baseline: Some(found.first),
        candidate: Some(found.second),
        t: found.t,
        p: found.p,
        ..untested(Figure::Spread, found.second - found.first, None)
    };
    Some(Component { change, values: Vec::new(), counted_error: None, distances: Vec::new() })
}

/// What is added to standard errors, or is the least one. A rate that hardly scatters has a huge t in some dealing, and would
/// hide what is there.
fn floor(options: &Options) -> f64 {
    options.tolerance.max(FLOOR_MIN) / 3.0
}

/// The mean, and those quantiles beyond which at least one operation of each unit lies: the 99th
/// percentile of ten is their greatest, which says something else.
pub(crate) fn times<'a>(units: impl Iterator<Item = &'a Unit>, options: &Options) -> Vec<Figure> {
    let least = units.map(|unit| unit.sample.count()).min();
    let least = least.unwrap_or(0) as f64;
    // 1 − 0.99 is a little less than a hundredth, or a little more.
    let beyond = |q: &f64| least * q.min(1.0 - q) > 1.0 - 1e-9;
    let quantiles = options.quantiles.iter().copied().filter(beyond);
    std::iter::once(Figure::Mean).chain(quantiles.map(Figure::Quantile)).collect()
}

/// The changes of each figure of each measure. All measures have `first` units of the baseline and `second` of the candidate.
pub(crate) fn decide(
    measures: Vec<Vec<Component>>,
    first: usize,
    second: usize,
    rule: Rule,
    options: &Options,
) -> Vec<Vec<Change>> {
    let all: Vec<&Component> = measures.iter().flatten().collect();
    let tests = test(&all, first, second, rule, options);
    let mut tests = tests.into_iter();
    let of_measure = |components: Vec<Component>| {
        components
            .into_iter()
            .zip(tests.by_ref())
            .map(|(component, Tested { t, p, p_adjusted })| {
                let neighbours = match rule {
                    Rule::Windows => neighbours::correlation(&component.values, first),
                    _ => None,
                };
                let change = component.change;
                let seen = p_adjusted <= options.alpha;
                let beyond = match change.figure {
                    Figure::Spread => change.difference.abs() > options.tolerance,
                    // From nothing to something is more than any share.
                    _ => change.relative.is_none_or(|share| share.abs() > options.tolerance),
                };
                Change { t, p, p_adjusted, neighbours, seen, counts: seen && beyond, ..change }
            })
            .collect()
    };
    measures.into_iter().map(of_measure).collect()
}

/// The standard error of the difference of transformed shares of failed operations, if these are independent.
fn counted_error(sides: &Sides) -> f64 {
    let of = |units: &[Unit]| -> Vec<f64> {
        units.iter().map(|unit| unit.ends.unwrap_or_default().variance()).collect()
    };
    standard_error(&of(&sides.baseline), &of(&sides.candidate))
}

/// The standard error of the difference of two means, by the variances of their values.
fn standard_error(baseline: &[f64], candidate: &[f64]) -> f64 {
    let of_mean =
        |variances: &[f64]| variances.iter().sum::<f64>() / (variances.len() as f64).powi(2);
    (of_mean(baseline) + of_mean(candidate)).sqrt()
}

/// The failures of one kind as the tests take them: `occurrences` by run, those of the `baselines` first.
pub(crate) fn of_failures(
    occurrences: &[Occurrence],
    baselines: usize,
    rule: Rule,
    options: &Options,
) -> Component {
    let by_run = |of: fn(Occurrence) -> f64| -> Vec<f64> {
        occurrences.iter().map(|&occurrence| of(occurrence)).collect()
    };
    let plain = by_run(Occurrence::plain);
    let variances = by_run(Occurrence::variance);
    let figure = Figure::ErrorRate;
    Component {
        change: of_values(figure, &plain[..baselines], &plain[baselines..], rule, options),
        values: by_run(Occurrence::transformed),
        counted_error: Some(standard_error(&variances[..baselines], &variances[baselines..])),
        distances: Vec::new(),
    }
}

/// The change of failures in two single runs. Their windows do not say what failed, so that each failure is taken for
/// independent of the others (Bartlett 1947): the p-value is too small if failures come in bursts.
pub(crate) fn of_single_runs(component: Component) -> Change {
    let difference = neighbours::differences(&component.values, 1);
    let error = component.counted_error.unwrap_or(f64::INFINITY);
    let t = difference.first().map_or(0.0, |difference| difference / error);
    let p = student::two_sided_p(t, f64::INFINITY);
    Change { t, p, p_adjusted: p, interval: None, ..component.change }
}

/// The result of the tests of a component.
#[derive(Debug, Clone, Copy)]
struct Tested {
    t: f64,
    p: f64,
    p_adjusted: f64,
}

/// The tests of all components. If the scatter of runs is among them, it has a share of the level for itself.
fn test(
    components: &[&Component],
    first: usize,
    second: usize,
    rule: Rule,
    options: &Options,
) -> Vec<Tested> {
    let figures: Vec<&Component> = components.iter().copied().filter(|c| !is_spread(c)).collect();
    let tested = test_figures(&figures, first, second, rule, options);
    let p: Vec<f64> = components.iter().filter(|c| is_spread(c)).map(|c| c.change.p).collect();
    let spread_share = if p.is_empty() { 0.0 } else { SPREAD_LEVEL };
    let part = |p_adjusted: f64, share: f64| (p_adjusted / share).min(1.0);
    let mut tested = tested.into_iter();
    let mut spreads = multiple::holm(&p).into_iter();
    let both = components.iter().filter_map(|component| {
        if is_spread(component) {
            let p_adjusted = part(SPREAD_CAUTION * spreads.next()?, spread_share);
            return Some(Tested { t: component.change.t, p: component.change.p, p_adjusted });
        }
        let one = tested.next()?;
        Some(Tested { p_adjusted: part(one.p_adjusted, 1.0 - spread_share), ..one })
    });
    both.collect()
}

/// The share of the level that figures have, if the smaller side has this many runs and a measure has a primary figure: from
/// a number on, the scatter of runs has the rest.
pub(crate) fn figures_share(runs: u64) -> f64 {
    if runs >= SPREAD_RUNS_MIN as u64 { 1.0 - SPREAD_LEVEL } else { 1.0 }
}

fn is_spread(component: &Component) -> bool {
    component.change.figure == Figure::Spread
}

/// The tests of figures of runs, corrected for each other by their weights.
fn test_figures(
    components: &[&Component],
    first: usize,
    second: usize,
    rule: Rule,
    options: &Options,
) -> Vec<Tested> {
    if components.is_empty() {
        return Vec::new();
    }
    let mut rng = Rng::new(options.seed, 0, Purpose::Choice);
    let seen: Vec<bool> = (0..first + second).map(|unit| unit >= first).collect();
    let floor = floor(options);
    let by_component = |t: &dyn Fn(&Component) -> f64| -> Vec<f64> {
        components.iter().map(|component| t(component)).collect()
    };
    let weighted = |t: &dyn Fn(&Component) -> f64| {
        by_component(&|c| t(c).abs() * if c.change.primary { 1.0 } else { SECONDARY_T })
    };
    let (t, p, p_adjusted) = match rule {
        Rule::Permutation => {
            let dealings = Permutations::of_groups(first, second, DEALINGS_MAX, &mut rng);
            let t = |c: &Component, dealing: &[bool]| match c.change.figure {
                Figure::Shape => distance_t(&c.distances, dealing, floor),
                _ => two_sample_t(&c.values, dealing, floor),
            };
            let found = max_t(&dealings, |dealing| weighted(&|c| t(c, dealing)));
            (by_component(&|c| t(c, &seen)), found.p, found.p_adjusted)
        }
        Rule::Student => {
            let t = by_component(&|c| {
                two_sample_t_of(&c.values, &seen, c.counted_error.unwrap_or(floor))
            });
            let degrees = (first + second - 2) as f64;
            let p: Vec<f64> = t.iter().map(|&t| student::two_sided_p(t, degrees)).collect();
            let weights = by_component(&|c| if c.change.primary { 1.0 } else { SECONDARY_P });
            let p_adjusted = multiple::weighted_holm(&p, &weights);
            (t, p, p_adjusted)
        }
        Rule::Windows => {
            let dealings = Permutations::of_pairs(first, DEALINGS_MAX, &mut rng);
            let t = |c: &Component, swapped: &[bool]| {
                paired_t(&neighbours::differences(&c.values, first), swapped, floor)
            };
            let found = max_t(&dealings, |swapped| weighted(&|c| t(c, swapped)));
            let unmoved = vec![false; first];
            (by_component(&|c| t(c, &unmoved)), found.p, found.p_adjusted)
        }
    };
    let corrected = p.into_iter().zip(p_adjusted);
    t.into_iter().zip(corrected).map(|(t, (p, p_adjusted))| Tested { t, p, p_adjusted }).collect()
}

/// A change that is still to be tested.
fn untested(figure: Figure, difference: f64, relative: Option<f64>) -> Change {
    Change {
        figure,
        label: figure.label(),
        primary: false,
        baseline: None,
        candidate: None,
        windows: None,
        difference,
        interval: None,
        relative,
        relative_interval: None,
        t: 0.0,
        p: 1.0,
        p_adjusted: 1.0,
        neighbours: None,
        seen: false,
        counts: false,
    }
}

fn shape(sides: &Sides) -> Change {
    let (first, second) = sides.distances.split_at(sides.baseline.len());
    let between = first.iter().flat_map(|row| &row[first.len()..]);
    let apart = between.sum::<f64>() / (first.len() * second.len()) as f64;
    untested(Figure::Shape, apart, Some(greatest_change(sides)))
}

fn change(figure: Figure, sides: &Sides, rule: Rule, options: &Options) -> Change {
    let of = |units: &[Unit]| -> Vec<f64> {
        let values = units.iter().map(|unit| plain(figure, unit));
        values.collect()
    };
    let change = Change {
        relative_interval: relative_interval(figure, sides, rule, options),
        ..of_values(figure, &of(&sides.baseline), &of(&sides.candidate), rule, options)
    };
    let Some([baseline, candidate]) = &sides.runs else {
        return change;
    };
    let windows = change.baseline.zip(change.candidate);
    Change {
        baseline: Some(mean(&of(baseline))),
        candidate: Some(mean(&of(candidate))),
        windows: windows.map(|(baseline, candidate)| WindowMeans { baseline, candidate }),
        ..change
    }
}

/// The change between the values of the baseline's units and those of the candidate's.
fn of_values(
    figure: Figure,
    baseline: &[f64],
    candidate: &[f64],
    rule: Rule,
    options: &Options,
) -> Change {
    let from = mean(baseline);
    let to = mean(candidate);
    let difference = to - from;
    let relative = match difference == 0.0 {
        true => Some(0.0),
        false => (from != 0.0).then(|| difference / from),
    };
    Change {
        baseline: Some(from),
        candidate: Some(to),
        interval: interval(baseline, candidate, rule, options),
        ..untested(figure, difference, relative)
    }
}

/// The interval of the difference of two means; of that of pairs if the units are windows.
fn interval(
    baseline: &[f64],
    candidate: &[f64],
    rule: Rule,
    options: &Options,
) -> Option<(f64, f64)> {
    let confidence = 1.0 - options.alpha;
    match rule {
        Rule::Windows => {
            let pairs = baseline.iter().zip(candidate).map(|(a, b)| b - a);
            student::mean_interval(&pairs.collect::<Vec<f64>>(), confidence)
        }
        _ => student::difference_interval(baseline, candidate, confidence),
    }
}

/// The interval of a relative difference, from logarithms; `None` of figures that have none.
fn relative_interval(
    figure: Figure,
    sides: &Sides,
    rule: Rule,
    options: &Options,
) -> Option<(f64, f64)> {
    if matches!(figure, Figure::ErrorRate | Figure::Shape) {
        return None;
    }
    let of = |units: &[Unit]| -> Vec<f64> {
        let values = units.iter().map(|unit| transformed(figure, unit));
        values.collect()
    };
    let (low, high) = interval(&of(&sides.baseline), &of(&sides.candidate), rule, options)?;
    let bounds = (low.exp_m1(), high.exp_m1());
    // Two runs that differ widely say nothing.
    bounds.1.is_finite().then_some(bounds)
}

/// The figure of a unit as people read it.
pub(crate) fn plain(figure: Figure, unit: &Unit) -> f64 {
    match figure {
        Figure::Mean | Figure::Shape | Figure::Spread => unit.sample.mean(),
        Figure::Quantile(q) => unit.sample.quantile(q),
        Figure::Rate => unit.rate.map_or(0.0, Rate::per_second),
        Figure::ErrorRate => unit.ends.map_or(0.0, Ends::error_rate),
    }
}

/// The figure so that its scatter does not grow with it: logarithms of times and rates; of shares the
/// arcsine of the root (Bartlett 1947), which is there for 0, too.
pub(crate) fn transformed(figure: Figure, unit: &Unit) -> f64 {
    let plain = plain(figure, unit);
    match figure {
        Figure::ErrorRate => plain.clamp(0.0, 1.0).sqrt().asin(),
        Figure::Rate => unit.rate.map_or(0.0, Rate::ln),
        _ => plain.max(LEAST_NS).ln(),
    }
}

impl Sides {
    /// The windows of two runs, which are also given as `both` with one unit each; `None` where a window
    /// has too few operations.
    pub(crate) fn of_windows(
        of_runs: &[&RunMeasure],
        runs: &[ComparedRun],
        both: [Vec<Unit>; 2],
    ) -> Option<Sides> {
        let units = |place: usize| of_runs[place].window_units(runs[place].seconds);
        Some(Sides {
            baseline: units(0)?,
            candidate: units(1)?,
            runs: Some(both),
            distances: Vec::new(),
        })
    }

    /// The baseline's units, then the candidate's.
    pub(crate) fn units(&self) -> impl Iterator<Item = &Unit> {
        self.baseline.iter().chain(&self.candidate)
    }
}

/// As [`quantile_change`], of the sides' mean quantiles.
fn greatest_change(sides: &Sides) -> f64 {
    let of = |units: &[Unit], q: f64| {
        let all: Vec<f64> = units.iter().map(|unit| unit.sample.quantile(q)).collect();
        mean(&all)
    };
    quantile_change(|q| of(&sides.baseline, q), |q| of(&sides.candidate, q))
}

/// The relative change of the quantile that changes most from `a` to `b`, sign kept.
pub(crate) fn quantile_change(a: impl Fn(f64) -> f64, b: impl Fn(f64) -> f64) -> f64 {
    let grid = (1..GRID).map(|step| step as f64 / GRID as f64).chain([0.99]);
    let changes = grid.map(|q| {
        let from = a(q).max(LEAST_NS);
        (b(q).max(LEAST_NS) - from) / from
    });
    changes.fold(0.0, |most: f64, next| if next.abs() > most.abs() { next } else { most })
}

#[cfg(test)]
mod tests;
