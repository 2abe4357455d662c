use proptest::prelude::*;

use super::*;

const HEADERS: usize = VNET_BYTES + 20 + 32;

/// A super-packet of TCP with timestamps, as the kernel makes it.
fn super_packet(payload: usize, mss: u16, flags: u8) -> Vec<u8> {
    let mut frame = vec![0; HEADERS + payload];
    frame[..10].copy_from_slice(&[NEEDS_CHECKSUM, GSO_TCP4, 52, 0, 0, 0, 20, 0, 16, 0]);
    frame[4..6].copy_from_slice(&mss.to_ne_bytes());
    let length = (52 + payload) as u16;
    let ip = &mut frame[VNET_BYTES..];
    ip[..12].copy_from_slice(&[0x45, 0, 0, 0, 0x12, 0xFF, 0x40, 0, 64, TCP, 0, 0]);
    ip[12..20].copy_from_slice(&[198, 18, 0, 1, 198, 18, 0, 2]);
    put(ip, 2, length);
    let checksum = !sum(&ip[..20], 0);
    put(ip, 10, checksum);
    let pseudo = sum(&ip[12..20], 6 + u32::from(length) - 20);
    let tcp = &mut ip[20..];
    tcp[..4].copy_from_slice(&[0x80, 1, 0, 80]);
    tcp[4..8].copy_from_slice(&0xFFFF_FF00_u32.to_be_bytes());
    tcp[12..14].copy_from_slice(&[8 << 4, flags]);
    put(tcp, 16, pseudo);
    for (byte, number) in tcp[32..].iter_mut().zip(0_u32..) {
        *byte = (number * 7 + (number >> 8)) as u8;
    }
    frame
}

fn cut(frame: &[u8], range: Range<usize>) -> Vec<u8> {
    let segments = parse(frame).unwrap().segments.unwrap();
    let mut target = vec![0xAA; segments.frame_bytes(&range)];
    cut_out(frame, &segments, range, &mut target);
    target
}

#[test]
fn addresses_flow_and_segments_are_read() {
    let frame = super_packet(3000, 1448, 0x10);
    let head = parse(&frame).unwrap();
    assert_eq!((head.source, head.destination), (0xC612_0001, 0xC612_0002));
    let segments = head.segments.unwrap();
    assert_eq!(segments.count(), 3);
    let bytes = [0, 1, 2].map(|segment| segments.packet_bytes(segment));
    assert_eq!(bytes, [1500, 1500, 52 + 104]);

    let mut other_port = frame.clone();
    other_port[HEADERS - 32] ^= 1;
    assert_ne!(parse(&other_port).unwrap().flow, head.flow);
    let mut later = frame.clone();
    later[HEADERS - 32 + 7] ^= 1;
    assert_eq!(parse(&later).unwrap().flow, head.flow);
}

#[test]
fn a_segment_is_what_the_kernel_would_have_made() {
    // FIN, PSH, ACK and CWR.
    let frame = super_packet(3000, 1448, 0x99);
    let middle = cut(&frame, 1..2);
    assert_eq!(middle.len(), HEADERS + 1448);
    assert_eq!(middle[..2], [NEEDS_CHECKSUM, GSO_NONE]);
    assert_eq!(middle[4..6], [0, 0]);
    let ip = &middle[VNET_BYTES..];
    assert_eq!(ip[2..6], [5, 0xDC, 0x13, 0]);
    assert_eq!(sum(&ip[..20], 0), 0xFFFF);
    // The sequence number wraps around; only ACK remains.
    assert_eq!(word(ip, 24), 0xFFFF_FF00_u32.wrapping_add(1448));
    assert_eq!(ip[33], 0x10);
    // The pseudo header: addresses, protocol and 1480 bytes.
    let pseudo = 0xC612 + 1 + 0xC612 + 2 + 6 + 1480_u32;
    let folded = (pseudo & 0xFFFF) + (pseudo >> 16);
    assert_eq!(u32::from(u16::from_be_bytes([ip[36], ip[37]])), folded);

    assert_eq!(cut(&frame, 0..1)[VNET_BYTES + 33], 0x90);
    let last = cut(&frame, 2..3);
    assert_eq!((last.len(), last[VNET_BYTES + 33]), (HEADERS + 104, 0x19));
    let two = cut(&frame, 1..3);
    assert_eq!(two[1], GSO_TCP4);
    assert_eq!(parse(&two).unwrap().segments.unwrap().count(), 2);
}

proptest! {
    #[test]
    fn all_segments_together_are_the_same_packet(payload in 1_usize..65_000, mss in 1_u16..3000) {
        let frame = super_packet(payload, mss, 0x18);
        let count = parse(&frame).unwrap().segments.unwrap().count();
        let mut whole = cut(&frame, 0..count);
        if count == 1 {
            whole[..VNET_BYTES].copy_from_slice(&frame[..VNET_BYTES]);
        }
        prop_assert!(whole == frame);
        let cut_at = count / 2;
        let parts = [0..cut_at, cut_at..count];
        let parts = parts.into_iter().filter(|range| !range.is_empty());
        let payload: Vec<u8> = parts.flat_map(|range| cut(&frame, range)[HEADERS..].to_vec()).collect();
        prop_assert!(payload == frame[HEADERS..]);
    }

    #[test]
    fn no_frame_panics(mut frame in prop::collection::vec(any::<u8>(), 0..200), v4: bool, tcp: bool) {
        if v4 && frame.len() > 20 {
            frame[0] = NEEDS_CHECKSUM;
            frame[1] = GSO_TCP4;
            frame[VNET_BYTES] = 0x45;
            if tcp {
                frame[VNET_BYTES + 9] = TCP;
            }
        }
        if let Some(Segments { .. }) = parse(&frame).and_then(|head| head.segments) {
            let segments = parse(&frame).unwrap().segments.unwrap();
            for segment in 0..segments.count() {
                let part = cut(&frame, segment..segment + 1);
                prop_assert_eq!(part.len(), VNET_BYTES + segments.packet_bytes(segment));
            }
        }
    }
}
