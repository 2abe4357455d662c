//! TLS sessions that connections can resume, each user's own.
//!
//! rustls queries its store by the name of the server alone, while a connection begins TLS and while its bytes are
//! decrypted. So whoever does either states before whose connection it is; a loop has one thread, and nothing comes
//! between.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustls::NamedGroup;
use rustls::client::{ClientSessionStore, Tls12ClientSessionValue, Tls13ClientSessionValue};
use rustls::pki_types::ServerName;

use crate::tables::slots::{Key, UserKey};

/// Tickets of TLS 1.3 that a user keeps of a server. Each is used once (RFC 8446, appendix C.4). Chromium keeps as many
/// (`net/ssl/ssl_client_session_cache.h`).
pub(crate) const TICKETS_MAX: usize = 2;

/// The store of a loop.
#[derive(Debug)]
pub(super) struct OwnSessions {
    /// The place of the user whose connection is handled.
    user: AtomicU32,
    /// By the places of users.
    kept: Mutex<HashMap<u32, Vec<ServerSessions>>>,
}

/// The sessions with a server that a user keeps.
#[derive(Debug)]
pub(crate) struct ServerSessions {
    server: ServerName<'static>,
    /// The group in which the server agreed on keys.
    group: Option<NamedGroup>,
    tls12: Option<Box<Tls12ClientSessionValue>>,
    /// The newest is the last.
    tickets: Vec<Tls13ClientSessionValue>,
}

impl OwnSessions {
    pub(super) fn new() -> OwnSessions {
        OwnSessions {
            user: AtomicU32::new(UserKey::NONE.place()),
            kept: Mutex::new(HashMap::new()),
        }
    }

    /// Calls that follow are about a connection of this user; `NONE`: of one that users share.
    #[inline]
    pub(super) fn enter(&self, user: UserKey) {
        self.user.store(user.place(), Ordering::Relaxed);
    }

    /// The user is gone.
    pub(super) fn forget(&self, user: UserKey) {
        self.kept().remove(&user.place());
    }

    /// Nothing that holds the lock can panic between two states.
    fn kept(&self) -> MutexGuard<'_, HashMap<u32, Vec<ServerSessions>>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads from the sessions that the user keeps of the server.
    fn known<T>(
        &self,
        server: &ServerName<'_>,
        read: impl FnOnce(&mut ServerSessions) -> Option<T>,
    ) -> Option<T> {
        let mut kept = self.kept();
        let servers = kept.get_mut(&self.user.load(Ordering::Relaxed))?;
        read(servers.iter_mut().find(|known| known.server == *server)?)
    }

    /// Changes what the user keeps of the server.
    fn change(&self, server: ServerName<'static>, change: impl FnOnce(&mut ServerSessions)) {
        let mut kept = self.kept();
        let servers = kept.entry(self.user.load(Ordering::Relaxed)).or_default();
        if let Some(known) = servers.iter_mut().find(|known| known.server == server) {
            return change(known);
        }
        let mut own = ServerSessions { server, group: None, tls12: None, tickets: Vec::new() };
        change(&mut own);
        // Most users know one server.
        servers.reserve_exact(1);
        servers.push(own);
    }
}

impl ClientSessionStore for OwnSessions {
    fn set_kx_hint(&self, server: ServerName<'static>, group: NamedGroup) {
        self.change(server, |own| own.group = Some(group));
    }

    fn kx_hint(&self, server: &ServerName<'_>) -> Option<NamedGroup> {
        self.known(server, |own| own.group)
    }

    fn set_tls12_session(&self, server: ServerName<'static>, session: Tls12ClientSessionValue) {
        self.change(server, |own| own.tls12 = Some(Box::new(session)));
    }

    fn tls12_session(&self, server: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        self.known(server, |own| own.tls12.as_deref().cloned())
    }

    fn remove_tls12_session(&self, server: &ServerName<'static>) {
        self.known(server, |own| own.tls12.take());
    }

    fn insert_tls13_ticket(&self, server: ServerName<'static>, ticket: Tls13ClientSessionValue) {
        self.change(server, |own| {
            if own.tickets.len() >= TICKETS_MAX {
                own.tickets.remove(0);
            }
            if own.tickets.capacity() == 0 {
                own.tickets.reserve_exact(TICKETS_MAX);
            }
            own.tickets.push(ticket);
        });
    }

    fn take_tls13_ticket(&self, server: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        self.known(server, |own| own.tickets.pop())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(name: &'static str) -> ServerName<'static> {
        ServerName::try_from(name).unwrap()
    }

    /// The group stands for what a user keeps: sessions come from handshakes alone, which `tests/it/tls.rs` has.
    #[test]
    fn users_know_only_what_is_their_own() {
        let store = OwnSessions::new();
        store.enter(UserKey::new(7));
        store.set_kx_hint(server("a.test"), NamedGroup::X25519);
        store.set_kx_hint(server("b.test"), NamedGroup::secp256r1);
        assert_eq!(store.kx_hint(&server("a.test")), Some(NamedGroup::X25519));
        assert_eq!(store.kx_hint(&server("c.test")), None);
        store.enter(UserKey::new(8));
        assert_eq!(store.kx_hint(&server("a.test")), None);
        store.set_kx_hint(server("a.test"), NamedGroup::secp384r1);
        store.enter(UserKey::new(7));
        assert_eq!(store.kx_hint(&server("a.test")), Some(NamedGroup::X25519));
        assert_eq!(store.kx_hint(&server("b.test")), Some(NamedGroup::secp256r1));
        // The next user gets the place of one that has gone.
        store.forget(UserKey::new(7));
        assert_eq!(store.kx_hint(&server("a.test")), None);
        assert_eq!(store.kept().len(), 1);
    }
}
