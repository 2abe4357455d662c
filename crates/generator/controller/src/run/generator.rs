//! The machines that run the loops of a run, and how many loops they run.

use machine::loops::{cores, open_files_max};
use plan::Plan;
use workers::{Agent, Fleet, Layout, layout};

/// This machine, or those of a fleet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Generator<'a> {
    /// The agents of the fleet; empty: the loops run on this machine.
    pub(super) agents: &'a [Agent],
    /// Worker processes; 0: the loops are threads of this process.
    pub(super) workers_count: u32,
    /// Cores of all machines.
    pub(super) cores: u32,
    pub(super) layout: Layout,
}

impl<'a> Generator<'a> {
    /// Chooses the loops of `plan`, which `workers_count` processes run, or a worker of each agent of `fleet`.
    pub(super) fn lay_out(
        plan: &Plan,
        fleet: Option<&'a dyn Fleet>,
        workers_count: u32,
    ) -> Generator<'a> {
        let agents = fleet.map_or(&[][..], |fleet| fleet.agents());
        let workers_count = workers_count.max(agents.len() as u32);
        let cores = match agents {
            [] => cores(),
            _ => {
                let each = agents.iter().map(|agent| agent.cores);
                each.fold(0_u32, u32::saturating_add).max(1)
            }
        };
        let files = agents.iter().map(|agent| agent.files_per_loop).min();
        let files = files.unwrap_or_else(open_files_max);
        Generator {
            agents,
            workers_count,
            cores,
            layout: layout(plan, cores, files, workers_count),
        }
    }
}
