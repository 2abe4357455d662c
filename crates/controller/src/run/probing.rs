//! The server's side of a run: a thread receives the values of the probes, records them, and keeps the
//! newest for the live view.

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use engine::driver::real::Zero;
use machine::clock::monotonic_ns;
use plan::Plan;
use probe::{Clock, Newest, News, Pool, ProbeError, Probed, TargetLocation};
use record::schema::EventKind;
use record::{ProbesWriter, RecordError};

use crate::target::TargetProcess;

/// How long the thread waits for news before it checks whether it is to end.
const TIMEOUT: Duration = Duration::from_millis(100);
/// The file is rewritten after this many nanoseconds …
const CHECKPOINT_EVERY_NS: i64 = 10_000_000_000;
/// … if it has grown by this factor: each time all of it is written.
const GROWTH_MIN: f64 = 1.1;

/// What the thread leaves for the conductor.
#[derive(Debug, Default)]
struct Shared {
    events: Vec<(u64, EventKind)>,
    newest: Newest,
}

/// The probes of a run.
#[derive(Debug)]
pub(crate) struct Probing {
    shared: Arc<Mutex<Shared>>,
    newest: Newest,
    end: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<(), RecordError>>>,
}

/// Starts the probes of a plan.
pub(super) fn start_probes(
    plan: &Plan,
    target: Option<&TargetProcess>,
    zero: Zero,
) -> Result<Option<Pool>, ProbeError> {
    if plan.probes.is_empty() {
        return Ok(None);
    }
    let now_ns = monotonic_ns() as i64 - zero.monotonic_ns as i64;
    let location = TargetLocation {
        pid: target.map(TargetProcess::pid),
        ..target_location(plan)
    };
    Pool::start(&plan.probes, &location, Clock::at(now_ns)).map(Some)
}

/// The location of a plan's target as far as the plan states it: its first endpoint.
pub fn target_location(plan: &Plan) -> TargetLocation {
    let Some(endpoint) = plan.endpoints.first() else {
        return TargetLocation::default();
    };
    let scheme = if endpoint.tls { "https" } else { "http" };
    let (host, port) = (&endpoint.host, endpoint.port);
    let is_here = match host.parse::<IpAddr>() {
        Ok(address) => address.is_loopback(),
        Err(_) => host == "localhost",
    };
    let bracketed = match host.contains(':') {
        true => format!("[{host}]"),
        false => host.clone(),
    };
    TargetLocation {
        pid: None,
        local_port: is_here.then_some(port),
        url: Some(format!("{scheme}://{bracketed}:{port}")),
    }
}

impl Probing {
    /// Begins to record what the probes report.
    pub(crate) fn start(probes: Pool, writer: ProbesWriter) -> Probing {
        let shared = Arc::<Mutex<Shared>>::default();
        let end = Arc::<AtomicBool>::default();
        let mut recorder = Recorder {
            probes,
            writer,
            shared: Arc::clone(&shared),
            rows_count: 0,
            written_count: 0,
            written_ns: 0,
        };
        let ended = Arc::clone(&end);
        let thread = std::thread::spawn(move || {
            while !ended.load(Ordering::Relaxed) {
                recorder.receive();
            }
            recorder.close()
        });
        Probing {
            shared,
            newest: Newest::default(),
            end,
            thread: Some(thread),
        }
    }

    /// The events since the last call.
    pub(crate) fn events(&mut self) -> Vec<(u64, EventKind)> {
        std::mem::take(&mut lock(&self.shared).events)
    }

    /// All probes with their newest values.
    pub(crate) fn newest(&mut self) -> &[Probed] {
        self.newest.clone_from(&lock(&self.shared).newest);
        self.newest.list()
    }

    /// Stops the probes, closes the file and returns the remaining events.
    pub(crate) fn finish(mut self) -> (Vec<(u64, EventKind)>, Result<(), RecordError>) {
        self.end.store(true, Ordering::Relaxed);
        let thread = self.thread.take().map(JoinHandle::join);
        let written = match thread {
            Some(Ok(written)) => written,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None => Ok(()),
        };
        (self.events(), written)
    }
}

impl Drop for Probing {
    fn drop(&mut self) {
        self.end.store(true, Ordering::Relaxed);
    }
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The thread's own.
struct Recorder {
    probes: Pool,
    writer: ProbesWriter,
    shared: Arc<Mutex<Shared>>,
    rows_count: usize,
    /// Rows in the file, and when it was written.
    written_count: usize,
    written_ns: i64,
}

impl Recorder {
    fn receive(&mut self) {
        let news = self.probes.receive(TIMEOUT);
        let newest_ns = self.take(news);
        let is_due = newest_ns.is_some_and(|ns| ns - self.written_ns >= CHECKPOINT_EVERY_NS);
        let has_grown = self.rows_count as f64 >= GROWTH_MIN * self.written_count as f64;
        if let Some(ns) = newest_ns.filter(|_| is_due && has_grown) {
            // The rows are kept; an error that persists is reported at the end.
            let _ = self.writer.checkpoint();
            (self.written_count, self.written_ns) = (self.rows_count, ns);
        }
    }

    /// Records news; returns the time of the newest value.
    fn take(&mut self, news: Vec<News>) -> Option<i64> {
        let mut newest_ns = None;
        let mut shared = lock(&self.shared);
        for news in news {
            shared.newest.take(&news);
            match news {
                News::Probe { info, .. } => {
                    self.writer.probe(info);
                }
                News::Row(row) => {
                    self.writer.push(row);
                    self.rows_count += 1;
                    newest_ns = newest_ns.max(Some(row.at_ns));
                }
                News::Lost { source, at_ns, why } => {
                    let (role, source) = self.name(source);
                    let what = EventKind::ProbeLost { role, source, why };
                    shared.events.push((since_start(at_ns), what));
                }
                News::Back {
                    source,
                    at_ns,
                    missed,
                } => {
                    let (role, source) = self.name(source);
                    let what = EventKind::ProbeBack {
                        role,
                        source,
                        missed,
                    };
                    shared.events.push((since_start(at_ns), what));
                }
                News::Remark { source, text } => {
                    let (role, source) = self.name(source);
                    let text = format!("probe {role} {source}: {text}");
                    let at_ns = since_start(self.probes.now_ns());
                    shared.events.push((at_ns, EventKind::Note { text }));
                }
            }
        }
        newest_ns
    }

    fn name(&self, source: usize) -> (String, String) {
        let found = self.probes.sources().nth(source);
        found.map_or_else(Default::default, |(name, _)| {
            (name.role.to_owned(), name.source.to_owned())
        })
    }

    fn close(mut self) -> Result<(), RecordError> {
        let news = self.probes.stop();
        self.take(news);
        let now_ns = since_start(self.probes.now_ns());
        let tallies = self.probes.sources().map(|(name, tally)| {
            let what = EventKind::ProbeSource {
                role: name.role.to_owned(),
                region: name.region.to_owned(),
                source: name.source.to_owned(),
                via: name.via.to_owned(),
                readings: tally.readings,
                missed: tally.missed,
                cpu_ns: tally.cpu_ns,
            };
            (now_ns, what)
        });
        lock(&self.shared).events.extend(tallies);
        self.writer.checkpoint()
    }
}

/// Times before the start count as 0.
fn since_start(at_ns: i64) -> u64 {
    u64::try_from(at_ns).unwrap_or(0)
}
