//! A run from start to verdict.
//!
//! | file | what it does |
//! |---|---|
//! | `conductor` | the run while it goes on, and its end |
//! | `attach` | the run of a fleet whose controller is gone |
//! | `attempt` | one user at once, without a record |
//! | `once` | steps that run once, before and after the users |
//! | `preflight` | refuses a run that is too large for this machine |
//! | `places` | network namespaces of regions, and the addresses that names have in each |
//! | `prepare` | target, addresses and certificates |
//! | `describe` | what `run.json` contains from the start |
//! | `merge`, `broadcasts` | the intervals of all loops added up |
//! | `by_worker` | errors and lag of each worker |
//! | `deals` | who starts the users of lost workers, and from when |
//! | `journal` | everything that is written during the run |
//! | `starts` | how many users the plan starts, and when |
//! | `pause`, `guard` | arrivals that pause; memory that runs short |
//! | `probing` | the server's side |
//! | `tick` | a second of the run for the live view |

mod attach;
mod attempt;
#[cfg(test)]
mod blame;
mod broadcasts;
mod by_worker;
mod conductor;
mod deals;
mod describe;
mod divided;
mod error;
mod guard;
mod journal;
mod merge;
mod once;
mod outcomes;
mod pause;
mod places;
mod preflight;
mod prepare;
pub(crate) mod probing;
mod starts;
pub(crate) mod tick;

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use crate::names::Resolving;
use driver::real::{StopFlag, Zero};
use machine::clock::{monotonic_ns, unix_ns};
use machine::loops::{cores, open_files_max};
use machine::thread::Namespace;
use plan::{Plan, Target};
use record::Durability;
use record::schema::{RunInfo, Summary};
use workers::{
    Fleet, FleetShares, Layout, LoopRows, Loops, Numbering, Pool, ScenarioText, SpawnRequest,
    layout, rows_channel,
};

use crate::control::{Interrupt, Pause};
use crate::secrets::Secrets;
use crate::surroundings::Surroundings;
use broadcasts::Broadcasts;
use by_worker::ByWorker;
use conductor::{Conductor, Progress};
use deals::Deals;
use describe::RunStart;
use journal::Journal;
use merge::Merger;
use places::{Places, counters, namespaces, places};
use prepare::{prepare, start_target};
use probing::Probing;

use tick::Tick;

pub use attach::{AttachRequest, attach};
pub use attempt::{TryRequest, try_user};
pub use error::{ConductError, TooSmall, counted};
pub use places::NetnsError;

/// Loops start this long after all of them are ready and the record exists.
const START_DELAY_NS: u64 = 100_000_000;
/// The same of a fleet, whose messages take longer.
const FLEET_START_DELAY_NS: u64 = 1_000_000_000;

/// What to run.
#[derive(Debug)]
pub struct RunRequest<'a> {
    pub plan: Plan,
    /// What the plan was compiled from.
    pub scenario: ScenarioText,
    /// Where run directories are created.
    pub runs: &'a Path,
    /// The program of built-in targets and worker processes.
    pub program: &'a Path,
    /// Throng's version.
    pub version: &'a str,
    /// How many worker processes run the loops; 0: they are threads of this process.
    pub workers_count: u32,
    /// The agents that run the loops instead, a worker each.
    pub fleet: Option<Rc<dyn Fleet>>,
    /// The files of network namespaces that regions connect from, by region.
    pub netns: Vec<(String, PathBuf)>,
    /// The lab that the run takes place in. Regions connect from its namespaces if `netns` names none.
    pub lab: Option<Arc<dyn Surroundings>>,
    /// Where workers are lost, judge what the others measured.
    pub allow_lost_workers: bool,
    /// Run even if this machine cannot hold that many users.
    pub force: bool,
    /// What the record survives.
    pub durability: Durability,
    pub interrupt: Arc<Interrupt>,
    pub pause: Arc<Pause>,
}

/// A run that was conducted to its end.
#[derive(Debug)]
pub struct Conducted {
    pub directory: PathBuf,
    pub info: RunInfo,
    pub summary: Summary,
}

/// Conducts a run. `on_tick` is called about once a second.
pub fn conduct(
    mut request: RunRequest<'_>,
    on_tick: &mut dyn FnMut(&Tick<'_>),
) -> Result<Conducted, ConductError> {
    prepare_lab(request.lab.as_deref(), &mut request.plan)?;
    let generator = Generator::lay_out(&request)?;
    let (mut plan, lab) = (request.plan, request.lab.as_deref());
    let folder = request.scenario.folder();
    let target = start_target(&mut plan, request.program, folder)?;
    let address = target.as_ref().map(|target| target.address);
    let places = || places(&plan, &generator.namespaces);
    let (places, lookups) = generator.known.map_or_else(places, Ok)?;
    let networks = counters(&plan, &places)?;
    let of_plan = (generator.layout, places);
    let setup = prepare(&plan, address, of_plan, (folder, generator.cores))?;
    let before = once::set_up(&mut plan, &mut request.scenario, &setup, &request.interrupt)?;
    let plan = Arc::new(plan);
    let (program, throng, scenario) = (request.program, request.version, &request.scenario);
    let (count, fleet) = (generator.workers_count, request.fleet.clone());
    let workers = (count > 0).then(|| SpawnRequest {
        workers_count: count,
        fleet: fleet.map(|fleet| FleetShares {
            fleet,
            shares: generator.shares.clone(),
        }),
        program,
        throng,
        scenario,
    });
    let (stop, (rows_in, rows)) = (Arc::new(StopFlag::default()), rows_channel());
    let loops = || Pool::prepare(&plan, &setup, workers, &stop, rows_in);
    let mut pool = once::unless_failed(before.as_ref(), (&plan, &setup), loops)?;
    let zero = zero(request.fleet.is_some());
    let probes = probing::start_probes(&plan, target.as_ref(), zero)?;
    let secrets = Secrets::of_plan(&request.scenario, &plan);
    let start = RunStart {
        plan: &plan,
        scenario,
        throng,
        setup: &setup,
        workers: pool.as_ref().map_or_else(Vec::new, Pool::workers),
        secrets: &secrets,
        unix_ns: zero.unix_ns,
        facts: lab.map_or_else(Vec::new, Surroundings::facts),
    };
    let numbering = Numbering::new(&plan, setup.layout.loops_count);
    let rows = LoopRows {
        receiver: rows,
        numbering: numbering.clone(),
    };
    let (info, text) = (start.info(), &scenario.text);
    let mut journal = Journal::create(request.runs, info, text, request.durability, rows, secrets)?;
    let notes = generator.warning.into_iter();
    let notes = notes.chain(divided::notes(&plan, &journal.info().workers));
    journal.begin(notes.collect(), before)?;
    let known = (generator.shares, setup.target, journal.info());
    let fleet = request.fleet.as_deref();
    let kept = attach::keep(fleet, &plan, known, (zero, request.allow_lost_workers))?;
    pool.iter_mut().for_each(|pool| pool.start(zero));
    let run = Conductor {
        plan: &plan,
        interrupt: &request.interrupt,
        pause: &request.pause,
        merger: merger(&plan, numbering, setup.layout.loops_count),
        allow_lost_workers: request.allow_lost_workers,
        stop,
        zero,
        progress: Progress::new((count, &networks), pool.is_none()),
        by_worker: ByWorker::new(&plan, &journal.info().workers),
        deals: Deals::of_run(fleet, setup.layout.loops_count, kept),
        networks,
        probing: probes.map(|probes| Probing::start(probes, journal.probes())),
        names: Resolving::start(lookups, zero),
        outside: lab.map(|lab| lab.begin(zero.unix_ns)),
        lab,
        target,
        fleet,
        journal,
    };
    run.complete(pool, &setup, on_tick)
}

/// Brings a lab to where a run begins, adds what it wants to be queried, and checks all of that.
fn prepare_lab(lab: Option<&dyn Surroundings>, plan: &mut Plan) -> Result<(), ConductError> {
    match (lab, &plan.scaling) {
        (Some(lab), scaling) => {
            lab.prepare(scaling.as_deref()).map_err(ConductError::Lab)?;
            plan.probes.extend(lab.probes());
        }
        (None, Some(_)) => return Err(ConductError::NoLab),
        (None, None) => {}
    }
    Ok(probe::check(&plan.probes)?)
}

/// The places of a target that runs already; `None`: it is built in and does not.
fn known_places(
    plan: &Plan,
    namespaces: &[Option<Namespace>],
) -> Result<Option<Places>, ConductError> {
    match &plan.target {
        Target::Builtin { .. } => Ok(None),
        Target::Url(_) => places(plan, namespaces).map(Some),
    }
}

fn merger(plan: &Plan, numbering: Numbering, loops_count: u32) -> Merger {
    let broadcasts = Broadcasts::new(plan, &numbering);
    Merger::new(broadcasts, numbering, loops_count)
}

/// What runs the loops: this machine, or a fleet.
struct Generator {
    workers_count: u32,
    /// Of all its machines.
    cores: u32,
    layout: Layout,
    /// By region.
    namespaces: Vec<Option<Namespace>>,
    /// Of a target that runs already.
    known: Option<Places>,
    /// Of a fleet: the loops of each agent.
    shares: Vec<Loops>,
    /// That it is too small, if it is used anyway.
    warning: Option<String>,
}

impl Generator {
    /// Chooses loops, and refuses a run that is too large.
    fn lay_out(request: &RunRequest<'_>) -> Result<Generator, ConductError> {
        let (plan, force) = (&request.plan, request.force);
        let fleet = request.fleet.as_deref();
        let agents = fleet.map_or(&[][..], |fleet| fleet.agents());
        let workers_count = request.workers_count.max(agents.len() as u32);
        let sum = agents.iter().map(|agent| agent.cores);
        let cores = match agents {
            [] => cores(),
            _ => sum.fold(0_u32, u32::saturating_add).max(1),
        };
        let files = agents.iter().map(|agent| agent.files_per_loop).min();
        let files = files.unwrap_or_else(open_files_max);
        let layout = layout(plan, cores, files, workers_count);
        let lab = request.lab.as_deref();
        let namespaces = namespaces(&request.netns, lab, plan, workers_count)?;
        let known = known_places(plan, &namespaces)?;
        let at = known.as_ref().map_or(&[][..], |(places, _)| places);
        let (warning, shares) = match agents {
            [] => {
                let at = (namespaces.as_slice(), at);
                let warning = preflight::check(plan, layout.users_max, force, at)?;
                (warning, Vec::new())
            }
            agents => preflight::check_fleet(plan, &layout, force, (agents, at))?,
        };
        Ok(Generator {
            workers_count,
            cores,
            layout,
            namespaces,
            known,
            shares,
            warning,
        })
    }
}

/// The run's zero, a moment from now; of a fleet, a longer one.
fn zero(is_fleet: bool) -> Zero {
    let delay_ns = match is_fleet {
        true => FLEET_START_DELAY_NS,
        false => START_DELAY_NS,
    };
    Zero {
        monotonic_ns: monotonic_ns() + delay_ns,
        unix_ns: unix_ns() + delay_ns,
    }
}
