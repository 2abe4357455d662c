//! Scalability meters: as they were published, and normalised.
//!
//! **Published** (Gao, Pattabhiraman, Bai and Tsai 2011): each meter is the area of the polygon whose
//! radii are its inputs, in the given order ([`stats::polygon`]). It hangs on the order and on the
//! units, and a large input drowns the others; how much is reported beside it.
//!
//! **Normalised**: each input is compared with that of a reference run, so that units cancel and 1 means *as
//! the reference*; turned so that more is better; and combined by a weighted geometric mean, which
//! knows no order, in which no input counts for more than its weight, and which ranks runs alike
//! whatever the reference (Fleming and Wallace 1986).

mod hosts;
mod inputs;
mod join;

use std::collections::{BTreeMap, BTreeSet};

use plan::meters::{Meter, Meters};
use record::Import;
use record::probes::Probes;
use record::schema::Summary;
use serde::Serialize;
use stats::polygon;

use crate::cost::{Cost, Usage};
use crate::{Figures, probes};

pub use hosts::HostResources;
pub use inputs::InputError;
pub use join::Joining;

use join::{AllReadings, Timeline};

/// A run as meters see it.
#[derive(Debug)]
pub struct Subject {
    /// The run's name.
    pub name: String,
    /// The hosts of the lab that are its system; none: all of them.
    pub hosts: Vec<String>,
    /// The run's measurements; empty histograms where it is imported.
    pub figures: Figures,
    /// The run's figures for machines.
    pub summary: Summary,
    /// The reports of its servers.
    pub probes: Probes,
    /// The reports of its clients, where it is imported.
    pub import: Option<Import>,
    /// The cost of its system; `None` without a price list.
    pub cost: Option<Cost>,
}

/// Three values of one thing: where it was worst, on average, and best; least, mean and greatest for
/// meters that are computed at each moment.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, ts_rs::TS)]
pub struct Extremes {
    /// Worst, or least.
    pub worst: f64,
    /// On average.
    pub mean: f64,
    /// Best, or greatest.
    pub best: f64,
}

impl Extremes {
    /// One value where nothing is known of worse or better ones.
    fn all(value: f64) -> Extremes {
        Extremes { worst: value, mean: value, best: value }
    }

    fn times(self, factor: f64) -> Extremes {
        Extremes { worst: self.worst * factor, mean: self.mean * factor, best: self.best * factor }
    }
}

/// An input of a meter in one run.
#[derive(Debug, Clone, PartialEq, Serialize, ts_rs::TS)]
pub struct InputValue {
    /// The name in the meters file.
    pub name: String,
    /// The unit; may be empty.
    pub unit: String,
    /// The value as it goes into the published form: scaled, and inverted where the meters file says so.
    pub radius: Extremes,
    /// The change of the published mean in per cent when the input changes by one; `None` where that is 0.
    pub elasticity: Option<f64>,
    /// Times the reference's, turned so that more is better; `None` where the reference has none.
    pub ratio: Option<f64>,
    /// Share of the weights: the elasticity of the normalised form.
    pub weight: f64,
    /// How the values of its probes came to the moments at which they are compared; `None`: they were read at them.
    pub joining: Option<Joining>,
}

/// A meter of one run.
#[derive(Debug, Clone, PartialEq, Serialize, ts_rs::TS)]
pub struct MeterValue {
    /// The meter's name.
    pub name: String,
    /// The meter as published.
    pub published: Extremes,
    /// The published mean, were its inputs in another order: least and greatest.
    pub orders: (f64, f64),
    /// The mean of the published form over all orders.
    pub order_free: f64,
    /// 1 is the reference; `None` where an input has no ratio.
    pub normalised: Option<f64>,
    /// Number of the moments for which it was computed; `None`: for the run as a whole.
    pub moments: Option<usize>,
    /// The source at whose moments it was computed, where its sources were not read at the same ones.
    pub moments_of: Option<String>,
    /// The inputs in the given order.
    pub inputs: Vec<InputValue>,
}

/// All meters of one run.
#[derive(Debug, Clone, PartialEq, Serialize, ts_rs::TS)]
pub struct RunMeters {
    /// The run's name.
    pub name: String,
    /// The meters in the order of the meters file.
    pub meters: Vec<MeterValue>,
    /// ESS as published: \[SL/SLmin\]/\[SEC/SECmin\], the least over all runs.
    pub ess: Option<f64>,
    /// ESS by ranges, as the thesis of the market changed it (8.4.6): (SPMmax − SPMmin)/(SECmax − SECmin).
    pub ess_ranges: Option<f64>,
    /// ESR: SECmax − SECmin.
    pub esr: Option<f64>,
    /// Cost, where there is a price list.
    #[serde(skip)]
    pub cost: Option<(Cost, Usage)>,
    /// The resources that the hosts of its lab used.
    #[serde(skip)]
    pub hosts: Vec<HostResources>,
}

/// The reason why there are no meters.
#[derive(Debug, thiserror::Error)]
pub enum MetersError {
    /// An input of a meter cannot be taken from a run.
    #[error("{meter}, input {input:?}, run {run:?}: {why}")]
    Input {
        /// The meter.
        meter: String,
        /// The input.
        input: String,
        /// The run.
        run: String,
        /// The reason.
        why: Box<InputError>,
    },
    /// No run has the reference's name.
    #[error("there is no reference run {name:?}; the runs are {known}")]
    NoReference {
        /// The name that was given.
        name: String,
        /// The names of all runs.
        known: String,
    },
}

/// Computes all meters of all runs; the normalised forms against the reference.
///
/// # Errors
/// An input cannot be taken from a run, or there is no reference.
pub fn meter(meters: &Meters, runs: &[Subject]) -> Result<Vec<RunMeters>, MetersError> {
    let reference = reference(meters, runs)?;
    let mut found = Vec::new();
    for run in runs {
        let readings = AllReadings::of(run, meters.window_s);
        let mut values: Vec<MeterValue> = Vec::new();
        for meter in &meters.meters {
            values.push(published(meter, run, &readings, &values)?);
        }
        found.push(values);
    }
    let base = found.get(reference).cloned().unwrap_or_default();
    for values in &mut found {
        for (at, (spec, base)) in meters.meters.iter().zip(&base).enumerate() {
            let (before, rest) = values.split_at_mut(at);
            normalise(spec, &mut rest[0], base, before);
        }
    }
    Ok(finish(runs, found))
}

fn reference(meters: &Meters, runs: &[Subject]) -> Result<usize, MetersError> {
    let Some(name) = &meters.reference else {
        return Ok(0);
    };
    runs.iter().position(|run| run.name == *name).ok_or_else(|| MetersError::NoReference {
        name: name.clone(),
        known: runs.iter().map(|run| run.name.as_str()).collect::<Vec<_>>().join(", "),
    })
}

fn published(
    meter: &Meter,
    run: &Subject,
    readings: &AllReadings,
    before: &[MeterValue],
) -> Result<MeterValue, MetersError> {
    let timeline = meter.each_moment.then(|| timeline(meter, run, readings)).flatten();
    let (mut inputs, moments) = input_values(meter, run, readings, timeline.as_ref(), before)?;
    let radii = |of: fn(&Extremes) -> f64| inputs.iter().map(|i| of(&i.radius)).collect::<Vec<_>>();
    let means = radii(|radius| radius.mean);
    // One polygon for each moment, or one for the run as a whole.
    let (polygons, count) = match meter.each_moment {
        true => {
            let polygons: Vec<Vec<f64>> = each_moment(&moments).collect();
            let count = polygons.len();
            (polygons, Some(count))
        }
        false => (vec![means.clone()], None),
    };
    let over = |of: fn(&[f64]) -> Option<f64>| {
        let values: Vec<f64> = polygons.iter().filter_map(|radii| of(radii)).collect();
        let statistics = inputs::statistics(&values).ok_or_else(|| no_moment(meter, run))?;
        Ok(statistics.times(meter.scale))
    };
    let mut published = over(polygon::area)?;
    if !meter.each_moment {
        // A meters file has three inputs or more for each meter.
        let area = |radii: Vec<f64>| meter.scale * polygon::area(&radii).unwrap_or(0.0);
        published.worst = area(radii(|radius| radius.worst));
        published.best = area(radii(|radius| radius.best));
    }
    let least = over(|radii| polygon::area_range(radii).map(|range| range.0))?.mean;
    let most = over(|radii| polygon::area_range(radii).map(|range| range.1))?.mean;
    let order_free = over(polygon::mean_area)?.mean;
    let elasticities = polygon::elasticities(&means);
    for (at, input) in inputs.iter_mut().enumerate() {
        input.elasticity = elasticities.as_ref().map(|all| all[at]);
    }
    Ok(MeterValue {
        name: meter.name.clone(),
        published,
        orders: (least, most),
        order_free,
        normalised: None,
        moments: count,
        moments_of: timeline
            .and_then(|timeline| run.probes.list.get(timeline.of_probe?))
            .map(probes::name),
        inputs,
    })
}

/// The moments of a meter whose probes were read at different ones; `None`: at the same ones.
fn timeline(meter: &Meter, run: &Subject, readings: &AllReadings) -> Option<Timeline> {
    let probes: BTreeSet<usize> =
        meter.inputs.iter().flat_map(|input| inputs::probes(input, run)).collect();
    let timeline = readings.timeline(&probes.into_iter().collect::<Vec<usize>>());
    timeline.of_probe.is_some().then_some(timeline)
}

/// Radii of one input by moment, in nanoseconds since the run's start.
type Moments = BTreeMap<i64, f64>;

/// The values of a meter's inputs, and the radius of each input at each moment.
fn input_values(
    meter: &Meter,
    run: &Subject,
    readings: &AllReadings,
    timeline: Option<&Timeline>,
    before: &[MeterValue],
) -> Result<(Vec<InputValue>, Vec<Moments>), MetersError> {
    let mut inputs = Vec::new();
    let mut moments: Vec<Moments> = Vec::new();
    let weights: f64 = meter.inputs.iter().map(|input| input.weight).sum();
    for input in &meter.inputs {
        let at = |why| MetersError::Input {
            meter: meter.name.clone(),
            input: input.name.clone(),
            run: run.name.clone(),
            why: Box::new(why),
        };
        let taken = inputs::take(input, run, readings, timeline, before).map_err(at)?;
        moments.push(taken.moments);
        inputs.push(InputValue {
            name: input.name.clone(),
            unit: taken.unit,
            radius: taken.radius,
            elasticity: None,
            ratio: None,
            weight: if weights > 0.0 { input.weight / weights } else { 0.0 },
            joining: taken.joining,
        });
    }
    Ok((inputs, moments))
}

/// The error of a meter whose inputs have no moment in common.
fn no_moment(meter: &Meter, run: &Subject) -> MetersError {
    let names = meter.inputs.iter().map(|input| input.name.as_str());
    MetersError::Input {
        meter: meter.name.clone(),
        input: names.collect::<Vec<_>>().join(", "),
        run: run.name.clone(),
        why: Box::new(InputError::NoMoment),
    }
}

/// The radii at each moment at which all inputs have one.
fn each_moment(inputs: &[Moments]) -> impl Iterator<Item = Vec<f64>> {
    let first = inputs.first().into_iter().flat_map(|radii| radii.keys());
    first.filter_map(|at| inputs.iter().map(|radii| radii.get(at).copied()).collect())
}

/// Fills in the ratios to the reference, and what they come to. An input that is itself a meter brings
/// its own normalised value.
fn normalise(meter: &Meter, value: &mut MeterValue, base: &MeterValue, before: &[MeterValue]) {
    for ((input, spec), base) in value.inputs.iter_mut().zip(&meter.inputs).zip(&base.inputs) {
        let (ratio, turned) = match &spec.from {
            plan::meters::From::Meter(name) => {
                let found = before.iter().find(|found| found.name == *name);
                (found.and_then(|found| found.normalised), false)
            }
            // An inverted input is better when it is greater.
            _ => (Some(input.radius.mean / base.radius.mean), spec.invert),
        };
        let ratio = match spec.lower_is_better != turned {
            true => ratio.map(|ratio| 1.0 / ratio),
            false => ratio,
        };
        input.ratio = ratio.filter(|ratio| ratio.is_finite());
    }
    let pairs = value.inputs.iter().map(|input| Some((input.ratio?, input.weight)));
    let pairs: Option<Vec<(f64, f64)>> = pairs.collect();
    value.normalised = pairs.and_then(|pairs| polygon::geometric_mean(&pairs));
}

fn finish(runs: &[Subject], found: Vec<Vec<MeterValue>>) -> Vec<RunMeters> {
    let of = |values: &[MeterValue], name: &str| {
        let value = values.iter().find(|value| value.name == name);
        value.map(|value| value.published)
    };
    let least = |name: &str| {
        let means = found.iter().filter_map(|values| Some(of(values, name)?.mean));
        means.reduce(f64::min)
    };
    let load_least = least("SLM");
    let sec_least = least("SEC");
    let ratio = |above: f64, below: f64| Some(above / below).filter(|ratio| ratio.is_finite());
    let metered = runs.iter().zip(found).map(|(run, meters)| {
        let [load, performance, sec] = ["SLM", "SPM", "SEC"].map(|name| of(&meters, name));
        let range = |value: Option<Extremes>| value.map(|value| value.best - value.worst);
        let load = load.zip(load_least).and_then(|(load, least)| ratio(load.mean, least));
        let capacity = sec.zip(sec_least).and_then(|(sec, least)| ratio(sec.mean, least));
        let ranges = range(performance).zip(range(sec));
        RunMeters {
            name: run.name.clone(),
            ess: load.zip(capacity).and_then(|(load, capacity)| ratio(load, capacity)),
            ess_ranges: ranges.and_then(|(performance, sec)| ratio(performance, sec)),
            esr: range(sec),
            cost: run.cost.clone().map(|cost| (cost, inputs::usage(run))),
            hosts: hosts::resources(run),
            meters,
        }
    });
    metered.collect()
}

#[cfg(test)]
mod tests;
