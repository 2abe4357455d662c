//! The pipeline as published (O'Dwyer 2016, section 3.4.2): a median filter on each run's times in
//! the order they were taken, the distribution function of what is left by a cubic spline, and its
//! values on bins of fixed width as a smaller sample, by which runs are compared.
//!
//! The text leaves open how the bins are placed. Here they are the same for all runs and enclose
//! all of their times, and the smaller sample has as many numbers as there are bins.

use stats::ecdf::{Grid, resampled, shares};
use stats::filter::median_filter;
use stats::sample::Sample;
use stats::spline::Kind;

use super::read::RunMeasure;
use super::{Options, Similarity, pairs};

/// Runs compared by the pipeline, and in how many bins; `None` where the order of times is not known,
/// or their range is too wide for the bins.
pub(crate) fn similarity(of_runs: &[&RunMeasure], options: &Options) -> Option<(Similarity, u64)> {
    let published = &options.published;
    let filtered: Option<Vec<Sample>> = of_runs
        .iter()
        .map(|measured| {
            let times = measured.in_order()?;
            let filtered = median_filter(&times, published.window, published.sigmas).ok()?;
            Sample::new(filtered.values).ok()
        })
        .collect();
    let filtered = filtered?;
    let grid = Grid::enclosing(&filtered.iter().collect::<Vec<_>>(), published.bin_ns).ok()?;
    let bins = grid.points as u64;
    let ready: Option<Vec<Sample>> = filtered
        .iter()
        .map(|sample| resampled(&shares(sample, grid, Kind::Natural), grid, bins).ok())
        .collect();
    Some((pairs::published(&ready?, options), bins))
}
