//! Was the generator the limit? The first finding of every run whose target kept up.

mod agents;
mod load;
mod losses;
mod memory;
mod own_work;
mod rows;
mod scripts;
mod shortages;
mod storms;
mod target;
mod thresholds_by_lag;

pub(crate) use agents::findings as agents;
pub(crate) use load::findings as load;
pub(crate) use losses::findings as lost_workers;
pub(crate) use memory::findings as memory_pressure;
pub(crate) use own_work::findings as own_work;
pub(crate) use rows::findings as rows;
pub(crate) use scripts::findings as scripts;
pub(crate) use shortages::findings as shortages;
pub(crate) use storms::findings as storms;
pub(crate) use target::findings as target_ended;
pub(crate) use thresholds_by_lag::findings as thresholds_by_lag;

use record::operations::is_of_step;
use record::schema::{
    EventKind, Finding, KnownFigure, Latency, MeasureSummary, RunStatus, Severity,
};

use crate::case::Case;
use crate::finding::finding;
use crate::generator::LAG;
use crate::limits::{LAG_OF_RESPONSE_MAX, LAG_WARN_NS_MIN};

/// A run that ended before its plan did, or was never closed.
pub(crate) fn incomplete(case: &Case<'_>) -> Vec<Finding> {
    let figures = case.figures;
    if case.in_progress {
        return Vec::new();
    }
    let ended_ns = figures.ended_ns();
    let at = format!(
        "after {} of {}",
        units::span(ended_ns.min(figures.planned_end_ns())),
        units::span(figures.planned_end_ns())
    );
    let text = match figures.info.status {
        RunStatus::Complete | RunStatus::Aborted | RunStatus::Until => return Vec::new(),
        RunStatus::Interrupted => format!("the run was interrupted {at}"),
        RunStatus::Running => {
            format!("the run was killed or is still running; its record ends {at}")
        }
        RunStatus::Failed => {
            let note = figures.events.iter().rev().find_map(|event| match &event.what {
                EventKind::Note { text } => Some(text.as_str()),
                _ => None,
            });
            let reason = match target::has_ended(figures) {
                true => Some("its target had exited"),
                false => note,
            };
            format!("the run failed {at}{}", reason.map(|r| format!(": {r}")).unwrap_or_default())
        }
    };
    let finding = finding(Severity::Fatal, "run-incomplete", text)
        .with("ended_ns", ended_ns as f64)
        .with("planned_ns", figures.planned_end_ns() as f64);
    vec![finding.done()]
}

/// A threshold or a script that ended the run.
pub(crate) fn aborted(case: &Case<'_>) -> Vec<Finding> {
    let figures = case.figures;
    let mut events = figures.events.iter();
    if let Some(event) = events.find(|event| event.what == EventKind::ScriptAborted) {
        let planned_ns = figures.planned_end_ns();
        let text = format!(
            "the run was aborted after {} of {} by its script",
            units::span(event.at_ns.min(planned_ns)),
            units::span(planned_ns),
        );
        let draft = finding(Severity::Warning, "run-aborted", text)
            .with("at_ns", event.at_ns as f64)
            .with("planned_ns", planned_ns as f64);
        return vec![draft.done()];
    }
    let found = figures.events.iter().find_map(|event| match &event.what {
        EventKind::Aborted { threshold, shown, over_ns } => {
            Some((event.at_ns, threshold, shown, *over_ns))
        }
        _ => None,
    });
    let Some((at_ns, threshold, shown, over_ns)) = found else {
        return Vec::new();
    };
    let planned_ns = figures.planned_end_ns();
    let text = format!(
        "the run was aborted after {} of {}: {threshold} did not hold, it was {shown} over the last {}",
        units::span(at_ns.min(planned_ns)),
        units::span(planned_ns),
        units::span(over_ns),
    );
    let draft = finding(Severity::Warning, "run-aborted", text)
        .with("at_ns", at_ns as f64)
        .with("over_ns", over_ns as f64)
        .with("planned_ns", planned_ns as f64);
    vec![draft.done()]
}

/// How well the figures of `until` were known, and whether that ended the run.
pub(crate) fn precision(case: &Case<'_>) -> Vec<Finding> {
    let figures = case.figures;
    let found = figures.events.iter().find_map(|event| match &event.what {
        EventKind::Until { is_known, looks, looks_max, at_most_ns, figures } => {
            let known: Vec<String> = figures.iter().map(known).collect();
            let looks = format!("over {} of {looks_max} looks", units::count(u64::from(*looks)));
            Some((event.at_ns, *is_known, *at_most_ns, format!("{} ({looks})", known.join("; "))))
        }
        _ => None,
    });
    let Some((at_ns, is_known, at_most_ns, known)) = found else {
        return Vec::new();
    };
    let at = format!("after {} of at most {}", units::span(at_ns), units::span(at_most_ns));
    let draft = match is_known {
        true => {
            let text = format!("enough was known {at}: {known}");
            finding(Severity::Good, "precision-reached", text)
        }
        false => {
            let text = format!(
                "not enough was known {at}: {known}; run for longer, or require less precision"
            );
            finding(Severity::Warning, "precision-missed", text)
        }
    };
    vec![draft.with("at_ns", at_ns as f64).with("at_most_ns", at_most_ns as f64).done()]
}

/// A figure of `until` in words, with its interval.
fn known(figure: &KnownFigure) -> String {
    let time = |ns: u64| units::duration(ns as f64);
    let text = &figure.text;
    match (figure.value_ns, figure.low_ns, figure.high_ns) {
        (Some(value), Some(low), Some(high)) => {
            format!("{text}: {}, at 95 % from {} to {}", time(value), time(low), time(high))
        }
        (Some(value), Some(low), None) => {
            format!("{text}: {}, at 95 % from {} on", time(value), time(low))
        }
        (Some(value), None, _) => format!("{text}: {}, without an interval", time(value)),
        (None, ..) => format!("{text}: nothing known"),
    }
}

/// Lag within the limit that still shows in response times, of a generator without faults.
pub(crate) fn lag_within_limit(case: &Case<'_>) -> Vec<Finding> {
    match case.shortfall.is_none() {
        true => Vec::from_iter(lag_warning(&case.measures)),
        false => Vec::new(),
    }
}

/// A percentile of a step with lag and without it.
struct LaggedFigure<'a> {
    step: &'a str,
    percentile: &'static str,
    with_ns: u64,
    without_ns: u64,
}

impl LaggedFigure<'_> {
    fn lag_ns(&self) -> u64 {
        self.with_ns.saturating_sub(self.without_ns)
    }

    /// Lag as a share of the figure, 0..=1.
    fn share(&self) -> f64 {
        self.lag_ns() as f64 / self.with_ns.max(1) as f64
    }
}

/// The percentiles of a step's response times, the highest first.
fn lagged_figures(measure: &MeasureSummary) -> Vec<LaggedFigure<'_>> {
    let (Some(response), Some(service)) = (&measure.succeeded, &measure.service) else {
        return Vec::new();
    };
    // A send without a reply has nothing but its lag as a response.
    if service.p50_ns == 0 {
        return Vec::new();
    }
    let figure = |percentile, of: fn(&Latency) -> u64| LaggedFigure {
        step: &measure.name,
        percentile,
        with_ns: of(response),
        without_ns: of(service),
    };
    vec![
        figure("p99", |latency| latency.p99_ns),
        figure("p95", |latency| latency.p95_ns),
        figure("p90", |latency| latency.p90_ns),
        figure("p50", |latency| latency.p50_ns),
    ]
}

/// The percentile of a step that lag changes most, if by enough to matter. The successes of a step are the same in its
/// response times and in its service times, which have no lag.
fn lag_warning(measures: &[MeasureSummary]) -> Option<Finding> {
    let steps = measures.iter().filter(|measure| is_of_step(&measure.kind));
    let changed = steps.flat_map(lagged_figures).filter(|figure| {
        figure.lag_ns() >= LAG_WARN_NS_MIN && figure.share() > LAG_OF_RESPONSE_MAX
    });
    let most = changed.max_by(|a, b| a.share().total_cmp(&b.share()))?;
    let text = format!(
        "lag of the generator adds {} to {} of {}: {} with it, {} without; service times have none of it",
        units::duration(most.lag_ns() as f64),
        most.percentile,
        most.step,
        units::duration(most.with_ns as f64),
        units::duration(most.without_ns as f64),
    );
    let finding = finding(Severity::Warning, LAG, text)
        .with("lag_ns", most.lag_ns() as f64)
        .with("response_ns", most.with_ns as f64);
    Some(finding.done())
}

/// A generator without faults, whose lag neither shows in response times nor decides a threshold.
pub(crate) fn healthy(case: &Case<'_>) -> Vec<Finding> {
    let Case { figures, health, .. } = case;
    if !case.shortfall.is_none()
        || !case.lag_decisions.is_empty()
        || lag_warning(&case.measures).is_some()
    {
        return Vec::new();
    }
    let text = format!(
        "the generator kept up: lag p99 {}, busiest loop {} of a core, {} of memory ({} mode, {})",
        units::duration(health.lag_p99_ns as f64),
        units::percent(health.loop_busy_max),
        units::bytes(health.rss_peak_bytes),
        figures.info.generator.mode,
        units::counted(u64::from(figures.info.generator.loops), "loop"),
    );
    let finding = finding(Severity::Good, "generator-healthy", text)
        .with("lag_p99_ns", health.lag_p99_ns as f64)
        .with("loop_busy_max", health.loop_busy_max)
        .with("rss_peak_bytes", health.rss_peak_bytes as f64);
    vec![finding.done()]
}

/// TLS without a check of the server's certificate.
pub(crate) fn certificates(case: &Case<'_>) -> Vec<Finding> {
    if !case.figures.info.tls_unverified {
        return Vec::new();
    }
    let text = "TLS certificates were not verified: the responses may come from another server";
    vec![finding(Severity::Warning, "tls-unverified", text.to_owned()).done()]
}

/// Rows that are a sample of the operations.
pub(crate) fn rows_sampled(case: &Case<'_>) -> Vec<Finding> {
    let mut events = case.figures.events.iter();
    let sampling = events.find_map(|event| match &event.what {
        EventKind::Sampling { reason, .. } => Some((event.at_ns, reason)),
        _ => None,
    });
    let Some((at_ns, reason)) = sampling else {
        return Vec::new();
    };
    let text = format!(
        "requests.parquet contains {} of all operations, sampled from {} on ({reason}); \
         percentiles and counts cover all operations",
        units::share(case.health.rows_kept),
        units::span(at_ns),
    );
    let finding = finding(Severity::Note, "rows-sampled", text);
    vec![finding.with("kept", case.health.rows_kept).done()]
}

#[cfg(test)]
mod tests;
