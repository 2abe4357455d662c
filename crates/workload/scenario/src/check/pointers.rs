//! Places in JSON: pointers, and JSONPath as far as it names one place.

use plan::{Source, pointer_text};

use super::Checker;
use crate::document::node::{Node, Place};
use crate::expression::json_path;

/// Longest path in a message.
const SHOWN_CHARS_MAX: usize = 200;

impl Checker<'_> {
    /// A JSON pointer (RFC 6901), or JSONPath that names one place.
    pub(super) fn pointer(&mut self, node: &Node) -> Option<Vec<String>> {
        let word = self.word(node, "a JSON pointer")?;
        self.pointer_tokens(&word.text, &word.place)
    }

    /// A JSON pointer, or JSONPath, which may name several places (RFC 9535).
    pub(super) fn place_or_places(&mut self, node: &Node) -> Option<Source> {
        let word = self.word(node, "a JSON pointer")?;
        let text = word.text.as_str();
        let refused = match json_path::places(text) {
            Ok(None) => {
                let tokens = self.pointer_tokens(text, &word.place);
                return tokens.map(Source::Pointer);
            }
            Ok(Some(path)) => return Some(Source::Path(path)),
            Err(refused) => refused,
        };
        let shown: String = text.chars().take(SHOWN_CHARS_MAX).collect();
        self.diagnostics
            .error("bad-pointer", &word.place, format!("`{shown}` {refused}"))
            .hint("write $.items[0].id or /items/0/id for one place, $.items[*].id for a list");
        None
    }

    /// The tokens of a pointer. Empty, or tokens that each begin with `/`, in which `~0` is `~` and `~1` is `/`.
    pub(super) fn pointer_tokens(&mut self, text: &str, place: &Place) -> Option<Vec<String>> {
        if text.is_empty() {
            return Some(Vec::new());
        }
        if json_path::is_path(text) {
            return match json_path::tokens(text) {
                Ok(tokens) => Some(tokens),
                Err(refused) => {
                    self.diagnostics
                        .error("bad-pointer", place, refused.message)
                        .hint(refused.hint);
                    None
                }
            };
        }
        let Some(rest) = text.strip_prefix('/') else {
            self.not_a_pointer(
                text,
                place,
                format!("a pointer starts with a slash: {}", pointer_meant(text)),
            );
            return None;
        };
        let tokens: Option<Vec<String>> = rest.split('/').map(unescaped).collect();
        match &tokens {
            None => {
                let hint = "write `~` as ~0, and `/` inside a name as ~1".to_owned();
                self.not_a_pointer(text, place, hint);
            }
            Some(tokens) => self.note_brackets(tokens, place),
        }
        tokens
    }

    fn not_a_pointer(&mut self, text: &str, place: &Place, hint: String) {
        let message = format!("`{text}` is not a JSON pointer");
        self.diagnostics.error("bad-pointer", place, message).hint(hint);
    }

    /// Warns of `items[0]`, which is JSONPath's; in a pointer it is a name with brackets.
    fn note_brackets(&mut self, tokens: &[String], place: &Place) {
        let Some(token) = tokens.iter().find(|token| has_index(token)) else {
            return;
        };
        let meant = meant_by(tokens);
        let message = format!("`{token}` is a name with brackets here");
        self.diagnostics
            .warning("brackets", place, message)
            .hint(format!("for an item of a list write {meant}"));
    }
}

/// True for a text that is meant as a place in JSON.
pub(super) fn is_place(text: &str) -> bool {
    text.is_empty() || text.starts_with('/') || json_path::is_path(text)
}

/// The pointer for a path without its beginning: `items.0.id`, `items[0].id`, `items/0/id`.
pub(super) fn pointer_meant(text: &str) -> String {
    // Of the places that a wildcard names, the first.
    let path = format!("$.{}", text.replace("[*]", "[0]").replace("[]", "[0]"));
    match json_path::tokens(&path) {
        Ok(tokens) if text.contains('[') && !text.contains('/') => pointer_text(&tokens),
        _ => meant_by(&text.split(['.', '/']).map(str::to_owned).collect::<Vec<_>>()),
    }
}

/// The pointer in which `items[0]` is an item of a list.
fn meant_by(tokens: &[String]) -> String {
    let parts = tokens.iter().flat_map(|token| {
        let path = format!("$.{token}");
        let parts = if has_index(token) { json_path::tokens(&path).ok() } else { None };
        parts.unwrap_or_else(|| vec![token.clone()])
    });
    let parts: Vec<String> = parts.collect();
    // A `$` before an index is the root.
    match parts.split_first() {
        Some((first, rest)) if first == "$" => pointer_text(rest),
        _ => pointer_text(&parts),
    }
}

/// Does a token end with an index in brackets?
fn has_index(token: &str) -> bool {
    let index = token.strip_suffix(']').and_then(|token| token.rsplit_once('['));
    index.is_some_and(|(_, index)| !index.is_empty() && index.bytes().all(|b| b.is_ascii_digit()))
}

/// One token of a pointer without its escapes; `None`: a `~` that is none.
fn unescaped(token: &str) -> Option<String> {
    let mut out = String::with_capacity(token.len());
    let mut chars = token.chars();
    while let Some(c) = chars.next() {
        match c {
            '~' => match chars.next() {
                Some('0') => out.push('~'),
                Some('1') => out.push('/'),
                _ => return None,
            },
            c => out.push(c),
        }
    }
    Some(out)
}
