//! Steps that run once: `setup` before the users, `teardown` after them.

use record::schema::{EventKind, Finding, OnceEnd, OnceEnded, Severity};

use crate::case::Case;
use crate::figures::Figures;
use crate::finding::finding;

/// The end of a `setup` that kept all users from starting.
pub(crate) fn failed_setup(figures: &Figures) -> Option<Finding> {
    let mut setups = ended(figures).filter(|once| once.what == SETUP);
    let failed = setups.find(|once| once.end != OnceEnd::Finished)?;
    let text = format!("{}; no user started", how(failed));
    Some(with_figures(failed, finding(Severity::Warning, "setup-failed", text)))
}

/// Setup and teardown of a run whose users started.
pub(crate) fn findings(case: &Case<'_>) -> Vec<Finding> {
    let all = ended(case.figures).map(|once| {
        let sound = once.end == OnceEnd::Finished && once.errors == 0;
        let (severity, code) = match sound {
            true => (Severity::Note, once.what.clone()),
            false => (Severity::Warning, format!("{}-failed", once.what)),
        };
        with_figures(once, finding(severity, &code, how(once)))
    });
    all.collect()
}

const SETUP: &str = "setup";

fn ended(figures: &Figures) -> impl Iterator<Item = &OnceEnded> {
    figures.events.iter().filter_map(|event| match &event.what {
        EventKind::OnceEnded(once) => Some(once),
        _ => None,
    })
}

/// The end of the steps in words.
fn how(once: &OnceEnded) -> String {
    let at = once.step.as_ref();
    let at = at.map_or(String::new(), |step| format!(" at {step}"));
    let why = once.why.as_ref();
    let why = why.map_or(String::new(), |why| format!(": {why}"));
    let what = &once.what;
    match once.end {
        OnceEnd::Finished if once.errors > 0 => {
            format!("{what}: {} failed, the last{at}{why}", units::counted(once.errors, "step"))
        }
        OnceEnd::Finished => format!(
            "{what}: {} in {}",
            units::counted(once.operations.len() as u64 + once.operations_left_out, "operation"),
            units::duration(once.took_ns as f64)
        ),
        OnceEnd::Failed => format!("{what} failed{at}{why}"),
        OnceEnd::Stopped => format!("{what} was stopped by a limit of this machine{at}{why}"),
        OnceEnd::TimeLimit => format!(
            "{what} reached its limit of time{at} (`time_limit`), after {}",
            units::duration(once.took_ns as f64)
        ),
        OnceEnd::Interrupted => format!("{what} was interrupted{at}"),
    }
}

fn with_figures(once: &OnceEnded, draft: crate::Draft) -> Finding {
    let operations = once.operations.len() as u64 + once.operations_left_out;
    draft
        .with("operations", operations as f64)
        .with("errors", once.errors as f64)
        .with("took_ns", once.took_ns as f64)
        .done()
}

#[cfg(test)]
mod tests {
    use record::schema::{Event, RunStatus, Verdict};

    use super::*;
    use crate::sample;

    fn once(what: &str, end: OnceEnd, errors: u64) -> Event {
        let fails = end != OnceEnd::Finished || errors > 0;
        Event {
            at_ns: 0,
            what: EventKind::OnceEnded(OnceEnded {
                what: what.to_owned(),
                end,
                step: fails.then(|| "POST /login".to_owned()),
                why: fails.then(|| "status 403".to_owned()),
                took_ns: 2_000_000,
                errors,
                operations: Vec::new(),
                operations_left_out: 3,
            }),
        }
    }

    #[test]
    fn a_run_whose_setup_failed_has_failed_and_says_at_which_step() {
        let mut figures = sample::figures();
        figures.events.push(once("setup", OnceEnd::Failed, 1));
        figures.info.status = RunStatus::Failed;
        let summary = crate::judge_figures(&figures, &[], false);
        assert_eq!(summary.verdict, Verdict::Failed);
        let texts: Vec<&str> = summary.findings.iter().map(|f| f.text.as_str()).collect();
        assert_eq!(texts, ["setup failed at POST /login: status 403; no user started"]);
    }

    #[test]
    fn a_teardown_that_failed_is_a_warning() {
        let mut figures = sample::figures();
        figures.events.push(once("setup", OnceEnd::Finished, 0));
        figures.events.push(once("teardown", OnceEnd::Finished, 2));
        let found = findings(&Case::new(&figures, &[]));
        let found: Vec<_> =
            found.iter().map(|f| (f.severity, f.code.as_str(), f.text.as_str())).collect();
        let warning = "teardown: 2 steps failed, the last at POST /login: status 403";
        assert_eq!(
            found,
            [
                (Severity::Note, "setup", "setup: 3 operations in 2.00 ms"),
                (Severity::Warning, "teardown-failed", warning),
            ]
        );
        assert_eq!(crate::judge_figures(&figures, &[], false).verdict, Verdict::Measured);
    }
}
