//! JSON lines: an object a line, whose names are the log's own.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::{FieldMap, meaning, stamp};
use crate::entry::{Entry, Meaning, request_problem};
use crate::line_problems::ProblemKind;
use crate::time::Form;

/// Name of the format.
pub(crate) const NAME: &str = "JSON lines";
/// Longer names inside other objects are skipped: a line of many such names would take far more
/// memory than it has bytes.
const NAME_BYTES_MAX: usize = 256;

/// Names that servers and collectors give these things, tried in this order; those with points are of nginx's and
/// Apache's logs in the Elastic Common Schema, and of Caddy.
const GUESSES: &[(Meaning, &[&str])] = &[
    (
        Meaning::Time,
        &[
            "time",
            "timestamp",
            "@timestamp",
            "ts",
            "time_iso8601",
            "time_local",
            "msec",
            "date",
            "datetime",
            "start_time",
        ],
    ),
    (
        Meaning::Address,
        &[
            "remote_addr",
            "client_ip",
            "clientip",
            "remote_ip",
            "ip",
            "client",
            "address",
            "ClientHost",
            "remote_host",
            "host_ip",
            "client.ip",
            "source.ip",
            "client.address",
            "source.address",
            "request.client_ip",
            "request.remote_ip",
        ],
    ),
    (
        Meaning::Agent,
        &[
            "http_user_agent",
            "user_agent",
            "agent",
            "useragent",
            "UserAgent",
            "request_User-Agent",
            "user_agent.original",
            "request.headers.User-Agent",
        ],
    ),
    (Meaning::User, &["remote_user", "user", "auth", "username", "ClientUsername"]),
    (
        Meaning::Method,
        &[
            "request_method",
            "method",
            "verb",
            "RequestMethod",
            "http_method",
            "http.request.method",
            "request.method",
        ],
    ),
    (
        Meaning::Target,
        &[
            "request_uri",
            "uri",
            "url",
            "path",
            "target",
            "RequestPath",
            "request_path",
            "url.original",
            "url.path",
            "request.uri",
        ],
    ),
    (Meaning::Query, &["query_string", "args", "query", "url.query"]),
    (Meaning::Request, &["request", "request_line"]),
    (
        Meaning::Status,
        &[
            "status",
            "response",
            "code",
            "status_code",
            "DownstreamStatus",
            "http_status",
            "http.response.status_code",
        ],
    ),
    (
        Meaning::Host,
        &["http_host", "host", "vhost", "server_name", "RequestHost", "url.domain", "request.host"],
    ),
    (
        Meaning::Referer,
        &[
            "http_referer",
            "referer",
            "referrer",
            "request_Referer",
            "http.request.referrer",
            "request.headers.Referer",
        ],
    ),
];

/// Which name means what.
#[derive(Debug, Clone)]
pub(crate) struct Names {
    /// Named by the user: these only, where a meaning has one.
    named: Vec<(String, Meaning)>,
}

/// Whether a line begins and ends as an object.
pub(super) fn looks(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    line.starts_with(b"{") && line.ends_with(b"}")
}

impl Names {
    pub(super) fn new(map: &FieldMap) -> Result<Names, String> {
        let named = map.iter().map(|(means, name)| {
            let meaning = meaning(means).ok_or_else(|| format!("there is no meaning {means:?}"))?;
            Ok((name.clone(), meaning))
        });
        let names = Names { named: named.collect::<Result<_, String>>()? };
        match (names.named_by_user(&Meaning::Date), names.named_by_user(&Meaning::Clock)) {
            (Some(_), None) => Err("a date needs a clock: --field clock=NAME".to_owned()),
            (None, Some(_)) => Err("a clock needs a date: --field date=NAME".to_owned()),
            _ => Ok(names),
        }
    }

    /// The user's name for this meaning.
    fn named_by_user(&self, meaning: &Meaning) -> Option<&str> {
        let named = self.named.iter().find(|(_, means)| means == meaning)?;
        Some(&named.0)
    }

    pub(super) fn parse<'a>(&self, line: &'a [u8]) -> Result<Entry<'a>, ProblemKind> {
        let object: Map<String, Value> =
            serde_json::from_slice(line).map_err(|_| ProblemKind::Format)?;
        let mut entry = Entry::default();
        // Objects inside are named by dots, as in `request.method`.
        let mut flat = Vec::new();
        flatten("", object, &mut flat);
        let value = |name: &str| flat.iter().find(|(own, _)| own == name).map(|found| &found.1);
        let parted = self.named_by_user(&Meaning::Date).zip(self.named_by_user(&Meaning::Clock));
        if let Some((date, clock)) = parted
            && let Some((date, clock)) = value(date).zip(value(clock))
        {
            entry.time = Some(stamp(format!("{date} {clock}").as_bytes(), Form::Any)?);
        }
        for (wanted, guesses) in GUESSES {
            let place = match self.named_by_user(wanted) {
                Some(name) => flat.iter().position(|(own, _)| own == name),
                // No name is guessed for what was named in two parts.
                None if parted.is_some() && *wanted == Meaning::Time => None,
                None => {
                    guesses.iter().find_map(|guess| flat.iter().position(|(own, _)| own == guess))
                }
            };
            let Some(place) = place else { continue };
            // What is used twice, as a key of sessions too, stays among the others.
            let text = flat[place].1.clone().into_bytes();
            if text.is_empty() || text == b"-" {
                entry.lacks_request |= matches!(wanted, Meaning::Request | Meaning::Target);
                continue;
            }
            let text = Cow::Owned(text);
            match wanted {
                Meaning::Time => entry.time = Some(stamp(&text, Form::Any)?),
                Meaning::Address => entry.address = text,
                Meaning::Agent => entry.agent = text,
                Meaning::User => entry.user = text,
                Meaning::Method => entry.method = text,
                Meaning::Target => entry.target = text,
                Meaning::Query => entry.query = text,
                // Beside a target it counts only where it was named.
                Meaning::Request
                    if entry.target.is_empty() || self.named_by_user(wanted).is_some() =>
                {
                    let problem = request_problem(&text);
                    let is_one = entry.set_request_or_target(text);
                    is_one.then_some(()).ok_or(problem)?;
                }
                Meaning::Status => entry.status = super::status(&text),
                Meaning::Host => entry.host = text,
                Meaning::Referer => entry.referer = text,
                _ => {}
            }
        }
        entry.named = flat;
        Ok(entry)
    }
}

/// The names that a line has; none where it is no object.
pub(super) fn names(line: &[u8]) -> Vec<String> {
    let mut flat = Vec::new();
    if let Ok(object) = serde_json::from_slice(line) {
        flatten("", object, &mut flat);
    }
    flat.into_iter().map(|(name, _)| name).collect()
}

/// `prefix` is empty, or ends with a point.
fn flatten(prefix: &str, object: Map<String, Value>, flat: &mut Vec<(String, String)>) {
    for (name, value) in object {
        if prefix.is_empty() {
            put(name, value, flat);
        } else if prefix.len() + name.len() <= NAME_BYTES_MAX {
            put(format!("{prefix}{name}"), value, flat);
        }
    }
}

fn put(name: String, value: Value, flat: &mut Vec<(String, String)>) {
    match value {
        Value::String(text) => flat.push((name, text)),
        Value::Number(number) => flat.push((name, number.to_string())),
        Value::Bool(truth) => flat.push((name, truth.to_string())),
        Value::Object(inner) => flatten(&format!("{name}."), inner, flat),
        // Programs written in Go have a list of each header's values, of which there is mostly one.
        Value::Array(list) => {
            if let Ok([only]) = <[Value; 1]>::try_from(list) {
                put(name, only, flat);
            }
        }
        Value::Null => {}
    }
}
