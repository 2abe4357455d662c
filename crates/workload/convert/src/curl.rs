//! Command lines of curl, alone or in a file, as a scenario: one session that sends them in their order.
//!
//! The semantics are those of curl 8 (its manual page). Nothing is run: of other commands, assignments give variables
//! their values and `sleep` becomes a pause, and the rest is named.

mod options;
mod shell;

use std::collections::HashMap;
use std::ops::Range;

use options::Transfer;
use scenario::document::{Diagnostic, Source};
use shell::{Command, Part, Word};

use crate::diagnostics::Diagnostics;
use crate::draft::{Draft, Files, arrivals, file_name, head, stem, thresholds};
use crate::request::Address;
use crate::secrets::Secrets;
use crate::template::literal;
use crate::writer::{Item, Map};
use crate::{Conversion, Leniency};

/// Longest text, in bytes.
pub const TEXT_BYTES_MAX: usize = 4 << 20;
/// Lines that are looked at to see whether a file has commands of curl.
const FIRST_LINES: usize = 50;
/// Most commands that become requests.
const REQUESTS_MAX: usize = 5000;

/// Settings of a conversion.
#[derive(Clone, Copy)]
pub struct Settings<'a> {
    pub leniency: Leniency,
    /// Texts of files that the commands name, or why they cannot be read.
    pub files: &'a dyn Fn(&str) -> Result<String, String>,
}

/// Whether a text is command lines of curl: its first word, comments and assignments aside.
pub fn is_curl(text: &str) -> bool {
    let lines = text.trim_start_matches('\u{feff}').lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    let is_first = |line: &str| {
        let mut words = line.split_whitespace();
        let is_before = |word: &str| matches!(word, "$" | "%" | "export") || is_assignment(word);
        words.find(|word| !is_before(word)).is_some_and(is_program)
    };
    lines.take(FIRST_LINES).any(is_first)
}

fn is_program(word: &str) -> bool {
    matches!(word, "curl" | "curl.exe") || word.ends_with("/curl")
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

/// Makes a scenario of command lines. There is one exactly where no diagnostic is an error.
pub fn convert(
    source: Source<'_>,
    settings: &Settings<'_>,
) -> (Option<Conversion>, Vec<Diagnostic>) {
    let mut importer = Importer {
        diagnostics: Diagnostics::new(source.text, settings.leniency),
        files: settings.files,
        secrets: Secrets::default(),
        variables: HashMap::new(),
        target: None,
        has_jar: false,
        verifies: true,
        steps: Vec::new(),
        requests_count: 0,
        length_s: 0.0,
    };
    let converted = importer.convert(source);
    let converted = converted.filter(|_| !importer.diagnostics.has_errors());
    (converted, importer.diagnostics.collector.finish())
}

/// State of an import.
struct Importer<'a> {
    diagnostics: Diagnostics<'a>,
    files: Files<'a>,
    secrets: Secrets,
    /// Values that lines before gave to variables, as templates.
    variables: HashMap<String, String>,
    /// Where the first request goes.
    target: Option<String>,
    has_jar: bool,
    /// No command accepts every certificate.
    verifies: bool,
    steps: Vec<Map>,
    requests_count: usize,
    /// The length of all pauses.
    length_s: f64,
}

impl Importer<'_> {
    fn convert(&mut self, source: Source<'_>) -> Option<Conversion> {
        if source.text.len() > TEXT_BYTES_MAX {
            let message = format!("the file has {} bytes", source.text.len());
            let hint = format!("at most {TEXT_BYTES_MAX} are read");
            self.diagnostics.error("too-large", 0..0, message).hint(hint);
            return None;
        }
        let commands = match shell::commands(source.text) {
            Ok(commands) => commands,
            Err(error) => {
                self.diagnostics.error("bad-command", error.at(), error.to_string());
                return None;
            }
        };
        for command in &commands {
            self.command(command);
        }
        let Some(target) = self.target.clone() else {
            let message = "there is no `curl` with a URL".to_owned();
            self.diagnostics.error("empty", 0..0, message);
            return None;
        };
        let mut options = Map::new(0..0);
        // curl keeps cookies where it has a jar, and accepts codings with `--compressed`, which its request says.
        options.put("cookies", Item::Bare(self.has_jar.to_string()));
        options.put("accept_encoding", Item::Bare("none".to_owned()));
        // curl follows none unless `--location` is given.
        options.put("redirects", Item::Bare("0".to_owned()));
        if !self.verifies {
            let tls = Map::single(0..0, "verify", Item::Bare("false".to_owned()));
            options.put("tls", Item::Map(tls));
        }
        let steps = Item::List(std::mem::take(&mut self.steps));
        let top = head(stem(source.name), &target, &(0..0))
            .with("options", Item::Map(options))
            .with("sessions", Item::Map(Map::single(0..0, "commands", steps)))
            .with("arrivals", arrivals("A command line", self.length_s))
            .with("thresholds", thresholds());
        let comment = format!(
            "Converted from the commands in {}; see docs/importing.md.",
            file_name(source.name)
        );
        let files = self.files;
        Draft { comments: vec![comment], top }.finish(&self.secrets, files, &mut self.diagnostics)
    }

    fn command(&mut self, command: &Command) {
        let mut words = command.words.as_slice();
        // The prompt of a shell that was copied with the command.
        while let [first, rest @ ..] = words
            && matches!(first.plain(), Some("$" | "%" | "export"))
        {
            words = rest;
        }
        while let [first, rest @ ..] = words
            && self.assigned(first)
        {
            words = rest;
        }
        let [program, arguments @ ..] = words else {
            return;
        };
        match program.plain() {
            Some(name) if is_program(name) => self.curl(program, arguments),
            Some("sleep") => self.sleep(program, arguments),
            Some("set" | "cd" | "echo" | "printf" | "done" | "fi" | "exit") => {
                let message = "this command sends nothing".to_owned();
                self.diagnostics.ignored(program.at.clone(), message);
            }
            _ if command.is_piped => {
                let message = "what happens to the response is not carried over".to_owned();
                let hint = "write `save` and `check` at the request before it";
                self.diagnostics.ignored(program.at.clone(), message).hint(hint);
            }
            name => {
                let name = name.unwrap_or("a command");
                let message = format!("`{name}` is no request");
                self.diagnostics.lost(program.at.clone(), message);
            }
        }
    }

    /// Whether a word is `NAME=value`, which is then known.
    fn assigned(&mut self, word: &Word) -> bool {
        let [Part::Text(first), rest @ ..] = word.parts.as_slice() else {
            return false;
        };
        let Some((name, value)) = first.split_once('=').filter(|_| is_assignment(first)) else {
            return false;
        };
        let parts = std::iter::once(Part::Text(value.to_owned())).chain(rest.iter().cloned());
        let value = Word { parts: parts.collect(), at: word.at.clone() };
        let text = self.template(&value);
        let text = self.secrets.named(name, &text, &word.at);
        self.variables.insert(name.to_owned(), text);
        true
    }

    /// A word as a template.
    fn template(&mut self, word: &Word) -> String {
        let mut out = String::new();
        for part in &word.parts {
            match part {
                Part::Text(text) => out.push_str(&literal(text)),
                Part::Variable(name) => match self.variables.get(name) {
                    Some(value) => out.push_str(value),
                    None => {
                        let expression = self.secrets.given(name);
                        out.push_str(&format!("${{{expression}}}"));
                    }
                },
                Part::Output(written) => {
                    let message = format!("the output of a command cannot be used: {written}");
                    self.diagnostics
                        .lost(word.at.clone(), message)
                        .hint("send its request in a line before, and write `save` there");
                }
            }
        }
        out
    }

    fn sleep(&mut self, program: &Word, arguments: &[Word]) {
        let seconds = match arguments {
            [one] => one.plain().and_then(|text| text.trim_end_matches('s').parse::<f64>().ok()),
            _ => None,
        };
        match seconds.filter(|seconds| (0.0..=86_400.0).contains(seconds)) {
            Some(seconds) => {
                self.length_s += seconds;
                let at = program.at.clone();
                self.steps.push(Map::single(at, "think", Item::Bare(format!("{seconds}s"))));
            }
            None => {
                let message = "this pause has no number of seconds".to_owned();
                self.diagnostics.lost(program.at.clone(), message);
            }
        }
    }

    fn curl(&mut self, program: &Word, arguments: &[Word]) {
        let arguments: Vec<(String, Range<usize>)> =
            arguments.iter().map(|word| (self.template(word), word.at.clone())).collect();
        // `--next` begins another transfer on the same command line.
        for arguments in arguments.split(|(text, _)| text == "--next" || text == "-:") {
            let mut transfer = Transfer::new(program.at.clone());
            self.read_options(arguments, &mut transfer);
            self.has_jar |= transfer.has_jar;
            self.verifies &= !transfer.is_insecure;
            if transfer.urls.is_empty() {
                let message = "this command has no URL".to_owned();
                self.diagnostics.error("missing-url", program.at.clone(), message);
            }
            for (url, at) in std::mem::take(&mut transfer.urls) {
                self.transfer(&transfer, &url, &at);
            }
        }
    }

    fn transfer(&mut self, transfer: &Transfer, url: &str, at: &Range<usize>) {
        self.requests_count += 1;
        if self.requests_count > REQUESTS_MAX {
            if self.requests_count == REQUESTS_MAX + 1 {
                let message = format!("there are more than {REQUESTS_MAX} requests");
                self.diagnostics.error("too-many", at.clone(), message);
            }
            return;
        }
        if transfer.globs && stands_for_several(url) {
            let message = format!("{url} stands for several URLs");
            let hint = "write a command for each";
            self.diagnostics.error("several-urls", at.clone(), message).hint(hint);
            return;
        }
        let address = Address::parse(url, "http");
        if let Some(name) = first_variable(&address.origin) {
            self.secrets.begins_url(&name);
        }
        let target = self.target.get_or_insert_with(|| address.origin.clone()).clone();
        let step = transfer.step(&address, &target, &mut self.secrets, &mut self.diagnostics);
        self.steps.push(step);
    }
}

/// The environment variable that a URL begins with.
fn first_variable(origin: &str) -> Option<String> {
    let rest = origin.strip_prefix("${env('")?;
    Some(rest.split('\'').next()?.to_owned())
}

/// Whether curl expands a URL: `{a,b}` and `[1-9]`.
fn stands_for_several(url: &str) -> bool {
    let within = |open: char, close: char, sign: char| {
        let url = url.replace("${", "");
        url.match_indices(open).any(|(at, _)| {
            let inner = url[at + 1..].split(close).next().unwrap_or_default();
            at + 1 + inner.len() < url.len() && inner.contains(sign)
        })
    };
    within('{', '}', ',') || within('[', ']', '-')
}
