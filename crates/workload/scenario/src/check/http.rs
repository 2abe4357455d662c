//! HTTP steps.

use crate::keys::HTTP_REQUEST;
use plan::expr::template::Builder;
use plan::expr::{Escape, Template, TemplatePart};
use plan::graphql::Answer;
use plan::{Aws, Digest, HttpOp, MeasureKind, Op, StatusRule};
use units::parse::UnitError;

use super::auth::Auth;
use super::fields::Fields;
use super::headers::{FRAMING, add_absent, has};
use super::location::{Location, without_query};
use super::matching::SaveScope;
use super::program::Program;
use super::{Checker, translation};
use crate::document::node::{Node, Place};

/// Content types accepted for answers of GraphQL (GraphQL over HTTP, section 4).
const GRAPHQL_TYPES: &str = "application/graphql-response+json, application/json;q=0.9";

/// The beginning of content types of bodies with several parts.
const MULTIPART: &str = "multipart/";

/// The method and address of a request, before its other keys.
pub(super) struct Line<'n> {
    pub(super) method: String,
    pub(super) url: &'n Node,
    /// The measure's name: `GET /path` as written, without a query, which may hold a secret.
    pub(super) name: String,
    pub(super) location: Option<Location>,
}

/// The content that a request sends, and the one that it wants.
pub(super) struct Content {
    pub(super) body: Option<Template>,
    pub(super) content_type: Option<String>,
    /// How long the body waits for the server's consent; 0: it does not.
    pub(super) continue_ns: u64,
    /// The body is an operation of GraphQL.
    pub(super) graphql: Option<Answer>,
}

/// A request's head without its first line.
struct Head {
    headers: Vec<(String, Template)>,
    own_cookies: Vec<String>,
    digest: Option<Box<Digest>>,
    sign: Option<Box<Aws>>,
}

impl Checker<'_> {
    pub(super) fn http(
        &mut self,
        verb: &str,
        value: &Node,
        fields: &Fields<'_>,
        program: &mut Program,
    ) {
        if verb == "http" && value.mapping().is_some() {
            self.http_mapping(value, fields, program);
            return;
        }
        let line = if verb == "http" {
            self.short_line(value, program)
        } else {
            self.line(verb.to_ascii_uppercase(), value, program)
        };
        if let Some(line) = line {
            self.request(&line, fields, program);
        }
    }

    /// `http: { method, url, … }`; everything stands inside.
    fn http_mapping(&mut self, value: &Node, outer: &Fields<'_>, program: &mut Program) {
        if let Some(place) = outer.other_than("http") {
            self.diagnostics
                .error("misplaced-key", place, "this belongs inside the `http` mapping")
                .hint("write every key of the request inside, or use `get: /path` and the like");
        }
        let Some(fields) = self.fields(value, &HTTP_REQUEST, "`http`") else {
            return;
        };
        let method = match fields.get_or_default("method") {
            Some(node) => self.method(&node),
            None => None,
        };
        if let (Some(method), Some(url)) = (method, fields.get("url"))
            && let Some(line) = self.line(method, url, program)
        {
            self.request(&line, &fields, program);
        }
    }

    /// `GET /path`, or a path alone.
    fn short_line<'n>(&mut self, value: &'n Node, program: &Program) -> Option<Line<'n>> {
        let Some(text) = value.text().filter(|_| !value.is_null()) else {
            self.expected(value, "`GET /path` or a mapping");
            return None;
        };
        let Some((method, url)) = text.split_once(' ') else {
            if text.bytes().all(|byte| byte.is_ascii_uppercase()) {
                self.diagnostics
                    .error("bad-url", &value.place, "the path is missing")
                    .hint(format!("write `{text} /path`"));
                return None;
            }
            return self.line("GET".to_owned(), value, program);
        };
        if !method.bytes().all(is_token_byte) {
            self.bad_method(method, &value.part(&(0..method.len())));
            return None;
        }
        let method = method.to_ascii_uppercase();
        let name = format!("{method} {}", without_query(url.trim_start()));
        self.note_values(value);
        let template = self.template(value, Escape::Url, program)?;
        let mut path = Builder::default();
        for (index, part) in template.parts.into_iter().enumerate() {
            match part {
                TemplatePart::Text(text) if index == 0 => {
                    path.push_text(text.split_once(' ').map_or("", |(_, url)| url).trim_start());
                }
                TemplatePart::Text(text) => path.push_text(&text),
                TemplatePart::Bytes(bytes) => path.push_bytes(bytes),
                TemplatePart::Expr(expr, escape) => path.push_expr(expr, escape),
            }
        }
        let location = self.split_location(path.finish(), &value.place);
        Some(Line { method, url: value, name, location })
    }

    fn line<'n>(&mut self, method: String, url: &'n Node, program: &Program) -> Option<Line<'n>> {
        let Some(text) = url.text().filter(|_| !url.is_null()) else {
            self.expected(url, "a path like /status");
            return None;
        };
        let name = format!("{method} {}", without_query(text));
        let location = self.location(url, program);
        Some(Line { method, url, name, location })
    }

    fn method(&mut self, node: &Node) -> Option<String> {
        let word = self.word(node, "a method")?;
        if word.text.bytes().all(is_token_byte) {
            return Some(word.text.to_ascii_uppercase());
        }
        self.bad_method(&word.text, &word.place);
        None
    }

    fn bad_method(&mut self, method: &str, place: &Place) {
        self.diagnostics
            .error("bad-method", place, format!("`{method}` is not an HTTP method"))
            .hint("write it like `GET /path`");
    }

    fn request(&mut self, line: &Line<'_>, fields: &Fields<'_>, program: &mut Program) {
        let (body, content_type) = self.body(fields, program);
        let content = Content {
            continue_ns: self.continue_ns(fields, body.is_some()),
            body,
            content_type,
            graphql: None,
        };
        self.request_with(line, content, fields, program);
    }

    /// A request that sends this.
    pub(super) fn request_with(
        &mut self,
        line: &Line<'_>,
        content: Content,
        fields: &Fields<'_>,
        program: &mut Program,
    ) {
        let Content { body, content_type, continue_ns, graphql } = content;
        let accept = graphql.as_ref().map(|_| GRAPHQL_TYPES.to_owned());
        let made = [("content-type", content_type), ("accept", accept)];
        let Head { headers, own_cookies, digest, sign } =
            self.request_head(fields, &made, continue_ns > 0, program);
        self.only_signed(sign.as_deref(), &headers, &line.url.place);
        self.note_defaults(fields);
        let encoding =
            headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("accept-encoding"));
        let decodes = encoding.is_some_and(|(_, value)| value.as_static() != Some("identity"));
        let status = self.status_rule(fields.get("status"));
        let save = self.saves(fields.get("save"), SaveScope::Response, program);
        let redirects = self.redirects_of(fields, &status, &save);
        let check = self.conditions(fields.get("check"), program);
        let name = line.name.clone();
        let measure = match fields.get("as") {
            Some(_) => self.measure_from(fields, "as", &name, MeasureKind::Request),
            None => self.measure(&name, MeasureKind::Request, &line.url.place),
        };
        let timeout_ns = self.timeout(fields.get("timeout"));
        let Some(Location { endpoint, path, located_by }) = line.location.clone() else {
            return;
        };
        program.push(Op::Http(Box::new(HttpOp {
            endpoint,
            method: line.method.clone(),
            path,
            located_by,
            by_script: false,
            headers,
            own_cookies,
            body,
            continue_ns,
            call: None,
            graphql,
            redirects,
            decodes,
            digest,
            sign,
            measure,
            status,
            save,
            check,
            timeout_ns,
        })));
    }

    /// How long the body waits for the server's consent; 0: it does not.
    fn continue_ns(&mut self, fields: &Fields<'_>, has_body: bool) -> u64 {
        let Some(node) = fields.get("expect") else {
            return 0;
        };
        let status = node.text().filter(|text| status_range(text).is_ok());
        if node.scalar().is_none() || status.is_some() {
            // What other tools call so.
            let message = "a request expects `100-continue` alone";
            let hint = match status {
                Some(status) => format!("write `status: {status}`"),
                None => "write `status: 200` for the status, and `check: CONDITION` for values that `save` took".to_owned(),
            };
            self.diagnostics.error("bad-expect", &node.place, message).hint(hint);
            return 0;
        }
        let hint = "remove the header";
        self.made_elsewhere(fields.get("headers"), &["expect"], "the key `expect`", hint);
        if self.choice(node, crate::keys::EXPECTATIONS).is_some() && !has_body {
            self.diagnostics
                .error("bad-expect", &node.place, "this request has no body to wait with")
                .hint("give it `body`, `json`, `form` or `multipart`, or remove `expect`");
        }
        self.continue_ns
    }

    /// Compiles a request's head without its first line. `made`: what the step adds by itself; `expects`: the engine
    /// adds an `expect`.
    fn request_head(
        &mut self,
        fields: &Fields<'_>,
        made: &[(&str, Option<String>)],
        expects: bool,
        program: &mut Program,
    ) -> Head {
        let mut headers = self.headers(fields.get("headers"), program);
        let own_cookies = self.own_cookies(fields, &mut headers, program);
        for (name, value) in made {
            if let Some(value) = value {
                add_absent(&mut headers, name, &Template::fixed(value));
            }
        }
        self.one_authorization(fields, &headers);
        let mut digest = None;
        let sign = self.sign_of(fields, program);
        let auth = match &sign {
            Some(_) => None,
            None => self.auth_of(fields, program),
        };
        match auth {
            Some(Auth::Header(value)) => add_absent(&mut headers, "authorization", &value),
            // A request with an `authorization` of its own answers no challenge by another one.
            Some(Auth::Challenge(who)) if !has(&headers, "authorization") => {
                digest = Some(Box::new(who));
            }
            Some(Auth::Challenge(_)) | None => {}
        }
        // What the engine adds is there already.
        let is_taken = |name: &str| {
            expects && name.eq_ignore_ascii_case("expect")
                || digest.is_some() && name.eq_ignore_ascii_case("authorization")
        };
        for (name, value) in &self.headers {
            if !is_taken(name) {
                add_absent(&mut headers, name, value);
            }
        }
        if let Some(codings) = &self.accept_encoding {
            add_absent(&mut headers, "accept-encoding", codings);
        }
        Head { headers, own_cookies, digest, sign }
    }

    /// A step's own timeout, or the run's.
    pub(super) fn timeout(&mut self, node: Option<&Node>) -> u64 {
        node.and_then(|node| self.duration_ns(node)).unwrap_or(self.timeout_ns)
    }

    /// The body and the content type that goes with it.
    fn body(
        &mut self,
        fields: &Fields<'_>,
        program: &Program,
    ) -> (Option<Template>, Option<String>) {
        let written: Vec<_> = ["body", "json", "form", "multipart"]
            .into_iter()
            .filter(|key| fields.get(key).is_some())
            .collect();
        if let [first, second, ..] = written[..]
            && let Some(place) = fields.key_place(second)
        {
            let message = format!("a request cannot have both `{first}` and `{second}`");
            self.diagnostics.error("two-bodies", place, message);
        }
        if let Some(node) = fields.get("json") {
            self.no_multipart_type(fields, "json");
            self.note_json_text(node);
            return (self.json(node, program), Some("application/json".to_owned()));
        }
        if let Some(node) = fields.get("form") {
            self.no_multipart_type(fields, "form");
            return (
                self.form(node, program),
                Some("application/x-www-form-urlencoded".to_owned()),
            );
        }
        if let Some(node) = fields.get("multipart") {
            let hint =
                "remove it: it has to name the boundary of the parts, which `multipart` chooses";
            self.made_elsewhere(fields.get("headers"), &["content-type"], "`multipart`", hint);
            return self.multipart(node, program).unzip();
        }
        let text = fields.get("body").and_then(|node| {
            if node.scalar().is_none() {
                self.expected(node, "text");
                self.diagnostics.last_hint(structured_body(node));
                return None;
            }
            self.note_values(node);
            self.template(node, Escape::None, program)
        });
        (text, None)
    }

    /// Warns of a text that looks like JSON: as a value of JSON it is sent in quotes.
    fn note_json_text(&mut self, node: &Node) {
        let Some(scalar) = node.scalar().filter(|scalar| scalar.quoted) else {
            return;
        };
        let text = scalar.text.trim();
        let is_json = (text.starts_with('{') && text.ends_with('}'))
            || (text.starts_with('[') && text.ends_with(']'));
        if !is_json || text.starts_with("${") {
            return;
        }
        let hint = match text.contains('\n') || text.contains("${") {
            false => format!("write it without quotes: `json: {text}`"),
            true => "write it as a mapping, without quotes".to_owned(),
        };
        self.diagnostics
            .warning("json-text", &node.place, "this is sent as a JSON text, in quotes")
            .hint(hint);
    }

    /// Reports a content type of several parts for a body that has none. `key`: what the body is written as.
    pub(super) fn no_multipart_type(&mut self, fields: &Fields<'_>, key: &str) {
        let entries = fields.get("headers").and_then(Node::mapping).unwrap_or_default();
        for entry in entries {
            let value = entry.value.text().unwrap_or_default().trim_start();
            let is_multipart = value
                .get(..MULTIPART.len())
                .is_some_and(|front| front.eq_ignore_ascii_case(MULTIPART));
            if entry.key.eq_ignore_ascii_case("content-type") && is_multipart {
                let message =
                    format!("the body of `{key}` has no parts, which this type announces");
                self.diagnostics
                    .error("bad-header", &entry.value.place, message)
                    .hint("write the body as `multipart`, or remove the header");
            }
        }
    }

    /// `application/x-www-form-urlencoded`, with `%20` for blanks.
    fn form(&mut self, node: &Node, program: &Program) -> Option<Template> {
        let Some(entries) = node.mapping() else {
            self.expected(node, "a mapping of names and values");
            return None;
        };
        let mut out = Builder::default();
        for (index, entry) in entries.iter().enumerate() {
            self.note_named(&entry.key, &entry.value);
            out.push_text(if index > 0 { "&" } else { "" });
            out.push_text(&url_text(&entry.key));
            out.push_text("=");
            for part in self.template(&entry.value, Escape::None, program)?.parts {
                match part {
                    TemplatePart::Text(text) => out.push_text(&url_text(&text)),
                    TemplatePart::Bytes(bytes) => out.push_bytes(bytes),
                    TemplatePart::Expr(expr, _) => out.push_expr(expr, Escape::Url),
                }
            }
        }
        Some(out.finish())
    }

    /// Headers in their order; reports names and values that cannot be sent.
    pub(super) fn headers(
        &mut self,
        node: Option<&Node>,
        program: &Program,
    ) -> Vec<(String, Template)> {
        let hint = "remove it: it follows from the body";
        self.made_elsewhere(node, FRAMING, "every request", hint);
        self.named_values(node, "header", program)
    }

    /// Names and values that stand in a request's head; `what` they are.
    pub(super) fn named_values(
        &mut self,
        node: Option<&Node>,
        what: &str,
        program: &Program,
    ) -> Vec<(String, Template)> {
        let Some(node) = node else { return Vec::new() };
        let Some(entries) = node.mapping() else {
            self.expected(node, &format!("a mapping of {what} names and values"));
            if let Some(pairs) = translation::pairs_meant(node) {
                self.diagnostics.last_hint(format!("write `{what}s: {pairs}`"));
            }
            return Vec::new();
        };
        let mut values = Vec::new();
        for entry in entries {
            self.token(&entry.key, what, &entry.key_place);
            self.note_header(if what == "cookie" { what } else { &entry.key }, &entry.value);
            let Some(value) = self.template(&entry.value, Escape::None, program) else {
                continue;
            };
            let control = |part: &TemplatePart| match part {
                TemplatePart::Text(text) => text.chars().any(|c| c.is_control() && c != '\t'),
                TemplatePart::Bytes(_) | TemplatePart::Expr(..) => false,
            };
            if value.parts.iter().any(control) {
                let message =
                    format!("a {what}'s value cannot hold line breaks or control characters");
                self.diagnostics.error("bad-header", &entry.value.place, message);
            }
            values.push((entry.key.clone(), value));
        }
        values
    }

    /// Adds the cookies that a step gives itself, as a header; their names.
    fn own_cookies(
        &mut self,
        fields: &Fields<'_>,
        headers: &mut Vec<(String, Template)>,
        program: &Program,
    ) -> Vec<String> {
        let written = self.named_values(fields.get("cookies"), "cookie", program);
        if written.is_empty() {
            return Vec::new();
        }
        if let (true, Some(place)) = (has(headers, "cookie"), fields.key_place("cookies")) {
            self.diagnostics.error(
                "misplaced-key",
                place,
                "a request has either `cookies` or a header `cookie`",
            );
        }
        let mut line = Builder::default();
        let mut names = Vec::new();
        for (name, value) in written {
            line.push_text(if names.is_empty() { "" } else { "; " });
            line.push_text(&format!("{name}="));
            line.push(value);
            names.push(name);
        }
        add_absent(headers, "cookie", &line.finish());
        names
    }

    /// RFC 9110 section 5.6.2 and RFC 6265 section 4.1.1: names of headers and cookies are tokens.
    pub(super) fn token(&mut self, name: &str, what: &str, place: &Place) {
        if name.is_empty() || !name.bytes().all(is_token_byte) {
            let message = format!("`{name}` cannot be a {what}'s name");
            self.diagnostics
                .error("bad-header", place, message)
                .hint("use only letters, digits and -");
        }
    }

    pub(super) fn status_rule(&mut self, node: Option<&Node>) -> StatusRule {
        let Some(node) = node else {
            return StatusRule::BelowFourHundred;
        };
        let items = self.one_or_more(node);
        let code = "bad-status";
        let what = "a status like 200, 2xx or 200..204";
        let ranges =
            items.iter().filter_map(|item| self.unit(item, code, what, status_range)).collect();
        StatusRule::Ranges(ranges)
    }
}

/// Advice on a body that is a mapping or a list.
fn structured_body(node: &Node) -> String {
    let shown = translation::in_one_line(node).unwrap_or_else(|| "…".to_owned());
    match node.mapping() {
        Some(_) => format!("write `json: {shown}`, or `form: {shown}` for a form"),
        None => format!("write `json: {shown}`"),
    }
}

/// `200`, `2xx` or `200..204`, as an inclusive range.
pub(super) fn status_range(text: &str) -> Result<(u16, u16), UnitError> {
    let one = |text: &str| text.parse::<u16>().ok().filter(|s| (100..1000).contains(s));
    let found = match text.split_once("..") {
        Some((low, high)) => one(low).zip(one(high)).filter(|(low, high)| low <= high),
        None => match text.strip_suffix("xx") {
            Some(class) => class
                .parse()
                .ok()
                .filter(|class| (1..=9).contains(class))
                .map(|class: u16| (class * 100, class * 100 + 99)),
            None => one(text).map(|status| (status, status)),
        },
    };
    found.ok_or_else(|| UnitError {
        message: format!("`{text}` is not an HTTP status"),
        hint: "write statuses like 200, 2xx or 200..204".to_owned(),
    })
}

/// RFC 9110 section 5.6.2.
pub fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

fn url_text(text: &str) -> String {
    let mut out = Vec::new();
    plan::expr::Value::text(text).write_escaped(Escape::Url, &mut out);
    String::from_utf8_lossy(&out).into_owned()
}
