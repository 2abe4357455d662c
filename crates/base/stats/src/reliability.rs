//! Times between failures and to repair, and what share of the time a thing is up, with intervals.
//!
//! Times up and down are taken for exponential: Epstein and Sobel, "Life testing" (1953), for
//! observation up to the last event; Epstein, "Estimation from life test data" (1960), for
//! observation that ends at a given time. Each event weighs a χ² of two degrees of freedom.

use crate::tail::{chi_squared_quantile, fisher_quantile};

/// A value with its interval of the requested confidence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The estimate; `None` where nothing happened that it could be taken from.
    pub value: Option<f64>,
    /// Lower bound.
    pub low: f64,
    /// Upper bound; may be infinite.
    pub high: f64,
}

/// The mean time to an event, of `events` seen in a time under observation that ended by the clock.
///
/// Without any event there is no estimate, and the interval is one-sided: with this confidence the
/// mean is not below −T/ln(1 − confidence).
///
/// # Panics
/// If `confidence` does not lie strictly between 0 and 1, or `time` is negative or not finite.
pub fn mean_time(time: f64, events: u64, confidence: f64) -> Estimate {
    check(time, confidence);
    let tail = (1.0 - confidence) / 2.0;
    if events == 0 {
        return Estimate { value: None, low: -time / (1.0 - confidence).ln(), high: f64::INFINITY };
    }
    Estimate {
        value: Some(time / events as f64),
        // The event that was still to come counts as seen: this errs to the side of caution.
        low: 2.0 * time / chi_squared(events + 1, 1.0 - tail),
        high: 2.0 * time / chi_squared(events, tail),
    }
}

/// The mean length of things of which `ended` came to their end; `time` is of all, those that had not
/// ended included. `None` where none ended.
///
/// # Panics
/// If `confidence` does not lie strictly between 0 and 1, or `time` is negative or not finite.
pub fn mean_length(time: f64, ended: u64, confidence: f64) -> Option<Estimate> {
    check(time, confidence);
    let tail = (1.0 - confidence) / 2.0;
    (ended > 0).then(|| Estimate {
        value: Some(time / ended as f64),
        low: 2.0 * time / chi_squared(ended, 1.0 - tail),
        high: 2.0 * time / chi_squared(ended, tail),
    })
}

/// The share of time up in the long run, MTBF/(MTBF + MTTR), of times up and down with these
/// failures and repairs. `None` where there was no failure or no repair.
///
/// The ratio of two exponential means is that of their estimates times an F-distributed number;
/// Trivedi, "Probability and Statistics with Reliability, Queuing and Computer Science Applications"
/// (2001), chapter 10.
///
/// # Panics
/// As [`mean_time`].
pub fn availability(
    up: f64,
    down: f64,
    failures: u64,
    repairs: u64,
    confidence: f64,
) -> Option<Estimate> {
    check(up, confidence);
    check(down, confidence);
    if failures == 0 || repairs == 0 || down <= 0.0 {
        return None;
    }
    let tail = (1.0 - confidence) / 2.0;
    let failures = failures as f64;
    let repairs = repairs as f64;
    let share = |ratio: f64| ratio / (1.0 + ratio);
    // Mean time up over mean time down.
    let ratio = (up / failures) / (down / repairs);
    let low = up / (failures + 1.0) / (down / repairs) * f_quantile(repairs, failures + 1.0, tail);
    let high = ratio * f_quantile(repairs, failures, 1.0 - tail);
    Some(Estimate { value: Some(share(ratio)), low: share(low), high: share(high) })
}

/// The nines of a share: 3 of 99.9 %, 2.7 of 99.8 %; infinite for all.
pub fn nines(share: f64) -> f64 {
    -(1.0 - share).log10()
}

/// The greatest share of something that was not seen once in `n` independent looks: with this
/// confidence it is not above 1 − (1 − confidence)^(1/n). Clopper and Pearson (1934), at 0.
pub fn unseen_share_max(n: u64, confidence: f64) -> f64 {
    check(0.0, confidence);
    // 1 − eˣ without loss for x near 0.
    -((1.0 - confidence).ln() / n.max(1) as f64).exp_m1()
}

fn check(time: f64, confidence: f64) {
    assert!(confidence > 0.0 && confidence < 1.0, "confidence {confidence} is not between 0 and 1");
    assert!(time.is_finite() && time >= 0.0, "{time} is no length of time");
}

/// Quantile of χ² with 2 · `events` degrees of freedom.
fn chi_squared(events: u64, p: f64) -> f64 {
    chi_squared_quantile(p, 2.0 * events as f64)
}

/// Quantile of F for means of `over` and `under` events.
fn f_quantile(over: f64, under: f64, p: f64) -> f64 {
    fisher_quantile(p, 2.0 * over, 2.0 * under)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::rng::{Purpose, Rng};

    #[track_caller]
    fn close(found: f64, expected: &Value, what: &str) {
        let Some(expected) = expected.as_f64() else {
            assert!(found.is_infinite(), "{what}: {found}, expected no bound");
            return;
        };
        assert!(
            (found - expected).abs() <= 1e-7 * expected.abs(),
            "{what}: {found}, expected {expected}"
        );
    }

    #[test]
    fn bounds_agree_with_scipy() {
        let golden: Value =
            serde_json::from_str(include_str!("../../../../testdata/golden/analyze.json")).unwrap();
        for case in golden["mean_time"].as_array().unwrap() {
            let events = case["events"].as_u64().unwrap();
            let confidence = case["confidence"].as_f64().unwrap();
            let found = mean_time(case["time"].as_f64().unwrap(), events, confidence);
            let what = case.to_string();
            close(found.low, &case["low"], &what);
            close(found.high, &case["high"], &what);
        }
        for case in golden["availability"].as_array().unwrap() {
            let number = |key: &str| case[key].as_f64().unwrap();
            let count = |key: &str| case[key].as_u64().unwrap();
            let found = availability(
                number("up"),
                number("down"),
                count("failures"),
                count("repairs"),
                number("confidence"),
            )
            .unwrap();
            let what = case.to_string();
            close(found.value.unwrap(), &case["value"], &what);
            close(found.low, &case["low"], &what);
            close(found.high, &case["high"], &what);
        }
    }

    #[test]
    fn no_events_give_a_bound_and_no_estimate() {
        let never = mean_time(100.0, 0, 0.95);
        assert_eq!((never.value, never.high), (None, f64::INFINITY));
        // The rule of three: 100/3.
        assert!((never.low - 33.4).abs() < 0.1, "{}", never.low);
        assert!((unseen_share_max(100, 0.95) - 0.0295).abs() < 1e-4);
        assert_eq!(mean_length(5.0, 0, 0.95), None);
        assert_eq!(availability(100.0, 0.0, 0, 0, 0.95), None);
        assert_eq!(availability(100.0, 5.0, 1, 0, 0.95), None);
        assert_eq!(mean_time(0.0, 0, 0.95).low, 0.0);
    }

    #[test]
    fn nines_are_counted() {
        assert!((nines(0.999) - 3.0).abs() < 1e-12);
        assert!((nines(0.9) - 1.0).abs() < 1e-12);
        assert_eq!(nines(1.0), f64::INFINITY);
    }

    /// A thing that is up for 10 and down for 1 in the mean, watched for 100.
    fn watched(seed: u64) -> (f64, f64, u64, u64) {
        let mut rng = Rng::new(seed, 0, Purpose::Think);
        let mut draw = move |mean: f64| -mean * (1.0 - rng.unit()).ln();
        let mut at = 0.0;
        let mut up = 0.0;
        let mut down = 0.0;
        let mut failures = 0;
        let mut repairs = 0;
        loop {
            let time = draw(10.0_f64).min(100.0 - at);
            (at, up) = (at + time, up + time);
            if at >= 100.0 {
                return (up, down, failures, repairs);
            }
            failures += 1;
            let time = draw(1.0).min(100.0 - at);
            (at, down) = (at + time, down + time);
            if at >= 100.0 {
                return (up, down, failures, repairs);
            }
            repairs += 1;
        }
    }

    #[test]
    fn intervals_keep_their_coverage() {
        const TRIES: u64 = 1000;
        let truth = 10.0 / 11.0;
        let mut seen = (0, 0, 0);
        for seed in 0..TRIES {
            let (up, down, failures, repairs) = watched(seed);
            let mtbf = mean_time(up, failures, 0.95);
            seen.0 += u32::from(mtbf.low <= 10.0 && 10.0 <= mtbf.high);
            if let Some(all) = availability(up, down, failures, repairs, 0.95) {
                seen.1 += 1;
                seen.2 += u32::from(all.low <= truth && truth <= all.high);
            }
        }
        assert!(seen.0 >= 930, "{seen:?}");
        assert!(f64::from(seen.2) >= 0.93 * f64::from(seen.1), "{seen:?}");
    }
}
