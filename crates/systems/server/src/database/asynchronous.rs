//! Connections to PostgreSQL for systems that drive them in tasks of their own.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio_postgres::{AsyncMessage, Client, Connection, Error};

use super::address::ServerAddress;
use super::sql::SqlError;
use super::{postgres, tls};

/// The socket of a client. The client's requests go forth and back only while this is polled: as a future, until
/// the connection ends. From then on it is `None`: requests without an answer wait for as long as their connection is there.
pub struct PostgresConnection(Option<Box<dyn Messages + Send>>);

/// A connection, with TLS or without.
trait Messages {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<AsyncMessage, Error>>>;
}

impl<S, T> Messages for Connection<S, T>
where
    S: AsyncRead + AsyncWrite + Unpin,
    T: AsyncRead + AsyncWrite + Unpin,
{
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<AsyncMessage, Error>>> {
        self.poll_message(cx)
    }
}

impl PostgresConnection {
    pub(super) fn new<S, T>(connection: Connection<S, T>) -> Self
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
        T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        Self(Some(Box::new(connection)))
    }

    /// The payload of the next notification; `None` when the connection has ended.
    pub fn poll_notification(&mut self, cx: &mut Context<'_>) -> Poll<Option<String>> {
        while let Some(connection) = &mut self.0 {
            match ready!(connection.poll(cx)) {
                Some(Ok(AsyncMessage::Notification(notification))) => {
                    return Poll::Ready(Some(notification.payload().to_owned()));
                }
                // What else comes by itself are warnings.
                Some(Ok(_)) => {}
                // The client's next request reports why.
                Some(Err(_)) | None => self.0 = None,
            }
        }
        Poll::Ready(None)
    }
}

impl Future for PostgresConnection {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        while ready!(self.poll_notification(cx)).is_some() {}
        Poll::Ready(())
    }
}

/// Opens a connection under the name of an application, which may take as long as `limit`.
///
/// # Errors
/// When the server cannot be reached or refuses, without the password.
pub async fn connect_postgres(
    address: &ServerAddress,
    application: &str,
    limit: Duration,
) -> Result<(Client, PostgresConnection), SqlError> {
    let mut config =
        postgres::config(address).map_err(|error| SqlError::Refused(error.to_string()))?;
    config.application_name(application).connect_timeout(limit);
    let connecting = tls::connect_postgres(&config, address.tls());
    let connected = tokio::time::timeout(limit, connecting).await;
    let connected = connected.map_err(|_| postgres::timed_out())?;
    connected.map_err(|error| postgres_error(address, &error))
}

/// Meaning of an error of that client, without the password.
#[must_use]
pub fn postgres_error(address: &ServerAddress, error: &Error) -> SqlError {
    match postgres::sql_error(error) {
        SqlError::Lost(what) => SqlError::Lost(address.redact(&what)),
        SqlError::Refused(what) => SqlError::Refused(address.redact(&what)),
        other => other,
    }
}
