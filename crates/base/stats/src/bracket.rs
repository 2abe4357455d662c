//! Searches within a bracket: for the least value of a function, and for the border of what holds.

use std::ops::Range;

/// The place of the least value of a function with one valley within `bracket`, to this precision (golden section; Kiefer 1953). Where
/// it is infinite to the right, the valley is to the left.
pub(crate) fn least(bracket: Range<f64>, precision: f64, f: impl Fn(f64) -> f64) -> f64 {
    let ratio = (5.0_f64.sqrt() - 1.0) / 2.0;
    let mut low = bracket.start;
    let mut high = bracket.end;
    let mut a = high - ratio * (high - low);
    let mut b = low + ratio * (high - low);
    let mut at_a = f(a);
    let mut at_b = f(b);
    while high - low > precision {
        if at_a < at_b || at_b == f64::INFINITY {
            (high, b, at_b) = (b, a, at_a);
            a = high - ratio * (high - low);
            at_a = f(a);
        } else {
            (low, a, at_a) = (a, b, at_b);
            b = low + ratio * (high - low);
            at_b = f(b);
        }
    }
    (low + high) / 2.0
}

/// The border between `inside`, where `holds` is true, and `outside`, where it is not, by that many halvings.
pub(crate) fn border(
    mut inside: f64,
    mut outside: f64,
    halvings: u32,
    holds: impl Fn(f64) -> bool,
) -> f64 {
    for _ in 0..halvings {
        let middle = (inside + outside) / 2.0;
        match holds(middle) {
            true => inside = middle,
            false => outside = middle,
        }
    }
    inside
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_value_is_found_beside_infinite_ones() {
        let valley = |x: f64| {
            if x < 4.0 { (x - 3.3).powi(2) } else { f64::INFINITY }
        };
        assert!((least(0.0..100.0, 1e-7, valley) - 3.3).abs() < 1e-6);
    }

    #[test]
    fn the_border_is_on_the_side_that_holds() {
        let found = border(1.0, 9.0, 20, |x| x <= 5.5);
        assert!(found <= 5.5 && 5.5 - found < 1e-4, "{found}");
        assert_eq!(border(9.0, 1.0, 20, |_| false), 9.0);
    }
}
