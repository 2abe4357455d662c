//! Commands on our examples that documents and the heads of examples print get as far as their plan.
//!
//! Whatever would take time or root is checked instead: `run` and `try` as `check`, `lab run` and `lab up` as `lab check`,
//! `experiment` and `capacity` with `--plan`. `duet` finds another duet where it would put its own, which it looks for once
//! its scenarios are compiled and a pair fits into its budget.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{Ended, Space, plain, root};

/// Fewer commands that are tried mean that this test does not find them.
const COMMANDS_MIN: usize = 80;
/// What scripts such as `examples/market/up` set.
const ENVIRONMENT: &[(&str, &str)] = &[
    ("MARKET_API_1", "http://127.0.0.1:1/"),
    ("MARKET_API_2", "http://127.0.0.1:1/"),
    ("MARKET_CACHE", "redis://127.0.0.1:1/"),
    ("MARKET_EVENTS", "http://127.0.0.1:1/"),
    ("MARKET_NGINX", "http://127.0.0.1:1/"),
    ("MARKET_PID_API_1", "1"),
    ("MARKET_PID_API_2", "1"),
    ("MARKET_PID_EVENTS", "1"),
    ("MARKET_PID_REDIS", "1"),
    ("MARKET_PID_RESOLVER", "1"),
    ("MARKET_RESOLVER", "http://127.0.0.1:1/"),
    ("MARKET_STORE", "mysql://127.0.0.1:1/market"),
    ("MARKET_URL", "http://127.0.0.1:1/"),
    ("MYSQL_URL", "mysql://127.0.0.1:1/ads"),
    ("POSTGRES_URL", "postgres://127.0.0.1:1/ads"),
    ("QUEUE_DATABASE", "tcp://127.0.0.1:1"),
    ("QUEUE_PASSWORD", "secret"),
    ("QUEUE_STORE", "postgres://me:secret@127.0.0.1:1/queue"),
    ("REDIS_URL", "redis://127.0.0.1:1/0"),
];

#[test]
fn printed_commands_get_as_far_as_their_plan() {
    let commands = printed();
    let space = Space::new();
    std::fs::create_dir(space.path("duet")).unwrap();
    space.file("duet/duet.json", "");
    let mut verbs: BTreeMap<String, usize> = BTreeMap::new();
    for printed in &commands {
        let Some(command) = Planned::parse(printed) else {
            continue;
        };
        *verbs.entry(command.args[0].clone()).or_insert(0) += 1;
        let ended = Ended::of(&mut command.command(&space));
        let is_planned = match command.output {
            Some(Output::Duet) => {
                ended.code == Some(73) && ended.err.contains("holds a duet already")
            }
            _ => ended.code == Some(0),
        };
        // A setting of the command that changes nothing is one that it should not have.
        let is_idle = command
            .names_set()
            .any(|name| ended.err.contains(&format!("the parameter `{name}` is never used")));
        assert!(is_planned && !is_idle, "{printed}\n{}{}", ended.out, ended.err);
    }
    let tried: usize = verbs.values().sum();
    assert!(tried >= COMMANDS_MIN, "only {tried} of {} were tried: {verbs:?}", commands.len());
    for verb in ["check", "capacity", "duet", "experiment", "lab"] {
        assert!(verbs.contains_key(verb), "no {verb} was tried: {verbs:?}");
    }
}

#[test]
fn a_command_is_found_wherever_it_is_printed() {
    let text = "Text with `throng run examples/a.yaml`.\n```\nthrong run examples/b.yaml --set x=1    # why\n\
                throng capacity examples/c.yaml \\\n    --set 'a=1 2'\n```\n";
    let found: Vec<String> = in_page(text).collect();
    let expected = [
        "throng run examples/b.yaml --set x=1",
        "throng capacity examples/c.yaml      --set 'a=1 2'",
    ];
    assert_eq!(found, expected);
    let head = "# Text.\n#     throng experiment examples/d.yaml\nname: d\n";
    assert_eq!(in_head(head).collect::<Vec<_>>(), ["throng experiment examples/d.yaml"]);
    let words = words("throng capacity c.yaml --set 'a=1 2'");
    assert_eq!(words, ["throng", "capacity", "c.yaml", "--set", "a=1 2"]);
}

/// Every printed command that names an example, once.
fn printed() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for path in files(&["docs", "README.md"], "md") {
        found.extend(in_page(&std::fs::read_to_string(path).unwrap()));
    }
    for path in files(&["examples"], "yaml") {
        found.extend(in_head(&std::fs::read_to_string(path).unwrap()));
    }
    found.retain(|command| command.contains(" examples/"));
    found
}

/// Files of the project with this ending.
fn files(places: &[&str], ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut left: Vec<PathBuf> = places.iter().map(|place| root().join(place)).collect();
    while let Some(path) = left.pop() {
        if path.is_dir() {
            left.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|found| found == ending) {
            found.push(path);
        }
    }
    found
}

/// The commands in the blocks of a page.
fn in_page(text: &str) -> impl Iterator<Item = String> {
    let text = text.replace("\\\n", " ");
    let blocks = text.split("\n```").skip(1).step_by(2);
    let lines: Vec<String> = blocks.flat_map(str::lines).map(str::to_owned).collect();
    lines.into_iter().filter_map(|line| command_in(&line))
}

/// The commands in the comments of an example.
fn in_head(text: &str) -> impl Iterator<Item = String> {
    let text = text.replace("\\\n#", " ");
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.into_iter().filter_map(|line| command_in(line.strip_prefix('#')?))
}

/// The command of a line, without the comment behind it.
fn command_in(line: &str) -> Option<String> {
    let command = line.trim().strip_prefix("$ ").unwrap_or(line.trim());
    let command = command.split(" #").next()?.trim_end();
    command.starts_with("throng ").then(|| command.to_owned())
}

/// The words of a command, as a shell divides it.
fn words(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in command.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, ' ') => words.extend(word.take()),
            _ => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// What shows that a command is accepted.
struct Planned {
    args: Vec<String>,
    /// The directory that it takes.
    output: Option<Output>,
}

/// A directory in which a command writes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Output {
    Experiment,
    Duet,
}

impl Planned {
    /// `None`: the command needs more than its example, such as runs.
    fn parse(printed: &str) -> Option<Planned> {
        let words = words(printed);
        let args: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
        let (verb, rest): (&[&str], &[&str]) = match args.as_slice() {
            ["run" | "try", rest @ ..] => (&["check"], rest),
            ["capacity", rest @ ..] => (&["capacity", "--plan"], rest),
            ["experiment", "--analyze", ..] => (&[], &args),
            ["experiment", rest @ ..] => (&["experiment", "--plan"], rest),
            ["duet", rest @ ..] => (&["duet"], rest),
            ["lab", "run" | "up" | "check", rest @ ..] => (&["lab", "check"], rest),
            _ => return None,
        };
        let is_check = verb.first() == Some(&"check") || verb.first() == Some(&"lab");
        let rest = match is_check {
            true => kept(rest),
            false => rest.to_vec(),
        };
        let args = verb.iter().chain(&rest).map(|word| (*word).to_owned()).collect();
        let output = match verb.first() {
            Some(&"experiment") => Some(Output::Experiment),
            Some(&"duet") => Some(Output::Duet),
            _ => None,
        };
        Some(Planned { args, output })
    }

    /// The places that `--set` changes.
    fn names_set(&self) -> impl Iterator<Item = &str> {
        let values = self.args.iter().skip_while(|arg| *arg != "--set").skip(1);
        values.filter_map(|arg| arg.split_once('=').map(|(name, _)| name))
    }

    fn command(&self, space: &Space) -> Command {
        let mut command = plain(Command::new(env!("CARGO_BIN_EXE_throng")));
        command.args(&self.args).current_dir(root());
        command.envs(ENVIRONMENT.iter().copied());
        if self.args.iter().any(|arg| arg.contains("postgres")) {
            command.env("MARKET_STORE", "postgres://127.0.0.1:1/market");
        }
        let directory = self.output.map(|output| match output {
            Output::Experiment => "experiment",
            Output::Duet => "duet",
        });
        if let Some(directory) = directory {
            command.arg("--dir").arg(space.path(directory));
        }
        command
    }
}

/// The words that `check` takes, too: the file and its settings.
fn kept<'a>(words: &[&'a str]) -> Vec<&'a str> {
    let mut kept = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match *word {
            // What follows belongs to the experiment of a lab.
            "--" => break,
            "--set" => kept.extend([Some(word), words.next()].into_iter().flatten()),
            file if Path::new(file).extension().is_some_and(|ending| ending == "yaml") => {
                kept.push(file);
            }
            _ => {}
        }
    }
    kept
}
