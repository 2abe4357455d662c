//! When a step was worse than in the rest of its run: incidents, stalls that come back, responses that grow.
//!
//! ```text
//! latency.hlog ─figures::read→ windows of each measure ─steps→ series of steps and tags
//!                                series ─windows→ what was worse, from when to when ─times→ p50, p90
//! ```
//! Everything is found from what is counted by second while the figures are read: no row is read. If a run has incidents,
//! the log is read once more for the percentiles in them, and only for their steps.

mod growth;
mod periods;
mod steps;
mod text;
mod windows;

use std::collections::HashMap;

use record::schema::{Incident, IncidentFigures, IncidentKind, RunStatus};
use record::{RecordError, Run};
use stats::hist::LogHistogram;

use crate::figures::{Figures, Windows};
use crate::limits::{INCIDENT_SERIES_MAX, INCIDENT_SLOTS_MAX, INCIDENTS_MAX};
pub(crate) use growth::Growth;
pub(crate) use periods::PeriodicStall;
use windows::IncidentWindow;

/// Most slots of a run that goes on in which incidents are looked for.
const SO_FAR_SLOTS_MAX: usize = 600;
/// Most of its series.
const SO_FAR_SERIES_MAX: usize = 40;

/// Something beside an incident.
pub(crate) struct Beside {
    /// How far it is from the beginning or the end of the incident.
    pub(crate) distance_ns: u64,
    pub(crate) text: String,
}

/// The incidents of a run, and stalls and growth of single steps.
#[derive(Debug, Clone, Default)]
pub(crate) struct RunIncidents {
    /// The gravest first.
    pub(crate) incidents: Vec<Incident>,
    /// The number of further ones.
    pub(crate) left_out: usize,
    pub(crate) stalls: Vec<PeriodicStall>,
    pub(crate) growths: Vec<Growth>,
}

/// In how much of a run incidents are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Search {
    /// Most slots: seconds or, in longer runs, several.
    pub(crate) slots_max: usize,
    /// Most series: steps, those with the most operations first, and their tags.
    pub(crate) series_max: usize,
}

impl Search {
    /// That of a run that has ended.
    const WHOLE: Search = Search { slots_max: INCIDENT_SLOTS_MAX, series_max: INCIDENT_SERIES_MAX };
    /// That of a run that goes on, and is searched again and again on the machine of its generator.
    pub(crate) const SO_FAR: Search =
        Search { slots_max: SO_FAR_SLOTS_MAX, series_max: SO_FAR_SERIES_MAX };
}

/// Response times of successes in one incident, and outside of the incidents of its step.
#[derive(Debug, Clone, Default)]
struct Times {
    during: LogHistogram,
    usual: LogHistogram,
}

/// The windows of a run, before their percentiles are known.
#[derive(Debug, Default)]
struct RunWindows {
    windows: Vec<IncidentWindow>,
    stalls: Vec<PeriodicStall>,
    growths: Vec<Growth>,
}

impl RunIncidents {
    /// Finds what broke, without percentiles: figures have none of single windows.
    pub(crate) fn find(figures: &Figures) -> RunIncidents {
        RunIncidents::of(figures, find(figures, &figures.all_windows(), Search::WHOLE), &[])
    }

    /// Finds what broke so far in a run that goes on, whose operations these windows count.
    pub(crate) fn so_far(figures: &Figures, windows: &Windows<'_>) -> RunIncidents {
        RunIncidents::of(figures, find(figures, windows, Search::SO_FAR), &[])
    }

    /// Finds what broke, and reads the percentiles in and outside of the incidents.
    ///
    /// # Errors
    /// The latency log cannot be read.
    pub(crate) fn read(figures: &Figures, run: &Run) -> Result<RunIncidents, RecordError> {
        let all = find(figures, &figures.all_windows(), Search::WHOLE);
        let times = read_times(figures, run, &all.windows)?;
        Ok(RunIncidents::of(figures, all, &times))
    }

    /// The windows in words, with the times of as many of them as they were read of.
    fn of(figures: &Figures, all: RunWindows, times: &[Times]) -> RunIncidents {
        let windows = all.windows.iter().enumerate();
        let mut incidents: Vec<Incident> =
            windows.map(|(number, found)| described(figures, found, times.get(number))).collect();
        incidents.sort_by(|a, b| gravity(b).total_cmp(&gravity(a)));
        let left_out = incidents.len().saturating_sub(INCIDENTS_MAX);
        incidents.truncate(INCIDENTS_MAX);
        RunIncidents { incidents, left_out, stalls: all.stalls, growths: all.growths }
    }

    /// True if answers of the step were slow in a window, or came in stalls or ever later.
    pub(crate) fn explains_response(&self, step: &str) -> bool {
        let slow = self
            .incidents
            .iter()
            .filter(|incident| incident.kinds.iter().any(|kind| *kind != IncidentKind::Errors));
        slow.map(|incident| incident.step.as_str())
            .chain(self.stalls.iter().map(|stall| stall.step.as_str()))
            .chain(self.growths.iter().map(|growth| growth.step.as_str()))
            .any(|known| known == step)
    }
}

fn find(figures: &Figures, windows: &Windows<'_>, search: Search) -> RunWindows {
    let all = steps::all(figures, windows, search);
    let alpha = windows::alpha(all.iter().map(|step| 1 + step.parts.len()).sum());
    let mut found = RunWindows::default();
    for step in &all {
        let windows = windows::of_step(step, alpha);
        if let Some(stall) = periods::of(&step.series) {
            // Each stall is a window of its own, and all of them are named as one. What failed for longer is none of them.
            let period_ns = stall.period_ns();
            found.windows.extend(windows.into_iter().filter(|own| own.has_failures_for(period_ns)));
            found.stalls.push(stall);
            continue;
        }
        match growth::of(&step.series, &windows, alpha) {
            Some(growth) => {
                let others = windows.into_iter().filter(|window| !window.is_slow_to_the_end());
                found.windows.extend(others);
                found.growths.push(growth);
            }
            None => found.windows.extend(windows),
        }
    }
    found
}

/// The response times in each of these windows, and outside of those of its step.
fn read_times(
    figures: &Figures,
    run: &Run,
    windows: &[IncidentWindow],
) -> Result<Vec<Times>, RecordError> {
    let mut times = vec![Times::default(); windows.len()];
    if windows.is_empty() {
        return Ok(times);
    }
    let mut users: HashMap<&str, Vec<usize>> = HashMap::new();
    for (number, found) in windows.iter().enumerate() {
        for &measure in &found.measures {
            users.entry(&figures.info.measures[measure].name).or_default().push(number);
        }
    }
    let end_ns = figures.planned_end_ns();
    run.intervals_of(
        |tag| users.contains_key(tag),
        |interval| {
            let middle_ns = interval.start_ns + interval.len_ns / 2;
            for &number in users.get(interval.tag.as_str()).into_iter().flatten() {
                let own = &windows[number];
                if (own.begin_ns..own.end_ns).contains(&middle_ns) {
                    times[number].during.merge(&interval.hist);
                } else if middle_ns < end_ns && !own.all.iter().any(|ends| ends.hold(middle_ns)) {
                    times[number].usual.merge(&interval.hist);
                }
            }
        },
    )?;
    Ok(times)
}

/// An incident with its figures and its sentence, without what else happened.
fn described(figures: &Figures, found: &IncidentWindow, times: Option<&Times>) -> Incident {
    let percentiles = |of: fn(&Times) -> &LogHistogram, share: f64| {
        let hist = times.map(of).filter(|hist| !hist.is_empty());
        hist.map(|hist| hist.quantile(share))
    };
    let figures_of = |counts: steps::Counts, of: fn(&Times) -> &LogHistogram| IncidentFigures {
        operations: counts.operations.round() as u64,
        errors: counts.errors.round() as u64,
        unanswered: counts.unanswered.round() as u64,
        p50_ns: percentiles(of, 0.5),
        p90_ns: percentiles(of, 0.9),
        per_s: counts.operations / counts.seconds.max(1e-9),
    };
    let mut incident = Incident {
        step: found.step.clone(),
        tag: found.tag.clone(),
        kinds: found.kinds.clone(),
        begin_ns: found.begin_ns,
        end_ns: found.end_ns,
        to_the_end: found.to_the_end,
        usual: figures_of(found.usual, |times| &times.usual),
        during: figures_of(found.during, |times| &times.during),
        beside: Vec::new(),
        text: String::new(),
    };
    let span_ns = found.begin_ns..found.end_ns;
    let counts = figures.errors.counts_within(&found.measures, &span_ns);
    let detail = text::detail(counts, incident.during.errors);
    let goes_on = figures.info.status == RunStatus::Running;
    incident.text = text::of(&incident, &found.during, detail.as_deref(), goes_on);
    incident
}

/// How much users lost by an incident: operations, by the share that failed more than usually, or by how much of the
/// response was more than usual.
fn gravity(incident: &Incident) -> f64 {
    let share = |figures: &IncidentFigures| match figures.operations {
        0 => 0.0,
        all => figures.errors as f64 / all as f64,
    };
    let failed = share(&incident.during) - share(&incident.usual);
    let slower = match (incident.usual.p50_ns, incident.during.p50_ns) {
        (Some(usual), Some(during)) if during > 0 => 1.0 - usual as f64 / during as f64,
        _ => 0.0,
    };
    let missing = match incident.kinds.contains(&IncidentKind::Throughput) {
        true => 1.0 - incident.during.per_s / incident.usual.per_s.max(1e-9),
        false => 0.0,
    };
    let seconds = (incident.end_ns - incident.begin_ns) as f64 / 1e9;
    seconds * incident.usual.per_s.max(incident.during.per_s) * failed.max(slower).max(missing)
}

#[cfg(test)]
mod tests;
