//! Two targets under the same crowd, in pairs of runs, with a decision that is valid after each pair.
//!
//! ```text
//! blocks ─figures→ one primary figure a step and block ─pair→ difference of logarithms
//!                                                          └─stats::sequential→ interval, valid now → verdict
//! ```
//! A block is one run of one target. What the members of a pair share is not in their difference: the machine of that minute,
//! and the users, who are the same by their seed. The order in a pair is drawn, which is what the level rests on.

mod figures;
mod result;

use stats::sequential::{Decision, PairedDifferences, most_expected};

use super::Figure;
use super::options::Options;

use figures::StepFigure;

pub use figures::{BlockFigures, StepFigures};
pub use result::{
    DUET_FORMAT, DuetErrors, DuetResult, DuetRun, DuetSide, DuetStep, DuetVerdict, SelfCheck,
    StepScatter,
};

/// Fewest operations that a step needs in each block of the first pair.
const OPERATIONS_MIN: u64 = 20;

/// How the blocks of a pair follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Interleave {
    /// Both targets at once, on halves of the cores that are drawn for each pair.
    Simultaneous,
    /// One after the other, in an order that is drawn for each pair.
    Ab,
    /// Old, new, new, old, or the reverse, as drawn: a drift that is steady cancels out.
    Abba,
}

impl Interleave {
    /// `simultaneous`, `ab`, `abba`.
    pub fn name(self) -> &'static str {
        match self {
            Interleave::Simultaneous => "simultaneous",
            Interleave::Ab => "ab",
            Interleave::Abba => "abba",
        }
    }

    /// Blocks of each target in a pair.
    pub fn blocks_count(self) -> usize {
        match self {
            Interleave::Simultaneous | Interleave::Ab => 1,
            Interleave::Abba => 2,
        }
    }
}

/// What a duet decides, and how.
#[derive(Debug, Clone, PartialEq)]
pub struct DuetSettings {
    /// The smallest relative difference that matters.
    pub difference: f64,
    /// How the blocks follow each other.
    pub interleave: Interleave,
    /// Which figures are read of a block, and the level of all decisions together.
    pub how: Options,
}

/// The blocks of one pair, as many of each target.
#[derive(Debug, Clone, PartialEq)]
pub struct BlockPair {
    /// Blocks of the old target.
    pub old: Vec<BlockFigures>,
    /// Blocks of the new target.
    pub new: Vec<BlockFigures>,
}

impl BlockPair {
    fn blocks(&self) -> impl Iterator<Item = &BlockFigures> {
        self.old.iter().chain(&self.new)
    }

    fn is_trusted(&self) -> bool {
        self.blocks().all(|block| block.trusted)
    }
}

/// The differences of a step so far.
#[derive(Debug, Clone, PartialEq)]
struct StepSequence {
    name: String,
    kind: String,
    figure: StepFigure,
    differences: PairedDifferences,
    /// Sums of the figure over pairs, nanoseconds.
    old_ns: f64,
    new_ns: f64,
    operations: u64,
}

impl StepSequence {
    fn new(step: &StepFigures, figure: StepFigure) -> StepSequence {
        StepSequence {
            name: step.name.clone(),
            kind: step.kind.clone(),
            figure,
            differences: PairedDifferences::new(),
            old_ns: 0.0,
            new_ns: 0.0,
            operations: 0,
        }
    }

    /// Adds the pair, if all of its blocks have the step's figure.
    fn add(&mut self, pair: &BlockPair) {
        let of = |blocks: &[BlockFigures]| -> Option<StepMeans> {
            let steps: Option<Vec<&StepFigures>> =
                blocks.iter().map(|block| block.step(&self.name)).collect();
            StepMeans::of(&steps?, self.figure)
        };
        let (Some(old), Some(new)) = (of(&pair.old), of(&pair.new)) else {
            return;
        };
        self.differences.push(new.log_ns - old.log_ns);
        self.old_ns += old.figure_ns;
        self.new_ns += new.figure_ns;
        self.operations += old.operations + new.operations;
    }
}

/// A step's means over the blocks of one target in a pair.
struct StepMeans {
    log_ns: f64,
    figure_ns: f64,
    operations: u64,
}

impl StepMeans {
    /// `None` of no block, or if one has no such figure.
    fn of(steps: &[&StepFigures], figure: StepFigure) -> Option<StepMeans> {
        let times_ns: Option<Vec<f64>> = steps.iter().map(|step| step.figure_ns(figure)).collect();
        let times_ns = times_ns.filter(|times_ns| !times_ns.is_empty())?;
        let count = times_ns.len() as f64;
        Some(StepMeans {
            log_ns: times_ns.iter().map(|ns| ns.ln()).sum::<f64>() / count,
            figure_ns: times_ns.iter().sum::<f64>() / count,
            operations: steps.iter().map(|step| step.operations).sum(),
        })
    }
}

/// A duet as far as its pairs are known.
#[derive(Debug, Clone, PartialEq)]
pub struct Duet {
    settings: DuetSettings,
    /// The steps of the first pair with enough operations; `None` before it.
    steps: Option<Vec<StepSequence>>,
    /// Steps that have too few operations.
    left_out: Vec<String>,
    /// Differences of the share of operations that failed, by the arcsine of their root (Bartlett 1947).
    errors: PairedDifferences,
    old_failures: figures::Failures,
    new_failures: figures::Failures,
    untrusted: u64,
}

impl Duet {
    /// A duet without a pair.
    pub fn new(settings: DuetSettings) -> Duet {
        Duet {
            settings,
            steps: None,
            left_out: Vec::new(),
            errors: PairedDifferences::new(),
            old_failures: figures::Failures::default(),
            new_failures: figures::Failures::default(),
            untrusted: 0,
        }
    }

    /// Adds the next pair. One with a block that cannot be trusted does not count: `false`.
    pub fn add(&mut self, pair: &BlockPair) -> bool {
        if !pair.is_trusted() {
            self.untrusted += 1;
            return false;
        }
        if self.steps.is_none() {
            self.begin(pair);
        }
        for step in self.steps.iter_mut().flatten() {
            step.add(pair);
        }
        let old = figures::Failures::of(&pair.old);
        let new = figures::Failures::of(&pair.new);
        self.errors.push(new.angle() - old.angle());
        self.old_failures.add(old);
        self.new_failures.add(new);
        true
    }

    /// Chooses the steps and their figures: before any difference is known, so that the choice favours none.
    fn begin(&mut self, pair: &BlockPair) {
        let Some(first) = pair.blocks().next() else {
            return;
        };
        let has_enough = |name: &str| {
            let mut blocks = pair.blocks();
            blocks
                .all(|block| block.step(name).is_some_and(|step| step.operations >= OPERATIONS_MIN))
        };
        let (wanted, others): (Vec<&StepFigures>, Vec<&StepFigures>) =
            first.steps.iter().partition(|step| has_enough(&step.name));
        let has_quantile = |name: &str| {
            let mut own = pair.blocks().filter_map(|block| block.step(name));
            own.all(|step| step.quantile_ns.is_some())
        };
        let sequence = |step: &StepFigures| {
            let is_quantile = has_quantile(&step.name);
            let figure = if is_quantile { StepFigure::Quantile } else { StepFigure::Mean };
            StepSequence::new(step, figure)
        };
        self.steps = Some(wanted.into_iter().map(sequence).collect());
        self.left_out = others.into_iter().map(|step| step.name.clone()).collect();
    }

    /// The number of pairs that count.
    pub fn pairs(&self) -> u64 {
        self.errors.len() as u64
    }

    /// Confidence of each step's interval, so that all of them hold together.
    fn confidence(&self) -> f64 {
        let steps = self.steps.as_ref().map_or(1, Vec::len).max(1);
        let tests = steps + usize::from(!self.settings.how.allow_errors);
        1.0 - self.settings.how.alpha / tests as f64
    }

    /// True if another pair would change nothing that matters: a step is worse, or each is decided.
    pub fn is_decided(&self) -> bool {
        let confidence = self.confidence();
        let steps = self.steps.iter().flatten();
        let steps: Vec<DuetVerdict> =
            steps.map(|step| self.step_verdict(step, confidence)).collect();
        // If one is undecided, so is the whole, unless something is worse.
        Duet::verdict(&steps, &self.error_result(confidence)) != DuetVerdict::Undecided
    }

    fn step_verdict(&self, step: &StepSequence, confidence: f64) -> DuetVerdict {
        match step.differences.decision(self.settings.difference.ln_1p(), confidence) {
            Decision::Above => DuetVerdict::Slower,
            Decision::Below => DuetVerdict::Faster,
            Decision::Within => DuetVerdict::NoDifference,
            Decision::Undecided => DuetVerdict::Undecided,
        }
    }

    /// About how many pairs will decide, by the step that scatters most; `None` before the second pair.
    pub fn pairs_expected(&self) -> Option<u64> {
        let steps = self.steps.iter().flatten().map(|step| &step.differences);
        most_expected(steps, self.settings.difference.ln_1p(), self.confidence())
    }

    /// How the differences of each step scatter.
    pub fn scatters(&self) -> Vec<StepScatter> {
        let steps = self.steps.iter().flatten();
        let known = steps.filter_map(|step| {
            let scatter = step.differences.scatter()?;
            let shift = step.differences.estimate()?;
            Some(StepScatter { name: step.name.clone(), scatter, shift: shift.exp_m1() })
        });
        known.collect()
    }

    /// What pairs of the old target with itself say. `alone` has pairs of it alone and beside itself, if both targets run at
    /// once.
    pub fn self_check(itself: &Duet, alone: Option<&Duet>) -> SelfCheck {
        SelfCheck {
            pairs: itself.pairs(),
            steps: itself.scatters(),
            disturbance: alone.map_or(Vec::new(), Duet::scatters),
        }
    }

    /// What is known now.
    pub fn result(&self) -> DuetResult {
        let confidence = self.confidence();
        let steps = self.steps.iter().flatten();
        let steps: Vec<DuetStep> = steps.map(|step| self.step(step, confidence)).collect();
        let errors = self.error_result(confidence);
        let verdicts: Vec<DuetVerdict> = steps.iter().map(|step| step.verdict).collect();
        let verdict = Duet::verdict(&verdicts, &errors);
        let mut result = DuetResult {
            format: DUET_FORMAT,
            verdict,
            sentence: String::new(),
            alpha: self.settings.how.alpha,
            difference: self.settings.difference,
            interleave: self.settings.interleave,
            primary: self.settings.how.primary,
            pairs: self.pairs(),
            pairs_expected: self.pairs_expected(),
            steps,
            errors,
            self_check: None,
            findings: Vec::new(),
            runs: Vec::new(),
        };
        result.findings = result::findings(&result, &self.left_out, self.untrusted);
        result.sentence = result::sentence(&result);
        result
    }

    fn step(&self, step: &StepSequence, confidence: f64) -> DuetStep {
        let pairs = step.differences.len();
        let mean_ns = |sum: f64| (pairs > 0).then(|| sum / pairs as f64);
        let mut found = DuetStep {
            name: step.name.clone(),
            kind: step.kind.clone(),
            verdict: self.step_verdict(step, confidence),
            text: String::new(),
            figure: match step.figure {
                StepFigure::Mean => Figure::Mean,
                StepFigure::Quantile => self.settings.how.primary.figure(),
            },
            pairs: pairs as u64,
            operations: step.operations,
            old_ns: mean_ns(step.old_ns),
            new_ns: mean_ns(step.new_ns),
            change: step.differences.estimate().map(f64::exp_m1),
            interval: relative_interval(&step.differences, confidence),
            p: step.differences.p(0.0),
            differences: step.differences.differences().iter().map(|one| one.exp_m1()).collect(),
        };
        found.text = result::text(&found, self.settings.difference);
        found
    }

    fn error_result(&self, confidence: f64) -> DuetErrors {
        let p = self.errors.p(0.0);
        let old = self.old_failures.share();
        let new = self.new_failures.share();
        let how = &self.settings.how;
        let rose = self.errors.is_above(0.0, confidence) && new > old;
        let may_have_risen = rose || new > old && p <= how.alpha;
        DuetErrors { old, new, p, rose, may_have_risen, allowed: how.allow_errors }
    }

    /// The gravest verdict. What is faster answers for its errors without a correction for the other steps.
    fn verdict(steps: &[DuetVerdict], errors: &DuetErrors) -> DuetVerdict {
        let any = |wanted: DuetVerdict| steps.contains(&wanted);
        let counts = !errors.allowed;
        if counts && (errors.rose || errors.may_have_risen && any(DuetVerdict::Faster)) {
            DuetVerdict::MoreErrors
        } else if any(DuetVerdict::Slower) {
            DuetVerdict::Slower
        } else if steps.is_empty() || any(DuetVerdict::Undecided) {
            DuetVerdict::Undecided
        } else if any(DuetVerdict::Faster) {
            DuetVerdict::Faster
        } else {
            DuetVerdict::NoDifference
        }
    }
}

/// The interval of a relative difference, from differences of logarithms; `None` as long as a side of it is open.
pub(crate) fn relative_interval(
    differences: &PairedDifferences,
    confidence: f64,
) -> Option<(f64, f64)> {
    let interval = differences.interval(confidence);
    let bounds = (interval.low.exp_m1(), interval.high.exp_m1());
    (bounds.0 > -1.0 && bounds.1.is_finite()).then_some(bounds)
}

#[cfg(test)]
mod tests;
