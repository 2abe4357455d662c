//! Values that came with a response and went out with a later request.

use std::collections::{BTreeMap, BTreeSet};

use regex::Regex;
use serde_json::Value;

use super::read::{Body, Content, Exchange};
use crate::names::Names;
use crate::request::{Url, scheme_length};
use crate::template::{literal, url_value};
use crate::writer::{Item, Map};

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
    /// A part of the address to which the response leads: a pattern for it.
    Location(String),
}

/// A value as a request has it, and the template that stands for it there.
struct Spelling {
    text: String,
    template: String,
}

/// Values that are saved from responses and filled into requests.
#[derive(Debug, Default)]
pub(super) struct Reuse {
    /// Values by exchange, saved from its response.
    kept: BTreeMap<usize, Vec<ReusedValue>>,
    /// For each request the exchanges from whose responses it takes values.
    used: BTreeMap<usize, BTreeSet<usize>>,
    is_cut: bool,
}

impl Reuse {
    /// Looks for values of each response in all later requests that no request had before.
    pub(super) fn find(exchanges: &[Exchange]) -> Reuse {
        let requests: Vec<String> = exchanges.iter().map(request_text).collect();
        let mut reuse = Reuse::default();
        let mut names = Names::default();
        let mut searched = 0;
        for (index, exchange) in exchanges.iter().enumerate() {
            let (sent, to_come) = requests.split_at(index + 1);
            for (hint, value, source) in candidates(exchange) {
                searched += requests.iter().map(String::len).sum::<usize>();
                if searched > SEARCHED_BYTES_MAX {
                    reuse.is_cut = true;
                    return reuse;
                }
                let spelled = spellings(&value);
                let is_in = |texts: &[String]| texts.iter().any(|text| stands_in(text, &spelled));
                if is_in(sent) || !is_in(to_come) {
                    continue;
                }
                for (later, text) in to_come.iter().enumerate() {
                    if stands_in(text, &spelled) {
                        reuse.used.entry(index + 1 + later).or_default().insert(index);
                    }
                }
                let name = names.unused(&hint.to_lowercase());
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

    /// The exchanges from whose responses a request takes values.
    pub(super) fn used_by(&self, index: usize) -> impl Iterator<Item = usize> {
        self.used.get(&index).into_iter().flatten().copied()
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
        let spelled = |found: &ReusedValue| {
            vec![Spelling { text: found.value.clone(), template: format!("${{{}}}", found.name) }]
        };
        self.replaced(index, text, spelled)
    }

    /// A URL with variables in the place of values, which stand percent-encoded in it or as they are.
    pub(super) fn filled_url(&self, index: usize, path: &str) -> String {
        let spelled = |found: &ReusedValue| {
            let plain = Spelling {
                text: found.value.clone(),
                template: format!("${{raw({})}}", found.name),
            };
            let encoded = Spelling {
                text: url_value(&found.value),
                template: format!("${{{}}}", found.name),
            };
            vec![encoded, plain]
        };
        self.replaced(index, path, spelled)
    }

    /// The body of a form with variables in the place of values, which stand percent-encoded in it.
    pub(super) fn filled_form(&self, index: usize, body: &str) -> String {
        let spelled = |found: &ReusedValue| {
            let template = format!("${{url({})}}", found.name);
            let texts = spellings(&found.value).into_iter();
            texts.map(|text| Spelling { text, template: template.clone() }).collect()
        };
        self.replaced(index, body, spelled)
    }

    fn replaced(
        &self,
        index: usize,
        text: &str,
        spelled: impl Fn(&ReusedValue) -> Vec<Spelling>,
    ) -> String {
        let before = self.before(index);
        let spelled: Vec<Spelling> = before.into_iter().flat_map(spelled).collect();
        let mut out = String::new();
        let mut rest = text;
        // At each place the longest value that stands there.
        'text: while !rest.is_empty() {
            let at_edge = !out.ends_with(is_inner) || text.len() == rest.len();
            for Spelling { text, template } in &spelled {
                if at_edge
                    && let Some(after) = rest.strip_prefix(text.as_str())
                    && !after.starts_with(is_inner)
                {
                    out.push_str(template);
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
                Source::Location(pattern) => {
                    let whole = Map::single(0..0, "regex", Item::Text(pattern.clone()))
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
    let headers = exchange.headers.iter().map(|(_, value)| value);
    let cookies = exchange.cookies.iter().map(|cookie| &cookie.value);
    let params = match &exchange.body {
        Body::None | Body::Text(_) => &[][..],
        Body::Params { params, .. } => params.as_slice(),
    };
    let params = params.iter().filter_map(|param| param.value.as_ref());
    let body = match &exchange.body {
        Body::Text(body) => Some(body),
        Body::None | Body::Params { .. } => None,
    };
    let messages = exchange.websocket.iter().flat_map(|websocket| &websocket.messages);
    let messages = messages.filter_map(|message| match &message.content {
        Content::Text(text) => Some(text),
        Content::Binary(_) => None,
    });
    for value in headers.chain(cookies).chain(params).chain(body).chain(messages) {
        text.push('\n');
        text.push_str(value);
    }
    text
}

/// A name for it, the value, and where it is.
fn candidates(exchange: &Exchange) -> Vec<(String, String, Source)> {
    let mut found = Vec::new();
    // A step of a stream saves nothing.
    if exchange.is_stream {
        return found;
    }
    for (name, value) in &exchange.set_cookies {
        found.push((name.clone(), value.clone(), Source::Cookie(name.clone())));
    }
    led_to(&exchange.location, &mut found);
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

/// Keys in the address to which a response leads: parts of its path with a digit, and values of its query.
fn led_to(location: &str, found: &mut Vec<(String, String, Source)>) {
    if location.is_empty() {
        return;
    }
    let path = match scheme_length(location) > 0 {
        true => Url::parse(location).path,
        false => location.split('#').next().unwrap_or_default().to_owned(),
    };
    let (path, query) = path.split_once('?').unwrap_or((path.as_str(), ""));
    let is_plain = |text: &str| text.contains(|c: char| c.is_ascii_digit()) && !text.contains('%');
    let mut before = "";
    for part in path.split('/') {
        if is_plain(part) {
            let front = match before {
                "" => "(?im)^location: *(?:https?://[^/\\s]+)?/".to_owned(),
                before => format!("(?im)^location:[^\\r\\n]*?/{}/", regex::escape(before)),
            };
            let hint = if before.is_empty() { "location" } else { before };
            let source = Source::Location(format!("{front}([^/?#\\s]+)"));
            found.push((format!("{hint}_id"), part.to_owned(), source));
        }
        before = part;
    }
    for pair in query.split('&') {
        if let Some((name, value)) = pair.split_once('=')
            && is_plain(value)
        {
            let name_pattern = regex::escape(name);
            let pattern = format!("(?im)^location:[^\\r\\n]*?[?&]{name_pattern}=([^&#\\s]*)");
            found.push((name.to_owned(), value.to_owned(), Source::Location(pattern)));
        }
    }
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

/// Whether one of these spellings stands in a text with nothing of a word around it.
fn stands_in(text: &str, spelled: &[String]) -> bool {
    let stands = |value: &String| {
        text.match_indices(value.as_str()).any(|(at, _)| {
            !text[..at].ends_with(is_inner) && !text[at + value.len()..].starts_with(is_inner)
        })
    };
    spelled.iter().any(stands)
}

fn is_inner(c: char) -> bool {
    c.is_alphanumeric()
}

/// A value as URLs and forms have it: as it is, percent-encoded in either case, and with `+` for blanks.
fn spellings(value: &str) -> Vec<String> {
    let encoded = url_value(value);
    let mut lower = String::new();
    let mut digits_left = 0_usize;
    for c in encoded.chars() {
        if c == '%' {
            digits_left = 3;
        }
        lower.push(if digits_left > 0 { c.to_ascii_lowercase() } else { c });
        digits_left -= usize::from(digits_left > 0);
    }
    let form = encoded.replace("%20", "+");
    let mut all = vec![encoded];
    for other in [form, lower, value.to_owned()] {
        if !all.contains(&other) {
            all.push(other);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_as_they_are_spelled() {
        assert_eq!(spellings("tok98"), ["tok98"]);
        let expected = ["a%20b%2BC%3D", "a+b%2BC%3D", "a%20b%2bC%3d", "a b+C="];
        assert_eq!(spellings("a b+C="), expected);
        assert!(stands_in("x=ab%2B%2Fcd%3D%3D&y", &spellings("ab+/cd==")));
        assert!(!stands_in("x=1ab", &spellings("ab")));
    }

    #[test]
    fn addresses_hold_keys() {
        let mut found = Vec::new();
        led_to("https://shop.test/orders/87310/items?code=x9&next=a%20b", &mut found);
        let found: Vec<(&str, &str)> =
            found.iter().map(|(hint, value, _)| (hint.as_str(), value.as_str())).collect();
        assert_eq!(found, [("orders_id", "87310"), ("code", "x9")]);
    }
}
