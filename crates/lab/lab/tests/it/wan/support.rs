//! A network for a test.

use std::net::{Ipv4Addr, UdpSocket};
use std::time::Duration;

use lab::wan::{Forwarder, Link, Namespace, Port, WanError};
use testkit::needs;

/// The deadline of what a test waits for; reached only if it fails.
pub(crate) const DEADLINE: Duration = Duration::from_secs(20);
const MTU: u16 = 1500;

/// Hosts and the forwarder between them.
pub(crate) struct Network {
    pub hosts: Vec<Namespace>,
    pub forwarder: Forwarder,
}

/// The address of a host.
pub(crate) fn address(host: u8) -> Ipv4Addr {
    Ipv4Addr::new(198, 18, 0, host)
}

/// A host of this number at a place; `None`, reported as skipped, without the permission.
pub(crate) fn host(number: u8, place: u16) -> Option<(Namespace, Port)> {
    let address = address(number);
    match Namespace::create(address, MTU) {
        Ok((namespace, tun)) => Some((namespace, Port { address, place, tun })),
        Err(error @ (WanError::NotPermitted { .. } | WanError::NoTun)) => {
            needs::skip(&error.to_string());
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// A host at each place of the matrix.
pub(crate) fn network(links: Vec<Link>) -> Option<Network> {
    let places = links.len().isqrt() as u16;
    let mut hosts = Vec::new();
    let mut ports = Vec::new();
    for place in 0..places {
        let (host, port) = host(place as u8 + 1, place)?;
        hosts.push(host);
        ports.push(port);
    }
    let forwarder = Forwarder::start(ports, links, 1).unwrap();
    Some(Network { hosts, forwarder })
}

/// Two places with the same link in both directions, and perfect links within.
pub(crate) fn between_two(link: Link) -> Vec<Link> {
    let own = Link::new(0);
    vec![own, link, link, own]
}

/// A socket on a host, whose receives end at the deadline.
pub(crate) fn udp(host: &Namespace) -> UdpSocket {
    let socket = host.run(|| UdpSocket::bind((host.address(), 0)));
    let socket = socket.unwrap().unwrap();
    socket.set_read_timeout(Some(DEADLINE)).unwrap();
    socket
}
