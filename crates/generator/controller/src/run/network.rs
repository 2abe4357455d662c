//! The networks that the users of each region connect from, and the addresses that names have in each.

use std::collections::BTreeSet;
use std::net::{SocketAddr, ToSocketAddrs};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::names::{Client, Lookup, Resolvers, System};
use driver::addresses::AddressBook;
use engine::addresses::NOWHERE;
use machine::clock::monotonic_ns;
use machine::host::NetworkCounters;
use machine::procfs::{self, FileError};
use machine::thread::{Namespace, NamespaceError};
use plan::{Plan, Target};
use workers::Place;

use super::error::ConductError;
use crate::surroundings::Surroundings;

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

/// The namespace of each region; without regions one, the generator's own.
fn namespaces(
    given: &[(String, PathBuf)],
    lab: Option<&dyn Surroundings>,
    plan: &Plan,
    workers_count: u32,
) -> Result<Vec<Option<Namespace>>, NetnsError> {
    let of_lab = match lab.filter(|_| given.is_empty()) {
        Some(lab) => netns_of_lab(lab, plan)?,
        None => Vec::new(),
    };
    let given = [given, &of_lab].concat();
    let mut all = generators_own(plan);
    let Some((first, _)) = given.first() else {
        return Ok(all);
    };
    if plan.regions.is_empty() {
        return Err(NetnsError::NoRegions(first.clone()));
    }
    for (region, path) in &given {
        let number = plan.regions.iter().position(|known| known.name == *region);
        let Some(number) = number else {
            let known: Vec<&str> = plan.regions.iter().map(|r| r.name.as_str()).collect();
            return Err(NetnsError::UnknownRegion {
                region: region.clone(),
                known: known.join(", "),
            });
        };
        if all[number].replace(Namespace::at(path)).is_some() {
            return Err(NetnsError::Twice(region.clone()));
        }
    }
    if workers_count > 0 {
        return Err(NetnsError::Workers);
    }
    if matches!(plan.target, Target::Builtin { .. }) {
        return Err(NetnsError::BuiltIn);
    }
    Ok(all)
}

/// The generator's own namespace, for each region.
fn generators_own(plan: &Plan) -> Vec<Option<Namespace>> {
    vec![None; plan.regions.len().max(1)]
}

/// The namespaces of a lab for the regions of a plan.
fn netns_of_lab(lab: &dyn Surroundings, plan: &Plan) -> Result<Vec<(String, PathBuf)>, NetnsError> {
    let regions = plan.regions.iter().map(|region| &region.name);
    regions
        .map(|region| match lab.netns(region) {
            Some(path) => Ok((region.clone(), path)),
            None => Err(NetnsError::NotInLab(region.clone())),
        })
        .collect()
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
    /// `given` and `lab` have namespaces for regions.
    pub(super) fn find(
        plan: &Plan,
        given: &[(String, PathBuf)],
        lab: Option<&dyn Surroundings>,
        workers_count: u32,
    ) -> Result<Network, ConductError> {
        let namespaces = namespaces(given, lab, plan, workers_count)?;
        match plan.target {
            Target::Builtin { .. } => Ok(Network::empty()),
            Target::Url(_) => Network::resolve(plan, &namespaces),
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
    let first = first_addresses(plan)?;
    let client = Box::new(Client::open(system));
    let resolvers = Resolvers { count: plan.options.dns.resolvers_count, now_ns: monotonic_ns() };
    let endpoints = &plan.endpoints;
    Ok(Lookup::begin(endpoints, &first, system, resolvers, client))
}

/// The first address of each endpoint, or that it needs none.
fn first_addresses(plan: &Plan) -> Result<Vec<SocketAddr>, ConductError> {
    let addresses = plan.endpoints.iter().map(|endpoint| {
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

    fn plan(regions: &str, target: &str) -> Plan {
        let text = format!(
            "target: {target}\n{regions}\nsessions: {{ s: [ {{ get: / }} ] }}\narrivals: [ {{ hold: 1s }} ]\n"
        );
        crate::testing::plan(&text)
    }

    const REGIONS: &str = "regions: { north: 2, south: 1 }";
    const URL: &str = "http://127.0.0.1:1/";

    fn refused(plan: &Plan, given: &[&str], workers_count: u32) -> String {
        let given = given.iter();
        let given = given.map(|&region| (region.to_owned(), PathBuf::from("/run/netns/x")));
        let given: Vec<(String, PathBuf)> = given.collect();
        namespaces(&given, None, plan, workers_count).unwrap_err().to_string()
    }

    #[test]
    fn namespaces_that_cannot_be_used_are_refused_with_the_reason() {
        let plain = plan(REGIONS, URL);
        assert_eq!(
            refused(&plain, &["west"], 0),
            "--netns west: the scenario has no such region; its regions are north, south"
        );
        assert_eq!(
            refused(&plan("", URL), &["west"], 0),
            "--netns west: the scenario has no regions; give it some, such as `regions: { west: 1 }`"
        );
        let twice = refused(&plain, &["north", "north"], 0);
        assert!(twice.starts_with("--netns north is given twice"), "{twice}");
        let workers = refused(&plain, &["north"], 2);
        assert!(workers.contains("remove --workers"), "{workers}");
        let built_in = refused(&plan(REGIONS, "market"), &["north"], 0);
        assert!(built_in.contains("needs a target by URL"), "{built_in}");
    }

    #[test]
    fn a_region_without_a_namespace_connects_from_the_generators() {
        let plan = plan(REGIONS, URL);
        let given = [("south".to_owned(), PathBuf::from("/run/netns/x"))];
        let found = namespaces(&given, None, &plan, 0).unwrap();
        assert_eq!(found[0], None);
        assert_eq!(found[1].as_ref().unwrap().path(), Path::new("/run/netns/x"));
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
        let plan = plan(REGIONS, URL);
        let given = [("south".to_owned(), PathBuf::from("/nonexistent/netns"))];
        let found = namespaces(&given, None, &plan, 0).unwrap();
        let error = Network::resolve(&plan, &found).err().unwrap();
        let text = workers::with_causes(&error);
        assert!(text.contains("region south"), "{text}");
        assert!(text.contains("/nonexistent/netns"), "{text}");
    }
}
