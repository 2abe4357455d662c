//! The page of a run in progress: what is served, and how viewers get each new document.

use std::io::{self, Write};
use std::net::TcpListener;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use httpd::{DeadlineWriter, Listener, Method};

use crate::access::Access;
use crate::feed::{Feed, Next};
use crate::site::{self, PageRequest, Site};

/// Stack of a connection's thread.
const STACK_BYTES: usize = 256 << 10;

/// How many viewers there may be, and how long each may take.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Open connections; further ones get status 503.
    pub connections_max: usize,
    /// Connections that follow the run. Fewer than all, so that there is always room to stop it.
    pub viewers_max: usize,
    /// Time to receive a request's head.
    pub head: Duration,
    /// Time for a viewer to take a reply or a document; a slower one is disconnected.
    pub write: Duration,
    /// After this long without a document, a comment is sent, which shows whether the viewer is there.
    pub keep_alive: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            connections_max: 64,
            viewers_max: 48,
            head: Duration::from_secs(5),
            write: Duration::from_secs(10),
            keep_alive: Duration::from_secs(15),
        }
    }
}

impl Limits {
    pub(crate) fn http(&self) -> httpd::Limits {
        httpd::Limits { connections_max: self.connections_max, head: self.head, write: self.write }
    }
}

/// Pages that are served.
pub struct Pages {
    /// The page itself, which loads `page.js` and `page.css`.
    pub html: String,
    pub script: &'static str,
    pub style: &'static str,
    /// Actions that viewers can take on the run.
    pub actions: Vec<Action>,
}

/// Something that a `POST` does.
pub struct Action {
    /// Path of the action, such as `/stop`.
    pub path: &'static str,
    /// The body of the reply, with status 202.
    pub reply: &'static str,
    /// Does it, without waiting.
    pub run: Box<dyn Fn() + Send + Sync>,
}

/// Serves the page of a run until it is dropped.
pub struct Server {
    shared: Arc<ServerState>,
    _listener: Listener,
}

struct ServerState {
    pages: Pages,
    limits: Limits,
    feed: Feed,
    report: OnceLock<String>,
}

impl Server {
    /// Serves on a thread of its own.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn start(
        socket: TcpListener,
        access: Access,
        pages: Pages,
        limits: Limits,
    ) -> io::Result<Server> {
        let shared =
            Arc::new(ServerState { pages, limits, feed: Feed::default(), report: OnceLock::new() });
        let site = Site { access, pages: Arc::clone(&shared) };
        let listener = site.serve(socket, limits.http(), STACK_BYTES)?;
        Ok(Server { shared, _listener: listener })
    }

    /// The feed on which documents are published.
    pub fn feed(&self) -> &Feed {
        &self.shared.feed
    }

    /// Ends the run's page. Viewers get the last document and may fetch the report, if there are any; this
    /// waits for them, at most `timeout`.
    pub fn end(&self, last: Option<(String, String)>, timeout: Duration) {
        let viewers = self.shared.feed.viewers();
        let reports = if last.is_some() { viewers } else { 0 };
        let document = last.map(|(document, report)| {
            // A run ends once, so nothing was set before.
            let _ = self.shared.report.set(report);
            document
        });
        self.shared.feed.end(document);
        self.shared.feed.wait_served(reports, timeout);
    }
}

impl site::Pages for Arc<ServerState> {
    fn answer(&self, request: &PageRequest<'_>) -> io::Result<()> {
        let head = request.head();
        let pages = &self.pages;
        let reply = |kind: &'static str, body: &str| request.reply(kind, body.as_bytes());
        match (head.method, head.path.as_str()) {
            (Method::Get, "/") => reply("text/html; charset=utf-8", &pages.html),
            (Method::Get, "/page.js") => reply("text/javascript; charset=utf-8", pages.script),
            (Method::Get, "/page.css") => reply("text/css; charset=utf-8", pages.style),
            (Method::Get, "/events") => follow(request, self),
            (Method::Get, "/report.html") => match self.report.get() {
                Some(report) => {
                    reply("application/octet-stream", report)?;
                    self.feed.report_served();
                    Ok(())
                }
                None => request.reply_status(404, "the run is still in progress\n"),
            },
            (method, path) => {
                let mut actions = pages.actions.iter();
                match actions.find(|action| method == Method::Post && action.path == path) {
                    Some(action) => {
                        (action.run)();
                        request.reply_status(202, action.reply)
                    }
                    None => request.reply_status(404, "there is no such page\n"),
                }
            }
        }
    }
}

/// Sends one viewer each new document, until the run ends or the viewer is gone or too slow.
fn follow(request: &PageRequest<'_>, shared: &ServerState) -> io::Result<()> {
    let Limits { viewers_max, write, keep_alive, .. } = shared.limits;
    let Some(_viewer) = shared.feed.join(viewers_max) else {
        return request.reply_status(503, "too many viewers\n");
    };
    let mut out = request.stream("text/event-stream")?;
    let mut seen = 0;
    loop {
        let next = shared.feed.next(&mut seen, keep_alive);
        out.extend(write);
        match next {
            Next::Document(document) => event(&mut out, "", &document)?,
            Next::Nothing => out.write_all(b":\n\n")?,
            Next::Over(document) => {
                let document = document.as_deref().unwrap_or("null");
                return event(&mut out, "event: over\n", document);
            }
        }
    }
}

fn event(out: &mut DeadlineWriter<'_>, name: &str, document: &str) -> io::Result<()> {
    out.write_all(name.as_bytes())?;
    out.write_all(b"data: ")?;
    out.write_all(document.as_bytes())?;
    out.write_all(b"\n\n")
}
