//! Whether windows of single runs are serially correlated. Their test takes pairs for independent, and
//! finds too much where neighbours are alike.

use std::collections::BTreeMap;

use record::schema::{Finding, Severity};
use stats::serial::autocorrelation;

use super::{ComparedMeasure, Rule};

/// Correlation below which 95 % of ten independent numbers have that of neighbours: 1.645 / √10 − 1
/// / 10.
pub(crate) const CORRELATION_MAX: f64 = 0.42;

/// By pair of windows, the candidate's value minus the baseline's.
pub(crate) fn differences(values: &[f64], pairs: usize) -> Vec<f64> {
    let (baseline, candidate) = values.split_at(pairs);
    let both = baseline.iter().zip(candidate);
    both.map(|(from, to)| to - from).collect()
}

/// How a pair's difference is correlated with that of the next pair; `None` where all are the same.
pub(crate) fn correlation(values: &[f64], pairs: usize) -> Option<f64> {
    let found = autocorrelation(&differences(values, pairs), 1).ok()?;
    found.get(1).copied()
}

/// The finding about differences that were decided although neighbouring windows are alike.
pub(crate) fn finding(measures: &[ComparedMeasure], rule: Option<Rule>) -> Option<Finding> {
    if rule != Some(Rule::Windows) {
        return None;
    }
    let mut evidence = BTreeMap::new();
    let mut listed = Vec::new();
    for measure in measures {
        let counting = measure.changes.iter().filter(|change| change.counts);
        let most = counting
            .filter_map(|change| Some((change.neighbours?, change.figure)))
            .max_by(|a, b| a.0.total_cmp(&b.0));
        let Some((correlation, figure)) = most.filter(|most| most.0 > CORRELATION_MAX) else {
            continue;
        };
        evidence.insert(format!("{}_neighbours", measure.name), correlation);
        let shown = units::significant(correlation, 2);
        listed.push(format!("{} ({}, {shown})", measure.name, figure.label()));
    }
    if listed.is_empty() {
        return None;
    }
    let text = format!(
        "neighbouring windows are correlated, and the test, which assumes independence, finds too \
         many differences: {}; several runs per side avoid this",
        listed.join(", ")
    );
    Some(Finding {
        severity: Severity::Warning,
        code: "windows-correlated".to_owned(),
        text,
        evidence,
    })
}

#[cfg(test)]
mod tests {
    use stats::rng::{Purpose, Rng};

    use super::*;
    use crate::read::WINDOWS;

    /// How often neighbours are reported to be alike among ten windows of which each keeps `kept` of the one
    /// before.
    fn found(kept: f64) -> usize {
        let mut rng = Rng::new(7, 0, Purpose::Value);
        let mut last = 0.0;
        let mut series = || -> Vec<f64> {
            let numbers = std::iter::repeat_with(|| {
                // Near enough to normal.
                let noise: f64 = (0..12).map(|_| rng.unit()).sum::<f64>() - 6.0;
                last = kept * last + noise;
                last
            });
            numbers.take(WINDOWS).collect()
        };
        (0..1000)
            .filter(|_| {
                let values = [vec![0.0; WINDOWS], series()].concat();
                correlation(&values, WINDOWS).unwrap() > CORRELATION_MAX
            })
            .count()
    }

    #[test]
    fn independent_windows_are_rarely_reported_and_dependent_ones_often() {
        let independent = found(0.0);
        let dependent = found(0.8);
        assert!(independent < 60, "{independent}");
        assert!(dependent > 350, "{dependent}");
    }

    #[test]
    fn windows_that_are_all_alike_have_no_neighbours() {
        assert_eq!(correlation(&[1.0; 2 * WINDOWS], WINDOWS), None);
        let ramp: Vec<f64> = (0..2 * WINDOWS as u32).map(f64::from).collect();
        assert_eq!(correlation(&ramp, WINDOWS), None, "a constant difference");
    }
}
