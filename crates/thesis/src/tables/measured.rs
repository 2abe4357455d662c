//! Figures that come from the published results of a system.

use std::collections::BTreeMap;

use record::import::ClientReport;
use record::{Import, ProbeInfo, Probes};
use stats::polygon;

use super::agreement::Reading;
use super::{PUBLISHED, Results};
use judge::clients::{self, PooledMeasure};

const MS: f64 = 1e6;
const MINUTE_NS: i64 = 60_000_000_000;
const MIB: f64 = 1_048_576.0;
const GIB: f64 = 1_073_741_824.0;

/// Measures by the thesis's order, and their places in an import.
const MEASURES: [(&str, u16); 3] = [("handshake", 0), ("request", 1), ("broadcast", 2)];

/// A system's results, with the minutes that count.
pub(super) struct System<'r> {
    import: &'r Import,
    minutes: Minutes<'r>,
}

/// What the servers reported in the printed minutes.
struct Minutes<'r> {
    cores: &'r BTreeMap<String, f64>,
    /// By probe: (minute, value).
    told: Vec<(&'r ProbeInfo, BTreeMap<i64, f64>)>,
    /// Minutes that count.
    count: i64,
}

impl<'r> System<'r> {
    pub(super) fn new(results: &'r Results, system: &'r super::System, count: i64) -> System<'r> {
        System {
            import: &results.import,
            minutes: Minutes::new(&results.probes, &system.cores, count),
        }
    }

    /// The figure of a row; `None` where the results do not tell it.
    pub(super) fn reading(&self, id: &str) -> Option<Reading> {
        if let Some((measure, region)) = id.split_once('@') {
            return self.regional(measure, region);
        }
        let (what, which) = id.split_once('-').unwrap_or((id, ""));
        let value = match (what, which) {
            ("users", "planned") => self.sum(|client| client.users_planned as f64),
            ("clients", _) => self.sum(|_| 1.0),
            ("requests", "per-user") => self.per_user("request")?,
            ("broadcasts", "per-user") => self.per_user("broadcast")?,
            ("connected", _) => self.all("handshake")?.pooled.count as f64,
            ("requests", _) => self.all("request")?.pooled.count as f64,
            ("handshake" | "request" | "broadcast", _) => self.latency(what, which)?,
            ("cores", _) => self.minutes.cores.values().sum(),
            ("memory" | "disk", "available") => {
                let metric = if what == "memory" {
                    "Memory"
                } else {
                    "DiskSpace"
                };
                let told = self.minutes.sums(&format!("{metric}Available"), 1.0);
                // The thesis makes a gigabyte of a thousand of the megabytes that were reported.
                let scale = if what == "memory" { 1000.0 } else { 1.0 };
                mean(&told)? / scale
            }
            ("cpu" | "memory" | "disk" | "crum" | "in" | "out", _) => {
                return self.series(what, which);
            }
            ("spm", _) => self.spm(which)?,
            _ => return None,
        };
        Some(Reading::exactly(value))
    }

    /// Other figures that a row may have been meant to be.
    pub(super) fn others(&self, id: &str) -> Vec<(String, (f64, f64))> {
        if id != "data-out" {
            return Vec::new();
        }
        let all = self.minutes.network("Out", true).values().sum::<f64>() / GIB;
        let words = "from all minutes of the file, those before and after the run included";
        vec![(words.to_owned(), (all, all))]
    }

    fn told(&self, measure: &str, keep: impl Fn(&ClientReport) -> bool) -> Option<PooledMeasure> {
        let (_, place) = MEASURES.iter().find(|found| found.0 == measure)?;
        clients::pool(self.import, *place, keep)
    }

    fn all(&self, measure: &str) -> Option<PooledMeasure> {
        self.told(measure, |_| true)
    }

    fn sum(&self, of: impl Fn(&ClientReport) -> f64) -> f64 {
        self.import.clients.iter().map(of).sum()
    }

    fn per_user(&self, measure: &str) -> Option<f64> {
        let users = self.all("handshake")?.pooled.count as f64;
        Some(self.all(measure)?.pooled.count as f64 / users)
    }

    /// Milliseconds.
    fn latency(&self, measure: &str, which: &str) -> Option<f64> {
        let told = self.all(measure)?;
        let ns = match which {
            "min" => told.min_ns as f64,
            "avg" => told.pooled.mean,
            "sd" => told.pooled.within,
            "max" => told.max_ns as f64,
            // The worst client's.
            "p98" => {
                let (_, place) = MEASURES.iter().find(|found| found.0 == measure)?;
                clients::worst_percentile(self.import, *place, "98%")? as f64
            }
            _ => return None,
        };
        Some(ns / MS)
    }

    /// A region's mean; should that of another be printed in its place, that is reported.
    fn regional(&self, measure: &str, region: &str) -> Option<Reading> {
        let of = |region: &str| {
            let told = self.told(measure, |client| client.region == region)?;
            Some(told.pooled.mean / MS)
        };
        let mut reading = Reading::exactly(of(region)?);
        let others = PUBLISHED.regions.iter().filter(|other| other.id != region);
        reading.others = others
            .filter_map(|other| {
                let value = of(&other.id)?;
                Some((
                    format!("from the clients of {}", other.name),
                    (value, value),
                ))
            })
            .collect();
        Some(reading)
    }

    /// What the servers reported, minute by minute.
    fn series(&self, what: &str, which: &str) -> Option<Reading> {
        let told = match what {
            "cpu" => self.minutes.cpu(),
            "memory" => self.minutes.share("Memory"),
            "disk" => self.minutes.share("DiskSpace"),
            "crum" => self.minutes.crum(),
            "in" => self.minutes.network("In", false),
            _ => self.minutes.network("Out", false),
        };
        let network = matches!(what, "in" | "out");
        let scale = match (network, which) {
            (true, "total") => GIB,
            (true, _) => MIB,
            (false, _) => 1.0,
        };
        let mut reading = Reading::exactly(statistic(&told, which)? / scale);
        if (what, which) == ("cpu", "min") {
            let least = self.minutes.least_source("CPUUtilization", "servers");
            let words = "from the servers alone, without the stores";
            reading.others = least
                .map(|v| (words.to_owned(), (v, v)))
                .into_iter()
                .collect();
        }
        Some(reading)
    }

    /// From figures that were not rounded.
    fn spm(&self, which: &str) -> Option<f64> {
        let latency = match which {
            "min" => "p98",
            "avg" => "avg",
            _ => "min",
        };
        let mut radii = Vec::new();
        for (measure, _) in MEASURES {
            radii.push(1.0 / self.latency(measure, latency)?);
        }
        for what in ["in", "out"] {
            radii.push(self.series(what, which)?.value);
        }
        polygon::area(&radii)
    }
}

impl<'r> Minutes<'r> {
    fn new(probes: &'r Probes, cores: &'r BTreeMap<String, f64>, count: i64) -> Minutes<'r> {
        let mut told: Vec<_> = probes
            .list
            .iter()
            .map(|info| (info, BTreeMap::new()))
            .collect();
        for row in &probes.rows {
            let minute = row.at_ns.div_euclid(MINUTE_NS);
            told[row.probe as usize].1.insert(minute, row.value);
        }
        Minutes { cores, told, count }
    }

    fn metric(&self, metric: &str) -> impl Iterator<Item = &(&'r ProbeInfo, BTreeMap<i64, f64>)> {
        self.told.iter().filter(move |told| told.0.metric == metric)
    }

    /// A metric over all sources, in the minutes in which each of them told it.
    fn sums(&self, metric: &str, scale: f64) -> BTreeMap<i64, f64> {
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
            let values = all
                .iter()
                .map(|(info, told)| Some(told.get(minute)? * weight(info)));
            let sum = values.sum::<Option<f64>>();
            sum.filter(|_| !all.is_empty()).map(|sum| (*minute, sum))
        };
        minutes.filter_map(|minute| of(&minute)).collect()
    }

    /// Per cent, weighted by cores.
    fn cpu(&self) -> BTreeMap<i64, f64> {
        let cores = |info: &ProbeInfo| self.cores.get(&info.role).copied().unwrap_or(0.0);
        let total: f64 = self
            .metric("CPUUtilization")
            .map(|told| cores(told.0))
            .sum();
        self.weighted("CPUUtilization", |info| cores(info) / total, 0..self.count)
    }

    /// Used over available, in per cent.
    fn share(&self, what: &str) -> BTreeMap<i64, f64> {
        let used = self.sums(&format!("{what}Used"), 100.0);
        let available = self.sums(&format!("{what}Available"), 1.0);
        let both = used
            .into_iter()
            .filter_map(|(at, used)| Some((at, used / available.get(&at)?)));
        both.collect()
    }

    fn crum(&self) -> BTreeMap<i64, f64> {
        let (memory, disk) = (self.share("Memory"), self.share("DiskSpace"));
        let area = |(at, cpu): (i64, f64)| {
            let radii = [cpu, *memory.get(&at)?, *disk.get(&at)?];
            Some((at, polygon::area(&radii)?))
        };
        self.cpu().into_iter().filter_map(area).collect()
    }

    /// Bytes in a minute. Hosts tell these, the database a mean by second.
    fn network(&self, direction: &str, all_minutes: bool) -> BTreeMap<i64, f64> {
        let minutes = match all_minutes {
            true => i64::from(i32::MIN)..i64::from(i32::MAX),
            false => 0..self.count,
        };
        let other = if direction == "In" {
            "Receive"
        } else {
            "Transmit"
        };
        let metrics = [
            (format!("Network{direction}"), 1.0),
            (format!("Network{other}Throughput"), 60.0),
        ];
        let sources: Vec<_> = metrics
            .iter()
            .flat_map(|(metric, factor)| self.metric(metric).map(move |told| (&told.1, factor)))
            .collect();
        let Some((first, _)) = sources.first() else {
            return BTreeMap::new();
        };
        let of = |at: &i64| {
            let told = sources
                .iter()
                .map(|(told, factor)| Some(told.get(at)? * **factor));
            told.sum::<Option<f64>>().map(|sum| (*at, sum))
        };
        first
            .keys()
            .filter(|at| minutes.contains(at))
            .filter_map(of)
            .collect()
    }

    /// The least value that one role's sources reported.
    fn least_source(&self, metric: &str, role: &str) -> Option<f64> {
        let of_role = self.metric(metric).filter(|told| told.0.role == role);
        let values = of_role.flat_map(|told| told.1.range(0..self.count).map(|(_, &value)| value));
        values.reduce(f64::min)
    }
}

fn statistic(told: &BTreeMap<i64, f64>, which: &str) -> Option<f64> {
    match which {
        "min" => told.values().copied().reduce(f64::min),
        "max" => told.values().copied().reduce(f64::max),
        "avg" => mean(told),
        "total" => Some(told.values().sum()).filter(|_| !told.is_empty()),
        _ => None,
    }
}

fn mean(told: &BTreeMap<i64, f64>) -> Option<f64> {
    (!told.is_empty()).then(|| told.values().sum::<f64>() / told.len() as f64)
}
