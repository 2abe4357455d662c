//! Result of a comparison; `docs/comparing.md` is the reference of its JSON.

use record::schema::{Finding, Severity};
use serde::Serialize;

use super::change::{Change, Rule};
use super::options::Options;
use judge::course::Share;

/// Version of the JSON.
pub const COMPARISON_FORMAT: u32 = 1;

/// The verdict on a measure, or on all. It never says that two things are equal: that cannot be
/// seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Nothing that counts was seen.
    NoDifference,
    /// Times are longer, or fewer operations were completed.
    Slower,
    /// Times are shorter, or more operations were completed, errors being no more.
    Faster,
    /// The distributions differ, neither being slower or faster throughout; or runs fall into
    /// groups.
    ModesDiffer,
    /// A greater share of operations failed, whatever the times of the others.
    MoreErrors,
    /// A smaller share, times being no different.
    FewerErrors,
    /// The data allow no decision.
    Inconclusive,
}

impl Verdict {
    /// `no difference seen`, `slower`, ….
    pub fn name(self) -> &'static str {
        match self {
            Verdict::NoDifference => "no difference seen",
            Verdict::Slower => "slower",
            Verdict::Faster => "faster",
            Verdict::ModesDiffer => "modes differ",
            Verdict::MoreErrors => "more errors",
            Verdict::FewerErrors => "fewer errors",
            Verdict::Inconclusive => "inconclusive",
        }
    }

    /// Whether a continuous integration job should accept the change.
    pub fn acceptance(self) -> Acceptance {
        match self {
            Verdict::NoDifference | Verdict::Faster | Verdict::FewerErrors => Acceptance::Accepted,
            Verdict::Slower | Verdict::MoreErrors | Verdict::ModesDiffer => Acceptance::Rejected,
            Verdict::Inconclusive => Acceptance::Undecided,
        }
    }

    /// The measure with the greatest weight decides the overall verdict. An inconclusive measure
    /// never outweighs the others.
    pub(crate) fn weight(self) -> u32 {
        match self {
            Verdict::Inconclusive => 0,
            Verdict::NoDifference => 1,
            Verdict::FewerErrors => 2,
            Verdict::Faster => 3,
            Verdict::ModesDiffer => 4,
            Verdict::Slower => 5,
            Verdict::MoreErrors => 6,
        }
    }
}

/// Consequence of a verdict for a pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Acceptance {
    /// No difference, or an improvement.
    Accepted,
    /// Worse, or different in shape.
    Rejected,
    /// The data allow no decision.
    Undecided,
}

/// A comparison of runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// [`COMPARISON_FORMAT`].
    pub format: u32,
    /// The verdict on all measures together.
    pub verdict: Verdict,
    /// What has to be known before the verdict: the machine was not the same for both sides. Without a full stop.
    pub caution: Option<String>,
    /// The decision in one sentence, without a full stop.
    pub sentence: String,
    /// Observations that the decision rests on; `None` if all runs were compared with each other,
    /// without a baseline.
    pub rule: Option<Rule>,
    /// The options of the comparison.
    pub options: Options,
    /// The measures that differ, those with the greatest relative change first; empty without a baseline.
    pub changed: Vec<ChangedMeasure>,
    /// The figures that do not differ; `None` without a baseline, and if nothing was decided of any figure.
    pub unchanged: Option<Unchanged>,
    /// Failures by what they were, as far as one side has more of them, those first that count; empty without a
    /// baseline, and if the records do not say.
    pub errors: Vec<ErrorChange>,
    /// The most important first.
    pub findings: Vec<Finding>,
    /// All runs; a place in this list is its number elsewhere.
    pub runs: Vec<ComparedRun>,
    /// Measures that all runs have, in the order of the first run.
    pub measures: Vec<ComparedMeasure>,
}

/// Codes of findings on figures and failures, whose content a comparison has in its sentence, its changes and its lists.
const LISTED: &[&str] = &[
    "slower",
    "faster",
    "more-errors",
    "fewer-errors",
    "modes-differ",
    "no-difference",
    "errors-rose",
    "errors-fell",
];

impl Comparison {
    /// The findings that a reader needs beside the sentence, the changes and the failures: warnings, and why nothing was
    /// decided.
    pub fn remarks(&self) -> impl Iterator<Item = &Finding> {
        self.beside().filter(|found| is_remark(found))
    }

    /// The other findings that are not listed elsewhere: what could have been seen, and how it was decided.
    pub fn notes(&self) -> impl Iterator<Item = &Finding> {
        self.beside().filter(|found| !is_remark(found))
    }

    /// The findings that no list has, nor the sentence. Runs without a baseline have no changes.
    fn beside(&self) -> impl Iterator<Item = &Finding> {
        let has_changes = self.rule.is_some();
        let is_listed = move |found: &Finding| {
            has_changes && LISTED.contains(&found.code.as_str()) || found.text == self.sentence
        };
        self.findings.iter().filter(move |found| !is_listed(found))
    }
}

fn is_remark(finding: &Finding) -> bool {
    matches!(finding.severity, Severity::Fatal | Severity::Warning)
}

/// A measure that differs between the sides.
#[derive(Debug, Clone, PartialEq, Serialize, ts_rs::TS)]
pub struct ChangedMeasure {
    /// Index into [`Comparison::measures`].
    pub measure: usize,
    /// Index of the figure that the verdict names first into the measure's changes.
    pub change: usize,
    /// The verdict on the measure, and the other figures that changed, in one sentence.
    pub text: String,
}

/// Figures without a difference.
#[derive(Debug, Clone, PartialEq, Serialize, ts_rs::TS)]
pub struct Unchanged {
    /// Figures in which no difference counts.
    pub figures: u64,
    /// In one sentence, with the differences that would have been seen if that is known.
    pub text: String,
}

/// In which way failures differ from side to side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ts_rs::TS)]
#[serde(rename_all = "snake_case")]
pub enum ErrorTrend {
    /// The baseline has none.
    New,
    /// The candidate has none.
    Gone,
    /// Both have some, the candidate more.
    More,
    /// Both have some, the candidate fewer.
    Fewer,
}

impl ErrorTrend {
    /// `new`, `gone`, `more`, `fewer`.
    pub fn name(self) -> &'static str {
        match self {
            ErrorTrend::New => "new",
            ErrorTrend::Gone => "gone",
            ErrorTrend::More => "more",
            ErrorTrend::Fewer => "fewer",
        }
    }

    /// True if the candidate has more.
    pub fn is_rise(self) -> bool {
        matches!(self, ErrorTrend::New | ErrorTrend::More)
    }
}

/// Failures of one kind with one detail at one step, on both sides.
#[derive(Debug, Clone, PartialEq, Serialize, ts_rs::TS)]
pub struct ErrorChange {
    /// The step's name.
    pub step: String,
    /// [`record::Outcome::name`].
    pub kind: String,
    /// As in [`record::schema::ErrorCount::detail`].
    pub detail: Option<String>,
    /// In the words of people: `status 503 at checkout`.
    pub name: String,
    /// True of shares of the step's operations that ended; false of failures by run, where the step is no operation.
    pub is_share: bool,
    /// Mean over the baseline's runs.
    pub baseline: f64,
    /// Mean over the candidate's runs.
    pub candidate: f64,
    /// In which way they differ.
    pub trend: ErrorTrend,
    /// The p-value by the rule, for these failures alone.
    pub p: f64,
    /// Corrected together with all figures; of single runs for all failures.
    pub p_adjusted: f64,
    /// `p_adjusted` is at most α.
    pub seen: bool,
    /// Seen, and greater than the tolerance.
    pub counts: bool,
}

impl ErrorChange {
    /// True if it is worth a line: it was seen, or one side has none of these failures.
    pub fn is_listed(&self) -> bool {
        self.seen || matches!(self.trend, ErrorTrend::New | ErrorTrend::Gone)
    }

    /// The value of a side: `4.20 %`, `42 a run`.
    pub fn shown(&self, value: f64) -> String {
        match self.is_share {
            true => units::share(value),
            false => {
                let text = units::significant(value, 3);
                let short = text.trim_end_matches('0').trim_end_matches('.');
                format!("{} a run", if text.contains('.') { short } else { &text })
            }
        }
    }
}

/// Which side a run is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ts_rs::TS)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// The runs that are compared with.
    Baseline,
    /// The runs that are judged; every run if there is no baseline.
    Candidate,
}

/// A run that was compared.
#[derive(Debug, Clone, PartialEq, Serialize, ts_rs::TS)]
pub struct ComparedRun {
    /// `B1`, `C1`, … (`R1`, … without a baseline).
    pub label: String,
    /// Which side it is on.
    pub side: Side,
    /// The run's id.
    pub id: String,
    /// The run's directory as it was given.
    pub directory: String,
    /// The system under load.
    pub target: String,
    /// The run's zero, since the Unix epoch.
    pub started_unix_ns: u64,
    /// How much of it was compared.
    pub seconds: f64,
    /// False where the record does not say when operations started; then `seconds` means nothing.
    pub timed: bool,
    /// False where its own verdict is that it cannot be trusted.
    pub trusted: bool,
}

/// Source of a measure's times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// `requests.parquet`: each of them, exact.
    Rows,
    /// `latency.hlog`: counted in buckets.
    Histograms,
}

impl Source {
    /// No time is farther from the truth than this share of it.
    pub fn error_bound(self) -> f64 {
        match self {
            Source::Rows => 0.0,
            // Half a bucket, which is at most 1/1024 of its numbers wide.
            Source::Histograms => 1.0 / 2048.0,
        }
    }
}

/// A measure of all runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComparedMeasure {
    /// As in `run.json`.
    pub name: String,
    /// As in `run.json`.
    pub kind: String,
    /// The verdict on this measure alone.
    pub verdict: Verdict,
    /// The verdict with its figures, for people.
    pub text: String,
    /// The source of its times.
    pub source: Source,
    /// [`Source::error_bound`].
    pub error_bound: f64,
    /// The figures by run.
    pub runs: Vec<RunFigures>,
    /// How its figures differ between the sides; empty without a baseline.
    pub changes: Vec<Change>,
    /// Tests that take all operations of a side for one sample; `None` without a baseline, or where
    /// nothing was measured.
    pub evidence: Option<Evidence>,
    /// How operations of a run hang together in time, by run; empty where the order is not known.
    pub serial: Vec<Serial>,
    /// Runs tested pair by pair on their samples.
    pub direct: Option<Similarity>,
    /// Runs tested pair by pair by the published pipeline: median filter, distribution function on
    /// bins, splines; `None` where the order of operations is not known.
    pub published: Option<Similarity>,
    /// Into how many bins that took the times.
    pub published_bins: Option<u64>,
    /// Peaks of the distribution of each side (of all runs where there is no baseline).
    pub modes: Vec<SideModes>,
    /// How many runs would show the difference requested.
    pub detect: Vec<Detect>,
    /// Curves that pictures are drawn from, if they were requested.
    #[serde(skip)]
    pub curves: Option<Curves>,
}

/// The figures of a measure in one run.
#[derive(Debug, Clone, PartialEq, Serialize, ts_rs::TS)]
pub struct RunFigures {
    /// Operations that succeeded.
    pub count: u64,
    /// Operations that the target completed, with success or with a failure, per second of the load; `None` where the
    /// record does not say when they started.
    pub rate: Option<f64>,
    /// Share of operations that failed; `None` if the record does not have it.
    pub error_rate: Option<f64>,
    /// The response times of all operations, as `throng show` states them; `None` if none failed, and of
    /// service times, which only operations that succeeded have.
    pub all: Option<AllOperations>,
    /// Nanoseconds; `None` where none succeeded.
    pub mean_ns: Option<f64>,
    /// The chosen quantiles, nanoseconds; empty where none succeeded.
    pub quantiles_ns: Vec<f64>,
}

/// Response times of all operations of a run, those that failed included. Operations that were never
/// answered took at least as long as they were waited for: what falls among them is a lower bound
/// (Kaplan and Meier 1958).
#[derive(Debug, Clone, PartialEq, Serialize, ts_rs::TS)]
pub struct AllOperations {
    /// How many ended.
    pub count: u64,
    /// Operations among these that were never answered.
    pub unanswered: u64,
    /// The chosen quantiles, nanoseconds.
    pub quantiles_ns: Vec<u64>,
    /// True for each quantile that is a lower bound.
    pub is_bound: Vec<bool>,
}

/// Tests that take operations for the unit, all runs of a side together. They say how the two
/// samples differ, not whether other runs would: the decision does not rest on them.
#[derive(Debug, Clone, PartialEq, Serialize, ts_rs::TS)]
pub struct Evidence {
    /// Two-sample Kolmogorov–Smirnov.
    pub ks: Test,
    /// k-sample Anderson–Darling (Scholz and Stephens 1987).
    pub ad: Test,
    /// Mann–Whitney.
    pub mann_whitney: Test,
    /// Hodges–Lehmann: the median of all differences candidate − baseline, nanoseconds.
    pub shift_ns: f64,
    /// Interval of the shift, with confidence 1 − α; `None` if there are too few operations.
    pub shift_interval_ns: Option<(f64, f64)>,
    /// Cliff's delta: P(candidate is longer) − P(candidate is shorter), −1 to 1.
    pub cliffs_delta: f64,
    /// Interval of Cliff's delta, with confidence 1 − α.
    pub cliffs_delta_interval: (f64, f64),
    /// Differences of the chosen quantiles, by bootstrap.
    pub quantiles: Vec<QuantileChange>,
}

/// The difference of a quantile with an interval by bootstrap: of runs and of operations within
/// them where each side has several, else of operations.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, ts_rs::TS)]
pub struct QuantileChange {
    /// Which, 0 to 1.
    pub q: f64,
    /// Candidate minus baseline, nanoseconds.
    pub difference_ns: f64,
    /// With confidence 1 − α; `None` where there are too few runs or operations.
    pub interval_ns: Option<(f64, f64)>,
}

/// A test's outcome.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, ts_rs::TS)]
pub struct Test {
    /// As the test defines it.
    pub statistic: f64,
    /// Alone.
    pub p: f64,
    /// Corrected for all measures by the correction of the options.
    pub p_adjusted: f64,
}

/// How the operations of a run hang together in time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, ts_rs::TS)]
pub struct Serial {
    /// Operations.
    pub count: u64,
    /// Independent ones that would say as much about the mean.
    pub effective: f64,
}

/// Pairs of runs that were tested, and the groups they fall into.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Similarity {
    /// Every pair of runs.
    pub pairs: Vec<Pair>,
    /// Maximal cliques of the graph with an edge where the Kolmogorov–Smirnov test sees no
    /// difference: modes of behaviour. Runs by number; a run may be in several.
    pub ks_cliques: Vec<Vec<usize>>,
    /// Cliques by the Anderson–Darling test.
    pub ad_cliques: Vec<Vec<usize>>,
    /// True where there are more cliques than were listed.
    pub cut_off: bool,
}

/// A pair of runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, ts_rs::TS)]
pub struct Pair {
    /// Number of the one.
    pub a: usize,
    /// Number of the other.
    pub b: usize,
    /// Two-sample Kolmogorov–Smirnov.
    pub ks: PairTest,
    /// Two-sample Anderson–Darling.
    pub ad: PairTest,
}

/// A test of a pair of runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, ts_rs::TS)]
pub struct PairTest {
    /// As the test defines it, on all operations.
    pub statistic: f64,
    /// As if all operations were independent.
    pub p: f64,
    /// The p-value of so few operations, evenly spaced, that they can be taken for independent.
    pub p_effective: f64,
    /// `p_effective`, corrected for all pairs by the correction of the options.
    pub p_adjusted: f64,
    /// No difference is seen at the level, or none beyond the tolerance.
    pub alike: bool,
}

/// Peaks of a distribution.
#[derive(Debug, Clone, PartialEq, Serialize, ts_rs::TS)]
pub struct SideModes {
    /// The side.
    pub side: Side,
    /// The peaks, from the shortest time.
    pub peaks: Vec<Peak>,
}

/// A peak: a mode of one distribution.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, ts_rs::TS)]
pub struct Peak {
    /// The time at which the density is highest, nanoseconds.
    pub at_ns: f64,
    /// Share of all operations between the valleys around it.
    pub share: f64,
}

/// How many runs would show a difference.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, ts_rs::TS)]
pub struct Detect {
    /// The figure whose difference is to be detected.
    #[ts(type = "string")]
    pub figure: super::Figure,
    /// How runs of one thing scatter: the deviation of the figure's logarithm.
    pub scatter: f64,
    /// Runs a side that would show the difference requested four times in five; `None` where more
    /// than can be counted are needed.
    pub runs: Option<u64>,
    /// The further runs needed.
    pub more: Option<u64>,
    /// The least difference that the runs there are would show four times in five, as a share of the baseline; never
    /// less than the tolerance.
    pub share: Option<f64>,
    /// The same with twice as many runs on each side.
    pub share_doubled: Option<f64>,
}

/// The curves of a measure.
#[derive(Debug, Clone, PartialEq, Serialize, ts_rs::TS)]
pub struct Curves {
    /// The distribution function of each run; empty of too many runs.
    pub runs: Vec<Vec<Share>>,
    /// The distribution function of each side's operations together; of all runs if there is no
    /// baseline.
    pub sides: Vec<(Side, Vec<Share>)>,
    /// Differences of quantiles from the 5th to the 99th percentile, and of the 99.9th where there
    /// are operations for it; empty without a baseline.
    pub differences: Vec<QuantileChange>,
    /// The baseline's quantiles that these are from, mean over its runs, nanoseconds.
    pub baseline_ns: Vec<f64>,
}
