//! A built-in target that ended before its run.

use record::schema::{EventKind, Finding, Severity};

use crate::case::Case;
use crate::figures::Figures;
use crate::finding::finding;

/// A target that ended by itself, or that somebody else ended.
pub(crate) fn findings(case: &Case<'_>) -> Vec<Finding> {
    let mut events = case.figures.events.iter();
    let ended = events.find_map(|event| match &event.what {
        EventKind::TargetEnded { target, why, .. } => Some((event.at_ns, target, why)),
        _ => None,
    });
    let Some((at_ns, target, why)) = ended else {
        return Vec::new();
    };
    let text = format!(
        "the target {target} exited during the run, at {} ({why}): there was nothing left to measure",
        units::duration(at_ns as f64),
    );
    let draft = finding(Severity::Fatal, "target-ended", text);
    vec![draft.with("at_ns", at_ns as f64).done()]
}

/// True if the target ended before the run.
pub(super) fn has_ended(figures: &Figures) -> bool {
    let mut events = figures.events.iter();
    events.any(|event| matches!(event.what, EventKind::TargetEnded { .. }))
}
