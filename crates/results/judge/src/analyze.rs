//! What happened within a run: where it settles, what drifts, when the target was down, which laws hold.
//!
//! ```text
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
mod seconds;
mod steady;
mod windows;

use record::schema::{Finding, Verdict};
use record::{RecordError, Run};
use serde::Serialize;

pub use down::{Availability, Interval, Outage};
pub use drift::Drift;
pub use laws::{LawTest, Laws, Little, ResponseLaw, Utilisation};
pub use steady::{Settled, WarmUp};
pub use windows::{Evenness, Known, MeasureParts, Part, ThroughputParts};

/// Of all intervals and tests.
pub const CONFIDENCE: f64 = 0.95;
/// What is analysed must be as long as this, in seconds of the record.
pub const SECONDS_MIN: usize = 20;
/// The windows of a run; more would be its seconds again.
pub const WINDOWS_MAX: usize = 2_000;
/// S1's window, which is taken where the run is long enough.
const WINDOW_NS: u64 = 20_000_000_000;
/// A shorter run has this many windows.
const WINDOWS_WANTED: u64 = 10;

/// What to look at, and how.
#[derive(Debug, Clone)]
pub struct Question {
    /// Only this phase; else all of them.
    pub phase: Option<String>,
    /// Take so much for warm-up, whatever is found.
    pub cut_ns: Option<u64>,
    /// Length of the windows; else 20 s, or a tenth of a run that is shorter than ten of them.
    pub window_ns: Option<u64>,
    /// A second in which this share of the operations failed counts as down; above 0, up to 1.
    pub down: f64,
}

impl Default for Question {
    fn default() -> Self {
        Question {
            phase: None,
            cut_ns: None,
            window_ns: None,
            down: 0.5,
        }
    }
}

/// Why a run could not be analysed.
#[derive(Debug, thiserror::Error)]
pub enum AnalyzeError {
    /// A file of the run directory could not be read.
    #[error("cannot read the run directory")]
    Read(#[from] RecordError),
    /// It has no such phase.
    #[error("the run has no phase {name:?}; its phases are {phases}")]
    NoPhase {
        /// As requested.
        name: String,
        /// Those there are.
        phases: String,
    },
    /// There is nothing second by second.
    #[error(
        "there is no series.parquet, which records a run second by second: imported results have \
         none, nor does a run that was killed at the start"
    )]
    NoSeries,
    /// There is too little to say anything of.
    #[error(
        "only {seconds} s remain after the warm-up, and the analysis needs {SECONDS_MIN}: use a \
         longer run or phase, or a shorter --skip"
    )]
    TooShort {
        /// What there is.
        seconds: usize,
    },
    /// The window does not fit.
    #[error("windows of {} do not fit: {problem}", units::span(*window_ns))]
    Window {
        /// As requested.
        window_ns: u64,
        /// As text.
        problem: String,
    },
}

/// What was found within a run. Times count from the run's start.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Analysis {
    /// The run.
    pub id: String,
    /// Its scenario.
    pub name: String,
    /// Most important first.
    pub findings: Vec<Finding>,
    /// Where what was analysed begins, warm-up included.
    pub start_ns: u64,
    /// Where it ends.
    pub end_ns: u64,
    /// What to leave out at its beginning.
    pub warm_up: WarmUp,
    /// Length of the windows.
    pub window_ns: u64,
    /// Requests and handshakes, all together.
    pub throughput: ThroughputParts,
    /// Those that measured something.
    pub measures: Vec<MeasureParts>,
    /// What was tested for a trend, after the warm-up.
    pub trends: Vec<Drift>,
    /// `None` where the record says nothing of single operations.
    pub availability: Option<Availability>,
    /// After the warm-up.
    pub laws: Laws,
}

/// Analyses a run by its directory. Killed runs are analysed by what they left behind.
///
/// # Errors
/// Where the record cannot be read, or there is nothing in it that the question asks for.
pub fn analyze(run: &Run, question: &Question) -> Result<Analysis, AnalyzeError> {
    if run.series()?.is_empty() {
        return Err(AnalyzeError::NoSeries);
    }
    let (start_ns, end_ns) = span(run, question)?;
    let seconds = seconds::read(run, start_ns, end_ns)?;
    if seconds.slots.len() < SECONDS_MIN {
        return Err(AnalyzeError::TooShort {
            seconds: seconds.slots.len(),
        });
    }
    let (start_ns, end_ns) = (seconds.start_ns(), seconds.end_ns());
    let warm_up = steady::warm_up(&seconds, question.cut_ns);
    let kept = seconds.from(warm_up.cut_ns);
    if kept.len() < SECONDS_MIN {
        return Err(AnalyzeError::TooShort {
            seconds: kept.len(),
        });
    }
    let window_ns = window(question, end_ns - start_ns)?;
    let trends = drift::trends(&seconds, kept.clone());
    let (throughput, measures) = windows::parts(run, &seconds, kept.clone(), window_ns)?;
    let availability = down::availability(&seconds, question.down);
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
        availability,
        laws,
    };
    analysis.findings = findings::findings(&analysis, untrusted(run)?);
    analysis.findings.extend(findings::rows_elsewhere(run));
    Ok(analysis)
}

/// The phase, or all of them, as far as the run got. The drain does not belong to it.
fn span(run: &Run, question: &Question) -> Result<(u64, u64), AnalyzeError> {
    let phases = &run.info().phases;
    let Some(name) = &question.phase else {
        let end_ns = phases.last().map_or(u64::MAX, |phase| phase.end_ns);
        return Ok((0, end_ns));
    };
    let found = phases.iter().find(|phase| phase.name == *name);
    let phase = found.ok_or_else(|| AnalyzeError::NoPhase {
        name: name.clone(),
        phases: phases
            .iter()
            .map(|phase| phase.name.as_str())
            .collect::<Vec<_>>()
            .join(", "),
    })?;
    Ok((phase.start_ns, phase.end_ns))
}

/// The length of the windows.
fn window(question: &Question, length_ns: u64) -> Result<u64, AnalyzeError> {
    const SECOND: u64 = 1_000_000_000;
    let Some(window_ns) = question.window_ns else {
        let tenth_ns = length_ns / WINDOWS_WANTED / SECOND * SECOND;
        // A run of weeks has longer ones.
        let least_ns = length_ns.div_ceil(WINDOWS_MAX as u64);
        return Ok(WINDOW_NS.min(tenth_ns).max(SECOND).max(least_ns));
    };
    let refuse = |problem: &str| {
        Err(AnalyzeError::Window {
            window_ns,
            problem: problem.to_owned(),
        })
    };
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

/// Why the run is untrusted, if it was judged so.
fn untrusted(run: &Run) -> Result<Option<String>, RecordError> {
    let Some(summary) = run.summary()? else {
        return Ok(Some(
            "it was never judged: it still runs, or was killed".to_owned(),
        ));
    };
    let fatal = record::schema::Severity::Fatal;
    let why = summary.findings.into_iter().find(|f| f.severity == fatal);
    Ok((summary.verdict == Verdict::Untrusted).then(|| why.map_or(String::new(), |f| f.text)))
}
