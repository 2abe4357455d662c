//! How a queue is run.

use std::net::SocketAddr;
use std::time::Duration;

use server::database::ServerAddress;
use server::{ServerError, ServerOptions, check_rules};

/// Longest payload that can be allowed.
const PAYLOAD_MAX: usize = 16 << 20;
/// Longest payload must be at least that of the longest request without a text, and of an error.
const PAYLOAD_MIN: usize = 256;
/// Most workers, each with a database connection.
const WORKERS_MAX: usize = 1_000;
/// Most serving threads.
const FRONTENDS_MAX: usize = 256;
/// Most requests that can wait for a worker.
const QUEUE_MAX: usize = 1_000_000;
/// Most connections of clients.
const CONNECTIONS_MAX: usize = 1_000_000;
/// Most messages of a fill, and most queues.
const FILL_MAX: u64 = 100_000_000;
const FILL_QUEUES_MAX: u32 = 1_000_000;
/// Times can be set within this range.
const TIMES: std::ops::RangeInclusive<Duration> =
    Duration::from_millis(1)..=Duration::from_secs(3600);

/// How a queue is run. By default it is in memory and listens on a free port of 127.0.0.1.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct QueueOptions {
    /// The address to listen on, and the threads that read requests and write answers: the frontends.
    pub server: ServerOptions,
    /// Address of `/metrics` and `/healthz`. `None`, the default: they are not served.
    pub metrics: Option<SocketAddr>,
    /// The PostgreSQL server. `None`, the default: in memory.
    pub store: Option<ServerAddress>,
    /// Workers, each with a connection of its own to the store: 1 to 1,000.
    pub connections: usize,
    /// Requests that may wait for a worker, 1 to 1,000,000. While they are this many, no more are read.
    pub queue_max: usize,
    /// Longest payload in bytes, 256 to 16 MiB.
    pub payload_max: usize,
    /// Most connections of clients, 1 to 1,000,000.
    pub connections_max: usize,
    /// How long a frame may take from its first byte to its last.
    pub frame_timeout: Duration,
    /// How long a client may read nothing of an answer.
    pub write_timeout: Duration,
    /// How long a request waits for a worker, and a worker for the store.
    pub store_wait: Duration,
    /// How a pop locks its row.
    pub pop: PopLocking,
    /// Whether an answer waits until the database's log is on disk (`synchronous_commit`).
    pub durable: bool,
    /// How waiting pops learn of messages.
    pub wait: Wait,
    /// How often waiting pops look for messages when they poll.
    pub poll_every: Duration,
    /// Whether each answer ends with the times of its request.
    pub timing: bool,
    /// Messages and queues to begin with, instead of what there is.
    pub fill: Option<Fill>,
}

/// Queues and messages that a store is filled with before it is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fill {
    /// Messages, in turn in each queue; at most 100,000,000.
    pub messages: u64,
    /// Queues, numbered from 1; 1 to 1,000,000.
    pub queues: u32,
    /// Bytes of each text.
    pub length: usize,
    /// Messages are addressed to the clients 1 to this number in turn, or to anybody if it is 0.
    pub receivers: u32,
    /// An index that the table of messages shall not have.
    pub without: Option<Index>,
}

impl Default for Fill {
    fn default() -> Self {
        Self { messages: 0, queues: 20, length: 200, receivers: 0, without: None }
    }
}

/// How a pop locks the row of its message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PopLocking {
    /// `FOR UPDATE`: pops of a queue wait for one another.
    Lock,
    /// `FOR UPDATE SKIP LOCKED`: each takes the next row that nobody holds.
    Skip,
}

/// How waiting pops learn of messages in the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// The database says so (`LISTEN`, `NOTIFY`), which each send pays for.
    Notify,
    /// Pops look again and again.
    Poll,
}

/// An index of the table of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Index {
    /// Queue and arrival.
    Queue,
    /// Receiver and queue.
    Receiver,
    /// Sender and arrival.
    Sender,
}

impl Default for QueueOptions {
    fn default() -> Self {
        let mut server = ServerOptions::default();
        // Clients are few, and connections to the database are shared among the threads' requests.
        server.own_files = false;
        Self {
            server,
            metrics: None,
            store: None,
            connections: 16,
            queue_max: 1_024,
            payload_max: 64 << 10,
            connections_max: 10_000,
            frame_timeout: Duration::from_secs(10),
            write_timeout: Duration::from_secs(30),
            store_wait: Duration::from_secs(5),
            pop: PopLocking::Skip,
            durable: true,
            wait: Wait::Poll,
            poll_every: Duration::from_millis(100),
            timing: false,
            fill: None,
        }
    }
}

impl QueueOptions {
    /// As long as its times are on the machine's clock; see [`server::stretch`].
    #[must_use]
    pub(crate) fn stretched(mut self) -> Self {
        let times = [
            &mut self.frame_timeout,
            &mut self.write_timeout,
            &mut self.store_wait,
            &mut self.poll_every,
        ];
        times.into_iter().for_each(|time| *time = server::stretch(*time));
        self
    }

    /// Checks what the types do not.
    ///
    /// # Errors
    /// On the first rule that does not hold.
    pub fn check(&self) -> Result<(), ServerError> {
        self.server.check()?;
        check_rules([
            (self.server.threads <= FRONTENDS_MAX, "frontends must be 1 to 256"),
            ((1..=WORKERS_MAX).contains(&self.connections), "connections must be 1 to 1,000"),
            ((1..=QUEUE_MAX).contains(&self.queue_max), "queue-max must be 1 to 1,000,000"),
            (
                (PAYLOAD_MIN..=PAYLOAD_MAX).contains(&self.payload_max),
                "payload-max must be 256B to 16MiB",
            ),
            (
                (1..=CONNECTIONS_MAX).contains(&self.connections_max),
                "connections-max must be 1 to 1,000,000",
            ),
            (TIMES.contains(&self.frame_timeout), "frame-timeout must be 1 ms to 1 h"),
            (TIMES.contains(&self.write_timeout), "write-timeout must be 1 ms to 1 h"),
            (TIMES.contains(&self.store_wait), "store-wait must be 1 ms to 1 h"),
            (TIMES.contains(&self.poll_every), "poll-every must be 1 ms to 1 h"),
        ])?;
        self.fill.map_or(Ok(()), |fill| fill.check(self))
    }

    /// Whether the store is to be set up before it serves. Processes that share an address find it as the one that
    /// started them has left it: an index that it left out would be back otherwise.
    pub(crate) fn sets_up(&self) -> bool {
        !self.server.shared_port
    }

    /// Whether the database says when there are messages.
    pub(crate) fn listens(&self) -> bool {
        self.store.is_some() && self.wait == Wait::Notify
    }
}

impl Fill {
    fn check(self, options: &QueueOptions) -> Result<(), ServerError> {
        check_rules([
            (self.messages <= FILL_MAX, "fill must be at most 100,000,000"),
            ((1..=FILL_QUEUES_MAX).contains(&self.queues), "queues must be 1 to 1,000,000"),
            (self.length <= options.payload_max, "length must be at most payload-max"),
            (i32::try_from(self.receivers).is_ok(), "receivers must be at most 2,147,483,647"),
            (
                self.without.is_none() || options.store.is_some(),
                "without-index needs a store: memory has no indexes to leave out",
            ),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_out_of_range_are_refused() {
        assert!(QueueOptions::default().check().is_ok());
        let changes: [fn(&mut QueueOptions); 8] = [
            |options| options.server.threads = FRONTENDS_MAX + 1,
            |options| options.connections = 0,
            |options| options.queue_max = 0,
            |options| options.payload_max = PAYLOAD_MAX + 1,
            |options| options.connections_max = 0,
            |options| options.frame_timeout = Duration::ZERO,
            |options| options.poll_every = Duration::from_secs(3601),
            |options| {
                options.fill = Some(Fill { length: options.payload_max + 1, ..Fill::default() });
            },
        ];
        for change in changes {
            let mut options = QueueOptions::default();
            change(&mut options);
            let refused = options.check();
            assert!(matches!(refused, Err(ServerError::Options(_))), "{options:?}");
        }
    }
}
