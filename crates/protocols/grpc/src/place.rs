//! Places in messages, as JSON pointers name them in their JSON (RFC 6901).

use crate::schema::{Kind, Label, Message, Schema};

/// Why there is nothing at a place.
#[derive(Debug, Clone, PartialEq)]
pub enum NoPlace<'a> {
    /// The value in front of this name has no fields: its type.
    NoFields { name: String, kind: &'a str },
    /// The message has no field of this name.
    Unknown { name: String, message: &'a Message },
}

/// Follows a pointer through messages of this type, as far as their types say what is there.
///
/// # Errors
/// No message has anything there.
pub fn check_place<'a>(schema: &'a Schema, message: u32, pointer: &str) -> Result<(), NoPlace<'a>> {
    let mut kind = Kind::Message(message);
    let mut names = pointer.split('/').skip(1);
    while let Some(name) = names.next() {
        let name = name.replace("~1", "/").replace("~0", "~");
        let Kind::Message(number) = kind else {
            let kind = schema.kind_name(kind);
            return Err(NoPlace::NoFields { name, kind });
        };
        let message = schema.message(number);
        let Some(field) = message.fields.iter().find(|field| field.name == name) else {
            return Err(NoPlace::Unknown { name, message });
        };
        kind = field.kind;
        match field.label {
            Label::Single | Label::Required => {}
            // The number of an item.
            Label::Repeated => {
                if names.next().is_none() {
                    return Ok(());
                }
            }
            // The key of a pair, whose value is the entry's second field.
            Label::Map => {
                let entry = match kind {
                    Kind::Message(entry) => schema.message(entry).field("value"),
                    _ => None,
                };
                let (Some(_), Some(value)) = (names.next(), entry) else {
                    return Ok(());
                };
                kind = value.kind;
            }
        }
    }
    Ok(())
}
