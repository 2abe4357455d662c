//! The scenario of a script: its options in Throng's words.

use std::fmt::Write as _;

use plan::K6File;
use serde_json::Value;

use crate::exchange::Fault;
use crate::load::time;
use crate::names::names;
use crate::network::Connections;
use crate::options::{Given, Options, Wrong};
use crate::thresholds::{BUILT_IN, begins_below, condition, part};

/// Most connections of HTTP/1.1 that a user may have to one endpoint.
const CONNECTIONS_MAX: u64 = 64;
/// The target of a script that makes no requests.
const NOBODY: &str = "http://127.0.0.1:1";
/// The variable with what `setup` returned.
const DATA: &str = "k6_data";

/// Kinds of metrics, as k6 calls them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricKind {
    Counter,
    Gauge,
    Rate,
    Trend,
}

impl MetricKind {
    /// As scenarios call it.
    fn word(self) -> &'static str {
        match self {
            MetricKind::Counter => "counter",
            MetricKind::Gauge => "gauge",
            MetricKind::Rate => "share",
            MetricKind::Trend => "quantity",
        }
    }
}

/// A metric of a script's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declared {
    pub name: String,
    pub kind: MetricKind,
    /// Its numbers are milliseconds.
    pub is_time: bool,
}

/// A script that was evaluated once.
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    /// The script and what it imports and opens.
    pub files: Vec<K6File>,
    /// The functions that it exports.
    pub functions: Vec<String>,
    /// What it exports as `options`.
    pub options: Value,
    pub metrics: Vec<Declared>,
}

/// A variable of `__ENV`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    pub name: String,
    pub value: String,
    /// It is one of the environment, and not given for the script.
    pub is_inherited: bool,
}

/// Writes the scenario that a script stands for. `env`: `__ENV`, of which those are left out that are inherited and that the
/// script's texts do not name.
///
/// # Errors
/// If an option is wrong, or is not supported here; if the script lacks a function, or names no host.
pub fn scenario(script: &Script, given: &Given, env: &[Variable]) -> Result<String, Fault> {
    let Some(main) = script.files.first() else {
        return Err(Fault::new("there is no script"));
    };
    let main_text = String::from_utf8_lossy(&main.bytes);
    let at = |wrong: Wrong| wrong.at(&main.name, &main_text);
    let options = Options::parse(&script.options, given).map_err(at)?;
    let wrong = |key: &str, message: String| at(Wrong { key: key.to_owned(), message });
    for scenario in &options.scenarios {
        if !script.functions.contains(&scenario.exec) {
            let message = format!(
                "the scenario `{}` runs the function `{}`, which the script does not export",
                scenario.name, scenario.exec
            );
            return Err(wrong("exec", message));
        }
    }
    let texts: Vec<_> =
        script.files.iter().map(|file| String::from_utf8_lossy(&file.bytes)).collect();
    let mut found = names(texts.iter().map(AsRef::as_ref));
    let is_meant = |variable: &&Variable| {
        !variable.is_inherited || texts.iter().any(|text| names_variable(text, &variable.name))
    };
    let env: Vec<&Variable> = env.iter().filter(is_meant).collect();
    for variable in &env {
        found.add_origins_of(&variable.value);
    }
    found.origins.retain(|origin| !options.network.blocks(origin));
    if found.origins.is_empty() && !texts.iter().any(|text| makes_requests(text)) {
        found.origins.push(NOBODY.to_owned());
    }
    let tls = options.network.tls(&script.files, &found.origins).map_err(at)?;
    let Some((target, others)) = found.origins.split_first() else {
        return Err(Fault {
            message: "the script names no host: hosts are known before a run, from the URLs in the script's texts and in values of `-e`".to_owned(),
            file: Some(main.name.clone()),
            place: None,
            ..Fault::default()
        });
    };

    let mut out = String::new();
    line(&mut out, &format!("# The k6 script {}, as a scenario.", main.name));
    let stem = main.name.rsplit('/').next().unwrap_or(&main.name);
    line(&mut out, &format!("name: {}", quoted(stem.split('.').next().unwrap_or(stem))));
    line(&mut out, &format!("target: {}", quoted(&format!("{target}/"))));
    k6(&mut out, script, &options, &env);
    let is_async = texts.iter().any(|text| text.contains("asyncRequest"));
    run_options(&mut out, &options, others, is_async, tls);
    let metrics = metrics(script, &options).map_err(|(key, message)| wrong(&key, message))?;
    line(&mut out, "metrics:");
    for Metric { name, kind, unit } in &metrics {
        let unit = if unit.is_empty() { String::new() } else { format!(", unit: {unit}") };
        line(&mut out, &format!("  {}: {{ kind: {}{unit} }}", quoted(name), kind.word()));
    }
    let has = |name: &str| script.functions.iter().any(|function| function == name);
    let data = if has("setup") { format!(", data: {DATA}") } else { String::new() };
    if has("setup") {
        once(&mut out, "setup", options.setup_ns, &format!("{{ k6: setup, result: {DATA} }}"));
    }
    line(&mut out, "sessions:");
    for scenario in &options.scenarios {
        let name = quoted(&scenario.name);
        let exec = quoted(&scenario.exec);
        line(&mut out, &format!("  {name}: [ {{ k6: {exec}, scenario: {name}{data} }} ]"));
    }
    load(&mut out, &options);
    if has("teardown") {
        once(&mut out, "teardown", options.teardown_ns, &format!("{{ k6: teardown{data} }}"));
    }
    thresholds(&mut out, &options, &metrics).map_err(|(key, message)| wrong(&key, message))?;
    Ok(out)
}

fn line(out: &mut String, text: &str) {
    out.push_str(text);
    out.push('\n');
}

/// Whether a script's text imports what makes requests.
fn makes_requests(text: &str) -> bool {
    ["k6/http", "k6/ws", "k6/websockets", "k6/net/"].iter().any(|module| text.contains(module))
}

/// Whether a script's text reads this variable.
fn names_variable(text: &str, name: &str) -> bool {
    text.match_indices("__ENV").any(|(at, word)| {
        let rest = text[at + word.len()..].trim_start_matches(['?', '.', '[', '"', '\'', '`']);
        let after = rest.strip_prefix(name).and_then(|rest| rest.chars().next().or(Some(' ')));
        after.is_some_and(|c| !c.is_alphanumeric() && c != '_')
    })
}

/// Whether a script's text calls a function of k6, or imports it by another name.
fn calls(text: &str, function: &str) -> bool {
    text.match_indices(function).any(|(at, word)| {
        let rest = text[at + word.len()..].trim_start();
        rest.starts_with('(') || rest.starts_with("as ")
    })
}

/// Whether a script's text imports one of the modules for WebSockets.
pub fn has_sockets(text: &str) -> bool {
    ["\"", "'"].iter().any(|quote| {
        let modules = ["k6/ws", "k6/websockets", "k6/experimental/websockets"];
        modules.iter().any(|module| text.contains(&format!("{quote}{module}{quote}")))
    })
}

/// A text as JSON, which is YAML as well.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

fn k6(out: &mut String, script: &Script, options: &Options, env: &[&Variable]) {
    line(out, "k6:");
    let files: Vec<String> = script.files.iter().map(|file| quoted(&file.name)).collect();
    line(out, &format!("  files: [ {} ]", files.join(", ")));
    if !env.is_empty() {
        line(out, "  env:");
        for Variable { name, value, is_inherited } in env {
            let value = match is_inherited {
                true => quoted(&format!("${{env('{name}')}}")),
                false => quoted(value),
            };
            line(out, &format!("    {}: {value}", quoted(name)));
        }
    }
    line(out, &format!("  options: {}", quoted(&options.consolidated.to_string())));
}

fn run_options(
    out: &mut String,
    options: &Options,
    hosts: &[String],
    is_async: bool,
    mut tls: Vec<String>,
) {
    line(out, "options:");
    let drain_ns = options.scenarios.iter().map(|scenario| scenario.graceful_stop_ns).max();
    line(out, &format!("  drain: {}", time(drain_ns.unwrap_or(0))));
    // A connection of HTTP/2 has many requests.
    let http = if options.network.connections == Connections::Request { "1.1" } else { "auto" };
    line(out, &format!("  http: {http}"));
    for text in options.network.lines() {
        line(out, &format!("  {text}"));
    }
    // Users whose iterations begin at a rate are others each time; those of k6 keep their connections.
    if options.network.connections == Connections::Kept
        && options.scenarios.iter().any(|scenario| scenario.executor.users_max().is_some())
    {
        line(out, "  http_connections: shared");
    }
    let of_host = options.consolidated["batchPerHost"].as_u64();
    // Only the requests of a batch are limited, and a script keeps to that by itself.
    let is_unlimited = is_async || of_host == Some(0);
    let count = if is_unlimited { Some(CONNECTIONS_MAX) } else { of_host };
    if let Some(count) = count.map(|count| count.min(CONNECTIONS_MAX)) {
        line(out, &format!("  connections_max: {count}"));
    }
    if !options.verifies_tls {
        tls.push("verify: false".to_owned());
    }
    if !tls.is_empty() {
        line(out, &format!("  tls: {{ {} }}", tls.join(", ")));
    }
    if !hosts.is_empty() {
        let hosts: Vec<String> = hosts.iter().map(|host| quoted(host)).collect();
        line(out, &format!("  redirect_hosts: [ {} ]", hosts.join(", ")));
    }
}

fn once(out: &mut String, name: &str, limit_ns: u64, step: &str) {
    line(out, &format!("{name}: {{ time_limit: {}, steps: [ {step} ] }}", time(limit_ns)));
}

fn load(out: &mut String, options: &Options) {
    let list = |phases: Vec<String>, indent: &str| {
        phases.iter().fold(String::new(), |mut text, phase| {
            let _ = writeln!(text, "{indent}- {phase}");
            text
        })
    };
    if let [scenario] = &options.scenarios[..] {
        line(out, "arrivals:");
        out.push_str(&list(scenario.arrivals(), "  "));
        return;
    }
    line(out, "populations:");
    for scenario in &options.scenarios {
        let name = quoted(&scenario.name);
        line(out, &format!("  {name}:\n    session: {name}\n    arrivals:"));
        out.push_str(&list(scenario.arrivals(), "      "));
    }
}

/// A metric that is declared.
struct Metric {
    name: String,
    kind: MetricKind,
    unit: &'static str,
}

/// An error about a threshold: the name of its metric, and what is wrong.
type Error = (String, String);

/// The metrics of a script: k6's, its own, and the parts that thresholds are of.
fn metrics(script: &Script, options: &Options) -> Result<Vec<Metric>, Error> {
    let at_rate = options.scenarios.iter().any(|s| s.executor.users_max().is_some());
    let texts = script.files.iter().map(|file| String::from_utf8_lossy(&file.bytes));
    let texts: Vec<_> = texts.collect();
    let calls = |function: &str| texts.iter().any(|text| calls(text, function));
    let is_asked = |name: &str| options.thresholds.iter().any(|(of, _)| of.starts_with(name));
    let has_sockets = texts.iter().any(|text| has_sockets(text));
    // Those that a script can have nothing of are left out.
    let built_in = BUILT_IN.iter().filter(|(name, ..)| match *name {
        "dropped_iterations" => at_rate,
        "checks" => calls("check") || is_asked(name),
        "group_duration" => calls("group") || is_asked(name),
        name if name.starts_with("ws_") => has_sockets || is_asked(name),
        _ => true,
    });
    let mut metrics: Vec<Metric> =
        built_in.map(|&(name, kind, unit)| Metric { name: name.to_owned(), kind, unit }).collect();
    for declared in &script.metrics {
        let Declared { name, kind, is_time } = declared;
        match metrics.iter().find(|metric| metric.name == *name) {
            Some(known) if known.kind == *kind => {}
            Some(_) => {
                return Err((
                    name.clone(),
                    format!("the metric '{name}' already exists but with another type"),
                ));
            }
            None => {
                let unit = if *is_time { "ms" } else { "" };
                metrics.push(Metric { name: name.clone(), kind: *kind, unit });
            }
        }
    }
    for (written, _) in &options.thresholds {
        let base = written.split('{').next().unwrap_or(written).trim().to_owned();
        let found = part(written).map_err(|message| (base.clone(), message))?;
        let whole = metrics.iter().find(|metric| metric.name == found.base);
        let Some(&Metric { kind, unit, .. }) = whole else {
            let message = format!("the threshold is of `{base}`, and there is no such metric");
            return Err((base, message));
        };
        if !metrics.iter().any(|metric| metric.name == *written) {
            metrics.push(Metric { name: written.clone(), kind, unit });
        }
    }
    Ok(metrics)
}

fn thresholds(out: &mut String, options: &Options, metrics: &[Metric]) -> Result<(), Error> {
    let mut lines = Vec::new();
    for (written, conditions) in &options.thresholds {
        let base = written.split('{').next().unwrap_or(written).trim();
        let found = metrics.iter().find(|metric| metric.name == *written);
        let kind = found.map_or(MetricKind::Trend, |metric| metric.kind);
        for one in conditions {
            let text = condition(written, kind, &one.text);
            let text = quoted_plain(&text.map_err(|message| (base.to_owned(), message))?);
            if !one.aborts {
                lines.push(text);
                continue;
            }
            if begins_below(kind, &one.text) {
                let message = format!(
                    "`{}` of `{written}` does not hold before the run has begun: with `abortOnFail` it would end the run at once",
                    one.text
                );
                return Err(("abortOnFail".to_owned(), message));
            }
            let after = match one.delay_ns {
                0 => String::new(),
                ns => format!(", after: {}", time(ns)),
            };
            lines.push(format!("{{ abort: {text}{after} }}"));
        }
    }
    if !lines.is_empty() {
        line(out, "thresholds:");
        for text in lines {
            line(out, &format!("  - {text}"));
        }
    }
    Ok(())
}

/// A text in single quotes, in which double quotes stand as they are.
fn quoted_plain(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(text: &str, options: Value, functions: &[&str]) -> Script {
        Script {
            files: vec![K6File { name: "load.js".to_owned(), bytes: text.as_bytes().into() }],
            functions: functions.iter().map(|&name| name.to_owned()).collect(),
            options,
            metrics: Vec::new(),
        }
    }

    #[test]
    fn options_become_a_scenario() {
        let text = "import http from 'k6/http';\nexport default () => http.get(__ENV.BASE + '/x');";
        let options = serde_json::json!({
            "scenarios": {
                "a": { "executor": "constant-vus", "vus": 2, "duration": "5s", "gracefulStop": "0s" },
                "b": { "executor": "constant-arrival-rate", "rate": 3, "duration": "4s", "startTime": "1s",
                    "preAllocatedVUs": 1, "exec": "other" },
            },
            "thresholds": {
                "http_req_duration{scenario:a}": ["p(95)<500", "avg<200"],
                "http_req_failed": [{ "threshold": "rate<0.1", "abortOnFail": true, "delayAbortEval": "1m10s" }],
                "http_reqs": [{ "threshold": "count<9", "abortOnFail": true }],
            },
        });
        let variable = |name: &str, value: &str, is_inherited| Variable {
            name: name.to_owned(),
            value: value.to_owned(),
            is_inherited,
        };
        let env = [
            variable("BASE", "http://127.0.0.1:8080", true),
            variable("HOME", "/root", true),
            variable("X", "1", false),
        ];
        let script = script(text, options, &["default", "other", "setup"]);
        let found = scenario(&script, &Given::default(), &env).unwrap();
        for line in [
            "target: \"http://127.0.0.1:8080/\"",
            "    \"BASE\": \"${env('BASE')}\"",
            "    \"X\": \"1\"",
            "  drain: 30s",
            "  http_connections: shared",
            "setup: { time_limit: 60s, steps: [ { k6: setup, result: k6_data } ] }",
            "  \"b\": [ { k6: \"other\", scenario: \"b\", data: k6_data } ]",
            "      - { users: 2, for: 5s }",
            "      - { hold: 1s }",
            "      - { constant: 3/s, for: 4s }",
            "  - 'p95(\"http_req_duration{scenario:a}\") < 500'",
            "  - { abort: 'share(\"http_req_failed\") < 10%', after: 70s }",
            "  - { abort: 'sum(\"http_reqs\") < 9' }",
            "  \"http_req_duration{scenario:a}\": { kind: quantity, unit: ms }",
        ] {
            assert!(found.lines().any(|found| found == line), "{line}\nis not in\n{found}");
        }
        assert!(!found.contains("HOME"), "{found}");
        assert!(!found.contains("\"checks\"") && !found.contains("\"group_duration\""), "{found}");
        assert!(calls("check (r, {})", "check") && calls("import { check as ok }", "check"));
        assert!(!calls("import { check } from 'k6';", "check"));
    }

    #[test]
    fn what_is_missing_is_one_error_with_its_line() {
        let text = "const URL = 'http://a.test/';\nexport const options = {\n  thresholds: { checkz: ['rate>0.9'] },\n};";
        let fails = |options: Value, functions: &[&str]| {
            scenario(&script(text, options, functions), &Given::default(), &[]).unwrap_err()
        };
        let wrong = serde_json::json!({ "thresholds": { "checkz": ["rate>0.9"] } });
        let fault = fails(wrong, &["default"]);
        assert!(fault.message.contains("no such metric"), "{fault}");
        assert_eq!((fault.file.as_deref(), fault.place), (Some("load.js"), Some((3, 17))));
        let wrong = serde_json::json!({ "thresholds": {
            "http_reqs": [{ "threshold": "count>5", "abortOnFail": true }] } });
        assert!(fails(wrong, &["default"]).message.contains("end the run at once"));
        assert!(fails(Value::Null, &[]).message.contains("does not export"));
        // Who makes no requests needs no host.
        let alone = script("export default () => {};", Value::Null, &["default"]);
        assert!(scenario(&alone, &Given::default(), &[]).is_ok());
        let text = "import http from 'k6/http'; export default () => {};";
        let none = script(text, Value::Null, &["default"]);
        let fault = scenario(&none, &Given::default(), &[]).unwrap_err();
        assert!(fault.message.contains("names no host"), "{fault}");
    }
}
