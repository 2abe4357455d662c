//! A ramp that ended because memory ran short.

use record::schema::{Finding, Severity};

use crate::case::Case;
use crate::finding::finding;

/// A ramp that the run's guard ended.
pub(crate) fn findings(case: &Case<'_>) -> Vec<Finding> {
    let users = &case.users;
    let Some(pressure) = case.shortfall.memory else {
        return Vec::new();
    };
    let after = match users.refused {
        0 => "no more users were due".to_owned(),
        refused => {
            format!("the ramp stopped there, with {} refused", units::counted(refused, "user"))
        }
    };
    let text = format!(
        "memory ran short at {}: {} were available, and {after}; fix: add memory or reduce the \
         number of users (`throng doctor --users {}` shows how many this machine can hold)",
        units::counted(pressure.users, "user"),
        units::bytes(pressure.available_bytes),
        users.planned.ceil(),
    );
    let finding = finding(Severity::Fatal, "generator-memory", text)
        .with("available_bytes", pressure.available_bytes as f64)
        .with("users", pressure.users as f64)
        .with("users_planned", users.planned)
        .with("users_refused", users.refused as f64);
    vec![finding.done()]
}
