//! A list of backends, as it was read.

use std::collections::HashMap;
use std::sync::Arc;

use server::metrics::Counter;

use crate::backends::Backend;
use crate::hash::hash_text;

/// Counts of a backend, in all lists that it is in.
#[derive(Debug, Default)]
pub(super) struct BackendCounts {
    /// Requests sent to it.
    pub(super) requests: Counter,
    /// Those that it did not answer as it should.
    pub(super) failures: Counter,
}

/// One list of backends. A reload makes another.
#[derive(Debug)]
pub(super) struct List {
    /// Unique among the lists of a process.
    pub(super) number: u64,
    pub(super) backends: Vec<Backend>,
    pub(super) counts: Vec<Arc<BackendCounts>>,
    /// Ids of the backends in cookies: a hash of each name, the same in every balancer and after a restart.
    pub(super) ids: Vec<u64>,
    /// Places by these ids.
    places: HashMap<u64, usize>,
}

impl List {
    /// Makes a list. Backends that were in the list before keep their counts.
    pub(super) fn new(backends: Vec<Backend>, before: Option<&List>) -> Self {
        let ids: Vec<u64> = backends.iter().map(|one| hash_text(&one.member.name)).collect();
        let counts = ids.iter().map(|id| {
            let known = before.and_then(|list| Some(&list.counts[list.place(*id)?]));
            known.map_or_else(Arc::default, Arc::clone)
        });
        Self {
            number: before.map_or(0, |list| list.number + 1),
            counts: counts.collect(),
            places: ids.iter().copied().zip(0..).collect(),
            ids,
            backends,
        }
    }

    /// The place of a backend, if it is listed.
    pub(super) fn place(&self, id: u64) -> Option<usize> {
        self.places.get(&id).copied()
    }
}
