//! Times as logs write them, as nanoseconds since the Unix epoch.

use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone};

/// Seconds of a day.
pub(crate) const DAY_S: i64 = 86_400;
/// Times and their differences are nanoseconds in 64 bits: 1824 to 2116. Zones may move a clock by
/// more than a day.
const SECONDS_MAX: i64 = i64::MAX / 2_000_000_000 - 2 * DAY_S;

/// A time as it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    /// Seconds since the epoch; of a time without a zone those of its clock, as if it were UTC.
    pub(crate) seconds: i64,
    /// Below a second.
    pub(crate) nanos: u32,
    /// Seconds east of Greenwich; `None` where none is written.
    pub(crate) offset_s: Option<i32>,
}

/// Why a text is not a usable time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimeFault {
    /// It does not read as any of the forms.
    Unknown,
    /// It names no year, so that it could be any.
    NoYear,
    /// There is no such day or hour, or it is too far away.
    OutOfRange,
}

/// How times are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// `17/May/2015:10:05:03 +0000`.
    Common,
    /// Any form.
    Any,
}

const MONTHS: &[&[u8; 3]; 12] = &[
    b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec",
];

/// Reads a time.
pub(crate) fn read(text: &[u8], form: Form) -> Result<Stamp, TimeFault> {
    match form {
        Form::Common => common(text),
        Form::Any => any(text),
    }
}

fn any(text: &[u8]) -> Result<Stamp, TimeFault> {
    let digits = text.iter().take_while(|b| b.is_ascii_digit()).count();
    match (digits, text.get(digits)) {
        (1..=2, Some(b'/')) => common(text),
        (4, Some(b'-')) => iso(text),
        (_, None | Some(b'.')) if digits > 4 => epoch(text, digits),
        (0, Some(_)) if MONTHS.iter().any(|month| text.starts_with(*month)) => {
            Err(TimeFault::NoYear)
        }
        _ => Err(TimeFault::Unknown),
    }
}

/// `17/May/2015:10:05:03 +0000`, with a fraction of the second perhaps.
fn common(text: &[u8]) -> Result<Stamp, TimeFault> {
    let (day, rest) = number(text)?;
    let rest = after(rest, b'/')?;
    let month = rest.get(..3).ok_or(TimeFault::Unknown)?;
    let month = MONTHS.iter().position(|name| name.eq_ignore_ascii_case(month));
    let month = month.ok_or(TimeFault::Unknown)? as i64 + 1;
    let rest = match rest[3..].first() {
        Some(b'/') => &rest[4..],
        Some(b':') => return Err(TimeFault::NoYear),
        _ => return Err(TimeFault::Unknown),
    };
    let (year, rest) = number(rest)?;
    clock(year, month, day, after(rest, b':')?)
}

/// RFC 3339, and the same with a blank for the `T` or without a zone.
fn iso(text: &[u8]) -> Result<Stamp, TimeFault> {
    let (year, rest) = number(text)?;
    let (month, rest) = number(after(rest, b'-')?)?;
    let (day, rest) = number(after(rest, b'-')?)?;
    match rest.first() {
        Some(b'T' | b't' | b' ' | b'\t') => clock(year, month, day, &rest[1..]),
        _ => Err(TimeFault::Unknown),
    }
}

/// Seconds since the epoch with a fraction, or whole milli-, micro- or nanoseconds, distinguished by their size:
/// seconds of this century have ten digits.
fn epoch(text: &[u8], digits: usize) -> Result<Stamp, TimeFault> {
    let (whole, rest) = number(text)?;
    let (seconds, nanos) = match (digits, rest) {
        (..=11, []) => (whole, 0),
        (..=11, [b'.', fraction @ ..]) => (whole, nanos(fraction)?.0),
        (12..=14, []) => (whole / 1_000, whole % 1_000 * 1_000_000),
        (15..=17, []) => (whole / 1_000_000, whole % 1_000_000 * 1_000),
        (18..=19, []) => (whole / 1_000_000_000, whole % 1_000_000_000),
        _ => return Err(TimeFault::Unknown),
    };
    // As of a date and a clock in one number, 20250517100503.
    if seconds > SECONDS_MAX {
        return Err(TimeFault::OutOfRange);
    }
    Ok(Stamp { seconds, nanos: nanos as u32, offset_s: Some(0) })
}

/// `10:05:03`, a fraction, a zone.
fn clock(year: i64, month: i64, day: i64, text: &[u8]) -> Result<Stamp, TimeFault> {
    let (hour, rest) = number(text)?;
    let (minute, rest) = number(after(rest, b':')?)?;
    let (second, mut rest) = number(after(rest, b':')?)?;
    let mut fraction = 0;
    if let [b'.' | b',', digits @ ..] = rest {
        (fraction, rest) = nanos(digits)?;
    }
    // A leap second is the next one's zeroth.
    let valid = hour < 24 && minute < 60 && second <= 60 && day_exists(year, month, day);
    if !valid {
        return Err(TimeFault::OutOfRange);
    }
    let offset_s = offset(rest)?;
    let local = days(year, month, day) * DAY_S + hour * 3600 + minute * 60 + second;
    let seconds = local - i64::from(offset_s.unwrap_or(0));
    if seconds.abs() > SECONDS_MAX {
        return Err(TimeFault::OutOfRange);
    }
    Ok(Stamp { seconds, nanos: fraction as u32, offset_s })
}

/// `Z`, `+0200`, `+02:00`, or nothing.
fn offset(text: &[u8]) -> Result<Option<i32>, TimeFault> {
    let text = text.trim_ascii();
    let (sign, digits) = match text {
        [] => return Ok(None),
        b"Z" | b"z" | b"UTC" | b"GMT" => return Ok(Some(0)),
        [b'+', digits @ ..] => (1, digits),
        [b'-', digits @ ..] => (-1, digits),
        _ => return Err(TimeFault::Unknown),
    };
    let digit =
        |i: usize| digits.get(i).filter(|b| b.is_ascii_digit()).map(|b| i32::from(b - b'0'));
    let minutes_at = if digits.get(2) == Some(&b':') { 3 } else { 2 };
    let all = [digit(0), digit(1), digit(minutes_at), digit(minutes_at + 1)];
    let [Some(a), Some(b), Some(c), Some(d)] = all else {
        return Err(TimeFault::Unknown);
    };
    if digits.len() != minutes_at + 2 || a * 10 + b > 18 || c > 5 {
        return Err(TimeFault::OutOfRange);
    }
    Ok(Some(sign * ((a * 10 + b) * 3600 + (c * 10 + d) * 60)))
}

/// Leading digits as a number, and what follows.
fn number(text: &[u8]) -> Result<(i64, &[u8]), TimeFault> {
    let digits = text.iter().take_while(|b| b.is_ascii_digit()).count();
    if digits == 0 {
        return Err(TimeFault::Unknown);
    }
    let value = text[..digits]
        .iter()
        .try_fold(0_i64, |value, b| value.checked_mul(10)?.checked_add(i64::from(b - b'0')));
    Ok((value.ok_or(TimeFault::Unknown)?, &text[digits..]))
}

/// Digits behind a point, in nanoseconds, and what follows.
fn nanos(text: &[u8]) -> Result<(i64, &[u8]), TimeFault> {
    let digits = text.iter().take_while(|b| b.is_ascii_digit()).count();
    if digits == 0 {
        return Err(TimeFault::Unknown);
    }
    let padded = text[..digits].iter().chain(std::iter::repeat(&b'0')).take(9);
    let value = padded.fold(0, |value, b| value * 10 + i64::from(b - b'0'));
    Ok((value, &text[digits..]))
}

fn after(text: &[u8], wanted: u8) -> Result<&[u8], TimeFault> {
    match text {
        [first, rest @ ..] if *first == wanted => Ok(rest),
        _ => Err(TimeFault::Unknown),
    }
}

fn day_exists(year: i64, month: i64, day: i64) -> bool {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let last = match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    (1..=9999).contains(&year) && (1..=last).contains(&day)
}

/// Days since the epoch, in the proleptic Gregorian calendar (Hinnant, "chrono-compatible low-level date
/// algorithms", 2013).
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year - era * 400;
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The seconds of a clock without a zone, in this zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ZonedSeconds {
    /// Seconds since the epoch.
    Unique(i64),
    /// The clock was put back and showed it twice: the first of them.
    Repeated(i64),
    /// The clock was put forward over it: as if it had not been.
    Skipped(i64),
}

/// The seconds of a clock without a zone, placed in one.
pub(crate) fn in_zone(local_s: i64, zone: &TimeZone) -> Option<ZonedSeconds> {
    let at = jiff::Timestamp::from_second(local_s).ok()?;
    let civil: DateTime = TimeZone::UTC.to_datetime(at);
    let placed = |offset: jiff::tz::Offset| local_s - i64::from(offset.seconds());
    Some(match zone.to_ambiguous_timestamp(civil).offset() {
        AmbiguousOffset::Unambiguous { offset } => ZonedSeconds::Unique(placed(offset)),
        AmbiguousOffset::Fold { before, .. } => ZonedSeconds::Repeated(placed(before)),
        AmbiguousOffset::Gap { before, .. } => ZonedSeconds::Skipped(placed(before)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(text: &str) -> Result<(i64, u32, Option<i32>), TimeFault> {
        any(text.as_bytes()).map(|stamp| (stamp.seconds, stamp.nanos, stamp.offset_s))
    }

    /// Seconds as GNU date shows them.
    #[test]
    fn forms_of_times_are_detected() {
        let may = 1_431_857_103;
        for (text, expected) in [
            ("17/May/2015:10:05:03 +0000", (may, 0, Some(0))),
            ("17/May/2015:12:05:03 +0200", (may, 0, Some(7200))),
            ("2015-05-17T10:05:03Z", (may, 0, Some(0))),
            ("2015-05-17T10:05:03.25+00:00", (may, 250_000_000, Some(0))),
            ("2015-05-17 10:05:03", (may, 0, None)),
            ("1431857103", (may, 0, Some(0))),
            ("1431857103.5", (may, 500_000_000, Some(0))),
            ("1431857103500", (may, 500_000_000, Some(0))),
            ("1431857103500000", (may, 500_000_000, Some(0))),
            ("1431857103500000000", (may, 500_000_000, Some(0))),
            ("29/Feb/2024:23:59:60 -0330", (1_709_263_800, 0, Some(-12_600))),
        ] {
            assert_eq!(seconds(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn unreadable_times_are_errors() {
        for (text, expected) in [
            ("17/May:10:05:03 +0000", TimeFault::NoYear),
            ("May 17 10:05:03", TimeFault::NoYear),
            ("30/Feb/2015:10:05:03 +0000", TimeFault::OutOfRange),
            ("17/May/2015:25:05:03 +0000", TimeFault::OutOfRange),
            ("17/May/2015:10:05:03 +9900", TimeFault::OutOfRange),
            ("99999999999999999999", TimeFault::Unknown),
            // Far enough that two of them may be further apart than 64 bits can hold.
            ("20250517100503", TimeFault::OutOfRange),
            ("99999999999", TimeFault::OutOfRange),
            ("9223372036854775807", TimeFault::OutOfRange),
            ("1700-01-01T00:00:00Z", TimeFault::OutOfRange),
            ("2200-01-01T00:00:00Z", TimeFault::OutOfRange),
            ("", TimeFault::Unknown),
            ("-", TimeFault::Unknown),
        ] {
            assert_eq!(seconds(text), Err(expected), "{text}");
        }
    }

    #[test]
    fn differences_of_times_fit_64_bits() {
        let west = TimeZone::fixed(jiff::tz::offset(-25));
        let first = "1824-01-01 00:00:00";
        let last = "2115-12-31 23:59:59";
        let ns = |text: &str| {
            let Some(ZonedSeconds::Unique(seconds)) =
                in_zone(any(text.as_bytes()).unwrap().seconds, &west)
            else {
                panic!("{text}");
            };
            seconds * 1_000_000_000
        };
        assert!(ns(last).checked_sub(ns(first)).is_some());
    }

    #[test]
    fn repeated_and_skipped_hours_are_detected() {
        let zone = TimeZone::get("Europe/Berlin").unwrap();
        let local = |text: &str| any(text.as_bytes()).unwrap().seconds;
        let placed = |text| in_zone(local(text), &zone).unwrap();
        assert_eq!(
            placed("2026-03-29 12:00:00"),
            ZonedSeconds::Unique(local("2026-03-29 10:00:00"))
        );
        assert_eq!(
            placed("2026-03-29 02:30:00"),
            ZonedSeconds::Skipped(local("2026-03-29 01:30:00"))
        );
        assert_eq!(
            placed("2026-10-25 02:30:00"),
            ZonedSeconds::Repeated(local("2026-10-25 00:30:00"))
        );
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text in proptest::collection::vec(proptest::num::u8::ANY, 0..40)) {
            let _ = any(&text);
            let _ = common(&text);
        }
    }
}
