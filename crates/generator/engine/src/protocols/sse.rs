//! Server-sent events (HTML standard §9.2): opening a stream, its events, and reconnecting.
//!
//! The first opening is a step like any other. From then on the stream lives in the background: its
//! events go where messages go, and if it is lost it reconnects after the server's `retry`, each
//! attempt being an operation of the measure `reconnect`. A server that answers such an attempt with status 204 ends the
//! stream.

mod gunzip;

use plan::{Op, Pc, SseOpen};
use proto::http1::{self, Head};
use proto::sse;
use record::Outcome;
use record::schema::WorkKind;

use crate::conn::background::Background;
use crate::conn::{Decoder, NEVER, Stage};
use crate::failures::Answer;
use crate::interpreter::{Flow, Interpreter, is_worth_a_retry};
use crate::protocols::sse::gunzip::Gunzip;
use crate::received::{Label, ReceivedMessage};
use crate::requests::encode_get;
use crate::tables::slots::{ConnSlot, UserKey};
use crate::users::Wait;

/// An event stream.
#[derive(Debug)]
pub(crate) struct EventStream {
    pub(crate) background: Background,
    pub(crate) sse: sse::Decoder,
    /// The lines of an event that is not wholly there yet.
    pub(crate) held: Vec<u8>,
    /// The last event id that the server sent.
    pub(crate) last_id: Vec<u8>,
    /// From a loss to the next attempt.
    pub(crate) retry_ns: u64,
    /// The stream was open before: what happens to it from now on concerns no step.
    pub(crate) opened: bool,
    /// Only if the server compresses.
    gunzip: Option<Box<Gunzip>>,
}

impl EventStream {
    pub(crate) fn new(pc: Pc, retry_ns: u64) -> EventStream {
        EventStream {
            background: Background::new(pc),
            sse: sse::Decoder::new(),
            held: Vec::new(),
            last_id: Vec::new(),
            retry_ns,
            opened: false,
            gunzip: None,
        }
    }

    /// Bytes of an event that has come in part, and of what decodes the stream.
    pub(crate) fn kept_bytes(&self) -> usize {
        self.held.capacity() + self.gunzip.as_ref().map_or(0, |_| Gunzip::BYTES)
    }

    /// Before the next response.
    pub(crate) fn reset(&mut self) {
        self.sse = sse::Decoder::new();
        self.held = Vec::new();
        self.gunzip = None;
    }
}

/// Content type of an event stream, without parameters (HTML standard §9.2.5).
const EVENT_STREAM: &[u8] = b"text/event-stream";
/// The only status with which a stream begins.
const STATUS: u16 = 200;
/// The status with which a server tells a client to stop reconnecting (§9.2.1).
const NO_CONTENT: u16 = 204;

impl<'p> Interpreter<'p> {
    pub(crate) fn open_event_stream(&mut self, now_ns: u64, key: UserKey, open: &SseOpen) -> Flow {
        self.begin(now_ns, key);
        self.follows.forget(key);
        if self.has_stream(now_ns, key) {
            return Flow::Fail;
        }
        self.reach_for_stream(now_ns, key, open.endpoint);
        Flow::Wait
    }

    /// The step that opened the stream.
    pub(crate) fn events_op(&self, slot: ConnSlot) -> &'p SseOpen {
        match self.background_op(slot) {
            Op::SseOpen(open) => open,
            other => unreachable!("an event stream was opened by {other:?}"),
        }
    }

    /// The connection is there: requests the stream.
    pub(crate) fn request_event_stream(&mut self, now_ns: u64, key: UserKey, slot: ConnSlot) {
        let open = self.events_op(slot);
        let start = self.conns.commands.bytes.len();
        let before = self.users[key].value;
        let began_ns = self.begin_opening(key, slot);
        let encoded = self.encode_stream_request(now_ns, slot, open);
        self.end_work(key, WorkKind::Encoding, began_ns);
        if let Err(error) = encoded {
            if self.conns[slot].is_background() {
                return self.attempt_failed(now_ns, slot, self.users.blame(), 0, &error);
            }
            self.conns.close(&mut self.users, slot);
            return self.fail_because(now_ns, key, self.users.blame(), 0, || error);
        }
        self.carry_cookies_along(now_ns, slot, &open.path, &open.headers, start);
        self.conns[slot].stage = Stage::Upgrading;
        self.conns[slot].link.begin();
        let Some(stream) = self.conns[slot].event_stream() else {
            return;
        };
        stream.reset();
        if !stream.opened {
            if self.users[key].value != before {
                self.follows.remember(key, before);
            }
            self.send_for_user(slot, start);
            let deadline_ns = self.users[key].sent_ns + open.timeout_ns;
            return self.wait_for(key, Wait::Upgrade, deadline_ns);
        }
        let end_ns = stream.background.sent_ns + open.timeout_ns;
        self.transmit_background(slot, start, end_ns);
    }

    fn encode_stream_request(
        &mut self,
        now_ns: u64,
        slot: ConnSlot,
        open: &SseOpen,
    ) -> Result<(), String> {
        let conn = &mut self.conns.table[slot];
        let authority = self.requests.authority(conn.endpoint);
        let scope = &mut self.users.scope(now_ns, conn.user);
        let last_id = conn.event_stream().map_or(&[][..], |stream| &stream.last_id);
        if !http1::is_field_value(last_id) {
            return Err(
                "the last event id has characters that a header line cannot hold".to_owned()
            );
        }
        let last_id = (!last_id.is_empty()).then_some(("last-event-id", last_id));
        let out = &mut self.conns.commands.bytes;
        encode_get(&open.path, &open.headers, authority, last_id, scope, out)
    }

    /// The response's head is there: is it that of an event stream?
    pub(crate) fn take_stream_head(
        &mut self,
        now_ns: u64,
        slot: ConnSlot,
        len: usize,
        head: &Head<'_>,
    ) {
        let key = self.conns[slot].user;
        let background = self.conns[slot].is_background();
        let open = self.events_op(slot);
        self.keep_cookies(now_ns, slot, &open.path, &open.headers, head);
        if background && head.status == NO_CONTENT {
            return self.stop_reconnecting(now_ns, slot, len, head);
        }
        let gunzip = match check_head(head) {
            Ok(gunzip) => gunzip,
            Err((outcome, detail)) => return self.decline(now_ns, slot, head, outcome, detail),
        };
        self.trace_response(head, &[]);
        self.conns.set_up(slot, Stage::Open);
        if let Some(stream) = self.conns[slot].event_stream() {
            stream.gunzip = gunzip;
            stream.opened = true;
            stream.background.due_ns = NEVER;
        }
        if background {
            self.conns.end_background();
            self.recorder.counts.bytes_in += len as u64;
            if let Some(background) = self.conns[slot].background_mut() {
                background.bytes_in = len as u32;
            }
            self.record_background(now_ns, slot, Outcome::Ok, head.status);
            self.messages.accounts.resume(key, now_ns);
        } else {
            self.users[key].bytes_in = len as u32;
            self.complete(now_ns, key, Outcome::Ok, head.status);
        }
    }

    /// The server answers an attempt with status 204: the stream ends as if the user had closed it, and only a step that
    /// waits for an event fails.
    fn stop_reconnecting(&mut self, now_ns: u64, slot: ConnSlot, len: usize, head: &Head<'_>) {
        self.trace_response(head, &[]);
        self.recorder.counts.bytes_in += len as u64;
        if let Some(background) = self.conns[slot].background_mut() {
            background.bytes_in = len as u32;
        }
        self.record_background(now_ns, slot, Outcome::Ok, head.status);
        let key = self.conns[slot].user;
        self.end_subscription(now_ns, key);
        self.conns.close(&mut self.users, slot);
        if self.users[key].wait == Wait::Reply {
            let detail = || "the server ended the event stream with status 204".to_owned();
            self.fail_because(now_ns, key, Outcome::Closed, 0, detail);
        }
    }

    /// A piece of the stream, as it was sent.
    pub(crate) fn take_stream_piece(&mut self, now_ns: u64, slot: ConnSlot, piece: &[u8]) {
        let gunzip = self.conns[slot].event_stream().and_then(|stream| stream.gunzip.take());
        match gunzip {
            None => self.take_stream_text(now_ns, slot, piece),
            Some(gunzip) => self.take_compressed_piece(now_ns, slot, gunzip, piece),
        }
    }

    fn take_compressed_piece(
        &mut self,
        now_ns: u64,
        slot: ConnSlot,
        mut gunzip: Box<Gunzip>,
        piece: &[u8],
    ) {
        let id = self.conns.id(slot);
        let mut rest = piece;
        self.recorder.counts.encoded_in += piece.len() as u64;
        while !rest.is_empty() {
            let text = match gunzip.decode(&mut rest) {
                Ok(text) => text,
                Err(error) => {
                    let detail = || format!("the event stream is not valid gzip: {error}");
                    return self.lost(now_ns, slot, Outcome::Decoding, detail);
                }
            };
            self.recorder.counts.decoded_in += text.len() as u64;
            self.take_stream_text(now_ns, slot, &text);
            if self.conns.live(id).is_none() {
                return;
            }
        }
        if let Some(stream) = self.conns[slot].event_stream() {
            stream.gunzip = Some(gunzip);
        }
    }

    /// A piece of the stream's text: passes on complete events, keeps the rest.
    fn take_stream_text(&mut self, now_ns: u64, slot: ConnSlot, piece: &[u8]) {
        let id = self.conns.id(slot);
        let Some(stream) = self.conns[slot].event_stream() else {
            return;
        };
        let decoder = Decoder::Sse(std::mem::take(&mut stream.sse));
        let mut held = std::mem::take(&mut stream.held);
        let rest = if held.is_empty() {
            let taken = self.decode_with(now_ns, slot, decoder, piece);
            piece[taken..].to_vec()
        } else {
            held.extend_from_slice(piece);
            let taken = self.decode_with(now_ns, slot, decoder, &held);
            held.drain(..taken);
            held
        };
        if self.conns.live(id).is_some()
            && let Some(stream) = self.conns[slot].event_stream()
        {
            // An empty buffer that stays would cost every idle user.
            stream.held = if rest.is_empty() { Vec::new() } else { rest };
        }
    }

    pub(crate) fn take_sse(
        &mut self,
        now_ns: u64,
        slot: ConnSlot,
        len: usize,
        event: &sse::Event<'_>,
    ) {
        let id = self.conns.id(slot);
        let Some(stream) = self.conns[slot].event_stream() else {
            return;
        };
        if let Some(retry_ms) = event.retry_ms {
            stream.retry_ns = retry_ms.saturating_mul(1_000_000);
        }
        if let Some(last_id) = event.id {
            stream.last_id.clear();
            stream.last_id.extend_from_slice(last_id);
        }
        let Some(data) = event.data() else { return };
        let last_id = std::mem::take(&mut stream.last_id);
        let label = Label::Event { name: event.name, id: &last_id };
        let received = ReceivedMessage::labelled(&data, label);
        self.take_records(now_ns, slot, len, &received);
        if self.conns.live(id).is_some()
            && let Some(stream) = self.conns[slot].event_stream()
        {
            stream.last_id = last_id;
        }
    }

    /// A stream that was open once lost its connection, or could not get another one.
    pub(crate) fn event_stream_lost(
        &mut self,
        now_ns: u64,
        slot: ConnSlot,
        outcome: Outcome,
        detail: impl FnOnce() -> String,
    ) {
        let stage = self.conns[slot].stage;
        if stage.is_setting_up() {
            let detail = detail();
            self.explain_background(now_ns, slot, outcome, 0, None, || detail.clone());
            if matches!(stage, Stage::Connecting | Stage::Securing) {
                self.record_connect(now_ns, slot, outcome);
            }
            return self.end_failed_attempt(now_ns, slot, outcome, 0, &detail);
        }
        if self.will_reconnect(slot, outcome) {
            self.wait_to_reconnect(now_ns, slot);
        } else {
            self.stream_lost(now_ns, slot, outcome, detail);
        }
    }

    /// An attempt to reconnect failed.
    fn attempt_failed(
        &mut self,
        now_ns: u64,
        slot: ConnSlot,
        outcome: Outcome,
        status: u16,
        detail: &str,
    ) {
        self.explain_background(now_ns, slot, outcome, status, None, || detail.to_owned());
        self.end_failed_attempt(now_ns, slot, outcome, status, detail);
    }

    /// An attempt to reconnect was declined.
    pub(crate) fn attempt_declined(
        &mut self,
        now_ns: u64,
        slot: ConnSlot,
        outcome: Outcome,
        answer: Answer<'_>,
        detail: impl Fn() -> String,
    ) {
        let status = answer.head.map_or(0, |head| head.status);
        self.explain_background(now_ns, slot, outcome, status, Some(answer), &detail);
        self.end_failed_attempt(now_ns, slot, outcome, status, &detail());
    }

    /// Ends an attempt that failed, once its failure is explained.
    fn end_failed_attempt(
        &mut self,
        now_ns: u64,
        slot: ConnSlot,
        outcome: Outcome,
        status: u16,
        detail: &str,
    ) {
        self.record_background(now_ns, slot, outcome, status);
        if self.will_reconnect(slot, outcome) {
            self.wait_to_reconnect(now_ns, slot);
        } else {
            self.stream_lost(now_ns, slot, outcome, || detail.to_owned());
        }
    }

    /// §9.2.3: a failure of the network is tried again; a server that refuses, or whose answer
    /// makes no sense, is not.
    fn will_reconnect(&self, slot: ConnSlot, outcome: Outcome) -> bool {
        // What the server resets a stream with; our own resets have other outcomes.
        let passing = is_worth_a_retry(outcome)
            || matches!(
                outcome,
                Outcome::Closed
                    | Outcome::Timeout
                    | Outcome::Http2NoError
                    | Outcome::Http2InternalError
                    | Outcome::Http2RefusedStream
                    | Outcome::Http2Cancel
            );
        passing && self.events_op(slot).reconnect.is_some()
    }

    /// Gives the connection up until the next attempt is due.
    fn wait_to_reconnect(&mut self, now_ns: u64, slot: ConnSlot) {
        self.conns.park(&mut self.users, slot);
        let key = self.conns[slot].user;
        self.messages.accounts.interrupt(key, now_ns);
        let retry_ns = self.conns[slot].event_stream().map_or(NEVER, |stream| stream.retry_ns);
        self.arm_background(slot, now_ns.saturating_add(retry_ns));
    }
}

/// §9.2.3: status 200 and the content type of an event stream. Returns what decodes it, if it is compressed.
fn check_head(head: &Head<'_>) -> Result<Option<Box<Gunzip>>, (Outcome, String)> {
    if head.status != STATUS {
        let detail = format!("status {} instead of an event stream", head.status);
        return Err((Outcome::Status, detail));
    }
    let content_type = head.header("content-type").unwrap_or_default();
    let essence = content_type.split(|&b| b == b';').next().unwrap_or_default();
    if !essence.trim_ascii().eq_ignore_ascii_case(EVENT_STREAM) {
        let found = String::from_utf8_lossy(&content_type);
        let detail = format!("content-type {found:?} instead of text/event-stream");
        return Err((Outcome::HttpProtocol, detail));
    }
    match head.content_coding().as_deref() {
        None => Ok(None),
        Some("gzip" | "x-gzip") => Ok(Some(Box::new(Gunzip::new()))),
        Some(coding) => {
            let detail = format!(
                "the event stream is compressed with {coding}; streams are decompressed from gzip alone: \
                 write `accept-encoding: gzip` in its headers"
            );
            Err((Outcome::HttpProtocol, detail))
        }
    }
}
