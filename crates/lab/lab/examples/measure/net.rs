//! Two hosts with a forwarder between them.

use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::time::Duration;

use lab::wan::{Forwarder, Link, Namespace, Port, WanError};
use rustix::time::{ClockId, clock_gettime};

const MTU: u16 = 1500;

pub(crate) struct Net {
    pub hosts: Vec<Namespace>,
    pub forwarder: Forwarder,
}

impl Net {
    /// A host at each of two places, the same link in both directions.
    pub(crate) fn two(link: Link) -> Result<Net, WanError> {
        let own = Link::new(0);
        Net::new(vec![own, link, link, own], 1)
    }

    pub(crate) fn new(links: Vec<Link>, seed: u64) -> Result<Net, WanError> {
        let mut hosts = Vec::new();
        let mut ports = Vec::new();
        for place in 0..links.len().isqrt() as u16 {
            let address =
                Ipv4Addr::from(u32::from(Ipv4Addr::new(198, 18, 0, 1)) + u32::from(place));
            let (host, tun) = Namespace::create(address, MTU)?;
            hosts.push(host);
            ports.push(Port { address, place, tun });
        }
        let forwarder = Forwarder::start(ports, links, seed)?;
        Ok(Net { hosts, forwarder })
    }

    pub(crate) fn udp(&self, host: usize) -> std::io::Result<UdpSocket> {
        let host = &self.hosts[host];
        host.run(|| UdpSocket::bind((host.address(), 0)))?
    }

    pub(crate) fn listen(&self, host: usize) -> std::io::Result<TcpListener> {
        let host = &self.hosts[host];
        host.run(|| TcpListener::bind((host.address(), 0)))?
    }

    pub(crate) fn connect(&self, host: usize, to: &TcpListener) -> std::io::Result<TcpStream> {
        let to = to.local_addr()?;
        self.hosts[host].run(|| TcpStream::connect(to))?
    }
}

/// Since some time in the past.
pub(crate) fn now() -> Duration {
    let time = clock_gettime(ClockId::Monotonic);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
