//! All but netem itself, on the real kernel: another discipline stands in its place, which delays nothing, lets a rate
//! through, and drops everything of a link that is cut.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::thread;
use std::time::Duration;

use testkit::needs;

use super::*;
use crate::wan::link::{Backlog, Rate};

const DEADLINE: Duration = Duration::from_secs(20);

/// A token bucket; one that is too small for any packet drops it (tc-tbf(8)).
fn bucket(link: &Link) -> String {
    let rate = link.rate.map_or(10_000_000_000, |rate| rate.bits_per_s);
    match link.cut {
        true => "tbf rate 8kbit burst 1 limit 1".to_owned(),
        false => format!("tbf rate {rate}bit burst 65536 limit 10000000"),
    }
}

fn subnets(places: u8) -> Vec<Subnet> {
    let subnet = |place| Subnet { first: Ipv4Addr::new(198, 18, 4 * place, 0), prefix: 22 };
    (0..places).map(subnet).collect()
}

fn address(place: u16, host: u8) -> Ipv4Addr {
    Ipv4Addr::new(198, 18, 4 * place as u8, host)
}

/// A network of perfect links; `None`, reported as skipped, without rights or iproute2.
fn network(places: u8) -> Option<Netem> {
    let links = vec![Link::new(0); usize::from(places).pow(2)];
    match Netem::with(&subnets(places), links, bucket) {
        Ok(network) => Some(network),
        Err(error @ (WanError::NotPermitted { .. } | WanError::NoProgram(_))) => {
            needs::skip(&error.to_string());
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn udp(host: &Namespace) -> UdpSocket {
    let socket = host.run(|| UdpSocket::bind((host.address(), 0)));
    let socket = socket.unwrap().unwrap();
    socket.set_read_timeout(Some(DEADLINE)).unwrap();
    socket
}

/// Sends a text that comes back.
fn echo(from: &UdpSocket, to: &UdpSocket) {
    let mut buffer = [0; 64];
    from.send_to(b"hello", to.local_addr().unwrap()).unwrap();
    let (length, sender) = to.recv_from(&mut buffer).unwrap();
    assert_eq!(sender, from.local_addr().unwrap());
    to.send_to(&buffer[..length], sender).unwrap();
    assert_eq!(from.recv(&mut buffer).unwrap(), 5);
}

/// What each link's discipline counted.
fn sent(network: &Netem) -> Vec<u64> {
    let text = program::counts(&network.middle).unwrap();
    let sent = counts::read(&text, network.subnets.len());
    sent.iter().map(|sent| sent.packets).collect()
}

#[test]
fn each_packet_passes_the_discipline_of_its_link_alone() {
    let Some(network) = network(3) else { return };
    let hosts = [(0, 1), (0, 2), (1, 1), (2, 1)]
        .map(|(place, host)| network.add_host(place, address(place, host)).unwrap());
    let sockets = hosts.each_ref().map(udp);
    // There is a link within the first place, too.
    for (from, to, times) in [(0, 1, 1), (0, 2, 2), (1, 2, 3), (2, 3, 4), (3, 0, 5)] {
        for _ in 0..times {
            echo(&sockets[from], &sockets[to]);
        }
    }
    assert_eq!(sent(&network), [2, 5, 5, 5, 0, 4, 5, 4, 0]);
    let done = network.done().unwrap();
    assert_eq!((done.packets, done.lost, done.overflow), (30, 0, 0));
    assert_eq!((done.late, done.cpu), (None, None));
    network.reset().unwrap();
    assert_eq!(network.done().unwrap(), NetworkCounts::default());
    echo(&sockets[0], &sockets[2]);
    assert_eq!(network.done().unwrap().packets, 2);
}

#[test]
fn a_cut_link_passes_nothing_in_one_direction_until_it_is_restored() {
    let Some(network) = network(2) else { return };
    let hosts = [0, 1].map(|place| network.add_host(place, address(place, 1)).unwrap());
    let [here, there] = hosts.each_ref().map(udp);
    let link = network.link(0, 1).unwrap();
    let cut = Link { cut: true, ..link };
    network.set_link(0, 1, cut).unwrap();
    assert_eq!(network.link(0, 1).unwrap(), cut);
    here.send_to(b"lost", there.local_addr().unwrap()).unwrap();
    // The other direction is another link.
    there.send_to(b"passes", here.local_addr().unwrap()).unwrap();
    assert_eq!(here.recv(&mut [0; 64]).unwrap(), 6);
    network.set_link(0, 1, link).unwrap();
    echo(&here, &there);
    // What the cut link dropped was counted before it was restored.
    let done = network.done().unwrap();
    assert_eq!((done.packets, done.lost, done.overflow), (3, 1, 0));
}

#[test]
fn drops_of_a_link_that_loses_nothing_are_the_networks_own() {
    let Some(network) = network(2) else { return };
    let hosts = [0, 1].map(|place| network.add_host(place, address(place, 1)).unwrap());
    let [here, there] = hosts.each_ref().map(udp);
    let small = "qdisc change dev out0 parent 1:2 handle 3: tbf rate 8kbit burst 1 limit 1\n";
    program::tc(&network.middle, small).unwrap();
    here.send_to(b"dropped", there.local_addr().unwrap()).unwrap();
    there.send_to(b"passes", here.local_addr().unwrap()).unwrap();
    assert_eq!(here.recv(&mut [0; 64]).unwrap(), 6);
    let done = network.done().unwrap();
    assert_eq!((done.packets, done.lost, done.overflow), (1, 0, 1));
}

/// With several segments in one, netem would lose them all at once.
#[test]
fn tcp_sends_its_segments_one_by_one() {
    let Some(network) = network(2) else { return };
    let hosts = [0, 1].map(|place| network.add_host(place, address(place, 1)).unwrap());
    let listener = hosts[1].run(|| TcpListener::bind((hosts[1].address(), 0)));
    let listener = listener.unwrap().unwrap();
    let to = listener.local_addr().unwrap();
    let stream = hosts[0].run(|| TcpStream::connect_timeout(&to, DEADLINE));
    let mut stream = stream.unwrap().unwrap();
    let (mut accepted, _) = listener.accept().unwrap();
    let bytes = 1_000_000;
    let reader = thread::spawn(move || {
        let mut read = Vec::new();
        accepted.read_to_end(&mut read).unwrap();
        read.len()
    });
    stream.write_all(&vec![7; bytes]).unwrap();
    drop(stream);
    assert_eq!(reader.join().unwrap(), bytes);
    let packets = sent(&network)[1];
    let segment = 1500 - 40;
    assert!(packets as usize >= bytes / segment, "{packets}");
}

#[test]
fn a_rate_is_the_links_and_calibration_measures_it() {
    use crate::wan::calibrate::{Pair, measure_rate};

    let Some(network) = network(2) else { return };
    let hosts = [0, 1].map(|place| network.add_host(place, address(place, 1)).unwrap());
    let link = Link {
        rate: Some(Rate { bits_per_s: 8_000_000, backlog: Backlog::Bytes(30_000) }),
        ..Link::new(0)
    };
    network.set_link(0, 1, link).unwrap();
    let [from, to] = hosts.each_ref();
    let bits = measure_rate(Pair { from, to }, 32_000_000, Duration::from_millis(500)).unwrap();
    assert!((0.0..10_000_000.0).contains(&bits), "{bits}");
    let done = network.done().unwrap();
    assert!(done.packets > 0, "{done:?}");
}

#[test]
fn wrong_hosts_and_links_are_refused() {
    let Some(network) = network(2) else { return };
    let _host = network.add_host(0, address(0, 1)).unwrap();
    let again = network.add_host(0, address(0, 1)).unwrap_err();
    assert!(matches!(again, WanError::AddressInUse(_)), "{again}");
    let elsewhere = network.add_host(0, address(1, 1)).unwrap_err();
    assert!(matches!(elsewhere, WanError::WrongPlace { .. }), "{elsewhere}");
    let nowhere = network.add_host(2, address(2, 1)).unwrap_err();
    assert!(matches!(nowhere, WanError::NoSuchPlace { .. }), "{nowhere}");
    let slow = network.set_link(0, 1, Link::new(u64::MAX)).unwrap_err();
    assert!(matches!(slow, WanError::Link { .. }), "{slow}");
    let access = Link::new(1).through(&Link::new(1));
    let access = network.set_link(0, 1, access).unwrap_err();
    assert!(matches!(access, WanError::NotByNetem(_)), "{access}");
    assert_eq!(network.link(0, 1).unwrap(), Link::new(0));
    let overlapping = [subnets(1), subnets(1)].concat();
    let refused = Netem::with(&overlapping, vec![Link::new(0); 4], bucket).unwrap_err();
    assert!(matches!(refused, WanError::AddressInUse(_)), "{refused}");
    let few = Netem::with(&subnets(2), vec![Link::new(0); 3], bucket).unwrap_err();
    assert!(matches!(few, WanError::NotAMatrix(3)), "{few}");
}
