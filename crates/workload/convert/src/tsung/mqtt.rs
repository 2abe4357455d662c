//! `<mqtt>`: steps of MQTT (`ts_mqtt`).

use roxmltree::Node;

use super::attributes::value_at;
use super::requests::Around;
use super::text::{self, Form};
use super::{Importer, Item, Map, opening};

/// Seconds between two pings where the document does not say.
const KEEP_ALIVE_S: f64 = 10.0;
/// How long messages are waited for where the document does not say.
const WAIT_S: f64 = 1.0;

impl Importer<'_> {
    pub(super) fn mqtt(
        &mut self,
        node: Node<'_, '_>,
        around: &Around,
        dynamic: &[Node<'_, '_>],
        steps: &mut Vec<Map>,
    ) {
        const TYPES: [&str; 6] =
            ["connect", "disconnect", "publish", "subscribe", "unsubscribe", "waitForMessages"];
        self.known_attributes(node);
        if around.looks() || !dynamic.is_empty() {
            let message = "acknowledgements of MQTT are not searched".to_owned();
            self.diagnostics.lost(opening(node), message).hint("write `expect` with `save`");
        }
        for part in dynamic.iter().filter_map(|part| part.attribute("name")) {
            let name = self.set_variable(part);
            self.session.undefined.push(name);
        }
        self.required(node, "type");
        let at = opening(node);
        let mut step = match self.word(node, "type", &TYPES) {
            Some("connect") => self.mqtt_connect(node, around),
            Some("disconnect") => Map::single(at, "close", Item::Nothing),
            Some("publish") => {
                let Some(step) = self.mqtt_publish(node, around) else { return };
                step
            }
            Some("subscribe") => {
                let Some(topic) = self.mqtt_text(node, "topic", around) else { return };
                Map::single(at, "subscribe", Item::Text(topic)).with("qos", self.qos(node, "qos"))
            }
            Some("unsubscribe") => {
                let Some(topic) = self.mqtt_text(node, "topic", around) else { return };
                Map::single(at, "unsubscribe", Item::Text(topic))
            }
            // Messages come meanwhile, and are acknowledged by themselves.
            Some("waitForMessages") => {
                let seconds = self.number(node, "timeout").unwrap_or(WAIT_S);
                self.session.longest_s += seconds * self.session.rounds;
                Map::single(at, "think", Item::Bare(text::seconds(seconds)))
            }
            _ => return,
        };
        let is_named =
            step.entries.first().is_some_and(|(key, _)| key != "think" && key != "close");
        if is_named {
            around.put_tag(&mut step);
        }
        steps.push(step);
    }

    fn mqtt_connect(&mut self, node: Node<'_, '_>, around: &Around) -> Map {
        let to = match &self.servers[..] {
            [one] if !self.is_plain => Item::Text(one.address()),
            _ => Item::Nothing,
        };
        let mut step = Map::single(opening(node), "mqtt", to);
        let client_id = match node.has_attribute("client_id") {
            true => self.mqtt_text(node, "client_id", around).unwrap_or_default(),
            false => "tsung-${random_string(10)}".to_owned(),
        };
        step.put("client_id", Item::Text(client_id));
        for (attribute, key) in [("username", "user"), ("password", "password")] {
            if node.has_attribute(attribute)
                && let Some(value) = self.mqtt_text(node, attribute, around)
            {
                step.put(key, Item::Text(value));
            }
        }
        let keep_alive = self.number(node, "keepalive").unwrap_or(KEEP_ALIVE_S);
        step.put("keep_alive", Item::Bare(text::seconds(keep_alive.round())));
        if !self.flag(node, "clean_start", true) {
            step.put("clean", Item::Bare("false".to_owned()));
        }
        if node.attribute("will_topic").is_some_and(|topic| !topic.is_empty()) {
            let mut will = Map::new(value_at(node, "will_topic"));
            for (attribute, key) in [("will_topic", "topic"), ("will_msg", "payload")] {
                if let Some(value) = node.attribute(attribute).filter(|value| !value.is_empty()) {
                    let at = value_at(node, attribute);
                    let value = self.template(value, around.subst, Form::Plain, &at);
                    will.put(key, Item::Text(value));
                }
            }
            will.put("qos", self.qos(node, "will_qos"));
            if self.flag(node, "will_retain", false) {
                will.put("retain", Item::Bare("true".to_owned()));
            }
            step.put("will", Item::Map(will));
        }
        step
    }

    fn mqtt_publish(&mut self, node: Node<'_, '_>, around: &Around) -> Option<Map> {
        if self.flag(node, "stamped", false) {
            let message = "messages with a stamp of Tsung's are not made".to_owned();
            let hint = "write the time into the payload: ${now()}, and `sent_at` in `messages`";
            self.diagnostics.lost(value_at(node, "stamped"), message).hint(hint);
        }
        let topic = self.mqtt_text(node, "topic", around)?;
        let payload: String = node.children().filter_map(|child| child.text()).collect();
        let at = node.first_child().map_or_else(|| opening(node), |child| child.range());
        let payload = self.template(&payload, around.subst, Form::Plain, &at);
        let mut message = Map::single(opening(node), "topic", Item::Text(topic));
        if !payload.is_empty() {
            message.put("payload", Item::Text(payload));
        }
        message.put("qos", self.qos(node, "qos"));
        if self.flag(node, "retained", false) {
            message.put("retain", Item::Bare("true".to_owned()));
        }
        Some(Map::single(opening(node), "publish", Item::Map(message)))
    }

    /// An attribute that must be there, with variables filled in.
    fn mqtt_text(&mut self, node: Node<'_, '_>, name: &str, around: &Around) -> Option<String> {
        let value = self.required(node, name)?;
        Some(self.template(value, around.subst, Form::Plain, &value_at(node, name)))
    }

    fn qos(&mut self, node: Node<'_, '_>, name: &str) -> Item {
        let qos = self.word(node, name, &["0", "1", "2"]).unwrap_or("0");
        Item::Bare(qos.to_owned())
    }
}
