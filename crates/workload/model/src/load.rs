//! Loads a `model.json` and validates it.
//!
//! The rest of the crate relies on its values: indices are in range, counts can be added up.

use serde::Deserialize;

use crate::{Arrivals, Behaviour, FORMAT_VERSION, Model, ModelFileError};

/// Larger counts cannot come from a log, and their sums would not fit.
const COUNT_MAX: u64 = 1 << 40;
/// Clocks show years of four digits, in seconds since 1970.
const CLOCK_MAX_S: u64 = 253_402_300_799;

/// The part of the file that every version has.
#[derive(Deserialize)]
struct Header {
    format: u32,
}

impl Model {
    /// Reads the text of a `model.json`.
    ///
    /// # Errors
    /// If it is not a model, has another version, or has impossible values.
    pub fn read(text: &str) -> Result<Model, ModelFileError> {
        // Files of another version may lack keys: the version is read by itself, first.
        let header: Header = serde_json::from_str(text)?;
        if header.format != FORMAT_VERSION {
            return Err(ModelFileError::Version(header.format));
        }
        let model: Model = serde_json::from_str(text)?;
        validate(&model).map_err(ModelFileError::Numbers)?;
        Ok(model)
    }
}

fn validate(model: &Model) -> Result<(), String> {
    let classes = model.classes.len();
    if model.segments.is_empty() {
        return Err("it has no segment".to_owned());
    }
    for class in &model.classes {
        if class.targets.is_empty() {
            return Err(format!("the class {:?} has no target", class.name));
        }
        let weights = class.targets.iter().map(|target| target.weight);
        counts("the weight of a target", weights)?;
    }
    arrivals(&model.arrivals)?;
    for segment in &model.segments {
        counts("the size of a segment", [segment.sessions, segment.requests])?;
        if let Some(own) = &segment.arrivals {
            arrivals(own)?;
        }
        behaviour(&segment.behaviour, classes)
            .map_err(|why| format!("segment {:?}: {why}", segment.name))?;
    }
    Ok(())
}

fn arrivals(arrivals: &Arrivals) -> Result<(), String> {
    if !(arrivals.span_s > 0.0 && arrivals.rate_per_s > 0.0) {
        return Err("the arrivals have no length, or nobody arrives".to_owned());
    }
    if arrivals.local_s.unsigned_abs() > CLOCK_MAX_S {
        return Err(format!("local_s is {} s, which no clock shows", arrivals.local_s));
    }
    let rates = arrivals.cycle.as_ref().map(|cycle| cycle.rates.len());
    if let Some(rates) = rates.filter(|rates| ![24, 7 * 24].contains(rates)) {
        return Err(format!("a cycle has {rates} rates instead of 24 for a day or 168 for a week"));
    }
    counts("the users of an hour", arrivals.by_hour.iter().copied())?;
    counts("the users of a slot", arrivals.pictures.users.iter().copied())?;
    counts("the number of users", [arrivals.users])
}

fn behaviour(behaviour: &Behaviour, classes: usize) -> Result<(), String> {
    let of_classes = [
        ("starts", behaviour.starts.len()),
        ("exits", behaviour.exits.len()),
        ("class_thinks", behaviour.class_thinks.len()),
    ];
    for (name, length) in of_classes {
        if length != classes {
            return Err(format!("{name} has {length} entries for {classes} classes"));
        }
    }
    let places = behaviour.transitions.iter().flat_map(|t| [t.from, t.to]);
    let steps = behaviour.sequences.iter().flatten();
    let mut places = places.chain(steps.map(|&(class, _)| class));
    if let Some(place) = places.find(|&place| place >= classes) {
        return Err(format!(
            "it refers to class {place}, and the last of {classes} is {}",
            classes.saturating_sub(1)
        ));
    }
    counts("a start", behaviour.starts.iter().copied())?;
    counts("an exit", behaviour.exits.iter().copied())?;
    counts("a transition", behaviour.transitions.iter().map(|t| t.count))?;
    counts("a length", behaviour.lengths.values().copied())?;
    let own = behaviour.transitions.iter().filter_map(|t| t.think.as_ref());
    let thinks = own.chain(behaviour.class_thinks.iter().flatten()).chain([&behaviour.thinks]);
    for think in thinks {
        counts("a think", think.values.iter().map(|&(_, count)| count))?;
    }
    Ok(())
}

fn counts(what: &str, counts: impl IntoIterator<Item = u64>) -> Result<(), String> {
    match counts.into_iter().find(|&count| count > COUNT_MAX) {
        Some(count) => Err(format!("{what} has the count {count}, which is too large")),
        None => Ok(()),
    }
}
