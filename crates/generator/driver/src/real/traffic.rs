//! Traffic on the wire of a loop's connections, as the kernel's TCP counted it (`TCP_INFO`,
//! tcp(7)).
//!
//! Closed connections are read when they close, so that their sum is exact; of the open ones a sample
//! is read once a second, in turn, and stands for the others.

use std::os::fd::{AsFd, AsRawFd};

use engine::traffic::Traffic;

/// Open connections that a loop reads in a second. One takes about half a microsecond, and a precise loop
/// must not be away for long.
pub(super) const SAMPLE_MAX: usize = 100;
/// `TCPI_OPT_TIMESTAMPS` of linux/tcp.h.
const TIMESTAMPS: u8 = 1;
/// Headers of IPv4, IPv6 and TCP without options, and the timestamps option with its padding
/// (RFC 791, 8200, 9293; RFC 7323 appendix A), in bytes.
const IPV4_BYTES: u64 = 20;
const IPV6_BYTES: u64 = 40;
const TCP_BYTES: u64 = 20;
const TIMESTAMPS_BYTES: u64 = 12;

/// The beginning of `struct tcp_info` of linux/tcp.h, which only ever grows at its end.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct TcpInfo {
    state: u8,
    ca_state: u8,
    retransmits: u8,
    probes: u8,
    backoff: u8,
    options: u8,
    bits: [u8; 2],
    /// From `rto` to `rcv_space`.
    before: [u32; 23],
    total_retrans: u32,
    pacing_rates: [u64; 2],
    bytes_acked: u64,
    bytes_received: u64,
    segs_out: u32,
    segs_in: u32,
    /// `notsent_bytes`, `min_rtt`, `data_segs_in`, `data_segs_out`.
    between: [u32; 4],
    /// `delivery_rate`, `busy_time`, `rwnd_limited`, `sndbuf_limited`.
    times: [u64; 4],
    delivered: [u32; 2],
    bytes_sent: u64,
    bytes_retrans: u64,
}

/// Offsets of the fields that are read (linux/tcp.h).
const _: () = {
    assert!(std::mem::offset_of!(TcpInfo, total_retrans) == 100);
    assert!(std::mem::offset_of!(TcpInfo, bytes_received) == 128);
    assert!(std::mem::offset_of!(TcpInfo, segs_out) == 136);
    assert!(std::mem::offset_of!(TcpInfo, bytes_sent) == 200);
};

/// The kernel's counts of one connection so far; `None` if it does not report them.
pub(super) fn read(socket: &impl AsFd, ipv6: bool) -> Option<Traffic> {
    let mut info = TcpInfo::default();
    let mut size = size_of::<TcpInfo>() as libc::socklen_t;
    #[expect(unsafe_code, reason = "rustix has no call for this option")]
    // SAFETY: the pointers are to live values, and the size is that of the struct, of which any bytes
    // are valid; the descriptor is open.
    let result = unsafe {
        let raw = socket.as_fd().as_raw_fd();
        let value = (&raw mut info).cast();
        libc::getsockopt(raw, libc::IPPROTO_TCP, libc::TCP_INFO, value, &raw mut size)
    };
    (result == 0).then(|| from_info(&info, ipv6))
}

fn from_info(info: &TcpInfo, ipv6: bool) -> Traffic {
    let ip = if ipv6 { IPV6_BYTES } else { IPV4_BYTES };
    let options = if info.options & TIMESTAMPS != 0 { TIMESTAMPS_BYTES } else { 0 };
    let headers = ip + TCP_BYTES + options;
    let segments_out = u64::from(info.segs_out);
    let segments_in = u64::from(info.segs_in);
    Traffic {
        connections: 1,
        segments_out,
        segments_in,
        payload_out: info.bytes_sent.saturating_sub(info.bytes_retrans),
        payload_in: info.bytes_received,
        retransmits: u64::from(info.total_retrans),
        ip_out: info.bytes_sent + segments_out * headers,
        ip_in: info.bytes_received + segments_in * headers,
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{Ipv4Addr, TcpListener, TcpStream};

    use super::*;

    #[test]
    fn kernel_counts_match_what_was_sent() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        client.write_all(&[1; 300]).unwrap();
        server.read_exact(&mut [0; 300]).unwrap();
        server.write_all(&[2; 70]).unwrap();
        client.read_exact(&mut [0; 70]).unwrap();
        let traffic = read(&client, false).unwrap();
        assert_eq!((traffic.connections, traffic.payload_out, traffic.payload_in), (1, 300, 70));
        // SYN, its acknowledgement and the data at least, each way.
        assert!(traffic.segments_out >= 3 && traffic.segments_in >= 2, "{traffic:?}");
        assert_eq!(traffic.retransmits, 0);
        let header = (traffic.ip_out - traffic.payload_out) / traffic.segments_out;
        assert!([40, 52].contains(&header), "{traffic:?}");
        assert!(read(&std::io::stdin(), false).is_none());
    }
}
