//! Known elements and attributes, and reading their values.

use std::ops::Range;

use roxmltree::Node;
use scenario::document::suggest;
use units::parse;

use super::{Importer, opening};

/// Tsung's elements and their attributes (`tsung-1.0.dtd`), as far as they are read.
const ELEMENTS: &[(&str, &[&str])] = &[
    ("tsung", &["dumptraffic", "backend", "loglevel", "version"]),
    ("server", &["host", "port", "weight", "type"]),
    (
        "client",
        &["cpu", "type", "host", "batch", "scan_intf", "maxusers", "use_controller_vm", "weight"],
    ),
    ("ip", &["value", "scan"]),
    ("iprange", &["value", "version"]),
    ("load", &["duration", "unit", "loop"]),
    ("arrivalphase", &["duration", "phase", "wait_all_sessions_end", "unit"]),
    ("users", &["interarrival", "arrivalrate", "unit", "maxnumber"]),
    ("user", &["start_time", "unit", "session"]),
    ("session_setup", &["name", "probability", "weight"]),
    ("option", &["name", "override", "random", "id", "min", "max", "type", "value"]),
    ("user_agent", &["probability"]),
    ("session", &["name", "bidi", "persistent", "probability", "weight", "type"]),
    ("change_type", &["new_type", "host", "port", "server_type", "store", "restore", "bidi"]),
    ("request", &["subst", "tag"]),
    (
        "match",
        &[
            "do",
            "when",
            "subst",
            "loop_back",
            "name",
            "max_loop",
            "max_restart",
            "sleep_loop",
            "apply_to_content",
            "skip_headers",
        ],
    ),
    (
        "dyn_variable",
        &["name", "xpath", "re", "jsonpath", "pgsql_expr", "regexp", "header", "decode"],
    ),
    ("thinktime", &["random", "value", "min", "max"]),
    ("transaction", &["name"]),
    (
        "http",
        &[
            "contents",
            "contents_from_file",
            "content_type",
            "if_modified_since",
            "method",
            "url",
            "version",
        ],
    ),
    ("http_header", &["name", "encoding", "value"]),
    ("add_cookie", &["key", "domain", "path", "value"]),
    ("soap", &["action"]),
    (
        "www_authenticate",
        &["passwd", "userid", "nonce", "opaque", "cnonce", "nc", "realm", "qop", "type"],
    ),
    (
        "oauth",
        &[
            "consumer_key",
            "consumer_secret",
            "access_token",
            "access_token_secret",
            "encoding",
            "method",
        ],
    ),
    ("websocket", &["type", "ack", "frame", "origin", "subprotocols", "path"]),
    ("raw", &["ack", "datasize", "data"]),
    (
        "mqtt",
        &[
            "type",
            "clean_start",
            "keepalive",
            "will_topic",
            "will_qos",
            "will_msg",
            "will_retain",
            "topic",
            "qos",
            "retained",
            "stamped",
            "timeout",
            "username",
            "password",
            "client_id",
        ],
    ),
    (
        "setdynvars",
        &[
            "sourcetype",
            "callback",
            "code",
            "fileid",
            "order",
            "delimiter",
            "length",
            "start",
            "end",
            "from",
            "jsonpath",
            "value",
        ],
    ),
    ("var", &["name"]),
    ("for", &["var", "from", "to", "incr"]),
    ("foreach", &["name", "in", "include", "exclude"]),
    ("repeat", &["name", "max_repeat"]),
    ("if", &["var", "eq", "neq", "gt", "gte", "lt", "lte"]),
    ("while", &["var", "eq", "neq", "gt", "gte", "lt", "lte"]),
    ("until", &["var", "eq", "neq", "gt", "gte", "lt", "lte"]),
    ("abort", &["type"]),
];

/// Elements that have no counterpart, whatever stands in them.
const LOST: &[&str] = &[
    "jabber",
    "pgsql",
    "ldap",
    "mysql",
    "fs",
    "shell",
    "job",
    "amqp",
    "interaction",
    "set_option",
];

impl Importer<'_> {
    /// Reports attributes that the element cannot have.
    pub(super) fn known_attributes(&mut self, node: Node<'_, '_>) {
        let name = node.tag_name().name();
        let Some((_, known)) = ELEMENTS.iter().find(|(element, _)| *element == name) else {
            return;
        };
        for attribute in node.attributes() {
            let written = attribute.name();
            if known.contains(&written) || attribute.namespace().is_some() {
                continue;
            }
            let message = format!("`<{name}>` has no attribute `{written}`");
            let hint = suggest::hint(written, "its attributes are", known.iter().copied());
            self.diagnostics
                .error("unknown-attribute", attribute.range_qname(), message)
                .hint_some(hint);
        }
    }

    /// Reports an element that is not allowed here, or that has no counterpart.
    pub(super) fn unknown_element(&mut self, node: Node<'_, '_>) {
        let name = node.tag_name().name();
        if LOST.contains(&name) {
            let message = format!("`<{name}>` is not supported");
            self.diagnostics.lost(opening(node), message);
            return;
        }
        let names = ELEMENTS.iter().map(|(element, _)| *element);
        if names.clone().any(|known| known == name) {
            let parent = node.parent_element().map_or("", |p| p.tag_name().name());
            let message = format!("`<{name}>` cannot stand in `<{parent}>`");
            self.diagnostics.error("misplaced-element", opening(node), message);
            return;
        }
        let hint = suggest::nearest(name, names).map(|near| format!("did you mean `{near}`?"));
        let message = format!("there is no element `<{name}>`");
        self.diagnostics.error("unknown-element", opening(node), message).hint_some(hint);
    }

    /// The value of an attribute that must be there.
    pub(super) fn required<'d>(&mut self, node: Node<'d, '_>, name: &str) -> Option<&'d str> {
        let value = node.attribute(name);
        if value.is_none() {
            let element = node.tag_name().name();
            let message = format!("`<{element}>` needs the attribute `{name}`");
            self.diagnostics
                .error("missing-attribute", opening(node), message)
                .hint(format!("write {name}=\"…\""));
        }
        value
    }

    /// A number of at least 0; reports anything else. `None` also where it is not written.
    pub(super) fn number(&mut self, node: Node<'_, '_>, name: &str) -> Option<f64> {
        let text = node.attribute(name)?;
        let found = parse::number(text.trim()).ok();
        let found = found.filter(|number| (0.0..=1e15).contains(number));
        if found.is_none() {
            let message = format!("{text:?} is not a number of at least 0");
            self.diagnostics
                .error("bad-number", value_at(node, name), message)
                .hint("write it like 10 or 0.5");
        }
        found
    }

    /// A whole number of at least 0.
    pub(super) fn count(&mut self, node: Node<'_, '_>, name: &str) -> Option<u64> {
        let number = self.number(node, name)?;
        if number.fract() != 0.0 {
            let message = format!("{number} is not a whole number");
            self.diagnostics.error("bad-number", value_at(node, name), message);
            return None;
        }
        Some(number as u64)
    }

    /// One of these words; `None` where it is not written or none of them, which is reported.
    pub(super) fn word(
        &mut self,
        node: Node<'_, '_>,
        name: &str,
        words: &[&'static str],
    ) -> Option<&'static str> {
        let written = node.attribute(name)?;
        let found = words.iter().find(|word| **word == written);
        if found.is_none() {
            let message = format!("`{written}` is not known here");
            let hint = suggest::hint(written, "write one of", words.iter().copied());
            self.diagnostics.error("bad-word", value_at(node, name), message).hint_some(hint);
        }
        found.copied()
    }

    /// Whether an attribute is `true`; `otherwise` where it is not written.
    pub(super) fn flag(&mut self, node: Node<'_, '_>, name: &str, otherwise: bool) -> bool {
        match self.word(node, name, &["true", "false"]) {
            Some(word) => word == "true",
            None => otherwise,
        }
    }

    /// How many seconds the element's `unit` is.
    pub(super) fn unit_s(&mut self, node: Node<'_, '_>) -> f64 {
        match self.word(node, "unit", &["second", "minute", "hour", "millisecond"]) {
            Some("minute") => 60.0,
            Some("hour") => 3600.0,
            Some("millisecond") => 0.001,
            _ => 1.0,
        }
    }
}

/// Place of an attribute's value; if the attribute is not written, place of the element's name.
pub(super) fn value_at(node: Node<'_, '_>, name: &str) -> Range<usize> {
    node.attribute_node(name).map_or_else(|| opening(node), |attribute| attribute.range_value())
}
