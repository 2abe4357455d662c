//! The next request of a chain of redirects (RFC 9110 §15.4, and the Fetch standard's HTTP-redirect fetch).

use plan::{EndpointId, is_secret_header};

/// Header fields that describe a body; a request that lost its body loses them.
const OF_THE_BODY: [&str; 6] = [
    "content-encoding",
    "content-language",
    "content-length",
    "content-location",
    "content-type",
    "transfer-encoding",
];

/// True for a status whose `Location` is where to go on.
pub fn is_redirect(status: u16) -> bool {
    matches!(status, 301 | 302 | 303 | 307 | 308)
}

/// The request that a redirect leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hop {
    /// The endpoint that the redirected request goes to.
    pub endpoint: EndpointId,
    /// Path and query.
    pub target: String,
    /// It has become a GET without a body.
    pub is_get: bool,
    /// The chain has left the scheme, host and port that its first request went to; no credentials are carried along.
    pub left_host: bool,
    /// How many redirects were followed, this one included.
    pub count: u8,
    /// When it began: the response before it was there.
    pub since_ns: u64,
}

/// The target of an encoded request, and its `host` in lower case.
pub fn target_and_host(request: &[u8]) -> (String, String) {
    let mut lines = request.split(|byte| *byte == b'\n');
    let line = lines.next().unwrap_or_default();
    let target = line.split(|byte| *byte == b' ').nth(1);
    let host = lines.find_map(|line| line.strip_prefix(b"host: "));
    let text =
        |bytes: Option<&[u8]>| String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned();
    (text(target), text(host.map(<[u8]>::trim_ascii)).to_ascii_lowercase())
}

impl Hop {
    /// True if a redirect with this status makes a GET of a request with this method.
    pub fn becomes_get(status: u16, method: &str) -> bool {
        match status {
            301 | 302 => method == "POST",
            303 => method != "GET" && method != "HEAD",
            _ => false,
        }
    }

    /// Appends the chain's first request, changed to this one. `authority`: the `host` of where it goes.
    pub fn rewrite(&self, first: &[u8], authority: &str, out: &mut Vec<u8>) {
        let head_end = first.windows(4).position(|window| window == b"\r\n\r\n");
        let head_end = head_end.map_or(first.len(), |at| at + 2);
        let (head, body) = first.split_at(head_end);
        let mut lines = head.split_inclusive(|byte| *byte == b'\n');
        let line = lines.next().unwrap_or_default();
        let method = line.split(|byte| *byte == b' ').next().unwrap_or_default();
        out.extend_from_slice(if self.is_get { b"GET" } else { method });
        out.push(b' ');
        out.extend_from_slice(self.target.as_bytes());
        out.extend_from_slice(b" HTTP/1.1\r\n");
        for line in lines {
            let name = line.split(|byte| *byte == b':').next().unwrap_or_default();
            let name = String::from_utf8_lossy(name).to_ascii_lowercase();
            if self.left_host && name == "host" {
                out.extend_from_slice(format!("host: {authority}\r\n").as_bytes());
            } else if self.carries(&name) {
                out.extend_from_slice(line);
            }
        }
        out.extend_from_slice(if self.is_get { b"\r\n" } else { body });
    }

    /// Whether a header of the chain's first request is a part of this one; the name in lower case.
    fn carries(&self, name: &str) -> bool {
        let lost = self.is_get && OF_THE_BODY.contains(&name);
        let secret = self.left_host && (name == "cookie" || is_secret_header(name));
        !lost && !secret
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: &str = "POST /form HTTP/1.1\r\nhost: own.test\r\nauthorization: Bearer x\r\nx-api-key: k\r\n\
                         cookie: a=1\r\naccept: text/html\r\ncontent-type: text/plain\r\ncontent-length: 4\r\n\r\nbody";

    fn rewritten(is_get: bool, left_host: bool) -> String {
        let hop = Hop {
            endpoint: EndpointId(1),
            target: "/next?x=1".to_owned(),
            is_get,
            left_host,
            count: 1,
            since_ns: 0,
        };
        let mut out = Vec::new();
        hop.rewrite(FIRST.as_bytes(), "other.test:81", &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn target_and_host_are_those_of_the_request() {
        let (target, host) = target_and_host(FIRST.as_bytes());
        assert_eq!((&*target, &*host), ("/form", "own.test"));
    }

    #[test]
    fn a_request_that_keeps_its_method_keeps_its_body() {
        assert_eq!(rewritten(false, false), FIRST.replace("/form", "/next?x=1"));
    }

    #[test]
    fn a_get_has_no_body_and_nothing_that_describes_one() {
        assert_eq!(
            rewritten(true, false),
            "GET /next?x=1 HTTP/1.1\r\nhost: own.test\r\nauthorization: Bearer x\r\nx-api-key: k\r\n\
             cookie: a=1\r\naccept: text/html\r\n\r\n"
        );
    }

    #[test]
    fn another_host_gets_no_credentials() {
        assert_eq!(
            rewritten(false, true),
            "POST /next?x=1 HTTP/1.1\r\nhost: other.test:81\r\naccept: text/html\r\n\
             content-type: text/plain\r\ncontent-length: 4\r\n\r\nbody"
        );
    }

    #[test]
    fn methods_change_as_the_rfc_says() {
        for (status, method, changes) in [
            (301, "POST", true),
            (302, "POST", true),
            (302, "PUT", false),
            (303, "PUT", true),
            (303, "HEAD", false),
            (303, "GET", false),
            (307, "POST", false),
            (308, "POST", false),
        ] {
            assert_eq!(Hop::becomes_get(status, method), changes, "{status} {method}");
        }
        assert!(!is_redirect(300) && !is_redirect(304) && is_redirect(308));
    }
}
