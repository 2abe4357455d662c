use super::*;
use crate::rng::{Purpose, Rng};

const RULES: Rules = Rules { alpha: 0.0125, least: 0.223, shortest: 1 };

/// A server with four places, to which requests come as a Poisson process of this rate by second, and each of which takes
/// an exponential time of this mean: its seconds, by the logarithms of the response times.
struct Queue<'f> {
    per_s: &'f dyn Fn(f64) -> f64,
    mean_s: &'f dyn Fn(f64) -> f64,
}

fn exponential(rng: &mut Rng) -> f64 {
    -(1.0 - rng.unit()).ln()
}

impl Queue<'_> {
    fn seconds(&self, seconds: usize, rng: &mut Rng) -> Vec<Level> {
        let mut sums = vec![WeightedSum::default(); seconds];
        let mut free = [0.0_f64; 4];
        let mut now = 0.0;
        loop {
            now += exponential(rng) / (self.per_s)(now);
            if now >= seconds as f64 {
                break;
            }
            let next = (0..4).min_by(|&a, &b| free[a].total_cmp(&free[b])).unwrap();
            free[next] = free[next].max(now) + exponential(rng) * (self.mean_s)(now);
            if let Some(sum) = sums.get_mut(free[next] as usize) {
                sum.weight += 1.0;
                sum.sum += (free[next] - now).ln();
            }
        }
        let level = |sum: &WeightedSum| match sum.weight > 0.0 {
            true => Level { value: sum.level(), weight: sum.weight },
            false => Level::default(),
        };
        sums.iter().map(level).collect()
    }
}

/// The windows of a queue's seconds under their load.
fn found(levels: &[Level]) -> Vec<Window> {
    let around = |second: usize| {
        let near = &levels[second.saturating_sub(4)..(second + 5).min(levels.len())];
        near.iter().map(|level| level.weight).sum::<f64>() / near.len() as f64
    };
    let load: Vec<f64> = (0..levels.len()).map(around).collect();
    let explained = explained_by_load(levels, &load);
    levels_under_load(levels, &explained, &Load { by_second: &load, numbers: 9.0 }, &RULES)
}

/// How many of these runs have a window.
fn alarms(runs: u64, seconds: usize, queue: &Queue<'_>) -> usize {
    let has_any = |run: &u64| {
        let mut rng = Rng::new(45, *run, Purpose::Service);
        !found(&queue.seconds(seconds, &mut rng)).is_empty()
    };
    (0..runs).filter(has_any).count()
}

#[test]
fn healthy_queues_have_no_windows() {
    // At 70 % of what it does; the first time, and as a load that rises.
    for per_s in [25.0, 100.0] {
        let queue = Queue { per_s: &|_| per_s, mean_s: &|_| 2.8 / per_s };
        let alarms = alarms(200, 60, &queue);
        assert!(alarms <= 4, "{alarms} of 200 at {per_s} a second");
    }
    let ramp = Queue { per_s: &|now| 2.0 + 98.0 * (now / 60.0), mean_s: &|_| 2.8 / 100.0 };
    assert!(alarms(200, 60, &ramp) <= 4);
    let phases = Queue {
        per_s: &|now| if (15.0..45.0).contains(&now) { 100.0 } else { 40.0 },
        mean_s: &|_| 2.8 / 100.0,
    };
    assert!(alarms(200, 60, &phases) <= 4);
    // Most of the run has the load under which all takes longer.
    let busy = |now: f64| if now < 15.0 { 20.0 } else { 80.0 };
    let slower = Queue { per_s: &busy, mean_s: &|now| if now < 15.0 { 0.01 } else { 0.025 } };
    assert!(alarms(200, 60, &slower) <= 4);
}

#[test]
fn a_load_close_to_what_a_queue_does_is_no_window() {
    let mean_s = |_| 0.9 * 4.0 / 100.0;
    let ramp = |now: f64| 2.0 + 98.0 * (now / 60.0);
    let alarms_of_ramp = alarms(200, 60, &Queue { per_s: &ramp, mean_s: &mean_s });
    assert!(alarms_of_ramp <= 10, "{alarms_of_ramp} of 200");
    let back = |now: f64| 2.0 + 98.0 * (1.0 - (now / 30.0 - 1.0).abs());
    let alarms_of_back = alarms(200, 60, &Queue { per_s: &back, mean_s: &mean_s });
    assert!(alarms_of_back <= 10, "{alarms_of_back} of 200");
    // A degradation on the way is one.
    let slow = |now: f64| if (25.0..35.0).contains(&now) { 0.036 } else { 0.012 };
    let slow = Queue { per_s: &ramp, mean_s: &slow };
    let is_found = |run: &u64| {
        let mut rng = Rng::new(52, *run, Purpose::Service);
        found(&slow.seconds(60, &mut rng)).iter().any(|window| window.seconds.contains(&30))
    };
    let times_found = (0..100).filter(is_found).count();
    assert!(times_found >= 90, "{times_found} of 100");
}

#[test]
fn nothing_is_known_of_loads_that_the_rest_has_not_had() {
    let mut rng = Rng::new(53, 1, Purpose::Service);
    let load: Vec<f64> = (0..60).map(|second| if second < 40 { 10.0 } else { 20.0 }).collect();
    let mut of_seconds = |slow: Range<usize>| -> Vec<Window> {
        let value = |second: usize, rng: &mut Rng| {
            0.1 * rng.unit() + if slow.contains(&second) { 1.0 } else { 0.0 }
        };
        let levels: Vec<Level> =
            (0..60).map(|s| Level { value: value(s, &mut rng), weight: 10.0 }).collect();
        let none = vec![0.0; levels.len()];
        let load = Load { by_second: &load, numbers: f64::INFINITY };
        levels_under_load(&levels, &none, &load, &RULES)
    };
    assert_eq!(of_seconds(40..60), []);
    assert_eq!(of_seconds(42..50)[0].seconds, 42..50);
    // Less load never explains what is worse.
    assert_eq!(of_seconds(10..20)[0].seconds, 10..20);
}

#[test]
fn levels_by_load_rise_with_it() {
    let levels = [1.0, 3.0, 2.0, 4.0, 9.0, 0.0].map(|sum| WeightedSum { weight: 1.0, sum });
    let load = [1.0, 2.0, 3.0, 4.0, 4.0, 9.0];
    let load = Load { by_second: &load, numbers: f64::INFINITY };
    let taken = [false, false, false, false, false, true];
    let found = LevelByLoad::of(&levels, &load, &taken);
    // Ayer and others (1955): neighbours that fall share their mean; those with the same load do, too.
    assert_eq!(found.levels, [1.0, 2.5, 2.5, 6.5, 6.5]);
    assert_eq!(found.blocks_from(load.by_second, 2.0), 2);
    assert_eq!(found.under(load.by_second, 1.5), Some(2.5));
    assert_eq!(found.under(load.by_second, 9.0), Some(6.5));
}

#[test]
fn times_of_slow_answers_are_found_to_the_second() {
    for run in 0..20 {
        let mut rng = Rng::new(46, run, Purpose::Service);
        let slow = Queue {
            per_s: &|_| 100.0,
            mean_s: &|now| if (15.0..25.0).contains(&now) { 0.03 } else { 0.006 },
        };
        let windows = found(&slow.seconds(40, &mut rng));
        assert_eq!(windows.len(), 1, "run {run}: {windows:?}");
        let seconds = &windows[0].seconds;
        assert!(seconds.start.abs_diff(15) <= 1 && seconds.end.abs_diff(25) <= 1, "{seconds:?}");
        let factor = (windows[0].inside - windows[0].outside).exp();
        assert!((3.5..20.0).contains(&factor), "{factor}");
    }
}

#[test]
fn what_lasts_to_the_end_and_what_comes_twice_is_found() {
    let mut rng = Rng::new(47, 1, Purpose::Service);
    let after = Queue { per_s: &|_| 100.0, mean_s: &|now| if now < 20.0 { 0.004 } else { 0.012 } };
    let windows = found(&after.seconds(60, &mut rng));
    let seconds: Vec<_> = windows.iter().map(|window| window.seconds.clone()).collect();
    assert_eq!(seconds, vec![20..60]);
    let twice = Queue {
        per_s: &|_| 100.0,
        mean_s: &|now| match (20.0..25.0).contains(&now) || (40.0..45.0).contains(&now) {
            true => 0.02,
            false => 0.004,
        },
    };
    let windows = found(&twice.seconds(60, &mut rng));
    assert_eq!(windows.len(), 2, "{windows:?}");
    assert!(windows[0].seconds.contains(&22) && windows[1].seconds.contains(&42));
}

#[test]
fn the_load_explains_levels_that_only_great_loads_have() {
    let levels: Vec<Level> =
        [1.0, 1.0, 2.0, 3.0, 2.0, 1.0].iter().map(|&value| Level { value, weight: 10.0 }).collect();
    let load = [10.0, 10.0, 20.0, 30.0, 20.0, 10.0];
    assert_eq!(explained_by_load(&levels, &load), [1.0, 1.0, 2.0, 3.0, 2.0, 1.0]);
    // The same without a difference of the load.
    assert_eq!(explained_by_load(&levels, &[10.0; 6]), [1.5; 6]);
    // Most seconds with little load were worse than those with more.
    let levels: Vec<Level> =
        [9.0, 9.0, 1.0, 2.0, 2.0, 2.0].iter().map(|&value| Level { value, weight: 10.0 }).collect();
    let load = [10.0, 10.0, 10.0, 20.0, 20.0, 20.0];
    assert_eq!(explained_by_load(&levels, &load), [2.0; 6]);
}

#[test]
fn a_load_explains_what_is_usual_with_it_or_with_more() {
    let mut rng = Rng::new(51, 1, Purpose::Service);
    // Some seconds have no level.
    let level = |rng: &mut Rng| Level { value: rng.unit(), weight: (4.0 * rng.unit()).floor() };
    let levels: Vec<Level> = (0..300).map(|_| level(&mut rng)).collect();
    let ramp: Vec<f64> = (0..300).map(f64::from).collect();
    let steps: Vec<f64> = ramp.iter().map(|at| (at / 100.0).floor() * 7.0).collect();
    let random: Vec<f64> = (0..300).map(|_| rng.unit()).collect();
    for load in [ramp, steps, random] {
        let explained = explained_by_load(&levels, &load);
        for (second, found) in explained.into_iter().enumerate() {
            let own = load[second];
            let of = |is_like: &dyn Fn(f64) -> bool| {
                let known =
                    (0..300).filter(|&other| is_like(load[other])).map(|other| levels[other]);
                let known = known.filter(|level| level.weight > 0.0).map(|level| level.value);
                median(&known.collect::<Vec<f64>>())
            };
            let as_great = of(&|load| load >= LOAD_SHARE_MIN * own);
            let alike = of(&|load| load >= LOAD_SHARE_MIN * own && own >= LOAD_SHARE_MIN * load);
            let least = [as_great, alike].into_iter().flatten().reduce(f64::min);
            assert_eq!(found, least.unwrap_or(0.0));
        }
    }
}

/// Thirty operations a second of which this share fails, by second.
fn failing(seconds: usize, share: impl Fn(usize) -> f64, rng: &mut Rng) -> Vec<Count> {
    let one = |second: usize, rng: &mut Rng| {
        let hits = (0..30).filter(|_| rng.unit() < share(second)).count();
        Count { hits: hits as f64, of: 30.0 }
    };
    (0..seconds).map(|second| one(second, rng)).collect()
}

const SHARES: Rules = Rules { least: 0.01, ..RULES };

#[test]
fn failures_as_usual_are_no_window() {
    for share in [0.0, 0.01, 0.2] {
        let has_any = |run: &u64| {
            let mut rng = Rng::new(48, *run, Purpose::Service);
            !counts(&failing(60, |_| share, &mut rng), &SHARES).is_empty()
        };
        let alarms = (0..100).filter(has_any).count();
        assert!(alarms <= 3, "{alarms} of 100 at {share}");
    }
    // Bursts of every fifth second are usual as well.
    let mut rng = Rng::new(49, 1, Purpose::Service);
    let bursts = failing(60, |second| if second % 5 == 0 { 0.3 } else { 0.02 }, &mut rng);
    assert_eq!(counts(&bursts, &SHARES), []);
}

#[test]
fn times_of_failures_are_found_with_their_share() {
    for run in 0..20 {
        let mut rng = Rng::new(50, run, Purpose::Service);
        let share = |second| if (15..25).contains(&second) { 0.3 } else { 0.0 };
        let windows = counts(&failing(40, share, &mut rng), &SHARES);
        assert_eq!(windows.len(), 1, "run {run}: {windows:?}");
        assert_eq!(windows[0].seconds, 15..25);
        assert!(windows[0].p < 1e-9 && windows[0].outside == 0.0, "{windows:?}");
        assert!((0.18..0.42).contains(&windows[0].inside), "{windows:?}");
    }
}

#[test]
fn series_of_nothing_have_no_windows() {
    assert_eq!(levels(&[], &RULES), []);
    assert_eq!(counts(&[], &SHARES), []);
    assert_eq!(levels(&[Level::default(); 60], &RULES), []);
    assert_eq!(levels(&[Level { value: 3.0, weight: 5.0 }; 60], &RULES), []);
    let mut broken = [Level { value: 3.0, weight: 5.0 }; 60];
    (broken[20].value, broken[30].value) = (f64::NAN, f64::INFINITY);
    assert_eq!(levels(&broken, &RULES), []);
    assert_eq!(counts(&[Count { hits: 30.0, of: 30.0 }; 60], &SHARES), []);
}
