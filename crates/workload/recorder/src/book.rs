//! The recording of exchanges, within limits.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::frames::Message;
use crate::head::{Fields, RequestHead, ResponseHead};

/// The most that a recording keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Requests.
    pub exchanges_max: usize,
    /// Bytes of one body, or of one message of a WebSocket.
    pub body_bytes_max: usize,
    /// Messages of one WebSocket.
    pub messages_max: usize,
    /// Bytes of all heads, bodies and messages.
    pub bytes_max: usize,
}

impl Default for Limits {
    /// The limits of the importer of recordings.
    fn default() -> Limits {
        Limits {
            exchanges_max: 5000,
            body_bytes_max: 4 << 20,
            messages_max: 10_000,
            bytes_max: 128 << 20,
        }
    }
}

/// A body, as far as it was kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Body {
    pub(crate) bytes: Vec<u8>,
    /// The length of all of it.
    pub(crate) bytes_count: u64,
}

impl Body {
    pub(crate) fn is_whole(&self) -> bool {
        self.bytes.len() as u64 == self.bytes_count
    }
}

/// A message of a WebSocket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SocketMessage {
    pub(crate) at: Duration,
    pub(crate) from_browser: bool,
    pub(crate) message: Message,
}

/// A response, as far as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Response {
    /// When its head was there.
    pub(crate) at: Duration,
    pub(crate) status: u16,
    pub(crate) reason: String,
    pub(crate) fields: Fields,
    pub(crate) body: Body,
}

/// A request and what came back. Times count from the Unix epoch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Exchange {
    pub(crate) started: Duration,
    /// The number of the browser's connection.
    pub(crate) connection: u64,
    pub(crate) method: String,
    pub(crate) url: String,
    pub(crate) fields: Fields,
    pub(crate) body: Body,
    pub(crate) response: Option<Response>,
    pub(crate) messages: Vec<SocketMessage>,
    /// Messages that are not kept.
    pub(crate) messages_lost: u64,
    /// `None`: it went on when the recording ended.
    pub(crate) ended: Option<Duration>,
    /// Why there is no response, or only a part of it.
    pub(crate) error: Option<String>,
}

/// Which body a part belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyOwner {
    Request,
    Response,
}

/// All that has been recorded.
#[derive(Debug, Clone, Default)]
pub struct Recording {
    pub(crate) exchanges: Vec<Exchange>,
    /// Requests that were passed on and not kept.
    left_out: u64,
    /// Connections on which the browser did not take the authority's certificate.
    pub(crate) distrusted: u64,
    bytes_kept: usize,
    /// When the recording ended, since the Unix epoch.
    pub(crate) ended: Duration,
}

impl Recording {
    /// The number of requests.
    #[must_use]
    pub fn len(&self) -> usize {
        self.exchanges.len()
    }

    /// Whether there is no request.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.exchanges.is_empty()
    }

    /// The parts that the limits left out, a sentence each.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.left_out > 0 {
            notes.push(format!("requests that were passed on but not recorded: {}", self.left_out));
        }
        let cut: Vec<&Exchange> =
            self.exchanges.iter().filter(|one| !one.body.is_whole()).collect();
        if let Some(first) = cut.first() {
            notes.push(format!(
                "bodies of requests that are too long to be recorded: {}, the first of {} {}",
                cut.len(),
                first.method,
                first.url
            ));
        }
        let response_cut = |one: &&Exchange| {
            one.response.as_ref().is_some_and(|response| !response.body.is_whole())
        };
        let responses_cut = self.exchanges.iter().filter(response_cut).count();
        if responses_cut > 0 {
            notes.push(format!(
                "responses of which only the beginning is recorded: {responses_cut}"
            ));
        }
        let lost: u64 = self.exchanges.iter().map(|one| one.messages_lost).sum();
        if lost > 0 {
            notes.push(format!("messages of WebSockets that are not recorded: {lost}"));
        }
        if self.distrusted > 0 {
            notes.push(format!(
                "connections whose client did not accept the recorder's certificate: {}",
                self.distrusted
            ));
        }
        let failed: Vec<&Exchange> = self
            .exchanges
            .iter()
            .filter(|one| one.response.is_none() && one.error.is_some())
            .collect();
        if let Some(first) = failed.first() {
            notes.push(format!(
                "requests without a response: {}, the first {} {}: {}",
                failed.len(),
                first.method,
                first.url,
                first.error.as_deref().unwrap_or_default()
            ));
        }
        notes
    }
}

/// The recording while it grows.
#[derive(Debug, Clone)]
pub(crate) struct Book {
    limits: Limits,
    recording: Arc<Mutex<Recording>>,
}

/// The place of an exchange in the book.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    book: Book,
    /// `None`: it is not kept.
    index: Option<usize>,
}

impl Book {
    pub(crate) fn new(limits: Limits) -> Book {
        Book { limits, recording: Arc::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Recording> {
        self.recording.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The longest message that is kept.
    pub(crate) fn message_bytes_max(&self) -> usize {
        self.limits.body_bytes_max
    }

    /// Begins an exchange.
    pub(crate) fn begin(
        &self,
        started: Duration,
        connection: u64,
        url: String,
        head: &RequestHead,
    ) -> Entry {
        let mut recording = self.lock();
        let is_full = recording.exchanges.len() >= self.limits.exchanges_max
            || recording.bytes_kept + head.bytes_count > self.limits.bytes_max;
        if is_full {
            recording.left_out += 1;
            return Entry { book: self.clone(), index: None };
        }
        recording.bytes_kept += head.bytes_count;
        recording.exchanges.push(Exchange {
            started,
            connection,
            method: head.method.clone(),
            url,
            fields: head.fields.clone(),
            body: Body::default(),
            response: None,
            messages: Vec::new(),
            messages_lost: 0,
            ended: None,
            error: None,
        });
        Entry { book: self.clone(), index: Some(recording.exchanges.len() - 1) }
    }

    /// All that has been recorded until now.
    pub(crate) fn close(&self, now: Duration) -> Recording {
        let mut recording = std::mem::take(&mut *self.lock());
        recording.ended = now;
        recording
    }
}

impl Entry {
    /// Changes the exchange, if it is kept and the recording goes on.
    fn change(&self, change: impl FnOnce(&mut Exchange, &mut usize)) {
        let mut recording = self.book.lock();
        let Recording { exchanges, bytes_kept, .. } = &mut *recording;
        if let Some(exchange) = self.index.and_then(|index| exchanges.get_mut(index)) {
            change(exchange, bytes_kept);
        }
    }

    pub(crate) fn respond(&self, at: Duration, head: &ResponseHead) {
        self.change(|exchange, bytes_kept| {
            *bytes_kept += head.bytes_count;
            exchange.response = Some(Response {
                at,
                status: head.status,
                reason: head.reason.clone(),
                fields: head.fields.clone(),
                body: Body::default(),
            });
        });
    }

    /// Adds a part of a body.
    pub(crate) fn add(&self, part: BodyOwner, bytes: &[u8]) {
        let limits = self.book.limits;
        self.change(|exchange, bytes_kept| {
            let body = match part {
                BodyOwner::Request => Some(&mut exchange.body),
                BodyOwner::Response => {
                    exchange.response.as_mut().map(|response| &mut response.body)
                }
            };
            let Some(body) = body else { return };
            // Behind a gap nothing is kept.
            let room_of_body = limits.body_bytes_max.saturating_sub(body.bytes.len());
            let room_of_all = limits.bytes_max.saturating_sub(*bytes_kept);
            let room = if body.is_whole() { room_of_body.min(room_of_all) } else { 0 };
            let kept = bytes.len().min(room);
            body.bytes.extend_from_slice(&bytes[..kept]);
            body.bytes_count += bytes.len() as u64;
            *bytes_kept += kept;
        });
    }

    pub(crate) fn message(&self, at: Duration, from_browser: bool, message: Message) {
        let limits = self.book.limits;
        self.change(|exchange, bytes_kept| {
            let is_full = exchange.messages.len() >= limits.messages_max
                || *bytes_kept + message.payload.len() > limits.bytes_max;
            if is_full || message.payload.len() as u64 != message.bytes_count {
                exchange.messages_lost += 1;
                return;
            }
            *bytes_kept += message.payload.len();
            exchange.messages.push(SocketMessage { at, from_browser, message });
        });
    }

    /// Ends the exchange.
    pub(crate) fn end(&self, at: Duration, error: Option<String>) {
        self.change(|exchange, _| {
            exchange.ended = Some(at);
            exchange.error = error;
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::head::Length;

    const LIMITS: Limits =
        Limits { exchanges_max: 2, body_bytes_max: 10, messages_max: 2, bytes_max: 100 };

    fn head(bytes_count: usize) -> RequestHead {
        RequestHead {
            method: "GET".to_owned(),
            target: "/".to_owned(),
            fields: Fields::default(),
            bytes_count,
            length: Length::Exact(0),
        }
    }

    fn begin(book: &Book, bytes_count: usize) -> Entry {
        book.begin(Duration::ZERO, 0, "http://a/".to_owned(), &head(bytes_count))
    }

    #[test]
    fn limits_leave_out_what_is_too_much_and_say_so() {
        let book = Book::new(LIMITS);
        let first = begin(&book, 10);
        first.add(BodyOwner::Request, b"0123456");
        first.add(BodyOwner::Request, b"789ab");
        first.add(BodyOwner::Request, b"c");
        let message = |length: usize| Message {
            opcode: 1,
            payload: vec![b'a'; length.min(10)],
            bytes_count: length as u64,
        };
        for length in [3, 11, 10, 1] {
            first.message(Duration::ZERO, true, message(length));
        }
        begin(&book, 10);
        begin(&book, 10);
        let recording = book.close(Duration::from_secs(1));
        assert_eq!(recording.len(), 2);
        let body = &recording.exchanges[0].body;
        assert_eq!((body.bytes.as_slice(), body.bytes_count), (&b"0123456789"[..], 13));
        let lengths = recording.exchanges[0].messages.iter();
        let lengths: Vec<u64> = lengths.map(|sent| sent.message.bytes_count).collect();
        assert_eq!(lengths, [3, 10]);
        let expected = [
            "requests that were passed on but not recorded: 1",
            "bodies of requests that are too long to be recorded: 1, the first of GET http://a/",
            "messages of WebSockets that are not recorded: 2",
        ];
        assert_eq!(recording.notes(), expected);
        // What comes after the end changes nothing.
        first.add(BodyOwner::Request, b"d");
        assert!(book.close(Duration::ZERO).is_empty());
    }

    #[test]
    fn all_bytes_together_have_a_limit() {
        let book = Book::new(LIMITS);
        let entry = begin(&book, 95);
        entry.add(BodyOwner::Request, b"0123456");
        assert_eq!(book.lock().exchanges[0].body.bytes, b"01234");
        begin(&book, 1);
        assert_eq!(book.close(Duration::ZERO).left_out, 1);
    }
}
