//! The codecs' hot paths: one response, one WebSocket message, one event, one frame.

use std::hint::black_box;

use divan::counter::BytesCount;
use divan::{AllocProfiler, Bencher};
use proto::frame::{Counts, Framing, LengthField, Marks, Width};
use proto::{Limits, frame, http1, sse, ws};

/// Shows what each call allocates: the hot paths must not.
#[global_allocator]
static ALLOCATIONS: AllocProfiler = AllocProfiler::system();

const LIMITS: Limits = Limits::DEFAULT;

const RESPONSE: &[u8] =
    b"HTTP/1.1 200 OK\r\ndate: Sun, 22 Nov 2026 21:00:00 GMT\r\nserver: throng\r\n\
    content-type: application/json\r\ncontent-length: 13\r\n\r\n{\"hello\": 1}\n";

fn main() {
    divan::main();
}

#[divan::bench]
fn http1_response_of_known_head(bencher: Bencher<'_, '_>) {
    let bencher = bencher.counter(BytesCount::of_slice(RESPONSE));
    let mut heads = http1::Heads::new(LIMITS);
    bencher.bench_local(|| {
        let mut decoder = http1::Decoder::new();
        decoder.begin(false);
        let whole = decoder.decode_whole(black_box(RESPONSE), &mut heads);
        assert!(whole.is_ok_and(|whole| whole.is_some()));
    });
}

#[divan::bench]
fn http1_head(bencher: Bencher<'_, '_>) {
    let bencher = bencher.counter(BytesCount::of_slice(RESPONSE));
    bencher.bench_local(|| {
        let mut decoder = http1::Decoder::new();
        decoder.begin(false);
        let head = decoder.decode(black_box(RESPONSE), &LIMITS);
        assert!(head.is_ok_and(|(_, head)| head.is_some()));
    });
}

#[divan::bench(args = [16, 1024])]
fn ws_message(bencher: Bencher<'_, '_>, len: usize) {
    let mut wire = if len < 126 {
        vec![0x82, u8::try_from(len).expect("short")]
    } else {
        let [high, low] = u16::try_from(len).expect("two bytes").to_be_bytes();
        vec![0x82, 126, high, low]
    };
    wire.resize(wire.len() + len, 7);
    let mut decoder = ws::Decoder::new();
    let bencher = bencher.counter(BytesCount::new(wire.len()));
    bencher.bench_local(|| {
        let step = decoder.decode(black_box(&wire), &LIMITS);
        assert!(step.is_ok_and(|(consumed, event)| consumed > 0 && event.is_some()));
    });
}

#[divan::bench(args = [16, 1024])]
fn ws_write(bencher: Bencher<'_, '_>, len: usize) {
    let payload = vec![7; len];
    let mut out = Vec::with_capacity(len + 16);
    let bencher = bencher.counter(BytesCount::new(len));
    bencher.bench_local(|| {
        out.clear();
        ws::encode_message(&mut out, ws::MessageKind::Binary, black_box(&payload), [1, 2, 3, 4]);
        black_box(&out);
    });
}

#[divan::bench]
fn sse_event(bencher: Bencher<'_, '_>) {
    let wire = b"id: 7\nevent: said\ndata: {\"room\": 1, \"text\": \"hello\"}\n\n";
    let mut decoder = sse::Decoder::new();
    let bencher = bencher.counter(BytesCount::of_slice(wire));
    bencher.bench_local(|| {
        let step = decoder.decode(black_box(wire), &LIMITS);
        assert!(step.is_ok_and(|(_, event)| event.is_some()));
    });
}

#[divan::bench]
fn tcp_frame(bencher: Bencher<'_, '_>) {
    let framing = Framing {
        marks: Marks::Length(LengthField {
            width: Width::Four,
            little_endian: false,
            at: 0,
            counts: Counts::Rest,
        }),
        header: 0,
    };
    let wire = b"\0\0\0\x05hello";
    let mut decoder = frame::Decoder::new();
    bencher.bench_local(|| {
        let step = decoder.decode(&framing, black_box(wire), &LIMITS);
        assert!(step.is_ok_and(|(_, frame)| frame.is_some()));
    });
}
