//! The store of queues and messages: PostgreSQL, or memory with the same rules.

pub(crate) mod memory;
pub(crate) mod postgres;
pub(crate) mod schema;

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use server::database::{PostgresConnection, SqlError};

use crate::jobs::Outcome;
use crate::waiters::Waiters;
use crate::wire::{Code, Problem, Request};
use memory::Memory;

/// The name of connections in the database's own tables.
pub(crate) const APPLICATION: &str = "throng-queue";

/// The store that the workers work on.
#[derive(Clone)]
pub(crate) enum Store {
    Postgres(Arc<postgres::Settings>),
    Memory(Arc<InMemory>),
}

/// A store in memory.
pub(crate) struct InMemory {
    pub(crate) memory: Memory,
    /// The pops that sends wake.
    pub(crate) waiters: Arc<Waiters>,
    /// Most bytes of the texts in an answer to `messages`.
    pub(crate) texts_max: usize,
}

/// A worker's access to the store.
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
    /// Whether the request was carried out is not known.
    #[error("{0}")]
    Lost(String),
}

impl StoreError {
    /// Whether the connection is of no more use.
    pub(crate) fn is_end(&self) -> bool {
        matches!(self, StoreError::Lost(_) | StoreError::NotSent)
    }

    /// The problem that the client is told for this request.
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
                match request {
                    Request::Send { queue, receiver, .. } => {
                        store.waiters.wake(*queue, *receiver);
                    }
                    Request::DeleteQueue { queue } => store.waiters.wake_queue(*queue),
                    _ => {}
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
    drive_receiving(request, connection, |_| {}).await
}

/// The same for a connection that listens: notifications that come meanwhile go to `received`.
pub(crate) async fn drive_receiving<T>(
    request: impl Future<Output = T>,
    connection: &mut PostgresConnection,
    mut received: impl FnMut(&str),
) -> T {
    let mut request = pin!(request);
    poll_fn(|cx| {
        // The first call hands the request over; the connection then writes it.
        if let Poll::Ready(done) = request.as_mut().poll(cx) {
            return Poll::Ready(done);
        }
        while let Poll::Ready(Some(payload)) = connection.poll_notification(cx) {
            received(&payload);
        }
        // What the connection has just received may complete the request, as does its end.
        request.as_mut().poll(cx)
    })
    .await
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use server::database::{SqlError, StoreAddress, connect_postgres, postgres_error};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};
    use tokio::time::timeout;

    use super::*;

    /// Accepts a session (PostgreSQL's protocol 3.0, AuthenticationOk and ReadyForQuery), reads a query and closes.
    async fn close_at_the_first_query(mut stream: TcpStream) {
        let mut buffer = [0; 1024];
        let _ = stream.read(&mut buffer).await.unwrap();
        let accepted = b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I";
        stream.write_all(accepted).await.unwrap();
        let _ = stream.read(&mut buffer).await.unwrap();
    }

    #[tokio::test]
    async fn a_request_ends_with_its_connection() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = async { close_at_the_first_query(listener.accept().await.unwrap().0).await };
        let address = format!("postgres://throng@127.0.0.1:{port}/queue");
        let StoreAddress::Server(address) = StoreAddress::parse(&address).unwrap() else {
            panic!("{address} is no server");
        };
        let limit = Duration::from_secs(20);
        let client = async {
            let connected = connect_postgres(&address, APPLICATION, limit).await;
            let (client, mut connection) = connected.unwrap();
            let request = drive(client.batch_execute("SELECT 1"), &mut connection);
            let ended = timeout(limit, request).await.expect("it waits for ever");
            let error = postgres_error(&address, &ended.unwrap_err());
            assert!(matches!(error, SqlError::Lost(_)), "{error}");
            // And so does each after it.
            assert!(drive(client.batch_execute("SELECT 1"), &mut connection).await.is_err());
        };
        tokio::join!(server, client);
    }
}
