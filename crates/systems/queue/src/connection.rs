//! A client's connection: its requests are read, carried out and answered one after the other.
//!
//! So little can pile up: at most one buffer of bytes that were not looked at, one request, and its answer. While a
//! request waits for room in the queue or for a worker, nothing is read, and TCP makes the sender wait.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::{Buf, BytesMut};
use server::stopped;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{oneshot, watch};
use tokio::time::{sleep_until, timeout, timeout_at};

use crate::clock::{now, whole_us};
use crate::jobs::{Job, JobResult, JobSender, Outcome};
use crate::metrics::Phase;
use crate::state::State;
use crate::waiters::LookResult;
use crate::wire::{
    Code, Framing, HEADER_BYTES, Operation, Problem, Request, Writer, add_trailer, framing,
    receiver_of,
};

/// Room for each read, at least.
const READ_BYTES: usize = 4 << 10;
/// Answers are written when they are this many bytes, though more requests are there.
const OUT_MAX: usize = 64 << 10;
/// How long a client that broke a rule may take to read the error, and to stop sending.
const LINGER: Duration = Duration::from_secs(1);

/// Why a connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// The client or the network ended it, or the server stops.
    Closed,
    /// The client got an error after which nothing is read.
    Violation,
    /// The client does not read its answers.
    Slow,
}

/// A client's connection.
pub(crate) struct Connection {
    stream: TcpStream,
    state: Arc<State>,
    jobs: JobSender,
    stop: watch::Receiver<bool>,
    input: BytesMut,
    /// The client sends no more.
    input_ended: bool,
    /// When the first byte of `input` was read, and when the last.
    since: Instant,
    read_at: Instant,
    /// Answers that were not written.
    out: Vec<u8>,
    /// How many they are, and since when the first of them waits.
    unwritten: u64,
    unwritten_since: Instant,
}

/// When the parts of a request's time ended.
#[derive(Debug, Clone, Copy)]
struct Times {
    /// It was complete, and its turn.
    ready: Instant,
    /// A worker took it, and the store had answered; none if no worker saw it.
    worked: Option<(Instant, Instant)>,
}

impl Connection {
    pub(crate) fn new(
        stream: TcpStream,
        state: Arc<State>,
        jobs: JobSender,
        stop: watch::Receiver<bool>,
    ) -> Self {
        let now = now();
        Self {
            stream,
            state,
            jobs,
            stop,
            input: BytesMut::with_capacity(READ_BYTES),
            input_ended: false,
            since: now,
            read_at: now,
            out: Vec::new(),
            unwritten: 0,
            unwritten_since: now,
        }
    }

    /// Serves until it ends.
    pub(crate) async fn serve(mut self) {
        let end = loop {
            if let Err(end) = self.advance().await {
                break end;
            }
        };
        match end {
            End::Closed => {}
            End::Violation => self.linger().await,
            End::Slow => {
                self.state.metrics.slow_disconnects.add(1);
                // The kernel would keep what the client does not read.
                let _ = self.stream.set_zero_linger();
            }
        }
    }

    /// Carries out the next request, or reads more of it.
    async fn advance(&mut self) -> Result<(), End> {
        match framing(&self.input, self.state.payload_max) {
            Framing::Complete { kind, payload } => {
                self.carry_out(kind, payload).await?;
                self.input.advance(HEADER_BYTES + payload);
                self.since = self.read_at;
                if self.out.len() >= OUT_MAX {
                    self.write().await?;
                }
                Ok(())
            }
            Framing::Partial { bytes } => {
                self.write().await?;
                self.read(bytes).await
            }
            Framing::TooLarge { kind, payload } => {
                let most = self.state.payload_max;
                let text = format!("a payload of {payload} bytes, at most {most} are allowed");
                let operation = Operation::from_kind(kind);
                self.fail(kind, operation, &Problem::new(Code::TooLarge, text));
                self.end_with_error().await
            }
        }
    }

    /// Reads until there is at least one more byte of a frame that needs this number of them.
    async fn read(&mut self, bytes: usize) -> Result<(), End> {
        if self.input_ended {
            return Err(End::Closed);
        }
        let is_new = self.input.is_empty();
        let missing = bytes.saturating_sub(self.input.len());
        self.input.reserve(missing.max(READ_BYTES));
        let deadline = self.since + self.state.frame_timeout;
        let reading = async {
            tokio::select! {
                biased;
                count = self.stream.read_buf(&mut self.input) => count.ok(),
                () = stopped(&mut self.stop) => None,
            }
        };
        let read = match is_new {
            true => reading.await,
            false => match timeout_at(deadline.into(), reading).await {
                Ok(read) => read,
                Err(_) => return self.frame_timed_out().await,
            },
        };
        match read {
            Some(1..) => {}
            Some(0) | None => return Err(End::Closed),
        }
        self.read_at = now();
        if is_new {
            self.since = self.read_at;
        }
        Ok(())
    }

    async fn frame_timed_out(&mut self) -> Result<(), End> {
        self.state.metrics.frame_timeouts.add(1);
        let limit = self.state.frame_timeout.as_millis();
        let text = format!("the frame was not complete {limit} ms after its first byte");
        self.fail(0, None, &Problem::new(Code::Timeout, text));
        self.end_with_error().await
    }

    async fn end_with_error(&mut self) -> Result<(), End> {
        self.write().await?;
        Err(End::Violation)
    }

    /// Carries out the first request of the input.
    async fn carry_out(&mut self, kind: u8, payload: usize) -> Result<(), End> {
        let Some(operation) = Operation::from_kind(kind) else {
            let text = format!("there is no operation of type {kind:#04x}");
            self.fail(kind, None, &Problem::new(Code::UnknownType, text));
            return Ok(());
        };
        let payload = &self.input[HEADER_BYTES..HEADER_BYTES + payload];
        match Request::parse(operation, payload) {
            Ok(None) => {
                let start = self.out.len();
                let mut answer = Writer::answer(&mut self.out, operation);
                answer.bytes(payload);
                answer.finish();
                let times = Times::at(self.read_at);
                self.answered(Some(operation), Outcome::Done, start, times);
                Ok(())
            }
            Ok(Some(request)) => self.pass_on(request).await,
            Err(problem) => {
                self.fail(kind, Some(operation), &problem);
                Ok(())
            }
        }
    }

    /// Answers with an error of the middleware.
    fn fail(&mut self, kind: u8, operation: Option<Operation>, problem: &Problem) {
        let start = self.out.len();
        Writer::error(&mut self.out, kind, problem.code, &problem.text).finish();
        let times = Times::at(self.read_at);
        self.answered(operation, Outcome::Failed(problem.code), start, times);
    }

    /// Has a worker carry it out.
    async fn pass_on(&mut self, request: Request) -> Result<(), End> {
        // Earlier answers do not wait for this one.
        self.write().await?;
        let operation = request.operation();
        let ready = now();
        let done = match request {
            Request::Pop { queue, receiver, wait_ms: 1.. } => {
                self.pop_waiting(&request, queue, receiver).await?
            }
            request => self.submit(request).await,
        };
        let Some(done) = done else {
            let problem = Problem::new(Code::Stopping, "the server stops");
            self.fail(operation as u8, Some(operation), &problem);
            return self.end_with_error().await;
        };
        self.out = done.out;
        let times = Times { ready, worked: Some((done.taken, done.answered)) };
        self.answered(Some(operation), done.outcome, 0, times);
        Ok(())
    }

    /// `None` when the server stops.
    async fn submit(&mut self, request: Request) -> Option<JobResult> {
        if *self.stop.borrow() {
            return None;
        }
        let (reply, answer) = oneshot::channel();
        let job = Job { request, out: std::mem::take(&mut self.out), submitted: now(), reply };
        self.jobs.put(job).await?;
        answer.await.ok()
    }

    /// A pop that waits for a message if there is none.
    async fn pop_waiting(
        &mut self,
        request: &Request,
        queue: i32,
        receiver: Option<i32>,
    ) -> Result<Option<JobResult>, End> {
        let Request::Pop { wait_ms, .. } = *request else {
            return Ok(self.submit(request.clone()).await);
        };
        let deadline = now() + server::stretch(Duration::from_millis(wait_ms.into()));
        let state = Arc::clone(&self.state);
        let place = state.waiters.join(queue, receiver);
        loop {
            place.looks();
            let Some(mut done) = self.submit(request.clone()).await else {
                return Ok(None);
            };
            place.found(match done.outcome {
                Outcome::Nothing => LookResult::Nothing,
                Outcome::Done => LookResult::Message(receiver_of(&done.out)),
                Outcome::Failed(_) => LookResult::Unknown,
            });
            if done.outcome != Outcome::Nothing || now() >= deadline || self.input_ended {
                return Ok(Some(done));
            }
            let next = state.poll_every.map_or(deadline, |every| deadline.min(now() + every));
            let is_over = tokio::select! {
                biased;
                () = place.woken() => false,
                // At the end of its wait it looks once more: a message may have come since the last look.
                () = sleep_until(next.into()) => false,
                () = read_ahead(&mut self.stream, &mut self.input, &mut self.input_ended, state.payload_max) => true,
                () = stopped(&mut self.stop) => true,
            };
            self.read_at = now();
            if is_over {
                return Ok(Some(done));
            }
            done.out.clear();
            self.out = done.out;
        }
    }

    /// Completes the answer that begins at `start` of the output.
    fn answered(
        &mut self,
        operation: Option<Operation>,
        outcome: Outcome,
        start: usize,
        times: Times,
    ) {
        let metrics = &self.state.metrics;
        metrics.count(operation, outcome);
        let read = times.ready.duration_since(self.since);
        metrics.time(Phase::Read, read, 1);
        let (queued, database) = times.worked.map_or_else(Default::default, |(taken, answered)| {
            let queued = taken - times.ready;
            let database = answered - taken;
            metrics.time(Phase::Queued, queued, 1);
            metrics.time(Phase::Database, database, 1);
            (queued, database)
        });
        if self.state.timing {
            let reply = now().duration_since(times.answered());
            let times = [read, queued, database, reply];
            let times = times.map(|time| u32::try_from(whole_us(time)).unwrap_or(u32::MAX));
            add_trailer(&mut self.out, start, times);
        }
        if self.unwritten == 0 {
            self.unwritten_since = times.answered();
        }
        self.unwritten += 1;
    }

    /// Writes all answers.
    async fn write(&mut self) -> Result<(), End> {
        let mut rest = &self.out[..];
        while !rest.is_empty() {
            match self.stream.try_write(rest) {
                Ok(count) => rest = &rest[count..],
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                    let writable = timeout(self.state.write_timeout, self.stream.writable());
                    match writable.await {
                        Ok(Ok(())) => {}
                        Ok(Err(_)) => return Err(End::Closed),
                        Err(_) => return Err(End::Slow),
                    }
                }
                Err(_) => return Err(End::Closed),
            }
        }
        if self.unwritten > 0 {
            let time = now().duration_since(self.unwritten_since);
            let count = std::mem::take(&mut self.unwritten);
            self.state.metrics.time(Phase::Reply, time, count);
        }
        self.out.clear();
        self.out.shrink_to(OUT_MAX);
        Ok(())
    }

    /// Lets the client read the error: closing a socket that has unread bytes would destroy it.
    async fn linger(&mut self) {
        let stream = &mut self.stream;
        let draining = async {
            let _ = stream.shutdown().await;
            let mut buffer = [0; READ_BYTES];
            while let Ok(1..) = stream.read(&mut buffer).await {}
        };
        // A client that sends for longer loses the error.
        let _ = timeout(LINGER, draining).await;
    }
}

impl Times {
    /// The times of a request that no worker saw.
    fn at(ready: Instant) -> Self {
        Self { ready, worked: None }
    }

    fn answered(self) -> Instant {
        self.worked.map_or(self.ready, |(_, answered)| answered)
    }
}

/// Reads what fits until the client sends no more; nothing is lost if this is dropped.
async fn read_ahead(
    stream: &mut TcpStream,
    input: &mut BytesMut,
    has_ended: &mut bool,
    payload_max: usize,
) {
    let most = HEADER_BYTES + payload_max.max(READ_BYTES);
    while input.len() < most {
        input.reserve(READ_BYTES);
        match stream.read_buf(input).await {
            Ok(1..) => {}
            Ok(0) | Err(_) => {
                *has_ended = true;
                return;
            }
        }
    }
    // Who has sent this much is taken to be there.
    std::future::pending::<()>().await;
}
