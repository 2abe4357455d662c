//! The exit codes of k6, for those who ask for them.

use controller::Conducted;
use plan::K6Script;
use record::Run;
use record::schema::{Event, EventKind, OnceEnd, RunStatus, Verdict};

use super::k6_summary::threshold_ends;
use crate::exit::{Exit, Failure};

/// The code with which k6 would have ended; `code`: that of Throng. What k6 has no word for stays: a file that cannot be written,
/// and a run that cannot be trusted.
pub(super) fn code(script: &K6Script, conducted: &Conducted, code: Exit) -> Result<Exit, Failure> {
    if code as u8 >= Exit::Usage as u8 {
        return Ok(code);
    }
    let run = Run::open(&conducted.directory).map_err(|error| Failure::new(Exit::Io, error))?;
    let events = run.events().map_err(|error| Failure::new(Exit::Io, error))?;
    let has_crossed = !k6::thresholds_hold(script, &threshold_ends(conducted));
    Ok(of(&events, conducted.info.status, has_crossed, conducted.summary.verdict))
}

/// As in k6 what came first decides.
fn of(events: &[Event], status: RunStatus, has_crossed: bool, verdict: Verdict) -> Exit {
    let once = |what: &str| {
        events.iter().find_map(|event| match &event.what {
            EventKind::OnceEnded(once) if once.what == what => Some(once.end),
            _ => None,
        })
    };
    match once("setup") {
        Some(OnceEnd::TimeLimit) => return Exit::K6SetupTimeout,
        Some(OnceEnd::Failed | OnceEnd::Stopped) => return Exit::K6Exception,
        _ => {}
    }
    let is_by_script = events.iter().any(|event| event.what == EventKind::ScriptAborted);
    match (status, once("teardown")) {
        (RunStatus::Interrupted, _) => Exit::K6Interrupted,
        (RunStatus::Aborted, _) if is_by_script => Exit::K6Aborted,
        (RunStatus::Aborted, _) => Exit::K6Thresholds,
        (_, Some(OnceEnd::TimeLimit)) => Exit::K6TeardownTimeout,
        (_, Some(OnceEnd::Failed | OnceEnd::Stopped)) => Exit::K6Exception,
        _ if has_crossed => Exit::K6Thresholds,
        _ if verdict == Verdict::Untrusted => Exit::Untrusted,
        _ => Exit::Passed,
    }
}

#[cfg(test)]
mod tests {
    use record::schema::OnceEnded;

    use super::*;

    fn once(what: &str, end: OnceEnd) -> Event {
        let ended = OnceEnded {
            what: what.to_owned(),
            end,
            step: None,
            why: None,
            took_ns: 0,
            errors: 0,
            operations: Vec::new(),
            operations_left_out: 0,
        };
        Event { at_ns: 0, what: EventKind::OnceEnded(ended) }
    }

    #[test]
    fn what_came_first_decides_the_code() {
        let complete = RunStatus::Complete;
        let setup = |end| [once("setup", end)];
        let teardown = |end| [once("setup", OnceEnd::Finished), once("teardown", end)];
        let failed = |events: &[Event]| of(events, complete, true, Verdict::Failed);
        assert_eq!(failed(&[]), Exit::K6Thresholds);
        assert_eq!(failed(&setup(OnceEnd::Failed)), Exit::K6Exception);
        assert_eq!(failed(&setup(OnceEnd::TimeLimit)), Exit::K6SetupTimeout);
        assert_eq!(failed(&teardown(OnceEnd::Failed)), Exit::K6Exception);
        assert_eq!(failed(&teardown(OnceEnd::TimeLimit)), Exit::K6TeardownTimeout);
        // Nothing succeeded, which k6 does not mind.
        assert_eq!(of(&[], complete, false, Verdict::Failed), Exit::Passed);
        assert_eq!(of(&[], complete, false, Verdict::Untrusted), Exit::Untrusted);
        assert_eq!(of(&[], complete, true, Verdict::Untrusted), Exit::K6Thresholds);
        let aborted = |events: &[Event]| of(events, RunStatus::Aborted, true, Verdict::Failed);
        assert_eq!(aborted(&teardown(OnceEnd::Failed)), Exit::K6Thresholds);
        let by_script = [Event { at_ns: 5, what: EventKind::ScriptAborted }];
        assert_eq!(aborted(&by_script), Exit::K6Aborted);
        let interrupted = of(&[], RunStatus::Interrupted, true, Verdict::Untrusted);
        assert_eq!(interrupted, Exit::K6Interrupted);
    }
}
