//! Who may see the page. What a foreign page in somebody's browser asks for is refused by its `Origin`
//! and `Sec-Fetch-Site` (Fetch Metadata, W3C), and a foreign name that was made to lead here (DNS
//! rebinding) by its `Host`. Beyond this machine a token is needed besides.

use std::fmt::Write;
use std::io::Read;
use std::net::{IpAddr, SocketAddr};

use crate::head::{Head, Method};

/// A token is at least so long: 16 characters of the 64 that it may have are 96 bits.
const TOKEN_CHARS_MIN: usize = 16;
/// Random bytes of a token that is made here.
const TOKEN_BYTES: usize = 16;

/// Where reports stand, each below its id.
pub(crate) const REPORTS: &str = "/report/";

/// Why somebody is not let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The name that was asked for is not ours.
    Host,
    /// Another page asks.
    Origin,
    /// The token is missing or wrong.
    Token,
}

/// What somebody has to bring.
#[derive(Debug)]
pub struct Gate {
    is_local: bool,
    port: u16,
    /// Names besides `localhost` that lead here.
    names: Vec<String>,
    token: Option<String>,
}

impl Gate {
    /// Of a server at this address, which is also called by these names.
    pub fn new(address: SocketAddr, names: Vec<String>, token: Option<String>) -> Gate {
        Gate {
            is_local: address.ip().is_loopback(),
            port: address.port(),
            names,
            token,
        }
    }

    /// The cookie that a browser brings the token in. Cookies do not know ports, so its name does.
    pub(crate) fn cookie(&self) -> String {
        format!("throng-{}", self.port)
    }

    /// What sets the cookie, where the request brought the token in its address.
    pub(crate) fn set_cookie(&self, head: &Head) -> Option<String> {
        let brought = head.query.as_deref()?.starts_with("token=");
        let token = self.token.as_ref().filter(|_| brought)?;
        let name = self.cookie();
        Some(format!("{name}={token}; Path=/; HttpOnly; SameSite=Strict"))
    }

    pub(crate) fn admit(&self, head: &Head) -> Result<(), Refusal> {
        let host = head.one("host").ok_or(Refusal::Host)?;
        if !self.is_ours(host) {
            return Err(Refusal::Host);
        }
        let own = format!("http://{host}");
        let origin_is_own = match head.one("origin") {
            Some(origin) => origin.eq_ignore_ascii_case(&own),
            // Browsers tell it with every POST (Fetch standard §3.1), and so has to who writes one by hand.
            None => !head.has("origin") && head.method != Method::Post,
        };
        // Links elsewhere may lead to the page, or to a report, and to nothing else.
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
            Some(token) if !self.brings(head, token) => Err(Refusal::Token),
            _ => Ok(()),
        }
    }

    /// Whether this `Host` is a name of ours. Its port is not looked at: who comes through a tunnel
    /// calls another one.
    fn is_ours(&self, host: &str) -> bool {
        let name = without_port(host);
        if name.eq_ignore_ascii_case("localhost") {
            return true;
        }
        let literal = name.trim_start_matches('[').trim_end_matches(']');
        if let Ok(address) = literal.parse::<IpAddr>() {
            // No foreign name leads to an address that is written out.
            return address.is_loopback() || !self.is_local;
        }
        self.names.iter().any(|own| own.eq_ignore_ascii_case(name))
    }

    fn brings(&self, head: &Head, token: &str) -> bool {
        let asked = head.query.as_deref();
        let asked = asked.and_then(|query| query.strip_prefix("token="));
        let bearer = head.one("authorization");
        let bearer = bearer.and_then(|value| value.strip_prefix("Bearer "));
        let name = self.cookie();
        let cookies = head.one("cookie").unwrap_or_default().split("; ");
        let mut cookies = cookies.filter_map(|cookie| cookie.split_once('='));
        let kept = cookies.find(|(found, _)| *found == name);
        let brought = [asked, bearer, kept.map(|(_, value)| value)];
        brought.into_iter().flatten().any(|one| equal(one, token))
    }
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    }
}

/// Compares without telling by its time where two of the same length differ.
fn equal(a: &str, b: &str) -> bool {
    let differing = a
        .bytes()
        .zip(b.bytes())
        .fold(0, |all, (a, b)| all | (a ^ b));
    a.len() == b.len() && std::hint::black_box(differing) == 0
}

/// A token that nobody guesses: 128 random bits.
///
/// # Errors
/// Where the system has no random numbers.
pub(crate) fn random_token() -> std::io::Result<String> {
    let mut bytes = [0; TOKEN_BYTES];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    let mut token = String::new();
    for byte in bytes {
        let _ = write!(token, "{byte:02x}");
    }
    Ok(token)
}

/// Whether a token that somebody chose can stand in an address and is long enough.
pub(crate) fn token_is_sound(token: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    token.len() >= TOKEN_CHARS_MIN && token.chars().all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admitted(gate: &Gate, lines: &str) -> Result<(), Refusal> {
        let text = format!("{}\r\n\r\n", lines.trim().replace('\n', "\r\n"));
        gate.admit(&Head::parse(text.as_bytes()).unwrap().unwrap())
    }

    fn local() -> Gate {
        Gate::new("127.0.0.1:7700".parse().unwrap(), Vec::new(), None)
    }

    fn open() -> Gate {
        let token = Some("0123456789abcdef".to_owned());
        Gate::new(
            "0.0.0.0:7700".parse().unwrap(),
            vec!["lab".to_owned()],
            token,
        )
    }

    #[test]
    fn only_our_own_names_lead_here() {
        let gate = local();
        for host in ["127.0.0.1:7700", "localhost:9", "[::1]:7700", "LOCALHOST"] {
            assert_eq!(
                admitted(&gate, &format!("GET / HTTP/1.1\nHost: {host}")),
                Ok(())
            );
        }
        for host in [
            "evil.test:7700",
            "10.0.0.1:7700",
            "localhost.evil.test",
            "",
            "lab",
        ] {
            let lines = format!("GET / HTTP/1.1\nHost: {host}");
            assert_eq!(admitted(&gate, &lines), Err(Refusal::Host), "{host:?}");
        }
        assert_eq!(admitted(&gate, "GET / HTTP/1.1"), Err(Refusal::Host));
        let twice = "GET / HTTP/1.1\nHost: localhost\nHost: evil.test";
        assert_eq!(admitted(&gate, twice), Err(Refusal::Host));
        for host in ["lab:7700", "10.0.0.1:7700"] {
            let lines = format!("GET /?token=0123456789abcdef HTTP/1.1\nHost: {host}");
            assert_eq!(admitted(&open(), &lines), Ok(()), "{host}");
        }
    }

    #[test]
    fn other_pages_may_link_here_and_no_more() {
        let gate = local();
        let host = "Host: localhost:7700";
        let fine = [
            format!("POST /stop HTTP/1.1\n{host}\nOrigin: http://localhost:7700"),
            format!("GET / HTTP/1.1\n{host}\nSec-Fetch-Site: cross-site"),
            format!("GET /report/0123456789abcdef HTTP/1.1\n{host}\nSec-Fetch-Site: cross-site"),
            format!("GET /events HTTP/1.1\n{host}\nSec-Fetch-Site: same-origin"),
        ];
        for lines in fine {
            assert_eq!(admitted(&gate, &lines), Ok(()), "{lines}");
        }
        let foreign = [
            format!("POST /stop HTTP/1.1\n{host}"),
            format!("POST /stop HTTP/1.1\n{host}\nOrigin: null"),
            format!("POST /stop HTTP/1.1\n{host}\nOrigin: http://evil.test"),
            format!("POST /stop HTTP/1.1\n{host}\nOrigin: http://localhost:8080"),
            format!("GET / HTTP/1.1\n{host}\nOrigin: http://evil.test"),
            format!("POST /report/0123456789abcdef HTTP/1.1\n{host}\nSec-Fetch-Site: cross-site"),
            format!("GET /events HTTP/1.1\n{host}\nSec-Fetch-Site: cross-site"),
            format!("GET /events HTTP/1.1\n{host}\nSec-Fetch-Site: same-site"),
        ];
        for lines in foreign {
            assert_eq!(admitted(&gate, &lines), Err(Refusal::Origin), "{lines}");
        }
    }

    #[test]
    fn a_token_comes_by_address_header_or_cookie() {
        let gate = open();
        let host = "Host: lab";
        let with = [
            format!("GET /?token=0123456789abcdef HTTP/1.1\n{host}"),
            format!("GET /events HTTP/1.1\n{host}\nAuthorization: Bearer 0123456789abcdef"),
            format!("GET /events HTTP/1.1\n{host}\nCookie: a=b; throng-7700=0123456789abcdef"),
        ];
        for lines in with {
            assert_eq!(admitted(&gate, &lines), Ok(()), "{lines}");
        }
        let without = [
            format!("GET / HTTP/1.1\n{host}"),
            format!("GET /?token=0123456789abcdee HTTP/1.1\n{host}"),
            format!("GET /?token=0123456789abcde HTTP/1.1\n{host}"),
            format!("GET / HTTP/1.1\n{host}\nCookie: throng-7701=0123456789abcdef"),
        ];
        for lines in without {
            assert_eq!(admitted(&gate, &lines), Err(Refusal::Token), "{lines}");
        }
    }

    #[test]
    fn tokens_are_long_and_differ() {
        let (a, b) = (random_token().unwrap(), random_token().unwrap());
        assert!(token_is_sound(&a) && a.len() == 2 * TOKEN_BYTES && a != b);
        assert!(!token_is_sound("short") && !token_is_sound("0123456789abcdef&x=1"));
    }
}
