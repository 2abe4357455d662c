//! Parameters of operations: their values, and how they are written (OpenAPI 3.1, section 4.8.12).

use scenario::document::node::Node;
use serde_json::Value;

use super::Importer;
use super::samples::example;
use crate::json::{find, text};
use crate::request::{Field, Header};
use crate::template::{form_value, literal, url_value};
use crate::writer::flow;

/// The parameters of an operation, as templates.
#[derive(Debug, Default)]
pub(super) struct Parameters {
    /// Path parameters by name, percent-encoded.
    pub(super) path: Vec<(String, String)>,
    /// Pairs of the query, percent-encoded.
    pub(super) query: Vec<String>,
    pub(super) headers: Vec<Header>,
    pub(super) cookies: Vec<Field>,
}

/// A value as text of a template.
pub(super) fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::Array(_) | Value::Object(_) => flow(value),
    }
}

impl<'a> Importer<'a, '_> {
    /// The parameters of a path and its operation; those of the operation come first.
    pub(super) fn parameters(&mut self, path: &'a Node, operation: &'a Node) -> Parameters {
        let mut found = Parameters::default();
        let mut known: Vec<(String, String)> = Vec::new();
        let lists = [operation, path].map(|node| find(node, "parameters").and_then(Node::sequence));
        for node in lists.into_iter().flatten().flatten() {
            let Some(parameter) = self.follow(node) else {
                continue;
            };
            let key = (text(parameter, "in").to_owned(), text(parameter, "name").to_owned());
            if !known.contains(&key) {
                self.parameter(parameter, &mut found);
                known.push(key);
            }
        }
        found
    }

    fn parameter(&mut self, parameter: &'a Node, found: &mut Parameters) {
        let name = text(parameter, "name");
        let place = text(parameter, "in");
        let is_required = text(parameter, "required") == "true" || place == "path";
        let content = find(parameter, "content").and_then(Node::mapping);
        let content = content.and_then(|list| list.first()).map(|entry| &entry.value);
        let own = example(parameter).or_else(|| content.and_then(example));
        if !is_required && own.is_none() {
            let at = parameter.place.span.clone();
            let message = "optional parameters are sent only if they have an example";
            self.diagnostics.differs("optional-parameters", at, message);
            return;
        }
        let schema = parameter.get("schema").or_else(|| content.and_then(|c| c.get("schema")));
        let is_own = own.is_some();
        let value = match (own, schema) {
            (Some(value), _) => value,
            (None, Some(schema)) => self.sample(schema),
            (None, None) => Value::String("x".to_owned()),
        };
        // What is described as JSON is one text.
        let value = match content.is_some() && !value.is_string() {
            true => Value::String(flow(&value)),
            false => value,
        };
        if place == "path" && !is_own {
            let message = format!("`{name}` has no example: {} is sent", text_of(&value));
            let hint = "add an `example` that the server knows, or edit the scenario";
            self.diagnostics.stand_in(parameter.place.span.clone(), message).hint(hint);
        }
        let explodes = match text(parameter, "explode") {
            "true" => true,
            "false" => false,
            _ => matches!(text(parameter, "style"), "" | "form"),
        };
        let name = name.to_owned();
        match place {
            "path" => {
                let value = joined(&value, ",", form_value);
                found.path.push((name, value));
            }
            "query" => {
                let style = text(parameter, "style");
                found.query.extend(query(&name, &value, style, explodes));
            }
            "header" => {
                let value = joined(&value, ",", str::to_owned);
                let at = parameter.place.span.clone();
                found.headers.push(Header { name, value, at });
            }
            "cookie" => {
                let value = joined(&value, ",", form_value);
                found.cookies.push(Field { name, value });
            }
            _ => {
                let message = format!("a parameter in `{place}` is not carried over");
                self.diagnostics.lost(parameter.place.span.clone(), message);
            }
        }
    }
}

/// Items of a list, or keys and values of an object, in one text.
fn joined(value: &Value, separator: &str, encoded: fn(&str) -> String) -> String {
    let parts: Vec<String> = match value {
        Value::Array(items) => items.iter().map(|item| encoded(&text_of(item))).collect(),
        Value::Object(pairs) => {
            let pair = |(key, value): (&String, &Value)| {
                [literal(key), encoded(&text_of(value))].join(separator)
            };
            pairs.iter().map(pair).collect()
        }
        other => vec![encoded(&text_of(other))],
    };
    parts.join(separator)
}

/// Pairs of a query.
fn query(name: &str, value: &Value, style: &str, explodes: bool) -> Vec<String> {
    let key = url_value(name);
    let pair = |key: &str, value: &Value| format!("{key}={}", form_value(&text_of(value)));
    match value {
        Value::Object(pairs) if style == "deepObject" => {
            pairs.iter().map(|(k, v)| pair(&format!("{key}%5B{}%5D", url_value(k)), v)).collect()
        }
        Value::Object(pairs) if explodes => {
            pairs.iter().map(|(k, v)| pair(&url_value(k), v)).collect()
        }
        Value::Array(items) if explodes => items.iter().map(|item| pair(&key, item)).collect(),
        Value::Array(_) | Value::Object(_) => {
            let separator = match style {
                "spaceDelimited" => "%20",
                "pipeDelimited" => "%7C",
                _ => ",",
            };
            vec![format!("{key}={}", joined(value, separator, form_value))]
        }
        other => vec![pair(&key, other)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_are_written_as_their_style_says() {
        let list = json!(["a b", 2]);
        let object = json!({"x": 1, "y": "${uuid()}"});
        assert_eq!(query("q", &list, "", true), ["q=a%20b", "q=2"]);
        assert_eq!(query("q", &list, "", false), ["q=a%20b,2"]);
        assert_eq!(query("q", &list, "pipeDelimited", false), ["q=a%20b%7C2"]);
        assert_eq!(
            query("q", &object, "deepObject", true),
            ["q%5Bx%5D=1", "q%5By%5D=${url(uuid())}"]
        );
        assert_eq!(query("q", &object, "form", true), ["x=1", "y=${url(uuid())}"]);
        assert_eq!(joined(&list, ",", str::to_owned), "a b,2");
    }
}
