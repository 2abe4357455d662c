//! Functions of numbers.

use std::cmp::Ordering;

use super::{Pure, wrong};
use crate::expr::numbers::{number, order, to_int, truncated_float, whole};
use crate::expr::value::Number;
use crate::expr::{EvalError, Value};

/// Most digits behind the point: a float has no more.
const DIGITS_MAX: i64 = 15;

pub(super) fn apply(function: Pure, args: &[Value]) -> Result<Value, EvalError> {
    let value = args.first().unwrap_or(&Value::Nothing);
    match (function, number(value)?) {
        (Pure::Round, first) if args.len() > 1 => round(first.as_f64(), &args[1]),
        (Pure::Min | Pure::Max, _) => extreme(function, value, &args[1..]),
        (Pure::Abs, Number::Int(i)) => whole(i.abs()),
        (Pure::Abs, Number::Float(f)) => Ok(Value::Float(f.abs())),
        (_, Number::Int(i)) => whole(i),
        (Pure::Floor, Number::Float(f)) => truncated_float(f.floor()),
        (Pure::Ceil, Number::Float(f)) => truncated_float(f.ceil()),
        (_, Number::Float(f)) => truncated_float(f.round()),
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

/// One of the numbers, as it is written.
fn extreme(function: Pure, first: &Value, rest: &[Value]) -> Result<Value, EvalError> {
    let wanted = match function {
        Pure::Min => Ordering::Less,
        _ => Ordering::Greater,
    };
    let mut found = first;
    for value in rest {
        number(value)?;
        if order(value, found) == Some(Some(wanted)) {
            found = value;
        }
    }
    Ok(match found {
        Value::Text(text) => Value::from_number(text).unwrap_or_else(|| found.clone()),
        _ => found.clone(),
    })
}
