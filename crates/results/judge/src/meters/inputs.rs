//! The sources of meters' inputs: figures, probes, values, other meters, prices.

use std::collections::BTreeMap;

use plan::meters::{From, Input, SourceWeights};
use plan::{Basis, Figure, Stat};

use super::join::{AllReadings, Joining, Moment, Timeline};
use super::{Extremes, MeterValue, Subject};
use crate::cost::Usage;
use crate::names::RunNames;
use crate::{clients, threshold};

/// The reason why an input cannot be taken from a run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InputError {
    /// The figure makes no sense for this run.
    #[error("{0}")]
    Figure(String),
    /// Nothing was measured for it.
    #[error("nothing was measured for {0}")]
    Nothing(String),
    /// Only a lower bound of it is known.
    #[error(
        "{0} is only known to be at least its value, since operations were never answered; figures of operations that \
         succeeded (name.succeeded) are exact"
    )]
    Bound(String),
    /// No server reported this metric.
    #[error("no server reported {metric:?}; reported metrics: {known}")]
    NoProbe {
        /// The metric.
        metric: String,
        /// The metrics that were reported.
        known: String,
    },
    /// The metrics were reported, but never all of them in the same part of the run.
    #[error("its metrics were never all reported in the same part of the run")]
    NoMoment,
    /// It is reported in a unit that cannot be turned into the one wanted.
    #[error("it is in {from:?}, which cannot be converted to {to:?}")]
    Unit {
        /// The unit of the value.
        from: String,
        /// The unit that the meters file wants.
        to: String,
    },
    /// The meters file has no weights for this run.
    #[error("the meters file has no weights for this run; it has weights for {0}")]
    NoWeights(String),
    /// The meters file has no value for this run.
    #[error("the meters file has no value for this run; it has values for {0}")]
    NoValue(String),
    /// It takes a price list.
    #[error("hours per dollar require a price list (--prices)")]
    NoPrices,
    /// It is not a finite number of 0 or more.
    #[error("{0} is not a radius: it must be finite and at least 0")]
    NoRadius(String),
}

/// An input of one run.
#[derive(Debug)]
pub(super) struct InputReading {
    pub(super) radius: Extremes,
    pub(super) unit: String,
    /// Radii by nanoseconds since the run's start, where they come from probes.
    pub(super) moments: BTreeMap<i64, f64>,
    /// How they came to these moments; `None`: their sources were read at them.
    pub(super) joining: Option<Joining>,
}

/// Takes an input from a run. `timeline`: the moments of its meter, where they are not those of its own sources.
pub(super) fn take(
    input: &Input,
    run: &Subject,
    readings: &AllReadings,
    timeline: Option<&Timeline>,
    before: &[MeterValue],
) -> Result<InputReading, InputError> {
    let raw = raw(input, run, readings, timeline, before)?;
    let factor = input.scale * factor(&raw.unit, input.unit.as_deref())?;
    let turn = |value: f64| {
        let scaled = value * factor;
        let radius = if input.invert { 1.0 / scaled } else { scaled };
        match radius.is_finite() && radius >= 0.0 {
            true => Ok(radius),
            false => Err(InputError::NoRadius(radius.to_string())),
        }
    };
    let mut moments = raw.moments;
    for value in moments.values_mut() {
        *value = turn(*value)?;
    }
    let unit = input.unit.clone().unwrap_or(raw.unit);
    Ok(InputReading {
        radius: Extremes {
            worst: turn(raw.radius.worst)?,
            mean: turn(raw.radius.mean)?,
            best: turn(raw.radius.best)?,
        },
        unit: match (input.invert, unit.is_empty()) {
            (true, false) => format!("1/{unit}"),
            _ => unit,
        },
        moments,
        joining: raw.joining,
    })
}

/// The input as it comes, neither scaled nor inverted.
fn raw(
    input: &Input,
    run: &Subject,
    readings: &AllReadings,
    timeline: Option<&Timeline>,
    before: &[MeterValue],
) -> Result<InputReading, InputError> {
    let whole = |radius: Extremes, unit: String| {
        Ok(InputReading { radius, unit, moments: BTreeMap::new(), joining: None })
    };
    match &input.from {
        From::Figure { mean, worst, best } => {
            let (value, unit) = figure(mean, run)?;
            let other = |text: &Option<String>| match text {
                Some(text) => figure(text, run).map(|found| found.0),
                None => Ok(value),
            };
            let radius = Extremes { worst: other(worst)?, mean: value, best: other(best)? };
            whole(radius, unit)
        }
        From::Probe { metrics, per, weigh } => {
            let ratio = ProbeRatio::of(metrics, per.as_deref(), weigh, run)?;
            let probes = ratio.probes();
            let own = timeline.is_none().then(|| readings.timeline(&probes));
            let timeline = timeline.or(own.as_ref()).ok_or(InputError::NoMoment)?;
            let moments = timeline.moments.iter();
            let moments = moments
                .filter_map(|&moment| Some((moment.at_ns, ratio.at(readings, timeline, moment)?)));
            let moments: BTreeMap<i64, f64> = moments.collect();
            let values: Vec<f64> = moments.values().copied().collect();
            Ok(InputReading {
                radius: statistics(&values).ok_or(InputError::NoMoment)?,
                unit: ratio.unit(),
                moments,
                joining: readings.joining(timeline, &probes),
            })
        }
        From::Value(values) => {
            let found = values.iter().find(|(name, _)| name.is_empty() || *name == run.name);
            let (_, value) = found.ok_or_else(|| {
                let known: Vec<&str> = values.iter().map(|(name, _)| name.as_str()).collect();
                InputError::NoValue(known.join(", "))
            })?;
            whole(Extremes::all(*value), String::new())
        }
        From::Meter(name) => {
            let found = before.iter().find(|found| found.name == *name);
            let found = found.ok_or_else(|| InputError::Nothing(name.clone()))?;
            whole(found.published, String::new())
        }
        From::HoursPerMoney => {
            let cost = run.cost.as_ref().ok_or(InputError::NoPrices)?;
            let hours = cost.hours_per_money();
            let hours = hours.ok_or_else(|| InputError::Nothing("a cost of 0".to_owned()))?;
            whole(Extremes::all(hours), format!("h/{}", cost.currency))
        }
    }
}

/// Least, mean and greatest; `None` of nothing.
pub(super) fn statistics(values: &[f64]) -> Option<Extremes> {
    Some(Extremes {
        worst: values.iter().copied().reduce(f64::min)?,
        mean: stats::mean::mean(values),
        best: values.iter().copied().reduce(f64::max)?,
    })
}

/// The use that the run's users made of the system. Imported results do not say how long users were there: those who
/// connected count for the whole run.
pub(super) fn usage(run: &Subject) -> Usage {
    let hours = run.figures.seconds(None) / 3600.0;
    let requests = run.summary.measures.iter().filter(|m| m.kind == "request");
    Usage {
        hours,
        requests: requests.map(|measure| measure.count - measure.errors).sum(),
        user_hours: match run.import {
            Some(_) => run.summary.users.connected as f64 * hours,
            None => run.figures.user_hours(),
        },
    }
}

/// A figure of the run as a whole, and its unit.
fn figure(text: &str, run: &Subject) -> Result<(f64, String), InputError> {
    if text == "connected_users" {
        return Ok((run.summary.users.connected as f64, String::new()));
    }
    let names = RunNames::of(&run.figures.info);
    let figure =
        names.names().figure(text).map_err(|error| InputError::Figure(error.to_string()))?;
    let value = match run.import {
        Some(_) => imported(&figure, run),
        None => match threshold::find(&run.figures, &figure) {
            Some(found) if found.is_bound => return Err(InputError::Bound(text.to_owned())),
            found => found.map(|found| found.value),
        },
    };
    let value = value.ok_or_else(|| InputError::Nothing(text.to_owned()))?;
    let unit = match &figure {
        Figure::Measure { stat, .. }
        | Figure::Measures { stat, .. }
        | Figure::Sessions { stat, .. } => match stat {
            Stat::Mean | Stat::Min | Stat::Max | Stat::Quantile(_) => "ns",
            Stat::Rate | Stat::Offered | Stat::Begun => "1/s",
            Stat::Count | Stat::Errors | Stat::ErrorRate | Stat::SuccessRate => "",
        },
        Figure::Behind(_) => "ns",
        Figure::Metric { .. } => {
            return Ok((value, threshold::own_unit(&run.figures.info, &figure)));
        }
        Figure::Connected
        | Figure::Users
        | Figure::Refused
        | Figure::Cost
        | Figure::CostPerUserHour
        | Figure::Wire(_) => "",
    };
    Ok((value, unit.to_owned()))
}

/// A figure of imported results. Counts are of what succeeded, since nothing else is timed there; of a
/// percentile, which lies between two bounds, the greater one is taken.
fn imported(figure: &Figure, run: &Subject) -> Option<f64> {
    let Figure::Measure {
        stat,
        measure: Some(measure),
        basis: Basis::Response | Basis::Succeeded,
        ..
    } = figure
    else {
        return None;
    };
    let import = run.import.as_ref()?;
    let pool = clients::pool(import, measure.0, |_| true)?;
    match stat {
        Stat::Count => Some(pool.pooled.count as f64),
        Stat::Mean => Some(pool.pooled.mean),
        Stat::Min => Some(pool.min_ns as f64),
        Stat::Max => Some(pool.max_ns as f64),
        Stat::Quantile(share) => {
            clients::percentile_bounds(import, measure.0, *share).map(|bounds| bounds.1)
        }
        Stat::Rate
        | Stat::Offered
        | Stat::Begun
        | Stat::Errors
        | Stat::ErrorRate
        | Stat::SuccessRate => threshold::value(&run.figures, figure),
    }
}

/// The probes of an input: a sum over all sources, divided by another.
struct ProbeRatio {
    above: ProbeSum,
    below: Option<ProbeSum>,
}

/// The metrics over all sources, added up or weighted.
struct ProbeSum {
    /// Places in the list of probes, each with its factor.
    factors: Vec<(usize, f64)>,
    /// The sum is divided by this.
    total: f64,
    unit: String,
}

impl ProbeRatio {
    fn of(
        metrics: &[(String, f64)],
        per: Option<&str>,
        weigh: &[SourceWeights],
        run: &Subject,
    ) -> Result<ProbeRatio, InputError> {
        let weigh = weights_of(weigh, &run.name)?;
        let above = ProbeSum::of(metrics, weigh, run)?;
        let below = per.map(|per| ProbeSum::of(&[(per.to_owned(), 1.0)], weigh, run));
        Ok(ProbeRatio { above, below: below.transpose()? })
    }

    fn probes(&self) -> Vec<usize> {
        let sums = [&self.above].into_iter().chain(&self.below);
        sums.flat_map(|sum| sum.factors.iter().map(|&(probe, _)| probe)).collect()
    }

    /// The value at a moment; `None`: that of a source is not known.
    fn at(&self, readings: &AllReadings, timeline: &Timeline, moment: Moment) -> Option<f64> {
        let above = self.above.at(readings, timeline, moment)?;
        match &self.below {
            Some(below) => Some(above / below.at(readings, timeline, moment)?),
            None => Some(above),
        }
    }

    fn unit(&self) -> String {
        match &self.below {
            None => self.above.unit.clone(),
            Some(below) if below.unit == self.above.unit => String::new(),
            Some(below) => format!("{}/{}", self.above.unit, below.unit),
        }
    }
}

impl ProbeSum {
    fn of(
        metrics: &[(String, f64)],
        weigh: Option<&SourceWeights>,
        run: &Subject,
    ) -> Result<ProbeSum, InputError> {
        let (factors, unit) = factors(metrics, weigh, run)?;
        let total: f64 = match weigh {
            None => 1.0,
            Some(_) => factors.iter().flatten().sum(),
        };
        let factors = factors.into_iter().enumerate();
        let factors = factors.filter_map(|(probe, factor)| Some((probe, factor?)));
        Ok(ProbeSum { factors: factors.collect(), total, unit })
    }

    fn at(&self, readings: &AllReadings, timeline: &Timeline, moment: Moment) -> Option<f64> {
        let mut factors = self.factors.iter();
        factors.try_fold(0.0, |sum, &(probe, factor)| {
            Some(sum + readings.value(timeline, probe, moment)? * factor / self.total)
        })
    }
}

/// The probes that an input takes its values from; none if it is of another kind, or there are none.
pub(super) fn probes(input: &Input, run: &Subject) -> Vec<usize> {
    match &input.from {
        From::Probe { metrics, per, weigh } => {
            let ratio = ProbeRatio::of(metrics, per.as_deref(), weigh, run);
            ratio.map_or(Vec::new(), |ratio| ratio.probes())
        }
        From::Figure { .. } | From::Value(_) | From::Meter(_) | From::HoursPerMoney => Vec::new(),
    }
}

/// The weights that count for a run; `None`: its sources are added up.
fn weights_of<'w>(
    weigh: &'w [SourceWeights],
    run: &str,
) -> Result<Option<&'w SourceWeights>, InputError> {
    let own = weigh.iter().find(|weights| weights.run.as_deref() == Some(run));
    let found = own.or_else(|| weigh.iter().find(|weights| weights.run.is_none()));
    if found.is_none() && !weigh.is_empty() {
        let known: Vec<&str> = weigh.iter().filter_map(|weights| weights.run.as_deref()).collect();
        return Err(InputError::NoWeights(known.join(", ")));
    }
    Ok(found)
}

/// The factor of each probe that belongs to the input, and the unit of the first.
fn factors(
    metrics: &[(String, f64)],
    weigh: Option<&SourceWeights>,
    run: &Subject,
) -> Result<(Vec<Option<f64>>, String), InputError> {
    let list = &run.probes.list;
    let mut factors = vec![None; list.len()];
    let mut unit = None;
    for (metric, factor) in metrics {
        let mut found = false;
        let probes = list.iter().enumerate();
        let is_meant = |metric: &str, name: &str| {
            is_of_family(metric, name) && is_of_hosts(metric, &run.hosts)
        };
        for (at, probe) in probes.filter(|(_, probe)| is_meant(&probe.metric, metric)) {
            let weight = match weigh {
                None => 1.0,
                Some(weights) => match weights.weight(&probe.role, &probe.source) {
                    Some(weight) => weight,
                    None => continue,
                },
            };
            found = true;
            factors[at] = Some(factor * weight);
            unit.get_or_insert_with(|| probe.unit.clone());
        }
        if !found && metrics.len() == 1 {
            return Err(no_probe(metric, run));
        }
    }
    match unit {
        Some(unit) => Ok((factors, unit)),
        None => Err(no_probe(&metrics[0].0, run)),
    }
}

/// Whether a metric is the one of this name, or one of those that have labels besides.
pub(super) fn is_of_family(metric: &str, name: &str) -> bool {
    metric == name || metric.split_once('{').is_some_and(|(family, _)| family == name)
}

/// Whether a metric is of one of these hosts of a lab, by the keys that they are written under. One that names no host is.
pub(super) fn is_of_hosts(metric: &str, hosts: &[String]) -> bool {
    let key = label(metric, "key").filter(|_| label(metric, "host").is_some());
    key.is_none_or(|key| hosts.is_empty() || hosts.iter().any(|host| host == key))
}

/// A label's value in a metric's name, if it has no escapes, as names of a lab have none.
pub(super) fn label<'m>(metric: &'m str, name: &str) -> Option<&'m str> {
    let (_, labels) = metric.split_once('{')?;
    let mut labels = labels.trim_end_matches('}').split(',');
    labels.find_map(|label| label.strip_prefix(name)?.strip_prefix("=\"")?.strip_suffix('"'))
}

fn no_probe(metric: &str, run: &Subject) -> InputError {
    let list = run.probes.list.iter();
    let mut known: Vec<&str> = list.map(|probe| probe.metric.as_str()).collect();
    known.sort_unstable();
    known.dedup();
    InputError::NoProbe {
        metric: metric.to_owned(),
        known: match known.is_empty() {
            true => "none".to_owned(),
            false => known.join(", "),
        },
    }
}

/// The factor that turns a value of one unit into another.
fn factor(from: &str, to: Option<&str>) -> Result<f64, InputError> {
    const UNITS: &[&[(&str, f64)]] = &[
        &[("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9), ("min", 6e10), ("h", 3.6e12)],
        &[
            ("B", 1.0),
            ("kB", 1e3),
            ("MB", 1e6),
            ("GB", 1e9),
            ("KiB", 1024.0),
            ("MiB", 1_048_576.0),
            ("GiB", 1_073_741_824.0),
        ],
        &[("", 1.0), ("%", 0.01)],
    ];
    let Some(to) = to.filter(|to| *to != from) else {
        return Ok(1.0);
    };
    // Rates of two units differ as the units do.
    let bare = |unit| match (from.strip_suffix("/s"), to.strip_suffix("/s")) {
        (Some(_), Some(_)) => str::trim_end_matches(unit, "/s"),
        _ => unit,
    };
    let found = UNITS.iter().find_map(|units| {
        let of = |unit: &str| units.iter().find(|found| found.0 == unit).map(|found| found.1);
        Some(of(bare(from))? / of(bare(to))?)
    });
    found.ok_or_else(|| InputError::Unit { from: from.to_owned(), to: to.to_owned() })
}
