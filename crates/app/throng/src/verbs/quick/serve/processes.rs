//! Several processes of one system behind one address.
//!
//! Each is this program again, with the same arguments; the kernel spreads connections over them. They
//! live while their standard input is open, so none outlives the one that started them.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use controller::LISTENING;
use server::{Port, Stop};

use crate::exit::{Exit, Failure};

/// Line that a process prints before its figures when it has succeeded.
pub(super) const ENDED: &str = "ended ";

/// One more than there may be, and the rule.
pub(super) const OVER: u16 = 257;
pub(super) const RULE: &str = "processes must be 1 to 256";

/// How long a process may be silent after the request to stop, before it is killed; by itself each stops
/// sooner.
const STOP_MAX: Duration = Duration::from_secs(60);

/// Pause before a process that ended by itself is started again.
const RESTART_AFTER: Duration = Duration::from_millis(500);

/// A process.
struct Process {
    child: Child,
    /// It lives while this is open.
    leash: Option<ChildStdin>,
    figures: Vec<u64>,
    succeeded: bool,
}

/// Reaction to a process that ends by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OnCrash {
    /// The others are stopped.
    Stop,
    /// It is started again, once all listened.
    Restart,
}

/// Event in the group of processes.
enum ProcessEvent {
    /// This process is to stop.
    Stop,
    /// The process of this number said something.
    Said(usize, String),
    /// It will say nothing any more.
    Silent(usize),
}

/// A name that no other processes have.
pub(super) fn group() -> String {
    // Each process draws its own keys of hashes.
    format!("{:016x}", RandomState::new().build_hasher().finish())
}

/// Runs `count` processes of this group until they are to stop, and adds up the figures that they end
/// with. `ready` is called once all of them listen.
pub(super) fn run(
    group: &str,
    count: usize,
    listen: SocketAddr,
    stop: Stop,
    on_crash: OnCrash,
    ready: impl FnOnce(SocketAddr),
) -> Result<Vec<u64>, Failure> {
    let unavailable = |what: String| Failure::new(Exit::Unavailable, std::io::Error::other(what));
    let port = Port::take(listen)
        .map_err(|error| unavailable(format!("cannot listen on {listen}: {error}")))?;
    let (sender, news) = channel();
    let mut processes = Vec::new();
    for number in 0..count {
        let process = start(group, number, port.address(), &sender)
            .map_err(|error| unavailable(format!("cannot start a process: {error}")))?;
        processes.push(process);
    }
    watch(stop, &sender).map_err(|error| Failure::new(Exit::Unavailable, error))?;
    let restart = |number: usize| {
        std::thread::park_timeout(RESTART_AFTER);
        start(group, number, port.address(), &sender)
    };
    let crashed = wait_for_end(&news, &mut processes, on_crash, restart, || {
        ready(port.address());
    });
    stop_all(&mut processes, &news, crashed);
    match sum_figures(&mut processes, crashed) {
        Ok(sums) => Ok(sums),
        Err(fault) => Err(unavailable(fault)),
    }
}

/// Calls `ready` once all processes listen; returns when this process is to stop, or with the number of a
/// process that ended by itself and is not restarted.
fn wait_for_end(
    news: &Receiver<ProcessEvent>,
    processes: &mut [Process],
    on_crash: OnCrash,
    restart: impl Fn(usize) -> std::io::Result<Process>,
    ready: impl FnOnce(),
) -> Option<usize> {
    let mut listening = 0;
    let mut ready = Some(ready);
    loop {
        match next(news) {
            ProcessEvent::Stop => return None,
            ProcessEvent::Silent(number) => {
                // One that never came up would not come up the next time either.
                if on_crash == OnCrash::Stop || ready.is_some() {
                    return Some(number);
                }
                let Ok(again) = restart(number) else {
                    return Some(number);
                };
                let mut before = std::mem::replace(&mut processes[number], again);
                report_crash(number, &mut before.child);
            }
            ProcessEvent::Said(_, line) if line.starts_with(LISTENING) => {
                listening += 1;
                if listening == processes.len()
                    && let Some(ready) = ready.take()
                {
                    ready();
                }
            }
            ProcessEvent::Said(..) => {}
        }
    }
}

fn report_crash(number: usize, child: &mut Child) {
    let how = match child.wait() {
        Ok(status) => status.to_string(),
        Err(error) => error.to_string(),
    };
    // Nobody may read it.
    let _ = writeln!(
        std::io::stderr(),
        "process {} ended unexpectedly ({how}) and was restarted",
        number + 1
    );
}

/// Stops all processes gracefully and reads their figures; kills those that take too long.
fn stop_all(processes: &mut [Process], news: &Receiver<ProcessEvent>, crashed: Option<usize>) {
    for process in &mut *processes {
        drop(process.leash.take());
    }
    let mut open = processes.len() - usize::from(crashed.is_some());
    while open > 0 {
        match news.recv_timeout(STOP_MAX) {
            Ok(ProcessEvent::Stop) => {}
            Ok(ProcessEvent::Silent(_)) => open -= 1,
            Ok(ProcessEvent::Said(number, line)) => read_line(&mut processes[number], &line),
            Err(_) => {
                for process in &mut *processes {
                    // Processes that have ended by themselves cannot be killed.
                    let _ = process.child.kill();
                }
            }
        }
    }
}

/// The sums of the figures of all processes.
///
/// # Errors
/// Which process failed, and how.
fn sum_figures(processes: &mut [Process], crashed: Option<usize>) -> Result<Vec<u64>, String> {
    let count = processes.len();
    let mut sums = Vec::new();
    let mut fault = None;
    for (number, process) in processes.iter_mut().enumerate() {
        let pid = process.child.id();
        let how = match process.child.wait() {
            Ok(status) if status.success() && process.succeeded && crashed != Some(number) => None,
            Ok(status) => Some(status.to_string()),
            Err(error) => Some(error.to_string()),
        };
        if let Some(how) = how.filter(|_| fault.is_none() || crashed == Some(number)) {
            fault = Some(format!(
                "process {} of {count} (pid {pid}) ended unexpectedly: {how}; the others were stopped",
                number + 1
            ));
        }
        sums.resize(sums.len().max(process.figures.len()), 0);
        for (sum, figure) in sums.iter_mut().zip(&process.figures) {
            *sum += figure;
        }
    }
    fault.map_or(Ok(sums), Err)
}

fn next(news: &Receiver<ProcessEvent>) -> ProcessEvent {
    // Who watches for the stop holds a sender for ever.
    news.recv().unwrap_or(ProcessEvent::Stop)
}

fn read_line(process: &mut Process, line: &str) {
    if let Some(figures) = line.strip_prefix(ENDED) {
        process.succeeded = true;
        process.figures = figures.split(' ').filter_map(|figure| figure.parse().ok()).collect();
    }
}

fn start(
    group: &str,
    number: usize,
    address: SocketAddr,
    news: &Sender<ProcessEvent>,
) -> std::io::Result<Process> {
    let mut child = Command::new(std::env::current_exe()?)
        .args(std::env::args_os().skip(1))
        .arg(format!("--process-of={group}@{address}"))
        .arg(format!("--process-number={number}"))
        // Ctrl-C reaches this one alone, which ends the others in good order.
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let leash = child.stdin.take();
    if let Some(out) = child.stdout.take() {
        listen(number, out, news.clone());
    }
    Ok(Process { child, leash, figures: Vec::new(), succeeded: false })
}

/// Passes on what a process says.
fn listen(number: usize, out: ChildStdout, news: Sender<ProcessEvent>) {
    std::thread::spawn(move || {
        for line in BufReader::new(out).lines().map_while(Result::ok) {
            // Nobody listens any more at the very end.
            let _ = news.send(ProcessEvent::Said(number, line));
        }
        let _ = news.send(ProcessEvent::Silent(number));
    });
}

/// Reports when it is time to stop: at a signal, and if that is wanted at the end of standard input.
fn watch(stop: Stop, news: &Sender<ProcessEvent>) -> std::io::Result<()> {
    let sender = news.clone();
    ctrlc::set_handler(move || drop(sender.send(ProcessEvent::Stop)))
        .map_err(std::io::Error::other)?;
    if stop == Stop::SignalOrStdin {
        let sender = news.clone();
        std::thread::spawn(move || {
            let ended = std::io::stdin().lock().read_to_end(&mut Vec::new());
            drop((ended, sender.send(ProcessEvent::Stop)));
        });
    }
    Ok(())
}

/// One of several reports how it ended.
pub(super) fn report_end(figures: &[u64]) {
    let figures: Vec<String> = figures.iter().map(u64::to_string).collect();
    let _ = writeln!(std::io::stdout(), "{ENDED}{}", figures.join(" "));
}
