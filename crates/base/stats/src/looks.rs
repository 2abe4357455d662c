//! When to look at an interval while it is measured, so that it may end the measurement as soon as it is narrow enough.
//!
//! An interval that holds the truth with 95 % at a time that was fixed before does so less often at a time that follows
//! from the interval itself: whoever looks again and again stops where it happens to be narrow. Here the times of all looks
//! are fixed before, and each interval has such a confidence that all of them together hold the truth with the one that is
//! asked for: 1 − (1 − confidence) / looks, by Boole's inequality (Dunn, "Multiple comparisons among means", Journal of the
//! American Statistical Association 56, 1961). So whatever rule chooses among the looks, the interval that it chooses holds
//! the truth at least as often. These are the repeated confidence intervals of Jennison and Turnbull ("Interim analyses: the
//! repeated confidence interval approach", Journal of the Royal Statistical Society B 51, 1989). A rule that stops at the
//! first narrow interval of plain confidence (Chow and Robbins, "On the asymptotic theory of fixed-width sequential
//! confidence intervals for the mean", Annals of Mathematical Statistics 36, 1965) keeps its confidence in the limit of
//! narrow intervals only.
//!
//! Looks are rare, since each costs confidence, and none of them assumes anything of how they depend on each other: the
//! time of each is 1.5 times that of the one before. A measurement that could have ended lasts for a quarter longer on
//! average until the next look.

/// Time before the first look: in a shorter one, dependence over some seconds is not seen.
pub const FIRST_NS: u64 = 30_000_000_000;
/// The times of looks grow by this factor.
const GROWTH: f64 = 1.5;
/// Times are whole seconds.
const SECOND_NS: u64 = 1_000_000_000;

/// The times of all looks, and the confidence of the interval at each.
#[derive(Debug, Clone, PartialEq)]
pub struct Looks {
    times_ns: Vec<u64>,
    confidence: f64,
}

impl Looks {
    /// The looks at a measurement from a time to another, at the latest. The last is at the end; if there is no time for an
    /// earlier one it is the only one. All intervals together have this confidence.
    ///
    /// # Panics
    /// If the confidence does not lie strictly between 0 and 1.
    pub fn new(start_ns: u64, end_ns: u64, confidence: f64) -> Looks {
        assert!(
            confidence > 0.0 && confidence < 1.0,
            "confidence {confidence} is not between 0 and 1"
        );
        let length_ns = end_ns.saturating_sub(start_ns);
        let growing = std::iter::successors(Some(FIRST_NS as f64), |after| Some(after * GROWTH));
        // A float beyond all times becomes the last of them, which ends the list.
        let growing =
            growing.map(|after_ns| (after_ns as u64).div_ceil(SECOND_NS).saturating_mul(SECOND_NS));
        let before_end = growing.take_while(|&after_ns| after_ns < length_ns);
        let times_ns: Vec<u64> =
            before_end.map(|after_ns| start_ns + after_ns).chain([end_ns]).collect();
        let confidence = 1.0 - (1.0 - confidence) / times_ns.len() as f64;
        Looks { times_ns, confidence }
    }

    /// When to look.
    pub fn times_ns(&self) -> &[u64] {
        &self.times_ns
    }

    /// The confidence of the interval at each look.
    pub fn confidence(&self) -> f64 {
        self.confidence
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(looks: &Looks) -> Vec<u64> {
        looks.times_ns().iter().map(|ns| ns / SECOND_NS).collect()
    }

    #[test]
    fn looks_are_at_growing_times_and_at_the_end() {
        let half_an_hour = Looks::new(0, 1800 * SECOND_NS, 0.95);
        assert_eq!(
            seconds(&half_an_hour),
            [30, 45, 68, 102, 152, 228, 342, 513, 769, 1154, 1730, 1800]
        );
        assert!((half_an_hour.confidence() - (1.0 - 0.05 / 12.0)).abs() < 1e-12);
        let of_a_phase = Looks::new(100 * SECOND_NS, 160 * SECOND_NS, 0.9);
        assert_eq!(seconds(&of_a_phase), [130, 145, 160]);
        let short = Looks::new(0, 20 * SECOND_NS, 0.95);
        assert_eq!((seconds(&short), short.confidence()), (vec![20], 0.95));
        assert_eq!(seconds(&Looks::new(0, 30 * SECOND_NS, 0.95)), [30]);
        // As long as times can be: 30 s × 1.5ⁿ ≤ 2⁶⁴ ns for n up to 49.
        let longest = Looks::new(0, u64::MAX, 0.95);
        let times_ns = longest.times_ns();
        assert!(times_ns.is_sorted() && times_ns.last() == Some(&u64::MAX), "{times_ns:?}");
        assert_eq!(times_ns.len(), 51);
    }
}
