//! The state of a run that another controller of a fleet needs, besides the scenario, to continue it.

use std::net::SocketAddr;

use record::schema::RunInfo;
use serde::{Deserialize, Serialize};
use workers::{Fleet, Loops};

use super::deals::Deal;

/// The state of a run, as the fleet keeps it for another controller.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Handover {
    pub(super) info: RunInfo,
    /// The loops of each agent.
    pub(super) shares: Vec<Loops>,
    /// The address of the built-in target.
    pub(super) target: Option<SocketAddr>,
    pub(super) plan_digest: String,
    /// The zero on the monotonic clock of the first controller, to which the offsets of agents' clocks are.
    pub(super) zero_ns: u64,
    pub(super) allow_lost_workers: bool,
    /// Shares of lost agents that were dealt.
    #[serde(default)]
    pub(super) deals: Vec<Deal>,
}

impl Handover {
    /// Keeps it with the run. The error is for people.
    pub(super) fn keep(&self, fleet: &dyn Fleet) -> Result<(), String> {
        fleet.keep(&serde_json::to_string(self).map_err(|error| error.to_string())?)
    }
}
