//! Reads access logs and says what the crowd behind them does: sessions, arrivals, behaviour.
//!
//! ```text
//! files ─input→ pieces ─format→ entries ─read→ requests, sorted by user
//!                                               │ survey: classes, the gap between sessions
//!                                               ▼
//!                     Model ←behaviour, arrivals─ sessions
//!                       └─ scenario: text to run
//! ```
//! Nothing of a log is corrected silently: bad lines left out and odd lines kept are counted by kind, with examples.
//! Memory does not grow with the log: beyond 256 MiB, sorted requests go to files; all else is sampled or counted.

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
#[doc(hidden)]
pub mod fuzzing;
mod input;
mod interner;
mod line_part;
mod line_problems;
mod load;
mod option_checks;
mod read;
mod recorded;
mod reference;
mod reference_check;
mod request_record;
mod request_target;
mod robot_findings;
mod robots;
mod route;
mod scenario;
mod segment_arrivals;
mod sessions;
mod settings;
mod sorter;
mod target_lookup;
mod target_sample;
mod time;
mod tsung;

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

pub use arrivals::{
    Arrivals, Break, CountsBar, CountsPicture, Cycle, DaysTest, Hurst, HurstEstimate, HurstHidden,
    NoCycle, Pictures, RescaledCounts, Scale, Silence, Stragglers, Trend,
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
pub use line_problems::{Example, ProblemCount, ProblemKind};
pub use read::FileRead;
pub use reference::{
    REFERENCE_BYTES_MAX, Reference, ReferenceColumns, ReferenceError, ReferenceSegment,
};
pub use reference_check::{
    ReferenceCheck, ReferenceCheckError, ReferenceFigure, check_against_reference,
};
pub use sessions::{Gap, GapReason};
pub use settings::{ArrivalProcess, Behaviour as BehaviourKind, Rule, Settings};
pub use tsung::Tsung;

use arrivals::Hours;
use request_target::LineTargets;
use robots::HeavyUser;
use sorter::Scratch;

/// The version of `model.json`.
pub const FORMAT_VERSION: u32 = 2;
/// The segment of the sessions outside the largest segments.
const OTHERS: &str = "(others)";
/// The only segment, if there is one.
const ALL: &str = "all";
/// A segment with fewer sessions has uncertain figures.
const SESSIONS_FEW: u64 = 50;

/// How every `scenario.yaml` of a model begins.
pub const SCENARIO_BEGINS: &str = "# Made by `throng model`";

/// A model of a log: `model.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Model {
    /// [`FORMAT_VERSION`].
    pub format: u32,
    /// A name for the scenario.
    pub name: String,
    /// The log that the model was made from.
    pub log: Log,
    /// The parts of a line that identify a user; empty for counts.
    pub key: String,
    /// The part of a line that separates segments.
    pub segment_by: Option<String>,
    /// The number of distinct keys.
    pub users: u64,
    /// When a session ends; missing for counts.
    pub gap: Option<Gap>,
    /// Classes of requests, the most frequent first.
    pub classes: Vec<Class>,
    /// How users arrive, all segments together.
    pub arrivals: Arrivals,
    /// The segments, the greatest first.
    pub segments: Vec<Segment>,
    /// The behaviour of the scenario's users.
    pub behaviour: BehaviourKind,
    /// Seed of all draws.
    pub seed: u64,
    /// Findings, the most severe first.
    pub findings: Vec<Finding>,
}

impl Model {
    /// The model's `scenario.yaml`.
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
    /// The behaviour of the segment's users.
    pub behaviour: Behaviour,
}

/// How a segment arrives in the scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SegmentProcess {
    /// The process.
    pub kind: ArrivalProcess,
    /// Why that one.
    pub reason: ProcessReason,
}

/// Why a segment has its process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProcessReason {
    /// It is the simplest that the segment's own counts do not reject.
    Own,
    /// It was requested.
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
    /// Files in the order read.
    pub files: Vec<FileRead>,
    /// Good and bad.
    pub lines: u64,
    /// Lines in the model.
    pub requests: u64,
    /// Lines left out by `--without`.
    pub without: u64,
    /// Bad and odd lines by kind.
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

/// A model, and the other files of its scenario.
#[derive(Debug, Clone)]
pub struct BuiltModel {
    /// The model.
    pub model: Model,
    /// The scenario's traces, each with its file's name: users in each bin, or expected ones.
    pub traces: Vec<(String, Vec<f64>)>,
    /// The trace of all users together, if their process has one.
    whole: Option<Vec<f64>>,
    /// Users with far more requests than others have.
    heavy: Vec<HeavyUser>,
}

impl BuiltModel {
    /// A model whose users all come by one process.
    fn with_one_process(model: Model, whole: Option<Vec<f64>>) -> Self {
        let traces = whole.iter().map(|trace| (TRACE_FILE.to_owned(), trace.clone()));
        let traces = traces.collect();
        Self { model, traces, whole, heavy: Vec::new() }
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

    /// Completes the model with the targets of its sequences, as far as `look` finds them by line, and with its findings.
    fn finish(
        mut self,
        look: impl FnOnce(&[u64]) -> Result<LineTargets, ModelError>,
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

    /// The model as a Tsung configuration, with notes on what Tsung cannot express.
    pub fn tsung(&self) -> Tsung {
        tsung::written(self)
    }
}

/// The names of the segments' sessions in [`BuiltModel::scenario`].
pub fn session_names(model: &Model) -> Vec<String> {
    scenario::names(model)
}

/// Settings for a log that a model simulated: users are identified by `user`, segments by `session`, classes by
/// their targets.
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
    Scratch::new(settings.scratch.clone())
        .map_err(|source| ModelError::Scratch { path: settings.scratch.clone(), source })
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
    if stem.is_empty() { "model".to_owned() } else { stem.to_owned() }
}

/// The name of a segment's trace, by that of its session.
fn trace_file(session: &str) -> String {
    format!("arrivals-{session}.txt")
}
