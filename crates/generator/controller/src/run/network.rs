//! The networks that the users of each region connect from, and the addresses that names have in each.

use std::collections::BTreeSet;
use std::net::{SocketAddr, ToSocketAddrs};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use crate::names::{Client, Lookup, Resolvers, System};
use driver::addresses::AddressBook;
use engine::addresses::NOWHERE;
use machine::clock::monotonic_ns;
use machine::host::NetworkCounters;
use machine::procfs::{self, FileError};
use machine::thread::{Namespace, NamespaceError};
use plan::{Endpoint, Plan, Target};
use workers::Place;

use super::error::ConductError;

/// Why users cannot connect from the network namespaces that were given.
#[derive(Debug, thiserror::Error)]
pub enum NetnsError {
    #[error(
        "--netns {0}: the scenario has no regions; give it some, such as `regions: {{ {0}: 1 }}`"
    )]
    NoRegions(String),
    #[error("--netns {region}: the scenario has no such region; its regions are {known}")]
    UnknownRegion { region: String, known: String },
    #[error("the lab has no region `{0}`, in which the scenario has users")]
    NotInLab(String),
    #[error("--netns {0} is given twice: a region has one network namespace")]
    Twice(String),
    #[error(
        "--netns and --workers exclude each other: loops enter namespaces as threads of one process; remove --workers"
    )]
    Workers,
    #[error(
        "--netns needs a target by URL: a built-in target listens on the loopback of its own network namespace only"
    )]
    BuiltIn,
    #[error("region {region}")]
    Namespace {
        region: String,
        #[source]
        source: NamespaceError,
    },
    #[error("region {region}: the counters of its network namespace cannot be read")]
    Counters {
        region: String,
        #[source]
        source: FileError,
    },
}

/// The generator's own namespace, for each region.
pub(super) fn generators_own(plan: &Plan) -> Vec<Option<Namespace>> {
    vec![None; plan.regions.len().max(1)]
}

/// The network of a run's users.
pub(super) struct Network {
    /// Namespace and addresses of each region.
    pub(super) places: Vec<Place>,
    /// The names of each namespace, to be resolved again during the run.
    pub(super) lookups: Vec<Lookup>,
    /// Counters of the namespaces that users connect from; empty: of the generator's own.
    pub(super) counters: Vec<NetworkCounters>,
}

impl Network {
    /// The network as far as it is known before the target runs: nothing of a built-in target, which has no address yet.
    pub(super) fn find(
        plan: &Plan,
        namespaces: &[Option<Namespace>],
    ) -> Result<Network, ConductError> {
        match plan.target {
            Target::Builtin { .. } => Ok(Network::empty()),
            Target::Url(_) => Network::resolve(plan, namespaces),
        }
    }

    /// The network once the target runs. A built-in one is in the generator's own namespace, as its users are.
    pub(super) fn complete(self, plan: &Plan) -> Result<Network, ConductError> {
        let network = match self.places.is_empty() {
            true => Network::resolve(plan, &generators_own(plan))?,
            false => self,
        };
        Ok(Network { counters: counters(plan, &network.places)?, ..network })
    }

    fn empty() -> Network {
        Network { places: Vec::new(), lookups: Vec::new(), counters: Vec::new() }
    }

    /// Resolves the names of endpoints in the namespace of each region; `None` among these is the generator's own.
    pub(super) fn resolve(
        plan: &Plan,
        namespaces: &[Option<Namespace>],
    ) -> Result<Network, ConductError> {
        let system = System::read();
        let mut own: Option<Arc<AddressBook>> = None;
        let mut network = Network::empty();
        for (number, netns) in namespaces.iter().enumerate() {
            let lookup = match (netns, &own) {
                (Some(namespace), _) => {
                    let region = name(plan, number);
                    let inside = namespace.run(|| look_up(plan, &system));
                    let inside = inside.map_err(|source| NetnsError::Namespace {
                        region: region.clone(),
                        source,
                    })?;
                    let lookup = inside.map_err(|error| in_region(error, &region))?;
                    Some(lookup.of_region(region))
                }
                (None, None) => Some(look_up(plan, &system)?),
                (None, Some(_)) => None,
            };
            let addresses = match (&lookup, &own) {
                (Some(lookup), _) => Arc::clone(lookup.book()),
                (None, Some(own)) => Arc::clone(own),
                (None, None) => continue,
            };
            if netns.is_none() {
                own = Some(Arc::clone(&addresses));
            }
            network.places.push(Place { netns: netns.clone(), addresses });
            network.lookups.extend(lookup);
        }
        Ok(network)
    }
}

/// Resolves names in the network that the calling thread is in.
fn look_up(plan: &Plan, system: &System) -> Result<Lookup, ConductError> {
    let hosts = &plan.options.hosts;
    let endpoints: Vec<Endpoint> =
        plan.endpoints.iter().map(|endpoint| plan::reached(hosts, endpoint)).collect();
    let first = first_addresses(plan, &endpoints)?;
    let client = Box::new(Client::open(system));
    let resolvers = Resolvers { count: plan.options.dns.resolvers_count, now_ns: monotonic_ns() };
    Ok(Lookup::begin(&endpoints, &first, system, resolvers, client))
}

/// The first address of each endpoint, or that it needs none.
fn first_addresses(plan: &Plan, endpoints: &[Endpoint]) -> Result<Vec<SocketAddr>, ConductError> {
    let addresses = endpoints.iter().map(|endpoint| {
        if !plan.has_address(endpoint) {
            return Ok(NOWHERE);
        }
        let fail = |problem: String| ConductError::Resolve { host: endpoint.host.clone(), problem };
        let found = (endpoint.host.as_str(), endpoint.port).to_socket_addrs();
        let mut found = found.map_err(|e| fail(e.to_string()))?;
        found.next().ok_or_else(|| fail("the name has no address".to_owned()))
    });
    addresses.collect()
}

/// The network counters of all namespaces that users connect from; empty: the generator's own alone.
fn counters(plan: &Plan, places: &[Place]) -> Result<Vec<NetworkCounters>, NetnsError> {
    let mut all = Vec::new();
    if places.iter().all(|place| place.netns.is_none()) {
        return Ok(all);
    }
    let mut known = BTreeSet::new();
    for (number, place) in places.iter().enumerate() {
        let path = place.netns.as_ref().map(Namespace::path);
        if !known.insert(file_number(path)) {
            continue;
        }
        let region = || name(plan, number);
        let counters = match &place.netns {
            None => NetworkCounters::open(),
            Some(namespace) => namespace
                .run(NetworkCounters::open)
                .map_err(|source| NetnsError::Namespace { region: region(), source })?,
        };
        all.push(counters.map_err(|source| NetnsError::Counters { region: region(), source })?);
    }
    Ok(all)
}

/// The number by which the system knows a namespace: two files may be of one.
fn file_number(path: Option<&Path>) -> Option<(u64, u64)> {
    let path = path.unwrap_or(Path::new(procfs::OWN_NETWORK));
    let metadata = std::fs::metadata(path).ok()?;
    Some((metadata.dev(), metadata.ino()))
}

fn name(plan: &Plan, region: usize) -> String {
    let region = plan.regions.get(region);
    region.map_or_else(String::new, |region| region.name.clone())
}

/// The error with the region in whose namespace it happened.
fn in_region(error: ConductError, region: &str) -> ConductError {
    match error {
        ConductError::Resolve { host, problem } => ConductError::Resolve {
            host,
            problem: format!("{problem} (in the network namespace of region {region})"),
        },
        error => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> Plan {
        crate::testing::plan(
            "target: http://127.0.0.1:1/\nregions: { north: 2, south: 1 }\nsessions: { s: [ { get: / } ] }\n\
             arrivals: [ { hold: 1s } ]\n",
        )
    }

    #[test]
    fn hosts_are_reached_where_the_scenario_says() {
        let plan = crate::testing::plan(
            "target: http://no.such.host.invalid/\noptions: { hosts: { \"*.invalid:80\": \"127.0.0.1:8080\" } }\n\
             sessions: { s: [ { get: / } ] }\narrivals: [ { hold: 1s } ]\n",
        );
        let network = Network::resolve(&plan, &[None]).unwrap();
        let first = network.places[0].addresses.first();
        assert_eq!(**first, [[["127.0.0.1:8080".parse().unwrap()]]]);
    }

    #[test]
    fn regions_of_one_network_share_its_addresses() {
        let plan = plan();
        let network = Network::resolve(&plan, &[None, None]).unwrap();
        let own = &network.places;
        let first = own[0].addresses.first();
        assert_eq!(**first, [[["127.0.0.1:1".parse().unwrap()]]]);
        assert!(Arc::ptr_eq(&own[0].addresses, &own[1].addresses));
        assert_eq!(network.lookups.len(), 1, "one network");
        assert!(counters(&plan, own).unwrap().is_empty());
    }

    #[test]
    fn a_missing_namespace_is_named_with_its_region() {
        let plan = plan();
        let found = [None, Some(Namespace::at(Path::new("/nonexistent/netns")))];
        let error = Network::resolve(&plan, &found).err().unwrap();
        let text = workers::with_causes(&error);
        assert!(text.contains("region south"), "{text}");
        assert!(text.contains("/nonexistent/netns"), "{text}");
    }
}
