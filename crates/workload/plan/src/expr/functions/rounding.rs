//! Functions of numbers.

use super::{Pure, wrong};
use crate::expr::numbers::{number, to_int};
use crate::expr::value::Number;
use crate::expr::{EvalError, Value};

/// Most digits behind the point: a float has no more.
const DIGITS_MAX: i64 = 15;

pub(super) fn apply(function: Pure, args: &[Value]) -> Result<Value, EvalError> {
    let first = number(args.first().unwrap_or(&Value::Nothing))?;
    match (function, first) {
        (Pure::Round, first) if args.len() > 1 => round(first.as_f64(), &args[1]),
        (Pure::Min | Pure::Max, first) => extreme(function, first, &args[1..]),
        (Pure::Abs, Number::Int(i)) => i.checked_abs().map(Value::Int).ok_or(EvalError::Overflow),
        (Pure::Abs, Number::Float(f)) => Ok(Value::Float(f.abs())),
        (_, Number::Int(i)) => Ok(Value::Int(i)),
        (Pure::Floor, Number::Float(f)) => to_int(&Value::Float(f.floor())).map(Value::Int),
        (Pure::Ceil, Number::Float(f)) => to_int(&Value::Float(f.ceil())).map(Value::Int),
        (_, Number::Float(f)) => to_int(&Value::Float(f.round())).map(Value::Int),
    }
}

/// To this number of digits behind the point; halves away from zero.
fn round(value: f64, digits: &Value) -> Result<Value, EvalError> {
    let digits = to_int(digits)?;
    if !(0..=DIGITS_MAX).contains(&digits) {
        return Err(wrong(format!("round: {digits} digits are not in 0..={DIGITS_MAX}")));
    }
    let unit = 10_f64.powi(digits as i32);
    let rounded = (value * unit).round() / unit;
    // Beyond the precision of a float there is nothing to round.
    Ok(Value::Float(if rounded.is_finite() { rounded } else { value }))
}

fn extreme(function: Pure, first: Number, rest: &[Value]) -> Result<Value, EvalError> {
    let mut found = first;
    for value in rest {
        let other = number(value)?;
        let is_less = match (other, found) {
            (Number::Int(a), Number::Int(b)) => a < b,
            (a, b) => a.as_f64() < b.as_f64(),
        };
        let is_more = match (other, found) {
            (Number::Int(a), Number::Int(b)) => a > b,
            (a, b) => a.as_f64() > b.as_f64(),
        };
        let replaces = if function == Pure::Min { is_less } else { is_more };
        if replaces {
            found = other;
        }
    }
    Ok(match found {
        Number::Int(i) => Value::Int(i),
        Number::Float(f) => Value::Float(f),
    })
}
