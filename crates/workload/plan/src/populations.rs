//! Populations side by side: users who arrive by processes of their own.
//!
//! Most scenarios have one, without a name: its arrivals are the plan's phases. Of several, the phases of the first are
//! the plan's phases as well, by which times of the run are called.

use serde::Serialize;

use crate::Plan;
use crate::phases::Phase;

/// The key of the tag that a population gives to what its users measure.
pub const POPULATION: &str = "population";

/// Users who arrive by a process of their own beside others.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NamedPopulation {
    /// Unique; empty: its arrivals are the scenario's own.
    pub name: String,
    /// In order, gapless from 0.
    pub phases: Vec<Phase>,
    /// How many of [`Plan::singles`] are its users.
    pub singles_count: u64,
}

impl Plan {
    /// The phases by which users come, of each population.
    pub fn arrivals(&self) -> impl Iterator<Item = &[Phase]> + Clone {
        let only = self.populations.is_empty().then_some(&self.phases[..]);
        let named = self.populations.iter().map(|population| &population.phases[..]);
        only.into_iter().chain(named)
    }

    /// How many users the populations are expected to start until `at_ns`; single ones aside.
    pub fn users_by(&self, at_ns: u64) -> f64 {
        self.arrivals().flatten().map(|phase| phase.users_by(at_ns)).sum()
    }

    /// How many users of all populations are expected to start in the time of one of [`Plan::phases`].
    pub fn users_planned_in(&self, phase: &Phase) -> f64 {
        match self.populations.is_empty() {
            true => phase.users_planned(),
            false => self.users_by(phase.end_ns()) - self.users_by(phase.start_ns),
        }
    }

    /// From when on the run is over once no user is present; `None`: it ends by the clock.
    pub fn done_from_ns(&self) -> Option<u64> {
        let lasts = self.arrivals().filter_map(<[Phase]>::last);
        let from_ns = lasts.map(|last| match last.until_done {
            true => last.start_ns,
            false => last.end_ns(),
        });
        from_ns.max().filter(|&from_ns| from_ns < self.end_ns())
    }
}
