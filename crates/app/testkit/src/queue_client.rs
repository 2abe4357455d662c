//! A client of the queue that blocks, written from `docs/queue-reference.md` alone.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// A test that waits for this long for an answer hangs.
const ANSWER_MAX: Duration = Duration::from_secs(40);

/// The type of a request that creates a queue.
pub const CREATE: u8 = 1;
/// The type of a request that deletes a queue.
pub const DELETE: u8 = 2;
/// The type of a request that sends a message.
pub const SEND: u8 = 3;
/// The type of a request for a message that stays.
pub const PEEK: u8 = 4;
/// The type of a request for a message that is taken out.
pub const POP: u8 = 5;
/// The type of a request for the queues that hold messages to a receiver.
pub const QUEUES: u8 = 6;
/// The type of a request for the messages of a sender to a receiver.
pub const MESSAGES: u8 = 7;
/// The type of a request whose bytes come back.
pub const ECHO: u8 = 8;

/// The code of an error: the payload does not fit its type.
pub const MALFORMED: u16 = 1;
/// The code of an error: no operation has this type.
pub const UNKNOWN_TYPE: u16 = 2;
/// The code of an error: the payload is too long.
pub const TOO_LARGE: u16 = 3;
/// The code of an error: the text has a NUL or is not UTF-8.
pub const TEXT: u16 = 4;
/// The code of an error: the queue does not exist.
pub const NO_QUEUE: u16 = 5;
/// The code of an error: the store could not be reached, and nothing was done.
pub const UNAVAILABLE: u16 = 6;
/// The code of an error: the request may have been carried out.
pub const UNKNOWN_OUTCOME: u16 = 7;
/// The code of an error: the server stops.
pub const STOPPING: u16 = 9;
/// The code of an error: too many connections are open.
pub const CONNECTIONS: u16 = 10;
/// The code of an error: a frame was not complete in time.
pub const TIMEOUT: u16 = 11;

/// A connection.
pub struct Client {
    /// What carries its frames.
    pub stream: TcpStream,
}

/// Why a request has no result.
#[derive(Debug)]
pub enum Failure {
    /// An error with this code.
    Code(u16, String),
    /// The connection broke.
    Broken(io::Error),
}

/// A message, as in answers to peek and pop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Its number.
    pub id: u64,
    /// The queue that holds it.
    pub queue: u32,
    /// Who sent it.
    pub sender: u32,
    /// Who may take it; 0 is anybody.
    pub receiver: u32,
    /// When the store took it in, in microseconds since 1970.
    pub arrival_us: u64,
    /// What it says.
    pub text: String,
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
pub fn frame(kind: u8, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap();
    [&length.to_be_bytes()[..], &[kind], payload].concat()
}

/// Fields, and a text behind them.
pub fn fields(numbers: &[u32], text: &str) -> Vec<u8> {
    let numbers = numbers.iter().flat_map(|number| number.to_be_bytes());
    numbers.chain(text.bytes()).collect()
}

impl Failure {
    /// The code of an error; `None` if the connection broke.
    pub fn code(&self) -> Option<u16> {
        match self {
            Failure::Code(code, _) => Some(*code),
            Failure::Broken(_) => None,
        }
    }
}

impl Client {
    /// Connects; an answer that does not come ends in an error.
    pub fn connect(address: SocketAddr) -> io::Result<Client> {
        let stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(ANSWER_MAX))?;
        stream.set_nodelay(true)?;
        Ok(Client { stream })
    }

    /// Writes bytes as they are.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// The next frame: its type and payload.
    pub fn read(&mut self) -> io::Result<(u8, Vec<u8>)> {
        let mut header = [0; 5];
        self.stream.read_exact(&mut header)?;
        let [length @ .., kind] = header;
        let mut payload = vec![0; u32::from_be_bytes(length) as usize];
        self.stream.read_exact(&mut payload)?;
        Ok((kind, payload))
    }

    /// The payload of the next answer to a request of this type.
    pub fn answer(&mut self, kind: u8) -> Result<Vec<u8>, Failure> {
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

    /// Sends a request, and returns the payload of its answer.
    pub fn request(&mut self, kind: u8, payload: &[u8]) -> Result<Vec<u8>, Failure> {
        self.write(&frame(kind, payload)).map_err(Failure::Broken)?;
        self.answer(kind)
    }

    /// Creates a queue, and returns its number.
    pub fn create(&mut self, creator: u32) -> Result<u32, Failure> {
        let payload = self.request(CREATE, &fields(&[creator], ""))?;
        Ok(Rest(&payload).u32())
    }

    /// Deletes a queue, and returns how many messages were deleted with it.
    pub fn delete(&mut self, queue: u32) -> Result<u32, Failure> {
        let payload = self.request(DELETE, &fields(&[queue], ""))?;
        Ok(Rest(&payload).u32())
    }

    /// Sends a text, and returns the message's id; receiver 0 is anybody.
    pub fn send(
        &mut self,
        queue: u32,
        sender: u32,
        receiver: u32,
        text: &str,
    ) -> Result<u64, Failure> {
        let payload = self.request(SEND, &fields(&[queue, sender, receiver], text))?;
        Ok(Rest(&payload).u64())
    }

    /// The oldest message to this receiver, which stays; `None` if there is none.
    pub fn peek(&mut self, queue: u32, receiver: u32) -> Result<Option<Message>, Failure> {
        let payload = self.request(PEEK, &fields(&[queue, receiver], ""))?;
        Ok(message(&payload))
    }

    /// The oldest message to this receiver, which is taken out; `None` if none came in this time.
    pub fn pop(
        &mut self,
        queue: u32,
        receiver: u32,
        wait_ms: u32,
    ) -> Result<Option<Message>, Failure> {
        let payload = self.request(POP, &fields(&[queue, receiver, wait_ms], ""))?;
        Ok(message(&payload))
    }

    /// The queues that hold messages to this receiver.
    pub fn queues(&mut self, receiver: u32, limit: u32) -> Result<Vec<u32>, Failure> {
        let payload = self.request(QUEUES, &fields(&[receiver, limit], ""))?;
        let mut rest = Rest(&payload);
        let queues = (0..rest.u32()).map(|_| rest.u32()).collect();
        assert!(rest.0.is_empty());
        Ok(queues)
    }

    /// The messages of this sender to this receiver.
    pub fn messages(
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

    /// Sends bytes, and returns those that come back.
    pub fn echo(&mut self, bytes: &[u8]) -> Result<Vec<u8>, Failure> {
        self.request(ECHO, bytes)
    }

    /// The code of the next answer, which must be an error.
    pub fn refusal(&mut self, kind: u8) -> u16 {
        let failure = self.answer(kind).expect_err("an error");
        failure.code().unwrap_or_else(|| panic!("{failure:?}"))
    }

    /// Asserts that the server closes the connection, properly.
    pub fn expect_end(&mut self) {
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
