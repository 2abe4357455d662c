//! Instructions that compute something which may take long, before they send or with what they get.

use super::Op;
use crate::expr::{Condition, Template};
use crate::graphql::Answer;
use crate::matching::Save;
use crate::messages::Expect;
use crate::tcp::Payload;

impl Op {
    /// True if it may take long to make what it sends, or its values.
    pub fn computes_before(&self) -> bool {
        match self {
            Op::Http(http) => {
                let call = http.call.as_ref();
                http.sign.is_some()
                    || http.graphql.is_some()
                    || call.is_some_and(|call| call.compress || !call.message.is_constant())
                    || request_computes(&http.path, &http.headers)
                    || http.body.as_ref().is_some_and(Template::computes)
            }
            Op::WsOpen(open) => request_computes(&open.path, &open.headers),
            Op::SseOpen(open) => request_computes(&open.path, &open.headers),
            Op::CallOpen(open) => {
                let message = open.message.as_ref();
                request_computes(&open.path, &open.headers)
                    || message.is_some_and(|message| open.compress || !message.is_constant())
            }
            Op::Send(send) => payload_computes(&send.payload),
            Op::Channel(op) => payload_computes(&op.payload),
            Op::Set { value, .. } => value.computes(),
            Op::Script(_) | Op::K6(_) | Op::K6Next(_) => true,
            Op::Check { condition, .. } | Op::RetryEnd { until: Some(condition) } => {
                condition.expr.computes()
            }
            Op::Measure { value, .. } | Op::Record { value, .. } => value.computes(),
            Op::LoopStart { times, .. } => times.computes(),
            Op::JumpUnless { condition, .. } => condition.computes(),
            Op::ThinkFor(seconds) => seconds.computes(),
            _ => false,
        }
    }

    /// True if it may take long to find in an answer what is saved of it, and to check that.
    pub fn computes_after(&self) -> bool {
        let expects = |expect: &Expect| {
            examining_computes(&expect.save, &expect.check, expect.graphql.as_ref())
        };
        match self {
            Op::Http(http) => {
                let call = http.call.as_ref();
                call.is_some_and(|call| !call.expect.is_empty())
                    || examining_computes(&http.save, &http.check, http.graphql.as_ref())
            }
            Op::Expect(expect) => expects(expect),
            Op::Send(send) => send.reply.as_ref().is_some_and(expects),
            Op::Channel(op) => op.reply.as_ref().is_some_and(expects),
            _ => false,
        }
    }
}

fn request_computes(path: &Template, headers: &[(String, Template)]) -> bool {
    path.computes() || headers.iter().any(|(_, value)| value.computes())
}

fn payload_computes(payload: &Payload) -> bool {
    match payload {
        Payload::Text(template) => template.computes(),
        Payload::Bytes(_) => false,
        Payload::Message { message, compress, .. } => {
            *compress == Some(true) || !message.is_constant()
        }
    }
}

fn examining_computes(save: &[Save], check: &[Condition], graphql: Option<&Answer>) -> bool {
    let saves = |save: &Save| {
        save.from.reads_body() || save.default.as_ref().is_some_and(Template::computes)
    };
    graphql.is_some()
        || save.iter().any(saves)
        || check.iter().any(|condition| condition.expr.computes())
}
