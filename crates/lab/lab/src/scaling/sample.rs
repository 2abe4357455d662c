//! An alarm for tests.

use super::{Action, Alarm, Metric, MissingPolicy, Statistic};

const SECOND: u64 = 1_000_000_000;

/// CPU above 70 % for two periods of 60 s, known 120 s later: one instance more, then 300 s of rest.
pub(crate) fn alarm() -> Alarm {
    Alarm {
        metric: Metric::Cpu,
        statistic: Statistic::Mean,
        is_above: true,
        limit: 0.7,
        period_ns: 60 * SECOND,
        periods: 2,
        missing: MissingPolicy::Ignore,
        delay_ns: 120 * SECOND,
        action: Action::Add(1),
        cool_down_ns: 300 * SECOND,
    }
}
