//! The settings of both sides (RFC 9113 §6.5).

use alloc::vec::Vec;

use super::error::{Code, Error};
use super::frame::{self, BITS_31, PAYLOAD_BYTES_MAX};
use crate::hpack::TABLE_BYTES_DEFAULT;

const HEADER_TABLE_SIZE: u16 = 1;
const ENABLE_PUSH: u16 = 2;
const MAX_CONCURRENT_STREAMS: u16 = 3;
const INITIAL_WINDOW_SIZE: u16 = 4;
const MAX_FRAME_SIZE: u16 = 5;
const MAX_HEADER_LIST_SIZE: u16 = 6;
/// RFC 8441 §3.
const ENABLE_CONNECT_PROTOCOL: u16 = 8;

/// A window until something else is agreed on (§6.9.2).
pub(super) const WINDOW_BYTES_DEFAULT: u32 = 65_535;
/// How many streams may be open until the server says; a server should allow as many at least (§6.5.2).
const STREAMS_DEFAULT: u32 = 100;

/// Our own settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// The most that a connection's dynamic table may count, bytes. It fills with what the server puts there.
    pub header_table_bytes: u32,
    /// Bytes that the server may send on a stream before we have read them, at most 2³¹ − 1.
    pub stream_window_bytes: u32,
    /// The same on the connection, at least 65,535.
    pub connection_window_bytes: u32,
}

impl Settings {
    /// A table of 4 KiB, as the RFC has it; windows of 1 MiB and 16 MiB, as nothing we receive waits.
    pub const DEFAULT: Self = Self {
        header_table_bytes: TABLE_BYTES_DEFAULT,
        stream_window_bytes: 1 << 20,
        connection_window_bytes: 16 << 20,
    };

    /// Appends the preface: what a client sends first. `head_bytes_max`: the longest head that we take.
    pub(super) fn put_preface(&self, head_bytes_max: u32, out: &mut Vec<u8>) {
        out.extend_from_slice(frame::PREFACE);
        let mut payload = Vec::with_capacity(24);
        let mut put = |id: u16, value: u32| {
            payload.extend_from_slice(&id.to_be_bytes());
            payload.extend_from_slice(&value.to_be_bytes());
        };
        if self.header_table_bytes != TABLE_BYTES_DEFAULT {
            put(HEADER_TABLE_SIZE, self.header_table_bytes);
        }
        put(ENABLE_PUSH, 0);
        put(INITIAL_WINDOW_SIZE, self.stream_window_bytes);
        put(MAX_HEADER_LIST_SIZE, head_bytes_max);
        frame::put(out, frame::SETTINGS, 0, 0, &payload);
        let more = self.connection_window_bytes.saturating_sub(WINDOW_BYTES_DEFAULT);
        if more > 0 {
            frame::put_window_update(out, 0, more);
        }
    }
}

/// The server's settings, as far as they concern a client without a dynamic table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PeerSettings {
    pub(super) streams_max: u32,
    pub(super) window_bytes: u32,
    pub(super) payload_bytes_max: u32,
    /// It takes a smaller table than we are thought to have: the next block has to say that ours is empty
    /// (RFC 7541 §4.2).
    pub(super) wants_small_table: bool,
    /// It takes CONNECT with a protocol (RFC 8441 §3).
    pub(super) takes_connect: bool,
}

impl PeerSettings {
    /// Until it has said anything.
    pub(super) const UNKNOWN: Self = Self {
        streams_max: STREAMS_DEFAULT,
        window_bytes: WINDOW_BYTES_DEFAULT,
        payload_bytes_max: PAYLOAD_BYTES_MAX as u32,
        wants_small_table: false,
        takes_connect: false,
    };

    /// Takes over what a SETTINGS frame says.
    pub(super) fn take(&mut self, payload: &[u8]) -> Result<(), Error> {
        let (settings, rest) = payload.as_chunks::<6>();
        if !rest.is_empty() {
            let what = "a SETTINGS frame is no list of settings";
            return Err(Error::new(Code::FrameSizeError, what));
        }
        for &[a, b, value @ ..] in settings {
            let value = u32::from_be_bytes(value);
            match u16::from_be_bytes([a, b]) {
                HEADER_TABLE_SIZE => self.wants_small_table |= value < TABLE_BYTES_DEFAULT,
                ENABLE_PUSH if value != 0 => {
                    return Err(Error::protocol("a server's setting ENABLE_PUSH is not 0"));
                }
                MAX_CONCURRENT_STREAMS => self.streams_max = value,
                INITIAL_WINDOW_SIZE if value > BITS_31 => {
                    let what = "the setting INITIAL_WINDOW_SIZE is larger than 2^31 - 1";
                    return Err(Error::new(Code::FlowControlError, what));
                }
                INITIAL_WINDOW_SIZE => self.window_bytes = value,
                MAX_FRAME_SIZE => {
                    let is_valid = (1 << 14..1 << 24).contains(&value);
                    if !is_valid {
                        let what = "the setting MAX_FRAME_SIZE is not in [2^14, 2^24 - 1]";
                        return Err(Error::protocol(what));
                    }
                    self.payload_bytes_max = value;
                }
                ENABLE_CONNECT_PROTOCOL => {
                    // Once it is 1 it stays so.
                    if value > 1 || value < u32::from(self.takes_connect) {
                        let what =
                            "the setting ENABLE_CONNECT_PROTOCOL is not 0 or 1, or is taken back";
                        return Err(Error::protocol(what));
                    }
                    self.takes_connect = value == 1;
                }
                // What we do not know is ignored (§6.5.2).
                _ => {}
            }
        }
        Ok(())
    }
}
