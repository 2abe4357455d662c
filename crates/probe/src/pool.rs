//! The threads that ask, one a source, and what they hand out.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use plan::probes::Probe;
use record::{ProbeInfo, ProbeRow};

use crate::clock::Clock;
use crate::ledger::{Change, Ledger, Tally, first_tick};
use crate::reading::{ASKER, Answer, Reading, Teller};
use crate::source::{self, ProbeError, Source, TargetLocation};

/// Answers that wait to be taken; who asks waits then, and its ticks count as missed.
const WAITING_MAX: usize = 256;
/// How long [`Pool::stop`] waits for sources that are being asked.
const STOP_MAX: Duration = Duration::from_secs(3);

/// What happened.
#[derive(Debug, Clone, PartialEq)]
pub enum News {
    /// A metric that was not told before; its number is how many were before it.
    Probe {
        /// Index in [`Pool::sources`].
        source: usize,
        /// What it is.
        info: ProbeInfo,
    },
    /// A value.
    Row(ProbeRow),
    /// A source does not answer.
    Lost {
        /// Index in [`Pool::sources`].
        source: usize,
        /// Of the first question without an answer, since the run's start.
        at_ns: i64,
        /// In words, without secrets.
        why: String,
    },
    /// It answers again.
    Back {
        /// Index in [`Pool::sources`].
        source: usize,
        /// Since the run's start.
        at_ns: i64,
        /// Questions without an answer.
        missed: u64,
    },
    /// What a source cannot tell, and why.
    Remark {
        /// Index in [`Pool::sources`].
        source: usize,
        /// In words.
        text: String,
    },
}

/// What a thread tells.
enum Told {
    Answer {
        source: usize,
        tick: i64,
        at_ns: i64,
        answer: Answer,
        cpu_ns: u64,
    },
    Failure {
        source: usize,
        tick: i64,
        why: String,
    },
}

/// A source as seen from here.
#[derive(Debug)]
struct KnownSource {
    teller: Teller,
    ledger: Ledger,
    /// The numbers of its metrics among all.
    numbers: Vec<u32>,
}

/// All sources of a run. They stop when this is dropped.
#[derive(Debug)]
pub struct Pool {
    clock: Clock,
    known: Vec<KnownSource>,
    told: Receiver<Told>,
    stop: Arc<Stop>,
    probes_count: u32,
}

/// Wakes those who wait for their next tick.
#[derive(Debug, Default)]
struct Stop {
    asked: Mutex<bool>,
    bell: Condvar,
}

impl Stop {
    fn asked(&self) -> MutexGuard<'_, bool> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ask(&self) {
        *self.asked() = true;
        self.bell.notify_all();
    }

    /// Waits until then; false where the end was asked for before.
    fn wait(&self, clock: Clock, until_ns: i64) -> bool {
        let mut asked = self.asked();
        loop {
            let left = clock.until(until_ns);
            if *asked || left.is_zero() {
                return !*asked;
            }
            let waited = self.bell.wait_timeout(asked, left);
            asked = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Pool {
    /// Starts asking.
    ///
    /// # Errors
    /// A probe that cannot be asked at all. One that only does not answer is told as lost.
    pub fn start(
        probes: &[Probe],
        location: &TargetLocation,
        clock: Clock,
    ) -> Result<Pool, ProbeError> {
        let (sender, told) = sync_channel(WAITING_MAX);
        let mut pool = Pool {
            clock,
            known: Vec::new(),
            told,
            stop: Arc::default(),
            probes_count: 0,
        };
        // One moment for all: who asks and who counts begin with the same tick.
        let from_ns = clock.now_ns();
        for probe in probes {
            let (teller, source) = source::open(probe, location)?;
            let asker = Asker {
                number: pool.known.len(),
                probe: probe.clone(),
                reading: Reading::new(teller.clone()),
                teller: teller.clone(),
                source,
                clock,
                from_ns,
                stop: Arc::clone(&pool.stop),
                sender: sender.clone(),
            };
            pool.known.push(KnownSource {
                teller,
                ledger: Ledger::new(probe.every_ns, from_ns),
                numbers: Vec::new(),
            });
            std::thread::Builder::new()
                .name(format!("probe {}", asker.number))
                .spawn(move || asker.run())
                .map_err(|source| ProbeError::Thread {
                    probe: probe.kind.shown(),
                    source,
                })?;
        }
        Ok(pool)
    }

    /// Role, region, name and kind of the sources, and what became of the questions so far.
    pub fn sources(&self) -> impl Iterator<Item = (SourceName<'_>, Tally)> {
        self.known.iter().map(|source_state| {
            let Teller {
                role,
                region,
                source,
                via,
            } = &source_state.teller;
            let name = SourceName {
                role,
                region,
                source,
                via,
            };
            (name, source_state.ledger.tally())
        })
    }

    /// The time on the clock that all answers have.
    pub fn now_ns(&self) -> i64 {
        self.clock.now_ns()
    }

    /// What has happened, at the latest after this time.
    pub fn receive(&mut self, timeout: Duration) -> Vec<News> {
        let mut news = Vec::new();
        match self.told.recv_timeout(timeout) {
            Ok(told) => self.take(told, &mut news),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
        }
        while let Ok(told) = self.told.try_recv() {
            self.take(told, &mut news);
        }
        let now_ns = self.clock.now_ns();
        for (source, source_state) in self.known.iter_mut().enumerate() {
            news.extend(
                source_state
                    .ledger
                    .poll(now_ns)
                    .map(|change| told(source, change)),
            );
        }
        news
    }

    /// Ends the asking and returns what is still to tell. Who does not stop in time is left behind.
    pub fn stop(&mut self) -> Vec<News> {
        let now_ns = self.clock.now_ns();
        self.stop.ask();
        let mut news = Vec::new();
        let timeout_ns = STOP_MAX.as_nanos() as i64;
        loop {
            let left = self.clock.until(now_ns.saturating_add(timeout_ns));
            match self.told.recv_timeout(left) {
                Ok(told) => self.take(told, &mut news),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
            }
        }
        for source_state in &mut self.known {
            source_state.ledger.close(now_ns);
        }
        news
    }

    fn take(&mut self, what: Told, news: &mut Vec<News>) {
        match what {
            Told::Answer {
                source,
                tick,
                at_ns,
                answer,
                cpu_ns,
            } => {
                let source_state = &mut self.known[source];
                let changes = source_state.ledger.answered(tick, cpu_ns);
                news.extend(changes.into_iter().map(|change| told(source, change)));
                for info in answer.new {
                    source_state.numbers.push(self.probes_count);
                    self.probes_count += 1;
                    news.push(News::Probe { source, info });
                }
                let rows = answer.values.into_iter().map(|(number, value)| {
                    News::Row(ProbeRow {
                        at_ns,
                        probe: source_state.numbers[number as usize],
                        value,
                    })
                });
                news.extend(rows);
                let remarks = answer.remarks.into_iter();
                news.extend(remarks.map(|text| News::Remark { source, text }));
            }
            Told::Failure { source, tick, why } => {
                let change = self.known[source].ledger.failed(tick, why);
                news.extend(change.map(|change| told(source, change)));
            }
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.stop.ask();
    }
}

/// How a source is called in the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SourceName<'a> {
    /// What it is to the system.
    pub role: &'a str,
    /// Where it is; may be empty.
    pub region: &'a str,
    /// Its own name.
    pub source: &'a str,
    /// How it is asked, as `redis`.
    pub via: &'a str,
}

fn told(source: usize, change: Change) -> News {
    match change {
        Change::Lost { at_ns, why } => News::Lost { source, at_ns, why },
        Change::Back { at_ns, missed } => News::Back {
            source,
            at_ns,
            missed,
        },
    }
}

/// A thread's own.
struct Asker {
    number: usize,
    probe: Probe,
    teller: Teller,
    source: Box<dyn Source>,
    reading: Reading,
    clock: Clock,
    from_ns: i64,
    stop: Arc<Stop>,
    sender: SyncSender<Told>,
}

impl Asker {
    /// Asks at each tick until the end. A tick that passes while the source is asked is missed.
    fn run(mut self) {
        let every_ns = i64::try_from(self.probe.every_ns)
            .unwrap_or(i64::MAX)
            .max(1);
        let mut tick = first_tick(every_ns, self.from_ns);
        let mut cpu_ns = 0;
        while self.stop.wait(self.clock, tick.saturating_mul(every_ns)) {
            let told = self.ask(tick, &mut cpu_ns);
            // Who started us may be gone.
            if self.sender.send(told).is_err() {
                return;
            }
            tick = first_tick(every_ns, self.clock.now_ns()).max(tick + 1);
        }
    }

    fn ask(&mut self, tick: i64, cpu_before_ns: &mut u64) -> Told {
        let at_ns = self.clock.now_ns();
        self.reading.begin(at_ns);
        let read = self.source.read(&mut self.reading);
        let took_s = (self.clock.now_ns() - at_ns) as f64 / 1e9;
        let cpu_ns = machine::procfs::thread_cpu_ns();
        let used_ns = cpu_ns.saturating_sub(*cpu_before_ns);
        *cpu_before_ns = cpu_ns;
        let source = self.number;
        if let Err(error) = read {
            return Told::Failure {
                source,
                tick,
                why: source::reason(&error, &self.probe),
            };
        }
        let own = Teller {
            role: ASKER.to_owned(),
            via: "probe".to_owned(),
            ..self.teller.clone()
        };
        let share = 100.0 * used_ns as f64 / self.probe.every_ns as f64;
        self.reading.told_by(own.clone(), "probe_took", "s", took_s);
        self.reading.told_by(own, "probe_cpu", "%", share);
        Told::Answer {
            source,
            tick,
            at_ns,
            answer: self.reading.take(),
            cpu_ns,
        }
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
    fn a_host_tells_and_a_closed_port_is_lost() {
        // Nobody listens on a port that was just given back.
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let url = Secret::new(format!("redis://127.0.0.1:{port}/"));
        let probes = [probe(ProbeKind::Host), probe(ProbeKind::Redis(url))];
        let mut pool = Pool::start(&probes, &TargetLocation::default(), Clock::at(0)).unwrap();
        let (mut infos, mut rows, mut lost) = (Vec::new(), 0, Vec::new());
        while rows == 0 || lost.is_empty() {
            for news in pool.receive(Duration::from_secs(1)) {
                match news {
                    News::Probe { info, .. } => infos.push(info),
                    News::Row(row) => {
                        assert!((row.probe as usize) < infos.len());
                        rows += 1;
                    }
                    News::Lost { source, .. } => lost.push(source),
                    News::Back { .. } | News::Remark { .. } => {}
                }
            }
        }
        assert_eq!(lost, [1], "once, and not the host");
        pool.stop();
        let tallies: Vec<Tally> = pool.sources().map(|(_, tally)| tally).collect();
        assert!(tallies[0].readings > 0);
        assert_eq!(tallies[1].readings, 0);
        let told = |metric: &str| infos.iter().any(|info| info.metric == metric);
        assert!(told("memory_available") && told("probe_cpu"), "{infos:?}");
    }
}
