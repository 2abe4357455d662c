//! Figures of imported results: what many clients reported, combined as far as that can be done.
//!
//! Counts add up, means are weighted by them, deviations are pooled. Percentiles of several clients
//! cannot be merged: of them the bounds are reported between which they must lie.

use record::Import;
use record::import::{ClientReport, ReportedMeasure};
use stats::pooled::{self, Group, PooledGroups, Quantiles, quantile_bounds};

/// The shares of percentiles that are reported.
pub const SHARES: [f64; 3] = [0.5, 0.9, 0.98];

/// A measure over several clients. Nanoseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct PooledMeasure {
    /// Count, weighted mean and deviations.
    pub pooled: PooledGroups,
    /// Least of all.
    pub min_ns: u64,
    /// Greatest of all.
    pub max_ns: u64,
    /// The least and the greatest value that the percentile of each of [`SHARES`] can have, to the resolution of the
    /// clients' times.
    pub bounds_ns: [Option<(f64, f64)>; SHARES.len()],
}

/// A measure as those clients reported it that `keep` holds for; `None` where none of them has a value.
pub fn pool(
    import: &Import,
    measure: u16,
    keep: impl Fn(&ClientReport) -> bool,
) -> Option<PooledMeasure> {
    let reports: Vec<&ReportedMeasure> = reports(import, measure, keep).collect();
    let pooled = pooled::pool(reports.iter().map(|report| Group {
        count: report.count,
        mean: report.mean_ns,
        deviation: report.deviation_ns,
    }))?;
    let quantiles: Vec<Quantiles> = reports.iter().map(|report| quantiles(report)).collect();
    Some(PooledMeasure {
        pooled,
        min_ns: reports.iter().map(|report| report.min_ns).min()?,
        max_ns: reports.iter().map(|report| report.max_ns).max()?,
        bounds_ns: SHARES.map(|share| quantile_bounds(&quantiles, share)),
    })
}

/// The least and the greatest value that a percentile of all clients can have, for any share in 0..=1.
pub fn percentile_bounds(import: &Import, measure: u16, share: f64) -> Option<(f64, f64)> {
    let reports = reports(import, measure, |_| true);
    quantile_bounds(&reports.map(quantiles).collect::<Vec<_>>(), share)
}

/// The greatest percentile that any client reported under this label: the first of that name in its
/// report.
pub fn worst_percentile(import: &Import, measure: u16, label: &str) -> Option<u64> {
    let reports = reports(import, measure, |_| true);
    let labelled =
        reports.filter_map(|report| report.percentiles.iter().find(|p| p.label == label));
    labelled.map(|p| p.value_ns).max()
}

/// The regions of the clients, each once, in order.
pub fn regions(import: &Import) -> Vec<&str> {
    let mut regions: Vec<&str> = import.clients.iter().map(|c| c.region.as_str()).collect();
    regions.sort_unstable();
    regions.dedup();
    regions
}

fn reports(
    import: &Import,
    measure: u16,
    keep: impl Fn(&ClientReport) -> bool,
) -> impl Iterator<Item = &ReportedMeasure> {
    let clients = import.clients.iter().filter(move |client| keep(client));
    let of = move |client: &'_ ClientReport| -> Option<usize> {
        let measures = client.measures.iter();
        measures.into_iter().position(|report| report.measure == measure && report.count > 0)
    };
    clients.filter_map(move |client| of(client).map(|at| &client.measures[at]))
}

/// The known points of a client's distribution: its ends, and the percentiles that can be what their
/// labels say.
fn quantiles(report: &ReportedMeasure) -> Quantiles {
    let known = report.percentiles.iter();
    let known = known.filter_map(|p| Some((p.share?, p.value_ns as f64)));
    let ends = [(0.0, report.min_ns as f64), (1.0, report.max_ns as f64)];
    let mut points: Vec<(f64, f64)> = ends.into_iter().chain(known).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    Quantiles { count: report.count, points }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn clients_are_pooled() {
        let import = sample::import();
        let all = pool(&import, 0, |_| true).unwrap();
        // 100 of 10 ms and 300 of 30 ms.
        assert_eq!((all.pooled.count, all.pooled.mean), (400, 25e6));
        assert_eq!((all.min_ns, all.max_ns), (5_000_000, 60_000_000));
        // At 15 ms, the slower client's least, 98 of the faster one's and 150 of its own can lie below;
        // at 30 ms, its median, 150 of its own and all others do.
        assert_eq!(all.bounds_ns[0], Some((15_000_000.0, 30_000_000.0)));
        let eu = pool(&import, 0, |client| client.region == "eu").unwrap();
        assert_eq!(eu.pooled.count, 100);
        assert_eq!(pool(&import, 9, |_| true), None);
        assert_eq!(regions(&import), ["eu", "us"]);
        assert_eq!(worst_percentile(&import, 0, "98%"), Some(50_000_000));
        assert_eq!(worst_percentile(&import, 0, "99%"), None);
    }
}
