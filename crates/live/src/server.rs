//! The page of a run that goes on: what is served, and how those who watch are told.

use std::io::{self, Write};
use std::net::TcpListener;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::door::{Asked, Door, Limits, Patient, now};
use crate::feed::{Feed, Next};
use crate::gate::Gate;
use crate::head::Method;
use crate::reply::{Reply, head};

/// Stack of a connection's thread.
const STACK_BYTES: usize = 256 << 10;

/// What is served.
pub struct Pages {
    /// The page itself, which loads `page.js` and `page.css`.
    pub html: String,
    pub script: &'static str,
    pub style: &'static str,
    /// What can be done to the run.
    pub acts: Vec<Act>,
}

/// Something that a `POST` does.
pub struct Act {
    /// What is asked for, as `/stop`.
    pub path: &'static str,
    /// What is answered, with status 202.
    pub told: &'static str,
    /// Does it, without waiting.
    pub act: Box<dyn Fn() + Send + Sync>,
}

/// A server, for as long as the process lives.
pub struct Server {
    shared: Arc<Shared>,
}

struct Shared {
    pages: Pages,
    limits: Limits,
    feed: Feed,
    report: OnceLock<String>,
}

impl Server {
    /// Serves on a thread of its own.
    ///
    /// # Errors
    /// Where there is no thread left.
    pub fn start(
        listener: TcpListener,
        gate: Gate,
        pages: Pages,
        limits: Limits,
    ) -> io::Result<Server> {
        let shared = Arc::new(Shared {
            pages,
            limits,
            feed: Feed::default(),
            report: OnceLock::new(),
        });
        let door = Door {
            gate,
            limits,
            stack_bytes: STACK_BYTES,
            answers: Arc::clone(&shared),
            answer,
        };
        door.open(listener)?;
        Ok(Server { shared })
    }

    /// Where documents are published.
    pub fn feed(&self) -> &Feed {
        &self.shared.feed
    }

    /// The end: whoever follows gets the last document and may fetch the report, both where there are any, at
    /// most so long.
    pub fn end(&self, last: Option<(String, String)>, at_most: Duration) {
        let viewers = self.shared.feed.viewers();
        let reports = if last.is_some() { viewers } else { 0 };
        let document = last.map(|(document, report)| {
            // There is one end, so nothing was set before.
            let _ = self.shared.report.set(report);
            document
        });
        self.shared.feed.end(document);
        self.shared.feed.wait_served(reports, at_most);
    }
}

fn answer(shared: &Shared, asked: &Asked<'_>) -> io::Result<()> {
    let head = asked.head;
    let mut out = asked.out();
    let pages = &shared.pages;
    let reply = |kind: &'static str, body: &str| asked.reply(kind, body.as_bytes());
    match (head.method, head.path.as_str()) {
        (Method::Get, "/") => reply("text/html; charset=utf-8", &pages.html),
        (Method::Get, "/page.js") => reply("text/javascript; charset=utf-8", pages.script),
        (Method::Get, "/page.css") => reply("text/css; charset=utf-8", pages.style),
        (Method::Get, "/events") => follow(&mut out, shared),
        (Method::Get, "/report.html") => match shared.report.get() {
            Some(report) => {
                reply("application/octet-stream", report)?;
                shared.feed.served();
                Ok(())
            }
            None => Reply::text(404, "the run is not over\n").write(&mut out),
        },
        (method, path) => {
            let mut acts = pages.acts.iter();
            match acts.find(|act| method == Method::Post && act.path == path) {
                Some(act) => {
                    (act.act)();
                    Reply::text(202, act.told).write(&mut out)
                }
                None => Reply::text(404, "there is no such page\n").write(&mut out),
            }
        }
    }
}

/// Tells one viewer what follows, until the end or until it is gone or too slow.
fn follow(out: &mut Patient<'_>, shared: &Shared) -> io::Result<()> {
    let Limits {
        viewers_max,
        write,
        quiet,
        ..
    } = shared.limits;
    let Some(_joined) = shared.feed.join(viewers_max) else {
        return Reply::text(503, "too many viewers\n").write(out);
    };
    // Without a length: it ends with the connection (RFC 9112 §6.3).
    let head = head(200, "text/event-stream") + "\r\n";
    out.write_all(head.as_bytes())?;
    let mut seen = 0;
    loop {
        let next = shared.feed.next(&mut seen, quiet);
        out.until = now() + write;
        match next {
            Next::Document(document) => event(out, "", &document)?,
            Next::Nothing => out.write_all(b":\n\n")?,
            Next::Over(document) => {
                return event(out, "event: over\n", document.as_deref().unwrap_or("null"));
            }
        }
    }
}

fn event(out: &mut Patient<'_>, name: &str, document: &str) -> io::Result<()> {
    out.write_all(name.as_bytes())?;
    out.write_all(b"data: ")?;
    out.write_all(document.as_bytes())?;
    out.write_all(b"\n\n")
}
