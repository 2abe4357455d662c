use stats::rng::{Purpose, Rng};

use super::{Point, SettlingSlot, settle};

/// Seeds of each series.
const SEEDS: u64 = 20;

/// Values of this course by second, each with a normal scatter of 5 %.
fn noisy(seconds: usize, seed: u64, course: impl Fn(f64) -> f64) -> Vec<Point> {
    let mut rng = Rng::new(seed, 0, Purpose::Think);
    let mut scatter = || (0..12).map(|_| rng.unit()).sum::<f64>() - 6.0;
    let value = |place: usize| course(place as f64) * (1.0 + 0.05 * scatter());
    (0..seconds).map(value).enumerate().map(|(place, value)| Point { place, value }).collect()
}

/// Where the series settles, by seed.
fn settled(seconds: usize, course: impl Fn(f64) -> f64) -> Vec<SettlingSlot> {
    (0..SEEDS).map(|seed| settle(noisy(seconds, seed, &course)).unwrap()).collect()
}

/// Most seeds have a cut within these seconds. The rule itself cuts more than is needed in one case of forty.
#[track_caller]
fn most_are_cut(name: &str, all: &[SettlingSlot], within: std::ops::RangeInclusive<usize>) {
    let is_within = |settled: &&SettlingSlot| within.contains(&settled.from.unwrap_or(0));
    let count = all.iter().filter(is_within).count();
    assert!(count + 2 >= all.len(), "{name}: {all:?}");
}

#[test]
fn what_improves_from_the_first_second_on_is_a_warm_up() {
    for length_s in [2.0, 8.0, 20.0] {
        let step = settled(60, |s| if s < length_s { 60.0 } else { 20.0 });
        let least = length_s as usize;
        most_are_cut("a step", &step, least..=least + 9);
    }
    // The transient falls below the scatter of a second, 1 of 20, after ln 60 time constants.
    most_are_cut("τ of 3 s", &settled(60, |s| 20.0 + 60.0 * (-s / 3.0).exp()), 8..=20);
    most_are_cut("τ of 5 s", &settled(120, |s| 20.0 + 60.0 * (-s / 5.0).exp()), 15..=55);
    let two_steps = |s: f64| match s {
        ..5.0 => 80.0,
        ..12.0 => 40.0,
        _ => 20.0,
    };
    most_are_cut("two steps", &settled(60, two_steps), 12..=21);
    // Of throughput more is better, and the points are its negatives.
    most_are_cut("throughput", &settled(60, |s| if s < 8.0 { -20.0 } else { -60.0 }), 8..=17);
}

#[test]
fn what_is_steady_first_and_worse_in_the_middle_is_no_warm_up() {
    let windows = [(3.0, 9.0), (5.0, 20.0), (15.0, 16.0), (15.0, 22.0), (25.0, 33.0), (45.0, 55.0)];
    for (begin_s, end_s) in windows {
        for worse in [26.0, 60.0, 180.0] {
            // A single second a little above the others is one of them.
            if end_s - begin_s < 2.0 && worse < 60.0 {
                continue;
            }
            let is_worse = |s: f64| (begin_s..end_s).contains(&s);
            let found = settled(60, |s| if is_worse(s) { worse } else { 20.0 });
            most_are_cut(&format!("{worse} from {begin_s} to {end_s} s"), &found, 0..=1);
        }
    }
    // Batches of five seconds begin and end elsewhere.
    let is_worse = |s: f64| (32.0..51.0).contains(&s);
    let found = settled(150, |s| if is_worse(s) { 180.0 } else { 20.0 });
    most_are_cut("in batches", &found, 0..=0);
    let is_worse = |s: f64| (8.0..11.0).contains(&s) || (17.0..20.0).contains(&s);
    let found = settled(60, |s| if is_worse(s) { 180.0 } else { 20.0 });
    most_are_cut("two windows", &found, 0..=1);
    // An outage: nothing is completed.
    let is_down = |s: f64| (15.0..25.0).contains(&s);
    most_are_cut("an outage", &settled(60, |s| if is_down(s) { 0.0 } else { -60.0 }), 0..=1);
}

/// Seconds around an incident that the judge found, without its own, but with one in which its last answers came.
#[test]
fn the_last_answers_of_an_incident_are_no_warm_up() {
    for seed in 0..SEEDS {
        let mut points = noisy(45, seed, |s| if (15.0..28.0).contains(&s) { 60.0 } else { 20.0 });
        points.retain(|point| !(15..27).contains(&point.place));
        assert_eq!(settle(points).unwrap().from.unwrap_or(0), 0);
    }
}

#[test]
fn a_warm_up_before_an_incident_ends_before_it() {
    let course = |s: f64| match s {
        ..5.0 => 60.0,
        15.0..25.0 => 180.0,
        _ => 20.0,
    };
    most_are_cut("a warm-up and an incident", &settled(60, course), 5..=13);
}

/// Too few seconds before it are steady: whether it was ever as later is not known.
#[test]
fn what_is_worse_from_the_second_second_on_is_taken_for_a_warm_up() {
    let found = settled(60, |s| if (1.0..12.0).contains(&s) { 180.0 } else { 20.0 });
    most_are_cut("from the second second on", &found, 12..=21);
}

#[test]
fn what_only_grows_or_stalls_now_and_then_has_no_warm_up() {
    let growing = settled(60, |s| 20.0 + s);
    assert!(growing.iter().all(|settled| settled.from.is_none()), "{growing:?}");
    let late = growing.iter().filter(|settled| settled.is_late).count();
    assert!(late + 2 >= growing.len(), "{growing:?}");
    let stalls = settled(60, |s| if s % 7.0 == 3.0 { 60.0 } else { 20.0 });
    most_are_cut("stalls", &stalls, 0..=0);
    let worse_to_the_end = settled(60, |s| if s < 40.0 { 20.0 } else { 60.0 });
    assert!(worse_to_the_end.iter().all(|settled| settled.from.is_none()));
    let even = settled(60, |_| 20.0);
    most_are_cut("an even series", &even, 0..=0);
}

#[test]
fn constants_are_steady_and_their_windows_are_seen() {
    let points = |of: fn(usize) -> f64| -> Vec<Point> {
        (0..60).map(|place| Point { place, value: of(place) }).collect()
    };
    let steady = Some(SettlingSlot { from: None, is_late: false });
    assert_eq!(settle(points(|_| 7.0)), steady);
    assert_eq!(settle(points(|place| if place == 15 { 50.0 } else { 7.0 })), steady);
    let stepped = settle(points(|place| if place < 8 { 50.0 } else { 7.0 })).unwrap();
    assert_eq!(stepped.from, Some(8));
    assert_eq!(settle(points(|_| 7.0)[..9].to_vec()), None);
}
