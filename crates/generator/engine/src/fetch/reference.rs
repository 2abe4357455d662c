//! The `Location` of a redirect, resolved against the URL that was requested (RFC 3986 §5.2).

use plan::expr::value::stands_in_url;

/// Longest URL that is followed, in bytes; RFC 9110 §4.1 wants 8,000 at least.
const URL_BYTES_MAX: usize = 16 << 10;

/// The destination of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// True for `https`.
    pub tls: bool,
    /// Host and port as written, in lower case and without the scheme's own port.
    pub authority: String,
    /// Path and query, beginning with `/`.
    pub target: String,
}

/// Why a `Location` cannot be followed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unfollowable {
    /// It is longer than the limit.
    #[error("the location has {0} bytes; {URL_BYTES_MAX} are followed at most")]
    TooLong(usize),
    /// Another scheme than HTTP's.
    #[error("the location {0:?} is no HTTP URL")]
    Scheme(String),
    /// No host where one must stand.
    #[error("the location {0:?} has no host")]
    NoHost(String),
    /// A name and a password in it: they would be sent to whoever the server names.
    #[error("the location {0:?} has credentials")]
    Credentials(String),
}

/// The address of a `Location` (in bytes, as received) relative to the one that was requested. The fragment is left out,
/// and what no URL may contain is percent-encoded.
pub fn resolve(base: &Address, location: &[u8]) -> Result<Address, Unfollowable> {
    if location.len() > URL_BYTES_MAX {
        return Err(Unfollowable::TooLong(location.len()));
    }
    let text = encoded(location.trim_ascii());
    let text = text.split('#').next().unwrap_or_default();
    if let Some((scheme, rest)) = scheme(text) {
        let tls = match scheme.to_ascii_lowercase().as_str() {
            "http" => false,
            "https" => true,
            _ => return Err(Unfollowable::Scheme(text.to_owned())),
        };
        let rest = rest.strip_prefix("//").ok_or_else(|| Unfollowable::NoHost(text.to_owned()))?;
        return absolute(tls, rest, text);
    }
    if let Some(rest) = text.strip_prefix("//") {
        return absolute(base.tls, rest, text);
    }
    Ok(Address { target: relative(&base.target, text), ..base.clone() })
}

/// The scheme of a URL that has one, and what follows its colon.
fn scheme(text: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = text.split_once(':')?;
    let begins = scheme.starts_with(|c: char| c.is_ascii_alphabetic());
    let fits = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    (begins && scheme.chars().all(fits)).then_some((scheme, rest))
}

/// An address from what follows `//`; `whole` for messages.
fn absolute(tls: bool, rest: &str, whole: &str) -> Result<Address, Unfollowable> {
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, target) = rest.split_at(end);
    if authority.contains('@') {
        return Err(Unfollowable::Credentials(whole.to_owned()));
    }
    let authority = authority.to_ascii_lowercase();
    let authority = authority.strip_suffix(if tls { ":443" } else { ":80" }).unwrap_or(&authority);
    if authority.is_empty() || authority.starts_with(':') {
        return Err(Unfollowable::NoHost(whole.to_owned()));
    }
    Ok(Address { tls, authority: authority.to_owned(), target: normalised(target) })
}

/// A reference without scheme and host, in place of the base's path and query.
fn relative(base: &str, reference: &str) -> String {
    let path_end = base.find('?').unwrap_or(base.len());
    let path = &base[..path_end];
    if reference.is_empty() {
        return base.to_owned();
    }
    if reference.starts_with('?') {
        return format!("{path}{reference}");
    }
    if reference.starts_with('/') {
        return normalised(reference);
    }
    let folder = path.rfind('/').map_or("/", |at| &path[..=at]);
    normalised(&format!("{folder}{reference}"))
}

/// Path and query with a slash in front and without `.` and `..` (RFC 3986 §5.2.4).
fn normalised(target: &str) -> String {
    let path_end = target.find('?').unwrap_or(target.len());
    let (path, query) = target.split_at(path_end);
    let mut kept: Vec<&str> = Vec::new();
    let segments = path.strip_prefix('/').unwrap_or(path).split('/');
    let mut is_folder = false;
    for segment in segments {
        is_folder = matches!(segment, "." | "..");
        match segment {
            "." => {}
            ".." => {
                kept.pop();
            }
            _ => kept.push(segment),
        }
    }
    let folder = if is_folder && !kept.is_empty() { "/" } else { "" };
    format!("/{}{folder}{query}", kept.join("/"))
}

/// Bytes that no URL may contain are percent-encoded, those of a fragment's `#` aside.
fn encoded(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for &byte in bytes {
        if stands_in_url(byte) {
            text.push(char::from(byte));
        } else {
            text.push_str(&format!("%{byte:02X}"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base(target: &str) -> Address {
        Address { tls: false, authority: "a".to_owned(), target: target.to_owned() }
    }

    /// RFC 3986 §5.4, against `http://a/b/c/d;p?q`, fragments left out.
    #[test]
    fn references_are_resolved_as_the_rfc_shows() {
        for (reference, expected) in [
            ("g", "/b/c/g"),
            ("./g", "/b/c/g"),
            ("g/", "/b/c/g/"),
            ("/g", "/g"),
            ("?y", "/b/c/d;p?y"),
            ("g?y", "/b/c/g?y"),
            ("#s", "/b/c/d;p?q"),
            ("g#s", "/b/c/g"),
            ("g?y#s", "/b/c/g?y"),
            (";x", "/b/c/;x"),
            ("g;x", "/b/c/g;x"),
            ("g;x?y#s", "/b/c/g;x?y"),
            ("", "/b/c/d;p?q"),
            (".", "/b/c/"),
            ("./", "/b/c/"),
            ("..", "/b/"),
            ("../", "/b/"),
            ("../g", "/b/g"),
            ("../..", "/"),
            ("../../", "/"),
            ("../../g", "/g"),
            ("../../../g", "/g"),
            ("../../../../g", "/g"),
            ("/./g", "/g"),
            ("/../g", "/g"),
            ("g.", "/b/c/g."),
            (".g", "/b/c/.g"),
            ("g..", "/b/c/g.."),
            ("..g", "/b/c/..g"),
            ("./../g", "/b/g"),
            ("./g/.", "/b/c/g/"),
            ("g/./h", "/b/c/g/h"),
            ("g/../h", "/b/c/h"),
            ("g;x=1/./y", "/b/c/g;x=1/y"),
            ("g;x=1/../y", "/b/c/y"),
            ("g?y/./x", "/b/c/g?y/./x"),
            ("g?y/../x", "/b/c/g?y/../x"),
        ] {
            let found = resolve(&base("/b/c/d;p?q"), reference.as_bytes()).unwrap();
            assert_eq!(found.target, expected, "{reference:?}");
            assert_eq!(found.authority, "a", "{reference:?}");
        }
    }

    #[test]
    fn whole_urls_name_scheme_and_host() {
        for (location, expected) in [
            ("http://B.example:80/x", (false, "b.example", "/x")),
            ("HTTPS://b:443", (true, "b", "/")),
            ("https://b:8443?q=1", (true, "b:8443", "/?q=1")),
            ("//c/d/../e", (false, "c", "/e")),
            ("https://[::1]:9/x", (true, "[::1]:9", "/x")),
            ("http://b/ä b", (false, "b", "/%C3%A4%20b")),
            ("//b/a\"<c>?^`{d}|\\e%7b", (false, "b", "/a%22%3Cc%3E?%5E%60%7Bd%7D%7C%5Ce%7b")),
        ] {
            let found = resolve(&base("/"), location.as_bytes()).unwrap();
            let (tls, authority, target) = expected;
            assert_eq!((found.tls, &*found.authority), (tls, authority));
            assert_eq!(found.target, target, "{location}");
        }
    }

    #[test]
    fn what_is_no_http_url_is_refused() {
        let long = format!("/{}", "x".repeat(URL_BYTES_MAX));
        for (location, expected) in [
            ("ftp://b/x", "no HTTP URL"),
            ("javascript:alert(1)", "no HTTP URL"),
            ("data:text/plain,x", "no HTTP URL"),
            ("http:///x", "no host"),
            ("http:x", "no host"),
            ("http://:80/", "no host"),
            ("https://me:secret@b/", "credentials"),
            (&long, "bytes"),
        ] {
            let error = resolve(&base("/"), location.as_bytes()).unwrap_err();
            assert!(error.to_string().contains(expected), "{location}: {error}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_location_gives_a_valid_request_line_or_an_error(location: Vec<u8>) {
            if let Ok(found) = resolve(&base("/a/b?c"), &location) {
                assert!(proto::http1::is_target(&found.target), "{found:?}");
            }
        }
    }
}
