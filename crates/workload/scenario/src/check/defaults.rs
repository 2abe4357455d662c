//! What scenarios of version 0.1 did not have unless they said so, and have now: cookies, and compressed answers. Where a
//! file seems to count on their absence, that is said.

use super::Checker;
use super::fields::Fields;
use crate::document::node::{Entry, Node, Place};

/// Headers of a response that a compressed body changes.
const CHANGED: &[&str] = &["content-length", "content-encoding"];

/// What the file says of these defaults, and what was said of them.
#[derive(Debug, Default)]
pub(super) struct Defaults {
    /// It says whether users keep cookies.
    pub(super) chooses_cookies: bool,
    /// It says which codings requests accept.
    pub(super) chooses_codings: bool,
}

impl Checker<'_> {
    /// Says once what is done now without being written, at the first request that seems to do it by hand.
    pub(super) fn note_defaults(&mut self, fields: &Fields<'_>) {
        let entries = |key| fields.get(key).and_then(Node::mapping).unwrap_or_default();
        if !self.defaults.chooses_cookies {
            let sent = entries("headers").iter().find(|entry| is_named(&entry.key, "cookie"));
            let saved = entries("save").iter().find(|entry| saves_header(entry, &["set-cookie"]));
            if let Some(entry) = sent.or(saved) {
                self.note_cookies(&entry.key_place);
            }
        }
        let chooses_codings = self.defaults.chooses_codings
            || entries("headers").iter().any(|entry| is_named(&entry.key, "accept-encoding"));
        if !chooses_codings
            && let Some(entry) = entries("save").iter().find(|entry| saves_header(entry, CHANGED))
        {
            self.note_codings(&entry.key_place);
        }
    }

    fn note_cookies(&mut self, place: &Place) {
        self.defaults.chooses_cookies = true;
        let message = "users keep the cookies that servers set, and send them back by themselves";
        let warning = self.diagnostics.warning("keeps-cookies", place, message);
        warning.hint("write `options: { cookies: false }` for what version 0.1 did, or `cookies: true` if this is meant");
    }

    fn note_codings(&mut self, place: &Place) {
        self.defaults.chooses_codings = true;
        let message = "requests accept compressed bodies, so this is about a body as it was sent";
        let warning = self.diagnostics.warning("accepts-codings", place, message);
        warning.hint("write `options: { accept_encoding: none }` for what version 0.1 did, or list the codings that are meant");
    }
}

fn is_named(name: &str, lower: &str) -> bool {
    name.eq_ignore_ascii_case(lower)
}

/// Whether the part of a response that is saved is one of these headers.
fn saves_header(entry: &Entry, names: &[&str]) -> bool {
    let header = entry.value.get("header").and_then(Node::text);
    header.is_some_and(|header| names.iter().any(|name| is_named(header, name)))
}
