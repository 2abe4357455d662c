//! Values that are looked for in responses and messages, and values that are saved from them.

use serde::{Serialize, Serializer};

use crate::elements::Elements;
use crate::expr::binary::NumberForm;
use crate::expr::{JsonSearch, Template};
use crate::ids::Slot;
use crate::pattern::Pattern;

/// One condition on a message.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Match {
    pub from: Source,
    pub test: MatchTest,
}

/// Requirement on the text taken from a message.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub enum MatchTest {
    /// Equal to the template's value: strings by their text, numbers and booleans by value.
    Equals(Template),
    /// Present, whatever its value.
    Exists,
}

/// Keeping a part of a response or message in a variable.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Save {
    pub slot: Slot,
    pub from: Source,
    /// Used where the source has nothing; without it that is an error of kind `save`.
    pub default: Option<Template>,
}

/// Place in a response or message that a value is taken from.
#[derive(Debug, Clone, Serialize)]
pub enum Source {
    /// RFC 6901, already unescaped into its tokens. Empty: the whole document.
    Pointer(Vec<String>),
    /// All places that JSONPath names (RFC 9535), as a list in JSON text.
    Path(JsonSearch),
    /// Elements of a page of HTML.
    Elements(Box<Elements>),
    /// A group of the first match in the body or message.
    Regex {
        #[serde(serialize_with = "regex_text")]
        regex: Pattern,
        group: usize,
        /// Over an HTTP response as it came: status line, headers, empty line and body.
        whole: bool,
    },
    /// An HTTP response header, lower-case name; the first one of that name.
    Header(String),
    /// A user property of a message of MQTT; the first one of that name.
    Property(String),
    /// The HTTP status as an integer.
    Status,
    /// The response time so far, from when the request was due, in milliseconds.
    Time,
    /// The whole body or message as text.
    Body,
    /// All bytes of the body or message, the header of its framing too.
    Bytes,
    /// The name of a server-sent event, or of a channel's.
    Event,
    /// The topic, identifier or namespace of a channel's message.
    Topic,
    /// The last id that the event stream said.
    EventId,
    /// A number at this byte offset in a message; a negative one counts from the message's end.
    Number { form: NumberForm, at: i32 },
}

/// A JSON pointer of these tokens (RFC 6901 §3).
pub fn pointer_text(tokens: &[String]) -> String {
    let escaped = |token: &String| token.replace('~', "~0").replace('/', "~1");
    tokens.iter().map(|token| format!("/{}", escaped(token))).collect()
}

fn regex_text<S: Serializer>(regex: &Pattern, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(regex.as_str())
}

impl PartialEq for Source {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Source::Pointer(a), Source::Pointer(b)) => a == b,
            (Source::Path(a), Source::Path(b)) => a == b,
            (Source::Elements(a), Source::Elements(b)) => a == b,
            (
                Source::Regex { regex: a, group, whole },
                Source::Regex { regex: b, group: g, whole: w },
            ) => a.as_str() == b.as_str() && group == g && whole == w,
            (Source::Header(a), Source::Header(b)) | (Source::Property(a), Source::Property(b)) => {
                a == b
            }
            (Source::Number { form, at }, Source::Number { form: f, at: a }) => {
                (form, at) == (f, a)
            }
            (Source::Status, Source::Status)
            | (Source::Time, Source::Time)
            | (Source::Body, Source::Body)
            | (Source::Bytes, Source::Bytes)
            | (Source::Event, Source::Event)
            | (Source::Topic, Source::Topic)
            | (Source::EventId, Source::EventId) => true,
            _ => false,
        }
    }
}

impl Source {
    /// The place in words.
    pub fn place(&self) -> String {
        match self {
            Source::Pointer(tokens) => pointer_text(tokens),
            Source::Path(search) => search.path.to_string(),
            Source::Elements(elements) => format!("`{}`", elements.selector.text()),
            Source::Regex { regex, .. } => format!("`{}`", regex.as_str()),
            Source::Header(name) => format!("header `{name}`"),
            Source::Property(name) => format!("property `{name}`"),
            Source::Status => "status".to_owned(),
            Source::Time => "time".to_owned(),
            Source::Body => "body".to_owned(),
            Source::Bytes => "bytes".to_owned(),
            Source::Event => "event".to_owned(),
            Source::Topic => "topic".to_owned(),
            Source::EventId => "id".to_owned(),
            Source::Number { form, at } => format!("{}@{at}", form.name()),
        }
    }

    /// Text of the error that nothing is found at the place.
    pub fn missing(&self) -> String {
        match self {
            Source::Pointer(tokens) if tokens.is_empty() => "no JSON".to_owned(),
            Source::Pointer(tokens) => format!("nothing at {}", pointer_text(tokens)),
            Source::Path(search) => format!("no JSON, or too much of it at {}", search.path),
            Source::Elements(elements) => elements.missing(),
            Source::Regex { regex, group, .. } => match group {
                0 => format!("no match of `{}`", regex.as_str()),
                _ => format!("no match of `{}` with group {group}", regex.as_str()),
            },
            Source::Header(name) => format!("no header `{name}`"),
            Source::Property(name) => format!("no property `{name}`"),
            Source::Status => "no status".to_owned(),
            Source::Time => "no response time".to_owned(),
            Source::Body => "no text".to_owned(),
            Source::Bytes => "no bytes".to_owned(),
            Source::Event => "no event name".to_owned(),
            Source::Topic => "no topic".to_owned(),
            Source::EventId => "no event id".to_owned(),
            Source::Number { form, at } => format!("no {}@{at}", form.name()),
        }
    }

    /// True where the body or message text itself is looked at.
    pub fn reads_body(&self) -> bool {
        matches!(
            self,
            Source::Pointer(_)
                | Source::Path(_)
                | Source::Elements(_)
                | Source::Regex { .. }
                | Source::Body
                | Source::Bytes
                | Source::Number { .. }
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_values_are_described_in_words() {
        let pointer = |tokens: &[&str]| {
            Source::Pointer(tokens.iter().map(|token| (*token).to_owned()).collect())
        };
        let regex = |group| Source::Regex {
            regex: Pattern::new("id=([0-9]+)").unwrap(),
            group,
            whole: false,
        };
        let elements = |attribute: Option<&str>| {
            Source::Elements(Box::new(Elements {
                selector: html::Selector::parse("li.x").unwrap(),
                attribute: attribute.map(str::to_owned),
                all: false,
            }))
        };
        let number = Source::Number { form: NumberForm::parse("u16be").unwrap(), at: 4 };
        for (source, expected) in [
            (pointer(&["total"]), "nothing at /total"),
            (pointer(&["a/b", "0", "~"]), "nothing at /a~1b/0/~0"),
            (pointer(&[]), "no JSON"),
            (regex(0), "no match of `id=([0-9]+)`"),
            (regex(1), "no match of `id=([0-9]+)` with group 1"),
            (Source::Header("x-kind".to_owned()), "no header `x-kind`"),
            (number, "no u16be@4"),
            (elements(None), "no element `li.x`"),
            (elements(Some("id")), "no element `li.x` with the attribute `id`"),
        ] {
            assert_eq!(source.missing(), expected);
        }
    }
}
