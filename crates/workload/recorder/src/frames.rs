//! The messages of a WebSocket (RFC 6455, section 5), of either side, as they pass.
//!
//! Nothing is checked that the other side checks: what is no frame ends the reading, not the connection.

/// Longest header of a frame.
const HEADER_BYTES_MAX: usize = 14;
/// Bits that only extensions set, and none is passed on.
const RESERVED: u8 = 0x70;

/// A message, or a control frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Message {
    /// That of its first frame.
    pub(crate) opcode: u8,
    /// The message, or its beginning if it is longer than what is kept.
    pub(crate) payload: Vec<u8>,
    /// The length of all of it.
    pub(crate) bytes_count: u64,
}

/// One direction of a WebSocket.
#[derive(Debug)]
pub(crate) struct Frames {
    bytes_max: usize,
    header: Vec<u8>,
    frame: Option<Frame>,
    /// The message whose last frame has not come yet.
    open: Option<Message>,
    is_broken: bool,
}

/// A frame whose payload is coming.
#[derive(Debug)]
struct Frame {
    is_last: bool,
    /// Between the frames of a message.
    control: Option<Message>,
    mask: Option<[u8; 4]>,
    at: u64,
    left: u64,
}

impl Frames {
    /// Keeps at most `bytes_max` of each message.
    pub(crate) fn new(bytes_max: usize) -> Frames {
        Frames {
            bytes_max,
            header: Vec::with_capacity(HEADER_BYTES_MAX),
            frame: None,
            open: None,
            is_broken: false,
        }
    }

    /// Reads what passes; `found` is called with each message that is complete.
    pub(crate) fn take(&mut self, mut input: &[u8], found: &mut dyn FnMut(Message)) {
        while !input.is_empty() && !self.is_broken {
            if self.frame.is_none() {
                self.header.push(input[0]);
                input = &input[1..];
                if self.header.len() < header_bytes(&self.header) {
                    continue;
                }
                self.begin();
            } else if let Some(frame) = &mut self.frame {
                let taken = usize::try_from(frame.left).map_or(input.len(), |n| n.min(input.len()));
                let (payload, rest) = input.split_at(taken);
                let message = frame.control.as_mut().or(self.open.as_mut());
                if let Some(message) = message {
                    keep(message, payload, frame.mask, frame.at, self.bytes_max);
                }
                frame.at += taken as u64;
                frame.left -= taken as u64;
                input = rest;
            }
            self.end(found);
        }
    }

    /// Begins the frame of a complete header.
    fn begin(&mut self) {
        let header = std::mem::take(&mut self.header);
        let opcode = header[0] & 0x0f;
        let is_last = header[0] & 0x80 != 0;
        let is_masked = header[1] & 0x80 != 0;
        let extended = match header[1] & 0x7f {
            126 => &header[2..4],
            127 => &header[2..10],
            _ => &[],
        };
        let left = match extended {
            [] => u64::from(header[1] & 0x7f),
            bytes => bytes.iter().fold(0, |length, byte| length << 8 | u64::from(*byte)),
        };
        let mask = is_masked.then(|| {
            let from = 2 + extended.len();
            [header[from], header[from + 1], header[from + 2], header[from + 3]]
        });
        let message = Message { opcode, payload: Vec::new(), bytes_count: 0 };
        let is_control = opcode & 0x08 != 0;
        let continues = opcode == 0;
        if header[0] & RESERVED != 0 || !is_control && continues != self.open.is_some() {
            self.is_broken = true;
            return;
        }
        let control = match is_control {
            true => Some(message),
            false => {
                if !continues {
                    self.open = Some(message);
                }
                None
            }
        };
        self.frame = Some(Frame { is_last, control, mask, at: 0, left });
    }

    /// Ends the frame if all of its payload is there.
    fn end(&mut self, found: &mut dyn FnMut(Message)) {
        let Some(frame) = self.frame.take_if(|frame| frame.left == 0) else { return };
        let message = match frame.control {
            Some(control) => Some(control),
            None if frame.is_last => self.open.take(),
            None => None,
        };
        if let Some(message) = message {
            found(message);
        }
    }
}

/// How long a header is of which this is the beginning.
fn header_bytes(beginning: &[u8]) -> usize {
    let Some(second) = beginning.get(1) else { return 2 };
    let extended = match second & 0x7f {
        126 => 2,
        127 => 8,
        _ => 0,
    };
    2 + extended + if second & 0x80 == 0 { 0 } else { 4 }
}

/// Adds a part of the payload that begins at `at`.
fn keep(message: &mut Message, payload: &[u8], mask: Option<[u8; 4]>, at: u64, bytes_max: usize) {
    message.bytes_count += payload.len() as u64;
    let room = bytes_max.saturating_sub(message.payload.len());
    let mask = mask.unwrap_or_default();
    let kept = payload.iter().take(room).zip(at..);
    message.payload.extend(kept.map(|(byte, at)| byte ^ mask[(at % 4) as usize]));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn messages(wire: &[u8], piece: usize, bytes_max: usize) -> Vec<Message> {
        let mut frames = Frames::new(bytes_max);
        let mut found = Vec::new();
        for piece in wire.chunks(piece) {
            frames.take(piece, &mut |message| found.push(message));
        }
        found
    }

    fn message(opcode: u8, payload: &[u8]) -> Message {
        Message { opcode, payload: payload.to_vec(), bytes_count: payload.len() as u64 }
    }

    /// The examples of RFC 6455, section 5.7.
    #[test]
    fn the_examples_of_the_standard_are_read() {
        let hello = message(1, b"Hello");
        let masked = [0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58];
        let plain = [0x81, 0x05, 0x48, 0x65, 0x6c, 0x6c, 0x6f];
        let ping = [0x89, 0x05, 0x48, 0x65, 0x6c, 0x6c, 0x6f];
        let first = [0x01, 0x03, 0x48, 0x65, 0x6c];
        let second = [0x80, 0x02, 0x6c, 0x6f];
        let long = [&[0x82, 0x7e, 0x01, 0x00][..], &[7; 256]].concat();
        let longer = [&[0x82, 0x7f, 0, 0, 0, 0, 0, 1, 0, 0][..], &[7; 65_536]].concat();
        for piece in [1, 2, 5, usize::MAX] {
            assert_eq!(messages(&masked, piece, 100), std::slice::from_ref(&hello));
            assert_eq!(messages(&plain, piece, 100), std::slice::from_ref(&hello));
            let between = [&first[..], &ping, &second].concat();
            assert_eq!(messages(&between, piece, 100), [message(9, b"Hello"), hello.clone()]);
            assert_eq!(messages(&long, piece, 1000), [message(2, &[7; 256])]);
            assert_eq!(messages(&longer, piece, 100_000), [message(2, &[7; 65_536])]);
        }
        assert_eq!(messages(&[0x8a, 0x00], 1, 100), [message(10, b"")]);
    }

    #[test]
    fn long_messages_are_counted_but_not_kept() {
        let long = [&[0x82, 0x7e, 0x01, 0x00][..], &[7; 256]].concat();
        let [found] = messages(&long, 9, 10).try_into().unwrap();
        assert_eq!((found.payload.len(), found.bytes_count), (10, 256));
    }

    #[test]
    fn what_is_no_frame_ends_the_reading() {
        assert_eq!(messages(&[0xc1, 0x00, 0x81, 0x00], 1, 10), []);
        // A message goes on that has not begun.
        assert_eq!(messages(&[0x80, 0x00, 0x81, 0x00], 1, 10), []);
    }

    proptest! {
        #[test]
        fn pieces_do_not_matter(wire: Vec<u8>, piece in 1_usize..9) {
            prop_assert_eq!(messages(&wire, piece, 64), messages(&wire, usize::MAX, 64));
        }
    }
}
