//! A run from start to verdict.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use engine::Setup;
use engine::arrivals::Share;
use engine::driver::real::{LoopError, LoopNews, LoopSetup, StopFlag, open_files_max, run_loop};
use engine::trust::{TrustError, client_config};
use record::schema::{EventKind, RunInfo, RunStatus, SeriesRow, Summary};
use record::{Outcome, RecordError, Run};
use scenario::Plan;
use scenario::plan::{Endpoint, PhaseKind, Target};

use crate::describe;
use crate::guard::Guard;
use crate::host::{self, Totals};
use crate::journal::{Journal, reason};
use crate::layout::{Layout, layout};
use crate::merge::{Interval, Merger};
use crate::preflight::{self, TooSmall};
use crate::target::{TargetError, TargetProcess};

/// Loops start this long after everything is ready, so that all are there at the run's zero.
const START_DELAY: Duration = Duration::from_millis(50);
/// How often the conductor looks up from its loops.
const POLL: Duration = Duration::from_millis(50);
/// Rows a loop gathers before it hands them over.
const ROWS_MAX: usize = 1024;

/// What to run.
#[derive(Debug)]
pub struct RunRequest<'a> {
    pub plan: Plan,
    /// The scenario exactly as it was given.
    pub scenario: &'a str,
    /// `--set` overrides as given.
    pub overrides: Vec<String>,
    /// Where run directories are made.
    pub runs: &'a Path,
    /// The program that serves built-in targets.
    pub program: &'a Path,
    /// Throng's version.
    pub version: &'a str,
    /// Whether to run even where this machine cannot hold so many users.
    pub anyway: bool,
    pub interrupt: Arc<Interrupt>,
}

/// How often the user asked for the end. Once: no step begins any more, and the run says that it
/// ended early.
#[derive(Debug, Default)]
pub struct Interrupt(AtomicU32);

impl Interrupt {
    /// Asks once more; returns how often that makes.
    pub fn ask(&self) -> u32 {
        self.0.fetch_add(1, Ordering::Relaxed) + 1
    }

    fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 0
    }
}

/// A run that was conducted to its end.
#[derive(Debug)]
pub struct Conducted {
    pub directory: PathBuf,
    pub info: RunInfo,
    pub summary: Summary,
}

/// One second of a run, while it runs.
#[derive(Debug)]
pub struct Tick<'a> {
    pub info: &'a RunInfo,
    pub row: &'a SeriesRow,
    /// Measures that something happened to in this interval.
    pub measures: Vec<TickMeasure>,
    pub interrupted: bool,
}

/// A measure in one interval.
#[derive(Debug, Clone, PartialEq)]
pub struct TickMeasure {
    pub name: String,
    /// Operations that ended, well or not.
    pub count: u64,
    pub errors: u64,
    /// Response times of those that ended well: 50, 95, 99 %.
    pub response_ns: Option<[u64; 3]>,
}

/// Why a run could not be conducted to its end.
#[derive(Debug, thiserror::Error)]
pub enum ConductError {
    #[error("cannot find the address of {host:?}: {problem}; check the name, or write the address")]
    Resolve { host: String, problem: String },
    #[error(transparent)]
    TooSmall(#[from] TooSmall),
    #[error(transparent)]
    Target(#[from] TargetError),
    #[error(transparent)]
    Trust(#[from] TrustError),
    #[error("cannot read the certificates of {path}")]
    Certificates {
        path: String,
        #[source]
        source: std::io::Error,
    },
    #[error("cannot write the run's record")]
    Record(#[from] RecordError),
    #[error("a loop of the generator cannot run")]
    Loop(#[from] LoopError),
    #[error("cannot judge the run in {}", directory.display())]
    Judge {
        directory: PathBuf,
        #[source]
        source: judge::JudgeError,
    },
}

/// Conducts a run. `on_tick` is called about once a second.
pub fn conduct(
    mut request: RunRequest<'_>,
    on_tick: &mut dyn FnMut(&Tick<'_>),
) -> Result<Conducted, ConductError> {
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
    let layout = layout(&request.plan, cores, open_files_max());
    let warning = preflight::check(&request.plan, layout.users_max, request.anyway)?;
    let target = start_target(&mut request)?;
    let addresses = resolve(&request.plan.endpoints)?;
    let tls = tls_config(&request.plan)?;
    #[expect(clippy::disallowed_methods, reason = "the run's zero on both clocks")]
    let (start, started) = (
        Instant::now() + START_DELAY,
        SystemTime::now() + START_DELAY,
    );
    let started_unix_ns = started
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_nanos() as u64;
    let info = describe::info(&request, &layout, cores, started_unix_ns);
    let mut journal = Journal::create(request.runs, info, request.scenario)?;
    if let Some(text) = warning {
        journal.event(0, EventKind::Note { text })?;
    }
    let setup = LoopSetup {
        worker: Setup {
            share: Share {
                index: 0,
                of: layout.loops_count,
            },
            started_unix_ns,
            rows_max: ROWS_MAX,
            tls,
        },
        waiting: layout.waiting,
        addresses,
        sources: request.plan.options.source_addresses.clone().into(),
        users_max: layout.users_max,
        start,
        stop: Arc::new(StopFlag::default()),
    };
    let mut run = Conductor {
        plan: &request.plan,
        interrupt: &request.interrupt,
        merger: Merger::new(layout.loops_count),
        stop: Arc::clone(&setup.stop),
        totals: host::totals(),
        guard: Guard::new(),
        users: 0,
        interrupted: false,
        phases_told: 0,
        draining_told: false,
        stamps_ahead: 0,
        ended_ns: 0,
        journal,
    };
    let outcome = run.play(&layout, &setup, on_tick);
    let conducted = run.conclude(outcome);
    // The target has served its run; its end is part of ours.
    drop(target);
    conducted
}

struct Conductor<'a> {
    plan: &'a Plan,
    interrupt: &'a Interrupt,
    journal: Journal,
    merger: Merger,
    stop: Arc<StopFlag>,
    totals: Totals,
    guard: Guard,
    /// Users present at the last interval's end.
    users: u64,
    interrupted: bool,
    phases_told: usize,
    draining_told: bool,
    stamps_ahead: u64,
    ended_ns: u64,
}

impl Conductor<'_> {
    /// Runs the loops and writes down what they tell, until all have ended.
    fn play(
        &mut self,
        layout: &Layout,
        setup: &LoopSetup,
        on_tick: &mut dyn FnMut(&Tick<'_>),
    ) -> Result<(), ConductError> {
        let plan = self.plan;
        let (news_out, news) = channel();
        std::thread::scope(|scope| {
            let mut loops = Vec::new();
            for index in 0..layout.loops_count {
                let mut setup = setup.clone();
                setup.worker.share.index = index;
                let (rows, news) = (self.journal.rows(), news_out.clone());
                loops.push(scope.spawn(move || run_loop(plan, &setup, &rows, &news)));
            }
            drop(news_out);
            let followed = self.follow(&news, on_tick);
            if followed.is_err() {
                self.stop.abort();
            }
            // What is still told must not keep loops from ending.
            drop(news);
            for handle in loops {
                // A loop that panics has met a broken invariant; the panic goes on here.
                handle
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            }
            followed
        })
    }

    fn follow(
        &mut self,
        news: &Receiver<LoopNews>,
        on_tick: &mut dyn FnMut(&Tick<'_>),
    ) -> Result<(), ConductError> {
        loop {
            match news.recv_timeout(POLL) {
                Ok(LoopNews::Delta(delta)) => self.merger.add(*delta),
                Ok(LoopNews::Ended { worker }) => self.merger.end(worker),
                Ok(LoopNews::Thinned { at_ns, rate, .. }) => {
                    let reason = "rows came faster than they could be written".to_owned();
                    self.journal
                        .event(at_ns, EventKind::Sampling { rate, reason })?;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
            self.heed_interrupt()?;
            for what in self.guard.heed(&self.stop, self.users) {
                self.journal.event(self.ended_ns, what)?;
            }
            if !self.journal.is_writing() {
                self.stop.drain();
            }
            while let Some(interval) = self.merger.next() {
                self.take_interval(interval, on_tick)?;
            }
        }
    }

    fn heed_interrupt(&mut self) -> Result<(), RecordError> {
        if self.interrupt.is_asked() && !self.interrupted {
            self.interrupted = true;
            self.stop.drain();
            self.journal.event(self.ended_ns, EventKind::Interrupted)?;
        }
        Ok(())
    }

    fn take_interval(
        &mut self,
        mut interval: Interval,
        on_tick: &mut dyn FnMut(&Tick<'_>),
    ) -> Result<(), ConductError> {
        self.tell_phases(&interval.row)?;
        self.complete_row(&mut interval);
        self.journal.interval(&interval)?;
        self.stamps_ahead += interval.stamps_ahead;
        self.ended_ns = interval.row.end_ns;
        self.users = interval.row.users;
        on_tick(&Tick {
            info: self.journal.info(),
            row: &interval.row,
            measures: tick_measures(self.plan, &interval),
            interrupted: self.interrupted,
        });
        Ok(())
    }

    fn tell_phases(&mut self, row: &SeriesRow) -> Result<(), RecordError> {
        while let Some(phase) = self.plan.phases.get(self.phases_told)
            && phase.start_ns <= row.start_ns
        {
            self.phases_told += 1;
            let started = EventKind::PhaseStarted {
                phase: phase.name.clone(),
            };
            self.journal.event(phase.start_ns, started)?;
        }
        if !self.draining_told && row.start_ns >= self.plan.end_ns() {
            self.draining_told = true;
            self.journal
                .event(self.plan.end_ns(), EventKind::Draining)?;
        }
        Ok(())
    }

    /// Adds what the loops cannot know.
    fn complete_row(&mut self, interval: &mut Interval) {
        let row = &mut interval.row;
        let due = |at_ns| users_due(self.plan, at_ns).round() as u64;
        row.users_due = due(row.end_ns) - due(row.start_ns) + interval.users_repeated;
        let totals = host::totals();
        row.cpu_process_ns = totals
            .cpu_process_ns
            .saturating_sub(self.totals.cpu_process_ns);
        totals.network.tell_since(&self.totals.network, row);
        row.rss_bytes = host::resident_bytes();
        self.totals = totals;
    }

    /// Writes down what the figures do not tell.
    fn note_end(&mut self, played: &Result<(), ConductError>) -> Result<(), RecordError> {
        if self.stamps_ahead > 0 {
            let text = format!(
                "{} messages were stamped later than they arrived; their age counts as 0",
                self.stamps_ahead
            );
            self.journal
                .event(self.ended_ns, EventKind::Note { text })?;
        }
        if let Err(error) = played {
            let text = reason(error);
            self.journal
                .event(self.ended_ns, EventKind::Note { text })?;
        }
        Ok(())
    }

    /// Closes the record, judges it, and writes the verdict into it.
    fn conclude(mut self, played: Result<(), ConductError>) -> Result<Conducted, ConductError> {
        let status = match (&played, self.interrupted) {
            (Err(_), _) => RunStatus::Failed,
            _ if self.guard.has_ended_run() => RunStatus::Failed,
            (Ok(()), true) => RunStatus::Interrupted,
            (Ok(()), false) => RunStatus::Complete,
        };
        let directory = self.journal.path().to_owned();
        let mut info = self.journal.info().clone();
        info.status = status;
        info.ended_ns = self.ended_ns;
        let noted = self.note_end(&played);
        let finished = self.journal.finish(&info);
        played?;
        noted?;
        let dir = finished?;
        let judge_error = |source| ConductError::Judge {
            directory: directory.clone(),
            source,
        };
        let run = Run::open(&directory)?;
        let summary = judge::judge(&run, &self.plan.thresholds).map_err(judge_error)?;
        dir.write_summary(&summary)?;
        Ok(Conducted {
            directory,
            info,
            summary,
        })
    }
}

fn tick_measures(plan: &Plan, interval: &Interval) -> Vec<TickMeasure> {
    let measures = interval.measures.iter().map(|(&id, delta)| {
        let by_outcome = Outcome::ALL.iter().zip(&delta.outcomes);
        let errors = by_outcome
            .filter(|(outcome, _)| outcome.is_error())
            .map(|(_, n)| n)
            .sum();
        let hist = &delta.response;
        let quantiles = || [0.5, 0.95, 0.99].map(|q| hist.quantile(q));
        TickMeasure {
            name: plan.measures[id as usize].name.clone(),
            count: delta.outcomes.iter().sum(),
            errors,
            response_ns: (!hist.is_empty()).then(quantiles),
        }
    });
    measures.collect()
}

/// How many users the plan wants to have started by then, restarts aside.
fn users_due(plan: &Plan, at_ns: u64) -> f64 {
    let phases = plan.phases.iter().filter(|phase| phase.start_ns < at_ns);
    let due = phases.map(|phase| match phase.kind {
        PhaseKind::Hold => 0.0,
        PhaseKind::Closed { users_count } => users_count as f64,
        PhaseKind::Rate {
            from_per_s,
            to_per_s,
            ..
        } => {
            let length_s = phase.duration_ns as f64 / 1e9;
            let t = (at_ns.min(phase.end_ns()) - phase.start_ns) as f64 / 1e9;
            from_per_s * t + (to_per_s - from_per_s) * t * t / (2.0 * length_s)
        }
    });
    due.sum()
}

fn start_target(request: &mut RunRequest<'_>) -> Result<Option<TargetProcess>, ConductError> {
    let Target::Builtin { name, args } = &request.plan.target else {
        return Ok(None);
    };
    let process = TargetProcess::start(request.program, name, args)?;
    let address = process.address;
    request
        .plan
        .set_target(&address.ip().to_string(), address.port());
    Ok(Some(process))
}

/// The first address of each endpoint.
pub(crate) fn resolve(endpoints: &[Endpoint]) -> Result<Arc<[SocketAddr]>, ConductError> {
    let addresses = endpoints.iter().map(|endpoint| {
        let fail = |problem: String| ConductError::Resolve {
            host: endpoint.host.clone(),
            problem,
        };
        let found = (endpoint.host.as_str(), endpoint.port).to_socket_addrs();
        let mut found = found.map_err(|e| fail(e.to_string()))?;
        found
            .next()
            .ok_or_else(|| fail("the name has no address".to_owned()))
    });
    addresses.collect()
}

fn tls_config(plan: &Plan) -> Result<Option<Arc<engine::trust::ClientConfig>>, ConductError> {
    if !plan.endpoints.iter().any(|endpoint| endpoint.tls) {
        return Ok(None);
    }
    let mut pems = Vec::new();
    for path in &plan.options.tls.ca_files {
        let error = |source| ConductError::Certificates {
            path: path.clone(),
            source,
        };
        pems.push((path.clone(), std::fs::read(path).map_err(error)?));
    }
    Ok(Some(client_config(plan.options.tls.verify, &pems)?))
}
