//! Times are compared of operations that succeeded. Where failures change the times of all operations, that is
//! said with the result: a target that fails what is slow looks fast.

use record::schema::{Finding, Severity};

use stats::mean::mean;

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

/// The words beside an improvement if more operations of the candidate failed, and that was not tested: single runs whose
/// windows do not say how operations ended.
pub(crate) fn untested_errors(measure: &ComparedMeasure, runs: &[ComparedRun]) -> String {
    if measure.changes.iter().any(|change| change.figure == Figure::ErrorRate) {
        return String::new();
    }
    let of = |side: Side| {
        let own = runs.iter().zip(&measure.runs).filter(|(run, _)| run.side == side);
        let shares: Option<Vec<f64>> = own.map(|(_, figures)| figures.error_rate).collect();
        shares.filter(|shares| !shares.is_empty()).map(|shares| mean(&shares))
    };
    match (of(Side::Baseline), of(Side::Candidate)) {
        (Some(from), Some(to)) if to > from => format!(
            ", but with more errors: {} to {}, which was not tested",
            units::share(from),
            units::share(to)
        ),
        _ => String::new(),
    }
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
        let text = ", but with more errors: 1.00 % to 4.20 %, which was not tested";
        assert_eq!(said(Figure::Mean, [Some(0.01), Some(0.042)]), text);
        assert_eq!(said(Figure::Mean, [Some(0.042), Some(0.01)]), "");
        assert_eq!(said(Figure::Mean, [None, Some(0.01)]), "");
        assert_eq!(said(Figure::ErrorRate, [Some(0.01), Some(0.042)]), "", "it was tested");
    }
}
