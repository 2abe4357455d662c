//! The sessions that users of a population may run.

use plan::{Session, SessionId};

/// A session by the name that the scenario gives it.
pub(super) struct Role {
    name: String,
    /// `None`: no user of the population runs it.
    session: Option<SessionId>,
}

/// The sessions that users of a population may run.
#[derive(Clone, Copy)]
pub(super) struct Cast<'s> {
    /// Those of all populations.
    pub(super) sessions: &'s [Session],
    pub(super) roles: &'s [Role],
}

/// The sessions of users in phases that choose none.
#[derive(Debug, Clone, Default)]
pub(super) struct Mix {
    pub(super) session: Option<SessionId>,
    /// `None`: those of the sessions.
    pub(super) weights: Option<Vec<f64>>,
}

impl Role {
    /// The session of this name in the scenario, which is the one that users run.
    pub(super) fn new(name: &str, session: Option<SessionId>) -> Role {
        Role { name: name.to_owned(), session }
    }
}

impl<'s> Cast<'s> {
    /// The session of this name.
    pub(super) fn find(self, name: &str) -> Option<SessionId> {
        self.roles.iter().find(|role| role.name == name)?.session
    }

    /// The names of all sessions.
    pub(super) fn names(self) -> impl Iterator<Item = &'s str> + Clone {
        self.roles.iter().map(|role| role.name.as_str())
    }

    /// The sessions' own weights, for all sessions in their order.
    pub(super) fn weights(self) -> Vec<f64> {
        let mut weights = vec![0.0; self.sessions.len()];
        for id in self.roles.iter().filter_map(|role| role.session) {
            weights[id.index()] = self.sessions[id.index()].weight;
        }
        weights
    }
}
