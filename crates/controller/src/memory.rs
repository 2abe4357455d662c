//! What is left of memory, on the machine and within the limits of control groups.

use std::fs;
use std::path::{Path, PathBuf};

/// Kernel memory of one socket that counts as reclaimable and is not, bytes: its inode (832) and
/// its directory entry (192), in their slabs on Linux 6.
const PINNED_BYTES_PER_SOCKET: u64 = 1_024;
/// A run keeps at least this share of a place's memory free …
const RESERVE_SHARE: f64 = 0.03;
/// … and at least so much …
const RESERVE_BYTES: u64 = 512 << 20;
/// … but never more than this share, so that small machines can be used at all.
const RESERVE_SHARE_MAX: f64 = 0.125;
/// Where the version 2 tree of control groups is found.
const GROUPS: &str = "/sys/fs/cgroup";

/// Memory that a run may use: the machine's, or what a control group allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    pub total_bytes: u64,
    pub left_bytes: u64,
}

impl Place {
    /// What a run leaves to everybody else.
    pub fn reserve_bytes(&self) -> u64 {
        let share = |share: f64| (self.total_bytes as f64 * share) as u64;
        share(RESERVE_SHARE)
            .max(RESERVE_BYTES)
            .min(share(RESERVE_SHARE_MAX))
    }

    /// What a run may still take.
    pub fn spare_bytes(&self) -> u64 {
        self.left_bytes.saturating_sub(self.reserve_bytes())
    }

    /// Reads the machine and the control groups of this process, and returns the place with least
    /// to spare; `None` where nothing can be read.
    pub fn read() -> Option<Place> {
        let text = |path: &Path| fs::read_to_string(path).ok();
        let sockets = text(Path::new("/proc/net/sockstat")).unwrap_or_default();
        let machine = text(Path::new("/proc/meminfo")).and_then(|info| machine(&info, &sockets));
        let own = text(Path::new("/proc/self/cgroup")).unwrap_or_default();
        let groups = group_folders(Path::new(GROUPS), &own)
            .into_iter()
            .filter_map(|folder| {
                group(
                    &text(&folder.join("memory.max"))?,
                    &text(&folder.join("memory.current"))?,
                    &text(&folder.join("memory.stat")).unwrap_or_default(),
                )
            });
        tightest(machine.into_iter().chain(groups))
    }
}

fn tightest(places: impl Iterator<Item = Place>) -> Option<Place> {
    places.min_by_key(|place| {
        let reserve = place.reserve_bytes().max(1);
        let filled = u128::from(place.left_bytes) * 1_000 / u128::from(reserve);
        (place.spare_bytes(), filled)
    })
}

/// The machine's memory from `/proc/meminfo` and `/proc/net/sockstat`.
///
/// `MemAvailable` takes nearly all reclaimable slabs for free. Inodes and directory entries of
/// sockets are such slabs, and none of them can be reclaimed while its socket is open: with
/// millions of sockets there are gigabytes less than it says. So what the sockets hold is
/// subtracted, and at least half of those slabs.
fn machine(meminfo: &str, sockstat: &str) -> Option<Place> {
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
    Some(Place {
        total_bytes: kib("MemTotal")?,
        left_bytes: kib("MemAvailable")?.saturating_sub(pinned.max(slabs / 2)),
    })
}

/// What a control group allows, from the texts of its files; `None`: it has no limit of its own.
/// Pages of files that nobody touched lately can be taken back and do not count as used.
fn group(max: &str, current: &str, stat: &str) -> Option<Place> {
    let total_bytes = max.trim().parse::<u64>().ok()?;
    let current: u64 = current.trim().parse().ok()?;
    let idle_files = stat
        .lines()
        .find_map(|line| line.strip_prefix("inactive_file "));
    let idle_files: u64 = idle_files.and_then(|n| n.trim().parse().ok()).unwrap_or(0);
    let used = current.saturating_sub(idle_files);
    Some(Place {
        total_bytes,
        left_bytes: total_bytes.saturating_sub(used),
    })
}

/// The folders of a process's own control group and of those around it, from `/proc/self/cgroup`:
/// the version 2 hierarchy is the line that begins with `0::` (cgroups(7)).
fn group_folders(root: &Path, own: &str) -> Vec<PathBuf> {
    let Some(path) = own.lines().find_map(|line| line.strip_prefix("0::/")) else {
        return Vec::new();
    };
    let own = root.join(path);
    let up = own
        .ancestors()
        .take_while(|folder| folder.starts_with(root));
    up.map(Path::to_owned).collect()
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
        let place = machine(&meminfo(16_384, 10_000, slabs_mib), &sockstat).unwrap();
        assert_eq!(place.total_bytes, 16_384 * MIB);
        place.left_bytes / MIB
    }

    #[test]
    fn slabs_that_sockets_hold_are_not_there() {
        assert_eq!(left_mib(0, 0), 10_000);
        assert_eq!(left_mib(400, 10), 9_800, "at least half of them");
        // 4 Mi sockets hold 4 GiB of the slabs.
        assert_eq!(left_mib(5_000, 4 << 20), 10_000 - 4_096);
        assert_eq!(left_mib(3_000, 4 << 20), 7_000, "never more than there are");
    }

    #[test]
    fn what_cannot_be_read_is_no_memory_at_all() {
        assert_eq!(machine("MemTotal: 5 kB\n", ""), None);
        assert_eq!(machine("MemTotal: x kB\nMemAvailable: 3 kB\n", ""), None);
        let without_sockets = machine(&meminfo(10, 8, 4), "nothing").unwrap();
        assert_eq!(without_sockets.left_bytes, 6 * MIB);
    }

    #[test]
    fn a_group_has_what_its_limit_leaves() {
        let stat = "anon 5\ninactive_file 100\nactive_file 7\n";
        let place = group("1000\n", "600\n", stat).unwrap();
        assert_eq!((place.total_bytes, place.left_bytes), (1_000, 500));
        assert_eq!(group("max\n", "600\n", stat), None);
        assert_eq!(group("1000\n", "2000\n", "").unwrap().left_bytes, 0);
    }

    #[test]
    fn groups_are_looked_at_up_to_the_root() {
        let root = Path::new("/g");
        let own = "4:memory:/old\n0::/user.slice/run.scope\n";
        let folders = group_folders(root, own);
        let expected = ["/g/user.slice/run.scope", "/g/user.slice", "/g"];
        assert_eq!(folders, expected.map(PathBuf::from));
        assert_eq!(group_folders(root, "0::/\n"), [PathBuf::from("/g")]);
        assert_eq!(
            group_folders(root, "4:memory:/old\n"),
            Vec::<PathBuf>::new()
        );
    }

    #[test]
    fn the_place_with_least_to_spare_counts() {
        let place = |total_mib: u64, left_mib: u64| Place {
            total_bytes: total_mib * MIB,
            left_bytes: left_mib * MIB,
        };
        let (machine, group) = (place(65_536, 4_000), place(4_096, 3_000));
        // The machine keeps 1,966 MiB, the group 512 MiB.
        assert_eq!(tightest([group, machine].into_iter()), Some(machine));
        assert_eq!(tightest([].into_iter()), None);
    }

    #[test]
    fn the_reserve_is_a_share_a_minimum_and_never_too_much() {
        let reserve_mib = |total_mib: u64| {
            let place = Place {
                total_bytes: total_mib * MIB,
                left_bytes: 0,
            };
            place.reserve_bytes() / MIB
        };
        assert_eq!(reserve_mib(100_000), 3_000);
        assert_eq!(reserve_mib(8_192), 512);
        assert_eq!(reserve_mib(1_024), 128);
    }
}
