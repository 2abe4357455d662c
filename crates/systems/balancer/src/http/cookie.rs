//! The one cookie that a balancer knows: which backend a client's session is on.

use httparse::Header;

use super::fields::single;

/// Hexadecimal digits of an id.
const DIGITS: usize = 16;

/// Whether a cookie can have this name: a token (RFC 6265, section 4.1.1), and no prefix by which browsers expect
/// `Secure`, which a cookie over plain HTTP does not have.
pub(crate) fn is_cookie_name(name: &str) -> bool {
    let is_token_byte =
        |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    let small = name.to_ascii_lowercase();
    (1..=64).contains(&name.len())
        && name.bytes().all(is_token_byte)
        && !small.starts_with("__host-")
        && !small.starts_with("__secure-")
}

/// The id in the cookie of this name. `None` if there is none, more than one, or one that is not exactly as it was set:
/// readers differ in which of two cookies they take.
pub(super) fn read_id(headers: &[Header<'_>], name: &str) -> Option<u64> {
    let value = single(headers, "cookie").ok()??;
    let pairs = value.split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
    let mut own = pairs.filter_map(|pair| pair.strip_prefix(name.as_bytes())?.strip_prefix(b"="));
    match (own.next(), own.next()) {
        (Some(digits), None) => parse_id(digits),
        _ => None,
    }
}

fn parse_id(digits: &[u8]) -> Option<u64> {
    let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    if digits.len() != DIGITS || !digits.iter().all(is_digit) {
        return None;
    }
    u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// The field that sets the cookie.
pub(crate) fn set_cookie(name: &str, id: u64) -> String {
    format!("Set-Cookie: {name}={id:016x}; Path=/; HttpOnly; SameSite=Lax\r\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(fields: &[&str]) -> Option<u64> {
        let header = |value: &&'static str| Header { name: "Cookie", value: value.as_bytes() };
        let fields: Vec<&'static str> =
            fields.iter().map(|text| &*text.to_string().leak()).collect();
        read_id(&fields.iter().map(header).collect::<Vec<_>>(), "at")
    }

    #[test]
    fn a_cookie_is_read_only_as_it_was_set() {
        let id = 0x0123_4567_89ab_cdef_u64;
        let set = set_cookie("at", id);
        let pair = set.strip_prefix("Set-Cookie: ").unwrap();
        let pair = pair.split(';').next().unwrap();
        assert_eq!(read(&[pair]), Some(id));
        for others in ["a=b; {}", "{}; a=b", "a;{} ;", "xat=1; {}; atx=2; At=3"] {
            assert_eq!(read(&[&others.replace("{}", pair)]), Some(id), "{others}");
        }
        for wrong in [
            "",
            "at",
            "at=",
            "at=123456789abcdef",
            "at=00123456789abcdef",
            "at=0123456789ABCDEF",
            "at=+123456789abcdef",
            "at=\"0123456789abcdef\"",
            "at= 0123456789abcdef",
            "at =0123456789abcdef",
            "At=0123456789abcdef",
            "a=at=0123456789abcdef",
            "at=0123456789abcdef; at=0123456789abcdef",
            "at=0123456789abcdef, at=0123456789abcdef",
        ] {
            assert_eq!(read(&[wrong]), None, "{wrong}");
        }
        assert_eq!(read(&[pair, "a=b"]), None);
        assert_eq!(read(&[]), None);
    }

    #[test]
    fn names_are_tokens_that_browsers_take_over_plain_http() {
        assert!(is_cookie_name("throng") && is_cookie_name("X-at"));
        for wrong in ["", "a b", "a=b", "a;b", "ä", "__Host-a", "__SECURE-a"] {
            assert!(!is_cookie_name(wrong), "{wrong}");
        }
    }
}
