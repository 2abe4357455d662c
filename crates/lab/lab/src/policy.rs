//! Which instances of a service a user of a region gets: a pure function of the policy, the region, who is well, and
//! a draw.
//!
//! The policies are those of managed DNS services of 2015. Where nobody is well all are answered, as they do: an answer
//! that may be wrong is better than none.

use crate::file::{LabFile, Policy};
use crate::layout::nearest;

/// Hosts by number for a user of `region` (behind the last: the host that conducts). `hosts` are the service's,
/// `is_well` says of each whether it answers, `draw` is uniform on `[0, 1)`.
pub fn choose(
    policy: &Policy,
    file: &LabFile,
    region: usize,
    hosts: &[usize],
    is_well: &dyn Fn(usize) -> bool,
    draw: f64,
) -> Vec<usize> {
    let well: Vec<usize> = hosts.iter().copied().filter(|host| is_well(*host)).collect();
    let pool = match well.is_empty() {
        true => hosts,
        false => &well,
    };
    let region_of = |host: usize| file.hosts[host].region;
    let in_region = |wanted: usize| -> Vec<usize> {
        let there = pool.iter().copied();
        there.filter(|host| region_of(*host) == wanted).collect()
    };
    match policy {
        Policy::Simple => pool.to_vec(),
        Policy::Latency => nearest(file, region, pool).into_iter().collect(),
        Policy::Weighted(weights) => {
            let weight = |host: usize| {
                let found = weights.iter().find(|(of, _)| *of == region_of(host));
                found.map_or(0.0, |(_, weight)| *weight)
            };
            weighted(pool, &weight, draw).into_iter().collect()
        }
        Policy::Failover(order) => {
            let groups = order.iter().map(|wanted| in_region(*wanted));
            let mut groups = groups.filter(|group| !group.is_empty());
            groups.next().unwrap_or_else(|| pool.to_vec())
        }
        Policy::Geolocation(by) => {
            let own = by.iter().find(|(user, _)| *user == Some(region));
            let default = by.iter().find(|(user, _)| user.is_none());
            let wanted = own.or(default).map(|(_, wanted)| in_region(*wanted));
            let found = wanted.filter(|group| !group.is_empty());
            found.unwrap_or_else(|| nearest(file, region, pool).into_iter().collect())
        }
    }
}

/// One of the hosts, with a probability in proportion to its weight; of the first if no weight is above 0.
fn weighted(hosts: &[usize], weight: &dyn Fn(usize) -> f64, draw: f64) -> Option<usize> {
    let total: f64 = hosts.iter().map(|host| weight(*host)).sum();
    let mut left = draw * total;
    for host in hosts {
        left -= weight(*host);
        if left < 0.0 {
            return Some(*host);
        }
    }
    hosts.first().copied()
}

#[cfg(test)]
mod tests {
    use scenario::document::Source;

    use super::*;
    use crate::lab;

    /// Three regions on a line, the service in all of them: hosts 0, 1, 2.
    fn file() -> LabFile {
        let text = "lab: t\nregions: [a, b, c]\nhosts: { api: { each: all } }\n\
                    links:\n  - { between: [a, b], round_trip: 10ms }\n  - { between: [b, c], round_trip: 20ms }\n\
                    \x20 - { between: [a, c], round_trip: 30ms }\n";
        let (file, diagnostics) = lab(Source { name: "t", text });
        file.unwrap_or_else(|| panic!("{diagnostics:?}"))
    }

    fn chosen(policy: &Policy, region: usize, ill: &[usize], draw: f64) -> Vec<usize> {
        choose(policy, &file(), region, &[0, 1, 2], &|host| !ill.contains(&host), draw)
    }

    #[test]
    fn latency_takes_the_nearest_that_is_well() {
        for (region, ill, host) in
            [(0, vec![], 0), (0, vec![0], 1), (2, vec![2], 1), (2, vec![1, 2], 0)]
        {
            assert_eq!(chosen(&Policy::Latency, region, &ill, 0.0), [host]);
        }
        // If none is well, all count as if they were.
        assert_eq!(chosen(&Policy::Latency, 1, &[0, 1, 2], 0.0), [1]);
    }

    #[test]
    fn simple_has_all_that_are_well() {
        assert_eq!(chosen(&Policy::Simple, 0, &[1], 0.0), [0, 2]);
        assert_eq!(chosen(&Policy::Simple, 0, &[0, 1, 2], 0.0), [0, 1, 2]);
    }

    #[test]
    fn weights_hold() {
        let policy = Policy::Weighted(vec![(0, 1.0), (2, 3.0)]);
        let mut counts = [0; 3];
        for at in 0..1000 {
            counts[chosen(&policy, 1, &[], f64::from(at) / 1000.0)[0]] += 1;
        }
        assert_eq!(counts, [250, 0, 750]);
        assert_eq!(chosen(&policy, 1, &[2], 0.99), [0]);
    }

    #[test]
    fn failover_takes_the_first_region_that_is_well() {
        let policy = Policy::Failover(vec![1, 0]);
        assert_eq!(chosen(&policy, 2, &[], 0.0), [1]);
        assert_eq!(chosen(&policy, 2, &[1], 0.0), [0]);
        assert_eq!(chosen(&policy, 2, &[0, 1], 0.0), [2]);
    }

    #[test]
    fn geolocation_goes_by_the_users_region() {
        let policy = Policy::Geolocation(vec![(Some(0), 2), (None, 1)]);
        assert_eq!(chosen(&policy, 0, &[], 0.0), [2]);
        assert_eq!(chosen(&policy, 2, &[], 0.0), [1]);
        // Nobody is there: the nearest.
        assert_eq!(chosen(&policy, 0, &[2], 0.0), [0]);
    }
}
