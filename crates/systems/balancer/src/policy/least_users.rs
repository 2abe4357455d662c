//! The backend with the fewest users for its weight, where a user counts for all of its batch.

use std::collections::{HashMap, VecDeque};

use stats::rng::Rng;

use super::{Policy, Request, Row};
use crate::fleet::Fleet;

pub(super) const ROW: Row = Row {
    name: "least-users",
    about: "Fewest users for the weight; a user stays for its batch",
    source: "Olaru 2015",
    can_learn: false,
    make: || Box::<LeastUsers>::default(),
};

/// A user who has sent nothing for this time has left.
const ABSENT_NS: u64 = 10_000_000_000;
/// Requests within this time of a user's last visit are none of their own.
const VISIT_NS: u64 = ABSENT_NS / 10;
/// Visits that are known at once, at most, and so users; the one that was seen longest ago is forgotten first.
const USERS_MAX: usize = 1 << 16;

/// Least connections as Olaru (2015) has it: a user connects just before the first request of its batch, to the backend
/// with the least ratio of users to weight, and counts there until it leaves. Its other requests go there, too, unless the
/// backend cannot be given any. A user is known by its source, and has left when it sends nothing for ten seconds.
#[derive(Debug, Default)]
pub struct LeastUsers {
    users: HashMap<u64, User>,
    /// Users by backend.
    counts: Vec<u32>,
    /// When which user was seen, the earliest first; of each user the last one counts.
    seen: VecDeque<Visit>,
}

/// A user who is connected.
#[derive(Debug, Clone, Copy)]
struct User {
    /// Place of its backend.
    at: usize,
    seen_ns: u64,
}

/// A request of a user, and those soon after it.
#[derive(Debug, Clone, Copy)]
struct Visit {
    source: u64,
    seen_ns: u64,
}

impl LeastUsers {
    /// Forgets the users who have left, and those that are too many.
    fn forget(&mut self, now_ns: u64) {
        while let Some(visit) = self.seen.front().copied() {
            let is_absent = visit.seen_ns.saturating_add(ABSENT_NS) <= now_ns;
            if !is_absent && self.seen.len() <= USERS_MAX {
                return;
            }
            self.seen.pop_front();
            let is_last =
                self.users.get(&visit.source).is_some_and(|user| user.seen_ns == visit.seen_ns);
            if is_last {
                self.leave(visit.source);
            }
        }
    }

    fn leave(&mut self, source: u64) {
        if let Some(user) = self.users.remove(&source) {
            self.counts[user.at] -= 1;
        }
    }

    fn connect(&mut self, source: u64, user: User) {
        self.counts[user.at] += 1;
        self.users.insert(source, user);
    }
}

impl Policy for LeastUsers {
    fn pick(&mut self, fleet: &Fleet, request: &Request, rng: &mut Rng) -> Option<usize> {
        let Request { source, now_ns } = *request;
        self.counts.resize(fleet.len(), 0);
        self.forget(now_ns);
        let own = self.users.get(&source).copied().filter(|user| fleet.is_usable(user.at));
        if let Some(user) = own.filter(|user| now_ns.saturating_sub(user.seen_ns) < VISIT_NS) {
            return Some(user.at);
        }
        self.leave(source);
        let at = match own {
            Some(user) => user.at,
            None => {
                let cost = |at: usize| f64::from(self.counts[at]) / fleet.weight(at);
                fleet.least(rng, cost, |at| fleet.weight(at))?
            }
        };
        self.connect(source, User { at, seen_ns: now_ns });
        self.seen.push_back(Visit { source, seen_ns: now_ns });
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::Member;
    use stats::rng::Purpose;

    const SECOND_NS: u64 = 1_000_000_000;

    fn fleet(weights: &[f64]) -> Fleet {
        let members = weights.iter().enumerate();
        let member = |(at, weight): (usize, &f64)| Member {
            weight: *weight,
            ..Member::new(format!("10.0.0.{at}:80"))
        };
        Fleet::new(members.map(member).collect())
    }

    /// The backends of these users, each with its request at a time.
    fn picked(policy: &mut LeastUsers, fleet: &Fleet, requests: &[(u64, u64)]) -> Vec<usize> {
        let mut rng = Rng::new(1, 0, Purpose::Balance);
        let pick = |&(source, now_ns): &(u64, u64)| {
            policy.pick(fleet, &Request { source, now_ns }, &mut rng).unwrap()
        };
        requests.iter().map(pick).collect()
    }

    #[test]
    fn a_user_counts_once_and_stays_for_its_batch() {
        let fleet = fleet(&[1.0, 1.0, 2.0]);
        let mut policy = LeastUsers::default();
        // Eight users by weight, of whom each sends three requests.
        let mut requests = Vec::new();
        for turn in 0..3 {
            requests.extend((0..8).map(|user| (user, turn * SECOND_NS + user)));
        }
        let places = picked(&mut policy, &fleet, &requests);
        assert_eq!((&places[8..16], &places[16..]), (&places[..8], &places[..8]));
        assert_eq!(policy.counts, [2, 2, 4]);
    }

    #[test]
    fn users_who_leave_make_room() {
        let fleet = fleet(&[1.0, 1.0]);
        let mut policy = LeastUsers::default();
        let first = picked(&mut policy, &fleet, &[(1, 0), (2, 0), (3, 0)]);
        // The first and the third stay on one backend or two; all but the second leave.
        picked(&mut policy, &fleet, &[(2, 9 * SECOND_NS)]);
        let next = picked(&mut policy, &fleet, &[(4, 11 * SECOND_NS)]);
        assert_eq!((policy.users.len(), next[0]), (2, 1 - first[1]));
        assert_eq!(policy.counts, [1, 1]);
    }

    #[test]
    fn a_user_whose_backend_is_down_moves() {
        let mut fleet = fleet(&[1.0, 1.0]);
        let mut policy = LeastUsers::default();
        let before = picked(&mut policy, &fleet, &[(1, 0)])[0];
        fleet.set_up(before, false);
        let after = picked(&mut policy, &fleet, &[(1, 1)])[0];
        assert_eq!(after, 1 - before);
        // It does not move back by itself.
        fleet.set_up(before, true);
        assert_eq!(picked(&mut policy, &fleet, &[(1, 2)]), [after]);
        assert_eq!(policy.counts.iter().sum::<u32>(), 1);
    }

    #[test]
    fn users_that_are_known_are_bounded() {
        let fleet = fleet(&[1.0]);
        let mut policy = LeastUsers::default();
        let requests: Vec<(u64, u64)> =
            (0..3 * USERS_MAX as u64).map(|source| (source, source)).collect();
        picked(&mut policy, &fleet, &requests);
        assert!(policy.users.len() <= USERS_MAX + 1 && policy.seen.len() <= USERS_MAX + 1);
        assert_eq!(policy.counts[0] as usize, policy.users.len());
        // One user alone keeps few visits, however many requests it sends.
        let one: Vec<(u64, u64)> = (0..3 * USERS_MAX as u64).map(|n| (7, 1_000_000 + n)).collect();
        picked(&mut policy, &fleet, &one);
        assert!(policy.seen.len() <= USERS_MAX + 1);
    }
}
