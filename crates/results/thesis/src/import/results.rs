//! The results of one run, and their run directory.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use record::import::{ClientReport, Import, Unreachable};
use record::probes::{ProbeInfo, ProbeRow, Probes};
use record::schema::{
    FORMAT_VERSION, GeneratorInfo, MeasureInfo, MeasureTally, PhaseInfo, PhaseTally, RunInfo,
    RunStatus, Tally,
};
use record::{Outcome, RecordError, RunDir};
use sha1::{Digest, Sha1};

use super::metric::STEP_NS;
use super::repairs::{Kind, Repairs};
use super::report::{HANDSHAKE, MEASURES, MS};
use super::{ImportError, Settings};

/// The role whose sources ran for the run alone.
const SERVERS: &str = "servers";
/// A utilisation and used/available may differ by this many percentage points.
const UTILISATION_SLACK: f64 = 0.01;

/// The results of one run, as they stand in its directory.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportedRun {
    /// The run, as far as it is known.
    pub info: RunInfo,
    /// Figures that the clients reported.
    pub import: Import,
    /// How operations ended.
    pub tally: Tally,
    /// Metrics that the servers reported.
    pub probes: Probes,
}

/// A metric of a source.
#[derive(Debug)]
pub(crate) struct Series {
    pub(crate) probe: ProbeInfo,
    /// (nanoseconds since the Unix epoch, value) in the order of time.
    pub(crate) rows: Vec<(i64, f64)>,
}

/// Results as read, before the run's start is known.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    pub(crate) clients: Vec<ClientReport>,
    pub(crate) unreachable: Vec<Unreachable>,
    pub(crate) series: Vec<Series>,
}

impl ImportedRun {
    /// Makes the run directory below `root`, all but its summary.
    ///
    /// # Errors
    /// [`RecordError::Exists`] where these results were imported there before; else what the system
    /// says.
    pub fn write(&self, root: &Path) -> Result<RunDir, RecordError> {
        let dir = RunDir::import(root, &self.info, &self.import)?;
        dir.write_tally(&self.tally)?;
        if !self.probes.list.is_empty() {
            let mut writer = dir.probes(&self.info);
            for probe in &self.probes.list {
                writer.probe(probe.clone());
            }
            self.probes.rows.iter().for_each(|row| writer.push(*row));
            writer.checkpoint()?;
        }
        Ok(dir)
    }
}

impl Draft {
    pub(crate) fn finish(
        self,
        path: &Path,
        settings: &Settings,
        mut repairs: Repairs,
    ) -> Result<ImportedRun, ImportError> {
        utilisations(&self.series, &mut repairs);
        let first = self.first_minute();
        let known = settings.started_unix_ns;
        let started_unix_ns = known
            .or(first.map(|first| first.0))
            .ok_or_else(|| ImportError::NoStart { path: path.to_owned() })?;
        let mut absent: Vec<String> = [
            "start and end of each operation: there are no rows, and no distribution beyond the \
             reported percentiles",
            "the generator's lag, CPU and memory",
            "start times and concurrency of users",
        ]
        .map(str::to_owned)
        .to_vec();
        if let (None, Some((_, role))) = (known, first) {
            let who = match role {
                SERVERS => "a server".to_owned(),
                role => format!("a source of `{role}`"),
            };
            absent.push(format!(
                "start of the run: time starts at the first minute that {who} reported"
            ));
        }
        let name = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let name = name.file_name().unwrap_or(name.as_os_str());
        let name = name.to_string_lossy().into_owned();
        let import = Import {
            format: FORMAT_VERSION,
            layout: "thesis".to_owned(),
            source: path.display().to_string(),
            resolution_ns: MS,
            repairs: repairs.finish(),
            absent,
            unreachable: self.unreachable,
            clients: self.clients,
        };
        let probes = probes(self.series, started_unix_ns);
        let info = info(&name, started_unix_ns, &import, &probes, settings);
        let tally = tally(&import.clients);
        Ok(ImportedRun { info, import, tally, probes })
    }
}

impl Draft {
    /// The first minute that a server reported, in nanoseconds since the Unix epoch; without servers,
    /// that any source did. With its role. Stores of a provider report long before and after a run.
    fn first_minute(&self) -> Option<(u64, &str)> {
        let first = self.series.iter().filter_map(|series| {
            let at_ns = series.rows.first()?.0.cast_unsigned();
            let role = series.probe.role.as_str();
            Some((role != SERVERS, at_ns, role))
        });
        first.min().map(|(_, at_ns, role)| (at_ns, role))
    }
}

/// Counts the minutes in which a source's utilisation is not what it used of what was available.
fn utilisations(series: &[Series], repairs: &mut Repairs) {
    for (at, reported) in series.iter().enumerate() {
        let Some(what) = reported.probe.metric.strip_suffix("Utilization") else {
            continue;
        };
        let other = |suffix: &str| {
            let same = |probe: &ProbeInfo| {
                (&probe.role, &probe.region, &probe.source)
                    == (&reported.probe.role, &reported.probe.region, &reported.probe.source)
                    && probe.metric.strip_suffix(suffix) == Some(what)
            };
            let found = series.iter().find(|series| same(&series.probe))?;
            Some(found.rows.iter().copied().collect::<HashMap<i64, f64>>())
        };
        let (Some(used), Some(available)) = (other("Used"), other("Available")) else {
            continue;
        };
        let disagrees = |&&(at, percent): &&(i64, f64)| {
            let (Some(used), Some(available)) = (used.get(&at), available.get(&at)) else {
                return false;
            };
            let ratio = 100.0 * used / available;
            (ratio - percent).abs() > UTILISATION_SLACK
        };
        let minutes = reported.rows.iter().filter(disagrees).count();
        let probe = &series[at].probe;
        repairs.add_many(Kind::UtilisationDisagrees, minutes as u64, || {
            format!("{}/{}/{}/{}.csv", probe.role, probe.region, probe.source, probe.metric)
        });
    }
}

fn probes(series: Vec<Series>, started_unix_ns: u64) -> Probes {
    let mut probes = Probes::default();
    for (number, series) in series.into_iter().enumerate() {
        probes.list.push(series.probe);
        let probe = u32::try_from(number).expect("each is a file, whose number is limited");
        probes.rows.extend(series.rows.iter().map(|row| ProbeRow {
            at_ns: row.0.saturating_sub_unsigned(started_unix_ns),
            probe,
            value: row.1,
        }));
    }
    probes.rows.sort_by_key(|row| (row.at_ns, row.probe));
    probes
}

fn info(
    name: &str,
    started_unix_ns: u64,
    import: &Import,
    probes: &Probes,
    settings: &Settings,
) -> RunInfo {
    let clients = &import.clients;
    let ended_ns = clients.iter().map(|client| client.online_ns).max();
    // Without clients' times the run lasts as long as its servers reported, the last minute included.
    let ended_ns = ended_ns.filter(|&ns| ns > 0).unwrap_or_else(|| {
        let last = probes.rows.last().map_or(0, |row| row.at_ns);
        last.saturating_add(STEP_NS).max(0).cast_unsigned()
    });
    let measures = MEASURES.iter().map(|(_, name, kind)| MeasureInfo::new(name, kind));
    RunInfo {
        format: FORMAT_VERSION,
        id: record::run_id(started_unix_ns / 1_000_000_000, name, entropy(import, probes)),
        name: name.to_owned(),
        throng: settings.version.clone(),
        status: RunStatus::Complete,
        seed: 0,
        scenario_hash: String::new(),
        overrides: Vec::new(),
        target: format!("imported from {}", import.source),
        started_unix_ns,
        ended_ns,
        clock: "unknown".to_owned(),
        generator: GeneratorInfo::imported(),
        workers: Vec::new(),
        regions: Vec::new(),
        host: BTreeMap::new(),
        measures: measures.collect(),
        steps: Vec::new(),
        expects_overload: false,
        metrics: Vec::new(),
        sessions: Vec::new(),
        phases: vec![PhaseInfo {
            name: "published".to_owned(),
            kind: "imported".to_owned(),
            start_ns: 0,
            end_ns: ended_ns,
            users_planned: clients.iter().map(|client| client.users_planned as f64).sum(),
            sessions_planned: None,
            users_vary: false,
        }],
        tls_unverified: false,
    }
}

/// The part of a run's id that depends on its results: the same results have the same id, so that
/// they are not imported twice unseen.
fn entropy(import: &Import, probes: &Probes) -> u16 {
    let mut hash = Sha1::new();
    hash.update(serde_json::json!(import.clients).to_string());
    for row in &probes.rows {
        hash.update(row.at_ns.to_le_bytes());
        hash.update(row.value.to_bits().to_le_bytes());
    }
    let digest = hash.finalize();
    u16::from_be_bytes([digest[0], digest[1]])
}

/// Values of a measure succeeded; errors are those of users who could not connect.
fn tally(clients: &[ClientReport]) -> Tally {
    let mut outcomes: BTreeMap<u16, BTreeMap<String, u64>> = BTreeMap::new();
    let mut add = |measure: u16, outcome: Outcome, n: u64| {
        let of = outcomes.entry(measure).or_default();
        let count = of.entry(outcome.name().to_owned()).or_default();
        *count = count.saturating_add(n);
    };
    for client in clients {
        for reported in &client.measures {
            add(reported.measure, Outcome::Ok, reported.count);
        }
        for (words, &n) in &client.errors {
            add(HANDSHAKE, outcome(words), n);
        }
    }
    let measures = outcomes.into_iter().map(|(measure, outcomes)| MeasureTally {
        measure,
        outcomes,
        ..MeasureTally::default()
    });
    Tally {
        until_ns: None,
        phases: vec![PhaseTally { phase: 0, measures: measures.collect() }],
        ..Tally::default()
    }
}

/// Our word for an error that a client words itself.
fn outcome(words: &str) -> Outcome {
    let known = [
        ("unexpected server response", Outcome::Status),
        ("ECONNRESET", Outcome::Reset),
        ("ECONNREFUSED", Outcome::Refused),
        ("ETIMEDOUT", Outcome::ConnectTimeout),
        ("EHOSTUNREACH", Outcome::Unreachable),
        ("ENETUNREACH", Outcome::Unreachable),
    ];
    let found = known.iter().find(|(word, _)| words.contains(word));
    found.map_or(Outcome::Other, |found| found.1)
}
