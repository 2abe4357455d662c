//! Requests of all importers, and the steps that they become.
//!
//! What a step may say is known here and nowhere else: names are tokens, headers stand once, what the body brings with
//! it is not written, secrets are in the environment. Values are templates.

use std::ops::Range;

use scenario::is_token_byte;

use crate::diagnostics::Diagnostics;
use crate::secrets::Secrets;
use crate::template::{Piece, form_value, literal, mapped, pieces, url_text, url_value};
use crate::writer::{Item, Map};

/// Methods that are steps.
const VERBS: [&str; 6] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];
/// Fields that follow from the body and the connection.
const FRAMING: [&str; 2] = ["content-length", "transfer-encoding"];
/// Fields that hold one value; two of others may be joined by a comma (RFC 9110 section 5.3).
const SINGLE: [&str; 12] = [
    "authorization",
    "content-type",
    "date",
    "expect",
    "from",
    "host",
    "if-modified-since",
    "if-unmodified-since",
    "origin",
    "proxy-authorization",
    "referer",
    "user-agent",
];
/// The content type that `form` brings with it.
const FORM: &str = "application/x-www-form-urlencoded";
/// Longest name of a measure that is made of a request.
const NAME_CHARS_MAX: usize = 60;

/// A header of the original.
#[derive(Debug, Clone)]
pub(crate) struct Header {
    pub(crate) name: String,
    pub(crate) value: String,
    pub(crate) at: Range<usize>,
}

/// A field of a form.
#[derive(Debug, Clone)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) value: String,
}

/// Content of a part.
#[derive(Debug, Clone)]
pub(crate) enum Content {
    Value(String),
    /// A file's name.
    File(String),
}

/// A part of a multipart form.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    pub(crate) name: String,
    pub(crate) content: Content,
    /// The name that is sent with a file.
    pub(crate) file_name: Option<String>,
    pub(crate) content_type: Option<String>,
}

/// Body of a request.
#[derive(Debug, Clone, Default)]
pub(crate) enum Body {
    #[default]
    None,
    Text(String),
    /// A value of JSON on one line, as [`crate::writer::flow`] writes it.
    Json(String),
    Form(Vec<Field>),
    Multipart(Vec<Part>),
}

/// The kind of connection that a request is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Purpose {
    /// A response.
    #[default]
    Response,
    /// A stream of server-sent events.
    Events,
    WebSocket,
}

/// A request of the original.
#[derive(Debug, Clone, Default)]
pub(crate) struct Request {
    pub(crate) at: Range<usize>,
    pub(crate) method: String,
    pub(crate) purpose: Purpose,
    /// A path below the target, or an absolute URL; without what can stand in no URL.
    pub(crate) url: String,
    /// Name of the measure, if not the method and path as they are written.
    pub(crate) name: Option<String>,
    pub(crate) headers: Vec<Header>,
    pub(crate) cookies: Vec<Field>,
    pub(crate) body: Body,
    /// Further keys of the step, in their order.
    pub(crate) more: Vec<(String, Item)>,
    /// Lines of a comment above the step.
    pub(crate) comments: Vec<String>,
}

/// The name of a request's measure, if it has to be written: one without a query, and not too long.
pub(crate) fn short_name(method: &str, path: &str) -> Option<String> {
    let written = format!("{method} {path}");
    let short = written.split('?').next().unwrap_or_default();
    let short: String = short.chars().filter(|c| !c.is_control()).take(NAME_CHARS_MAX).collect();
    (short.len() < written.len()).then_some(short)
}

/// Origin, credentials and path of an absolute URL. The fragment is left out, and what can stand in no URL is
/// percent-encoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Url {
    /// Scheme, host and port; the scheme's own port is not written.
    pub(crate) origin: String,
    /// `user:password`, percent-decoded.
    pub(crate) credentials: Option<(String, String)>,
    /// Path and query, with a slash in front.
    pub(crate) path: String,
}

impl Url {
    /// Takes a URL apart.
    pub(crate) fn parse(url: &str) -> Url {
        let url = url.trim().split('#').next().unwrap_or_default();
        let host = scheme_length(url);
        let end = url[host..].find(['/', '?']).map_or(url.len(), |at| host + at);
        let scheme = url[..host].to_ascii_lowercase();
        let authority = &url[host..end];
        let path = &url[end..];
        let (user, address) = match authority.rsplit_once('@') {
            Some((user, address)) => (Some(user), address),
            None => (None, authority),
        };
        let own_port = match scheme.as_str() {
            "http://" | "ws://" => ":80",
            "https://" | "wss://" => ":443",
            _ => "",
        };
        let address = address.to_ascii_lowercase();
        let address = match own_port.is_empty() {
            false => address.strip_suffix(own_port).unwrap_or(&address).to_owned(),
            true => address,
        };
        let credentials = user.filter(|user| !user.is_empty()).map(|user| {
            let (name, password) = user.split_once(':').unwrap_or((user, ""));
            (percent_decoded(name), percent_decoded(password))
        });
        let slash = if path.starts_with('/') { "" } else { "/" };
        let path = url_text(path);
        Url { origin: format!("{scheme}{address}"), credentials, path: format!("{slash}{path}") }
    }
}

/// The bytes of a URL's scheme with what follows it; 0 for a path, or a host alone.
pub(crate) fn scheme_length(url: &str) -> usize {
    let front = url.find(['/', '?']).map_or(url, |end| &url[..end]);
    match front.ends_with(':') && url[front.len()..].starts_with("//") {
        true => front.len() + 2,
        false => 0,
    }
}

/// A URL that is a template: where it leads, and the path there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    /// Scheme, host and port as a template; empty for a path alone.
    pub(crate) origin: String,
    pub(crate) credentials: Option<(String, String)>,
    /// Path and query as a template, with a slash in front.
    pub(crate) path: String,
}

impl Address {
    /// Takes a template apart. `scheme`: the one of an address that says none.
    pub(crate) fn parse(template: &str, scheme: &str) -> Address {
        let mut origin = Vec::new();
        let mut path = String::new();
        let mut is_path = template.trim().starts_with(['/', '?']);
        for piece in pieces(template.trim()) {
            let text = match piece {
                Piece::Expr(expr) => {
                    match is_path {
                        true => path.push_str(&format!("${{{expr}}}")),
                        false => origin.push(Piece::Expr(expr)),
                    }
                    continue;
                }
                Piece::Text(text) => text,
            };
            let fragment = text.find('#');
            let text = &text[..fragment.unwrap_or(text.len())];
            let host = scheme_length(text);
            let end = match is_path {
                true => Some(0),
                false => text[host..].find(['/', '?']).map(|end| host + end),
            };
            let (before, after) = text.split_at(end.unwrap_or(text.len()));
            if !before.is_empty() {
                origin.push(Piece::Text(before.to_owned()));
            }
            path.push_str(&literal(&url_text(after)));
            is_path |= end.is_some();
            // It is never sent.
            if fragment.is_some() {
                break;
            }
        }
        if !path.starts_with('/') {
            path.insert(0, '/');
        }
        let mut credentials = None;
        let origin = match origin.as_slice() {
            [] => String::new(),
            [Piece::Text(text)] => {
                let text = match scheme_length(text) > 0 {
                    true => text.clone(),
                    false => format!("{scheme}://{text}"),
                };
                let url = Url::parse(&text);
                credentials = url.credentials;
                literal(&url.origin)
            }
            parts => {
                let parts = parts.iter().map(|part| match part {
                    Piece::Text(text) => literal(text),
                    Piece::Expr(expr) => format!("${{{expr}}}"),
                });
                parts.collect()
            }
        };
        Address { origin, credentials, path }
    }

    /// The URL of a step, where the target is at `target`.
    pub(crate) fn url(&self, target: &str) -> String {
        if self.origin == target || self.origin.is_empty() {
            return self.path.clone();
        }
        // What begins with an expression is encoded already.
        let origin = match pieces(&self.origin).first() {
            Some(Piece::Expr(_)) => mapped(&self.origin, str::to_owned, |e| format!("raw({e})")),
            Some(Piece::Text(_)) | None => self.origin.clone(),
        };
        format!("{origin}{}", self.path)
    }
}

/// The text that percent-encoding stands for; what is no UTF-8 then is replaced.
pub(crate) fn percent_decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let digits = text.get(at + 1..at + 3).filter(|_| bytes[at] == b'%');
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                at += 3;
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// `auth: { basic: … }` with the password in the environment.
pub(crate) fn basic(
    kind: &str,
    user: &str,
    password: &str,
    at: &Range<usize>,
    secrets: &mut Secrets,
) -> Item {
    let password = match password.contains("${") || password.is_empty() {
        true => password.to_owned(),
        false => secrets.template("password", password, at),
    };
    // Basic authentication has no colon in names (RFC 7617), and a URL none that is not encoded.
    let who = Map::single(at.clone(), "user", Item::Text(user.replace(':', "_")))
        .with("password", Item::Text(password));
    Item::Map(Map::single(at.clone(), kind, Item::Map(who)))
}

impl Request {
    /// The step; reports what it cannot say.
    pub(crate) fn step(mut self, secrets: &mut Secrets, diagnostics: &mut Diagnostics<'_>) -> Map {
        let method = self.checked_method(diagnostics);
        let url = secrets.text(&self.url, &self.at);
        let at = self.at.clone();
        let mut step = if self.purpose == Purpose::Events {
            Map::single(at.clone(), "sse", Item::Text(url))
        } else if self.purpose == Purpose::WebSocket {
            Map::single(at.clone(), "ws", Item::Text(url))
        } else if VERBS.contains(&method.as_str()) {
            Map::single(at.clone(), &method.to_ascii_lowercase(), Item::Text(url))
        } else {
            Map::single(at.clone(), "http", Item::Text(format!("{method} {url}")))
        };
        step.comments = std::mem::take(&mut self.comments);
        if let Some(name) = &self.name {
            step.put("as", Item::Text(literal(name)));
        }
        let headers = self.written_headers(secrets, diagnostics);
        let content_type =
            headers.iter().find(|(name, _)| name == "content-type").map(|(_, value)| value.clone());
        let mut map = Map::new(at.clone());
        for (name, value) in headers {
            let comes_with_body = name == "content-type" && self.brings_type(&value);
            if !comes_with_body {
                map.put(&name, Item::Text(value));
            }
        }
        if !map.entries.is_empty() {
            step.put("headers", Item::Map(map));
        }
        self.put_cookies(&mut step, secrets, diagnostics);
        self.put_body(&mut step, content_type.as_deref(), secrets, diagnostics);
        for (key, value) in self.more {
            step.put(&key, value);
        }
        step
    }

    fn checked_method(&self, diagnostics: &mut Diagnostics<'_>) -> String {
        let method = self.method.trim().to_ascii_uppercase();
        if !method.is_empty() && method.bytes().all(is_token_byte) {
            return method;
        }
        if !method.is_empty() {
            let message = format!("`{method}` is no method; GET is sent");
            diagnostics.ignored(self.at.clone(), message);
        }
        "GET".to_owned()
    }

    /// Whether the body brings this content type with it.
    fn brings_type(&self, content_type: &str) -> bool {
        match &self.body {
            Body::Multipart(_) => true,
            Body::Form(fields) => is_form(content_type) && are_different(fields),
            Body::Json(_) => content_type == "application/json",
            Body::None | Body::Text(_) => false,
        }
    }

    /// Headers that can be sent, in small letters, each name once.
    fn written_headers(
        &mut self,
        secrets: &mut Secrets,
        diagnostics: &mut Diagnostics<'_>,
    ) -> Vec<(String, String)> {
        let mut headers: Vec<(String, String)> = Vec::new();
        for Header { name, value, at } in std::mem::take(&mut self.headers) {
            let name = name.trim().to_ascii_lowercase();
            let value = value.trim();
            if name.is_empty() || !name.bytes().all(is_token_byte) {
                let message = format!("`{name}` cannot be a header's name: it is left out");
                diagnostics.ignored(at, message).hint("use only letters, digits and -");
                continue;
            }
            if value.contains(|c: char| c.is_control() && c != '\t') {
                let message = format!(
                    "the header `{name}` holds line breaks or control characters: it is left out"
                );
                diagnostics.ignored(at, message).hint("write its value without them");
                continue;
            }
            if FRAMING.contains(&name.as_str()) {
                continue;
            }
            if name == "cookie" {
                self.cookies.extend(cookies_of(value));
                continue;
            }
            let value = secrets.header(&name, value, &at);
            match headers.iter_mut().find(|(known, _)| *known == name) {
                None => headers.push((name, value)),
                Some((_, known)) if *known == value => {}
                Some(_) if SINGLE.contains(&name.as_str()) => {
                    let message = format!("the header `{name}` is given twice: the first is sent");
                    diagnostics.ignored(at, message).hint("remove one of them");
                }
                Some((_, known)) => {
                    known.push_str(", ");
                    known.push_str(&value);
                }
            }
        }
        headers
    }

    fn put_cookies(
        &self,
        step: &mut Map,
        secrets: &mut Secrets,
        diagnostics: &mut Diagnostics<'_>,
    ) {
        let mut cookies = Map::new(self.at.clone());
        for Field { name, value } in &self.cookies {
            let is_sound = !name.is_empty() && name.bytes().all(is_token_byte);
            if !is_sound || value.contains(char::is_control) {
                let message = format!("`{name}` cannot be sent as a cookie: it is left out");
                diagnostics.ignored(self.at.clone(), message);
                continue;
            }
            let value = Item::Text(secrets.cookie(name, value, &self.at));
            match cookies.get_mut(name) {
                Some(known) => *known = value,
                None => cookies.put(name, value),
            }
        }
        if !cookies.entries.is_empty() {
            step.put("cookies", Item::Map(cookies));
        }
    }

    fn put_body(
        &self,
        step: &mut Map,
        content_type: Option<&str>,
        secrets: &mut Secrets,
        diagnostics: &mut Diagnostics<'_>,
    ) {
        let at = &self.at;
        match &self.body {
            Body::None => {}
            Body::Text(text) if text.is_empty() => {}
            Body::Text(text) => step.put("body", Item::Text(secrets.text(text, at))),
            Body::Json(flow) => step.put("json", Item::Bare(flow.clone())),
            Body::Form(fields) if fields.is_empty() => {}
            Body::Form(fields) if content_type.is_none_or(is_form) && are_different(fields) => {
                let mut form = Map::new(at.clone());
                for Field { name, value } in fields {
                    form.put(name, Item::Text(secrets.named(name, value, at)));
                }
                step.put("form", Item::Map(form));
            }
            Body::Form(fields) => {
                let mut written = Vec::new();
                for Field { name, value } in fields {
                    let value = secrets.named(name, value, at);
                    written.push(format!("{}={}", url_value(name), form_value(&value)));
                }
                if content_type.is_none() {
                    let form = Item::Text(FORM.to_owned());
                    step.sub("headers").put("content-type", form);
                }
                step.put("body", Item::Text(written.join("&")));
            }
            Body::Multipart(parts) if parts.is_empty() => {
                let message = "a form of several parts has none: no body is sent".to_owned();
                diagnostics.ignored(at.clone(), message);
            }
            Body::Multipart(parts) => {
                let multipart = self.multipart(parts, secrets);
                step.put("multipart", Item::Map(multipart));
            }
        }
    }

    /// The parts by name; several of one name are a list.
    fn multipart(&self, parts: &[Part], secrets: &mut Secrets) -> Map {
        let mut names: Vec<&str> = Vec::new();
        for part in parts {
            if !names.contains(&part.name.as_str()) {
                names.push(&part.name);
            }
        }
        let mut out = Map::new(self.at.clone());
        for name in names {
            let of_name = parts.iter().filter(|part| part.name == name);
            let mut items: Vec<Map> = of_name.map(|part| part.written(&self.at, secrets)).collect();
            match items.len() {
                1 => {
                    let only = items.remove(0);
                    // A value alone is a text.
                    let item = match only.entries.as_slice() {
                        [(key, value)] if key == "value" => value.clone(),
                        _ => Item::Map(only),
                    };
                    out.put(name, item);
                }
                _ => out.put(name, Item::List(items)),
            }
        }
        out
    }
}

impl Part {
    fn written(&self, at: &Range<usize>, secrets: &mut Secrets) -> Map {
        let mut out = Map::new(at.clone());
        match &self.content {
            Content::Value(value) => {
                out.put("value", Item::Text(secrets.named(&self.name, value, at)));
            }
            Content::File(file) => out.put("file", Item::Text(literal(file))),
        }
        let plain = |text: &String| literal(&text.replace(char::is_control, ""));
        if let Some(name) = &self.file_name {
            out.put("name", Item::Text(plain(name)));
        }
        if let Some(content_type) = &self.content_type {
            out.put("type", Item::Text(plain(content_type)));
        }
        out
    }
}

fn is_form(content_type: &str) -> bool {
    content_type.to_ascii_lowercase().starts_with(FORM)
}

fn are_different(fields: &[Field]) -> bool {
    let mut names: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
    names.sort_unstable();
    names.windows(2).all(|two| two[0] != two[1])
}

/// Cookies of a header's value.
pub(crate) fn cookies_of(header: &str) -> impl Iterator<Item = Field> {
    header.split(';').filter_map(|one| {
        let (name, value) = one.split_once('=')?;
        Some(Field { name: name.trim().to_owned(), value: value.trim().to_owned() })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Leniency;
    use crate::writer::Writer;

    fn written(request: Request) -> (String, Vec<String>) {
        let mut diagnostics = Diagnostics::new("", Leniency::Strict);
        let mut secrets = Secrets::default();
        let step = request.step(&mut secrets, &mut diagnostics);
        let mut writer = Writer::default();
        writer.map(&step, 0);
        let said = diagnostics.collector.finish();
        (writer.text, said.into_iter().map(|one| one.message).collect())
    }

    fn header(name: &str, value: &str) -> Header {
        Header { name: name.to_owned(), value: value.to_owned(), at: 0..0 }
    }

    fn field(name: &str, value: &str) -> Field {
        Field { name: name.to_owned(), value: value.to_owned() }
    }

    #[test]
    fn headers_stand_once_and_are_sound() {
        let headers = [
            ("Accept", "a"),
            ("accept", "b"),
            ("Content-Type", "text/plain"),
            ("content-type", "text/html"),
            ("bad header", "x"),
            ("X-NL", "a\r\nInjected: 1"),
            ("Content-Length", "7"),
            ("X-Empty", ""),
            ("Cookie", "a=1; b=2"),
        ];
        let headers = headers.map(|(name, value)| header(name, value)).to_vec();
        let request = Request {
            method: "get".to_owned(),
            url: "/a".to_owned(),
            headers,
            ..Request::default()
        };
        let (text, said) = written(request);
        assert_eq!(
            text,
            "get: /a\nheaders:\n  accept: a, b\n  content-type: text/plain\n  x-empty: \"\"\n\
             cookies:\n  a: \"1\"\n  b: \"2\"\n"
        );
        assert_eq!(said.len(), 3, "{said:?}");
    }

    #[test]
    fn forms_are_written_as_they_can_be() {
        let form = |fields: &[Field], headers: &[Header]| {
            let request = Request {
                method: "POST".to_owned(),
                url: "/a".to_owned(),
                headers: headers.to_vec(),
                body: Body::Form(fields.to_vec()),
                ..Request::default()
            };
            written(request).0
        };
        let typed = [header("content-type", "application/x-www-form-urlencoded; charset=UTF-8")];
        assert_eq!(
            form(&[field("a", "x y"), field("password", "p")], &typed),
            "post: /a\nform:\n  a: x y\n  password: \"${env('PASSWORD')}\"\n"
        );
        assert_eq!(
            form(&[field("a", "x y"), field("a", "${b}")], &[]),
            "post: /a\nheaders:\n  content-type: application/x-www-form-urlencoded\n\
             body: \"a=x%20y&a=${url(b)}\"\n"
        );
    }

    #[test]
    fn parts_of_one_name_are_a_list() {
        let part = |name: &str, content: Content, file_name: Option<&str>| Part {
            name: name.to_owned(),
            content,
            file_name: file_name.map(str::to_owned),
            content_type: None,
        };
        let value = |text: &str| Content::Value(text.to_owned());
        let request = Request {
            method: "POST".to_owned(),
            url: "/a".to_owned(),
            headers: vec![header("content-type", "multipart/form-data; boundary=x")],
            body: Body::Multipart(vec![
                part("t", value("v"), None),
                part("f", Content::File("a.png".to_owned()), None),
                part("f", value("(b)"), Some("b.png")),
            ]),
            ..Request::default()
        };
        assert_eq!(
            written(request).0,
            "post: /a\nmultipart:\n  t: v\n  f:\n    - file: a.png\n    - value: \"(b)\"\n      name: b.png\n"
        );
    }

    #[test]
    fn urls_are_taken_apart() {
        for (url, origin, path) in [
            ("https://H:443", "https://h", "/"),
            ("http://h:8080/a?b#c", "http://h:8080", "/a?b"),
            ("https://u:p%40@h/ä b", "https://h", "/%C3%A4%20b"),
            ("http://h?x", "http://h", "/?x"),
            ("http://[::1]:80/", "http://[::1]", "/"),
            ("http://h/?u=http://x/", "http://h", "/?u=http://x/"),
        ] {
            let found = Url::parse(url);
            assert_eq!((found.origin.as_str(), found.path.as_str()), (origin, path), "{url}");
        }
        let address = Address::parse("${env('BASE')}:80/a b?x=${y}#c", "http");
        assert_eq!(address.origin, "${env('BASE')}:80");
        assert_eq!(address.path, "/a%20b?x=${y}");
        assert_eq!(address.url("http://x"), "${raw(env('BASE'))}:80/a%20b?x=${y}");
        assert_eq!(Address::parse("H/x", "https").url("https://h"), "/x");
        assert_eq!(Address::parse("/x", "https").url("https://h"), "/x");
        assert_eq!(Address::parse("/?u=http://x", "https").path, "/?u=http://x");
        let credentials = Url::parse("https://u:p%40@h").credentials;
        assert_eq!(credentials, Some(("u".to_owned(), "p@".to_owned())));
    }
}
