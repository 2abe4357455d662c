//! Plain TCP, and what is sent over it or over a WebSocket.

use proto::frame::Framing;
use serde::Serialize;

use crate::expr::binary::Bytes;
use crate::expr::{Context, EvalError, Template};
use crate::ids::{EndpointId, MeasureId};

/// Opening a TCP connection whose messages are reported apart by a framing.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TcpOpen {
    pub endpoint: EndpointId,
    #[serde(serialize_with = "crate::remote::framing")]
    pub framing: Framing,
    /// The byte that ends each record; each record of a message is a message of its own.
    pub records: Option<u8>,
    /// Connect and TLS together.
    pub measure: MeasureId,
    pub timeout_ns: u64,
}

/// Content of a message.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub enum Payload {
    Text(Template),
    Bytes(Bytes),
    /// A message over a call of gRPC, which frames it.
    Message {
        message: crate::calls::Payload,
        /// No further message follows.
        is_last: bool,
        /// It is compressed; `None`: as the call says.
        compress: Option<bool>,
    },
}

impl Payload {
    /// Appends the message for this user to `out`, which holds a part of it on an error.
    pub fn render<C: Context>(&self, context: &mut C, out: &mut Vec<u8>) -> Result<(), EvalError> {
        match self {
            Payload::Text(template) => template.render(context, out),
            Payload::Bytes(bytes) => bytes.render(context, out),
            Payload::Message { .. } => {
                let problem = "the message belongs to a call of gRPC".to_owned();
                Err(EvalError::Argument(problem))
            }
        }
    }
}
