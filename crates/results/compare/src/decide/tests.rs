//! The stated error rate is true, and what is planted is found. Operations are drawn as a market's
//! are: most short, some long; and each run has a drift of its own, as machines do.

use stats::ks;

use stats::sample::Sample;

use super::*;
use crate::verdict::of_changes;
use crate::{Primary, Verdict};

/// Operations of a run.
const OPERATIONS: usize = 200;

/// Drift of a run: the deviation of the logarithm of all its times.
const DRIFT: f64 = 0.05;

fn rng(number: u64) -> Rng {
    Rng::new(20_261_121, number, Purpose::Value)
}

/// Two uniform numbers to a normal one: Box and Muller (1958).
fn normal(rng: &mut Rng) -> f64 {
    let u = 1.0 - rng.unit();
    let v = rng.unit();
    (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

/// The rate of a run of one second.
fn rate(in_time: usize) -> Option<Rate> {
    let seconds = 1.0;
    Some(Rate { in_time: in_time as u64, seconds })
}

fn ends(ended: usize, failed: usize) -> Option<Ends> {
    let ended = ended as u64;
    let failed = failed as u64;
    Some(Ends { ended, failed })
}

/// A run whose times have the median 1 ms; one in ten takes `extra_ns` longer.
fn run(rng: &mut Rng, operations: usize, extra_ns: f64) -> Unit {
    let drift = DRIFT * normal(rng);
    let times = (0..operations).map(|_| {
        let time = 1e6 * (drift + 0.4 * normal(rng)).exp();
        time + if rng.below(10) == 0 { extra_ns } else { 0.0 }
    });
    let times: Vec<f64> = times.collect();
    let failed = (0..operations).filter(|_| rng.below(100) == 0).count();
    Unit {
        sample: Sample::new(times).unwrap(),
        rate: rate(operations - failed),
        ends: ends(operations, failed),
    }
}

/// Two sides with the distances between their units.
fn sides(baseline: Vec<Unit>, candidate: Vec<Unit>) -> Sides {
    let units: Vec<&Unit> = baseline.iter().chain(&candidate).collect();
    let apart = |a: &Unit, b: &Unit| ks::distance_bounds(&a.sample, &b.sample).0;
    let row = |a: &Unit| units.iter().map(|b| apart(a, b)).collect();
    Sides { distances: units.iter().map(|a| row(a)).collect(), baseline, candidate, runs: None }
}

fn side(rng: &mut Rng, runs: usize, extra_ns: f64) -> Vec<Unit> {
    (0..runs).map(|_| run(rng, OPERATIONS, extra_ns)).collect()
}

/// A comparison of this many measures, each with this many runs a side.
fn compared(
    rng: &mut Rng,
    measures: usize,
    runs: (usize, usize),
    extra_ns: f64,
) -> Vec<Vec<Change>> {
    let options = Options::default();
    let rule = Rule::of(runs.0, runs.1, options.alpha);
    let all = (0..measures).map(|_| sides(side(rng, runs.0, 0.0), side(rng, runs.1, extra_ns)));
    let tested = all.map(|sides| components(&sides, rule, &options));
    decide(tested.collect(), runs.0, runs.1, rule, &options)
}

fn any_seen(measures: &[Vec<Change>]) -> bool {
    measures.iter().flatten().any(|change| change.seen)
}

/// Of this many comparisons of alike sides, how many find anything: binomial with (n, α) at most, so
/// not above its 99.9 % quantile.
fn assert_true_to_its_level(measures: usize, runs: (usize, usize), repetitions: u64) {
    let mut rng = rng(1);
    let found = (0..repetitions)
        .filter(|_| any_seen(&compared(&mut rng, measures, runs, 0.0)))
        .count() as f64;
    let expected = 0.05 * repetitions as f64;
    let most = expected + 3.1 * (expected * 0.95).sqrt();
    assert!(found <= most, "{found} of {repetitions}, expected {expected}");
    assert!(found > 0.0, "never is too good: does the test see anything?");
}

#[test]
fn identical_ensembles_differ_no_more_often_than_stated() {
    assert_true_to_its_level(3, (5, 5), 300);
}

#[test]
fn so_it_is_with_too_few_runs_for_permutations() {
    assert_true_to_its_level(2, (3, 3), 300);
}

#[test]
fn so_it_is_with_many_runs_against_one() {
    assert_true_to_its_level(2, (6, 1), 300);
}

/// The change of the share of failed operations, of runs of 1,000,000 with these failures.
fn errors(rng: &mut Rng, baseline: &[usize], candidate: &[usize]) -> Change {
    let options = Options::default();
    let rule = Rule::of(baseline.len(), candidate.len(), options.alpha);
    assert_eq!(rule, Rule::Student);
    let mut side = |failed: &[usize]| -> Vec<Unit> {
        let unit =
            |&failed: &usize| Unit { ends: ends(1_000_000, failed), ..run(rng, OPERATIONS, 0.0) };
        failed.iter().map(unit).collect()
    };
    let sides = sides(side(baseline), side(candidate));
    let tested = components(&sides, rule, &options);
    let first = baseline.len();
    let second = candidate.len();
    let mut changes = decide(vec![tested], first, second, rule, &options).remove(0);
    let place = changes.iter().position(|c| c.figure == Figure::ErrorRate);
    changes.remove(place.unwrap())
}

#[test]
fn a_single_failed_operation_is_no_difference() {
    let mut rng = rng(4);
    for runs in [2, 6, 18] {
        let change = errors(&mut rng, &vec![0; runs], &[1]);
        assert!(change.p > 0.05 && !change.seen, "{runs}: {change:?}");
    }
    let change = errors(&mut rng, &[0; 3], &[1_000, 1_100, 900]);
    assert!(change.counts, "{change:?}");
}

#[test]
fn rare_errors_differ_no_more_often_than_stated() {
    let mut rng = rng(5);
    // Knuth's product of uniform numbers, with a mean of 0.5.
    let poisson = |rng: &mut Rng| {
        let mut product = rng.unit();
        let mut count = 0;
        while product > (-0.5_f64).exp() {
            product *= rng.unit();
            count += 1;
        }
        count
    };
    for runs in [2, 6] {
        let mut found = 0;
        for _ in 0..300 {
            let baseline: Vec<usize> = (0..runs).map(|_| poisson(&mut rng)).collect();
            let candidate = poisson(&mut rng);
            found += u32::from(errors(&mut rng, &baseline, &[candidate]).seen);
        }
        // 15 at most are expected: as above.
        assert!(found <= 26, "{found} of 300 with {runs} against one");
    }
}

#[test]
fn a_rate_that_is_always_the_same_scatters_by_the_tolerance() {
    let side = |rates: &[usize]| -> Vec<Unit> {
        let mut rng = rng(6);
        let mut unit =
            |&in_time: &usize| Unit { rate: rate(in_time), ..run(&mut rng, OPERATIONS, 0.0) };
        rates.iter().map(&mut unit).collect()
    };
    let options = Options::default();
    for (candidate, seen) in [(26_999, false), (20_000, true)] {
        let sides = sides(side(&[27_000; 3]), side(&[candidate; 3]));
        let tested = components(&sides, Rule::Student, &options);
        let changes = decide(vec![tested], 3, 3, Rule::Student, &options);
        let rate = changes[0].iter().find(|c| c.figure == Figure::Rate);
        assert_eq!(rate.unwrap().seen, seen, "{candidate}");
    }
}

#[test]
fn three_milliseconds_on_one_in_ten_are_found() {
    let mut rng = rng(2);
    let options = Options::default();
    let repetitions = 100;
    let mut found = 0;
    let mut elsewhere = 0;
    for _ in 0..repetitions {
        let all = [3e6, 0.0, 0.0]
            .map(|extra_ns| sides(side(&mut rng, 5, 0.0), side(&mut rng, 5, extra_ns)));
        let tested = all.map(|sides| components(&sides, Rule::Permutation, &options));
        let changes = decide(tested.into(), 5, 5, Rule::Permutation, &options);
        let verdicts: Vec<Verdict> =
            changes.iter().map(|c| of_changes(c, "", &options).0).collect();
        found += u32::from(verdicts[0] == Verdict::Slower);
        elsewhere += u32::from(verdicts[1..].iter().any(|v| *v != Verdict::NoDifference));
    }
    assert!(found >= 90 && elsewhere <= 12, "{found} and {elsewhere} of {repetitions}");
}

/// What pooling would do: runs that drift by 5 % are seen to differ nearly always.
#[test]
fn pooled_operations_would_find_what_is_not_there() {
    let mut rng = rng(3);
    let wrong = (0..50).filter(|_| {
        let pool = |units: Vec<Unit>| {
            let values = units.iter().flat_map(|u| u.sample.values().to_vec());
            Sample::new(values.collect()).unwrap()
        };
        let a = pool(side(&mut rng, 5, 0.0));
        let b = pool(side(&mut rng, 5, 0.0));
        ks::two_samples(&a, &b).p <= 0.05
    });
    // At its level it would be two or three.
    assert!(wrong.count() > 8);
}

#[test]
fn the_rule_follows_the_number_of_runs() {
    let check = |b, c, rule| assert_eq!(Rule::of(b, c, 0.05), rule, "{b} and {c}");
    check(1, 1, Rule::Windows);
    check(1, 2, Rule::Student);
    check(3, 3, Rule::Student);
    check(3, 4, Rule::Permutation);
    check(4, 4, Rule::Permutation);
    check(5, 5, Rule::Permutation);
    check(1, 19, Rule::Permutation);
    check(1, 18, Rule::Student);
    assert_eq!(Rule::of(4, 4, 0.01), Rule::Student);
}

#[test]
fn constant_samples_are_not_different_and_shifted_ones_are() {
    let unit = |ns: f64| Unit {
        sample: Sample::new(vec![ns; 50]).unwrap(),
        rate: rate(50),
        ends: ends(50, 0),
    };
    let options = Options::default();
    for (runs, ns, seen) in [(5, 10.0, false), (5, 11.0, true), (3, 11.0, true), (1, 11.0, true)] {
        let units = if runs == 1 { 10 } else { runs };
        let sides = sides(vec![unit(10.0); units], vec![unit(ns); units]);
        let rule = Rule::of(runs, runs, options.alpha);
        let tested = components(&sides, rule, &options);
        let changes = decide(vec![tested], units, units, rule, &options);
        assert_eq!(any_seen(&changes), seen, "{runs} runs at {ns}: {changes:?}");
        for change in &changes[0] {
            assert!(!change.p.is_nan() && !change.t.is_nan(), "{change:?}");
        }
    }
}

#[test]
fn a_difference_within_the_tolerance_is_seen_and_does_not_count() {
    let unit = |ns: f64| Unit {
        sample: Sample::new((0..200).map(|i| ns + f64::from(i) / 100.0).collect()).unwrap(),
        rate: rate(1),
        ends: None,
    };
    let options = Options::default();
    let units = |from: f64| (0..5).map(|i| unit(from + f64::from(i))).collect();
    let sides = sides(units(100_000.0), units(100_500.0));
    let tested = components(&sides, Rule::Permutation, &options);
    let changes = decide(vec![tested], 5, 5, Rule::Permutation, &options);
    let mean = &changes[0][0];
    assert!(mean.seen && !mean.counts, "{mean:?}");
    assert!((mean.difference - 500.0).abs() < 1e-6);
    let (low, high) = mean.interval.unwrap();
    assert!(low < 500.0 && high > 500.0 && low > 490.0 && high < 510.0);
    let figures: Vec<String> = changes[0].iter().map(|c| c.figure.name()).collect();
    assert_eq!(figures, ["mean", "p50", "p90", "p95", "p99", "rate", "shape"]);
}

/// A run whose times are 1 ms, and in one window of ten `peak_ns` for half of the operations.
fn with_peak(peak_ns: f64) -> (Vec<Unit>, Unit) {
    let unit = |times: Vec<f64>| Unit {
        rate: rate(times.len()),
        sample: Sample::new(times).unwrap(),
        ends: ends(100, 0),
    };
    let window = |number: usize| -> Vec<f64> {
        let time = |i: usize| match number == 3 && i < 50 {
            true => peak_ns,
            false => 1e6,
        };
        (0..100).map(time).collect()
    };
    let windows: Vec<Vec<f64>> = (0..10).map(window).collect();
    let all = unit(windows.concat());
    (windows.into_iter().map(unit).collect(), all)
}

#[test]
fn single_runs_show_their_own_quantiles_beside_those_of_windows() {
    let ((baseline, first), (candidate, second)) = (with_peak(10e6), with_peak(30e6));
    let sides = Sides {
        baseline,
        candidate,
        runs: Some([vec![first], vec![second]]),
        distances: Vec::new(),
    };
    let options = Options::default();
    let found = components(&sides, Rule::Windows, &options);
    let found = decide(vec![found], 10, 10, Rule::Windows, &options);
    let is_p95 = |change: &&Change| change.figure == Figure::Quantile(0.95);
    let p95 = found[0].iter().find(is_p95).unwrap();
    // 50 of 1,000 operations are longer: the 950th is not one of them.
    assert_eq!((p95.baseline, p95.candidate), (Some(1e6), Some(1e6)));
    // In one window of ten, the 95th percentile is the peak.
    let windows = p95.windows.unwrap();
    assert_eq!((windows.baseline, windows.candidate), (1.9e6, 3.9e6));
    assert!((p95.difference - 2e6).abs() < 1e-3);
    assert!((p95.relative.unwrap() - 2.0 / 1.9).abs() < 1e-9);
}

/// A side's run-to-run scatter: the logarithm of a run's primary figure.
type Scatter = fn(&mut Rng) -> f64;

fn steady(rng: &mut Rng) -> f64 {
    0.03 * normal(rng)
}

/// Every run falls into one of two groups, 47 % apart.
fn bimodal(rng: &mut Rng) -> f64 {
    steady(rng) + if rng.below(2) == 0 { 0.0 } else { 1.47_f64.ln() }
}

/// Figures with a quarter of all runs in the slower group, which is the worst that there is.
fn uneven(rng: &mut Rng) -> f64 {
    steady(rng) + if rng.below(4) > 0 { 0.0 } else { 1.47_f64.ln() }
}

/// One run in ten was disturbed, by up to half of its time.
fn disturbed(rng: &mut Rng) -> f64 {
    steady(rng) + if rng.below(10) == 0 { 0.5 * rng.unit() } else { 0.0 }
}

/// True if the scatter of runs differs, as one measure among no others.
fn scatters(baseline: &[f64], candidate: &[f64]) -> bool {
    let values = [baseline, candidate].concat();
    let options = Options::default();
    let found = spread(&values, baseline.len(), Rule::Permutation, &options).unwrap();
    let of_sides =
        decide(vec![vec![found]], baseline.len(), candidate.len(), Rule::Permutation, &options);
    of_sides[0][0].seen
}

/// Of 1,000 pairs of sides that are alike, those whose scatter differs at the level that is left for it (2 %): 20 are
/// expected at most, and 99.9 % of binomials with (1000, 0.02) are below 35.
#[test]
fn runs_that_scatter_alike_differ_no_more_often_than_stated() {
    for (name, scatter) in [
        ("steady", steady as Scatter),
        ("bimodal", bimodal),
        ("uneven", uneven),
        ("disturbed", disturbed),
    ] {
        let mut rng = rng(51);
        let found = (0..1_000).filter(|_| {
            let mut side = || -> Vec<f64> { (0..8).map(|_| scatter(&mut rng)).collect() };
            let baseline = side();
            let candidate = side();
            scatters(&baseline, &candidate)
        });
        let found = found.count();
        assert!(found < 35, "{name}: {found} of 1,000");
    }
}

#[test]
fn every_second_run_that_is_slower_is_found() {
    let mut rng = rng(52);
    let found = (0..200).filter(|_| {
        let baseline: Vec<f64> = (0..8).map(|_| steady(&mut rng)).collect();
        let slow = |run: u64| if run.is_multiple_of(2) { 0.0 } else { 1.47_f64.ln() };
        let candidate: Vec<f64> = (0..8).map(|run| slow(run) + steady(&mut rng)).collect();
        scatters(&baseline, &candidate)
    });
    let found = found.count();
    assert!(found >= 198, "{found} of 200");
}

#[test]
fn every_second_run_that_is_slower_is_named_by_its_scatter() {
    let mut rng = rng(53);
    let mut unit = |factor: f64| {
        let drift = 0.03 * normal(&mut rng);
        let times = (0..OPERATIONS).map(|_| factor * 1e6 * (drift + 0.1 * normal(&mut rng)).exp());
        let times: Vec<f64> = times.collect();
        Unit { sample: Sample::new(times).unwrap(), rate: rate(200), ends: ends(200, 0) }
    };
    let baseline: Vec<Unit> = (0..8).map(|_| unit(1.0)).collect();
    let candidate =
        (0..8_u64).map(|run| unit(if run.is_multiple_of(2) { 1.0 } else { 1.47 })).collect();
    let sides = sides(baseline, candidate);
    let options = Options::default();
    let tested = components(&sides, Rule::Permutation, &options);
    let changes = decide(vec![tested], 8, 8, Rule::Permutation, &options).remove(0);
    let (verdict, text) = of_changes(&changes, "", &options);
    // The means may be far enough apart, too.
    assert!(matches!(verdict, Verdict::ModesDiffer | Verdict::Slower), "{text}");
    assert!(text.contains("runs of the candidate lie "), "{text}");
}

/// A comparison of five steps of which one is slower by 10 %, and of connections with few operations: how often the step is
/// seen, of 60.
fn seen_among_many(primary: Primary) -> usize {
    let mut rng = rng(54);
    let options = Options { primary, ..Options::default() };
    let unit = |rng: &mut Rng, operations: usize, factor: f64| {
        let drift = 0.02 * normal(rng);
        let times = (0..operations).map(|_| factor * 1e6 * (drift + 0.15 * normal(rng)).exp());
        let times: Vec<f64> = times.collect();
        Unit {
            sample: Sample::new(times).unwrap(),
            rate: rate(operations),
            ends: ends(operations, 0),
        }
    };
    let found = (0..60).filter(|_| {
        let tested = [1.1, 1.0, 1.0, 1.0, 1.0, 0.0].map(|factor| {
            let operations = if factor == 0.0 { 58 } else { OPERATIONS };
            let mut side = |factor: f64| -> Vec<Unit> {
                (0..4).map(|_| unit(&mut rng, operations, factor)).collect()
            };
            let baseline = side(1.0);
            let candidate = side(f64::max(factor, 1.0));
            components(&sides(baseline, candidate), Rule::Permutation, &options)
        });
        let changes = decide(tested.into(), 4, 4, Rule::Permutation, &options);
        changes[0].iter().any(|change| change.seen && change.figure == Figure::Mean)
    });
    found.count()
}

/// With 4 + 4 runs of six measures, ten percent are seen in the primary figure, and mostly missed in any other.
#[test]
fn ten_percent_are_seen_in_the_primary_figure() {
    let primary = seen_among_many(Primary::Mean);
    let other = seen_among_many(Primary::Quantile(0.99));
    assert!(primary >= 48, "{primary} of 60");
    assert!(primary >= other + 10, "{primary} and {other} of 60");
}

#[test]
fn measures_with_few_operations_have_no_primary_figure() {
    let mut rng = rng(55);
    let options = Options::default();
    let mut primaries = |operations: usize| -> Vec<String> {
        let mut side = || (0..4).map(|_| run(&mut rng, operations, 0.0)).collect();
        let both = sides(side(), side());
        let found = components(&both, Rule::Permutation, &options);
        let found = found.into_iter().filter(|component| component.change.primary);
        found.map(|component| component.change.label).collect()
    };
    assert_eq!(primaries(58), Vec::<String>::new());
    assert_eq!(primaries(100), ["mean"]);
}

/// A run that takes this share of the time of [`run`].
fn faster(rng: &mut Rng, share: f64, errors: f64) -> Unit {
    let unit = run(rng, OPERATIONS, 0.0);
    let times = unit.sample.iter().flat_map(|(ns, count)| vec![ns * share; count as usize]);
    let failed = (0..OPERATIONS).filter(|_| rng.unit() < errors).count();
    Unit {
        sample: Sample::new(times.collect()).unwrap(),
        rate: rate(OPERATIONS - failed),
        ends: ends(OPERATIONS, failed),
    }
}

/// How many of 200 comparisons of a candidate that takes 70 % of the time are faster, and how many have more errors.
fn improvements(errors: f64) -> (usize, usize) {
    let mut rng = rng(56);
    let options = Options::default();
    let verdicts: Vec<Verdict> = (0..200)
        .map(|_| {
            let baseline = side(&mut rng, 5, 0.0);
            let candidate = (0..5).map(|_| faster(&mut rng, 0.7, errors)).collect();
            let tested = components(&sides(baseline, candidate), Rule::Permutation, &options);
            let changes = decide(vec![tested], 5, 5, Rule::Permutation, &options);
            of_changes(&changes[0], "", &options).0
        })
        .collect();
    let count = |wanted: Verdict| verdicts.iter().filter(|verdict| **verdict == wanted).count();
    (count(Verdict::Faster), count(Verdict::MoreErrors))
}

/// As many operations of both sides fail: 10 of 200 are expected to be called worse at most, and 99.9 % of binomials with
/// (200, 0.05) are below 21. Five times as many that fail are found.
#[test]
fn an_improvement_is_called_worse_for_its_errors_no_more_often_than_stated() {
    let (faster, worse) = improvements(0.01);
    assert!(worse < 21 && faster > 170, "{faster} faster, {worse} with more errors");
    let (faster, worse) = improvements(0.05);
    assert!(worse > 180, "{faster} faster, {worse} with more errors");
}
