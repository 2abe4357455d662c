//! A run's HTTP requests as Tsung logs them with `dumptraffic="protocol"` (its manual, "File
//! structure"; checked against the log of version 1.7.0).

use std::collections::HashMap;

use record::schema::RunInfo;
use record::{Measurement, Outcome};

/// Properties of a request besides its measure.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TsungRequest {
    /// The measure's name.
    pub measure: String,
    /// Empty: none.
    pub tag: String,
    /// Empty: none.
    pub transaction: String,
    /// For a request with a match that can fail: whether that acts where its pattern is found.
    pub acts_on_match: Option<bool>,
}

/// Columns that all rows of one measure share.
#[derive(Debug)]
struct Line {
    method: String,
    host: String,
    url: String,
    request: TsungRequest,
}

/// Makes a log's lines.
#[derive(Debug)]
pub struct TsungLog {
    started_unix_ns: u64,
    /// Lines by measure; `None`: it is no HTTP request.
    lines: Vec<Option<Line>>,
}

impl TsungLog {
    /// The log's first line.
    pub const HEADER: &'static str = "#date;pid;id;http method;host;URL;HTTP status;size;duration;\
                                      transaction;match;error;tag\n";

    /// For a run; `known`: its requests, where they are known. Else every measure that is called
    /// like a request (`GET /path`) is one.
    pub fn new(info: &RunInfo, known: Option<Vec<TsungRequest>>) -> TsungLog {
        let known: Option<HashMap<String, TsungRequest>> =
            known.map(|all| all.into_iter().map(|r| (r.measure.clone(), r)).collect());
        let host = host_of(&info.target).unwrap_or("-").to_owned();
        let lines = info.measures.iter().map(|measure| {
            let request = match &known {
                Some(known) => known.get(&measure.name)?.clone(),
                None => TsungRequest::default(),
            };
            if measure.kind != "request" {
                return None;
            }
            let (method, url) = measure.name.split_once(' ')?;
            if method.is_empty() || !method.bytes().all(|byte| byte.is_ascii_uppercase()) {
                return None;
            }
            let url = match request.tag.as_str() {
                "" => url,
                tag => url.strip_suffix(&format!(" #{tag}")).unwrap_or(url),
            };
            let (host, path) = match host_of(url) {
                Some(other) => (other.to_owned(), path_of(url)),
                None => (host.clone(), url),
            };
            Some(Line {
                method: method.to_ascii_lowercase(),
                host,
                url: path.replace("${raw(", "%%_").replace(")}", "%%"),
                request,
            })
        });
        TsungLog { started_unix_ns: info.started_unix_ns, lines: lines.collect() }
    }

    /// Whether a row is in the log: a request that was answered.
    pub fn has(&self, row: &Measurement) -> bool {
        row.status > 0 && self.line_of(row).is_some()
    }

    fn line_of(&self, row: &Measurement) -> Option<&Line> {
        self.lines.get(usize::from(row.measure))?.as_ref()
    }

    /// The row's line; empty where it has none.
    pub fn line(&self, row: &Measurement) -> String {
        let Some(line) = self.line_of(row) else {
            return String::new();
        };
        let Line { method, host, url, request } = line;
        let id = row.user + 1;
        let date_us = (self.started_unix_ns + row.done_ns) / 1000;
        let date_s = date_us / 1_000_000;
        let date_us = date_us % 1_000_000;
        let duration_ms = row.service_ns() as f64 / 1e6;
        let status = row.status;
        let size = row.bytes_in;
        let transaction = match request.transaction.as_str() {
            "" => "-".to_owned(),
            name => format!("tr_{name}"),
        };
        let found = match (row.outcome, request.acts_on_match) {
            (Outcome::Check, Some(true)) => "match",
            (Outcome::Check, Some(false)) => "nomatch",
            _ => "",
        };
        let tag = &request.tag;
        format!(
            "{date_s}.{date_us:06};<0.{id}.0>;{id};{method};{host};{url};{status};{size};\
             {duration_ms:.3};{transaction};{found};;{tag}\n"
        )
    }
}

/// The host of a whole URL, without its port.
fn host_of(url: &str) -> Option<&str> {
    let (_, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', ',', ' ']).next()?;
    match authority.strip_prefix('[') {
        Some(inner) => inner.split(']').next(),
        None => authority.split(':').next(),
    }
}

fn path_of(url: &str) -> &str {
    let after = url.find("://").map_or(0, |at| at + 3);
    let end = url[after..].find(['/', '?']);
    end.map_or("/", |at| &url[after + at..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::schema::MeasureInfo;

    fn row(measure: u16, outcome: Outcome) -> Measurement {
        Measurement {
            due_ns: 0,
            sent_ns: 1_000_000,
            done_ns: 7_651_000,
            user: 10,
            measure,
            session: 0,
            loop_id: 0,
            outcome,
            status: 200,
            weight: 1,
            bytes_out: 0,
            bytes_in: 91,
        }
    }

    fn info(measures: &[(&str, &str)]) -> RunInfo {
        let mut info = crate::sample::info();
        info.target = "http://127.0.0.1:8080".to_owned();
        info.started_unix_ns = 1_795_289_381_000_000_000;
        info.measures = measures.iter().map(|(name, kind)| MeasureInfo::new(name, kind)).collect();
        info
    }

    #[test]
    fn lines_are_those_of_tsung() {
        let request = TsungRequest {
            measure: "GET /a?x=${raw(sub_id)} #tg".to_owned(),
            tag: "tg".to_owned(),
            transaction: "tr".to_owned(),
            acts_on_match: Some(true),
        };
        let info = info(&[("connect", "connect"), (&request.measure, "request")]);
        let log = TsungLog::new(&info, Some(vec![request]));
        assert!(!log.has(&row(0, Outcome::Ok)));
        // As the log of Tsung 1.7.0 has them, but for the variable's value.
        assert_eq!(
            log.line(&row(1, Outcome::Check)),
            "1795289381.007651;<0.11.0>;11;get;127.0.0.1;/a?x=%%_sub_id%%;200;91;6.651;tr_tr;\
             match;;tg\n"
        );
        assert!(log.line(&row(1, Outcome::Ok)).ends_with(";tr_tr;;;tg\n"));
    }

    #[test]
    fn measures_that_look_like_requests_are_some() {
        let info = info(&[
            ("GET /x", "request"),
            ("op=games", "request"),
            ("POST https://b:1/y?z", "request"),
        ]);
        let log = TsungLog::new(&info, None);
        assert!(log.has(&row(0, Outcome::Ok)));
        assert!(!log.has(&row(1, Outcome::Ok)));
        assert!(log.line(&row(2, Outcome::Ok)).contains(";post;b;/y?z;200;"));
        let unanswered = Measurement { status: 0, ..row(0, Outcome::Refused) };
        assert!(!log.has(&unanswered));
    }
}
