//! One event loop on its own thread: epoll, edge-triggered; one receive and one send an operation.
//!
//! In the precise mode the loop sleeps until just before the next due time and then looks at its
//! sockets without sleeping until it has come. In the wide mode it sleeps in milliseconds, and when
//! news arrive in quick succession it lets them gather for a moment: waking for each message of a
//! broadcast costs more than the message.

mod barrier;
mod cpu;
mod deals;
mod groups;
mod idle;
mod lateness;
mod setup;
mod sockets;
mod sources;
mod stop;
mod traffic;
mod unix;

use std::sync::mpsc::{SyncSender, TrySendError};

use engine::Shard;
use engine::command::{Command, Commands, ConnId};
use engine::measure::Delta;
use engine::work::Clock;
use machine::clock::{Dilation, monotonic_ns};
use machine::thread;
use plan::{Plan, ProxyKind};
use record::Measurement;
use rustix::event::epoll::{self, EventFlags};

use crate::addresses::Addresses;
use cpu::{CpuMeter, Span};
use idle::IdleTime;
use lateness::Lateness;
use sockets::{SocketEvent, Sockets};

pub use barrier::{StartBarrier, Zero};
pub use deals::{AdoptedUsers, Deals};
pub use groups::{is_group_left, kill_group, terminate_group};
pub use setup::{LoopError, LoopNews, LoopSetup, WaitMode};
pub use stop::StopFlag;

/// The precise mode stops sleeping this long before a due time, on the machine's clock: waking takes about as long here.
const SPIN_NS: u64 = 60_000;
/// The time that operations in flight have to finish in a run that is cut short.
const CUT_SHORT_NS: u64 = 1_000_000_000;
/// In the wide mode, news that arrive within this time of the last are handled together.
const GATHER_NS: u64 = 300_000;
/// The longest sleep, after which the stop flag is read.
const SLEEP_MAX_NS: u64 = 50_000_000;
/// After this time, sleep included, a round ends even if there are more news: the stop flag and the
/// report of each second must not wait.
const ROUND_MAX_NS: u64 = 2 * SLEEP_MAX_NS;
/// Events taken from the kernel at a time.
const EVENTS_MAX: usize = 256;
/// Due things done between two looks at the sockets.
const DUE_MAX: usize = 32;
/// A wide loop that is later than this with what is due opens one connection between two looks at
/// its sockets: replies that are there free connections for what is due, while opening ever more of
/// them would only make it later. A precise loop always does so: a look costs a fortieth of a connect.
const LATE_NS: u64 = 10_000_000;
/// Connections that may be set up at once on loopback, in all loops together: what the usual
/// accept queue takes (`net.core.somaxconn`, listen(2)). A storm of more would be dropped there, or
/// take from the target the CPU that it needs to answer those before.
const CONNECTING_LOCAL_MAX: u64 = 4_096;
/// Bytes received at a time.
const RECEIVE_BYTES: usize = 256 << 10;
/// Receives of one connection before the others, and what is due, get their turn: a peer may send
/// faster than its bytes can be decoded.
const RECEIVES_MAX: usize = 4;

/// Runs one slice of `plan` on this thread until it is over. The thread leaves its process's file
/// table first: it must not use files that were opened elsewhere afterwards. It begins when the
/// barrier opens, and returns at once if the start is given up.
pub fn run_loop(
    plan: &Plan,
    setup: &LoopSetup,
    rows: &SyncSender<Vec<Measurement>>,
    news: &dyn Fn(LoopNews),
) -> Result<(), LoopError> {
    let participant = setup.barrier.join();
    if let Some(namespace) = &setup.netns {
        namespace.enter()?;
    }
    thread::leave_shared_table()
        .map_err(|source| LoopError::System { what: "leave the shared file table", source })?;
    cpu::wake_on_time();
    if let Some(core) = setup.core {
        thread::move_to(core);
    }
    let mut shard = Shard::new(plan, &setup.shard)?;
    if let Some(request) = &setup.trace {
        shard.trace(request);
    }
    let local = setup.addresses.all_first().all(|address| address.ip().is_loopback());
    if local && plan.options.connecting_max.is_none() {
        shard.hold_starts_above(CONNECTING_LOCAL_MAX, setup.shard.share);
    }
    if plan.proxies.iter().any(|proxy| proxy.kind == ProxyKind::Socks5) {
        let mut addresses = Addresses::new(&setup.addresses);
        shard.resolve_with(Box::new(move |endpoint, choice| addresses.pick(endpoint, choice)));
    }
    let mut event_loop = EventLoop {
        shard,
        sockets: Sockets::new(setup, unix::paths(plan))?,
        zero_ns: 0,
        cpu: CpuMeter::new(),
        idle: IdleTime::default(),
        waiting_since_ns: None,
        lateness: Lateness::default(),
        woken_ns: 0,
        connects_left: DUE_MAX,
        number: setup.shard.share.index as u16,
        rows,
        news,
    };
    let Some(zero) = participant.wait() else {
        return Ok(());
    };
    event_loop.begin(zero);
    event_loop.run(setup);
    event_loop.finish();
    Ok(())
}

/// The clock of a run.
struct RunClock {
    /// The run's zero on the monotonic clock.
    zero_ns: u64,
}

impl Clock for RunClock {
    fn now_ns(&mut self) -> u64 {
        monotonic_ns().saturating_sub(self.zero_ns)
    }
}

struct EventLoop<'a> {
    shard: Shard<'a>,
    sockets: Sockets,
    /// The run's zero on the monotonic clock.
    zero_ns: u64,
    cpu: CpuMeter,
    idle: IdleTime,
    /// Since when the loop has had nothing to do, until the clock is next looked at.
    waiting_since_ns: Option<u64>,
    /// How long news may have been there before they were in hand.
    lateness: Lateness,
    /// When the last news were in hand.
    woken_ns: u64,
    /// New connections until the next look at the sockets.
    connects_left: usize,
    number: u16,
    rows: &'a SyncSender<Vec<Measurement>>,
    news: &'a dyn Fn(LoopNews),
}

impl EventLoop<'_> {
    fn now_ns(&self) -> u64 {
        monotonic_ns().saturating_sub(self.zero_ns)
    }

    /// Waits until the run's zero has come.
    fn begin(&mut self, zero: Zero) {
        self.zero_ns = zero.monotonic_ns;
        self.shard.set_started(zero.unix_ns);
        self.shard.time_work_with(Box::new(RunClock { zero_ns: self.zero_ns }));
        cpu::sleep_until(zero.monotonic_ns);
    }

    fn run(&mut self, setup: &LoopSetup) {
        let mut buffer = vec![0; RECEIVE_BYTES];
        let mut events = Vec::with_capacity(EVENTS_MAX);
        let mut stopped = 0;
        let mut paused = false;
        let mut adopted = 0;
        while !self.shard.is_over() {
            let now_ns = self.look_at_clock();
            let level = setup.stop.level();
            if level > stopped {
                stopped = level;
                self.shard.close_arrivals();
                if setup.stop.is_draining() {
                    self.shard.stop(now_ns);
                }
                if setup.stop.is_cut_short() {
                    self.shard.cut_short(now_ns, CUT_SHORT_NS);
                }
            }
            if level >= stop::ABORTED {
                return;
            }
            if setup.stop.is_paused() != paused {
                paused = !paused;
                match paused {
                    true => self.shard.pause_arrivals(),
                    false => self.shard.resume_arrivals(now_ns),
                }
            }
            setup.stop.deals.apply(&mut self.shard, self.number, &mut adopted);
            let late_ns = now_ns.saturating_sub(self.shard.next_ns());
            self.connects_left = match setup.waiting {
                WaitMode::Wide if late_ns <= LATE_NS => DUE_MAX,
                WaitMode::Wide | WaitMode::Precise => 1,
            };
            let mut due = self.shard.next_ns() <= now_ns;
            for _ in 0..DUE_MAX {
                due = due && self.advance();
            }
            self.hand_over(false);
            self.wait(setup.waiting, now_ns, &mut events);
            let taken = events.len();
            for event in events.drain(..) {
                let id = ConnId::from_bits(event.data.u64());
                self.sockets.note(id, event.flags);
            }
            let queued = self.sockets.ready_count();
            self.lateness.took(taken >= EVENTS_MAX, taken, queued, self.sockets.count());
            // Once each: those that come back have their next turn in the next round.
            while self.lateness.has_turns() {
                if let Some((id, flags)) = self.sockets.next_ready() {
                    self.handle(id, flags, &mut buffer);
                }
                self.lateness.turn(self.sockets.ready_count());
                // A due time that came while this was handled must not wait for the rest.
                if self.shard.next_ns() <= self.woken_ns {
                    self.advance();
                }
                if self.woken_ns > now_ns + ROUND_MAX_NS {
                    break;
                }
            }
        }
    }

    /// The time. If the loop was waiting, the wait is over.
    fn look_at_clock(&mut self) -> u64 {
        let now_ns = self.now_ns();
        if let Some(since_ns) = self.waiting_since_ns.take() {
            self.idle.add(since_ns, now_ns);
        }
        self.lateness.look(now_ns);
        now_ns
    }

    /// Does one thing that is due; false if nothing is, or if it might need one connection too many.
    fn advance(&mut self) -> bool {
        if self.connects_left == 0 {
            return false;
        }
        let now_ns = self.look_at_clock();
        self.shard.set_seen(self.lateness.seen_ns());
        let did = self.shard.advance(now_ns);
        self.carry_out();
        did
    }

    /// Waits for events until the shard's next due time at most, and not at all while there are
    /// news already. It was `now_ns` a moment ago.
    fn wait(&mut self, waiting: WaitMode, now_ns: u64, events: &mut Vec<epoll::Event>) {
        let mut left_ns = match self.sockets.ready_count() {
            0 => self.shard.next_ns().saturating_sub(now_ns),
            _ => 0,
        };
        left_ns = left_ns.min(SLEEP_MAX_NS);
        let is_busy = now_ns.saturating_sub(self.woken_ns) < GATHER_NS;
        if waiting == WaitMode::Wide && is_busy && left_ns > 0 {
            let gather_ns = GATHER_NS.min(left_ns);
            self.waiting_since_ns = Some(self.now_ns());
            cpu::sleep(gather_ns);
            left_ns -= gather_ns;
        }
        let sleep_ns = match waiting {
            WaitMode::Precise => left_ns.saturating_sub(Dilation::of_process().shrink_ns(SPIN_NS)),
            // Rounded up, so that the loop does not wake a moment early and sleep again.
            WaitMode::Wide => left_ns.div_ceil(1_000_000) * 1_000_000,
        };
        let timeout = cpu::timespec(sleep_ns);
        // A loop that is about to sleep has time to look at the clock.
        let began_ns = if sleep_ns > 0 { self.now_ns() } else { now_ns };
        self.lateness.wait(began_ns, sleep_ns);
        events.reserve(EVENTS_MAX);
        let spare = rustix::buffer::spare_capacity(events);
        if epoll::wait(&self.sockets.epoll, spare, Some(&timeout)).is_err() {
            // The wait was interrupted (a process that was stopped continues, signal(7)), which
            // reported nothing of the sockets.
            let spare = rustix::buffer::spare_capacity(events);
            let _ = epoll::wait(&self.sockets.epoll, spare, Some(&cpu::timespec(0)));
        }
        // The clock is next looked at when the first event's bytes are in hand: one reading serves
        // both. With something due already there was nothing to wait for.
        if left_ns > 0 && (sleep_ns > 0 || events.is_empty()) {
            // What was done since the round began is no part of the wait, where the clock says so.
            self.waiting_since_ns.get_or_insert(began_ns);
        }
    }

    /// Reports to the shard what happened on a connection. What the shard wants done is done before
    /// the next news. A connection with a steady stream of news goes to the back of the queue.
    fn handle(&mut self, id: ConnId, flags: EventFlags, buffer: &mut [u8]) {
        for handled in 1.. {
            let Some(news) = self.sockets.next_news(id, flags, buffer) else {
                return;
            };
            let now_ns = self.look_at_clock();
            self.woken_ns = now_ns;
            self.shard.set_read_late(self.lateness.at(now_ns));
            let more = match news {
                SocketEvent::Connected => {
                    self.shard.handle_connected(now_ns, id);
                    true
                }
                SocketEvent::ConnectFailed { outcome, detail } => {
                    self.shard.handle_connect_failed(now_ns, id, outcome, &detail);
                    false
                }
                SocketEvent::Received { len, more } => {
                    self.shard.handle_received(now_ns, id, &buffer[..len]);
                    more
                }
                SocketEvent::Closed(failure) => {
                    let failure = failure.as_ref().map(|(outcome, text)| (*outcome, text.as_str()));
                    self.shard.handle_closed(now_ns, id, failure);
                    false
                }
            };
            self.carry_out();
            if !more {
                return;
            }
            if handled >= RECEIVES_MAX || self.shard.next_ns() <= now_ns {
                return self.sockets.note(id, flags);
            }
        }
    }

    /// Does what the shard wants done, and what it wants done because of that.
    fn carry_out(&mut self) {
        while !self.shard.commands().list.is_empty() {
            let commands = std::mem::take(self.shard.commands());
            for &command in &commands.list {
                match command {
                    Command::Send { conn, start, end } => {
                        if let Some((outcome, detail)) =
                            self.sockets.send(conn, &commands.bytes[start..end])
                        {
                            let now_ns = self.now_ns();
                            self.shard.handle_closed(now_ns, conn, Some((outcome, &detail)));
                        }
                    }
                    Command::Connect { conn, endpoint, choice } => {
                        self.connects_left = self.connects_left.saturating_sub(1);
                        if let Err((outcome, detail)) = self.sockets.connect(conn, endpoint, choice)
                        {
                            let now_ns = self.now_ns();
                            self.shard.handle_connect_failed(now_ns, conn, outcome, &detail);
                        }
                    }
                    Command::Close { conn } => self.sockets.close(conn),
                }
            }
            self.give_back(commands);
        }
    }

    /// Returns the emptied buffers to the shard, unless it has begun new ones.
    fn give_back(&mut self, mut commands: Commands) {
        commands.clear();
        let fresh = self.shard.commands();
        if fresh.list.is_empty() && fresh.bytes.is_empty() {
            *fresh = commands;
        }
    }

    /// Rows go on in batches, and with the end of each second, so that none is kept back for longer.
    fn hand_over(&mut self, all: bool) {
        let deltas = self.shard.take_deltas();
        let has_closed = !deltas.is_empty();
        if has_closed {
            self.hand_over_deltas(deltas, all);
        }
        let Some(rows) = self.shard.take_rows(all || has_closed) else {
            return;
        };
        if all {
            let _ = self.rows.send(rows);
        } else if let Err(TrySendError::Full(rows)) = self.rows.try_send(rows) {
            let rate = self.shard.thin_rows(rows);
            let at_ns = self.now_ns();
            (self.news)(LoopNews::Thinned { loop_id: self.number, at_ns, rate });
        }
    }

    /// Adds what the shard cannot know of its intervals, and reports them.
    fn hand_over_deltas(&mut self, deltas: Vec<Delta>, all: bool) {
        let closed = deltas.iter().map(|delta| Span {
            length_ns: delta.end_ns.saturating_sub(delta.start_ns),
            idle_ns: self.idle.take_until(delta.end_ns),
        });
        let closed: Vec<Span> = closed.collect();
        let open_since_ns = deltas.last().map_or(0, |delta| delta.end_ns);
        let open = Span {
            length_ns: self.now_ns().saturating_sub(open_since_ns),
            idle_ns: self.idle.left_ns(),
        };
        let figures = self.cpu.read(&closed, open);
        for (mut delta, cpu) in deltas.into_iter().zip(figures) {
            delta.cpu = cpu;
            let sample_max = if all { usize::MAX } else { traffic::SAMPLE_MAX };
            delta.traffic = self.sockets.traffic(sample_max);
            (self.news)(LoopNews::Delta(Box::new(delta)));
        }
    }

    fn finish(&mut self) {
        self.shard.finish(self.now_ns());
        self.hand_over(true);
        (self.news)(LoopNews::Ended { loop_id: self.number });
    }
}
