//! Steps that run once in a run, before or after its users.

use serde::Serialize;
use stats::rng::{Purpose, Rng};

use crate::Plan;
use crate::ids::MeasureId;
use crate::measures::Measure;
use crate::phases::{Phase, PhaseKind};
use crate::session::Session;

/// A session that one user runs once. Its measures are none of the users'.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Once {
    pub session: Session,
    /// Everything that it measures, as [`Plan::measures`].
    pub measures: Vec<Measure>,
    /// As [`Plan::faults`], among these measures.
    pub faults: MeasureId,
    /// As [`Plan::redirects`], among these measures.
    pub redirects: MeasureId,
    /// It is ended after this time.
    pub time_limit_ns: u64,
    /// True if it runs after the users.
    pub is_last: bool,
}

impl Plan {
    /// The plan of these steps alone, without the users. It starts nobody: its only user is traced.
    pub fn once(&self, once: &Once) -> Plan {
        let mut plan = self.clone();
        // What it draws is not what the user draws that has the same number.
        plan.seed = Rng::new(self.seed, u64::from(once.is_last), Purpose::Once).next_u64();
        plan.sessions = vec![once.session.clone()];
        plan.measures.clone_from(&once.measures);
        plan.faults = once.faults;
        plan.redirects = once.redirects;
        plan.messages.clear();
        plan.thresholds.clear();
        plan.aborts.clear();
        plan.until = None;
        plan.probes.clear();
        plan.regions.truncate(1);
        (plan.setup, plan.teardown) = (None, None);
        plan.without_crowd(&once.session.name, once.time_limit_ns);
        plan
    }

    /// Starts no users, and ends with the only one that there is, or when the time is up.
    pub fn without_crowd(&mut self, name: &str, time_max_ns: u64) {
        self.phases = vec![Phase {
            name: name.to_owned(),
            kind: PhaseKind::Hold,
            start_ns: 0,
            duration_ns: time_max_ns,
            session: None,
            weights: None,
            users_max: None,
            iterations: None,
            until_done: true,
        }];
        self.populations.clear();
        self.singles.clear();
        // Nobody else will come.
        for rendezvous in &mut self.meetings.rendezvous {
            rendezvous.users = 1;
        }
        self.options.drain_ns = 0;
    }
}
