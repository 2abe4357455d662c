//! The server's side of a run: a thread receives the values of the probes, records them, and keeps the
//! newest for the live view.

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use driver::real::Zero;
use machine::clock::monotonic_ns;
use plan::{Plan, Via};
use probe::{Clock, Newest, Pool, ProbeError, ProbeEvent, ProbeValue, TargetLocation};
use record::schema::EventKind;
use record::{ProbesWriter, RecordError};

use crate::target::TargetProcess;

/// The longest wait of the thread for probes before it checks whether it is to end.
const TIMEOUT: Duration = Duration::from_millis(100);
/// The longest wait of a value, in nanoseconds, for the segment that makes it safe. So values older than five seconds are
/// safe, like rows.
const SEGMENT_EVERY_NS: i64 = 3_000_000_000;

/// Events and values that the thread leaves for the conductor.
#[derive(Debug, Default)]
struct ProbeReports {
    events: Vec<(u64, EventKind)>,
    newest: Newest,
}

/// The probes of a run.
#[derive(Debug)]
pub(crate) struct ProbeThread {
    shared: Arc<Mutex<ProbeReports>>,
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
    let location = TargetLocation { pid: target.map(TargetProcess::pid), ..target_location(plan) };
    Pool::start(&plan.probes, &location, Clock::at(now_ns)).map(Some)
}

/// The location of a plan's target as far as the plan states it: its first endpoint.
pub fn target_location(plan: &Plan) -> TargetLocation {
    // A Unix socket has no port by which its server could be found.
    let first = plan.endpoints.first();
    let Some(endpoint) = first.filter(|first| !matches!(first.via, Via::Unix(_))) else {
        return TargetLocation::default();
    };
    let scheme = if endpoint.tls { "https" } else { "http" };
    let host = &endpoint.host;
    let port = endpoint.port;
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

impl ProbeThread {
    /// Begins to record what the probes report.
    pub(crate) fn start(probes: Pool, writer: ProbesWriter) -> ProbeThread {
        let shared = Arc::<Mutex<ProbeReports>>::default();
        let end = Arc::<AtomicBool>::default();
        let mut recorder =
            Recorder { probes, writer, shared: Arc::clone(&shared), pending_since_ns: None };
        let ended = Arc::clone(&end);
        let thread = std::thread::spawn(move || {
            while !ended.load(Ordering::Relaxed) {
                recorder.receive();
            }
            recorder.close()
        });
        ProbeThread { shared, newest: Newest::default(), end, thread: Some(thread) }
    }

    /// The events since the last call.
    pub(crate) fn events(&mut self) -> Vec<(u64, EventKind)> {
        std::mem::take(&mut lock(&self.shared).events)
    }

    /// All probes with their newest values.
    pub(crate) fn newest(&mut self) -> &[ProbeValue] {
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

impl Drop for ProbeThread {
    fn drop(&mut self) {
        self.end.store(true, Ordering::Relaxed);
    }
}

fn lock(shared: &Mutex<ProbeReports>) -> MutexGuard<'_, ProbeReports> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The state of the thread.
struct Recorder {
    probes: Pool,
    writer: ProbesWriter,
    shared: Arc<Mutex<ProbeReports>>,
    /// The time at which the oldest value came that is not safe yet.
    pending_since_ns: Option<i64>,
}

impl Recorder {
    fn receive(&mut self) {
        let news = self.probes.receive(TIMEOUT);
        self.take(news);
        if !self.writer.is_pending() {
            return;
        }
        let now_ns = self.probes.now_ns();
        let since_ns = *self.pending_since_ns.get_or_insert(now_ns);
        if now_ns - since_ns >= SEGMENT_EVERY_NS {
            // The values are kept; an error that persists is reported at the end.
            let _ = self.writer.write_segment();
            self.pending_since_ns = None;
        }
    }

    /// Records news.
    fn take(&mut self, news: Vec<ProbeEvent>) {
        let mut shared = lock(&self.shared);
        for news in news {
            shared.newest.take(&news);
            match news {
                ProbeEvent::Probe { info, .. } => {
                    self.writer.probe(info);
                }
                ProbeEvent::Row(row) => self.writer.push(row),
                ProbeEvent::Lost { source, at_ns, why } => {
                    let (role, source) = self.name(source);
                    let what = EventKind::ProbeLost { role, source, why };
                    shared.events.push((since_start(at_ns), what));
                }
                ProbeEvent::Back { source, at_ns, missed } => {
                    let (role, source) = self.name(source);
                    let what = EventKind::ProbeBack { role, source, missed };
                    shared.events.push((since_start(at_ns), what));
                }
                ProbeEvent::Remark { source, text } => {
                    let (role, source) = self.name(source);
                    let text = format!("probe {role} {source}: {text}");
                    let at_ns = since_start(self.probes.now_ns());
                    shared.events.push((at_ns, EventKind::Note { text }));
                }
            }
        }
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
