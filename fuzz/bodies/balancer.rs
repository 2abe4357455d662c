//! Fuzzing what the balancer reads of clients and backends: heads, and bodies in chunks.

use std::net::{IpAddr, Ipv4Addr};

use balancer::http::{Chunks, HeadSearch, Piece, read_request, read_response};

/// Heads of requests and responses: what is complete stays so when more bytes come.
pub(crate) fn forwarded_heads(data: &[u8]) {
    let client = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let wanted = HeadSearch { key_field: Some("x-user"), cookie: Some("server") };
    let request = |bytes: &[u8]| read_request(bytes, client, wanted).ok().flatten();
    let response = |bytes: &[u8]| read_response(bytes, false).ok().flatten();
    let whole = (request(data), response(data));
    for end in 0..data.len() {
        let part = (request(&data[..end]), response(&data[..end]));
        assert!(part.0.is_none() || part.0 == whole.0, "{end}");
        assert!(part.1.is_none() || part.1 == whole.1, "{end}");
    }
}

/// A body in chunks: how its bytes were cut changes nothing. The first byte says how large the pieces are.
pub(crate) fn chunks(data: &[u8]) {
    let Some((&first, wire)) = data.split_first() else {
        return;
    };
    let at_once = read_chunks(wire, wire.len().max(1));
    let in_pieces = read_chunks(wire, usize::from(first % 32) + 1);
    assert_eq!(at_once, in_pieces);
}

/// The body, and whether it has ended; `None`: it is malformed.
fn read_chunks(wire: &[u8], piece_bytes: usize) -> Option<(Vec<u8>, bool)> {
    let mut reader = Chunks::default();
    let mut kept = Vec::new();
    let mut body = Vec::new();
    for piece in wire.chunks(piece_bytes) {
        kept.extend_from_slice(piece);
        loop {
            let (piece, used) = reader.next(&kept).ok()?;
            match piece {
                Piece::Data(data) => body.extend_from_slice(data),
                Piece::Done => return Some((body, true)),
                Piece::Begin(_) | Piece::End | Piece::More => {}
            }
            let is_more = piece == Piece::More;
            kept.drain(..used);
            if is_more {
                break;
            }
        }
    }
    Some((body, false))
}
