//! Rows and sessions that users use up together.
//!
//! Each user brings its part when it starts, and takes of what the users of its process have brought. A user is started
//! by one loop of the run. So each part is brought once and taken once, whatever the number of loops, workers and
//! agents, and whoever starts the users of a lost one.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::schedule::arrivals::SessionsPart;

/// The rest of it in a process, behind a lock that only users of such things take.
#[derive(Debug, Default)]
pub(crate) struct Stock(Mutex<Left>);

#[derive(Debug, Default)]
struct Left {
    /// By the number of the data in the plan; those with the least row first.
    rows: BTreeMap<usize, BinaryHeap<Reverse<Rows>>>,
    /// The sessions that a user may still begin, by its number.
    own_sessions: HashMap<u64, u64>,
    /// The phases of users that share sessions, by the user's number.
    sharing: HashMap<u64, usize>,
    /// The sessions that users of a phase may still begin together, by its number.
    shared_sessions: HashMap<usize, u64>,
}

impl Left {
    /// How many sessions are left for a user.
    fn sessions(&mut self, user: u64) -> Option<&mut u64> {
        match self.sharing.get(&user) {
            Some(phase) => self.shared_sessions.get_mut(phase),
            None => self.own_sessions.get_mut(&user),
        }
    }
}

/// The rows that a user brings: this one, and every further one at a distance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rows {
    next: u64,
    step: u64,
    /// Number of all rows.
    count: u64,
}

impl Rows {
    /// The part of the user of this number among this number of users, counted from 0; `None`: it has none.
    pub(crate) fn of_user(user: u64, users_count: u64, count: u64) -> Option<Rows> {
        let has_part = user < users_count.min(count);
        has_part.then_some(Rows { next: user, step: users_count, count })
    }

    /// All from this row on: of a user who is alone.
    pub(crate) fn all_from(next: u64, count: u64) -> Option<Rows> {
        (next < count).then_some(Rows { next, step: 1, count })
    }
}

impl Stock {
    /// A user brings rows of these data.
    pub(crate) fn bring_rows(&self, data: usize, rows: Rows) {
        self.left().rows.entry(data).or_default().push(Reverse(rows));
    }

    /// Takes a row of these data: the first that is left.
    pub(crate) fn take_row(&self, data: usize) -> Option<usize> {
        let mut left = self.left();
        let of_users = left.rows.get_mut(&data)?;
        let Reverse(rows) = of_users.pop()?;
        let rest = rows.next.checked_add(rows.step).filter(|&next| next < rows.count);
        if let Some(next) = rest {
            of_users.push(Reverse(Rows { next, ..rows }));
        }
        usize::try_from(rows.next).ok()
    }

    /// A user brings its sessions, and begins the first of them.
    pub(crate) fn bring_sessions(&self, user: u64, part: SessionsPart) {
        let mut left = self.left();
        let further = part.count.saturating_sub(1);
        match part.phase {
            Some(phase) => {
                left.sharing.insert(user, phase);
                *left.shared_sessions.entry(phase).or_default() += further;
            }
            None => {
                left.own_sessions.insert(user, further);
            }
        }
    }

    /// Whether there is another session for a user.
    pub(crate) fn has_session(&self, user: u64) -> bool {
        self.left().sessions(user).is_some_and(|left| *left > 0)
    }

    /// Takes another session for a user; false: there is none.
    pub(crate) fn take_session(&self, user: u64) -> bool {
        match self.left().sessions(user) {
            Some(left) if *left > 0 => {
                *left -= 1;
                true
            }
            _ => false,
        }
    }

    /// A panic of another loop ends the run; until then what is left is sound, since nothing panics halfway.
    fn left(&self) -> MutexGuard<'_, Left> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes all rows of a process.
    fn taken(stock: &Stock) -> Vec<usize> {
        std::iter::from_fn(|| stock.take_row(0)).collect()
    }

    #[test]
    fn each_row_is_taken_once_by_any_number_of_processes() {
        for (users, rows, processes) in [(10, 100, 1), (10, 103, 3), (7, 5, 2), (1, 9, 4)] {
            let mut all = Vec::new();
            for process in 0..processes {
                let stock = Stock::default();
                for user in (0..users).filter(|user| user % processes == process) {
                    if let Some(part) = Rows::of_user(user, users, rows) {
                        stock.bring_rows(0, part);
                    }
                }
                all.extend(taken(&stock));
            }
            all.sort_unstable();
            let expected: Vec<usize> = (0..rows as usize).collect();
            assert_eq!(all, expected, "{users} users, {rows} rows, {processes} processes");
        }
    }

    #[test]
    fn sessions_are_shared_by_the_users_of_a_process() {
        let stock = Stock::default();
        let shared = |count| SessionsPart { count, phase: Some(2) };
        stock.bring_sessions(0, shared(3));
        stock.bring_sessions(1, shared(2));
        stock.bring_sessions(2, SessionsPart { count: 2, phase: None });
        // Each has begun its first.
        let taken: Vec<bool> = [0, 0, 0, 1, 2, 2].map(|user| stock.take_session(user)).into();
        assert_eq!(taken, [true, true, true, false, true, false]);
        assert_eq!([0, 1, 2, 3].map(|user| stock.has_session(user)), [false; 4]);
    }

    #[test]
    fn rows_of_a_process_come_in_the_order_of_the_file() {
        let stock = Stock::default();
        (0..3).filter_map(|user| Rows::of_user(user, 3, 8)).for_each(|r| stock.bring_rows(0, r));
        assert_eq!(taken(&stock), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(stock.take_row(1), None, "of other data");
    }

    #[test]
    fn who_is_alone_has_all_from_its_own_on() {
        let stock = Stock::default();
        stock.bring_rows(0, Rows::all_from(6, 8).unwrap());
        assert_eq!(taken(&stock), [6, 7]);
        assert_eq!(Rows::all_from(8, 8), None);
    }
}
