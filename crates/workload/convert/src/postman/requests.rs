//! Requests of a collection.

use std::ops::Range;

use scenario::document::node::Node;

use super::auth::Auth;
use super::variables::{Expression, Part, parts};
use super::{Importer, Inherited, REQUESTS_MAX};
use crate::json::{self, items, text};
use crate::request::{self, Address, Body, Content, Field, Header, Purpose, Request, short_name};
use crate::template::{literal, mapped, quoted};
use crate::writer::{Item, Map};

/// Content types of raw bodies by the language that Postman shows.
const LANGUAGES: &[(&str, &str)] = &[
    ("json", "application/json"),
    ("xml", "application/xml"),
    ("html", "text/html"),
    ("javascript", "application/javascript"),
    ("text", "text/plain"),
];

/// Methods with which Postman sends no body, unless `disableBodyPruning` says so.
const PRUNED: [&str; 5] = ["GET", "COPY", "HEAD", "PURGE", "UNLOCK"];
/// Most redirects that a step follows.
const REDIRECTS_MAX: u32 = 50;

impl Importer<'_> {
    /// A request, with what its scripts do before it.
    pub(super) fn request(&mut self, item: &Node, inherited: &Inherited<'_>, steps: &mut Vec<Map>) {
        let Some(node) = item.get("request").filter(|node| !node.is_null()) else {
            let message = "this is neither a folder nor a request".to_owned();
            self.diagnostics.ignored(item.place.span.clone(), message);
            return;
        };
        self.requests_count += 1;
        if self.requests_count > REQUESTS_MAX {
            if self.requests_count == REQUESTS_MAX + 1 {
                let message = format!("there are more than {REQUESTS_MAX} requests");
                self.diagnostics.error("too-many", node.place.span.clone(), message);
            }
            return;
        }
        let own_auth = node.get("auth").filter(|auth| !auth.is_null());
        let own_auth = own_auth.filter(|auth| text(auth, "type") != "inherit");
        let auth = own_auth.or(inherited.auth);
        let mut comments = Vec::new();
        for script in &inherited.before {
            steps.extend(self.before(script, &mut comments));
        }
        let at = json::place(node, "url");
        let method = match text(node, "method") {
            "" => "GET",
            method => method,
        };
        let mut headers = self.headers(node);
        let is_pruned = self.prunes
            && PRUNED.contains(&method)
            && inherited.behaviour("disableBodyPruning") != Some("true");
        let body = match is_pruned {
            true => {
                if has_body(node) {
                    let message = format!("Postman sends no body with {method}");
                    let hint = "`disableBodyPruning` of the request would keep it";
                    self.diagnostics.ignored(json::place(node, "body"), message).hint(hint);
                }
                Body::None
            }
            false => self.body(node, &mut headers),
        };
        let mut address = self.address(node, &at);
        let has_authorization =
            headers.iter().any(|header| header.name.eq_ignore_ascii_case("authorization"));
        let mut more = Vec::new();
        match auth.and_then(|auth| self.auth(auth)) {
            Some(Auth::Key(key, value)) if !has_authorization => {
                more.push((key.to_owned(), value));
            }
            Some(Auth::Header(header)) => headers.push(header),
            Some(Auth::Query(name, value)) => {
                let sign = if address.path.contains('?') { '&' } else { '?' };
                address.path.push_str(&format!("{sign}{}={value}", literal(&name)));
            }
            Some(Auth::Key(..)) | None => {}
        }
        self.behaviours(item, Some((method, has_body(node))));
        let redirects = match inherited.behaviour("followRedirects") {
            Some("false") => Some(0),
            _ => inherited.behaviour("maxRedirects").and_then(|most| most.parse().ok()),
        };
        if let Some(redirects) = redirects.filter(|most| *most <= REDIRECTS_MAX) {
            more.push(("redirects".to_owned(), Item::Bare(redirects.to_string())));
        }
        let after = self.after(&inherited.after, &mut comments);
        more.extend(after.keys());
        let target = self.target.get_or_insert_with(|| address.origin.clone()).clone();
        let name: String = text(item, "name").chars().filter(|c| !c.is_control()).collect();
        let name = name.trim().to_owned();
        let request = Request {
            at,
            method: method.to_owned(),
            purpose: Purpose::Response,
            url: address.url(&target),
            name: match name.is_empty() {
                true => short_name(method, &address.path),
                false => Some(name),
            },
            headers,
            cookies: Vec::new(),
            body,
            more,
            comments,
        };
        steps.push(request.step(&mut self.secrets, &mut self.diagnostics));
        steps.extend(after.steps);
    }

    /// Text with variables as a template.
    pub(super) fn template(&mut self, text: &str, at: &Range<usize>) -> String {
        let mut out = String::new();
        for part in parts(text) {
            match part {
                Part::Text(text) => out.push_str(&literal(text)),
                Part::Name(name) => {
                    let expression = self.variable(name, at);
                    out.push_str(&format!("${{{expression}}}"));
                }
            }
        }
        out
    }

    fn variable(&mut self, name: &str, at: &Range<usize>) -> String {
        match self.variables.expression(name, &mut self.secrets) {
            Expression::Known(expression) => expression,
            Expression::Unknown(expression) => {
                let message =
                    format!("`{name}` has no counterpart: a random text stands in its place");
                let hint = "write an expression: docs/scenario-reference.md has the functions";
                self.diagnostics.stand_in(at.clone(), message).hint(hint);
                expression
            }
        }
    }

    /// The URL, with the variables of its path.
    fn address(&mut self, node: &Node, at: &Range<usize>) -> Address {
        let url = node.get("url");
        let url = url.or_else(|| node.scalar().map(|_| node));
        let mut written = url.map_or_else(String::new, written_url);
        for variable in url.map_or(&[][..], |url| items(url, "variable")) {
            // Without a value the name itself is sent.
            if text(variable, "value").is_empty() {
                continue;
            }
            // Version 2.0 calls it `id`.
            let key = match text(variable, "key") {
                "" => text(variable, "id"),
                key => key,
            };
            let name = format!("/:{key}");
            let value = format!("/{}", text(variable, "value"));
            for end in ["/", "?", "#"] {
                written = written.replace(&format!("{name}{end}"), &format!("{value}{end}"));
            }
            if let Some(front) = written.strip_suffix(&name) {
                written = format!("{front}{value}");
            }
        }
        // The host has to be known here; variables of the path may be set later.
        let end = {
            let begin = request::scheme_length(&written);
            written[begin..].find(['/', '?']).map_or(written.len(), |end| begin + end)
        };
        // Values may make up the name of another variable.
        let host = self.variables.filled(&self.variables.filled(&written[..end]));
        let has_braces =
            |part: &Part| matches!(part, Part::Text(text) if text.contains(['{', '}']));
        if parts(&host).iter().any(has_braces) {
            let message = format!("the host `{host}` is not known: a variable makes its name");
            self.diagnostics.lost(at.clone(), message);
            let target = self.secrets.given("TARGET");
            self.secrets.begins_url("TARGET");
            let path = self.path(&written[end..], at);
            return Address::parse(&format!("${{{target}}}{path}"), "http");
        }
        if let Some(Part::Name(name)) = parts(&host).into_iter().next() {
            let mut before = self.variable(name, at);
            if let Some(name) = before.strip_prefix("env('").and_then(|n| n.strip_suffix("')")) {
                let name = name.to_owned();
                self.secrets.begins_url(&name);
            } else if !before.contains('(') {
                // A script sets it: its first value has to do.
                let message = format!("the host `{{{{{name}}}}}` is set by a script");
                self.diagnostics.lost(at.clone(), message);
                before = self.secrets.given("TARGET");
                self.secrets.begins_url("TARGET");
            }
            let rest = host.split_once("}}").map_or("", |(_, rest)| rest);
            let rest = self.template(rest, at);
            let path = self.path(&written[end..], at);
            return Address::parse(&format!("${{{before}}}{rest}{path}"), "http");
        }
        let host = self.template(&host, at);
        let path = self.path(&written[end..], at);
        let path = if host.is_empty() && path.is_empty() { "/".to_owned() } else { path };
        if host.is_empty() {
            let message = "this request has no host".to_owned();
            self.diagnostics.error("bad-url", at.clone(), message);
        }
        Address::parse(&format!("{host}{path}"), "http")
    }

    /// Values in a path are encoded already, as Postman has it.
    fn path(&mut self, text: &str, at: &Range<usize>) -> String {
        let path = self.template(text, at);
        mapped(&path, str::to_owned, |expr| format!("raw({expr})"))
    }

    /// Reports settings of how requests are sent, unless they are carried over. `request`: its method and whether it has a
    /// body; `None`: they are those of a folder, and inherited.
    pub(super) fn behaviours(&mut self, node: &Node, request: Option<(&str, bool)>) {
        let Some(entries) = node.get("protocolProfileBehavior").and_then(Node::mapping) else {
            return;
        };
        for entry in entries {
            let key = entry.key.as_str();
            let value = entry.value.text().unwrap_or_default();
            let at = entry.value.place.span.clone();
            let is_default = value == if key == "followRedirects" { "true" } else { "false" };
            let is_kept = match key {
                "followRedirects" => !is_default,
                "maxRedirects" => value.parse().is_ok_and(|most: u32| most <= REDIRECTS_MAX),
                "disableBodyPruning" => {
                    !is_default
                        && request
                            .is_none_or(|(method, has_body)| has_body && PRUNED.contains(&method))
                }
                _ => false,
            };
            if is_kept {
                continue;
            }
            let sends_nothing = matches!(
                key,
                "disableBodyPruning" | "disabledSystemHeaders" | "removeRefererHeaderOnRedirect"
            );
            if is_default || sends_nothing {
                let message = format!("`{key}` changes nothing of what is sent here");
                self.diagnostics.ignored(at, message);
            } else {
                self.diagnostics.lost(at, format!("`{key}` of these requests is not carried over"));
            }
        }
    }

    fn headers(&mut self, node: &Node) -> Vec<Header> {
        let list = node.get("header");
        if let Some(lines) = list.and_then(Node::text) {
            let at = json::place(node, "header");
            let pairs = lines.lines().filter_map(|line| line.split_once(':'));
            let headers = pairs.map(|(name, value)| Header {
                name: name.trim().to_owned(),
                value: self.template(value.trim(), &at),
                at: at.clone(),
            });
            return headers.collect();
        }
        let mut headers = Vec::new();
        for header in items(node, "header") {
            let at = header.place.span.clone();
            if text(header, "disabled") == "true" || text(header, "key").is_empty() {
                continue;
            }
            let value = self.template(text(header, "value"), &at);
            headers.push(Header { name: text(header, "key").to_owned(), value, at });
        }
        headers
    }

    fn body(&mut self, node: &Node, headers: &mut Vec<Header>) -> Body {
        let Some(body) = node.get("body").filter(|body| body.mapping().is_some()) else {
            return Body::None;
        };
        if text(body, "disabled") == "true" {
            return Body::None;
        }
        let at = body.place.span.clone();
        let mut add_type = |content_type: &str| {
            let has_one =
                headers.iter().any(|header| header.name.eq_ignore_ascii_case("content-type"));
            if !has_one {
                let name = "content-type".to_owned();
                let value = content_type.to_owned();
                headers.push(Header { name, value, at: at.clone() });
            }
        };
        let at = body.place.span.clone();
        match text(body, "mode") {
            "raw" => {
                let raw = text(body, "raw");
                let language = text(body, "options/raw/language");
                let language = LANGUAGES.iter().find(|(known, _)| *known == language);
                if !raw.is_empty() {
                    add_type(language.map_or("text/plain", |(_, content_type)| content_type));
                }
                Body::Text(self.template(raw, &at))
            }
            "urlencoded" => {
                let fields = enabled(body, "urlencoded").into_iter().map(|field| Field {
                    name: text(field, "key").to_owned(),
                    value: self.template(text(field, "value"), &field.place.span),
                });
                Body::Form(fields.collect())
            }
            "formdata" => {
                let fields = enabled(body, "formdata");
                Body::Multipart(fields.into_iter().flat_map(|field| self.parts(field)).collect())
            }
            "graphql" => {
                add_type("application/json");
                let query = serde_json::Value::from(text(body, "graphql/query")).to_string();
                let variables = match text(body, "graphql/variables").trim() {
                    "" => "{}",
                    variables => variables,
                };
                let json = format!("{{\"query\":{query},\"variables\":{variables}}}");
                Body::Text(self.template(&json, &at))
            }
            "file" => {
                let file = text(body, "file/src");
                match (self.files)(file) {
                    Ok(_) => Body::Text(format!("${{file({})}}", quoted(file))),
                    Err(reason) => {
                        let message = format!("the file `{file}` cannot be read: {reason}");
                        self.diagnostics.lost(at, message);
                        Body::None
                    }
                }
            }
            "" | "none" => Body::None,
            mode => {
                let message = format!("a body of the mode `{mode}` is not carried over");
                self.diagnostics.lost(at, message);
                Body::None
            }
        }
    }

    /// The parts of a field: several files of one name are several.
    fn parts(&mut self, field: &Node) -> Vec<request::Part> {
        let at = field.place.span.clone();
        let content_type = text(field, "contentType");
        let content_type = (!content_type.is_empty()).then(|| content_type.to_owned());
        let part = |content: Content, file_name: Option<String>| request::Part {
            name: text(field, "key").to_owned(),
            content,
            file_name,
            content_type: content_type.clone(),
        };
        if text(field, "type") != "file" {
            let value = self.template(text(field, "value"), &at);
            return vec![part(Content::Value(value), None)];
        }
        let files: Vec<&str> = match items(field, "src") {
            [] => vec![text(field, "src")],
            several => several.iter().filter_map(Node::text).collect(),
        };
        let mut found = Vec::new();
        for file in files {
            if (self.files)(&format!("{}{file}", scenario::BINARY)).is_ok() {
                found.push(part(Content::File(file.to_owned()), None));
                continue;
            }
            let message = format!("the file `{file}` cannot be read: a text stands in its place");
            let hint = "put it beside the scenario and write `file: NAME`";
            self.diagnostics.stand_in(at.clone(), message).hint(hint);
            let name = file.rsplit(['/', '\\']).next().unwrap_or_default();
            let value = literal(&format!("(contents of {name})"));
            found.push(part(Content::Value(value), Some(name.to_owned())));
        }
        found
    }
}

fn enabled<'n>(body: &'n Node, key: &str) -> Vec<&'n Node> {
    let fields = items(body, key).iter().filter(|field| text(field, "disabled") != "true");
    fields.filter(|field| !text(field, "key").is_empty()).collect()
}

/// Whether a request has a body that is more than its mode.
fn has_body(node: &Node) -> bool {
    let Some(body) = node.get("body") else { return false };
    let Some(content) = body.get(text(body, "mode")) else { return false };
    match content.sequence() {
        Some(fields) => fields.iter().any(|field| text(field, "disabled") != "true"),
        None => content.mapping().is_some() || content.text().is_some_and(|text| !text.is_empty()),
    }
}

/// A URL as text: what it is made of, as Postman sends it; `raw` where there is no host.
fn written_url(url: &Node) -> String {
    if let Some(text) = url.text() {
        return text.to_owned();
    }
    let joined = |key: &str, separator: &str| match items(url, key) {
        [] => text(url, key).to_owned(),
        parts => {
            let parts: Vec<&str> = parts.iter().filter_map(Node::text).collect();
            parts.join(separator)
        }
    };
    let host = joined("host", ".");
    if host.is_empty() && !text(url, "raw").is_empty() {
        return text(url, "raw").to_owned();
    }
    let mut written = String::new();
    let protocol = text(url, "protocol").trim_end_matches("://");
    if !protocol.is_empty() {
        written.push_str(&format!("{protocol}://"));
    }
    if !text(url, "auth/user").is_empty() {
        let password = text(url, "auth/password");
        written.push_str(&format!("{}:{password}@", text(url, "auth/user")));
    }
    written.push_str(&host);
    if !text(url, "port").is_empty() {
        written.push_str(&format!(":{}", text(url, "port")));
    }
    let path = joined("path", "/");
    if url.get("path").is_some() {
        // In a list the slash in front is not written; an empty first part is a second one.
        let is_list = !items(url, "path").is_empty();
        let path = if is_list { &path } else { path.strip_prefix('/').unwrap_or(&path) };
        written.push_str(&format!("/{path}"));
    }
    let query: Vec<String> = items(url, "query")
        .iter()
        .filter(|pair| text(pair, "disabled") != "true")
        .map(query_pair)
        .collect();
    if !query.is_empty() {
        written.push_str(&format!("?{}", query.join("&")));
    }
    written
}

/// A pair of a query; without a value there is no sign between them.
fn query_pair(pair: &Node) -> String {
    let name = without_signs(text(pair, "key"), &['&', '#', '=']);
    match pair.get("value").filter(|value| !value.is_null()).and_then(Node::text) {
        Some(value) => format!("{name}={}", without_signs(value, &['&', '#'])),
        None => name,
    }
}

/// The text with these signs percent-encoded, but those in names of variables.
fn without_signs(text: &str, signs: &[char]) -> String {
    let mut out = String::new();
    let mut rest = text;
    while !rest.is_empty() {
        let variable = rest.starts_with("{{").then(|| rest.find("}}")).flatten();
        let end = match variable {
            Some(end) => end + 2,
            None => {
                rest.match_indices("{{").map(|(at, _)| at).find(|at| *at > 0).unwrap_or(rest.len())
            }
        };
        let (part, behind) = rest.split_at(end);
        for c in part.chars() {
            match variable.is_none() && signs.contains(&c) {
                true => out.push_str(&format!("%{:02X}", u32::from(c))),
                false => out.push(c),
            }
        }
        rest = behind;
    }
    out
}
