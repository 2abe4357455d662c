//! What a result says of itself in a few figures. Of JSON only what is shown is kept, whatever else stands
//! there.

use std::path::Path;

use record::Run;
use record::schema::{MeasureSummary, PROBE_MODE, RunStatus, Summary, Verdict};
use record::shelf::{EXPERIMENT, Found, Kind, MODEL, SEARCH, Stamp, beginning, sound};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::{Item, State};
use crate::course::Number;

/// Files that are larger are not read for a list.
const FILE_BYTES_MAX: u64 = 64 << 20;
/// The beginning of a page's file that is looked at: its head, its sentences and how its document begins.
const PAGE_BYTES_MAX: u64 = 256 << 10;
/// Characters of what is said of an item.
const TOLD_CHARS_MAX: usize = 300;

const RUN: &str = "run.json";
const SUMMARY: &str = "summary.json";
const IMPORT: &str = "import.json";
const CAPACITY: &str = "capacity.json";

/// The files that an item is made of, with their times.
pub(super) fn stamp(found: &Found) -> Vec<Stamp> {
    let beside = |names: &[&str]| {
        let names = names.iter();
        names
            .map(|name| Stamp::of(&found.path.join(name)))
            .collect()
    };
    match found.kind {
        Kind::Run => beside(&[RUN, SUMMARY, IMPORT]),
        Kind::Experiment => beside(&[EXPERIMENT]),
        Kind::Search => beside(&[SEARCH, CAPACITY]),
        Kind::Model => beside(&[MODEL]),
        Kind::Page => vec![Stamp::of(&found.path)],
    }
}

/// An item with what its files tell, or with what is wrong with them; `None` for a file that is no page of
/// ours.
pub(super) fn item(found: &Found, mut item: Item) -> Option<Item> {
    let read = match found.kind {
        Kind::Run => run(&found.path, &mut item),
        Kind::Experiment => experiment(&found.path, &mut item),
        Kind::Search => search(&found.path, &mut item),
        Kind::Model => model(&found.path, &mut item),
        Kind::Page => match page(&found.path, &mut item) {
            Ok(true) => Ok(()),
            Ok(false) => return None,
            Err(why) => Err(why),
        },
    };
    if let Err(why) = read {
        (item.state, item.comparable) = (State::Damaged, false);
        item.told = why;
    }
    item.told = item.told.chars().take(TOLD_CHARS_MAX).collect();
    Some(item)
}

fn json<T: DeserializeOwned>(path: &Path) -> Result<T, String> {
    sound(path, FILE_BYTES_MAX)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let bytes = beginning(path, FILE_BYTES_MAX)?;
    serde_json::from_slice(&bytes).map_err(|error| format!("{name} is damaged: {error}"))
}

/// An error and its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        text += &format!(": {next}");
        cause = next.source();
    }
    text
}

fn run(path: &Path, item: &mut Item) -> Result<(), String> {
    sound(&path.join(RUN), FILE_BYTES_MAX)?;
    let run = Run::open(path).map_err(|error| chain(&error))?;
    let info = run.info();
    item.name.clone_from(&info.name);
    item.started_unix_ms = Some(info.started_unix_ns / 1_000_000);
    item.seconds = (info.ended_ns > 0).then_some(Number(info.ended_ns as f64 / 1e9));
    if info.generator.mode == PROBE_MODE {
        item.told = "probes alone, without load".to_owned();
        item.state = if info.status == RunStatus::Running {
            State::Unfinished
        } else {
            State::Done
        };
        return Ok(());
    }
    let is_imported = path.join(IMPORT).exists();
    let summary = path.join(SUMMARY);
    if !summary.exists() {
        item.state = State::Unfinished;
        item.told = run.missing().join("; ");
        // What it left can be read, where it is no run that goes on.
        item.comparable = info.status != RunStatus::Running;
        return Ok(());
    }
    sound(&summary, FILE_BYTES_MAX)?;
    let summary = run.summary().map_err(|error| chain(&error))?;
    let Some(summary) = summary else {
        return Err(format!("{SUMMARY} is gone"));
    };
    item.comparable = !is_imported;
    item.state = match (is_imported, summary.verdict) {
        (true, _) => State::Imported,
        (false, Verdict::Passed) => State::Passed,
        (false, Verdict::Failed) => State::Failed,
        (false, Verdict::Untrusted) => State::Untrusted,
    };
    if info.status == RunStatus::Interrupted {
        item.told = "ended early".to_owned();
    }
    figures(&summary, item);
    Ok(())
}

fn figures(summary: &Summary, item: &mut Item) {
    item.users = Some(summary.users.started);
    let throughput = summary.findings.iter().find(|f| f.code == "throughput");
    let rate = throughput.and_then(|f| f.evidence.get("per_s"));
    item.rate_per_s = rate.copied().map(Number);
    let sum = |of: fn(&MeasureSummary) -> u64| summary.measures.iter().map(of).sum::<u64>();
    let (count, errors) = (sum(|m| m.count), sum(|m| m.errors));
    item.error_share = (count > 0).then(|| Number(errors as f64 / count as f64));
    if let Some(measure) = most_waited_for(&summary.measures) {
        item.step = Some(measure.name.clone());
        item.p50_ns = measure.response.as_ref().map(|r| r.p50_ns);
        item.p99_ns = measure.response.as_ref().map(|r| r.p99_ns);
    }
}

/// What people wait for most often: requests before transactions, replies and connections.
fn most_waited_for(measures: &[MeasureSummary]) -> Option<&MeasureSummary> {
    const ORDER: [&str; 5] = ["request", "transaction", "message", "handshake", "connect"];
    let rank = |m: &MeasureSummary| ORDER.iter().position(|kind| *kind == m.kind);
    let measured = measures.iter().filter(|m| m.response.is_some());
    measured.min_by_key(|m| (rank(m).unwrap_or(ORDER.len()), std::cmp::Reverse(m.count)))
}

#[derive(Deserialize)]
struct ExperimentFile {
    name: String,
    runs: Vec<ExperimentRun>,
}

#[derive(Deserialize)]
struct ExperimentRun {
    stage: String,
}

fn experiment(path: &Path, item: &mut Item) -> Result<(), String> {
    let told: ExperimentFile = json(&path.join(EXPERIMENT))?;
    let count = |stage: &str| told.runs.iter().filter(|run| run.stage == stage).count();
    let (done, failed) = (count("done"), count("failed"));
    item.told = format!("{done} of {} runs", told.runs.len());
    if failed > 0 {
        item.told += &format!(", {failed} could not be made");
    }
    item.state = match count("pending") {
        0 => State::Done,
        _ => State::Unfinished,
    };
    item.name = told.name;
    Ok(())
}

#[derive(Deserialize)]
struct SearchFile {
    scenario: String,
    of: String,
    unit: String,
    trials: Vec<serde::de::IgnoredAny>,
}

#[derive(Deserialize)]
struct CapacityFile {
    exit_code: i32,
    holds: Option<f64>,
    breaks: Option<f64>,
}

fn search(path: &Path, item: &mut Item) -> Result<(), String> {
    let told: SearchFile = json(&path.join(SEARCH))?;
    item.name = told.scenario;
    item.told = format!(
        "of {}, {}",
        told.of,
        units::counted(told.trials.len() as u64, "run")
    );
    let conclusion = path.join(CAPACITY);
    if !conclusion.exists() {
        item.state = State::Unfinished;
        return Ok(());
    }
    let found: CapacityFile = json(&conclusion)?;
    let load = |load: f64| format!("{}{}", units::significant(load, 4), told.unit);
    if let Some(holds) = found.holds {
        item.told += &format!(", holds {}", load(holds));
    }
    if let Some(breaks) = found.breaks {
        item.told += &format!(", breaks at {}", load(breaks));
    }
    item.state = match found.exit_code {
        0 => State::Done,
        1 => State::Failed,
        _ => State::Untrusted,
    };
    Ok(())
}

#[derive(Deserialize)]
struct ModelFile {
    name: String,
    log: ModelLog,
    arrivals: ModelArrivals,
    findings: Vec<ModelFinding>,
}

#[derive(Deserialize)]
struct ModelLog {
    first_unix_s: i64,
}

#[derive(Deserialize)]
struct ModelArrivals {
    users: u64,
    span_s: f64,
    rate_per_s: f64,
}

#[derive(Deserialize)]
struct ModelFinding {
    severity: String,
}

fn model(path: &Path, item: &mut Item) -> Result<(), String> {
    let told: ModelFile = json(&path.join(MODEL))?;
    item.name = told.name;
    item.started_unix_ms = u64::try_from(told.log.first_unix_s).ok().map(|s| s * 1000);
    item.seconds = Some(Number(told.arrivals.span_s));
    item.users = Some(told.arrivals.users);
    item.rate_per_s = Some(Number(told.arrivals.rate_per_s));
    let warnings = told.findings.iter().filter(|f| f.severity == "warning");
    let warnings = warnings.count() as u64;
    if warnings > 0 {
        item.told = units::counted(warnings, "warning");
    }
    Ok(())
}

/// A page says what it is in its title, and in how its document begins; false where it is none of ours.
fn page(path: &Path, item: &mut Item) -> Result<bool, String> {
    let text = beginning(path, PAGE_BYTES_MAX)?;
    let text = String::from_utf8_lossy(&text);
    let kind = text.split_once("id=\"document\">{\"format\":");
    let kind = kind.and_then(|(_, rest)| rest.split_once("\"kind\":\""));
    let kind = kind.and_then(|(_, rest)| rest.split_once('"'));
    let title = text.split_once("<title>");
    let title = title.and_then(|(_, rest)| rest.split_once("</title>"));
    let (Some((kind, _)), Some((title, _))) = (kind, title) else {
        return Ok(false);
    };
    let title = title.trim_end_matches(" · Throng");
    item.name = title
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&amp;", "&");
    item.told = kind.to_owned();
    item.started_unix_ms = Stamp::of(path).unix_ms();
    Ok(true)
}
