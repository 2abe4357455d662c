//! Scenarios: from a file or standard input to a plan, or to diagnostics.

use std::cell::RefCell;
use std::io::Read;
use std::path::Path;

use controller::Inputs;
use miette::{LabeledSpan, MietteDiagnostic, NamedSource, Severity as Level};
use scenario::probes::Probe;
use scenario::{
    Diagnostic, Experiment, Load, Origin, Plan, Settings, Severity, Source, UrlRun, url_scenario,
};

use crate::args::LoadArgs;
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
}

/// Reads a scenario; `-` is standard input.
pub(crate) fn read(name: &str) -> Result<Text, Failure> {
    let limit = scenario::TEXT_BYTES_MAX as u64 + 1;
    let mut text = String::new();
    let result = if name == "-" {
        std::io::stdin()
            .lock()
            .take(limit)
            .read_to_string(&mut text)
    } else {
        std::fs::File::open(name).and_then(|file| file.take(limit).read_to_string(&mut text))
    };
    match result {
        Ok(_) => Ok(Text {
            name: name.to_owned(),
            text,
        }),
        Err(error) => Err(Failure::hinted(
            Exit::NoInput,
            format!("cannot read {name:?}: {error}"),
            "give the path of a scenario file, a URL, or - for standard input",
        )),
    }
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
    let (compiled, diagnostics) = try_compile(text, sets);
    tell(text, &diagnostics);
    compiled.ok_or_else(|| {
        wrong(
            text,
            &diagnostics,
            "docs/scenario.md lists every key; `throng schema` helps editors",
        )
    })
}

/// The same, without a word.
pub(crate) fn try_compile(
    text: &Text,
    sets: &[(String, String)],
) -> (Option<Compiled>, Vec<Diagnostic>) {
    let folder = Path::new(&text.name)
        .parent()
        .unwrap_or(Path::new(""))
        .to_owned();
    // Answers are kept, so that the scenario compiles to the same plan elsewhere.
    let asked = RefCell::new(Inputs::default());
    let files = |name: &str| {
        let text = std::fs::read_to_string(folder.join(name)).map_err(|error| error.to_string());
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
    let compiled = plan.map(|plan| Compiled {
        plan,
        inputs: asked.into_inner(),
    });
    (compiled, diagnostics)
}

/// Checks probes that were given as arguments.
pub(crate) fn probes(text: &Text) -> Result<(Vec<Probe>, Inputs), Failure> {
    let asked = RefCell::new(Inputs::default());
    let env = |name: &str| {
        let value = std::env::var(name).ok();
        asked
            .borrow_mut()
            .env
            .push((name.to_owned(), value.clone()));
        value
    };
    let source = Source {
        name: &text.name,
        text: &text.text,
    };
    let settings = Settings {
        overrides: &[],
        env: &env,
        files: &|_| Err("probes name no files".to_owned()),
    };
    let (probes, diagnostics) = scenario::probe_list(source, &settings);
    tell(text, &diagnostics);
    if diagnostics.iter().any(|d| d.severity == Severity::Error) {
        let hint = "docs/probes.md lists them; each argument is one, as 'process: { port: 8080 }'";
        return Err(wrong(text, &diagnostics, hint));
    }
    Ok((probes, asked.into_inner()))
}

/// Checks an experiment and tells all its problems at once.
pub(crate) fn experiment(text: &Text) -> Result<Experiment, Failure> {
    let source = Source {
        name: &text.name,
        text: &text.text,
    };
    let settings = Settings {
        overrides: &[],
        env: &|name| std::env::var(name).ok(),
        files: &|_| Err("an experiment names no files but its scenario".to_owned()),
    };
    let (experiment, diagnostics) = scenario::experiment(source, &settings);
    tell(text, &diagnostics);
    experiment.ok_or_else(|| {
        wrong(
            text,
            &diagnostics,
            "docs/experiments.md lists every key; `throng schema experiment` helps editors",
        )
    })
}

/// Tells problems with their places.
pub(crate) fn tell(text: &Text, diagnostics: &[Diagnostic]) {
    for diagnostic in diagnostics {
        let source = shown(text, &diagnostic.origin);
        let report = miette::Report::new(to_miette(diagnostic)).with_source_code(source);
        // A closed standard error leaves nobody to tell.
        let _ = std::io::Write::write_fmt(&mut std::io::stderr(), format_args!("{report:?}\n"));
    }
}

fn wrong(text: &Text, diagnostics: &[Diagnostic], hint: &str) -> Failure {
    let errors = diagnostics
        .iter()
        .filter(|d| d.severity == Severity::Error)
        .count();
    let noun = if errors == 1 { "error" } else { "errors" };
    Failure::hinted(
        Exit::Data,
        format!("{} has {errors} {noun}", text.name),
        hint,
    )
}

/// The text that a diagnostic points into.
fn shown(text: &Text, origin: &Origin) -> NamedSource<String> {
    match origin {
        Origin::File => NamedSource::new(&text.name, text.text.clone()).with_language("yaml"),
        Origin::Set(set) => NamedSource::new("--set", set.clone()),
    }
}

fn to_miette(diagnostic: &Diagnostic) -> MietteDiagnostic {
    let mut shown = MietteDiagnostic::new(diagnostic.message.clone())
        .with_code(diagnostic.code)
        .with_severity(match diagnostic.severity {
            Severity::Warning => Level::Warning,
            Severity::Error => Level::Error,
        });
    if let Some(span) = &diagnostic.span {
        let label = Some(diagnostic.label.clone()).filter(|label| !label.is_empty());
        shown = shown.with_label(LabeledSpan::new(label, span.start, span.len()));
    }
    match &diagnostic.hint {
        Some(hint) => shown.with_help(hint.clone()),
        None => shown,
    }
}
