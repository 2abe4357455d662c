//! Capacity from runs at growing load: the highest load that keeps the thresholds, the scalability
//! law of the target, and the first resource to bend.
//!
//! A *trial* is one run at one *load*; a *level* is all trials of one load. [`search`] chooses
//! the next load; everything here is a function of trials and their run directories, so that a search can be
//! judged again years later. `docs/capacity.md` is the reference for people.

mod bend;
mod conclude;
mod conclusion;
mod crossing;
mod down;
mod findings;
mod independent;
mod level;
pub mod search;
mod sustained;
mod threshold;
mod trial;

use serde::{Deserialize, Serialize};

pub use bend::{Bend, Sign};
pub use conclude::conclude;
pub(crate) use conclude::{CONFIDENCE, figures};
pub use conclusion::{Conclusion, Law, LevelFigures};
pub use crossing::{crossing, is_unclear};
pub use down::{is_silent, while_up};
pub use level::{Level, Verdict};
pub use threshold::TrialThreshold;
pub use trial::{Outcome, Trial, TrialFigures, judge_trial};

/// The length of a run that confirms a load, by that of the others.
pub const LONGER_TIMES: u64 = 4;

/// Digits of a load that is tried, at least …
const DIGITS: i32 = 3;
/// … and as many as it takes for steps of the last digit to be this share of the precision of the knee.
const STEP_OF_PRECISION: f64 = 0.2;
/// Digits of the load at which a limit is reached.
const DIGITS_OF_CROSSING: i32 = 4;

/// The meaning of a load: the users that come and go in a second, or those that are present.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Aim {
    /// Users come, finish and leave. A load under which they come faster than they leave is not sustained.
    #[default]
    Finished,
    /// Users stay, so their number grows for as long as they come. A load under which they do not stay does not hold.
    Present,
}

/// How a search goes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bounds {
    /// The first load.
    pub from: f64,
    /// The highest; infinite where there is none.
    #[serde(with = "infinite")]
    pub at_most: f64,
    /// Factor from a load that holds to the next; above 1.
    pub growth: f64,
    /// The knee is found where what does not hold is at most by this share above what holds.
    pub within: f64,
    /// Trials at the knee; most of them decide.
    pub repeat: usize,
    /// Trials in all.
    pub steps: usize,
    /// Only whole loads.
    pub is_whole: bool,
    /// A run can be made to last longer.
    #[serde(default)]
    pub can_be_longer: bool,
}

impl Bounds {
    /// A load as it is tried.
    pub fn rounded(&self, load: f64) -> f64 {
        if self.is_whole && load > 0.0 && load.is_finite() {
            return load.round().max(1.0);
        }
        let step = STEP_OF_PRECISION * self.within;
        let digits = 1 + (-step.log10()).ceil().clamp(0.0, f64::from(f64::DIGITS)) as i32;
        to_digits(load, digits.max(DIGITS))
    }
}

/// A number with this many significant digits.
fn to_digits(number: f64, digits: i32) -> f64 {
    if number <= 0.0 || !number.is_finite() {
        return number;
    }
    // Through text, so that it is the number that is shown and set.
    let decimals = digits - 1 - number.log10().floor() as i32;
    let unit = 10f64.powi(decimals.abs());
    let text = match decimals >= 0 {
        true => format!("{number:.*}", decimals as usize),
        false => format!("{:.0}", (number / unit).round() * unit),
    };
    text.parse().unwrap_or(number)
}

/// How a search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ts_rs::TS)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// Between a load that holds and one that does not, near enough.
    Found,
    /// The highest load that was requested holds.
    AllHold,
    /// Not even the lowest load holds.
    NoneHolds,
    /// No load holds, and lower ones fail alike.
    LoadIsNotTheCause,
    /// The loads that do not hold could not be trusted: the generator was the limit.
    Untrusted,
    /// The target answered nothing more, not even at a load that had held.
    Down,
    /// As many trials as were allowed.
    OutOfSteps,
    /// As long as was allowed.
    OutOfTime,
    /// Interrupted by the user.
    Interrupted,
}

impl Ending {
    /// Whether the search determined the capacity, or a lower bound of it.
    pub fn is_success(self) -> bool {
        matches!(self, Ending::Found | Ending::AllHold)
    }
}

/// JSON knows no infinity: `null` stands for it.
mod infinite {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(value: &f64, to: S) -> Result<S::Ok, S::Error> {
        value.is_finite().then_some(*value).serialize(to)
    }

    pub(super) fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<f64, D::Error> {
        Ok(Option::deserialize(from)?.unwrap_or(f64::INFINITY))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_have_as_many_digits_as_the_precision_takes_or_are_whole() {
        let mut bounds = Bounds {
            from: 1.0,
            at_most: 1.0,
            growth: 2.0,
            within: 0.05,
            repeat: 3,
            steps: 9,
            is_whole: false,
            can_be_longer: false,
        };
        for (within, load, rounded) in [
            (0.05, 115.735_787_234_863_6, 116.0),
            (0.05, 3.126, 3.13),
            (0.05, 0.000_123_456, 0.000_123),
            (0.05, 1_234_567.0, 1_230_000.0),
            (0.05, 99.999, 100.0),
            (0.5, 123.456, 123.0),
            (0.01, 123.456, 123.5),
            (0.001, 123.456, 123.46),
        ] {
            bounds.within = within;
            assert_eq!(bounds.rounded(load), rounded);
        }
        assert_eq!(bounds.rounded(0.0), 0.0);
        bounds.is_whole = true;
        assert_eq!(bounds.rounded(1_234_567.4), 1_234_567.0);
        assert_eq!(bounds.rounded(0.2), 1.0);
    }
}
