//! Figures of sessions: `failed(sessions)`, `p95(sessions)`.

use plan::{Basis, Stat};

use super::{Counts, RunValue, of_counts, of_responses, of_times};
use crate::figures::Figures;

/// The figure in its base unit, or its lower bound; `None` where there is nothing to take it from.
pub(super) fn find(
    figures: &Figures,
    stat: Stat,
    basis: Basis,
    phase: Option<usize>,
) -> Option<RunValue> {
    if stat.is_of_times() && basis == Basis::Response {
        return of_responses(stat, &figures.session_cell(phase));
    }
    let exact = match stat {
        Stat::Offered if phase.is_some() => None,
        Stat::Offered => per_second(figures, phase, figures.sessions_due()),
        Stat::Begun => per_second(figures, phase, figures.sessions_of_load(phase).started),
        _ if stat.is_of_times() => of_times(stat, &figures.session_cell(phase).response),
        _ => counted(figures, stat, basis, phase),
    };
    exact.map(|value| RunValue { value, is_bound: false })
}

fn counted(figures: &Figures, stat: Stat, basis: Basis, phase: Option<usize>) -> Option<f64> {
    let all = figures.sessions(phase);
    // What is completed in the drain is in no rate.
    let within = figures.sessions_of_load(phase);
    let (counted, completed) = match basis {
        Basis::Succeeded => (all.finished, within.finished),
        Basis::Response | Basis::Service | Basis::Lag => (all.ended(), within.ended()),
    };
    let counts = Counts {
        ended: all.ended(),
        // Those of an earlier phase may end in this one.
        begun: all.started.max(all.ended()),
        counted,
        completed,
        failed: all.failed,
        seconds: figures.seconds(phase),
        may_be_none: false,
    };
    of_counts(stat, &counts)
}

/// Nothing begun or offered is no result.
fn per_second(figures: &Figures, phase: Option<usize>, sessions: u64) -> Option<f64> {
    let seconds = figures.seconds(phase);
    (sessions > 0 && seconds > 0.0).then(|| sessions as f64 / seconds)
}
