//! Objects of Kubernetes, and its types.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::support::{root, yamls};

/// The objects of a stream of YAML documents, as `KIND NAME`.
#[track_caller]
pub(super) fn by_name(text: &str) -> BTreeMap<String, Value> {
    let objects = yamls(text).into_iter().filter(|object| !object.is_null());
    let objects = objects.map(|object| {
        let name = object["metadata"]["name"].as_str().unwrap();
        (format!("{} {name}", object["kind"].as_str().unwrap()), object)
    });
    objects.collect()
}

/// Without what names its maker, and its keys in order.
pub(super) fn comparable(value: &Value) -> Value {
    match value {
        Value::Object(pairs) => {
            let makers =
                ["helm.sh/chart", "helm.sh/resource-policy", "app.kubernetes.io/managed-by"];
            let kept = pairs.iter().filter(|(key, _)| !makers.contains(&key.as_str()));
            let kept = kept.map(|(key, value)| (key.clone(), comparable(value)));
            // The claim's only annotation is Helm's.
            let kept = kept.filter(|(key, value)| {
                key != "annotations" || value.as_object().is_some_and(|all| !all.is_empty())
            });
            let ordered: BTreeMap<String, Value> = kept.collect();
            ordered.into_iter().collect()
        }
        Value::Array(items) => items.iter().map(comparable).collect(),
        other => other.clone(),
    }
}

/// The types of the API, as `scripts/cluster/schema.py` took them from a release of Kubernetes.
pub(super) struct Schema {
    document: Value,
}

impl Schema {
    pub(super) fn read() -> Schema {
        let path = root().join("testdata/deploy/kubernetes.json");
        let text = std::fs::read_to_string(path).unwrap();
        Schema { document: serde_json::from_str(&text).unwrap() }
    }

    /// What is wrong with an object.
    #[track_caller]
    pub(super) fn faults(&self, object: &Value) -> Vec<String> {
        let word = |key: &str| object[key].as_str().unwrap();
        let kind = format!("{} {}", word("apiVersion"), word("kind"));
        let name = self.document["kinds"][&kind].as_str();
        let name = name.unwrap_or_else(|| panic!("{kind} is not in the schema"));
        let schema = serde_json::json!({
            "$ref": format!("#/definitions/{name}"),
            "definitions": self.document["definitions"],
        });
        let validator = jsonschema::validator_for(&schema).unwrap();
        let faults = validator.iter_errors(object);
        faults.map(|fault| format!("{}: {fault}", fault.instance_path())).collect()
    }
}
