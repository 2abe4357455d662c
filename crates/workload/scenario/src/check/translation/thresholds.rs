//! Thresholds of k6 and Artillery.

use units::parse;

use super::scalar_text;
use crate::document::node::{Entry, Node};

/// Metrics of k6 and Artillery that are times of requests.
const TIMES: &[&str] =
    &["http_req_duration", "http_req_waiting", "grpc_req_duration", "http.response_time"];
/// Those of connections.
const CONNECTS: &[&str] = &["http_req_connecting", "http_req_blocked", "http_req_tls_handshaking"];
/// Other metrics of k6.
const OTHERS: &[&str] =
    &["http_req_failed", "http_reqs", "checks", "errors", "iterations", "iteration_duration"];

/// A condition on a metric of another tool.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::check) struct MetricCondition {
    /// Empty where the condition names none.
    pub(in crate::check) metric: String,
    pub(in crate::check) text: String,
}

/// The conditions of one entry: `http_req_duration: ["p(95)<500"]`, `p95: 200`, `maxErrorRate: 1`.
pub(in crate::check) fn conditions_of(entry: &Entry) -> Vec<MetricCondition> {
    let key = entry.key.as_str();
    let of = |metric: &str, text: String| MetricCondition { metric: metric.to_owned(), text };
    let number = entry.value.text().and_then(|text| parse::number(text).ok());
    if let Some(number) = number {
        return vec![match key.rsplit_once('.') {
            None if key == "maxErrorRate" => {
                of("http_req_failed", format!("rate < {}", number / 100.0))
            }
            None => of("http_req_duration", format!("{key} < {number}")),
            Some((metric, stat)) => of(metric, format!("{stat} < {number}")),
        }];
    }
    let items = entry.value.sequence().unwrap_or(std::slice::from_ref(&entry.value));
    items.iter().map(|item| of(key, text_of(item).unwrap_or_default().to_owned())).collect()
}

/// The text of a condition, which may stand under `threshold`.
fn text_of(item: &Node) -> Option<&str> {
    item.text().or_else(|| item.get("threshold")?.text())
}

/// Thresholds that may be meant by a condition of another tool, the likeliest first. `metric` is empty where the
/// condition stands alone.
pub(in crate::check) fn thresholds_meant(metric: &str, condition: &str) -> Vec<String> {
    let Some(Condition { stat, sign, limit }) = Condition::read(condition) else {
        return Vec::new();
    };
    let named = if metric.is_empty() { metric_in(stat) } else { Some((metric, stat)) };
    // Without a metric only what is k6's alone.
    let is_foreign = stat.starts_with("p(") || ["avg", "med"].contains(&stat);
    let Some((metric, stat)) = named.or(is_foreign.then_some(("http_req_duration", stat))) else {
        return Vec::new();
    };
    let (name, tags) = match metric.split_once('{') {
        Some((name, tags)) => (name.trim(), tags.trim_end().trim_end_matches('}')),
        None => (metric.trim(), ""),
    };
    let of = of_tags(tags);
    let times = |of: &str| -> Vec<String> {
        let is_bare = parse::number(limit).is_ok();
        let unit = if is_bare { "ms" } else { "" };
        let stat = stat_meant(stat);
        stat.map(|stat| format!("{stat}{of} {sign} {limit}{unit}")).into_iter().collect()
    };
    let share = |figures: &[&str]| -> Vec<String> {
        let limit = percent(limit);
        figures.iter().map(|figure| format!("{figure}{of} {sign} {limit}")).collect()
    };
    let number = |of: &str| -> Vec<String> {
        match stat {
            "rate" => vec![format!("rate{of} {sign} {limit}/s")],
            "count" => vec![format!("count{of} {sign} {limit}")],
            _ => Vec::new(),
        }
    };
    match name {
        "http_req_failed" | "errors" => share(&["error_rate"]),
        "checks" => {
            let own = format!("success_rate(check) {sign} {}", percent(limit));
            std::iter::once(own).chain(share(&["success_rate"])).collect()
        }
        "http_reqs" => number(&of),
        "iterations" => number("(sessions)"),
        "iteration_duration" => times("(sessions)"),
        name if CONNECTS.contains(&name) => times("(connect)"),
        name if TIMES.contains(&name) => times(&of),
        _ => Vec::new(),
    }
}

/// The metric that a figure names, and which number of it: `http_req_duration`, `http_req_duration p(95)`,
/// `p95(http_req_duration)`.
fn metric_in(figure: &str) -> Option<(&str, &str)> {
    let is_metric = |name: &str| {
        let name = name.split('{').next().unwrap_or_default();
        TIMES.contains(&name) || CONNECTS.contains(&name) || OTHERS.contains(&name)
    };
    // `errors` is a figure of ours.
    if figure == "errors" {
        return None;
    }
    if is_metric(figure) {
        return Some((figure, "p95"));
    }
    if let Some((metric, stat)) = figure.split_once([' ', ':']) {
        return is_metric(metric).then(|| (metric, stat.trim()));
    }
    let (stat, inner) = figure.split_once('(')?;
    let metric = inner.strip_suffix(')')?;
    (is_metric(metric) && metric != "errors").then_some((metric, stat))
}

/// What stands behind a figure for tags of k6: `{name:login}`, `{expected_response:true}`, `{scenario:buyers}`,
/// `{area:shop}`.
fn of_tags(tags: &str) -> String {
    if tags.is_empty() {
        return String::new();
    }
    if tags.trim() == "expected_response:true" {
        return ".succeeded".to_owned();
    }
    let tags: Vec<String> = tags
        .split(',')
        .map(|tag| {
            let (name, value) = tag.split_once(':').unwrap_or((tag, ""));
            let value = value.trim().trim_start_matches("::");
            match name.trim() {
                "name" if value.contains([' ', ')']) => format!("\"{value}\""),
                "name" => value.to_owned(),
                "scenario" => format!("population={value}"),
                name => format!("{name}={value}"),
            }
        })
        .collect();
    format!("({})", tags.join(", "))
}

/// A figure and its limit.
struct Condition<'t> {
    stat: &'t str,
    sign: &'t str,
    limit: &'t str,
}

impl Condition<'_> {
    fn read(text: &str) -> Option<Condition<'_>> {
        let signs = ['<', '>', '=', '!'];
        let (stat, rest) = text.split_at(text.find(signs)?);
        let (sign, limit) = rest.split_at(rest.find(|c: char| !signs.contains(&c))?);
        let sign = if sign == "===" { "==" } else { sign };
        Some(Condition { stat: stat.trim(), sign, limit: limit.trim() })
    }
}

/// `p95` for `p(95)`, `mean` for `avg`.
fn stat_meant(stat: &str) -> Option<String> {
    let known = match stat {
        "avg" | "mean" => "mean",
        "med" | "median" => "p50",
        "min" | "max" => stat,
        _ => {
            let percent = stat.strip_prefix('p')?;
            let inner = percent.strip_prefix('(').and_then(|inner| inner.strip_suffix(')'));
            let percent = inner.unwrap_or(percent).trim();
            return parse::number(percent).is_ok().then(|| format!("p{percent}"));
        }
    };
    Some(known.to_owned())
}

/// A share as a percentage.
fn percent(limit: &str) -> String {
    match limit {
        "1" | "1.0" => "100%".to_owned(),
        "0" | "0.0" => "0%".to_owned(),
        _ if limit.ends_with('%') => limit.to_owned(),
        _ => parse::percentage(limit).unwrap_or_else(|| format!("{limit}%")),
    }
}

/// A list of thresholds in one line.
pub(in crate::check) fn list(thresholds: &[String]) -> String {
    let items: Vec<String> = thresholds.iter().map(|text| item(text)).collect();
    format!("thresholds: [ {} ]", items.join(", "))
}

/// Conditions stand bare in a list, for their signs are no YAML but inside of a text.
fn item(text: &str) -> String {
    let is_bare = !text.contains([',', '"', '{', '}', '[', ']', '#', ':']);
    if is_bare { text.to_owned() } else { scalar_text(text, true) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::yaml::parse_value;

    #[test]
    fn conditions_of_k6_become_thresholds() {
        for (metric, condition, expected) in [
            ("http_req_duration", "p(95)<500", "p95 < 500ms"),
            ("http_req_duration", "avg < 200.5", "mean < 200.5ms"),
            ("http_req_duration{area:shop}", "p(99.9)<500", "p99.9(area=shop) < 500ms"),
            ("http_req_duration{scenario:buyers}", "p(95)<500", "p95(population=buyers) < 500ms"),
            ("http_req_duration{name:GET /a}", "max<500", "max(\"GET /a\") < 500ms"),
            ("http_req_duration{group:::pay}", "med<500", "p50(group=pay) < 500ms"),
            ("http_req_duration{expected_response:true}", "p(90)<1", "p90.succeeded < 1ms"),
            ("http_req_failed", "rate<0.01", "error_rate < 1%"),
            ("http_req_failed", "rate===0", "error_rate == 0%"),
            ("http_req_connecting", "p(95)<50", "p95(connect) < 50ms"),
            ("http_reqs", "rate>100", "rate > 100/s"),
            ("http_reqs", "count>=1000", "count >= 1000"),
            ("iteration_duration", "p(95)<2000", "p95(sessions) < 2000ms"),
            ("checks", "rate>0.9", "success_rate(check) > 90%"),
            ("", "p(95)<500", "p95 < 500ms"),
            ("", "http_req_duration < 500", "p95 < 500ms"),
            ("", "http_req_duration: p(95)<500", "p95 < 500ms"),
            ("", "p95(http_req_duration) < 500ms", "p95 < 500ms"),
            ("", "http_req_failed < 0.01", "error_rate < 1%"),
        ] {
            let found = thresholds_meant(metric, condition);
            assert_eq!(found.first().map_or("", String::as_str), expected, "{metric} {condition}");
        }
        for own in ["p95 < 500", "rate < 5", "errors < 1%", "p95(login) < 1s", "errors", "p(x)<1"] {
            assert!(thresholds_meant("", own).is_empty(), "{own}");
        }
    }

    #[test]
    fn entries_have_one_condition_or_several() {
        let of = |text: &str| {
            let node = parse_value(text);
            let conditions = conditions_of(&node.mapping().unwrap()[0]);
            let shown = conditions.iter().map(|one| format!("{}|{}", one.metric, one.text));
            shown.collect::<Vec<_>>()
        };
        let k6 = "{ a: ['p(95)<5', { threshold: 'avg<1', abortOnFail: true }] }";
        assert_eq!(of(k6), ["a|p(95)<5", "a|avg<1"]);
        assert_eq!(of("{ p95: 200 }"), ["http_req_duration|p95 < 200"]);
        let artillery = "{ http.response_time.p95: 200 }";
        assert_eq!(of(artillery), ["http.response_time|p95 < 200"]);
        assert_eq!(of("{ maxErrorRate: 1 }"), ["http_req_failed|rate < 0.01"]);
        assert_eq!(list(&["p95 < 1s".to_owned()]), "thresholds: [ p95 < 1s ]");
    }
}
