//! Formats the numbers of a model.

use compare::experiment::{EstimateFigures, ResponseAnalysis};
use units::{Unit, significant};

/// Significant digits of measured values, and of values in tables from elsewhere, whose precision is unknown.
const DIGITS: usize = 4;
const DIGITS_PLAIN: usize = 6;

/// Writes the numbers of one response.
#[derive(Debug, Clone, Copy)]
pub(super) struct Numbers {
    unit: Unit,
    multiplicative: bool,
}

impl Numbers {
    pub(super) fn new(response: &ResponseAnalysis) -> Numbers {
        Numbers { unit: response.unit, multiplicative: response.model == "multiplicative" }
    }

    /// A value as it was measured, or a difference of such.
    pub(super) fn value(self, value: f64) -> String {
        let sign = if value < 0.0 { "−" } else { "" };
        let size = value.abs();
        let text = match self.unit {
            Unit::Plain => trimmed(&significant(size, DIGITS_PLAIN)).to_owned(),
            // Means and effects of counts are fractions.
            Unit::Count => significant(size, DIGITS),
            unit => unit.format(size, DIGITS),
        };
        format!("{sign}{text}")
    }

    /// A mean of the model, which may be of logarithms.
    pub(super) fn mean(self, mean: f64) -> String {
        match self.multiplicative {
            true => self.value(10_f64.powf(mean)),
            false => self.value(mean),
        }
    }

    /// An effect: a difference, or a factor if effects multiply.
    pub(super) fn effect(self, effect: f64) -> String {
        match self.multiplicative {
            true => format!("×{}", significant(10_f64.powf(effect), DIGITS)),
            false => self.value(effect),
        }
    }

    /// Both bounds, formatted by `show`, or a dash.
    pub(super) fn interval(
        self,
        estimate: &EstimateFigures,
        show: impl Fn(Self, f64) -> String,
    ) -> String {
        match (estimate.low, estimate.high) {
            (Some(low), Some(high)) => format!("{} to {}", show(self, low), show(self, high)),
            _ => "–".to_owned(),
        }
    }
}

/// The number without zeros at the end of a fraction.
fn trimmed(text: &str) -> &str {
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => text,
    }
}

/// A share of the variation, as exactly as published tables print it.
pub(super) fn share(share: f64) -> String {
    format!("{:.4} %", 100.0 * share)
}

/// A probability.
pub(super) fn chance(p: Option<f64>) -> String {
    match p {
        None => "–".to_owned(),
        Some(p) if p < 1e-4 => "<0.0001".to_owned(),
        Some(p) => format!("{p:.4}"),
    }
}
