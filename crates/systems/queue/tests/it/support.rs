//! A queue for one test.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::channel;
use std::thread::JoinHandle;
use std::time::Duration;

use queue::{QueueError, QueueOptions, Report};
use server::database::{ServerAddress, StoreAddress};
use testkit::queue_client::Client;
use testkit::services::Services;
use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tokio_postgres::{Client as Sql, NoTls};

/// One PostgreSQL server for all tests, which have a database each.
static SERVICES: LazyLock<Option<Services>> = LazyLock::new(|| Services::shared(&["postgres"]));

/// A running queue, on a thread of its own. It stops when this is dropped.
pub(crate) struct Queue {
    pub(crate) address: SocketAddr,
    shutdown: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<Result<Report, QueueError>>>,
}

/// Options on one thread, with four workers.
pub(crate) fn small() -> QueueOptions {
    let mut options = QueueOptions::default();
    options.server.threads = 1;
    options.server.stop_within = Duration::from_secs(5);
    options.connections = 4;
    // A busy machine is no fault of the database.
    options.store_wait = Duration::from_secs(60);
    options
}

impl Queue {
    #[track_caller]
    pub(crate) fn start(options: QueueOptions) -> Queue {
        let started = Queue::try_start(options);
        started.unwrap_or_else(|error| panic!("{error}"))
    }

    pub(crate) fn try_start(options: QueueOptions) -> Result<Queue, QueueError> {
        let (shutdown, stop) = oneshot::channel::<()>();
        let (ready, is_ready) = channel();
        let thread = std::thread::spawn(move || {
            let runtime = Builder::new_current_thread().enable_all().build().unwrap();
            let ready = Box::new(move |address| ready.send(address).unwrap());
            runtime.block_on(queue::serve(options, ready, Box::pin(async { drop(stop.await) })))
        });
        match is_ready.recv() {
            Ok(address) => Ok(Queue { address, shutdown: Some(shutdown), thread: Some(thread) }),
            Err(_) => Err(thread.join().unwrap().expect_err("it did not start")),
        }
    }

    pub(crate) fn client(&self) -> Client {
        Client::connect(self.address).unwrap()
    }

    /// Makes it stop.
    pub(crate) fn begin_stop(&mut self) {
        drop(self.shutdown.take());
    }

    /// Stops it and waits for its end.
    pub(crate) fn stop(mut self) -> Report {
        self.begin_stop();
        let thread = self.thread.take().unwrap();
        thread.join().unwrap().unwrap()
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        self.begin_stop();
        if let Some(thread) = self.thread.take()
            && !std::thread::panicking()
        {
            thread.join().unwrap().unwrap();
        }
    }
}

/// The URL of a database of a test's own; `None`, reported as skipped, without PostgreSQL.
pub(crate) fn database() -> Option<String> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let url = SERVICES.as_ref()?.url("postgres")?;
    // Other processes have theirs on the same server.
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = format!("queue_{}_{number}", std::process::id());
    // A process that is over may have had the same number.
    sql(url, &format!("DROP DATABASE IF EXISTS {name}"));
    sql(url, &format!("CREATE DATABASE {name}"));
    let (server, _) = url.rsplit_once('/').unwrap();
    Some(format!("{server}/{name}"))
}

pub(crate) fn address(url: &str) -> ServerAddress {
    match StoreAddress::parse(url).unwrap() {
        StoreAddress::Server(address) => address,
        StoreAddress::File(_) => panic!("not a server: {url}"),
    }
}

/// The options on each store that there is: memory, and PostgreSQL.
pub(crate) fn on_each_store(options: &QueueOptions) -> Vec<QueueOptions> {
    let mut each = vec![options.clone()];
    if let Some(url) = database() {
        let mut options = options.clone();
        options.store = Some(address(&url));
        each.push(options);
    }
    each
}

/// Does something with a connection to a database.
pub(crate) fn with_sql<T>(url: &str, work: impl AsyncFnOnce(Sql) -> T) -> T {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
        tokio::spawn(async { drop(connection.await) });
        work(client).await
    })
}

pub(crate) fn sql(url: &str, statements: &str) {
    with_sql(url, async |client: Sql| {
        client.batch_execute(statements).await.unwrap();
    });
}

pub(crate) fn number(url: &str, query: &str) -> i64 {
    with_sql(url, async |client: Sql| client.query_one(query, &[]).await.unwrap().get(0))
}

/// An address that nobody listens on.
pub(crate) fn free_address() -> SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap()
}

/// The body of an answer over HTTP.
pub(crate) fn page(address: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: queue\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.split_once("\r\n\r\n").unwrap().1.to_owned()
}

/// Waits until the metrics have this line.
pub(crate) fn until_metric(metrics: SocketAddr, line: &str) {
    let line = format!("\nqueue_{line}\n");
    let shown = (0..1_000).any(|_| {
        let is_shown = page(metrics, "/metrics").contains(&line);
        if !is_shown {
            pause(20);
        }
        is_shown
    });
    assert!(shown, "never{line}");
}

/// Waits for a server to notice something.
pub(crate) fn pause(ms: u64) {
    // Nobody sends.
    let (_sender, receiver) = channel::<()>();
    let _ = receiver.recv_timeout(Duration::from_millis(ms));
}
