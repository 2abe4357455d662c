//! A client of the queue that blocks, written from `docs/queue-reference.md` alone.
//!
//! Crates include this file by its path.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// A test that waits for this long for an answer hangs.
const ANSWER_MAX: Duration = Duration::from_secs(40);

pub(crate) const CREATE: u8 = 1;
pub(crate) const DELETE: u8 = 2;
pub(crate) const SEND: u8 = 3;
pub(crate) const PEEK: u8 = 4;
pub(crate) const POP: u8 = 5;
pub(crate) const QUEUES: u8 = 6;
pub(crate) const MESSAGES: u8 = 7;
pub(crate) const ECHO: u8 = 8;

pub(crate) const MALFORMED: u16 = 1;
pub(crate) const UNKNOWN_TYPE: u16 = 2;
pub(crate) const TOO_LARGE: u16 = 3;
pub(crate) const TEXT: u16 = 4;
pub(crate) const NO_QUEUE: u16 = 5;
pub(crate) const UNAVAILABLE: u16 = 6;
pub(crate) const UNKNOWN_OUTCOME: u16 = 7;
pub(crate) const STOPPING: u16 = 9;
pub(crate) const CONNECTIONS: u16 = 10;
pub(crate) const TIMEOUT: u16 = 11;

/// A connection.
pub(crate) struct Client {
    pub(crate) stream: TcpStream,
}

/// Why a request has no result.
#[derive(Debug)]
pub(crate) enum Failure {
    /// An error with this code.
    Code(u16, String),
    /// The connection broke.
    Broken(#[expect(dead_code, reason = "shown by tests that fail")] io::Error),
}

/// A message, as in answers to peek and pop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) id: u64,
    pub(crate) queue: u32,
    pub(crate) sender: u32,
    pub(crate) receiver: u32,
    pub(crate) arrival_us: u64,
    pub(crate) text: String,
}

/// What is left of a payload.
struct Rest<'a>(&'a [u8]);

impl Rest<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let (field, rest) = self.0.split_first_chunk().expect("the payload is too short");
        self.0 = rest;
        *field
    }

    fn u32(&mut self) -> u32 {
        u32::from_be_bytes(self.take())
    }

    fn u64(&mut self) -> u64 {
        u64::from_be_bytes(self.take())
    }

    fn text(&mut self, length: usize) -> String {
        let (text, rest) = self.0.split_at(length);
        self.0 = rest;
        String::from_utf8(text.to_vec()).unwrap()
    }
}

/// A frame.
pub(crate) fn frame(kind: u8, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap();
    [&length.to_be_bytes()[..], &[kind], payload].concat()
}

/// Fields, and a text behind them.
pub(crate) fn fields(numbers: &[u32], text: &str) -> Vec<u8> {
    let numbers = numbers.iter().flat_map(|number| number.to_be_bytes());
    numbers.chain(text.bytes()).collect()
}

impl Failure {
    pub(crate) fn code(&self) -> Option<u16> {
        match self {
            Failure::Code(code, _) => Some(*code),
            Failure::Broken(_) => None,
        }
    }
}

impl Client {
    pub(crate) fn connect(address: SocketAddr) -> io::Result<Client> {
        let stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(ANSWER_MAX))?;
        stream.set_nodelay(true)?;
        Ok(Client { stream })
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// The next frame: its type and payload.
    pub(crate) fn read(&mut self) -> io::Result<(u8, Vec<u8>)> {
        let mut header = [0; 5];
        self.stream.read_exact(&mut header)?;
        let [length @ .., kind] = header;
        let mut payload = vec![0; u32::from_be_bytes(length) as usize];
        self.stream.read_exact(&mut payload)?;
        Ok((kind, payload))
    }

    /// The payload of the next answer to a request of this type.
    pub(crate) fn answer(&mut self, kind: u8) -> Result<Vec<u8>, Failure> {
        let (got, payload) = self.read().map_err(Failure::Broken)?;
        if got == 0xff {
            let mut rest = Rest(&payload);
            let [of] = rest.take();
            assert!(of == kind || of == 0, "an error of type {of}, not {kind}");
            let code = u16::from_be_bytes(rest.take());
            let text = rest.text(rest.0.len());
            return Err(Failure::Code(code, text));
        }
        assert_eq!(got, kind | 0x80, "an answer of another type");
        Ok(payload)
    }

    pub(crate) fn request(&mut self, kind: u8, payload: &[u8]) -> Result<Vec<u8>, Failure> {
        self.write(&frame(kind, payload)).map_err(Failure::Broken)?;
        self.answer(kind)
    }

    pub(crate) fn create(&mut self, creator: u32) -> Result<u32, Failure> {
        let payload = self.request(CREATE, &fields(&[creator], ""))?;
        Ok(Rest(&payload).u32())
    }

    /// How many messages were deleted with it.
    pub(crate) fn delete(&mut self, queue: u32) -> Result<u32, Failure> {
        let payload = self.request(DELETE, &fields(&[queue], ""))?;
        Ok(Rest(&payload).u32())
    }

    /// The message's id; receiver 0 is anybody.
    pub(crate) fn send(
        &mut self,
        (queue, sender, receiver): (u32, u32, u32),
        text: &str,
    ) -> Result<u64, Failure> {
        let payload = self.request(SEND, &fields(&[queue, sender, receiver], text))?;
        Ok(Rest(&payload).u64())
    }

    pub(crate) fn peek(&mut self, queue: u32, receiver: u32) -> Result<Option<Message>, Failure> {
        let payload = self.request(PEEK, &fields(&[queue, receiver], ""))?;
        Ok(message(&payload))
    }

    pub(crate) fn pop(
        &mut self,
        queue: u32,
        receiver: u32,
        wait_ms: u32,
    ) -> Result<Option<Message>, Failure> {
        let payload = self.request(POP, &fields(&[queue, receiver, wait_ms], ""))?;
        Ok(message(&payload))
    }

    pub(crate) fn queues(&mut self, receiver: u32, limit: u32) -> Result<Vec<u32>, Failure> {
        let payload = self.request(QUEUES, &fields(&[receiver, limit], ""))?;
        let mut rest = Rest(&payload);
        let queues = (0..rest.u32()).map(|_| rest.u32()).collect();
        assert!(rest.0.is_empty());
        Ok(queues)
    }

    pub(crate) fn messages(
        &mut self,
        sender: u32,
        receiver: u32,
        limit: u32,
    ) -> Result<Vec<Message>, Failure> {
        let payload = self.request(MESSAGES, &fields(&[sender, receiver, limit], ""))?;
        let mut rest = Rest(&payload);
        let count = rest.u32();
        let mut messages = Vec::new();
        for _ in 0..count {
            messages.push(Message {
                id: rest.u64(),
                queue: rest.u32(),
                sender,
                receiver: rest.u32(),
                arrival_us: rest.u64(),
                text: {
                    let length = rest.u32();
                    rest.text(length as usize)
                },
            });
        }
        assert!(rest.0.is_empty());
        Ok(messages)
    }

    pub(crate) fn echo(&mut self, bytes: &[u8]) -> Result<Vec<u8>, Failure> {
        self.request(ECHO, bytes)
    }

    /// The code of the next answer, which must be an error, and whether the server then closes the connection.
    pub(crate) fn refusal(&mut self, kind: u8) -> u16 {
        let failure = self.answer(kind).expect_err("an error");
        failure.code().unwrap_or_else(|| panic!("{failure:?}"))
    }

    /// Asserts that the server closes the connection, properly.
    pub(crate) fn expect_end(&mut self) {
        let count = self.stream.read(&mut [0; 64]).unwrap();
        assert_eq!(count, 0, "the connection is open");
    }
}

/// `None` if there was none.
fn message(payload: &[u8]) -> Option<Message> {
    let mut rest = Rest(payload);
    let message = Message {
        id: rest.u64(),
        queue: rest.u32(),
        sender: rest.u32(),
        receiver: rest.u32(),
        arrival_us: rest.u64(),
        text: rest.text(rest.0.len()),
    };
    if message.id == 0 {
        assert!(payload.iter().all(|&byte| byte == 0) && payload.len() == 28);
        return None;
    }
    Some(message)
}
