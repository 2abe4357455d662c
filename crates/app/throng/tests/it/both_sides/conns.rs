//! Connections of the servers, with TLS or without.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};

use rustls::{ServerConnection, StreamOwned};

use crate::support::{Tls, server};

/// A server's end of a connection.
pub(super) trait Conn: Read + Write {
    /// Sends nothing more, and says so.
    fn end(&mut self) -> io::Result<()>;
}

impl Conn for TcpStream {
    fn end(&mut self) -> io::Result<()> {
        self.shutdown(Shutdown::Write)
    }
}

impl Conn for StreamOwned<ServerConnection, TcpStream> {
    fn end(&mut self) -> io::Result<()> {
        self.conn.send_close_notify();
        self.flush()?;
        self.sock.shutdown(Shutdown::Write)
    }
}

/// Plays `script` to every connection.
pub(super) fn listen(
    secure: bool,
    script: impl Fn(&mut dyn Conn) -> io::Result<()> + Send + Sync + 'static,
) -> SocketAddr {
    match secure {
        true => Tls::server(move |stream| script(stream)).address,
        false => server(move |mut stream| script(&mut stream)),
    }
}

/// Sends nothing more, and waits until the client has left.
pub(super) fn leave(stream: &mut dyn Conn) -> io::Result<()> {
    io::copy(stream, &mut io::sink()).map(drop)
}

/// Ends this side. A connection with unread bytes would be reset.
pub(super) fn close(stream: &mut dyn Conn) -> io::Result<()> {
    stream.end()?;
    leave(stream)
}
