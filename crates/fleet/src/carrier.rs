//! The frames between controller and worker as pieces of a stream.
//!
//! Each side has a subject of the run's stream. A message is eight bytes of the piece's number, from 1, least
//! significant first, and the next bytes of the connection. A piece without bytes is the end. A piece is sent again
//! until the stream has it, and only then the next: pieces arrive at least once and in order, and those with a number
//! that was taken are dropped. The number [`ABORT`] ends the connection at once; its bytes say why.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_nats::jetstream::ErrorCode;
use async_nats::jetstream::consumer::{AckPolicy, PullConsumer, pull};
use async_nats::jetstream::context::GetStreamErrorKind;
use async_nats::jetstream::message::{Acker, PublishMessage};
use bytes::Bytes;
use controller::Carrier;
use futures_util::StreamExt;
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use crate::names;
use crate::nats::{ANSWER_TIME_MAX, Nats};

/// The number of a piece that ends the connection.
const ABORT: u64 = u64::MAX;
const NUMBER_BYTES: usize = 8;
/// Most bytes of a piece; half of what NATS allows a message by default.
const PIECE_BYTES_MAX: usize = 512 << 10;
/// What a message needs besides: headers, subject.
const HEAD_BYTES: usize = 4 << 10;
/// Bytes that wait for NATS before a sender has to.
const OUT_BYTES_MAX: usize = 256 << 20;
/// Bytes that wait for their reader before no more are fetched.
const IN_BYTES_MAX: usize = 64 << 20;
/// Messages that are requested at a time, and for how long.
const BATCH: usize = 64;
const BATCH_TIME: Duration = Duration::from_secs(2);
/// Pause before something that failed is tried again.
const AGAIN: Duration = Duration::from_millis(200);
/// How long pieces may be unacknowledged before they are delivered again: longer than they need to be stored.
const ACK_WAIT: Duration = Duration::from_secs(3_600);
/// Longest reason that is taken from a peer, bytes.
const REASON_BYTES_MAX: usize = 1_000;

/// Both ways of one worker's connection, seen from one end.
#[derive(Debug, Clone)]
pub(crate) struct Ways {
    pub(crate) stream: String,
    /// The subjects that are sent to and received from.
    pub(crate) out: String,
    pub(crate) incoming: String,
    /// The name of our consumer.
    pub(crate) consumer: String,
    /// Whether pieces are acknowledged only when their receiver has stored them.
    pub(crate) acks_stored: bool,
}

impl Ways {
    /// Those of the controller to an agent.
    pub(crate) fn of_controller(run: &str, agent: &str) -> Ways {
        Ways {
            stream: names::stream(run),
            out: names::to_agent(run, agent),
            incoming: names::from_agent(run, agent),
            consumer: format!("controller-{agent}"),
            acks_stored: true,
        }
    }

    /// Those of an agent to the controller.
    pub(crate) fn of_agent(run: &str, agent: &str) -> Ways {
        Ways {
            stream: names::stream(run),
            out: names::from_agent(run, agent),
            incoming: names::to_agent(run, agent),
            consumer: format!("agent-{agent}"),
            acks_stored: false,
        }
    }
}

/// A connection over a stream.
#[derive(Debug)]
pub(crate) struct NatsCarrier {
    nats: Arc<Nats>,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    /// There is something to send.
    wake: Notify,
}

/// What acknowledges a piece and all before it.
struct Ack(Acker);

impl std::fmt::Debug for Ack {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Ack")
    }
}

#[derive(Debug, Default)]
struct State {
    out: VecDeque<u8>,
    incoming: VecDeque<u8>,
    /// Bytes that were received in all.
    received: u64,
    /// The number of the last piece that was taken.
    last: u64,
    /// How to acknowledge pieces, by where they end.
    unstored: VecDeque<(u64, Ack)>,
    timeout: Option<Duration>,
    /// We have closed it.
    closed: bool,
    /// The peer has.
    ended: bool,
    /// Why nothing more will be received or sent.
    failed: Option<String>,
    /// All that was to be sent is in the stream.
    all_sent: bool,
}

impl State {
    /// Takes a piece. `false`: it was taken before.
    fn take(&mut self, payload: &[u8]) -> bool {
        let Some((number, bytes)) = payload.split_first_chunk::<NUMBER_BYTES>() else {
            self.fail("it sent a piece without a number");
            return true;
        };
        let number = u64::from_le_bytes(*number);
        if number == ABORT {
            let reason = &bytes[..bytes.len().min(REASON_BYTES_MAX)];
            self.fail(&String::from_utf8_lossy(reason));
            return true;
        }
        if number <= self.last {
            return false;
        }
        if number != self.last + 1 {
            self.fail("pieces of what it sent are missing: NATS has lost them");
            return true;
        }
        self.last = number;
        self.ended |= bytes.is_empty();
        self.incoming.extend(bytes);
        self.received += bytes.len() as u64;
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

impl Shared {
    /// Nothing that holds the lock can panic between two states.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fail(&self, why: &str) {
        self.state().fail(why);
        self.changed.notify_all();
        self.wake.notify_one();
    }

    /// The bytes of the next piece; empty: the end. `None`: nothing more is to be sent.
    async fn next_piece(&self, bytes_max: usize) -> Option<Vec<u8>> {
        loop {
            {
                let mut state = self.state();
                if state.failed.is_some() {
                    return None;
                }
                if !state.out.is_empty() {
                    let count = state.out.len().min(bytes_max);
                    let piece = state.out.drain(..count).collect();
                    self.changed.notify_all();
                    return Some(piece);
                }
                if state.closed {
                    return Some(Vec::new());
                }
            }
            self.wake.notified().await;
        }
    }
}

impl NatsCarrier {
    pub(crate) fn open(nats: &Arc<Nats>, ways: &Ways) -> NatsCarrier {
        let shared: Arc<Shared> = Arc::default();
        // Tasks hold what they need of the connection: its runtime must not be ended by one of them.
        let link = Link {
            client: nats.client.clone(),
            jet: nats.jet.clone(),
            connected: nats.connected(),
            ways: ways.clone(),
            shared: Arc::clone(&shared),
        };
        nats.spawn(send_all(link.clone()));
        nats.spawn(receive_all(link));
        NatsCarrier {
            nats: Arc::clone(nats),
            shared,
        }
    }

    /// Gives the connection up: what was not sent is dropped.
    pub(crate) fn failer(&self) -> impl Fn(&str) + Send + 'static {
        let shared = Arc::clone(&self.shared);
        move |why| shared.fail(why)
    }

    /// Waits until all that was sent before it was closed is in the stream; `false`: it is not after this time.
    pub(crate) fn flush(&self, time_max: Duration) -> bool {
        let waiting = |state: &mut State| !state.all_sent && state.failed.is_none();
        let waited = self
            .shared
            .changed
            .wait_timeout_while(self.shared.state(), time_max, waiting);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.all_sent
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
                let waited = self
                    .shared
                    .changed
                    .wait_timeout_while(state, timeout, waiting);
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
        let full = |state: &mut State| state.out.len() > OUT_BYTES_MAX && state.failed.is_none();
        let waited = self.shared.changed.wait_while(self.shared.state(), full);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner);
        if let Some(why) = &state.failed {
            return Err(io::Error::other(why.clone()));
        }
        if state.closed {
            return Err(ErrorKind::BrokenPipe.into());
        }
        state.out.extend(bytes);
        drop(state);
        self.shared.wake.notify_one();
        Ok(())
    }

    fn set_timeout(&self, timeout: Duration) -> io::Result<()> {
        self.shared.state().timeout = Some(timeout);
        Ok(())
    }

    fn close(&self) {
        self.shared.state().closed = true;
        self.shared.changed.notify_all();
        self.shared.wake.notify_one();
    }

    fn is_cut_off(&self) -> bool {
        self.nats.is_cut_off()
    }

    fn mark_stored(&self, position: u64) {
        let mut state = self.shared.state();
        let stored = state
            .unstored
            .iter()
            .take_while(|(end, _)| *end <= position)
            .count();
        let last = state.unstored.drain(..stored).next_back();
        drop(state);
        if let Some((_, Ack(acker))) = last {
            // It stands for all before it. One that is lost is repeated by the next.
            self.nats.spawn(async move { drop(acker.ack().await) });
        }
    }
}

/// What the two tasks of a connection need.
#[derive(Clone)]
struct Link {
    client: async_nats::Client,
    jet: async_nats::jetstream::Context,
    connected: tokio::sync::watch::Receiver<bool>,
    ways: Ways,
    shared: Arc<Shared>,
}

/// Sends pieces until the last.
async fn send_all(link: Link) {
    let allowed = link
        .client
        .server_info()
        .max_payload
        .saturating_sub(HEAD_BYTES);
    let bytes_max = PIECE_BYTES_MAX.min(allowed).max(1_024);
    for number in 1.. {
        let Some(bytes) = link.shared.next_piece(bytes_max).await else {
            return;
        };
        if !publish(&link, number, &bytes).await {
            return;
        }
        if bytes.is_empty() {
            link.shared.state().all_sent = true;
            link.shared.changed.notify_all();
            return;
        }
    }
}

/// Sends a piece until the stream has it; `false`: the connection is given up.
async fn publish(link: &Link, number: u64, bytes: &[u8]) -> bool {
    let payload = piece(number, bytes);
    loop {
        let message = PublishMessage::build()
            .payload(payload.clone())
            .message_id(format!("{}.{number}", link.ways.out))
            .expected_stream(&link.ways.stream);
        let sent = async {
            link.jet
                .send_publish(link.ways.out.clone(), message)
                .await?
                .await
        };
        if matches!(timeout(ANSWER_TIME_MAX, sent).await, Ok(Ok(_))) {
            return true;
        }
        let failed = link.shared.state().failed.is_some();
        if failed || is_gone(link).await {
            link.shared.fail("the run's stream is gone");
            return false;
        }
        sleep(AGAIN).await;
    }
}

fn piece(number: u64, bytes: &[u8]) -> Bytes {
    [&number.to_le_bytes()[..], bytes].concat().into()
}

/// Whether the stream has been deleted; `false` also if nothing is known.
async fn is_gone(link: &Link) -> bool {
    let found = timeout(ANSWER_TIME_MAX, link.jet.get_stream(&link.ways.stream)).await;
    matches!(found, Ok(Err(error)) if matches!(error.kind(),
        GetStreamErrorKind::JetStream(error) if error.error_code() == ErrorCode::STREAM_NOT_FOUND))
}

/// Receives pieces until the end.
async fn receive_all(mut link: Link) {
    loop {
        {
            let state = link.shared.state();
            if state.is_over() || state.closed && state.all_sent {
                return;
            }
        }
        let consumer = match timeout(ANSWER_TIME_MAX, consumer(&link)).await {
            Ok(Some(consumer)) => consumer,
            Ok(None) | Err(_) => {
                if is_gone(&link).await {
                    link.shared.fail("the run's stream is gone");
                    return;
                }
                sleep(AGAIN).await;
                continue;
            }
        };
        while receive_batch(&mut link, &consumer).await {}
        sleep(AGAIN).await;
    }
}

async fn consumer(link: &Link) -> Option<PullConsumer> {
    let stream = link.jet.get_stream_no_info(&link.ways.stream).await.ok()?;
    let config = pull::Config {
        durable_name: Some(link.ways.consumer.clone()),
        filter_subject: link.ways.incoming.clone(),
        ack_policy: AckPolicy::All,
        ack_wait: ACK_WAIT,
        max_ack_pending: -1,
        ..pull::Config::default()
    };
    stream
        .get_or_create_consumer(&link.ways.consumer, config)
        .await
        .ok()
}

/// Receives for a moment; `false`: begin again, or it is over.
async fn receive_batch(link: &mut Link, consumer: &PullConsumer) -> bool {
    link.connected.mark_unchanged();
    let request = consumer
        .batch()
        .max_messages(BATCH)
        .expires(BATCH_TIME)
        .messages();
    let Ok(Ok(mut batch)) = timeout(ANSWER_TIME_MAX, request).await else {
        return false;
    };
    loop {
        // A request of before does not survive a new connection.
        let next = tokio::select! {
            next = batch.next() => next,
            _ = link.connected.changed() => return false,
        };
        let message = match next {
            Some(Ok(message)) => message,
            Some(Err(_)) => return false,
            None => break,
        };
        let (message, acker) = message.split();
        let ack_now = {
            let mut state = link.shared.state();
            let is_new = state.take(&message.payload);
            let keep = is_new && link.ways.acks_stored;
            let end = state.received;
            match keep {
                true => {
                    state.unstored.push_back((end, Ack(acker)));
                    None
                }
                false => Some(acker),
            }
        };
        link.shared.changed.notify_all();
        // Acknowledging one that was delivered twice would acknowledge those before it.
        if let Some(acker) = ack_now.filter(|_| !link.ways.acks_stored) {
            let _ = acker.ack().await;
        }
    }
    // A reader that does not keep up lets further pieces wait in the stream.
    loop {
        {
            let state = link.shared.state();
            if state.is_over() || state.closed && state.all_sent {
                return false;
            }
            if state.incoming.len() <= IN_BYTES_MAX {
                return true;
            }
        }
        sleep(AGAIN).await;
    }
}

/// Ends an agent's connection to the controller at once, and says why.
pub(crate) async fn abort(nats: &Nats, run: &str, agent: &str, why: &str) {
    let ways = Ways::of_agent(run, agent);
    let message = PublishMessage::build()
        .payload(piece(ABORT, why.as_bytes()))
        .expected_stream(&ways.stream);
    let sent = async {
        nats.jet
            .send_publish(ways.out.clone(), message)
            .await?
            .await
    };
    // Without it the controller learns by the silence.
    let _ = timeout(ANSWER_TIME_MAX, sent).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_taken_once_and_in_order() {
        let mut state = State::default();
        assert!(state.take(&piece(1, b"ab")));
        assert!(!state.take(&piece(1, b"ab")), "delivered twice");
        assert!(state.take(&piece(2, b"c")));
        assert!(!state.take(&piece(1, b"ab")), "and late");
        assert_eq!(state.incoming.make_contiguous(), b"abc");
        assert_eq!(state.received, 3);
        assert!(state.take(&piece(3, b"")));
        assert!(state.ended && state.failed.is_none());
        // What comes behind the end changes nothing.
        assert!(state.take(&piece(ABORT, b"late")));
        assert_eq!(state.failed, None);
    }

    #[test]
    fn what_cannot_be_is_an_error_and_no_panic() {
        for (payload, why) in [
            (&b""[..], "without a number"),
            (b"1234567", "without a number"),
            (&piece(2, b"x"), "missing"),
            (&piece(0, b"x"), ""),
            (
                &piece(ABORT, b"\xff its process ended"),
                "its process ended",
            ),
            (&piece(ABORT, &[b'x'; 9_999]), "xxx"),
        ] {
            let mut state = State::default();
            state.take(payload);
            let found = state.failed.unwrap_or_default();
            assert!(
                found.contains(why) && found.len() <= REASON_BYTES_MAX,
                "{found}"
            );
            assert!(state.incoming.is_empty());
        }
    }
}
