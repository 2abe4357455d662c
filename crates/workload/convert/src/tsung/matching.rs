//! `<match>` and `<dyn_variable>`: what is looked for in a response, and what comes of it.

use std::ops::Range;

use roxmltree::Node;

use super::attributes::value_at;
use super::control::set;
use super::text;
use super::{Importer, Item, Map, opening};
use crate::xpath;

/// Action if a match comes true.
#[derive(Debug, Clone, PartialEq)]
enum Action {
    /// Nothing: the next match is looked at.
    Go,
    /// It is noted, as a failed check, and the next match is looked at.
    Note,
    Stop,
    Restart(u64),
    Loop {
        times_max: u64,
        pause_s: f64,
        /// How many steps before the request are done again, too.
        back: u64,
    },
}

/// A `<match>`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Match {
    at: Range<usize>,
    /// The variable that holds what was found, or nothing.
    found: String,
    /// It acts where the pattern is found, else where it is not.
    pub(super) on_match: bool,
    action: Action,
}

impl Match {
    /// True if a match that acts is a failed check of the request.
    pub(super) fn is_noted(&self) -> bool {
        !matches!(self.action, Action::Go | Action::Loop { .. })
    }

    /// The condition under which it acts.
    fn acts(&self) -> String {
        let sign = if self.on_match { "!=" } else { "==" };
        format!("{} {sign} null", self.found)
    }

    /// The condition under which it does not.
    fn rests(&self) -> String {
        let sign = if self.on_match { "==" } else { "!=" };
        format!("{} {sign} null", self.found)
    }
}

/// Whether a regex is sought in an HTTP response or in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MatchSource {
    Response,
    Message,
}

impl Importer<'_> {
    /// Reads a `<match>` and adds what it looks for to `save`.
    pub(super) fn read_match(
        &mut self,
        node: Node<'_, '_>,
        seen: MatchSource,
        save: &mut Map,
    ) -> Option<Match> {
        self.known_attributes(node);
        const ACTIONS: [&str; 7] =
            ["continue", "log", "dump", "abort", "abort_test", "restart", "loop"];
        let word = self.word(node, "do", &ACTIONS).unwrap_or("continue");
        let when = self.word(node, "when", &["match", "nomatch"]);
        if node.has_attribute("apply_to_content") {
            let message = "Erlang functions cannot be applied to a response".to_owned();
            self.diagnostics.lost(value_at(node, "apply_to_content"), message);
            return None;
        }
        if self.flag(node, "subst", false) && node.text().is_some_and(|t| t.contains("%%")) {
            let message = "a pattern cannot differ between users".to_owned();
            self.diagnostics.lost(value_at(node, "subst"), message);
            return None;
        }
        let action = self.action(node, word);
        if !matches!(action, Action::Go | Action::Loop { .. }) {
            let message = "a match that takes effect is a failed check, which counts as an error; Tsung counts matches separately";
            self.diagnostics.differs("matches", value_at(node, "do"), message);
        }
        let (pattern, at) = pattern_of(node);
        let pattern = self.regex(&pattern, &at)?;
        let found = self.helper("match");
        let skip = node.attribute("skip_headers") == Some("http");
        let mut source = Map::new(at).with("regex", Item::Text(pattern));
        source.put("group", Item::Bare("0".to_owned()));
        if seen == MatchSource::Response && !skip {
            source.put("in", Item::Text("response".to_owned()));
        }
        source.put("default", Item::Bare("null".to_owned()));
        save.put(&found, Item::Map(source));
        Some(Match { at: opening(node), found, on_match: when != Some("nomatch"), action })
    }

    /// The action of a match, by the word in its `do`.
    fn action(&mut self, node: Node<'_, '_>, word: &str) -> Action {
        match word {
            "continue" => Action::Go,
            "log" => Action::Note,
            "dump" => {
                let message = "responses are not stored in files; this counts like `log`";
                self.diagnostics.ignored(value_at(node, "do"), message.to_owned());
                Action::Note
            }
            "abort" => Action::Stop,
            "abort_test" => {
                let message = "a user cannot end the whole run".to_owned();
                self.diagnostics.lost(value_at(node, "do"), message);
                Action::Stop
            }
            "restart" => Action::Restart(self.count(node, "max_restart").unwrap_or(3)),
            _ => Action::Loop {
                times_max: self.count(node, "max_loop").unwrap_or(20),
                pause_s: self.number(node, "sleep_loop").unwrap_or(5.0),
                back: self.count(node, "loop_back").unwrap_or(0),
            },
        }
    }

    /// A pattern in the syntax of Rust's `regex`. PCRE takes a brace that repeats nothing for
    /// itself; what it has beyond that (looking around, references back) is reported.
    fn regex(&mut self, pattern: &str, at: &Range<usize>) -> Option<String> {
        if regex::bytes::Regex::new(pattern).is_ok() {
            return Some(pattern.to_owned());
        }
        let escaped = braces_escaped(pattern);
        if regex::bytes::Regex::new(&escaped).is_ok() {
            return Some(escaped);
        }
        let message = "this regular expression is not supported".to_owned();
        self.diagnostics.lost(at.clone(), message);
        None
    }

    /// Reads a `<dyn_variable>` and adds it to `save`.
    pub(super) fn read_dyn_variable(
        &mut self,
        node: Node<'_, '_>,
        seen: MatchSource,
        save: &mut Map,
    ) {
        self.known_attributes(node);
        let Some(written) = self.required(node, "name") else {
            return;
        };
        let name = self.set_variable(written);
        let at = opening(node);
        if node.has_attribute("pgsql_expr") {
            let message = "`pgsql_expr` is not supported".to_owned();
            self.diagnostics.lost(value_at(node, "pgsql_expr"), message);
            self.session.undefined.push(name);
            return;
        }
        if self.word(node, "decode", &["html_entities", "false"]) == Some("html_entities") {
            let message = "HTML entities are not decoded".to_owned();
            self.diagnostics.lost(value_at(node, "decode"), message);
        }
        let source = if let Some(path) = node.attribute("jsonpath") {
            self.json_source(path, &value_at(node, "jsonpath"), &name)
        } else if let Some(path) = node.attribute("xpath") {
            self.xpath_source(path, &value_at(node, "xpath"))
        } else if let Some(header) = node.attribute("header") {
            Some(header_source(&at, header))
        } else {
            let (pattern, place) = match (node.attribute("re"), node.attribute("regexp")) {
                (Some(pattern), _) => (pattern.to_owned(), value_at(node, "re")),
                (None, Some(pattern)) => (old_groups(pattern), value_at(node, "regexp")),
                (None, None) => (form_field(written), value_at(node, "name")),
            };
            self.regex(&pattern, &place).map(|pattern| {
                let mut source = Map::new(place).with("regex", Item::Text(pattern));
                if seen == MatchSource::Response {
                    source.put("in", Item::Text("response".to_owned()));
                }
                source
            })
        };
        let Some(mut source) = source else {
            self.session.undefined.push(name);
            return;
        };
        source.put("default", Item::Text(String::new()));
        save.put(&name, Item::Map(source));
    }

    fn json_source(&mut self, path: &str, at: &Range<usize>, name: &str) -> Option<Map> {
        let (pointer, of_items) = self.pointer(path, at)?;
        if let Some(of_items) = of_items {
            self.session.lists.insert(name.to_owned(), of_items);
        }
        Some(Map::single(at.clone(), "pointer", Item::Text(pointer)))
    }

    /// Tsung, too, reads the response as a page of HTML.
    fn xpath_source(&mut self, path: &str, at: &Range<usize>) -> Option<Map> {
        let Some(found) = xpath::found(path) else {
            let message = format!("`{path}`: a selector of CSS cannot say this");
            self.diagnostics.lost(at.clone(), message);
            return None;
        };
        Some(found.source(at.clone()))
    }

    /// Adds the request's steps and what follows from its matches. Of those that end or repeat something, the first that
    /// acts decides; others are looked at in any case (`ts_search:match/6`).
    pub(super) fn with_matches(
        &mut self,
        mut request: Map,
        checks: impl FnOnce(&mut Map, Item),
        matches: &[Match],
        steps: &mut Vec<Map>,
    ) {
        let noted = matches.iter().filter(|m| m.is_noted());
        let rests: Vec<String> = noted.map(Match::rests).collect();
        match &rests[..] {
            [] => {}
            several => {
                let all = several.join(" and ");
                checks(&mut request, Item::Text(all));
            }
        }
        let again = matches.iter().find_map(|m| match m.action {
            Action::Loop { back, .. } => Some((m.at.clone(), back)),
            _ => None,
        });
        let Some((at, back)) = again else {
            steps.push(request);
            steps.extend(self.decision(matches, None));
            return;
        };
        let again = self.helper("again");
        let tried = self.helper("tried");
        // What opens a plain connection is no request: it is not gone back to.
        let opens = |step: &Map| step.entries.first().is_some_and(|(key, _)| key == "tcp");
        let counted: Vec<usize> = (0..steps.len()).filter(|n| !opens(&steps[*n])).collect();
        let is_there = back as usize <= counted.len();
        let first = counted.len().saturating_sub(back as usize);
        let first = counted.get(first).copied().unwrap_or(steps.len());
        let simple = |step: &Map| {
            !["if", "while", "loop", "transaction"]
                .iter()
                .any(|k| step.entries.first().is_some_and(|(key, _)| key == k))
        };
        if !is_there || !steps[first..].iter().all(simple) {
            let message = "going back this far would leave the current loop or transaction";
            self.diagnostics.lost(at.clone(), message.to_owned());
        }
        let (openings, mut inner): (Vec<_>, Vec<_>) =
            steps.split_off(first).into_iter().partition(opens);
        steps.extend(openings);
        inner.push(request);
        inner.push(set(&at, &again, "${false}".to_owned()));
        inner.extend(self.decision(matches, Some((&again, &tried))));
        steps.push(set(&at, &again, "${true}".to_owned()));
        steps.push(set(&at, &tried, "${0}".to_owned()));
        steps.push(Map::single(at, "while", Item::Text(again)).with("steps", Item::List(inner)));
    }

    /// `if … then … else if …`, from the last match to the first.
    fn decision(&mut self, matches: &[Match], looping: Option<(&str, &str)>) -> Option<Map> {
        let mut otherwise: Option<Map> = None;
        for found in matches.iter().rev() {
            let at = found.at.clone();
            let mut condition = found.acts();
            let then = match &found.action {
                Action::Go | Action::Note => continue,
                Action::Stop => vec![Map::single(at.clone(), "stop", Item::Nothing)],
                Action::Restart(times) => {
                    vec![Map::single(at.clone(), "restart", Item::Bare(times.to_string()))]
                }
                Action::Loop { times_max, pause_s, .. } => {
                    let Some((again, tried)) = looping else {
                        continue;
                    };
                    condition = format!("{condition} and {tried} < {times_max}");
                    self.session.longest_s += pause_s * *times_max as f64 * self.session.rounds;
                    let mut then = vec![
                        set(&at, again, "${true}".to_owned()),
                        set(&at, tried, format!("${{{tried} + 1}}")),
                    ];
                    if *pause_s > 0.0 {
                        then.push(Map::single(
                            at.clone(),
                            "think",
                            Item::Bare(text::seconds(*pause_s)),
                        ));
                    }
                    then
                }
            };
            let mut step =
                Map::single(at, "if", Item::Text(condition)).with("then", Item::List(then));
            if let Some(rest) = otherwise {
                step.put("else", Item::List(vec![rest]));
            }
            otherwise = Some(step);
        }
        otherwise
    }
}

/// A match's pattern and where it stands.
fn pattern_of(node: Node<'_, '_>) -> (String, Range<usize>) {
    let text: String = node.children().filter_map(|child| child.text()).collect();
    let at = node.first_child().map_or_else(|| opening(node), |child| child.range());
    (text, at)
}

/// A header, or with `name/part` a part of it such as `nonce="…"`.
fn header_source(at: &Range<usize>, header: &str) -> Map {
    match header.split_once('/') {
        None => Map::single(at.clone(), "header", Item::Text(header.to_owned())),
        Some((name, part)) => {
            let name = regex::escape(name);
            let part = regex::escape(part);
            let pattern = format!(r#"(?im)^{name}:[^\r\n]*\b{part}="?([^",;\r\n]*)"#);
            Map::single(at.clone(), "regex", Item::Text(pattern))
                .with("in", Item::Text("response".to_owned()))
        }
    }
}

/// The field of an HTML form of that name, which Tsung looks for where nothing else is said.
fn form_field(name: &str) -> String {
    let name = regex::escape(name);
    format!(r#"name *= *["']?{name}["']?[^>]+value *= *["']?([^"'>]*)"#)
}

/// Erlang's former regular expressions have `\(` for a group and `(` for itself.
fn old_groups(pattern: &str) -> String {
    let mut out = String::new();
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(group @ ('(' | ')')) => out.push(group),
                Some(other) => out.extend(['\\', other]),
                None => out.push_str("\\\\"),
            },
            '(' | ')' => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out
}

/// Braces that repeat nothing, escaped.
fn braces_escaped(pattern: &str) -> String {
    let mut out = String::new();
    let mut rest = pattern;
    while let Some(at) = rest.find(['{', '}', '\\']) {
        out.push_str(&rest[..at]);
        let tail = &rest[at..];
        let quantifier = tail.strip_prefix('{').and_then(|inner| {
            let (inside, _) = inner.split_once('}')?;
            let digits = inside.chars().all(|c| c.is_ascii_digit() || c == ',');
            (digits && inside.starts_with(|c: char| c.is_ascii_digit())).then_some(inside.len() + 2)
        });
        let taken = match (quantifier, tail.starts_with('\\')) {
            (Some(len), _) => {
                out.push_str(&tail[..len]);
                len
            }
            (None, true) => {
                let len = 1 + tail[1..].chars().next().map_or(0, char::len_utf8);
                out.push_str(&tail[..len]);
                len
            }
            (None, false) => {
                out.push('\\');
                out.push_str(&tail[..1]);
                1
            }
        };
        rest = &tail[taken..];
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn erlangs_former_groups_change_sides() {
        assert_eq!(old_groups(r"id=\(.*\) (x)\d"), r"id=(.*) \(x\)\d");
        assert_eq!(old_groups("\\"), "\\\\");
    }

    #[test]
    fn braces_that_repeat_nothing_are_themselves() {
        assert_eq!(braces_escaped(r#""e":{"a":\{x{2,3}}"#), r#""e":\{"a":\{x{2,3}\}"#);
        assert_eq!(braces_escaped("{,3}{é\\"), r"\{,3\}\{é\");
    }

    #[test]
    fn a_part_of_a_header_and_a_forms_field_are_found() {
        let part = header_source(&(0..0), "www-authenticate/nonce");
        let Some((_, Item::Text(pattern))) = part.entries.first() else {
            panic!("{part:?}");
        };
        let head = "HTTP/1.1 401 No\r\nWWW-Authenticate: Digest realm=\"r\", nonce=\"abc\"\r\n\r\n";
        let found = |pattern: &str, text: &str| {
            let regex = regex::Regex::new(pattern).unwrap();
            regex.captures(text).map(|found| found[1].to_owned())
        };
        assert_eq!(found(pattern, head).as_deref(), Some("abc"));
        let html = "<hidden name=\"random_num\" value=\"42\">";
        assert_eq!(found(&form_field("random_num"), html).as_deref(), Some("42"));
        assert_eq!(found(&form_field("num"), html), None);
    }
}
