//! Simulated duets: the level over all looks, power, and what is said.

use stats::rng::{Purpose, Rng};

use super::*;
use crate::options::Primary;

fn settings() -> DuetSettings {
    DuetSettings { difference: 0.05, interleave: Interleave::Ab, how: Options::default() }
}

fn normal(rng: &mut Rng) -> f64 {
    let u = 1.0 - rng.unit();
    (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * rng.unit()).cos()
}

/// A block of steps that take this, in nanoseconds, in which so many of 1,000 operations failed.
fn block(times_ns: &[f64], failed: u64) -> BlockFigures {
    let step = |(number, &primary_ns): (usize, &f64)| StepFigures {
        name: format!("step {}", number + 1),
        kind: "request".to_owned(),
        operations: 500,
        mean_ns: primary_ns,
        quantile_ns: None,
    };
    BlockFigures {
        steps: times_ns.iter().enumerate().map(step).collect(),
        ended: 1_000,
        failed,
        trusted: true,
    }
}

/// What a pair is made of: the factors by which the new target's steps are slower, and its failures in 1,000.
struct Planted<'a> {
    factors: &'a [f64],
    failed: u64,
}

/// A pair in drawn order on a machine that drifts and has a neighbour: the later block is slower.
fn pair(rng: &mut Rng, number: usize, planted: &Planted<'_>) -> BlockPair {
    let neighbour = if number % 7 < 3 { 0.3 } else { 0.0 };
    let mut times = |late: f64| -> Vec<f64> {
        let common = neighbour + 0.01 * number as f64 + late;
        planted.factors.iter().map(|_| 1e6 * (common + 0.03 * normal(rng)).exp()).collect()
    };
    let first = times(0.0);
    let second = times(0.02);
    let (old, new) = if rng.below(2) == 0 { (first, second) } else { (second, first) };
    let new: Vec<f64> = new.iter().zip(planted.factors).map(|(ns, factor)| ns * factor).collect();
    BlockPair { old: vec![block(&old, 10)], new: vec![block(&new, planted.failed)] }
}

/// The result after a decision, or after `most` pairs.
fn play(seed: u64, most: usize, planted: &Planted<'_>) -> DuetResult {
    let mut rng = Rng::new(seed, 51, Purpose::Value);
    let mut duet = Duet::new(settings());
    for number in 0..most {
        duet.add(&pair(&mut rng, number, planted));
        if duet.is_decided() {
            break;
        }
    }
    duet.result()
}

/// Of 200 duets of three equal steps with a look after each pair, 10 are expected to be wrong at most, and 99.9 % of
/// binomials with (200, 0.05) are below 21.
#[test]
fn equal_targets_are_called_different_no_more_often_than_stated() {
    let planted = Planted { factors: &[1.0; 3], failed: 10 };
    let results: Vec<DuetResult> = (0..200).map(|seed| play(seed, 40, &planted)).collect();
    let count = |wanted: DuetVerdict| results.iter().filter(|one| one.verdict == wanted).count();
    let wrong = count(DuetVerdict::Slower) + count(DuetVerdict::Faster);
    assert!(wrong < 21, "{wrong} of 200");
    assert!(count(DuetVerdict::NoDifference) > 150, "{}", count(DuetVerdict::NoDifference));
}

#[test]
fn ten_percent_of_one_step_are_found_and_the_step_is_named() {
    let planted = Planted { factors: &[1.0, 1.1, 1.0], failed: 10 };
    let mut right = 0;
    for seed in 0..40 {
        let result = play(seed, 40, &planted);
        let is_named = result.sentence.starts_with("step 2 is slower by ");
        right += u32::from(result.verdict == DuetVerdict::Slower && is_named);
    }
    assert!(right >= 36, "{right} of 40");
}

#[test]
fn faster_with_more_errors_is_more_errors() {
    let planted = Planted { factors: &[0.5], failed: 100 };
    let result = play(1, 40, &planted);
    assert_eq!(result.verdict, DuetVerdict::MoreErrors);
    assert!(result.errors.may_have_risen, "{:?}", result.errors);
    let mut allowing = settings();
    allowing.how.allow_errors = true;
    let mut duet = Duet::new(allowing);
    let mut rng = Rng::new(1, 51, Purpose::Value);
    for number in 0..20 {
        duet.add(&pair(&mut rng, number, &planted));
    }
    let result = duet.result();
    assert_eq!(result.verdict, DuetVerdict::Faster, "{}", result.sentence);
    assert!(result.findings.iter().any(|found| found.code == "errors-allowed"));
}

#[test]
fn pairs_that_cannot_be_trusted_do_not_count() {
    let mut duet = Duet::new(settings());
    let mut spoiled = BlockPair { old: vec![block(&[1e6], 0)], new: vec![block(&[2e6], 0)] };
    spoiled.new[0].trusted = false;
    assert!(!duet.add(&spoiled));
    let result = duet.result();
    assert_eq!((result.pairs, result.verdict), (0, DuetVerdict::Undecided));
    assert_eq!(result.findings[0].code, "pairs-untrusted");
    assert_eq!(result.sentence, "undecided after 0 pairs: no step has enough operations");
}

#[test]
fn steps_with_few_operations_are_left_out_by_the_first_pair() {
    let mut duet = Duet::new(settings());
    let mut both = BlockPair { old: vec![block(&[1e6, 1e6], 0)], new: vec![block(&[1e6, 1e6], 0)] };
    both.new[0].steps[1].operations = 5;
    assert!(duet.add(&both));
    let result = duet.result();
    assert_eq!(result.steps.len(), 1);
    assert!(result.findings.iter().any(|found| found.text.ends_with("not compared: step 2")));
}

/// A quantile is compared with a quantile, and a mean with a mean: in a pair in which a block has too few operations for the
/// quantile, the step has no difference.
#[test]
fn all_blocks_of_a_step_have_one_figure() {
    let with_quantile = |quantile_ns: Option<f64>| {
        let mut one = block(&[1e6], 0);
        one.steps[0].quantile_ns = quantile_ns;
        vec![one]
    };
    let mut by_p99 = settings();
    by_p99.how.primary = Primary::Quantile(0.99);
    let pairs = |quantiles: &[[Option<f64>; 2]]| {
        let mut duet = Duet::new(by_p99.clone());
        for [old, new] in quantiles {
            duet.add(&BlockPair { old: with_quantile(*old), new: with_quantile(*new) });
        }
        duet.result().steps.remove(0)
    };
    let step = pairs(&[[Some(9e6); 2], [Some(9e6), None], [None, Some(9e6)]]);
    assert_eq!((step.figure, step.pairs), (Figure::Quantile(0.99), 1));
    assert_eq!((step.change, step.old_ns), (Some(0.0), Some(9e6)));
    let step = pairs(&[[Some(9e6), None], [Some(9e6); 2]]);
    assert_eq!((step.figure, step.pairs, step.old_ns), (Figure::Mean, 2, Some(1e6)));
}

#[test]
fn blocks_of_one_target_are_averaged_as_logarithms() {
    let mut duet = Duet::new(settings());
    let quartet = BlockPair {
        old: vec![block(&[1e6], 0), block(&[4e6], 0)],
        new: vec![block(&[2e6], 0), block(&[8e6], 0)],
    };
    assert!(duet.add(&quartet));
    let step = &duet.result().steps[0];
    // Twice as long; the geometric means are 2 and 4 ms.
    assert!((step.change.unwrap() - 1.0).abs() < 1e-12);
    assert_eq!((step.old_ns, step.new_ns), (Some(2.5e6), Some(5e6)));
    assert_eq!(step.interval, None);
    assert_eq!(step.text, "undecided: +100 % so far, without an interval yet");
}

#[test]
fn the_figures_of_a_result_are_json() {
    let planted = Planted { factors: &[1.2], failed: 10 };
    let mut rng = Rng::new(3, 51, Purpose::Value);
    let mut duet = Duet::new(settings());
    // A step may be decided before its interval has two bounds.
    for number in 0..40 {
        duet.add(&pair(&mut rng, number, &planted));
    }
    let json = serde_json::to_value(duet.result()).unwrap();
    assert_eq!(json["verdict"], "slower");
    assert_eq!(json["interleave"], "ab");
    assert_eq!(json["primary"], serde_json::to_value(Primary::Mean).unwrap());
    assert!(json["steps"][0]["interval"][0].as_f64().unwrap() > 0.0);
}
