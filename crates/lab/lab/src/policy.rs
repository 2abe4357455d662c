//! Which instances of a service a user of a region gets: a pure function of the policy, the region, who is well, and
//! a draw.
//!
//! The policies are those of managed DNS services of 2015. Where nobody is well all are answered, as they do: an answer
//! that may be wrong is better than none. Matchmaking alone denies users: an entry point asks each site (Grozev and Buyya,
//! as the thesis reports them).

use crate::file::{LabFile, Matchmaking, Origin, Policy};
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
            let mut groups = by_location(by, file, region).map(in_region);
            let found = groups.find(|group| !group.is_empty());
            found.unwrap_or_else(|| nearest(file, region, pool).into_iter().collect())
        }
        Policy::Matchmaking(matchmaking) => {
            match_site(matchmaking, file, region, &well, hosts).into_iter().collect()
        }
    }
}

/// The regions of the entries for users of a region, the most specific first.
fn by_location(
    by: &[(Origin, usize)],
    file: &LabFile,
    region: usize,
) -> impl Iterator<Item = usize> {
    // The host that conducts is nowhere.
    let location = file.locations.get(region).cloned().unwrap_or_default();
    // Users behind an access link are where it leads to.
    let base = file.access.iter().find(|access| access.region == region).map(|access| access.of);
    let is = |code: &Option<String>, name: &String| code.as_ref() == Some(name);
    let rank = |origin: &Origin| match origin {
        Origin::Region(of) if *of == region => Some(0),
        Origin::Region(of) => (base == Some(*of)).then_some(1),
        Origin::State(name) => is(&location.state, name).then_some(2),
        Origin::Country(name) => is(&location.country, name).then_some(3),
        Origin::Continent(name) => is(&location.continent, name).then_some(4),
        Origin::Default => Some(5),
    };
    let ranked = by.iter().filter_map(|(origin, wanted)| Some((rank(origin)?, *wanted)));
    let mut ranked: Vec<(u8, usize)> = ranked.collect();
    ranked.sort_by_key(|(rank, _)| *rank);
    ranked.into_iter().map(|(_, wanted)| wanted)
}

/// The host of the site that an entry point chooses: of those that may serve the user and are well the nearest, or a
/// cheaper one that is little farther away; `None`: the user is denied. If none of those that may is well, all count.
fn match_site(
    matchmaking: &Matchmaking,
    file: &LabFile,
    region: usize,
    well: &[usize],
    hosts: &[usize],
) -> Option<usize> {
    let eligible = |pool: &[usize]| {
        let sites = pool.iter().filter_map(|host| {
            let of = file.hosts[*host].region;
            let (_, site) = matchmaking.sites.iter().find(|(region, _)| *region == of)?;
            let may = site.data.contains(&region) && site.permits.contains(&region);
            may.then(|| Candidate {
                host: *host,
                cost: site.cost,
                round_trip_ns: file.round_trip_ns(region, of),
            })
        });
        sites.collect::<Vec<Candidate>>()
    };
    // The host that conducts is no user.
    if region >= file.regions.len() {
        return nearest(file, region, hosts);
    }
    let candidates = match eligible(well) {
        none if none.is_empty() => eligible(hosts),
        found => found,
    };
    let shortest_ns = candidates.iter().map(|site| site.round_trip_ns).min()?;
    let limit_ns = shortest_ns.saturating_add(matchmaking.within_ns);
    let near = candidates.into_iter().filter(|site| site.round_trip_ns <= limit_ns);
    let chosen = near.min_by(|a, b| {
        a.cost.total_cmp(&b.cost).then_with(|| a.round_trip_ns.cmp(&b.round_trip_ns))
    });
    chosen.map(|site| site.host)
}

/// A site that may serve a user.
struct Candidate {
    host: usize,
    cost: f64,
    round_trip_ns: u64,
}

/// How long a user of a region waits for the decision of a policy, in nanoseconds: for the entry point, and the entry point
/// for the farthest of the sites that it asks.
pub fn decision_ns(policy: &Policy, file: &LabFile, region: usize) -> u64 {
    let Policy::Matchmaking(matchmaking) = policy else { return 0 };
    let entry = matchmaking.entry.filter(|_| region < file.regions.len());
    let Some(entry) = entry else { return 0 };
    let sites = matchmaking.sites.iter().map(|(site, _)| file.round_trip_ns(entry, *site));
    file.round_trip_ns(region, entry) + sites.max().unwrap_or(0)
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
    use crate::file::MatchmakingSite;
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
    fn geolocation_goes_by_the_most_specific_place_that_is_well() {
        let policy = Policy::Geolocation(vec![(Origin::Region(0), 2), (Origin::Default, 1)]);
        assert_eq!(chosen(&policy, 0, &[], 0.0), [2]);
        assert_eq!(chosen(&policy, 2, &[], 0.0), [1]);
        // Nobody is there: the next larger place, and at last the nearest.
        assert_eq!(chosen(&policy, 0, &[2], 0.0), [1]);
        assert_eq!(chosen(&policy, 0, &[1, 2], 0.0), [0]);
    }

    fn american() -> LabFile {
        let text = "lab: t\nnetwork: aws-2015\nregions: [ireland, virginia, oregon, sao-paulo, sydney]\n\
                    hosts: { api: { each: all } }\n";
        let (file, diagnostics) = lab(Source { name: "t", text });
        file.unwrap_or_else(|| panic!("{diagnostics:?}"))
    }

    #[test]
    fn states_come_before_countries_continents_and_the_default() {
        let place = |name: &str| name.to_owned();
        let policy = Policy::Geolocation(vec![
            (Origin::Default, 0),
            (Origin::Continent(place("north-america")), 3),
            (Origin::Country(place("us")), 1),
            (Origin::State(place("us-or")), 2),
        ]);
        let file = american();
        let choose_at = |region, ill: &[usize]| {
            choose(&policy, &file, region, &[0, 1, 2, 3, 4], &|host| !ill.contains(&host), 0.0)
        };
        // Virginia by its country, Oregon by its state, Sydney by nothing.
        assert_eq!([choose_at(1, &[]), choose_at(2, &[]), choose_at(4, &[])], [[1], [2], [0]]);
        assert_eq!(choose_at(2, &[2]), [1], "its country");
        assert_eq!(choose_at(2, &[1, 2]), [3], "its continent");
        assert_eq!(choose_at(2, &[1, 2, 3]), [0], "the default");
    }

    /// Ireland has everybody's data, Virginia those of the Americas and costs less; Sydney's users may be served by
    /// nobody who has their data.
    #[test]
    fn an_entry_point_takes_the_nearest_that_may_or_a_cheaper_one_or_denies() {
        let file = american();
        let site = |data: &[usize], permits: &[usize], cost| MatchmakingSite {
            data: data.to_vec(),
            permits: permits.to_vec(),
            cost,
        };
        let matchmaking = |within_ms: u64| Matchmaking {
            sites: vec![
                (0, site(&[0, 1, 2, 3, 4], &[0, 1, 2, 3], 2.0)),
                (1, site(&[1, 2, 3], &[1, 2, 3], 1.0)),
                (2, site(&[1, 2], &[1, 2], 3.0)),
            ],
            entry: Some(0),
            within_ns: within_ms * 1_000_000,
        };
        let choose_at = |within_ms, region, ill: &[usize]| {
            let policy = Policy::Matchmaking(matchmaking(within_ms));
            choose(&policy, &file, region, &[0, 1, 2, 3, 4], &|host| !ill.contains(&host), 0.0)
        };
        assert_eq!(choose_at(0, 0, &[]), [0], "it alone has the data");
        assert_eq!(choose_at(0, 2, &[]), [2], "the nearest");
        assert_eq!(choose_at(200, 2, &[]), [1], "a cheaper one");
        assert_eq!(choose_at(0, 2, &[2]), [1], "the next that is well");
        assert_eq!(choose_at(0, 4, &[]), [] as [usize; 0], "denied");
        assert_eq!(choose_at(0, 2, &[0, 1, 2]), [2], "none is well");
        // Sydney to Ireland, and Ireland to the farthest site, Oregon.
        let policy = Policy::Matchmaking(matchmaking(0));
        let expected = file.round_trip_ns(4, 0) + file.round_trip_ns(0, 2);
        assert_eq!(decision_ns(&policy, &file, 4), expected);
        assert_eq!(decision_ns(&Policy::Latency, &file, 4), 0);
    }
}
