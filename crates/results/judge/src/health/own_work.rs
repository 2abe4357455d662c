//! The generator's own work for steps, for which their users waited, and others.

use record::operations::is_of_step;
use record::schema::{Finding, MeasureSummary, Severity, WorkKind, WorkSummary};

use crate::case::Case;
use crate::finding::finding;
use crate::limits::{
    LAG_WARN_NS_MIN, OWN_WORK_NS_MIN, OWN_WORK_OF_RESPONSE_MAX, OWN_WORK_SHOWN_MAX,
};
use crate::own_work;

/// The steps whose work takes longest in all, of those for which it takes long.
pub(crate) fn findings(case: &Case<'_>) -> Vec<Finding> {
    let all = own_work::summarise(case.figures);
    let found = all.iter().filter_map(|work| of_step(work, &case.measures));
    found.take(OWN_WORK_SHOWN_MAX).collect()
}

/// Work that is a large share of a response time, or long in itself.
fn of_step(work: &WorkSummary, measures: &[MeasureSummary]) -> Option<Finding> {
    let mean_ns = work.mean_ns();
    let response_ns = response_p50_ns(work, measures);
    let share = response_ns.map(|response_ns| mean_ns / response_ns.max(1) as f64);
    let is_large = share.is_some_and(|share| share > OWN_WORK_OF_RESPONSE_MAX);
    let severity = if is_large && mean_ns >= OWN_WORK_NS_MIN as f64 {
        Severity::Warning
    } else if mean_ns >= LAG_WARN_NS_MIN as f64 {
        Severity::Note
    } else {
        return None;
    };
    let text = format!(
        "the generator's own work in {} took {} on average and {} at most, {}{}: what waits for it is late by that, and \
         its service times do not include it",
        place(work),
        units::duration(mean_ns),
        units::duration(work.max_ns as f64),
        units::counted(work.count, "time"),
        compared(work.kind, share, response_ns),
    );
    let mut draft = finding(severity, "own-work", text)
        .with("mean_ns", mean_ns)
        .with("max_ns", work.max_ns as f64)
        .with("count", work.count as f64);
    if let Some(response_ns) = response_ns {
        draft = draft.with("response_p50_ns", response_ns as f64);
    }
    Some(draft.done())
}

/// The purpose of the work in words.
fn place(work: &WorkSummary) -> String {
    let step = &work.step;
    match work.kind {
        WorkKind::Step => step.clone(),
        WorkKind::Encoding => format!("the encoding of {step}"),
        WorkKind::Decoding => format!("the decoding of answers to {step}"),
        WorkKind::Save => format!("`save` of {step}"),
    }
}

/// The median response time with which the work is compared: that of its own step, or else the shortest of a step.
fn response_p50_ns(work: &WorkSummary, measures: &[MeasureSummary]) -> Option<u64> {
    let is_compared = |measure: &&MeasureSummary| match work.kind {
        WorkKind::Step => is_of_step(&measure.kind),
        WorkKind::Encoding | WorkKind::Decoding | WorkKind::Save => measure.name == work.step,
    };
    let succeeded = measures.iter().filter(is_compared).filter_map(|m| m.succeeded.as_ref());
    succeeded.map(|response| response.p50_ns).min()
}

/// The work as a share of that response time.
fn compared(kind: WorkKind, share: Option<f64>, response_ns: Option<u64>) -> String {
    let (Some(share), Some(response_ns)) = (share, response_ns) else {
        return String::new();
    };
    let whose = match kind {
        WorkKind::Step => "the shortest",
        WorkKind::Encoding | WorkKind::Decoding | WorkKind::Save => "its",
    };
    let response = units::duration(response_ns as f64);
    format!(", {} of {whose} median response time ({response})", units::share(share))
}
