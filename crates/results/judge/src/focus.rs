//! The order of steps in reports, and the step that they show first. Text, Markdown, JUnit and pages have them from here.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use plan::MeasureId;
use plan::thresholds::{Figure, Names};
use record::operations::is_of_step;
use record::schema::{MeasureInfo, MeasureSummary, RunInfo, Summary};
use serde::Serialize;

use crate::names::RunNames;
use crate::totals::{StepTotals, main_step, step_totals};

/// The kind of the figures of a tag, which are those of requests and handshakes.
const TAG: &str = "tag";

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

    /// The response times of the step; `None`: nothing was answered or waited for.
    pub fn totals(&self) -> Option<StepTotals> {
        step_totals(self.measure)
    }
}

/// The step to show first: of the [`StepOrder`] the first one that breaks a threshold, or is an operation with response
/// times. `None`: no step measured anything.
pub fn of<'s>(summary: &'s Summary, info: &RunInfo) -> Option<Focus<'s>> {
    let order = StepOrder::of(summary, info);
    let measures = summary.over_regions();
    let candidates = measures.iter().filter(|measure| {
        order.breaks_threshold(&measure.name, None)
            || order.is_operation(measure) && measure.response.is_some()
    });
    let worst = candidates.min_by(|one, other| order.rank(one).compare(&order.rank(other)));
    let measure = worst.or_else(|| main_step(measures))?;
    let reason = match measure.errors {
        _ if order.breaks_threshold(&measure.name, None) => FocusReason::Threshold,
        0 => FocusReason::Slowest,
        _ => FocusReason::Errors,
    };
    Some(Focus { measure, reason })
}

/// The order of steps in reports, the worst first: those whose threshold does not hold, then those of which operations
/// failed, then the others. Within each, operations come before what they are made of and what is made of them, and before
/// steps that wait for what the target sends by itself; then the highest share of errors decides, then the greatest 95th
/// percentile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepOrder {
    /// Names of the measures, over all regions, with a threshold that does not hold, by its phase; `None`: any.
    failed: BTreeMap<Option<usize>, BTreeSet<String>>,
    /// Names of those with a threshold for a phase, by this phase.
    judged: BTreeMap<usize, BTreeSet<String>>,
    /// Names of those that wait for what the target sends by itself.
    waiting: BTreeSet<String>,
}

/// The criteria of a step's place among others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepRank {
    breaks_threshold: bool,
    has_failed: bool,
    is_operation: bool,
    /// Operations that failed, as a share of all.
    error_share: f64,
    /// 95th percentile of the response times.
    p95_ns: u64,
}

impl StepOrder {
    /// The order of the steps of a run.
    pub fn of(summary: &Summary, info: &RunInfo) -> StepOrder {
        let names = RunNames::of(info);
        let names = names.names();
        let mut failed: BTreeMap<Option<usize>, BTreeSet<String>> = BTreeMap::new();
        let mut judged: BTreeMap<usize, BTreeSet<String>> = BTreeMap::new();
        for threshold in &summary.thresholds {
            let Some(subject) = subject(&threshold.text, &names, info) else { continue };
            if let Some(phase) = subject.phase {
                judged.entry(phase).or_default().extend(subject.measures.iter().cloned());
            }
            if threshold.passed {
                continue;
            }
            if subject.phase.is_some() {
                failed.entry(subject.phase).or_default().extend(subject.measures.iter().cloned());
            }
            failed.entry(None).or_default().extend(subject.measures);
        }
        let waiting = info.measures.iter().filter(|measure| measure.waits);
        StepOrder { failed, judged, waiting: waiting.map(MeasureInfo::over_regions).collect() }
    }

    /// True if a threshold on the measure of this name, over all regions, does not hold: one for the phase of this index,
    /// or any.
    pub fn breaks_threshold(&self, measure: &str, phase: Option<usize>) -> bool {
        self.failed.get(&phase).is_some_and(|names| names.contains(measure))
    }

    /// True if there is a threshold on the measure for the phase of this index.
    pub fn has_threshold(&self, measure: &str, phase: usize) -> bool {
        self.judged.get(&phase).is_some_and(|names| names.contains(measure))
    }

    /// The rank of a measure by its figures over the complete run.
    pub fn rank(&self, measure: &MeasureSummary) -> StepRank {
        self.rank_of(measure, self.breaks_threshold(&measure.name, None))
    }

    /// The rank of a measure, or of a tag, by figures of any time.
    pub fn rank_of(&self, measure: &MeasureSummary, breaks_threshold: bool) -> StepRank {
        StepRank {
            breaks_threshold,
            has_failed: measure.errors > 0,
            is_operation: self.is_operation(measure),
            error_share: measure.errors as f64 / measure.count.max(1) as f64,
            p95_ns: measure.response.as_ref().map_or(0, |response| response.p95_ns),
        }
    }

    fn is_operation(&self, measure: &MeasureSummary) -> bool {
        let is_of_steps = is_of_step(&measure.kind) || measure.kind == TAG;
        is_of_steps && !self.waiting.contains(&measure.name)
    }
}

impl StepRank {
    /// True if a threshold on the step does not hold.
    pub fn breaks_threshold(&self) -> bool {
        self.breaks_threshold
    }

    /// The order of two ranks: the worse one is less.
    pub fn compare(&self, other: &StepRank) -> Ordering {
        let classes =
            |rank: &StepRank| (!rank.breaks_threshold, !rank.has_failed, !rank.is_operation);
        classes(self)
            .cmp(&classes(other))
            .then_with(|| other.error_share.total_cmp(&self.error_share))
            .then_with(|| other.p95_ns.cmp(&self.p95_ns))
    }
}

/// The names of the measures, over all regions, that a threshold of this run is about; none if it is about no single step.
pub fn steps_of_threshold(text: &str, info: &RunInfo) -> BTreeSet<String> {
    let names = RunNames::of(info);
    subject(text, &names.names(), info).map(|subject| subject.measures).unwrap_or_default()
}

/// The steps that a threshold is about.
struct Subject {
    /// Names of their measures, over all regions.
    measures: BTreeSet<String>,
    /// Index of the phase; `None`: the complete run.
    phase: Option<usize>,
}

/// `None` if a threshold is about no single step, or the run has no such figure.
fn subject(text: &str, names: &Names<'_>, info: &RunInfo) -> Option<Subject> {
    let name = |id: &MeasureId| info.measures.get(id.index()).map(MeasureInfo::over_regions);
    match names.threshold(text).ok()?.figure {
        Figure::Measure { measure, phase, .. } => {
            Some(Subject { measures: measure.iter().filter_map(name).collect(), phase })
        }
        Figure::Measures { measures, phase, .. } => {
            Some(Subject { measures: measures.iter().filter_map(name).collect(), phase })
        }
        Figure::Connected
        | Figure::Users
        | Figure::Refused
        | Figure::Cost
        | Figure::CostPerUserHour
        | Figure::Behind(_)
        | Figure::Wire(_)
        | Figure::Metric { .. }
        | Figure::Sessions { .. } => None,
    }
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
        let expected = ("slow".to_owned(), FocusReason::Threshold);
        assert_eq!(found(&summary, &info), expected, "the worst of those that break one");
        let order = StepOrder::of(&summary, &info);
        let breaks = ["request", "slow", "broken", "nobody"];
        let breaks = breaks.map(|name| order.breaks_threshold(name, None));
        assert_eq!(breaks, [true, true, false, false]);
        for result in &mut summary.thresholds {
            result.passed = true;
        }
        assert_eq!(found(&summary, &info).1, FocusReason::Errors);
        summary.measures.clear();
        assert_eq!(of(&summary, &info), None);
    }

    #[test]
    fn thresholds_of_a_phase_are_about_its_figures_too() {
        let (mut summary, info) = judged(0);
        let phase = &info.phases[0].name;
        summary.thresholds = vec![threshold(&format!("p95(slow) < 1ms in {phase}"))];
        summary.thresholds.push(threshold("p95(request) < 1ms"));
        let order = StepOrder::of(&summary, &info);
        assert!(order.breaks_threshold("slow", Some(0)) && order.breaks_threshold("slow", None));
        assert!(order.has_threshold("slow", 0) && !order.has_threshold("request", 0));
        assert!(!order.breaks_threshold("request", Some(0)));
        let steps = steps_of_threshold("p95(slow) < 1ms", &info);
        assert_eq!(steps.into_iter().collect::<Vec<_>>(), ["slow"]);
        assert!(steps_of_threshold("connected >= 99%", &info).is_empty());
    }

    /// Whatever contains operations fails with them, and what waits is not slow.
    #[test]
    fn what_failed_comes_first_then_operations_then_the_slowest() {
        let (mut summary, mut info) = judged(7);
        info.measures[2].waits = true;
        let broken = summary.measures.iter().find(|measure| measure.name == "broken");
        let mut around = broken.unwrap().clone();
        (around.name, around.kind) = ("around".to_owned(), "transaction".to_owned());
        around.errors = around.count;
        summary.measures.push(around);
        let order = StepOrder::of(&summary, &info);
        let mut all: Vec<&MeasureSummary> = summary.measures.iter().collect();
        all.sort_by(|one, other| order.rank(one).compare(&order.rank(other)));
        let names: Vec<&str> = all.iter().map(|measure| measure.name.as_str()).collect();
        assert_eq!(names[..3], ["broken", "around", "request"]);
        assert_eq!(
            of(&summary, &info).map(|focus| focus.name().to_owned()).as_deref(),
            Some("broken")
        );
    }
}
