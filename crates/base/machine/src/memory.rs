//! How much memory is left, on the machine and within the limits of control groups.

use std::path::PathBuf;

use crate::cgroup;
use crate::procfs;

/// Kernel memory of one socket that counts as reclaimable and is not, bytes: its inode (832) and
/// its directory entry (192), in their slabs on Linux 6.
const PINNED_BYTES_PER_SOCKET: u64 = 1_024;
/// A run keeps at least this share of the memory free …
const RESERVE_SHARE: f64 = 0.03;
/// … and at least this number of bytes …
const RESERVE_BYTES: u64 = 512 << 20;
/// … but never more than this share, so that small machines can be used at all.
const RESERVE_SHARE_MAX: f64 = 0.125;
/// A limit of at least this number of bytes is none: version 1 writes the largest number of pages.
const UNLIMITED_BYTES: u64 = 1 << 60;

/// Memory that a run may use: the machine's, or what a control group allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    pub total_bytes: u64,
    pub available_bytes: u64,
}

impl Memory {
    /// Memory that a run leaves to everything else.
    pub fn reserve_bytes(&self) -> u64 {
        let share = |share: f64| (self.total_bytes as f64 * share) as u64;
        share(RESERVE_SHARE).max(RESERVE_BYTES).min(share(RESERVE_SHARE_MAX))
    }

    /// Memory that a run may still take.
    pub fn spare_bytes(&self) -> u64 {
        self.available_bytes.saturating_sub(self.reserve_bytes())
    }

    /// Reads the machine and the control groups of this process, and returns the one with the least
    /// to spare; `None`: nothing can be read.
    pub fn read() -> Option<Memory> {
        Memory::read_source().map(|(memory, _)| memory)
    }

    /// The same with the folder of the control group that it is of; `None`: the machine's.
    pub fn read_source() -> Option<(Memory, Option<PathBuf>)> {
        let sockets = procfs::read("net/sockstat").unwrap_or_default();
        let machine = procfs::read("meminfo").ok();
        let machine = machine.and_then(|info| machine_memory(&info, &sockets));
        tightest(machine, cgroup::own_folders("memory"))
    }
}

/// The one with the least to spare: the machine's memory or that of a group with one of these folders.
fn tightest(machine: Option<Memory>, folders: Vec<PathBuf>) -> Option<(Memory, Option<PathBuf>)> {
    let groups = folders.into_iter().filter_map(|folder| {
        let text = |name: &str| procfs::text(&folder.join(name)).ok();
        let memory = group_memory(&text)?;
        Some((memory, Some(folder)))
    });
    let machine = machine.map(|memory| (memory, None));
    machine.into_iter().chain(groups).min_by_key(|(memory, _)| {
        let reserve = memory.reserve_bytes().max(1);
        let filled = u128::from(memory.available_bytes) * 1_000 / u128::from(reserve);
        (memory.spare_bytes(), filled)
    })
}

/// The machine's memory from `/proc/meminfo` and `/proc/net/sockstat`.
///
/// `MemAvailable` takes nearly all reclaimable slabs for free. Inodes and directory entries of
/// sockets are such slabs, and none of them can be reclaimed while its socket is open: with
/// millions of sockets there are gigabytes less than it states. So what the sockets hold is
/// subtracted, and at least half of those slabs.
fn machine_memory(meminfo: &str, sockstat: &str) -> Option<Memory> {
    let kib = |name: &str| -> Option<u64> {
        let line = meminfo.lines().find_map(|line| line.strip_prefix(name))?;
        let number = line.strip_prefix(':')?.split_ascii_whitespace().next()?;
        Some(number.parse::<u64>().ok()?.saturating_mul(1024))
    };
    let used = sockstat.lines().find_map(|line| line.strip_prefix("sockets: used "));
    let sockets = used.and_then(|n| n.trim().parse::<u64>().ok()).unwrap_or(0);
    let slabs = kib("SReclaimable").unwrap_or(0);
    let pinned = sockets.saturating_mul(PINNED_BYTES_PER_SOCKET).min(slabs);
    Some(Memory {
        total_bytes: kib("MemTotal")?,
        available_bytes: kib("MemAvailable")?.saturating_sub(pinned.max(slabs / 2)),
    })
}

/// The memory that a control group allows, from the texts of its files, in either version; `None`: it has no limit.
///
/// A group beyond `memory.high` is held back by the kernel, so that is a limit too. In version 1
/// `hierarchical_memory_limit` is the smallest limit of all groups around it, also of those that a container does not
/// see. File pages that were not touched lately can be reclaimed and do not count as used.
fn group_memory(text: &impl Fn(&str) -> Option<String>) -> Option<Memory> {
    let number = |name: &str| text(name)?.trim().parse::<u64>().ok();
    let stat = text("memory.stat").unwrap_or_default();
    let limits = [
        number("memory.max"),
        number("memory.high"),
        number("memory.limit_in_bytes"),
        procfs::field(&stat, "hierarchical_memory_limit"),
    ];
    let limits = limits.into_iter().flatten();
    let total_bytes = limits.min().filter(|&limit| limit < UNLIMITED_BYTES)?;
    let current = number("memory.current").or_else(|| number("memory.usage_in_bytes"))?;
    // Version 1 has the sum over the groups within as a field of its own.
    let idle_files = procfs::field(&stat, "total_inactive_file");
    let idle_files = idle_files.or_else(|| procfs::field(&stat, "inactive_file"));
    let idle_files = idle_files.unwrap_or(0);
    let used = current.saturating_sub(idle_files);
    Some(Memory { total_bytes, available_bytes: total_bytes.saturating_sub(used) })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn meminfo(total_mib: u64, available_mib: u64, slabs_mib: u64) -> String {
        format!(
            "MemTotal:       {} kB\nMemFree:  1 kB\nMemAvailable:   {} kB\nSReclaimable: {} kB\n",
            total_mib * 1024,
            available_mib * 1024,
            slabs_mib * 1024
        )
    }

    fn left_mib(slabs_mib: u64, sockets: u64) -> u64 {
        let sockstat = format!("sockets: used {sockets}\nTCP: inuse 4\n");
        let memory = machine_memory(&meminfo(16_384, 10_000, slabs_mib), &sockstat).unwrap();
        assert_eq!(memory.total_bytes, 16_384 * MIB);
        memory.available_bytes / MIB
    }

    #[test]
    fn slabs_that_sockets_hold_are_not_available() {
        assert_eq!(left_mib(0, 0), 10_000);
        assert_eq!(left_mib(400, 10), 9_800, "at least half of them");
        // 4 Mi sockets hold 4 GiB of the slabs.
        assert_eq!(left_mib(5_000, 4 << 20), 10_000 - 4_096);
        assert_eq!(left_mib(3_000, 4 << 20), 7_000, "never more than there are");
    }

    #[test]
    fn unreadable_memory_is_none() {
        assert_eq!(machine_memory("MemTotal: 5 kB\n", ""), None);
        assert_eq!(machine_memory("MemTotal: x kB\nMemAvailable: 3 kB\n", ""), None);
        let without_sockets = machine_memory(&meminfo(10, 8, 4), "nothing").unwrap();
        assert_eq!(without_sockets.available_bytes, 6 * MIB);
    }

    fn group(files: &[(&str, &str)]) -> Option<(u64, u64)> {
        let text = |name: &str| {
            let found = files.iter().find(|(known, _)| *known == name);
            found.map(|(_, text)| (*text).to_owned())
        };
        group_memory(&text).map(|memory| (memory.total_bytes, memory.available_bytes))
    }

    #[test]
    fn a_group_of_version_2_has_what_its_limits_leave() {
        let stat = ("memory.stat", "anon 5\ninactive_file 100\nactive_file 7\n");
        let current = ("memory.current", "600\n");
        let max = ("memory.max", "1000\n");
        assert_eq!(group(&[max, current, stat]), Some((1_000, 500)));
        let high = ("memory.high", "800\n");
        assert_eq!(group(&[max, high, current, stat]), Some((800, 300)));
        let unlimited = [("memory.max", "max\n"), ("memory.high", "max\n")];
        assert_eq!(group(&[unlimited[0], unlimited[1], current, stat]), None);
        assert_eq!(group(&[unlimited[0], high, current]), Some((800, 200)));
        let over = ("memory.current", "2000\n");
        assert_eq!(group(&[max, over]), Some((1_000, 0)));
        // The root of the hierarchy has neither.
        assert_eq!(group(&[stat]), None);
    }

    #[test]
    fn a_group_of_version_1_has_the_smallest_limit_around_it() {
        let stat = "inactive_file 1\nhierarchical_memory_limit 900\ntotal_inactive_file 100\n";
        let usage = ("memory.usage_in_bytes", "600\n");
        let limit = |text: &'static str| ("memory.limit_in_bytes", text);
        let none = limit("9223372036854771712\n");
        assert_eq!(group(&[limit("1000\n"), usage, ("memory.stat", stat)]), Some((900, 400)));
        assert_eq!(group(&[none, usage, ("memory.stat", stat)]), Some((900, 400)));
        assert_eq!(group(&[limit("1000\n"), usage]), Some((1_000, 400)));
        let free = "hierarchical_memory_limit 9223372036854771712\n";
        assert_eq!(group(&[none, usage, ("memory.stat", free)]), None);
    }

    fn memory(total_mib: u64, left_mib: u64) -> Memory {
        Memory { total_bytes: total_mib * MIB, available_bytes: left_mib * MIB }
    }

    /// A tree of control groups in a folder: path, file, text.
    fn tree(files: &[(&str, &str, String)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, file, text) in files {
            let folder = root.path().join(path);
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join(file), text).unwrap();
        }
        root
    }

    #[test]
    fn the_smallest_of_all_groups_around_counts_in_both_versions() {
        let mib = |mib: u64| format!("{}\n", mib * MIB);
        let machine = Some(memory(65_536, 20_000));
        for (limit, usage, mount, own) in [
            ("memory.max", "memory.current", "cgroup2 cgroup2 rw", "0::/a/b/c\n"),
            (
                "memory.limit_in_bytes",
                "memory.usage_in_bytes",
                "cgroup cgroup rw,memory",
                "7:memory:/a/b/c\n0::/\n",
            ),
        ] {
            let root = tree(&[
                ("a", limit, mib(4_096)),
                ("a", usage, mib(100)),
                ("a/b", limit, mib(300)),
                ("a/b", usage, mib(20)),
                ("a/b/c", limit, mib(1_024)),
                ("a/b/c", usage, mib(10)),
            ]);
            let place = root.path().display();
            let mounts = format!("35 31 0:32 / {place} rw - {mount}\n");
            let folders = cgroup::folders(&mounts, own, "memory");
            let found = tightest(machine, folders).unwrap();
            assert_eq!(found, (memory(300, 280), Some(root.path().join("a/b"))));
        }
    }

    #[test]
    fn the_machine_counts_if_it_has_less_to_spare() {
        // The machine keeps 1,966 MiB, the group 512 MiB.
        let mib = |mib: u64| format!("{}\n", mib * MIB);
        let root = tree(&[("a", "memory.max", mib(4_096)), ("a", "memory.current", mib(1_096))]);
        let machine = memory(65_536, 4_000);
        let group = root.path().join("a");
        let found = tightest(Some(machine), vec![group.clone()]);
        assert_eq!(found, Some((machine, None)));
        let found = tightest(None, vec![group.clone()]);
        assert_eq!(found, Some((memory(4_096, 3_000), Some(group))));
        assert_eq!(tightest(None, Vec::new()), None);
    }

    #[test]
    fn the_reserve_is_a_share_with_a_minimum_and_a_maximum() {
        let reserve_mib = |total_mib: u64| memory(total_mib, 0).reserve_bytes() / MIB;
        assert_eq!(reserve_mib(100_000), 3_000);
        assert_eq!(reserve_mib(8_192), 512);
        assert_eq!(reserve_mib(1_024), 128);
    }
}
