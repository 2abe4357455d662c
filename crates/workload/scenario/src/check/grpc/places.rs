//! Places in replies: whether the message has such fields.

use grpc::{NoPlace, Schema};

use super::super::Checker;
use super::super::fields::Fields;
use crate::document::node::{Node, Place};

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
        if !pointer.starts_with('/') {
            return;
        }
        match grpc::check_place(schema, message, pointer) {
            Ok(()) => {}
            Err(NoPlace::NoFields { name, kind }) => {
                let text = format!("there is nothing at `{name}`: {kind} has no fields");
                self.diagnostics.error("unknown-field", place, text);
            }
            Err(NoPlace::Unknown { name, message }) => {
                let text = format!("{} has no field `{name}`", message.name);
                let known = message.fields.iter().map(|field| field.name.as_str());
                let written = name.as_str();
                let introduction = "its fields are";
                self.unknown("unknown-field", place, text, written, introduction, known);
            }
        }
    }
}
