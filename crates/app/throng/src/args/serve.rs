//! The command line of `throng serve`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as ClapArgs, Subcommand, ValueEnum};

use super::{ads, balancer, market, queue, worker};
use crate::settings::{parse_address, parse_duration};

#[derive(Debug, ClapArgs)]
pub(crate) struct ServeArgs {
    #[command(subcommand)]
    pub(crate) system: System,
}

#[derive(Debug, Subcommand)]
pub(crate) enum System {
    /// Prediction market: WebSocket API, broadcasts, REST reads
    Market(Box<market::MarketArgs>),
    /// Chat: polling, server-sent events, WebSocket, ActionCable and Phoenix channels
    Chat(ChatArgs),
    /// Ad network: ad selection by performance, events, records, access log
    Ads(Box<ads::AdsArgs>),
    /// Message queue in front of PostgreSQL: framed requests over TCP, stored functions
    Queue(Box<queue::QueueArgs>),
    /// Load balancer for HTTP/1.1, with policies old and new
    Balancer(Box<balancer::BalancerArgs>),
    /// Worker with a service time, a queue and faults, for balancers to balance
    Worker(Box<worker::WorkerArgs>),
    /// gRPC server that echoes messages
    Grpc(HelloArgs),
    /// HTTP and gRPC server that freezes on a schedule
    Stall(StallArgs),
    /// Minimal WebSocket and HTTP echo server
    Echo(EchoArgs),
    /// Minimal HTTP responder for measuring clients
    Hello(HelloArgs),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ListenArgs {
    /// Address to listen on; a port alone means loopback, port 0 any free port
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8080", value_parser = parse_address)]
    pub(crate) listen: SocketAddr,
    /// Stop when standard input closes, so that the server cannot outlive its parent
    #[arg(long)]
    pub(crate) until_stdin_closes: bool,
}

/// What Throng says to the processes that it starts for `--processes`.
#[derive(Debug, ClapArgs)]
pub(crate) struct ProcessArgs {
    /// For one of several processes: their group and address.
    #[arg(long, hide = true, value_parser = parse_process)]
    pub(crate) process_of: Option<(String, SocketAddr)>,
    /// For one of several processes: its number, counted from 0.
    #[arg(long, hide = true, requires = "process_of")]
    pub(crate) process_number: Option<u16>,
}

/// `GROUP@ADDR`.
fn parse_process(text: &str) -> Result<(String, SocketAddr), String> {
    let parts = text.split_once('@');
    let parts = parts.and_then(|(group, address)| Some((group.to_owned(), address.parse().ok()?)));
    parts.ok_or_else(|| "only throng itself starts processes with this option".to_owned())
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ChatArgs {
    #[command(flatten)]
    pub(crate) listen: ListenArgs,
    /// Minimum number of serving threads [default: one per core, at least 2]
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
    /// Expected concurrent connections; starts as many threads as their open files require
    #[arg(long, value_name = "N")]
    pub(crate) connections: Option<usize>,
    /// Limit on open files, to act as a small server; further connections wait [default: the system's
    /// limit]
    #[arg(long, value_name = "N", conflicts_with = "connections")]
    pub(crate) files: Option<u32>,
    /// Keep the history in this SQLite database [default: in memory]
    #[arg(long, value_name = "PATH")]
    pub(crate) store: Option<PathBuf>,
    /// Messages kept per room [default: 1000]
    #[arg(long, value_name = "N")]
    pub(crate) history: Option<usize>,
    /// Maximum number of rooms [default: 100]
    #[arg(long, value_name = "N")]
    pub(crate) rooms: Option<usize>,
    /// Interval of heartbeats on streams and pings on idle sockets; 0s disables them [default: 30s]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) heartbeat: Option<Duration>,
    /// Close Phoenix connections that were idle for this long; 0s disables it [default: 60s]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) phoenix_timeout: Option<Duration>,
    /// Names of events and fields
    #[arg(long, value_enum, default_value_t = NamesArg::Own)]
    pub(crate) names: NamesArg,
}

/// Names that clients of the chat know.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum NamesArg {
    /// Those of docs/chat.md
    Own,
    /// Those of the prototypes that were published: `refresh`, `publish` and `body`
    Published,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct StallArgs {
    #[command(flatten)]
    pub(crate) listen: ListenArgs,
    #[command(flatten)]
    pub(crate) tls: TlsArgs,
    /// Response delay [default: 1ms]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) delay: Option<Duration>,
    /// Length of a stall [default: 1s]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) stall: Option<Duration>,
    /// Interval from the end of one stall to the end of the next [default: 10s]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) every: Option<Duration>,
}

/// TLS of listeners that speak HTTP/1.1 and HTTP/2.
#[derive(Debug, ClapArgs)]
pub(crate) struct TlsArgs {
    /// PEM file of a certificate; the server then speaks TLS
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// PEM file of the certificate's key
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct HelloArgs {
    #[command(flatten)]
    pub(crate) small: SmallArgs,
    #[command(flatten)]
    pub(crate) tls: TlsArgs,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct EchoArgs {
    #[command(flatten)]
    pub(crate) small: SmallArgs,
    /// Echo raw bytes without any protocol
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
