//! Values that came with a response and went out with a later request.

use std::collections::{BTreeMap, HashSet};

use regex::Regex;
use scenario::is_name;
use serde_json::Value;

use super::read::Exchange;
use crate::writer::{Item, Map, literal};

/// A shorter text is too likely to stand somewhere by chance.
const CHARS_MIN: usize = 6;
/// A longer one is no key.
const CHARS_MAX: usize = 4096;
/// The number of digits that an integer needs.
const DIGITS_MIN: usize = 4;
/// How many values of one response are looked at.
const VALUES_MAX: usize = 2000;
/// How many bytes are searched in all: each value in each later request.
const SEARCHED_BYTES_MAX: usize = 4 << 30;

/// A value and where its response has it.
#[derive(Debug, Clone, PartialEq)]
struct ReusedValue {
    name: String,
    value: String,
    source: Source,
}

#[derive(Debug, Clone, PartialEq)]
enum Source {
    Pointer(String),
    /// A field of a form.
    Field(String),
    Cookie(String),
}

/// Values that are saved from responses and filled into requests.
#[derive(Debug, Default)]
pub(super) struct Reuse {
    /// Values by exchange, saved from its response.
    kept: BTreeMap<usize, Vec<ReusedValue>>,
    is_cut: bool,
}

impl Reuse {
    /// Looks for values of each response in all later requests that no request had before.
    pub(super) fn find(exchanges: &[Exchange]) -> Reuse {
        let requests: Vec<String> = exchanges.iter().map(request_text).collect();
        let mut reuse = Reuse::default();
        let mut names = HashSet::new();
        let mut searched = 0;
        for (index, exchange) in exchanges.iter().enumerate() {
            let (sent, to_come) = requests.split_at(index + 1);
            for (hint, value, source) in candidates(exchange) {
                searched += requests.iter().map(String::len).sum::<usize>();
                if searched > SEARCHED_BYTES_MAX {
                    reuse.is_cut = true;
                    return reuse;
                }
                let is_in = |texts: &[String]| texts.iter().any(|text| stands_in(text, &value));
                if is_in(sent) || !is_in(to_come) {
                    continue;
                }
                let name = unused(&hint, &mut names);
                let found = ReusedValue { name, value, source };
                reuse.kept.entry(index).or_default().push(found);
            }
        }
        reuse
    }

    /// Whether all values were sought.
    pub(super) fn has_all(&self) -> bool {
        !self.is_cut
    }

    /// Values that an earlier exchange may have saved, the latest first, and longer values before
    /// shorter.
    fn before(&self, index: usize) -> Vec<&ReusedValue> {
        let mut all: Vec<&ReusedValue> =
            self.kept.range(..index).rev().flat_map(|(_, f)| f).collect();
        all.sort_by_key(|found| std::cmp::Reverse(found.value.len()));
        all
    }

    /// Text of a request with variables in the place of values.
    pub(super) fn filled(&self, index: usize, text: &str) -> String {
        self.replaced(index, text, |found| found.value.clone())
    }

    /// A URL with variables in the place of values, which stand percent-encoded in it.
    pub(super) fn filled_url(&self, index: usize, path: &str) -> String {
        self.replaced(index, path, |found| in_url(&found.value))
    }

    fn replaced(
        &self,
        index: usize,
        text: &str,
        spelled: impl Fn(&ReusedValue) -> String,
    ) -> String {
        let before = self.before(index);
        let mut out = String::new();
        let mut rest = text;
        // At each place the longest value that stands there.
        'text: while !rest.is_empty() {
            let at_edge = !out.ends_with(is_inner) || text.len() == rest.len();
            for found in &before {
                let value = spelled(found);
                if at_edge
                    && let Some(after) = rest.strip_prefix(value.as_str())
                    && !after.starts_with(is_inner)
                {
                    out.push_str(&format!("${{{}}}", found.name));
                    rest = after;
                    continue 'text;
                }
            }
            let mut chars = rest.chars();
            let Some(c) = chars.next() else { break };
            if rest.starts_with("${") {
                out.push('\\');
            }
            out.push(c);
            rest = chars.as_str();
        }
        out
    }

    /// The `save` of a response.
    pub(super) fn saves(&self, index: usize) -> Map {
        let mut save = Map::new(0..0);
        for found in self.kept.get(&index).into_iter().flatten() {
            let source = match &found.source {
                Source::Pointer(pointer) => Item::Text(literal(pointer)),
                Source::Field(name) => {
                    let name = regex::escape(name);
                    let pattern = format!(r#"name=["']?{name}["']?[^>]*value=["']([^"']*)"#);
                    Item::Map(Map::single(0..0, "regex", Item::Text(pattern)))
                }
                Source::Cookie(name) => {
                    let name = regex::escape(name);
                    let pattern = format!(r"(?im)^set-cookie: *{name}=([^;\r\n]*)");
                    let whole = Map::single(0..0, "regex", Item::Text(pattern))
                        .with("in", Item::Text("response".to_owned()));
                    Item::Map(whole)
                }
            };
            save.put(&found.name, source);
        }
        save
    }
}

/// All of a request in which a value may stand.
fn request_text(exchange: &Exchange) -> String {
    let mut text = exchange.path.clone();
    for (_, value) in exchange.headers.iter().chain(&exchange.cookies) {
        text.push('\n');
        text.push_str(value);
    }
    if let Some(body) = &exchange.body {
        text.push('\n');
        text.push_str(body);
    }
    text
}

/// A name for it, the value, and where it is.
fn candidates(exchange: &Exchange) -> Vec<(String, String, Source)> {
    let mut found = Vec::new();
    for (name, value) in &exchange.set_cookies {
        found.push((name.clone(), value.clone(), Source::Cookie(name.clone())));
    }
    let json = exchange
        .content_type
        .contains("json")
        .then(|| serde_json::from_str::<Value>(&exchange.content).ok())
        .flatten();
    if let Some(value) = json {
        leaves(&value, String::new(), &mut found);
    } else if exchange.content_type.contains("html") {
        fields(&exchange.content, &mut found);
    }
    found.retain(|(_, value, _)| is_key(value));
    found.truncate(VALUES_MAX);
    found
}

/// Whether a value could be a key of anything: neither short nor long, and nothing that would
/// stand in a body otherwise than in a response.
fn is_key(value: &str) -> bool {
    let is_number = value.bytes().all(|byte| byte.is_ascii_digit());
    let least = if is_number { DIGITS_MIN } else { CHARS_MIN };
    let plain = |c: char| !c.is_control() && !"\"'\\<>&".contains(c);
    (least..=CHARS_MAX).contains(&value.len()) && value.chars().all(plain)
}

/// The texts and numbers of a JSON value, with their pointers.
fn leaves(value: &Value, pointer: String, found: &mut Vec<(String, String, Source)>) {
    if found.len() >= VALUES_MAX {
        return;
    }
    let leaf = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                leaves(item, format!("{pointer}/{index}"), found);
            }
            return;
        }
        Value::Object(entries) => {
            for (key, item) in entries {
                let token = key.replace('~', "~0").replace('/', "~1");
                leaves(item, format!("{pointer}/{token}"), found);
            }
            return;
        }
        Value::Null | Value::Bool(_) => return,
    };
    let named = pointer.rsplit('/').find(|part| part.parse::<u64>().is_err());
    let hint = named.unwrap_or("value").to_owned();
    found.push((hint, leaf, Source::Pointer(pointer)));
}

/// Hidden fields of forms, and others that have a value.
fn fields(html: &str, found: &mut Vec<(String, String, Source)>) {
    let pattern = r#"<input\b[^>]*?\bname=["']?([\w.\-\[\]:]+)["']?[^>]*?\bvalue=["']([^"']*)"#;
    let field = Regex::new(pattern).expect("a pattern that is always the same");
    for captures in field.captures_iter(html).take(VALUES_MAX) {
        let name = captures[1].to_owned();
        let value = captures[2].to_owned();
        found.push((name.clone(), value, Source::Field(name)));
    }
}

/// Whether a value stands in a text with nothing of a word around it, as it is or encoded.
fn stands_in(text: &str, value: &str) -> bool {
    let stands = |value: &str| {
        text.match_indices(value).any(|(at, _)| {
            !text[..at].ends_with(is_inner) && !text[at + value.len()..].starts_with(is_inner)
        })
    };
    let encoded = in_url(value);
    stands(value) || encoded != value && stands(&encoded)
}

fn is_inner(c: char) -> bool {
    c.is_alphanumeric()
}

/// As a path or query holds it.
fn in_url(value: &str) -> String {
    let mut out = Vec::new();
    plan::expr::Value::text(value).write_escaped(plan::expr::Escape::Url, &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

fn unused(hint: &str, names: &mut HashSet<String>) -> String {
    let fits = |c: char| {
        if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' }
    };
    let name: String = hint.chars().take(40).map(fits).collect();
    let name = if is_name(&name) { name } else { format!("v_{name}") };
    let mut free = name.clone();
    let mut count = 1;
    while !names.insert(free.clone()) {
        count += 1;
        free = format!("{name}_{count}");
    }
    free
}
