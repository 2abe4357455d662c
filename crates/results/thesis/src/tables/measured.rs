//! Figures that come from the published results of a system.

mod minutes;

use record::Import;
use record::import::ClientReport;
use stats::polygon;

use super::agreement::Reading;
use super::{AsPrinted, PUBLISHED, Results};
use judge::clients::{self, PooledMeasure};
use minutes::{Minutes, mean, statistic};

const MS: f64 = 1e6;
const MIB: f64 = 1_048_576.0;
const GIB: f64 = 1_073_741_824.0;

/// Measures by the thesis's order, and their places in an import.
const MEASURES: [(&str, u16); 3] = [("handshake", 0), ("request", 1), ("broadcast", 2)];

/// Percentiles below the 98th: their labels in the reports, and their names.
const LOWER_PERCENTILES: [(&str, &str); 6] = [
    ("50%", "50th"),
    ("66%", "66th"),
    ("75%", "75th"),
    ("80%", "80th"),
    ("90%", "90th"),
    ("95%", "95th"),
];

/// A system's results, with the minutes that count.
pub(super) struct System<'r> {
    import: &'r Import,
    minutes: Minutes<'r>,
    /// The minutes from which the printed figures follow, where these are others.
    as_printed: Option<(&'r AsPrinted, Minutes<'r>)>,
}

impl<'r> System<'r> {
    pub(super) fn new(results: &'r Results, system: &'r super::System, count: i64) -> System<'r> {
        let minutes = Minutes::new(&results.probes, &system.cores, count);
        let as_printed = system.as_printed.as_ref();
        System {
            import: &results.import,
            as_printed: as_printed.map(|how| (how, minutes.as_printed(how))),
            minutes,
        }
    }

    /// The figure of a row; `None` where the results do not have it.
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
            ("handshake" | "request" | "broadcast", _) => {
                let mut reading = Reading::exactly(self.latency(what, which)?);
                reading.others = self.other_latencies(what, which);
                return Some(reading);
            }
            ("cores", _) => return self.cores(),
            ("memory" | "disk", "available") => return self.available(what),
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

    fn pooled(&self, measure: &str, keep: impl Fn(&ClientReport) -> bool) -> Option<PooledMeasure> {
        let (_, place) = MEASURES.iter().find(|found| found.0 == measure)?;
        clients::pool(self.import, *place, keep)
    }

    fn all(&self, measure: &str) -> Option<PooledMeasure> {
        self.pooled(measure, |_| true)
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
        let all = self.all(measure)?;
        let ns = match which {
            "min" => all.min_ns as f64,
            "avg" => all.pooled.mean,
            "sd" => all.pooled.within,
            "max" => all.max_ns as f64,
            // The worst client's.
            "p98" => {
                let (_, place) = MEASURES.iter().find(|found| found.0 == measure)?;
                clients::worst_percentile(self.import, *place, "98%")? as f64
            }
            _ => return None,
        };
        Some(ns / MS)
    }

    /// Other readings of a latency: the same figure of the measure that it may have been exchanged
    /// with, and lower percentiles.
    fn other_latencies(&self, measure: &str, which: &str) -> Vec<(String, (f64, f64))> {
        let exchanged = match measure {
            "handshake" => Some("request"),
            "request" => Some("handshake"),
            _ => None,
        };
        let exchanged = exchanged.and_then(|other| {
            let value = self.latency(other, which)?;
            Some((format!("from the {other}s"), (value, value)))
        });
        let place = MEASURES.iter().find(|found| found.0 == measure);
        let lower = place.filter(|_| which == "p98").into_iter();
        let lower = lower.flat_map(|(_, place)| {
            LOWER_PERCENTILES.iter().filter_map(|(label, name)| {
                let ns = clients::worst_percentile(self.import, *place, label)? as f64;
                let words = format!("with the {name} percentile in place of the 98th");
                Some((words, (ns / MS, ns / MS)))
            })
        });
        exchanged.into_iter().chain(lower).collect()
    }

    fn cores(&self) -> Option<Reading> {
        let total = Some(self.minutes.cores_total()).filter(|&total| total > 0.0);
        let mut reading = Reading::exactly(total?);
        let without = self.minutes.cores_without_replicas();
        let words = "without the replicas of MySQL".to_owned();
        reading.others = vec![(words, (without, without))];
        Some(reading)
    }

    fn available(&self, what: &str) -> Option<Reading> {
        // The thesis makes a gigabyte of a thousand of the megabytes that were reported.
        let (metric, scale) = match what {
            "memory" => ("MemoryAvailable", 1000.0),
            _ => ("DiskSpaceAvailable", 1.0),
        };
        let value = mean(&self.minutes.sums(metric, 1.0))? / scale;
        let mut reading = Reading::exactly(value);
        let words = "if the last digit before the decimal point is omitted";
        reading.others = vec![(words.to_owned(), (value / 10.0, value / 10.0))];
        Some(reading)
    }

    /// A region's mean; should that of another be printed in its place, that is reported.
    fn regional(&self, measure: &str, region: &str) -> Option<Reading> {
        let of = |region: &str| {
            let own = self.pooled(measure, |client| client.region == region)?;
            Some(own.pooled.mean / MS)
        };
        let mut reading = Reading::exactly(of(region)?);
        let others = PUBLISHED.regions.iter().filter(|other| other.id != region);
        reading.others = others
            .filter_map(|other| {
                let value = of(&other.id)?;
                Some((format!("from the clients of {}", other.name), (value, value)))
            })
            .collect();
        Some(reading)
    }

    /// The figure of a series of the servers, minute by minute.
    fn series(&self, what: &str, which: &str) -> Option<Reading> {
        let mut reading = Reading::exactly(figure(&self.minutes, what, which)?);
        if (what, which) == ("cpu", "min") {
            let least = self.minutes.least_source("CPUUtilization", "servers");
            let words = "from the servers alone, without the stores";
            reading.others.extend(least.map(|v| (words.to_owned(), (v, v))));
        }
        if let Some((how, minutes)) = &self.as_printed {
            let words = match what {
                "in" | "out" => &how.words,
                _ => &how.cpu_words,
            };
            let value = figure(minutes, what, which);
            reading.others.extend(value.map(|v| (words.clone(), (v, v))));
        }
        Some(reading)
    }

    /// The meter from figures that were not rounded.
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

/// A figure of what was reported minute by minute.
fn figure(minutes: &Minutes<'_>, what: &str, which: &str) -> Option<f64> {
    let values = match what {
        "cpu" => minutes.cpu(),
        "memory" => minutes.share("Memory"),
        "disk" => minutes.share("DiskSpace"),
        "crum" => minutes.crum(),
        "in" => minutes.network("In", false),
        _ => minutes.network("Out", false),
    };
    let network = matches!(what, "in" | "out");
    let scale = match (network, which) {
        (true, "total") => GIB,
        (true, _) => MIB,
        (false, _) => 1.0,
    };
    Some(statistic(&values, which)? / scale)
}

#[cfg(test)]
mod tests;
