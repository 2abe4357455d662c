//! Times in which nobody started since the user wanted it so.

use record::schema::{Event, EventKind, Finding, Severity};

use crate::case::Case;
use crate::figures::Figures;
use crate::finding::finding;
use crate::limits::{PAUSES_SHOWN_MAX, STARTS_SHARE_MIN};

/// A time without arrivals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pause {
    /// Since the run's start.
    pub from_ns: u64,
    /// Since the run's start; `None`: nobody ended it.
    pub until_ns: Option<u64>,
}

/// All pauses of these events, in order.
pub fn from_events(events: &[Event]) -> Vec<Pause> {
    let mut pauses: Vec<Pause> = Vec::new();
    for event in events {
        let open = pauses.last_mut().filter(|pause| pause.until_ns.is_none());
        match (&event.what, open) {
            (EventKind::ArrivalsPaused, None) => {
                pauses.push(Pause { from_ns: event.at_ns, until_ns: None });
            }
            (EventKind::ArrivalsResumed, Some(pause)) => pause.until_ns = Some(event.at_ns),
            _ => {}
        }
    }
    pauses
}

/// Pauses that kept as many users away as must not be missing: the run is not the one that was planned.
pub(crate) fn of_another_plan(case: &Case<'_>) -> Vec<Finding> {
    let pauses = all(case.figures).filter(|pauses| pauses.severity == Severity::Fatal);
    Vec::from_iter(pauses)
}

/// Pauses that kept few users away, or none.
pub(crate) fn of_the_plan(case: &Case<'_>) -> Vec<Finding> {
    let pauses = all(case.figures).filter(|pauses| pauses.severity != Severity::Fatal);
    Vec::from_iter(pauses)
}

/// One finding for all pauses: their times, and how they changed the load.
fn all(figures: &Figures) -> Option<Finding> {
    let pauses = from_events(&figures.events);
    if pauses.is_empty() {
        return None;
    }
    let end_ns = figures.ended_ns().min(figures.planned_end_ns());
    let length_ns = |pause: &Pause| {
        let until_ns = pause.until_ns.unwrap_or(end_ns);
        until_ns.saturating_sub(pause.from_ns)
    };
    let paused_ns: u64 = pauses.iter().map(length_ns).sum();
    let due = figures.total(|row| row.users_due.saturating_sub(row.users_repeated));
    let kept_away = figures.total(|row| row.users_paused);
    let load = match kept_away {
        0 => "no users were due during that time".to_owned(),
        _ => format!(
            "{} of {} due did not start; the load differs from the plan, and figures of the whole \
             run mix periods with and without arrivals",
            units::count(kept_away),
            units::counted(due, "user"),
        ),
    };
    let text = format!(
        "arrivals were paused for {} ({}): {load}",
        units::span(paused_ns),
        listed(&pauses)
    );
    let severity = match kept_away {
        0 => Severity::Note,
        n if n as f64 <= (1.0 - STARTS_SHARE_MIN) * due as f64 => Severity::Warning,
        _ => Severity::Fatal,
    };
    let draft = finding(severity, "arrivals-paused", text)
        .with("pauses", pauses.len() as f64)
        .with("paused_ns", paused_ns as f64)
        .with("users_paused", kept_away as f64)
        .with("users_due", due as f64);
    Some(draft.done())
}

/// `from 10 s to 25 s, from 40 s on`.
fn listed(pauses: &[Pause]) -> String {
    let first = pauses.iter().take(PAUSES_SHOWN_MAX);
    let mut parts: Vec<String> = first
        .map(|pause| {
            let from = units::span(pause.from_ns);
            match pause.until_ns {
                Some(until_ns) => format!("from {from} to {}", units::span(until_ns)),
                None => format!("from {from} on"),
            }
        })
        .collect();
    if let Some(more) = pauses.len().checked_sub(PAUSES_SHOWN_MAX).filter(|n| *n > 0) {
        parts.push(format!("and {more} more"));
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use record::schema::Verdict;

    use super::*;
    use crate::sample::{SECOND, figures, judged, rendered as text_of};

    fn at(second: u64, what: EventKind) -> Event {
        Event { at_ns: second * SECOND, what }
    }

    /// The sample's run with pauses: all users due in these seconds stay away.
    fn paused(seconds: &[(u64, Option<u64>)]) -> Figures {
        let mut figures = figures();
        for &(from, until) in seconds {
            figures.events.push(at(from, EventKind::ArrivalsPaused));
            if let Some(until) = until {
                figures.events.push(at(until, EventKind::ArrivalsResumed));
            }
            for row in &mut figures.series[from as usize..until.unwrap_or(60) as usize] {
                row.users_started = 0;
                row.users_paused = row.users_due;
            }
        }
        figures
    }

    fn check(figures: &Figures, verdict: Verdict, expect: &Expect) {
        let summary = judged(figures);
        assert_eq!(summary.verdict, verdict);
        expect.assert_eq(&text_of(&summary.findings[..2]));
    }

    #[test]
    fn a_pause_makes_another_run_of_it_and_is_no_fault_of_the_generator() {
        check(
            &paused(&[(10, Some(25)), (40, None)]),
            Verdict::Untrusted,
            &expect![[r#"
                Fatal arrivals-paused
                    arrivals were paused for 35 s (from 10 s to 25 s, from 40 s on): 3,500 of 6,000
                    users due did not start; the load differs from the plan, and figures of the
                    whole run mix periods with and without arrivals
                Good generator-healthy
                    the generator kept up: lag p99 20.0 µs, busiest loop 10 % of a core, 64.0 MiB of
                    memory (precise mode, 1 loop)
            "#]],
        );
    }

    #[test]
    fn users_that_came_late_by_an_interval_are_not_missed() {
        let mut figures = paused(&[(10, Some(20))]);
        // The last of a second may be skipped in the next.
        for row in figures.series[10..20].iter_mut().step_by(2) {
            row.users_paused -= 3;
        }
        for row in figures.series[11..20].iter_mut().step_by(2) {
            row.users_paused += 3;
        }
        let summary = judged(&figures);
        let codes: Vec<&str> = summary.findings.iter().map(|f| f.code.as_str()).collect();
        assert_eq!(codes[..2], ["arrivals-paused", "generator-healthy"]);
    }

    #[test]
    fn a_pause_without_arrivals_changes_nothing() {
        let mut figures = figures();
        for row in &mut figures.series[50..] {
            row.users_due = 0;
            row.users_started = 0;
        }
        figures.info.phases[0].users_planned = 5_000.0;
        figures.events.push(at(52, EventKind::ArrivalsPaused));
        figures.events.push(at(55, EventKind::ArrivalsResumed));
        check(
            &figures,
            Verdict::Measured,
            &expect![[r#"
                Good generator-healthy
                    the generator kept up: lag p99 20.0 µs, busiest loop 10 % of a core, 64.0 MiB of
                    memory (precise mode, 1 loop)
                Note arrivals-paused
                    arrivals were paused for 3 s (from 52 s to 55 s): no users were due during that
                    time
            "#]],
        );
    }

    #[test]
    fn a_few_users_are_a_warning() {
        let mut figures = paused(&[]);
        figures.events.push(at(10, EventKind::ArrivalsPaused));
        figures.events.push(at(11, EventKind::ArrivalsResumed));
        figures.series[10].users_started = 50;
        figures.series[10].users_paused = 50;
        check(
            &figures,
            Verdict::Measured,
            &expect![[r#"
                Good generator-healthy
                    the generator kept up: lag p99 20.0 µs, busiest loop 10 % of a core, 64.0 MiB of
                    memory (precise mode, 1 loop)
                Warning arrivals-paused
                    arrivals were paused for 1 s (from 10 s to 11 s): 50 of 6,000 users due did not
                    start; the load differs from the plan, and figures of the whole run mix periods
                    with and without arrivals
            "#]],
        );
    }

    #[test]
    fn only_the_first_pauses_are_reported_one_by_one() {
        let many = (0..7)
            .map(|n| Pause { from_ns: 10 * n * SECOND, until_ns: Some((10 * n + 1) * SECOND) });
        let text = listed(&many.collect::<Vec<_>>());
        assert!(text.ends_with("from 40 s to 41 s, and 2 more"), "{text}");
    }
}
