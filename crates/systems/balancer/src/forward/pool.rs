//! A thread's idle connections to backends, and its buffers.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};

/// Capacity of a buffer, in bytes.
pub(super) const BUFFER_BYTES: usize = 16 << 10;
/// Buffers of one kind that are kept for the next request.
const BUFFERS_KEPT: usize = 256;
/// Errors of a connection attempt that say nothing of the peer: this process has no files, ports or memory left.
const LOCAL: [Errno; 5] =
    [Errno::MFILE, Errno::NFILE, Errno::ADDRNOTAVAIL, Errno::NOBUFS, Errno::NOMEM];

/// A connection to a backend.
#[derive(Debug)]
pub(super) struct Upstream {
    pub(super) stream: TcpStream,
    /// Whether it served a request before: then its backend may just have closed it.
    pub(super) reused: bool,
}

/// An idle connection, and since when it is.
#[derive(Debug)]
struct Idle {
    stream: TcpStream,
    since: Instant,
}

/// Connections and buffers that one thread keeps.
#[derive(Debug)]
pub(super) struct Pool {
    /// Idle connections by backend, the longest idle first.
    idle: RefCell<HashMap<SocketAddr, Vec<Idle>>>,
    idle_max: usize,
    buffers: Buffers,
}

/// Whether an attempt to connect failed for want of the balancer's own files, ports or memory.
pub(super) fn is_local(error: &io::Error) -> bool {
    Errno::from_io_error(error).is_some_and(|errno| LOCAL.contains(&errno))
}

impl Pool {
    pub(super) fn new(idle_max: usize) -> Self {
        Self { idle: RefCell::default(), idle_max, buffers: Buffers::new(2 * BUFFER_BYTES) }
    }

    /// An idle connection that is open, as far as the kernel knows now.
    pub(super) fn take(&self, address: SocketAddr) -> Option<Upstream> {
        let mut idle = self.idle.borrow_mut();
        let streams = idle.get_mut(&address)?;
        while let Some(Idle { stream, .. }) = streams.pop() {
            // An idle connection has nothing to read: neither its end, nor bytes that nobody requested. The runtime
            // may not have heard of these yet.
            let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
            if matches!(recv(&stream, &mut [0], flags), Err(Errno::AGAIN)) {
                return Some(Upstream { stream, reused: true });
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
        Ok(Upstream { stream, reused: false })
    }

    /// Keeps a connection for the next request.
    pub(super) fn put(&self, address: SocketAddr, stream: TcpStream) {
        let mut idle = self.idle.borrow_mut();
        let streams = idle.entry(address).or_default();
        if streams.len() < self.idle_max {
            let since = Instant::now();
            streams.push(Idle { stream, since });
        }
    }

    /// Closes the connections that have been idle since before this time. Nobody looks at them otherwise: their backend may
    /// not be listed any more, and of many connections the last ones are used.
    pub(super) fn close_idle(&self, before: Instant) {
        self.idle.borrow_mut().retain(|_, streams| {
            let old = streams.partition_point(|idle| idle.since < before);
            streams.drain(..old);
            !streams.is_empty()
        });
    }

    /// An empty buffer with room for [`BUFFER_BYTES`].
    pub(super) fn buffer(&self) -> Vec<u8> {
        self.buffers.take()
    }

    /// Takes a buffer back.
    pub(super) fn give_back(&self, buffer: Vec<u8>) {
        self.buffers.give_back(buffer);
    }
}

/// Empty buffers for the next requests.
#[derive(Debug)]
pub(super) struct Buffers {
    kept: RefCell<Vec<Vec<u8>>>,
    /// Largest capacity of a buffer that is kept, in bytes.
    capacity_max: usize,
}

impl Buffers {
    pub(super) fn new(capacity_max: usize) -> Self {
        Self { kept: RefCell::default(), capacity_max }
    }

    /// Takes a buffer with room for [`BUFFER_BYTES`].
    pub(super) fn take(&self) -> Vec<u8> {
        let kept = self.kept.borrow_mut().pop();
        kept.unwrap_or_else(|| Vec::with_capacity(BUFFER_BYTES))
    }

    /// Takes one back. A moment with many requests does not leave its memory behind.
    pub(super) fn give_back(&self, mut buffer: Vec<u8>) {
        let mut kept = self.kept.borrow_mut();
        let is_plain = (BUFFER_BYTES..=self.capacity_max).contains(&buffer.capacity());
        if is_plain && kept.len() < BUFFERS_KEPT {
            buffer.clear();
            kept.push(buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn connections_do_not_stay_idle_for_ever() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let pool = Pool::new(2);
        let within = Duration::from_secs(60);
        let mut peers = Vec::new();
        let mut times = Vec::new();
        for _ in 0..2 {
            let upstream = pool.connect(address, within).await.unwrap();
            peers.push(listener.accept().await.unwrap().0);
            times.push(Instant::now());
            pool.put(address, upstream.stream);
        }
        pool.close_idle(times[0]);
        assert_eq!(pool.idle.borrow()[&address].len(), 2);
        pool.close_idle(times[1]);
        assert_eq!(peers[0].read(&mut [0]).await.unwrap(), 0);
        assert!(pool.take(address).is_some());
        let upstream = pool.connect(address, within).await.unwrap();
        pool.put(address, upstream.stream);
        pool.close_idle(Instant::now() + within);
        assert!(pool.idle.borrow().is_empty(), "the address is forgotten");
    }

    #[test]
    fn buffers_are_kept_within_limits() {
        let buffers = Buffers::new(4 * BUFFER_BYTES);
        let plain = || Vec::with_capacity(BUFFER_BYTES);
        (0..2 * BUFFERS_KEPT).for_each(|_| buffers.give_back(plain()));
        assert_eq!(buffers.kept.borrow().len(), BUFFERS_KEPT);
        // Neither those without room nor those with too much.
        assert_eq!(buffers.take().capacity(), BUFFER_BYTES);
        buffers.give_back(Vec::new());
        buffers.give_back(Vec::with_capacity(5 * BUFFER_BYTES));
        assert_eq!(buffers.kept.borrow().len(), BUFFERS_KEPT - 1);
    }

    #[test]
    fn errors_for_want_of_own_means_are_known() {
        let errors = [Errno::MFILE, Errno::ADDRNOTAVAIL, Errno::NOMEM];
        assert!(errors.iter().all(|errno| is_local(&(*errno).into())));
        let errors = [Errno::CONNREFUSED, Errno::TIMEDOUT, Errno::HOSTUNREACH];
        assert!(!errors.iter().any(|errno| is_local(&(*errno).into())));
        assert!(!is_local(&io::ErrorKind::TimedOut.into()));
    }
}
