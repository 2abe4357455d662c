//! What was typed.

pub(crate) mod ads;
mod compare;
mod model;
mod probe;
mod ui;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use controller::capacity;
use scenario::foreign::Leniency;

pub(crate) use compare::{CompareArgs, CorrectionArg, TimeArg};
pub(crate) use model::{
    ArrivalsArg, BehaviourArg, LogFormat, ModelArgs, ModelCheckArgs, ModelVerb, StatedArgs,
};
pub(crate) use probe::{ExportArgs, ExportRunArgs, ProbeArgs};
pub(crate) use ui::UiArgs;

use crate::settings::{
    parse_address, parse_confidence, parse_duration, parse_growth, parse_load, parse_part,
    parse_set, parse_size,
};

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
    /// Run a scenario many times by a design, and tell what its factors do
    #[command(after_help = EXPERIMENT_CODES)]
    Experiment(ExperimentArgs),
    /// Print a JSON Schema, for editors
    Schema {
        #[arg(value_enum, default_value_t = SchemaOf::Scenario)]
        what: SchemaOf,
    },
    /// Show the verdict of a run that is over, or what a killed run left
    #[command(after_help = SHOW_CODES)]
    Show(ShowArgs),
    /// Browse past results in a browser: list, open and compare them
    Ui(UiArgs),
    /// Write a run that is over in other forms: CSV, JSON, JUnit XML
    Export(ExportRunArgs),
    /// Compare runs as distributions: two ensembles, or all runs with each other
    #[command(after_help = compare::EXIT_CODES)]
    Compare(Box<CompareArgs>),
    /// Tell what happened within a run: steady state, trends, outages, laws
    Analyze(AnalyzeArgs),
    /// Find the highest rate, or number of users, that keeps a scenario's thresholds
    #[command(after_help = CAPACITY_EXIT_CODES)]
    Capacity(CapacityArgs),
    /// Compute scalability meters of runs, as published and cured, and what they cost
    Meters(MetersArgs),
    /// Make a scenario of access logs: sessions, arrivals and behaviour, fitted and tested
    #[command(after_help = model::EXIT_CODES)]
    Model(Box<ModelArgs>),
    /// Make a scenario of a Tsung file or a browser's recording, or run directories of results that
    /// others published
    Import(ImportArgs),
    /// Compute published tables again from published results, printed beside computed
    Reproduce(ReproduceArgs),
    /// Serve one of the built-in systems
    Serve(ServeArgs),
    /// Run a share of the loops for a controller; `run --workers` starts it
    #[command(hide = true)]
    Worker(WorkerArgs),
    /// Ask a server's side without a run: print, serve or record what its probes tell
    #[command(after_help = probe::EXIT_CODES)]
    Probe(ProbeArgs),
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

const SHOW_CODES: &str = "\
Exit codes:
  0    shown, whatever the verdict: --json tells it as exit_code
  64   the command line is wrong
  66   the run cannot be read
  74   reading or writing failed";

const EXPERIMENT_CODES: &str = "\
Exit codes:
  0    all runs are there and counted
  2    runs are missing: it was ended early, or some failed or could not be trusted
  and those of `throng run` from 64 up";

/// What a schema describes.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum SchemaOf {
    Scenario,
    Experiment,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ExperimentArgs {
    /// The experiment's file; one that was begun and not finished goes on
    #[arg(value_name = "FILE", required_unless_present_any = ["resume", "analyze"],
          conflicts_with_all = ["resume", "analyze"])]
    pub(crate) file: Option<String>,
    /// The experiment's directory [default: experiments/ and its name]
    #[arg(long, value_name = "DIR", conflicts_with_all = ["resume", "analyze"])]
    pub(crate) dir: Option<PathBuf>,
    /// Run it in full: with what its key `full` says
    #[arg(long, conflicts_with_all = ["resume", "analyze"])]
    pub(crate) full: bool,
    /// Tell the runs, their order and their time, and run nothing
    #[arg(long, conflicts_with = "analyze")]
    pub(crate) plan: bool,
    /// Go on with the experiment in this directory
    #[arg(long, value_name = "DIR", conflicts_with = "analyze")]
    pub(crate) resume: Option<PathBuf>,
    /// Make those runs anew that failed or cannot be trusted
    #[arg(long, conflicts_with_all = ["analyze", "plan"])]
    pub(crate) retry: bool,
    /// Run even where this machine cannot hold so many users
    #[arg(long, conflicts_with = "analyze")]
    pub(crate) anyway: bool,
    /// Analyse the experiment in this directory again, or a CSV file of factors and responses
    #[arg(long, value_name = "DIR|CSV")]
    pub(crate) analyze: Option<PathBuf>,
    /// Write a page of it, a self-contained HTML file [default: report.html in its directory]
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Print nothing but errors; analysis.json and the exit code tell
    #[arg(short, long, conflicts_with = "json")]
    pub(crate) quiet: bool,
    /// Print the analysis as JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) table: TableArgs,
}

/// Only with a CSV file: what an experiment's file would say.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "With a CSV file")]
pub(crate) struct TableArgs {
    /// A column that is a response; all others are factors [default: the last column]
    #[arg(long = "response", value_name = "COLUMN", requires = "analyze")]
    pub(crate) responses: Vec<String>,
    /// Effects are factors, found on logarithms
    #[arg(long, requires = "analyze")]
    pub(crate) multiplicative: bool,
    /// Of the intervals, 50% to 99.99% [default: 95%]
    #[arg(long, value_name = "SHARE", value_parser = parse_confidence, requires = "analyze")]
    pub(crate) confidence: Option<f64>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct RunArgs {
    /// A scenario file, a Tsung file, or a URL to load
    #[arg(value_name = "FILE|URL")]
    pub(crate) what: String,
    #[command(flatten)]
    pub(crate) sets: SetArgs,
    #[command(flatten)]
    pub(crate) foreign: ForeignArgs,
    /// Write Tsung's `tsung.dump` of the run's HTTP requests, too, as with dumptraffic="protocol"
    #[arg(long, value_name = "FILE")]
    pub(crate) tsung_log: Option<PathBuf>,
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
    /// Show the run live in a browser, at this address and port or, without, at any free port of
    /// 127.0.0.1; standard error tells what to open. Beyond this machine it takes a token, which stands
    /// there, too, or is that of THRONG_UI_TOKEN
    #[arg(long, value_name = "ADDR", num_args = 0..=1, require_equals = true,
          default_missing_value = "127.0.0.1:0")]
    pub(crate) ui: Option<String>,
    /// Print nothing but errors; the exit code tells
    #[arg(short, long, conflicts_with = "json")]
    pub(crate) quiet: bool,
    /// Print the summary as JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) load: LoadArgs,
    #[command(flatten)]
    pub(crate) exports: ExportArgs,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct SetArgs {
    /// Override a parameter or any value, such as hold=5m or options.timeout=3s
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = parse_set)]
    pub(crate) sets: Vec<(String, String)>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ForeignArgs {
    /// Leave out what of a Tsung file has no counterpart, with a warning each
    #[arg(long)]
    pub(crate) lenient: bool,
}

impl ForeignArgs {
    pub(crate) fn leniency(&self) -> Leniency {
        if self.lenient {
            Leniency::Lenient
        } else {
            Leniency::Strict
        }
    }
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ImportArgs {
    /// A Tsung file (XML) or a browser's recording (HAR), - for standard input; or a directory of
    /// results
    #[arg(value_name = "FILE|DIR")]
    pub(crate) what: String,
    #[command(flatten)]
    pub(crate) file: FileArgs,
    #[command(flatten)]
    pub(crate) results: ResultsArgs,
}

/// Only with a file: the scenario it becomes.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "With a file")]
pub(crate) struct FileArgs {
    /// Where the scenario is written [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) foreign: ForeignArgs,
    /// Of a recording: what becomes of images, styles, scripts and fonts [default: group]
    #[arg(long = "static", value_name = "HOW")]
    pub(crate) statics: Option<Statics>,
    /// Of a recording: keep requests to hosts other than the first one's
    #[arg(long)]
    pub(crate) third_parties: bool,
}

impl FileArgs {
    /// An option that was given.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let FileArgs {
            output,
            foreign: ForeignArgs { lenient },
            statics,
            third_parties,
        } = self;
        first_given(&[
            (output.is_some(), "--output"),
            (*lenient, "--lenient"),
            (statics.is_some(), "--static"),
            (*third_parties, "--third-parties"),
        ])
    }
}

/// Only with a directory: the run directories its results become.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "With a directory")]
pub(crate) struct ResultsArgs {
    /// What the results are; found out where it is not said
    #[arg(long = "as", value_name = "LAYOUT")]
    pub(crate) layout: Option<Layout>,
    /// When the run began, in UTC, as 2015-07-31T15:36; results seldom say so themselves
    #[arg(long, value_name = "TIME", value_parser = ::import::parse_time)]
    pub(crate) start: Option<u64>,
    /// Where run directories are made [default: runs]
    #[arg(long, value_name = "DIR")]
    pub(crate) runs: Option<PathBuf>,
    /// Print nothing but errors
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

impl ResultsArgs {
    /// An option that was given.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let ResultsArgs {
            layout,
            start,
            runs,
            quiet,
        } = self;
        first_given(&[
            (layout.is_some(), "--as"),
            (start.is_some(), "--start"),
            (runs.is_some(), "--runs"),
            (*quiet, "--quiet"),
        ])
    }
}

fn first_given(options: &[(bool, &'static str)]) -> Option<&'static str> {
    options
        .iter()
        .find_map(|(given, name)| given.then_some(*name))
}

/// What becomes of a page's static resources.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Statics {
    /// Steps like all others
    Keep,
    /// One transaction for those that follow one another
    Group,
    /// Left out
    Skip,
}

/// Only with a URL: what a scenario would say.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "With a URL")]
pub(crate) struct LoadArgs {
    /// So many users, each asking again as soon as it has its answer [default: 10]
    #[arg(long, alias = "vus", value_name = "N", conflicts_with = "rate")]
    pub(crate) users: Option<u64>,
    /// So many requests a time, whether answers come or not, such as 500/s
    #[arg(long, value_name = "RATE")]
    pub(crate) rate: Option<String>,
    /// For how long, such as 30s [default: 10s]
    #[arg(long = "for", alias = "duration", value_name = "DURATION")]
    pub(crate) duration: Option<String>,
    /// The request's method [default: GET, or POST with a body]
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
    /// The scenario, or a Tsung file; - reads standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: String,
    #[command(flatten)]
    pub(crate) sets: SetArgs,
    #[command(flatten)]
    pub(crate) foreign: ForeignArgs,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ShowArgs {
    /// The run's directory
    pub(crate) run: PathBuf,
    #[command(flatten)]
    pub(crate) rest: RestArgs,
    /// Make the page of the run, too, or make it again [default: report.html in its directory]
    #[arg(long, value_name = "FILE", num_args = 0..=1)]
    pub(crate) html: Option<Option<PathBuf>>,
    /// Print the summary as JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct AnalyzeArgs {
    /// The run's directory
    pub(crate) run: PathBuf,
    /// Look at this phase only
    #[arg(long, value_name = "NAME")]
    pub(crate) phase: Option<String>,
    /// Leave out so much at the beginning as warm-up, whatever would be found
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) cut: Option<Duration>,
    /// Length of the windows [default: 20s, or a tenth of a shorter run]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) window: Option<Duration>,
    /// A second in which this share of the operations failed was down
    #[arg(long, value_name = "SHARE", default_value = "50%", value_parser = parse_part)]
    pub(crate) down: f64,
    /// Print the analysis as JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

const CAPACITY_EXIT_CODES: &str = "\
Exit codes:
  0    found, or all that was asked for holds
  1    not even the lowest load holds
  2    it cannot be told: the generator was the limit, or the search ran out of steps or time
  64   the command line is wrong
  65   the scenario is wrong, or says nothing of what has to hold
  others as for `throng run`";

#[derive(Debug, ClapArgs)]
pub(crate) struct CapacityArgs {
    /// A scenario file with thresholds
    #[arg(value_name = "FILE", required_unless_present = "resume")]
    pub(crate) file: Option<String>,
    #[command(flatten)]
    pub(crate) sets: SetArgs,
    /// What to turn, as --set knows it [default: the rate or number of users of the only phase that has
    /// one, or the parameter that it is]
    #[arg(long, value_name = "KEY")]
    pub(crate) of: Option<String>,
    /// The first load [default: as the scenario says]
    #[arg(long, value_name = "LOAD", value_parser = parse_load)]
    pub(crate) from: Option<f64>,
    /// The highest load to try [default: as far as it holds]
    #[arg(long, value_name = "LOAD", value_parser = parse_load)]
    pub(crate) at_most: Option<f64>,
    /// The next load after one that holds is so many times higher
    #[arg(long, value_name = "TIMES", default_value = "2", value_parser = parse_growth)]
    pub(crate) growth: f64,
    /// How near the knee has to be told
    #[arg(long, value_name = "SHARE", default_value = "5%", value_parser = parse_part)]
    pub(crate) within: f64,
    /// Runs at the knee; most of them decide
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=99))]
    pub(crate) repeat: u16,
    /// Runs in all, those of a search that is gone on with included [default: 40]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=9999))]
    pub(crate) steps: Option<u16>,
    /// No run begins that would end later than this [default: 1h]
    #[arg(long = "for", value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) time: Option<Duration>,
    /// Between two runs
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = parse_duration)]
    pub(crate) pause: Duration,
    /// Where the search's directory is made
    #[arg(long, value_name = "DIR", default_value = "runs")]
    pub(crate) runs: PathBuf,
    /// Go on with the search in this directory; finished runs are not run again. Only --steps and
    /// --for may be changed
    #[arg(long, value_name = "DIR", conflicts_with_all = ["file", "sets", "of", "from", "at_most", "growth", "within", "repeat", "pause", "runs"])]
    pub(crate) resume: Option<PathBuf>,
    /// Run even where this machine cannot hold so many users
    #[arg(long)]
    pub(crate) anyway: bool,
    /// Write a page of it, a self-contained HTML file [default: report.html in its directory]
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Print nothing but errors; the exit code tells
    #[arg(short, long, conflicts_with = "json")]
    pub(crate) quiet: bool,
    /// Print what was found as JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct MetersArgs {
    /// Run directories, of our own or imported
    #[arg(required = true, value_name = "RUN")]
    pub(crate) runs: Vec<PathBuf>,
    /// Which figures the meters are made of; see examples/meters
    #[arg(long, value_name = "FILE")]
    pub(crate) meters: String,
    /// What the runs' systems cost; see examples/prices
    #[arg(long, value_name = "FILE")]
    pub(crate) prices: Option<String>,
    /// The name of the run that the cured forms are told against [default: the file's, or the first]
    #[arg(long, value_name = "NAME")]
    pub(crate) reference: Option<String>,
    /// Write a page of it, a self-contained HTML file
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
}

/// Results that are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Layout {
    /// Reports of clients and CSVs of servers, by role, region and machine
    Thesis,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ReproduceArgs {
    #[command(subcommand)]
    pub(crate) publication: Publication,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Publication {
    /// Scaling a geographically distributed WebSocket platform, chapter 8
    Thesis {
        /// The directory that holds its results: baseline, proposed_1
        dir: PathBuf,
    },
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
    /// An ad network: choosing ads by performance, events, records, an access log
    Ads(Box<ads::AdsArgs>),
    /// An HTTP server that freezes on a schedule
    Stall(StallArgs),
    /// The smallest WebSocket and HTTP server
    Echo(EchoArgs),
    /// The barest HTTP responder, for measuring clients
    Hello(SmallArgs),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ListenArgs {
    /// Where to listen; a port alone is one of loopback, and port 0 takes a free one
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8080", value_parser = parse_address)]
    pub(crate) listen: SocketAddr,
    /// Stop when standard input ends: the server then never outlives what started it
    #[arg(long)]
    pub(crate) until_stdin_closes: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct MarketArgs {
    #[command(flatten)]
    pub(crate) listen: ListenArgs,
    /// Serving threads, at least [default: one for each core, and at least 2]
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
    /// Connections expected at once: starts as many threads as their open files need
    #[arg(long, value_name = "N")]
    pub(crate) connections: Option<usize>,
    /// Games [default: 4]
    #[arg(long, value_name = "N")]
    pub(crate) games: Option<u32>,
    /// Least time between two distributions of a game [default: 3s]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) batch: Option<Duration>,
    /// Distributions are filled up with blanks to so many bytes, such as 4KiB
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(crate) broadcast_size: Option<usize>,
    /// Mean time between two goals of a game [default: 45s]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) goal_every: Option<Duration>,
    /// What a new account holds, in cents [default: 100000]
    #[arg(long, value_name = "CENTS")]
    pub(crate) starting_balance: Option<u64>,
    /// What the event feed is drawn from [default: 1]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Ping connections that were silent for so long; 0s never does [default: 60s]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) ping_after: Option<Duration>,
    /// A planted fault: answers some requests so much later
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) delay: Option<Duration>,
    /// Which share of the requests the delay strikes, such as 10% [default: 100%]
    #[arg(long, value_name = "SHARE", value_parser = parse_part, requires = "delay")]
    pub(crate) delay_share: Option<f64>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ChatArgs {
    #[command(flatten)]
    pub(crate) listen: ListenArgs,
    /// Serving threads, at least [default: one for each core, and at least 2]
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
    /// Connections expected at once: starts as many threads as their open files need
    #[arg(long, value_name = "N")]
    pub(crate) connections: Option<usize>,
    /// Open files it may have, as a small server would; further connections wait [default: as many as the
    /// system allows]
    #[arg(long, value_name = "N", conflicts_with = "connections")]
    pub(crate) files: Option<u32>,
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
    /// From a request to its answer [default: 1ms]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) delay: Option<Duration>,
    /// How long a stall lasts [default: 1s]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) stall: Option<Duration>,
    /// From the end of one stall to the end of the next [default: 10s]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) every: Option<Duration>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct EchoArgs {
    #[command(flatten)]
    pub(crate) small: SmallArgs,
    /// Speak no protocol: bytes come back as they went
    #[arg(long)]
    pub(crate) raw: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct SmallArgs {
    #[command(flatten)]
    pub(crate) listen: ListenArgs,
    /// Serving threads [default: 1]
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
}
