//! The requirements of a run on a fleet: agents, connections to them, and the time for which they may be away.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::carrier::Carrier;
use super::protocol::Loops;

/// An agent that returns just before it is lost has missed nothing: reports are a second apart, and take time.
const LEAVE_NS: u64 = 3_000_000_000;

/// A machine's agent that was chosen for a run. It runs one worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agent {
    /// The name by which people know it.
    pub name: String,
    /// Cores that its worker may use.
    pub cores: u32,
    /// Open files that each of its loops may have.
    pub files_per_loop: u64,
    /// Users that its machine can hold at once if the target is elsewhere, ports aside.
    pub holds: u64,
    /// Users that its machine can hold at once if the target is on it.
    pub holds_with_target: u64,
    /// Ports for each pair of an own address and one of the target.
    pub ports: u64,
    /// True if it is on the controller's machine.
    pub is_here: bool,
}

/// The destination of the rows of a fleet's run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rows {
    /// They are sent to the controller.
    #[default]
    Fetch,
    /// They stay on the machines of the agents, in a file each.
    Leave,
    /// None are written.
    None,
}

/// The limits within which a run tolerates the faults of a fleet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tolerances {
    /// The run does not start if the offset to a clock is known worse than this.
    pub clock_bound_ns: u64,
    /// An agent that has been silent for this long is lost.
    pub silence_ns: u64,
    /// True if the share of a lost agent is dealt to the others.
    #[serde(default)]
    pub rebalances: bool,
}

impl Tolerances {
    /// The time after its last contact in which an agent may start users, if others take them over when it is lost.
    pub(super) fn contact_ns_max(self) -> Option<u64> {
        let max_ns = contact_ns_max(self.silence_ns);
        self.rebalances.then_some(max_ns)
    }
}

/// The time after its last contact in which an agent starts users, if it is lost after this silence.
pub(super) fn contact_ns_max(silence_ns: u64) -> u64 {
    silence_ns.saturating_add(LEAVE_NS)
}

/// The agents of one run, and the connections to them.
pub trait Fleet: fmt::Debug {
    /// The run's name in the fleet.
    fn run(&self) -> &str;
    fn agents(&self) -> &[Agent];
    fn tolerances(&self) -> Tolerances;
    /// The destination of rows.
    fn rows(&self) -> Rows;
    /// Lets the agent of this number start a worker that introduces itself by `token` over the carrier that is returned.
    /// `material`: the serialised [`crate::Material`], which has all that may be secret. The error is for people.
    fn open(&self, agent: usize, token: &str, material: &[u8]) -> Result<Arc<dyn Carrier>, String>;
    /// Connects to the worker that the agent of this number has started for another controller. All of its messages are
    /// received from the beginning. The error is for people.
    fn reopen(&self, agent: usize) -> Result<Arc<dyn Carrier>, String>;
    /// Keeps, with the run, the state that another controller needs to continue it. The error is for people.
    fn keep(&self, state: &str) -> Result<(), String>;
    /// Notes that the run is over with this outcome.
    fn conclude(&self, outcome: &str);
    /// Shows the user a sentence that cannot wait for the record.
    fn notify(&self, what: &str);
}

/// The reason for which the fleet cannot make a run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FleetError {
    #[error(
        "the fleet can hold about {holds} of the scenario's {users} users at once: agent {agent} is the limit, which \
         can hold {agent_holds} and has a share of {share}; start more agents, or raise its limits (`throng doctor` \
         there); `--force` runs anyway"
    )]
    TooSmall { users: String, holds: String, agent: String, agent_holds: String, share: String },
    #[error(
        "the target is built in and listens on this machine only, which agent {agent} cannot reach; start it with \
         `throng serve` where all agents reach it, and write its URL as `target`"
    )]
    BuiltIn { agent: String },
}

/// Deals loops in proportion to weights, one at least to each: every whole share, and of what is left one to each of the
/// greatest remainders (Hamilton's method). There are as many loops as agents at least.
pub(super) fn deal(all: Loops, weights: &[u64]) -> Vec<Loops> {
    let spare = u128::from(all.count).saturating_sub(weights.len() as u128);
    let sum = weights.iter().map(|&w| u128::from(w)).sum::<u128>().max(1);
    let parts = weights.iter().map(|&w| spare * u128::from(w));
    let mut counts: Vec<u32> = parts.clone().map(|part| 1 + (part / sum) as u32).collect();
    let mut order: Vec<(u128, usize)> = parts.map(|part| part % sum).zip(0..).collect();
    // The greatest remainder comes first; among equal ones, that of the first agent.
    order.sort_by_key(|&(remainder, agent)| (std::cmp::Reverse(remainder), agent));
    let mut left = all.count.saturating_sub(counts.iter().sum());
    for (_, agent) in order.into_iter().cycle() {
        if left == 0 || counts.is_empty() {
            break;
        }
        counts[agent] += 1;
        left -= 1;
    }
    let mut first = all.first;
    let shares = counts.into_iter().map(|count| {
        let share = Loops { first, count, of: all.of };
        first += count;
        share
    });
    shares.collect()
}

/// Users that an agent can hold at once.
fn holds(agent: &Agent, target_here: bool, pairs: Option<u64>) -> u64 {
    let ports = pairs.map_or(u64::MAX, |pairs| agent.ports.saturating_mul(pairs));
    let machine = match target_here {
        true => agent.holds_with_target,
        false => agent.holds,
    };
    machine.min(ports)
}

/// The loops of each agent, if all of them run `all` loops with `users` at once; and an error if one agent cannot hold its
/// share. `target_here`: the target is on the agents' machine; `pairs`: the number of pairs of an own address and one of
/// the target, `None` on loopback.
pub fn shares(
    agents: &[Agent],
    all: Loops,
    users: u64,
    target_here: bool,
    pairs: Option<u64>,
) -> (Vec<Loops>, Option<FleetError>) {
    let held: Vec<u64> = agents.iter().map(|a| holds(a, target_here, pairs)).collect();
    // Agents that could hold more than all users get no greater share than one that just holds them.
    let weights: Vec<u64> = held.iter().map(|&n| n.min(users.max(1))).collect();
    let shares = deal(all, &weights);
    let share_of = |loops: &Loops| {
        let users = u128::from(users) * u128::from(loops.count);
        users.div_ceil(u128::from(all.of.max(1))) as u64
    };
    // The fleet is full as soon as its first agent is.
    let fleet_holds = |(held, loops): (&u64, &Loops)| {
        (u128::from(*held) * u128::from(all.of) / u128::from(loops.count.max(1))) as u64
    };
    let each = held.iter().zip(&shares).zip(agents);
    let limit = each.min_by_key(|(pair, _)| fleet_holds(*pair));
    let error = limit.and_then(|((held, loops), agent)| {
        (share_of(loops) > *held).then(|| FleetError::TooSmall {
            users: units::count(users),
            holds: units::count(fleet_holds((held, loops))),
            agent: agent.name.clone(),
            agent_holds: units::count(*held),
            share: units::count(share_of(loops)),
        })
    });
    (shares, error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(loops: u32, weights: &[u64]) -> Vec<u32> {
        let shares = deal(Loops::all(loops), weights);
        // They follow each other without a gap.
        let mut next = 0;
        for share in &shares {
            assert_eq!(share.first, next);
            next += share.count;
        }
        assert_eq!(next, loops);
        shares.iter().map(|share| share.count).collect()
    }

    #[test]
    fn loops_are_dealt_in_proportion_and_one_at_least_to_each() {
        assert_eq!(counts(3, &[5, 5, 5]), [1, 1, 1]);
        assert_eq!(counts(10, &[1, 1]), [5, 5]);
        assert_eq!(counts(12, &[1, 3]), [4, 8]);
        assert_eq!(counts(4, &[0, 0]), [2, 2]);
        assert_eq!(counts(104, &[1, 1_000_000]), [1, 103]);
        assert_eq!(counts(7, &[u64::MAX, u64::MAX]), [4, 3]);
    }

    fn agent(name: &str, holds: u64) -> Agent {
        Agent {
            name: name.to_owned(),
            cores: 2,
            files_per_loop: 20_000,
            holds,
            holds_with_target: holds / 2,
            ports: 28_232,
            is_here: true,
        }
    }

    #[test]
    fn the_agent_that_is_the_limit_is_named() {
        let agents = [agent("a", 1_000), agent("b", 100)];
        let all = Loops::all(11);
        assert_eq!(shares(&agents, all, 500, false, None).1, None);
        let (_, error) = shares(&agents, all, 3_000, false, None);
        let text = error.unwrap().to_string();
        assert!(text.contains("agent b is the limit, which can hold 100"), "{text}");
        // With the target beside them they hold half.
        assert!(shares(&agents, all, 800, true, None).1.is_some());
        // Against one address ports are the limit.
        let agents = [agent("a", 1_000_000), agent("b", 1_000_000)];
        assert!(shares(&agents, Loops::all(2), 60_000, false, Some(1)).1.is_some());
        assert!(shares(&agents, Loops::all(2), 60_000, false, Some(2)).1.is_none());
    }
}
