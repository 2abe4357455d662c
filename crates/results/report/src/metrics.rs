//! The metrics of the scenario's own as text.

use record::schema::MetricSummary;
use stats::metrics::MetricKind;

use crate::style::{INDENT, Line, Style, Tone, wrap};

/// Significant digits of a number.
const DIGITS: usize = 3;

/// A line for each metric, its name and figures; none of a scenario without metrics.
pub(crate) fn lines(metrics: &[MetricSummary], columns: usize, style: Style) -> Vec<String> {
    if metrics.is_empty() {
        return Vec::new();
    }
    let width = metrics.iter().map(|one| one.name.chars().count()).max().unwrap_or(0);
    let start = 2 * INDENT.len() + width;
    let mut lines = vec![Line::default().tone(Tone::Dim, "metrics").render(columns, style)];
    for metric in metrics {
        let mut name = metric.name.as_str();
        for part in wrap(&figures(metric), columns.saturating_sub(start)) {
            let text = format!("{INDENT}{name:<width$}{INDENT}{part}");
            lines.push(Line::default().text(text).render(columns, style));
            name = "";
        }
    }
    lines
}

/// The figures of a metric in words: "mean 12.8 €, p50 9.00 €, …", "sum 4.50 (0.167/s)".
pub(crate) fn figures(metric: &MetricSummary) -> String {
    let unit = &metric.unit;
    let times = units::counted(metric.count, "time");
    let with_unit = |value: f64, per_s: &str| {
        let number = units::significant(value, DIGITS);
        match unit.is_empty() {
            true => format!("{number}{per_s}"),
            false => format!("{number} {unit}{per_s}"),
        }
    };
    let named = |name: &str, value: Option<f64>| {
        value.map(|value| format!("{name} {}", with_unit(value, "")))
    };
    let parts: Vec<Option<String>> = match metric.kind {
        MetricKind::Counter => {
            let rate = metric.rate_per_s.map(|rate| format!(" ({})", with_unit(rate, "/s")));
            let sum = named("sum", metric.sum);
            vec![sum.map(|sum| sum + &rate.unwrap_or_default())]
        }
        MetricKind::Gauge => {
            vec![named("last", metric.last), named("min", metric.min), named("max", metric.max)]
        }
        MetricKind::Share => {
            vec![metric.share.map(|share| format!("true {}", units::share(share)))]
        }
        MetricKind::Quantity => vec![
            named("mean", metric.mean),
            named("min", metric.min),
            named("p50", metric.p50),
            named("p95", metric.p95),
            named("p99", metric.p99),
            named("max", metric.max),
        ],
    };
    let parts: Vec<String> =
        parts.into_iter().flatten().chain([format!("recorded {times}")]).collect();
    parts.join(", ")
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A metric of which nothing was recorded.
    pub(crate) fn none(name: &str, kind: MetricKind, unit: &str) -> MetricSummary {
        MetricSummary {
            name: name.to_owned(),
            kind,
            unit: unit.to_owned(),
            count: 0,
            sum: None,
            rate_per_s: None,
            share: None,
            last: None,
            mean: None,
            min: None,
            p50: None,
            p95: None,
            p99: None,
            max: None,
        }
    }

    /// One of each kind.
    pub(crate) fn each() -> Vec<MetricSummary> {
        vec![
            MetricSummary {
                count: 3,
                sum: Some(87.0),
                mean: Some(29.0),
                min: Some(-1.5),
                p50: Some(29.0),
                p95: Some(59.5),
                p99: Some(59.5),
                max: Some(59.5),
                ..none("size", MetricKind::Quantity, "bytes")
            },
            MetricSummary {
                count: 2,
                sum: Some(1_250.5),
                rate_per_s: Some(20.84),
                ..none("orders", MetricKind::Counter, "")
            },
            MetricSummary { count: 4, share: Some(0.75), ..none("cheap", MetricKind::Share, "") },
            MetricSummary {
                count: 4,
                last: Some(7.0),
                min: Some(-2.0),
                max: Some(9.0),
                ..none("depth", MetricKind::Gauge, "items")
            },
            none("never", MetricKind::Quantity, "€"),
        ]
    }

    /// 29 bytes are no 29 ms.
    #[test]
    fn figures_have_the_units_of_the_scenario() {
        let text = lines(&each(), 80, Style { colour: false, unicode: true });
        let text: Vec<&str> = text.iter().map(|line| line.trim_end()).collect();
        expect_test::expect![[r#"
            metrics
              size    mean 29.0 bytes, min -1.50 bytes, p50 29.0 bytes, p95 59.5 bytes, p99
                      59.5 bytes, max 59.5 bytes, recorded 3 times
              orders  sum 1,250 (20.8/s), recorded 2 times
              cheap   true 75 %, recorded 4 times
              depth   last 7.00 items, min -2.00 items, max 9.00 items, recorded 4 times
              never   recorded 0 times"#]]
        .assert_eq(&text.join("\n"));
    }
}
