//! Looking into responses and messages: sources, conditions, saved values.

mod owned;
mod records;

use std::borrow::Cow;

use html::{Page, TooMuch, page_bytes};
use plan::expr::{Template, VISITS_MAX, Value, all_places};
use plan::json::{depth_note, document_bytes, is_same_number, json_number, pointer, unquoted};
use plan::{Match, MatchTest, PATTERN_STEPS_MAX, Source};
use proto::http1;
use record::controls::is_control;

use crate::failures::Answer;
use crate::users::Scope;

pub(crate) use owned::OwnedMessage;
pub(crate) use records::{end_record, records};

/// The search for the values of one body: its page, parsed for the first of them, and the work that is left for all.
#[derive(Debug)]
pub(crate) struct Search {
    page: Option<Result<Page, TooMuch>>,
    /// How many values JSONPath may still look at.
    visits_left: u64,
    /// How many steps regular expressions may still take.
    steps_left: u64,
    /// Why a value was not looked for to the end.
    pub(crate) too_much: Option<String>,
}

impl Search {
    pub(crate) fn new() -> Search {
        Search {
            page: None,
            visits_left: VISITS_MAX,
            steps_left: PATTERN_STEPS_MAX,
            too_much: None,
        }
    }
}

/// A response or message, as steps see it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReceivedMessage<'a> {
    /// HTTP only.
    pub(crate) head: Option<&'a http1::Head<'a>>,
    /// Response body or message.
    pub(crate) body: &'a [u8],
    /// The body was encoded; its head still says so.
    pub(crate) is_decoded: bool,
    pub(crate) label: Label<'a>,
    /// The time since the request was due, of a response.
    pub(crate) took_ns: Option<u64>,
}

/// Events of messages of MQTT.
const MESSAGE: &[u8] = b"message";
const RETAINED: &[u8] = b"retained";

/// The part of a message besides its body.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Label<'a> {
    Nothing,
    /// A server-sent event.
    Event {
        name: &'a [u8],
        /// The last one that the stream sent; often empty.
        id: &'a [u8],
    },
    /// A framed message with its header; the body is its payload.
    Frame(&'a [u8]),
    /// A message of a channel.
    Channel {
        topic: &'a [u8],
        event: &'a [u8],
    },
    /// A message of MQTT.
    Published {
        topic: &'a [u8],
        /// It was published before the subscription.
        retained: bool,
        properties: &'a [u8],
    },
}

impl<'a> ReceivedMessage<'a> {
    pub(crate) fn message(body: &'a [u8]) -> ReceivedMessage<'a> {
        ReceivedMessage::labelled(body, Label::Nothing)
    }

    pub(crate) fn labelled(body: &'a [u8], label: Label<'a>) -> ReceivedMessage<'a> {
        ReceivedMessage { head: None, body, is_decoded: false, label, took_ns: None }
    }

    /// One of its records, as a message of its own.
    pub(crate) fn record(&self, body: &'a [u8]) -> ReceivedMessage<'a> {
        let label = match self.label {
            Label::Frame(_) => Label::Frame(body),
            label => label,
        };
        ReceivedMessage { body, label, ..*self }
    }

    /// The part that a sample of a failure shows.
    pub(crate) fn answer(&self) -> Answer<'a> {
        Answer { head: self.head, body: self.body, is_decoded: self.is_decoded }
    }

    /// All bytes of a message, its header too.
    pub(crate) fn bytes(&self) -> &'a [u8] {
        match self.label {
            Label::Frame(whole) => whole,
            Label::Nothing
            | Label::Event { .. }
            | Label::Channel { .. }
            | Label::Published { .. } => self.body,
        }
    }

    pub(crate) fn topic(&self) -> Option<&'a [u8]> {
        match self.label {
            Label::Channel { topic, .. } | Label::Published { topic, .. } => Some(topic),
            Label::Nothing | Label::Event { .. } | Label::Frame(_) => None,
        }
    }

    pub(crate) fn event(&self) -> Option<&'a [u8]> {
        match self.label {
            Label::Event { name, .. } => Some(name),
            Label::Channel { event, .. } => Some(event),
            Label::Published { retained, .. } => Some(if retained { RETAINED } else { MESSAGE }),
            Label::Nothing | Label::Frame(_) => None,
        }
    }

    fn event_id(&self) -> Option<&'a [u8]> {
        match self.label {
            Label::Event { id, .. } => Some(id),
            Label::Nothing | Label::Frame(_) | Label::Channel { .. } | Label::Published { .. } => {
                None
            }
        }
    }

    /// The identifiers of the user's subscriptions that a message of MQTT matches.
    fn subscriptions(&self) -> impl Iterator<Item = u32> + use<'a> {
        let properties = match self.label {
            Label::Published { properties, .. } => properties,
            Label::Nothing | Label::Event { .. } | Label::Frame(_) | Label::Channel { .. } => &[],
        };
        proto::mqtt::subscriptions(properties)
    }

    fn property(&self, name: &str) -> Option<&'a [u8]> {
        match self.label {
            Label::Published { properties, .. } => {
                proto::mqtt::user_property(properties, name.as_bytes())
            }
            _ => None,
        }
    }

    /// The value `source` names, or `None` if it is not there.
    pub(crate) fn value(&self, source: &Source) -> Option<Value> {
        self.value_of(source, &mut Search::new())
    }

    /// The same, of a body in which others may have been looked for before.
    pub(crate) fn value_of(&self, source: &Source, search: &mut Search) -> Option<Value> {
        match source {
            Source::Elements(elements) => {
                let page = search.page.get_or_insert_with(|| Page::parse(self.body));
                let found = match page {
                    Ok(page) => elements.value(page),
                    Err(error) => Err(*error),
                };
                found.unwrap_or_else(|error| {
                    let is_work = matches!(error, TooMuch::Work | TooMuch::Nodes);
                    search.too_much = is_work.then(|| error.to_string());
                    None
                })
            }
            Source::Pointer(tokens) => {
                let raw = pointer(self.body, tokens)?;
                Some(Value::from_json(&String::from_utf8_lossy(raw)))
            }
            Source::Path(path) => {
                let found = all_places(path, self.body, &mut search.visits_left);
                found.unwrap_or_else(|error| {
                    search.too_much = Some(error.to_string());
                    None
                })
            }
            Source::Regex { regex, group, whole } => {
                let seen = match self.head {
                    Some(head) if *whole => Cow::Owned([head.raw, self.body].concat()),
                    _ => Cow::Borrowed(self.body),
                };
                let found = regex.captures(&seen, &mut search.steps_left);
                let found = found.unwrap_or_else(|error| {
                    search.too_much = Some(error.to_string());
                    None
                });
                let groups = found?;
                Some(text_value(groups.get(*group)?.as_bytes()))
            }
            Source::Header(name) => match self.label {
                Label::Published { properties, .. } => message_header(properties, name),
                _ => Some(text_value(&self.head?.header(name)?)),
            },
            Source::Property(name) => Some(text_value(self.property(name)?)),
            Source::Status => Some(Value::Int(i64::from(self.head?.status))),
            Source::Time => Some(Value::Float(self.took_ns? as f64 / 1e6)),
            Source::Body => Some(text_value(self.body)),
            Source::Bytes => Some(Value::Bytes(self.bytes().into())),
            Source::Event => Some(text_value(self.event()?)),
            Source::Topic => Some(text_value(self.topic()?)),
            Source::EventId if matches!(self.label, Label::Published { .. }) => {
                Some(Value::Int(i64::from(self.subscriptions().next()?)))
            }
            Source::EventId => Some(text_value(self.event_id()?)),
            Source::Number { form, at } => {
                let bytes = self.bytes();
                let start = match usize::try_from(*at) {
                    Ok(start) => start,
                    Err(_) => bytes.len().checked_sub(at.unsigned_abs() as usize)?,
                };
                form.read(bytes.get(start..)?)
            }
        }
    }

    /// The most memory that it takes to look for `source`, bytes.
    pub(crate) fn document_bytes(&self, source: &Source) -> usize {
        match source {
            Source::Path(_) => document_bytes(self.body),
            Source::Elements(_) => page_bytes(self.body),
            _ => 0,
        }
    }

    /// A finite number at a place.
    pub(crate) fn real(&self, source: &Source) -> Option<f64> {
        let number = match source {
            Source::Pointer(tokens) => json_number(pointer(self.body, tokens)?)?,
            _ => self.value(source)?.number()?.as_f64(),
        };
        Some(number).filter(|number| number.is_finite())
    }

    /// How the body begins, for error messages. `read`: whether something in it was looked for.
    pub(crate) fn shown(&self, read: bool) -> String {
        let Some(coding) = self.compression() else {
            return excerpt(self.body);
        };
        let advice = match (read, self.head.is_some()) {
            (false, _) => "",
            (true, true) => UNCOMPRESSED,
            (true, false) => "; messages are not decompressed",
        };
        let length = self.body.len();
        format!("{length} bytes that are compressed with {coding}{advice}")
    }

    /// A note to add to the text of an error about a value that is not there.
    pub(crate) fn missing_note(&self, source: &Source, search: &Search) -> String {
        match (source, &search.page) {
            (Source::Pointer(_), _) => depth_note(self.body).to_owned(),
            (Source::Elements(_), Some(Err(error))) => format!("; {error}"),
            _ => String::new(),
        }
    }

    /// The compression of the body, as the response's head or its first bytes say.
    fn compression(&self) -> Option<String> {
        if self.body.is_empty() || self.is_decoded {
            return None;
        }
        let coding = self.head.and_then(http1::Head::content_coding);
        let magic = MAGIC
            .iter()
            .find(|(bytes, _)| self.body.starts_with(bytes))
            .map(|(_, coding)| (*coding).to_owned());
        coding.or(magic)
    }

    /// The whole number that `source` names, from 0.
    pub(crate) fn count(&self, source: &Source) -> Option<u64> {
        match self.value(source)? {
            Value::Int(int) => int.try_into().ok(),
            Value::Text(text) | Value::Number(text) => text.parse().ok(),
            _ => None,
        }
    }

    /// The text of the value that `source` names.
    pub(crate) fn text(&self, source: &Source) -> Option<Vec<u8>> {
        let mut text = Vec::new();
        self.value(source)?.write_text(&mut text);
        Some(text)
    }

    /// Do all conditions hold? A template that cannot be rendered does not match.
    pub(crate) fn matches(
        &self,
        when: &[Match],
        scope: &mut Scope<'_>,
        scratch: &mut Vec<u8>,
    ) -> bool {
        when.iter().all(|condition| self.holds(condition, scope, scratch))
    }

    /// Can all conditions hold later, whatever the values of variables are then?
    pub(crate) fn may_match(
        &self,
        when: &[Match],
        scope: &mut Scope<'_>,
        scratch: &mut Vec<u8>,
    ) -> bool {
        when.iter().all(|condition| match &condition.test {
            MatchTest::Equals(wanted) if wanted.as_static().is_none() => self.has(&condition.from),
            MatchTest::Equals(_) | MatchTest::Exists => self.holds(condition, scope, scratch),
        })
    }

    fn has(&self, source: &Source) -> bool {
        match source {
            Source::Pointer(tokens) => pointer(self.body, tokens).is_some(),
            Source::Regex { regex, .. } => regex.is_match(self.body),
            source => self.value(source).is_some(),
        }
    }

    fn holds(&self, condition: &Match, scope: &mut Scope<'_>, scratch: &mut Vec<u8>) -> bool {
        match (&condition.test, &condition.from) {
            (MatchTest::Exists, source) => self.has(source),
            (MatchTest::Equals(wanted), Source::Pointer(tokens)) => {
                let Some(raw) = pointer(self.body, tokens) else {
                    return false;
                };
                with_text(wanted, scope, scratch, |text| json_equals(raw, text))
            }
            // The topic of a message may be given as a filter.
            (MatchTest::Equals(wanted), Source::Topic)
                if let Label::Published { topic, .. } = self.label =>
            {
                with_text(wanted, scope, scratch, |filter| proto::mqtt::matches(filter, topic))
            }
            // Of several subscriptions a message may match any.
            (MatchTest::Equals(wanted), Source::EventId)
                if matches!(self.label, Label::Published { .. }) =>
            {
                with_text(wanted, scope, scratch, |text| {
                    self.subscriptions().any(|id| id.to_string().as_bytes() == text)
                })
            }
            (MatchTest::Equals(wanted), source) => {
                let Some(value) = self.value(source) else {
                    return false;
                };
                let mut found = Vec::new();
                value.write_text(&mut found);
                with_text(wanted, scope, scratch, |text| found == text)
            }
        }
    }
}

/// Calls `then` with the template's text, which is only rendered if it is not constant.
fn with_text(
    template: &Template,
    scope: &mut Scope<'_>,
    scratch: &mut Vec<u8>,
    then: impl FnOnce(&[u8]) -> bool,
) -> bool {
    if let Some(text) = template.as_static() {
        return then(text.as_bytes());
    }
    scratch.clear();
    template.render(scope, scratch).is_ok() && then(scratch)
}

fn json_equals(raw: &[u8], wanted: &[u8]) -> bool {
    match unquoted(raw) {
        Some(text) => *text == *wanted,
        None => raw == wanted || is_same_number(raw, wanted),
    }
}

/// How compressed bodies begin (RFC 1952, RFC 8878).
const MAGIC: &[(&[u8], &str)] = &[(b"\x1f\x8b", "gzip"), (b"\x28\xb5\x2f\xfd", "zstd")];

/// Advice on a response that is compressed and has to be read.
const UNCOMPRESSED: &str = "; bodies are decompressed where the request accepts compression, by \
                                       `options.accept_encoding` or its own header `accept-encoding`";

/// The beginning of a body, for error messages; what controls a terminal or the direction of writing as escapes.
pub(crate) fn excerpt(body: &[u8]) -> String {
    const BYTES_MAX: usize = 200;
    if body.is_empty() {
        return "an empty text".to_owned();
    }
    let mut shown = String::from("`");
    for c in String::from_utf8_lossy(&body[..body.len().min(BYTES_MAX)]).chars() {
        match is_control(c) {
            true => shown.extend(c.escape_default()),
            false => shown.push(c),
        }
    }
    shown.push_str(if body.len() > BYTES_MAX { "`…" } else { "`" });
    shown
}

/// The property of a message of MQTT that stands for a header of this name.
fn message_header(properties: &[u8], name: &str) -> Option<Value> {
    let found = proto::mqtt::message_properties(properties);
    match name {
        "content_type" => found.content_type.map(text_value),
        "response_topic" => found.response_topic.map(text_value),
        "correlation" => found.correlation.map(|bytes| match std::str::from_utf8(bytes) {
            Ok(_) => text_value(bytes),
            Err(_) => Value::Bytes(bytes.into()),
        }),
        "expires" => found.expiry_s.map(|seconds| Value::Int(i64::from(seconds))),
        _ => None,
    }
}

fn text_value(bytes: &[u8]) -> Value {
    Value::Text(String::from_utf8_lossy(bytes).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_keep_their_type() {
        let received = ReceivedMessage::message(
            br#"{"n": 12, "t": "a\u00e9", "o": {"a":1}, "z": null, "u": 18446744073709551615}"#,
        );
        let value = |name: &str| received.value(&Source::Pointer(vec![name.to_owned()]));
        assert_eq!(value("n"), Some(Value::Int(12)));
        assert_eq!(value("t"), Some(Value::text("a\u{e9}")));
        assert_eq!(value("o"), Some(Value::text(r#"{"a":1}"#)));
        assert_eq!(value("z"), Some(Value::Nothing));
        assert_eq!(value("x"), None);
        assert_eq!(value("u"), Some(Value::unsigned(u64::MAX)));
        assert_eq!(received.count(&Source::Pointer(vec!["u".to_owned()])), Some(u64::MAX));
    }

    #[test]
    fn bodies_are_shown_as_they_are() {
        for (body, expected) in [
            (&b"{\"id\": 7}\r\n"[..], "`{\"id\": 7}\\r\\n`"),
            ("größe\t\u{1}".as_bytes(), "`größe\\t\\u{1}`"),
            ("a\u{202e}b".as_bytes(), "`a\\u{202e}b`"),
            (&b""[..], "an empty text"),
        ] {
            assert_eq!(excerpt(body), expected);
        }
        assert!(excerpt(&[b'x'; 201]).ends_with("x`…"));
    }

    #[test]
    fn a_copy_is_the_same_message() {
        let labels = [
            Label::Nothing,
            Label::Event { name: b"said", id: b"7" },
            Label::Frame(b"\x03abc"),
            Label::Channel { topic: b"room", event: b"said" },
            Label::Published { topic: b"a/b", retained: true, properties: b"\x26" },
        ];
        for label in labels {
            let received = ReceivedMessage::labelled(b"abc", label);
            let copy = OwnedMessage::new(&received);
            assert_eq!(format!("{:?}", copy.received()), format!("{received:?}"));
            let label = copy.bytes() - 3;
            assert_eq!(label > 0, !matches!(received.label, Label::Nothing));
        }
    }

    #[test]
    fn equality_is_by_value() {
        assert!(json_equals(br#""home""#, b"home"));
        assert!(json_equals(b"1.0", b"1"));
        assert!(json_equals(b"true", b"true"));
        assert!(!json_equals(br#""1""#, b"1.0"));
        assert!(!json_equals(b"nul", b"null"));
        assert!(!json_equals(b"12345678901234567890", b"12345678901234567891"));
        assert!(json_equals(b"123456789012345678901", b"1.23456789012345678901e20"));
        assert!(!json_equals(b"123456789012345678901", b"123456789012345678902"));
    }
}
