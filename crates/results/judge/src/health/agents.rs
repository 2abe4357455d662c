//! Agents of a fleet that are not like the others: one sees errors that the others do not, or lags alone.

use record::schema::{Finding, Severity, WorkerInfo, WorkerTally};
use stats::counts::two_rows;
use stats::multiple::holm;

use crate::case::Case;
use crate::finding::finding;
use crate::limits::{
    AGENT_CLOCK_MOVED_NS_MAX, AGENTS_DIFFER_P_MAX, AGENTS_DIFFER_RATIO_MIN, AGENTS_LISTED_MAX,
};

/// Agents that are not like the others.
pub(crate) fn findings(case: &Case<'_>) -> Vec<Finding> {
    let figures = case.figures;
    let workers = &figures.info.workers;
    let mut findings: Vec<Finding> = clocks(workers).into_iter().collect();
    let names: Option<Vec<&str>> = workers.iter().map(|worker| worker.agent.as_deref()).collect();
    let Some(names) = names.filter(|names| names.len() > 1 && names.len() == figures.workers.len())
    else {
        return findings;
    };
    findings.extend(errors(&names, &figures.workers));
    findings.extend(lag(&names, &figures.workers, figures.info.generator.lag_max_ns));
    findings
}

/// Agents whose share of errors is not that of the others together: Pearson's test of homogeneity for each, corrected by
/// Holm's method for their number. Errors come in clusters, so that the share must differ much as well.
fn errors(names: &[&str], tallies: &[WorkerTally]) -> Vec<Finding> {
    let sum = |count: fn(&WorkerTally) -> u64| tallies.iter().map(count).sum::<u64>();
    let ended = sum(|t| t.ended);
    let errors = sum(|t| t.errors);
    let compared: Vec<f64> = tallies
        .iter()
        .map(|own| {
            let rest = [errors - own.errors, ended - own.ended - (errors - own.errors)];
            let own = [own.errors, own.ended - own.errors];
            two_rows(&own, &rest).map_or(1.0, |test| test.p)
        })
        .collect();
    let share = |errors: u64, ended: u64| errors as f64 / (ended.max(1)) as f64;
    let mut differing: Vec<(f64, Finding)> = Vec::new();
    for ((name, own), p) in names.iter().zip(tallies).zip(holm(&compared)) {
        let rest_errors = errors - own.errors;
        let rest_ended = ended - own.ended;
        let here = share(own.errors, own.ended);
        let there = share(rest_errors, rest_ended);
        let is_much =
            here >= AGENTS_DIFFER_RATIO_MIN * there || there >= AGENTS_DIFFER_RATIO_MIN * here;
        if p > AGENTS_DIFFER_P_MAX || !is_much {
            continue;
        }
        let text = format!(
            "agent {name} had {} of {} connections and operations fail ({}), the others {} of {} ({}): their ways to the \
             target, or the agents, differ (χ², {})",
            units::count(own.errors),
            units::count(own.ended),
            units::share(here),
            units::count(rest_errors),
            units::count(rest_ended),
            units::share(there),
            units::p_value(p),
        );
        let draft = finding(Severity::Warning, "agents-differ", text)
            .with("errors", own.errors as f64)
            .with("ended", own.ended as f64)
            .with("others_errors", rest_errors as f64)
            .with("others_ended", rest_ended as f64)
            .with("p", p);
        differing.push(((here - there).abs(), draft.done()));
    }
    differing.sort_by(|a, b| b.0.total_cmp(&a.0));
    let listed = differing.into_iter().take(AGENTS_LISTED_MAX);
    listed.map(|(_, finding)| finding).collect()
}

/// The agent that lags most, if it does above the run's limit and another one does not.
fn lag(names: &[&str], tallies: &[WorkerTally], limit_ns: u64) -> Option<Finding> {
    let (at, worst) = tallies.iter().enumerate().max_by_key(|(_, tally)| tally.lag_p99_ns)?;
    let late = tallies.iter().filter(|tally| tally.lag_p99_ns > limit_ns).count();
    if late == 0 || late == tallies.len() {
        return None;
    }
    let best = tallies.iter().map(|tally| tally.lag_p99_ns).min()?;
    let text = format!(
        "{} of {} lagged by more than {}: most of all agent {}, whose p99 lag was {} and whose busiest loop was busy for \
         {} % of a second; the least late agent had {}",
        late,
        units::counted(tallies.len() as u64, "agent"),
        units::duration(limit_ns as f64),
        names[at],
        units::duration(worst.lag_p99_ns as f64),
        worst.busy_max_percent,
        units::duration(best as f64),
    );
    let draft = finding(Severity::Warning, "agents-lag", text)
        .with("agents", late as f64)
        .with("lag_p99_ns", worst.lag_p99_ns as f64)
        .with("busy_max", f64::from(worst.busy_max_percent) / 100.0);
    Some(draft.done())
}

/// The agent whose clock may have moved most since the start, if that is much.
fn clocks(workers: &[WorkerInfo]) -> Option<Finding> {
    let moved = workers.iter().filter_map(|worker| {
        let last = worker.clock_last?;
        let moved_ns = last.offset_ns.abs_diff(worker.clock_offset_ns);
        let bound_ns = last.bound_ns.saturating_add(worker.clock_bound_ns);
        Some((moved_ns.saturating_add(bound_ns), moved_ns, worker, last))
    });
    let (may_be_ns, moved_ns, worker, last) = moved.max_by_key(|(may_be_ns, ..)| *may_be_ns)?;
    if may_be_ns <= AGENT_CLOCK_MOVED_NS_MAX {
        return None;
    }
    let text = format!(
        "the clock of agent {} moved by {} ± {} since the start ({} a second): at the end, its seconds and rows are off by \
         as much",
        worker.agent.as_deref().unwrap_or_default(),
        units::duration(moved_ns as f64),
        units::duration(may_be_ns.saturating_sub(moved_ns) as f64),
        units::duration(last.drift_ns_per_s.unsigned_abs() as f64),
    );
    let draft = finding(Severity::Warning, "agent-clock", text)
        .with("moved_ns", moved_ns as f64)
        .with("bound_ns", may_be_ns.saturating_sub(moved_ns) as f64)
        .with("drift_ns_per_s", last.drift_ns_per_s as f64);
    Some(draft.done())
}

#[cfg(test)]
mod tests {
    use record::schema::WorkerClock;

    use super::*;

    fn tally(ended: u64, errors: u64, lag_p99_ns: u64) -> WorkerTally {
        WorkerTally { ended, errors, lag_p99_ns, busy_max_percent: 97 }
    }

    #[test]
    fn a_clock_that_moved_is_named() {
        let worker = |name: &str, offset_ns, bound_ns| WorkerInfo {
            agent: Some(name.to_owned()),
            clock_offset_ns: 1_000_000_000,
            clock_bound_ns: 200_000,
            clock_last: Some(WorkerClock { offset_ns, bound_ns, drift_ns_per_s: 20_000 }),
            ..WorkerInfo::default()
        };
        let still = worker("a1", 1_000_000_500, 300_000);
        assert_eq!(clocks(&[still.clone(), WorkerInfo::default()]), None);
        let found = clocks(&[still, worker("a2", 988_000_000, 300_000)]).unwrap();
        let start =
            "the clock of agent a2 moved by 12.0 ms ± 500 µs since the start (20.0 µs a second)";
        assert!(found.text.starts_with(start), "{}", found.text);
    }

    #[test]
    fn one_agent_with_errors_is_named_and_chance_is_not() {
        let names = ["a1", "a2", "a3"];
        let even = [tally(1_000, 10, 0), tally(1_000, 14, 0), tally(1_000, 7, 0)];
        assert_eq!(errors(&names, &even), []);
        assert_eq!(errors(&names, &[tally(0, 0, 0); 3]), []);
        let one = [tally(1_000, 0, 0), tally(1_000, 60, 0), tally(1_000, 0, 0)];
        let found = errors(&names, &one);
        let text = &found[0].text;
        assert!(text.starts_with("agent a2 had 60 of 1,000"), "{text}");
        assert_eq!(found[0].evidence["others_errors"], 0.0);
    }

    #[test]
    fn the_agent_that_lags_is_named_if_not_all_do() {
        let names = ["a1", "a2"];
        let ms = 1_000_000;
        assert_eq!(lag(&names, &[tally(9, 0, ms), tally(9, 0, ms)], 5 * ms), None);
        assert_eq!(lag(&names, &[tally(9, 0, 9 * ms), tally(9, 0, 8 * ms)], 5 * ms), None);
        let found = lag(&names, &[tally(9, 0, ms), tally(9, 0, 300 * ms)], 5 * ms).unwrap();
        assert!(found.text.contains("most of all agent a2"), "{}", found.text);
        assert!(found.text.contains("97 %"), "{}", found.text);
    }
}
