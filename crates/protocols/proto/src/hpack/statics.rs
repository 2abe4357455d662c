//! The static table (RFC 7541 appendix A).

/// Fields by their index less one. Equal names follow each other.
pub(super) const FIELDS: [(&str, &str); 61] = [
    (":authority", ""),
    (":method", "GET"),
    (":method", "POST"),
    (":path", "/"),
    (":path", "/index.html"),
    (":scheme", "http"),
    (":scheme", "https"),
    (":status", "200"),
    (":status", "204"),
    (":status", "206"),
    (":status", "304"),
    (":status", "400"),
    (":status", "404"),
    (":status", "500"),
    ("accept-charset", ""),
    ("accept-encoding", "gzip, deflate"),
    ("accept-language", ""),
    ("accept-ranges", ""),
    ("accept", ""),
    ("access-control-allow-origin", ""),
    ("age", ""),
    ("allow", ""),
    ("authorization", ""),
    ("cache-control", ""),
    ("content-disposition", ""),
    ("content-encoding", ""),
    ("content-language", ""),
    ("content-length", ""),
    ("content-location", ""),
    ("content-range", ""),
    ("content-type", ""),
    ("cookie", ""),
    ("date", ""),
    ("etag", ""),
    ("expect", ""),
    ("expires", ""),
    ("from", ""),
    ("host", ""),
    ("if-match", ""),
    ("if-modified-since", ""),
    ("if-none-match", ""),
    ("if-range", ""),
    ("if-unmodified-since", ""),
    ("last-modified", ""),
    ("link", ""),
    ("location", ""),
    ("max-forwards", ""),
    ("proxy-authenticate", ""),
    ("proxy-authorization", ""),
    ("range", ""),
    ("referer", ""),
    ("refresh", ""),
    ("retry-after", ""),
    ("server", ""),
    ("set-cookie", ""),
    ("strict-transport-security", ""),
    ("transfer-encoding", ""),
    ("user-agent", ""),
    ("vary", ""),
    ("via", ""),
    ("www-authenticate", ""),
];

/// The index of the first regular field; those before are pseudo-fields.
const REGULAR: usize = 15;

/// The field of this index, which begins with 1.
pub(super) fn field(index: usize) -> Option<(&'static str, &'static str)> {
    FIELDS.get(index.checked_sub(1)?).copied()
}

/// The place of a field: the index of its name, and whether its value stands there too.
pub(super) fn find(name: &str, value: &[u8]) -> Option<(usize, bool)> {
    let start = match name.starts_with(':') {
        true => 1,
        false => REGULAR,
    };
    let named = (start..=FIELDS.len()).find(|index| FIELDS[index - 1].0 == name)?;
    let mut equal = (named..=FIELDS.len()).take_while(|index| FIELDS[index - 1].0 == name);
    match equal.find(|index| FIELDS[index - 1].1.as_bytes() == value) {
        Some(index) => Some((index, true)),
        None => Some((named, false)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found() {
        assert_eq!(field(0), None);
        assert_eq!(field(1), Some((":authority", "")));
        assert_eq!(field(61), Some(("www-authenticate", "")));
        assert_eq!(field(62), None);
        assert_eq!(find(":method", b"POST"), Some((3, true)));
        assert_eq!(find(":method", b"PUT"), Some((2, false)));
        assert_eq!(find("accept-encoding", b"gzip, deflate"), Some((16, true)));
        assert_eq!(find("cookie", b"a=b"), Some((32, false)));
        assert_eq!(find("x-own", b""), None);
    }
}
