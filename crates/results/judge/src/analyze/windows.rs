//! Figures of windows of a run, of the whole, and of what is left after the warm-up.

use std::ops::Range;

use record::{RecordError, Run};
use serde::Serialize;
use stats::hist::LogHistogram;
use stats::mean::SeriesMean;
use stats::serial::autocorrelation;

use super::CONFIDENCE;
use super::seconds::{Cell, Seconds, Slot, places};
use super::steady::main_succeeded;

/// Least length of the last window, as a share of the others; a shorter one is left out.
const LAST_SHARE_MIN: f64 = 0.5;

/// Most lags, in seconds, for which the autocorrelation is reported.
const LAGS: usize = 10;

/// The operations that ended in a span of time.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct SpanFigures {
    /// Start of the span.
    pub start_ns: u64,
    /// End of the span.
    pub end_ns: u64,
    /// Operations that succeeded.
    pub count: u64,
    /// Operations that failed.
    pub errors: u64,
    /// `count` per second.
    pub rate_per_s: f64,
    /// Mean response time; all times are 0 if no operation succeeded.
    pub mean_ns: f64,
    /// Standard deviation of response times.
    pub deviation_ns: f64,
    /// Median response time.
    pub p50_ns: u64,
    /// 99th percentile of response times.
    pub p99_ns: u64,
    /// Greatest response time.
    pub max_ns: u64,
}

/// The scatter of a figure from window to window.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Evenness {
    /// Number of windows that have the figure.
    pub windows: usize,
    /// Mean of the windows.
    pub mean: f64,
    /// Least value of a window.
    pub min: f64,
    /// Greatest value of a window.
    pub max: f64,
    /// Coefficient of variation: standard deviation over mean.
    pub variation: f64,
}

/// A mean of seconds with its interval, which allows for their autocorrelation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MeanEstimate {
    /// Mean of all operations, so that seconds in which more ended weigh more.
    pub mean: f64,
    /// Lower bound of the long-run mean.
    pub low: f64,
    /// Upper bound of the long-run mean.
    pub high: f64,
    /// Correlation of a second with the next, with the one after that, and so on; empty where all are
    /// the same.
    pub autocorrelation: Vec<f64>,
    /// Number of independent seconds that would determine the mean as well.
    pub effective: f64,
}

/// A measure, whole and in parts.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MeasureParts {
    /// Name of the measure, as in `run.json`.
    pub name: String,
    /// Kind of the measure, as in `run.json`.
    pub kind: String,
    /// The whole analysed time, warm-up included.
    pub whole: SpanFigures,
    /// The time after the warm-up.
    pub kept: SpanFigures,
    /// The mean response after the warm-up, from its seconds; `None`: too few seconds have responses.
    pub response: Option<MeanEstimate>,
    /// Evenness of the rate over the windows after the warm-up.
    pub rates: Option<Evenness>,
    /// Evenness of the mean response over the windows after the warm-up.
    pub means: Option<Evenness>,
    /// All windows, from the start of the analysis.
    pub windows: Vec<SpanFigures>,
}

/// Requests and handshakes that succeeded, all together, by second.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ThroughputParts {
    /// Mean over the whole analysed time, warm-up included.
    pub whole_per_s: f64,
    /// Mean over the time after the warm-up.
    pub kept_per_s: f64,
    /// The mean with its interval, from the seconds after the warm-up.
    pub known: Option<MeanEstimate>,
    /// Evenness of the rate over the windows after the warm-up.
    pub rates: Option<Evenness>,
    /// The rate of each window, from the start of the analysis.
    pub windows_per_s: Vec<f64>,
}

/// A window's slots.
fn windows(seconds: &Seconds, window_ns: u64) -> Vec<Range<usize>> {
    let start_ns = seconds.start_ns();
    let number = |place: usize| (seconds.slots[place].start_ns - start_ns) / window_ns;
    let places: Vec<usize> = (0..seconds.slots.len()).collect();
    let mut windows: Vec<Range<usize>> = places
        .chunk_by(|&a, &b| number(a) == number(b))
        .map(|part| part[0]..part[part.len() - 1] + 1)
        .collect();
    let length = |window: &Range<usize>| time_s(seconds, window);
    if windows.len() > 1
        && windows.last().is_some_and(|last| length(last) < LAST_SHARE_MIN * window_ns as f64 / 1e9)
    {
        windows.pop();
    }
    windows
}

fn time_s(seconds: &Seconds, places: &Range<usize>) -> f64 {
    seconds.slots[places.clone()].iter().map(Slot::seconds).sum()
}

/// The distributions of one measure.
#[derive(Clone, Default)]
struct Hists {
    whole: LogHistogram,
    kept: LogHistogram,
    /// The window that is being filled, by its number, and those before as parts.
    open: Option<(usize, LogHistogram)>,
    done: Vec<(usize, SpanFigures)>,
}

/// Figures of throughput and of all measures that measured something.
pub(super) fn parts(
    run: &Run,
    seconds: &Seconds,
    kept: Range<usize>,
    window_ns: u64,
) -> Result<(ThroughputParts, Vec<MeasureParts>), RecordError> {
    let windows = windows(seconds, window_ns);
    let window_of = |slot: usize| windows.partition_point(|window| window.end <= slot);
    let mut hists = vec![Hists::default(); seconds.info.measures.len()];
    let places = places(&seconds.info);
    run.intervals(|interval| {
        let (Some(&measure), Some(slot)) =
            (places.get(&interval.tag), seconds.at(interval.start_ns))
        else {
            return;
        };
        let hists = &mut hists[measure];
        hists.whole.merge(&interval.hist);
        if kept.contains(&slot) {
            hists.kept.merge(&interval.hist);
        }
        hists.add(window_of(slot), &interval.hist);
    })?;
    let measures = hists
        .into_iter()
        .enumerate()
        .filter_map(|(measure, hists)| measure_parts(seconds, measure, hists, &windows, &kept))
        .collect();
    Ok((throughput(seconds, &windows, kept), measures))
}

/// Figures of one measure; `None`: it has no operations.
fn measure_parts(
    seconds: &Seconds,
    measure: usize,
    mut hists: Hists,
    windows: &[Range<usize>],
    kept: &Range<usize>,
) -> Option<MeasureParts> {
    hists.close();
    let part = |places: &Range<usize>, times: SpanFigures| counted(times, seconds, measure, places);
    let whole = part(&(0..seconds.slots.len()), times(&hists.whole));
    if whole.count + whole.errors == 0 {
        return None;
    }
    let mut parts = vec![SpanFigures::default(); windows.len()];
    for (number, done) in hists.done {
        if let Some(part) = parts.get_mut(number) {
            *part = done;
        }
    }
    let parts: Vec<SpanFigures> =
        parts.into_iter().zip(windows).map(|(times, w)| part(w, times)).collect();
    let first = windows.partition_point(|window| window.start < kept.start);
    let later = &parts[first..];
    let answered = later.iter().filter(|part| part.count > 0);
    let info = &seconds.info.measures[measure];
    Some(MeasureParts {
        name: info.name.clone(),
        kind: info.kind.clone(),
        kept: part(kept, times(&hists.kept)),
        whole,
        response: mean_estimate(&weighed(&seconds.cells[measure][kept.clone()])),
        rates: evenness(later.iter().map(|part| part.rate_per_s)),
        means: evenness(answered.map(|part| part.mean_ns)),
        windows: parts,
    })
}

impl Hists {
    /// Adds to a window; the log goes forward in time, so that one window is open at a time.
    fn add(&mut self, window: usize, hist: &LogHistogram) {
        if self.open.as_ref().is_some_and(|(open, _)| *open != window) {
            self.close();
        }
        let (_, open) = self.open.get_or_insert_with(|| (window, LogHistogram::new()));
        open.merge(hist);
    }

    fn close(&mut self) {
        if let Some((window, hist)) = self.open.take() {
            self.done.push((window, times(&hist)));
        }
    }
}

/// The response times of a distribution, without the span and its counts.
fn times(hist: &LogHistogram) -> SpanFigures {
    if hist.is_empty() {
        return SpanFigures::default();
    }
    let mean = hist.mean();
    let squares: f64 = hist
        .iter()
        .map(|(low, high, count)| {
            let middle = low as f64 + (high - low) as f64 / 2.0;
            (middle - mean).powi(2) * count as f64
        })
        .sum();
    SpanFigures {
        mean_ns: mean,
        deviation_ns: (squares / hist.count() as f64).sqrt(),
        p50_ns: hist.quantile(0.5),
        p99_ns: hist.quantile(0.99),
        max_ns: hist.max(),
        ..SpanFigures::default()
    }
}

/// Adds the span of the slots and their counts to the response times.
fn counted(
    times: SpanFigures,
    seconds: &Seconds,
    measure: usize,
    places: &Range<usize>,
) -> SpanFigures {
    let slots = &seconds.slots[places.clone()];
    let cells = &seconds.cells[measure][places.clone()];
    let count: u64 = cells.iter().map(|cell| cell.count).sum();
    SpanFigures {
        start_ns: slots.first().map_or(0, |slot| slot.start_ns),
        end_ns: slots.last().map_or(0, |slot| slot.end_ns),
        count,
        errors: cells.iter().map(|cell| cell.failed).sum(),
        rate_per_s: count as f64 / time_s(seconds, places).max(1e-9),
        ..times
    }
}

fn throughput(seconds: &Seconds, windows: &[Range<usize>], kept: Range<usize>) -> ThroughputParts {
    let rate = |places: &Range<usize>| {
        let count: u64 = places.clone().map(|place| main_succeeded(seconds, place)).sum();
        count as f64 / time_s(seconds, places).max(1e-9)
    };
    let by_second: Vec<f64> = kept.clone().map(|place| rate(&(place..place + 1))).collect();
    let later = windows.iter().filter(|window| window.start >= kept.start);
    ThroughputParts {
        whole_per_s: rate(&(0..seconds.slots.len())),
        kept_per_s: rate(&kept),
        known: mean_estimate(&by_second),
        rates: evenness(later.map(rate)),
        windows_per_s: windows.iter().map(rate).collect(),
    }
}

/// A value for each second, such that their mean is that of all responses, and their scatter that of
/// the estimate: seconds in which more ended weigh more. Cochran, "Sampling Techniques" (1977), section
/// 6.3, on ratio estimates. Empty where something ended in less than half of them: what happened once
/// has no scatter that could be known.
fn weighed(cells: &[Cell]) -> Vec<f64> {
    let count: u64 = cells.iter().map(|cell| cell.count).sum();
    let filled = cells.iter().filter(|cell| cell.count > 0).count();
    if 2 * filled < cells.len() || count == 0 {
        return Vec::new();
    }
    let mean = cells.iter().map(|cell| cell.sum).sum::<f64>() / count as f64;
    let per_second = count as f64 / cells.len() as f64;
    let weigh = |cell: &Cell| mean + (cell.sum - mean * cell.count as f64) / per_second;
    cells.iter().map(weigh).collect()
}

/// Mean of the values with its interval; `None`: there are fewer than two values.
fn mean_estimate(values: &[f64]) -> Option<MeanEstimate> {
    let found = SeriesMean::compute(values)?;
    let (low, high) = found.interval(CONFIDENCE);
    Some(MeanEstimate {
        mean: found.mean,
        low,
        high,
        autocorrelation: autocorrelation(values, LAGS)
            .map_or(Vec::new(), |by_lag| by_lag[1..].to_vec()),
        effective: found.effective,
    })
}

/// Scatter of the values; `None`: there are fewer than two.
fn evenness(values: impl Iterator<Item = f64>) -> Option<Evenness> {
    let values: Vec<f64> = values.collect();
    if values.len() < 2 {
        return None;
    }
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
    Some(Evenness {
        windows: values.len(),
        mean,
        min: values.iter().copied().fold(f64::INFINITY, f64::min),
        max: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        variation: if mean > 0.0 { variance.sqrt() / mean } else { 0.0 },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_with_more_operations_weigh_more() {
        let cell = |count: u64, mean: f64| Cell { count, sum: count as f64 * mean, failed: 0 };
        // Ten responses of 1 and thirty of 3 have a mean of 2.5.
        let weighed = weighed(&[cell(10, 1.0), cell(30, 3.0)]);
        assert_eq!(weighed, [1.75, 3.25]);
    }

    #[test]
    fn what_happened_once_has_no_interval() {
        let mut cells = vec![Cell::default(); 30];
        cells[0] = Cell { count: 32, sum: 1e6, failed: 0 };
        assert_eq!(mean_estimate(&weighed(&cells)), None);
        assert_eq!(mean_estimate(&weighed(&[])), None);
    }
}
