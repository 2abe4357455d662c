//! Steps of MQTT: opening, subscribing, publishing, ending a subscription.

use crate::keys::{AUTHENTICATION, MQTT_MESSAGE, MQTT_VERSIONS, QOS, RETAINED, WILL};
use plan::expr::{Escape, Template};
use plan::{
    ChannelOp, ChannelVerb, Delivery, EndpointId, MeasureKind, MessageProperties,
    MqttAuthentication, MqttOpen, MqttWill, Op, Payload, Protocol, WsOpen,
};
use proto::mqtt::{ALIASES_MAX, SUBSCRIPTION_MAX, TopicError};

use super::Checker;
use super::channels::leaving;
use super::fields::Fields;
use super::headers::add_absent;
use super::program::Program;
use crate::document::node::{Node, Place};

/// Subprotocol that a WebSocket with MQTT offers (MQTT 5 §6.0).
const SUBPROTOCOL: &str = "mqtt";
/// Nanoseconds of a second.
const SECOND_NS: u64 = 1_000_000_000;
/// Keys of a message that version 5 has.
const OF_FIVE: &[&str] =
    &["properties", "content_type", "response_topic", "correlation", "expires", "utf8"];
/// How the names of methods begin whose answers follow from what the server sends.
const CHALLENGING: &[&str] = &["SCRAM", "GS2-KRB5", "GSSAPI", "DIGEST-MD5", "CRAM-MD5"];
/// Codes that a client may give for its end (MQTT 5 §3.14.2.1).
const CLOSE_REASONS: &[u64] =
    &[0x00, 0x04, 0x80, 0x81, 0x82, 0x83, 0x90, 0x93, 0x94, 0x95, 0x96, 0x97, 0x98, 0x99];

impl Checker<'_> {
    /// A step of MQTT.
    pub(super) fn mqtt_step(
        &mut self,
        verb: &str,
        node: &Node,
        fields: &Fields<'_>,
        program: &mut Program,
    ) {
        if program.protocol == Some(Protocol::GraphQl) {
            return self.graphql_step(verb, node, fields, program);
        }
        match verb {
            "subscribe" => self.subscribe(node, fields, program),
            "unsubscribe" => self.unsubscribe(node, fields, program),
            "publish" => self.publish(node, fields, program),
            _ => self.mqtt(node, fields, program),
        }
    }

    fn mqtt(&mut self, node: &Node, fields: &Fields<'_>, program: &mut Program) {
        program.has_ws = true;
        program.has_stream = true;
        program.call = None;
        let location = self.broker(node, fields, program);
        let five = self.is_five(fields);
        let keep_alive = fields.get_or_default("keep_alive");
        let keep_alive_s = keep_alive.and_then(|node| self.seconds(&node, u64::from(u16::MAX)));
        let protocol = Protocol::Mqtt { five, keep_alive_s: keep_alive_s.unwrap_or(0) as u16 };
        program.protocol = Some(protocol);
        let mqtt = self.introduction(fields, five, program);
        let mut headers = self.headers(fields.get("headers"), program);
        self.no_handshake_headers(fields.get("headers"));
        add_absent(&mut headers, "sec-websocket-protocol", &Template::fixed(SUBPROTOCOL));
        self.add_headers_of_run_to_handshake(&mut headers);
        let measure = self.measure_from(fields, "as", "mqtt", MeasureKind::Handshake);
        let timeout_ns = self.timeout(fields.get("timeout"));
        let reconnect = self.reconnect_websocket(fields, Some(protocol), program);
        if let (Some((endpoint, path)), Some(mut mqtt)) = (location, mqtt) {
            mqtt.bare = path.is_none();
            program.push(Op::WsOpen(Box::new(WsOpen {
                by_script: false,
                endpoint,
                path: path.unwrap_or_default(),
                headers,
                compress: None,
                records: None,
                protocol: Some(protocol),
                first: None,
                mqtt: Some(Box::new(mqtt)),
                reconnect,
                measure,
                timeout_ns,
            })));
        }
    }

    /// The server's endpoint, with the path of its WebSocket; `None`: MQTT is spoken without one.
    fn broker(
        &mut self,
        node: &Node,
        fields: &Fields<'_>,
        program: &Program,
    ) -> Option<(EndpointId, Option<Template>)> {
        let text = node.text().unwrap_or_default();
        if ["/", "ws://", "wss://"].iter().any(|start| text.starts_with(start)) {
            let (endpoint, path) = self.fixed_location(node, program)?;
            return Some((endpoint, Some(path)));
        }
        if let Some(place) = fields.key_place("headers") {
            self.diagnostics
                .error("misplaced-key", place, "`headers` are those of a WebSocket")
                .hint("write the WebSocket's path: `mqtt: /mqtt`");
        }
        if node.is_null() {
            return Some((EndpointId(0), None));
        }
        let word = self.word(node, "`HOST:PORT`, a URL or a path")?;
        let url = match word.text.contains("://") {
            true => word.text,
            false => format!("mqtt://{}", word.text),
        };
        let known = ["mqtt://", "mqtts://", "tcp://", "tls://"];
        if !known.iter().any(|start| url.starts_with(start)) {
            self.diagnostics
                .error("bad-url", &word.place, format!("`{url}` is not the URL of an MQTT server"))
                .hint("write HOST:PORT, mqtt://HOST, mqtts://HOST, or a path or ws:// URL for a WebSocket");
            return None;
        }
        self.bare_endpoint(&url, &word.place).map(|endpoint| (endpoint, None))
    }

    fn is_five(&mut self, fields: &Fields<'_>) -> bool {
        let version = fields.get_or_default("version");
        version.and_then(|node| self.choice(&node, MQTT_VERSIONS)) == Some(1)
    }

    fn introduction(
        &mut self,
        fields: &Fields<'_>,
        five: bool,
        program: &Program,
    ) -> Option<MqttOpen> {
        self.only_of_five(fields, five, &["session_expiry", "topic_aliases", "authentication"]);
        let mut text = |key: &str| match fields.get(key) {
            Some(node) => self.template(node, Escape::None, program).map(Some),
            None => Some(None),
        };
        let client_id = text("client_id");
        let user = text("user");
        let password = text("password");
        if let Some(node) = fields.get("password") {
            self.note_secret(node);
        }
        let clean = self.flag(fields, "clean");
        let expiry = fields.get("session_expiry");
        let session_expiry_s = expiry.and_then(|node| self.seconds(node, u64::from(u32::MAX)));
        let aliases = fields.get("topic_aliases");
        let aliases = aliases.and_then(|node| self.count_within(node, 1..=u64::from(ALIASES_MAX)));
        let authentication = match fields.get("authentication") {
            Some(node) => self.authentication(node, program).map(Some),
            None => Some(None),
        };
        let will = match fields.get("will") {
            Some(node) => self.will(node, five, program).map(Some),
            None => Some(None),
        };
        if !clean && fields.get("client_id").is_none() {
            let place = fields.key_place("clean").unwrap_or(fields.place());
            self.diagnostics
                .error(
                    "no-client-id",
                    place,
                    "a session that is kept belongs to a client identifier",
                )
                .hint("write one for each user: `client_id: \"load-${user}\"`");
        }
        if let Some(place) = fields.key_place("password")
            && fields.get("user").is_none()
            && !five
        {
            self.diagnostics.error(
                "misplaced-key",
                place,
                "in MQTT 3.1.1 a `password` needs a `user`",
            );
        }
        Some(MqttOpen {
            bare: true,
            client_id: client_id?.unwrap_or_default(),
            user: user?,
            password: password?,
            clean,
            session_expiry_s: session_expiry_s.unwrap_or(0) as u32,
            will: will?,
            topic_aliases: aliases.unwrap_or(0) as u16,
            authentication: authentication?.map(Box::new),
        })
    }

    /// A method whose data are known beforehand.
    fn authentication(&mut self, node: &Node, program: &Program) -> Option<MqttAuthentication> {
        let fields = self.fields(node, &AUTHENTICATION, "`authentication`")?;
        let method = self.word(fields.get("method")?, "a method's name")?;
        let name = method.text.to_ascii_uppercase();
        if CHALLENGING.iter().any(|start| name.starts_with(start)) {
            let message =
                format!("{} answers what the server sends, which `data` cannot", method.text);
            self.diagnostics
                .error("bad-method", &method.place, message)
                .hint("use a method whose data are known beforehand, such as a token; or `user` and `password`");
        }
        let mut data = Vec::new();
        if let Some(node) = fields.get("data") {
            for item in self.one_or_more(node) {
                self.note_secret(item);
                data.push(self.template(item, Escape::None, program)?);
            }
        }
        Some(MqttAuthentication { method: method.text, data })
    }

    fn will(&mut self, node: &Node, five: bool, program: &Program) -> Option<MqttWill> {
        let fields = self.fields(node, &WILL, "`will`")?;
        self.only_of_five(&fields, five, &["delay"]);
        let topic = self.mqtt_topic(fields.get("topic")?, proto::mqtt::check_topic, program);
        let payload = match fields.get("payload") {
            Some(node) => self.payload(node, program),
            None => Some(Template::default()),
        };
        let qos = self.qos(&fields);
        let delay = fields.get("delay");
        let delay_s = delay.and_then(|node| self.seconds(node, u64::from(u32::MAX)));
        Some(MqttWill {
            topic: topic?,
            payload: Payload::Text(payload?),
            qos: qos?,
            retain: self.flag(&fields, "retain"),
            delay_s: delay_s.unwrap_or(0) as u32,
        })
    }

    fn subscribe(&mut self, node: &Node, fields: &Fields<'_>, program: &mut Program) {
        if node.mapping().is_some() {
            return self.no_graphql(&node.place);
        }
        if let Some(place) = fields.key_place("reply") {
            self.diagnostics
                .error("misplaced-key", place, "this needs `protocol: graphql-ws`")
                .hint("wait for a message with `expect`");
        }
        let five = self.speaks_mqtt("subscribe", &node.place, program);
        self.only_of_five(fields, five, &["no_local", "retained", "id"]);
        let filters = self.filters(node, program);
        let items = self.one_or_more(node).iter();
        let mut shared =
            items.filter(|item| item.text().is_some_and(|text| text.starts_with("$share/")));
        if let Some(item) = shared.next().filter(|_| self.has_numbers) {
            let message = "a shared subscription divides messages among its clients, so that numbers which others got count \
                           as lost";
            self.diagnostics
                .warning("shared-numbers", &item.place, message)
                .hint("leave `seq` out of `messages`, or subscribe without `$share`");
        }
        let qos = self.qos(fields);
        let retained = fields.get_or_default("retained");
        let retained = retained.and_then(|node| self.choice(&node, RETAINED));
        let id = fields.get("id").and_then(|node| self.subscription_id(node));
        let mut filters = filters.into_iter();
        let filter = filters.next();
        let delivery = Delivery {
            qos: qos.unwrap_or(0),
            more: filters.collect(),
            no_local: self.flag(fields, "no_local"),
            retain_handling: retained.unwrap_or(0) as u8,
            id,
            ..Delivery::default()
        };
        let measure = self.measure_from(fields, "as", "subscribe", MeasureKind::Request);
        let timeout_ns = self.timeout(fields.get("timeout"));
        if let Some(filter) = filter {
            program.push(Op::Channel(Box::new(ChannelOp {
                verb: ChannelVerb::Join,
                topic: Some(filter),
                event: Template::default(),
                payload: Payload::Text(Template::default()),
                reply: None,
                measure,
                timeout_ns,
                confirmed: true,
                rejoin: None,
                delivery: Some(Box::new(delivery)),
            })));
        }
    }

    fn subscription_id(&mut self, node: &Node) -> Option<u32> {
        let count = self.count(node)?;
        let id = u32::try_from(count).ok().filter(|id| (1..=SUBSCRIPTION_MAX).contains(id));
        if id.is_none() {
            self.diagnostics
                .error("bad-count", &node.place, format!("{count} identifies no subscription"))
                .hint(format!("write a number in 1..={SUBSCRIPTION_MAX}"));
        }
        id
    }

    fn unsubscribe(&mut self, node: &Node, fields: &Fields<'_>, program: &mut Program) {
        self.speaks_mqtt("unsubscribe", &node.place, program);
        let filters = match node.is_null() {
            true => None,
            false => Some(self.filters(node, program)),
        };
        let measure = self.measure_from(fields, "as", "unsubscribe", MeasureKind::Request);
        let timeout_ns = self.timeout(fields.get("timeout"));
        if filters.as_ref().is_some_and(Vec::is_empty) {
            return;
        }
        let mut filters = filters.into_iter().flatten();
        let topic = filters.next();
        let delivery = Delivery { more: filters.collect(), ..Delivery::default() };
        program.push(Op::Channel(Box::new(ChannelOp {
            delivery: Some(Box::new(delivery)),
            ..leaving(topic, measure, timeout_ns)
        })));
    }

    /// One filter or a list of them; empty: one is wrong, which is reported.
    fn filters(&mut self, node: &Node, program: &Program) -> Vec<Template> {
        let items = self.one_or_more(node);
        if !(1..=proto::mqtt::FILTERS_MAX).contains(&items.len()) {
            let message = format!("a packet has 1 to {} filters", proto::mqtt::FILTERS_MAX);
            self.diagnostics
                .error("bad-topic", &node.place, message)
                .hint("write a filter like `rooms/+/said`, or a list of them; more of them in further steps");
            return Vec::new();
        }
        let mut filters: Vec<Template> = Vec::new();
        for item in items {
            let Some(filter) = self.mqtt_topic(item, proto::mqtt::check_filter, program) else {
                continue;
            };
            if filter.as_static().is_some() && filters.contains(&filter) {
                self.diagnostics
                    .error("bad-topic", &item.place, "this filter is in the list twice")
                    .hint("leave one of them out: the server would take the second in place of the first");
            }
            filters.push(filter);
        }
        match filters.len() == items.len() {
            true => filters,
            false => Vec::new(),
        }
    }

    fn publish(&mut self, node: &Node, fields: &Fields<'_>, program: &mut Program) {
        let five = self.speaks_mqtt("publish", &node.place, program);
        let Some(message) = self.fields(node, &MQTT_MESSAGE, "`publish`") else {
            return;
        };
        self.only_of_five(&message, five, OF_FIVE);
        let topic = message
            .get("topic")
            .and_then(|node| self.mqtt_topic(node, proto::mqtt::check_topic, program));
        let payload = self.mqtt_payload(&message, program);
        let qos = self.qos(&message).unwrap_or(0);
        let delivery = Delivery {
            qos,
            retain: self.flag(&message, "retain"),
            properties: self.user_properties(&message, program),
            about: self.message_properties(&message, program),
            ..Delivery::default()
        };
        if let Some(place) = fields.key_place("reply")
            && qos > 0
        {
            self.diagnostics
                .error(
                    "misplaced-key",
                    place,
                    "what answers a message of QoS 1 or 2 is its acknowledgement",
                )
                .hint("publish with QoS 0, or wait for the message with `expect`");
        }
        let (reply, measure) = self.reply_of(fields, "publish", program);
        let timeout_ns = self.timeout(fields.get("timeout"));
        if let (Some(topic), Some(payload)) = (topic, payload) {
            program.push(Op::Channel(Box::new(ChannelOp {
                verb: ChannelVerb::Push,
                topic: Some(topic),
                event: Template::default(),
                payload,
                reply,
                measure,
                timeout_ns,
                confirmed: false,
                rejoin: None,
                delivery: Some(Box::new(delivery)),
            })));
        }
    }

    fn mqtt_payload(&mut self, message: &Fields<'_>, program: &Program) -> Option<Payload> {
        match (message.get("payload"), message.get("bytes")) {
            (Some(_), Some(bytes)) => {
                self.diagnostics
                    .error("two-payloads", &bytes.place, "this message already has a payload")
                    .hint("write `payload` or `bytes`");
                None
            }
            (None, Some(bytes)) => self.bytes(bytes, program).map(Payload::Bytes),
            (Some(payload), None) => self.payload(payload, program).map(Payload::Text),
            (None, None) => Some(Payload::Text(Template::default())),
        }
    }

    fn user_properties(
        &mut self,
        message: &Fields<'_>,
        program: &Program,
    ) -> Vec<(String, Template)> {
        let Some(node) = message.get("properties") else {
            return Vec::new();
        };
        let Some(entries) = node.mapping() else {
            self.expected(node, "a mapping of names and values");
            return Vec::new();
        };
        let mut properties = Vec::new();
        for entry in entries {
            if let Some(value) = self.template(&entry.value, Escape::None, program) {
                properties.push((entry.key.clone(), value));
            }
        }
        properties
    }

    fn message_properties(&mut self, message: &Fields<'_>, program: &Program) -> MessageProperties {
        let mut text = |key: &str| {
            let node = message.get(key)?;
            self.template(node, Escape::None, program)
        };
        let content_type = text("content_type");
        let correlation = text("correlation");
        let response_topic = message
            .get("response_topic")
            .and_then(|node| self.mqtt_topic(node, proto::mqtt::check_topic, program));
        let expires = message.get("expires");
        let expiry_s = expires.and_then(|node| self.seconds(node, u64::from(u32::MAX)));
        MessageProperties {
            is_text: self.flag(message, "utf8"),
            expiry_s: expiry_s.map(|seconds| seconds as u32),
            content_type,
            response_topic,
            correlation,
        }
    }

    /// The name or filter of topics. What no user changes is checked here, the rest when it is sent.
    fn mqtt_topic(
        &mut self,
        node: &Node,
        check: fn(&[u8]) -> Result<(), TopicError>,
        program: &Program,
    ) -> Option<Template> {
        let topic = self.template(node, Escape::None, program)?;
        if let Some(text) = topic.as_static()
            && let Err(error) = check(text.as_bytes())
        {
            self.diagnostics.error("bad-topic", &node.place, error.to_string());
        }
        Some(topic)
    }

    fn qos(&mut self, fields: &Fields<'_>) -> Option<u8> {
        let node = fields.get_or_default("qos")?;
        self.choice(&node, QOS).map(|qos| qos as u8)
    }

    fn flag(&mut self, fields: &Fields<'_>, key: &str) -> bool {
        let node = fields.get_or_default(key);
        node.and_then(|node| self.bool(&node)) == Some(true)
    }

    /// A duration of whole seconds.
    fn seconds(&mut self, node: &Node, max: u64) -> Option<u64> {
        let ns = self.duration_ns(node)?;
        let seconds = ns / SECOND_NS;
        if ns % SECOND_NS == 0 && (1..=max).contains(&seconds) {
            return Some(seconds);
        }
        self.diagnostics
            .error("bad-duration", &node.place, "MQTT counts this time in whole seconds")
            .hint(format!("write 1s to {max}s"));
        None
    }

    fn only_of_five(&mut self, fields: &Fields<'_>, five: bool, keys: &[&str]) {
        let place = keys.iter().find_map(|key| fields.key_place(key));
        if let Some(place) = place.filter(|_| !five) {
            self.diagnostics
                .error("misplaced-key", place, "this is of MQTT 5")
                .hint("write `version: 5` beside `mqtt`");
        }
    }

    /// Reports a step that needs MQTT where something else is spoken. True: it is version 5, or unknown.
    fn speaks_mqtt(&mut self, verb: &str, place: &Place, program: &Program) -> bool {
        if let Some(Protocol::Mqtt { five, .. }) = program.protocol {
            return five;
        }
        let message = format!("`{verb}` needs a connection of MQTT, but no earlier step opens one");
        self.diagnostics.error("no-channels", place, message).hint(match program.protocol {
            Some(_) => {
                "channels over WebSockets have `join`, `leave`, `push`, `perform` and `emit`"
            }
            None => "open it first: `- mqtt: HOST:PORT`",
        });
        true
    }

    /// The code of a step that closes a connection of MQTT.
    pub(super) fn close_mqtt(&mut self, node: &Node, five: bool) -> Option<u16> {
        if node.is_null() {
            return Some(u16::from(proto::mqtt::NORMAL));
        }
        let code = self.count(node)?;
        if !five || !CLOSE_REASONS.contains(&code) {
            self.diagnostics
                .error("bad-close", &node.place, format!("{code} cannot be sent as a reason to disconnect"))
                .hint("a reason needs version 5; 0 is the normal one, 4 has the server publish the will");
        }
        Some(code as u16)
    }
}
