//! One request: a backend, or several one after the other, and what is made of their answers.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use server::access_log::{Entry, Label};
use server::wall_ms;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout, timeout_at};

use super::checks::probe;
use super::connection::{Local, own_response};
use super::download::Response;
use super::exchange::{Failure, Terms, exchange};
use super::metrics::Phases;
use super::pool::{Upstream, is_local};
use super::shared::Flight;
use super::tunnel::{TunnelLimits, tunnel};
use super::upload::{ClientFault, Progress};
use crate::hash::{hash_bytes, hash_text};
use crate::health::Sign;
use crate::http::{Framing, RequestHead, set_cookie};
use crate::policy::Request;

/// How long a client may take to take a response of the balancer's own.
const OWN_WITHIN: Duration = Duration::from_secs(5);
/// The status that logs have for a client that left, as in nginx.
const CLIENT_GONE: u16 = 499;

/// The next stage of a client's connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// It may send another request.
    Request,
    Close,
    /// It is closed once the client had time to read.
    Linger,
}

/// A request under way.
struct Job<'a> {
    local: &'a Rc<Local>,
    head: &'a RequestHead,
    came: Instant,
    /// When it is given up, whatever moves.
    deadline: Option<Instant>,
    out: &'a RefCell<Vec<u8>>,
}

/// How a request ended.
struct RequestEnd {
    next: Next,
    status: u16,
    bytes: u64,
    backend: Option<String>,
}

/// Serves the request with this head, whose body and whatever follows it is in `inbox` and on the connection.
pub(super) async fn answer(
    local: &Rc<Local>,
    stream: &mut TcpStream,
    inbox: &mut Vec<u8>,
    head: &RequestHead,
    peer: SocketAddr,
    out: &RefCell<Vec<u8>>,
) -> Next {
    let router = &local.router;
    router.metrics.requests.add(1);
    router.earn_retries();
    let came = Instant::now();
    let limit = router.options.timeouts.request;
    let job = Job {
        local,
        head,
        came,
        // A deadline that no clock reaches is none.
        deadline: limit.and_then(|limit| came.checked_add(limit)),
        out,
    };
    let at_ms = router.log.as_ref().map(|_| wall_ms());
    let ended = job.run(stream, inbox, peer).await;
    // A WebSocket was counted when it began.
    if ended.status != 101 {
        router.metrics.responded(ended.status);
    }
    if let (Some(log), Some(at_ms)) = (&router.log, at_ms) {
        log.log(&Entry {
            at_ms,
            took: job.came.elapsed(),
            peer,
            method: &head.line.method,
            uri: &head.line.target,
            version: if head.is_1_1 { "HTTP/1.1" } else { "HTTP/1.0" },
            status: ended.status,
            bytes: ended.bytes,
            referer: head.referer.as_deref(),
            agent: head.agent.as_deref(),
            label: Label(Some(("backend", ended.backend.as_deref()))),
            user: None,
        });
    }
    ended.next
}

impl Job<'_> {
    async fn run(
        &self,
        stream: &mut TcpStream,
        inbox: &mut Vec<u8>,
        peer: SocketAddr,
    ) -> RequestEnd {
        let router = &self.local.router;
        if let Framing::Length(length) = self.head.framing
            && length > router.options.body_max
        {
            return self.own(stream, 413, "the body is too large").await;
        }
        let mut tried = Vec::new();
        let mut last = None;
        loop {
            let request = Request { source: self.source(peer), now_ns: router.now_ns() };
            let Some((mut flight, queries)) =
                router.shared.begin(&request, self.head.session, &tried)
            else {
                if let Some(failure) = last {
                    return self.failed(stream, failure).await;
                }
                router.metrics.unplaced.add(1);
                return self.own(stream, 503, "no backend can take the request").await;
            };
            self.count_place(&flight, tried.is_empty());
            for query in queries {
                tokio::task::spawn_local(probe(Rc::clone(self.local), query));
            }
            let may_retry = self.may_retry(tried.len());
            let progress = Progress::new();
            let attempt = self.attempt(stream, inbox, &mut flight, may_retry, &progress);
            let result = attempt.await;
            let id = flight.id();
            let backend = router.log.as_ref().map(|_| flight.backend().member.name.clone());
            drop(flight);
            let mut ended = match result {
                Ok(response) => self.responded(response, &progress, inbox.is_empty()),
                Err(failure) if progress.begun.get() => self.truncated(stream, failure),
                Err(failure) => {
                    self.count(failure);
                    if may_retry && failure.is_backends() && router.take_retry() {
                        router.metrics.retries.add(1);
                        tried.push(id);
                        last = Some(failure);
                        continue;
                    }
                    self.failed(stream, failure).await
                }
            };
            ended.backend = backend;
            return ended;
        }
    }

    /// Counts where the request went.
    fn count_place(&self, flight: &Flight, is_first: bool) {
        let router = &self.local.router;
        let region = flight.backend().member.region.as_ref();
        let locality = router.options.locality.as_ref();
        if locality.is_some_and(|own| region != Some(&own.region)) {
            router.metrics.spilled.add(1);
        }
        match self.head.session {
            Some(session) if is_first && session == flight.id() => router.metrics.stayed.add(1),
            Some(_) if is_first => router.metrics.moved.add(1),
            _ => {}
        }
    }

    /// Hash by which hashing policies know the client.
    fn source(&self, peer: SocketAddr) -> u64 {
        match &self.head.key {
            Some(key) => hash_text(key),
            None => match peer.ip().to_canonical() {
                std::net::IpAddr::V4(ip) => hash_bytes(&ip.octets()),
                std::net::IpAddr::V6(ip) => hash_bytes(&ip.octets()),
            },
        }
    }

    /// Whether the request may be sent to another backend after this many were tried: it may if sending it twice is as
    /// good as once, and if nothing of it is used up.
    fn may_retry(&self, tried: usize) -> bool {
        self.is_repeatable() && tried < self.local.router.options.retries as usize
    }

    fn is_repeatable(&self) -> bool {
        self.head.method.is_idempotent && self.head.framing == Framing::None && !self.head.upgrade
    }

    /// Tries one backend.
    async fn attempt(
        &self,
        stream: &mut TcpStream,
        client_inbox: &mut Vec<u8>,
        flight: &mut Flight,
        may_retry: bool,
        progress: &Progress,
    ) -> Result<Response, Failure> {
        let router = &self.local.router;
        let options = &router.options;
        let sticky = options.sticky.as_deref();
        let sticky = sticky.filter(|_| self.head.session != Some(flight.id()));
        let terms = Terms {
            set_cookie: sticky.map(|name| set_cookie(name, flight.id())),
            head: self.head,
            response_timeout: options.timeouts.response,
            stall: options.timeouts.stall,
            body_max: options.body_max,
            may_retry,
            stopping: &self.local.stopping,
            out: self.out,
        };
        let address = flight.backend().address;
        let pool = &self.local.pool;
        let mut kept = pool.take(address);
        loop {
            let mut upstream = match kept.take() {
                Some(upstream) => upstream,
                None => self.connect(flight).await?,
            };
            let mut inbox = pool.buffer();
            let exchanged =
                exchange(&terms, stream, client_inbox, &mut upstream, &mut inbox, progress);
            let result = self.in_time(exchanged).await;
            if result == Err(Failure::Stale) && self.is_repeatable() {
                // The backend closed the idle connection as the request came (RFC 9112, section 9.3.1): it gets the
                // request on a new one.
                router.metrics.stale.add(1);
                continue;
            }
            self.sign(flight, &result, progress);
            match &result {
                Ok(response) if response.upgraded => {
                    router.metrics.responded(response.status);
                    flight.goes_on();
                    let from_client = std::mem::take(&mut *client_inbox);
                    self.tunnel(stream, from_client, upstream, inbox).await;
                    return result;
                }
                Ok(response) if response.keep_upstream => pool.put(address, upstream.stream),
                _ => {}
            }
            pool.give_back(inbox);
            return result;
        }
    }

    /// A new connection to the backend.
    async fn connect(&self, flight: &mut Flight) -> Result<Upstream, Failure> {
        let router = &self.local.router;
        let address = flight.backend().address;
        let within = router.options.timeouts.connect;
        let connecting = self.local.pool.connect(address, within);
        let connected = self.in_time(async { Ok(connecting.await) }).await?;
        connected.map_err(|error| {
            // It says nothing of the backend, which must not be ejected for it.
            if is_local(&error) {
                return Failure::Local;
            }
            flight.ended(Sign::Bad, router.now_ns());
            Failure::Connect
        })
    }

    /// Awaits a result until the request has taken longer than it may.
    async fn in_time<T>(
        &self,
        what: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        match self.deadline {
            Some(until) => timeout_at(until, what).await.unwrap_or(Err(Failure::Deadline)),
            None => what.await,
        }
    }

    async fn tunnel(
        &self,
        client: &mut TcpStream,
        from_client: Vec<u8>,
        mut upstream: Upstream,
        from_upstream: Vec<u8>,
    ) {
        let router = &self.local.router;
        router.metrics.tunnels.add(1);
        let timeouts = &router.options.timeouts;
        let limits = TunnelLimits { stall: timeouts.stall, rest: timeouts.idle };
        let tunnel = tunnel(
            &self.local.pool,
            client,
            from_client,
            &mut upstream.stream,
            from_upstream,
            limits,
        );
        let ended = Box::pin(tunnel).await;
        if ended.is_err_and(|error| error.kind() == std::io::ErrorKind::TimedOut) {
            router.metrics.connections.timed_out.add(1);
        }
    }

    /// Reports the sign that the result gives of the backend.
    fn sign(&self, flight: &mut Flight, result: &Result<Response, Failure>, progress: &Progress) {
        // It has the whole request, and said nothing.
        let is_silent = progress.uploaded.get() && progress.first.get().is_none();
        let sign = match result {
            Ok(response) if matches!(response.status, 500 | 502 | 504) => Sign::Bad,
            Err(Failure::Status(502 | 504)) => Sign::Bad,
            Ok(_) | Err(Failure::Status(_)) => Sign::Good,
            Err(failure) if failure.is_backends() => Sign::Bad,
            Err(Failure::Deadline) if is_silent => Sign::Bad,
            Err(_) => return,
        };
        flight.ended(sign, self.local.router.now_ns());
    }

    /// `all_read` says that the client has sent nothing behind the request.
    fn responded(&self, response: Response, progress: &Progress, all_read: bool) -> RequestEnd {
        let sent = progress.sent.get();
        let now = Instant::now();
        let first = progress.first.get().unwrap_or(now).max(sent);
        // A tunnel's time is its users'.
        if !response.upgraded {
            self.local.router.metrics.took(Phases {
                inward: sent - self.came,
                upstream: first - sent,
                outward: now - first,
            });
        }
        let next = match (response.keep_client, progress.uploaded.get() && all_read) {
            (true, _) => Next::Request,
            (false, true) => Next::Close,
            // A plain close would reset what the client may still be sending, and with it the response.
            (false, false) => Next::Linger,
        };
        RequestEnd { next, status: response.status, bytes: response.bytes, backend: None }
    }

    /// The client has a part of a response, which must not look complete.
    fn truncated(&self, stream: &TcpStream, failure: Failure) -> RequestEnd {
        let metrics = &self.local.router.metrics;
        let status = match failure {
            Failure::ClientGone | Failure::Client(_) => {
                metrics.client_gone.add(1);
                CLIENT_GONE
            }
            Failure::ClientSlow => {
                metrics.connections.timed_out.add(1);
                CLIENT_GONE
            }
            Failure::Deadline => {
                metrics.timeouts.add(1);
                metrics.truncated.add(1);
                504
            }
            _ => {
                metrics.truncated.add(1);
                502
            }
        };
        if matches!(failure, Failure::Reset | Failure::Deadline) {
            // Closing it then resets it. If that cannot be set, the peer's system has reset it already.
            let _ = stream.set_zero_linger();
        }
        RequestEnd { next: Next::Close, status, bytes: 0, backend: None }
    }

    fn count(&self, failure: Failure) {
        let metrics = &self.local.router.metrics;
        match failure {
            Failure::Connect => metrics.connect_failures.add(1),
            Failure::Local => metrics.local_failures.add(1),
            Failure::TimedOut | Failure::Deadline => metrics.timeouts.add(1),
            Failure::Stale
            | Failure::Broken
            | Failure::BadResponse
            | Failure::Truncated
            | Failure::Reset => metrics.broken.add(1),
            Failure::ClientGone => metrics.client_gone.add(1),
            Failure::ClientSlow | Failure::Client(ClientFault::Slow) => {
                metrics.connections.timed_out.add(1);
            }
            Failure::Client(_) => metrics.refused.add(1),
            Failure::Status(_) => {}
        }
    }

    /// Answers for a backend that did not.
    async fn failed(&self, stream: &mut TcpStream, failure: Failure) -> RequestEnd {
        let (status, reason) = match failure {
            Failure::ClientGone | Failure::ClientSlow | Failure::Client(ClientFault::Gone) => {
                return RequestEnd {
                    next: Next::Close,
                    status: CLIENT_GONE,
                    bytes: 0,
                    backend: None,
                };
            }
            Failure::Client(ClientFault::Malformed(reason)) => (400, reason),
            Failure::Client(ClientFault::TooLarge) => (413, "the body is too large"),
            Failure::Client(ClientFault::Slow) => (408, "the body did not come in time"),
            Failure::TimedOut => (504, "the backend did not respond in time"),
            Failure::Deadline => (504, "the request took too long"),
            Failure::Local => (503, "the balancer has no connection left"),
            Failure::Connect => (502, "the backend cannot be reached"),
            Failure::BadResponse => (502, "the backend's response is malformed"),
            Failure::Status(status) => (status, "no backend can take the request"),
            Failure::Stale | Failure::Broken | Failure::Truncated | Failure::Reset => {
                (502, "the backend closed the connection")
            }
        };
        self.own(stream, status, reason).await
    }

    /// A response of the balancer's own.
    async fn own(&self, stream: &mut TcpStream, status: u16, reason: &'static str) -> RequestEnd {
        let keep = self.head.keep_alive
            && self.head.is_1_1
            && self.head.framing == Framing::None
            && !self.local.stopping.get();
        let text = own_response(status, reason, !keep, self.head.method.is_head);
        let sent = timeout(OWN_WITHIN, stream.write_all(&text)).await;
        let next = match (sent, keep) {
            (Ok(Ok(())), true) => Next::Request,
            (Ok(Ok(())), false) => Next::Linger,
            _ => Next::Close,
        };
        RequestEnd { next, status, bytes: reason.len() as u64 + 1, backend: None }
    }
}
