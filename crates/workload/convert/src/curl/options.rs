//! Options of curl, and the request that they make.

use std::ops::Range;

use super::Importer;
use crate::diagnostics::Diagnostics;
use crate::request::{Address, Body, Content, Field, Header, Part, Request, basic, cookies_of};
use crate::secrets::Secrets;
use crate::template::{Piece, form_value, literal, pieces, quoted};
use crate::writer::{Item, Map};

/// Redirects that curl follows with `--location`, as far as a scenario can.
const REDIRECTS: &str = "50";
/// Options that say what is printed or stored, or how curl itself runs, and have no value.
const SILENT: &[&str] = &[
    "--silent",
    "--show-error",
    "--verbose",
    "--include",
    "--show-headers",
    "--fail",
    "--fail-with-body",
    "--fail-early",
    "--progress-bar",
    "--no-progress-meter",
    "--no-buffer",
    "--remote-name",
    "--remote-name-all",
    "--remote-header-name",
    "--create-dirs",
    "--path-as-is",
    "--parallel",
    "--no-keepalive",
    "--tcp-nodelay",
    "--ipv4",
    "--ipv6",
    "--http1.1",
    "--basic",
    "--disable",
    "--compressed-ssh",
    "--post301",
    "--post302",
    "--post303",
    "--no-sessionid",
];
/// The same with a value.
const SILENT_VALUES: &[&str] = &[
    "--output",
    "--output-dir",
    "--write-out",
    "--dump-header",
    "--stderr",
    "--trace",
    "--trace-ascii",
    "--keepalive-time",
    "--max-filesize",
    "--parallel-max",
    "--speed-limit",
    "--speed-time",
];
/// Options with a value that have no counterpart at a step.
const LOST_VALUES: &[&str] = &[
    "--proxy",
    "--proxy-user",
    "--proxy-header",
    "--socks5",
    "--socks5-hostname",
    "--cacert",
    "--capath",
    "--cert",
    "--cert-type",
    "--key",
    "--key-type",
    "--pass",
    "--ciphers",
    "--resolve",
    "--connect-to",
    "--interface",
    "--dns-servers",
    "--unix-socket",
    "--limit-rate",
    "--config",
    "--aws-sigv4",
    "--retry",
    "--retry-delay",
    "--retry-max-time",
    "--max-redirs",
    "--time-cond",
    "--continue-at",
    "--noproxy",
    "--proto",
    "--tls-max",
    "--alt-svc",
    "--hsts",
];
/// Long names of short options.
const SHORT: &[(char, &str)] = &[
    ('X', "--request"),
    ('H', "--header"),
    ('d', "--data"),
    ('F', "--form"),
    ('G', "--get"),
    ('I', "--head"),
    ('u', "--user"),
    ('b', "--cookie"),
    ('c', "--cookie-jar"),
    ('A', "--user-agent"),
    ('e', "--referer"),
    ('L', "--location"),
    ('k', "--insecure"),
    ('m', "--max-time"),
    ('T', "--upload-file"),
    ('r', "--range"),
    ('g', "--globoff"),
    ('s', "--silent"),
    ('S', "--show-error"),
    ('v', "--verbose"),
    ('i', "--include"),
    ('f', "--fail"),
    ('N', "--no-buffer"),
    ('O', "--remote-name"),
    ('J', "--remote-header-name"),
    ('#', "--progress-bar"),
    ('Z', "--parallel"),
    ('q', "--disable"),
    ('4', "--ipv4"),
    ('6', "--ipv6"),
    ('o', "--output"),
    ('w', "--write-out"),
    ('D', "--dump-header"),
    ('x', "--proxy"),
    ('U', "--proxy-user"),
    ('E', "--cert"),
    ('K', "--config"),
    ('C', "--continue-at"),
    ('z', "--time-cond"),
    ('y', "--speed-time"),
    ('Y', "--speed-limit"),
    ('a', "--append"),
    ('j', "--junk-session-cookies"),
    ('n', "--netrc"),
];
/// Options with a value that are read below.
const VALUES: &[&str] = &[
    "--request",
    "--header",
    "--data",
    "--data-ascii",
    "--data-raw",
    "--data-binary",
    "--data-urlencode",
    "--json",
    "--form",
    "--form-string",
    "--user",
    "--oauth2-bearer",
    "--cookie",
    "--cookie-jar",
    "--user-agent",
    "--referer",
    "--max-time",
    "--connect-timeout",
    "--upload-file",
    "--range",
    "--url",
    "--url-query",
];

/// Credentials of a request.
#[derive(Debug)]
enum Auth {
    User(String),
    Bearer(String),
}

/// A transfer of curl: what its options say. Texts are templates.
#[derive(Debug)]
pub(super) struct Transfer {
    at: Range<usize>,
    pub(super) urls: Vec<(String, Range<usize>)>,
    method: Option<String>,
    headers: Vec<Header>,
    cookies: Vec<Field>,
    data: Vec<String>,
    query: Vec<String>,
    parts: Vec<Part>,
    upload: Option<String>,
    auth: Option<Auth>,
    is_digest: bool,
    is_json: bool,
    is_get: bool,
    is_head: bool,
    follows: bool,
    is_compressed: bool,
    timeout: Option<String>,
    pub(super) has_jar: bool,
    pub(super) is_insecure: bool,
    pub(super) globs: bool,
}

impl Transfer {
    pub(super) fn new(at: Range<usize>) -> Transfer {
        Transfer {
            at,
            urls: Vec::new(),
            method: None,
            headers: Vec::new(),
            cookies: Vec::new(),
            data: Vec::new(),
            query: Vec::new(),
            parts: Vec::new(),
            upload: None,
            auth: None,
            is_digest: false,
            is_json: false,
            is_get: false,
            is_head: false,
            follows: false,
            is_compressed: false,
            timeout: None,
            has_jar: false,
            is_insecure: false,
            globs: true,
        }
    }

    fn header(&mut self, name: &str, value: &str, at: &Range<usize>) {
        let header = Header { name: name.to_owned(), value: value.to_owned(), at: at.clone() };
        self.headers.push(header);
    }

    /// The step that sends it.
    pub(super) fn step(
        &self,
        address: &Address,
        target: &str,
        secrets: &mut Secrets,
        diagnostics: &mut Diagnostics<'_>,
    ) -> Map {
        let mut address = address.clone();
        let mut query = self.query.clone();
        if self.is_get {
            query.extend(self.data.iter().cloned());
        }
        if !query.is_empty() {
            let sign = if address.path.contains('?') { '&' } else { '?' };
            let query = Address::parse(&format!("/?{}", query.join("&")), "http").path;
            address.path.push(sign);
            address.path.push_str(&query["/?".len()..]);
        }
        let mut headers = self.headers.clone();
        let has = |headers: &[Header], name: &str| {
            headers.iter().any(|header| header.name.eq_ignore_ascii_case(name))
        };
        let mut add = |name: &str, value: &str| {
            if !has(&headers, name) {
                let name = name.to_owned();
                headers.push(Header { name, value: value.to_owned(), at: self.at.clone() });
            }
        };
        let has_data = !self.data.is_empty() && !self.is_get;
        if self.is_json {
            add("content-type", "application/json");
            add("accept", "application/json");
        } else if has_data {
            add("content-type", "application/x-www-form-urlencoded");
        }
        if self.is_compressed {
            add("accept-encoding", "gzip, deflate, br, zstd");
        }
        let body = match (&self.upload, self.parts.is_empty()) {
            (Some(text), _) => Body::Text(text.clone()),
            (None, false) => Body::Multipart(self.parts.clone()),
            (None, true) if has_data => {
                Body::Text(self.data.join(if self.is_json { "" } else { "&" }))
            }
            (None, true) => Body::None,
        };
        let method = match (&self.method, &body) {
            (Some(method), _) => method.clone(),
            (None, _) if self.is_head => "HEAD".to_owned(),
            (None, _) if self.upload.is_some() => "PUT".to_owned(),
            (None, Body::None) if !has_data => "GET".to_owned(),
            (None, _) => "POST".to_owned(),
        };
        let mut more = Vec::new();
        let at = &self.at;
        let has_authorization = has(&headers, "authorization");
        match (&self.auth, &address.credentials) {
            _ if has_authorization => {}
            (Some(Auth::Bearer(token)), _) => {
                let token = match token.contains("${") {
                    true => token.clone(),
                    false => secrets.template("token", token, at),
                };
                let auth = Map::single(at.clone(), "bearer", Item::Text(token));
                more.push(("auth".to_owned(), Item::Map(auth)));
            }
            (Some(Auth::User(user)), _) => {
                let kind = if self.is_digest { "digest" } else { "basic" };
                let (user, password) = user.split_once(':').unwrap_or((user.as_str(), ""));
                more.push(("auth".to_owned(), basic(kind, user, password, at, secrets)));
            }
            (None, Some((user, password))) => {
                let auth = basic("basic", &literal(user), &literal(password), at, secrets);
                more.push(("auth".to_owned(), auth));
            }
            (None, None) => {}
        }
        if self.follows {
            more.push(("redirects".to_owned(), Item::Bare(REDIRECTS.to_owned())));
        }
        if let Some(timeout) = &self.timeout {
            more.push(("timeout".to_owned(), Item::Bare(timeout.clone())));
        }
        let request = Request {
            at: self.at.clone(),
            method,
            url: address.url(target),
            headers,
            cookies: self.cookies.clone(),
            body,
            more,
            ..Request::default()
        };
        request.step(secrets, diagnostics)
    }
}

impl Importer<'_> {
    /// Reads the options of a transfer.
    pub(super) fn read_options(
        &mut self,
        arguments: &[(String, Range<usize>)],
        transfer: &mut Transfer,
    ) {
        let mut arguments = arguments.iter();
        let mut is_option = true;
        while let Some((argument, at)) = arguments.next() {
            if !is_option || !argument.starts_with('-') || argument == "-" {
                transfer.urls.push((argument.clone(), at.clone()));
                continue;
            }
            if argument == "--" {
                is_option = false;
                continue;
            }
            if argument.starts_with("--") {
                let (name, inline) = match argument.split_once('=') {
                    Some((name, value)) => (name, Some(value.to_owned())),
                    None => (argument.as_str(), None),
                };
                let value = match takes_value(name) {
                    true => inline.or_else(|| arguments.next().map(|(text, _)| text.clone())),
                    false => None,
                };
                self.option(name, value, at, transfer);
                continue;
            }
            for (index, letter) in argument.char_indices().skip(1) {
                let long = SHORT.iter().find(|(short, _)| *short == letter);
                let Some((_, name)) = long else {
                    let message = format!("`-{letter}` is not carried over");
                    self.diagnostics.lost(at.clone(), message);
                    continue;
                };
                if !takes_value(name) {
                    self.option(name, None, at, transfer);
                    continue;
                }
                let rest = &argument[index + letter.len_utf8()..];
                let value = match rest.is_empty() {
                    true => arguments.next().map(|(text, _)| text.clone()),
                    false => Some(rest.to_owned()),
                };
                self.option(name, value, at, transfer);
                break;
            }
        }
    }

    fn option(
        &mut self,
        name: &str,
        value: Option<String>,
        at: &Range<usize>,
        transfer: &mut Transfer,
    ) {
        if SILENT.contains(&name) || SILENT_VALUES.contains(&name) {
            return;
        }
        if takes_value(name) && value.is_none() {
            let message = format!("`{name}` needs a value");
            self.diagnostics.error("missing-value", at.clone(), message);
            return;
        }
        let value = value.unwrap_or_default();
        match name {
            "--request" => transfer.method = Some(value),
            "--header" => self.header(&value, at, transfer),
            "--data" | "--data-ascii" => {
                let text = match value.strip_prefix('@') {
                    Some(file) => self.file(file, at),
                    None => value,
                };
                transfer.data.push(text);
            }
            "--data-raw" => transfer.data.push(value),
            "--data-binary" | "--json" => {
                transfer.is_json |= name == "--json";
                let text = match value.strip_prefix('@') {
                    Some(file) => self.file(file, at),
                    None => value,
                };
                transfer.data.push(text);
            }
            "--data-urlencode" => {
                let text = self.encoded(&value, at);
                transfer.data.push(text);
            }
            "--url-query" => {
                let text = match value.strip_prefix('+') {
                    Some(plain) => plain.to_owned(),
                    None => self.encoded(&value, at),
                };
                transfer.query.push(text);
            }
            "--form" => self.form(&value, at, transfer),
            "--form-string" => {
                let (name, value) = value.split_once('=').unwrap_or((value.as_str(), ""));
                transfer.parts.push(part(name, Content::Value(value.to_owned())));
            }
            "--upload-file" => {
                let text = self.file(&value, at);
                transfer.upload = Some(text);
            }
            "--get" => transfer.is_get = true,
            "--head" => transfer.is_head = true,
            "--user" => transfer.auth = Some(Auth::User(value)),
            "--oauth2-bearer" => transfer.auth = Some(Auth::Bearer(value)),
            "--digest" | "--anyauth" => transfer.is_digest = true,
            "--cookie" if value.contains('=') => transfer.cookies.extend(cookies_of(&value)),
            // A file of cookies: those that responses set are kept all the same.
            "--cookie" | "--cookie-jar" => transfer.has_jar = true,
            "--user-agent" => transfer.header("user-agent", &value, at),
            "--referer" => {
                let value = value.strip_suffix(";auto").unwrap_or(&value);
                transfer.header("referer", value, at);
            }
            "--range" => transfer.header("range", &format!("bytes={value}"), at),
            "--location" | "--location-trusted" => transfer.follows = true,
            "--compressed" => transfer.is_compressed = true,
            "--insecure" => transfer.is_insecure = true,
            "--globoff" => transfer.globs = false,
            "--max-time" => self.timeout(&value, at, transfer),
            "--connect-timeout" => {
                let message = "the limit for connecting is that of the whole run".to_owned();
                let hint = "write `options: { connect_timeout: … }`";
                self.diagnostics.ignored(at.clone(), message).hint(hint);
            }
            "--url" => transfer.urls.push((value, at.clone())),
            "--http2" | "--http2-prior-knowledge" | "--http1.0" | "--http3" | "--http3-only" => {
                let message = format!("`{name}`: the version of HTTP is that of the whole run");
                let hint = "write `options: { http: 2 }`";
                self.diagnostics.ignored(at.clone(), message).hint(hint);
            }
            _ => {
                let message = format!("`{name}` is not carried over");
                self.diagnostics.lost(at.clone(), message);
            }
        }
    }

    fn timeout(&mut self, value: &str, at: &Range<usize>, transfer: &mut Transfer) {
        let seconds = value.parse::<f64>().ok().filter(|s| (0.001..=86_400.0).contains(s));
        match seconds {
            Some(seconds) => transfer.timeout = Some(format!("{seconds}s")),
            None => {
                let message = format!("`{value}` is not a number of seconds");
                self.diagnostics.error("bad-number", at.clone(), message);
            }
        }
    }

    /// `Name: value`; `Name;` is one without a value, and `Name:` takes curl's own out.
    fn header(&mut self, line: &str, at: &Range<usize>, transfer: &mut Transfer) {
        if let Some(file) = line.strip_prefix('@') {
            let message = format!("the headers in `{file}` are not read");
            self.diagnostics.lost(at.clone(), message);
            return;
        }
        match line.split_once(':') {
            Some((name, value)) if value.trim().is_empty() => {
                let message =
                    format!("`{name}:` takes a header of curl out, which is not sent anyway");
                self.diagnostics.ignored(at.clone(), message);
            }
            Some((name, value)) => transfer.header(name, value, at),
            None => match line.strip_suffix(';') {
                Some(name) => transfer.header(name, "", at),
                None => {
                    let message = format!("`{line}` is not a header");
                    self.diagnostics.ignored(at.clone(), message).hint("write `Name: value`");
                }
            },
        }
    }

    /// The text of a file, which the scenario reads.
    fn file(&mut self, name: &str, at: &Range<usize>) -> String {
        let is_given = !name.contains("${") && name != "-";
        let read = match is_given {
            true => (self.files)(name).map(|_| ()),
            false => Err("its name is not in the command".to_owned()),
        };
        match read {
            Ok(()) => format!("${{file({})}}", quoted(name)),
            Err(reason) => {
                let message = format!("the file `{name}` cannot be read: {reason}");
                self.diagnostics.lost(at.clone(), message);
                String::new()
            }
        }
    }

    /// `content`, `=content`, `name=content`, `@file` or `name@file`, percent-encoded.
    fn encoded(&mut self, value: &str, at: &Range<usize>) -> String {
        // A sign inside of `${…}` is none of curl's.
        let first = match pieces(value).first() {
            Some(Piece::Text(text)) => text.clone(),
            _ => String::new(),
        };
        let sign = first.find(['=', '@']);
        match sign.map(|at| (first[..at].to_owned(), first.as_bytes()[at])) {
            None => form_value(value),
            Some((name, b'=')) => {
                let content = form_value(&value[value.find('=').map_or(0, |at| at + 1)..]);
                if name.is_empty() { content } else { format!("{name}={content}") }
            }
            Some((name, _)) => {
                let file = value[value.find('@').map_or(0, |at| at + 1)..].to_owned();
                let content = form_value(&self.file(&file, at));
                if name.is_empty() { content } else { format!("{name}={content}") }
            }
        }
    }

    /// `name=value`, `name=@file;type=image/png;filename=a.png` or `name=<file`.
    fn form(&mut self, text: &str, at: &Range<usize>, transfer: &mut Transfer) {
        let Some((name, value)) = text.split_once('=') else {
            let message = format!("`{text}` is not a part of a form");
            self.diagnostics.error("bad-form", at.clone(), message).hint("write `name=value`");
            return;
        };
        let mut attributes = value.split(';');
        let content = attributes.next().unwrap_or_default();
        let mut found = match (content.strip_prefix('@'), content.strip_prefix('<')) {
            (Some(file), _) => {
                let is_there = (self.files)(&format!("{}{file}", scenario::BINARY)).is_ok();
                if !is_there {
                    let message = format!("the file `{file}` cannot be read");
                    self.diagnostics.lost(at.clone(), message);
                }
                part(
                    name,
                    match is_there {
                        true => Content::File(file.to_owned()),
                        false => Content::Value(format!("(contents of {file})")),
                    },
                )
            }
            (None, Some(file)) => part(name, Content::Value(self.file(file, at))),
            (None, None) if !value.contains(";type=") => {
                transfer.parts.push(part(name, Content::Value(value.to_owned())));
                return;
            }
            (None, None) => part(name, Content::Value(content.to_owned())),
        };
        for attribute in attributes {
            match attribute.split_once('=') {
                Some(("type", kind)) => found.content_type = Some(kind.to_owned()),
                Some(("filename", name)) => {
                    found.file_name = Some(name.trim_matches('"').to_owned());
                }
                _ => {
                    let message = format!("`{attribute}` of a part is not carried over");
                    self.diagnostics.ignored(at.clone(), message);
                }
            }
        }
        transfer.parts.push(found);
    }
}

fn takes_value(name: &str) -> bool {
    [VALUES, SILENT_VALUES, LOST_VALUES].iter().any(|names| names.contains(&name))
}

fn part(name: &str, content: Content) -> Part {
    Part { name: name.to_owned(), content, file_name: None, content_type: None }
}
