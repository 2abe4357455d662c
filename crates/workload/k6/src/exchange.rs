//! What users ask for, and what they are given.

use stats::rng::Rng;

/// A number of bytes that the contexts of all users share with others.
pub trait Memory: std::fmt::Debug {
    /// Takes bytes, if there are as many left.
    fn take(&self, bytes: usize) -> bool;
    /// Gives bytes back that were taken.
    fn give_back(&self, bytes: usize);
}

/// An error of a script.
#[derive(Debug, Clone, PartialEq, Eq, Default, thiserror::Error)]
pub struct Fault {
    /// In words.
    pub message: String,
    /// Whether it is no fault of the script: the memory that all users share is used up.
    pub is_no_memory: bool,
    /// The file that the place is in.
    pub file: Option<String>,
    /// Line and column, from 1, as far as they are known.
    pub place: Option<(u32, u32)>,
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (&self.file, self.place) {
            (Some(file), Some((line, column))) => {
                write!(f, "{}, at {file}:{line}:{column}", self.message)
            }
            _ => f.write_str(&self.message),
        }
    }
}

impl Fault {
    /// One without a place.
    pub fn new(message: impl Into<String>) -> Fault {
        Fault { message: message.into(), ..Fault::default() }
    }
}

/// What a user waits for, or how its function ended.
#[derive(Debug)]
pub enum Ask {
    /// The answer to a request.
    Request(Box<Request>),
    /// A time, in nanoseconds.
    Sleep(u64),
    /// Something of its cookies, at once.
    Cookies(CookieAsk),
    /// News of its tasks, for this many nanoseconds at most; `None`: for as long as it takes.
    News(Option<u64>),
    /// Nothing: the function has returned this value, as JSON, or thrown.
    Done(Result<Option<String>, Fault>),
}

/// What a script wants of its user's cookies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CookieAsk {
    /// Those that a request to this URL would carry.
    Of(String),
    /// As if a response from this URL had had this `Set-Cookie`; none are answered.
    Set { url: String, line: String },
}

/// What a user continues with.
#[derive(Debug)]
pub enum Answer {
    /// A function begins.
    Begin(Box<Begin>),
    /// The time of its sleep is over.
    Woken,
    Response(Box<Response>),
    /// Names and values of cookies.
    Cookies(Vec<(String, String)>),
    /// News of its tasks, in the order in which they came. None: the time is over.
    News(Vec<News>),
    /// It is to end: all that it runs is interrupted.
    End,
}

/// A function that begins.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Begin {
    /// Its name among the script's exports; empty: the top level alone is evaluated.
    pub function: String,
    /// The scenario of the options that it is an iteration of; empty: it is `setup` or `teardown`.
    pub scenario: String,
    /// What `setup` returned, as JSON; empty: nothing.
    pub data: String,
    /// The iteration's number in the run, from 0.
    pub number: u64,
}

impl Begin {
    /// Whether it is an iteration of a scenario.
    pub fn is_iteration(&self) -> bool {
        !self.scenario.is_empty() && !self.function.is_empty()
    }
}

/// What runs beside a user's function from now on.
#[derive(Debug)]
pub struct Task {
    /// The user's number for it.
    pub id: u32,
    pub work: Work,
}

/// What a task does.
#[derive(Debug)]
pub enum Work {
    Request(Box<Request>),
    /// A WebSocket, opened by this request.
    Socket(Box<Request>),
}

/// What a user sends over one of its WebSockets.
#[derive(Debug)]
pub struct Outgoing {
    /// The number of the task.
    pub id: u32,
    pub message: Message,
}

/// A message of a WebSocket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    Text(String),
    Binary(Vec<u8>),
    Ping(Vec<u8>),
    Pong(Vec<u8>),
    Close { code: u16, reason: String },
}

/// What came of a task.
#[derive(Debug)]
pub struct News {
    /// The task's number.
    pub id: u32,
    pub event: Event,
}

/// What may come of tasks.
#[derive(Debug)]
pub enum Event {
    /// The answer to its request, with which it has ended.
    Response(Box<Response>),
    /// The answer to the handshake of its WebSocket.
    Handshake(Box<Response>),
    /// What came over it, in so many bytes. With a close frame it has ended.
    Message(Message, u64),
}

impl Event {
    /// Whether the task has ended with it.
    pub fn is_last(&self) -> bool {
        match self {
            Event::Response(_) => true,
            Event::Handshake(response) => response.failure.is_some(),
            Event::Message(message, _) => matches!(message, Message::Close { .. }),
        }
    }
}

/// A request.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Request {
    pub method: String,
    /// Without credentials and fragment.
    pub url: String,
    /// The tag `name`.
    pub name: String,
    pub headers: Vec<(String, String)>,
    pub body: Option<Vec<u8>>,
    pub timeout_ns: u64,
    /// How many redirects are followed.
    pub redirects: u8,
    /// The user's cookies are neither sent with it, nor are those of its response kept.
    pub bare: bool,
    /// The statuses that are no failure, as inclusive ranges; empty: all are.
    pub expected: Vec<(u16, u16)>,
}

impl Request {
    /// Whether a response of this status is no failure.
    pub fn expects(&self, status: u16) -> bool {
        self.expected.is_empty()
            || self.expected.iter().any(|&(low, high)| (low..=high).contains(&status))
    }
}

/// What came of a request.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Response {
    /// 0: there is none.
    pub status: u16,
    /// `HTTP/1.1`, `HTTP/2.0`; empty: there is none.
    pub protocol: &'static str,
    /// The URL that answered, behind all redirects.
    pub url: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    pub timings: Timings,
    /// Bytes of the request and of the answer, heads included, without those of redirects.
    pub bytes_out: u64,
    pub bytes_in: u64,
    /// Redirects that led to it.
    pub hops: Vec<Hop>,
    /// Why there is no response: k6's code of the error, and its words.
    pub failure: Option<(u16, String)>,
}

/// An answer that led elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hop {
    pub status: u16,
    pub timings: Timings,
    /// Bytes of its request and of the answer, heads included.
    pub bytes_out: u64,
    pub bytes_in: u64,
}

/// Parts of a request's time, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Timings {
    /// Until there is a connection, its set-up aside.
    pub blocked_ns: u64,
    pub connecting_ns: u64,
    pub tls_ns: u64,
    pub sending_ns: u64,
    /// From the request's last byte to the first of the answer.
    pub waiting_ns: u64,
    pub receiving_ns: u64,
}

/// What a call may look at.
#[derive(Debug)]
pub struct Surroundings<'a> {
    /// The run's clock: milliseconds since the Unix epoch.
    pub unix_ms: f64,
    /// Since the run's start, in milliseconds.
    pub elapsed_ms: f64,
    /// CPU time that the call may take.
    pub time_max_ns: u64,
    /// The stream from which `Math.random` draws.
    pub rng: &'a mut Rng,
}

/// A number of a metric.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// Place among [`plan::K6Script::metrics`].
    pub metric: usize,
    pub value: f64,
}

/// A check that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    pub name: String,
    pub holds: bool,
}

/// Lines that scripts have written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Console {
    pub lines: Vec<ConsoleLine>,
    /// How many were too many.
    pub dropped: u64,
}

/// A line of the console.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsoleLine {
    /// The run's clock: milliseconds since the Unix epoch.
    pub unix_ms: i64,
    pub text: String,
}

/// What a user has recorded since it was resumed.
#[derive(Debug, Default)]
pub struct Yielded {
    pub samples: Vec<Sample>,
    pub checks: Vec<Checked>,
    pub console: Console,
    /// It ends the run.
    pub aborts: bool,
    /// Tasks that it has begun.
    pub tasks: Vec<Task>,
    /// What it has sent over WebSockets.
    pub outgoing: Vec<Outgoing>,
}
