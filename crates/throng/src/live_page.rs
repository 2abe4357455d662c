//! `--ui`: a run on a live page.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use controller::{Interrupt, Tick};
use judge::course::Growing;
use live::{Limits, Pages, Server};
use record::schema::{Event, RunInfo};
use report::{LiveReport, Page};

use crate::exit::{Exit, Failure};
use crate::{front, page};

/// First errors that are kept.
const EVENTS_MAX: usize = 50;
/// At the end, viewers have so long to take the report.
const FAREWELL: Duration = Duration::from_secs(5);

/// The live page of one run.
pub(crate) struct LivePage {
    server: Arc<Server>,
    shared: Arc<Shared>,
    /// Wakes the painter; full where it has yet to look.
    wake: SyncSender<()>,
    painter: JoinHandle<()>,
}

#[derive(Default)]
struct Shared {
    so_far: Mutex<Option<SoFar>>,
    is_over: AtomicBool,
}

/// What the run did so far.
struct SoFar {
    info: RunInfo,
    growing: Growing,
    events: Vec<Event>,
    interrupted: bool,
}

impl LivePage {
    /// Listens at this address and tells, on standard error, what to open.
    pub(crate) fn open(address: &str, interrupt: &Arc<Interrupt>) -> Result<LivePage, Failure> {
        let front = front::open(address, "--ui=127.0.0.1:7700")?;
        let system = |error: std::io::Error| Failure::new(Exit::System, error);
        let interrupt = Arc::clone(interrupt);
        let pages = Pages {
            html: report::LIVE_HTML.to_owned(),
            script: report::SCRIPT,
            style: report::STYLE,
            // A second wish would end the process at once, which is for the terminal only.
            stop: Box::new(move || {
                if !interrupt.is_asked() {
                    interrupt.ask();
                }
            }),
        };
        let limits = Limits::default();
        let server = Server::start(front.listener, front.gate, pages, limits).map_err(system)?;
        let (server, shared) = (Arc::new(server), Arc::new(Shared::default()));
        let (wake, woken) = sync_channel(1);
        let (painted, painting) = (Arc::clone(&server), Arc::clone(&shared));
        let painter = std::thread::Builder::new()
            .name("painter".to_owned())
            .spawn(move || paint(&painted, &painting, &woken))
            .map_err(system)?;
        // Where nobody reads this, nobody opens the page.
        let _ = writeln!(std::io::stderr(), "live       {}", front.url);
        Ok(LivePage {
            server,
            shared,
            wake,
            painter,
        })
    }

    /// A second has passed. It is added up here, and drawn elsewhere.
    pub(crate) fn tick(&self, tick: &Tick<'_>) {
        let mut so_far = self.shared.lock();
        let so_far = so_far.get_or_insert_with(|| SoFar {
            info: tick.info.clone(),
            growing: Growing::new(tick.info),
            events: Vec::new(),
            interrupted: false,
        });
        tick.add_to(&mut so_far.growing);
        let room = EVENTS_MAX - so_far.events.len();
        so_far.events.extend(tick.first_errors().take(room));
        so_far.interrupted = tick.interrupted;
        // A painter that has yet to look sees this second, too.
        let _ = self.wake.try_send(());
    }

    /// The run is over: those who watch get its report.
    pub(crate) fn end(self, report: Option<&Page>) {
        self.shared.is_over.store(true, Ordering::Relaxed);
        let _ = self.wake.try_send(());
        // A painter that panicked has painted nothing more.
        let _ = self.painter.join();
        let last = report.map(|page| (page.json().to_owned(), page.html()));
        self.server.end(last, FAREWELL);
    }
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, Option<SoFar>> {
        self.so_far.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Draws what there is, where somebody watches.
fn paint(server: &Server, shared: &Shared, woken: &Receiver<()>) {
    while woken.recv().is_ok() {
        if shared.is_over.load(Ordering::Relaxed) {
            return;
        }
        if server.feed().viewers() == 0 {
            continue;
        }
        let page = shared.lock().as_ref().map(|so_far| {
            let report = LiveReport {
                info: &so_far.info,
                growing: &so_far.growing,
                events: &so_far.events,
                interrupted: so_far.interrupted,
            };
            Page::live(&report, page::VERSION)
        });
        if let Some(page) = page {
            server.feed().publish(page.json().to_owned());
        }
    }
}
