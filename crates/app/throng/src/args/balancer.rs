//! The command line of `throng serve balancer`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as ClapArgs, ValueEnum};

use super::ads::LogFormatArg;
use super::serve::ListenArgs;
use crate::full::policies;
use crate::settings::{parse_address, parse_duration, parse_share, parse_size};

#[derive(Debug, ClapArgs)]
pub(crate) struct BalancerArgs {
    #[command(flatten)]
    pub(crate) listen: ListenArgs,
    /// Number of serving threads [default: one per core, at least 2]
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
    /// Backends, separated by commas: http://HOST:PORT, each followed by ;weight=N, ;limit=N and ;region=NAME if
    /// needed. Or a file with one per line, `http://HOST:PORT weight=N limit=N region=NAME`, which SIGHUP reads again
    #[arg(
        long,
        value_name = "URL,…|FILE",
        required_unless_present = "workers",
        value_delimiter = ','
    )]
    pub(crate) to: Vec<String>,
    /// Start these workers in this process as the backends: a file with one per line, flags of `serve worker`, weight and
    /// limit: `name=US-0; region=us; speed=0.9; weight=2`
    #[arg(long, value_name = "FILE", conflicts_with = "to")]
    pub(crate) workers: Option<PathBuf>,
    /// How backends are chosen
    #[arg(long, value_name = "POLICY", value_parser = policies(), default_value = "round-robin")]
    pub(crate) policy: String,
    /// Where weights come from
    #[arg(long, value_enum, default_value_t = WeightsArg::Listed)]
    pub(crate) weights: WeightsArg,
    /// Region of the balancer: backends of other regions are used if none of it can be [default: regions do not matter]
    #[arg(long, value_name = "NAME")]
    pub(crate) region: Option<String>,
    /// Load at which requests spill over to other regions: requests in flight in the region per unit of its weight
    /// [default: never]
    #[arg(long, value_name = "N", requires = "region")]
    pub(crate) spill_at: Option<f64>,
    /// Keep a client's requests on one backend by a cookie of this name [default: no cookie]
    #[arg(long, value_name = "COOKIE")]
    pub(crate) sticky: Option<String>,
    /// Header field whose value identifies a client for source-hash, ring-hash and maglev [default: its address]
    #[arg(long, value_name = "NAME", value_parser = parse_field)]
    pub(crate) hash_by: Option<String>,
    /// Address of /metrics, /healthz and /backends [default: none]
    #[arg(long, value_name = "ADDR", value_parser = parse_address)]
    pub(crate) metrics_listen: Option<SocketAddr>,
    /// Maximum client connections per thread [default: 20000]
    #[arg(long, value_name = "N")]
    pub(crate) connections: Option<usize>,
    /// Idle connections kept to each backend, per thread [default: 64]
    #[arg(long, value_name = "N")]
    pub(crate) pool: Option<usize>,
    /// Maximum size of a request's body [default: 64MiB]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(crate) body_max: Option<usize>,
    /// Time limit for connecting to a backend [default: 2s]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) connect_timeout: Option<Duration>,
    /// Time limit from the end of a request to the first byte of its response, and between two bytes of it [default: 60s]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) response_timeout: Option<Duration>,
    /// Time limit for a client's head, from its first byte [default: 10s]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) head_timeout: Option<Duration>,
    /// Time limit for a client connection without a request [default: 75s]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) idle_timeout: Option<Duration>,
    /// Time limit for a client that sends nothing of a body or takes nothing of a response [default: 30s]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) stall_timeout: Option<Duration>,
    /// Time limit for a request, from its head to the end of its response [default: none]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) request_timeout: Option<Duration>,
    /// Further backends to try if one fails, for idempotent requests without a body [default: 0]
    #[arg(long, value_name = "N")]
    pub(crate) retries: Option<u32>,
    /// Retries as a share of requests [default: 20%]
    #[arg(long, value_name = "SHARE", value_parser = parse_share)]
    pub(crate) retry_budget: Option<f64>,
    #[command(flatten)]
    pub(crate) health: HealthArgs,
    /// Write an access log [default: none]
    #[arg(long, value_name = "PATH")]
    pub(crate) access_log: Option<PathBuf>,
    /// Format of the access log
    #[arg(long, value_enum, default_value_t = LogFormatArg::Combined)]
    pub(crate) log_format: LogFormatArg,
    /// Random seed of the policies [default: 1]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct HealthArgs {
    /// Path that backends answer with a status below 400 while they are healthy [default: not checked]
    #[arg(long, value_name = "PATH")]
    pub(crate) health_path: Option<String>,
    /// Time between checks [default: 2s]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, requires = "health_path")]
    pub(crate) health_every: Option<Duration>,
    /// Time limit of a check [default: 1s]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, requires = "health_path")]
    pub(crate) health_timeout: Option<Duration>,
    /// Successful checks in a row until a backend is up [default: 2]
    #[arg(long, value_name = "N", requires = "health_path")]
    pub(crate) rise: Option<u32>,
    /// Failed checks in a row until it is down [default: 3]
    #[arg(long, value_name = "N", requires = "health_path")]
    pub(crate) fall: Option<u32>,
    /// Failed requests in a row until a backend is ejected; 0 disables it [default: 5]
    #[arg(long, value_name = "N")]
    pub(crate) eject_after: Option<u32>,
    /// Time over which failures are counted beside that; 0s: they are not [default: 10s]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) eject_window: Option<Duration>,
    /// Share of a window's requests that a backend must fail to be ejected, if it does not fail far more than the others
    /// [default: 50%]
    #[arg(long, value_name = "SHARE", value_parser = parse_share)]
    pub(crate) eject_share: Option<f64>,
    /// Length of the first ejection; each further one is longer by as much [default: 10s]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) eject_for: Option<Duration>,
    /// Maximum share of backends ejected at once [default: 50%]
    #[arg(long, value_name = "SHARE", value_parser = parse_share)]
    pub(crate) eject_max: Option<f64>,
    /// Time in which the weight of a backend that came back rises [default: 0s]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) slow_start: Option<Duration>,
}

/// Where weights come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum WeightsArg {
    /// The list of backends
    Listed,
    /// What backends report of their work at /load
    Learned,
}

/// The name of a header field.
fn parse_field(text: &str) -> Result<String, String> {
    match !text.is_empty() && text.bytes().all(scenario::is_token_byte) {
        true => Ok(text.to_owned()),
        false => Err("expected the name of a header field, such as X-User".to_owned()),
    }
}
