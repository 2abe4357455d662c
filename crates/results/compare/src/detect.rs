//! The differences that runs would show, and how many runs would show a difference of given size.

use stats::power;

use super::decide::{SECONDARY_P, figures_share, times, transformed};
use super::unit::Unit;
use super::verdict::percent;
use super::{ComparedMeasure, Detect, Options};

/// The chance of seeing the difference.
const POWER: f64 = 0.8;
/// More runs a side are not listed.
const RUNS_MAX: u64 = 10_000;

/// The number of runs on each side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Runs {
    pub(crate) baseline: u64,
    pub(crate) candidate: u64,
}

impl Runs {
    fn smaller(self) -> u64 {
        self.baseline.min(self.candidate)
    }

    fn doubled(self) -> Runs {
        Runs { baseline: 2 * self.baseline, candidate: 2 * self.candidate }
    }

    /// `4 + 4`.
    fn shown(self) -> String {
        format!("{} + {}", self.baseline, self.candidate)
    }
}

/// How runs of one side scatter, figure by figure; nothing where no side has two.
pub(crate) fn scatter(
    measure: &mut ComparedMeasure,
    baseline: &[Unit],
    candidate: &[Unit],
    options: &Options,
) {
    for figure in times(baseline.iter().chain(candidate), options) {
        let of = |units: &[Unit]| -> Vec<f64> {
            units.iter().map(|unit| transformed(figure, unit)).collect()
        };
        if let Some(scatter) = power::pooled_deviation(&of(baseline), &of(candidate)) {
            measure.detect.push(Detect {
                figure,
                scatter,
                runs: None,
                more: None,
                share: None,
                share_doubled: None,
            });
        }
    }
}

/// Fills in which differences these runs and twice as many would show, and how many runs a side would show the requested
/// one, by Student's test. The level is Bonferroni's for all figures by their weights, with `failures` of different kinds
/// besides: dearer than the decision's own correction, so that what is reported is enough.
pub(crate) fn fill(
    measures: &mut [ComparedMeasure],
    there: Runs,
    failures: usize,
    options: &Options,
) {
    let levels = Levels::of(measures, failures, options);
    let primary = Effects::of(there, levels.primary);
    let secondary = Effects::of(there, levels.secondary);
    for measure in measures {
        let leading = measure.changes.iter().find(|change| change.primary).map(|one| one.figure);
        for detect in &mut measure.detect {
            let effects = if leading == Some(detect.figure) { &primary } else { &secondary };
            effects.fill(detect, there.smaller(), options);
        }
    }
}

/// The levels at which single figures are tested.
struct Levels {
    primary: FigureLevel,
    secondary: FigureLevel,
}

/// The level at which a figure is tested.
#[derive(Clone, Copy)]
struct FigureLevel {
    /// If the scatter of runs is not compared.
    whole: f64,
    /// True if some measure has a primary figure, whose scatter is compared where there are enough runs.
    is_shared: bool,
}

impl FigureLevel {
    /// The level with this many runs on the smaller side.
    fn with(self, runs: u64) -> f64 {
        if self.is_shared { self.whole * figures_share(runs) } else { self.whole }
    }
}

impl Levels {
    fn of(measures: &[ComparedMeasure], failures: usize, options: &Options) -> Levels {
        let primaries = measures.iter().filter(|measure| leads(measure)).count() as f64;
        // Times and their rate, errors and shape.
        let all = (measures.len() * (options.quantiles.len() + 4) + failures).max(1) as f64;
        let weights = primaries + SECONDARY_P * (all - primaries);
        let level = |whole: f64| FigureLevel { whole, is_shared: primaries > 0.0 };
        Levels {
            primary: level((options.alpha / weights).min(options.alpha)),
            secondary: level(options.alpha * SECONDARY_P / weights),
        }
    }
}

/// True of a measure with a primary figure.
fn leads(measure: &ComparedMeasure) -> bool {
    measure.changes.iter().any(|change| change.primary)
}

/// The effects in standard deviations that runs show at a level.
struct Effects {
    level: FigureLevel,
    now: Option<f64>,
    doubled: Option<f64>,
}

impl Effects {
    fn of(there: Runs, level: FigureLevel) -> Effects {
        let effect = |runs: Runs| {
            power::detectable(runs.baseline, runs.candidate, level.with(runs.smaller()), POWER)
        };
        Effects { level, now: effect(there), doubled: effect(there.doubled()) }
    }

    fn fill(&self, detect: &mut Detect, smaller: u64, options: &Options) {
        // Figures are compared by their logarithms.
        let difference = (1.0 + options.detect).ln();
        // Runs that do not scatter at all show any difference.
        let needed = (difference / detect.scatter).min(f64::MAX);
        let at = |level: f64| power::samples_needed(needed, level, POWER, RUNS_MAX);
        // So many that their scatter is compared need some more.
        detect.runs = at(self.level.whole).and_then(|runs| at(self.level.with(runs)));
        detect.more = detect.runs.map(|runs| runs.saturating_sub(smaller));
        let scatter = detect.scatter;
        let share = |effect: f64| (effect * scatter).exp_m1().max(options.tolerance);
        detect.share = self.now.map(share).filter(|share| share.is_finite());
        detect.share_doubled = self.doubled.map(share).filter(|share| share.is_finite());
    }
}

/// The differences of times that would have been seen where none was: `from 4 % (connect, mean) to 18 % (GET /, p99)`, or
/// `from 6 %` if one is all. `None` if they are not known.
pub(crate) fn seen_from(measures: &[ComparedMeasure]) -> Option<String> {
    let least = unseen(measures).min_by(|a, b| a.share.total_cmp(&b.share))?;
    let most = unseen(measures).max_by(|a, b| a.share.total_cmp(&b.share))?;
    let shown = |one: &Detectable<'_>| percent(one.share);
    if shown(&least) == shown(&most) {
        return Some(format!("from {}", shown(&least)));
    }
    let named = |one: &Detectable<'_>| {
        format!("{} ({}, {})", shown(one), one.measure, one.detect.figure.label())
    };
    Some(format!("from {} to {}", named(&least), named(&most)))
}

/// The differences that these runs show, and those that twice as many would, of the figures without one.
pub(crate) fn of_more_runs(measures: &[ComparedMeasure], there: Runs) -> Option<String> {
    let seen = seen_from(measures)?;
    let doubled = || unseen(measures).filter_map(|one| one.detect.share_doubled);
    let least = percent(doubled().min_by(f64::total_cmp)?);
    let most = percent(doubled().max_by(f64::total_cmp)?);
    let range = if least == most { least } else { format!("{least} to {most}") };
    Some(format!(
        "with {} runs, differences of times {seen} are seen four times in five; {} would show {range}",
        there.shown(),
        there.doubled().shown()
    ))
}

/// A figure without a difference, and the one that would have been seen.
struct Detectable<'a> {
    measure: &'a str,
    detect: &'a Detect,
    share: f64,
    /// True of the measure's primary figure.
    primary: bool,
}

/// The primary figures without a difference; of all figures if every primary one has changed, or there is none.
fn unseen(measures: &[ComparedMeasure]) -> impl Iterator<Item = Detectable<'_>> {
    let has_primary = all_unseen(measures).any(|one| one.primary);
    all_unseen(measures).filter(move |one| one.primary || !has_primary)
}

fn all_unseen(measures: &[ComparedMeasure]) -> impl Iterator<Item = Detectable<'_>> {
    measures.iter().flat_map(|measure| {
        measure.detect.iter().filter_map(move |detect| {
            let mut changes = measure.changes.iter();
            let own = changes.find(|change| change.figure == detect.figure);
            if own.is_some_and(|change| change.counts) {
                return None;
            }
            let primary = own.is_some_and(|change| change.primary);
            Some(Detectable { measure: &measure.name, detect, share: detect.share?, primary })
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{change, measure};
    use crate::{Change, Figure};

    /// A measure whose figures scatter by these deviations of their logarithms.
    fn scattered(scatter: [f64; 2]) -> ComparedMeasure {
        let figures = [Figure::Mean, Figure::Quantile(0.99)];
        let detect = figures.into_iter().zip(scatter).map(|(figure, scatter)| Detect {
            figure,
            scatter,
            runs: None,
            more: None,
            share: None,
            share_doubled: None,
        });
        ComparedMeasure { detect: detect.collect(), ..measure("checkout", Vec::new()) }
    }

    /// One measure with two quantiles has six figures: the level of each is 0.05 / 6.
    fn options() -> Options {
        Options { quantiles: vec![0.5, 0.99], ..Options::default() }
    }

    /// Runs on each side, and the effect that they show with power 0.8 at level 0.05 / 6, in standard deviations. The
    /// noncentral t distribution was integrated numerically over the scatter (Simpson's rule, Python's `statistics` and
    /// `math`), not summed as in the code under test; for 64 + 64 samples, an effect of 0.5 and level 0.05 that has the power
    /// 0.8015 of statsmodels.
    const EFFECTS: [(u64, u64, f64); 4] =
        [(4, 4, 3.495_304_55), (8, 8, 1.991_916_42), (9, 9, 1.844_257_31), (3, 6, 3.299_072_08)];

    const FOUR: Runs = Runs { baseline: 4, candidate: 4 };

    #[test]
    fn detectable_differences_agree_with_the_noncentral_t() {
        for (baseline, candidate, effect) in EFFECTS {
            let mut measures = [scattered([0.03, 0.1])];
            fill(&mut measures, Runs { baseline, candidate }, 0, &options());
            for detect in &measures[0].detect {
                let expected = (effect * detect.scatter).exp() - 1.0;
                let found = detect.share.unwrap();
                assert!((found - expected).abs() < 1e-5, "{baseline} + {candidate}: {found}");
            }
        }
    }

    #[test]
    fn the_primary_figure_is_corrected_less_and_stands_for_all() {
        let mut measures = [scattered([0.03, 0.03])];
        let primary = Change { primary: true, ..change(Figure::Mean, 1e6, 1e6, false) };
        measures[0].changes = vec![primary, change(Figure::Quantile(0.99), 1e6, 1e6, false)];
        fill(&mut measures, FOUR, 0, &options());
        let [mean, p99] = [0, 1].map(|place| measures[0].detect[place].share.unwrap());
        // One primary and five other figures: the levels are 0.05 / 1.5 and 0.005 / 1.5.
        let expected = |level: f64| {
            let effect = power::detectable(4, 4, level, POWER).unwrap();
            (effect * 0.03).exp_m1()
        };
        assert!((mean - expected(0.05 / 1.5)).abs() < 1e-9, "{mean}");
        assert!((p99 - expected(0.005 / 1.5)).abs() < 1e-9, "{p99}");
        assert!(mean < p99);
        assert_eq!(seen_from(&measures).unwrap(), format!("from {}", percent(mean)));
    }

    /// From eight runs on each side, the scatter of runs has two fifths of the level.
    #[test]
    fn what_is_left_of_the_level_beside_the_scatter_of_runs_counts() {
        let mut measures = [scattered([0.03, 0.03])];
        measures[0].changes =
            vec![Change { primary: true, ..change(Figure::Mean, 1e6, 1e6, false) }];
        fill(&mut measures, FOUR, 0, &options());
        let expected = |runs: u64, level: f64| {
            (power::detectable(runs, runs, level, POWER).unwrap() * 0.03).exp_m1()
        };
        let mean = &measures[0].detect[0];
        assert!((mean.share.unwrap() - expected(4, 0.05 / 1.5)).abs() < 1e-9);
        assert!((mean.share_doubled.unwrap() - expected(8, 0.03 / 1.5)).abs() < 1e-9);
    }

    #[test]
    fn twice_as_many_runs_show_what_that_many_would_show() {
        let mut four = [scattered([0.03, 0.1])];
        fill(&mut four, FOUR, 0, &options());
        let mut eight = [scattered([0.03, 0.1])];
        fill(&mut eight, FOUR.doubled(), 0, &options());
        for (four, eight) in four[0].detect.iter().zip(&eight[0].detect) {
            assert_eq!(four.share_doubled, eight.share);
            assert!(eight.share < four.share);
        }
    }

    #[test]
    fn no_difference_is_promised_below_the_tolerance_or_without_runs_that_scatter() {
        let mut constant = [scattered([0.0, 0.0])];
        fill(&mut constant, FOUR, 0, &options());
        assert_eq!(constant[0].detect[0].share, Some(0.01));
        let mut single = [scattered([0.03, 0.1])];
        fill(&mut single, Runs { baseline: 1, candidate: 1 }, 0, &options());
        assert_eq!((single[0].detect[0].share, seen_from(&single)), (None, None));
    }

    #[test]
    fn sentences_name_the_least_and_the_greatest_difference() {
        let mut measures = [scattered([0.03, 0.1])];
        fill(&mut measures, FOUR, 0, &options());
        let range = "from 11 % (checkout, mean) to 42 % (checkout, p99)";
        assert_eq!(seen_from(&measures).unwrap(), range);
        assert_eq!(
            of_more_runs(&measures, FOUR).unwrap(),
            format!(
                "with 4 + 4 runs, differences of times {range} are seen four times in five; 8 + 8 would show \
                 6.2 % to 22 %"
            )
        );
        // What has changed is no difference that would have been seen.
        measures[0].changes = vec![change(Figure::Quantile(0.99), 1e6, 2e6, true)];
        assert_eq!(seen_from(&measures).unwrap(), "from 11 %");
        assert!(of_more_runs(&measures, FOUR).unwrap().ends_with("8 + 8 would show 6.2 %"));
    }
}
