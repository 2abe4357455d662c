//! A run while it goes on, and its end.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use crate::names::Resolving;
use driver::real::{LoopNews, StopFlag, Zero};
use machine::clock::monotonic_ns;
use machine::host::{self, NetworkCounters, Totals};
use plan::Plan;
use record::counters::Counts;
use record::schema::{EventKind, RunStatus, SeriesRow, Verdict};
use record::{RecordError, Run};
use workers::{Fleet, LoopsSetup, LostWorker, Pool, PoolEvent, Usage, with_causes};

use super::by_worker::ByWorker;
use super::deals::{self, Deals, Settled};
use super::error::ConductError;
use super::guard::Guard;
use super::journal::Journal;
use super::merge::{Interval, Merger};
use super::once;
use super::probing::Probing;
use super::tick::{self, Tick};
use super::{Conducted, pause, starts};
use crate::control::{Interrupt, Pause};
use crate::surroundings::Surroundings;
use crate::target::TargetProcess;

/// How long the conductor waits for news of its loops before it looks at everything else.
const POLL: Duration = Duration::from_millis(50);
/// An interval is in the files of the record after this time at the latest: checkpoints are three seconds apart.
const STORED_AFTER_NS: u64 = 4_000_000_000;

/// A run that goes on.
pub(super) struct Conductor<'a> {
    pub(super) plan: &'a Plan,
    pub(super) interrupt: &'a Interrupt,
    pub(super) pause: &'a Pause,
    pub(super) journal: Journal,
    pub(super) merger: Merger,
    pub(super) by_worker: ByWorker,
    pub(super) deals: Deals,
    pub(super) stop: Arc<StopFlag>,
    pub(super) zero: Zero,
    pub(super) allow_lost_workers: bool,
    pub(super) progress: Progress,
    pub(super) probing: Option<Probing>,
    /// Names whose addresses may change.
    pub(super) names: Option<Resolving>,
    /// What happens in the lab, by its time since the Unix epoch.
    pub(super) outside: Option<Receiver<(u64, EventKind)>>,
    pub(super) lab: Option<&'a dyn Surroundings>,
    /// Of the namespaces that users connect from; empty: of the generator's own.
    pub(super) networks: Vec<NetworkCounters>,
    /// The built-in target. It is stopped when this is dropped.
    pub(super) target: Option<TargetProcess>,
    pub(super) fleet: Option<&'a dyn Fleet>,
}

/// How far a run has come.
pub(super) struct Progress {
    totals: Totals,
    /// What the workers had used by the last interval.
    usage: Usage,
    workers_left: u32,
    guard: Guard,
    /// Users present at the last interval's end.
    users: u64,
    interrupted: bool,
    /// Phases whose start is in the events.
    phases_started: usize,
    draining: bool,
    /// Totals of the run.
    counts: Counts,
    ended_ns: u64,
    /// Whether the target ended before the run did.
    target_ended: bool,
    /// Whether `setup` failed, so that no user starts.
    setup_failed: bool,
}

impl Progress {
    pub(super) fn new(
        (workers_count, networks): (u32, &[NetworkCounters]),
        setup_failed: bool,
    ) -> Progress {
        Progress {
            totals: host::totals(networks),
            usage: Usage::default(),
            workers_left: workers_count,
            guard: Guard::new(),
            users: 0,
            interrupted: false,
            phases_started: 0,
            draining: false,
            counts: Counts::default(),
            ended_ns: 0,
            target_ended: false,
            setup_failed,
        }
    }
}

impl Conductor<'_> {
    /// Plays the run to its end, if it has loops, and what follows it.
    pub(super) fn complete(
        mut self,
        mut pool: Option<Pool>,
        setup: &LoopsSetup,
        on_tick: &mut dyn FnMut(&Tick<'_>),
    ) -> Result<Conducted, ConductError> {
        let played = pool.as_mut().map(|pool| self.play(pool, on_tick));
        // The record can be closed once no loop sends rows.
        drop(pool);
        self.tear_down(setup)?;
        self.conclude(played.unwrap_or(Ok(())))
    }

    /// Records what the loops report until all have ended.
    pub(super) fn play(
        &mut self,
        pool: &mut Pool,
        on_tick: &mut dyn FnMut(&Tick<'_>),
    ) -> Result<(), ConductError> {
        let recorded = self.record(pool, on_tick);
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
                    self.journal
                        .event(at_ns, EventKind::Sampling { rate, reason })?;
                }
                PoolEvent::Lost(lost) => self.record_lost_worker(lost, pool)?,
                PoolEvent::RowsLeft(worker, left) => {
                    let at_ns = self.now_ns();
                    self.journal.note_rows(worker, left, at_ns)?;
                }
                PoolEvent::Notices(notices) => {
                    for text in notices {
                        self.journal
                            .event(self.now_ns(), EventKind::Note { text })?;
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
            for (at_ns, what) in self.probing.as_mut().map_or_else(Vec::new, Probing::events) {
                self.journal.event(at_ns, what)?;
            }
            for (at_ns, what) in self.names.as_mut().map_or_else(Vec::new, Resolving::events) {
                self.journal.event(at_ns, what)?;
            }
            self.take_outside()?;
            if !self.journal.is_writing() {
                self.stop.drain();
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
        let to = (deals::moment(at_ns, silent_ns), takers.as_slice());
        let settled = self.deals.lose(self.plan, (lost.worker, lost.loops), to);
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
                users_due_after: settled.its.saturating_sub(left.begun),
                why: lost.why,
            },
        )?;
        self.deal(at_ns, settled, pool)
    }

    /// Lets the others start the users of a lost worker. First another controller is to know it, who would deal them once more.
    fn deal(&mut self, at_ns: u64, settled: Settled, pool: &Pool) -> Result<(), RecordError> {
        let Some(deal) = settled.deal else {
            return Ok(());
        };
        if let Some(fleet) = self.fleet
            && let Err(why) = self.deals.keep(fleet)
        {
            let text = format!("another controller would not know who starts whom: {why}");
            self.journal.event(at_ns, EventKind::Note { text })?;
        }
        pool.adopt(&deal.adoptions);
        let by: BTreeSet<u32> = deal.adoptions.iter().map(|a| a.by).collect();
        let what = EventKind::ShareDealt {
            worker: deal.worker as u32,
            from_ns: deal.from_ns,
            users: settled.dealt,
            users_untaken: settled.untaken,
            loops: by.into_iter().collect(),
        };
        if let Some(fleet) = self.fleet {
            fleet.notify(&format!(
                "{} of worker {} are started by the others from {} on",
                units::counted(settled.dealt, "user"),
                deal.worker + 1,
                units::duration(deal.from_ns as f64)
            ));
        }
        self.journal.event(at_ns, what)
    }

    /// Records what happened in the lab.
    fn take_outside(&mut self) -> Result<(), RecordError> {
        let happened = self.outside.iter().flat_map(Receiver::try_iter);
        for (unix_ns, what) in happened.collect::<Vec<_>>() {
            let at_ns = unix_ns.saturating_sub(self.zero.unix_ns);
            self.journal.event(at_ns, what)?;
        }
        Ok(())
    }

    fn check_interrupt(&mut self) -> Result<(), RecordError> {
        if self.interrupt.is_requested() && !self.progress.interrupted {
            self.progress.interrupted = true;
            self.stop.drain();
            self.journal
                .event(self.progress.ended_ns, EventKind::Interrupted)?;
        }
        Ok(())
    }

    fn check_pause(&mut self) -> Result<(), RecordError> {
        let at_ns = self.now_ns();
        // After the last phase no user is due.
        if at_ns >= self.plan.end_ns() {
            return Ok(());
        }
        match pause::poll(self.pause, &self.stop) {
            Some(what) => self.journal.event(at_ns, what),
            None => Ok(()),
        }
    }

    /// A target that has ended ends the run: nothing measured from then on would be the target's.
    fn check_target(&mut self) -> Result<(), RecordError> {
        let Some(target) = self.target.as_mut().filter(|_| !self.progress.target_ended) else {
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
        self.progress.target_ended = true;
        self.stop.drain();
        self.journal.event(self.now_ns(), what)
    }

    /// Runs `teardown` now that no loop has users any more, unless there is nothing that it could remove.
    pub(super) fn tear_down(&mut self, loops: &LoopsSetup) -> Result<(), RecordError> {
        self.check_target()?;
        let teardown = self.plan.teardown.as_deref();
        let runs = !self.progress.setup_failed && !self.progress.target_ended;
        match teardown.filter(|_| runs) {
            Some(teardown) => {
                let ended = once::tear_down(self.plan, teardown, loops);
                self.journal.event(self.progress.ended_ns, ended)
            }
            None => Ok(()),
        }
    }

    /// True if a fault kept the run from its planned end.
    fn has_failed(&self) -> bool {
        self.progress.setup_failed
            || self.all_lost()
            || self.progress.guard.has_ended_run()
            || self.progress.target_ended
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
        self.record_phases(&interval.row)?;
        self.complete_row(&mut interval, usage);
        self.journal.interval(&interval, &self.by_worker)?;
        self.progress.counts.merge(&interval.counts);
        self.progress.ended_ns = interval.row.end_ns;
        self.progress.users = interval.row.users;
        if let Some(lab) = self.lab {
            let row = &interval.row;
            let seconds = row.end_ns.saturating_sub(row.start_ns) as f64 / 1e9;
            if seconds > 0.0 {
                lab.crowd(row.users, row.users_started as f64 / seconds);
            }
        }
        let events = self.journal.take_events();
        on_tick(&Tick {
            info: self.journal.info(),
            row: &interval.row,
            measures: tick::measures(self.journal.info(), &interval),
            interrupted: self.progress.interrupted,
            paused: self.stop.is_paused(),
            probes: self.probing.as_mut().map_or(&[], Probing::newest),
            events: &events,
            interval: &interval,
        });
        Ok(())
    }

    fn record_phases(&mut self, row: &SeriesRow) -> Result<(), RecordError> {
        while let Some(phase) = self.plan.phases.get(self.progress.phases_started)
            && phase.start_ns <= row.start_ns
        {
            self.progress.phases_started += 1;
            let started = EventKind::PhaseStarted {
                phase: phase.name.clone(),
            };
            self.journal.event(phase.start_ns, started)?;
        }
        if !self.progress.draining && row.start_ns >= self.plan.end_ns() {
            self.progress.draining = true;
            self.journal
                .event(self.plan.end_ns(), EventKind::Draining)?;
        }
        Ok(())
    }

    /// Adds what the loops do not know.
    fn complete_row(&mut self, interval: &mut Interval, usage: Usage) {
        let row = &mut interval.row;
        row.users_due =
            starts::due_between(self.plan, row.start_ns, row.end_ns) + row.users_repeated;
        let totals = host::totals(&self.networks);
        row.cpu_process_ns = totals
            .cpu_process_ns
            .saturating_sub(self.progress.totals.cpu_process_ns)
            + usage.cpu_ns.saturating_sub(self.progress.usage.cpu_ns);
        row.cpu_throttled_ns = totals
            .cpu_throttled_ns
            .saturating_sub(self.progress.totals.cpu_throttled_ns);
        let lost = totals.network.since(&self.progress.totals.network);
        row.host_retransmits = lost.retransmits;
        row.host_syn_retransmits = lost.syn_retransmits;
        row.host_listen_drops = lost.listen_drops;
        row.host_packet_drops = lost.packet_drops;
        row.host_memory_pressures = lost.memory_pressures;
        row.host_memory_aborts = lost.memory_aborts;
        row.rss_bytes = host::resident_bytes().saturating_add(usage.resident_bytes);
        (self.progress.totals, self.progress.usage) = (totals, usage);
    }

    /// True if the loops were in workers and no worker is left.
    fn all_lost(&self) -> bool {
        self.progress.workers_left == 0 && !self.journal.info().workers.is_empty()
    }

    /// Records what the figures do not show.
    fn note_end(&mut self, played: &Result<(), ConductError>) -> Result<(), RecordError> {
        for what in tick::clock_events(self.plan, self.merger.clocks()) {
            self.journal.event(self.progress.ended_ns, what)?;
        }
        for (at_ns, what) in self.names.take().map_or_else(Vec::new, Resolving::finish) {
            self.journal.event(at_ns, what)?;
        }
        self.take_outside()?;
        for what in self.lab.map_or_else(Vec::new, Surroundings::end) {
            self.journal.event(self.progress.ended_ns, what)?;
        }
        for text in self.progress.counts.notes() {
            self.journal
                .event(self.progress.ended_ns, EventKind::Note { text })?;
        }
        if self.all_lost() {
            let text = "all workers were lost".to_owned();
            self.journal
                .event(self.progress.ended_ns, EventKind::Note { text })?;
        }
        if let Err(error) = played {
            let text = with_causes(error);
            self.journal
                .event(self.progress.ended_ns, EventKind::Note { text })?;
        }
        Ok(())
    }

    /// Stops the probes.
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
                "not all values of the probes were written: {}",
                with_causes(&error)
            );
            self.journal
                .event(self.progress.ended_ns, EventKind::Note { text })?;
        }
        Ok(())
    }

    /// Closes the record, judges it, and writes the verdict into it.
    pub(super) fn conclude(
        mut self,
        played: Result<(), ConductError>,
    ) -> Result<Conducted, ConductError> {
        // The target may have ended with the last of its users.
        let checked = self.check_target();
        // What ends `setup` ends the run.
        self.progress.interrupted |= self.progress.setup_failed && self.interrupt.is_requested();
        let status = if played.is_err() || self.has_failed() {
            RunStatus::Failed
        } else if self.progress.interrupted {
            RunStatus::Interrupted
        } else {
            RunStatus::Complete
        };
        let directory = self.journal.path().to_owned();
        let mut info = self.journal.info().clone();
        info.status = status;
        info.ended_ns = self.progress.ended_ns;
        let probed = self.end_probing();
        let noted = self.note_end(&played).and(probed).and(checked);
        let finished = self.journal.finish(&info, &self.by_worker);
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
        if let Some(fleet) = self.fleet {
            fleet.conclude(outcome(summary.verdict));
        }
        Ok(Conducted {
            directory,
            info,
            summary,
        })
    }
}

/// What a fleet lists of a run that is over.
fn outcome(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Measured => "measured",
        Verdict::Passed => "passed",
        Verdict::Failed => "failed",
        Verdict::Untrusted => "untrusted",
    }
}
