//! `throng probe`: the server's side without a run.

use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use controller::{Interrupt, WatchError, WatchRequest};
use live::export::{ProbeValue, Server};
use plan::Target;
use plan::probes::Probe;
use probe::{Clock, Newest, Pool, ProbeError, ProbeEvent, TargetLocation};

use crate::args::ProbeArgs;
use crate::exit::{Exit, Failure, print_error, written};
use crate::settings::RUNS;
use crate::source::{self, Text};
use crate::verbs::run::interrupt;

/// How long to wait for news before checking for the end.
const NEWS_TIMEOUT: Duration = Duration::from_millis(100);
/// The time from the start to the first query.
const START_NS: i64 = 10_000_000;
/// Replies that a rate needs.
const REPLIES_MIN: u64 = 2;
/// Time for them: this many periods, plus a constant.
const PERIODS_MAX: i64 = 3;
const REPLY_TIMEOUT_NS: i64 = 3_000_000_000;

/// The requested probes, and the text they were read from.
struct Request {
    text: Text,
    probes: Vec<Probe>,
    location: TargetLocation,
    inputs: controller::Inputs,
}

pub(crate) fn probe(args: &ProbeArgs) -> Result<Exit, Failure> {
    let request = request(args)?;
    probe::check(&request.probes).map_err(failure)?;
    match (args.serve, args.duration) {
        (Some(address), _) => serve(&request, address),
        (None, Some(time)) => {
            let output = args.output.as_deref().unwrap_or(Path::new(RUNS));
            record(&request, time, output)
        }
        (None, None) => print(&request),
    }
}

fn request(args: &ProbeArgs) -> Result<Request, Failure> {
    let Some(file) = &args.file else {
        let text = Text {
            name: "probes".to_owned(),
            text: match args.probes.as_slice() {
                [] => "- host\n".to_owned(),
                given => given.iter().map(|one| item(one)).collect(),
            },
            sets: Vec::new(),
            original: None,
        };
        let (probes, inputs) = source::probes(&text)?;
        return Ok(Request { text, probes, location: TargetLocation::default(), inputs });
    };
    let text = source::read(file)?;
    let source::CompiledScenario { plan, inputs } = source::compile(&text, &[])?;
    if plan.probes.is_empty() {
        return Err(Failure::hinted(
            Exit::Data,
            format!("{file} has no probes"),
            "write them under `probes`, or give them as arguments",
        ));
    }
    let location = match &plan.target {
        // It is not running.
        Target::Builtin { .. } => TargetLocation::default(),
        Target::Url(_) => controller::target_location(&plan),
    };
    Ok(Request { text, probes: plan.probes, location, inputs })
}

/// An argument as an item of a list, its further lines below its first.
fn item(text: &str) -> String {
    format!("- {}\n", text.trim().replace('\n', "\n  "))
}

/// Queries until there are rates, and prints all values once.
fn print(request: &Request) -> Result<Exit, Failure> {
    let mut pool =
        Pool::start(&request.probes, &request.location, Clock::at(-START_NS)).map_err(failure)?;
    let mut newest = Newest::default();
    let mut lost = Vec::new();
    let slowest_ns = request.probes.iter().map(|probe| probe.every_ns).max();
    let slowest_ns = slowest_ns.and_then(|ns| i64::try_from(ns).ok());
    let limit_ns = slowest_ns.unwrap_or(0) * PERIODS_MAX + REPLY_TIMEOUT_NS;
    let is_complete = |pool: &Pool, lost: &[usize]| {
        let mut sources = pool.sources().enumerate();
        sources.all(|(number, (_, tally))| tally.readings >= REPLIES_MIN || lost.contains(&number))
    };
    while !is_complete(&pool, &lost) && pool.now_ns() < limit_ns {
        for news in pool.receive(NEWS_TIMEOUT) {
            newest.take(&news);
            print_news(&pool, &news);
            if let ProbeEvent::Lost { source, .. } = news {
                lost.push(source);
            }
        }
    }
    written(write!(std::io::stdout(), "{}", page(&newest)))?;
    let answered = pool.sources().all(|(_, tally)| tally.readings > 0);
    Ok(match answered {
        true => Exit::Passed,
        false => Exit::Unavailable,
    })
}

/// Serves the newest values until the user interrupts.
fn serve(request: &Request, address: SocketAddr) -> Result<Exit, Failure> {
    let interrupt = interrupt()?;
    let newest = Arc::<Mutex<Newest>>::default();
    let shown = Arc::clone(&newest);
    let server =
        Server::start(address, move || page(&shown.lock().unwrap_or_else(PoisonError::into_inner)));
    let server = server.map_err(|error| {
        let message = format!("cannot listen on {address}: {error}");
        Failure::hinted(Exit::System, message, "give another address, or port 0 for a free one")
    })?;
    let mut pool =
        Pool::start(&request.probes, &request.location, Clock::at(-START_NS)).map_err(failure)?;
    let url = format!("http://{}/metrics", server.address());
    written(writeln!(std::io::stdout(), "listening on {url}"))?;
    while !interrupt.is_requested() {
        for news in pool.receive(NEWS_TIMEOUT) {
            print_news(&pool, &news);
            let mut newest = newest.lock().unwrap_or_else(PoisonError::into_inner);
            newest.take(&news);
        }
    }
    Ok(Exit::Passed)
}

/// Records the values.
fn record(request: &Request, time: Duration, output: &Path) -> Result<Exit, Failure> {
    let interrupt: Arc<Interrupt> = interrupt()?;
    let request = WatchRequest {
        probes: &request.probes,
        location: &request.location,
        text: &request.text.text,
        inputs: &request.inputs,
        runs: output,
        version: env!("CARGO_PKG_VERSION"),
        time,
        interrupt: &interrupt,
    };
    let directory = controller::watch(&request).map_err(|error| match error {
        WatchError::Probe(error) => failure(error),
        WatchError::Record(error) => Failure::new(Exit::Io, error),
    })?;
    written(writeln!(std::io::stdout(), "{}", directory.display()))
}

fn page(newest: &Newest) -> String {
    let values: Vec<ProbeValue> =
        newest.values().map(|(info, value)| ProbeValue { info: info.clone(), value }).collect();
    live::export::page(&values)
}

/// Prints news that are not values.
fn print_news(pool: &Pool, news: &ProbeEvent) {
    let name = |source: usize| {
        let found = pool.sources().nth(source);
        found.map_or_else(String::new, |(name, _)| format!("{} {}", name.role, name.source))
    };
    let line = match news {
        ProbeEvent::Lost { source, why, .. } => format!("{}: lost: {why}", name(*source)),
        ProbeEvent::Back { source, missed, .. } => {
            format!("{}: back, {missed} replies are missing", name(*source))
        }
        ProbeEvent::Remark { source, text } => format!("{}: {text}", name(*source)),
        ProbeEvent::Probe { .. } | ProbeEvent::Row(_) => return,
    };
    print_error(&line);
}

fn failure(error: ProbeError) -> Failure {
    let exit = match error {
        ProbeError::Url { .. } | ProbeError::Target { .. } => Exit::Data,
        ProbeError::Thread { .. } => Exit::System,
        ProbeError::NotBuilt { .. } => Exit::Usage,
    };
    Failure::new(exit, error)
}
