//! The frames between controller and worker as pieces of a stream.
//!
//! Each side has a subject of the run's stream. A message is the position of its first byte in all that this side sends,
//! eight bytes, least significant first; then bytes. Without bytes it is the end. Each side keeps what it has sent: a
//! controller in its memory, a worker in a spool on its disk. It looks at what the stream has last on its subject and
//! sends what follows, at the beginning and after each trouble; NATS takes a message only behind the one that its sender
//! believes to be the last. So pieces are in the stream in order and without gaps, and if NATS has lost the stream all
//! that is kept is sent again. The receiver drops bytes that it has. A controller that continues a run begins at a higher
//! position, a multiple of 2⁴⁰ ([`Term`]), so that nothing need be known of what others have sent. The position [`ABORT`] ends the connection at once;
//! its bytes say why.

mod receiving;
mod rest;
mod sending;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_nats::HeaderMap;
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::stream::Stream;
use bytes::Bytes;
use futures_util::StreamExt;
use tokio::sync::{Notify, watch};
use tokio::time::timeout;
use workers::Carrier;

use crate::lease::Lease;
use crate::log::{Log, Messages};
use crate::names;
use crate::nats::{ANSWER_TIME_MAX, Nats};
use crate::signed::{self, RunKeys};
use crate::spool::Spool;
use crate::stream::StreamContents;

pub(crate) use rest::AbandonedSpool;

/// The position of a piece that ends the connection.
const ABORT: u64 = u64::MAX;
const POSITION_BYTES: usize = 8;
/// Pause before something that failed is tried again.
const AGAIN: Duration = Duration::from_millis(200);
/// Longest reason that is taken from a peer, bytes.
const REASON_BYTES_MAX: usize = 1_000;
/// Why a connection ends on which somebody else has sent.
const UNSIGNED: &str = "a message of the run is not signed by the key of its sender: somebody else has sent it, or it was changed";
/// Why nothing more is sent when the controller is not the run's any more.
const TAKEN_OVER: &str = "another controller has taken over the run";
/// Why nothing more is sent when its end was written down.
const RUN_OVER: &str = "the run is over";

/// Orders the controllers of a run: each has a higher one than those before; 0: it has begun the run. Its positions begin
/// at the multiple of 2⁴⁰ of this number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Term(pub(crate) u64);

impl Term {
    /// Bits of a position within a term.
    const BITS: u32 = 40;
    /// No controller has a higher one: that of [`ABORT`] is none.
    pub(crate) const LAST: Term = Term((u64::MAX >> Term::BITS) - 1);

    fn start(self) -> u64 {
        self.0 << Term::BITS
    }

    fn at_position(position: u64) -> Term {
        Term(position >> Term::BITS)
    }
}

/// Both ways of one worker's connection, seen from one end.
#[derive(Debug, Clone)]
pub(crate) struct Ways {
    pub(crate) run: String,
    pub(crate) agent: String,
    /// The subjects that are sent to and received from.
    pub(crate) out: String,
    pub(crate) incoming: String,
}

impl Ways {
    /// Those of the controller to an agent.
    pub(crate) fn of_controller(run: &str, agent: &str) -> Ways {
        Ways {
            run: run.to_owned(),
            agent: agent.to_owned(),
            out: names::to_agent(run, agent),
            incoming: names::from_agent(run, agent),
        }
    }

    /// Those of an agent to the controller.
    pub(crate) fn of_agent(run: &str, agent: &str) -> Ways {
        Ways {
            run: run.to_owned(),
            agent: agent.to_owned(),
            out: names::from_agent(run, agent),
            incoming: names::to_agent(run, agent),
        }
    }
}

/// A connection over a stream.
#[derive(Debug)]
pub(crate) struct NatsCarrier {
    nats: Arc<Nats>,
    ways: Ways,
    keys: RunKeys,
    shared: Arc<CarrierState>,
}

/// The state that a connection and its tasks share.
#[derive(Debug)]
struct CarrierState {
    state: Mutex<State>,
    log: Mutex<Log>,
    changed: Condvar,
    /// There is something to send.
    wake: Notify,
    /// The worker has begun.
    has_begun: AtomicBool,
    /// The stream has what another controller has sent.
    is_taken_over: AtomicBool,
    /// When the last piece was sent that the stream has taken, on the monotonic clock; 0: none was.
    contact_ns: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    /// Whether the peer is a controller, which another one may follow.
    has_terms: bool,
    incoming: VecDeque<u8>,
    /// Bytes that were received in all.
    received: u64,
    timeout: Option<Duration>,
    /// We have closed the connection.
    closed: bool,
    /// The peer has ended the connection.
    ended: bool,
    /// The peer's agent has ended it: the peer itself is gone.
    aborted: bool,
    /// Why nothing more will be received or sent.
    failed: Option<String>,
    /// All that was to be sent is in the stream.
    all_sent: bool,
    /// Sent after everything else: the connection ends, and this is why.
    abort: Option<String>,
}

impl State {
    /// Takes a piece; `false`: others before it are missing.
    fn take(&mut self, payload: &[u8]) -> bool {
        let Some((position, bytes)) = split(payload) else {
            self.fail("it sent a piece without a position");
            return true;
        };
        if position == ABORT {
            self.aborted |= !self.is_over();
            let reason = &bytes[..bytes.len().min(REASON_BYTES_MAX)];
            self.fail(&String::from_utf8_lossy(reason));
            return true;
        }
        let term = Term::at_position(position);
        if self.has_terms && term.0 > Term::at_position(self.received).0 {
            self.received = term.start();
        }
        let Some(known) = self.received.checked_sub(position) else {
            return false;
        };
        self.ended |= bytes.is_empty() && known == 0;
        let known = usize::try_from(known).unwrap_or(usize::MAX);
        let new = bytes.get(known..).unwrap_or_default();
        self.incoming.extend(new);
        self.received += new.len() as u64;
        true
    }

    /// The first reason counts, and after the end there is none.
    fn fail(&mut self, why: &str) {
        if !self.ended {
            self.failed.get_or_insert_with(|| why.to_owned());
        }
    }

    fn is_over(&self) -> bool {
        self.ended || self.failed.is_some()
    }
}

impl CarrierState {
    fn new(log: Log) -> Arc<CarrierState> {
        Arc::new(CarrierState {
            state: Mutex::default(),
            log: Mutex::new(log),
            changed: Condvar::new(),
            wake: Notify::new(),
            has_begun: AtomicBool::new(false),
            is_taken_over: AtomicBool::new(false),
            contact_ns: AtomicU64::new(0),
        })
    }

    /// Nothing that holds the lock can panic between two states.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nothing that holds this lock can panic between two states, either.
    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fail(&self, why: &str) {
        self.state().fail(why);
        self.changed.notify_all();
        self.wake.notify_one();
    }

    /// Sends nothing more, not even the end, whatever the peer has sent.
    fn abandon(&self, why: &str) {
        self.state().failed.get_or_insert_with(|| why.to_owned());
        self.changed.notify_all();
        self.wake.notify_one();
    }

    fn note_taken_over(&self) {
        self.is_taken_over.store(true, Ordering::Relaxed);
        self.abandon(TAKEN_OVER);
    }
}

/// The part of a connection that its tasks need: its runtime must not be ended by one of them.
#[derive(Clone)]
struct Link {
    client: async_nats::Client,
    jet: async_nats::jetstream::Context,
    connected: watch::Receiver<bool>,
    ways: Ways,
    keys: RunKeys,
    shared: Arc<CarrierState>,
    /// The contents from which a lost stream is made again; `None`: that is left to others.
    kept: Option<Arc<StreamContents>>,
    /// A controller's: without it, it ends no connection.
    lease: Option<Lease>,
}

impl Link {
    fn new(
        nats: &Nats,
        ways: &Ways,
        keys: &RunKeys,
        shared: &Arc<CarrierState>,
        kept: Option<&Arc<StreamContents>>,
    ) -> Link {
        Link {
            client: nats.client.clone(),
            jet: nats.jet.clone(),
            connected: nats.connected(),
            ways: ways.clone(),
            keys: keys.clone(),
            shared: Arc::clone(shared),
            kept: kept.cloned(),
            lease: None,
        }
    }
}

impl NatsCarrier {
    /// A worker's way to the controller. `kept`: what is put back with a stream that was lost.
    pub(crate) fn of_worker(
        nats: &Arc<Nats>,
        ways: &Ways,
        keys: &RunKeys,
        spool: Spool,
        kept: &Arc<StreamContents>,
    ) -> NatsCarrier {
        let shared = CarrierState::new(Log::Disk(spool));
        shared.state().has_terms = true;
        let link = Link::new(nats, ways, keys, &shared, Some(kept));
        nats.spawn(receive_acknowledgements(link.clone()));
        NatsCarrier::open(nats, link)
    }

    /// A controller's way to an agent.
    pub(crate) fn of_controller(
        nats: &Arc<Nats>,
        ways: &Ways,
        keys: &RunKeys,
        term: Term,
        lease: &Lease,
        kept: &Arc<StreamContents>,
    ) -> NatsCarrier {
        let shared = CarrierState::new(Log::Memory(Messages::behind(term.start())));
        let mut link = Link::new(nats, ways, keys, &shared, Some(kept));
        link.lease = Some(lease.clone());
        NatsCarrier::open(nats, link)
    }

    fn open(nats: &Arc<Nats>, link: Link) -> NatsCarrier {
        let ways = link.ways.clone();
        let keys = link.keys.clone();
        let shared = Arc::clone(&link.shared);
        nats.spawn(sending::send_all(link.clone()));
        nats.spawn(receiving::receive_all(link));
        NatsCarrier { nats: Arc::clone(nats), ways, keys, shared }
    }

    /// Whether it continues what another controller has sent, and has sent nothing itself.
    pub(crate) fn is_untouched(&self) -> bool {
        self.shared.log().is_untouched()
    }

    /// Whether the stream has what another controller has sent.
    pub(crate) fn is_taken_over(&self) -> bool {
        self.shared.is_taken_over.load(Ordering::Relaxed)
    }

    /// Gives the connection up: what was not sent is dropped.
    pub(crate) fn failer(&self) -> impl Fn(&str) + Send + 'static {
        let shared = Arc::clone(&self.shared);
        move |why| shared.fail(why)
    }

    /// Whether the worker has begun.
    pub(crate) fn begun(&self) -> impl Fn() -> bool + Send + 'static {
        let shared = Arc::clone(&self.shared);
        move || shared.has_begun.load(Ordering::Relaxed)
    }

    /// Waits until all that was sent before it was closed is in the stream; `false`: it is not after this time.
    pub(crate) fn flush(&self, time_max: Duration) -> bool {
        let waiting = |state: &mut State| !state.all_sent && state.failed.is_none();
        let waited = self.shared.changed.wait_timeout_while(self.shared.state(), time_max, waiting);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.all_sent
    }

    /// Forgets what was sent if the controller has closed the connection: it needs nothing more.
    pub(crate) fn forget(&self) {
        if self.shared.state().ended {
            self.shared.log().remove();
        }
    }
}

impl Carrier for NatsCarrier {
    fn receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let waiting =
            |state: &mut State| state.incoming.is_empty() && !state.closed && !state.is_over();
        let state = self.shared.state();
        let mut state = match state.timeout {
            None => self
                .shared
                .changed
                .wait_while(state, waiting)
                .unwrap_or_else(PoisonError::into_inner),
            Some(timeout) => {
                let waited = self.shared.changed.wait_timeout_while(state, timeout, waiting);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
        };
        if !state.incoming.is_empty() && !state.closed {
            return io::Read::read(&mut state.incoming, buffer);
        }
        match &state.failed {
            _ if state.closed || state.ended => Ok(0),
            Some(why) => Err(io::Error::other(why.clone())),
            None => Err(ErrorKind::TimedOut.into()),
        }
    }

    fn send(&self, bytes: &[u8]) -> io::Result<()> {
        {
            let state = self.shared.state();
            if let Some(why) = &state.failed {
                return Err(io::Error::other(why.clone()));
            }
            if state.closed {
                return Err(ErrorKind::BrokenPipe.into());
            }
        }
        if let Err(error) = self.shared.log().append(bytes) {
            let why = format!("the spool cannot be written: {error}");
            self.shared.fail(&why);
            return Err(io::Error::other(why));
        }
        self.shared.wake.notify_one();
        Ok(())
    }

    fn set_timeout(&self, timeout: Duration) -> io::Result<()> {
        self.shared.state().timeout = Some(timeout);
        Ok(())
    }

    fn close(&self) {
        if self.is_untouched() {
            // Its end would be that of the run, whose worker waits for another controller.
            return self.shared.abandon("the run was not continued");
        }
        self.shared.state().closed = true;
        self.shared.changed.notify_all();
        self.shared.wake.notify_one();
    }

    fn is_cut_off(&self) -> bool {
        self.nats.is_cut_off()
    }

    fn mark_stored(&self, position: u64) {
        let client = self.nats.client.clone();
        let subject = names::stored(&self.ways.run, &self.ways.agent);
        let bytes = Bytes::copy_from_slice(&position.to_le_bytes());
        let mut headers = HeaderMap::new();
        if let Some(signature) = self.keys.sign(&subject, &bytes) {
            headers.insert(signed::HEADER, signature);
        }
        // One that is lost is repeated by the next.
        self.nats.spawn(async move {
            let sent = client.publish_with_headers(subject, headers, bytes);
            let _ = timeout(ANSWER_TIME_MAX, sent).await;
        });
    }

    fn keeps(&self) -> bool {
        true
    }

    fn is_full(&self) -> bool {
        self.shared.log().is_full()
    }

    fn contact_ns(&self) -> Option<u64> {
        let contact_ns = self.shared.contact_ns.load(Ordering::Relaxed);
        (contact_ns > 0).then_some(contact_ns)
    }

    fn is_peer_gone(&self) -> bool {
        self.shared.state().aborted
    }

    fn note_start(&self) {
        self.shared.has_begun.store(true, Ordering::Relaxed);
    }
}

/// A piece of what is sent.
fn piece(position: u64, bytes: &[u8]) -> Bytes {
    [&position.to_le_bytes()[..], bytes].concat().into()
}

/// Position and bytes of a piece.
fn split(payload: &[u8]) -> Option<(u64, &[u8])> {
    let (position, bytes) = payload.split_first_chunk::<POSITION_BYTES>()?;
    Some((u64::from_le_bytes(*position), bytes))
}

/// Learns what the controller has stored.
async fn receive_acknowledgements(link: Link) {
    let subject = names::stored(&link.ways.run, &link.ways.agent);
    let Ok(mut positions) = link.client.subscribe(subject.clone()).await else {
        return;
    };
    while let Some(message) = positions.next().await {
        // Whoever else says so is not believed: what is stored is kept no longer.
        if !link.keys.admit(&subject, &message.payload, message.headers.as_ref()) {
            continue;
        }
        if let Some((position, _)) = split(&message.payload) {
            link.shared.log().mark_stored(position);
        }
    }
}

/// The term in which something was last sent by these ways; 0 if nothing was. The error is for people.
pub(crate) async fn last_term(stream: &Stream, ways: &Ways) -> Result<Term, String> {
    let last = sending::last(stream, &ways.out).await?;
    Ok(Term::at_position(last.position))
}

/// Ends an agent's connection to the controller at once, and says why.
pub(crate) async fn abort(nats: &Nats, run: &str, agent: &str, keys: &RunKeys, why: &str) {
    let out = names::from_agent(run, agent);
    let payload = piece(ABORT, why.as_bytes());
    let signature = keys.sign(&out, &payload);
    let mut message = PublishMessage::build().payload(payload).expected_stream(names::stream(run));
    if let Some(signature) = signature {
        message = message.header(signed::HEADER, signature);
    }
    let sent = async { nats.jet.send_publish(out, message).await?.await };
    // Without it the controller learns by the silence.
    let _ = timeout(ANSWER_TIME_MAX, sent).await;
}
