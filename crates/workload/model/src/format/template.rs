//! Lines that follow a pattern of variables and text between them, as in nginx's `log_format`.

use std::borrow::Cow;

use memchr::memmem::Finder;

use super::client::Client;
use super::{stamp, status};
use crate::entry::{Entry, Meaning, request_problem};
use crate::line_problems::ProblemKind;
use crate::time::Form;

/// The part of a line behind address, identity and user.
const COMMON: &str = "[$time_local] \"$request\" $status $body_bytes_sent";
const COMBINED: &str = " \"$http_referer\" \"$http_user_agent\"";
/// Most variables of a format.
const PARTS_MAX: usize = 64;

/// A pattern.
#[derive(Debug, Clone)]
pub(crate) struct Template {
    parts: Vec<TemplateField>,
    /// The text before the first variable.
    before: Vec<u8>,
    /// The client is before that, as in common logs.
    client: bool,
    /// Number of parts after which a line may end.
    needed: usize,
    /// Text behind the last part is skipped.
    open: bool,
    name: &'static str,
}

#[derive(Debug, Clone)]
struct TemplateField {
    meaning: Meaning,
    form: Form,
    /// The text after it; empty at the end of the line.
    until: Finder<'static>,
    /// It is in quotes, where a backslash escapes.
    quoted: bool,
}

impl Template {
    /// Combined, and common, which ends earlier; more text may follow.
    pub(crate) fn combined() -> Template {
        let mut template = Template::new(&format!("{COMMON}{COMBINED}"))
            .expect("the text is a pattern of the right form");
        template.needed = 4;
        template.client = true;
        template.open = true;
        template.name = "combined or common log";
        template
    }

    /// The pattern of a `log_format`.
    ///
    /// # Errors
    /// The fault of the template.
    pub(crate) fn new(text: &str) -> Result<Template, String> {
        let mut rest = text;
        let before = rest.find('$').ok_or("no variable such as $remote_addr")?;
        let opening = rest.as_bytes()[..before].to_vec();
        rest = &rest[before..];
        let mut parts: Vec<TemplateField> = Vec::new();
        let mut last = opening.last().copied();
        while let Some(named) = rest.strip_prefix('$') {
            let braced = named.strip_prefix('{');
            let inner = braced.unwrap_or(named);
            let end =
                inner.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(inner.len());
            let (name, mut after) = inner.split_at(end);
            if braced.is_some() {
                after = after.strip_prefix('}').ok_or("a `${` has no `}`")?;
            }
            if name.is_empty() {
                return Err("a `$` without a name".to_owned());
            }
            let next = after.find('$').unwrap_or(after.len());
            let (literal, beyond) = after.split_at(next);
            if literal.is_empty() && !beyond.is_empty() {
                return Err(format!("no text separates ${name} from the next variable"));
            }
            let (meaning, form) = variable(name);
            parts.push(TemplateField {
                meaning,
                form,
                quoted: last == Some(b'"') && literal.starts_with('"'),
                until: Finder::new(literal.as_bytes()).into_owned(),
            });
            last = literal.as_bytes().last().copied();
            rest = beyond;
        }
        if parts.len() > PARTS_MAX {
            return Err(format!("more than {PARTS_MAX} variables"));
        }
        let has = |wanted: &[Meaning]| parts.iter().any(|part| wanted.contains(&part.meaning));
        if !has(&[Meaning::Time]) {
            return Err("no time: $time_local, $time_iso8601 or $msec".to_owned());
        }
        if !has(&[Meaning::Request, Meaning::Target]) {
            return Err("no request: $request, $request_uri or $uri".to_owned());
        }
        Ok(Template {
            needed: parts.len(),
            parts,
            before: opening,
            client: false,
            open: false,
            name: "log_format",
        })
    }

    /// The template under this name, with any text behind it.
    pub(super) fn open(self, name: &'static str) -> Template {
        Template { open: true, name, ..self }
    }

    pub(crate) fn name(&self) -> String {
        self.name.to_owned()
    }

    /// Whether a line begins as common logs do: something, a time in brackets, a quote.
    pub(crate) fn looks_combined(line: &[u8]) -> bool {
        bracket(line).is_some_and(|(_, close)| line[close..].starts_with(b"] \""))
    }

    pub(crate) fn parse<'a>(&'a self, line: &'a [u8]) -> Result<Entry<'a>, ProblemKind> {
        let mut entry = Entry::default();
        let mut rest = line;
        if self.client {
            let line = line.trim_ascii_end();
            let (open, _) = bracket(line).ok_or(ProblemKind::Format)?;
            // A bracket has a blank before it.
            let client = Client::read(&line[..open - 1]).ok_or(ProblemKind::Format)?;
            let text = |part: &'a [u8]| Cow::Borrowed(if part == b"-" { &[][..] } else { part });
            entry.address = text(client.address);
            entry.user = text(client.user);
            entry.host = text(client.host.unwrap_or_default());
            rest = &line[open..];
        }
        rest = rest.strip_prefix(&self.before[..]).ok_or(ProblemKind::Format)?;
        for (number, part) in self.parts.iter().enumerate() {
            let literal = part.until.needle();
            let end = if literal.is_empty() {
                rest = rest.trim_ascii_end();
                Some(rest.len())
            } else if part.quoted {
                quoted_end(rest, literal)
            } else {
                part.until.find(rest)
            };
            match end {
                Some(end) => {
                    set(&mut entry, part, &rest[..end])?;
                    rest = &rest[end + literal.len()..];
                }
                // A common log ends where a combined one goes on.
                None if number + 1 == self.needed && !rest.is_empty() && !rest.contains(&b' ') => {
                    set(&mut entry, part, rest)?;
                    return Ok(entry);
                }
                None => return Err(ProblemKind::Format),
            }
        }
        if rest.is_empty() || self.open { Ok(entry) } else { Err(ProblemKind::Format) }
    }
}

/// The place of the brackets around the time of a common log: the first ones after a blank that may contain a date
/// and a time. Addresses have brackets too.
fn bracket(line: &[u8]) -> Option<(usize, usize)> {
    let mut opens = memchr::memmem::find_iter(line, b" [").map(|blank| blank + 1);
    opens.find_map(|open| {
        let close = open + memchr::memchr(b']', &line[open..])?;
        let inside = &line[open..close];
        (inside.contains(&b'/') && inside.contains(&b':')).then_some((open, close))
    })
}

/// The end of a quoted value: the first `literal` whose quote no backslash escapes.
fn quoted_end(text: &[u8], literal: &[u8]) -> Option<usize> {
    let mut at = 0;
    while let Some(found) = memchr::memchr2(b'"', b'\\', &text[at..]) {
        let place = at + found;
        if text[place] == b'\\' {
            at = place + 2;
            if at > text.len() {
                return None;
            }
        } else if text[place..].starts_with(literal) {
            return Some(place);
        } else {
            // Servers that do not escape leave bare quotes inside.
            at = place + 1;
        }
    }
    None
}

fn set<'a>(
    entry: &mut Entry<'a>,
    part: &'a TemplateField,
    value: &'a [u8],
) -> Result<(), ProblemKind> {
    if value == b"-" && part.meaning != Meaning::Request {
        entry.lacks_request |= part.meaning == Meaning::Target;
        return Ok(());
    }
    let borrowed = Cow::Borrowed(value);
    match &part.meaning {
        Meaning::Time => entry.time = Some(stamp(value, part.form)?),
        Meaning::Request => {
            if !entry.set_request(borrowed) {
                return Err(request_problem(value));
            }
        }
        Meaning::Address => entry.address = borrowed,
        Meaning::AddressPort => entry.address = Cow::Borrowed(super::without_port(value)),
        Meaning::Agent => entry.agent = borrowed,
        Meaning::User => entry.user = borrowed,
        Meaning::Method => entry.method = borrowed,
        Meaning::SmallMethod => entry.method = Cow::Owned(value.to_ascii_uppercase()),
        Meaning::Target => entry.target = borrowed,
        Meaning::Query => entry.query = borrowed,
        Meaning::Host => entry.host = borrowed,
        Meaning::Referer => entry.referer = borrowed,
        Meaning::Status => {
            entry.status = status(value);
            // Envoy writes 0 for an answer that there was not.
            if entry.status == 0 && value != b"0" {
                return Err(ProblemKind::Format);
            }
        }
        Meaning::Other(name) => entry.others.push((name, borrowed)),
        Meaning::Date | Meaning::Clock | Meaning::Nothing => {}
    }
    Ok(())
}

/// The meaning of a variable of nginx's (ngx_http_core_module, ngx_http_log_module).
fn variable(name: &str) -> (Meaning, Form) {
    let meaning = match name {
        "time_local" => return (Meaning::Time, Form::Common),
        "time_iso8601" | "msec" => Meaning::Time,
        "remote_addr" | "realip_remote_addr" => Meaning::Address,
        "remote_user" => Meaning::User,
        "request" => Meaning::Request,
        "request_method" => Meaning::Method,
        "request_uri" | "uri" | "document_uri" => Meaning::Target,
        "args" | "query_string" => Meaning::Query,
        "status" => Meaning::Status,
        "host" | "http_host" | "server_name" => Meaning::Host,
        "http_referer" => Meaning::Referer,
        "http_user_agent" => Meaning::Agent,
        "body_bytes_sent" | "bytes_sent" => Meaning::Nothing,
        name => Meaning::Other(name.to_owned()),
    };
    (meaning, Form::Any)
}
