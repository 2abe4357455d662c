//! The JSON Schema that editors check and complete scenarios with.

use serde_json::{Map, Value, json};

use crate::check::{STEPS, is_step};
use crate::keys::{DIST, DOCUMENT, Default, EXPERIMENT, Kind, PHASES, PROBES, Table, WHEN};
use crate::tables::{all_tables, experiment_tables};

/// JSON Schema, draft 2020-12, made from the tables of keys.
pub fn schema() -> Value {
    let mut defs = Map::new();
    for table in all_tables() {
        let id = table_id(table);
        defs.insert(id, object(table));
    }
    let any_of =
        |tables: &'static [Table]| -> Vec<Value> { tables.iter().map(reference).collect() };
    let steps: Vec<Value> = STEPS.iter().map(|step| reference(step.keys)).collect();
    defs.insert("step".to_owned(), json!({ "anyOf": steps }));
    defs.insert("phase".to_owned(), json!({ "anyOf": any_of(PHASES) }));
    let mut probes = any_of(PROBES);
    probes.push(json!({ "const": "host" }));
    defs.insert("probe".to_owned(), json!({ "anyOf": probes }));
    defs.insert(
        "steps".to_owned(),
        json!({
            "type": "array", "minItems": 1, "items": { "$ref": "#/$defs/step" },
        }),
    );
    root(&DOCUMENT, "Throng scenario", defs)
}

/// The JSON Schema of experiments.
pub fn experiment_schema() -> Value {
    let tables = experiment_tables().into_iter();
    let defs = tables.map(|table| (table_id(table), object(table)));
    root(&EXPERIMENT, "Throng experiment", defs.collect())
}

/// The schema of a file whose top level has this table's keys.
fn root(table: &Table, title: &str, mut defs: Map<String, Value>) -> Value {
    add_values(&mut defs);
    let mut root = object(table);
    if let Some(fields) = root.as_object_mut() {
        let schema = json!("https://json-schema.org/draft/2020-12/schema");
        fields.insert("$schema".to_owned(), schema);
        fields.insert("title".to_owned(), json!(title));
        fields.insert("$defs".to_owned(), Value::Object(defs));
    }
    root
}

/// Adds what single values look like.
fn add_values(defs: &mut Map<String, Value>) {
    defs.insert("scalar".to_owned(), json!({ "type": ["string", "number", "boolean", "null"] }));
    for (name, pattern) in [
        ("duration", r"^(0|([0-9.]+(ns|us|µs|ms|s|m|h|d))+)$|\$\{"),
        ("rate", r"^[0-9.]+ ?/ ?(s|min|m|h)$|\$\{"),
        ("rateRange", r"\.\.|\$\{"),
        ("share", r"^[0-9.]+ ?%$|^0$|\$\{"),
        ("size", r"^[0-9.]+ ?(B|kB|KB|MB|GB|KiB|MiB|GiB)$|\$\{"),
        ("count", r"^[0-9_]+$|\$\{"),
        ("countRange", r"\.\.|\$\{"),
        ("number", r"^-?[0-9.]+$|\$\{"),
        ("bool", r"^(true|false)$|\$\{"),
    ] {
        let also = match name {
            "count" => json!({ "type": "integer", "minimum": 0 }),
            "number" => json!({ "type": "number" }),
            "bool" => json!({ "type": "boolean" }),
            _ => json!({ "const": 0 }),
        };
        let text = json!({ "type": "string", "pattern": pattern });
        defs.insert(name.to_owned(), json!({ "anyOf": [text, also] }));
    }
}

/// Steps and phases share the name `steps`; their definitions must not.
fn table_id(table: &Table) -> String {
    let is_in = |tables: &'static [Table]| tables.iter().any(|t| std::ptr::eq(t, table));
    let group = if is_step(table) {
        "step-"
    } else if is_in(PHASES) {
        "phase-"
    } else {
        "keys-"
    };
    format!("{group}{}", table.name.replace(' ', "-"))
}

fn reference(table: &Table) -> Value {
    json!({ "$ref": format!("#/$defs/{}", table_id(table)) })
}

fn object(table: &Table) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    let mut alternatives = Vec::new();
    for key in table.keys() {
        let mut value = kind(&key.kind);
        if let Some(fields) = value.as_object_mut() {
            fields.insert("description".to_owned(), json!(key.doc));
            if let Default::Text(text) = key.default {
                fields.insert("default".to_owned(), json!(text));
            }
        }
        properties.insert(key.name.to_owned(), value);
        match key.default {
            Default::Required => required.push(key.name),
            Default::RequiredWithout(other) => alternatives.push([key.name, other]),
            Default::Absent | Default::Text(_) | Default::Said(_) => {}
        }
    }
    if std::ptr::eq(table, &WHEN) {
        properties.remove("/pointer");
        properties.remove("u8@0");
        return json!({
            "type": "object", "properties": properties, "additionalProperties": false,
            "patternProperties": { "^(/|$)": true, "^[uif][0-9]+[bl]?e?@[0-9]+$": true },
        });
    }
    // A step or phase without its verb would be another one.
    if required.is_empty() && is_step(table) {
        required.push(table.verb());
    }
    let mut object = json!({
        "type": "object", "properties": properties, "required": required,
        "additionalProperties": false,
    });
    if !alternatives.is_empty() {
        let one_of =
            |keys: [&str; 2]| json!({ "anyOf": keys.map(|key| json!({ "required": [key] })) });
        object["allOf"] = alternatives.into_iter().map(one_of).collect();
    }
    object
}

fn kind(kind_of: &Kind) -> Value {
    let def = |name: &str| json!({ "$ref": format!("#/$defs/{name}") });
    match kind_of {
        Kind::Text | Kind::Target | Kind::Template | Kind::Scalar | Kind::Expression => {
            def("scalar")
        }
        Kind::Json => json!({}),
        Kind::Duration => def("duration"),
        Kind::Dist => {
            let short = json!({ "type": "string", "pattern": r"\.\." });
            json!({ "anyOf": [def("duration"), short, reference(&DIST)] })
        }
        Kind::Rate => def("rate"),
        Kind::RateRange => def("rateRange"),
        Kind::Size => def("size"),
        Kind::Share => def("share"),
        Kind::Count => def("count"),
        Kind::CountRange => def("countRange"),
        Kind::Number => def("number"),
        Kind::Bool => def("bool"),
        Kind::Nothing => json!({ "type": "null" }),
        Kind::Word(words) => json!({ "enum": words }),
        Kind::List(of) => json!({ "type": "array", "items": kind(of) }),
        Kind::OneOrMore(of) => {
            json!({ "anyOf": [kind(of), { "type": "array", "items": kind(of) }] })
        }
        Kind::Map(of) => json!({ "type": "object", "additionalProperties": kind(of) }),
        Kind::Mapping(table) => json!({ "anyOf": [reference(table)] }),
        Kind::Steps => def("steps"),
        Kind::Step => def("step"),
        Kind::Phase => def("phase"),
        Kind::Probe => def("probe"),
        Kind::Any(kinds) => json!({ "anyOf": kinds.iter().map(kind).collect::<Vec<_>>() }),
    }
}
