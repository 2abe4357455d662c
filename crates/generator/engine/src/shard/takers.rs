//! The rows that each user brings, of data whose rows are used once.

use std::ops::Range;

use plan::{Op, Order, Plan, Session};

use crate::meeting::Rows;
use crate::schedule::arrivals::{Arrival, Source, users_max};

/// The users of a run that may take rows of one table. Its rows are dealt among these.
#[derive(Debug)]
pub(super) struct Takers {
    /// The number of the data in the plan.
    pub(super) data: usize,
    rows_count: u64,
    users: Vec<TakingUsers>,
    /// Number of them; 0: one user is traced, and nobody else comes.
    users_count: u64,
}

/// Users that may take rows, in a row.
#[derive(Debug)]
struct TakingUsers {
    /// Their population's number; `None`: they are single ones.
    population: Option<usize>,
    /// Their numbers in it as planned, or those of single users.
    numbers: Range<u64>,
}

impl Takers {
    /// The takers of every table whose rows are used once.
    pub(super) fn of_plan(plan: &Plan) -> Vec<Takers> {
        let data = plan.data.iter().enumerate();
        let once = data.filter(|(_, data)| data.order == Order::Once);
        let has_users = once.clone().next().is_some() && users_max(plan) > 0;
        let takers = once.map(|(number, data)| {
            let users = users_of(plan, number);
            Takers {
                data: number,
                rows_count: data.table.rows_count() as u64,
                users_count: users.iter().map(TakingUsers::count).sum(),
                users,
            }
        });
        takers.filter(|takers| takers.users_count > 0 || !has_users).collect()
    }

    /// The rows of the user that arrives; `None`: it has none.
    pub(super) fn rows(&self, arrival: &Arrival) -> Option<Rows> {
        if self.users_count == 0 {
            return Rows::all_from(arrival.user, self.rows_count);
        }
        let (population, number) = match arrival.source {
            Source::Single => (None, arrival.user),
            Source::Population { population, number } => (Some(population), number),
        };
        let mut before = 0;
        for users in &self.users {
            if users.population == population && users.numbers.contains(&number) {
                let place = before + number - users.numbers.start;
                return Rows::of_user(place, self.users_count, self.rows_count);
            }
            before += users.count();
        }
        None
    }
}

impl TakingUsers {
    fn count(&self) -> u64 {
        self.numbers.end - self.numbers.start
    }
}

/// The users that may take rows of the data of this number: single ones, then those of the phases of each population,
/// numbered as they are due. Chance may start more or fewer in a phase; then some of the numbers are those of the next one.
fn users_of(plan: &Plan, data: usize) -> Vec<TakingUsers> {
    let takes = |session: &Session| {
        session.ops.iter().any(|op| matches!(op, Op::Feed(feed) if feed.data.index() == data))
    };
    let taking = plan.sessions.iter().enumerate().filter(|(_, session)| takes(session));
    let taking: Vec<usize> = taking.map(|(number, _)| number).collect();
    let singles = (0..).zip(&plan.singles);
    let singles = singles.filter(|(_, single)| taking.contains(&single.session.index()));
    let singles =
        singles.map(|(number, _)| TakingUsers { population: None, numbers: number..number + 1 });
    let mut users: Vec<TakingUsers> = singles.collect();
    for (population, phases) in plan.arrivals().enumerate() {
        let mut next = 0;
        for phase in phases {
            let first = next;
            next += phase.users_planned().ceil() as u64;
            if next > first && taking.iter().any(|&session| plan.phase_has_users_of(phase, session))
            {
                users.push(TakingUsers { population: Some(population), numbers: first..next });
            }
        }
    }
    users
}
