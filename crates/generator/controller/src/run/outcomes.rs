//! The outcomes of the run so far, as `tally.json` keeps them.

use std::collections::BTreeMap;

use plan::MeasureId;
use record::Outcome;
use record::counters::Counts;
use record::schema::{
    MeasureTally, NeverBegun, PhaseTally, RegionTally, RunInfo, StepWork, Tally,
    UnfinishedSessions, WhyNot,
};

use super::merge::Interval;

/// Counts of what began so far, and of how it ended: operations by phase and measure, sessions by their endings.
#[derive(Debug, Default)]
pub(crate) struct Outcomes {
    counts: BTreeMap<(u32, MeasureId), BTreeMap<Outcome, u64>>,
    /// Operations begun, by phase and measure.
    begun_in: BTreeMap<(u32, MeasureId), u64>,
    /// Operations begun, by measure.
    begun: Vec<u64>,
    /// Operations that were due, by measure.
    due: Vec<u64>,
    /// Due operations that never began.
    missed: BTreeMap<(MeasureId, WhyNot), u64>,
    /// Attempts that were tried again, by measure; empty while there are none.
    retried: Vec<u64>,
    endings: Vec<UnfinishedSessions>,
    own_work: Vec<StepWork>,
    /// Counts of users by region.
    regions: Vec<Counts>,
    /// When each phase starts.
    phase_starts_ns: Vec<u64>,
    /// The number of the drain: of a phase after the last that began.
    drain: u32,
    /// The end of the last phase, or of the load if that came before.
    load_end_ns: u64,
    /// End of the last interval.
    until_ns: u64,
}

impl Outcomes {
    pub(crate) fn new(info: &RunInfo) -> Outcomes {
        Outcomes {
            begun: vec![0; info.measures.len()],
            due: vec![0; info.measures.len()],
            phase_starts_ns: info.phases.iter().map(|phase| phase.start_ns).collect(),
            drain: info.phases.len().max(1) as u32,
            load_end_ns: info.phases.last().map_or(u64::MAX, |phase| phase.end_ns),
            ..Outcomes::default()
        }
    }

    /// The load ends now, before its plan does: what ends in seconds that begin later ends in the drain.
    pub(crate) fn end_load(&mut self, at_ns: u64) {
        self.load_end_ns = self.load_end_ns.min(at_ns);
        let begun = self.phase_starts_ns.iter().filter(|&&start_ns| start_ns < at_ns);
        self.drain = begun.count().max(1) as u32;
    }

    pub(crate) fn add(&mut self, interval: &Interval) {
        self.until_ns = self.until_ns.max(interval.row.end_ns);
        let regions_count = self.regions.len().max(interval.regions.len());
        self.regions.resize(regions_count, Counts::default());
        for (sum, counts) in self.regions.iter_mut().zip(&interval.regions) {
            sum.merge(counts);
        }
        for ending in &interval.endings {
            ending.add_to(&mut self.endings);
        }
        for work in &interval.own_work {
            work.add_to(&mut self.own_work);
        }
        // Operations that end in the drain count as those of a phase after the last.
        let is_drain = interval.row.start_ns >= self.load_end_ns;
        let phase = if is_drain { self.drain } else { interval.row.phase };
        for (&measure, delta) in &interval.measures {
            self.begun[measure.index()] += delta.begun;
            self.due[measure.index()] += delta.due;
            if delta.retried > 0 {
                self.retried.resize(self.begun.len(), 0);
                self.retried[measure.index()] += delta.retried;
            }
            for (&why, &n) in WhyNot::ALL.iter().zip(&delta.missed).filter(|(_, n)| **n > 0) {
                *self.missed.entry((measure, why)).or_default() += n;
            }
            *self.begun_in.entry((phase, measure)).or_default() += delta.begun;
            let counts = self.counts.entry((phase, measure)).or_default();
            for (&outcome, &n) in Outcome::ALL.iter().zip(&delta.outcomes) {
                if n > 0 {
                    *counts.entry(outcome).or_default() += n;
                }
            }
        }
    }

    /// The counts as the record keeps them.
    pub(crate) fn tally(&self) -> Tally {
        let never_begun = self.missed.iter().map(|(&(measure, why), &operations)| NeverBegun {
            measure: measure.0,
            why,
            operations,
        });
        let mut tally = Tally {
            until_ns: Some(self.until_ns),
            begun: self.begun.clone(),
            due: self.due.clone(),
            never_begun: never_begun.collect(),
            retried: self.retried.clone(),
            endings: self.endings.clone(),
            own_work: self.own_work.clone(),
            regions: self.regions.iter().map(users).collect(),
            ..Tally::default()
        };
        for (&(phase, measure), counts) in &self.counts {
            let outcomes = counts.iter().map(|(o, &n)| (o.name().to_owned(), n)).collect();
            let entry = MeasureTally {
                begun: self.begun_in.get(&(phase, measure)).copied().unwrap_or(0),
                measure: measure.0,
                outcomes,
            };
            match tally.phases.last_mut() {
                Some(last) if last.phase == phase => last.measures.push(entry),
                _ => tally.phases.push(PhaseTally { phase, measures: vec![entry] }),
            }
        }
        tally
    }
}

/// The users of a region.
fn users(counts: &Counts) -> RegionTally {
    RegionTally {
        started: counts.users_started.saturating_sub(counts.users_repeated),
        connected: counts.users_connected,
        sessions: counts.users_started,
        finished: counts.users_finished,
        failed: counts.users_failed,
        stopped: counts.users_stopped,
        cut_off: counts.users_cut,
        refused: counts.users_refused,
    }
}

#[cfg(test)]
mod tests {
    use engine::measure::{MeasureDelta, OUTCOMES};
    use record::schema::PhaseInfo;
    use testkit::runs::sample;

    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;

    /// A second of the first phase in which one request ended well.
    fn second(number: u64) -> Interval {
        let start_ns = number * SECOND_NS;
        let mut interval = Interval::new(start_ns, start_ns + SECOND_NS, 0);
        let mut outcomes = [0; OUTCOMES];
        outcomes[Outcome::Ok as usize] = 1;
        let measure = MeasureId(sample::REQUEST as u16);
        let delta = MeasureDelta { due: 1, begun: 1, outcomes, ..MeasureDelta::new(measure) };
        interval.measures.insert(measure, delta);
        interval
    }

    /// How many requests ended in each phase, the drain being that after the last: ten seconds of load and three more.
    fn ended(phases: Vec<PhaseInfo>, load_ended_ns: u64) -> Vec<(u32, u64)> {
        let mut outcomes = Outcomes::new(&RunInfo { phases, ..sample::info() });
        (0..10).for_each(|number| outcomes.add(&second(number)));
        outcomes.end_load(load_ended_ns);
        (10..13).for_each(|number| outcomes.add(&second(number)));
        let tally = outcomes.tally();
        let ended = |phase: &PhaseTally| phase.measures[0].outcomes[Outcome::Ok.name()];
        tally.phases.iter().map(|phase| (phase.phase, ended(phase))).collect()
    }

    #[test]
    fn what_ends_after_the_load_was_ended_is_of_the_drain() {
        let only = || vec![sample::phase("hold", "rate", 0, 60, 6000.0)];
        assert_eq!(ended(only(), 10 * SECOND_NS), [(0, 10), (1, 3)]);
        // The second in which it ended has load.
        assert_eq!(ended(only(), 10 * SECOND_NS + 1), [(0, 11), (1, 2)]);
        assert_eq!(ended(only(), u64::MAX), [(0, 13)]);
        // A phase that never begins has no part in it.
        let two = vec![
            sample::phase("ramp", "rate", 0, 30, 3000.0),
            sample::phase("hold", "rate", 30, 60, 3000.0),
        ];
        assert_eq!(ended(two, 10 * SECOND_NS), [(0, 10), (1, 3)]);
    }
}
