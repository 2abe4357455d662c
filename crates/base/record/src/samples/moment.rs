//! Moments as other tools write them: RFC 3339, and the formats of Java without a zone.

const NS_PER_S: u64 = 1_000_000_000;
/// Years that are read. Nanoseconds since 1970 fit beyond them.
const YEARS: std::ops::RangeInclusive<u64> = 1970..=2200;

/// A moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Moment {
    /// Nanoseconds since the Unix epoch.
    pub(super) ns: u64,
    /// False if the text names no zone, and is read as UTC.
    pub(super) has_zone: bool,
}

/// The moment in `2026-01-31T12:00:00.5+01:00`, `2026/01/31 12:00:00.500` or `2026-01-31 12:00:00,500`; `None` of any
/// other text.
pub(super) fn moment(text: &str) -> Option<Moment> {
    let (date, clock) = text.split_once(['T', ' '])?;
    let mut parts = date.split(['-', '/']);
    let year = digits(parts.next()?, 4).filter(|year| YEARS.contains(year))?;
    let month = digits(parts.next()?, 2).filter(|month| (1..=12).contains(month))?;
    let day = digits(parts.next()?, 2)?;
    if parts.next().is_some() || !(1..=days_of_month(year, month)).contains(&day) {
        return None;
    }
    let Clock { text: clock, offset_s } = zone(clock)?;
    let (whole, fraction) = clock.split_once(['.', ',']).unwrap_or((clock, "0"));
    let mut parts = whole.split(':');
    let hour = digits(parts.next()?, 2).filter(|&hour| hour < 24)?;
    let minute = digits(parts.next()?, 2).filter(|&minute| minute < 60)?;
    // A leap second is the second after it.
    let second = digits(parts.next()?, 2).filter(|&second| second <= 60)?;
    if parts.next().is_some() {
        return None;
    }
    let fraction_ns = fraction_ns(fraction)?;
    let days = days_since_epoch(year, month, day);
    let local_s = days * 86_400 + hour * 3600 + minute * 60 + second;
    let unix_s = local_s.checked_add_signed(-offset_s.unwrap_or(0))?;
    Some(Moment { ns: unix_s * NS_PER_S + fraction_ns, has_zone: offset_s.is_some() })
}

/// The time of day.
struct Clock<'t> {
    /// Without the zone.
    text: &'t str,
    /// Seconds that the zone is ahead of UTC.
    offset_s: Option<i64>,
}

fn zone(text: &str) -> Option<Clock<'_>> {
    if let Some(text) = text.strip_suffix('Z') {
        return Some(Clock { text, offset_s: Some(0) });
    }
    let Some(at) = text.rfind(['+', '-']) else {
        return Some(Clock { text, offset_s: None });
    };
    let zone = text[at + 1..].replace(':', "");
    let hours = digits(zone.get(..2)?, 2)? as i64;
    let minutes = digits(zone.get(2..)?, 2)? as i64;
    let sign = if text[at..].starts_with('-') { -1 } else { 1 };
    Some(Clock { text: &text[..at], offset_s: Some(sign * (hours * 3600 + minutes * 60)) })
}

/// The number, if the text is this count of digits.
fn digits(text: &str, count: usize) -> Option<u64> {
    let is_number = text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    if is_number { text.parse().ok() } else { None }
}

/// Digits behind the point; those beyond nine are cut off.
fn fraction_ns(text: &str) -> Option<u64> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let text = &text[..text.len().min(9)];
    format!("{text:0<9}").parse().ok()
}

fn days_of_month(year: u64, month: u64) -> u64 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => {
            29
        }
        2 => 28,
        _ => 31,
    }
}

/// Days since 1970-01-01 of the Gregorian calendar, for years from then on. Hinnant, "chrono-Compatible Low-Level Date
/// Algorithms", `days_from_civil`.
fn days_since_epoch(year: u64, month: u64, day: u64) -> u64 {
    // Years begin in March, so that the leap day comes last.
    let year = year - u64::from(month <= 2);
    let era = year / 400;
    let year_of_era = year - era * 400;
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_read_with_and_without_a_zone() {
        for (text, ns, has_zone) in [
            ("1970-01-01T00:00:00Z", 0, true),
            ("2023-02-03T08:16:46.263Z", 1_675_412_206_263_000_000, true),
            ("2023-02-03T09:16:46.263000001+01:00", 1_675_412_206_263_000_001, true),
            ("2023-02-03T03:16:46-0500", 1_675_412_206_000_000_000, true),
            ("2023/02/03 08:16:46.263", 1_675_412_206_263_000_000, false),
            ("2023-02-03 08:16:46,263", 1_675_412_206_263_000_000, false),
            ("2024-02-29 00:00:00", 1_709_164_800_000_000_000, false),
        ] {
            assert_eq!(moment(text), Some(Moment { ns, has_zone }), "{text}");
        }
    }

    #[test]
    fn other_texts_are_none() {
        for text in [
            "",
            "1675412206263",
            "03/02/23 08:16:46",
            "2023-02-30T00:00:00Z",
            "2023-02-29 00:00:00",
            "2023-13-01 00:00:00",
            "2023-02-03T24:00:00Z",
            "2023-02-03T08:16Z",
            "2023-02-03T08:16:46.Z",
            "2023-02-03T08:16:46+1",
            "1970-01-01T00:00:00+01:00",
            "1969-01-01T00:00:00Z",
            "2023-02-03T08:16:46+é",
        ] {
            assert_eq!(moment(text), None, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text in "[0-9TZé :/.,+-]{0,40}") {
            let _ = moment(&text);
        }
    }
}
