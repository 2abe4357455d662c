//! Loops as threads of this process.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::thread::JoinHandle;
use std::time::Duration;

use driver::addresses::AddressBook;
use driver::real::{
    LoopError, LoopNews, LoopSetup, StartBarrier, StopFlag, WaitMode, Zero, run_loop,
};
use engine::Setup;
use engine::meeting::{Meeting, PartError, RunPart};
use engine::schedule::share::Share;
use engine::tables::budget::Budget;
use engine::trace::TraceRequest;
use machine::Memory;
use machine::thread::{LoopCores, Namespace};
use plan::Plan;
use record::Measurement;
use trust::ClientConfig;

use super::protocol::Loops;
use super::rows::ROWS_MAX;

/// The time in which loops have to get ready.
const READY_TIME_MAX: Duration = Duration::from_secs(100);

/// Stack of a loop's thread. JSON that is nested as deep as is read takes more than the usual two MiB where the compiler
/// does not optimise.
const STACK_BYTES: usize = 8 << 20;

/// The share of the memory that is left that users' saved values and connections' buffers may take. The rest is for
/// users and connections themselves, and for a value that is copied.
const BUFFERS_SHARE: f64 = 0.5;

/// The settings of loops besides the plan.
#[derive(Debug, Clone)]
pub(super) struct LoopConfig {
    pub(super) loops: Loops,
    pub(super) waiting: WaitMode,
    /// The network of each region; without regions there is one.
    pub(super) places: Vec<LoopPlace>,
    /// Local addresses to connect from; empty: the loops choose.
    pub(super) sources: Arc<[IpAddr]>,
    /// The maximum number of users of the run at once.
    pub(super) users_max: u64,
    pub(super) tls: Option<Arc<ClientConfig>>,
    pub(super) trace: Option<TraceRequest>,
}

/// The network of the loops of a region.
#[derive(Debug, Clone)]
pub(super) struct LoopPlace {
    /// The number of the region's first loop.
    pub(super) first: u32,
    pub(super) netns: Option<Namespace>,
    pub(super) addresses: Arc<AddressBook>,
}

/// Why loops do not run.
#[derive(Debug, thiserror::Error)]
pub enum ThreadsError {
    #[error("a loop of the generator cannot run")]
    Loop(#[from] LoopError),
    #[error("no thread can be started for a loop of the generator")]
    Spawn(#[source] std::io::Error),
    #[error(transparent)]
    Meeting(#[from] PartError),
    #[error("the generator's loops were not ready after {} s", READY_TIME_MAX.as_secs())]
    Slow,
}

/// Running loops. They end when this is dropped.
#[derive(Debug)]
pub(super) struct Threads {
    barrier: Arc<StartBarrier>,
    stop: Arc<StopFlag>,
    handles: Vec<JoinHandle<Result<(), LoopError>>>,
    /// Kept as long as loops may run.
    _cores: LoopCores,
}

impl Threads {
    /// Starts the threads, and waits until they are ready to begin. Until this is dropped, this thread and
    /// those it starts later stay off the cores that are reserved for precise loops; threads that
    /// existed before stay off them for good.
    pub(super) fn prepare(
        plan: &Arc<Plan>,
        config: &LoopConfig,
        stop: &Arc<StopFlag>,
        rows: &SyncSender<Vec<Measurement>>,
        report: impl Fn(LoopNews) + Clone + Send + 'static,
    ) -> Result<Threads, ThreadsError> {
        let meeting = Arc::new(meeting(plan, config.loops)?);
        let barrier = Arc::new(StartBarrier::default());
        let cores = match config.waiting {
            WaitMode::Precise => LoopCores::keep(config.loops.of),
            WaitMode::Wide => LoopCores::none(),
        };
        cores.clear();
        let buffers = Arc::new(buffers(Memory::read(), config.loops));
        let place = |index| {
            let mut places = config.places.iter();
            let place = places.rfind(|place| place.first <= index);
            place.expect("the first place is that of the first loop")
        };
        let handles = config.loops.numbers().map(|index| {
            let LoopPlace { netns, addresses, .. } = place(index).clone();
            let setup = LoopSetup {
                shard: Setup {
                    share: Share::of_loop(index, config.loops.of, &plan.regions),
                    rows_max: ROWS_MAX,
                    tls: config.tls.clone(),
                    buffers: Arc::clone(&buffers),
                    meeting: Arc::clone(&meeting),
                },
                waiting: config.waiting,
                netns,
                addresses,
                sources: Arc::clone(&config.sources),
                users_max: config.users_max,
                core: cores.of_loop(index),
                barrier: Arc::clone(&barrier),
                stop: Arc::clone(stop),
                trace: config.trace.clone(),
            };
            let plan = Arc::clone(plan);
            let rows = rows.clone();
            let report = report.clone();
            let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
            thread.spawn(move || run_loop(&plan, &setup, &rows, &report))
        });
        let handles: Vec<_> = handles.collect();
        let mut threads =
            Threads { handles: Vec::new(), barrier, stop: Arc::clone(stop), _cores: cores };
        for handle in handles {
            threads.handles.push(handle.map_err(ThreadsError::Spawn)?);
        }
        if threads.barrier.await_loops(config.loops.count, READY_TIME_MAX) {
            return Ok(threads);
        }
        threads.barrier.give_up();
        threads.join()?;
        Err(ThreadsError::Slow)
    }

    /// Lets the loops begin at `zero`.
    pub(super) fn start(&self, zero: Zero) {
        self.barrier.open(zero);
    }

    /// Waits until all loops have ended.
    pub(super) fn join(&mut self) -> Result<(), LoopError> {
        let mut ended = Ok(());
        while let Some(handle) = self.handles.pop() {
            // A loop that panics has met a broken invariant; the panic continues here.
            let end = handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            ended = end.and(ended);
        }
        ended
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.barrier.give_up();
        self.stop.abort();
        for handle in self.handles.drain(..) {
            // The caller reports why the run ends early.
            let _ = handle.join();
        }
    }
}

/// The rendezvous, queues and counters that the users of these loops share.
fn meeting(plan: &Plan, loops: Loops) -> Result<Meeting, PartError> {
    let part = RunPart { first: loops.first, count: loops.count, of: loops.of };
    part.check(&plan.meetings, !plan.regions.is_empty())?;
    Ok(Meeting::new(&plan.meetings, part))
}

/// The part of the memory that is left that the loops of this process may keep. Other processes have the other loops.
fn buffers(memory: Option<Memory>, loops: Loops) -> Budget {
    let Some(memory) = memory else {
        return Budget::default();
    };
    let share = f64::from(loops.count) / f64::from(loops.of.max(1));
    Budget::new((memory.spare_bytes() as f64 * BUFFERS_SHARE * share) as u64)
}
