//! The lab's wide-area network: hosts as network namespaces, and a forwarder or netem that delays and loses their packets.
//!
//! An emulated host is a [`Namespace`] with one device. A [`Network`] connects the hosts of places by [`Link`]s. Two
//! emulate it:
//!
//! - The [`Forwarder`] holds the other ends of all hosts' devices, which are TUN devices: it reads each packet, finds the
//!   host of its destination, and has the link between the places of the two hosts decide when the packet departs or
//!   whether it is lost. Links are pure: time and randomness are arguments.
//! - The kernel's netem, where the kernel has it, behind devices that `ip` and `tc` make. Packets stay in the kernel.
#![deny(missing_docs)]

mod buffers;
pub mod calibrate;
mod choice;
mod departures;
mod flow;
pub mod forwarder;
pub mod link;
pub mod namespace;
mod netem;
pub mod network;
mod packet;
mod sys;
pub mod table;

pub use choice::{Choice, EmulatorRequest, choose, start};
pub use flow::Flow;
pub use forwarder::{Counts, Forwarder, PairCounts, Port};
pub use link::{Backlog, Fate, Jitter, Link, LinkError, LinkState, Loss, LossReason, Rate};
pub use namespace::Namespace;
pub use netem::{Suits, available as netem_available, suits as netem_suits};
pub use network::{Emulator, Late, MTU, Network, NetworkCounts, Subnet};

use std::io;
use std::net::Ipv4Addr;

/// Why there is no network.
#[derive(Debug, thiserror::Error)]
pub enum WanError {
    /// The kernel refuses what needs a capability.
    #[error(
        "may not {what}: run as root, or in a user and network namespace of your own \
         (`unshare --user --map-root-user --net`); it needs CAP_SYS_ADMIN and CAP_NET_ADMIN, \
         and may open /dev/net/tun"
    )]
    NotPermitted {
        /// The attempted action.
        what: &'static str,
    },
    /// There is no TUN device.
    #[error("this kernel has no /dev/net/tun: load the module `tun` (`modprobe tun`)")]
    NoTun,
    /// Another system call failed.
    #[error("cannot {what}: {source}")]
    System {
        /// The attempted action.
        what: &'static str,
        /// The kernel's reason.
        source: io::Error,
    },
    /// Two hosts have the same address.
    #[error("address {0} is in use by another host: give each host one of its own")]
    AddressInUse(Ipv4Addr),
    /// No host has this address.
    #[error("no host has the address {0}")]
    NoSuchAddress(Ipv4Addr),
    /// A host's address is none of its place's.
    #[error("the address {address} is none of place {place}, which has {subnet}")]
    WrongPlace {
        /// The address.
        address: Ipv4Addr,
        /// The place.
        place: u16,
        /// Addresses of the place.
        subnet: Subnet,
    },
    /// The kernel was built without netem.
    #[error(
        "this kernel has no netem ({0}): load the module `sch_netem` (`modprobe sch_netem`), or write `network: forwarder`"
    )]
    NoNetem(String),
    /// A link that netem does not emulate.
    #[error("netem cannot do {0}: write `network: forwarder`")]
    NotByNetem(&'static str),
    /// A program that makes devices and queues is missing.
    #[error("`{0}` is not installed: on Debian, `sudo apt-get install iproute2`")]
    NoProgram(&'static str),
    /// A program failed.
    #[error("`{program}` refuses: {said}")]
    Program {
        /// Name of the program.
        program: &'static str,
        /// The program's complaint, and its task.
        said: String,
    },
    /// The kernel does not switch devices on.
    #[error("the devices of the network do not come up")]
    NotUp,
    /// A place without a row in the matrix of links.
    #[error("place {place} does not exist: there are {places}, from 0")]
    NoSuchPlace {
        /// The given place.
        place: u16,
        /// How many there are.
        places: u16,
    },
    /// The links are no square matrix.
    #[error("{0} links are no matrix of places × places")]
    NotAMatrix(usize),
    /// A link's value is out of its range.
    #[error("link from place {from} to place {to}: {source}")]
    Link {
        /// The sender's place.
        from: u16,
        /// The receiver's place.
        to: u16,
        /// The problem of the link.
        source: LinkError,
    },
    /// The forwarder's thread ended.
    #[error("the forwarder has stopped")]
    Stopped,
}

impl WanError {
    /// The error of a system call.
    fn system(what: &'static str, source: impl Into<io::Error>) -> WanError {
        let source = source.into();
        match source.kind() {
            io::ErrorKind::PermissionDenied => WanError::NotPermitted { what },
            _ => WanError::System { what, source },
        }
    }
}
