//! The canonical form of a request: what a client signs, and the service computes from what arrived.

use std::collections::BTreeMap;

/// Headers that are not signed: those that proxies may change on the way, and the signature itself.
const UNSIGNED: &[&str] = &[
    "accept-encoding",
    "authorization",
    "connection",
    "content-length",
    "expect",
    "keep-alive",
    "proxy-authorization",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "user-agent",
    "x-amzn-trace-id",
];

/// A request's parts.
pub(super) struct Request<'a> {
    method: String,
    path: String,
    query: String,
    /// By name in lower case; the values of lines with the same name are joined by commas.
    headers: BTreeMap<String, String>,
    pub(super) body: &'a [u8],
}

impl<'a> Request<'a> {
    /// The parts of an encoded request.
    pub(super) fn parse(request: &'a [u8]) -> Request<'a> {
        let end = request.windows(4).position(|window| window == b"\r\n\r\n");
        let (head, body) = match end {
            Some(end) => (&request[..end], &request[end + 4..]),
            None => (request, &[][..]),
        };
        let head = String::from_utf8_lossy(head);
        let mut lines = head.split("\r\n");
        let line = lines.next().unwrap_or_default();
        let (method, rest) = line.split_once(' ').unwrap_or((line, ""));
        let target = rest.rsplit_once(' ').map_or(rest, |(target, _)| target);
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let mut request = Request {
            method: method.to_owned(),
            path: path.to_owned(),
            query: query.to_owned(),
            headers: BTreeMap::new(),
            body,
        };
        for (name, value) in lines.filter_map(|line| line.split_once(':')) {
            request.add_header(name, value);
        }
        request
    }

    pub(super) fn add_header(&mut self, name: &str, value: &str) {
        // Blanks around the value are dropped, and several become one.
        let value: Vec<&str> = value.split_ascii_whitespace().collect();
        let value = value.join(" ");
        let joined = self.headers.entry(name.to_ascii_lowercase());
        joined.and_modify(|all| *all = format!("{all},{value}")).or_insert(value);
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    /// The canonical form, and the names of the headers in it.
    pub(super) fn canonical(&self, path_is_name: bool, payload: &str) -> (String, String) {
        let signed = |name: &str| !UNSIGNED.contains(&name);
        let signed: Vec<_> = self.headers.iter().filter(|(name, _)| signed(name)).collect();
        let lines: String =
            signed.iter().map(|(name, value)| format!("{name}:{value}\n")).collect();
        let names: Vec<&str> = signed.iter().map(|(name, _)| name.as_str()).collect();
        let names = names.join(";");
        let path = match path_is_name {
            true => name_of_object(&self.path),
            false => normalized(&self.path),
        };
        let method = &self.method;
        let query = canonical_query(&self.query);
        let text = format!("{method}\n{path}\n{query}\n{lines}\n{names}\n{payload}");
        (text, names)
    }
}

/// All but unreserved characters as `%XX` (RFC 3986 §2.3).
fn encoded(bytes: &[u8]) -> String {
    let mut out = String::new();
    for &byte in bytes {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                out.push(char::from(byte));
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// The bytes that `%XX` stand for; a `%` without two digits stays. `blank`: what stands for a blank.
fn decoded(text: &str, blank: Option<u8>) -> Vec<u8> {
    let mut rest = text.as_bytes();
    let mut out = Vec::new();
    while let [first, after @ ..] = rest {
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match (first, byte) {
            (b'%', Some(byte)) => {
                out.push(byte);
                rest = &after[2..];
            }
            (first, _) => {
                out.push(if blank == Some(*first) { b' ' } else { *first });
                rest = after;
            }
        }
    }
    out
}

/// A path that is a name: each of its parts is encoded once.
fn name_of_object(path: &str) -> String {
    let parts = path.split('/').map(|part| encoded(&decoded(part, None)));
    let path: Vec<String> = parts.collect();
    path.join("/")
}

/// Any other path: without `.`, `..` and empty parts (RFC 3986 §5.2.4), and encoded once more than it was sent.
fn normalized(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    let is_folder = matches!(path.rsplit('/').next(), Some("" | "." | ".."));
    let mut out = String::new();
    for part in &parts {
        out.push('/');
        out.push_str(&encoded(part.as_bytes()));
    }
    if is_folder || out.is_empty() {
        out.push('/');
    }
    out
}

/// The parameters in the order of their encoded names, then values.
fn canonical_query(query: &str) -> String {
    let written = |text: &str| encoded(&decoded(text, Some(b'+')));
    let parameters = query.split('&').filter(|parameter| !parameter.is_empty());
    let mut parameters: Vec<(String, String)> = parameters
        .map(|parameter| {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            (written(name), written(value))
        })
        .collect();
    parameters.sort();
    let parameters: Vec<String> =
        parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
    parameters.join("&")
}
