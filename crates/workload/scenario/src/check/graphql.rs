//! GraphQL: operations over HTTP, and over a WebSocket.

use crate::keys::{GRAPHQL_REQUEST, SUBSCRIBED};
use plan::expr::{Escape, Template};
use plan::graphql::Answer;
use plan::{ChannelOp, ChannelVerb, Match, MatchTest, MeasureKind, Op, Payload, Protocol, Source};

use super::Checker;
use super::channels::{leaving, mapping, pair};
use super::fields::Fields;
use super::http::{Content, Line};
use super::program::Program;
use crate::document::node::{Node, Place};

/// Words that an operation begins with.
const KINDS: [&str; 3] = ["query", "mutation", "subscription"];

/// An operation, as a step has it.
struct Operation {
    /// The JSON of a request (GraphQL over HTTP, section 5.1).
    json: Option<Template>,
    /// As written, if it has a name that is the same for all users.
    name: Option<String>,
    /// `query`, `mutation` or `subscription`, if the document shows it.
    kind: Option<&'static str>,
}

impl Checker<'_> {
    pub(super) fn graphql(&mut self, node: &Node, fields: &Fields<'_>, program: &mut Program) {
        let Some(request) = self.fields(node, &GRAPHQL_REQUEST, "`graphql`") else {
            return;
        };
        let operation = self.operation(&request, &node.place, program);
        if operation.kind == Some(KINDS[2])
            && let Some(query) = request.get("query")
        {
            self.diagnostics
                .error("bad-graphql", &query.place, "a subscription needs a WebSocket")
                .hint("open one with `protocol: graphql-ws`, and `subscribe` there");
        }
        let partial = request.get("partial").and_then(|node| self.bool(node));
        let answer = match partial {
            Some(true) => Answer::Partial,
            _ => Answer::Whole,
        };
        let Some(path) = request.get_or_default("path") else {
            return;
        };
        let mut path = (*path).clone();
        if request.get("path").is_none() {
            path.place = node.place.clone();
        }
        let line = Line {
            method: "POST".to_owned(),
            url: &path,
            name: operation.name.unwrap_or_else(|| "graphql".to_owned()),
            location: self.location(&path, program),
        };
        self.no_multipart_type(fields, "graphql");
        let content = Content {
            body: operation.json,
            content_type: Some("application/json".to_owned()),
            continue_ns: 0,
            graphql: Some(answer),
        };
        self.request_with(&line, content, fields, program);
    }

    /// A step on a WebSocket of `graphql-ws` that MQTT has as well.
    pub(super) fn graphql_step(
        &mut self,
        verb: &str,
        node: &Node,
        fields: &Fields<'_>,
        program: &mut Program,
    ) {
        match verb {
            "subscribe" => self.begin_operation(node, fields, program),
            "unsubscribe" => self.end_operation(node, fields, program),
            _ => {
                let message = format!("`{verb}` needs a connection of MQTT");
                self.diagnostics
                    .error("no-channels", &node.place, message)
                    .hint("write `subscribe: { query: … }`, for mutations too");
            }
        }
    }

    /// Reports an operation where none can be sent.
    pub(super) fn no_graphql(&mut self, place: &Place) {
        let message = "an operation of GraphQL needs a WebSocket that speaks it";
        self.diagnostics
            .error("no-channels", place, message)
            .hint("open it first: `- ws: { path: /graphql, protocol: graphql-ws }`");
    }

    fn end_operation(&mut self, node: &Node, fields: &Fields<'_>, program: &mut Program) {
        self.only_of_mqtt(fields, &["timeout"]);
        let topic = match node.is_null() {
            true => Some(None),
            false => self.template(node, Escape::None, program).map(Some),
        };
        let measure = self.measure_from(fields, "as", "unsubscribe", MeasureKind::Request);
        let timeout_ns = self.timeout_ns;
        if let Some(topic) = topic {
            program.push(Op::Channel(Box::new(leaving(topic, measure, timeout_ns))));
        }
    }

    fn only_of_mqtt(&mut self, fields: &Fields<'_>, keys: &[&str]) {
        for place in keys.iter().filter_map(|key| fields.key_place(key)) {
            self.diagnostics.error("misplaced-key", place, "this needs a connection of MQTT");
        }
    }

    fn begin_operation(&mut self, node: &Node, fields: &Fields<'_>, program: &mut Program) {
        self.only_of_mqtt(fields, &["qos", "no_local", "retained", "id", "timeout"]);
        let Some(subscribed) = self.fields(node, &SUBSCRIBED, "`subscribe`") else {
            return;
        };
        let operation = self.operation(&subscribed, &node.place, program);
        let name = operation.name.unwrap_or_else(|| "subscribe".to_owned());
        let (mut reply, measure) = self.reply_of(fields, &name, program);
        let topic = match subscribed.get("id") {
            Some(id) => self.template(id, Escape::None, program),
            None => Some(Template::fixed(&self.measures[measure.index()].name)),
        };
        let timeout_ns = self.timeout_ns;
        let (Some(topic), Some(payload)) = (topic, operation.json) else {
            return;
        };
        if let Some(reply) = &mut reply {
            reply.when.push(Match { from: Source::Topic, test: MatchTest::Equals(topic.clone()) });
        }
        program.push(Op::Channel(Box::new(ChannelOp {
            verb: ChannelVerb::Join,
            topic: Some(topic),
            event: Template::default(),
            payload: Payload::Text(payload),
            reply,
            measure,
            timeout_ns,
            confirmed: false,
            rejoin: None,
            delivery: None,
        })));
    }

    /// The message that a WebSocket of `graphql-ws` or `signalr` begins with.
    pub(super) fn first_message(
        &mut self,
        fields: &Fields<'_>,
        protocol: Option<Protocol>,
        program: &Program,
    ) -> Option<Template> {
        let init = fields.get("init");
        if protocol != Some(Protocol::GraphQl) {
            if let Some(place) = fields.key_place("init") {
                let message = "this needs `protocol: graphql-ws`";
                self.diagnostics.error("misplaced-key", place, message);
            }
            let handshake = "{\"protocol\":\"json\",\"version\":1}\u{1e}";
            return (protocol == Some(Protocol::SignalR)).then(|| Template::fixed(handshake));
        }
        let Some(init) = init else {
            return Some(Template::fixed("{\"type\":\"connection_init\"}"));
        };
        if init.mapping().is_none() {
            self.expected(init, "a mapping");
            return None;
        }
        let mut kind = init.clone();
        kind.kind = crate::document::node::NodeKind::Scalar(crate::document::node::Scalar {
            text: "connection_init".to_owned(),
            quoted: true,
            verbatim: None,
        });
        let entries = vec![pair("type", &kind), pair("payload", init)];
        self.json(&mapping(entries, &init.place), program)
    }

    fn operation(&mut self, fields: &Fields<'_>, place: &Place, program: &Program) -> Operation {
        let query = fields.get("query");
        let named = fields.get("operation");
        let mut entries = Vec::new();
        entries.extend(query.map(|node| pair("query", node)));
        if let Some(variables) = fields.get("variables") {
            match variables.mapping() {
                Some(_) => entries.push(pair("variables", variables)),
                None => self.expected(variables, "a mapping of variables and values"),
            }
        }
        entries.extend(named.map(|node| pair("operationName", node)));
        let text = query.and_then(Node::text).unwrap_or_default();
        if let Some(query) = query.filter(|_| text.trim().is_empty()) {
            self.expected(query, "an operation of GraphQL (`{ products { name } }`)");
        }
        let (kind, own_name) = beginning(text);
        let is_fixed = |name: &&str| !name.is_empty() && !name.contains("${");
        let name = match named.and_then(Node::text) {
            Some(named) => Some(named).filter(is_fixed),
            None => own_name,
        };
        Operation {
            json: self.json(&mapping(entries, place), program),
            name: name.map(str::to_owned),
            kind,
        }
    }
}

/// The kind of the operation that a document begins with, and the operation's name, if it has one
/// (GraphQL, section 2.3).
fn beginning(document: &str) -> (Option<&'static str>, Option<&str>) {
    let mut rest = ignored(document);
    if rest.starts_with('{') {
        return (Some(KINDS[0]), None);
    }
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut word = || {
        let end = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        rest = ignored(after);
        word
    };
    let first = word();
    let Some(kind) = KINDS.into_iter().find(|kind| *kind == first) else {
        return (None, None);
    };
    let name = word();
    (Some(kind), Some(name).filter(|name| !name.is_empty()))
}

/// The text without what means nothing at its beginning: space, commas, comments.
fn ignored(mut text: &str) -> &str {
    loop {
        text = text
            .trim_start_matches(|c: char| c.is_ascii_whitespace() || matches!(c, ',' | '\u{feff}'));
        match text.strip_prefix('#') {
            Some(comment) => text = comment.split_once('\n').map_or("", |(_, after)| after),
            None => return text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_say_what_they_are() {
        for (document, expected) in [
            ("{ a }", (Some("query"), None)),
            ("query { a }", (Some("query"), None)),
            ("query($a: ID) { a }", (Some("query"), None)),
            ("# note\n mutation Buy_1($a: ID) { a }", (Some("mutation"), Some("Buy_1"))),
            ("subscription  Said{ a }", (Some("subscription"), Some("Said"))),
            ("fragment F on T { a } query Q { ...F }", (None, None)),
            ("${query}", (None, None)),
            ("# only", (None, None)),
        ] {
            assert_eq!(beginning(document), expected, "{document}");
        }
    }
}
