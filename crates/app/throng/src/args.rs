//! The command line: verbs and their arguments.

pub(crate) mod ads;
mod attempt;
pub(crate) mod balancer;
mod compare;
mod decision;
#[cfg(test)]
mod documents;
mod duet;
pub(crate) mod fleet;
#[cfg(feature = "full")]
pub(crate) mod full;
#[cfg(not(feature = "full"))]
#[path = "absent/args.rs"]
pub(crate) mod full;
pub(crate) mod lab;
pub(crate) mod market;
mod new;
mod probe;
mod protos;
pub(crate) mod queue;
pub(crate) mod serve;
mod trend;
mod ui;
pub(crate) mod worker;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use machine::limits::USERS_MAX;
use record::Durability;

pub(crate) use self::compare::{CompareArgs, CorrectionArg};
pub(crate) use attempt::TryArgs;
pub(crate) use decision::{ResultArgs, nanoseconds};
pub(crate) use duet::{DuetArgs, InterleaveArg, Until};
pub(crate) use full::{ImportArgs, ModelArgs, RecordArgs, ReproduceArgs};
pub(crate) use new::{NewArgs, TemplateArg};
pub(crate) use probe::{ExportArgs, ExportRunArgs, ProbeArgs};
pub(crate) use protos::ProtosArgs;
pub(crate) use trend::TrendArgs;
pub(crate) use ui::UiArgs;

use crate::full::Leniency;
use crate::settings::{
    RUNS, parse_confidence, parse_duration, parse_growth, parse_load, parse_netns, parse_part,
    parse_run, parse_set,
};

/// A scalability laboratory for real-time systems: models the crowd, sends it, judges the result.
#[derive(Debug, Parser)]
#[command(name = "throng", version, long_version = env!("THRONG_LONG_VERSION"), max_term_width = 100)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Run a scenario, or load one URL, and judge the result
    #[command(after_help = EXIT_CODES)]
    Run(Box<RunArgs>),
    /// Check a scenario and show what it would do, without running it
    Check(CheckArgs),
    /// Write a commented scenario to start from
    New(NewArgs),
    /// Run one user of a scenario at once and show what it sends, receives, saves and checks
    #[command(after_help = attempt::EXIT_CODES)]
    Try(TryArgs),
    /// Run a scenario many times by an experimental design and analyse the effects of its factors
    #[command(after_help = EXPERIMENT_CODES)]
    Experiment(ExperimentArgs),
    /// Print a JSON Schema, for editors
    Schema {
        #[arg(value_enum, default_value_t = SchemaOf::Scenario)]
        what: SchemaOf,
    },
    /// Show the verdict of a finished run, or the results of a killed one
    #[command(after_help = SHOW_CODES)]
    Show(ShowArgs),
    /// Show, write or remove the note on a run
    Note(NoteArgs),
    /// Browse results in a web browser: list, open and compare them
    Ui(UiArgs),
    /// Convert a finished run to CSV, JSON or JUnit XML
    Export(ExportRunArgs),
    /// Compare runs as distributions: candidate against baseline, or all runs with each other
    #[command(after_help = compare::EXIT_CODES)]
    Compare(Box<CompareArgs>),
    /// Run two targets in pairs until it is decided whether the new one is slower
    #[command(after_help = duet::EXIT_CODES)]
    Duet(Box<DuetArgs>),
    /// Show where the figures of a scenario's runs have changed, and whether one became worse
    #[command(after_help = trend::EXIT_CODES)]
    Trend(TrendArgs),
    /// Analyse one run: steady state, trends, outages, operational laws
    Analyze(AnalyzeArgs),
    /// Find the highest rate or number of users at which a scenario's thresholds hold, or the value of a
    /// setting with the greatest throughput
    #[command(after_help = CAPACITY_EXIT_CODES)]
    Capacity(CapacityArgs),
    /// Compute scalability meters of runs, as published and normalised, and their cost
    Meters(MetersArgs),
    /// Build a scenario from access logs: fit and test sessions, arrivals and behaviour
    Model(Box<ModelArgs>),
    /// Convert another tool's file to a scenario, or published results to run directories
    Import(ImportArgs),
    /// Record what a browser sends and gets, as its proxy, and make a scenario of it
    #[command(after_help = full::RECORD_CODES)]
    Record(RecordArgs),
    /// Recompute the tables of a publication from its raw results and show both side by side
    Reproduce(ReproduceArgs),
    /// Start one of the built-in systems under test
    Serve(serve::ServeArgs),
    /// Emulate hosts in several regions on this machine: bring labs up, run scenarios in them, let faults happen
    Lab(lab::LabArgs),
    /// Wait for runs of a fleet, and take part in one after another
    #[command(after_help = AGENT_CODES)]
    Agent(fleet::AgentArgs),
    /// Start a fleet on this machine; show, stop or drain one
    Fleet(fleet::FleetArgs),
    /// Run part of the load for a controller; `run --workers` starts it
    #[command(hide = true)]
    Worker(WorkerArgs),
    /// Read server-side probes without a run: print, serve or record their metrics
    #[command(after_help = probe::EXIT_CODES)]
    Probe(ProbeArgs),
    /// List the methods of a gRPC server that describes its services, or write their .proto files
    #[command(after_help = protos::EXIT_CODES)]
    Protos(ProtosArgs),
    /// Show how many users this machine can hold, its limits, and how to raise them
    Doctor(DoctorArgs),
    /// Print a shell's completion script
    Completions { shell: Shell },
    /// Write the manual pages, one for each verb, into a directory
    #[command(hide = true)]
    Man {
        #[arg(value_name = "DIR")]
        directory: PathBuf,
    },
}

impl Verb {
    /// True if errors only are to be printed.
    pub(crate) fn is_quiet(&self) -> bool {
        match self {
            Verb::Run(args) => args.quiet,
            Verb::Experiment(args) => args.quiet,
            Verb::Compare(args) => args.result.quiet,
            Verb::Duet(args) => args.result.quiet,
            Verb::Trend(args) => args.quiet,
            Verb::Capacity(args) => args.quiet,
            Verb::Model(args) => args.is_quiet(),
            Verb::Import(args) => args.is_quiet(),
            _ => false,
        }
    }
}

const EXIT_CODES: &str = "\
Exit codes:
  0    passed, or measured: the scenario has no thresholds
  1    a threshold does not hold, nothing succeeded, a step never did, or over 1 % of
       sessions failed of themselves
  2    the run cannot be trusted: the generator was the limit, or the run ended early
  64   invalid command line
  65   invalid scenario
  66   a file cannot be read
  68   a host name does not resolve
  69   the target cannot be started
  71   the system refused a resource the generator needs, or cannot hold that many users
  73   the run directory cannot be created
  74   reading or writing failed: the record, or after the verdict a report or another file
  130  stopped at once by a second Ctrl-C";

const SHOW_CODES: &str = "\
Exit codes:
  0    shown, whatever the verdict; --json contains it as `verdict`
  64   invalid command line
  66   the run cannot be read
  74   reading or writing failed";

const EXPERIMENT_CODES: &str = "\
Exit codes:
  0    every run finished and counts
  2    runs are missing: the experiment was stopped early, or runs failed or cannot be trusted
  64 and above as for `throng run`";

const AGENT_CODES: &str = "\
Exit codes:
  0    stopped or drained
  64   invalid command line, or the name is taken
  69   NATS cannot be used";

/// The document a schema describes.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum SchemaOf {
    Scenario,
    Experiment,
    Lab,
}

/// What a load of a search is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum AimArg {
    /// Users come, finish and leave as fast as they come
    Finished,
    /// Users come and stay, as those who hold connections: how many are present at once
    Present,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ExperimentArgs {
    /// The experiment file; an unfinished experiment is resumed
    #[arg(value_name = "FILE", required_unless_present_any = ["resume", "analyze"],
          conflicts_with_all = ["resume", "analyze"])]
    pub(crate) file: Option<String>,
    /// Directory of the experiment [default: experiments/NAME]
    #[arg(long, value_name = "DIR", conflicts_with_all = ["resume", "analyze"])]
    pub(crate) dir: Option<PathBuf>,
    /// Apply the overrides of the experiment's `full` key
    #[arg(long, conflicts_with_all = ["resume", "analyze"])]
    pub(crate) full: bool,
    /// List the runs, their order and duration without running them
    #[arg(long, conflicts_with = "analyze")]
    pub(crate) plan: bool,
    /// Resume the experiment in this directory
    #[arg(long, value_name = "DIR", conflicts_with = "analyze")]
    pub(crate) resume: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) until: UntilArgs,
    /// Rerun runs that failed or cannot be trusted
    #[arg(long, conflicts_with_all = ["analyze", "plan"])]
    pub(crate) retry: bool,
    /// Run even if this machine cannot hold that many users
    #[arg(long, conflicts_with = "analyze")]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) durable: DurableArgs,
    /// Analyse the finished experiment in this directory, or a CSV file of factors and responses
    #[arg(long, value_name = "DIR|CSV")]
    pub(crate) analyze: Option<PathBuf>,
    /// Write the report to this file as self-contained HTML [default: report.html in its directory]
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Write the means with intervals and published claims to this directory: means.csv, claims.csv
    #[arg(long, value_name = "DIR")]
    pub(crate) csv: Option<PathBuf>,
    /// Print errors only; see analysis.json and the exit code for the result
    #[arg(short, long, conflicts_with = "json")]
    pub(crate) quiet: bool,
    /// Print the analysis as JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) table: TableArgs,
}

/// When an experiment ends whose repetitions are not counted beforehand.
#[derive(Debug, ClapArgs)]
pub(crate) struct UntilArgs {
    /// Repeat all combinations until the effect of each factor on each response is decided, instead of as often as the file
    /// says
    #[arg(long, value_name = "decided", value_enum, conflicts_with_all = ["resume", "analyze"])]
    pub(crate) until: Option<UntilArg>,
    /// With --until: the smallest effect that matters, as a share of the response at the factor's first level
    #[arg(long, value_name = "SHARE", default_value = "5%", value_parser = decision::parse_detect,
          requires = "until")]
    pub(crate) difference: f64,
    /// With --until, or with --resume of such an experiment: begin no repetition that would end after this time
    #[arg(long, value_name = "DURATION", default_value = "1h", value_parser = parse_duration,
          conflicts_with = "analyze")]
    pub(crate) budget: Duration,
}

/// What ends an experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum UntilArg {
    /// Each effect is decided.
    Decided,
}

/// Options for a CSV file; an experiment's file has keys for them.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "With a CSV file")]
pub(crate) struct TableArgs {
    /// A column that holds a response; all others are factors [default: the last column]
    #[arg(long = "response", value_name = "COLUMN", requires = "analyze")]
    pub(crate) responses: Vec<String>,
    /// Effects multiply: fit a multiplicative model, on logarithms
    #[arg(long, requires = "analyze")]
    pub(crate) multiplicative: bool,
    /// Confidence of the intervals, 50% to 99.99% [default: 95%]
    #[arg(long, value_name = "SHARE", value_parser = parse_confidence, requires = "analyze")]
    pub(crate) confidence: Option<f64>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct RunArgs {
    /// A scenario file, a script of k6, a Tsung file, or a URL to load
    #[arg(value_name = "FILE|URL")]
    pub(crate) what: String,
    #[command(flatten)]
    pub(crate) sets: SetArgs,
    #[command(flatten)]
    pub(crate) tsung: TsungArgs,
    /// Also write the run's HTTP requests as Tsung's `tsung.dump`, as dumptraffic="protocol" does
    #[arg(long, value_name = "FILE")]
    pub(crate) tsung_log: Option<PathBuf>,
    /// Directory in which the run directory is created
    #[arg(long, value_name = "DIR", default_value = RUNS)]
    pub(crate) runs: PathBuf,
    /// Run even if this machine cannot hold that many users
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) durable: DurableArgs,
    /// Run the event loops in N worker processes instead of threads of this process. This is no
    /// faster on one machine; a worker that dies takes only its own users with it [default: 0]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true,
          value_parser = clap::value_parser!(u32).range(0..=machine::loops::LOOPS_MAX as i64))]
    pub(crate) workers: u32,
    /// Let the users of a region connect from this network namespace, such as
    /// sydney=/run/netns/sydney; once for each region. The scenario has `regions`
    #[arg(long, value_name = "REGION=PATH", value_parser = parse_netns)]
    pub(crate) netns: Vec<(String, PathBuf)>,
    #[command(flatten)]
    pub(crate) lost_workers: LostWorkersArgs,
    /// Show the run live in a web browser, at this address or at a free port of 127.0.0.1; the URL
    /// is printed on standard error. Addresses other than loopback require the token in that URL,
    /// or in THRONG_UI_TOKEN
    #[arg(long, value_name = "ADDR", num_args = 0..=1, require_equals = true,
          default_missing_value = "127.0.0.1:0")]
    pub(crate) ui: Option<String>,
    /// Print errors only; see the exit code for the verdict
    #[arg(short, long, conflicts_with = "json")]
    pub(crate) quiet: bool,
    /// Print everything: all findings, percentiles and their intervals, figures by phase, tag and region, and the generator
    #[arg(long)]
    pub(crate) full: bool,
    /// Print the summary as JSON instead of text, with the run's directory
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) results: ResultFiles,
    #[command(flatten)]
    pub(crate) load: LoadArgs,
    #[command(flatten)]
    pub(crate) k6: K6Args,
    #[command(flatten)]
    pub(crate) fleet: fleet::RunFleetArgs,
    #[command(flatten)]
    pub(crate) exports: ExportArgs,
}

/// Files that a run's result is written to, besides its record.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Results")]
pub(crate) struct ResultFiles {
    /// Write JUnit XML: a test case per threshold, and one for whether the run can be trusted
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// Write the verdict and its table as Markdown, for a pull request
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,
    /// Write the report to this file, too, as self-contained HTML
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct DurableArgs {
    /// Sync the record to the disk every three seconds, so that a power cut loses no more than the end
    /// of the process does: the last five seconds
    #[arg(long)]
    durable: bool,
}

impl DurableArgs {
    pub(crate) fn durability(&self) -> Durability {
        match self.durable {
            true => Durability::PowerCut,
            false => Durability::Process,
        }
    }
}

#[derive(Debug, ClapArgs)]
pub(crate) struct SetArgs {
    /// Override a parameter or any value, such as hold=5m or options.timeout=3s
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = parse_set)]
    pub(crate) sets: Vec<(String, String)>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct TsungArgs {
    /// Skip elements of a Tsung file that have no counterpart, with a warning for each
    #[arg(long)]
    pub(crate) lenient: bool,
}

impl TsungArgs {
    pub(crate) fn leniency(&self) -> Leniency {
        if self.lenient { Leniency::Lenient } else { Leniency::Strict }
    }
}

/// Options for a URL; a scenario has keys for them.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "With a URL")]
pub(crate) struct LoadArgs {
    /// Number of concurrent users; each sends its next request when the response arrives [default: 10]
    #[arg(long, alias = "vus", value_name = "N", conflicts_with = "rate")]
    pub(crate) users: Option<u64>,
    /// Request rate, such as 500/s, kept up whether responses arrive or not
    #[arg(long, value_name = "RATE")]
    pub(crate) rate: Option<String>,
    /// Duration of the load, such as 30s [default: 10s]
    #[arg(long, value_name = "DURATION")]
    pub(crate) duration: Option<String>,
    /// HTTP method [default: GET, or POST with a body]
    #[arg(long, value_name = "METHOD")]
    pub(crate) method: Option<String>,
    /// A header, such as 'accept: text/html'; may be repeated
    #[arg(long = "header", short = 'H', value_name = "HEADER")]
    pub(crate) headers: Vec<String>,
    /// Request body
    #[arg(long, value_name = "TEXT")]
    pub(crate) body: Option<String>,
}

/// Flags for scripts of k6.
#[derive(Debug, Clone, Default, ClapArgs)]
#[command(next_help_heading = "Scripts of k6")]
pub(crate) struct K6Args {
    /// Number of iterations, which all users share; instead of the script's scenarios
    #[arg(long, value_name = "N")]
    pub(crate) iterations: Option<u64>,
    /// A variable of __ENV, such as BASE=https://shop.test; may be repeated
    #[arg(long = "env", short = 'e', value_name = "NAME=VALUE")]
    pub(crate) env: Vec<String>,
    /// Exit with the codes of k6: 99 if a threshold does not hold, 107 if the script throws outside of
    /// its iterations, 104 if an option is wrong, 108 if it ends the run, 105 after Ctrl-C, 100 and 101 if setup or teardown
    /// takes too long; 2 if the run cannot be trusted
    #[arg(long)]
    pub(crate) k6_exit_codes: bool,
    /// Write the run's summary to this file in the form of k6's --summary-export
    #[arg(long, value_name = "FILE")]
    pub(crate) summary_export: Option<PathBuf>,
    /// Let handleSummary write files outside of the run's directory: its paths are then relative to the
    /// current one, as those of k6
    #[arg(long)]
    pub(crate) allow_write: bool,
    /// Those of --users.
    #[arg(skip)]
    pub(crate) vus: Option<u64>,
    /// That of --duration.
    #[arg(skip)]
    pub(crate) load_duration: Option<String>,
}

impl K6Args {
    /// Whether the command line has any that a scenario cannot take.
    pub(crate) fn is_given(&self) -> bool {
        self.iterations.is_some()
            || !self.env.is_empty()
            || self.k6_exit_codes
            || self.summary_export.is_some()
            || self.allow_write
    }
}

#[derive(Debug, ClapArgs)]
pub(crate) struct CheckArgs {
    /// The scenario or Tsung file; - reads standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: String,
    #[command(flatten)]
    pub(crate) sets: SetArgs,
    #[command(flatten)]
    pub(crate) tsung: TsungArgs,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ShowArgs {
    /// The run directory; `last` is the newest one in runs
    #[arg(value_parser = parse_run)]
    pub(crate) run: PathBuf,
    #[command(flatten)]
    pub(crate) lost_workers: LostWorkersArgs,
    /// Also write the HTML report, replacing an existing one [default: report.html in the run directory]
    #[arg(long, value_name = "FILE", num_args = 0..=1)]
    pub(crate) html: Option<Option<PathBuf>>,
    /// Print everything: all findings, percentiles and their intervals, figures by phase, tag and region, and the generator
    #[arg(long)]
    pub(crate) full: bool,
    /// Print the summary as JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct NoteArgs {
    /// The run directory; `last` is the newest one in runs
    #[arg(value_parser = parse_run)]
    pub(crate) run: PathBuf,
    /// The note: one line of up to 280 characters. An empty text removes the note; without TEXT it is printed
    pub(crate) text: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct AnalyzeArgs {
    /// The run directory; `last` is the newest one in runs
    #[arg(value_parser = parse_run)]
    pub(crate) run: PathBuf,
    /// Analyse this phase only
    #[arg(long, value_name = "NAME")]
    pub(crate) phase: Option<String>,
    /// Skip this much at the start as warm-up instead of detecting it
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) skip: Option<Duration>,
    /// Length of the windows [default: 20s, or a tenth of a shorter run]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) window: Option<Duration>,
    /// The target counts as down in a second in which this share of operations failed
    #[arg(long, value_name = "SHARE", default_value = "50%", value_parser = parse_part)]
    pub(crate) down: f64,
    /// Print the analysis as JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

const CAPACITY_EXIT_CODES: &str = "\
Exit codes:
  0    found, or the highest requested load holds
  1    even the lowest load fails, or load is not the cause; with `--over`, no value keeps the
       thresholds
  2    undetermined: the generator was the limit, the search reached its maximum of runs or
       time, the target did not come back, or the search was interrupted
  64   invalid command line
  65   invalid scenario, or a scenario without thresholds
  others as for `throng run`";

#[derive(Debug, ClapArgs)]
pub(crate) struct CapacityArgs {
    /// A scenario file; with thresholds, unless --over is given
    #[arg(value_name = "FILE", required_unless_present = "resume")]
    pub(crate) file: Option<String>,
    #[command(flatten)]
    pub(crate) sets: SetArgs,
    /// The setting to vary, as for --set [default: the rate or number of users of the only phase that
    /// has one, or the parameter it comes from]
    #[arg(long, value_name = "KEY")]
    pub(crate) of: Option<String>,
    /// Keep the load, which must be a fixed number of users, and try these values of a setting: which
    /// has the greatest throughput?
    #[arg(long, value_name = "KEY=V1,V2,…", value_parser = parse_set,
          conflicts_with_all = ["of", "from", "at_most", "growth", "within", "steps"])]
    pub(crate) over: Option<(String, String)>,
    /// What has to hold at a load: that users come, finish and leave, or that those who came stay
    #[arg(long, value_enum, default_value_t = AimArg::Finished, conflicts_with = "over")]
    pub(crate) aim: AimArg,
    /// First load to try [default: the scenario's]
    #[arg(long, value_name = "LOAD", value_parser = parse_load)]
    pub(crate) from: Option<f64>,
    /// Highest load to try [default: no limit]
    #[arg(long, value_name = "LOAD", value_parser = parse_load)]
    pub(crate) at_most: Option<f64>,
    /// Multiply the load by this after each one that holds
    #[arg(long, value_name = "TIMES", default_value = "2", value_parser = parse_growth)]
    pub(crate) growth: f64,
    /// Precision: stop when the knee is known within this share
    #[arg(long, value_name = "SHARE", default_value = "5%", value_parser = parse_part)]
    pub(crate) within: f64,
    /// Runs at each load near the knee, of which the majority decides, or of each value of --over
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=99))]
    pub(crate) repeat: u16,
    /// Maximum number of runs, including those before a resume [default: 40]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=9999))]
    pub(crate) steps: Option<u16>,
    /// Start no run that would end later than this [default: 1h]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) time_limit: Option<Duration>,
    /// Pause between two runs
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = parse_duration)]
    pub(crate) pause: Duration,
    /// Directory in which the search's directory is created
    #[arg(long, value_name = "DIR", default_value = RUNS)]
    pub(crate) runs: PathBuf,
    /// Resume the search in this directory; finished runs are kept. Only --steps and --time-limit
    /// may be changed
    #[arg(long, value_name = "DIR", conflicts_with_all = ["file", "sets", "of", "over", "from", "at_most", "growth", "within", "repeat", "pause", "runs", "aim"])]
    pub(crate) resume: Option<PathBuf>,
    /// List the first loads, or all values, and how long the search takes, without running anything
    #[arg(long, conflicts_with_all = ["resume", "quiet", "json", "html"])]
    pub(crate) plan: bool,
    /// Run even if this machine cannot hold that many users
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) durable: DurableArgs,
    /// Write the report to this file as self-contained HTML [default: report.html in its directory]
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Print errors only; see the exit code for the verdict
    #[arg(short, long, conflicts_with = "json")]
    pub(crate) quiet: bool,
    /// Print the result as JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct MetersArgs {
    /// Run directories, measured or imported
    #[arg(required = true, value_name = "RUN")]
    pub(crate) runs: Vec<PathBuf>,
    /// File that defines the meters' inputs; see examples/meters
    #[arg(long, value_name = "FILE")]
    pub(crate) meters: String,
    /// Price list of the systems under test; see examples/prices
    #[arg(long, value_name = "FILE")]
    pub(crate) prices: Option<String>,
    /// Name of the run that the normalised meters refer to [default: the file's, or the first run]
    #[arg(long, value_name = "NAME")]
    pub(crate) reference: Option<String>,
    /// Write the report to this file as self-contained HTML
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct LostWorkersArgs {
    /// If worker processes are lost, judge what the others measured
    #[arg(long)]
    pub(crate) allow_lost_workers: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct WorkerArgs {
    /// Address of the controller; its token is read from standard input
    #[arg(long, value_name = "ADDR")]
    pub(crate) connect: SocketAddr,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct DoctorArgs {
    /// Check whether this machine can hold this many concurrent users, and print the commands that
    /// raise its limits; the exit code is 0 if it can, otherwise 1
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=USERS_MAX))]
    pub(crate) users: Option<u64>,
    /// The target runs on another machine
    #[arg(long, requires = "users")]
    pub(crate) target_elsewhere: bool,
    /// Source addresses to connect from, if the target is elsewhere
    #[arg(long, value_name = "N", default_value = "1", requires = "target_elsewhere", value_parser = clap::value_parser!(u64).range(1..=65_536))]
    pub(crate) source_addresses: u64,
    /// Apply the settings instead of printing commands; requires root
    #[arg(long, requires = "users")]
    pub(crate) apply: bool,
}
