//! Thresholds that the generator's own lag decides.

use record::schema::Finding;

use super::load::severity;
use crate::case::Case;
use crate::finding::finding;

/// A finding for each threshold that lag decides.
pub(crate) fn findings(case: &Case<'_>) -> Vec<Finding> {
    let waited = case.waited_for_target();
    let findings = case.lag_decisions.iter().map(|decision| {
        let text = format!(
            "threshold {} is decided by the generator's own lag: of {} there, up to {} are lag: {}",
            decision.text,
            units::duration(decision.value_ns),
            units::duration(decision.lag_ns.min(decision.value_ns)),
            decision.cause.words(waited),
        );
        finding(severity(waited), "threshold-by-lag", text)
            .with("value_ns", decision.value_ns)
            .with("lag_ns", decision.lag_ns)
            .done()
    });
    findings.collect()
}
