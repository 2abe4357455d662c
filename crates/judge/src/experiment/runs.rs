//! Responses of runs.

use plan::thresholds::Names;
use record::Run;

use crate::figures::Figures;
use crate::{JudgeError, threshold};
use units::Unit;

/// The figures of a run, by name as in thresholds, in their base units (nanoseconds, per second,
/// shares of 1): `None` where nothing was measured.
///
/// # Errors
/// Where the run cannot be read, or has no such figure.
pub fn run_values(run: &Run, names: &[&str]) -> Result<Vec<Option<f64>>, JudgeError> {
    let figures = Figures::read(run)?;
    let measures: Vec<&str> = figures
        .info
        .measures
        .iter()
        .map(|m| m.name.as_str())
        .collect();
    let phases: Vec<&str> = figures
        .info
        .phases
        .iter()
        .map(|p| p.name.as_str())
        .collect();
    let known = Names {
        measures: &measures,
        phases: &phases,
    };
    let values = names.iter().map(|name| {
        let figure = known.figure(name).map_err(|error| JudgeError::Figure {
            text: (*name).to_owned(),
            problem: error.to_string(),
        })?;
        Ok(threshold::value(&figures, &figure))
    });
    values.collect()
}

/// The unit of each of these figures of a run; [`Unit::Plain`] for an unknown figure.
pub fn figure_units(run: &Run, names: &[&str]) -> Vec<Unit> {
    let info = run.info();
    let measures: Vec<&str> = info.measures.iter().map(|m| m.name.as_str()).collect();
    let phases: Vec<&str> = info.phases.iter().map(|p| p.name.as_str()).collect();
    let known = Names {
        measures: &measures,
        phases: &phases,
    };
    let units = names.iter().map(|name| {
        let figure = known.figure(name);
        figure.map_or(Unit::Plain, |figure| threshold::unit(&figure))
    });
    units.collect()
}
