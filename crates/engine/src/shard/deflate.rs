//! Compressed messages: what is agreed on, what comes in, what goes out.

use plan::Op;
use proto::http1::Head;
use proto::ws::{self, Agreed, Deflater, HandshakeError, MessageKind};

use super::Shard;
use super::websocket::wire_len;
use crate::conn::Codec;
use crate::deflate::Compression;

impl Shard<'_> {
    /// Checks the answer to an upgrade: what it agrees to of what the step offers.
    pub(super) fn verify_extensions(
        &self,
        key: u32,
        head: &Head<'_>,
        nonce: &ws::Key,
    ) -> Result<Option<Agreed>, HandshakeError> {
        match self.op(key) {
            Some(Op::WsOpen(open)) if let Some(offer) = open.compress => {
                ws::verify_offer(head, nonce, offer)
            }
            _ => ws::verify_handshake(head, nonce).map(|()| None),
        }
    }

    /// As `decode_frames`, of a WebSocket whose messages may be compressed.
    pub(super) fn decode_deflated(&mut self, now_ns: u64, slot: u32, bytes: &[u8]) -> usize {
        let id = self.id(slot);
        // The reader is taken out while its events, which borrow it, are acted on.
        let Codec::Deflated(deflated) = &mut self.conns[slot].codec else {
            return bytes.len();
        };
        let mut reader = std::mem::take(&mut deflated.reader);
        let mut taken = 0;
        loop {
            let gathered_len = reader.gathered_len();
            let (consumed, event) = match reader.decode(&bytes[taken..], &self.limits) {
                Ok((0, None)) => break,
                Ok(decoded) => decoded,
                Err(error) => {
                    self.break_frames(now_ns, slot, error);
                    return bytes.len();
                }
            };
            taken += consumed;
            if let Some(event) = event {
                let len = wire_len(&event, gathered_len, consumed);
                self.handle_event(now_ns, slot, len, &event);
            }
            if self.live(id).is_none() {
                return bytes.len();
            }
        }
        if let Codec::Deflated(deflated) = &mut self.conns[slot].codec {
            deflated.reader = reader;
        }
        taken
    }
}

/// Appends a compressed message whose text `write` appends.
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
