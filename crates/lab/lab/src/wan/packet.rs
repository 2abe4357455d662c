//! Packets as a TUN device hands them out: a `virtio_net_hdr`, then IPv4; and super-packets, which are several TCP
//! segments with one header (segmentation offload).

use std::ops::Range;

/// The bytes of a `virtio_net_hdr` (Virtual I/O Device specification 1.3, §5.1.6).
pub(crate) const VNET_BYTES: usize = 10;
/// The largest frame: header, and an IPv4 packet.
pub(crate) const FRAME_BYTES_MAX: usize = VNET_BYTES + 65_535;

const NEEDS_CHECKSUM: u8 = 1;
const GSO_NONE: u8 = 0;
const GSO_TCP4: u8 = 1;
const GSO_ECN: u8 = 0x80;
const TCP: u8 = 6;
const UDP: u8 = 17;
const IP_BYTES_MIN: usize = 20;
const TCP_BYTES_MIN: usize = 20;
const FIN: u8 = 0x01;
const PSH: u8 = 0x08;
const CWR: u8 = 0x80;

/// The forwarder's view of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Head {
    pub source: u32,
    pub destination: u32,
    /// Equal for all packets of one flow: a mix of addresses, protocol and ports.
    pub flow: u64,
    /// The segments of a super-packet; `None` for any other packet.
    pub segments: Option<Segments>,
}

/// How a super-packet is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Segments {
    /// Bytes of the IP header.
    ip_bytes: usize,
    /// Bytes of both headers.
    header_bytes: usize,
    /// Payload of each segment but the last.
    payload_bytes: usize,
    /// Payload of all.
    total_bytes: usize,
}

impl Segments {
    pub(crate) fn count(&self) -> usize {
        self.total_bytes.div_ceil(self.payload_bytes)
    }

    /// The bytes of a segment as a packet of its own, its headers included.
    pub(crate) fn packet_bytes(&self, segment: usize) -> usize {
        let before = segment * self.payload_bytes;
        self.header_bytes + self.payload_bytes.min(self.total_bytes - before)
    }

    /// The length of some consecutive segments as a frame.
    pub(crate) fn frame_bytes(&self, range: &Range<usize>) -> usize {
        VNET_BYTES + self.header_bytes + self.payload(range).len()
    }

    /// Position of their payload in that of all.
    fn payload(&self, range: &Range<usize>) -> Range<usize> {
        range.start * self.payload_bytes..self.total_bytes.min(range.end * self.payload_bytes)
    }
}

/// Reads a frame's headers; `None`: it is no IPv4 packet, or its lengths contradict each other.
pub(crate) fn parse(frame: &[u8]) -> Option<Head> {
    let packet = frame.get(VNET_BYTES..)?;
    let first = *packet.first()?;
    let ip_bytes = usize::from(first & 15) * 4;
    if first >> 4 != 4 || ip_bytes < IP_BYTES_MIN || packet.len() < ip_bytes {
        return None;
    }
    let source = word(packet, 12);
    let destination = word(packet, 16);
    let protocol = packet[9];
    let ports = match protocol {
        TCP | UDP if packet.len() >= ip_bytes + 4 => word(packet, ip_bytes),
        _ => 0,
    };
    let segments = match frame[1] & !GSO_ECN {
        GSO_NONE => None,
        GSO_TCP4 => Some(segments(frame, packet, ip_bytes)?),
        _ => return None,
    };
    let addresses = u64::from(source) << 32 | u64::from(destination);
    let flow = mix(addresses ^ u64::from(ports).rotate_left(16) ^ u64::from(protocol) << 56);
    Some(Head { source, destination, flow, segments })
}

fn segments(frame: &[u8], packet: &[u8], ip_bytes: usize) -> Option<Segments> {
    let payload_bytes = usize::from(u16::from_ne_bytes([frame[4], frame[5]]));
    let tcp_bytes = usize::from(packet.get(ip_bytes + 12)? >> 4) * 4;
    let header_bytes = ip_bytes + tcp_bytes;
    let total_bytes = packet.len().checked_sub(header_bytes)?;
    let is_whole = packet[9] == TCP && tcp_bytes >= TCP_BYTES_MIN && frame[0] & NEEDS_CHECKSUM != 0;
    (is_whole && payload_bytes > 0 && total_bytes > 0).then_some(Segments {
        ip_bytes,
        header_bytes,
        payload_bytes,
        total_bytes,
    })
}

/// Writes some consecutive segments of a super-packet as a frame of their own, of [`Segments::frame_bytes`]. Several
/// remain a super-packet. What changes is what the kernel changes when it segments (`tcp_gso_segment`): lengths, sequence
/// number, identification, and the flags that belong to the first or last segment.
pub(crate) fn cut_out(frame: &[u8], segments: &Segments, range: Range<usize>, target: &mut [u8]) {
    let ip_bytes = segments.ip_bytes;
    let header_bytes = segments.header_bytes;
    let Range { start, end } = segments.payload(&range);
    let headers = VNET_BYTES + header_bytes;
    target[..headers].copy_from_slice(&frame[..headers]);
    target[headers..].copy_from_slice(&frame[headers + start..headers + end]);
    if range.len() == 1 {
        target[1] = GSO_NONE;
        target[4..6].fill(0);
    }
    let packet = &mut target[VNET_BYTES..];
    let (ip, tcp) = packet.split_at_mut(ip_bytes);
    put(ip, 2, (header_bytes + end - start) as u16);
    let identification = u16::from_be_bytes([ip[4], ip[5]]).wrapping_add(range.start as u16);
    put(ip, 4, identification);
    put(ip, 10, 0);
    let checksum = !sum(ip, 0);
    put(ip, 10, checksum);

    let sequence = word(tcp, 4).wrapping_add(start as u32);
    tcp[4..8].copy_from_slice(&sequence.to_be_bytes());
    if end < segments.total_bytes {
        tcp[13] &= !(FIN | PSH);
    }
    if range.start > 0 {
        tcp[13] &= !CWR;
    }
    // The kernel completes the checksum from here: the sum of the pseudo header, with the length.
    let tcp_bytes = (header_bytes - ip_bytes + end - start) as u32;
    let pseudo = sum(&ip[12..20], u32::from(TCP) + tcp_bytes);
    put(tcp, 16, pseudo);
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn put(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

/// The ones' complement sum of RFC 1071 of an even number of bytes.
fn sum(bytes: &[u8], start: u32) -> u16 {
    let pairs = bytes.chunks_exact(2);
    let mut sum =
        pairs.fold(start, |sum, pair| sum + u32::from(u16::from_be_bytes([pair[0], pair[1]])));
    while sum > 0xFFFF {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    sum as u16
}

/// A multiplication and a shift, so that the low bits depend on all.
fn mix(value: u64) -> u64 {
    let value = value.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    value ^ value >> 32
}

#[cfg(test)]
mod tests;
