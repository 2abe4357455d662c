//! TLS in the reactor. Its state is beside the table, by the place of the row, so that plain connections pay nothing.
//!
//! Sealed bytes must be sent in the order of their sealing: the rest that the kernel does not take is the
//! flight of the outbox, and everything else waits there unsealed, so that it can still be superseded.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use bytes::Bytes;
use rustls::ServerConfig;

use super::Reactor;
use super::row::Stage;
use super::sending::{SendResult, transmit_plain};
use super::service::Service;
use super::table::Key;
use crate::tls::{Failure, PeerState, Session};

/// Answer to a peer that speaks HTTP without TLS.
const PLAIN_HTTP: &str = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nContent-Length: 46\r\n\
    Connection: close\r\n\r\nthis port speaks TLS: use https:// and wss://\n";
/// Capacity that a buffer of the thread keeps, in bytes.
const BUFFER_BYTES_KEPT: usize = 64 << 10;

/// The TLS of a thread's connections.
pub(super) struct Encryption {
    config: Arc<ServerConfig>,
    /// Sessions by the index of the row.
    sessions: Vec<Option<Box<Session>>>,
    /// Buffer for received bytes, without TLS.
    plain: Vec<u8>,
    /// Buffer for bytes to send, in TLS.
    sealed: Vec<u8>,
}

impl Encryption {
    pub(super) fn new(config: Arc<ServerConfig>) -> Self {
        Self { config, sessions: Vec::new(), plain: Vec::new(), sealed: Vec::new() }
    }

    /// Begins a connection; false if that is impossible.
    pub(super) fn begin(&mut self, place: u32) -> bool {
        let place = place as usize;
        if place >= self.sessions.len() {
            self.sessions.resize_with(place + 1, || None);
        }
        self.sessions[place] = Session::new(&self.config).ok();
        self.sessions[place].is_some()
    }

    /// Ends a connection.
    pub(super) fn end(&mut self, place: u32) -> Option<Box<Session>> {
        self.sessions.get_mut(place as usize)?.take()
    }

    fn session(&mut self, place: u32) -> Option<&mut Session> {
        self.sessions.get_mut(place as usize)?.as_deref_mut()
    }

    /// The bytes as they are to be sent; empty if that is impossible.
    pub(super) fn seal(&mut self, place: u32, bytes: &[u8]) -> Bytes {
        match self.sealed_by(place, |session, sealed| session.seal(bytes, sealed)) {
            Ok(sealed) => Bytes::copy_from_slice(sealed),
            Err(_) => Bytes::new(),
        }
    }

    /// Seals and sends.
    pub(super) fn transmit(&mut self, socket: &OwnedFd, place: u32, bytes: &[u8]) -> SendResult {
        match self.sealed_by(place, |session, sealed| session.seal(bytes, sealed)) {
            Ok(sealed) => transmit_sealed(socket, sealed),
            Err(_) => SendResult::Failed,
        }
    }

    /// Sends the word that nothing more follows, if it was not sent yet.
    fn say_end(&mut self, socket: &OwnedFd, place: u32) -> SendResult {
        let sealed = self.sealed_by(place, |session, sealed| {
            session.close(sealed);
            Ok(())
        });
        match sealed {
            Ok([]) | Err(_) => SendResult::All,
            Ok(sealed) => transmit_sealed(socket, sealed),
        }
    }

    /// Bytes that a session makes to be sent, in the buffer of the thread.
    fn sealed_by(
        &mut self,
        place: u32,
        make: impl FnOnce(&mut Session, &mut Vec<u8>) -> Result<(), Failure>,
    ) -> Result<&[u8], Failure> {
        let Self { sessions, sealed, .. } = self;
        reset(sealed);
        let session = sessions.get_mut(place as usize).and_then(Option::as_deref_mut);
        match session {
            Some(session) => make(session, sealed)?,
            None => return Err(rustls::Error::HandshakeNotComplete.into()),
        }
        Ok(sealed)
    }
}

/// Sends sealed bytes. They cannot be sealed a second time: the bytes that the kernel does not take are kept
/// as they are.
fn transmit_sealed(socket: &OwnedFd, sealed: &[u8]) -> SendResult {
    match transmit_plain(socket, sealed, Bytes::copy_from_slice) {
        SendResult::Nothing => SendResult::Part(Bytes::copy_from_slice(sealed)),
        sent => sent,
    }
}

fn reset(buffer: &mut Vec<u8>) {
    buffer.clear();
    buffer.shrink_to(BUFFER_BYTES_KEPT);
}

impl<S: Service> Reactor<S> {
    /// Makes something of what came, which may be in TLS.
    pub(super) fn heard(&mut self, key: Key, bytes: &mut [u8]) {
        if self.encryption.is_some() {
            self.decrypt(key, bytes);
        } else {
            self.process(key, bytes);
        }
    }

    fn decrypt(&mut self, key: Key, bytes: &mut [u8]) {
        let stage = self.rows.get_mut(key).map(|row| row.stage);
        let Some(Stage::Opening | Stage::Open) = stage else {
            // It is thrown away.
            return;
        };
        let Some(encryption) = &mut self.encryption else {
            return;
        };
        let mut plain = std::mem::take(&mut encryption.plain);
        let mut sealed = std::mem::take(&mut encryption.sealed);
        reset(&mut plain);
        reset(&mut sealed);
        let Some(session) = encryption.session(key.place()) else {
            return self.close(key);
        };
        let received = session.receive(bytes, &mut plain, &mut sealed);
        self.send_sealed(key, &sealed);
        if let Some(encryption) = &mut self.encryption {
            encryption.sealed = sealed;
        }
        if received.is_ok() && !plain.is_empty() {
            self.process(key, &mut plain);
        }
        if let Some(encryption) = &mut self.encryption {
            encryption.plain = plain;
        }
        match received {
            Ok(PeerState::More) => {}
            Ok(PeerState::End) => self.close(key),
            Err(failure) => self.on_failure(key, &failure),
        }
    }

    /// The peer cannot be understood.
    fn on_failure(&mut self, key: Key, failure: &Failure) {
        self.service.connections().tls_failures.add(1);
        let Some(encryption) = &mut self.encryption else {
            return;
        };
        // Nothing can be sealed for it any more. An alert was sent.
        encryption.end(key.place());
        if *failure == Failure::Plain {
            self.send_sealed(key, PLAIN_HTTP.as_bytes());
        }
        self.send_last(key, Bytes::new(), Stage::Closing);
    }

    /// Sends what is to go out as it is, behind what went out before.
    fn send_sealed(&mut self, key: Key, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        let Some(row) = self.rows.get_mut(key) else {
            return;
        };
        match &mut row.outbox {
            Some(outbox) => outbox.lengthen_flight(bytes),
            None => {
                let sent = transmit_sealed(&row.socket, bytes);
                self.on_sent(key, sent);
            }
        }
    }

    /// Ends the TLS of a connection that is being closed.
    pub(super) fn end_encryption(&mut self, key: Key) {
        let Some(encryption) = &mut self.encryption else {
            return;
        };
        if let Some(row) = self.rows.get_mut(key) {
            if row.outbox.is_none() {
                // If there is no room for it, the peer has to do without.
                let _ = encryption.say_end(&row.socket, key.place());
            }
            encryption.end(key.place());
        }
    }

    /// Sends the word that ends TLS; whether it waits for room.
    pub(super) fn say_end(&mut self, key: Key) -> bool {
        let (Some(encryption), Some(row)) = (&mut self.encryption, self.rows.get_mut(key)) else {
            return false;
        };
        match encryption.say_end(&row.socket, key.place()) {
            SendResult::Part(rest) => {
                self.on_sent(key, SendResult::Part(rest));
                true
            }
            _ => false,
        }
    }
}
