//! The values of the probes, thinned.

use record::Probes;
use record::probes::ProbeInfo;
use serde::Serialize;

use super::{Division, Number, SECOND_NS};

/// Most lines; the first ones are reported.
const LINES_MAX: usize = 240;
/// Most points of all lines together.
const POINTS_MAX: usize = 60_000;
/// A value that comes later than this many times the usual distance after the one before it was not the next: at least
/// one between them is missing. Values come a little early or late.
const GAP_MIN: f64 = 1.75;

/// The lines of all probes.
#[derive(Debug, Clone, PartialEq, Default, Serialize, ts_rs::TS)]
pub struct ProbeLines {
    /// The lines in the order of the record.
    pub lines: Vec<ProbeLine>,
    /// Number of further probes with values, which are left out.
    pub left_out: usize,
}

/// The values of one probe.
#[derive(Debug, Clone, PartialEq, Serialize, ts_rs::TS)]
pub struct ProbeLine {
    /// Description of the probe.
    #[serde(flatten)]
    pub info: ProbeInfo,
    /// Seconds since the run's start; before it where negative.
    pub at_s: Vec<Number>,
    /// Mean of the values from that time until the next; `None` where values are missing.
    pub mean: Vec<Option<Number>>,
    /// Least of these values; empty if nothing was thinned.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub min: Vec<Option<Number>>,
    /// Greatest of these values; empty if nothing was thinned.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub max: Vec<Option<Number>>,
}

pub(super) fn lines(probes: &Probes, division: Division) -> ProbeLines {
    let mut values: Vec<Vec<(i64, f64)>> = vec![Vec::new(); probes.list.len()];
    for row in probes.rows.iter().filter(|row| row.value.is_finite()) {
        values[row.probe as usize].push((row.at_ns, row.value));
    }
    let some: Vec<_> =
        probes.list.iter().zip(values).filter(|(_, values)| !values.is_empty()).collect();
    let left_out = some.len().saturating_sub(LINES_MAX);
    let points_max = POINTS_MAX / some.len().clamp(1, LINES_MAX);
    let points_max = points_max.min(super::SLOTS_MAX as usize);
    let lines = some.into_iter().take(LINES_MAX);
    ProbeLines {
        lines: lines.map(|(info, values)| line(info, values, points_max, division)).collect(),
        left_out,
    }
}

fn line(
    info: &ProbeInfo,
    mut values: Vec<(i64, f64)>,
    points_max: usize,
    division: Division,
) -> ProbeLine {
    values.sort_by_key(|(at_ns, _)| *at_ns);
    let (first, last) = match (values.first(), values.last()) {
        (Some((first, _)), Some((last, _))) => (*first, *last),
        _ => (0, 0),
    };
    let span_ns = last.saturating_sub(first).unsigned_abs();
    let slot_ns = (division.slot_s * SECOND_NS).max(span_ns.div_ceil(points_max as u64));
    let slot_of = |at_ns: i64| at_ns.saturating_sub(first).unsigned_abs() / slot_ns.max(1);
    let is_thinned =
        values.chunk_by(|a, b| slot_of(a.0) == slot_of(b.0)).any(|slot| slot.len() > 1);
    let mut line = ProbeLine {
        info: info.clone(),
        at_s: Vec::new(),
        mean: Vec::new(),
        min: Vec::new(),
        max: Vec::new(),
    };
    let usual_ns = usual_distance_ns(&values).max(slot_ns);
    let mut before_ns = first;
    for slot in values.chunk_by(|a, b| slot_of(a.0) == slot_of(b.0)) {
        let [(begin_ns, _), ..] = *slot else { continue };
        let distance_ns = begin_ns.saturating_sub(before_ns);
        if distance_ns as f64 > GAP_MIN * usual_ns as f64 {
            line.push(before_ns + distance_ns / 2, None, None, is_thinned);
        }
        before_ns = slot.last().map_or(begin_ns, |(at_ns, _)| *at_ns);
        let of = |fold: fn(f64, f64) -> f64| slot.iter().map(|(_, v)| *v).reduce(fold);
        let mean = of(|a, b| a + b).map(|sum| Number(sum / slot.len() as f64));
        let ends = of(f64::min).zip(of(f64::max));
        line.push(begin_ns, mean, ends, is_thinned);
    }
    line
}

/// The median distance of two values, in nanoseconds; 0 without two values.
fn usual_distance_ns(values: &[(i64, f64)]) -> u64 {
    let pairs = values.windows(2).map(|pair| pair[1].0.saturating_sub(pair[0].0).unsigned_abs());
    let mut all: Vec<u64> = pairs.collect();
    all.sort_unstable();
    all.get(all.len() / 2).copied().unwrap_or(0)
}

impl ProbeLine {
    /// Adds a point; `ends`: the least and the greatest value of what is one point.
    fn push(
        &mut self,
        at_ns: i64,
        mean: Option<Number>,
        ends: Option<(f64, f64)>,
        is_thinned: bool,
    ) {
        self.at_s.push(Number(at_ns as f64 / SECOND_NS as f64));
        self.mean.push(mean);
        if is_thinned {
            self.min.push(ends.map(|(least, _)| Number(least)));
            self.max.push(ends.map(|(_, greatest)| Number(greatest)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::ProbeRow;

    fn probes(probes_count: u32, rows: impl Iterator<Item = ProbeRow>) -> Probes {
        let info = |n| ProbeInfo {
            role: "servers".to_owned(),
            region: String::new(),
            source: format!("host-{n}"),
            metric: "CPU".to_owned(),
            unit: "%".to_owned(),
            via: "host".to_owned(),
        };
        Probes { list: (0..probes_count).map(info).collect(), rows: rows.collect() }
    }

    #[test]
    fn an_hour_of_seconds_is_thinned_and_its_peak_kept() {
        let rows = (-10..3600i64).map(|s| ProbeRow {
            at_ns: s * 1_000_000_000,
            probe: 0,
            value: if s == 1234 { 99.0 } else { 5.0 },
        });
        let drawn = lines(&probes(2, rows), Division::of(3_600_000_000_000));
        assert_eq!((drawn.lines.len(), drawn.left_out), (1, 0), "one read nothing");
        let line = &drawn.lines[0];
        assert!(line.at_s.len() <= 602, "{}", line.at_s.len());
        assert_eq!(line.at_s[0], Number(-10.0));
        assert!(line.max.contains(&Some(Number(99.0))));
        assert!(line.mean.iter().all(Option::is_some), "no value is missing");
    }

    #[test]
    fn a_missing_value_is_a_gap() {
        // The seventh reading failed, and none is quite on time.
        let kept = (0..10i64).filter(|second| *second != 6);
        let rows = kept.map(|second| ProbeRow {
            at_ns: second * 1_000_000_000 + (second % 3) * 50_000_000,
            probe: 0,
            value: if second == 8 { f64::NAN } else { 5.0 },
        });
        let drawn = lines(&probes(1, rows), Division::of(10_000_000_000));
        let line = &drawn.lines[0];
        let missing: Vec<f64> = line
            .at_s
            .iter()
            .zip(&line.mean)
            .filter(|(_, mean)| mean.is_none())
            .map(|(at_s, _)| at_s.0)
            .collect();
        assert_eq!(missing.len(), 2, "{line:?}");
        assert!((missing[0] - 6.0).abs() < 0.1 && (missing[1] - 8.0).abs() < 0.1, "{missing:?}");
        assert!(line.min.is_empty());
    }

    #[test]
    fn no_number_of_probes_is_too_many() {
        let rows = (0..3600 * 400u32).map(|n| ProbeRow {
            at_ns: i64::from(n / 400) * 1_000_000_000,
            probe: n % 400,
            value: f64::from(n),
        });
        let drawn = lines(&probes(400, rows), Division::of(3_600_000_000_000));
        assert_eq!((drawn.lines.len(), drawn.left_out), (LINES_MAX, 160));
        let points: usize = drawn.lines.iter().map(|line| line.at_s.len()).sum();
        assert!(points <= POINTS_MAX + LINES_MAX, "{points}");
    }
}
