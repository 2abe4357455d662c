//! Metrics of a system's servers, minute by minute.

use std::collections::BTreeMap;

use record::{ProbeInfo, Probes};
use stats::polygon;

use crate::tables::{AsPrinted, Cores};

const MINUTE_NS: i64 = 60_000_000_000;
/// The role of databases.
const DATABASES: &str = "mysql";

/// Metrics that the servers reported in the printed minutes.
pub(super) struct Minutes<'r> {
    cores: &'r Cores,
    /// Divisor of the sum over cores, if that is not their sum.
    cores_total: Option<f64>,
    /// Minutes and values by probe.
    series: Vec<(&'r ProbeInfo, BTreeMap<i64, f64>)>,
    /// Minutes that count.
    count: i64,
}

impl<'r> Minutes<'r> {
    pub(super) fn new(probes: &'r Probes, cores: &'r Cores, count: i64) -> Minutes<'r> {
        let mut series: Vec<_> = probes.list.iter().map(|info| (info, BTreeMap::new())).collect();
        for row in &probes.rows {
            let minute = row.at_ns.div_euclid(MINUTE_NS);
            series[row.probe as usize].1.insert(minute, row.value);
        }
        Minutes { cores, cores_total: None, series, count }
    }

    /// The minutes that the printed figures were computed from.
    pub(super) fn as_printed(&self, how: &'r AsPrinted) -> Minutes<'r> {
        let left = self.series.iter().filter(|one| one.0.source != how.without);
        Minutes {
            cores: &how.cores,
            cores_total: Some(how.cores_total),
            series: left.cloned().collect(),
            count: self.count,
        }
    }

    fn cores_of(&self, info: &ProbeInfo) -> f64 {
        let own = format!("{}/{}", info.role, info.source);
        let found = self.cores.get(&own).or_else(|| self.cores.get(&info.role));
        found.copied().unwrap_or(0.0)
    }

    /// Cores of all sources.
    pub(super) fn cores_total(&self) -> f64 {
        let sources = self.metric("CPUUtilization");
        let sum = sources.map(|one| self.cores_of(one.0)).sum();
        self.cores_total.unwrap_or(sum)
    }

    /// Cores of all sources, of the databases only the largest.
    pub(super) fn cores_without_replicas(&self) -> f64 {
        let sources = || self.metric("CPUUtilization").map(|one| one.0);
        let others = sources().filter(|info| info.role != DATABASES);
        let databases = sources().filter(|info| info.role == DATABASES);
        let largest = databases.map(|info| self.cores_of(info)).fold(0.0, f64::max);
        others.map(|info| self.cores_of(info)).sum::<f64>() + largest
    }

    fn metric(&self, metric: &str) -> impl Iterator<Item = &(&'r ProbeInfo, BTreeMap<i64, f64>)> {
        self.series.iter().filter(move |one| one.0.metric == metric)
    }

    /// A metric over all sources, in the minutes in which each of them reported it.
    pub(super) fn sums(&self, metric: &str, scale: f64) -> BTreeMap<i64, f64> {
        self.weighted(metric, |_| scale, 0..self.count)
    }

    fn weighted(
        &self,
        metric: &str,
        weight: impl Fn(&ProbeInfo) -> f64,
        minutes: std::ops::Range<i64>,
    ) -> BTreeMap<i64, f64> {
        let all: Vec<_> = self.metric(metric).collect();
        let of = |minute: &i64| {
            let values = all.iter().map(|(info, own)| Some(own.get(minute)? * weight(info)));
            let sum = values.sum::<Option<f64>>();
            sum.filter(|_| !all.is_empty()).map(|sum| (*minute, sum))
        };
        minutes.filter_map(|minute| of(&minute)).collect()
    }

    /// CPU in per cent, weighted by cores.
    pub(super) fn cpu(&self) -> BTreeMap<i64, f64> {
        let total = self.cores_total();
        if self.cores_total.is_none() {
            let share = |info: &ProbeInfo| self.cores_of(info) / total;
            return self.weighted("CPUUtilization", share, 0..self.count);
        }
        // As the thesis does: a source without a row counts as idle.
        let mut sums: BTreeMap<i64, f64> = BTreeMap::new();
        for (info, values) in self.metric("CPUUtilization") {
            for (at, value) in values.range(0..self.count) {
                *sums.entry(*at).or_default() += value * self.cores_of(info) / total;
            }
        }
        sums
    }

    /// Used over available, in per cent.
    pub(super) fn share(&self, what: &str) -> BTreeMap<i64, f64> {
        let used = self.sums(&format!("{what}Used"), 100.0);
        let available = self.sums(&format!("{what}Available"), 1.0);
        let both = used.into_iter().filter_map(|(at, used)| Some((at, used / available.get(&at)?)));
        both.collect()
    }

    pub(super) fn crum(&self) -> BTreeMap<i64, f64> {
        let memory = self.share("Memory");
        let disk = self.share("DiskSpace");
        let area = |(at, cpu): (i64, f64)| {
            let radii = [cpu, *memory.get(&at)?, *disk.get(&at)?];
            Some((at, polygon::area(&radii)?))
        };
        self.cpu().into_iter().filter_map(area).collect()
    }

    /// Bytes in a minute. Hosts report these, the database a mean by second.
    pub(super) fn network(&self, direction: &str, all_minutes: bool) -> BTreeMap<i64, f64> {
        let minutes = match all_minutes {
            true => i64::from(i32::MIN)..i64::from(i32::MAX),
            false => 0..self.count,
        };
        let other = if direction == "In" { "Receive" } else { "Transmit" };
        let metrics =
            [(format!("Network{direction}"), 1.0), (format!("Network{other}Throughput"), 60.0)];
        let sources: Vec<_> = metrics
            .iter()
            .flat_map(|(metric, factor)| self.metric(metric).map(move |source| (&source.1, factor)))
            .collect();
        let Some((first, _)) = sources.first() else {
            return BTreeMap::new();
        };
        let of = |at: &i64| {
            let bytes = sources.iter().map(|(values, factor)| Some(values.get(at)? * **factor));
            bytes.sum::<Option<f64>>().map(|sum| (*at, sum))
        };
        first.keys().filter(|at| minutes.contains(at)).filter_map(of).collect()
    }

    /// The least value that one role's sources reported.
    pub(super) fn least_source(&self, metric: &str, role: &str) -> Option<f64> {
        let of_role = self.metric(metric).filter(|source| source.0.role == role);
        let values =
            of_role.flat_map(|source| source.1.range(0..self.count).map(|(_, &value)| value));
        values.reduce(f64::min)
    }
}

pub(super) fn statistic(values: &BTreeMap<i64, f64>, which: &str) -> Option<f64> {
    match which {
        "min" => values.values().copied().reduce(f64::min),
        "max" => values.values().copied().reduce(f64::max),
        "avg" => mean(values),
        "total" => Some(values.values().sum()).filter(|_| !values.is_empty()),
        _ => None,
    }
}

pub(super) fn mean(values: &BTreeMap<i64, f64>) -> Option<f64> {
    (!values.is_empty()).then(|| values.values().sum::<f64>() / values.len() as f64)
}
