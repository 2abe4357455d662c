//! `--ui`: a run on a live page.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use controller::{Interrupt, Pause, Second, Tick};
use judge::course::Growing;
use live::{Act, Limits, Pages, Server};
use plan::Threshold;
use record::schema::RunInfo;
use report::{LiveReport, Page};

use crate::exit::{Exit, Failure};
use crate::{front, page};

/// At the end, viewers have so long to take the report.
const FAREWELL: Duration = Duration::from_secs(5);

/// The live page of one run.
pub(crate) struct LivePage {
    server: Arc<Server>,
    /// The run is over, and nothing is painted any more.
    is_over: Arc<AtomicBool>,
    told: Sender<Told>,
    has_begun: bool,
    painter: JoinHandle<()>,
}

/// What the painter is told.
struct Told {
    /// What runs, with its first second.
    info: Option<RunInfo>,
    second: Second,
}

impl LivePage {
    /// Listens at this address and tells, on standard error, what to open.
    pub(crate) fn open(
        address: &str,
        thresholds: Vec<Threshold>,
        interrupt: &Arc<Interrupt>,
        pause: &Arc<Pause>,
    ) -> Result<LivePage, Failure> {
        let front = front::open(address, "--ui=127.0.0.1:7700")?;
        let system = |error: std::io::Error| Failure::new(Exit::System, error);
        let pages = Pages {
            html: report::LIVE_HTML.to_owned(),
            script: report::SCRIPT,
            style: report::STYLE,
            acts: acts(interrupt, pause),
        };
        let limits = Limits::default();
        let server = Server::start(front.listener, front.gate, pages, limits).map_err(system)?;
        let (server, is_over) = (Arc::new(server), Arc::<AtomicBool>::default());
        let (told, heard) = channel();
        let painter = Painter {
            server: Arc::clone(&server),
            thresholds,
            is_over: Arc::clone(&is_over),
        };
        let painter = std::thread::Builder::new()
            .name("painter".to_owned())
            .spawn(move || painter.paint(&heard))
            .map_err(system)?;
        // Where nobody reads this, nobody opens the page.
        let _ = writeln!(std::io::stderr(), "live       {}", front.url);
        Ok(LivePage {
            server,
            is_over,
            told,
            has_begun: false,
            painter,
        })
    }

    /// A second has passed. It is added up and drawn on another thread, which this one never waits for.
    pub(crate) fn tick(&mut self, tick: &Tick<'_>) {
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        // A painter that panicked is told nothing more.
        let _ = self.told.send(Told {
            info: is_first.then(|| tick.info.clone()),
            second: tick.keep(),
        });
    }

    /// The run is over: those who watch get its report.
    pub(crate) fn end(self, report: Option<&Page>) {
        self.is_over.store(true, Ordering::Relaxed);
        drop(self.told);
        // A painter that panicked has painted nothing more.
        let _ = self.painter.join();
        let last = report.map(|page| (page.json().to_owned(), page.html()));
        self.server.end(last, FAREWELL);
    }
}

/// What can be done from the page.
fn acts(interrupt: &Arc<Interrupt>, pause: &Arc<Pause>) -> Vec<Act> {
    let interrupt = Arc::clone(interrupt);
    let ask = |paused| {
        let pause = Arc::clone(pause);
        Box::new(move || pause.ask(paused))
    };
    vec![
        Act {
            path: "/stop",
            told: "the run is being stopped\n",
            // A second wish would end the process at once, which is for the terminal only.
            act: Box::new(move || {
                if !interrupt.is_asked() {
                    interrupt.ask();
                }
            }),
        },
        Act {
            path: "/pause",
            told: "arrivals are being paused\n",
            act: ask(true),
        },
        Act {
            path: "/resume",
            told: "arrivals are being resumed\n",
            act: ask(false),
        },
    ]
}

/// Adds up the run's seconds, and draws what there is where somebody watches.
struct Painter {
    server: Arc<Server>,
    thresholds: Vec<Threshold>,
    is_over: Arc<AtomicBool>,
}

impl Painter {
    fn paint(self, heard: &Receiver<Told>) {
        let mut run: Option<Growing> = None;
        while let Ok(first) = heard.recv() {
            if self.is_over.load(Ordering::Relaxed) {
                return;
            }
            let (mut interrupted, mut paused) = (false, false);
            // Where drawing took longer than a second, several have come.
            for Told { info, second } in std::iter::once(first).chain(heard.try_iter()) {
                (interrupted, paused) = (second.interrupted, second.paused);
                if let Some(info) = info {
                    run = Some(Growing::new(&info));
                }
                if let Some(growing) = &mut run {
                    second.add_to(growing);
                }
            }
            let Some(growing) = run.as_ref().filter(|_| self.server.feed().viewers() > 0) else {
                continue;
            };
            let report = LiveReport {
                growing,
                thresholds: &self.thresholds,
                interrupted,
                paused,
            };
            let page = Page::live(&report, page::VERSION);
            self.server.feed().publish(page.json().to_owned());
        }
    }
}
