//! The metrics page, at `/metrics`.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use httpd::{Config, Handler, Limits, Listener, Method, Reply, Request};

use crate::export::prometheus::CONTENT_TYPE;

/// Few clients, and quick ones: a scraper is on the same network.
const LIMITS: Limits =
    Limits { connections_max: 16, head: Duration::from_secs(4), write: Duration::from_secs(4) };
/// Stack of a connection's thread.
const STACK_BYTES: usize = 256 << 10;

/// Serves one page until it is dropped.
#[derive(Debug)]
pub struct Server {
    listener: Listener,
}

impl Server {
    /// Listens at this address; `page` returns the current text for each request.
    ///
    /// # Errors
    /// The address cannot be used, or no thread can be started.
    pub fn start(
        address: SocketAddr,
        page: impl Fn() -> String + Send + Sync + 'static,
    ) -> io::Result<Server> {
        let config =
            Config { limits: LIMITS, name: "metrics page", stack_bytes: STACK_BYTES, headers: "" };
        let listener = Listener::start(TcpListener::bind(address)?, config, Metrics(page))?;
        Ok(Server { listener })
    }

    /// The address it listens at.
    pub fn address(&self) -> SocketAddr {
        self.listener.address()
    }
}

struct Metrics<P>(P);

impl<P: Fn() -> String + Send + Sync + 'static> Handler for Metrics<P> {
    fn handle(&self, request: &Request<'_>) -> io::Result<()> {
        let text;
        let reply = match (request.head.method, request.head.path.as_str()) {
            (Method::Get, "/metrics") => {
                text = (self.0)();
                Reply {
                    status: 200,
                    content_type: CONTENT_TYPE,
                    headers: "",
                    body: text.as_bytes(),
                }
            }
            (Method::Get, _) => Reply::text(404, "", "see /metrics\n"),
            (Method::Post, _) => Reply::text(405, "", ""),
        };
        reply.write(&mut request.writer())
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;

    use super::*;

    #[test]
    fn get_metrics_returns_the_page_and_other_requests_an_error() {
        let loopback = "127.0.0.1:0".parse().unwrap();
        let server = Server::start(loopback, || "a 1\n".to_owned()).unwrap();
        for (request, status, end) in [
            ("GET /metrics HTTP/1.1", "200 OK", "\r\n\r\na 1\n"),
            ("GET /metrics?a=b HTTP/1.1", "200 OK", "\r\n\r\na 1\n"),
            ("GET / HTTP/1.1", "404 Not Found", "see /metrics\n"),
            ("POST /metrics HTTP/1.1", "405 Method Not Allowed", "\r\n\r\n"),
            ("rubbish", "400 Bad Request", "\n"),
        ] {
            let mut stream = TcpStream::connect(server.address()).unwrap();
            let timeout = Some(Duration::from_secs(20));
            stream.set_read_timeout(timeout).unwrap();
            write!(stream, "{request}\r\n\r\n").unwrap();
            let mut reply = String::new();
            stream.read_to_string(&mut reply).unwrap();
            let expected = format!("HTTP/1.1 {status}\r\n");
            assert!(reply.starts_with(&expected) && reply.ends_with(end), "{reply}");
        }
    }
}
