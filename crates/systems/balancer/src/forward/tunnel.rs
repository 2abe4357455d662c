//! Connections that became WebSockets: bytes in both directions, whatever they mean.

use std::cell::Cell;
use std::io;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::time::Duration;

use rustix::net::sockopt;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::time::{Instant, timeout};

use super::io::{Pace, write};
use super::pool::Pool;

/// After how long without a byte the kernel looks whether the peer's host is still there, and how often from then on.
const LOOK_AFTER: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_secs(15);
/// After how long without an acknowledgement it is not.
const GONE_AFTER: Duration = Duration::from_secs(120);

/// Bounds of a tunnel. Silence alone does not end it: a WebSocket may have nothing to say for hours.
#[derive(Debug, Clone, Copy)]
pub(super) struct TunnelLimits {
    /// How long an end may take nothing of what is sent to it.
    pub(super) stall: Duration,
    /// How long an end may be silent once the other one has ended.
    pub(super) rest: Duration,
}

/// Passes bytes both ways until both ends have ended, first those that were read from each already. Nothing but the two sockets is kept while neither sends.
///
/// # Errors
/// If an end breaks; [`io::ErrorKind::TimedOut`] if it vanished or kept the tunnel beyond its limits.
pub(super) async fn tunnel(
    pool: &Rc<Pool>,
    client: &mut TcpStream,
    from_client: Vec<u8>,
    backend: &mut TcpStream,
    from_backend: Vec<u8>,
    limits: TunnelLimits,
) -> io::Result<()> {
    watch_peer(client)?;
    watch_peer(backend)?;
    let (mut client_read, mut client_write) = client.split();
    let (mut backend_read, mut backend_write) = backend.split();
    let pump = Pump { pool, stall: limits.stall, moved: Cell::new(Instant::now()) };
    let mut inward = pin!(pump.run(&mut client_read, &mut backend_write, from_client));
    let mut outward = pin!(pump.run(&mut backend_read, &mut client_write, from_backend));
    // An end that breaks ends both; one that ends in good order lets the other end finish.
    tokio::select! {
        ended = &mut inward => {
            ended?;
            pump.rest(outward, limits.rest).await
        }
        ended = &mut outward => {
            ended?;
            pump.rest(inward, limits.rest).await
        }
    }
}

/// Has the kernel look after the peer: a host or a network that vanishes ends no connection, and a tunnel to it would be in
/// flight for ever.
fn watch_peer(stream: &TcpStream) -> io::Result<()> {
    let gone_ms = server::stretch(GONE_AFTER).as_millis();
    sockopt::set_socket_keepalive(stream, true)?;
    sockopt::set_tcp_keepidle(stream, server::stretch(LOOK_AFTER))?;
    sockopt::set_tcp_keepintvl(stream, server::stretch(LOOK_EVERY))?;
    sockopt::set_tcp_user_timeout(stream, u32::try_from(gone_ms).unwrap_or(u32::MAX))?;
    Ok(())
}

/// State that both directions have in common.
struct Pump<'a> {
    pool: &'a Rc<Pool>,
    stall: Duration,
    /// When bytes came last.
    moved: Cell<Instant>,
}

impl Pump<'_> {
    /// Passes bytes one way, up to their end.
    async fn run(
        &self,
        from: &mut ReadHalf<'_>,
        to: &mut WriteHalf<'_>,
        first: Vec<u8>,
    ) -> io::Result<()> {
        let mut pace = Pace::without_rate(self.stall);
        write(to, &first, &mut pace).await?;
        drop(first);
        loop {
            from.readable().await?;
            let mut buffer = self.pool.buffer();
            match from.try_read_buf(&mut buffer) {
                Ok(0) => {
                    self.pool.give_back(buffer);
                    return to.shutdown().await;
                }
                Ok(_) => {
                    self.moved.set(Instant::now());
                    write(to, &buffer, &mut pace).await?;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
            self.pool.give_back(buffer);
        }
    }

    /// The direction that is left, which ends if nothing comes for that time.
    async fn rest(
        &self,
        mut left: Pin<&mut impl Future<Output = io::Result<()>>>,
        limit: Duration,
    ) -> io::Result<()> {
        let begun = Instant::now();
        loop {
            let since = begun.max(self.moved.get());
            let silent = limit.saturating_sub(since.elapsed());
            match timeout(silent, left.as_mut()).await {
                Ok(ended) => return ended,
                Err(_) if self.moved.get() > since => {}
                Err(elapsed) => return Err(elapsed.into()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn the_kernel_looks_after_both_ends() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut ends = Vec::new();
        let mut peers = Vec::new();
        for _ in 0..2 {
            ends.push(TcpStream::connect(address).await.unwrap());
            peers.push(listener.accept().await.unwrap().0);
        }
        // Both peers end at once, and so does the tunnel.
        drop(peers);
        let limit = Duration::from_secs(60);
        let limits = TunnelLimits { stall: limit, rest: limit };
        let pool = Rc::new(Pool::new(1));
        let [client, backend] = &mut ends[..] else {
            unreachable!("there are two");
        };
        let ended = tunnel(&pool, client, Vec::new(), backend, Vec::new(), limits);
        ended.await.unwrap();
        for end in &ends {
            assert!(sockopt::socket_keepalive(end).unwrap());
            assert_eq!(sockopt::tcp_keepidle(end).unwrap(), LOOK_AFTER);
            assert_eq!(sockopt::tcp_user_timeout(end).unwrap(), 120_000);
        }
    }
}
