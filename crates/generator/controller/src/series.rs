//! Runs one after the other, as searches, experiments and duets make them.

use std::path::Path;
use std::sync::Arc;

use plan::Plan;
use record::Durability;
use workers::ScenarioText;

use crate::control::Interrupt;
use crate::run::{Control, Machines, RecordSettings, RunRequest};
use crate::surroundings::Surroundings;

/// A scenario compiled for one run.
#[derive(Debug)]
pub struct CompiledPlan {
    pub plan: Plan,
    /// The scenario that the plan was compiled from.
    pub scenario: ScenarioText,
}

/// Settings that all runs have in common.
#[derive(Debug, Clone)]
pub struct SeriesSettings<'a> {
    /// The program of built-in targets.
    pub program: &'a Path,
    /// Throng's version.
    pub version: &'a str,
    /// Run even if this machine cannot hold that many users.
    pub force: bool,
    /// The failures that the runs' records survive.
    pub durability: Durability,
    /// The lab that the runs take place in.
    pub lab: Option<Arc<dyn Surroundings>>,
    /// The user's request to end it.
    pub interrupt: Arc<Interrupt>,
}

impl<'a> SeriesSettings<'a> {
    /// A run of this plan, with its directory in `runs`.
    pub(crate) fn run(&self, compiled: CompiledPlan, runs: &'a Path) -> RunRequest<'a> {
        let CompiledPlan { plan, scenario } = compiled;
        RunRequest {
            plan,
            scenario,
            version: self.version,
            machines: Machines {
                lab: self.lab.clone(),
                force: self.force,
                ..Machines::here(self.program)
            },
            record: RecordSettings { runs, durability: self.durability, allow_lost_workers: false },
            control: Control { interrupt: Arc::clone(&self.interrupt), ..Control::default() },
        }
    }
}
