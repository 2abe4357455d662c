//! The form of results that a content has, by its beginning.

use std::borrow::Cow;

use super::gatling_binary;
use super::summaries::Summary;
use crate::samples::moment::moment;
use crate::samples::records::Records;

/// Bytes at the beginning that are looked at.
const HEAD_BYTES: usize = 64 << 10;
/// Keys of a JSON object that are looked at.
const KEYS_MAX: usize = 1_000;

/// A form that has operations, or histograms of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    JmeterCsv,
    JmeterXml,
    K6Json,
    K6Csv,
    Gatling,
    VegetaCsv,
    VegetaJson,
    HeyCsv,
    OhaCsv,
    H2loadLog,
    Tsung,
    Fortio,
    Ghz,
    Criterion,
    GoogleBenchmark,
    PytestBenchmark,
    Locust,
    Hdr,
}

/// A content whose form is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RecognisedContent {
    /// It is text that can be read.
    Results(Form),
    /// Gatling's binary log.
    BinaryLog,
    /// It has figures of operations only, or cannot be read here.
    Summary(Summary),
}

/// True if a content that begins like this has a form of results that is known, also if this form is refused.
pub fn is_results(head: &[u8]) -> bool {
    recognise(head).is_some()
}

/// The form of a content.
pub(super) fn recognise(bytes: &[u8]) -> Option<RecognisedContent> {
    let head = &bytes[..bytes.len().min(HEAD_BYTES)];
    if gatling_binary::is_log(head) {
        return Some(RecognisedContent::BinaryLog);
    }
    if let Some(summary) = Summary::of_bytes(head) {
        return Some(RecognisedContent::Summary(summary));
    }
    let text = String::from_utf8_lossy(head);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let begin = text.trim_start();
    if begin.starts_with(['{', '[']) {
        return json(begin);
    }
    let is_xml = begin.starts_with('<');
    let form = if is_xml {
        begin.contains("<testResults").then_some(Form::JmeterXml)
    } else if begin.starts_with("#[") && begin.contains("Histogram log format version")
        || begin.starts_with("\"StartTimestamp\",\"Interval_Length\"")
    {
        Some(Form::Hdr)
    } else if is_gatling(begin) {
        Some(Form::Gatling)
    } else if begin.starts_with("#date;pid;id;") {
        Some(Form::Tsung)
    } else {
        table(text)
    };
    form.map(RecognisedContent::Results)
        .or_else(|| Summary::of_text(begin).map(RecognisedContent::Summary))
}

/// The log of Gatling begins with assertions and the run.
fn is_gatling(text: &str) -> bool {
    let mut lines = text.lines().skip_while(|line| line.starts_with("ASSERTION\t"));
    lines.next().is_some_and(|line| line.starts_with("RUN\t") && line.split('\t').count() >= 4)
}

fn json(text: &str) -> Option<RecognisedContent> {
    let keys = keys(text);
    let has = |wanted: &[&str]| wanted.iter().all(|key| keys.contains(key));
    let form = if text.starts_with('[') {
        has(&["num_requests", "num_failures", "response_times"]).then_some(Form::Locust)
    } else if has(&["type", "metric", "data"]) {
        Some(Form::K6Json)
    } else if has(&["attack", "code", "timestamp", "latency"]) {
        Some(Form::VegetaJson)
    } else if has(&["latency", "timestamp", "thread", "iter", "ok"]) {
        Some(Form::Fortio)
    } else if has(&["rps", "statusCodeDistribution", "latencyDistribution"]) {
        Some(Form::Ghz)
    } else if has(&["context", "benchmarks"]) {
        Some(Form::GoogleBenchmark)
    } else if has(&["machine_info", "commit_info"]) {
        Some(Form::PytestBenchmark)
    } else {
        None
    };
    form.map(RecognisedContent::Results)
        .or_else(|| Summary::of_keys(&keys).map(RecognisedContent::Summary))
}

/// The keys of the first object of a JSON text, as far as the text goes.
fn keys(text: &str) -> Vec<&str> {
    let mut keys = Vec::new();
    let bytes = text.as_bytes();
    let mut depth = 0_usize;
    // True if the next string is a key of the object, if it is not in an inner one.
    let mut is_key = false;
    let mut at = text.find('{').unwrap_or(bytes.len());
    while at < bytes.len() && keys.len() < KEYS_MAX {
        match bytes[at] {
            b'{' => {
                depth += 1;
                is_key = depth == 1;
            }
            b'[' => depth += 1,
            b'}' | b']' if depth <= 1 => break,
            b'}' | b']' => depth -= 1,
            b',' => is_key = depth == 1,
            b'"' => {
                let begin = at + 1;
                let Some(end) = string_end(bytes, begin) else { break };
                if depth == 1 && is_key {
                    keys.push(&text[begin..end]);
                    is_key = false;
                }
                at = end;
            }
            _ => {}
        }
        at += 1;
    }
    keys
}

/// The place of the quote that ends a string of JSON.
fn string_end(bytes: &[u8], begin: usize) -> Option<usize> {
    let mut at = begin;
    loop {
        match bytes.get(at)? {
            b'"' => return Some(at),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// The form of a table, by the names in its first line or by that line's values.
fn table(text: &str) -> Option<Form> {
    let first = Records::detect(text.trim_start_matches(['\n', '\r'])).next()?.ok()?;
    let names: Vec<&str> = first.fields.iter().map(|field| &**field).collect();
    let has = |wanted: &[&str]| wanted.iter().all(|name| names.contains(name));
    if has(&["timeStamp", "elapsed"]) {
        Some(Form::JmeterCsv)
    } else if has(&["metric_name", "timestamp", "metric_value"]) {
        Some(Form::K6Csv)
    } else if has(&["response-time", "DNS+dialup"]) {
        Some(Form::HeyCsv)
    } else if has(&["request-start", "request-duration"]) {
        Some(Form::OhaCsv)
    } else if has(&["group", "function", "sample_measured_value", "iteration_count"]) {
        Some(Form::Criterion)
    } else {
        values(&first.fields)
    }
}

/// The form of a table without names.
fn values(fields: &[Cow<'_, str>]) -> Option<Form> {
    let is_number = |place: usize, lengths: std::ops::RangeInclusive<usize>| {
        fields.get(place).is_some_and(|field| {
            lengths.contains(&field.len()) && field.bytes().all(|byte| byte.is_ascii_digit())
        })
    };
    // Times in microseconds since 1970, of 2001 to 2286.
    if (3..=5).contains(&fields.len())
        && is_number(0, 16..=16)
        && (is_number(1, 1..=3) || fields[1] == "-1")
        && is_number(2, 1..=14)
    {
        return Some(Form::H2loadLog);
    }
    // In nanoseconds.
    if fields.len() >= 9 && is_number(0, 19..=19) && is_number(1, 1..=3) && is_number(2, 1..=19) {
        return Some(Form::VegetaCsv);
    }
    let is_start = || is_number(0, 13..=13) || moment(&fields[0]).is_some();
    let is_truth = |text: &str| matches!(text, "true" | "false");
    if matches!(fields.len(), 16 | 17) && is_start() && is_number(1, 1..=14) && is_truth(&fields[7])
    {
        return Some(Form::JmeterCsv);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_those_of_the_outer_object() {
        for (text, expected) in [
            (
                "{\"a\": 1, \"b\": {\"c\": [\"d\", {\"e\": 2}]}, \"f\\\"g\": \"h\"}",
                &["a", "b", "f\\\"g"][..],
            ),
            ("[{\"a\":\"b\"},{\"c\":1}]", &["a"]),
            ("{\"a\": [1, 2, \"x\"], \"b\": \"cut", &["a", "b"]),
            ("{}", &[]),
            ("[]", &[]),
        ] {
            assert_eq!(keys(text), expected, "{text}");
        }
    }

    #[test]
    fn other_contents_are_no_results() {
        for text in [
            "",
            "1\n2\n",
            "a,b\n1,2\n",
            "{\"log\": {\"entries\": []}}",
            "{\"openapi\": \"3.0.0\", \"info\": {}, \"paths\": {}}",
            "{\"info\": {}, \"item\": []}",
            "<?xml version=\"1.0\"?><tsung/>",
            "<jmeterTestPlan version=\"1.2\"/>",
            "127.0.0.1 - - [17/May/2015:10:05:03 +0000] \"GET / HTTP/1.1\" 200 5",
        ] {
            assert!(!is_results(text.as_bytes()), "{text}");
        }
    }
}
