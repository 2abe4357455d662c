//! Which local address a connection comes from, so that ports do not run out.

use std::net::{IpAddr, Ipv4Addr};

/// Connections from one source address to one endpoint before the next address is taken. The
/// default port range has 28,232 ports, and Linux looks through those of one parity first: once
/// half the range is taken, every connect searches all of that half without success, which takes 1 ms.
const PORTS_PER_SOURCE: u32 = 12_000;

/// Gives out source addresses.
#[derive(Debug)]
pub(super) struct Sources {
    given: Vec<IpAddr>,
    /// The loop's first own loopback address as a number; the following ones are its, too.
    loopback_base: u32,
    /// Whether loopback addresses are spread from the start.
    spread: bool,
    place: u32,
    used: u32,
}

/// Loopback addresses set aside for each loop.
const ADDRESSES_PER_LOOP: u32 = 64;

impl Sources {
    /// `users_max`: how many connections the run may hold at once, in all loops together.
    pub(super) fn new(given: &[IpAddr], loop_index: u32, users_max: u64) -> Sources {
        let first = u32::from(Ipv4Addr::new(127, 1, 0, 1));
        Sources {
            given: given.to_vec(),
            loopback_base: first + loop_index * ADDRESSES_PER_LOOP,
            spread: users_max > u64::from(PORTS_PER_SOURCE),
            place: 0,
            used: 0,
        }
    }

    /// The source of the next connection to `target`; `None`: the kernel chooses.
    pub(super) fn next(&mut self, target: IpAddr) -> Option<IpAddr> {
        if !self.given.is_empty() {
            // In turn, so that all carry the same load.
            self.place = self.place.wrapping_add(1);
            return Some(self.given[self.place as usize % self.given.len()]);
        }
        if !self.spread || !is_loopback_v4(target) {
            return None;
        }
        self.used += 1;
        if self.used > PORTS_PER_SOURCE {
            self.turn();
        }
        let address = self.loopback_base + self.place % ADDRESSES_PER_LOOP;
        Some(IpAddr::V4(Ipv4Addr::from(address)))
    }

    /// Ports have run out: true if another address may have some.
    pub(super) fn exhausted(&mut self, target: IpAddr) -> bool {
        if self.given.is_empty() {
            self.spread = true;
            self.turn();
            return is_loopback_v4(target);
        }
        self.given.len() > 1
    }

    /// How many addresses there are to try.
    pub(super) fn count(&self) -> usize {
        if self.given.is_empty() { ADDRESSES_PER_LOOP as usize } else { self.given.len() }
    }

    fn turn(&mut self) {
        self.place = self.place.wrapping_add(1);
        self.used = 0;
    }
}

fn is_loopback_v4(address: IpAddr) -> bool {
    address.is_loopback() && address.is_ipv4()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TARGET: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    #[test]
    fn a_small_run_uses_the_kernels_choice_until_ports_run_out() {
        let mut sources = Sources::new(&[], 1, 2_000);
        assert_eq!(sources.next(TARGET), None);
        assert!(sources.exhausted(TARGET));
        assert_eq!(sources.next(TARGET), Some("127.1.0.66".parse().unwrap()));
    }

    #[test]
    fn a_large_run_spreads_over_loopback_addresses_of_its_own() {
        let mut sources = Sources::new(&[], 0, 1_000_000);
        let first = sources.next(TARGET);
        assert_eq!(first, Some("127.1.0.1".parse().unwrap()));
        for _ in 1..PORTS_PER_SOURCE {
            assert_eq!(sources.next(TARGET), first);
        }
        assert_eq!(sources.next(TARGET), Some("127.1.0.2".parse().unwrap()));
        assert_eq!(sources.next("192.0.2.1".parse().unwrap()), None);
    }

    #[test]
    fn given_addresses_take_turns() {
        let given = ["10.0.0.1".parse().unwrap(), "10.0.0.2".parse().unwrap()];
        let mut sources = Sources::new(&given, 0, 10);
        let first = sources.next(TARGET);
        assert_ne!(sources.next(TARGET), first);
        assert_eq!(sources.next(TARGET), first);
        assert!(sources.exhausted(TARGET));
        assert!(!Sources::new(&given[..1], 0, 10).exhausted(TARGET));
    }
}
