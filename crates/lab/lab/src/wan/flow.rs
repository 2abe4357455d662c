//! The traffic between two hosts.

use std::net::Ipv4Addr;

/// The traffic that one host has sent to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flow {
    /// The sender's address.
    pub from: Ipv4Addr,
    /// The receiver's address.
    pub to: Ipv4Addr,
    /// Bytes of packets that departed or will, with IP headers.
    pub bytes: u64,
}
