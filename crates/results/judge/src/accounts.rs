//! The accounts of every session and every operation that began.
//!
//! Sessions: started = finished + failed + stopped + cut off + lost with a worker. Operations of each
//! measure: begun = succeeded + failed + unfinished. What was due: see [`due`]. A record in which a sum does
//! not hold was not counted right, and no figure of it can be trusted.

use record::operations::is_of_step;
use record::schema::{
    Finding, MeasureSummary, RunStatus, SeriesRow, SessionEnd, Severity, UnfinishedSessions,
    UserState,
};

mod due;
mod own;

pub(crate) use own::failures as own_failures;

use crate::case::Case;
use crate::figures::Figures;
use crate::finding::finding;
use crate::limits::{ENDINGS_MAX, STEPS_NAMED_MAX};
use crate::threshold;

/// Sums that do not hold, and sessions and steps that did not come to their end.
pub(crate) fn findings(case: &Case<'_>) -> Vec<Finding> {
    let Case { figures, measures, .. } = case;
    let broken = broken(figures).or_else(|| due::broken(figures));
    let mut findings: Vec<Finding> = broken.into_iter().collect();
    findings.extend(ended(figures, SessionEnd::CutOff));
    findings.extend(unbegun(figures));
    findings.extend(not_reached(figures, measures));
    findings.extend(unstarted(figures));
    findings.extend(due::missed(figures));
    findings.extend(ended(figures, SessionEnd::Stopped));
    findings.extend(ended(figures, SessionEnd::Failed));
    findings
}

/// The [`failures`] of the run, without those that a threshold demands.
pub(crate) fn failed(case: &Case<'_>) -> Vec<Finding> {
    let meant_to_fail = threshold::meant_to_fail(case.figures, case.thresholds);
    failures(&case.figures.info.steps, &case.measures, &meant_to_fail)
}

/// Failures of a run whatever its thresholds say: none of its operations succeeded, or a step was
/// begun and never succeeded. `steps`: the measures that steps begin, by index; if there are none, only the
/// first is known. `meant_to_fail`: the names of measures whose failures a threshold demands.
pub fn failures(
    steps: &[u16],
    measures: &[MeasureSummary],
    meant_to_fail: &[&str],
) -> Vec<Finding> {
    let tried = measures
        .iter()
        .filter(|m| matches!(m.kind.as_str(), "connect" | "request" | "handshake") && m.begun > 0);
    let never =
        |m: &&MeasureSummary| m.count <= m.errors && !meant_to_fail.contains(&m.name.as_str());
    if tried.clone().next().is_some() && tried.clone().all(|m| never(&m)) {
        return vec![nothing_succeeded(tried)];
    }
    if steps.is_empty() {
        return Vec::new();
    }
    let tried = tried.filter(|m| m.kind != "connect");
    let names: Vec<String> = tried
        .filter(never)
        .map(|m| format!("{} (begun {} ×)", m.name, units::count(m.begun)))
        .collect();
    if names.is_empty() {
        return Vec::new();
    }
    let text = format!("never succeeded: {}", listed(&names));
    let draft = finding(Severity::Warning, "steps-never-succeeded", text);
    vec![draft.with("steps", names.len() as f64).done()]
}

/// `tried`: the measures that began something.
fn nothing_succeeded<'a>(tried: impl Iterator<Item = &'a MeasureSummary> + Clone) -> Finding {
    // Connections alone count where no step came to an operation.
    let has_steps = tried.clone().any(|m| is_of_step(&m.kind));
    let counted = tried.filter(|m| is_of_step(&m.kind) == has_steps);
    let begun: u64 = counted.clone().map(|m| m.begun).sum();
    let failed: u64 = counted.map(|m| m.errors).sum();
    let noun = match has_steps {
        true => "operation",
        false => "connection",
    };
    let mut text = format!(
        "nothing succeeded: {} of {} failed",
        units::count(failed),
        units::counted(begun, noun),
    );
    let unfinished = begun - failed.min(begun);
    if unfinished > 0 {
        text += &format!(", and {} were unfinished at the end", units::count(unfinished));
    }
    let draft = finding(Severity::Warning, "nothing-succeeded", text);
    draft.with("begun", begun as f64).done()
}

/// The first of many names, and how many more there are.
fn listed(names: &[String]) -> String {
    let mut listed = names[..names.len().min(STEPS_NAMED_MAX)].join(", ");
    if names.len() > STEPS_NAMED_MAX {
        let more = names.len() - STEPS_NAMED_MAX;
        listed.push_str(&format!(" and {} more", units::count(more as u64)));
    }
    listed
}

/// Sessions, or operations of a measure, from their beginnings to their ends.
struct Sum {
    of: String,
    begun: u64,
    ended: u64,
    /// The number that may have no end, since their worker was lost.
    lost_max: u64,
}

impl Sum {
    fn holds(&self) -> bool {
        self.ended <= self.begun && self.begun - self.ended <= self.lost_max
    }
}

/// The first sum that does not hold. Only of a run that came to its end: what a killed one had in progress is in no
/// file. What was in progress on a lost worker has no end either: as many sessions as it had users may be without one,
/// and any number of operations.
fn broken(figures: &Figures) -> Option<Finding> {
    let is_complete = figures.info.status != RunStatus::Running && figures.info.ended_ns > 0;
    if figures.begun.is_empty() || !is_complete {
        return None;
    }
    let lost = figures.losses().next().map(|_| figures.lost_users().present);
    let started = figures.total(|row| row.users_started);
    let ended = figures
        .total(|row| row.users_finished + row.users_failed + row.users_stopped + row.users_cut);
    let sessions =
        Sum { of: "sessions".to_owned(), begun: started, ended, lost_max: lost.unwrap_or(0) };
    let all = figures.info.measures.iter().enumerate();
    let measures = all.map(|(number, measure)| Sum {
        of: format!("operations of {}", measure.name),
        begun: figures.begun.get(number).copied().unwrap_or(0),
        ended: figures.cell(None, number).outcomes.values().sum(),
        lost_max: lost.map_or(0, |_| u64::MAX),
    });
    let mut sums = std::iter::once(sessions).chain(measures);
    let Sum { of, begun, ended, .. } = sums.find(|sum| !sum.holds())?;
    let lost = match lost {
        Some(users) => format!(", with {} on lost workers", units::counted(users, "user")),
        None => String::new(),
    };
    let text = format!(
        "the record's sums do not hold: {} {of} started and {} ended{lost}; this is a fault of Throng",
        units::count(begun),
        units::count(ended),
    );
    Some(
        finding(Severity::Fatal, "sums-broken", text)
            .with("started", begun as f64)
            .with("ended", ended as f64)
            .done(),
    )
}

/// Sessions that ended in this way, with where most of them were.
fn ended(figures: &Figures, end: SessionEnd) -> Option<Finding> {
    let endings = figures.endings.iter().filter(|e| e.end == end);
    let endings = by_place(endings.map(|e| (at(figures, e), e.users)));
    let users: u64 = endings.iter().map(|(_, users)| users).sum();
    if users == 0 {
        return None;
    }
    let places = listed_places(&endings);
    let started = figures.total(|row| row.users_started);
    let (severity, code, what) = match end {
        SessionEnd::CutOff => {
            (Severity::Warning, "sessions-cut-off", "were cut off at the end of the run")
        }
        SessionEnd::Stopped => (
            Severity::Warning,
            "sessions-stopped",
            "ended because the generator had no file, port or memory",
        ),
        SessionEnd::Failed => (Severity::Note, "sessions-failed", "ended because a step failed"),
    };
    let text = format!(
        "{} of {} {what}: {}",
        units::count(users),
        units::counted(started, "session"),
        places
    );
    let draft = finding(severity, code, text);
    Some(draft.with("sessions", users as f64).done())
}

/// Users at the same place as one number, the most first: they may be of several regions, or have met several failures.
fn by_place(endings: impl Iterator<Item = (String, u64)>) -> Vec<(String, u64)> {
    let mut all: Vec<(String, u64)> = Vec::new();
    for (at, users) in endings {
        match all.iter_mut().find(|(known, _)| *known == at) {
            Some((_, sum)) => *sum += users,
            None => all.push((at, users)),
        }
    }
    all.sort_by_key(|&(_, users)| std::cmp::Reverse(users));
    all
}

/// The places with most users, and how many are elsewhere.
fn listed_places(endings: &[(String, u64)]) -> String {
    let first = endings.iter().take(ENDINGS_MAX);
    let mut places: Vec<String> =
        first.map(|(at, users)| format!("{} {at}", units::count(*users))).collect();
    let rest: u64 = endings.iter().skip(ENDINGS_MAX).map(|e| e.1).sum();
    if rest > 0 {
        places.push(format!("{} elsewhere", units::count(rest)));
    }
    places.join(", ")
}

/// The state and step in which a session ended, as "thinking before GET /b".
fn at(figures: &Figures, ending: &UnfinishedSessions) -> String {
    if let Some(step) = &ending.own_step {
        return match figures.info.sessions.get(usize::from(ending.session)) {
            Some(session) if figures.info.sessions.len() > 1 => {
                format!("at {step} (session {session})")
            }
            _ => format!("at {step}"),
        };
    }
    let step = ending.step.and_then(|step| figures.info.measures.get(usize::from(step)));
    let step = step.map(|step| match figures.info.regions.is_empty() {
        true => step.name.clone(),
        false => step.over_regions(),
    });
    match (ending.state, step) {
        (UserState::Thinking, Some(step)) => format!("thinking before {step}"),
        (UserState::Thinking, None) => "thinking after the last step".to_owned(),
        (UserState::Connecting, Some(step)) => format!("connecting for {step}"),
        (UserState::Retrying, Some(step)) => format!("retrying a connection for {step}"),
        (UserState::Waiting, Some(step)) => format!("waiting for {step}"),
        (UserState::Working, Some(step)) => format!("at {step}"),
        (_, None) => "after the last step".to_owned(),
    }
}

/// Operations of the scenario that no user began, in any region. Conditions and times often stand where few users come
/// to.
fn not_reached(figures: &Figures, measures: &[MeasureSummary]) -> Option<Finding> {
    let over_regions = figures.over_regions();
    let began =
        |name: &str| measures.iter().any(|m| m.name == name && (m.begun > 0 || m.count > 0));
    let names = figures.info.steps.iter();
    let names = names.filter_map(|&step| figures.info.measures.get(usize::from(step)));
    let names = names.filter(|m| !matches!(m.kind.as_str(), "check" | "value"));
    let mut missing: Vec<String> =
        names.filter(|m| !began(&m.name)).map(|m| m.name.clone()).collect();
    if !over_regions.is_empty() {
        let name = |&number: &usize| &figures.info.measures[number].name;
        let of_none = over_regions
            .iter()
            .filter(|over| over.measures.iter().all(|m| missing.contains(name(m))));
        missing = of_none.map(|over| over.name.clone()).collect();
    }
    if missing.is_empty() {
        return None;
    }
    let listed = listed(&missing);
    let text = match missing.len() {
        1 => format!("no user reached the step {listed}"),
        n => format!("no user reached {} steps: {listed}", units::count(n as u64)),
    };
    let draft = finding(Severity::Warning, "steps-not-reached", text);
    Some(draft.with("steps", missing.len() as f64).done())
}

fn unstarted(figures: &Figures) -> Option<Finding> {
    let users = figures.total(|row| row.users_unstarted);
    let text = format!(
        "{} due before the end and had not started by then",
        match users {
            0 => return None,
            1 => "1 user was".to_owned(),
            _ => format!("{} users were", units::count(users)),
        }
    );
    let draft = finding(Severity::Warning, "users-unstarted", text);
    Some(draft.with("users", users as f64).done())
}

/// Phases whose users were to begin a number of sessions, and began fewer. Only of a run that came to its end.
fn unbegun(figures: &Figures) -> Vec<Finding> {
    if figures.info.status != RunStatus::Complete {
        return Vec::new();
    }
    let phases = figures.info.phases.iter().enumerate();
    let found = phases.filter_map(|(number, phase)| {
        let planned = phase.sessions_planned?;
        let sum =
            |counter: fn(&SeriesRow) -> u64| -> u64 { figures.rows(number).map(counter).sum() };
        let again = sum(|row| row.users_repeated);
        // Single users that start meanwhile are none of its own.
        let first = sum(|row| row.users_started).saturating_sub(again);
        let begun = first.min(phase.users_planned as u64) + again;
        if begun >= planned {
            return None;
        }
        let why = if figures.losses().next().is_some() {
            "workers were lost"
        } else if figures.ended_ns() < phase.end_ns {
            "its users had left"
        } else {
            "its time was over"
        };
        let text = format!(
            "{} of {} of phase {} began, then {why}",
            units::count(begun),
            units::counted(planned, "session"),
            phase.name,
        );
        let draft = finding(Severity::Warning, "sessions-not-begun", text);
        Some(draft.with("planned", planned as f64).with("begun", begun as f64).done())
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use record::Outcome;
    use record::schema::{Event, EventKind};

    use super::*;
    use crate::sample::{self, REQUEST, fail};

    fn codes(figures: &Figures) -> Vec<(String, String)> {
        let found = findings(&Case::new(figures, &[])).into_iter();
        found.map(|finding| (finding.code, finding.text)).collect()
    }

    #[test]
    fn sums_that_hold_are_no_finding() {
        let mut figures = sample::figures();
        figures.begun = vec![0, 6000];
        assert_eq!(codes(&figures), []);
        fail(&mut figures, REQUEST, Outcome::Unfinished, 2);
        figures.begun = vec![0, 6002];
        assert_eq!(codes(&figures), []);
    }

    #[test]
    fn an_operation_without_an_end_breaks_the_record() {
        let mut figures = sample::figures();
        figures.begun = vec![0, 6001];
        let text = "the record's sums do not hold: 6,001 operations of request started and 6,000 ended; \
            this is a fault of Throng";
        assert_eq!(codes(&figures), [("sums-broken".to_owned(), text.to_owned())]);
        assert_eq!(
            crate::judge_figures(&figures, &[], false).verdict,
            record::schema::Verdict::Untrusted
        );
        // A killed run has no sums.
        figures.info.status = RunStatus::Running;
        assert_eq!(codes(&figures), []);
    }

    #[test]
    fn sessions_that_a_phase_did_not_begin_are_reported() {
        let mut figures = sample::with_rows(|row| {
            row.users_started = if row.start_ns == 0 { 10 } else { 0 };
            row.users_started += 15;
            row.users_repeated = 15;
        });
        figures.info.phases[0].users_planned = 10.0;
        let found =
            |figures: &Figures| unbegun(figures).into_iter().map(|f| f.text).collect::<Vec<_>>();
        assert_eq!(found(&figures), [""; 0], "as many as there was time for");
        figures.info.phases[0].sessions_planned = Some(910);
        assert_eq!(found(&figures), [""; 0]);
        figures.info.phases[0].sessions_planned = Some(1000);
        let begun = "910 of 1,000 sessions of phase constant began, then";
        assert_eq!(found(&figures), [format!("{begun} its time was over")]);
        figures.series.pop();
        figures.info.ended_ns = 59 * sample::SECOND;
        figures.series[58].users_started += 15;
        figures.series[58].users_repeated += 15;
        assert_eq!(found(&figures), [format!("{begun} its users had left")]);
        let what = EventKind::WorkerLost {
            worker: 0,
            pid: 1,
            loops_first: 0,
            loops: 1,
            reported_ns: 30 * sample::SECOND,
            users: 2,
            users_begun: 2,
            users_connected: 2,
            users_due_after: 0,
            why: "its process ended".to_owned(),
        };
        figures.events.push(Event { at_ns: 31 * sample::SECOND, what });
        assert_eq!(found(&figures), [format!("{begun} workers were lost")]);
        // A run that did not come to its end says so itself.
        figures.info.status = RunStatus::Interrupted;
        assert_eq!(found(&figures), [""; 0]);
    }

    #[test]
    fn sums_with_lost_workers_are_held_against_what_these_had() {
        let mut figures = sample::figures();
        let what = EventKind::WorkerLost {
            worker: 0,
            pid: 1,
            loops_first: 0,
            loops: 1,
            reported_ns: 30 * sample::SECOND,
            users: 10,
            users_begun: 750,
            users_connected: 745,
            users_due_after: 750,
            why: "its process ended".to_owned(),
        };
        let at_ns = 31 * sample::SECOND;
        figures.events.push(Event { at_ns, what });
        // Three requests of ten users were in progress.
        figures.begun = vec![0, 6003];
        figures.series[20].users_finished -= 10;
        assert_eq!(codes(&figures), []);
        figures.series[20].users_finished -= 1;
        let text = "the record's sums do not hold: 6,000 sessions started and 5,989 ended, with 10 users on lost \
            workers; this is a fault of Throng";
        assert_eq!(codes(&figures), [("sums-broken".to_owned(), text.to_owned())]);
        // More that ended than began are wrong in any case.
        figures.series[20].users_finished += 1;
        figures.begun = vec![0, 5999];
        let broken = codes(&figures);
        assert!(broken[0].1.contains("5,999 operations of request"), "{broken:?}");
    }

    #[test]
    fn who_was_cut_off_is_reported_with_the_step() {
        let mut figures = sample::figures();
        let ending = |state, step, users| UnfinishedSessions {
            session: 0,
            step,
            state,
            end: SessionEnd::CutOff,
            outcome: None,
            own_step: None,
            users,
        };
        figures.endings =
            vec![ending(UserState::Waiting, Some(1), 3), ending(UserState::Thinking, Some(1), 22)];
        let text = "25 of 6,000 sessions were cut off at the end of the run: 22 thinking before request, \
            3 waiting for request";
        assert_eq!(codes(&figures), [("sessions-cut-off".to_owned(), text.to_owned())]);
    }

    #[test]
    fn steps_that_nobody_began_are_named() {
        let mut figures = sample::figures();
        figures.info.steps = vec![1];
        assert_eq!(codes(&figures), []);
        figures.info.measures.push(record::schema::MeasureInfo::new("GET /b", "request"));
        figures.info.steps = vec![1, 2];
        let text = "no user reached the step GET /b";
        assert_eq!(codes(&figures), [("steps-not-reached".to_owned(), text.to_owned())]);
    }

    #[test]
    fn a_run_in_which_nothing_succeeds_fails() {
        let mut figures = sample::figures();
        let all = figures.cell_mut(0, REQUEST).unwrap();
        *all = crate::Cell::default();
        fail(&mut figures, REQUEST, Outcome::Refused, 40);
        fail(&mut figures, REQUEST, Outcome::Unfinished, 10);
        figures.begun = vec![0, 50];
        let summary = crate::judge_figures(&figures, &[], false);
        let text =
            "nothing succeeded: 40 of 50 operations failed, and 10 were unfinished at the end";
        assert!(summary.findings.iter().any(|f| f.text == text), "{:?}", summary.findings);
        assert_eq!(summary.verdict, record::schema::Verdict::Failed);
    }

    #[test]
    fn a_step_that_never_succeeds_fails_the_run() {
        let mut figures = sample::figures();
        figures.info.measures.push(record::schema::MeasureInfo::new("GET /b", "request"));
        figures.info.steps = vec![1, 2];
        let cells = figures.info.measures.len();
        let mut spoilt = Figures::new(figures.info.clone(), figures.series.clone(), Vec::new());
        assert_eq!(cells, 3);
        sample::succeed(&mut spoilt, 0, REQUEST, 6000, sample::MS, 0);
        fail(&mut spoilt, 2, Outcome::Status, 7);
        let summary = crate::judge_figures(&spoilt, &[], false);
        let text = "never succeeded: GET /b (begun 7 ×)";
        assert!(summary.findings.iter().any(|f| f.text == text), "{:?}", summary.findings);
        assert_eq!(summary.verdict, record::schema::Verdict::Failed);

        let measures = ["connect", "GET /", "GET /b"];
        let names =
            plan::thresholds::Names { measures: &measures, metrics: &[], tags: &[], phases: &[] };
        let verdict = |threshold: &str| {
            let threshold = names.threshold(threshold).unwrap();
            crate::judge_figures(&spoilt, &[threshold], false).verdict
        };
        assert_eq!(verdict("error_rate(GET /b) == 100%"), record::schema::Verdict::Passed);
        assert_eq!(verdict("errors(GET /b) <= 7"), record::schema::Verdict::Failed);
    }

    #[test]
    fn a_run_without_thresholds_is_measured() {
        let summary = crate::judge_figures(&sample::figures(), &[], false);
        assert_eq!(summary.verdict, record::schema::Verdict::Measured);
    }
}
