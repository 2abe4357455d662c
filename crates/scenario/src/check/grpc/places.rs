//! Places in replies: whether the message has such fields.

use grpc::{Kind, Label, Schema};

use super::super::Checker;
use super::super::fields::Fields;
use document::node::{Node, Place};

impl Checker<'_> {
    /// Looks at the JSON pointers of `save` and `expect`.
    pub(super) fn check_places(&mut self, schema: &Schema, message: u32, fields: &Fields<'_>) {
        let pairs = |key| fields.get(key).and_then(Node::mapping).unwrap_or_default();
        for entry in pairs("expect") {
            self.check_place(schema, message, &entry.key, &entry.key_place);
        }
        for entry in pairs("save") {
            let written = entry.value.get("pointer").unwrap_or(&entry.value);
            if let Some(text) = written.text() {
                self.check_place(schema, message, text, &written.place);
            }
        }
    }

    fn check_place(&mut self, schema: &Schema, message: u32, pointer: &str, place: &Place) {
        // JSONPath and names of other sources are looked at elsewhere.
        let Some(path) = pointer.strip_prefix('/') else {
            return;
        };
        let mut kind = Kind::Message(message);
        let mut names = path.split('/');
        while let Some(name) = names.next() {
            let name = name.replace("~1", "/").replace("~0", "~");
            let Kind::Message(number) = kind else {
                let text = format!(
                    "there is nothing at `{name}`: {} has no fields",
                    schema.kind_name(kind)
                );
                self.diagnostics.error("unknown-field", place, text);
                return;
            };
            let message = schema.message(number);
            let Some(field) = message.fields.iter().find(|field| field.name == name) else {
                let text = format!("{} has no field `{name}`", message.name);
                let known = message.fields.iter().map(|field| field.name.as_str());
                let written = (name.as_str(), "its fields are");
                self.unknown("unknown-field", place, text, written, known);
                return;
            };
            kind = field.kind;
            match field.label {
                Label::Single | Label::Required => {}
                // The number of an item.
                Label::Repeated => {
                    if names.next().is_none() {
                        return;
                    }
                }
                // The key of a pair, whose value is the entry's second field.
                Label::Map => {
                    let entry = match kind {
                        Kind::Message(entry) => schema.message(entry).field("value"),
                        _ => None,
                    };
                    let (Some(_), Some(value)) = (names.next(), entry) else {
                        return;
                    };
                    kind = value.kind;
                }
            }
        }
    }
}
