//! Values as numbers, and why an expression has no value.

use std::cmp::Ordering;

use super::Value;
use super::value::Number;
use crate::decimal;

/// 2^64: integers below it are exact.
const EXACT_END: f64 = 18_446_744_073_709_551_616.0;

/// Why an expression has no value.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum EvalError {
    /// Arithmetic, an order or an argument wanted a number.
    #[error("{0} is not a number")]
    NotANumber(String),
    /// Two values that have no order, such as a text and a number.
    #[error("{0} and {1} cannot be ordered")]
    NoOrder(String, String),
    /// `/` or `%` by zero.
    #[error("division by zero")]
    DivisionByZero,
    /// A result below -2^63 or above 2^64 - 1, or an argument beyond 64 bits with a sign.
    #[error("integer overflow")]
    Overflow,
    /// A function in JavaScript failed.
    #[error("{0}")]
    Script(String),
    /// An argument outside its range.
    #[error("{0}")]
    Argument(String),
}

pub(super) fn number(value: &Value) -> Result<Number, EvalError> {
    value.number().ok_or_else(|| EvalError::NotANumber(described(value)))
}

/// Truncated towards zero; booleans are 0 and 1.
pub(super) fn to_int(value: &Value) -> Result<i64, EvalError> {
    if let Value::Bool(b) = value {
        return Ok(i64::from(*b));
    }
    match number(value)? {
        Number::Int(i) => i64::try_from(i).map_err(|_| EvalError::Overflow),
        Number::Float(f) if f.abs() < 9.2e18 => Ok(f as i64),
        Number::Float(_) => Err(EvalError::Overflow),
    }
}

/// The same as a value, which may have 64 bits without a sign.
pub(super) fn truncated(value: &Value) -> Result<Value, EvalError> {
    match value {
        Value::Bool(b) => Ok(Value::Int(i64::from(*b))),
        _ => match number(value)? {
            Number::Int(i) => whole(i),
            Number::Float(f) => truncated_float(f),
        },
    }
}

/// A float without its fraction.
pub(super) fn truncated_float(float: f64) -> Result<Value, EvalError> {
    match float.abs() < EXACT_END {
        true => whole(float as i128),
        false => Err(EvalError::Overflow),
    }
}

pub(super) fn whole(number: i128) -> Result<Value, EvalError> {
    Value::whole(number).ok_or(EvalError::Overflow)
}

/// How two numbers compare, exactly; `Some(None)`: one is not a number in the sense of IEEE 754. `None`: one value is no
/// number at all.
pub(super) fn order(left: &Value, right: &Value) -> Option<Option<Ordering>> {
    if let (Value::Int(a), Value::Int(b)) = (left, right) {
        return Some(Some(a.cmp(b)));
    }
    let first = left.number()?;
    let second = right.number()?;
    if let (Number::Int(a), Number::Int(b)) = (first, second) {
        return Some(Some(a.cmp(&b)));
    }
    let are_floats = matches!((left, right), (Value::Float(_), Value::Float(_)));
    // Rounding to a float never reverses an order, but it makes neighbours equal.
    Some(match first.as_f64().partial_cmp(&second.as_f64()) {
        Some(Ordering::Equal) if !are_floats => {
            let texts = decimal_text(left, first).zip(decimal_text(right, second));
            let exact = texts.and_then(|(a, b)| decimal::compare(&a, &b));
            Some(exact.unwrap_or(Ordering::Equal))
        }
        other => other,
    })
}

/// A number in decimal; `None`: it is a float beyond the integers that are exact, which has no digits of its own.
fn decimal_text(value: &Value, number: Number) -> Option<String> {
    match (value, number) {
        (Value::Text(text) | Value::Number(text), _) => Some(String::from(&**text)),
        (_, Number::Int(i)) => Some(i.to_string()),
        (_, Number::Float(f)) if f.abs() >= EXACT_END => None,
        (_, Number::Float(f)) if f.fract() == 0.0 => Some((f as i128).to_string()),
        (_, Number::Float(f)) => Some(f.to_string()),
    }
}

/// A value as an error message shows it.
pub(super) fn described(value: &Value) -> String {
    match value {
        Value::Nothing => "nothing".to_owned(),
        Value::Bytes(bytes) => format!("a value of {} bytes", bytes.len()),
        Value::Text(t) | Value::Number(t) if t.chars().count() > 40 => {
            format!("`{}…`", t.chars().take(40).collect::<String>())
        }
        other => format!("`{}`", other.to_text()),
    }
}
