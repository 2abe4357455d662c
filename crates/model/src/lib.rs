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
mod from_logs;
mod from_run;
mod input;
mod interner;
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

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub use arrivals::{
    Arrivals, Break, CountsBar, CountsPicture, Cycle, DaysTest, Hurst, HurstEstimate, NoCycle,
    Pictures, Rescaled, Scale, Silence, Trend,
};
pub use behaviour::{Behaviour, Transition};
pub use check::{Check, CheckTest, LEVEL, SimulatedSpan, check, users_expected};
pub use class::{Class, Target};
pub use curves::{Bar, Curves, FittedCurve};
pub use durations::{Durations, Fit, Outcome, Parameter, Test};
pub use error::{ModelError, ModelFileError};
pub use findings::{Finding, Severity};
pub use format::{FormatSpec, MEANINGS};
pub use from_counts::from_counts;
pub use from_logs::from_logs;
pub use from_run::from_run;
pub use line_part::LinePart;
pub use line_problems::{ProblemCount, Example, ProblemKind};
pub use read::FileRead;
pub use reference::{REFERENCE_BYTES_MAX, Reference, ReferenceColumns, ReferenceError, ReferenceSegment};
pub use reference_check::{ReferenceCheck, ReferenceCheckError, ReferenceFigure, check_against_reference};
pub use sessions::{Gap, GapReason};
pub use settings::{ArrivalProcess, Behaviour as BehaviourKind, Rule, Settings};
pub use tsung::Tsung;

use arrivals::Hours;
use sorter::Scratch;

/// The version of `model.json`.
pub const FORMAT_VERSION: u32 = 1;
/// The segment of sessions that none of the greater ones has.
const OTHERS: &str = "(others)";
/// The only segment where there is no other.
const ALL: &str = "all";
/// Sessions of a segment below which its figures mean little.
const SESSIONS_FEW: u64 = 50;

/// How every `scenario.yaml` of a model begins.
pub const SCENARIO_BEGINS: &str = "# BuiltModel by `throng model`";

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
    pub process: Option<SegmentProcess>,
    /// What they do.
    pub behaviour: Behaviour,
}

/// How a segment arrives in the scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SegmentProcess {
    /// By which law.
    pub kind: ArrivalProcess,
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

impl SegmentProcess {
    /// The cycle that it follows, where it follows one: the segment's own, or that of all.
    fn hours<'a>(&self, own: &'a Arrivals, whole: &'a Arrivals) -> Option<Hours<'a>> {
        let of = match self.reason {
            ProcessReason::Few => whole,
            ProcessReason::Own | ProcessReason::Given => own,
        };
        of.hours().filter(|_| self.kind == ArrivalProcess::Cycle)
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
    pub problems: BTreeMap<ProblemKind, ProblemCount>,
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
pub struct BuiltModel {
    /// The model.
    pub model: Model,
    /// The scenario's traces, each with its file's name: users in each bin, or expected ones.
    pub traces: Vec<(String, Vec<f64>)>,
    /// The trace of all users together, where their law has one.
    whole: Option<Vec<f64>>,
}

impl BuiltModel {
    /// One whose users all come by one process.
    fn with_one_process(model: Model, whole: Option<Vec<f64>>) -> Self {
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
    fn finish(
        mut self,
        look: impl FnOnce(&[u64]) -> Result<HashMap<u64, (String, String)>, ModelError>,
    ) -> Result<Self, ModelError> {
        let model = &mut self.model;
        target_lookup::look_up_targets(model, look)?;
        if scenario::Detail::largest_that_fits(model).is_none() {
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

/// The names of the sessions that stand for the segments in [`BuiltModel::scenario`].
pub fn session_names(model: &Model) -> Vec<String> {
    scenario::names(model)
}

/// How a log is read whose requests are a model's own: users known by `user`, segments by `session`,
/// classes by their targets.
pub fn settings_for_simulated_log(model: &Model) -> Settings {
    Settings {
        key: Some("user".parse().expect("the text is a part")),
        segment: Some("field:session".parse().expect("the text is a part")),
        segments_max: model.segments.len(),
        gap_s: model.gap.as_ref().map(|gap| gap.seconds),
        rules: model.classes.iter().map(rule_for).collect(),
        ..Settings::default()
    }
}

/// The rule that a class's own targets match, and nothing else.
fn rule_for(class: &Class) -> Rule {
    let targets = class.targets.iter();
    let texts = targets.map(|target| format!("{} {}", target.method, target.target));
    Rule::for_texts(class.name.clone(), texts)
}

/// The name of the trace's file beside `scenario.yaml`, where all segments have one.
const TRACE_FILE: &str = "arrivals.txt";

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

/// The name of a segment's trace, by that of its session.
fn trace_file(session: &str) -> String {
    format!("arrivals-{session}.txt")
}
