//! Durations, rates, sizes, shares and counts as people write them.

use std::fmt;

/// Why a text could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnitError {
    /// The problem.
    pub message: String,
    /// The correct form.
    pub hint: String,
}

impl fmt::Display for UnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for UnitError {}

const DURATION_UNITS: &[(&str, f64)] = &[
    ("ns", 1e-9),
    ("us", 1e-6),
    ("µs", 1e-6),
    ("ms", 1e-3),
    ("s", 1.0),
    ("m", 60.0),
    ("h", 3600.0),
    ("d", 86_400.0),
];

const SIZE_UNITS: &[(&str, f64)] = &[
    ("B", 1.0),
    ("kB", 1e3),
    ("KB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
];

const RATE_UNITS: &[(&str, f64)] = &[("s", 1.0), ("min", 60.0), ("m", 60.0), ("h", 3600.0)];

/// Seconds: one or more numbers with units, largest first by custom (`1h30m`); a bare `0` too.
pub fn duration(text: &str) -> Result<f64, UnitError> {
    let fail = |message: String, hint: &str| Err(UnitError { message, hint: hint.to_owned() });
    if text == "0" {
        return Ok(0.0);
    }
    if decimal(text).is_some() {
        let hint = format!("write {text}s or {text}ms");
        return fail(format!("`{text}` has no unit"), &hint);
    }
    const FORMS: &str = "a duration is written like 250ms, 3s, 90m or 1h30m";
    let mut rest = text;
    let mut total = 0.0;
    while !rest.is_empty() {
        let Some((number, after)) = leading_number(rest) else {
            return fail(format!("`{text}` is not a duration"), FORMS);
        };
        let unit_end =
            after.find(|c: char| c.is_ascii_digit() || c == '.' || c == ' ').unwrap_or(after.len());
        let (unit, after) = after.split_at(unit_end);
        let Some((_, factor)) = DURATION_UNITS.iter().find(|(name, _)| *name == unit) else {
            let hint = format!("{FORMS}; the units are ns, us, ms, s, m, h and d");
            let reason = match unit {
                "" => String::new(),
                unit => format!(": there is no unit `{unit}`"),
            };
            return fail(format!("`{text}` is not a duration{reason}"), &hint);
        };
        total += number * factor;
        rest = after;
    }
    if text.is_empty() || !total.is_finite() {
        return fail(format!("`{text}` is not a duration"), FORMS);
    }
    Ok(total)
}

/// Parses a rate, per second.
pub fn rate(text: &str) -> Result<f64, UnitError> {
    let error = |hint: String| UnitError { message: format!("`{text}` is not a rate"), hint };
    let forms = || "a rate is written like 120/s, 30/min or 2/h".to_owned();
    let Some((number, after)) = leading_number(text) else {
        return Err(error(forms()));
    };
    let Some(unit) = after.trim_start().strip_prefix('/') else {
        let hint = if after.is_empty() { format!("write {text}/s") } else { forms() };
        return Err(error(hint));
    };
    let unit = unit.trim_start();
    let found = RATE_UNITS.iter().find(|(name, _)| *name == unit);
    found.map(|(_, seconds)| number / seconds).ok_or_else(|| error(forms()))
}

/// Parses a rate, per second, within a limit.
pub fn rate_at_most(text: &str, max_per_s: f64) -> Result<f64, UnitError> {
    let rate = rate(text)?;
    if rate <= max_per_s {
        return Ok(rate);
    }
    Err(UnitError {
        message: format!("the rate `{text}` is out of range"),
        hint: format!("at most {max_per_s}/s"),
    })
}

/// Parses a size in bytes.
pub fn size(text: &str) -> Result<u64, UnitError> {
    let error = |hint: String| UnitError { message: format!("`{text}` is not a size"), hint };
    let forms = || "a size is written like 200B, 4KiB, 1MB or 16MiB".to_owned();
    let Some((number, unit)) = leading_number(text) else {
        return Err(error(forms()));
    };
    if unit.is_empty() {
        return Err(error(format!("write {text}B or {text}KiB")));
    }
    let unit = unit.trim_start();
    let (_, factor) =
        SIZE_UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(|| error(forms()))?;
    let bytes = number * factor;
    if bytes > 1e15 {
        return Err(error("that is more than 1000 TB".to_owned()));
    }
    Ok(bytes.round() as u64)
}

/// A share from `98%`; in 0..=1 unless more than 100 % was written.
pub fn share(text: &str) -> Result<f64, UnitError> {
    let number = text.strip_suffix('%').and_then(|t| leading_number(t.trim_end()));
    match number {
        Some((number, "")) => Ok(number / 100.0),
        _ if text == "0" => Ok(0.0),
        _ => Err(UnitError {
            message: format!("`{text}` is not a percentage"),
            hint: share_hint(text),
        }),
    }
}

/// The correct form for a share without its sign.
fn share_hint(text: &str) -> String {
    match (percentage(text), decimal(text)) {
        (Some(percentage), _) => {
            format!("write {percentage}, which k6 and other tools write as {text}")
        }
        (None, Some(1.0)) => "write 100% for all, 1% for one in a hundred".to_owned(),
        (None, Some(_)) => format!("write {text}%"),
        (None, None) => "a percentage is written like 98% or 99.9%".to_owned(),
    }
}

/// The percentage that other tools write as a fraction of 1: `1%` for `0.01`. `None` if the text is no number
/// between 0 and 1.
pub fn percentage(text: &str) -> Option<String> {
    let fraction = decimal(text).filter(|number| *number > 0.0 && *number < 1.0)?;
    // Twelve digits hide the error of the multiplication.
    let percent: f64 = format!("{:.12e}", fraction * 100.0).parse().ok()?;
    Some(format!("{percent}%"))
}

/// A whole number; `_` may part its digits.
pub fn count(text: &str) -> Result<u64, UnitError> {
    let digits = text.replace('_', "");
    digits.parse().ok().filter(|_| digits.starts_with(|c: char| c.is_ascii_digit())).ok_or_else(
        || UnitError {
            message: format!("`{text}` is not a whole number"),
            hint: "write digits alone, like 64 or 24_000".to_owned(),
        },
    )
}

/// A number without a unit.
pub fn number(text: &str) -> Result<f64, UnitError> {
    decimal(text).ok_or_else(|| UnitError {
        message: format!("`{text}` is not a number"),
        hint: "write a number without a unit, like 2 or 0.5".to_owned(),
    })
}

/// Decimal text with a sign or without; no `inf`, `nan` or surrounding space.
fn decimal(text: &str) -> Option<f64> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

/// Nanoseconds from seconds; `None` below zero and beyond 64 bits.
pub fn seconds_to_ns(seconds: f64) -> Option<u64> {
    let ns = (seconds * 1e9).round();
    (0.0..1.8e19).contains(&ns).then_some(ns as u64)
}

/// An unsigned decimal number at the beginning, and what follows it.
pub fn leading_number(text: &str) -> Option<(f64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let number: f64 = text[..end].parse().ok()?;
    number.is_finite().then_some((number, &text[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        for (text, seconds) in [
            ("250ms", 0.25),
            ("3s", 3.0),
            ("90m", 5400.0),
            ("1h30m", 5400.0),
            ("1.5s", 1.5),
            ("0", 0.0),
            ("2d", 172_800.0),
        ] {
            assert_eq!(duration(text), Ok(seconds), "{text}");
        }
        assert!((duration("10us").unwrap() - 1e-5).abs() < 1e-18);
        for text in ["", "s", "10", "-3s", "3 parsecs", "1e3s", "3s!", "..s", "1h 30m"] {
            assert!(duration(text).is_err(), "{text}");
        }
        assert_eq!(duration("10").unwrap_err().hint, "write 10s or 10ms");
    }

    #[test]
    fn rates_sizes_shares_counts() {
        assert_eq!(rate("120/s"), Ok(120.0));
        assert_eq!(rate("30/min"), Ok(0.5));
        assert_eq!(rate("7200/h"), Ok(2.0));
        assert_eq!(rate("10").unwrap_err().hint, "write 10/s");
        assert_eq!(size("4KiB"), Ok(4096));
        assert_eq!(size("1MB"), Ok(1_000_000));
        assert_eq!(size("200").unwrap_err().hint, "write 200B or 200KiB");
        assert_eq!(share("98%"), Ok(0.98));
        assert_eq!(share("0"), Ok(0.0));
        assert_eq!(share("99").unwrap_err().hint, "write 99%");
        for (fraction, percent) in
            [("0.01", "1%"), ("0.07", "7%"), (".0005", "0.05%"), ("0.999", "99.9%")]
        {
            let hint = share(fraction).unwrap_err().hint;
            let expected = format!("write {percent}, which k6 and other tools write as {fraction}");
            assert_eq!(hint, expected);
        }
        let hint = share("1").unwrap_err().hint;
        assert_eq!(hint, "write 100% for all, 1% for one in a hundred");
        assert_eq!(count("24_000"), Ok(24_000));
        assert!(count("-1").is_err() && count("1.5").is_err() && count("_").is_err());
        assert!(rate("x/s").is_err() && size("4XB").is_err() && number("4x").is_err());
    }
}
