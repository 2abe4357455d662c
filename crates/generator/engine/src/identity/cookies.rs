//! A user's cookies: RFC 6265, sections 5.1 to 5.4, the client's side.
//!
//! There is no list of public suffixes. A `Domain` of one label (`com`, `localhost`) is refused
//! unless it is the host itself; one of a longer suffix (`co.uk`) is taken, as section 5.3 allows a
//! client without such a list. To a test the difference is none: its hosts are those it names.

use super::date;

/// Most cookies of a user; the oldest goes first.
const COOKIES_MAX: usize = 150;
/// Longest name and value together, in bytes (section 6.1).
const COOKIE_BYTES_MAX: usize = 4096;

#[derive(Debug, PartialEq, Eq)]
struct Cookie {
    name: String,
    value: String,
    /// Lower case.
    domain: String,
    host_only: bool,
    path: String,
    secure: bool,
    /// Seconds since the Unix epoch; `None`: it stays as long as the user.
    expires_s: Option<i64>,
}

/// The cookies, in the order in which they were first set.
#[derive(Debug, Default)]
pub(crate) struct Jar {
    cookies: Vec<Cookie>,
}

/// The origin of a cookie, or the destination of a request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Origin<'a> {
    pub(crate) host: &'a str,
    /// With or without a query.
    pub(crate) path: &'a str,
    pub(crate) secure: bool,
}

impl Jar {
    pub(crate) fn is_empty(&self) -> bool {
        self.cookies.is_empty()
    }

    /// Takes one `Set-Cookie` header of a response from `origin`; one that cannot be taken is
    /// ignored, as section 5.2 wants.
    pub(crate) fn take(&mut self, header: &[u8], origin: Origin<'_>, now_s: i64) {
        let Ok(header) = std::str::from_utf8(header) else {
            return;
        };
        let Some(mut cookie) = parse(header, origin, now_s) else {
            return;
        };
        let is_same = |old: &Cookie| {
            old.name == cookie.name && old.domain == cookie.domain && old.path == cookie.path
        };
        let expired = cookie.expires_s.is_some_and(|expires_s| expires_s <= now_s);
        match self.cookies.iter().position(is_same) {
            Some(at) if expired => drop(self.cookies.remove(at)),
            // The origin in the order is that of the first one (section 5.3, 11.3).
            Some(at) => std::mem::swap(&mut self.cookies[at], &mut cookie),
            None if expired => {}
            None => {
                self.make_room(now_s);
                self.cookies.push(cookie);
            }
        }
    }

    fn make_room(&mut self, now_s: i64) {
        if self.cookies.len() >= COOKIES_MAX {
            self.cookies.retain(|cookie| !cookie.is_over(now_s));
        }
        if self.cookies.len() >= COOKIES_MAX {
            self.cookies.remove(0);
        }
    }

    /// The value of a request's `cookie` header, but for those `own` ones that the request brings
    /// itself; empty if no cookie belongs to it. Longer paths come first, then older cookies
    /// (section 5.4).
    pub(crate) fn line(&self, origin: Origin<'_>, now_s: i64, own: &[String]) -> Vec<u8> {
        let belongs = |cookie: &&Cookie| {
            !cookie.is_over(now_s) && cookie.belongs(origin) && !own.contains(&cookie.name)
        };
        let mut sent: Vec<&Cookie> = self.cookies.iter().filter(belongs).collect();
        sent.sort_by_key(|cookie| std::cmp::Reverse(cookie.path.len()));
        let mut line = Vec::new();
        for cookie in sent {
            line.extend_from_slice(if line.is_empty() { b"" } else { b"; " });
            line.extend_from_slice(cookie.name.as_bytes());
            line.push(b'=');
            line.extend_from_slice(cookie.value.as_bytes());
        }
        line
    }
}

impl Cookie {
    fn is_over(&self, now_s: i64) -> bool {
        self.expires_s.is_some_and(|expires_s| expires_s <= now_s)
    }

    fn belongs(&self, origin: Origin<'_>) -> bool {
        let host = if self.host_only {
            self.domain.eq_ignore_ascii_case(origin.host)
        } else {
            domain_matches(origin.host, &self.domain)
        };
        host && path_matches(origin.path, &self.path) && (origin.secure || !self.secure)
    }
}

/// Sections 5.2 and 5.3.
fn parse(header: &str, origin: Origin<'_>, now_s: i64) -> Option<Cookie> {
    let mut parts = header.split(';');
    let (name, value) = parts.next()?.split_once('=')?;
    let name = trim(name);
    let value = trim(value);
    if name.is_empty()
        || name.len() + value.len() > COOKIE_BYTES_MAX
        || !proto::http1::is_field_value(name.as_bytes())
        || !proto::http1::is_field_value(value.as_bytes())
    {
        return None;
    }
    let mut cookie = Cookie {
        name: name.to_owned(),
        value: value.to_owned(),
        domain: origin.host.to_ascii_lowercase(),
        host_only: true,
        path: default_path(origin.path).to_owned(),
        secure: false,
        expires_s: None,
    };
    let mut max_age_s = None;
    let mut expires_s = None;
    let mut domain = "";
    for part in parts {
        let (key, value) = part.split_once('=').unwrap_or((part, ""));
        let value = trim(value);
        match trim(key).to_ascii_lowercase().as_str() {
            "expires" => expires_s = date::parse(value).or(expires_s),
            "max-age" => max_age_s = max_age(value).or(max_age_s),
            "domain" if !value.is_empty() => domain = value.strip_prefix('.').unwrap_or(value),
            "path" if value.starts_with('/') => cookie.path = value.to_owned(),
            "path" => default_path(origin.path).clone_into(&mut cookie.path),
            "secure" => cookie.secure = true,
            _ => {}
        }
    }
    cookie.expires_s = max_age_s
        .map(|age| if age > 0 { now_s.saturating_add(age) } else { i64::MIN })
        .or(expires_s);
    if !domain.is_empty() && !domain.eq_ignore_ascii_case(origin.host) {
        if !domain.contains('.') || !domain_matches(origin.host, domain) {
            return None;
        }
        cookie.domain = domain.to_ascii_lowercase();
    }
    // A domain that is the host's own matches its subdomains, too; an address has none.
    cookie.host_only = domain.is_empty() || !domain.contains('.');
    Some(cookie)
}

fn trim(text: &str) -> &str {
    text.trim_matches([' ', '\t'])
}

/// Section 5.2.2: seconds, perhaps below 0; anything else is ignored. What is too long for a number
/// is as long as can be.
fn max_age(value: &str) -> Option<i64> {
    let digits = value.strip_prefix('-').unwrap_or(value);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(value.parse().unwrap_or(if value.starts_with('-') { i64::MIN } else { i64::MAX }))
}

/// Section 5.1.3: the same, or a subdomain; addresses have none.
fn domain_matches(host: &str, domain: &str) -> bool {
    if host.eq_ignore_ascii_case(domain) {
        return true;
    }
    let Some(before) = host.len().checked_sub(domain.len()) else {
        return false;
    };
    let is_address = host.parse::<std::net::IpAddr>().is_ok();
    !is_address
        && host.is_char_boundary(before)
        && host[before..].eq_ignore_ascii_case(domain)
        && host[..before].ends_with('.')
}

/// Section 5.1.4: the path's directory.
fn default_path(path: &str) -> &str {
    let path = without_query(path);
    match path.rfind('/') {
        Some(last) if last > 0 => &path[..last],
        _ => "/",
    }
}

fn without_query(path: &str) -> &str {
    path.split('?').next().unwrap_or_default()
}

/// Section 5.1.4.
fn path_matches(path: &str, cookie: &str) -> bool {
    let path = without_query(path);
    let Some(rest) = path.strip_prefix(cookie) else {
        return false;
    };
    rest.is_empty() || cookie.ends_with('/') || rest.starts_with('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at<'a>(host: &'a str, path: &'a str) -> Origin<'a> {
        Origin { host, path, secure: false }
    }

    fn jar(origin: Origin<'_>, headers: &[&str]) -> Jar {
        let mut jar = Jar::default();
        for header in headers {
            jar.take(header.as_bytes(), origin, 1000);
        }
        jar
    }

    fn sent(jar: &Jar, origin: Origin<'_>, now_s: i64) -> String {
        String::from_utf8(jar.line(origin, now_s, &[])).unwrap()
    }

    /// The examples of RFC 6265 section 3.1.
    #[test]
    fn the_examples_of_the_rfc() {
        let root = at("www.example.com", "/");
        let two = jar(
            root,
            &[
                "SID=31d4d96e407aad42; Path=/; Secure; HttpOnly",
                "lang=en-US; Path=/; Domain=example.com",
            ],
        );
        assert_eq!(sent(&two, root, 1000), "lang=en-US");
        let secure = Origin { secure: true, ..root };
        assert_eq!(sent(&two, secure, 1000), "SID=31d4d96e407aad42; lang=en-US");
        assert_eq!(sent(&two, at("other.example.com", "/x"), 1000), "lang=en-US");
        let mut one = jar(root, &["lang=en-US; Expires=Wed, 09 Jun 2021 10:18:14 GMT"]);
        assert_eq!(sent(&one, root, 1_623_233_893), "lang=en-US");
        assert_eq!(sent(&one, root, 1_623_233_894), "");
        one.take(b"lang=; Expires=Sun, 06 Nov 1994 08:49:37 GMT", root, 784_111_778);
        assert_eq!(sent(&one, root, 1000), "");
    }

    #[test]
    fn domains() {
        let www = at("www.example.com", "/");
        let refused = [
            "a=1; Domain=other.com",
            "a=1; Domain=com",
            "a=1; Domain=a.www.example.com",
            "a=1; Domain=ample.com",
        ];
        assert_eq!(jar(www, &refused).cookies, []);
        let host_only = jar(www, &["a=1"]);
        assert_eq!(sent(&host_only, at("x.www.example.com", "/"), 0), "");
        let wide = jar(www, &["a=1; domain=.EXAMPLE.com"]);
        assert_eq!(sent(&wide, at("example.com", "/"), 0), "a=1");
        assert_eq!(sent(&wide, at("badexample.com", "/"), 0), "");
        // An address has no subdomains and no parents.
        let address = at("127.0.0.1", "/");
        assert_eq!(sent(&jar(address, &["a=1; Domain=127.0.0.1"]), address, 0), "a=1");
        assert_eq!(jar(address, &["a=1; Domain=0.0.1"]).cookies, []);
        let local = at("localhost", "/");
        assert_eq!(sent(&jar(local, &["a=1; Domain=localhost"]), local, 0), "a=1");
    }

    #[test]
    fn paths() {
        let shop = at("h", "/shop/cart?id=1/2");
        let cookies = jar(shop, &["a=1", "b=2; Path=/", "c=3; Path=bad", "d=4; Path=/shop/cart"]);
        assert_eq!(sent(&cookies, shop, 0), "d=4; a=1; c=3; b=2");
        assert_eq!(sent(&cookies, at("h", "/shop"), 0), "a=1; c=3; b=2");
        assert_eq!(sent(&cookies, at("h", "/shopping"), 0), "b=2");
        assert_eq!(default_path("/"), "/");
        assert_eq!(default_path("/x"), "/");
    }

    #[test]
    fn ages() {
        let origin = at("h", "/");
        let cookies = jar(
            origin,
            &[
                "a=1; Max-Age=10; Expires=Sun, 06 Nov 1994 08:49:37 GMT",
                "b=2; Max-Age=x10",
                "c=3; Max-Age=99999999999999999999",
                "d=4; Max-Age=0",
            ],
        );
        assert_eq!(sent(&cookies, origin, 1009), "a=1; b=2; c=3");
        assert_eq!(sent(&cookies, origin, 1010), "b=2; c=3");
        let mut cookies = cookies;
        cookies.take(b"b=; Max-Age=-1", origin, 1000);
        assert_eq!(sent(&cookies, origin, 1010), "c=3");
    }

    #[test]
    fn malformed_cookies_are_ignored_and_values_are_kept_verbatim() {
        let origin = at("h", "/");
        let cookies = jar(origin, &["", "novalue", "=x", "q=\"a b\"; ;;", " e =", "ctl=\u{1}"]);
        assert_eq!(sent(&cookies, origin, 0), "q=\"a b\"; e=");
        let long = format!("l={}", "x".repeat(COOKIE_BYTES_MAX));
        assert_eq!(jar(origin, &[&long]).cookies, []);
    }

    #[test]
    fn a_jar_is_bounded_and_keeps_the_order() {
        let origin = at("h", "/");
        let headers: Vec<String> = (0..COOKIES_MAX + 2).map(|n| format!("c{n}=1")).collect();
        let headers: Vec<&str> = headers.iter().map(String::as_str).collect();
        let mut cookies = jar(origin, &headers);
        assert_eq!(cookies.cookies.len(), COOKIES_MAX);
        assert_eq!(cookies.cookies[0].name, "c2");
        cookies.take(b"c2=new", origin, 0);
        assert!(sent(&cookies, origin, 0).starts_with("c2=new; c3=1; "));
        let own: Vec<String> = (2..COOKIES_MAX + 1).map(|n| format!("c{n}")).collect();
        let line = cookies.line(origin, 0, &own);
        assert_eq!(line, format!("c{}=1", COOKIES_MAX + 1).as_bytes());
    }
}
