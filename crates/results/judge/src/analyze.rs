//! The behaviour of a run over time: where it settles, what drifts, when the target was down, which laws hold.
//!
//! ```text
//! run directory ─figures→ incidents, stalls, growth, groups of answers
//! run directory ─seconds→ Seconds ─┬─steady──→ warm-up to cut
//!                                  ├─drift───→ trends of what is left
//!                                  ├─windows─→ figures of the parts and of the whole
//!                                  ├─down────→ times between failures, availability
//!                                  └─laws────→ Little's, response time, utilisation
//!                       all of them ─→ findings
//! ```
//! `docs/analysing.md` is the reference of its rules for people.

mod down;
mod drift;
mod findings;
mod laws;
mod load;
mod seconds;
mod steady;
mod windows;

use record::schema::{Finding, Incident, Verdict};
use record::{RecordError, Run};
use serde::Serialize;

use crate::case::Case;
use crate::figures::Figures;
use crate::{groups, incident_findings, incidents};

pub use down::{Availability, Interval, Outage};
pub use drift::Drift;
pub use laws::{LawTest, Laws, Little, ResponseLaw, Utilisation};
pub use steady::{SettlingTime, WarmUp};
pub use windows::{Evenness, MeanEstimate, MeasureParts, SpanFigures, ThroughputParts};

/// Confidence level of all intervals and tests.
pub const CONFIDENCE: f64 = 0.95;
/// Least length of the analysed time, in seconds of the record.
pub const SECONDS_MIN: usize = 20;
/// Most windows of a run; with more of them, windows would hardly differ from seconds.
pub const WINDOWS_MAX: usize = 2_000;
/// Length of the windows of a run that is long enough for ten of them.
const WINDOW_NS: u64 = 20_000_000_000;
/// Number of windows in a shorter run.
const WINDOWS_WANTED: u64 = 10;

/// The options of an analysis.
#[derive(Debug, Clone)]
pub struct Question {
    /// The phase to analyse; `None`: all phases.
    pub phase: Option<String>,
    /// Length of the warm-up; `None`: it is detected.
    pub cut_ns: Option<u64>,
    /// Length of the windows; `None`: 20 s, or a tenth of a run that is shorter than ten of them.
    pub window_ns: Option<u64>,
    /// A second in which this share of the operations failed counts as down; above 0, up to 1.
    pub down: f64,
}

impl Default for Question {
    fn default() -> Self {
        Question { phase: None, cut_ns: None, window_ns: None, down: 0.5 }
    }
}

/// Why a run could not be analysed.
#[derive(Debug, thiserror::Error)]
pub enum AnalyzeError {
    /// A file of the run directory could not be read.
    #[error("cannot read the run directory")]
    Read(#[from] RecordError),
    /// The run has no such phase.
    #[error("the run has no phase {name:?}; its phases are {phases}")]
    NoPhase {
        /// The requested phase.
        name: String,
        /// The run's phases, separated by commas.
        phases: String,
    },
    /// The run has no record by the second.
    #[error(
        "there is no series.parquet, which records a run second by second: imported results have \
         none, nor does a run that was killed at the start"
    )]
    NoSeries,
    /// The time to analyse is too short.
    #[error(
        "only {seconds} s were recorded, and the analysis needs {SECONDS_MIN}: use a longer run or phase{down}"
    )]
    TooShort {
        /// Length of the time, in seconds.
        seconds: usize,
        /// The outages in it as the end of a sentence; empty if none are known.
        down: String,
    },
    /// The given warm-up is too long.
    #[error(
        "only {seconds} s remain after the warm-up, and the analysis needs {SECONDS_MIN}: use a \
         longer run or phase, or a shorter --skip"
    )]
    TooLongSkip {
        /// Length of the time after it, in seconds.
        seconds: usize,
    },
    /// Windows of the requested length do not fit the run.
    #[error("windows of {} do not fit: {problem}", units::span(*window_ns))]
    Window {
        /// The requested length.
        window_ns: u64,
        /// The reason, in words.
        problem: String,
    },
}

/// The results of an analysis. Times count from the run's start.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Analysis {
    /// Identifier of the run.
    pub id: String,
    /// Name of the scenario.
    pub name: String,
    /// The findings, most important first.
    pub findings: Vec<Finding>,
    /// Start of the analysed time, which includes the warm-up.
    pub start_ns: u64,
    /// End of the analysed time.
    pub end_ns: u64,
    /// The warm-up, with which the analysed time begins.
    pub warm_up: WarmUp,
    /// Length of the windows.
    pub window_ns: u64,
    /// Throughput of all requests and handshakes together.
    pub throughput: ThroughputParts,
    /// The measures that have values.
    pub measures: Vec<MeasureParts>,
    /// The trends of all tested series after the warm-up.
    pub trends: Vec<Drift>,
    /// How the plan changes the load in this time, in words; `None`: it does not.
    pub load_change: Option<String>,
    /// Windows in which a step was worse than in the rest of the run, the gravest first.
    pub incidents: Vec<Incident>,
    /// The availability of the target; `None`: the record has no rows of single operations.
    pub availability: Option<Availability>,
    /// The laws of queues after the warm-up.
    pub laws: Laws,
}

/// Analyses a run by its directory. Killed runs are analysed by what they left behind.
///
/// # Errors
/// Fails if the record cannot be read, or does not cover the phase, the length or the windows asked for.
pub fn analyze(run: &Run, question: &Question) -> Result<Analysis, AnalyzeError> {
    if run.series()?.is_empty() {
        return Err(AnalyzeError::NoSeries);
    }
    let (start_ns, end_ns) = span(run, question)?;
    let seconds = seconds::read(run, start_ns, end_ns)?;
    let start_ns = seconds.start_ns();
    let end_ns = seconds.end_ns();
    let broken = incidents_between(run, start_ns, end_ns)?;
    // Outages count from the start, whatever the warm-up is.
    let availability = down::availability(&seconds, &broken.incidents, question.down);
    if seconds.slots.len() < SECONDS_MIN {
        let down = availability.as_ref().map_or(String::new(), findings::also_down);
        return Err(AnalyzeError::TooShort { seconds: seconds.slots.len(), down });
    }
    let load_change = load::change(&seconds);
    let is_load_steady = load_change.is_none();
    let warm_up = steady::warm_up(&seconds, question.cut_ns, &broken.incidents, is_load_steady);
    let kept = seconds.from(warm_up.cut_ns);
    if kept.len() < SECONDS_MIN {
        return Err(AnalyzeError::TooLongSkip { seconds: kept.len() });
    }
    let window_ns = window(question, end_ns - start_ns)?;
    let trends = drift::trends(&seconds, kept.clone());
    let (throughput, measures) = windows::parts(run, &seconds, kept.clone(), window_ns)?;
    let laws = laws::laws(&seconds, kept);
    let mut analysis = Analysis {
        id: run.info().id.clone(),
        name: run.info().name.clone(),
        findings: Vec::new(),
        start_ns,
        end_ns,
        warm_up,
        window_ns,
        throughput,
        measures,
        trends,
        load_change,
        incidents: broken.incidents,
        availability,
        laws,
    };
    analysis.findings = findings::findings(&analysis, untrusted(run)?, broken.findings);
    analysis.findings.extend(findings::rows_elsewhere(run));
    Ok(analysis)
}

/// Incidents within the analysed time.
struct AnalyzedIncidents {
    incidents: Vec<Incident>,
    /// Findings on the incidents, and on stalls, growth and groups of answers.
    findings: Vec<Finding>,
}

/// The incidents between two moments. Stalls, growth and groups are those of the whole run.
fn incidents_between(
    run: &Run,
    start_ns: u64,
    end_ns: u64,
) -> Result<AnalyzedIncidents, RecordError> {
    let figures = Figures::read(run)?;
    let found = incidents::RunIncidents::read(&figures, run)?;
    let mut case = Case::with_broken(&figures, &[], found);
    let is_within = |incident: &Incident| incident.begin_ns < end_ns && start_ns < incident.end_ns;
    case.broken.incidents.retain(is_within);
    let mut findings = incident_findings::findings(&case);
    findings.extend(incident_findings::stalls(&case));
    findings.extend(incident_findings::growths(&case));
    findings.extend(groups::findings(&case));
    Ok(AnalyzedIncidents { incidents: case.broken.incidents, findings })
}

/// The span of the requested phase or of all phases, as far as the run got, without the drain.
fn span(run: &Run, question: &Question) -> Result<(u64, u64), AnalyzeError> {
    let phases = &run.info().phases;
    let Some(name) = &question.phase else {
        let end_ns = phases.last().map_or(u64::MAX, |phase| phase.end_ns);
        return Ok((0, end_ns));
    };
    let found = phases.iter().find(|phase| phase.name == *name);
    let phase = found.ok_or_else(|| AnalyzeError::NoPhase {
        name: name.clone(),
        phases: phases.iter().map(|phase| phase.name.as_str()).collect::<Vec<_>>().join(", "),
    })?;
    Ok((phase.start_ns, phase.end_ns))
}

/// The length of the windows.
fn window(question: &Question, length_ns: u64) -> Result<u64, AnalyzeError> {
    const SECOND: u64 = 1_000_000_000;
    let Some(window_ns) = question.window_ns else {
        let tenth_ns = length_ns / WINDOWS_WANTED / SECOND * SECOND;
        // The windows of a run of weeks are longer, so that they do not exceed the maximum.
        let least_ns = length_ns.div_ceil(WINDOWS_MAX as u64);
        return Ok(WINDOW_NS.min(tenth_ns).max(SECOND).max(least_ns));
    };
    let refuse =
        |problem: &str| Err(AnalyzeError::Window { window_ns, problem: problem.to_owned() });
    if window_ns < SECOND {
        return refuse("the record is by the second");
    }
    if length_ns < 2 * window_ns {
        return refuse(&format!(
            "there are {} to cut up, and it takes two windows at least",
            units::span(length_ns)
        ));
    }
    if length_ns / window_ns > WINDOWS_MAX as u64 {
        return refuse(&format!("there would be more than {WINDOWS_MAX}"));
    }
    Ok(window_ns)
}

/// The reason why the run is untrusted; `None` if it is trusted.
fn untrusted(run: &Run) -> Result<Option<String>, RecordError> {
    let Some(summary) = run.summary()? else {
        return Ok(Some("it was never judged: it still runs, or was killed".to_owned()));
    };
    let fatal = record::schema::Severity::Fatal;
    let why = summary.findings.into_iter().find(|f| f.severity == fatal);
    Ok((summary.verdict == Verdict::Untrusted).then(|| why.map_or(String::new(), |f| f.text)))
}
