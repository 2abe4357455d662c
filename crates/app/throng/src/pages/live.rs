//! `--ui`: a run on a live page.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use controller::{Interrupt, Pause, Second, Tick};
use judge::course::LiveRun;
use live::{Action, Limits, Pages, Server};
use plan::Threshold;
use record::schema::RunInfo;
use report::{LiveReport, Page};

use super::listener;
use crate::exit::{Exit, Failure};

/// Time for viewers to fetch the report when the run is over.
const END_TIMEOUT: Duration = Duration::from_secs(5);

/// The live page of one run.
pub(crate) struct LivePage {
    server: Arc<Server>,
    /// The run is over; no more documents are made.
    is_over: Arc<AtomicBool>,
    updates: Sender<Update>,
    has_begun: bool,
    painter: JoinHandle<()>,
}

/// A second of the run, for the painter.
struct Update {
    /// The run, with its first second.
    info: Option<RunInfo>,
    second: Second,
}

impl LivePage {
    /// Listens at this address and prints the URL to standard error.
    pub(crate) fn open(
        address: &str,
        thresholds: Vec<Threshold>,
        interrupt: &Arc<Interrupt>,
        pause: &Arc<Pause>,
    ) -> Result<LivePage, Failure> {
        let listener = listener::open(address, "--ui=127.0.0.1:7700")?;
        let system = |error: std::io::Error| Failure::new(Exit::System, error);
        let pages = Pages {
            html: report::html::LIVE_HTML.to_owned(),
            script: report::html::SCRIPT,
            style: report::html::STYLE,
            actions: actions(interrupt, pause),
        };
        let limits = Limits::default();
        let server =
            Server::start(listener.socket, listener.access, pages, limits).map_err(system)?;
        let server = Arc::new(server);
        let is_over = Arc::<AtomicBool>::default();
        let (updates, received) = channel();
        let painter =
            Painter { server: Arc::clone(&server), thresholds, is_over: Arc::clone(&is_over) };
        let painter = std::thread::Builder::new()
            .name("painter".to_owned())
            .spawn(move || painter.paint(&received))
            .map_err(system)?;
        // If nobody can read this, nobody opens the page.
        let _ = writeln!(std::io::stderr(), "live       {}", listener.url);
        Ok(LivePage { server, is_over, updates, has_begun: false, painter })
    }

    /// Takes a second of the run. Another thread adds it up and draws it; this one never waits for it.
    pub(crate) fn tick(&mut self, tick: &Tick<'_>) {
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        // A painter that panicked gets no more updates.
        let _ = self
            .updates
            .send(Update { info: is_first.then(|| tick.info.clone()), second: tick.keep() });
    }

    /// Ends the page: viewers get the report.
    pub(crate) fn end(self, report: Option<&Page>) {
        self.is_over.store(true, Ordering::Relaxed);
        drop(self.updates);
        // A painter that panicked has nothing left to draw.
        let _ = self.painter.join();
        let last = report.map(|page| (page.json().to_owned(), page.html()));
        self.server.end(last, END_TIMEOUT);
    }
}

/// Actions that viewers can take on the run.
fn actions(interrupt: &Arc<Interrupt>, pause: &Arc<Pause>) -> Vec<Action> {
    let interrupt = Arc::clone(interrupt);
    let request = |paused| {
        let pause = Arc::clone(pause);
        Box::new(move || pause.request(paused))
    };
    vec![
        Action {
            path: "/stop",
            reply: "stopping the run\n",
            // A second interrupt would end the process at once, which only the terminal may do.
            run: Box::new(move || {
                if !interrupt.is_requested() {
                    interrupt.request();
                }
            }),
        },
        Action { path: "/pause", reply: "pausing arrivals\n", run: request(true) },
        Action { path: "/resume", reply: "resuming arrivals\n", run: request(false) },
    ]
}

/// Adds up the run's seconds, and draws the document if somebody watches.
struct Painter {
    server: Arc<Server>,
    thresholds: Vec<Threshold>,
    is_over: Arc<AtomicBool>,
}

impl Painter {
    fn paint(self, updates: &Receiver<Update>) {
        let mut run: Option<LiveRun> = None;
        while let Ok(first) = updates.recv() {
            if self.is_over.load(Ordering::Relaxed) {
                return;
            }
            let mut interrupted = false;
            let mut paused = false;
            // If drawing took longer than a second, there are several.
            for Update { info, second } in std::iter::once(first).chain(updates.try_iter()) {
                (interrupted, paused) = (second.interrupted, second.paused);
                if let Some(info) = info {
                    run = Some(LiveRun::new(&info));
                }
                if let Some(live_run) = &mut run {
                    second.add_to(live_run);
                }
            }
            let Some(live_run) = run.as_ref().filter(|_| self.server.feed().viewers() > 0) else {
                continue;
            };
            let report = LiveReport { live_run, thresholds: &self.thresholds, interrupted, paused };
            let page = Page::live(&report, env!("CARGO_PKG_VERSION"));
            self.server.feed().publish(page.json().to_owned());
        }
    }
}
