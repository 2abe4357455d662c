//! Where queues and messages are kept: in PostgreSQL, or in memory by the same rules.

pub(crate) mod memory;
pub(crate) mod postgres;
pub(crate) mod schema;

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;

use server::database::{PostgresConnection, SqlError};

use crate::jobs::Outcome;
use crate::waiters::Waiters;
use crate::wire::{Code, Problem, Request};
use memory::Memory;

/// The name of connections in the database's own tables.
pub(crate) const APPLICATION: &str = "throng-queue";

/// What the workers work on.
#[derive(Clone)]
pub(crate) enum Store {
    Postgres(Arc<postgres::Settings>),
    Memory(Arc<InMemory>),
}

/// A store in memory.
pub(crate) struct InMemory {
    pub(crate) memory: Memory,
    /// Whom sends wake.
    pub(crate) waiters: Arc<Waiters>,
    /// Most bytes of the texts in an answer to `messages`.
    pub(crate) texts_max: usize,
}

/// What a worker has of the store.
pub(crate) enum Link {
    Postgres(Box<postgres::Link>),
    Memory(Arc<InMemory>),
}

/// Why a request failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum StoreError {
    #[error("there is no such queue")]
    NoQueue,
    /// It was not carried out.
    #[error("{0}")]
    Refused(String),
    /// It was not carried out, because of others.
    #[error("other transactions hold the rows that it needs")]
    Contended,
    /// It was not carried out: the connection had ended before.
    #[error("the connection to the database had ended")]
    NotSent,
    /// Nobody knows whether it was carried out.
    #[error("{0}")]
    Lost(String),
}

impl StoreError {
    /// Whether the connection is of no more use.
    pub(crate) fn is_end(&self) -> bool {
        matches!(self, StoreError::Lost(_) | StoreError::NotSent)
    }

    /// What the client gets for this request.
    pub(crate) fn problem(self, request: &Request) -> Problem {
        let code = match &self {
            StoreError::NoQueue => Code::NoQueue,
            StoreError::Refused(_) => Code::Refused,
            StoreError::Contended | StoreError::NotSent => Code::Unavailable,
            // What changes nothing was not done.
            StoreError::Lost(_) if request.only_reads() => Code::Unavailable,
            StoreError::Lost(_) => Code::UnknownOutcome,
        };
        Problem::new(code, self.to_string())
    }
}

impl Store {
    /// A worker's own way to the store.
    ///
    /// # Errors
    /// When the database cannot be reached or refuses.
    pub(crate) async fn open(&self) -> Result<Link, SqlError> {
        match self {
            Store::Postgres(settings) => {
                let link = postgres::Link::open(settings).await?;
                Ok(Link::Postgres(Box::new(link)))
            }
            Store::Memory(memory) => Ok(Link::Memory(Arc::clone(memory))),
        }
    }
}

impl Link {
    /// Resolves when it is of no more use. Nothing is lost if this is dropped.
    pub(crate) async fn ended(&mut self) {
        match self {
            Link::Postgres(link) => link.ended().await,
            Link::Memory(..) => std::future::pending().await,
        }
    }

    /// Carries out a request and writes the answer.
    ///
    /// # Errors
    /// When it was not carried out, or nobody knows.
    pub(crate) async fn carry_out(
        &mut self,
        request: &Request,
        out: &mut Vec<u8>,
    ) -> Result<Outcome, StoreError> {
        match self {
            Link::Postgres(link) => link.carry_out(request, out).await,
            Link::Memory(store) => {
                let outcome = store.memory.carry_out(request, store.texts_max, out)?;
                if let Request::Send {
                    queue, receiver, ..
                } = request
                {
                    store.waiters.wake(*queue, *receiver);
                }
                Ok(outcome)
            }
        }
    }
}

/// Waits for a request of a client, and keeps its connection going meanwhile: one task does both.
pub(crate) async fn drive<T>(
    request: impl Future<Output = T>,
    connection: &mut PostgresConnection,
) -> T {
    let mut request = pin!(request);
    let mut has_ended = false;
    poll_fn(|cx| {
        // The first call hands the request over; the connection then writes it.
        if let Poll::Ready(done) = request.as_mut().poll(cx) {
            return Poll::Ready(done);
        }
        if !has_ended {
            has_ended = Pin::new(&mut *connection).poll(cx).is_ready();
        }
        // What the connection has just received may complete the request, as may its end.
        request.as_mut().poll(cx)
    })
    .await
}
