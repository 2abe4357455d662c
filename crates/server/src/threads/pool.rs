//! Serving threads: each with its own runtime, its own listener and, if wished, its own files.
//!
//! A descriptor is a number in the table of the thread that uses it, so a thread with a table of
//! its own must neither be given one from outside nor give one away. What crosses threads here
//! obeys that:
//!
//! - A runtime is woken from other threads by a write to its event descriptor. So all runtimes
//!   are made in the process's table before the first thread leaves it: each table is a copy that
//!   has all of them under the same numbers. They are also dropped in the process's table.
//! - Sockets belong to tasks, and tasks to a [`LocalSet`] that never leaves its thread.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;

use futures_util::future::select_all;
use tokio::net::{TcpListener, TcpSocket};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{oneshot, watch};
use tokio::task::LocalSet;

use super::files::own_files;

/// What a crew needs to know before it starts.
#[derive(Debug, Clone, Copy)]
pub struct Setup {
    /// Where to listen; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Serving threads, at least 1. More than one share the port (`SO_REUSEPORT`), and the
    /// kernel spreads the connections over them.
    pub threads: usize,
    /// Most connections waiting to be accepted, for each thread.
    pub backlog: u32,
    /// Whether each thread has a file table of its own, hence the limit on open files for itself.
    pub own_files: bool,
    /// Whether other processes listen there, too; who started them holds the port ([`Port`]).
    pub shared: bool,
}

/// What one serving thread is given.
#[derive(Debug)]
pub struct Post {
    /// The thread's own listener.
    pub listener: TcpListener,
    /// Turns true when serving shall end.
    pub stop: watch::Receiver<bool>,
}

/// A running crew.
#[derive(Debug)]
pub struct Crew {
    address: SocketAddr,
    stop: watch::Sender<bool>,
    hands: Vec<JoinHandle<Ground>>,
    ended: Vec<oneshot::Receiver<()>>,
}

impl Crew {
    /// Starts the threads one after another; each runs `work` until that returns, on a runtime
    /// where tasks are spawned by [`tokio::task::spawn_local`].
    ///
    /// # Errors
    /// When the address cannot be bound, or a thread or its runtime cannot be made.
    pub async fn start<F, W>(setup: Setup, work: F) -> io::Result<Self>
    where
        F: Fn(Post) -> W + Send + Sync + 'static,
        W: Future<Output = ()>,
    {
        if setup.threads > 1 && !setup.shared && setup.listen.port() != 0 {
            probe(setup.listen)?;
        }
        let work = Arc::new(work);
        let (stop, _) = watch::channel(false);
        let mut crew = Self {
            address: setup.listen,
            stop,
            hands: Vec::new(),
            ended: Vec::new(),
        };
        for ground in grounds(setup.threads)? {
            let setup = Setup {
                listen: crew.address,
                ..setup
            };
            match crew.hire(setup, ground, Arc::clone(&work)).await {
                Ok(address) => crew.address = address,
                Err(error) => {
                    crew.stop().await?;
                    return Err(error);
                }
            }
        }
        Ok(crew)
    }

    async fn hire<F, W>(
        &mut self,
        setup: Setup,
        ground: Ground,
        work: Arc<F>,
    ) -> io::Result<SocketAddr>
    where
        F: Fn(Post) -> W + Send + Sync + 'static,
        W: Future<Output = ()>,
    {
        let (up, is_up) = oneshot::channel();
        let (end, ended) = oneshot::channel();
        let stop = self.stop.subscribe();
        let thread = std::thread::Builder::new().name("serve".to_owned());
        self.hands.push(thread.spawn(move || {
            serve(setup, ground.runtime(), stop, up, &*work);
            // Nobody listens any more when the crew itself was dropped.
            let _ = end.send(());
            ground
        })?);
        self.ended.push(ended);
        is_up
            .await
            .unwrap_or_else(|_| Err(io::Error::other("a serving thread died at birth")))
    }

    /// Where the crew listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `shutdown` resolves or a thread crashes; then calls `drain`, tells every thread to
    /// stop, and waits until all have ended.
    ///
    /// # Errors
    /// When a thread crashed.
    pub async fn serve_until(
        mut self,
        shutdown: impl Future<Output = ()>,
        drain: impl FnOnce(),
    ) -> io::Result<()> {
        let crashed = tokio::select! {
            () = shutdown => false,
            () = self.any_ended() => true,
        };
        drain();
        self.stop().await?;
        match crashed {
            true => Err(io::Error::other("a serving thread ended early")),
            false => Ok(()),
        }
    }

    /// Resolves when any thread ended, which before [`Crew::stop`] means that it crashed.
    async fn any_ended(&mut self) {
        let (_, at, _) = select_all(self.ended.iter_mut()).await;
        self.ended.swap_remove(at);
    }

    /// Tells every thread to stop and waits until all have ended.
    ///
    /// # Errors
    /// When a thread had crashed.
    async fn stop(self) -> io::Result<()> {
        self.stop.send_replace(true);
        for ended in self.ended {
            // An error is the crash that the join below tells of.
            let _ = ended.await;
        }
        let crashed = self
            .hands
            .into_iter()
            .filter_map(|hand| hand.join().err())
            .count();
        if crashed > 0 {
            return Err(io::Error::other(format!(
                "{crashed} serving threads crashed"
            )));
        }
        Ok(())
    }
}

/// A thread's runtime, which may be dropped anywhere: also inside another one, where waiting for
/// its end, as a runtime does by itself, is not allowed. It has no tasks of its own to wait for.
#[derive(Debug)]
struct Ground {
    /// `None` only while it is dropped.
    runtime: Option<Runtime>,
}

impl Ground {
    fn runtime(&self) -> &Runtime {
        self.runtime
            .as_ref()
            .expect("it is only taken when the ground is dropped")
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

fn grounds(count: usize) -> io::Result<Vec<Ground>> {
    // Sockets are looked at after every lot of tasks (a local set runs up to 61 in one go).
    let build = || {
        Builder::new_current_thread()
            .enable_all()
            .event_interval(1)
            .build()
    };
    (0..count.max(1))
        .map(|_| {
            Ok(Ground {
                runtime: Some(build()?),
            })
        })
        .collect()
}

/// The body of one thread.
fn serve<W: Future<Output = ()>>(
    setup: Setup,
    runtime: &Runtime,
    stop: watch::Receiver<bool>,
    up: oneshot::Sender<io::Result<SocketAddr>>,
    work: &impl Fn(Post) -> W,
) {
    let tasks = LocalSet::new();
    let begin = || {
        if setup.own_files {
            own_files()?;
        }
        let listener = listen(setup)?;
        Ok((listener.local_addr()?, listener))
    };
    runtime.block_on(tasks.run_until(async {
        // If nobody waits for the answer, nobody wants the thread.
        match begin() {
            Ok((address, listener)) => {
                if up.send(Ok(address)).is_ok() {
                    work(Post { listener, stop }).await;
                }
            }
            Err(error) => drop(up.send(Err(error))),
        }
    }));
    // Ends the tasks that are left, and closes their sockets, here and not with the runtime.
    let _inside = runtime.enter();
    drop(tasks);
}

fn socket(address: SocketAddr) -> io::Result<TcpSocket> {
    let socket = if address.is_ipv4() {
        TcpSocket::new_v4()
    } else {
        TcpSocket::new_v6()
    }?;
    socket.set_reuseaddr(true)?;
    Ok(socket)
}

fn listen(setup: Setup) -> io::Result<TcpListener> {
    let socket = socket(setup.listen)?;
    if setup.threads > 1 || setup.shared {
        socket.set_reuseport(true)?;
    }
    // Nagle's algorithm holds back small messages. Connections inherit that it is off.
    socket.set_nodelay(true)?;
    socket.bind(setup.listen)?;
    socket.listen(setup.backlog)
}

/// Fails when somebody listens at `address` already. Needed because a shared port would be shared
/// with another server of the same person without a word.
fn probe(address: SocketAddr) -> io::Result<()> {
    socket(address)?.bind(address)
}

/// A port that several processes are to listen at. Nothing arrives here: only who listens is given
/// connections.
#[derive(Debug)]
pub struct Port {
    address: SocketAddr,
    _socket: TcpSocket,
}

impl Port {
    /// Takes a port for processes of the same person; 0 takes a free one.
    ///
    /// # Errors
    /// When somebody else listens there, or the address cannot be had.
    pub fn take(address: SocketAddr) -> io::Result<Port> {
        if address.port() != 0 {
            probe(address)?;
        }
        let socket = socket(address)?;
        socket.set_reuseport(true)?;
        socket.bind(address)?;
        Ok(Port {
            address: socket.local_addr()?,
            _socket: socket,
        })
    }

    /// The address, with the port that was taken.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn accepted_connections_send_small_messages_at_once() {
        let listener = listen(Setup {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            threads: 1,
            backlog: 1,
            own_files: false,
            shared: false,
        })
        .unwrap();
        let peer = tokio::net::TcpStream::connect(listener.local_addr().unwrap());
        let (accepted, _peer) = tokio::join!(listener.accept(), peer);
        assert!(accepted.unwrap().0.nodelay().unwrap());
    }
}
