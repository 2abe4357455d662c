//! Before a run: whether this machine can hold the users it asks for.
//!
//! Only limits that no run gets around are looked at: memory, open files of the machine, TCP's
//! memory, ports, followed connections. What a run may do about its own files is its business.

use std::net::{IpAddr, SocketAddr, UdpSocket};

use plan::Plan;
use plan::Target;

use crate::capacity::{Capacity, Demand, Sources, about};
use crate::conduct::ConductError;
use crate::doctor::Facts;
use crate::prepare::resolve;

/// The machine is too small for the run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "this machine can hold about {} users at once{}, and the scenario asks for {}: {limit} is \
     {now}, and {needed} would be needed; `throng doctor --users {users}{}` tells what helps, and \
     `--force` runs nevertheless",
    about(*.holds),
    if *.target_here { " with the target on it" } else { "" },
    units::count(*.users),
    if *.target_here { "" } else { " --target-elsewhere" }
)]
pub struct TooSmall {
    pub users: u64,
    pub holds: u64,
    pub target_here: bool,
    pub limit: &'static str,
    pub now: String,
    pub needed: String,
}

/// Holds `users` of `plan` against this machine. Where it is too small that is an error, or with
/// `force` a sentence for the record.
pub(crate) fn check(plan: &Plan, users: u64, force: bool) -> Result<Option<String>, ConductError> {
    // A built-in target is not there yet, but where it will be is known.
    let addresses = match &plan.target {
        Target::Builtin { .. } => Vec::new(),
        Target::Url(_) => resolve(&plan.endpoints)?,
    };
    let sources = plan.options.source_addresses.len() as u64;
    let demand = demand(users, &addresses, sources, is_own);
    match shortage(&Facts::read(), demand) {
        None => Ok(None),
        Some(small) if force => Ok(Some(format!(
            "this machine can hold about {} users at once: {} is {}, and {} would be needed; it was \
             run with --force",
            about(small.holds),
            small.limit,
            small.now,
            small.needed
        ))),
        Some(small) => Err(small.into()),
    }
}

fn shortage(facts: &Facts, demand: Demand) -> Option<TooSmall> {
    let capacity = Capacity::of(facts, demand);
    let (holds, limit) = capacity.shortage()?;
    Some(TooSmall {
        users: demand.users,
        holds,
        target_here: demand.target_here,
        limit: limit.name,
        now: limit.now.clone(),
        needed: limit.needed.clone(),
    })
}

/// What a run asks of the machine. `addresses` are those of the target, none where it is built in;
/// `sources`: own addresses that the scenario gives.
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

/// Whether an address is one of this machine: only those can be bound to (ip(7)).
fn is_own(address: IpAddr) -> bool {
    address.is_loopback() || UdpSocket::bind((address, 0)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Place;

    fn facts() -> Facts {
        Facts {
            files_per_table: 20_000,
            files_machine: Some(2_466_177),
            files_in_use: Some(1_000),
            ports: Some((32_768, 60_999)),
            memory: Some(Place {
                total_bytes: 24 << 30,
                left_bytes: 23 << 30,
            }),
            ..Facts::default()
        }
    }

    fn local(users: u64) -> Demand {
        demand(users, &[], 0, |_| true)
    }

    #[test]
    fn a_run_that_fits_is_let_through() {
        assert_eq!(shortage(&facts(), local(1_000_000)), None);
    }

    #[test]
    fn a_run_that_does_not_fit_is_told_why_and_what_helps() {
        let small = shortage(&facts(), local(2_000_000)).unwrap();
        assert_eq!(
            small.to_string(),
            "this machine can hold about 1,230,000 users at once with the target on it, and the \
             scenario asks for 2,000,000: fs.file-max is 2,466,177, and 4,002,696 would be needed; \
             `throng doctor --users 2000000` tells what helps, and `--force` runs nevertheless"
        );
    }

    #[test]
    fn the_users_own_limits_do_not_count() {
        let few_files = Facts {
            files_per_table: 64,
            accept_queue: Some(5),
            ..facts()
        };
        assert_eq!(shortage(&few_files, local(1_000_000)), None);
    }

    #[test]
    fn where_the_target_is_decides_what_is_needed() {
        let address = |text: &str| text.parse::<SocketAddr>().unwrap();
        let own = |ip: IpAddr| ip.is_loopback() || ip == IpAddr::from([10, 0, 0, 1]);
        let built_in = demand(5, &[], 0, own);
        assert_eq!(
            (built_in.target_here, built_in.sources),
            (true, Sources::Loopback)
        );
        let on_loopback = demand(5, &[address("127.0.0.1:80")], 0, own);
        assert_eq!(on_loopback, built_in);
        let at_home = demand(5, &[address("10.0.0.1:80")], 0, own);
        assert_eq!(
            (at_home.target_here, at_home.sources),
            (true, Sources::Pairs(1))
        );
        let two = [
            address("10.0.0.2:80"),
            address("10.0.0.3:80"),
            address("10.0.0.2:80"),
        ];
        let away = demand(5, &two, 3, own);
        assert_eq!((away.target_here, away.sources), (false, Sources::Pairs(6)));
        let given = demand(5, &[address("127.0.0.1:80")], 2, own);
        assert_eq!(given.sources, Sources::Pairs(2));
    }

    #[test]
    fn ports_bind_where_the_target_is_elsewhere() {
        let away = demand(30_000, &["192.0.2.1:80".parse().unwrap()], 0, |_| false);
        let small = shortage(&facts(), away).unwrap();
        assert_eq!(
            (small.holds, small.limit),
            (28_232, "net.ipv4.ip_local_port_range")
        );
        assert!(
            small
                .to_string()
                .contains("--users 30000 --target-elsewhere")
        );
    }

    #[test]
    fn own_addresses_are_told_from_others() {
        assert!(is_own(IpAddr::from([127, 9, 9, 9])));
        // TEST-NET-1 (RFC 5737 §3) is nobody's.
        assert!(!is_own(IpAddr::from([192, 0, 2, 1])));
    }
}
