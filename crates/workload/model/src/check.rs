//! Compares two models: that of a simulated log with the model that was simulated.

mod design;

use serde::{Deserialize, Serialize};
use stats::counts::{chi_squared_tail, poisson_upto, two_rows};
use stats::ks;
use stats::means::two_means;
use stats::multiple::holm;
use stats::rng::{Purpose, Rng};
use stats::sample::Sample;
use stats::student::{two_sided_p, two_sided_t};

use crate::arrivals::{Arrivals, Hours};
use crate::durations::Durations;
use crate::{ArrivalProcess, Model, Segment};
use design::{Design, Units};

/// The probability that any test of a check rejects a correct model.
pub const LEVEL: f64 = 0.05;
/// Thinks of which either side has fewer are not compared.
const THINKS_MIN: u64 = 30;

/// Degrees of freedom of Student's distribution that make it normal.
const FREEDOM_NORMAL: f64 = 1e6;

/// A check: all tests, and whether none rejects.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// [`LEVEL`].
    pub level: f64,
    /// Sessions of the first model's log, and of the second's.
    pub sessions: (u64, u64),
    /// All tests, by p-value.
    pub tests: Vec<CheckTest>,
    /// No test rejects.
    pub holds: bool,
}

/// A test of a check.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ts_rs::TS)]
pub struct CheckTest {
    /// `arrivals`, `segments`, `starts`, `transitions`, `thinks`, `mean thinks` or `lengths`.
    pub quantity: String,
    /// The segment, and the two classes of a transition.
    pub what: String,
    /// The greatest difference of two shares, or Kolmogorov's distance; the relative difference of a number or a mean.
    pub distance: f64,
    /// P(as different).
    pub p: f64,
    /// `p`, adjusted for the number of tests (Holm 1979).
    pub p_adjusted: f64,
    /// Below the level.
    pub rejected: bool,
}

#[derive(Default)]
struct Tests(Vec<CheckTest>);

impl Tests {
    fn add(&mut self, quantity: &str, what: &str, distance: f64, p: f64) {
        self.0.push(CheckTest {
            quantity: quantity.to_owned(),
            what: what.to_owned(),
            distance,
            p,
            p_adjusted: 1.0,
            rejected: false,
        });
    }

    /// `inflation`: of the variance, over that of independent draws; so of all the following.
    fn rows(&mut self, quantity: &str, what: &str, a: &[u64], b: &[u64], inflation: f64) {
        let Some(found) = two_rows(a, b) else {
            return;
        };
        // Rao and Scott (1981), first order.
        let p = chi_squared_tail(found.statistic / inflation, found.freedom);
        let n = a.iter().sum::<u64>() as f64;
        let m = b.iter().sum::<u64>() as f64;
        let apart = a.iter().zip(b).map(|(&x, &y)| (x as f64 / n - y as f64 / m).abs());
        self.add(quantity, what, apart.fold(0.0, f64::max), p);
    }

    fn number(&mut self, quantity: &str, what: &str, expected: f64, seen: u64) {
        let below = poisson_upto(seen, expected);
        let above = match seen.checked_sub(1) {
            Some(less) => 1.0 - poisson_upto(less, expected),
            None => 1.0,
        };
        let p = (2.0 * below.min(above)).min(1.0);
        self.add(quantity, what, (seen as f64 / expected - 1.0).abs(), p);
    }

    fn values(
        &mut self,
        quantity: &str,
        what: &str,
        a: &[(f64, u64)],
        b: &[(f64, u64)],
        inflation: f64,
    ) {
        let samples = (Sample::counted(a.to_vec()), Sample::counted(b.to_vec()));
        if let (Ok(a), Ok(b)) = samples {
            let found = ks::two_samples(&a, &b);
            let narrower = found.distance / inflation.sqrt();
            let p = match inflation > 1.0 {
                true => ks::pair_limit(narrower, a.count(), b.count()).max(found.p),
                false => found.p,
            };
            self.add(quantity, what, found.distance, p);
        }
    }

    /// A tail of a share that distances of distributions do not show may be most of a mean.
    fn means(
        &mut self,
        quantity: &str,
        what: &str,
        a: &[(f64, u64)],
        b: &[(f64, u64)],
        inflation: f64,
    ) {
        let numbers = |values: &[(f64, u64)]| -> Vec<f64> {
            let each = values.iter();
            each.flat_map(|&(x, count)| std::iter::repeat_n(x, count as usize)).collect()
        };
        let mut rng = Rng::new(self.0.len() as u64, 0, Purpose::Resample);
        if let Some(found) = two_means(&numbers(a), &numbers(b), &mut rng) {
            let apart = match found.second == found.first {
                true => 0.0,
                false => (found.second / found.first - 1.0).abs(),
            };
            let p = match inflation > 1.0 && found.p > 0.0 {
                true => {
                    let z = two_sided_t(1.0 - found.p, FREEDOM_NORMAL);
                    two_sided_p(z / inflation.sqrt(), FREEDOM_NORMAL)
                }
                false => found.p,
            };
            self.add(quantity, what, apart, p);
        }
    }

    /// The distribution and the mean of think times.
    fn thinks(&mut self, what: &str, a: &Durations, b: &Durations, inflation: Option<f64>) {
        let Some(inflation) = inflation else {
            return;
        };
        self.values("thinks", what, &a.values, &b.values, inflation);
        self.means("mean thinks", what, &a.values, &b.values, inflation);
    }
}

/// The part of the first model's log that was simulated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SimulatedSpan {
    /// Seconds from its beginning.
    pub seconds: f64,
    /// The factor of the number of users.
    pub users: f64,
}

/// Compares the second model, of a simulated log, with the first, which was simulated. Classes are matched by name,
/// segments by the names that sessions have in the first one's scenario
/// ([`session_names`](crate::session_names)).
pub fn check(first: &Model, second: &Model, played: SimulatedSpan) -> Check {
    let mut tests = Tests::default();
    let names = crate::session_names(first);
    let sessions = |model: &Model| model.segments.iter().map(|s| s.sessions).sum::<u64>();
    // A part of a recording may have other hours than its whole, and other segments.
    let expected = users_expected(first, played.seconds);
    if expected.is_some() {
        tests.rows(
            "arrivals",
            "by the hour of the day",
            &first.arrivals.by_hour,
            &second.arrivals.by_hour,
            1.0,
        );
    }
    let (a, b) = over_time(&first.arrivals, &second.arrivals, played.seconds);
    tests.rows("arrivals", "over the time of the log", &a, &b, 1.0);
    let expected = expected.map(|expected| expected * played.users);
    if let Some(expected) = expected.filter(|&expected| expected > 0.0) {
        tests.number("arrivals", "users in all", expected, second.users);
    }
    let pairs: Vec<(&Segment, Option<&Segment>)> = first
        .segments
        .iter()
        .zip(&names)
        .map(|(segment, name)| {
            let one = first.segments.len() == 1;
            let found = second.segments.iter().find(|other| one || &other.name == name);
            (segment, found)
        })
        .collect();
    let a: Vec<u64> = pairs.iter().map(|pair| pair.0.sessions).collect();
    let b: Vec<u64> = pairs.iter().map(|pair| pair.1.map_or(0, |s| s.sessions)).collect();
    if expected.is_some() {
        tests.rows("segments", "sessions of each", &a, &b, 1.0);
    }
    let places: Vec<Option<usize>> = first
        .classes
        .iter()
        .map(|class| second.classes.iter().position(|other| other.name == class.name))
        .collect();
    for (one, other) in pairs {
        if let Some(other) = other {
            segment(first, one, other, &places, &mut tests);
        }
    }
    decided(tests, sessions(first), sessions(second))
}

/// The tests by p-value, adjusted for their number.
fn decided(tests: Tests, sessions_first: u64, sessions_second: u64) -> Check {
    let mut tests = tests.0;
    let raw: Vec<f64> = tests.iter().map(|test| test.p).collect();
    for (test, adjusted) in tests.iter_mut().zip(holm(&raw)) {
        test.p_adjusted = adjusted;
        test.rejected = adjusted < LEVEL;
    }
    tests.sort_by(|a, b| a.p.total_cmp(&b.p));
    Check {
        level: LEVEL,
        sessions: (sessions_first, sessions_second),
        holds: tests.iter().all(|test| !test.rejected),
        tests,
    }
}

/// Users of both in about 20 pieces of the simulated time.
fn over_time(first: &Arrivals, second: &Arrivals, seconds: f64) -> (Vec<u64>, Vec<u64>) {
    const PIECES: usize = 20;
    let slots = |arrivals: &Arrivals, shift_s: f64| {
        let slot_s = arrivals.pictures.slot_s as f64;
        let users = arrivals.pictures.users.clone();
        let slots = users.into_iter().enumerate();
        slots.map(move |(at, users)| (shift_s + at as f64 * slot_s, slot_s, users))
    };
    // Pieces are slots of the first put together, of which the last may be longer than what was played.
    let slot_s = first.pictures.slot_s.max(1) as f64;
    let whole = (first.pictures.users.len()).min((seconds / slot_s).ceil() as usize);
    let piece_s = slot_s * whole.div_ceil(PIECES) as f64;
    let pieces = (whole as f64 * slot_s / piece_s).ceil() as usize;
    let in_pieces = |slots: &mut dyn Iterator<Item = (f64, f64, u64)>| {
        let mut sums = vec![0.0; pieces];
        for (from_s, length_s, users) in slots {
            for (piece, sum) in sums.iter_mut().enumerate() {
                let begin_s = piece as f64 * piece_s;
                let end_s = (piece + 1) as f64 * piece_s;
                let common_s = end_s.min(from_s + length_s) - begin_s.max(from_s);
                *sum += common_s.max(0.0) / length_s * users as f64;
            }
        }
        sums.into_iter().map(|sum| sum.round() as u64).collect()
    };
    let shift_s = (second.local_s - first.local_s) as f64;
    let a = in_pieces(&mut slots(first, 0.0).take(whole));
    (a, in_pieces(&mut slots(second, shift_s)))
}

/// The expected number of users in the first `seconds`. `None` for a part of a recording, of which only the total is
/// known.
pub fn users_expected(model: &Model, seconds: f64) -> Option<f64> {
    let whole = &model.arrivals;
    let mut users = 0.0;
    let mut apart = false;
    for segment in &model.segments {
        if let Some(process) = segment.process {
            let own = segment.arrivals.as_ref().unwrap_or(whole);
            users += users_of_process(process.kind, own, process.hours(own, whole), seconds)?;
            apart = true;
        }
    }
    match apart {
        true => Some(users),
        false => users_of_process(whole.process, whole, whole.hours(), seconds),
    }
}

fn users_of_process(
    process: ArrivalProcess,
    arrivals: &Arrivals,
    hours: Option<Hours<'_>>,
    seconds: f64,
) -> Option<f64> {
    let rate_s = match (process, hours) {
        (ArrivalProcess::Trace, _) => (seconds >= arrivals.span_s).then_some(arrivals.span_s),
        (ArrivalProcess::Cycle, Some(hours)) => {
            let stretches = hours.stretches(arrivals.local_s, seconds);
            Some(stretches.map(|(length_s, share)| length_s * share).sum())
        }
        (ArrivalProcess::Cycle, None) | (ArrivalProcess::Poisson, _) => Some(seconds),
    };
    Some(arrivals.rate_per_s * rate_s?)
}

fn segment(
    model: &Model,
    first: &Segment,
    second: &Segment,
    places: &[Option<usize>],
    tests: &mut Tests,
) {
    let a = &first.behaviour;
    let b = &second.behaviour;
    let name = &first.name;
    let design = Design::new(model, first);
    let sessions = Units::all(first.sessions, second.sessions);
    let starts = in_second(places, &b.starts);
    let inflation = design.starts(sessions);
    tests.rows("starts", name, &a.starts, &starts, inflation);
    for (from, class) in model.classes.iter().enumerate() {
        let Some(place) = places[from] else {
            continue;
        };
        let row = |behaviour: &crate::Behaviour, from: usize, classes: usize| {
            let mut row = vec![0; classes];
            for transition in behaviour.transitions.iter().filter(|t| t.from == from) {
                row[transition.to] = transition.count;
            }
            row
        };
        let mut own = row(a, from, a.starts.len());
        let mut other = in_second(places, &row(b, place, b.starts.len()));
        own.push(a.exits[from]);
        other.push(b.exits[place]);
        let units = Units::all(own.iter().sum(), other.iter().sum());
        let what = format!("{name}: from {}", class.name);
        let inflation = design.transitions(from, &own, units);
        tests.rows("transitions", &what, &own, &other, inflation);
    }
    for transition in &a.transitions {
        let to = (places[transition.from], places[transition.to]);
        let mut others = b.transitions.iter();
        let other = others.find(|t| (Some(t.from), Some(t.to)) == to);
        let other = other.and_then(|other| other.think.as_ref());
        if let (Some(own), Some(other)) = (&transition.think, other)
            && own.count.min(other.count) >= THINKS_MIN
        {
            let [from, to] =
                [transition.from, transition.to].map(|class| &model.classes[class].name);
            let what = format!("{name}: {from} to {to}");
            let of = Some((transition.from, transition.to));
            tests.thinks(&what, own, other, design.thinks(of, Units::thinks(own, other)));
        }
    }
    let own = &a.thinks;
    let other = &b.thinks;
    let inflation = design.thinks(None, Units::thinks(own, other));
    tests.thinks(&format!("{name}: all"), own, other, inflation);
    let lengths = |behaviour: &crate::Behaviour| -> Vec<(f64, u64)> {
        let lengths = behaviour.lengths.iter();
        lengths.map(|(&length, &count)| (length as f64, count)).collect()
    };
    // Recorded sessions are weighted, so that their lengths are those of the log.
    tests.values("lengths", name, &lengths(a), &lengths(b), 1.0);
}

/// Counts by the second model's classes, in the order of the first one's.
fn in_second(places: &[Option<usize>], counts: &[u64]) -> Vec<u64> {
    let count =
        |place: &Option<usize>| place.and_then(|place| counts.get(place).copied()).unwrap_or(0);
    places.iter().map(count).collect()
}
