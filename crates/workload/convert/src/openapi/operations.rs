//! Operations: the requests of a description, by session.

use std::ops::Range;

use scenario::document::node::Node;
use serde_json::Value;

use super::parameters::{Parameters, text_of};
use super::samples::example;
use super::{By, Importer, key_place, server_url};
use crate::json::{find, items, text};
use crate::request::{Address, Body, Content, Field, Header, Part, Request, Url, scheme_length};
use crate::template::{literal, url_text, url_value};
use crate::writer::{Map, flow};

/// Methods of operations, in the order of a path's steps.
const METHODS: [&str; 8] = ["get", "head", "options", "post", "put", "patch", "delete", "trace"];
/// Those that change nothing, and are answered by any server.
const SAFE: [&str; 3] = ["get", "head", "options"];
/// Most operations.
const OPERATIONS_MAX: usize = 5000;

/// Names of sessions and their steps.
type Sessions = Vec<(String, Vec<Map>)>;

impl<'a> Importer<'a, '_> {
    pub(super) fn sessions(&mut self) -> Sessions {
        let mut sessions: Sessions = Vec::new();
        let mut unsafe_count = 0;
        let mut first_unsafe: Range<usize> = 0..0;
        let mut count = 0;
        let paths = find(self.root, "paths").and_then(Node::mapping).unwrap_or_default();
        for path in paths.iter().filter(|path| path.key.starts_with('/')) {
            let Some(item) = self.follow(&path.value) else {
                continue;
            };
            for method in METHODS {
                let Some(operation) = item.get(method) else {
                    continue;
                };
                let at = key_place(item, method);
                if !self.settings.all_methods && !SAFE.contains(&method) {
                    if unsafe_count == 0 {
                        first_unsafe = at;
                    }
                    unsafe_count += 1;
                    continue;
                }
                count += 1;
                if count > OPERATIONS_MAX {
                    let message = format!("there are more than {OPERATIONS_MAX} operations");
                    self.diagnostics.error("too-many", at, message);
                    return sessions;
                }
                let step = self.operation(method, &path.key, item, operation, at);
                let name = self.session_of(&path.key, operation);
                match sessions.iter_mut().find(|(known, _)| *known == name) {
                    Some((_, steps)) => steps.push(step),
                    None => sessions.push((name, vec![step])),
                }
            }
        }
        if unsafe_count > 0 {
            let message = format!(
                "left out operations that may change something (--all-methods keeps them): {unsafe_count}"
            );
            self.diagnostics.ignored(first_unsafe, message);
        }
        sessions
    }

    fn session_of(&self, path: &str, operation: &Node) -> String {
        let name = match self.settings.by {
            By::Tag => items(operation, "tags").first().and_then(Node::text).unwrap_or("untagged"),
            By::Path => path,
            By::One => "api",
        };
        let name: String = name.chars().filter(|c| !c.is_control()).take(100).collect();
        match name.trim() {
            "" => "untagged".to_owned(),
            name => name.to_owned(),
        }
    }

    fn operation(
        &mut self,
        method: &str,
        path: &str,
        item: &'a Node,
        operation: &'a Node,
        at: Range<usize>,
    ) -> Map {
        let Parameters { path: values, mut query, mut headers, mut cookies } =
            self.parameters(item, operation);
        let credentials = self.credentials(operation);
        query.extend(
            credentials.query.iter().map(|(name, value)| format!("{}={value}", url_value(name))),
        );
        headers.extend(credentials.headers);
        cookies.extend(credentials.cookies);
        let mut url = self.filled_path(path, &values, &at);
        if !query.is_empty() {
            url.push('?');
            url.push_str(&query.join("&"));
        }
        let own_server =
            [operation, item].into_iter().find_map(|node| items(node, "servers").first());
        if let Some(server) = own_server {
            let own = server_url(server);
            if own != self.server {
                let address = Address::parse(&literal(&own), "https");
                let base = address.path.trim_end_matches('/');
                let origin = match address.origin.as_str() {
                    "" if scheme_length(&self.server) > 0 => {
                        literal(&Url::parse(&self.server).origin)
                    }
                    origin => origin.to_owned(),
                };
                url = format!("{origin}{base}{url}");
            }
        }
        let body = self.body(operation, &mut headers, &at);
        let mut more = Vec::new();
        if let Some(auth) = credentials.auth {
            more.push(("auth".to_owned(), auth));
        }
        let plain: String = path.chars().filter(|c| !c.is_control()).collect();
        let request = Request {
            at,
            method: method.to_owned(),
            url,
            name: Some(format!("{} {plain}", method.to_ascii_uppercase())),
            headers,
            cookies,
            body,
            more,
            ..Request::default()
        };
        request.step(&mut self.secrets, self.diagnostics)
    }

    /// A path with the values of its parameters.
    fn filled_path(
        &mut self,
        path: &str,
        values: &[(String, String)],
        at: &Range<usize>,
    ) -> String {
        let mut out = String::new();
        let mut rest = path;
        while let Some((before, after)) = rest.split_once('{') {
            out.push_str(&literal(&url_text(before)));
            let Some((name, tail)) = after.split_once('}') else {
                out.push_str("%7B");
                rest = after;
                break;
            };
            match values.iter().find(|(known, _)| known == name) {
                // An empty part would be another path.
                Some((_, value)) if !value.is_empty() => out.push_str(value),
                _ => {
                    let message =
                        format!("the path's parameter `{name}` has no value: its name is sent");
                    self.diagnostics.stand_in(at.clone(), message);
                    out.push_str(&url_value(name));
                }
            }
            rest = tail;
        }
        out.push_str(&literal(&url_text(rest)));
        out
    }

    fn body(&mut self, operation: &'a Node, headers: &mut Vec<Header>, at: &Range<usize>) -> Body {
        let Some(body) = operation.get("requestBody").and_then(|body| self.follow(body)) else {
            return Body::None;
        };
        let list = find(body, "content").and_then(Node::mapping).unwrap_or_default();
        let is_json = |kind: &str| kind.starts_with("application/json") || kind.ends_with("+json");
        let preferred: [&dyn Fn(&str) -> bool; 4] = [
            &is_json,
            &|kind: &str| kind.starts_with("application/x-www-form-urlencoded"),
            &|kind: &str| kind.starts_with("multipart/form-data"),
            &|kind: &str| kind.starts_with("text/"),
        ];
        let found = preferred.iter().find_map(|fits| list.iter().find(|entry| fits(&entry.key)));
        let Some(media) = found.or(list.first()) else {
            return Body::None;
        };
        let kind = media.key.as_str();
        let value = match (example(&media.value), media.value.get("schema")) {
            (Some(value), _) => value,
            (None, Some(schema)) => self.sample(schema),
            (None, None) => Value::Null,
        };
        let mut add_type = || {
            let name = "content-type".to_owned();
            headers.push(Header { name, value: literal(kind), at: at.clone() });
        };
        match value {
            value if is_json(kind) => {
                if kind != "application/json" {
                    add_type();
                }
                // An example that is JSON as text already.
                match value {
                    Value::String(text) if text.trim_start().starts_with(['{', '[']) => {
                        if kind == "application/json" {
                            add_type();
                        }
                        Body::Text(text)
                    }
                    value => Body::Json(flow(&value)),
                }
            }
            Value::Object(pairs) if kind.starts_with("application/x-www-form-urlencoded") => {
                let fields = pairs.iter().flat_map(|(name, value)| {
                    let field = |value: &Value| Field { name: name.clone(), value: text_of(value) };
                    match value {
                        Value::Array(items) => items.iter().map(field).collect(),
                        value => vec![field(value)],
                    }
                });
                Body::Form(fields.collect())
            }
            Value::Object(pairs) if kind.starts_with("multipart/") => {
                let schema = media.value.get("schema");
                let schema = schema.and_then(|schema| self.follow(schema));
                let parts = pairs.iter().map(|(name, value)| self.part(name, value, schema));
                Body::Multipart(parts.collect())
            }
            Value::String(text) => {
                add_type();
                Body::Text(text)
            }
            _ => {
                let message = format!("a body of the type `{kind}` is not made up");
                self.diagnostics
                    .lost(at.clone(), message)
                    .hint("add an `example` to the description");
                Body::None
            }
        }
    }

    /// A field of a form; a file if its schema says so.
    fn part(&mut self, name: &str, value: &Value, schema: Option<&'a Node>) -> Part {
        let properties = schema.and_then(|schema| schema.get("properties"));
        let property = properties.and_then(|properties| properties.get(name));
        let property = property.and_then(|property| self.follow(property));
        let is_file = property.is_some_and(|property| {
            text(property, "format") == "binary" || property.get("contentMediaType").is_some()
        });
        if !is_file {
            let content = Content::Value(text_of(value));
            return Part { name: name.to_owned(), content, file_name: None, content_type: None };
        }
        let at = property.map_or(0..0, |property| property.place.span.clone());
        let message =
            format!("the file `{name}` is not in the description: a text stands in its place");
        let hint = "write `file: NAME` instead of `value` and `name`";
        self.diagnostics.stand_in(at, message).hint(hint);
        Part {
            name: name.to_owned(),
            content: Content::Value(literal(&format!("(contents of {name})"))),
            file_name: Some(name.to_owned()),
            content_type: Some("application/octet-stream".to_owned()),
        }
    }
}
