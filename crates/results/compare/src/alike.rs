//! Whether runs may be compared: what was run must be the same, and where it ran should be.

use std::collections::BTreeSet;

use record::schema::{PhaseInfo, RunInfo, RunStatus};

use super::Options;

/// Names listed in one difference.
const NAMES_MAX: usize = 5;

/// How a run differs from the first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unlike {
    /// A clause for people.
    pub(crate) text: String,
    /// True where the two are not runs of one thing, and differences of their figures say nothing.
    pub(crate) grave: bool,
}

/// The differences between the first of these runs and any other: those of scenario, phases and
/// measures are grave, those of texts, settings and machine are not.
pub(crate) fn unlike(runs: &[&RunInfo], options: &Options) -> Vec<Unlike> {
    let Some((first, others)) = runs.split_first() else {
        return Vec::new();
    };
    let mut found: Vec<Unlike> = Vec::new();
    for other in others {
        for unlike in pair(first, other, options) {
            // One sentence says it; ten runs need not say the same.
            if !found.contains(&unlike) {
                found.push(unlike);
            }
        }
    }
    found
}

fn pair(a: &RunInfo, b: &RunInfo, options: &Options) -> Vec<Unlike> {
    let mut found = Vec::new();
    let mut report = |grave, text: String| found.push(Unlike { text, grave });
    if a.name != b.name {
        report(true, format!("the scenarios are {:?} and {:?}", a.name, b.name));
    } else if a.scenario_hash != b.scenario_hash {
        // Its target may be all that was changed, which is what people compare.
        report(false, format!("the text of scenario {:?} differs", a.name));
    }
    if let Some(text) = measures(a, b) {
        report(true, text);
    }
    if let Some(text) = phases(a, b, options) {
        report(true, text);
    }
    let overrides = |info: &RunInfo| {
        let kept = info.overrides.iter();
        let kept = kept.filter(|set| !set.starts_with("seed="));
        kept.cloned().collect::<BTreeSet<String>>()
    };
    if overrides(a) != overrides(b) {
        let shown = |info: &RunInfo| {
            let all: Vec<String> = overrides(info).into_iter().collect();
            if all.is_empty() { "nothing".to_owned() } else { all.join(", ") }
        };
        report(false, format!("--set was {} and {}", shown(a), shown(b)));
    }
    if a.throng != b.throng {
        report(false, format!("they were made with versions {} and {}", a.throng, b.throng));
    }
    let ga = &a.generator;
    let gb = &b.generator;
    if (&ga.mode, ga.loops) != (&gb.mode, gb.loops) {
        let shown = |g: &record::schema::GeneratorInfo| {
            format!("{} {}", g.mode, units::counted(u64::from(g.loops), "loop"))
        };
        report(false, format!("the generators had {} and {}", shown(ga), shown(gb)));
    }
    let facts: BTreeSet<&String> = a.host.keys().chain(b.host.keys()).collect();
    let differing: Vec<&str> = facts
        .into_iter()
        .filter(|&fact| a.host.get(fact) != b.host.get(fact))
        .map(String::as_str)
        .collect();
    if !differing.is_empty() {
        report(false, format!("the machines differ in {}", some(&differing)));
    }
    found
}

/// Measures that one of them has alone, or that are of another kind.
fn measures(a: &RunInfo, b: &RunInfo) -> Option<String> {
    let of = |info: &RunInfo| -> BTreeSet<(String, String)> {
        let all = info.measures.iter();
        all.map(|m| (m.name.clone(), m.kind.clone())).collect()
    };
    let of_a = of(a);
    let of_b = of(b);
    let odd: Vec<String> =
        of_a.symmetric_difference(&of_b).map(|(name, kind)| format!("{name} ({kind})")).collect();
    let odd: Vec<&str> = odd.iter().map(String::as_str).collect();
    (!odd.is_empty()).then(|| format!("not all runs measure {}", some(&odd)))
}

/// The phases that are compared must have been planned alike. If `until` has ended one of the runs, it says when the last
/// phase of that run ended, and not the plan.
fn phases(a: &RunInfo, b: &RunInfo, options: &Options) -> Option<String> {
    let has_open_end = [a, b].iter().any(|info| info.status == RunStatus::Until);
    let of = |info: &RunInfo| -> Vec<PhaseInfo> {
        let mut all = info.phases.clone();
        if let Some(last) = all.last_mut().filter(|_| has_open_end) {
            last.end_ns = last.start_ns;
        }
        all.retain(|p| options.phase.as_ref().is_none_or(|name| &p.name == name));
        all
    };
    let of_a = of(a);
    let of_b = of(b);
    if of_a == of_b {
        return None;
    }
    let planned = |phases: &[PhaseInfo]| {
        let users: f64 = phases.iter().map(|p| p.users_planned).sum();
        let length_ns = phases.iter().map(|p| p.end_ns.saturating_sub(p.start_ns)).sum();
        let phases = units::counted(phases.len() as u64, "phase");
        format!("{phases} of {} with {} users", units::span(length_ns), units::about(users))
    };
    let plan_a = planned(&of_a);
    let plan_b = planned(&of_b);
    Some(if plan_a == plan_b {
        "their phases differ in names or times".to_owned()
    } else {
        format!("they planned {plan_a} and {plan_b}")
    })
}

/// The first few names.
fn some(names: &[&str]) -> String {
    let shown = names[..names.len().min(NAMES_MAX)].join(", ");
    match names.len().saturating_sub(NAMES_MAX) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn texts(change: impl Fn(&mut RunInfo)) -> Vec<(String, bool)> {
        let a = sample::info();
        let mut b = sample::info();
        change(&mut b);
        let found = unlike(&[&a, &b, &b], &Options::default());
        found.into_iter().map(|u| (u.text, u.grave)).collect()
    }

    fn check(change: impl Fn(&mut RunInfo), text: &str, grave: bool) {
        assert_eq!(texts(change), [(text.to_owned(), grave)]);
    }

    #[test]
    fn each_difference_is_reported_once() {
        assert_eq!(texts(|info| info.seed = 7), []);
        assert_eq!(texts(|info| info.overrides = vec!["seed=7".to_owned()]), []);
        check(
            |info| info.name = "other".to_owned(),
            "the scenarios are \"sample\" and \"other\"",
            true,
        );
        check(
            |info| info.scenario_hash = "f".to_owned(),
            "the text of scenario \"sample\" differs",
            false,
        );
        check(
            |info| info.measures[1].kind = "message".to_owned(),
            "not all runs measure request (message), request (request)",
            true,
        );
        check(
            |info| info.phases[0].users_planned = 100.0,
            "they planned 1 phase of 60 s with 6,000 users and 1 phase of 60 s with 100 users"
                .replace("60 s", "1 min")
                .as_str(),
            true,
        );
        check(
            |info| info.overrides = vec!["target=http://b".to_owned()],
            "--set was nothing and target=http://b",
            false,
        );
        check(
            |info| info.generator.loops = 2,
            "the generators had precise 1 loop and precise 2 loops",
            false,
        );
        check(
            |info| {
                info.host.insert("kernel".to_owned(), "7".to_owned());
            },
            "the machines differ in kernel",
            false,
        );
    }

    /// Each ends when its own percentiles are known, or with its plan.
    #[test]
    fn runs_that_until_ends_at_their_own_times_are_alike() {
        let whole = sample::info();
        let ended = |after_ns: u64| {
            let mut info = sample::info();
            info.status = RunStatus::Until;
            info.phases[0].end_ns = after_ns;
            info
        };
        let [one, other] = [30_200_000_000, 45_100_000_000].map(ended);
        assert_eq!(unlike(&[&one, &other, &whole], &Options::default()), []);
        assert_eq!(unlike(&[&whole, &other], &Options::default()), []);
        // Of any other run the times are those of the plan.
        let longer = RunInfo { status: RunStatus::Complete, ..other.clone() };
        assert_eq!(unlike(&[&whole, &longer], &Options::default()).len(), 1);
        let mut more = other;
        more.phases[0].users_planned = 100.0;
        assert_eq!(unlike(&[&one, &more], &Options::default()).len(), 1);
    }

    #[test]
    fn only_the_phase_that_is_compared_must_be_alike() {
        let a = sample::info();
        let mut b = sample::info();
        b.phases.push(PhaseInfo { name: "more".to_owned(), ..b.phases[0].clone() });
        let mut options = Options::default();
        assert_eq!(unlike(&[&a, &b], &options).len(), 1);
        options.phase = Some(a.phases[0].name.clone());
        assert_eq!(unlike(&[&a, &b], &options), []);
    }
}
