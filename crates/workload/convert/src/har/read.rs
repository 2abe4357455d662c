//! A recording's entries, as far as they matter.

use std::ops::Range;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use scenario::document::node::{Node, NodeKind};

use super::TEXT_BYTES_MAX;
use crate::diagnostics::Diagnostics;
use crate::json::{self, find, items, number, text};
use crate::request::{Field, Url, cookies_of};

/// Most entries that are read.
const ENTRIES_MAX: usize = 5000;
/// Largest response that is looked into for values, in bytes.
const BODY_BYTES_MAX: usize = 4 << 20;
/// Keys whose values are large and never read.
const SKIPPED: &[&str] = &["_initiator", "cache", "timings"];

/// Headers that belong to the connection, the browser or its cache, not to the request.
const DROPPED: &[&str] = &[
    "accept-encoding",
    "cache-control",
    "connection",
    "content-length",
    "cookie",
    "dnt",
    "host",
    "if-modified-since",
    "if-none-match",
    "keep-alive",
    "pragma",
    "priority",
    "proxy-connection",
    "te",
    "transfer-encoding",
    "upgrade",
    "upgrade-insecure-requests",
    "user-agent",
];

/// A field of a form, or a file in it.
#[derive(Debug, Clone)]
pub(super) struct Param {
    pub(super) name: String,
    /// `None`: the recording does not hold it.
    pub(super) value: Option<String>,
    pub(super) file_name: Option<String>,
    pub(super) content_type: Option<String>,
    pub(super) at: Range<usize>,
}

/// A request's body, as it was recorded.
#[derive(Debug, Clone)]
pub(super) enum Body {
    None,
    Text(String),
    /// Only its fields were recorded.
    Params {
        is_multipart: bool,
        params: Vec<Param>,
    },
}

/// The content of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Content {
    Text(String),
    /// Bytes as hexadecimal digits; `None`: the recording does not hold them.
    Binary(Option<String>),
}

/// A message that the browser sent over a WebSocket.
#[derive(Debug, Clone)]
pub(super) struct Message {
    /// Since the Unix epoch; not before its WebSocket.
    pub(super) at_ms: f64,
    pub(super) content: Content,
    pub(super) at: Range<usize>,
}

/// A WebSocket that was opened.
#[derive(Debug, Clone, Default)]
pub(super) struct WebSocket {
    /// The subprotocols that the browser offered.
    pub(super) subprotocols: Vec<String>,
    /// What the browser sent.
    pub(super) messages: Vec<Message>,
}

/// A request and what came back.
#[derive(Debug, Clone)]
pub(super) struct Exchange {
    /// Its URL in the recording.
    pub(super) at: Range<usize>,
    /// Start of the exchange, since the Unix epoch.
    pub(super) start_ms: f64,
    pub(super) length_ms: f64,
    pub(super) method: String,
    /// Scheme, host and port.
    pub(super) origin: String,
    /// A user name and a password in the URL.
    pub(super) credentials: Option<(String, String)>,
    /// Path and query.
    pub(super) path: String,
    /// Headers that a step needs, in small letters.
    pub(super) headers: Vec<(String, String)>,
    pub(super) user_agent: Option<String>,
    pub(super) cookies: Vec<Field>,
    pub(super) body: Body,
    /// `None` in a recording of requests alone.
    pub(super) status: Option<u16>,
    pub(super) is_static: bool,
    /// The response is a stream of server-sent events, or a WebSocket.
    pub(super) is_stream: bool,
    pub(super) websocket: Option<WebSocket>,
    /// No server answered it.
    pub(super) from_cache: bool,
    /// `Set-Cookie`: names and values.
    pub(super) set_cookies: Vec<(String, String)>,
    /// `Location` of the response.
    pub(super) location: String,
    pub(super) content_type: String,
    pub(super) content: String,
}

/// Entries that are left out: how many, and where the first one stands.
#[derive(Debug, Default)]
struct LeftOut {
    count: usize,
    first: Range<usize>,
}

impl LeftOut {
    fn add(&mut self, entry: &Node) {
        if self.count == 0 {
            self.first = json::place(entry, "request/url");
        }
        self.count += 1;
    }
}

/// All exchanges, in the order of their starts. Reports what is left out. `cached`: keep those that the browser
/// answered from its cache.
pub(super) fn exchanges(
    text: &str,
    cached: bool,
    diagnostics: &mut Diagnostics<'_>,
) -> Option<Vec<Exchange>> {
    let document = document(text, diagnostics)?;
    let entries = entries(&document, diagnostics)?;
    let has_responses = entries.iter().any(|entry| status_of(entry).is_some());
    if !has_responses && !entries.is_empty() {
        let message =
            "the recording has requests alone: no value of a response is reused".to_owned();
        diagnostics
            .ignored(json::place(&document, "log/entries"), message)
            .hint("record with responses to have keys and tokens taken from them");
    }
    let mut exchanges: Vec<Exchange> = Vec::new();
    let mut unanswered = LeftOut::default();
    let mut others = LeftOut::default();
    let mut from_cache = LeftOut::default();
    for (index, entry) in entries.iter().enumerate() {
        let url = json::text(entry, "request/url");
        let scheme = url.split("://").next().unwrap_or_default().to_ascii_lowercase();
        if !["http", "https", "ws", "wss"].contains(&scheme.as_str()) {
            others.add(entry);
            continue;
        }
        let status = status_of(entry);
        // Of a WebSocket no bytes are counted.
        let is_cached = !is_websocket(entry, url) && is_from_cache(entry, status);
        if is_cached && !cached {
            from_cache.add(entry);
            continue;
        }
        if has_responses && status.is_none() {
            unanswered.add(entry);
            continue;
        }
        let start_ms = match milliseconds(json::text(entry, "startedDateTime")) {
            Some(start_ms) => start_ms,
            // Tools that write requests alone need not know when they were sent.
            None if !has_responses => exchanges.last().map_or(0.0, |last| last.start_ms),
            None => {
                let message =
                    format!("the `startedDateTime` of entry {index} is missing or not a time");
                diagnostics
                    .error("bad-har", json::place(entry, "startedDateTime"), message)
                    .hint("write it like 2026-01-31T09:30:00.123Z");
                return None;
            }
        };
        exchanges.push(exchange(entry, url, status, start_ms, is_cached));
    }
    let has_cached = from_cache.count > 0;
    for (left, what) in [
        (from_cache, "requests that the browser answered from its cache (--cached keeps them)"),
        (unanswered, "requests without a response"),
        (others, "entries that are not HTTP"),
    ] {
        if left.count > 0 {
            diagnostics.ignored(left.first, format!("left out {what}: {}", left.count));
        }
    }
    if exchanges.is_empty() {
        let message = "the recording has no HTTP request with a response".to_owned();
        let error = diagnostics.error("empty", 0..0, message);
        if has_cached {
            error.hint("record with the browser's cache switched off, or add --cached");
        }
        return None;
    }
    exchanges.sort_by(|a, b| a.start_ms.total_cmp(&b.start_ms));
    Some(exchanges)
}

/// The status of a response. 0 is written where none came.
fn status_of(entry: &Node) -> Option<u16> {
    let status = number(entry, "response/status")?;
    (100.0..1000.0).contains(&status).then_some(status as u16)
}

/// Whether the browser took the response from its cache, so that the server got no request. Chromium writes
/// `_fromCache` and a `_transferSize` of 0, WebKit a `_fetchType`; others leave the connection out of a 304.
fn is_from_cache(entry: &Node, status: Option<u16>) -> bool {
    let own = |name: &str| {
        let response = entry.get("response").and_then(|response| response.get(name));
        entry.get(name).or(response)
    };
    let is_set = |node: &Node| match &node.kind {
        NodeKind::Scalar(scalar) if scalar.quoted => !scalar.text.is_empty(),
        NodeKind::Scalar(scalar) => scalar.text == "true",
        NodeKind::Sequence(_) | NodeKind::Mapping(_) => false,
    };
    if own("_fromCache").is_some_and(is_set) {
        return true;
    }
    let fetched = own("_fetchType").and_then(Node::text);
    if fetched.is_some_and(|how| how.contains("Cache")) {
        return true;
    }
    let size = number(entry, "_transferSize").or_else(|| number(entry, "response/_transferSize"));
    match size {
        // A response has at least a head. Where none came, that is an error of the network.
        Some(bytes) => bytes == 0.0 && status.is_some(),
        None => status == Some(304) && text(entry, "connection").is_empty(),
    }
}

/// The recording as JSON.
fn document(text: &str, diagnostics: &mut Diagnostics<'_>) -> Option<Node> {
    if text.len() > TEXT_BYTES_MAX {
        let message = format!("the recording has {} bytes", text.len());
        diagnostics
            .error("too-large", 0..0, message)
            .hint(format!("at most {TEXT_BYTES_MAX} are read; record without bodies"));
        return None;
    }
    match json::parse(text, SKIPPED) {
        Ok(document) => Some(document),
        Err(error) => {
            let message = format!("this is not JSON: {error}");
            diagnostics.error("bad-har", error.at..error.at, message);
            None
        }
    }
}

/// The recorded requests.
fn entries<'d>(document: &'d Node, diagnostics: &mut Diagnostics<'_>) -> Option<&'d [Node]> {
    let Some(entries) = find(document, "log/entries").and_then(Node::sequence) else {
        diagnostics
            .error("bad-har", 0..0, "the recording has no `log.entries`".to_owned())
            .hint("save it in the browser's network tools as HAR");
        return None;
    };
    if entries.len() > ENTRIES_MAX {
        let message = format!("the recording has {} requests", entries.len());
        diagnostics
            .error("too-large", 0..0, message)
            .hint(format!("at most {ENTRIES_MAX} are read"));
        return None;
    }
    Some(entries)
}

fn exchange(
    entry: &Node,
    url: &str,
    status: Option<u16>,
    start_ms: f64,
    from_cache: bool,
) -> Exchange {
    let is_websocket = is_websocket(entry, url);
    // Their servers are those of pages.
    let url = match is_of_websocket(url) {
        true => format!("http{}", &url[2..]),
        false => url.to_owned(),
    };
    let Url { origin, credentials, path } = Url::parse(&url);
    let request = pairs(entry, "request/headers");
    let of_name = |headers: &[(String, String)], wanted: &str| {
        headers.iter().find(|(name, _)| is(name, wanted)).map(|(_, value)| value.clone())
    };
    let cookie = request.iter().filter(|(name, _)| is(name, "cookie")).map(|(_, v)| v.as_str());
    let cookies = cookie.flat_map(cookies_of).collect();
    let headers = request.iter().filter(|(name, value)| {
        let name = name.to_ascii_lowercase();
        let is_dropped = DROPPED.contains(&name.as_str())
            || name.starts_with("sec-")
            || name.starts_with(':')
            || name == "accept" && value == "*/*";
        !is_dropped
    });
    let mut headers: Vec<(String, String)> =
        headers.map(|(name, value)| (name.to_ascii_lowercase(), value.clone())).collect();
    let body = body_of(entry);
    let mime_type = text(entry, "request/postData/mimeType");
    let is_typed = headers.iter().any(|(name, _)| name == "content-type");
    if matches!(body, Body::Text(_)) && !is_typed && !mime_type.is_empty() {
        headers.push(("content-type".to_owned(), mime_type.to_owned()));
    }
    let response = pairs(entry, "response/headers");
    let set = response.iter().filter(|(name, _)| is(name, "set-cookie"));
    let set_cookies = set.flat_map(|(_, value)| value.split('\n'));
    let set_cookies = set_cookies.filter_map(|one| {
        let (name, value) = one.split(';').next()?.split_once('=')?;
        Some((name.trim().to_owned(), value.trim().to_owned()))
    });
    let content_type = text(entry, "response/content/mimeType").to_ascii_lowercase();
    let is_encoded = !text(entry, "response/content/encoding").is_empty();
    let content = text(entry, "response/content/text");
    let content = if is_encoded || content.len() > BODY_BYTES_MAX { "" } else { content };
    let method = method_of(entry);
    let websocket = is_websocket.then(|| WebSocket {
        subprotocols: of_name(&request, "sec-websocket-protocol").map_or_else(Vec::new, |value| {
            let offered = value.split(',').map(|one| one.trim().to_owned());
            offered.filter(|one| !one.is_empty()).collect()
        }),
        messages: messages(entry, start_ms),
    });
    Exchange {
        at: json::place(entry, "request/url"),
        start_ms,
        length_ms: number(entry, "time").unwrap_or(0.0).max(0.0),
        from_cache,
        is_static: !is_websocket && is_static(&content_type, &path),
        is_stream: is_websocket || is_stream(&content_type, &headers, &method, status),
        websocket,
        method,
        origin,
        credentials,
        path,
        headers,
        user_agent: of_name(&request, "user-agent"),
        cookies,
        body,
        status,
        set_cookies: set_cookies.collect(),
        location: of_name(&response, "location").unwrap_or_default(),
        content_type,
        content: content.to_owned(),
    }
}

/// Whether a request opened a WebSocket.
fn is_websocket(entry: &Node, url: &str) -> bool {
    text(entry, "_resourceType") == "websocket" || is_of_websocket(url)
}

/// Whether the scheme of a URL is that of WebSockets.
fn is_of_websocket(url: &str) -> bool {
    let scheme = url.split("://").next().unwrap_or_default();
    scheme.eq_ignore_ascii_case("ws") || scheme.eq_ignore_ascii_case("wss")
}

/// The messages that the browser sent, as Chromium writes them.
fn messages(entry: &Node, start_ms: f64) -> Vec<Message> {
    let sent = items(entry, "_webSocketMessages").iter().filter_map(|message| {
        let data = text(message, "data");
        let content = match number(message, "opcode") {
            Some(1.0) => Content::Text(data.to_owned()),
            Some(2.0) => Content::Binary(from_base64(data).map(|bytes| units::hex(&bytes))),
            // Control frames are the browser's own.
            _ => return None,
        };
        let at_ms = number(message, "time").map_or(start_ms, |seconds| seconds * 1000.0);
        let at = message.place.span.clone();
        (text(message, "type") == "send").then(|| Message {
            at_ms: at_ms.max(start_ms),
            content,
            at,
        })
    });
    sent.collect()
}

/// The bytes that base64 stands for (RFC 4648, section 4).
fn from_base64(text: &str) -> Option<Vec<u8>> {
    let plain = text.trim_end_matches('=').as_bytes();
    let mut out = Vec::with_capacity(plain.len() / 4 * 3 + 2);
    for group in plain.chunks(4) {
        let mut bits = 0_u32;
        for sign in group {
            let value = match sign {
                b'A'..=b'Z' => sign - b'A',
                b'a'..=b'z' => sign - b'a' + 26,
                b'0'..=b'9' => sign - b'0' + 52,
                b'+' => 62,
                b'/' => 63,
                _ => return None,
            };
            bits = bits << 6 | u32::from(value);
        }
        let missing = 4 - group.len();
        if missing == 3 {
            return None;
        }
        let bytes = (bits << (6 * missing)).to_be_bytes();
        out.extend_from_slice(&bytes[1..4 - missing]);
    }
    Some(out)
}

/// Whether a request opened a stream of server-sent events, which only a GET can (HTML standard, section 9.2).
fn is_stream(
    content_type: &str,
    headers: &[(String, String)],
    method: &str,
    status: Option<u16>,
) -> bool {
    const STREAM: &str = "text/event-stream";
    let wanted = || headers.iter().any(|(name, value)| name == "accept" && value == STREAM);
    let is_one = match status {
        Some(status) => status == 200 && content_type.starts_with(STREAM),
        None => wanted(),
    };
    is_one && method == "GET"
}

fn is(name: &str, wanted: &str) -> bool {
    name.eq_ignore_ascii_case(wanted)
}

/// A method that a request line can hold; some browsers leave it empty.
fn method_of(entry: &Node) -> String {
    let method = text(entry, "request/method").to_ascii_uppercase();
    let is_sound = !method.is_empty() && method.bytes().all(|byte| byte.is_ascii_uppercase());
    if is_sound { method } else { "GET".to_owned() }
}

/// The text of a body, or the fields of a form where only those were recorded.
fn body_of(entry: &Node) -> Body {
    let body = text(entry, "request/postData/text");
    if !body.is_empty() {
        return Body::Text(body.to_owned());
    }
    let params: Vec<Param> = items(entry, "request/postData/params").iter().map(param).collect();
    if params.is_empty() {
        return Body::None;
    }
    let header = pairs(entry, "request/headers");
    let header = header.iter().find(|(name, _)| is(name, "content-type"));
    let recorded = text(entry, "request/postData/mimeType");
    let content_type = header.map_or(recorded, |(_, value)| value.as_str());
    let is_multipart = content_type.to_ascii_lowercase().starts_with("multipart/")
        || params.iter().any(|param| param.file_name.is_some());
    Body::Params { is_multipart, params }
}

fn param(node: &Node) -> Param {
    let optional = |key: &str| {
        let value = text(node, key);
        (!value.is_empty()).then(|| value.to_owned())
    };
    Param {
        name: text(node, "name").to_owned(),
        value: node.get("value").and_then(Node::text).map(str::to_owned),
        file_name: optional("fileName"),
        content_type: optional("contentType"),
        at: node.place.span.clone(),
    }
}

fn is_static(content_type: &str, path: &str) -> bool {
    const TYPES: [&str; 7] =
        ["image/", "font/", "audio/", "video/", "text/css", "application/font", "application/wasm"];
    const ENDINGS: [&str; 14] = [
        "css", "js", "mjs", "png", "jpg", "jpeg", "gif", "svg", "webp", "ico", "woff", "woff2",
        "ttf", "map",
    ];
    let file = path.split('?').next().unwrap_or_default();
    let ending = file.rsplit('/').next().and_then(|name| name.rsplit_once('.'));
    TYPES.iter().any(|kind| content_type.starts_with(kind))
        || content_type.contains("javascript")
        || ending.is_some_and(|(_, ending)| ENDINGS.contains(&ending))
}

/// A list of names and values.
fn pairs(entry: &Node, path: &str) -> Vec<(String, String)> {
    let pair = |item: &Node| {
        let name = item.get("name")?.text()?.to_owned();
        Some((name, text(item, "value").to_owned()))
    };
    items(entry, path).iter().filter_map(pair).collect()
}

/// A time as ISO 8601 writes it (`2026-01-31T09:30:00.123+01:00`), in milliseconds since the Unix
/// epoch; one without a zone is UTC's.
fn milliseconds(text: &str) -> Option<f64> {
    let civil = || Some(text.parse::<DateTime>().ok()?.to_zoned(TimeZone::UTC).ok()?.timestamp());
    let at = text.parse::<Timestamp>().ok().or_else(civil)?;
    Some(at.as_nanosecond() as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The test vectors of RFC 4648, section 10.
    #[test]
    fn base64_stands_for_bytes() {
        for (text, expected) in [
            ("", ""),
            ("Zg==", "f"),
            ("Zm8=", "fo"),
            ("Zm9v", "foo"),
            ("Zm9vYg==", "foob"),
            ("Zm9vYmE=", "fooba"),
            ("Zm9vYmFy", "foobar"),
        ] {
            assert_eq!(from_base64(text).as_deref(), Some(expected.as_bytes()), "{text}");
        }
        for bad in ["Z", "Zm9vY", "Zm_v", "Z m9"] {
            assert_eq!(from_base64(bad), None, "{bad}");
        }
    }

    #[test]
    fn times_count_from_the_epoch() {
        assert_eq!(milliseconds("1970-01-01T00:00:00Z"), Some(0.0));
        assert_eq!(milliseconds("2000-03-01T00:00:00.5Z"), Some(951_868_800_500.0));
        assert_eq!(milliseconds("1970-01-01T01:00:00.000+01:00"), Some(0.0));
        assert_eq!(milliseconds("1969-12-31T22:30:00-0130"), Some(0.0));
        for bad in ["", "2000", "x000-03-01T00:00:00Z"] {
            assert_eq!(milliseconds(bad), None, "{bad}");
        }
    }
}
