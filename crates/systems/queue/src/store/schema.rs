//! Tables, indexes and functions of the database: made, migrated, dropped and filled.

use std::time::Duration;

use server::database::{
    PostgresConnection, ServerAddress, SqlError, connect_postgres, postgres_error,
};
use tokio::time::timeout;
use tokio_postgres::Client;

use super::APPLICATION;
use crate::options::{Fill, Index};

/// The version of the tables that this program works with.
const VERSION: i32 = 1;
/// Statements that lead from each version to the next; the first ones make the tables.
const MIGRATIONS: [&str; VERSION as usize] = [include_str!("tables.sql")];
/// They are replaced at every start, so that they fit the program.
const FUNCTIONS: &str = include_str!("functions.sql");
const DROP: &str = include_str!("drop.sql");
/// Middlewares that start together make the tables once. The number is arbitrary.
const LOCK: &str = "SELECT pg_advisory_xact_lock(7814618)";
/// How much longer than for a lock the server may take in all.
const LATER_THAN_LOCKS: Duration = Duration::from_secs(1);
/// Texts of a fill are of these bytes, again and again: as long as a checksum in hexadecimal digits.
const PIECE_BYTES: usize = 32;

/// Why the database cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// It cannot be reached, or refused.
    #[error("{0}")]
    Sql(SqlError),
    /// Others hold what is needed for longer than the time to wait for the store.
    #[error(
        "another start or a transaction holds its tables for longer than --store-wait; end it, or wait for longer"
    )]
    Held,
    /// It has tables of these names that are something else.
    #[error(
        "it has a table `queue` or `message` of something else; give a database of its own, such as \
         postgres://…/queue"
    )]
    Occupied,
    /// The tables have a version that this program does not know.
    #[error(
        "its tables have version {found}, this program knows versions up to {VERSION}: use the newer program, or \
         remove them with the newer program's --drop"
    )]
    Newer {
        /// Version of the tables.
        found: i32,
    },
}

impl From<SqlError> for SchemaError {
    fn from(error: SqlError) -> Self {
        match error {
            SqlError::Contended => SchemaError::Held,
            error => SchemaError::Sql(error),
        }
    }
}

/// Something done to the whole schema over a connection of its own.
struct Session<'a> {
    address: &'a ServerAddress,
    /// How long the server may take for what does not grow with the data, and wait for each lock.
    limit: Duration,
    client: Client,
    connection: PostgresConnection,
}

/// Makes the tables if there are none, or migrates older ones; then the indexes and functions.
///
/// # Errors
/// When the database cannot be reached or refuses, or its tables are not ours or newer.
pub(crate) async fn init(address: &ServerAddress, limit: Duration) -> Result<(), SchemaError> {
    let mut session = Session::open(address, limit).await?;
    session.run(&format!("BEGIN; {LOCK}")).await?;
    let found = session.version().await?;
    // Negative versions are nobody's; they would be migrated from the beginning and fail.
    let done = usize::try_from(found).unwrap_or_default();
    for migration in MIGRATIONS.iter().skip(done) {
        session.work(migration).await?;
    }
    if found < VERSION {
        let version = format!("UPDATE queue_schema SET version = {VERSION}");
        session.run(&version).await?;
    }
    // To look for them locks nothing; to make them locks the table, even if they are there.
    let names = Index::ALL.map(Index::name);
    if session.count_of(&names).await? < 3 {
        session.work(&create_indexes(None)).await?;
    }
    session.run(FUNCTIONS).await?;
    session.work("COMMIT").await
}

/// Drops everything; nothing if there is nothing.
///
/// # Errors
/// As [`init`].
pub(crate) async fn drop_all(address: &ServerAddress, limit: Duration) -> Result<(), SchemaError> {
    let mut session = Session::open(address, limit).await?;
    session.run(&format!("BEGIN; {LOCK}")).await?;
    if session.version().await? > 0 {
        session.work(DROP).await?;
    }
    session.work("COMMIT").await
}

/// Replaces all queues and messages.
///
/// # Errors
/// As [`init`].
pub(crate) async fn fill(
    address: &ServerAddress,
    limit: Duration,
    fill: Fill,
) -> Result<(), SchemaError> {
    let Fill { messages, queues, length, receivers, without } = fill;
    let receiver = match receivers {
        0 => "NULL::int".to_owned(),
        count => format!("(1 + n / {queues} % {count})::int"),
    };
    let pieces = length.div_ceil(PIECE_BYTES);
    let drop_indexes: String =
        Index::ALL.iter().map(|index| format!("DROP INDEX IF EXISTS {};", index.name())).collect();
    let create_indexes = create_indexes(without);
    let mut session = Session::open(address, limit).await?;
    // Rows are added faster to a table without indexes.
    let text = format!(
        "BEGIN; {LOCK};
         TRUNCATE message, queue RESTART IDENTITY; {drop_indexes}
         INSERT INTO queue (creator_id) SELECT 1 FROM generate_series(1, {queues});
         INSERT INTO message (sender_id, receiver_id, queue_id, arrival_time, message)
         SELECT 1 + n % 100, {receiver}, 1 + n % {queues},
                now() + (n - {messages}) * interval '1 microsecond',
                left(repeat(md5(n::text), {pieces}), {length})
         FROM generate_series(0::bigint, {messages}::bigint - 1) AS n;
         {create_indexes}; COMMIT"
    );
    session.work(&text).await?;
    // A transaction cannot do this.
    session.work("VACUUM ANALYZE message").await?;
    session.work("VACUUM ANALYZE queue").await
}

impl Index {
    const ALL: [Index; 3] = [Index::Queue, Index::Receiver, Index::Sender];

    fn name(self) -> &'static str {
        match self {
            Index::Queue => "message_queue",
            Index::Receiver => "message_receiver",
            Index::Sender => "message_sender",
        }
    }

    fn columns(self) -> &'static str {
        match self {
            Index::Queue => "queue_id, arrival_time",
            Index::Receiver => "receiver_id, queue_id",
            Index::Sender => "sender_id, arrival_time",
        }
    }
}

fn create_indexes(without: Option<Index>) -> String {
    let wanted = Index::ALL.iter().filter(|&&index| Some(index) != without);
    let wanted = wanted.map(|index| {
        let name = index.name();
        let columns = index.columns();
        format!("CREATE INDEX IF NOT EXISTS {name} ON message ({columns});")
    });
    wanted.collect()
}

impl<'a> Session<'a> {
    async fn open(address: &'a ServerAddress, limit: Duration) -> Result<Self, SchemaError> {
        let (client, connection) = connect_postgres(address, APPLICATION, limit).await?;
        let mut session = Self { address, limit, client, connection };
        // What exists already is no news.
        let limit_ms = limit.as_millis();
        let set = format!("SET client_min_messages = warning; SET lock_timeout = {limit_ms}");
        session.run(&set).await?;
        Ok(session)
    }

    /// The version of the tables, 0 if there are none.
    async fn version(&mut self) -> Result<i32, SchemaError> {
        if self.count_of(&["queue_schema"]).await? == 0 {
            return match self.count_of(&["queue", "message"]).await? {
                0 => Ok(0),
                _ => Err(SchemaError::Occupied),
            };
        }
        let found = self.number("SELECT max(version) FROM queue_schema").await?;
        match found <= VERSION {
            true => Ok(found),
            false => Err(SchemaError::Newer { found }),
        }
    }

    /// How many tables or indexes of these names there are.
    async fn count_of(&mut self, names: &[&str]) -> Result<i32, SchemaError> {
        let names = names.join("', '");
        let sql =
            format!("SELECT count(to_regclass(name))::int FROM unnest(array['{names}']) AS name");
        self.number(&sql).await
    }

    async fn number(&mut self, sql: &str) -> Result<i32, SchemaError> {
        let row = self.within(|client| client.query_one(sql, &[])).await?;
        let number: Option<i32> = row.get(0);
        Ok(number.unwrap_or_default())
    }

    async fn run(&mut self, sql: &str) -> Result<(), SchemaError> {
        self.within(|client| client.batch_execute(sql)).await
    }

    /// The same for as long as it takes: a fill may be large.
    async fn work(&mut self, sql: &str) -> Result<(), SchemaError> {
        self.drive(|client| client.batch_execute(sql)).await
    }

    /// Gives up a server that does not answer in time. Its own timeout of locks comes first, and says more.
    async fn within<'s, T, F>(
        &'s mut self,
        request: impl FnOnce(&'s Client) -> F,
    ) -> Result<T, SchemaError>
    where
        F: Future<Output = Result<T, tokio_postgres::Error>>,
    {
        let limit = self.limit + LATER_THAN_LOCKS;
        let done = timeout(limit, self.drive(request)).await;
        done.map_err(|_| SqlError::Lost("no answer in time".to_owned()))?
    }

    async fn drive<'s, T, F>(
        &'s mut self,
        request: impl FnOnce(&'s Client) -> F,
    ) -> Result<T, SchemaError>
    where
        F: Future<Output = Result<T, tokio_postgres::Error>>,
    {
        let done = super::drive(request(&self.client), &mut self.connection).await;
        done.map_err(|error| postgres_error(self.address, &error).into())
    }
}
