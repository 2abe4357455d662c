use rand_distr::{Distribution, Gamma, LogNormal, StandardNormal};

use super::*;
use crate::rng::{Purpose, Rng};

fn sample(numbers: impl Iterator<Item = f64>) -> Sample {
    Sample::new(numbers.collect()).unwrap()
}

/// Of normal distributions as (share, mean, deviation).
fn mixture(parts: &[(f64, f64, f64)], count: usize, rng: &mut Rng) -> Sample {
    sample((0..count).map(|_| {
        let mut at = rng.unit();
        let part = parts.iter().find(|part| {
            at -= part.0;
            at < 0.0
        });
        let &(_, mean, deviation) = part.unwrap_or(&parts[0]);
        let normal: f64 = StandardNormal.sample(rng);
        mean + deviation * normal
    }))
}

const PLAIN: Rules =
    Rules { scale: Scale::Plain, alpha: 0.05, share_min: 0.01, depth_min: 0.1, effective: None };

#[test]
fn peaks_of_a_drawn_line() {
    let heights = [0.0, 1.0, 3.0, 3.0, 2.0, 2.0, 4.0, 1.0, 1.0, 0.0];
    let found = peaks(&heights);
    let at: Vec<_> = found.iter().map(|peak| (peak.at, peak.valley)).collect();
    assert_eq!(at, [(2, 0), (6, 5)]);
}

#[test]
fn two_modes_have_their_shares() {
    let mut rng = Rng::new(3, 1, Purpose::Resample);
    let sample = mixture(&[(0.7, 10.0, 1.0), (0.3, 20.0, 2.0)], 20_000, &mut rng);
    let found = modes(&sample, &PLAIN).unwrap();
    let [first, second] = found[..] else {
        panic!("{found:?}");
    };
    assert!((first.at - 10.0).abs() < 0.3 && (second.at - 20.0).abs() < 0.6, "{found:?}");
    assert!((first.share - 0.7).abs() < 0.02 && (first.share + second.share - 1.0).abs() < 1e-12);
    assert_eq!((first.from, first.to, second.to), (sample.min(), second.from, sample.max()));
}

#[test]
fn small_modes_are_merged_with_their_neighbours() {
    let mut rng = Rng::new(4, 1, Purpose::Resample);
    let sample = mixture(&[(0.995, 10.0, 1.0), (0.005, 30.0, 1.0)], 20_000, &mut rng);
    assert_eq!(modes(&sample, &PLAIN).unwrap().len(), 1);
    let fine = Rules { share_min: 0.001, ..PLAIN };
    assert_eq!(modes(&sample, &fine).unwrap().len(), 2);
    // What depends on each other is worth less: 40 numbers show nothing of the like.
    let few = Rules { effective: Some(40.0), ..fine };
    assert_eq!(modes(&sample, &few).unwrap().len(), 1);
}

#[test]
fn unimodal_samples_keep_the_level() {
    let mut rng = Rng::new(5, 1, Purpose::Resample);
    let mut wrong = 0;
    for trial in 0..120 {
        let count = 200 << (trial % 4);
        let sample = match trial % 3 {
            0 => sample((0..count).map(|_| LogNormal::new(0.0, 0.8).unwrap().sample(&mut rng))),
            1 => sample((0..count).map(|_| Gamma::new(2.0, 1.0).unwrap().sample(&mut rng))),
            _ => sample((0..count).map(|_| 1.0 + rng.unit())),
        };
        wrong += usize::from(modes(&sample, &Rules::default()).unwrap().len() > 1);
    }
    assert!(wrong <= 6 + 5, "{wrong} of 120, of which 5 % and three standard errors may be");
}

#[test]
fn rounded_samples_have_no_extra_modes() {
    let mut rng = Rng::new(7, 1, Purpose::Resample);
    let times = LogNormal::new(5_f64.ln(), 0.5).unwrap();
    let mut whole =
        |offset: f64| sample((0..20_000).map(|_| times.sample(&mut rng).round().max(1.0) + offset));
    for (rounded, scale) in [
        (whole(0.0), Scale::Logarithmic),
        (whole(-0.9), Scale::Logarithmic),
        (whole(0.0), Scale::Plain),
        (whole(-50.0), Scale::Plain),
    ] {
        let rules = Rules { scale, ..PLAIN };
        assert_eq!(modes(&rounded, &rules).unwrap().len(), 1, "{scale:?}");
    }
    // But two values are two modes.
    let two = Sample::counted(vec![(1.0, 500), (5.0, 500)]).unwrap();
    assert_eq!(modes(&two, &Rules::default()).unwrap().len(), 2);
}

#[test]
fn constant_sample_has_one_mode() {
    let constant = Sample::counted(vec![(7.0, 500)]).unwrap();
    let mode = Mode { at: 7.0, share: 1.0, from: 7.0, to: 7.0 };
    assert_eq!(modes(&constant, &Rules::default()), Ok(vec![mode]));
    let mut rng = Rng::new(1, 1, Purpose::Resample);
    assert_eq!(silverman(&constant, Scale::Plain, 1, 10, &mut rng), Ok(None));
    let zero = Sample::new(vec![0.0, 1.0]).unwrap();
    assert_eq!(modes(&zero, &Rules::default()), Err(ModesError::NotPositive(0.0)));
    let two = Sample::new(vec![1.0, 2.0]).unwrap();
    assert_eq!(modes(&two, &PLAIN).unwrap().len(), 1);
}

#[test]
fn silverman_detects_two_modes() {
    let mut rng = Rng::new(6, 1, Purpose::Resample);
    let two = mixture(&[(0.5, 0.0, 1.0), (0.5, 5.0, 1.0)], 500, &mut rng);
    let p = |modes_max, rng: &mut Rng| {
        silverman(&two, Scale::Plain, modes_max, 100, rng).unwrap().unwrap().p
    };
    assert!(p(1, &mut rng) < 0.02);
    assert!(p(2, &mut rng) > 0.1);
}
