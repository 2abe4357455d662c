//! Utterances of users, and the messages with a number and a stamp that they become.

use serde::{Deserialize, Serialize};

use super::request_error::RequestError;

/// Longest name of a speaker, in bytes.
const FROM_MAX: usize = 64;

/// An utterance of a user, as it comes by any transport.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
// Clients get this in the text of an error: it does not change with the name of the type.
#[serde(expecting = "struct Said")]
pub(super) struct Utterance {
    /// Clients of Phoenix were published that call it `body`.
    #[serde(alias = "body")]
    pub(super) message: String,
    /// The speaker's name; may be empty.
    #[serde(default)]
    pub(super) from: String,
}

impl Utterance {
    /// Reads `{"message":…,"from":…}` of at most `max` bytes of text.
    pub(super) fn parse(text: &str, max: usize) -> Result<Self, RequestError> {
        let said: Self =
            serde_json::from_str(text).map_err(|error| RequestError::unreadable(&error))?;
        said.check(max)
    }

    /// Itself, if it can be said.
    pub(super) fn check(self, max: usize) -> Result<Self, RequestError> {
        if self.message.len() > max {
            return Err(RequestError::TooLong { max });
        }
        if self.message.is_empty() {
            return Err(RequestError::Invalid("the message is empty".to_owned()));
        }
        if self.from.len() > FROM_MAX {
            let error = format!("a name is at most {FROM_MAX} bytes long");
            return Err(RequestError::Invalid(error));
        }
        Ok(self)
    }
}

/// A message of a room.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Message {
    /// Counts the room's messages from 1, without gaps.
    pub(super) id: u64,
    /// The message as JSON on one line, the same on every transport.
    pub(super) json: Box<str>,
}

impl Message {
    /// `sent_at_ms` is the time at which the room took it, in milliseconds since 1970.
    pub(super) fn new(room: &str, id: u64, said: &Utterance, sent_at_ms: f64) -> Self {
        #[derive(Serialize)]
        struct View<'a> {
            room: &'a str,
            id: u64,
            from: &'a str,
            message: &'a str,
            sent_at_ms: f64,
        }
        let view = View { room, id, from: &said.from, message: &said.message, sent_at_ms };
        let json = serde_json::to_string(&view).expect("plain data without maps always encodes");
        Self { id, json: json.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_that_are_refused() {
        let code = |text: &str| Utterance::parse(text, 8).map_err(|fault| fault.code());
        let said = Utterance { message: "hi".into(), from: String::new() };
        assert_eq!(code(r#"{"message":"hi"}"#), Ok(said.clone()));
        assert_eq!(code(r#"{"body":"hi"}"#), Ok(said));
        for (text, expected) in [
            ("", "malformed"),
            ("{", "malformed"),
            ("[]", "invalid"),
            ("{}", "invalid"),
            (r#"{"message":7}"#, "invalid"),
            (r#"{"message":""}"#, "invalid"),
            (r#"{"message":"123456789"}"#, "too_long"),
        ] {
            assert_eq!(code(text), Err(expected), "{text}");
        }
        let long = format!(r#"{{"message":"a","from":"{}"}}"#, "x".repeat(65));
        assert_eq!(code(&long), Err("invalid"));
    }

    #[test]
    fn a_message_is_one_line() {
        let said = Utterance { message: "a\r\nb\u{2028}\"".into(), from: "ann".into() };
        let message = Message::new("lobby", 7, &said, 1.5);
        assert_eq!(
            &*message.json,
            "{\"room\":\"lobby\",\"id\":7,\"from\":\"ann\",\
             \"message\":\"a\\r\\nb\u{2028}\\\"\",\"sent_at_ms\":1.5}"
        );
    }
}
