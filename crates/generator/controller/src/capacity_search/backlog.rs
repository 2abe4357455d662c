//! The backlog of a run: requests that the target has not answered when the load is over. It may still work
//! on them, and then the next run meets a target that is busy.

use record::schema::Summary;

/// No target is waited for longer than this number of lengths of the run before.
const RUNS_MAX: u64 = 2;

/// The time that a target needs to work off the requests that it did not answer in a run of this length, at the rate at which it
/// answered. One that drops requests whose client is gone is idle sooner.
pub(super) fn backlog_ns(summary: &Summary, run_ns: u64) -> u64 {
    let requests = summary.measures.iter().filter(|m| m.kind == "request");
    let mut unanswered = 0;
    let mut answered_per_s = 0.0;
    for measure in requests {
        let Some(response) = &measure.response else {
            continue;
        };
        unanswered += response.unanswered;
        answered_per_s += measure.rate_per_s;
    }
    work_off_ns(unanswered, answered_per_s, run_ns)
}

fn work_off_ns(unanswered: u64, answered_per_s: f64, run_ns: u64) -> u64 {
    // The rate of a target that answered nothing is not known.
    if answered_per_s <= 0.0 {
        return 0;
    }
    let backlog_ns = unanswered as f64 / answered_per_s * 1e9;
    (backlog_ns as u64).min(RUNS_MAX.saturating_mul(run_ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    #[test]
    fn a_backlog_takes_as_long_as_the_target_needs_for_it() {
        // 270 requests a second for a minute at a target that does 200.
        assert_eq!(work_off_ns(4_200, 200.0, 60 * S), 21 * S);
        assert_eq!(work_off_ns(0, 200.0, 60 * S), 0);
        // Nearly nothing was answered, or nothing at all.
        assert_eq!(work_off_ns(4_200, 0.1, 60 * S), 120 * S);
        assert_eq!(work_off_ns(4_200, 0.0, 60 * S), 0);
    }
}
