//! State that all users of a shard share.

use std::sync::Arc;

use plan::Plan;

use crate::conn::Connections;
use crate::fetch::Follows;
use crate::identity::Identities;
use crate::measure::{Gauges, Recorder};
use crate::meeting::{Desk, Meeting};
use crate::messages::Messages;
use crate::requests::Requests;
use crate::tables::budget::Budget;
use crate::tables::slots::UserKey;
use crate::users::Users;
use crate::vus::Vus;
use crate::work::OwnWork;

/// Runs the sessions of a shard's users.
#[derive(Debug)]
pub(crate) struct Interpreter<'p> {
    pub(crate) plan: &'p Plan,
    pub(crate) users: Users<'p>,
    pub(crate) conns: Connections,
    pub(crate) requests: Requests,
    /// Identities of the users whose sessions keep cookies or answer challenges.
    pub(crate) identities: Identities<UserKey>,
    /// Redirects of the users that are on the way through them.
    pub(crate) follows: Follows<UserKey>,
    /// The users that wait for others; `None`: the plan has nothing that they share.
    pub(crate) desk: Option<Box<Desk<UserKey>>>,
    /// State that all users of the process share.
    pub(crate) meeting: Arc<Meeting>,
    pub(crate) messages: Messages<'p>,
    pub(crate) recorder: Recorder,
    pub(crate) work: OwnWork,
    /// The contexts of scripts of k6; `None`: the plan has none.
    pub(crate) vus: Option<Box<Vus<UserKey>>>,
    /// Operations of steps in flight.
    pub(crate) in_flight: u64,
    /// When steps stop beginning.
    pub(crate) end_ns: u64,
    /// All news that came before this were handled.
    pub(crate) seen_ns: u64,
}

impl<'p> Interpreter<'p> {
    /// At time 0, without users.
    pub(crate) fn new(
        plan: &'p Plan,
        users: Users<'p>,
        conns: Connections,
        recorder: Recorder,
        buffers: &Arc<Budget>,
        meeting: &Arc<Meeting>,
    ) -> Interpreter<'p> {
        Interpreter {
            plan,
            users,
            conns,
            requests: Requests::new(plan),
            identities: Identities::default(),
            follows: Follows::default(),
            desk: None,
            meeting: Arc::clone(meeting),
            messages: Messages::new(plan, buffers),
            recorder,
            work: OwnWork::new(plan),
            vus: None,
            in_flight: 0,
            end_ns: plan.end_ns(),
            // A driver that is never late need not say so.
            seen_ns: u64::MAX,
        }
    }

    /// Adds what scripts took and wrote since this was last called.
    pub(crate) fn count_scripts(&mut self) {
        self.trace_console();
        if let Some(scripts) = &mut self.users.scripts {
            let (calls, used_ns) = scripts.take_used();
            self.recorder.keep_console(scripts.take_console(), self.users.zero_unix_ns);
            let counts = &mut self.recorder.counts;
            counts.script_calls += calls;
            counts.scripts_ns += used_ns;
        }
    }

    pub(crate) fn gauges(&self) -> Gauges {
        // What waits for a connection of its user's, or for other users, is not on its way.
        let meeting = self.desk.as_ref().map_or(0, |desk| desk.waiting_count());
        let waiting = (self.users.branches.waiting_count() + meeting) as u64;
        Gauges {
            users: self.users.len() as u64,
            connections: self.conns.len() as u64,
            in_flight: self.in_flight + self.conns.background_in_flight() - waiting,
            ..Gauges::default()
        }
    }
}
