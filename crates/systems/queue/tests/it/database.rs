//! PostgreSQL as it is in the wild: with tables of others, away, full, slow.

use std::time::Duration;

use queue::{Fill, Index, QueueError, SchemaError};
use testkit::queue_client::*;

use crate::support::{
    Queue, address, database, free_address, number, page, pause, small, sql, until_metric, with_sql,
};

const OURS: &str =
    "SELECT count(*) FROM pg_class WHERE relname IN ('queue', 'message', 'queue_schema')";
const FUNCTIONS: &str = "SELECT count(*) FROM pg_proc WHERE proname LIKE 'queue\\_%'";

fn schema_problem(url: &str) -> SchemaError {
    let mut options = small();
    options.store = Some(address(url));
    match Queue::try_start(options) {
        Err(QueueError::Store { problem, .. }) => problem,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it started"),
    }
}

#[test]
fn messages_outlive_the_middleware() {
    let Some(url) = database() else { return };
    let mut options = small();
    options.store = Some(address(&url));
    let queue = Queue::start(options.clone());
    let mut client = queue.client();
    let id = client.create(1).unwrap();
    let sent = client.send(id, 1, 0, "kept").unwrap();
    drop(queue);
    let queue = Queue::start(options);
    let message = queue.client().pop(id, 1, 0).unwrap().unwrap();
    assert_eq!((message.id, message.text.as_str()), (sent, "kept"));
}

#[test]
fn tables_of_others_and_of_newer_programs_are_refused() {
    let Some(url) = database() else { return };
    sql(&url, "CREATE TABLE message (theirs int)");
    let problem = schema_problem(&url);
    assert!(matches!(problem, SchemaError::Occupied), "{problem}");
    sql(
        &url,
        "DROP TABLE message; CREATE TABLE queue_schema (version int); INSERT INTO queue_schema VALUES (2)",
    );
    let problem = schema_problem(&url);
    assert!(matches!(problem, SchemaError::Newer { found: 2 }), "{problem}");
    assert_eq!(number(&url, OURS), 1);
}

#[test]
fn a_password_is_not_shown() {
    let Some(url) = database() else { return };
    let wrong = url.replacen("throng:", "throng:hunter2", 1);
    let problem = schema_problem(&wrong).to_string();
    assert!(problem.contains("authentication") && !problem.contains("hunter2"), "{problem}");
}

#[test]
fn an_index_can_be_left_out() {
    let Some(url) = database() else { return };
    let mut options = small();
    options.store = Some(address(&url));
    let indexes = "SELECT count(*) FROM pg_indexes WHERE tablename = 'message'";
    for (without, count) in [(None, 4), (Some(Index::Sender), 3), (None, 4)] {
        let fill = Fill { messages: 10, without, ..Fill::default() };
        options.fill = Some(fill);
        let queue = Queue::start(options.clone());
        assert_eq!(number(&url, indexes), count);
        assert_eq!(queue.client().messages(1, 0, 0).unwrap().len(), 1);
    }
    assert_eq!(number(&url, FUNCTIONS), 9);
}

#[test]
fn requests_are_refused_while_the_database_is_away_and_served_when_it_is_back() {
    let Some(url) = database() else { return };
    let (server, name) = url.rsplit_once('/').unwrap();
    let other = format!("{server}/postgres");
    let mut options = small();
    options.store = Some(address(&url));
    let metrics = free_address();
    options.metrics = Some(metrics);
    let queue = Queue::start(options);
    let mut client = queue.client();
    let id = client.create(1).unwrap();
    assert_eq!(page(metrics, "/healthz"), "ready\n");
    sql(&other, &format!("ALTER DATABASE {name} ALLOW_CONNECTIONS false"));
    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname";
    sql(&other, &format!("{end} = '{name}'"));
    let failures = std::iter::repeat_with(|| client.send(id, 1, 0, "text"));
    // Until the middleware has noticed, a send may still have been on its way.
    let failure = failures.take(10_000).find_map(|sent| match sent {
        Err(Failure::Code(UNKNOWN_OUTCOME, _)) | Ok(_) => None,
        Err(failure) => Some(failure),
    });
    let Some(Failure::Code(UNAVAILABLE, text)) = failure else {
        panic!("{failure:?}");
    };
    assert!(text.contains("not currently accepting connections"), "{text}");
    assert_eq!(page(metrics, "/healthz"), "database unreachable\n");
    // What needs no database has none to wait for.
    assert_eq!(client.echo(b"text").unwrap(), b"text");
    sql(&other, &format!("ALTER DATABASE {name} ALLOW_CONNECTIONS true"));
    let back = (0..200).any(|_| {
        pause(50);
        client.peek(id, 1).is_ok()
    });
    assert!(back, "it did not connect again");
    let text = page(metrics, "/metrics");
    assert!(!text.contains("queue_store_connections_lost_total 0\n"), "{text}");
}

#[test]
fn fewer_connections_than_wished_are_enough() {
    let Some(url) = database() else { return };
    let (server, name) = url.rsplit_once('/').unwrap();
    sql(
        &url,
        &format!(
            "CREATE ROLE few_{name} LOGIN PASSWORD 'few' CONNECTION LIMIT 2; ALTER DATABASE {name} OWNER TO few_{name}"
        ),
    );
    let (_, host) = server.rsplit_once('@').unwrap();
    let mut options = small();
    options.connections = 8;
    options.store = Some(address(&format!("postgres://few_{name}:few@{host}/{name}")));
    let metrics = free_address();
    options.metrics = Some(metrics);
    let queue = Queue::start(options);
    let id = queue.client().create(1).unwrap();
    let clients: Vec<_> = (0..8)
        .map(|_| {
            let mut client = queue.client();
            std::thread::spawn(move || {
                for _ in 0..50 {
                    client.send(id, 1, 0, "text").unwrap();
                }
            })
        })
        .collect();
    for client in clients {
        client.join().unwrap();
    }
    assert_eq!(number(&url, "SELECT count(*) FROM message"), 400);
    let text = page(metrics, "/metrics");
    assert!(!text.contains("queue_store_connect_errors_total 0\n"), "{text}");
    drop(queue);
    sql(&url, &format!("REASSIGN OWNED BY few_{name} TO throng"));
}

#[test]
fn a_database_that_does_not_answer_is_given_up() {
    let Some(url) = database() else { return };
    let mut options = small();
    options.store = Some(address(&url));
    options.connections = 1;
    options.store_wait = Duration::from_secs(3);
    let queue = Queue::start(options);
    let mut client = queue.client();
    let id = client.create(1).unwrap();
    with_sql(&url, async |holder: tokio_postgres::Client| {
        holder.batch_execute("BEGIN; LOCK TABLE message").await.unwrap();
        let mut waiting = queue.client();
        client.write(&frame(SEND, &fields(&[id, 1, 0], "perhaps"))).unwrap();
        assert_eq!(client.refusal(SEND), UNKNOWN_OUTCOME);
        // Nothing was changed by a peek.
        waiting.write(&frame(PEEK, &fields(&[id, 1], ""))).unwrap();
        assert_eq!(waiting.refusal(PEEK), UNAVAILABLE);
        holder.batch_execute("COMMIT").await.unwrap();
    });
    // A new connection may take a moment.
    let sent = (0..1_000).find_map(|_| {
        let sent = client.send(id, 1, 0, "surely").ok();
        if sent.is_none() {
            pause(20);
        }
        sent
    });
    let sent = sent.expect("it connects again");
    assert!(client.messages(1, 0, 0).unwrap().iter().any(|message| message.id == sent));
}

#[test]
fn a_full_queue_pushes_back_and_loses_nothing() {
    let Some(url) = database() else { return };
    let mut options = small();
    options.store = Some(address(&url));
    (options.connections, options.queue_max) = (1, 1);
    options.store_wait = Duration::from_secs(30);
    let metrics = free_address();
    options.metrics = Some(metrics);
    let queue = Queue::start(options);
    let mut client = queue.client();
    let id = client.create(1).unwrap();
    let mut clients: Vec<Client> = (0..10).map(|_| queue.client()).collect();
    with_sql(&url, async |holder: tokio_postgres::Client| {
        holder.batch_execute("BEGIN; LOCK TABLE message").await.unwrap();
        for client in &mut clients {
            client.write(&frame(ECHO, b"")).unwrap();
            for _ in 0..5 {
                client.write(&frame(SEND, &fields(&[id, 1, 0], "text"))).unwrap();
            }
            client.answer(ECHO).unwrap();
        }
        assert_eq!(client.echo(b"not held up").unwrap(), b"not held up");
        until_metric(metrics, "jobs_waiting 1");
        until_metric(metrics, "store_connections_busy 1");
        holder.batch_execute("COMMIT").await.unwrap();
    });
    for client in &mut clients {
        for _ in 0..5 {
            client.answer(SEND).unwrap();
        }
    }
    assert_eq!(number(&url, "SELECT count(*) FROM message"), 50);
}

#[test]
fn a_queue_deleted_in_mid_flight_is_an_error_or_none() {
    let Some(url) = database() else { return };
    let mut options = small();
    options.store = Some(address(&url));
    let queue = Queue::start(options);
    let mut client = queue.client();
    for _ in 0..5 {
        let id = client.create(1).unwrap();
        std::thread::scope(|scope| {
            let senders: Vec<_> = (0..4)
                .map(|number| {
                    let mut client = queue.client();
                    scope.spawn(move || {
                        loop {
                            let done = match number {
                                0 => client.pop(id, 1, 0).map(drop),
                                _ => client.send(id, 1, 0, "text").map(drop),
                            };
                            match done.map_err(|failure| failure.code()) {
                                Ok(()) => {}
                                Err(Some(NO_QUEUE)) => return,
                                Err(other) => panic!("{other:?}"),
                            }
                        }
                    })
                })
                .collect();
            client.send(id, 1, 0, "text").unwrap();
            client.delete(id).unwrap();
            for sender in senders {
                sender.join().unwrap();
            }
        });
        assert_eq!(number(&url, "SELECT count(*) FROM message"), 0);
    }
}
