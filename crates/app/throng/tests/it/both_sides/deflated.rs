//! A WebSocket with permessage-deflate (RFC 7692), both sides with one context for all messages: frames by hand, the
//! compression by flate2.

use std::io;

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress};
use tungstenite::handshake::derive_accept_key;

use super::conns::Conn;

/// What a sync flush ends with, which is left out of a message (§7.2.1).
const TAIL: [u8; 4] = [0, 0, 0xff, 0xff];
/// Messages of these tests are shorter.
const MESSAGE_BYTES_MAX: usize = 1 << 20;
const TEXT: u8 = 1;
const CLOSE: u8 = 8;

pub(super) struct Deflated<'a> {
    stream: &'a mut dyn Conn,
    deflate: Compress,
    inflate: Decompress,
}

impl<'a> Deflated<'a> {
    /// Answers the handshake, and takes the compression that it offers.
    pub(super) fn accept(stream: &'a mut dyn Conn) -> io::Result<Deflated<'a>> {
        let head = super::requests::read(stream)?;
        let field = |wanted: &str| {
            let mut fields = head.lines().filter_map(|line| line.split_once(": "));
            let found = fields.find(|(name, _)| name.eq_ignore_ascii_case(wanted));
            found.map(|(_, value)| value.to_owned())
        };
        let offered = field("sec-websocket-extensions").unwrap();
        assert!(offered.starts_with("permessage-deflate"), "{offered}");
        let key = derive_accept_key(field("sec-websocket-key").unwrap().as_bytes());
        write!(
            stream,
            "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\n\
             sec-websocket-accept: {key}\r\nsec-websocket-extensions: permessage-deflate\r\n"
        )?;
        if let Some(protocols) = field("sec-websocket-protocol") {
            let chosen = protocols.split(',').next().unwrap();
            write!(stream, "sec-websocket-protocol: {chosen}\r\n")?;
        }
        stream.write_all(b"\r\n")?;
        stream.flush()?;
        Ok(Deflated {
            stream,
            deflate: Compress::new(Compression::default(), false),
            inflate: Decompress::new(false),
        })
    }

    /// The next text; `None`: the client has left.
    pub(super) fn read(&mut self) -> io::Result<Option<String>> {
        loop {
            let mut head = [0; 2];
            if self.stream.read_exact(&mut head).is_err() {
                return Ok(None);
            }
            assert_eq!(head[0] & 0x80, 0x80, "clients of these tests do not fragment");
            let len = match head[1] & 0x7f {
                126 => u64::from(u16::from_be_bytes(self.take()?)),
                127 => u64::from_be_bytes(self.take()?),
                len => u64::from(len),
            };
            let mask: [u8; 4] = self.take()?;
            let mut payload = vec![0; len as usize];
            self.stream.read_exact(&mut payload)?;
            for (at, byte) in payload.iter_mut().enumerate() {
                *byte ^= mask[at % 4];
            }
            match head[0] & 0x0f {
                TEXT if head[0] & 0x40 != 0 => return Ok(Some(self.inflated(payload))),
                TEXT => return Ok(Some(String::from_utf8(payload).unwrap())),
                CLOSE => {
                    let len = payload.len() as u8;
                    self.stream.write_all(&[0x80 | CLOSE, len])?;
                    self.stream.write_all(&payload)?;
                    self.stream.flush()?;
                }
                _ => {}
            }
        }
    }

    pub(super) fn write(&mut self, text: &str) -> io::Result<()> {
        let mut payload = Vec::with_capacity(text.len() + 64);
        let done = self.deflate.compress_vec(text.as_bytes(), &mut payload, FlushCompress::Sync);
        done.map_err(io::Error::other)?;
        assert!(payload.ends_with(&TAIL), "there was room for all of it");
        payload.truncate(payload.len() - TAIL.len());
        let mut frame = vec![0xc0 | TEXT];
        match payload.len() {
            len @ ..126 => frame.push(len as u8),
            len => {
                frame.push(126);
                frame.extend(u16::try_from(len).unwrap().to_be_bytes());
            }
        }
        frame.extend(payload);
        self.stream.write_all(&frame)?;
        self.stream.flush()
    }

    pub(super) fn stream(&mut self) -> &mut dyn Conn {
        self.stream
    }

    fn take<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.stream.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    fn inflated(&mut self, mut payload: Vec<u8>) -> String {
        payload.extend(TAIL);
        let mut text = Vec::with_capacity(MESSAGE_BYTES_MAX);
        self.inflate.decompress_vec(&payload, &mut text, FlushDecompress::Sync).unwrap();
        String::from_utf8(text).unwrap()
    }
}
