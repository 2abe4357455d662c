//! How an answer begins and ends (PROTOCOL-HTTP2.md, "Responses").

use crate::frame::{PREFIX_BYTES, unframed};
use crate::json::to_json;
use crate::schema::Schema;
use crate::status::{STATUSES, UNKNOWN, name_of, of_http_status, readable};

/// The status of a response that may be an answer.
const HTTP_OK: u16 = 200;
/// How the content type of an answer begins.
const CONTENT_TYPE: &[u8] = b"application/grpc";

/// How a call ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ending {
    /// The code of its status.
    pub code: u8,
    /// Message of the status; may be empty. Texts show it behind a colon.
    pub message: String,
}

/// An error in an answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// `code` stands for the HTTP status.
    #[error("HTTP status {status} instead of an answer: {}", name_of(*code))]
    Http { status: u16, code: u8 },
    #[error("content-type {0:?} instead of application/grpc")]
    ContentType(String),
    #[error("the answer ends without a grpc-status")]
    NoStatus,
    #[error("the grpc-status {0:?} is no number")]
    Status(String),
}

/// Is a head that of an answer?
///
/// # Errors
/// It is not: of another HTTP status, or with another content.
pub fn check_head(status: u16, content_type: &[u8]) -> Result<(), AnswerError> {
    if status != HTTP_OK {
        let code = of_http_status(status);
        return Err(AnswerError::Http { status, code });
    }
    let (is_grpc, rest) = match content_type.split_at_checked(CONTENT_TYPE.len()) {
        Some((start, rest)) => (start.eq_ignore_ascii_case(CONTENT_TYPE), rest),
        None => (false, &[][..]),
    };
    if is_grpc && matches!(rest.first(), None | Some(b'+' | b';' | b' ')) {
        return Ok(());
    }
    let found = String::from_utf8_lossy(content_type).into_owned();
    Err(AnswerError::ContentType(found))
}

impl Ending {
    /// One with this message; empty: with none.
    pub fn new(code: u8, message: &str) -> Ending {
        let message = match message {
            "" => String::new(),
            message => format!(": {message}"),
        };
        Ending { code, message }
    }

    /// The one that trailers have, each field on a line. What no code has counts as UNKNOWN.
    ///
    /// # Errors
    /// They have no status.
    pub fn parse(trailers: &[u8]) -> Result<Ending, AnswerError> {
        let status = field(trailers, b"grpc-status").ok_or(AnswerError::NoStatus)?;
        let code = std::str::from_utf8(status).ok();
        let code = code.and_then(|code| code.parse::<u32>().ok());
        let no_number = || AnswerError::Status(String::from_utf8_lossy(status).into_owned());
        let code = u8::try_from(code.ok_or_else(no_number)?).unwrap_or(UNKNOWN);
        let is_known = usize::from(code) < STATUSES.len();
        let message = field(trailers, b"grpc-message").unwrap_or_default();
        let code = if is_known { code } else { UNKNOWN };
        Ok(Ending::new(code, &readable(message)))
    }

    /// Head and trailers as one head, whose status is that of the call.
    pub fn head_text(&self, head: &[u8], trailers: &[u8]) -> Vec<u8> {
        let mut text = format!("gRPC {} {}\r\n", self.code, name_of(self.code)).into_bytes();
        let fields = head.iter().position(|&byte| byte == b'\n');
        let fields = fields.map_or(&[][..], |end| &head[end + 1..]);
        text.extend_from_slice(fields.strip_suffix(b"\r\n").unwrap_or(fields));
        text.extend_from_slice(trailers.strip_suffix(b"\r\n").unwrap_or(trailers));
        text.extend_from_slice(b"\r\n");
        text
    }
}

/// The value of the first field of this name among lines.
fn field<'a>(lines: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    lines.split(|&byte| byte == b'\n').find_map(|line| {
        let colon = line.iter().position(|&byte| byte == b':')?;
        let (found, value) = line.split_at(colon);
        found.eq_ignore_ascii_case(name).then(|| value[1..].trim_ascii())
    })
}

/// A message in its frame, as it is shown: as JSON, or its bytes if it is none.
pub fn shown(schema: &Schema, message: u32, framed: &[u8]) -> Vec<u8> {
    let plain = unframed(framed, u32::MAX).ok();
    let json = plain.and_then(|plain| to_json(schema, message, &plain).ok());
    json.unwrap_or_else(|| framed.get(PREFIX_BYTES..).unwrap_or_default().to_vec())
}

/// A request of HTTP/1.1 form as it is shown: the message of a call as JSON; anything else as it is.
pub fn shown_request(schema: &Schema, message: Option<u32>, text: &[u8]) -> Vec<u8> {
    const END: &[u8] = b"\r\n\r\n";
    let end = text.windows(END.len()).position(|here| here == END);
    let (Some(message), Some(end)) = (message, end) else {
        return text.to_vec();
    };
    let (head, framed) = text.split_at(end + END.len());
    [head, &shown(schema, message, framed)].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ending_is_read_from_lines() {
        let parse = |lines: &str| Ending::parse(lines.as_bytes());
        let message = "Grpc-Message: no%20such\r\ngrpc-status:  5\r\n\r\n";
        assert_eq!(parse(message), Ok(Ending::new(5, "no such")));
        for unknown in ["17", "256", "4294967295"] {
            let ending = parse(&format!("grpc-status: {unknown}\r\n"));
            assert_eq!(ending, Ok(Ending::new(UNKNOWN, "")));
        }
        assert_eq!(parse("a: b\r\n\r\n"), Err(AnswerError::NoStatus));
        assert_eq!(parse("grpc-status: many\r\n"), Err(AnswerError::Status("many".to_owned())));
    }

    #[test]
    fn a_head_and_trailers_become_one() {
        let text = Ending::new(5, "").head_text(b"HTTP/2 200\r\na: b\r\n\r\n", b"c: d\r\n\r\n");
        assert_eq!(text, b"gRPC 5 NOT_FOUND\r\na: b\r\nc: d\r\n\r\n");
    }

    #[test]
    fn only_answers_of_grpc_are_answers() {
        for right in ["application/grpc", "Application/GRPC+proto", "application/grpc; x"] {
            assert_eq!(check_head(200, right.as_bytes()), Ok(()));
        }
        for wrong in ["", "text/html", "application/grpc-web"] {
            let error = AnswerError::ContentType(wrong.to_owned());
            assert_eq!(check_head(200, wrong.as_bytes()), Err(error));
        }
        let unavailable = check_head(503, b"").map_err(|error| error.to_string());
        let said = "HTTP status 503 instead of an answer: UNAVAILABLE".to_owned();
        assert_eq!(unavailable, Err(said));
    }
}
