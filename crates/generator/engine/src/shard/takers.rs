//! The rows that each user brings, of data whose rows are used once.

use std::ops::Range;

use plan::{Op, Order, Plan, Session};

use crate::meeting::Rows;
use crate::schedule::arrivals::users_max;

/// The users of a run that may take rows of one table. Its rows are dealt among these.
#[derive(Debug)]
pub(super) struct Takers {
    /// The number of the data in the plan.
    pub(super) data: usize,
    rows_count: u64,
    /// Their numbers as planned, ascending.
    users: Vec<Range<u64>>,
    /// Number of them; 0: one user is traced, and nobody else comes.
    users_count: u64,
}

impl Takers {
    /// Those of every table whose rows are used once.
    pub(super) fn of_plan(plan: &Plan) -> Vec<Takers> {
        let data = plan.data.iter().enumerate();
        let once = data.filter(|(_, data)| data.order == Order::Once);
        let has_users = once.clone().next().is_some() && users_max(plan) > 0;
        let takers = once.map(|(number, data)| {
            let users = users_of(plan, number);
            Takers {
                data: number,
                rows_count: data.table.rows_count() as u64,
                users_count: users.iter().map(|users| users.end - users.start).sum(),
                users,
            }
        });
        takers.filter(|takers| takers.users_count > 0 || !has_users).collect()
    }

    /// The rows of the user of this number; `None`: it has none.
    pub(super) fn rows(&self, user: u64) -> Option<Rows> {
        if self.users_count == 0 {
            return Rows::all_from(user, self.rows_count);
        }
        let mut before = 0;
        for users in &self.users {
            if users.contains(&user) {
                let place = before + user - users.start;
                return Rows::of_user(place, self.users_count, self.rows_count);
            }
            before += users.end - users.start;
        }
        None
    }
}

/// The users that may take rows of the data of this number: single ones, then those of phases, numbered as they are
/// due. Chance may start more or fewer in a phase; then some of the numbers are those of the next one.
fn users_of(plan: &Plan, data: usize) -> Vec<Range<u64>> {
    let takes = |session: &Session| {
        session.ops.iter().any(|op| matches!(op, Op::Feed(feed) if feed.data.index() == data))
    };
    let taking = plan.sessions.iter().enumerate().filter(|(_, session)| takes(session));
    let taking: Vec<usize> = taking.map(|(number, _)| number).collect();
    let singles = (0..).zip(&plan.singles);
    let singles = singles.filter(|(_, single)| taking.contains(&single.session.index()));
    let mut users: Vec<Range<u64>> = singles.map(|(number, _)| number..number + 1).collect();
    let mut next = plan.singles.len() as u64;
    for phase in &plan.phases {
        let first = next;
        next += phase.users_planned().ceil() as u64;
        if next > first && taking.iter().any(|&session| plan.phase_has_users_of(phase, session)) {
            users.push(first..next);
        }
    }
    users
}
