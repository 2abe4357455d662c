//! YAML, read by another parser than ours.

use saphyr::{LoadableYamlNode, Scalar, Yaml};
use serde_json::Value;

/// A document as JSON.
#[track_caller]
pub(crate) fn yaml(text: &str) -> Value {
    yamls(text).swap_remove(0)
}

/// All documents of a stream.
#[track_caller]
pub(crate) fn yamls(text: &str) -> Vec<Value> {
    let documents = Yaml::load_from_str(text).unwrap();
    documents.iter().map(value).collect()
}

fn value(yaml: &Yaml<'_>) -> Value {
    match yaml {
        Yaml::Value(Scalar::Null) => Value::Null,
        Yaml::Value(Scalar::Boolean(is)) => (*is).into(),
        Yaml::Value(Scalar::Integer(n)) => (*n).into(),
        Yaml::Value(Scalar::FloatingPoint(n)) => n.into_inner().into(),
        Yaml::Value(Scalar::String(text)) => text.as_ref().into(),
        Yaml::Sequence(items) => items.iter().map(value).collect(),
        Yaml::Mapping(pairs) => {
            pairs.iter().map(|(k, v)| (k.as_str().unwrap().to_owned(), value(v))).collect()
        }
        other => panic!("no file has {other:?}"),
    }
}
