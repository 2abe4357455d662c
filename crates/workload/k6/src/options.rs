//! A script's options: what its export `options` says, and what is given beside it.

use serde_json::{Map, Value, json};

use crate::exchange::Fault;
use crate::network::Network;
use crate::summary::trend_stat;

/// Time that `setup` and `teardown` have where the options say nothing.
const ONCE_NS: u64 = 60_000_000_000;
/// Time that iterations have to end when their scenario's is over.
const GRACEFUL_STOP_NS: u64 = 30_000_000_000;
/// Time that a number of iterations may take.
const MAX_DURATION_NS: u64 = 600_000_000_000;
/// Most users of a scenario.
const VUS_MAX: u64 = 1_000_000;

/// Options that mean something for a run here, or nothing that a run differs by.
const KNOWN: &[&str] = &[
    "vus",
    "duration",
    "iterations",
    "stages",
    "scenarios",
    "thresholds",
    "setupTimeout",
    "teardownTimeout",
    "discardResponseBodies",
    "userAgent",
    "maxRedirects",
    "insecureSkipTLSVerify",
    "throw",
    "tags",
    // What is shown is not what is done.
    "summaryTrendStats",
    "summaryTimeUnit",
    "systemTags",
    "noUsageReport",
    "noSummary",
    "cloud",
    "ext",
    "linger",
    "batch",
    "batchPerHost",
    "noThresholds",
    "discardSummary",
    "noColor",
    "quiet",
    "verbose",
    "setup",
    "teardown",
    "hosts",
    "blockHostnames",
    "dns",
    "rps",
    "noConnectionReuse",
    "noVUConnectionReuse",
    "tlsAuth",
];

/// What the command line says, which wins.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Given {
    pub vus: Option<u64>,
    pub iterations: Option<u64>,
    /// As written: `30s`.
    pub duration: Option<String>,
}

/// The options that hold.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    pub scenarios: Vec<Scenario>,
    /// Conditions by the metrics that they are of, as written.
    pub thresholds: Vec<(String, Vec<Condition>)>,
    pub setup_ns: u64,
    pub teardown_ns: u64,
    pub verifies_tls: bool,
    pub(crate) network: Network,
    /// All of them as JSON, with the scenarios that shortcuts stand for: what `exec.test.options` gives.
    pub consolidated: Value,
}

/// A condition, as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    pub text: String,
    pub aborts: bool,
    /// How long after the start it is first looked at, to abort.
    pub delay_ns: u64,
}

/// Iterations of one function.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    pub name: String,
    /// The exported function.
    pub exec: String,
    pub executor: Executor,
    pub start_ns: u64,
    pub graceful_stop_ns: u64,
}

/// A part of a ramp: it ends at `target` after this time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stage {
    pub duration_ns: u64,
    pub target: f64,
}

/// How iterations begin.
#[derive(Debug, Clone, PartialEq)]
pub enum Executor {
    SharedIterations {
        vus: u64,
        iterations: u64,
        at_most_ns: u64,
    },
    PerVuIterations {
        vus: u64,
        iterations: u64,
        at_most_ns: u64,
    },
    ConstantVus {
        vus: u64,
        duration_ns: u64,
    },
    RampingVus {
        start: u64,
        stages: Vec<Stage>,
    },
    /// Rates are per second.
    ConstantArrivalRate {
        rate: f64,
        duration_ns: u64,
        vus_max: u64,
    },
    RampingArrivalRate {
        start: f64,
        stages: Vec<Stage>,
        vus_max: u64,
    },
}

impl Executor {
    /// Most users of a scenario whose iterations begin at a rate.
    pub fn users_max(&self) -> Option<u64> {
        match self {
            Executor::ConstantArrivalRate { vus_max, .. }
            | Executor::RampingArrivalRate { vus_max, .. } => Some(*vus_max),
            Executor::SharedIterations { .. }
            | Executor::PerVuIterations { .. }
            | Executor::ConstantVus { .. }
            | Executor::RampingVus { .. } => None,
        }
    }
}

/// An error of an option: its key, by which its place is found, and what is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wrong {
    pub(crate) key: String,
    pub(crate) message: String,
}

impl Wrong {
    pub(crate) fn new(key: &str, message: impl Into<String>) -> Wrong {
        Wrong { key: key.to_owned(), message: message.into() }
    }

    /// At the first place where a text has the key.
    pub(crate) fn at(self, file: &str, text: &str) -> Fault {
        let place = word(text, &self.key).map(|at| {
            let line = text[..at].matches('\n').count() + 1;
            let column = text[..at].rfind('\n').map_or(at, |end| at - end - 1) + 1;
            // Texts are shorter than that.
            (line as u32, column as u32)
        });
        Fault { message: self.message, file: Some(file.to_owned()), place, ..Fault::default() }
    }
}

/// Where a word stands first in a text.
fn word(text: &str, word: &str) -> Option<usize> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$');
    let mut found = text.match_indices(word).map(|(at, _)| at);
    found.find(|at| {
        let before = text[..*at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        !word.is_empty() && !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

impl Options {
    /// Reads what a script exports as `options`.
    pub(crate) fn parse(exported: &Value, given: &Given) -> Result<Options, Wrong> {
        let mut options = match exported {
            Value::Object(options) => options.clone(),
            Value::Null => Map::new(),
            other => {
                return Err(Wrong::new("options", format!("`options` is no object but {other}")));
            }
        };
        options.retain(|_, value| !value.is_null());
        for (key, value) in &options {
            if !KNOWN.contains(&key.as_str()) && is_set(value) {
                return Err(Wrong::new(
                    key,
                    format!("the option `{key}` of k6 is not supported here; leave it out"),
                ));
            }
        }
        if options.get("noThresholds") == Some(&true.into()) {
            options.remove("thresholds");
        }
        override_with(&mut options, given);
        if !options.contains_key("scenarios") {
            let scenario = shortcut(&options)?;
            options.insert("scenarios".to_owned(), json!({ "default": scenario }));
        }
        let mut scenarios = Vec::new();
        match &options["scenarios"] {
            Value::Object(all) if !all.is_empty() => {
                for (name, scenario) in all {
                    scenarios.push(Scenario::parse(name, scenario)?);
                }
            }
            other => {
                return Err(Wrong::new(
                    "scenarios",
                    format!("`scenarios` is no object with a scenario but {other}"),
                ));
            }
        }
        check_shown(&options)?;
        let network = Network::take(&mut options)?;
        check_rps(&options)?;
        Ok(Options {
            scenarios,
            thresholds: conditions(options.get("thresholds"))?,
            setup_ns: time(&options, "setupTimeout", ONCE_NS)?,
            teardown_ns: time(&options, "teardownTimeout", ONCE_NS)?,
            verifies_tls: options.get("insecureSkipTLSVerify") != Some(&true.into()),
            network,
            consolidated: Value::Object(options),
        })
    }
}

/// Requests by second.
fn check_rps(options: &Map<String, Value>) -> Result<(), Wrong> {
    match options.get("rps").filter(|rps| !rps.is_null()) {
        Some(rps) if !rps.as_f64().is_some_and(|rps| rps >= 0.0) => {
            Err(Wrong::new("rps", format!("`rps` is a number from 0, found {rps}")))
        }
        _ => Ok(()),
    }
}

/// What the summary shows.
fn check_shown(options: &Map<String, Value>) -> Result<(), Wrong> {
    const STATS: &str = "summaryTrendStats";
    let given = options.get(STATS).filter(|value| !value.is_null());
    let items = given.map_or(Some(&[][..]), |given| given.as_array().map(Vec::as_slice));
    let items =
        items.ok_or_else(|| Wrong::new(STATS, format!("`{STATS}` is a list of figures")))?;
    let wrong = items.iter().find(|item| item.as_str().and_then(trend_stat).is_none());
    match wrong {
        Some(wrong) => Err(Wrong::new(
            STATS,
            format!("`{STATS}` has {wrong}: it lists avg, min, med, max, count and p(N)"),
        )),
        None => Ok(()),
    }
}

/// Whether an option differs from what it is anyway.
fn is_set(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(on) => *on,
        Value::Array(items) => !items.is_empty(),
        Value::Object(entries) => !entries.is_empty(),
        Value::Number(_) | Value::String(_) => true,
    }
}

/// `--vus`, `--iterations` and `--duration` stand for a load of their own, as in k6: what the script says of scenarios and
/// stages is left out.
fn override_with(options: &mut Map<String, Value>, given: &Given) {
    if given.iterations.is_some() || given.duration.is_some() {
        for key in ["scenarios", "stages", "duration", "iterations"] {
            options.remove(key);
        }
    } else if given.vus.is_some() {
        options.remove("scenarios");
    }
    if let Some(vus) = given.vus {
        options.insert("vus".to_owned(), vus.into());
    }
    if let Some(iterations) = given.iterations {
        options.insert("iterations".to_owned(), iterations.into());
    }
    if let Some(duration) = &given.duration {
        options.insert("duration".to_owned(), duration.clone().into());
    }
}

/// The scenario that the options `vus`, `duration`, `iterations` and `stages` stand for.
fn shortcut(options: &Map<String, Value>) -> Result<Value, Wrong> {
    let vus = options.get("vus").cloned().unwrap_or_else(|| 1.into());
    let or = |key: &str, value: &str| options.get(key).cloned().unwrap_or_else(|| value.into());
    if let Some(iterations) = options.get("iterations") {
        return Ok(json!({
            "executor": "shared-iterations", "vus": vus, "iterations": iterations, "maxDuration": or("duration", "10m"),
        }));
    }
    if options.contains_key("duration") && options.contains_key("stages") {
        return Err(Wrong::new("stages", "`duration` and `stages` cannot both be given"));
    }
    if let Some(duration) = options.get("duration") {
        return Ok(json!({ "executor": "constant-vus", "vus": vus, "duration": duration }));
    }
    if let Some(stages) = options.get("stages") {
        return Ok(json!({ "executor": "ramping-vus", "startVUs": vus, "stages": stages }));
    }
    // Without any of them each user runs the function once.
    Ok(json!({ "executor": "per-vu-iterations", "vus": vus, "iterations": 1 }))
}

impl Scenario {
    fn parse(name: &str, value: &Value) -> Result<Scenario, Wrong> {
        let fields = value
            .as_object()
            .ok_or_else(|| Wrong::new(name, format!("the scenario `{name}` is no object")))?;
        let wrong =
            |key: &str, message: String| Wrong::new(key, format!("scenario `{name}`: {message}"));
        let kind = fields.get("executor").and_then(Value::as_str).unwrap_or_default();
        let vus = whole(fields, "vus", 1)?;
        let at_most_ns = time(fields, "maxDuration", MAX_DURATION_NS)?;
        let duration = || match fields.get("duration") {
            Some(_) => time(fields, "duration", 0),
            None => Err(wrong("executor", format!("`{kind}` needs `duration`"))),
        };
        let iterations = whole(fields, "iterations", 1)?;
        let unit_ns = time(fields, "timeUnit", 1_000_000_000)?.max(1);
        let per_s = |count: f64| count * 1e9 / unit_ns as f64;
        let vus_max = || {
            let ready = whole(fields, "preAllocatedVUs", 0)?;
            if ready == 0 && !fields.contains_key("maxVUs") {
                return Err(wrong("executor", format!("`{kind}` needs `preAllocatedVUs`")));
            }
            whole(fields, "maxVUs", ready).map(|most| most.max(ready))
        };
        let executor = match kind {
            "shared-iterations" => {
                if iterations < vus {
                    return Err(wrong(
                        "iterations",
                        format!(
                            "the number of iterations ({iterations}) is less than that of `vus` ({vus})"
                        ),
                    ));
                }
                Executor::SharedIterations { vus, iterations, at_most_ns }
            }
            "per-vu-iterations" => Executor::PerVuIterations { vus, iterations, at_most_ns },
            "constant-vus" => Executor::ConstantVus { vus, duration_ns: duration()? },
            "ramping-vus" => Executor::RampingVus {
                start: whole(fields, "startVUs", 1)?,
                stages: stages(name, fields)?,
            },
            "constant-arrival-rate" => Executor::ConstantArrivalRate {
                rate: per_s(number(fields, "rate")?),
                duration_ns: duration()?,
                vus_max: vus_max()?,
            },
            "ramping-arrival-rate" => Executor::RampingArrivalRate {
                start: per_s(whole(fields, "startRate", 0)? as f64),
                stages: stages(name, fields)?
                    .into_iter()
                    .map(|stage| Stage { target: per_s(stage.target), ..stage })
                    .collect(),
                vus_max: vus_max()?,
            },
            // Nobody controls it: it stays as it begins.
            "externally-controlled" => Executor::ConstantVus { vus, duration_ns: duration()? },
            "" => return Err(wrong(name, "it has no `executor`".to_owned())),
            other => {
                return Err(wrong(
                    "executor",
                    format!(
                        "there is no executor `{other}`: it is shared-iterations, per-vu-iterations, constant-vus, ramping-vus, constant-arrival-rate, ramping-arrival-rate or externally-controlled"
                    ),
                ));
            }
        };
        Ok(Scenario {
            name: name.to_owned(),
            exec: fields.get("exec").and_then(Value::as_str).unwrap_or("default").to_owned(),
            executor,
            start_ns: time(fields, "startTime", 0)?,
            graceful_stop_ns: time(fields, "gracefulStop", GRACEFUL_STOP_NS)?,
        })
    }
}

fn stages(name: &str, fields: &Map<String, Value>) -> Result<Vec<Stage>, Wrong> {
    let items = fields.get("stages").and_then(Value::as_array);
    let items =
        items.ok_or_else(|| Wrong::new("executor", format!("scenario `{name}` needs `stages`")))?;
    items
        .iter()
        .map(|item| {
            let fields = item.as_object().ok_or_else(|| {
                Wrong::new("stages", "a stage is an object with `duration` and `target`")
            })?;
            Ok(Stage {
                duration_ns: time(fields, "duration", 0)?,
                target: whole(fields, "target", 0)? as f64,
            })
        })
        .collect()
}

/// The conditions by metric.
pub(crate) fn conditions(value: Option<&Value>) -> Result<Vec<(String, Vec<Condition>)>, Wrong> {
    let Some(value) = value else {
        return Ok(Vec::new());
    };
    let all = value
        .as_object()
        .ok_or_else(|| Wrong::new("thresholds", "`thresholds` is an object of metrics"))?;
    let mut found = Vec::new();
    for (metric, conditions) in all {
        let items = match conditions {
            Value::Array(items) => items.as_slice(),
            single => std::slice::from_ref(single),
        };
        let mut of_metric = Vec::new();
        for item in items {
            let key = metric.split('{').next().unwrap_or(metric);
            of_metric.push(match item {
                Value::String(text) => Condition { text: text.clone(), aborts: false, delay_ns: 0 },
                Value::Object(fields) => Condition {
                    text: fields
                        .get("threshold")
                        .and_then(Value::as_str)
                        .ok_or_else(|| {
                            Wrong::new(key, format!("a threshold of `{metric}` has no `threshold`"))
                        })?
                        .to_owned(),
                    aborts: fields.get("abortOnFail") == Some(&true.into()),
                    delay_ns: time(fields, "delayAbortEval", 0)?,
                },
                other => {
                    return Err(Wrong::new(
                        key,
                        format!("a threshold of `{metric}` is a text, found {other}"),
                    ));
                }
            });
        }
        found.push((metric.clone(), of_metric));
    }
    Ok(found)
}

/// A whole number from 0.
fn whole(fields: &Map<String, Value>, key: &str, default: u64) -> Result<u64, Wrong> {
    let Some(value) = fields.get(key).filter(|value| !value.is_null()) else {
        return Ok(default);
    };
    let number = value.as_u64().or_else(|| {
        let number = value.as_f64()?;
        (number >= 0.0 && number.fract() == 0.0 && number < 1e15).then_some(number as u64)
    });
    match number {
        Some(number) if number <= VUS_MAX || key == "iterations" => Ok(number),
        Some(_) => {
            Err(Wrong::new(key, format!("`{key}` is {value}: more than {VUS_MAX} is not possible")))
        }
        None => Err(Wrong::new(key, format!("`{key}` is a whole number, found {value}"))),
    }
}

fn number(fields: &Map<String, Value>, key: &str) -> Result<f64, Wrong> {
    let value = fields.get(key).and_then(Value::as_f64).filter(|value| *value > 0.0);
    value.ok_or_else(|| Wrong::new(key, format!("`{key}` has to be a number above 0")))
}

/// A time: milliseconds, or a text like `1m30s`.
fn time(fields: &Map<String, Value>, key: &str, default_ns: u64) -> Result<u64, Wrong> {
    let wrong = |value: &Value| {
        Wrong::new(key, format!("`{key}` is a duration like \"30s\" or \"1m30s\", found {value}"))
    };
    match fields.get(key) {
        None | Some(Value::Null) => Ok(default_ns),
        Some(value @ Value::Number(ms)) => {
            let ms = ms.as_f64().filter(|ms| *ms >= 0.0).ok_or_else(|| wrong(value))?;
            Ok((ms * 1e6) as u64)
        }
        Some(value @ Value::String(text)) => duration_ns(text).ok_or_else(|| wrong(value)),
        Some(other) => Err(wrong(other)),
    }
}

/// The nanoseconds of a duration as k6 writes it: Go's, with days as well.
pub(crate) fn duration_ns(text: &str) -> Option<u64> {
    const UNITS: &[(&str, f64)] = &[
        ("ms", 1e6),
        ("us", 1e3),
        ("µs", 1e3),
        ("ns", 1.0),
        ("s", 1e9),
        ("m", 6e10),
        ("h", 3.6e12),
        ("d", 8.64e13),
    ];
    let mut rest = text.trim();
    if let Ok(ms) = rest.parse::<f64>() {
        return (ms >= 0.0).then_some((ms * 1e6) as u64);
    }
    let mut total = 0.0;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let count: f64 = rest[..end].parse().ok()?;
        rest = &rest[end..];
        let (unit, ns) = UNITS.iter().find(|(unit, _)| rest.starts_with(unit))?;
        total += count * ns;
        rest = &rest[unit.len()..];
    }
    (!text.trim().is_empty() && total < u64::MAX as f64).then_some(total as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(options: &Value) -> Result<Options, Wrong> {
        Options::parse(options, &Given::default())
    }

    fn executor(options: &Value) -> Executor {
        parse(options).unwrap().scenarios.remove(0).executor
    }

    #[test]
    fn shortcuts_stand_for_scenarios() {
        let second = 1_000_000_000;
        let once = Executor::PerVuIterations { vus: 1, iterations: 1, at_most_ns: 600 * second };
        assert_eq!(executor(&json!({})), once);
        let constant = Executor::ConstantVus { vus: 10, duration_ns: 90 * second };
        assert_eq!(executor(&json!({"vus": 10, "duration": "1m30s"})), constant);
        let shared = Executor::SharedIterations { vus: 2, iterations: 8, at_most_ns: 5 * second };
        assert_eq!(executor(&json!({"vus": 2, "iterations": 8, "duration": "5s"})), shared);
        let stages = vec![Stage { duration_ns: second / 2, target: 3.0 }];
        let ramping = Executor::RampingVus { start: 1, stages };
        assert_eq!(executor(&json!({"stages": [{"duration": "500ms", "target": 3}]})), ramping);
    }

    #[test]
    fn rates_are_per_second() {
        let scenario = json!({"executor": "constant-arrival-rate", "rate": 30, "timeUnit": "1m", "duration": "1m",
            "preAllocatedVUs": 5, "maxVUs": 9});
        let expected =
            Executor::ConstantArrivalRate { rate: 0.5, duration_ns: 60_000_000_000, vus_max: 9 };
        assert_eq!(executor(&json!({"scenarios": {"s": scenario}})), expected);
    }

    #[test]
    fn what_the_command_line_gives_wins() {
        let options =
            json!({"scenarios": {"s": {"executor": "constant-vus", "vus": 9, "duration": "1h"}}});
        let given = Given { vus: Some(2), iterations: Some(4), duration: None };
        let options = Options::parse(&options, &given).unwrap();
        let expected =
            Executor::SharedIterations { vus: 2, iterations: 4, at_most_ns: MAX_DURATION_NS };
        assert_eq!(options.scenarios[0].executor, expected);
        assert_eq!(options.scenarios[0].name, "default");
    }

    #[test]
    fn wrong_options_name_their_key() {
        for (options, key) in [
            (json!({"rps": "fast"}), "rps"),
            (json!({"blacklistIPs": ["10.0.0.0/8"]}), "blacklistIPs"),
            (json!({"vus": -1}), "vus"),
            (json!({"duration": "soon"}), "duration"),
            (json!({"scenarios": {"s": {"executor": "fast"}}}), "executor"),
            (json!({"scenarios": {}}), "scenarios"),
            (json!({"summaryTrendStats": ["avg", "p95"]}), "summaryTrendStats"),
            (json!({"summaryTrendStats": "avg"}), "summaryTrendStats"),
            (json!({"thresholds": {"checks": [5]}}), "checks"),
        ] {
            assert_eq!(parse(&options).unwrap_err().key, key, "{options}");
        }
        // What is off changes nothing.
        assert!(parse(&json!({"noConnectionReuse": false, "hosts": {}})).is_ok());
        let fault = Wrong::new("rps", "x").at("a.js", "const rpsx = 1;\n  rps: 5");
        assert_eq!(fault.place, Some((2, 3)));
    }

    #[test]
    fn durations_are_those_of_go() {
        for (text, expected) in [
            ("1h2m3.5s", Some(3_723_500_000_000)),
            ("250", Some(250_000_000)),
            ("1d", Some(86_400_000_000_000)),
            ("", None),
            ("5 minutes", None),
        ] {
            assert_eq!(duration_ns(text), expected, "{text}");
        }
    }
}
