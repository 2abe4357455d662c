//! The limits of this machine one by one: what each means, and the command that raises it.
//!
//! [`examine`] is a pure function of the [`Facts`]. Nothing is changed.

use crate::facts::Facts;
use crate::limits::bytes_per_user;
use crate::loops::{LOOPS_MAX, OPEN_FILES_RESERVED};
use crate::memory::Memory;

/// Files per process below which a server or an older tool on this machine soon runs out of them.
const FILES_GOOD: u64 = 20_000;
/// Accept and SYN queues that take a storm of connections.
const BACKLOG_GOOD: u64 = 4_096;
const PORTS_GOOD: u64 = 28_000;
const NETDEV_BACKLOG_GOOD: u64 = 10_000;
const ORPHANS_GOOD: u64 = 4_096;

/// One limit of the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    pub name: &'static str,
    pub value: String,
    /// The consequence of the value for a run.
    pub meaning: String,
    /// How many users it allows; `None`: it sets no number.
    pub users: Option<u64>,
    /// The command that fixes it; `None`: it is good enough.
    pub fix: Option<String>,
}

/// The check of each limit, in the order in which a run meets them.
pub fn examine(facts: &Facts) -> Vec<Check> {
    let checks = [
        Some(files(facts)),
        facts.files_machine.map(files_machine),
        facts.ports.map(|(low, high)| ports(low, high)),
        facts.accept_queue.zip(facts.syn_queue).map(|(accept, syn)| backlog(accept, syn)),
        facts.netdev_queue.map(netdev),
        facts.time_wait_reuse.map(|reuse| time_wait(reuse, facts.time_wait_max)),
        facts.tcp_pages.map(|[_, _, max]| tcp_memory(max)),
        facts.buffers.map(|(receive, send)| buffers(receive, send)),
        facts.orphans_max.map(orphans),
        facts.fin_timeout_s.map(fin_timeout),
        facts.handshake_retries.map(|(syn, synack)| handshake_retries(syn, synack)),
        facts.slow_start_after_idle.map(slow_start),
        facts.overcommit.map(overcommit),
        facts.memory.map(|of| memory(of, facts.memory_group.as_deref())),
        Some(cores(facts.cores)),
        facts.clock.as_deref().map(clock),
    ];
    checks.into_iter().flatten().collect()
}

fn files(facts: &Facts) -> Check {
    let per_loop = facts.files_per_table.saturating_sub(OPEN_FILES_RESERVED);
    let one = facts.one_table;
    Check {
        name: "open files",
        value: format!("{} per process", facts.files_per_table),
        meaning: match one {
            true => format!(
                "a seccomp filter refuses unshare(2), so that all loops share one file table: {per_loop} connections"
            ),
            false => format!(
                "each loop has a file table of its own: {per_loop} connections per loop, up to \
                 {LOOPS_MAX} loops"
            ),
        },
        users: Some(per_loop.saturating_mul(if one { 1 } else { LOOPS_MAX })),
        fix: (facts.files_per_table < FILES_GOOD).then(|| "ulimit -n 20000".to_owned()),
    }
}

fn files_machine(max: u64) -> Check {
    Check {
        name: "open files of the machine",
        value: max.to_string(),
        meaning: "one per connection; two per connection with the target on this machine"
            .to_owned(),
        users: Some(max / 2),
        fix: (max < 2_500_000).then(|| "sysctl -w fs.file-max=5000000".to_owned()),
    }
}

fn ports(low: u64, high: u64) -> Check {
    let count = (high + 1).saturating_sub(low);
    Check {
        name: "local ports",
        value: format!("{low}–{high} ({count} ports)"),
        meaning:
            "the maximum number of connections from one own address to one target address; on \
                  loopback the loops add addresses by themselves, elsewhere set \
                  options.source_addresses"
                .to_owned(),
        users: None,
        fix: (count < PORTS_GOOD)
            .then(|| "sysctl -w net.ipv4.ip_local_port_range='32768 60999'".to_owned()),
    }
}

fn backlog(accept: u64, syn: u64) -> Check {
    let short = accept < BACKLOG_GOOD || syn < BACKLOG_GOOD / 4;
    Check {
        name: "connection queues",
        value: format!("accept {accept}, SYN {syn}"),
        meaning: "a target on this machine that accepts more slowly than users connect overflows \
                  them; then connections take 1 s or 3 s"
            .to_owned(),
        users: None,
        fix: short.then(|| {
            "sysctl -w net.core.somaxconn=65535 net.ipv4.tcp_max_syn_backlog=65535".to_owned()
        }),
    }
}

fn netdev(max: u64) -> Check {
    Check {
        name: "packet queue per core",
        value: max.to_string(),
        meaning: "a connection storm on loopback overflows a short queue; then packets are \
                  retransmitted"
            .to_owned(),
        users: None,
        fix: (max < NETDEV_BACKLOG_GOOD)
            .then(|| "sysctl -w net.core.netdev_max_backlog=100000".to_owned()),
    }
}

fn time_wait(reuse: u64, max: Option<u64>) -> Check {
    let how = match reuse {
        0 => "not reused",
        1 => "reused after 1 s",
        _ => "reused after 1 s on loopback only",
    };
    Check {
        name: "TIME_WAIT",
        value: match max {
            Some(max) => format!("{how}, at most {max}"),
            None => how.to_owned(),
        },
        meaning: "a connection that the generator closes holds its port for 60 s unless the port \
                  may be reused; this matters if every user opens a connection of its own"
            .to_owned(),
        users: None,
        fix: (reuse == 0).then(|| "sysctl -w net.ipv4.tcp_tw_reuse=1".to_owned()),
    }
}

fn tcp_memory(pages: u64) -> Check {
    Check {
        name: "TCP memory",
        value: format!("{pages} pages"),
        meaning: "one unread byte charges a page to its connection; above this limit the kernel \
                  delays sends without an error"
            .to_owned(),
        users: Some(pages),
        fix: (pages < 500_000)
            .then(|| "sysctl -w net.ipv4.tcp_mem='1000000 2000000 4000000'".to_owned()),
    }
}

fn buffers(receive: u64, send: u64) -> Check {
    Check {
        name: "socket buffers",
        value: format!("{receive} B receive, {send} B send"),
        meaning: "the kernel grows them on demand and charges memory only while they hold data"
            .to_owned(),
        users: None,
        fix: None,
    }
}

fn orphans(max: u64) -> Check {
    Check {
        name: "orphaned connections",
        value: format!("at most {max}"),
        meaning: "connections whose process has closed them before all was sent; beyond this number the kernel \
                  resets them, as when many users leave at once"
            .to_owned(),
        users: None,
        fix: (max < ORPHANS_GOOD).then(|| "sysctl -w net.ipv4.tcp_max_orphans=262144".to_owned()),
    }
}

fn fin_timeout(seconds: u64) -> Check {
    Check {
        name: "FIN timeout",
        value: format!("{seconds} s"),
        meaning: "how long an orphaned connection waits for its peer's last word; it has no part in TIME_WAIT"
            .to_owned(),
        users: None,
        fix: None,
    }
}

fn handshake_retries(syn: u64, synack: u64) -> Check {
    Check {
        name: "retries of handshakes",
        value: format!("SYN {syn}, SYN-ACK {synack}"),
        meaning: "a connection attempt that is dropped is repeated after 1 s, then after twice as long each time; \
                  few retries give up early, and free a full SYN queue of a target early"
            .to_owned(),
        users: None,
        fix: None,
    }
}

fn slow_start(is_on: u64) -> Check {
    Check {
        name: "slow start after idle",
        value: if is_on == 0 { "off" } else { "on" }.to_owned(),
        meaning: "on: after a pause a target on this machine sends 10 segments at first, and a longer answer takes \
                  more round trips; messages of a few hundred bytes do not notice"
            .to_owned(),
        users: None,
        fix: None,
    }
}

fn overcommit(mode: u64) -> Check {
    let how = match mode {
        0 => "by a guess",
        1 => "always",
        _ => "within limits",
    };
    Check {
        name: "memory overcommit",
        value: how.to_owned(),
        meaning: "Redis on this machine forks to save its data; unless memory is always granted, the fork of a large \
                  one may be refused, and then it refuses writes (MISCONF)"
            .to_owned(),
        users: None,
        fix: None,
    }
}

fn memory(memory: Memory, group: Option<&str>) -> Check {
    let available = memory.available_bytes >> 20;
    Check {
        name: "memory",
        value: match group {
            None => format!("{available} MiB available"),
            Some(group) => format!(
                "{available} MiB available of the {} MiB that the control group {group} allows",
                memory.total_bytes >> 20
            ),
        },
        meaning: format!(
            "about {} B per idle user with the target on this machine, {} B without",
            bytes_per_user(true),
            bytes_per_user(false)
        ),
        users: Some(memory.spare_bytes() / bytes_per_user(true)),
        fix: None,
    }
}

fn cores(count: u64) -> Check {
    Check {
        name: "cores",
        value: count.to_string(),
        meaning: "one loop per core in precise mode; a request costs about 5 µs of one core"
            .to_owned(),
        users: None,
        fix: None,
    }
}

fn clock(source: &str) -> Check {
    let fast =
        matches!(source, "tsc" | "kvm-clock" | "arch_sys_counter" | "hyperv_clocksource_tsc_page");
    Check {
        name: "clock source",
        value: source.to_owned(),
        meaning: if fast {
            "read without a system call".to_owned()
        } else {
            "every reading is a system call: lag and CPU use will suffer".to_owned()
        },
        users: None,
        fix: (!fast).then(|| {
            "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource".to_owned()
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> Facts {
        Facts {
            cores: 2,
            files_per_table: 20_000,
            files_machine: Some(2_466_170),
            ports: Some((32_768, 60_999)),
            accept_queue: Some(4_096),
            syn_queue: Some(1_024),
            netdev_queue: Some(100_000),
            time_wait_reuse: Some(2),
            time_wait_max: Some(131_072),
            tcp_pages: Some([275_000, 550_000, 1_100_000]),
            buffers: Some((131_072, 16_384)),
            memory: Some(Memory { total_bytes: 10_000_000_000, available_bytes: 9_536_870_912 }),
            clock: Some("tsc".to_owned()),
            ..Facts::default()
        }
    }

    fn check<'a>(checks: &'a [Check], name: &str) -> &'a Check {
        checks.iter().find(|check| check.name == name).expect("there is such a check")
    }

    #[test]
    fn a_good_machine_needs_a_fix_of_its_file_limit_only() {
        let checks = examine(&facts());
        let to_fix: Vec<_> = checks.iter().filter(|c| c.fix.is_some()).map(|c| c.name).collect();
        assert_eq!(to_fix, ["open files of the machine"]);
        let memory = check(&checks, "memory");
        assert_eq!(memory.users, Some(9_000_000_000 / bytes_per_user(true)));
        assert!(check(&checks, "local ports").value.contains("28232"));
    }

    #[test]
    fn a_control_group_that_limits_memory_is_named() {
        let checks = examine(&Facts {
            memory: Some(Memory { total_bytes: 300 << 20, available_bytes: 280 << 20 }),
            memory_group: Some("/groups/memory/job".to_owned()),
            ..facts()
        });
        let value = &check(&checks, "memory").value;
        let expected = "280 MiB available of the 300 MiB that the control group \
                        /groups/memory/job allows";
        assert_eq!(value, expected);
    }

    #[test]
    fn low_limits_come_with_the_command_that_raises_them() {
        let checks = examine(&Facts {
            files_per_table: 1_024,
            ports: Some((50_000, 50_999)),
            accept_queue: Some(128),
            time_wait_reuse: Some(0),
            clock: Some("hpet".to_owned()),
            ..facts()
        });
        for name in ["open files", "local ports", "connection queues", "TIME_WAIT", "clock source"]
        {
            assert!(check(&checks, name).fix.is_some(), "{name}");
        }
    }

    /// Each of the thesis's settings (listing 7.8) has a check.
    #[test]
    fn all_settings_of_the_thesis_are_looked_at() {
        let checks = examine(&Facts {
            orphans_max: Some(1_024),
            fin_timeout_s: Some(60),
            handshake_retries: Some((6, 5)),
            slow_start_after_idle: Some(1),
            overcommit: Some(0),
            ..facts()
        });
        // fs.file-max, netdev_max_backlog, somaxconn and tcp_max_syn_backlog, tcp_slow_start_after_idle, tcp_mem, tcp_rmem
        // and tcp_wmem, tcp_fin_timeout, tcp_max_orphans, both retries, tcp_tw_reuse, ip_local_port_range, overcommit.
        for name in [
            "open files of the machine",
            "packet queue per core",
            "connection queues",
            "slow start after idle",
            "TCP memory",
            "socket buffers",
            "FIN timeout",
            "orphaned connections",
            "retries of handshakes",
            "TIME_WAIT",
            "local ports",
            "memory overcommit",
        ] {
            check(&checks, name);
        }
        let orphans = check(&checks, "orphaned connections").fix.as_deref();
        assert_eq!(orphans, Some("sysctl -w net.ipv4.tcp_max_orphans=262144"));
        assert_eq!(check(&checks, "memory overcommit").value, "by a guess");
    }

    #[test]
    fn limits_that_cannot_be_read_are_left_out() {
        let checks = examine(&Facts { cores: 1, files_per_table: 20_000, ..Facts::default() });
        let names: Vec<_> = checks.iter().map(|check| check.name).collect();
        assert_eq!(names, ["open files", "cores"]);
    }
}
