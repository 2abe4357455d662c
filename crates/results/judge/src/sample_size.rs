//! The number of operations that a percentile takes.
//!
//! Of `n` independent operations all took less than the percentile `q` of their distribution with the probability qⁿ. A run
//! with fewer than ln 0.05 / ln q does not show with 95 % confidence that a percentile is below a limit, though all its
//! operations were (Wilks, "Determination of sample sizes for setting tolerance limits" (1941)): 59 for p95, 299 for p99.

use plan::{Basis, Figure, Stat};

use crate::figures::{Figures, MeasureFigure};

/// The probability that a run with as few operations misses what is above the percentile.
const MISSED_MAX: f64 = 0.05;

/// The operations that a percentile was taken from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SampleSize {
    /// How many there are.
    pub operations: u64,
    /// The number that the percentile takes at least.
    pub operations_min: u64,
}

/// The operations of a percentile of measures; `None` for other figures.
pub fn sample_size(figures: &Figures, figure: &Figure) -> Option<SampleSize> {
    let part = MeasureFigure::of(figures, figure)?;
    let Stat::Quantile(share) = part.stat else {
        return None;
    };
    let cell = figures.merged(part.phase, &part.measures);
    let operations = match part.basis {
        Basis::Response => cell.all_responses().count(),
        Basis::Succeeded => cell.response.count(),
        Basis::Service => cell.service.count(),
        Basis::Lag => cell.lag.count(),
    };
    Some(SampleSize { operations, operations_min: operations_min(share) })
}

fn operations_min(share: f64) -> u64 {
    (MISSED_MAX.ln() / share.ln()).ceil() as u64
}

#[cfg(test)]
mod tests {
    use plan::thresholds::Names;

    use super::*;
    use crate::sample;

    #[test]
    fn higher_percentiles_take_more_operations() {
        for (share, least) in [(0.5, 5), (0.95, 59), (0.99, 299), (0.999, 2_995), (0.0, 0)] {
            assert_eq!(operations_min(share), least, "{share}");
        }
    }

    #[test]
    fn the_operations_are_those_of_the_figure() {
        let figures = sample::figures();
        let names =
            Names { measures: &["connect", "request"], metrics: &[], tags: &[], phases: &[] };
        let of = |text: &str| sample_size(&figures, &names.figure(text).unwrap());
        let all = SampleSize { operations: 6_000, operations_min: 299 };
        for text in ["p99", "p99(request)", "p99(request.succeeded)", "p99(request.service)"] {
            assert_eq!(of(text), Some(all), "{text}");
        }
        assert_eq!(of("mean(request)"), None);
        assert_eq!(of("users"), None);
    }
}
