//! Instructions, and what all that read a program ask of each: a line for each wherever they differ.

use serde::Serialize;
use stats::dist::Dist;

use super::Parallel;
use crate::calls::{Call, CallEnd, CallOpen};
use crate::channels::{ChannelOp, ChannelVerb};
use crate::data::Feed;
use crate::expr::{Condition, Expr, Template};
use crate::http::HttpOp;
use crate::ids::{MeasureId, MetricId, Pc, Register, Slot};
use crate::k6::{K6Next, K6Op};
use crate::matching::Save;
use crate::meetings::MeetOp;
use crate::messages::{Expect, SendOp};
use crate::script::ScriptOp;
use crate::streams::{Poll, SseOpen, WsOpen};
use crate::tcp::TcpOpen;

/// One instruction of a session.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub enum Op {
    /// Send an HTTP request and wait for its response.
    Http(Box<HttpOp>),
    /// Open a WebSocket (connect, TLS, upgrade) and wait for it. A user has at most one.
    WsOpen(Box<WsOpen>),
    /// Open a stream of server-sent events and wait for its head. It takes the WebSocket's place: a
    /// user has at most one of either.
    SseOpen(Box<SseOpen>),
    /// Poll again and again, beside the steps, for messages. It takes the WebSocket's place, too.
    Poll(Box<Poll>),
    /// Open a plain TCP connection and wait for it. It takes the WebSocket's place, too.
    TcpOpen(Box<TcpOpen>),
    /// Open a call of gRPC whose messages later steps send and expect. It takes the WebSocket's place, too.
    CallOpen(Box<CallOpen>),
    /// End it.
    CallEnd(Box<CallEnd>),
    /// Send a message; wait for its reply if there is one.
    Send(Box<SendOp>),
    /// Join, push to or leave a channel over the WebSocket.
    Channel(Box<ChannelOp>),
    /// Wait for a message.
    Expect(Box<Expect>),
    /// Close the connection that brings messages: a WebSocket with this status, waiting for the
    /// peer to close; an event stream; or stop polling.
    Close { code: u16 },
    /// Wait; the draw is in seconds, negative draws count as 0.
    Think(Dist),
    /// Wait this number of seconds; below zero counts as 0.
    ThinkFor(Expr),
    /// Wait until `every` seconds after the last time this op was due (the first time: no wait).
    /// The due times form a schedule that replies cannot delay.
    Pace { register: Register, every: Dist },
    /// Assign a variable.
    Set { slot: Slot, value: Template },
    /// Run a step that is written in JavaScript.
    Script(Box<ScriptOp>),
    /// Run a function of a script of k6.
    K6(Box<K6Op>),
    /// Go on with such a function, or with a task that it has begun, in a branch.
    K6Next(Box<K6Next>),
    /// Meet other users: a rendezvous, a counter, a queue.
    Meet(Box<MeetOp>),
    /// Take a row of the users' own data, or finish where there is none.
    Feed(Box<Feed>),
    /// Count `measure` as an error of kind `check` where `condition` is false; the user goes on.
    Check { condition: Condition, measure: MeasureId },
    /// Record a time that the scenario has computed or saved, as a measure of its own.
    Measure {
        value: Expr,
        /// Length of the value's unit, in nanoseconds.
        unit_ns: f64,
        measure: MeasureId,
    },
    /// Record a number that is no time.
    Record { value: Expr, metric: MetricId },
    /// Start a counted loop: evaluate `times`, jump to `end` when it is below 1.
    LoopStart { register: Register, times: Expr, end: Pc },
    /// Count one round; jump back to `body` while rounds are left.
    LoopEnd { register: Register, body: Pc },
    /// Go to `to`.
    Jump(Pc),
    /// Go to `to` when the condition is false.
    JumpUnless { condition: Expr, to: Pc },
    /// Go to one of the branches, with probability in proportion to its weight.
    Choose(Vec<(f64, Pc)>),
    /// The first attempt at the steps of a [`Retry`](super::Retry) begins.
    RetryStart { attempts: Register },
    /// An attempt ends. It has failed if `until` is false.
    RetryEnd { until: Option<Condition> },
    /// Run branches at the same time, and continue behind them when all have ended.
    Parallel(Box<Parallel>),
    /// A branch ends.
    BranchEnd,
    /// Restart the session, at most `times_max` times a user; then the user has finished.
    Restart { register: Register, times_max: u64 },
    /// A transaction or group starts.
    TransactionStart {
        register: Register,
        /// As [`Transaction::failure`](super::Transaction::failure).
        failure: Register,
        measure: MeasureId,
    },
    /// It ends: measure from its start to now.
    TransactionEnd { register: Register, failure: Register, measure: MeasureId },
    /// The user has finished.
    Stop,
}

impl Op {
    /// The measure of the operation that this instruction begins; `None` if it begins none.
    pub fn measure(&self) -> Option<MeasureId> {
        match self {
            Op::Http(http) => Some(http.measure),
            Op::WsOpen(open) => Some(open.measure),
            Op::SseOpen(open) => Some(open.measure),
            Op::Poll(poll) => Some(poll.measure),
            Op::TcpOpen(open) => Some(open.measure),
            Op::CallOpen(open) => Some(open.measure),
            Op::CallEnd(end) => Some(end.measure),
            Op::Send(send) => Some(send.reply.as_ref().map_or(send.measure, |r| r.measure)),
            Op::Channel(op) => Some(op.measure),
            Op::Expect(expect) => Some(expect.measure),
            Op::Meet(op) => op.measure(),
            _ => None,
        }
    }

    /// The measure of what waits for messages that the target sends by itself, in the step or beside it, for as long as that
    /// takes.
    pub fn waiting_measure(&self) -> Option<MeasureId> {
        match self {
            Op::Expect(expect) => Some(expect.measure),
            Op::Poll(poll) => Some(poll.measure),
            Op::SseOpen(open) => open.reconnect.as_ref().map(|reconnect| reconnect.measure),
            Op::WsOpen(open) => open.reconnect.as_ref().map(|reconnect| reconnect.measure),
            _ => None,
        }
    }

    /// The timeout of an operation that needs a connection, its set-up included; 0 for any other instruction.
    pub fn timeout_ns(&self) -> u64 {
        match self {
            Op::Http(http) => http.timeout_ns,
            Op::WsOpen(open) => open.timeout_ns,
            Op::SseOpen(open) => open.timeout_ns,
            Op::TcpOpen(open) => open.timeout_ns,
            Op::CallOpen(open) => open.timeout_ns,
            Op::Poll(poll) => poll.timeout_ns,
            _ => 0,
        }
    }

    /// The call of gRPC that this instruction makes, if its answer is awaited at once.
    #[inline]
    pub fn call(&self) -> Option<&Call> {
        match self {
            Op::Http(http) => http.call.as_deref(),
            _ => None,
        }
    }

    /// The schema's number of the message that this instruction sends with a call, if it makes one.
    pub fn call_request(&self) -> Option<u32> {
        match self {
            Op::CallOpen(open) => Some(open.request),
            op => op.call().map(|call| call.request),
        }
    }

    /// The values that the operation begun by this instruction saves from its answer.
    pub fn saves(&self) -> &[Save] {
        let reply = match self {
            Op::Http(http) => return &http.save,
            Op::Expect(expect) => return &expect.save,
            Op::Send(send) => &send.reply,
            Op::Channel(op) => &op.reply,
            _ => return &[],
        };
        reply.as_ref().map_or(&[], |reply| &reply.save)
    }

    /// The variable that a value of a queue is for.
    pub fn takes(&self) -> Option<Slot> {
        match self {
            Op::Meet(op) => match **op {
                MeetOp::Dequeue { slot, .. } => Some(slot),
                _ => None,
            },
            _ => None,
        }
    }

    /// The name of its step in a scenario.
    pub fn word(&self) -> &'static str {
        match self {
            Op::Http(http) if http.call.is_some() => "grpc",
            Op::Http(_) => "request",
            Op::WsOpen(open) if open.mqtt.is_some() => "mqtt",
            Op::WsOpen(_) => "ws",
            Op::SseOpen(_) => "sse",
            Op::Poll(_) => "poll",
            Op::TcpOpen(_) => "tcp",
            Op::CallOpen(_) => "grpc",
            Op::CallEnd(_) => "close",
            Op::Send(_) => "send",
            Op::Channel(op) if op.delivery.is_some() => mqtt_word(op.verb),
            Op::Channel(_) => "channel",
            Op::Expect(_) => "expect",
            Op::Close { .. } => "close",
            Op::Think(_) | Op::ThinkFor(_) => "think",
            Op::Pace { .. } => "pace",
            Op::Set { .. } => "set",
            Op::Script(_) => "js",
            Op::K6(_) | Op::K6Next(_) => "k6",
            Op::Feed(_) => "feed",
            Op::Meet(op) => match **op {
                MeetOp::Rendezvous { .. } => "rendezvous",
                MeetOp::Next { .. } => "next",
                MeetOp::Enqueue { .. } => "enqueue",
                MeetOp::Dequeue { .. } => "dequeue",
            },
            Op::Check { .. } => "check",
            Op::Measure { .. } | Op::Record { .. } => "measure",
            Op::LoopStart { .. } | Op::LoopEnd { .. } => "loop",
            Op::Jump(_) | Op::JumpUnless { .. } => "if",
            Op::Choose(_) => "choice",
            Op::RetryStart { .. } | Op::RetryEnd { .. } => "retry",
            Op::Parallel(_) | Op::BranchEnd => "parallel",
            Op::Restart { .. } => "restart",
            Op::TransactionStart { .. } | Op::TransactionEnd { .. } => "transaction",
            Op::Stop => "stop",
        }
    }

    /// True if it lets time pass.
    pub fn waits(&self) -> bool {
        match self {
            Op::Http(_)
            | Op::WsOpen(_)
            | Op::SseOpen(_)
            | Op::TcpOpen(_)
            | Op::Expect(_)
            | Op::K6(_) => true,
            // Values may be there.
            Op::Meet(op) => matches!(**op, MeetOp::Rendezvous { timeout_ns: 1.., .. }),
            Op::CallEnd(end) => !end.cancels,
            Op::Send(send) => send.reply.is_some(),
            Op::Channel(op) => {
                let acknowledged = op.delivery.as_ref().is_some_and(|own| own.qos > 0);
                op.confirmed || op.reply.is_some() || acknowledged
            }
            Op::Think(dist) | Op::Pace { every: dist, .. } => !never_positive(dist),
            Op::ThinkFor(seconds) => !matches!(seconds, Expr::Const(_)),
            // A poll's user goes on at once; to close takes time only where it was opened before.
            Op::Poll(_)
            | Op::CallOpen(_)
            | Op::Close { .. }
            | Op::Set { .. }
            | Op::Script(_)
            | Op::K6Next(_)
            | Op::Feed(_)
            | Op::Check { .. }
            | Op::Measure { .. }
            | Op::Record { .. }
            | Op::LoopStart { .. }
            | Op::LoopEnd { .. }
            | Op::Jump(_)
            | Op::JumpUnless { .. }
            | Op::Choose(_)
            | Op::RetryStart { .. }
            | Op::RetryEnd { .. }
            | Op::Parallel(_)
            | Op::BranchEnd
            | Op::Restart { .. }
            | Op::TransactionStart { .. }
            | Op::TransactionEnd { .. }
            | Op::Stop => false,
        }
    }

    /// True if the user talks with the target in it, which takes time. A poll talks beside the steps.
    pub fn is_exchange(&self) -> bool {
        matches!(
            self,
            Op::Http(_)
                | Op::WsOpen(_)
                | Op::SseOpen(_)
                | Op::TcpOpen(_)
                | Op::CallOpen(_)
                | Op::CallEnd(_)
                | Op::Send(_)
                | Op::Channel(_)
                | Op::Expect(_)
        )
    }

    /// True if it opens or closes the connection that brings messages, or sends something over it.
    pub fn uses_stream(&self) -> bool {
        let uses = matches!(
            self,
            Op::Send(_) | Op::Channel(_) | Op::CallEnd(_) | Op::Close { .. } | Op::Restart { .. }
        );
        uses || self.stays_open()
    }

    /// True if a connection of the user's own stays open behind it.
    pub fn stays_open(&self) -> bool {
        matches!(
            self,
            Op::WsOpen(_) | Op::SseOpen(_) | Op::TcpOpen(_) | Op::CallOpen(_) | Op::Poll(_)
        )
    }
}

fn mqtt_word(verb: ChannelVerb) -> &'static str {
    match verb {
        ChannelVerb::Join => "subscribe",
        ChannelVerb::Push => "publish",
        ChannelVerb::Leave => "unsubscribe",
    }
}

fn never_positive(dist: &Dist) -> bool {
    match dist {
        Dist::Constant(seconds) => *seconds <= 0.0,
        Dist::Empirical(values) => values.iter().all(|v| *v <= 0.0),
        Dist::Mixture(parts) => parts.iter().all(|(_, part)| never_positive(part)),
        Dist::Clamped { inner, max, .. } => *max <= 0.0 || never_positive(inner),
        Dist::Uniform { max, .. } => *max <= 0.0,
        Dist::Exponential { .. }
        | Dist::Normal { .. }
        | Dist::LogNormal { .. }
        | Dist::Weibull { .. }
        | Dist::Pareto { .. }
        | Dist::Gamma { .. } => false,
    }
}
