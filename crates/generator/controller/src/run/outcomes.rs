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
    /// The end of the last phase.
    planned_end_ns: u64,
    /// End of the last interval.
    until_ns: u64,
}

impl Outcomes {
    pub(crate) fn new(info: &RunInfo) -> Outcomes {
        Outcomes {
            begun: vec![0; info.measures.len()],
            due: vec![0; info.measures.len()],
            planned_end_ns: info.phases.last().map_or(u64::MAX, |phase| phase.end_ns),
            ..Outcomes::default()
        }
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
        let is_drain = interval.row.start_ns >= self.planned_end_ns;
        let phase = interval.row.phase + u32::from(is_drain);
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
