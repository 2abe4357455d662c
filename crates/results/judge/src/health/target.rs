//! A built-in target that ended before its run.

use record::schema::{EventKind, Finding, Severity};

use crate::figures::Figures;
use crate::finding::finding;

/// Where the target ended by itself, or somebody else ended it.
pub(super) fn ended(figures: &Figures) -> Option<Finding> {
    figures.events.iter().find_map(|event| {
        let EventKind::TargetEnded { target, why, .. } = &event.what else {
            return None;
        };
        let text = format!(
            "the target {target} exited during the run, at {} ({why}): there was nothing left to \
             measure",
            units::duration(event.at_ns as f64),
        );
        let draft = finding(Severity::Fatal, "target-ended", text);
        Some(draft.with("at_ns", event.at_ns as f64).done())
    })
}
