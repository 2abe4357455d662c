//! Fuzzing the codecs: any bytes, at once and in pieces. Nothing panics, and how the bytes were cut
//! changes nothing.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use proto::frame::{Counts, Delimiter, Framing, LengthField, Marks, Width};
use proto::proxy::{Credentials, Handshake, Host, Kind, Tunnel};
use proto::{Limits, frame, h2, http1, sse, ws};

/// Small, so that inputs reach them.
const LIMITS: Limits = Limits {
    head_bytes_max: 1 << 10,
    headers_count_max: 8,
    body_bytes_max: 1 << 12,
    message_bytes_max: 1 << 10,
};

/// What one call of a decoder did: bytes consumed, and whether there was an event.
type Step = Result<(usize, bool), ()>;

/// Offers `wire` to a decoder, `piece_bytes` more at a time, as its contract says.
fn feed(wire: &[u8], piece_bytes: usize, mut decode: impl FnMut(&[u8]) -> Step) -> Result<(), ()> {
    let mut front = 0;
    let mut end = 0;
    while end < wire.len() {
        end = (end + piece_bytes).min(wire.len());
        loop {
            let (consumed, had_event) = decode(&wire[front..end])?;
            front += consumed;
            assert!(front <= end, "a decoder consumed more than it was offered");
            if consumed == 0 && !had_event {
                break;
            }
        }
    }
    Ok(())
}

/// The first byte says how large the pieces are; `read` must find the same in them as at once.
fn cut_anywhere<T: PartialEq + std::fmt::Debug>(
    data: &[u8],
    read: impl Fn(u8, &[u8], usize) -> Result<T, ()>,
) {
    let Some((&first, wire)) = data.split_first() else {
        return;
    };
    let at_once = read(first, wire, wire.len());
    let in_pieces = read(first, wire, usize::from(first % 32) + 1);
    assert_eq!(at_once, in_pieces);
}

/// HTTP/1.1 responses.
pub(crate) fn http1(data: &[u8]) {
    cut_anywhere(data, |first, wire, piece_bytes| {
        let is_head_request = first >= 128;
        let mut decoder = http1::Decoder::new();
        decoder.begin(is_head_request);
        let mut heads = Vec::new();
        let mut body = Vec::new();
        feed(wire, piece_bytes, |input| {
            let (consumed, event) = decoder.decode(input, &LIMITS).map_err(drop)?;
            let is_end = matches!(event, Some(http1::Event::End));
            match &event {
                Some(http1::Event::Head(head)) => heads.push(format!("{head:?}")),
                Some(http1::Event::Body(bytes)) => body.extend_from_slice(bytes),
                Some(http1::Event::End) | None => {}
            }
            let had_event = event.is_some();
            if is_end {
                decoder.begin(is_head_request);
            }
            Ok((consumed, had_event))
        })?;
        Ok((heads, body))
    });
}

/// What a server of HTTP/2 sends to a client with three requests in flight.
pub(crate) fn h2(data: &[u8]) {
    cut_anywhere(data, |first, wire, piece_bytes| {
        let mut sent = Vec::new();
        let mut events = Vec::new();
        let mut bodies: BTreeMap<u32, Vec<u8>> = BTreeMap::new();
        let mut scratch = h2::Scratch::default();
        let mut connection = h2::Connection::new(&h2::Settings::DEFAULT, &LIMITS, &mut sent);
        for token in 0..3 {
            let request = h2::Request {
                token,
                block: &[0x82, 0x84, 0x86],
                body: &[b'x'; 100],
                is_head: token == 0 && first >= 128,
                is_endless: token == 1,
            };
            connection.request(&request, &mut sent);
        }
        // Two tunnels (RFC 8441), the second of which is closed at once.
        for token in 3..5 {
            let request = h2::Request {
                token,
                block: &[0x82, 0x84, 0x86],
                body: b"",
                is_head: false,
                is_endless: true,
            };
            let id = connection.tunnel(&request, &mut sent);
            if token == 4 {
                connection.close(id, &mut sent);
            }
        }
        feed(wire, piece_bytes, |input| {
            let decoded = connection.decode(input, &LIMITS, &mut scratch, &mut sent);
            let (consumed, event) = decoded.map_err(drop)?;
            match &event {
                Some(h2::Event::Body { token, piece }) => {
                    bodies.entry(*token).or_default().extend_from_slice(piece);
                }
                Some(event) => {
                    if let h2::Event::End { token, .. } = event {
                        events.push(format!("{:?}", bodies.get(token)));
                    }
                    events.push(format!("{event:?}"));
                }
                None => {}
            }
            Ok((consumed, event.is_some()))
        })?;
        assert!(connection.memory_bytes() < 64 << 10, "a peer makes us keep little");
        Ok((events, sent))
    });
}

/// WebSocket messages, plain and compressed.
pub(crate) fn ws(data: &[u8]) {
    cut_anywhere(data, |_, wire, piece_bytes| {
        let mut decoder = ws::Decoder::new();
        let mut events = Vec::new();
        feed(wire, piece_bytes, |input| {
            let (consumed, event) = decoder.decode(input, &LIMITS).map_err(drop)?;
            events.extend(event.as_ref().map(|event| format!("{event:?}")));
            Ok((consumed, event.is_some()))
        })?;
        Ok(events)
    });
    cut_anywhere(data, |first, wire, piece_bytes| {
        let mut decoder = ws::InflatingDecoder::new(ws::DeflateParameters {
            client_context: false,
            server_context: first >= 128,
            client_window_bits: ws::WINDOW_BITS_MAX,
        });
        let mut events = Vec::new();
        feed(wire, piece_bytes, |input| {
            let (consumed, event) = decoder.decode(input, &LIMITS).map_err(drop)?;
            events.extend(event.as_ref().map(|event| format!("{event:?}")));
            Ok((consumed, event.is_some()))
        })?;
        Ok(events)
    });
}

/// Event streams.
pub(crate) fn sse(data: &[u8]) {
    cut_anywhere(data, |_, wire, piece_bytes| {
        let mut decoder = sse::Decoder::new();
        let mut events = Vec::new();
        feed(wire, piece_bytes, |input| {
            let (consumed, event) = decoder.decode(input, &LIMITS).map_err(drop)?;
            events.extend(event.as_ref().map(|event| format!("{event:?}")));
            Ok((consumed, event.is_some()))
        })?;
        Ok(events)
    });
}

/// What proxies answer; the first byte says which kind of proxy it is.
pub(crate) fn proxies(data: &[u8]) {
    cut_anywhere(data, |first, wire, piece_bytes| {
        let kind = match first < 128 {
            true => Kind::Connect,
            false => Kind::Socks5,
        };
        let credentials = Credentials { user: "ann", password: "secret" };
        let host = Host::Name("example.org");
        let tunnel = Tunnel::new(kind, host, 443, (first % 2 == 0).then_some(credentials))
            .expect("short texts");
        let mut sent = Vec::new();
        let mut handshake = Handshake::begin(&tunnel, &mut sent);
        let mut is_open = false;
        let mut rest = Vec::new();
        feed(wire, piece_bytes, |input| {
            if is_open {
                rest.extend_from_slice(input);
                return Ok((input.len(), false));
            }
            let (consumed, open) = handshake.decode(&tunnel, input, &mut sent).map_err(drop)?;
            is_open = open;
            Ok((consumed, open))
        })?;
        Ok((sent, is_open, rest))
    });
}

/// Messages on plain TCP; the second byte chooses the framing.
pub(crate) fn frames(data: &[u8]) {
    cut_anywhere(data, |_, wire, piece_bytes| {
        let Some((&kind, wire)) = wire.split_first() else {
            return Ok(Vec::new());
        };
        let framing = framing(kind);
        let mut decoder = frame::Decoder::new();
        let mut messages = Vec::new();
        feed(wire, piece_bytes, |input| {
            let (consumed, frame) = decoder.decode(&framing, input, &LIMITS).map_err(drop)?;
            messages.extend(frame.as_ref().map(|frame| frame.payload().to_vec()));
            Ok((consumed, frame.is_some()))
        })?;
        Ok(messages)
    });
}

fn framing(kind: u8) -> Framing {
    let width = [Width::One, Width::Two, Width::Four, Width::Eight][usize::from(kind >> 2 & 3)];
    let marks = match kind & 3 {
        0 => Marks::Fixed(NonZeroUsize::MIN.saturating_add(usize::from(kind >> 2))),
        1 if kind & 4 != 0 => Marks::Varint { at: usize::from(kind >> 5 & 1) },
        1 => Delimiter::new(b"\r\n".to_vec()).map_or(Marks::Nothing, Marks::Delimiter),
        _ => Marks::Length(LengthField {
            width,
            little_endian: kind & 16 != 0,
            at: usize::from(kind >> 5 & 1),
            counts: [Counts::Rest, Counts::Payload, Counts::Frame][usize::from(kind >> 6) % 3],
        }),
    };
    Framing { marks, header: usize::from(kind >> 5 & 1) }
}
