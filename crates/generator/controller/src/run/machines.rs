//! The machines that a run takes place on: their loops, and the networks of their users.

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use machine::loops::{cores, open_files_max};
use machine::thread::Namespace;
use plan::{Plan, Target};
use workers::{Agent, Fleet, Layout, Loops, layout};

use super::error::ConductError;
use super::network::{NetnsError, Network, generators_own};
use super::preflight::PlannedLoad;
use crate::surroundings::Surroundings;

/// Machines that a run takes place on, with their networks.
#[derive(Debug)]
pub struct Machines<'a> {
    /// The program of built-in targets and worker processes.
    pub program: &'a Path,
    /// The number of worker processes that run the loops; 0: they are threads of this process.
    pub workers_count: u32,
    /// The agents that run the loops instead, a worker each.
    pub fleet: Option<Rc<dyn Fleet>>,
    /// The files of network namespaces that regions connect from, by region.
    pub netns: Vec<(String, PathBuf)>,
    /// The lab that the run takes place in. Regions connect from its namespaces if `netns` names none.
    pub lab: Option<Arc<dyn Surroundings>>,
    /// Run even if the machines cannot hold that many users.
    pub force: bool,
}

/// The machines with the loops of a run on them. Everything of [`Machines`] that only decides this is gone.
pub(super) struct Placement<'a> {
    pub(super) program: &'a Path,
    pub(super) fleet: Option<Rc<dyn Fleet>>,
    pub(super) lab: Option<Arc<dyn Surroundings>>,
    /// Worker processes; 0: the loops are threads of this process.
    pub(super) workers_count: u32,
    /// Cores of all machines.
    pub(super) cores: u32,
    pub(super) layout: Layout,
    /// The loops of each agent; empty without a fleet.
    pub(super) shares: Vec<Loops>,
    /// A sentence for the record: the machines are too small, and are used anyway.
    pub(super) warning: Option<String>,
    /// The networks of users as far as they are known before the target runs.
    pub(super) network: Network,
}

impl<'a> Machines<'a> {
    /// This machine, with the loops as threads of this process.
    pub fn here(program: &'a Path) -> Machines<'a> {
        Machines {
            program,
            workers_count: 0,
            fleet: None,
            netns: Vec::new(),
            lab: None,
            force: false,
        }
    }

    /// Brings the lab to where a run begins, lays out the loops of `plan`, finds the networks of its users, and refuses a
    /// run that is too large. The plan gets the probes of the lab.
    pub(super) fn place(self, plan: &mut Plan) -> Result<Placement<'a>, ConductError> {
        self.prepare_lab(plan)?;
        probe::check(&plan.probes)?;
        let plan = &*plan;
        let agents = self.fleet.as_deref().map_or(&[][..], |fleet| fleet.agents());
        let workers_count = self.workers_count.max(agents.len() as u32);
        let cores = cores_of(agents);
        let layout = layout(plan, cores, files_per_loop(agents), workers_count);
        let namespaces = self.namespaces(plan, workers_count)?;
        let network = Network::find(plan, &namespaces)?;
        let load = PlannedLoad { plan, layout: &layout, places: &network.places };
        let admission = load.admit(agents, self.force)?;
        Ok(Placement {
            program: self.program,
            workers_count,
            cores,
            layout,
            shares: admission.shares,
            warning: admission.warning,
            network,
            lab: self.lab,
            fleet: self.fleet,
        })
    }

    /// The lab adds probes of its own, which are checked with those of the scenario.
    fn prepare_lab(&self, plan: &mut Plan) -> Result<(), ConductError> {
        match (&self.lab, &plan.scaling) {
            (Some(lab), scaling) => {
                lab.prepare(scaling.as_deref()).map_err(ConductError::Lab)?;
                plan.probes.extend(lab.probes());
                Ok(())
            }
            (None, Some(_)) => Err(ConductError::NoLab),
            (None, None) => Ok(()),
        }
    }

    /// The namespace of each region; without regions one, the generator's own.
    fn namespaces(
        &self,
        plan: &Plan,
        workers_count: u32,
    ) -> Result<Vec<Option<Namespace>>, NetnsError> {
        let of_lab = match self.lab.as_deref().filter(|_| self.netns.is_empty()) {
            Some(lab) => netns_of_lab(lab, plan)?,
            None => Vec::new(),
        };
        let given = [&self.netns[..], &of_lab].concat();
        let mut all = generators_own(plan);
        let Some((first, _)) = given.first() else {
            return Ok(all);
        };
        if plan.regions.is_empty() {
            return Err(NetnsError::NoRegions(first.clone()));
        }
        for (region, path) in &given {
            let number = plan.regions.iter().position(|known| known.name == *region);
            let Some(number) = number else {
                let known: Vec<&str> = plan.regions.iter().map(|r| r.name.as_str()).collect();
                return Err(NetnsError::UnknownRegion {
                    region: region.clone(),
                    known: known.join(", "),
                });
            };
            if all[number].replace(Namespace::at(path)).is_some() {
                return Err(NetnsError::Twice(region.clone()));
            }
        }
        if workers_count > 0 {
            return Err(NetnsError::Workers);
        }
        if matches!(plan.target, Target::Builtin { .. }) {
            return Err(NetnsError::BuiltIn);
        }
        Ok(all)
    }
}

/// Cores of all machines: those of the agents, or of this machine if there are none.
fn cores_of(agents: &[Agent]) -> u32 {
    match agents {
        [] => cores(),
        _ => {
            let each = agents.iter().map(|agent| agent.cores);
            each.fold(0_u32, u32::saturating_add).max(1)
        }
    }
}

/// The files that a loop may open on every machine.
fn files_per_loop(agents: &[Agent]) -> u64 {
    let files = agents.iter().map(|agent| agent.files_per_loop).min();
    files.unwrap_or_else(open_files_max)
}

/// The namespaces of a lab for the regions of a plan.
fn netns_of_lab(lab: &dyn Surroundings, plan: &Plan) -> Result<Vec<(String, PathBuf)>, NetnsError> {
    let regions = plan.regions.iter().map(|region| &region.name);
    regions
        .map(|region| match lab.netns(region) {
            Some(path) => Ok((region.clone(), path)),
            None => Err(NetnsError::NotInLab(region.clone())),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(regions: &str, target: &str) -> Plan {
        let text = format!(
            "target: {target}\n{regions}\nsessions: {{ s: [ {{ get: / }} ] }}\narrivals: [ {{ hold: 1s }} ]\n"
        );
        crate::testing::plan(&text)
    }

    const REGIONS: &str = "regions: { north: 2, south: 1 }";
    const URL: &str = "http://127.0.0.1:1/";

    /// The namespaces of regions if these have one.
    fn namespaces(
        plan: &Plan,
        given: &[&str],
        workers_count: u32,
    ) -> Result<Vec<Option<Namespace>>, NetnsError> {
        let netns = given.iter().map(|&region| (region.to_owned(), PathBuf::from("/run/netns/x")));
        let machines = Machines { netns: netns.collect(), ..Machines::here(Path::new("throng")) };
        machines.namespaces(plan, workers_count)
    }

    fn refused(plan: &Plan, given: &[&str], workers_count: u32) -> String {
        namespaces(plan, given, workers_count).unwrap_err().to_string()
    }

    #[test]
    fn namespaces_that_cannot_be_used_are_refused_with_the_reason() {
        let plain = plan(REGIONS, URL);
        assert_eq!(
            refused(&plain, &["west"], 0),
            "--netns west: the scenario has no such region; its regions are north, south"
        );
        assert_eq!(
            refused(&plan("", URL), &["west"], 0),
            "--netns west: the scenario has no regions; give it some, such as `regions: { west: 1 }`"
        );
        let twice = refused(&plain, &["north", "north"], 0);
        assert!(twice.starts_with("--netns north is given twice"), "{twice}");
        let workers = refused(&plain, &["north"], 2);
        assert!(workers.contains("remove --workers"), "{workers}");
        let built_in = refused(&plan(REGIONS, "market"), &["north"], 0);
        assert!(built_in.contains("needs a target by URL"), "{built_in}");
    }

    #[test]
    fn a_region_without_a_namespace_connects_from_the_generators() {
        let found = namespaces(&plan(REGIONS, URL), &["south"], 0).unwrap();
        assert_eq!(found[0], None);
        assert_eq!(found[1].as_ref().unwrap().path(), Path::new("/run/netns/x"));
    }
}
