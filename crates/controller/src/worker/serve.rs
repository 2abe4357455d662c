//! The worker's side: run the loops of one slice, and tell the controller all they tell.

use std::net::{SocketAddr, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use engine::driver::real::{LoopNews, StopFlag, Waiting, Zero, monotonic_ns};
use engine::trust::client_config;
use machine::host;
use machine::loops::open_files_max;
use plan::Plan;
use record::Measurement;
use scenario::{Settings, Source};
use serde::Serialize;

use super::credits::Credits;
use super::frame::{FrameError, FrameReader, send};
use super::protocol::{
    Answer, Hello, Introduction, MAGIC, PROTOCOL_VERSION, ROWS_WINDOW, ScenarioText, Slice,
    ToController, ToWorker, Usage, plan_digest,
};
use crate::crew::threads::{Gear, Threads};
use crate::journal::{ROWS_WAITING_MAX, reason};

/// How long the way to the controller may take.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(10);
/// A worker is never silent for longer.
const HEARTBEAT: Duration = Duration::from_secs(1);

/// Why a worker did not do its work.
#[derive(Debug, thiserror::Error)]
pub enum WorkError {
    #[error("cannot reach the controller at {address}: {source}")]
    Connect {
        address: SocketAddr,
        source: std::io::Error,
    },
    #[error("the controller refused this worker: {0}")]
    Refused(String),
    #[error("the controller at {address} is gone: {problem}")]
    Gone {
        address: SocketAddr,
        problem: String,
    },
    /// What was wrong, which the controller was told.
    #[error("{0}")]
    Unable(String),
}

/// Runs loops for the controller at `address` until they have ended, or until it is gone. `token` is
/// what it gave to this worker; `throng` is our version.
pub fn serve(address: SocketAddr, token: &str, throng: &str) -> Result<(), WorkError> {
    let connected = TcpStream::connect_timeout(&address, CONNECT_TIME_MAX);
    let stream = connected.map_err(|source| WorkError::Connect { address, source })?;
    let gone = |error: FrameError| WorkError::Gone {
        address,
        problem: error.to_string(),
    };
    let mut reader = greet(&stream, token, throng).map_err(gone)??;
    let controller = Controller {
        stream: Mutex::new(stream),
        lost: AtomicBool::new(false),
        credits: Credits::new(ROWS_WINDOW),
        stop: Arc::new(StopFlag::default()),
    };
    let slice = match reader.next().map_err(gone)? {
        ToWorker::Slice(slice) => slice,
        _ => return Err(gone(FrameError::Cut)),
    };
    let shift = match Shift::start(&slice, &controller) {
        Ok(shift) => shift,
        Err(why) => {
            controller.tell(&ToController::Unable { why: why.clone() });
            return Err(WorkError::Unable(why));
        }
    };
    controller.tell(&ToController::Ready);
    let zero = await_start(&mut reader, &controller).map_err(gone)?;
    shift.threads.open(zero);
    shift.run(reader, &controller).map_err(WorkError::Unable)
}

/// Says who we are and hears whether we are welcome.
fn greet(
    stream: &TcpStream,
    token: &str,
    throng: &str,
) -> Result<Result<FrameReader<TcpStream>, WorkError>, FrameError> {
    stream.set_nodelay(true)?;
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
    send(&mut &*stream, &(hello, introduction))?;
    let mut reader = FrameReader::new(stream.try_clone()?);
    let (answer, _) = reader.next_front::<Answer>()?;
    reader.trust();
    Ok(match answer.refused {
        Some(why) => Err(WorkError::Refused(why)),
        None => Ok(reader),
    })
}

/// Answers the controller until it says when the run begins.
fn await_start(
    reader: &mut FrameReader<TcpStream>,
    controller: &Controller,
) -> Result<Zero, FrameError> {
    loop {
        match reader.next()? {
            ToWorker::Ping { number } => controller.tell(&ToController::Pong {
                number,
                clock_ns: monotonic_ns(),
            }),
            ToWorker::Start { clock_ns, unix_ns } => {
                return Ok(Zero {
                    monotonic_ns: clock_ns,
                    unix_ns,
                });
            }
            other => controller.heed(&other),
        }
    }
}

/// The way to the controller, and what it wants.
struct Controller {
    stream: Mutex<TcpStream>,
    /// The connection broke: nothing is told any more, and the loops end.
    lost: AtomicBool,
    credits: Credits,
    stop: Arc<StopFlag>,
}

impl Controller {
    fn tell(&self, message: &impl Serialize) {
        if self.lost.load(Ordering::Relaxed) {
            return;
        }
        // Whoever panicked with the lock leaves a stream that is of no use, which shows at once.
        let mut stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
        let sent = send(&mut *stream, message);
        drop(stream);
        if sent.is_err() {
            self.lose();
        }
    }

    /// The controller is gone: there is no run any more.
    fn lose(&self) {
        self.lost.store(true, Ordering::Relaxed);
        self.stop.abort();
        self.credits.close();
    }

    fn heed(&self, message: &ToWorker) {
        match message {
            ToWorker::Stop { level } => self.stop.raise(*level),
            ToWorker::RowsTaken { frames } => self.credits.add(*frames),
            ToWorker::Pause { paused } => self.stop.pause_arrivals(*paused),
            // Said once, before; there is nothing to be done about it.
            ToWorker::Slice(_) | ToWorker::Start { .. } | ToWorker::Ping { .. } => {}
        }
    }
}

/// The loops of a slice, and what they told that was not passed on yet.
struct Shift {
    threads: Threads,
    news: Receiver<LoopNews>,
    rows: Receiver<Vec<Measurement>>,
}

impl Shift {
    /// Compiles the slice and gets its loops ready. The error is for people.
    fn start(slice: &Slice, controller: &Controller) -> Result<Shift, String> {
        let plan = Arc::new(compile(slice)?);
        let tls = match &slice.trust {
            Some(trust) => Some(client_config(trust.verify, &trust.pems).map_err(|e| reason(&e))?),
            None => None,
        };
        let gear = Gear {
            loops: slice.loops,
            waiting: if slice.wide {
                Waiting::Wide
            } else {
                Waiting::Precise
            },
            addresses: slice.addresses.as_slice().into(),
            sources: slice.sources.as_slice().into(),
            users_max: slice.users_max,
            tls,
        };
        let (news_in, news): (Sender<LoopNews>, _) = channel();
        let (rows_in, rows): (SyncSender<Vec<Measurement>>, _) = sync_channel(ROWS_WAITING_MAX);
        // Nobody listens only where the controller is gone.
        let tell = move |told| drop(news_in.send(told));
        let threads = Threads::start(&plan, &gear, &controller.stop, &rows_in, tell);
        Ok(Shift {
            threads: threads.map_err(|e| reason(&e))?,
            news,
            rows,
        })
    }

    /// Runs the loops to their end and passes on all they tell. The error is for people.
    fn run(
        self,
        mut reader: FrameReader<TcpStream>,
        controller: &Controller,
    ) -> Result<(), String> {
        let Shift {
            mut threads,
            news,
            rows,
        } = self;
        std::thread::scope(|scope| {
            // Ends when the controller, having heard that we are done, hangs up.
            scope.spawn(move || {
                while let Ok(message) = reader.next() {
                    controller.heed(&message);
                }
                controller.lose();
            });
            let (all_sent, waiting) = channel::<()>();
            let rows_sent = scope.spawn(move || {
                send_rows(&rows, controller);
                drop(all_sent);
            });
            let news_sent = scope.spawn(move || send_news(&news, controller));
            // A panic has been told on standard error; the controller must hear of it, too.
            let ended = match catch_unwind(AssertUnwindSafe(|| threads.join())) {
                Ok(ended) => ended.map_err(|error| reason(&error)),
                Err(_) => Err("a loop of it panicked".to_owned()),
            };
            // The loops are gone, and so are their ends of both channels.
            while waiting.recv_timeout(HEARTBEAT) == Err(RecvTimeoutError::Timeout) {
                controller.tell(&ToController::Usage(usage()));
            }
            // Neither of the two panics; if one does, its panic is ours.
            for sent in [rows_sent, news_sent] {
                sent.join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            }
            controller.tell(&match &ended {
                Ok(()) => ToController::Done,
                Err(why) => ToController::Failed { why: why.clone() },
            });
            ended
        })
    }
}

/// Intervals and other news, each at once, and in every second what the process has used.
fn send_news(news: &Receiver<LoopNews>, controller: &Controller) {
    let mut told_ns = 0;
    loop {
        let is_due = match news.recv_timeout(HEARTBEAT) {
            Ok(told) => {
                let end_ns = match &told {
                    LoopNews::Delta(delta) => delta.end_ns,
                    _ => 0,
                };
                controller.tell(&ToController::News(told));
                let later = end_ns > told_ns;
                told_ns = told_ns.max(end_ns);
                later
            }
            Err(RecvTimeoutError::Timeout) => true,
            Err(RecvTimeoutError::Disconnected) => return,
        };
        if is_due {
            controller.tell(&ToController::Usage(usage()));
        }
    }
}

/// Rows, as fast as the controller takes them. It never stops taking them from the loops.
fn send_rows(rows: &Receiver<Vec<Measurement>>, controller: &Controller) {
    for handful in rows {
        if controller.credits.take() {
            controller.tell(&ToController::Rows(handful));
        }
    }
}

fn usage() -> Usage {
    Usage {
        cpu_ns: host::totals().cpu_process_ns,
        resident_bytes: host::resident_bytes(),
    }
}

/// The plan that the controller has, too. The error is for people.
fn compile(slice: &Slice) -> Result<Plan, String> {
    let ScenarioText {
        name,
        text,
        overrides,
        inputs,
    } = &slice.scenario;
    let env = |name: &str| {
        let answer = inputs.env.iter().find(|(asked, _)| asked == name);
        answer.and_then(|(_, value)| value.clone())
    };
    let files = |name: &str| match inputs.files.iter().find(|(asked, _)| asked == name) {
        Some((_, text)) => text.clone(),
        None => Err("the controller did not send it".to_owned()),
    };
    let settings = Settings {
        overrides,
        env: &env,
        files: &files,
    };
    let (plan, told) = scenario::compile(Source { name, text }, &settings);
    let Some(mut plan) = plan else {
        let told: Vec<String> = told.into_iter().map(|told| told.message).collect();
        return Err(format!("the scenario is wrong here: {}", told.join("; ")));
    };
    if let Some(target) = slice.target {
        plan.set_target(&target.ip().to_string(), target.port());
    }
    if plan_digest(&plan) != slice.plan_digest {
        return Err("the scenario makes another plan here than at the controller".to_owned());
    }
    Ok(plan)
}
