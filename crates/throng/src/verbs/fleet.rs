//! `throng agent`, `throng fleet`, and the fleet of a run.

mod manifest;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{BufRead, Read, Write};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

use controller::{Fleet, Interrupt, Tolerances};
use fleet::{
    Admin, Agent, AgentCard, AgentOptions, Choice, FleetError, Local, LocalOptions, NatsError,
    Session, SessionOptions,
};
use machine::clock;
use machine::limits::about;

use crate::args::fleet::{
    AgentArgs, DrainArgs, FleetArgs, FleetVerb, RunFleetArgs, StopArgs, UpArgs, WaitArgs,
};
use crate::exit::{Exit, Failure, written};
use crate::terminal::View;

/// Longest job that an agent writes to its worker, bytes.
const JOB_BYTES_MAX: u64 = 64 << 10;
/// How often the processes of a local fleet are looked at.
const LOOK: Duration = Duration::from_millis(200);
/// How often `fleet wait` looks.
const WAIT: Duration = Duration::from_secs(1);

/// `throng agent`.
pub(crate) fn agent(args: &AgentArgs) -> Result<Exit, Failure> {
    let Some(url) = args.nats.as_deref().filter(|_| !args.job) else {
        return job();
    };
    let program = program()?;
    let stop = stop_flag()?;
    let joined = Agent::join(AgentOptions {
        url,
        name: args.name.clone(),
        labels: args.labels.clone(),
        parts: args.parts,
        once: args.once,
        program: &program,
        throng: env!("CARGO_PKG_VERSION"),
    });
    let say = |what: &str| drop(writeln!(std::io::stdout(), "{what}"));
    let served = joined.and_then(|agent| agent.serve(&stop, &say));
    served.map(|()| Exit::Passed).map_err(failure)
}

/// The worker of one run. It ends at once when its agent does, whose end of standard input is then closed.
fn job() -> Result<Exit, Failure> {
    let mut job = String::new();
    let read = std::io::stdin()
        .lock()
        .take(JOB_BYTES_MAX)
        .read_line(&mut job);
    read.map_err(|error| Failure::new(Exit::NoInput, error))?;
    std::thread::spawn(|| {
        let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
        std::process::exit(Exit::Unavailable as i32);
    });
    let worked = fleet::work(&job, env!("CARGO_PKG_VERSION"));
    worked
        .map(|()| Exit::Passed)
        .map_err(|error| Failure::new(Exit::Unavailable, error))
}

/// `throng fleet`.
pub(crate) fn fleet(args: &FleetArgs) -> Result<Exit, Failure> {
    match &args.verb {
        FleetVerb::Up(args) => up(args),
        FleetVerb::Status(args) => show(&args.nats, status),
        FleetVerb::Agents(args) => show(&args.nats, |admin| Ok(table(&admin.agents()?))),
        FleetVerb::Stop(args) => stop(args),
        FleetVerb::Drain(args) => drain(args),
        FleetVerb::Wait(args) => wait(args),
        FleetVerb::Manifest(args) => manifest::manifest(args),
    }
}

fn up(args: &UpArgs) -> Result<Exit, Failure> {
    let program = program()?;
    let stop = stop_flag()?;
    let options = LocalOptions {
        agents: args.local,
        directory: args.dir.as_deref(),
        program: &program,
    };
    let mut local = Local::start(&options).map_err(failure)?;
    let text = format!(
        "{} at {}; Ctrl-C ends them\nthrong run FILE --fleet {}\n",
        units::counted(u64::from(args.local), "agent"),
        local.url(),
        local.url()
    );
    written(write!(std::io::stdout(), "{text}").and_then(|()| std::io::stdout().flush()))?;
    let (_open, never) = channel::<()>();
    while !stop.load(Ordering::Relaxed) {
        for what in local.ended() {
            written(writeln!(std::io::stdout(), "{what}"))?;
        }
        match local.state() {
            Ok(()) => {}
            Err(true) => return Ok(Exit::Passed),
            Err(false) => {
                return Err(Failure::hinted(
                    Exit::System,
                    "nothing of the fleet is left".to_owned(),
                    "look above for what ended, and why",
                ));
            }
        }
        // Nobody sends: the time passes.
        let _ = never.recv_timeout(LOOK);
    }
    Ok(Exit::Passed)
}

fn show(url: &str, text: impl Fn(&Admin) -> Result<String, FleetError>) -> Result<Exit, Failure> {
    let text = Admin::connect(url)
        .and_then(|admin| text(&admin))
        .map_err(failure)?;
    written(write!(std::io::stdout(), "{text}"))
}

/// The agents by what they do, and the runs.
fn status(admin: &Admin) -> Result<String, FleetError> {
    let (agents, runs) = (admin.agents()?, admin.runs()?);
    let free = agents
        .iter()
        .filter(|card| card.run.is_none() && !card.draining);
    let holds: u64 = free.clone().map(|card| card.holds).sum();
    let count = |n: usize, what| units::counted(n as u64, what);
    let mut text = format!(
        "{}, {} free: about {} users at once\n{} in progress\n",
        count(agents.len(), "agent"),
        free.count(),
        about(holds),
        count(runs.len(), "run")
    );
    for run in runs {
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "{}  {}  on {}  from {}",
            run.run,
            run.scenario,
            run.agents.join(", "),
            run.host
        );
    }
    Ok(text)
}

/// A line for each agent.
fn table(agents: &[AgentCard]) -> String {
    let head = [
        "agent", "throng", "cores", "memory", "holds", "state", "labels",
    ]
    .map(str::to_owned);
    let rows = agents.iter().map(|card| {
        [
            card.name.clone(),
            card.throng.clone(),
            card.cores.to_string(),
            units::bytes(card.memory_bytes),
            about(card.holds),
            match (&card.run, card.draining) {
                (Some(run), false) => format!("run {run}"),
                (Some(run), true) => format!("run {run}, drains"),
                (None, true) => "drains".to_owned(),
                (None, false) => "free".to_owned(),
            },
            labels(&card.labels),
        ]
    });
    let rows: Vec<[String; 7]> = std::iter::once(head).chain(rows).collect();
    let widths: Vec<usize> = (0..7)
        .map(|column| {
            rows.iter()
                .map(|row| row[column].chars().count())
                .max()
                .unwrap_or(0)
        })
        .collect();
    let lines = rows.iter().map(|row| {
        let cells = row.iter().zip(&widths);
        let line: String = cells
            .map(|(cell, width)| format!("{cell:<width$}  "))
            .collect();
        line.trim_end().to_owned() + "\n"
    });
    lines.collect()
}

fn labels(labels: &BTreeMap<String, String>) -> String {
    let labels = labels.iter().map(|(key, value)| format!("{key}={value}"));
    labels.collect::<Vec<_>>().join(" ")
}

fn stop(args: &StopArgs) -> Result<Exit, Failure> {
    show(&args.nats.nats, |admin| {
        admin.stop(&args.run)?;
        Ok(format!("run {} ends\n", args.run))
    })
}

fn drain(args: &DrainArgs) -> Result<Exit, Failure> {
    show(&args.nats.nats, |admin| {
        let drained = admin.drain(&args.select)?;
        let lines = drained.iter().map(|drained| match &drained.run {
            Some(run) => format!("{} ends after run {run}\n", drained.agent),
            None => format!("{} ends\n", drained.agent),
        });
        let text: String = lines.collect();
        Ok(match text.is_empty() {
            true => "no agent to drain\n".to_owned(),
            false => text,
        })
    })
}

/// Looks once a second, and says every change.
fn wait(args: &WaitArgs) -> Result<Exit, Failure> {
    let stop = stop_flag()?;
    let deadline_ns = clock::monotonic_ns() + args.within.as_nanos() as u64;
    let wanted = args.agents as usize;
    let is_free = |card: &&AgentCard| {
        let mut labels = args.select.iter();
        let chosen = labels.all(|(key, value)| card.labels.get(key) == Some(value));
        chosen && card.run.is_none() && !card.draining
    };
    let mut admin = None;
    let mut before = String::new();
    let (_open, never) = channel::<()>();
    loop {
        let connected = match admin.take() {
            Some(admin) => Ok(admin),
            None => Admin::connect(&args.nats.nats),
        };
        let agents = connected.and_then(|known| {
            let agents = known.agents()?;
            admin = Some(known);
            Ok(agents.iter().filter(is_free).count())
        });
        let state = match agents {
            Ok(free) if free >= wanted => {
                let free = units::counted(free as u64, "agent");
                return written(writeln!(std::io::stdout(), "{free} free"));
            }
            Ok(free) => format!("{free} of {} free", units::counted(wanted as u64, "agent")),
            // It will not get better.
            Err(error @ FleetError::Nats(NatsError::Url { .. })) => return Err(failure(error)),
            Err(error) => failure(error).one_line(),
        };
        if clock::monotonic_ns() >= deadline_ns || stop.load(Ordering::Relaxed) {
            return Err(Failure::hinted(
                Exit::Unavailable,
                format!(
                    "not after {}: {state}",
                    units::span(args.within.as_nanos() as u64)
                ),
                "`throng fleet agents` lists those that are there",
            ));
        }
        if state != before {
            let _ = writeln!(std::io::stderr(), "waiting: {state}");
            before = state;
        }
        // Nobody sends: the time passes.
        let _ = never.recv_timeout(WAIT);
    }
}

/// The agents of a run by a fleet; `None`: it is run here. What they do that cannot wait is shown in `view`.
pub(crate) fn of_run(
    args: &RunFleetArgs,
    scenario: &str,
    interrupt: &Arc<Interrupt>,
    view: &Rc<RefCell<View>>,
) -> Result<Option<Rc<dyn Fleet>>, Failure> {
    let Some(url) = &args.fleet else {
        return Ok(None);
    };
    let number = |n: Option<u32>| n.map(|n| n as usize);
    let options = SessionOptions {
        url,
        throng: env!("CARGO_PKG_VERSION"),
        scenario,
        choice: Choice {
            agents: number(args.agents),
            select: args.select.clone(),
            agents_min: number(args.min_agents),
        },
        tolerances: Tolerances {
            clock_bound_ns: args.clock_bound.as_nanos() as u64,
            silence_ns: args.lost_after.as_nanos() as u64,
        },
    };
    let (view, interrupt) = (Rc::clone(view), Arc::clone(interrupt));
    let notify = Box::new(move |what: &str| view.borrow_mut().notice(what));
    let stop = move || {
        interrupt.request();
    };
    let session = Session::open(&options, notify, stop).map_err(failure)?;
    session.notify(&format!(
        "run {} on {}",
        session.run(),
        units::counted(session.agents().len() as u64, "agent")
    ));
    Ok(Some(Rc::new(session)))
}

fn failure(error: FleetError) -> Failure {
    let exit = match &error {
        FleetError::Nats(NatsError::Url { .. })
        | FleetError::Name(_)
        | FleetError::NameTaken(_) => Exit::Usage,
        FleetError::NoAgent { .. } => Exit::System,
        _ => Exit::Unavailable,
    };
    Failure::new(exit, error)
}

fn program() -> Result<std::path::PathBuf, Failure> {
    std::env::current_exe().map_err(|error| Failure::new(Exit::System, error))
}

/// Set by Ctrl-C or SIGTERM.
fn stop_flag() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    let set = Arc::clone(&stop);
    let handled = ctrlc::set_handler(move || set.store(true, Ordering::Relaxed));
    handled.map_err(|error| Failure::new(Exit::System, error))?;
    Ok(stop)
}
