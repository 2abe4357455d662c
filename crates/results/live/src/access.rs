//! Access to the pages. A request from another site's page in the user's browser is refused by its `Origin`
//! and `Sec-Fetch-Site` (Fetch Metadata, W3C), and another name that was made to resolve to this machine (DNS
//! rebinding) by its `Host`. Beyond this machine a token is needed as well.

use std::net::{IpAddr, SocketAddr};

use httpd::{Head, Method};

/// The shortest token: 16 characters out of an alphabet of 64 are 96 bits.
const TOKEN_CHARS_MIN: usize = 16;
/// Random bytes of a generated token.
const TOKEN_BYTES: usize = 16;

/// The path of reports, each below its id.
pub(crate) const REPORTS: &str = "/report/";

/// Why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The `Host` is not a name of this server.
    Host,
    /// Another page sent it.
    Origin,
    /// The token is missing or wrong.
    Token,
}

/// Conditions under which a request is admitted.
#[derive(Debug)]
pub struct Access {
    is_local: bool,
    port: u16,
    /// Names of this server besides `localhost`.
    names: Vec<String>,
    token: Option<String>,
}

impl Access {
    /// Access to a server at this address that also has these names.
    pub fn new(address: SocketAddr, names: Vec<String>, token: Option<String>) -> Access {
        Access { is_local: address.ip().is_loopback(), port: address.port(), names, token }
    }

    /// The name of the cookie with the token. Cookies are shared by all ports of a host, so it contains the port.
    pub(crate) fn cookie(&self) -> String {
        format!("throng-{}", self.port)
    }

    /// The value of `Set-Cookie`, if the request had the token in its address.
    pub(crate) fn set_cookie(&self, head: &Head) -> Option<String> {
        let in_address = head.query.as_deref()?.starts_with("token=");
        let token = self.token.as_ref().filter(|_| in_address)?;
        let name = self.cookie();
        Some(format!("{name}={token}; Path=/; HttpOnly; SameSite=Strict"))
    }

    /// Whether the request is admitted.
    pub(crate) fn check(&self, head: &Head) -> Result<(), Refusal> {
        let host = head.one("host").ok_or(Refusal::Host)?;
        if !self.is_ours(host) {
            return Err(Refusal::Host);
        }
        let own = format!("http://{host}");
        let origin_is_own = match head.one("origin") {
            Some(origin) => origin.eq_ignore_ascii_case(&own),
            // Browsers send it with every POST (Fetch standard §3.1); other clients have to as well.
            None => !head.has("origin") && head.method != Method::Post,
        };
        // Links on other pages may lead to the page or to a report, and to nothing else.
        let is_report = head.path.starts_with(REPORTS);
        let is_page = head.method == Method::Get && (head.path == "/" || is_report);
        let site_is_own = match head.one("sec-fetch-site") {
            Some(site) => is_page || site == "same-origin" || site == "none",
            None => !head.has("sec-fetch-site"),
        };
        if !origin_is_own || !site_is_own {
            return Err(Refusal::Origin);
        }
        match &self.token {
            Some(token) if !self.has_token(head, token) => Err(Refusal::Token),
            _ => Ok(()),
        }
    }

    /// Whether this `Host` is a name of this server. Its port is ignored: behind a tunnel it is another one.
    fn is_ours(&self, host: &str) -> bool {
        let name = without_port(host);
        if name.eq_ignore_ascii_case("localhost") {
            return true;
        }
        let literal = name.trim_start_matches('[').trim_end_matches(']');
        if let Ok(address) = literal.parse::<IpAddr>() {
            // An address needs no name resolution, so it cannot be rebound.
            return address.is_loopback() || !self.is_local;
        }
        self.names.iter().any(|own| own.eq_ignore_ascii_case(name))
    }

    fn has_token(&self, head: &Head, token: &str) -> bool {
        let query = head.query.as_deref();
        let query = query.and_then(|query| query.strip_prefix("token="));
        let bearer = head.one("authorization");
        let bearer = bearer.and_then(|value| value.strip_prefix("Bearer "));
        let name = self.cookie();
        let cookies = head.one("cookie").unwrap_or_default().split("; ");
        let mut cookies = cookies.filter_map(|cookie| cookie.split_once('='));
        let cookie = cookies.find(|(found, _)| *found == name);
        let sent = [query, bearer, cookie.map(|(_, value)| value)];
        sent.into_iter().flatten().any(|one| equal(one, token))
    }
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    }
}

/// Compares in a time that does not depend on where two texts of the same length differ.
fn equal(a: &str, b: &str) -> bool {
    let differing = a.bytes().zip(b.bytes()).fold(0, |all, (a, b)| all | (a ^ b));
    a.len() == b.len() && std::hint::black_box(differing) == 0
}

/// A token that cannot be guessed: 128 random bits.
///
/// # Errors
/// The system has no random numbers.
pub(crate) fn random_token() -> std::io::Result<String> {
    machine::secret(TOKEN_BYTES)
}

/// Whether a chosen token is long enough and can be part of an address.
pub(crate) fn token_is_sound(token: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    token.len() >= TOKEN_CHARS_MIN && token.chars().all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admitted(access: &Access, lines: &str) -> Result<(), Refusal> {
        let text = format!("{}\r\n\r\n", lines.trim().replace('\n', "\r\n"));
        access.check(&Head::parse(text.as_bytes()).unwrap().unwrap())
    }

    fn local() -> Access {
        Access::new("127.0.0.1:7700".parse().unwrap(), Vec::new(), None)
    }

    fn open() -> Access {
        let token = Some("0123456789abcdef".to_owned());
        Access::new("0.0.0.0:7700".parse().unwrap(), vec!["lab".to_owned()], token)
    }

    #[test]
    fn only_our_own_names_lead_here() {
        let access = local();
        for host in ["127.0.0.1:7700", "localhost:9", "[::1]:7700", "LOCALHOST"] {
            assert_eq!(admitted(&access, &format!("GET / HTTP/1.1\nHost: {host}")), Ok(()));
        }
        for host in ["evil.test:7700", "10.0.0.1:7700", "localhost.evil.test", "", "lab"] {
            let lines = format!("GET / HTTP/1.1\nHost: {host}");
            assert_eq!(admitted(&access, &lines), Err(Refusal::Host), "{host:?}");
        }
        assert_eq!(admitted(&access, "GET / HTTP/1.1"), Err(Refusal::Host));
        let twice = "GET / HTTP/1.1\nHost: localhost\nHost: evil.test";
        assert_eq!(admitted(&access, twice), Err(Refusal::Host));
        for host in ["lab:7700", "10.0.0.1:7700"] {
            let lines = format!("GET /?token=0123456789abcdef HTTP/1.1\nHost: {host}");
            assert_eq!(admitted(&open(), &lines), Ok(()), "{host}");
        }
    }

    #[test]
    fn other_pages_may_link_here_and_no_more() {
        let access = local();
        let host = "Host: localhost:7700";
        let fine = [
            format!("POST /stop HTTP/1.1\n{host}\nOrigin: http://localhost:7700"),
            format!("GET / HTTP/1.1\n{host}\nSec-Fetch-Site: cross-site"),
            format!("GET /report/0123456789abcdef HTTP/1.1\n{host}\nSec-Fetch-Site: cross-site"),
            format!("GET /events HTTP/1.1\n{host}\nSec-Fetch-Site: same-origin"),
        ];
        for lines in fine {
            assert_eq!(admitted(&access, &lines), Ok(()), "{lines}");
        }
        let cross_site = [
            format!("POST /stop HTTP/1.1\n{host}"),
            format!("POST /stop HTTP/1.1\n{host}\nOrigin: null"),
            format!("POST /stop HTTP/1.1\n{host}\nOrigin: http://evil.test"),
            format!("POST /stop HTTP/1.1\n{host}\nOrigin: http://localhost:8080"),
            format!("GET / HTTP/1.1\n{host}\nOrigin: http://evil.test"),
            format!("POST /report/0123456789abcdef HTTP/1.1\n{host}\nSec-Fetch-Site: cross-site"),
            format!("GET /events HTTP/1.1\n{host}\nSec-Fetch-Site: cross-site"),
            format!("GET /events HTTP/1.1\n{host}\nSec-Fetch-Site: same-site"),
        ];
        for lines in cross_site {
            assert_eq!(admitted(&access, &lines), Err(Refusal::Origin), "{lines}");
        }
    }

    #[test]
    fn a_token_comes_by_address_header_or_cookie() {
        let access = open();
        let host = "Host: lab";
        let with = [
            format!("GET /?token=0123456789abcdef HTTP/1.1\n{host}"),
            format!("GET /events HTTP/1.1\n{host}\nAuthorization: Bearer 0123456789abcdef"),
            format!("GET /events HTTP/1.1\n{host}\nCookie: a=b; throng-7700=0123456789abcdef"),
        ];
        for lines in with {
            assert_eq!(admitted(&access, &lines), Ok(()), "{lines}");
        }
        let without = [
            format!("GET / HTTP/1.1\n{host}"),
            format!("GET /?token=0123456789abcdee HTTP/1.1\n{host}"),
            format!("GET /?token=0123456789abcde HTTP/1.1\n{host}"),
            format!("GET / HTTP/1.1\n{host}\nCookie: throng-7701=0123456789abcdef"),
        ];
        for lines in without {
            assert_eq!(admitted(&access, &lines), Err(Refusal::Token), "{lines}");
        }
    }

    #[test]
    fn tokens_are_long_and_differ() {
        let a = random_token().unwrap();
        let b = random_token().unwrap();
        assert!(token_is_sound(&a) && a.len() == 2 * TOKEN_BYTES && a != b);
        assert!(!token_is_sound("short") && !token_is_sound("0123456789abcdef&x=1"));
    }
}
