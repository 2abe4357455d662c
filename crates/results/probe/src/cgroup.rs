//! A control group: CPU, memory, processes, disk, in either version of the hierarchy.

use machine::cgroup;
use machine::procfs::{field, number};

use crate::reading::Reading;
use crate::source::{ReadError, Source};

/// One group and its periods.
#[derive(Debug)]
pub(crate) struct Cgroup {
    group: cgroup::Cgroup,
    /// Periods in all, and those in which it was held back, at the last look.
    periods: Option<(u64, u64)>,
}

impl Cgroup {
    pub(crate) fn new(path: &str) -> Cgroup {
        Cgroup { group: cgroup::Cgroup::new(path), periods: None }
    }

    /// How many cores it may use; `None`: all.
    fn cores(&self) -> Option<f64> {
        if let Some(text) = self.group.text("cpu.max", "cpu", "") {
            let mut words = text.split_ascii_whitespace();
            let quota = number(words.next())?;
            let period = number(words.next())?;
            return (period > 0).then(|| quota as f64 / period as f64);
        }
        // Without a limit it is -1, which is no number here.
        let quota = self.group.number("", "cpu", "cpu.cfs_quota_us")?;
        let period = self.group.number("", "cpu", "cpu.cfs_period_us")?;
        (period > 0).then(|| quota as f64 / period as f64)
    }

    fn cpu(&mut self, reading: &mut Reading) -> bool {
        let unified = self.group.text("cpu.stat", "cpu", "");
        let seconds = match unified.as_deref().and_then(|text| field(text, "usage_usec")) {
            Some(us) => Some(us as f64 / 1e6),
            None => {
                let ns = self.group.number("", "cpuacct", "cpuacct.usage");
                ns.map(|ns| ns as f64 / 1e9)
            }
        };
        if let Some(seconds) = seconds {
            reading.counter("cpu", "%", 100.0 * seconds);
        }
        if let Some(cores) = self.cores() {
            reading.gauge("cpu_limit", "%", 100.0 * cores);
        }
        let stat = self.group.text("cpu.stat", "cpu", "cpu.stat").unwrap_or_default();
        let now = field(&stat, "nr_periods").zip(field(&stat, "nr_throttled"));
        if let (Some((periods, held)), Some((periods_before, held_before))) = (now, self.periods) {
            let passed = periods.saturating_sub(periods_before);
            let share = held.saturating_sub(held_before) as f64 / passed.max(1) as f64;
            reading.gauge("cpu_throttled", "%", 100.0 * share.min(1.0));
        }
        self.periods = now;
        seconds.is_some()
    }
}

impl Source for Cgroup {
    fn read(&mut self, reading: &mut Reading) -> Result<(), ReadError> {
        let has_cpu = self.cpu(reading);
        let memory = self.group.number("memory.current", "memory", "memory.usage_in_bytes");
        if let Some(bytes) = memory {
            reading.gauge("memory_used", "B", bytes as f64);
        }
        // Version 1 states a number near 2⁶³ if there is no limit.
        let limit = self.group.number("memory.max", "memory", "memory.limit_in_bytes");
        if let Some(bytes) = limit.filter(|&bytes| bytes < 1 << 60) {
            reading.gauge("memory_limit", "B", bytes as f64);
        }
        if let Some(events) = self.group.text("memory.events", "memory", "memory.oom_control") {
            let kills = field(&events, "oom_kill").unwrap_or(0);
            reading.counter("memory_kills", "1/s", kills as f64);
        }
        if let Some(count) = self.group.number("pids.current", "pids", "pids.current") {
            reading.gauge("threads", "1", count as f64);
        }
        if let Some(text) = self.group.text("io.stat", "blkio", "blkio.throttle.io_service_bytes") {
            let (read, written) = traffic(&text);
            reading.counter("disk_read", "B/s", read as f64);
            reading.counter("disk_written", "B/s", written as f64);
        }
        if !has_cpu && memory.is_none() {
            return Err(ReadError::Gone(format!(
                "there is no control group /{} below {}",
                self.group.path(),
                self.group.root().display()
            )));
        }
        Ok(())
    }
}

/// Bytes read and written: `8:0 rbytes=1 wbytes=2 …`, or in version 1 lines `8:0 Read 1`.
fn traffic(text: &str) -> (u64, u64) {
    let mut read = 0u64;
    let mut written = 0u64;
    for line in text.lines() {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        match words[..] {
            [_, "Read", bytes] => read += bytes.parse::<u64>().unwrap_or(0),
            [_, "Write", bytes] => written += bytes.parse::<u64>().unwrap_or(0),
            _ => {
                let of = |key: &str| words.iter().find_map(|word| word.strip_prefix(key));
                read += number(of("rbytes=")).unwrap_or(0);
                written += number(of("wbytes=")).unwrap_or(0);
            }
        }
    }
    (read, written)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::reading::tests::{Names, reading};

    fn group(files: &[(&str, &str)]) -> (tempfile::TempDir, Cgroup) {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), files);
        let group =
            Cgroup { group: cgroup::Cgroup::below(dir.path(), "/web/nginx"), periods: None };
        (dir, group)
    }

    fn write(root: &Path, files: &[(&str, &str)]) {
        for (path, text) in files {
            let file = root.join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
    }

    #[test]
    fn the_unified_hierarchy_is_read() {
        let stat = "usage_usec 1000000\nnr_periods 10\nnr_throttled 2\n";
        let (dir, mut group) = group(&[
            ("web/nginx/cpu.stat", stat),
            ("web/nginx/cpu.max", "150000 100000\n"),
            ("web/nginx/memory.current", "4096\n"),
            ("web/nginx/memory.max", "max\n"),
            ("web/nginx/pids.current", "7\n"),
            ("web/nginx/io.stat", "8:0 rbytes=10 wbytes=20 rios=1\n8:16 rbytes=1 wbytes=2\n"),
        ]);
        let mut reading = reading();
        let mut names = Names::new();
        reading.begin(0);
        group.read(&mut reading).unwrap();
        let lines = names.lines(reading.take());
        assert_eq!(lines, ["cpu_limit % 150", "memory_used B 4096", "threads 1 7"]);
        let stat = "usage_usec 1500000\nnr_periods 20\nnr_throttled 7\n";
        write(dir.path(), &[("web/nginx/cpu.stat", stat)]);
        reading.begin(1_000_000_000);
        group.read(&mut reading).unwrap();
        let lines = names.lines(reading.take());
        assert_eq!(lines[..3], ["cpu % 50", "cpu_limit % 150", "cpu_throttled % 50"]);
        assert_eq!(traffic("8:0 rbytes=10 wbytes=20\n8:16 rbytes=1 wbytes=2\n"), (11, 22));
    }

    #[test]
    fn the_older_hierarchies_are_read() {
        let (_dir, mut group) = group(&[
            ("cpuacct/web/nginx/cpuacct.usage", "2000000000\n"),
            ("cpu/web/nginx/cpu.cfs_quota_us", "-1\n"),
            ("cpu/web/nginx/cpu.cfs_period_us", "100000\n"),
            ("memory/web/nginx/memory.usage_in_bytes", "8192\n"),
            ("memory/web/nginx/memory.limit_in_bytes", "9223372036854771712\n"),
        ]);
        let mut reading = reading();
        let mut names = Names::new();
        reading.begin(0);
        group.read(&mut reading).unwrap();
        assert_eq!(names.lines(reading.take()), ["memory_used B 8192"]);
        assert_eq!(traffic("8:0 Read 5\n8:0 Write 6\nTotal 11\n"), (5, 6));
    }

    #[test]
    fn a_missing_group_is_an_error() {
        let (_dir, mut group) = group(&[("x", "")]);
        let error = group.read(&mut reading()).unwrap_err().to_string();
        assert!(error.starts_with("there is no control group /web/nginx"), "{error}");
    }
}
