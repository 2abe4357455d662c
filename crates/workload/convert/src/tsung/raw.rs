//! `<raw>`: what is sent over a plain connection, and where that leads.

use roxmltree::Node;

use super::attributes::value_at;
use super::matching::MatchSource;
use super::places::Server;
use super::requests::Around;
use super::text::Form;
use super::{Importer, Item, Map, opening};

/// The maximum number of zero bytes that a scenario spells out.
const ZERO_BYTES_MAX: u64 = 64 << 10;

/// The plain connection of the session at hand.
#[derive(Debug, Default)]
pub(super) struct Plain {
    is_open: bool,
    /// Server that a `change_type` leads to, if that is not the document's only one.
    to: Option<String>,
    /// The step that opens it, until it stands in the session's own list.
    pub(super) opening: Option<Map>,
}

impl Server {
    /// As a plain connection's step names it.
    pub(super) fn address(&self) -> String {
        match self.scheme {
            "https" => format!("tls://{}:{}", self.host, self.port),
            _ => format!("{}:{}", self.host, self.port),
        }
    }

    /// As a target of plain connections alone.
    pub(super) fn plain_url(&self) -> String {
        let scheme = if self.scheme == "https" { "tls" } else { "tcp" };
        format!("{scheme}://{}:{}", self.host, self.port)
    }
}

impl Importer<'_> {
    pub(super) fn raw(
        &mut self,
        node: Node<'_, '_>,
        mut around: Around,
        dynamic: &[Node<'_, '_>],
        steps: &mut Vec<Map>,
    ) {
        self.known_attributes(node);
        self.required(node, "ack");
        let ack = self.word(node, "ack", &["local", "no_ack", "global"]);
        if ack == Some("global") {
            let message = "users do not wait for others: this one continues after its own response";
            self.diagnostics.lost(value_at(node, "ack"), message.to_owned());
        }
        let Some(step) = self.raw_step(node, &around) else {
            // The variables are set all the same, so that reading them is not reported as well.
            for name in dynamic.iter().filter_map(|part| part.attribute("name")) {
                let name = self.set_variable(name);
                self.session.undefined.push(name);
            }
            return;
        };
        self.open_plain(node, steps);
        for part in dynamic {
            self.read_dyn_variable(*part, MatchSource::Message, &mut around.save);
        }
        self.answered(step, ack != Some("no_ack"), around, steps);
    }

    /// `send` with the text or the zero bytes; `None`: there are none, which is reported.
    fn raw_step(&mut self, node: Node<'_, '_>, around: &Around) -> Option<Map> {
        let at = opening(node);
        let size = node.attribute("datasize").unwrap_or_default();
        if size.contains("%%") {
            let message = "a size that differs between users".to_owned();
            self.diagnostics.lost(value_at(node, "datasize"), message);
            return None;
        }
        let size = match size {
            "" => 0,
            _ => self.count(node, "datasize")?,
        };
        if size > ZERO_BYTES_MAX {
            let message = format!("{size} zero bytes are more than {ZERO_BYTES_MAX}");
            self.diagnostics.lost(value_at(node, "datasize"), message);
            return None;
        }
        if size > 0 {
            let zeros = format!("[hex: \"{}\"]", "00".repeat(size as usize));
            let step = Map::single(at, "send", Item::Nothing);
            return Some(step.with("bytes", Item::Bare(zeros)));
        }
        let data = self.required(node, "data")?;
        let data = self.template(data, around.subst, Form::Plain, &value_at(node, "data"));
        Some(Map::single(at, "send", Item::Text(data)))
    }

    /// Opens the session's connection, where no step before does. Inside a loop it would be opened
    /// again in each round: then the session's own list gets the step.
    fn open_plain(&mut self, node: Node<'_, '_>, steps: &mut Vec<Map>) {
        if std::mem::replace(&mut self.session.plain.is_open, true) {
            return;
        }
        let at = opening(node);
        let to = match (self.session.plain.to.take(), &self.servers[..]) {
            (Some(to), _) => Item::Text(to),
            (None, _) if self.is_plain => Item::Nothing,
            (None, []) => Item::Nothing,
            (None, [one]) => Item::Text(one.address()),
            (None, [first, ..]) => {
                let first = first.address();
                let message = "in a file with HTTP or WebSocket, all plain connections go to the first server";
                self.diagnostics.lost(at.clone(), message.to_owned());
                Item::Text(first)
            }
        };
        let step = Map::single(at, "tcp", to).with("framing", Item::Bare("none".to_owned()));
        let around = node.ancestors().nth(2);
        if around.is_some_and(|around| around.tag_name().name() == "session") {
            steps.push(step);
        } else {
            self.session.plain.opening = Some(step);
        }
    }

    /// A `change_type` to `ts_raw`: where the connection goes that the next request opens.
    pub(super) fn go_to_plain(&mut self, node: Node<'_, '_>, server: &Server) {
        if self.session.plain.is_open {
            let message =
                "the session already has a plain connection and cannot open another one".to_owned();
            self.diagnostics.lost(value_at(node, "new_type"), message);
            return;
        }
        let address = server.address();
        let is_target = matches!(&self.servers[..], [one] if one.address() == address);
        self.session.plain.to = (!is_target).then_some(address);
    }
}
