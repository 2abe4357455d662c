//! A parsed line of a log.

use std::borrow::Cow;

use crate::line_problems::ProblemKind;
use crate::time::Stamp;

/// The meaning of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Meaning {
    Time,
    /// The time of day, with the date in another field.
    Clock,
    Date,
    Address,
    /// `192.0.2.1:4711`, `[2001:db8::1]:4711`.
    AddressPort,
    Agent,
    User,
    Method,
    /// In small letters, where methods have capitals.
    SmallMethod,
    /// A path, with or without a query, or a URL.
    Target,
    /// The query without its `?`.
    Query,
    /// `GET /path HTTP/1.1`.
    Request,
    Status,
    Host,
    Referer,
    /// Anything else, by the log's name for it.
    Other(String),
    Nothing,
}

/// A parsed line of a log. Texts that are missing, or written as `-`, are empty.
#[derive(Debug, Default)]
pub(crate) struct Entry<'a> {
    pub(crate) time: Option<Stamp>,
    pub(crate) address: Cow<'a, [u8]>,
    pub(crate) agent: Cow<'a, [u8]>,
    pub(crate) user: Cow<'a, [u8]>,
    pub(crate) method: Cow<'a, [u8]>,
    pub(crate) target: Cow<'a, [u8]>,
    pub(crate) query: Cow<'a, [u8]>,
    pub(crate) host: Cow<'a, [u8]>,
    pub(crate) referer: Cow<'a, [u8]>,
    /// 0: unknown.
    pub(crate) status: u16,
    pub(crate) others: Vec<(&'a str, Cow<'a, [u8]>)>,
    /// Further fields, of formats whose lines bring names of their own.
    pub(crate) named: Vec<(String, String)>,
    /// True if there is a field for the request, and the server wrote that it had none.
    pub(crate) lacks_request: bool,
}

impl<'a> Entry<'a> {
    /// The path, without the query.
    pub(crate) fn path(&self) -> &[u8] {
        split_target(&self.target).0
    }

    /// The method; GET if the log has none.
    pub(crate) fn method_or_get(&self) -> &[u8] {
        match self.method.is_empty() {
            true => b"GET",
            false => &self.method,
        }
    }

    /// The query, from its own field or the target.
    pub(crate) fn query(&self) -> &[u8] {
        if self.query.is_empty() { split_target(&self.target).1 } else { &self.query }
    }

    /// A part that has no place of its own.
    pub(crate) fn other(&self, name: &str) -> Option<&[u8]> {
        let found = self.others.iter().find(|(own, _)| own.eq_ignore_ascii_case(name));
        let named = || self.named.iter().find(|(own, _)| own.eq_ignore_ascii_case(name));
        found.map(|(_, value)| &**value).or_else(|| named().map(|(_, value)| value.as_bytes()))
    }

    /// `GET /path HTTP/1.1`: false where it is not that.
    pub(crate) fn set_request(&mut self, value: Cow<'a, [u8]>) -> bool {
        let Some((method, target)) = request_line(&value) else {
            return false;
        };
        match value {
            Cow::Borrowed(value) => {
                self.method = Cow::Borrowed(&value[method]);
                self.target = Cow::Borrowed(&value[target]);
            }
            Cow::Owned(value) => {
                self.method = Cow::Owned(value[method].to_vec());
                self.target = Cow::Owned(value[target].to_vec());
            }
        }
        true
    }

    /// Sets method and target from a request line, or the target from a path alone if another field
    /// has the method, as with some collectors.
    pub(crate) fn set_request_or_target(&mut self, value: Cow<'a, [u8]>) -> bool {
        let is_path = !self.method.is_empty() && is_path(&value);
        if is_path {
            self.target = value;
            return true;
        }
        self.set_request(value)
    }

    /// Puts the query behind the target where the log writes it apart, so that nothing depends on how it does.
    pub(crate) fn join_query(&mut self) {
        if self.query.is_empty() || self.target.is_empty() {
            return;
        }
        let query = std::mem::take(&mut self.query);
        // Apache writes it with its question mark.
        let query = query.strip_prefix(b"?").unwrap_or(&query);
        if !self.target.contains(&b'?') {
            self.target = Cow::Owned([&self.target[..], b"?", query].concat());
        }
    }
}

/// The problem of a text that stands for a request and is no request line: of a path alone the method may have another
/// name, anything else is what a client sent instead of a request.
pub(crate) fn request_problem(text: &[u8]) -> ProblemKind {
    if is_path(text) { ProblemKind::Request } else { ProblemKind::NoRequest }
}

/// Whether a text begins like a path or a URL.
fn is_path(text: &[u8]) -> bool {
    let first = text.split(|&b| b == b' ').next().unwrap_or_default();
    first.starts_with(b"/") || memchr::memmem::find(first, b"://").is_some()
}

/// Whether a text can be a method: letters, with hyphens between. What servers write for a request that they could
/// not read is none: `-`.
pub(crate) fn is_method(text: &[u8]) -> bool {
    text.first().is_some_and(u8::is_ascii_alphabetic)
        && text.iter().all(|b| b.is_ascii_alphabetic() || *b == b'-')
}

fn split_target(target: &[u8]) -> (&[u8], &[u8]) {
    match memchr::memchr(b'?', target) {
        Some(at) => (&target[..at], &target[at + 1..]),
        None => (target, &[]),
    }
}

/// The places of method and target. A target may contain blanks, though it should not.
fn request_line(line: &[u8]) -> Option<(std::ops::Range<usize>, std::ops::Range<usize>)> {
    let method = memchr::memchr(b' ', line)?;
    let named = is_method(&line[..method]);
    let end = match memchr::memrchr(b' ', line)? {
        last if last > method && line[last + 1..].starts_with(b"HTTP/") => last,
        // HTTP/0.9 has no version.
        _ => line.len(),
    };
    (named && end > method + 1).then_some((0..method, method + 1..end))
}

/// The target as a path with its query that can be requested: invalid bytes are percent-encoded, an absolute URL
/// loses its origin. `None` if it has no path.
pub(crate) fn clean_target(target: &[u8]) -> Option<Cow<'_, [u8]>> {
    let path = match target.first()? {
        b'/' => target,
        _ => {
            let scheme = memchr::memmem::find(target, b"://")?;
            let origin = &target[scheme + 3..];
            match memchr::memchr(b'/', origin) {
                Some(at) => &origin[at..],
                None => b"/",
            }
        }
    };
    let sound =
        |b: &u8| (0x21..0x7f).contains(b) && !matches!(b, b'"' | b'\\' | b'<' | b'>' | b'#');
    if path.iter().all(sound) {
        return Some(Cow::Borrowed(path));
    }
    let mut clean = Vec::with_capacity(path.len() + 16);
    let mut rest = path;
    while let [first, after @ ..] = rest {
        rest = after;
        match (first, after) {
            // A fragment is never sent.
            (b'#', _) => break,
            // Apache and nginx write what they do not show as \xHH.
            (b'\\', [b'x', high, low, after @ ..])
                if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() =>
            {
                clean.extend([b'%', high.to_ascii_uppercase(), low.to_ascii_uppercase()]);
                rest = after;
            }
            (b'\\', [escaped @ (b'"' | b'\\'), after @ ..]) => {
                encode(*escaped, &mut clean);
                rest = after;
            }
            (b, _) if sound(b) => clean.push(*b),
            (b, _) => encode(*b, &mut clean),
        }
    }
    Some(Cow::Owned(clean))
}

fn encode(byte: u8, out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    out.extend([b'%', DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(line: &str) -> Option<(String, String)> {
        let (method, target) = request_line(line.as_bytes())?;
        Some((line[method].to_owned(), line[target].to_owned()))
    }

    #[test]
    fn request_lines_are_taken_apart() {
        let pair = |a: &str, b: &str| Some((a.to_owned(), b.to_owned()));
        assert_eq!(request("GET /a?b=c HTTP/1.1"), pair("GET", "/a?b=c"));
        assert_eq!(request("GET /a b.html HTTP/1.0"), pair("GET", "/a b.html"));
        assert_eq!(request("GET /old"), pair("GET", "/old"));
        assert_eq!(request("M-SEARCH * HTTP/1.1"), pair("M-SEARCH", "*"));
        for bad in [
            "",
            "-",
            "GET",
            "\\x16\\x03\\x01 /",
            " / HTTP/1.1",
            "- /x HTTP/1.1",
            "--- /x HTTP/1.1",
            "- http://lb.test:80- -",
        ] {
            assert_eq!(request(bad), None, "{bad}");
        }
    }

    #[test]
    fn request_may_be_a_path_if_another_field_has_the_method() {
        let joined = |method: &'static str, request: &'static str| {
            let mut entry = Entry { method: Cow::Borrowed(method.as_bytes()), ..Entry::default() };
            let sound = entry.set_request_or_target(Cow::Borrowed(request.as_bytes()));
            let both = [entry.method, entry.target].map(|part| String::from_utf8(part.to_vec()));
            sound.then(|| both.map(Result::unwrap).join(" "))
        };
        assert_eq!(joined("POST", "/cart").as_deref(), Some("POST /cart"));
        assert_eq!(joined("POST", "/a b").as_deref(), Some("POST /a b"));
        assert_eq!(joined("GET", "http://h/a").as_deref(), Some("GET http://h/a"));
        assert_eq!(joined("GET", "PUT /a HTTP/1.1").as_deref(), Some("PUT /a"));
        assert_eq!(joined("", "/cart"), None);
        assert_eq!(joined("GET", "- http://lb.test:80- -"), None);
    }

    #[test]
    fn separate_query_is_joined_once() {
        let joined = |target: &'static str, query: &'static str| {
            let mut entry = Entry {
                target: Cow::Borrowed(target.as_bytes()),
                query: Cow::Borrowed(query.as_bytes()),
                ..Entry::default()
            };
            entry.join_query();
            entry.join_query();
            let parts = [&*entry.target, entry.path(), entry.query()];
            parts.map(|part| String::from_utf8_lossy(part).into_owned())
        };
        assert_eq!(joined("/a", "x=1"), ["/a?x=1", "/a", "x=1"]);
        assert_eq!(joined("/a", "?x=1"), ["/a?x=1", "/a", "x=1"]);
        assert_eq!(joined("/a?x=1", "x=1"), ["/a?x=1", "/a", "x=1"]);
        assert_eq!(joined("/a", ""), ["/a", "/a", ""]);
        assert_eq!(joined("", "x=1"), ["", "", "x=1"]);
    }

    #[test]
    fn targets_are_encoded_to_be_requested() {
        let clean =
            |text: &[u8]| clean_target(text).map(|t| String::from_utf8(t.into_owned()).unwrap());
        assert_eq!(clean(b"/a?b=c").as_deref(), Some("/a?b=c"));
        assert_eq!(clean(b"http://h.test/a").as_deref(), Some("/a"));
        assert_eq!(clean(b"http://h.test").as_deref(), Some("/"));
        assert_eq!(clean(b"/a b\xff\"#x").as_deref(), Some("/a%20b%FF%22"));
        assert_eq!(clean(b"/\\xe4\\\"").as_deref(), Some("/%E4%22"));
        assert_eq!(clean(b"*"), None);
        assert_eq!(clean(b"h.test:443"), None);
        assert_eq!(clean(b""), None);
    }
}
