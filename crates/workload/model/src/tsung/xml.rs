//! XML, one element a line.

use std::fmt::Write as _;

/// A document, or a part of one.
#[derive(Debug, Default)]
pub(super) struct Xml {
    pub(super) text: String,
    depth: usize,
}

impl Xml {
    pub(super) fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "{line}");
    }

    /// Two hyphens would end it.
    pub(super) fn comment(&mut self, text: &str) {
        let text = text.replace("--", "- -");
        let _ = writeln!(self.text, "<!-- {} -->", plain(&text));
    }

    pub(super) fn open(&mut self, name: &str, attributes: &[(&str, &str)]) {
        self.tag(name, attributes, ">");
        self.depth += 1;
    }

    pub(super) fn close(&mut self, name: &str) {
        self.depth -= 1;
        let _ = writeln!(self.text, "{}</{name}>", "  ".repeat(self.depth));
    }

    pub(super) fn empty(&mut self, name: &str, attributes: &[(&str, &str)]) {
        self.tag(name, attributes, "/>");
    }

    /// A part that was written by itself, one level deeper.
    pub(super) fn append(&mut self, part: &Xml) {
        let pad = "  ".repeat(self.depth);
        for line in part.text.lines() {
            let _ = writeln!(self.text, "{pad}{line}");
        }
    }

    fn tag(&mut self, name: &str, attributes: &[(&str, &str)], end: &str) {
        let _ = write!(self.text, "{}<{name}", "  ".repeat(self.depth));
        for (attribute, value) in attributes {
            let value = plain(value)
                .replace('&', "&amp;")
                .replace('<', "&lt;")
                .replace('>', "&gt;")
                .replace('"', "&quot;");
            let _ = write!(self.text, " {attribute}=\"{value}\"");
        }
        let _ = writeln!(self.text, "{end}");
    }
}

/// XML has no way to write control characters: percent-encoded, as a URL would have them.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\u{0}'..='\u{1f}' | '\u{7f}' | '\u{fffe}' | '\u{ffff}' => {
                let mut bytes = [0; 4];
                for byte in c.encode_utf8(&mut bytes).bytes() {
                    let _ = write!(out, "%{byte:02X}");
                }
            }
            c => out.push(c),
        }
    }
    out
}
