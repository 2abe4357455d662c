//! A run from start to verdict.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use engine::driver::real::{LoopNews, StopFlag, Zero, monotonic_ns};
use machine::host::{self, Totals};
use machine::loops::{cores, open_files_max};
use plan::Plan;
use probe::ProbeError;
use record::schema::{EventKind, RunInfo, RunStatus, SeriesRow, Summary};
use record::{RecordError, Run};

use crate::broadcasts::Broadcasts;
use crate::crew::{Crew, CrewError, Heard, Hiring, Loss};
use crate::describe::Begun;
use crate::guard::Guard;
use crate::journal::{Journal, reason, rows_channel};
use crate::layout::layout;
use crate::merge::{Interval, Merger};
use crate::oddities::Oddities;
use crate::pause::{self, Pause};
use crate::preflight::{self, TooSmall};
use crate::prepare::{prepare, start_target};
use crate::probing::{self, Probing};
use crate::secrets::Secrets;
use crate::starts;
use crate::target::{TargetError, TargetProcess};
use crate::tick::{self, Tick};
use crate::worker::protocol::{ScenarioText, Usage};

/// Loops start this long after all of them are ready and the record is begun.
const START_DELAY: Duration = Duration::from_millis(100);
/// How often the conductor looks up from its loops.
const POLL: Duration = Duration::from_millis(50);

/// What to run.
#[derive(Debug)]
pub struct RunRequest<'a> {
    pub plan: Plan,
    /// What the plan was compiled from.
    pub scenario: ScenarioText,
    /// Where run directories are made.
    pub runs: &'a Path,
    /// The program that serves built-in targets and is the workers.
    pub program: &'a Path,
    /// Throng's version.
    pub version: &'a str,
    /// How many worker processes run the loops; 0: they are threads of this one.
    pub workers_count: u32,
    /// Where workers are lost, judge what the others measured.
    pub allow_lost_workers: bool,
    /// Whether to run even where this machine cannot hold so many users.
    pub force: bool,
    pub interrupt: Arc<Interrupt>,
    pub pause: Arc<Pause>,
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

    /// Whether it was asked at all.
    pub fn is_asked(&self) -> bool {
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
    Crew(#[from] CrewError),
    #[error("cannot read the certificates of {path}")]
    Certificates {
        path: String,
        #[source]
        source: std::io::Error,
    },
    #[error(transparent)]
    Probe(#[from] ProbeError),
    #[error("cannot write the run's record")]
    Record(#[from] RecordError),
    #[error("cannot judge the run in {}", directory.display())]
    Judge {
        directory: PathBuf,
        #[source]
        source: judge::JudgeError,
    },
}

/// Conducts a run. `on_tick` is called about once a second.
pub fn conduct(
    request: RunRequest<'_>,
    on_tick: &mut dyn FnMut(&Tick<'_>),
) -> Result<Conducted, ConductError> {
    let mut plan = request.plan;
    probe::check(&plan.probes)?;
    let layout = layout(&plan, cores(), open_files_max(), request.workers_count);
    let warning = preflight::check(&plan, layout.users_max, request.force)?;
    let folder = Path::new(&request.scenario.name).parent();
    let target = start_target(&mut plan, request.program, folder.unwrap_or(Path::new("")))?;
    let plan = Arc::new(plan);
    let address = target.as_ref().map(|target| target.address);
    let preparation = prepare(&plan, address, layout)?;
    let hiring = (request.workers_count > 0).then_some(Hiring {
        workers_count: request.workers_count,
        program: request.program,
        throng: request.version,
        scenario: &request.scenario,
    });
    let stop = Arc::new(StopFlag::default());
    let (rows_in, rows) = rows_channel();
    let mut crew = Crew::gather(&plan, &preparation, hiring, &stop, rows_in)?;
    let zero = zero();
    let probes = probing::crew(&plan, target.as_ref(), zero)?;
    let secrets = Secrets::of(&request.scenario.inputs);
    let begun = Begun {
        plan: &plan,
        scenario: &request.scenario,
        throng: request.version,
        preparation: &preparation,
        workers: crew.workers(),
        secrets: &secrets,
        unix_ns: zero.unix_ns,
    };
    let (info, text) = (begun.info(), &request.scenario.text);
    let mut journal = Journal::create(request.runs, info, text, rows, secrets)?;
    let probing = probes.map(|crew| Probing::start(crew, journal.probes()));
    if let Some(text) = warning {
        journal.event(0, EventKind::Note { text })?;
    }
    crew.open(zero);
    let mut run = Conductor {
        plan: &plan,
        interrupt: &request.interrupt,
        pause: &request.pause,
        merger: Merger::new(Broadcasts::new(&plan), preparation.layout.loops_count),
        stop,
        zero,
        totals: host::totals(),
        usage: Usage::default(),
        guard: Guard::new(),
        users: 0,
        interrupted: false,
        workers_left: request.workers_count,
        allow_lost_workers: request.allow_lost_workers,
        phases_told: 0,
        draining_told: false,
        oddities: Oddities::default(),
        ended_ns: 0,
        probing,
        target,
        target_ended: false,
        journal,
    };
    let outcome = run.play(&mut crew, on_tick);
    // The record is closed once nobody sends rows any more.
    drop(crew);
    run.conclude(outcome)
}

/// The run's zero: in a moment.
fn zero() -> Zero {
    #[expect(clippy::disallowed_methods, reason = "the run's zero on both clocks")]
    let (monotonic_ns, now) = (monotonic_ns(), SystemTime::now());
    let unix = now.duration_since(UNIX_EPOCH).unwrap_or_default() + START_DELAY;
    Zero {
        monotonic_ns: monotonic_ns + START_DELAY.as_nanos() as u64,
        unix_ns: unix.as_nanos() as u64,
    }
}

struct Conductor<'a> {
    plan: &'a Plan,
    interrupt: &'a Interrupt,
    pause: &'a Pause,
    journal: Journal,
    merger: Merger,
    stop: Arc<StopFlag>,
    zero: Zero,
    totals: Totals,
    /// What the workers had used by the last interval.
    usage: Usage,
    workers_left: u32,
    allow_lost_workers: bool,
    guard: Guard,
    /// Users present at the last interval's end.
    users: u64,
    interrupted: bool,
    phases_told: usize,
    draining_told: bool,
    oddities: Oddities,
    ended_ns: u64,
    probing: Option<Probing>,
    /// It has served its run when this is dropped; its end is part of ours.
    target: Option<TargetProcess>,
    /// Whether it ended before the run did.
    target_ended: bool,
}

impl Conductor<'_> {
    /// Writes down what the loops tell, until all have ended.
    fn play(
        &mut self,
        crew: &mut Crew,
        on_tick: &mut dyn FnMut(&Tick<'_>),
    ) -> Result<(), ConductError> {
        let followed = self.follow(crew, on_tick);
        if followed.is_err() {
            self.stop.abort();
        }
        crew.join()?;
        followed
    }

    fn follow(
        &mut self,
        crew: &mut Crew,
        on_tick: &mut dyn FnMut(&Tick<'_>),
    ) -> Result<(), ConductError> {
        loop {
            match crew.hear(POLL) {
                Heard::Loop(LoopNews::Delta(delta)) => self.merger.add(*delta),
                Heard::Loop(LoopNews::Ended { loop_id }) => self.merger.end(loop_id),
                Heard::Loop(LoopNews::Thinned { at_ns, rate, .. }) => {
                    let reason = "rows came faster than they could be written".to_owned();
                    self.journal
                        .event(at_ns, EventKind::Sampling { rate, reason })?;
                }
                Heard::Lost(loss) => self.lose(loss)?,
                Heard::Nothing => {}
                Heard::Over => {
                    if let Some(rest) = self.merger.rest() {
                        self.journal.measures(&rest)?;
                    }
                    return Ok(());
                }
            }
            self.heed_interrupt()?;
            self.heed_pause()?;
            self.heed_target()?;
            for what in self.guard.heed(&self.stop, self.users) {
                self.journal.event(self.ended_ns, what)?;
            }
            for (at_ns, what) in self.probing.as_mut().map_or_else(Vec::new, Probing::heed) {
                self.journal.event(at_ns, what)?;
            }
            if !self.journal.is_writing() {
                self.stop.drain();
            }
            while let Some(interval) = self.merger.next() {
                self.take_interval(interval, crew.usage(), on_tick)?;
            }
        }
    }

    /// A worker is lost: the others go on without its users.
    fn lose(&mut self, loss: Loss) -> Result<(), RecordError> {
        let at_ns = self.now_ns();
        let left = self.merger.lose(loss.loops.numbers());
        let planned = starts::planned(self.plan, loss.loops);
        self.workers_left = self.workers_left.saturating_sub(1);
        self.journal.lose_worker(loss.worker, at_ns)?;
        self.journal.event(
            at_ns,
            EventKind::WorkerLost {
                worker: loss.worker as u32,
                pid: loss.pid,
                loops_first: loss.loops.first,
                loops: loss.loops.count,
                told_ns: left.told_ns,
                users: left.users,
                users_begun: left.begun,
                users_connected: left.connected,
                users_due_after: planned.saturating_sub(left.begun),
                why: loss.why,
            },
        )
    }

    fn heed_interrupt(&mut self) -> Result<(), RecordError> {
        if self.interrupt.is_asked() && !self.interrupted {
            self.interrupted = true;
            self.stop.drain();
            self.journal.event(self.ended_ns, EventKind::Interrupted)?;
        }
        Ok(())
    }

    fn heed_pause(&mut self) -> Result<(), RecordError> {
        let at_ns = self.now_ns();
        // After the last phase nobody is due.
        if at_ns >= self.plan.end_ns() {
            return Ok(());
        }
        match pause::heed(self.pause, &self.stop) {
            Some(what) => self.journal.event(at_ns, what),
            None => Ok(()),
        }
    }

    /// A target that is no more ends the run: whatever were measured from then on, it would not be
    /// the target.
    fn heed_target(&mut self) -> Result<(), RecordError> {
        let Some(target) = self.target.as_mut().filter(|_| !self.target_ended) else {
            return Ok(());
        };
        let Some(status) = target.ended() else {
            return Ok(());
        };
        let what = EventKind::TargetEnded {
            target: target.name().to_owned(),
            pid: target.pid(),
            why: status.to_string(),
        };
        self.target_ended = true;
        self.stop.drain();
        self.journal.event(self.now_ns(), what)
    }

    /// True where the run did not come to its end for a fault.
    fn has_failed(&self) -> bool {
        self.all_lost() || self.guard.has_ended_run() || self.target_ended
    }

    /// Since the run's start.
    fn now_ns(&self) -> u64 {
        monotonic_ns().saturating_sub(self.zero.monotonic_ns)
    }

    fn take_interval(
        &mut self,
        mut interval: Interval,
        usage: Usage,
        on_tick: &mut dyn FnMut(&Tick<'_>),
    ) -> Result<(), ConductError> {
        self.tell_phases(&interval.row)?;
        self.complete_row(&mut interval, usage);
        self.journal.interval(&interval)?;
        self.oddities.add(interval.oddities);
        self.ended_ns = interval.row.end_ns;
        self.users = interval.row.users;
        let events = self.journal.news();
        on_tick(&Tick {
            info: self.journal.info(),
            row: &interval.row,
            measures: tick::measures(self.journal.info(), &interval),
            interrupted: self.interrupted,
            paused: self.stop.is_paused(),
            probes: self.probing.as_mut().map_or(&[], Probing::newest),
            events: &events,
            interval: &interval,
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
    fn complete_row(&mut self, interval: &mut Interval, usage: Usage) {
        let row = &mut interval.row;
        let due = |at_ns| starts::due_by(self.plan, at_ns).round() as u64;
        row.users_due = due(row.end_ns) - due(row.start_ns) + row.users_repeated;
        let totals = host::totals();
        row.cpu_process_ns = totals
            .cpu_process_ns
            .saturating_sub(self.totals.cpu_process_ns)
            + usage.cpu_ns.saturating_sub(self.usage.cpu_ns);
        let lost = totals.network.since(&self.totals.network);
        row.host_retransmits = lost.retransmits;
        row.host_syn_retransmits = lost.syn_retransmits;
        row.host_listen_drops = lost.listen_drops;
        row.host_packet_drops = lost.packet_drops;
        row.host_memory_pressures = lost.memory_pressures;
        row.host_memory_aborts = lost.memory_aborts;
        row.rss_bytes = host::resident_bytes().saturating_add(usage.resident_bytes);
        (self.totals, self.usage) = (totals, usage);
    }

    /// True where the loops were in workers, and no worker is left.
    fn all_lost(&self) -> bool {
        self.workers_left == 0 && !self.journal.info().workers.is_empty()
    }

    /// Writes down what the figures do not tell.
    fn note_end(&mut self, played: &Result<(), ConductError>) -> Result<(), RecordError> {
        for text in self.oddities.notes() {
            self.journal
                .event(self.ended_ns, EventKind::Note { text })?;
        }
        if self.all_lost() {
            let text = "all workers were lost".to_owned();
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

    /// Ends the asking on the server's side.
    fn end_probing(&mut self) -> Result<(), RecordError> {
        let Some(probing) = self.probing.take() else {
            return Ok(());
        };
        let (events, written) = probing.finish();
        for (at_ns, what) in events {
            self.journal.event(at_ns, what)?;
        }
        if let Err(error) = written {
            let text = format!(
                "what the probes told is not all written: {}",
                reason(&error)
            );
            self.journal
                .event(self.ended_ns, EventKind::Note { text })?;
        }
        Ok(())
    }

    /// Closes the record, judges it, and writes the verdict into it.
    fn conclude(mut self, played: Result<(), ConductError>) -> Result<Conducted, ConductError> {
        // It may have ended with the last of its users.
        let heeded = self.heed_target();
        let status = if played.is_err() || self.has_failed() {
            RunStatus::Failed
        } else if self.interrupted {
            RunStatus::Interrupted
        } else {
            RunStatus::Complete
        };
        let directory = self.journal.path().to_owned();
        let mut info = self.journal.info().clone();
        info.status = status;
        info.ended_ns = self.ended_ns;
        let probed = self.end_probing();
        let noted = self.note_end(&played).and(probed).and(heeded);
        let finished = self.journal.finish(&info);
        played?;
        noted?;
        let dir = finished?;
        let judge_error = |source| ConductError::Judge {
            directory: directory.clone(),
            source,
        };
        let run = Run::open(&directory)?;
        let summary = judge::judge(&run, &self.plan.thresholds, self.allow_lost_workers)
            .map_err(judge_error)?;
        dir.write_summary(&summary)?;
        Ok(Conducted {
            directory,
            info,
            summary,
        })
    }
}
