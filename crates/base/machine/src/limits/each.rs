//! The limits, one by one.

use super::setting::numbers;
use super::{Demand, Fix, Limit, Setting, Sources, bytes_per_user, loops};
use crate::facts::Facts;
use crate::loops::{LOOPS_MAX, connections_per_loop};

/// Bytes of a page; no supported architecture has smaller ones.
const PAGE_BYTES: u64 = 4_096;
/// TCP may use at most this share of the machine's memory.
const TCP_SHARE_MAX: f64 = 0.75;
/// Open files of a loop or of a thread of the target that are not connections.
const FILES_PER_THREAD: u64 = 8;
/// Open files of a process, if the limit has to be raised.
const FILES_WANTED: u64 = 20_000;
/// Lengths of connection queues: the least that is recommended, and the most that makes sense.
const CONNECTION_QUEUE: (u64, u64) = (1_024, 65_535);
/// Lengths of packet queues: the least that is recommended, and the most that makes sense.
const PACKET_QUEUE: (u64, u64) = (1_000, 100_000);
/// The widest range of local ports that leaves out the ports on which servers usually listen.
const PORTS_WIDE: (u64, u64) = (10_000, 65_535);
/// Own loopback addresses of a loop (`driver`, source addresses).
const ADDRESSES_PER_LOOP: u64 = 64;
/// Threads of this machine that belong to neither the loops nor the target.
const THREADS_OTHERS: u64 = 1_000;
/// Memory mappings of a thread: its stack, its guard page, and its allocator's.
const MAPS_PER_THREAD: u64 = 4;

pub(super) fn all(facts: &Facts, demand: &Demand) -> Vec<Limit> {
    let local = |limit: Option<Limit>| limit.filter(|_| demand.target_here);
    let queue = |name, now: Option<u64>, (least, most): (u64, u64)| {
        now.map(|now| at_least(name, now, demand.users.clamp(least, most)))
    };
    let threads = loops(demand.users, facts.files_per_table) * demand.ends() + THREADS_OTHERS;
    let counted = |name, now: Option<u64>, needed| now.map(|now| at_least(name, now, needed));
    let limits = [
        memory_limit(facts, demand),
        Some(tables(facts, demand)),
        files(facts, demand),
        tcp_memory(facts, demand),
        facts.ports.map(|(low, high)| ports(low, high, demand)),
        local(listening(facts)),
        tracked(facts, demand),
        local(queue("net.core.somaxconn", facts.accept_queue, CONNECTION_QUEUE)),
        local(queue("net.ipv4.tcp_max_syn_backlog", facts.syn_queue, CONNECTION_QUEUE)),
        local(queue("net.core.netdev_max_backlog", facts.netdev_queue, PACKET_QUEUE)),
        counted("kernel.threads-max", facts.threads_max, threads),
        counted("kernel.pid_max", facts.pid_max, threads),
        counted("vm.max_map_count", facts.maps_max, threads * MAPS_PER_THREAD),
        facts.orphans_max.map(|max| {
            let why = "any: above it, connections that close at the end of the run are reset";
            harmless("net.ipv4.tcp_max_orphans", max, why)
        }),
        facts.time_wait_max.map(|max| {
            let why = "any: above it, closed ports are free sooner";
            harmless("net.ipv4.tcp_max_tw_buckets", max, why)
        }),
    ];
    limits.into_iter().flatten().collect()
}

/// The one limit that no command raises.
fn memory_limit(facts: &Facts, demand: &Demand) -> Option<Limit> {
    let memory = facts.memory?;
    let per_user = bytes_per_user(demand.target_here);
    let users = memory.spare_bytes() / per_user;
    let needed = per_user * demand.users + memory.reserve_bytes();
    let fix = if users >= demand.users {
        Fix::NotNeeded
    } else {
        Fix::Advice(match facts.memory_group {
            None => "free memory, or use a machine with more memory".to_owned(),
            Some(_) => "raise the memory limit of the control group (the container)".to_owned(),
        })
    };
    Some(Limit {
        name: "memory",
        now: match &facts.memory_group {
            None => format!("{} available", units::bytes(memory.available_bytes)),
            Some(group) => format!("{} available in {group}", units::bytes(memory.available_bytes)),
        },
        needed: units::bytes(needed),
        users: Some(users),
        users_fixed: Some(users),
        binds: true,
        fix,
    })
}

/// Open files of one table: each loop has a table, so this limit rarely binds; unless all share one.
fn tables(facts: &Facts, demand: &Demand) -> Limit {
    let now = facts.files_per_table;
    let tables = if facts.one_table { 1 } else { LOOPS_MAX };
    let users = connections_per_loop(now).saturating_mul(tables);
    let loops = loops(demand.users, now);
    let mut limit = Limit {
        name: match facts.one_table {
            true => "files of all loops",
            false => "files of a loop",
        },
        now: units::count(now),
        needed: match demand.target_here {
            _ if facts.one_table => units::count(demand.users + FILES_PER_THREAD),
            true => format!("any: {loops} loops, and as many threads of the target"),
            false => format!("any: {loops} loops"),
        },
        users: Some(users),
        users_fixed: Some(users),
        binds: facts.one_table,
        fix: Fix::NotNeeded,
    };
    if users < demand.users {
        let each = demand.users.div_ceil(tables);
        // A loop is not filled to its brim.
        let wanted = FILES_WANTED.max(each + each / 10 + FILES_PER_THREAD);
        limit.needed = units::count(wanted);
        limit.users_fixed = Some(connections_per_loop(wanted).saturating_mul(tables));
        let raise = format!("ulimit -n {wanted}");
        limit.fix = Fix::Shell(match facts.files_per_table_max {
            Some(max) if max < wanted => format!("sysctl -w fs.nr_open={wanted} && {raise}"),
            _ => raise,
        });
    }
    limit
}

/// Open files of the machine. Root may exceed the limit, at the expense of all other processes.
fn files(facts: &Facts, demand: &Demand) -> Option<Limit> {
    let now = facts.files_machine?;
    let threads = loops(demand.users, facts.files_per_table) * demand.ends();
    let others = facts.files_in_use.unwrap_or(0) + threads * FILES_PER_THREAD;
    let needed = others + demand.users * demand.ends();
    let room = |files: u64| Some(files.saturating_sub(others) / demand.ends());
    Some(raised("fs.file-max", now, needed, generous(needed), room))
}

/// Pages that TCP may hold: one unread byte charges a page to its connection, so a broadcast
/// charges a page for each user until it has read the message.
fn tcp_memory(facts: &Facts, demand: &Demand) -> Option<Limit> {
    let now = facts.tcp_pages?;
    let users = now[2];
    let mut limit = Limit {
        name: "net.ipv4.tcp_mem",
        now: numbers(&now),
        needed: format!("at most {} pages", units::count(demand.users)),
        users: Some(users),
        users_fixed: Some(users),
        binds: true,
        fix: Fix::NotNeeded,
    };
    if users < demand.users {
        let pages = facts.memory.map_or(u64::MAX, |memory| {
            (memory.total_bytes as f64 * TCP_SHARE_MAX) as u64 / PAGE_BYTES
        });
        // Half of the users have unread data: TCP does not save memory yet. All have: it begins to.
        let halves = [1, 2, 4].map(|halves| (demand.users * halves / 2).min(pages));
        let wanted = [0, 1, 2].map(|place| now[place].max(halves[place]));
        limit.users_fixed = Some(wanted[2]);
        limit.fix = set("net.ipv4.tcp_mem", &now, &wanted);
    }
    Some(limit)
}

fn ports(low: u64, high: u64, demand: &Demand) -> Limit {
    let count = (high + 1).saturating_sub(low);
    let mut limit = Limit {
        name: "net.ipv4.ip_local_port_range",
        now: format!("{low} {high}"),
        needed: String::new(),
        users: None,
        users_fixed: None,
        binds: true,
        fix: Fix::NotNeeded,
    };
    match demand.sources {
        Sources::Loopback => {
            limit.needed = "any: loops use loopback addresses of their own".to_owned();
            limit.users = Some(count.saturating_mul(ADDRESSES_PER_LOOP * LOOPS_MAX));
            limit.users_fixed = limit.users;
        }
        Sources::Pairs(pairs) => {
            let wide = [low.min(PORTS_WIDE.0), high.max(PORTS_WIDE.1)];
            let count_wide = wide[1] + 1 - wide[0];
            limit.needed =
                format!("{} per pair of addresses", units::count(demand.users.div_ceil(pairs)));
            limit.users = Some(count.saturating_mul(pairs));
            limit.users_fixed = limit.users;
            if limit.users < Some(demand.users) && count < count_wide {
                limit.users_fixed = Some(count_wide.saturating_mul(pairs));
                limit.fix = set(limit.name, &[low, high], &wide);
            }
            if limit.users_fixed < Some(demand.users) {
                let addresses = demand.users.div_ceil(count);
                limit.users_fixed = limit.users;
                limit.fix = Fix::Advice(format!(
                    "set {addresses} addresses in `options.source_addresses`, or use as many of the \
                     target"
                ));
            }
        }
    }
    limit
}

/// A listening port within the local port range: another connection may use it when the server
/// starts, and while no server listens a connection can connect to itself (RFC 9293 §3.5).
fn listening(facts: &Facts) -> Option<Limit> {
    let (low, high) = facts.ports?;
    let reserved = facts.ports_reserved.as_deref()?;
    Some(Limit {
        name: "net.ipv4.ip_local_reserved_ports",
        now: match reserved {
            "" => "none".to_owned(),
            ports => ports.to_owned(),
        },
        needed: format!("the target's port, if it is within {low} to {high}"),
        users: None,
        users_fixed: None,
        binds: false,
        fix: Fix::NotNeeded,
    })
}

/// Connections that netfilter tracks; if it tracks none, there is no such limit.
fn tracked(facts: &Facts, demand: &Demand) -> Option<Limit> {
    let (tracked, max) = facts.tracked.filter(|&(tracked, _)| tracked > 0)?;
    let needed = tracked + demand.users;
    let room = |max: u64| Some(max.saturating_sub(tracked));
    let name = "net.netfilter.nf_conntrack_max";
    Some(raised(name, max, needed, generous(needed), room))
}

/// A limit that sets no number of users.
fn at_least(name: &'static str, now: u64, needed: u64) -> Limit {
    let mut limit = raised(name, now, needed, needed, |_| None);
    limit.binds = false;
    limit
}

/// A limit that has to be `needed` at least, and is raised to `wanted` if it is lower.
fn raised(
    name: &'static str,
    now: u64,
    needed: u64,
    wanted: u64,
    users: impl Fn(u64) -> Option<u64>,
) -> Limit {
    let good = now >= needed;
    Limit {
        name,
        now: units::count(now),
        needed: units::count(needed),
        users: users(now),
        users_fixed: users(if good { now } else { wanted }),
        binds: true,
        fix: match good {
            true => Fix::NotNeeded,
            false => set(name, &[now], &[wanted]),
        },
    }
}

fn harmless(name: &'static str, now: u64, why: &str) -> Limit {
    let mut limit = at_least(name, now, 0);
    limit.needed = why.to_owned();
    limit
}

fn set(key: &'static str, now: &[u64], wanted: &[u64]) -> Fix {
    Fix::Set(Setting { key, now: now.to_vec(), wanted: wanted.to_vec() })
}

/// A fifth more, as a round number.
fn generous(needed: u64) -> u64 {
    let more = needed.saturating_add(needed / 5);
    let step = 10u64.pow(more.checked_ilog10().unwrap_or(0)).div_ceil(2);
    more.div_ceil(step).saturating_mul(step)
}
