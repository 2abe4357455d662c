//! A page for whoever asks: HTTP/1.1, `GET` alone, one connection after the other.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::prometheus::CONTENT_TYPE;

/// How long a peer may be silent while it asks or takes.
const PEER_MAX: Duration = Duration::from_millis(500);
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
        page: impl Fn() -> String + Send + 'static,
    ) -> io::Result<Server> {
        let listener = TcpListener::bind(address)?;
        let address = listener.local_addr()?;
        let end = Arc::<AtomicBool>::default();
        let ended = Arc::clone(&end);
        std::thread::Builder::new()
            .name("metrics page".to_owned())
            .spawn(move || {
                for stream in listener.incoming() {
                    if ended.load(Ordering::Relaxed) {
                        return;
                    }
                    // A peer that goes away has taken what it wanted.
                    let _ = stream.and_then(|stream| answer(stream, &page));
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
    use super::*;

    fn exchange(server: &Server, request: &str) -> String {
        let mut stream = TcpStream::connect(server.address()).unwrap();
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
