//! A snapshot as OpenTelemetry's protocol has it: OTLP/HTTP 1.x, JSON (numbers of 64 bits as text,
//! enumerations as numbers).

use serde_json::{Value, json};

use crate::metrics::Kind;
use crate::snapshot::{Sample, Snapshot};

/// `AGGREGATION_TEMPORALITY_CUMULATIVE`.
const CUMULATIVE: u32 = 2;

/// An `ExportMetricsServiceRequest`.
pub(crate) fn render(snapshot: &Snapshot) -> Value {
    let mut metrics: Vec<Value> = Vec::new();
    let groups = snapshot
        .samples
        .chunk_by(|one, next| one.metric.name == next.metric.name);
    for group in groups {
        let metric = group[0].metric;
        let points: Vec<Value> = group.iter().map(|sample| point(sample, snapshot)).collect();
        let mut told = json!({
            "name": metric.name, "description": metric.help, "unit": metric.unit,
        });
        match metric.kind {
            Kind::Gauge => told["gauge"] = json!({ "dataPoints": points }),
            Kind::Counter => {
                told["sum"] = json!({
                    "dataPoints": points, "aggregationTemporality": CUMULATIVE, "isMonotonic": true,
                });
            }
        }
        metrics.push(told);
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
    let labels = sample.metric.labels.iter().zip(&sample.labels);
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

/// Whether all of a request was taken, by the answer to it (an `ExportMetricsServiceResponse`): a success may
/// be one in part. The error says what was not.
pub(crate) fn taken(answer: &str) -> Result<(), String> {
    let answer: Value = serde_json::from_str(answer).unwrap_or_default();
    let part = &answer["partialSuccess"];
    let told = &part["rejectedDataPoints"];
    let rejected = told.as_str().and_then(|count| count.parse().ok());
    match rejected.or_else(|| told.as_i64()) {
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
            assert_eq!(taken(whole), Ok(()), "{whole}");
        }
        let part = |count| {
            format!(
                r#"{{"partialSuccess":{{"rejectedDataPoints":{count},"errorMessage":"full"}}}}"#
            )
        };
        for count in ["\"3\"", "3"] {
            let told = "3 values were refused: full".to_owned();
            assert_eq!(taken(&part(count)), Err(told));
        }
        assert_eq!(taken(&part("\"0\"")), Ok(()), "a warning alone");
    }
}
