//! Thresholds from the times in a recording.
//!
//! A recording has one user, and the times are those that the browser saw. They are a beginning: whoever runs the
//! scenario knows what must hold.

use super::read::Exchange;
use crate::writer::{Item, Line, Map};

/// Most requests that get a limit: the slowest.
const REQUESTS_MAX: usize = 10;
/// The smallest limit, in milliseconds: a shorter time is hardly the server's.
const LIMIT_MS_MIN: f64 = 100.0;
/// How much longer than in the recording a request may take.
const FACTOR: f64 = 2.0;

/// A limit on failures, and one on the time of each of the slowest requests. `names`: the measures of the requests in
/// their order; `None` where a threshold cannot name it.
pub(super) fn thresholds(kept: &[Exchange], names: &[Option<String>]) -> Item {
    let errors = Line::new("error_rate < 1%").comment("What must hold for a run to pass: edit it.");
    let mut lines = vec![errors];
    let times = slowest(times_of(kept, names));
    for (index, (measure, time_ms)) in times.iter().enumerate() {
        let line = Line::new(format!("p95(\"{measure}\") < {}", limit(*time_ms)));
        lines.push(match index {
            0 => line.comment(
                "Twice the p95 of the times in the recording, rounded up, at least 100 ms.",
            ),
            _ => line,
        });
    }
    Item::Lines(lines)
}

/// The p95 of each measure's recorded times, in milliseconds, in the order of the recording.
type Times = Vec<(String, f64)>;

fn times_of(kept: &[Exchange], names: &[Option<String>]) -> Times {
    let mut times: Vec<(String, Vec<f64>)> = Vec::new();
    let has_pages = kept.iter().any(|exchange| !exchange.is_static);
    for (name, exchange) in names.iter().zip(kept) {
        let Some(name) = name.clone().filter(|_| !(has_pages && exchange.is_static)) else {
            continue;
        };
        if exchange.from_cache || exchange.is_stream || exchange.length_ms <= 0.0 {
            continue;
        }
        match times.iter_mut().find(|(known, _)| *known == name) {
            Some((_, times)) => times.push(exchange.length_ms),
            None => times.push((name, vec![exchange.length_ms])),
        }
    }
    let p95 = |mut times: Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times[(times.len() * 95).div_ceil(100) - 1]
    };
    times.into_iter().map(|(name, times)| (name, p95(times))).collect()
}

/// The requests with the longest times, still in the order of the recording.
fn slowest(times: Times) -> Times {
    let mut sorted: Vec<f64> = times.iter().map(|(_, ms)| *ms).collect();
    sorted.sort_by(|a, b| b.total_cmp(a));
    let least = sorted.get(REQUESTS_MAX - 1).copied().unwrap_or(0.0);
    let slow = times.into_iter().filter(|(_, ms)| *ms >= least);
    slow.take(REQUESTS_MAX).collect()
}

/// Name of the measure of a step's request. `None`: a name that differs from user to user, or that
/// cannot stand in a threshold.
pub(super) fn measure(step: &Map) -> Option<String> {
    let text = |item: &Item| match item {
        Item::Text(text) => Some(text.clone()),
        _ => None,
    };
    let named = step.entries.iter().find(|(key, _)| key == "as");
    let name = match (named, step.entries.first()?) {
        (Some((_, name)), _) => text(name)?,
        (None, (verb, request)) if verb == "http" => text(request)?,
        (None, (verb, path)) => format!("{} {}", verb.to_ascii_uppercase(), text(path)?),
    };
    (!name.contains(['$', '"', '\\', '#', ':'])).then_some(name)
}

/// Twice the time, rounded up to two digits.
fn limit(time_ms: f64) -> String {
    let limit_ms = (time_ms * FACTOR).max(LIMIT_MS_MIN);
    let digit = 10_f64.powf(limit_ms.log10().floor() - 1.0).max(1.0);
    let limit_ms = (limit_ms / digit).ceil() * digit;
    match limit_ms < 1000.0 {
        true => format!("{limit_ms}ms"),
        false => format!("{}s", (limit_ms / 100.0).round() / 10.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_twice_the_time_rounded_up() {
        for (time_ms, expected) in [
            (0.4, "100ms"),
            (50.0, "100ms"),
            (50.1, "110ms"),
            (123.0, "250ms"),
            (499.9, "1s"),
            (510.0, "1.1s"),
            (12_345.0, "25s"),
        ] {
            assert_eq!(limit(time_ms), expected, "{time_ms}");
        }
    }

    #[test]
    fn only_the_slowest_requests_have_a_limit() {
        let times: Times = (0..30).map(|n| (format!("GET /{n}"), f64::from(n % 15))).collect();
        let kept = slowest(times);
        assert_eq!(kept.len(), REQUESTS_MAX);
        assert!(kept.iter().all(|(_, ms)| *ms >= 10.0));
        assert_eq!(kept[0].0, "GET /10");
    }
}
