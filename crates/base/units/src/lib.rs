//! Numbers as people read and write them.
//!
//! Grouped digits, units that fit, three significant digits. Findings and reports use the same
//! functions, so that a figure reads alike everywhere.

mod hex;
pub mod parse;

pub use hex::{from_hex, hex};

/// Significant digits unless the caller says otherwise.
const DIGITS: usize = 3;
/// Other numbers would be more zeros than anybody counts.
const WRITTEN_OUT: std::ops::Range<f64> = 1e-9..1e15;

/// The unit of a figure: decides how it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, ts_rs::TS)]
pub enum Unit {
    #[serde(rename = "ns")]
    Nanoseconds,
    #[serde(rename = "1/s")]
    PerSecond,
    /// A fraction of 1.
    #[serde(rename = "share")]
    Share,
    #[serde(rename = "count")]
    Count,
    /// A number without a unit.
    #[serde(rename = "")]
    Plain,
}

impl Unit {
    /// The value with this many significant digits; counts are whole numbers.
    pub fn format(self, value: f64, digits: usize) -> String {
        match self {
            Unit::Count => about(value),
            Unit::Share => share_to(value, digits),
            Unit::PerSecond => rate_to(value, digits),
            Unit::Nanoseconds => duration_to(value, digits),
            Unit::Plain => significant(value, digits),
        }
    }
}

/// `12,345`.
pub fn count(n: u64) -> String {
    group(&n.to_string())
}

/// `1 user`, `12,345 users`.
pub fn counted(n: u64, noun: &str) -> String {
    format!("{} {noun}{}", count(n), if n == 1 { "" } else { "s" })
}

/// A number of things that may be fractional, such as expected arrivals: `12,345`.
pub fn about(n: f64) -> String {
    match n < WRITTEN_OUT.end {
        true => group(&format!("{:.0}", n.max(0.0))),
        false => significant(n, DIGITS),
    }
}

/// `1,633/s`, `35.8/s`, `0.120/s`.
pub fn rate(per_s: f64) -> String {
    rate_to(per_s, DIGITS)
}

/// As [`rate`] with this many significant digits.
pub fn rate_to(per_s: f64, digits: usize) -> String {
    format!("{}/s", significant(per_s, digits))
}

/// A latency in nanoseconds: `512 ns`, `87.2 µs`, `31.0 ms`, `5.70 s`.
pub fn duration(ns: f64) -> String {
    duration_to(ns, DIGITS)
}

/// As [`duration`] with this many significant digits.
pub fn duration_to(ns: f64, digits: usize) -> String {
    // A value that rounds to 1,000 of a unit is written as 1.00 of the next.
    let edge = 1000.0 - 0.5 * 10f64.powi(3 - digits.clamp(3, 15) as i32);
    for (unit, per) in [("ns", 1.0), ("µs", 1e3), ("ms", 1e6)] {
        if ns.abs() / per < edge {
            let digits = if per == 1.0 && ns.fract() == 0.0 { 1 } else { digits };
            return format!("{} {unit}", significant(ns / per, digits));
        }
    }
    format!("{} s", significant(ns / 1e9, digits))
}

/// A stretch of the run in nanoseconds: `12 s`, `3 min 20 s`, `1 h 33 min`; below ten seconds
/// with a decimal where there is one.
pub fn span(ns: u64) -> String {
    if ns < 10_000_000_000 {
        let text = format!("{:.1}", ns as f64 / 1e9);
        return format!("{} s", text.strip_suffix(".0").unwrap_or(&text));
    }
    let s = ns.saturating_add(500_000_000) / 1_000_000_000;
    match (s / 3600, s / 60 % 60, s % 60) {
        (0, 0, s) => format!("{s} s"),
        (0, min, 0) => format!("{min} min"),
        (0, min, s) => format!("{min} min {s} s"),
        (h, 0, _) => format!("{h} h"),
        (h, min, _) => format!("{h} h {min} min"),
    }
}

/// A moment of the run in nanoseconds since its start, to the nearest second: `0:15`, `12:05`, `1:02:03`.
pub fn clock(at_ns: u64) -> String {
    let s = at_ns.saturating_add(500_000_000) / 1_000_000_000;
    match s / 3600 {
        0 => format!("{}:{:02}", s / 60, s % 60),
        h => format!("{h}:{:02}:{:02}", s / 60 % 60, s % 60),
    }
}

/// `512 B`, `4.00 KiB`, `212 MiB`.
pub fn bytes(n: u64) -> String {
    if n < 1024 {
        return format!("{n} B");
    }
    let mut value = n as f64;
    let mut unit = "B";
    for next in ["KiB", "MiB", "GiB", "TiB"] {
        if value < 1023.5 {
            break;
        }
        value /= 1024.0;
        unit = next;
    }
    format!("{} {unit}", significant(value, DIGITS))
}

/// A share of 0..=1 as a percentage: `99.98 %`, `1.26 %`, `0.0312 %`; 100 % and 0 % are
/// written only for exact values.
pub fn share(x: f64) -> String {
    share_to(x, DIGITS)
}

/// As [`share`] with this many significant digits, one more from 10 % on.
pub fn share_to(x: f64, digits: usize) -> String {
    let percent = 100.0 * x;
    if percent > 10.0 && percent < 100.0 {
        let decimals = digits.saturating_sub(1);
        let steps = 10f64.powi(decimals as i32);
        let below = (percent * steps).round().min(100.0 * steps - 1.0) / steps;
        let text = format!("{below:.decimals$}");
        return format!("{} %", text.trim_end_matches('0').trim_end_matches('.'));
    }
    if percent == 0.0 || percent == 100.0 {
        return format!("{} %", significant(percent, 1));
    }
    format!("{} %", significant(percent, digits))
}

/// A share of 0..=1 as a whole percentage: `41 %`.
pub fn percent(x: f64) -> String {
    format!("{:.0} %", 100.0 * x)
}

/// This many significant digits, but never fewer than the integer part has; zero is `0`. What is beyond [`WRITTEN_OUT`] has an
/// exponent: `1.00e100`.
pub fn significant(x: f64, digits: usize) -> String {
    if x == 0.0 || !x.is_finite() {
        return if x == 0.0 { "0".to_owned() } else { x.to_string() };
    }
    if !WRITTEN_OUT.contains(&x.abs()) {
        return format!("{x:.*e}", digits.saturating_sub(1));
    }
    let decimals = |x: f64| (digits as i32 - 1 - x.abs().log10().floor() as i32).max(0) as usize;
    // Rounding may carry into one more whole digit: 9.999 is 10.0, not 10.00.
    let rounded: f64 = format!("{x:.*}", decimals(x)).parse().unwrap_or(x);
    let text = format!("{x:.*}", decimals(if rounded == 0.0 { x } else { rounded }));
    match text.split_once('.') {
        Some((whole, rest)) => format!("{}.{rest}", group(whole)),
        None => group(&text),
    }
}

/// A probability with its name: `p 0.032`, `p < 0.0001`.
pub fn p_value(p: f64) -> String {
    if p < 1e-4 {
        return "p < 0.0001".to_owned();
    }
    format!("p {}", significant(p, 2))
}

/// Puts a comma before every third digit from the right.
fn group(digits: &str) -> String {
    let (sign, digits) = match digits.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", digits),
    };
    let mut out = String::with_capacity(digits.len() * 4 / 3 + 1);
    out.push_str(sign);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_grouped() {
        let check = |n, expect: &str| assert_eq!(count(n), expect);
        check(0, "0");
        check(999, "999");
        check(1_000, "1,000");
        check(24_000, "24,000");
        check(1_234_567, "1,234,567");
        assert_eq!(about(-0.2), "0");
        assert_eq!(about(23_999.6), "24,000");
        assert_eq!(counted(1, "user"), "1 user");
        assert_eq!(counted(0, "user"), "0 users");
    }

    #[test]
    fn durations_use_the_unit_that_fits() {
        let check = |ns: f64, expect: &str| assert_eq!(duration(ns), expect, "{ns}");
        check(0.0, "0 ns");
        check(512.0, "512 ns");
        check(512.5, "512 ns");
        check(1_000.0, "1.00 µs");
        check(87_249.0, "87.2 µs");
        check(999_400.0, "999 µs");
        check(999_600.0, "1.00 ms");
        check(9_999_000.0, "10.0 ms");
        check(31_000_000.0, "31.0 ms");
        check(5.7e9, "5.70 s");
        check(1_234.0e9, "1,234 s");
        assert_eq!(duration_to(250_049_000.0, 5), "250.05 ms");
        assert_eq!(duration_to(999_990_000.0, 4), "1.000 s");
    }

    #[test]
    fn what_is_very_large_or_small_has_an_exponent() {
        for (x, expected) in [
            (1e100, "1.00e100"),
            (-9.999e99, "-1.00e100"),
            (1.5e15, "1.50e15"),
            (1e14, "100,000,000,000,000"),
            (1e-300, "1.00e-300"),
            (2.5e-9, "0.00000000250"),
            (0.0, "0"),
        ] {
            assert_eq!(significant(x, 3), expected);
        }
        assert_eq!(duration(1e100), "1.00e91 s");
        assert_eq!(share(1e98), "1.00e100 %");
        assert_eq!(rate(1e20), "1.00e20/s");
        assert_eq!(about(1e100), "1.00e100");
        assert_eq!(significant(1e100, 1), "1e100");
    }

    #[test]
    fn spans_read_as_on_a_clock() {
        let check = |s: f64, expect: &str| assert_eq!(span((s * 1e9) as u64), expect);
        check(0.0, "0 s");
        check(2.5, "2.5 s");
        check(9.0, "9 s");
        check(59.6, "1 min");
        check(200.0, "3 min 20 s");
        check(5_600.0, "1 h 33 min");
        check(7_200.0, "2 h");
        assert_eq!(span(u64::MAX), "5124095 h 34 min", "a damaged record may hold this");
    }

    #[test]
    fn moments_are_those_of_a_clock() {
        let at = |seconds: u64| clock(seconds * 1_000_000_000);
        assert_eq!([0, 15, 65, 725, 3723].map(at), ["0:00", "0:15", "1:05", "12:05", "1:02:03"]);
        assert_eq!(clock(14_600_000_000), "0:15");
    }

    #[test]
    fn shares_do_not_round_to_0_or_100_percent() {
        let check = |x, expect: &str| assert_eq!(share(x), expect);
        check(0.0, "0 %");
        check(1.0, "100 %");
        check(0.999_99, "99.99 %");
        check(0.999, "99.9 %");
        check(0.5, "50 %");
        check(0.0126, "1.26 %");
        check(0.000_312, "0.0312 %");
        check(0.000_000_1, "0.0000100 %");
        check(1.004, "100 %");
        assert_eq!(share_to(0.998_999, 4), "99.9 %");
        assert_eq!(share_to(0.998_999, 5), "99.8999 %");
        assert_eq!(percent(0.414), "41 %");
    }

    #[test]
    fn tiny_probabilities_show_a_bound() {
        assert_eq!(p_value(0.0321), "p 0.032");
        assert_eq!(p_value(1.0), "p 1.0");
        assert_eq!(p_value(1e-4), "p 0.00010");
        assert_eq!(p_value(f64::MIN_POSITIVE), "p < 0.0001");
        assert_eq!(p_value(0.0), "p < 0.0001");
    }

    #[test]
    fn rates_and_bytes() {
        assert_eq!(rate(212_340.4), "212,340/s");
        assert_eq!(rate(35.77), "35.8/s");
        assert_eq!(rate(0.12), "0.120/s");
        assert_eq!(rate(0.0), "0/s");
        assert_eq!(bytes(1023), "1023 B");
        assert_eq!(bytes(4096), "4.00 KiB");
        assert_eq!(bytes(1_048_575), "1.00 MiB");
        assert_eq!(bytes(212 << 20), "212 MiB");
    }
}
