//! How sessions end, restart and fail.

use plan::expr::Value;
use record::Outcome;

use super::state::Interpreter;
use crate::users::Wait;

/// How long a leaving user waits for the peer's close frame.
pub(super) const LEAVE_NS: u64 = 1_000_000_000;
/// A closed population's user whose session failed restarts no sooner than this.
const RESTART_NS: u64 = 100_000_000;

impl Interpreter<'_> {
    /// The session cannot continue: the user restarts it (closed populations) or leaves. A pause
    /// before the restart protects a target that refuses, and keeps an impossible step from
    /// spinning.
    pub(super) fn give_up_session(&mut self, now_ns: u64, key: u32) {
        if self.repeats(now_ns, key) {
            self.restart(now_ns, key);
            let user = &mut self.users[key];
            user.due_ns = now_ns + RESTART_NS;
            user.ready_ns = user.due_ns;
            self.wait_until(key, now_ns + RESTART_NS);
        } else {
            self.leave(now_ns, key);
        }
    }

    pub(super) fn repeats(&self, now_ns: u64, key: u32) -> bool {
        now_ns < self.end_ns && now_ns < self.users[key].repeats_until_ns
    }

    /// Puts the user back to its session's start. Pace marks stay, so that a session can keep to
    /// a pace from start to start.
    pub(super) fn restart(&mut self, now_ns: u64, key: u32) {
        self.recorder.counts.users_finished += 1;
        self.recorder.counts.users_repeated += 1;
        self.recorder.counts.users_started += 1;
        self.give_up_background(now_ns, key);
        self.drop_stream(key);
        let user = &mut self.users[key];
        user.iteration += 1;
        user.pc = 0;
        user.slots.fill(Value::Nothing);
        self.identities.forget(key);
        self.messages.end(&mut self.recorder, key);
    }

    /// The user leaves: with a close frame if it has a WebSocket, else at once.
    pub(crate) fn leave(&mut self, now_ns: u64, key: u32) {
        self.recorder.counts.users_finished += 1;
        self.give_up_background(now_ns, key);
        if self.begin_leaving(key) {
            self.wait_for(key, Wait::Leaving, now_ns + LEAVE_NS);
        } else {
            self.remove_user(key);
        }
    }

    pub(crate) fn remove_user(&mut self, key: u32) {
        self.conns.close_all(&mut self.users, key);
        self.identities.remove(key);
        self.messages.end(&mut self.recorder, key);
        self.users.remove(key);
    }

    /// If the user is between two steps, it leaves.
    pub(crate) fn leave_if_idle(&mut self, now_ns: u64, key: u32) {
        let user = self.users.get(key);
        if user.is_some_and(|user| user.wait == Wait::Until) {
            self.leave(now_ns, key);
        }
    }

    /// The drain is over: what is still in flight stays unfinished.
    pub(crate) fn give_up_all(&mut self, now_ns: u64) {
        for key in self.users.keys() {
            if self.users[key].wait.in_flight() {
                self.record_operation(now_ns, key, Outcome::Unfinished, 0);
            }
            self.give_up_background(now_ns, key);
            self.remove_user(key);
        }
    }
}
