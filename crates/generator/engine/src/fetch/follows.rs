//! Users that are on the way through redirects.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use stats::rng::Rng;

use crate::fetch::redirect::Hop;

/// The hops of a shard's users, with their first requests and what it takes to make these again. `K` names a user.
#[derive(Debug)]
pub struct Follows<K> {
    hops: HashMap<K, Hop>,
    /// The first requests of chains that are under way, where they are not the same for every user.
    firsts: HashMap<K, FirstRequest>,
    /// The users' values as they were before their requests drew any.
    before: HashMap<K, Rng>,
    /// The paths of requests in flight that are not the same for every user, where their users keep cookies: those of the
    /// response belong there.
    paths: HashMap<K, String>,
}

/// The request of a step before any redirect. It is made again at the first redirect, since that beats keeping every request
/// for one; each further hop has the same.
#[derive(Debug, Clone)]
pub struct FirstRequest {
    /// What is sent, without cookies and signatures.
    pub bytes: Arc<[u8]>,
    /// The user's values after it drew its own.
    pub values: Rng,
}

impl<K> Default for Follows<K> {
    fn default() -> Follows<K> {
        Follows {
            hops: HashMap::new(),
            firsts: HashMap::new(),
            before: HashMap::new(),
            paths: HashMap::new(),
        }
    }
}

impl<K: Copy + Eq + Hash> Follows<K> {
    /// The user is at no redirect: it begins an operation, or it is gone.
    #[inline]
    pub fn forget(&mut self, user: K) {
        if !self.hops.is_empty() {
            self.hops.remove(&user);
        }
        if !self.before.is_empty() {
            self.before.remove(&user);
        }
        self.forget_first(user);
        self.forget_path(user);
    }

    /// The first request of the user's chain of redirects, which is under way.
    pub fn remember_first(&mut self, user: K, first: FirstRequest) {
        self.firsts.insert(user, first);
    }

    /// The first request that was remembered; `None`: it was not kept.
    pub fn first(&self, user: K) -> Option<&FirstRequest> {
        self.firsts.get(&user)
    }

    /// The chain is over.
    #[inline]
    pub fn forget_first(&mut self, user: K) {
        if !self.firsts.is_empty() {
            self.firsts.remove(&user);
        }
    }

    /// The user's request drew random values, which a redirect of it repeats: these were the user's values before.
    pub fn remember(&mut self, user: K, before: Rng) {
        self.before.insert(user, before);
    }

    /// The state of the user's random values before its request; `None`: it drew none.
    pub fn before(&self, user: K) -> Option<Rng> {
        self.before.get(&user).copied()
    }

    /// The path that the user's request has asked for.
    pub fn remember_path(&mut self, user: K, path: String) {
        self.paths.insert(user, path);
    }

    /// The path of the user's last request; `None`: it was not kept.
    pub fn path(&self, user: K) -> Option<&str> {
        self.paths.get(&user).map(String::as_str)
    }

    /// The response to that request has come.
    #[inline]
    pub fn forget_path(&mut self, user: K) {
        if !self.paths.is_empty() {
            self.paths.remove(&user);
        }
    }

    /// The request that the user was redirected to.
    pub fn hop(&self, user: K) -> Option<&Hop> {
        self.hops.get(&user)
    }

    /// True if the user was redirected away from the host of its step.
    pub fn left_host(&self, user: K) -> bool {
        self.hop(user).is_some_and(|hop| hop.left_host)
    }

    /// The user is redirected there.
    pub fn go(&mut self, user: K, hop: Hop) {
        self.hops.insert(user, hop);
    }
}
