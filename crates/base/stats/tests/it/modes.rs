use stats::modes::density::Density;
use stats::modes::{Scale, silverman};
use stats::rng::{Purpose, Rng};

use crate::golden::{assert_near, cases, number, numbers, sample};

#[test]
fn densities_agree_with_scipy() {
    for case in cases("densities") {
        let density = Density::new(&sample(&case["values"]), Scale::Plain).unwrap().unwrap();
        let heights = density.heights(number(&case["bandwidth"]));
        let greatest = heights.iter().copied().fold(0.0, f64::max);
        let start = density.place(0);
        let step = density.place(1) - density.place(0);
        for (at, expected) in numbers(&case["at"]).iter().zip(numbers(&case["heights"])) {
            let place = (at - start) / step;
            let left = place.floor() as usize;
            let t = place.fract();
            let found = heights[left] * (1.0 - t) + heights[left + 1] * t;
            assert!((found - expected).abs() < 1e-4 * greatest, "{found} {expected} at {at}");
        }
    }
}

#[test]
fn bandwidths_of_sheather_and_jones() {
    for case in cases("sheather_jones") {
        let density = Density::new(&sample(&case["values"]), Scale::Plain).unwrap().unwrap();
        assert_near(density.sheather_jones(), number(&case["bandwidth"]), 1e-3, "bandwidth");
    }
}

#[test]
fn silvermans_chondrites() {
    let mut rng = Rng::new(1, 1, Purpose::Resample);
    let found: Vec<_> = cases("critical_bandwidths")
        .iter()
        .map(|case| {
            let sample = sample(&case["values"]);
            let modes = number(&case["modes"]) as usize;
            let found = silverman(&sample, Scale::Plain, modes, 100, &mut rng).unwrap().unwrap();
            assert_near(found.critical_bandwidth, number(&case["bandwidth"]), 1e-3, "bandwidth");
            found
        })
        .collect();
    // Three modes are the least that the sample does not speak against.
    assert!(found[0].p < 0.2 && found[1].p < 0.15 && found[2].p > 0.5, "{found:?}");
}
