//! From runs, or from a table, to what is analysed.

use std::path::Path;

use controller::experiment::{ExperimentState, RunRecord, RunStage};
use judge::experiment::{
    Data, Ensemble, EnsembleOptions, LeftOut, ResponseData, Row, ensemble, figure_unit, run_values,
};
use record::Run;
use record::schema::Verdict;
use scenario::Experiment;
use scenario::experiment::Table;
use units::Unit;

use crate::args::TableArgs;

/// Confidence of intervals where nothing else is said.
const CONFIDENCE: f64 = 0.95;

/// What the runs of an experiment measured, in the order in which they were made.
pub(super) fn data(experiment: &Experiment, state: &ExperimentState, directory: &Path) -> Data {
    let figures: Vec<&str> = experiment
        .responses
        .iter()
        .map(|r| r.figure.as_str())
        .collect();
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
        repetitions: experiment.repetitions as usize,
        left_out: Vec::new(),
        confidence: experiment.confidence,
    };
    let mut units = None;
    for run in made
        .into_iter()
        .filter(|run| run.stage != RunStage::Pending)
    {
        match measured(experiment, run, directory, &figures) {
            Ok((found, values)) => {
                units.get_or_insert_with(|| units_of(&found, &figures));
                let levels = run.cell.clone();
                data.rows.push(Row { levels, values });
            }
            Err(why) => data.left_out.push(LeftOut {
                run: format!("run {} ({})", run.number, run.levels.join(", ")),
                why,
            }),
        }
    }
    let units = units.unwrap_or_default();
    let responses = experiment.responses.iter().enumerate();
    data.responses = responses
        .map(|(number, response)| ResponseData {
            name: response.figure.clone(),
            unit: units.get(number).copied().unwrap_or(Unit::Plain),
            multiplicative: response.multiplicative,
        })
        .collect();
    data
}

/// The figures of a run, or why it does not count.
fn measured(
    experiment: &Experiment,
    run: &RunRecord,
    directory: &Path,
    figures: &[&str],
) -> Result<(Run, Vec<Option<f64>>), String> {
    let (Some(name), Some(verdict)) = (&run.directory, run.verdict) else {
        return Err(run
            .why
            .clone()
            .unwrap_or_else(|| "it was not made".to_owned()));
    };
    let found = Run::open(&directory.join(name)).map_err(|error| error.to_string())?;
    if verdict == Verdict::Untrusted && !experiment.keeps_untrusted {
        let first = found.summary().ok().flatten();
        let first = first.and_then(|summary| summary.findings.first().map(|f| f.text.clone()));
        return Err(format!(
            "it cannot be trusted: {}",
            first.unwrap_or_default()
        ));
    }
    let values = run_values(&found, figures).map_err(|error| error.to_string())?;
    Ok((found, values))
}

/// The runs of each combination held against each other; nothing where that was not asked for.
pub(super) fn ensembles(
    experiment: &Experiment,
    state: &ExperimentState,
    directory: &Path,
) -> Vec<Ensemble> {
    let Some(compare) = &experiment.compare else {
        return Vec::new();
    };
    let measures: Vec<String> = compare
        .measures
        .iter()
        .map(|(name, _)| name.clone())
        .collect();
    let options = EnsembleOptions {
        measures: &measures,
        bin_ns: compare.bin_ns,
        skip_ns: compare.skip_ns,
        alpha: 1.0 - experiment.confidence,
        keeps_untrusted: experiment.keeps_untrusted,
    };
    let of_cell = |cell: Vec<usize>| {
        let made = state
            .runs
            .iter()
            .filter(|run| run.cell == cell && run.stage == RunStage::Done);
        let counted = made
            .filter(|run| experiment.keeps_untrusted || run.verdict != Some(Verdict::Untrusted));
        let opened = counted.filter_map(|run| {
            // What cannot be opened is told with the responses.
            let opened = Run::open(&directory.join(run.directory.as_ref()?)).ok()?;
            Some((run.number, opened))
        });
        let levels = experiment.factors.iter().zip(&cell);
        let levels = levels.map(|(factor, &level)| factor.levels[level].text.clone());
        ensemble(levels.collect(), &opened.collect::<Vec<_>>(), &options)
    };
    experiment.cells().into_iter().map(of_cell).collect()
}

/// How these figures of a run are written.
pub(super) fn units_of(run: &Run, figures: &[&str]) -> Vec<Unit> {
    let measures: Vec<&str> = run
        .info()
        .measures
        .iter()
        .map(|m| m.name.as_str())
        .collect();
    let phases: Vec<&str> = run.info().phases.iter().map(|p| p.name.as_str()).collect();
    let units = figures.iter().map(|figure| {
        let figure = scenario::figure(figure, &measures, &phases);
        figure.map_or(Unit::Plain, |figure| figure_unit(&figure))
    });
    units.collect()
}

/// The rows of a table. What was planned is not known.
pub(super) fn table(table: Table, path: &Path, args: &TableArgs) -> Data {
    let factors = table.factors.into_iter();
    let responses = table.responses.into_iter();
    Data {
        name: path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned(),
        factors: factors.map(|factor| (factor.name, factor.levels)).collect(),
        responses: responses
            .map(|name| ResponseData {
                name,
                unit: Unit::Plain,
                multiplicative: args.multiplicative,
            })
            .collect(),
        rows: table
            .rows
            .into_iter()
            .map(|row| Row {
                levels: row.levels,
                values: row.values,
            })
            .collect(),
        planned: Vec::new(),
        repetitions: 0,
        left_out: Vec::new(),
        confidence: args.confidence.unwrap_or(CONFIDENCE),
    }
}
