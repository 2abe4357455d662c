//! `throng check FILE`: check a scenario and describe what it would do.

use std::fmt::Write as _;

use plan::{Data, End, NamedPopulation, Order, Phase, PhaseKind, Plan};

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

/// By which weights users draw the session in this place; empty: none draws it.
fn weights(plan: &Plan, place: usize) -> String {
    let parts = plan.arrivals().flatten().flat_map(Phase::parts);
    let parts = parts.filter(|part| !matches!(part.kind, PhaseKind::Hold));
    let drawn = parts.filter(|part| part.session.is_none()).map(|part| match &part.weights {
        Some(weights) => weights.get(place).copied().unwrap_or(0.0),
        None => plan.sessions[place].weight,
    });
    let mut all: Vec<f64> = drawn.filter(|weight| *weight > 0.0).collect();
    all.sort_by(f64::total_cmp);
    all.dedup();
    let texts: Vec<String> = all.iter().map(f64::to_string).collect();
    match texts.is_empty() {
        true => String::new(),
        false => format!(", weight {}", texts.join(" or ")),
    }
}

/// How many rows users have, and which of them they take.
fn data_line(data: &Data) -> String {
    let rows = units::counted(data.table.rows_count() as u64, "row");
    let order = match data.order {
        Order::Sequential => "one after the other from the user's number on",
        Order::Random => "drawn at random",
        Order::Unique => "one for each user",
        Order::Once => "each used once",
        Order::Popular(_) => "drawn, some more often than others",
    };
    let end = match data.end {
        _ if data.order.draws() => "",
        End::Wrap => ", then from the first again",
        End::Stop => ", then users leave",
        End::Error => ", then it is an error",
    };
    format!("  data {}: {rows}, {order}{end}", data.name)
}

/// Description of the planned run in a few lines.
fn describe(name: &str, plan: &Plan) -> String {
    let users = units::about(plan.users_planned());
    let at_most = if plan.done_from_ns().is_some() { " at most" } else { "" };
    let length = units::span(plan.end_ns()) + at_most;
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
    for (place, session) in plan.sessions.iter().enumerate() {
        let count = units::counted(session.ops.len() as u64, "instruction");
        let _ = writeln!(text, "  session {}: {count}{}", session.name, weights(plan, place));
    }
    for data in &plan.data {
        let _ = writeln!(text, "{}", data_line(data));
    }
    if !plan.included.is_empty() {
        let names: Vec<_> = plan.included.iter().map(|file| file.name.as_str()).collect();
        let _ = writeln!(text, "  includes: {}", names.join(", "));
    }
    let measures: Vec<_> = plan.measures.iter().map(|measure| measure.name.as_str()).collect();
    let _ = writeln!(text, "  measures: {}", measures.join(", "));
    if !plan.metrics.is_empty() {
        let metrics = plan.metrics.iter();
        let metrics: Vec<_> =
            metrics.map(|one| format!("{} ({})", one.name, one.kind.name())).collect();
        let _ = writeln!(text, "  metrics: {}", metrics.join(", "));
    }
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
    use scenario::{Settings, Source};

    use super::*;

    /// The lines of the description of this scenario that begin with one of these words.
    fn lines(text: &str, words: &[&str]) -> Vec<String> {
        let files = |name: &str| match name {
            "more.yaml" => Ok("metrics: { orders: counter }\n".to_owned()),
            _ => Ok("name\nann\nbob\n".to_owned()),
        };
        let settings = Settings { overrides: &[], env: &|_| None, files: &files };
        let source = Source { name: "a.yaml", text };
        let (plan, diagnostics) = scenario::compile(source, &settings);
        let plan = plan.unwrap_or_else(|| panic!("{}", scenario::render(&diagnostics, source)));
        let described = describe("a.yaml", &plan);
        let begins = |line: &&str| words.iter().any(|word| line.trim_start().starts_with(word));
        described.lines().filter(begins).map(|line| line.trim_start().to_owned()).collect()
    }

    const SESSIONS: &str = "target: http://127.0.0.1/\nsessions:\n  a: [ { feed: people }, { get: / } ]\n  \
                            b: { weight: 3, steps: [ { get: /b } ] }\n\
                            data: { people: { file: people.csv, order: once } }\n";

    /// A phase and a population may have weights of their own, and name a session.
    #[test]
    fn weights_are_those_by_which_users_draw() {
        let found = |arrivals: &str| lines(&format!("{SESSIONS}{arrivals}"), &["session "]);
        assert_eq!(
            found("arrivals: [ { constant: 1/s, for: 1s } ]"),
            ["session a: 2 instructions, weight 1", "session b: 1 instruction, weight 3"]
        );
        assert_eq!(
            found(
                "arrivals: [ { constant: 1/s, for: 1s }, { constant: 1/s, for: 1s, sessions: { a: 5 } }, { hold: 1s } ]"
            ),
            ["session a: 2 instructions, weight 1 or 5", "session b: 1 instruction, weight 3"]
        );
        assert_eq!(
            found(
                "populations:\n  x: { session: a, arrivals: [ { users: 2, for: 1s } ] }\n  \
                 y: { sessions: { a: 1, b: 2 }, arrivals: [ { users: 2, for: 1s } ] }\n"
            ),
            [
                "session a (x): 2 instructions",
                "session a (y): 2 instructions, weight 1",
                "session b: 1 instruction, weight 2"
            ]
        );
    }

    #[test]
    fn rows_metrics_and_included_files_are_listed() {
        let text = format!(
            "{SESSIONS}include: [ more.yaml ]\narrivals: [ {{ users: 2, iterations: 7, for: 1m }} ]\n"
        );
        assert_eq!(
            lines(&text, &["a.yaml", "phase", "data", "includes", "metrics"]),
            [
                "a.yaml is valid: \"a\", 2 users in 1 min at most",
                "phase users: 1 min, 2 users, 7 sessions in all",
                "data people: 2 rows, each used once, then users leave",
                "includes: more.yaml",
                "metrics: orders (counter)",
            ]
        );
    }

    #[test]
    fn a_population_of_single_users_has_no_number_of_sessions() {
        let singles =
            NamedPopulation { name: "a".to_owned(), phases: Vec::new(), singles_count: 2 };
        assert_eq!(population_line(&singles), "  population a: 2 users");
    }
}
