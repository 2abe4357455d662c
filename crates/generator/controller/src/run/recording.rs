//! The second stage: the record begins.

use std::rc::Rc;
use std::sync::Arc;

use driver::real::{StopFlag, Zero};
use machine::clock::{monotonic_ns, unix_ns};
use machine::host::NetworkCounters;
use plan::Plan;
use workers::{Fleet, LoopRows, Numbering, Pool, plan_digest};

use super::deals::{Deals, Handover};
use super::describe::{RunStart, notes_on_shared};
use super::error::ConductError;
use super::journal::Journal;
use super::once::TeardownLoop;
use super::outside::OutsideSetup;
use super::prepared::Prepared;
use super::{Control, probing};
use crate::secrets::Secrets;

/// Loops start this long after all of them are ready and the record exists.
const START_DELAY_NS: u64 = 100_000_000;
/// Loops of a fleet, whose messages take longer, start after this time.
const FLEET_START_DELAY_NS: u64 = 1_000_000_000;

/// A run whose record exists, and whose loops wait for the start.
pub(super) struct Recording {
    /// `None`: `setup` failed, so that no user starts.
    pub(super) pool: Option<Pool>,
    pub(super) stop: Arc<StopFlag>,
    pub(super) journal: Journal,
    pub(super) plan: Arc<Plan>,
    /// The time at which the loops begin.
    pub(super) zero: Zero,
    pub(super) numbering: Numbering,
    pub(super) loops_count: u32,
    /// Worker processes; 0: the loops are threads of this process.
    pub(super) workers_count: u32,
    pub(super) deals: Deals,
    /// The probes, which are started already; `None`: there are none.
    pub(super) probes: Option<probe::Pool>,
    /// Counters of the namespaces that users connect from; empty: of the generator's own.
    pub(super) networks: Vec<NetworkCounters>,
    pub(super) teardown: TeardownLoop,
    pub(super) allow_lost_workers: bool,
    pub(super) control: Control,
    pub(super) outside: OutsideSetup,
    pub(super) fleet: Option<Rc<dyn Fleet>>,
}

impl Recording {
    /// Starts the probes, creates the run directory, and writes what is known before any user starts. Agents of a fleet
    /// then have what another controller would need.
    pub(super) fn begin(prepared: Prepared<'_>) -> Result<Recording, ConductError> {
        let plan = Arc::clone(&prepared.plan);
        let loops_count = prepared.loops.layout.loops_count;
        let zero = zero_soon(prepared.fleet.is_some());
        let probes = probing::start_probes(&plan, prepared.outside.target.as_ref(), zero)?;
        let secrets = Secrets::of_plan(&prepared.scenario, &plan);
        let lab = prepared.outside.lab.as_ref();
        let start = RunStart {
            plan: &plan,
            scenario: &prepared.scenario,
            throng: prepared.throng,
            setup: &prepared.loops,
            workers: prepared.pool.as_ref().map_or_else(Vec::new, Pool::workers),
            secrets: &secrets,
            unix_ns: zero.unix_ns,
            facts: lab.map_or_else(Vec::new, |lab| lab.facts()),
        };
        let numbering = Numbering::new(&plan, loops_count);
        let rows = LoopRows { receiver: prepared.rows, numbering: numbering.clone() };
        let mut journal = Journal::create(
            prepared.record.runs,
            start.info(),
            &prepared.scenario.text,
            prepared.record.durability,
            rows,
            secrets,
            plan.options.samples,
        )?;
        journal.keep_inputs(&plan)?;
        let notes = prepared.warning.into_iter();
        let notes = notes.chain(notes_on_shared(&plan, &journal.info().workers));
        journal.begin(notes.collect(), prepared.setup)?;
        let mut handover = None;
        if let Some(fleet) = &prepared.fleet {
            let state = Handover {
                info: journal.info().clone(),
                shares: prepared.shares,
                target: prepared.loops.target,
                plan_digest: plan_digest(&plan),
                zero_ns: zero.monotonic_ns,
                allow_lost_workers: prepared.record.allow_lost_workers,
                deals: Vec::new(),
                load_end_ns: None,
            };
            state.keep(fleet.as_ref()).map_err(ConductError::Keep)?;
            handover = Some(state);
        }
        Ok(Recording {
            pool: prepared.pool,
            stop: prepared.stop,
            journal,
            plan,
            zero,
            numbering,
            loops_count,
            workers_count: prepared.workers_count,
            deals: Deals::of_run(prepared.fleet.as_deref(), loops_count, handover),
            probes,
            networks: prepared.networks,
            teardown: TeardownLoop::Known(prepared.loops),
            allow_lost_workers: prepared.record.allow_lost_workers,
            control: prepared.control,
            outside: prepared.outside,
            fleet: prepared.fleet,
        })
    }
}

/// A zero that is soon: later for a fleet, whose messages take longer.
pub(super) fn zero_soon(is_fleet: bool) -> Zero {
    let delay_ns = match is_fleet {
        true => FLEET_START_DELAY_NS,
        false => START_DELAY_NS,
    };
    Zero { monotonic_ns: monotonic_ns() + delay_ns, unix_ns: unix_ns() + delay_ns }
}
