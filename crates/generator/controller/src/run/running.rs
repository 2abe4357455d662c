//! The third stage: the loops run, and their reports are merged and recorded second by second.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use driver::real::{LoopNews, StopFlag, Zero};
use judge::{AbortWatch, UntilWatch};
use machine::clock::monotonic_ns;
use machine::host::{self, NetworkCounters, Totals};
use plan::Plan;
use record::RecordError;
use record::counters::Counts;
use record::schema::{EventKind, SeriesRow};
use workers::{Fleet, LostWorker, Pool, PoolEvent, Usage};

use super::broadcasts::Broadcasts;
use super::by_worker::ByWorker;
use super::deals::{self, Deals, Loss, LostUsers};
use super::ended::Ended;
use super::error::ConductError;
use super::guard::Guard;
use super::journal::Journal;
use super::merge::{Interval, Merger};
use super::once::TeardownLoop;
use super::outside::Outside;
use super::recording::Recording;
use super::starts::{self, LastSessions};
use super::tick::{self, Tick};
use super::{Control, pause};

/// The longest wait for the loops before everything else is looked at.
const POLL: Duration = Duration::from_millis(50);
/// An interval is in the files of the record after this time at the latest: checkpoints are three seconds apart.
const STORED_AFTER_NS: u64 = 4_000_000_000;

/// A run whose loops run.
pub(super) struct Running {
    /// `None`: `setup` failed, so that no user starts.
    pool: Option<Pool>,
    stop: Arc<StopFlag>,
    journal: Journal,
    plan: Arc<Plan>,
    zero: Zero,
    merger: Merger,
    by_worker: ByWorker,
    aborts: AbortWatch,
    /// `None`: nothing ends the run as soon as it is known.
    until: Option<UntilWatch>,
    deals: Deals,
    progress: Progress,
    /// Counters of the namespaces that users connect from; empty: of the generator's own.
    networks: Vec<NetworkCounters>,
    teardown: TeardownLoop,
    allow_lost_workers: bool,
    control: Control,
    outside: Outside,
    fleet: Option<Rc<dyn Fleet>>,
}

/// The progress of a run.
struct Progress {
    totals: Totals,
    /// The resources that the workers had used by the last interval.
    usage: Usage,
    workers_left: u32,
    guard: Guard,
    /// Users present at the last interval's end.
    users: u64,
    interrupted: bool,
    /// A threshold has ended the run.
    aborted: bool,
    /// The scenario's `until` has ended the run before its plan did.
    has_until_ended: bool,
    /// When the loops were stopped before the plan's end, since the run's start.
    stopped_ns: Option<u64>,
    /// Phases whose start is in the events.
    phases_started: usize,
    /// The sessions of the last phase.
    last_sessions: LastSessions,
    draining: bool,
    /// Totals of the run.
    counts: Counts,
    ended_ns: u64,
}

impl Progress {
    fn new(workers_count: u32, networks: &[NetworkCounters]) -> Progress {
        Progress {
            totals: host::totals(networks),
            usage: Usage::default(),
            workers_left: workers_count,
            guard: Guard::new(),
            users: 0,
            interrupted: false,
            aborted: false,
            has_until_ended: false,
            stopped_ns: None,
            phases_started: 0,
            last_sessions: LastSessions::default(),
            draining: false,
            counts: Counts::default(),
            ended_ns: 0,
        }
    }
}

impl Running {
    /// Lets the loops begin at the run's zero, and everything beside them at once.
    pub(super) fn start(recording: Recording) -> Running {
        let Recording {
            fleet,
            outside,
            mut pool,
            stop,
            journal,
            plan,
            zero,
            numbering,
            loops_count,
            workers_count,
            deals,
            probes,
            networks,
            teardown,
            allow_lost_workers,
            control,
        } = recording;
        pool.iter_mut().for_each(|pool| pool.start(zero));
        let broadcasts = Broadcasts::new(&plan, &numbering);
        Running {
            merger: Merger::new(broadcasts, numbering, loops_count),
            by_worker: ByWorker::new(&plan, &journal.info().workers),
            aborts: AbortWatch::new(journal.info(), &plan.aborts),
            until: plan.until.as_ref().and_then(|until| UntilWatch::new(journal.info(), until)),
            progress: Progress::new(workers_count, &networks),
            outside: outside.start(zero, probes, journal.probes()),
            pool,
            stop,
            journal,
            plan,
            zero,
            deals,
            networks,
            teardown,
            allow_lost_workers,
            control,
            fleet,
        }
    }

    /// Records the reports of the loops until all have ended.
    pub(super) fn run(mut self, on_tick: &mut dyn FnMut(&Tick<'_>)) -> Ended {
        let pool = self.pool.take();
        let has_setup_failed = pool.is_none();
        // The loops are gone after this, so that no more rows come and the record can be closed.
        let played = pool.map_or(Ok(()), |pool| self.play(pool, on_tick));
        let are_workers_lost =
            self.progress.workers_left == 0 && !self.journal.info().workers.is_empty();
        Ended {
            played,
            clocks: tick::clock_events(&self.plan, self.merger.clocks()),
            counts: self.progress.counts,
            ended_ns: self.progress.ended_ns,
            is_interrupted: self.progress.interrupted,
            is_aborted: self.progress.aborted,
            until_ended_ns: self.progress.stopped_ns.filter(|_| self.progress.has_until_ended),
            has_setup_failed,
            are_workers_lost,
            has_memory_run_out: self.progress.guard.has_ended_run(),
            journal: self.journal,
            plan: self.plan,
            by_worker: self.by_worker,
            teardown: Some(self.teardown),
            allow_lost_workers: self.allow_lost_workers,
            interrupt: self.control.interrupt,
            outside: self.outside,
            fleet: self.fleet,
        }
    }

    fn play(
        &mut self,
        mut pool: Pool,
        on_tick: &mut dyn FnMut(&Tick<'_>),
    ) -> Result<(), ConductError> {
        let recorded = self.record(&mut pool, on_tick);
        self.journal.note_drifts(&pool.drifts());
        if recorded.is_err() {
            self.stop.abort();
        }
        pool.join()?;
        recorded
    }

    fn record(
        &mut self,
        pool: &mut Pool,
        on_tick: &mut dyn FnMut(&Tick<'_>),
    ) -> Result<(), ConductError> {
        loop {
            match pool.receive(POLL) {
                PoolEvent::Loop(LoopNews::Delta(delta)) => {
                    self.by_worker.note(&delta);
                    self.merger.add(*delta);
                }
                PoolEvent::Loop(LoopNews::Ended { loop_id }) => self.merger.end(loop_id),
                PoolEvent::Loop(LoopNews::Thinned { at_ns, rate, .. }) => {
                    let reason = "rows came faster than they could be written".to_owned();
                    self.journal.event(at_ns, EventKind::Sampling { rate, reason })?;
                }
                PoolEvent::Lost(lost) => self.record_lost_worker(lost, pool)?,
                PoolEvent::RowsLeft(worker, left) => {
                    let at_ns = self.now_ns();
                    self.journal.note_rows(worker, left, at_ns)?;
                }
                PoolEvent::Notices(notices) => {
                    for text in notices {
                        self.journal.event(self.now_ns(), EventKind::Note { text })?;
                    }
                }
                PoolEvent::None => {}
                PoolEvent::Finished => {
                    if let Some(rest) = self.merger.remainder() {
                        self.journal.measures(&rest)?;
                    }
                    return Ok(());
                }
            }
            self.check_interrupt()?;
            self.check_pause()?;
            self.check_target()?;
            for what in self.progress.guard.poll(&self.stop, self.progress.users) {
                self.journal.event(self.progress.ended_ns, what)?;
            }
            for (at_ns, what) in self.outside.of_probes() {
                self.journal.event(at_ns, what)?;
            }
            for (at_ns, what) in self.outside.of_names() {
                self.journal.event(at_ns, what)?;
            }
            for (at_ns, what) in self.outside.of_lab() {
                self.journal.event(at_ns, what)?;
            }
            if !self.journal.is_writing() {
                self.stop.drain();
            }
            if self.stop.is_draining() && self.progress.stopped_ns.is_none() {
                self.progress.stopped_ns = Some(self.now_ns());
            }
            while let Some(interval) = self.merger.next() {
                let end_ns = interval.row.end_ns;
                self.take_interval(interval, pool.usage(), on_tick)?;
                pool.mark_stored(end_ns.saturating_sub(STORED_AFTER_NS));
            }
        }
    }

    /// A worker is lost: the others continue without its users, or with those that are dealt to them.
    fn record_lost_worker(&mut self, lost: LostWorker, pool: &Pool) -> Result<(), RecordError> {
        let at_ns = self.now_ns();
        let left = self.merger.mark_lost(lost.loops.numbers());
        let takers = match self.stop.is_closed() {
            true => Vec::new(),
            false => self.merger.running(),
        };
        let silent_ns = lost.silent_ns.saturating_sub(self.zero.monotonic_ns);
        let loss = Loss {
            worker: lost.worker,
            loops: lost.loops,
            from_ns: deals::moment(at_ns, silent_ns),
        };
        let users = self.deals.lose(&self.plan, loss, &takers);
        self.progress.workers_left = self.progress.workers_left.saturating_sub(1);
        self.journal.lose_worker(lost.worker, at_ns)?;
        self.journal.event(
            at_ns,
            EventKind::WorkerLost {
                worker: lost.worker as u32,
                pid: lost.pid,
                loops_first: lost.loops.first,
                loops: lost.loops.count,
                reported_ns: left.reported_ns,
                users: left.users,
                users_begun: left.begun,
                users_connected: left.connected,
                users_due_after: users.own.saturating_sub(left.begun),
                why: lost.why,
            },
        )?;
        self.deal(at_ns, users, pool)
    }

    /// Lets the other workers start the users of a lost one. That is kept for another controller first, which would
    /// otherwise deal these users again.
    fn deal(&mut self, at_ns: u64, lost: LostUsers, pool: &Pool) -> Result<(), RecordError> {
        let Some(deal) = lost.deal else {
            return Ok(());
        };
        self.keep_for_another(at_ns, "who starts whom")?;
        pool.adopt(&deal.adoptions);
        let by: BTreeSet<u32> = deal.adoptions.iter().map(|a| a.by).collect();
        let what = EventKind::ShareDealt {
            worker: deal.worker as u32,
            from_ns: deal.from_ns,
            users: lost.dealt,
            users_untaken: lost.untaken,
            loops: by.into_iter().collect(),
        };
        if let Some(fleet) = &self.fleet {
            fleet.notify(&format!(
                "{} of worker {} are started by the others from {} on",
                units::counted(lost.dealt, "user"),
                deal.worker + 1,
                units::duration(deal.from_ns as f64)
            ));
        }
        self.journal.event(at_ns, what)
    }

    /// Keeps the state of the run for another controller; if that fails, a note says what it would not know.
    fn keep_for_another(&mut self, at_ns: u64, what: &str) -> Result<(), RecordError> {
        if let Some(fleet) = &self.fleet
            && let Err(why) = self.deals.keep(fleet.as_ref())
        {
            let text = format!("another controller would not know {what}: {why}");
            self.journal.event(at_ns, EventKind::Note { text })?;
        }
        Ok(())
    }

    fn check_interrupt(&mut self) -> Result<(), RecordError> {
        if self.control.interrupt.is_requested() && !self.progress.interrupted {
            self.progress.interrupted = true;
            self.stop.drain();
            self.journal.event(self.progress.ended_ns, EventKind::Interrupted)?;
        }
        Ok(())
    }

    fn check_pause(&mut self) -> Result<(), RecordError> {
        let at_ns = self.now_ns();
        // After the last phase no user is due.
        if at_ns >= self.plan.end_ns() {
            return Ok(());
        }
        match pause::poll(&self.control.pause, &self.stop) {
            Some(what) => self.journal.event(at_ns, what),
            None => Ok(()),
        }
    }

    /// A target that has ended ends the run: nothing measured from then on would be the target's.
    fn check_target(&mut self) -> Result<(), RecordError> {
        let Some(what) = self.outside.target_end() else {
            return Ok(());
        };
        self.stop.drain();
        self.journal.event(self.now_ns(), what)
    }

    /// A threshold that does not hold may end the run. What is in flight has a second left: a target that is beyond hope
    /// is not waited for.
    fn check_aborts(&mut self, interval: &Interval) -> Result<(), RecordError> {
        if self.plan.aborts.is_empty() {
            return Ok(());
        }
        let measures: Vec<_> = interval.measures.values().map(tick::second_of).collect();
        let failed = self.aborts.look(&interval.row, &measures, &interval.metrics);
        let Some(failed) = failed.filter(|_| !self.stop.is_draining()) else {
            return Ok(());
        };
        self.progress.aborted = true;
        self.stop.cut_short();
        let what = EventKind::Aborted {
            threshold: failed.threshold,
            shown: failed.shown,
            over_ns: failed.over_ns,
        };
        self.journal.event(interval.row.end_ns, what)
    }

    /// A script may end the run, as a threshold does.
    fn check_scripts(&mut self, interval: &Interval) -> Result<(), RecordError> {
        if interval.counts.script_aborts == 0 || self.stop.is_draining() {
            return Ok(());
        }
        self.progress.aborted = true;
        self.stop.cut_short();
        self.journal.event(interval.row.end_ns, EventKind::ScriptAborted)
    }

    /// The run ends when what the scenario asks for is known. Operations in flight may end as they may after the last phase.
    fn check_until(&mut self, interval: &Interval) -> Result<(), RecordError> {
        let Some(until) = &mut self.until else {
            return Ok(());
        };
        let measures: Vec<_> = interval.measures.values().map(tick::second_of).collect();
        let look = until.look(&interval.row, &measures);
        let Some(what) = look.filter(|_| !self.stop.is_draining()) else {
            return Ok(());
        };
        // A run that is about to end by itself is not cut short.
        let is_ending = self.merger.running().is_empty()
            || self.progress.last_sessions.are_over(&self.plan, &interval.row);
        if interval.row.end_ns < self.plan.end_ns() && !is_ending {
            // If another controller has ended the load, the seconds up to then are seen again, and later.
            let now_ns = self.now_ns();
            let ended_ns = self.deals.load_end_ns();
            let now_ns =
                ended_ns.map_or(now_ns, |at_ns| at_ns.min(now_ns).max(interval.row.end_ns));
            self.progress.has_until_ended = true;
            let stopped_ns = *self.progress.stopped_ns.get_or_insert(now_ns);
            self.journal.end_load(stopped_ns);
            self.stop.drain();
            self.deals.end_load(stopped_ns);
            self.keep_for_another(stopped_ns, "when the load has ended")?;
        }
        self.journal.event(interval.row.end_ns, what)
    }

    /// The time since the run's start.
    fn now_ns(&self) -> u64 {
        monotonic_ns().saturating_sub(self.zero.monotonic_ns)
    }

    fn take_interval(
        &mut self,
        mut interval: Interval,
        usage: Usage,
        on_tick: &mut dyn FnMut(&Tick<'_>),
    ) -> Result<(), ConductError> {
        self.record_phases(&interval.row)?;
        self.complete_row(&mut interval, usage);
        self.journal.interval(&interval, &self.by_worker)?;
        self.progress.counts.merge(&interval.counts);
        self.progress.ended_ns = interval.row.end_ns;
        self.progress.users = interval.row.users;
        self.progress.last_sessions.add(&self.plan, &interval.row);
        self.outside.report_crowd(&interval.row);
        self.check_scripts(&interval)?;
        self.check_aborts(&interval)?;
        self.check_until(&interval)?;
        let events = self.journal.take_events();
        let errors = self.journal.take_errors();
        on_tick(&Tick {
            info: self.journal.info(),
            row: &interval.row,
            measures: tick::measures(self.journal.info(), &interval),
            interrupted: self.progress.interrupted,
            paused: self.stop.is_paused(),
            probes: self.outside.newest_probes(),
            events: &events,
            errors: &errors,
            interval: &interval,
        });
        Ok(())
    }

    fn record_phases(&mut self, row: &SeriesRow) -> Result<(), RecordError> {
        while let Some(phase) = self.plan.phases.get(self.progress.phases_started)
            && starts::has_begun(phase, row.start_ns, self.progress.stopped_ns)
        {
            self.progress.phases_started += 1;
            let started = EventKind::PhaseStarted { phase: phase.name.clone() };
            self.journal.event(phase.start_ns, started)?;
        }
        if !self.progress.draining && row.start_ns >= self.plan.end_ns() {
            self.progress.draining = true;
            self.journal.event(self.plan.end_ns(), EventKind::Draining)?;
        }
        Ok(())
    }

    /// Adds the figures that the loops do not know.
    fn complete_row(&mut self, interval: &mut Interval, usage: Usage) {
        let row = &mut interval.row;
        row.users_due = starts::due_in(&self.plan, row, self.progress.stopped_ns);
        let totals = host::totals(&self.networks);
        row.cpu_process_ns =
            totals.cpu_process_ns.saturating_sub(self.progress.totals.cpu_process_ns)
                + usage.cpu_ns.saturating_sub(self.progress.usage.cpu_ns);
        row.cpu_throttled_ns =
            totals.cpu_throttled_ns.saturating_sub(self.progress.totals.cpu_throttled_ns);
        let lost = totals.network.since(&self.progress.totals.network);
        row.host_retransmits = lost.retransmits;
        row.host_syn_retransmits = lost.syn_retransmits;
        row.host_listen_drops = lost.listen_drops;
        row.host_packet_drops = lost.packet_drops;
        row.host_memory_pressures = lost.memory_pressures;
        row.host_memory_aborts = lost.memory_aborts;
        row.rss_bytes = host::resident_bytes().saturating_add(usage.resident_bytes);
        self.progress.totals = totals;
        self.progress.usage = usage;
    }
}
