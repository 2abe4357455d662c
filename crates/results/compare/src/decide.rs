//! Differences between two sides, decided with the run as the unit.
//!
//! Two runs of the same thing differ by more than their samples say: machines drift. So each run is
//! one observation of each figure, however many operations it has. All figures of all measures are
//! tested together; their magnitudes of t are corrected for each other by the greatest among them
//! ([`stats::permute`]), so that the chance of *any* false finding in the whole comparison is α.

use stats::mean::mean;
use stats::multiple;
use stats::permute::{Permutations, distance_t, max_t, paired_t, two_sample_t, two_sample_t_of};
use stats::rng::{Purpose, Rng};
use stats::student;

use super::change::{Change, Figure, Rule, WindowMeans};
use super::read::RunMeasure;
use super::unit::{Ends, Rate, Unit};
use super::{ComparedRun, Options, neighbours};

/// Permutations of runs that are gone through at most; of more, this many are drawn.
const DEALINGS_MAX: usize = 10_000;
/// Differences below this share are never looked for: a third of it, or of the tolerance where that
/// is more, is added to standard errors, or is the least one under Student's rule.
const FLOOR_MIN: f64 = 0.001;
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
    change: Change,
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
    all
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
            .map(|(component, (t, p, p_adjusted))| {
                let neighbours = match rule {
                    Rule::Windows => neighbours::correlation(&component.values, first),
                    _ => None,
                };
                let change = component.change;
                let seen = p_adjusted <= options.alpha;
                // From nothing to something is more than any share.
                let beyond = change.relative.is_none_or(|share| share.abs() > options.tolerance);
                Change { t, p, p_adjusted, neighbours, seen, counts: seen && beyond, ..change }
            })
            .collect()
    };
    measures.into_iter().map(of_measure).collect()
}

/// The standard error of the difference of transformed shares of failed operations, if these are independent.
fn counted_error(sides: &Sides) -> f64 {
    let of_mean = |units: &[Unit]| {
        let ends = units.iter().map(|unit| unit.ends.unwrap_or_default());
        ends.map(Ends::variance).sum::<f64>() / (units.len() as f64).powi(2)
    };
    (of_mean(&sides.baseline) + of_mean(&sides.candidate)).sqrt()
}

/// t, p and corrected p of each component.
fn test(
    components: &[&Component],
    first: usize,
    second: usize,
    rule: Rule,
    options: &Options,
) -> Vec<(f64, f64, f64)> {
    let mut rng = Rng::new(options.seed, 0, Purpose::Choice);
    let seen: Vec<bool> = (0..first + second).map(|unit| unit >= first).collect();
    // A rate that hardly scatters has a huge t in some dealing, and would hide what is there.
    let floor = options.tolerance.max(FLOOR_MIN) / 3.0;
    let by_component = |t: &dyn Fn(&Component) -> f64| -> Vec<f64> {
        components.iter().map(|component| t(component)).collect()
    };
    let (t, p, p_adjusted) = match rule {
        Rule::Permutation => {
            let dealings = Permutations::of_groups(first, second, DEALINGS_MAX, &mut rng);
            let t = |c: &Component, dealing: &[bool]| match c.change.figure {
                Figure::Shape => distance_t(&c.distances, dealing, floor),
                _ => two_sample_t(&c.values, dealing, floor),
            };
            let found = max_t(&dealings, |dealing| by_component(&|c| t(c, dealing).abs()));
            (by_component(&|c| t(c, &seen)), found.p, found.p_adjusted)
        }
        Rule::Student => {
            let t = by_component(&|c| {
                two_sample_t_of(&c.values, &seen, c.counted_error.unwrap_or(floor))
            });
            let degrees = (first + second - 2) as f64;
            let p: Vec<f64> = t.iter().map(|&t| student::two_sided_p(t, degrees)).collect();
            let p_adjusted = multiple::holm(&p);
            (t, p, p_adjusted)
        }
        Rule::Windows => {
            let dealings = Permutations::of_pairs(first, DEALINGS_MAX, &mut rng);
            let t = |c: &Component, swapped: &[bool]| {
                paired_t(&neighbours::differences(&c.values, first), swapped, floor)
            };
            let found = max_t(&dealings, |swapped| by_component(&|c| t(c, swapped).abs()));
            let unmoved = vec![false; first];
            (by_component(&|c| t(c, &unmoved)), found.p, found.p_adjusted)
        }
    };
    let corrected = p.into_iter().zip(p_adjusted);
    let all = t.into_iter().zip(corrected);
    all.map(|(t, (p, p_adjusted))| (t, p, p_adjusted)).collect()
}

/// A change that is still to be tested.
fn untested(figure: Figure, difference: f64, relative: Option<f64>) -> Change {
    Change {
        figure,
        baseline: None,
        candidate: None,
        windows: None,
        difference,
        interval: None,
        relative,
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
    let confidence = 1.0 - options.alpha;
    let of = |units: &[Unit]| -> Vec<f64> {
        let values = units.iter().map(|unit| plain(figure, unit));
        values.collect()
    };
    let first = of(&sides.baseline);
    let second = of(&sides.candidate);
    let baseline = mean(&first);
    let candidate = mean(&second);
    let runs = sides.runs.as_ref().map(|runs| {
        let own = |run: &[Unit]| mean(&of(run));
        [own(&runs[0]), own(&runs[1])]
    });
    let interval = match rule {
        Rule::Windows => {
            let pairs = first.iter().zip(&second).map(|(a, b)| b - a);
            student::mean_interval(&pairs.collect::<Vec<f64>>(), confidence)
        }
        _ => student::difference_interval(&first, &second, confidence),
    };
    let difference = candidate - baseline;
    let relative = match difference == 0.0 {
        true => Some(0.0),
        false => (baseline != 0.0).then(|| difference / baseline),
    };
    let [baseline_shown, candidate_shown] = runs.unwrap_or([baseline, candidate]);
    Change {
        baseline: Some(baseline_shown),
        candidate: Some(candidate_shown),
        windows: runs.map(|_| WindowMeans { baseline, candidate }),
        interval,
        ..untested(figure, difference, relative)
    }
}

/// The figure of a unit as people read it.
pub(crate) fn plain(figure: Figure, unit: &Unit) -> f64 {
    match figure {
        Figure::Mean | Figure::Shape => unit.sample.mean(),
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
