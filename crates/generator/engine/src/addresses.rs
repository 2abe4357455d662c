//! Which of the addresses that the names of endpoints stand for a user connects to.
//!
//! Users are behind resolvers, of which each queries by itself and so may know other addresses than the others. Some users
//! never learn of a change: whoever resolves for them ignores how long an answer may be kept.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use plan::EndpointId;
use stats::rng::{Purpose, Rng};

/// By endpoint, then by resolver: what the resolver was answered. Neither list is ever empty.
pub type Answers = Vec<Vec<Vec<SocketAddr>>>;

/// Placeholder for the address of an endpoint that needs none: a proxy resolves its name, or it is a Unix socket.
pub const NOWHERE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);

/// The addresses among answers; what needs none is left out.
pub fn all(answers: &Answers) -> impl Iterator<Item = SocketAddr> {
    let all = answers.iter().flatten().flatten().copied();
    all.filter(|address| *address != NOWHERE)
}

/// Which addresses a user gets. It follows from the seed and the user's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice {
    resolver: u32,
    place: u32,
    /// Whether the user keeps the first answer for the whole run.
    pub keeps: bool,
}

impl Choice {
    /// That of a user where this share of users keeps the first answer.
    pub fn of(seed: u64, user: u64, share_keeping: f64) -> Choice {
        let mut draws = Rng::new(seed, user, Purpose::Address);
        let bits = draws.next_u64();
        Choice {
            resolver: (bits >> 32) as u32,
            place: bits as u32,
            keeps: share_keeping > 0.0 && draws.unit() < share_keeping,
        }
    }

    /// The user's address among these.
    ///
    /// # Panics
    /// If there are none of the endpoint: a run begins with addresses of all of them.
    #[inline]
    pub fn pick(self, answers: &Answers, endpoint: EndpointId) -> SocketAddr {
        let by_resolver = &answers[endpoint.index()];
        let addresses = &by_resolver[scaled(self.resolver, by_resolver.len())];
        addresses[scaled(self.place, addresses.len())]
    }
}

/// A place below `count` in proportion to a draw of 32 bits.
#[inline]
fn scaled(draw: u32, count: usize) -> usize {
    ((u64::from(draw) * count as u64) >> 32) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> SocketAddr {
        SocketAddr::from(([198, 18, 0, last], 80))
    }

    fn choices(share_keeping: f64) -> Vec<Choice> {
        let users = 0..10_000;
        users.map(|user| Choice::of(7, user, share_keeping)).collect()
    }

    #[test]
    fn users_are_spread_over_resolvers_and_over_the_addresses_of_an_answer() {
        let answers: Answers = vec![vec![vec![address(1), address(2)], vec![address(3)]]];
        let mut counts = [0; 3];
        for choice in choices(0.0) {
            let SocketAddr::V4(found) = choice.pick(&answers, EndpointId(0)) else {
                panic!("{choice:?}")
            };
            counts[usize::from(found.ip().octets()[3]) - 1] += 1;
        }
        for (count, expected) in counts.into_iter().zip([2_500_i64, 2_500, 5_000]) {
            assert!((i64::from(count) - expected).abs() < 250, "{counts:?}");
        }
    }

    #[test]
    fn a_choice_follows_from_seed_and_user() {
        assert_eq!(Choice::of(1, 2, 0.5), Choice::of(1, 2, 0.5));
        assert_ne!(Choice::of(1, 2, 0.0), Choice::of(1, 3, 0.0));
        let nobody = choices(0.0).iter().any(|choice| choice.keeps);
        let everybody = choices(1.0).iter().all(|choice| choice.keeps);
        assert!(!nobody && everybody);
        // Who keeps the first answer at one share does so at each greater one.
        let pairs = choices(0.2).into_iter().zip(choices(0.5));
        assert!(pairs.clone().all(|(few, many)| !few.keeps || many.keeps));
    }
}
