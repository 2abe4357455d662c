use statrs::distribution::{ContinuousCDF, Normal};
use stats::hist::LogHistogram;
use stats::ks::{distance_bounds, kolmogorov_tail, one_sample, pair_limit, two_samples};
use stats::sample::{Edge, Sample};

use crate::golden::{assert_near, cases, lattice, number, numbers, sample};

#[test]
fn small_samples_are_exact_and_agree_with_scipy() {
    for case in cases("ks_pairs") {
        let a = sample(&case["a"]);
        let b = sample(&case["b"]);
        let name = case["name"].as_str().unwrap();
        let found = two_samples(&a, &b);
        assert_near(found.distance, number(&case["distance"]), 1e-14, name);
        let at = |x: f64| {
            a.count_upto(x) as f64 / a.count() as f64 - b.count_upto(x) as f64 / b.count() as f64
        };
        assert_near(at(found.at).abs(), found.distance, 1e-14, name);
        assert_eq!(at(found.at) > 0.0, found.first_above, "{name}");
        if case["exact"].is_number() {
            assert!(found.exact);
            assert_near(found.p, number(&case["exact"]), 1e-10, name);
        }
        if case["limit"].is_number() {
            let limit = pair_limit(found.distance, a.count(), b.count());
            assert_near(limit, number(&case["limit"]), 1e-6, name);
        }
    }
}

#[test]
fn large_pairs_take_the_limit() {
    for case in cases("ks_lattices") {
        let found = two_samples(&lattice(&case["a"]), &lattice(&case["b"]));
        assert!(!found.exact);
        assert_near(found.distance, number(&case["distance"]), 1e-12, "distance");
        assert_near(found.p, number(&case["p"]), 1e-6, "p");
    }
}

#[test]
fn ties_keep_their_exact_distribution() {
    for case in cases("ks_with_ties") {
        let found = two_samples(&sample(&case["a"]), &sample(&case["b"]));
        assert_near(found.p, number(&case["p"]), 1e-12, &case.to_string());
    }
}

#[test]
fn kolmogorovs_distribution() {
    for case in cases("kolmogorov") {
        let expected = number(&case["p"]);
        let n = case["n"].as_u64().unwrap();
        let found = kolmogorov_tail(n, number(&case["distance"]));
        // From 141 numbers on SciPy's own bulk is an expansion with four to five good digits.
        let near = if expected < 0.01 { 1e-6 } else { 3e-5 };
        assert_near(found, expected, near, &case.to_string());
    }
    assert_eq!(kolmogorov_tail(0, 0.3), 1.0);
    assert_eq!(kolmogorov_tail(7, 1.0), 0.0);
}

#[test]
fn one_sample_against_a_distribution() {
    let normal = Normal::standard();
    for case in cases("ks_one") {
        let found = one_sample(&sample(&case["values"]), |x| normal.cdf(x));
        assert_near(found.distance, number(&case["distance"]), 1e-9, "distance");
        assert_near(found.p, number(&case["p"]), 1e-6, "p");
    }
}

#[test]
fn constants_do_not_differ_from_themselves() {
    let constant = Sample::counted(vec![(5.0, 1_000_000)]).unwrap();
    let found = two_samples(&constant, &constant);
    assert_eq!((found.distance, found.p), (0.0, 1.0));
    let other = Sample::counted(vec![(6.0, 1_000_000)]).unwrap();
    assert_eq!(two_samples(&constant, &other).distance, 1.0);
}

#[test]
fn bins_bound_the_distance_of_their_numbers() {
    for case in cases("ks_pairs") {
        let raw = [&case["a"], &case["b"]].map(|values| {
            let whole = numbers(values).iter().map(|&x| (x.max(0.0) * 30_000.0).round()).collect();
            Sample::new(whole).unwrap()
        });
        let binned = [&raw[0], &raw[1]].map(|raw| {
            let mut hist = LogHistogram::new();
            raw.iter().for_each(|(x, n)| hist.record_n(x as u64, n));
            Sample::of_histogram(&hist, Edge::Middle).unwrap()
        });
        let (least, greatest) = distance_bounds(&binned[0], &binned[1]);
        let exact = two_samples(&raw[0], &raw[1]).distance;
        assert!(least <= exact + 1e-15 && exact <= greatest + 1e-15, "{least} {exact} {greatest}");
        let distance = two_samples(&binned[0], &binned[1]).distance;
        assert_near(least, distance, 1e-14, "binned");
    }
}
