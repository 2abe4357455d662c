//! Proxies: which there is, and which hosts are reached through it.

use std::net::IpAddr;

use plan::{Endpoint, EndpointId, Proxy, ProxyCredentials, ProxyKind, Target, Via};

use super::location::{HOST_BYTES_MAX, split_host};
use super::{Checker, index};
use crate::document::node::{Node, Place};

/// The variables of an environment that `proxy: environment` reads, in pairs: of two, the first that is set counts.
pub const PROXY_VARIABLES: [&str; 8] = [
    "http_proxy",
    "HTTP_PROXY",
    "https_proxy",
    "HTTPS_PROXY",
    "all_proxy",
    "ALL_PROXY",
    "no_proxy",
    "NO_PROXY",
];
/// Most entries of `no_proxy`.
const EXCEPTIONS_MAX: usize = 1_000;
/// Bytes of a user's name or password (RFC 1929 §2).
const CREDENTIAL_BYTES_MAX: usize = 255;
const FORM: &str = "write it like http://proxy.example.org:3128, socks5://… or socks5h://…";

/// The proxies of a scenario.
#[derive(Debug, Default)]
pub(super) struct Proxies {
    /// Proxy for hosts without TLS.
    plain: Option<ProxyUrl>,
    /// Proxy for hosts with TLS.
    tls: Option<ProxyUrl>,
    exceptions: Vec<Exception>,
}

/// A proxy as its URL says.
#[derive(Debug, Clone, PartialEq)]
struct ProxyUrl {
    kind: ProxyKind,
    host: String,
    port: u16,
    credentials: Option<ProxyCredentials>,
}

/// Hosts that are reached without a proxy.
#[derive(Debug, Clone, PartialEq)]
enum Exception {
    All,
    /// A name and all names below it; with a port, at this port alone.
    Name(String, Option<u16>),
    /// An address and the number of its bits that count.
    Network(IpAddr, u32),
}

impl Checker<'_> {
    /// Compiles the proxies of `options` or `target`.
    pub(super) fn proxies(&mut self, proxy: Option<&Node>, exceptions: Option<&Node>) {
        if let Some(node) = proxy {
            self.proxy(node);
        }
        for node in exceptions.map_or(&[][..], |node| self.one_or_more(node)) {
            if let Some(word) = self.word(node, "a host") {
                self.exceptions(&word.text, &word.place);
            }
        }
    }

    fn proxy(&mut self, node: &Node) {
        let Some(word) = self.word(node, "a proxy's URL, `environment` or `none`") else {
            return;
        };
        match word.text.as_str() {
            "none" => {}
            "environment" => self.proxies_of_environment(&word.place),
            text => {
                self.note_setting(node, text);
                match parse(text) {
                    Ok(proxy) => {
                        self.proxies.plain = Some(proxy.clone());
                        self.proxies.tls = Some(proxy);
                    }
                    Err((message, hint)) => {
                        self.diagnostics.error("bad-proxy", &word.place, message).hint(hint);
                    }
                }
            }
        }
    }

    fn proxies_of_environment(&mut self, place: &Place) {
        let mut found = [const { None }; 4];
        for (pair, found) in PROXY_VARIABLES.chunks(2).zip(&mut found) {
            // All are read, so that whoever compiles this elsewhere knows them.
            let values = pair.iter().map(|name| (*name, (self.settings.env)(name)));
            let values: Vec<_> = values.collect();
            let mut set = values.into_iter().filter_map(|(name, value)| {
                let value = value.filter(|value| !value.is_empty())?;
                Some((name, value))
            });
            *found = set.next();
        }
        let [plain, tls, all, exceptions] = found;
        let mut of_url = |found: Option<(&str, String)>| {
            let (name, url) = found?;
            // Tools agree that a proxy without a scheme is one of HTTP.
            let url = match url.contains("://") {
                true => url,
                false => format!("http://{url}"),
            };
            match parse(&url) {
                Ok(proxy) => Some(proxy),
                Err((message, hint)) => {
                    let message = format!("the environment variable {name}: {message}");
                    self.diagnostics.error("bad-proxy", place, message).hint(hint);
                    None
                }
            }
        };
        let all = of_url(all);
        self.proxies.plain = of_url(plain).or_else(|| all.clone());
        self.proxies.tls = of_url(tls).or(all);
        if let Some((_, text)) = exceptions {
            for entry in text.split([',', ' ']).filter(|entry| !entry.is_empty()) {
                self.exceptions(entry, place);
            }
        }
    }

    fn exceptions(&mut self, text: &str, place: &Place) {
        let found = &mut self.proxies.exceptions;
        match exception(text) {
            _ if found.len() >= EXCEPTIONS_MAX => {
                let message = format!("more than {EXCEPTIONS_MAX} hosts");
                self.diagnostics.error("bad-proxy", place, message);
            }
            Some(exception) => found.push(exception),
            None => {
                let message = format!("`{text}` is not a host");
                self.diagnostics
                    .error("bad-proxy", place, message)
                    .hint("write example.org, example.org:8080, 10.0.0.5, 10.0.0.0/8 or *");
            }
        }
    }

    /// Leads endpoints through proxies, and adds the proxies' own endpoints. A built-in target is on this machine.
    pub(super) fn lead_through_proxies(&mut self, target: Option<&Target>) -> Vec<Proxy> {
        let own = std::mem::take(&mut self.proxies);
        let mut written = Vec::new();
        let mut proxies = Vec::new();
        for at in 0..self.endpoints.len() {
            let endpoint = &self.endpoints[at];
            let is_builtin = at == 0 && matches!(target, Some(Target::Builtin { .. }));
            if is_builtin || endpoint.via != Via::Tcp || own.is_exception(endpoint) {
                continue;
            }
            let proxy = if endpoint.tls { &own.tls } else { &own.plain };
            let Some(proxy) = proxy else { continue };
            let known = written.iter().position(|known| known == proxy);
            let number = known.unwrap_or_else(|| {
                written.push(proxy.clone());
                proxies.push(self.add_proxy(proxy));
                proxies.len() - 1
            });
            self.endpoints[at].via = Via::Proxy(index(number));
        }
        proxies
    }

    fn add_proxy(&mut self, proxy: &ProxyUrl) -> Proxy {
        let id: EndpointId = index(self.endpoints.len());
        self.endpoints.push(Endpoint {
            tls: false,
            host: proxy.host.clone(),
            port: proxy.port,
            base_path: String::new(),
            via: Via::Tcp,
        });
        Proxy { kind: proxy.kind, endpoint: id, credentials: proxy.credentials.clone() }
    }
}

impl Proxies {
    fn is_exception(&self, endpoint: &Endpoint) -> bool {
        let host = endpoint.host.to_ascii_lowercase();
        let address: Option<IpAddr> = host.parse().ok();
        self.exceptions.iter().any(|exception| match exception {
            Exception::All => true,
            Exception::Network(network, bits) => {
                address.is_some_and(|address| is_within(address, *network, *bits))
            }
            Exception::Name(name, port) => {
                let before = host.strip_suffix(name.as_str());
                let is_it = before.is_some_and(|before| before.is_empty() || before.ends_with('.'));
                is_it && port.is_none_or(|port| port == endpoint.port)
            }
        })
    }
}

fn is_within(address: IpAddr, network: IpAddr, bits: u32) -> bool {
    let (own, other, width) = match (address, network) {
        (IpAddr::V4(a), IpAddr::V4(b)) => (u128::from(u32::from(a)), u128::from(u32::from(b)), 32),
        (IpAddr::V6(a), IpAddr::V6(b)) => (u128::from(a), u128::from(b), 128),
        _ => return false,
    };
    let different = own ^ other;
    different.checked_shr(width - bits).unwrap_or(0) == 0
}

fn exception(text: &str) -> Option<Exception> {
    if text == "*" {
        return Some(Exception::All);
    }
    if let Some((network, bits)) = text.split_once('/') {
        let network: IpAddr = network.parse().ok()?;
        let bits = bits.parse().ok()?;
        let width = if network.is_ipv4() { 32 } else { 128 };
        return (bits <= width).then_some(Exception::Network(network, bits));
    }
    let bare = text.strip_prefix('[').and_then(|t| t.strip_suffix(']'));
    if let Ok(address) = bare.unwrap_or(text).parse::<IpAddr>() {
        let width = if address.is_ipv4() { 32 } else { 128 };
        return Some(Exception::Network(address, width));
    }
    let name = text.strip_prefix("*.").or(text.strip_prefix('.'));
    let (host, port) = split_host(name.unwrap_or(text))?;
    let port = match port {
        Some(port) => Some(port.parse().ok()?),
        None => None,
    };
    Some(Exception::Name(host.to_ascii_lowercase(), port))
}

/// A problem and what to do.
type Problem = (String, String);

/// Reads a proxy's URL. Errors do not repeat it, since it may hold a password.
fn parse(text: &str) -> Result<ProxyUrl, Problem> {
    let problem = |message: &str, hint: &str| (message.to_owned(), hint.to_owned());
    let Some((scheme, rest)) = text.split_once("://") else {
        return Err(problem("a proxy is a URL", FORM));
    };
    let kind = match scheme {
        "http" => ProxyKind::Http,
        "socks5" => ProxyKind::Socks5,
        "socks5h" => ProxyKind::Socks5h,
        "https" => {
            let hint = "write http://; TLS to the target passes through the proxy unchanged";
            return Err(problem("proxies are reached without TLS", hint));
        }
        _ => return Err(problem("this kind of proxy is not supported", FORM)),
    };
    let authority = rest.strip_suffix('/').unwrap_or(rest);
    let (user_info, place) = match authority.rsplit_once('@') {
        Some((user_info, place)) => (Some(user_info), place),
        None => (None, authority),
    };
    let Some((host, port)) = split_host(place).filter(|(host, _)| host.len() <= HOST_BYTES_MAX)
    else {
        return Err(problem("a proxy's URL is a scheme, a host and a port", FORM));
    };
    let Some(port) = port.and_then(|port| port.parse().ok()).filter(|&p| p > 0) else {
        return Err(problem("the proxy has no port, or not one in 1..=65535", FORM));
    };
    Ok(ProxyUrl {
        kind,
        host: host.to_owned(),
        port,
        credentials: user_info.map(|user_info| credentials(user_info, kind)).transpose()?,
    })
}

/// `user:password`, percent-encoded.
fn credentials(user_info: &str, kind: ProxyKind) -> Result<ProxyCredentials, Problem> {
    let (user, written) = user_info.split_once(':').unwrap_or((user_info, ""));
    let decoded = |text: &str| {
        percent_decoded(text).ok_or_else(|| {
            let message = "the proxy's user name or password is not percent-encoded text";
            (message.to_owned(), "write %40 for @, %3A for :".to_owned())
        })
    };
    let user = decoded(user)?;
    let password = decoded(written)?;
    if kind == ProxyKind::Http && user.contains(':') {
        let message = "a user name for an HTTP proxy cannot hold a colon (RFC 7617)";
        return Err((message.to_owned(), "use another user".to_owned()));
    }
    let fits = |text: &str| !text.is_empty() && text.len() <= CREDENTIAL_BYTES_MAX;
    if user.is_empty() || kind != ProxyKind::Http && !(fits(&user) && fits(&password)) {
        let message = "the proxy's user name or password is empty or too long";
        let hint = format!("SOCKS5 takes 1 to {CREDENTIAL_BYTES_MAX} bytes of each");
        return Err((message.to_owned(), hint));
    }
    Ok(ProxyCredentials { user, password, written: written.to_owned() })
}

/// RFC 3986 section 2.1; `None`: a percent sign without two digits, control characters, or no UTF-8.
pub(crate) fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        rest = behind;
        if first != b'%' {
            bytes.push(first);
            continue;
        }
        let (digits, behind) = rest.split_at_checked(2)?;
        rest = behind;
        let digit = |digit: u8| char::from(digit).to_digit(16);
        bytes.push((digit(digits[0])? * 16 + digit(digits[1])?) as u8);
    }
    let text = String::from_utf8(bytes).ok()?;
    (!text.contains(char::is_control)).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxy(text: &str) -> ProxyUrl {
        parse(text).unwrap_or_else(|error| panic!("{text}: {error:?}"))
    }

    #[test]
    fn urls_of_proxies_are_read() {
        let plain = proxy("http://proxy.test:3128/");
        assert_eq!((plain.kind, plain.port), (ProxyKind::Http, 3128));
        assert!(plain.credentials.is_none());
        let own = proxy("socks5h://ann:p%40ss%3Aw@[::1]:1080");
        assert_eq!((own.kind, &*own.host), (ProxyKind::Socks5h, "::1"));
        let own = own.credentials.unwrap();
        assert_eq!((&*own.user, &*own.password), ("ann", "p@ss:w"));
        assert_eq!(own.written, "p%40ss%3Aw");
        let user = proxy("http://ann@proxy.test:1").credentials.unwrap();
        assert_eq!((&*user.user, &*user.password), ("ann", ""));
        let long = format!("socks5://{}:x@h:1", "u".repeat(256));
        for (text, what) in [
            ("proxy.test:3128", "is a URL"),
            ("ftp://proxy.test:3128", "not supported"),
            ("https://proxy.test:3128", "without TLS"),
            ("http://proxy.test", "no port"),
            ("http://proxy.test:0", "no port"),
            ("http://proxy.test:1/x", "no port"),
            ("http://:3128", "a host and a port"),
            ("http://a%4:b@h:1", "percent-encoded"),
            ("http://a:%0a@h:1", "percent-encoded"),
            ("http://a%3Ab:c@h:1", "colon"),
            ("socks5://ann@h:1", "empty or too long"),
            (&long, "empty or too long"),
        ] {
            let (message, _) = parse(text).expect_err(text);
            assert!(message.contains(what), "{text}: {message}");
        }
    }

    #[test]
    fn exceptions_are_names_with_those_below_and_networks() {
        let is_exception = |entry: &str, host: &str, port| {
            let proxies =
                Proxies { exceptions: vec![exception(entry).expect(entry)], ..Proxies::default() };
            proxies.is_exception(&Endpoint {
                tls: false,
                host: host.to_owned(),
                port,
                base_path: String::new(),
                via: Via::Tcp,
            })
        };
        for (entry, host, expected) in [
            ("*", "a.test", true),
            ("a.test", "A.test", true),
            ("a.test", "www.a.test", true),
            (".a.test", "a.test", true),
            ("*.a.test", "x.y.a.test", true),
            ("a.test", "ba.test", false),
            ("a.test:80", "a.test", true),
            ("a.test:81", "a.test", false),
            ("10.0.0.0/8", "10.9.9.9", true),
            ("10.0.0.0/8", "11.0.0.1", false),
            ("0.0.0.0/0", "11.0.0.1", true),
            ("10.0.0.5", "10.0.0.5", true),
            ("[::1]", "::1", true),
            ("fd00::/8", "fd12::1", true),
            ("fd00::/8", "10.0.0.1", false),
        ] {
            assert_eq!(is_exception(entry, host, 80), expected, "{entry} {host}");
        }
        for entry in ["", "a b", "10.0.0.0/33", "x/8", "a.test:port"] {
            assert_eq!(exception(entry), None, "{entry}");
        }
    }
}
