//! The file of an access log, and the thread that writes it.
//!
//! Whole lines are appended, so that several processes may share the file. When it was renamed or
//! removed (rotation), a new one with the same name is opened. Lines that the disk cannot take are
//! dropped and counted; no request waits for them.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use super::entry::{Entry, LogFormat};
use crate::metrics::Counter;

/// Lines that may wait for the disk.
const WAITING_MAX: usize = 64 * 1024;
/// Bytes written at a time, but for the last line.
const BATCH_BYTES: usize = 256 * 1024;

/// Counts of lines by what became of them.
#[derive(Debug, Default)]
pub struct LogCounts {
    /// Lines that were written.
    pub written: Counter,
    /// Lines that the disk could not take.
    pub dropped: Counter,
    /// Times that a new file was opened after a rotation.
    pub reopened: Counter,
}

#[derive(Debug)]
enum Task {
    Line(String),
    End,
}

/// An access log, as serving threads use it.
#[derive(Debug)]
pub struct AccessLog {
    pub(super) format: LogFormat,
    /// The name of the system's own field.
    pub(super) label: Option<&'static str>,
    counts: Arc<LogCounts>,
    tasks: SyncSender<Task>,
}

impl AccessLog {
    /// Opens the file, and starts the thread that writes.
    ///
    /// `label` is the name of the system's own field in JSON lines.
    ///
    /// # Errors
    /// When the file cannot be opened or the thread not be started.
    pub fn start(
        path: &Path,
        format: LogFormat,
        label: Option<&'static str>,
    ) -> io::Result<(Self, JoinHandle<()>)> {
        let (tasks, waiting) = sync_channel(WAITING_MAX);
        let counts = Arc::new(LogCounts::default());
        let mut file = LogFile::open(path.to_owned())?;
        let thread = std::thread::Builder::new().name("log".to_owned()).spawn({
            let counts = Arc::clone(&counts);
            move || while write_batch(&waiting, &mut file, &counts) {}
        })?;
        let log = Self { format, label, counts, tasks };
        Ok((log, thread))
    }

    /// Counts of lines by what became of them.
    #[must_use]
    pub fn counts(&self) -> &LogCounts {
        &self.counts
    }

    /// Has the line of a request written, or drops it if too many wait.
    pub fn log(&self, entry: &Entry<'_>) {
        self.write(entry.line(self.format));
    }

    /// Has a line written, or drops it if too many wait.
    pub(super) fn write(&self, line: String) {
        if self.tasks.try_send(Task::Line(line)).is_err() {
            self.counts.dropped.add(1);
        }
    }

    /// Ends the thread when all lines are written. May wait for the disk.
    pub fn end(&self) {
        // A thread that is gone has ended.
        let _ = self.tasks.send(Task::End);
    }
}

/// Writes what waits, at least a line; false at the end.
fn write_batch(waiting: &Receiver<Task>, file: &mut LogFile, counts: &LogCounts) -> bool {
    let mut text = String::new();
    let mut lines = 0;
    let mut task = waiting.recv().ok();
    let mut more = true;
    loop {
        match task {
            Some(Task::Line(line)) => {
                text.push_str(&line);
                lines += 1;
            }
            Some(Task::End) | None => {
                more = false;
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
    more
}

/// The file, with its name.
#[derive(Debug)]
struct LogFile {
    path: PathBuf,
    file: File,
    /// The last write may have ended in the middle of a line.
    incomplete: bool,
}

impl LogFile {
    fn open(path: PathBuf) -> io::Result<LogFile> {
        let file = OpenOptions::new().append(true).create(true).open(&path)?;
        Ok(LogFile { path, file, incomplete: false })
    }

    fn write(&mut self, text: &str, counts: &LogCounts) -> io::Result<()> {
        if !self.is_current() {
            *self = LogFile::open(self.path.clone())?;
            counts.reopened.add(1);
        }
        if self.incomplete {
            self.file.write_all(b"\n")?;
        }
        self.incomplete = true;
        self.file.write_all(text.as_bytes())?;
        self.incomplete = false;
        Ok(())
    }

    /// Whether the file by this name is still the one that is open.
    fn is_current(&self) -> bool {
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

    #[test]
    fn a_rotated_file_is_reopened() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("access.log");
        let counts = LogCounts::default();
        let mut file = LogFile::open(path.clone()).unwrap();
        file.write("one\n", &counts).unwrap();
        let old = folder.path().join("access.log.1");
        std::fs::rename(&path, &old).unwrap();
        file.write("two\n", &counts).unwrap();
        // Truncated in place (logrotate's copytruncate).
        File::options().write(true).truncate(true).open(&path).unwrap();
        file.write("three\n", &counts).unwrap();
        assert_eq!(std::fs::read_to_string(&old).unwrap(), "one\n");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "three\n");
        assert_eq!(counts.reopened.get(), 1);
    }

    #[test]
    fn all_lines_are_written_before_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("access.log");
        let (log, thread) = AccessLog::start(&path, LogFormat::Json, None).unwrap();
        (0..1000).for_each(|n| log.write(format!("{n}\n")));
        log.end();
        thread.join().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count() as u64 + log.counts.dropped.get(), 1000);
        log.write("too late\n".to_owned());
        assert!(log.counts.dropped.get() >= 1);
    }
}
