//! A connection to NATS that many requests share, is bounded in time and restores itself.
//!
//! The client restores connections by itself, but silently: requests of before are then sent late, and messages
//! are missing. So each connection is a client of its own, which is dropped when the connection is lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_nats::{Client, ConnectOptions, Event, HeaderMap, Message, RequestErrorKind};
use bytes::Bytes;
use tokio::sync::watch;
use tokio::time::timeout;

use super::address::{Login, NatsAddress};
use crate::bus::BusError;
use crate::outside::bus::link::{Attempts, LOOK, LinkMetrics, Slot};

/// How long a client waits before it connects again by itself, once. It is dropped by then.
const OWN_PAUSE: Duration = Duration::from_secs(1);

/// Why NATS did not do something.
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
pub(super) enum NatsError {
    /// There is no connection now.
    #[error("NATS at {0} cannot be reached")]
    Away(String),
    /// It did not answer in time. What was requested may have been done, or may still be.
    #[error("NATS at {0} did not answer in time")]
    Late(String),
    /// The stream is not there any more, or another one is.
    #[error("NATS at {0} has lost its data")]
    Lost(String),
    /// The server refused.
    #[error("NATS at {address}: {problem}")]
    Refused { address: String, problem: String },
}

impl From<NatsError> for BusError {
    fn from(error: NatsError) -> Self {
        Self::Unavailable(error.to_string())
    }
}

/// Opens connections to one server, and bounds what is done on them.
pub(super) struct Dialer {
    address: NatsAddress,
    wait: Duration,
    pub(super) figures: Arc<LinkMetrics>,
    pub(super) attempts: Attempts<NatsError>,
}

/// A connection.
#[derive(Clone)]
pub(super) struct Session {
    pub(super) client: Client,
    /// Why it ended, if it did.
    ended: watch::Receiver<Option<String>>,
    address: NatsAddress,
}

impl Dialer {
    /// Every attempt to connect and every call takes `wait` at most.
    pub(super) fn new(address: NatsAddress, wait: Duration) -> Self {
        Self { address, wait, figures: Arc::default(), attempts: Attempts::default() }
    }

    /// Opens a connection, on the runtime of its thread.
    pub(super) async fn connect(&self) -> Result<Session, NatsError> {
        let (end, ended) = watch::channel(None);
        let was_connected = AtomicBool::new(false);
        let mut options = ConnectOptions::new()
            .name("throng market")
            .connection_timeout(self.wait)
            .request_timeout(None)
            .ping_interval(LOOK)
            .ignore_discovered_servers()
            .max_reconnects(1)
            .reconnect_delay_callback(move |_| match was_connected.swap(true, Ordering::Relaxed) {
                true => OWN_PAUSE,
                false => Duration::ZERO,
            })
            .event_callback(move |event| {
                // A subscription that is refused or too slow lacks messages, too.
                if !matches!(event, Event::Connected | Event::LameDuckMode) {
                    end.send_replace(Some(event.to_string()));
                }
                async {}
            });
        options = match self.address.login.clone() {
            Login::Nobody => options,
            Login::Token(token) => options.token(token),
            Login::User { name, password } => options.user_and_password(name, password),
        };
        if let Some(tls) = &self.address.tls {
            options = options.tls_client_config(trust::ClientConfig::clone(tls));
        }
        let server = self.address.server.clone();
        let connecting = async {
            options.connect(server).await.map_err(|error| {
                use std::error::Error;
                let tls = error.source().and_then(|it| trust::describe_cause(it, "ssl_ca_certs"));
                self.address.refused(&tls.unwrap_or_else(|| error.to_string()))
            })
        };
        let client = self.bounded(connecting).await?;
        Ok(Session { client, ended, address: self.address.clone() })
    }

    /// Awaits something as long as is allowed.
    pub(super) async fn bounded<T>(
        &self,
        call: impl Future<Output = Result<T, NatsError>>,
    ) -> Result<T, NatsError> {
        let answer = timeout(self.wait, call).await.unwrap_or_else(|_| {
            self.figures.late.add(1);
            Err(NatsError::Late(self.address.to_string()))
        });
        if answer.is_err() {
            self.figures.errors.add(1);
        }
        answer
    }

    /// Why NATS cannot be used, as far as is known.
    pub(super) fn last_problem(&self) -> NatsError {
        let problem = self.attempts.last_problem();
        problem.unwrap_or_else(|| NatsError::Away(self.address.to_string()))
    }
}

impl Session {
    /// Sends a request and awaits its answer.
    pub(super) async fn request(
        &self,
        subject: String,
        headers: HeaderMap,
        payload: Bytes,
    ) -> Result<Message, NatsError> {
        let request = async_nats::Request::new().headers(headers).payload(payload);
        let answer = tokio::select! {
            biased;
            answer = self.client.send_request(subject, request) => answer,
            end = self.end() => return Err(self.refused(&end)),
        };
        answer.map_err(|error| match error.kind() {
            RequestErrorKind::NoResponders => NatsError::Lost(self.address.to_string()),
            _ => self.refused(&error.to_string()),
        })
    }

    /// Resolves when the connection is lost, or its subscription lacks messages; says why.
    pub(super) async fn end(&self) -> String {
        let mut ended = self.ended.clone();
        let end = ended.wait_for(Option::is_some).await;
        // It is gone together with the client.
        end.map_or_else(|_| "closed".to_owned(), |end| end.clone().unwrap_or_default())
    }

    /// Why it ended, if it did.
    pub(super) fn check(&self) -> Result<(), NatsError> {
        match &*self.ended.borrow() {
            None => Ok(()),
            Some(end) => Err(self.refused(end)),
        }
    }

    pub(super) fn refused(&self, problem: &str) -> NatsError {
        self.address.refused(problem)
    }

    pub(super) fn lost(&self) -> NatsError {
        NatsError::Lost(self.address.to_string())
    }
}

impl NatsAddress {
    fn refused(&self, problem: &str) -> NatsError {
        NatsError::Refused { address: self.to_string(), problem: self.redact(problem) }
    }
}

/// The connection for whoever makes calls, with what belongs to it.
pub(super) struct Link<C> {
    pub(super) dialer: Dialer,
    pub(super) slot: Slot<C>,
}

impl<C: Clone> Link<C> {
    /// A link without a connection.
    pub(super) fn new(dialer: Dialer) -> Self {
        Self { dialer, slot: Slot::default() }
    }

    /// The connection and its number, if there is one.
    pub(super) fn get(&self) -> Result<(u64, C), NatsError> {
        self.slot.get().ok_or_else(|| {
            self.dialer.figures.errors.add(1);
            NatsError::Away(self.dialer.address.to_string())
        })
    }

    /// Awaits a call on the connection of this number. A connection that does not answer, or does not hold what it
    /// held, is given up: whoever comes next must not wait for it.
    pub(super) async fn call<T>(
        &self,
        number: u64,
        call: impl Future<Output = Result<T, NatsError>>,
    ) -> Result<T, NatsError> {
        let answer = self.dialer.bounded(call).await;
        if let Err(NatsError::Late(_) | NatsError::Lost(_)) = answer {
            self.slot.give_up(number);
        }
        answer
    }
}
