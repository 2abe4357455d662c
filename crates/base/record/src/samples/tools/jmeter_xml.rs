//! JMeter's results as XML (`jmeter.save.saveservice.output_format=xml`): elements `sample` and `httpSample`, whose
//! attributes have short names ("JTL files", user's manual).
//!
//! Samples stand within others: those of a transaction are requests of their own, those of a request are parts of it,
//! such as redirects and images.

use std::borrow::Cow;

use super::jmeter::{FileFacts, JmeterSample};
use crate::samples::results::{BadLine, Builder, ReadOptions, ResultsError, ToolResults};

const TOOL: &str = "JMeter, XML";
/// Most samples that stand within each other.
const DEPTH_MAX: usize = 100;
/// Most bytes of a reference to a character.
const REFERENCE_BYTES_MAX: usize = 12;
/// Most bytes of a tag.
const TAG_BYTES_MAX: usize = 1 << 20;

/// A sample that has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outer {
    Transaction,
    Request,
}

/// Reads the samples of a document.
pub(super) fn read(text: &str, options: &ReadOptions) -> Result<ToolResults, ResultsError> {
    let mut builder = Builder::new(TOOL, options);
    let mut known = FileFacts::ALL;
    let mut outer: Vec<Outer> = Vec::new();
    let tags = Tags { rest: text, line: 1 };
    for tag in tags {
        let tag = tag?;
        if !matches!(tag.name, "sample" | "httpSample") {
            continue;
        }
        if tag.is_end {
            outer.pop();
            continue;
        }
        if outer.len() == DEPTH_MAX {
            let problem = format!("more than {DEPTH_MAX} samples stand within each other");
            return Err(BadLine::new(tag.line, problem).into());
        }
        let attributes = Attributes::of(&tag)?;
        let sample = attributes.sample();
        match outer.contains(&Outer::Request) {
            true => builder.leave_out("samples within the sample of a request"),
            false => sample.add(tag.line, &mut builder, &mut known)?,
        }
        if !tag.is_empty {
            outer.push(match sample.is_transaction() {
                true => Outer::Transaction,
                false => Outer::Request,
            });
        }
    }
    known.finish(builder)
}

/// A tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Tag<'t> {
    line: usize,
    name: &'t str,
    attributes: &'t str,
    /// It ends an element.
    is_end: bool,
    /// It ends the element that it begins.
    is_empty: bool,
}

/// The tags of a document. Comments, CDATA sections, declarations and text are skipped.
struct Tags<'t> {
    rest: &'t str,
    line: usize,
}

impl<'t> Tags<'t> {
    /// Skips this number of bytes, and gives them.
    fn skip(&mut self, bytes: usize) -> &'t str {
        let skipped = &self.rest[..bytes];
        self.line += skipped.bytes().filter(|&byte| byte == b'\n').count();
        self.rest = &self.rest[bytes..];
        skipped
    }

    /// Skips to behind `end`, which must come.
    fn skip_to(&mut self, end: &str) -> Result<(), BadLine> {
        match self.rest.find(end) {
            Some(at) => {
                self.skip(at + end.len());
                Ok(())
            }
            None => Err(BadLine::new(self.line, format!("the document ends before {end:?}"))),
        }
    }

    fn tag(&mut self) -> Result<Option<Tag<'t>>, BadLine> {
        loop {
            let Some(at) = self.rest.find('<') else { return Ok(None) };
            self.skip(at);
            if self.rest.starts_with("<!--") {
                self.skip_to("-->")?;
            } else if self.rest.starts_with("<![CDATA[") {
                self.skip_to("]]>")?;
            } else if self.rest.starts_with("<!") || self.rest.starts_with("<?") {
                self.skip_to(">")?;
            } else {
                break;
            }
        }
        let line = self.line;
        let unended = || BadLine::new(line, "a tag has no end");
        let inside = self.skip(tag_end(self.rest).ok_or_else(unended)? + 1);
        let inside = inside.strip_prefix('<').and_then(|inside| inside.strip_suffix('>'));
        let inside = inside.ok_or_else(unended)?;
        let is_end = inside.starts_with('/');
        let is_empty = inside.ends_with('/');
        let inside = inside.trim_start_matches('/').trim_end_matches('/');
        let end = inside.find(|c: char| c.is_ascii_whitespace()).unwrap_or(inside.len());
        let name = &inside[..end];
        Ok(Some(Tag { line, name, attributes: &inside[end..], is_end, is_empty }))
    }
}

impl<'t> Iterator for Tags<'t> {
    type Item = Result<Tag<'t>, BadLine>;

    fn next(&mut self) -> Option<Result<Tag<'t>, BadLine>> {
        let tag = self.tag();
        if tag.is_err() {
            self.rest = "";
        }
        tag.transpose()
    }
}

/// The place of the `>` that ends a tag: none within the quotes of an attribute.
fn tag_end(text: &str) -> Option<usize> {
    let mut quote = None;
    let bytes = text.bytes().take(TAG_BYTES_MAX);
    for (at, byte) in bytes.enumerate() {
        match quote {
            Some(open) if byte == open => quote = None,
            Some(_) => {}
            None if byte == b'>' => return Some(at),
            None if matches!(byte, b'"' | b'\'') => quote = Some(byte),
            None => {}
        }
    }
    None
}

/// The attributes of a sample that are read; empty if they are not there.
#[derive(Debug, Default)]
struct Attributes<'t> {
    time_stamp: Cow<'t, str>,
    elapsed: Cow<'t, str>,
    label: Cow<'t, str>,
    code: Cow<'t, str>,
    message: Cow<'t, str>,
    success: Cow<'t, str>,
    bytes: Cow<'t, str>,
    sent_bytes: Cow<'t, str>,
}

impl<'t> Attributes<'t> {
    fn of(tag: &Tag<'t>) -> Result<Attributes<'t>, BadLine> {
        let wrong = || BadLine::new(tag.line, "an attribute is not of the form name=\"value\"");
        let mut attributes = Attributes::default();
        let mut rest = tag.attributes.trim_start();
        while !rest.is_empty() {
            let equals = rest.find('=').ok_or_else(wrong)?;
            let name = rest[..equals].trim();
            let value = rest[equals + 1..].trim_start();
            let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
            let value = &value[quote.ok_or_else(wrong)?.len_utf8()..];
            let end = quote.and_then(|quote| value.find(quote)).ok_or_else(wrong)?;
            rest = value[end + 1..].trim_start();
            let place = match name {
                "ts" => &mut attributes.time_stamp,
                "t" => &mut attributes.elapsed,
                "lb" => &mut attributes.label,
                "rc" => &mut attributes.code,
                "rm" => &mut attributes.message,
                "s" => &mut attributes.success,
                "by" => &mut attributes.bytes,
                "sby" => &mut attributes.sent_bytes,
                _ => continue,
            };
            *place = unescaped(&value[..end]);
        }
        Ok(attributes)
    }

    fn sample(&self) -> JmeterSample<'_> {
        JmeterSample {
            time_stamp: &self.time_stamp,
            elapsed: &self.elapsed,
            label: &self.label,
            code: &self.code,
            message: &self.message,
            failure: "",
            success: &self.success,
            bytes: &self.bytes,
            sent_bytes: &self.sent_bytes,
        }
    }
}

/// The text with the characters that its references stand for; a reference that is none stays.
fn unescaped(text: &str) -> Cow<'_, str> {
    if !text.contains('&') {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        plain.push_str(before);
        let end = after.bytes().take(REFERENCE_BYTES_MAX).position(|byte| byte == b';');
        match end.and_then(|end| named(&after[..end])) {
            Some(character) => {
                plain.push(character);
                rest = after.split_once(';').map_or("", |(_, behind)| behind);
            }
            None => {
                plain.push('&');
                rest = after;
            }
        }
    }
    plain.push_str(rest);
    Cow::Owned(plain)
}

/// The character of a reference: one of XML's five, or a number.
fn named(name: &str) -> Option<char> {
    match name {
        "lt" => Some('<'),
        "gt" => Some('>'),
        "amp" => Some('&'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16),
                None => number.parse(),
            };
            char::from_u32(code.ok()?)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_become_characters() {
        let text = "a &lt;b&gt; &amp;amp; &#65;&#x42; &nope; & &#xffffffff; &";
        assert_eq!(unescaped(text), "a <b> &amp; AB &nope; & &#xffffffff; &");
    }

    #[test]
    fn tags_are_found_beside_comments_and_text() {
        let text =
            "<?xml version=\"1.0\"?>\n<!-- <sample> -->\n<a x='>'><![CDATA[<sample>]]>\n</a><b/>";
        let tags: Vec<Tag<'_>> = Tags { rest: text, line: 1 }.map(Result::unwrap).collect();
        let names: Vec<(usize, &str)> = tags.iter().map(|tag| (tag.line, tag.name)).collect();
        assert_eq!(names, [(3, "a"), (4, "a"), (4, "b")]);
        assert_eq!(tags[0].attributes, " x='>'");
        assert!(tags[1].is_end && tags[2].is_empty);
        let cut = Tags { rest: "<a>\n<b x=\"", line: 1 }.last().unwrap();
        assert_eq!(cut.unwrap_err(), BadLine::new(2, "a tag has no end"));
    }

    proptest::proptest! {
        #[test]
        fn no_document_panics(text in "(<|>|/|!|-|\\?|sample| t=|\"|'|&|;|#|x|é|\n){0,60}") {
            let _ = read(&text, &ReadOptions::default());
            let _ = unescaped(&text);
        }
    }
}
