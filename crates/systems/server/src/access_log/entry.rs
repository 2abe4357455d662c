//! One line of an access log: a request and its response.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::time::Duration;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

/// Longest field of a line, in bytes; longer ones are cut.
const FIELD_MAX: usize = 2048;

/// How lines are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// The combined format of Apache and nginx; the user takes the place of the authenticated user.
    Combined,
    /// One JSON object per line, with named fields and microseconds.
    Json,
}

/// A request and its response.
#[derive(Debug, Clone)]
pub struct Entry<'a> {
    /// When the request came, in milliseconds since 1970.
    pub at_ms: f64,
    /// Time from then to the end of the response.
    pub took: Duration,
    /// Address of the client.
    pub peer: SocketAddr,
    /// Method of the request.
    pub method: &'a str,
    /// Path and query.
    pub uri: &'a str,
    /// `HTTP/1.1` or `HTTP/1.0`.
    pub version: &'static str,
    /// Status of the response.
    pub status: u16,
    /// Bytes of the response's body.
    pub bytes: u64,
    /// `Referer`.
    pub referer: Option<&'a str>,
    /// `User-Agent`.
    pub agent: Option<&'a str>,
    /// A field of the system's own, only in JSON.
    pub label: Label<'a>,
    /// User who is known to have sent it.
    pub user: Option<&'a str>,
}

/// A field with its name; without a name there is no such field.
#[derive(Debug, Clone, Copy)]
pub struct Label<'a>(pub Option<(&'static str, Option<&'a str>)>);

impl Serialize for Label<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(usize::from(self.0.is_some())))?;
        if let Some((name, value)) = &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

/// A line as JSON.
#[derive(Debug, Serialize)]
struct Line<'a> {
    time: String,
    remote_addr: String,
    method: &'a str,
    uri: &'a str,
    protocol: &'static str,
    status: u16,
    bytes: u64,
    duration_s: f64,
    referer: Option<&'a str>,
    user_agent: Option<&'a str>,
    #[serde(flatten)]
    label: Label<'a>,
    user: Option<&'a str>,
}

impl Entry<'_> {
    /// The line, with its line feed.
    pub(super) fn line(&self, format: LogFormat) -> String {
        match format {
            LogFormat::Combined => self.combined(),
            LogFormat::Json => self.json(),
        }
    }

    fn combined(&self) -> String {
        let user = self.user.filter(|user| !user.is_empty());
        let mut line = format!("{} - ", self.peer.ip());
        escape(&mut line, user.unwrap_or("-"));
        let time = Moment::from_unix_ms(self.at_ms).common();
        write!(line, " [{time}] \"{} ", self.method).expect("a string takes any text");
        escape(&mut line, self.uri);
        write!(line, " {}\" {} {} \"", self.version, self.status, self.bytes)
            .expect("a string takes any text");
        escape(&mut line, self.referer.unwrap_or("-"));
        line.push_str("\" \"");
        escape(&mut line, self.agent.unwrap_or("-"));
        line.push_str("\"\n");
        line
    }

    fn json(&self) -> String {
        let line = Line {
            time: Moment::from_unix_ms(self.at_ms).iso(),
            remote_addr: self.peer.ip().to_string(),
            method: self.method,
            uri: cut(self.uri),
            protocol: self.version,
            status: self.status,
            bytes: self.bytes,
            duration_s: self.took.as_micros() as f64 / 1e6,
            referer: self.referer.map(cut),
            user_agent: self.agent.map(cut),
            label: self.label,
            user: self.user.filter(|user| !user.is_empty()),
        };
        let mut text = serde_json::to_string(&line).expect("texts and numbers are JSON");
        text.push('\n');
        text
    }
}

fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(FIELD_MAX)]
}

/// Escapes as Apache does: quotes, backslashes, and bytes other than printable ASCII as `\xhh`.
fn escape(line: &mut String, text: &str) {
    for byte in cut(text).bytes() {
        match byte {
            b'"' => line.push_str("\\\""),
            b'\\' => line.push_str("\\\\"),
            b' '..=b'~' => line.push(char::from(byte)),
            _ => write!(line, "\\x{byte:02x}").expect("a string takes any text"),
        }
    }
}

/// A time in UTC, by its parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Moment {
    year: i64,
    /// From 1.
    month: usize,
    day: i64,
    second: i64,
    micros: i64,
}

impl Moment {
    /// The civil date by Howard Hinnant's `civil_from_days` (2013), for days since 1970.
    fn from_unix_ms(at_ms: f64) -> Moment {
        let micros = (at_ms * 1000.0).round().max(0.0) as i64;
        let days = micros / 86_400_000_000;
        let micros = micros % 86_400_000_000;
        let shifted = days + 719_468;
        let era = shifted / 146_097;
        let of_era = shifted % 146_097;
        let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year + year / 4 - year / 100);
        let month = (5 * of_year + 2) / 153;
        let day = of_year - (153 * month + 2) / 5 + 1;
        let month = if month < 10 { month + 3 } else { month - 9 };
        Moment {
            year: year + era * 400 + i64::from(month <= 2),
            // 1 to 12.
            month: month as usize,
            day,
            second: micros / 1_000_000,
            micros: micros % 1_000_000,
        }
    }

    fn clock(self) -> (i64, i64, i64) {
        (self.second / 3600, self.second / 60 % 60, self.second % 60)
    }

    /// `21/Nov/2026:21:55:53 +0000`
    fn common(self) -> String {
        const MONTHS: [&str; 12] =
            ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
        let ((hour, minute, second), month) = (self.clock(), MONTHS[self.month - 1]);
        let day = self.day;
        let year = self.year;
        format!("{day:02}/{month}/{year:04}:{hour:02}:{minute:02}:{second:02} +0000")
    }

    /// `2026-11-21T21:55:53.012345Z` (RFC 3339).
    fn iso(self) -> String {
        let ((hour, minute, second), micros) = (self.clock(), self.micros);
        let year = self.year;
        let month = self.month;
        let day = self.day;
        format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}Z")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry<'a>() -> Entry<'a> {
        Entry {
            at_ms: 1_795_298_153_012.345,
            took: Duration::from_micros(1_500),
            peer: "127.0.0.1:9".parse().unwrap(),
            method: "GET",
            uri: "/a?b=\"c\"",
            version: "HTTP/1.1",
            status: 200,
            bytes: 43,
            referer: None,
            agent: Some("x\\y\u{e9}"),
            label: Label(Some(("publisher", Some("p")))),
            user: Some("u1"),
        }
    }

    #[test]
    fn a_line_in_each_format() {
        assert_eq!(
            entry().line(LogFormat::Combined),
            "127.0.0.1 - u1 [21/Nov/2026:21:55:53 +0000] \"GET /a?b=\\\"c\\\" HTTP/1.1\" 200 43 \
             \"-\" \"x\\\\y\\xc3\\xa9\"\n"
        );
        let line = entry().line(LogFormat::Json);
        assert!(line.ends_with("}\n"));
        let value: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(value["time"], "2026-11-21T21:55:53.012345Z");
        assert_eq!(value["duration_s"], 0.0015);
        assert_eq!(value["uri"], "/a?b=\"c\"");
        assert_eq!((&value["publisher"], &value["user"]), (&"p".into(), &"u1".into()));
        assert!(value["referer"].is_null());
    }

    #[test]
    fn dates_match_the_calendar() {
        for (at_ms, date) in [
            (0.0, "1970-01-01T00:00:00.000000Z"),
            (951_782_400_000.0, "2000-02-29T00:00:00.000000Z"),
            (1_709_164_799_999.0, "2024-02-28T23:59:59.999000Z"),
            (4_107_542_400_000.0, "2100-03-01T00:00:00.000000Z"),
        ] {
            assert_eq!(Moment::from_unix_ms(at_ms).iso(), date);
        }
    }

    #[test]
    fn fields_are_bounded() {
        let long = "é".repeat(FIELD_MAX);
        let line = Entry { uri: &long, ..entry() }.line(LogFormat::Combined);
        assert!(line.len() < 4 * FIELD_MAX + 200, "{}", line.len());
    }
}
