//! Figures of TCP and IP.

use serde::Serialize;

/// Figures of connections on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Wire {
    SegmentsOut,
    SegmentsIn,
    PayloadOut,
    PayloadIn,
    Retransmits,
    IpBytesOut,
    IpBytesIn,
}

impl Wire {
    /// All by name.
    pub const ALL: &[(&str, Wire)] = &[
        ("segments_out", Wire::SegmentsOut),
        ("segments_in", Wire::SegmentsIn),
        ("payload_out", Wire::PayloadOut),
        ("payload_in", Wire::PayloadIn),
        ("retransmits", Wire::Retransmits),
        ("ip_bytes_out", Wire::IpBytesOut),
        ("ip_bytes_in", Wire::IpBytesIn),
    ];
}
