//! Dates of cookies: RFC 6265, section 5.1.1.

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// Seconds since the Unix epoch.
pub(super) fn parse(text: &str) -> Option<i64> {
    let mut time = None;
    let mut day = None;
    let mut month = None;
    let mut year = None;
    for token in text.split(is_delimiter).filter(|token| !token.is_empty()) {
        if time.is_none()
            && let Some(found) = time_of(token)
        {
            time = Some(found);
        } else if day.is_none()
            && let Some(found) = number(token, 1..=2)
        {
            day = Some(found);
        } else if month.is_none()
            && let Some(found) = month_of(token)
        {
            month = Some(found);
        } else if year.is_none()
            && let Some(found) = number(token, 2..=4)
        {
            year = Some(found);
        }
    }
    let year = match year? {
        year @ 70..=99 => year + 1900,
        year @ 0..=69 => year + 2000,
        year => year,
    };
    let ((hour, minute, second), day, month) = (time?, day?, month?);
    if year < 1601 || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    if day < 1 || day > days_of(year, month) {
        return None;
    }
    Some(days_since_1970(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second)
}

fn is_delimiter(c: char) -> bool {
    matches!(c, '\t' | ' '..='/' | ';'..='@' | '['..='`' | '{'..='~')
}

/// Digits at the token's beginning: this many, followed by no digit.
fn number(token: &str, digits: std::ops::RangeInclusive<usize>) -> Option<i64> {
    let end = token.find(|c: char| !c.is_ascii_digit()).unwrap_or(token.len());
    digits.contains(&end).then(|| token[..end].parse().ok())?
}

fn time_of(token: &str) -> Option<(i64, i64, i64)> {
    let mut fields = token.splitn(3, ':');
    let one_or_two_digits = |field: &str| {
        let found = number(field, 1..=2)?;
        field.bytes().all(|byte| byte.is_ascii_digit()).then_some(found)
    };
    let hour = one_or_two_digits(fields.next()?)?;
    let minute = one_or_two_digits(fields.next()?)?;
    Some((hour, minute, number(fields.next()?, 1..=2)?))
}

fn month_of(token: &str) -> Option<i64> {
    let name = token.get(..3)?.to_ascii_lowercase();
    let at = MONTHS.iter().position(|month| *month == name)?;
    Some(at as i64 + 1)
}

fn days_of(year: i64, month: i64) -> i64 {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => 31,
    }
}

/// Days from 1970-01-01 to a day of the Gregorian calendar; years begin in March, so that leap days
/// come last.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let months = (month + 9) % 12;
    let leaps = year / 4 - year / 100 + year / 400;
    year * 365 + leaps + (months * 153 + 2) / 5 + day - 1 - 719_468
}

#[cfg(test)]
mod tests {
    use super::parse;

    /// The three forms of RFC 9110 section 5.6.7, and what servers write.
    #[test]
    fn dates() {
        for text in [
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
            "6 november 1994 8:49:37x",
        ] {
            assert_eq!(parse(text), Some(784_111_777), "{text}");
        }
        assert_eq!(parse("Thu, 01 Jan 1970 00:00:00 GMT"), Some(0));
        assert_eq!(parse("29 Feb 2024 00:00:00"), Some(1_709_164_800));
        assert_eq!(parse("31 Dec 2069 23:59:59"), Some(3_155_759_999));
    }

    #[test]
    fn malformed_dates_are_rejected() {
        for text in [
            "",
            "tomorrow",
            "29 Feb 2023 00:00:00",
            "31 Apr 2024 00:00:00",
            "1 Jan 1600 00:00:00",
            "1 Jan 2000 24:00:00",
            "1 Jan 2000 00:60:00",
            "1 Jan 2000",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
