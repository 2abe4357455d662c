//! Run directories written by hand: two measures, whose times are drawn from seeds.

use std::path::{Path, PathBuf};

use record::schema::{
    ErrorSummary, FORMAT_VERSION, GeneratorInfo, HealthSummary, MeasureInfo, MeasureSummary,
    MeasureTally, OperationsSummary, PhaseInfo, PhaseTally, RunInfo, RunStatus, SeriesRow, Summary,
    Tally, UsersSummary, Verdict,
};
use record::{Measurement, Outcome, ProbeInfo, ProbeRow, RunDir};
use stats::hist::LogHistogram;
use stats::rng::{Purpose, Rng};

const SECOND: u64 = 1_000_000_000;
/// Of a run.
const SECONDS: u64 = 20;
/// Requests in a second.
const REQUESTS: u64 = 20;
const MEASURES: [(&str, &str); 2] = [("connect", "connect"), ("GET /", "request")];

/// What a run is like; the default is the same thing each time but for its seed.
#[derive(Clone)]
pub(crate) struct Recorded {
    /// Of the draws, and of the run's id.
    pub(crate) seed: u64,
    /// Median of a request's time.
    pub(crate) median_ns: f64,
    /// One request in ten takes so much longer.
    pub(crate) extra_ns: f64,
    /// Deviation of the logarithm of times; 0 makes them all alike.
    pub(crate) scatter: f64,
    /// Deviation of what the logarithms of all times of a run have in common.
    pub(crate) drift: f64,
    /// One request in this number fails; 0: none.
    pub(crate) fail_one_in: u64,
    /// How these fail.
    pub(crate) outcome: Outcome,
    /// Their detail; `None`: the record does not say what failed.
    pub(crate) detail: Option<&'static str>,
    pub(crate) name: &'static str,
    pub(crate) verdict: Verdict,
    pub(crate) request: &'static str,
    /// Operations are there at all.
    pub(crate) measured: bool,
    /// The cores of the target's host were busy for this share of the time, in percent, and a little more with each seed;
    /// `None`: nobody looked.
    pub(crate) busy: Option<f64>,
}

/// A host's probe that has this value in each second.
fn write_probe(dir: &RunDir, info: &RunInfo, value: f64) {
    let mut probes = dir.probes(info);
    let probe = probes.probe(ProbeInfo {
        role: "servers".to_owned(),
        region: String::new(),
        source: "10.0.0.1".to_owned(),
        metric: "cpu_busy".to_owned(),
        unit: "%".to_owned(),
        via: "host".to_owned(),
    });
    for second in 0..SECONDS {
        let at_ns = (second * SECOND).cast_signed();
        probes.push(ProbeRow { at_ns, probe, value });
    }
    probes.checkpoint().unwrap();
}

impl Recorded {
    pub(crate) fn new(seed: u64) -> Recorded {
        Recorded {
            seed,
            median_ns: 2e6,
            extra_ns: 0.0,
            scatter: 0.2,
            drift: 0.03,
            fail_one_in: 0,
            outcome: Outcome::Timeout,
            detail: None,
            name: "recorded",
            verdict: Verdict::Measured,
            request: MEASURES[1].0,
            measured: true,
            busy: None,
        }
    }

    /// Writes the directory below `root` and gives its path there.
    pub(crate) fn write(&self, root: &Path) -> PathBuf {
        let info = self.info();
        let dir = RunDir::create(root, &info, "name: recorded\n").unwrap();
        let rows = if self.measured { self.rows() } else { Vec::new() };
        let mut requests = dir.requests(&info).unwrap();
        requests.write(&rows).unwrap();
        requests.finish().unwrap();
        let mut latency = dir.latency(&info).unwrap();
        for second in 0..SECONDS {
            let start_ns = second * SECOND;
            for (number, measure) in info.measures.iter().enumerate() {
                let mut hist = LogHistogram::new();
                rows.iter()
                    .filter(|row| usize::from(row.measure) == number)
                    .filter(|row| row.outcome == Outcome::Ok)
                    .filter(|row| (row.done_ns / SECOND).min(SECONDS - 1) == second)
                    .for_each(|row| hist.record(row.response_ns()));
                let mut unanswered = LogHistogram::new();
                rows.iter()
                    .filter(|row| usize::from(row.measure) == number)
                    .filter(|row| row.outcome.is_unanswered())
                    .filter(|row| (row.done_ns / SECOND).min(SECONDS - 1) == second)
                    .for_each(|row| unanswered.record(row.response_ns()));
                let mut rejected = LogHistogram::new();
                rows.iter()
                    .filter(|row| usize::from(row.measure) == number)
                    .filter(|row| row.outcome.is_answered_failure())
                    .filter(|row| (row.done_ns / SECOND).min(SECONDS - 1) == second)
                    .for_each(|row| rejected.record(row.response_ns()));
                let censored = format!("{}.censored", measure.name);
                let failed = format!("{}.failed", measure.name);
                let all = [(&measure.name, &hist), (&censored, &unanswered), (&failed, &rejected)];
                for (tag, hist) in all {
                    latency.interval(start_ns, SECOND, tag, hist).unwrap();
                }
            }
        }
        latency.finish().unwrap();
        let mut series = dir.series(&info);
        for second in 0..SECONDS {
            series.push(&SeriesRow {
                start_ns: second * SECOND,
                end_ns: (second + 1) * SECOND,
                ..SeriesRow::default()
            });
        }
        series.finish().unwrap();
        if let Some(busy) = self.busy {
            write_probe(&dir, &info, busy + self.seed as f64 / 10.0);
        }
        drop(dir.events().unwrap());
        dir.write_tally(&tally(&rows)).unwrap();
        dir.write_summary(&self.summary(&info, &rows)).unwrap();
        dir.update_info(&info).unwrap();
        dir.path().to_owned()
    }

    fn info(&self) -> RunInfo {
        let measures = [MEASURES[0], (self.request, MEASURES[1].1)];
        RunInfo {
            format: FORMAT_VERSION,
            id: format!("20261121T{:06}-{}-0001", self.seed, self.name),
            name: self.name.to_owned(),
            throng: "0.0.0".to_owned(),
            status: RunStatus::Complete,
            seed: self.seed,
            scenario_hash: "da39a3ee5e6b4b0d3255bfef95601890afd80709".to_owned(),
            overrides: Vec::new(),
            target: "http://127.0.0.1:8080".to_owned(),
            started_unix_ns: 1_800_000_000 * SECOND + self.seed * 60 * SECOND,
            ended_ns: SECONDS * SECOND,
            clock: "monotonic".to_owned(),
            generator: GeneratorInfo {
                mode: "precise".to_owned(),
                loops: 1,
                cores: 2,
                files_per_loop: 20_000,
                lag_max_ns: SECOND,
            },
            workers: Vec::new(),
            regions: Vec::new(),
            host: Default::default(),
            measures: measures.map(|(name, kind)| MeasureInfo::new(name, kind)).to_vec(),
            steps: Vec::new(),
            expects_overload: false,
            metrics: Vec::new(),
            sessions: vec!["visitor".to_owned()],
            phases: vec![PhaseInfo {
                name: "steady".to_owned(),
                kind: "rate".to_owned(),
                start_ns: 0,
                end_ns: SECONDS * SECOND,
                users_planned: 400.0,
                sessions_planned: None,
                users_vary: false,
            }],
            tls_unverified: false,
        }
    }

    /// Each second has four connections and twenty requests.
    fn rows(&self) -> Vec<Measurement> {
        let mut rng = Rng::new(self.seed, 0, Purpose::Value);
        let drift = self.drift * normal(&mut rng);
        let mut rows = Vec::new();
        for number in 0..SECONDS * REQUESTS {
            let due_ns = number * SECOND / REQUESTS;
            if number % 5 == 0 {
                let ns = 200_000.0 * (self.scatter * normal(&mut rng)).exp();
                rows.push(row(number, 0, due_ns, ns, Outcome::Ok));
            }
            let mut ns = self.median_ns * (drift + self.scatter * normal(&mut rng)).exp();
            if rng.below(10) == 0 {
                ns += self.extra_ns;
            }
            let failed = self.fail_one_in > 0 && rng.below(self.fail_one_in) == 0;
            let outcome = if failed { self.outcome } else { Outcome::Ok };
            rows.push(row(number, 1, due_ns, ns, outcome));
        }
        rows
    }

    /// What the record says of its failures: those of the second measure, in one phase.
    fn errors(&self, rows: &[Measurement]) -> Vec<ErrorSummary> {
        let count = rows.iter().filter(|row| row.outcome.is_error()).count() as u64;
        let requests = rows.iter().filter(|row| row.measure == 1).count();
        let all = self.detail.filter(|_| count > 0).map(|detail| ErrorSummary {
            step: self.request.to_owned(),
            kind: self.outcome.name().to_owned(),
            detail: Some(detail.to_owned()),
            count,
            share: Some(count as f64 / requests as f64),
            first_ns: 0,
            last_ns: SECONDS * SECOND,
            by_phase: vec![count],
            samples: Vec::new(),
        });
        all.into_iter().collect()
    }

    /// The figures of the second measure, if the record says what failed.
    fn measures(&self, rows: &[Measurement]) -> Vec<MeasureSummary> {
        let requests = || rows.iter().filter(|row| row.measure == 1);
        let count = requests().count() as u64;
        let errors = requests().filter(|row| row.outcome.is_error()).count() as u64;
        let all = self.detail.map(|_| MeasureSummary {
            name: self.request.to_owned(),
            kind: MEASURES[1].1.to_owned(),
            due: None,
            never_begun: Default::default(),
            begun: count,
            retried: 0,
            count,
            completed: count,
            drained: 0,
            offered_per_s: None,
            begun_per_s: None,
            rate_per_s: count as f64 / SECONDS as f64,
            errors,
            errors_by_kind: [(self.outcome.name().to_owned(), errors)].into(),
            response: None,
            succeeded: None,
            failed: None,
            service: None,
            lag: None,
        });
        all.into_iter().collect()
    }

    fn summary(&self, info: &RunInfo, rows: &[Measurement]) -> Summary {
        Summary {
            format: FORMAT_VERSION,
            id: info.id.clone(),
            name: info.name.clone(),
            verdict: self.verdict,
            allow_lost_workers: false,
            expects_overload: false,
            findings: Vec::new(),
            errors: self.errors(rows),
            incidents: Vec::new(),
            thresholds: Vec::new(),
            users: UsersSummary::default(),
            health: HealthSummary::default(),
            traffic: None,
            tls_handshakes: None,
            clocks: Vec::new(),
            own_work: Vec::new(),
            operations: OperationsSummary::default(),
            measures: self.measures(rows),
            totals: Vec::new(),
            regions: Vec::new(),
            tags: Vec::new(),
            metrics: Vec::new(),
            phases: Vec::new(),
        }
    }
}

fn row(number: u64, measure: u16, due_ns: u64, ns: f64, outcome: Outcome) -> Measurement {
    Measurement {
        due_ns,
        sent_ns: due_ns,
        done_ns: due_ns + ns as u64,
        user: number,
        measure,
        session: 0,
        loop_id: 0,
        outcome,
        status: 200,
        weight: 1,
        bytes_out: 100,
        bytes_in: 400,
    }
}

fn tally(rows: &[Measurement]) -> Tally {
    let mut measures = Vec::new();
    for number in 0..2 {
        let mut measure = MeasureTally { measure: number, ..MeasureTally::default() };
        for row in rows.iter().filter(|row| row.measure == number) {
            let name = row.outcome.name().to_owned();
            *measure.outcomes.entry(name).or_default() += 1;
        }
        measures.push(measure);
    }
    Tally { until_ns: None, phases: vec![PhaseTally { phase: 0, measures }], ..Tally::default() }
}

/// Two uniform numbers to a normal one: Box and Muller (1958).
fn normal(rng: &mut Rng) -> f64 {
    let u = 1.0 - rng.unit();
    let v = rng.unit();
    (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}
