//! Event streams: the rules of the HTML standard (§9.2), however the network splits them.

use crate::http1_pieces::{cut, cuts};
use proptest::prelude::*;
use proto::Limits;
use proto::sse::{Decoder, Event, TooLarge};

/// An [`Event`] that owns its fields.
#[derive(Debug, Clone, PartialEq, Eq)]
struct OwnedEvent {
    name: String,
    id: Option<String>,
    retry_ms: Option<u64>,
    data: Option<String>,
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

impl From<Event<'_>> for OwnedEvent {
    fn from(event: Event<'_>) -> Self {
        Self {
            name: text(event.name),
            id: event.id.map(text),
            retry_ms: event.retry_ms,
            data: event.data().map(|data| text(&data)),
        }
    }
}

/// Reads a stream from pieces that arrive one after another, and how much of it was not consumed.
fn read(limits: &Limits, pieces: &[&[u8]]) -> Result<(Vec<OwnedEvent>, usize), TooLarge> {
    let mut decoder = Decoder::new();
    let mut buffer = Vec::new();
    let mut events = Vec::new();
    for piece in pieces {
        buffer.extend_from_slice(piece);
        loop {
            let (len, event) = decoder.decode(&buffer, limits)?;
            let waits = len == 0 && event.is_none();
            events.extend(event.map(OwnedEvent::from));
            buffer.drain(..len);
            if waits {
                break;
            }
        }
    }
    Ok((events, buffer.len()))
}

fn whole(stream: &str) -> Vec<OwnedEvent> {
    let read = read(&Limits::DEFAULT, &[stream.as_bytes()]);
    read.expect("no event is over the limit").0
}

/// Names and data of the dispatched events.
fn dispatched(stream: &str) -> Vec<(String, String)> {
    let events = whole(stream).into_iter();
    events.filter_map(|event| Some((event.name, event.data?))).collect()
}

fn messages<const N: usize>(data: [&str; N]) -> Vec<(String, String)> {
    data.map(|data| ("message".to_owned(), data.to_owned())).into()
}

/// The examples of §9.2.6.
#[test]
fn the_examples_of_the_standard() {
    assert_eq!(dispatched("data: YHOO\ndata: +2\ndata: 10\n\n"), messages(["YHOO\n+2\n10"]));
    let four = whole(
        ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n",
    );
    assert_eq!(four.len(), 3);
    assert_eq!(four[0].id.as_deref(), Some("1"));
    assert_eq!(four[1].id.as_deref(), Some(""));
    assert_eq!(four[1].data.as_deref(), Some("second event"));
    assert_eq!(four[2].id, None);
    assert_eq!(four[2].data.as_deref(), Some(" third event"));
    // The last block has no empty line.
    assert_eq!(dispatched("data\n\ndata\ndata\n\ndata:"), messages(["", "\n"]));
    assert_eq!(dispatched("data:test\n\ndata: test\n\n"), messages(["test", "test"]));
}

#[test]
fn fields() {
    let one = |stream: &str| {
        let events = whole(stream);
        assert_eq!(events.len(), 1, "{events:?}");
        events.into_iter().next().unwrap()
    };
    assert_eq!(one("event: add\ndata: 1\n\n").name, "add");
    assert_eq!(one("event: add\nevent: b\ndata: 1\n\n").name, "b");
    assert_eq!(one("event: add\nevent\ndata: 1\n\n").name, "message");
    assert_eq!(one("retry: 250\n\n").retry_ms, Some(250));
    assert_eq!(one("retry: 250\nretry: 2s\n\n").retry_ms, Some(250));
    assert_eq!(one("retry:\n\n").retry_ms, None);
    assert_eq!(one("retry: 99999999999999999999999\n\n").retry_ms, Some(u64::MAX));
    // An id with a NUL is none; one without data is remembered and dispatches nothing.
    assert_eq!(one("id: a\0b\n\n").id, None);
    let only_id = one("id: 7\n\n");
    assert_eq!((only_id.id.as_deref(), only_id.data), (Some("7"), None));
    // Case counts, unknown fields do not, the first colon ends the name.
    assert_eq!(dispatched("Data: x\n\nfoo: y\n\ndata: a:b\n\n"), messages(["a:b"]));
    assert_eq!(dispatched("\u{feff}data: x\n\n\u{feff}data: y\n\n"), messages(["x"]));
    let bad = read(&Limits::DEFAULT, &[b"data: \xff\n\n"]).unwrap().0;
    assert_eq!(bad[0].data.as_deref(), Some("\u{fffd}"));
}

#[test]
fn lines_end_in_three_ways() {
    for end in ["\n", "\r", "\r\n"] {
        let stream = format!("data: a{end}data: b{end}{end}:c{end}data: d{end}{end}");
        assert_eq!(dispatched(&stream), messages(["a\nb", "d"]), "{end:?}");
    }
    assert_eq!(dispatched("data: a\r\ndata: b\r\n\ndata: c\r\r"), messages(["a\nb", "c"]));
}

/// Keep-alive comments are never held.
#[test]
fn comments_are_not_held() {
    let limits = Limits { message_bytes_max: 16, ..Limits::DEFAULT };
    let alive = ": alive\n".repeat(100);
    let (events, held) = read(&limits, &[alive.as_bytes()]).unwrap();
    assert_eq!((events.len(), held), (0, 0));
}

#[test]
fn limits_hold_to_the_byte() {
    let stream = b"data: 12345\nid: 1\n\n";
    let limits = |message_bytes_max| Limits { message_bytes_max, ..Limits::DEFAULT };
    assert_eq!(read(&limits(stream.len()), &[stream]).unwrap().0.len(), 1);
    let bytes_max = stream.len() - 1;
    let refused = Err(TooLarge { bytes_max });
    assert_eq!(read(&limits(bytes_max), &[stream]), refused);
    let bytes: Vec<&[u8]> = stream.chunks(1).collect();
    assert_eq!(read(&limits(bytes_max), &bytes), refused);
}

/// The standard's own words (§9.2.6), character by character and without a thought for speed.
fn by_the_book(stream: &[u8]) -> Vec<OwnedEvent> {
    let stream = stream.strip_prefix(b"\xef\xbb\xbf").unwrap_or(stream);
    let mut lines = Vec::new();
    let mut line = Vec::new();
    let mut at = 0;
    while at < stream.len() {
        match stream[at] {
            b'\r' | b'\n' => {
                at += usize::from(stream[at..].starts_with(b"\r\n"));
                lines.push(std::mem::take(&mut line));
            }
            byte => line.push(byte),
        }
        at += 1;
    }
    let mut events = Vec::new();
    let mut data = Vec::new();
    let mut name = Vec::new();
    let mut id = None;
    let mut retry_ms = None;
    let mut something = false;
    for line in lines {
        if line.is_empty() {
            if std::mem::take(&mut something) {
                let event = if name.is_empty() { b"message" } else { &name[..] };
                events.push(OwnedEvent {
                    name: text(event),
                    id: id.take(),
                    retry_ms: retry_ms.take(),
                    data: (!data.is_empty()).then(|| text(&data[..data.len() - 1])),
                });
            }
            data.clear();
            name.clear();
            continue;
        }
        let (field, value) = match line.iter().position(|&b| b == b':') {
            Some(0) => continue,
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (&line[..], &[][..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        something |= [&b"data"[..], b"event", b"id", b"retry"].contains(&field);
        match field {
            b"data" => data.extend([value, b"\n"].concat()),
            b"event" => name = value.to_vec(),
            b"id" if !value.contains(&0) => id = Some(text(value)),
            b"retry" if !value.is_empty() && value.iter().all(u8::is_ascii_digit) => {
                retry_ms = Some(text(value).parse().unwrap_or(u64::MAX));
            }
            _ => {}
        }
    }
    events
}

fn stream() -> impl Strategy<Value = Vec<u8>> {
    let part = prop::sample::select(vec![
        "data",
        "event",
        "id",
        "retry",
        ":",
        " ",
        "x",
        "12",
        "\n",
        "\r",
        "\r\n",
        "\n\n",
        "\0",
        "\u{feff}",
        "data: a\n",
        "data:b\r\n",
        "ä",
    ]);
    let parts = prop::collection::vec(part, 0..40).prop_map(|parts| parts.concat().into_bytes());
    prop_oneof![9 => parts, 1 => prop::collection::vec(any::<u8>(), 0..60)]
}

proptest! {
    #[test]
    fn any_stream_in_any_pieces_matches_the_reference_parser(stream in stream(), cuts in cuts()) {
        let pieces = cut(&stream, &cuts);
        let (events, _) = read(&Limits::DEFAULT, &pieces).unwrap();
        prop_assert_eq!(events, by_the_book(&stream));
        let bytes: Vec<&[u8]> = stream.chunks(1).collect();
        let (events, _) = read(&Limits::DEFAULT, &bytes).unwrap();
        prop_assert_eq!(events, by_the_book(&stream));
    }
}
