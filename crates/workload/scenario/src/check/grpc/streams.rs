//! Calls that stay open: opening one, sending messages over it, ending it.

use grpc::{Method, Schema};
use plan::calls::{CallEnd, CallOpen};
use plan::expr::Template;
use plan::{MeasureKind, Op, Payload, Save, SendOp, Source};

use super::super::Checker;
use super::super::fields::Fields;
use super::super::matching::SaveScope;
use super::super::program::{OpenCall, Program};
use super::super::ws::send_name;
use super::CalledMethod;
use crate::document::node::{Node, Place};

/// Keys of calls with one reply: of others each message has its own step.
const OF_ONE_REPLY: [&str; 4] = ["expect", "save", "check", "status"];

impl Checker<'_> {
    /// A call of a method with streams.
    pub(super) fn open_call(
        &mut self,
        schema: &Schema,
        found: &CalledMethod,
        fields: &Fields<'_>,
        place: &Place,
        program: &mut Program,
    ) {
        for key in OF_ONE_REPLY {
            if let Some(place) = fields.key_place(key) {
                let message = format!("`{key}` needs a method without streams");
                self.diagnostics
                    .error("misplaced-key", place, message)
                    .hint("messages of a stream are sent by `send` and received by `expect`; the status is that of `close`");
            }
        }
        let Method { request, reply, client_streams, .. } = found.method;
        let message = match (client_streams, fields.key_place("message")) {
            (true, Some(place)) => {
                let text = format!("`{}` takes any number of messages", found.name);
                self.diagnostics
                    .error("misplaced-key", place, text)
                    .hint("send each by a step: `- send: { … }`");
                None
            }
            (true, None) => None,
            (false, _) => {
                let message = self.call_message(schema, request, fields.get("message"), program);
                let Some(message) = message else { return };
                Some(message)
            }
        };
        let compress = match fields.get_or_default("gzip") {
            Some(node) => self.bool(&node).unwrap_or(false),
            None => false,
        };
        let deadline_ns = fields.get("deadline").and_then(|node| self.duration_ns(node));
        let headers = self.call_headers(fields, compress, deadline_ns, program);
        let measure = self.measure_from(fields, "as", &found.name, MeasureKind::Handshake);
        let timeout_ns = self.timeout(fields.get("timeout"));
        let location = self.split_location(Template::fixed(&found.url), place);
        program.has_stream = true;
        program.has_ws |= client_streams;
        program.protocol = None;
        program.call =
            Some(OpenCall { name: found.name.clone(), request, sends: client_streams, compress });
        let Some(location) = location else { return };
        program.push(Op::CallOpen(Box::new(CallOpen {
            endpoint: location.endpoint,
            path: location.path,
            headers,
            message,
            compress,
            request,
            reply,
            measure,
            timeout_ns,
            deadline_ns,
        })));
    }

    /// A message over the call that is open.
    pub(in super::super) fn call_send(
        &mut self,
        call: &OpenCall,
        node: &Node,
        fields: &Fields<'_>,
        program: &mut Program,
    ) {
        for key in ["bytes", "binary"] {
            if let Some(place) = fields.key_place(key) {
                let message = "a message of a call consists of fields";
                self.diagnostics.error("misplaced-key", place, message);
            }
        }
        if !call.sends {
            let message = format!("`{}` takes one message, which is sent with the call", call.name);
            self.diagnostics.error("streaming", &node.place, message);
            return;
        }
        let Some(schema) = self.schema.clone() else {
            return;
        };
        let node = (!node.is_null()).then_some(node);
        let message = self.call_message(&schema, call.request, node, program);
        let name = node.map_or_else(|| "send".to_owned(), send_name);
        let last = fields.get("last").and_then(|node| self.bool(node));
        let compress = self.send_compress(call, fields);
        let (reply, measure) = self.reply_of(fields, &name, program);
        if let Some(message) = message {
            program.push(Op::Send(Box::new(SendOp {
                payload: Payload::Message { message, is_last: last.unwrap_or(false), compress },
                binary: true,
                reply,
                measure,
            })));
        }
    }

    /// Whether a message is compressed, if its step says so. The coding stands in the call's head, which is sent before
    /// (PROTOCOL-HTTP2.md, "Message-Encoding"; doc/compression.md).
    fn send_compress(&mut self, call: &OpenCall, fields: &Fields<'_>) -> Option<bool> {
        let node = fields.get("gzip")?;
        let compress = self.bool(node)?;
        if compress && !call.compress {
            let message = format!(
                "`{}` was called without `gzip`, so that its server does not know the coding",
                call.name
            );
            self.diagnostics
                .error("misplaced-key", &node.place, message)
                .hint("write `gzip: true` beside `grpc`, and `gzip: false` at messages that are not to be compressed");
        }
        Some(compress)
    }

    /// The end of the call that is open.
    pub(in super::super) fn call_close(
        &mut self,
        call: &OpenCall,
        node: &Node,
        fields: &Fields<'_>,
        program: &mut Program,
    ) {
        let cancels = node.text() == Some("cancel");
        if !cancels && !node.is_null() {
            self.expected(node, "nothing, or `cancel`");
        }
        let statuses = self.call_statuses(fields);
        let save = self.end_values(cancels, fields, program);
        let check = self.conditions(fields.get("check"), program);
        let name = format!("{} end", call.name);
        let measure = self.measure_from(fields, "as", &name, MeasureKind::Request);
        let timeout_ns = self.timeout(fields.get("within"));
        program.push(Op::CallEnd(Box::new(CallEnd {
            cancels,
            statuses,
            save,
            check,
            measure,
            timeout_ns,
        })));
    }

    /// The values saved from the end of a call, which has a status and metadata.
    fn end_values(
        &mut self,
        cancels: bool,
        fields: &Fields<'_>,
        program: &mut Program,
    ) -> Vec<Save> {
        let Some(place) = fields.key_place("save") else {
            return Vec::new();
        };
        if cancels {
            let message = "a call that is given up has no status and no metadata";
            self.diagnostics.error("misplaced-key", place, message);
        }
        let save = self.saves(fields.get("save"), SaveScope::Response, program);
        let is_of_end =
            |own: &Save| matches!(own.from, Source::Status | Source::Header(_) | Source::Time);
        if !save.iter().all(is_of_end) {
            self.diagnostics.error("bad-source", place, "the end of a call has no message").hint(
                "save `status`, a `header` or `time` of it, and fields of messages by `expect`",
            );
        }
        save
    }

    /// Reports keys that mean something for calls alone.
    pub(in super::super) fn only_of_calls(&mut self, fields: &Fields<'_>, keys: &[&str]) {
        for key in keys {
            if let Some(place) = fields.key_place(key) {
                let message = format!("`{key}` needs an open call of gRPC");
                self.diagnostics.error("misplaced-key", place, message);
            }
        }
    }
}
