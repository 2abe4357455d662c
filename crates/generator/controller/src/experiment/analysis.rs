//! From an experiment's runs to its analysis.

use std::path::Path;

use compare::disturbed::disturbed_findings;
use compare::experiment::{
    Analysis, Claim, Data, Ensemble, EnsembleOptions, ExperimentDecision, LeftOut,
    PublishedResponse, ResponseData, Row, analyze, decision, ensemble, wide_bins,
};
use judge::responses::{RunValue, figure_units, run_values};
use record::Run;
use record::schema::Verdict;
use scenario::Experiment;
use scenario::experiment::{Compare, Table, TableRow};
use stats::finite::is_measurable;
use units::Unit;

use super::{ExperimentState, RunRecord, RunStage};

/// Analyses the runs that an experiment has made so far, and compares the runs of each combination if
/// the experiment requests that.
pub fn analyze_runs(
    experiment: &Experiment,
    state: &ExperimentState,
    directory: &Path,
) -> Analysis {
    let mut analysis = analyze(&data(experiment, state, directory));
    analysis.ensembles = ensembles(experiment, state, directory);
    let wide = |compare: &Compare| wide_bins(&analysis.ensembles, compare.bin_ns);
    analysis.findings.extend(experiment.compare.as_ref().and_then(wide));
    analysis.findings.extend(disturbed_findings(&state.disturbed, "repetition"));
    analysis
}

/// What the runs so far decide; `None` of an experiment whose number of repetitions is fixed.
pub(super) fn decide_runs(
    experiment: &Experiment,
    state: &ExperimentState,
    directory: &Path,
) -> Option<ExperimentDecision> {
    decision(&data(experiment, state, directory))
}

/// Analyses a table with results that were measured elsewhere. Which combinations were planned is unknown.
pub fn analyze_table(
    table: Table,
    name: String,
    multiplicative: bool,
    confidence: f64,
) -> Analysis {
    let response = |name| ResponseData {
        name,
        unit: Unit::Plain,
        multiplicative,
        published: PublishedResponse::default(),
    };
    let row = |row: TableRow| Row {
        levels: row.levels,
        values: row.values,
        bounds: Vec::new(),
        run: String::new(),
        repetition: 0,
    };
    let factors = table.factors.into_iter();
    analyze(&Data {
        name,
        factors: factors.map(|factor| (factor.name, factor.levels)).collect(),
        responses: table.responses.into_iter().map(response).collect(),
        rows: table.rows.into_iter().map(row).collect(),
        planned: Vec::new(),
        repetitions: 0,
        left_out: Vec::new(),
        confidence,
        until: None,
    })
}

/// The measurements of an experiment, in the order of its runs.
fn data(experiment: &Experiment, state: &ExperimentState, directory: &Path) -> Data {
    let figures: Vec<&str> = experiment.responses.iter().map(|r| r.figure.as_str()).collect();
    let mut made: Vec<&RunRecord> = state.runs.iter().collect();
    // The names of directories begin with the time.
    made.sort_by_key(|run| &run.directory);
    let mut data = Data {
        name: experiment.name.clone(),
        factors: experiment
            .factors
            .iter()
            .map(|factor| {
                let levels = factor.levels.iter().map(|level| level.text.clone());
                (factor.name.clone(), levels.collect())
            })
            .collect(),
        responses: Vec::new(),
        rows: Vec::new(),
        planned: experiment.cells(),
        repetitions: state.repetitions_counted() as usize,
        left_out: Vec::new(),
        confidence: experiment.confidence,
        until: state.until,
    };
    let mut units = None;
    let made = made.into_iter().filter(|run| run.stage != RunStage::Pending);
    for run in made.filter(|run| !state.is_repeated(run.repetition)) {
        match measured(experiment, run, directory, &figures) {
            Ok((found, values)) => {
                units.get_or_insert_with(|| figure_units(&found, &figures));
                let is_bound = |value: &Option<RunValue>| value.is_some_and(|v| v.is_bound);
                let bounds = values.iter().enumerate().filter(|(_, v)| is_bound(v));
                data.rows.push(Row {
                    levels: run.cell.clone(),
                    bounds: bounds.map(|(number, _)| number).collect(),
                    values: values.iter().map(|v| v.map(|v| v.value)).collect(),
                    run: name(run),
                    repetition: run.repetition,
                });
            }
            Err(why) => data.left_out.push(LeftOut { run: name(run), why }),
        }
    }
    let units = units.unwrap_or_default();
    let responses = experiment.responses.iter().enumerate();
    data.responses = responses
        .map(|(number, response)| ResponseData {
            name: response.figure.clone(),
            unit: units.get(number).copied().unwrap_or(Unit::Plain),
            multiplicative: response.multiplicative,
            published: published(&response.published, &data.planned),
        })
        .collect();
    data
}

/// The published values of the experiment's file, for the result.
fn published(
    written: &scenario::experiment::PublishedResponse,
    cells: &[Vec<usize>],
) -> PublishedResponse {
    let claims = written.claims.iter().map(|claim| Claim {
        text: claim.text.clone(),
        factor: claim.factor,
        order: claim.order.clone(),
        at: claim.at.clone(),
    });
    PublishedResponse {
        source: written.source.clone(),
        values: written.of_cells(cells),
        claims: claims.collect(),
    }
}

/// The name of a run in messages.
fn name(run: &RunRecord) -> String {
    format!("run {} ({})", run.number, run.levels.join(", "))
}

/// The figures of a run, or the reason why it is left out.
fn measured(
    experiment: &Experiment,
    run: &RunRecord,
    directory: &Path,
    figures: &[&str],
) -> Result<(Run, Vec<Option<RunValue>>), String> {
    let (Some(name), Some(verdict)) = (&run.directory, run.verdict) else {
        return Err(run.why.clone().unwrap_or_else(|| "it was not run".to_owned()));
    };
    let found = Run::open(&directory.join(name)).map_err(|error| error.to_string())?;
    if verdict == Verdict::Untrusted && !experiment.keeps_untrusted {
        let first = found.summary().ok().flatten();
        let first = first.and_then(|summary| summary.findings.first().map(|f| f.text.clone()));
        return Err(format!("it is untrusted: {}", first.unwrap_or_default()));
    }
    let values = run_values(&found, figures).map_err(|error| error.to_string())?;
    let known = figures.iter().zip(&values).filter_map(|(name, value)| Some((name, (*value)?)));
    for (name, value) in known {
        if !is_measurable(value.value) {
            return Err(format!("{name} is {}, and nothing can be computed of it", value.value));
        }
    }
    Ok((found, values))
}

/// The runs of each combination compared with each other; empty unless the experiment requests it.
fn ensembles(experiment: &Experiment, state: &ExperimentState, directory: &Path) -> Vec<Ensemble> {
    let Some(compare) = &experiment.compare else {
        return Vec::new();
    };
    let measures: Vec<String> = compare.measures.iter().map(|(name, _)| name.clone()).collect();
    let options = EnsembleOptions {
        measures: &measures,
        bin_ns: compare.bin_ns,
        skip_ns: compare.skip_ns,
        alpha: 1.0 - experiment.confidence,
        keeps_untrusted: experiment.keeps_untrusted,
    };
    let of_cell = |cell: Vec<usize>| {
        let made = state.runs.iter().filter(|run| run.cell == cell && run.stage == RunStage::Done);
        let made = made.filter(|run| !state.is_repeated(run.repetition));
        let counted = made
            .filter(|run| experiment.keeps_untrusted || run.verdict != Some(Verdict::Untrusted));
        let opened = counted.filter_map(|run| {
            // A run that cannot be opened is reported with the responses.
            let opened = Run::open(&directory.join(run.directory.as_ref()?)).ok()?;
            Some((run.number, opened))
        });
        let levels = experiment.factors.iter().zip(&cell);
        let levels = levels.map(|(factor, &level)| factor.levels[level].text.clone());
        ensemble(levels.collect(), &opened.collect::<Vec<_>>(), &options)
    };
    experiment.cells().into_iter().map(of_cell).collect()
}
