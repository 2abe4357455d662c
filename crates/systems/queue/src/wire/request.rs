//! Requests.

use super::{Code, MESSAGES_MAX, Problem, QUEUES_MAX, WAIT_MAX_MS};

/// The operation that a request asks for; its number is its type on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Operation {
    CreateQueue = 1,
    DeleteQueue = 2,
    Send = 3,
    Peek = 4,
    Pop = 5,
    Queues = 6,
    Messages = 7,
    Echo = 8,
}

/// A request to the store: all but an echo. Queues and clients are positive; no receiver is anybody in a send, and
/// nobody in particular elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Request {
    CreateQueue { creator: i32 },
    DeleteQueue { queue: i32 },
    Send { queue: i32, sender: i32, receiver: Option<i32>, text: String },
    Peek { queue: i32, receiver: Option<i32> },
    Pop { queue: i32, receiver: Option<i32>, wait_ms: u32 },
    Queues { receiver: i32, limit: u32 },
    Messages { sender: i32, receiver: Option<i32>, limit: u32 },
}

impl Operation {
    /// All of them, by their type less 1.
    pub(crate) const ALL: [Operation; 8] = [
        Operation::CreateQueue,
        Operation::DeleteQueue,
        Operation::Send,
        Operation::Peek,
        Operation::Pop,
        Operation::Queues,
        Operation::Messages,
        Operation::Echo,
    ];

    /// The operation of this type.
    pub(crate) fn from_kind(kind: u8) -> Option<Self> {
        let place = usize::from(kind).checked_sub(1)?;
        Self::ALL.get(place).copied()
    }

    /// Name in metrics, errors and documentation.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Operation::CreateQueue => "create queue",
            Operation::DeleteQueue => "delete queue",
            Operation::Send => "send",
            Operation::Peek => "peek",
            Operation::Pop => "pop",
            Operation::Queues => "queues",
            Operation::Messages => "messages",
            Operation::Echo => "echo",
        }
    }
}

impl Request {
    /// Reads the payload of a request; `None` is an echo, whose payload may be anything.
    ///
    /// # Errors
    /// When it has not the length of its operation, a field is out of range, or the text is none.
    pub(crate) fn parse(operation: Operation, payload: &[u8]) -> Result<Option<Self>, Problem> {
        let mut fields = Fields { operation, rest: payload };
        let request = match operation {
            Operation::CreateQueue => Request::CreateQueue { creator: fields.id("creator")? },
            Operation::DeleteQueue => Request::DeleteQueue { queue: fields.id("queue")? },
            Operation::Send => Request::Send {
                queue: fields.id("queue")?,
                sender: fields.id("sender")?,
                receiver: fields.id_or_none("receiver")?,
                text: fields.text()?,
            },
            Operation::Peek => Request::Peek {
                queue: fields.id("queue")?,
                receiver: fields.id_or_none("receiver")?,
            },
            Operation::Pop => Request::Pop {
                queue: fields.id("queue")?,
                receiver: fields.id_or_none("receiver")?,
                wait_ms: fields.at_most("wait", WAIT_MAX_MS)?,
            },
            Operation::Queues => Request::Queues {
                receiver: fields.id("receiver")?,
                limit: fields.limit(QUEUES_MAX)?,
            },
            Operation::Messages => Request::Messages {
                sender: fields.id("sender")?,
                receiver: fields.id_or_none("receiver")?,
                limit: fields.limit(MESSAGES_MAX)?,
            },
            Operation::Echo => return Ok(None),
        };
        match fields.rest.len() {
            0 => Ok(Some(request)),
            more => Err(fields.malformed(&format!("{more} bytes more than its fields have"))),
        }
    }
}

impl Request {
    /// The operation that is asked for.
    pub(crate) fn operation(&self) -> Operation {
        match self {
            Request::CreateQueue { .. } => Operation::CreateQueue,
            Request::DeleteQueue { .. } => Operation::DeleteQueue,
            Request::Send { .. } => Operation::Send,
            Request::Peek { .. } => Operation::Peek,
            Request::Pop { .. } => Operation::Pop,
            Request::Queues { .. } => Operation::Queues,
            Request::Messages { .. } => Operation::Messages,
        }
    }

    /// Whether it changes nothing, so that repeating it is harmless.
    pub(crate) fn only_reads(&self) -> bool {
        matches!(self, Request::Peek { .. } | Request::Queues { .. } | Request::Messages { .. })
    }
}

/// The rest of a payload.
struct Fields<'a> {
    operation: Operation,
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    fn malformed(&self, what: &str) -> Problem {
        let text = format!("{}: {what}", self.operation.name());
        Problem::new(Code::Malformed, text)
    }

    fn number(&mut self, name: &str) -> Result<u32, Problem> {
        let Some((bytes, rest)) = self.rest.split_first_chunk() else {
            return Err(self.malformed(&format!("the payload ends before its {name}")));
        };
        self.rest = rest;
        Ok(u32::from_be_bytes(*bytes))
    }

    /// A number of a queue or a client.
    fn id(&mut self, name: &str) -> Result<i32, Problem> {
        let id = self.id_or_none(name)?;
        id.ok_or_else(|| self.malformed(&format!("{name} must be at least 1")))
    }

    /// A number of a queue or a client, or 0 for none.
    fn id_or_none(&mut self, name: &str) -> Result<Option<i32>, Problem> {
        let number = self.number(name)?;
        match i32::try_from(number) {
            Ok(0) => Ok(None),
            Ok(id) => Ok(Some(id)),
            Err(_) => Err(self.malformed(&format!("{name} must be at most {}", i32::MAX))),
        }
    }

    fn at_most(&mut self, name: &str, most: u32) -> Result<u32, Problem> {
        let number = self.number(name)?;
        match number <= most {
            true => Ok(number),
            false => Err(self.malformed(&format!("{name} must be at most {most}"))),
        }
    }

    /// A limit; 0 is the highest.
    fn limit(&mut self, most: u32) -> Result<u32, Problem> {
        let limit = self.at_most("limit", most)?;
        Ok(if limit == 0 { most } else { limit })
    }

    /// The rest, which the database takes as a text.
    fn text(&mut self) -> Result<String, Problem> {
        let bytes = std::mem::take(&mut self.rest);
        let problem = |what| Problem::new(Code::Text, format!("the text {what}"));
        let text = std::str::from_utf8(bytes).map_err(|error| {
            let at = error.valid_up_to();
            problem(format!("is not UTF-8 at byte {at}"))
        })?;
        match text.bytes().position(|byte| byte == 0) {
            None => Ok(text.to_owned()),
            Some(at) => {
                Err(problem(format!("has a NUL at byte {at}, which PostgreSQL cannot keep")))
            }
        }
    }
}
