//! Details of failures: what their outcomes do not say.

use record::Outcome;
use record::controls::is_control;
use record::schema::ErrorCount;

/// Bytes of a detail's text.
pub(super) const BYTES_MAX: usize = 160;
/// Words of at least as many letters and digits, some of them digits, are numbers of something.
const ID_CHARS_MIN: usize = 8;
/// The mark in place of a number.
const NUMBER: char = '#';
/// The mark at the end of a text that was cut.
const CUT: char = '…';

/// A number of a protocol that says how something failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Code {
    /// A status of HTTP.
    Status(u16),
    /// The code of a WebSocket's close frame, or in place of one (RFC 6455 §7.4.1).
    Close(u16),
    /// A reason code of MQTT.
    Mqtt(u8),
}

/// The cause that tells failures of one outcome apart.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Cause<'a> {
    Code(Code),
    /// A text of the scenario, such as a condition that does not hold.
    Named(&'a str),
    /// The failure's own text without its numbers, if the outcome does not say all.
    Text,
}

impl Cause<'_> {
    /// The cause of a failure whose answer had this status; 0: it had none.
    pub(crate) fn of_status(outcome: Outcome, status: u16) -> Cause<'static> {
        match (outcome, status) {
            (Outcome::Status, 1..) => Cause::Code(Code::Status(status)),
            _ => Cause::Text,
        }
    }
}

/// A detail in a few bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Detail {
    /// The outcome says all.
    None,
    Status(u16),
    Close(u16),
    Mqtt(u8),
    /// The outcome is a status of gRPC.
    Grpc,
    /// The number of a text.
    Text(u32),
    /// One of too many.
    Others,
}

pub(super) fn code_of(code: Code) -> Detail {
    match code {
        Code::Status(status) => Detail::Status(status),
        Code::Close(code) => Detail::Close(code),
        Code::Mqtt(reason) => Detail::Mqtt(reason),
    }
}

/// The detail of an outcome of which no more is known.
pub(super) fn plain(outcome: Outcome) -> Detail {
    match outcome.is_of_grpc() {
        true => Detail::Grpc,
        false => Detail::None,
    }
}

/// A detail as it is recorded, but for those that are texts.
pub(super) fn shown(outcome: Outcome, detail: Detail) -> Option<String> {
    match detail {
        Detail::None | Detail::Text(_) => None,
        Detail::Status(status) => Some(status.to_string()),
        Detail::Close(code) => Some(format!("close {code}")),
        Detail::Mqtt(reason) => Some(format!("reason {reason}")),
        Detail::Grpc => {
            let name = outcome.name();
            let name = name.strip_prefix("grpc-").unwrap_or(name);
            Some(name.replace('-', "_").to_uppercase())
        }
        Detail::Others => Some(ErrorCount::OTHERS.to_owned()),
    }
}

/// True if a peer may say with a code of its protocol that something ended so.
pub(super) fn may_have_code(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::Closed | Outcome::ChannelClosed | Outcome::Rejected)
}

/// True if failures with this outcome differ in their texts.
pub(super) fn is_text(outcome: Outcome) -> bool {
    match outcome {
        Outcome::Refused
        | Outcome::Unreachable
        | Outcome::Reset
        | Outcome::Closed
        | Outcome::TlsUntrusted
        | Outcome::Tls
        | Outcome::HttpProtocol
        | Outcome::WsProtocol
        | Outcome::Save
        | Outcome::Check
        | Outcome::Step
        | Outcome::Other
        | Outcome::Protocol
        | Outcome::Rejected
        | Outcome::ChannelClosed
        | Outcome::Redirect
        | Outcome::Decoding
        | Outcome::ProxyRefused
        | Outcome::Script
        | Outcome::Graphql
        | Outcome::TooMuchWork => true,
        Outcome::Ok
        | Outcome::ConnectTimeout
        | Outcome::Timeout
        | Outcome::InvalidUtf8
        | Outcome::TooLarge
        | Outcome::Status
        | Outcome::NoFiles
        | Outcome::NoPorts
        | Outcome::NoMemory
        | Outcome::SelfConnect
        | Outcome::Unfinished
        | Outcome::Http2NoError
        | Outcome::Http2ProtocolError
        | Outcome::Http2InternalError
        | Outcome::Http2FlowControlError
        | Outcome::Http2SettingsTimeout
        | Outcome::Http2StreamClosed
        | Outcome::Http2FrameSizeError
        | Outcome::Http2RefusedStream
        | Outcome::Http2Cancel
        | Outcome::Http2CompressionError
        | Outcome::Http2ConnectError
        | Outcome::Http2EnhanceYourCalm
        | Outcome::Http2InadequateSecurity
        | Outcome::Http2Http11Required
        | Outcome::GrpcCancelled
        | Outcome::GrpcUnknown
        | Outcome::GrpcInvalidArgument
        | Outcome::GrpcDeadlineExceeded
        | Outcome::GrpcNotFound
        | Outcome::GrpcAlreadyExists
        | Outcome::GrpcPermissionDenied
        | Outcome::GrpcResourceExhausted
        | Outcome::GrpcFailedPrecondition
        | Outcome::GrpcAborted
        | Outcome::GrpcOutOfRange
        | Outcome::GrpcUnimplemented
        | Outcome::GrpcInternal
        | Outcome::GrpcUnavailable
        | Outcome::GrpcDataLoss
        | Outcome::GrpcUnauthenticated => false,
    }
}

/// The detail in a failure's text: without its numbers, and without the beginning of the answer in which a value is
/// missing.
pub(super) fn of_text(outcome: Outcome, text: &str) -> String {
    let text = match outcome {
        Outcome::Save => text.split_once(" in `").map_or(text, |(place, _)| place),
        Outcome::Check | Outcome::WsProtocol | Outcome::HttpProtocol => {
            text.split_once(": `").map_or(text, |(why, _)| why)
        }
        _ => text,
    };
    shortened(&without_numbers(text), BYTES_MAX)
}

/// The text of a detail: with a mark in place of each number and of each word that is an id.
pub fn without_numbers(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let word = &rest[..rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len())];
        if word.is_empty() {
            let next = rest.chars().next().map_or(rest.len(), char::len_utf8);
            let between = &rest[..next];
            let is_point = between == "." && plain.ends_with(NUMBER);
            let goes_on = rest[next..].starts_with(|c: char| c.is_ascii_digit());
            if !(is_point && goes_on) {
                plain.push_str(between);
            }
            rest = &rest[next..];
            continue;
        }
        rest = &rest[word.len()..];
        let has_digits = word.contains(|c: char| c.is_ascii_digit());
        match has_digits && word.chars().count() >= ID_CHARS_MIN {
            true => push_mark(&mut plain),
            false => word.chars().for_each(|c| match c.is_ascii_digit() {
                true => push_mark(&mut plain),
                false => plain.push(c),
            }),
        }
    }
    plain
}

fn push_mark(text: &mut String) {
    if !text.ends_with(NUMBER) {
        text.push(NUMBER);
    }
}

/// The first bytes of a text on one line, without what controls a terminal.
pub(super) fn shortened(text: &str, bytes_max: usize) -> String {
    let mut short = String::with_capacity(text.len().min(bytes_max));
    for c in text.chars() {
        let c = match c {
            '\n' | '\t' => ' ',
            c if is_control(c) => continue,
            c => c,
        };
        if short.len() + c.len_utf8() > bytes_max {
            short.push(CUT);
            break;
        }
        short.push(c);
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_differ_in_numbers_alone_are_one_detail() {
        for (text, expected) in [
            ("Error: user 17 has no cart", "Error: user # has no cart"),
            ("user17 took 1.5 s, 12,000 tries", "user# took # s, #,# tries"),
            ("no row 7f3a90b2-11aa of x86", "no row #-#aa of x#"),
            ("order 550e8400e29b is lost", "order # is lost"),
            ("größe 12.", "größe #."),
            ("", ""),
        ] {
            assert_eq!(without_numbers(text), expected);
        }
    }

    #[test]
    fn what_an_answer_says_is_no_detail_of_a_missing_value() {
        assert_eq!(of_text(Outcome::Save, "no value at /id in `{\"a\":1}`"), "no value at /id");
        assert_eq!(of_text(Outcome::Tls, "alert in `x`"), "alert in `x`");
        let check = "the answer does not match: `{\"n\":1}`";
        assert_eq!(of_text(Outcome::Check, check), "the answer does not match");
    }

    #[test]
    fn texts_are_short_and_on_one_line() {
        assert_eq!(shortened("a\nb\x1b[1m\u{202e}c", 9), "a b[1mc");
        assert_eq!(shortened("größe", 4), "grö…");
        assert_eq!(shortened("größe", 7), "größe");
    }
}
