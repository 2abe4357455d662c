use stats::rng::{Purpose, Rng};

use super::*;

/// Counts drawn bin by bin, as Poisson with this rate a second at this second of the recording.
fn drawn(seconds: usize, rate: impl Fn(usize) -> f64) -> Counts {
    let mut rng = Rng::new(11, 0, Purpose::Arrivals);
    let mut bins = vec![0; seconds];
    for (second, bin) in bins.iter_mut().enumerate() {
        // Knuth's product (1969).
        let limit = (-rate(second)).exp();
        let mut product = rng.unit();
        while product > limit {
            *bin += 1;
            product *= rng.unit();
        }
    }
    Counts {
        bins,
        bin_s: 1,
        local_s: 0,
    }
}

fn day(second: usize) -> f64 {
    0.3 * (1.0 + 0.8 * (std::f64::consts::TAU * second as f64 / 86_400.0).sin())
}

#[test]
fn one_rate_is_poisson_and_a_day_a_cycle() {
    let flat = analyse(&drawn(40_000, |_| 0.4), None, None, 1);
    assert_eq!((flat.law, flat.law_fits), (ArrivalsLaw::Poisson, true));
    assert!(flat.rate_low < 0.4 && 0.4 < flat.rate_high);
    assert!(flat.silences.is_empty() && flat.cycle.is_none());
    let daily = analyse(&drawn(8 * 86_400, day), None, None, 1);
    assert_eq!((daily.law, daily.law_fits), (ArrivalsLaw::Cycle, true));
    let cycle = daily.cycle.unwrap();
    assert!(cycle.broken.is_none() && cycle.day.explained > 0.9);
    for (hour, rate) in cycle.rates.iter().enumerate() {
        let expected = day(hour * 3600 + 1800);
        assert!(
            (rate / expected - 1.0).abs() < 0.15,
            "hour {hour}: {rate} for {expected}"
        );
    }
    let rescaled = daily.rescaled.unwrap();
    assert!((0.9..1.1).contains(&rescaled.index), "{rescaled:?}");
}

#[test]
fn bursts_are_played_as_recorded_unless_asked_otherwise() {
    // Ten users at once now and then.
    let counts = drawn(40_000, |second| if second % 50 == 0 { 10.0 } else { 0.0 });
    let found = analyse(&counts, None, None, 1);
    assert_eq!((found.law, found.law_fits), (ArrivalsLaw::Trace, true));
    let given = analyse(&counts, None, Some(ArrivalsLaw::Poisson), 1);
    assert_eq!(
        (given.law, given.law_given, given.law_fits),
        (ArrivalsLaw::Poisson, true, false)
    );
}

#[test]
fn recordings_that_were_joined_are_found() {
    let cut = 9 * 86_400;
    let joined = drawn(20 * 86_400, |second| {
        day(if second < cut {
            second
        } else {
            second + 10 * 3600
        })
    });
    let found = analyse(&joined, None, None, 1).cycle.unwrap();
    let broken = found.broken.unwrap();
    assert_eq!(broken.day, 9);
    assert!((broken.hours + 10.0).abs() < 0.5, "{broken:?}");
    assert!(found.from_s >= cut as u64, "the longer side is the second");
}

#[test]
fn silences_are_told_and_leave_the_cycle_alone() {
    let quiet = 3 * 86_400..3 * 86_400 + 40_000;
    let counts = drawn(8 * 86_400, |second| {
        if quiet.contains(&second) {
            0.0
        } else {
            day(second)
        }
    });
    let found = analyse(&counts, None, None, 1);
    let longest = &found.silences[0];
    assert!(longest.from_s.abs_diff(quiet.start as u64) < 60 && longest.length_s >= 40_000);
    // Nor do they make an hour of the scenario quieter, which has none.
    let (hours, rates) = (found.hours().unwrap(), &found.cycle.as_ref().unwrap().rates);
    let played = hours.share(2 * 3600) * found.rate_per_s;
    assert!((played / rates[2] - 1.0).abs() < 1e-9, "{played}");
    assert!((rates[2] / day(2 * 3600 + 1800) - 1.0).abs() < 0.15);
}

#[test]
fn little_is_said_of_little() {
    let found = analyse(&drawn(40, |_| 0.4), None, None, 1);
    assert!(found.scales.is_empty() && found.cycle.is_none() && found.hurst.is_none());
}
