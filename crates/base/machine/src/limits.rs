//! How many users this machine can hold, and what a number of users needs.
//!
//! [`MachineLimits::compute`] is a pure function of facts and demand. What a user costs is stated
//! here and nowhere else.

mod each;
mod setting;

use crate::facts::Facts;
use crate::loops::{LOOPS_MAX, connections_per_loop};

pub use setting::{SetError, Setting};

/// Kernel memory of one end of an idle connection, bytes: socket, inode, directory entry, file and
/// epoll entry. Measured on Linux 6 at one and two million pairs: 8.3 to 8.4 kB for both ends.
pub const KERNEL_BYTES_PER_END: u64 = 4_200;
/// Memory of the generator for an idle WebSocket user, bytes; an upper bound.
pub const USER_BYTES: u64 = 400;
/// Memory of the built-in market for a connection, bytes; an upper bound.
pub const TARGET_BYTES_PER_USER: u64 = 1_024;

/// Larger demands are treated as this one: sums must not overflow.
pub const USERS_MAX: u64 = 1_000_000_000_000;

/// Memory that a user takes on this machine, bytes.
pub fn bytes_per_user(target_here: bool) -> u64 {
    let target = KERNEL_BYTES_PER_END + TARGET_BYTES_PER_USER;
    KERNEL_BYTES_PER_END + USER_BYTES + if target_here { target } else { 0 }
}

/// The demands of a run on the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Demand {
    /// Users at once, each with one connection.
    pub users: u64,
    /// Whether the target runs on this machine as well.
    pub target_here: bool,
    pub sources: Sources,
}

/// The source addresses of connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sources {
    /// The target is on loopback: loops take addresses of 127.0.0.0/8 as they need them.
    Loopback,
    /// The number of pairs of an own address and an address of the target; at least 1. Each pair has
    /// all ports.
    Pairs(u64),
}

impl Demand {
    /// Ends of a user's connection on this machine: each is an open file and takes kernel memory.
    fn ends(&self) -> u64 {
        1 + u64::from(self.target_here)
    }
}

/// One limit, and what it means for a demand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limit {
    /// For people; the name of the kernel setting if it is one.
    pub name: &'static str,
    pub now: String,
    pub needed: String,
    /// Users that it allows; `None`: it sets no number.
    pub users: Option<u64>,
    /// The same after the fix.
    pub users_fixed: Option<u64>,
    /// Whether it limits every run, however the run is laid out.
    pub binds: bool,
    pub fix: Fix,
}

/// The remedy for a limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fix {
    /// The limit is high enough.
    NotNeeded,
    /// The kernel's setting can be changed.
    Set(Setting),
    /// A command for the shell that starts the run.
    Shell(String),
    /// A remedy in words: no command does it.
    Advice(String),
}

/// The limits of this machine for a demand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineLimits {
    pub demand: Demand,
    /// The most common first. What could not be read is left out.
    pub limits: Vec<Limit>,
}

impl MachineLimits {
    /// The limits of a machine with these facts.
    pub fn compute(facts: &Facts, mut demand: Demand) -> MachineLimits {
        demand.users = demand.users.min(USERS_MAX);
        MachineLimits { demand, limits: each::all(facts, &demand) }
    }

    /// The number of users that the machine can hold now, and the limit that sets it.
    pub fn users_now(&self) -> Option<(u64, &Limit)> {
        least(self.limits.iter(), |limit| limit.users)
    }

    /// The same after all fixes.
    pub fn users_fixed(&self) -> Option<(u64, &Limit)> {
        least(self.limits.iter(), |limit| limit.users_fixed)
    }

    /// The lowest limit that this demand exceeds, however the run is laid out.
    pub fn shortage(&self) -> Option<(u64, &Limit)> {
        let binding = self.limits.iter().filter(|limit| limit.binds);
        least(binding, |limit| limit.users).filter(|&(users, _)| users < self.demand.users)
    }

    /// True if nothing has to be fixed.
    pub fn suffices(&self) -> bool {
        let is_too_low = |limit: &Limit| limit.users.is_some_and(|users| users < self.demand.users);
        !self.limits.iter().any(|limit| limit.fix != Fix::NotNeeded || is_too_low(limit))
    }

    /// The settings to change.
    pub fn settings(&self) -> impl Iterator<Item = &Setting> {
        self.limits.iter().filter_map(|limit| match &limit.fix {
            Fix::Set(setting) => Some(setting),
            _ => None,
        })
    }

    /// All commands that help, in order; the ones for the shell come last.
    pub fn commands(&self) -> Vec<String> {
        let shell = self.limits.iter().filter_map(|limit| match &limit.fix {
            Fix::Shell(command) => Some(command.clone()),
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

/// The number of loops that hold `users`.
fn loops(users: u64, files_per_table: u64) -> u64 {
    let wanted = users.div_ceil(connections_per_loop(files_per_table));
    wanted.clamp(1, LOOPS_MAX)
}

#[cfg(test)]
mod tests;
