//! One request on one connection to a backend, both directions at once.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use tokio::net::TcpStream;

use super::download::{Download, Response};
use super::io::{Pace, write};
use super::pool::Upstream;
use super::upload::{BodyLimits, ClientFault, Progress, upload};
use crate::http::{Framing, RequestHead};

/// Why a request got no complete response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Failure {
    /// The backend could not be connected to. Nothing was sent.
    Connect,
    /// The balancer has no file, port or memory for a connection. Nothing was sent.
    Local,
    /// A connection that had been idle ended without a byte of a response.
    Stale,
    /// The backend broke off before its response.
    Broken,
    /// It did not respond in time.
    TimedOut,
    /// The request as a whole took too long.
    Deadline,
    /// The response is malformed.
    BadResponse,
    /// The response is an error that another backend may not have.
    Status(u16),
    /// The response broke off in the middle.
    Truncated,
    /// The same, and only a reset shows it to the client.
    Reset,
    /// The client left.
    ClientGone,
    /// The client does not read.
    ClientSlow,
    /// The client's body cannot be sent on.
    Client(ClientFault),
}

impl Failure {
    /// Whether it is the backend's.
    pub(super) fn is_backends(self) -> bool {
        !matches!(
            self,
            Failure::Local
                | Failure::Deadline
                | Failure::ClientGone
                | Failure::ClientSlow
                | Failure::Client(_)
        )
    }
}

/// Conditions of an exchange.
#[derive(Debug)]
pub(super) struct Terms<'a> {
    pub(super) head: &'a RequestHead,
    pub(super) response_timeout: Duration,
    pub(super) stall: Duration,
    pub(super) body_max: u64,
    /// Whether a response that says that a backend cannot serve is not passed on.
    pub(super) may_retry: bool,
    /// The field that puts the session on this backend, if it is not there.
    pub(super) set_cookie: Option<String>,
    /// Whether the balancer is stopping.
    pub(super) stopping: &'a Cell<bool>,
    /// A buffer for what is sent to the client.
    pub(super) out: &'a RefCell<Vec<u8>>,
}

/// Sends the request, of whose body some bytes may be in `client_inbox`, and passes the response on. What the backend
/// sent behind it stays in `inbox`.
pub(super) async fn exchange(
    terms: &Terms<'_>,
    client: &mut TcpStream,
    client_inbox: &mut Vec<u8>,
    upstream: &mut Upstream,
    inbox: &mut Vec<u8>,
    progress: &Progress,
) -> Result<Response, Failure> {
    let (mut client_read, mut client_write) = client.split();
    let (mut upstream_read, mut upstream_write) = upstream.stream.split();
    let mut framing = terms.head.framing;
    let mut first_bytes = &terms.head.forwarded;
    let with_body;
    if let Framing::Length(length) = framing
        && !client_inbox.is_empty()
    {
        // A short body goes out with its head.
        let count = usize::try_from(length).unwrap_or(usize::MAX).min(client_inbox.len());
        with_body = [&first_bytes[..], &client_inbox[..count]].concat();
        client_inbox.drain(..count);
        framing = match length - count as u64 {
            0 => Framing::None,
            left => Framing::Length(left),
        };
        first_bytes = &with_body;
    }
    progress.uploaded.set(framing == Framing::None);
    let sent = write(&mut upstream_write, first_bytes, &mut Pace::new(terms.stall)).await;
    if sent.is_err() {
        return Err(match upstream.reused {
            true => Failure::Stale,
            false => Failure::Broken,
        });
    }
    progress.sent.set(tokio::time::Instant::now());
    let limits = BodyLimits {
        stall: terms.stall,
        bytes_max: terms.body_max,
        expects_continue: terms.head.expects_continue,
    };
    let mut download = Download {
        from: &mut upstream_read,
        inbox,
        to: &mut client_write,
        terms,
        progress,
        reused: upstream.reused,
    };
    let upload =
        upload(&mut client_read, client_inbox, framing, &mut upstream_write, limits, progress);
    tokio::select! {
        biased;
        response = download.run() => response,
        fault = upload => Err(match fault {
            ClientFault::Gone => Failure::ClientGone,
            fault => Failure::Client(fault),
        }),
    }
}
