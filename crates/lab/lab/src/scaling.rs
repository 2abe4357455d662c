//! Scaling groups: how many instances of a service there are, by alarms.
//!
//! | file | what it decides, as a pure function of times and values |
//! |---|---|
//! | `alarm` | whether a metric is beyond its limit for long enough |
//! | `group` | how many instances there should be, and why |
//! | `fleet` | which of them are launched and ended |
//! | `usage` | for how long hosts are paid |
//!
//! The semantics are those of Amazon CloudWatch's alarms and of the simple scaling policies of Amazon EC2 Auto Scaling, as
//! their user guides describe them. Where these modules differ, their documentation says so.

pub mod alarm;
pub mod fleet;
pub mod group;
#[cfg(test)]
mod sample;
pub mod usage;

pub use alarm::{Action, Alarm, Metric, MissingPolicy, Statistic};
pub use group::{Decision, Group};

/// When instances that are not wanted any more end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum EndRule {
    /// At once, the newest first.
    #[default]
    AtOnce,
    /// Before the next unit of time that they would be paid for begins, the one whose unit ends first. Until then they
    /// serve, and are there if they are wanted again.
    AtBilling,
}

/// How many instances a group has.
#[derive(Debug, Clone, PartialEq)]
pub struct Rules {
    /// Fewest instances.
    pub minimum: u32,
    /// Number of instances at the start of a run.
    pub desired: u32,
    /// Most instances.
    pub maximum: u32,
    /// From the launch of an instance until its process is started, in nanoseconds: a machine boots.
    pub start_up_ns: u64,
    /// How long an instance may take to end in good order, in nanoseconds.
    pub drain_ns: u64,
    /// When instances that are not wanted any more end.
    pub ends: EndRule,
    /// Alarms that change the number.
    pub alarms: Vec<Alarm>,
}
