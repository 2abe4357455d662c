//! What was typed.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as ClapArgs, Parser, Subcommand};
use clap_complete::Shell;
use controller::capacity;

use crate::settings::{parse_duration, parse_set};

/// A scalability laboratory for real-time systems: models the crowd, sends it, judges the result.
#[derive(Debug, Parser)]
#[command(name = "throng", version, max_term_width = 100)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Run a scenario, or load one URL, and judge the result
    #[command(after_help = EXIT_CODES)]
    Run(RunArgs),
    /// Check a scenario and tell what it would do, without running it
    Check(CheckArgs),
    /// Print the JSON Schema of scenarios, for editors
    Schema,
    /// Show the verdict of a run that is over, or what a killed run left
    Show(ShowArgs),
    /// Serve one of the built-in systems
    Serve(ServeArgs),
    /// Run a share of the loops for a controller; `run --workers` starts it
    #[command(hide = true)]
    Worker(WorkerArgs),
    /// Tell what this machine can hold, and what would mend it
    Doctor(DoctorArgs),
    /// Print completions for a shell
    Completions { shell: Shell },
}

const EXIT_CODES: &str = "\
Exit codes:
  0    passed
  1    a threshold does not hold
  2    the run cannot be trusted: the generator was the limit, or the run ended early
  64   the command line is wrong
  65   the scenario is wrong
  66   a file cannot be read
  68   a host name does not resolve
  69   the target cannot be started
  71   the system denied something the generator needs, or cannot hold so many users
  73   the run directory cannot be made
  74   reading or writing failed
  130  ended at once, by the second Ctrl-C";

#[derive(Debug, ClapArgs)]
pub(crate) struct RunArgs {
    /// A scenario file, or a URL to load
    #[arg(value_name = "FILE|URL")]
    pub(crate) what: String,
    #[command(flatten)]
    pub(crate) sets: SetArgs,
    #[command(flatten)]
    pub(crate) load: LoadArgs,
    /// Where run directories are made
    #[arg(long, value_name = "DIR", default_value = "runs")]
    pub(crate) runs: PathBuf,
    /// Run even where this machine cannot hold so many users
    #[arg(long)]
    pub(crate) anyway: bool,
    /// Run the loops in N processes instead of threads of this one; each has one loop at least.
    /// On one machine this buys no speed; one that dies takes its own users with it only [default: 0]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true,
          value_parser = clap::value_parser!(u32).range(0..=controller::layout::LOOPS_MAX as i64))]
    pub(crate) workers: u32,
    #[command(flatten)]
    pub(crate) rest: RestArgs,
    /// Print nothing but errors; the exit code tells
    #[arg(short, long, conflicts_with = "json")]
    pub(crate) quiet: bool,
    /// Print the summary as JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct SetArgs {
    /// Override a parameter or any value, such as hold=5m or options.timeout=3s
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = parse_set)]
    pub(crate) sets: Vec<(String, String)>,
}

/// Only with a URL: what a scenario would say.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "With a URL")]
pub(crate) struct LoadArgs {
    /// So many users, each asking again as soon as it has its answer
    #[arg(long, value_name = "N", conflicts_with = "rate")]
    pub(crate) users: Option<u64>,
    /// So many requests a time, whether answers come or not, such as 500/s
    #[arg(long, value_name = "RATE")]
    pub(crate) rate: Option<String>,
    /// For how long, such as 30s
    #[arg(long = "for", value_name = "DURATION")]
    pub(crate) duration: Option<String>,
    /// The request's method
    #[arg(long, value_name = "METHOD")]
    pub(crate) method: Option<String>,
    /// A header, as 'name: value'
    #[arg(long = "header", short = 'H', value_name = "HEADER")]
    pub(crate) headers: Vec<String>,
    /// The request's body
    #[arg(long, value_name = "TEXT")]
    pub(crate) body: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct CheckArgs {
    /// The scenario; - reads standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: String,
    #[command(flatten)]
    pub(crate) sets: SetArgs,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ShowArgs {
    /// The run's directory
    pub(crate) run: PathBuf,
    #[command(flatten)]
    pub(crate) rest: RestArgs,
    /// Print the summary as JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct RestArgs {
    /// Should workers be lost, trust what the others measured, and judge it
    #[arg(long)]
    pub(crate) judge_rest: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct WorkerArgs {
    /// Where the controller listens; the token it gave is read from standard input
    #[arg(long, value_name = "ADDR")]
    pub(crate) connect: SocketAddr,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct DoctorArgs {
    /// Tell what so many users at once take, and the commands that make room for them; ends with 0
    /// where the machine can hold them as it is, else with 1
    #[arg(long = "for", value_name = "USERS", value_parser = clap::value_parser!(u64).range(1..=capacity::USERS_MAX))]
    pub(crate) users: Option<u64>,
    /// The target runs on another machine
    #[arg(long, requires = "users")]
    pub(crate) target_elsewhere: bool,
    /// Own addresses to connect from, where the target is elsewhere
    #[arg(long, value_name = "N", default_value = "1", requires = "target_elsewhere", value_parser = clap::value_parser!(u64).range(1..=65_536))]
    pub(crate) source_addresses: u64,
    /// Change the settings instead of printing their commands; needs root
    #[arg(long, requires = "users")]
    pub(crate) apply: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ServeArgs {
    #[command(subcommand)]
    pub(crate) system: System,
}

#[derive(Debug, Subcommand)]
pub(crate) enum System {
    /// The prediction market: WebSocket API, broadcasts, REST reads
    Market(MarketArgs),
    /// A chat: polling, server-sent events, WebSocket, ActionCable and Phoenix channels
    Chat(ChatArgs),
    /// An HTTP server that freezes on a schedule
    Stall(StallArgs),
    /// The smallest WebSocket and HTTP server
    Echo(SmallArgs),
    /// The barest HTTP responder, for measuring clients
    Hello(SmallArgs),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ListenArgs {
    /// Where to listen; port 0 takes a free one
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8080")]
    pub(crate) listen: SocketAddr,
    /// Stop when standard input ends: the server then never outlives what started it
    #[arg(long)]
    pub(crate) until_stdin_closes: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct MarketArgs {
    #[command(flatten)]
    pub(crate) listen: ListenArgs,
    /// Serving threads, at least [default: one for each core]
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
    /// Connections expected at once: starts as many threads as their open files need
    #[arg(long, value_name = "N")]
    pub(crate) connections: Option<usize>,
    /// Games
    #[arg(long, value_name = "N")]
    pub(crate) games: Option<u32>,
    /// Least time between two distributions of a game
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) batch: Option<Duration>,
    /// Mean time between two goals of a game
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) goal_every: Option<Duration>,
    /// What a new account holds, in cents
    #[arg(long, value_name = "CENTS")]
    pub(crate) starting_balance: Option<u64>,
    /// What the event feed is drawn from
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Ping connections that were silent for so long; 0s never does
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) ping_after: Option<Duration>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ChatArgs {
    #[command(flatten)]
    pub(crate) listen: ListenArgs,
    /// Serving threads, at least [default: one for each core]
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
    /// Connections expected at once: starts as many threads as their open files need
    #[arg(long, value_name = "N")]
    pub(crate) connections: Option<usize>,
    /// Keep the history in this SQLite database [default: in memory]
    #[arg(long, value_name = "PATH")]
    pub(crate) store: Option<PathBuf>,
    /// Messages that a room keeps [default: 1000]
    #[arg(long, value_name = "N")]
    pub(crate) history: Option<usize>,
    /// Most rooms [default: 100]
    #[arg(long, value_name = "N")]
    pub(crate) rooms: Option<usize>,
    /// Send streams a heartbeat, and silent sockets a ping, so often; 0s never does [default: 30s]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) heartbeat: Option<Duration>,
    /// Close Phoenix connections that were silent for so long; 0s never does [default: 60s]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) phoenix_timeout: Option<Duration>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct StallArgs {
    #[command(flatten)]
    pub(crate) listen: ListenArgs,
    /// From a request to its answer
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) delay: Option<Duration>,
    /// How long a stall lasts
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) stall: Option<Duration>,
    /// From the end of one stall to the end of the next
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) every: Option<Duration>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct SmallArgs {
    #[command(flatten)]
    pub(crate) listen: ListenArgs,
    /// Serving threads
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
}
