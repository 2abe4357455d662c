//! State of a WebSocket with compressed messages.

use proto::ws::{
    self, DeflateParameters, Deflater, InflatingDecoder, MessageKind, Reader, WINDOW_BITS_MAX,
};

/// How both sides of a WebSocket write their messages.
#[derive(Debug)]
pub(crate) struct Framing {
    /// Reads the peer's frames.
    pub(crate) reader: Reader,
    /// Compression of our messages, if that was agreed on.
    pub(crate) compression: Option<Compression>,
}

impl Framing {
    /// The framing that the handshake has agreed on; `None`: no compression.
    pub(crate) fn new(agreed: Option<DeflateParameters>) -> Framing {
        let Some(agreed) = agreed else {
            return Framing { reader: Reader::default(), compression: None };
        };
        Framing {
            reader: Reader::Inflating(Box::new(InflatingDecoder::new(agreed))),
            compression: Some(Compression::new(agreed)),
        }
    }
}

/// How our messages are compressed.
#[derive(Debug)]
pub(crate) struct Compression {
    shared: bool,
    /// Bits of the window in which our messages may refer back.
    window_bits: u8,
    /// The compressor, with the window that our messages may refer to; made with the first. If each
    /// is compressed on its own, that of the loop serves all.
    own: Option<Deflater>,
}

impl Compression {
    pub(crate) fn new(agreed: DeflateParameters) -> Compression {
        let window_bits = agreed.client_window_bits;
        // In a smaller window no message refers to those before.
        let shared = agreed.client_context && window_bits == WINDOW_BITS_MAX;
        Compression { shared, window_bits, own: None }
    }

    /// The payload of a compressed message. `common`: the loop's deflater.
    pub(crate) fn deflate(&mut self, message: &[u8], common: &mut Option<Deflater>) -> Vec<u8> {
        if self.shared {
            return self.own.get_or_insert_with(Deflater::new).deflate(message);
        }
        let common = common.get_or_insert_with(Deflater::new);
        if self.window_bits < WINDOW_BITS_MAX {
            return common.deflate_within(message, self.window_bits);
        }
        common.reset();
        common.deflate(message)
    }
}

/// Appends a compressed message whose text `write` appends. `common`: the loop's deflater.
pub(crate) fn encode_deflated(
    out: &mut Vec<u8>,
    kind: MessageKind,
    mask: [u8; 4],
    compression: &mut Compression,
    common: &mut Option<Deflater>,
    write: impl FnOnce(&mut Vec<u8>),
) {
    let mut message = Vec::new();
    write(&mut message);
    let payload = compression.deflate(&message, common);
    ws::encode_compressed(out, kind, &payload, mask);
}
