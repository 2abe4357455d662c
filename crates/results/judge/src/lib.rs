//! Reads run directories and says what they mean: figures, thresholds, findings, verdict.
//!
//! ```text
//! run directory ─figures::read→ Figures ─Case::new→ Case ─rules→ findings by rank ─verdict→ Summary
//! ```
//! Everything after [`Figures`] is a pure function of it. A `Case` has what the rules read: figures, measures, results of
//! thresholds, what the generator lacked, what the target did not keep up with. A rule is a pure function from it to
//! findings; `rules` lists all of them, and one sort by `rank` puts their findings in order. The rules' numbers stand in
//! [`limits`]; `docs/judging-reference.md` is their reference for people. Nothing here runs anything.

mod accounts;
mod addresses;
pub mod analyze;
mod attempts;
mod beside;
mod case;
mod channels;
pub mod clients;
mod clock_skew;
mod clocks;
pub mod cost;
pub mod course;
mod errors;
pub mod faults;
mod figures;
mod finding;
mod findings;
pub mod focus;
mod generator;
mod groups;
mod health;
mod imported;
mod incident_findings;
mod incidents;
mod keep_alive;
mod lab_cost;
mod lab_use;
pub use lab_use::traffic as lab_traffic;
mod lag_decisions;
pub mod limits;
pub mod meters;
mod names;
mod network;
mod number;
mod once;
mod overload;
mod own_work;
pub mod pauses;
pub mod probes;
mod rank;
pub mod responses;
mod rules;
#[cfg(test)]
mod sample;
mod sample_size;
mod saturation;
mod second;
mod sequence_counts;
mod sequences;
mod silence;
mod summary;
mod threshold;
pub mod totals;

pub use accounts::failures;
pub use figures::{Cell, Figures, Flow, LostUsers, outlasting};
pub use finding::{Draft, finding};
pub use findings::errors as error_findings;
pub use imported::{generator_unknown, judge_samples};
pub use names::{RunNames, shown_names};
pub use network::UNLIMITED_HOSTS;
pub use number::Number;
pub use overload::fails_to_keep_up;
pub use sample_size::{SampleSize, sample_size};
pub use saturation::{Shortfall, falls_short};
pub use summary::measures;
pub use threshold::{AbortWatch, FailedLook, UntilWatch};

use case::Case;
use incidents::RunIncidents;
use plan::Threshold;
use record::schema::{
    FORMAT_VERSION, Finding, Incident, Severity, Summary, ThresholdResult, Verdict,
};

/// The reason why a run could not be judged.
#[derive(Debug, thiserror::Error)]
pub enum JudgeError {
    /// A file of the run directory could not be read.
    #[error("cannot read the run directory")]
    Read(#[from] record::RecordError),
    /// The run has no such figure.
    #[error("the run has no figure {text:?}: {problem}")]
    Figure {
        /// The figure as requested.
        text: String,
        /// The problem, for people.
        problem: String,
    },
    /// A threshold of its last verdict makes no sense.
    #[error("the threshold {text:?} of the run's last verdict is invalid: {problem}")]
    Threshold {
        /// The threshold as it stands there.
        text: String,
        /// The problem, for people.
        problem: String,
    },
}

/// Judges a run: reads its directory and applies the rules and `thresholds`, whose indices are
/// those of the plan that made the run.
///
/// A run that was killed is judged by what it left behind, and never passes. Nor does one that lost
/// workers, unless `allow_lost_workers` says that what the others measured is to be judged.
pub fn judge(
    run: &record::Run,
    thresholds: &[Threshold],
    allow_lost_workers: bool,
) -> Result<Summary, JudgeError> {
    let mut figures = Figures::read(run)?;
    figures.find_intervals(run, thresholds)?;
    lag_decisions::read(&mut figures, run, thresholds)?;
    let broken = RunIncidents::read(&figures, run)?;
    Ok(judge_case(Case::with_broken(&figures, thresholds, broken), allow_lost_workers))
}

/// Judges a run again from its record alone, with the thresholds of its last verdict; imported samples as
/// [`judge_samples`].
pub fn judge_again(run: &record::Run, allow_lost_workers: bool) -> Result<Summary, JudgeError> {
    if let Some(import) = run.import()?.filter(record::Import::has_operations) {
        return judge_samples(run, &import);
    }
    let judged = run.summary()?.map_or(Vec::new(), |last| last.thresholds);
    let info = run.info();
    let names = RunNames::of(info);
    let names = names.names();
    let thresholds = judged.into_iter().map(|result| {
        names
            .threshold(&result.text)
            .map_err(|error| JudgeError::Threshold { text: result.text, problem: error.message })
    });
    judge(run, &thresholds.collect::<Result<Vec<_>, _>>()?, allow_lost_workers)
}

/// Judges figures that are already in memory, as [`judge`] does.
pub fn judge_figures(
    figures: &Figures,
    thresholds: &[Threshold],
    allow_lost_workers: bool,
) -> Summary {
    judge_case(Case::new(figures, thresholds), allow_lost_workers)
}

/// Judges a case of a run that has ended.
fn judge_case(case: Case<'_>, allow_lost_workers: bool) -> Summary {
    let tags = summary::tags(case.figures);
    Summary { tags, ..summary_of(Case { allow_lost_workers, ..case }) }
}

/// Judges a run that continues as if it ended now, as [`judge_figures`] does. That it has not ended is no finding.
/// The summary has no figures by tag, and incidents without percentiles, of the steps with the most operations.
pub fn judge_so_far(figures: &Figures, thresholds: &[Threshold]) -> Summary {
    let broken = RunIncidents::so_far(figures, &figures.all_windows());
    judge_unfinished(Case::with_broken(figures, thresholds, broken))
}

/// Judges a case of a run that continues.
fn judge_unfinished(case: Case<'_>) -> Summary {
    summary_of(Case { in_progress: true, ..case })
}

/// Judges what a run in progress has recorded so far, as [`judge_so_far`] does without thresholds.
///
/// # Errors
/// A file of the record cannot be read.
pub fn judge_in_progress(run: &record::Run) -> Result<(Figures, Summary), record::RecordError> {
    let figures = Figures::read(run)?;
    let summary = judge_so_far(&figures, &[]);
    Ok((figures, summary))
}

/// The summary of a case, without the figures by tag.
fn summary_of(case: Case<'_>) -> Summary {
    let findings = rules::findings(&case);
    let figures = case.figures;
    let with_beside = |incident: Incident| Incident {
        beside: beside::of(figures, incident.begin_ns, incident.end_ns),
        ..incident
    };
    let incidents = case.broken.incidents.into_iter().map(with_beside).collect();
    Summary {
        format: FORMAT_VERSION,
        id: figures.info.id.clone(),
        name: figures.info.name.clone(),
        verdict: verdict(figures, &findings, &case.results),
        allow_lost_workers: case.allow_lost_workers,
        expects_overload: figures.info.expects_overload,
        findings,
        errors: errors::summarise(figures),
        incidents,
        thresholds: case.results,
        users: case.users,
        health: case.health,
        traffic: summary::traffic(figures),
        tls_handshakes: summary::tls_handshakes(figures),
        clocks: clocks::summarise(figures),
        own_work: own_work::summarise(figures),
        operations: totals::operations(&case.measures),
        measures: case.measures,
        totals: summary::totals(figures, None),
        regions: summary::regions(figures),
        tags: Vec::new(),
        metrics: summary::metrics(figures),
        phases: summary::phases(figures),
    }
}

fn verdict(figures: &Figures, findings: &[Finding], thresholds: &[ThresholdResult]) -> Verdict {
    let verdict = if findings.iter().any(|f| f.severity == Severity::Fatal) {
        Verdict::Untrusted
    } else if findings.iter().any(Finding::fails_run) || thresholds.iter().any(|t| !t.passed) {
        Verdict::Failed
    } else if thresholds.is_empty() {
        Verdict::Measured
    } else {
        Verdict::Passed
    };
    overload::verdict(figures, findings, verdict)
}
