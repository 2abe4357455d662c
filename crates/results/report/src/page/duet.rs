//! The document of a duet.

use compare::Acceptance;
use compare::duet::{DuetResult, DuetSide, DuetStep, DuetVerdict};
use record::schema::Finding;
use serde::Serialize;

use super::{Content, Page};

/// Most steps in a page; each has a figure.
const STEPS_MAX: usize = 24;
/// Most runs in the table.
const RUNS_MAX: usize = 500;

#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(super) struct DuetDocument<'a> {
    verdict: &'static str,
    /// Whether a continuous integration job accepts the verdict; `None`: it is undecided.
    accepted: Option<bool>,
    /// The decision in one sentence.
    sentence: &'a str,
    /// The probability of any false decision at any look.
    alpha: f64,
    /// The smallest relative difference that matters.
    difference: f64,
    interleave: &'static str,
    /// The figure of each step that has enough operations for it.
    figure: String,
    /// Pairs that count.
    pairs: u64,
    /// About how many pairs decide; `None` before the second.
    pairs_expected: Option<u64>,
    steps: Vec<DuetPageStep<'a>>,
    steps_left_out: usize,
    errors: DuetPageErrors,
    /// The old target against itself; empty if that was not tried.
    noise: Vec<DuetNoise<'a>>,
    findings: &'a [Finding],
    /// The runs in the order in which they were made.
    runs: Vec<DuetPageRun<'a>>,
    runs_left_out: usize,
}

impl Content for DuetDocument<'_> {
    const KIND: &'static str = "duet";
}

/// A step.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct DuetPageStep<'a> {
    name: &'a str,
    verdict: &'static str,
    /// As for the whole.
    accepted: Option<bool>,
    /// The verdict with its figures.
    text: &'a str,
    /// The figure that is compared.
    figure: String,
    pairs: u64,
    operations: u64,
    /// Mean over pairs.
    old_ns: Option<f64>,
    /// Mean over pairs.
    new_ns: Option<f64>,
    /// The relative difference.
    change: Option<f64>,
    /// Its interval, valid at every look; `None` as long as a side of it is open.
    interval: Option<(f64, f64)>,
    p: f64,
    /// The relative difference in each pair.
    differences: &'a [f64],
}

/// Failed operations.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct DuetPageErrors {
    /// Share of the old target's operations.
    old: f64,
    /// Share of the new target's operations.
    new: f64,
    p: f64,
    rose: bool,
}

/// How a step of the old target differs from itself.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct DuetNoise<'a> {
    name: &'a str,
    /// Standard deviation of the relative differences.
    scatter: f64,
    /// By how much it is slower beside itself than alone; `None`: it did not run at once.
    disturbance: Option<f64>,
}

/// A run.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct DuetPageRun<'a> {
    /// Number of its pair, from 1.
    pair: u64,
    side: &'static str,
    directory: &'a str,
    trusted: bool,
}

impl Page {
    /// The page of a duet.
    pub fn duet(result: &DuetResult, throng: &str) -> Page {
        let check = result.self_check.as_ref();
        let noise = check.iter().flat_map(|check| {
            check.steps.iter().map(|step| DuetNoise {
                name: &step.name,
                scatter: step.scatter.exp_m1(),
                disturbance: check
                    .disturbance
                    .iter()
                    .find(|one| one.name == step.name)
                    .map(|one| one.shift),
            })
        });
        let runs = result.runs.iter().take(RUNS_MAX).map(|run| DuetPageRun {
            pair: run.pair,
            side: side(run.side),
            directory: &run.directory,
            trusted: run.trusted,
        });
        let errors = &result.errors;
        let document = DuetDocument {
            verdict: result.verdict.name(),
            accepted: accepted(result.verdict),
            sentence: &result.sentence,
            alpha: result.alpha,
            difference: result.difference,
            interleave: result.interleave.name(),
            figure: result.primary.figure().label(),
            pairs: result.pairs,
            pairs_expected: result.pairs_expected,
            steps: result.steps.iter().take(STEPS_MAX).map(step).collect(),
            steps_left_out: result.steps.len().saturating_sub(STEPS_MAX),
            errors: DuetPageErrors {
                old: errors.old,
                new: errors.new,
                p: errors.p,
                rose: errors.rose && !errors.allowed,
            },
            noise: noise.take(STEPS_MAX).collect(),
            findings: &result.findings,
            runs: runs.collect(),
            runs_left_out: result.runs.len().saturating_sub(RUNS_MAX),
        };
        let sentences = std::iter::once(&result.sentence);
        let sentences = sentences.chain(result.findings.iter().map(|finding| &finding.text));
        Page::new("Duet".to_owned(), sentences.cloned().collect(), throng, &document)
    }
}

fn step(step: &DuetStep) -> DuetPageStep<'_> {
    DuetPageStep {
        name: &step.name,
        verdict: step.verdict.name(),
        accepted: accepted(step.verdict),
        text: &step.text,
        figure: step.figure.label(),
        pairs: step.pairs,
        operations: step.operations,
        old_ns: step.old_ns,
        new_ns: step.new_ns,
        change: step.change,
        interval: step.interval,
        p: step.p,
        differences: &step.differences,
    }
}

fn accepted(verdict: DuetVerdict) -> Option<bool> {
    match verdict.acceptance() {
        Acceptance::Accepted => Some(true),
        Acceptance::Rejected => Some(false),
        Acceptance::Undecided => None,
    }
}

fn side(side: DuetSide) -> &'static str {
    match side {
        DuetSide::Old => "old",
        DuetSide::New => "new",
        DuetSide::SelfCheck => "old against itself",
        DuetSide::Alone => "old alone",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::slower;

    #[test]
    fn a_page_has_the_decision_and_each_pair() {
        let result = slower();
        let page = Page::duet(&result, "0.0.0");
        let document: serde_json::Value = serde_json::from_str(page.json()).unwrap();
        assert_eq!((&document["kind"], &document["accepted"]), (&"duet".into(), &false.into()));
        let step = &document["steps"][0];
        assert_eq!(step["name"], "checkout");
        assert_eq!(step["differences"].as_array().unwrap().len(), 10);
        let first = step["differences"][0].as_f64().unwrap();
        assert!((first - 0.1).abs() < 1e-9, "{first}");
        assert!(
            page.sentences[0].starts_with("checkout is slower by 10 %"),
            "{:?}",
            page.sentences
        );
    }
}
