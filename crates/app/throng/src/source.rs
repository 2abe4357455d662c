//! Reads scenarios and compiles them to plans, or prints their diagnostics.

mod script;

use std::cell::{Cell, RefCell};
use std::io::{ErrorKind, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use controller::{CompiledPlan, Inputs, ScenarioText};
use miette::{MietteDiagnostic, Severity as Level};
use plan::Plan;
use plan::probes::Probe;
use scenario::document::Origin;
use scenario::{Diagnostic, Experiment, Load, Settings, Severity, Source, UrlRun, url_scenario};

use crate::args::{K6Args, LoadArgs};
use crate::excerpt;
use crate::exit::{Exit, Failure, print_error, shows_warnings};
use crate::full::{self, Conversion, Leniency, is_xml};

/// Default of `--duration` for a URL.
const URL_RUN_DURATION: &str = "10s";
/// Users of a URL if neither `--users` nor `--rate` is given.
const URL_RUN_USERS: u64 = 10;

/// Maximum total size, uncompressed, of all files that a scenario names. A frame to a worker holds
/// that and the rest of the plan.
const FILES_BYTES_MAX: u64 = 48 << 20;
/// Longest text of a document.
const TEXT_BYTES_MAX: u64 = scenario::document::yaml::TEXT_BYTES_MAX as u64;
const DIVIDE: &str = "divide it; rows belong into a file that `data` names, and sessions into files that `include` names";
const TOO_LARGE: &str = "the scenario's files exceed 48 MiB in total";

/// A scenario's text and name.
#[derive(Debug)]
pub(crate) struct Text {
    pub(crate) name: String,
    pub(crate) text: String,
    /// Overrides that belong to the text.
    pub(crate) sets: Vec<(String, String)>,
    /// If the scenario was converted from another tool's file: that file's text, and the conversion.
    pub(crate) original: Option<(String, Conversion)>,
}

/// Reads a scenario, or converts a Tsung file; `-` is standard input.
pub(crate) fn scenario(name: &str, leniency: Leniency) -> Result<Text, Failure> {
    no_recording(name)?;
    scenario_of(name, read_bytes(name, TEXT_BYTES_MAX, DIVIDE)?, leniency)
}

/// The same of a file that another file names.
pub(crate) fn named_scenario(name: &str, leniency: Leniency) -> Result<Text, Failure> {
    no_recording(name)?;
    scenario_of(name, named_bytes(name)?, leniency)
}

fn no_recording(name: &str) -> Result<(), Failure> {
    match Path::new(name).extension().is_some_and(|e| e == "har") {
        false => Ok(()),
        true => Err(Failure::hinted(
            Exit::Data,
            format!("{name} is a browser recording (HAR), not a scenario"),
            &format!("convert it: throng import {name} -o scenario.yaml"),
        )),
    }
}

fn scenario_of(name: &str, bytes: Vec<u8>, leniency: Leniency) -> Result<Text, Failure> {
    if script::is_script(name) {
        return script::scenario(name, &K6Args::default());
    }
    if is_xml(&bytes) {
        return from_tsung(name, &bytes, leniency);
    }
    text_of(name, bytes)
}

/// As [`scenario`], with flags for scripts of k6.
pub(crate) fn scenario_or_script(
    name: &str,
    leniency: Leniency,
    k6: &K6Args,
) -> Result<Text, Failure> {
    match script::is_script(name) {
        true => script::scenario(name, k6),
        false => scenario(name, leniency),
    }
}

/// True if the file is a script of k6 by its name.
pub(crate) fn is_script(name: &str) -> bool {
    script::is_script(name)
}

/// Reads files beside the one of this name: texts, and behind [`scenario::BINARY`] bytes as base64.
pub(crate) fn files_beside(name: &str) -> impl Fn(&str) -> Result<String, String> {
    let folder = folder(name);
    let left = Cell::new(FILES_BYTES_MAX);
    move |name: &str| {
        let text = match name.strip_prefix(scenario::BINARY) {
            Some(name) => read_binary(&folder.join(name), left.get())?,
            None => read_input(&folder.join(name), left.get())?,
        };
        left.set(left.get() - text.len() as u64);
        Ok(text)
    }
}

/// Converts a Tsung file to a scenario and prints the diagnostics of the conversion.
pub(crate) fn from_tsung(name: &str, bytes: &[u8], leniency: Leniency) -> Result<Text, Failure> {
    let files = files_beside(name);
    let (original, converted, diagnostics) = full::from_tsung(name, bytes, leniency, &files)?;
    converted_text(name, original, converted, &diagnostics)
}

/// Prints the diagnostics of a conversion and returns the scenario, if there is one.
pub(crate) fn converted_text(
    name: &str,
    original: String,
    converted: Option<Conversion>,
    diagnostics: &[Diagnostic],
) -> Result<Text, Failure> {
    for diagnostic in diagnostics {
        print(diagnostic, diagnostic.span.clone(), name, &original);
    }
    let Some(converted) = converted else {
        return Err(wrong(
            name,
            diagnostics,
            "docs/importing.md, docs/tsung.md and docs/har.md list what is supported",
        ));
    };
    Ok(Text {
        name: name.to_owned(),
        text: full::scenario_text(&converted).to_owned(),
        sets: Vec::new(),
        original: Some((original, converted)),
    })
}

/// Reads any other document; `-` is standard input.
pub(crate) fn read(name: &str) -> Result<Text, Failure> {
    text_of(name, read_bytes(name, TEXT_BYTES_MAX, DIVIDE)?)
}

/// The same of a file that another file or a directory names: what is no regular file is not waited for.
pub(crate) fn read_named(name: &str) -> Result<Text, Failure> {
    text_of(name, named_bytes(name)?)
}

/// The bytes of a file that another file, a directory or a record names.
pub(crate) fn named_bytes(name: &str) -> Result<Vec<u8>, Failure> {
    regular::read(Path::new(name), TEXT_BYTES_MAX).map_err(|error| {
        let hint = "it must be a file, and be readable";
        Failure::hinted(Exit::NoInput, format!("cannot read {name:?}: {error}"), hint)
    })
}

fn text_of(name: &str, bytes: Vec<u8>) -> Result<Text, Failure> {
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Text { name: name.to_owned(), text, sets: Vec::new(), original: None }),
        Err(error) => Err(Failure::hinted(
            Exit::NoInput,
            format!("cannot read {name:?}: {}", error.utf8_error()),
            "the file must be UTF-8",
        )),
    }
}

/// A file's bytes, `bytes_max` at most; `-` is standard input. `remedy` says what to do with a larger one.
pub(crate) fn read_bytes(name: &str, bytes_max: u64, remedy: &str) -> Result<Vec<u8>, Failure> {
    let result = if name == "-" {
        regular::read_stream(std::io::stdin().lock(), bytes_max)
    } else {
        regular::read_given(Path::new(name), bytes_max)
    };
    result.map_err(|error| match error.kind() {
        ErrorKind::FileTooLarge => {
            let message = format!("{name} is larger than {}", units::bytes(bytes_max));
            Failure::hinted(Exit::Data, message, remedy)
        }
        _ => Failure::hinted(
            Exit::NoInput,
            format!("cannot read {name:?}: {error}"),
            match is_url(name) {
                true => {
                    "only `throng run` accepts a URL; give a file path, or - for standard input"
                }
                false => "give a file path, or - for standard input",
            },
        ),
    })
}

/// True if the text starts like a URL.
pub(crate) fn is_url(text: &str) -> bool {
    ["http://", "https://", "ws://", "wss://"].iter().any(|scheme| text.starts_with(scheme))
}

/// Reads a file that a scenario names, decompressed if its name ends in `.gz`. The error is for people.
fn read_input(path: &Path, bytes_max: u64) -> Result<String, String> {
    let file = regular::open(path).map_err(|error| error.to_string())?;
    let packed = path.extension().is_some_and(|extension| extension == "gz");
    let mut text = String::new();
    let limit = bytes_max + 1;
    let read = if packed {
        let unpacked = flate2::read::MultiGzDecoder::new(std::io::BufReader::new(file));
        unpacked.take(limit).read_to_string(&mut text)
    } else {
        file.take(limit).read_to_string(&mut text)
    };
    match read {
        Ok(_) if text.len() as u64 <= bytes_max => Ok(text),
        Ok(_) => Err(TOO_LARGE.to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// Reads a file whose bytes a scenario wants, as base64.
fn read_binary(path: &Path, bytes_max: u64) -> Result<String, String> {
    // Base64 takes four bytes for three.
    let bytes = regular::read(path, bytes_max / 4 * 3);
    bytes.map(|bytes| STANDARD.encode(bytes)).map_err(|error| match error.kind() {
        ErrorKind::FileTooLarge => TOO_LARGE.to_owned(),
        _ => error.to_string(),
    })
}

fn folder(name: &str) -> PathBuf {
    Path::new(name).parent().unwrap_or(Path::new("")).to_owned()
}

/// The scenario that loads one URL.
pub(crate) fn for_url(url: &str, args: &LoadArgs) -> Result<Text, Failure> {
    if let Some(scheme) = url.split("://").next().filter(|s| s.starts_with("ws")) {
        let (origin, path) = scenario::split_url(url);
        return Err(Failure::hinted(
            Exit::Usage,
            format!("a {scheme}:// URL needs a scenario that defines the messages to send"),
            &format!(
                "write one with `target: {origin}` and a session that starts with `- ws: {path}` \
                 (docs/realtime.md#websocket)"
            ),
        ));
    }
    let mut headers = Vec::new();
    for header in &args.headers {
        let Some((name, value)) = header.split_once(':') else {
            let message = format!("{header:?} is not a header");
            return Err(Failure::hinted(Exit::Usage, message, "expected 'name: value'"));
        };
        headers.push((name.trim().to_owned(), value.trim().to_owned()));
    }
    let load = match (&args.rate, args.users) {
        (Some(rate), _) => Load::Rate(rate),
        (None, users) => Load::Users(users.unwrap_or(URL_RUN_USERS)),
    };
    let scenario = url_scenario(&UrlRun {
        url,
        load,
        duration: args.duration.as_deref().unwrap_or(URL_RUN_DURATION),
        method: args.method.as_deref(),
        headers: &headers,
        body: args.body.as_deref(),
    });
    Ok(Text { name: scenario.name, text: scenario.text, sets: scenario.sets, original: None })
}

/// A plan, and the files and environment variables the scenario read.
#[derive(Debug)]
pub(crate) struct CompiledScenario {
    pub(crate) plan: Plan,
    pub(crate) inputs: Inputs,
}

impl CompiledScenario {
    /// The plan of a run, with the scenario that it was compiled from.
    pub(crate) fn into_plan(self, text: &Text, overrides: Vec<(String, String)>) -> CompiledPlan {
        let scenario = ScenarioText {
            name: text.name.clone(),
            text: text.text.clone(),
            overrides,
            inputs: self.inputs,
        };
        CompiledPlan { plan: self.plan, scenario }
    }
}

/// Compiles a scenario and prints all its diagnostics. Files it names are relative to its directory.
pub(crate) fn compile(text: &Text, sets: &[(String, String)]) -> Result<CompiledScenario, Failure> {
    let (compiled, diagnostics) = try_compile(text, sets);
    print_diagnostics(text, &diagnostics);
    compiled.ok_or_else(|| {
        wrong(
            &text.name,
            &diagnostics,
            "docs/scenario-reference.md lists every key; `throng schema` helps editors",
        )
    })
}

/// Compiles a scenario without printing its diagnostics.
pub(crate) fn try_compile(
    text: &Text,
    sets: &[(String, String)],
) -> (Option<CompiledScenario>, Vec<Diagnostic>) {
    let folder = folder(&text.name);
    // Inputs are kept, so that workers compile the scenario to the same plan.
    let inputs = RefCell::new(Inputs::default());
    let left = Cell::new(FILES_BYTES_MAX);
    // What belongs to the scenario of a run stands in the run's directory.
    let is_recorded = folder.join("run.json").is_file();
    let place = |name: &str| {
        let recorded = record::input_path(&folder, name);
        match is_recorded && recorded.is_file() {
            true => recorded,
            false => folder.join(name),
        }
    };
    let files = |name: &str| {
        // Expressions name a file as often as they use it.
        let read = inputs.borrow();
        let known = read.files.iter().find(|(known, _)| known == name);
        if let Some((_, answer)) = known {
            return answer.clone();
        }
        drop(read);
        let text = match name.strip_prefix(scenario::BINARY) {
            Some(name) => read_binary(&place(name), left.get()),
            None => read_input(&place(name), left.get()),
        };
        left.set(left.get() - text.as_ref().map_or(0, |text| text.len() as u64));
        let answer = (name.to_owned(), text.clone());
        inputs.borrow_mut().files.push(answer);
        text
    };
    let env = |name: &str| {
        let value = std::env::var(name).ok();
        let answer = (name.to_owned(), value.clone());
        inputs.borrow_mut().env.push(answer);
        value
    };
    let source = Source { name: &text.name, text: &text.text };
    let settings = Settings { overrides: sets, env: &env, files: &files };
    let check = |system: &str, given: &[(String, String)]| {
        let mut problems = crate::systems::check(system, given);
        problems.extend(crate::systems::unreadable(system, given, &files));
        problems
    };
    let (plan, diagnostics) = scenario::compile_checking(source, &settings, &check);
    let compiled = plan.map(|plan| CompiledScenario { plan, inputs: inputs.into_inner() });
    (compiled, diagnostics)
}

/// Refuses overrides that hold secrets: experiments and searches store their overrides in a file, so
/// that they can be resumed. From the place `levels` of the list on they are what an experiment compares, which cookies
/// may carry.
pub(crate) fn no_secrets(
    plan: &Plan,
    sets: &[(String, String)],
    levels: usize,
) -> Result<(), Failure> {
    let mut stored = plan.secret_sets.iter();
    let first = stored.find(|at| **at < levels || !plan.cookie_sets.contains(at));
    let first = first.and_then(|at| sets.get(*at));
    match first {
        None => Ok(()),
        Some((key, _)) => Err(Failure::hinted(
            Exit::Data,
            format!("{key:?} sets a secret, which would be stored in a file"),
            "write \"${env('NAME')}\" in the scenario and set the environment variable",
        )),
    }
}

/// Checks probes given as arguments.
pub(crate) fn probes(text: &Text) -> Result<(Vec<Probe>, Inputs), Failure> {
    let inputs = RefCell::new(Inputs::default());
    let env = |name: &str| {
        let value = std::env::var(name).ok();
        inputs.borrow_mut().env.push((name.to_owned(), value.clone()));
        value
    };
    let source = Source { name: &text.name, text: &text.text };
    let settings = Settings {
        overrides: &[],
        env: &env,
        files: &|_| Err("probes cannot read files".to_owned()),
    };
    let (probes, diagnostics) = scenario::probe_list(source, &settings);
    print_diagnostics(text, &diagnostics);
    if diagnostics.iter().any(|d| d.severity == Severity::Error) {
        let hint = "docs/probes.md lists them; each argument is one probe, such as 'process: { port: 8080 }'";
        return Err(wrong(&text.name, &diagnostics, hint));
    }
    Ok((probes, inputs.into_inner()))
}

/// Checks an experiment and prints all its diagnostics.
pub(crate) fn experiment(text: &Text, in_full: bool) -> Result<Experiment, Failure> {
    let source = Source { name: &text.name, text: &text.text };
    let settings = Settings {
        overrides: &[],
        env: &|name| std::env::var(name).ok(),
        files: &|_| Err("an experiment names no file except its scenario".to_owned()),
    };
    let (experiment, diagnostics) = scenario::experiment(source, &settings, in_full);
    print_diagnostics(text, &diagnostics);
    experiment.ok_or_else(|| {
        wrong(
            &text.name,
            &diagnostics,
            "docs/experiments.md lists every key; `throng schema experiment` helps editors",
        )
    })
}

/// Prints diagnostics with their source positions.
pub(crate) fn print_diagnostics(text: &Text, diagnostics: &[Diagnostic]) {
    for diagnostic in diagnostics {
        let (span, name, source) = shown(text, diagnostic);
        print(diagnostic, span, name, source);
    }
}

/// Prints a diagnostic with its place in the text of this name.
fn print(diagnostic: &Diagnostic, span: Option<Range<usize>>, name: &str, text: &str) {
    if diagnostic.severity == Severity::Warning && !shows_warnings() {
        return;
    }
    let label = Some(diagnostic.label.clone()).filter(|label| !label.is_empty());
    let report = excerpt::report(to_miette(diagnostic), span, label, name, text);
    print_error(&format!("{report:?}"));
}

fn wrong(name: &str, diagnostics: &[Diagnostic], hint: &str) -> Failure {
    let errors = diagnostics.iter().filter(|d| d.severity == Severity::Error).count();
    let noun = if errors == 1 { "error" } else { "errors" };
    Failure::hinted(Exit::Data, format!("{name} has {errors} {noun}"), hint)
}

/// The text a diagnostic points into, and the position: in the original file if there is one.
fn shown<'a>(
    text: &'a Text,
    diagnostic: &'a Diagnostic,
) -> (Option<Range<usize>>, &'a str, &'a str) {
    let span = diagnostic.span.clone();
    match (&diagnostic.origin, &text.original) {
        (Origin::Set(set), _) => (span, "--set", set),
        (Origin::Included(file), _) => (span, &file.name, &file.text),
        (Origin::File, Some((original, converted))) => {
            (converted.origin(diagnostic.line), &text.name, original)
        }
        (Origin::File, None) => (span, &text.name, &text.text),
    }
}

fn to_miette(diagnostic: &Diagnostic) -> MietteDiagnostic {
    let shown = MietteDiagnostic::new(diagnostic.message.clone())
        .with_code(diagnostic.code)
        .with_severity(match diagnostic.severity {
            Severity::Warning => Level::Warning,
            Severity::Error => Level::Error,
        });
    match &diagnostic.hint {
        Some(hint) => shown.with_help(hint.clone()),
        None => shown,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn inputs_are_bounded_and_unpacked() {
        let folder = tempfile::tempdir().unwrap();
        let plain = folder.path().join("a.txt");
        let packed = folder.path().join("a.txt.gz");
        std::fs::write(&plain, "12345").unwrap();
        let file = std::fs::File::create(&packed).unwrap();
        let mut encoder = flate2::write::GzEncoder::new(file, flate2::Compression::default());
        encoder.write_all(b"12345").unwrap();
        encoder.finish().unwrap();
        for path in [&plain, &packed] {
            assert_eq!(read_input(path, 5).unwrap(), "12345");
            assert_eq!(read_input(path, 4).unwrap_err(), TOO_LARGE);
        }
        std::fs::write(&packed, "12345").unwrap();
        assert!(read_input(&packed, 5).is_err());
        assert!(read_input(&folder.path().join("b"), 5).is_err());
    }

    /// A scenario of somebody else may name a pipe, for which nobody writes.
    #[test]
    fn files_that_files_name_are_regular() {
        let expected = "it is not a regular file";
        let device = Path::new("/dev/zero");
        assert_eq!(read_input(device, 5).unwrap_err(), expected);
        assert_eq!(read_binary(device, 5).unwrap_err(), expected);
        for found in [read_named("/dev/zero"), named_scenario("/dev/zero", Leniency::Strict)] {
            assert!(found.unwrap_err().to_string().contains(expected));
        }
    }
}
