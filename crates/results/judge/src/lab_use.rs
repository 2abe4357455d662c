//! The use of the lab's hosts during a run, and its cost: money is decimal, as in [`cost`](crate::cost).

use record::schema::{EventKind, HostFlow, HostUse, TrafficPrices};
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;

use crate::cost::{GIGABYTE, HOUR_NS, Money, Traffic};
use crate::figures::Figures;

/// The use of a lab's hosts with prices, as reported at the run's end.
pub(crate) struct LabUse<'a> {
    pub(crate) currency: &'a str,
    pub(crate) hosts: &'a [HostUse],
    flows: &'a [HostFlow],
    traffic: &'a TrafficPrices,
}

impl<'a> LabUse<'a> {
    pub(crate) fn find(figures: &'a Figures) -> Option<LabUse<'a>> {
        let mut reported = figures.events.iter().rev();
        reported.find_map(|event| match &event.what {
            EventKind::LabUsed { currency: Some(currency), hosts, flows, traffic } => {
                Some(LabUse { currency, hosts, flows, traffic })
            }
            _ => None,
        })
    }
}

/// The cost of a host; `None`: it has no price, or one that no number holds.
pub(crate) fn cost_of(host: &HostUse) -> Option<Money> {
    let per_hour: Decimal = host.per_hour.as_ref()?.parse().ok()?;
    let billed = Decimal::from(host.billed_ns);
    per_hour.checked_mul(billed.checked_div(HOUR_NS)?)
}

fn sum(hosts: &[HostUse]) -> Option<Money> {
    let costs = hosts.iter().filter_map(cost_of);
    costs.fold(None, |sum: Option<Money>, cost| sum.unwrap_or_default().checked_add(cost))
}

/// The cost of what was sent, as far as it has a price; `None`: nothing has one, or it was not counted.
pub(crate) fn cost_of_traffic(of: &LabUse<'_>) -> Option<Money> {
    if of.flows.is_empty() || of.traffic.are_none() {
        return None;
    }
    let sent = sent(of.flows, &[]);
    let cost = |bytes: u64, price: &Option<String>| {
        let per_gb: Decimal = price.as_ref()?.parse().ok()?;
        per_gb.checked_mul(Decimal::from(bytes).checked_div(GIGABYTE)?)
    };
    let costs =
        [cost(sent.to_regions, &of.traffic.regions), cost(sent.to_users, &of.traffic.users)];
    costs.into_iter().flatten().reduce(Money::saturating_add)
}

/// The cost of all hosts with a price during the run, and of what they sent; `None`: nothing has a price.
pub(crate) fn cost(figures: &Figures) -> Option<f64> {
    let found = LabUse::find(figures)?;
    let costs = [sum(found.hosts), cost_of_traffic(&found)];
    costs.into_iter().flatten().reduce(Money::saturating_add)?.to_f64()
}

/// The traffic from a system's hosts, in bytes.
struct SentBytes {
    to_regions: u64,
    to_users: u64,
}

/// The traffic from the hosts of these keys to each other and to users; no keys: all hosts.
fn sent(flows: &[HostFlow], hosts: &[String]) -> SentBytes {
    let is_own = |key: &String| hosts.is_empty() || hosts.contains(key);
    let mut sent = SentBytes { to_regions: 0, to_users: 0 };
    for flow in flows.iter().filter(|flow| flow.from.as_ref().is_some_and(is_own)) {
        match &flow.to {
            None => sent.to_users += flow.bytes,
            Some(to) if is_own(to) && flow.to_region != flow.from_region => {
                sent.to_regions += flow.bytes;
            }
            Some(_) => {}
        }
    }
    sent
}

/// The traffic from the hosts of a system in a run, by their keys in the lab's file, or all hosts if none is given;
/// `None`: it was not counted.
pub fn traffic(figures: &Figures, hosts: &[String]) -> Option<Traffic> {
    let mut reported = figures.events.iter().rev();
    let flows = reported.find_map(|event| match &event.what {
        EventKind::LabUsed { flows, .. } => Some(flows),
        _ => None,
    })?;
    let run_ns = figures.ended_ns();
    if flows.is_empty() || run_ns == 0 {
        return None;
    }
    let SentBytes { to_regions, to_users } = sent(flows, hosts);
    Some(Traffic { to_regions, to_users, run_ns })
}

/// The cost of all hosts for each hour that a user was there.
pub(crate) fn cost_per_user_hour(figures: &Figures) -> Option<f64> {
    let hours = figures.user_hours();
    (hours > 0.0).then_some(cost(figures)? / hours)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_hour_has_as_many_nanoseconds() {
        assert_eq!(HOUR_NS, Decimal::from(3_600_000_000_000_u64));
        assert_eq!(GIGABYTE, Decimal::from(1_000_000_000_u64));
    }

    #[test]
    fn traffic_is_what_a_systems_hosts_send_to_other_regions_and_to_users() {
        let flow =
            |from: Option<&str>, from_region: &str, to: Option<&str>, to_region: &str, bytes| {
                HostFlow {
                    from: from.map(str::to_owned),
                    from_region: from_region.to_owned(),
                    to: to.map(str::to_owned),
                    to_region: to_region.to_owned(),
                    bytes,
                }
            };
        let flows = [
            flow(Some("api"), "eu", Some("store"), "us", 1),
            flow(Some("store"), "us", Some("api"), "eu", 2),
            // Within a region it is free.
            flow(Some("api"), "us", Some("store"), "us", 4),
            flow(Some("api"), "eu", None, "eu", 8),
            flow(Some("api"), "eu", None, "us", 16),
            // What users send is free.
            flow(None, "eu", Some("api"), "eu", 32),
            // The replica is another system's.
            flow(Some("store"), "us", Some("replica"), "eu", 64),
            flow(Some("replica"), "eu", None, "eu", 128),
        ];
        let of = |hosts: &[&str]| {
            let hosts: Vec<String> = hosts.iter().map(|&host| host.to_owned()).collect();
            let sent = sent(&flows, &hosts);
            (sent.to_regions, sent.to_users)
        };
        assert_eq!(of(&["api", "store"]), (1 + 2, 8 + 16));
        assert_eq!(of(&["api", "store", "replica"]), (1 + 2 + 64, 8 + 16 + 128));
        assert_eq!(of(&[]), of(&["api", "store", "replica"]));
        assert_eq!(of(&["api"]), (0, 24));
    }
}
