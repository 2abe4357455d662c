//! Refuses a run whose users its machines cannot hold.
//!
//! Only limits that every run meets are checked: memory, open files of the machine, TCP memory,
//! ports, tracked connections. A run lays out its own file tables.

use std::net::{IpAddr, SocketAddr, UdpSocket};

use machine::limits::{Demand, Sources, about};
use machine::{Facts, MachineLimits};
use plan::{Plan, Target};
use workers::{Agent, FleetError, Layout, Loops, Place, PoolError, WorkersError, shares};

use super::error::{ConductError, TooSmall};
use super::network::NetnsError;

/// The users of a run, and where they connect from and to.
#[derive(Debug, Clone, Copy)]
pub(super) struct PlannedLoad<'a> {
    pub(super) plan: &'a Plan,
    pub(super) layout: &'a Layout,
    /// The networks of regions. Empty for a built-in target, which has no address yet but will run on this machine.
    pub(super) places: &'a [Place],
}

/// A run that its machines can hold, or that is made although they cannot.
#[derive(Debug)]
pub(super) struct Admission {
    /// The loops of each agent; empty without a fleet.
    pub(super) shares: Vec<Loops>,
    /// A sentence for the record: the machines are too small, and are used anyway.
    pub(super) warning: Option<String>,
}

impl PlannedLoad<'_> {
    /// Compares the users with what `agents` can hold, or this machine if there are none. A run that is too large is an
    /// error unless it is forced.
    pub(super) fn admit(&self, agents: &[Agent], force: bool) -> Result<Admission, ConductError> {
        match agents {
            [] => self.admit_here(force),
            agents => self.admit_to_fleet(agents, force),
        }
    }

    /// Compares the users with the limits of this machine, and of the network namespaces of regions.
    fn admit_here(&self, force: bool) -> Result<Admission, ConductError> {
        let small = match self.places.iter().any(|place| place.netns.is_some()) {
            true => self.shortage_of_regions()?,
            false => {
                let users = self.layout.users_max;
                let demand = demand(users, &self.addresses(), self.sources_count(), is_own);
                shortage(&Facts::read(), demand)
            }
        };
        let warning = match small {
            None => None,
            Some(small) if force => Some(format!(
                "this machine can hold about {} users at once{}: {} is {}, and {} is needed; --force ran it \
                 anyway",
                about(small.holds),
                small.in_region(),
                small.limit,
                small.now,
                small.needed
            )),
            Some(small) => return Err(small.into()),
        };
        Ok(Admission { shares: Vec::new(), warning })
    }

    /// Compares the users with what the agents of a fleet can hold, and deals the loops to these.
    fn admit_to_fleet(&self, agents: &[Agent], force: bool) -> Result<Admission, ConductError> {
        let away = agents.iter().find(|agent| !agent.is_here);
        if let (Target::Builtin { .. }, Some(agent)) = (&self.plan.target, away) {
            let agent = agent.name.clone();
            return Err(refused(FleetError::BuiltIn { agent }));
        }
        // An address is known to be an agent's own if it is loopback, or if all agents are on this machine.
        let is_theirs = |ip: IpAddr| ip.is_loopback() || away.is_none() && is_own(ip);
        let users = self.layout.users_max;
        let demand = demand(users, &self.addresses(), self.sources_count(), is_theirs);
        let pairs = match demand.sources {
            Sources::Loopback => None,
            Sources::Pairs(count) => Some(count),
        };
        let all = Loops::all(self.layout.loops_count);
        let (shares, small) = shares(agents, all, users, demand.target_here, pairs);
        let warning = match small {
            None => None,
            Some(small) if force => Some(format!("{small}, and did")),
            Some(small) => return Err(refused(small)),
        };
        Ok(Admission { shares, warning })
    }

    /// The limit that is too small for the users of a region, or for all of them. Each namespace has ports of its own;
    /// memory and files are the machine's.
    fn shortage_of_regions(&self) -> Result<Option<TooSmall>, ConductError> {
        let regions = &self.plan.regions;
        let users = self.layout.users_max;
        let total: f64 = regions.iter().map(|region| region.share).sum();
        let mut pairs = 0;
        let mut loopback = false;
        let mut target_here = false;
        for (region, place) in regions.iter().zip(self.places) {
            let own = (users as f64 * region.share / total).ceil() as u64;
            let look = || {
                let demand = demand(own, &addresses(place), self.sources_count(), is_own);
                (shortage(&Facts::read(), demand), demand)
            };
            let (small, demand) = match &place.netns {
                None => look(),
                Some(namespace) => namespace.run(look).map_err(|source| NetnsError::Namespace {
                    region: region.name.clone(),
                    source,
                })?,
            };
            if let Some(small) = small {
                let region = Some(region.name.clone());
                return Ok(Some(TooSmall { region, ..small }));
            }
            match demand.sources {
                Sources::Loopback => loopback = true,
                Sources::Pairs(count) => pairs += count,
            }
            target_here |= demand.target_here;
        }
        let sources = match loopback {
            true => Sources::Loopback,
            false => Sources::Pairs(pairs),
        };
        let all = Demand { users, target_here, sources };
        Ok(shortage(&Facts::read(), all))
    }

    /// All addresses that users of the first place connect to.
    fn addresses(&self) -> Vec<SocketAddr> {
        self.places.first().map_or_else(Vec::new, addresses)
    }

    /// The number of own addresses that the scenario sets.
    fn sources_count(&self) -> u64 {
        self.plan.options.source_addresses.len() as u64
    }
}

fn refused(error: FleetError) -> ConductError {
    ConductError::Pool(PoolError::Workers(WorkersError::Fleet(error)))
}

/// All addresses that users of a place connect to.
fn addresses(place: &Place) -> Vec<SocketAddr> {
    place.addresses.all_first().collect()
}

fn shortage(facts: &Facts, demand: Demand) -> Option<TooSmall> {
    let limits = MachineLimits::compute(facts, demand);
    let (holds, limit) = limits.shortage()?;
    Some(TooSmall {
        users: demand.users,
        region: None,
        holds,
        target_here: demand.target_here,
        limit: limit.name,
        now: limit.now.clone(),
        needed: limit.needed.clone(),
    })
}

/// The demand of a run on its machine. `addresses` are the target's, none if it is built in; `sources`:
/// the number of own addresses that the scenario sets.
fn demand(
    users: u64,
    addresses: &[SocketAddr],
    sources: u64,
    is_own: impl Fn(IpAddr) -> bool,
) -> Demand {
    let loopback = |address: &SocketAddr| address.is_ipv4() && address.ip().is_loopback();
    let mut targets = addresses.to_vec();
    targets.sort();
    targets.dedup();
    Demand {
        users,
        target_here: addresses.iter().all(|address| is_own(address.ip())),
        sources: match sources {
            0 if addresses.iter().all(loopback) => Sources::Loopback,
            _ => Sources::Pairs(sources.max(1) * (targets.len() as u64).max(1)),
        },
    }
}

/// True for an address of this machine: only those can be bound to (ip(7)).
fn is_own(address: IpAddr) -> bool {
    address.is_loopback() || UdpSocket::bind((address, 0)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::Memory;

    fn facts() -> Facts {
        Facts {
            files_per_table: 20_000,
            files_machine: Some(2_466_177),
            files_in_use: Some(1_000),
            ports: Some((32_768, 60_999)),
            memory: Some(Memory { total_bytes: 24 << 30, available_bytes: 23 << 30 }),
            ..Facts::default()
        }
    }

    fn local(users: u64) -> Demand {
        demand(users, &[], 0, |_| true)
    }

    #[test]
    fn a_run_that_fits_is_allowed() {
        assert_eq!(shortage(&facts(), local(1_000_000)), None);
    }

    #[test]
    fn a_run_that_does_not_fit_is_refused_with_the_limit_and_the_way_out() {
        let small = shortage(&facts(), local(2_000_000)).unwrap();
        assert_eq!(
            small.to_string(),
            "this machine can hold about 1,230,000 users at once with the target on it, but the \
             scenario needs 2,000,000: fs.file-max is 2,466,177, and 4,002,696 is needed; `throng \
             doctor --users 2000000` shows what to raise; `--force` runs anyway"
        );
    }

    #[test]
    fn small_file_tables_do_not_count() {
        let few_files = Facts { files_per_table: 64, accept_queue: Some(5), ..facts() };
        assert_eq!(shortage(&few_files, local(1_000_000)), None);
    }

    #[test]
    fn the_place_of_the_target_decides_what_is_needed() {
        let address = |text: &str| text.parse::<SocketAddr>().unwrap();
        let own = |ip: IpAddr| ip.is_loopback() || ip == IpAddr::from([10, 0, 0, 1]);
        let built_in = demand(5, &[], 0, own);
        assert_eq!((built_in.target_here, built_in.sources), (true, Sources::Loopback));
        let on_loopback = demand(5, &[address("127.0.0.1:80")], 0, own);
        assert_eq!(on_loopback, built_in);
        let at_home = demand(5, &[address("10.0.0.1:80")], 0, own);
        assert_eq!((at_home.target_here, at_home.sources), (true, Sources::Pairs(1)));
        let two = [address("10.0.0.2:80"), address("10.0.0.3:80"), address("10.0.0.2:80")];
        let away = demand(5, &two, 3, own);
        assert_eq!((away.target_here, away.sources), (false, Sources::Pairs(6)));
        let given = demand(5, &[address("127.0.0.1:80")], 2, own);
        assert_eq!(given.sources, Sources::Pairs(2));
    }

    #[test]
    fn ports_limit_runs_against_a_remote_target() {
        let away = demand(30_000, &["192.0.2.1:80".parse().unwrap()], 0, |_| false);
        let small = shortage(&facts(), away).unwrap();
        assert_eq!((small.holds, small.limit), (28_232, "net.ipv4.ip_local_port_range"));
        assert!(small.to_string().contains("--users 30000 --target-elsewhere"));
    }

    #[test]
    fn own_addresses_are_recognised() {
        assert!(is_own(IpAddr::from([127, 9, 9, 9])));
        // TEST-NET-1 (RFC 5737 §3) belongs to no machine.
        assert!(!is_own(IpAddr::from([192, 0, 2, 1])));
    }
}
