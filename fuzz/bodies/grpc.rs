//! Fuzzing answers of gRPC and the files that define them: any bytes. Nothing panics, and how an answer was cut changes
//! nothing.

use std::sync::LazyLock;

use grpc::{Frame, Frames, Schema};
use protos::{Sources, compile};

/// Small, so that inputs reach it.
const MESSAGE_BYTES_MAX: u32 = 1 << 12;

/// Fields of every type, in messages, lists, maps and a group of which one is set.
const FILE: &str = r#"
syntax = "proto3";
message M {
  double a = 1; float b = 2; int64 c = 3; sint32 d = 4; fixed64 e = 5; sfixed32 f = 6; bool g = 7; string h = 8;
  bytes i = 9; E j = 10; M k = 11; repeated uint32 l = 12; repeated string m = 13; map<string, M> n = 14;
  map<int32, bool> o = 15;
  oneof p { string q = 16; M r = 17; }
  optional int32 s = 18;
}
enum E { ZERO = 0; ONE = 1; }
"#;

static SCHEMA: LazyLock<Schema> = LazyLock::new(|| {
    let folders = [String::new()];
    let sources = Sources { folders: &folders, read: &|_| Ok(FILE.to_owned()) };
    compile(&["m.proto".to_owned()], &sources).expect("the file is right")
});

/// The body of an answer: its messages as JSON, at once and in pieces.
pub(crate) fn calls(data: &[u8]) {
    let Some((&first, body)) = data.split_first() else {
        return;
    };
    let at_once = messages(body, body.len().max(1));
    assert_eq!(at_once, messages(body, usize::from(first % 16) + 1));
}

/// Each message as JSON, or that it cannot be read; `None` at the end: the body is no sequence of messages.
fn messages(body: &[u8], piece_bytes: usize) -> Vec<Option<Vec<u8>>> {
    let mut frames = Frames::default();
    let mut found = Vec::new();
    let mut message = Vec::new();
    for mut piece in body.chunks(piece_bytes) {
        loop {
            let Ok((taken, frame)) = frames.next(piece, MESSAGE_BYTES_MAX) else {
                found.push(None);
                return found;
            };
            message.extend_from_slice(&piece[..taken]);
            piece = &piece[taken..];
            match frame {
                None => break,
                Some(Frame::End) => {
                    let framed = std::mem::take(&mut message);
                    found.push(json(&framed));
                }
                Some(Frame::Begin { .. } | Frame::Piece(_)) => {}
            }
        }
    }
    found
}

fn json(framed: &[u8]) -> Option<Vec<u8>> {
    let plain = grpc::unframed(framed, MESSAGE_BYTES_MAX).ok()?;
    let number = SCHEMA.messages.iter().position(|own| own.name == "M")?;
    let json = grpc::to_json(&SCHEMA, number as u32, &plain).ok()?;
    let parsed: Result<serde_json::Value, _> = serde_json::from_slice(&json);
    // The parser takes fewer levels than a message and its maps may have.
    let levels = json.iter().filter(|byte| **byte == b'{').count();
    assert!(parsed.is_ok() || levels > 100, "{}", String::from_utf8_lossy(&json));
    Some(json)
}

/// The text of a `.proto` file, which may import itself.
pub(crate) fn protos(data: &[u8]) {
    let text = String::from_utf8_lossy(data).into_owned();
    let folders = [String::new()];
    let read = |_: &str| Ok(text.clone());
    let sources = Sources { folders: &folders, read: &read };
    if let Err(problem) = compile(&["a.proto".to_owned()], &sources) {
        assert!(!problem.message.is_empty());
    }
}
