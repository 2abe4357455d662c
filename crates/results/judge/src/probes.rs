//! The readings of probes: figures of each probe, and what they say of the target's limits.

mod limits;
#[cfg(test)]
mod tests;

use record::schema::{EventKind, Finding, Severity};
use record::{ProbeInfo, Probes};

use crate::case::Case;
use crate::figures::Figures;
use crate::finding::finding;
use crate::incidents::Beside;
use crate::limits::{
    BESIDE_LIMIT_SHARE_MIN, BESIDE_NS, BESIDE_PROBE_SHARE_MIN, BESIDE_PROBE_Z, BESIDE_PROBES_MAX,
    PROBE_FINDINGS_MAX, PROBE_LIMIT_READINGS_MIN, PROBE_LIMIT_SHARE_MIN,
};
use limits::{LIMITS, Limit, Reference, UNWANTED, UnwantedRate};

/// The role under which a source's own cost is recorded.
const ASKER: &str = "generator";
/// Rates of a gap are not summed over more than this: nobody asked meanwhile.
const STEP_NS_MAX: i64 = 10_000_000_000;

/// A probe over a time.
#[derive(Debug, Clone, PartialEq)]
pub struct ProbeFigures {
    pub info: ProbeInfo,
    /// Number of values.
    pub count: u64,
    pub mean: f64,
    pub min: f64,
    pub max: f64,
}

/// Figures of all probes that have values from `start_ns` up to `end_ns`, in the order of the
/// record.
pub fn figures(probes: &Probes, start_ns: i64, end_ns: i64) -> Vec<ProbeFigures> {
    let values = by_probe(probes, start_ns, end_ns);
    let read = probes.list.iter().zip(values);
    read.filter(|(_, values)| !values.is_empty())
        .map(|(info, values)| {
            let numbers = || values.iter().map(|&(_, value)| value);
            ProbeFigures {
                info: info.clone(),
                count: values.len() as u64,
                mean: numbers().sum::<f64>() / values.len() as f64,
                min: numbers().fold(f64::INFINITY, f64::min),
                max: numbers().fold(f64::NEG_INFINITY, f64::max),
            }
        })
        .collect()
}

/// Times and values of each probe within a time.
fn by_probe(probes: &Probes, start_ns: i64, end_ns: i64) -> Vec<Vec<(i64, f64)>> {
    let mut values = vec![Vec::new(); probes.list.len()];
    let rows = probes.rows.iter();
    for row in rows.filter(|row| (start_ns..=end_ns).contains(&row.at_ns)) {
        if let Some(values) = values.get_mut(row.probe as usize) {
            values.push((row.at_ns, row.value));
        }
    }
    values
}

/// Limits that the server's side met while load was planned, those first that held longest; then
/// sources that were lost, and what asking cost.
pub(crate) fn findings(case: &Case<'_>) -> Vec<Finding> {
    let run = case.figures;
    let end_ns = i64::try_from(run.planned_end_ns()).unwrap_or(i64::MAX);
    let read = Readings { run, values: by_probe(&run.probes, 0, end_ns) };
    let mut met: Vec<LimitMet> = Vec::new();
    for place in 0..run.probes.list.len() {
        met.extend(LIMITS.iter().filter_map(|limit| read.at_limit(place, limit)));
        met.extend(UNWANTED.iter().filter_map(|counted| read.counted(place, counted)));
    }
    met.sort_by(|one, other| other.share.total_cmp(&one.share));
    let mut findings: Vec<Finding> = met.into_iter().map(|met| met.finding).collect();
    findings.truncate(PROBE_FINDINGS_MAX);
    findings.extend(lost(run));
    findings.extend(cost(run));
    findings
}

/// Limits that the server's side met within a time, and probes that were far from what they were otherwise.
pub(crate) fn beside(run: &Figures, begin_ns: u64, end_ns: u64) -> Vec<Beside> {
    let last_ns = i64::try_from(run.planned_end_ns()).unwrap_or(i64::MAX);
    let read = Readings { run, values: by_probe(&run.probes, 0, last_ns) };
    let mut all = Vec::new();
    let mut changes = Vec::new();
    for place in 0..run.probes.list.len() {
        match read.limit_beside(place, begin_ns, end_ns) {
            Some(limit) => all.push(limit),
            None => changes.extend(read.change_beside(place, begin_ns, end_ns)),
        }
    }
    changes.sort_by(|a, b| b.0.total_cmp(&a.0));
    all.extend(changes.into_iter().take(BESIDE_PROBES_MAX).map(|(_, beside)| beside));
    all
}

/// Readings of a probe within a time, and the others.
struct NearReadings {
    within: Vec<(u64, f64)>,
    outside: Vec<(u64, f64)>,
}

impl NearReadings {
    fn of(values: &[(i64, f64)], begin_ns: u64, end_ns: u64) -> NearReadings {
        let known = values.iter().map(|&(at_ns, value)| (u64::try_from(at_ns).unwrap_or(0), value));
        let (within, outside) = known.partition(|&(at_ns, _)| (begin_ns..=end_ns).contains(&at_ns));
        NearReadings { within, outside }
    }
}

/// A limit of the server's side that a probe met.
struct LimitMet {
    /// Share of its readings in which it did.
    share: f64,
    finding: Finding,
}

/// The probes with their values while load was planned.
struct Readings<'a> {
    run: &'a Figures,
    values: Vec<Vec<(i64, f64)>>,
}

impl Readings<'_> {
    /// A gauge at its limit for a share of its readings.
    fn at_limit(&self, place: usize, limit: &Limit) -> Option<LimitMet> {
        let info = &self.run.probes.list[place];
        if info.via != limit.via || info.metric != limit.metric {
            return None;
        }
        let full = self.full(info, limit)?;
        let values = &self.values[place];
        let at = |&&(_, value): &&(i64, f64)| value >= limit.least * full;
        let held = values.iter().filter(at).count();
        let share = held as f64 / values.len().max(1) as f64;
        if held < PROBE_LIMIT_READINGS_MIN || share < PROBE_LIMIT_SHARE_MIN {
            return None;
        }
        let mean = values.iter().map(|&(_, value)| value).sum::<f64>() / values.len() as f64;
        let max = values.iter().map(|&(_, v)| v).fold(f64::MIN, f64::max);
        let mut text = format!(
            "{}: {} in {} of {} readings ({}; mean {}, max {})",
            name(info),
            limit.words,
            held,
            values.len(),
            told_limit(limit, full, info),
            shown(mean, &info.unit),
            shown(max, &info.unit),
        );
        let mut draft = finding(Severity::Warning, limit.code, String::new())
            .with("readings", values.len() as f64)
            .with("readings_at_limit", held as f64)
            .with("mean", mean)
            .with("max", max);
        if limit.code == "server-cpu" && info.via == "host" && self.is_generators_host(info) {
            let own = self.generators_share();
            text += &format!("; the generator on the same machine used {}", units::percent(own));
            draft = draft.with("generator_share", own);
        }
        Some(LimitMet { share, finding: draft.worded(text) })
    }

    /// The value that counts as full.
    fn full(&self, info: &ProbeInfo, limit: &Limit) -> Option<f64> {
        match limit.of {
            Reference::Itself => Some(1.0),
            Reference::Cores => Some(100.0 * f64::from(self.run.info.generator.cores)),
            Reference::Metric(metric) => self.last(info, metric).filter(|&full| full > 0.0),
        }
    }

    /// A limit that a probe met within a time, and hardly outside of it.
    fn limit_beside(&self, place: usize, begin_ns: u64, end_ns: u64) -> Option<Beside> {
        let info = &self.run.probes.list[place];
        let is_it = |limit: &&Limit| info.via == limit.via && info.metric == limit.metric;
        let limit = LIMITS.iter().find(is_it)?;
        let full = self.full(info, limit)?;
        let near = NearReadings::of(&self.values[place], begin_ns, end_ns);
        let held = |values: &[(u64, f64)]| {
            let at = values.iter().filter(|&&(_, value)| value >= limit.least * full);
            at.count() as f64 / values.len().max(1) as f64
        };
        let share = held(&near.within);
        if share < BESIDE_LIMIT_SHARE_MIN || held(&near.outside) > share / 2.0 {
            return None;
        }
        let first = near.within.iter().find(|&&(_, value)| value >= limit.least * full)?;
        let at = units::clock(first.0);
        let text = format!("{}: {} from {at} on", name(info), limit.words);
        Some(Beside { distance_ns: first.0.abs_diff(begin_ns).min(BESIDE_NS), text })
    }

    /// How far the mean of a probe within a time is from its other readings, with the words for it.
    fn change_beside(&self, place: usize, begin_ns: u64, end_ns: u64) -> Option<(f64, Beside)> {
        let info = &self.run.probes.list[place];
        let near = NearReadings::of(&self.values[place], begin_ns, end_ns);
        if near.within.is_empty() || near.outside.len() < PROBE_LIMIT_READINGS_MIN {
            return None;
        }
        let mean = |values: &[(u64, f64)]| {
            values.iter().map(|&(_, value)| value).sum::<f64>() / values.len() as f64
        };
        let usual = mean(&near.outside);
        let during = mean(&near.within);
        let squares = near.outside.iter().map(|&(_, value)| (value - usual).powi(2));
        let deviation = (squares.sum::<f64>() / near.outside.len() as f64).sqrt();
        let change = (during - usual).abs();
        let is_great = change > 0.0
            && change >= BESIDE_PROBE_Z * deviation
            && change >= BESIDE_PROBE_SHARE_MIN * usual.abs().max(during.abs());
        let text = format!(
            "{}: {} {} → {}",
            name(info),
            info.metric,
            shown(usual, &info.unit),
            shown(during, &info.unit)
        );
        is_great.then(|| (change / deviation, Beside { distance_ns: 0, text }))
    }

    /// Something that should not happen at all, by how often it did.
    fn counted(&self, place: usize, counted: &UnwantedRate) -> Option<LimitMet> {
        let info = &self.run.probes.list[place];
        // The generator reports this of its own host.
        let is_reported =
            counted.code == "server-listen-overflows" && self.is_generators_host(info);
        if info.via != counted.via || info.metric != counted.metric || is_reported {
            return None;
        }
        let values = &self.values[place];
        let count = total(values);
        let (first_ns, _) = values.iter().find(|&&(_, rate)| rate > 0.0)?;
        if count < 0.5 {
            return None;
        }
        let text = format!(
            "{}: {} {}, the first {} into the run",
            name(info),
            units::count(count.round() as u64),
            counted.words,
            units::span(u64::try_from(*first_ns).unwrap_or(0)),
        );
        let draft = finding(Severity::Warning, counted.code, text).with("count", count.round());
        // Behind what was at its limit for as long as it happened.
        let seconds = values.iter().filter(|(_, rate)| *rate > 0.0).count();
        let share = seconds as f64 / values.len().max(1) as f64;
        Some(LimitMet { share, finding: draft.done() })
    }

    /// The last value of another metric of the same source.
    fn last(&self, info: &ProbeInfo, metric: &str) -> Option<f64> {
        let is_it = |other: &ProbeInfo| {
            other.metric == metric
                && (&other.via, &other.role, &other.region, &other.source)
                    == (&info.via, &info.role, &info.region, &info.source)
        };
        let place = self.run.probes.list.iter().position(is_it)?;
        self.values[place].last().map(|&(_, value)| value)
    }

    fn is_generators_host(&self, info: &ProbeInfo) -> bool {
        let host = &self.run.info.host;
        host.get("hostname").is_some_and(|name| *name == info.source)
    }

    /// The generator's CPU as a share of all cores.
    fn generators_share(&self) -> f64 {
        let cpu_s = self.run.total(|row| row.cpu_process_ns) as f64 / 1e9;
        let cores = f64::from(self.run.info.generator.cores.max(1));
        (cpu_s / (self.run.seconds(None).max(1e-9) * cores)).min(1.0)
    }
}

/// The sum of rates: each holds since the value before.
fn total(values: &[(i64, f64)]) -> f64 {
    let mut before_ns = None;
    let mut sum = 0.0;
    for &(at_ns, rate) in values {
        let step_ns = before_ns.map_or(1_000_000_000, |before: i64| at_ns - before);
        sum += rate * step_ns.clamp(0, STEP_NS_MAX) as f64 / 1e9;
        before_ns = Some(at_ns);
    }
    sum
}

/// A source, for people.
pub(crate) fn name(info: &ProbeInfo) -> String {
    match info.role == info.via || info.role.is_empty() {
        true => format!("{} {}", info.via, info.source),
        false => format!("{} ({} {})", info.role, info.via, info.source),
    }
}

fn told_limit(limit: &Limit, full: f64, info: &ProbeInfo) -> String {
    match limit.of {
        Reference::Itself => format!("{} or more", shown(limit.least, &info.unit)),
        Reference::Cores | Reference::Metric(_) => {
            let least = units::percent(limit.least);
            format!("{least} of {} or more", shown(full, &info.unit))
        }
    }
}

/// A value of a probe in its unit, for people.
pub fn shown(value: f64, unit: &str) -> String {
    match unit {
        "B" if value >= 0.0 => units::bytes(value as u64),
        "B/s" if value >= 0.0 => format!("{}/s", units::bytes(value as u64)),
        "s" if value >= 0.0 => units::duration(value * 1e9),
        "1/s" => format!("{}/s", units::significant(value, 3)),
        "1" | "" => units::significant(value, 3),
        unit => format!("{} {unit}", units::significant(value, 3)),
    }
}

/// Sources that were lost, each with what was missed.
fn lost(run: &Figures) -> Vec<Finding> {
    let mut findings = Vec::new();
    for event in &run.events {
        let EventKind::ProbeSource { role, source, readings, missed, .. } = &event.what else {
            continue;
        };
        if *missed == 0 {
            continue;
        }
        let why = run.events.iter().find_map(|event| match &event.what {
            EventKind::ProbeLost { role: of, source: at, why } if (of, at) == (role, source) => {
                Some(format!(": {why}"))
            }
            _ => None,
        });
        let text = format!(
            "probe {role} {source}: {} of {} readings are missing{}",
            units::count(*missed),
            units::count(readings + missed),
            why.unwrap_or_default()
        );
        let draft = finding(Severity::Warning, "probe-lost", text)
            .with("missed", *missed as f64)
            .with("readings", *readings as f64);
        findings.push(draft.done());
    }
    findings
}

/// The number of sources and metrics, and the CPU that probing took.
fn cost(run: &Figures) -> Option<Finding> {
    let metrics = run.probes.list.iter().filter(|info| info.role != ASKER);
    let metrics = metrics.count() as u64;
    let mut sources = 0;
    let mut cpu_ns = 0;
    for event in &run.events {
        if let EventKind::ProbeSource { cpu_ns: ns, .. } = event.what {
            sources += 1;
            cpu_ns += ns;
        }
    }
    if sources == 0 {
        return None;
    }
    let share = cpu_ns as f64 / run.ended_ns().max(1) as f64;
    let text = format!(
        "{} reported {}; probing used {} of a core",
        units::counted(sources, "source"),
        units::counted(metrics, "metric"),
        units::share(share),
    );
    let draft = finding(Severity::Note, "probes", text)
        .with("sources", sources as f64)
        .with("metrics", metrics as f64)
        .with("cpu_share", share);
    Some(draft.done())
}
