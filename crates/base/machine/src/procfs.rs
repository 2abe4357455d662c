//! The files of `/proc` and `/sys`, and what their texts have in common. No other module opens them.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

const PROC: &str = "/proc";
/// The folder with a folder for each process.
pub(crate) const PROCESSES: &str = PROC;
/// The network namespace of the thread that opens it.
pub const OWN_NETWORK: &str = "/proc/thread-self/ns/net";
/// The tree of kernel settings.
pub const SETTINGS: &str = "/proc/sys";
/// The mount point of the version 2 tree of control groups.
pub(crate) const CGROUPS: &str = "/sys/fs/cgroup";
const BLOCK_DEVICES: &str = "/sys/block";
const CLOCK_SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

/// Most bytes of one file.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// USER_HZ, in which `/proc` counts CPU time: 100 on every architecture that Linux still supports for
/// user space.
pub const TICKS_PER_S: u64 = 100;

/// A file of `/proc` that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {path}: {source}")]
pub struct FileError {
    pub path: String,
    pub source: io::Error,
}

/// The text of a file below `/proc`, such as `net/snmp`.
pub fn read(name: &str) -> Result<String, FileError> {
    let path = Path::new(PROC).join(name);
    text(&path).map_err(|source| FileError { path: path.display().to_string(), source })
}

/// The text of a file, invalid UTF-8 replaced.
pub fn text(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    File::open(path)?.take(FILE_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A file below `/proc` that is read again and again; see [`text_again`].
pub(crate) fn open(name: &str) -> Result<File, FileError> {
    let path = Path::new(PROC).join(name);
    File::open(&path).map_err(|source| FileError { path: path.display().to_string(), source })
}

/// The present text of an open file of `/proc`.
pub(crate) fn text_again(mut file: &File) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.take(FILE_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A kernel setting by its name in sysctl(8), trimmed; `None`: it cannot be read.
pub fn setting(key: &str) -> Option<String> {
    let path = Path::new(SETTINGS).join(key.replace('.', "/"));
    Some(fs::read_to_string(path).ok()?.trim().to_owned())
}

/// The host's name; `None`: it has none.
pub fn hostname() -> Option<String> {
    setting("kernel.hostname").filter(|name| !name.is_empty())
}

/// The clock source of the kernel, such as `tsc`.
pub fn clock_source() -> Option<String> {
    Some(fs::read_to_string(CLOCK_SOURCE).ok()?.trim().to_owned())
}

/// Block devices with hardware behind them, in order of their names.
pub fn disks() -> Vec<String> {
    let entries = fs::read_dir(BLOCK_DEVICES).into_iter().flatten();
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| {
            let device = Path::new(BLOCK_DEVICES).join(name).join("device");
            device.exists()
        })
        .collect();
    names.sort();
    names
}

/// The folder of a process.
pub fn process(pid: u32) -> PathBuf {
    Path::new(PROC).join(pid.to_string())
}

/// The processes that can be seen.
pub fn pids() -> impl Iterator<Item = u32> {
    numbered(Path::new(PROC)).map(|(pid, _)| pid)
}

/// Whether a process runs; `None`: processes cannot be seen.
pub fn is_running(pid: u32) -> Option<bool> {
    let visible = Path::new(PROC).join("self").exists();
    visible.then(|| process(pid).exists())
}

/// The threads of a process and their folders.
pub fn threads(pid: u32) -> impl Iterator<Item = (u32, PathBuf)> {
    numbered(&process(pid).join("task"))
}

/// The numbers of the files that a process has open; `None`: it cannot be seen.
pub fn files(pid: u32) -> Option<impl Iterator<Item = u64>> {
    let entries = fs::read_dir(process(pid).join("fd")).ok()?;
    Some(entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()))
}

/// The threads of this process.
pub fn own_threads() -> impl Iterator<Item = i32> {
    let threads = numbered(&Path::new(PROC).join("self/task"));
    threads.filter_map(|(thread, _)| i32::try_from(thread).ok())
}

fn numbered(folder: &Path) -> impl Iterator<Item = (u32, PathBuf)> + use<> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    entries.filter_map(|entry| {
        let entry = entry.ok()?;
        Some((entry.file_name().to_str()?.parse().ok()?, entry.path()))
    })
}

/// Scheduler statistics of the thread that opened them (`/proc/thread-self/schedstat`): time on a
/// core, time ready without one, turns. Some kernels do not have them.
#[derive(Debug)]
pub struct ThreadSchedule(File);

impl ThreadSchedule {
    pub fn open() -> Option<ThreadSchedule> {
        let path = Path::new(PROC).join("thread-self/schedstat");
        File::open(path).ok().map(ThreadSchedule)
    }

    /// Time that the thread was ready without a core, in nanoseconds.
    pub fn waited_ns(&mut self) -> Option<u64> {
        self.word(1)
    }

    /// Time that the thread was on a core, in nanoseconds.
    pub fn used_ns(&mut self) -> Option<u64> {
        self.word(0)
    }

    fn word(&mut self, place: usize) -> Option<u64> {
        self.0.seek(SeekFrom::Start(0)).ok()?;
        let mut text = [0; 128];
        let len = self.0.read(&mut text).ok()?;
        let text = std::str::from_utf8(&text[..len]).ok()?;
        number(text.split_ascii_whitespace().nth(place))
    }
}

/// CPU time of this thread, in nanoseconds; 0: the kernel does not report it.
pub fn thread_cpu_ns() -> u64 {
    let used_ns = ThreadSchedule::open().and_then(|mut schedule| schedule.used_ns());
    used_ns.unwrap_or(0)
}

/// A number of a text.
pub fn number(word: Option<&str>) -> Option<u64> {
    word?.parse().ok()
}

/// The number behind a name at a line's beginning: `MemTotal:  16 kB`, `usage_usec 7`.
pub fn field(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let rest = line.strip_prefix(name)?;
        let rest = rest.strip_prefix(':').unwrap_or(rest);
        let is_complete_name = rest.starts_with(char::is_whitespace);
        let word = rest.split_ascii_whitespace().next();
        number(word.filter(|_| is_complete_name))
    })
}

/// A number of a two-line table: names in the first line of that prefix, values in the second
/// (`/proc/net/snmp`, `/proc/net/netstat`).
pub fn table_value(text: &str, prefix: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(prefix));
    let place = lines.next()?.split_ascii_whitespace().position(|word| word == name)?;
    number(lines.next()?.split_ascii_whitespace().nth(place))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_their_complete_name() {
        let text = "MemTotalX: 1 kB\nMemTotal:   16 kB\nusage_usec 7\nusage_usec_more 8\n";
        assert_eq!(field(text, "MemTotal"), Some(16));
        assert_eq!(field(text, "usage_usec"), Some(7));
        assert_eq!(field(text, "usage"), None);
    }

    #[test]
    fn tables_are_read_by_name() {
        let text = "Tcp: A B\nTcp: 1 2\nUdp: A\nUdp: 3\n";
        assert_eq!(table_value(text, "Tcp:", "B"), Some(2));
        assert_eq!(table_value(text, "Udp:", "A"), Some(3));
        assert_eq!(table_value(text, "Udp:", "B"), None);
        assert_eq!(table_value("Tcp: A\n", "Tcp:", "A"), None);
    }

    #[test]
    fn this_process_and_its_threads_are_seen() {
        let own = std::process::id();
        assert!(pids().any(|pid| pid == own));
        assert_eq!(is_running(own), Some(true));
        assert_eq!(is_running(u32::MAX), Some(false));
        assert!(threads(own).count() > 0 && own_threads().count() > 0);
    }
}
