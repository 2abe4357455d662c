//! The controller's side of one worker's connection.

use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use engine::driver::real::monotonic_ns;
use record::Measurement;

use super::check::Check;
use super::clock::{EXCHANGES, Exchange, Offset};
use super::door::Guest;
use super::frame::{FrameError, FrameReader, send};
use super::protocol::{ROWS_WINDOW, ToController, ToWorker};
use crate::crew::News;

/// How long a worker may take to compile its slice and to get its loops ready, and to answer.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(120);

/// What goes to a worker, and when it was last heard of.
#[derive(Debug)]
pub(crate) struct Link {
    stream: Mutex<TcpStream>,
    heard_ns: AtomicU64,
}

impl Link {
    pub(crate) fn new(stream: TcpStream) -> Link {
        Link {
            stream: Mutex::new(stream),
            heard_ns: AtomicU64::new(monotonic_ns()),
        }
    }

    pub(crate) fn send(&self, message: &ToWorker) -> Result<(), FrameError> {
        // Whoever panicked with the lock has written a whole frame or none that the peer will take.
        let mut stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
        send(&mut *stream, message)
    }

    /// On this machine's monotonic clock.
    pub(crate) fn heard_ns(&self) -> u64 {
        self.heard_ns.load(Ordering::Relaxed)
    }

    fn hear(&self) {
        self.heard_ns.store(monotonic_ns(), Ordering::Relaxed);
    }

    /// Ends the connection both ways; the worker ends, too.
    pub(crate) fn cut(&self) {
        let stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
        // An error means that it is cut already.
        let _ = stream.shutdown(Shutdown::Both);
    }
}

/// A worker before the start: it is asked and answers.
#[derive(Debug)]
pub(crate) struct Candidate {
    pub(crate) link: Arc<Link>,
    reader: FrameReader<TcpStream>,
}

/// Why a worker does not get ready.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotReady {
    #[error("{0}")]
    Unable(String),
    #[error(transparent)]
    Frame(#[from] FrameError),
    #[error("it answered what it was not asked")]
    Answer,
}

impl Candidate {
    pub(crate) fn new(guest: Guest) -> Result<Candidate, NotReady> {
        let timeout = guest.stream.set_read_timeout(Some(ANSWER_TIME_MAX));
        timeout.map_err(FrameError::Io)?;
        Ok(Candidate {
            link: Arc::new(Link::new(guest.stream)),
            reader: guest.reader,
        })
    }

    /// Waits until all loops of the worker wait for the start.
    pub(crate) fn await_ready(&mut self) -> Result<(), NotReady> {
        match self.reader.next()? {
            ToController::Ready => Ok(()),
            ToController::Unable { why } => Err(NotReady::Unable(why)),
            _ => Err(NotReady::Answer),
        }
    }

    /// Finds out how far the worker's clock is from ours.
    pub(crate) fn compare_clocks(&mut self) -> Result<Offset, NotReady> {
        let exchanges: Result<Vec<Exchange>, NotReady> =
            (0..EXCHANGES).map(|number| self.exchange(number)).collect();
        Ok(Offset::of(&exchanges?).unwrap_or_default())
    }

    fn exchange(&mut self, number: u32) -> Result<Exchange, NotReady> {
        let asked_ns = monotonic_ns();
        self.link.send(&ToWorker::Ping { number })?;
        match self.reader.next()? {
            ToController::Pong {
                number: answered,
                clock_ns,
            } if answered == number => Ok(Exchange {
                asked_ns,
                answered_ns: monotonic_ns(),
                clock_ns,
            }),
            _ => Err(NotReady::Answer),
        }
    }

    /// Listens to the worker, which has been started, until it is done or lost. That is told last,
    /// when all rows it sent are with the journal.
    pub(crate) fn listen(
        mut self,
        worker: usize,
        mut check: Check,
        news: &Sender<News>,
        rows: &SyncSender<Vec<Measurement>>,
    ) {
        // A worker that keeps to its window never finds it full.
        let (forward, taken) = sync_channel(ROWS_WINDOW as usize);
        let link = Arc::clone(&self.link);
        let heard = std::thread::scope(|scope| {
            let link = &link;
            scope.spawn(move || forward_rows(&taken, rows, link));
            let forward = forward;
            loop {
                let heard = self.hear(worker, &mut check, news, &forward);
                if !matches!(heard, Ok(false)) {
                    break heard;
                }
            }
        });
        let end = match heard {
            Ok(_) => News::Done { worker },
            Err(why) => News::Lost { worker, why },
        };
        // Nobody listens any more where the run is being torn down.
        let _ = news.send(end);
    }

    /// Takes one message; true: it was the last. The error says why the worker is lost.
    fn hear(
        &mut self,
        worker: usize,
        check: &mut Check,
        news: &Sender<News>,
        forward: &SyncSender<Vec<Measurement>>,
    ) -> Result<bool, String> {
        let message = match self.reader.next() {
            // How long is too long is for others to say.
            Err(error) if error.is_timeout() => return Ok(false),
            other => other.map_err(|error| error.to_string())?,
        };
        self.link.hear();
        let news_of_it = match message {
            ToController::News(told) => {
                check.news(&told).map_err(|error| error.to_string())?;
                News::Loop(told)
            }
            ToController::Rows(rows) => {
                check.rows(&rows).map_err(|error| error.to_string())?;
                let sent = forward.try_send(rows);
                return sent
                    .map(|()| false)
                    .map_err(|_| "it sent more rows than it may".to_owned());
            }
            ToController::Usage(usage) => News::Usage { worker, usage },
            ToController::Failed { why } => return Err(why),
            ToController::Done if check.all_ended() => return Ok(true),
            ToController::Done
            | ToController::Ready
            | ToController::Unable { .. }
            | ToController::Pong { .. } => return Err(NotReady::Answer.to_string()),
        };
        let _ = news.send(news_of_it);
        Ok(false)
    }
}

/// Hands rows on to the journal, however long it takes, and lets the worker send as many again. The
/// thread that listens never waits for the disk: intervals come through whatever it does.
fn forward_rows(
    taken: &Receiver<Vec<Measurement>>,
    journal: &SyncSender<Vec<Measurement>>,
    link: &Link,
) {
    for rows in taken {
        // The journal takes rows until the last sender is gone; a worker that is gone needs none.
        let _ = journal.send(rows);
        let _ = link.send(&ToWorker::RowsTaken { frames: 1 });
    }
}
