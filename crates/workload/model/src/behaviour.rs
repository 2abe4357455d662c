//! The behaviour of users: from which class of requests they go to which, and how long they think
//! in between.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::durations::{Durations, Reservoir, SAMPLE_MAX};
use crate::recorded::{self, Sequence};
use crate::sessions::Visit;

/// Thinks kept of all transitions together.
const KEPT_MAX: usize = 4 << 20;
const KEPT_MIN: usize = 100;
/// Maximum number of transitions with a fit of their own.
const OWN_FITS_MAX: usize = 24;
/// Rarer transitions have the fit of their class.
const OWN_FIT_COUNT_MIN: u64 = 50;
/// All longer sessions count as of this length.
const LENGTH_MAX: u64 = 1_000;

/// A segment's behaviour. Classes are given by their index in the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Behaviour {
    /// How many sessions began with each class.
    pub starts: Vec<u64>,
    /// How many sessions ended after each class.
    pub exits: Vec<u64>,
    /// Transitions from class to class.
    pub transitions: Vec<Transition>,
    /// Thinks after each class, of all its transitions without a fit of their own; missing if there are none.
    pub class_thinks: Vec<Option<Durations>>,
    /// Thinks of all transitions.
    pub thinks: Durations,
    /// The number of sessions by their requests; 1,000 includes all that had more.
    pub lengths: BTreeMap<u64, u64>,
    /// Whole sessions as they were: for each request its class and the seconds since the one before.
    pub sequences: Vec<Sequence>,
    /// For each request of `sequences` the index of its target in its class; empty if unknown.
    #[serde(default)]
    pub sequence_targets: Vec<Vec<usize>>,
    /// The places of these requests in the log, until their targets are looked up.
    #[serde(skip)]
    pub(crate) sequence_orders: Vec<Vec<u64>>,
    /// Sessions too long to be kept whole.
    pub sequences_too_long: u64,
}

/// A transition from one class to another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Transition {
    /// The class before.
    pub from: usize,
    /// The class after.
    pub to: usize,
    /// How often.
    pub count: u64,
    /// Share of all that followed the class before, the session's end included.
    pub p: f64,
    /// Lower bound of its 95 % interval (Wilson 1927).
    pub low: f64,
    /// Upper bound.
    pub high: f64,
    /// The transition's think times; missing if they are too few for a fit of their own.
    pub think: Option<Durations>,
}

/// Counts as sessions come.
#[derive(Debug)]
pub(crate) struct Tally {
    classes: usize,
    seed: u64,
    keep: usize,
    pub(crate) sessions: u64,
    pub(crate) requests: u64,
    starts: Vec<u64>,
    exits: Vec<u64>,
    cells: BTreeMap<(u16, u16), Reservoir>,
    of_all: Reservoir,
    lengths: BTreeMap<u64, u64>,
    recorded: recorded::Sample,
}

impl Tally {
    /// `sequences_max`: sessions that are kept whole.
    pub(crate) fn new(classes: usize, segments: usize, sequences_max: usize, seed: u64) -> Tally {
        let rng = stats::rng::Rng::new(seed, 2, stats::rng::Purpose::Resample);
        let cells = segments * classes * classes;
        Tally {
            classes,
            seed,
            keep: (KEPT_MAX / cells.max(1)).clamp(KEPT_MIN, SAMPLE_MAX),
            sessions: 0,
            requests: 0,
            starts: vec![0; classes],
            exits: vec![0; classes],
            cells: BTreeMap::new(),
            of_all: Reservoir::new(SAMPLE_MAX, seed, 1),
            lengths: BTreeMap::new(),
            recorded: recorded::Sample::new(sequences_max, rng),
        }
    }

    pub(crate) fn add(&mut self, visits: &[Visit], class_of: &[u16]) {
        let class = |visit: &Visit| class_of[visit.route as usize];
        let (Some(first), Some(last)) = (visits.first(), visits.last()) else {
            return;
        };
        self.sessions += 1;
        self.requests += visits.len() as u64;
        self.starts[usize::from(class(first))] += 1;
        self.exits[usize::from(class(last))] += 1;
        *self.lengths.entry((visits.len() as u64).min(LENGTH_MAX)).or_default() += 1;
        for pair in visits.windows(2) {
            let from = class(&pair[0]);
            let to = class(&pair[1]);
            let seconds = (pair[1].time_ns - pair[0].time_ns) as f64 / 1e9;
            let keep = self.keep;
            let seed = self.seed;
            let number = u64::from(from) << 16 | u64::from(to);
            let cell = self.cells.entry((from, to));
            cell.or_insert_with(|| Reservoir::new(keep, seed, number)).add(seconds);
            self.of_all.add(seconds);
        }
        self.recorded.add(visits, class_of);
    }
}

/// The transitions whose thinks get a fit of their own: how often each was seen, its tally's place and its classes.
fn most_frequent_cells(tallies: &[Tally]) -> Vec<(u64, usize, (u16, u16))> {
    let mut own = Vec::new();
    for (number, tally) in tallies.iter().enumerate() {
        let cells = tally.cells.iter();
        own.extend(
            cells
                .filter(|cell| cell.1.count >= OWN_FIT_COUNT_MIN)
                .map(|(&cell, r)| (r.count, number, cell)),
        );
    }
    own.sort_by(|a, b| (b.0, a.1, a.2).cmp(&(a.0, b.1, b.2)));
    own.truncate(OWN_FITS_MAX);
    own
}

/// Fits what was counted, on several threads.
pub(crate) fn behaviours(tallies: &[Tally], step_s: f64, threads: usize) -> Vec<Behaviour> {
    let own = most_frequent_cells(tallies);
    let mut jobs: Vec<(&Reservoir, u64)> = Vec::new();
    jobs.extend(
        own.iter().map(|(_, number, cell)| (&tallies[*number].cells[cell], tallies[*number].seed)),
    );
    let pools: Vec<BTreeMap<u16, Reservoir>> = tallies
        .iter()
        .enumerate()
        .map(|(number, tally)| {
            tally.pools(|cell| own.iter().any(|(_, at, own)| (*at, *own) == (number, cell)))
        })
        .collect();
    let mut places = Vec::new();
    for (number, (tally, pools)) in tallies.iter().zip(&pools).enumerate() {
        for (&class, pool) in pools {
            places.push((number, Some(class)));
            jobs.push((pool, tally.seed));
        }
        places.push((number, None));
        jobs.push((&tally.of_all, tally.seed));
    }
    let mut found = described(&jobs, step_s, threads).into_iter();
    let mut behaviours: Vec<Behaviour> = Vec::new();
    let own_fits: BTreeMap<(usize, (u16, u16)), Durations> =
        own.iter().map(|(_, number, cell)| (*number, *cell)).zip(&mut found).collect();
    let pooled: BTreeMap<(usize, Option<u16>), Durations> = places.into_iter().zip(found).collect();
    for (number, tally) in tallies.iter().enumerate() {
        let class_thinks = (0..tally.classes as u16)
            .map(|class| pooled.get(&(number, Some(class))).cloned())
            .collect();
        let transitions = tally.cells.iter().map(|(&(from, to), cell)| {
            let left = tally.left(from);
            let (low, high) = wilson(cell.count, left);
            Transition {
                from: usize::from(from),
                to: usize::from(to),
                count: cell.count,
                p: cell.count as f64 / left as f64,
                low,
                high,
                think: own_fits.get(&(number, (from, to))).cloned(),
            }
        });
        let (sequences, sequence_orders) = tally.recorded.sessions();
        behaviours.push(Behaviour {
            starts: tally.starts.clone(),
            exits: tally.exits.clone(),
            transitions: transitions.collect(),
            class_thinks,
            thinks: pooled[&(number, None)].clone(),
            lengths: tally.lengths.clone(),
            sequences,
            sequence_targets: Vec::new(),
            sequence_orders,
            sequences_too_long: tally.recorded.too_long,
        });
    }
    behaviours
}

impl Tally {
    /// The thinks after each class without those of transitions with a fit of their own, so that the other transitions
    /// keep their mean.
    fn pools(&self, has_own_fit: impl Fn((u16, u16)) -> bool) -> BTreeMap<u16, Reservoir> {
        let mut parts: BTreeMap<u16, Vec<&Reservoir>> = BTreeMap::new();
        for (&cell, reservoir) in self.cells.iter().filter(|(cell, _)| !has_own_fit(**cell)) {
            parts.entry(cell.0).or_default().push(reservoir);
        }
        let pool = |(class, parts): (u16, Vec<&Reservoir>)| {
            let number = u64::from(class) << 16 | 1 << 40;
            (class, Reservoir::pooled(&parts, SAMPLE_MAX, self.seed, number))
        };
        parts.into_iter().map(pool).collect()
    }

    /// How often something followed a class, the session's end included.
    fn left(&self, class: u16) -> u64 {
        let cells = self.cells.range((class, 0)..=(class, u16::MAX));
        self.exits[usize::from(class)] + cells.map(|(_, cell)| cell.count).sum::<u64>()
    }
}

/// Each reservoir described, in the order given.
fn described(jobs: &[(&Reservoir, u64)], step_s: f64, threads: usize) -> Vec<Durations> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, Durations)>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                loop {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    let Some((reservoir, seed)) = jobs.get(place) else {
                        break;
                    };
                    let found = reservoir.describe(step_s, seed.wrapping_add(place as u64));
                    let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
                    done.push((place, found));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(place, _)| *place);
    done.into_iter().map(|(_, found)| found).collect()
}

/// The 95 % interval of a share (Wilson 1927).
pub(crate) fn wilson(count: u64, of: u64) -> (f64, f64) {
    const Z: f64 = 1.959_963_984_540_054;
    if of == 0 {
        return (0.0, 1.0);
    }
    let n = of as f64;
    let p = count as f64 / of as f64;
    let z2 = Z * Z / n;
    let middle = (p + z2 / 2.0) / (1.0 + z2);
    let half = Z / (1.0 + z2) * (p * (1.0 - p) / n + z2 / n / 4.0).sqrt();
    ((middle - half).max(0.0), (middle + half).min(1.0))
}
