//! Files of `/proc` and `/sys`, and what their texts have in common.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::time::Duration;

use crate::source::ReadError;

/// Most bytes of one file; `/proc/net/tcp` of the sockets that are looked at has 4 MB.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// USER_HZ, in which `/proc` tells CPU time: 100 on every architecture that Linux still supports for
/// user space.
pub(crate) const TICKS_PER_S: f64 = 100.0;

/// A file's text.
pub(crate) fn read(path: impl AsRef<Path>) -> Result<String, ReadError> {
    let path = path.as_ref();
    read_quietly(path).map_err(|source| ReadError::File {
        path: path.display().to_string(),
        source,
    })
}

/// A file's text, where it is no loss if there is none.
pub(crate) fn read_quietly(path: &Path) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    File::open(path)?
        .take(FILE_BYTES_MAX)
        .read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Bytes of a file that are asked for at once where the kernel has to look for each line: so many take it
/// less than a tenth of a millisecond.
const PIECE_BYTES: usize = 4096;
/// Between two pieces: a precise loop that shares the core goes on meanwhile.
const REST: Duration = Duration::from_micros(200);

/// Hands over a file's lines, each of which has its end, and rests in between.
pub(crate) fn read_lines(path: &str, mut each: impl FnMut(&str)) -> std::io::Result<()> {
    let mut file = File::open(path)?.take(FILE_BYTES_MAX);
    let mut rest = Vec::new();
    let mut piece = [0; PIECE_BYTES];
    loop {
        let n = file.read(&mut piece)?;
        if n == 0 {
            return Ok(());
        }
        rest.extend_from_slice(&piece[..n]);
        let Some(end) = rest.iter().rposition(|&byte| byte == b'\n') else {
            continue;
        };
        let whole = String::from_utf8_lossy(&rest[..end]);
        whole.lines().for_each(&mut each);
        drop(whole);
        rest.drain(..=end);
        std::thread::park_timeout(REST);
    }
}

/// The host's name.
pub(crate) fn hostname() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    match name.trim() {
        "" => "host".to_owned(),
        name => name.to_owned(),
    }
}

/// CPU time of this thread, in nanoseconds; 0 where the kernel does not tell.
pub(crate) fn thread_cpu_ns() -> u64 {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    number(text.split_ascii_whitespace().next()).unwrap_or(0)
}

/// A number of a text.
pub(crate) fn number(word: Option<&str>) -> Option<u64> {
    word?.parse().ok()
}

/// The number behind a name at a line's beginning: `MemTotal:  16 kB`, `usage_usec 7`.
pub(crate) fn field(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let rest = line.strip_prefix(name)?;
        let rest = rest.strip_prefix(':').unwrap_or(rest);
        let is_whole = rest.starts_with(char::is_whitespace);
        number(rest.split_ascii_whitespace().next().filter(|_| is_whole))
    })
}

/// A number of a two-line table: names in the first line of that prefix, values in the second
/// (`/proc/net/snmp`, `/proc/net/netstat`).
pub fn table_value(text: &str, prefix: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(prefix));
    let place = lines
        .next()?
        .split_ascii_whitespace()
        .position(|word| word == name)?;
    number(lines.next()?.split_ascii_whitespace().nth(place))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_their_whole_name() {
        let text = "MemTotalX: 1 kB\nMemTotal:   16 kB\nusage_usec 7\nusage_usec_more 8\n";
        assert_eq!(field(text, "MemTotal"), Some(16));
        assert_eq!(field(text, "usage_usec"), Some(7));
        assert_eq!(field(text, "usage"), None);
    }

    #[test]
    fn lines_are_whole_wherever_pieces_end() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let lines: Vec<String> = (0..3000).map(|n| format!("line {n} é")).collect();
        fs::write(file.path(), lines.join("\n") + "\n").unwrap();
        let mut found = Vec::new();
        read_lines(file.path().to_str().unwrap(), |line| {
            found.push(line.to_owned());
        })
        .unwrap();
        assert_eq!(found, lines);
    }

    #[test]
    fn tables_are_read_by_name() {
        let text = "Tcp: A B\nTcp: 1 2\nUdp: A\nUdp: 3\n";
        assert_eq!(table_value(text, "Tcp:", "B"), Some(2));
        assert_eq!(table_value(text, "Udp:", "A"), Some(3));
        assert_eq!(table_value(text, "Udp:", "B"), None);
        assert_eq!(table_value("Tcp: A\n", "Tcp:", "A"), None);
    }
}
