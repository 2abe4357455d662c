//! Faults that were made on purpose while the run went on, and what they did to operations.
//!
//! Availability during a fault is the share of operations that succeeded in the seconds that it touched. A second is
//! hurt if a larger share of its operations failed than in any second before the first fault.

use record::schema::{Event, EventKind, Finding, SeriesRow, Severity};

use crate::case::Case;
use crate::figures::Figures;
use crate::finding::finding;

/// Most faults that get a finding of their own.
const FINDINGS_MAX: usize = 20;

/// A fault and its time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault<'e> {
    /// Different for each.
    pub number: u32,
    /// The fault in words.
    pub text: &'e str,
    /// Since the run's start.
    pub from_ns: u64,
    /// Since the run's start; `None`: it lasted to the end.
    pub until_ns: Option<u64>,
}

/// All faults of these events, in the order of their beginnings.
pub fn from_events(events: &[Event]) -> Vec<Fault<'_>> {
    let mut faults: Vec<Fault<'_>> = Vec::new();
    for event in events {
        match &event.what {
            EventKind::FaultBegan { number, text } => {
                faults.push(Fault { number: *number, text, from_ns: event.at_ns, until_ns: None });
            }
            EventKind::FaultEnded { number, .. } => {
                let begun = faults.iter_mut().find(|fault| fault.number == *number);
                if let Some(fault) = begun {
                    fault.until_ns = Some(event.at_ns);
                }
            }
            _ => {}
        }
    }
    faults
}

/// The effect of a fault on operations.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Effect {
    /// Operations of steps that ended in the seconds that it touched, and steps that failed of themselves.
    done: u64,
    /// Failures among these.
    errors: u64,
    /// Time from its beginning to the end of the first hurt second.
    detected_ns: Option<u64>,
    /// Time from its end to the end of the last second that was hurt without a break.
    recovered_ns: Option<u64>,
}

/// A finding for each fault, with its effect.
pub(crate) fn findings(case: &Case<'_>) -> Vec<Finding> {
    let figures = case.figures;
    let faults = from_events(&figures.events);
    let Some(first_ns) = faults.iter().map(|fault| fault.from_ns).min() else {
        return Vec::new();
    };
    let quiet = figures.series.iter().filter(|row| row.end_ns <= first_ns);
    let usual = quiet.map(failed_share).fold(0.0, f64::max);
    let shown = faults.iter().take(FINDINGS_MAX);
    shown.map(|fault| describe(figures, fault, usual)).collect()
}

fn failed_share(row: &SeriesRow) -> f64 {
    match row.errors_among() {
        0 => 0.0,
        all => row.errors as f64 / all as f64,
    }
}

fn effect(figures: &Figures, fault: &Fault<'_>, usual: f64) -> Effect {
    let end_ns = figures.ended_ns();
    let until_ns = fault.until_ns.unwrap_or(end_ns);
    let is_hurt = |row: &&SeriesRow| row.errors > 0 && failed_share(row) > usual;
    let touched = |row: &&SeriesRow| row.end_ns > fault.from_ns && row.start_ns < until_ns;
    let during = || figures.series.iter().filter(touched);
    let after = figures.series.iter().filter(|row| row.end_ns > until_ns);
    let hurt = after.take_while(is_hurt).last();
    // Operations that waited for its end and failed after it are its effect, too.
    let first = figures
        .series
        .iter()
        .filter(|row| row.end_ns > fault.from_ns)
        .find(is_hurt)
        .filter(|row| row.start_ns <= until_ns);
    Effect {
        done: during().map(SeriesRow::errors_among).sum(),
        errors: during().map(|row| row.errors).sum(),
        detected_ns: first.map(|row| row.end_ns - fault.from_ns),
        recovered_ns: hurt.map(|row| row.end_ns - until_ns),
    }
}

fn describe(figures: &Figures, fault: &Fault<'_>, usual: f64) -> Finding {
    let effect = effect(figures, fault, usual);
    let available = match effect.done {
        0 => 0.0,
        done => 1.0 - effect.errors as f64 / done as f64,
    };
    let time = match fault.until_ns {
        Some(until_ns) => {
            format!("from {} to {}", units::span(fault.from_ns), units::span(until_ns))
        }
        None => format!("from {} to the end", units::span(fault.from_ns)),
    };
    let done = units::counted(effect.done, "operation");
    let text = match effect.detected_ns {
        None => format!(
            "fault `{}` {time}: no larger share of operations failed than before ({done})",
            fault.text
        ),
        Some(detected_ns) => format!(
            "fault `{}` {time}: {} of {done} failed, availability {}; errors began within {}, and {}",
            fault.text,
            units::count(effect.errors),
            units::share(available),
            units::span(detected_ns),
            match (fault.until_ns, effect.recovered_ns) {
                (None, _) => "the fault never ended".to_owned(),
                (Some(_), None) => "ended with it".to_owned(),
                (Some(_), Some(ns)) => format!("ended within {} of its end", units::span(ns)),
            }
        ),
    };
    let mut draft = finding(Severity::Note, "fault", text)
        .with("from_ns", fault.from_ns as f64)
        .with("done", effect.done as f64)
        .with("errors", effect.errors as f64)
        .with("availability", available);
    for (name, value) in [
        ("until_ns", fault.until_ns),
        ("detected_ns", effect.detected_ns),
        ("recovered_ns", effect.recovered_ns),
    ] {
        if let Some(value) = value {
            draft = draft.with(name, value as f64);
        }
    }
    draft.done()
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crate::sample::{SECOND, figures, rendered};

    /// The sample's run with a fault, and this many errors in each of some seconds.
    fn check(from: u64, until: Option<u64>, errors: &[(usize, u64)], expect: &Expect) {
        let mut figures = figures();
        let text = "killed: api".to_owned();
        let mut push = |second: u64, what| {
            let at_ns = second * SECOND;
            figures.events.push(Event { at_ns, what });
        };
        push(from, EventKind::FaultBegan { number: 1, text: text.clone() });
        if let Some(until) = until {
            push(until, EventKind::FaultEnded { number: 1, text });
        }
        for row in &mut figures.series {
            row.operations_ended = 100;
            row.errors = 0;
        }
        for &(second, errors) in errors {
            figures.series[second].errors = errors;
        }
        expect.assert_eq(&rendered(&findings(&Case::new(&figures, &[]))));
    }

    #[test]
    fn a_fault_has_its_availability_and_the_times_of_detection_and_recovery() {
        check(
            20,
            Some(30),
            &[(22, 50), (23, 100), (29, 10), (30, 40), (31, 1)],
            &expect![[r#"
                Note fault
                    fault `killed: api` from 20 s to 30 s: 160 of 1,000 operations failed,
                    availability 84 %; errors began within 3 s, and ended within 2 s of its end
            "#]],
        );
    }

    #[test]
    fn errors_as_usual_are_no_effect() {
        check(
            20,
            Some(30),
            &[(5, 10), (25, 10)],
            &expect![[r#"
            Note fault
                fault `killed: api` from 20 s to 30 s: no larger share of operations failed than
                before (1,000 operations)
        "#]],
        );
    }

    #[test]
    fn a_fault_may_last_to_the_end() {
        check(
            50,
            None,
            &[(50, 10), (59, 10)],
            &expect![[r#"
            Note fault
                fault `killed: api` from 50 s to the end: 20 of 1,000 operations failed,
                availability 98 %; errors began within 1 s, and the fault never ended
        "#]],
        );
    }
}
