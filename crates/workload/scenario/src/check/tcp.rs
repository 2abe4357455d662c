//! Plain TCP: the step, its framing, and payloads of bytes.

use crate::keys::FRAMING;
use plan::expr::binary::{Bytes, BytesPart, NumberForm};
use plan::expr::{Escape, Expr};
use plan::{EndpointId, MeasureKind, Op, Source, TcpOpen};
use proto::frame::{Counts, Delimiter, Framing, LengthField, Marks, Width};
use units::parse::UnitError;

use super::Checker;
use super::fields::Fields;
use super::program::Program;
use crate::document::node::{Entry, Node, Place};
use crate::document::suggest;

/// Longest header, and most that may stand before a length field, in bytes.
const HEADER_BYTES_MAX: u64 = 1024;
/// The length field without a fixed number of bytes.
const VARINT: &str = "varint";
/// Largest message of fixed size, in bytes.
const FIXED_BYTES_MAX: u64 = 16 << 20;

impl Checker<'_> {
    pub(super) fn tcp(&mut self, node: &Node, fields: &Fields<'_>, program: &mut Program) {
        program.has_ws = true;
        program.has_stream = true;
        program.protocol = None;
        program.call = None;
        let endpoint = if node.is_null() { Some(EndpointId(0)) } else { self.tcp_endpoint(node) };
        let framing = fields.get("framing").and_then(|node| self.framing(node));
        let records = self.records(fields);
        let measure = self.measure_from(fields, "as", "tcp", MeasureKind::Handshake);
        let timeout_ns = self.timeout(fields.get("timeout"));
        if let (Some(endpoint), Some(framing)) = (endpoint, framing) {
            let open = TcpOpen { endpoint, framing, records, measure, timeout_ns };
            program.push(Op::TcpOpen(Box::new(open)));
        }
    }

    fn tcp_endpoint(&mut self, node: &Node) -> Option<EndpointId> {
        let word = self.word(node, "`HOST:PORT`")?;
        let url =
            if word.text.contains("://") { word.text } else { format!("tcp://{}", word.text) };
        if !url.starts_with("tcp://") && !url.starts_with("tls://") {
            self.diagnostics
                .error("bad-url", &word.place, format!("`{url}` is not plain TCP"))
                .hint("write HOST:PORT, or tls://HOST:PORT");
            return None;
        }
        self.bare_endpoint(&url, &word.place)
    }

    fn framing(&mut self, node: &Node) -> Option<Framing> {
        if node.text() == Some("none") {
            let marks = Marks::Nothing;
            return Some(Framing { marks, header: 0 });
        }
        let fields = self.fields(node, &FRAMING, "`framing`")?;
        let header = self.small(&fields, "header")?;
        let written: Vec<&str> = ["length", "delimiter", "fixed"]
            .into_iter()
            .filter(|key| fields.get(key).is_some())
            .collect();
        let [mark] = written[..] else {
            self.diagnostics
                .error(
                    "bad-framing",
                    &node.place,
                    "`framing` needs exactly one way to delimit messages",
                )
                .hint("write one of `length`, `delimiter` and `fixed`, or `framing: none`");
            return None;
        };
        let of_length = ["endian", "at", "counts"];
        if let Some(place) = of_length.iter().find_map(|key| fields.key_place(key))
            && mark != "length"
        {
            self.diagnostics.error("bad-framing", place, "this needs a `length`");
        }
        let value = fields.get(mark)?;
        let marks = match mark {
            "length" if value.text() == Some(VARINT) => {
                if let Some(place) =
                    ["endian", "counts"].iter().find_map(|key| fields.key_place(key))
                {
                    self.diagnostics
                        .error("bad-framing", place, "a varint has neither `endian` nor `counts`")
                        .hint("it counts the bytes behind it");
                    return None;
                }
                Marks::Varint { at: self.small(&fields, "at")? }
            }
            "length" => Marks::Length(self.length_field(value, &fields)?),
            "delimiter" => Marks::Delimiter(self.delimiter(value)?),
            _ => Marks::Fixed(self.fixed(value)?),
        };
        Some(Framing { marks, header })
    }

    fn length_field(&mut self, node: &Node, fields: &Fields<'_>) -> Option<LengthField> {
        let width = self.choice(node, crate::keys::WIDTHS)?;
        let endian = fields.get_or_default("endian");
        let endian = endian.and_then(|node| self.choice(&node, &["big", "little"]))?;
        let counts = fields.get_or_default("counts");
        let counts = counts.and_then(|node| self.choice(&node, crate::keys::COUNTS))?;
        let at = self.small(fields, "at")?;
        Some(LengthField {
            width: *[Width::One, Width::Two, Width::Four, Width::Eight].get(width)?,
            little_endian: endian == 1,
            at,
            counts: [Counts::Rest, Counts::Payload, Counts::Frame][counts],
        })
    }

    fn small(&mut self, fields: &Fields<'_>, key: &str) -> Option<usize> {
        let node = fields.get_or_default(key)?;
        let count = self.up_to(&node, 0, HEADER_BYTES_MAX)?;
        Some(count as usize)
    }

    fn up_to(&mut self, node: &Node, min: u64, max: u64) -> Option<u64> {
        self.unit(node, "bad-count", "a number of bytes", |text| {
            let count = units::parse::count(text)?;
            let fits = (min..=max).contains(&count);
            fits.then_some(count).ok_or_else(|| UnitError {
                message: format!("{count} bytes are out of range"),
                hint: format!("write a number in {min}..={max}"),
            })
        })
    }

    fn delimiter(&mut self, node: &Node) -> Option<Delimiter> {
        let word = self.word(node, "the bytes between two messages")?;
        let delimiter = Delimiter::new(word.text.into_bytes());
        if delimiter.is_none() {
            self.diagnostics
                .error("empty", &word.place, "a delimiter has at least one byte")
                .hint("write it in double quotes: \"\\n\"");
        }
        delimiter
    }

    fn fixed(&mut self, node: &Node) -> Option<std::num::NonZeroUsize> {
        let count = self.up_to(node, 1, FIXED_BYTES_MAX)?;
        std::num::NonZeroUsize::new(count as usize)
    }

    /// `bytes`: a list of parts, `u32be: 5`.
    pub(super) fn bytes(&mut self, node: &Node, program: &Program) -> Option<Bytes> {
        let Some(items) = node.sequence() else {
            self.expected(node, "a list of parts (`[u8: 1, text: hello]`)");
            return None;
        };
        let mut bytes = Bytes::default();
        // Errors of all parts are reported, not only the first one's.
        let mut complete = Some(());
        for item in items {
            let done = match item.mapping() {
                Some([part]) => self.bytes_part(part, program, &mut bytes),
                _ => {
                    self.expected(item, "a part like `u32be: 5`");
                    None
                }
            };
            complete = complete.and(done);
        }
        complete.map(|()| bytes)
    }

    fn bytes_part(&mut self, part: &Entry, program: &Program, bytes: &mut Bytes) -> Option<()> {
        let value = &part.value;
        match part.key.as_str() {
            "text" => {
                let text = self.template(value, Escape::None, program)?;
                match text.as_static() {
                    Some(text) => bytes.push_fixed(text.as_bytes()),
                    None => bytes.parts.push(BytesPart::Text(text)),
                }
            }
            "json" => bytes.parts.push(BytesPart::Text(self.json(value, program)?)),
            "hex" => {
                let digits = self.unit(value, "bad-hex", "hexadecimal digits", hex)?;
                bytes.push_fixed(&digits);
            }
            name => {
                let Some(form) = NumberForm::parse(name) else {
                    self.unknown_form(name, &part.key_place);
                    return None;
                };
                let number = self.typed_template(value, program)?;
                let [plan::expr::TemplatePart::Expr(expr, _)] = &number.parts[..] else {
                    self.expected(value, "a number or a single `${…}`");
                    return None;
                };
                self.number_part(value, expr, form, bytes)?;
            }
        }
        Some(())
    }

    fn number_part(
        &mut self,
        node: &Node,
        expr: &Expr,
        form: NumberForm,
        bytes: &mut Bytes,
    ) -> Option<()> {
        let Expr::Const(value) = expr else {
            bytes.parts.push(BytesPart::Number(expr.clone(), form));
            return Some(());
        };
        let mut out = Vec::new();
        match form.write(value, &mut out) {
            Ok(()) => bytes.push_fixed(&out),
            Err(error) => {
                self.diagnostics.error("bad-number", &node.place, error.to_string());
                return None;
            }
        }
        Some(())
    }

    fn unknown_form(&mut self, name: &str, place: &Place) {
        let known = NumberForm::NAMES.iter().copied();
        let known = ["text", "json", "hex"].into_iter().chain(known);
        let hint = suggest::hint(name, "the parts are", known);
        self.diagnostics
            .error("unknown-key", place, format!("there is no kind of bytes `{name}`"))
            .hint_some(hint);
    }

    /// `u32be@4`: a number in a message, counted from its first byte; `u32be@-4`: from its end.
    pub(super) fn number_at(&mut self, text: &str, place: &Place) -> Option<Source> {
        let (name, at) = text.split_once('@').unwrap_or((text, ""));
        let Some(form) = NumberForm::parse(name) else {
            let hint = suggest::hint(name, "the numbers are", NumberForm::NAMES.iter().copied());
            self.diagnostics
                .error("bad-number", place, format!("`{text}` is not a number in a message"))
                .hint_some(hint);
            return None;
        };
        match at.parse::<i32>() {
            Ok(at) => Some(Source::Number { form, at }),
            Err(_) => {
                self.diagnostics
                    .error(
                        "bad-number",
                        place,
                        format!("`{at}` is not a position in a message"),
                    )
                    .hint(format!(
                        "write the number of bytes before it, {name}@4, or from it to the end: {name}@-4"
                    ));
                None
            }
        }
    }
}

/// Bytes as hexadecimal digits; blanks may stand between them.
fn hex(text: &str) -> Result<Vec<u8>, UnitError> {
    let bytes = units::from_hex(&text.replace(' ', ""));
    bytes.ok_or_else(|| UnitError {
        message: format!("`{text}` is not a sequence of bytes"),
        hint: "write two hexadecimal digits for each: 0d 0a".to_owned(),
    })
}
