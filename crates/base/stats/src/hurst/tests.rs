use super::*;

#[test]
fn the_range_of_a_block_is_that_of_its_sums() {
    // Deviations from 2.5: −1.5, −0.5, 0.5, 1.5; sums −1.5, −2, −1.5, 0.
    let found = range(&[1.0, 2.0, 3.0, 4.0]).unwrap();
    assert!((found - 2.0 / 1.25_f64.sqrt()).abs() < 1e-12);
    assert_eq!(range(&[3.0; 5]), None);
}

#[test]
fn a_valley_is_found() {
    let found = bracket::least(0.0..10.0, 1e-7, |x| (x - 3.3).powi(2));
    assert!((found - 3.3).abs() < 1e-6);
}

#[test]
fn series_without_h_have_no_estimate() {
    // All its power lies at the highest frequency that is taken.
    let turn = std::f64::consts::TAU * 60.0 / 1_000.0;
    let wave: Vec<f64> = (0..1_000).map(|i| (turn * f64::from(i)).sin()).collect();
    assert_eq!(local_whittle(&wave, 60, 0.0, 0.95), Err(NoEstimate::None));
    let ramp: Vec<f64> = (0..1_000).map(|i| f64::from(i).powi(3)).collect();
    assert_eq!(local_whittle(&ramp, 20, 0.0, 0.95), Err(NoEstimate::None));
}

/// Counts of a Poisson process (Knuth's product, 1969) whose rate is the exponential of fractional noise.
fn counts(h: f64, mean: f64, length: usize, seed: u64) -> Vec<f64> {
    let mut rng = crate::rng::Rng::new(seed, 8, crate::rng::Purpose::Resample);
    let rates = noise(h, length, &mut rng);
    let of_rate = |rate: f64| {
        let limit = (-mean * (0.4 * rate - 0.08).exp()).exp();
        let mut product = rng.unit();
        let mut count = 0.0;
        while product > limit {
            product *= rng.unit();
            count += 1.0;
        }
        count
    };
    rates.into_iter().map(of_rate).collect()
}

#[test]
fn counts_of_a_few_events_keep_the_h_of_their_rate() {
    const SERIES: u64 = 100;
    const H: f64 = 0.8;
    for mean in [2.0, 5.0] {
        let mut held = [0; 4];
        for seed in 0..SERIES {
            let series = counts(H, mean, 4_096, seed);
            let own = series.iter().sum::<f64>() / series.len() as f64;
            let estimates = [0.0, own].map(|noise| {
                let whittle = local_whittle(&series, 223, noise, 0.95).unwrap();
                let wavelet = wavelet(&series, 4, 12, noise, 0.95).unwrap();
                [whittle.estimate, wavelet.estimate]
            });
            for (held, estimate) in held.iter_mut().zip(estimates.as_flattened()) {
                let low = estimate.low.unwrap();
                let high = estimate.high.unwrap();
                *held += u32::from(low <= H && H <= high);
            }
        }
        // Without the noise they are drawn to 0.5.
        assert!(held[0] < 60 && held[1] < 70, "{held:?} at {mean}");
        assert!(held[2] >= 88 && held[3] >= 88, "{held:?} at {mean}");
    }
}

#[test]
fn counts_of_one_rate_have_no_h_above_their_noise() {
    let hidden = (0..40).filter(|&seed| {
        let mut rng = crate::rng::Rng::new(seed, 9, crate::rng::Purpose::Resample);
        let series: Vec<f64> =
            (0..2_048).map(|_| (0..40).filter(|_| rng.unit() < 0.05).count() as f64).collect();
        let own = series.iter().sum::<f64>() / series.len() as f64;
        let found = local_whittle(&series, 140, own, 0.95);
        found.map(|whittle| whittle.estimate) == Err(NoEstimate::Noise)
            && aggregated_variance(&series, own, 0.95) == Err(NoEstimate::Noise)
            && wavelet(&series, 4, 12, own, 0.95) == Err(NoEstimate::Noise)
    });
    // Each sees a rate that is not there in one of twenty.
    assert!(hidden.count() >= 33);
}

#[test]
fn intervals_of_aggregated_variance_hold_independent_numbers() {
    const SERIES: u64 = 200;
    for length in [512, 4_096] {
        let held = (0..SERIES).filter(|&seed| {
            let mut rng = crate::rng::Rng::new(seed, 10, crate::rng::Purpose::Resample);
            let series = noise(0.5, length, &mut rng);
            let found = aggregated_variance(&series, 0.0, 0.95).unwrap();
            found.low.unwrap() <= 0.5 && 0.5 <= found.high.unwrap()
        });
        let held = held.count();
        // 95 % of 200 are 190 ± 3.
        assert!((180..=198).contains(&held), "{held} of {SERIES} at {length}");
    }
}
