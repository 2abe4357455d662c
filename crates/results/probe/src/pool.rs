//! The threads that query the sources, one per source, and what they report.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use plan::probes::Probe;
use record::{ProbeInfo, ProbeRow};

use crate::clock::Clock;
use crate::ledger::{Change, Ledger, Tally, first_tick};
use crate::open::{open, reason};
use crate::reading::{Answer, GENERATOR_ROLE, Reading, SourceId};
use crate::source::{ProbeError, Source, TargetLocation};

/// Answers that may wait to be received; above it, threads wait and their ticks count as missed.
const WAITING_MAX: usize = 256;
/// How long [`Pool::stop`] waits for queries in progress.
const STOP_MAX: Duration = Duration::from_secs(3);

/// Event of a source.
#[derive(Debug, Clone, PartialEq)]
pub enum ProbeEvent {
    /// A new metric; its number is the number of metrics before it.
    Probe {
        /// Index in [`Pool::sources`].
        source: usize,
        /// The metric.
        info: ProbeInfo,
    },
    /// A value.
    Row(ProbeRow),
    /// A source does not answer.
    Lost {
        /// Index in [`Pool::sources`].
        source: usize,
        /// Time of the first query without an answer, since the run's start.
        at_ns: i64,
        /// The reason in words, without secrets.
        why: String,
    },
    /// It answers again.
    Back {
        /// Index in [`Pool::sources`].
        source: usize,
        /// Time since the run's start.
        at_ns: i64,
        /// Queries without an answer.
        missed: u64,
    },
    /// A metric that a source cannot report, and why.
    Remark {
        /// Index in [`Pool::sources`].
        source: usize,
        /// The remark in words.
        text: String,
    },
}

/// A report of a thread.
enum Report {
    Answer { source: usize, tick: i64, at_ns: i64, answer: Answer, cpu_ns: u64 },
    Failure { source: usize, tick: i64, why: String },
}

/// A source as seen from here.
#[derive(Debug)]
struct KnownSource {
    id: SourceId,
    ledger: Ledger,
    /// The numbers of its metrics among all.
    numbers: Vec<u32>,
}

/// All sources of a run. They stop when this is dropped.
#[derive(Debug)]
pub struct Pool {
    clock: Clock,
    known: Vec<KnownSource>,
    reports: Receiver<Report>,
    stop: Arc<Stop>,
    probes_count: u32,
}

/// Wakes the threads that wait for their next tick.
#[derive(Debug, Default)]
struct Stop {
    requested: Mutex<bool>,
    bell: Condvar,
}

impl Stop {
    fn requested(&self) -> MutexGuard<'_, bool> {
        self.requested.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn request(&self) {
        *self.requested() = true;
        self.bell.notify_all();
    }

    /// Waits until then; false if the end was requested before.
    fn wait(&self, clock: Clock, until_ns: i64) -> bool {
        let mut requested = self.requested();
        loop {
            let left = clock.until(until_ns);
            if *requested || left.is_zero() {
                return !*requested;
            }
            let waited = self.bell.wait_timeout(requested, left);
            requested = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Pool {
    /// Starts the queries.
    ///
    /// # Errors
    /// A probe that cannot be queried at all. One that does not answer is reported as lost.
    pub fn start(
        probes: &[Probe],
        location: &TargetLocation,
        clock: Clock,
    ) -> Result<Pool, ProbeError> {
        let (sender, reports) = sync_channel(WAITING_MAX);
        let mut pool =
            Pool { clock, known: Vec::new(), reports, stop: Arc::default(), probes_count: 0 };
        // One moment for all: queries and their counting begin with the same tick.
        let from_ns = clock.now_ns();
        for probe in probes {
            let (id, source) = open(probe, location)?;
            let poller = Poller {
                number: pool.known.len(),
                probe: probe.clone(),
                reading: Reading::new(id.clone()),
                id: id.clone(),
                source,
                clock,
                from_ns,
                stop: Arc::clone(&pool.stop),
                sender: sender.clone(),
            };
            pool.known.push(KnownSource {
                id,
                ledger: Ledger::new(probe.every_ns, from_ns),
                numbers: Vec::new(),
            });
            std::thread::Builder::new()
                .name(format!("probe {}", poller.number))
                .spawn(move || poller.run())
                .map_err(|source| ProbeError::Thread { probe: probe.kind.shown(), source })?;
        }
        Ok(pool)
    }

    /// Role, region, name and kind of the sources, and their queries so far.
    pub fn sources(&self) -> impl Iterator<Item = (SourceName<'_>, Tally)> {
        self.known.iter().map(|source_state| {
            let SourceId { role, region, source, via } = &source_state.id;
            let name = SourceName { role, region, source, via };
            (name, source_state.ledger.tally())
        })
    }

    /// The time on the clock that all answers have.
    pub fn now_ns(&self) -> i64 {
        self.clock.now_ns()
    }

    /// The events so far; waits for at most `timeout`.
    pub fn receive(&mut self, timeout: Duration) -> Vec<ProbeEvent> {
        let mut news = Vec::new();
        match self.reports.recv_timeout(timeout) {
            Ok(report) => self.take(report, &mut news),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
        }
        while let Ok(report) = self.reports.try_recv() {
            self.take(report, &mut news);
        }
        let now_ns = self.clock.now_ns();
        for (source, source_state) in self.known.iter_mut().enumerate() {
            news.extend(source_state.ledger.poll(now_ns).map(|change| news_of(source, change)));
        }
        news
    }

    /// Stops the queries and returns the remaining news. Threads that do not stop in time are abandoned.
    pub fn stop(&mut self) -> Vec<ProbeEvent> {
        let now_ns = self.clock.now_ns();
        self.stop.request();
        let mut news = Vec::new();
        let timeout_ns = STOP_MAX.as_nanos() as i64;
        loop {
            let left = self.clock.until(now_ns.saturating_add(timeout_ns));
            match self.reports.recv_timeout(left) {
                Ok(report) => self.take(report, &mut news),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
            }
        }
        for source_state in &mut self.known {
            source_state.ledger.close(now_ns);
        }
        news
    }

    fn take(&mut self, report: Report, news: &mut Vec<ProbeEvent>) {
        match report {
            Report::Answer { source, tick, at_ns, answer, cpu_ns } => {
                let source_state = &mut self.known[source];
                let changes = source_state.ledger.answered(tick, cpu_ns);
                news.extend(changes.into_iter().map(|change| news_of(source, change)));
                for info in answer.new {
                    source_state.numbers.push(self.probes_count);
                    self.probes_count += 1;
                    news.push(ProbeEvent::Probe { source, info });
                }
                let rows = answer.values.into_iter().map(|(number, value)| {
                    ProbeEvent::Row(ProbeRow {
                        at_ns,
                        probe: source_state.numbers[number as usize],
                        value,
                    })
                });
                news.extend(rows);
                let remarks = answer.remarks.into_iter();
                news.extend(remarks.map(|text| ProbeEvent::Remark { source, text }));
            }
            Report::Failure { source, tick, why } => {
                let change = self.known[source].ledger.failed(tick, why);
                news.extend(change.map(|change| news_of(source, change)));
            }
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.stop.request();
    }
}

/// A source's names in the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SourceName<'a> {
    /// Role of the source in the system.
    pub role: &'a str,
    /// Region of the source; may be empty.
    pub region: &'a str,
    /// The source's own name.
    pub source: &'a str,
    /// How it is queried, such as `redis`.
    pub via: &'a str,
}

fn news_of(source: usize, change: Change) -> ProbeEvent {
    match change {
        Change::Lost { at_ns, why } => ProbeEvent::Lost { source, at_ns, why },
        Change::Back { at_ns, missed } => ProbeEvent::Back { source, at_ns, missed },
    }
}

/// The state of a thread.
struct Poller {
    number: usize,
    probe: Probe,
    id: SourceId,
    source: Box<dyn Source>,
    reading: Reading,
    clock: Clock,
    from_ns: i64,
    stop: Arc<Stop>,
    sender: SyncSender<Report>,
}

impl Poller {
    /// Queries the source at each tick until the end. A tick that passes during a query is missed.
    fn run(mut self) {
        let every_ns = i64::try_from(self.probe.every_ns).unwrap_or(i64::MAX).max(1);
        let mut tick = first_tick(every_ns, self.from_ns);
        let mut cpu_ns = 0;
        while self.stop.wait(self.clock, tick.saturating_mul(every_ns)) {
            let report = self.query(tick, &mut cpu_ns);
            // The receiver may be gone.
            if self.sender.send(report).is_err() {
                return;
            }
            tick = first_tick(every_ns, self.clock.now_ns()).max(tick + 1);
        }
    }

    fn query(&mut self, tick: i64, cpu_before_ns: &mut u64) -> Report {
        let at_ns = self.clock.now_ns();
        self.reading.begin(at_ns);
        let read = self.source.read(&mut self.reading);
        let took_s = (self.clock.now_ns() - at_ns) as f64 / 1e9;
        let cpu_ns = machine::procfs::thread_cpu_ns();
        let used_ns = cpu_ns.saturating_sub(*cpu_before_ns);
        *cpu_before_ns = cpu_ns;
        let source = self.number;
        if let Err(error) = read {
            return Report::Failure { source, tick, why: reason(&error, &self.probe) };
        }
        let own = SourceId {
            role: GENERATOR_ROLE.to_owned(),
            via: "probe".to_owned(),
            ..self.id.clone()
        };
        let share = 100.0 * used_ns as f64 / self.probe.every_ns as f64;
        self.reading.value_of(own.clone(), "probe_took", "s", took_s);
        self.reading.value_of(own, "probe_cpu", "%", share);
        Report::Answer { source, tick, at_ns, answer: self.reading.take(), cpu_ns }
    }
}

#[cfg(test)]
mod tests {
    use plan::probes::{ProbeKind, Secret};

    use super::*;

    fn probe(kind: ProbeKind) -> Probe {
        Probe {
            role: kind.word().to_owned(),
            kind,
            region: String::new(),
            name: None,
            every_ns: 100_000_000,
        }
    }

    #[test]
    fn a_host_reports_and_a_closed_port_is_lost() {
        // Nobody listens on a port that was just given back.
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let url = Secret::new(format!("redis://127.0.0.1:{port}/"));
        let probes = [probe(ProbeKind::Host), probe(ProbeKind::Redis(url))];
        let mut pool = Pool::start(&probes, &TargetLocation::default(), Clock::at(0)).unwrap();
        let mut infos = Vec::new();
        let mut rows = 0;
        let mut lost = Vec::new();
        while rows == 0 || lost.is_empty() {
            for news in pool.receive(Duration::from_secs(1)) {
                match news {
                    ProbeEvent::Probe { info, .. } => infos.push(info),
                    ProbeEvent::Row(row) => {
                        assert!((row.probe as usize) < infos.len());
                        rows += 1;
                    }
                    ProbeEvent::Lost { source, .. } => lost.push(source),
                    ProbeEvent::Back { .. } | ProbeEvent::Remark { .. } => {}
                }
            }
        }
        assert_eq!(lost, [1], "once, and not the host");
        pool.stop();
        let tallies: Vec<Tally> = pool.sources().map(|(_, tally)| tally).collect();
        assert!(tallies[0].readings > 0);
        assert_eq!(tallies[1].readings, 0);
        let is_known = |metric: &str| infos.iter().any(|info| info.metric == metric);
        assert!(is_known("memory_available") && is_known("probe_cpu"), "{infos:?}");
    }
}
