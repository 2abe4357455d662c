//! Starts on a database that is held or silent, and stops.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::mpsc::channel;
use std::time::Duration;

use queue::{Fill, Index, QueueError, SchemaError};
use testkit::queue_client::*;
use tokio::runtime::Builder;
use tokio::time::timeout;

use crate::support::{
    Queue, address, database, free_address, number, page, pause, small, with_sql,
};

#[test]
fn a_process_of_several_leaves_the_database_as_it_is() {
    let Some(url) = database() else { return };
    let mut options = small();
    options.store = Some(address(&url));
    options.fill = Some(Fill { without: Some(Index::Sender), ..Fill::default() });
    drop(Queue::start(options.clone()));
    options.fill = None;
    options.server.shared_port = true;
    let queue = Queue::start(options.clone());
    let indexes = "SELECT count(*) FROM pg_indexes WHERE tablename = 'message'";
    assert_eq!(number(&url, indexes), 3);
    drop(queue);
    options.server.shared_port = false;
    let _queue = Queue::start(options);
    assert_eq!(number(&url, indexes), 4);
}

#[test]
fn a_start_gives_up_tables_that_others_hold() {
    let Some(url) = database() else { return };
    let mut options = small();
    options.store = Some(address(&url));
    drop(Queue::start(options.clone()));
    options.store_wait = Duration::from_millis(500);
    options.fill = Some(Fill::default());
    // The start of another middleware, and anybody's transaction.
    for held in ["SELECT pg_advisory_xact_lock(7814618)", "LOCK TABLE message"] {
        with_sql(&url, async |holder: tokio_postgres::Client| {
            let begin = format!("BEGIN; {held}");
            holder.batch_execute(&begin).await.unwrap();
            let Err(QueueError::Store { problem, .. }) = Queue::try_start(options.clone()) else {
                panic!("it started, {held}");
            };
            assert!(matches!(problem, SchemaError::Held), "{held}: {problem}");
        });
    }
    options.store_wait = Duration::from_secs(60);
    drop(Queue::start(options));
}

#[test]
fn a_start_gives_up_a_database_that_falls_silent() {
    // It accepts a session (PostgreSQL's protocol 3.0, AuthenticationOk and ReadyForQuery), and that is all.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let silent = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut buffer = [0; 1024];
        let _ = stream.read(&mut buffer).unwrap();
        let accepted = b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I";
        stream.write_all(accepted).unwrap();
        while let Ok(1..) = stream.read(&mut buffer) {}
    });
    let mut options = small();
    let url = format!("postgres://throng@127.0.0.1:{port}/queue");
    options.store = Some(address(&url));
    options.store_wait = Duration::from_secs(2);
    let Err(QueueError::Store { problem, .. }) = Queue::try_start(options) else {
        panic!("it started");
    };
    assert!(problem.to_string().contains("in time"), "{problem}");
    silent.join().unwrap();
}

#[test]
fn a_stop_ends_a_start() {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let served = runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut options = small();
        let url = format!("postgres://throng@127.0.0.1:{port}/queue");
        options.store = Some(address(&url));
        options.store_wait = Duration::from_secs(600);
        // It stops as soon as it has a connection, on which nobody says anything.
        let connected = Box::pin(async move {
            let connection = listener.accept().await.unwrap();
            std::mem::forget(connection);
        });
        let serving = queue::serve(options, Box::new(|_| panic!("it serves")), connected);
        timeout(Duration::from_secs(60), serving).await
    });
    let report = served.expect("it is deaf").unwrap();
    assert_eq!((report.connections, report.done, report.failed), (0, 0, 0));
}

#[test]
fn a_stop_does_not_wait_for_what_nobody_waits_for() {
    let Some(url) = database() else { return };
    let mut options = small();
    options.store = Some(address(&url));
    options.connections = 1;
    options.server.stop_within = Duration::from_millis(100);
    let metrics = free_address();
    options.metrics = Some(metrics);
    let mut queue = Some(Queue::start(options));
    let mut client = queue.as_ref().unwrap().client();
    let id = client.create(1).unwrap();
    with_sql(&url, async |holder: tokio_postgres::Client| {
        holder.batch_execute("BEGIN; LOCK TABLE message").await.unwrap();
        client.write(&frame(SEND, &fields(&[id, 1, 0], "text"))).unwrap();
        let busy = "\nqueue_store_connections_busy 1\n";
        while !page(metrics, "/metrics").contains(busy) {
            pause(10);
        }
        let (stopped, is_stopped) = channel();
        let queue = queue.take().unwrap();
        std::thread::spawn(move || stopped.send(queue.stop()));
        // The worker would wait for the database for 60 s.
        let report = is_stopped.recv_timeout(Duration::from_secs(30));
        assert_eq!(report.expect("it waits").done, 1);
        holder.batch_execute("COMMIT").await.unwrap();
    });
}
