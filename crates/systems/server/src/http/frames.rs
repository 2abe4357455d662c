//! Boundaries of HTTP/2 frames (RFC 9113 §4.1), so that each frame can have a deadline.

/// First bytes of a client of HTTP/2 (RFC 9113 §3.4).
pub(super) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// Before each frame's payload: its length (3 bytes), type, flags and stream.
const HEADER_BYTES: usize = 9;
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const CONTINUATION: u8 = 9;
/// This frame ends the head that it is a part of.
const END_HEADERS: u8 = 4;

/// Kind of the frame that the last received bytes belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FrameKind {
    /// No frame: one has ended, and so has the head that it was a part of.
    None,
    /// The preface, a head, or another small frame.
    Head,
    /// A frame of a body.
    Body,
}

/// Follows the frames of a connection.
#[derive(Debug)]
pub(super) struct Frames {
    /// Bytes of the preface or of a payload that are still to come.
    left: usize,
    /// The beginning of a frame's header.
    header: [u8; HEADER_BYTES],
    header_len: usize,
    is_body: bool,
    /// A head has begun and not ended: it goes on in further frames.
    in_head: bool,
}

impl Default for Frames {
    /// State of a new connection.
    fn default() -> Self {
        Self {
            left: PREFACE.len(),
            header: [0; HEADER_BYTES],
            header_len: 0,
            is_body: false,
            in_head: false,
        }
    }
}

impl Frames {
    /// These bytes came: whether anything ended in them, a frame or a head of several frames, and what their last ones
    /// are a part of.
    pub(super) fn read(&mut self, mut bytes: &[u8]) -> (bool, FrameKind) {
        let mut has_ended = false;
        while !bytes.is_empty() {
            if self.left == 0 {
                bytes = self.read_header(bytes);
                if self.header_len < HEADER_BYTES {
                    break;
                }
                self.begin();
            }
            let count = self.left.min(bytes.len());
            self.left -= count;
            bytes = &bytes[count..];
            if self.left == 0 {
                self.header_len = 0;
                self.is_body = false;
                has_ended |= !self.in_head;
            }
        }
        let is_between = self.left == 0 && self.header_len == 0 && !self.in_head;
        let part = match (is_between, self.is_body) {
            (true, _) => FrameKind::None,
            (false, true) => FrameKind::Body,
            (false, false) => FrameKind::Head,
        };
        (has_ended, part)
    }

    fn read_header<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        let count = (HEADER_BYTES - self.header_len).min(bytes.len());
        self.header[self.header_len..][..count].copy_from_slice(&bytes[..count]);
        self.header_len += count;
        &bytes[count..]
    }

    /// A header is complete.
    fn begin(&mut self) {
        let [a, b, c, kind, flags, ..] = self.header;
        self.left = usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c);
        self.is_body = kind == DATA;
        if kind == HEADERS || kind == CONTINUATION {
            self.in_head = flags & END_HEADERS == 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, flags: u8, payload: &[u8]) -> Vec<u8> {
        let mut frame = vec![0, 0, payload.len() as u8, kind, flags, 0, 0, 0, 1];
        frame.extend_from_slice(payload);
        frame
    }

    #[test]
    fn a_part_is_what_has_begun_and_not_ended() {
        let mut frames = Frames::default();
        assert_eq!(frames.read(b"PRI"), (false, FrameKind::Head));
        assert_eq!(frames.read(&PREFACE[3..]), (true, FrameKind::None));
        // Settings without a payload.
        assert_eq!(frames.read(&frame(4, 0, b"")), (true, FrameKind::None));
        let body = frame(DATA, 1, b"abc");
        assert_eq!(frames.read(&body[..9]), (false, FrameKind::Body));
        assert_eq!(frames.read(&body[9..]), (true, FrameKind::None));
        // A head of three frames.
        assert_eq!(frames.read(&frame(HEADERS, 0, b"x")), (false, FrameKind::Head));
        let middle = frame(CONTINUATION, 0, b"");
        assert_eq!(frames.read(&middle), (false, FrameKind::Head));
        let last = frame(CONTINUATION, END_HEADERS, b"y");
        assert_eq!(frames.read(&last), (true, FrameKind::None));
    }

    #[test]
    fn how_the_bytes_are_cut_changes_nothing() {
        let mut wire = PREFACE.to_vec();
        for (kind, flags) in [(4, 0), (HEADERS, 0), (CONTINUATION, END_HEADERS), (DATA, 0)] {
            wire.extend(frame(kind, flags, b"payload"));
        }
        wire.extend_from_slice(&frame(HEADERS, 0, b"head"));
        let mut at_once = Frames::default();
        let (_, expected) = at_once.read(&wire);
        for piece in 1..20 {
            let mut frames = Frames::default();
            let parts = wire.chunks(piece).map(|bytes| frames.read(bytes).1);
            assert_eq!(parts.last(), Some(expected), "{piece}");
        }
    }
}
