//! Times as text and back, by the calendar. A time is milliseconds since the Unix epoch.

use jiff::civil::DateTime;
use jiff::fmt::strtime::{self, BrokenDownTime};
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, Zoned};

use super::wrong;
use crate::expr::numbers::to_int;
use crate::expr::{EvalError, Value};

/// RFC 3339, in milliseconds.
const RFC_3339: &str = "%Y-%m-%dT%H:%M:%S%.3f%:z";
/// RFC 9110 §5.6.7.
const HTTP: &str = "%a, %d %b %Y %H:%M:%S GMT";

/// The time zone of this name; without one UTC.
fn zone(name: Option<&Value>) -> Result<TimeZone, EvalError> {
    match name {
        None | Some(Value::Nothing) => Ok(TimeZone::UTC),
        Some(name) => {
            let name = name.to_text();
            TimeZone::get(&name).map_err(|_| wrong(format!("there is no time zone `{name}`")))
        }
    }
}

fn zoned(ms: &Value, name: Option<&Value>) -> Result<Zoned, EvalError> {
    let ms = to_int(ms)?;
    let time = Timestamp::from_millisecond(ms);
    let time = time.map_err(|_| wrong(format!("{ms} ms is beyond the year 9999")))?;
    Ok(time.to_zoned(zone(name)?))
}

/// A format of strftime, or the word `rfc3339` or `http`.
fn pattern(format: &str) -> &str {
    match format {
        "" | "rfc3339" => RFC_3339,
        "http" => HTTP,
        own => own,
    }
}

pub(super) fn date(ms: &Value, format: &str, name: Option<&Value>) -> Result<Value, EvalError> {
    let time = zoned(ms, name)?;
    let text = strtime::format(pattern(format), &time);
    let text = text.map_err(|error| wrong(format!("date: {error}")))?;
    Ok(Value::text(&text))
}

pub(super) fn date_ms(text: &str, format: &str, name: Option<&Value>) -> Result<Value, EvalError> {
    let refused = |error: jiff::Error| wrong(format!("date_ms: {error}"));
    if matches!(format, "" | "rfc3339") {
        let time: Timestamp = text.parse().map_err(refused)?;
        return Ok(Value::Int(time.as_millisecond()));
    }
    let parts = BrokenDownTime::parse(pattern(format), text).map_err(refused)?;
    if let Ok(time) = parts.to_timestamp() {
        return Ok(Value::Int(time.as_millisecond()));
    }
    let date = parts.to_date().map_err(refused)?;
    // A date alone is its midnight.
    let time = parts.to_time().unwrap_or_default();
    let time = DateTime::from_parts(date, time).to_zoned(zone(name)?).map_err(refused)?;
    Ok(Value::Int(time.timestamp().as_millisecond()))
}

pub(super) fn date_add(ms: &Value, span: &str, name: Option<&Value>) -> Result<Value, EvalError> {
    let refused = |error: jiff::Error| wrong(format!("date_add: {error}"));
    let span: Span = span.parse().map_err(refused)?;
    let time = zoned(ms, name)?.checked_add(span).map_err(refused)?;
    Ok(Value::Int(time.timestamp().as_millisecond()))
}
