//! A snapshot in OpenTelemetry's protocol: OTLP/HTTP 1.x, JSON (numbers of 64 bits as text,
//! enumerations as numbers).

use serde_json::{Value, json};

use crate::export::metrics::Kind;
use crate::export::snapshot::{Sample, Snapshot};

/// `AGGREGATION_TEMPORALITY_CUMULATIVE`.
const CUMULATIVE: u32 = 2;

/// An `ExportMetricsServiceRequest`.
pub(crate) fn render(snapshot: &Snapshot) -> Value {
    let mut metrics: Vec<Value> = Vec::new();
    let groups = snapshot.samples.chunk_by(|one, next| one.metric.name == next.metric.name);
    for group in groups {
        let metric = group[0].metric;
        let points: Vec<Value> = group.iter().map(|sample| point(sample, snapshot)).collect();
        let mut entry = json!({
            "name": metric.name, "description": metric.help, "unit": metric.unit,
        });
        match metric.kind {
            Kind::Gauge => entry["gauge"] = json!({ "dataPoints": points }),
            Kind::Counter => {
                entry["sum"] = json!({
                    "dataPoints": points, "aggregationTemporality": CUMULATIVE, "isMonotonic": true,
                });
            }
        }
        metrics.push(entry);
    }
    let resource = [
        attribute("service.name", "throng"),
        attribute("run", &snapshot.run),
        attribute("scenario", &snapshot.scenario),
    ];
    json!({
        "resourceMetrics": [{
            "resource": { "attributes": resource },
            "scopeMetrics": [{ "scope": { "name": "throng" }, "metrics": metrics }],
        }],
    })
}

fn point(sample: &Sample, snapshot: &Snapshot) -> Value {
    let labels = snapshot.labels(sample);
    let attributes: Vec<Value> = labels.map(|(key, value)| attribute(key, value)).collect();
    let mut point = json!({
        "attributes": attributes,
        "timeUnixNano": snapshot.at_unix_ns.to_string(),
        "asDouble": sample.value,
    });
    if sample.is_counter() {
        point["startTimeUnixNano"] = json!(snapshot.started_unix_ns.to_string());
    }
    point
}

fn attribute(key: &str, value: &str) -> Value {
    json!({ "key": key, "value": { "stringValue": value } })
}

/// Checks the reply to a request (an `ExportMetricsServiceResponse`): a success may be partial. The error says
/// what was rejected.
pub(crate) fn check_reply(reply: &str) -> Result<(), String> {
    let reply: Value = serde_json::from_str(reply).unwrap_or_default();
    let part = &reply["partialSuccess"];
    let count = &part["rejectedDataPoints"];
    let rejected = count.as_str().and_then(|count| count.parse().ok());
    match rejected.or_else(|| count.as_i64()) {
        Some(rejected @ 1..) => {
            let why = part["errorMessage"].as_str().unwrap_or_default();
            Err(format!("{rejected} values were refused: {why}"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_success_in_part_is_none() {
        for whole in ["", "{}", r#"{"partialSuccess":{}}"#, "rubbish", "[1]"] {
            assert_eq!(check_reply(whole), Ok(()), "{whole}");
        }
        let part = |count| {
            format!(
                r#"{{"partialSuccess":{{"rejectedDataPoints":{count},"errorMessage":"full"}}}}"#
            )
        };
        for count in ["\"3\"", "3"] {
            let expected = "3 values were refused: full".to_owned();
            assert_eq!(check_reply(&part(count)), Err(expected));
        }
        assert_eq!(check_reply(&part("\"0\"")), Ok(()), "a warning alone");
    }
}
