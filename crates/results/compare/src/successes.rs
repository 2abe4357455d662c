//! Times are compared of operations that succeeded. Where failures change the times of all operations, that is
//! said with the result: a target that fails what is slow looks fast.

use record::schema::{Finding, Severity};

use stats::student;

use super::unit::Ends;
use super::verdict::p_value;
use super::{ComparedMeasure, ComparedRun, Figure, Options, RunFigures, Side};

/// A quantile of all operations differs from that of the successful ones if it does by more than this share.
const DIFFERENCE_MIN: f64 = 0.01;
/// Text appended to the result of a measure.
pub(crate) const ADDED: &str = ", of operations that succeeded";

/// True if failures change a quantile of some run.
pub(crate) fn is_partial(measure: &ComparedMeasure) -> bool {
    let mut runs = measure.runs.iter();
    runs.any(|figures| changed(figures).next().is_some())
}

/// A rise of errors beside an improvement that the windows of single runs say nothing of.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct UntestedErrors {
    /// The words beside the improvement.
    pub(crate) text: String,
    /// The p-value if operations fail independently of each other; too small if failures come in bursts.
    pub(crate) p: f64,
}

/// The rise of the candidate's errors, if it was not tested: single runs whose windows do not say how operations ended.
/// Whole runs do, and are tested by Bartlett's variance (1947). `None` if errors were tested, or did not rise.
pub(crate) fn untested_errors(
    measure: &ComparedMeasure,
    runs: &[ComparedRun],
) -> Option<UntestedErrors> {
    if measure.changes.iter().any(|change| change.figure == Figure::ErrorRate) {
        return None;
    }
    let of = |side: Side| -> Option<Ends> {
        let own = runs.iter().zip(&measure.runs).filter(|(run, _)| run.side == side);
        let ends: Option<Vec<Ends>> = own.map(|(_, figures)| ends(figures)).collect();
        Some(ends?.iter().fold(Ends::default(), Ends::plus))
    };
    let from = of(Side::Baseline)?;
    let to = of(Side::Candidate)?;
    if to.error_rate() <= from.error_rate() {
        return None;
    }
    let error = (from.variance() + to.variance()).sqrt();
    let angle = |ends: Ends| ends.error_rate().min(1.0).sqrt().asin();
    let p = student::two_sided_p((angle(to) - angle(from)) / error, f64::INFINITY);
    let text = format!(
        ", but with more errors: {} to {} (p {} if failures are independent)",
        units::share(from.error_rate()),
        units::share(to.error_rate()),
        p_value(p)
    );
    Some(UntestedErrors { text, p })
}

/// How a run's operations ended, from its successes and the share that failed.
fn ends(figures: &RunFigures) -> Option<Ends> {
    let failed_share = figures.error_rate?;
    if failed_share >= 1.0 {
        return None;
    }
    let ended = (figures.count as f64 / (1.0 - failed_share)).round() as u64;
    Some(Ends { ended, failed: ended.saturating_sub(figures.count) })
}

/// The quantiles of a run that are others over all operations, by their numbers.
fn changed(figures: &RunFigures) -> impl Iterator<Item = usize> {
    let all = figures.all.iter();
    all.flat_map(|all| {
        let succeeded = figures.quantiles_ns.iter();
        let pairs = succeeded.zip(&all.quantiles_ns).zip(&all.is_bound);
        pairs.enumerate().filter_map(|(number, ((&succeeded, &all), &is_bound))| {
            let differs = (all as f64 - succeeded).abs() > DIFFERENCE_MIN * succeeded;
            (is_bound || differs).then_some(number)
        })
    })
}

/// The finding about the operations that a comparison of successes leaves out of a measure, by the
/// greatest quantile of the first run.
pub(crate) fn finding(
    measure: &ComparedMeasure,
    runs: &[ComparedRun],
    options: &Options,
) -> Option<Finding> {
    let of_runs = || runs.iter().zip(&measure.runs);
    let partial = of_runs().filter(|(_, figures)| changed(figures).next().is_some());
    let count = partial.clone().count();
    let (run, figures) = partial.clone().next()?;
    let all = figures.all.as_ref()?;
    let number = changed(figures).last()?;
    let at_least = if all.is_bound[number] { "at least " } else { "" };
    let text = format!(
        "{}: times are compared of operations that succeeded, and failures change those of all operations in {} of \
         {}: p{} of {} is {at_least}{}, and {} of those that succeeded; failures count in the error rate only, and those \
         that the target answered in completed/s",
        measure.name,
        units::count(count as u64),
        units::counted(runs.len() as u64, "run"),
        units::significant(100.0 * options.quantiles.get(number)?, 4)
            .trim_end_matches('0')
            .trim_end_matches('.'),
        run.label,
        units::duration(all.quantiles_ns[number] as f64),
        units::duration(figures.quantiles_ns[number]),
    );
    Some(
        judge::finding(Severity::Warning, "successes-only", text).with("runs", count as f64).done(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AllOperations;
    use crate::testing::{change, measure, run, run_figures};

    fn figures(all: Option<([u64; 2], [bool; 2])>) -> RunFigures {
        RunFigures {
            count: 100,
            rate: None,
            error_rate: Some(0.0),
            all: all.map(|(quantiles, bounds)| AllOperations {
                count: 120,
                unanswered: 20,
                quantiles_ns: quantiles.to_vec(),
                is_bound: bounds.to_vec(),
            }),
            mean_ns: Some(10.0),
            quantiles_ns: vec![1_000_000.0, 9_000_000.0],
        }
    }

    #[test]
    fn failures_matter_where_they_change_a_quantile() {
        let changed = |all| changed(&figures(all)).collect::<Vec<_>>();
        assert_eq!(changed(None), Vec::<usize>::new());
        assert_eq!(changed(Some(([1_005_000, 9_000_000], [false; 2]))).len(), 0);
        assert_eq!(changed(Some(([1_200_000, 9_000_000], [false; 2]))), [0]);
        assert_eq!(changed(Some(([1_000_000, 9_000_000], [false, true]))), [1]);
    }

    #[test]
    fn errors_that_were_not_tested_are_named_beside_an_improvement() {
        let runs = [run("B1", Side::Baseline), run("C1", Side::Candidate)];
        let said = |figure, shares: [Option<f64>; 2]| {
            let mut measure = measure("checkout", vec![change(figure, 2e6, 1e6, true)]);
            measure.runs = shares.map(run_figures).to_vec();
            untested_errors(&measure, &runs)
        };
        // One of 101 operations and 34 of 134: the arcsines are 0.0997 and 0.528, their error 0.0659.
        let found = said(Figure::Mean, [Some(1.0 / 101.0), Some(34.0 / 134.0)]).unwrap();
        assert!(found.p < 1e-9, "{found:?}");
        assert_eq!(
            found.text,
            ", but with more errors: 0.990 % to 25.37 % (p below 0.001 if failures are independent)"
        );
        // Three more of 104 are chance: 0.0997 and 0.1974 with an error of 0.0699.
        let chance = said(Figure::Mean, [Some(1.0 / 101.0), Some(4.0 / 104.0)]).unwrap();
        assert!((chance.p - 0.1618).abs() < 1e-3, "{chance:?}");
        assert_eq!(said(Figure::Mean, [Some(0.042), Some(0.01)]), None);
        assert_eq!(said(Figure::Mean, [None, Some(0.01)]), None);
        assert_eq!(said(Figure::ErrorRate, [Some(0.01), Some(0.042)]), None, "it was tested");
    }
}
