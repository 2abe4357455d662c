//! Clocks that differ from the generator's.

use record::schema::{ClockSummary, Finding, Severity};

use crate::case::Case;
use crate::clocks::{misleads, summarise};
use crate::figures::Figures;
use crate::finding::finding;

/// A finding for each of them.
pub(crate) fn findings(case: &Case<'_>) -> Vec<Finding> {
    let figures = case.figures;
    let clocks = summarise(figures);
    let findings = clocks.iter().filter_map(|clock| skew(figures, clock));
    findings.collect()
}

fn skew(figures: &Figures, clock: &ClockSummary) -> Option<Finding> {
    let misleads = misleads(figures, clock);
    if !misleads && clock.ahead == 0 {
        return None;
    }
    let mut parts = Vec::new();
    if clock.ahead > 0 {
        parts.push(format!(
            "{} {} stamped up to {} after they arrived and have no latency",
            units::counted(clock.ahead, "message"),
            if clock.ahead == 1 { "was" } else { "were" },
            units::duration(clock.ahead_max_ns as f64),
        ));
    }
    if let Some((offset_ns, bound_ns)) = clock.offset_ns.zip(clock.bound_ns) {
        parts.push(format!(
            "by {} {} the sender's clock is {} {} the generator's, ± {}",
            units::count(clock.replies),
            if clock.replies == 1 { "reply" } else { "replies" },
            units::duration(offset_ns.unsigned_abs() as f64),
            if offset_ns < 0 { "behind" } else { "ahead of" },
            units::duration(bound_ns as f64),
        ));
    }
    let fix = match (misleads, clock.offset_ns) {
        (false, _) => "",
        (true, Some(_)) => {
            "; its latencies say nothing; fix: synchronise the clocks, or `stamps: { correct: true }`"
        }
        (true, None) => "; its latencies say nothing; fix: synchronise the clocks",
    };
    let text = format!("`{}`: {}{fix}", clock.measure, parts.join("; "));
    let severity = if misleads { Severity::Warning } else { Severity::Note };
    let mut draft = finding(severity, "clock-skew", text)
        .with("ahead", clock.ahead as f64)
        .with("ahead_max_ns", clock.ahead_max_ns as f64);
    if let Some((offset_ns, bound_ns)) = clock.offset_ns.zip(clock.bound_ns) {
        draft = draft.with("offset_ns", offset_ns as f64).with("bound_ns", bound_ns as f64);
    }
    Some(draft.done())
}
