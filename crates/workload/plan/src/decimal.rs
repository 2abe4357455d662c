//! Decimal numbers by their text, of any length.

use std::cmp::Ordering;

/// Digits that a 64-bit float gives back as they were (`DBL_DIG` of C).
const DIGITS_EXACT: usize = 15;
/// Stands for exponents of ten beyond it.
const EXPONENT_MAX: i64 = i64::MAX / 4;

/// True for a number as JSON writes it (RFC 8259 §6).
pub(crate) fn is_json_number(text: &str) -> bool {
    let (mantissa, exponent) = cut(text.strip_prefix('-').unwrap_or(text), &['e', 'E']);
    let (whole, fraction) = cut(mantissa, &['.']);
    let is_exponent = |text: &str| is_digits(text.strip_prefix(['-', '+']).unwrap_or(text));
    is_digits(whole)
        && (whole == "0" || !whole.starts_with('0'))
        && fraction.is_none_or(is_digits)
        && exponent.is_none_or(is_exponent)
}

/// Whether a float says all of this text, which it was read from: it is written with the same characters.
pub(crate) fn is_whole_in_float(text: &str, float: f64) -> bool {
    // With an exponent, or a zero at its end, it would be written in another way. Floats near 0 have fewer digits.
    float.is_normal()
        && significant_digits(text) <= DIGITS_EXACT
        && text.contains('.')
        && !text.contains(['e', 'E'])
        && !text.ends_with(['0', '.'])
}

/// Whether neither an integer nor a float of 64 bits has this value.
pub(crate) fn is_beyond_64_bits(text: &str) -> bool {
    significant_digits(text) > DIGITS_EXACT
        && text.parse::<i64>().is_err()
        && text.parse::<u64>().is_err()
}

/// The digits of a number but the zeros that it begins with, its exponent aside.
fn significant_digits(text: &str) -> usize {
    let (mantissa, _) = cut(sign(text).1, &['e', 'E']);
    let digits = mantissa.bytes().filter(u8::is_ascii_digit);
    digits.skip_while(|digit| *digit == b'0').count()
}

/// How two decimal numbers compare, whatever their length; `None`: one of them is no number.
pub(crate) fn compare(a: &str, b: &str) -> Option<Ordering> {
    let a = Decimal::parse(a)?;
    let b = Decimal::parse(b)?;
    let by_size = || a.magnitude.cmp(&b.magnitude).then_with(|| a.compare_digits(&b));
    Some(a.signum().cmp(&b.signum()).then_with(|| match a.signum() {
        0 => Ordering::Equal,
        1 => by_size(),
        _ => by_size().reverse(),
    }))
}

/// A number taken apart.
struct Decimal<'t> {
    is_negative: bool,
    /// With a point, and with zeros around them.
    digits: &'t str,
    /// Exponent of ten of the first digit that is not 0, plus one.
    magnitude: i64,
    is_zero: bool,
}

impl<'t> Decimal<'t> {
    fn parse(text: &'t str) -> Option<Decimal<'t>> {
        let (is_negative, rest) = sign(text);
        let (digits, exponent) = cut(rest, &['e', 'E']);
        let (whole, fraction) = cut(digits, &['.']);
        let fraction = fraction.unwrap_or("");
        if whole.len() + fraction.len() == 0 || ![whole, fraction].iter().all(|t| are_digits(t)) {
            return None;
        }
        let exponent = exponent.map_or(Some(0), read_exponent)?;
        let zeros = |text: &str| text.len() - text.trim_start_matches('0').len();
        let shift = match zeros(whole) {
            skipped if skipped < whole.len() => (whole.len() - skipped) as i64,
            _ => -(zeros(fraction) as i64),
        };
        Some(Decimal {
            is_negative,
            digits,
            magnitude: exponent.saturating_add(shift),
            is_zero: digits.bytes().all(|byte| matches!(byte, b'0' | b'.')),
        })
    }

    fn signum(&self) -> i8 {
        match (self.is_zero, self.is_negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        }
    }

    /// From the first digit that is not 0 on; what is missing at the end of one is 0.
    fn compare_digits(&self, other: &Decimal<'_>) -> Ordering {
        let mut own = self.significant();
        let mut others = other.significant();
        loop {
            match (own.next(), others.next()) {
                (None, None) => return Ordering::Equal,
                (a, b) => match a.unwrap_or(b'0').cmp(&b.unwrap_or(b'0')) {
                    Ordering::Equal => {}
                    different => return different,
                },
            }
        }
    }

    fn significant(&self) -> impl Iterator<Item = u8> {
        let digits = self.digits.bytes().filter(u8::is_ascii_digit);
        digits.skip_while(|digit| *digit == b'0')
    }
}

/// Whether a number is negative, and the rest of it.
fn sign(text: &str) -> (bool, &str) {
    match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    }
}

/// The text before the first of these characters, and that behind it.
fn cut<'t>(text: &'t str, at: &[char]) -> (&'t str, Option<&'t str>) {
    match text.split_once(at) {
        Some((before, behind)) => (before, Some(behind)),
        None => (text, None),
    }
}

fn read_exponent(text: &str) -> Option<i64> {
    let (is_negative, digits) = sign(text);
    if !is_digits(digits) {
        return None;
    }
    let size = digits.parse::<i64>().map_or(EXPONENT_MAX, |size| size.min(EXPONENT_MAX));
    Some(if is_negative { -size } else { size })
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && are_digits(text)
}

fn are_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_of_json_are_told_from_others() {
        for text in ["0", "-0", "12", "-1.50", "1e3", "1E-07", "0.001e+9", "9".repeat(400).as_str()]
        {
            assert!(is_json_number(text), "{text}");
        }
        for text in ["", "-", "+1", "01", "1.", ".5", "1e", "1e+", "--1", "1.2.3", "0x1", "1e1e1"] {
            assert!(!is_json_number(text), "{text}");
        }
    }

    #[test]
    fn numbers_of_any_length_have_an_order() {
        use Ordering::{Equal, Greater, Less};
        for (a, b, expected) in [
            ("12345678901234567890", "12345678901234567891", Less),
            ("123456789012345678901", "123456789012345678901.0", Equal),
            ("-123456789012345678901", "-123456789012345678902", Greater),
            ("1.10", "1.1", Equal),
            ("1.10", "1.09999999999999999999999", Greater),
            ("0.00100", "1e-3", Equal),
            ("1e400", "1e399", Greater),
            ("1e400", "10e399", Equal),
            ("-1e99999999999999999999", "0", Less),
            ("1e-99999999999999999999", "0", Greater),
            ("0e5", "-0.000", Equal),
            ("+5", "05.", Equal),
            (".5", "0.25", Greater),
            ("9", "10", Less),
            ("-9", "1", Less),
        ] {
            assert_eq!(compare(a, b), Some(expected), "{a} {b}");
            assert_eq!(compare(b, a), Some(expected.reverse()), "{b} {a}");
        }
        for text in ["", "-", ".", "1x", "inf", "NaN", "1e", "1e2.5"] {
            assert_eq!(compare(text, "1"), None, "{text}");
        }
    }

    const NUMBER: &str = "-?(0|[1-9][0-9]{0,17})(\\.[0-9]{1,18})?(e-?[0-9]{1,3})?";

    proptest! {
        /// Whole numbers up to 128 bits are the oracle, moved by a power of ten and with zeros around them.
        #[test]
        fn the_order_is_that_of_integers(a: i128, b: i128, zeros in 0..4_usize, small: bool) {
            let shift = if small { 118 } else { 0 };
            let a = a >> shift;
            let b = b >> shift;
            let padded = |n: i128| {
                let sign = if n < 0 { "-" } else { "" };
                format!("{sign}{}{}e-{zeros}", "0".repeat(zeros), n.unsigned_abs())
            };
            let fraction = |n: i128| format!("{n}.{}e-{zeros}", "0".repeat(zeros));
            prop_assert_eq!(compare(&padded(a), &fraction(b)), Some(a.cmp(&b)));
        }

        /// What is taken for the float's own text is written so.
        #[test]
        fn a_float_that_says_all_is_written_as_it_was(text in NUMBER) {
            let float: f64 = text.parse().unwrap();
            if is_whole_in_float(&text, float) {
                prop_assert_eq!(float.to_string(), text);
            }
        }
    }
}
