//! Values, expressions and templates: what stands between `${` and `}`, and in `if` and `check`.
//!
//! This file holds the types; [`Condition`] says why an expression is false; `computing` says which may take long;
//! [`binary`] writes numbers as bytes, [`eval`] runs expressions, `functions` has those of values alone, `invented` those
//! of names, addresses and words, `places` reads JSONPath, `protobuf` writes and reads messages, [`value`] says how values
//! convert and compare, [`template`] writes text.

pub mod binary;
mod computing;
mod condition;
pub mod eval;
mod functions;
mod invented;
mod numbers;
mod places;
mod protobuf;
pub mod template;
pub mod value;

pub use condition::{Condition, shown};
pub use functions::Pure;
pub use invented::{Invention, Language};
pub use numbers::EvalError;
pub(crate) use places::LIST_BYTES_MAX;
pub use places::{JsonSearch, TooMuchWork, VISITS_MAX, all_places};
pub use protobuf::MessageType;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use signing::Signer;
use stats::rng::Rng;

use crate::ids::Slot;

/// A variable's value.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub enum Value {
    /// Never set.
    #[default]
    Nothing,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(Arc<str>),
    /// A number as JSON writes it, whose text the other kinds would not give back: it is too large, has more digits than
    /// a float, or is written in another way (`1.50`). Arithmetic reads it.
    Number(Arc<str>),
    /// Bytes that need not be text. In JSON they are base64.
    Bytes(Arc<[u8]>),
}

/// A compiled expression.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub enum Expr {
    Const(Value),
    /// A variable of the session.
    Var(Slot),
    /// A variable that `setup` has set for all users.
    Shared(Slot),
    /// The user's number in the run, from 0.
    User,
    /// How many times this user has started its session before (closed populations), from 0.
    Iteration,
    Call(Func, Vec<Expr>),
    /// A function of the scenario's script, by its number in [`crate::Script::functions`].
    Script(u16, Vec<Expr>),
    /// A token with these claims and, unless all have the same, this header, signed with a key that was read before.
    Token(Arc<Signer>, Vec<Expr>),
    /// A message of Protocol Buffers, from a value or to one.
    Protobuf(Box<MessageType>, Box<Expr>),
    /// All places of a JSON text that JSONPath names, as a list in JSON text.
    Places(Box<JsonSearch>, Box<Expr>),
    Unary(Unary, Box<Expr>),
    Binary(Binary, Box<Expr>, Box<Expr>),
}

/// Built-in functions. Argument counts are checked when the scenario is compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Func {
    /// `random(a, b)`: an integer in `a..=b`.
    Random,
    /// `random_float(a, b)`: a real number from a up to b.
    RandomFloat,
    /// `random_string(n)`: n characters of `[a-z0-9]`.
    RandomString,
    /// `random_bytes(n)`: n bytes.
    RandomBytes,
    /// `zipfian(n, skew)`: a whole number from 0, below n, the least most often.
    Zipfian,
    /// `latest(n, skew)`: the same, the greatest most often.
    Latest,
    /// `hotspot(n, items, draws)`: the same, the first share of them in a share of the draws.
    Hotspot,
    /// `pick(x, y, …)`: one of its arguments.
    Pick,
    /// `pick_at(n, x, y, …)`: the argument at place n, x at 0.
    PickAt,
    /// `uuid()`: version 4, from the user's own generator.
    Uuid,
    /// `fake(kind, n, language)`: made-up data, from the user's own generator.
    Fake(Invention, Language),
    /// `now()`: milliseconds since the Unix epoch, an integer.
    Now,
    /// `str(x)`: its text.
    Str,
    /// `int(x)`: a number from text, truncated.
    Int,
    /// `len(x)`: characters of its text.
    Len,
    /// `base64(x, …)`: the base64 of its arguments' texts, one after the other (RFC 4648 §4).
    Base64,
    /// `json(text, pointer)`: the value in JSON text that the pointer (RFC 6901) leads to; nothing
    /// where there is none.
    Json,
    /// `items(text)`: how many items a list in JSON text has; 0 where it is no list.
    Items,
    /// `raw(x)`: itself; in a URL it is taken to be percent-encoded already.
    Raw,
    /// A function of values alone.
    Pure(Pure),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Unary {
    Not,
    Negate,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Binary {
    Or,
    And,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

impl Binary {
    /// True for `==`, `!=`, `<`, `<=`, `>` and `>=`.
    pub fn compares(self) -> bool {
        match self {
            Binary::Equal
            | Binary::NotEqual
            | Binary::Less
            | Binary::LessEqual
            | Binary::Greater
            | Binary::GreaterEqual => true,
            Binary::Or
            | Binary::And
            | Binary::Add
            | Binary::Subtract
            | Binary::Multiply
            | Binary::Divide
            | Binary::Remainder => false,
        }
    }
}

static NOTHING: Value = Value::Nothing;

/// Values that an expression may look at while it is evaluated.
pub trait Context {
    fn var(&self, slot: Slot) -> &Value;
    /// A variable that `setup` has set; nothing where it has not run.
    fn shared(&self, _slot: Slot) -> &Value {
        &NOTHING
    }
    fn user(&self) -> u64;
    fn iteration(&self) -> u64;
    /// Milliseconds since the Unix epoch.
    fn now_ms(&self) -> i64;
    /// The user's generator for values.
    fn rng(&mut self) -> &mut Rng;
    /// Calls the function of this number of the scenario's script.
    fn call_script(&mut self, _function: u16, _arguments: &[Value]) -> Result<Value, EvalError> {
        Err(EvalError::Script("no script is loaded".to_owned()))
    }
}

/// Text with expressions in it.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Template {
    pub parts: Vec<TemplatePart>,
}

/// A piece of a [`Template`].
#[derive(Debug, Clone, PartialEq, Serialize)]
pub enum TemplatePart {
    Text(Arc<str>),
    /// Bytes of a file, which all users share.
    Bytes(Arc<[u8]>),
    Expr(Expr, Escape),
}

/// How a value is written into a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Escape {
    /// As it is.
    None,
    /// As a JSON value: text quoted and escaped, numbers and booleans bare, nothing as `null`.
    Json,
    /// Inside JSON quotes: text escaped, not quoted.
    JsonText,
    /// Percent-encoded (RFC 3986 unreserved characters stay).
    Url,
    /// In a URL, where the author says that the value is encoded already: only what can stand in
    /// no URL is percent-encoded.
    UrlRaw,
}
