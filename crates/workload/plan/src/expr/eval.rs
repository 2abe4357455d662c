//! Evaluating expressions.

use std::cmp::Ordering;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use signing::Signer;
use stats::popularity::{self, Popularity};
use stats::rng::Rng;

use super::functions::{apply, signed};
use super::invented::invented;
use super::numbers::{EvalError, described, number, order, to_int, truncated, whole};
use super::places::{JsonSearch, VISITS_MAX, all_places};
use super::value::Number;
use super::{Binary, Context, Expr, Func, Unary, Value};

/// Longest text that `random_string` makes, in characters.
pub const RANDOM_STRING_MAX: i64 = 65_536;
/// Most bytes that `random_bytes` makes.
pub const RANDOM_BYTES_MAX: i64 = 65_536;
/// Most memory of a document in which JSONPath looks for places, by the bound that follows from its text.
const DOCUMENT_BYTES_MAX: usize = 16 << 20;

impl Expr {
    /// The expression's value for this user. `and` and `or` look at their right side only where
    /// the left one does not decide.
    pub fn eval<C: Context>(&self, context: &mut C) -> Result<Value, EvalError> {
        match self {
            Expr::Const(value) => Ok(value.clone()),
            Expr::Var(slot) => Ok(context.var(*slot).clone()),
            Expr::Shared(slot) => Ok(context.shared(*slot).clone()),
            Expr::User => Ok(Value::unsigned(context.user())),
            Expr::Iteration => Ok(Value::unsigned(context.iteration())),
            Expr::Call(func, args) => call(*func, args, context),
            Expr::Script(function, args) => {
                let args = args.iter().map(|arg| arg.eval(context));
                let args = args.collect::<Result<Vec<Value>, EvalError>>()?;
                context.call_script(*function, &args)
            }
            Expr::Token(signer, args) => token(signer, args, context),
            Expr::Protobuf(kind, inner) => kind.convert(&inner.eval(context)?),
            Expr::Places(search, text) => places(search, &text.eval(context)?),
            Expr::Unary(op, inner) => unary(*op, &inner.eval(context)?),
            Expr::Binary(Binary::And, left, right) => {
                let truth = left.eval_bool(context)? && right.eval_bool(context)?;
                Ok(Value::Bool(truth))
            }
            Expr::Binary(Binary::Or, left, right) => {
                let truth = left.eval_bool(context)? || right.eval_bool(context)?;
                Ok(Value::Bool(truth))
            }
            Expr::Binary(op, left, right) => {
                let left = left.eval(context)?;
                let right = right.eval(context)?;
                binary(*op, &left, &right)
            }
        }
    }

    /// Whether the expression holds for this user.
    pub fn eval_bool<C: Context>(&self, context: &mut C) -> Result<bool, EvalError> {
        Ok(self.eval(context)?.is_true())
    }

    /// The expression as a number.
    pub fn eval_number<C: Context>(&self, context: &mut C) -> Result<f64, EvalError> {
        Ok(number(&self.eval(context)?)?.as_f64())
    }

    /// The expression as a count: truncated, below zero counts as zero.
    pub fn eval_count<C: Context>(&self, context: &mut C) -> Result<u64, EvalError> {
        let value = self.eval(context)?;
        Ok(u64::try_from(to_int(&value)?).unwrap_or(0))
    }
}

/// Calls a function whose arguments are constant and that needs nothing of a user.
pub fn fold_call(func: Func, args: &[Value]) -> Option<Result<Value, EvalError>> {
    let first = args.first()?;
    match func {
        Func::Str => Some(text(first)),
        Func::Int => Some(truncated(first)),
        Func::Len => Some(Ok(length(first))),
        Func::Base64 => Some(Ok(base64(args))),
        Func::Raw => Some(Ok(first.clone())),
        Func::Pure(function) => Some(apply(function, args)),
        Func::Items => Some(Ok(items(first))),
        Func::Json => Some(Ok(json(first, args.get(1)?))),
        Func::Random
        | Func::RandomFloat
        | Func::RandomString
        | Func::RandomBytes
        | Func::Zipfian
        | Func::Latest
        | Func::Hotspot
        | Func::Pick
        | Func::PickAt
        | Func::Uuid
        | Func::Fake(..)
        | Func::Now => None,
    }
}

/// Nothing is built of the list, which may be long.
fn items(value: &Value) -> Value {
    let count = crate::json::each_item(value.to_text().as_bytes(), |_| true);
    Value::Int(count.map_or(0, |count| count as i64))
}

/// The value that a pointer leads to, as it stands in the text. Nothing is built of the rest, which
/// may be long.
fn json(text: &Value, pointer: &Value) -> Value {
    let pointer = pointer.to_text();
    let tokens: Vec<String> = match pointer.strip_prefix('/') {
        Some(rest) => rest.split('/').map(unescaped).collect(),
        None if pointer.is_empty() => Vec::new(),
        None => return Value::Nothing,
    };
    match crate::json::pointer(text.to_text().as_bytes(), &tokens) {
        Some(found) => Value::from_json(&String::from_utf8_lossy(found)),
        None => Value::Nothing,
    }
}

/// A text that is not JSON gives nothing, as with pointers.
fn places(search: &JsonSearch, text: &Value) -> Result<Value, EvalError> {
    let text = text.to_text();
    if crate::json::document_bytes(text.as_bytes()) > DOCUMENT_BYTES_MAX {
        let error = "json: the text is too long for JSONPath; `save` parts of a response instead";
        return Err(EvalError::Argument(error.to_owned()));
    }
    let mut visits_left = VISITS_MAX;
    match all_places(search, text.as_bytes(), &mut visits_left) {
        Ok(found) => Ok(found.unwrap_or(Value::Nothing)),
        Err(error) => Err(EvalError::Argument(format!("json: {error}"))),
    }
}

/// One token of a JSON pointer (RFC 6901 §4).
fn unescaped(token: &str) -> String {
    token.replace("~1", "/").replace("~0", "~")
}

/// Characters of a text, or bytes.
fn length(value: &Value) -> Value {
    Value::Int(match value {
        Value::Bytes(bytes) => bytes.len() as i64,
        _ => value.to_text().chars().count() as i64,
    })
}

/// The text of a value; bytes have to be UTF-8.
fn text(value: &Value) -> Result<Value, EvalError> {
    match value {
        Value::Bytes(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Value::text(text)),
            Err(_) => Err(EvalError::Argument("str: the bytes are not UTF-8".to_owned())),
        },
        _ => Ok(Value::Text(value.to_text())),
    }
}

/// Base64 of all texts joined.
fn base64(args: &[Value]) -> Value {
    let mut bytes = Vec::new();
    args.iter().for_each(|arg| arg.write_text(&mut bytes));
    Value::text(&STANDARD.encode(bytes))
}

pub fn unary(op: Unary, value: &Value) -> Result<Value, EvalError> {
    match op {
        Unary::Not => Ok(Value::Bool(!value.is_true())),
        Unary::Negate => match number(value)? {
            Number::Int(i) => whole(-i),
            Number::Float(f) => Ok(Value::Float(-f)),
        },
    }
}

pub fn binary(op: Binary, left: &Value, right: &Value) -> Result<Value, EvalError> {
    let order = |test: fn(Ordering) -> bool| {
        compare(left, right).map(|found| Value::Bool(found.is_some_and(test)))
    };
    match op {
        Binary::Equal => Ok(Value::Bool(equal(left, right))),
        Binary::NotEqual => Ok(Value::Bool(!equal(left, right))),
        Binary::Less => order(Ordering::is_lt),
        Binary::LessEqual => order(Ordering::is_le),
        Binary::Greater => order(Ordering::is_gt),
        Binary::GreaterEqual => order(Ordering::is_ge),
        Binary::Add if is_bytes(left) || is_bytes(right) => {
            let mut joined = left.bytes().into_owned();
            joined.extend_from_slice(&right.bytes());
            Ok(Value::Bytes(joined.into()))
        }
        // Text that reads as a number is one; with any other text `+` joins.
        Binary::Add if is_plain_text(left) || is_plain_text(right) => {
            let mut out = Vec::new();
            left.write_text(&mut out);
            right.write_text(&mut out);
            Ok(Value::text(&String::from_utf8_lossy(&out)))
        }
        Binary::And => Ok(Value::Bool(left.is_true() && right.is_true())),
        Binary::Or => Ok(Value::Bool(left.is_true() || right.is_true())),
        Binary::Add | Binary::Subtract | Binary::Multiply | Binary::Divide | Binary::Remainder => {
            arithmetic(op, number(left)?, number(right)?)
        }
    }
}

fn is_bytes(value: &Value) -> bool {
    matches!(value, Value::Bytes(_))
}

fn is_plain_text(value: &Value) -> bool {
    matches!(value, Value::Text(_)) && value.number().is_none()
}

/// Two texts by their characters, numbers by value (text that reads as a number is one beside a
/// number), other pairs by their text, bytes by their bytes; nothing equals nothing alone.
fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Text(a), Value::Text(b)) => a == b,
        (Value::Nothing, _) | (_, Value::Nothing) => left == right,
        (Value::Bytes(_), _) | (_, Value::Bytes(_)) => left.bytes() == right.bytes(),
        _ => match order(left, right) {
            Some(found) => found == Some(Ordering::Equal),
            None => left.to_text() == right.to_text(),
        },
    }
}

/// Two numbers by value (text that reads as a number is one), other texts by their bytes; other
/// pairs have no order. `None`: not a
/// number is on one side.
fn compare(left: &Value, right: &Value) -> Result<Option<Ordering>, EvalError> {
    match (order(left, right), left, right) {
        (Some(found), ..) => Ok(found),
        (None, Value::Text(a), Value::Text(b)) => Ok(Some(a.cmp(b))),
        (None, ..) => Err(EvalError::NoOrder(described(left), described(right))),
    }
}

/// Integers stay integers where the result is one; `7 / 2` is 3.5.
fn arithmetic(op: Binary, left: Number, right: Number) -> Result<Value, EvalError> {
    if let (Number::Int(a), Number::Int(b)) = (left, right) {
        // Neither is beyond 65 bits, so only products can be beyond 128.
        let exact = match op {
            Binary::Add => Some(a + b),
            Binary::Subtract => Some(a - b),
            Binary::Multiply => a.checked_mul(b),
            _ if b == 0 => return Err(EvalError::DivisionByZero),
            Binary::Remainder => Some(a % b),
            _ if a % b == 0 => Some(a / b),
            _ => return Ok(Value::Float(left.as_f64() / right.as_f64())),
        };
        return whole(exact.ok_or(EvalError::Overflow)?);
    }
    let a = left.as_f64();
    let b = right.as_f64();
    if b == 0.0 && matches!(op, Binary::Divide | Binary::Remainder) {
        return Err(EvalError::DivisionByZero);
    }
    Ok(Value::Float(match op {
        Binary::Add => a + b,
        Binary::Subtract => a - b,
        Binary::Multiply => a * b,
        Binary::Remainder => a % b,
        _ => a / b,
    }))
}

fn call<C: Context>(func: Func, args: &[Expr], context: &mut C) -> Result<Value, EvalError> {
    match func {
        Func::Random => {
            let low = to_int(&argument(args, 0, context)?)?;
            let high = to_int(&argument(args, 1, context)?)?;
            random(low, high, context.rng())
        }
        Func::RandomFloat => {
            let low = number(&argument(args, 0, context)?)?.as_f64();
            let high = number(&argument(args, 1, context)?)?.as_f64();
            random_float(low, high, context.rng())
        }
        Func::RandomString => {
            let length = to_int(&argument(args, 0, context)?)?;
            random_string(length, context.rng())
        }
        Func::RandomBytes => {
            let count = to_int(&argument(args, 0, context)?)?;
            random_bytes(count, context.rng())
        }
        Func::Zipfian => {
            let skew = number_or(args, 1, popularity::SKEW, context)?;
            popular(func, Popularity::Zipfian { skew }, args, context)
        }
        Func::Latest => {
            let skew = number_or(args, 1, popularity::SKEW, context)?;
            popular(func, Popularity::Latest { skew }, args, context)
        }
        Func::Hotspot => {
            let items = number_or(args, 1, popularity::HOT_ITEMS, context)?;
            let draws = number_or(args, 2, popularity::HOT_DRAWS, context)?;
            popular(func, Popularity::Hotspot { items, draws }, args, context)
        }
        Func::PickAt => {
            let place = to_int(&argument(args, 0, context)?)?;
            pick_at(place, args, context)
        }
        Func::Pick if args.is_empty() => Ok(Value::Nothing),
        Func::Pick => {
            let index = context.rng().below(args.len() as u64) as usize;
            args[index].eval(context)
        }
        Func::Uuid => Ok(uuid(context.rng())),
        Func::Fake(what, language) => {
            let count = match args.first() {
                Some(count) => Some(to_int(&count.eval(context)?)?),
                None => None,
            };
            invented(what, language, count, context.rng())
        }
        Func::Now => Ok(Value::Int(context.now_ms())),
        Func::Str => text(&argument(args, 0, context)?),
        Func::Int => truncated(&argument(args, 0, context)?),
        Func::Len => Ok(length(&argument(args, 0, context)?)),
        Func::Base64 => {
            let values: Result<Vec<Value>, EvalError> =
                args.iter().map(|arg| arg.eval(context)).collect();
            values.map(|values| base64(&values))
        }
        Func::Raw => argument(args, 0, context),
        Func::Pure(function) => {
            let values: Result<Vec<Value>, EvalError> =
                args.iter().map(|arg| arg.eval(context)).collect();
            apply(function, &values?)
        }
        Func::Items => Ok(items(&argument(args, 0, context)?)),
        Func::Json => {
            let text = argument(args, 0, context)?;
            Ok(json(&text, &argument(args, 1, context)?))
        }
    }
}

fn token<C: Context>(signer: &Signer, args: &[Expr], context: &mut C) -> Result<Value, EvalError> {
    let claims = argument(args, 0, context)?.to_text();
    let header = match args.get(1) {
        Some(header) => Some(header.eval(context)?.to_text()),
        None => None,
    };
    signed(signer.token(header.as_deref(), &claims))
}

/// The n-th argument; the parser checked that it is there.
fn argument<C: Context>(args: &[Expr], n: usize, context: &mut C) -> Result<Value, EvalError> {
    args.get(n).map_or(Ok(Value::Nothing), |arg| arg.eval(context))
}

fn random(low: i64, high: i64, rng: &mut Rng) -> Result<Value, EvalError> {
    if low > high {
        return Err(EvalError::Argument(format!("random({low}, {high}): the range is empty")));
    }
    let width = high.wrapping_sub(low) as u64;
    let draw = match width.checked_add(1) {
        Some(count) => rng.below(count),
        None => rng.next_u64(),
    };
    Ok(Value::Int(low.wrapping_add(draw as i64)))
}

fn random_float(low: f64, high: f64, rng: &mut Rng) -> Result<Value, EvalError> {
    let drawn = low + (high - low) * rng.unit();
    if low > high || !drawn.is_finite() {
        let text = format!("random_float({low}, {high}): the range is empty or too wide");
        return Err(EvalError::Argument(text));
    }
    Ok(Value::Float(drawn))
}

fn random_string(length: i64, rng: &mut Rng) -> Result<Value, EvalError> {
    const ALPHABET: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";
    if !(0..=RANDOM_STRING_MAX).contains(&length) {
        let text = format!("random_string({length}): the length is not in 0..={RANDOM_STRING_MAX}");
        return Err(EvalError::Argument(text));
    }
    let text: String = (0..length).map(|_| char::from(ALPHABET[rng.below(36) as usize])).collect();
    Ok(Value::Text(Arc::from(text)))
}

fn random_bytes(count: i64, rng: &mut Rng) -> Result<Value, EvalError> {
    if !(0..=RANDOM_BYTES_MAX).contains(&count) {
        let text = format!("random_bytes({count}): the count is not in 0..={RANDOM_BYTES_MAX}");
        return Err(EvalError::Argument(text));
    }
    let mut bytes = vec![0; count as usize];
    for chunk in bytes.chunks_mut(8) {
        chunk.copy_from_slice(&rng.next_u64().to_le_bytes()[..chunk.len()]);
    }
    Ok(Value::Bytes(bytes.into()))
}

/// The n-th argument as a number, which may be left out.
fn number_or<C: Context>(
    args: &[Expr],
    n: usize,
    otherwise: f64,
    context: &mut C,
) -> Result<f64, EvalError> {
    args.get(n).map_or(Ok(otherwise), |arg| arg.eval_number(context))
}

/// A place among as many items as the first argument says.
fn popular<C: Context>(
    func: Func,
    popularity: Popularity,
    args: &[Expr],
    context: &mut C,
) -> Result<Value, EvalError> {
    let name = match func {
        Func::Zipfian => "zipfian",
        Func::Latest => "latest",
        _ => "hotspot",
    };
    let count = to_int(&argument(args, 0, context)?)?;
    if count < 1 {
        return Err(EvalError::Argument(format!("{name}({count}): there is nothing to draw")));
    }
    let checked = popularity.validate();
    checked.map_err(|error| EvalError::Argument(format!("{name}: {error}")))?;
    Ok(Value::Int(popularity.draw(count.unsigned_abs(), context.rng()) as i64))
}

/// The argument at a place behind the first; the others are not evaluated.
fn pick_at<C: Context>(place: i64, args: &[Expr], context: &mut C) -> Result<Value, EvalError> {
    let count = args.len().saturating_sub(1);
    match usize::try_from(place) {
        Ok(place) if place < count => args[place + 1].eval(context),
        _ => {
            let text = format!("pick_at({place}, …): the place is not in 0..{count}");
            Err(EvalError::Argument(text))
        }
    }
}

/// RFC 9562 section 5.4: 122 random bits, version 4, variant 10.
fn uuid(rng: &mut Rng) -> Value {
    let high = (rng.next_u64() & !0xf000) | 0x4000;
    let low = (rng.next_u64() & !(0b11 << 62)) | (0b10 << 62);
    Value::text(&format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        high >> 32,
        (high >> 16) & 0xffff,
        high & 0xffff,
        low >> 48,
        low & 0xffff_ffff_ffff
    ))
}
