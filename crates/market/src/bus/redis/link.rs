//! A connection to Redis that many requests share, is bounded in time and restores itself.
//!
//! Requests come from any runtime. The connection belongs to a thread of its own, which outlives them.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use redis::aio::{AsyncPushSender, MultiplexedConnection};
use redis::{
    AsyncConnectionConfig, Client, Cmd, FromRedisValue, Pipeline, ProtocolVersion, RedisError,
    RedisResult, cmd,
};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::sync::{Notify, oneshot};
use tokio::time::{sleep, timeout};

use server::database::ServerAddress;
use server::metrics::{Counter, Page};

/// How often an idle connection is tried.
pub(super) const LOOK: Duration = Duration::from_secs(1);
/// The first pause between two attempts to connect, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_millis(10), Duration::from_millis(250));

/// Why Redis did not do something.
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
pub(crate) enum LinkError {
    /// There is no connection now.
    #[error("Redis at {0} cannot be reached")]
    Away(String),
    /// It did not answer in time. What was requested may have been done, or may still be.
    #[error("Redis at {0} did not answer in time")]
    Late(String),
    /// It refused, or the connection was lost meanwhile.
    #[error("Redis at {address}: {problem}")]
    Refused { address: String, problem: String },
}

/// What happened on the connections to one Redis.
#[derive(Debug, Default)]
pub(crate) struct LinkMetrics {
    /// Messages with one or more commands that callers sent; those of the link itself are not among them.
    pub(crate) round_trips: Counter,
    /// Commands that failed, those that were late among them.
    pub(crate) errors: Counter,
    /// Commands without an answer in time.
    pub(crate) late: Counter,
    /// Connections that were lost and restored.
    pub(crate) reconnects: Counter,
}

impl LinkMetrics {
    /// Adds the figures to a metrics page; their names begin with `what`.
    pub(crate) fn write(&self, page: &mut Page, what: &str) {
        let figures = [
            (
                "round_trips",
                "Commands sent to Redis together",
                &self.round_trips,
            ),
            ("failures", "Commands that Redis failed", &self.errors),
            ("late", "Commands not answered in time", &self.late),
            ("reconnects", "Connections restored", &self.reconnects),
        ];
        for (name, help, counter) in figures {
            page.counter(&format!("{what}_{name}_total"), help, counter.get());
        }
    }
}

/// The connection, for whoever sends commands.
#[derive(Debug)]
pub(crate) struct Link {
    dialer: Dialer,
    live: Mutex<Option<Live>>,
    /// The connection was given up.
    lost: Notify,
}

/// A connection that works as far as is known.
#[derive(Clone)]
struct Live {
    connection: MultiplexedConnection,
    /// Counts the connections of a link.
    number: u64,
}

impl std::fmt::Debug for Live {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "connection {}", self.number)
    }
}

/// Opens connections to one Redis, and bounds what is done on them.
#[derive(Debug, Clone)]
pub(crate) struct Dialer {
    client: Client,
    address: ServerAddress,
    wait: Duration,
    pub(crate) figures: Arc<LinkMetrics>,
    /// Why the last attempt that was repeated failed.
    problem: Arc<Mutex<Option<LinkError>>>,
}

impl Dialer {
    /// Every attempt to connect and every command takes `wait` at most.
    ///
    /// # Errors
    /// When the client cannot read the address.
    pub(crate) fn new(address: ServerAddress, wait: Duration) -> Result<Self, LinkError> {
        let client = address.redis_client().map_err(|error| LinkError::Refused {
            address: address.to_string(),
            problem: error.to_string(),
        })?;
        let client = || {
            let info = client.get_connection_info().clone();
            // Redis 6 and later: messages of channels and answers share a connection.
            let settings = info.redis_settings().clone();
            let settings = settings.set_protocol(ProtocolVersion::RESP3);
            Client::open(info.set_redis_settings(settings))
        };
        Ok(Self {
            client: client().map_err(|error| refused(&address, &error))?,
            figures: Arc::default(),
            problem: Arc::default(),
            address,
            wait,
        })
    }

    /// Opens a connection, on the runtime of its thread. What is pushed on it goes to `pushes`.
    pub(crate) async fn connect(
        &self,
        pushes: Option<impl AsyncPushSender>,
    ) -> Result<MultiplexedConnection, LinkError> {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(self.wait))
            .set_response_timeout(None);
        let config = match pushes {
            Some(pushes) => config.set_push_sender(pushes),
            None => config,
        };
        let connecting = self
            .client
            .get_multiplexed_async_connection_with_config(&config);
        self.bounded(connecting).await
    }

    /// Whether a connection can be opened now.
    pub(crate) async fn try_once(&self) -> Result<(), LinkError> {
        let connection = self.connect(None::<NoPushes>).await?;
        self.ping(&connection).await
    }

    /// Awaits an answer as long as is allowed.
    pub(crate) async fn bounded<T>(
        &self,
        call: impl Future<Output = RedisResult<T>>,
    ) -> Result<T, LinkError> {
        let error = match timeout(self.wait, call).await {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(error)) if is_lost(&error) => self.unreachable(),
            Ok(Err(error)) => refused(&self.address, &error),
            Err(_) => {
                self.figures.late.add(1);
                LinkError::Late(self.address.to_string())
            }
        };
        self.figures.errors.add(1);
        Err(error)
    }

    /// Whether the connection still answers. A refusal is an answer: a Redis that cannot save refuses even this.
    pub(crate) async fn ping(&self, connection: &MultiplexedConnection) -> Result<(), LinkError> {
        let mut connection = connection.clone();
        let answer = self.bounded(cmd("PING").exec_async(&mut connection)).await;
        match answer {
            Err(LinkError::Refused { .. }) => Ok(()),
            answer => answer,
        }
    }

    fn unreachable(&self) -> LinkError {
        LinkError::Away(self.address.to_string())
    }

    /// Why Redis cannot be used, as far as is known.
    pub(crate) fn last_problem(&self) -> LinkError {
        let problem = self.problem().clone();
        problem.unwrap_or_else(|| self.unreachable())
    }

    fn problem(&self) -> MutexGuard<'_, Option<LinkError>> {
        self.problem.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Repeats `attempt` until it succeeds, with growing pauses.
    pub(crate) async fn until<T>(
        &self,
        mut attempt: impl AsyncFnMut() -> Result<T, LinkError>,
    ) -> T {
        let mut pause = PAUSES.0;
        loop {
            match attempt().await {
                Ok(done) => return done,
                Err(error) => *self.problem() = Some(error),
            }
            sleep(pause).await;
            pause = (pause * 2).min(PAUSES.1);
        }
    }

    /// Tries the connection now and then, and returns when it no longer answers.
    pub(crate) async fn until_silent(&self, connection: &MultiplexedConnection) {
        while self.ping(connection).await.is_ok() {
            sleep(LOOK).await;
        }
    }
}

impl Link {
    /// A link without a connection; [`maintain`](Self::maintain) makes it.
    pub(crate) fn new(dialer: Dialer) -> Self {
        Self {
            dialer,
            live: Mutex::default(),
            lost: Notify::new(),
        }
    }

    /// What happened on it.
    pub(crate) fn figures(&self) -> &Arc<LinkMetrics> {
        &self.dialer.figures
    }

    /// Keeps the link connected, for ever. `prepare` is the first to use each connection, and must succeed;
    /// `ready` is called with the connection's number, from 1, when all can use it.
    pub(crate) async fn maintain(
        &self,
        prepare: impl AsyncFn(&mut MultiplexedConnection) -> Result<(), LinkError>,
        mut ready: impl FnMut(u64),
    ) {
        for number in 1.. {
            let connect = async || {
                let (sender, pushes) = unbounded_channel();
                let mut connection = self.dialer.connect(Some(sender)).await?;
                prepare(&mut connection).await?;
                Ok((connection, pushes))
            };
            let (connection, mut pushes) = self.dialer.until(connect).await;
            if number > 1 {
                self.figures().reconnects.add(1);
            }
            *self.slot() = Some(Live {
                connection: connection.clone(),
                number,
            });
            ready(number);
            let silent = self.dialer.until_silent(&connection);
            tokio::select! {
                () = silent => {}
                () = self.given_up(number) => {}
                // Nothing else is pushed than the end of the connection.
                _ = pushes.recv() => {}
            }
            *self.slot() = None;
        }
    }

    /// Whether there is a connection.
    pub(crate) fn is_up(&self) -> bool {
        self.slot().is_some()
    }

    /// The connection, if there is one, for what is bounded by the caller.
    pub(crate) fn connection(&self) -> Result<MultiplexedConnection, LinkError> {
        Ok(self.live()?.connection)
    }

    /// Sends a command.
    pub(crate) async fn command<T: FromRedisValue>(&self, command: &Cmd) -> Result<T, LinkError> {
        let mut live = self.live()?;
        self.figures().round_trips.add(1);
        let call = command.query_async(&mut live.connection);
        self.kept(live.number, self.dialer.bounded(call).await)
    }

    /// Sends several commands as one message.
    pub(crate) async fn commands<T: FromRedisValue>(
        &self,
        commands: &Pipeline,
    ) -> Result<T, LinkError> {
        let mut live = self.live()?;
        self.figures().round_trips.add(1);
        let call = commands.query_async(&mut live.connection);
        self.kept(live.number, self.dialer.bounded(call).await)
    }

    fn live(&self) -> Result<Live, LinkError> {
        let live = self.slot().clone();
        if live.is_none() {
            self.figures().errors.add(1);
        }
        live.ok_or_else(|| self.dialer.unreachable())
    }

    /// The answer. A connection that does not answer is given up: whoever comes next must not wait for it.
    fn kept<T>(&self, number: u64, answer: Result<T, LinkError>) -> Result<T, LinkError> {
        if let Err(LinkError::Away(_) | LinkError::Late(_)) = answer {
            self.slot().take_if(|live| live.number == number);
            self.lost.notify_one();
        }
        answer
    }

    /// Resolves when the connection of this number is given up.
    async fn given_up(&self, number: u64) {
        while self
            .slot()
            .as_ref()
            .is_some_and(|live| live.number == number)
        {
            self.lost.notified().await;
        }
    }

    fn slot(&self) -> MutexGuard<'_, Option<Live>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Stands for no receiver of pushed messages.
type NoPushes = UnboundedSender<redis::PushInfo>;

/// Whether the connection is of no use after this error.
fn is_lost(error: &RedisError) -> bool {
    error.is_io_error() || error.is_unrecoverable_error()
}

fn refused(address: &ServerAddress, error: &RedisError) -> LinkError {
    LinkError::Refused {
        address: address.to_string(),
        problem: address.redact(&error.to_string()),
    }
}

/// A thread with a runtime of its own. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Thread {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Thread {
    /// Runs what `work` makes, until it is done or the thread is dropped.
    ///
    /// # Errors
    /// When the thread or its runtime cannot be made.
    pub(crate) fn spawn<F: Future<Output = ()>>(
        name: &str,
        work: impl FnOnce() -> F + Send + 'static,
    ) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::Builder::new().name(name.to_owned());
        let thread = thread.spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    () = work() => {}
                    _ = stopped => {}
                }
            });
            // A name that is being resolved is not waited for.
            runtime.shutdown_background();
        })?;
        Ok(Self {
            stop: Some(stop),
            thread: Some(thread),
        })
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            // A panic there was reported when it happened.
            let _ = thread.join();
        }
    }
}
