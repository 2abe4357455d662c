//! Branches of a user: how they begin, share its connections and end.
//!
//! A branch runs its instructions as a user does. When the last one has ended the user takes what they have set, in the
//! order of the branches, so the outcome does not depend on whose answers came first. A branch whose session cannot
//! continue puts its user in its own place: the other branches are interrupted, and what follows happens to the user.

use plan::{EndpointId, Op, Parallel, Pc};
use record::Outcome;

use crate::conn::{Link, Way};
use crate::interpreter::{Flow, Interpreter};
use crate::protocols::Protocol;
use crate::tables::slots::{Key, UserKey};
use crate::users::Wait;

impl Interpreter<'_> {
    /// The instruction that begins branches, which are due when it is.
    pub(crate) fn fork(&mut self, now_ns: u64, key: UserKey, parallel: &Parallel) -> Flow {
        if !self.users.fork(key, parallel) {
            let measure = self.plan.faults;
            self.out_of_memory(now_ns, key, measure);
            return Flow::NoMemory;
        }
        self.wait_for(key, Wait::Branches, u64::MAX);
        for branch in self.users.branches.family(key).to_vec() {
            // One that failed has ended them all.
            if self.users.branches.family(key).is_empty() {
                return Flow::Wait;
            }
            self.proceed(now_ns, branch);
        }
        match self.users.branches.have_begun(key) {
            true => self.join(now_ns, key),
            false => Flow::Wait,
        }
    }

    /// The instruction that ends a branch. The user continues with the end of the last one.
    pub(crate) fn end_branch(&mut self, now_ns: u64, key: UserKey) -> Flow {
        self.users[key].wait = Wait::Branches;
        self.users.wheel.disarm(key.place());
        let owner = self.users.owner(key);
        if self.users.branches.end_one(owner) {
            self.continue_behind(now_ns, owner);
        }
        Flow::Wait
    }

    /// The last branch has ended.
    fn continue_behind(&mut self, now_ns: u64, owner: UserKey) {
        match self.join(now_ns, owner) {
            Flow::Jump(pc) => {
                self.users[owner].pc = pc;
                self.proceed(now_ns, owner);
            }
            _ => self.give_up_session(now_ns, owner, Outcome::NoMemory, 0),
        }
    }

    /// Gives the user another branch, which is due now and begins. False: there is no memory for it.
    pub(crate) fn add_branch(&mut self, now_ns: u64, owner: UserKey) -> bool {
        let Some(Op::Parallel(parallel)) = self.users.op(owner) else {
            return false;
        };
        let Some(branch) = self.users.add_branch(owner, parallel) else {
            let measure = self.plan.faults;
            self.out_of_memory(now_ns, owner, measure);
            return false;
        };
        let row = &mut self.users[branch];
        (row.due_ns, row.ready_ns) = (now_ns, now_ns);
        self.proceed(now_ns, branch);
        true
    }

    /// A branch that was added has ended.
    pub(crate) fn end_added_branch(&mut self, now_ns: u64, key: UserKey) {
        let owner = self.users.owner(key);
        let is_last = self.users.branches.leave(owner, key);
        self.take_failures(owner, key);
        self.remove_branch(now_ns, owner, key);
        if is_last {
            self.continue_behind(now_ns, owner);
        }
    }

    /// Branches that were added to the first stay unfinished.
    pub(crate) fn interrupt_added_branches(&mut self, now_ns: u64, owner: UserKey) {
        let begun_at = self.users[owner].pc;
        for branch in self.users.branches.family(owner).iter().skip(1).copied().collect::<Vec<_>>()
        {
            self.leave_unfinished(now_ns, branch, begun_at);
            self.users.branches.leave(owner, branch);
            self.remove_branch(now_ns, owner, branch);
        }
    }

    /// All branches have ended: their user has what they have set, and continues behind them.
    fn join(&mut self, now_ns: u64, key: UserKey) -> Flow {
        let ended = self.users.branches.take(key).unwrap_or_default();
        let Some(Op::Parallel(parallel)) = self.users.op(key) else {
            return Flow::Next;
        };
        let mut is_kept = true;
        let mut ready_ns = 0;
        for (branch, own) in ended.into_iter().zip(&parallel.branches) {
            ready_ns = ready_ns.max(self.users[branch].ready_ns);
            self.take_failures(key, branch);
            is_kept &= self.users.take_values(key, branch, own);
            self.remove_branch(now_ns, key, branch);
        }
        let user = &mut self.users[key];
        (user.wait, user.due_ns, user.ready_ns) = (Wait::Nothing, ready_ns, ready_ns);
        if is_kept {
            return Flow::Jump(parallel.end);
        }
        let measure = self.plan.faults;
        self.out_of_memory(now_ns, key, measure);
        Flow::NoMemory
    }

    /// The transactions around the branches that have not failed fail as this branch says.
    fn take_failures(&mut self, key: UserKey, branch: UserKey) {
        let session = self.users.session(key);
        for transaction in session.open_transactions(self.users[key].pc) {
            let place = transaction.failure.index();
            let failure = self.users[branch].registers[place];
            let own = &mut self.users[key].registers[place];
            if *own == u64::from(u8::from(Outcome::Ok)) {
                *own = failure;
            }
        }
    }

    /// Removes a branch. Its connections stay with the user.
    fn remove_branch(&mut self, now_ns: u64, key: UserKey, branch: UserKey) {
        self.users[key].connected |= self.users[branch].connected;
        self.conns.close_all(&mut self.users, branch);
        self.identities.remove(branch);
        self.follows.forget(branch);
        self.leave_meeting(now_ns, branch);
        self.users.remove(branch);
    }

    /// Lets a branch that cannot continue as one continue, or end, in its user's place; the other branches end.
    /// Returns the user.
    pub(crate) fn become_user(&mut self, now_ns: u64, key: UserKey) -> UserKey {
        let owner = self.users.owner(key);
        if owner != key {
            self.interrupt_others(now_ns, owner, key);
            self.users.take_place(owner, key);
            self.remove_branch(now_ns, owner, key);
        }
        owner
    }

    /// The session of a user ends, or its attempt: what its branches, if it has any, are at stays unfinished.
    pub(crate) fn interrupt_branches(&mut self, now_ns: u64, key: UserKey) {
        self.interrupt_others(now_ns, key, UserKey::NONE);
    }

    /// The same of all branches but one.
    fn interrupt_others(&mut self, now_ns: u64, key: UserKey, but: UserKey) {
        let Some(branches) = self.users.branches.take(key) else {
            return;
        };
        let begun_at = self.users[key].pc;
        for (place, branch) in branches.into_iter().enumerate() {
            if branch == but {
                continue;
            }
            self.trace_branch_at(Some(place));
            self.leave_unfinished(now_ns, branch, begun_at);
            self.remove_branch(now_ns, key, branch);
        }
        self.trace_branch_at(None);
    }

    /// What a branch is at stays unfinished; `begun_at`: the step that began it.
    fn leave_unfinished(&mut self, now_ns: u64, branch: UserKey, begun_at: Pc) {
        if self.users[branch].wait.in_flight() {
            self.record_operation(now_ns, branch, Outcome::Unfinished, 0);
        }
        self.end_transactions_from(now_ns, branch, Outcome::Unfinished, begun_at);
        self.leave_socket(branch);
        self.abandon_dialled(now_ns, branch);
    }

    /// The run is over for a user in a loop that never ends: so it is for those of its branches that are between two
    /// steps.
    pub(crate) fn end_idle_branches(&mut self, now_ns: u64, key: UserKey) {
        for branch in self.users.branches.family(key).to_vec() {
            let is_there = !self.users.branches.family(key).is_empty();
            if is_there && self.users[branch].wait == Wait::Until {
                self.end_branch_early(now_ns, branch);
            }
        }
    }

    /// A branch does not come to its end; its user is to continue when the others have ended.
    pub(crate) fn end_branch_early(&mut self, now_ns: u64, key: UserKey) {
        let begun_at = self.users.begun_at(key).unwrap_or_default();
        self.end_transactions_from(now_ns, key, Outcome::Unfinished, begun_at);
        self.end_branch(now_ns, key);
    }

    // Connections.

    /// Sends the request of a branch, or has it wait behind others.
    pub(crate) fn reach_in_turn(&mut self, now_ns: u64, key: UserKey, endpoint: EndpointId) {
        let way = self.way(self.users.owner(key), endpoint);
        self.go(now_ns, key, endpoint, way);
    }

    fn way(&self, owner: UserKey, endpoint: EndpointId) -> Way {
        let mut waiting = self.users.branches.waiting(owner).iter();
        match waiting.any(|&(_, at)| at == endpoint) {
            true => Way::Wait,
            false => self.conns.way(&self.users, owner, endpoint),
        }
    }

    fn go(&mut self, now_ns: u64, key: UserKey, endpoint: EndpointId, way: Way) {
        match way {
            Way::Idle(slot) => {
                self.conns.lend(&mut self.users, slot, key);
                self.count_connected(key);
                self.send_request(now_ns, key, slot);
            }
            Way::Carrier(slot) => {
                self.ride(now_ns, key, slot, Link::http1(), Protocol::Http);
            }
            Way::Open => self.wait_or_open(now_ns, key, endpoint),
            Way::Wait => {
                let owner = self.users.owner(key);
                self.users.branches.wait(owner, key, endpoint);
                self.wait_for(key, Wait::Turn, self.operation_end_ns(key));
            }
        }
    }

    /// Something has become of the user's connections: branches that wait for one may have it, in turn.
    pub(crate) fn serve_waiting(&mut self, now_ns: u64, key: UserKey) {
        self.wait_for(key, Wait::Branches, u64::MAX);
        for (branch, endpoint) in self.users.branches.take_waiting(key) {
            // A failure has ended them all.
            if self.users.branches.family(key).is_empty() {
                return;
            }
            let way = self.way(key, endpoint);
            if way != Way::Wait {
                self.begin_in_turn(now_ns, branch);
            }
            self.go(now_ns, branch, endpoint, way);
        }
    }

    /// The wait for a connection was none for the server: it is a part of the response time, and not of the service time.
    fn begin_in_turn(&mut self, now_ns: u64, key: UserKey) {
        let is_first = self.follows.hop(key).is_none();
        let now_ns = self.users.now_ns(now_ns);
        if self.work.is_timed() {
            self.work.begun.push(key);
        }
        let user = &mut self.users[key];
        if is_first && user.bytes_out == 0 && user.retries == 0 {
            let lag_ns = user.sent_ns.saturating_sub(user.ready_ns.max(user.due_ns));
            user.sent_ns = user.sent_ns.max(now_ns);
            user.ready_ns = user.sent_ns - lag_ns;
        }
    }

    /// A branch's request has waited for a connection for as long as it may.
    pub(crate) fn give_up_turn(&mut self, now_ns: u64, key: UserKey) {
        let owner = self.users.owner(key);
        self.users.branches.stop_waiting(owner, key);
        let sent_ns = self.users[key].sent_ns;
        let max = self.plan.options.connections_max;
        let waited_ms = now_ns.saturating_sub(sent_ns) / 1_000_000;
        let detail = || {
            format!(
                "other branches used the user's connections, at most {max} (`options.connections_max`), for {waited_ms} ms"
            )
        };
        self.explain(now_ns, key, Outcome::Timeout, detail);
        self.complete(now_ns, key, Outcome::Timeout, 0);
    }
}
