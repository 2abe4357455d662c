//! Answers, written behind one another into a buffer.

use super::{ANSWER, Code, ERROR, HEADER_BYTES, Operation, TRAILER_BYTES};

/// A message as clients get it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Message<'a> {
    pub(crate) id: i64,
    pub(crate) queue: i32,
    pub(crate) sender: i32,
    pub(crate) receiver: Option<i32>,
    /// Microseconds since 1970.
    pub(crate) arrival_us: u64,
    pub(crate) text: &'a str,
}

impl Message<'_> {
    /// The answer to a client if there is no message.
    pub(crate) const NONE: Message<'static> =
        Message { id: 0, queue: 0, sender: 0, receiver: None, arrival_us: 0, text: "" };
}

/// Writes one answer to the end of a buffer; its length is set by [`Writer::finish`].
#[derive(Debug)]
pub(crate) struct Writer<'a> {
    out: &'a mut Vec<u8>,
    start: usize,
}

impl<'a> Writer<'a> {
    fn new(out: &'a mut Vec<u8>, kind: u8) -> Self {
        let start = out.len();
        out.extend_from_slice(&[0, 0, 0, 0, kind]);
        Self { out, start }
    }

    /// An answer to this operation.
    pub(crate) fn answer(out: &'a mut Vec<u8>, operation: Operation) -> Self {
        Self::new(out, operation as u8 | ANSWER)
    }

    /// An error in answer to a request of this type, 0 if it is not known.
    pub(crate) fn error(out: &'a mut Vec<u8>, kind: u8, code: Code, text: &str) -> Self {
        let mut answer = Self::new(out, ERROR);
        answer.out.push(kind);
        answer.out.extend_from_slice(&(code as u16).to_be_bytes());
        answer.bytes(text.as_bytes());
        answer
    }

    pub(crate) fn u32(&mut self, number: u32) {
        self.out.extend_from_slice(&number.to_be_bytes());
    }

    /// A number that is not negative; the databases that it comes from have no other.
    pub(crate) fn id(&mut self, id: i32) {
        self.u32(id.unsigned_abs());
    }

    pub(crate) fn u64(&mut self, number: u64) {
        self.out.extend_from_slice(&number.to_be_bytes());
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    /// A message whose text fills the rest.
    pub(crate) fn message(&mut self, message: &Message<'_>) {
        self.u64(message.id.unsigned_abs());
        self.id(message.queue);
        self.id(message.sender);
        self.id(message.receiver.unwrap_or(0));
        self.u64(message.arrival_us);
        self.bytes(message.text.as_bytes());
    }

    /// A message in a list of one sender's.
    pub(crate) fn listed(&mut self, message: &Message<'_>) {
        self.u64(message.id.unsigned_abs());
        self.id(message.queue);
        self.id(message.receiver.unwrap_or(0));
        self.u64(message.arrival_us);
        self.u32(message.text.len().try_into().unwrap_or(u32::MAX));
        self.bytes(message.text.as_bytes());
    }

    /// Completes the answer.
    pub(crate) fn finish(self) {
        set_length(self.out, self.start);
    }
}

/// The receiver of the message in an answer to peek or pop: none if it is to anybody.
pub(crate) fn receiver_of(answer: &[u8]) -> Option<i32> {
    // Behind the message's id, queue and sender.
    let field = answer.get(HEADER_BYTES + 16..)?.first_chunk()?;
    Some(i32::from_be_bytes(*field)).filter(|&receiver| receiver != 0)
}

/// Adds a trailer to the answer that begins at `start`: the times in microseconds.
pub(crate) fn add_trailer(out: &mut Vec<u8>, start: usize, times_us: [u32; TRAILER_BYTES / 4]) {
    for time in times_us {
        out.extend_from_slice(&time.to_be_bytes());
    }
    set_length(out, start);
}

fn set_length(out: &mut [u8], start: usize) {
    let payload = out.len() - start - HEADER_BYTES;
    // Payloads are bounded far below 4 GiB.
    let length = u32::try_from(payload).unwrap_or(u32::MAX);
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
}
