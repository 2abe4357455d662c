//! Common parts of all pages: access, and what a browser may do with a reply.

use std::io;
use std::net::TcpListener;

use httpd::{Config, DeadlineWriter, Handler, Head, Limits, Listener, Reply, Request};

use crate::access::{Access, Refusal};

/// Header fields of every reply but a sandboxed one. A page may load its own script and style from here, send
/// requests here, and nothing else (CSP 3).
const HEADERS: &str = "Content-Security-Policy: default-src 'none'; script-src 'self'; \
     style-src 'self'; connect-src 'self'; img-src data: blob:; base-uri 'none'; \
     form-action 'none'; frame-ancestors 'none'\r\n\
     Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\n\
     Cross-Origin-Resource-Policy: same-origin\r\nCross-Origin-Opener-Policy: same-origin\r\n";
/// Header fields of a report that was found on disk. It may run its own script, in an origin of its own that
/// nothing else shares (CSP 3, `sandbox`): it reaches neither this server nor what a browser stores for it,
/// and loads nothing. Without a shared origin there is none to keep openers out of (HTML standard §7.1.3).
const SANDBOX_HEADERS: &str = "Content-Security-Policy: sandbox allow-scripts allow-downloads; \
     default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; \
     img-src data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n\
     Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\n\
     Cross-Origin-Resource-Policy: same-origin\r\n";

/// A set of pages with access control.
pub(crate) struct Site<P> {
    pub(crate) access: Access,
    pub(crate) pages: P,
}

/// Pages by path.
pub(crate) trait Pages: Send + Sync + 'static {
    fn answer(&self, request: &PageRequest<'_>) -> io::Result<()>;
}

impl<P: Pages> Site<P> {
    /// Serves the pages until the listener is dropped.
    pub(crate) fn serve(
        self,
        socket: TcpListener,
        limits: Limits,
        stack_bytes: usize,
    ) -> io::Result<Listener> {
        let config = Config { limits, name: "live", stack_bytes, headers: HEADERS };
        Listener::start(socket, config, self)
    }
}

impl<P: Pages> Handler for Site<P> {
    fn handle(&self, request: &Request<'_>) -> io::Result<()> {
        let (status, why) = match self.access.check(request.head) {
            Ok(()) => {
                return self.pages.answer(&PageRequest { request, access: &self.access });
            }
            Err(Refusal::Host) => (421, "this server does not have that name\n"),
            Err(Refusal::Origin) => (403, "requests from other pages are not allowed\n"),
            Err(Refusal::Token) => (401, "open the address that contains the token\n"),
        };
        request.refuse(&Reply::text(status, HEADERS, why))
    }
}

/// A request that was admitted.
pub(crate) struct PageRequest<'a> {
    request: &'a Request<'a>,
    access: &'a Access,
}

impl<'a> PageRequest<'a> {
    pub(crate) fn head(&self) -> &'a Head {
        self.request.head
    }

    /// Replies with a body. A browser that sent the token in the address gets it as a cookie.
    pub(crate) fn reply(&self, content_type: &'static str, body: &[u8]) -> io::Result<()> {
        self.send(HEADERS, content_type, body)
    }

    /// Replies with a page that is not trusted.
    pub(crate) fn reply_sandboxed(&self, html: &[u8]) -> io::Result<()> {
        self.send(SANDBOX_HEADERS, "text/html; charset=utf-8", html)
    }

    fn send(
        &self,
        headers: &'static str,
        content_type: &'static str,
        body: &[u8],
    ) -> io::Result<()> {
        let cookie = self.access.set_cookie(self.request.head);
        let cookie = cookie.map_or(String::new(), |cookie| format!("Set-Cookie: {cookie}\r\n"));
        let reply =
            Reply { status: 200, content_type, headers: &(headers.to_owned() + &cookie), body };
        reply.write(&mut self.request.writer())
    }

    /// Replies with a status and a sentence.
    pub(crate) fn reply_status(&self, status: u16, text: &str) -> io::Result<()> {
        Reply::text(status, HEADERS, text).write(&mut self.request.writer())
    }

    /// Starts a reply that ends when the connection closes.
    pub(crate) fn stream(&self, content_type: &'static str) -> io::Result<DeadlineWriter<'a>> {
        let mut writer = self.request.writer();
        let reply = Reply { status: 200, content_type, headers: HEADERS, body: b"" };
        reply.write_head(&mut writer)?;
        Ok(writer)
    }
}
