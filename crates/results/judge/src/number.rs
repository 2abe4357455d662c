//! Numbers as short as a screen allows.

use serde::{Serialize, Serializer};

/// A number that is reported with five significant digits, more than any pixel shows. What is not
/// finite is `null`.
#[derive(Debug, Clone, Copy, PartialEq, ts_rs::TS)]
#[ts(rename = "number")]
pub struct Number(pub f64);

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        if !self.0.is_finite() {
            return to.serialize_none();
        }
        let short: f64 = format!("{:.4e}", self.0).parse().unwrap_or(self.0);
        // Whole numbers without the `.0` that a float has in JSON.
        if short.fract() == 0.0 && short.abs() < 9e15 {
            to.serialize_i64(short as i64)
        } else {
            to.serialize_f64(short)
        }
    }
}

impl From<f64> for Number {
    fn from(value: f64) -> Number {
        Number(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_digits_are_reported() {
        let text = |x: f64| serde_json::to_string(&Number(x)).unwrap();
        assert_eq!(text(1_234_567.0), "1234600");
        assert_eq!(text(0.001_234_56), "0.0012346");
        assert_eq!(text(2.0), "2");
        assert_eq!(text(-0.5), "-0.5");
        assert_eq!(text(f64::NAN), "null");
        assert_eq!(text(f64::INFINITY), "null");
    }
}
