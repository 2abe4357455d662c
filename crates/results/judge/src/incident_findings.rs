//! The findings on what broke, and when.

use record::schema::{Finding, Incident, Severity};

use crate::beside;
use crate::case::Case;
use crate::figures::Figures;
use crate::finding::finding;
use crate::incidents::{Growth, PeriodicStall};
use crate::limits::INCIDENT_FINDINGS_MAX;

/// A finding for each incident, the gravest first.
pub(crate) fn findings(case: &Case<'_>) -> Vec<Finding> {
    let incidents = &case.broken.incidents;
    let mut findings: Vec<Finding> = incidents
        .iter()
        .take(INCIDENT_FINDINGS_MAX)
        .map(|incident| finding_of(case.figures, incident))
        .collect();
    let more = incidents.len().saturating_sub(INCIDENT_FINDINGS_MAX) + case.broken.left_out;
    if more > 0 {
        let text =
            format!("{} in which less was lost", units::counted(more as u64, "more incident"));
        let draft = finding(Severity::Note, "incident", text);
        findings.push(draft.with("incidents", more as f64).done());
    }
    findings
}

/// The finding of an incident: its sentence, and what else happened.
fn finding_of(figures: &Figures, incident: &Incident) -> Finding {
    let mut text = incident.text.clone();
    let beside = beside::of(figures, incident.begin_ns, incident.end_ns);
    if !beside.is_empty() {
        text += &format!("; {}", beside.join("; "));
    }
    let mut draft = finding(Severity::Warning, "incident", text)
        .with("begin_s", incident.begin_ns as f64 / 1e9)
        .with("end_s", incident.end_ns as f64 / 1e9)
        .with("operations", incident.during.operations as f64)
        .with("errors", incident.during.errors as f64)
        .with("unanswered", incident.during.unanswered as f64);
    let times = [("p50_ns", incident.during.p50_ns), ("p50_usual_ns", incident.usual.p50_ns)];
    for (name, value) in times {
        if let Some(value) = value {
            draft = draft.with(name, value as f64);
        }
    }
    draft.done()
}

/// Stalls that come back.
pub(crate) fn stalls(case: &Case<'_>) -> Vec<Finding> {
    case.broken.stalls.iter().map(PeriodicStall::finding).collect()
}

/// Responses that grow while the run goes on.
pub(crate) fn growths(case: &Case<'_>) -> Vec<Finding> {
    case.broken.growths.iter().map(Growth::finding).collect()
}
