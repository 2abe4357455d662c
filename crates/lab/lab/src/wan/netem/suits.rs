//! Which links netem emulates, and how those differ from the forwarder's.

use crate::wan::link::{Jitter, Link};

/// How netem emulates links.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Suits {
    /// As exactly as the forwarder.
    Exactly,
    /// In another way: all differences.
    Differently(Vec<&'static str>),
    /// Not at all, and why.
    No(&'static str),
}

const EACH_FLOW: &str =
    "access links, of which each connection has one of its own: netem has one queue for all";
const DISTRIBUTION: &str = "jitter that is neither normal nor none";
const ORDER: &str =
    "jitter: to keep the order of packets, netem has all connections of a link wait for each other";
const QUEUE: &str = "rates: netem's queue is limited by packets, not by bytes or time, and comes \
                     behind the delay; packets that are reordered skip it";

/// How netem emulates all of these links.
pub fn suits(links: &[Link]) -> Suits {
    let is_known = |jitter: &Jitter| matches!(jitter, Jitter::None | Jitter::Normal { .. });
    if links.iter().any(|link| link.each_flow) {
        return Suits::No(EACH_FLOW);
    }
    if !links.iter().all(|link| is_known(&link.jitter)) {
        return Suits::No(DISTRIBUTION);
    }
    let keeps_order = |link: &Link| link.jitter != Jitter::None && link.reorder == 0.0;
    let mut differences = Vec::new();
    if links.iter().any(keeps_order) {
        differences.push(ORDER);
    }
    if links.iter().any(|link| link.rate.is_some()) {
        differences.push(QUEUE);
    }
    match differences.is_empty() {
        true => Suits::Exactly,
        false => Suits::Differently(differences),
    }
}

#[cfg(test)]
mod tests;
