//! `<request>`: HTTP requests and WebSocket messages; what stands in it besides.

use std::ops::Range;

use roxmltree::Node;

use super::attributes::value_at;
use super::matching::{Match, MatchSource};
use super::oauth::Signed;
use super::text::Form;
use super::{Importer, Item, Map, Request, elements, opening};
use crate::template::literal;

/// The maximum length of a measure's name, in bytes.
const NAME_BYTES_MAX: usize = 200;
/// Methods that are steps of their own name.
const VERBS: [&str; 6] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];
/// Content type that Tsung sends with a body if the document names none.
const FORM: &str = "application/x-www-form-urlencoded";
/// Headers that follow from a request's body, which a scenario cannot write.
const FRAMING: [&str; 2] = ["content-length", "transfer-encoding"];

/// Settings around a request.
pub(super) struct Around {
    pub(super) subst: bool,
    subst_body: bool,
    tag: String,
    matches: Vec<Match>,
    pub(super) save: Map,
}

impl Around {
    /// Whether something is looked for in the answer.
    pub(super) fn looks(&self) -> bool {
        !self.matches.is_empty()
    }

    /// Names the measure of a message.
    pub(super) fn put_tag(&self, step: &mut Map) {
        if !self.tag.is_empty() {
            step.put("as", Item::Text(literal(&self.tag)));
        }
    }
}

impl Importer<'_> {
    pub(super) fn request(&mut self, node: Node<'_, '_>, steps: &mut Vec<Map>) {
        let subst = self.word(node, "subst", &["true", "false", "all_except_body"]);
        let mut around = Around {
            subst: subst.is_some_and(|word| word != "false"),
            subst_body: subst == Some("true"),
            tag: node.attribute("tag").unwrap_or_default().to_owned(),
            matches: Vec::new(),
            save: Map::new(opening(node)),
        };
        let protocol = elements(node)
            .find(|part| !["match", "dyn_variable"].contains(&part.tag_name().name()));
        let seen = match protocol.map(|part| part.tag_name().name().to_owned()).as_deref() {
            Some("websocket" | "raw" | "mqtt") => MatchSource::Message,
            _ => MatchSource::Response,
        };
        // Read last: the request itself cannot use what its response brings.
        let mut dynamic = Vec::new();
        for part in elements(node) {
            match part.tag_name().name() {
                "match" => {
                    let found = self.read_match(part, seen, &mut around.save);
                    around.matches.extend(found);
                }
                "dyn_variable" => dynamic.push(part),
                _ if Some(part) == protocol => {}
                _ => self.unknown_element(part),
            }
        }
        match protocol {
            Some(part) if part.tag_name().name() == "http" => {
                self.http(part, around, &dynamic, steps);
            }
            Some(part) if part.tag_name().name() == "websocket" => {
                self.websocket(part, around, &dynamic, steps);
            }
            Some(part) if part.tag_name().name() == "raw" => {
                self.raw(part, around, &dynamic, steps);
            }
            Some(part) if part.tag_name().name() == "mqtt" => {
                self.mqtt(part, &around, &dynamic, steps);
            }
            Some(part) => {
                for found in dynamic {
                    self.read_dyn_variable(found, seen, &mut around.save);
                }
                self.unknown_element(part);
            }
            None => {
                let message = "the request is empty".to_owned();
                self.diagnostics
                    .error("missing-element", opening(node), message)
                    .hint("write <http url=\"/\"/> in it");
            }
        }
    }

    fn http(
        &mut self,
        node: Node<'_, '_>,
        mut around: Around,
        dynamic: &[Node<'_, '_>],
        steps: &mut Vec<Map>,
    ) {
        self.known_attributes(node);
        let at = opening(node);
        let method = node.attribute("method").unwrap_or("GET").to_ascii_uppercase();
        let Some(written) = self.required(node, "url") else {
            return;
        };
        let url = self.url(written, around.subst, &value_at(node, "url"));
        let message = "a response with a status of 400 or above is an error here, but not in Tsung";
        self.diagnostics.differs("statuses", at.clone(), message);
        (self.has_http, self.session.has_http) = (true, true);
        let name = format!("{method} {url}");
        let mut step = match VERBS.contains(&method.as_str()) {
            true => Map::single(at.clone(), &method.to_ascii_lowercase(), Item::Text(url)),
            false => Map::single(at.clone(), "http", Item::Text(name.clone())),
        };
        let mut headers = self.http_headers(node, &around);
        let body = self.body(node, &around);
        let form = match &body {
            Some((_, kind)) if kind == FORM => node.attribute("contents").unwrap_or_default(),
            _ => "",
        };
        let signed = Signed { method: &method, url: written, form, subst: around.subst };
        if let Some(signature) = self.signature(node, &signed, steps) {
            headers.push(("authorization".to_owned(), signature));
        }
        if let Some((body, content_type)) = body {
            if !has(&headers, "content-type") {
                headers.insert(0, ("content-type".to_owned(), content_type));
            }
            put_headers(&mut step, &at, headers);
            step.put("body", Item::Text(body));
        } else {
            put_headers(&mut step, &at, headers);
        }
        self.put_identity(node, &around, &mut step);
        for part in dynamic {
            self.read_dyn_variable(*part, MatchSource::Response, &mut around.save);
        }
        let measure = self.named(&name, &around, &mut step);
        self.remember(measure, &around);
        if !around.save.entries.is_empty() {
            step.put("save", Item::Map(std::mem::take(&mut around.save)));
        }
        self.with_matches(step, |step, check| step.put("check", check), &around.matches, steps);
    }

    /// The measure's name, written down where the step's own would not do.
    fn named(&mut self, name: &str, around: &Around, step: &mut Map) -> String {
        let tagged =
            if around.tag.is_empty() { name.to_owned() } else { format!("{name} #{}", around.tag) };
        // A step's own name has no query.
        if tagged == name && name.len() <= NAME_BYTES_MAX && !name.contains('?') {
            return tagged;
        }
        let mut end = tagged.len().min(NAME_BYTES_MAX);
        while !tagged.is_char_boundary(end) {
            end -= 1;
        }
        let short = tagged[..end].to_owned();
        step.put("as", Item::Text(literal(&short)));
        short
    }

    fn remember(&mut self, measure: String, around: &Around) {
        if self.requests.iter().any(|known| known.measure == measure) {
            return;
        }
        self.requests.push(Request {
            measure,
            tag: around.tag.clone(),
            transaction: self.session.transactions.last().cloned().unwrap_or_default(),
            acts_on_match: around.matches.iter().find(|m| m.is_noted()).map(|m| m.on_match),
        });
    }

    /// A URL as the scenario holds it: below the target where it can be, else whole.
    fn url(&mut self, written: &str, subst: bool, at: &Range<usize>) -> String {
        let fixed = written.split('#').next().unwrap_or_default().trim();
        let fixed: String = fixed
            .chars()
            .map(|c| match c {
                ' ' => "%20".to_owned(),
                c if c.is_ascii() => c.to_string(),
                c => encoded(c),
            })
            .collect();
        if subst && fixed.starts_with("%%") {
            return self.template(&fixed, subst, Form::Raw, at);
        }
        let lower = fixed.to_ascii_lowercase();
        if lower.starts_with("http://") || lower.starts_with("https://") {
            let (scheme, rest) = fixed.split_once("://").unwrap_or(("http", &fixed));
            let end = rest.find(['/', '?']).unwrap_or(rest.len());
            let (authority, path) = rest.split_at(end);
            if subst && authority.contains("%%") {
                let message = "a host that differs between users".to_owned();
                self.diagnostics.lost(at.clone(), message);
                return "/".to_owned();
            }
            let scheme = scheme.to_ascii_lowercase();
            let port = if scheme == "https" { 443 } else { 80 };
            let bare = authority.rsplit(']').next().unwrap_or_default();
            let origin = if bare.contains(':') {
                format!("{scheme}://{authority}")
            } else {
                format!("{scheme}://{authority}:{port}")
            };
            self.go_to(origin);
            return self.below(path, subst, at);
        }
        self.below(&fixed, subst, at)
    }

    fn below(&mut self, path: &str, subst: bool, at: &Range<usize>) -> String {
        let slash = if path.starts_with('/') { "" } else { "/" };
        let path = self.template(path, subst, Form::Raw, at);
        let base = self.session.base.clone().unwrap_or_default();
        format!("{base}{slash}{path}")
    }

    fn http_headers(&mut self, node: Node<'_, '_>, around: &Around) -> Vec<(String, String)> {
        let mut headers = Vec::new();
        match &self.agents[..] {
            [] => {}
            [(_, one)] => headers.push(("user-agent".to_owned(), literal(one))),
            _ => headers.push(("user-agent".to_owned(), "${user_agent}".to_owned())),
        }
        if let Some(since) = node.attribute("if_modified_since") {
            headers.push(("if-modified-since".to_owned(), literal(since)));
        }
        if self.word(node, "version", &["1.0", "1.1"]) == Some("1.0") {
            let message = "requests are sent as HTTP/1.1, with `connection: close`".to_owned();
            self.diagnostics.ignored(value_at(node, "version"), message);
            headers.push(("connection".to_owned(), "close".to_owned()));
        }
        for part in elements(node) {
            self.known_attributes(part);
            match part.tag_name().name() {
                "http_header" => {
                    let name = self.required(part, "name");
                    let value = part.attribute("value");
                    if part.has_attribute("encoding") {
                        let message = "a header's encoding is not supported".to_owned();
                        self.diagnostics.lost(value_at(part, "encoding"), message);
                    }
                    let at = value_at(part, "value");
                    let value = value.unwrap_or_default();
                    let value = self.template(value, around.subst, Form::Plain, &at);
                    if name.is_some_and(|name| name.eq_ignore_ascii_case("cookie")) {
                        let message = "a `Cookie` header replaces the cookies that the server set; Tsung sends both";
                        self.diagnostics.differs("cookie-header", value_at(part, "name"), message);
                    }
                    let is_framing =
                        |name: &str| FRAMING.iter().any(|own| name.eq_ignore_ascii_case(own));
                    if name.is_some_and(is_framing) {
                        let message = "the length of a body is counted".to_owned();
                        self.diagnostics.ignored(value_at(part, "name"), message);
                    } else if let Some(name) = name {
                        headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
                        headers.push((name.to_owned(), value));
                    }
                }
                "soap" => {
                    if let Some(action) = self.required(part, "action") {
                        let value = format!("\"{}\"", literal(action));
                        headers.push(("soapaction".to_owned(), value));
                    }
                }
                // These are credentials and cookies of the user, not headers.
                "add_cookie" | "oauth" | "www_authenticate" => {}
                _ => self.unknown_element(part),
            }
        }
        headers
    }

    /// Cookies and credentials of the request itself.
    fn put_identity(&mut self, node: Node<'_, '_>, around: &Around, step: &mut Map) {
        let mut cookies = Map::new(opening(node));
        for part in elements(node) {
            match part.tag_name().name() {
                "add_cookie" => {
                    let key = self.required(part, "key");
                    let value = self.required(part, "value");
                    let (Some(key), Some(value)) = (key, value) else {
                        continue;
                    };
                    let at = value_at(part, "value");
                    let value = self.template(value, around.subst, Form::Plain, &at);
                    match cookies.get_mut(key) {
                        Some(known) => *known = Item::Text(value),
                        None => cookies.put(key, Item::Text(value)),
                    }
                }
                "www_authenticate" => {
                    if let Some(auth) = self.credentials(part, around) {
                        step.put("auth", Item::Map(auth));
                    }
                }
                _ => {}
            }
        }
        if !cookies.entries.is_empty() {
            step.put("cookies", Item::Map(cookies));
        }
    }

    /// Basic credentials, or those that answer a challenge.
    fn credentials(&mut self, node: Node<'_, '_>, around: &Around) -> Option<Map> {
        let user = self.required(node, "userid");
        let password = self.required(node, "passwd");
        let user = user?;
        let password = password?;
        let kind = self.word(node, "type", &["basic", "digest"]);
        let kind = kind.unwrap_or("basic");
        if kind == "digest" {
            let message = "the request fetches and answers its challenge itself, as one operation; an earlier request that fetches it is not needed";
            self.diagnostics.differs("digest", opening(node), message);
        }
        let mut who = Map::new(opening(node));
        for (key, text, at) in [
            ("user", user, value_at(node, "userid")),
            ("password", password, value_at(node, "passwd")),
        ] {
            let text = self.template(text, around.subst, Form::Plain, &at);
            who.put(key, Item::Text(text));
        }
        Some(Map::single(opening(node), kind, Item::Map(who)))
    }

    /// The body and its content type.
    fn body(&mut self, node: Node<'_, '_>, around: &Around) -> Option<(String, String)> {
        let content_type = node.attribute("content_type").unwrap_or(FORM);
        let content_type = self.template(content_type, around.subst, Form::Plain, &(0..0));
        let subst = around.subst && around.subst_body;
        if let Some(name) = node.attribute("contents_from_file") {
            let at = value_at(node, "contents_from_file");
            return match (self.files)(name) {
                Ok(text) => {
                    let body = self.template(&text, subst, Form::Plain, &at);
                    Some((body, content_type))
                }
                Err(why) => {
                    let message = format!("the file {name:?} cannot be read: {why}");
                    self.diagnostics.error("missing-file", at, message);
                    None
                }
            };
        }
        let contents = node.attribute("contents")?;
        let at = value_at(node, "contents");
        let body = self.template(contents, subst, Form::Plain, &at);
        Some((body, content_type))
    }

    fn websocket(
        &mut self,
        node: Node<'_, '_>,
        mut around: Around,
        dynamic: &[Node<'_, '_>],
        steps: &mut Vec<Map>,
    ) {
        self.known_attributes(node);
        let at = opening(node);
        self.required(node, "type");
        let kind = self.word(node, "type", &["connect", "message", "close"]);
        let text: String = node.children().filter_map(|child| child.text()).collect();
        let text_at = node.first_child().map_or_else(|| at.clone(), |child| child.range());
        match kind {
            Some("connect") => {
                if self.session.has_http {
                    let message = "the handshake sends the user's cookies; Tsung's sends none";
                    self.diagnostics.differs("handshakes", at.clone(), message);
                }
                let path = node.attribute("path").unwrap_or(&self.websocket_path).to_owned();
                let url = self.url(&path, around.subst, &value_at(node, "path"));
                let mut step = Map::single(at.clone(), "ws", Item::Text(url));
                let mut headers = Vec::new();
                for (name, header) in
                    [("origin", "origin"), ("subprotocols", "sec-websocket-protocol")]
                {
                    if let Some(value) = node.attribute(name).filter(|value| !value.is_empty()) {
                        headers.push((header.to_owned(), literal(value)));
                    }
                }
                put_headers(&mut step, &at, headers);
                steps.push(step);
                return;
            }
            Some("close") => {
                steps.push(Map::single(at, "close", Item::Nothing));
                return;
            }
            _ => {}
        }
        let payload = self.template(&text, around.subst, Form::Plain, &text_at);
        for part in dynamic {
            self.read_dyn_variable(*part, MatchSource::Message, &mut around.save);
        }
        let frame = self.word(node, "frame", &["binary", "text"]);
        let binary = frame.map_or(!self.websocket_text, |frame| frame == "binary");
        let waits = self.word(node, "ack", &["no_ack", "parse"]) != Some("no_ack");
        let mut step = Map::single(at.clone(), "send", Item::Text(payload));
        if binary {
            step.put("binary", Item::Bare("true".to_owned()));
        }
        self.answered(step, waits, around, steps);
    }

    /// Adds a message's step; where the user waits, the next message is the answer, whatever it
    /// says.
    pub(super) fn answered(
        &mut self,
        mut step: Map,
        waits: bool,
        around: Around,
        steps: &mut Vec<Map>,
    ) {
        if !waits {
            // It takes no time, so it must not be among those that wait.
            let tag = if around.tag.is_empty() { "send" } else { &around.tag };
            step.put("as", Item::Text(literal(&format!("{tag} (no_ack)"))));
            steps.push(step);
            return;
        }
        around.put_tag(&mut step);
        let Around { save, matches, .. } = around;
        let mut reply = Map::new(step.at.clone());
        if !save.entries.is_empty() {
            reply.put("save", Item::Map(save));
        }
        step.put("reply", Item::Map(reply));
        let checks = |step: &mut Map, check: Item| step.sub("reply").put("check", check);
        self.with_matches(step, checks, &matches, steps);
    }
}

fn has(headers: &[(String, String)], name: &str) -> bool {
    headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name))
}

fn put_headers(step: &mut Map, at: &Range<usize>, headers: Vec<(String, String)>) {
    if headers.is_empty() {
        return;
    }
    let mut map = Map::new(at.clone());
    for (name, value) in headers {
        map.put(&name, Item::Text(value));
    }
    step.put("headers", Item::Map(map));
}

/// Percent-encoded UTF-8.
fn encoded(c: char) -> String {
    let mut bytes = [0; 4];
    let bytes = c.encode_utf8(&mut bytes).bytes();
    bytes.map(|byte| format!("%{byte:02X}")).collect()
}
