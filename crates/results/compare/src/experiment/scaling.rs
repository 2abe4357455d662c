//! How throughput follows a factor that counts something: connections, processes, clients.
//!
//! The universal scalability law (Gunther 2007) by the factor's levels, for each combination of the other factors.

use std::collections::BTreeMap;

use record::schema::{Finding, Severity};
use serde::Serialize;
use stats::usl::POINTS_MIN;
use units::Unit;

use super::Data;
use super::findings::finding;
use crate::law::{Law, Peak};

/// The law of a response by a factor, with the experiment's confidence.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ScalingLaw {
    /// The factor whose levels are the law's loads.
    pub factor: usize,
    /// The levels of the others, by factor; `None` at the place of the factor itself.
    pub others: Vec<Option<usize>>,
    /// λ: the throughput of one.
    pub lambda: f64,
    /// σ: contention.
    pub sigma: f64,
    /// κ: coherency.
    pub kappa: f64,
    /// Share of the throughputs' scatter that the law explains.
    pub r_squared: f64,
    /// The load of greatest throughput; `None`: throughput never falls.
    pub peak: Option<f64>,
    /// Lower bound of the peak; `None`: throughput never falls.
    pub peak_low: Option<f64>,
    /// Upper bound; `None`: there is none.
    pub peak_high: Option<f64>,
    /// Throughput at the peak, or the one that is never passed; `None`: there is none.
    pub limit: Option<f64>,
    /// The highest load that was measured; beyond, the law is a guess.
    pub load_max: f64,
}

/// Laws of a response, by factor and by the levels of the others. Of throughputs only, and of factors with at least
/// four levels that are all positive numbers.
pub(super) fn laws(data: &Data, response: usize) -> Vec<ScalingLaw> {
    if data.responses[response].unit != Unit::PerSecond {
        return Vec::new();
    }
    let factors = data.factors.iter().enumerate();
    factors
        .filter_map(|(factor, (_, levels))| Some((factor, loads(levels)?)))
        .flat_map(|(factor, loads)| of_factor(data, response, factor, &loads))
        .collect()
}

/// The levels as numbers; `None` where they are none, or too few.
fn loads(levels: &[String]) -> Option<Vec<f64>> {
    let number = |level: &String| level.parse::<f64>().ok().filter(|load| *load > 0.0);
    let loads: Option<Vec<f64>> = levels.iter().map(number).collect();
    loads.filter(|loads| loads.len() >= POINTS_MIN)
}

fn of_factor(data: &Data, response: usize, factor: usize, loads: &[f64]) -> Vec<ScalingLaw> {
    let mut points: BTreeMap<Vec<Option<usize>>, Vec<(f64, f64)>> = BTreeMap::new();
    for row in &data.rows {
        let Some(value) = row.values.get(response).copied().flatten() else {
            continue;
        };
        let levels = row.levels.iter().enumerate();
        let others = levels.map(|(place, level)| (place != factor).then_some(*level));
        let point = (loads[row.levels[factor]], value);
        points.entry(others.collect()).or_default().push(point);
    }
    points
        .into_iter()
        .filter_map(|(others, points)| {
            let law = Law::fit(&points, data.confidence).ok()?;
            Some(ScalingLaw {
                factor,
                others,
                lambda: law.lambda.0,
                sigma: law.sigma.0,
                kappa: law.kappa.0,
                r_squared: law.r_squared,
                peak: law.peak,
                peak_low: law.peak_low,
                peak_high: law.peak_high,
                limit: law.limit_per_s,
                load_max: law.load_max,
            })
        })
        .collect()
}

/// A law in words.
pub(super) fn in_words(data: &Data, law: &ScalingLaw) -> Finding {
    let (name, _) = &data.factors[law.factor];
    let levels = law.others.iter().enumerate();
    let others: Vec<String> = levels
        .filter_map(|(factor, level)| {
            let (name, levels) = &data.factors[factor];
            Some(format!("{name} {}", levels[(*level)?]))
        })
        .collect();
    let of = if others.is_empty() { String::new() } else { format!(" ({})", others.join(", ")) };
    let short = |value: f64| units::significant(value, 3);
    let best = Peak {
        load: law.peak,
        low: law.peak_low,
        high: law.peak_high,
        limit_per_s: law.limit,
        load_max: law.load_max,
    };
    let best = best.in_words("the highest level");
    let text = format!(
        "{best}, by {name}{of}: scalability law with λ {}, σ {}, κ {}, which explains {}",
        short(law.lambda),
        short(law.sigma),
        short(law.kappa),
        units::share(law.r_squared),
    );
    let evidence = [("peak", law.peak), ("limit_per_s", law.limit)];
    let evidence: Vec<(&str, f64)> =
        evidence.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
    finding(Severity::Note, "scalability", text, &evidence)
}
