//! Agents and runs as tables.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use fleet::{Admin, AgentCard, FleetError, RunState, RunStatus};
use machine::limits::about;

/// The agents by what they do, and the runs.
pub(super) fn status(admin: &Admin) -> Result<String, FleetError> {
    let agents = admin.agents()?;
    let runs = admin.runs()?;
    let free = agents.iter().filter(|card| card.run.is_none() && !card.draining);
    let holds: u64 = free.clone().map(|card| card.holds).sum();
    let count = |n: usize, what| units::counted(n as u64, what);
    let mut text = format!(
        "{}, {} free: about {} users at once\n{} in progress\n",
        count(agents.len(), "agent"),
        free.count(),
        about(holds),
        count(runs.len(), "run")
    );
    for run in runs {
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "{}  {}  on {}  from {}",
            run.run,
            run.scenario,
            run.agents.join(", "),
            run.host
        );
    }
    Ok(text)
}

/// A line for each agent.
pub(super) fn agents(agents: &[AgentCard]) -> String {
    let head =
        ["agent", "throng", "cores", "memory", "holds", "state", "labels"].map(str::to_owned);
    let rows = agents.iter().map(|card| {
        [
            card.name.clone(),
            card.throng.clone(),
            card.cores.to_string(),
            units::bytes(card.memory_bytes),
            about(card.holds),
            match (&card.run, card.draining) {
                (Some(run), false) => format!("run {run}"),
                (Some(run), true) => format!("run {run}, drains"),
                (None, true) => "drains".to_owned(),
                (None, false) => "free".to_owned(),
            },
            labels(&card.labels),
        ]
    });
    table(std::iter::once(head).chain(rows))
}

/// A line for each run.
pub(super) fn runs(runs: &[RunStatus]) -> String {
    let head = ["run", "state", "scenario", "agents", "controller"].map(str::to_owned);
    let rows = runs.iter().map(|run| {
        let card = &run.card;
        [
            card.run.clone(),
            match (run.state, &card.outcome) {
                (RunState::Running, _) => "running".to_owned(),
                (RunState::Orphaned, _) => "orphaned".to_owned(),
                (RunState::Ended, Some(outcome)) => format!("ended: {outcome}"),
                (RunState::Ended, None) => "ended".to_owned(),
            },
            card.scenario.clone(),
            card.agents.len().to_string(),
            card.host.clone(),
        ]
    });
    table(std::iter::once(head).chain(rows))
}

/// Rows in columns that are as wide as they must be.
fn table<const N: usize>(rows: impl Iterator<Item = [String; N]>) -> String {
    let rows: Vec<[String; N]> = rows.collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: [usize; N] = std::array::from_fn(|column| width(column).unwrap_or(0));
    let lines = rows.iter().map(|row| {
        let cells = row.iter().zip(&widths);
        let line: String = cells.map(|(cell, width)| format!("{cell:<width$}  ")).collect();
        line.trim_end().to_owned() + "\n"
    });
    lines.collect()
}

fn labels(labels: &BTreeMap<String, String>) -> String {
    let labels = labels.iter().map(|(key, value)| format!("{key}={value}"));
    labels.collect::<Vec<_>>().join(" ")
}
