//! Every command of docs/tutorial.md and of the README is run, shortened, in the order of the page.
//!
//! The blocks of a page are
//!
//! - `sh`: commands. A line that starts a system under load (`throng serve …`, `python3 examples/tutorial/shop.py`)
//!   is a server that runs until the page ends. `# exit code N` states the exit code of the last command, which is
//!   0 otherwise. A block below the comment `<!-- not run by tests: REASON -->` is not run;
//! - two words, such as `csv users.csv`: a file with that name, which replaces an earlier one;
//! - `text`: what the commands before it print. `…` stands for what is left out, and words with digits, units and
//!   the breaks of lines do not count. `text sample` is not compared: it depends on the machine.
//!
//! Servers listen on free ports, phases are short, and commands that must pass have limits that a busy machine
//! keeps.

use std::collections::BTreeMap;
use std::process::Command;

use testkit::needs::skip;

use crate::cookbook::{run_script, stated_code, with_time};
use crate::support::{Running, Served, Space, plain, root};

/// The shop of the tutorial, and the ports that pages name.
const SHOP: &str = "python3 examples/tutorial/shop.py";
const SHOP_PORT: &str = "8000";
const SERVE: &str = "throng serve ";
const SERVE_ADDRESS: &str = "127.0.0.1:8080";
/// Above a block that is not run.
const NOT_RUN: &str = "<!-- not run by tests: ";
/// What stands beside numbers in output.
const UNITS: &[&str] = &["%", "ns", "µs", "ms", "s", "B", "KiB", "MiB", "≥", "–", "×"];

#[test]
fn the_tutorial_runs_as_written() {
    if lacks("python3") || lacks("curl") {
        return;
    }
    let page = Page::walk("docs/tutorial.md");
    assert!(page.scripts_count >= 10, "{}", page.scripts_count);
    assert!(page.outputs_count >= 6, "{}", page.outputs_count);
}

#[test]
fn the_readme_runs_as_written() {
    let page = Page::walk("README.md");
    assert!(page.scripts_count >= 2, "{}", page.scripts_count);
}

#[test]
fn blocks_are_read_in_order() {
    let text = "Text.\n\n```csv a.csv\nx\n```\n```sh\nb\n```\n<!-- not run by tests: slow -->\n```sh\nc\n```\n";
    let found: Vec<_> = blocks(text).map(|block| (block.kind, block.code, block.is_run)).collect();
    let expected = [("csv a.csv", "x", true), ("sh", "b", true), ("sh", "c", false)];
    assert_eq!(found, expected);
}

#[test]
fn output_is_compared_by_its_words() {
    let printed =
        "PASSED  shop in 21 s\n  ! warning: login: 2 of 10 failed\n    (median)\nreport runs/1/r\n";
    assert_eq!(missing("PASSED shop in 9 ms\n…\n! warning: login: 1 of", printed), None);
    assert_eq!(missing("failed (median)\n…\nreport", printed), None);
    let lacking = missing("…\n! warning: cart: 2 of", printed);
    assert_eq!(lacking.as_deref(), Some("! warning: cart: of"));
    assert!(missing("report\n…\nPASSED", printed).is_some());
}

/// True, and the test is skipped, without this program.
fn lacks(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output();
    if found.is_err() {
        skip(&format!("{program} is missing"));
    }
    found.is_err()
}

struct Block<'a> {
    kind: &'a str,
    code: &'a str,
    is_run: bool,
}

fn blocks(text: &str) -> impl Iterator<Item = Block<'_>> {
    // What is between two fences is a block, and the next part is text.
    let parts: Vec<&str> = text.split("\n```").collect();
    let pairs: Vec<(&str, &str)> = parts.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
    pairs.into_iter().map(|(before, block)| {
        let (kind, code) = block.split_once('\n').unwrap();
        let last = before.lines().last().unwrap_or_default();
        let is_run = !last.starts_with(NOT_RUN);
        Block { kind, code, is_run }
    })
}

/// A page while it is followed.
struct Page {
    name: &'static str,
    space: Space,
    files: BTreeMap<String, String>,
    /// Addresses of the page, and those here.
    addresses: Vec<(String, String)>,
    shops: Vec<Running>,
    served: Vec<Served>,
    /// What the last commands printed.
    printed: String,
    scripts_count: usize,
    outputs_count: usize,
}

impl Page {
    /// Follows a page from its beginning to its end.
    fn walk(name: &'static str) -> Page {
        let text = std::fs::read_to_string(root().join(name)).unwrap();
        let mut page = Page {
            name,
            space: Space::new(),
            files: BTreeMap::new(),
            addresses: Vec::new(),
            shops: Vec::new(),
            served: Vec::new(),
            printed: String::new(),
            scripts_count: 0,
            outputs_count: 0,
        };
        for block in blocks(&text).filter(|block| block.is_run) {
            let words: Vec<&str> = block.kind.split(' ').collect();
            match words[..] {
                ["sh"] => page.script(block.code),
                ["text"] => page.output(block.code),
                ["text", "sample"] => {}
                [_, file] => drop(page.files.insert(file.to_owned(), block.code.to_owned())),
                _ => panic!("{name}: a block of the unknown kind {:?}", block.kind),
            }
        }
        page
    }

    /// Starts the servers of a block and runs its commands.
    fn script(&mut self, code: &str) {
        let is_server = |line: &&str| line.starts_with(SHOP) || line.starts_with(SERVE);
        let (servers, commands): (Vec<&str>, Vec<&str>) = code.lines().partition(is_server);
        for server in servers {
            self.serve(server);
        }
        if commands.is_empty() {
            return;
        }
        self.scripts_count += 1;
        let commands = commands.join("\n");
        self.write_files(stated_code(&commands) == 0);
        let ended = run_script(self.name, &self.space, &self.here(&shortened(&commands)));
        self.printed = ended.out;
    }

    /// Starts a server at a free port.
    fn serve(&mut self, line: &str) {
        let Some(options) = line.strip_prefix(SHOP) else {
            let words: Vec<&str> = line.split_whitespace().skip(2).collect();
            let served = Served::start(&words);
            let (_, is) = served.url.split_once("://").unwrap();
            self.addresses.push((SERVE_ADDRESS.to_owned(), is.to_owned()));
            self.served.push(served);
            return;
        };
        let mut words: Vec<&str> = options.split_whitespace().collect();
        let mut port = SHOP_PORT;
        if let Some(at) = words.iter().position(|word| *word == "--port") {
            port = words[at + 1];
            words.drain(at..at + 2);
        }
        let mut command = plain(Command::new("python3"));
        command.arg(root().join("examples/tutorial/shop.py"));
        command.args(["--port", "0"]).args(words);
        let mut shop = Running::start(&mut command);
        self.printed = shop.line();
        let (_, is) = self.printed.trim_end().rsplit_once("://").unwrap();
        self.addresses.push((format!("127.0.0.1:{port}"), is.to_owned()));
        self.shops.push(shop);
    }

    /// Writes the files of the page as they are at this place of it.
    fn write_files(&self, must_pass: bool) {
        for (name, text) in &self.files {
            let mut text = with_time(text, "for: ", "2s");
            text = with_time(&text, "time: ", "3s");
            text = with_time(&text, "exponential: ", "100ms");
            if must_pass {
                text = with_time(&text, "< ", "10s");
            }
            self.space.file(name, &self.here(&text));
        }
    }

    /// The text with the addresses of the servers here.
    fn here(&self, text: &str) -> String {
        let addresses = self.addresses.iter();
        addresses.fold(text.to_owned(), |text, (said, is)| text.replace(said, is))
    }

    fn output(&mut self, shown: &str) {
        self.outputs_count += 1;
        if let Some(piece) = missing(shown, &self.printed) {
            let Page { name, printed, .. } = self;
            panic!("{name} shows {piece:?}, which was not printed:\n{printed}");
        }
    }
}

/// Commands that end soon.
fn shortened(commands: &str) -> String {
    let commands = with_time(commands, "--duration ", "2s");
    let commands = with_time(&commands, "--set time=", "2s");
    let short = "--within 100% --repeat 1 --at-most 20 --pause 100ms";
    commands.replace("--within 10%", short)
}

/// What must be equal in the output of two runs.
fn words(text: &str) -> Vec<&str> {
    let marks = ['(', ')', ',', ';', ':'];
    let words = text.split_whitespace().filter(|word| {
        !word.contains(|c: char| c.is_ascii_digit()) && !UNITS.contains(&word.trim_matches(marks))
    });
    words.collect()
}

/// The first piece of what a page shows that was not printed, behind the one before. A machine that is busy has findings
/// of its own, so there may be others before each finding.
fn missing(shown: &str, printed: &str) -> Option<String> {
    let printed = words(printed);
    let shown = shown.replace("\n  ! ", "\n…  ! ");
    let shown = shown.replace("\n  · ", "\n…  · ");
    let mut from = 0;
    for piece in shown.split('…') {
        let piece = words(piece);
        if piece.is_empty() {
            continue;
        }
        let rest = &printed[from..];
        let Some(at) = rest.windows(piece.len()).position(|found| *found == piece[..]) else {
            return Some(piece.join(" "));
        };
        from += at + piece.len();
    }
    None
}
