//! The waits of a user, and its one timer, which serves steps and the background work beside them.
//!
//! The steps' due time is `User::deadline_ns`; that of a poll, of an event stream that reconnects,
//! and of the next heartbeat of a protocol of channels stands in their boxed state. The timer is
//! armed for the earlier of them. Users without the second kind pay for one flag.

use record::Outcome;

use crate::conn::{Conn, NEVER};
use crate::interpreter::Interpreter;
use crate::tables::slots::{ConnSlot, Key, UserKey};
use crate::users::Wait;

/// A timer whose limit has passed unseen fires again after this time, so that the driver gets to look
/// for news in between.
const LOOK_AGAIN_NS: u64 = 20_000;

impl Interpreter<'_> {
    /// The user's timer fired.
    pub(crate) fn fire(&mut self, now_ns: u64, key: UserKey) {
        // What answers it may be there: a driver that is late has not looked yet.
        if self.gives_up_unseen(now_ns, key) {
            return self.users.wheel.arm(key.place(), now_ns + LOOK_AGAIN_NS);
        }
        if self.users[key].background {
            self.fire_background(now_ns, key);
            if self.users.get(key).is_none() {
                return;
            }
        }
        let user = &self.users[key];
        if user.deadline_ns > now_ns {
            // The wait that this timer was set for ended; a later one has its own deadline.
            let deadline_ns = user.deadline_ns;
            self.arm(key, deadline_ns);
            return;
        }
        match user.wait {
            Wait::Until => self.proceed(now_ns, key),
            Wait::Leaving => self.remove_user(now_ns, key),
            Wait::Restart => self.restart(now_ns, key),
            Wait::Retry => self.open_again(now_ns, key),
            Wait::Connect => self.time_out(now_ns, key, Outcome::ConnectTimeout),
            Wait::Response | Wait::Upgrade | Wait::Reply | Wait::Close => {
                self.time_out(now_ns, key, Outcome::Timeout);
            }
            Wait::Turn => self.give_up_turn(now_ns, key),
            Wait::Others => self.give_up_meeting(now_ns, key),
            Wait::Branches => self.serve_waiting(now_ns, key),
            Wait::Nothing => {}
        }
    }

    /// Would an operation be given up now whose news of the time that it had were not all handled?
    fn gives_up_unseen(&self, now_ns: u64, key: UserKey) -> bool {
        let is_unseen = |due_ns| due_ns <= now_ns && due_ns > self.seen_ns;
        let user = &self.users[key];
        let steps = user.wait.in_flight() && is_unseen(user.deadline_ns);
        steps || (user.background && is_unseen(self.background_limit_ns(key)))
    }

    pub(crate) fn wait_until(&mut self, key: UserKey, at_ns: u64) {
        let user = &mut self.users[key];
        user.wait = Wait::Until;
        user.deadline_ns = at_ns;
        self.arm(key, at_ns);
    }

    /// An operation is in flight until news comes or `deadline_ns` passes. A timer that is set
    /// earlier is left alone: it will see that the deadline is later.
    pub(crate) fn wait_for(&mut self, key: UserKey, wait: Wait, deadline_ns: u64) {
        let user = &mut self.users[key];
        user.wait = wait;
        user.deadline_ns = deadline_ns;
        let armed_ns = self.users.wheel.deadline_ns(key.place());
        if armed_ns.is_none_or(|armed_ns| armed_ns > deadline_ns) {
            self.arm(key, deadline_ns);
        }
    }

    /// Arms the user's timer for its step, or earlier if something else is due before.
    fn arm(&mut self, key: UserKey, step_due_ns: u64) {
        let due_ns = if self.users[key].background {
            step_due_ns.min(self.background_due_ns(key))
        } else {
            step_due_ns
        };
        self.users.wheel.arm(key.place(), due_ns);
    }

    /// Sets when what runs in the background on this connection is next due.
    pub(crate) fn arm_background(&mut self, slot: ConnSlot, due_ns: u64) {
        let key = self.conns[slot].user;
        if let Some(background) = self.conns[slot].background_mut() {
            background.due_ns = due_ns;
        }
        self.users[key].background = true;
        let armed_ns = self.users.wheel.deadline_ns(key.place());
        if armed_ns.is_none_or(|armed_ns| armed_ns > due_ns) {
            self.users.wheel.arm(key.place(), due_ns);
        }
    }

    fn background_due_ns(&self, key: UserKey) -> u64 {
        let slot = self.background_slot(key);
        let background = slot.and_then(|slot| self.conns[slot].background());
        background.map_or(NEVER, |background| background.due_ns)
    }

    /// When what is in flight in the background has had its time.
    fn background_limit_ns(&self, key: UserKey) -> u64 {
        let conn = self.background_slot(key).map(|slot| &self.conns[slot]);
        let background = conn.filter(|conn| conn.awaits()).and_then(Conn::background);
        background.map_or(NEVER, |background| background.due_ns)
    }

    /// The connection on which something runs in the background.
    pub(crate) fn background_slot(&self, key: UserKey) -> Option<ConnSlot> {
        let is_it = |conn: &Conn| conn.background().is_some();
        self.conns.find(&self.users, key, is_it)
    }
}
