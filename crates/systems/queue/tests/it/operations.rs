//! What the operations do, on each store.

use queue::{Fill, PopLocking};
use testkit::queue_client::*;

use crate::support::{Queue, on_each_store, pause, small};

#[test]
fn messages_are_popped_in_order_by_those_who_may() {
    for options in on_each_store(&small()) {
        let queue = Queue::start(options);
        let mut client = queue.client();
        let one = client.create(1).unwrap();
        let other = client.create(1).unwrap();
        let first = client.send(one, 5, 7, "for seven").unwrap();
        let second = client.send(one, 6, 0, "for anybody").unwrap();
        let third = client.send(one, 5, 8, "für acht").unwrap();
        assert!(first < second && second < third);
        assert_eq!(client.peek(other, 7).unwrap(), None);

        let seen = client.peek(one, 8).unwrap().unwrap();
        assert_eq!((seen.id, seen.text.as_str()), (second, "for anybody"));
        let message = client.pop(one, 7, 0).unwrap().unwrap();
        assert_eq!(
            (message.id, message.queue, message.sender, message.receiver),
            (first, one, 5, 7)
        );
        assert_eq!(message.text, "for seven");
        // Later than 2020, and before 2100.
        assert!((1_577_836_800_000_000..4_102_444_800_000_000).contains(&message.arrival_us));
        // Nobody in particular may have what is for anybody.
        assert_eq!(client.pop(one, 0, 0).unwrap().unwrap().id, second);
        assert_eq!(client.pop(one, 0, 0).unwrap(), None);
        let last = client.pop(one, 8, 0).unwrap().unwrap();
        assert_eq!((last.id, last.text.as_str()), (third, "für acht"));
        assert!(last.arrival_us > message.arrival_us);
        assert_eq!(client.pop(one, 8, 0).unwrap(), None);
    }
}

#[test]
fn queues_and_messages_are_listed() {
    let mut options = small();
    options.payload_max = 1 << 10;
    for options in on_each_store(&options) {
        let queue = Queue::start(options);
        let mut client = queue.client();
        let queues: Vec<u32> = (0..3).map(|_| client.create(9).unwrap()).collect();
        for &queue in queues.iter().rev() {
            client.send(queue, 5, 7, "one").unwrap();
            client.send(queue, 5, 7, "two").unwrap();
            client.send(queue, 5, 0, "").unwrap();
        }
        assert_eq!(client.queues(7, 0).unwrap(), queues);
        assert_eq!(client.queues(7, 2).unwrap(), queues[..2]);
        assert!(client.queues(8, 0).unwrap().is_empty());

        let messages = client.messages(5, 7, 0).unwrap();
        assert_eq!(messages.len(), 9);
        assert!(messages.is_sorted_by_key(|message| message.arrival_us));
        assert_eq!(messages[0].queue, queues[2]);
        assert_eq!((messages[1].receiver, messages[1].text.as_str()), (7, "two"));
        assert_eq!((messages[2].receiver, messages[2].text.as_str()), (0, ""));
        assert_eq!(client.messages(5, 0, 0).unwrap().len(), 3);
        assert_eq!(client.messages(5, 7, 4).unwrap(), messages[..4]);
        assert!(client.messages(6, 7, 4).unwrap().is_empty());

        // Only what has together at most as many bytes as a payload.
        for _ in 0..3 {
            client.send(queues[0], 6, 0, &"x".repeat(500)).unwrap();
        }
        assert_eq!(client.messages(6, 1, 0).unwrap().len(), 2);
    }
}

#[test]
fn a_deleted_queue_is_gone_with_its_messages() {
    for options in on_each_store(&small()) {
        let queue = Queue::start(options);
        let mut client = queue.client();
        let gone = client.create(1).unwrap();
        let kept = client.create(1).unwrap();
        for queue in [gone, gone, kept] {
            client.send(queue, 5, 7, "text").unwrap();
        }
        assert_eq!(client.delete(gone).unwrap(), 2);
        assert_eq!(client.messages(5, 7, 0).unwrap().len(), 1);
        assert_eq!(client.queues(7, 0).unwrap(), [kept]);
        let failures = [
            client.delete(gone).map(drop),
            client.send(gone, 5, 0, "text").map(drop),
            client.peek(gone, 7).map(drop),
            client.pop(gone, 7, 0).map(drop),
            client.pop(gone, 7, 100).map(drop),
        ];
        for failure in failures {
            assert_eq!(failure.unwrap_err().code(), Some(NO_QUEUE));
        }
        assert_ne!(client.create(1).unwrap(), gone);
    }
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    for options in on_each_store(&small()) {
        let queue = Queue::start(options);
        let mut client = queue.client();
        let id = client.create(1).unwrap();
        let mut bytes = Vec::new();
        for number in 0..20 {
            bytes.extend(frame(SEND, &fields(&[id, 1, 0], &number.to_string())));
            bytes.extend(frame(ECHO, number.to_string().as_bytes()));
            bytes.extend(frame(POP, &fields(&[id, 1, 0], "")));
            bytes.extend(frame(0x77, b"?"));
        }
        // In pieces that cut frames.
        for piece in bytes.chunks(7) {
            client.write(piece).unwrap();
        }
        for number in 0..20 {
            client.answer(SEND).unwrap();
            assert_eq!(client.answer(ECHO).unwrap(), number.to_string().as_bytes());
            let popped = client.answer(POP).unwrap();
            assert_eq!(&popped[28..], number.to_string().as_bytes());
            assert_eq!(client.refusal(0x77), UNKNOWN_TYPE);
        }
    }
}

#[test]
fn no_message_is_popped_twice_by_either_locking() {
    let fill = Fill { messages: 400, queues: 2, ..Fill::default() };
    for pop in [PopLocking::Lock, PopLocking::Skip] {
        let mut options = small();
        (options.pop, options.fill) = (pop, Some(fill));
        for options in on_each_store(&options) {
            let queue = Queue::start(options);
            let poppers: Vec<_> = (0..8)
                .map(|number| {
                    let mut client = queue.client();
                    std::thread::spawn(move || {
                        let queue = 1 + number % 2;
                        let pop = || client.pop(queue, 3, 0).unwrap();
                        std::iter::repeat_with(pop)
                            .map_while(|message| Some(message?.id))
                            .collect::<Vec<_>>()
                    })
                })
                .collect();
            let mut ids: Vec<u64> = poppers
                .into_iter()
                .flat_map(|popper| {
                    let own = popper.join().unwrap();
                    assert!(own.is_sorted(), "a client got older messages later");
                    own
                })
                .collect();
            ids.sort_unstable();
            // With skipped locks, all see an empty queue only when it is.
            assert_eq!(ids, (1..=400).collect::<Vec<_>>(), "{pop:?}");
        }
    }
}

#[test]
fn a_fill_replaces_what_there_was() {
    let mut options = small();
    options.fill =
        Some(Fill { messages: 1_000, queues: 3, length: 77, receivers: 10, ..Fill::default() });
    for options in on_each_store(&options) {
        for _ in 0..2 {
            let queue = Queue::start(options.clone());
            let mut client = queue.client();
            assert_eq!(client.queues(10, 0).unwrap(), [1, 2, 3]);
            assert!(client.queues(11, 0).unwrap().is_empty());
            let message = client.pop(3, 1, 0).unwrap().unwrap();
            assert_eq!((message.id, message.sender, message.text.len()), (3, 3, 77));
            assert_eq!(client.delete(3).unwrap(), 332);
        }
    }
}

#[test]
fn answers_end_with_the_times_of_their_request() {
    let mut options = small();
    options.timing = true;
    for options in on_each_store(&options) {
        let queue = Queue::start(options);
        let mut client = queue.client();
        let echoed = client.echo(b"text").unwrap();
        assert_eq!((&echoed[..4], echoed.len()), (&b"text"[..], 20));
        let queued_and_database = &echoed[8..16];
        assert_eq!(queued_and_database, [0; 8]);
        let created = client.request(CREATE, &fields(&[1], "")).unwrap();
        assert_eq!(created.len(), 20);
        client.write(&frame(PEEK, &[])).unwrap();
        let (kind, error) = client.read().unwrap();
        assert_eq!(kind, 0xff);
        assert!(error.len() > 20);
        // Half a frame first: the rest of it counts as reading.
        let bytes = frame(ECHO, b"text");
        client.write(&bytes[..7]).unwrap();
        pause(30);
        client.write(&bytes[7..]).unwrap();
        let echoed = client.answer(ECHO).unwrap();
        let read_us = u32::from_be_bytes(echoed[4..8].try_into().unwrap());
        assert!(read_us > 20_000, "{read_us}");
    }
}
