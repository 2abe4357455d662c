//! One run at one load.

use std::collections::HashSet;

use record::Run;
use record::schema::{Severity, Summary, Verdict};
use serde::{Deserialize, Serialize};
use stats::hist::LogHistogram;

use crate::JudgeError;
use crate::figures::Figures;

/// Fatal findings that are the target's doing: such a run breaks, whatever else it is.
const TARGETS_DOING: &[&str] = &["target-limit"];

/// What came of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// All thresholds hold.
    Holds,
    /// One does not, or the target took no more.
    Breaks,
    /// The generator was the limit, or the run was not the one that was planned.
    Untrusted,
}

/// One run at one load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// The load.
    pub load: f64,
    /// What came of it.
    pub outcome: Outcome,
    /// The name of its run directory; `None`: it could not be begun.
    pub run: Option<String>,
    /// Thresholds that do not hold, or why it is not trusted.
    pub why: Vec<String>,
    /// What it measured; `None`: nothing.
    pub figures: Option<TrialFigures>,
}

/// What a run measured in the phase in which most ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrialFigures {
    /// Requests and handshakes that succeeded, by second: X.
    pub per_s: f64,
    /// Their mean number in flight, by Little's law: N = X · R.
    pub in_flight: f64,
    /// Their mean time from being sent to their end: R.
    pub service_ns: f64,
    /// Median of their responses, which count from when they were due.
    pub p50_ns: u64,
    /// 99th percentile of the same.
    pub p99_ns: u64,
    /// The share of all that failed.
    pub error_share: f64,
}

impl TrialFigures {
    /// [`p50_ns`](Self::p50_ns); `None` where nothing succeeded, and so took no time.
    pub fn p50(&self) -> Option<u64> {
        (self.per_s > 0.0).then_some(self.p50_ns)
    }

    /// [`p99_ns`](Self::p99_ns), the same.
    pub fn p99(&self) -> Option<u64> {
        (self.per_s > 0.0).then_some(self.p99_ns)
    }
}

impl Trial {
    /// A trial that left nothing but its outcome.
    pub fn new(load: f64, outcome: Outcome) -> Trial {
        Trial {
            load,
            outcome,
            run: None,
            why: Vec::new(),
            figures: None,
        }
    }
}

/// What came of a run at this load.
///
/// # Errors
/// Where its record cannot be read.
pub fn judge_trial(load: f64, run: &Run, summary: &Summary) -> Result<Trial, JudgeError> {
    let fatal: Vec<_> = summary
        .findings
        .iter()
        .filter(|finding| finding.severity == Severity::Fatal)
        .collect();
    let by_target = fatal
        .iter()
        .any(|finding| TARGETS_DOING.contains(&&*finding.code));
    let outcome = match summary.verdict {
        Verdict::Measured | Verdict::Passed => Outcome::Holds,
        Verdict::Failed => Outcome::Breaks,
        Verdict::Untrusted if by_target => Outcome::Breaks,
        Verdict::Untrusted => Outcome::Untrusted,
    };
    let why = match outcome {
        Outcome::Holds => Vec::new(),
        Outcome::Breaks if !by_target => summary
            .thresholds
            .iter()
            .filter(|threshold| !threshold.passed)
            .map(|threshold| format!("{}: {}", threshold.text, threshold.shown))
            .collect(),
        _ => fatal.iter().map(|finding| finding.text.clone()).collect(),
    };
    let name = run.path().file_name();
    Ok(Trial {
        load,
        outcome,
        run: name.map(|name| name.to_string_lossy().into_owned()),
        why,
        figures: figures(run, &Figures::read(run)?)?,
    })
}

/// Requests and handshakes: connections are part of them, transactions are made of them, and messages
/// come by themselves.
pub(super) fn is_main(kind: &str) -> bool {
    matches!(kind, "request" | "handshake")
}

/// Of the phase in which most ended, without what was drained after it: that took no time of it.
fn figures(run: &Run, figures: &Figures) -> Result<Option<TrialFigures>, JudgeError> {
    let measures: Vec<usize> = (0..figures.info.measures.len())
        .filter(|&measure| is_main(figures.kind(measure)))
        .collect();
    let counted = |phase: usize| {
        let cells = measures
            .iter()
            .map(|&measure| figures.cell(Some(phase), measure));
        cells.fold((0, 0), |(ended, failed), cell| {
            (ended + cell.ended(), failed + cell.failed())
        })
    };
    let phases = (0..figures.info.phases.len()).map(|phase| (counted(phase), phase));
    let Some(((ended, failed), phase)) = phases.max() else {
        return Ok(None);
    };
    let tags: HashSet<String> = measures
        .iter()
        .map(|&measure| figures.info.measures[measure].name.clone())
        .collect();
    let time = &figures.info.phases[phase];
    let (mut response, mut service) = (LogHistogram::new(), LogHistogram::new());
    run.intervals(|interval| {
        if !(time.start_ns..time.end_ns).contains(&interval.start_ns) {
            return;
        }
        if tags.contains(&interval.tag) {
            response.merge(&interval.hist);
        } else if interval
            .tag
            .strip_suffix(".service")
            .is_some_and(|name| tags.contains(name))
        {
            service.merge(&interval.hist);
        }
    })?;
    let seconds = figures.seconds(Some(phase));
    Ok((seconds > 0.0 && ended > 0).then(|| {
        let per_s = service.count() as f64 / seconds;
        TrialFigures {
            per_s,
            in_flight: per_s * service.mean() / 1e9,
            service_ns: service.mean(),
            p50_ns: response.quantile(0.5),
            p99_ns: response.quantile(0.99),
            error_share: failed as f64 / ended as f64,
        }
    }))
}
