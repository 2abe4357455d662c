//! Which effects of an experiment are certain, with a look after every repetition.
//!
//! In a repetition each combination is run once, in drawn order. An effect there is the mean logarithm of a response at a level
//! of a factor minus that at its first level, over all combinations of the other factors. Whoever exchanged the two levels would
//! have drawn the same order as likely, so what the machine adds to the effect is a fair coin: the rule for pairs of a
//! [duet](crate::duet) holds, with its level over all looks.

use record::schema::{Finding, Severity};
use serde::{Deserialize, Serialize};
use stats::finite::is_measurable;
use stats::sequential::{Decision, PairedDifferences, most_expected};

use super::{Data, Row};
use crate::duet::relative_interval;
use crate::verdict::{percent, percent_bounds, signed_percent};

/// Effects that a sentence names.
const NAMES_MAX: usize = 5;

/// When an experiment ends whose number of repetitions is open.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct UntilDecided {
    /// The smallest relative difference that matters.
    pub difference: f64,
}

/// What is certain of an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectVerdict {
    /// The response is higher at the level, and the estimate is as large as what matters.
    Higher,
    /// It is lower.
    Lower,
    /// It differs by less than what matters, in either direction.
    NoDifference,
    /// Nothing of this is certain yet.
    Undecided,
}

impl EffectVerdict {
    /// `higher`, `no difference`, ….
    pub fn name(self) -> &'static str {
        match self {
            EffectVerdict::Higher => "higher",
            EffectVerdict::Lower => "lower",
            EffectVerdict::NoDifference => "no difference",
            EffectVerdict::Undecided => "undecided",
        }
    }
}

impl From<Decision> for EffectVerdict {
    fn from(decision: Decision) -> EffectVerdict {
        match decision {
            Decision::Above => EffectVerdict::Higher,
            Decision::Below => EffectVerdict::Lower,
            Decision::Within => EffectVerdict::NoDifference,
            Decision::Undecided => EffectVerdict::Undecided,
        }
    }
}

/// What the repetitions so far say. All intervals hold at once, and at every look, with the experiment's confidence.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ExperimentDecision {
    /// The smallest relative difference that matters.
    pub difference: f64,
    /// The probability of any false decision at any look.
    pub alpha: f64,
    /// Repetitions that count: each combination was measured in them.
    pub repetitions: u64,
    /// Runs of a repetition.
    pub runs_each: u64,
    /// About how many repetitions decide; `None` before the second.
    pub repetitions_expected: Option<u64>,
    /// The effects, response by response.
    pub effects: Vec<EffectDecision>,
    /// Responses that decide nothing: one of their values in the first repetition is 0 or less, or only a lower bound.
    pub left_out: Vec<String>,
}

/// What is known of one effect.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EffectDecision {
    /// The response.
    pub response: String,
    /// The factor.
    pub factor: String,
    /// Its first level.
    pub from: String,
    /// The level that is held against it.
    pub to: String,
    /// What is certain.
    pub verdict: EffectVerdict,
    /// Repetitions in which the response has a value in each run.
    pub repetitions: u64,
    /// The relative difference: Hodges and Lehmann's estimate from the differences of logarithms.
    pub change: Option<f64>,
    /// Interval of the relative difference; `None` as long as a side of it is open.
    pub interval: Option<(f64, f64)>,
    /// The anytime-valid p-value of no difference, for this effect alone.
    pub p: f64,
}

impl EffectDecision {
    /// `p99(checkout) lower by 12 % (-15 to -9) with cache on against off`.
    fn text(&self) -> String {
        let change = self.change.unwrap_or(0.0);
        let by = match self.verdict {
            EffectVerdict::Higher | EffectVerdict::Lower => {
                format!(" by {}", percent(change.abs()))
            }
            EffectVerdict::NoDifference => String::new(),
            EffectVerdict::Undecided => format!(", {} so far", signed_percent(change)),
        };
        let bounds = self.interval.map(|(low, high)| format!(" ({})", percent_bounds(low, high)));
        format!(
            "{} {}{by}{} with {} {} against {}",
            self.response,
            self.verdict.name(),
            bounds.unwrap_or_default(),
            self.factor,
            self.to,
            self.from
        )
    }
}

impl ExperimentDecision {
    /// True if each effect is decided, and there is one.
    pub fn is_decided(&self) -> bool {
        let mut effects = self.effects.iter();
        !self.effects.is_empty() && effects.all(|one| one.verdict != EffectVerdict::Undecided)
    }

    /// What is decided or open in one sentence, with the number of runs, without a full stop.
    pub fn sentence(&self) -> String {
        let runs = |repetitions: u64| {
            format!(
                "{} ({})",
                units::counted(repetitions, "repetition"),
                units::counted(repetitions * self.runs_each, "run")
            )
        };
        let is_open = |one: &&EffectDecision| one.verdict == EffectVerdict::Undecided;
        let shown: Vec<&EffectDecision> = match self.is_decided() {
            true => self.effects.iter().collect(),
            false => self.effects.iter().filter(is_open).collect(),
        };
        let texts: Vec<String> = shown.iter().take(NAMES_MAX).map(|one| one.text()).collect();
        let more = match shown.len().saturating_sub(NAMES_MAX) {
            0 => String::new(),
            more => format!("; and {more} more"),
        };
        let expected = match self.repetitions_expected {
            Some(expected) => format!(", about {} expected", runs(expected)),
            None => String::new(),
        };
        let state = if self.is_decided() { "decided" } else { "undecided" };
        let after = runs(self.repetitions);
        let what = if texts.is_empty() {
            "no response can be decided".to_owned()
        } else {
            texts.join("; ")
        };
        format!("{state} after {after}{expected}: {what}{more}")
    }
}

/// An effect's differences so far.
struct EffectSequence {
    response: usize,
    factor: usize,
    level: usize,
    differences: PairedDifferences,
}

/// The logarithms of a response in the runs of a repetition, each with the levels of the run.
type Logarithms<'a> = Vec<(&'a [usize], f64)>;

/// What the rows of an experiment decide, in the order of their repetitions.
pub(super) fn decide(data: &Data, until: UntilDecided) -> ExperimentDecision {
    let blocks = complete_repetitions(data);
    let responses: Vec<usize> = (0..data.responses.len()).collect();
    let decides = |response: &usize| {
        blocks.first().is_none_or(|block| logarithms(block, *response).is_some())
    };
    let (deciding, left_out): (Vec<usize>, Vec<usize>) = responses.into_iter().partition(decides);
    let mut sequences: Vec<EffectSequence> = Vec::new();
    for response in deciding {
        for (factor, (_, levels)) in data.factors.iter().enumerate() {
            sequences.extend((1..levels.len()).map(|level| EffectSequence {
                response,
                factor,
                level,
                differences: PairedDifferences::new(),
            }));
        }
    }
    for block in &blocks {
        for one in &mut sequences {
            if let Some(difference) = logarithms(block, one.response)
                .and_then(|logs| difference(&logs, one.factor, one.level))
            {
                one.differences.push(difference);
            }
        }
    }
    let alpha = 1.0 - data.confidence;
    let confidence = 1.0 - alpha / sequences.len().max(1) as f64;
    let matters = until.difference.ln_1p();
    let expected = most_expected(sequences.iter().map(|one| &one.differences), matters, confidence);
    let effect = |one: &EffectSequence| {
        let (factor, levels) = &data.factors[one.factor];
        EffectDecision {
            response: data.responses[one.response].name.clone(),
            factor: factor.clone(),
            from: levels[0].clone(),
            to: levels[one.level].clone(),
            verdict: one.differences.decision(matters, confidence).into(),
            repetitions: one.differences.len() as u64,
            change: one.differences.estimate().map(f64::exp_m1),
            interval: relative_interval(&one.differences, confidence),
            p: one.differences.p(0.0),
        }
    };
    ExperimentDecision {
        difference: until.difference,
        alpha,
        repetitions: blocks.len() as u64,
        runs_each: data.planned.len() as u64,
        repetitions_expected: expected,
        effects: sequences.iter().map(effect).collect(),
        left_out: left_out.into_iter().map(|one| data.responses[one].name.clone()).collect(),
    }
}

/// The rows of each repetition in which every combination was measured once.
fn complete_repetitions(data: &Data) -> Vec<Vec<&Row>> {
    let last = data.rows.iter().map(|row| row.repetition).max().unwrap_or(0);
    let blocks = (1..=last).map(|number| -> Vec<&Row> {
        data.rows.iter().filter(|row| row.repetition == number).collect()
    });
    let is_complete = |block: &Vec<&Row>| {
        let has = |cell: &Vec<usize>| block.iter().filter(|row| row.levels == *cell).count() == 1;
        block.len() == data.planned.len() && data.planned.iter().all(has)
    };
    blocks.filter(is_complete).collect()
}

/// The logarithms of a response; `None` if a run has no value that has one.
fn logarithms<'a>(block: &[&'a Row], response: usize) -> Option<Logarithms<'a>> {
    let of = |row: &&'a Row| {
        let value = row.values.get(response).copied().flatten()?;
        let has_one = value > 0.0 && is_measurable(value) && !row.bounds.contains(&response);
        has_one.then(|| (row.levels.as_slice(), value.ln()))
    };
    block.iter().map(of).collect()
}

/// The mean at a level of a factor minus that at its first one; `None` if one of them is in no run.
fn difference(logs: &Logarithms<'_>, factor: usize, level: usize) -> Option<f64> {
    let mean = |wanted: usize| {
        let own: Vec<f64> = logs
            .iter()
            .filter(|(levels, _)| levels.get(factor) == Some(&wanted))
            .map(|&(_, log)| log)
            .collect();
        (!own.is_empty()).then(|| stats::mean::mean(&own))
    };
    Some(mean(level)? - mean(0)?)
}

/// The decision, and what decides nothing.
pub(super) fn findings(decision: &ExperimentDecision) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut add = |severity: Severity, code: &str, text: String| {
        found.push(judge::finding(severity, code, text).done());
    };
    match decision.is_decided() {
        true => add(Severity::Note, "effects-decided", decision.sentence()),
        false => add(Severity::Warning, "effects-undecided", decision.sentence()),
    }
    if !decision.left_out.is_empty() {
        let names = decision.left_out.join(", ");
        let text = format!(
            "not decided: {names}. A value of the first repetition is 0 or a lower bound, and has no relative difference"
        );
        add(Severity::Note, "response-undecidable", text);
    }
    found
}

#[cfg(test)]
mod tests {
    use stats::rng::{Purpose, Rng};
    use units::Unit;

    use super::super::{PublishedResponse, ResponseData};
    use super::*;

    const UNTIL: UntilDecided = UntilDecided { difference: 0.05 };

    /// Two factors of two levels, run in drawn order on a machine that drifts. `effect`: the relative change by the second
    /// level of the first factor.
    fn data(seed: u64, repetitions: u32, effect: f64) -> Data {
        let planned = vec![vec![0, 0], vec![1, 0], vec![0, 1], vec![1, 1]];
        let mut rng = Rng::new(seed, 0, Purpose::Value);
        let mut rows = Vec::new();
        for repetition in 1..=repetitions {
            let mut cells = planned.clone();
            rng.shuffle(&mut cells);
            for levels in cells {
                let noise = 0.02 * (rng.unit() - 0.5) + 0.001 * rows.len() as f64;
                let of_first = if levels[0] == 1 { effect.ln_1p() } else { 0.0 };
                let value = 1e6 * (noise + of_first + 0.5 * levels[1] as f64).exp();
                rows.push(Row {
                    levels,
                    values: vec![Some(value), Some(0.0)],
                    bounds: Vec::new(),
                    run: format!("run {}", rows.len() + 1),
                    repetition,
                });
            }
        }
        let response = |name: &str| ResponseData {
            name: name.to_owned(),
            unit: Unit::Plain,
            multiplicative: false,
            published: PublishedResponse::default(),
        };
        let levels = |a: &str, b: &str| vec![a.to_owned(), b.to_owned()];
        Data {
            name: "it".to_owned(),
            factors: vec![
                ("cache".to_owned(), levels("off", "on")),
                ("size".to_owned(), levels("1", "2")),
            ],
            responses: vec![response("p99"), response("errors")],
            rows,
            planned,
            repetitions: repetitions as usize,
            left_out: Vec::new(),
            confidence: 0.95,
            until: Some(UNTIL),
        }
    }

    #[test]
    fn effects_are_decided_once_they_are_certain() {
        let first = decide(&data(1, 1, 0.2), UNTIL);
        assert!(!first.is_decided());
        assert_eq!((first.repetitions, first.repetitions_expected), (1, None));
        let found = decide(&data(1, 20, 0.2), UNTIL);
        assert!(found.is_decided(), "{}", found.sentence());
        let verdicts: Vec<EffectVerdict> = found.effects.iter().map(|one| one.verdict).collect();
        assert_eq!(verdicts, [EffectVerdict::Higher; 2]);
        let cache = &found.effects[0];
        let bounds = cache.interval.unwrap();
        assert!(
            bounds.0 > 0.15 && bounds.1 < 0.25 && bounds.0 < 0.2 && bounds.1 > 0.2,
            "{bounds:?}"
        );
        // What is always 0 has no relative difference.
        assert_eq!(found.left_out, ["errors"]);
        let sentence = found.sentence();
        assert!(
            sentence.starts_with("decided after 20 repetitions (80 runs), about ")
                && sentence.contains("p99 higher by 20 % (+")
                && sentence.contains("with cache on against off"),
            "{sentence}"
        );
    }

    #[test]
    fn no_effect_is_a_statement_of_its_own_and_a_repetition_with_a_gap_does_not_count() {
        let found = decide(&data(2, 20, 0.0), UNTIL);
        assert_eq!(found.effects[0].verdict, EffectVerdict::NoDifference);
        let mut gap = data(2, 20, 0.0);
        gap.rows.remove(5);
        assert_eq!(decide(&gap, UNTIL).repetitions, 19);
        gap.rows[0].bounds.push(0);
        let bounded = decide(&gap, UNTIL);
        assert_eq!(bounded.left_out, ["p99", "errors"]);
        assert!(!bounded.is_decided());
        assert!(bounded.sentence().ends_with("no response can be decided"));
    }

    /// A look after each of 16 repetitions, from the first that can decide on: of 60 experiments without an effect of the cache
    /// at most 5 % may be wrong in any, and 99.9 % of binomials with (60, 0.05) are below 10. The rule itself is held to its
    /// level by `stats::sequential`.
    #[test]
    fn looks_after_every_repetition_keep_the_level() {
        let is_wrong = |seed: u64| {
            let all = data(seed, 16, 0.0);
            (6..=16).any(|last| {
                let mut seen = all.clone();
                seen.rows.retain(|row| row.repetition <= last);
                decide(&seen, UNTIL).effects[0]
                    .interval
                    .is_some_and(|(low, high)| low > 0.0 || high < 0.0)
            })
        };
        let wrong = (0..60).filter(|&seed| is_wrong(seed)).count();
        assert!(wrong < 10, "{wrong} of 60");
    }

    #[test]
    fn findings_say_what_is_decided_and_what_decides_nothing() {
        let analysis = super::super::analyze(&data(1, 20, 0.2));
        let codes: Vec<&str> = analysis.findings.iter().map(|one| one.code.as_str()).collect();
        assert_eq!(codes, ["effects-decided", "response-undecidable"]);
        assert!(analysis.decision.is_some_and(|decision| decision.is_decided()));
    }
}
