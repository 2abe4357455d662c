//! Reads access logs and says what the crowd behind them does: sessions, arrivals, behaviour.
//!
//! ```text
//! files ─input→ pieces ─format→ entries ─read→ hits, sorted by user
//!                                               │ survey: classes, the gap between sessions
//!                                               ▼
//!                     Model ←behaviour, arrivals─ sessions
//!                       └─ scenario: text to run
//! ```
//! Nothing of a log is mended in silence: what was left out, and what was odd and kept, is counted by
//! kind with its first lines. Memory does not grow with the log: beyond 256 MiB of requests sorted runs
//! go to files, and all else is sampled or counted.

#![deny(missing_docs)]

mod arrivals;
mod behaviour;
mod check;
mod class;
mod curves;
mod durations;
mod entry;
mod error;
mod findings;
mod format;
mod from_counts;
mod from_run;
mod input;
mod line_part;
mod line_problems;
mod load;
mod option_checks;
mod read;
mod reference;
mod reference_check;
mod request_record;
mod route;
mod scenario;
mod segment_arrivals;
mod sessions;
mod settings;
mod sorter;
mod target_lookup;
mod time;
mod tsung;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub use arrivals::{
    Arrivals, Break, CountsBar, CountsPicture, Cycle, DaysTest, Hurst, HurstEstimate, NoCycle,
    Pictures, Rescaled, Scale, Silence, Trend,
};
pub use behaviour::{Behaviour, Transition};
pub use check::{Check, CheckTest, LEVEL, Played, check, users_expected};
pub use class::{Class, Target};
pub use curves::{Bar, Curves, LawCurve};
pub use durations::{Durations, Fit, Outcome, Parameter, Test};
pub use error::{ModelError, ModelFileError};
pub use findings::{Finding, Severity};
pub use format::{FormatSpec, MEANINGS};
pub use from_counts::counted;
pub use from_run::recorded;
pub use line_part::Part;
pub use line_problems::{Count, Example, Kind};
pub use read::FileRead;
pub use reference::{STATED_BYTES_MAX, Stated, StatedAs, StatedError, StatedSegment};
pub use reference_check::{Against, AgainstError, StatedFigure, against};
pub use sessions::{Gap, GapReason};
pub use settings::{ArrivalsLaw, Behaviour as BehaviourKind, Rule, Settings};
pub use tsung::Tsung;

use arrivals::Hours;
use behaviour::Tally;
use class::Classes;
use read::{Again, RULE, Reading};
use request_record::{NO_SEGMENT, Start};
use segment_arrivals::{Arrived, Own};
use sorter::{Scratch, Sorter};

/// The version of `model.json`.
pub const FORMAT_VERSION: u32 = 1;
/// The segment of sessions that none of the greater ones has.
const OTHERS: &str = "(others)";
/// The only segment where there is no other.
const ALL: &str = "all";
/// Sessions of a segment below which its figures mean little.
const SESSIONS_FEW: u64 = 50;

/// How every `scenario.yaml` of a model begins.
pub const SCENARIO_BEGINS: &str = "# Made by `throng model`";

/// What a log says of its crowd: `model.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Model {
    /// [`FORMAT_VERSION`].
    pub format: u32,
    /// A name for the scenario.
    pub name: String,
    /// What it was made from.
    pub log: Log,
    /// By what lines are one user's; empty where there are counts alone.
    pub key: String,
    /// By what sessions are told apart.
    pub segment_by: Option<String>,
    /// How many keys were seen.
    pub users: u64,
    /// When a session ends; missing where there are counts alone.
    pub gap: Option<Gap>,
    /// Classes of requests, the most frequent first.
    pub classes: Vec<Class>,
    /// How users arrive, all segments together.
    pub arrivals: Arrivals,
    /// The segments, the greatest first.
    pub segments: Vec<Segment>,
    /// What the scenario's users do.
    pub behaviour: BehaviourKind,
    /// Of all draws.
    pub seed: u64,
    /// What there is to say, what matters most first.
    pub findings: Vec<Finding>,
}

impl Model {
    /// Its `scenario.yaml`.
    pub fn scenario(&self) -> String {
        scenario::text(self)
    }
}

/// Sessions of one kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Segment {
    /// The value that the sessions share.
    pub name: String,
    /// How many sessions.
    pub sessions: u64,
    /// How many requests they have together.
    pub requests: u64,
    /// How they arrive; missing where there is one segment only.
    pub arrivals: Option<Arrivals>,
    /// How the scenario lets them arrive, where each segment does so by a process of its own; missing
    /// where all arrive as [`Model::arrivals`] says.
    #[serde(default)]
    pub process: Option<Process>,
    /// What they do.
    pub behaviour: Behaviour,
}

/// How a segment arrives in the scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// By which law.
    pub law: ArrivalsLaw,
    /// Why by that one.
    pub reason: ProcessReason,
}

/// Why a segment arrives by its law.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProcessReason {
    /// It is the simplest that the segment's own counts do not refuse.
    Own,
    /// It was asked for.
    Given,
    /// The segment has too few sessions: it has the cycle of all where there is one, else one rate.
    Few,
}

impl Process {
    /// The cycle that it follows, where it follows one: the segment's own, or that of all.
    fn hours<'a>(&self, own: &'a Arrivals, whole: &'a Arrivals) -> Option<Hours<'a>> {
        let of = match self.reason {
            ProcessReason::Few => whole,
            ProcessReason::Own | ProcessReason::Given => own,
        };
        of.hours().filter(|_| self.law == ArrivalsLaw::Cycle)
    }
}

/// The log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Log {
    /// In the order read.
    pub files: Vec<FileRead>,
    /// Good and bad.
    pub lines: u64,
    /// Lines in the model.
    pub requests: u64,
    /// Lines left out by `--without`.
    pub without: u64,
    /// What was wrong with lines, and what was odd.
    pub faults: BTreeMap<Kind, Count>,
    /// The step that times are taken in, seconds: the coarsest that a share of the lines worth naming has.
    pub step_s: f64,
    /// Lines whose times were finer, and were cut to it.
    #[serde(default)]
    pub finer: u64,
    /// First time, seconds since the Unix epoch.
    pub first_unix_s: i64,
    /// Last time, likewise.
    pub last_unix_s: i64,
    /// Seconds east of Greenwich that times were written in, with how many lines.
    pub offsets: BTreeMap<i32, u64>,
    /// How far a line was before the one above it, at most, seconds.
    pub back_max_s: f64,
}

/// A model, and what its scenario needs besides.
#[derive(Debug, Clone)]
pub struct Made {
    /// The model.
    pub model: Model,
    /// The scenario's traces, each with its file's name: users in each bin, or expected ones.
    pub traces: Vec<(String, Vec<f64>)>,
    /// The trace of all users together, where their law has one.
    whole: Option<Vec<f64>>,
}

impl Made {
    /// One whose users all come by one process.
    fn together(model: Model, whole: Option<Vec<f64>>) -> Self {
        let traces = whole
            .iter()
            .map(|trace| (TRACE_FILE.to_owned(), trace.clone()));
        let traces = traces.collect();
        Self {
            model,
            traces,
            whole,
        }
    }

    /// `scenario.yaml`.
    pub fn scenario(&self) -> String {
        self.model.scenario()
    }

    /// The files that the scenario names, each with its text.
    pub fn files(&self) -> impl Iterator<Item = (String, String)> {
        let traces = self.traces.iter();
        let traces = traces.map(|(name, bins)| (name.clone(), scenario::trace_text(bins)));
        traces.chain(scenario::files(&self.model))
    }

    /// The model with what its sequences asked for, where `look` can tell that of the log's lines, and with what
    /// there is to say of it.
    fn finished(
        mut self,
        look: impl FnOnce(&[u64]) -> Result<HashMap<u64, (String, String)>, ModelError>,
    ) -> Result<Self, ModelError> {
        let model = &mut self.model;
        target_lookup::recall(model, look)?;
        if scenario::Room::of(model).is_none() {
            return Err(ModelError::NoRoom {
                segments: model.segments.len(),
                classes: model.classes.len(),
            });
        }
        model.findings = findings::findings(model);
        Ok(self)
    }

    /// The model as Tsung's file, and what of it stands for something that Tsung cannot say.
    pub fn tsung(&self) -> Tsung {
        tsung::written(self)
    }
}

/// The names of the sessions that stand for the segments in [`Made::scenario`].
pub fn session_names(model: &Model) -> Vec<String> {
    scenario::names(model)
}

/// How a log is read whose requests are a model's own: users known by `user`, segments by `session`,
/// classes by their targets.
pub fn settings_of(model: &Model) -> Settings {
    Settings {
        key: Some("user".parse().expect("the text is a part")),
        segment: Some("field:session".parse().expect("the text is a part")),
        segments_max: model.segments.len(),
        gap_s: model.gap.as_ref().map(|gap| gap.seconds),
        rules: model.classes.iter().map(Rule::of_class).collect(),
        ..Settings::default()
    }
}

/// The name of the trace's file beside `scenario.yaml`, where all segments have one.
const TRACE_FILE: &str = "arrivals.txt";

/// Reads logs and makes their model.
///
/// # Errors
/// Where a file cannot be read, its format is not known, too many lines are bad, or nothing is left.
pub fn model(paths: &[PathBuf], settings: &Settings) -> Result<Made, ModelError> {
    let scratch = scratch(settings)?;
    let again = Again::of(paths);
    let mut reading = read::read(paths, settings, &scratch)?;
    option_checks::refused(&reading, settings)?;
    if reading.faults.bad() as f64 > settings.bad_max * reading.lines as f64 {
        return Err(ModelError::TooManyBad {
            bad: reading.faults.bad(),
            lines: reading.lines,
            max: settings.bad_max,
            most: reading.faults.most(),
            told: findings::told(&reading.faults),
        });
    }
    if reading.hits == 0 {
        let mut why = match reading.without {
            0 => String::new(),
            without => format!(", {without} of which --without left out"),
        };
        for file in &reading.files {
            if let Some(cut_off) = &file.cut_off {
                why += &format!("; {} ends too early: {cut_off}", file.name);
            }
        }
        let lines = reading.lines;
        return Err(ModelError::Nothing { lines, why });
    }
    let name = paths
        .first()
        .map_or_else(|| "model".to_owned(), |path| stem(path));
    let noticed = std::mem::take(&mut reading.noticed);
    let made = made(reading, settings, &scratch, name).map_err(|source| ModelError::Scratch {
        path: scratch.path().to_owned(),
        source,
    })?;
    let mut made = made.finished(|orders| read::asked(paths, settings, &again, orders))?;
    option_checks::tell(&mut made.model, &noticed, settings);
    Ok(made)
}

fn scratch(settings: &Settings) -> Result<Scratch, ModelError> {
    Scratch::new(settings.scratch.clone()).map_err(|source| ModelError::Scratch {
        path: settings.scratch.clone(),
        source,
    })
}

/// A time as `1995-07-01T00:00:00`, in seconds since 1970 by the clock that showed it; `None` where it
/// is none.
pub fn clock_time(text: &str) -> Option<i64> {
    let stamp = time::read(text.as_bytes(), time::Form::Any).ok()?;
    Some(stamp.seconds + i64::from(stamp.offset_s.unwrap_or(0)))
}

/// A file's name up to its first point.
fn stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let stem = name.split('.').next().unwrap_or_default();
    if stem.is_empty() {
        "model".to_owned()
    } else {
        stem.to_owned()
    }
}

/// Which number a segment has in the model, by its number in the log.
struct Segments {
    names: Vec<String>,
    of: Vec<u16>,
    rest: u16,
}

impl Segments {
    fn of(&self, number: u16) -> u16 {
        self.of
            .get(usize::from(number))
            .copied()
            .unwrap_or(self.rest)
    }
}

/// The greatest segments, and one for all others.
fn segments(names: &[String], hits: &[u64], max: usize) -> Segments {
    let mut by_size: Vec<usize> = (0..names.len()).filter(|&i| hits[i] > 0).collect();
    by_size.sort_by(|&a, &b| (hits[b], &names[a]).cmp(&(hits[a], &names[b])));
    by_size.truncate(max);
    let rest = by_size.len() as u16;
    let mut of = vec![rest; names.len()];
    for (place, &number) in by_size.iter().enumerate() {
        of[number] = place as u16;
    }
    let mut kept: Vec<String> = by_size
        .iter()
        .map(|&number| names[number].clone())
        .collect();
    kept.push(if kept.is_empty() { ALL } else { OTHERS }.to_owned());
    Segments {
        names: kept,
        of,
        rest,
    }
}

/// Gives a class another name where one of a rule has it, or another: who runs the model measures by names.
fn tell_apart(classes: &mut Classes, shapes: &[String]) {
    let is_ruled = |shape: &String| shape.starts_with(RULE);
    let ruled = shapes.iter().zip(&classes.of_shape);
    let ruled: BTreeSet<u16> = ruled
        .filter_map(|(shape, &class)| is_ruled(shape).then_some(class))
        .collect();
    let taken = ruled.iter().map(|&class| &classes.all[usize::from(class)]);
    let mut taken: BTreeSet<String> = taken.map(|class| class.name.clone()).collect();
    let others = (0..).zip(&mut classes.all);
    for (_, class) in others.filter(|(place, _)| !ruled.contains(place)) {
        while !taken.insert(class.name.clone()) {
            class.name.push_str(" (others)");
        }
    }
}

fn made(
    reading: Reading,
    settings: &Settings,
    scratch: &Scratch,
    name: String,
) -> std::io::Result<Made> {
    let sizes = (reading.shapes.len(), reading.segments.len());
    let mut survey = sessions::survey((&reading.runs, reading.step_ns), sizes, settings.gap_s)?;
    let mut classes = class::classify(
        &reading.shapes,
        &survey.shape_hits,
        &reading.samples,
        settings.classes_max,
    );
    tell_apart(&mut classes, &reading.shapes);
    let segments = segments(
        &reading.segments,
        &survey.segment_hits,
        settings.segments_max,
    );
    let count = segments.names.len();
    let mut tallies: Vec<Tally> = (0..count)
        .map(|number| {
            Tally::new(
                classes.all.len(),
                count,
                settings.seed.wrapping_add(number as u64),
            )
        })
        .collect();
    let mut starts: Sorter<'_, Start> =
        Sorter::new(scratch, "starts".to_owned(), RUNS_OF_STARTS_MAX);
    let mut failed = None;
    let cuts = sessions::sessions(
        (&reading.runs, reading.step_ns),
        survey.gap.seconds,
        |segment, visits| {
            let segment = if segment == NO_SEGMENT {
                segments.rest
            } else {
                segments.of(segment)
            };
            tallies[usize::from(segment)].add(visits, &classes.of_shape);
            for visit in visits.iter().filter(|visit| visit.status > 0) {
                let class = &mut classes.all[usize::from(classes.of_shape[visit.shape as usize])];
                *class.statuses.entry(visit.status).or_default() += 1;
            }
            let time_ns = visits[0].time_ns;
            if let Err(error) = starts.push(Start { segment, time_ns }) {
                failed.get_or_insert(error);
            }
        },
    )?;
    if let Some(error) = failed {
        return Err(error);
    }
    survey.gap.cuts = cuts;
    let starts = starts.finish()?;
    let step_s = reading.step_ns as f64 / 1e9;
    let behaviours = behaviour::behaviours(&tallies, step_s, settings.threads);
    let arrived = Arrived::new(&reading, &starts, settings)?;
    let (whole, own) = arrived.analysed(count)?;
    let processes = own.iter().flatten().map(|own| &own.process);
    let (several, apart) = (
        processes.clone().count() > 1,
        segment_arrivals::apart(&whole, processes),
    );
    let mut parts: Vec<(Segment, Option<Vec<f64>>)> = segments
        .names
        .into_iter()
        .zip(tallies.iter().zip(behaviours).zip(own))
        .filter_map(|(name, ((tally, behaviour), own))| {
            let Own {
                arrivals,
                process,
                trace,
            } = own?;
            let segment = Segment {
                name,
                sessions: tally.sessions,
                requests: tally.requests,
                arrivals: several.then_some(arrivals),
                process: apart.then_some(process),
                behaviour,
            };
            Some((segment, trace.filter(|_| apart)))
        })
        .collect();
    parts.sort_by(|(a, _), (b, _)| (b.sessions, &a.name).cmp(&(a.sessions, &b.name)));
    let (parts, of_segments): (Vec<Segment>, Vec<_>) = parts.into_iter().unzip();
    let model = Model {
        format: FORMAT_VERSION,
        name,
        key: key(&reading.files, settings),
        log: log(reading),
        segment_by: settings.segment.as_ref().map(ToString::to_string),
        users: survey.users,
        gap: Some(survey.gap),
        classes: classes.all,
        arrivals: whole,
        segments: parts,
        behaviour: settings.behaviour,
        seed: settings.seed,
        findings: Vec::new(),
    };
    let whole = segment_arrivals::trace_of_all(&arrived.all, &model.arrivals);
    if !apart {
        return Ok(Made::together(model, whole));
    }
    let files = scenario::names(&model)
        .into_iter()
        .map(|name| trace_file(&name));
    let traces = files
        .zip(of_segments)
        .filter_map(|(file, trace)| Some((file, trace?)))
        .collect();
    Ok(Made {
        model,
        traces,
        whole,
    })
}

/// By what users were known: as asked, or by the usual keys of the files' formats.
fn key(files: &[FileRead], settings: &Settings) -> String {
    if let Some(key) = &settings.key {
        return key.to_string();
    }
    let mut keys: Vec<&str> = Vec::new();
    for file in files.iter().filter(|file| file.lines > 0) {
        let key = format::key(&file.format);
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    keys.join(" or ")
}

/// The name of a segment's trace, by that of its session.
fn trace_file(session: &str) -> String {
    format!("arrivals-{session}.txt")
}

/// Runs of sessions' begins that stay in memory: 64 MiB.
const RUNS_OF_STARTS_MAX: usize = 4;

fn log(reading: Reading) -> Log {
    Log {
        lines: reading.lines,
        requests: reading.hits,
        without: reading.without,
        faults: reading.faults.kinds,
        step_s: reading.step_ns as f64 / 1e9,
        finer: reading.finer,
        first_unix_s: reading.span_ns.0.div_euclid(1_000_000_000),
        last_unix_s: reading.span_ns.1.div_euclid(1_000_000_000),
        offsets: reading.offsets,
        back_max_s: reading.back_max_ns as f64 / 1e9,
        files: reading.files,
    }
}
