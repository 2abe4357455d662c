//! Pops that wait for a message.

use std::net::Shutdown;
use std::time::{Duration, Instant};

use queue::{QueueOptions, Wait};
use testkit::queue_client::*;

use crate::support::{
    Queue, address, database, free_address, on_each_store, small, sql, until_metric,
};

const LONG_MS: u32 = 30_000;
const REFUSED: u16 = 8;

/// On each store, and with each way to learn of messages.
fn each() -> Vec<QueueOptions> {
    let mut notified = small();
    notified.wait = Wait::Notify;
    notified.poll_every = Duration::from_secs(3_600);
    let mut polling = small();
    polling.poll_every = Duration::from_millis(5);
    // In memory the two are the same.
    let mut each = on_each_store(&notified);
    each.extend(on_each_store(&polling).into_iter().skip(1));
    each
}

/// A pop in progress: the client, once it is known to wait.
fn waiting(queue: &Queue, id: u32, receiver: u32) -> Client {
    let mut client = queue.client();
    client.write(&frame(ECHO, b"")).unwrap();
    let pop = frame(POP, &fields(&[id, receiver, LONG_MS], ""));
    client.write(&pop).unwrap();
    client.answer(ECHO).unwrap();
    client
}

#[test]
fn a_pop_waits_for_its_message() {
    for options in each() {
        // The single worker serves others while pops wait.
        let mut options = options;
        options.connections = 1;
        let queue = Queue::start(options);
        let mut sender = queue.client();
        let id = sender.create(1).unwrap();
        let begin = now();
        let mut seven = waiting(&queue, id, 7);
        let mut eight = waiting(&queue, id, 8);
        sender.send(id, 1, 8, "for eight").unwrap();
        assert_eq!(eight.answer(POP).unwrap()[28..], *b"for eight");
        sender.send(id, 1, 0, "for anybody").unwrap();
        assert_eq!(seven.answer(POP).unwrap()[28..], *b"for anybody");
        assert!(begin.elapsed() < Duration::from_millis(LONG_MS.into()));
        assert_eq!(sender.peek(id, 7).unwrap(), None);
    }
}

#[test]
fn each_of_many_waiting_pops_gets_one_message() {
    for options in each() {
        let queue = Queue::start(options);
        let mut sender = queue.client();
        let id = sender.create(1).unwrap();
        let mut clients: Vec<Client> = (1..=20).map(|number| waiting(&queue, id, number)).collect();
        let mut sent: Vec<u64> = (0..20).map(|_| sender.send(id, 1, 0, "text").unwrap()).collect();
        let mut got: Vec<u64> = clients
            .iter_mut()
            .map(|client| u64::from_be_bytes(client.answer(POP).unwrap()[..8].try_into().unwrap()))
            .collect();
        sent.sort_unstable();
        got.sort_unstable();
        assert_eq!(got, sent);
    }
}

#[test]
fn a_pop_that_is_woken_and_fails_wakes_the_next() {
    let Some(url) = database() else { return };
    let mut options = small();
    options.store = Some(address(&url));
    options.wait = Wait::Notify;
    let metrics = free_address();
    options.metrics = Some(metrics);
    let queue = Queue::start(options);
    let mut sender = queue.client();
    let id = sender.create(1).unwrap();
    let mut first = waiting(&queue, id, 1);
    until_metric(metrics, "pops_waiting 1");
    let mut second = waiting(&queue, id, 2);
    until_metric(metrics, "pops_waiting 2");
    until_metric(metrics, "listening 1");
    // The first pop that finds a message fails; sequences know no rollback.
    sql(
        &url,
        "CREATE SEQUENCE pops;
         CREATE FUNCTION fail_once() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
             IF nextval('pops') = 1 THEN RAISE EXCEPTION 'not now'; END IF;
             RETURN OLD;
         END $$;
         CREATE TRIGGER fail_once BEFORE DELETE ON message FOR EACH ROW EXECUTE FUNCTION fail_once()",
    );
    sender.send(id, 1, 0, "text").unwrap();
    assert_eq!(first.refusal(POP), REFUSED);
    assert_eq!(second.answer(POP).unwrap()[28..], *b"text");
}

#[test]
fn a_pop_waits_no_longer_than_it_says() {
    for options in each() {
        let queue = Queue::start(options);
        let mut client = queue.client();
        let id = client.create(1).unwrap();
        let begin = now();
        assert_eq!(client.pop(id, 1, 40).unwrap(), None);
        assert!(begin.elapsed() >= Duration::from_millis(40));
        assert!(begin.elapsed() < Duration::from_secs(20));
    }
}

#[test]
fn a_pop_ends_when_its_queue_is_deleted() {
    for options in each() {
        let queue = Queue::start(options);
        let mut client = queue.client();
        let gone = client.create(1).unwrap();
        let kept = client.create(1).unwrap();
        let begin = now();
        let mut ended = [waiting(&queue, gone, 7), waiting(&queue, gone, 8)];
        let mut other = waiting(&queue, kept, 7);
        client.delete(gone).unwrap();
        for pop in &mut ended {
            assert_eq!(pop.refusal(POP), NO_QUEUE);
        }
        assert!(begin.elapsed() < Duration::from_millis(LONG_MS.into()));
        client.send(kept, 1, 7, "text").unwrap();
        assert_eq!(other.answer(POP).unwrap()[28..], *b"text");
    }
}

#[test]
fn a_polling_pop_looks_at_the_end_of_its_wait() {
    let Some(url) = database() else { return };
    let mut options = small();
    options.store = Some(address(&url));
    options.poll_every = Duration::from_secs(3_600);
    let metrics = free_address();
    options.metrics = Some(metrics);
    let queue = Queue::start(options);
    let mut sender = queue.client();
    let id = sender.create(1).unwrap();
    let mut client = queue.client();
    let pop = frame(POP, &fields(&[id, 1, 3_000], ""));
    client.write(&pop).unwrap();
    until_metric(metrics, "pops_waiting 1");
    // Its first look is over when a worker has nothing left to do.
    until_metric(metrics, "store_connections_busy 0");
    sender.send(id, 1, 0, "text").unwrap();
    assert_eq!(client.answer(POP).unwrap()[28..], *b"text");
}

#[test]
fn a_client_that_leaves_while_it_waits_takes_no_message() {
    for options in each() {
        let queue = Queue::start(options);
        let mut sender = queue.client();
        let id = sender.create(1).unwrap();
        let gone = waiting(&queue, id, 1);
        gone.stream.shutdown(Shutdown::Write).unwrap();
        let mut gone = gone;
        // The answer says that it does not wait any more.
        assert_eq!(gone.answer(POP).unwrap(), [0; 28]);
        let sent = sender.send(id, 1, 0, "text").unwrap();
        assert_eq!(sender.pop(id, 1, 0).unwrap().unwrap().id, sent);
    }
}

#[expect(clippy::disallowed_methods, reason = "how long an answer takes is what is tested")]
fn now() -> Instant {
    Instant::now()
}
