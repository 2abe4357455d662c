//! Figures of runs by name, such as the responses of an experiment.

use record::Run;

use crate::figures::Figures;
use crate::names::RunNames;
use crate::{JudgeError, threshold};
use units::Unit;

pub use crate::threshold::RunValue;

/// The figures of a run, by name as in thresholds, in their base units (nanoseconds, per second,
/// shares of 1): `None` where nothing was measured.
///
/// # Errors
/// The run cannot be read, or has no such figure.
pub fn run_values(run: &Run, names: &[&str]) -> Result<Vec<Option<RunValue>>, JudgeError> {
    let figures = Figures::read(run)?;
    let known = RunNames::of(&figures.info);
    let known = known.names();
    let values = names.iter().map(|name| {
        let figure = known.figure(name).map_err(|error| JudgeError::Figure {
            text: (*name).to_owned(),
            problem: error.to_string(),
        })?;
        Ok(threshold::find(&figures, &figure))
    });
    values.collect()
}

/// The unit of each of these figures of a run; [`Unit::Plain`] for an unknown figure.
pub fn figure_units(run: &Run, names: &[&str]) -> Vec<Unit> {
    let known = RunNames::of(run.info());
    let known = known.names();
    let units = names.iter().map(|name| {
        let figure = known.figure(name);
        figure.map_or(Unit::Plain, |figure| threshold::unit(&figure))
    });
    units.collect()
}
