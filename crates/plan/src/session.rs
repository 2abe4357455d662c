//! Sessions: flat programs of instructions.

use std::ops::Range;

use serde::Serialize;
use stats::dist::Dist;

use crate::channels::ChannelOp;
use crate::data::Feed;
use crate::expr::{Expr, Template};
use crate::http::HttpOp;
use crate::ids::{MeasureId, Pc, Register, Slot};
use crate::messages::{Expect, SendOp};
use crate::streams::{Poll, SseOpen, WsOpen};
use crate::tcp::TcpOpen;

/// One program and its weight among those that arrivals choose from.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Session {
    /// As written in the scenario.
    pub name: String,
    /// Relative share; ≥ 0.
    pub weight: f64,
    /// Its users keep cookies.
    pub cookies: bool,
    /// The program. A user that runs off its end has finished.
    pub ops: Vec<Op>,
    /// How often parts of the program are expected to be done.
    pub visits: Vec<Visits>,
    /// How many variables a user has.
    pub slots_count: u16,
    /// How many registers a user has.
    pub registers_count: u16,
    /// Names of the slots, for messages and tests.
    pub slot_names: Vec<String>,
}

/// How often some instructions are expected to be done, each time what is around them is done
/// once. Those of a part within another multiply.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Visits {
    pub instructions: Range<Pc>,
    pub expected: f64,
}

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
    /// Ask again and again, beside the steps, for messages. It takes the WebSocket's place, too.
    Poll(Box<Poll>),
    /// Open a plain TCP connection and wait for it. It takes the WebSocket's place, too.
    TcpOpen(Box<TcpOpen>),
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
    /// Take a row of the users' own data, or finish where there is none.
    Feed(Box<Feed>),
    /// Count `measure` as an error of kind `check` where `condition` is false; the user goes on.
    Check { condition: Expr, measure: MeasureId },
    /// Start a counted loop: evaluate `times`, jump to `end` when it is below 1.
    LoopStart {
        register: Register,
        times: Expr,
        end: Pc,
    },
    /// Count one round; jump back to `body` while rounds are left.
    LoopEnd { register: Register, body: Pc },
    /// Go to `to`.
    Jump(Pc),
    /// Go to `to` when the condition is false.
    JumpUnless { condition: Expr, to: Pc },
    /// Go to one of the branches, with probability in proportion to its weight.
    Choose(Vec<(f64, Pc)>),
    /// Restart the session, at most `times_max` times a user; then the user has finished.
    Restart { register: Register, times_max: u64 },
    /// A named transaction starts.
    TransactionStart { register: Register },
    /// It ends: measure from its start to now.
    TransactionEnd {
        register: Register,
        measure: MeasureId,
    },
    /// The user has finished.
    Stop,
}
