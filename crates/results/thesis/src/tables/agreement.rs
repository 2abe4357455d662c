//! How well a printed figure and a computed one agree.

/// How they agree.
#[derive(Debug, Clone, PartialEq)]
pub enum Agreement {
    /// Digit by digit, rounded.
    Rounded,
    /// Digit by digit, cut off instead of rounded.
    CutOff,
    /// As well as the rounding of the printed inputs allows.
    WithinRounding,
    /// They do not.
    Differs {
        /// How many leading digits are the same.
        digits: u32,
        /// Another reading from which the printed figure does follow, or what else is to be said.
        note: Option<String>,
    },
    /// There is nothing to compute it from.
    NoData,
    /// Nothing is printed.
    NotPrinted,
}

/// A figure that was computed.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Reading {
    pub(super) value: f64,
    /// Between what it can lie, where its inputs are rounded.
    pub(super) range: (f64, f64),
    /// Other readings of the figure: as text, and between what they can lie.
    pub(super) others: Vec<(String, (f64, f64))>,
    /// Remark for a figure that agrees with no reading.
    pub(super) note: Option<String>,
}

impl Reading {
    /// A figure whose inputs are not rounded.
    pub(super) fn exactly(value: f64) -> Reading {
        Reading { value, range: (value, value), others: Vec::new(), note: None }
    }
}

/// A printed figure as a number and the worth of one in its last digit.
pub(super) fn parse(printed: &str) -> Option<(f64, f64)> {
    let value: f64 = printed.parse().ok()?;
    let decimals = printed.split_once('.').map_or(0, |(_, digits)| digits.len());
    Some((value, 10f64.powi(-(decimals as i32))))
}

pub(super) fn agree(printed: Option<&str>, reading: Option<&Reading>) -> Agreement {
    let Some((value, last)) = printed.and_then(parse) else {
        return Agreement::NotPrinted;
    };
    let Some(reading) = reading else {
        return Agreement::NoData;
    };
    if let Some(agreement) = digits_agree(value, last, reading.value) {
        return agreement;
    }
    if within(value, last, reading.range.0, reading.range.1) {
        return Agreement::WithinRounding;
    }
    let other = reading.others.iter().find(|(_, (low, high))| within(value, last, *low, *high));
    let note = match other {
        Some((words, _)) => Some(format!("it does follow {words}")),
        None => reading.note.clone(),
    };
    Agreement::Differs { digits: digits_alike(value, reading.value), note }
}

/// Binary numbers miss decimal ones by this share of a last digit at most.
const SLACK: f64 = 1e-6;

fn digits_agree(printed: f64, last: f64, computed: f64) -> Option<Agreement> {
    let steps = (computed - printed) / last;
    if steps.abs() <= 0.5 + SLACK {
        Some(Agreement::Rounded)
    } else if (0.0..1.0).contains(&steps) {
        Some(Agreement::CutOff)
    } else {
        None
    }
}

/// True where some value of the range is printed like this, rounded or cut off.
fn within(printed: f64, last: f64, low: f64, high: f64) -> bool {
    let slack = last * SLACK;
    low < printed + last && printed - last / 2.0 <= high + slack && low <= high
}

/// Leading digits that two numbers have in common: 3 for 27,592 and 27,600.
fn digits_alike(a: f64, b: f64) -> u32 {
    let size = a.abs().max(b.abs());
    let apart = (a - b).abs() / size;
    if size == 0.0 || apart.is_nan() {
        return 0;
    }
    (-apart.log10()).floor().clamp(0.0, 15.0) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(printed: &str, value: f64) -> Agreement {
        agree(Some(printed), Some(&Reading::exactly(value)))
    }

    #[test]
    fn digits() {
        assert_eq!(check("671", 671.34), Agreement::Rounded);
        assert_eq!(check("291", 291.51), Agreement::CutOff);
        assert_eq!(check("15.41234", 15.412_340_4), Agreement::Rounded);
        let differs = |digits| Agreement::Differs { digits, note: None };
        assert_eq!(check("56.82622", 56.826_27), differs(6));
        assert_eq!(check("27592.52", 25_206.41), differs(1));
        assert_eq!(check("100", 0.0), differs(0));
        assert_eq!(check("0.4", 0.4), Agreement::Rounded);
        assert_eq!(check("-1", f64::NAN), differs(0));
        // One more in the last digit is neither rounded nor cut off.
        assert_eq!(check("10", 11.0), differs(1));
    }

    #[test]
    fn ranges_and_other_readings() {
        let mut reading = Reading::exactly(2252.08);
        reading.note = Some("no order gives it".to_owned());
        reading.others = vec![("with twice as much".to_owned(), (10.0, 11.0))];
        let agreement = |printed, reading: &Reading| agree(Some(printed), Some(reading));
        let note = |text: &str| Agreement::Differs { digits: 0, note: Some(text.to_owned()) };
        assert_eq!(agreement("10.5", &reading), note("it does follow with twice as much"));
        assert_eq!(agreement("20.5", &reading), note("no order gives it"));
        reading.range = (2251.5, 2252.3);
        assert_eq!(agreement("2251.85501", &reading), Agreement::WithinRounding);
        assert_eq!(agree(None, Some(&reading)), Agreement::NotPrinted);
        assert_eq!(agree(Some("1"), None), Agreement::NoData);
    }
}
