//! A worker's connection to PostgreSQL, with its prepared statements.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use server::database::{
    PostgresConnection, ServerAddress, SqlError, connect_postgres, postgres_error,
};
use tokio::time::timeout;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Row, Statement};

use super::{APPLICATION, StoreError, drive};
use crate::clock::since_1970_us;
use crate::jobs::Outcome;
use crate::options::PopLocking;
use crate::wire::{Message, Operation, Request, Writer};

/// How long a statement may run in the server after the worker gave up.
const CANCEL_AFTER: Duration = Duration::from_secs(1);

/// The SQLSTATE of a reference to nothing: a row of `message` names a queue, and functions raise it themselves.
const NO_QUEUE: &str = "23503";

/// How workers use the database.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) address: ServerAddress,
    /// How long the server may take for anything.
    pub(crate) limit: Duration,
    pub(crate) pop: PopLocking,
    pub(crate) is_durable: bool,
    /// Whether sends notify.
    pub(crate) notifies: bool,
    /// Most bytes of the texts in an answer to `messages`.
    pub(crate) texts_max: i64,
}

/// An open connection.
pub(crate) struct Link {
    settings: Arc<Settings>,
    client: Client,
    connection: PostgresConnection,
    statements: Statements,
}

/// The calls of the functions.
struct Statements {
    create: Statement,
    delete: Statement,
    send: Statement,
    peek: Statement,
    pop: Statement,
    queues: Statement,
    messages: Statement,
}

impl Link {
    /// Opens a connection and prepares its statements.
    ///
    /// # Errors
    /// When the server cannot be reached, refuses, or takes too long.
    pub(crate) async fn open(settings: &Arc<Settings>) -> Result<Self, SqlError> {
        let Settings { address, limit, is_durable, .. } = &**settings;
        let (client, mut connection) = connect_postgres(address, APPLICATION, *limit).await?;
        let commit = if *is_durable { "on" } else { "off" };
        let limit_ms = (*limit + CANCEL_AFTER).as_millis();
        let set = format!("SET synchronous_commit = {commit}; SET statement_timeout = {limit_ms}");
        let preparing = async {
            let statements = prepare(&client, settings.pop).await?;
            client.batch_execute(&set).await?;
            Ok(statements)
        };
        let prepared = timeout(*limit, drive(preparing, &mut connection)).await;
        let prepared = prepared.map_err(|_| SqlError::Lost("no answer in time".to_owned()))?;
        let statements = prepared.map_err(|error| postgres_error(address, &error))?;
        Ok(Self { settings: Arc::clone(settings), client, connection, statements })
    }

    /// Resolves when the connection ends by itself. Nothing is lost if this is dropped.
    pub(crate) async fn ended(&mut self) {
        (&mut self.connection).await;
    }

    /// Carries out a request and writes the answer.
    ///
    /// # Errors
    /// When it was not carried out, or nobody knows; in the latter case the connection is of no more use.
    pub(crate) async fn carry_out(
        &mut self,
        request: &Request,
        out: &mut Vec<u8>,
    ) -> Result<Outcome, StoreError> {
        if self.client.is_closed() {
            return Err(StoreError::NotSent);
        }
        let calling = call(&self.client, &self.statements, &self.settings, request, out);
        let called = timeout(self.settings.limit, drive(calling, &mut self.connection)).await;
        let Ok(called) = called else {
            return Err(StoreError::Lost("no answer in time".to_owned()));
        };
        called.map_err(|error| self.error(&error))
    }

    fn error(&self, error: &tokio_postgres::Error) -> StoreError {
        if error.code().is_some_and(|code| code.code() == NO_QUEUE) {
            return StoreError::NoQueue;
        }
        match postgres_error(&self.settings.address, error) {
            SqlError::Lost(what) => StoreError::Lost(what),
            SqlError::Contended => StoreError::Contended,
            other => StoreError::Refused(other.to_string()),
        }
    }
}

async fn prepare(client: &Client, pop: PopLocking) -> Result<Statements, tokio_postgres::Error> {
    let pop = match pop {
        PopLocking::Lock => "SELECT * FROM queue_pop_lock($1, $2)",
        PopLocking::Skip => "SELECT * FROM queue_pop_skip($1, $2)",
    };
    // One after the other: connections are opened rarely.
    Ok(Statements {
        create: client.prepare("SELECT queue_create($1)").await?,
        delete: client.prepare("SELECT queue_delete($1)").await?,
        send: client.prepare("SELECT queue_send($1, $2, $3, $4, $5)").await?,
        peek: client.prepare("SELECT * FROM queue_peek($1, $2)").await?,
        pop: client.prepare(pop).await?,
        queues: client.prepare("SELECT queue_waiting($1, $2)").await?,
        messages: client.prepare("SELECT * FROM queue_sent($1, $2, $3, $4)").await?,
    })
}

async fn call(
    client: &Client,
    statements: &Statements,
    settings: &Settings,
    request: &Request,
    out: &mut Vec<u8>,
) -> Result<Outcome, tokio_postgres::Error> {
    let operation = request.operation();
    match request {
        Request::CreateQueue { creator } => {
            let row = client.query_one(&statements.create, &[creator]).await?;
            number(operation, row.try_get(0)?, out);
        }
        Request::DeleteQueue { queue } => {
            let row = client.query_one(&statements.delete, &[queue]).await?;
            number(operation, row.try_get(0)?, out);
        }
        Request::Send { queue, sender, receiver, text } => {
            let given: [&(dyn ToSql + Sync); 5] =
                [queue, sender, receiver, text, &settings.notifies];
            let row = client.query_one(&statements.send, &given).await?;
            let id: i64 = row.try_get(0)?;
            let mut answer = Writer::answer(out, operation);
            answer.u64(id.unsigned_abs());
            answer.finish();
        }
        Request::Peek { queue, receiver } => {
            let given: [&(dyn ToSql + Sync); 2] = [queue, receiver];
            let row = client.query_one(&statements.peek, &given).await?;
            return one_message(operation, &row, out);
        }
        Request::Pop { queue, receiver, .. } => {
            let given: [&(dyn ToSql + Sync); 2] = [queue, receiver];
            let row = client.query_one(&statements.pop, &given).await?;
            return one_message(operation, &row, out);
        }
        Request::Queues { receiver, limit } => {
            let given: [&(dyn ToSql + Sync); 2] = [receiver, &count(*limit)];
            let rows = client.query(&statements.queues, &given).await?;
            queues(&rows, out)?;
        }
        Request::Messages { sender, receiver, limit } => {
            let given: [&(dyn ToSql + Sync); 4] =
                [sender, receiver, &count(*limit), &settings.texts_max];
            let rows = client.query(&statements.messages, &given).await?;
            messages(&rows, out)?;
        }
    }
    Ok(Outcome::Done)
}

/// An answer of one number, which is not negative.
fn number(operation: Operation, number: i32, out: &mut Vec<u8>) {
    let mut answer = Writer::answer(out, operation);
    answer.id(number);
    answer.finish();
}

fn queues(rows: &[Row], out: &mut Vec<u8>) -> Result<(), tokio_postgres::Error> {
    let mut answer = Writer::answer(out, Operation::Queues);
    answer.u32(rows.len().try_into().unwrap_or(u32::MAX));
    for row in rows {
        answer.id(row.try_get(0)?);
    }
    answer.finish();
    Ok(())
}

fn messages(rows: &[Row], out: &mut Vec<u8>) -> Result<(), tokio_postgres::Error> {
    let mut answer = Writer::answer(out, Operation::Messages);
    answer.u32(rows.len().try_into().unwrap_or(u32::MAX));
    for row in rows {
        if let Some(message) = message(row)? {
            answer.listed(&message);
        }
    }
    answer.finish();
    Ok(())
}

/// A limit, which was checked to be small.
fn count(limit: u32) -> i32 {
    i32::try_from(limit).unwrap_or(i32::MAX)
}

fn one_message(
    operation: Operation,
    row: &Row,
    out: &mut Vec<u8>,
) -> Result<Outcome, tokio_postgres::Error> {
    let found = message(row)?;
    let mut answer = Writer::answer(out, operation);
    answer.message(&found.unwrap_or(Message::NONE));
    answer.finish();
    Ok(match found {
        Some(_) => Outcome::Done,
        None => Outcome::Nothing,
    })
}

/// A row of the table, by its columns in order; none if it is of nulls.
fn message(row: &Row) -> Result<Option<Message<'_>>, tokio_postgres::Error> {
    let Some(id) = row.try_get(0)? else {
        return Ok(None);
    };
    let arrival: SystemTime = row.try_get(4)?;
    Ok(Some(Message {
        id,
        sender: row.try_get(1)?,
        receiver: row.try_get(2)?,
        queue: row.try_get(3)?,
        arrival_us: since_1970_us(arrival),
        text: row.try_get(5)?,
    }))
}
