//! The trace of one user, event by event, for people who write a scenario: `throng try`.
//!
//! A shard that is traced runs one user and sends each event to a channel as it happens. Requests, responses
//! and messages are shown before TLS and after decoding.

use std::sync::mpsc::Sender;

use plan::expr::Value;
use plan::{EndpointId, MeasureId, MetricId, Pc, SessionId, Slot};
use record::schema::SessionEnd;
use record::{Measurement, Outcome};
use stats::decimal::Decimal;

/// Bytes of a request, a body or a message that are kept.
pub const SHOWN_BYTES_MAX: usize = 64 << 10;

/// Which user is traced, and where its events go.
#[derive(Debug, Clone)]
pub struct TraceRequest {
    /// The user's number, from 0: its random draws and its row of data follow from it.
    pub user: u64,
    pub session: SessionId,
    /// Measured steps until the user leaves.
    pub steps_max: u64,
    pub sink: Sender<TracedEvent>,
}

/// An event and its time.
#[derive(Debug, Clone, PartialEq)]
pub struct TracedEvent {
    /// Time since the user started.
    pub at_ns: u64,
    /// Number, from 1, of the branch (`parallel`) that the event belongs to.
    pub branch: Option<usize>,
    pub event: TraceEvent,
}

/// An action of a user, or something that happens to it.
#[derive(Debug, Clone, PartialEq)]
pub enum TraceEvent {
    /// It begins an instruction of its session.
    Step { session: SessionId, pc: Pc },
    /// A request, or a framed message of plain TCP, was sent; its length before it was shortened.
    Sent { endpoint: EndpointId, bytes: Vec<u8>, len: usize },
    /// A WebSocket message was sent.
    SentMessage { bytes: Vec<u8>, len: usize },
    /// The head of a response arrived, with its body unless it is that of a stream or an upgrade that was wanted.
    Response { head: Vec<u8>, body: Vec<u8>, len: usize },
    /// A message or a server-sent event arrived. `event`: the event's name.
    Message { event: Option<String>, bytes: Vec<u8>, len: usize },
    /// A variable has a new value.
    Set { slot: Slot, value: Value },
    /// A number of a metric was recorded; of a share, 1 if it is true.
    Recorded { metric: MetricId, value: Decimal },
    /// A script has written a line.
    Console { text: String },
    /// A condition was evaluated: its text, with values if it does not hold.
    Checked { holds: bool, text: String },
    /// An operation ended.
    Operation(Measurement),
    /// An attempt of several failed, and the next begins after a pause.
    Retried {
        measure: MeasureId,
        /// The number of the attempt that failed, from 1, and of all that there may be.
        attempt: u64,
        attempts_max: u32,
        outcome: Outcome,
        pause_ns: u64,
    },
    /// An error's text.
    Error { measure: MeasureId, outcome: Outcome, detail: String },
    /// The steps that were requested are done.
    Enough,
    /// The session is over; `None`: it finished.
    Ended { end: Option<SessionEnd> },
}

/// The trace of a shard.
#[derive(Debug)]
pub(crate) struct Trace {
    sink: Sender<TracedEvent>,
    steps_left: u64,
    pub(crate) now_ns: u64,
    /// Events are of this branch.
    pub(crate) branch: Option<usize>,
}

impl Trace {
    pub(crate) fn new(request: &TraceRequest) -> Trace {
        Trace { sink: request.sink.clone(), steps_left: request.steps_max, now_ns: 0, branch: None }
    }

    /// Passes an event on. Nobody may be interested any more.
    pub(crate) fn add(&self, event: TraceEvent) {
        let at_ns = self.now_ns;
        let branch = self.branch;
        let traced = TracedEvent { at_ns, branch, event };
        let _ = self.sink.send(traced);
    }

    /// A user is about to begin an instruction. False: its steps are used up.
    pub(crate) fn step(&mut self, session: SessionId, pc: Pc, is_measured: bool) -> bool {
        if is_measured {
            if self.steps_left == 0 {
                self.add(TraceEvent::Enough);
                return false;
            }
            self.steps_left -= 1;
        }
        self.add(TraceEvent::Step { session, pc });
        true
    }

    pub(crate) fn sent(&self, endpoint: EndpointId, bytes: &[u8]) {
        self.add(TraceEvent::Sent { endpoint, bytes: shortened(bytes), len: bytes.len() });
    }

    pub(crate) fn sent_message(&self, bytes: &[u8]) {
        self.add(TraceEvent::SentMessage { bytes: shortened(bytes), len: bytes.len() });
    }

    pub(crate) fn response(&self, head: &[u8], body: &[u8]) {
        self.add(TraceEvent::Response {
            head: head.to_vec(),
            body: shortened(body),
            len: body.len(),
        });
    }

    pub(crate) fn message(&self, event: Option<&[u8]>, bytes: &[u8]) {
        self.add(TraceEvent::Message {
            event: event.map(|name| String::from_utf8_lossy(name).into_owned()),
            bytes: shortened(bytes),
            len: bytes.len(),
        });
    }
}

fn shortened(bytes: &[u8]) -> Vec<u8> {
    bytes[..bytes.len().min(SHOWN_BYTES_MAX)].to_vec()
}
