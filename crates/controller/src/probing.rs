//! The server's side of a run: a thread takes what the probes tell, writes it into the record and
//! keeps the newest values for those who watch.

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use engine::driver::real::{Zero, monotonic_ns};
use plan::Plan;
use probe::{Clock, Crew, Newest, News, Place, ProbeError, Probed};
use record::schema::EventKind;
use record::{ProbesWriter, RecordError};

use crate::target::TargetProcess;

/// How long the thread waits for news before it looks whether it is to end.
const PATIENCE: Duration = Duration::from_millis(100);
/// The file is written anew after so many nanoseconds, …
const CHECKPOINT_EVERY_NS: i64 = 10_000_000_000;
/// … and not before it has grown to so many times what it was: it is written whole each time.
const GROWTH_MIN: f64 = 1.1;

/// What the thread leaves for the conductor.
#[derive(Debug, Default)]
struct Shared {
    events: Vec<(u64, EventKind)>,
    newest: Newest,
}

/// Asks while the run goes on.
#[derive(Debug)]
pub(crate) struct Probing {
    shared: Arc<Mutex<Shared>>,
    newest: Newest,
    end: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<(), RecordError>>>,
}

/// Starts those who ask.
pub(crate) fn crew(
    plan: &Plan,
    target: Option<&TargetProcess>,
    zero: Zero,
) -> Result<Option<Crew>, ProbeError> {
    if plan.probes.is_empty() {
        return Ok(None);
    }
    let now_ns = monotonic_ns() as i64 - zero.monotonic_ns as i64;
    let place = Place {
        pid: target.map(TargetProcess::pid),
        ..target_place(plan)
    };
    Crew::start(&plan.probes, &place, Clock::at(now_ns)).map(Some)
}

/// Where a plan's target is, as far as the plan says: its first endpoint.
pub fn target_place(plan: &Plan) -> Place {
    let Some(endpoint) = plan.endpoints.first() else {
        return Place::default();
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
    Place {
        pid: None,
        local_port: is_here.then_some(port),
        url: Some(format!("{scheme}://{bracketed}:{port}")),
    }
}

impl Probing {
    /// Begins to write down what the crew tells.
    pub(crate) fn start(crew: Crew, writer: ProbesWriter) -> Probing {
        let shared = Arc::<Mutex<Shared>>::default();
        let end = Arc::<AtomicBool>::default();
        let mut scribe = Scribe {
            crew,
            writer,
            shared: Arc::clone(&shared),
            rows_count: 0,
            written_count: 0,
            written_ns: 0,
        };
        let ended = Arc::clone(&end);
        let thread = std::thread::spawn(move || {
            while !ended.load(Ordering::Relaxed) {
                scribe.hear();
            }
            scribe.close()
        });
        Probing {
            shared,
            newest: Newest::default(),
            end,
            thread: Some(thread),
        }
    }

    /// What has happened since this was asked last.
    pub(crate) fn heed(&mut self) -> Vec<(u64, EventKind)> {
        std::mem::take(&mut lock(&self.shared).events)
    }

    /// All probes with their newest values.
    pub(crate) fn newest(&mut self) -> &[Probed] {
        self.newest.clone_from(&lock(&self.shared).newest);
        self.newest.list()
    }

    /// Ends the asking, closes the file and returns what is still to tell.
    pub(crate) fn finish(mut self) -> (Vec<(u64, EventKind)>, Result<(), RecordError>) {
        self.end.store(true, Ordering::Relaxed);
        let thread = self.thread.take().map(JoinHandle::join);
        let written = match thread {
            Some(Ok(written)) => written,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None => Ok(()),
        };
        (self.heed(), written)
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
struct Scribe {
    crew: Crew,
    writer: ProbesWriter,
    shared: Arc<Mutex<Shared>>,
    rows_count: usize,
    /// Rows in the file, and when it was written.
    written_count: usize,
    written_ns: i64,
}

impl Scribe {
    fn hear(&mut self) {
        let news = self.crew.hear(PATIENCE);
        let newest_ns = self.take(news);
        let is_due = newest_ns.is_some_and(|ns| ns - self.written_ns >= CHECKPOINT_EVERY_NS);
        let has_grown = self.rows_count as f64 >= GROWTH_MIN * self.written_count as f64;
        if let Some(ns) = newest_ns.filter(|_| is_due && has_grown) {
            // The rows stay; what cannot be written at the end is told then.
            let _ = self.writer.checkpoint();
            (self.written_count, self.written_ns) = (self.rows_count, ns);
        }
    }

    /// Writes news down; returns when the newest value was told.
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
                    let at_ns = since_start(self.crew.now_ns());
                    shared.events.push((at_ns, EventKind::Note { text }));
                }
            }
        }
        newest_ns
    }

    fn name(&self, source: usize) -> (String, String) {
        let found = self.crew.sources().nth(source);
        found.map_or_else(Default::default, |(name, _)| {
            (name.role.to_owned(), name.source.to_owned())
        })
    }

    fn close(mut self) -> Result<(), RecordError> {
        let news = self.crew.stop();
        self.take(news);
        let now_ns = since_start(self.crew.now_ns());
        let told = self.crew.sources().map(|(name, tally)| {
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
        lock(&self.shared).events.extend(told);
        self.writer.checkpoint()
    }
}

/// What was before the start counts as at it.
fn since_start(at_ns: i64) -> u64 {
    u64::try_from(at_ns).unwrap_or(0)
}
