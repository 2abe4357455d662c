//! Decimal numbers with six places, whose sums are exact: they do not depend on the order of what is added.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

/// Millionths in one.
const SCALE: i128 = 1_000_000;
/// Decimal places.
const PLACES: usize = 6;
/// Greatest magnitude of a number that is taken from a float. Above it, a float no longer has the six places.
pub const MAGNITUDE_MAX: f64 = 1e12;

/// A number of millionths.
///
/// A text in formats that people read, such as JSON, and a whole number in others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Decimal(i128);

impl Decimal {
    /// Zero.
    pub const ZERO: Decimal = Decimal(0);

    /// The nearest number of millionths; `None` beyond [`MAGNITUDE_MAX`], and of what is no number.
    pub fn from_f64(value: f64) -> Option<Decimal> {
        let is_within = value.abs() <= MAGNITUDE_MAX;
        is_within.then(|| Decimal((value * SCALE as f64).round() as i128))
    }

    /// This many millionths.
    pub fn from_millionths(millionths: i128) -> Decimal {
        Decimal(millionths)
    }

    /// The number in millionths.
    pub fn millionths(self) -> i128 {
        self.0
    }

    /// The nearest float.
    pub fn to_f64(self) -> f64 {
        self.0 as f64 / SCALE as f64
    }

    /// The sum; at the greatest number there is where it would be beyond.
    #[must_use]
    pub fn plus(self, other: Decimal) -> Decimal {
        Decimal(self.0.saturating_add(other.0))
    }
}

impl fmt::Display for Decimal {
    /// As many places as it takes: `12.5`, `-0.25`, `3`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let magnitude = self.0.unsigned_abs();
        let scale = SCALE.unsigned_abs();
        let sign = if self.0 < 0 { "-" } else { "" };
        let fraction = format!("{:0PLACES$}", magnitude % scale);
        let fraction = fraction.trim_end_matches('0');
        let point = if fraction.is_empty() { "" } else { "." };
        write!(f, "{sign}{}{point}{fraction}", magnitude / scale)
    }
}

/// The reason why a text is no decimal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this is not a decimal number with up to six places")]
pub struct DecimalError;

impl FromStr for Decimal {
    type Err = DecimalError;

    fn from_str(text: &str) -> Result<Decimal, DecimalError> {
        let (digits, sign) = match text.strip_prefix('-') {
            Some(digits) => (digits, -1),
            None => (text, 1),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty()
            || fraction.len() > PLACES
            || ![whole, fraction].into_iter().all(are_digits)
        {
            return Err(DecimalError);
        }
        let millionths: i128 =
            format!("{whole}{fraction:0<PLACES$}").parse().map_err(|_| DecimalError)?;
        Ok(Decimal(sign * millionths))
    }
}

impl Serialize for Decimal {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match serializer.is_human_readable() {
            true => serializer.collect_str(self),
            false => self.0.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Decimal {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Decimal, D::Error> {
        if deserializer.is_human_readable() {
            let text = String::deserialize(deserializer)?;
            return text.parse().map_err(D::Error::custom);
        }
        i128::deserialize(deserializer).map(Decimal)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(value: f64) -> String {
        Decimal::from_f64(value).unwrap().to_string()
    }

    #[test]
    fn numbers_keep_six_places() {
        assert_eq!(text(0.1), "0.1");
        assert_eq!(text(-12.34), "-12.34");
        assert_eq!(text(29.0), "29");
        assert_eq!(text(0.000_000_6), "0.000001");
        assert_eq!(text(-0.000_000_4), "0");
        assert_eq!(text(1e12), "1000000000000");
    }

    #[test]
    fn what_is_no_number_or_too_large_is_refused() {
        for value in [f64::NAN, f64::INFINITY, -f64::INFINITY, 1.000_001e12, -2e12] {
            assert_eq!(Decimal::from_f64(value), None, "{value}");
        }
        for text in ["", "-", ".5", "1e3", "+1", "1.0000001", "--1", "1_0"] {
            assert_eq!(text.parse::<Decimal>(), Err(DecimalError), "{text}");
        }
    }

    /// Floats give 0.30000000000000004 and lose the one behind a large number.
    #[test]
    fn sums_are_exact_in_any_order() {
        let numbers = [1e11, 0.1, 0.2, -1e11, 0.000_001];
        let sum = |order: &[usize]| {
            let numbers = order.iter().map(|&at| Decimal::from_f64(numbers[at]).unwrap());
            numbers.fold(Decimal::ZERO, Decimal::plus).to_string()
        };
        assert_eq!(sum(&[0, 1, 2, 3, 4]), "0.300001");
        assert_eq!(sum(&[4, 3, 2, 1, 0]), "0.300001");
        assert_eq!(sum(&[1, 0, 4, 2, 3]), "0.300001");
    }

    proptest! {
        #[test]
        fn decimals_come_back_as_they_were(millionths in -(1_i128 << 100)..(1_i128 << 100)) {
            let decimal = Decimal::from_millionths(millionths);
            prop_assert_eq!(decimal.to_string().parse::<Decimal>(), Ok(decimal));
            let json = serde_json::to_string(&decimal).unwrap();
            prop_assert_eq!(serde_json::from_str::<Decimal>(&json).unwrap(), decimal);
            let bytes = postcard::to_stdvec(&decimal).unwrap();
            prop_assert_eq!(postcard::from_bytes::<Decimal>(&bytes).unwrap(), decimal);
        }
    }
}
