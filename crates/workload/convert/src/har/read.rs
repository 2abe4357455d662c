//! A recording's entries, as far as they matter.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use scenario::is_token_byte;
use serde_json::Value;

use super::TEXT_BYTES_MAX;
use crate::diagnostics::Diagnostics;

/// Most entries that are read.
const ENTRIES_MAX: usize = 5000;
/// Largest response that is looked into for values, in bytes.
const BODY_BYTES_MAX: usize = 4 << 20;

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
    "upgrade-insecure-requests",
    "user-agent",
];

/// A request and what came back.
#[derive(Debug, Clone)]
pub(super) struct Exchange {
    /// Start of the exchange, since the Unix epoch.
    pub(super) start_ms: f64,
    pub(super) length_ms: f64,
    pub(super) method: String,
    /// Scheme, host and port.
    pub(super) origin: String,
    /// Path and query.
    pub(super) path: String,
    /// Headers that a step needs.
    pub(super) headers: Vec<(String, String)>,
    pub(super) user_agent: Option<String>,
    pub(super) cookies: Vec<(String, String)>,
    pub(super) body: Option<String>,
    pub(super) status: u16,
    pub(super) is_static: bool,
    /// No server answered it.
    pub(super) from_cache: bool,
    /// `Set-Cookie`: names and values.
    pub(super) set_cookies: Vec<(String, String)>,
    pub(super) content_type: String,
    pub(super) content: String,
}

/// Entries that are left out.
#[derive(Debug, Default)]
struct LeftOut {
    unanswered: usize,
    others: usize,
    cached: usize,
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
    let mut exchanges = Vec::new();
    let mut left = LeftOut::default();
    for (index, entry) in entries.iter().enumerate() {
        let url = word(entry, "/request/url");
        let scheme = url.split("://").next().unwrap_or_default();
        if !["http", "https"].contains(&scheme) {
            left.others += 1;
            continue;
        }
        let status = entry.pointer("/response/status").and_then(Value::as_u64);
        let status = status.and_then(|status| u16::try_from(status).ok());
        let from_cache = is_from_cache(entry, status);
        if from_cache && !cached {
            left.cached += 1;
            continue;
        }
        let Some(status) = status.filter(|status| (100..1000).contains(status)) else {
            left.unanswered += 1;
            continue;
        };
        let Some(start_ms) = milliseconds(word(entry, "/startedDateTime")) else {
            let message =
                format!("the `startedDateTime` of entry {index} is missing or not a time");
            diagnostics
                .error("bad-har", 0..0, message)
                .hint("write it like 2026-01-31T09:30:00.123Z");
            return None;
        };
        exchanges.push(exchange(entry, url, status, start_ms, from_cache));
    }
    report(&left, exchanges.is_empty(), diagnostics);
    exchanges.sort_by(|a, b| a.start_ms.total_cmp(&b.start_ms));
    (!exchanges.is_empty()).then_some(exchanges)
}

fn report(left: &LeftOut, nothing: bool, diagnostics: &mut Diagnostics<'_>) {
    for (count, what) in [
        (left.cached, "requests that the browser answered from its cache (--cached keeps them)"),
        (left.unanswered, "requests without a response"),
        (left.others, "entries that are not HTTP"),
    ] {
        if count > 0 {
            diagnostics.ignored(0..0, format!("left out {what}: {count}"));
        }
    }
    if nothing {
        let message = "the recording has no HTTP request with a response".to_owned();
        let error = diagnostics.error("empty", 0..0, message);
        if left.cached > 0 {
            error.hint("record with the browser's cache switched off, or add --cached");
        }
    }
}

/// Whether the browser took the response from its cache, so that the server got no request. Chromium writes
/// `_fromCache` and a `_transferSize` of 0, WebKit a `_fetchType`; others leave the connection out of a 304.
fn is_from_cache(entry: &Value, status: Option<u16>) -> bool {
    let own = |name: &str| {
        let response = entry.get("response").and_then(|response| response.get(name));
        entry.get(name).or(response)
    };
    let is_set = |value: &Value| match value {
        Value::Bool(set) => *set,
        Value::String(text) => !text.is_empty(),
        _ => false,
    };
    if own("_fromCache").is_some_and(is_set) {
        return true;
    }
    let fetched = own("_fetchType").and_then(Value::as_str);
    if fetched.is_some_and(|how| how.contains("Cache")) {
        return true;
    }
    match own("_transferSize").and_then(Value::as_f64) {
        // A response has at least a head. Where none came, that is an error of the network.
        Some(bytes) => bytes == 0.0 && status.is_some_and(|status| status >= 100),
        None => status == Some(304) && word(entry, "/connection").is_empty(),
    }
}

/// The recording as JSON.
fn document(text: &str, diagnostics: &mut Diagnostics<'_>) -> Option<Value> {
    if text.len() > TEXT_BYTES_MAX {
        let message = format!("the recording has {} bytes", text.len());
        diagnostics
            .error("too-large", 0..0, message)
            .hint(format!("at most {TEXT_BYTES_MAX} are read; record without bodies"));
        return None;
    }
    // Editors and some browsers put a byte order mark before it.
    let plain = text.strip_prefix('\u{feff}').unwrap_or(text);
    match serde_json::from_str(plain) {
        Ok(document) => Some(document),
        Err(error) => {
            let at = offset(text, error.line(), error.column());
            let message = format!("this is not JSON: {error}");
            diagnostics.error("bad-har", at..at, message);
            None
        }
    }
}

/// The recorded requests.
fn entries<'d>(document: &'d Value, diagnostics: &mut Diagnostics<'_>) -> Option<&'d [Value]> {
    let Some(entries) = document.pointer("/log/entries").and_then(Value::as_array) else {
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

fn exchange(entry: &Value, url: &str, status: u16, start_ms: f64, from_cache: bool) -> Exchange {
    let (origin, path) = split(url);
    let request = pairs(entry, "/request/headers");
    let user_agent =
        request.iter().find(|(name, _)| is(name, "user-agent")).map(|(_, v)| v.clone());
    let cookie = request.iter().filter(|(name, _)| is(name, "cookie")).map(|(_, v)| v.as_str());
    let cookies = cookie.flat_map(cookies_of).collect();
    let headers = request.iter().filter(|(name, value)| {
        let name = name.to_ascii_lowercase();
        let dropped = DROPPED.contains(&name.as_str())
            || name.starts_with("sec-")
            || name.starts_with(':')
            || name == "accept" && value == "*/*";
        let sound = value.chars().all(|c| !c.is_control() || c == '\t');
        !dropped && sound && !name.is_empty()
    });
    let headers = headers.map(|(name, value)| (name.to_ascii_lowercase(), value.clone()));
    let response = pairs(entry, "/response/headers");
    let set = response.iter().filter(|(name, _)| is(name, "set-cookie"));
    let set_cookies = set.flat_map(|(_, value)| value.split('\n'));
    let set_cookies = set_cookies.filter_map(|one| {
        let (name, value) = one.split(';').next()?.split_once('=')?;
        Some((name.trim().to_owned(), value.trim().to_owned()))
    });
    let content_type = word(entry, "/response/content/mimeType").to_ascii_lowercase();
    let encoded = !word(entry, "/response/content/encoding").is_empty();
    let content = word(entry, "/response/content/text");
    let content = if encoded || content.len() > BODY_BYTES_MAX { "" } else { content };
    let body = entry.pointer("/request/postData/text").and_then(Value::as_str);
    let body = body.map(str::to_owned).or_else(|| form(entry));
    let length_ms = entry.pointer("/time").and_then(Value::as_f64);
    Exchange {
        start_ms,
        length_ms: length_ms.filter(|ms| ms.is_finite()).unwrap_or(0.0).max(0.0),
        method: method_of(entry),
        from_cache,
        is_static: is_static(&content_type, &path),
        origin,
        path,
        headers: headers.collect(),
        user_agent,
        cookies,
        body: body.filter(|body| !body.is_empty()),
        status,
        set_cookies: set_cookies.collect(),
        content_type,
        content: content.to_owned(),
    }
}

fn is(name: &str, wanted: &str) -> bool {
    name.eq_ignore_ascii_case(wanted)
}

/// A method that a request line can hold; some browsers leave it empty.
fn method_of(entry: &Value) -> String {
    let method = word(entry, "/request/method").to_ascii_uppercase();
    let sound = !method.is_empty() && method.bytes().all(|byte| byte.is_ascii_uppercase());
    if sound { method } else { "GET".to_owned() }
}

/// The fields of a form, where only those were recorded.
fn form(entry: &Value) -> Option<String> {
    let params = pairs(entry, "/request/postData/params");
    if params.is_empty() {
        return None;
    }
    let encode = |text: &str| {
        let mut out = Vec::new();
        plan::expr::Value::text(text).write_escaped(plan::expr::Escape::Url, &mut out);
        String::from_utf8_lossy(&out).into_owned()
    };
    let fields = params.iter().map(|(name, value)| format!("{}={}", encode(name), encode(value)));
    Some(fields.collect::<Vec<_>>().join("&"))
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

fn word<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// A list of names and values.
fn pairs(entry: &Value, pointer: &str) -> Vec<(String, String)> {
    let list = entry.pointer(pointer).and_then(Value::as_array);
    let pair = |item: &Value| {
        let name = item.get("name")?.as_str()?.to_owned();
        Some((name, item.get("value")?.as_str()?.to_owned()))
    };
    list.into_iter().flatten().filter_map(pair).collect()
}

fn cookies_of(header: &str) -> impl Iterator<Item = (String, String)> {
    header.split(';').filter_map(|one| {
        let (name, value) = one.split_once('=')?;
        let name = name.trim();
        let value = value.trim();
        let is_sound = !name.is_empty() && name.bytes().all(is_token_byte);
        let is_sound = is_sound && !value.contains(char::is_control);
        is_sound.then(|| (name.to_owned(), value.to_owned()))
    })
}

/// Origin and path of a URL; what cannot stand in a request line is percent-encoded.
fn split(url: &str) -> (String, String) {
    let url = url.split('#').next().unwrap_or_default();
    let host = url.find("://").map_or(0, |at| at + 3);
    let end = url[host..].find(['/', '?']).map_or(url.len(), |at| host + at);
    let (origin, path) = url.split_at(end);
    let slash = if path.starts_with('/') { "" } else { "/" };
    let mut sound = Vec::new();
    let value = plan::expr::Value::text(path);
    value.write_escaped(plan::expr::Escape::UrlRaw, &mut sound);
    (origin.to_owned(), format!("{slash}{}", String::from_utf8_lossy(&sound)))
}

/// A time as ISO 8601 writes it (`2026-01-31T09:30:00.123+01:00`), in milliseconds since the Unix
/// epoch; one without a zone is UTC's.
fn milliseconds(text: &str) -> Option<f64> {
    let civil = || Some(text.parse::<DateTime>().ok()?.to_zoned(TimeZone::UTC).ok()?.timestamp());
    let at = text.parse::<Timestamp>().ok().or_else(civil)?;
    Some(at.as_nanosecond() as f64 / 1e6)
}

/// The byte of a line and column, both from 1.
fn offset(text: &str, line: usize, column: usize) -> usize {
    let lines = text.split_inclusive('\n').take(line.saturating_sub(1));
    let start: usize = lines.map(str::len).sum();
    let mut at = (start + column.saturating_sub(1)).min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

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
