//! HPACK (RFC 7541): the compression of header fields in HTTP/2.
//!
//! | file | subject |
//! |---|---|
//! | `statics` | the table of common fields that both sides know |
//! | `integer` | numbers with a prefix |
//! | `huffman` | the code of strings |
//! | `table` | the dynamic table: fields that the peer repeats |
//! | `decoder` | header blocks → fields |
//! | `encoder` | fields → header blocks |
//!
//! The encoder keeps no dynamic table: a field is an index of the static table or a literal that is not
//! added. So a block is the same on every connection, one that never changes is prepared once, and a
//! connection has no encoder's state.

mod decoder;
mod encoder;
mod huffman;
mod integer;
mod statics;
mod table;

pub use decoder::{Decoder, Error, Scratch};
pub use encoder::{encode_field, encode_table_size};
#[doc(hidden)]
pub use huffman::encode as encode_huffman;

/// Bytes that count for a field beyond its name and value, in tables and in lists (RFC 7541 §4.1).
pub const FIELD_OVERHEAD_BYTES: usize = 32;
/// The size of a dynamic table until something else is agreed on (RFC 9113 §6.5.2).
pub const TABLE_BYTES_DEFAULT: u32 = 4096;
