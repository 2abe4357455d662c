//! Control groups of our own, with limits (cgroups(7)): one folder a controller in version 1, one in version 2.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::cgroup::own_folders;
use crate::procfs::{self, text};

/// The period of a CPU quota, in microseconds: the kernel's default.
const PERIOD_US: f64 = 100_000.0;
/// The longest period that the kernel takes, in microseconds.
const PERIOD_US_MAX: f64 = 1_000_000.0;
/// The least quota that the kernel takes, in microseconds.
const QUOTA_US_MIN: f64 = 1_000.0;
const CONTROLLERS: [&str; 3] = ["cpu", "cpuacct", "memory"];

/// The resources that a group may use.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct GroupLimits {
    /// Cores; `None`: all.
    pub cpus: Option<Cpus>,
    /// Memory; `None`: all.
    pub memory_bytes: Option<u64>,
}

/// A share of the machine's cores, as the kernel grants it: so much CPU time in each period.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cpus {
    quota_us: f64,
    period_us: f64,
}

impl Cpus {
    /// These cores on a machine whose time passes `dilation` times slower: in each second of the machine they are
    /// fewer, and periods last longer, so that bursts do. `None`: the kernel does not grant as few.
    pub fn new(cores: f64, dilation: u32) -> Option<Cpus> {
        let dilation = f64::from(dilation.max(1));
        let period_us = (PERIOD_US * dilation).min(PERIOD_US_MAX);
        let quota_us = (cores / dilation * period_us).round();
        (quota_us >= QUOTA_US_MIN).then_some(Cpus { quota_us, period_us })
    }
}

/// Bytes that processes have read from disks and written to them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DiskBytes {
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
}

/// A group below the top of the hierarchy. It stays until [`remove_groups`] removes it.
#[derive(Debug)]
pub struct Group {
    folders: Vec<PathBuf>,
}

impl Group {
    /// Makes a group of this name, which has no `/`.
    ///
    /// # Errors
    /// No hierarchy is mounted, it may not be written, or a limit is refused.
    pub fn create(name: &str, limits: GroupLimits) -> io::Result<Group> {
        let mut folders: Vec<PathBuf> = Vec::new();
        for top in tops() {
            enable(&top);
            let folder = top.join(name);
            if !folders.contains(&folder) {
                fs::create_dir_all(&folder)?;
                folders.push(folder);
            }
        }
        if folders.is_empty() {
            let message = "no hierarchy of control groups is mounted";
            return Err(io::Error::new(io::ErrorKind::Unsupported, message));
        }
        let group = Group { folders };
        group.limit(limits)?;
        Ok(group)
    }

    fn limit(&self, limits: GroupLimits) -> io::Result<()> {
        if let Some(Cpus { quota_us, period_us }) = limits.cpus {
            let unified = format!("{quota_us} {period_us}");
            let period = period_us.to_string();
            let quota = quota_us.to_string();
            // Version 2 has one file for both.
            self.write("cpu.max", &unified, "cpu.cfs_period_us", &period)?;
            self.write("cpu.max", &unified, "cpu.cfs_quota_us", &quota)?;
        }
        if let Some(bytes) = limits.memory_bytes {
            let bytes = bytes.to_string();
            self.write("memory.max", &bytes, "memory.limit_in_bytes", &bytes)?;
        }
        Ok(())
    }

    /// Writes the file of the version that is there.
    fn write(&self, unified: &str, value: &str, file: &str, old_value: &str) -> io::Result<()> {
        for folder in &self.folders {
            for (name, value) in [(unified, value), (file, old_value)] {
                if folder.join(name).exists() {
                    return fs::write(folder.join(name), value);
                }
            }
        }
        let message = format!("control groups have no {unified} and no {file} here");
        Err(io::Error::new(io::ErrorKind::Unsupported, message))
    }

    /// Files that a process joins the group by: it writes its number to each.
    pub fn joins(&self) -> Vec<PathBuf> {
        let files = self.folders.iter();
        files.map(|folder| folder.join("cgroup.procs")).collect()
    }

    /// CPU time of all its processes so far, in nanoseconds.
    pub fn cpu_ns(&self) -> Option<u64> {
        self.folders.iter().find_map(|folder| {
            let usage = text(&folder.join("cpuacct.usage"));
            if let Some(ns) = usage.ok().and_then(|text| text.trim().parse().ok()) {
                return Some(ns);
            }
            let stat = text(&folder.join("cpu.stat")).ok()?;
            let line = stat.lines().find_map(|line| line.strip_prefix("usage_usec "))?;
            line.trim().parse::<u64>().ok().map(|us| us * 1_000)
        })
    }

    /// The bytes that its processes have read from disks and written to them so far: those that run, as the account of
    /// others is gone with them. `None`: none of them may be looked at.
    pub fn disk(&self) -> Option<DiskBytes> {
        let list =
            self.folders.iter().find_map(|folder| text(&folder.join("cgroup.procs")).ok())?;
        let pids = list.lines().filter_map(|line| line.trim().parse::<u32>().ok());
        let mut sum = None;
        for pid in pids {
            let Ok(io) = text(&procfs::process(pid).join("io")) else {
                continue;
            };
            let of_all: &mut DiskBytes = sum.get_or_insert_default();
            of_all.read_bytes += procfs::field(&io, "read_bytes").unwrap_or(0);
            of_all.written_bytes += procfs::field(&io, "write_bytes").unwrap_or(0);
        }
        sum
    }

    /// Memory of all its processes, in bytes.
    pub fn memory_bytes(&self) -> Option<u64> {
        let files = ["memory.usage_in_bytes", "memory.current"];
        let mut files = self.folders.iter().flat_map(|folder| files.map(|file| folder.join(file)));
        files.find_map(|file| text(&file).ok()?.trim().parse().ok())
    }
}

/// Removes all groups whose name begins so and that have no process left.
pub fn remove_groups(prefix: &str) {
    for top in tops() {
        let Ok(entries) = fs::read_dir(&top) else {
            continue;
        };
        let names = entries.filter_map(Result::ok);
        let ours = names.filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix));
        for entry in ours {
            // One that still has a process stays.
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// The top folders of the hierarchies that limit, each once.
fn tops() -> Vec<PathBuf> {
    let mut tops: Vec<PathBuf> = Vec::new();
    for controller in CONTROLLERS {
        let top = own_folders(controller).pop();
        tops.extend(top.filter(|top| !tops.contains(top)));
    }
    tops
}

/// Version 2 gives its children no controller unless it is written here; version 1 has no such file.
fn enable(top: &Path) {
    let file = top.join("cgroup.subtree_control");
    if file.exists() {
        // What cannot be enabled is reported when a limit is written.
        let _ = fs::write(file, "+cpu +memory");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_of_a_slower_machine_are_granted_in_longer_periods() {
        let granted = |cores, dilation| {
            let cpus = Cpus::new(cores, dilation);
            cpus.map(|cpus| (cpus.quota_us, cpus.period_us))
        };
        assert_eq!(granted(0.5, 1), Some((50_000.0, 100_000.0)));
        // A quota of 500 µs in 100 ms would be too little for the kernel.
        assert_eq!(granted(0.1, 20), Some((5_000.0, 1_000_000.0)));
        assert_eq!(granted(0.01, 1), Some((1_000.0, 100_000.0)));
        assert_eq!(granted(0.01, 10), Some((1_000.0, 1_000_000.0)));
        assert_eq!(granted(0.01, 11), None);
        assert_eq!(granted(f64::NAN, 1), None);
    }

    #[test]
    #[expect(clippy::print_stdout, reason = "a test that skips says so")]
    fn a_group_has_its_limits_and_is_removed() {
        let name = format!("throng-test-{}", std::process::id());
        let limits = GroupLimits { cpus: Cpus::new(0.5, 1), memory_bytes: Some(64 << 20) };
        let group = match Group::create(&name, limits) {
            Ok(group) => group,
            Err(error) => {
                println!("SKIPPED: control groups may not be written here: {error}");
                return remove_groups(&name);
            }
        };
        let quota = group.folders.iter().find_map(|folder| {
            let files = ["cpu.cfs_quota_us", "cpu.max"];
            files.iter().find_map(|file| text(&folder.join(file)).ok())
        });
        assert!(quota.unwrap().starts_with("50000"));
        assert_eq!(group.cpu_ns(), Some(0));
        remove_groups(&name);
        assert!(group.folders.iter().all(|folder| !folder.exists()));
    }
}
