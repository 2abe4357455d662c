//! Traffic of connections on the wire.

use serde::{Deserialize, Serialize};

/// Segments and bytes of TCP, as the kernel counted them, since the run's start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Traffic {
    /// Connections that it is of: those that were set up.
    pub connections: u64,
    /// Segments, those without payload too.
    pub segments_out: u64,
    pub segments_in: u64,
    /// Bytes of payload, each counted once; of TLS, its records.
    pub payload_out: u64,
    pub payload_in: u64,
    /// Segments that were sent again.
    pub retransmits: u64,
    /// Bytes of IP packets, estimated: payload and headers of all segments.
    pub ip_out: u64,
    pub ip_in: u64,
}

impl Traffic {
    /// Adds that of other connections.
    #[inline]
    pub fn add(&mut self, other: &Traffic) {
        self.each(other, u64::saturating_add);
    }

    /// That of `all` connections, of which `self` is a sample of `seen`.
    pub fn scaled(mut self, all: usize, seen: usize) -> Traffic {
        let scale = |own: u64| (u128::from(own) * all as u128 / seen.max(1) as u128) as u64;
        self.each(&Traffic::default(), |own, _| scale(own));
        self
    }

    fn each(&mut self, other: &Traffic, with: impl Fn(u64, u64) -> u64) {
        let Traffic {
            connections,
            segments_out,
            segments_in,
            payload_out,
            payload_in,
            retransmits,
            ip_out,
            ip_in,
        } = self;
        for (own, other) in [
            (connections, other.connections),
            (segments_out, other.segments_out),
            (segments_in, other.segments_in),
            (payload_out, other.payload_out),
            (payload_in, other.payload_in),
            (retransmits, other.retransmits),
            (ip_out, other.ip_out),
            (ip_in, other.ip_in),
        ] {
            *own = with(*own, other);
        }
    }

    /// All of its numbers.
    pub fn numbers(&self) -> [u64; 8] {
        [
            self.connections,
            self.segments_out,
            self.segments_in,
            self.payload_out,
            self.payload_in,
            self.retransmits,
            self.ip_out,
            self.ip_in,
        ]
    }
}
