//! Faults of the generator that kept it from its load, before anybody is blamed for them.

use record::schema::{HealthSummary, MeasureSummary, UsersSummary};

use super::cause::Cause;
use super::lag::{self, LagExcess};
use super::memory::MemoryPressure;
use super::starts::{self, MissedStarts, Shortage};
use crate::figures::Figures;

/// The faults of a generator that did not bring its target the load that was planned.
pub(crate) struct Shortfall {
    pub(crate) memory: Option<MemoryPressure>,
    /// The scarcest resource first.
    pub(crate) shortages: Vec<Shortage>,
    pub(crate) load: Option<LoadFault>,
}

/// Load that is not the one that was planned.
pub(crate) enum LoadFault {
    Missed(MissedStarts),
    /// Operations that began late, although all users started.
    Late {
        excess: LagExcess,
        cause: Cause,
    },
}

impl Shortfall {
    pub(crate) fn find(
        figures: &Figures,
        health: &HealthSummary,
        users: &UsersSummary,
        measures: &[MeasureSummary],
    ) -> Shortfall {
        let memory = MemoryPressure::find(figures);
        let missed = MissedStarts::find(figures).map(LoadFault::Missed);
        let late = || {
            let excess = lag::above_limit(figures, health, measures)?;
            let cause = Cause::of(figures);
            Some(LoadFault::Late { excess, cause })
        };
        Shortfall {
            shortages: starts::find_shortages(figures, users, memory.is_some()),
            memory,
            load: missed.or_else(late),
        }
    }

    pub(crate) fn is_none(&self) -> bool {
        self.memory.is_none() && self.shortages.is_empty() && self.load.is_none()
    }

    /// True if it is the generator's own: no target is to blame for it.
    pub(crate) fn is_generators(&self) -> bool {
        let load = match &self.load {
            Some(LoadFault::Missed(missed)) => missed.cause.as_ref(),
            Some(LoadFault::Late { cause, .. }) => Some(cause),
            None => None,
        };
        self.memory.is_some()
            || self.shortages.iter().any(Shortage::is_generators)
            || load.is_some_and(Cause::is_generators)
    }
}
