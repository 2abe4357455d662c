//! The connection to NATS. It is opened again for ever; what is sent meanwhile waits.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::{self, Context, kv, stream};
use async_nats::{Client, ConnectOptions, Event};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;

use crate::access::Access;
use crate::cards::LAST;
use crate::names;

/// How long the first connection may take.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(5);
/// How long an answer of NATS is waited for.
pub(crate) const ANSWER_TIME_MAX: Duration = Duration::from_secs(5);
/// A server that does not answer two of these is given up, and connected to again.
const PING_INTERVAL: Duration = Duration::from_secs(1);
/// Longest pause between two attempts to connect again.
const PAUSE_MAX: Duration = Duration::from_millis(500);

/// Runs that are over are listed for this time.
const ENDED_AGE_MAX: Duration = Duration::from_secs(7 * 24 * 3_600);

/// Why NATS cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum NatsError {
    #[error(
        "{url} is not the URL of a NATS server: {problem}; write nats://HOST:PORT or tls://HOST:PORT"
    )]
    Url { url: String, problem: String },
    #[error("cannot connect to NATS at {server}: {problem}")]
    Connect { server: String, problem: String },
    #[error(
        "NATS at {server} cannot {what}: {problem}; a fleet requires JetStream (`nats-server -js`)"
    )]
    JetStream { server: String, what: String, problem: String },
    #[error("cannot use {}: {problem}", path.display())]
    File { path: PathBuf, problem: String },
    #[error("the certificates for NATS cannot be used: {0}")]
    Tls(String),
    #[error("cannot start a thread for NATS")]
    Thread(#[source] std::io::Error),
}

/// A connection with its runtime.
pub(crate) struct Nats {
    pub(crate) client: Client,
    pub(crate) jet: Context,
    /// Without what may be secret.
    pub(crate) server: String,
    /// Whether it is connected.
    connected: watch::Receiver<bool>,
    runtime: Runtime,
}

impl std::fmt::Debug for Nats {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Nats({})", self.server)
    }
}

impl Nats {
    /// Connects to the server of a fleet as `name`.
    pub(crate) fn connect(access: &Access, name: &str) -> Result<Arc<Nats>, NatsError> {
        let address = access.address()?;
        let server = format!("{}:{}", address.host(), address.port());
        let threads = Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = threads.map_err(NatsError::Thread)?;
        let (state, connected) = watch::channel(true);
        let mut options = ConnectOptions::new()
            .name(name)
            .connection_timeout(CONNECT_TIME_MAX)
            .request_timeout(Some(ANSWER_TIME_MAX))
            .ping_interval(PING_INTERVAL)
            .reconnect_delay_callback(|attempts| {
                PAUSE_MAX.min(Duration::from_millis(50 * attempts.min(100) as u64))
            })
            .event_callback(move |event| {
                match event {
                    Event::Connected => drop(state.send_replace(true)),
                    Event::Disconnected | Event::Closed => drop(state.send_replace(false)),
                    _ => {}
                }
                async {}
            });
        options = access.apply(options, &address)?;
        let connecting =
            async { tokio::time::timeout(CONNECT_TIME_MAX, options.connect(address)).await };
        let problem = |problem: String| NatsError::Connect { server: server.clone(), problem };
        let client = match runtime.block_on(connecting) {
            Ok(Ok(client)) => client,
            Ok(Err(error)) => return Err(problem(error.to_string())),
            Err(_) => return Err(problem("it does not answer".to_owned())),
        };
        // It starts a task.
        let entered = runtime.enter();
        let mut jet = jetstream::new(client.clone());
        drop(entered);
        jet.set_timeout(ANSWER_TIME_MAX);
        Ok(Arc::new(Nats { client, jet, server, connected, runtime }))
    }

    /// Runs something to its end on this thread.
    pub(crate) fn block<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }

    /// Runs something aside. It ends with the connection at the latest.
    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.runtime.spawn(work);
    }

    pub(crate) fn is_cut_off(&self) -> bool {
        !*self.connected.borrow()
    }

    /// Changes with each loss of the connection and each return.
    pub(crate) fn connected(&self) -> watch::Receiver<bool> {
        self.connected.clone()
    }

    /// The error of a request that JetStream refused.
    pub(crate) fn refused(&self, what: &str, problem: &dyn std::fmt::Display) -> NatsError {
        NatsError::JetStream {
            server: self.server.clone(),
            what: what.to_owned(),
            problem: problem.to_string(),
        }
    }

    /// This bucket; it is made if there is none.
    pub(crate) async fn bucket(&self, name: &str) -> Result<kv::Store, NatsError> {
        let made = bucket(&self.jet, name).await;
        made.map_err(|error| self.refused(&format!("keep the bucket {name}"), &error))
    }
}

/// This bucket; it is made if there is none. The client's own way to make one requires a newer server than 2.9.
pub(crate) async fn bucket(jet: &Context, name: &str) -> Result<kv::Store, async_nats::Error> {
    let (storage, age) = match name {
        names::ENDED => (stream::StorageType::File, ENDED_AGE_MAX),
        _ => (stream::StorageType::Memory, LAST),
    };
    let config = stream::Config {
        name: format!("KV_{name}"),
        subjects: vec![format!("$KV.{name}.>")],
        max_messages_per_subject: 1,
        max_age: age,
        storage,
        discard: stream::DiscardPolicy::New,
        allow_rollup: true,
        deny_delete: true,
        allow_direct: true,
        num_replicas: 1,
        ..stream::Config::default()
    };
    jet.create_stream(config).await?;
    Ok(jet.get_key_value(name).await?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_urls_are_refused_without_their_passwords() {
        for url in ["ftp://me:secret@h:1", "nats://", "nats://me:secret@h:x"] {
            let error = Nats::connect(&Access::from_url(url), "test").unwrap_err().to_string();
            assert!(error.contains("is not the URL of a NATS server"), "{error}");
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
