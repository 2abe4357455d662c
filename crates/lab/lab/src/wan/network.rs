//! The network between hosts, whoever emulates it.

use std::fmt;
use std::net::Ipv4Addr;
use std::time::Duration;

use crate::wan::{Flow, Forwarder, Link, Namespace, Port, WanError};

/// The largest packet of a host, in bytes: Ethernet's.
pub const MTU: u16 = 1500;

/// The emulator of a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Emulator {
    /// The [`Forwarder`], a thread of this process.
    Forwarder,
    /// The kernel's queueing discipline of that name.
    Netem,
}

impl Emulator {
    /// In a word.
    pub const fn name(self) -> &'static str {
        match self {
            Emulator::Forwarder => "forwarder",
            Emulator::Netem => "netem",
        }
    }
}

/// The addresses that the hosts of a place have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Subnet {
    /// The first address, which no host has.
    pub first: Ipv4Addr,
    /// How many leading bits they have in common, 1 to 32.
    pub prefix: u8,
}

impl Subnet {
    /// Whether an address is one of them.
    pub fn contains(self, address: Ipv4Addr) -> bool {
        let differs = u32::from(self.first) ^ u32::from(address);
        differs.leading_zeros() >= u32::from(self.prefix)
    }
}

impl fmt::Display for Subnet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.first, self.prefix)
    }
}

/// Counts of a network since its start, or since it was reset.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct NetworkCounts {
    /// Packets that passed.
    pub packets: u64,
    /// Packets that links lost as was requested: by their losses, queues and cuts.
    pub lost: u64,
    /// Packets that the network lost by itself.
    pub overflow: u64,
    /// How late packets were; `None`: it is not counted.
    pub late: Option<Late>,
    /// CPU time; `None`: it is not counted.
    pub cpu: Option<Duration>,
}

/// How late packets were.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Late {
    /// The 99th percentile, in nanoseconds.
    pub p99_ns: u64,
    /// The latest, in nanoseconds.
    pub max_ns: u64,
}

/// Hosts, and a link in each direction between each two of their places. It ends when it is dropped.
pub trait Network: fmt::Debug + Send + Sync {
    /// The emulator of this network.
    fn emulator(&self) -> Emulator;

    /// Makes a host and its way into the network.
    ///
    /// # Errors
    /// The place does not exist or does not have this address, the address is in use, or the kernel refuses.
    fn add_host(&self, place: u16, address: Ipv4Addr) -> Result<Namespace, WanError>;

    /// Replaces the link from one place to another; one that is cut passes nothing. Packets under way keep their time.
    ///
    /// # Errors
    /// A place does not exist, the link is wrong, or it cannot be emulated.
    fn set_link(&self, from: u16, to: u16, link: Link) -> Result<(), WanError>;

    /// The link from one place to another, as it is now.
    ///
    /// # Errors
    /// A place does not exist.
    fn link(&self, from: u16, to: u16) -> Result<Link, WanError>;

    /// Counts of the network. Packets that a host's own device dropped are in [`Namespace::dropped`].
    ///
    /// # Errors
    /// The network has ended.
    fn done(&self) -> Result<NetworkCounts, WanError>;

    /// The traffic between hosts since the network's start, or since it was reset, in the order of addresses;
    /// `None`: it is not counted.
    ///
    /// # Errors
    /// The network has ended.
    fn flows(&self) -> Result<Option<Vec<Flow>>, WanError> {
        Ok(None)
    }

    /// Counts again from zero.
    ///
    /// # Errors
    /// The network has ended.
    fn reset(&self) -> Result<(), WanError>;
}

impl Network for Forwarder {
    fn emulator(&self) -> Emulator {
        Emulator::Forwarder
    }

    fn add_host(&self, place: u16, address: Ipv4Addr) -> Result<Namespace, WanError> {
        let (host, tun) = Namespace::create(address, MTU)?;
        self.add_port(Port { address, place, tun })?;
        Ok(host)
    }

    fn set_link(&self, from: u16, to: u16, link: Link) -> Result<(), WanError> {
        Forwarder::set_link(self, from, to, link)
    }

    fn link(&self, from: u16, to: u16) -> Result<Link, WanError> {
        Forwarder::link(self, from, to)
    }

    fn done(&self) -> Result<NetworkCounts, WanError> {
        let counts = self.counts()?;
        let total = counts.total();
        Ok(NetworkCounts {
            packets: total.packets,
            lost: total.lost + total.queue_full + total.cut,
            overflow: total.overflow + counts.refused,
            late: Some(Late { p99_ns: counts.late_p99_ns(), max_ns: counts.late_max_ns() }),
            cpu: Some(counts.cpu),
        })
    }

    fn flows(&self) -> Result<Option<Vec<Flow>>, WanError> {
        Forwarder::flows(self).map(Some)
    }

    fn reset(&self) -> Result<(), WanError> {
        self.reset_counts()
    }
}
