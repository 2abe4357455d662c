//! `throng serve SYSTEM`: one of the built-in systems, until it is told to stop.

mod ads;
mod processes;

use std::io::ErrorKind::{AddrInUse, AddrNotAvailable, PermissionDenied};
use std::io::Write;
use std::net::SocketAddr;
use std::time::Duration;

use targets::chat::{self, ChatError, ChatOptions};
use targets::echo::{self, EchoOptions};
use targets::hello::{self, HelloOptions};
use targets::market::{self, MarketError, MarketOptions};
use targets::stall::{self, StallOptions};

use crate::args::{ChatArgs, EchoArgs, ListenArgs, MarketArgs, SmallArgs, StallArgs, System};
use crate::exit::{Exit, Failure};

pub(crate) fn serve(system: System) -> Result<Exit, Failure> {
    match system {
        System::Market(args) => market(&args),
        System::Chat(args) => chat(&args),
        System::Ads(args) => ads::ads(&args),
        System::Stall(args) => stall(&args),
        System::Echo(args) => echo(&args),
        System::Hello(args) => hello(&args),
    }
}

fn market(args: &MarketArgs) -> Result<Exit, Failure> {
    let mut options = MarketOptions::default();
    options.listen = args.listen.listen;
    options.threads = args.threads.unwrap_or(options.threads);
    options.connections = args.connections.unwrap_or(options.connections);
    options.games = args.games.unwrap_or(options.games);
    options.batch = args.batch.unwrap_or(options.batch);
    options.broadcast_size = args.broadcast_size.unwrap_or(options.broadcast_size);
    options.delay = args.delay.unwrap_or(options.delay);
    options.delay_share = args.delay_share.unwrap_or(options.delay_share);
    options.goal_every = args.goal_every.unwrap_or(options.goal_every);
    options.starting_balance = args.starting_balance.unwrap_or(options.starting_balance);
    options.seed = args.seed.unwrap_or(options.seed);
    options.ping_after = or_never(args.ping_after, options.ping_after);
    let report = market::run(options, stop(&args.listen), listening);
    let report = report.map_err(|error| match error {
        MarketError::Options(_) => Failure::new(Exit::Usage, error),
        MarketError::Listen { address, source } => taken(address, &source),
        error => Failure::new(Exit::Unavailable, error),
    })?;
    if args.listen.until_stdin_closes {
        return Ok(Exit::Passed);
    }
    // The books are closed; the last line is for people, and may find nobody.
    let _ = writeln!(
        std::io::stderr(),
        "market stopped: {} predictions, {} pools settled, money {}",
        report.predictions,
        report.pools_settled,
        if report.balanced {
            "balanced"
        } else {
            "NOT balanced"
        },
    );
    Ok(Exit::Passed)
}

fn chat(args: &ChatArgs) -> Result<Exit, Failure> {
    let mut options = ChatOptions::default();
    options.listen = args.listen.listen;
    options.threads = args.threads.unwrap_or(options.threads);
    options.connections = args.connections.unwrap_or(options.connections);
    options.files = args.files;
    options.store.clone_from(&args.store);
    options.history = args.history.unwrap_or(options.history);
    options.rooms_max = args.rooms.unwrap_or(options.rooms_max);
    options.heartbeat = or_never(args.heartbeat, options.heartbeat);
    options.phoenix_timeout = or_never(args.phoenix_timeout, options.phoenix_timeout);
    let report = chat::run(options, stop(&args.listen), listening);
    let report = report.map_err(|error| match error {
        ChatError::Options(_) => Failure::new(Exit::Usage, error),
        ChatError::Listen { address, source } => taken(address, &source),
        error => Failure::new(Exit::Unavailable, error),
    })?;
    if !args.listen.until_stdin_closes {
        // The last line is for people, and may find nobody.
        let _ = writeln!(
            std::io::stderr(),
            "chat stopped: {} messages, {} connections, {} cut for reading too slowly",
            report.messages,
            report.connections,
            report.slow_disconnects,
        );
    }
    Ok(Exit::Passed)
}

/// What was given, where nothing means the default and zero means never.
fn or_never(given: Option<Duration>, default: Option<Duration>) -> Option<Duration> {
    given.or(default).filter(|time| !time.is_zero())
}

fn stall(args: &StallArgs) -> Result<Exit, Failure> {
    let mut options = StallOptions::default();
    options.listen = args.listen.listen;
    options.delay = args.delay.unwrap_or(options.delay);
    options.stall = args.stall.unwrap_or(options.stall);
    options.every = args.every.unwrap_or(options.every);
    let ended = stall::run(options, stop(&args.listen), listening);
    or_failed(ended, &args.listen)
}

fn echo(EchoArgs { small, raw }: &EchoArgs) -> Result<Exit, Failure> {
    let mut options = EchoOptions::default();
    options.listen = small.listen.listen;
    options.threads = small.threads.unwrap_or(options.threads);
    options.raw = *raw;
    let scheme = if *raw { "tcp" } else { "http" };
    let ended = echo::run(options, stop(&small.listen), |address| {
        listening_as(scheme, address);
    });
    or_failed(ended, &small.listen)
}

fn hello(args: &SmallArgs) -> Result<Exit, Failure> {
    let mut options = HelloOptions::default();
    options.listen = args.listen.listen;
    options.threads = args.threads.unwrap_or(options.threads);
    let ended = hello::run(options, stop(&args.listen), listening);
    or_failed(ended, &args.listen)
}

/// How one of the smallest servers ended, which do not say what the system denied them.
fn or_failed(ended: std::io::Result<()>, args: &ListenArgs) -> Result<Exit, Failure> {
    match ended {
        Ok(()) => Ok(Exit::Passed),
        Err(error)
            if matches!(
                error.kind(),
                AddrInUse | AddrNotAvailable | PermissionDenied
            ) =>
        {
            Err(taken(args.listen, &error))
        }
        Err(error) => Err(Failure::new(Exit::Unavailable, error)),
    }
}

/// The address cannot be listened at.
fn taken(address: SocketAddr, source: &std::io::Error) -> Failure {
    Failure::hinted(
        Exit::Unavailable,
        format!("cannot listen at {address}: {source}"),
        "give another address with --listen, or port 0 for a free one",
    )
}

fn stop(args: &ListenArgs) -> server::Stop {
    if args.until_stdin_closes {
        server::Stop::SignalOrStdin
    } else {
        server::Stop::Signal
    }
}

fn listening(address: SocketAddr) {
    listening_as("http", address);
}

/// What started us reads this line.
fn listening_as(scheme: &str, address: SocketAddr) {
    let mut out = std::io::stdout();
    // Whoever started us may not care where we listen.
    let _ =
        writeln!(out, "{}{scheme}://{address}", controller::LISTENING).and_then(|()| out.flush());
}
