//! What a WebSocket with compressed messages keeps.

use proto::ws::{self, DeflateParameters, Deflater, InflatingDecoder, MessageKind, Reader};

/// A WebSocket whose messages may be compressed, and that speaks no protocol of channels.
#[derive(Debug)]
pub(crate) struct Deflated {
    pub(crate) reader: Reader,
    pub(crate) compression: Compression,
}

impl Deflated {
    pub(crate) fn new(agreed: DeflateParameters) -> Deflated {
        Deflated {
            reader: reader(agreed),
            compression: Compression::new(agreed),
        }
    }
}

/// What reads frames as it was agreed on.
pub(crate) fn reader(agreed: DeflateParameters) -> Reader {
    Reader::Inflating(Box::new(InflatingDecoder::new(agreed)))
}

/// How our messages are compressed.
#[derive(Debug)]
pub(crate) struct Compression {
    shared: bool,
    /// What our messages may refer to; made with the first. If each stands for itself, that of the
    /// loop serves all.
    own: Option<Deflater>,
}

impl Compression {
    pub(crate) fn new(agreed: DeflateParameters) -> Compression {
        Compression {
            shared: agreed.client_context,
            own: None,
        }
    }

    /// What is left in its place has no messages to compress any more.
    pub(crate) fn take(&mut self) -> Option<Compression> {
        Some(Compression {
            shared: self.shared,
            own: self.own.take(),
        })
    }

    /// The payload of a compressed message. `common`: the loop's deflater.
    pub(crate) fn deflate(&mut self, message: &[u8], common: &mut Option<Deflater>) -> Vec<u8> {
        if self.shared {
            return self.own.get_or_insert_with(Deflater::new).deflate(message);
        }
        let common = common.get_or_insert_with(Deflater::new);
        common.reset();
        common.deflate(message)
    }
}

/// Appends a compressed message whose text `write` appends. `common`: the loop's deflater.
pub(super) fn encode_deflated(
    out: &mut Vec<u8>,
    (kind, mask): (MessageKind, [u8; 4]),
    compression: &mut Compression,
    common: &mut Option<Deflater>,
    write: impl FnOnce(&mut Vec<u8>),
) {
    let mut message = Vec::new();
    write(&mut message);
    let payload = compression.deflate(&message, common);
    ws::encode_compressed(out, kind, &payload, mask);
}
