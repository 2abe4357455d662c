use stats::anderson::{self, AndersonError, TablePValue, k_samples, limit_tail, statistic_bounds};
use stats::hist::LogHistogram;
use stats::rank::{mann_whitney, shift};
use stats::sample::{Edge, Sample};

use crate::golden::{assert_near, cases, lattice, number, numbers, sample};

/// SciPy returns 0.001 and 0.25 for everything beyond.
#[track_caller]
fn assert_published(found: TablePValue, expected: f64) {
    match found {
        TablePValue::Below => assert_eq!(expected, anderson::PUBLISHED_LEAST),
        TablePValue::Above => assert_eq!(expected, anderson::PUBLISHED_GREATEST),
        TablePValue::Within(p) => assert_near(p, expected, 1e-9, "p"),
    }
}

#[test]
fn anderson_darling_agrees_with_scipy() {
    for case in cases("anderson") {
        let samples: Vec<Sample> = case["samples"].as_array().unwrap().iter().map(sample).collect();
        let found = k_samples(&samples.iter().collect::<Vec<_>>()).unwrap();
        assert_near(found.standardised, number(&case["standardised"]), 1e-9, "A²");
        assert_published(found.p_published, number(&case["p"]));
        assert_eq!(found.p.is_some(), samples.len() == 2);
        let distinct = |sample: &Sample| sample.values().len() as u64 == sample.count();
        if !found.exact
            && samples.iter().all(distinct)
            && let (Some(limit), TablePValue::Within(p)) = (found.p, found.p_published)
        {
            assert_near(limit, p, 0.08, "the limit beside the published percentiles");
        }
    }
}

#[test]
fn anderson_darling_of_few_numbers_or_few_values_is_counted_out() {
    for case in cases("anderson_exact") {
        let a = sample(&case["a"]);
        let b = sample(&case["b"]);
        for (a, b) in [(&a, &b), (&b, &a)] {
            let found = anderson::two_samples(a, b).unwrap();
            assert!(found.exact, "{case}");
            let p = found.p.unwrap();
            assert_near(found.statistic, number(&case["statistic"]), 1e-9, "A²");
            assert_near(p, number(&case["p"]), 1e-9, "p");
            if !case["scipy"].is_null() {
                assert_near(p, number(&case["scipy"]), 1e-9, "SciPy's permutations");
            }
        }
    }
}

#[test]
fn anderson_darling_of_many_ties_uses_their_limit() {
    for case in cases("anderson_permuted") {
        let a = sample(&case["a"]);
        let b = sample(&case["b"]);
        let found = anderson::two_samples(&a, &b).unwrap();
        assert!(!found.exact);
        let p = found.p.unwrap();
        let expected = number(&case["p"]);
        // Three standard errors of 20,000 permutations, and 5 % for the limit.
        let error = 3.0 * (expected * (1.0 - expected) / 20_000.0).sqrt() + 0.05 * expected;
        assert!((p - expected).abs() < error, "{p} instead of {expected}");
    }
}

#[test]
fn more_values_than_are_needed_change_little() {
    // 1,000 values with ten numbers each are merged; with one number each they are not tied.
    let [tied, distinct] = [10, 1].map(|times| {
        let numbers = |shift: u32| (0..1_000).map(move |i| (f64::from(i + shift), times));
        [0, 20].map(|shift| Sample::counted(numbers(shift).collect()).unwrap())
    });
    let [tied, distinct] = [tied, distinct].map(|[a, b]| anderson::two_samples(&a, &b).unwrap());
    let same = limit_tail(1.0 + (tied.statistic - 1.0));
    assert_near(tied.p.unwrap(), same, 0.03, "merged");
    assert_near(
        distinct.p.unwrap(),
        limit_tail(1.0 + (distinct.statistic - 1.0)),
        0.03,
        "not tied",
    );
}

#[test]
fn anderson_darling_of_large_samples_uses_the_limit() {
    for case in cases("anderson_lattices") {
        let a = lattice(&case["a"]);
        let b = lattice(&case["b"]);
        let found = anderson::two_samples(&a, &b).unwrap();
        assert_near(found.standardised, number(&case["standardised"]), 1e-8, "A²");
        assert_published(found.p_published, number(&case["p"]));
    }
}

#[test]
fn the_limit_of_anderson_and_darling() {
    for case in cases("anderson_limit") {
        let found = limit_tail(number(&case["x"]));
        assert!((found - number(&case["p"])).abs() < 1e-6, "{case} {found}");
    }
    // Percentiles of Anderson and Darling (1954), to the digits they gave.
    for (x, p) in [(1.933, 0.1), (2.492, 0.05)] {
        assert!((limit_tail(x) - p).abs() < 5e-5, "{x}");
    }
    // Zolotarev (1961): the tail of a weighted sum of squares goes over into that of its first.
    let first = 2.0 * 3_f64.sqrt() * libm::erfc(100_f64.sqrt()) / 2.0;
    assert_near(limit_tail(100.0), first, 0.02, "far tail");
    assert_eq!((limit_tail(-1.0), limit_tail(1e9)), (1.0, 0.0));
}

#[test]
fn anderson_darling_needs_distinct_values() {
    let one = Sample::new(vec![1.0]).unwrap();
    assert_eq!(k_samples(&[&one]), Err(AndersonError::TooFewSamples(1)));
    assert_eq!(k_samples(&[]), Err(AndersonError::TooFewSamples(0)));
    assert_eq!(k_samples(&[&one, &one]), Err(AndersonError::TooFewNumbers(2)));
    let constant = Sample::counted(vec![(1.0, 5000)]).unwrap();
    let found = anderson::two_samples(&constant, &constant).unwrap();
    assert_eq!((found.statistic, found.p), (0.0, Some(1.0)));
    assert_eq!(found.p_published, TablePValue::Above);
}

#[test]
fn bins_bound_anderson_and_darling() {
    let raw = [(100, 7), (130, 11)].map(|(shift, step)| {
        let numbers =
            (0..4000_u64).map(|i| ((i * step * 7919 + step) % 1_000_003 + shift * 1000) as f64);
        Sample::new(numbers.collect()).unwrap()
    });
    let binned = [&raw[0], &raw[1]].map(|raw| {
        let mut hist = LogHistogram::new();
        raw.iter().for_each(|(x, n)| hist.record_n(x as u64, n));
        Sample::of_histogram(&hist, Edge::Middle).unwrap()
    });
    let exact = anderson::two_samples(&raw[0], &raw[1]).unwrap().statistic;
    let (least, greatest) = statistic_bounds(&binned[0], &binned[1]);
    assert!(
        least < exact && exact < greatest && greatest < 2.0 * least,
        "{least} {exact} {greatest}"
    );
    // Without bins, both bounds are the statistic for samples without ties.
    let (least, greatest) = statistic_bounds(&raw[0], &raw[1]);
    assert_near(least, greatest, 1e-12, "no bins");
    assert_near(least, exact, 1e-3, "no bins");
}

#[test]
fn mann_whitney_agrees_with_scipy() {
    for case in cases("mann_whitney") {
        let a = sample(&case["a"]);
        let b = sample(&case["b"]);
        let name = case["name"].as_str().unwrap();
        let found = mann_whitney(&a, &b, 0.95);
        assert_near(found.u, number(&case["u"]), 1e-12, name);
        let expected = if found.exact { "exact" } else { "limit" };
        assert_near(found.p, number(&case[expected]), 1e-9, name);
        let inside = found.effect.interval;
        let superiority = found.effect.superiority;
        assert!(0.0 <= inside.low && inside.high <= 1.0 && inside.holds(superiority), "{name}");
        if case["error"].is_number() && superiority > 0.0 && superiority < 1.0 {
            let logit = |p: f64| (p / (1.0 - p)).ln();
            let reach = (logit(inside.high) - logit(inside.low)) / 2.0;
            let error = reach * superiority * (1.0 - superiority) / 1.959_963_984_540_054;
            assert_near(error, number(&case["error"]), 1e-9, name);
        }
    }
}

#[test]
fn effects_at_the_edge_still_have_an_interval() {
    let [low, high] = [0.0, 100.0]
        .map(|shift| Sample::new((0..10).map(|i| f64::from(i) + shift).collect()).unwrap());
    let effect = mann_whitney(&low, &high, 0.95).effect;
    assert_eq!((effect.superiority, effect.cliffs_delta()), (1.0, 1.0));
    assert_eq!(effect.interval.high, 1.0);
    // Newcombe (2006) by hand: θ where 1 − θ is 1.96 standard errors of θ.
    let theta: f64 = effect.interval.low;
    let shape = 1.0 + 9.0 * ((1.0 - theta) / (2.0 - theta) + theta / (1.0 + theta));
    let error = (theta * (1.0 - theta) * shape / 100.0).sqrt();
    assert_near((1.0 - theta) / error, 1.959_963_984_540_054, 1e-9, "bound");
    let back = mann_whitney(&high, &low, 0.95).effect;
    assert_near(back.interval.high, 1.0 - theta, 1e-9, "the other way round");
    let constant = Sample::counted(vec![(1.0, 900)]).unwrap();
    let found = mann_whitney(&constant, &constant, 0.95);
    assert_eq!((found.p, found.effect.superiority, found.ties_share), (1.0, 0.5, 1.0));
}

#[test]
fn shifts_agree_with_all_differences() {
    for case in cases("shift") {
        let a = sample(&case["a"]);
        let b = sample(&case["b"]);
        let name = case["name"].as_str().unwrap();
        let found = shift(&a, &b, 0.95);
        assert_near(found.shift, number(&case["shift"]), 1e-12, name);
        assert_eq!(found.interval.is_some(), case["low"].is_number(), "{name}");
        if let Some(interval) = found.interval {
            assert_near(interval.low, number(&case["low"]), 1e-12, name);
            assert_near(interval.high, number(&case["high"]), 1e-12, name);
        }
    }
    // As R's wilcox.test prints it.
    let case = cases("shift").iter().find(|case| case["name"] == "permeability").unwrap();
    let found = shift(&sample(&case["b"]), &sample(&case["a"]), 0.95);
    let interval = found.interval.unwrap();
    for (found, printed) in [(found.shift, 0.305), (interval.low, -0.15), (interval.high, 0.76)] {
        assert!((found - printed).abs() < 1e-9, "{found} {printed}");
    }
}

#[test]
fn shifts_of_large_samples_need_no_list_of_differences() {
    for case in cases("shift_lattices") {
        let a = lattice(&case["a"]);
        let b = lattice(&case["b"]);
        assert_eq!(shift(&a, &b, 0.95).shift, number(&case["shift"]));
    }
    // As many differences of 0 as cannot be listed.
    let grid = Sample::counted((0..3000).map(|i| (f64::from(i), 1000)).collect()).unwrap();
    let same = shift(&grid, &grid, 0.95);
    assert_eq!(same.shift, 0.0);
    assert!(same.interval.unwrap().holds(0.0));
    let numbers: Vec<f64> = (0..60_000).map(|i| f64::from(i) * 1e-3).collect();
    let moved = numbers.iter().map(|x| x + 2.5).collect();
    let found = shift(&Sample::new(numbers).unwrap(), &Sample::new(moved).unwrap(), 0.99);
    assert_near(found.shift, 2.5, 1e-9, "shift");
}

#[test]
fn edges_of_bins_bound_the_shift() {
    let case = &cases("ks_pairs")[6];
    let hists = [&case["a"], &case["b"]].map(|values| {
        let mut hist = LogHistogram::new();
        numbers(values).iter().for_each(|x| hist.record((x * 1e6) as u64));
        hist
    });
    let raw = [&case["a"], &case["b"]].map(|values| {
        Sample::new(numbers(values).iter().map(|x| (x * 1e6).trunc()).collect()).unwrap()
    });
    let [low, high] =
        [(Edge::Highest, Edge::Lowest), (Edge::Lowest, Edge::Highest)].map(|(a, b)| {
            let a = Sample::of_histogram(&hists[0], a).unwrap();
            let b = Sample::of_histogram(&hists[1], b).unwrap();
            shift(&a, &b, 0.95).shift
        });
    let exact = shift(&raw[0], &raw[1], 0.95).shift;
    assert!(low <= exact && exact <= high, "{low} {exact} {high}");
}
