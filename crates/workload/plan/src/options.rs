//! Run-wide settings.

use std::net::IpAddr;

use serde::Serialize;

use crate::hosts::HostAddress;

/// Run-wide settings. Defaults are in `docs/scenario-reference.md`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Options {
    /// TCP and TLS set-up of one connection.
    pub connect_timeout_ns: u64,
    pub connect_retries: ConnectRetries,
    /// Connections that may be set up at once, in all loops together, before users that fall due
    /// have to wait; `None`: as the network takes them.
    pub connecting_max: Option<u64>,
    /// How long sessions may take to finish after the last phase.
    pub drain_ns: u64,
    /// Local addresses to connect from, in turn. Empty: the kernel's choice, and 127.0.0.0/8 is
    /// used up address by address where the target is on loopback and ports run out.
    pub source_addresses: Vec<IpAddr>,
    pub dns: Dns,
    /// Where hosts are reached that are not at the address of their name.
    pub hosts: Vec<HostAddress>,
    pub tls: Tls,
    /// HTTP version of requests, event streams and polls, and of WebSockets if they are streams.
    pub http: HttpVersion,
    pub websockets: WebSockets,
    pub http_connections: HttpConnections,
    /// Connections of one user to one endpoint, for branches that run at the same time; at least 1.
    pub connections_max: u32,
    /// The body of an HTTP response, without chunked coding. Heads have a limit of their own.
    pub response_bytes_max: usize,
    /// One WebSocket message or server-sent event.
    pub message_bytes_max: usize,
    pub mode: Mode,
    /// How many event loops; `None`: the mode's own rule.
    pub loops_count: Option<u32>,
    /// Above this p99 lag the run is not trusted.
    pub lag_max_ns: u64,
    /// Failures of each kind that are kept as their users saw them; 0: none.
    pub samples: u8,
}

/// How users learn of the addresses of names.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Dns {
    /// How many resolvers the users of a region are behind; each queries by itself. At least 1.
    pub resolvers_count: u32,
    /// The share of users that keep the first answer for the whole run, whatever its time to live.
    pub ignore_ttl: f64,
}

/// Attempts after a connection that the target refused, reset or did not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ConnectRetries {
    /// How often it is tried again for one operation; 0: never.
    pub times: u8,
    /// How long after it failed.
    pub pause_ns: u64,
}

/// Which HTTP is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum HttpVersion {
    /// HTTP/1.1.
    Http1,
    /// HTTP/2, which servers without TLS have to expect, and others to choose.
    Http2,
    /// HTTP/2 if the server chooses it while TLS is set up, otherwise HTTP/1.1.
    Auto,
}

/// How WebSockets are opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum WebSockets {
    /// Each by an upgrade from HTTP/1.1, on a connection of its own (RFC 6455).
    Upgrade,
    /// As streams of HTTP/2 where `http` has that (RFC 8441).
    Streams,
}

/// Owner of HTTP connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum HttpConnections {
    /// Each user keeps one per endpoint until it finishes.
    User,
    /// A loop's users share idle ones; more are opened when none is idle.
    Shared,
    /// Each user keeps one per endpoint until its session ends; the next session opens others.
    Session,
    /// Each request has one of its own.
    Request,
}

/// How the loops wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Mode {
    /// Precise while the planned users fit, else wide.
    Auto,
    /// One loop a core that sleeps until just before the next due time and then spins.
    Precise,
    /// Several loops a core, millisecond punctuality, any number of users.
    Wide,
}

/// Certificates.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Tls {
    /// False: any certificate is accepted (said aloud in the run's findings).
    pub verify: bool,
    /// PEM files of further trusted roots.
    pub ca_files: Vec<String>,
    /// PEM files of the certificate that users have, and of its key.
    pub identity_files: Option<(String, String)>,
    /// Sent and checked instead of the endpoint's host.
    pub server_name: Option<String>,
    /// The sessions of before that new connections resume.
    pub resumption: TlsResumption,
}

/// The TLS sessions of before that new connections resume.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum TlsResumption {
    /// Those of the same user: a user's first connection to a server is a full handshake.
    Own,
    /// Those of any user of the process.
    Shared,
    /// None.
    Off,
}
