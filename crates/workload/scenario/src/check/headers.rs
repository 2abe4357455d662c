//! Headers of requests: which ones a scenario may write, and which ones a step makes.

use plan::expr::Template;

use super::Checker;
use crate::document::node::Node;

/// Fields that frame the body of a request (RFC 9112 section 6). Every request writes them as its body is.
pub(super) const FRAMING: &[&str] = &["content-length", "transfer-encoding"];
/// Fields by which a WebSocket is opened (RFC 6455 section 4.1).
const HANDSHAKE: &[&str] = &[
    "upgrade",
    "connection",
    "sec-websocket-key",
    "sec-websocket-version",
    "sec-websocket-extensions",
];

impl Checker<'_> {
    /// Reports headers of these names, which are written by hand where something else writes them; `by`: what does.
    pub(super) fn made_elsewhere(
        &mut self,
        headers: Option<&Node>,
        names: &[&str],
        by: &str,
        hint: &str,
    ) {
        for entry in headers.and_then(Node::mapping).unwrap_or_default() {
            let mut names = names.iter();
            if let Some(name) = names.find(|name| entry.key.eq_ignore_ascii_case(name)) {
                let message = format!("{by} writes the header `{name}` itself");
                self.diagnostics.error("bad-header", &entry.key_place, message).hint(hint);
            }
        }
    }

    /// Reports headers of a handshake that it writes itself.
    pub(super) fn no_handshake_headers(&mut self, headers: Option<&Node>) {
        let hint = "remove it; the key `compress` offers compression";
        self.made_elsewhere(headers, HANDSHAKE, "the handshake of a WebSocket", hint);
    }

    /// Adds the run's headers, unless there is one of that name.
    pub(super) fn add_headers_of_run(&self, headers: &mut Vec<(String, Template)>) {
        for (name, value) in &self.headers {
            add_absent(headers, name, value);
        }
    }

    /// The same for a handshake, which writes some by itself.
    pub(super) fn add_headers_of_run_to_handshake(&self, headers: &mut Vec<(String, Template)>) {
        let others = self.headers.iter().filter(|(name, _)| !is_one_of(HANDSHAKE, name));
        for (name, value) in others {
            add_absent(headers, name, value);
        }
    }
}

/// Adds a header unless there is one of that name.
pub(super) fn add_absent(headers: &mut Vec<(String, Template)>, name: &str, value: &Template) {
    if !has(headers, name) {
        headers.push((name.to_owned(), value.clone()));
    }
}

/// Whether there is a header of this name.
pub(super) fn has(headers: &[(String, Template)], name: &str) -> bool {
    headers.iter().any(|(found, _)| found.eq_ignore_ascii_case(name))
}

fn is_one_of(names: &[&str], name: &str) -> bool {
    names.iter().any(|known| known.eq_ignore_ascii_case(name))
}
