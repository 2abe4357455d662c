//! The document of an experiment.

use compare::experiment::{
    Analysis, BarGroup, Bars, CellFigures, ClaimFigures, ClaimPlace, ClaimVerdict, Ensemble,
    EnsembleMeasure, ErrorFigures, EstimateFigures, FactorFigures, InteractionTable, LeftOut,
    MissingCell, Mode, PublishedFigures, PublishedTerm, ResponseAnalysis, TermFigures,
};
use record::schema::Finding;
use serde::Serialize;
use units::Unit;

use super::{Content, Page};

/// Most items in a page of lists that are as long as an experiment or a table.
const CELLS_MAX: usize = 500;
const OBSERVATIONS_MAX: usize = 2_000;
const TERMS_MAX: usize = 500;
const RESPONSES_MAX: usize = 24;
const LEFT_OUT_MAX: usize = 200;
const ENSEMBLES_MAX: usize = 48;
/// Most places of a published claim in a page.
const PLACES_MAX: usize = 48;
/// Most measures of a combination in a page.
const MEASURES_MAX: usize = 6;
/// Most modes of a test in a page; there can be more than anybody reads.
const MODES_MAX: usize = 12;

#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(super) struct ExperimentDocument<'a> {
    name: &'a str,
    confidence: f64,
    factors: &'a [FactorFigures],
    observations: usize,
    confounded: &'a [String],
    missing: &'a [MissingCell],
    left_out: &'a [LeftOut],
    findings: &'a [Finding],
    responses: Vec<Response<'a>>,
    responses_left_out: usize,
    ensembles: Vec<ShownEnsemble<'a>>,
    ensembles_left_out: usize,
}

impl Content for ExperimentDocument<'_> {
    const KIND: &'static str = "experiment";
}

/// The runs of a combination, without the pairs that they were compared in.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct ShownEnsemble<'a> {
    levels: &'a [String],
    runs: Vec<usize>,
    why: Option<&'a str>,
    measures: Vec<ShownMeasure<'a>>,
    measures_left_out: usize,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct ShownMeasure<'a> {
    name: &'a str,
    counts: &'a [u64],
    medians_ns: &'a [f64],
    tested: Vec<ShownModes<'a>>,
    edges_ns: &'a [f64],
}

#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct ShownModes<'a> {
    tests: &'a [String],
    modes: &'a [Mode],
    modes_left_out: usize,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct Response<'a> {
    name: &'a str,
    unit: Unit,
    #[cfg_attr(test, ts(type = "\"additive\" | \"multiplicative\""))]
    model: &'a str,
    cells: &'a [CellFigures],
    cells_left_out: usize,
    bars: ShownBars<'a>,
    findings: &'a [Finding],
    fit: Option<Fit<'a>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    published: Option<ShownPublished<'a>>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct ShownPublished<'a> {
    source: &'a str,
    mean: Option<f64>,
    terms: &'a [PublishedTerm],
    claims: Vec<ShownClaim<'a>>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct ShownClaim<'a> {
    text: &'a str,
    order: &'a str,
    verdict: ClaimVerdict,
    places: &'a [ClaimPlace],
    places_left_out: usize,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct ShownBars<'a> {
    factor: usize,
    groups: &'a [BarGroup],
    groups_left_out: usize,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct Fit<'a> {
    mean: &'a EstimateFigures,
    mean_aliases: &'a [String],
    terms: &'a [TermFigures],
    order_max: usize,
    shares_add_up: bool,
    error: Option<&'a ErrorFigures>,
    fitted: &'a [f64],
    residuals: &'a [f64],
    observations_left_out: usize,
    interactions: &'a [InteractionTable],
}

impl Page {
    /// The page of an experiment's analysis.
    pub fn experiment(analysis: &Analysis, throng: &str) -> Page {
        let responses = first(&analysis.responses, RESPONSES_MAX);
        let ensembles = first(&analysis.ensembles, ENSEMBLES_MAX);
        let document = ExperimentDocument {
            name: &analysis.name,
            confidence: analysis.confidence,
            factors: &analysis.factors,
            observations: analysis.observations,
            confounded: first(&analysis.confounded, TERMS_MAX),
            missing: first(&analysis.missing, LEFT_OUT_MAX),
            left_out: first(&analysis.left_out, LEFT_OUT_MAX),
            findings: &analysis.findings,
            responses: responses.iter().map(response).collect(),
            responses_left_out: analysis.responses.len() - responses.len(),
            ensembles: ensembles.iter().map(ensemble).collect(),
            ensembles_left_out: analysis.ensembles.len() - ensembles.len(),
        };
        let of_responses = analysis.responses.iter().flat_map(|response| {
            let name = &response.name;
            let findings = response.findings.iter();
            findings.map(move |finding| format!("{name}: {}", finding.text))
        });
        let findings = analysis.findings.iter();
        let findings = findings.map(|finding| finding.text.clone());
        let sentences = findings.chain(of_responses).collect();
        let title = format!("{}: experiment · Throng", analysis.name);
        Page::new(title, sentences, throng, &document)
    }
}

fn response(response: &ResponseAnalysis) -> Response<'_> {
    let cells = first(&response.cells, CELLS_MAX);
    Response {
        name: &response.name,
        unit: response.unit,
        model: response.model,
        cells,
        cells_left_out: response.cells.len() - cells.len(),
        bars: bars(&response.bars),
        findings: &response.findings,
        fit: response.fit.as_ref().map(|fit| Fit {
            mean: &fit.mean,
            mean_aliases: first(&fit.mean_aliases, TERMS_MAX),
            terms: first(&fit.terms, TERMS_MAX),
            order_max: fit.order_max,
            shares_add_up: fit.shares_add_up,
            error: fit.error.as_ref(),
            fitted: first(&fit.fitted, OBSERVATIONS_MAX),
            residuals: first(&fit.residuals, OBSERVATIONS_MAX),
            observations_left_out: fit.residuals.len().saturating_sub(OBSERVATIONS_MAX),
            interactions: first(&fit.interactions, TERMS_MAX),
        }),
        published: response.published.as_ref().map(published),
    }
}

fn published(published: &PublishedFigures) -> ShownPublished<'_> {
    ShownPublished {
        source: &published.source,
        mean: published.mean,
        terms: first(&published.terms, TERMS_MAX),
        claims: published.claims.iter().map(claim).collect(),
    }
}

fn claim(claim: &ClaimFigures) -> ShownClaim<'_> {
    let places = first(&claim.places, PLACES_MAX);
    ShownClaim {
        text: &claim.text,
        order: &claim.order,
        verdict: claim.verdict,
        places,
        places_left_out: claim.places.len() - places.len(),
    }
}

fn bars(bars: &Bars) -> ShownBars<'_> {
    let sizes = bars.groups.iter().map(|group| group.bars.len());
    let mut total = 0;
    let sums = sizes.map(|size| {
        total += size;
        total
    });
    let groups = sums.take_while(|sum| *sum <= CELLS_MAX).count();
    ShownBars {
        factor: bars.factor,
        groups: &bars.groups[..groups],
        groups_left_out: bars.groups.len() - groups,
    }
}

fn ensemble(ensemble: &Ensemble) -> ShownEnsemble<'_> {
    let measures = first(&ensemble.measures, MEASURES_MAX);
    ShownEnsemble {
        levels: &ensemble.levels,
        runs: ensemble.runs.iter().map(|run| run.number).collect(),
        why: ensemble.why.as_deref(),
        measures: measures.iter().map(measure).collect(),
        measures_left_out: ensemble.measures.len() - measures.len(),
    }
}

fn measure(measure: &EnsembleMeasure) -> ShownMeasure<'_> {
    let tested = measure.tested.iter().map(|tested| {
        let modes = first(&tested.modes, MODES_MAX);
        ShownModes { tests: &tested.tests, modes, modes_left_out: tested.modes.len() - modes.len() }
    });
    ShownMeasure {
        name: &measure.name,
        counts: &measure.counts,
        medians_ns: &measure.medians_ns,
        tested: tested.collect(),
        edges_ns: &measure.edges_ns,
    }
}

fn first<T>(all: &[T], max: usize) -> &[T] {
    &all[..all.len().min(max)]
}
