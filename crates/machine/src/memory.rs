//! How much memory is left, on the machine and within the limits of control groups.

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

/// Memory that a run may use: the machine's, or what a control group allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    pub total_bytes: u64,
    pub available_bytes: u64,
}

impl Memory {
    /// What a run leaves to everything else.
    pub fn reserve_bytes(&self) -> u64 {
        let share = |share: f64| (self.total_bytes as f64 * share) as u64;
        share(RESERVE_SHARE)
            .max(RESERVE_BYTES)
            .min(share(RESERVE_SHARE_MAX))
    }

    /// What a run may still take.
    pub fn spare_bytes(&self) -> u64 {
        self.available_bytes.saturating_sub(self.reserve_bytes())
    }

    /// Reads the machine and the control groups of this process, and returns the one with the least
    /// to spare; `None`: nothing can be read.
    pub fn read() -> Option<Memory> {
        let sockets = procfs::read("net/sockstat").unwrap_or_default();
        let machine = procfs::read("meminfo").ok();
        let machine = machine.and_then(|info| machine_memory(&info, &sockets));
        let groups = cgroup::own_folders("memory")
            .into_iter()
            .filter_map(|folder| {
                let text = |name: &str| procfs::text(&folder.join(name)).ok();
                // Version 2, then version 1.
                group_memory(
                    &text("memory.max").or_else(|| text("memory.limit_in_bytes"))?,
                    &text("memory.current").or_else(|| text("memory.usage_in_bytes"))?,
                    &text("memory.stat").unwrap_or_default(),
                )
            });
        tightest(machine.into_iter().chain(groups))
    }
}

fn tightest(candidates: impl Iterator<Item = Memory>) -> Option<Memory> {
    candidates.min_by_key(|memory| {
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
    let used = sockstat
        .lines()
        .find_map(|line| line.strip_prefix("sockets: used "));
    let sockets = used.and_then(|n| n.trim().parse::<u64>().ok()).unwrap_or(0);
    let slabs = kib("SReclaimable").unwrap_or(0);
    let pinned = sockets.saturating_mul(PINNED_BYTES_PER_SOCKET).min(slabs);
    Some(Memory {
        total_bytes: kib("MemTotal")?,
        available_bytes: kib("MemAvailable")?.saturating_sub(pinned.max(slabs / 2)),
    })
}

/// What a control group allows, from the texts of its files; `None`: it has no limit of its own.
/// File pages that were not touched lately can be reclaimed and do not count as used.
fn group_memory(max: &str, current: &str, stat: &str) -> Option<Memory> {
    let total_bytes = max.trim().parse::<u64>().ok()?;
    let current: u64 = current.trim().parse().ok()?;
    // Version 1 has the sum over the groups within as a field of its own.
    let field = |name: &str| stat.lines().find_map(|line| line.strip_prefix(name));
    let idle_files = field("total_inactive_file ").or_else(|| field("inactive_file "));
    let idle_files: u64 = idle_files.and_then(|n| n.trim().parse().ok()).unwrap_or(0);
    let used = current.saturating_sub(idle_files);
    Some(Memory {
        total_bytes,
        available_bytes: total_bytes.saturating_sub(used),
    })
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
        assert_eq!(
            machine_memory("MemTotal: x kB\nMemAvailable: 3 kB\n", ""),
            None
        );
        let without_sockets = machine_memory(&meminfo(10, 8, 4), "nothing").unwrap();
        assert_eq!(without_sockets.available_bytes, 6 * MIB);
    }

    #[test]
    fn a_group_has_what_its_limit_leaves() {
        let stat = "anon 5\ninactive_file 100\nactive_file 7\n";
        let memory = group_memory("1000\n", "600\n", stat).unwrap();
        assert_eq!((memory.total_bytes, memory.available_bytes), (1_000, 500));
        let stat_1 = "inactive_file 1\ntotal_inactive_file 100\n";
        assert_eq!(group_memory("1000\n", "600\n", stat_1), Some(memory));
        assert_eq!(group_memory("max\n", "600\n", stat), None);
        assert_eq!(
            group_memory("1000\n", "2000\n", "")
                .unwrap()
                .available_bytes,
            0
        );
    }

    #[test]
    fn the_memory_with_least_to_spare_counts() {
        let memory = |total_mib: u64, left_mib: u64| Memory {
            total_bytes: total_mib * MIB,
            available_bytes: left_mib * MIB,
        };
        let (machine, group) = (memory(65_536, 4_000), memory(4_096, 3_000));
        // The machine keeps 1,966 MiB, the group 512 MiB.
        assert_eq!(tightest([group, machine].into_iter()), Some(machine));
        assert_eq!(tightest([].into_iter()), None);
    }

    #[test]
    fn the_reserve_is_a_share_with_a_minimum_and_a_maximum() {
        let reserve_mib = |total_mib: u64| {
            let memory = Memory {
                total_bytes: total_mib * MIB,
                available_bytes: 0,
            };
            memory.reserve_bytes() / MIB
        };
        assert_eq!(reserve_mib(100_000), 3_000);
        assert_eq!(reserve_mib(8_192), 512);
        assert_eq!(reserve_mib(1_024), 128);
    }
}
