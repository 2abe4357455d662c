//! The traffic between hosts and users of a lab, by the keys of hosts and by region: what traffic costs depends
//! on nothing else.

use std::collections::{BTreeMap, HashMap};
use std::net::Ipv4Addr;

use crate::directory::Directory;
use crate::message::FlowStatus;
use crate::wan::{Flow, Network, WanError};

/// Most pairs that are reported: a status is one line.
const PAIRS_MAX: usize = 10_000;

/// An end of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct FlowEnd<'a> {
    /// Key of the host in the file; `None`: users.
    key: Option<&'a str>,
    region: &'a str,
}

/// The flows between hosts and users since the network was reset. What the host that conducts sends and receives is the
/// measurement's own, and left out. `None`: it is not counted, or there are too many pairs.
pub(crate) fn between(
    directory: &Directory,
    network: &dyn Network,
) -> Result<Option<Vec<FlowStatus>>, WanError> {
    let flows = network.flows()?;
    let found = flows.map(|flows| sums(&ends(directory), &flows));
    Ok(found.filter(|flows| flows.len() <= PAIRS_MAX))
}

fn ends(directory: &Directory) -> HashMap<Ipv4Addr, FlowEnd<'_>> {
    let file = &directory.file;
    let numbered = directory.plans.iter().enumerate();
    let ends = numbered.filter_map(|(number, plan)| {
        let region = file.regions.get(usize::from(plan.place))?;
        let key = file.hosts.get(number).map(|host| host.group.as_str());
        Some((plan.address, FlowEnd { key, region }))
    });
    ends.collect()
}

fn sums(ends: &HashMap<Ipv4Addr, FlowEnd<'_>>, flows: &[Flow]) -> Vec<FlowStatus> {
    let mut sums: BTreeMap<(FlowEnd<'_>, FlowEnd<'_>), u64> = BTreeMap::new();
    for flow in flows {
        if let (Some(from), Some(to)) = (ends.get(&flow.from), ends.get(&flow.to)) {
            *sums.entry((*from, *to)).or_default() += flow.bytes;
        }
    }
    let sums = sums.into_iter().map(|((from, to), bytes)| FlowStatus {
        from: from.key.map(str::to_owned),
        from_region: from.region.to_owned(),
        to: to.key.map(str::to_owned),
        to_region: to.region.to_owned(),
        bytes,
    });
    sums.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_of_one_key_and_region_are_one() {
        let address = |last| Ipv4Addr::new(198, 18, 0, last);
        let api = FlowEnd { key: Some("api"), region: "eu" };
        let store = FlowEnd { key: Some("store"), region: "us" };
        let users = FlowEnd { key: None, region: "eu" };
        let ends: HashMap<Ipv4Addr, FlowEnd<'_>> =
            [(address(1), api), (address(2), api), (address(3), store), (address(4), users)].into();
        let flow = |from, to, bytes| Flow { from: address(from), to: address(to), bytes };
        // 9 is the host that conducts.
        let flows =
            [flow(1, 3, 10), flow(2, 3, 5), flow(3, 1, 7), flow(2, 4, 100), flow(9, 1, 1_000)];
        let found = sums(&ends, &flows);
        let shown = found.iter().map(|flow| {
            let key = |key: &Option<String>| key.clone().unwrap_or_else(|| "users".to_owned());
            format!("{} {} {}", key(&flow.from), key(&flow.to), flow.bytes)
        });
        let shown: Vec<String> = shown.collect();
        assert_eq!(shown, ["api users 100", "api store 15", "store api 7"]);
        assert_eq!((found[1].from_region.as_str(), found[1].to_region.as_str()), ("eu", "us"));
    }
}
