//! The access log: a line for each request, in the combined format or as JSON.
//!
//! Lines are written by a thread of their own, whole lines at a time and at the end of the file,
//! so that several processes may share it. A file that was renamed or removed (rotation) is left,
//! and one by the same name begun. Lines that the disk cannot take are dropped and counted, never
//! waited for.

use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use serde::Serialize;

use server::metrics::Counter;

/// Lines that may wait for the disk.
const WAITING_MAX: usize = 64 * 1024;
/// Bytes written at a time, but for the last line.
const BATCH_BYTES: usize = 256 * 1024;
/// Longest field of a line, in bytes; longer ones are cut.
const FIELD_MAX: usize = 2048;

/// How lines are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// Apache's and nginx' combined format; the user stands where theirs have the authenticated
    /// one.
    Combined,
    /// A JSON object a line, with named fields and microseconds.
    Json,
}

/// A request and its response.
#[derive(Debug, Clone)]
pub(super) struct Served<'a> {
    /// When the request came, in milliseconds since 1970.
    pub(super) at_ms: f64,
    pub(super) took: Duration,
    pub(super) peer: SocketAddr,
    pub(super) method: &'a str,
    /// Path and query.
    pub(super) uri: &'a str,
    pub(super) version: &'static str,
    pub(super) status: u16,
    /// Of the body.
    pub(super) bytes: u64,
    pub(super) referer: Option<&'a str>,
    pub(super) agent: Option<&'a str>,
    pub(super) publisher: Option<&'a str>,
    pub(super) user: Option<&'a str>,
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
    publisher: Option<&'a str>,
    user: Option<&'a str>,
}

impl Served<'_> {
    /// The line, with its end.
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
        let time = Moment::of(self.at_ms).common();
        write!(line, " [{time}] \"{} ", self.method).expect("a string takes any text");
        escape(&mut line, self.uri);
        write!(
            line,
            " {}\" {} {} \"",
            self.version, self.status, self.bytes
        )
        .expect("a string takes any text");
        escape(&mut line, self.referer.unwrap_or("-"));
        line.push_str("\" \"");
        escape(&mut line, self.agent.unwrap_or("-"));
        line.push_str("\"\n");
        line
    }

    fn json(&self) -> String {
        let line = Line {
            time: Moment::of(self.at_ms).iso(),
            remote_addr: self.peer.ip().to_string(),
            method: self.method,
            uri: cut(self.uri),
            protocol: self.version,
            status: self.status,
            bytes: self.bytes,
            duration_s: self.took.as_micros() as f64 / 1e6,
            referer: self.referer.map(cut),
            user_agent: self.agent.map(cut),
            publisher: self.publisher,
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

/// As Apache escapes: what would end the field, or is no visible ASCII, as `\xhh`.
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

/// A time, taken apart as UTC.
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
    fn of(at_ms: f64) -> Moment {
        let micros = (at_ms * 1000.0).round().max(0.0) as i64;
        let (days, micros) = (micros / 86_400_000_000, micros % 86_400_000_000);
        let shifted = days + 719_468;
        let (era, of_era) = (shifted / 146_097, shifted % 146_097);
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
        const MONTHS: [&str; 12] = [
            "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
        ];
        let ((hour, minute, second), month) = (self.clock(), MONTHS[self.month - 1]);
        let (day, year) = (self.day, self.year);
        format!("{day:02}/{month}/{year:04}:{hour:02}:{minute:02}:{second:02} +0000")
    }

    /// `2026-11-21T21:55:53.012345Z` (RFC 3339).
    fn iso(self) -> String {
        let ((hour, minute, second), micros) = (self.clock(), self.micros);
        let (year, month, day) = (self.year, self.month, self.day);
        format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}Z")
    }
}

/// What became of the lines.
#[derive(Debug, Default)]
pub(super) struct LogCounts {
    pub(super) written: Counter,
    pub(super) dropped: Counter,
    /// Times that another file was begun.
    pub(super) reopened: Counter,
}

#[derive(Debug)]
enum Task {
    Line(String),
    End,
}

/// The serving threads' end of an access log.
#[derive(Debug)]
pub(super) struct AccessLog {
    pub(super) format: LogFormat,
    pub(super) counts: Arc<LogCounts>,
    tasks: SyncSender<Task>,
}

impl AccessLog {
    /// Opens the file, and starts the thread that writes.
    pub(super) fn start(path: &Path, format: LogFormat) -> io::Result<(Self, JoinHandle<()>)> {
        let (tasks, waiting) = sync_channel(WAITING_MAX);
        let counts = Arc::new(LogCounts::default());
        let mut file = LogFile::open(path.to_owned())?;
        let thread = std::thread::Builder::new().name("log".to_owned()).spawn({
            let counts = Arc::clone(&counts);
            move || while write_batch(&waiting, &mut file, &counts) {}
        })?;
        let log = Self {
            format,
            counts,
            tasks,
        };
        Ok((log, thread))
    }

    /// Has a line written, or drops it where too many wait.
    pub(super) fn write(&self, line: String) {
        if self.tasks.try_send(Task::Line(line)).is_err() {
            self.counts.dropped.add(1);
        }
    }

    /// Ends the thread when it has written what it was given. May wait for the disk.
    pub(super) fn end(&self) {
        // If it is gone, it has ended.
        let _ = self.tasks.send(Task::End);
    }
}

/// Writes what waits, at least a line; `false` when that was all.
fn write_batch(waiting: &Receiver<Task>, file: &mut LogFile, counts: &LogCounts) -> bool {
    let (mut text, mut lines) = (String::new(), 0);
    let mut task = waiting.recv().ok();
    let mut goes_on = true;
    loop {
        match task {
            Some(Task::Line(line)) => {
                text.push_str(&line);
                lines += 1;
            }
            Some(Task::End) | None => {
                goes_on = false;
                break;
            }
        }
        if text.len() >= BATCH_BYTES {
            break;
        }
        match waiting.try_recv() {
            Ok(next) => task = Some(next),
            Err(_) => break,
        }
    }
    if lines > 0 {
        match file.write(&text, counts) {
            Ok(()) => counts.written.add(lines),
            Err(_) => counts.dropped.add(lines),
        }
    }
    goes_on
}

/// The file, by its name.
#[derive(Debug)]
struct LogFile {
    path: PathBuf,
    file: File,
    /// The last write may have ended within a line.
    torn: bool,
}

impl LogFile {
    fn open(path: PathBuf) -> io::Result<LogFile> {
        let file = OpenOptions::new().append(true).create(true).open(&path)?;
        Ok(LogFile {
            path,
            file,
            torn: false,
        })
    }

    fn write(&mut self, text: &str, counts: &LogCounts) -> io::Result<()> {
        if !self.is_in_place() {
            *self = LogFile::open(self.path.clone())?;
            counts.reopened.add(1);
        }
        if self.torn {
            self.file.write_all(b"\n")?;
        }
        self.torn = true;
        self.file.write_all(text.as_bytes())?;
        self.torn = false;
        Ok(())
    }

    /// Whether the file by this name is still the one that is open.
    fn is_in_place(&self) -> bool {
        let place = |metadata: std::fs::Metadata| (metadata.dev(), metadata.ino());
        match (std::fs::metadata(&self.path), self.file.metadata()) {
            (Ok(named), Ok(open)) => place(named) == place(open),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn served<'a>() -> Served<'a> {
        Served {
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
            publisher: Some("p"),
            user: Some("u1"),
        }
    }

    #[test]
    fn a_line_in_each_format() {
        assert_eq!(
            served().line(LogFormat::Combined),
            "127.0.0.1 - u1 [21/Nov/2026:21:55:53 +0000] \"GET /a?b=\\\"c\\\" HTTP/1.1\" 200 43 \
             \"-\" \"x\\\\y\\xc3\\xa9\"\n"
        );
        let line = served().line(LogFormat::Json);
        assert!(line.ends_with("}\n"));
        let value: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(value["time"], "2026-11-21T21:55:53.012345Z");
        assert_eq!(value["duration_s"], 0.0015);
        assert_eq!(value["uri"], "/a?b=\"c\"");
        assert_eq!(
            (&value["publisher"], &value["user"]),
            (&"p".into(), &"u1".into())
        );
        assert!(value["referer"].is_null());
    }

    #[test]
    fn dates_on_paper() {
        for (at_ms, date) in [
            (0.0, "1970-01-01T00:00:00.000000Z"),
            (951_782_400_000.0, "2000-02-29T00:00:00.000000Z"),
            (1_709_164_799_999.0, "2024-02-28T23:59:59.999000Z"),
            (4_107_542_400_000.0, "2100-03-01T00:00:00.000000Z"),
        ] {
            assert_eq!(Moment::of(at_ms).iso(), date);
        }
    }

    #[test]
    fn fields_are_bounded() {
        let long = "é".repeat(FIELD_MAX);
        let line = Served {
            uri: &long,
            ..served()
        }
        .line(LogFormat::Combined);
        assert!(line.len() < 4 * FIELD_MAX + 200, "{}", line.len());
    }

    #[test]
    fn a_file_that_was_rotated_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("access.log");
        let counts = LogCounts::default();
        let mut file = LogFile::open(path.clone()).unwrap();
        file.write("one\n", &counts).unwrap();
        let old = folder.path().join("access.log.1");
        std::fs::rename(&path, &old).unwrap();
        file.write("two\n", &counts).unwrap();
        // Truncated in place (logrotate's copytruncate).
        File::options()
            .write(true)
            .truncate(true)
            .open(&path)
            .unwrap();
        file.write("three\n", &counts).unwrap();
        assert_eq!(std::fs::read_to_string(&old).unwrap(), "one\n");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "three\n");
        assert_eq!(counts.reopened.get(), 1);
    }

    #[test]
    fn everything_that_was_given_is_written_before_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("access.log");
        let (log, thread) = AccessLog::start(&path, LogFormat::Json).unwrap();
        (0..1000).for_each(|n| log.write(format!("{n}\n")));
        log.end();
        thread.join().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count() as u64 + log.counts.dropped.get(), 1000);
        log.write("too late\n".to_owned());
        assert!(log.counts.dropped.get() >= 1);
    }
}
