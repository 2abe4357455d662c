use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::process::{Command, Stdio};

use lab::wan::{Jitter, Link, Loss, WanError};

use crate::wan::support::{DEADLINE, address, between_two, host, network, udp};

/// Sends a text that comes back, so that all packets before it have arrived or are lost.
fn echo(from: &UdpSocket, to: &UdpSocket, text: &[u8]) {
    let mut buffer = [0; 2048];
    from.send_to(text, to.local_addr().unwrap()).unwrap();
    let (length, sender) = to.recv_from(&mut buffer).unwrap();
    assert_eq!(buffer[..length], *text);
    assert_eq!(sender, from.local_addr().unwrap());
    to.send_to(text, sender).unwrap();
    let (length, _) = from.recv_from(&mut buffer).unwrap();
    assert_eq!(buffer[..length], *text);
}

#[test]
fn hosts_reach_each_other_and_both_directions_are_counted() {
    let Some(network) = network(between_two(Link::new(2_000_000))) else {
        return;
    };
    let [here, there] = [0, 1].map(|host| udp(&network.hosts[host]));
    for _ in 0..10 {
        echo(&here, &there, b"hello");
    }
    let counts = network.forwarder.counts().unwrap();
    // 5 bytes, with headers of UDP and IP.
    for (from, to) in [(0, 1), (1, 0)] {
        let pair = counts.pair(from, to).unwrap();
        assert_eq!((pair.packets, pair.bytes), (10, 10 * (5 + 8 + 20)));
    }
    assert_eq!(counts.total().arrived(), 20);
    assert_eq!((counts.queued_frames, counts.queued_bytes), (0, 0));
    assert_eq!(counts.lateness.count(), 20);
    assert_eq!(counts.pair(0, 2), None);

    network.forwarder.reset_counts().unwrap();
    let counts = network.forwarder.counts().unwrap();
    assert_eq!((counts.total().arrived(), counts.lateness.count()), (0, 0));
}

#[test]
fn a_cut_link_passes_nothing_until_it_is_restored() {
    let link = Link::new(1_000_000);
    let Some(network) = network(between_two(link)) else {
        return;
    };
    let [here, there] = [0, 1].map(|host| udp(&network.hosts[host]));
    let cut = Link { cut: true, ..link };
    network.forwarder.set_link(0, 1, cut).unwrap();
    assert_eq!(network.forwarder.link(0, 1).unwrap(), cut);
    let to = there.local_addr().unwrap();
    here.send_to(b"lost", to).unwrap();
    // The other direction is another link.
    there.send_to(b"passes", here.local_addr().unwrap()).unwrap();
    here.recv(&mut [0; 16]).unwrap();
    network.forwarder.set_link(0, 1, link).unwrap();
    echo(&here, &there, b"restored");
    let counts = network.forwarder.counts().unwrap();
    assert_eq!(counts.pair(0, 1).unwrap().cut, 1);
}

#[test]
fn losses_repeat_with_the_seed_and_are_counted() {
    let loss = Loss::Independent { p: 0.3 };
    let mut links = between_two(Link::new(0));
    links[1].loss = loss;
    let arrived = || {
        let network = network(links.clone())?;
        let [here, there] = [0, 1].map(|host| udp(&network.hosts[host]));
        for number in 0..200_u8 {
            here.send_to(&[number], there.local_addr().unwrap()).unwrap();
        }
        // The end, often enough that one of them arrives.
        for _ in 0..50 {
            here.send_to(&[255], there.local_addr().unwrap()).unwrap();
        }
        let mut arrived = Vec::new();
        let mut buffer = [0];
        while buffer[0] != 255 {
            there.recv(&mut buffer).unwrap();
            arrived.push(buffer[0]);
        }
        let counts = network.forwarder.counts().unwrap();
        let pair = *counts.pair(0, 1).unwrap();
        assert_eq!(pair.arrived(), 250);
        assert!(pair.lost >= 201 - arrived.len() as u64, "{pair:?}");
        Some(arrived)
    };
    let Some(first) = arrived() else { return };
    assert!((100..180).contains(&first.len()), "{}", first.len());
    assert_eq!(first, arrived().unwrap());
}

#[test]
fn a_flow_keeps_its_order_under_jitter() {
    let jitter = Jitter::Uniform { ns: 5_000_000 };
    let link = Link { jitter, ..Link::new(6_000_000) };
    let Some(network) = network(between_two(link)) else {
        return;
    };
    let [here, there] = [0, 1].map(|host| udp(&network.hosts[host]));
    let to = there.local_addr().unwrap();
    for number in 0..200_u8 {
        here.send_to(&[number], to).unwrap();
    }
    for number in 0..200_u8 {
        let mut buffer = [0];
        there.recv(&mut buffer).unwrap();
        assert_eq!(buffer[0], number);
    }
}

#[test]
fn hosts_come_and_go() {
    let Some(network) = network(between_two(Link::new(0))) else {
        return;
    };
    let (third, port) = host(3, 1).unwrap();
    let [here, there] = [&network.hosts[0], &third].map(udp);
    let to = there.local_addr().unwrap();
    here.send_to(b"too early", to).unwrap();
    // A device's packets are read in their order: now that one is.
    let other = udp(&network.hosts[1]);
    echo(&here, &other, b"the others are there");
    network.forwarder.add_port(port).unwrap();
    echo(&here, &there, b"present");
    drop(network.forwarder.remove_port(address(3)).unwrap());
    here.send_to(b"too late", to).unwrap();
    echo(&here, &other, b"the others remain");
    let counts = network.forwarder.counts().unwrap();
    assert_eq!(counts.unroutable, 2);

    let (_again, port) = host(3, 0).unwrap();
    network.forwarder.add_port(port).unwrap();
    let (_twin, twin) = host(3, 0).unwrap();
    let error = network.forwarder.add_port(twin).unwrap_err();
    assert!(matches!(error, WanError::AddressInUse(_)), "{error}");
    let error = network.forwarder.remove_port(address(9)).unwrap_err();
    assert_eq!(error.to_string(), "no host has the address 198.18.0.9");
}

#[test]
fn packets_that_nobody_reads_are_counted() {
    let Some((namespace, port)) = host(8, 0) else {
        return;
    };
    // No forwarder reads from the port.
    let socket = udp(&namespace);
    assert_eq!(namespace.dropped().unwrap(), 0);
    for _ in 0..20_000 {
        // The kernel may say that the queue is full, too.
        let _ = socket.send_to(b"?", (address(9), 9));
    }
    let dropped = namespace.dropped().unwrap();
    assert!((5_000..20_000).contains(&dropped), "{dropped}");
    drop(port);
}

#[test]
fn wrong_places_and_links_are_refused() {
    let Some(network) = network(between_two(Link::new(0))) else {
        return;
    };
    let error = network.forwarder.set_link(0, 2, Link::new(0)).unwrap_err();
    assert_eq!(error.to_string(), "place 2 does not exist: there are 2, from 0");
    let reorder = Link { reorder: 1.5, ..Link::new(0) };
    let error = network.forwarder.set_link(0, 1, reorder).unwrap_err();
    assert_eq!(
        error.to_string(),
        "link from place 0 to place 1: reorder must be a share from 0 to 1, not 1.5"
    );
    let (_host, port) = host(9, 5).unwrap();
    let error = network.forwarder.add_port(port).unwrap_err();
    assert!(matches!(error, WanError::NoSuchPlace { place: 5, .. }));
}

#[test]
fn programs_see_their_hosts_devices_alone() {
    let Some((namespace, _port)) = host(7, 0) else {
        return;
    };
    let mut command = Command::new("cat");
    command.arg("/proc/net/dev").stdout(Stdio::piped());
    let output = namespace.spawn(&mut command).unwrap().wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let mut names: Vec<_> =
        text.lines().skip(2).filter_map(|line| line.split(':').next().map(str::trim)).collect();
    names.retain(|name| ["lo", "wan0", "eth0"].contains(name));
    names.sort_unstable();
    assert_eq!(names, ["lo", "wan0"]);

    let there = namespace.run(|| UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)));
    let address = there.unwrap().unwrap().local_addr().unwrap();
    // Nobody of this test's own namespace listens there; if its loopback is down, it is not even reached.
    let here = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
    here.set_read_timeout(Some(DEADLINE)).unwrap();
    let sent = here.connect(address).and_then(|()| here.send(b"?"));
    let error = sent.and_then(|_| here.recv(&mut [0])).unwrap_err();
    assert_ne!(error.kind(), io::ErrorKind::WouldBlock, "{error}");
}
