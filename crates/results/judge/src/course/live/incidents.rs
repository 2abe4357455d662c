//! Incidents of a run that goes on: its operations by the time in which they were due, and what they say so far.
//!
//! A search takes the longer the more there is of a run, on the machine of the generator. So there is one every few seconds
//! alone, in as many windows at most, however long the run is.

use crate::figures::{EndedOperations, Figures, Window, Windows};
use crate::incidents::{RunIncidents, Search};

/// Most windows of a measure. When there are more, each two become one.
const WINDOWS_MAX: usize = Search::SO_FAR.slots_max;
/// Shortest time between two searches.
const PAUSE_S: usize = 5;
/// A search in as many windows is worth a pause of a second.
const PAUSE_WINDOWS: usize = 60;

const SECOND_NS: u64 = 1_000_000_000;

/// The incidents so far, and the windows that they are found in.
#[derive(Debug)]
pub(super) struct Incidents {
    by_measure: Vec<Vec<Window>>,
    /// Length of a window.
    length_s: usize,
    broken: RunIncidents,
    /// When it was found, since the run's start.
    searched_ns: u64,
}

impl Incidents {
    pub(super) fn new() -> Incidents {
        Incidents {
            by_measure: Vec::new(),
            length_s: 1,
            broken: RunIncidents::default(),
            searched_ns: 0,
        }
    }

    /// Adds operations of a measure.
    pub(super) fn add(&mut self, measure: usize, ended: &EndedOperations<'_>) {
        if self.by_measure.len() <= measure {
            self.by_measure.resize(measure + 1, Vec::new());
        }
        while ended.second() / self.length_s >= WINDOWS_MAX {
            self.join();
        }
        let length_s = self.length_s;
        let windows = &mut self.by_measure[measure];
        ended.by_second(|second, part| {
            let at = second / length_s;
            if windows.len() <= at {
                windows.resize(at + 1, Window::default());
            }
            windows[at].add(part);
        });
    }

    /// Makes one window of each two.
    fn join(&mut self) {
        for windows in &mut self.by_measure {
            let joined = windows.chunks(2).map(|pair| {
                let mut sum = Window::default();
                pair.iter().for_each(|window| sum.add(window));
                sum
            });
            *windows = joined.collect();
        }
        self.length_s *= 2;
    }

    /// Looks for incidents, unless it has just done so.
    pub(super) fn search(&mut self, figures: &Figures) {
        let count = figures.planned_seconds() / self.length_s;
        let pause_s = PAUSE_S.max(count / PAUSE_WINDOWS);
        let now_ns = figures.ended_ns();
        if now_ns < self.searched_ns + pause_s as u64 * SECOND_NS {
            return;
        }
        self.searched_ns = now_ns;
        let by_measure = &self.by_measure;
        let windows = Windows { by_measure, length_s: self.length_s, count };
        self.broken = RunIncidents::so_far(figures, &windows);
    }

    /// The incidents that the last search found.
    pub(super) fn so_far(&self) -> &RunIncidents {
        &self.broken
    }
}

#[cfg(test)]
mod tests {
    use stats::hist::LogHistogram;

    use super::*;

    #[test]
    fn windows_of_a_run_that_does_not_end_are_joined() {
        let mut incidents = Incidents::new();
        let mut times = LogHistogram::new();
        times.record_n(1_000_000, 10);
        let seconds = 3 * WINDOWS_MAX;
        for second in 0..seconds {
            let ended = EndedOperations {
                start_ns: second as u64 * SECOND_NS,
                len_ns: SECOND_NS,
                times: &times,
                is_answered: true,
                is_failure: false,
                interrupted: 0.0,
            };
            incidents.add(1, &ended);
        }
        assert_eq!(incidents.length_s, 4);
        let windows = &incidents.by_measure[1];
        assert_eq!(windows.len(), seconds / 4);
        let ended: f64 = windows.iter().map(|window| window.ended).sum();
        assert!((ended - 10.0 * seconds as f64).abs() < 1e-6, "{ended}");
        assert!((windows[7].due - 40.0).abs() < 1e-6, "{:?}", windows[7]);
    }
}
