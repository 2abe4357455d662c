//! TCP over links that treat it badly: whatever is lost or divided, the bytes arrive as they were sent.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use lab::wan::{Backlog, Jitter, Link, Loss, PairCounts, Rate};

use crate::wan::support::{between_two, network};

/// Sends bytes over a link and compares them; returns the counts of their direction.
fn transfer(link: Link, bytes: usize) -> Option<PairCounts> {
    let network = network(between_two(link))?;
    let [client, server] = [0, 1].map(|host| &network.hosts[host]);
    let listener = server.run(|| TcpListener::bind((server.address(), 0)));
    let listener = listener.unwrap().unwrap();
    let to = listener.local_addr().unwrap();
    let sent: Vec<u8> = (0..bytes).map(|i| (i * 31 + (i >> 8) * 17) as u8).collect();
    let received = thread::scope(|scope| {
        let receiver = scope.spawn(|| {
            let mut received = Vec::new();
            let (mut stream, _) = listener.accept().unwrap();
            stream.read_to_end(&mut received).unwrap();
            received
        });
        let mut stream = client.run(|| TcpStream::connect(to)).unwrap().unwrap();
        stream.write_all(&sent).unwrap();
        drop(stream);
        receiver.join().unwrap()
    });
    assert!(received == sent, "the bytes differ");
    let counts = network.forwarder.counts().unwrap();
    Some(*counts.pair(0, 1).unwrap())
}

#[test]
fn a_stream_survives_losses() {
    let loss = Loss::Independent { p: 0.02 };
    let link = Link { loss, ..Link::new(1_000_000) };
    let Some(counts) = transfer(link, 4_000_000) else {
        return;
    };
    assert!(counts.lost > 10, "{counts:?}");
    // Segments are counted, not super-packets.
    assert!(counts.packets >= 4_000_000 / 1460, "{counts:?}");
}

#[test]
fn a_stream_survives_reordering() {
    let link =
        Link { reorder: 0.05, jitter: Jitter::Normal { sd_ns: 300_000 }, ..Link::new(1_000_000) };
    transfer(link, 1_000_000);
}

#[test]
fn a_slow_link_drops_what_its_queue_does_not_hold() {
    let link = Link {
        rate: Some(Rate { bits_per_s: 50_000_000, backlog: Backlog::Bytes(20_000) }),
        ..Link::new(5_000_000)
    };
    let Some(counts) = transfer(link, 2_000_000) else {
        return;
    };
    assert!(counts.queue_full > 0, "{counts:?}");
}
