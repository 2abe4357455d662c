//! Sessions that failed for reasons of our own: a value that cannot be computed, a script that throws, data that ran out,
//! no memory. Neither the target nor the way to it has a part in them, so nothing that is measured of the target shows
//! them; and what users never came to has no failures at all.

use record::Outcome;
use record::schema::{EventKind, Finding, Severity, UnfinishedSessions};

use super::{at, by_place, listed_places};
use crate::case::Case;
use crate::figures::Figures;
use crate::finding::finding;
use crate::findings::first_text;
use crate::limits::OWN_FAILURES_SHARE_MAX;

/// So many sessions failed for reasons of our own that the run is not the one that was wanted.
pub(crate) fn failures(case: &Case<'_>) -> Vec<Finding> {
    Vec::from_iter(found(case.figures).or_else(|| thrown(case)))
}

/// Iterations of a script of k6 that threw. They have ended like any other, so no session of theirs has failed.
fn thrown(case: &Case<'_>) -> Option<Finding> {
    let figures = case.figures;
    let was_ended = figures.events.iter().any(|event| event.what == EventKind::ScriptAborted);
    // Of a script of k6 both are there.
    let iterations = figures.metric_sum("iterations")?;
    figures.info.metrics.iter().find(|metric| metric.name == "iteration_duration")?;
    let faults = case.measures.iter().find(|measure| measure.kind == "step")?;
    let kinds = [Outcome::Script, Outcome::NoMemory].map(Outcome::name);
    let failed: u64 = kinds.iter().filter_map(|&kind| faults.errors_by_kind.get(kind)).sum();
    let share = failed as f64 / iterations.max(1.0);
    if was_ended || share <= OWN_FAILURES_SHARE_MAX {
        return None;
    }
    let texts = kinds.iter().filter_map(|&kind| first_text(&figures.events, &faults.name, kind));
    let first = texts.into_iter().next();
    let first = first.map_or(String::new(), |text| format!(" (first: {text})"));
    let text = format!(
        "{} of {} ({}) ended by an exception of the script{first}",
        units::count(failed),
        units::counted(iterations as u64, "iteration"),
        units::share(share.min(1.0)),
    );
    let draft = finding(Severity::Warning, "own-failures", text);
    Some(draft.with("iterations", failed as f64).with("share", share).done())
}

fn found(figures: &Figures) -> Option<Finding> {
    let is_own = |ending: &&UnfinishedSessions| outcome(ending).is_some_and(Outcome::is_own);
    let own = figures.endings.iter().filter(is_own);
    let failed: u64 = own.clone().map(|ending| ending.users).sum();
    let started = figures.total(|row| row.users_started);
    let share = failed as f64 / started.max(1) as f64;
    if share <= OWN_FAILURES_SHARE_MAX {
        return None;
    }
    let places = own.clone().map(|ending| {
        let what = outcome(ending).map_or("", |outcome| what(outcome, ending));
        (format!("{}, {what}", at(figures, ending)), ending.users)
    });
    let places = by_place(places);
    let first = own.max_by_key(|ending| ending.users).and_then(|most| first_error(figures, most));
    let first = first.map_or(String::new(), |text| format!(" (first: {text})"));
    let text = format!(
        "{} of {} ({}) failed in a step of their own, not in a request: {}{first}",
        units::count(failed),
        units::counted(started, "session"),
        units::share(share),
        listed_places(&places),
    );
    let draft = finding(Severity::Warning, "own-failures", text);
    Some(draft.with("sessions", failed as f64).with("share", share).done())
}

fn outcome(ending: &UnfinishedSessions) -> Option<Outcome> {
    ending.outcome.as_deref().and_then(Outcome::from_name)
}

/// The failure in words.
fn what(outcome: Outcome, ending: &UnfinishedSessions) -> &'static str {
    let is_feed = ending.own_step.as_ref().is_some_and(|step| step.starts_with("`feed`"));
    match outcome {
        Outcome::Script => "where a script failed",
        Outcome::NoMemory => "for which there was no memory",
        _ if is_feed => "which has no further row",
        _ => "which cannot be done",
    }
}

/// The text of the first such failure. What is no operation has its errors with the steps that failed of themselves, or
/// with its check or value.
fn first_error(figures: &Figures, ending: &UnfinishedSessions) -> Option<String> {
    let kind = ending.outcome.as_deref()?;
    let measures = &figures.info.measures;
    let step = ending.step.and_then(|step| measures.get(usize::from(step)));
    let is_of_it = |name: &str| match (&ending.own_step, step) {
        (Some(_), _) => measures
            .iter()
            .any(|m| m.name == name && matches!(m.kind.as_str(), "step" | "check" | "value")),
        (None, Some(step)) => step.name == name,
        (None, None) => false,
    };
    let name = figures.events.iter().find_map(|event| match &event.what {
        EventKind::Error { measure, outcome, .. } if outcome == kind && is_of_it(measure) => {
            Some(measure.as_str())
        }
        _ => None,
    })?;
    first_text(&figures.events, name, kind)
}

#[cfg(test)]
mod tests {
    use record::schema::{Event, MeasureInfo, SessionEnd, UserState, Verdict};

    use super::*;
    use crate::sample::{self, SECOND, rendered};

    fn ending(outcome: Outcome, own_step: Option<&str>, users: u64) -> UnfinishedSessions {
        UnfinishedSessions {
            session: 0,
            step: Some(1),
            state: UserState::Working,
            end: SessionEnd::Failed,
            outcome: Some(outcome.name().to_owned()),
            own_step: own_step.map(str::to_owned),
            users,
        }
    }

    /// The sample, in which these of its 6,000 sessions failed.
    fn figures(endings: Vec<UnfinishedSessions>) -> Figures {
        let mut figures = sample::figures();
        figures.info.measures.push(MeasureInfo::new("steps", "step"));
        let mut failed: u64 = endings.iter().map(|ending| ending.users).sum();
        for row in &mut figures.series {
            let here = failed.min(row.users_finished);
            row.users_finished -= here;
            row.users_failed += here;
            failed -= here;
        }
        let what = EventKind::Error {
            measure: "steps".to_owned(),
            outcome: "step".to_owned(),
            user: 7,
            detail: "session \"s\", instruction 1: `text/html` is not a number".to_owned(),
        };
        figures.events.push(Event { at_ns: SECOND, what });
        figures.endings = endings;
        figures
    }

    fn own(figures: &Figures) -> Vec<Finding> {
        failures(&Case::new(figures, &[]))
    }

    #[test]
    fn a_run_whose_sessions_fail_of_themselves_does_not_pass() {
        let set = ending(Outcome::Step, Some("`set` of `x`"), 5_400);
        let figures = figures(vec![set]);
        let names = crate::RunNames::of(&figures.info);
        let threshold = |text: &str| names.names().threshold(text).unwrap();
        let summary = crate::judge_figures(&figures, &[threshold("p95 < 500ms")], false);
        assert!(summary.thresholds[0].passed);
        assert_eq!(summary.verdict, Verdict::Failed);
        assert_eq!(
            rendered(&summary.findings[..1]),
            "Warning own-failures
    5,400 of 6,000 sessions (90 %) failed in a step of their own, not in a request:
    5,400 at `set` of `x`, which cannot be done (first: session \"s\", instruction 1:
    `text/html` is not a number)
"
        );
        assert!(summary.failing().any(|finding| finding.code == "own-failures"));
    }

    #[test]
    fn a_few_such_failures_are_left_to_thresholds() {
        let at = |users| own(&figures(vec![ending(Outcome::Script, Some("`js`"), users)])).len();
        assert_eq!([at(60), at(61)], [0, 1]);
    }

    #[test]
    fn failures_of_the_target_are_not_our_own() {
        let target = [Outcome::Save, Outcome::Timeout, Outcome::Refused, Outcome::Status];
        let endings = target.map(|outcome| ending(outcome, None, 1_000));
        assert_eq!(own(&figures(endings.to_vec())), []);
        // A record that does not say what ended its sessions.
        let unknown = UnfinishedSessions { outcome: None, ..ending(Outcome::Step, None, 1_000) };
        assert_eq!(own(&figures(vec![unknown])), []);
    }

    #[test]
    fn each_step_is_named_with_what_failed_and_how_often() {
        let mut endings = vec![
            ending(Outcome::Step, Some("`feed` of `ids`"), 300),
            ending(Outcome::Script, Some("`js`"), 200),
            ending(Outcome::NoMemory, Some("`set` of `x`"), 100),
            ending(Outcome::Step, None, 50),
        ];
        endings.push(UnfinishedSessions {
            state: UserState::Waiting,
            ..ending(Outcome::Timeout, None, 500)
        });
        let found = own(&figures(endings));
        let text = "650 of 6,000 sessions (10.83 %) failed in a step of their own, not in a request: 300 at `feed` of `ids`, which has no further row, 200 at `js`, where a script failed, 100 at \
             `set` of `x`, for which there was no memory, 50 at request, which cannot be done \
             (first: session \"s\", instruction 1: `text/html` is not a number)";
        assert_eq!(found[0].text, text);
        assert_eq!(found[0].evidence["sessions"], 650.0);
    }
}
