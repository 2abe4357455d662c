//! Looks at a history of runs after each of them: false alarms, and how soon a change is seen.

use std::io::{Result, Write};

use stats::change_points::{Options, change_points};
use stats::rng::{Purpose, Rng};

use super::machines::{MACHINES, Machine, Noise, normal};

/// A change is looked for from this run on; none can be significant before.
const FIRST_LOOK: usize = 10;
/// Runs of a history whose end is looked at, and after each of which it is looked at.
const LENGTHS: [usize; 3] = [20, 50, 100];
/// Runs before a planted change.
const BEFORE: usize = 30;
/// Runs after it, at most.
const AFTER_MAX: usize = 60;
/// Standard deviation of the logarithm of a run's figure where a change is planted.
const SCATTER: f64 = 0.05;
const CHANGES: [f64; 4] = [0.02, 0.05, 0.10, 0.20];

/// Histories without a change of one figure.
pub(super) fn alarms(out: &mut dyn Write, histories: u64) -> Result<()> {
    let lengths: Vec<String> = LENGTHS.iter().map(|runs| format!("{runs} runs")).collect();
    writeln!(out, "| noise of a run | look after | {} |", lengths.join(" | "))?;
    writeln!(out, "|---|---|{}", "--:|".repeat(LENGTHS.len()))?;
    let spikes: Noise = |rng, _, _| normal(rng) + if rng.below(20) == 0 { 30.0 } else { 0.0 };
    let kinds = MACHINES.iter().map(|machine| (machine.name, machine.noise));
    let kinds = kinds.filter(|(name, _)| !name.starts_with("slower"));
    for (name, noise) in kinds.chain([("normal, one run in twenty far out", spikes)]) {
        let seen: Vec<Seen> = (0..histories).map(|seed| look(noise, seed)).collect();
        let ways: [(&str, IsAlarm); 2] = [
            ("the last", |seen, place| seen.at_end[place]),
            ("each", |seen, place| seen.first.is_some_and(|runs| runs <= LENGTHS[place])),
        ];
        for (way, is_alarm) in ways {
            let share = |place: usize| {
                let alarms = seen.iter().filter(|seen| is_alarm(seen, place)).count();
                format!("{:.1} %", 100.0 * alarms as f64 / histories as f64)
            };
            let cells: Vec<String> = (0..LENGTHS.len()).map(share).collect();
            writeln!(out, "| {name} | {way} | {} |", cells.join(" | "))?;
        }
        out.flush()?;
    }
    Ok(())
}

/// Whether a history of the length with this number raised an alarm.
type IsAlarm = fn(&Seen, usize) -> bool;

/// What looks at one history saw.
struct Seen {
    /// Runs after which a change was seen for the first time.
    first: Option<usize>,
    /// Whether the last look at a history of each length saw one.
    at_end: [bool; LENGTHS.len()],
}

fn look(noise: Noise, seed: u64) -> Seen {
    let mut rng = Rng::new(seed, 1, Purpose::Value);
    let mut machine = Machine::default();
    let longest = LENGTHS[LENGTHS.len() - 1];
    let all: Vec<f64> = (0..longest).map(|_| machine.block(noise, &mut rng)).collect();
    let sees = |runs: usize| !change_points(&all[..runs], &Options::default()).is_empty();
    let alarms: Vec<usize> = (FIRST_LOOK..=longest).filter(|&runs| sees(runs)).collect();
    Seen { first: alarms.first().copied(), at_end: LENGTHS.map(|runs| alarms.contains(&runs)) }
}

/// Runs of a new level until it is seen.
pub(super) fn delay(out: &mut dyn Write, histories: u64) -> Result<()> {
    writeln!(out, "| the new level is higher by | seen after, median | 90 % of histories |")?;
    writeln!(out, "|--:|--:|--:|")?;
    for change in CHANGES {
        let mut runs: Vec<usize> = (0..histories).map(|seed| seen_after(change, seed)).collect();
        runs.sort_unstable();
        let at = |share: f64| match runs[((runs.len() - 1) as f64 * share) as usize] {
            runs if runs > AFTER_MAX => format!("over {AFTER_MAX} runs"),
            runs => format!("{runs} runs"),
        };
        writeln!(out, "| {:.0} % | {} | {} |", 100.0 * change, at(0.5), at(0.9))?;
        out.flush()?;
    }
    Ok(())
}

fn seen_after(change: f64, seed: u64) -> usize {
    let mut rng = Rng::new(seed, 2, Purpose::Value);
    let all: Vec<f64> = (0..BEFORE + AFTER_MAX)
        .map(|run| {
            let level = if run < BEFORE { 0.0 } else { change.ln_1p() };
            level + SCATTER * normal(&mut rng)
        })
        .collect();
    let sees = |after: usize| {
        let found = change_points(&all[..BEFORE + after], &Options::default());
        // A change far from the planted one is a false alarm.
        found.iter().any(|one| one.at + 5 >= BEFORE)
    };
    (1..=AFTER_MAX).find(|&after| sees(after)).unwrap_or(AFTER_MAX + 1)
}
