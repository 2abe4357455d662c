//! How users arrive: stages and executors of k6, phases of Artillery, numbers of users.

use units::parse;

use crate::document::node::{Entry, Node};
use crate::keys::{DOCUMENT, OPTIONS, SESSION, Table};

/// Most phases that a hint shows.
const PHASES_MAX: usize = 12;

/// The line that a key of another tool stands for, if that can be read from its value and from what stands beside it.
pub(in crate::check) fn line_meant(
    table: &'static Table,
    entry: &Entry,
    beside: &[Entry],
) -> Option<String> {
    let is_document = std::ptr::eq(table, &DOCUMENT);
    if !is_document && !std::ptr::eq(table, &OPTIONS) && !std::ptr::eq(table, &SESSION) {
        return None;
    }
    if is_document && entry.key == "config" {
        return config_meant(&entry.value);
    }
    let arrivals = arrivals_meant(entry, beside)?;
    let place = if is_document { "" } else { " at the top level" };
    let steps = match entry.key.as_str() {
        "scenarios" => ", and the steps into `sessions: { visitor: [ { get: / } ] }`",
        _ => "",
    };
    Some(format!("write `{arrivals}`{place}{steps}"))
}

/// Whether entries of the top level, or of a mapping among them, say in words of another tool what `key` says here.
pub(in crate::check) fn means_key(key: &str, entries: &[Entry]) -> bool {
    let loads =
        |entries: &[Entry]| entries.iter().any(|one| arrivals_meant(one, entries).is_some());
    let within = |name: &str| {
        let found = entries.iter().find(|entry| entry.key == name)?;
        found.value.mapping()
    };
    match key {
        "arrivals" => {
            let inner = ["options", "config"].into_iter().filter_map(within);
            loads(entries) || inner.into_iter().any(loads)
        }
        "target" => within("config").is_some_and(|inner| inner.iter().any(|e| e.key == "target")),
        _ => false,
    }
}

/// `config` of Artillery.
fn config_meant(node: &Node) -> Option<String> {
    let entries = node.mapping()?;
    let target = entries.iter().find(|entry| entry.key == "target");
    let target = target.and_then(|entry| entry.value.text());
    let target = target.map(|url| format!("`target: {url}`"));
    let arrivals = entries.iter().find_map(|entry| arrivals_meant(entry, entries));
    let arrivals = arrivals.map(|line| format!("`{line}`"));
    let lines: Vec<String> = target.into_iter().chain(arrivals).collect();
    (!lines.is_empty()).then(|| format!("write {} at the top level", lines.join(" and ")))
}

fn arrivals_meant(entry: &Entry, beside: &[Entry]) -> Option<String> {
    let value = &entry.value;
    if let Some(several) = populations_meant(entry) {
        return Some(several);
    }
    let phases = match plain(&entry.key).as_str() {
        "stages" => stages(value.sequence()?, 0, users)?,
        "phases" => value.sequence()?.iter().map(phase_meant).collect::<Option<Vec<_>>>()?,
        "scenarios" => match value.mapping()? {
            [one] => executor(&one.value)?,
            _ => return None,
        },
        "vus" | "users" | "usercount" | "concurrency" | "threads" => {
            let count = count_of(value)?;
            vec![users(count, count, &length_beside(beside)?)]
        }
        "arrivalrate" | "rate" => {
            let rate = count_of(value)?;
            vec![rates(rate, rate, "s", &length_beside(beside)?)]
        }
        _ => return None,
    };
    let shown = (1..=PHASES_MAX).contains(&phases.len());
    shown.then(|| format!("arrivals: [ {} ]", phases.join(", ")))
}

/// Several scenarios of k6, which go on at the same time.
fn populations_meant(entry: &Entry) -> Option<String> {
    let scenarios = entry.value.mapping().filter(|_| entry.key == "scenarios")?;
    let is_shown = (2..=PHASES_MAX).contains(&scenarios.len());
    let populations = scenarios.iter().filter(|_| is_shown).map(|scenario| {
        let value = &scenario.value;
        let start = value.get("startTime").map_or(Some("0s".to_owned()), length)?;
        let is_late = parse::duration(&start).ok()? > 0.0;
        let hold = is_late.then(|| format!("{{ hold: {start} }}"));
        let phases: Vec<String> = hold.into_iter().chain(executor(value)?).collect();
        let session = value.get("exec").and_then(Node::text);
        let session = session.map_or_else(String::new, |name| format!("session: {name}, "));
        Some(format!("{}: {{ {session}arrivals: [ {} ] }}", scenario.key, phases.join(", ")))
    });
    let populations: Vec<String> = populations.collect::<Option<_>>()?;
    is_shown.then(|| format!("populations: {{ {} }}", populations.join(", ")))
}

/// A key as other tools spell it.
pub(super) fn plain(key: &str) -> String {
    key.to_ascii_lowercase().replace(['_', '-'], "")
}

/// The `duration` among the entries.
fn length_beside(entries: &[Entry]) -> Option<String> {
    let is_length = |entry: &&Entry| {
        ["duration", "for", "runtime", "time", "maxduration"].contains(&plain(&entry.key).as_str())
    };
    length(&entries.iter().find(is_length)?.value)
}

/// A phase of Artillery, or a stage of k6 that is the first.
pub(in crate::check) fn phase_meant(item: &Node) -> Option<String> {
    if let Some(pause) = item.get("pause") {
        return Some(format!("{{ hold: {} }}", length(pause)?));
    }
    if item.get("target").is_some() {
        return stages(std::slice::from_ref(item), 0, users)?.pop();
    }
    if let Some(phase) = injection(item) {
        return Some(phase);
    }
    let length = length(item.get("duration")?)?;
    if let Some(count) = item.get("vus") {
        let count = count_of(count)?;
        return Some(users(count, count, &length));
    }
    let rate = item.get("arrivalRate").or_else(|| item.get("rate"))?;
    let from = count_of(rate)?;
    let to = item.get("rampTo").map_or(Some(from), count_of)?;
    Some(rates(from, to, "s", &length))
}

/// A step of an injection profile of Gatling.
fn injection(item: &Node) -> Option<String> {
    let count = |key: &str| item.get(key).and_then(count_of);
    if let Some(pause) = item.get("nothingFor") {
        return Some(format!("{{ hold: {} }}", length(pause)?));
    }
    let lengths = ["during", "duration", "for"].into_iter();
    let length = length(lengths.filter_map(|key| item.get(key)).next()?)?;
    if let Some(from) = count("rampUsersPerSec") {
        return Some(rates(from, count("to")?, "s", &length));
    }
    if let Some(rate) = count("constantUsersPerSec") {
        return Some(rates(rate, rate, "s", &length));
    }
    if let Some(from) = count("rampConcurrentUsers") {
        return Some(users(from, count("to")?, &length));
    }
    let present = count("constantConcurrentUsers")?;
    Some(users(present, present, &length))
}

/// A scenario of k6 by its executor.
fn executor(node: &Node) -> Option<Vec<String>> {
    let count = |key: &str| node.get(key).and_then(count_of);
    let length = || length(node.get("duration")?);
    let unit = match node.get("timeUnit").and_then(Node::text) {
        None | Some("1s") => "s",
        Some("1m") => "min",
        Some("1h") => "h",
        Some(_) => return None,
    };
    match node.get("executor")?.text()? {
        "constant-vus" => {
            let count = count("vus").unwrap_or(1);
            Some(vec![users(count, count, &length()?)])
        }
        "ramping-vus" => {
            let from = count("startVUs").unwrap_or(1);
            stages(node.get("stages")?.sequence()?, from, users)
        }
        "constant-arrival-rate" => {
            let rate = count("rate")?;
            Some(vec![rates(rate, rate, unit, &length()?)])
        }
        "ramping-arrival-rate" => {
            let from = count("startRate").unwrap_or(0);
            let phase = |from, to, length: &str| rates(from, to, unit, length);
            stages(node.get("stages")?.sequence()?, from, phase)
        }
        _ => None,
    }
}

/// `{ duration: 30s, target: 20 }`, …; one that takes no time only changes the value.
fn stages(
    items: &[Node],
    mut from: u64,
    phase: impl Fn(u64, u64, &str) -> String,
) -> Option<Vec<String>> {
    let mut phases = Vec::new();
    for item in items {
        let to = count_of(item.get("target")?)?;
        let length = length(item.get("duration")?)?;
        if parse::duration(&length).ok()? > 0.0 {
            phases.push(phase(from, to, &length));
        }
        from = to;
    }
    Some(phases)
}

fn users(from: u64, to: u64, length: &str) -> String {
    match (from, to) {
        (0, 0) => format!("{{ hold: {length} }}"),
        _ if from == to => format!("{{ users: {to}, for: {length} }}"),
        _ => format!("{{ users: {from}..{to}, for: {length} }}"),
    }
}

fn rates(from: u64, to: u64, unit: &str, length: &str) -> String {
    match (from, to) {
        (0, 0) => format!("{{ hold: {length} }}"),
        _ if from == to => format!("{{ constant: {to}/{unit}, for: {length} }}"),
        _ => format!("{{ ramp: {from}/{unit}..{to}/{unit}, for: {length} }}"),
    }
}

pub(super) fn count_of(node: &Node) -> Option<u64> {
    parse::count(node.text()?).ok()
}

/// A duration; a number alone is one of seconds.
pub(super) fn length(node: &Node) -> Option<String> {
    let text = node.text()?.trim();
    match parse::number(text) {
        Ok(_) => Some(format!("{text}s")),
        Err(_) => parse::duration(text).is_ok().then(|| text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::yaml::parse_value;

    #[track_caller]
    fn line(text: &str) -> Option<String> {
        let node = parse_value(text);
        let entries = node.mapping().unwrap();
        line_meant(&DOCUMENT, &entries[0], entries)
    }

    #[test]
    fn load_of_other_tools_becomes_arrivals() {
        for (written, expected) in [
            (
                "{ stages: [ { duration: 30s, target: 20 }, { duration: 1m, target: 20 }, { duration: 10s, target: 0 } ] }",
                "{ users: 0..20, for: 30s }, { users: 20, for: 1m }, { users: 20..0, for: 10s }",
            ),
            ("{ vus: 10, duration: 30s }", "{ users: 10, for: 30s }"),
            ("{ rate: 50, duration: 60 }", "{ constant: 50/s, for: 60s }"),
            (
                "{ phases: [ { duration: 60, arrivalRate: 5, rampTo: 50 }, { pause: 10 } ] }",
                "{ ramp: 5/s..50/s, for: 60s }, { hold: 10s }",
            ),
            (
                "{ stages: [ { duration: 0s, target: 5 }, { duration: 1m, target: 9 } ] }",
                "{ users: 5..9, for: 1m }",
            ),
        ] {
            let expected = format!("write `arrivals: [ {expected} ]`");
            assert_eq!(line(written), Some(expected), "{written}");
        }
        for written in [
            "{ stages: [ { duration: 30s } ] }",
            "{ vus: 10 }",
            "{ stages: [] }",
            "{ scenarios: { a: { executor: shared-iterations, vus: 1 } } }",
            "{ name: x }",
        ] {
            assert_eq!(line(written), None, "{written}");
        }
    }

    #[test]
    fn scenarios_at_the_same_time_become_populations() {
        let written = "
scenarios:
  browsers: { executor: ramping-vus, startVUs: 0, stages: [ { target: 50, duration: 2m } ] }
  buyers: { executor: constant-arrival-rate, rate: 5, duration: 1m, startTime: 30s, exec: buy }
";
        let expected = "write `populations: { browsers: { arrivals: [ { users: 0..50, for: 2m } ] }, buyers: { session: \
                        buy, arrivals: [ { hold: 30s }, { constant: 5/s, for: 1m } ] } }`, and the steps into \
                        `sessions: { visitor: [ { get: / } ] }`";
        assert_eq!(line(written).as_deref(), Some(expected));
    }

    #[test]
    fn injection_profiles_become_phases() {
        for (written, expected) in [
            ("rampUsersPerSec: 1, to: 50, during: 1m", Some("{ ramp: 1/s..50/s, for: 1m }")),
            ("constantUsersPerSec: 5, during: 60", Some("{ constant: 5/s, for: 60s }")),
            ("rampConcurrentUsers: 0, to: 9, during: 5s", Some("{ users: 0..9, for: 5s }")),
            ("constantConcurrentUsers: 9, during: 5s", Some("{ users: 9, for: 5s }")),
            ("nothingFor: 5s", Some("{ hold: 5s }")),
            ("rampUsersPerSec: 1, during: 1m", None),
            ("atOnceUsers: 10", None),
        ] {
            let found = phase_meant(&parse_value(&format!("{{ {written} }}")));
            assert_eq!(found.as_deref(), expected, "{written}");
        }
    }

    #[test]
    fn executors_say_of_what_they_are() {
        let of = |rest: &str| executor(&parse_value(&format!("{{ executor: {rest} }}")));
        let rate = of("constant-arrival-rate, rate: 30, timeUnit: 1m, duration: 5m");
        assert_eq!(rate, Some(vec!["{ constant: 30/min, for: 5m }".to_owned()]));
        let ramp =
            of("ramping-arrival-rate, startRate: 1, stages: [ { target: 9, duration: 5s } ]");
        assert_eq!(ramp, Some(vec!["{ ramp: 1/s..9/s, for: 5s }".to_owned()]));
        let users = of("ramping-vus, startVUs: 0, stages: [ { target: 9, duration: 5s } ]");
        assert_eq!(users, Some(vec!["{ users: 0..9, for: 5s }".to_owned()]));
        assert_eq!(of("constant-arrival-rate, rate: 30, timeUnit: 10s, duration: 5m"), None);
    }

    #[test]
    fn what_is_said_elsewhere_is_not_missing() {
        let of = |key: &str, text: &str| means_key(key, parse_value(text).mapping().unwrap());
        let artillery =
            "{ config: { target: 'http://h/', phases: [ { duration: 1, arrivalRate: 1 } ] } }";
        assert!(of("arrivals", artillery) && of("target", artillery) && !of("sessions", artillery));
        assert!(of("arrivals", "{ options: { vus: 1, duration: 1s } }"));
        assert!(!of("arrivals", "{ options: { timeout: 1s } }"));
    }
}
