//! WebSocket steps, and messages over whatever carries them.

use crate::keys::{COMPRESS, EXPECT, WEBSOCKET};
use plan::expr::{Escape, Template};
use plan::graphql::Answer;
use plan::{
    Expect, Match, MatchTest, MeasureId, MeasureKind, Op, Payload, Protocol, SendOp, Source, WsOpen,
};
use proto::ws::Offer;

use super::Checker;
use super::fields::Fields;
use super::matching::SaveScope;
use super::program::Program;
use crate::document::node::{Node, NodeKind, Place};

impl Checker<'_> {
    pub(super) fn ws(&mut self, node: &Node, fields: &Fields<'_>, program: &mut Program) {
        if node.mapping().is_none() {
            return self.websocket(node, fields, program);
        }
        if let Some(place) = fields.other_than("ws") {
            self.diagnostics.error("misplaced-key", place, "this belongs inside the `ws` mapping");
        }
        if let Some(fields) = self.fields(node, &WEBSOCKET, "`ws`")
            && let Some(path) = fields.get("path")
        {
            self.websocket(path, &fields, program);
        }
    }

    fn websocket(&mut self, node: &Node, fields: &Fields<'_>, program: &mut Program) {
        program.has_ws = true;
        program.has_stream = true;
        program.call = None;
        let location = self.fixed_location(node, program);
        let protocol = self.protocol(fields);
        program.protocol = protocol;
        let mut headers = self.headers(fields.get("headers"), program);
        self.no_handshake_headers(fields.get("headers"));
        self.add_auth(fields, &mut headers, program);
        self.add_subprotocols(fields, protocol, &mut headers);
        self.add_headers_of_run_to_handshake(&mut headers);
        let measure = self.measure_from(fields, "as", "handshake", MeasureKind::Handshake);
        let timeout_ns = self.timeout(fields.get("timeout"));
        if let Some((endpoint, mut path)) = location {
            Self::add_query(&mut path, protocol);
            let open = WsOpen {
                by_script: false,
                endpoint,
                path,
                headers,
                compress: self.compress(fields),
                records: self.plain_records(fields, protocol),
                protocol,
                first: self.first_message(fields, protocol, program),
                mqtt: None,
                reconnect: self.reconnect_websocket(fields, protocol, program),
                measure,
                timeout_ns,
            };
            program.push(Op::WsOpen(Box::new(open)));
        }
    }

    /// The byte that ends each record of a plain WebSocket.
    fn plain_records(&mut self, fields: &Fields<'_>, protocol: Option<Protocol>) -> Option<u8> {
        if let Some(place) = fields.key_place("records")
            && let Some(protocol) = protocol
        {
            let message = format!("`protocol: {}` divides its messages by itself", protocol.name());
            self.diagnostics.error("misplaced-key", place, message).hint("remove `records`");
        }
        self.records(fields)
    }

    /// The compression that is offered.
    fn compress(&mut self, fields: &Fields<'_>) -> Option<Offer> {
        let node = fields.get_or_default("compress")?;
        match self.choice(&node, COMPRESS)? {
            0 => None,
            1 => Some(Offer::Shared),
            _ => Some(Offer::Separate),
        }
    }

    pub(super) fn send(&mut self, node: &Node, fields: &Fields<'_>, program: &mut Program) {
        self.needs_ws("send", &node.place, program);
        if let Some(Protocol::Mqtt { .. }) = program.protocol {
            let message = "a connection of MQTT carries messages that are published";
            self.diagnostics
                .error("no-websocket", &node.place, message)
                .hint("write `publish: { topic: …, payload: … }`");
            return;
        }
        if let Some(call) = program.call.clone() {
            return self.call_send(&call, node, fields, program);
        }
        self.only_of_calls(fields, &["last", "gzip"]);
        let payload = match fields.get("bytes") {
            Some(bytes) if node.is_null() => self.bytes(bytes, program).map(Payload::Bytes),
            Some(bytes) => {
                self.diagnostics
                    .error("two-payloads", &bytes.place, "this message already has a payload")
                    .hint("leave `send:` empty if there are `bytes`");
                None
            }
            None => {
                self.warn_of_inner_bytes(node);
                self.payload(node, program).map(Payload::Text)
            }
        };
        let binary = fields
            .get("binary")
            .and_then(|n| self.bool(n))
            .unwrap_or(matches!(payload, Some(Payload::Bytes(_))));
        let (reply, measure) = self.reply_of(fields, &send_name(node), program);
        if let Some(payload) = payload {
            program.push(Op::Send(Box::new(SendOp { payload, binary, reply, measure })));
        }
    }

    /// `send: { bytes: [u8: 1] }` is JSON, which hardly anybody means.
    fn warn_of_inner_bytes(&mut self, node: &Node) {
        let Some([only]) = node.mapping() else { return };
        let is_part = |item: &Node| item.mapping().is_some_and(|part| part.len() == 1);
        let parts = only.value.sequence().unwrap_or_default();
        if only.key == "bytes" && !parts.is_empty() && parts.iter().all(is_part) {
            let message = "this is sent as JSON, with a key `bytes`";
            self.diagnostics
                .warning("bytes-as-json", &only.key_place, message)
                .hint("for binary, leave `send:` empty and write `bytes` beside it");
        }
    }

    /// The answer to a step that sends something, and the measure of both.
    pub(super) fn reply_of(
        &mut self,
        fields: &Fields<'_>,
        otherwise: &str,
        program: &mut Program,
    ) -> (Option<Expect>, MeasureId) {
        let reply_fields = match fields.get("reply") {
            Some(reply) => self.fields(reply, &EXPECT, "`reply`"),
            None => None,
        };
        let inner_as = reply_fields.as_ref().and_then(|f| f.key_place("as"));
        if let (Some(place), Some(_)) = (inner_as, fields.get("as")) {
            self.diagnostics
                .error("two-names", place, "this send already has a name")
                .hint("write `as` once");
        }
        let named = match &reply_fields {
            Some(reply) if inner_as.is_some() => reply,
            _ => fields,
        };
        let measure = self.measure_from(named, "as", otherwise, MeasureKind::Request);
        let reply = reply_fields.map(|fields| {
            let when = self.matches(fields.get("when"), program);
            self.expectation(&fields, when, measure, program)
        });
        (reply, measure)
    }

    /// A mapping or list as JSON, text as it is.
    pub(super) fn payload(&mut self, node: &Node, program: &Program) -> Option<Template> {
        match node.kind {
            NodeKind::Scalar(_) if node.is_null() => {
                self.expected(node, "a message");
                None
            }
            NodeKind::Scalar(_) => self.template(node, Escape::None, program),
            NodeKind::Sequence(_) | NodeKind::Mapping(_) => self.json(node, program),
        }
    }

    pub(super) fn expect_step(&mut self, node: &Node, program: &mut Program) {
        self.needs_stream("expect", &node.place, program);
        if node.is_null() {
            let measure = self.measure("expect", MeasureKind::Request, &node.place);
            let timeout_ns = self.timeout_ns;
            program.push(Op::Expect(Box::new(Expect {
                when: Vec::new(),
                graphql: answer_of(program),
                save: Vec::new(),
                check: Vec::new(),
                measure,
                timeout_ns,
            })));
            return;
        }
        let Some(fields) = self.fields(node, &EXPECT, "`expect`") else {
            return;
        };
        let when = self.matches(fields.get("when"), program);
        let otherwise = expect_name(&when);
        let measure = self.measure_from(&fields, "as", &otherwise, MeasureKind::Request);
        let expect = self.expectation(&fields, when, measure, program);
        program.push(Op::Expect(Box::new(expect)));
    }

    fn expectation(
        &mut self,
        fields: &Fields<'_>,
        when: Vec<Match>,
        measure: MeasureId,
        program: &mut Program,
    ) -> Expect {
        let of = match program.call {
            Some(_) => SaveScope::CallMessage,
            None => SaveScope::Message,
        };
        let save = self.saves(fields.get("save"), of, program);
        let check = self.conditions(fields.get("check"), program);
        let timeout_ns = self.timeout(fields.get("within"));
        Expect { graphql: answer_of(program), when, save, check, measure, timeout_ns }
    }

    pub(super) fn close(&mut self, node: &Node, fields: &Fields<'_>, program: &mut Program) {
        self.needs_stream("close", &node.place, program);
        if let Some(call) = program.call.clone() {
            return self.call_close(&call, node, fields, program);
        }
        self.only_of_calls(fields, &["status", "save", "check", "within", "as"]);
        if let Some(Protocol::Mqtt { five, .. }) = program.protocol {
            if let Some(code) = self.close_mqtt(node, five) {
                program.push(Op::Close { code });
            }
            return;
        }
        let code = if node.is_null() { Some(1000) } else { self.count(node) };
        let Some(code) = code else { return };
        // RFC 6455 section 7.4: these may stand in a close frame.
        if !matches!(code, 1000..=1003 | 1007..=1011 | 3000..=4999) {
            self.diagnostics
                .error("bad-close", &node.place, format!("{code} cannot be sent as a close status"))
                .hint("use 1000, or your own from 3000 to 4999");
        }
        program.push(Op::Close { code: code as u16 });
    }

    fn needs_ws(&mut self, verb: &str, place: &Place, program: &mut Program) {
        if !program.has_ws {
            let message = format!(
                "`{verb}` needs a WebSocket or a TCP connection, but no earlier step opens one"
            );
            self.diagnostics
                .error("no-websocket", place, message)
                .hint("open it first: `- ws: /path` or `- tcp: HOST:PORT`");
            // Once a session is enough.
            program.has_ws = true;
            program.has_stream = true;
        }
    }

    fn needs_stream(&mut self, verb: &str, place: &Place, program: &mut Program) {
        if program.has_stream {
            return;
        }
        let message = format!(
            "`{verb}` needs a WebSocket, a TCP connection, an event stream or a poll, but no earlier step opens one"
        );
        self.diagnostics.error("no-websocket", place, message).hint(
            "open it first: `- ws: /path`, `- tcp: HOST:PORT`, `- sse: /path` or `- poll: /path`",
        );
        program.has_stream = true;
    }
}

/// The requirement on messages of the connection opened last.
fn answer_of(program: &Program) -> Option<Answer> {
    (program.protocol == Some(Protocol::GraphQl)).then_some(Answer::Message)
}

/// Name of a send's measure if none is written: the message's first pair, if that is the same for
/// every user.
pub(super) fn send_name(node: &Node) -> String {
    let first = node.mapping().and_then(|entries| entries.first());
    match first.and_then(|entry| Some((&entry.key, entry.value.text()?))) {
        Some((key, value)) if !value.contains("${") && value.len() <= 40 => {
            format!("{key}={value}")
        }
        _ => "send".to_owned(),
    }
}

/// Name of an expect's measure if none is written: its first condition, if that is fixed.
fn expect_name(when: &[Match]) -> String {
    let fixed = when.first().and_then(|first| match (&first.from, &first.test) {
        (Source::Pointer(tokens), MatchTest::Equals(value)) => {
            Some(format!("{}={}", tokens.join("/"), value.as_static()?))
        }
        _ => None,
    });
    fixed.filter(|name| name.len() <= 60).unwrap_or_else(|| "expect".to_owned())
}
