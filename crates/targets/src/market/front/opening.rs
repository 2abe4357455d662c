//! From the accepted connection to the WebSocket, or to whatever else it asks for.

use std::net::TcpStream as StdStream;
use std::sync::Arc;

use rustix::io::Errno;
use rustix::net::{SocketFlags, accept_with};
use tokio::net::TcpStream;

use super::{Front, LOT};
use crate::market::connection::{Connection, Stage};
use crate::market::desk::Visitor;
use crate::market::model::User;
use crate::market::table::Key;
use crate::wire::{BREATH, Route, accepted, route, serve_http};

/// Where WebSockets are opened.
pub(in crate::market) const STREAM: &str = "/v1/stream";
/// Longest name of a user.
const NAME_MAX: usize = 64;
const BAD_USER: &str = "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";

impl Front {
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
        self.hub.metrics.accept_errors.add(1);
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

    fn enter(&mut self, row: Connection) {
        self.passing += 1;
        let key = self.rows.insert(row);
        if let Some(row) = self.rows.get_mut(key)
            && self.lookout.watch(&row.socket, key.to_bits()).is_err()
        {
            self.hub.metrics.accept_errors.add(1);
            self.part(key);
        }
    }

    /// Looks for the first request in `bytes`; how many of them are not needed any more.
    pub(super) fn read_head(&mut self, key: Key, bytes: &mut [u8]) -> usize {
        let Some((route, length)) = route(bytes, STREAM) else {
            return 0;
        };
        match route {
            Route::WebSocket { accept, query } => match user_name(query.as_deref()) {
                Ok(name) => {
                    self.open(key, &accept, name);
                    length + self.listen(key, &mut bytes[length..])
                }
                Err(()) => self.refuse(key, BAD_USER, bytes),
            },
            Route::Refused(answer) => self.refuse(key, answer, bytes),
            Route::Http => {
                self.hand_over(key, bytes);
                bytes.len()
            }
        }
    }

    /// Makes a WebSocket of a connection. The answer goes out with the replies to what followed
    /// the request.
    fn open(&mut self, key: Key, accept: &str, name: Option<Arc<str>>) {
        let Some(row) = self.rows.get_mut(key) else {
            return;
        };
        let user = match name {
            Some(name) => User::Named(name),
            None => User::Connection(self.hub.next_connection()),
        };
        row.visitor = Some(Visitor::new(user));
        row.stage = Stage::Open;
        row.since = self.beat;
        row.opened = true;
        self.passing -= 1;
        self.opened += 1;
        self.hub.metrics.connections_opened.add(1);
        self.replies.extend_from_slice(accepted(accept).as_bytes());
    }

    fn refuse(&mut self, key: Key, answer: &'static str, bytes: &[u8]) -> usize {
        self.take_leave(
            key,
            bytes::Bytes::from_static(answer.as_bytes()),
            Stage::Closing,
        );
        bytes.len()
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

/// The user named in a query such as `user=ann`: 1 to 64 letters, digits, `-`, `.`, `_` or `~`
/// (what a URI leaves unescaped: RFC 3986, section 2.3).
fn user_name(query: Option<&str>) -> Result<Option<Arc<str>>, ()> {
    let mut fields = query.unwrap_or_default().split('&');
    let Some(name) = fields.find_map(|field| field.strip_prefix("user=")) else {
        return Ok(None);
    };
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let good = (1..=NAME_MAX).contains(&name.len()) && name.bytes().all(plain);
    if good { Ok(Some(name.into())) } else { Err(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_users() {
        assert_eq!(user_name(None), Ok(None));
        assert_eq!(user_name(Some("a=b")), Ok(None));
        assert_eq!(user_name(Some("a=b&user=ann-1")), Ok(Some("ann-1".into())));
        let long = format!("user={}", "x".repeat(NAME_MAX + 1));
        for bad in ["user=", "user=a%20b", "user=ä", &long] {
            assert_eq!(user_name(Some(bad)), Err(()), "{bad}");
        }
    }
}
