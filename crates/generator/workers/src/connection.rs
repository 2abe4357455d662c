//! The controller's side of one worker's connection.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use driver::real::LoopNews;
use machine::clock::{monotonic_ns, unix_ns};
use record::Measurement;

use super::carrier::{Bytes, Carrier};
use super::check::Check;
use super::clock::{EXCHANGES, Exchange, Offset};
use super::frame::{FrameError, FrameReader, send};
use super::protocol::{Introduction, ROWS_WINDOW, ToController, ToWorker};
use super::report::{Report, ReportSenders};

/// The time in which a worker has to compile its slice and get its loops ready, and to answer.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(120);
/// Pings that may be on their way; older ones do not count.
const PINGS_MAX: usize = 64;
/// The interval at which a full channel of rows is tried again.
const ROWS_LOOK: Duration = Duration::from_millis(20);

/// The sending half of the connection, and when something last came from the worker.
#[derive(Debug)]
pub(super) struct Link {
    stream: Mutex<Bytes>,
    carrier: Arc<dyn Carrier>,
    received_ns: AtomicU64,
    /// The end of each interval that is not stored yet: in time, and in bytes.
    unstored: Mutex<VecDeque<(u64, u64)>>,
    /// The pings that were not answered yet.
    pings: Mutex<Pings>,
}

/// The pings of a run that goes on: their numbers are not those of another controller's, whose answers may come.
#[derive(Debug)]
struct Pings {
    next: u32,
    /// Numbers, and when they were sent.
    sent: VecDeque<(u32, u64)>,
}

impl Link {
    pub(super) fn new(carrier: Arc<dyn Carrier>) -> Link {
        Link {
            stream: Mutex::new(Bytes(Arc::clone(&carrier))),
            carrier,
            received_ns: AtomicU64::new(monotonic_ns()),
            unstored: Mutex::default(),
            pings: Mutex::new(Pings { next: unix_ns() as u32, sent: VecDeque::new() }),
        }
    }

    /// Compares clocks once more.
    pub(super) fn ping(&self) {
        let number = {
            let mut pings = self.pings.lock().unwrap_or_else(PoisonError::into_inner);
            if pings.sent.len() >= PINGS_MAX {
                pings.sent.pop_front();
            }
            pings.next = pings.next.wrapping_add(1);
            let number = pings.next;
            pings.sent.push_back((number, monotonic_ns()));
            number
        };
        // An error of a broken connection is reported by the thread that reads it.
        let _ = self.send(&ToWorker::Ping { number });
    }

    /// The exchange that this answer ends, if it is ours.
    fn take_pong(&self, number: u32, clock_ns: u64) -> Option<Exchange> {
        let received_ns = monotonic_ns();
        let mut pings = self.pings.lock().unwrap_or_else(PoisonError::into_inner);
        let at = pings.sent.iter().position(|(own, _)| *own == number)?;
        let (_, sent_ns) = pings.sent.remove(at)?;
        Some(Exchange { sent_ns, received_ns, clock_ns })
    }

    pub(super) fn send(&self, message: &ToWorker) -> Result<(), FrameError> {
        // A thread that panicked with the lock has written a complete frame, or one that the peer refuses.
        let mut stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
        send(&mut *stream, message)
    }

    /// The time of the last message, on this machine's monotonic clock.
    pub(super) fn received_ns(&self) -> u64 {
        self.received_ns.load(Ordering::Relaxed)
    }

    /// True if the messages of the worker are kept until they were stored.
    fn keeps(&self) -> bool {
        self.carrier.keeps()
    }

    /// True if the worker is known to run no more.
    pub(super) fn is_peer_gone(&self) -> bool {
        self.carrier.is_peer_gone()
    }

    /// True if our own side is cut off.
    pub(super) fn is_cut_off(&self) -> bool {
        self.carrier.is_cut_off()
    }

    /// Notes an interval until `end_ns` whose message ends at `position`.
    fn note_interval(&self, end_ns: u64, position: u64) {
        let mut unstored = self.unstored.lock().unwrap_or_else(PoisonError::into_inner);
        unstored.push_back((end_ns, position));
    }

    /// Notes that all intervals until `until_ns` are in the record.
    pub(super) fn mark_stored(&self, until_ns: u64) {
        let mut unstored = self.unstored.lock().unwrap_or_else(PoisonError::into_inner);
        let stored = unstored.iter().take_while(|(end_ns, _)| *end_ns <= until_ns);
        let stored = stored.count();
        if let Some((_, position)) = unstored.drain(..stored).next_back() {
            self.carrier.mark_stored(position);
        }
    }

    pub(super) fn note_received(&self) {
        self.received_ns.store(monotonic_ns(), Ordering::Relaxed);
    }

    /// Closes the connection both ways; the worker ends as well.
    pub(super) fn close(&self) {
        self.carrier.close();
    }
}

/// A worker that has connected and introduced itself.
#[derive(Debug)]
pub(super) struct Connection {
    /// The number of the worker in the run.
    pub(super) index: usize,
    pub(super) introduction: Introduction,
    /// The version of Throng that it is.
    pub(super) throng: String,
    pub(super) link: Arc<Link>,
    reader: FrameReader<Bytes>,
}

/// The reason for which a worker does not get ready.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotReady {
    #[error("{0}")]
    Unable(String),
    #[error(transparent)]
    Frame(#[from] FrameError),
    #[error("it sent a message that was not expected")]
    Unexpected,
}

impl Connection {
    /// The connection of a worker whose first message was accepted.
    pub(super) fn new(
        index: usize,
        introduction: Introduction,
        throng: String,
        carrier: Arc<dyn Carrier>,
        reader: FrameReader<Bytes>,
    ) -> Result<Connection, FrameError> {
        carrier.set_timeout(ANSWER_TIME_MAX)?;
        Ok(Connection { index, introduction, throng, link: Arc::new(Link::new(carrier)), reader })
    }

    /// Waits until all loops of the worker wait for the start.
    pub(super) fn await_ready(&mut self) -> Result<(), NotReady> {
        match self.reader.next()? {
            ToController::Ready => Ok(()),
            ToController::Unable { why } => Err(NotReady::Unable(why)),
            _ => Err(NotReady::Unexpected),
        }
    }

    /// Measures the offset of the worker's clock.
    pub(super) fn compare_clocks(&mut self) -> Result<Offset, NotReady> {
        let exchanges: Result<Vec<Exchange>, NotReady> =
            (0..EXCHANGES).map(|number| self.exchange(number)).collect();
        Ok(Offset::estimate(&exchanges?).unwrap_or_default())
    }

    fn exchange(&mut self, number: u32) -> Result<Exchange, NotReady> {
        let sent_ns = monotonic_ns();
        self.link.send(&ToWorker::Ping { number })?;
        match self.reader.next()? {
            ToController::Pong { number: answered, clock_ns } if answered == number => {
                Ok(Exchange { sent_ns, received_ns: monotonic_ns(), clock_ns })
            }
            _ => Err(NotReady::Unexpected),
        }
    }

    /// Reads the messages of the running worker until it is done or lost. That is reported last, after the
    /// journal has all rows that the worker sent.
    pub(super) fn read_to_end(mut self, worker: usize, mut check: Check, out: &ReportSenders) {
        // A worker that respects its window never finds it full.
        let (forward, taken) = sync_channel(ROWS_WINDOW as usize);
        let link = Arc::clone(&self.link);
        let end = std::thread::scope(|scope| {
            let link = &link;
            scope.spawn(move || forward_rows(&taken, &out.rows, link));
            let forward = forward;
            loop {
                let end = self.read_message(worker, &mut check, &out.reports, &forward);
                if !matches!(end, Ok(false)) {
                    break end;
                }
            }
        });
        let end = match end {
            Ok(_) => Report::Done { worker },
            Err(why) => Report::Lost { worker, why },
        };
        // The receiver is gone if the run is being torn down.
        let _ = out.reports.send(end);
    }

    /// Reads one message; true: it was the last. The error says why the worker is lost.
    fn read_message(
        &mut self,
        worker: usize,
        check: &mut Check,
        reports: &Sender<Report>,
        forward: &SyncSender<Vec<Measurement>>,
    ) -> Result<bool, String> {
        let message = match self.reader.next() {
            // The pool decides how long a worker may be silent.
            Err(error) if error.is_timeout() => return Ok(false),
            other => other.map_err(|error| error.to_string())?,
        };
        self.link.note_received();
        let report = match message {
            ToController::News(loop_news) => {
                check.news(&loop_news).map_err(|error| error.to_string())?;
                if let LoopNews::Delta(delta) = &loop_news {
                    let position = self.reader.position();
                    self.link.note_interval(delta.end_ns, position);
                }
                Report::Loop(loop_news)
            }
            ToController::RowsLeft(left) => {
                check.left(&left).map_err(|error| error.to_string())?;
                Report::RowsLeft { worker, left }
            }
            ToController::Rows(rows) => {
                check.rows(&rows).map_err(|error| error.to_string())?;
                return self.forward(rows, forward).map(|()| false);
            }
            ToController::Usage(usage) => Report::Usage { worker, usage },
            ToController::Pong { number, clock_ns } => {
                match self.link.take_pong(number, clock_ns) {
                    Some(exchange) => Report::Clock { worker, exchange },
                    // It answers a ping of another controller.
                    None => return Ok(false),
                }
            }
            ToController::Failed { why } => return Err(why),
            ToController::Done if check.all_ended() => return Ok(true),
            ToController::Done | ToController::Ready | ToController::Unable { .. } => {
                return Err(NotReady::Unexpected.to_string());
            }
        };
        let _ = reports.send(report);
        Ok(false)
    }

    /// Passes rows on. What is kept until it was stored is not limited by a window: it waits here for a slow disk.
    fn forward(
        &self,
        mut rows: Vec<Measurement>,
        forward: &SyncSender<Vec<Measurement>>,
    ) -> Result<(), String> {
        loop {
            match forward.try_send(rows) {
                Ok(()) => return Ok(()),
                Err(TrySendError::Full(back)) if self.link.keeps() => rows = back,
                Err(_) => return Err("it sent more rows than its window allows".to_owned()),
            }
            // The worker does not count as silent while its messages are not read.
            self.link.note_received();
            std::thread::park_timeout(ROWS_LOOK);
        }
    }
}

/// Passes rows on to the journal, however long it takes, and lets the worker send as many again. The
/// reading thread never waits for the disk, so a slow disk does not delay intervals.
fn forward_rows(
    taken: &Receiver<Vec<Measurement>>,
    journal: &SyncSender<Vec<Measurement>>,
    link: &Link,
) {
    for rows in taken {
        // The journal takes rows until the last sender is gone; a lost worker needs no credit.
        let _ = journal.send(rows);
        if !link.keeps() {
            let _ = link.send(&ToWorker::RowsTaken { frames: 1 });
        }
    }
}
