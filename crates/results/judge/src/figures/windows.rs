//! The operations of each measure by the time in which they were due: what became of them.

use super::Figures;
use crate::limits::{FLOW_SECONDS_MAX, WINDOWS_MAX, WINDOWS_MIN};

/// Operations of one measure, or of several, in one window of the run: requests, mostly.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Window {
    /// Requests that were due in it.
    pub(crate) due: f64,
    /// Requests that were due in it and were answered at any time, with success or not.
    pub(crate) served: f64,
    /// Sum of the response times of these, in seconds.
    pub(crate) served_s: f64,
    /// Requests that were due in it and that their users gave up, as far as the record says so: nobody failed.
    pub(crate) interrupted: f64,
    /// Requests that ended in it in any way.
    pub(crate) ended: f64,
    /// Requests that were answered in it.
    pub(crate) answered: f64,
    /// Sum of the response times of these, in seconds.
    pub(crate) answered_s: f64,
    /// Requests that were answered in it with a failure.
    pub(crate) failed: f64,
    /// Sum of the natural logarithms of the response times of the others, in nanoseconds.
    pub(crate) succeeded_ln: f64,
    /// Sum of the squares of these logarithms.
    pub(crate) succeeded_ln_squares: f64,
}

impl Window {
    /// The mean response time of what was answered in it, in seconds; `None`: nothing was.
    pub(crate) fn mean_response_s(&self) -> Option<f64> {
        (self.answered > 0.0).then(|| self.answered_s / self.answered)
    }

    pub(crate) fn add(&mut self, other: &Window) {
        self.due += other.due;
        self.served += other.served;
        self.served_s += other.served_s;
        self.interrupted += other.interrupted;
        self.ended += other.ended;
        self.answered += other.answered;
        self.answered_s += other.answered_s;
        self.failed += other.failed;
        self.succeeded_ln += other.succeeded_ln;
        self.succeeded_ln_squares += other.succeeded_ln_squares;
    }
}

/// The windows of the planned load of a run, as far as it got, by measure.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Windows<'w> {
    pub(crate) by_measure: &'w [Vec<Window>],
    /// Length of each in seconds.
    pub(crate) length_s: usize,
    /// Number of complete ones; of a measure there may be fewer, or more.
    pub(crate) count: usize,
}

impl Windows<'_> {
    /// The windows of these measures as if they were one.
    pub(crate) fn of(&self, measures: &[usize]) -> Vec<Window> {
        let mut sum = vec![Window::default(); self.count];
        for windows in measures.iter().filter_map(|&measure| self.by_measure.get(measure)) {
            for (sum, window) in sum.iter_mut().zip(windows) {
                sum.add(window);
            }
        }
        sum
    }
}

impl Figures {
    /// Complete seconds of the planned load, as far as the run got.
    pub(crate) fn planned_seconds(&self) -> usize {
        (self.planned_end_ns().min(self.ended_ns()) / 1_000_000_000) as usize
    }

    /// Length of the windows in seconds: they are longer in long runs of many measures, which take memory.
    pub(crate) fn window_s(&self) -> usize {
        let most = (WINDOWS_MAX / self.info.measures.len().max(1)).max(WINDOWS_MIN);
        self.planned_seconds().div_ceil(most).max(1)
    }

    /// The windows of these measures as if they were one, until the last phase ends.
    pub(crate) fn planned_windows(&self, measures: &[usize]) -> Vec<Window> {
        self.all_windows().of(measures)
    }

    /// The windows of all measures.
    pub(crate) fn all_windows(&self) -> Windows<'_> {
        let length_s = self.window_s();
        Windows { by_measure: &self.windows, length_s, count: self.planned_seconds() / length_s }
    }

    /// The operations of a measure that were due in each window, the youngest first, by how long before `end_ns` that was:
    /// the least and the greatest age, in nanoseconds, and their number.
    pub(super) fn due_before(
        &self,
        measure: usize,
        end_ns: u64,
    ) -> impl Iterator<Item = (f64, f64, f64)> {
        let window_ns = self.window_s() as u64 * 1_000_000_000;
        let windows = self.windows.get(measure).map_or(&[][..], Vec::as_slice);
        let windows = windows.iter().enumerate().rev();
        windows.map(move |(at, window)| {
            let start_ns = at as u64 * window_ns;
            let age_ns = |at_ns: u64| end_ns.saturating_sub(at_ns) as f64;
            (age_ns(start_ns + window_ns), age_ns(start_ns), window.due)
        })
    }

    /// The window of a measure in which this second is; `None` in years.
    pub(super) fn window_mut(&mut self, measure: usize, second: usize) -> Option<&mut Window> {
        if second >= FLOW_SECONDS_MAX {
            return None;
        }
        let at = second / self.window_s();
        if self.windows.len() <= measure {
            self.windows.resize(measure + 1, Vec::new());
        }
        let windows = &mut self.windows[measure];
        if windows.len() <= at {
            windows.resize(at + 1, Window::default());
        }
        windows.get_mut(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{self, REQUEST};

    #[test]
    fn windows_of_a_short_run_are_seconds() {
        let mut figures = sample::figures();
        assert_eq!(figures.window_s(), 1);
        figures.window_mut(REQUEST, 59).unwrap().due = 7.0;
        // Requests after the load are no part of it.
        figures.window_mut(REQUEST, 61).unwrap().due = 9.0;
        let windows = figures.planned_windows(&[REQUEST]);
        assert_eq!((windows.len(), windows[59].due), (60, 7.0));
        assert_eq!(figures.planned_windows(&[0]), [Window::default(); 60]);
    }

    #[test]
    fn windows_of_a_long_run_are_longer() {
        let mut figures = sample::figures();
        let day_ns = 86_400_000_000_000;
        figures.info.phases[0].end_ns = day_ns;
        figures.info.ended_ns = day_ns;
        let measure = figures.info.measures[REQUEST].clone();
        figures.info.measures.resize(1000, measure);
        let window_s = figures.window_s();
        assert!(window_s > 1 && 86_400 / window_s <= WINDOWS_MIN.max(WINDOWS_MAX / 1000));
        figures.window_mut(REQUEST, 86_399).unwrap().due = 1.0;
        assert!(figures.windows[REQUEST].len() <= 86_400 / window_s + 1);
    }
}
