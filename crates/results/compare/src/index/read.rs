//! Reads the few figures of a result. Of its JSON only what is shown is kept.

use std::path::Path;

use record::index::{
    DUET, EXPERIMENT, Kind, MODEL, SEARCH, ScanEntry, Stamp, check_file, read_beginning,
};
use record::note::NOTE;
use record::schema::{PROBE_MODE, RunStatus, Summary, Verdict};
use record::{Note, Run};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::{Entry, State};
use crate::Acceptance;
use crate::capacity::Ending;
use crate::duet::DuetVerdict;
use judge::course::Number;
use judge::totals::Totals;

/// Larger files are not read for a list.
const FILE_BYTES_MAX: u64 = 64 << 20;
/// The part of a page that is read: its head, its sentences and the beginning of its document.
const PAGE_BYTES_MAX: u64 = 256 << 10;
/// Most characters of a detail.
const DETAIL_CHARS_MAX: usize = 300;

const RUN: &str = "run.json";
const SUMMARY: &str = "summary.json";
const IMPORT: &str = "import.json";
const REQUESTS: &str = "requests.parquet";
/// Files that grow while a run is in progress: one with each checkpoint, one with each event.
const GROWING: [&str; 2] = ["tally.json", "events.jsonl"];
/// A run whose files have not changed for longer was killed: checkpoints are written every three seconds.
const CHECKPOINTS_MS_MAX: u64 = 15_000;
const CAPACITY: &str = "capacity.json";
/// The result in a duet's directory.
const RESULT: &str = "result.json";

/// The stamps of the files that an entry is read from.
pub(super) fn stamp(found: &ScanEntry) -> Vec<Stamp> {
    let stamps = |names: &[&str]| {
        let names = names.iter();
        names.map(|name| Stamp::read(&found.path.join(name))).collect()
    };
    match found.kind {
        Kind::Run => stamps(&[RUN, SUMMARY, IMPORT, NOTE]),
        Kind::Experiment => stamps(&[EXPERIMENT]),
        Kind::Duet => stamps(&[DUET, RESULT]),
        Kind::Search => stamps(&[SEARCH, CAPACITY]),
        Kind::Model => stamps(&[MODEL]),
        Kind::Page => vec![Stamp::read(&found.path)],
    }
}

/// Fills an entry from its files, or with what is wrong with them; `None` for a file that is not a page of
/// Throng.
pub(super) fn entry(found: &ScanEntry, mut entry: Entry) -> Option<Entry> {
    if found.kind == Kind::Run {
        entry.note = Note::read(&found.path).text().map(str::to_owned);
    }
    let read = match found.kind {
        Kind::Run => run(&found.path, &mut entry),
        Kind::Experiment => experiment(&found.path, &mut entry),
        Kind::Duet => duet(&found.path, &mut entry),
        Kind::Search => search(&found.path, &mut entry),
        Kind::Model => model(&found.path, &mut entry),
        Kind::Page => match page(&found.path, &mut entry) {
            Ok(true) => Ok(()),
            Ok(false) => return None,
            Err(why) => Err(why),
        },
    };
    if let Err(why) = read {
        (entry.state, entry.comparable) = (State::Damaged, false);
        entry.detail = why;
    }
    entry.detail = entry.detail.chars().take(DETAIL_CHARS_MAX).collect();
    Some(entry)
}

/// The entry of a run that is in progress if its files were changed just before `now_unix_ms`.
pub(super) fn with_progress(entry: Entry, now_unix_ms: u64) -> Entry {
    let is_open = entry.kind == Kind::Run && entry.state == State::Unfinished && !entry.comparable;
    let is_recent = |name: &str| {
        let changed_ms = Stamp::read(&entry.location.join(name)).unix_ms();
        changed_ms.is_some_and(|at| now_unix_ms.saturating_sub(at) <= CHECKPOINTS_MS_MAX)
    };
    if !is_open || !GROWING.into_iter().any(is_recent) {
        return entry;
    }
    Entry { state: State::Running, detail: String::new(), ..entry }
}

fn json<T: DeserializeOwned>(path: &Path) -> Result<T, String> {
    check_file(path, FILE_BYTES_MAX)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let bytes = read_beginning(path, FILE_BYTES_MAX)?;
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

fn run(path: &Path, entry: &mut Entry) -> Result<(), String> {
    check_file(&path.join(RUN), FILE_BYTES_MAX)?;
    let run = Run::open(path).map_err(|error| chain(&error))?;
    let info = run.info();
    entry.name.clone_from(&info.name);
    entry.started_unix_ms = Some(info.started_unix_ns / 1_000_000);
    entry.seconds = (info.ended_ns > 0).then_some(Number(info.ended_ns as f64 / 1e9));
    if info.generator.mode == PROBE_MODE {
        entry.detail = "probes only, without load".to_owned();
        entry.state =
            if info.status == RunStatus::Running { State::Unfinished } else { State::Done };
        return Ok(());
    }
    let is_imported = path.join(IMPORT).exists();
    let summary = path.join(SUMMARY);
    if !summary.exists() {
        entry.state = State::Unfinished;
        entry.detail = run.missing().join("; ");
        // A run that has ended can be read, even without a summary.
        entry.comparable = info.status != RunStatus::Running;
        return Ok(());
    }
    check_file(&summary, FILE_BYTES_MAX)?;
    let summary = run.summary().map_err(|error| chain(&error))?;
    let Some(summary) = summary else {
        return Err(format!("{SUMMARY} is missing"));
    };
    // Published results have figures only; imported samples have operations, and no users.
    let has_operations = path.join(REQUESTS).exists();
    entry.comparable = !is_imported || has_operations;
    entry.state = match (is_imported, summary.verdict) {
        (true, _) => State::Imported,
        (false, Verdict::Measured) => State::Measured,
        (false, Verdict::Passed) => State::Passed,
        (false, Verdict::Failed) => State::Failed,
        (false, Verdict::Untrusted) => State::Untrusted,
    };
    match info.status {
        RunStatus::Interrupted => entry.detail = "ended early".to_owned(),
        RunStatus::Aborted => entry.detail = "aborted by a threshold".to_owned(),
        RunStatus::Until => entry.detail = "ended by `until`".to_owned(),
        RunStatus::Running | RunStatus::Complete | RunStatus::Failed => {}
    }
    figures(&summary, entry);
    if is_imported && has_operations {
        entry.users = None;
    }
    Ok(())
}

fn figures(summary: &Summary, entry: &mut Entry) {
    entry.users = Some(summary.users.started);
    let throughput = summary.findings.iter().find(|f| f.code == "throughput");
    let rate = throughput.and_then(|f| f.evidence.get("per_s"));
    entry.rate_per_s = rate.copied().map(Number);
    let totals = Totals::of(summary);
    entry.error_share = totals.error_share;
    if let Some(step) = totals.step {
        entry.step = Some(step.name);
        (entry.p50_ns, entry.p99_ns) = (Some(step.p50_ns), Some(step.p99_ns));
        entry.bound_above = step.bound_above;
    }
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

fn experiment(path: &Path, entry: &mut Entry) -> Result<(), String> {
    let file: ExperimentFile = json(&path.join(EXPERIMENT))?;
    let count = |stage: &str| file.runs.iter().filter(|run| run.stage == stage).count();
    let done = count("done");
    let failed = count("failed");
    entry.detail = format!("{done} of {} runs", file.runs.len());
    if failed > 0 {
        entry.detail += &format!(", {failed} failed");
    }
    entry.state = match count("pending") {
        0 => State::Done,
        _ => State::Unfinished,
    };
    entry.name = file.name;
    Ok(())
}

#[derive(Deserialize)]
struct DuetFile {
    verdict: DuetVerdict,
    sentence: String,
}

fn duet(path: &Path, entry: &mut Entry) -> Result<(), String> {
    let result = path.join(RESULT);
    if !result.exists() {
        entry.state = State::Unfinished;
        return Ok(());
    }
    let file: DuetFile = json(&result)?;
    entry.detail = file.sentence;
    entry.state = match file.verdict.acceptance() {
        Acceptance::Accepted => State::Done,
        Acceptance::Rejected => State::Failed,
        Acceptance::Undecided => State::Unfinished,
    };
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
    ending: Ending,
    holds: Option<f64>,
    breaks: Option<f64>,
    /// The best value of a sweep.
    best: Option<BestFile>,
}

#[derive(Deserialize)]
struct BestFile {
    value: f64,
}

fn search(path: &Path, entry: &mut Entry) -> Result<(), String> {
    let file: SearchFile = json(&path.join(SEARCH))?;
    entry.name = file.scenario;
    entry.detail = format!("{}, {}", file.of, units::counted(file.trials.len() as u64, "run"));
    let conclusion = path.join(CAPACITY);
    if !conclusion.exists() {
        entry.state = State::Unfinished;
        return Ok(());
    }
    let found: CapacityFile = json(&conclusion)?;
    let load = |load: f64| format!("{}{}", units::significant(load, 4), file.unit);
    if let Some(holds) = found.holds {
        entry.detail += &format!(", holds {}", load(holds));
    }
    if let Some(breaks) = found.breaks {
        entry.detail += &format!(", breaks at {}", load(breaks));
    }
    if let Some(best) = found.best {
        entry.detail += &format!(", best {}", load(best.value));
    }
    entry.state = match found.ending {
        Ending::Found | Ending::AllHold => State::Done,
        Ending::NoneHolds | Ending::LoadIsNotTheCause => State::Failed,
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

fn model(path: &Path, entry: &mut Entry) -> Result<(), String> {
    let file: ModelFile = json(&path.join(MODEL))?;
    entry.name = file.name;
    entry.started_unix_ms = u64::try_from(file.log.first_unix_s).ok().map(|s| s * 1000);
    entry.seconds = Some(Number(file.arrivals.span_s));
    entry.users = Some(file.arrivals.users);
    entry.rate_per_s = Some(Number(file.arrivals.rate_per_s));
    let warnings = file.findings.iter().filter(|f| f.severity == "warning");
    let warnings = warnings.count() as u64;
    if warnings > 0 {
        entry.detail = units::counted(warnings, "warning");
    }
    Ok(())
}

/// Reads a page's title and the kind of its document; false if it is not a page of Throng.
fn page(path: &Path, entry: &mut Entry) -> Result<bool, String> {
    let text = read_beginning(path, PAGE_BYTES_MAX)?;
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
    entry.name = title.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    entry.detail = kind.to_owned();
    entry.started_unix_ms = Stamp::read(path).unix_ms();
    Ok(true)
}
