//! Numbers as other tools write them, in a unit, as whole nanoseconds.

/// The longest time of an operation, a day, in nanoseconds.
pub const VALUE_NS_MAX: u128 = 86_400_000_000_000;
/// Most digits of a number that is read exactly.
const DIGITS_MAX: usize = 20;

/// The unit of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds.
    Ns,
    /// Microseconds.
    Us,
    /// Milliseconds.
    Ms,
    /// Seconds.
    S,
}

impl Unit {
    /// Nanoseconds in one.
    pub fn ns(self) -> u64 {
        match self {
            Unit::Ns => 1,
            Unit::Us => 1_000,
            Unit::Ms => 1_000_000,
            Unit::S => 1_000_000_000,
        }
    }

    /// `ns`, `us`, `ms`, `s`.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Ns => "ns",
            Unit::Us => "us",
            Unit::Ms => "ms",
            Unit::S => "s",
        }
    }
}

/// The number in this text in nanoseconds, rounded to the nearest; or what is wrong with it.
pub(super) fn nanoseconds(text: &str, unit: Unit) -> Result<u128, String> {
    let value = match exact(text, unit) {
        Some(value) => value,
        None => {
            let number: f64 = text.parse().map_err(|_| format!("{text:?} is not a number"))?;
            if !number.is_finite() {
                return Err(format!("{text} is not finite"));
            }
            if number < 0.0 {
                return Err(format!("{text} is negative"));
            }
            // What is too large for a u128 becomes its greatest, which is refused as too long.
            (number * unit.ns() as f64).round() as u128
        }
    };
    Ok(value)
}

/// Digits with at most one point: those are not rounded before they are in nanoseconds.
fn exact(text: &str, unit: Unit) -> Option<u128> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let fits = whole.len() <= DIGITS_MAX && part.len() <= DIGITS_MAX;
    if !fits || whole.len() + part.len() == 0 || !digits(whole) || !digits(part) {
        return None;
    }
    let number = |text: &str| -> Option<u128> {
        match text.is_empty() {
            true => Some(0),
            false => text.parse().ok(),
        }
    };
    let factor = u128::from(unit.ns());
    let scale = 10_u128.pow(part.len() as u32);
    let rounded = (number(part)? * factor + scale / 2) / scale;
    Some(number(whole)? * factor + rounded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_rounded_to_nanoseconds() {
        for (text, unit, expected) in [
            ("0", Unit::Ms, 0),
            ("12.5", Unit::Ms, 12_500_000),
            (".5", Unit::S, 500_000_000),
            ("7.", Unit::Us, 7_000),
            ("1.2345678", Unit::Ms, 1_234_568),
            ("0.4", Unit::Ns, 0),
            ("0.5", Unit::Ns, 1),
            ("1e3", Unit::Us, 1_000_000),
            ("+2.5e-3", Unit::S, 2_500_000),
            ("1766000000000000123", Unit::Ns, 1_766_000_000_000_000_123),
            ("1766000000.000000123", Unit::S, 1_766_000_000_000_000_123),
        ] {
            assert_eq!(nanoseconds(text, unit), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_time_is_refused_with_its_reason() {
        for (text, expected) in [
            ("", "\"\" is not a number"),
            (".", "\".\" is not a number"),
            ("12ms", "\"12ms\" is not a number"),
            ("1,5", "\"1,5\" is not a number"),
            ("-1", "-1 is negative"),
            ("NaN", "NaN is not finite"),
            ("inf", "inf is not finite"),
            ("-Infinity", "-Infinity is not finite"),
            ("1e999", "1e999 is not finite"),
        ] {
            assert_eq!(nanoseconds(text, Unit::Ms), Err(expected.to_owned()));
        }
        assert_eq!(nanoseconds("-0", Unit::Ms), Ok(0));
        assert!(nanoseconds("1e40", Unit::S).unwrap() > VALUE_NS_MAX);
    }
}
