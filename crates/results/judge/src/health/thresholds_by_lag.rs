//! Thresholds that the generator's own lag decides.

use record::schema::Finding;

use super::load::severity;
use crate::case::Case;
use crate::finding::finding;
use crate::lag_decisions::LateOperations;

/// A finding for each threshold that lag decides.
pub(crate) fn findings(case: &Case<'_>) -> Vec<Finding> {
    let waited = case.waited_for_target();
    let findings = case.lag_decisions.iter().map(|decision| {
        let text = format!(
            "threshold {} is decided by the generator's own lag: {} with it, {}: {}",
            decision.text,
            units::duration(decision.value_ns),
            without(&units::duration(decision.without_ns), decision.late),
            decision.cause.words(waited),
        );
        let finding = finding(severity(waited), "threshold-by-lag", text)
            .with("value_ns", decision.value_ns)
            .with("lag_ns", decision.value_ns - decision.without_ns);
        match decision.late {
            LateOperations::All => finding.done(),
            LateOperations::ByRow(late)
            | LateOperations::BySecond(late)
            | LateOperations::OfRun(late) => finding.with("operations", late as f64).done(),
        }
    });
    findings.collect()
}

/// The figure without the lag, and how it is known.
fn without(figure: &str, late: LateOperations) -> String {
    let operations = |late| units::counted(late, "operation");
    match late {
        LateOperations::All => format!("{figure} without it"),
        LateOperations::ByRow(late) => {
            format!("{figure} without that of {}", operations(late))
        }
        LateOperations::BySecond(late) => format!(
            "perhaps {figure} without that of up to {}, by the lags of each second and not of each operation",
            operations(late)
        ),
        LateOperations::OfRun(late) => format!(
            "perhaps {figure} without that of up to {}, by the lags of the whole run",
            operations(late)
        ),
    }
}
