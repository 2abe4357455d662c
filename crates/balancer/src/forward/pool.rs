//! A thread's idle connections to backends, and its buffers.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// What a buffer has room for, in bytes.
pub(super) const BUFFER_BYTES: usize = 16 << 10;
/// Buffers that are kept for the next request.
const BUFFERS_KEPT: usize = 256;

/// A connection to a backend.
#[derive(Debug)]
pub(super) struct Upstream {
    pub(super) stream: TcpStream,
    /// Whether it served a request before: then its backend may just have closed it.
    pub(super) reused: bool,
}

/// What one thread keeps.
#[derive(Debug)]
pub(super) struct Pool {
    idle: RefCell<HashMap<SocketAddr, Vec<TcpStream>>>,
    idle_max: usize,
    buffers: RefCell<Vec<Vec<u8>>>,
}

impl Pool {
    pub(super) fn new(idle_max: usize) -> Self {
        Self {
            idle: RefCell::default(),
            idle_max,
            buffers: RefCell::default(),
        }
    }

    /// An idle connection that is open, as far as the kernel knows now.
    pub(super) fn take(&self, address: SocketAddr) -> Option<Upstream> {
        let mut idle = self.idle.borrow_mut();
        let streams = idle.get_mut(&address)?;
        while let Some(stream) = streams.pop() {
            // An idle connection has nothing to read: neither its end, nor bytes that nobody requested. The runtime
            // may not have heard of these yet.
            let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
            if matches!(recv(&stream, &mut [0], flags), Err(Errno::AGAIN)) {
                return Some(Upstream {
                    stream,
                    reused: true,
                });
            }
        }
        None
    }

    /// A new connection.
    ///
    /// # Errors
    /// If there is none in time.
    pub(super) async fn connect(
        &self,
        address: SocketAddr,
        within: Duration,
    ) -> io::Result<Upstream> {
        let stream = timeout(within, TcpStream::connect(address)).await??;
        stream.set_nodelay(true)?;
        Ok(Upstream {
            stream,
            reused: false,
        })
    }

    /// Keeps a connection for the next request.
    pub(super) fn put(&self, address: SocketAddr, stream: TcpStream) {
        let mut idle = self.idle.borrow_mut();
        let streams = idle.entry(address).or_default();
        if streams.len() < self.idle_max {
            streams.push(stream);
        }
    }

    /// An empty buffer with room for [`BUFFER_BYTES`].
    pub(super) fn buffer(&self) -> Vec<u8> {
        let kept = self.buffers.borrow_mut().pop();
        kept.unwrap_or_else(|| Vec::with_capacity(BUFFER_BYTES))
    }

    /// Takes a buffer back.
    pub(super) fn give_back(&self, mut buffer: Vec<u8>) {
        let mut buffers = self.buffers.borrow_mut();
        let is_plain = (BUFFER_BYTES..=2 * BUFFER_BYTES).contains(&buffer.capacity());
        if is_plain && buffers.len() < BUFFERS_KEPT {
            buffer.clear();
            buffers.push(buffer);
        }
    }
}
