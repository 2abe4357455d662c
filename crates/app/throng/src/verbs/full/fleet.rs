//! `throng agent`, `throng fleet`, and the fleet of a run.

mod attach;
mod fetch;
mod list;
mod manifest;

use std::cell::RefCell;
use std::io::{BufRead, Read, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

use controller::{Fleet, Interrupt, Rows, Tolerances};
use fleet::{
    Access, Admin, Agent, AgentCard, AgentOptions, Choice, FetchError, FleetError, KeyError, Local,
    LocalOptions, NatsError, RowsKeep, Session, SessionOptions, UserKey,
};
use machine::clock;
use plan::Plan;

use crate::args::fleet::{
    AccessArgs, AgentArgs, DrainArgs, FleetArgs, FleetVerb, KeyArgs, NatsArgs, OnLossArg, RowsArg,
    RunFleetArgs, StopArgs, UpArgs, WaitArgs,
};
use crate::exit::{Exit, Failure, print_text, written};
use crate::terminal::View;

/// Longest job that an agent writes to its worker, bytes.
const JOB_BYTES_MAX: u64 = 64 << 10;
/// How long agents go on without a controller, beyond the length of the plan.
const ALONE: Duration = Duration::from_secs(600);
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
    let trust = public_keys(&args.trust)?;
    let key = read_key(args.key.as_deref())?;
    let access = access(url, &args.access);
    let spool = args.spool.clone();
    let spool = spool.unwrap_or_else(|| below_var_tmp("spool"));
    let rows = args.rows_dir.clone();
    let rows = rows.unwrap_or_else(|| below_var_tmp("rows"));
    let joined = Agent::join(AgentOptions {
        access: &access,
        name: args.name.clone(),
        labels: args.labels.clone(),
        parts: args.parts,
        once: args.once,
        trust,
        key: key.as_ref(),
        allow: args.allow.clone(),
        spool: &spool,
        spool_bytes_max: args.spool_max as u64,
        rows: RowsKeep {
            directory: &rows,
            bytes_max: args.rows_max as u64,
            age_max: args.rows_keep,
        },
        program: &program,
        throng: env!("CARGO_PKG_VERSION"),
    });
    let say = |what: &str| drop(writeln!(std::io::stdout(), "{what}"));
    let served = joined.and_then(|agent| agent.serve(&stop, &say));
    served.map(|()| Exit::Passed).map_err(failure)
}

/// Directory of spools, or of rows: they outlive a boot, and are of one user.
fn below_var_tmp(what: &str) -> PathBuf {
    let user = std::env::var("USER").unwrap_or_else(|_| "any".to_owned());
    let plain: String = user.chars().filter(char::is_ascii_alphanumeric).collect();
    PathBuf::from(format!("/var/tmp/throng-{what}-{plain}"))
}

/// The worker of one run. It ends at once when its agent does, whose end of standard input is then closed.
fn job() -> Result<Exit, Failure> {
    let mut job = String::new();
    let read = std::io::stdin().lock().take(JOB_BYTES_MAX).read_line(&mut job);
    read.map_err(|error| Failure::new(Exit::NoInput, error))?;
    std::thread::spawn(|| {
        let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
        std::process::exit(Exit::Unavailable as i32);
    });
    let worked = fleet::work(&job, env!("CARGO_PKG_VERSION"));
    worked.map(|()| Exit::Passed).map_err(|error| Failure::new(Exit::Unavailable, error))
}

/// `throng fleet`.
pub(crate) fn fleet(args: &FleetArgs) -> Result<Exit, Failure> {
    match &args.verb {
        FleetVerb::Up(args) => up(args),
        FleetVerb::Status(args) => show(args, list::status),
        FleetVerb::Agents(args) => show(args, |admin| Ok(list::agents(&admin.agents()?))),
        FleetVerb::Runs(args) => show(args, |admin| Ok(list::runs(&admin.all_runs()?))),
        FleetVerb::Key(args) => key(args),
        FleetVerb::Attach(args) => attach::attach(args),
        FleetVerb::Fetch(args) => fetch::fetch(args),
        FleetVerb::Stop(args) => stop(args),
        FleetVerb::Drain(args) => drain(args),
        FleetVerb::Wait(args) => wait(args),
        FleetVerb::Manifest(args) => manifest::manifest(args),
    }
}

fn up(args: &UpArgs) -> Result<Exit, Failure> {
    let program = program()?;
    let stop = stop_flag()?;
    let options =
        LocalOptions { agents: args.local, directory: args.dir.as_deref(), program: &program };
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
                    "the fleet has ended".to_owned(),
                    "look above for what ended, and why",
                ));
            }
        }
        // Nobody sends: the time passes.
        let _ = never.recv_timeout(LOOK);
    }
    Ok(Exit::Passed)
}

/// How a fleet's NATS is reached.
fn access(url: &str, args: &AccessArgs) -> Access {
    Access {
        url: url.to_owned(),
        creds: args.nats_creds.clone(),
        nkey: args.nats_nkey.clone(),
        authorities: args.nats_ca.clone(),
        identity: args.nats_cert.clone().zip(args.nats_key.clone()),
    }
}

fn show(
    args: &NatsArgs,
    text: impl Fn(&Admin) -> Result<String, FleetError>,
) -> Result<Exit, Failure> {
    let text = Admin::connect(&access(&args.nats, &args.access))
        .and_then(|admin| text(&admin))
        .map_err(failure)?;
    print_text(&text)
}

fn key(args: &KeyArgs) -> Result<Exit, Failure> {
    let key = UserKey::create(&args.file).map_err(|error| failure(error.into()))?;
    written(writeln!(std::io::stdout(), "{}", key.public()))
}

/// Public keys that are trusted.
fn public_keys(keys: &[String]) -> Result<Vec<String>, Failure> {
    let keys = keys.iter().map(|key| fleet::public_key(key));
    let keys: Result<Vec<String>, KeyError> = keys.collect();
    keys.map_err(|error| failure(error.into()))
}

/// The key in this file, if there is one.
fn read_key(path: Option<&Path>) -> Result<Option<UserKey>, Failure> {
    let key = path.map(UserKey::read).transpose();
    key.map_err(|error| failure(error.into()))
}

fn stop(args: &StopArgs) -> Result<Exit, Failure> {
    show(&args.nats, |admin| {
        admin.stop(&args.run)?;
        Ok(format!("run {} ends\n", args.run))
    })
}

fn drain(args: &DrainArgs) -> Result<Exit, Failure> {
    let key = read_key(args.key.as_deref())?;
    show(&args.nats, |admin| {
        let drained = admin.drain(&args.select, key.as_ref())?;
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
    let access = access(&args.nats.nats, &args.nats.access);
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
            None => Admin::connect(&access),
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
            Err(error) => failure(error).to_string(),
        };
        if clock::monotonic_ns() >= deadline_ns || stop.load(Ordering::Relaxed) {
            return Err(Failure::hinted(
                Exit::Unavailable,
                format!("not after {}: {state}", units::span(args.within.as_nanos() as u64)),
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
    plan: &Plan,
    interrupt: &Arc<Interrupt>,
    view: &Rc<RefCell<View>>,
) -> Result<Option<Rc<dyn Fleet>>, Failure> {
    let Some(url) = &args.fleet else {
        return Ok(None);
    };
    let number = |n: Option<u32>| n.map(|n| n as usize);
    let plan_ns = plan.end_ns().saturating_add(plan.options.drain_ns);
    let alone = args.alone;
    let alone = alone.unwrap_or_else(|| ALONE.saturating_add(Duration::from_nanos(plan_ns)));
    let options = SessionOptions {
        access: &access(url, &args.access),
        throng: env!("CARGO_PKG_VERSION"),
        scenario,
        choice: Choice {
            agents: number(args.agents),
            select: args.select.clone(),
            agents_min: number(args.min_agents),
            trust: public_keys(&args.trust)?,
        },
        tolerances: Tolerances {
            clock_bound_ns: args.clock_bound.as_nanos() as u64,
            silence_ns: args.lost_after.as_nanos() as u64,
            rebalances: args.on_loss == OnLossArg::Rebalance,
        },
        rows: match args.rows {
            RowsArg::Fetch => Rows::Fetch,
            RowsArg::Leave => Rows::Leave,
            RowsArg::None => Rows::None,
        },
        length: Duration::from_nanos(plan_ns),
        alone,
        key: read_key(args.key.as_deref())?,
    };
    let view = Rc::clone(view);
    let interrupt = Arc::clone(interrupt);
    let notify = Box::new(move |what: &str| notice(&mut view.borrow_mut(), what));
    let stop = move || {
        interrupt.request();
    };
    let session = Session::open(options, notify, stop).map_err(failure)?;
    session.notify(&format!(
        "run {} on {}",
        session.run(),
        units::counted(session.agents().len() as u64, "agent")
    ));
    Ok(Some(Rc::new(session)))
}

fn failure(error: FleetError) -> Failure {
    let exit = match &error {
        FleetError::Nats(NatsError::Url { .. } | NatsError::File { .. } | NatsError::Tls(_))
        | FleetError::Name(_)
        | FleetError::NameTaken(_)
        | FleetError::Key(_) => Exit::Usage,
        FleetError::NoAgent { .. } | FleetError::Spool { .. } => Exit::System,
        FleetError::Fetch(FetchError::Changed { .. } | FetchError::Many { .. }) => Exit::Data,
        FleetError::Fetch(FetchError::Room { .. } | FetchError::Write { .. }) => Exit::Io,
        FleetError::Held { .. } => Exit::Usage,
        _ => Exit::Unavailable,
    };
    Failure::new(exit, error)
}

fn program() -> Result<PathBuf, Failure> {
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

/// Says at once, on standard error, what the user must know.
fn notice(view: &mut View, what: &str) {
    if let View::Screen(_, screen) = view {
        // The next second draws it again, below the line.
        let _ = screen.clear();
    }
    if !matches!(view, View::Nothing) {
        // Nobody may read it.
        let _ = writeln!(std::io::stderr(), "{what}");
    }
}
