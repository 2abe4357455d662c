use rand_distr::{Distribution, StandardNormal};
use stats::ensemble::{self, EnsembleError, Within};
use stats::quantile::{Bootstrap, difference};
use stats::rng::{Purpose, Rng};
use stats::sample::Sample;

use crate::golden::{assert_near, cases, number, numbers, sample};

const BOOTSTRAP: Bootstrap = Bootstrap { draws: 40_000, confidence: 0.95 };

fn rng() -> Rng {
    Rng::new(1, 1, Purpose::Resample)
}

#[test]
fn a_resampled_quantile_has_the_distribution_of_the_bootstrap() {
    for case in cases("resampled_quantile") {
        // Against a constant, the interval's bounds are percentiles of the quantile itself.
        let zero = Sample::counted(vec![(0.0, 1000)]).unwrap();
        let mut rng = rng();
        let sorted = numbers(&case["sorted"]);
        let cdf = numbers(&case["cdf"]);
        let values = sample(&case["values"]);
        for confidence in [0.5, 0.8, 0.9, 0.95] {
            let bootstrap = Bootstrap { confidence, ..BOOTSTRAP };
            let found = difference(&zero, &values, number(&case["q"]), bootstrap, &mut rng);
            let interval = found.interval.unwrap();
            // A percentile that is right but for four standard errors of 40,000 draws.
            for (bound, at) in
                [(interval.low, 0.5 - confidence / 2.0), (interval.high, 0.5 + confidence / 2.0)]
            {
                let slack = 4.0 * (at * (1.0 - at) / 40_000.0).sqrt();
                let last = sorted.iter().rposition(|&x| x == bound).unwrap();
                let before = sorted.iter().position(|&x| x == bound).unwrap();
                let less = if before == 0 { 0.0 } else { cdf[before - 1] };
                assert!(less - slack <= at && at <= cdf[last] + slack, "{less} {at} {}", cdf[last]);
            }
        }
    }
}

#[test]
fn differences_agree_with_scipys_bootstrap() {
    for case in cases("quantile_difference") {
        let a = sample(&case["a"]);
        let b = sample(&case["b"]);
        let q = number(&case["q"]);
        let found = difference(&a, &b, q, BOOTSTRAP, &mut rng());
        assert_near(found.second - found.first, number(&case["difference"]), 1e-12, "difference");
        let low = number(&case["low"]);
        let high = number(&case["high"]);
        let interval = found.interval.unwrap();
        let near = 0.03 * (high - low);
        assert!((interval.low - low).abs() <= near, "{interval:?} {low}");
        assert!((interval.high - high).abs() <= near, "{interval:?} {high}");
    }
}

#[test]
fn too_small_groups_have_no_interval() {
    let one = Sample::new(vec![3.0]).unwrap();
    let many = Sample::counted(vec![(2.0, 500)]).unwrap();
    let found = difference(&one, &many, 0.5, BOOTSTRAP, &mut rng());
    assert_eq!((found.first, found.second, found.interval), (3.0, 2.0, None));
    let found = difference(&many, &many, 0.999, BOOTSTRAP, &mut rng());
    assert_eq!(found.interval, None, "the 0.999 quantile of 500 numbers");
    let found = difference(&many, &many, 0.5, BOOTSTRAP, &mut rng());
    let interval = found.interval.unwrap();
    let relative = found.relative.unwrap();
    assert_eq!((interval.low, interval.high, relative.high), (0.0, 0.0, 0.0));
}

#[test]
fn relative_differences_need_what_is_above_zero() {
    let zeros = Sample::counted(vec![(0.0, 300), (1.0, 300)]).unwrap();
    let ones = Sample::counted(vec![(1.0, 600)]).unwrap();
    assert_eq!(difference(&zeros, &ones, 0.5, BOOTSTRAP, &mut rng()).relative, None);
    let twos = Sample::counted(vec![(2.0, 600)]).unwrap();
    let relative = difference(&ones, &twos, 0.5, BOOTSTRAP, &mut rng()).relative.unwrap();
    assert_eq!((relative.low, relative.high), (1.0, 1.0));
}

#[test]
fn hundred_million_numbers_cost_as_much_as_ten() {
    let pairs = |shift: u64| (0..1000).map(|i| ((i + shift) as f64, 100_000)).collect();
    let [a, b] = [0, 3].map(|shift| Sample::counted(pairs(shift)).unwrap());
    let interval = difference(&a, &b, 0.99, BOOTSTRAP, &mut rng()).interval.unwrap();
    assert!(interval.holds(3.0) && interval.low >= 2.0 && interval.high <= 4.0);
}

#[test]
fn welch_agrees_with_scipy() {
    for case in cases("welch") {
        let a = numbers(&case["a"]);
        let b = numbers(&case["b"]);
        let (found, p) = ensemble::welch(&a, &b, 0.95).unwrap();
        assert_near(p.unwrap(), number(&case["p"]), 1e-9, "p");
        assert_near(found.interval.low, number(&case["low"]), 1e-8, "low");
        assert_near(found.interval.high, number(&case["high"]), 1e-8, "high");
    }
    let (found, p) = ensemble::welch(&[2.0, 2.0], &[3.0, 3.0], 0.95).unwrap();
    assert_eq!((found.interval.low, found.interval.high, p), (1.0, 1.0, None));
    assert_eq!(
        ensemble::welch(&[2.0], &[3.0, 3.0], 0.95).unwrap_err(),
        EnsembleError::TooFew(1, 2)
    );
    assert!(ensemble::welch(&[2.0, f64::NAN], &[3.0, 3.0], 0.95).is_err());
}

/// Samples that drift from each other as repeated measurements do: the intervals of whole samples
/// hold the truth as often as they say, those of pooled numbers do not.
#[test]
fn intervals_of_ensembles_keep_their_coverage() {
    const TRIALS: usize = 300;
    const SIDE: usize = 5;
    let mut rng = rng();
    let bootstrap = Bootstrap { draws: 999, confidence: 0.95 };
    let drifting = |rng: &mut Rng| -> Vec<Sample> {
        let samples = (0..SIDE).map(|_| {
            let drift: f64 = StandardNormal.sample(rng);
            let within = (0..100).map(|_| {
                let scatter: f64 = StandardNormal.sample(rng);
                10.0 + 0.5 * drift + scatter
            });
            Sample::new(within.collect()).unwrap()
        });
        samples.collect()
    };
    let mut held = [0; 4];
    for _ in 0..TRIALS {
        let [a, b] = [drifting(&mut rng), drifting(&mut rng)];
        let refs = [&a, &b].map(|side| side.iter().collect::<Vec<_>>());
        let figures =
            refs.clone().map(|side| side.iter().map(|s| s.quantile(0.5)).collect::<Vec<_>>());
        let found = [
            ensemble::welch(&figures[0], &figures[1], 0.95).unwrap().0.interval,
            ensemble::quantiles(&refs[0], &refs[1], 0.5, Within::Kept, bootstrap, &mut rng)
                .unwrap()
                .interval,
            ensemble::quantiles(&refs[0], &refs[1], 0.5, Within::Redrawn, bootstrap, &mut rng)
                .unwrap()
                .interval,
            {
                let pool = |side: &[Sample]| {
                    let all = side.iter().flat_map(|s| s.values().to_vec());
                    Sample::new(all.collect()).unwrap()
                };
                difference(&pool(&a), &pool(&b), 0.5, bootstrap, &mut rng).interval.unwrap()
            },
        ];
        for (held, interval) in held.iter_mut().zip(found) {
            *held += usize::from(interval.holds(0.0));
        }
    }
    // 95 % of 300, give or take three standard errors; the bootstrap is stated to err by two points.
    let [welch, kept, redrawn, pooled] = held.map(|held| held as f64 / TRIALS as f64);
    assert!(welch >= 0.92, "Welch {welch}");
    assert!(kept >= 0.90, "kept {kept}");
    assert!(redrawn >= kept, "redrawn {redrawn}, kept {kept}");
    assert!(pooled < 0.75, "pooled {pooled}");
}
