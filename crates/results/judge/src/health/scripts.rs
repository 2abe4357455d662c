//! Time that the loops spent in scripts instead of with their users.

use record::schema::{Finding, Severity};

use crate::case::Case;
use crate::finding::finding;
use crate::limits::SCRIPTS_SHARE_MAX;

/// Scripts that took much of the loops' time.
pub(crate) fn findings(case: &Case<'_>) -> Vec<Finding> {
    let figures = case.figures;
    let used_ns = figures.total(|row| row.scripts_ns);
    let calls = figures.total(|row| row.script_calls);
    let time_ns = figures.total(|row| row.end_ns.saturating_sub(row.start_ns));
    let loops = figures.info.generator.loops.max(1);
    let share = used_ns as f64 / (time_ns.max(1) as f64 * f64::from(loops));
    if share <= SCRIPTS_SHARE_MAX {
        return Vec::new();
    }
    let each = units::duration(used_ns as f64 / calls.max(1) as f64);
    let text = format!(
        "scripts took {} of the loops' time, {each} a call: the generator bears less load with them",
        units::percent(share)
    );
    let finding = finding(Severity::Warning, "scripts-slow", text)
        .with("share", share)
        .with("calls", calls as f64);
    vec![finding.done()]
}
