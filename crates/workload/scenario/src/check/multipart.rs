//! Bodies of several parts: form fields and files (RFC 7578).

use std::sync::Arc;

use crate::keys::PART;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use plan::expr::template::Builder;
use plan::expr::{Escape, Template, TemplatePart};

use super::Checker;
use super::program::Program;
use crate::document::node::{Entry, Node};

/// Before the name of a file whose bytes are wanted, not its text; they come in base64.
pub const BINARY: &str = "base64:";

/// Most parts of one body.
const PARTS_MAX: usize = 1000;
/// Largest file of a part.
const FILE_BYTES_MAX: usize = 16 << 20;

/// Content of a part.
enum Content {
    Value(Template),
    File(Arc<[u8]>),
}

/// A part of a body.
struct Field {
    /// As it stands in its head, quotes escaped.
    name: String,
    file_name: Option<String>,
    content_type: Option<String>,
    content: Content,
}

impl Checker<'_> {
    /// The body, and its content type with the boundary of its parts.
    pub(super) fn multipart(
        &mut self,
        node: &Node,
        program: &Program,
    ) -> Option<(Template, String)> {
        let Some(entries) = node.mapping() else {
            self.expected(node, "a mapping of names and values");
            return None;
        };
        let mut fields = Vec::new();
        for entry in entries {
            for item in self.one_or_more(&entry.value) {
                fields.extend(self.body_part(entry, item, program));
            }
        }
        if fields.len() > PARTS_MAX {
            let message = format!("a body has at most {PARTS_MAX} parts");
            self.diagnostics.error("too-many", &node.place, message);
            return None;
        }
        let boundary = boundary(&fields);
        let body = encoded(fields, &boundary);
        Some((body, format!("multipart/form-data; boundary={boundary}")))
    }

    fn body_part(&mut self, entry: &Entry, node: &Node, program: &Program) -> Option<Field> {
        let name = quoted(&entry.key);
        if node.mapping().is_none() {
            self.note_named(&entry.key, node);
            let value = self.template(node, Escape::None, program)?;
            return Some(Field {
                name,
                file_name: None,
                content_type: None,
                content: Content::Value(value),
            });
        }
        let fields = self.fields(node, &PART, "a part")?;
        let text = |checker: &mut Self, key| {
            let node = fields.get(key)?;
            checker.word(node, "a text").map(|word| word.text)
        };
        let content_type = text(self, "type");
        let own_name = text(self, "name");
        let bad = |text: &String| text.contains(char::is_control);
        if content_type.as_ref().is_some_and(bad)
            && let Some(place) = fields.key_place("type")
        {
            let message = "a content type cannot hold line breaks or control characters";
            self.diagnostics.error("bad-header", place, message);
        }
        let (content, file_name) = match (fields.get("file"), fields.get("value")) {
            (Some(file), None) => {
                let (path, bytes) = self.upload(file)?;
                let base = path.rsplit(['/', '\\']).next().unwrap_or_default();
                (Content::File(bytes), Some(own_name.unwrap_or_else(|| base.to_owned())))
            }
            (None, Some(value)) => {
                (Content::Value(self.template(value, Escape::None, program)?), own_name)
            }
            _ => {
                self.diagnostics
                    .error("missing-key", fields.place(), "a part needs either `file` or `value`")
                    .hint("write `{ file: photo.jpg, type: image/jpeg }`");
                return None;
            }
        };
        let content_type = content_type.or_else(|| {
            let is_file = matches!(content, Content::File(_));
            is_file.then(|| "application/octet-stream".to_owned())
        });
        Some(Field { name, file_name: file_name.map(|name| quoted(&name)), content_type, content })
    }

    /// A file's name and bytes, which all steps that name it share.
    fn upload(&mut self, node: &Node) -> Option<(String, Arc<[u8]>)> {
        let word = self.word(node, "a file's name")?;
        let known = self.uploads.iter().find(|(name, _)| *name == word.text);
        if let Some(found) = known {
            return Some(found.clone());
        }
        let read = (self.settings.files)(&format!("{BINARY}{}", word.text));
        let bytes = read.and_then(|text| STANDARD.decode(text).map_err(|error| error.to_string()));
        let bytes = bytes.and_then(|bytes| match bytes.len() > FILE_BYTES_MAX {
            true => Err("it is larger than 16 MiB".to_owned()),
            false => Ok(bytes),
        });
        match bytes {
            Ok(bytes) => {
                let found = (word.text, Arc::from(bytes));
                self.uploads.push(found.clone());
                Some(found)
            }
            Err(reason) => {
                let message = format!("`{}` cannot be read: {reason}", word.text);
                self.diagnostics.error("no-file", &word.place, message);
                None
            }
        }
    }
}

/// A name between quotes, as the HTML standard escapes it.
fn quoted(name: &str) -> String {
    name.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A")
}

/// A boundary that no file and no fixed text contains.
fn boundary(fields: &[Field]) -> String {
    let mut number = 0;
    loop {
        let boundary = format!("----throng-part-{number:016x}");
        let holds = |bytes: &[u8]| {
            bytes.windows(boundary.len()).any(|window| window == boundary.as_bytes())
        };
        let clashes = fields.iter().any(|field| match &field.content {
            Content::File(bytes) => holds(bytes),
            Content::Value(value) => value.parts.iter().any(|part| match part {
                TemplatePart::Text(text) => text.contains(&boundary),
                TemplatePart::Bytes(bytes) => holds(bytes),
                TemplatePart::Expr(..) => false,
            }),
        });
        if !clashes {
            return boundary;
        }
        number += 1;
    }
}

fn encoded(fields: Vec<Field>, boundary: &str) -> Template {
    let mut out = Builder::default();
    for field in fields {
        out.push_text(&format!(
            "--{boundary}\r\ncontent-disposition: form-data; name=\"{}\"",
            field.name
        ));
        if let Some(name) = field.file_name {
            out.push_text(&format!("; filename=\"{name}\""));
        }
        if let Some(content_type) = field.content_type {
            out.push_text(&format!("\r\ncontent-type: {content_type}"));
        }
        out.push_text("\r\n\r\n");
        match field.content {
            Content::Value(value) => out.push(value),
            Content::File(bytes) => out.push_bytes(bytes),
        }
        out.push_text("\r\n");
    }
    out.push_text(&format!("--{boundary}--\r\n"));
    out.finish()
}
