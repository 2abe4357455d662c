use stats::rng::{Purpose, Rng};

use super::*;

/// Counts drawn bin by bin, as Poisson with this rate a second at this second of the recording.
fn drawn(seconds: usize, rate: impl Fn(usize) -> f64) -> Counts {
    drawn_by(11, seconds, rate)
}

fn drawn_by(seed: u64, seconds: usize, rate: impl Fn(usize) -> f64) -> Counts {
    let mut rng = Rng::new(seed, 0, Purpose::Arrivals);
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
    Counts { bins, bin_s: 1, local_s: 0 }
}

fn day(second: usize) -> f64 {
    0.3 * (1.0 + 0.8 * (std::f64::consts::TAU * second as f64 / 86_400.0).sin())
}

#[test]
fn constant_rate_is_poisson_and_daily_rate_a_cycle() {
    let flat = analyse(&drawn(40_000, |_| 0.4), None, None, 1);
    assert_eq!((flat.process, flat.process_fits), (ArrivalProcess::Poisson, true));
    assert!(flat.rate_low < 0.4 && 0.4 < flat.rate_high);
    assert!(flat.silences.is_empty() && flat.cycle.is_none());
    let daily = analyse(&drawn(8 * 86_400, day), None, None, 1);
    assert_eq!((daily.process, daily.process_fits), (ArrivalProcess::Cycle, true));
    let cycle = daily.cycle.unwrap();
    assert!(cycle.broken.is_none() && cycle.day.explained > 0.9);
    for (hour, rate) in cycle.rates.iter().enumerate() {
        let expected = day(hour * 3600 + 1800);
        assert!((rate / expected - 1.0).abs() < 0.15, "hour {hour}: {rate} for {expected}");
    }
    let rescaled = daily.rescaled.unwrap();
    assert!((0.9..1.1).contains(&rescaled.index), "{rescaled:?}");
}

#[test]
fn bursts_repeat_the_recording_unless_requested_otherwise() {
    // Ten users at once now and then.
    let counts = drawn(40_000, |second| if second % 50 == 0 { 10.0 } else { 0.0 });
    let found = analyse(&counts, None, None, 1);
    assert_eq!((found.process, found.process_fits), (ArrivalProcess::Trace, true));
    let given = analyse(&counts, None, Some(ArrivalProcess::Poisson), 1);
    assert_eq!(
        (given.process, given.process_requested, given.process_fits),
        (ArrivalProcess::Poisson, true, false)
    );
}

#[test]
fn joined_recordings_are_detected() {
    let cut = 9 * 86_400;
    let joined =
        drawn(20 * 86_400, |second| day(if second < cut { second } else { second + 10 * 3600 }));
    let found = analyse(&joined, None, None, 1).cycle.unwrap();
    let broken = found.broken.unwrap();
    assert_eq!(broken.day, 9);
    assert!((broken.hours + 10.0).abs() < 0.5, "{broken:?}");
    assert!(found.from_s >= cut as u64, "the longer side is the second");
}

#[test]
fn silences_are_findings_and_do_not_change_the_cycle() {
    let quiet = 3 * 86_400..3 * 86_400 + 40_000;
    let counts =
        drawn(8 * 86_400, |second| if quiet.contains(&second) { 0.0 } else { day(second) });
    let found = analyse(&counts, None, None, 1);
    let longest = &found.silences[0];
    assert!(longest.from_s.abs_diff(quiet.start as u64) < 60 && longest.length_s >= 40_000);
    // Nor do they make an hour of the scenario quieter, which has none.
    let hours = found.hours().unwrap();
    let rates = &found.cycle.as_ref().unwrap().rates;
    let played = hours.share(2 * 3600) * found.rate_per_s;
    assert!((played / rates[2] - 1.0).abs() < 1e-9, "{played}");
    assert!((rates[2] / day(2 * 3600 + 1800) - 1.0).abs() < 0.15);
}

#[test]
fn few_users_give_no_figures() {
    let found = analyse(&drawn(40, |_| 0.4), None, None, 1);
    assert!(found.scales.is_empty() && found.cycle.is_none() && found.hurst.is_none());
}

/// How many of the recordings are not taken for Poisson.
fn refused(rounds: u64, seconds: usize, rate: impl Fn(usize) -> f64) -> usize {
    let counts = (1..=rounds).map(|seed| drawn_by(seed, seconds, &rate));
    let found = counts.filter(|counts| analyse(counts, None, None, 1).poisson_rejected());
    found.count()
}

/// How many of the recordings the tests of their counts alone reject.
fn rejected(rounds: u64, seconds: usize, rate: f64) -> usize {
    let found = (1..=rounds).filter(|&seed| {
        let counts = drawn_by(seed, seconds, |_| rate);
        let trend = counts::laplace(between(&counts.bins));
        let trend = trend.map(|counts::Trend { z, p }| Trend { z, p });
        rejects_poisson(&scales::scales(&counts, seed), trend)
    });
    found.count()
}

#[test]
fn poisson_test_keeps_its_level() {
    // Of 2,400 recordings 24 ± 5 at 1 %. With a lag for each four windows 40 and more were rejected.
    let recordings = [(200, 0.5), (600, 0.5), (1_430, 0.5), (3_600, 0.1), (14_300, 0.3)];
    let found = recordings.map(|(seconds, rate)| rejected(480, seconds, rate));
    let all: usize = found.iter().sum();
    assert!(all <= 39, "{all}: {found:?}");
    // 250 users in four days: each second's count is 0 or 1.
    let refused = refused(2, 345_600, |_| 250.0 / 345_600.0);
    assert_eq!(refused, 0);
}

/// A source that sends at four times the rate for a quarter of the time, in bursts of 20 s.
#[test]
fn bursts_of_an_on_off_source_reject_poisson() {
    let found = (1..=20).filter(|&seed| {
        let mut rng = Rng::new(seed, 1, Purpose::Source);
        let mut on = false;
        let mut states = Vec::new();
        while states.len() < 3_600 {
            let mean_s = if on { 20.0 } else { 60.0 };
            let length = 1.0 - rng.unit().max(1e-12).ln() * mean_s;
            states.extend(std::iter::repeat_n(on, length as usize));
            on = !on;
        }
        let rate = |second: usize| if states[second] { 0.8 } else { 0.0 };
        analyse(&drawn_by(seed, 3_600, rate), None, None, 1).poisson_rejected()
    });
    assert_eq!(found.count(), 20);
}

#[test]
fn trends_and_steps_reject_poisson() {
    let rising = |second| 0.02 + 0.2 * second as f64 / 3_600.0;
    let stepping = |second| if second < 1_800 { 0.1 } else { 0.2 };
    let swelling = |second| 0.02 + 0.4 * (std::f64::consts::PI * second as f64 / 3_600.0).sin();
    assert!(refused(10, 3_600, rising) >= 9);
    assert!(refused(10, 3_600, stepping) >= 9);
    assert!(refused(10, 3_600, swelling) >= 9);
    let found = analyse(&drawn(3_600, rising), None, None, 1);
    assert_eq!(found.process, ArrivalProcess::Trace);
    assert!(found.trend.unwrap().z > 4.0);
}

#[test]
fn reason_for_no_cycle_is_kept() {
    let of = |counts: &Counts| {
        let found = analyse(counts, None, Some(ArrivalProcess::Cycle), 1);
        assert_eq!(found.cycle_requested, found.cycle.is_none());
        assert_eq!(found.process_requested, found.cycle.is_some());
        found.no_cycle
    };
    assert_eq!(of(&drawn(86_400, day)), Some(NoCycle::Short));
    let in_bins = |bin_s: u64, rate: &dyn Fn(usize) -> f64| {
        let bins = 4 * 86_400 / bin_s as usize;
        let of_bin = |bin: usize| rate(bin * bin_s as usize) * bin_s as f64;
        Counts { bin_s, ..drawn(bins, of_bin) }
    };
    assert_eq!(of(&in_bins(60, &|_| 0.3)), Some(NoCycle::Flat));
    assert_eq!(of(&in_bins(70, &day)), Some(NoCycle::Bins));
    assert_eq!(of(&in_bins(60, &day)), None);
}

#[test]
fn bins_of_several_hours_are_spread_over_them() {
    let counts = Counts { bins: vec![10, 3], bin_s: 7_200, local_s: 1_800 };
    let hours = by_hour(&counts);
    assert_eq!(hours[..6], [2, 5, 3, 2, 1, 0]);
    assert_eq!(hours.iter().sum::<u64>(), 13);
}

#[test]
fn identical_days_survive_serialisation() {
    let bins = (0..4 * 24).map(|hour| 5 + hour % 24 * 7 % 11).collect();
    let counts = Counts { bins, bin_s: 3_600, local_s: 0 };
    let found = analyse(&counts, None, None, 1);
    assert!(found.cycle.as_ref().unwrap().day.f.is_finite());
    let text = serde_json::to_string(&found).unwrap();
    assert_eq!(serde_json::from_str::<Arrivals>(&text).unwrap(), found);
}

#[test]
fn few_users_give_no_hurst_estimate() {
    let few = analyse(&drawn(20_000, |_| 0.001), None, None, 1);
    assert!(few.users < 50 && few.hurst.is_none());
    // A rate that doubles for every other quarter of an hour.
    let many = analyse(
        &drawn(20_000, |second| if second / 900 % 2 == 0 { 0.1 } else { 0.2 }),
        None,
        None,
        1,
    );
    let many = many.hurst.unwrap();
    let whittle = many.estimates.iter().find(|e| e.method == "local-whittle");
    // All of it but less than one in 256.
    assert!(whittle.unwrap().upto_s > 20_000.0 * 255.0 / 256.0);
}

#[test]
fn poisson_counts_hide_an_h_and_even_ones_do_not() {
    let of = |counts: &Counts| analyse(counts, None, None, 1).hurst.unwrap();
    let poisson = of(&drawn(20_000, |_| 2.0));
    let hidden: Vec<&str> = poisson.hidden.iter().map(|h| h.method.as_str()).collect();
    assert!(hidden.contains(&"local-whittle"), "{hidden:?}");
    assert!(poisson.estimates.iter().all(|e| e.method != "local-whittle"));
    // Two or three users in each second: no Poisson scatter to subtract.
    let mut rng = Rng::new(3, 0, Purpose::Arrivals);
    let even = Counts {
        bins: (0..20_000).map(|_| 2 + u32::from(rng.unit() < 0.5)).collect(),
        bin_s: 1,
        local_s: 0,
    };
    let even = of(&even);
    assert!(even.hidden.is_empty(), "{even:?}");
    let whittle = even.estimates.iter().find(|e| e.method == "local-whittle");
    assert!((whittle.unwrap().h - 0.5).abs() < 0.1, "{whittle:?}");
}
