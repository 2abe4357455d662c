//! The first stage: everything that a run needs before it is recorded.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use driver::real::StopFlag;
use machine::host::NetworkCounters;
use plan::Plan;
use record::Measurement;
use record::schema::{OnceEnd, OnceEnded};
use workers::{
    Fleet, FleetShares, Loops, LoopsSetup, Pool, ScenarioText, SpawnRequest, rows_channel,
};

use super::certificates::read_trust;
use super::error::ConductError;
use super::machines::Placement;
use super::outside::OutsideSetup;
use super::{Control, RecordSettings, RunRequest, once};
use crate::target::TargetProcess;

/// A run that is about to be recorded. If it goes no further, its fields are dropped in this order: the loops end before
/// their target does, and the fleet is left last.
pub(super) struct Prepared<'a> {
    /// The loops, which are ready to begin; `None`: `setup` failed, so that no user starts.
    pub(super) pool: Option<Pool>,
    /// The channel of rows from the loops.
    pub(super) rows: Receiver<Vec<Measurement>>,
    pub(super) stop: Arc<StopFlag>,
    pub(super) plan: Arc<Plan>,
    pub(super) scenario: ScenarioText,
    /// Throng's version.
    pub(super) throng: &'a str,
    /// The settings of the loops, which are also those of the user of `teardown`.
    pub(super) loops: LoopsSetup,
    /// Worker processes; 0: the loops are threads of this process.
    pub(super) workers_count: u32,
    /// The loops of each agent of the fleet.
    pub(super) shares: Vec<Loops>,
    /// A sentence for the record: the machines are too small, and are used anyway.
    pub(super) warning: Option<String>,
    /// Counters of the namespaces that users connect from; empty: of the generator's own.
    pub(super) networks: Vec<NetworkCounters>,
    /// The result of `setup`, if there is one.
    pub(super) setup: Option<OnceEnded>,
    pub(super) record: RecordSettings<'a>,
    pub(super) control: Control,
    pub(super) outside: OutsideSetup,
    pub(super) fleet: Option<Rc<dyn Fleet>>,
}

impl<'a> Prepared<'a> {
    /// Brings the lab to where a run begins, refuses a run that is too large, starts the target, runs `setup` and gets the
    /// loops ready.
    pub(super) fn from_request(request: RunRequest<'a>) -> Result<Prepared<'a>, ConductError> {
        let RunRequest { mut plan, mut scenario, version: throng, machines, record, control } =
            request;
        // What is bound first is dropped last: the fleet, after the target.
        let Placement {
            fleet,
            lab,
            program,
            workers_count,
            cores,
            layout,
            shares,
            warning,
            network,
        } = machines.place(&mut plan)?;
        let target = TargetProcess::of_plan(&mut plan, program, scenario.folder())?;
        let network = network.complete(&plan)?;
        let loops = LoopsSetup {
            target: target.as_ref().map(|target| target.address),
            places: network.places,
            sources: plan.options.source_addresses.clone(),
            trust: read_trust(&plan, scenario.folder())?,
            layout,
            cores,
            trace: None,
        };
        let setup = once::set_up(&mut plan, &mut scenario.inputs, &loops, &control.interrupt)?;
        let plan = Arc::new(plan);
        let stop = Arc::new(StopFlag::default());
        let (rows_in, rows) = rows_channel();
        let has_failed = setup.as_ref().is_some_and(|setup| setup.end != OnceEnd::Finished);
        let pool = match has_failed {
            true => None,
            false => {
                let workers = (workers_count > 0).then(|| SpawnRequest {
                    workers_count,
                    fleet: fleet.as_ref().map(|fleet| FleetShares {
                        fleet: Rc::clone(fleet),
                        shares: shares.clone(),
                    }),
                    program,
                    throng,
                    scenario: &scenario,
                });
                let prepared = Pool::prepare(&plan, &loops, workers, &stop, rows_in);
                if let (Err(_), Some(teardown)) = (&prepared, plan.teardown.as_deref()) {
                    // No users can come, so what `setup` has made is removed. There is no record that could say how.
                    drop(once::tear_down(&plan, teardown, &loops));
                }
                Some(prepared?)
            }
        };
        Ok(Prepared {
            pool,
            rows,
            stop,
            plan,
            scenario,
            throng,
            loops,
            workers_count,
            shares,
            warning,
            networks: network.counters,
            setup,
            record,
            control,
            outside: OutsideSetup { lookups: network.lookups, target, lab },
            fleet,
        })
    }
}
