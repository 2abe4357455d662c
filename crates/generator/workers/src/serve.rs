//! The worker's side: runs the loops of one slice, and passes on to the controller all they report.

mod way;

use std::net::{SocketAddr, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use driver::addresses::AddressBook;
use driver::real::{LoopNews, StopFlag, WaitMode, Zero};
use machine::clock::monotonic_ns;
use machine::host;
use machine::loops::open_files_max;
use plan::Plan;
use record::Measurement;
use scenario::{Settings, Source};
use serde::Serialize;
use trust::{Verify, client_config};

use super::adoption::Adoption;
use super::allowed::AllowedAddresses;
use super::carrier::{Bytes, Carrier};
use super::credits::Credits;
use super::frame::{FrameError, FrameReader, send};
use super::material::Material;
use super::protocol::{
    Answer, Hello, Introduction, MAGIC, PROTOCOL_VERSION, ROWS_WINDOW, Slice, ToController,
    ToWorker, Usage, plan_digest,
};
use super::rows::{RowsRoom, rows_channel};
use super::threads::{LoopConfig, LoopPlace, Threads};
use crate::causes::with_causes;
use crate::inputs::ScenarioText;
use way::RowsWay;

/// The longest time that connecting to the controller may take.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(10);
/// A worker is never silent for longer.
const HEARTBEAT: Duration = Duration::from_secs(1);
/// The interval at which a full carrier is checked for room for rows.
const FULL_LOOK: Duration = Duration::from_millis(20);

/// Why a worker ended without finishing its slice.
#[derive(Debug, thiserror::Error)]
pub enum WorkError {
    #[error("cannot reach the controller at {address}: {source}")]
    Connect { address: SocketAddr, source: std::io::Error },
    #[error("the controller refused this worker: {0}")]
    Refused(String),
    #[error("the controller at {place} is gone: {problem}")]
    Gone { place: String, problem: String },
    /// The fault; the controller got the same text.
    #[error("{0}")]
    Unable(String),
}

/// Runs loops for the controller at `address` until they have ended, or until it is gone. The controller
/// gave `token` to this worker; `throng` is our version.
pub fn serve(address: SocketAddr, token: &str, throng: &str) -> Result<(), WorkError> {
    let connected = TcpStream::connect_timeout(&address, CONNECT_TIME_MAX);
    let stream = connected.map_err(|source| WorkError::Connect { address, source })?;
    let _ = stream.set_nodelay(true);
    serve_over(&(Arc::new(stream) as _), &address.to_string(), token, throng, AgentGrant::default())
}

/// The material, limits and room that a worker has from its agent.
#[derive(Debug, Clone, Copy, Default)]
pub struct AgentGrant<'a> {
    /// The material of the run from the store of the fleet, as the controller gave it to [`crate::Fleet::open`].
    pub material: Option<&'a [u8]>,
    /// Addresses that users may connect to, as `HOST:PORT`; empty: all.
    pub allow: &'a [String],
    /// The rows that may be left on the agent's machine; `None`: it has no place for rows.
    pub rows: Option<RunRows<'a>>,
}

/// The rows of a run that may stay on this machine.
#[derive(Debug, Clone, Copy)]
pub struct RunRows<'a> {
    /// The run's name in the fleet.
    pub run: &'a str,
    /// The room for its rows, or the reason for which there is none, for people.
    pub room: Result<&'a RowsRoom, &'a str>,
}

/// Runs loops for the controller at the other end of `carrier`, which is at `place`.
pub fn serve_over(
    carrier: &Arc<dyn Carrier>,
    place: &str,
    token: &str,
    throng: &str,
    given: AgentGrant<'_>,
) -> Result<(), WorkError> {
    let gone =
        |error: FrameError| WorkError::Gone { place: place.to_owned(), problem: error.to_string() };
    let mut reader = handshake(carrier, token, throng).map_err(gone)??;
    let controller = Controller {
        stream: Mutex::new(Bytes(Arc::clone(carrier))),
        carrier: Arc::clone(carrier),
        lost: AtomicBool::new(false),
        credits: Credits::new(ROWS_WINDOW),
        loops_ended: AtomicBool::new(false),
        stop: Arc::new(StopFlag::default()),
        addresses: OnceLock::new(),
        part: OnceLock::new(),
        zero_ns: OnceLock::new(),
        allowed: AllowedAddresses::resolve(given.allow),
    };
    let mut slice = match reader.next().map_err(gone)? {
        ToWorker::Slice(slice) => slice,
        _ => return Err(gone(FrameError::Cut)),
    };
    if let Some(bytes) = given.material {
        let material = Material::from_bytes(bytes).map_err(|e| gone(e.into()))?;
        slice.scenario = material.scenario;
        slice.trust = material.trust;
    }
    let running = match SliceRun::prepare(&slice, &controller, given.rows) {
        Ok(running) => running,
        Err(why) => {
            controller.send(&ToController::Unable { why: why.clone() });
            return Err(WorkError::Unable(why));
        }
    };
    controller.send(&ToController::Ready);
    let zero = await_start(&mut reader, &controller).map_err(gone)?;
    carrier.note_start();
    let _ = controller.zero_ns.set(zero.monotonic_ns);
    controller.renew_leave();
    running.threads.start(zero);
    running.run(reader, &controller).map_err(WorkError::Unable)
}

/// Introduces this worker and waits for the answer.
pub(super) fn handshake(
    carrier: &Arc<dyn Carrier>,
    token: &str,
    throng: &str,
) -> Result<Result<FrameReader<Bytes>, WorkError>, FrameError> {
    let hello = Hello {
        magic: MAGIC,
        protocol: PROTOCOL_VERSION,
        throng: throng.to_owned(),
        token: token.to_owned(),
    };
    let introduction = Introduction {
        pid: std::process::id(),
        cores: std::thread::available_parallelism().map_or(1, |n| n.get() as u32),
        files_per_loop: open_files_max(),
    };
    let mut stream = Bytes(Arc::clone(carrier));
    send(&mut stream, &(hello, introduction))?;
    let mut reader = FrameReader::new(stream);
    let (answer, _) = reader.next_front::<Answer>()?;
    reader.trust();
    Ok(match answer.refused {
        Some(why) => Err(WorkError::Refused(why)),
        None => Ok(reader),
    })
}

/// Answers the controller until it sends the start time.
fn await_start(
    reader: &mut FrameReader<Bytes>,
    controller: &Controller,
) -> Result<Zero, FrameError> {
    loop {
        match reader.next()? {
            ToWorker::Ping { number } => {
                controller.send(&ToController::Pong { number, clock_ns: monotonic_ns() });
            }
            ToWorker::Start { clock_ns, unix_ns } => {
                return Ok(Zero { monotonic_ns: clock_ns, unix_ns });
            }
            other => controller.apply(&other),
        }
    }
}

/// The connection to the controller, and what the controller requests.
struct Controller {
    stream: Mutex<Bytes>,
    carrier: Arc<dyn Carrier>,
    /// The connection broke: nothing is sent any more, and the loops end.
    lost: AtomicBool,
    credits: Credits,
    /// All loops have ended.
    loops_ended: AtomicBool,
    stop: Arc<StopFlag>,
    /// The addresses of names, once the slice has come.
    addresses: OnceLock<Arc<AddressBook>>,
    /// The part of the run, once the slice has come.
    part: OnceLock<RunShare>,
    /// The run's zero on our clock, once the start has come.
    zero_ns: OnceLock<u64>,
    /// The addresses that users may connect to; `None`: all.
    allowed: Option<AllowedAddresses>,
}

/// The part of a run that this worker has, by its slice.
struct RunShare {
    plan: Arc<Plan>,
    loops_count: u32,
    contact_ns_max: Option<u64>,
}

impl Controller {
    fn send(&self, message: &impl Serialize) {
        if self.lost.load(Ordering::Relaxed) {
            return;
        }
        // A thread that panicked with the lock leaves a broken stream, which shows at once.
        let mut stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
        let sent = send(&mut *stream, message);
        drop(stream);
        if sent.is_err() {
            self.lose();
        }
    }

    /// True if rows are kept until the controller has stored them.
    fn keeps_rows(&self) -> bool {
        self.carrier.keeps()
    }

    /// Waits until one more frame of rows may be sent. False: none may ever be.
    fn may_send_rows(&self) -> bool {
        if !self.keeps_rows() {
            return self.credits.take();
        }
        let is_lost = || self.lost.load(Ordering::Relaxed);
        // Rows that wait are sampled by the loops, which report it. When loops have ended there will be no more.
        while self.carrier.is_full() && !is_lost() && !self.loops_ended.load(Ordering::Relaxed) {
            std::thread::park_timeout(FULL_LOOK);
        }
        !is_lost()
    }

    /// Takes users of lost loops. Adoptions that are impossible in this run are ignored.
    fn adopt(&self, adoptions: &[Adoption]) {
        let Some(part) = self.part.get() else {
            return;
        };
        for adoption in adoptions {
            let regions = &part.plan.regions;
            if let Some(adopted) = adoption.adopted(part.loops_count, regions) {
                self.stop.deals.adopt(adopted);
            }
        }
    }

    /// Users who are due long after our last contact wait: others may have been given them.
    fn renew_leave(&self) {
        let max_ns = self.part.get().and_then(|part| part.contact_ns_max);
        let known = (max_ns, self.carrier.contact_ns(), self.zero_ns.get());
        if let (Some(max_ns), Some(contact_ns), Some(zero_ns)) = known {
            let until_ns = contact_ns.saturating_add(max_ns);
            let until_ns = until_ns.saturating_sub(*zero_ns);
            self.stop.deals.hold_from(until_ns);
        }
    }

    /// Notes that the controller is gone, and ends the run.
    fn lose(&self) {
        self.lost.store(true, Ordering::Relaxed);
        self.stop.abort();
        self.credits.close();
    }

    fn apply(&self, message: &ToWorker) {
        match message {
            ToWorker::Stop { level } => self.stop.raise(*level),
            ToWorker::RowsTaken { frames } => self.credits.add(*frames),
            ToWorker::Pause { paused } => self.stop.pause_arrivals(*paused),
            ToWorker::Adopt(adoptions) => self.adopt(adoptions),
            ToWorker::Addresses(answers) => {
                let allowed = self.allowed.as_ref();
                let is_allowed = allowed.is_none_or(|a| a.check_answers(&[], answers).is_ok());
                // Addresses that are not allowed are ignored: users connect to the former ones.
                if let Some(book) = self.addresses.get().filter(|_| is_allowed) {
                    book.replace(answers.clone());
                }
            }
            ToWorker::Ping { number } => {
                self.send(&ToController::Pong { number: *number, clock_ns: monotonic_ns() });
            }
            // They come once, before the start; later ones are ignored.
            ToWorker::Slice(_) | ToWorker::Start { .. } => {}
        }
    }
}

/// The loops of a slice, and what they reported that was not passed on yet.
struct SliceRun {
    threads: Threads,
    news: Receiver<LoopNews>,
    rows: Receiver<Vec<Measurement>>,
    way: RowsWay,
}

impl SliceRun {
    /// Compiles the slice and gets its loops ready. The error is for people.
    fn prepare(
        slice: &Slice,
        controller: &Controller,
        rows: Option<RunRows<'_>>,
    ) -> Result<SliceRun, String> {
        let plan = compile(&slice.scenario, slice.target, &slice.plan_digest)?;
        if let Some(allowed) = &controller.allowed {
            allowed.check(&plan, &slice.addresses)?;
        }
        let way = RowsWay::prepare(slice, &plan, rows)?;
        let plan = Arc::new(plan);
        let tls = match &slice.trust {
            Some(trust) => {
                let verify = Verify::all_if(trust.verify);
                let config = client_config(verify, &trust.pems, trust.identity.as_ref());
                Some(config.map_err(|e| with_causes(&e))?)
            }
            None => None,
        };
        let book = Arc::new(AddressBook::new(slice.addresses.clone()));
        // The slice comes once, so that this is not set already.
        let _ = controller.addresses.set(Arc::clone(&book));
        let _ = controller.part.set(RunShare {
            plan: Arc::clone(&plan),
            loops_count: slice.loops.of,
            contact_ns_max: slice.contact_ns_max,
        });
        let config = LoopConfig {
            loops: slice.loops,
            waiting: if slice.wide { WaitMode::Wide } else { WaitMode::Precise },
            places: vec![LoopPlace { first: 0, netns: None, addresses: Arc::clone(&book) }],
            sources: slice.sources.as_slice().into(),
            users_max: slice.users_max,
            tls,
            trace: None,
        };
        let (news_in, news): (Sender<LoopNews>, _) = channel();
        let (rows_in, rows) = rows_channel();
        // The receiver is gone only if the controller is.
        let report = move |news| drop(news_in.send(news));
        let threads = Threads::prepare(&plan, &config, &controller.stop, &rows_in, report);
        Ok(SliceRun { threads: threads.map_err(|e| with_causes(&e))?, news, rows, way })
    }

    /// Runs the loops to their end and passes on all they report. The error is for people.
    fn run(self, mut reader: FrameReader<Bytes>, controller: &Controller) -> Result<(), String> {
        let SliceRun { mut threads, news, rows, way } = self;
        std::thread::scope(|scope| {
            // Ends when the controller, which knows that the worker is done, closes the connection.
            scope.spawn(move || {
                while let Ok(message) = reader.next() {
                    controller.apply(&message);
                }
                controller.lose();
            });
            let (all_sent, waiting) = channel::<()>();
            let rows_sent = scope.spawn(move || {
                way.take(rows, controller);
                drop(all_sent);
            });
            let news_sent = scope.spawn(move || send_news(&news, controller));
            // A panic was printed on standard error; the controller must know of it as well.
            let ended = match catch_unwind(AssertUnwindSafe(|| threads.join())) {
                Ok(ended) => ended.map_err(|error| with_causes(&error)),
                Err(_) => Err("one of its loops panicked".to_owned()),
            };
            // The loops are gone, and so are their ends of both channels.
            controller.loops_ended.store(true, Ordering::Relaxed);
            while waiting.recv_timeout(HEARTBEAT) == Err(RecvTimeoutError::Timeout) {
                controller.send(&ToController::Usage(usage()));
            }
            // Neither of the two panics. If one does all the same, the panic continues here.
            for sent in [rows_sent, news_sent] {
                sent.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            }
            controller.send(&match &ended {
                Ok(()) => ToController::Done,
                Err(why) => ToController::Failed { why: why.clone() },
            });
            ended
        })
    }
}

/// Sends intervals and other news, each at once, and every second the resources that the process has used.
fn send_news(news: &Receiver<LoopNews>, controller: &Controller) {
    let mut sent_ns = 0;
    loop {
        let is_due = match news.recv_timeout(HEARTBEAT) {
            Ok(news) => {
                let end_ns = match &news {
                    LoopNews::Delta(delta) => delta.end_ns,
                    _ => 0,
                };
                controller.send(&ToController::News(news));
                let later = end_ns > sent_ns;
                sent_ns = sent_ns.max(end_ns);
                later
            }
            Err(RecvTimeoutError::Timeout) => true,
            Err(RecvTimeoutError::Disconnected) => return,
        };
        if is_due {
            controller.send(&ToController::Usage(usage()));
        }
        controller.renew_leave();
    }
}

fn usage() -> Usage {
    Usage { cpu_ns: host::totals(&[]).cpu_process_ns, resident_bytes: host::resident_bytes() }
}

/// The plan, which must be the controller's. The error is for people.
pub fn compile(
    scenario: &ScenarioText,
    target: Option<SocketAddr>,
    digest: &str,
) -> Result<Plan, String> {
    let ScenarioText { name, text, overrides, inputs } = scenario;
    let env = |name: &str| {
        let found = inputs.env.iter().find(|(known, _)| known == name);
        found.and_then(|(_, value)| value.clone())
    };
    let files = |name: &str| match inputs.files.iter().find(|(known, _)| known == name) {
        Some((_, text)) => text.clone(),
        None => Err("the controller did not send it".to_owned()),
    };
    let settings = Settings { overrides, env: &env, files: &files };
    let (plan, diagnostics) = scenario::compile(Source { name, text }, &settings);
    let Some(mut plan) = plan else {
        let messages = diagnostics.into_iter().map(|diagnostic| diagnostic.message);
        let messages: Vec<String> = messages.collect();
        return Err(format!("the scenario does not compile: {}", messages.join("; ")));
    };
    if let Some(target) = target {
        plan.set_target(&target.ip().to_string(), target.port());
    }
    let shared = inputs.setup();
    plan.shared = shared.map_err(|_| "the values of `setup` cannot be read".to_owned())?;
    if plan_digest(&plan) != digest {
        return Err("the scenario compiles to another plan than at the controller".to_owned());
    }
    Ok(plan)
}
