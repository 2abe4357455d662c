//! Figures of a scenario's own metrics: `sum(orders)`, `p95(basket)`.

use std::ops::Range;

use stats::metrics::{MetricKind, MetricStat};

use super::error::FigureError;
use super::statistic::Unit;
use units::parse::{self, UnitError};

/// A metric as thresholds know it.
#[derive(Debug, Clone, Copy)]
pub struct MetricName<'c> {
    /// As figures call it.
    pub name: &'c str,
    /// Decides which statistics it has.
    pub kind: MetricKind,
    /// May stand behind limits; may be empty.
    pub unit: &'c str,
}

/// The statistics of the metrics of a kind, as messages list them.
fn stats_of(kind: MetricKind) -> &'static [&'static str] {
    match kind {
        MetricKind::Counter => &["sum", "rate", "count"],
        MetricKind::Gauge => &["last", "min", "max", "count"],
        MetricKind::Share => &["share", "count"],
        MetricKind::Quantity => {
            &["p50", "p90", "p95", "p98", "p99", "p99.9", "mean", "min", "max", "sum", "count"]
        }
    }
}

/// The statistic of this name of a metric, and the unit that limits of it have.
pub(super) fn stat(
    metric: &MetricName<'_>,
    name: &str,
    span: Range<usize>,
) -> Result<(MetricStat, Unit), FigureError> {
    let known = stats_of(metric.kind);
    let stat = match name {
        "count" => Some(MetricStat::Count),
        "sum" => Some(MetricStat::Sum),
        "rate" => Some(MetricStat::Rate),
        "last" => Some(MetricStat::Last),
        "min" => Some(MetricStat::Min),
        "max" => Some(MetricStat::Max),
        "mean" => Some(MetricStat::Mean),
        "share" => Some(MetricStat::Share),
        _ => percentile(name).map(MetricStat::Quantile),
    };
    let is_known = |stat: &MetricStat| match stat {
        MetricStat::Quantile(_) => metric.kind == MetricKind::Quantity,
        _ => known.contains(&name),
    };
    let Some(stat) = stat.filter(is_known) else {
        let kind = metric.kind.name();
        let message = format!("`{}` is a {kind}, and has no `{name}`", metric.name);
        let what = "its figures are";
        let known = known.iter().copied();
        return Err(FigureError::unknown("unknown-figure", span, message, name, what, known));
    };
    let unit = match stat {
        MetricStat::Count => Unit::Count,
        MetricStat::Share => Unit::Share,
        MetricStat::Rate => Unit::OwnRate,
        _ => Unit::Own,
    };
    Ok((stat, unit))
}

/// The share in `p95`.
fn percentile(name: &str) -> Option<f64> {
    let percent = name.strip_prefix('p').and_then(|text| parse::number(text).ok())?;
    (percent > 0.0 && percent <= 100.0).then_some(percent / 100.0)
}

/// A limit of a metric's own numbers, with its unit behind it or not; of a rate also with `/s`.
pub(super) fn limit(text: &str, unit: &str, is_rate: bool) -> Result<f64, UnitError> {
    let number = match is_rate {
        true => text.strip_suffix("/s").unwrap_or(text).trim_end(),
        false => text,
    };
    let number = match unit.is_empty() {
        true => number,
        false => number.strip_suffix(unit).unwrap_or(number).trim_end(),
    };
    parse::number(number).map_err(|_| {
        let per_s = if is_rate { "/s" } else { "" };
        let hint = match unit.is_empty() {
            true => format!("write a number, like 20{per_s}"),
            false => format!("write a number, like 20 {unit}{per_s}, or without the unit"),
        };
        UnitError { message: format!("`{text}` is no limit for this figure"), hint }
    })
}

#[cfg(test)]
mod tests {
    use crate::ids::MetricId;
    use crate::thresholds::{Comparison, Figure, Names};

    use super::*;

    fn names<'c>(metrics: &'c [MetricName<'c>]) -> Names<'c> {
        Names { measures: &["connect", "GET /"], metrics, tags: &[], phases: &["ramp", "hold"] }
    }

    const METRICS: [MetricName<'static>; 4] = [
        MetricName { name: "orders", kind: MetricKind::Counter, unit: "" },
        MetricName { name: "depth", kind: MetricKind::Gauge, unit: "items" },
        MetricName { name: "cheap", kind: MetricKind::Share, unit: "" },
        MetricName { name: "basket", kind: MetricKind::Quantity, unit: "€" },
    ];

    #[test]
    fn figures_of_metrics_have_limits_in_their_units() {
        let parsed = |text: &str| {
            let threshold = names(&METRICS).threshold(text).unwrap();
            assert!(matches!(threshold.figure, Figure::Metric { .. }), "{text}");
            (threshold.figure, threshold.limit)
        };
        let figure = |metric, stat, phase| Figure::Metric { stat, metric: MetricId(metric), phase };
        assert_eq!(
            parsed("p95(basket) < 40.5 €"),
            (figure(3, MetricStat::Quantile(0.95), None), 40.5)
        );
        assert_eq!(parsed("mean(basket) > -2"), (figure(3, MetricStat::Mean, None), -2.0));
        assert_eq!(parsed("min(basket) >= -2€"), (figure(3, MetricStat::Min, None), -2.0));
        assert_eq!(
            parsed("last(\"depth\") <= 7 items in hold"),
            (figure(1, MetricStat::Last, Some(1)), 7.0)
        );
        assert_eq!(parsed("share(cheap) > 90%"), (figure(2, MetricStat::Share, None), 0.9));
        assert_eq!(parsed("rate(orders) > 1.5/s"), (figure(0, MetricStat::Rate, None), 1.5));
        assert_eq!(parsed("sum(orders) == 3"), (figure(0, MetricStat::Sum, None), 3.0));
        let threshold = names(&METRICS).threshold("count(orders) > 100").unwrap();
        assert_eq!((threshold.comparison, threshold.limit), (Comparison::Greater, 100.0));
    }

    #[test]
    fn what_a_kind_does_not_have_is_refused() {
        let error = |text: &str| names(&METRICS).threshold(text).unwrap_err();
        assert_eq!(error("p95(orders) < 3").message, "`orders` is a counter, and has no `p95`");
        assert_eq!(error("sum(depth) < 3").message, "`depth` is a gauge, and has no `sum`");
        assert_eq!(error("errors(cheap) < 3").message, "`cheap` is a share, and has no `errors`");
        let limit = error("p95(basket) < 300ms");
        assert_eq!(limit.message, "`300ms` is no limit for this figure");
        assert_eq!(limit.hint.unwrap(), "write a number, like 20 €, or without the unit");
        assert_eq!(error("share(cheap) > 0.9").code, "bad-limit");
        assert_eq!(error("sum(nothing) < 3").message, "there is no figure `sum`");
        let text = "sum(orders, population=a) < 3";
        let tags = error(text);
        assert_eq!(tags.message, "`orders` is a metric, and metrics have no tags");
        assert_eq!(
            (&text[tags.span], tags.hint.as_deref()),
            ("population=a", Some("write sum(orders)"))
        );
        assert_eq!(error("p95(\"basket\", a=b) < 3").hint.unwrap(), "write p95(\"basket\")");
    }

    #[test]
    fn a_unit_may_be_called_as_what_is_before_a_phase() {
        const WIDTH: [MetricName<'static>; 1] =
            [MetricName { name: "width", kind: MetricKind::Quantity, unit: "in" }];
        let parsed = |text: &str| {
            let threshold = names(&WIDTH).threshold(text).unwrap();
            (threshold.figure.phase(), threshold.limit)
        };
        assert_eq!(parsed("max(width) < 5 in in hold"), (Some(1), 5.0));
        assert_eq!(parsed("max(width) < 5 in hold"), (Some(1), 5.0));
        assert_eq!(parsed("max(width) < 5 in"), (None, 5.0));
        let error = names(&WIDTH).threshold("max(width) < 5 in in hodl").unwrap_err();
        assert_eq!(error.message, "there is no phase `hodl`");
    }
}
