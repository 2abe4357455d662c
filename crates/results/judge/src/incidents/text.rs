//! An incident in one sentence.

use std::collections::BTreeMap;

use record::schema::{Incident, IncidentFigures, IncidentKind};
use units::clock;

use super::steps::Counts;
use crate::limits::INCIDENT_RESPONSE_TIMES;

/// A detail that this share of the failures has stands for all of them.
const DETAIL_ALL_MIN: f64 = 0.9;
/// A detail that a smaller share has is not named.
const DETAIL_MIN: f64 = 0.3;

/// `checkout: p50 8.00 ms → 401 ms, 30 % 503, from 0:15 to 0:25 (82 of 273)`. `goes_on`: the run may still be in progress.
pub(super) fn of(
    incident: &Incident,
    during: &Counts,
    detail: Option<&str>,
    goes_on: bool,
) -> String {
    let name = match &incident.tag {
        Some(tag) => format!("{} ({tag})", incident.step),
        None => incident.step.clone(),
    };
    let mut parts = Vec::new();
    let has = |kind| incident.kinds.contains(&kind);
    if has(IncidentKind::Response) {
        parts.push(response(incident));
    }
    if has(IncidentKind::Errors) || has(IncidentKind::Unanswered) {
        parts.push(errors(incident, detail));
    }
    if has(IncidentKind::Throughput) {
        let due_per_s = during.due / during.seconds.max(1e-9);
        parts.push(format!(
            "{} completed of {} due",
            units::rate((during.operations - during.unanswered) / during.seconds.max(1e-9)),
            units::rate(due_per_s)
        ));
    }
    let until = match incident.to_the_end {
        true if goes_on => "on".to_owned(),
        true => "to the end".to_owned(),
        false => format!("to {}", clock(incident.end_ns)),
    };
    let mut text =
        format!("{name}: {}, from {} {until}", parts.join(", "), clock(incident.begin_ns));
    if incident.during.errors > 0 {
        text += &format!(
            " ({} of {})",
            units::count(incident.during.errors),
            units::count(incident.during.operations)
        );
    }
    text
}

/// By the median, or by p90 if the median is hardly longer than usual and p90 is: only some of the answers were slow.
fn response(incident: &Incident) -> String {
    let times = |usual: Option<u64>, during: Option<u64>| match (usual, during) {
        (Some(usual), Some(during)) => during as f64 / usual.max(1) as f64,
        _ => 1.0,
    };
    let Incident { usual, during, .. } = incident;
    let [median, p90] = [times(usual.p50_ns, during.p50_ns), times(usual.p90_ns, during.p90_ns)];
    let is_of_some = median < INCIDENT_RESPONSE_TIMES && p90 > median;
    let name = if is_of_some { "p90" } else { "p50" };
    let shown = |figures: &IncidentFigures| {
        let ns = if is_of_some { figures.p90_ns } else { figures.p50_ns };
        ns.map(|ns| units::duration(ns as f64))
    };
    match (shown(usual), shown(during)) {
        (Some(usual), Some(during)) => format!("{name} {usual} → {during}"),
        (None, Some(during)) => format!("{name} {during}"),
        _ => "slower answers".to_owned(),
    }
}

/// `30 % 503`, `1.2 % → 30 % failed, most by 503`, `45 % unanswered`.
fn errors(incident: &Incident, detail: Option<&str>) -> String {
    let share = |figures: &IncidentFigures| match figures.operations {
        0 => 0.0,
        all => figures.errors as f64 / all as f64,
    };
    let unanswered = incident.during.unanswered as f64;
    let is_silent = unanswered >= DETAIL_ALL_MIN * incident.during.errors as f64;
    let usual = match share(&incident.usual) {
        usual if usual > 0.0 => format!("{} → ", percentage(usual)),
        _ => String::new(),
    };
    let what = match detail {
        Some(detail) => detail.to_owned(),
        None if is_silent => "unanswered".to_owned(),
        None => "failed".to_owned(),
    };
    format!("{usual}{} {what}", percentage(share(&incident.during)))
}

/// `30 %`, `1.2 %`.
fn percentage(share: f64) -> String {
    match (0.1..0.99).contains(&share) {
        true => units::percent(share),
        false => units::share_to(share, 2),
    }
}

/// The detail of most of these failures: `503`, or `failed, most by 503`. `None`: the record does not say, or they were of
/// many kinds. `failed`: how many there were, of which the record may know fewer.
pub(super) fn detail(counts: BTreeMap<&str, u64>, failed: u64) -> Option<String> {
    let all = counts.values().sum::<u64>().max(failed);
    let (name, most) = counts.into_iter().max_by_key(|&(_, count)| count)?;
    match most as f64 / all.max(1) as f64 {
        share if share >= DETAIL_ALL_MIN => Some(name.to_owned()),
        share if share >= DETAIL_MIN => Some(format!("failed, most by {name}")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_detail_of_most_failures_is_named() {
        let of = |counts: &[(&'static str, u64)], failed| {
            detail(counts.iter().copied().collect(), failed)
        };
        let counts: [(&str, u64); 2] = [("502", 4), ("503", 82)];
        assert_eq!(of(&counts, 86).as_deref(), Some("503"));
        assert_eq!(of(&counts, 120).as_deref(), Some("failed, most by 503"));
        assert_eq!(of(&counts, 900), None);
        assert_eq!(of(&[], 9), None);
    }
}
