//! A snapshot in the text format of Prometheus ("Exposition formats", version 0.0.4).

use std::fmt::Write;

use crate::export::metrics::{self, Kind, Metric};
use crate::export::snapshot::{ProbeValue, Snapshot};

/// The content type of a page.
pub(crate) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The page of a snapshot.
pub(crate) fn render(snapshot: &Snapshot) -> String {
    let mut text = String::with_capacity(16 << 10);
    let common = [("run", &*snapshot.run), ("scenario", &*snapshot.scenario)];
    let mut last: Option<&str> = None;
    for sample in &snapshot.samples {
        let metric = sample.metric;
        if last != Some(metric.name) {
            head(&mut text, metric);
            last = Some(metric.name);
        }
        let labels = common.into_iter().chain(snapshot.labels(sample));
        line(&mut text, metric.name, labels, sample.value);
    }
    text
}

/// The page of probes without a run.
pub fn page(probes: &[ProbeValue]) -> String {
    let mut text = String::new();
    head(&mut text, &metrics::PROBE);
    for ProbeValue { info, value } in probes {
        let labels = [
            ("role", &*info.role),
            ("region", &info.region),
            ("source", &info.source),
            ("via", &info.via),
            ("metric", &info.metric),
            ("unit", &info.unit),
        ];
        line(&mut text, metrics::PROBE.name, labels, *value);
    }
    text
}

fn head(text: &mut String, metric: &Metric) {
    let kind = match metric.kind {
        Kind::Gauge => "gauge",
        Kind::Counter => "counter",
    };
    // Writing to a String cannot fail.
    let _ = writeln!(text, "# HELP {} {}", metric.name, metric.help);
    let _ = writeln!(text, "# TYPE {} {kind}", metric.name);
}

fn line<'a>(
    text: &mut String,
    name: &str,
    labels: impl IntoIterator<Item = (&'a str, &'a str)>,
    value: f64,
) {
    text.push_str(name);
    text.push('{');
    for (place, (label, value)) in labels.into_iter().enumerate() {
        text.push_str(if place > 0 { "," } else { "" });
        text.push_str(label);
        text.push_str("=\"");
        for c in value.chars() {
            match c {
                '\\' => text.push_str("\\\\"),
                '"' => text.push_str("\\\""),
                '\n' => text.push_str("\\n"),
                _ => text.push(c),
            }
        }
        text.push('"');
    }
    // Writing to a String cannot fail.
    let _ = writeln!(text, "}} {value}");
}
