//! Every recipe of docs/cookbook.md is run, shortened.
//!
//! A recipe is a section with a title of the third level. Its blocks are
//!
//! - `yaml scenario`: a scenario, saved as NAME.yaml by the `name` in it;
//! - `sh`: commands in their order. `throng serve …` is a server that runs until the recipe ends. `# exit code N`
//!   after a command states its exit code, which is 0 otherwise;
//! - two words, such as `csv users.csv`: a file with that name.
//!
//! Here servers listen on free ports, phases last two seconds, and no latency has a limit below ten seconds: the
//! machine is busy with other tests. The server that a recipe starts with OpenSSL is one of ours.

use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::process::Command;

use record::Run;

use crate::support::{Ended, Served, Space, Tls, plain, read_head, root};

/// Recipes that are run at the same time.
const AT_ONCE: usize = 4;
/// Where servers listen in recipes that do not say it.
const HTTP: &str = "127.0.0.1:8080";
/// Where OpenSSL listens in recipes.
const HTTPS: &str = "localhost:8443";

#[test]
fn every_recipe_runs_as_written() {
    let text = std::fs::read_to_string(root().join("docs/cookbook.md")).unwrap();
    let recipes: Vec<Recipe> = text.split("\n### ").skip(1).map(Recipe::parse).collect();
    assert!(recipes.len() >= 32, "only {} recipes", recipes.len());
    // The last ones take the longest time.
    let longest_first: Vec<&Recipe> = recipes.iter().rev().collect();
    testkit::at_once(AT_ONCE, &longest_first, |recipe| recipe.run());
}

#[test]
fn phases_are_shortened_and_limits_loosened() {
    let text = "- { ramp: 0/s..5/s, for: 10s }\n- { hold: 30s, name: x }\n\
                - p99(x) < 300ms in x\n- error_rate < 0.1%";
    let expected = "- { ramp: 0/s..5/s, for: 2s }\n- { hold: 1s, name: x }\n\
                    - p99(x) < 10s in x\n- error_rate < 0.1%";
    assert_eq!(shortened(text), expected);
}

#[test]
fn a_section_is_read_as_its_blocks_say() {
    let recipe = Recipe::parse(
        "Title\nText.\n\n```csv a.csv\nx,y\n```\n```yaml scenario\nname: n\ntarget: chat\n```\n\
         ```sh\nthrong serve hello\nthrong run n.yaml \\\n  --quiet\n```\nText.\n",
    );
    assert_eq!(recipe.title, "Title");
    let files = [("a.csv", "x,y"), ("n.yaml", "name: n\ntarget: chat")];
    let files = files.map(|(name, text)| (name.to_owned(), text.to_owned()));
    assert_eq!(recipe.files, files);
    let commands = ["throng serve hello", "throng run n.yaml    --quiet"];
    assert_eq!(recipe.commands, commands);
}

#[derive(Default)]
struct Recipe {
    title: String,
    /// Names and texts, scenarios among them.
    files: Vec<(String, String)>,
    commands: Vec<String>,
}

impl Recipe {
    fn parse(section: &str) -> Recipe {
        let mut recipe = Recipe {
            title: section.lines().next().unwrap_or_default().to_owned(),
            ..Recipe::default()
        };
        // What is between two fences is a block, and the next part is text.
        for block in section.split("\n```").skip(1).step_by(2) {
            let (kind, code) = block.split_once('\n').unwrap();
            let words: Vec<&str> = kind.split(' ').collect();
            match words[..] {
                ["yaml", "scenario"] => {
                    let name = code.lines().find_map(|line| line.strip_prefix("name: "));
                    let name = name.unwrap_or_else(|| panic!("no name: {code}"));
                    recipe.files.push((format!("{name}.yaml"), code.to_owned()));
                }
                ["sh"] => {
                    let code = code.replace("\\\n", " ");
                    recipe.commands.extend(code.lines().map(str::to_owned));
                }
                [_, name] => recipe.files.push((name.to_owned(), code.to_owned())),
                _ => panic!("{}: a block of the unknown kind {kind:?}", recipe.title),
            }
        }
        recipe
    }

    /// Runs its commands in a place of their own.
    fn run(&self) {
        let space = Space::new();
        let is_server = |command: &&String| command.starts_with("throng serve ");
        let servers = self.commands.iter().filter(is_server);
        let mut servers: Vec<Server> = servers.map(|command| Server::start(command)).collect();
        let is_openssl = |command: &&String| command.starts_with("openssl ");
        if self.commands.iter().any(|command| is_openssl(&command)) {
            servers.push(Server::with_tls(&space));
        }
        let here = |text: &str| {
            let text = shortened(text);
            let replaced = servers.iter();
            replaced.fold(text, |text, server| text.replace(&server.said, &server.is))
        };
        for (name, text) in &self.files {
            space.file(name, &here(text));
        }
        let commands = self.commands.iter();
        let commands: Vec<_> =
            commands.filter(|command| !is_server(command) && !is_openssl(command)).collect();
        for command in &commands {
            self.execute(&space, &here(command));
        }
        let mut runs = Vec::new();
        runs_below(&space.path(""), &mut runs);
        let makes_runs = commands
            .iter()
            .any(|command| command.contains("throng run ") || command.contains("throng capacity "));
        assert_eq!(!runs.is_empty(), makes_runs, "runs of {:?}", self.title);
        for run in &runs {
            let summary = run.summary().unwrap().expect("the run was judged");
            let has_measured = summary.measures.iter().any(|measure| measure.count > 0);
            let has_no_user = summary.findings.iter().any(|finding| finding.code == "setup-failed");
            assert!(has_measured != has_no_user, "{:?}: {run:?}", self.title);
        }
    }

    /// Runs a command, which must end with its exit code.
    fn execute(&self, space: &Space, command: &str) {
        let command = command.replace("--prometheus 9979", "--prometheus 0");
        run_script(&self.title, space, &command);
    }
}

/// A server of a recipe.
struct Server {
    /// The address in the recipe.
    said: String,
    /// Its address here.
    is: String,
    /// It serves until this is dropped; one with TLS, until the tests end.
    _served: Option<Served>,
}

impl Server {
    /// `throng serve …`, at a free port.
    fn start(command: &str) -> Server {
        let mut said = HTTP;
        let mut args = Vec::new();
        let mut words = command.split_whitespace().skip(2);
        while let Some(word) = words.next() {
            match word {
                "--listen" => said = words.next().unwrap(),
                other => args.push(other),
            }
        }
        let served = Served::start(&args);
        let (_, is) = served.url.split_once("://").unwrap();
        Server { said: said.to_owned(), is: is.to_owned(), _served: Some(served) }
    }

    /// A server with TLS, its certificate in the space.
    fn with_tls(space: &Space) -> Server {
        let tls = Tls::server(|stream| {
            loop {
                read_head(stream)?;
                stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")?;
            }
        });
        space.file("cert.pem", &tls.certificate);
        Server {
            said: HTTPS.to_owned(),
            is: format!("localhost:{}", tls.address.port()),
            _served: None,
        }
    }
}

/// The text with phases of two seconds at most, and limits that a busy machine keeps.
fn shortened(text: &str) -> String {
    let times = [("for: ", "2s"), ("hold: ", "1s"), ("< ", "10s")];
    let times = times.iter();
    times.fold(text.to_owned(), |text, (before, time)| with_time(&text, before, time))
}

/// The text with this duration in place of each one that follows `before`.
pub(crate) fn with_time(text: &str, before: &str, time: &str) -> String {
    let mut parts = text.split(before);
    let mut changed = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| !c.is_ascii_alphanumeric());
        let (word, rest) = part.split_at(end.unwrap_or(part.len()));
        let is_time = word.starts_with(|c: char| c.is_ascii_digit()) && word.ends_with('s');
        changed += before;
        changed += if is_time { time } else { word };
        changed += rest;
    }
    changed
}

/// The exit code that a comment in these commands states; 0 otherwise.
pub(crate) fn stated_code(commands: &str) -> i32 {
    commands.split_once("# exit code ").map_or(0, |(_, rest)| {
        let digits = rest.split(|c: char| !c.is_ascii_digit()).next();
        digits.unwrap_or_default().parse().unwrap()
    })
}

/// Runs the commands of a document, which must end with their exit code.
#[track_caller]
pub(crate) fn run_script(document: &str, space: &Space, commands: &str) -> Ended {
    let code = stated_code(commands);
    // That the machine is busy with other tests must not make a run untrusted.
    let mut script = commands.to_owned();
    for verb in ["throng run ", "throng capacity "] {
        script = script.replace(verb, &format!("{verb}--set options.lag_max=5s "));
    }
    let mut shell = plain(Command::new("sh"));
    shell.args(["-e", "-c", &script]).env("PATH", path());
    let ended = Ended::of(shell.current_dir(space.path("")));
    assert!(
        ended.code == Some(code),
        "{document}: exit code {:?}, expected {code}, of\n{script}\n{}{}",
        ended.code,
        ended.out,
        ended.err
    );
    ended
}

/// Where commands are looked up: this build first.
fn path() -> OsString {
    let program = Path::new(env!("CARGO_BIN_EXE_throng"));
    let ours = program.parent().unwrap().to_owned();
    let others = std::env::var_os("PATH").unwrap_or_default();
    let all = std::iter::once(ours).chain(std::env::split_paths(&others));
    std::env::join_paths(all).unwrap()
}

/// The judged runs below a folder.
fn runs_below(folder: &Path, runs: &mut Vec<Run>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.join("summary.json").exists() {
            runs.push(Run::open(&path).unwrap());
        } else if path.is_dir() {
            runs_below(&path, runs);
        }
    }
}
