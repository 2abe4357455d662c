//! The step that a report shows first: one whose threshold does not hold, else the one that did worst.

use plan::MeasureId;
use plan::thresholds::Figure;
use record::operations::is_of_step;
use record::schema::{MeasureInfo, MeasureSummary, RunInfo, Summary};
use serde::Serialize;

use crate::names::RunNames;
use crate::totals::{StepTotals, main_step, step_totals};

/// The step that a report shows first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Focus<'s> {
    /// Figures of the step over the complete run.
    pub measure: &'s MeasureSummary,
    /// Why it is this one.
    pub reason: FocusReason,
}

/// Why a step is shown first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ts_rs::TS)]
#[serde(rename_all = "lowercase")]
pub enum FocusReason {
    /// A threshold on it does not hold.
    Threshold,
    /// It has the highest share of errors.
    Errors,
    /// Nothing failed, and it has the greatest 95th percentile of response times.
    Slowest,
}

impl Focus<'_> {
    /// The name of the step.
    pub fn name(&self) -> &str {
        &self.measure.name
    }

    /// Its response times; `None`: nothing was answered or waited for.
    pub fn totals(&self) -> Option<StepTotals> {
        step_totals(self.measure)
    }
}

/// The step to show first: the worst of those that the first failed threshold is about, else of all. The worst has the
/// highest share of errors, then the greatest 95th percentile. Steps that wait for what the target sends by itself are
/// no candidates, unless a threshold names them. `None`: no step measured anything.
pub fn of<'s>(summary: &'s Summary, info: &RunInfo) -> Option<Focus<'s>> {
    let measures = summary.over_regions();
    let failed = failed_thresholds(summary, info)
        .into_iter()
        .find_map(|names| worst(measures.iter().filter(|measure| names.contains(&measure.name))));
    if let Some(measure) = failed {
        return Some(Focus { measure, reason: FocusReason::Threshold });
    }
    let waiting: Vec<String> =
        info.measures.iter().filter(|m| m.waits).map(MeasureInfo::over_regions).collect();
    let candidates = measures.iter().filter(|measure| {
        is_of_step(&measure.kind) && measure.response.is_some() && !waiting.contains(&measure.name)
    });
    let measure = worst(candidates).or_else(|| main_step(measures))?;
    let reason = match measure.errors {
        0 => FocusReason::Slowest,
        _ => FocusReason::Errors,
    };
    Some(Focus { measure, reason })
}

/// The names of the measures, over all regions, with a threshold that does not hold.
pub fn failing(summary: &Summary, info: &RunInfo) -> Vec<String> {
    let mut names = failed_thresholds(summary, info).concat();
    names.sort_unstable();
    names.dedup();
    names
}

/// Of each threshold that does not hold, in their order, the names of the measures that it is about.
fn failed_thresholds(summary: &Summary, info: &RunInfo) -> Vec<Vec<String>> {
    let names = RunNames::of(info);
    let names = names.names();
    let name = |id: &MeasureId| info.measures.get(id.index()).map(MeasureInfo::over_regions);
    let failed = summary.thresholds.iter().filter(|threshold| !threshold.passed);
    // A text that is no threshold of this run is about no measure.
    let figures = failed.filter_map(|threshold| names.threshold(&threshold.text).ok());
    let measures = figures.map(|threshold| match threshold.figure {
        Figure::Measure { measure, .. } => measure.iter().filter_map(name).collect(),
        Figure::Measures { measures, .. } => measures.iter().filter_map(name).collect(),
        Figure::Connected
        | Figure::Users
        | Figure::Refused
        | Figure::Cost
        | Figure::CostPerUserHour
        | Figure::Behind(_)
        | Figure::Wire(_)
        | Figure::Sessions { .. } => Vec::new(),
    });
    measures.collect()
}

fn worst<'s>(measures: impl Iterator<Item = &'s MeasureSummary>) -> Option<&'s MeasureSummary> {
    let share = |m: &MeasureSummary| m.errors as f64 / m.count.max(1) as f64;
    let p95_ns = |m: &MeasureSummary| m.response.as_ref().map(|response| response.p95_ns);
    measures.max_by(|one, other| {
        share(one).total_cmp(&share(other)).then_with(|| p95_ns(one).cmp(&p95_ns(other)))
    })
}

#[cfg(test)]
mod tests {
    use record::Outcome;
    use record::schema::ThresholdResult;

    use super::*;
    use crate::sample;

    /// Connections and three steps: a fast one, a slow one, and one with failures, which is fast, too.
    fn judged(failures: u64) -> (Summary, RunInfo) {
        let mut figures = sample::figures();
        for name in ["slow", "broken"] {
            figures.info.measures.push(MeasureInfo::new(name, "request"));
        }
        let mut figures = crate::Figures::new(figures.info, figures.series, Vec::new());
        sample::succeed(&mut figures, 0, sample::REQUEST, 6_000, 10 * sample::MS, 0);
        sample::succeed(&mut figures, 0, 2, 100, 400 * sample::MS, 0);
        sample::succeed(&mut figures, 0, 3, 100, 5 * sample::MS, 0);
        sample::fail(&mut figures, 3, Outcome::Status, failures);
        (sample::judged(&figures), figures.info)
    }

    fn threshold(text: &str) -> ThresholdResult {
        ThresholdResult {
            text: text.to_owned(),
            passed: false,
            value: None,
            is_bound: false,
            shown: String::new(),
            interval: None,
            within_interval: false,
        }
    }

    fn found(summary: &Summary, info: &RunInfo) -> (String, FocusReason) {
        let focus = of(summary, info).unwrap();
        (focus.name().to_owned(), focus.reason)
    }

    #[test]
    fn a_failed_threshold_comes_before_errors_and_these_before_slowness() {
        let (mut summary, mut info) = judged(0);
        assert_eq!(found(&summary, &info), ("slow".to_owned(), FocusReason::Slowest));
        info.measures[2].waits = true;
        let focus = of(&summary, &info).unwrap();
        assert_eq!(focus.name(), "request", "what waits for the target is not slow");

        (summary, info) = judged(7);
        assert_eq!(found(&summary, &info), ("broken".to_owned(), FocusReason::Errors));

        let texts =
            ["connected >= 100%", "p95(nobody) < 1ms", "p95(request) < 1ms", "p95(slow) < 1s"];
        summary.thresholds = texts.map(threshold).into();
        assert_eq!(found(&summary, &info), ("request".to_owned(), FocusReason::Threshold));
        assert_eq!(failing(&summary, &info), ["request", "slow"]);
        for result in &mut summary.thresholds {
            result.passed = true;
        }
        assert_eq!(found(&summary, &info).1, FocusReason::Errors);
        summary.measures.clear();
        assert_eq!(of(&summary, &info), None);
    }
}
