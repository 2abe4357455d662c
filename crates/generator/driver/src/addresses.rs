//! The addresses that the names of endpoints stand for while a run goes on.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use engine::addresses::{self, Answers, Choice};
use plan::EndpointId;

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
        AddressBook { newest: Mutex::new(Arc::clone(&first)), first, version: AtomicU64::new(0) }
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

    /// All addresses at the start.
    pub fn all_first(&self) -> impl Iterator<Item = SocketAddr> {
        addresses::all(&self.first)
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
        Addresses { version: book.version(), newest: book.newest(), book: Arc::clone(book) }
    }

    /// The address for a user's new connection.
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

    #[test]
    fn new_connections_go_to_new_addresses_but_for_users_that_keep_the_first() {
        let book = Arc::new(AddressBook::of_addresses(&[address(1)]));
        let mut addresses = Addresses::new(&book);
        let users = 0..10_000;
        let all: Vec<_> = users.map(|user| Choice::of(7, user, 0.2)).collect();
        let endpoint = EndpointId(0);
        assert!(all.iter().all(|c| addresses.pick(endpoint, *c) == address(1)));
        book.replace(vec![vec![vec![address(2)]]]);
        for wrong in [vec![], vec![vec![]], vec![vec![vec![]]]] {
            book.replace(wrong);
        }
        let kept = all.iter().filter(|c| addresses.pick(endpoint, **c) == address(1));
        let kept = kept.count();
        // 2,000 expected; the standard deviation is 40.
        assert!((1_850..2_150).contains(&kept), "{kept}");
        assert_eq!(kept, all.iter().filter(|choice| choice.keeps).count());
    }
}
