//! `throng serve SYSTEM`: one of the built-in systems, until it is stopped.

#[cfg(feature = "full")]
mod full;
#[cfg(not(feature = "full"))]
#[path = "../../absent/systems.rs"]
mod full;
mod market;
mod processes;
mod worker;

use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use machine::clock::Dilation;
use server::{ServerError, ServerOptions, Stop, TlsError, TlsFiles};
use targets::chat::{self, ChatError, ChatOptions, Names};
use targets::echo::{self, EchoOptions};
use targets::stall::{self, StallOptions};
use targets::{grpc, hello};

use crate::args::serve::{
    ChatArgs, EchoArgs, HelloArgs, ListenArgs, NamesArg, StallArgs, System, TlsArgs,
};
use crate::exit::{Exit, Failure};

/// The file that says by how much a server's clock is wrong; a lab's fault writes it.
const SKEW_VARIABLE: &str = "THRONG_CLOCK_SKEW";

pub(crate) fn serve(system: System) -> Result<Exit, Failure> {
    let dilation = Dilation::of_process();
    server::dilate(dilation.factor(), dilation.origin());
    if let Some(file) = std::env::var_os(SKEW_VARIABLE) {
        let following = server::follow_skew(file.into());
        following.map_err(|error| Failure::new(Exit::System, error))?;
    }
    match system {
        System::Market(args) => market::market(&args),
        System::Chat(args) => chat(&args),
        System::Ads(args) => full::ads(&args),
        System::Queue(args) => full::queue(&args),
        System::Balancer(args) => full::balancer(&args),
        System::Worker(args) => worker::worker(&args),
        System::Stall(args) => stall(&args),
        System::Echo(args) => echo(&args),
        System::Hello(args) => hello(&args),
        System::Grpc(args) => grpc(&args),
    }
}

fn chat(args: &ChatArgs) -> Result<Exit, Failure> {
    let mut options = ChatOptions::default();
    options.server = server_options(options.server, &args.listen, args.threads);
    options.server.connections = args.connections.unwrap_or(0);
    options.server.files = args.files;
    options.store = full::file(args.store.as_deref())?;
    options.history = args.history.unwrap_or(options.history);
    options.rooms_max = args.rooms.unwrap_or(options.rooms_max);
    options.heartbeat = or_never(args.heartbeat, options.heartbeat);
    options.phoenix_timeout = or_never(args.phoenix_timeout, options.phoenix_timeout);
    options.names = match args.names {
        NamesArg::Own => Names::Own,
        NamesArg::Published => Names::Published,
    };
    let report = chat::run(options, stop(&args.listen), Box::new(listening));
    let report = report.map_err(|error| match error {
        ChatError::Server(error) => failed(error),
        error => Failure::new(Exit::Unavailable, error),
    })?;
    if !args.listen.until_stdin_closes {
        // The last line is for people; nobody may read it.
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

/// The given time or the default; zero means never.
fn or_never(given: Option<Duration>, default: Option<Duration>) -> Option<Duration> {
    given.or(default).filter(|time| !time.is_zero())
}

fn stall(args: &StallArgs) -> Result<Exit, Failure> {
    let mut options = StallOptions::default();
    options.server = server_options(options.server, &args.listen, None);
    options.server.tls = tls_files(&args.tls);
    let scheme = scheme(&args.tls);
    options.delay = args.delay.unwrap_or(options.delay);
    options.stall = args.stall.unwrap_or(options.stall);
    options.every = args.every.unwrap_or(options.every);
    let ready = Box::new(move |address| listening_as(scheme, address));
    let ended = stall::run(options, stop(&args.listen), ready);
    ended.map(|()| Exit::Passed).map_err(failed)
}

fn echo(EchoArgs { small, raw }: &EchoArgs) -> Result<Exit, Failure> {
    let mut options = EchoOptions::default();
    options.server = server_options(options.server, &small.listen, small.threads);
    options.raw = *raw;
    let scheme = if *raw { "tcp" } else { "http" };
    let ready = Box::new(move |address| listening_as(scheme, address));
    let ended = echo::run(options, stop(&small.listen), ready);
    ended.map(|()| Exit::Passed).map_err(failed)
}

fn hello(HelloArgs { small, tls }: &HelloArgs) -> Result<Exit, Failure> {
    let options = ServerOptions::single_threaded();
    let mut options = server_options(options, &small.listen, small.threads);
    options.tls = tls_files(tls);
    let scheme = scheme(tls);
    let ready = Box::new(move |address| listening_as(scheme, address));
    let ended = hello::run(&options, stop(&small.listen), ready);
    ended.map(|()| Exit::Passed).map_err(failed)
}

fn grpc(HelloArgs { small, tls }: &HelloArgs) -> Result<Exit, Failure> {
    let options = ServerOptions::single_threaded();
    let mut options = server_options(options, &small.listen, small.threads);
    options.tls = tls_files(tls);
    let scheme = scheme(tls);
    let ready = Box::new(move |address| listening_as(scheme, address));
    let ended = grpc::run(&options, stop(&small.listen), ready);
    ended.map(|()| Exit::Passed).map_err(failed)
}

fn tls_files(args: &TlsArgs) -> Option<TlsFiles> {
    let files = args.tls_cert.clone().zip(args.tls_key.clone());
    files.map(|(certificate, key)| TlsFiles { certificate, key })
}

fn scheme(args: &TlsArgs) -> &'static str {
    match args.tls_cert {
        Some(_) => "https",
        None => "http",
    }
}

/// The options that all systems have in common.
fn server_options(
    mut options: ServerOptions,
    listen: &ListenArgs,
    threads: Option<usize>,
) -> ServerOptions {
    options.listen = listen.listen;
    options.threads = threads.unwrap_or(options.threads);
    options
}

/// Why a system could not be served.
fn failed(error: ServerError) -> Failure {
    match error {
        ServerError::Options(_) => Failure::new(Exit::Usage, error),
        ServerError::Tls(TlsError::Read { .. }) => Failure::new(Exit::NoInput, error),
        ServerError::Tls(_) => Failure::new(Exit::Data, error),
        ServerError::Listen { address, source } => Failure::hinted(
            Exit::Unavailable,
            format!("cannot listen on {address}: {source}"),
            "give another address with --listen, or port 0 for a free one",
        ),
        error => Failure::new(Exit::Unavailable, error),
    }
}

fn stop(args: &ListenArgs) -> Stop {
    if args.until_stdin_closes { Stop::SignalOrStdin } else { Stop::Signal }
}

fn listening(address: SocketAddr) {
    listening_as("http", address);
}

/// The process that started this one reads this line.
fn listening_as(scheme: &str, address: SocketAddr) {
    let mut out = std::io::stdout();
    // Nobody may read it.
    let _ =
        writeln!(out, "{}{scheme}://{address}", controller::LISTENING).and_then(|()| out.flush());
}

/// The text of a file of at most `bytes_max` bytes.
fn read_text(path: &Path, bytes_max: usize, hint: &str) -> Result<String, Failure> {
    regular::read_given_text(path, bytes_max as u64).map_err(|error| {
        let message = format!("cannot read {}: {error}", path.display());
        Failure::hinted(Exit::NoInput, message, hint)
    })
}
