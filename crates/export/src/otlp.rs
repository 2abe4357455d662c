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
