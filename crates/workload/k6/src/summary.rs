//! The summary of a run in k6's shape: what `handleSummary` gets, and what `--summary-export` writes.

use md5::{Digest, Md5};
use plan::K6Script;
use serde_json::{Map, Value, json};
use stats::metrics::{MetricStat, MetricValues};

use crate::files::inside;
use crate::options::{Condition, conditions};
use crate::thresholds::holds_at_zero;

/// The figures of trends where the options say nothing, as in k6.
const TREND_STATS: [&str; 6] = ["avg", "min", "med", "max", "p(90)", "p(95)"];

/// What a run has recorded.
#[derive(Debug, Default)]
pub struct Ended {
    pub duration_ns: u64,
    /// In the order of the run's metrics.
    pub metrics: Vec<MetricRecorded>,
    pub checks: Vec<CheckCounts>,
    /// Of each threshold whether it holds, in the order of the options.
    pub thresholds: Vec<ThresholdEnd>,
    /// The users that there were, second by second.
    pub users: Vec<u64>,
    pub users_max: u64,
    /// Whether the outputs are terminals that show colours.
    pub is_terminal: bool,
    pub is_error_terminal: bool,
}

/// A metric, and what was recorded of it.
#[derive(Debug)]
pub struct MetricRecorded {
    pub name: String,
    /// `ms`, `bytes` or another unit.
    pub unit: String,
    pub values: MetricValues,
}

/// A check, and how often it was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckCounts {
    pub name: String,
    pub passes: u64,
    pub fails: u64,
}

/// How a threshold has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThresholdEnd {
    pub holds: bool,
    /// Whether there was anything to judge.
    pub is_known: bool,
}

/// A file, or an output, that `handleSummary` wants written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// A path, `stdout` or `stderr`.
    pub path: String,
    pub bytes: Vec<u8>,
}

impl Written {
    /// The path within a folder; `None`: it leads elsewhere.
    pub fn inside(&self) -> Option<String> {
        inside(&self.path)
    }
}

/// A figure of a trend; `None`: k6 has none of this name.
pub(crate) fn trend_stat(name: &str) -> Option<MetricStat> {
    Some(match name {
        "avg" => MetricStat::Mean,
        "min" => MetricStat::Min,
        "med" => MetricStat::Quantile(0.5),
        "max" => MetricStat::Max,
        "count" => MetricStat::Count,
        other => {
            let number = other.strip_prefix("p(")?.strip_suffix(')')?.trim().parse::<f64>().ok()?;
            (0.0..=100.0).contains(&number).then_some(MetricStat::Quantile(number / 100.0))?
        }
    })
}

fn trend_stats(options: &Value) -> Vec<String> {
    let given = options["summaryTrendStats"].as_array().map_or(&[][..], Vec::as_slice);
    let given: Vec<String> = given.iter().filter_map(Value::as_str).map(str::to_owned).collect();
    match given.is_empty() {
        true => TREND_STATS.map(str::to_owned).to_vec(),
        false => given,
    }
}

/// Whether all thresholds of a script hold, as k6 takes them: a metric of which nothing was recorded is 0 for it.
pub fn thresholds_hold(script: &K6Script, ended: &[ThresholdEnd]) -> bool {
    held(&options_of(script), ended).iter().all(|(.., holds)| *holds)
}

fn options_of(script: &K6Script) -> Value {
    serde_json::from_str(&script.options).unwrap_or_default()
}

/// The metric and the text of each threshold, and whether it holds.
fn held(options: &Value, ended: &[ThresholdEnd]) -> Vec<(String, String, bool)> {
    let all = conditions(options.get("thresholds")).unwrap_or_default();
    let all = all.into_iter().flat_map(|(metric, conditions)| {
        conditions.into_iter().map(move |Condition { text, .. }| (metric.clone(), text))
    });
    all.zip(ended)
        .map(|((metric, text), end)| {
            let holds = if end.is_known { end.holds } else { holds_at_zero(&text) };
            (metric, text, holds)
        })
        .collect()
}

/// What `handleSummary` gets.
pub fn summary(script: &K6Script, ended: &Ended) -> Value {
    let options = options_of(script);
    let stats = trend_stats(&options);
    let seconds = ended.duration_ns as f64 / 1e9;
    let thresholds = held(&options, &ended.thresholds);
    let mut metrics = Map::new();
    for metric in &ended.metrics {
        if metric.values.is_empty() && !thresholds.iter().any(|(of, ..)| *of == metric.name) {
            continue;
        }
        let mut described = of_metric(metric, &stats, seconds);
        let own = thresholds.iter().filter(|(of, ..)| *of == metric.name);
        let own: Map<String, Value> =
            own.map(|(_, text, holds)| (text.clone(), json!({ "ok": holds }))).collect();
        if !own.is_empty() {
            described.insert("thresholds".to_owned(), Value::Object(own));
        }
        metrics.insert(metric.name.clone(), Value::Object(described));
    }
    let gauge = |last: u64, min: u64, max: u64| json!({ "type": "gauge", "contains": "default", "values": { "value": last, "min": min, "max": max } });
    let users = &ended.users;
    let least = users.iter().min().copied().unwrap_or(0);
    let most = users.iter().max().copied().unwrap_or(0).max(ended.users_max);
    metrics.insert("vus".to_owned(), gauge(users.last().copied().unwrap_or(0), least, most));
    metrics.insert("vus_max".to_owned(), gauge(most, most, most));
    let checks = ended.checks.iter().filter(|check| check.passes + check.fails > 0);
    let checks: Vec<Value> = checks
        .map(|CheckCounts { name, passes, fails }| {
            let path = format!("::{name}");
            json!({ "name": name, "path": path, "id": id(&path), "passes": passes, "fails": fails })
        })
        .collect();
    json!({
        "root_group": { "name": "", "path": "", "id": id(""), "groups": [], "checks": checks },
        "options": {
            "summaryTrendStats": stats,
            "summaryTimeUnit": options["summaryTimeUnit"].as_str().unwrap_or(""),
            "noColor": !ended.is_terminal,
        },
        "state": {
            "isStdOutTTY": ended.is_terminal,
            "isStdErrTTY": ended.is_error_terminal,
            "testRunDurationMs": ended.duration_ns as f64 / 1e6,
        },
        "metrics": metrics,
    })
}

/// The number of a group or check, as k6 has it.
fn id(path: &str) -> String {
    units::hex(&Md5::digest(path.as_bytes()))
}

fn of_metric(metric: &MetricRecorded, stats: &[String], seconds: f64) -> Map<String, Value> {
    // k6 takes 0 for what nothing was recorded of.
    let of = |stat| metric.values.value(stat, seconds).unwrap_or(0.0);
    let number = |value: f64| match value.fract() == 0.0 && value.abs() < 1e15 {
        true => Value::from(value as i64),
        false => Value::from(value),
    };
    let mut values = Map::new();
    let mut put = |name: &str, value: f64| values.insert(name.to_owned(), number(value));
    let kind = match &metric.values {
        MetricValues::Counter(_) => {
            put("count", of(MetricStat::Sum));
            put("rate", of(MetricStat::Rate));
            "counter"
        }
        MetricValues::Gauge(_) => {
            put("value", of(MetricStat::Last));
            put("min", of(MetricStat::Min));
            put("max", of(MetricStat::Max));
            "gauge"
        }
        MetricValues::Share(share) => {
            put("rate", of(MetricStat::Share));
            put("passes", share.hits as f64);
            put("fails", (share.count - share.hits) as f64);
            "rate"
        }
        MetricValues::Quantity(_) => {
            for stat in stats {
                put(stat, trend_stat(stat).map_or(0.0, of));
            }
            "trend"
        }
    };
    let contains = match metric.unit.as_str() {
        "ms" => "time",
        "bytes" => "data",
        _ => "default",
    };
    let mut described = Map::new();
    described.insert("type".to_owned(), kind.into());
    described.insert("contains".to_owned(), contains.into());
    described.insert("values".to_owned(), Value::Object(values));
    described
}

/// What `--summary-export` writes of a summary: figures beside each other, and of a threshold whether it was crossed.
pub fn export(summary: &Value) -> Value {
    let by_name = |items: &Value| -> Map<String, Value> {
        let items = items.as_array().into_iter().flatten();
        items
            .map(|item| (item["name"].as_str().unwrap_or_default().to_owned(), item.clone()))
            .collect()
    };
    let mut root = summary["root_group"].clone();
    root["groups"] = Value::Object(by_name(&summary["root_group"]["groups"]));
    root["checks"] = Value::Object(by_name(&summary["root_group"]["checks"]));
    let mut metrics = Map::new();
    for (name, metric) in summary["metrics"].as_object().into_iter().flatten() {
        let mut figures = metric["values"].as_object().cloned().unwrap_or_default();
        if metric["type"] == "rate"
            && let Some(rate) = figures.shift_remove("rate")
        {
            figures.insert("value".to_owned(), rate);
        }
        if let Some(thresholds) = metric["thresholds"].as_object() {
            let crossed = thresholds
                .iter()
                .map(|(text, end)| (text.clone(), Value::from(end["ok"] != Value::Bool(true))));
            figures.insert("thresholds".to_owned(), Value::Object(crossed.collect()));
        }
        metrics.insert(name.clone(), Value::Object(figures));
    }
    json!({ "root_group": root, "metrics": metrics })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use stats::decimal::Decimal;
    use stats::metrics::MetricKind;

    use super::*;

    fn recorded(name: &str, unit: &str, kind: MetricKind, numbers: &[f64]) -> MetricRecorded {
        let mut values = MetricValues::new(kind);
        for number in numbers {
            values.record(0, Decimal::from_f64(*number).unwrap());
        }
        MetricRecorded { name: name.to_owned(), unit: unit.to_owned(), values }
    }

    fn script(options: &str) -> K6Script {
        K6Script {
            files: vec![plan::K6File { name: "a.js".to_owned(), bytes: Arc::from([]) }],
            env: Vec::new(),
            options: options.to_owned(),
            metrics: Vec::new(),
            time_max_ns: 1,
            memory_bytes_max: 1,
        }
    }

    fn ended() -> Ended {
        Ended {
            duration_ns: 2_000_000_000,
            metrics: vec![
                recorded("http_req_duration", "ms", MetricKind::Quantity, &[1.0, 2.0, 3.0]),
                recorded("http_reqs", "", MetricKind::Counter, &[1.0, 1.0, 1.0]),
                recorded("http_req_failed", "", MetricKind::Share, &[1.0, 0.0, 0.0, 0.0]),
                recorded("depth", "", MetricKind::Gauge, &[4.0, 2.5]),
                recorded("http_reqs{name:none}", "", MetricKind::Counter, &[]),
                recorded("unused", "", MetricKind::Counter, &[]),
            ],
            checks: vec![CheckCounts { name: "ok".to_owned(), passes: 3, fails: 1 }],
            thresholds: [(true, true), (false, true), (false, false)]
                .map(|(holds, is_known)| ThresholdEnd { holds, is_known })
                .to_vec(),
            users: vec![1, 3, 2],
            users_max: 3,
            ..Ended::default()
        }
    }

    const OPTIONS: &str = r#"{"summaryTrendStats": ["avg", "p(50)", "count"], "thresholds": {
        "http_req_duration": ["avg<5"], "http_req_failed": ["rate<0.1"], "http_reqs{name:none}": ["count<1"] } }"#;

    #[test]
    fn a_summary_has_the_shape_of_k6() {
        let found = summary(&script(OPTIONS), &ended());
        let metrics = &found["metrics"];
        let duration = json!({ "type": "trend", "contains": "time", "thresholds": { "avg<5": { "ok": true } },
            "values": { "avg": 2, "p(50)": 2, "count": 3 } });
        let mut shown = metrics["http_req_duration"].clone();
        // Quantiles are within 0.1 %.
        assert!((shown["values"]["p(50)"].as_f64().unwrap() - 2.0).abs() < 0.003);
        shown["values"]["p(50)"] = 2.into();
        assert_eq!(shown, duration);
        assert_eq!(metrics["http_reqs"]["values"], json!({ "count": 3, "rate": 1.5 }));
        let failed = json!({ "rate": 0.25, "passes": 1, "fails": 3 });
        assert_eq!(metrics["http_req_failed"]["values"], failed);
        assert_eq!(metrics["http_req_failed"]["thresholds"]["rate<0.1"]["ok"], false);
        assert_eq!(metrics["depth"]["values"], json!({ "value": 2.5, "min": 2.5, "max": 4 }));
        // Nothing was recorded, which is 0 for k6.
        assert_eq!(metrics["http_reqs{name:none}"]["thresholds"]["count<1"]["ok"], true);
        assert_eq!(metrics.get("unused"), None);
        assert_eq!(metrics["vus"]["values"], json!({ "value": 2, "min": 1, "max": 3 }));
        assert_eq!(found["state"]["testRunDurationMs"], 2000.0);
        let check = &found["root_group"]["checks"][0];
        assert_eq!((&check["path"], &check["fails"]), (&json!("::ok"), &json!(1)));
        assert_eq!(found["root_group"]["id"], "d41d8cd98f00b204e9800998ecf8427e");
        let stats = json!(["avg", "min", "med", "max", "p(90)", "p(95)"]);
        assert_eq!(summary(&script("{}"), &ended())["options"]["summaryTrendStats"], stats);
    }

    #[test]
    fn exported_summaries_are_flat() {
        let found = export(&summary(&script(OPTIONS), &ended()));
        let failed =
            json!({ "passes": 1, "fails": 3, "value": 0.25, "thresholds": { "rate<0.1": true } });
        assert_eq!(found["metrics"]["http_req_failed"], failed);
        assert_eq!(found["metrics"]["http_reqs"], json!({ "count": 3, "rate": 1.5 }));
        assert_eq!(found["root_group"]["checks"]["ok"]["passes"], 3);
        assert_eq!(found.get("state"), None);
    }

    #[test]
    fn thresholds_hold_as_k6_takes_them() {
        assert!(!thresholds_hold(&script(OPTIONS), &ended().thresholds));
        let unknown = [ThresholdEnd { holds: false, is_known: false }];
        for (text, expected) in [("p(95)<1", true), ("rate>0.9", false), ("count==0", true)] {
            let options = format!(r#"{{"thresholds": {{"m": ["{text}"]}}}}"#);
            assert_eq!(thresholds_hold(&script(&options), &unknown), expected, "{text}");
        }
        assert!(thresholds_hold(&script("{}"), &[]));
    }

    #[test]
    fn figures_of_trends_are_those_of_k6() {
        assert_eq!(trend_stat("p(75)"), Some(MetricStat::Quantile(0.75)));
        for wrong in ["p(101)", "p95", "mean", "p(x)", ""] {
            assert_eq!(trend_stat(wrong), None, "{wrong}");
        }
    }
}
