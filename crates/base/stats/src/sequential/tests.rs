//! The capital against values that were worked out otherwise, and the level under looks after every pair.

use super::*;
use crate::rng::{Purpose, Rng};

/// Darwin's maize, crossed minus self-fertilised, in eighths of an inch: Fisher, "The Design of Experiments" (1935), table 3.
const DARWIN: [f64; 15] =
    [49.0, -67.0, 8.0, 16.0, 6.0, 23.0, 28.0, 41.0, 14.0, 29.0, 56.0, 24.0, 75.0, 60.0, -48.0];

fn known(all: &[f64]) -> PairedDifferences {
    let mut known = PairedDifferences::new();
    all.iter().for_each(|&difference| known.push(difference));
    known
}

/// The products of e^(λy) / cosh(λy), their mean over the stakes and the inversion by Python, with ranks that are counted pair
/// by pair.
#[test]
fn capital_and_bounds_agree_with_products_of_their_definition() {
    let darwin = known(&DARWIN);
    for (shift, above, below) in [
        (0.0, 8.700_902_947, 0.026_111_543),
        (10.0, 2.238_169_135, 0.039_462_163),
        (-10.0, 34.903_262_215, 0.021_564_296),
    ] {
        let found = [Direction::Above, Direction::Below]
            .map(|direction| darwin.log_capital(shift, direction).exp());
        assert!((found[0] / above - 1.0).abs() < 1e-8, "{shift}: {found:?}");
        assert!((found[1] / below - 1.0).abs() < 1e-6, "{shift}: {found:?}");
    }
    assert!((darwin.p(0.0) - 0.229_861_201).abs() < 1e-8);
    assert_eq!(darwin.estimate(), Some(25.0));
    for (confidence, low, high) in [(0.95, -10.0, 52.0), (0.8, -5.5, 49.0)] {
        let found = darwin.interval(confidence);
        assert!((found.low - low).abs() < 1e-9 && (found.high - high).abs() < 1e-9, "{found:?}");
    }
}

/// All of one sign and growing: each rank is 1, and e^λ / cosh(λ) is won each time.
#[test]
fn the_clearest_case_is_known_on_paper() {
    let known = known(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
    let capital: f64 =
        STAKES.iter().map(|stake| (1.0 + stake.tanh()).powi(7)).sum::<f64>() / STAKES.len() as f64;
    assert!((known.log_capital(0.0, Direction::Above) - capital.ln()).abs() < 1e-12);
    assert_eq!(known.estimate(), Some(4.0));
    assert!(known.interval(0.95).low > 0.0);
}

#[test]
fn nothing_is_excluded_by_few_pairs() {
    let few = known(&[1.0, 1.1, 0.9]);
    let found = few.interval(0.95);
    assert_eq!((found.low, found.high), (f64::NEG_INFINITY, f64::INFINITY));
    let none = PairedDifferences::new();
    assert!(none.is_empty() && none.estimate().is_none() && none.p(0.0) == 1.0);
    assert_eq!(none.interval(0.95).low, f64::NEG_INFINITY);
    let mut odd = PairedDifferences::new();
    odd.push(f64::NAN);
    assert_eq!(odd.len(), 0);
}

#[test]
fn pairs_without_a_difference_exclude_every_shift_but_zero() {
    let same = known(&[0.0; 30]);
    let found = same.interval(0.95);
    assert!(found.low.abs() < 1e-9 && found.high.abs() < 1e-9, "{found:?}");
    assert_eq!(same.p(0.0), 1.0);
}

#[test]
fn decisions_follow_from_the_interval() {
    let around = |middle: f64, scatter: f64| {
        let mut all = PairedDifferences::new();
        (0..30).for_each(|number| {
            let sign = if number % 2 == 0 { 1.0 } else { -1.0 };
            all.push(middle + sign * scatter * (1.0 + f64::from(number % 7)));
        });
        all
    };
    for (middle, scatter) in
        [(0.07, 0.005), (-0.07, 0.005), (0.0, 0.005), (0.02, 0.005), (0.0, 0.05)]
    {
        let all = around(middle, scatter);
        let interval = all.interval(0.95);
        let estimate = all.estimate().unwrap();
        let expected = match interval {
            Interval { low, high } if low > -0.05 && high < 0.05 => Decision::Within,
            Interval { low, .. } if low > 0.0 && estimate >= 0.05 => Decision::Above,
            Interval { high, .. } if high < 0.0 && estimate <= -0.05 => Decision::Below,
            _ => Decision::Undecided,
        };
        assert_eq!(all.decision(0.05, 0.95), expected, "{middle} {scatter}: {interval:?}");
    }
    assert_eq!(around(0.07, 0.005).decision(0.05, 0.95), Decision::Above);
    assert_eq!(around(-0.07, 0.005).decision(0.05, 0.95), Decision::Below);
    assert_eq!(around(0.02, 0.005).decision(0.05, 0.95), Decision::Within);
    assert_eq!(around(0.0, 0.05).decision(0.05, 0.95), Decision::Undecided);
    assert_eq!(PairedDifferences::new().decision(0.05, 0.95), Decision::Undecided);
}

/// Looks of a sequence: one after each pair.
const PAIRS: usize = 40;
/// Sequences of each machine.
const SEQUENCES: u64 = 2_000;
/// 100 of 2,000 are expected at a level of 5 %; 99.9 % of binomials are at or below this.
const FALSE_MAX: usize = 131;

fn normal(rng: &mut Rng) -> f64 {
    let u = 1.0 - rng.unit();
    (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * rng.unit()).cos()
}

/// The time of a block, from its number and the machine's state.
type Machine = fn(&mut Rng, usize, &mut f64) -> f64;

fn exponential(rng: &mut Rng, _: usize, _: &mut f64) -> f64 {
    -(1.0 - rng.unit()).ln()
}

fn bimodal(rng: &mut Rng, _: usize, _: &mut f64) -> f64 {
    0.02 * normal(rng) + if rng.below(2) == 0 { 0.0 } else { 0.4 }
}

/// Pareto with an infinite mean.
fn pareto(rng: &mut Rng, _: usize, _: &mut f64) -> f64 {
    (1.0 - rng.unit()).powf(-1.0 / 0.9)
}

fn autocorrelated(rng: &mut Rng, _: usize, state: &mut f64) -> f64 {
    *state = 0.9 * *state + normal(rng);
    *state
}

/// Faster and faster, with a neighbour that comes for a third of the time.
fn drifting(rng: &mut Rng, block: usize, _: &mut f64) -> f64 {
    let neighbour = if block % 30 < 10 { 0.8 } else { 0.0 };
    neighbour + 0.05 * block as f64 + 0.1 * normal(rng)
}

const MACHINES: [(&str, Machine); 5] = [
    ("exponential", exponential),
    ("bimodal", bimodal),
    ("Pareto", pareto),
    ("autocorrelated", autocorrelated),
    ("drifting", drifting),
];

/// The first look at which a shift of 0 is excluded, for pairs whose order is drawn and whose second member takes `shift`
/// longer.
fn first_exclusion(machine: Machine, shift: f64, seed: u64) -> Option<usize> {
    let mut rng = Rng::new(seed, 51, Purpose::Value);
    let mut state = 0.0;
    let mut known = PairedDifferences::new();
    (0..PAIRS).position(|pair| {
        let first = machine(&mut rng, 2 * pair, &mut state);
        let second = machine(&mut rng, 2 * pair + 1, &mut state);
        let sign = if rng.below(2) == 0 { 1.0 } else { -1.0 };
        known.push(sign * (second - first) + shift);
        known.p(0.0) <= 0.05
    })
}

#[test]
fn looks_after_every_pair_keep_the_level_on_any_machine() {
    for (name, machine) in MACHINES {
        let found = (0..SEQUENCES).filter(|&seed| first_exclusion(machine, 0.0, seed).is_some());
        let found = found.count();
        assert!(found <= FALSE_MAX, "{name}: {found} of {SEQUENCES}");
        assert!(found > 0, "{name}: never is too good");
    }
}

/// Differences of one scatter are found after about 15 pairs, where a test of a fixed number needs 10.
#[test]
fn a_shift_as_large_as_the_scatter_is_found_soon() {
    let machine: Machine = |rng, _, _| normal(rng) / 2.0_f64.sqrt();
    let mut looks: Vec<usize> =
        (0..300).map(|seed| first_exclusion(machine, 1.0, seed).unwrap_or(PAIRS)).collect();
    looks.sort_unstable();
    assert!((10..=19).contains(&looks[150]), "{}", looks[150]);
    // What is expected is of that size.
    let expected = pairs_expected(1.0, 1.0, 0.95);
    assert!((8.0..=16.0).contains(&expected), "{expected}");
    assert!(pairs_expected(2.0, 1.0, 0.95) > 3.0 * expected);
    assert_eq!(pairs_expected(0.0, 1.0, 0.95), 8.0);
    assert!(looks[270] < PAIRS - 1, "{}", looks[270]);
}

/// What a test at a level for one look would do: more than a fifth are wrong by the 40th pair.
#[test]
fn looking_at_an_ordinary_test_is_wrong_far_more_often() {
    let found = (0..300_u64).filter(|&seed| {
        let mut rng = Rng::new(seed, 51, Purpose::Value);
        let mut all = Vec::new();
        (0..PAIRS).any(|_| {
            all.push(normal(&mut rng));
            let interval = crate::student::mean_interval(&all, 0.95);
            all.len() > 4 && interval.is_some_and(|(low, high)| low > 0.0 || high < 0.0)
        })
    });
    assert!(found.count() > 45);
}
