use plan::{Comparison, Figure, MeasureId};
use record::schema::Verdict;

use super::*;
use crate::sample::{self, MS, REQUEST};

const CODE: &str = "threshold-by-lag";

/// 60,000 requests of 10 ms. Of them `late` began 480 ms late, and `slow` took 480 ms.
fn figures(late: u64, slow: u64) -> Figures {
    let mut figures = sample::figures();
    figures.cell_mut(0, REQUEST).map(std::mem::take);
    let all = 60_000 - late - slow;
    sample::succeed(&mut figures, 0, REQUEST, all, 10 * MS, 0);
    sample::succeed(&mut figures, 0, REQUEST, late, 490 * MS, 480 * MS);
    sample::succeed(&mut figures, 0, REQUEST, slow, 480 * MS, 0);
    figures
}

fn threshold(stat: Stat, limit: f64) -> Threshold {
    Threshold {
        text: "it < limit".to_owned(),
        figure: Figure::Measure {
            stat,
            measure: Some(MeasureId(REQUEST as u16)),
            basis: Basis::Response,
            phase: None,
        },
        comparison: Comparison::Less,
        limit,
    }
}

fn verdict(figures: &Figures, threshold: Threshold) -> (Verdict, String) {
    let summary = crate::judge_figures(figures, &[threshold], false);
    (summary.verdict, summary.findings[0].code.clone())
}

#[test]
fn lag_is_judged_at_the_percentile_of_the_threshold() {
    // 0.5 s without the generator in 60 s: 500 of 60,000 are late, fewer than 1 %.
    let stopped = figures(500, 0);
    for (stat, expected) in [
        (Stat::Quantile(0.99), (Verdict::Passed, "generator-healthy")),
        (Stat::Quantile(0.999), (Verdict::Untrusted, CODE)),
        (Stat::Max, (Verdict::Untrusted, CODE)),
    ] {
        let (found, first) = verdict(&stopped, threshold(stat, 100e6));
        assert_eq!((found, first.as_str()), expected, "{stat:?}");
    }
    // A threshold that holds in spite of lag is not decided by it.
    let (found, _) = verdict(&stopped, threshold(Stat::Quantile(0.999), 600e6));
    assert_eq!(found, Verdict::Passed);
}

#[test]
fn lag_decides_over_all_requests_as_well() {
    let mut all = threshold(Stat::Quantile(0.999), 100e6);
    if let Figure::Measure { measure, .. } = &mut all.figure {
        *measure = None;
    }
    let (found, first) = verdict(&figures(500, 0), all.clone());
    assert_eq!((found, first.as_str()), (Verdict::Untrusted, CODE));
    let (found, _) = verdict(&figures(0, 500), all);
    assert_eq!(found, Verdict::Failed);
}

/// 60,000 requests of 300 ms. The generator stopped for half a second: 300 that were due then began late, and the
/// answers of 300 that were in flight were read late. `slow` took 800 ms.
fn in_flight(slow: u64) -> Figures {
    let mut figures = sample::figures();
    figures.cell_mut(0, REQUEST).map(std::mem::take);
    let all = 60_000 - 600 - slow;
    sample::succeed(&mut figures, 0, REQUEST, all, 300 * MS, 0);
    sample::succeed(&mut figures, 0, REQUEST, slow, 800 * MS, 0);
    sample::succeed(&mut figures, 0, REQUEST, 300, 780 * MS, 480 * MS);
    sample::succeed(&mut figures, 0, REQUEST, 300, 780 * MS, 0);
    let cell = figures.cell_mut(0, REQUEST).unwrap();
    cell.late.record_n(480 * MS, 300);
    figures
}

#[test]
fn answers_that_were_read_late_are_the_generators_doing() {
    let on = |basis, stat, limit| {
        let mut threshold = threshold(stat, limit);
        if let Figure::Measure { basis: of, .. } = &mut threshold.figure {
            *of = basis;
        }
        threshold
    };
    let p999 = Stat::Quantile(0.999);
    for basis in [Basis::Response, Basis::Succeeded, Basis::Service] {
        for stat in [p999, Stat::Max] {
            let (found, first) = verdict(&in_flight(0), on(basis, stat, 500e6));
            assert_eq!((found, first.as_str()), (Verdict::Untrusted, CODE));
        }
        // The mean of a fifth of a second in 300 is within 5 %.
        let (found, _) = verdict(&in_flight(0), on(basis, Stat::Mean, 302e6));
        assert_eq!(found, Verdict::Failed);
        // Slower than the limit without any of it.
        let (found, _) = verdict(&in_flight(0), on(basis, p999, 250e6));
        assert_eq!(found, Verdict::Failed);
    }
    // All that began late shows in responses alone: a service time has no lag.
    let (found, _) = verdict(&figures(500, 0), on(Basis::Service, p999, 5e6));
    assert_eq!(found, Verdict::Failed);
    // Most of the slowest hundredth were slow, and the rest was read late.
    let slow = on(Basis::Service, Stat::Quantile(0.99), 310e6);
    let (found, _) = verdict(&in_flight(1000), slow);
    assert_eq!(found, Verdict::Failed);
}

/// Messages that came in half a second in which their loop did not run.
#[test]
fn messages_that_were_read_late_are_not_blamed_on_their_sender() {
    let names = ["said", "said.ahead"].map(str::to_owned);
    let mut figures = sample::with_messages(&names);
    sample::succeed(&mut figures, 0, sample::UPDATE, 59_500, 10 * MS, 0);
    sample::succeed(&mut figures, 0, sample::UPDATE, 500, 490 * MS, 480 * MS);
    let mut threshold = threshold(Stat::Quantile(0.999), 100e6);
    if let Figure::Measure { measure, .. } = &mut threshold.figure {
        *measure = Some(MeasureId(sample::UPDATE as u16));
    }
    let (found, first) = verdict(&figures, threshold);
    assert_eq!((found, first.as_str()), (Verdict::Untrusted, CODE));
}

#[test]
fn a_slow_target_fails_on_its_own_account() {
    let slow = figures(0, 500);
    let (found, _) = verdict(&slow, threshold(Stat::Quantile(0.999), 100e6));
    assert_eq!(found, Verdict::Failed);
    // Lag that would not have changed the result decides nothing.
    let both = figures(500, 0);
    let (found, _) = verdict(&both, threshold(Stat::Quantile(0.999), 5e6));
    assert_eq!(found, Verdict::Failed);
}
