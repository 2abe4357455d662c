//! The run of a fleet whose controller is gone: another one receives all that agents have sent, from the beginning, and
//! goes on.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::{Component, Path};
use std::rc::Rc;
use std::sync::Arc;

use driver::real::{StopFlag, Zero};
use machine::clock::{monotonic_ns, unix_ns};
use machine::loops::cores;
use plan::Plan;
use record::Durability;
use record::schema::{EventKind, RunInfo};
use serde::{Deserialize, Serialize};
use workers::{
    Adoption, Agent, BegunWorker, BegunWorkers, Fleet, LoopRows, Loops, LoopsSetup, Material,
    Numbering, Offset, Pool, Trust, compile, plan_digest, rows_channel,
};

use super::attempt::ALONE;
use super::by_worker::ByWorker;
use super::conductor::{Conductor, Progress};
use super::deals::{Deal, Deals};
use super::error::ConductError;
use super::journal::Journal;
use super::places::places;
use super::tick::Tick;
use super::{Conducted, merger};
use crate::control::{Interrupt, Pause};
use crate::secrets::Secrets;

/// A run has no more loops: their numbers have 16 bits.
const LOOPS_MAX: u32 = 1 << 16;
/// Directories of one run that are looked at for a free name.
const DIRECTORIES_MAX: u32 = 100;

/// What a controller needs besides the scenario to continue a run.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Kept {
    info: RunInfo,
    /// The loops of each agent.
    shares: Vec<Loops>,
    /// Where a built-in target listened.
    target: Option<SocketAddr>,
    plan_digest: String,
    /// The zero on the monotonic clock of the first controller, to which the offsets of agents' clocks are.
    zero_ns: u64,
    allow_lost_workers: bool,
    /// Shares of lost agents that were dealt.
    #[serde(default)]
    deals: Vec<Deal>,
}

impl Kept {
    /// What the controller before has dealt.
    pub(super) fn deals(&self) -> Vec<Deal> {
        self.deals.clone()
    }

    /// Keeps it with these deals.
    pub(super) fn keep_deals(&mut self, fleet: &dyn Fleet, deals: &[Deal]) -> Result<(), String> {
        self.deals = deals.to_vec();
        self.keep(fleet)
    }

    fn keep(&self, fleet: &dyn Fleet) -> Result<(), String> {
        fleet.keep(&serde_json::to_string(self).map_err(|error| error.to_string())?)
    }
}

/// A run to continue.
#[derive(Debug)]
pub struct AttachRequest<'a> {
    /// The agents that run it.
    pub fleet: Rc<dyn Fleet>,
    /// What the first controller has kept by [`Fleet::keep`].
    pub state: &'a str,
    /// What the plan is compiled from, as the first controller gave it to [`Fleet::open`].
    pub material: &'a [u8],
    /// Where run directories are created.
    pub runs: &'a Path,
    /// Throng's version.
    pub version: &'a str,
    /// Where workers are lost, judge what the others measured, whatever was requested of the first controller.
    pub allow_lost_workers: bool,
    pub durability: Durability,
    pub interrupt: Arc<Interrupt>,
    pub pause: Arc<Pause>,
}

/// Keeps, before the loops of a fleet begin, what [`attach`] needs.
pub(super) fn keep(
    fleet: Option<&dyn Fleet>,
    plan: &Plan,
    (shares, target, info): (Vec<Loops>, Option<SocketAddr>, &RunInfo),
    (zero, allow_lost_workers): (Zero, bool),
) -> Result<Option<Kept>, ConductError> {
    let Some(fleet) = fleet else {
        return Ok(None);
    };
    let kept = Kept {
        info: info.clone(),
        shares,
        target,
        plan_digest: plan_digest(plan),
        zero_ns: zero.monotonic_ns,
        allow_lost_workers,
        deals: Vec::new(),
    };
    kept.keep(fleet).map_err(ConductError::Keep)?;
    Ok(Some(kept))
}

/// Continues a run to its end. The record is a new one with all that agents have measured since its start.
pub fn attach(
    request: &AttachRequest<'_>,
    on_tick: &mut dyn FnMut(&Tick<'_>),
) -> Result<Conducted, ConductError> {
    let fail = |what: &str, problem: &dyn std::fmt::Display| {
        ConductError::Attach(format!("{what}: {problem}"))
    };
    let kept: Kept = serde_json::from_str(request.state)
        .map_err(|error| fail("what its controller has kept cannot be read", &error))?;
    check(&kept, request.fleet.agents())
        .map_err(|problem| fail("what was kept of it is impossible", &problem))?;
    let material = Material::from_bytes(request.material)
        .map_err(|error| fail("its scenario cannot be read", &error))?;
    let scenario = material.scenario;
    let plan = compile(&scenario, kept.target, &kept.plan_digest).map_err(ConductError::Attach)?;
    let (plan, kept_target) = (Arc::new(plan), kept.target);
    let mut info = kept.info.clone();
    info.id = free_id(request.runs, &info.id);
    let shares = kept.shares.iter().zip(&info.workers);
    let workers = shares.map(|(&loops, worker)| BegunWorker {
        loops,
        offset: Offset {
            offset_ns: worker.clock_offset_ns,
            bound_ns: worker.clock_bound_ns,
        },
    });
    let workers: Vec<BegunWorker> = workers.collect();
    let stop = Arc::new(StopFlag::default());
    let (rows_in, receiver) = rows_channel();
    let begun = BegunWorkers {
        fleet: &request.fleet,
        workers: &workers,
        zero: Zero {
            monotonic_ns: kept.zero_ns,
            unix_ns: info.started_unix_ns,
        },
    };
    let mut pool = Pool::resume(&plan, &begun, request.version, &stop, rows_in)?;
    let zero = zero_of(&info);
    let loops_count = info.generator.loops;
    let numbering = Numbering::new(&plan, loops_count);
    let secrets = Secrets::of_plan(&scenario, &plan);
    let rows = LoopRows {
        receiver,
        numbering: numbering.clone(),
    };
    let text = &scenario.text;
    let mut journal = Journal::create(request.runs, info, text, request.durability, rows, secrets)?;
    let text = "another controller continued the run here; what agents measured is whole, what the first controller \
                saw besides is in its own record"
        .to_owned();
    let at_ns = monotonic_ns().saturating_sub(zero.monotonic_ns);
    journal.event(at_ns, EventKind::Note { text })?;
    pool.start(zero);
    let mut run = Conductor {
        plan: &plan,
        interrupt: &request.interrupt,
        pause: &request.pause,
        merger: merger(&plan, numbering, loops_count),
        allow_lost_workers: request.allow_lost_workers || kept.allow_lost_workers,
        stop,
        zero,
        progress: Progress::new((workers.len() as u32, &[]), false),
        by_worker: ByWorker::new(&plan, &journal.info().workers),
        deals: Deals::of_run(Some(request.fleet.as_ref()), loops_count, Some(kept)),
        networks: Vec::new(),
        probing: None,
        names: None,
        outside: None,
        lab: None,
        target: None,
        fleet: Some(request.fleet.as_ref()),
        journal,
    };
    let outcome = run.play(&mut pool, on_tick);
    drop(pool);
    if plan.teardown.is_some() {
        run.tear_down(&alone(&plan, kept_target, material.trust)?)?;
    }
    run.conclude(outcome)
}

/// What the only user of `teardown` needs here.
fn alone(
    plan: &Plan,
    target: Option<SocketAddr>,
    trust: Option<Trust>,
) -> Result<LoopsSetup, ConductError> {
    let (places, _) = places(plan, &[None])?;
    Ok(LoopsSetup {
        target,
        places,
        sources: plan.options.source_addresses.clone(),
        trust,
        layout: ALONE,
        cores: cores(),
        trace: None,
    })
}

/// Checks what came with a run, which its agents may have written. The error is for people.
fn check(kept: &Kept, agents: &[Agent]) -> Result<(), String> {
    let (shares, workers) = (&kept.shares, &kept.info.workers);
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
    let loops_count = kept.info.generator.loops;
    let mut next = 0_u32;
    for share in shares {
        let end = share.first.checked_add(share.count);
        let follows = share.first == next && share.count > 0 && share.of == loops_count;
        next = end
            .filter(|_| follows)
            .ok_or("the shares of its loops do not follow each other")?;
    }
    if next != loops_count {
        return Err(format!("{next} of its {loops_count} loops have a worker"));
    }
    if loops_count > LOOPS_MAX {
        return Err(format!("it has {loops_count} loops"));
    }
    let adoptions = kept.deals.iter().flat_map(|deal| &deal.adoptions);
    let is_possible = |a: &Adoption| a.by < loops_count && a.adopted(loops_count, &[]).is_some();
    if !adoptions.clone().all(is_possible) {
        return Err("users of a lost agent were dealt to nobody".to_owned());
    }
    let mut parts = Path::new(&kept.info.id).components();
    match (parts.next(), parts.next()) {
        (Some(Component::Normal(name)), None) if name == kept.info.id.as_str() => Ok(()),
        _ => Err(format!("{:?} is no name of a directory", kept.info.id)),
    }
}

/// The run's id, with a number if a directory has it: the first controller may have had the same machine.
fn free_id(runs: &Path, id: &str) -> String {
    let numbered = (2..DIRECTORIES_MAX).map(|number| format!("{id}-{number}"));
    let mut names = std::iter::once(id.to_owned()).chain(numbered);
    // If none is free, making the directory says so.
    let free = names.find(|name| !runs.join(name).exists());
    free.unwrap_or_else(|| id.to_owned())
}

/// The run's zero on this machine's clocks, as well as its wall clock knows it.
fn zero_of(info: &RunInfo) -> Zero {
    let since_ns = unix_ns().saturating_sub(info.started_unix_ns);
    Zero {
        monotonic_ns: monotonic_ns().saturating_sub(since_ns),
        unix_ns: info.started_unix_ns,
    }
}

#[cfg(test)]
mod tests;
