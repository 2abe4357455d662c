//! Trends of a run's series: gauges, rates and responses that rise or fall while the run continues.

use std::ops::Range;

use serde::Serialize;
use stats::multiple::holm;
use stats::trend::{POINTS_MIN, trend};

use super::CONFIDENCE;
use super::seconds::{Rows, Seconds, Slot};
use super::steady::main_succeeded;

/// Most points of a series, to which its seconds are combined; more points would only be more correlated.
const POINTS_MAX: usize = 120;
/// Least change that is reported, as a share of the level, however significant it is.
pub(super) const CHANGE_MIN: f64 = 0.05;

/// The trend of one series after the warm-up.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Drift {
    /// `throughput`, `error share`, `users`, `in flight`, `connections`, `generator memory`, or
    /// `response of …`.
    pub name: String,
    /// `per_s`, `share`, `count`, `bytes` or `ns`.
    pub unit: &'static str,
    /// The median of its points.
    pub level: f64,
    /// Change from the first point to the last: Theil–Sen's slope times the time between them.
    pub change: f64,
    /// Lower bound of the change.
    pub change_low: f64,
    /// Upper bound of the change.
    pub change_high: f64,
    /// p-value of the Mann–Kendall test, corrected for autocorrelation.
    pub p: f64,
    /// p-value adjusted by Holm's method (1979) for the number of series tested.
    pub p_adjusted: f64,
    /// The correlation of neighbouring points for which `p` is corrected.
    pub correlation: f64,
    /// True if the change is significant, its bounds have its sign, and it is large enough to matter.
    pub is_shown: bool,
}

/// Tests all series for a trend in these slots.
pub(super) fn trends(seconds: &Seconds, kept: Range<usize>) -> Vec<Drift> {
    let group = kept.len().div_ceil(POINTS_MAX);
    let found = series(seconds);
    let tested =
        found.iter().filter_map(|series| test_series(seconds, kept.clone(), group, series));
    let tested: Vec<SeriesTest> = tested.collect();
    let p: Vec<f64> = tested.iter().map(|one| one.drift.p).collect();
    let adjusted = tested.into_iter().zip(holm(&p));
    let shown = adjusted.map(|(SeriesTest { mut drift, has_stopped }, p)| {
        drift.p_adjusted = p;
        let large = drift.change.abs() >= CHANGE_MIN * drift.level.abs() && drift.change != 0.0;
        // Of a series with many equal points the test may be sure of what its bounds are not.
        let has_sign = drift.change_low > 0.0 || drift.change_high < 0.0;
        drift.is_shown = p < 1.0 - CONFIDENCE && large && has_sign && !has_stopped;
        drift
    });
    shown.collect()
}

/// A figure of a slot as a part over a whole, so that slots can be combined.
struct Series<'s> {
    name: String,
    unit: &'static str,
    value: Box<dyn Fn(usize) -> (f64, f64) + 's>,
}

fn series(seconds: &Seconds) -> Vec<Series<'_>> {
    let slots = &seconds.slots;
    let gauge = |name: &str, unit, of: fn(&Slot) -> u64| Series {
        name: name.to_owned(),
        unit,
        value: Box::new(move |place: usize| (of(&slots[place]) as f64, 1.0)),
    };
    let mut all = vec![Series {
        name: "throughput".to_owned(),
        unit: "per_s",
        value: Box::new(|place| (main_succeeded(seconds, place) as f64, slots[place].seconds())),
    }];
    if seconds.rows != Rows::Missing {
        all.push(Series {
            name: "error share".to_owned(),
            unit: "share",
            value: Box::new(|place| (slots[place].failed as f64, slots[place].ended as f64)),
        });
    }
    all.push(gauge("users", "count", |slot| slot.row.users));
    all.push(gauge("in flight", "count", |slot| slot.row.in_flight));
    all.push(gauge("connections", "count", |slot| slot.row.connections));
    all.push(gauge("generator memory", "bytes", |slot| slot.row.rss_bytes));
    for (measure, cells) in seconds.info.measures.iter().zip(&seconds.cells) {
        all.push(Series {
            name: format!("response of {}", measure.name),
            unit: "ns",
            value: Box::new(|place| (cells[place].sum, cells[place].count as f64)),
        });
    }
    all
}

/// The test of one series.
struct SeriesTest {
    drift: Drift,
    /// True of connections that were opened until there were enough.
    has_stopped: bool,
}

/// Tests one series; `None`: it has too few points, or is constant.
fn test_series(
    seconds: &Seconds,
    kept: Range<usize>,
    group: usize,
    series: &Series<'_>,
) -> Option<SeriesTest> {
    let places: Vec<usize> = kept.collect();
    let mut points = Vec::with_capacity(places.len() / group + 1);
    // The last points are left out if they do not fill a group: their mean would scatter more than the others.
    for part in places.chunks_exact(group) {
        let (sum, over) = part
            .iter()
            .map(|&place| (series.value)(place))
            .fold((0.0, 0.0), |(a, b), (c, d)| (a + c, b + d));
        let first = &seconds.slots[part[0]];
        let last = &seconds.slots[part[part.len() - 1]];
        if over > 0.0 {
            let middle_s = (first.start_ns + (last.end_ns - first.start_ns) / 2) as f64 / 1e9;
            points.push((middle_s, sum / over));
        }
    }
    let constant = points.windows(2).all(|pair| pair[0].1 == pair[1].1);
    // Points that cover less than half of the time say little of the whole.
    let dense = 2 * group * points.len() >= places.len();
    if points.len() < POINTS_MIN || constant || !dense {
        return None;
    }
    let found = trend(&points, CONFIDENCE).ok()?;
    let length_s = points[points.len() - 1].0 - points[0].0;
    let mut values: Vec<f64> = points.iter().map(|point| point.1).collect();
    values.sort_by(f64::total_cmp);
    let only_grows = series.name == "connections" && only_grows(&points);
    let drift = Drift {
        name: series.name.clone(),
        unit: series.unit,
        level: values[values.len() / 2],
        change: found.slope * length_s,
        change_low: found.slope_low * length_s,
        change_high: found.slope_high * length_s,
        p: found.p,
        p_adjusted: found.p,
        correlation: found.correlation,
        is_shown: false,
    };
    Some(SeriesTest { drift, has_stopped: only_grows && !rises(&points[points.len() / 2..]) })
}

/// True of a series that never falls, such as the connections of a shared pool: it keeps the most that it ever needed, and
/// any such record is a rise. Only one that continues is a trend.
fn only_grows(points: &[(f64, f64)]) -> bool {
    points.windows(2).all(|pair| pair[0].1 <= pair[1].1)
}

/// True if these points rise for certain.
fn rises(points: &[(f64, f64)]) -> bool {
    trend(points, CONFIDENCE).is_ok_and(|found| found.slope_low > 0.0)
}
