//! Samplers: requests over HTTP, and those of the WebSocket plugin.

use std::ops::Range;

use roxmltree::Node;
use scenario::is_token_byte;

use super::Importer;
use super::functions::Form;
use super::properties::{
    arguments, children, flag, items, kind, label, opening, place, property, text,
};
use super::scope::{Rounds, Scope};
use crate::request::{
    Address, Body, Content, Field, Header, Part, Purpose, Request, percent_decoded, scheme_length,
};
use crate::template::{literal, mapped, quoted, url_text, url_value};
use crate::writer::{Item, Map};

/// Redirects that JMeter follows.
const REDIRECTS: &str = "20";
/// Headers that a handshake writes itself (RFC 6455 section 4.1).
const HANDSHAKE: [&str; 5] = [
    "connection",
    "sec-websocket-extensions",
    "sec-websocket-key",
    "sec-websocket-version",
    "upgrade",
];
/// The beginning of the names of the WebSocket plugin's elements.
const WEBSOCKET: &str = "eu.luminis.jmeter.wssampler.";

impl<'d, 'i: 'd> Importer<'_> {
    /// The steps of a sampler; false: it is none.
    pub(super) fn sampler(
        &mut self,
        node: Node<'d, 'i>,
        tree: Option<Node<'d, 'i>>,
        around: &Scope<'d, 'i>,
        rounds: &mut Rounds,
        steps: &mut Vec<Map>,
    ) -> bool {
        let name = kind(node);
        let is_http = matches!(name, "HTTPSamplerProxy" | "HTTPSampler" | "HTTPSampler2");
        let is_websocket = name.starts_with(WEBSOCKET);
        let is_script = matches!(name, "JSR223Sampler" | "BeanShellSampler");
        // They send nothing; timers are waited for all the same.
        let is_silent = matches!(name, "DebugSampler" | "TestAction");
        if !is_http && !is_websocket && !is_script && !is_silent {
            return false;
        }
        let scope = match tree {
            Some(tree) => self.scope(tree, around, rounds),
            None => around.clone(),
        };
        self.pauses(&scope.timers, steps);
        if is_script {
            // A comment stands above a step: that of the next sampler.
            let lines = self.script(node);
            self.scripts.extend(lines);
        } else if is_http {
            self.http(node, &scope, steps);
        } else if name == "TestAction" {
            self.action(node, steps);
        } else if is_silent {
            let message = "a debug sampler sends nothing".to_owned();
            self.diagnostics.ignored(opening(node), message);
        } else {
            self.websocket(node, &name[WEBSOCKET.len()..], &scope, steps);
        }
        // What applies to the sampler was read with its scope; the rest is named.
        for (inner, below) in tree.into_iter().flat_map(children) {
            self.element(inner, below, &scope, rounds, &mut Vec::new());
        }
        true
    }

    fn http(&mut self, node: Node<'d, 'i>, scope: &Scope<'d, 'i>, steps: &mut Vec<Map>) {
        let at = opening(node);
        let results = self.results(&scope.after);
        let method = match text(node, "HTTPSampler.method").trim() {
            "" => "GET".to_owned(),
            method => self.filled(method, 0),
        };
        let has_query = matches!(method.as_str(), "GET" | "HEAD" | "OPTIONS" | "DELETE" | "TRACE");
        let mut list = arguments(node, "HTTPsampler.Arguments");
        let is_raw = flag(node, "HTTPSampler.postBodyRaw")
            || !list.is_empty() && list.iter().all(|one| text(*one, "Argument.name").is_empty());
        if !is_raw {
            list.extend(&scope.arguments);
        } else if let Some(first) = scope.arguments.first() {
            let message = "parameters of all requests are not added to a body that is text";
            self.diagnostics.differs("default-parameters", opening(*first), message);
        }
        let Some(mut address) = self.address(node, scope) else {
            return;
        };
        let mut body = Body::None;
        if is_raw {
            let texts = list.iter().map(|one| text(*one, "Argument.value"));
            let joined: String = texts.collect();
            body = Body::Text(self.template(&joined, Form::Plain, &at));
        } else if has_query {
            let query: Vec<String> = list.iter().map(|one| self.query_pair(*one)).collect();
            if !query.is_empty() {
                let sign = if address.path.contains('?') { '&' } else { '?' };
                address.path.push(sign);
                address.path.push_str(&query.join("&"));
            }
        } else if !list.is_empty() {
            let fields = list.iter().map(|one| {
                let value = text(*one, "Argument.value");
                // What is encoded already, JMeter decodes before it encodes it.
                let value = match flag(*one, "HTTPArgument.always_encode") {
                    true => value.to_owned(),
                    false => percent_decoded(&value.replace('+', " ")),
                };
                let value = self.template(&value, Form::Plain, &opening(*one));
                Field { name: text(*one, "Argument.name").to_owned(), value }
            });
            body = Body::Form(fields.collect());
        }
        body = self.with_files(node, body);
        let mut more = Vec::new();
        let has_authorization =
            scope.headers.iter().any(|header| header.name.eq_ignore_ascii_case("authorization"));
        if let (Some(auth), false) = (&scope.auth, has_authorization) {
            more.push(("auth".to_owned(), auth.clone()));
        }
        let follows =
            flag(node, "HTTPSampler.follow_redirects") || flag(node, "HTTPSampler.auto_redirects");
        let redirects = if follows { REDIRECTS } else { "0" };
        more.push(("redirects".to_owned(), Item::Bare(redirects.to_owned())));
        let timeout = match text(node, "HTTPSampler.response_timeout").trim() {
            "" => scope.defaults.timeout_ms.clone(),
            own => own.to_owned(),
        };
        if let Some(timeout_ms) = self.fixed(&timeout).filter(|ms| *ms > 0.0) {
            more.push(("timeout".to_owned(), Item::Bare(format!("{timeout_ms}ms"))));
        }
        self.embedded(node);
        more.extend(results.keys());
        let mut headers = scope.headers.clone();
        let has_connection =
            headers.iter().any(|header| header.name.eq_ignore_ascii_case("connection"));
        if text(node, "HTTPSampler.use_keepalive") == "false" && !has_connection {
            let name = "connection".to_owned();
            let at = place(node, "HTTPSampler.use_keepalive");
            headers.push(Header { name, value: "close".to_owned(), at });
        }
        let name = label(node);
        let target = self.target.get_or_insert_with(|| address.origin.clone()).clone();
        let request = Request {
            at,
            method,
            purpose: Purpose::Response,
            url: address.url(&target),
            name: (!name.is_empty()).then_some(name),
            headers,
            cookies: scope.cookies.clone(),
            body,
            more,
            comments: self.comments(scope),
        };
        steps.push(request.step(&mut self.secrets, &mut self.diagnostics));
        steps.extend(results.steps);
    }

    /// Lines of scripts that stand above a step: those that apply to it, and those of samplers before it.
    fn comments(&mut self, scope: &Scope<'d, 'i>) -> Vec<String> {
        let mut comments = std::mem::take(&mut self.scripts);
        comments.extend(scope.scripts.iter().cloned());
        comments
    }

    fn query_pair(&mut self, argument: Node<'d, 'i>) -> String {
        let at = opening(argument);
        let name = text(argument, "Argument.name");
        let value = text(argument, "Argument.value");
        let is_encoded = flag(argument, "HTTPArgument.always_encode");
        let (name, value) = match is_encoded {
            true => {
                let value = self.template(value, Form::Plain, &at);
                let value = mapped(&value, url_value, str::to_owned);
                (url_value(name), value)
            }
            false => {
                let pair = self.template(value, Form::Raw, &at);
                let pair = Address::parse(&format!("/?{pair}"), "http").path;
                (url_text(name), pair["/?".len()..].to_owned())
            }
        };
        let has_sign = text(argument, "HTTPArgument.use_equals") != "false" || !value.is_empty();
        let sign = if has_sign { "=" } else { "" };
        format!("{}{sign}{value}", literal(&name))
    }

    /// A body with files: parts of a form, or a file alone.
    fn with_files(&mut self, node: Node<'d, 'i>, body: Body) -> Body {
        let files =
            items(property(node, "HTTPsampler.Files").unwrap_or(node), "HTTPFileArgs.files");
        let is_multipart = flag(node, "HTTPSampler.DO_MULTIPART_POST") || !files.is_empty();
        if let ([file], true) =
            (files.as_slice(), text_of_only(&files, "File.paramname").is_empty())
        {
            let path = self.filled(text(*file, "File.path"), 0);
            return match (self.files)(&path) {
                Ok(_) => Body::Text(format!("${{file({})}}", quoted(&path))),
                Err(reason) => {
                    let message = format!("the file `{path}` cannot be read: {reason}");
                    self.diagnostics.lost(opening(*file), message);
                    body
                }
            };
        }
        if !is_multipart {
            return body;
        }
        let mut found: Vec<Part> = match body {
            Body::Form(fields) => fields
                .into_iter()
                .map(|Field { name, value }| Part {
                    name,
                    content: Content::Value(value),
                    file_name: None,
                    content_type: None,
                })
                .collect(),
            other if files.is_empty() => return other,
            _ => Vec::new(),
        };
        for file in files {
            let path = self.filled(text(file, "File.path"), 0);
            let content_type = text(file, "File.mimetype");
            let is_there = (self.files)(&format!("{}{path}", scenario::BINARY)).is_ok();
            let name = path.rsplit(['/', '\\']).next().unwrap_or_default().to_owned();
            if !is_there {
                let message =
                    format!("the file `{path}` cannot be read: a text stands in its place");
                let hint = "put it beside the scenario and write `file: NAME`";
                self.diagnostics.stand_in(opening(file), message).hint(hint);
            }
            found.push(Part {
                name: text(file, "File.paramname").to_owned(),
                content: match is_there {
                    true => Content::File(path),
                    false => Content::Value(literal(&format!("(contents of {name})"))),
                },
                file_name: (!is_there).then_some(name),
                content_type: (!content_type.is_empty()).then(|| content_type.to_owned()),
            });
        }
        match found.is_empty() {
            true => Body::None,
            false => Body::Multipart(found),
        }
    }

    /// Where a request goes: its own properties, else the defaults; `None`: nowhere, which is reported.
    fn address(&mut self, node: Node<'d, 'i>, scope: &Scope<'d, 'i>) -> Option<Address> {
        let own = |name: &str, default: &String| match text(node, name).trim() {
            "" => default.clone(),
            own => own.to_owned(),
        };
        let defaults = &scope.defaults;
        let protocol = own("HTTPSampler.protocol", &defaults.protocol);
        let domain = own("HTTPSampler.domain", &defaults.domain);
        let port = own("HTTPSampler.port", &defaults.port);
        let path = own("HTTPSampler.path", &defaults.path);
        let at = place(node, "HTTPSampler.path");
        let path = self.filled_front(&path);
        if scheme_length(&path) > 0 {
            let template = self.template(&path, Form::Raw, &at);
            return Some(Address::parse(&template, "http"));
        }
        let path = match path.starts_with('/') {
            true => path,
            false => format!("/{path}"),
        };
        let path = self.template(&path, Form::Raw, &at);
        self.located(&protocol, &domain, &port, &path, &at)
    }

    /// Text whose first variable is filled in, so that one that holds a URL is seen.
    fn filled_front(&mut self, path: &str) -> String {
        match path.starts_with("${") {
            true => {
                let filled = self.filled(path, 0);
                if scheme_length(&filled) > 0 { filled } else { path.to_owned() }
            }
            false => path.to_owned(),
        }
    }

    /// An address of its parts; a host that is not known comes from the environment. `None`: there is no host.
    fn located(
        &mut self,
        protocol: &str,
        domain: &str,
        port: &str,
        path: &str,
        at: &Range<usize>,
    ) -> Option<Address> {
        let protocol = match self.filled(protocol, 0).trim().to_ascii_lowercase() {
            protocol if protocol.is_empty() || protocol.contains('$') => "http".to_owned(),
            protocol => protocol,
        };
        let domain = self.filled(domain, 0).trim().to_owned();
        let port = self.filled(port, 0).trim().to_owned();
        if domain.is_empty() {
            let message = "this request has no host".to_owned();
            let hint = "write the server's name in the sampler, or in HTTP Request Defaults";
            self.diagnostics.lost(at.clone(), message).hint(hint);
            return None;
        }
        let port = match port.parse::<u16>() {
            Ok(port) => format!(":{port}"),
            Err(_) => {
                if !port.is_empty() {
                    let message = format!("`{port}` is not a port that is known");
                    self.diagnostics.lost(at.clone(), message);
                }
                String::new()
            }
        };
        let domain = self.template(&domain, Form::Plain, at);
        let domain = &domain[scheme_length(&domain)..];
        Some(Address::parse(&format!("{protocol}://{domain}{port}{path}"), "http"))
    }

    fn websocket(
        &mut self,
        node: Node<'d, 'i>,
        name: &str,
        scope: &Scope<'d, 'i>,
        steps: &mut Vec<Map>,
    ) {
        let at = opening(node);
        let opens = name == "OpenWebSocketSampler" || flag(node, "createNewConnection");
        if opens {
            let scheme = if flag(node, "TLS") { "wss" } else { "ws" };
            let path = match text(node, "path").trim() {
                path if path.starts_with('/') => path.to_owned(),
                path => format!("/{path}"),
            };
            let path = self.template(&path, Form::Raw, &at);
            let server = text(node, "server").to_owned();
            let port = text(node, "port").to_owned();
            let Some(address) = self.located(scheme, &server, &port, &path, &at) else {
                return;
            };
            let target = self.target.get_or_insert_with(|| address.origin.clone()).clone();
            let mut step = Map::single(at.clone(), "ws", Item::Text(address.url(&target)));
            step.comments = self.comments(scope);
            step.put("as", Item::Text(literal(&format!("{} (open)", label(node)))));
            let mut headers = Map::new(at.clone());
            for header in &scope.headers {
                let name = header.name.trim().to_ascii_lowercase();
                if HANDSHAKE.contains(&name.as_str()) {
                    let message = "a WebSocket's handshake writes its own headers";
                    self.diagnostics.differs("handshake", header.at.clone(), message);
                    continue;
                }
                let value = self.secrets.header(&name, &header.value, &header.at);
                if headers.get_mut(&name).is_none() {
                    headers.put(&name, Item::Text(value));
                }
            }
            let is_sound = |text: &str| !text.is_empty() && text.bytes().all(is_token_byte);
            let cookies = scope.cookies.iter().filter(|cookie| is_sound(&cookie.name));
            let cookies = cookies.filter(|cookie| !cookie.value.contains(char::is_control));
            let cookies: Vec<String> = cookies
                .map(|cookie| {
                    let value = self.secrets.cookie(&cookie.name, &cookie.value, &at);
                    format!("{}={value}", cookie.name)
                })
                .collect();
            if !cookies.is_empty() && headers.get_mut("cookie").is_none() {
                headers.put("cookie", Item::Text(cookies.join("; ")));
            }
            if !headers.entries.is_empty() {
                step.put("headers", Item::Map(headers));
            }
            if self.is_open {
                steps.push(Map::single(at.clone(), "close", Item::Nothing));
            }
            self.is_open = true;
            steps.push(step);
        }
        let results = self.results(&scope.after);
        let mut reply = Map::new(at.clone());
        for (key, value) in results.message_keys() {
            reply.put(&key, value);
        }
        if let Some(limit_ms) = self.fixed(text(node, "readTimeout")).filter(|ms| *ms > 0.0) {
            reply.put("within", Item::Bare(format!("{limit_ms}ms")));
        }
        let has_binary = flag(node, "binaryPayload") || text(node, "payloadType") == "Binary";
        match name {
            "OpenWebSocketSampler" => {}
            "RequestResponseWebSocketSampler" | "SingleWriteWebSocketSampler" if has_binary => {
                let message = "binary messages of WebSockets are not carried over".to_owned();
                self.diagnostics.lost(at, message).hint("write `send` with `bytes`");
            }
            "RequestResponseWebSocketSampler" | "SingleWriteWebSocketSampler" => {
                let data = self.template(text(node, "requestData"), Form::Plain, &at);
                let data = self.secrets.text(&data, &at);
                let mut step = Map::single(at.clone(), "send", Item::Text(data));
                if name == "RequestResponseWebSocketSampler" {
                    step.put("reply", Item::Map(reply));
                }
                step.put("as", Item::Text(literal(&label(node))));
                steps.push(step);
            }
            "SingleReadWebSocketSampler" => {
                reply.put("as", Item::Text(literal(&label(node))));
                steps.push(Map::single(at, "expect", Item::Map(reply)));
            }
            "CloseWebSocketSampler" => {
                let status = text(node, "statusCode").trim();
                let status = match status.parse::<u16>() {
                    Ok(status) => Item::Bare(status.to_string()),
                    Err(_) => Item::Nothing,
                };
                self.is_open = false;
                steps.push(Map::single(at, "close", status));
            }
            "PingPongSampler" => {
                let message = "pings are answered by themselves, and not sent".to_owned();
                self.diagnostics.ignored(at, message);
            }
            _ => {
                let message = format!("`{name}` is not carried over");
                self.diagnostics.lost(at, message);
            }
        }
        steps.extend(results.steps);
    }
}

fn text_of_only<'d>(files: &[Node<'d, '_>], name: &str) -> &'d str {
    files.first().map_or("", |file| text(*file, name).trim())
}
