//! Calls of gRPC: the files that define them, and the step.

mod files;
mod message;
mod places;
mod streams;

use std::sync::Arc;

use crate::keys::GRPC_FILES;
use grpc::{Method, Schema};
use plan::calls::{Call, Payload};
use plan::expr::Template;
use plan::{HttpOp, HttpVersion, MeasureKind, Op, Options, StatusRule};

use super::Checker;
use super::fields::Fields;
use super::headers::add_absent;
use super::matching::SaveScope;
use super::program::Program;
use crate::document::node::{Node, Place};

/// A method of the schema.
struct CalledMethod {
    method: Method,
    /// `/package.Service/Method`, with the URL of another host in front.
    url: String,
    name: String,
}

impl Checker<'_> {
    /// `grpc`: compiles the files that define the services.
    pub(super) fn grpc_files(&mut self, node: &Node) {
        let Some(fields) = self.fields(node, &GRPC_FILES, "`grpc`") else {
            return;
        };
        let mut folders = Vec::new();
        match fields.get("import_paths") {
            None => folders.push(String::new()),
            Some(node) => {
                for item in self.one_or_more(node) {
                    let word = self.word(item, "a directory");
                    folders.extend(word.map(|word| folder(&word.text)));
                }
            }
        }
        let Some(protos) = fields.get("protos") else {
            return;
        };
        let mut names = Vec::new();
        let mut place = None;
        for item in self.one_or_more(protos) {
            if let Some(word) = self.word(item, "a file's name") {
                let name = word.text.strip_prefix("./").unwrap_or(&word.text);
                names.push(name.to_owned());
                place.get_or_insert(word.place);
            }
        }
        match files::compile(&names, &folders, self.settings.files) {
            Ok(schema) => self.schema = Some(Arc::new(schema)),
            Err(problem) => {
                let place = place.unwrap_or_else(|| protos.place.clone());
                self.diagnostics.error("bad-proto", &place, problem.message).hint(problem.hint);
                // Calls are not blamed for a file that does not compile.
                self.schema = None;
                self.has_bad_protos = true;
            }
        }
    }

    /// Calls are made over HTTP/2. `written`: where another version is chosen.
    pub(super) fn require_http2(&mut self, written: Option<&Node>, options: &mut Options) {
        if options.http == HttpVersion::Http2 {
            return;
        }
        if let Some(node) = written {
            self.diagnostics
                .error("needs-http2", &node.place, "gRPC is spoken over HTTP/2 alone")
                .hint("write `http: 2`, or leave it out: a scenario with `grpc` has it by default");
        }
        options.http = HttpVersion::Http2;
    }

    pub(super) fn grpc(&mut self, node: &Node, fields: &Fields<'_>, program: &mut Program) {
        let Some(word) = self.word(node, "a method: package.Service/Method") else {
            return;
        };
        let Some(schema) = self.known_schema(&word.place) else {
            return;
        };
        let Some(found) = self.method_named(&schema, &word.text, &word.place) else {
            return;
        };
        if found.method.client_streams || found.method.server_streams {
            if let Some(place) = self.place_in_branch("grpc", fields, program) {
                self.stays_open(&place);
                return;
            }
            return self.open_call(&schema, &found, fields, &word.place, program);
        }
        let deadline_ns = fields.get("deadline").and_then(|node| self.duration_ns(node));
        let (headers, call) = self.call(&schema, &found.method, deadline_ns, fields, program);
        self.check_places(&schema, found.method.reply, fields);
        let save = self.saves(fields.get("save"), SaveScope::Response, program);
        let check = self.conditions(fields.get("check"), program);
        let measure = match fields.get("as") {
            Some(_) => self.measure_from(fields, "as", &found.name, MeasureKind::Request),
            None => self.measure(&found.name, MeasureKind::Request, &word.place),
        };
        let timeout_ns = self.timeout(fields.get("timeout"));
        let timeout_ns = deadline_ns.map_or(timeout_ns, |deadline_ns| timeout_ns.min(deadline_ns));
        let location = self.split_location(Template::fixed(&found.url), &word.place);
        let (Some(location), Some(call)) = (location, call) else {
            return;
        };
        program.push(Op::Http(Box::new(HttpOp {
            endpoint: location.endpoint,
            method: "POST".to_owned(),
            path: location.path,
            located_by: None,
            by_script: false,
            headers,
            own_cookies: Vec::new(),
            body: None,
            continue_ns: 0,
            graphql: None,
            call: Some(Box::new(call)),
            redirects: 0,
            decodes: false,
            digest: None,
            sign: None,
            measure,
            status: StatusRule::BelowFourHundred,
            save,
            check,
            timeout_ns,
        })));
    }

    /// The schema that the files define; reports if there are none.
    fn known_schema(&mut self, place: &Place) -> Option<Arc<Schema>> {
        if self.schema.is_none() && !self.has_bad_protos {
            self.diagnostics
                .error("no-protos", place, "no `.proto` file defines this method")
                .hint("name the files: `grpc: { protos: [service.proto] }` beside `target`");
        }
        self.schema.clone()
    }

    /// The messages that a call sends, and the replies that it takes.
    fn call(
        &mut self,
        schema: &Schema,
        method: &Method,
        deadline_ns: Option<u64>,
        fields: &Fields<'_>,
        program: &Program,
    ) -> (Vec<(String, Template)>, Option<Call>) {
        let message = self.call_message(schema, method.request, fields.get("message"), program);
        let compress = match fields.get_or_default("gzip") {
            Some(node) => self.bool(&node).unwrap_or(false),
            None => false,
        };
        let headers = self.call_headers(fields, compress, deadline_ns, program);
        let statuses = self.call_statuses(fields);
        let expect = self.matches(fields.get("expect"), program);
        let call = message.map(|message| Call {
            message,
            compress,
            request: method.request,
            reply: method.reply,
            statuses,
            expect,
            deadline_ns,
        });
        (headers, call)
    }

    /// The method of this name; reports a service or method that is none.
    fn method_named(&mut self, schema: &Schema, text: &str, place: &Place) -> Option<CalledMethod> {
        let (url, rest) = match text.split_once("://") {
            Some((scheme, rest)) => {
                let (host, rest) = rest.split_once('/').unwrap_or((rest, ""));
                (format!("{scheme}://{host}/"), rest)
            }
            None => ("/".to_owned(), text.strip_prefix('/').unwrap_or(text)),
        };
        let (service, method) = rest.rsplit_once('/').unwrap_or((rest, ""));
        let Some(known) = schema.service(service) else {
            let message = format!("there is no service `{service}`");
            let names = schema.services.iter().map(|own| own.name.as_str());
            let written = service;
            let introduction = "the services are";
            self.unknown("unknown-service", place, message, written, introduction, names);
            return None;
        };
        let Some(found) = known.methods.iter().find(|own| own.name == method) else {
            let message = match method {
                "" => format!("the method of `{service}` is missing"),
                _ => format!("the service `{service}` has no method `{method}`"),
            };
            let names = known.methods.iter().map(|own| own.name.as_str());
            let written = method;
            let introduction = "its methods are";
            self.unknown("unknown-method", place, message, written, introduction, names);
            return None;
        };
        Some(CalledMethod {
            method: found.clone(),
            url: format!("{url}{service}/{method}"),
            name: format!("{service}/{method}"),
        })
    }

    fn call_message(
        &mut self,
        schema: &Schema,
        message: u32,
        node: Option<&Node>,
        program: &Program,
    ) -> Option<Payload> {
        match node.filter(|node| !node.is_null()) {
            None => Some(Payload::default()),
            Some(node) => self.message_of(schema, message, node, program),
        }
    }

    /// The headers of a call.
    fn call_headers(
        &mut self,
        fields: &Fields<'_>,
        compress: bool,
        deadline_ns: Option<u64>,
        program: &Program,
    ) -> Vec<(String, Template)> {
        let own = |name: &str, value: &str| (name.to_owned(), Template::fixed(value));
        let mut headers = vec![own("te", "trailers"), own("content-type", "application/grpc")];
        if let Some(deadline_ns) = deadline_ns {
            headers.push(own("grpc-timeout", &grpc::timeout_text(deadline_ns)));
        }
        if compress {
            headers.push(own("grpc-encoding", "gzip"));
            headers.push(own("grpc-accept-encoding", "gzip"));
        }
        let entries = fields.get("metadata").and_then(Node::mapping);
        for entry in entries.unwrap_or_default() {
            if grpc::is_reserved(&entry.key) {
                let message = format!("`{}` is not metadata: gRPC sets it itself", entry.key);
                let hint = match entry.key.eq_ignore_ascii_case("grpc-timeout") {
                    true => "write `deadline`",
                    false => "choose another name",
                };
                self.diagnostics.error("bad-header", &entry.key_place, message).hint(hint);
            }
        }
        headers.extend(self.named_values(fields.get("metadata"), "header", program));
        self.add_auth(fields, &mut headers, program);
        for (name, value) in &self.headers {
            if !grpc::is_reserved(name) {
                add_absent(&mut headers, name, value);
            }
        }
        headers
    }

    /// Statuses that are no error.
    fn call_statuses(&mut self, fields: &Fields<'_>) -> Vec<u8> {
        let Some(node) = fields.get_or_default("status") else {
            return vec![grpc::OK];
        };
        let items = self.one_or_more(&node);
        let mut codes = Vec::new();
        for item in items {
            let Some(word) = self.word(item, "a status like NOT_FOUND") else {
                continue;
            };
            match grpc::code_named(&word.text) {
                Some(code) => codes.push(code),
                None => {
                    let message = format!("`{}` is not a status of gRPC", word.text);
                    let written = word.text.as_str();
                    let introduction = "the statuses are";
                    let names = grpc::STATUSES.iter().copied();
                    self.unknown("bad-status", &word.place, message, written, introduction, names);
                }
            }
        }
        codes
    }
}

/// A directory as it stands before a name.
fn folder(text: &str) -> String {
    let text = text.strip_prefix("./").unwrap_or(text).trim_end_matches('/');
    match text {
        "" | "." => String::new(),
        folder => format!("{folder}/"),
    }
}
