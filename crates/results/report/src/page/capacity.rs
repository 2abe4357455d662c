//! The documents of a search for capacity, and of a sweep over values.

use compare::capacity::{Conclusion, Trial};
use compare::sweep::SweepConclusion;
use judge::course::Number;
use plan::LoadSetting;
use serde::Serialize;

use super::{Content, Page};

/// Most trials in a page.
const TRIALS_MAX: usize = 2_000;
/// Points of the law's curve.
const LAW_POINTS: u32 = 120;
/// How far beyond what was measured the law is drawn.
const LAW_BEYOND: f64 = 1.5;

#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(super) struct CapacityDocument<'a> {
    name: &'a str,
    #[serde(flatten)]
    conclusion: &'a Conclusion,
    /// The loads as text, by level.
    shown: Vec<String>,
    /// The trials in the order of execution.
    trials: &'a [Trial],
    /// The law: in flight, throughput by second, mean response in nanoseconds.
    law_curve: Vec<(Number, Number, Number)>,
}

impl Content for CapacityDocument<'_> {
    const KIND: &'static str = "capacity";
}

#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(super) struct SweepDocument<'a> {
    name: &'a str,
    #[serde(flatten)]
    conclusion: &'a SweepConclusion,
    /// The values as text.
    shown: Vec<String>,
    /// The trials in the order of execution.
    trials: &'a [Trial],
    /// The law: value, throughput by second.
    law_curve: Vec<(Number, Number)>,
}

impl Content for SweepDocument<'_> {
    const KIND: &'static str = "sweep";
}

impl Page {
    /// The page of a search by the scenario of this name.
    pub fn capacity(
        conclusion: &Conclusion,
        trials: &[Trial],
        setting: &LoadSetting,
        name: &str,
        throng: &str,
    ) -> Page {
        let levels = conclusion.levels.iter();
        let document = CapacityDocument {
            name,
            conclusion,
            shown: levels.map(|level| setting.shown(level.load)).collect(),
            trials: &trials[..trials.len().min(TRIALS_MAX)],
            law_curve: law_curve(conclusion),
        };
        let sentences = conclusion.findings.iter().map(|f| f.text.clone()).collect();
        let title = format!("{name}: capacity · Throng");
        Page::new(title, sentences, throng, &document)
    }

    /// The page of a sweep by the scenario of this name.
    pub fn sweep(
        conclusion: &SweepConclusion,
        trials: &[Trial],
        setting: &LoadSetting,
        name: &str,
        throng: &str,
    ) -> Page {
        let values = conclusion.values.iter();
        let document = SweepDocument {
            name,
            conclusion,
            shown: values.map(|value| setting.shown(value.value)).collect(),
            trials: &trials[..trials.len().min(TRIALS_MAX)],
            law_curve: sweep_curve(conclusion),
        };
        let sentences = conclusion.findings.iter().map(|f| f.text.clone()).collect();
        let title = format!("{name}: best {} · Throng", conclusion.over);
        Page::new(title, sentences, throng, &document)
    }
}

/// The fitted law from one in flight on, evenly on a logarithmic scale.
fn law_curve(conclusion: &Conclusion) -> Vec<(Number, Number, Number)> {
    let Some(law) = &conclusion.law else {
        return Vec::new();
    };
    let last = (law.in_flight_max * LAW_BEYOND).max(2.0);
    // Where throughput is below what one alone does, fewer than one are in flight.
    let first = conclusion.levels.iter().filter_map(|level| level.in_flight);
    let first = first.fold(1.0, f64::min).max(1e-3);
    let points = (0..=LAW_POINTS).map(|n| {
        let in_flight = first * (last / first).powf(f64::from(n) / f64::from(LAW_POINTS));
        let per_s = law.at(in_flight);
        // Little's law.
        let response_ns = in_flight / per_s * 1e9;
        (Number(in_flight), Number(per_s), Number(response_ns))
    });
    points.collect()
}

/// The fitted law from the lowest value to the highest, evenly on a logarithmic scale.
fn sweep_curve(conclusion: &SweepConclusion) -> Vec<(Number, Number)> {
    let (Some(law), Some(first)) = (&conclusion.law, conclusion.values.first()) else {
        return Vec::new();
    };
    let first = first.value;
    let points = (0..=LAW_POINTS).map(|n| {
        let value = first * (law.load_max / first).powf(f64::from(n) / f64::from(LAW_POINTS));
        (Number(value), Number(law.at(value)))
    });
    points.collect()
}
