//! Answers that decline a WebSocket or an event stream. The body often says why: the operation fails when it is there, or
//! as much of it as is shown.

use proto::http1::Head;
use record::Outcome;

use crate::conn::{PendingOperation, SWITCHING};
use crate::failures::{Answer, BODY_BYTES_MAX, Cause};
use crate::interpreter::Interpreter;
use crate::protocols::Protocol;
use crate::protocols::http::head_again;
use crate::received::excerpt;
use crate::tables::slots::ConnSlot;

/// An answer that declines what was requested.
#[derive(Debug)]
pub(crate) struct DecliningAnswer {
    head: Vec<u8>,
    /// The beginning of its body, as far as it is there.
    pub(crate) body: Vec<u8>,
    outcome: Outcome,
    detail: String,
}

impl Interpreter<'_> {
    /// The head is there of an answer that declines what was requested.
    pub(crate) fn decline(
        &mut self,
        now_ns: u64,
        slot: ConnSlot,
        head: &Head<'_>,
        outcome: Outcome,
        detail: String,
    ) {
        let declined =
            DecliningAnswer { head: head.raw.to_vec(), body: Vec::new(), outcome, detail };
        match announces_body(head, outcome) {
            true => {
                let pending = PendingOperation::Declined(Box::new(declined));
                self.conns[slot].pending = Some(Box::new(pending));
            }
            false => self.conclude_declined(now_ns, slot, &declined),
        }
    }

    /// True while the body of an answer is awaited that declines.
    pub(crate) fn is_declined(&self, slot: ConnSlot) -> bool {
        matches!(self.conns[slot].pending.as_deref(), Some(PendingOperation::Declined(_)))
    }

    /// Takes a piece of such a body. False: the answer does not decline.
    pub(crate) fn take_declined_piece(
        &mut self,
        now_ns: u64,
        slot: ConnSlot,
        piece: &[u8],
    ) -> bool {
        let pending = self.conns[slot].pending.as_deref_mut();
        let Some(PendingOperation::Declined(declined)) = pending else {
            return false;
        };
        // With one byte more it is known that the body goes on.
        let left = (BODY_BYTES_MAX + 1).saturating_sub(declined.body.len());
        declined.body.extend_from_slice(&piece[..piece.len().min(left)]);
        if declined.body.len() > BODY_BYTES_MAX {
            self.end_declined(now_ns, slot);
        }
        true
    }

    /// No more comes of an answer that declines. False: there is none.
    pub(crate) fn end_declined(&mut self, now_ns: u64, slot: ConnSlot) -> bool {
        if !self.is_declined(slot) {
            return false;
        }
        let pending = self.conns[slot].pending.take().map(|pending| *pending);
        if let Some(PendingOperation::Declined(declined)) = pending {
            self.conclude_declined(now_ns, slot, &declined);
        }
        true
    }

    fn conclude_declined(&mut self, now_ns: u64, slot: ConnSlot, declined: &DecliningAnswer) {
        let DecliningAnswer { head, body, outcome, detail } = declined;
        let outcome = *outcome;
        let head = head_again(head);
        self.trace_response(&head, body);
        let text = || match body.is_empty() {
            true => detail.clone(),
            false => format!("{detail}: {}", excerpt(body)),
        };
        let answer = Answer { head: Some(&head), body, is_decoded: false };
        if self.conns[slot].is_background() {
            return match self.conns[slot].speaks {
                Protocol::Sse(_) => self.attempt_declined(now_ns, slot, outcome, answer, text),
                _ => self.reconnect_declined(now_ns, slot, outcome, answer, text),
            };
        }
        let key = self.conns[slot].user;
        self.conns.close(&mut self.users, slot);
        let cause = Cause::of_status(outcome, head.status);
        self.explain_as(now_ns, key, outcome, cause, Some(answer), text);
        self.fail(now_ns, key, outcome, head.status);
    }
}

/// True if a body follows the head, and ends: one of known length, or in chunks where a status declines. A stream that is
/// not wanted may go on for ever.
fn announces_body(head: &Head<'_>, outcome: Outcome) -> bool {
    let length = head.header("content-length").and_then(|length| {
        let length = String::from_utf8_lossy(&length).into_owned();
        length.trim().parse::<u64>().ok()
    });
    let coding = head.header("transfer-encoding");
    let is_chunked = coding.is_some_and(|coding| coding.to_ascii_lowercase().ends_with(b"chunked"));
    let is_finite = length.is_some_and(|length| length > 0);
    head.status != SWITCHING && (is_finite || is_chunked && outcome == Outcome::Status)
}
