//! `throng check FILE`: check a scenario and describe what it would do.

use std::fmt::Write as _;

use plan::{NamedPopulation, Phase, PhaseKind, Plan};

use crate::args::CheckArgs;
use crate::exit::{Exit, Failure, print_text};
use crate::source::{self, CompiledScenario};
use crate::terminal;

pub(crate) fn check(args: &CheckArgs) -> Result<Exit, Failure> {
    let text = source::scenario(&args.file, args.tsung.leniency())?;
    let CompiledScenario { plan, .. } = source::compile(&text, &args.sets.sets)?;
    let load = report::planned(&plan, terminal::columns(), terminal::style());
    print_text(&(describe(&text.name, &plan) + &load))
}

/// How many sessions users begin together, if that is fixed.
fn sessions_in_all(sessions: Option<u64>) -> String {
    sessions.map_or_else(String::new, |sessions| {
        format!(", {} in all", units::counted(sessions, "session"))
    })
}

/// A population's length, users and sessions, as far as they are known.
fn population_line(population: &NamedPopulation) -> String {
    let NamedPopulation { name, phases, singles_count } = population;
    let length = phases.last().map_or_else(String::new, |last| units::span(last.end_ns()) + ", ");
    let users: f64 = phases.iter().map(Phase::users_planned).sum();
    let users = units::about(users + *singles_count as f64);
    let own = phases.iter().filter(|phase| !matches!(phase.kind, PhaseKind::Hold));
    let sessions: Option<u64> = own.map(Phase::sessions_planned).sum();
    // The sum of none is known, but nothing.
    let sessions = sessions.filter(|sessions| *sessions > 0);
    let sessions = sessions_in_all(sessions.map(|sessions| sessions + singles_count));
    format!("  population {name}: {length}{users} users{sessions}")
}

/// Description of the planned run in a few lines.
fn describe(name: &str, plan: &Plan) -> String {
    let users = units::about(plan.users_planned());
    let length = units::span(plan.end_ns());
    // Writing to a String cannot fail.
    let mut text = format!("{name} is valid: {:?}, {users} users in {length}\n", plan.name);
    for phase in &plan.phases {
        let length = units::span(phase.duration_ns);
        let users = units::about(plan.users_planned_in(phase));
        let own = phase.sessions_planned().filter(|_| plan.populations.is_empty());
        let sessions = sessions_in_all(own);
        let _ = writeln!(text, "  phase {}: {length}, {users} users{sessions}", phase.name);
    }
    for population in plan.populations.iter().filter(|population| !population.name.is_empty()) {
        let _ = writeln!(text, "{}", population_line(population));
    }
    for region in &plan.regions {
        let total: f64 = plan.regions.iter().map(|region| region.share).sum();
        let share = units::percent(region.share / total);
        let _ = writeln!(text, "  region {}: {share} of the users", region.name);
    }
    for once in [&plan.setup, &plan.teardown].into_iter().flatten() {
        let count = units::counted(once.session.ops.len() as u64, "instruction");
        let limit = units::span(once.time_limit_ns);
        let _ = writeln!(text, "  {}: {count}, at most {limit}", once.session.name);
    }
    for session in &plan.sessions {
        let count = units::counted(session.ops.len() as u64, "instruction");
        let _ = writeln!(text, "  session {}: {count}, weight {}", session.name, session.weight);
    }
    let measures: Vec<_> = plan.measures.iter().map(|measure| measure.name.as_str()).collect();
    let _ = writeln!(text, "  measures: {}", measures.join(", "));
    for threshold in &plan.thresholds {
        let _ = writeln!(text, "  threshold: {}", threshold.text);
    }
    for abort in &plan.aborts {
        let over = abort
            .over_ns
            .map_or_else(String::new, |over_ns| format!(" over {}", units::span(over_ns)));
        let after = match abort.after_ns {
            0 => String::new(),
            after_ns => format!(", after {}", units::span(after_ns)),
        };
        let text_of = &abort.threshold.text;
        let _ = writeln!(text, "  ends the run unless: {text_of}{over}{after}");
    }
    if let Some(until) = &plan.until {
        let figures: Vec<&str> = until.figures.iter().map(|one| one.text.as_str()).collect();
        let at_most = units::span(until.at_most_ns);
        let _ = writeln!(
            text,
            "  ends as soon as this is known: {}, or after {at_most}",
            figures.join(" and ")
        );
    }
    for probe in &plan.probes {
        let _ = writeln!(text, "  probe: {} of {}", probe.kind.word(), probe.source());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_population_of_single_users_has_no_number_of_sessions() {
        let singles =
            NamedPopulation { name: "a".to_owned(), phases: Vec::new(), singles_count: 2 };
        assert_eq!(population_line(&singles), "  population a: 2 users");
    }
}
