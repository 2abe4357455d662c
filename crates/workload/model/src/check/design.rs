//! By how much the figures of a simulated log scatter more than independent draws, if it repeats recorded sessions.
//!
//! A scenario has room for a part of the log's sessions. Its figures differ from the log's by the choice of these, and
//! requests of one session resemble each other. Both widen what a check allows: a small difference of a model with few
//! recorded sessions is no fault of it. Lengths are weighted to be the log's own, and are not widened.

use crate::durations::Durations;
use crate::recorded::{Sequence, spread, weights};
use crate::scenario::{Detail, is_chain};
use crate::{Model, Segment};

/// The think times of a transition that fewer recorded sessions have are not compared: their scatter is not known well
/// enough.
const RECORDED_MIN: usize = 100;

/// How many draws both sides of a test have.
#[derive(Debug, Clone, Copy)]
pub(super) struct Units {
    /// Units of the log that were compared, and of the whole log.
    log: f64,
    log_all: f64,
    /// Units of the simulated log.
    simulated: f64,
}

impl Units {
    /// All of both logs.
    pub(super) fn all(log: u64, simulated: u64) -> Units {
        Units { log: log as f64, log_all: log as f64, simulated: simulated as f64 }
    }

    /// Think times, of which a model has a sample.
    pub(super) fn thinks(log: &Durations, simulated: &Durations) -> Units {
        let sampled = |of: &Durations| of.values.iter().map(|value| value.1).sum::<u64>() as f64;
        Units { log: sampled(log), log_all: log.count as f64, simulated: sampled(simulated) }
    }
}

/// The recorded sessions of a segment that the scenario draws from; none if it follows a chain.
pub(super) struct Design<'m> {
    recorded: Vec<&'m Sequence>,
    /// The share of the log's sessions that they are.
    share: f64,
    /// The effect of their weights on the variance (Kish 1965).
    weighting: f64,
}

impl<'m> Design<'m> {
    pub(super) fn new(model: &'m Model, segment: &'m Segment) -> Design<'m> {
        let sequences = &segment.behaviour.sequences;
        let places: Vec<usize> = match is_chain(model, segment) {
            true => Vec::new(),
            false => {
                let detail = Detail::largest_that_fits(model).unwrap_or_default();
                let taken = detail.sequences.min(sequences.len());
                spread(taken, sequences.len()).collect()
            }
        };
        let weights = weights(&segment.behaviour.lengths, sequences, &places);
        let sum: f64 = weights.iter().sum();
        let squares: f64 = weights.iter().map(|weight| weight * weight).sum();
        let share = places.len() as f64 / segment.sessions.max(1) as f64;
        Design {
            weighting: (squares * weights.len() as f64 / sum / sum).max(1.0),
            recorded: places.into_iter().map(|place| &sequences[place]).collect(),
            share: share.min(1.0),
        }
    }

    /// Inflation for the first classes of sessions.
    pub(super) fn starts(&self, units: Units) -> f64 {
        self.inflation(self.recorded.len() as f64, 1.0, units)
    }

    /// Inflation for the classes that follow a class: `log` are the counts of each class and of the
    /// session's end. Their draws depend on each other by as much as the squares of sessions'
    /// deviations are above those of independent draws.
    pub(super) fn transitions(&self, from: usize, log: &[u64], units: Units) -> f64 {
        let all = log.iter().sum::<u64>().max(1) as f64;
        let shares: Vec<f64> = log.iter().map(|&count| count as f64 / all).collect();
        let possible = shares.iter().filter(|share| **share > 0.0).count();
        if self.recorded.is_empty() || possible < 2 {
            return 1.0;
        }
        let mut draws = 0.0;
        let mut squares = 0.0;
        for sequence in &self.recorded {
            let mut counts = vec![0.0; shares.len()];
            for (place, _) in sequence.iter().enumerate().filter(|(_, s)| s.0 == from) {
                let next = sequence.get(place + 1).map_or(shares.len() - 1, |s| s.0);
                counts[next] += 1.0;
            }
            let own: f64 = counts.iter().sum();
            draws += own;
            let cells = counts.iter().zip(&shares).filter(|cell| *cell.1 > 0.0);
            squares +=
                cells.map(|(count, share)| (count - share * own).powi(2) / share).sum::<f64>();
        }
        let effect = squares / (draws.max(1.0) * (possible - 1) as f64);
        self.inflation(draws, effect, units)
    }

    /// Inflation for the think times of a transition, or for all. `None` if too few of them are
    /// recorded for a comparison.
    pub(super) fn thinks(&self, of: Option<(usize, usize)>, units: Units) -> Option<f64> {
        let of_session = |sequence: &&Sequence| -> Vec<f64> {
            let pairs = sequence.windows(2);
            let pairs = pairs.filter(|pair| of.is_none_or(|of| of == (pair[0].0, pair[1].0)));
            pairs.map(|pair| pair[1].1).collect()
        };
        let sessions: Vec<Vec<f64>> = self.recorded.iter().map(of_session).collect();
        let draws = sessions.iter().map(Vec::len).sum::<usize>() as f64;
        let with_any = sessions.iter().filter(|session| !session.is_empty());
        if !self.recorded.is_empty() && self.share < 1.0 && with_any.count() < RECORDED_MIN {
            return None;
        }
        let mean = sessions.iter().flatten().sum::<f64>() / draws.max(1.0);
        let mut alone = 0.0;
        let mut together = 0.0;
        for session in &sessions {
            let off = session.iter().map(|x| x - mean);
            together += off.clone().sum::<f64>().powi(2);
            alone += off.map(|x| x * x).sum::<f64>();
        }
        let effect = if alone > 0.0 { together / alone } else { 1.0 };
        Some(self.inflation(draws, effect, units))
    }

    /// The variance of a difference over what a test takes for it: 1 / log + 1 / simulated. `effect`: of the dependence
    /// within sessions, on the variance of a mean (Kish 1965).
    fn inflation(&self, recorded: f64, effect: f64, units: Units) -> f64 {
        if self.recorded.is_empty() || recorded == 0.0 {
            return 1.0;
        }
        let effect = effect.max(1.0);
        let of_choice = effect * self.weighting * (1.0 - self.share) / recorded;
        let of_simulation = effect / units.simulated;
        let of_sample = (1.0 - units.log / units.log_all).max(0.0) / units.log;
        let taken_for = 1.0 / units.log + 1.0 / units.simulated;
        let inflation = (of_choice + of_simulation + of_sample) / taken_for;
        if inflation.is_finite() { inflation.max(1.0) } else { 1.0 }
    }
}
