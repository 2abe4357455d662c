//! All hosts of a lab with their addresses: those of the file, one for each region's users, and the one that conducts.

use std::net::Ipv4Addr;

use crate::wan::{Link, Subnet};

use crate::file::{CONTROL, CROWD_PREFIX, LabFile};

/// The network of benchmarks (RFC 2544, RFC 6890), 198.18.0.0/15.
const FIRST: u32 = u32::from_be_bytes([198, 18, 0, 0]);
/// Addresses of a region.
const REGION_ADDRESSES: u32 = 1 << REGION_BITS;
const REGION_BITS: u8 = 10;

/// A host that is to be made.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct HostPlan {
    /// Unique.
    pub(crate) name: String,
    /// Number of the region, or [`CONTROL`], the place behind the last region.
    pub(crate) place: u16,
    /// Address of the host.
    pub(crate) address: Ipv4Addr,
    /// How many cores it may use; `None`: all.
    pub(crate) cpus: Option<f64>,
    /// How much memory it may use; `None`: all.
    pub(crate) memory_bytes: Option<u64>,
}

impl HostPlan {
    /// Whether it may use less than the machine has.
    pub(crate) fn is_limited(&self) -> bool {
        self.cpus.is_some() || self.memory_bytes.is_some()
    }
}

/// All hosts: those of the file by their numbers, then those of users by region, then the one that conducts.
pub(crate) fn hosts(file: &LabFile) -> Vec<HostPlan> {
    let mut counts = vec![0; file.regions.len() + 1];
    let mut place = |name: String, place: usize, cpus, memory_bytes| {
        counts[place] += 1;
        let address = FIRST + place as u32 * REGION_ADDRESSES + counts[place];
        HostPlan { name, place: place as u16, address: Ipv4Addr::from(address), cpus, memory_bytes }
    };
    let written = file.hosts.iter();
    let mut hosts: Vec<HostPlan> = written
        .map(|host| place(host.name.clone(), host.region, host.cpus, host.memory_bytes))
        .collect();
    for (region, name) in file.regions.iter().enumerate() {
        hosts.push(place(format!("{CROWD_PREFIX}{name}"), region, None, None));
    }
    hosts.push(place(CONTROL.to_owned(), file.regions.len(), None, None));
    hosts
}

/// The addresses of all places: of the regions, and of the place that conducts.
pub(crate) fn subnets(file: &LabFile) -> Vec<Subnet> {
    let places = 0..=file.regions.len() as u32;
    let subnets = places.map(|place| Subnet {
        first: Ipv4Addr::from(FIRST + place * REGION_ADDRESSES),
        prefix: 32 - REGION_BITS,
    });
    subnets.collect()
}

/// The matrix of links with the place that conducts, which nothing separates from the others.
pub(crate) fn links(file: &LabFile) -> Vec<Link> {
    let count = file.regions.len();
    let places = (0..=count).flat_map(|from| (0..=count).map(move |to| (from, to)));
    places
        .map(|(from, to)| match from < count && to < count {
            true => file.links[from * count + to],
            false => Link::new(0),
        })
        .collect()
}

/// The host with the shortest round trip to a region; of equal ones the first.
pub(crate) fn nearest(file: &LabFile, region: usize, hosts: &[usize]) -> Option<usize> {
    let round_trip = |host: usize| match region < file.regions.len() {
        true => file.round_trip_ns(region, file.hosts[host].region),
        // From the host that conducts everything is as near.
        false => 0,
    };
    hosts.iter().copied().min_by_key(|host| round_trip(*host))
}

#[cfg(test)]
mod tests {
    use scenario::document::Source;

    use super::*;

    #[test]
    fn each_host_has_an_address_of_its_place() {
        let text = "
lab: addresses
network: aws-2025
hosts: { box: { each: all, count: 3 } }
";
        let name = "lab.yaml";
        let (file, found) = crate::file::lab(Source { name, text });
        let file = file.unwrap_or_else(|| panic!("{found:?}"));
        let subnets = subnets(&file);
        assert_eq!(subnets.len().pow(2), links(&file).len());
        let hosts = hosts(&file);
        assert_eq!(hosts.len(), 12 * 4 + 1);
        for host in &hosts {
            let places = (0..).zip(&subnets);
            let of = places.filter(|(_, subnet)| subnet.contains(host.address));
            let of: Vec<u16> = of.map(|(place, _)| place).collect();
            assert_eq!(of, [host.place], "{}", host.name);
            assert_ne!(host.address, subnets[usize::from(host.place)].first);
        }
    }
}
