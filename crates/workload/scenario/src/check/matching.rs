//! Which message is meant, and what is kept of it: `when`, `save`, JSON pointers, regexes.

use crate::keys::{MQTT_HEADERS, REGEX_PARTS, SAVE, SAVE_WORDS, TIME_UNITS, TIME_UNITS_NS};
use plan::expr::{Escape, Template};
use plan::{Match, MatchTest, MeasureId, MeasureKind, Pattern, Save, Slot, Source};

use super::Checker;
use super::fields::Fields;
use super::pointers::{is_place, pointer_meant};
use super::program::Program;
use crate::document::node::{Entry, Node, Place};
use crate::expression::is_name;

/// The kind of thing that a `save` looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SaveScope {
    Response,
    Message,
    /// A message of a call, which has the metadata of the call's beginning.
    CallMessage,
}

impl Checker<'_> {
    /// The variable of that name, created if it is new; reports invalid names.
    pub(super) fn variable(
        &mut self,
        name: &str,
        place: &Place,
        program: &mut Program,
    ) -> Option<Slot> {
        if !self.variable_name(name, place) {
            return None;
        }
        if self.params.iter().any(|p| p.name == name) {
            let message = format!("`{name}` is a parameter and cannot be set");
            self.diagnostics.error("bad-name", place, message).hint("choose another name");
            return None;
        }
        if self.is_shared(name, place) {
            return None;
        }
        self.set_in_branch(name, place, program);
        Some(program.slot(name))
    }

    /// The measure named by a key, or of the given name where it is not written.
    pub(super) fn measure_from(
        &mut self,
        fields: &Fields<'_>,
        key: &str,
        otherwise: &str,
        kind: MeasureKind,
    ) -> MeasureId {
        let written = fields.get(key).and_then(|node| self.word(node, "a name"));
        match written {
            Some(word) => self.measure(&word.text, kind, &word.place),
            None => {
                // A name that was not written can only clash, and the step is then to blame.
                self.measure(otherwise, kind, fields.place())
            }
        }
    }

    /// `unit`: the length of a number's unit in nanoseconds; of the default where it is wrong, which is then reported.
    pub(super) fn time_unit_ns(&mut self, fields: &Fields<'_>) -> f64 {
        let written = fields.get_or_default("unit");
        let unit = written.and_then(|node| self.choice(&node, TIME_UNITS));
        TIME_UNITS_NS[unit.unwrap_or(1)]
    }

    /// `save`: variables and where their values are.
    pub(super) fn saves(
        &mut self,
        node: Option<&Node>,
        scope: SaveScope,
        program: &mut Program,
    ) -> Vec<Save> {
        let Some(node) = node else { return Vec::new() };
        let Some(entries) = node.mapping() else {
            self.expected(node, "a mapping of variables and sources (`game: /games/0/id`)");
            if let Some(name) = node.text().filter(|name| is_name(name)) {
                self.diagnostics.last_hint(format!("write `save: {{ {name}: /{name} }}`"));
            }
            return Vec::new();
        };
        let mut saves = Vec::new();
        for entry in entries {
            let source = self.save_source(&entry.value, scope, program);
            let slot = self.variable(&entry.key, &entry.key_place, program);
            if let (Some(slot), Some((from, default))) = (slot, source) {
                saves.push(Save { slot, from, default });
            }
        }
        saves
    }

    fn save_source(
        &mut self,
        node: &Node,
        scope: SaveScope,
        program: &Program,
    ) -> Option<(Source, Option<Template>)> {
        if node.mapping().is_none() {
            return self.short_source(node, scope).map(|source| (source, None));
        }
        let diagnostics = self.diagnostics.count();
        let fields = self.fields(node, &SAVE, "`save`")?;
        let is_lone = node.mapping().is_some_and(|entries| entries.len() == 1);
        if is_lone && self.diagnostics.count() > diagnostics {
            return None;
        }
        let default = match fields.get("default") {
            Some(default) => Some(self.typed_template(default, program)?),
            None => None,
        };
        self.long_source(node, &fields, scope).map(|source| (source, default))
    }

    /// A pointer or one of the words.
    fn short_source(&mut self, node: &Node, scope: SaveScope) -> Option<Source> {
        let word = self.word(node, "a JSON pointer or a mapping")?;
        match word.text.as_str() {
            "body" => Some(Source::Body),
            "bytes" => Some(Source::Bytes),
            "status" => self.only_response(node, scope, Source::Status),
            "time" => self.only_response(node, scope, Source::Time),
            "event" => self.only_message(node, scope, Source::Event),
            "id" => self.only_message(node, scope, Source::EventId),
            "topic" => self.only_message(node, scope, Source::Topic),
            text if is_place(text) => self.place_or_places(node),
            text if text.contains('@') => {
                let source = self.number_at(text, &word.place)?;
                self.only_message(node, scope, source)
            }
            text => {
                let message = format!("`{text}` is not something that can be saved");
                let hint = format!(
                    "write a JSON pointer like {}, or one of: status, time, body, bytes, event, id, topic, \
                     {{ regex: … }}, {{ css: … }}, {{ header: … }}",
                    pointer_meant(text)
                );
                self.diagnostics.error("bad-save", &word.place, message).hint(hint);
                None
            }
        }
    }

    fn long_source(
        &mut self,
        node: &Node,
        fields: &Fields<'_>,
        scope: SaveScope,
    ) -> Option<Source> {
        const SOURCES: [&str; 6] = ["pointer", "regex", "css", "header", "property", "from"];
        const PARTS: [(&str, &str); 4] =
            [("group", "regex"), ("in", "regex"), ("attr", "css"), ("all", "css")];
        let written: Vec<_> =
            SOURCES.into_iter().filter_map(|key| Some((key, fields.get(key)?))).collect();
        let [(key, value)] = written[..] else {
            self.diagnostics
                .error("bad-save", &node.place, "`save` needs exactly one source")
                .hint("write one of `pointer`, `regex`, `css`, `header`, `property`, `from`");
            return None;
        };
        for (part, of) in PARTS {
            if key != of
                && let Some(place) = fields.key_place(part)
            {
                let message = format!("`{part}` needs a `{of}`");
                self.diagnostics.error("bad-save", place, message);
            }
        }
        match key {
            "pointer" => self.place_or_places(value),
            "regex" => self.regex_group(value, fields, scope),
            "css" => self.elements(value, fields),
            "header" => {
                let word = self.word(value, "a header's name")?;
                self.token(&word.text, "header", &word.place);
                let source = Source::Header(word.text.to_ascii_lowercase());
                match scope {
                    SaveScope::CallMessage => Some(source),
                    SaveScope::Message if MQTT_HEADERS.contains(&word.text.as_str()) => {
                        Some(source)
                    }
                    SaveScope::Response | SaveScope::Message => {
                        self.only_response(value, scope, source)
                    }
                }
            }
            "property" => {
                let word = self.word(value, "a property's name")?;
                self.only_message(value, scope, Source::Property(word.text))
            }
            _ => match self.choice(value, SAVE_WORDS)? {
                0 => self.only_response(value, scope, Source::Status),
                1 => Some(Source::Body),
                2 => self.only_message(value, scope, Source::Event),
                3 => self.only_message(value, scope, Source::EventId),
                4 => self.only_message(value, scope, Source::Topic),
                5 => self.only_response(value, scope, Source::Time),
                _ => Some(Source::Bytes),
            },
        }
    }

    fn only_response(&mut self, node: &Node, scope: SaveScope, source: Source) -> Option<Source> {
        let (message, hint) = match scope {
            SaveScope::Response => return Some(source),
            SaveScope::Message => (
                "a message has no status, headers or response time",
                "save a JSON pointer, a `regex`, `body`, `event` or `id`",
            ),
            SaveScope::CallMessage => (
                "a message of a call has no status and no response time",
                "save a JSON pointer, or a `header` of the call's beginning; the status is that of `close`",
            ),
        };
        self.diagnostics.error("bad-save", &node.place, message).hint(hint);
        None
    }

    fn only_message(&mut self, node: &Node, scope: SaveScope, source: Source) -> Option<Source> {
        if scope == SaveScope::Response {
            self.diagnostics
                .error("bad-save", &node.place, "this is part of a message, not of a response")
                .hint("save it in `expect` or `reply`");
            return None;
        }
        Some(source)
    }

    fn regex_group(
        &mut self,
        node: &Node,
        fields: &Fields<'_>,
        scope: SaveScope,
    ) -> Option<Source> {
        let regex = self.regex(node)?;
        let whole = match fields.get_or_default("in") {
            Some(part) => self.choice(&part, REGEX_PARTS)? == 1,
            None => false,
        };
        let group = fields.get("group");
        let groups = regex.captures_len();
        let written = match group {
            Some(group) => Some((group, self.count(group)?)),
            None => None,
        };
        let group = match written {
            Some((node, group)) if group >= groups as u64 => {
                let message = format!("the regex has no group {group}");
                let hint = format!("it has {} of them; 0 is the whole match", groups - 1);
                self.diagnostics.error("bad-regex", &node.place, message).hint(hint);
                return None;
            }
            Some((_, group)) => group as usize,
            None => usize::from(groups > 1),
        };
        let source = Source::Regex { regex, group, whole };
        if whole {
            return self.only_response(node, scope, source);
        }
        Some(source)
    }

    fn regex(&mut self, node: &Node) -> Option<Pattern> {
        let word = self.word(node, "a regular expression")?;
        match Pattern::new(&word.text) {
            Ok(regex) => Some(regex),
            Err(error) => {
                let said = error.to_string();
                // The library draws its own caret over several lines; the last one says it.
                let last = said.lines().last().unwrap_or_default();
                let reason = last.strip_prefix("error: ").unwrap_or(last);
                let message = format!("this is not a regular expression: {reason}");
                self.diagnostics
                    .error("bad-regex", &word.place, message)
                    .hint("the syntax is that of the Rust crate `regex`");
                None
            }
        }
    }

    /// `when`: all conditions, in their order.
    pub(super) fn matches(&mut self, node: Option<&Node>, program: &Program) -> Vec<Match> {
        let Some(node) = node else { return Vec::new() };
        let Some(entries) = node.mapping() else {
            self.expected(node, "a mapping of conditions (`/type: update`)");
            return Vec::new();
        };
        entries.iter().filter_map(|entry| self.condition_on(entry, program)).collect()
    }

    fn condition_on(&mut self, entry: &Entry, program: &Program) -> Option<Match> {
        match entry.key.as_str() {
            "regex" => {
                let regex = self.regex(&entry.value)?;
                let from = Source::Regex { regex, group: 0, whole: false };
                Some(Match { from, test: MatchTest::Exists })
            }
            word @ ("body" | "event" | "id" | "topic") => {
                let expected = self.template(&entry.value, Escape::None, program)?;
                let from = match word {
                    "body" => Source::Body,
                    "event" => Source::Event,
                    "topic" => Source::Topic,
                    _ => Source::EventId,
                };
                Some(Match { from, test: MatchTest::Equals(expected) })
            }
            key if key.contains('@') && !is_place(key) => {
                let from = self.number_at(key, &entry.key_place)?;
                let test = self.match_test(&entry.value, program)?;
                Some(Match { from, test })
            }
            key if is_place(key) => {
                let tokens = self.pointer_tokens(key, &entry.key_place)?;
                let test = self.match_test(&entry.value, program)?;
                Some(Match { from: Source::Pointer(tokens), test })
            }
            key => {
                let message = format!("`{key}` is not a condition on a message");
                let hint = format!(
                    "write a JSON pointer like {}, or one of: regex, body, event, \
                     id, topic, u8@0",
                    pointer_meant(key)
                );
                self.diagnostics.error("unknown-key", &entry.key_place, message).hint(hint);
                None
            }
        }
    }

    fn match_test(&mut self, node: &Node, program: &Program) -> Option<MatchTest> {
        if node.is_null() {
            return Some(MatchTest::Equals(Template::fixed("null")));
        }
        if node.scalar().is_some() {
            return self.template(node, Escape::None, program).map(MatchTest::Equals);
        }
        let exists = node.get("exists").filter(|_| node.mapping().is_some_and(|m| m.len() == 1));
        if exists.and_then(Node::text) == Some("true") {
            return Some(MatchTest::Exists);
        }
        self.expected(node, "a single value or `{ exists: true }`");
        None
    }
}
