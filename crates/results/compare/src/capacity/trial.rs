//! One run at one load.

use std::collections::HashSet;

use record::Run;
use record::schema::{Finding, Severity, Summary, UsersSummary, Verdict};
use serde::{Deserialize, Serialize};
use stats::censored::Quantile;
use stats::hist::LogHistogram;

use judge::{Figures, JudgeError, fails_to_keep_up};

use super::Aim;
use super::sustained::unsustained;
use super::threshold::{TrialThreshold, TrialThresholds};

/// Fatal findings that are the target's doing: such a run breaks, whatever else it is.
const TARGETS_DOING: &[&str] = &["target-limit"];

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
    /// The thresholds with their own figures; empty where there are none.
    #[serde(default)]
    pub thresholds: Vec<TrialThreshold>,
    /// True of a run that was longer than the scenario says, to confirm that the load is sustained.
    #[serde(default)]
    pub is_longer: bool,
    /// The most users present at once, if the search is for them; `None`: it is for another load, or nothing ran.
    #[serde(default)]
    pub present_max: Option<u64>,
}

/// Figures of a run: rates and times in service from the phase in which most operations ended, percentiles and errors from
/// the whole run, as thresholds take them.
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
    /// The summary's `error_rate`: the share that failed in the whole run.
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
        Trial {
            load,
            outcome,
            run: None,
            why: Vec::new(),
            figures: None,
            margins: Vec::new(),
            thresholds: Vec::new(),
            is_longer: false,
            present_max: None,
        }
    }

    pub(super) fn breaks(&self) -> bool {
        self.outcome == Outcome::Breaks
    }

    /// The threshold that is nearest to its limit, or furthest beyond it; `None` where none has a margin.
    pub fn nearest(&self) -> Option<&TrialThreshold> {
        let margins = self.margins.iter().enumerate();
        let known = margins.filter_map(|(number, margin)| Some((number, (*margin)?)));
        let (number, _) = known.max_by(|a, b| a.1.total_cmp(&b.1))?;
        self.thresholds.get(number)
    }

    /// True if a run with this share of its operations has enough of them for the percentiles of all thresholds.
    pub(super) fn has_enough(&self, share: f64) -> bool {
        let mut of_percentiles = self.thresholds.iter().filter(|one| one.operations > 0);
        of_percentiles.all(|one| one.operations as f64 * share >= one.operations_min as f64)
    }
}

/// Judges a run at this load.
///
/// # Errors
/// If the run's record cannot be read.
pub fn judge_trial(load: f64, run: &Run, summary: &Summary, aim: Aim) -> Result<Trial, JudgeError> {
    let fatal: Vec<_> =
        summary.findings.iter().filter(|finding| finding.severity == Severity::Fatal).collect();
    let by_target = fatal.iter().any(|finding| TARGETS_DOING.contains(&&*finding.code));
    let figures = Figures::read(run)?;
    let evaluated = TrialThresholds::of(run, &figures, summary);
    let unsustained = unsustained(&figures, evaluated.errors_max, aim);
    let left = match aim {
        Aim::Finished => None,
        Aim::Present => left(&summary.users, evaluated.errors_max),
    };
    let signs = summary.findings.iter().filter(|finding| breaks(finding));
    let signs = signs.map(|finding| finding.text.clone()).chain(unsustained).chain(left);
    let signs: Vec<String> = signs.collect();
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
    let name = run.path().file_name();
    Ok(Trial {
        load,
        outcome,
        run: name.map(|name| name.to_string_lossy().into_owned()),
        why,
        figures: measured(run, &figures, summary)?,
        margins: evaluated.margins,
        thresholds: evaluated.thresholds,
        is_longer: false,
        present_max: (aim == Aim::Present).then_some(summary.users.peak),
    })
}

/// The reason why users that are to stay did not, if more than this share of their sessions failed.
fn left(users: &UsersSummary, share_max: f64) -> Option<String> {
    let share = users.failed as f64 / users.sessions.max(1) as f64;
    (share > share_max).then(|| {
        format!(
            "users did not stay: {} of {} sessions failed",
            units::count(users.failed),
            units::count(users.sessions)
        )
    })
}

/// True if a longer one of these trials broke: shorter ones that held were too short to show it.
pub(super) fn longer_broke<'t>(trials: impl IntoIterator<Item = &'t Trial>) -> bool {
    trials.into_iter().any(|trial| trial.is_longer && trial.breaks())
}

/// Findings with which a load does not hold, whatever the thresholds say: the target did not keep up, or a
/// part of the scenario was not tried.
fn breaks(finding: &Finding) -> bool {
    finding.fails_run() || fails_to_keep_up(finding) || finding.code == "steps-not-reached"
}

/// Throughput and time in service in the phase in which most operations ended, without what was drained after it: that
/// took no time of the phase. Percentiles and errors are of the whole run, as those of thresholds are.
fn measured(
    run: &Run,
    figures: &Figures,
    summary: &Summary,
) -> Result<Option<TrialFigures>, JudgeError> {
    let measures: Vec<usize> =
        (0..figures.info.measures.len()).filter(|&measure| figures.is_request(measure)).collect();
    let ended_in = |phase: usize| {
        measures.iter().map(|&measure| figures.cell(Some(phase), measure).ended()).sum::<u64>()
    };
    let phases = (0..figures.info.phases.len()).map(|phase| (ended_in(phase), phase));
    let Some((ended, phase)) = phases.max() else {
        return Ok(None);
    };
    let service = service_in(run, figures, &measures, phase)?;
    let response = figures.responses(&figures.timed(measures.clone()));
    let at = |share: f64| match response.is_empty() {
        true => Quantile::At(0),
        false => response.quantile(share),
    };
    let p50 = at(0.5);
    let p99 = at(0.99);
    let seconds = figures.seconds(Some(phase));
    Ok((seconds > 0.0 && ended > 0).then(|| {
        let per_s = service.count() as f64 / seconds;
        TrialFigures {
            per_s,
            in_flight: per_s * service.mean() / 1e9,
            service_ns: service.mean(),
            p50_ns: p50.value(),
            p50_is_bound: p50.is_bound(),
            p99_ns: p99.value(),
            p99_is_bound: p99.is_bound(),
            error_share: summary.operations.error_rate.unwrap_or(0.0),
        }
    }))
}

/// The service times of the operations of these measures that succeeded in a phase, its drain excluded.
fn service_in(
    run: &Run,
    figures: &Figures,
    measures: &[usize],
    phase: usize,
) -> Result<LogHistogram, JudgeError> {
    let infos = measures.iter().map(|&measure| &figures.info.measures[measure]);
    let names: HashSet<&str> = infos.map(|info| info.name.as_str()).collect();
    let time = &figures.info.phases[phase];
    let mut service = LogHistogram::new();
    run.intervals(|interval| {
        let name = interval.tag.strip_suffix(".service");
        let is_own = name.is_some_and(|name| names.contains(name));
        if is_own && (time.start_ns..time.end_ns).contains(&interval.start_ns) {
            service.merge(&interval.hist);
        }
    })?;
    Ok(service)
}
