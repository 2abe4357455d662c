//! The values of the probes, thinned.

use record::Probes;
use record::probes::ProbeInfo;
use serde::Serialize;

use super::{Division, Number, SECOND_NS};

/// Most lines; the first ones are reported.
const LINES_MAX: usize = 240;
/// Most points of all lines together.
const POINTS_MAX: usize = 60_000;

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
    /// Mean of the values from that time until the next.
    pub mean: Vec<Number>,
    /// Least of these values; empty if nothing was thinned.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub min: Vec<Number>,
    /// Greatest of these values; empty if nothing was thinned.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub max: Vec<Number>,
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
    for slot in values.chunk_by(|a, b| slot_of(a.0) == slot_of(b.0)) {
        let of = |fold: fn(f64, f64) -> f64| slot.iter().map(|(_, v)| *v).reduce(fold);
        let mean = of(|a, b| a + b).map_or(0.0, |sum| sum / slot.len() as f64);
        line.at_s.push(Number(slot[0].0 as f64 / SECOND_NS as f64));
        line.mean.push(Number(mean));
        if is_thinned {
            line.min.push(Number(of(f64::min).unwrap_or(mean)));
            line.max.push(Number(of(f64::max).unwrap_or(mean)));
        }
    }
    line
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
        assert!(line.max.contains(&Number(99.0)));
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
