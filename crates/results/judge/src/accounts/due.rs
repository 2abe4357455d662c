//! Users, operations and steps that were due and did not begin.
//!
//! Operations of each measure: due = begun + never begun. Users: due = started + refused + kept away by a pause +
//! not started in time.

use record::schema::{Finding, RunStatus, Severity, WhyNot};

use crate::figures::Figures;
use crate::finding::finding;

/// Users, operations or steps that were due, and those of them that are accounted for.
struct Sum {
    of: String,
    due: u64,
    accounted: u64,
    /// The clause that follows the number of those accounted for.
    what: &'static str,
}

/// The first sum that does not hold. Only of a run that came to its end with all its workers.
pub(super) fn broken(figures: &Figures) -> Option<Finding> {
    let is_complete = figures.info.status != RunStatus::Running && figures.info.ended_ns > 0;
    if figures.due.is_empty() || !is_complete || figures.losses().next().is_some() {
        return None;
    }
    let users_due = figures.total(|row| row.users_fell_due);
    let users = figures.users_begun()
        + figures.users_kept_away()
        + figures.total(|row| row.users_unstarted);
    let users = Sum {
        of: "users".to_owned(),
        due: users_due,
        accounted: users,
        what: "are accounted for as started, refused, kept away by a pause or not started in time",
    };
    let missed_in = |number: usize| -> u64 { figures.never_begun_of(&[number]).values().sum() };
    let measures = figures.info.measures.iter().enumerate();
    let operations = measures.map(|(number, measure)| {
        let begun = figures.begun.get(number).copied().unwrap_or(0);
        Sum {
            of: format!("operations of {}", measure.name),
            due: figures.due.get(number).copied().unwrap_or(0),
            accounted: begun + missed_in(number),
            what: "began or are accounted for as never begun",
        }
    });
    let steps = Sum {
        of: "steps that never began".to_owned(),
        due: figures.total(|row| row.steps_missed),
        accounted: figures.never_begun.iter().map(|m| m.operations).sum(),
        what: "are accounted for by measure",
    };
    let mut sums = std::iter::once(users).chain(operations).chain([steps]);
    let Sum { of, due, accounted, what } = sums.find(|sum| sum.due != sum.accounted)?;
    let text = format!(
        "the record's sums do not hold: {} {of} were due, and {} {what}; this is a fault of Throng",
        units::count(due),
        units::count(accounted),
    );
    Some(
        finding(Severity::Fatal, "sums-broken", text)
            .with("due", due as f64)
            .with("accounted", accounted as f64)
            .done(),
    )
}

/// Steps that were due and never began, and why.
pub(super) fn missed(figures: &Figures) -> Option<Finding> {
    let steps = figures.total(|row| row.steps_missed);
    let mut text = format!(
        "{} due before the end and never begun: ",
        match steps {
            0 => return None,
            1 => "1 step was".to_owned(),
            _ => format!("{} steps were", units::count(steps)),
        }
    );
    let reasons = WhyNot::ALL.map(|why| (why, figures.never_begun_since(why)));
    let known = reasons.iter().filter(|(_, steps)| !steps.is_empty());
    let parts = known.clone().map(|(why, steps)| {
        let steps: Vec<String> =
            steps.iter().map(|(name, n)| format!("{} × {name}", units::count(*n))).collect();
        format!("{} since {}", super::listed(&steps), reason(*why))
    });
    let parts: Vec<String> = parts.collect();
    text += &match parts.is_empty() {
        // A record that does not say more.
        true => reason(WhyNot::Busy).to_owned(),
        false => parts.join("; "),
    };
    let mut draft = finding(Severity::Warning, "steps-missed", text).with("steps", steps as f64);
    for (why, steps) in known {
        let steps: u64 = steps.iter().map(|(_, n)| n).sum();
        draft = draft.with(why.name(), steps as f64);
    }
    Some(draft.done())
}

fn reason(why: WhyNot) -> &'static str {
    match why {
        WhyNot::Busy => "their users were still busy",
        WhyNot::Late => "the generator did not come to them in time",
        WhyNot::Failed => "their sessions had failed",
        WhyNot::Stopped => "a limit of the generator had stopped their sessions",
    }
}

#[cfg(test)]
mod tests {
    use record::schema::NeverBegun;

    use super::*;
    use crate::sample;

    /// The sample, which accounts for what was due.
    fn figures() -> Figures {
        let mut figures = sample::with_rows(|row| row.users_fell_due = 100);
        figures.begun = vec![0, 6_000];
        figures.due = vec![0, 6_000];
        figures
    }

    fn never(why: WhyNot, operations: u64) -> NeverBegun {
        let measure = sample::REQUEST as u16;
        NeverBegun { measure, why, operations }
    }

    fn text(found: Option<Finding>) -> String {
        found.map_or_else(String::new, |finding| finding.text)
    }

    #[test]
    fn what_was_due_begins_or_is_accounted_for() {
        let mut figures = figures();
        assert_eq!(text(broken(&figures)), "");
        figures.due[sample::REQUEST] += 3;
        assert_eq!(
            text(broken(&figures)),
            "the record's sums do not hold: 6,003 operations of request were due, and 6,000 began or are accounted \
             for as never begun; this is a fault of Throng"
        );
        figures.never_begun = vec![never(WhyNot::Late, 2), never(WhyNot::Failed, 1)];
        assert!(text(broken(&figures)).contains("0 steps that never began were due, and 3 are"));
        figures.series[9].steps_missed = 3;
        assert_eq!(text(broken(&figures)), "");
        // A record that does not say what was due.
        figures.due.clear();
        assert_eq!(text(broken(&figures)), "");
    }

    #[test]
    fn users_that_were_due_are_accounted_for() {
        let mut figures = figures();
        figures.series[3].users_fell_due += 7;
        assert!(text(broken(&figures)).contains("6,007 users were due, and 6,000 are accounted"));
        let row = &mut figures.series[3];
        row.users_unstarted = 1;
        row.users_refused = 2;
        // Three of five that were due in a pause started after it, and are among those that started.
        row.users_paused = 5;
        row.users_resumed = 1;
        assert_eq!(text(broken(&figures)), "");
    }

    #[test]
    fn steps_that_never_began_are_named_with_the_reason() {
        let mut figures = figures();
        figures.series[59].steps_missed = 490;
        assert_eq!(
            text(missed(&figures)),
            "490 steps were due before the end and never begun: their users were still busy"
        );
        figures.never_begun = vec![never(WhyNot::Busy, 480), never(WhyNot::Failed, 10)];
        assert_eq!(
            text(missed(&figures)),
            "490 steps were due before the end and never begun: 480 × request since their users were still busy; \
             10 × request since their sessions had failed"
        );
        let measures = crate::measures(&figures, None);
        let request = measures.iter().find(|m| m.name == "request").unwrap();
        assert_eq!(request.due, Some(6_000));
        assert_eq!(request.never_begun["busy"], 480);
        assert_eq!(text(missed(&sample::figures())), "");
    }
}
