//! A page for whoever asks: HTTP/1.1, `GET` alone, each connection on a thread of its own, so that one who is
//! slow keeps nobody waiting.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use crate::prometheus::CONTENT_TYPE;

/// How long a peer may be silent while it asks or takes.
const PEER_MAX: Duration = Duration::from_millis(500);
/// Connections at once; more are turned away.
const CONNECTIONS_MAX: usize = 16;
/// How long nobody is let in after that failed: where files run out it would fail again at once.
const PAUSE: Duration = Duration::from_millis(50);
/// Most pieces that a request may come in, and so the longest time it may take.
const PIECES_MAX: usize = 8;
/// Most bytes of a request's head, and headers in it.
const HEAD_BYTES_MAX: usize = 8 << 10;
const HEADERS_MAX: usize = 64;

/// Serves one page at `/metrics` until it is dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    end: Arc<AtomicBool>,
}

impl Server {
    /// Begins to listen; `page` is asked for its text each time.
    ///
    /// # Errors
    /// What the system says.
    pub fn start(
        address: SocketAddr,
        page: impl Fn() -> String + Send + Sync + 'static,
    ) -> io::Result<Server> {
        let listener = TcpListener::bind(address)?;
        let address = listener.local_addr()?;
        let end = Arc::<AtomicBool>::default();
        let ended = Arc::clone(&end);
        let desk = Arc::new(Desk {
            page,
            connections: AtomicUsize::new(0),
        });
        std::thread::Builder::new()
            .name("metrics page".to_owned())
            .spawn(move || {
                for stream in listener.incoming() {
                    if ended.load(Ordering::Relaxed) {
                        return;
                    }
                    match stream {
                        Ok(stream) => serve(stream, &desk),
                        Err(_) => std::thread::park_timeout(PAUSE),
                    }
                }
            })?;
        Ok(Server { address, end })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end.store(true, Ordering::Relaxed);
        // The thread looks up when somebody comes; where nobody can, it is gone already.
        let _ = TcpStream::connect_timeout(&self.address, PEER_MAX);
    }
}

/// The page, and how many ask for it.
struct Desk<P> {
    page: P,
    connections: AtomicUsize,
}

/// One of the connections that may be there.
struct Place<P>(Arc<Desk<P>>);

impl<P> Place<P> {
    fn take(desk: &Arc<Desk<P>>) -> Option<Place<P>> {
        let place = Place(Arc::clone(desk));
        let taken = desk.connections.fetch_add(1, Ordering::Relaxed);
        // Where it is one too many, dropping the place gives it back.
        (taken < CONNECTIONS_MAX).then_some(place)
    }
}

impl<P> Drop for Place<P> {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

fn serve<P: Fn() -> String + Send + Sync + 'static>(mut stream: TcpStream, desk: &Arc<Desk<P>>) {
    let Some(place) = Place::take(desk) else {
        // It fits any socket's buffer, so this does not wait.
        let _ = tell(&mut stream, "503 Service Unavailable", "");
        return;
    };
    // Where there is no thread, the connection closes.
    let _ = std::thread::Builder::new()
        .name("metrics reply".to_owned())
        .spawn(move || {
            // A peer that goes away has taken what it wanted.
            let _ = answer(stream, &place.0.page);
        });
}

fn answer(mut stream: TcpStream, page: &impl Fn() -> String) -> io::Result<()> {
    stream.set_read_timeout(Some(PEER_MAX))?;
    stream.set_write_timeout(Some(PEER_MAX))?;
    let mut head = Vec::new();
    let mut piece = [0; HEAD_BYTES_MAX];
    for _ in 0..PIECES_MAX {
        let n = stream.read(&mut piece)?;
        head.extend_from_slice(&piece[..n]);
        match asked(&head) {
            Asked::More if n > 0 && head.len() < HEAD_BYTES_MAX => {}
            Asked::More | Asked::Nonsense => return tell(&mut stream, "400 Bad Request", ""),
            Asked::Other => return tell(&mut stream, "404 Not Found", "see /metrics\n"),
            Asked::NotAllowed => return tell(&mut stream, "405 Method Not Allowed", ""),
            Asked::Page => return tell(&mut stream, "200 OK", &page()),
        }
    }
    tell(&mut stream, "408 Request Timeout", "")
}

/// What a request wants.
#[derive(Debug, PartialEq, Eq)]
enum Asked {
    /// It is not whole.
    More,
    Nonsense,
    NotAllowed,
    Other,
    Page,
}

fn asked(head: &[u8]) -> Asked {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut request = httparse::Request::new(&mut headers);
    match request.parse(head) {
        Ok(httparse::Status::Partial) => Asked::More,
        Err(_) => Asked::Nonsense,
        Ok(httparse::Status::Complete(_)) => match (request.method, request.path) {
            (Some("GET"), Some(path)) if path.split('?').next() == Some("/metrics") => Asked::Page,
            (Some("GET"), _) => Asked::Other,
            _ => Asked::NotAllowed,
        },
    }
}

fn tell(stream: &mut TcpStream, status: &str, body: &str) -> io::Result<()> {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: {CONTENT_TYPE}\r\ncontent-length: {length}\r\n\
         connection: close\r\nx-content-type-options: nosniff\r\n\r\n"
    );
    stream.write_all((head + body).as_bytes())
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    /// Nothing here takes so long unless it hangs.
    const PATIENCE: Duration = Duration::from_secs(20);

    fn exchange(server: &Server, request: &str) -> String {
        let mut stream = TcpStream::connect(server.address()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn the_page_is_for_those_who_get_it() {
        let loopback = "127.0.0.1:0".parse().unwrap();
        let server = Server::start(loopback, || "a 1\n".to_owned()).unwrap();
        for (request, begins, ends) in [
            (
                "GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n",
                "HTTP/1.1 200",
                "\r\n\r\na 1\n",
            ),
            (
                "GET /metrics?a=b HTTP/1.1\r\n\r\n",
                "HTTP/1.1 200",
                "\r\n\r\na 1\n",
            ),
            ("GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 404", "see /metrics\n"),
            ("POST /metrics HTTP/1.1\r\n\r\n", "HTTP/1.1 405", "\r\n\r\n"),
            ("rubbish\r\n\r\n", "HTTP/1.1 400", "\r\n\r\n"),
        ] {
            let found = exchange(&server, request);
            assert!(
                found.starts_with(begins) && found.ends_with(ends),
                "{found}"
            );
        }
    }

    #[test]
    fn who_is_slow_keeps_nobody_waiting() {
        let both = Barrier::new(2);
        let page = move || {
            both.wait();
            "a 1\n".to_owned()
        };
        let server = Server::start("127.0.0.1:0".parse().unwrap(), page).unwrap();
        let _silent = TcpStream::connect(server.address()).unwrap();
        std::thread::scope(|scope| {
            let ask = || exchange(&server, "GET /metrics HTTP/1.1\r\n\r\n");
            let [one, other] = [scope.spawn(ask), scope.spawn(ask)];
            for told in [one.join().unwrap(), other.join().unwrap()] {
                assert!(told.ends_with("a 1\n"), "{told}");
            }
        });
    }

    #[test]
    fn places_are_bounded_and_given_back() {
        let desk = Arc::new(Desk {
            page: (),
            connections: AtomicUsize::new(0),
        });
        let mut taken: Vec<_> = (0..CONNECTIONS_MAX)
            .map(|_| Place::take(&desk).unwrap())
            .collect();
        assert!(Place::take(&desk).is_none());
        taken.pop();
        assert!(Place::take(&desk).is_some());
        drop(taken);
        assert_eq!(desk.connections.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn heads_without_an_end_are_refused() {
        let endless = format!("GET /metrics HTTP/1.1\r\nx: {}", "y".repeat(HEAD_BYTES_MAX));
        assert_eq!(asked(endless.as_bytes()), Asked::More);
        let many = format!(
            "GET /metrics HTTP/1.1\r\n{}\r\n",
            "x: y\r\n".repeat(HEADERS_MAX + 1)
        );
        assert_eq!(asked(many.as_bytes()), Asked::Nonsense);
    }
}
