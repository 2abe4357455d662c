//! How a call ended, and how much time it has (PROTOCOL-HTTP2.md, "Responses", "Timeout").

/// The code of success.
pub const OK: u8 = 0;

/// The code of a status that is none.
pub(crate) const UNKNOWN: u8 = 2;
/// The code of a call that has had its time.
pub const DEADLINE_EXCEEDED: u8 = 4;

/// The names of all codes, by number (grpc/grpc, doc/statuscodes.md).
pub const STATUSES: &[&str] = &[
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
];

/// Bytes of a status message that are shown.
const SHOWN_BYTES_MAX: usize = 400;

/// The code with this name.
pub fn code_named(name: &str) -> Option<u8> {
    let place = STATUSES.iter().position(|own| *own == name);
    place.map(|code| code as u8)
}

/// The name of a code; what no code has is `UNKNOWN`.
pub fn name_of(code: u8) -> &'static str {
    STATUSES.get(usize::from(code)).copied().unwrap_or("UNKNOWN")
}

/// The code that stands for an HTTP status, of a response that has no code of its own
/// (grpc/grpc, doc/http-grpc-status-mapping.md).
pub fn of_http_status(status: u16) -> u8 {
    let name = match status {
        400 => "INTERNAL",
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "UNIMPLEMENTED",
        429 | 502 | 503 | 504 => "UNAVAILABLE",
        _ => "UNKNOWN",
    };
    code_named(name).unwrap_or_default()
}

/// A `grpc-message` as text: percent-decoded, shortened, without control characters.
pub fn readable(raw: &[u8]) -> String {
    let mut bytes = Vec::new();
    let mut rest = raw;
    while let Some((&byte, behind)) = rest.split_first() {
        let digit = |at: usize| char::from(*behind.get(at)?).to_digit(16);
        let escaped = digit(0).zip(digit(1)).filter(|_| byte == b'%');
        match escaped {
            Some((high, low)) => {
                bytes.push((high << 4 | low) as u8);
                rest = &behind[2..];
            }
            None => {
                bytes.push(byte);
                rest = behind;
            }
        }
        if bytes.len() == SHOWN_BYTES_MAX {
            break;
        }
    }
    let text = String::from_utf8_lossy(&bytes);
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// A duration as `grpc-timeout` has it: at most eight digits and a unit, rounded up.
pub fn timeout_text(ns: u64) -> String {
    const DIGITS_MAX: u64 = 99_999_999;
    let units =
        [("n", 1), ("u", 1_000), ("m", 1_000_000), ("S", 1_000_000_000), ("M", 60_000_000_000)];
    for (unit, unit_ns) in units {
        let count = ns.div_ceil(unit_ns);
        if count <= DIGITS_MAX {
            return format!("{count}{unit}");
        }
    }
    format!("{}H", ns.div_ceil(3_600_000_000_000).min(DIGITS_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_at_most_eight_digits() {
        for (ns, expected) in [
            (1, "1n"),
            (99_999_999, "99999999n"),
            (100_000_000, "100000u"),
            (2_500_000_000, "2500000u"),
            (86_400_000_000_000, "86400000m"),
            (366 * 86_400_000_000_000, "31622400S"),
            (u64::MAX, "5124096H"),
        ] {
            assert_eq!(timeout_text(ns), expected);
        }
    }

    #[test]
    fn messages_are_decoded_and_harmless() {
        assert_eq!(readable(b"not%20found%3A caf%C3%A9"), "not found: café");
        assert_eq!(readable(b"50% %zz %4"), "50% %zz %4");
        assert_eq!(readable(b"a%0a\x1b[31m"), "a  [31m");
        assert_eq!(readable(&[b'x'; 5000]).len(), SHOWN_BYTES_MAX);
    }

    #[test]
    fn statuses_have_their_numbers() {
        assert_eq!(code_named("UNAUTHENTICATED"), Some(16));
        assert_eq!(code_named("ok"), None);
        assert_eq!(name_of(14), "UNAVAILABLE");
        assert_eq!(name_of(99), "UNKNOWN");
        assert_eq!(name_of(of_http_status(404)), "UNIMPLEMENTED");
        assert_eq!(name_of(of_http_status(503)), "UNAVAILABLE");
        assert_eq!(name_of(of_http_status(418)), "UNKNOWN");
    }
}
