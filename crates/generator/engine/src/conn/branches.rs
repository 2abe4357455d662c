//! Which connection a request of a branch gets.
//!
//! The branches of a user share its connections. A connection in use is its branch's; an idle one, and one that carries
//! streams, is the user's. HTTP/1.1 takes one request at a time, so a user opens several, up to a limit as in browsers.

use plan::EndpointId;

use crate::conn::http2::Carrier;
use crate::conn::link::Link;
use crate::conn::stage::Stage;
use crate::conn::table::Connections;
use crate::protocols::Protocol;
use crate::tables::slots::{ConnSlot, UserKey};
use crate::users::Users;

/// How a request of a branch reaches its server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Idle(ConnSlot),
    Carrier(ConnSlot),
    /// A connection is to be opened.
    Open,
    /// There are as many as there may be, or it is not known yet whether one is enough.
    Wait,
}

impl Connections {
    /// How a branch's request to the endpoint can go now.
    pub(crate) fn way(&self, users: &Users<'_>, owner: UserKey, endpoint: EndpointId) -> Way {
        let idle = match &self.shared {
            Some(shared) => shared[endpoint.index()].last().copied(),
            None => self.find(users, owner, |conn| {
                conn.endpoint == endpoint && conn.stage == Stage::Idle && conn.speaks.is_http()
            }),
        };
        if let Some(slot) = idle {
            return Way::Idle(slot);
        }
        // How many requests it takes at once is known from its settings on.
        let takes = |own: &Carrier| own.h2.is_greeted() || own.h2.open_count() == 0;
        match self.carrier(users, owner, endpoint) {
            Some(slot) if self.table[slot].carrier().is_some_and(takes) => {
                return Way::Carrier(slot);
            }
            Some(_) => return Way::Wait,
            None => {}
        }
        let is_full = |own: &Carrier| !own.h2.is_ending() && !own.is_suspect;
        let full = self.find(users, owner, |conn| {
            conn.endpoint == endpoint && conn.carrier().is_some_and(is_full)
        });
        if full.is_some() {
            return Way::Wait;
        }
        let mut count = 0;
        let mut is_setting_up = false;
        let mut is_set_up = false;
        for &branch in users.branches.family(owner) {
            let own = self.find(users, branch, |conn| {
                conn.endpoint == endpoint
                    && matches!((&conn.link, &conn.speaks), (Link::Http1(_), Protocol::Http))
            });
            if let Some(slot) = own {
                count += 1;
                match self.table[slot].stage {
                    Stage::Connecting | Stage::Securing => is_setting_up = true,
                    _ => is_set_up = true,
                }
            }
        }
        // Over HTTP/2 one is enough. Who waits for one that users share is known elsewhere.
        let may_carry = self.http2.may_speak(endpoint);
        let waits = match self.shared.is_some() {
            true => count >= self.connections_max && !(may_carry && self.http2.is_required()),
            false => {
                let is_unknown = may_carry && is_setting_up && !is_set_up;
                is_unknown || count >= self.connections_max
            }
        };
        match waits {
            true => Way::Wait,
            false => Way::Open,
        }
    }

    /// The branch has an idle connection of its user's from now on.
    pub(crate) fn lend(&mut self, users: &mut Users<'_>, slot: ConnSlot, key: UserKey) {
        match &mut self.shared {
            Some(shared) => {
                let endpoint = self.table[slot].endpoint;
                shared[endpoint.index()].retain(|&idle| idle != slot);
            }
            None => self.unlink(users, slot),
        }
        self.link(users, slot, key);
    }

    /// Returns to the user a connection that a branch has opened and does not use any more.
    pub(crate) fn give_back(&mut self, users: &mut Users<'_>, slot: ConnSlot) {
        let key = self.table[slot].user;
        if users[key].is_branch {
            let owner = users.owner(key);
            self.unlink(users, slot);
            self.link(users, slot, owner);
            users.wake(owner);
        }
    }

    /// Something has become of a connection: a branch may wait for one.
    pub(crate) fn wake(&self, users: &mut Users<'_>, slot: ConnSlot) {
        let key = self.table[slot].user;
        if self.has_branches && key != UserKey::NONE {
            users.wake(key);
        }
    }
}
