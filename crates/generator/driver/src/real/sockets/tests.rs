use std::io::Read;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;

use engine::Setup;
use engine::schedule::share::Share;
use engine::tables::budget::Budget;

use super::*;
use crate::addresses::AddressBook;
use crate::real::WaitMode;

const ID: ConnId = ConnId { slot: 3, generation: 1 };

/// Each user has one; `engine` asserts what else it takes, and `docs/architecture-reference.md` lists the sums.
#[test]
fn a_socket_takes_24_bytes() {
    let socket = size_of::<Option<Socket>>();
    assert!(socket <= 24, "a socket has {socket} bytes");
}

/// A connection, and its other end.
fn connected_pair() -> (Sockets, TcpStream) {
    connected_within(Arc::default())
}

/// The same with memory for what waits to be sent.
fn connected_within(buffers: Arc<Budget>) -> (Sockets, TcpStream) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let setup = LoopSetup {
        shard: Setup {
            share: Share::new(0, 1),
            rows_max: 1,
            tls: None,
            buffers,
            meeting: Arc::default(),
        },
        waiting: WaitMode::Wide,
        netns: None,
        addresses: Arc::new(AddressBook::of_addresses(&[listener.local_addr().unwrap()])),
        sources: Arc::new([]),
        users_max: 1,
        core: None,
        barrier: Arc::default(),
        stop: Arc::default(),
        trace: None,
    };
    let mut sockets = Sockets::new(&setup, Box::default()).unwrap();
    let choice = Choice::of(0, 0, 0.0);
    sockets.connect(ID, EndpointId(0), choice).unwrap();
    let (peer, _) = listener.accept().unwrap();
    let connected = sockets.next_news(ID, EventFlags::OUT, &mut []);
    assert!(matches!(connected, Some(SocketEvent::Connected)));
    (sockets, peer)
}

#[test]
fn unread_bytes_are_kept_up_to_a_limit() {
    let (mut sockets, _peer) = connected_pair();
    let piece = vec![0; 1 << 20];
    let mut sends = (0..100).map(|count| (count, sockets.send(ID, &piece)));
    let refused = sends.find_map(|(count, broken)| Some((count, broken?)));
    let (count, (outcome, detail)) = refused.unwrap();
    assert!(count >= BACKLOG_BYTES_MAX >> 20, "{count}");
    assert_eq!(outcome, Outcome::Other);
    assert!(detail.contains("does not read"), "{detail}");
}

#[test]
fn unread_bytes_are_kept_as_long_as_there_is_memory() {
    let buffers = Arc::new(Budget::new(2 << 20));
    let (mut sockets, _peer) = connected_within(Arc::clone(&buffers));
    let piece = vec![0; 1 << 20];
    let refused = (0..100).find_map(|_| sockets.send(ID, &piece));
    assert_eq!(refused, Some((Outcome::NoMemory, EXHAUSTED.to_owned())));
    // Its memory is there for others once it is closed.
    sockets.close(ID);
    let (mut others, _other_peer) = connected_within(buffers);
    assert!(others.send(ID, &vec![0; 1 << 20]).is_none());
}

#[test]
fn reading_frees_the_backlog_and_loses_nothing() {
    let (mut sockets, mut peer) = connected_pair();
    let large = vec![7; 3 * BACKLOG_BYTES_MAX];
    assert!(sockets.send(ID, &large).is_none(), "one send has its place");
    let total = large.len() + 1;
    let reader = std::thread::spawn(move || {
        let mut got = vec![0; total];
        peer.read_exact(&mut got).map(|()| got)
    });
    // Sending makes room; the kernel's word is not waited for.
    while sockets.send(ID, &[9]).is_some() {
        std::thread::yield_now();
    }
    while sockets.table[ID.slot as usize].as_ref().unwrap().backlog.is_some() {
        sockets.next_news(ID, EventFlags::OUT, &mut []);
        std::thread::yield_now();
    }
    let got = reader.join().unwrap().unwrap();
    assert!(got[..large.len()] == large && got[large.len()..] == [9]);
}

/// The kernel reports a socket once, so it stays in the queue until its turn.
#[test]
fn a_socket_is_queued_once_however_many_events_it_gets() {
    let (mut sockets, _peer) = connected_pair();
    sockets.note(ID, EventFlags::IN);
    sockets.note(ID, EventFlags::RDHUP);
    let gone = ConnId { generation: 0, ..ID };
    sockets.note(gone, EventFlags::IN);
    assert_eq!(sockets.ready_count(), 1);
    let both = EventFlags::IN | EventFlags::RDHUP;
    assert!(sockets.next_ready() == Some((ID, both)));
    sockets.note(ID, EventFlags::IN);
    sockets.close(ID);
    assert!(sockets.next_ready().is_none());
}
