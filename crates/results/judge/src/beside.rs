//! Events beside an incident: whatever else began, ended or was at its limit then.

use std::collections::BTreeSet;

use record::schema::EventKind;
use units::clock;

use crate::figures::Figures;
use crate::incidents::Beside;
use crate::limits::{BESIDE_MAX, BESIDE_NS, ERROR_TEXT_CHARS_MAX};
use crate::{faults, pauses, probes};

/// The nearest ones first, in words.
pub(crate) fn of(figures: &Figures, begin_ns: u64, end_ns: u64) -> Vec<String> {
    let mut all = phases(figures, begin_ns, end_ns);
    all.extend(spans(figures, begin_ns, end_ns));
    all.extend(events(figures, begin_ns, end_ns));
    all.extend(probes::beside(figures, begin_ns, end_ns));
    all.extend(connections(figures, begin_ns, end_ns));
    all.retain(|beside| beside.distance_ns <= BESIDE_NS);
    all.sort_by_key(|beside| beside.distance_ns);
    let mut known = BTreeSet::new();
    let texts = all.into_iter().map(|beside| beside.text);
    texts.filter(|text| known.insert(text.clone())).take(BESIDE_MAX).collect()
}

/// `begins 1 s after phase peak`, from the beginning of a phase.
fn phases(figures: &Figures, begin_ns: u64, end_ns: u64) -> Vec<Beside> {
    let mut all = Vec::new();
    for phase in figures.info.phases.iter().skip(1) {
        let near = [("begins", begin_ns), ("ends", end_ns)];
        for (what, at_ns) in near {
            let distance_ns = at_ns.abs_diff(phase.start_ns);
            let text = match (units::span(distance_ns), at_ns < phase.start_ns) {
                _ if distance_ns < 500_000_000 => format!("{what} with phase {}", phase.name),
                (distance, true) => format!("{what} {distance} before phase {}", phase.name),
                (distance, false) => format!("{what} {distance} after phase {}", phase.name),
            };
            all.push(Beside { distance_ns, text });
        }
    }
    all
}

/// Pauses and faults.
fn spans(figures: &Figures, begin_ns: u64, end_ns: u64) -> Vec<Beside> {
    let pauses = pauses::from_events(&figures.events).into_iter();
    let pauses =
        pauses.map(|pause| ("arrivals were paused".to_owned(), pause.from_ns, pause.until_ns));
    let faults = faults::from_events(&figures.events).into_iter();
    let faults =
        faults.map(|fault| (format!("fault `{}`", fault.text), fault.from_ns, fault.until_ns));
    let beside = pauses.chain(faults).filter_map(|(text, from_ns, until_ns)| {
        let until = until_ns.map_or("on".to_owned(), |ns| format!("to {}", clock(ns)));
        let last_ns = until_ns.unwrap_or(u64::MAX);
        let is_near = from_ns <= end_ns && begin_ns <= last_ns.saturating_add(BESIDE_NS);
        let nearest_ns = begin_ns.abs_diff(from_ns).min(begin_ns.abs_diff(last_ns)).min(BESIDE_NS);
        let text = format!("{text} from {} {until}", clock(from_ns));
        is_near.then_some(Beside { distance_ns: nearest_ns, text })
    });
    beside.collect()
}

/// The events at single moments.
fn events(figures: &Figures, begin_ns: u64, end_ns: u64) -> Vec<Beside> {
    let beside = figures.events.iter().filter_map(|event| {
        let what = match &event.what {
            EventKind::WorkerLost { worker, .. } => format!("worker {worker} was lost"),
            EventKind::TargetEnded { target, .. } => format!("{target} ended"),
            EventKind::MemoryPressure { .. } => "the generator's memory ran short".to_owned(),
            EventKind::AddressesChanged { name, .. } => format!("{name} got other addresses"),
            EventKind::ProbeLost { source, .. } => format!("the probe of {source} was lost"),
            EventKind::Note { text } => {
                let text: String = text.chars().take(ERROR_TEXT_CHARS_MAX).collect();
                format!("note: {text}")
            }
            _ => return None,
        };
        let distance_ns = event.at_ns.abs_diff(begin_ns).min(event.at_ns.abs_diff(end_ns));
        Some(Beside { distance_ns, text: format!("{what}, at {}", clock(event.at_ns)) })
    });
    beside.collect()
}

/// Open connections that became many more, or many fewer, while the incident began.
fn connections(figures: &Figures, begin_ns: u64, end_ns: u64) -> Option<Beside> {
    const CHANGE_MIN: f64 = 0.5;
    const CONNECTIONS_MIN: u64 = 10;
    let last_ns = end_ns.min(begin_ns.saturating_add(BESIDE_NS));
    let before = figures.series.iter().rfind(|row| row.end_ns <= begin_ns)?.connections;
    let within =
        figures.series.iter().filter(|row| row.end_ns > begin_ns && row.start_ns < last_ns);
    let row = within.max_by_key(|row| row.connections.abs_diff(before))?;
    let change = row.connections.abs_diff(before);
    let is_great = change >= CONNECTIONS_MIN
        && change as f64 >= CHANGE_MIN * before.max(row.connections) as f64;
    let text = format!(
        "open connections {} → {} at {}",
        units::count(before),
        units::count(row.connections),
        clock(row.end_ns)
    );
    let distance_ns = row.start_ns.saturating_sub(begin_ns);
    is_great.then_some(Beside { distance_ns, text })
}
