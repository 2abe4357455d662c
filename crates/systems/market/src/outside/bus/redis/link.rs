//! A connection to Redis that many requests share, is bounded in time and restores itself.
//!
//! Requests come from any runtime. The connection belongs to a thread of its own, which outlives them.

use std::sync::Arc;
use std::time::Duration;

use redis::aio::{AsyncPushSender, MultiplexedConnection};
use redis::{
    AsyncConnectionConfig, Client, Cmd, ErrorKind, FromRedisValue, Pipeline, ProtocolVersion,
    RedisError, RedisResult, ServerErrorKind, cmd,
};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::outside::bus::link::{Attempts, LOOK, Slot};
use server::database::ServerAddress;

pub use crate::outside::bus::link::{LinkMetrics, Thread};

/// The least time between two connections of a link.
const RENEWED_AFTER: Duration = Duration::from_millis(250);

/// Why Redis did not do something.
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
pub enum LinkError {
    /// There is no connection now.
    #[error("Redis at {0} cannot be reached")]
    Away(String),
    /// It did not answer in time. What was requested may have been done, or may still be.
    #[error("Redis at {0} did not answer in time")]
    Late(String),
    /// It refused, or the connection was lost meanwhile.
    #[error("Redis at {address}: {problem}")]
    Refused {
        /// The server, without its password.
        address: String,
        /// Why not.
        problem: String,
    },
}

/// The connection, for whoever sends commands.
pub struct Link {
    dialer: Dialer,
    slot: Slot<MultiplexedConnection>,
}

/// Opens connections to one Redis, and bounds what is done on them.
#[derive(Debug, Clone)]
pub struct Dialer {
    client: Client,
    address: ServerAddress,
    wait: Duration,
    /// Figures of its connections.
    pub figures: Arc<LinkMetrics>,
    attempts: Arc<Attempts<LinkError>>,
}

impl Dialer {
    /// Every attempt to connect and every command takes `wait` at most.
    ///
    /// # Errors
    /// When the client cannot read the address.
    pub fn new(address: ServerAddress, wait: Duration) -> Result<Self, LinkError> {
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
            attempts: Arc::default(),
            address,
            wait,
        })
    }

    /// Opens a connection, on the runtime of its thread. What is pushed on it goes to `pushes`.
    pub async fn connect(
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
        let connecting = self.client.get_multiplexed_async_connection_with_config(&config);
        self.bounded(connecting).await
    }

    /// Whether a connection can be opened now.
    pub async fn try_once(&self) -> Result<(), LinkError> {
        let connection = self.connect(None::<NoPushes>).await?;
        self.ping(&connection).await
    }

    /// Awaits an answer as long as is allowed.
    pub async fn bounded<T>(
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
    pub async fn ping(&self, connection: &MultiplexedConnection) -> Result<(), LinkError> {
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
    pub fn last_problem(&self) -> LinkError {
        let problem = self.attempts.last_problem();
        problem.unwrap_or_else(|| self.unreachable())
    }

    /// Repeats `attempt` until it succeeds, with growing pauses.
    pub async fn until<T>(&self, attempt: impl AsyncFnMut() -> Result<T, LinkError>) -> T {
        self.attempts.until(attempt).await
    }

    /// Tries the connection now and then, and returns when it no longer answers.
    pub async fn until_silent(&self, connection: &MultiplexedConnection) {
        while self.ping(connection).await.is_ok() {
            sleep(LOOK).await;
        }
    }
}

impl Link {
    /// A link without a connection; [`maintain`](Self::maintain) makes it.
    pub fn new(dialer: Dialer) -> Self {
        Self { dialer, slot: Slot::default() }
    }

    /// Figures of its connections.
    pub fn figures(&self) -> &Arc<LinkMetrics> {
        &self.dialer.figures
    }

    /// Keeps the link connected, for ever. `prepare` is the first to use each connection, and must succeed;
    /// `ready` is called with the connection's number, from 1, when all can use it.
    pub async fn maintain(
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
            let opened = Instant::now();
            self.slot.fill(number, connection.clone());
            ready(number);
            let silent = self.dialer.until_silent(&connection);
            tokio::select! {
                () = silent => {}
                () = self.slot.given_up(number) => {}
                // Nothing else is pushed than the end of the connection.
                _ = pushes.recv() => {}
            }
            self.slot.clear();
            // The next one may lead to the same server, which is of no more use.
            sleep_until(opened + RENEWED_AFTER).await;
        }
    }

    /// Whether there is a connection.
    pub fn is_up(&self) -> bool {
        !self.slot.is_empty()
    }

    /// The connection, if there is one, for what is bounded by the caller.
    pub fn connection(&self) -> Result<MultiplexedConnection, LinkError> {
        Ok(self.live()?.1)
    }

    /// Sends a command.
    pub async fn command<T: FromRedisValue>(&self, command: &Cmd) -> Result<T, LinkError> {
        let (number, mut connection) = self.live()?;
        self.figures().round_trips.add(1);
        let call = command.query_async(&mut connection);
        self.kept(number, self.dialer.bounded(call).await)
    }

    /// Sends several commands as one message.
    pub async fn commands<T: FromRedisValue>(&self, commands: &Pipeline) -> Result<T, LinkError> {
        let (number, mut connection) = self.live()?;
        self.figures().round_trips.add(1);
        let call = commands.query_async(&mut connection);
        self.kept(number, self.dialer.bounded(call).await)
    }

    fn live(&self) -> Result<(u64, MultiplexedConnection), LinkError> {
        let live = self.slot.get();
        if live.is_none() {
            self.figures().errors.add(1);
        }
        live.ok_or_else(|| self.dialer.unreachable())
    }

    /// The answer. A connection that does not answer is given up: whoever comes next must not wait for it.
    fn kept<T>(&self, number: u64, answer: Result<T, LinkError>) -> Result<T, LinkError> {
        if let Err(LinkError::Away(_) | LinkError::Late(_)) = answer {
            self.slot.give_up(number);
        }
        answer
    }
}

/// Stands for no receiver of pushed messages.
type NoPushes = UnboundedSender<redis::PushInfo>;

/// Whether the connection is of no use after this error.
fn is_lost(error: &RedisError) -> bool {
    error.is_io_error() || error.is_unrecoverable_error() || is_demoted(error)
}

/// Whether the server has become a replica: its name may lead to its successor. Within scripts, Redis 6 reports that
/// as an error of the script.
fn is_demoted(error: &RedisError) -> bool {
    error.kind() == ErrorKind::Server(ServerErrorKind::ReadOnly)
        || error.to_string().contains("READONLY")
}

fn refused(address: &ServerAddress, error: &RedisError) -> LinkError {
    LinkError::Refused { address: address.to_string(), problem: address.redact(&error.to_string()) }
}
