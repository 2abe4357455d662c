//! Values that schemas allow: examples, else what follows from types and limits. Texts in them are templates.

use scenario::document::node::Node;
use serde_json::{Map, Value};

use super::Importer;
use crate::json::{find, items, number, text, value_of};
use crate::template::literal;

/// Deepest nesting of a value that is made up; schemas may contain themselves.
const DEPTH_MAX: usize = 6;
/// Most values of one sample: each schema may contain others several times.
const VALUES_MAX: usize = 1000;
/// Most items of a list.
const ITEMS_MAX: usize = 5;
/// Longest text.
const CHARS_MAX: usize = 64;

/// Formats of texts, and values that have them.
const FORMATS: &[(&str, &str)] = &[
    ("date", "${date(now(), '%Y-%m-%d')}"),
    ("date-time", "${date(now(), 'rfc3339')}"),
    ("time", "${date(now(), '%H:%M:%SZ')}"),
    ("uuid", "${uuid()}"),
    ("email", "${fake('email')}"),
    ("idn-email", "${fake('email')}"),
    ("hostname", "example.com"),
    ("ipv4", "${fake('ipv4')}"),
    ("ipv6", "${fake('ipv6')}"),
    ("uri", "https://example.com/"),
    ("url", "https://example.com/"),
    ("uri-reference", "/"),
    ("byte", "aGVsbG8="),
    ("binary", "binary"),
];

/// A value with its texts as templates that mean themselves.
pub(super) fn literals(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(literal(&text)),
        Value::Array(items) => items.into_iter().map(literals).collect(),
        Value::Object(pairs) => {
            let pairs = pairs.into_iter().map(|(key, value)| (key, literals(value)));
            Value::Object(pairs.collect())
        }
        other => other,
    }
}

/// The example that a parameter, media type or schema has.
pub(super) fn example(node: &Node) -> Option<Value> {
    if let Some(example) = node.get("example") {
        return Some(literals(value_of(example)));
    }
    let examples = node.get("examples")?;
    let first = match examples.sequence() {
        Some(list) => list.first()?,
        None => examples.mapping()?.iter().find_map(|entry| entry.value.get("value"))?,
    };
    Some(literals(value_of(first)))
}

impl<'a> Importer<'a, '_> {
    /// A value that a schema allows.
    pub(super) fn sample(&mut self, schema: &'a Node) -> Value {
        let mut values_left = VALUES_MAX;
        self.sample_within(schema, 0, &mut values_left)
    }

    fn sample_within(&mut self, schema: &'a Node, depth: usize, values_left: &mut usize) -> Value {
        *values_left = values_left.saturating_sub(1);
        if depth > DEPTH_MAX || *values_left == 0 {
            return Value::Null;
        }
        let Some(schema) = self.follow(schema) else {
            return Value::Null;
        };
        if let Some(example) = example(schema) {
            return example;
        }
        for key in ["const", "default"] {
            if let Some(node) = schema.get(key) {
                return literals(value_of(node));
            }
        }
        if let Some(first) = items(schema, "enum").first() {
            return literals(value_of(first));
        }
        let parts = items(schema, "allOf");
        if !parts.is_empty() {
            return self.all_of(schema, parts, depth, values_left);
        }
        for key in ["oneOf", "anyOf"] {
            let mut others = items(schema, key).iter().filter(|node| text(node, "type") != "null");
            if let Some(first) = others.next() {
                return self.sample_within(first, depth + 1, values_left);
            }
        }
        match kind(schema) {
            "object" => self.object(schema, depth, values_left),
            "array" => self.array(schema, depth, values_left),
            "integer" => bounded(schema, true),
            "number" => bounded(schema, false),
            "boolean" => Value::Bool(true),
            "null" => Value::Null,
            _ => self.text(schema),
        }
    }

    /// All parts in one: their properties together, or the first that is no object.
    fn all_of(
        &mut self,
        schema: &'a Node,
        parts: &'a [Node],
        depth: usize,
        values_left: &mut usize,
    ) -> Value {
        let mut all = Map::new();
        for part in parts {
            match self.sample_within(part, depth + 1, values_left) {
                Value::Object(pairs) => all.extend(pairs),
                Value::Null => {}
                other => return other,
            }
        }
        if schema.get("properties").is_some()
            && let Value::Object(pairs) = self.object(schema, depth, values_left)
        {
            all.extend(pairs);
        }
        Value::Object(all)
    }

    /// The properties that are required; all if the schema does not say which are.
    fn object(&mut self, schema: &'a Node, depth: usize, values_left: &mut usize) -> Value {
        let required: Vec<&str> = items(schema, "required").iter().filter_map(Node::text).collect();
        let mut pairs = Map::new();
        for entry in find(schema, "properties").and_then(Node::mapping).unwrap_or_default() {
            let is_wanted = required.is_empty() || required.contains(&entry.key.as_str());
            if is_wanted && text(&entry.value, "readOnly") != "true" {
                let value = self.sample_within(&entry.value, depth + 1, values_left);
                pairs.insert(entry.key.clone(), value);
            }
        }
        Value::Object(pairs)
    }

    fn array(&mut self, schema: &'a Node, depth: usize, values_left: &mut usize) -> Value {
        let count = number(schema, "minItems").map_or(1, |count| count as usize);
        let Some(item) = schema.get("items") else {
            return Value::Array(Vec::new());
        };
        let count = count.clamp(1, ITEMS_MAX);
        let values = (0..count).map(|_| self.sample_within(item, depth + 1, values_left));
        Value::Array(values.collect())
    }

    fn text(&mut self, schema: &Node) -> Value {
        let format = text(schema, "format");
        if format == "password" {
            let at = schema.place.span.clone();
            return Value::String(self.secrets.template("password", "format password", &at));
        }
        if let Some((_, value)) = FORMATS.iter().find(|(known, _)| *known == format) {
            return Value::String((*value).to_owned());
        }
        if !text(schema, "pattern").is_empty() {
            let message = "a text of this pattern is not made up: a random one stands in its place";
            let hint = "add an `example` to the description, or edit the scenario";
            let at = schema.place.span.clone();
            self.diagnostics.stand_in(at, message.to_owned()).hint(hint);
        }
        let chars = |key: &str| number(schema, key).map(|chars| chars.max(0.0) as usize);
        let least = chars("minLength").unwrap_or(0);
        let most = chars("maxLength").unwrap_or(usize::MAX).max(least);
        let count = 8_usize.clamp(least, most).min(CHARS_MAX.max(least)).min(65_536);
        Value::String(format!("${{random_string({count})}}"))
    }
}

/// The type of a schema: `type`, the first that is not `null` of several, or what its other keys say.
fn kind(schema: &Node) -> &str {
    let of_list = || {
        let mut kinds = items(schema, "type").iter().filter_map(Node::text);
        kinds.find(|kind| *kind != "null")
    };
    match (schema.get("type").and_then(Node::text), of_list()) {
        (Some(kind), _) | (None, Some(kind)) => kind,
        (None, None) if schema.get("properties").is_some() => "object",
        (None, None) if schema.get("items").is_some() => "array",
        (None, None) => "string",
    }
}

/// A number within the limits of a schema: 1 where that is one, else the least or the greatest.
fn bounded(schema: &Node, is_whole: bool) -> Value {
    let step = if is_whole { 1.0 } else { 0.5 };
    let exclusive = |key: &str, limit: &str, sign: f64| match text(schema, key) {
        "true" => number(schema, limit).map(|limit| limit + sign * step),
        _ => number(schema, key).map(|limit| limit + sign * step),
    };
    let least = exclusive("exclusiveMinimum", "minimum", 1.0).or(number(schema, "minimum"));
    let most = exclusive("exclusiveMaximum", "maximum", -1.0).or(number(schema, "maximum"));
    let mut value: f64 = 1.0;
    if let Some(most) = most {
        value = value.min(most);
    }
    if let Some(least) = least {
        value = value.max(least);
    }
    if let Some(multiple) = number(schema, "multipleOf").filter(|multiple| *multiple > 0.0) {
        value = (value / multiple).ceil() * multiple;
    }
    match is_whole && value.abs() < 9e15 {
        true => Value::from(value.round() as i64),
        false => serde_json::Number::from_f64(value).map_or(Value::from(1), Value::Number),
    }
}
