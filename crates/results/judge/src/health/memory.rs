//! Memory that ran short while users were still coming.

use record::schema::{EventKind, Finding, Severity, UsersSummary};

use crate::figures::Figures;
use crate::finding::finding;

/// Where the run's guard ended the ramp before memory was gone.
pub(super) fn pressure(figures: &Figures, users: &UsersSummary) -> Option<Finding> {
    let (available, present) = figures.events.iter().find_map(|event| match event.what {
        EventKind::MemoryPressure {
            available_bytes,
            users,
        } => Some((available_bytes, users)),
        _ => None,
    })?;
    let after = match users.refused {
        0 => "no more users were due".to_owned(),
        refused => format!(
            "the ramp stopped there, with {} refused",
            units::counted(refused, "user")
        ),
    };
    let text = format!(
        "memory ran short at {}: {} were available, and {after}; fix: add memory or reduce the \
         number of users (`throng doctor --users {}` shows how many this machine can hold)",
        units::counted(present, "user"),
        units::bytes(available),
        users.planned.ceil(),
    );
    let finding = finding(Severity::Fatal, "generator-memory", text)
        .with("available_bytes", available as f64)
        .with("users", present as f64)
        .with("users_planned", users.planned)
        .with("users_refused", users.refused as f64);
    Some(finding.done())
}
