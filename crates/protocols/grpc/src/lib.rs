//! Messages of gRPC: what they consist of, as bytes and as JSON, and how they are framed.
//!
//! | file | subject |
//! |---|---|
//! | `schema` | what messages consist of, and which methods there are |
//! | `wire` | numbers, keys and fields as bytes |
//! | `scalar` | single values → bytes |
//! | `json` | a message's bytes → JSON |
//! | `encoding` | JSON → a message's bytes |
//! | `frame` | where messages begin and end in a body |
//! | `status` | statuses, and how much time a call has |
//! | `answer` | how an answer begins and ends |
//! | `metadata` | names that calls use themselves |
//! | `place` | what JSON pointers name |
//!
//! The wire format is that of Protocol Buffers (protobuf.dev, "Encoding"), the framing and the statuses are those
//! of "gRPC over HTTP2" (grpc/grpc, doc/PROTOCOL-HTTP2.md).

mod answer;
mod encoding;
mod frame;
mod json;
mod metadata;
mod place;
mod scalar;
mod schema;
mod status;
mod wire;

pub use answer::{AnswerError, Ending, check_head, shown, shown_request};
pub use encoding::{Unwritable, from_json};
pub use frame::{Frame, FrameError, Frames, PREFIX_BYTES, unframed, write_frame};
pub use json::{Unreadable, to_json};
pub use metadata::is_reserved;
pub use place::{NoPlace, check_place};
pub use scalar::{Scalar, ValueError, write_scalar};
pub use schema::{Enumeration, Field, Kind, Label, Message, Method, Schema, Service};
pub use status::{
    DEADLINE_EXCEEDED, OK, STATUSES, code_named, name_of, of_http_status, readable, timeout_text,
};
pub use wire::{WireType, write_key, write_varint};
