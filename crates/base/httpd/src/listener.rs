//! Accepts connections: one thread and one request each, within limits.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use crate::reply::Reply;
use crate::request::{DeadlineWriter, Request, drain, read_head};

/// The pause after a failed accept: if the process is out of files, the next accept would fail at once.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// How many connections there may be, and how long each may take.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Open connections; further ones get status 503.
    pub connections_max: usize,
    /// Time to receive a request's head.
    pub head: Duration,
    /// Time to send a reply.
    pub write: Duration,
}

/// How to serve.
#[derive(Debug, Clone, Copy)]
pub struct Config {
    pub limits: Limits,
    /// Name of the accepting thread.
    pub name: &'static str,
    /// Stack of each connection's thread.
    pub stack_bytes: usize,
    /// Header fields of the replies that are sent without the handler, each with its line end.
    pub headers: &'static str,
}

/// Answers requests.
pub trait Handler: Send + Sync + 'static {
    /// Answers one request, on the thread of its connection.
    ///
    /// # Errors
    /// The client is gone or too slow; the connection is closed.
    fn handle(&self, request: &Request<'_>) -> io::Result<()>;
}

/// A server that accepts connections until this is dropped.
#[derive(Debug)]
pub struct Listener {
    address: SocketAddr,
    closed: Arc<AtomicBool>,
}

impl Listener {
    /// Accepts connections on a thread of its own.
    ///
    /// # Errors
    /// The socket has no address, or no thread can be started.
    pub fn start(
        socket: TcpListener,
        config: Config,
        handler: impl Handler,
    ) -> io::Result<Listener> {
        let address = socket.local_addr()?;
        let closed = Arc::<AtomicBool>::default();
        let stop = Arc::clone(&closed);
        let shared = Arc::new(ListenerState { handler, config, connections: AtomicUsize::new(0) });
        std::thread::Builder::new().name(config.name.to_owned()).spawn(move || {
            for stream in socket.incoming() {
                if stop.load(Ordering::Relaxed) {
                    return;
                }
                match stream {
                    Ok(stream) => accept(stream, &shared),
                    Err(_) => std::thread::park_timeout(ACCEPT_PAUSE),
                }
            }
        })?;
        Ok(Listener { address, closed })
    }

    /// The address it listens at.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.closed.store(true, Ordering::Relaxed);
        // Wakes the accepting thread. If this fails, the thread ends with the process.
        let _ = TcpStream::connect_timeout(&self.address, ACCEPT_PAUSE);
    }
}

struct ListenerState<H> {
    handler: H,
    config: Config,
    connections: AtomicUsize,
}

fn accept<H: Handler>(stream: TcpStream, shared: &Arc<ListenerState<H>>) {
    let Some(slot) = Slot::take(shared) else {
        let full = Reply::text(503, shared.config.headers, "too many connections\n");
        // The reply fits any socket's send buffer, so this does not block.
        let _ = full.write(&mut &stream);
        return;
    };
    // If no thread can be started, the connection closes.
    let _ = std::thread::Builder::new()
        .name("http client".to_owned())
        .stack_size(shared.config.stack_bytes)
        .spawn(move || {
            // A client that went away needs no reply.
            let _ = serve(&stream, &slot.0);
        });
}

/// One of the connections allowed at a time.
struct Slot<H>(Arc<ListenerState<H>>);

impl<H> Slot<H> {
    fn take(shared: &Arc<ListenerState<H>>) -> Option<Slot<H>> {
        let slot = Slot(Arc::clone(shared));
        let taken = shared.connections.fetch_add(1, Ordering::Relaxed);
        // Dropping the slot takes back one too many.
        (taken < shared.config.limits.connections_max).then_some(slot)
    }
}

impl<H> Drop for Slot<H> {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

fn serve<H: Handler>(stream: &TcpStream, shared: &ListenerState<H>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let Config { limits, headers, .. } = shared.config;
    match read_head(stream, limits.head)? {
        Ok(head) => shared.handler.handle(&Request { head: &head, stream, write: limits.write }),
        Err(bad) => {
            let reply = Reply::text(bad.0, headers, "this request is not accepted here\n");
            reply.write(&mut DeadlineWriter::new(stream, limits.write))?;
            drain(stream)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::sync::Barrier;

    use super::*;

    /// Longer than anything here takes unless it hangs.
    const TIMEOUT: Duration = Duration::from_secs(20);

    struct Fixed<F>(F);

    impl<F: Fn() -> String + Send + Sync + 'static> Handler for Fixed<F> {
        fn handle(&self, request: &Request<'_>) -> io::Result<()> {
            let body = (self.0)();
            Reply::text(200, "", &body).write(&mut request.writer())
        }
    }

    fn config(connections_max: usize) -> Config {
        Config {
            limits: Limits { connections_max, head: TIMEOUT, write: TIMEOUT },
            name: "test",
            stack_bytes: 256 << 10,
            headers: "X-Test: 1\r\n",
        }
    }

    fn start(text: impl Fn() -> String + Send + Sync + 'static) -> Listener {
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        Listener::start(socket, config(4), Fixed(text)).unwrap()
    }

    fn exchange(listener: &Listener, request: &str) -> String {
        let mut stream = TcpStream::connect(listener.address()).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn a_request_gets_the_handlers_reply_and_a_bad_one_is_refused() {
        let listener = start(|| "a 1\n".to_owned());
        let reply = exchange(&listener, "GET / HTTP/1.1\r\n\r\n");
        assert!(reply.starts_with("HTTP/1.1 200 OK\r\n"), "{reply}");
        assert!(reply.ends_with("\r\n\r\na 1\n"), "{reply}");
        let refused = exchange(&listener, "rubbish\r\n\r\n");
        assert!(refused.starts_with("HTTP/1.1 400 Bad Request\r\n"));
        assert!(refused.contains("\r\nX-Test: 1\r\n"), "{refused}");
    }

    #[test]
    fn a_slow_client_does_not_delay_others() {
        let both = Barrier::new(2);
        let listener = start(move || {
            both.wait();
            "a 1\n".to_owned()
        });
        let _silent = TcpStream::connect(listener.address()).unwrap();
        std::thread::scope(|scope| {
            let get = || exchange(&listener, "GET / HTTP/1.1\r\n\r\n");
            for client in [scope.spawn(get), scope.spawn(get)] {
                let reply = client.join().unwrap();
                assert!(reply.ends_with("a 1\n"), "{reply}");
            }
        });
    }

    #[test]
    fn a_client_that_drips_after_a_refusal_is_left() {
        let listener = start(|| "a 1\n".to_owned());
        let mut stream = TcpStream::connect(listener.address()).unwrap();
        let head = b"POST / HTTP/1.1\r\nContent-Length: 60000\r\n\r\n";
        stream.write_all(head).unwrap();
        let mut dripping = stream.try_clone().unwrap();
        std::thread::scope(|scope| {
            // Far fewer bytes than are read of a refused request; until the server closes.
            scope.spawn(move || {
                let every = Duration::from_millis(100);
                dripping.set_read_timeout(Some(every)).unwrap();
                let mut piece = [0; 1024];
                while dripping.write_all(b"x").is_ok() {
                    // The end of the reply's direction is not the end of the connection.
                    if matches!(dripping.read(&mut piece), Ok(0)) {
                        std::thread::park_timeout(every);
                    }
                }
            });
        });
    }

    #[test]
    fn slots_are_bounded_and_returned() {
        let shared = Arc::new(ListenerState {
            handler: (),
            config: config(4),
            connections: AtomicUsize::new(0),
        });
        let mut taken: Vec<_> = (0..4).map(|_| Slot::take(&shared).unwrap()).collect();
        assert!(Slot::take(&shared).is_none());
        taken.pop();
        assert!(Slot::take(&shared).is_some());
        drop(taken);
        assert_eq!(shared.connections.load(Ordering::Relaxed), 0);
    }
}
