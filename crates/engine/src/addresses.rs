//! The addresses that the names of endpoints stand for while a run goes on, and which of them a user connects to.
//!
//! Users are behind resolvers, of which each queries by itself and so may know other addresses than the others. Some users
//! never learn of a change: whoever resolves for them ignores how long an answer may be kept.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use plan::EndpointId;
use stats::rng::{Purpose, Rng};

/// By endpoint, then by resolver: what the resolver was answered. Neither list is ever empty.
pub type Answers = Vec<Vec<Vec<SocketAddr>>>;

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
    pub fn pick(self, answers: &Answers, endpoint: EndpointId) -> SocketAddr {
        let by_resolver = &answers[endpoint.index()];
        let addresses = &by_resolver[scaled(self.resolver, by_resolver.len())];
        addresses[scaled(self.place, addresses.len())]
    }
}

/// A place below `count` in proportion to a draw of 32 bits.
fn scaled(draw: u32, count: usize) -> usize {
    ((u64::from(draw) * count as u64) >> 32) as usize
}

/// The addresses of a region's users: those at the start, and the newest. Loops read them, whoever resolves writes.
#[derive(Debug)]
pub struct AddressBook {
    first: Arc<Answers>,
    newest: Mutex<Arc<Answers>>,
    version: AtomicU64,
}

impl AddressBook {
    /// A book that begins with these answers.
    pub fn new(first: Answers) -> AddressBook {
        let first = Arc::new(first);
        AddressBook {
            newest: Mutex::new(Arc::clone(&first)),
            first,
            version: AtomicU64::new(0),
        }
    }

    /// A book of one address for each endpoint.
    pub fn of_addresses(addresses: &[SocketAddr]) -> AddressBook {
        let answers = addresses.iter().map(|address| vec![vec![*address]]);
        AddressBook::new(answers.collect())
    }

    /// The answers at the start.
    pub fn first(&self) -> &Arc<Answers> {
        &self.first
    }

    /// The newest answers.
    pub fn newest(&self) -> Arc<Answers> {
        let newest = self.newest.lock();
        Arc::clone(&newest.unwrap_or_else(PoisonError::into_inner))
    }

    /// How often the answers changed.
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// New connections go to these addresses from now on. Answers of other endpoints, or without an address, change
    /// nothing.
    pub fn replace(&self, answers: Answers) {
        let has_all = |lists: &Vec<Vec<SocketAddr>>| {
            !lists.is_empty() && lists.iter().all(|addresses| !addresses.is_empty())
        };
        if answers.len() != self.first.len() || !answers.iter().all(has_all) {
            return;
        }
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        *newest = Arc::new(answers);
        self.version.fetch_add(1, Ordering::Release);
    }
}

/// A loop's view of a book: one look at a number for each connection while nothing changes.
#[derive(Debug)]
pub struct Addresses {
    book: Arc<AddressBook>,
    newest: Arc<Answers>,
    version: u64,
}

impl Addresses {
    /// A view of this book.
    pub fn new(book: &Arc<AddressBook>) -> Addresses {
        Addresses {
            version: book.version(),
            newest: book.newest(),
            book: Arc::clone(book),
        }
    }

    /// Where a user's new connection goes.
    pub fn pick(&mut self, endpoint: EndpointId, choice: Choice) -> SocketAddr {
        if choice.keeps {
            return choice.pick(&self.book.first, endpoint);
        }
        let version = self.book.version();
        if version != self.version {
            (self.version, self.newest) = (version, self.book.newest());
        }
        choice.pick(&self.newest, endpoint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> SocketAddr {
        SocketAddr::from(([198, 18, 0, last], 80))
    }

    fn choices(share_keeping: f64) -> Vec<Choice> {
        let users = 0..10_000;
        users
            .map(|user| Choice::of(7, user, share_keeping))
            .collect()
    }

    #[test]
    fn new_connections_go_to_new_addresses_but_for_users_that_keep_the_first() {
        let book = Arc::new(AddressBook::of_addresses(&[address(1)]));
        let mut addresses = Addresses::new(&book);
        let all = choices(0.2);
        let endpoint = EndpointId(0);
        assert!(
            all.iter()
                .all(|c| addresses.pick(endpoint, *c) == address(1))
        );
        book.replace(vec![vec![vec![address(2)]]]);
        for wrong in [vec![], vec![vec![]], vec![vec![vec![]]]] {
            book.replace(wrong);
        }
        let kept = all
            .iter()
            .filter(|c| addresses.pick(endpoint, **c) == address(1));
        let kept = kept.count();
        // 2,000 expected; the standard deviation is 40.
        assert!((1_850..2_150).contains(&kept), "{kept}");
        assert_eq!(kept, all.iter().filter(|choice| choice.keeps).count());
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
