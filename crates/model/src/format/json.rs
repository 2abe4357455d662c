//! JSON lines: an object a line, whose names are the log's own.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::{FieldMap, meaning, stamp};
use crate::entry::{Entry, Meaning};
use crate::faults::Kind;
use crate::time::Form;

/// Names that servers and collectors give these things, tried in this order.
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
        ],
    ),
    (Meaning::User, &["remote_user", "user", "auth", "username"]),
    (
        Meaning::Method,
        &[
            "request_method",
            "method",
            "verb",
            "RequestMethod",
            "http_method",
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
        ],
    ),
    (Meaning::Query, &["query_string", "args", "query"]),
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
        ],
    ),
    (
        Meaning::Host,
        &["http_host", "host", "vhost", "server_name"],
    ),
    (Meaning::Referer, &["http_referer", "referer", "referrer"]),
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
            let meaning = meaning(means).ok_or_else(|| format!("no field means {means:?}"))?;
            Ok((name.clone(), meaning))
        });
        Ok(Names {
            named: named.collect::<Result<_, String>>()?,
        })
    }

    pub(super) fn parse<'a>(&self, line: &'a [u8]) -> Result<Entry<'a>, Kind> {
        let object: Map<String, Value> = serde_json::from_slice(line).map_err(|_| Kind::Format)?;
        let mut entry = Entry::default();
        // Objects inside are named by dots, as in `request.method`.
        let mut flat = Vec::new();
        flatten(None, object, &mut flat);
        for (wanted, guesses) in GUESSES {
            let place = match self.named.iter().find(|(_, means)| means == wanted) {
                Some((name, _)) => flat.iter().position(|(own, _)| own == name),
                None => guesses
                    .iter()
                    .find_map(|guess| flat.iter().position(|(own, _)| own == guess)),
            };
            let Some(place) = place else { continue };
            // What is used twice, as a key of sessions too, stays among the others.
            let text = flat[place].1.clone().into_bytes();
            if text.is_empty() || text == b"-" {
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
                Meaning::Request if entry.target.is_empty() && !entry.set_request(text.clone()) => {
                    return Err(Kind::Request);
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

fn flatten(prefix: Option<&str>, object: Map<String, Value>, flat: &mut Vec<(String, String)>) {
    for (name, value) in object {
        let name = match prefix {
            Some(prefix) => format!("{prefix}.{name}"),
            None => name,
        };
        match value {
            Value::String(text) => flat.push((name, text)),
            Value::Number(number) => flat.push((name, number.to_string())),
            Value::Bool(truth) => flat.push((name, truth.to_string())),
            // One level: deeper ones hold nothing that this looks for.
            Value::Object(inner) if prefix.is_none() => flatten(Some(&name), inner, flat),
            Value::Object(_) | Value::Array(_) | Value::Null => {}
        }
    }
}
