//! Past results, to look through: a list of all of them, the report of each, and comparisons that are
//! made when somebody asks for them.
//!
//! Results are asked for by ids, never by paths. What they are, and how they are compared, is a matter of
//! who implements [`Results`].

use std::io;
use std::net::TcpListener;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::door::{Asked, Door, Limits};
use crate::gate::{Gate, REPORTS};
use crate::head::Method;
use crate::jobs::{Jobs, Progress, Stage};
use crate::reply::{FILE_POLICY, Reply};

/// Results of one comparison at most.
const COMPARED_MAX: usize = 100;
/// Hexadecimal digits of an id.
const ID_CHARS: usize = 16;
/// Reports are made on the threads of connections, which need room for it.
const STACK_BYTES: usize = 4 << 20;
/// A report of some megabytes is taken by then, on a slow line too.
const WRITE: Duration = Duration::from_secs(60);

/// Results, as they are served.
pub trait Results: Send + Sync + 'static {
    /// All there are now, as the page's script reads them: a document in JSON.
    fn list(&self) -> String;

    /// The report of one: an HTML file that needs no other. `None` where there is no such id.
    fn report(&self, id: &str) -> Option<Result<Vec<u8>, String>>;

    /// Compares some; tells how far it is. Called on one thread, one after the other.
    ///
    /// # Errors
    /// Why they cannot be compared, in words.
    fn compare(&self, wanted: &Wanted, tell: &mut dyn FnMut(Progress)) -> Result<Compared, String>;
}

/// A comparison that was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// Ids of what is judged.
    pub runs: Vec<String>,
    /// Ids of what it is held against; where there are none, all are compared with each other.
    pub baseline: Vec<String>,
    /// What differs in scenario, or is not to be trusted, too.
    pub force: bool,
}

/// What came of it.
#[derive(Debug)]
pub struct Compared {
    /// As the page's script draws it.
    pub document: String,
    /// As a file of its own.
    pub html: String,
}

/// The page that browses.
#[derive(Debug)]
pub struct BrowsePages {
    /// The page itself, which loads `page.js` and `page.css`.
    pub html: String,
    pub script: &'static str,
    pub style: &'static str,
}

struct Shared<R> {
    pages: BrowsePages,
    results: R,
    comparisons: Jobs<Wanted, Compared>,
    /// One report is made at a time.
    making: Mutex<()>,
}

/// Serves results on threads of its own, for as long as the process lives.
///
/// # Errors
/// Where there is no thread left.
pub fn browse(
    listener: TcpListener,
    gate: Gate,
    pages: BrowsePages,
    results: impl Results,
) -> io::Result<()> {
    let shared = Arc::new(Shared {
        pages,
        results,
        comparisons: Jobs::new(),
        making: Mutex::new(()),
    });
    let working = Arc::clone(&shared);
    std::thread::Builder::new()
        .name("comparing".to_owned())
        .spawn(move || {
            loop {
                let results = &working.results;
                working
                    .comparisons
                    .work(|wanted, tell| results.compare(wanted, tell));
            }
        })?;
    let door = Door {
        gate,
        limits: Limits {
            write: WRITE,
            ..Limits::default()
        },
        stack_bytes: STACK_BYTES,
        answers: shared,
        answer,
    };
    door.open(listener)
}

fn answer<R: Results>(shared: &Shared<R>, asked: &Asked<'_>) -> io::Result<()> {
    let pages = &shared.pages;
    let path = asked.head.path.as_str();
    if let Some(id) = path.strip_prefix(REPORTS) {
        return report(shared, asked, id);
    }
    if let Some(rest) = path.strip_prefix("/comparison/") {
        return comparison(shared, asked, rest);
    }
    match (asked.head.method, path) {
        (Method::Get, "/") => asked.reply("text/html; charset=utf-8", pages.html.as_bytes()),
        (Method::Get, "/page.js") => {
            asked.reply("text/javascript; charset=utf-8", pages.script.as_bytes())
        }
        (Method::Get, "/page.css") => {
            asked.reply("text/css; charset=utf-8", pages.style.as_bytes())
        }
        (Method::Get, "/list") => asked.reply(JSON, shared.results.list().as_bytes()),
        (Method::Post, "/compare") => compare(shared, asked),
        _ => refuse(asked, 404, "there is no such page\n"),
    }
}

const JSON: &str = "application/json";

fn refuse(asked: &Asked<'_>, status: u16, why: &str) -> io::Result<()> {
    Reply::text(status, why).write(&mut asked.out())
}

fn report<R: Results>(shared: &Shared<R>, asked: &Asked<'_>, id: &str) -> io::Result<()> {
    if asked.head.method != Method::Get || !is_id(id) {
        return refuse(asked, 404, "there is no such page\n");
    }
    let made = {
        let _one = shared.making.lock().unwrap_or_else(PoisonError::into_inner);
        shared.results.report(id)
    };
    match made {
        Some(Ok(html)) => asked.reply_within(FILE_POLICY, "text/html; charset=utf-8", &html),
        Some(Err(why)) => refuse(asked, 404, &format!("there is no report: {why}\n")),
        None => refuse(asked, 404, "there is no such result, or no more\n"),
    }
}

fn compare<R: Results>(shared: &Shared<R>, asked: &Asked<'_>) -> io::Result<()> {
    let Some(wanted) = asked.head.query.as_deref().and_then(wanted) else {
        return refuse(
            asked,
            400,
            "say what to compare by ids: runs=ID,ID&baseline=ID\n",
        );
    };
    match shared.comparisons.ask(&wanted) {
        Some(number) => asked.reply(JSON, format!("{{\"number\":{number}}}").as_bytes()),
        None => refuse(
            asked,
            429,
            "too many comparisons wait already; try again when they are made\n",
        ),
    }
}

/// How far a comparison is, `N`; or its file, `N/report.html`.
fn comparison<R: Results>(shared: &Shared<R>, asked: &Asked<'_>, rest: &str) -> io::Result<()> {
    let (number, is_file) = match rest.strip_suffix("/report.html") {
        Some(number) => (number, true),
        None => (rest, false),
    };
    let stage = match asked.head.method {
        Method::Get => number
            .parse()
            .ok()
            .and_then(|n| shared.comparisons.stage(n)),
        Method::Post => None,
    };
    match stage {
        Some(Stage::Done(made)) if is_file => {
            asked.reply("application/octet-stream", made.html.as_bytes())
        }
        Some(stage) if !is_file => asked.reply(JSON, told(&stage).as_bytes()),
        _ => refuse(asked, 404, "there is no such comparison, or no more\n"),
    }
}

/// How far a comparison is, as JSON.
fn told(stage: &Stage<Compared>) -> String {
    match stage {
        Stage::Waiting(before) => format!("{{\"stage\":\"waiting\",\"before\":{before}}}"),
        Stage::Working(Progress { what, done, of }) => format!(
            "{{\"stage\":\"working\",\"what\":{},\"done\":{done},\"of\":{of}}}",
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

/// What a query asks to be compared; `None` where it is anything else. The order of ids means nothing, so
/// the same runs are the same comparison.
fn wanted(query: &str) -> Option<Wanted> {
    let mut wanted = Wanted {
        runs: Vec::new(),
        baseline: Vec::new(),
        force: false,
    };
    for pair in query.split('&') {
        let (name, value) = pair.split_once('=')?;
        let ids = match name {
            "runs" => &mut wanted.runs,
            "baseline" => &mut wanted.baseline,
            "force" if value == "1" => {
                wanted.force = true;
                continue;
            }
            _ => return None,
        };
        let all = value.split(',').filter(|id| !id.is_empty());
        *ids = all.map(str::to_owned).collect();
        ids.sort_unstable();
    }
    let all = || wanted.runs.iter().chain(&wanted.baseline);
    let sound =
        !wanted.runs.is_empty() && all().count() <= COMPARED_MAX && all().all(|id| is_id(id));
    sound.then_some(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "0123456789abcdef";
    const B: &str = "fedcba9876543210";

    #[test]
    fn comparisons_are_asked_for_by_ids_in_any_order() {
        let one = wanted(&format!("runs={B},{A}&baseline=")).unwrap();
        assert_eq!(one, wanted(&format!("runs={A},{B}")).unwrap());
        let sides = wanted(&format!("runs={A}&baseline={B}&force=1")).unwrap();
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
            assert_eq!(wanted(query), None, "{query}");
        }
    }

    #[test]
    fn what_is_told_is_json() {
        let failed = Stage::Failed("a \"b\" \\ \n</script>".to_owned());
        assert_eq!(
            told(&failed),
            r#"{"stage":"failed","why":"a \"b\" \\ \u000a</script>"}"#
        );
        assert_eq!(
            told(&Stage::Waiting(2)),
            r#"{"stage":"waiting","before":2}"#
        );
    }
}
