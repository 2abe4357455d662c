//! Steps whose answers are of two groups: most are fast and some are slow, or the other way round, with hardly any between.

use record::schema::{Finding, Severity};
use stats::hist::LogHistogram;
use stats::modes::{Rules, modes};
use stats::sample::{Edge, Sample};

use crate::case::Case;
use crate::figures::Figures;
use crate::finding::finding;
use crate::limits::{GROUPS_ANSWERS_MIN, GROUPS_SHARE_MIN, GROUPS_STEPS_MAX, GROUPS_TIMES_MIN};

/// How far the valley between two groups lies below the lower of them, as a share of its height.
const DEPTH_MIN: f64 = 0.5;
/// Answers that resemble those before them are worth fewer: an eighth.
const EFFECTIVE_SHARE: f64 = 0.125;
/// A measure whose answers are of one group, but for the rest of this share, belongs to it.
const OF_ONE_SHARE_MIN: f64 = 0.8;

/// Two groups of answers.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Groups {
    /// The greatest time of the faster group, in nanoseconds.
    valley_ns: u64,
    fast_share: f64,
    fast_p50_ns: u64,
    slow_p50_ns: u64,
}

/// A note for each step whose answers are of two groups, unless incidents, stalls or growth explain them. A target that
/// fell behind has answers of all times, since each waits longer than the one before.
pub(crate) fn findings(case: &Case<'_>) -> Vec<Finding> {
    let figures = case.figures;
    if case.overload.saturation.is_some() {
        return Vec::new();
    }
    let mut steps: Vec<(String, Vec<usize>)> = Vec::new();
    for measure in figures.requests() {
        let info = &figures.info.measures[measure];
        let name = info.shared_name.as_ref().unwrap_or(&info.name);
        match steps.iter_mut().find(|(known, _)| known == name) {
            Some((_, measures)) => measures.push(measure),
            None => steps.push((name.clone(), vec![measure])),
        }
    }
    let known = steps.into_iter().filter(|(name, _)| !case.broken.explains_response(name));
    let mut known: Vec<(String, Vec<usize>, LogHistogram)> = known
        .map(|(name, measures)| {
            // Without the generator's lag.
            let times = figures.merged(None, &measures).service;
            (name, measures, times)
        })
        .filter(|(_, _, times)| times.count() >= GROUPS_ANSWERS_MIN)
        .collect();
    known.sort_by_key(|(_, _, times)| std::cmp::Reverse(times.count()));
    let first = known.into_iter().take(GROUPS_STEPS_MAX);
    first
        .filter_map(|(name, measures, times)| {
            let groups = groups(&times)?;
            let is_load = is_of_phases(figures, &measures, &groups);
            (!is_load).then(|| described(figures, &name, &measures, &groups))
        })
        .collect()
}

/// The two groups of these times that are furthest apart; `None`: they are one.
fn groups(times: &LogHistogram) -> Option<Groups> {
    // A time of 0 has no logarithm.
    let sample = Sample::of_histogram(times, Edge::Highest).ok()?;
    let rules = Rules {
        share_min: GROUPS_SHARE_MIN,
        depth_min: DEPTH_MIN,
        effective: Some(EFFECTIVE_SHARE * times.count() as f64),
        ..Rules::default()
    };
    let found = modes(&sample, &rules).ok()?;
    let apart = |pair: &[stats::modes::Mode]| pair[1].at / pair[0].at;
    let pairs = found.windows(2).filter(|pair| apart(pair) >= GROUPS_TIMES_MIN);
    let widest = pairs.max_by(|a, b| apart(a).total_cmp(&apart(b)))?;
    let valley_ns = widest[0].to as u64;
    let fast_share = times.count_at_most(valley_ns) as f64 / times.count() as f64;
    let groups = Groups {
        valley_ns,
        fast_share,
        fast_p50_ns: times.quantile(fast_share / 2.0),
        slow_p50_ns: times.quantile(f64::midpoint(fast_share, 1.0)),
    };
    groups.are_both_in(times).then_some(groups)
}

impl Groups {
    /// Whether each group has its share of these answers.
    fn are_both_in(&self, times: &LogHistogram) -> bool {
        let share = times.count_at_most(self.valley_ns) as f64 / times.count().max(1) as f64;
        (GROUPS_SHARE_MIN..=1.0 - GROUPS_SHARE_MIN).contains(&share)
    }
}

/// True if each phase has answers of one group alone: then it is the load that makes them slow or fast.
fn is_of_phases(figures: &Figures, measures: &[usize], groups: &Groups) -> bool {
    let has_both = |phase: usize| {
        let times = figures.merged(Some(phase), measures).service;
        groups.are_both_in(&times)
    };
    !(0..figures.info.phases.len().max(1)).any(has_both)
}

fn described(figures: &Figures, name: &str, measures: &[usize], groups: &Groups) -> Finding {
    let mut text = format!(
        "{name}: answers are of two groups, {} of about {} and {} of about {}",
        units::percent(groups.fast_share),
        units::duration(groups.fast_p50_ns as f64),
        units::percent(1.0 - groups.fast_share),
        units::duration(groups.slow_p50_ns as f64)
    );
    if let Some(slow) = divided(figures, measures, groups) {
        text += &format!(": the slow ones are {}", slow.join(", "));
    }
    finding(Severity::Note, "two-groups", text)
        .with("fast_share", groups.fast_share)
        .with("fast_p50_ns", groups.fast_p50_ns as f64)
        .with("slow_p50_ns", groups.slow_p50_ns as f64)
        .done()
}

/// The tags of the slow group, where they divide the step; `None`: they do not.
fn divided(figures: &Figures, measures: &[usize], groups: &Groups) -> Option<Vec<String>> {
    let mut slow = Vec::new();
    let mut fast = 0;
    for &measure in measures {
        let times = figures.cell(None, measure).service;
        if times.is_empty() {
            continue;
        }
        let share = times.count_at_most(groups.valley_ns) as f64 / times.count() as f64;
        let tags = &figures.info.measures[measure].tags;
        if share <= 1.0 - OF_ONE_SHARE_MIN {
            let tags: Vec<String> =
                tags.iter().map(|(key, value)| format!("{key}={value}")).collect();
            slow.push(tags.join(" "));
        } else if share >= OF_ONE_SHARE_MIN {
            fast += 1;
        } else {
            return None;
        }
    }
    (fast > 0 && !slow.is_empty()).then_some(slow)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{self, MS, REQUEST, judged, rendered, succeed};
    use expect_test::expect;

    /// Around these times, by a fifth, a hundred each.
    fn around(figures: &mut Figures, phase: usize, time_ms: u64) {
        for n in 0..100 {
            succeed(figures, phase, REQUEST, 40, time_ms * MS * (90 + n / 5) / 100, 0);
        }
    }

    #[test]
    fn answers_of_two_groups_are_named_with_both() {
        let mut figures = sample::figures();
        *figures.cell_mut(0, REQUEST).unwrap() = crate::Cell::default();
        around(&mut figures, 0, 20);
        assert!(judged(&figures).findings.iter().all(|found| found.code != "two-groups"));
        around(&mut figures, 0, 400);
        let found = judged(&figures).findings;
        let found: Vec<Finding> = found.into_iter().filter(|f| f.code == "two-groups").collect();
        expect![[r#"
            Note two-groups
                request: answers are of two groups, 50 % of about 19.8 ms and 50 % of about 396
                ms
        "#]]
        .assert_eq(&rendered(&found));
    }

    #[test]
    fn phases_that_are_slow_or_fast_as_a_whole_are_no_groups() {
        let mut info = sample::info();
        info.phases = vec![
            sample::phase("low", "rate", 0, 30, 9.0),
            sample::phase("high", "rate", 30, 60, 9.0),
        ];
        let mut figures = Figures::new(info, (0..60).map(sample::row).collect(), Vec::new());
        around(&mut figures, 0, 20);
        around(&mut figures, 1, 400);
        let has_groups =
            |figures: &Figures| judged(figures).findings.iter().any(|f| f.code == "two-groups");
        assert!(!has_groups(&figures));
        around(&mut figures, 1, 20);
        assert!(has_groups(&figures));
    }
}
