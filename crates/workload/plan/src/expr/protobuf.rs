//! Messages of Protocol Buffers as values.

use std::sync::Arc;

use grpc::{Schema, from_json, to_json};
use serde::Serialize;

use super::{EvalError, Value};

/// The type of a message, and whether it is written or read.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MessageType {
    /// The plan has it as well.
    #[serde(skip)]
    pub schema: Arc<Schema>,
    /// The schema's number of the message.
    pub message: u32,
    /// Bytes become JSON text; otherwise JSON text becomes bytes.
    pub decodes: bool,
}

impl MessageType {
    /// The bytes of the message that is JSON text, or the JSON text of bytes.
    pub(super) fn convert(&self, value: &Value) -> Result<Value, EvalError> {
        if self.decodes {
            let json = to_json(&self.schema, self.message, &value.bytes());
            let json = json.map_err(|error| refused("protobuf_decode", &error.to_string()))?;
            return Ok(Value::text(&String::from_utf8_lossy(&json)));
        }
        let mut out = Vec::new();
        let written = from_json(&self.schema, self.message, &value.to_text(), &mut out);
        written.map_err(|error| refused("protobuf", &error.to_string()))?;
        Ok(Value::Bytes(out.into()))
    }
}

fn refused(function: &str, error: &str) -> EvalError {
    EvalError::Argument(format!("{function}: {error}"))
}
