//! An instance of a service: a process on a host that is started, watched, hurt by faults, and ended.

use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::wan::Namespace;
use rustix::process::{Pid, Signal, kill_process};

use crate::clock::{now, stretch};
use crate::events::Events;
use crate::file::Ready;
use crate::health::Health;
use crate::message::InstanceState;
use crate::request::get;

/// How often a process is looked at.
const POLL: Duration = Duration::from_millis(50);
// The others are in the lab's time: see [`stretch`].
/// How often an instance that is ready is tried again.
const HEALTH: Duration = Duration::from_secs(1);
/// How long an attempt may take.
const ATTEMPT_MAX: Duration = Duration::from_secs(1);
/// How long an instance may take to get ready, with all that prepares it.
const READY_MAX: Duration = Duration::from_secs(90);
/// How long an instance may take to end in good order, if nothing else is said.
pub(crate) const END_MAX: Duration = Duration::from_secs(10);
/// Between the end of a process and its next start.
const RESTART_PAUSE: Duration = Duration::from_millis(200);
/// How much of an instance's log an error shows, in bytes.
const LOG_BYTES_SHOWN: usize = 1_000;

/// How an instance is started.
#[derive(Debug, Clone)]
pub(crate) struct Launch {
    pub(crate) name: String,
    /// Commands that come before the first start.
    pub(crate) prepare: Vec<Vec<String>>,
    pub(crate) command: Vec<String>,
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) folder: PathBuf,
    pub(crate) log: PathBuf,
    /// Files of the host's control group.
    pub(crate) joins: Vec<PathBuf>,
    pub(crate) address: Ipv4Addr,
    pub(crate) ready: Ready,
    pub(crate) restarts: bool,
    pub(crate) stop_signal: i32,
    /// How long it may take to end in good order.
    pub(crate) end_max: Duration,
}

/// An order to an instance.
#[derive(Debug)]
enum Order {
    /// Kill it; it stays dead until it is revived.
    Kill,
    Revive,
    Freeze,
    Thaw,
    /// End it in good order and start it again.
    Restart,
    /// End it in good order.
    End,
}

/// State of an instance as others see it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct InstanceView {
    pub(crate) state: InstanceState,
    pub(crate) pid: Option<u32>,
    pub(crate) restarts: u32,
}

/// The state of an instance as it changes.
#[derive(Debug, Clone)]
pub(crate) struct SharedView(Arc<Mutex<InstanceView>>);

impl SharedView {
    pub(crate) fn get(&self) -> InstanceView {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A supervised instance. Its process is ended when this is dropped.
#[derive(Debug)]
pub(crate) struct Instance {
    pub(crate) name: String,
    /// Whether it is started again when its process ends.
    restarts: bool,
    orders: Sender<Order>,
    seen: Arc<Mutex<InstanceView>>,
    thread: Option<JoinHandle<()>>,
}

/// Why an instance is not there.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InstanceError {
    /// A command cannot be started.
    #[error("{instance}: cannot start `{program}`")]
    Start {
        /// The instance.
        instance: String,
        /// The command's first word.
        program: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The process ended before it was ready, or a command that prepares it failed.
    #[error("{instance}: `{program}` ended with {status} before it was ready{log}")]
    Ended {
        /// The instance.
        instance: String,
        /// The command's first word.
        program: String,
        /// The command's status.
        status: ExitStatus,
        /// The end of what it printed.
        log: String,
    },
    /// It takes too long.
    #[error("{instance} was not ready after {} s{log}", READY_MAX.as_secs())]
    NotReady {
        /// The instance.
        instance: String,
        /// The end of what it printed.
        log: String,
    },
}

impl Instance {
    /// Starts an instance and waits until it is ready.
    pub(crate) fn start(
        launch: Launch,
        namespace: Arc<Namespace>,
        events: Arc<Events>,
    ) -> Result<Instance, InstanceError> {
        let seen = Arc::new(Mutex::new(InstanceView {
            state: InstanceState::Starting,
            pid: None,
            restarts: 0,
        }));
        let name = launch.name.clone();
        let restarts = launch.restarts;
        let mut keeper = Keeper {
            launch,
            namespace,
            events,
            seen: Arc::clone(&seen),
            child: None,
            held: false,
            health: Health::new(stretch(HEALTH), now()),
        };
        keeper.prepare()?;
        keeper.spawn()?;
        keeper.await_ready()?;
        let (orders, received) = channel();
        let thread = std::thread::spawn(move || keeper.keep(&received));
        Ok(Instance { name, restarts, orders, seen, thread: Some(thread) })
    }

    pub(crate) fn seen(&self) -> SharedView {
        SharedView(Arc::clone(&self.seen))
    }

    pub(crate) fn kill(&self) {
        self.order(Order::Kill);
    }

    pub(crate) fn revive(&self) {
        self.order(Order::Revive);
    }

    pub(crate) fn freeze(&self) {
        self.order(Order::Freeze);
    }

    pub(crate) fn thaw(&self) {
        self.order(Order::Thaw);
    }

    pub(crate) fn restart(&self) {
        self.order(Order::Restart);
    }

    /// Sends an order. The thread is gone only if it has panicked; then there is nothing to order.
    fn order(&self, order: Order) {
        let _ = self.orders.send(order);
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        self.order(Order::End);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The thread that watches an instance.
struct Keeper {
    launch: Launch,
    namespace: Arc<Namespace>,
    events: Arc<Events>,
    seen: Arc<Mutex<InstanceView>>,
    child: Option<Child>,
    /// A fault keeps it from running.
    held: bool,
    health: Health,
}

impl Keeper {
    fn prepare(&self) -> Result<(), InstanceError> {
        for command in &self.launch.prepare {
            let mut child = self.start(command)?;
            let limit = now() + stretch(READY_MAX);
            loop {
                match child.try_wait() {
                    Ok(Some(status)) if status.success() => break,
                    Ok(Some(status)) => return Err(self.ended(command, status)),
                    Ok(None) if now() < limit => crate::clock::rest(POLL / 5),
                    _ => {
                        let _ = child.kill();
                        let _ = child.wait();
                        return Err(self.not_ready());
                    }
                }
            }
        }
        Ok(())
    }

    /// A command as the instance's: on its host, in its control group and folder, printing to its log.
    fn start(&self, words: &[String]) -> Result<Child, InstanceError> {
        let launch = &self.launch;
        let program = words.first().cloned().unwrap_or_default();
        let error = |source| InstanceError::Start {
            instance: launch.name.clone(),
            program: program.clone(),
            source,
        };
        let log = File::options().create(true).append(true).open(&launch.log);
        let log = log.map_err(error)?;
        let mut command = in_groups(&launch.joins, words);
        command
            .envs(launch.environment.iter().map(|(name, value)| (name, value)))
            .current_dir(&launch.folder)
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(log.try_clone().map_err(error)?)
            .stderr(log);
        self.namespace.spawn(&mut command).map_err(error)
    }

    fn spawn(&mut self) -> Result<(), InstanceError> {
        let child = self.start(&self.launch.command)?;
        self.see(|seen| {
            seen.state = InstanceState::Starting;
            seen.pid = Some(child.id());
        });
        self.child = Some(child);
        self.health.forget(now());
        Ok(())
    }

    fn await_ready(&mut self) -> Result<(), InstanceError> {
        let limit = now() + stretch(READY_MAX);
        while !self.is_well() {
            if let Some(status) = self.child.as_mut().and_then(|child| child.try_wait().ok()?) {
                return Err(self.ended(&self.launch.command, status));
            }
            if now() > limit {
                self.signal(Signal::KILL);
                return Err(self.not_ready());
            }
            crate::clock::rest(POLL / 2);
        }
        self.see(|seen| seen.state = InstanceState::Ready);
        Ok(())
    }

    /// Watches it until it is to end.
    fn keep(mut self, orders: &Receiver<Order>) {
        self.health.forget(now());
        loop {
            match orders.recv_timeout(POLL) {
                Ok(Order::End) | Err(RecvTimeoutError::Disconnected) => return self.end(),
                Ok(order) => self.obey(&order),
                Err(RecvTimeoutError::Timeout) => {}
            }
            self.look();
            self.check_health();
        }
    }

    fn obey(&mut self, order: &Order) {
        match order {
            Order::Kill => {
                self.held = true;
                self.signal(Signal::KILL);
                self.reap();
                self.see(|seen| seen.state = InstanceState::Killed);
            }
            Order::Revive => {
                self.held = false;
                self.start_again();
            }
            Order::Freeze => self.signal(Signal::STOP),
            Order::Thaw => self.signal(Signal::CONT),
            Order::Restart => {
                self.end();
                self.start_again();
            }
            Order::End => {}
        }
    }

    /// Notices the end of its process.
    fn look(&mut self) {
        let Some(status) = self.child.as_mut().and_then(|child| child.try_wait().ok()?) else {
            return;
        };
        self.child = None;
        self.see(|seen| {
            seen.state = InstanceState::Ended;
            seen.pid = None;
        });
        self.events.add(format!("{} ended: {status}", self.launch.name));
        if self.launch.restarts && !self.held {
            crate::clock::rest(stretch(RESTART_PAUSE));
            self.start_again();
        }
    }

    fn start_again(&mut self) {
        if self.child.is_some() {
            return;
        }
        match self.spawn() {
            Ok(()) => {
                self.see(|seen| seen.restarts += 1);
                self.events.add(format!("{} was started again", self.launch.name));
            }
            Err(error) => self.events.add(error.to_string()),
        }
    }

    fn check_health(&mut self) {
        if self.child.is_none() {
            return self.health.forget(now());
        }
        let check = self.check();
        let Some(is_well) = self.health.look(now(), check) else {
            return;
        };
        let was = self.seen.lock().unwrap_or_else(PoisonError::into_inner).state;
        let state = match (is_well, was) {
            (true, _) => InstanceState::Ready,
            (false, InstanceState::Starting) => InstanceState::Starting,
            (false, _) => InstanceState::Unwell,
        };
        if state == was {
            return;
        }
        self.see(|seen| seen.state = state);
        let text = match state {
            InstanceState::Ready => "is ready again",
            _ => "does not answer",
        };
        self.events.add(format!("{} {text}", self.launch.name));
    }

    fn is_well(&self) -> bool {
        self.check()()
    }

    /// A check whether the instance is well, which may run on any thread.
    fn check(&self) -> impl FnOnce() -> bool + Send + 'static + use<> {
        let namespace = Arc::clone(&self.namespace);
        let address = self.launch.address;
        let ready = self.launch.ready.clone();
        move || {
            let is_ready = namespace.run(|| is_ready(address, &ready));
            is_ready.unwrap_or(false)
        }
    }

    /// Sends a signal to the process and to all processes that it started.
    fn signal(&self, signal: Signal) {
        let Some(child) = &self.child else { return };
        for pid in machine::processes::family(child.id()) {
            send(pid, signal);
        }
    }

    /// Ends its process in good order, or after a while at once, with all that it started.
    fn end(&mut self) {
        let Some(child) = &self.child else { return };
        let family = machine::processes::family(child.id());
        // What is stopped would not notice.
        family.iter().for_each(|pid| send(*pid, Signal::CONT));
        if let Some(signal) = Signal::from_named_raw(self.launch.stop_signal) {
            send(child.id(), signal);
        }
        let limit = now() + stretch(self.launch.end_max);
        while now() < limit && !self.has_ended() {
            crate::clock::rest(POLL / 5);
        }
        family.iter().skip(1).for_each(|pid| send(*pid, Signal::KILL));
        self.signal(Signal::KILL);
        self.reap();
        self.see(|seen| seen.state = InstanceState::Ended);
    }

    fn has_ended(&mut self) -> bool {
        let child = self.child.as_mut();
        child.is_none_or(|child| !matches!(child.try_wait(), Ok(None)))
    }

    fn reap(&mut self) {
        if let Some(mut child) = self.child.take() {
            // An error means that it was waited for already.
            let _ = child.wait();
        }
        self.see(|seen| seen.pid = None);
    }

    fn see(&self, change: impl FnOnce(&mut InstanceView)) {
        change(&mut self.seen.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn ended(&self, command: &[String], status: ExitStatus) -> InstanceError {
        InstanceError::Ended {
            instance: self.launch.name.clone(),
            program: command.first().cloned().unwrap_or_default(),
            status,
            log: log_end(&self.launch.log),
        }
    }

    fn not_ready(&self) -> InstanceError {
        InstanceError::NotReady {
            instance: self.launch.name.clone(),
            log: log_end(&self.launch.log),
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
        self.reap();
    }
}

/// Whether its process has ended and nothing starts it again: it was killed by a fault, or has no restart rule.
pub(crate) fn died(instance: &Instance) -> bool {
    match instance.seen().get().state {
        InstanceState::Killed => true,
        InstanceState::Ended => !instance.restarts,
        InstanceState::Starting | InstanceState::Ready | InstanceState::Unwell => false,
    }
}

/// A command that first joins control groups.
pub(crate) fn in_groups(joins: &[PathBuf], words: &[String]) -> Command {
    const JOIN: &str =
        "while [ \"$1\" != -- ]; do echo $$ > \"$1\" || exit 126; shift; done; shift; exec \"$@\"";
    if joins.is_empty() {
        let mut command = Command::new(words.first().map_or("", String::as_str));
        command.args(words.iter().skip(1));
        return command;
    }
    let mut command = Command::new("/bin/sh");
    command.args(["-c", JOIN, "sh"]).args(joins).arg("--").args(words);
    command
}

/// Sends a signal to a process. A process that has ended does not get it.
pub(crate) fn send(pid: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        let _ = kill_process(pid, signal);
    }
}

/// Whether it answers, from its own host.
fn is_ready(address: Ipv4Addr, ready: &Ready) -> bool {
    let at = |port: u16| SocketAddr::from((address, port));
    let time_max = stretch(ATTEMPT_MAX);
    match ready {
        Ready::Started => true,
        Ready::Port(port) => TcpStream::connect_timeout(&at(*port), time_max).is_ok(),
        Ready::Path(port, path) => {
            let answer = get(at(*port), "HTTP/1.1", path, time_max);
            answer.is_ok_and(|answer| (200..400).contains(&answer.status))
        }
    }
}

/// The end of a log, for an error.
fn log_end(path: &Path) -> String {
    let bytes = std::fs::read(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(LOG_BYTES_SHOWN)..]);
    match text.trim() {
        "" => String::new(),
        text => format!(":\n{text}"),
    }
}
