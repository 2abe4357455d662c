//! The lab's wide-area network: hosts as network namespaces, and a forwarder that delays and loses their packets.
//!
//! An emulated host is a [`Namespace`] with one TUN device. The [`Forwarder`] holds the other ends of all devices:
//! it reads each packet, finds the host of its destination, and has the [`Link`] between the places of the two hosts
//! decide when the packet departs or whether it is lost. Links are pure: time and randomness are arguments.
#![deny(missing_docs)]

mod buffers;
pub mod calibrate;
mod departures;
pub mod forwarder;
pub mod link;
pub mod namespace;
pub mod network;
mod packet;
mod sys;
pub mod table;

pub use forwarder::{Counts, Forwarder, PairCounts, Port};
pub use link::{Backlog, Fate, Jitter, Link, LinkError, LinkState, Loss, Rate, Why};
pub use namespace::Namespace;
pub use network::{Done, Emulator, Late, MTU, Network};

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
        /// What was attempted.
        what: &'static str,
    },
    /// There is no TUN device.
    #[error("this kernel has no /dev/net/tun: load the module `tun` (`modprobe tun`)")]
    NoTun,
    /// Another system call failed.
    #[error("cannot {what}: {source}")]
    System {
        /// What was attempted.
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
    /// A place without a row in the matrix of links.
    #[error("place {place} does not exist: there are {places}, from 0")]
    NoSuchPlace {
        /// As given.
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
        /// What is wrong with it.
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
