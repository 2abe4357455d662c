//! The document of a comparison.

use compare::{
    Acceptance, Change, ComparedMeasure, ComparedRun, Comparison, Curves, Detect, ErrorChange,
    Evidence, Pair, Rule, RunFigures, Serial, SideModes, Similarity, Unchanged, shown,
};
use record::schema::Finding;
use serde::Serialize;

use super::{Content, Page};
use crate::compare::{
    change_of, failures_moved, interval, interval_of_change, moved_by, signed, trend,
};

/// Most measures in a page.
const MEASURES_MAX: usize = 24;
/// Most pairs of runs in the table; the graph has all of them.
const PAIRS_MAX: usize = 500;

#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(super) struct ComparisonDocument<'a> {
    verdict: &'static str,
    /// True for a verdict that a continuous integration job accepts.
    accepted: bool,
    /// The decision in one sentence.
    sentence: &'a str,
    rule: Option<Rule>,
    time: &'static str,
    alpha: f64,
    tolerance: f64,
    quantiles: &'a [f64],
    phase: Option<&'a str>,
    /// The difference for which [`Detect::runs`] are.
    detect: f64,
    /// Those measures that differ, the greatest relative change first.
    changed: Vec<ShownMeasure<'a>>,
    unchanged: Option<&'a Unchanged>,
    errors: Vec<ShownErrors<'a>>,
    /// Findings beside the changes that matter to every reader.
    remarks: Vec<&'a Finding>,
    /// The other findings.
    notes: Vec<&'a Finding>,
    runs: &'a [ComparedRun],
    measures: Vec<Measure<'a>>,
    measures_left_out: usize,
}

impl Content for ComparisonDocument<'_> {
    const KIND: &'static str = "comparison";
}

/// A measure that differs, by the figure that its verdict names first.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct ShownMeasure<'a> {
    /// Index into the document's measures.
    measure: usize,
    /// Index of the figure into the measure's changes.
    change: usize,
    /// True for a verdict that a continuous integration job accepts.
    accepted: bool,
    /// The verdict, and the other figures that changed.
    text: &'a str,
    /// The figure from baseline to candidate; `None` of a shape.
    moved: Option<String>,
    /// The relative change with its interval.
    by: String,
}

/// Failures that differ, with their values as text.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct ShownErrors<'a> {
    #[serde(flatten)]
    error: &'a ErrorChange,
    /// From baseline to candidate.
    moved: String,
    /// In which way they differ, and how surely.
    result: String,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct Measure<'a> {
    name: &'a str,
    kind: &'a str,
    verdict: &'static str,
    text: &'a str,
    error_bound: f64,
    runs: &'a [RunFigures],
    changes: Vec<ShownChange<'a>>,
    evidence: Option<&'a Evidence>,
    modes: &'a [SideModes],
    detect: &'a [Detect],
    serial: &'a [Serial],
    direct: Option<Graph<'a>>,
    published: Option<Graph<'a>>,
    curves: Option<&'a Curves>,
}

/// A change, with its values as text.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct ShownChange<'a> {
    #[serde(flatten)]
    change: &'a Change,
    baseline_shown: Option<String>,
    candidate_shown: Option<String>,
    difference_shown: String,
    interval_shown: Option<String>,
}

/// Runs that are alike, and their groups.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct Graph<'a> {
    pairs: &'a [Pair],
    pairs_left_out: usize,
    /// Runs by number, where the Kolmogorov–Smirnov test sees no difference.
    ks_edges: Vec<[usize; 2]>,
    /// Runs by number, where the Anderson–Darling test sees no difference.
    ad_edges: Vec<[usize; 2]>,
    ks_cliques: &'a [Vec<usize>],
    ad_cliques: &'a [Vec<usize>],
    cut_off: bool,
}

impl Page {
    /// The page of a comparison, which was made with its curves.
    pub fn comparison(comparison: &Comparison, throng: &str) -> Page {
        let measures: Vec<Measure<'_>> = in_order(comparison).map(measure).collect();
        let options = &comparison.options;
        let document = ComparisonDocument {
            verdict: comparison.verdict.name(),
            accepted: comparison.verdict.acceptance() == Acceptance::Accepted,
            sentence: &comparison.sentence,
            rule: comparison.rule,
            time: options.time.name(),
            alpha: options.alpha,
            tolerance: options.tolerance,
            quantiles: &options.quantiles,
            phase: options.phase.as_deref(),
            detect: options.detect,
            changed: changed(comparison),
            unchanged: comparison.unchanged.as_ref(),
            errors: comparison.errors.iter().map(errors).collect(),
            remarks: comparison.remarks().collect(),
            notes: comparison.notes().collect(),
            runs: &comparison.runs,
            measures_left_out: comparison.measures.len() - measures.len(),
            measures,
        };
        let findings = comparison.findings.iter().map(|finding| finding.text.clone());
        let sentences = std::iter::once(comparison.sentence.clone()).chain(findings).collect();
        let title = format!("Comparison: {} · Throng", comparison.verdict.name());
        Page::new(title, sentences, throng, &document)
    }
}

/// The measures of the page: those that changed in their order, then the others, as many as fit.
fn in_order(comparison: &Comparison) -> impl Iterator<Item = &ComparedMeasure> {
    let changed = comparison.changed.iter().map(|one| one.measure);
    let is_changed =
        move |place: &usize| comparison.changed.iter().any(|one| one.measure == *place);
    let others = (0..comparison.measures.len()).filter(move |place| !is_changed(place));
    changed.chain(others).take(MEASURES_MAX).map(move |place| &comparison.measures[place])
}

/// The measures that changed, which are the first of the page.
fn changed(comparison: &Comparison) -> Vec<ShownMeasure<'_>> {
    let shown = comparison.changed.iter().take(MEASURES_MAX).enumerate();
    shown
        .map(|(place, one)| {
            let change = change_of(comparison, one);
            ShownMeasure {
                measure: place,
                change: one.change,
                accepted: comparison.measures[one.measure].verdict.acceptance()
                    == Acceptance::Accepted,
                text: &one.text,
                moved: moved_by(change),
                by: interval_of_change(change),
            }
        })
        .collect()
}

fn errors(error: &ErrorChange) -> ShownErrors<'_> {
    ShownErrors { error, moved: failures_moved(error), result: trend(error) }
}

fn measure(measure: &ComparedMeasure) -> Measure<'_> {
    let show = |change: &Change, value: Option<f64>| value.map(|value| shown(change.figure, value));
    Measure {
        name: &measure.name,
        kind: &measure.kind,
        verdict: measure.verdict.name(),
        text: &measure.text,
        error_bound: measure.error_bound,
        runs: &measure.runs,
        changes: measure
            .changes
            .iter()
            .map(|change| ShownChange {
                change,
                baseline_shown: show(change, change.baseline),
                candidate_shown: show(change, change.candidate),
                difference_shown: signed(change.figure, change.difference),
                interval_shown: interval(change),
            })
            .collect(),
        evidence: measure.evidence.as_ref(),
        modes: &measure.modes,
        detect: &measure.detect,
        serial: &measure.serial,
        direct: measure.direct.as_ref().map(graph),
        published: measure.published.as_ref().map(graph),
        curves: measure.curves.as_ref(),
    }
}

fn graph(similarity: &Similarity) -> Graph<'_> {
    let edges = |alike: fn(&Pair) -> bool| {
        let pairs = similarity.pairs.iter().filter(|pair| alike(pair));
        pairs.map(|pair| [pair.a, pair.b]).collect()
    };
    let shown = similarity.pairs.len().min(PAIRS_MAX);
    Graph {
        pairs: &similarity.pairs[..shown],
        pairs_left_out: similarity.pairs.len() - shown,
        ks_edges: edges(|pair| pair.ks.alike),
        ad_edges: edges(|pair| pair.ad.alike),
        ks_cliques: &similarity.ks_cliques,
        ad_cliques: &similarity.ad_cliques,
        cut_off: similarity.cut_off,
    }
}
