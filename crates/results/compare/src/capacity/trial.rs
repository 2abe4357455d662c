//! One run at one load.

use std::collections::HashSet;

use plan::Comparison;
use record::Run;
use record::schema::{Finding, SeriesRow, Severity, Summary, ThresholdResult, Verdict};
use serde::{Deserialize, Serialize};
use stats::censored::CensoredTimes;
use stats::hist::LogHistogram;
use stats::trend::trend;

use judge::limits::POISSON_SIGMAS;
use judge::{Figures, JudgeError, RunNames, fails_to_keep_up};

/// Fatal findings that are the target's doing: such a run breaks, whatever else it is.
const TARGETS_DOING: &[&str] = &["target-limit"];
/// Confidence for the slope of users present.
const GROWTH_CONFIDENCE: f64 = 0.99;
/// Chance below which a rise is no accident.
const GROWTH_SIGNIFICANCE: f64 = 0.01;
/// Users present grow if they rise by this share of their mean within half a phase …
const GROWTH_SHARE_MIN: f64 = 0.2;
/// … and by at least this number; …
const GROWTH_USERS_MIN: f64 = 10.0;
/// … where arrivals grow by no more than this factor from a quarter to the next.
const GROWTH_OF_ARRIVALS: f64 = 1.05;

/// Outcome of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ts_rs::TS)]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ts_rs::TS)]
pub struct Trial {
    /// The load.
    pub load: f64,
    /// The trial's outcome.
    pub outcome: Outcome,
    /// The name of its run directory; `None`: it could not be begun.
    pub run: Option<String>,
    /// Thresholds that do not hold, or why it is not trusted.
    pub why: Vec<String>,
    /// The figures measured; `None`: there are none.
    pub figures: Option<TrialFigures>,
    /// By threshold, the logarithm of its figure over its limit, or of limit over figure where the figure
    /// must be greater: below 0 where it holds. `None` where the figure is 0, unknown, or a lower bound.
    #[serde(default)]
    pub margins: Vec<Option<f64>>,
}

/// Figures of a run, from the phase in which most operations ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ts_rs::TS)]
pub struct TrialFigures {
    /// Requests and handshakes that succeeded, by second: X.
    pub per_s: f64,
    /// Their mean number in flight, by Little's law: N = X · R.
    pub in_flight: f64,
    /// Their mean time from being sent to their end: R.
    pub service_ns: f64,
    /// Median of the responses of all requests and handshakes, which count from when they were due; 0: there are none.
    pub p50_ns: u64,
    /// True if the median is only known to be at least that, since operations were never answered.
    #[serde(default)]
    pub p50_is_bound: bool,
    /// 99th percentile of the same.
    pub p99_ns: u64,
    /// As `p50_is_bound`.
    #[serde(default)]
    pub p99_is_bound: bool,
    /// The share of all requests and handshakes of the run that failed, in whichever phase.
    pub error_share: f64,
}

impl TrialFigures {
    /// [`p50_ns`](Self::p50_ns), and whether it is a lower bound; `None` where nothing took time.
    pub fn p50(&self) -> Option<(u64, bool)> {
        (self.p50_ns > 0).then_some((self.p50_ns, self.p50_is_bound))
    }

    /// [`p99_ns`](Self::p99_ns), the same.
    pub fn p99(&self) -> Option<(u64, bool)> {
        (self.p99_ns > 0).then_some((self.p99_ns, self.p99_is_bound))
    }
}

impl Trial {
    /// A trial that left nothing but its outcome.
    pub fn new(load: f64, outcome: Outcome) -> Trial {
        Trial { load, outcome, run: None, why: Vec::new(), figures: None, margins: Vec::new() }
    }
}

/// Judges a run at this load.
///
/// # Errors
/// If the run's record cannot be read.
pub fn judge_trial(load: f64, run: &Run, summary: &Summary) -> Result<Trial, JudgeError> {
    let fatal: Vec<_> =
        summary.findings.iter().filter(|finding| finding.severity == Severity::Fatal).collect();
    let by_target = fatal.iter().any(|finding| TARGETS_DOING.contains(&&*finding.code));
    let figures = Figures::read(run)?;
    let growth = growth(&figures);
    let signs = summary.findings.iter().filter(|finding| breaks(finding));
    let signs: Vec<String> = signs.map(|finding| finding.text.clone()).chain(growth).collect();
    let outcome = match summary.verdict {
        Verdict::Untrusted if !by_target => Outcome::Untrusted,
        Verdict::Measured | Verdict::Passed if signs.is_empty() => Outcome::Holds,
        _ => Outcome::Breaks,
    };
    let why = match outcome {
        Outcome::Holds => Vec::new(),
        Outcome::Breaks if !by_target => {
            let failed = summary.thresholds.iter().filter(|threshold| !threshold.passed);
            let failed = failed.map(|threshold| format!("{}: {}", threshold.text, threshold.shown));
            signs.into_iter().chain(failed).collect()
        }
        _ => fatal.iter().map(|finding| finding.text.clone()).collect(),
    };
    let margins = summary.thresholds.iter().map(|result| margin(run, result));
    let margins = margins.collect();
    let name = run.path().file_name();
    Ok(Trial {
        load,
        outcome,
        run: name.map(|name| name.to_string_lossy().into_owned()),
        why,
        figures: of_main_phase(run, &figures)?,
        margins,
    })
}

/// Findings with which a load does not hold, whatever the thresholds say: the target did not keep up, or a
/// part of the scenario was not tried.
fn breaks(finding: &Finding) -> bool {
    finding.fails_run() || fails_to_keep_up(finding) || finding.code == "steps-not-reached"
}

/// The logarithm of a threshold's figure over its limit; see [`Trial::margins`].
fn margin(run: &Run, result: &ThresholdResult) -> Option<f64> {
    let names = RunNames::of(run.info());
    let threshold = names.names().threshold(&result.text).ok()?;
    let value = result.value.filter(|_| !result.is_bound)?;
    let margin = (value / threshold.limit).ln();
    let margin = match threshold.comparison {
        Comparison::Less | Comparison::LessEqual => margin,
        Comparison::Greater | Comparison::GreaterEqual => -margin,
        Comparison::Equal | Comparison::NotEqual => return None,
    };
    margin.is_finite().then_some(margin)
}

/// The reason to distrust a run whose users of an open load come faster than they leave to the end:
/// the number present in the second half of the longest phase with a constant rate rises.
fn growth(figures: &Figures) -> Option<String> {
    let phases = figures.info.phases.iter();
    let open = phases.filter(|phase| matches!(phase.kind.as_str(), "rate" | "poisson"));
    let phase = open.max_by_key(|phase| phase.end_ns - phase.start_ns)?;
    let middle_ns = phase.start_ns + (phase.end_ns - phase.start_ns) / 2;
    let rows = figures.series.iter();
    let late = rows.filter(|row| row.start_ns >= middle_ns && row.end_ns <= phase.end_ns);
    let (first, second): (Vec<_>, Vec<_>) =
        late.clone().partition(|row| row.start_ns < middle_ns + (phase.end_ns - middle_ns) / 2);
    let due = |rows: &[&SeriesRow]| rows.iter().map(|row| row.users_due).sum::<u64>() as f64;
    let before = due(&first);
    let after = due(&second);
    if after > GROWTH_OF_ARRIVALS * before + POISSON_SIGMAS * before.sqrt() {
        // A rate that rises brings more users by itself.
        return None;
    }
    let points: Vec<(f64, f64)> =
        late.map(|row| (row.end_ns as f64 / 1e9, row.users as f64)).collect();
    let trend = trend(&points, GROWTH_CONFIDENCE).ok()?;
    let first = points.first()?;
    let last = points.last()?;
    let mean = points.iter().map(|point| point.1).sum::<f64>() / points.len() as f64;
    let grown = trend.slope * (last.0 - first.0);
    let grows = trend.p < GROWTH_SIGNIFICANCE && trend.slope_low > 0.0;
    (grows && grown > GROWTH_SHARE_MIN * mean && grown >= GROWTH_USERS_MIN).then(|| {
        format!(
            "users present grew by {} in the second half of {}: the target does not keep up, or the phase \
             is shorter than a session",
            units::about(grown),
            phase.name
        )
    })
}

/// Figures of the phase in which most operations ended, without what was drained after it: that
/// took no time of the phase.
fn of_main_phase(run: &Run, figures: &Figures) -> Result<Option<TrialFigures>, JudgeError> {
    let measures: Vec<usize> =
        (0..figures.info.measures.len()).filter(|&measure| figures.is_request(measure)).collect();
    let counted = |phase: Option<usize>| {
        let cells = measures.iter().map(|&measure| figures.cell(phase, measure));
        cells.fold((0, 0), |(ended, failed), cell| (ended + cell.ended(), failed + cell.failed()))
    };
    let phases = (0..figures.info.phases.len()).map(|phase| (counted(Some(phase)).0, phase));
    let Some((ended, phase)) = phases.max() else {
        return Ok(None);
    };
    let (response, service) = times_in(run, figures, &measures, phase)?;
    let at = |share: f64| match response.is_empty() {
        true => (0, false),
        false => {
            let found = response.quantile(share);
            (found.value(), found.is_bound())
        }
    };
    let ((p50_ns, p50_is_bound), (p99_ns, p99_is_bound)) = (at(0.5), at(0.99));
    let seconds = figures.seconds(Some(phase));
    let (all, failed) = counted(None);
    Ok((seconds > 0.0 && ended > 0).then(|| {
        let per_s = service.count() as f64 / seconds;
        TrialFigures {
            per_s,
            in_flight: per_s * service.mean() / 1e9,
            service_ns: service.mean(),
            p50_ns,
            p50_is_bound,
            p99_ns,
            p99_is_bound,
            error_share: failed as f64 / all as f64,
        }
    }))
}

/// The response times of all operations of these measures that ended in a phase, its drain excluded, and the service
/// times of those that succeeded.
fn times_in(
    run: &Run,
    figures: &Figures,
    measures: &[usize],
    phase: usize,
) -> Result<(CensoredTimes, LogHistogram), JudgeError> {
    let names = |measures: &[usize]| -> HashSet<String> {
        let infos = measures.iter().map(|&measure| &figures.info.measures[measure]);
        infos.map(|info| info.name.clone()).collect()
    };
    let tags = names(measures);
    let timed = names(&figures.timed(measures.to_vec()));
    let time = &figures.info.phases[phase];
    let mut known = LogHistogram::new();
    let mut unanswered = LogHistogram::new();
    let mut service = LogHistogram::new();
    run.intervals(|interval| {
        if !(time.start_ns..time.end_ns).contains(&interval.start_ns) {
            return;
        }
        let of = |tags: &HashSet<String>, suffix: &str| {
            let name = interval.tag.strip_suffix(suffix);
            name.is_some_and(|name| tags.contains(name))
        };
        if of(&timed, "") || of(&timed, ".failed") {
            known.merge(&interval.hist);
        } else if of(&timed, ".censored") {
            unanswered.merge(&interval.hist);
        } else if of(&tags, ".service") {
            service.merge(&interval.hist);
        }
    })?;
    Ok((CensoredTimes::new(&known, &unanswered), service))
}

#[cfg(test)]
mod tests;
