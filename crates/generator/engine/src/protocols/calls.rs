//! Calls of gRPC: requests over HTTP/2 whose answers are framed messages, and whose trailers say how they ended
//! (grpc/grpc, doc/PROTOCOL-HTTP2.md).
//!
//! A reply is only framed and counted, unless a step reads it: then it becomes JSON.

mod deadlines;
pub(crate) mod state;
pub(crate) mod streams;

use grpc::{AnswerError, Ending, Frame, FrameError, Frames, OK, Schema};
use plan::Op;
use plan::calls::Call;
use proto::http1::Head;
use record::Outcome;
use record::schema::WorkKind;

use crate::conn::PendingOperation;
use crate::failures::Cause;
use crate::interpreter::Interpreter;
use crate::protocols::calls::state::Answer;
use crate::protocols::http::head_again;
use crate::received::{Label, ReceivedMessage};
use crate::tables::budget::EXHAUSTED;
use crate::tables::slots::{ConnSlot, UserKey};

/// Bytes that a message may take while it is read, for each of its own.
const READING_FACTOR: usize = 16;

/// The outcome of a failure, and its description.
pub(crate) type Fault = (Outcome, String);

impl<'p> Interpreter<'p> {
    /// The call that is in flight over a row.
    #[inline]
    pub(crate) fn call_on(&self, slot: ConnSlot) -> Option<&'p Call> {
        self.users.op(self.conns[slot].user).and_then(Op::call)
    }

    /// The head of an answer that messages follow.
    pub(crate) fn begin_answer(&mut self, now_ns: u64, slot: ConnSlot, head: &Head<'_>) {
        let key = self.conns[slot].user;
        let (http, Some(call)) = (self.http_op(key), self.call_on(slot)) else {
            return;
        };
        if let Err(fault) = check_head(head) {
            return self.fail_call(now_ns, slot, head.status, fault);
        }
        let is_traced = self.recorder.trace.is_some();
        let is_looked_at = is_traced || !http.save.is_empty() || !call.expect.is_empty();
        let is_read = is_traced || !call.expect.is_empty() || http.keeps_body();
        let encoding = head.header("grpc-encoding");
        let answer = Answer {
            is_gzip: encoding.is_some_and(|coding| coding.eq_ignore_ascii_case(b"gzip")),
            is_read,
            head: if is_looked_at { head.raw.to_vec() } else { Vec::new() },
            ..Answer::default()
        };
        self.conns[slot].pending = Some(Box::new(PendingOperation::Answer(answer)));
    }

    /// A piece of an answer's body.
    pub(crate) fn take_answer_piece(&mut self, now_ns: u64, slot: ConnSlot, piece: &[u8]) {
        let bytes_max = self.message_bytes_max();
        let Some(PendingOperation::Answer(answer)) = self.conns[slot].pending.as_deref_mut() else {
            return;
        };
        if let Err(fault) = take_frames(answer, piece, bytes_max) {
            self.fail_call(now_ns, slot, HTTP_OK, fault);
        }
    }

    /// An answer has ended, with these trailers.
    pub(crate) fn end_call(&mut self, now_ns: u64, slot: ConnSlot, trailers: &[u8]) {
        let pending = self.conns[slot].pending.take().map(|pending| *pending);
        let Some(PendingOperation::Answer(answer)) = pending else {
            return;
        };
        let ending = match ending_after(&answer.frames, trailers) {
            Ok(ending) => ending,
            Err(fault) => return self.fail_call(now_ns, slot, HTTP_OK, fault),
        };
        self.weigh_answer(now_ns, slot, &ending, HTTP_OK, &answer, trailers);
    }

    /// An answer that consists of a head, which has what trailers have otherwise.
    pub(crate) fn end_call_at_head(&mut self, now_ns: u64, slot: ConnSlot, head: &Head<'_>) {
        let ending = match ending_at_head(head) {
            Ok(ending) => ending,
            Err(fault) => return self.fail_call(now_ns, slot, head.status, fault),
        };
        let answer = Answer { head: head.raw.to_vec(), ..Answer::default() };
        self.weigh_answer(now_ns, slot, &ending, head.status, &answer, &[]);
    }

    /// The call fails before its answer has ended; its stream is reset, if it is still open.
    fn fail_call(&mut self, now_ns: u64, slot: ConnSlot, status: u16, (outcome, detail): Fault) {
        let key = self.conns[slot].user;
        self.conns.close(&mut self.users, slot);
        self.explain(now_ns, key, outcome, || detail);
        self.complete(now_ns, key, outcome, status);
    }

    /// Looks into a whole answer and ends the call.
    pub(crate) fn weigh_answer(
        &mut self,
        now_ns: u64,
        slot: ConnSlot,
        ending: &Ending,
        status: u16,
        answer: &Answer,
        trailers: &[u8],
    ) {
        let key = self.conns[slot].user;
        self.conns.close(&mut self.users, slot);
        let text = ending.head_text(&answer.head, trailers);
        let began_ns = self.begin_work(answer.is_read);
        let json = self.read_answer(key, ending, answer);
        self.end_work(key, WorkKind::Decoding, began_ns);
        let shown = json.as_ref().map_or(&[][..], Vec::as_slice);
        let head = head_again(&text);
        self.trace_answer(key, &head, shown);
        let received = ReceivedMessage {
            head: Some(&head),
            body: shown,
            is_decoded: true,
            label: Label::Nothing,
            took_ns: Some(now_ns.saturating_sub(self.users[key].due_ns)),
        };
        let began_ns = self.begin_reading(key);
        let verdict = self.judge_answer(now_ns, key, ending, answer, &received, &json);
        self.end_work(key, WorkKind::Save, began_ns);
        let outcome = match verdict {
            Ok(outcome) => outcome,
            Err((outcome, detail)) => {
                let cause = Cause::Text;
                self.explain_answer(now_ns, key, outcome, cause, &received, || detail);
                outcome
            }
        };
        self.conclude(now_ns, key, outcome, status);
    }

    /// The reply as JSON; empty: nothing reads it.
    fn read_answer(
        &self,
        key: UserKey,
        ending: &Ending,
        answer: &Answer,
    ) -> Result<Vec<u8>, Fault> {
        let Some(call) = self.users.op(key).and_then(Op::call) else {
            return Ok(Vec::new());
        };
        if !answer.is_read || ending.code != OK || answer.messages_count != 1 {
            return Ok(Vec::new());
        }
        let bytes_max = self.message_bytes_max();
        let bytes = answer.body.len().saturating_mul(READING_FACTOR);
        let read = || read_message(&self.plan.calls, call.reply, &answer.body, bytes_max);
        let read = self.users.while_held(bytes, read);
        read.unwrap_or_else(|| Err((Outcome::NoMemory, EXHAUSTED.to_owned())))
    }

    fn judge_answer(
        &mut self,
        now_ns: u64,
        key: UserKey,
        ending: &Ending,
        answer: &Answer,
        received: &ReceivedMessage<'_>,
        json: &Result<Vec<u8>, Fault>,
    ) -> Result<Outcome, Fault> {
        let http = self.http_op(key);
        let Some(call) = &http.call else {
            return Ok(Outcome::Ok);
        };
        if !call.statuses.contains(&ending.code) {
            // What it lacks is not its fault: it is not the answer that was wanted.
            let _ = self.keep(now_ns, key, &http.save, received);
            let name = grpc::name_of(ending.code);
            return Err((outcome_of(ending.code), format!("{name}{}", ending.message)));
        }
        if ending.code == OK && answer.messages_count != 1 {
            let detail = "the server ended the call as OK without a reply".to_owned();
            return Err((Outcome::Protocol, detail));
        }
        json.as_ref().map_err(Clone::clone)?;
        let scope = &mut self.users.scope(now_ns, key);
        let mut scratch = Vec::new();
        for condition in &call.expect {
            if !received.matches(std::slice::from_ref(condition), scope, &mut scratch) {
                let place = condition.from.place();
                let detail =
                    format!("not as expected at {place}; received {}", received.shown(true));
                return Err((Outcome::Check, detail));
            }
        }
        Ok(self.examine(now_ns, key, &http.save, &http.check, received))
    }

    pub(crate) fn message_bytes_max(&self) -> u32 {
        u32::try_from(self.plan.options.message_bytes_max).unwrap_or(u32::MAX)
    }
}

/// The status of a response that may be an answer.
const HTTP_OK: u16 = 200;

/// Is a head that of an answer?
pub(crate) fn check_head(head: &Head<'_>) -> Result<(), Fault> {
    let content_type = head.header("content-type").unwrap_or_default();
    grpc::check_head(head.status, &content_type).map_err(|error| fault_of_answer(&error))
}

fn fault_of_answer(error: &AnswerError) -> Fault {
    let outcome = match error {
        AnswerError::Http { code, .. } => outcome_of(*code),
        _ => Outcome::Protocol,
    };
    (outcome, error.to_string())
}

/// Reads the frames of a piece of an answer to a call that has one reply.
fn take_frames(answer: &mut Answer, piece: &[u8], bytes_max: u32) -> Result<(), Fault> {
    let mut rest = piece;
    loop {
        let (taken, frame) =
            answer.frames.next(rest, bytes_max).map_err(|error| fault_of(&error))?;
        if answer.is_read {
            answer.body.extend_from_slice(&rest[..taken]);
        }
        rest = &rest[taken..];
        match frame {
            Some(Frame::Begin { is_compressed, .. }) => {
                answer.messages_count += 1;
                if answer.messages_count > 1 {
                    let detail = "more than one reply to a call that has one";
                    return Err((Outcome::Protocol, detail.to_owned()));
                }
                if is_compressed && answer.is_read && !answer.is_gzip {
                    let detail = "a compressed reply whose `grpc-encoding` is not gzip";
                    return Err((Outcome::Protocol, detail.to_owned()));
                }
            }
            Some(Frame::Piece(_) | Frame::End) => {}
            None => return Ok(()),
        }
    }
}

/// A message in its frame as JSON.
pub(crate) fn read_message(
    schema: &Schema,
    message: u32,
    framed: &[u8],
    bytes_max: u32,
) -> Result<Vec<u8>, Fault> {
    let plain = grpc::unframed(framed, bytes_max).map_err(|error| fault_of(&error))?;
    grpc::to_json(schema, message, &plain).map_err(|error| {
        let outcome = match error {
            grpc::Unreadable::TooLarge => Outcome::TooLarge,
            _ => Outcome::Decoding,
        };
        (outcome, format!("the reply cannot be read: {error}"))
    })
}

pub(crate) fn fault_of(error: &FrameError) -> Fault {
    let outcome = match error {
        FrameError::TooLarge { .. } => Outcome::TooLarge,
        FrameError::Compressed(_) => Outcome::Decoding,
        FrameError::Flag(_) | FrameError::Cut => Outcome::Protocol,
    };
    (outcome, error.to_string())
}

/// The status behind messages in these frames.
pub(crate) fn ending_after(frames: &Frames, trailers: &[u8]) -> Result<Ending, Fault> {
    let ending = Ending::parse(trailers).map_err(|error| fault_of_answer(&error))?;
    match frames.is_between_messages() {
        true => Ok(ending),
        false => Err((Outcome::Protocol, "the answer ends within a message".to_owned())),
    }
}

/// The status of an answer that is a head alone. A head without one says otherwise what is wrong.
pub(crate) fn ending_at_head(head: &Head<'_>) -> Result<Ending, Fault> {
    Ending::parse(head.raw).or_else(|error| check_head(head).and(Err(fault_of_answer(&error))))
}

/// The outcome as which a code is counted.
pub(crate) fn outcome_of(code: u8) -> Outcome {
    match code {
        // Success where another status is expected.
        0 => Outcome::Status,
        1 => Outcome::GrpcCancelled,
        3 => Outcome::GrpcInvalidArgument,
        4 => Outcome::GrpcDeadlineExceeded,
        5 => Outcome::GrpcNotFound,
        6 => Outcome::GrpcAlreadyExists,
        7 => Outcome::GrpcPermissionDenied,
        8 => Outcome::GrpcResourceExhausted,
        9 => Outcome::GrpcFailedPrecondition,
        10 => Outcome::GrpcAborted,
        11 => Outcome::GrpcOutOfRange,
        12 => Outcome::GrpcUnimplemented,
        13 => Outcome::GrpcInternal,
        14 => Outcome::GrpcUnavailable,
        15 => Outcome::GrpcDataLoss,
        16 => Outcome::GrpcUnauthenticated,
        _ => Outcome::GrpcUnknown,
    }
}
