//! All loops of a run, in threads of this process or in worker processes. The run sees one stream of
//! events either way.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, channel};
use std::time::Duration;

use driver::real::{LoopNews, StopFlag, Zero};
use engine::schedule::share::region_loops;
use machine::clock::monotonic_ns;
use plan::Plan;
use record::Measurement;
use record::schema::WorkerInfo;
use trust::{TrustError, Verify, client_config};

use super::adoption::Adoption;
use super::clock::Drift;
use super::process::{LostWorker, WorkersError};
use super::processes::{BegunWorkers, Processes, SpawnRequest};
use super::protocol::{Loops, Usage};
use super::report::{Report, ReportSenders};
use super::rows::LeftRows;
use super::setup::LoopsSetup;
use super::threads::{LoopConfig, LoopPlace, Threads, ThreadsError};

/// The shortest interval at which workers are supervised: looking at a thousand of them takes longer than an event.
const SUPERVISION_NS: u64 = 10_000_000;

/// Why the loops of a run do not start, or failed.
#[derive(Debug, thiserror::Error)]
pub enum PoolError {
    #[error(transparent)]
    Threads(#[from] ThreadsError),
    #[error(transparent)]
    Workers(#[from] WorkersError),
    #[error(transparent)]
    Trust(#[from] TrustError),
}

/// An event of the pool.
#[derive(Debug)]
pub enum PoolEvent {
    Loop(LoopNews),
    Lost(LostWorker),
    /// The worker of this number has left its rows on its machine.
    RowsLeft(usize, LeftRows),
    /// Sentences on agents for the user.
    Notices(Vec<String>),
    /// Nothing that concerns the run.
    None,
    /// All loops have ended, or are lost.
    Finished,
}

/// All loops of a run.
#[derive(Debug)]
pub struct Pool {
    loops: Backend,
    reports: Receiver<Report>,
    /// The time at which workers were last supervised.
    supervised_ns: u64,
}

#[derive(Debug)]
enum Backend {
    Threads(Threads),
    Processes(Processes),
}

impl Pool {
    /// Gets the loops of a run ready: in worker processes if `workers` says so, else in threads. They
    /// begin with [`Pool::start`].
    pub fn prepare(
        plan: &Arc<Plan>,
        setup: &LoopsSetup,
        workers: Option<SpawnRequest<'_>>,
        stop: &Arc<StopFlag>,
        rows: SyncSender<Vec<Measurement>>,
    ) -> Result<Pool, PoolError> {
        let (sender, reports) = channel();
        let loops = match workers {
            Some(request) => {
                let out = ReportSenders { reports: sender, rows };
                Backend::Processes(Processes::prepare(plan, setup, &request, stop, out)?)
            }
            None => {
                let config = loop_config(plan, setup)?;
                // The receiver is gone if the run is being torn down.
                let report = move |news| drop(sender.send(Report::Loop(news)));
                Backend::Threads(Threads::prepare(plan, &config, stop, &rows, report)?)
            }
        };
        Ok(Pool { loops, reports, supervised_ns: 0 })
    }

    /// The loops of workers that another controller has started.
    pub fn resume(
        plan: &Plan,
        workers: &BegunWorkers<'_>,
        throng: &str,
        stop: &Arc<StopFlag>,
        rows: SyncSender<Vec<Measurement>>,
    ) -> Result<Pool, PoolError> {
        let (sender, reports) = channel();
        let out = ReportSenders { reports: sender, rows };
        let processes = Processes::resume(plan, workers, throng, stop, out)?;
        Ok(Pool { loops: Backend::Processes(processes), reports, supervised_ns: 0 })
    }

    /// Lets the loops begin at `zero`.
    pub fn start(&mut self, zero: Zero) {
        match &mut self.loops {
            Backend::Threads(threads) => threads.start(zero),
            Backend::Processes(processes) => processes.start(zero),
        }
    }

    /// The next event, or [`PoolEvent::None`] after `timeout`.
    pub fn receive(&mut self, timeout: Duration) -> PoolEvent {
        let now_ns = monotonic_ns();
        if let Backend::Processes(processes) = &mut self.loops
            && now_ns.saturating_sub(self.supervised_ns) >= SUPERVISION_NS
        {
            self.supervised_ns = now_ns;
            let notices = processes.supervise();
            if !notices.is_empty() {
                return PoolEvent::Notices(notices);
            }
        }
        let report = match self.reports.recv_timeout(timeout) {
            Ok(report) => report,
            Err(RecvTimeoutError::Timeout) => return PoolEvent::None,
            Err(RecvTimeoutError::Disconnected) => return PoolEvent::Finished,
        };
        match (report, &mut self.loops) {
            (Report::Loop(news), _) => PoolEvent::Loop(news),
            (Report::Usage { worker, usage }, Backend::Processes(processes)) => {
                processes.note_usage(worker, usage);
                PoolEvent::None
            }
            (Report::Clock { worker, exchange }, Backend::Processes(processes)) => {
                processes.note_clock(worker, exchange);
                PoolEvent::None
            }
            (Report::Lost { worker, why }, Backend::Processes(processes)) => {
                PoolEvent::Lost(processes.mark_lost(worker, why))
            }
            (Report::RowsLeft { worker, left }, _) => PoolEvent::RowsLeft(worker, left),
            (Report::Done { worker }, Backend::Processes(processes)) => {
                processes.mark_done(worker);
                PoolEvent::None
            }
            // Threads of this process are no workers.
            (_, Backend::Threads(_)) => PoolEvent::None,
        }
    }

    /// Lets loops start users of lost ones.
    pub fn adopt(&self, adoptions: &[Adoption]) {
        if let Backend::Processes(processes) = &self.loops {
            processes.adopt(adoptions);
        }
    }

    /// Notes that all intervals until `until_ns` are in the record.
    pub fn mark_stored(&self, until_ns: u64) {
        if let Backend::Processes(processes) = &self.loops {
            processes.mark_stored(until_ns);
        }
    }

    /// The resources that all workers have used so far; zero if the loops are threads of this process.
    pub fn usage(&self) -> Usage {
        match &self.loops {
            Backend::Threads(_) => Usage::default(),
            Backend::Processes(processes) => processes.usage(),
        }
    }

    /// The drift of the clock of each worker.
    pub fn drifts(&self) -> Vec<Option<Drift>> {
        match &self.loops {
            Backend::Threads(_) => Vec::new(),
            Backend::Processes(processes) => processes.drifts(),
        }
    }

    /// The workers, for the record.
    pub fn workers(&self) -> Vec<WorkerInfo> {
        match &self.loops {
            Backend::Threads(_) => Vec::new(),
            Backend::Processes(processes) => processes.infos(),
        }
    }

    /// Waits until all loops have ended.
    pub fn join(&mut self) -> Result<(), PoolError> {
        match &mut self.loops {
            Backend::Threads(threads) => Ok(threads.join().map_err(ThreadsError::Loop)?),
            // Workers that failed were reported as lost.
            Backend::Processes(_) => Ok(()),
        }
    }
}

/// The place of each region, by its first loop.
fn loop_places(plan: &Plan, setup: &LoopsSetup) -> Vec<LoopPlace> {
    let regions = region_loops(&plan.regions, setup.layout.loops_count);
    // Without regions the first place is that of all loops.
    let firsts = regions.iter().map(|loops| loops.first);
    let firsts = firsts.chain(regions.is_empty().then_some(0));
    let places = firsts.zip(&setup.places).map(|(first, place)| LoopPlace {
        first,
        netns: place.netns.clone(),
        addresses: Arc::clone(&place.addresses),
    });
    places.collect()
}

fn loop_config(plan: &Plan, setup: &LoopsSetup) -> Result<LoopConfig, TrustError> {
    let tls = setup.trust.as_ref();
    let tls = tls.map(|trust| {
        let verify = Verify::all_if(trust.verify);
        client_config(verify, &trust.pems, trust.identity.as_ref())
    });
    Ok(LoopConfig {
        loops: Loops::all(setup.layout.loops_count),
        waiting: setup.layout.waiting,
        places: loop_places(plan, setup),
        sources: setup.sources.as_slice().into(),
        users_max: setup.layout.users_max,
        tls: tls.transpose()?,
        trace: setup.trace.clone(),
    })
}
