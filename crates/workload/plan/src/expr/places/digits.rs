//! Digits of numbers that a document does not hold: it has floats for what is beyond 64 bits.

use std::collections::HashMap;

use serde_json::Value;

use crate::decimal::is_beyond_64_bits;
use crate::json::{end_of_string, unquoted};

/// Texts of the numbers of a document that it holds with fewer digits, by the places of these in memory.
#[derive(Debug, Default)]
pub(super) struct Digits<'j>(HashMap<usize, &'j str>);

/// Whether there is a number that may have lost digits.
pub(super) fn has_float(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.is_f64(),
        Value::Array(items) => items.iter().any(has_float),
        Value::Object(pairs) => pairs.values().any(has_float),
        Value::Null | Value::Bool(_) | Value::String(_) => false,
    }
}

impl<'j> Digits<'j> {
    /// `document` is what this text was parsed to, and stays where it is.
    pub(super) fn of(json: &'j str, document: &Value) -> Digits<'j> {
        let mut walk = Walk { json, at: 0, found: HashMap::new() };
        walk.value(Some(document));
        Digits(walk.found)
    }

    /// Appends a value of the document as JSON.
    pub(super) fn write(&self, value: &Value, out: &mut String) {
        if self.0.is_empty() {
            out.push_str(&value.to_string());
            return;
        }
        match value {
            Value::Number(number) => match self.0.get(&place(value)) {
                Some(text) => out.push_str(text),
                None => out.push_str(&number.to_string()),
            },
            Value::Array(items) => {
                out.push('[');
                for (number, item) in items.iter().enumerate() {
                    out.push_str(if number > 0 { "," } else { "" });
                    self.write(item, out);
                }
                out.push(']');
            }
            Value::Object(pairs) => {
                out.push('{');
                for (number, (key, value)) in pairs.iter().enumerate() {
                    out.push_str(if number > 0 { "," } else { "" });
                    out.push_str(&Value::from(key.as_str()).to_string());
                    out.push(':');
                    self.write(value, out);
                }
                out.push('}');
            }
            Value::Null | Value::Bool(_) | Value::String(_) => out.push_str(&value.to_string()),
        }
    }
}

fn place(value: &Value) -> usize {
    std::ptr::from_ref(value) as usize
}

/// Goes through a text that is JSON, beside the document of it. Of pairs with the same key the document has the last one.
struct Walk<'j> {
    json: &'j str,
    at: usize,
    found: HashMap<usize, &'j str>,
}

impl Walk<'_> {
    /// The next byte that is no space, which is then at hand; `None` at the end.
    fn peek(&mut self) -> Option<u8> {
        let rest = &self.json.as_bytes()[self.at..];
        let blanks = rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        self.at += blanks;
        rest.get(blanks).copied()
    }

    /// `value`: what the document has in this place; `None`: another pair took it.
    fn value(&mut self, value: Option<&Value>) {
        match self.peek() {
            Some(b'{') => self.object(value),
            Some(b'[') => self.list(value),
            Some(b'"') => self.at = end_of_string(self.json.as_bytes(), self.at + 1),
            Some(_) => self.word(value),
            None => {}
        }
    }

    /// A number, `true`, `false` or `null`.
    fn word(&mut self, value: Option<&Value>) {
        let json = self.json;
        let rest = &json[self.at..];
        let end = rest.find([',', ']', '}', ' ', '\t', '\n', '\r']).unwrap_or(rest.len()).max(1);
        let text = &rest[..end];
        self.at += end;
        if let Some(value @ Value::Number(_)) = value {
            match is_beyond_64_bits(text) {
                true => self.found.insert(place(value), text),
                // An earlier pair with this key may have left one.
                false => self.found.remove(&place(value)),
            };
        }
    }

    fn list(&mut self, value: Option<&Value>) {
        let items = value.and_then(Value::as_array);
        self.at += 1;
        let mut number = 0;
        loop {
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') | None => break,
                Some(_) => {
                    self.value(items.and_then(|items| items.get(number)));
                    number += 1;
                }
            }
        }
        self.at += 1;
    }

    fn object(&mut self, value: Option<&Value>) {
        let pairs = value.and_then(Value::as_object);
        self.at += 1;
        loop {
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') | None => break,
                Some(_) => {
                    let json = self.json.as_bytes();
                    let start = self.at;
                    self.at = end_of_string(json, start + 1);
                    let key = unquoted(&json[start..self.at]);
                    let key = key.as_deref().map(String::from_utf8_lossy);
                    self.peek();
                    self.at += 1;
                    self.value(key.zip(pairs).and_then(|(key, pairs)| pairs.get(&*key)));
                }
            }
        }
        self.at += 1;
    }
}
