//! Serving threads: each with its own runtime, its own listener and, if wished, its own files.
//!
//! A descriptor is a number in the table of the thread that uses it, so a thread with a table of
//! its own must not exchange descriptors with others. What crosses threads here obeys that:
//!
//! - A runtime is woken from other threads by a write to its event descriptor. So all runtimes
//!   are made in the process's table before the first thread leaves it: each table is a copy that
//!   has all of them under the same numbers. They are also dropped in the process's table.
//! - Sockets belong to tasks, and tasks to a [`LocalSet`] that never leaves its thread.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::thread::JoinHandle;

use futures_util::future::select_all;
use rustls::ServerConfig;
use tokio::net::{TcpListener, TcpSocket};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{oneshot, watch};
use tokio::task::LocalSet;

use super::files::own_files;
use crate::error::ServerError;
use crate::options::ServerOptions;
use crate::serving::{Serving, ThreadWork};
use crate::tls::TlsFiles;

/// Context of one serving thread.
#[derive(Debug)]
pub struct ThreadContext {
    /// The thread's own listener.
    pub listener: TcpListener,
    /// Turns true when serving shall end.
    pub stop: watch::Receiver<bool>,
    /// The TLS that is spoken on its connections.
    pub tls: Option<Arc<ServerConfig>>,
}

/// Function that begins the work of a thread.
type Begin = dyn Fn(ThreadContext) -> ThreadWork + Send + Sync;

/// Serves a system: starts the threads of `options`, each of which runs `work`; calls `ready` with the
/// address as soon as connections are accepted; and when `shutdown` resolves calls `drain`, stops every
/// thread and waits for all of them.
///
/// # Errors
/// When certificate or key cannot be used, when the address cannot be listened on, or a thread crashed.
pub fn serve<'a>(
    options: &'a ServerOptions,
    work: impl Fn(ThreadContext) -> ThreadWork + Send + Sync + 'static,
    ready: impl FnOnce(SocketAddr) + Send + 'a,
    shutdown: impl Future<Output = ()> + Send + 'a,
    drain: impl FnOnce() + Send + 'a,
) -> Serving<'a, (), ServerError> {
    let begin: Arc<Begin> = Arc::new(work);
    serve_threads(options, begin, Box::new(ready), Box::pin(shutdown), Box::new(drain))
}

/// [`serve`] without type parameters: no system compiles it again.
fn serve_threads<'a>(
    options: &'a ServerOptions,
    begin: Arc<Begin>,
    ready: Box<dyn FnOnce(SocketAddr) + Send + 'a>,
    shutdown: Pin<Box<dyn Future<Output = ()> + Send + 'a>>,
    drain: Box<dyn FnOnce() + Send + 'a>,
) -> Serving<'a, (), ServerError> {
    Box::pin(async move {
        let tls = options.tls.as_ref().map(TlsFiles::load).transpose()?;
        let pool = ThreadPool::start(options, tls, begin).await;
        let pool = pool.map_err(|source| match source.kind() {
            // It is a thread that cannot be started: another address would not help.
            io::ErrorKind::WouldBlock | io::ErrorKind::OutOfMemory => ServerError::Process(source),
            _ => ServerError::Listen { address: options.listen, source },
        })?;
        ready(pool.address);
        let served = pool.serve_until(shutdown, drain).await;
        served.map_err(|_| ServerError::Crashed)
    })
}

/// Running threads.
#[derive(Debug)]
struct ThreadPool {
    address: SocketAddr,
    stop: watch::Sender<bool>,
    tls: Option<Arc<ServerConfig>>,
    threads: Vec<JoinHandle<ThreadRuntime>>,
    ended: Vec<oneshot::Receiver<()>>,
}

impl ThreadPool {
    /// Starts the threads one after another; each does its work until that returns, on a runtime
    /// where tasks are spawned by [`tokio::task::spawn_local`].
    ///
    /// # Errors
    /// When the address cannot be bound, or a thread or its runtime cannot be made.
    async fn start(
        options: &ServerOptions,
        tls: Option<Arc<ServerConfig>>,
        begin: Arc<Begin>,
    ) -> io::Result<Self> {
        if options.threads > 1 && !options.shared_port && options.listen.port() != 0 {
            check_unused(options.listen)?;
        }
        let (stop, _) = watch::channel(false);
        let mut pool =
            Self { address: options.listen, stop, tls, threads: Vec::new(), ended: Vec::new() };
        for runtime in runtimes(options.threads)? {
            let listening = ListenOptions {
                address: pool.address,
                backlog: options.backlog,
                own_files: options.has_own_files(),
                shared_port: options.threads > 1 || options.shared_port,
            };
            match pool.spawn(listening, runtime, Arc::clone(&begin)).await {
                Ok(address) => pool.address = address,
                Err(error) => {
                    pool.stop().await?;
                    return Err(error);
                }
            }
        }
        Ok(pool)
    }

    /// Starts a thread; the address on which it listens.
    async fn spawn(
        &mut self,
        listening: ListenOptions,
        runtime: ThreadRuntime,
        begin: Arc<Begin>,
    ) -> io::Result<SocketAddr> {
        let (up, is_up) = oneshot::channel();
        let (end, ended) = oneshot::channel();
        let stop = self.stop.subscribe();
        let tls = self.tls.clone();
        let context = move |listener| ThreadContext { listener, stop, tls };
        let thread = std::thread::Builder::new().name("serve".to_owned());
        self.threads.push(thread.spawn(move || {
            run_thread(listening, runtime.get(), context, up, &*begin);
            // Nobody waits for it when the pool itself was dropped.
            let _ = end.send(());
            runtime
        })?);
        self.ended.push(ended);
        is_up
            .await
            .unwrap_or_else(|_| Err(io::Error::other("a serving thread crashed at its start")))
    }

    /// Serves until `shutdown` resolves or a thread crashes; then calls `drain`, stops every thread and waits
    /// until all have ended.
    ///
    /// # Errors
    /// When a thread crashed.
    async fn serve_until(
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

    /// Resolves when any thread ended, which before [`ThreadPool::stop`] means that it crashed.
    async fn any_ended(&mut self) {
        let (_, at, _) = select_all(self.ended.iter_mut()).await;
        self.ended.swap_remove(at);
    }

    /// Stops every thread and waits until all have ended.
    ///
    /// # Errors
    /// When a thread had crashed.
    async fn stop(self) -> io::Result<()> {
        self.stop.send_replace(true);
        for ended in self.ended {
            // An error is a crash, which the join below reports.
            let _ = ended.await;
        }
        let crashed = self.threads.into_iter().filter_map(|thread| thread.join().err()).count();
        if crashed > 0 {
            return Err(io::Error::other(format!("{crashed} serving threads crashed")));
        }
        Ok(())
    }
}

/// How one thread listens.
#[derive(Debug, Clone, Copy)]
struct ListenOptions {
    /// Port 0 takes a free one.
    address: SocketAddr,
    /// Most connections waiting to be accepted.
    backlog: u32,
    /// Whether the thread has a file table of its own, hence the limit on open files for itself.
    own_files: bool,
    /// Whether others listen on the same port (`SO_REUSEPORT`): the kernel spreads the connections.
    shared_port: bool,
}

/// A thread's runtime, which may be dropped anywhere: also inside another one, where waiting for
/// its end, as a runtime does by itself, is not allowed. It has no tasks of its own to wait for.
#[derive(Debug)]
struct ThreadRuntime {
    /// `None` only while it is dropped.
    runtime: Option<Runtime>,
}

impl ThreadRuntime {
    fn get(&self) -> &Runtime {
        self.runtime.as_ref().expect("it is only taken when this is dropped")
    }
}

impl Drop for ThreadRuntime {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

fn runtimes(count: usize) -> io::Result<Vec<ThreadRuntime>> {
    // Sockets are looked at after every lot of tasks (a local set runs up to 61 in one go).
    let build = || Builder::new_current_thread().enable_all().event_interval(1).build();
    (0..count.max(1)).map(|_| Ok(ThreadRuntime { runtime: Some(build()?) })).collect()
}

/// The body of one thread.
fn run_thread(
    listening: ListenOptions,
    runtime: &Runtime,
    context: impl FnOnce(TcpListener) -> ThreadContext,
    up: oneshot::Sender<io::Result<SocketAddr>>,
    begin: &Begin,
) {
    let tasks = LocalSet::new();
    let open = || {
        if listening.own_files {
            own_files()?;
        }
        let listener = listen(listening)?;
        Ok((listener.local_addr()?, listener))
    };
    runtime.block_on(tasks.run_until(async {
        // If nobody waits for the answer, nobody needs the thread.
        match open() {
            Ok((address, listener)) => {
                if up.send(Ok(address)).is_ok() {
                    begin(context(listener)).await;
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
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    Ok(socket)
}

fn listen(listening: ListenOptions) -> io::Result<TcpListener> {
    let socket = socket(listening.address)?;
    if listening.shared_port {
        socket.set_reuseport(true)?;
    }
    // Nagle's algorithm holds back small messages. Connections inherit that it is off.
    socket.set_nodelay(true)?;
    socket.bind(listening.address)?;
    socket.listen(listening.backlog)
}

/// Fails when another process listens on `address`. Needed because `SO_REUSEPORT` would silently share
/// the port with another server of the same user.
fn check_unused(address: SocketAddr) -> io::Result<()> {
    socket(address)?.bind(address)
}

/// A port on which several processes are to listen. It receives nothing itself: the kernel gives
/// connections to listening sockets only.
#[derive(Debug)]
pub struct Port {
    address: SocketAddr,
    _socket: TcpSocket,
}

impl Port {
    /// Takes a port for processes of the same user; 0 takes a free one.
    ///
    /// # Errors
    /// When another process listens there, or the address cannot be bound.
    pub fn take(address: SocketAddr) -> io::Result<Port> {
        if address.port() != 0 {
            check_unused(address)?;
        }
        let socket = socket(address)?;
        socket.set_reuseport(true)?;
        socket.bind(address)?;
        Ok(Port { address: socket.local_addr()?, _socket: socket })
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
        let listener = listen(ListenOptions {
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
            backlog: 1,
            own_files: false,
            shared_port: false,
        })
        .unwrap();
        let peer = tokio::net::TcpStream::connect(listener.local_addr().unwrap());
        let (accepted, _peer) = tokio::join!(listener.accept(), peer);
        assert!(accepted.unwrap().0.nodelay().unwrap());
    }
}
