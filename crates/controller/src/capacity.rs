//! How many users this machine can hold, and what it takes to hold so many.
//!
//! [`Capacity::of`] is a pure function of what was seen and what is asked for. What a user costs
//! stands here and nowhere else.

mod limits;
mod setting;

use crate::doctor::Facts;
use crate::layout::{LOOPS_MAX, connections_per_loop};

pub use setting::{SetError, Setting};

/// Kernel memory of one end of an idle connection, bytes: socket, inode, directory entry, file and
/// epoll entry. Measured on Linux 6 at one and two million pairs: 8.3 to 8.4 kB for both ends.
pub const KERNEL_BYTES_PER_END: u64 = 4_200;
/// Memory of the generator for an idle WebSocket user, bytes; an upper bound.
pub const USER_BYTES: u64 = 400;
/// Memory of the built-in market for a connection, bytes; an upper bound.
pub const TARGET_BYTES_PER_USER: u64 = 1_024;

/// More users than these are asked for as if they were these: sums must not overflow.
pub const USERS_MAX: u64 = 1_000_000_000_000;

/// Memory that a user takes on this machine, bytes.
pub fn bytes_per_user(target_here: bool) -> u64 {
    let target = KERNEL_BYTES_PER_END + TARGET_BYTES_PER_USER;
    KERNEL_BYTES_PER_END + USER_BYTES + if target_here { target } else { 0 }
}

/// What is asked of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Demand {
    /// Users at once, each with one connection.
    pub users: u64,
    /// Whether the target runs on this machine, too.
    pub target_here: bool,
    pub sources: Sources,
}

/// Where connections come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sources {
    /// The target is on loopback: loops take addresses of 127.0.0.0/8 as they need them.
    Loopback,
    /// So many pairs of an own address and an address of the target; at least 1. Each pair has all
    /// ports.
    Pairs(u64),
}

impl Demand {
    /// Open files, and memory of the kernel, that a user takes here.
    fn ends(&self) -> u64 {
        1 + u64::from(self.target_here)
    }
}

/// One limit, and what it means for a demand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limit {
    /// For people; a setting's own name where it is one.
    pub name: &'static str,
    pub now: String,
    pub needed: String,
    /// Users that it allows; `None`: it sets no number.
    pub users: Option<u64>,
    /// The same once it is mended.
    pub users_mended: Option<u64>,
    /// Whether no run can get beyond it, however it is laid out.
    pub binds: bool,
    pub mend: Mend,
}

/// What can be done about a limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mend {
    /// It is good as it is.
    Good,
    /// The kernel's setting can be changed.
    Set(Setting),
    /// A command for the shell that starts the run.
    Shell(String),
    /// No command helps; in words.
    Advice(String),
}

/// What the machine can hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capacity {
    pub demand: Demand,
    /// In the order people think of them. What could not be read is left out.
    pub limits: Vec<Limit>,
}

impl Capacity {
    /// What a machine of these facts can hold.
    pub fn of(facts: &Facts, mut demand: Demand) -> Capacity {
        demand.users = demand.users.min(USERS_MAX);
        Capacity {
            demand,
            limits: limits::all(facts, &demand),
        }
    }

    /// Users that it can hold as it is, and the limit that stands in the way of more.
    pub fn now(&self) -> Option<(u64, &Limit)> {
        least(self.limits.iter(), |limit| limit.users)
    }

    /// The same after all that can be mended has been.
    pub fn mended(&self) -> Option<(u64, &Limit)> {
        least(self.limits.iter(), |limit| limit.users_mended)
    }

    /// The limit that keeps a run from this demand, whatever the run does: the narrowest one.
    pub fn shortage(&self) -> Option<(u64, &Limit)> {
        let binding = self.limits.iter().filter(|limit| limit.binds);
        least(binding, |limit| limit.users).filter(|&(users, _)| users < self.demand.users)
    }

    /// True where nothing has to be done.
    pub fn suffices(&self) -> bool {
        let wanting = |limit: &Limit| limit.users.is_some_and(|users| users < self.demand.users);
        !self
            .limits
            .iter()
            .any(|limit| limit.mend != Mend::Good || wanting(limit))
    }

    /// The settings to change.
    pub fn settings(&self) -> impl Iterator<Item = &Setting> {
        self.limits.iter().filter_map(|limit| match &limit.mend {
            Mend::Set(setting) => Some(setting),
            _ => None,
        })
    }

    /// All commands that help, in order; those for the shell come last.
    pub fn commands(&self) -> Vec<String> {
        let shell = self.limits.iter().filter_map(|limit| match &limit.mend {
            Mend::Shell(command) => Some(command.clone()),
            _ => None,
        });
        self.settings().map(Setting::command).chain(shell).collect()
    }
}

fn least<'l>(
    limits: impl Iterator<Item = &'l Limit>,
    users: impl Fn(&Limit) -> Option<u64>,
) -> Option<(u64, &'l Limit)> {
    let counted = limits.filter_map(|limit| Some((users(limit)?, limit)));
    counted.min_by_key(|&(users, _)| users)
}

/// A number of users to three digits, rounded down: `1,230,000`.
pub fn about(users: u64) -> String {
    let unit = 10u64.pow(users.checked_ilog10().unwrap_or(0).saturating_sub(2));
    units::count(users / unit * unit)
}

/// Loops that hold so many users.
fn loops(users: u64, files_per_table: u64) -> u64 {
    let wanted = users.div_ceil(connections_per_loop(files_per_table));
    wanted.clamp(1, LOOPS_MAX)
}

#[cfg(test)]
mod tests;
