//! Scenarios: from a file or standard input to a plan, or to diagnostics.

use std::cell::RefCell;
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};

use controller::Inputs;
use miette::{LabeledSpan, MietteDiagnostic, NamedSource, Severity as Level};
use scenario::foreign::{self, Converted, Leniency};
use scenario::{Diagnostic, Load, Origin, Plan, Settings, Severity, Source, UrlRun, url_scenario};

use crate::args::{ForeignArgs, LoadArgs};
use crate::exit::{Exit, Failure};

/// How long a URL is loaded unless `--for` says so.
const URL_RUN_DURATION: &str = "10s";
/// How many users load a URL unless `--users` or `--rate` says so.
const URL_RUN_USERS: u64 = 10;

/// A scenario's text and what to call it.
#[derive(Debug)]
pub(crate) struct Text {
    pub(crate) name: String,
    pub(crate) text: String,
    /// Where the scenario was made of another tool's file: that file's text, and how.
    pub(crate) original: Option<(String, Converted)>,
}

/// Reads a scenario, or makes one of a Tsung file; `-` is standard input.
pub(crate) fn read(name: &str, foreign: &ForeignArgs) -> Result<Text, Failure> {
    let bytes = read_bytes(name, scenario::TEXT_BYTES_MAX as u64)?;
    if foreign::is_xml(&bytes) {
        return from_tsung(name, &bytes, foreign.leniency());
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Text {
            name: name.to_owned(),
            text,
            original: None,
        }),
        Err(error) => Err(Failure::hinted(
            Exit::NoInput,
            format!("cannot read {name:?}: {}", error.utf8_error()),
            "scenarios are UTF-8",
        )),
    }
}

/// A file's bytes, one more than `bytes_max` at most; `-` is standard input.
pub(crate) fn read_bytes(name: &str, bytes_max: u64) -> Result<Vec<u8>, Failure> {
    let limit = bytes_max + 1;
    let mut bytes = Vec::new();
    let result = if name == "-" {
        std::io::stdin().lock().take(limit).read_to_end(&mut bytes)
    } else {
        std::fs::File::open(name).and_then(|file| file.take(limit).read_to_end(&mut bytes))
    };
    match result {
        Ok(_) => Ok(bytes),
        Err(error) => Err(Failure::hinted(
            Exit::NoInput,
            format!("cannot read {name:?}: {error}"),
            "give the path of a scenario file, a URL, or - for standard input",
        )),
    }
}

/// The scenario that a Tsung file stands for; what was decided and what is wrong is told.
pub(crate) fn from_tsung(name: &str, bytes: &[u8], leniency: Leniency) -> Result<Text, Failure> {
    let xml = foreign::decode(bytes).map_err(|error| Failure::new(Exit::Data, error))?;
    let folder = folder(name);
    let files = |name: &str| read_beside(&folder, name);
    let settings = foreign::tsung::Settings {
        leniency,
        files: &files,
    };
    let source = Source { name, text: &xml };
    let (converted, diagnostics) = foreign::tsung::tsung(source, &settings);
    converted_text(name, xml, converted, &diagnostics)
}

/// Tells what a conversion said; the scenario, where there is one.
pub(crate) fn converted_text(
    name: &str,
    original: String,
    converted: Option<Converted>,
    diagnostics: &[Diagnostic],
) -> Result<Text, Failure> {
    let shown = NamedSource::new(name, original.clone());
    for diagnostic in diagnostics {
        tell(
            to_miette(diagnostic, diagnostic.span.clone()),
            shown.clone(),
        );
    }
    let Some(converted) = converted else {
        return Err(wrong(
            name,
            diagnostics,
            "docs/tsung.md and docs/har.md say what is carried over",
        ));
    };
    Ok(Text {
        name: name.to_owned(),
        text: converted.text.clone(),
        original: Some((original, converted)),
    })
}

fn folder(name: &str) -> PathBuf {
    Path::new(name).parent().unwrap_or(Path::new("")).to_owned()
}

fn read_beside(folder: &Path, name: &str) -> Result<String, String> {
    std::fs::read_to_string(folder.join(name)).map_err(|error| error.to_string())
}

/// The scenario that loading one URL stands for.
pub(crate) fn for_url(url: &str, args: &LoadArgs) -> Result<Text, Failure> {
    let mut headers = Vec::new();
    for header in &args.headers {
        let Some((name, value)) = header.split_once(':') else {
            let message = format!("{header:?} is no header");
            return Err(Failure::hinted(
                Exit::Usage,
                message,
                "write it as 'name: value'",
            ));
        };
        headers.push((name.trim().to_owned(), value.trim().to_owned()));
    }
    let load = match (&args.rate, args.users) {
        (Some(rate), _) => Load::Rate(rate),
        (None, users) => Load::Users(users.unwrap_or(URL_RUN_USERS)),
    };
    let text = url_scenario(&UrlRun {
        url,
        load,
        duration: args.duration.as_deref().unwrap_or(URL_RUN_DURATION),
        method: args.method.as_deref(),
        headers: &headers,
        body: args.body.as_deref(),
    });
    Ok(Text {
        name: url.to_owned(),
        text,
        original: None,
    })
}

/// A plan, and what the scenario asked for besides its own text.
#[derive(Debug)]
pub(crate) struct Compiled {
    pub(crate) plan: Plan,
    pub(crate) inputs: Inputs,
}

/// Compiles a scenario and tells all its problems at once. Files it names are sought beside it.
pub(crate) fn compile(text: &Text, sets: &[(String, String)]) -> Result<Compiled, Failure> {
    let folder = folder(&text.name);
    // Answers are kept, so that the scenario compiles to the same plan elsewhere.
    let asked = RefCell::new(Inputs::default());
    let files = |name: &str| {
        let text = read_beside(&folder, name);
        let answer = (name.to_owned(), text.clone());
        asked.borrow_mut().files.push(answer);
        text
    };
    let env = |name: &str| {
        let value = std::env::var(name).ok();
        let answer = (name.to_owned(), value.clone());
        asked.borrow_mut().env.push(answer);
        value
    };
    let source = Source {
        name: &text.name,
        text: &text.text,
    };
    let settings = Settings {
        overrides: sets,
        env: &env,
        files: &files,
    };
    let (plan, diagnostics) = scenario::compile(source, &settings);
    for diagnostic in &diagnostics {
        let (span, source) = shown(text, diagnostic);
        tell(to_miette(diagnostic, span), source);
    }
    let plan = plan.ok_or_else(|| {
        wrong(
            &text.name,
            &diagnostics,
            "docs/scenario.md lists every key; `throng schema` helps editors",
        )
    })?;
    let inputs = asked.into_inner();
    Ok(Compiled { plan, inputs })
}

fn tell(diagnostic: MietteDiagnostic, source: NamedSource<String>) {
    let report = miette::Report::new(diagnostic).with_source_code(source);
    // A closed standard error leaves nobody to tell.
    let _ = std::io::Write::write_fmt(&mut std::io::stderr(), format_args!("{report:?}\n"));
}

fn wrong(name: &str, diagnostics: &[Diagnostic], hint: &str) -> Failure {
    let errors = diagnostics
        .iter()
        .filter(|d| d.severity == Severity::Error)
        .count();
    let noun = if errors == 1 { "error" } else { "errors" };
    Failure::hinted(Exit::Data, format!("{name} has {errors} {noun}"), hint)
}

/// The text that a diagnostic points into, and where: the original's, where there is one.
fn shown(text: &Text, diagnostic: &Diagnostic) -> (Option<Range<usize>>, NamedSource<String>) {
    let span = diagnostic.span.clone();
    match (&diagnostic.origin, &text.original) {
        (Origin::Set(set), _) => (span, NamedSource::new("--set", set.clone())),
        (Origin::File, Some((original, converted))) => {
            let origin = converted.origin(diagnostic.line);
            (origin, NamedSource::new(&text.name, original.clone()))
        }
        (Origin::File, None) => {
            let source = NamedSource::new(&text.name, text.text.clone());
            (span, source.with_language("yaml"))
        }
    }
}

fn to_miette(diagnostic: &Diagnostic, span: Option<Range<usize>>) -> MietteDiagnostic {
    let mut shown = MietteDiagnostic::new(diagnostic.message.clone())
        .with_code(diagnostic.code)
        .with_severity(match diagnostic.severity {
            Severity::Warning => Level::Warning,
            Severity::Error => Level::Error,
        });
    if let Some(span) = span {
        let label = Some(diagnostic.label.clone()).filter(|label| !label.is_empty());
        shown = shown.with_label(LabeledSpan::new(label, span.start, span.len()));
    }
    match &diagnostic.hint {
        Some(hint) => shown.with_help(hint.clone()),
        None => shown,
    }
}
