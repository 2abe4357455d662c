//! XML within limits: bytes to text, text to a tree with places.
//!
//! Nothing outside the text is ever read: the external part of a DTD is skipped, and an entity
//! that stands for a file is an error where it is used.

use std::ops::Range;

use roxmltree::{Document, Error, ParsingOptions};
use scenario::document::yaml::TEXT_BYTES_MAX;

use crate::diagnostics::Diagnostics;

/// Most elements, attributes aside.
const NODES_MAX: u32 = 200_000;
/// Deepest element; converters walk by recursion.
const DEPTH_MAX: usize = 64;
/// Most bytes of all expanded entities, at the worst that a document's own numbers allow.
const EXPANSION_BYTES_MAX: usize = 64 << 20;
/// Most references that the parser follows inside one (its own limit).
const NESTED_REFERENCES_MAX: usize = 256;

/// Why bytes are no text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The encoding that the bytes or their declaration name is none of those known.
    #[error("the encoding {0:?} is not supported; use UTF-8, UTF-16, ISO-8859-1 or US-ASCII")]
    Unknown(String),
    /// A byte that the encoding does not have.
    #[error(
        "byte {at} is not {encoding}; convert the file, or declare its encoding in the first line"
    )]
    Invalid {
        /// Position in the text, from 0.
        at: usize,
        /// As it is called.
        encoding: &'static str,
    },
}

/// Whether a file's beginning is that of an XML document.
pub fn is_xml(bytes: &[u8]) -> bool {
    let known = [&b"\xef\xbb\xbf<"[..], b"\xff\xfe<\0", b"\xfe\xff\0<"];
    let start = bytes.trim_ascii_start();
    known.iter().any(|mark| bytes.starts_with(mark))
        || [&b"<?xml"[..], b"<!--", b"<!DOCTYPE", b"<tsung"]
            .iter()
            .any(|mark| start.starts_with(mark))
}

/// The text of an XML document's bytes (XML 1.0, appendix F): by its byte order mark, else by the
/// encoding that its first line declares, else UTF-8.
pub fn decode(bytes: &[u8]) -> Result<String, DecodeError> {
    if let Some(rest) = bytes.strip_prefix(b"\xef\xbb\xbf") {
        return utf8(rest);
    }
    if let Some(rest) = bytes.strip_prefix(b"\xff\xfe") {
        return utf16(rest, u16::from_le_bytes);
    }
    if let Some(rest) = bytes.strip_prefix(b"\xfe\xff") {
        return utf16(rest, u16::from_be_bytes);
    }
    match declared(bytes).as_deref() {
        None | Some("utf-8" | "utf8") => utf8(bytes),
        Some("us-ascii" | "ascii") => match bytes.iter().position(|byte| !byte.is_ascii()) {
            Some(at) => Err(DecodeError::Invalid { at, encoding: "US-ASCII" }),
            None => utf8(bytes),
        },
        Some("iso-8859-1" | "latin1" | "latin-1") => {
            Ok(bytes.iter().map(|&byte| char::from(byte)).collect())
        }
        Some(other) => Err(DecodeError::Unknown(other.to_owned())),
    }
}

/// The encoding in the declaration, in small letters.
fn declared(bytes: &[u8]) -> Option<String> {
    let line = bytes.strip_prefix(b"<?xml")?;
    let end = line.windows(2).take(200).position(|two| two == b"?>")?;
    let line = String::from_utf8_lossy(&line[..end]);
    let (_, value) = line.split_once("encoding")?;
    let value = value.trim_start().strip_prefix('=')?.trim_start();
    let quote = value.chars().next().filter(|c| "'\"".contains(*c))?;
    let name = value[1..].split(quote).next()?;
    Some(name.to_ascii_lowercase())
}

fn utf8(bytes: &[u8]) -> Result<String, DecodeError> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text.to_owned()),
        Err(error) => Err(DecodeError::Invalid { at: error.valid_up_to(), encoding: "UTF-8" }),
    }
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Result<String, DecodeError> {
    let units = bytes.chunks_exact(2).map(|two| unit([two[0], two[1]]));
    let whole = bytes.len().is_multiple_of(2);
    let text: Result<String, _> = char::decode_utf16(units).collect();
    text.ok().filter(|_| whole).ok_or(DecodeError::Invalid { at: bytes.len(), encoding: "UTF-16" })
}

/// Reads a document; reports why it is not one.
pub(super) fn parse<'t>(text: &'t str, diagnostics: &mut Diagnostics<'_>) -> Option<Document<'t>> {
    if text.len() > TEXT_BYTES_MAX {
        let message = format!("the file has {} bytes", text.len());
        diagnostics
            .error("too-large", 0..0, message)
            .hint(format!("at most {TEXT_BYTES_MAX} are read"));
        return None;
    }
    if let Some(at) = grows_beyond(text) {
        diagnostics
            .error("entities", at, "these entities could grow without limit".to_owned())
            .hint("write the text itself instead of entities");
        return None;
    }
    let options =
        ParsingOptions { allow_dtd: true, nodes_limit: NODES_MAX, ..ParsingOptions::default() };
    let document = match Document::parse_with_options(text, options) {
        Ok(document) => document,
        Err(error) => {
            report(&error, text, diagnostics);
            return None;
        }
    };
    if let Some(node) = too_deep(&document) {
        let message = format!("elements are nested more than {DEPTH_MAX} deep");
        diagnostics.error("too-deep", node, message);
        return None;
    }
    Some(document)
}

/// Place of the entities of a document that could expand to more than is allowed: the parser limits
/// the references that it follows inside each one, and none is longer than the text that declares
/// them all.
fn grows_beyond(text: &str) -> Option<Range<usize>> {
    let first = text.find("<!ENTITY")?;
    let last = text.rfind("<!ENTITY")?;
    let end = text[last..].find(">").map_or(text.len(), |end| last + end);
    let references = text[end..].bytes().filter(|byte| *byte == b'&').count();
    let worst = (end - first).saturating_mul(references).saturating_mul(NESTED_REFERENCES_MAX);
    (worst > EXPANSION_BYTES_MAX).then_some(first..first + "<!ENTITY".len())
}

fn too_deep(document: &Document<'_>) -> Option<Range<usize>> {
    let mut node = document.root_element();
    let mut depth = 1;
    // A walk without recursion: down, else aside, else up.
    loop {
        if let Some(child) = node.first_element_child() {
            (node, depth) = (child, depth + 1);
            if depth > DEPTH_MAX {
                let start = node.range().start;
                return Some(start..start + 1 + node.tag_name().name().len());
            }
            continue;
        }
        loop {
            if let Some(next) = node.next_sibling_element() {
                node = next;
                break;
            }
            node = node.parent_element()?;
            depth -= 1;
        }
    }
}

fn report(error: &Error, text: &str, diagnostics: &mut Diagnostics<'_>) {
    let at = offset(text, error.pos());
    let end = text[at..].chars().next().map_or(at, |c| at + c.len_utf8());
    let (message, hint) = match error {
        Error::UnknownEntityReference(name, _) => (
            format!("the entity `{name}` is not declared here"),
            "external entities are never read; insert their text here",
        ),
        Error::EntityReferenceLoop(_) => (
            "this entity contains itself, or too many others".to_owned(),
            "write the text itself instead of entities",
        ),
        Error::UnclosedRootNode => {
            ("the file ends inside an element".to_owned(), "it may have been cut off")
        }
        Error::NodesLimitReached => {
            (format!("the file has more than {NODES_MAX} elements"), "split it")
        }
        error => {
            let said = error.to_string();
            // The place is reported apart.
            let said = said.split(" at ").next().unwrap_or(&said).to_owned();
            (format!("this is not XML: {said}"), "")
        }
    };
    let at = match error {
        Error::UnclosedRootNode => text.len()..text.len(),
        _ => at..end,
    };
    let diagnostics = diagnostics.error("bad-xml", at, message);
    if !hint.is_empty() {
        diagnostics.hint(hint);
    }
}

/// The byte of a row and a column, both in characters and from 1.
fn offset(text: &str, pos: roxmltree::TextPos) -> usize {
    let rows = text.split_inclusive('\n').take(pos.row as usize - 1);
    let start: usize = rows.map(str::len).sum();
    let row = text.get(start..).unwrap_or_default();
    let columns = row.chars().take((pos.col as usize).saturating_sub(1));
    start + columns.map(char::len_utf8).sum::<usize>()
}
