//! Compressed messages: permessage-deflate (RFC 7692), the client's side.
//!
//! A window of 32 KiB is always kept for the server's messages, whose own window may be of any size. Of ours a server may
//! ask for a smaller one, as browsers offer (`client_max_window_bits`): then nothing refers to what came before it.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use miniz_oxide::deflate::core::{CompressorOxide, create_comp_flags_from_zip_params};
use miniz_oxide::deflate::stream::deflate;
use miniz_oxide::inflate::stream::{InflateState, inflate};
use miniz_oxide::{DataFormat, MZFlush, MZStatus};

use super::error::HandshakeError;
use crate::http1::{self, Head};

/// The end of every compressed message, which is left out (§7.2.1).
const TAIL: &[u8] = &[0, 0, 0xff, 0xff];
/// zlib's default: what most clients use.
const LEVEL: i32 = 6;
/// Raw deflate with the largest window, as zlib writes it.
const WINDOW_BITS: i32 = -15;
/// Bits of the largest window (§7.1.2).
pub const WINDOW_BITS_MAX: u8 = 15;
/// Room made at a time for what is inflated or deflated.
const CHUNK_BYTES: usize = 16 << 10;

/// The offer to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offer {
    /// Both sides may refer to messages before.
    Shared,
    /// Every message stands for itself, both ways.
    Separate,
}

impl Offer {
    /// The value of `sec-websocket-extensions` (§7.1). `Shared` is that of browsers.
    pub fn header(self) -> &'static str {
        match self {
            Self::Shared => "permessage-deflate; client_max_window_bits",
            Self::Separate => {
                "permessage-deflate; client_no_context_takeover; server_no_context_takeover; \
                 client_max_window_bits"
            }
        }
    }
}

/// The parameters that the server agreed to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeflateParameters {
    /// Our messages may refer to those before.
    pub client_context: bool,
    /// The server's messages may refer to those before.
    pub server_context: bool,
    /// Bits of our window, from 8 to [`WINDOW_BITS_MAX`].
    pub client_window_bits: u8,
}

/// Reads how the server answered the offer: `None` if it does not compress.
///
/// # Errors
/// [`HandshakeError::Extension`]: it names another extension or parameter than may follow.
pub(super) fn agreed(
    head: &Head<'_>,
    offer: Offer,
) -> Result<Option<DeflateParameters>, HandshakeError> {
    let fields = head.headers();
    let fields = fields.filter(|(name, _)| name.eq_ignore_ascii_case("sec-websocket-extensions"));
    let values: Vec<_> = fields.map(|(_, value)| value).collect();
    let mut extensions = values.iter().flat_map(|value| http1::list(value));
    let Some(extension) = extensions.next() else {
        return Ok(None);
    };
    if extensions.next().is_some() {
        return Err(HandshakeError::Extension);
    }
    let mut parts = extension.split(|&b| b == b';').map(<[u8]>::trim_ascii);
    if !parts.next().is_some_and(|name| name.eq_ignore_ascii_case(b"permessage-deflate")) {
        return Err(HandshakeError::Extension);
    }
    let mut client = false;
    let mut server = false;
    let mut server_bits = false;
    let mut client_bits = None;
    for part in parts {
        let (name, value) = match part.iter().position(|&b| b == b'=') {
            Some(at) => (part[..at].trim_ascii(), Some(part[at + 1..].trim_ascii())),
            None => (part, None),
        };
        let seen = match (name, value) {
            (b"client_no_context_takeover", None) => &mut client,
            (b"server_no_context_takeover", None) => &mut server,
            (b"server_max_window_bits", Some(value)) if window_bits(value).is_some() => {
                &mut server_bits
            }
            (b"client_max_window_bits", Some(value)) if client_bits.is_none() => {
                client_bits = Some(window_bits(value).ok_or(HandshakeError::Extension)?);
                continue;
            }
            _ => return Err(HandshakeError::Extension),
        };
        if core::mem::replace(seen, true) {
            return Err(HandshakeError::Extension);
        }
    }
    Ok(Some(DeflateParameters {
        // Who offered not to refer back need not be held to it by the server (§7.1.1.2).
        client_context: !client && offer == Offer::Shared,
        server_context: !server,
        client_window_bits: client_bits.unwrap_or(WINDOW_BITS_MAX),
    }))
}

/// 8 to 15, perhaps in quotes (§7.1.2.1).
fn window_bits(value: &[u8]) -> Option<u8> {
    let bare =
        value.strip_prefix(b"\"").and_then(|value| value.strip_suffix(b"\"")).unwrap_or(value);
    match bare {
        b"8" => Some(8),
        b"9" => Some(9),
        [b'1', digit @ b'0'..=b'5'] => Some(*digit - b'0' + 10),
        _ => None,
    }
}

/// Why a compressed message cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InflateError {
    /// It is no deflated data.
    Data,
    /// It is larger than it may be.
    TooLarge,
}

/// Inflates the messages of one server. What refers to before its first message finds zeros there: the
/// inflater does not report.
pub(super) struct Inflater(Box<InflateState>);

impl fmt::Debug for Inflater {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Inflater")
    }
}

impl Inflater {
    pub(super) fn new() -> Self {
        Self(InflateState::new_boxed(DataFormat::Raw))
    }

    /// Appends a message to `out`, which may have this many bytes.
    pub(super) fn inflate(
        &mut self,
        message: &[u8],
        out: &mut Vec<u8>,
        bytes_max: usize,
    ) -> Result<(), InflateError> {
        for (mut input, is_tail) in [(message, false), (TAIL, true)] {
            loop {
                let start = out.len();
                out.resize(start + CHUNK_BYTES, 0);
                let result = inflate(&mut self.0, input, &mut out[start..], MZFlush::Sync);
                out.truncate(start + result.bytes_written);
                input = &input[result.bytes_consumed..];
                if out.len() > bytes_max {
                    return Err(InflateError::TooLarge);
                }
                // It is an empty block. If it says something, the block before it has not ended.
                if is_tail && result.bytes_written > 0 {
                    return Err(InflateError::Data);
                }
                match result.status {
                    // A last block (§7.2.3.4): what follows it is ignored.
                    Ok(MZStatus::StreamEnd) => {
                        self.0.reset(DataFormat::Raw);
                        return Ok(());
                    }
                    Ok(_) if input.is_empty() && result.bytes_written < CHUNK_BYTES => break,
                    Ok(_) => {}
                    // No progress without more input, of which there is none: all is out.
                    Err(miniz_oxide::MZError::Buf) if input.is_empty() => break,
                    Err(_) => return Err(InflateError::Data),
                }
            }
        }
        Ok(())
    }
}

/// Deflates messages of ours.
pub struct Deflater(Box<CompressorOxide>);

impl fmt::Debug for Deflater {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Deflater")
    }
}

impl Default for Deflater {
    fn default() -> Self {
        Self::new()
    }
}

impl Deflater {
    /// Bytes that one takes, at least.
    pub const BYTES: usize = size_of::<CompressorOxide>();

    /// One without any message yet.
    pub fn new() -> Self {
        let flags = create_comp_flags_from_zip_params(LEVEL, WINDOW_BITS, 0);
        Self(Box::new(CompressorOxide::new(flags)))
    }

    /// Forgets earlier messages, so that the next one stands for itself.
    pub fn reset(&mut self) {
        self.0.reset();
    }

    /// The payload of a compressed message.
    pub fn deflate(&mut self, message: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut input = message;
        // More than what cannot be compressed grows to, so that once is enough: a second flush would
        // say something.
        let mut room = message.len() + message.len() / 8 + CHUNK_BYTES;
        loop {
            let start = out.len();
            out.resize(start + room, 0);
            let result = deflate(&mut self.0, input, &mut out[start..], MZFlush::Sync);
            out.truncate(start + result.bytes_written);
            input = &input[result.bytes_consumed..];
            if result.status.is_err() || input.is_empty() && result.bytes_written < room {
                break;
            }
            room = CHUNK_BYTES;
        }
        if out.ends_with(TAIL) {
            out.truncate(out.len() - TAIL.len());
        }
        // An empty message is one empty block (§7.2.3.6).
        if out.is_empty() {
            out.push(0);
        }
        out
    }

    /// Compresses a message that refers to nothing farther back than a window of so many bits, and to no message before.
    pub fn deflate_within(&mut self, message: &[u8], window_bits: u8) -> Vec<u8> {
        let mut payload = Vec::new();
        for part in message.chunks(1 << window_bits) {
            if !payload.is_empty() {
                payload.extend_from_slice(TAIL);
            }
            self.reset();
            payload.extend(self.deflate(part));
        }
        // An empty message is one empty block (§7.2.3.6).
        if payload.is_empty() {
            payload.push(0);
        }
        payload
    }
}
