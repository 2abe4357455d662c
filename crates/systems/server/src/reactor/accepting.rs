//! From the accepted connection to the WebSocket or stream, or to whatever else it asks for.

use std::net::TcpStream as StdStream;
use std::sync::Arc;

use bytes::Bytes;
use rustix::io::Errno;
use rustix::net::{SocketFlags, accept_with};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

use super::row::{Row, Stage};
use super::service::{AcceptedConnection, Service, SubscriptionChange};
use super::table::Key;
use super::{BATCH, Reactor};
use crate::accept::BREATH;
use crate::http::{ConnectionEnd, Route, route, serve_http, upgrade_response};
use crate::tls::TlsStream;

impl<S: Service> Reactor<S> {
    /// Accepts a batch of waiting connections.
    pub(super) fn accept(&mut self) {
        for _ in 0..BATCH {
            let Some(listener) = self.listener.as_ref().filter(|_| self.may_accept) else {
                self.may_accept = false;
                return;
            };
            let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
            match accept_with(listener, flags) {
                Ok(socket) => self.insert(Row::new(socket, self.tick)),
                Err(Errno::AGAIN) => self.may_accept = false,
                Err(_) => self.pause_accepting(),
            }
        }
    }

    /// Leaves the listener alone for a moment after a failure, most often for want of open files.
    fn pause_accepting(&mut self) {
        self.service.connections().accept_errors.add(1);
        self.may_accept = false;
        let me = self.me.clone();
        tokio::task::spawn_local(async move {
            tokio::time::sleep(BREATH).await;
            if let Some(reactor) = me.upgrade() {
                let mut reactor = reactor.borrow_mut();
                reactor.may_accept = true;
                reactor.wake();
            }
        });
    }

    fn insert(&mut self, row: Row<S::Connection>) {
        self.transitional += 1;
        let key = self.rows.insert(row);
        let encryption = self.encryption.as_mut();
        let is_begun = encryption.is_none_or(|encryption| encryption.begin(key.place()));
        if let Some(row) = self.rows.get_mut(key)
            && (!is_begun || self.poller.watch(&row.socket, key.to_bits()).is_err())
        {
            self.service.connections().accept_errors.add(1);
            self.close(key);
        }
    }

    /// Looks for the first request in `bytes`; how many of them are not needed any more.
    pub(super) fn read_head(&mut self, key: Key, bytes: &mut [u8]) -> usize {
        let Some((route, length)) = route(bytes, S::endpoint) else {
            return 0;
        };
        let (accept, open_request) = match route {
            Route::WebSocket { accept, open_request } => (Some(accept), open_request),
            Route::Stream(open_request) => (None, open_request),
            Route::Refused(answer) => {
                self.refuse(key, Bytes::from_static(answer.as_bytes()));
                return bytes.len();
            }
            Route::Http => {
                self.pass_to_hyper(key, bytes);
                return bytes.len();
            }
        };
        match self.service.accept(&mut self.thread_state, &open_request) {
            Ok(accepted) => {
                self.open(key, accept.as_deref(), accepted);
                length + self.read_frames(key, &mut bytes[length..])
            }
            Err(answer) => {
                self.refuse(key, answer);
                bytes.len()
            }
        }
    }

    /// Makes a WebSocket, or a stream, of a connection. The answer goes out with the replies to
    /// what followed the request. `accept` is what a handshake is answered with.
    fn open(
        &mut self,
        key: Key,
        accept: Option<&str>,
        accepted: AcceptedConnection<S::Connection>,
    ) {
        let Some(row) = self.rows.get_mut(key) else {
            return;
        };
        row.connection = Some(accepted.connection);
        row.keep_alive = accepted.keep_alive;
        row.stage = Stage::Open;
        row.since = self.tick;
        self.transitional -= 1;
        self.opened += 1;
        let connections = self.service.connections();
        connections.opened.add(1);
        connections.messages_sent.add(accepted.greetings_count);
        if let Some(accept) = accept {
            let answer = upgrade_response(accept, accepted.protocol);
            self.replies.extend_from_slice(answer.as_bytes());
        }
        self.replies.extend_from_slice(&accepted.greeting);
        self.change_subscription(key, SubscriptionChange::Only(accepted.channel));
    }

    fn refuse(&mut self, key: Key, answer: Bytes) {
        self.send_last(key, answer, Stage::Closing);
    }

    /// Leaves a connection to the HTTP server, with the bytes that were read already.
    fn pass_to_hyper(&mut self, key: Key, bytes: &[u8]) {
        let Some(row) = self.rows.remove(key) else {
            return;
        };
        self.transitional -= 1;
        if self.poller.forget(&row.socket).is_ok()
            && let Ok(stream) = TcpStream::from_std(StdStream::from(row.socket))
        {
            let flight = row.outbox.map(|outbox| outbox.into_flight());
            let session =
                self.encryption.as_mut().and_then(|encryption| encryption.end(key.place()));
            match session {
                Some(session) => {
                    let sealed = flight.unwrap_or_default();
                    self.serve_http(TlsStream::new(stream, session, &sealed), bytes);
                }
                None => self.serve_http(stream, bytes),
            }
        }
        self.release_if_empty();
    }

    fn serve_http(&self, stream: impl AsyncRead + AsyncWrite + Unpin + 'static, head: &[u8]) {
        let serve = serve_http(stream, head.to_vec(), self.router.clone(), self.stop.clone());
        let alive = self.alive.clone();
        let service = Arc::clone(&self.service);
        tokio::task::spawn_local(async move {
            if serve.await == ConnectionEnd::TimedOut {
                service.connections().opening_timeouts.add(1);
            }
            drop(alive);
        });
    }
}
