//! Past results: a list of all of them, the report of each, and comparisons on request.
//!
//! Requests name results by ids, never by paths. What a result is, and how results are compared, is up to the
//! implementation of [`Results`].

use std::io;
use std::net::TcpListener;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use httpd::{Listener, Method};

use crate::access::{Access, REPORTS};
use crate::jobs::{Jobs, Progress, Stage};
use crate::server::Limits;
use crate::site::{PageRequest, Pages, Site};

/// Most results in one comparison.
const COMPARED_MAX: usize = 100;
/// Hexadecimal digits of an id.
const ID_CHARS: usize = 16;
/// Stack of a connection's thread: reports are made there.
const STACK_BYTES: usize = 4 << 20;
/// Time to send a reply: enough for a report of some megabytes on a slow line.
const WRITE: Duration = Duration::from_secs(60);

/// The results that are served.
pub trait Results: Send + Sync + 'static {
    /// The current list: a document in JSON for the page's script.
    fn list(&self) -> String;

    /// The report of a result: a self-contained HTML file. `None` if there is no such id.
    fn report(&self, id: &str) -> Option<Result<Vec<u8>, String>>;

    /// A run as far as it has got, or its report if it is over: a document in JSON. `None` if there is no run with this
    /// id.
    fn progress(&self, id: &str) -> Option<Result<String, String>>;

    /// The figures of all runs of one scenario, over time: a document in JSON. `None` if there is no run with
    /// this id.
    fn trend(&self, id: &str) -> Option<String>;

    /// Writes the note on a run; returns it in the form in which it is kept, `None` without one. `None` if there is
    /// no run with this id.
    fn write_note(&self, id: &str, text: &str) -> Option<Result<Option<String>, NoteRefusal>>;

    /// Compares results and reports its progress. Called on one thread, one comparison after the other.
    ///
    /// # Errors
    /// Why they cannot be compared, in words.
    fn compare(
        &self,
        request: &ComparisonRequest,
        report: &mut dyn FnMut(Progress),
    ) -> Result<Comparison, String>;
}

/// Why a note was not written, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoteRefusal {
    /// The text is no note.
    Text(String),
    /// It cannot be written.
    Disk(String),
}

/// A requested comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComparisonRequest {
    /// Ids of the candidate runs.
    pub runs: Vec<String>,
    /// Ids of the baseline runs; if there are none, all runs are compared with each other.
    pub baseline: Vec<String>,
    /// Compare runs of different scenarios, and untrusted runs, too.
    pub force: bool,
}

/// A comparison.
#[derive(Debug)]
pub struct Comparison {
    /// The document that the page's script draws.
    pub document: String,
    /// The report as a self-contained HTML file.
    pub html: String,
}

/// The page that lists the results.
#[derive(Debug)]
pub struct ResultsPages {
    /// The page itself, which loads `page.js` and `page.css`.
    pub html: String,
    pub script: &'static str,
    pub style: &'static str,
}

struct ResultsState<R> {
    pages: ResultsPages,
    results: R,
    comparisons: Jobs<ComparisonRequest, Comparison>,
    /// Held while a report is made: one at a time.
    report: Mutex<()>,
    /// Held while a note is written: one at a time.
    note: Mutex<()>,
}

/// Serves results on threads of its own, until the listener is dropped.
///
/// # Errors
/// No thread can be started.
pub fn serve_results(
    socket: TcpListener,
    access: Access,
    pages: ResultsPages,
    results: impl Results,
) -> io::Result<Listener> {
    let shared = Arc::new(ResultsState {
        pages,
        results,
        comparisons: Jobs::new(),
        report: Mutex::new(()),
        note: Mutex::new(()),
    });
    let worker = Arc::clone(&shared);
    std::thread::Builder::new().name("comparing".to_owned()).spawn(move || {
        loop {
            let results = &worker.results;
            worker.comparisons.work(|request, report| results.compare(request, report));
        }
    })?;
    let limits = Limits { write: WRITE, ..Limits::default() };
    let site = Site { access, pages: shared };
    site.serve(socket, limits.http(), STACK_BYTES)
}

impl<R: Results> Pages for Arc<ResultsState<R>> {
    fn answer(&self, request: &PageRequest<'_>) -> io::Result<()> {
        let pages = &self.pages;
        let head = request.head();
        let path = head.path.as_str();
        if let Some(id) = path.strip_prefix(REPORTS) {
            return report(self, request, id);
        }
        if let Some(rest) = path.strip_prefix("/comparison/") {
            return comparison(self, request, rest);
        }
        if let Some(id) = path.strip_prefix("/progress/") {
            return progress(self, request, id);
        }
        if let Some(id) = path.strip_prefix("/trend/") {
            return trend(self, request, id);
        }
        if let Some(id) = path.strip_prefix("/note/") {
            return write_note(self, request, id);
        }
        let reply = |kind: &'static str, body: &str| request.reply(kind, body.as_bytes());
        match (head.method, path) {
            (Method::Get, "/") => reply("text/html; charset=utf-8", &pages.html),
            (Method::Get, "/page.js") => reply("text/javascript; charset=utf-8", pages.script),
            (Method::Get, "/page.css") => reply("text/css; charset=utf-8", pages.style),
            (Method::Get, "/list") => reply(JSON, &self.results.list()),
            (Method::Post, "/compare") => compare(self, request),
            _ => request.reply_status(404, "there is no such page\n"),
        }
    }
}

const JSON: &str = "application/json";

fn report<R: Results>(
    shared: &ResultsState<R>,
    request: &PageRequest<'_>,
    id: &str,
) -> io::Result<()> {
    if request.head().method != Method::Get || !is_id(id) {
        return request.reply_status(404, "there is no such page\n");
    }
    let made = {
        let _one = shared.report.lock().unwrap_or_else(PoisonError::into_inner);
        shared.results.report(id)
    };
    match made {
        Some(Ok(html)) => request.reply_sandboxed(&html),
        Some(Err(why)) => request.reply_status(404, &format!("there is no report: {why}\n")),
        None => request.reply_status(404, "there is no such result any more\n"),
    }
}

fn progress<R: Results>(
    shared: &ResultsState<R>,
    request: &PageRequest<'_>,
    id: &str,
) -> io::Result<()> {
    if request.head().method != Method::Get || !is_id(id) {
        return request.reply_status(404, "there is no such page\n");
    }
    let made = {
        let _one = shared.report.lock().unwrap_or_else(PoisonError::into_inner);
        shared.results.progress(id)
    };
    match made {
        Some(Ok(json)) => request.reply(JSON, json.as_bytes()),
        Some(Err(why)) => request.reply_status(404, &format!("the run cannot be read: {why}\n")),
        None => request.reply_status(404, "there is no such run any more\n"),
    }
}

fn trend<R: Results>(
    shared: &ResultsState<R>,
    request: &PageRequest<'_>,
    id: &str,
) -> io::Result<()> {
    let is_query = request.head().method == Method::Get && is_id(id);
    match is_query.then(|| shared.results.trend(id)).flatten() {
        Some(json) => request.reply(JSON, json.as_bytes()),
        None => request.reply_status(404, "there is no such run any more\n"),
    }
}

/// Writes a note: its text is in the query, because requests have no bodies.
fn write_note<R: Results>(
    shared: &ResultsState<R>,
    request: &PageRequest<'_>,
    id: &str,
) -> io::Result<()> {
    let head = request.head();
    let text = head.query.as_deref().and_then(|q| q.strip_prefix("text="));
    let Some(text) = text.and_then(percent_decoded) else {
        return request.reply_status(400, "give the note as text=NOTE, percent-encoded\n");
    };
    let is_query = head.method == Method::Post && is_id(id);
    let written = is_query.then(|| {
        let _one = shared.note.lock().unwrap_or_else(PoisonError::into_inner);
        shared.results.write_note(id, &text)
    });
    match written.flatten() {
        Some(Ok(note)) => {
            let note = note.map_or("null".to_owned(), |note| quoted(&note));
            request.reply(JSON, format!("{{\"note\":{note}}}").as_bytes())
        }
        Some(Err(NoteRefusal::Text(why))) => request.reply_status(400, &format!("{why}\n")),
        Some(Err(NoteRefusal::Disk(why))) => request.reply_status(500, &format!("{why}\n")),
        None => request.reply_status(404, "there is no such run any more\n"),
    }
}

/// The text of a part of a query (RFC 3986 §2.1); `None` if it is malformed or no UTF-8.
fn percent_decoded(part: &str) -> Option<String> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let mut bytes = part.bytes();
    let mut decoded = Vec::with_capacity(part.len());
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'%' => u8::try_from(digit(bytes.next()?)? * 16 + digit(bytes.next()?)?).ok()?,
            b'&' | b'+' => return None,
            other => other,
        });
    }
    String::from_utf8(decoded).ok()
}

fn compare<R: Results>(shared: &ResultsState<R>, request: &PageRequest<'_>) -> io::Result<()> {
    let query = request.head().query.as_deref();
    let Some(wanted) = query.and_then(parse_request) else {
        return request
            .reply_status(400, "name the runs to compare by their ids: runs=ID,ID&baseline=ID\n");
    };
    match shared.comparisons.submit(&wanted) {
        Some(number) => request.reply(JSON, format!("{{\"number\":{number}}}").as_bytes()),
        None => request.reply_status(429, "too many comparisons are waiting; try again later\n"),
    }
}

/// The stage of comparison `N`; or its file, `N/report.html`.
fn comparison<R: Results>(
    shared: &ResultsState<R>,
    request: &PageRequest<'_>,
    rest: &str,
) -> io::Result<()> {
    let (number, is_file) = match rest.strip_suffix("/report.html") {
        Some(number) => (number, true),
        None => (rest, false),
    };
    let stage = match request.head().method {
        Method::Get => number.parse().ok().and_then(|n| shared.comparisons.stage(n)),
        Method::Post => None,
    };
    match stage {
        Some(Stage::Done(made)) if is_file => {
            request.reply("application/octet-stream", made.html.as_bytes())
        }
        Some(stage) if !is_file => request.reply(JSON, stage_json(&stage).as_bytes()),
        _ => request.reply_status(404, "there is no such comparison any more\n"),
    }
}

/// The stage of a comparison as JSON.
fn stage_json(stage: &Stage<Comparison>) -> String {
    match stage {
        Stage::Waiting(before) => format!("{{\"stage\":\"waiting\",\"before\":{before}}}"),
        Stage::Working(Progress { what, done, total }) => format!(
            "{{\"stage\":\"working\",\"what\":{},\"done\":{done},\"total\":{total}}}",
            quoted(what)
        ),
        Stage::Done(made) => format!("{{\"stage\":\"done\",\"document\":{}}}", made.document),
        Stage::Failed(why) => format!("{{\"stage\":\"failed\",\"why\":{}}}", quoted(why)),
    }
}

/// A text as JSON (RFC 8259 §7).
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => {
                out.push('\\');
                out.push(character);
            }
            control if control < ' ' => out += &format!("\\u{:04x}", u32::from(control)),
            other => out.push(other),
        }
    }
    out.push('"');
    out
}

fn is_id(text: &str) -> bool {
    let is_digit = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    text.len() == ID_CHARS && text.bytes().all(is_digit)
}

/// Parses the query of a comparison; `None` if it is anything else. Ids are sorted, so that the same runs are
/// the same comparison.
fn parse_request(query: &str) -> Option<ComparisonRequest> {
    let mut request = ComparisonRequest { runs: Vec::new(), baseline: Vec::new(), force: false };
    for pair in query.split('&') {
        let (name, value) = pair.split_once('=')?;
        let ids = match name {
            "runs" => &mut request.runs,
            "baseline" => &mut request.baseline,
            "force" if value == "1" => {
                request.force = true;
                continue;
            }
            _ => return None,
        };
        let all = value.split(',').filter(|id| !id.is_empty());
        *ids = all.map(str::to_owned).collect();
        ids.sort_unstable();
    }
    let all = || request.runs.iter().chain(&request.baseline);
    let sound =
        !request.runs.is_empty() && all().count() <= COMPARED_MAX && all().all(|id| is_id(id));
    sound.then_some(request)
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "0123456789abcdef";
    const B: &str = "fedcba9876543210";

    #[test]
    fn comparisons_are_requested_by_ids_in_any_order() {
        let one = parse_request(&format!("runs={B},{A}&baseline=")).unwrap();
        assert_eq!(one, parse_request(&format!("runs={A},{B}")).unwrap());
        let sides = parse_request(&format!("runs={A}&baseline={B}&force=1")).unwrap();
        assert_eq!((&sides.runs[..], sides.force), (&[A.to_owned()][..], true));
        let many = vec![A; COMPARED_MAX + 1].join(",");
        for query in [
            "",
            "runs=",
            "runs=../../etc",
            "runs=0123456789ABCDEF",
            "runs=0123456789abcde",
            &format!("runs={A}&baseline=/etc/passwd"),
            &format!("runs={A}&more=1"),
            &format!("runs={A}&force=yes"),
            &format!("runs={many}"),
        ] {
            assert_eq!(parse_request(query), None, "{query}");
        }
    }

    #[test]
    fn a_notes_text_is_percent_encoded() {
        assert_eq!(percent_decoded("a%20%26%C3%a4%25"), Some("a &ä%".to_owned()));
        assert_eq!(percent_decoded(""), Some(String::new()));
        for malformed in ["%", "%4", "%zz", "%ff", "a&b=c", "a+b", "%+1"] {
            assert_eq!(percent_decoded(malformed), None, "{malformed}");
        }
    }

    #[test]
    fn a_stage_is_valid_json() {
        let failed = Stage::Failed("a \"b\" \\ \n</script>".to_owned());
        assert_eq!(stage_json(&failed), r#"{"stage":"failed","why":"a \"b\" \\ \u000a</script>"}"#);
        assert_eq!(stage_json(&Stage::Waiting(2)), r#"{"stage":"waiting","before":2}"#);
    }
}
