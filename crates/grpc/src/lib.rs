//! Messages of gRPC: what they consist of, as bytes and as JSON, and how they are framed.
//!
//! | file | subject |
//! |---|---|
//! | `schema` | what messages consist of, and which methods there are |
//! | `wire` | numbers, keys and fields as bytes |
//! | `scalar` | single values → bytes |
//! | `json` | a message's bytes → JSON |
//! | `frame` | where messages begin and end in a body |
//! | `status` | how a call ended, and how much time it has |
//!
//! The wire format is that of Protocol Buffers (protobuf.dev, "Encoding"), the framing and the statuses are those
//! of "gRPC over HTTP2" (grpc/grpc, doc/PROTOCOL-HTTP2.md).

mod frame;
mod json;
mod scalar;
mod schema;
mod status;
mod wire;

pub use frame::{Frame, FrameError, Frames, PREFIX_BYTES, unframed, write_frame};
pub use json::{Unreadable, to_json};
pub use scalar::{Scalar, ValueError, write_scalar};
pub use schema::{Enumeration, Field, Kind, Label, Message, Method, Schema, Service};
pub use status::{OK, STATUSES, code_named, name_of, of_http_status, readable, timeout_text};
pub use wire::{WireType, write_key, write_varint};
