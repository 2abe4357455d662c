//! Processes of this machine, added up: CPU, memory, threads, files, switches.

mod find;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use plan::probes::ProcessSpec;

use crate::reading::Reading;
use crate::source::{ReadError, Source};
use machine::procfs::{self, TICKS_PER_S, field, number, text};

/// Answers after which processes are searched for again although known ones exist: others of that name
/// may have started.
const FIND_EVERY: u32 = 10;
/// Threads that are looked at one by one; each takes two small files.
const THREADS_MAX: usize = 512;
/// Processes of one name.
const PROCESSES_MAX: usize = 256;
/// Entries of `/proc/PID/fd` that are counted one by one if the kernel does not state their number.
const FILES_COUNTED_MAX: usize = 100_000;

/// The processes that a probe is about.
#[derive(Debug)]
pub(crate) struct Process {
    spec: ProcessSpec,
    known: Vec<WatchedProcess>,
    answers_since_found: u32,
    /// Resources that processes used while they were watched, those gone included.
    used: ProcessUsage,
}

/// One process.
#[derive(Debug)]
struct WatchedProcess {
    pid: u32,
    /// Distinguishes it from a later process with the same number.
    started: u64,
    last: ProcessUsage,
    /// CPU ticks of its threads.
    threads: HashMap<u32, u64>,
}

/// Totals that only grow.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct ProcessUsage {
    user_ticks: u64,
    system_ticks: u64,
    switches_voluntary: u64,
    switches_forced: u64,
    read_bytes: u64,
    written_bytes: u64,
}

/// Resources that a process has now.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct ProcessState {
    resident_bytes: u64,
    threads: u64,
    files: Option<u64>,
    /// CPU ticks of its busiest thread since the last look.
    busiest_ticks: u64,
    /// Whether its disk traffic may not be known.
    hides_disk: bool,
}

impl Process {
    pub(crate) fn new(spec: ProcessSpec) -> Process {
        Process { spec, known: Vec::new(), answers_since_found: 0, used: ProcessUsage::default() }
    }

    /// Searches for processes, if that is due.
    fn find(&mut self) {
        let is_due = self.answers_since_found >= FIND_EVERY || self.known.is_empty();
        self.answers_since_found += 1;
        if !is_due {
            return;
        }
        self.answers_since_found = 1;
        for pid in find::pids(&self.spec).into_iter().take(PROCESSES_MAX) {
            let Some(stat) = text(&path(pid, "stat")).ok() else {
                continue;
            };
            let Some(started) = Stat::parse(&stat).map(|stat| stat.started) else {
                continue;
            };
            let is_known = |known: &WatchedProcess| known.pid == pid && known.started == started;
            if !self.known.iter().any(is_known) {
                let mut known = WatchedProcess {
                    pid,
                    started,
                    last: ProcessUsage::default(),
                    threads: HashMap::new(),
                };
                // What it used before it was found is not counted.
                if let Some((used, _)) = known.look(&mut Vec::new()) {
                    known.last = used;
                    self.known.push(known);
                }
            }
        }
    }
}

impl Source for Process {
    fn read(&mut self, reading: &mut Reading) -> Result<(), ReadError> {
        self.find();
        let mut sum = ProcessState { files: Some(0), ..ProcessState::default() };
        let mut remarks = Vec::new();
        let used = &mut self.used;
        self.known.retain_mut(|known| {
            let Some((now, has)) = known.look(&mut remarks) else {
                return false;
            };
            used.add(&now, &known.last);
            known.last = now;
            sum.resident_bytes += has.resident_bytes;
            sum.threads += has.threads;
            sum.files = sum.files.zip(has.files).map(|(a, b)| a + b);
            sum.busiest_ticks = sum.busiest_ticks.max(has.busiest_ticks);
            sum.hides_disk |= has.hides_disk;
            true
        });
        if self.known.is_empty() {
            return Err(ReadError::Gone(find::missing(&self.spec)));
        }
        remarks.into_iter().for_each(|text| reading.remark(text));
        let percent = |ticks: u64| 100.0 * ticks as f64 / TICKS_PER_S as f64;
        reading.gauge("processes", "1", self.known.len() as f64);
        let cpu = percent(self.used.user_ticks + self.used.system_ticks);
        reading.counter("cpu", "%", cpu);
        reading.counter("cpu_user", "%", percent(self.used.user_ticks));
        reading.counter("cpu_system", "%", percent(self.used.system_ticks));
        if let Some(passed_s) = reading.passed_s()
            && self.known.iter().any(|known| !known.threads.is_empty())
        {
            let busiest = percent(sum.busiest_ticks) / passed_s;
            reading.gauge("cpu_busiest_thread", "%", busiest);
        }
        reading.gauge("memory_resident", "B", sum.resident_bytes as f64);
        reading.gauge("threads", "1", sum.threads as f64);
        if let Some(files) = sum.files {
            reading.gauge("files", "1", files as f64);
        }
        let counters = [
            ("switches_voluntary", "1/s", self.used.switches_voluntary),
            ("switches_forced", "1/s", self.used.switches_forced),
            ("disk_read", "B/s", self.used.read_bytes),
            ("disk_written", "B/s", self.used.written_bytes),
        ];
        let known = if sum.hides_disk { 2 } else { counters.len() };
        for (metric, unit, total) in counters.into_iter().take(known) {
            reading.counter(metric, unit, total as f64);
        }
        Ok(())
    }
}

impl ProcessUsage {
    /// Adds what was used between two looks. Threads that end take their switches with them.
    fn add(&mut self, now: &ProcessUsage, before: &ProcessUsage) {
        self.user_ticks += now.user_ticks.saturating_sub(before.user_ticks);
        self.system_ticks += now.system_ticks.saturating_sub(before.system_ticks);
        self.switches_voluntary += now.switches_voluntary.saturating_sub(before.switches_voluntary);
        self.switches_forced += now.switches_forced.saturating_sub(before.switches_forced);
        self.read_bytes += now.read_bytes.saturating_sub(before.read_bytes);
        self.written_bytes += now.written_bytes.saturating_sub(before.written_bytes);
    }
}

impl WatchedProcess {
    /// Resources that the process has used so far, and has now; `None`: it is gone.
    fn look(&mut self, remarks: &mut Vec<String>) -> Option<(ProcessUsage, ProcessState)> {
        let stat = Stat::parse(&text(&path(self.pid, "stat")).ok()?)?;
        if stat.started != self.started || stat.is_dead {
            return None;
        }
        let status = text(&path(self.pid, "status")).ok()?;
        let mut used = ProcessUsage {
            user_ticks: stat.user_ticks,
            system_ticks: stat.system_ticks,
            ..ProcessUsage::default()
        };
        let mut has = ProcessState {
            resident_bytes: field(&status, "VmRSS").unwrap_or(0) * 1024,
            threads: stat.threads,
            ..ProcessState::default()
        };
        self.threads(stat.threads, &mut used, &mut has, remarks);
        match files_count(&path(self.pid, "fd")) {
            Ok(count) => has.files = Some(count),
            Err(error) => remarks.push(format!("its open files are not available: {error}")),
        }
        match text(&path(self.pid, "io")) {
            Ok(io) => {
                used.read_bytes = field(&io, "read_bytes").unwrap_or(0);
                used.written_bytes = field(&io, "write_bytes").unwrap_or(0);
            }
            Err(error) => {
                has.hides_disk = true;
                remarks.push(format!("its disk traffic is not available: {error}"));
            }
        }
        Some((used, has))
    }

    /// Switches, and the busiest thread.
    fn threads(
        &mut self,
        count: u64,
        used: &mut ProcessUsage,
        has: &mut ProcessState,
        remarks: &mut Vec<String>,
    ) {
        if count > THREADS_MAX as u64 {
            remarks.push(format!(
                "threads are not measured one by one while it has more than {THREADS_MAX}"
            ));
            self.threads.clear();
            return;
        }
        let mut threads = HashMap::new();
        for (tid, folder) in procfs::threads(self.pid).take(THREADS_MAX) {
            let status = text(&folder.join("status")).unwrap_or_default();
            used.switches_voluntary += field(&status, "voluntary_ctxt_switches").unwrap_or(0);
            used.switches_forced += field(&status, "nonvoluntary_ctxt_switches").unwrap_or(0);
            let stat = text(&folder.join("stat")).unwrap_or_default();
            if let Some(stat) = Stat::parse(&stat) {
                let ticks = stat.user_ticks + stat.system_ticks;
                let before = self.threads.get(&tid).copied().unwrap_or(ticks);
                has.busiest_ticks = has.busiest_ticks.max(ticks.saturating_sub(before));
                threads.insert(tid, ticks);
            }
        }
        self.threads = threads;
    }
}

/// proc_pid_stat(5), fields behind the name, which may hold blanks and brackets.
#[derive(Debug, PartialEq)]
struct Stat {
    is_dead: bool,
    user_ticks: u64,
    system_ticks: u64,
    threads: u64,
    started: u64,
}

impl Stat {
    fn parse(text: &str) -> Option<Stat> {
        let (_, rest) = text.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        // Field 3 of the page is the first here.
        let at = |place: usize| number(fields.get(place - 3).copied());
        Some(Stat {
            is_dead: matches!(fields.first(), Some(&"Z" | &"X")),
            user_ticks: at(14)?,
            system_ticks: at(15)?,
            threads: at(20)?,
            started: at(22)?,
        })
    }
}

fn path(pid: u32, file: &str) -> PathBuf {
    procfs::process(pid).join(file)
}

/// How many files are open in the process's own table. Since Linux 6.2 the folder's size states it.
fn files_count(folder: &Path) -> std::io::Result<u64> {
    let size = std::fs::metadata(folder)?.len();
    if size > 0 {
        // The folder may be seen by all, but only its owner may open it.
        return Ok(size);
    }
    let entries = std::fs::read_dir(folder)?.take(FILES_COUNTED_MAX);
    Ok(entries.count() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::tests::{Names, reading};

    #[test]
    fn names_may_hold_anything() {
        let text = "7 (a) b (c) S 1 7 7 0 -1 4194560 9 0 0 0 11 22 0 0 20 0 3 0 444 5 6";
        let expected =
            Stat { is_dead: false, user_ticks: 11, system_ticks: 22, threads: 3, started: 444 };
        assert_eq!(Stat::parse(text), Some(expected));
        assert_eq!(Stat::parse("7 (a) S 1"), None);
        assert_eq!(Stat::parse(""), None);
    }

    #[test]
    fn totals_never_fall() {
        let used =
            |n| ProcessUsage { user_ticks: n, switches_forced: 10 - n, ..ProcessUsage::default() };
        let mut sum = ProcessUsage::default();
        sum.add(&used(3), &used(1));
        assert_eq!((sum.user_ticks, sum.switches_forced), (2, 0));
    }

    #[test]
    fn this_process_is_measured_and_a_missing_one_is_gone() {
        let mut reading = reading();
        let mut names = Names::new();
        let mut own = Process::new(ProcessSpec::Pid(std::process::id()));
        reading.begin(0);
        own.read(&mut reading).unwrap();
        names.lines(reading.take());
        reading.begin(1_000_000_000);
        own.read(&mut reading).unwrap();
        let lines = names.lines(reading.take());
        for metric in ["processes 1 1", "cpu % ", "memory_resident B ", "files 1 "] {
            assert!(lines.iter().any(|line| line.starts_with(metric)), "{lines:?}");
        }
        // Above the kernel's largest number.
        let mut none = Process::new(ProcessSpec::Pid(u32::MAX));
        let error = none.read(&mut reading).unwrap_err();
        assert_eq!(error.to_string(), "there is no process 4294967295");
    }
}
