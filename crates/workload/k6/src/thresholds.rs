//! Conditions in k6's words, and the metrics that they are of.

use crate::scenario::MetricKind;

/// The metrics that k6 itself has, and their kinds.
pub(crate) const BUILT_IN: &[(&str, MetricKind, &str)] = &[
    ("http_reqs", MetricKind::Counter, ""),
    ("http_req_duration", MetricKind::Trend, "ms"),
    ("http_req_failed", MetricKind::Rate, ""),
    ("http_req_blocked", MetricKind::Trend, "ms"),
    ("http_req_connecting", MetricKind::Trend, "ms"),
    ("http_req_tls_handshaking", MetricKind::Trend, "ms"),
    ("http_req_sending", MetricKind::Trend, "ms"),
    ("http_req_waiting", MetricKind::Trend, "ms"),
    ("http_req_receiving", MetricKind::Trend, "ms"),
    ("checks", MetricKind::Rate, ""),
    ("iterations", MetricKind::Counter, ""),
    ("iteration_duration", MetricKind::Trend, "ms"),
    ("group_duration", MetricKind::Trend, "ms"),
    ("data_sent", MetricKind::Counter, "bytes"),
    ("data_received", MetricKind::Counter, "bytes"),
    ("dropped_iterations", MetricKind::Counter, ""),
    ("ws_connecting", MetricKind::Trend, "ms"),
    ("ws_sessions", MetricKind::Counter, ""),
    ("ws_session_duration", MetricKind::Trend, "ms"),
    ("ws_msgs_sent", MetricKind::Counter, ""),
    ("ws_msgs_received", MetricKind::Counter, ""),
    ("ws_ping", MetricKind::Trend, "ms"),
];

/// A metric, or the part of one with some tags: `http_req_duration{name:login}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) base: String,
    pub(crate) tags: Vec<(String, String)>,
}

/// Takes the name of a metric apart, as thresholds write it. The error says what is wrong.
pub(crate) fn part(text: &str) -> Result<Part, String> {
    let text = text.trim();
    let Some((base, rest)) = text.split_once('{') else {
        return Ok(Part { base: text.to_owned(), tags: Vec::new() });
    };
    let inner = rest.strip_suffix('}').ok_or_else(|| format!("`{text}` lacks its `}}`"))?;
    let mut tags = Vec::new();
    for pair in inner.split(',').filter(|pair| !pair.trim().is_empty()) {
        let (key, value) = pair
            .split_once(':')
            .ok_or_else(|| format!("`{}` is no tag: write name:value", pair.trim()))?;
        let bare = |text: &str| text.trim().trim_matches(['"', '\'']).to_owned();
        tags.push((bare(key), bare(value)));
    }
    Ok(Part { base: base.trim().to_owned(), tags })
}

/// The metric and the tags of a declared metric's name; `None`: it is no metric of k6.
pub fn part_of(name: &str) -> Option<(String, Vec<(String, String)>)> {
    part(name).ok().map(|part| (part.base, part.tags))
}

/// The condition of a scenario that a condition of k6 stands for; `name`: the metric's. The error says what is wrong.
pub(crate) fn condition(name: &str, kind: MetricKind, text: &str) -> Result<String, String> {
    const COMPARISONS: &[(&str, &str)] = &[
        ("<=", "<="),
        (">=", ">="),
        ("===", "=="),
        ("==", "=="),
        ("!=", "!="),
        ("<", "<"),
        (">", ">"),
    ];
    let wrong =
        || format!("`{text}` is no threshold: write it like p(95)<500, rate<0.01 or count>100");
    let at = text.find(['<', '>', '=', '!']).ok_or_else(wrong)?;
    let (aggregate, rest) = text.split_at(at);
    let (sign, comparison) =
        COMPARISONS.iter().find(|(sign, _)| rest.starts_with(sign)).ok_or_else(wrong)?;
    let limit: f64 = rest[sign.len()..].trim().parse().map_err(|_| wrong())?;
    let aggregate = aggregate.trim();
    let figure = match (kind, aggregate) {
        (MetricKind::Trend, "avg") => "mean".to_owned(),
        (MetricKind::Trend, "med") => "p50".to_owned(),
        (MetricKind::Trend, "min" | "max" | "count") => aggregate.to_owned(),
        (MetricKind::Trend, percentile) if percentile.starts_with("p(") => {
            let number = percentile[2..].strip_suffix(')').ok_or_else(wrong)?;
            let number: f64 = number.trim().parse().map_err(|_| wrong())?;
            if !(0.0..=100.0).contains(&number) {
                return Err(wrong());
            }
            format!("p{number}")
        }
        (MetricKind::Counter, "count") => "sum".to_owned(),
        (MetricKind::Counter, "rate") => "rate".to_owned(),
        (MetricKind::Gauge, "value") => "last".to_owned(),
        (MetricKind::Rate, "rate") => "share".to_owned(),
        (kind, _) => {
            let known = match kind {
                MetricKind::Trend => "avg, min, med, max, count and p(N)",
                MetricKind::Counter => "count and rate",
                MetricKind::Gauge => "value",
                MetricKind::Rate => "rate",
            };
            return Err(format!("`{aggregate}` is no figure of `{name}`, which has {known}"));
        }
    };
    // Shares are percentages; their decimals are k6's.
    let limit = match kind {
        MetricKind::Rate => format!("{}%", (limit * 1e10).round() / 1e8),
        MetricKind::Trend | MetricKind::Counter | MetricKind::Gauge => limit.to_string(),
    };
    Ok(format!("{figure}(\"{name}\") {comparison} {limit}"))
}

/// Whether a condition holds of what nothing was recorded of, which k6 takes for 0.
pub(crate) fn holds_at_zero(text: &str) -> bool {
    let Some(at) = text.find(['<', '>', '=', '!']) else {
        return false;
    };
    let rest = &text[at..];
    let sign = rest.trim_start_matches(['<', '>', '=', '!']).len();
    let (sign, limit) = rest.split_at(rest.len() - sign);
    let Ok(limit) = limit.trim().parse::<f64>() else {
        return false;
    };
    match sign {
        "<" => 0.0 < limit,
        "<=" => 0.0 <= limit,
        ">" => 0.0 > limit,
        ">=" => 0.0 >= limit,
        "==" | "===" => limit == 0.0,
        "!=" => limit != 0.0,
        _ => false,
    }
}

/// Whether a condition demands a number of what has only begun: one that grows from 0.
pub(crate) fn begins_below(kind: MetricKind, text: &str) -> bool {
    let compact: String = text.split_whitespace().collect();
    let rest = match kind {
        MetricKind::Counter | MetricKind::Trend => compact.strip_prefix("count"),
        MetricKind::Gauge | MetricKind::Rate => None,
    };
    rest.is_some_and(|rest| {
        rest.starts_with('>') || rest.starts_with('!') || (rest.starts_with('=') && !is_zero(rest))
    })
}

fn is_zero(comparison: &str) -> bool {
    comparison.trim_start_matches('=').parse() == Ok(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_begin_with_zero() {
        for (text, expected) in [
            ("count>5", true),
            (" count != 3", true),
            ("count==4", true),
            ("count==0", false),
            ("count<9", false),
            ("rate>1", false),
        ] {
            assert_eq!(begins_below(MetricKind::Counter, text), expected, "{text}");
        }
        assert!(!begins_below(MetricKind::Rate, "rate>0.9"));
    }

    #[test]
    fn conditions_keep_their_meaning() {
        for (kind, text, expected) in [
            (MetricKind::Trend, "p(99.9) < 500", "p99.9(\"m\") < 500"),
            (MetricKind::Trend, "avg<=1.5", "mean(\"m\") <= 1.5"),
            (MetricKind::Trend, "med>3", "p50(\"m\") > 3"),
            (MetricKind::Counter, "count===7", "sum(\"m\") == 7"),
            (MetricKind::Rate, "rate<0.01", "share(\"m\") < 1%"),
            (MetricKind::Gauge, "value!=0", "last(\"m\") != 0"),
        ] {
            assert_eq!(condition("m", kind, text).unwrap(), expected);
        }
        for (kind, text) in [
            (MetricKind::Rate, "p(95)<1"),
            (MetricKind::Trend, "p(95"),
            (MetricKind::Trend, "p(101)<1"),
            (MetricKind::Trend, "avg<fast"),
            (MetricKind::Counter, ""),
        ] {
            assert!(condition("m", kind, text).is_err(), "{text}");
        }
    }

    #[test]
    fn parts_of_a_metric_have_tags() {
        let found = part("http_req_duration{ name:https://a.test/x , kind:\"html\" }").unwrap();
        assert_eq!(found.base, "http_req_duration");
        let expected = [("name", "https://a.test/x"), ("kind", "html")];
        let expected = expected.map(|(key, value)| (key.to_owned(), value.to_owned()));
        assert_eq!(found.tags, expected);
        assert!(part("m{a").is_err() && part("m{a}").is_err());
    }
}
