//! Carriers of frames between a controller and a worker: TCP connections, or those of a fleet.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::Duration;

/// Carries bytes both ways between a controller and one worker: in order, each once, until one of both closes it.
pub trait Carrier: fmt::Debug + Send + Sync {
    /// Reads some bytes. 0: the peer has closed it. After the timeout the error is `TimedOut` or `WouldBlock`, and it
    /// can be called again.
    fn receive(&self, buffer: &mut [u8]) -> io::Result<usize>;
    /// Sends bytes, or keeps them to be sent. Frames are sent by one thread at a time.
    fn send(&self, bytes: &[u8]) -> io::Result<()>;
    /// Sets the longest wait of [`Carrier::receive`].
    fn set_timeout(&self, timeout: Duration) -> io::Result<()>;
    /// Closes it both ways. What was sent before still arrives if the peer can be reached.
    fn close(&self);
    /// True if this side of it is cut off, and may be connected again. Nothing is known of the peer then.
    fn is_cut_off(&self) -> bool {
        false
    }
    /// Notes that the receiver has stored all bytes before this position, counted from the beginning.
    fn mark_stored(&self, _position: u64) {}
    /// True if it keeps all that is sent until its receiver has stored it, so that neither side has to wait for the other.
    fn keeps(&self) -> bool {
        false
    }
    /// True if it keeps so much that rows should wait.
    fn is_full(&self) -> bool {
        false
    }
    /// The time, on the monotonic clock, at which something was last sent that arrived; `None`: that is not known.
    fn contact_ns(&self) -> Option<u64> {
        None
    }
    /// True if the peer is known to run no more.
    fn is_peer_gone(&self) -> bool {
        false
    }
    /// Notes that the worker has begun: from now on it continues without its controller for a while.
    fn note_start(&self) {}
}

impl Carrier for TcpStream {
    fn receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
        (&mut &*self).read(buffer)
    }

    fn send(&self, bytes: &[u8]) -> io::Result<()> {
        (&mut &*self).write_all(bytes)
    }

    fn set_timeout(&self, timeout: Duration) -> io::Result<()> {
        self.set_read_timeout(Some(timeout))
    }

    fn close(&self) {
        // An error means that it is closed already.
        let _ = self.shutdown(Shutdown::Both);
    }
}

/// One end of a carrier as a stream of bytes.
#[derive(Debug, Clone)]
pub(super) struct Bytes(pub(super) Arc<dyn Carrier>);

impl Read for Bytes {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.receive(buffer)
    }
}

impl Write for Bytes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.send(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
