//! Result of a duet; `docs/comparing.md` is the reference of its JSON.

use record::schema::{Finding, Severity};
use serde::{Deserialize, Serialize};

use super::Interleave;
use crate::disturbed::{DisturbedBlock, disturbed_findings};
use crate::options::Primary;
use crate::verdict::{percent, percent_bounds, signed_percent};
use crate::{Acceptance, Figure};

/// Version of the JSON.
pub const DUET_FORMAT: u32 = 1;
/// Steps that a sentence names.
const NAMES_MAX: usize = 5;
/// A target that is slower by more than this beside itself is not measured fairly at once.
const DISTURBANCE_MAX: f64 = 0.1;

/// The verdict on a step, or on all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DuetVerdict {
    /// The difference is below what matters, in either direction.
    NoDifference,
    /// Times are longer.
    Slower,
    /// Times are shorter.
    Faster,
    /// A greater share of operations failed, whatever the times of the others.
    MoreErrors,
    /// Nothing of this is certain yet.
    Undecided,
}

impl DuetVerdict {
    /// `slower`, `undecided`, ….
    pub fn name(self) -> &'static str {
        match self {
            DuetVerdict::NoDifference => "no difference",
            DuetVerdict::Slower => "slower",
            DuetVerdict::Faster => "faster",
            DuetVerdict::MoreErrors => "more errors",
            DuetVerdict::Undecided => "undecided",
        }
    }

    /// Whether a continuous integration job should accept the change.
    pub fn acceptance(self) -> Acceptance {
        match self {
            DuetVerdict::NoDifference | DuetVerdict::Faster => Acceptance::Accepted,
            DuetVerdict::Slower | DuetVerdict::MoreErrors => Acceptance::Rejected,
            DuetVerdict::Undecided => Acceptance::Undecided,
        }
    }
}

/// A duet's result after some pairs. All intervals hold at once, and at every look, with confidence 1 − α.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DuetResult {
    /// [`DUET_FORMAT`].
    pub format: u32,
    /// The verdict on all steps together.
    pub verdict: DuetVerdict,
    /// The decision in one sentence, without a full stop.
    pub sentence: String,
    /// The probability of any false decision at any look.
    pub alpha: f64,
    /// The smallest relative difference that matters.
    pub difference: f64,
    /// How the blocks of a pair followed each other.
    pub interleave: Interleave,
    /// The figure of each step that has enough operations for it.
    pub primary: Primary,
    /// Pairs that count.
    pub pairs: u64,
    /// About how many pairs decide; `None` before the second.
    pub pairs_expected: Option<u64>,
    /// Steps with enough operations, in the order of the runs.
    pub steps: Vec<DuetStep>,
    /// Failed operations of all steps.
    pub errors: DuetErrors,
    /// The old target against itself; `None` if that was not tried.
    pub self_check: Option<SelfCheck>,
    /// The most important first.
    pub findings: Vec<Finding>,
    /// All runs in the order in which they were made.
    pub runs: Vec<DuetRun>,
}

impl DuetResult {
    /// The result with the old target's comparison with itself.
    pub fn with_self_check(mut self, check: SelfCheck) -> DuetResult {
        self.findings.extend(of_self_check(&check));
        self.self_check = Some(check);
        self
    }

    /// The result of a duet in which this many pairs could not be made. They do not count, so that a target which fails
    /// now and then is decided by the pairs in which it did not.
    pub fn with_failed_pairs(mut self, failed: u64) -> DuetResult {
        if failed > 0 {
            let pairs = units::counted(failed, "pair");
            let text =
                format!("{pairs} could not be made and did not count: a run failed or was aborted");
            let finding = judge::finding(Severity::Warning, "pairs-failed", text).done();
            self.findings.insert(0, finding);
        }
        self
    }

    /// The result of a duet in which these pairs were disturbed.
    pub fn with_disturbed_pairs(mut self, disturbed: &[DisturbedBlock]) -> DuetResult {
        self.findings.splice(0..0, disturbed_findings(disturbed, "pair"));
        self
    }
}

/// How the old target differs from itself, by the step that scatters most, and what running at once does to it.
fn of_self_check(check: &SelfCheck) -> Vec<Finding> {
    let mut found = Vec::new();
    if let Some(most) = check.steps.iter().max_by(|a, b| a.scatter.total_cmp(&b.scatter)) {
        let text = format!(
            "the old target against itself, {}: pairs scatter by {} ({})",
            units::counted(check.pairs, "pair"),
            percent(most.scatter.exp_m1()),
            most.name
        );
        found.push(judge::finding(Severity::Note, "self-check", text).done());
    }
    let size = |one: &StepScatter| one.shift.abs();
    if let Some(most) = check.disturbance.iter().max_by(|a, b| size(a).total_cmp(&size(b))) {
        let severity =
            if size(most) > DISTURBANCE_MAX { Severity::Warning } else { Severity::Note };
        let text = format!(
            "two targets at once disturb each other: {} takes {} longer beside itself than alone",
            most.name,
            percent(most.shift)
        );
        found.push(judge::finding(severity, "disturbance", text).done());
    }
    found
}

/// A step of a duet.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DuetStep {
    /// As in `run.json`.
    pub name: String,
    /// As in `run.json`.
    pub kind: String,
    /// The verdict on this step alone.
    pub verdict: DuetVerdict,
    /// The verdict with its figures, for people.
    pub text: String,
    /// The figure that is compared: the mean if a block of the first pair has too few operations for the quantile.
    pub figure: Figure,
    /// Pairs in which all blocks have the step's figure.
    pub pairs: u64,
    /// Operations that succeeded in all blocks together.
    pub operations: u64,
    /// Mean of the old target's figure over pairs, nanoseconds.
    pub old_ns: Option<f64>,
    /// Mean of the new target's figure over pairs, nanoseconds.
    pub new_ns: Option<f64>,
    /// The relative difference: Hodges and Lehmann's estimate from the differences of logarithms.
    pub change: Option<f64>,
    /// Interval of the relative difference; `None` as long as a side of it is open.
    pub interval: Option<(f64, f64)>,
    /// The anytime-valid p-value of no difference, for this step alone.
    pub p: f64,
    /// The relative difference in each pair, in their order.
    pub differences: Vec<f64>,
}

/// Failed operations of both targets.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct DuetErrors {
    /// Share of the old target's operations.
    pub old: f64,
    /// Share of the new target's operations.
    pub new: f64,
    /// The anytime-valid p-value of no difference.
    pub p: f64,
    /// True if more failed, corrected for all steps.
    pub rose: bool,
    /// True if more failed without this correction, which is enough beside an improvement.
    pub may_have_risen: bool,
    /// True if errors decide nothing.
    pub allowed: bool,
}

/// The old target against itself, in the same order of blocks.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SelfCheck {
    /// Pairs.
    pub pairs: u64,
    /// How each step's differences scatter.
    pub steps: Vec<StepScatter>,
    /// By how much each step is slower if both targets run at once than alone; empty unless they do.
    pub disturbance: Vec<StepScatter>,
}

/// How a step's differences scatter.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StepScatter {
    /// The step's name.
    pub name: String,
    /// Standard deviation of the differences of logarithms.
    pub scatter: f64,
    /// The relative difference itself.
    pub shift: f64,
}

/// The role of a run in a duet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DuetSide {
    /// The old target in a pair.
    Old,
    /// The new target in a pair.
    New,
    /// The old target against itself.
    SelfCheck,
    /// The old target alone.
    Alone,
}

/// A run of a duet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DuetRun {
    /// Number of the pair, from 1.
    pub pair: u64,
    /// Its role.
    pub side: DuetSide,
    /// Its directory.
    pub directory: String,
    /// False if its own verdict is that it cannot be trusted.
    pub trusted: bool,
}

/// `slower by 6.1 % (+3.2 to +9.4)`, `no difference above 5 % (-1.2 to +2.3)`, `undecided: +3 % (-2 to +9)`.
pub(super) fn text(step: &DuetStep, difference: f64) -> String {
    let bounds = step.interval.map(|(low, high)| format!(" ({})", percent_bounds(low, high)));
    let bounds = bounds.unwrap_or_default();
    let change = step.change.unwrap_or(0.0);
    match step.verdict {
        DuetVerdict::Slower => format!("slower by {}{bounds}", percent(change)),
        DuetVerdict::Faster => format!("faster by {}{bounds}", percent(-change)),
        DuetVerdict::NoDifference => format!("no difference above {}{bounds}", percent(difference)),
        DuetVerdict::Undecided | DuetVerdict::MoreErrors if step.pairs == 0 => {
            "undecided: no pair yet".to_owned()
        }
        DuetVerdict::Undecided | DuetVerdict::MoreErrors if bounds.is_empty() => {
            format!("undecided: {} so far, without an interval yet", signed_percent(change))
        }
        DuetVerdict::Undecided | DuetVerdict::MoreErrors => {
            format!("undecided: {}{bounds}", signed_percent(change))
        }
    }
}

/// The decision in one sentence.
pub(super) fn sentence(result: &DuetResult) -> String {
    let of = |wanted: DuetVerdict| result.steps.iter().filter(move |one| one.verdict == wanted);
    let clauses = |wanted: DuetVerdict| {
        let all: Vec<String> =
            of(wanted).map(|step| format!("{} is {}", step.name, step.text)).collect();
        let more = all.len().saturating_sub(NAMES_MAX);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("{}{more}", all[..all.len().min(NAMES_MAX)].join(", "))
    };
    let errors = &result.errors;
    let from_to = format!("{} to {}", units::share(errors.old), units::share(errors.new));
    match result.verdict {
        DuetVerdict::MoreErrors if of(DuetVerdict::Faster).next().is_some() => {
            format!("{}, but with more errors: {from_to}", clauses(DuetVerdict::Faster))
        }
        DuetVerdict::MoreErrors => format!("more errors: {from_to}"),
        DuetVerdict::Slower | DuetVerdict::Faster => clauses(result.verdict),
        DuetVerdict::NoDifference => format!(
            "no difference above {} in {}",
            percent(result.difference),
            units::counted(result.steps.len() as u64, "step")
        ),
        DuetVerdict::Undecided => {
            let open: Vec<&str> =
                of(DuetVerdict::Undecided).map(|step| step.name.as_str()).collect();
            let pairs = units::counted(result.pairs, "pair");
            match open.is_empty() {
                true => format!("undecided after {pairs}: no step has enough operations"),
                false => format!("undecided after {pairs}: {}", some(&open)),
            }
        }
    }
}

/// The findings beside the verdict.
pub(super) fn findings(result: &DuetResult, left_out: &[String], untrusted: u64) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut add = |severity: Severity, code: &str, text: String| {
        found.push(judge::finding(severity, code, text).done());
    };
    if untrusted > 0 {
        let pairs = units::counted(untrusted, "pair");
        let text = format!("{pairs} with an untrusted run did not count (`throng show` says why)");
        add(Severity::Warning, "pairs-untrusted", text);
    }
    let errors = &result.errors;
    if errors.may_have_risen && errors.allowed {
        let from_to = format!("{} to {}", units::share(errors.old), units::share(errors.new));
        let text = format!("more errors, which are allowed: {from_to}");
        add(Severity::Warning, "errors-allowed", text);
    }
    if result.interleave == Interleave::Simultaneous {
        let text = "both targets ran at once: that is fair only if they share no database, no queue and no \
                    limit of the network; `--interleave abba` shares nothing but the machine";
        add(Severity::Note, "simultaneous", text.to_owned());
    }
    if !left_out.is_empty() {
        let names: Vec<&str> = left_out.iter().map(String::as_str).collect();
        let text = format!("too few operations in a block, not compared: {}", some(&names));
        add(Severity::Note, "few-operations", text);
    }
    if let Some(expected) = result.pairs_expected {
        let text = format!(
            "about {} decide a difference of {}, by how the pairs scatter; there are {}",
            units::counted(expected, "pair"),
            percent(result.difference),
            units::count(result.pairs)
        );
        add(Severity::Note, "pairs-expected", text);
    }
    found
}

/// The first few names.
fn some(names: &[&str]) -> String {
    let shown = names[..names.len().min(NAMES_MAX)].join(", ");
    match names.len().saturating_sub(NAMES_MAX) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
