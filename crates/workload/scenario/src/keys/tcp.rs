//! The step `tcp`.

use super::Default::{Absent, Required, Said, Text};
use super::tags::TAGS;
use super::{Key, Kind, Table};

/// Several messages in one frame, of all connections that stay open.
pub(super) const RECORDS: Key = Key {
    name: "records",
    kind: Kind::Scalar,
    default: Absent,
    doc: "The byte that ends each [record](realtime.md#several-records-in-a-frame): `\"\\n\"`, or in \
          hexadecimal, `0x1e`. Each record is a message of its own, and what is sent ends with \
          the byte",
};

pub(crate) static TCP: Table = Table {
    name: "tcp",
    groups: &[&[
        Key {
            name: "tcp",
            kind: Kind::Any(&[Kind::Nothing, Kind::Text]),
            default: Said("the target"),
            doc: "Opens a TCP connection to `HOST:PORT` or `tls://HOST:PORT`",
        },
        Key {
            name: "framing",
            kind: Kind::Any(&[Kind::Mapping(&FRAMING), Kind::Word(&["none"])]),
            default: Required,
            doc: "How messages are delimited; `none`: what is received at once is one message",
        },
        RECORDS,
        Key {
            name: "as",
            kind: Kind::Text,
            default: Text("tcp"),
            doc: "Name of the measure for opening the connection",
        },
        Key {
            name: "timeout",
            kind: Kind::Duration,
            default: Said("`options.timeout`"),
            doc: "Limit for connecting",
        },
        TAGS,
    ]],
};

/// Bytes of a length field.
pub const WIDTHS: &[&str] = &["1", "2", "4", "8", "varint"];
/// Bytes that a length field counts.
pub const COUNTS: &[&str] = &["rest", "payload", "frame"];

/// The keys of `framing`.
pub static FRAMING: Table = Table {
    name: "framing",
    groups: &[&[
        Key {
            name: "length",
            kind: Kind::Word(WIDTHS),
            default: Absent,
            doc: "Each message has a length field of this many bytes, or a `varint`, whose bytes have seven bits \
                  each, least significant first, and which counts the `rest`",
        },
        Key {
            name: "endian",
            kind: Kind::Word(&["big", "little"]),
            default: Text("big"),
            doc: "Byte order of the length field",
        },
        Key {
            name: "at",
            kind: Kind::Count,
            default: Text("0"),
            doc: "Number of bytes before the length field",
        },
        Key {
            name: "counts",
            kind: Kind::Word(COUNTS),
            default: Text("rest"),
            doc: "What the length field counts: the `rest` of the frame after it, the \
                  `payload` (the message without its `header`), or the complete `frame`",
        },
        Key {
            name: "delimiter",
            kind: Kind::Text,
            default: Absent,
            doc: "Each message ends with these bytes, as in `\"\\r\\n\"`",
        },
        Key {
            name: "fixed",
            kind: Kind::Count,
            default: Absent,
            doc: "Each message has this many bytes",
        },
        Key {
            name: "header",
            kind: Kind::Count,
            default: Text("0"),
            doc: "Number of bytes at the start of a message that are not payload, such \
                  as a type",
        },
    ]],
};
