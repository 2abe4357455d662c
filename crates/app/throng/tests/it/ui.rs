//! `throng ui`: the replies of its server. `web/tests` tests the page in a browser.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::Value;

use crate::compare::recorded::Recorded;
use crate::support::{Ended, LinkedFile, Running, Space, throng};

struct Ui {
    running: Running,
    address: String,
}

struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Ui {
    fn start(directory: &Path, token: Option<&str>) -> Ui {
        let mut command = throng(["ui", "--listen", "127.0.0.1:0"]);
        command.arg(directory).env_remove("THRONG_UI_TOKEN");
        if let Some(token) = token {
            command.env("THRONG_UI_TOKEN", token);
        }
        let mut running = Running::start(&mut command);
        let line = running.line();
        let url = line.trim().strip_prefix("results    http://").unwrap();
        let address = url.split('/').next().unwrap().to_owned();
        Ui { running, address }
    }

    fn request(&self, line: &str, fields: &[(&str, &str)]) -> Answer {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let mut text = format!("{line} HTTP/1.1\r\nHost: {}\r\n", self.address);
        for (name, value) in fields {
            text += &format!("{name}: {value}\r\n");
        }
        stream.write_all((text + "\r\n").as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        Answer {
            status: head.split(' ').nth(1).unwrap().parse().unwrap(),
            head: head.to_owned(),
            body: body.to_owned(),
        }
    }

    fn get(&self, path: &str) -> Answer {
        self.request(&format!("GET {path}"), &[])
    }

    fn entries(&self) -> Vec<Value> {
        let list: Value = serde_json::from_str(&self.get("/list").body).unwrap();
        list["entries"].as_array().unwrap().clone()
    }

    fn id(&self, path: &str) -> String {
        let entries = self.entries();
        let entry = entries.iter().find(|entry| entry["path"] == path);
        let entry = entry.unwrap_or_else(|| panic!("no {path} in {entries:?}"));
        entry["id"].as_str().unwrap().to_owned()
    }

    /// Requests a comparison and waits for its outcome.
    fn compare(&self, query: &str) -> Value {
        let origin = format!("http://{}", self.address);
        let line = format!("POST /compare?{query}");
        let reply = self.request(&line, &[("Origin", &origin)]);
        assert_eq!(reply.status, 200, "{}", reply.body);
        let number: Value = serde_json::from_str(&reply.body).unwrap();
        let path = format!("/comparison/{}", number["number"]);
        loop {
            let stage: Value = serde_json::from_str(&self.get(&path).body).unwrap();
            if stage["stage"] == "done" || stage["stage"] == "failed" {
                return stage;
            }
            std::thread::yield_now();
        }
    }
}

#[test]
fn results_are_listed_opened_and_compared() {
    let space = Space::new();
    let runs = space.path("runs");
    let names: Vec<String> = (1..=2)
        .map(|seed| {
            let made = Recorded::new(seed).write(&runs);
            made.file_name().unwrap().to_str().unwrap().to_owned()
        })
        .collect();
    std::fs::create_dir(runs.join("cut")).unwrap();
    std::fs::write(runs.join("cut/run.json"), "{").unwrap();
    let ui = Ui::start(&runs, None);
    let entries = ui.entries();
    let states: Vec<_> = entries.iter().map(|i| (&i["path"], &i["state"])).collect();
    assert_eq!(
        states,
        [
            (&Value::from(names[1].as_str()), &Value::from("measured")),
            (&Value::from(names[0].as_str()), &Value::from("measured")),
            (&Value::from("cut"), &Value::from("damaged")),
        ]
    );
    // A missing report is made, and not written to disk.
    let a = ui.id(&names[0]);
    let b = ui.id(&names[1]);
    let report = ui.get(&format!("/report/{a}"));
    assert_eq!(report.status, 200);
    assert!(report.head.contains("Content-Security-Policy: sandbox allow-scripts"));
    assert!(report.body.contains("id=\"document\">{\"format\":1,\"kind\":\"run\""));
    assert!(!runs.join(&names[0]).join("report.html").exists());
    // An existing report is served as it is.
    std::fs::write(runs.join(&names[0]).join("report.html"), "as written").unwrap();
    assert_eq!(ui.get(&format!("/report/{a}")).body, "as written");
    let refused = ui.get(&format!("/report/{}", ui.id("cut")));
    assert_eq!(refused.status, 404);
    assert!(refused.body.contains("there is no report"), "{}", refused.body);

    // Both runs are of one scenario: its trend has them in the order of their start.
    let trend = ui.get(&format!("/trend/{a}"));
    let trend: Value = serde_json::from_str(&trend.body).unwrap();
    let of: Vec<_> = trend["runs"].as_array().unwrap().iter().collect();
    assert_eq!(of.len(), 2, "{trend}");
    assert_eq!(
        (&of[0]["path"], &of[1]["path"]),
        (&names[0].as_str().into(), &names[1].as_str().into())
    );
    for figure in trend["figures"].as_array().unwrap() {
        let values = figure["values"].as_array().unwrap();
        assert_eq!(values.len(), 2, "{figure}");
        // What no run has, such as a percentile of nothing, has no parts.
        let known = values.iter().any(|value| !value.is_null());
        let parts = figure["parts"].as_array().unwrap().len();
        assert_eq!(parts, usize::from(known), "{figure}");
    }
    assert_eq!(ui.get(&format!("/trend/{}", ui.id("cut"))).status, 404);
    assert_eq!(ui.get("/trend/..%2f..%2fetc").status, 404);

    let outcome = ui.compare(&format!("runs={b}&baseline={a}"));
    assert_eq!(outcome["stage"], "done", "{outcome}");
    assert_eq!(outcome["document"]["kind"], "comparison");
    assert_eq!(outcome["document"]["runs"].as_array().unwrap().len(), 2);
    let file = ui.get("/comparison/1/report.html");
    assert_eq!(file.status, 200);
    assert!(file.head.contains("application/octet-stream"));
    // The same request returns the same comparison.
    ui.compare(&format!("baseline={a}&runs={b}"));
    assert_eq!(ui.get("/comparison/2").status, 404);
    let outcome = ui.compare(&format!("runs={a}"));
    assert_eq!(outcome["stage"], "failed");
    assert!(outcome["why"].as_str().unwrap().contains("a comparison needs at least two runs"));
    ui.running.interrupt();
    ui.running.end().with(0);
}

#[test]
fn nothing_outside_the_directory_is_served() {
    let space = Space::new();
    let runs = space.path("runs");
    let outside = space.path("outside");
    let run = Recorded::new(1).write(&runs);
    let secret = Recorded::new(2).write(&outside);
    std::fs::write(secret.join("report.html"), "secret").unwrap();
    symlink(secret.join("report.html"), run.join("report.html")).unwrap();
    symlink(&secret, runs.join("linked")).unwrap();
    let ui = Ui::start(&runs, None);
    assert_eq!(ui.entries().len(), 1, "links are not results");
    let id = ui.id(run.file_name().unwrap().to_str().unwrap());
    let report = ui.get(&format!("/report/{id}"));
    assert!(report.status == 200 && !report.body.contains("secret"));
    // Nor if a directory was replaced by a link after it was listed.
    std::fs::remove_file(run.join("report.html")).unwrap();
    std::fs::rename(&run, space.path("moved")).unwrap();
    symlink(&secret, &run).unwrap();
    assert_eq!(ui.get(&format!("/report/{id}")).status, 404);
    for path in [
        "/report/../../outside/report.html",
        "/report/..%2f..%2foutside",
        "/report/",
        "/list/..",
        "/../runs",
        "/comparison/1/../../list",
        "/comparison/99999999999999999999999",
    ] {
        assert_eq!(ui.get(path).status, 404, "{path}");
    }
}

#[test]
fn notes_are_written_shown_and_removed() {
    let space = Space::new();
    let runs = space.path("runs");
    let run = Recorded::new(1).write(&runs);
    let name = run.file_name().unwrap().to_str().unwrap();
    let ui = Ui::start(&runs, None);
    let id = ui.id(name);
    let own = format!("http://{}", ui.address);
    let post = |query: &str, origin: &str| {
        let line = format!("POST /note/{id}?{query}");
        ui.request(&line, &[("Origin", origin)])
    };
    let listed = || ui.entries()[0]["note"].clone();
    assert_eq!(listed(), Value::Null);
    // Other pages cannot write notes, and nothing is written by opening an address.
    assert_eq!(post("text=theirs", "http://evil.test").status, 403);
    assert_eq!(ui.get(&format!("/note/{id}?text=theirs")).status, 404);
    for (query, status) in [
        (format!("text={}", "a".repeat(281)), 400),
        ("text=%zz".to_owned(), 400),
        ("text=a&b".to_owned(), 400),
        ("words=a".to_owned(), 400),
    ] {
        assert_eq!(post(&query, &own).status, status, "{query}");
    }
    let unknown = ui.request("POST /note/0000000000000000?text=a", &[("Origin", &own)]);
    assert_eq!(unknown.status, 404);
    assert!(!run.join("note.txt").exists());

    let saved = post("text=%20new%0Apool%20%3Cb%3E%20%22x%22", &own);
    assert_eq!((saved.status, saved.body.as_str()), (200, r#"{"note":"new pool <b> \"x\""}"#));
    assert_eq!(listed(), "new pool <b> \"x\"");
    let kept = std::fs::read_to_string(run.join("note.txt")).unwrap();
    assert_eq!(kept, "new pool <b> \"x\"\n");
    let report = ui.get(&format!("/report/{id}")).body;
    assert!(report.contains("<q>new pool &lt;b&gt;"), "{report}");
    let trend: Value = serde_json::from_str(&ui.get(&format!("/trend/{id}")).body).unwrap();
    assert_eq!(trend["runs"][0]["note"], "new pool <b> \"x\"");

    // The terminal shows, changes and removes the same note.
    let note = |text: Option<&str>| Ended::of(throng(["note"]).arg(&run).args(text));
    assert_eq!(note(None).with(0).out, "new pool <b> \"x\"\n");
    note(Some("ä: \u{1b}[31mlarger heap")).with(0);
    let shown = Ended::of(throng(["show"]).arg(&run)).with(0);
    shown.stdout_contains("note ä: [31mlarger heap");
    assert_eq!(listed(), "ä: [31mlarger heap");
    note(Some(&"a".repeat(281))).with(64).stderr_contains("at most 280 characters");
    assert_eq!(post("text=", &own).body, r#"{"note":null}"#);
    assert_eq!((listed(), run.join("note.txt").exists()), (Value::Null, false));
    let nothing = Ended::of(throng(["note"]).arg(space.path(".")).arg("a")).with(66);
    nothing.stderr_contains("is not a run directory");
}

#[test]
fn a_note_that_cannot_be_written_is_an_error() {
    let space = Space::new();
    let runs = space.path("runs");
    let run = Recorded::new(1).write(&runs);
    // A directory in its place can be neither replaced nor removed.
    std::fs::create_dir(run.join("note.txt")).unwrap();
    let ui = Ui::start(&runs, None);
    let id = ui.id(run.file_name().unwrap().to_str().unwrap());
    let own = format!("http://{}", ui.address);
    for text in ["a", ""] {
        let line = format!("POST /note/{id}?text={text}");
        let answer = ui.request(&line, &[("Origin", &own)]);
        assert_eq!(answer.status, 500, "{}", answer.body);
        assert!(answer.body.contains("note.txt"), "{}", answer.body);
    }
    assert_eq!(ui.get("/list").status, 200);
}

/// A pipe without a writer, and an endless device, in place of each file.
#[test]
fn pipes_and_devices_are_not_read() {
    let space = Space::new();
    let runs = space.path("runs");
    let run = Recorded::new(1).write(&runs);
    let sound = Recorded::new(2).write(&runs);
    let pipe = space.path("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    let ui = Ui::start(&runs, None);
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    let id = ui.id(&name(&run));
    let other = ui.id(&name(&sound));
    for file in [
        "run.json",
        "summary.json",
        "events.jsonl",
        "tally.json",
        "latency.hlog",
        "requests.parquet",
        "series.parquet",
        "probes.parquet",
        "import.json",
        "note.txt",
    ] {
        for target in [pipe.as_path(), Path::new("/dev/zero")] {
            let _linked = LinkedFile::new(&run.join(file), target, &space.path("aside"));
            ui.get("/list");
            assert!(ui.get(&format!("/report/{id}")).status > 0, "{file}");
            if file == "requests.parquet" {
                let outcome = ui.compare(&format!("runs={id}&baseline={other}"));
                assert_eq!(outcome["stage"], "failed", "{outcome}");
            }
        }
    }
    assert_eq!(ui.get(&format!("/report/{other}")).status, 200);
}

#[test]
fn unauthorised_requests_are_refused() {
    let space = Space::new();
    std::fs::create_dir(space.path("runs")).unwrap();
    let token = "0123456789abcdef";
    let ui = Ui::start(&space.path("runs"), Some(token));
    assert_eq!(ui.get("/list").status, 401);
    let bearer = format!("Bearer {token}");
    let known = ("Authorization", bearer.as_str());
    assert_eq!(ui.request("GET /list", &[known]).status, 200);
    let page = ui.get(&format!("/?token={token}"));
    assert!(page.status == 200 && page.head.contains("HttpOnly; SameSite=Strict"));
    assert!(page.head.contains("script-src 'self'"));
    // Other pages cannot start a comparison.
    assert_eq!(ui.request("POST /compare?runs=0", &[known]).status, 403);
    let cross_site = ("Origin", "http://evil.test");
    assert_eq!(ui.request("GET /list", &[known, cross_site]).status, 403);
    let own = format!("http://{}", ui.address);
    let own = ("Origin", own.as_str());
    assert_eq!(ui.request("POST /compare?runs=..", &[known, own]).status, 400);
    assert_eq!(ui.request("POST /stop", &[known, own]).status, 404);
}

#[test]
fn unusable_directories_addresses_and_tokens_are_errors() {
    let space = Space::new();
    let nowhere = space.path("nowhere");
    let ended = Ended::of(throng(["ui", "--listen", "127.0.0.1:0"]).arg(&nowhere)).with(66);
    ended.stderr_contains("nowhere");
    let ended = Ended::of(throng(["ui", "--listen", "nonsense"]).arg(space.path("."))).with(64);
    ended.stderr_contains("--listen 127.0.0.1:7701");
    let mut short = throng(["ui", "--listen", "127.0.0.1:0"]);
    let ended = Ended::of(short.arg(space.path(".")).env("THRONG_UI_TOKEN", "short")).with(64);
    ended.stderr_contains("THRONG_UI_TOKEN");
}
