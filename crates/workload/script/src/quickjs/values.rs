//! Values of the scenario's language as those of JavaScript, and back.
//!
//! Texts, numbers and booleans are the same in both; nothing is `null`, and both `null` and `undefined` are nothing. An
//! integer that a number of JavaScript cannot hold exactly becomes a text of its digits. Bytes are a `Uint8Array`. Lists
//! and objects come out as JSON text, as the scenario's language has them.

use plan::expr::Value;
use plan::expr::value::Number;
use rquickjs::{Ctx, Exception, Function, Object, Result, TypedArray, Value as JsValue};

/// The largest integer up to which all are exact (`Number.MAX_SAFE_INTEGER`).
const EXACT_MAX: u64 = (1 << 53) - 1;
/// Most bytes that a script returns: each of them is read as a number.
const BYTES_MAX: u32 = 1 << 16;

/// A value as JavaScript has it.
pub(crate) fn to_js<'js>(ctx: &Ctx<'js>, value: &Value) -> Result<JsValue<'js>> {
    let text = |text: &str| {
        rquickjs::String::from_str(ctx.clone(), text).map(rquickjs::String::into_value)
    };
    Ok(match value {
        Value::Nothing => JsValue::new_null(ctx.clone()),
        Value::Bool(truth) => JsValue::new_bool(ctx.clone(), *truth),
        Value::Int(number) => match i32::try_from(*number) {
            Ok(small) => JsValue::new_int(ctx.clone(), small),
            Err(_) if number.unsigned_abs() <= EXACT_MAX => {
                JsValue::new_float(ctx.clone(), *number as f64)
            }
            Err(_) => text(&number.to_string())?,
        },
        Value::Float(number) => JsValue::new_float(ctx.clone(), *number),
        Value::Text(words) => text(words)?,
        Value::Number(digits) => match value.number() {
            Some(Number::Float(number)) if number.is_finite() && !is_integer(digits) => {
                JsValue::new_float(ctx.clone(), number)
            }
            _ => text(digits)?,
        },
        Value::Bytes(bytes) => TypedArray::<u8>::new_copy(ctx.clone(), bytes)?.into_value(),
    })
}

/// Whether the text of a number is that of an integer; those that it can hold are of another kind of values.
fn is_integer(digits: &str) -> bool {
    digits.bytes().all(|byte| byte == b'-' || byte.is_ascii_digit())
}

/// The value that JavaScript returned.
pub(crate) fn from_js(value: &JsValue<'_>) -> Result<Value> {
    if value.is_null() || value.is_undefined() {
        return Ok(Value::Nothing);
    }
    if let Some(truth) = value.as_bool() {
        return Ok(Value::Bool(truth));
    }
    if let Some(number) = value.as_number() {
        return number_from(value.ctx(), number);
    }
    if let Some(text) = value.as_string() {
        return Ok(Value::Text(text.to_string()?.into()));
    }
    let refused = |what: &str| Err(Exception::throw_type(value.ctx(), what));
    if value.is_promise() {
        return refused("it returned a promise, which a script cannot wait for");
    }
    if value.is_function() || value.is_symbol() {
        return refused("it returned what is no value: a function or a symbol");
    }
    let array = value.as_object().filter(|object| object.is_typed_array::<u8>());
    if let Some(array) = array {
        let length: u32 = array.get("length")?;
        if length > BYTES_MAX {
            return refused("it returned more than 65,536 bytes");
        }
        let bytes = (0..length).map(|at| array.get::<u32, u8>(at));
        return Ok(Value::Bytes(bytes.collect::<Result<Vec<u8>>>()?.into()));
    }
    // The function that scripts have: it looks at the time while it writes.
    let json: Object<'_> = value.ctx().globals().get("JSON")?;
    let stringify: Function<'_> = json.get("stringify")?;
    match stringify.call::<_, Option<rquickjs::String<'_>>>((value.clone(),))? {
        Some(json) => Ok(Value::Text(json.to_string()?.into())),
        None => refused("it returned an object that JSON cannot write"),
    }
}

fn number_from(ctx: &Ctx<'_>, number: f64) -> Result<Value> {
    if !number.is_finite() {
        let message = format!("it returned {number}, which is no number here");
        return Err(Exception::throw_range(ctx, &message));
    }
    let is_whole = number.fract() == 0.0 && number.abs() <= EXACT_MAX as f64;
    Ok(match is_whole {
        true => Value::Int(number as i64),
        false => Value::Float(number),
    })
}
