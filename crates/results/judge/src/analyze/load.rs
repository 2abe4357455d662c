//! Whether the plan itself changes the load while a run is analysed: then there is no steady state to find.

use record::schema::PhaseInfo;

use super::seconds::{Seconds, Slot};

/// The greatest load of the same plan, as a multiple of the least.
const TIMES_MAX: f64 = 1.25;
/// Loads with fewer users than this that are due say nothing.
const USERS_MIN: f64 = 20.0;
/// Parts of a phase whose loads are compared.
const PARTS: usize = 3;

/// A part of a phase: users due by second.
struct PhasePart<'s> {
    phase: &'s str,
    users: f64,
    per_s: f64,
}

/// How the planned load changes, in words; `None`: it does not, or the record does not say.
pub(super) fn change(seconds: &Seconds) -> Option<String> {
    let phases = seconds.info.phases.iter();
    let within =
        |phase: &&PhaseInfo| phase.start_ns < seconds.end_ns() && seconds.start_ns() < phase.end_ns;
    let mut closed: Option<(&str, u64)> = None;
    let mut parts: Vec<PhasePart<'_>> = Vec::new();
    for phase in phases.filter(within) {
        let slots = seconds.slots.iter();
        let slots: Vec<&Slot> = slots.filter(|slot| is_in(slot, phase)).collect();
        if phase.kind == "closed-ramp" || phase.users_vary {
            return Some(format!("the number of users changes in phase {}", phase.name));
        }
        match phase.kind.as_str() {
            "closed" => {
                let users = slots.iter().map(|slot| slot.row.users).max().unwrap_or(0);
                if let Some((name, before)) = closed.filter(|&(_, before)| differ(before, users)) {
                    return Some(format!(
                        "phase {name} has {} and phase {} has {}",
                        units::counted(before, "user"),
                        phase.name,
                        units::count(users)
                    ));
                }
                closed = Some((&phase.name, users));
            }
            "rate" | "poisson" => {
                let length = slots.len().div_ceil(PARTS).max(1);
                parts.extend(slots.chunks(length).map(|part| PhasePart::of(&phase.name, part)));
            }
            _ => {}
        }
    }
    let known = || parts.iter().filter(|part| part.users >= USERS_MIN);
    let most = known().max_by(|a, b| a.per_s.total_cmp(&b.per_s))?;
    let least = parts.iter().min_by(|a, b| a.per_s.total_cmp(&b.per_s))?;
    let is_changing = most.per_s > TIMES_MAX * least.per_s;
    let from = units::rate(least.per_s);
    let to = units::rate(most.per_s);
    is_changing.then(|| match most.phase == least.phase {
        true => format!("the load changes in phase {}, from about {from} to {to}", most.phase),
        false => format!(
            "the load is about {from} in phase {} and {to} in phase {}",
            least.phase, most.phase
        ),
    })
}

fn differ(one: u64, other: u64) -> bool {
    one.max(other) as f64 > TIMES_MAX * one.min(other) as f64
}

fn is_in(slot: &Slot, phase: &PhaseInfo) -> bool {
    let middle_ns = slot.start_ns + (slot.end_ns - slot.start_ns) / 2;
    (phase.start_ns..phase.end_ns).contains(&middle_ns)
}

impl<'s> PhasePart<'s> {
    fn of(phase: &'s str, slots: &[&Slot]) -> PhasePart<'s> {
        // How often users of closed populations begin again follows from the target, not from the plan.
        let due = |slot: &&Slot| slot.row.users_due.saturating_sub(slot.row.users_repeated) as f64;
        let users: f64 = slots.iter().map(due).sum();
        let length_s: f64 = slots.iter().map(|slot| slot.seconds()).sum();
        PhasePart { phase, users, per_s: users / length_s.max(1e-9) }
    }
}
