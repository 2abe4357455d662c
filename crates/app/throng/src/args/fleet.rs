//! Arguments of `agent`, of `fleet`, and of runs by a fleet.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as ClapArgs, Subcommand, ValueEnum};

use super::SetArgs;
use crate::args::{DurableArgs, LostWorkersArgs, ResultFiles};
use crate::settings::{RUNS, parse_duration, parse_place, parse_set, parse_size};

/// Most agents of `fleet up`.
const LOCAL_MAX: i64 = 1_000;

/// Who we are at NATS, and whom we trust.
#[derive(Debug, ClapArgs)]
pub(crate) struct AccessArgs {
    /// Credentials of NATS: a file with a user's JWT and the seed of its NKey
    #[arg(long, value_name = "FILE")]
    pub(crate) nats_creds: Option<PathBuf>,
    /// A file with the seed of an NKey
    #[arg(long, value_name = "FILE", conflicts_with = "nats_creds")]
    pub(crate) nats_nkey: Option<PathBuf>,
    /// PEM file of an authority that NATS' certificate may be signed by; may be repeated
    #[arg(long, value_name = "FILE")]
    pub(crate) nats_ca: Vec<PathBuf>,
    /// PEM file of our own certificate for NATS
    #[arg(long, value_name = "FILE", requires = "nats_key")]
    pub(crate) nats_cert: Option<PathBuf>,
    /// PEM file of its key
    #[arg(long, value_name = "FILE", requires = "nats_cert")]
    pub(crate) nats_key: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct NatsArgs {
    /// The NATS server, with JetStream: nats://HOST:PORT, or tls://HOST:PORT
    #[arg(long, alias = "fleet", value_name = "URL")]
    pub(crate) nats: String,
    #[command(flatten)]
    pub(crate) access: AccessArgs,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct AgentArgs {
    /// The NATS server of the fleet, with JetStream: nats://HOST:PORT, or tls://HOST:PORT
    #[arg(long, value_name = "URL", required_unless_present = "job")]
    pub(crate) nats: Option<String>,
    #[command(flatten)]
    pub(crate) access: AccessArgs,
    /// Its name in the fleet: letters, digits, - and _ [default: host and process]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// A label that runs can select by, such as region=eu; may be repeated
    #[arg(long = "label", value_name = "KEY=VALUE", value_parser = parse_set)]
    pub(crate) labels: Vec<(String, String)>,
    /// How many agents share this machine: each has that part of its cores and limits [default: 1]
    #[arg(long, value_name = "N", default_value_t = 1, hide_default_value = true,
          value_parser = clap::value_parser!(u32).range(1..=LOCAL_MAX))]
    pub(crate) parts: u32,
    /// End after the first run
    #[arg(long)]
    pub(crate) once: bool,
    /// Take runs only that this key has signed: see `throng fleet key`; may be repeated
    #[arg(long, value_name = "KEY")]
    pub(crate) trust: Vec<String>,
    /// Sign what it reports by this key, which runs with --trust require: see `throng fleet key`
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,
    /// Send load only to this HOST:PORT; may be repeated [default: anywhere]
    #[arg(long, value_name = "HOST:PORT", value_parser = parse_place)]
    pub(crate) allow: Vec<String>,
    /// Directory for what was measured and the controller has not stored yet [default: below /var/tmp]
    #[arg(long, value_name = "DIR")]
    pub(crate) spool: Option<PathBuf>,
    /// How much of it is kept of one run. What the controller has not stored stays, and rows are sampled
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = parse_size)]
    pub(crate) spool_max: usize,
    /// Directory for rows that a run leaves here (`throng run --rows leave`) [default: below /var/tmp]
    #[arg(long, value_name = "DIR")]
    pub(crate) rows_dir: Option<PathBuf>,
    /// How much of them is kept of one run; further rows are not written
    #[arg(long, value_name = "SIZE", default_value = "16GiB", value_parser = parse_size)]
    pub(crate) rows_max: usize,
    /// How long they are kept
    #[arg(long, value_name = "DURATION", default_value = "7d", value_parser = parse_duration)]
    pub(crate) rows_keep: Duration,
    /// Run the worker of one run; what it is comes by standard input
    #[arg(long, hide = true, conflicts_with_all = ["nats", "name", "labels"])]
    pub(crate) job: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct FleetArgs {
    #[command(subcommand)]
    pub(crate) verb: FleetVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum FleetVerb {
    /// Start nats-server and agents on this machine; Ctrl-C ends them
    Up(UpArgs),
    /// Show the agents and the runs in progress
    Status(NatsArgs),
    /// List the agents: what they can hold, their labels, and what they do
    Agents(NatsArgs),
    /// List runs: those in progress, those without a controller, and those of the last seven days
    Runs(NatsArgs),
    /// Continue a run whose controller is gone, here: from what its agents have measured since its start
    Attach(AttachArgs),
    /// Bring rows into a run's directory that its agents have kept (`throng run --rows leave`)
    Fetch(FetchArgs),
    /// Write a new key to a file, and print the public one, which agents may trust
    Key(KeyArgs),
    /// End a run in good order, as Ctrl-C does at its controller
    Stop(StopArgs),
    /// Let agents finish their run, take no other, and end
    Drain(DrainArgs),
    /// Wait until NATS answers and agents are free
    Wait(WaitArgs),
    /// Print what Kubernetes needs to run a scenario by a fleet: the objects of the Helm chart, as YAML
    Manifest(ManifestArgs),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct UpArgs {
    /// Number of agents
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=LOCAL_MAX))]
    pub(crate) local: u32,
    /// Directory of the streams; kept [default: a temporary one, removed at the end]
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct StopArgs {
    /// The run, as `throng fleet status` names it
    #[arg(value_name = "RUN")]
    pub(crate) run: String,
    #[command(flatten)]
    pub(crate) nats: NatsArgs,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct KeyArgs {
    /// The file, which must not exist
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct AttachArgs {
    /// The run, as `throng fleet runs` names it
    #[arg(value_name = "RUN")]
    pub(crate) run: String,
    #[command(flatten)]
    pub(crate) nats: NatsArgs,
    /// The key that the run was begun with
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,
    /// Directory in which the run directory is created
    #[arg(long, value_name = "DIR", default_value = RUNS)]
    pub(crate) runs: PathBuf,
    #[command(flatten)]
    pub(crate) durable: DurableArgs,
    #[command(flatten)]
    pub(crate) lost_workers: LostWorkersArgs,
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
}

#[derive(Debug, ClapArgs)]
pub(crate) struct FetchArgs {
    /// The run's directory
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,
    #[command(flatten)]
    pub(crate) nats: NatsArgs,
    /// Sign the requests by this key, which agents with --trust require
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,
    /// Let agents remove their rows of the run once all are here
    #[arg(long)]
    pub(crate) remove: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct DrainArgs {
    #[command(flatten)]
    pub(crate) nats: NatsArgs,
    /// Sign the request by this key, which agents with --trust require
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,
    /// Those with this label only; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_set)]
    pub(crate) select: Vec<(String, String)>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct WaitArgs {
    #[command(flatten)]
    pub(crate) nats: NatsArgs,
    /// Number of free agents; 0: NATS only
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) agents: u32,
    /// Count agents with this label only; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_set)]
    pub(crate) select: Vec<(String, String)>,
    /// Give up after this long
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = parse_duration)]
    pub(crate) within: Duration,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ManifestArgs {
    /// The scenario file; - reads standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: String,
    #[command(flatten)]
    pub(crate) sets: SetArgs,
    /// Number of agents
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=LOCAL_MAX))]
    pub(crate) agents: u32,
    /// Where the image of this version was published
    #[arg(long, value_name = "IMAGE", default_value = concat!("localhost/throng:", env!("CARGO_PKG_VERSION")))]
    pub(crate) image: String,
    /// The namespace of all objects [default: that of kubectl]
    #[arg(long, value_name = "NAME")]
    pub(crate) namespace: Option<String>,
    /// Prefix of the objects' names; another one for each run
    #[arg(long, value_name = "NAME", default_value = "throng")]
    pub(crate) name: String,
    /// A NATS server of yours, with JetStream: nats://HOST:PORT, or tls://HOST:PORT [default: one is started]
    #[arg(long, value_name = "URL")]
    pub(crate) nats: Option<String>,
}

/// What becomes of the rows of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RowsArg {
    /// They come to the record in the course of the run
    Fetch,
    /// They stay on the agents' machines, until `throng fleet fetch` brings them
    Leave,
    /// None are written: no figure of single operations is kept
    None,
}

/// What a run does if an agent is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnLossArg {
    /// The others go on; the run is untrusted
    Fail,
    /// The others go on and are judged, as with --allow-lost-workers
    Continue,
    /// The others also start the users whom it had still to start, from a stated moment on; the run is judged
    Rebalance,
}

/// Options of a run by a fleet.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "With a fleet")]
pub(crate) struct RunFleetArgs {
    /// Let the agents at this NATS server run the event loops: nats://HOST:PORT
    #[arg(long, value_name = "URL", conflicts_with_all = ["workers", "netns"])]
    pub(crate) fleet: Option<String>,
    #[command(flatten)]
    pub(crate) access: AccessArgs,
    /// Take this number of agents, those that can hold the most [default: all]
    #[arg(long, value_name = "N", requires = "fleet", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) agents: Option<u32>,
    /// Take agents with this label only; may be repeated
    #[arg(long, value_name = "KEY=VALUE", requires = "fleet", value_parser = parse_set)]
    pub(crate) select: Vec<(String, String)>,
    /// Do not start with fewer [default: the number of --agents, or 1]
    #[arg(long, value_name = "N", requires = "fleet", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) min_agents: Option<u32>,
    /// What happens if an agent is lost
    #[arg(long, value_enum, default_value_t = OnLossArg::Fail, requires = "fleet")]
    pub(crate) on_loss: OnLossArg,
    /// What becomes of rows, one for each operation
    #[arg(long, value_enum, default_value_t = RowsArg::Fetch, requires = "fleet")]
    pub(crate) rows: RowsArg,
    /// An agent that was silent for this time is lost
    #[arg(long, value_name = "DURATION", default_value = "30s", requires = "fleet", value_parser = parse_duration)]
    pub(crate) lost_after: Duration,
    /// Sign the run by this key, and seal the scenario so that only its agents can read it
    #[arg(long, value_name = "FILE", requires = "fleet")]
    pub(crate) key: Option<PathBuf>,
    /// Take agents with this key only, and reports that it has signed: see `throng agent --key`; may be repeated
    #[arg(long, value_name = "KEY", requires = "fleet")]
    pub(crate) trust: Vec<String>,
    /// Agents continue for this long without a controller, so that another one can continue the run [default: the plan's
    /// length and ten minutes]
    #[arg(long, value_name = "DURATION", requires = "fleet", value_parser = parse_duration)]
    pub(crate) alone: Option<Duration>,
    /// Do not start if the clock of an agent is known less exactly than this
    #[arg(long, value_name = "DURATION", default_value = "5ms", requires = "fleet", value_parser = parse_duration)]
    pub(crate) clock_bound: Duration,
}
