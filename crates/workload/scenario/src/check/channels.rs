//! Protocols of channels: what a WebSocket speaks, joining, pushing and leaving.

use crate::keys::{EMITTED, INVOKED, PERFORMED, PROTOCOLS, PUSHED, VSNS};
use plan::expr::{Escape, Template, TemplatePart};
use plan::{ChannelOp, ChannelVerb, MeasureId, MeasureKind, Op, Payload, Protocol};

use super::Checker;
use super::fields::Fields;
use super::headers::add_absent;
use super::program::Program;
use crate::document::node::{Entry, Node, NodeKind, Place, Scalar};

/// Subprotocols that Rails' own client offers.
const CABLE_SUBPROTOCOLS: &str = "actioncable-v1-json, actioncable-unsupported";
/// Names in MQTT and GraphQL for steps of other protocols.
const SUBSCRIBING: &[(&str, &str)] = &[("join", "subscribe"), ("leave", "unsubscribe")];

/// Subprotocol of the library graphql-ws.
const GRAPHQL_SUBPROTOCOL: &str = "graphql-transport-ws";

impl Checker<'_> {
    /// The protocol of a step that opens a WebSocket.
    pub(super) fn protocol(&mut self, fields: &Fields<'_>) -> Option<Protocol> {
        let Some(node) = fields.get("protocol") else {
            self.only_phoenix(fields, None);
            return None;
        };
        let chosen = self.choice(node, PROTOCOLS)?;
        self.only_phoenix(fields, Some(chosen));
        match chosen {
            0 => {
                let vsn = fields.get_or_default("vsn");
                let vsn = vsn.and_then(|node| self.choice(&node, VSNS))?;
                let heartbeat = fields.get_or_default("heartbeat");
                let heartbeat_ns = heartbeat.and_then(|node| self.duration_ns(&node))?;
                Some(Protocol::Phoenix { arrays: vsn == 0, heartbeat_ns })
            }
            1 => Some(Protocol::ActionCable),
            2 => Some(Protocol::SocketIo),
            3 => Some(Protocol::GraphQl),
            _ => Some(Protocol::SignalR),
        }
    }

    fn only_phoenix(&mut self, fields: &Fields<'_>, chosen: Option<usize>) {
        let place = ["vsn", "heartbeat"].iter().find_map(|key| fields.key_place(key));
        if let Some(place) = place.filter(|_| chosen != Some(0)) {
            self.diagnostics.error("misplaced-key", place, "this needs `protocol: phoenix`");
        }
    }

    /// The header that offers subprotocols: those written, or those of the protocol.
    pub(super) fn add_subprotocols(
        &mut self,
        fields: &Fields<'_>,
        protocol: Option<Protocol>,
        headers: &mut Vec<(String, Template)>,
    ) {
        let mut offered = Vec::new();
        let nodes = fields.get("subprotocols").map(|node| self.one_or_more(node));
        for node in nodes.unwrap_or_default() {
            let Some(word) = self.word(node, "a subprotocol") else {
                continue;
            };
            let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
            if word.text.is_empty() || !word.text.bytes().all(token) {
                let message = format!("`{}` cannot be a subprotocol", word.text);
                self.diagnostics
                    .error("bad-name", &word.place, message)
                    .hint("a subprotocol is one word, like graphql-transport-ws");
            }
            offered.push(word.text);
        }
        if !offered.is_empty() {
            let hint = "write them in one of the two";
            let names = &["sec-websocket-protocol"];
            self.made_elsewhere(fields.get("headers"), names, "`subprotocols`", hint);
        }
        if offered.is_empty() {
            let own = match protocol {
                Some(Protocol::ActionCable) => Some(CABLE_SUBPROTOCOLS),
                Some(Protocol::GraphQl) => Some(GRAPHQL_SUBPROTOCOL),
                Some(
                    Protocol::Phoenix { .. }
                    | Protocol::SocketIo
                    | Protocol::SignalR
                    | Protocol::Mqtt { .. },
                )
                | None => None,
            };
            offered.extend(own.map(str::to_owned));
        }
        if !offered.is_empty() {
            let value = Template::fixed(&offered.join(", "));
            add_absent(headers, "sec-websocket-protocol", &value);
        }
    }

    /// Adds to a path what the protocol says in its query, unless it is written there.
    pub(super) fn add_query(path: &mut Template, protocol: Option<Protocol>) {
        let (name, query) = match protocol {
            Some(Protocol::Phoenix { arrays: true, .. }) => ("vsn=", "vsn=2.0.0"),
            Some(Protocol::Phoenix { arrays: false, .. }) => ("vsn=", "vsn=1.0.0"),
            Some(Protocol::SocketIo) => ("EIO=", "EIO=4&transport=websocket"),
            Some(
                Protocol::ActionCable
                | Protocol::GraphQl
                | Protocol::SignalR
                | Protocol::Mqtt { .. },
            )
            | None => return,
        };
        let holds = |what: &str| {
            let mut parts = path.parts.iter();
            parts.any(|part| matches!(part, TemplatePart::Text(text) if text.contains(what)))
        };
        if holds(name) {
            return;
        }
        let joint = if holds("?") { '&' } else { '?' };
        path.parts.push(TemplatePart::Text(format!("{joint}{query}").into()));
    }

    pub(super) fn join(&mut self, node: &Node, fields: &Fields<'_>, program: &mut Program) {
        let protocol = self.spoken("join", &node.place, program);
        let topic = self.topic(node, fields.get("params"), protocol, program);
        if let Some(place) = fields.key_place("payload")
            && protocol == Some(Protocol::ActionCable)
        {
            self.diagnostics
                .error("misplaced-key", place, "a subscription has no payload")
                .hint("write `params`; they are part of the identifier");
        }
        let payload = match fields.get("payload") {
            Some(node) => self.json(node, program),
            None => Some(Template::default()),
        };
        let measure = self.measure_from(fields, "as", "join", MeasureKind::Request);
        let timeout_ns = self.timeout(fields.get("timeout"));
        let rejoin = self.rejoin(fields, protocol);
        if let (Some(topic), Some(payload)) = (topic, payload) {
            program.push(Op::Channel(Box::new(ChannelOp {
                verb: ChannelVerb::Join,
                topic: Some(topic),
                event: Template::default(),
                payload: Payload::Text(payload),
                reply: None,
                measure,
                timeout_ns,
                confirmed: true,
                rejoin,
                delivery: None,
            })));
        }
    }

    /// The measure of attempts to join a channel again.
    fn rejoin(&mut self, fields: &Fields<'_>, protocol: Option<Protocol>) -> Option<MeasureId> {
        if let Some(place) = fields.key_place("rejoin")
            && protocol.is_some_and(|protocol| protocol.name() != PROTOCOLS[0])
        {
            self.diagnostics
                .error("misplaced-key", place, "this needs `protocol: phoenix`")
                .hint("clients of other protocols leave a channel closed that the server ended");
        }
        let wanted = fields.get("rejoin").and_then(|node| self.bool(node));
        let place = fields.place();
        (wanted == Some(true)).then(|| self.measure("rejoin", MeasureKind::Handshake, place))
    }

    pub(super) fn leave(&mut self, node: &Node, fields: &Fields<'_>, program: &mut Program) {
        let protocol = self.spoken("leave", &node.place, program);
        let topic = match node.is_null() {
            true => Some(None),
            false => self.topic(node, fields.get("params"), protocol, program).map(Some),
        };
        let measure = self.measure_from(fields, "as", "leave", MeasureKind::Request);
        let timeout_ns = self.timeout(fields.get("timeout"));
        if let Some(topic) = topic {
            program.push(Op::Channel(Box::new(leaving(topic, measure, timeout_ns))));
        }
    }

    pub(super) fn push(&mut self, node: &Node, fields: &Fields<'_>, program: &mut Program) {
        self.speaks("push", PROTOCOLS[0], &node.place, program);
        let Some(pushed) = self.fields(node, &PUSHED, "`push`") else {
            return;
        };
        let payload = match (pushed.get("bytes"), pushed.get_or_default("payload")) {
            (Some(bytes), _) if pushed.get("payload").is_some() => {
                let error = self.diagnostics.error(
                    "two-payloads",
                    &bytes.place,
                    "this message already has a payload",
                );
                error.hint("write `payload` or `bytes`");
                None
            }
            (Some(bytes), _) => {
                if !matches!(program.protocol, None | Some(Protocol::Phoenix { arrays: true, .. }))
                {
                    let message = "binary messages are those of Phoenix 2.0.0";
                    let error = self.diagnostics.error("misplaced-key", &bytes.place, message);
                    error.hint("leave out `vsn`, which is 2.0.0 then");
                }
                self.bytes(bytes, program).map(Payload::Bytes)
            }
            (None, Some(node)) if node.text() == Some("{}") => {
                Some(Payload::Text(Template::fixed("{}")))
            }
            (None, Some(node)) => self.json(&node, program).map(Payload::Text),
            (None, None) => None,
        };
        let topic = match pushed.get("topic") {
            Some(node) => self.template(node, Escape::None, program).map(Some),
            None => Some(None),
        };
        self.pushed(pushed.get("event"), payload, topic, fields, program);
    }

    pub(super) fn perform(&mut self, node: &Node, fields: &Fields<'_>, program: &mut Program) {
        self.speaks("perform", PROTOCOLS[1], &node.place, program);
        let Some(performed) = self.fields(node, &PERFORMED, "`perform`") else {
            return;
        };
        let mut data = match performed.get("data") {
            Some(node) => match node.mapping() {
                Some(entries) => entries.to_vec(),
                None => return self.expected(node, "a mapping with the action's arguments"),
            },
            None => Vec::new(),
        };
        let action = performed.get("action");
        data.extend(action.map(|node| pair("action", node)));
        let payload = self.json(&mapping(data, &node.place), program).map(Payload::Text);
        let topic = match (performed.get("channel"), performed.key_place("params")) {
            (Some(channel), _) => self
                .topic(channel, performed.get("params"), Some(Protocol::ActionCable), program)
                .map(Some),
            (None, Some(place)) => {
                self.diagnostics.error("misplaced-key", place, "only a `channel` has `params`");
                None
            }
            (None, None) => Some(None),
        };
        self.pushed(action, payload, topic, fields, program);
    }

    pub(super) fn emit(&mut self, node: &Node, fields: &Fields<'_>, program: &mut Program) {
        self.speaks("emit", PROTOCOLS[2], &node.place, program);
        let Some(emitted) = self.fields(node, &EMITTED, "`emit`") else {
            return;
        };
        let payload = self.arguments(&emitted, program).map(Payload::Text);
        let topic = match emitted.get("namespace") {
            Some(node) => self.namespace(node, program).map(Some),
            None => Some(None),
        };
        self.pushed(emitted.get("event"), payload, topic, fields, program);
    }

    pub(super) fn invoke(&mut self, node: &Node, fields: &Fields<'_>, program: &mut Program) {
        self.speaks("invoke", PROTOCOLS[4], &node.place, program);
        let Some(invoked) = self.fields(node, &INVOKED, "`invoke`") else {
            return;
        };
        let payload = self.arguments(&invoked, program).map(Payload::Text);
        self.pushed(
            invoked.get("method"),
            payload,
            Some(Some(Template::default())),
            fields,
            program,
        );
    }

    /// `args`: a list as it is, else a list of one.
    fn arguments(&mut self, fields: &Fields<'_>, program: &Program) -> Option<Template> {
        match fields.get("args") {
            Some(node) if node.sequence().is_some() => self.json(node, program),
            Some(node) => self.json(&list_of(node), program),
            None => Some(Template::default()),
        }
    }

    /// The end of all ways to push.
    fn pushed(
        &mut self,
        event: Option<&Node>,
        payload: Option<Payload>,
        topic: Option<Option<Template>>,
        fields: &Fields<'_>,
        program: &mut Program,
    ) {
        let Some(event) = event else { return };
        let named = self.template(event, Escape::None, program);
        let otherwise = named.as_ref().and_then(Template::as_static).unwrap_or("push");
        let (reply, measure) = self.reply_of(fields, otherwise, program);
        let timeout_ns = self.timeout_ns;
        if let (Some(event), Some(payload), Some(topic)) = (named, payload, topic) {
            program.push(Op::Channel(Box::new(ChannelOp {
                verb: ChannelVerb::Push,
                topic,
                event,
                payload,
                reply,
                measure,
                timeout_ns,
                confirmed: false,
                rejoin: None,
                delivery: None,
            })));
        }
    }

    /// The name of a step's channel, as the protocol writes it.
    fn topic(
        &mut self,
        node: &Node,
        params: Option<&Node>,
        protocol: Option<Protocol>,
        program: &Program,
    ) -> Option<Template> {
        if protocol != Some(Protocol::ActionCable) {
            if let Some(params) = params {
                self.diagnostics.error(
                    "misplaced-key",
                    &params.place,
                    "`params` needs `protocol: actioncable`",
                );
            }
            return match protocol {
                Some(Protocol::SocketIo) => self.namespace(node, program),
                _ => self.template(node, Escape::None, program),
            };
        }
        let mut entries = vec![pair("channel", node)];
        match params.map(|params| (params, params.mapping())) {
            Some((_, Some(more))) => entries.extend_from_slice(more),
            Some((params, None)) => {
                self.expected(params, "a mapping with fields of the identifier");
                return None;
            }
            None => {}
        }
        self.json(&mapping(entries, &node.place), program)
    }

    fn namespace(&mut self, node: &Node, program: &Program) -> Option<Template> {
        let namespace = self.template(node, Escape::None, program)?;
        let fixed = namespace.as_static();
        if fixed.is_some_and(|text| !text.starts_with('/') || text.contains(',')) {
            self.diagnostics
                .error("bad-name", &node.place, "this is not a namespace")
                .hint("a namespace starts with a slash: /chat; the main one is /");
        }
        Some(namespace)
    }

    /// The protocol that is spoken where a step stands.
    fn spoken(&mut self, verb: &str, place: &Place, program: &mut Program) -> Option<Protocol> {
        if program.protocol.is_none() {
            let message = format!(
                "`{verb}` needs a WebSocket with a channel protocol, but no earlier step opens one"
            );
            self.diagnostics
                .error("no-channels", place, message)
                .hint("open it first: `- ws: { path: /socket/websocket, protocol: phoenix }`");
        }
        if let Some(Protocol::Mqtt { .. } | Protocol::GraphQl) = program.protocol
            && let Some(own) = SUBSCRIBING.iter().find(|(other, _)| *other == verb)
        {
            let message = format!("this connection has subscriptions, not channels to `{verb}`");
            self.diagnostics
                .error("no-channels", place, message)
                .hint(format!("write `{}` here", own.1));
        }
        if let Some(Protocol::SignalR) = program.protocol
            && SUBSCRIBING.iter().any(|(other, _)| *other == verb)
        {
            let message = format!("a hub has no channels to `{verb}`; its groups are the server's");
            self.diagnostics
                .error("no-channels", place, message)
                .hint("call the hub's own method for it: `invoke: { method: …, args: … }`");
        }
        program.protocol
    }

    fn speaks(&mut self, verb: &str, wanted: &str, place: &Place, program: &mut Program) {
        if let Some(spoken) = self.spoken(verb, place, program)
            && spoken.name() != wanted
        {
            let message = format!("`{verb}` needs `protocol: {wanted}`");
            let hint = match spoken {
                Protocol::Phoenix { .. } => "write `push` here",
                Protocol::ActionCable => "write `perform` here",
                Protocol::SocketIo => "write `emit` here",
                Protocol::GraphQl => "write `subscribe` here",
                Protocol::SignalR => "write `invoke` here",
                Protocol::Mqtt { .. } => "write `publish` here",
            };
            self.diagnostics.error("no-channels", place, message).hint(hint);
        }
    }
}

/// The end of a channel, a subscription or an operation; of the connection's last one without `topic`.
pub(super) fn leaving(topic: Option<Template>, measure: MeasureId, timeout_ns: u64) -> ChannelOp {
    ChannelOp {
        verb: ChannelVerb::Leave,
        topic,
        event: Template::default(),
        payload: Payload::Text(Template::default()),
        reply: None,
        measure,
        timeout_ns,
        confirmed: false,
        rejoin: None,
        delivery: None,
    }
}

/// A list with this as its only item.
pub(super) fn list_of(node: &Node) -> Node {
    Node { place: node.place.clone(), kind: NodeKind::Sequence(vec![node.clone()]) }
}

pub(super) fn pair(key: &str, value: &Node) -> Entry {
    Entry { key: key.to_owned(), key_place: value.place.clone(), value: as_text(value) }
}

/// The name of a channel or action is text, whatever it looks like.
fn as_text(node: &Node) -> Node {
    let mut node = node.clone();
    if let NodeKind::Scalar(Scalar { quoted, .. }) = &mut node.kind {
        *quoted = true;
    }
    node
}

pub(super) fn mapping(entries: Vec<Entry>, place: &Place) -> Node {
    Node { place: place.clone(), kind: NodeKind::Mapping(entries) }
}
