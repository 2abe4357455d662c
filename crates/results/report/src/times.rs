//! Durations of which some are lower bounds.

use record::operations::is_of_step;
use record::schema::{Latency, MeasureSummary};
use stats::censored::Quantile;

/// `≥ 10.0 s` for a duration that is only known to be at least that long.
pub(crate) fn at_least(ns: f64, is_bound: bool) -> String {
    let sign = if is_bound { "≥ " } else { "" };
    format!("{sign}{}", units::duration(ns))
}

/// A percentile of durations.
pub(crate) fn bounded_duration(quantile: Quantile) -> String {
    at_least(quantile.value() as f64, quantile.is_bound())
}

/// The response times of a measure, as [`times`]; `–` where there are none. A message that is sent and not replied to has
/// none: it is done when it is sent.
pub(crate) fn response_times(measure: &MeasureSummary) -> [String; 8] {
    let response = measure.response.as_ref().filter(|_| !awaits_nothing(measure));
    response.map_or_else(|| std::array::from_fn(|_| "–".to_owned()), times)
}

/// True of a step that waits for no answer.
pub(crate) fn awaits_nothing(measure: &MeasureSummary) -> bool {
    let service = measure.service.as_ref();
    is_of_step(&measure.kind) && service.is_some_and(|service| service.max_ns == 0)
}

/// Mean, 50th, 90th, 95th, 98th, 99th and 99.9th percentile, and maximum.
pub(crate) fn times(latency: &Latency) -> [String; 8] {
    [
        (latency.mean_ns, 1.0),
        (latency.p50_ns as f64, 0.5),
        (latency.p90_ns as f64, 0.9),
        (latency.p95_ns as f64, 0.95),
        (latency.p98_ns as f64, 0.98),
        (latency.p99_ns as f64, 0.99),
        (latency.p999_ns as f64, 0.999),
        (latency.max_ns as f64, 1.0),
    ]
    .map(|(ns, share)| at_least(ns, latency.is_bound(share)))
}
