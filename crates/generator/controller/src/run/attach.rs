//! The run of a fleet whose controller is gone: another controller receives all messages of the agents, from the beginning,
//! and continues the run.

use std::collections::BTreeSet;
use std::path::{Component, Path};
use std::rc::Rc;
use std::sync::Arc;

use driver::real::{StopFlag, Zero};
use machine::clock::{monotonic_ns, unix_ns};
use record::schema::{EventKind, RunInfo};
use workers::{
    Adoption, Agent, BegunWorker, BegunWorkers, Fleet, LoopRows, Material, Numbering, Offset, Pool,
    compile, rows_channel,
};

use super::deals::{Deals, Handover};
use super::error::ConductError;
use super::journal::Journal;
use super::once::TeardownLoop;
use super::outside::OutsideSetup;
use super::recording::Recording;
use super::running::Running;
use super::tick::Tick;
use super::{Conducted, Control, RecordSettings};
use crate::secrets::Secrets;

/// A run has no more loops: their numbers have 16 bits.
const LOOPS_MAX: u32 = 1 << 16;
/// Directories of one run that are looked at for a free name.
const DIRECTORIES_MAX: u32 = 100;

/// A run to continue.
#[derive(Debug)]
pub struct AttachRequest<'a> {
    /// The agents that run it.
    pub fleet: Rc<dyn Fleet>,
    /// The state that the first controller has kept by [`Fleet::keep`].
    pub state: &'a str,
    /// The sources of the plan, as the first controller gave them to [`Fleet::open`].
    pub material: &'a [u8],
    /// Throng's version.
    pub version: &'a str,
    /// Settings of the new record. Lost workers are also allowed if the first controller was requested to.
    pub record: RecordSettings<'a>,
    pub control: Control,
}

/// Continues a run to its end. The record is a new one with all that agents have measured since its start.
pub fn attach(
    request: &AttachRequest<'_>,
    on_tick: &mut dyn FnMut(&Tick<'_>),
) -> Result<Conducted, ConductError> {
    let recording = resume(request)?;
    let ended = Running::start(recording).run(on_tick);
    ended.conclude()
}

/// Connects to the workers of the run, and begins its second record.
fn resume(request: &AttachRequest<'_>) -> Result<Recording, ConductError> {
    let fail = |what: &str, problem: &dyn std::fmt::Display| {
        ConductError::Attach(format!("{what}: {problem}"))
    };
    let handover: Handover = serde_json::from_str(request.state)
        .map_err(|error| fail("what its controller has kept cannot be read", &error))?;
    check(&handover, request.fleet.agents())
        .map_err(|problem| fail("what was kept of it is impossible", &problem))?;
    let material = Material::from_bytes(request.material)
        .map_err(|error| fail("its scenario cannot be read", &error))?;
    let scenario = material.scenario;
    let plan = compile(&scenario, handover.target, &handover.plan_digest);
    let plan = Arc::new(plan.map_err(ConductError::Attach)?);
    let mut info = handover.info.clone();
    let RecordSettings { runs, durability, allow_lost_workers } = request.record;
    info.id = free_id(runs, &info.id);
    let shares = handover.shares.iter().zip(&info.workers);
    let workers = shares.map(|(&loops, worker)| BegunWorker {
        loops,
        offset: Offset { offset_ns: worker.clock_offset_ns, bound_ns: worker.clock_bound_ns },
    });
    let workers: Vec<BegunWorker> = workers.collect();
    let stop = Arc::new(StopFlag::default());
    let (rows_in, receiver) = rows_channel();
    let begun = BegunWorkers {
        fleet: &request.fleet,
        workers: &workers,
        zero: Zero { monotonic_ns: handover.zero_ns, unix_ns: info.started_unix_ns },
    };
    let pool = Pool::resume(&plan, &begun, request.version, &stop, rows_in)?;
    let zero = zero_of(&info);
    let loops_count = info.generator.loops;
    let numbering = Numbering::new(&plan, loops_count);
    let rows = LoopRows { receiver, numbering: numbering.clone() };
    let secrets = Secrets::of_plan(&scenario, &plan);
    let text = &scenario.text;
    let mut journal =
        Journal::create(runs, info, text, durability, rows, secrets, plan.options.samples)?;
    journal.keep_inputs(&plan)?;
    let text = "another controller continued the run here; what agents measured is whole, what the first controller \
                saw besides is in its own record"
        .to_owned();
    let at_ns = monotonic_ns().saturating_sub(zero.monotonic_ns);
    journal.event(at_ns, EventKind::Note { text })?;
    let teardown = TeardownLoop::OfFleet { target: handover.target, trust: material.trust };
    let allow_lost_workers = allow_lost_workers || handover.allow_lost_workers;
    let fleet = Rc::clone(&request.fleet);
    Ok(Recording {
        pool: Some(pool),
        stop,
        journal,
        plan,
        zero,
        numbering,
        loops_count,
        workers_count: workers.len() as u32,
        deals: Deals::of_run(Some(fleet.as_ref()), loops_count, Some(handover)),
        probes: None,
        networks: Vec::new(),
        teardown,
        allow_lost_workers,
        control: request.control.clone(),
        outside: OutsideSetup::default(),
        fleet: Some(fleet),
    })
}

/// Checks the state of a run, which its agents may have written. The error is for people.
fn check(handover: &Handover, agents: &[Agent]) -> Result<(), String> {
    let shares = &handover.shares;
    let workers = &handover.info.workers;
    if agents.len() != shares.len() || agents.len() != workers.len() || agents.is_empty() {
        return Err(format!(
            "there are {} agents, {} workers and {} shares of the loops",
            agents.len(),
            workers.len(),
            shares.len()
        ));
    }
    let names: BTreeSet<&str> = agents.iter().map(|agent| agent.name.as_str()).collect();
    if names.len() < agents.len() {
        return Err("it names an agent twice".to_owned());
    }
    let loops_count = handover.info.generator.loops;
    let mut next = 0_u32;
    for share in shares {
        let end = share.first.checked_add(share.count);
        let follows = share.first == next && share.count > 0 && share.of == loops_count;
        next = end.filter(|_| follows).ok_or("the shares of its loops do not follow each other")?;
    }
    if next != loops_count {
        return Err(format!("{next} of its {loops_count} loops have a worker"));
    }
    if loops_count > LOOPS_MAX {
        return Err(format!("it has {loops_count} loops"));
    }
    let adoptions = handover.deals.iter().flat_map(|deal| &deal.adoptions);
    let is_possible = |a: &Adoption| a.by < loops_count && a.adopted(loops_count, &[]).is_some();
    if !adoptions.clone().all(is_possible) {
        return Err("users of a lost agent were dealt to nobody".to_owned());
    }
    let mut parts = Path::new(&handover.info.id).components();
    match (parts.next(), parts.next()) {
        (Some(Component::Normal(name)), None) if name == handover.info.id.as_str() => Ok(()),
        _ => Err(format!("{:?} is no name of a directory", handover.info.id)),
    }
}

/// The run's id, with a number if a directory has it: the first controller may have had the same machine.
fn free_id(runs: &Path, id: &str) -> String {
    let numbered = (2..DIRECTORIES_MAX).map(|number| format!("{id}-{number}"));
    let mut names = std::iter::once(id.to_owned()).chain(numbered);
    // If none is free, creating the directory fails with an error that names it.
    let free = names.find(|name| !runs.join(name).exists());
    free.unwrap_or_else(|| id.to_owned())
}

/// The run's zero on this machine's clocks, as well as its wall clock knows it.
fn zero_of(info: &RunInfo) -> Zero {
    let since_ns = unix_ns().saturating_sub(info.started_unix_ns);
    Zero { monotonic_ns: monotonic_ns().saturating_sub(since_ns), unix_ns: info.started_unix_ns }
}

#[cfg(test)]
mod tests;
