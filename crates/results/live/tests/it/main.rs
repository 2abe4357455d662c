//! The server as browsers and their enemies find it.
#![expect(clippy::unwrap_used, reason = "the helpers of tests fail their test")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use live::{Access, Action, Limits, Pages, Server};

/// Longer than anything here takes unless it hangs.
const TIMEOUT: Duration = Duration::from_secs(30);
const TOKEN: &str = "0123456789abcdef";

struct Served {
    server: Server,
    address: SocketAddr,
    stops: Arc<AtomicUsize>,
}

fn served(token: Option<&str>, limits: Limits) -> Served {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let stops = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&stops);
    let pages = Pages {
        html: "<p>page</p>".to_owned(),
        script: "script",
        style: "style",
        actions: vec![Action {
            path: "/stop",
            reply: "stopping",
            run: Box::new(move || {
                counted.fetch_add(1, Ordering::Relaxed);
            }),
        }],
    };
    let access = Access::new(address, Vec::new(), token.map(str::to_owned));
    Served { server: Server::start(listener, access, pages, limits).unwrap(), address, stops }
}

impl Served {
    /// Sends a request; `HERE` becomes the address.
    fn send(&self, head: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        let head = head.trim().replace('\n', "\r\n");
        let head = head.replace("HERE", &self.address.to_string());
        stream.write_all(format!("{head}\r\n\r\n").as_bytes()).unwrap();
        stream
    }

    /// Sends a request and returns the complete reply.
    fn exchange(&self, head: &str) -> String {
        let mut answer = String::new();
        self.send(head).read_to_string(&mut answer).unwrap();
        answer
    }

    fn status(&self, head: &str) -> u16 {
        let answer = self.exchange(head);
        answer.split(' ').nth(1).unwrap().parse().unwrap()
    }
}

/// Reads until this text has come.
fn until(stream: &mut TcpStream, text: &str) -> String {
    let mut all = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let count = stream.read(&mut piece).unwrap();
        assert!(count > 0, "it ended: {}", String::from_utf8_lossy(&all));
        all.extend_from_slice(&piece[..count]);
        let received = String::from_utf8_lossy(&all);
        if received.contains(text) {
            return received.into_owned();
        }
    }
}

#[test]
fn the_page_is_served_with_its_policy() {
    let served = served(None, Limits::default());
    let page = served.exchange("GET / HTTP/1.1\nHost: HERE");
    assert!(page.starts_with("HTTP/1.1 200 OK\r\n") && page.ends_with("\r\n\r\n<p>page</p>"));
    for wanted in [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "frame-ancestors 'none'",
        "X-Content-Type-Options: nosniff",
        "Cache-Control: no-store",
    ] {
        assert!(page.contains(wanted), "{wanted} is missing in {page}");
    }
    assert!(!page.contains("unsafe-inline") && !page.contains("Access-Control"));
    assert!(served.exchange("GET /page.js HTTP/1.1\nHost: HERE").ends_with("script"));
    assert!(served.exchange("GET /page.css HTTP/1.1\nHost: HERE").ends_with("style"));
    assert_eq!(served.status("GET /other HTTP/1.1\nHost: HERE"), 404);
    assert_eq!(served.status("GET /report.html HTTP/1.1\nHost: HERE"), 404);
}

#[test]
fn unknown_hosts_and_origins_are_refused() {
    let served = served(None, Limits::default());
    assert_eq!(served.status("GET / HTTP/1.1\nHost: evil.test"), 421);
    assert_eq!(served.status("GET /events HTTP/1.1\nHost: evil.test"), 421);
    let stop =
        |origin: &str| served.status(&format!("POST /stop HTTP/1.1\nHost: HERE\nOrigin: {origin}"));
    assert_eq!(stop("http://evil.test"), 403);
    assert_eq!(stop("null"), 403);
    assert_eq!(served.status("POST /stop HTTP/1.1\nHost: HERE"), 403);
    assert_eq!(served.stops.load(Ordering::Relaxed), 0);
    assert_eq!(stop("http://HERE"), 202);
    assert_eq!(served.stops.load(Ordering::Relaxed), 1);
    assert_eq!(served.status("GET /stop HTTP/1.1\nHost: HERE"), 404);
    let other = "POST /start HTTP/1.1\nHost: HERE\nOrigin: http://HERE";
    assert_eq!(served.status(other), 404);
}

#[test]
fn a_token_grants_access_and_becomes_a_cookie() {
    let served = served(Some(TOKEN), Limits::default());
    for path in ["/", "/page.js", "/events", "/?token=wrong"] {
        assert_eq!(served.status(&format!("GET {path} HTTP/1.1\nHost: HERE")), 401);
    }
    let page = served.exchange(&format!("GET /?token={TOKEN} HTTP/1.1\nHost: HERE"));
    let cookie = format!("throng-{}={TOKEN}", served.address.port());
    assert!(page.contains(&format!("Set-Cookie: {cookie}; Path=/; HttpOnly; SameSite=Strict\r\n")));
    let with = format!("GET /page.js HTTP/1.1\nHost: HERE\nCookie: {cookie}");
    assert_eq!(served.status(&with), 200);
}

#[test]
fn a_late_viewer_gets_the_newest_document_and_all_get_the_last() {
    let served = served(None, Limits::default());
    let events = "GET /events HTTP/1.1\nHost: HERE";
    let mut early = served.send(events);
    served.server.feed().publish("{\"second\":1}".to_owned());
    until(&mut early, "data: {\"second\":1}\n\n");
    served.server.feed().publish("{\"second\":2}".to_owned());
    let mut late = served.send(events);
    let events = until(&mut late, "data: {\"second\":2}\n\n");
    assert!(events.contains("text/event-stream") && !events.contains("\"second\":1"));
    until(&mut early, "data: {\"second\":2}\n\n");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            served
                .server
                .end(Some(("{\"last\":1}".to_owned(), "<p>report</p>".to_owned())), TIMEOUT);
        });
        for viewer in [&mut early, &mut late] {
            until(viewer, "{\"last\":1}\n\n");
        }
        // The end waits until both have it.
        for _ in 0..2 {
            let report = served.exchange("GET /report.html HTTP/1.1\nHost: HERE");
            assert!(report.ends_with("<p>report</p>"));
        }
    });
    assert_eq!(served.server.feed().viewers(), 0);
}

#[test]
fn a_viewer_that_reads_nothing_is_disconnected_and_delays_nobody() {
    let limits = Limits { write: Duration::from_millis(50), ..Limits::default() };
    let served = served(None, limits);
    let mut dead = served.send("GET /events HTTP/1.1\nHost: HERE");
    until(&mut dead, "\r\n\r\n");
    // More than any socket's buffers hold; publishing does not wait for it.
    served.server.feed().publish("x".repeat(64 << 20));
    served.server.feed().wait_served(0, TIMEOUT);
    assert_eq!(served.server.feed().viewers(), 0);
    served.server.feed().publish("next".to_owned());
    let mut another = served.send("GET /events HTTP/1.1\nHost: HERE");
    until(&mut another, "data: next\n\n");
}

#[test]
fn connections_viewers_and_heads_have_limits() {
    let limits = Limits { viewers_max: 1, head: Duration::from_millis(50), ..Limits::default() };
    let served = served(None, limits);
    let mut slow = TcpStream::connect(served.address).unwrap();
    slow.set_read_timeout(Some(TIMEOUT)).unwrap();
    slow.write_all(b"GET / HTTP/1.1\r\n").unwrap();
    until(&mut slow, "HTTP/1.1 408 ");
    drop(slow);
    let long = format!("GET /{} HTTP/1.1\nHost: HERE", "a".repeat(9_000));
    assert!(served.status(&long) == 431);
    let mut viewer = served.send("GET /events HTTP/1.1\nHost: HERE");
    until(&mut viewer, "\r\n\r\n");
    let second = served.exchange("GET /events HTTP/1.1\nHost: HERE");
    assert!(second.starts_with("HTTP/1.1 503 "), "{second}");
}

#[test]
fn connections_above_the_limit_are_refused() {
    let limits = Limits { connections_max: 1, ..Limits::default() };
    let served = served(None, limits);
    let mut viewer = served.send("GET /events HTTP/1.1\nHost: HERE");
    until(&mut viewer, "\r\n\r\n");
    let mut second = TcpStream::connect(served.address).unwrap();
    second.set_read_timeout(Some(TIMEOUT)).unwrap();
    until(&mut second, "HTTP/1.1 503 ");
}
