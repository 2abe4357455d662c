//! YAML text to [`Node`]s, within limits.
//!
//! Aliases are expanded by copying; the limit on nodes bounds what they can grow to. Keys must be
//! scalars and stand once in a mapping.

mod layout;

use std::collections::HashMap;
use std::ops::Range;

use saphyr_parser::{Event, Parser, ScalarStyle, Span, Tag};

use crate::document::diagnostic::Collector;
use crate::document::node::{Entry, Node, NodeKind, Place, Scalar};

/// Longest scenario, in bytes.
pub const TEXT_BYTES_MAX: usize = 4 << 20;
/// Deepest nesting of lists and mappings.
pub const DEPTH_MAX: usize = 64;
/// Most values, keys, lists and mappings after aliases are expanded.
pub const NODES_MAX: usize = 100_000;

/// The text's only document; `None` after a syntax error, which has been reported.
pub fn parse(text: &str, diagnostics: &mut Collector<'_>) -> Option<Node> {
    parse_at(text, 0, diagnostics)
}

/// The only document of a text that begins at `start` of the collector's; `None` after a syntax error, which has been
/// reported.
pub fn parse_at(text: &str, start: usize, diagnostics: &mut Collector<'_>) -> Option<Node> {
    match build(text) {
        Ok((mut node, duplicates)) => {
            if start > 0 {
                node.move_by(start);
            }
            for duplicate in duplicates {
                let line = diagnostics.line(start + duplicate.first);
                let message = format!("the key `{}` is given twice", duplicate.key);
                diagnostics
                    .error("duplicate-key", &moved(&duplicate.span, start), message)
                    .label("again")
                    .hint(format!("it is first given on line {line}"));
            }
            Some(node)
        }
        Err(SyntaxError { span, message, hint }) => {
            diagnostics.error("yaml", &moved(&span, start), message).hint_some(hint);
            None
        }
    }
}

fn moved(span: &Range<usize>, by: usize) -> Place {
    Place::at(span.start + by..span.end + by)
}

/// The text of an override as a value: YAML where it is that, else plain text.
pub fn parse_value(text: &str) -> Node {
    match build(text) {
        Ok((node, duplicates)) if duplicates.is_empty() => node,
        _ => Node {
            place: Place::at(0..text.len()),
            kind: NodeKind::Scalar(Scalar {
                text: text.to_owned(),
                quoted: false,
                verbatim: Some(0),
            }),
        },
    }
}

struct SyntaxError {
    span: Range<usize>,
    message: String,
    hint: Option<String>,
}

struct Duplicate {
    key: String,
    span: Range<usize>,
    /// The place of its first occurrence.
    first: usize,
}

/// A list or mapping that is still open.
struct Open {
    node: Node,
    anchor: usize,
    /// The key whose value comes next.
    key: Option<(String, Place)>,
    /// Keys of the mapping so far and where they stand.
    keys: HashMap<String, usize>,
}

/// A value with an anchor.
#[derive(Clone)]
struct AnchoredValue {
    node: Node,
    /// How many values it brings.
    count: usize,
    /// How deep it is nested: a scalar is 0.
    depth: usize,
}

struct Builder<'t> {
    text: &'t str,
    /// Byte offset of each character; empty for ASCII text, where they are the same.
    offsets: Vec<usize>,
    open: Vec<Open>,
    /// Values that aliases stand for.
    anchors: HashMap<usize, AnchoredValue>,
    root: Option<Node>,
    nodes_count: usize,
    duplicates: Vec<Duplicate>,
}

fn build(text: &str) -> Result<(Node, Vec<Duplicate>), SyntaxError> {
    if text.len() > TEXT_BYTES_MAX {
        return Err(too_large("the scenario is longer than 4 MiB", 0..0));
    }
    let offsets = if text.is_ascii() {
        Vec::new()
    } else {
        text.char_indices().map(|(at, _)| at).chain([text.len()]).collect()
    };
    let mut builder = Builder {
        text,
        offsets,
        open: Vec::new(),
        anchors: HashMap::new(),
        root: None,
        nodes_count: 0,
        duplicates: Vec::new(),
    };
    let mut parser = Parser::new_from_str(text);
    while let Some(event) = parser.next_event() {
        let (event, span) = event.map_err(|error| builder.scan_error(&error))?;
        builder.handle(event, span)?;
    }
    let empty = || Node {
        place: Place::at(0..0),
        kind: NodeKind::Scalar(Scalar { text: String::new(), quoted: false, verbatim: None }),
    };
    Ok((builder.root.unwrap_or_else(empty), builder.duplicates))
}

const TOO_DEEP: &str = "nested too deeply (64 levels at most)";

fn too_large(message: &str, span: Range<usize>) -> SyntaxError {
    SyntaxError { span, message: message.to_owned(), hint: None }
}

impl Builder<'_> {
    fn handle(&mut self, event: Event<'_>, span: Span) -> Result<(), SyntaxError> {
        let span = self.byte_span(span);
        match event {
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => Ok(()),
            Event::DocumentStart(_) if self.root.is_some() => Err(SyntaxError {
                span,
                message: "a second document begins here".to_owned(),
                hint: Some("a scenario is one YAML document".to_owned()),
            }),
            Event::DocumentStart(_) => Ok(()),
            // Tags of YAML itself, such as `!!str`, change nothing.
            Event::Scalar(_, _, _, Some(tag)) if !tag.is_yaml_core_schema() => {
                Err(self.tagged(&tag, &span))
            }
            Event::Scalar(text, style, anchor, _) => {
                let node = self.scalar(&text, style, span);
                self.add(node, anchor, 1)
            }
            Event::Alias(anchor) => {
                let Some(AnchoredValue { node, count, depth }) = self.anchors.get(&anchor).cloned()
                else {
                    return Err(SyntaxError {
                        span,
                        message: "this alias is inside its own anchor".to_owned(),
                        hint: None,
                    });
                };
                if self.open.len() + depth > DEPTH_MAX {
                    return Err(too_large(TOO_DEEP, span));
                }
                self.add(node, 0, count)
            }
            Event::SequenceStart(anchor, _) => {
                self.start(NodeKind::Sequence(Vec::new()), span, anchor)
            }
            Event::MappingStart(anchor, _) => {
                self.start(NodeKind::Mapping(Vec::new()), span, anchor)
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(&span),
        }
    }

    /// Text that begins with `!` and is not quoted, such as the condition `!x == 1`.
    fn tagged(&self, tag: &Tag, span: &Range<usize>) -> SyntaxError {
        let written = format!("{}{}", tag.handle, tag.suffix);
        let before = self.text.get(..span.end.max(span.start)).unwrap_or_default();
        let start = before.rfind(&written).unwrap_or(span.start);
        let value = before.get(start..).unwrap_or_default().trim();
        let quote = if value.contains('\'') { '"' } else { '\'' };
        SyntaxError {
            span: start..start + value.len(),
            message: format!("YAML reads `{written}` as a tag, not as text"),
            hint: Some(format!("put it in quotes: {quote}{value}{quote}")),
        }
    }

    fn scalar(&self, text: &str, style: ScalarStyle, span: Range<usize>) -> Node {
        let quoted = style != ScalarStyle::Plain;
        let text = if !quoted && span.is_empty() { "" } else { text };
        let first = match style {
            ScalarStyle::Plain => Some(span.start),
            ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted => Some(span.start + 1),
            ScalarStyle::Literal | ScalarStyle::Folded => None,
        };
        let shows = |at: &usize| self.text.get(*at..).is_some_and(|t| t.starts_with(text));
        let scalar = Scalar { text: text.to_owned(), quoted, verbatim: first.filter(shows) };
        Node { place: Place::at(span), kind: NodeKind::Scalar(scalar) }
    }

    fn start(
        &mut self,
        kind: NodeKind,
        span: Range<usize>,
        anchor: usize,
    ) -> Result<(), SyntaxError> {
        if self.open.len() == DEPTH_MAX {
            return Err(too_large(TOO_DEEP, span));
        }
        let node = Node { place: Place::at(span), kind };
        self.open.push(Open { node, anchor, key: None, keys: HashMap::new() });
        Ok(())
    }

    fn end(&mut self, span: &Range<usize>) -> Result<(), SyntaxError> {
        let Some(mut open) = self.open.pop() else {
            return Ok(());
        };
        let end = span.end.max(open.node.place.span.start);
        let shown = self.text.get(open.node.place.span.start..end).unwrap_or_default();
        open.node.place.span.end = open.node.place.span.start + shown.trim_end().len();
        self.add(open.node, open.anchor, 1)
    }

    /// Puts a finished value where it belongs. `count`: how many values it brings.
    fn add(&mut self, node: Node, anchor: usize, count: usize) -> Result<(), SyntaxError> {
        self.nodes_count += count;
        if self.nodes_count > NODES_MAX {
            let message = "more than 100,000 values (each use of an alias counts)";
            return Err(too_large(message, node.place.span));
        }
        if anchor > 0 {
            let anchored =
                AnchoredValue { node: node.clone(), count: size(&node), depth: depth(&node) };
            self.anchors.insert(anchor, anchored);
        }
        let Some(open) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        match &mut open.node.kind {
            NodeKind::Sequence(items) => items.push(node),
            NodeKind::Mapping(entries) => match open.key.take() {
                Some((key, key_place)) => entries.push(Entry { key, key_place, value: node }),
                None => return self.key(node),
            },
            NodeKind::Scalar(_) => {}
        }
        Ok(())
    }

    fn key(&mut self, node: Node) -> Result<(), SyntaxError> {
        let span = node.place.span.clone();
        let NodeKind::Scalar(scalar) = node.kind else {
            return Err(SyntaxError {
                span,
                message: "a key must be a single word or text".to_owned(),
                hint: Some("quote text that begins with { or [".to_owned()),
            });
        };
        let Some(open) = self.open.last_mut() else {
            return Ok(());
        };
        if let Some(&first) = open.keys.get(&scalar.text) {
            let key = scalar.text.clone();
            self.duplicates.push(Duplicate { key, span: span.clone(), first });
        } else {
            open.keys.insert(scalar.text.clone(), span.start);
        }
        open.key = Some((scalar.text, Place::at(span)));
        Ok(())
    }

    fn byte(&self, index: usize) -> usize {
        if self.offsets.is_empty() {
            return index.min(self.text.len());
        }
        self.offsets.get(index).copied().unwrap_or(self.text.len())
    }

    /// The parser counts characters and lets some spans reach over the blanks that follow.
    fn byte_span(&self, span: Span) -> Range<usize> {
        let start = self.byte(span.start.index());
        let end = self.byte(span.end.index()).max(start);
        let shown = self.text.get(start..end).unwrap_or_default().trim_end();
        start..start + shown.len()
    }

    fn scan_error(&self, error: &saphyr_parser::ScanError) -> SyntaxError {
        let at = self.byte(error.marker().index());
        SyntaxError {
            span: at..at,
            message: format!("this is not YAML: {}", error.info()),
            hint: layout::hint(self.text, at, error.info()),
        }
    }
}

/// Bytes of text that count as one more value when they are copied.
const COPIED_BYTES_PER_NODE: usize = 256;

/// How many values a tree has, as the limit on them counts; long texts count as several, so that copies of
/// them are bounded too.
pub(crate) fn size(node: &Node) -> usize {
    match &node.kind {
        NodeKind::Scalar(scalar) => 1 + scalar.text.len() / COPIED_BYTES_PER_NODE,
        NodeKind::Sequence(items) => 1 + items.iter().map(size).sum::<usize>(),
        NodeKind::Mapping(entries) => {
            let of =
                |entry: &Entry| 1 + entry.key.len() / COPIED_BYTES_PER_NODE + size(&entry.value);
            1 + entries.iter().map(of).sum::<usize>()
        }
    }
}

/// How many lists and mappings are nested in a tree, which bounds how deep it can be walked.
fn depth(node: &Node) -> usize {
    let within = match &node.kind {
        NodeKind::Scalar(_) => return 0,
        NodeKind::Sequence(items) => items.iter().map(depth).max(),
        NodeKind::Mapping(entries) => entries.iter().map(|entry| depth(&entry.value)).max(),
    };
    1 + within.unwrap_or(0)
}
