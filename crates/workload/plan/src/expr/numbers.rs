//! Values as numbers, and why an expression has no value.

use super::Value;
use super::value::Number;

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
    /// A result beyond 64 bits.
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
        Number::Int(i) => Ok(i),
        Number::Float(f) if f.abs() < 9.2e18 => Ok(f as i64),
        Number::Float(_) => Err(EvalError::Overflow),
    }
}

/// A value as an error message shows it.
pub(super) fn described(value: &Value) -> String {
    match value {
        Value::Nothing => "nothing".to_owned(),
        Value::Text(t) if t.chars().count() > 40 => {
            format!("`{}…`", t.chars().take(40).collect::<String>())
        }
        other => format!("`{}`", other.to_text()),
    }
}
