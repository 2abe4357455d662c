//! A page as a tree of elements.

mod sink;

use std::cell::RefCell;

use html5ever::tendril::StrTendril;
use html5ever::tree_builder::TreeBuilderOpts;
use html5ever::{Attribute, ParseOpts, Parser, QualName, TokenizerResult, parse_document};

use sink::Sink;

/// Longest page that is read, in bytes.
const PAGE_BYTES_MAX: usize = 8 << 20;
/// Deepest nesting of elements. It is that of Chromium (`kMaximumHTMLParserDOMTreeDepth`).
const DEPTH_MAX: usize = 512;
/// Nodes of any page; larger ones have [`NODES_PER_TAG`] more for each `<`.
const NODES_MIN: usize = 1_000;
/// An ordinary tag is an element and a text. Misnested ones repeat the elements around them.
const NODES_PER_TAG: usize = 4;
/// Bytes that are parsed between two looks at what they have become.
const CHUNK_BYTES: usize = 512;
/// Most steps of looking through open elements: the parser walks through all of them for some tags.
const WORK_MAX: u64 = 1 << 25;
/// Most comparisons of names of attributes: the parser compares each with all before it in its tag.
const COMPARISONS_MAX: usize = 1 << 28;

/// Bytes of a value that are looked at in the time of one step.
const BYTES_PER_STEP: usize = 64;

/// No node.
const NONE: u32 = u32::MAX;
/// The document, of which the `html` element is a child.
pub(crate) const DOCUMENT: u32 = 0;

/// Why a page is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TooMuch {
    #[error("the page is longer than 8 MiB, which is not read")]
    Bytes,
    #[error("the page is nested deeper than 512 levels, which is not read")]
    Depth,
    #[error("the page has too many misnested tags to be read")]
    Nodes,
    #[error(
        "the page has too many attributes in a tag, or too many open elements, to be read or searched"
    )]
    Work,
}

/// A parsed page.
#[derive(Debug)]
pub struct Page {
    nodes: Vec<Node>,
    /// All texts, one behind the other.
    text: String,
}

/// A node and its neighbours, by their places in the page.
#[derive(Debug)]
struct Node {
    parent: u32,
    first: u32,
    last: u32,
    before: u32,
    after: u32,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Element(Element),
    /// From here to there in the page's text.
    Text(u32, u32),
    /// The document, or a comment.
    Other,
}

/// An element: its name and its attributes.
#[derive(Debug)]
pub(crate) struct Element {
    name: QualName,
    attributes: Vec<Attribute>,
    /// Open elements around it that the parser opens again where they are misnested, as far as the parser has not moved
    /// it.
    formatting: u32,
}

impl Element {
    pub(crate) fn name(&self) -> &str {
        &self.name.local
    }

    /// The work of a test at most: it may look at each attribute, and at the value of one.
    pub(crate) fn test_work(&self) -> usize {
        let attributes = self.attributes.iter();
        1 + attributes.map(|own| 1 + own.value.len() / BYTES_PER_STEP).sum::<usize>()
    }

    /// Names and values.
    pub(crate) fn attributes(&self) -> impl Iterator<Item = (&str, &str)> {
        self.attributes.iter().map(|own| (&*own.name.local, &*own.value))
    }

    /// The value of an attribute, whose name is compared without regard to case.
    pub(crate) fn attribute(&self, name: &str) -> Option<&str> {
        let mut attributes = self.attributes.iter();
        let found = attributes.find(|own| (*own.name.local).eq_ignore_ascii_case(name));
        found.map(|own| &*own.value)
    }
}

/// The most memory that parsing and searching this page takes, in bytes.
pub fn page_bytes(html: &[u8]) -> usize {
    // A list that grows has up to twice the room that it needs. An attribute takes one separator at least.
    let nodes = nodes_max(html).saturating_mul(2 * size_of::<Node>());
    let attributes = separators(html).saturating_mul(2 * size_of::<Attribute>());
    nodes.saturating_add(attributes).saturating_add(4 * html.len())
}

fn nodes_max(html: &[u8]) -> usize {
    let tags: usize = html
        .chunks(128)
        .map(|piece| usize::from(piece.iter().map(|b| u8::from(*b == b'<')).sum::<u8>()))
        .sum();
    NODES_MIN + tags * NODES_PER_TAG
}

/// Bytes of which one stands before each attribute of a tag but the first.
fn separators(html: &[u8]) -> usize {
    let is_separator = |b: &u8| b.is_ascii_whitespace() || matches!(b, b'/' | b'"' | b'\'');
    html.chunks(128)
        .map(|piece| usize::from(piece.iter().map(|b| u8::from(is_separator(b))).sum::<u8>()))
        .sum()
}

impl Page {
    /// Parses a page, whose bytes are read as UTF-8.
    pub fn parse(html: &[u8]) -> Result<Page, TooMuch> {
        if html.len() > PAGE_BYTES_MAX {
            return Err(TooMuch::Bytes);
        }
        let options = ParseOpts {
            tree_builder: TreeBuilderOpts {
                // What stands in `noscript` is seen by who runs no scripts.
                scripting_enabled: false,
                ..TreeBuilderOpts::default()
            },
            ..ParseOpts::default()
        };
        let mut guard = Guard::new(html);
        let parser = parse_document(Sink::new(), options);
        let text = String::from_utf8_lossy(html);
        let mut rest = &*text;
        while !rest.is_empty() {
            let (chunk, after) = rest.split_at(chunk_bytes(rest));
            feed(&parser, chunk);
            guard.check(&parser.tokenizer.sink.sink, chunk)?;
            rest = after;
        }
        parser.tokenizer.end();
        Ok(parser.tokenizer.sink.sink.page.into_inner())
    }

    pub(crate) fn element(&self, node: u32) -> Option<&Element> {
        match &self.nodes[node as usize].kind {
            Kind::Element(element) => Some(element),
            Kind::Text(..) | Kind::Other => None,
        }
    }

    pub(crate) fn first_child(&self, node: u32) -> Option<u32> {
        some(self.nodes[node as usize].first)
    }

    pub(crate) fn next(&self, node: u32) -> Option<u32> {
        some(self.nodes[node as usize].after)
    }

    pub(crate) fn parent(&self, node: u32) -> Option<u32> {
        some(self.nodes[node as usize].parent)
    }

    /// Itself and those behind it in its parent.
    pub(crate) fn from(&self, node: Option<u32>) -> impl Iterator<Item = u32> {
        std::iter::successors(node, |&node| self.next(node))
    }

    /// The text of a node that is one.
    pub(crate) fn own_text(&self, node: u32) -> Option<&str> {
        match self.nodes[node as usize].kind {
            Kind::Text(start, end) => self.text.get(start as usize..end as usize),
            Kind::Element(_) | Kind::Other => None,
        }
    }
}

fn some(node: u32) -> Option<u32> {
    (node != NONE).then_some(node)
}

/// How many bytes of the text are parsed next.
fn chunk_bytes(text: &str) -> usize {
    let mut end = CHUNK_BYTES.min(text.len());
    while !text.is_char_boundary(end) {
        end += 1;
    }
    end
}

fn feed(parser: &Parser<Sink>, chunk: &str) {
    parser.input_buffer.push_back(StrTendril::from(chunk));
    // It stops at scripts, and where the page says its encoding.
    while !matches!(parser.tokenizer.feed(&parser.input_buffer), TokenizerResult::Done) {}
}

/// Looks at what a page becomes while it is parsed.
struct Guard {
    nodes_max: usize,
    /// Nodes and bytes of text when the last chunk had been parsed.
    parsed: usize,
    /// Separators in the tag that may not have ended: one that has became a node.
    separators: usize,
    comparisons: usize,
}

impl Guard {
    fn new(html: &[u8]) -> Guard {
        Guard { nodes_max: nodes_max(html), parsed: 0, separators: 0, comparisons: 0 }
    }

    fn check(&mut self, sink: &Sink, chunk: &str) -> Result<(), TooMuch> {
        let (nodes, text) = {
            let page = sink.page.borrow();
            (page.nodes.len(), page.text.len())
        };
        let separators = separators(chunk.as_bytes());
        if nodes + text > self.parsed {
            self.separators = separators;
        } else {
            self.comparisons += self.separators * separators;
            self.separators += separators;
        }
        self.parsed = nodes + text;
        if self.comparisons > COMPARISONS_MAX || sink.work.get() > WORK_MAX {
            return Err(TooMuch::Work);
        }
        if nodes > self.nodes_max {
            return Err(TooMuch::Nodes);
        }
        if sink.depth() > DEPTH_MAX {
            return Err(TooMuch::Depth);
        }
        Ok(())
    }
}

impl Sink {
    fn new() -> Sink {
        let document = Node::alone(Kind::Other);
        Sink {
            page: RefCell::new(Page { nodes: vec![document], text: String::new() }),
            work: std::cell::Cell::new(0),
        }
    }
}

impl Node {
    fn alone(kind: Kind) -> Node {
        Node { parent: NONE, first: NONE, last: NONE, before: NONE, after: NONE, kind }
    }
}

#[cfg(test)]
mod tests;
