//! The document of a comparison.

use compare::{
    Acceptance, Change, ComparedMeasure, ComparedRun, Comparison, Curves, Detect, Evidence, Pair,
    Rule, RunFigures, SideModes, Similarity, shown,
};
use record::schema::Finding;
use serde::Serialize;

use super::{Content, Page};
use crate::compare::{interval, signed};

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
    rule: Option<Rule>,
    time: &'static str,
    alpha: f64,
    tolerance: f64,
    quantiles: &'a [f64],
    phase: Option<&'a str>,
    findings: &'a [Finding],
    runs: &'a [ComparedRun],
    measures: Vec<Measure<'a>>,
    measures_left_out: usize,
}

impl Content for ComparisonDocument<'_> {
    const KIND: &'static str = "comparison";
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
        let measures = comparison.measures.iter().take(MEASURES_MAX);
        let measures: Vec<Measure<'_>> = measures.map(measure).collect();
        let options = &comparison.options;
        let document = ComparisonDocument {
            verdict: comparison.verdict.name(),
            accepted: comparison.verdict.acceptance() == Acceptance::Accepted,
            rule: comparison.rule,
            time: options.time.name(),
            alpha: options.alpha,
            tolerance: options.tolerance,
            quantiles: &options.quantiles,
            phase: options.phase.as_deref(),
            findings: &comparison.findings,
            runs: &comparison.runs,
            measures_left_out: comparison.measures.len() - measures.len(),
            measures,
        };
        let sentences = comparison.findings.iter().map(|f| f.text.clone());
        let sentences = sentences.collect();
        let title = format!("Comparison: {} · Throng", comparison.verdict.name());
        Page::new(title, sentences, throng, &document)
    }
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
