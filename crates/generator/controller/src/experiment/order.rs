//! The runs of an experiment and their order.

use scenario::Experiment;
use stats::rng::{Purpose, Rng};

/// Seeds of runs are below this, so that JSON readers with 64-bit floats keep them.
const SEEDS: u64 = 1 << 32;

/// A planned run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedRun {
    /// From 1, in the order in which runs are made.
    pub number: usize,
    /// From 1.
    pub repetition: u32,
    /// The level of each factor, from 0.
    pub cell: Vec<usize>,
    /// The scenario's seed; `None`: the experiment sets it.
    pub seed: Option<u64>,
}

/// All runs of an experiment in their order, which follows from its seed.
pub fn order(experiment: &Experiment) -> Vec<PlannedRun> {
    (1..=experiment.repetitions).flat_map(|number| repetition(experiment, number)).collect()
}

/// The runs of one repetition, from 1, in their order.
pub(super) fn repetition(experiment: &Experiment, repetition: u32) -> Vec<PlannedRun> {
    let sets = experiment.sets.iter().map(|(key, _)| key);
    let mut keys = sets.chain(
        experiment
            .factors
            .iter()
            .flat_map(|factor| &factor.levels)
            .flat_map(|level| level.sets.iter().map(|(key, _)| key)),
    );
    let is_seed_set = keys.any(|key| key == "seed");
    let mut block = experiment.cells();
    let before = (repetition.max(1) as usize - 1) * block.len();
    let mut draws = Rng::new(experiment.seed, u64::from(repetition), Purpose::Choice);
    // Fisher and Yates, as in Knuth, "The Art of Computer Programming" 2, algorithm 3.4.2P.
    for last in (1..block.len()).rev() {
        block.swap(last, draws.below(last as u64 + 1) as usize);
    }
    let run = |(place, cell): (usize, Vec<usize>)| {
        let number = before + place + 1;
        let mut seeds = Rng::new(experiment.seed, number as u64, Purpose::Value);
        PlannedRun { number, repetition, cell, seed: (!is_seed_set).then(|| seeds.below(SEEDS)) }
    };
    block.into_iter().enumerate().map(run).collect()
}

/// The time that the runs take together in nanoseconds, with the pauses between them. `run_ns`: of a
/// run of this combination. What targets take to start is not known.
pub fn time_ns(
    experiment: &Experiment,
    runs: &[PlannedRun],
    run_ns: impl Fn(&[usize]) -> u64,
) -> u64 {
    let first = runs.first().map_or(0, |run| run_ns(&run.cell));
    let warm_up = first.saturating_mul(u64::from(experiment.warm_up));
    let count = runs.len() as u64 + u64::from(experiment.warm_up);
    let pauses = experiment.pause_ns.saturating_mul(count.saturating_sub(1));
    let own = runs.iter().map(|run| run_ns(&run.cell));
    own.fold(warm_up.saturating_add(pauses), u64::saturating_add)
}
