//! Where the loops of a run are: threads of this process, or worker processes. The conductor sees
//! one stream of news either way.

mod hire;
pub(crate) mod processes;
pub(crate) mod threads;

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, channel};
use std::time::Duration;

use engine::driver::real::{LoopNews, StopFlag, Waiting, Zero};
use engine::trust::{TrustError, client_config};
use plan::Plan;
use processes::{Processes, WorkersError};
use record::Measurement;
use record::schema::WorkerInfo;
use threads::{Gear, Threads, ThreadsError};

use crate::prepare::Preparation;
use crate::worker::protocol::{Loops, ScenarioText, Usage};

/// Why there are no loops to conduct.
#[derive(Debug, thiserror::Error)]
pub enum CrewError {
    #[error(transparent)]
    Threads(#[from] ThreadsError),
    #[error(transparent)]
    Workers(#[from] WorkersError),
    #[error(transparent)]
    Trust(#[from] TrustError),
}

/// What comes from loops and workers.
#[derive(Debug)]
pub(crate) enum News {
    Loop(LoopNews),
    Usage { worker: usize, usage: Usage },
    Done { worker: usize },
    Lost { worker: usize, why: String },
}

/// What the conductor is to know of.
#[derive(Debug)]
pub(crate) enum Heard {
    Loop(LoopNews),
    Lost(Loss),
    Nothing,
    /// All loops have ended, or are lost.
    Over,
}

/// A worker that is no more.
#[derive(Debug)]
pub(crate) struct Loss {
    pub(crate) worker: usize,
    pub(crate) pid: u32,
    pub(crate) loops: Loops,
    pub(crate) why: String,
}

/// Worker processes, where the loops are to run in some.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hiring<'a> {
    pub(crate) workers_count: u32,
    /// The program that is started as `PROGRAM worker`.
    pub(crate) program: &'a Path,
    /// Throng's version.
    pub(crate) throng: &'a str,
    pub(crate) scenario: &'a ScenarioText,
}

/// All loops of a run.
#[derive(Debug)]
pub(crate) struct Crew {
    place: Place,
    news: Receiver<News>,
}

#[derive(Debug)]
enum Place {
    Here(Threads),
    Workers(Processes),
}

impl Crew {
    /// Gets the loops of a run ready. They begin when the crew is [opened](Crew::open).
    pub(crate) fn gather(
        plan: &Arc<Plan>,
        preparation: &Preparation,
        hiring: Option<Hiring<'_>>,
        stop: &Arc<StopFlag>,
        rows: SyncSender<Vec<Measurement>>,
    ) -> Result<Crew, CrewError> {
        let (sender, news) = channel();
        let place = match hiring {
            Some(hiring) => Place::Workers(Processes::gather(
                plan,
                preparation,
                hiring,
                stop,
                (sender, rows),
            )?),
            None => {
                let gear = gear(preparation)?;
                // Nobody listens any more where the run is being torn down.
                let tell = move |told| drop(sender.send(News::Loop(told)));
                Place::Here(Threads::start(plan, &gear, stop, &rows, tell)?)
            }
        };
        Ok(Crew { place, news })
    }

    /// Lets the loops begin at `zero`.
    pub(crate) fn open(&mut self, zero: Zero) {
        match &mut self.place {
            Place::Here(threads) => threads.open(zero),
            Place::Workers(processes) => processes.open(zero),
        }
    }

    /// The next news, if some come within `patience`.
    pub(crate) fn hear(&mut self, patience: Duration) -> Heard {
        if let Place::Workers(processes) = &mut self.place {
            processes.tend();
        }
        let news = match self.news.recv_timeout(patience) {
            Ok(news) => news,
            Err(RecvTimeoutError::Timeout) => return Heard::Nothing,
            Err(RecvTimeoutError::Disconnected) => return Heard::Over,
        };
        match (news, &mut self.place) {
            (News::Loop(told), _) => Heard::Loop(told),
            (News::Usage { worker, usage }, Place::Workers(processes)) => {
                processes.note_usage(worker, usage);
                Heard::Nothing
            }
            (News::Lost { worker, why }, Place::Workers(processes)) => {
                Heard::Lost(processes.lose(worker, why))
            }
            (News::Done { worker }, Place::Workers(processes)) => {
                processes.release(worker);
                Heard::Nothing
            }
            // Threads of this process are no workers.
            (_, Place::Here(_)) => Heard::Nothing,
        }
    }

    /// What the workers have used so far, all together; nothing where the loops are threads of this
    /// process.
    pub(crate) fn usage(&self) -> Usage {
        match &self.place {
            Place::Here(_) => Usage::default(),
            Place::Workers(processes) => processes.usage(),
        }
    }

    /// The workers, for the record.
    pub(crate) fn workers(&self) -> Vec<WorkerInfo> {
        match &self.place {
            Place::Here(_) => Vec::new(),
            Place::Workers(processes) => processes.infos(),
        }
    }

    /// Waits until all loops have ended.
    pub(crate) fn join(&mut self) -> Result<(), CrewError> {
        match &mut self.place {
            Place::Here(threads) => Ok(threads.join().map_err(ThreadsError::Loop)?),
            // Those that failed were told as lost.
            Place::Workers(_) => Ok(()),
        }
    }
}

fn gear(preparation: &Preparation) -> Result<Gear, TrustError> {
    let tls = preparation.trust.as_ref();
    let tls = tls.map(|trust| client_config(trust.verify, &trust.pems));
    Ok(Gear {
        loops: Loops::all(preparation.layout.loops_count),
        waiting: preparation.layout.waiting,
        addresses: preparation.addresses.as_slice().into(),
        sources: preparation.sources.as_slice().into(),
        users_max: preparation.layout.users_max,
        tls: tls.transpose()?,
    })
}

impl Preparation {
    /// True where loops sleep in milliseconds.
    pub(crate) fn is_wide(&self) -> bool {
        self.layout.waiting == Waiting::Wide
    }
}
