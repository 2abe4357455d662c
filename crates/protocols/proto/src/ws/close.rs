//! The body of close frames (RFC 6455 §5.5.1, §7.4).

use super::error::Error;
use super::frame::CONTROL_PAYLOAD_BYTES_MAX;

/// The longest close reason: what a control frame has room for after the code.
pub const REASON_BYTES_MAX: usize = CONTROL_PAYLOAD_BYTES_MAX - 2;

/// The code of a normal closure (§7.4.1).
pub const NORMAL: u16 = 1000;

/// Whether `code` may stand in a close frame: those of §7.4.1 and of IANA's registry that are
/// not reserved for local use, and the ranges for libraries and applications (§7.4.2).
pub fn is_valid_code(code: u16) -> bool {
    matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999)
}

/// Splits the payload of a close frame into code and reason.
pub(super) fn parse(payload: &[u8]) -> Result<(Option<u16>, &str), Error> {
    match payload {
        [] => Ok((None, "")),
        [_] => Err(Error::ClosePayloadTooShort),
        [high, low, reason @ ..] => {
            let code = u16::from_be_bytes([*high, *low]);
            if !is_valid_code(code) {
                return Err(Error::InvalidCloseCode(code));
            }
            let reason = core::str::from_utf8(reason).map_err(|_| Error::InvalidUtf8)?;
            Ok((Some(code), reason))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes() {
        for valid in [1000, 1001, 1002, 1003, 1007, 1008, 1011, 1014, 3000, 3999, 4000, 4999] {
            assert!(is_valid_code(valid), "{valid}");
        }
        for invalid in [0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65_535] {
            assert!(!is_valid_code(invalid), "{invalid}");
        }
    }

    #[test]
    fn payloads() {
        assert_eq!(parse(b""), Ok((None, "")));
        assert_eq!(parse(b"\x03"), Err(Error::ClosePayloadTooShort));
        assert_eq!(parse(b"\x03\xe8"), Ok((Some(1000), "")));
        assert_eq!(parse(b"\x03\xe9bye"), Ok((Some(1001), "bye")));
        assert_eq!(parse(b"\x03\xee"), Err(Error::InvalidCloseCode(1006)));
        assert_eq!(parse(b"\x03\xe8\xff"), Err(Error::InvalidUtf8));
    }
}
