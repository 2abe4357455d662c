//! From the accepted connection to the WebSocket or stream, or to whatever else it asks for.

use std::net::TcpStream as StdStream;

use bytes::Bytes;
use rustix::io::Errno;
use rustix::net::{SocketFlags, accept_with};
use tokio::net::TcpStream;

use super::connection::{Connection, Stage};
use super::service::{Admitted, House, Seating};
use super::table::Key;
use super::{Front, LOT};
use crate::accept::BREATH;
use crate::http::{Route, accepted, route, serve_http};

impl<H: House> Front<H> {
    /// Accepts a lot of what waits.
    pub(super) fn accept(&mut self) {
        for _ in 0..LOT {
            let Some(listener) = self.listener.as_ref().filter(|_| self.knocked) else {
                self.knocked = false;
                return;
            };
            let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
            match accept_with(listener, flags) {
                Ok(socket) => self.enter(Connection::new(socket, self.beat)),
                Err(Errno::AGAIN) => self.knocked = false,
                Err(_) => self.rest(),
            }
        }
    }

    /// Leaves the listener alone for a moment after a failure, most often for want of open files.
    fn rest(&mut self) {
        self.house.connections().accept_errors.add(1);
        self.knocked = false;
        let me = self.me.clone();
        tokio::task::spawn_local(async move {
            tokio::time::sleep(BREATH).await;
            if let Some(front) = me.upgrade() {
                let mut front = front.borrow_mut();
                front.knocked = true;
                front.wake();
            }
        });
    }

    fn enter(&mut self, row: Connection<H::Guest>) {
        self.passing += 1;
        let key = self.rows.insert(row);
        if let Some(row) = self.rows.get_mut(key)
            && self.lookout.watch(&row.socket, key.to_bits()).is_err()
        {
            self.house.connections().accept_errors.add(1);
            self.part(key);
        }
    }

    /// Looks for the first request in `bytes`; how many of them are not needed any more.
    pub(super) fn read_head(&mut self, key: Key, bytes: &mut [u8]) -> usize {
        let Some((route, length)) = route(bytes, H::door) else {
            return 0;
        };
        let (accept, asked) = match route {
            Route::WebSocket { accept, asked } => (Some(accept), asked),
            Route::Stream(asked) => (None, asked),
            Route::Refused(answer) => {
                self.refuse(key, Bytes::from_static(answer.as_bytes()));
                return bytes.len();
            }
            Route::Http => {
                self.hand_over(key, bytes);
                return bytes.len();
            }
        };
        match self.house.admit(&mut self.local, &asked) {
            Ok(admitted) => {
                self.open(key, accept.as_deref(), admitted);
                length + self.listen(key, &mut bytes[length..])
            }
            Err(answer) => {
                self.refuse(key, answer);
                bytes.len()
            }
        }
    }

    /// Makes a WebSocket, or a stream, of a connection. The answer goes out with the replies to
    /// what followed the request. `accept` is what a handshake is answered with.
    fn open(&mut self, key: Key, accept: Option<&str>, admitted: Admitted<H::Guest>) {
        let Some(row) = self.rows.get_mut(key) else {
            return;
        };
        row.guest = Some(admitted.guest);
        row.habit = admitted.habit;
        row.stage = Stage::Open;
        row.since = self.beat;
        self.passing -= 1;
        self.opened += 1;
        let connections = self.house.connections();
        connections.opened.add(1);
        connections.messages_sent.add(admitted.greetings_count);
        if let Some(accept) = accept {
            let answer = accepted(accept, admitted.protocol);
            self.replies.extend_from_slice(answer.as_bytes());
        }
        self.replies.extend_from_slice(&admitted.greeting);
        self.seat(key, Seating::Only(admitted.channel));
    }

    fn refuse(&mut self, key: Key, answer: Bytes) {
        self.take_leave(key, answer, Stage::Closing);
    }

    /// Leaves a connection to the HTTP server, with the bytes that were read already.
    fn hand_over(&mut self, key: Key, bytes: &[u8]) {
        let Some(row) = self.rows.remove(key) else {
            return;
        };
        self.passing -= 1;
        if self.lookout.forget(&row.socket).is_ok()
            && let Ok(stream) = TcpStream::from_std(StdStream::from(row.socket))
        {
            let serve = serve_http(
                stream,
                bytes.to_vec(),
                self.router.clone(),
                self.stop.clone(),
            );
            let alive = self.alive.clone();
            tokio::task::spawn_local(async move {
                serve.await;
                drop(alive);
            });
        }
        self.let_go();
    }
}
