//! One worker, from its start to its end: a process that we started, or one of an agent.

use std::io::Write;
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use driver::real::Zero;
use machine::clock::monotonic_ns;
use plan::Plan;
use record::schema::WorkerInfo;

use super::check::Check;
use super::clock::{Course, Drift, Exchange, Offset};
use super::connection::{Connection, Link, NotReady};
use super::fleet::{FleetError, contact_ns_max};
use super::protocol::{Introduction, Loops, Slice, ToWorker, Usage};
use super::report::ReportSenders;
use crate::children;

/// A worker that sends nothing for this long is lost: ten seconds beyond the second in which it should
/// have reported.
const SILENCE_NS_MAX: u64 = 11_000_000_000;
/// A worker of a fleet that sends nothing for this long is shown to the user: one and a half seconds beyond the second.
const SILENCE_NS_NOTICED: u64 = 2_500_000_000;
/// The time in which a worker has to end by itself.
const END_MAX: Duration = Duration::from_secs(5);
/// The longest wait for the end of a worker whose connection broke, to learn its exit status.
const EXIT_MAX: Duration = Duration::from_millis(200);

/// Why the worker processes of a run do not start.
#[derive(Debug, thiserror::Error)]
pub enum WorkersError {
    #[error("cannot listen for workers")]
    Listen(#[source] std::io::Error),
    #[error("cannot start worker {number} of {of}")]
    Start {
        number: usize,
        of: usize,
        #[source]
        source: std::io::Error,
    },
    #[error("worker {number} of {of} did not get ready: {why}")]
    NotReady { number: usize, of: usize, why: String },
    #[error("agent {agent} did not get ready: {why}")]
    Agent { agent: String, why: String },
    #[error(
        "the clock of agent {agent} is known to {} only, and the run requires {}; a nearer controller or a less busy \
         network helps, or allow more with --clock-bound",
        units::duration(*.bound_ns as f64),
        units::duration(*.max_ns as f64)
    )]
    Clock { agent: String, bound_ns: u64, max_ns: u64 },
    #[error(transparent)]
    Fleet(#[from] FleetError),
}

/// A worker that was lost during the run.
#[derive(Debug)]
pub struct LostWorker {
    /// The number of the worker, from 0.
    pub worker: usize,
    /// The process id, on its own machine.
    pub pid: u32,
    /// The loops that are lost with it.
    pub loops: Loops,
    /// The reason, for people.
    pub why: String,
    /// The time on our monotonic clock from which it starts nobody; 0: it runs no more.
    pub silent_ns: u64,
}

/// A worker of a run. It ends when this is dropped.
#[derive(Debug)]
pub(super) struct WorkerProcess {
    /// `None`: an agent has started it.
    child: Option<Child>,
    /// The agent's name.
    agent: Option<String>,
    /// It is lost if it is silent for longer.
    silence_max_ns: u64,
    /// True if its silence was reported.
    silent: bool,
    state: State,
    /// The loops that it runs.
    loops: Loops,
    /// The contents of its first message.
    introduction: Introduction,
    /// The version of Throng that it is.
    throng: String,
    link: Option<Arc<Link>>,
    offset: Offset,
    /// The time at which the offset was measured.
    offset_at_ns: u64,
    /// The offset while the run goes on.
    course: Course,
    usage: Usage,
    /// The reason for which the controller closed the connection, if it did.
    closed_because: Option<String>,
}

#[derive(Debug)]
enum State {
    /// The process runs and has not connected yet.
    Started,
    /// It has its slice and gets its loops ready, or waits for the start.
    Preparing(Box<Connection>, Check),
    /// The loops run; a thread reads its messages.
    Running,
    /// It is done, or lost.
    Ended,
}

impl WorkerProcess {
    /// Starts `program worker`, which connects to `address` with `token`. The token goes through
    /// standard input, where no other process can read it.
    pub(super) fn spawn(
        program: &Path,
        address: SocketAddr,
        token: &str,
        loops: Loops,
    ) -> std::io::Result<WorkerProcess> {
        let mut command = Command::new(program);
        command.args(["worker", "--connect", &address.to_string()]);
        // A process group of its own: Ctrl-C ends the run in good order.
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::null());
        let mut child = command.spawn()?;
        let stdin = child.stdin.take();
        let mut worker = WorkerProcess::new(loops);
        worker.child = Some(child);
        if let Some(mut stdin) = stdin {
            // If the process has ended already, its exit status says more than this error.
            let _ = writeln!(stdin, "{token}");
        }
        Ok(worker)
    }

    /// The worker of an agent, which has connected and runs these loops of `plan`.
    pub(super) fn of_agent(
        agent: &str,
        silence_max_ns: u64,
        connection: Box<Connection>,
        plan: &Plan,
        loops: Loops,
    ) -> WorkerProcess {
        let check = Check::new(plan, loops);
        let mut worker = WorkerProcess::new(loops);
        worker.agent = Some(agent.to_owned());
        worker.silence_max_ns = silence_max_ns;
        worker.connect(connection, check);
        worker
    }

    fn new(loops: Loops) -> WorkerProcess {
        WorkerProcess {
            child: None,
            agent: None,
            silence_max_ns: SILENCE_NS_MAX,
            silent: false,
            state: State::Started,
            loops,
            introduction: Introduction::default(),
            throng: String::new(),
            link: None,
            offset: Offset::default(),
            offset_at_ns: monotonic_ns(),
            course: Course::default(),
            usage: Usage::default(),
            closed_because: None,
        }
    }

    pub(super) fn offset(&self) -> Offset {
        self.offset
    }

    pub(super) fn is_connected(&self) -> bool {
        !matches!(self.state, State::Started)
    }

    /// The exit status, if the process ends within `timeout`.
    pub(super) fn wait(&mut self, timeout: Duration) -> Option<String> {
        let child = self.child.as_mut()?;
        children::wait_for_end(child, timeout).map(|status| status.to_string())
    }

    pub(super) fn kill(&mut self) {
        if let Some(child) = &mut self.child {
            children::end(child, Duration::ZERO);
        }
    }

    /// The worker has connected; it gets its slice with [`WorkerProcess::send_slice`].
    pub(super) fn connect(&mut self, connection: Box<Connection>, check: Check) {
        self.introduction = connection.introduction.clone();
        self.throng = connection.throng.clone();
        self.link = Some(Arc::clone(&connection.link));
        self.state = State::Preparing(connection, check);
    }

    pub(super) fn loops(&self) -> Loops {
        self.loops
    }

    pub(super) fn send_slice(&mut self, slice: Slice) -> Result<(), NotReady> {
        match &self.link {
            Some(link) => Ok(link.send(&ToWorker::Slice(Box::new(slice)))?),
            None => Ok(()),
        }
    }

    /// Waits until its loops are ready, and measures the offset of its clock.
    pub(super) fn await_ready(&mut self) -> Result<(), NotReady> {
        if let State::Preparing(connection, _) = &mut self.state {
            connection.await_ready()?;
            self.offset = connection.compare_clocks()?;
            self.offset_at_ns = monotonic_ns();
        }
        Ok(())
    }

    /// Lets its loops begin at `zero`, which is ignored if they have begun, and reads its messages, as those of worker
    /// number `worker`, on a thread of its own. That thread reports a worker that cannot be started as lost.
    pub(super) fn start(&mut self, worker: usize, zero: Zero, out: &ReportSenders) {
        self.excuse_silence();
        self.send(&ToWorker::Start {
            clock_ns: self.offset.theirs(zero.monotonic_ns),
            unix_ns: zero.unix_ns,
        });
        self.read(worker, out);
    }

    fn read(&mut self, worker: usize, out: &ReportSenders) {
        if let State::Preparing(connection, check) =
            std::mem::replace(&mut self.state, State::Running)
        {
            let out = out.clone();
            std::thread::spawn(move || connection.read_to_end(worker, check, &out));
        }
    }

    /// The offset that another controller has measured.
    pub(super) fn set_offset(&mut self, offset: Offset) {
        self.offset = offset;
    }

    pub(super) fn is_running(&self) -> bool {
        matches!(self.state, State::Running)
    }

    /// Sends a message. If the connection is broken, the reading thread reports the loss.
    pub(super) fn send(&self, message: &ToWorker) {
        if let Some(link) = &self.link {
            let _ = link.send(message);
        }
    }

    /// Closes the connection to a worker that has been silent for too long at `now_ns`. Returns what the user is to learn of
    /// an agent.
    pub(super) fn check_silence(&mut self, now_ns: u64) -> Option<String> {
        let link = self.link.as_ref().filter(|_| self.closed_because.is_none())?;
        let silent_ns = now_ns.saturating_sub(link.received_ns());
        let seconds = silent_ns / 1_000_000_000;
        if silent_ns > self.silence_max_ns {
            self.closed_because = Some(format!("it was silent for {seconds} s"));
            link.close();
        }
        let agent = self.agent.as_ref()?;
        let is_silent = silent_ns > SILENCE_NS_NOTICED;
        if is_silent == std::mem::replace(&mut self.silent, is_silent) {
            return None;
        }
        Some(match is_silent {
            true => format!(
                "agent {agent} has been silent for {}; it is lost after {}",
                units::duration(silent_ns as f64),
                units::duration(self.silence_max_ns as f64)
            ),
            false => format!("agent {agent} reports again"),
        })
    }

    /// True if our side of its connection is cut off.
    pub(super) fn is_cut_off(&self) -> bool {
        self.link.as_ref().is_some_and(|link| link.is_cut_off())
    }

    /// It could not be heard: its silence begins now.
    pub(super) fn excuse_silence(&self) {
        if let Some(link) = &self.link {
            link.note_received();
        }
    }

    /// Our side of its connection was cut off for too long.
    pub(super) fn give_up(&mut self, why: &str) {
        self.closed_because.get_or_insert_with(|| why.to_owned());
        self.close();
    }

    /// All intervals until `until_ns` are in the record.
    pub(super) fn mark_stored(&self, until_ns: u64) {
        if let Some(link) = &self.link {
            link.mark_stored(until_ns);
        }
    }

    /// Worker number `worker` is lost; its process is ended if it still runs.
    pub(super) fn mark_lost(&mut self, worker: usize, why: String) -> LostWorker {
        let link = self.link.as_ref().filter(|_| self.agent.is_some());
        let silent_ns = match (&self.closed_because, link) {
            (None, Some(link)) if link.is_peer_gone() => 0,
            (_, link) => link.map_or(0, |link| {
                let max_ns = contact_ns_max(self.silence_max_ns);
                link.received_ns().saturating_add(max_ns)
            }),
        };
        let why = match (self.closed_because.take(), self.wait(EXIT_MAX)) {
            (Some(closed_because), _) => closed_because,
            (None, Some(status)) => format!("its process ended, {status}"),
            (None, None) => why,
        };
        self.mark_done();
        self.kill();
        LostWorker {
            worker,
            pid: self.pid(),
            loops: self.loops,
            why: match &self.agent {
                Some(agent) => format!("agent {agent}: {why}"),
                None => why,
            },
            silent_ns,
        }
    }

    fn pid(&self) -> u32 {
        let child = self.child.as_ref();
        child.map_or(self.introduction.pid, Child::id)
    }

    /// The worker is done. Its process ends once the connection is closed.
    pub(super) fn mark_done(&mut self) {
        self.state = State::Ended;
        self.close();
    }

    pub(super) fn close(&self) {
        if let Some(link) = &self.link {
            link.close();
        }
    }

    /// Compares clocks, if it has a clock of its own.
    pub(super) fn ping(&self) {
        if let Some(link) = self.link.as_ref().filter(|_| self.agent.is_some()) {
            link.ping();
        }
    }

    pub(super) fn note_clock(&mut self, exchange: Exchange) {
        self.course.note(exchange);
    }

    /// The drift of its clock against ours.
    pub(super) fn drift(&self) -> Option<Drift> {
        self.course.drift(self.offset_at_ns, self.offset)
    }

    pub(super) fn note_usage(&mut self, usage: Usage) {
        // A figure that went back would give a second with negative CPU time.
        self.usage.cpu_ns = self.usage.cpu_ns.max(usage.cpu_ns);
        self.usage.resident_bytes = usage.resident_bytes;
    }

    /// CPU time since the process began, and its memory while it runs.
    pub(super) fn usage(&self) -> Usage {
        Usage {
            cpu_ns: self.usage.cpu_ns,
            resident_bytes: match self.state {
                State::Ended => 0,
                _ => self.usage.resident_bytes,
            },
        }
    }

    pub(super) fn info(&self) -> WorkerInfo {
        WorkerInfo {
            pid: self.pid(),
            agent: self.agent.clone(),
            throng: self.throng.clone(),
            loops_first: self.loops.first,
            loops: self.loops.count,
            cores: self.introduction.cores,
            files_per_loop: self.introduction.files_per_loop,
            clock_offset_ns: self.offset.offset_ns,
            clock_bound_ns: self.offset.bound_ns,
            clock_last: None,
            lost_at_ns: None,
            rows: None,
        }
    }
}

impl Drop for WorkerProcess {
    fn drop(&mut self) {
        match &mut self.child {
            Some(child) => children::end(child, END_MAX),
            None => self.close(),
        }
    }
}
