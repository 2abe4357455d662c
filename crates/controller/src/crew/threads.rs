//! Loops as threads of this process.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::thread::JoinHandle;
use std::time::Duration;

use engine::Setup;
use engine::arrivals::Share;
use engine::driver::real::{
    LoopCores, LoopError, LoopNews, LoopSetup, StartBarrier, StopFlag, Waiting, Zero, run_loop,
};
use engine::trust::ClientConfig;
use plan::Plan;
use record::Measurement;

use crate::journal::ROWS_MAX;
use crate::worker::protocol::Loops;

/// How long loops may take to get ready.
const READY_TIME_MAX: Duration = Duration::from_secs(100);

/// What loops need besides the plan.
#[derive(Debug, Clone)]
pub(crate) struct Gear {
    pub(crate) loops: Loops,
    pub(crate) waiting: Waiting,
    /// By endpoint.
    pub(crate) addresses: Arc<[SocketAddr]>,
    /// Local addresses to connect from; empty: the loops choose.
    pub(crate) sources: Arc<[IpAddr]>,
    /// How many users the whole run may have at once.
    pub(crate) users_max: u64,
    pub(crate) tls: Option<Arc<ClientConfig>>,
}

/// Why loops do not run.
#[derive(Debug, thiserror::Error)]
pub enum ThreadsError {
    #[error("a loop of the generator cannot run")]
    Loop(#[from] LoopError),
    #[error("the generator's loops were not ready after {} s", READY_TIME_MAX.as_secs())]
    Slow,
}

/// Running loops. They end when this is dropped.
#[derive(Debug)]
pub(crate) struct Threads {
    barrier: Arc<StartBarrier>,
    stop: Arc<StopFlag>,
    handles: Vec<JoinHandle<Result<(), LoopError>>>,
    /// Kept as long as loops may run.
    _cores: LoopCores,
}

impl Threads {
    /// Starts loops, and waits until they are ready to begin. This thread, and those it starts
    /// later, stay off the cores that precise loops have to themselves, until this is dropped; those that
    /// were there before stay off them for good.
    pub(crate) fn start(
        plan: &Arc<Plan>,
        gear: &Gear,
        stop: &Arc<StopFlag>,
        rows: &SyncSender<Vec<Measurement>>,
        tell: impl Fn(LoopNews) + Clone + Send + 'static,
    ) -> Result<Threads, ThreadsError> {
        let barrier = Arc::new(StartBarrier::default());
        let cores = LoopCores::keep(gear.waiting, gear.loops.of);
        cores.clear();
        let handles = gear.loops.numbers().map(|index| {
            let setup = LoopSetup {
                shard: Setup {
                    share: Share {
                        index,
                        of: gear.loops.of,
                    },
                    rows_max: ROWS_MAX,
                    tls: gear.tls.clone(),
                },
                waiting: gear.waiting,
                addresses: Arc::clone(&gear.addresses),
                sources: Arc::clone(&gear.sources),
                users_max: gear.users_max,
                core: cores.of_loop(index),
                barrier: Arc::clone(&barrier),
                stop: Arc::clone(stop),
            };
            let (plan, rows, tell) = (Arc::clone(plan), rows.clone(), tell.clone());
            std::thread::spawn(move || run_loop(&plan, &setup, &rows, &tell))
        });
        let mut threads = Threads {
            handles: handles.collect(),
            barrier,
            stop: Arc::clone(stop),
            _cores: cores,
        };
        if threads
            .barrier
            .await_loops(gear.loops.count, READY_TIME_MAX)
        {
            return Ok(threads);
        }
        threads.barrier.give_up();
        threads.join()?;
        Err(ThreadsError::Slow)
    }

    /// Lets the loops begin at `zero`.
    pub(crate) fn open(&self, zero: Zero) {
        self.barrier.open(zero);
    }

    /// Waits until all loops have ended.
    pub(crate) fn join(&mut self) -> Result<(), LoopError> {
        let mut ended = Ok(());
        while let Some(handle) = self.handles.pop() {
            // A loop that panics has met a broken invariant; the panic goes on here.
            let end = handle
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
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
            // Why we end early is being told already.
            let _ = handle.join();
        }
    }
}
