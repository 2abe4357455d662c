//! Reports as one self-contained HTML file: the page's script and style, which `web/` builds, around
//! a document in JSON.
//!
//! Names and texts come from scenarios and servers. They reach the page only as data: JSON without any `<`,
//! read by a script that sets text and never markup.

mod capacity;
mod comparison;
mod duet;
mod experiment;
mod index;
mod live;
mod meters;
mod run;

use record::controls::is_control;
use serde::Serialize;

use crate::json::escaped;

pub use live::LiveReport;
pub use run::RunReport;

/// Version of the documents; the page refuses another one.
const DOCUMENT_FORMAT: u32 = 1;

/// A page.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    /// The window's title.
    pub(crate) title: String,
    /// The findings as sentences, for readers without scripts.
    pub(crate) sentences: Vec<String>,
    /// The document.
    pub(crate) json: String,
}

/// The fields of all documents.
#[derive(Serialize)]
struct Document<'a, T> {
    #[serde(flatten)]
    head: Head<'a>,
    #[serde(flatten)]
    content: T,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct Head<'a> {
    /// Version of the documents.
    format: u32,
    /// The kind of result, which decides how it is drawn: [`Content::KIND`].
    #[cfg_attr(test, ts(skip))]
    kind: &'static str,
    /// The version that made the page.
    throng: &'a str,
}

/// The fields that the documents of one kind have besides.
pub(crate) trait Content: Serialize {
    const KIND: &'static str;
}

impl Page {
    pub(crate) fn new<C: Content>(
        title: String,
        sentences: Vec<String>,
        throng: &str,
        content: &C,
    ) -> Page {
        let document =
            Document { head: Head { format: DOCUMENT_FORMAT, kind: C::KIND, throng }, content };
        let json = serde_json::to_string(&document)
            .expect("a document has text for keys, and nothing in it fails to serialise");
        Page { title, sentences, json: inert(&json) }
    }

    /// The document that the page's script draws. It is safe inside a script element.
    pub fn json(&self) -> &str {
        &self.json
    }
}

/// JSON that neither ends nor begins an element: `<`, `>`, `&` and what controls lines or the direction of writing occur
/// only in strings, where they can be escaped.
fn inert(json: &str) -> String {
    escaped(json, |c| matches!(c, '<' | '>' | '&') || is_control(c))
}

#[cfg(test)]
pub(crate) mod tests;
#[cfg(test)]
mod typescript;
