//! Users that send requests at the same time, some of which wait for a connection, as in browsers, which open a
//! limited number of them.
//!
//! A user has branches, which are entries of the same table as users. All others cost nothing.

use std::collections::HashMap;
use std::hash::Hash;

use plan::EndpointId;

/// The branches of a shard's users. `K` names a user or a branch.
#[derive(Debug)]
pub struct Branches<K> {
    families: HashMap<K, Family<K>>,
    /// The user of each branch.
    owners: HashMap<K, K>,
}

/// The branches of a user.
#[derive(Debug)]
struct Family<K> {
    /// In the order of their step.
    branches: Vec<K>,
    /// Those that have not ended.
    left: usize,
    /// They are being begun, so that the last one to end is noticed there.
    begins: bool,
    /// Branches that wait for a connection to an endpoint, in the order in which they get it.
    waiting: Vec<(K, EndpointId)>,
}

impl<K> Default for Branches<K> {
    fn default() -> Branches<K> {
        Branches { families: HashMap::new(), owners: HashMap::new() }
    }
}

impl<K: Copy + Eq + Hash> Branches<K> {
    /// Branches of all users.
    pub fn count(&self) -> usize {
        self.owners.len()
    }

    /// The user has these branches, which are being begun.
    pub fn begin(&mut self, owner: K, branches: Vec<K>) {
        self.owners.extend(branches.iter().map(|&branch| (branch, owner)));
        let family = Family { left: branches.len(), branches, begins: true, waiting: Vec::new() };
        self.families.insert(owner, family);
    }

    /// All of them have begun. True: they have ended, too.
    pub fn have_begun(&mut self, owner: K) -> bool {
        let family = self.families.get_mut(&owner);
        family.is_some_and(|family| {
            family.begins = false;
            family.left == 0
        })
    }

    /// One has ended. True: it was the last one, and all have begun.
    pub fn end_one(&mut self, owner: K) -> bool {
        let family = self.families.get_mut(&owner);
        family.is_some_and(|family| {
            family.left = family.left.saturating_sub(1);
            family.left == 0 && !family.begins
        })
    }

    /// The user has another branch.
    pub fn add(&mut self, owner: K, branch: K) {
        if let Some(family) = self.families.get_mut(&owner) {
            family.branches.push(branch);
            family.left += 1;
            self.owners.insert(branch, owner);
        }
    }

    /// A branch that was added has ended, and is none of the user's any more. True: it was the last one, and all have begun.
    pub fn leave(&mut self, owner: K, branch: K) -> bool {
        self.stop_waiting(owner, branch);
        if let Some(family) = self.families.get_mut(&owner) {
            family.branches.retain(|&own| own != branch);
        }
        self.end_one(owner)
    }

    /// The user has no branches from now on. Returns them; they are still known as its own.
    pub fn take(&mut self, owner: K) -> Option<Vec<K>> {
        if self.families.is_empty() {
            return None;
        }
        self.families.remove(&owner).map(|family| family.branches)
    }

    /// A branch is gone.
    pub fn forget(&mut self, branch: K) {
        self.owners.remove(&branch);
    }

    /// The user of the branch; `None`: it is no branch.
    pub fn owner(&self, branch: K) -> Option<K> {
        self.owners.get(&branch).copied()
    }

    /// The branches of a user.
    pub fn family(&self, owner: K) -> &[K] {
        let family = self.families.get(&owner);
        family.map_or(&[], |family| &family.branches)
    }

    /// A branch of the user waits for a connection to the endpoint, behind others.
    pub fn wait(&mut self, owner: K, branch: K, endpoint: EndpointId) {
        if let Some(family) = self.families.get_mut(&owner) {
            family.waiting.push((branch, endpoint));
        }
    }

    /// A branch of the user waits no longer.
    pub fn stop_waiting(&mut self, owner: K, branch: K) {
        if let Some(family) = self.families.get_mut(&owner) {
            family.waiting.retain(|&(own, _)| own != branch);
        }
    }

    /// Which branches of the user wait, and for connections to where.
    pub fn waiting(&self, owner: K) -> &[(K, EndpointId)] {
        let family = self.families.get(&owner);
        family.map_or(&[], |family| &family.waiting)
    }

    /// The same; none of them waits any more.
    pub fn take_waiting(&mut self, owner: K) -> Vec<(K, EndpointId)> {
        let family = self.families.get_mut(&owner);
        family.map_or_else(Vec::new, |family| std::mem::take(&mut family.waiting))
    }

    /// How many wait, of all users.
    pub fn waiting_count(&self) -> usize {
        let families = self.families.values();
        families.map(|family| family.waiting.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_one_to_end_is_noticed_once_all_have_begun() {
        let mut branches = Branches::default();
        branches.begin(1, vec![2, 3]);
        assert!(!branches.end_one(1));
        assert!(!branches.have_begun(1));
        assert!(branches.end_one(1));
        branches.begin(4, vec![5]);
        assert!(!branches.end_one(4));
        assert!(branches.have_begun(4));
        assert_eq!((branches.count(), branches.owner(5)), (3, Some(4)));
        assert_eq!(branches.take(4), Some(vec![5]));
        branches.forget(5);
        assert_eq!((branches.owner(5), branches.family(4)), (None, &[][..]));
        assert!(!branches.end_one(4));
    }

    #[test]
    fn branches_that_are_added_leave_one_by_one() {
        let mut branches = Branches::default();
        branches.begin(1, vec![2]);
        branches.add(1, 3);
        branches.add(1, 4);
        branches.wait(1, 3, EndpointId(0));
        assert!(!branches.have_begun(1));
        assert!(!branches.leave(1, 3));
        branches.forget(3);
        assert!(!branches.end_one(1));
        assert_eq!((branches.family(1), branches.waiting(1)), (&[2, 4][..], &[][..]));
        assert!(branches.leave(1, 4));
        branches.forget(4);
        assert_eq!((branches.count(), branches.take(1)), (1, Some(vec![2])));
        // Who has no branches gets none.
        branches.add(9, 5);
        assert_eq!(branches.owner(5), None);
    }

    #[test]
    fn waiting_branches_are_served_in_turn() {
        let mut branches = Branches::default();
        branches.begin(1, vec![2, 3, 4]);
        for branch in [3, 2, 4] {
            branches.wait(1, branch, EndpointId(branch));
        }
        branches.stop_waiting(1, 2);
        let expected = [(3, EndpointId(3)), (4, EndpointId(4))];
        assert_eq!(branches.waiting(1), expected);
        assert_eq!(branches.waiting_count(), 2);
        assert_eq!(branches.take_waiting(1), expected);
        assert_eq!((branches.waiting(1), branches.waiting(9)), (&[][..], &[][..]));
    }
}
